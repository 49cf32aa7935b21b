"""Tools that a provider runs itself, on each wire: what a request says of them, and what a reply tells (O-1.213, O-1.225 to
O-1.229).

Hands on to the wires (`openai.py`, `anthropic.py`) `carried` and the functions that write tools, those that read citations, and
those that count the calls that a reply shows; `left_out` to `sdk.py`. What each provider carries, and by which name, is in
`vm/providers.py`.
"""

from __future__ import annotations

from ...vm.declaration_fields import HOSTED
from ..records import Citation
from .base import origin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..connections import ConnectionSettings
    from ..records import Request
    from .json_fields import Fields

    Json = dict[str, Any]


def carried(request: Request, settings: ConnectionSettings) -> Sequence[Json]:
    """Return the hosted tools that a request sends: none where the connection carries not all of them and drops what it does not
    carry (O-1.134). Raises NotSent where it does not drop it."""
    lacking = settings.row.lacks(settings.api, request.hosted)
    if lacking is None:
        return request.hosted
    if settings.unsupported != "drop":
        _, _, words, there_is = lacking
        raise origin_of(request).not_sent("AgentError", "InvalidRequest", f"hosted: {words}; {there_is}")
    return ()


def left_out(request: Request, settings: ConnectionSettings) -> list[str]:
    """Return the note on hosted tools that `carried` leaves out, if it does."""
    lacking = settings.row.lacks(settings.api, request.hosted)
    return [] if lacking is None else [f"hosted: {lacking[2]}"]


# ---------------------------------------------------------------- requests


def chat_options(tools: Sequence[Json]) -> Json:
    """Return the web search of chat completions, which has it as a parameter and no tool."""
    options = {}
    if "context_size" in tools[0]:
        options["search_context_size"] = tools[0]["context_size"]
    if "user_location" in tools[0]:
        options["user_location"] = {"type": "approximate", "approximate": tools[0]["user_location"]}
    return options


def responses_tools(tools: Sequence[Json], names: Any) -> list[Json]:
    """Return hosted tools as the Responses API has them; `names` are those of their fields there, by type."""
    return [
        _code_interpreter(tool) if tool["type"] == "code_execution" else _web_search(tool, names["web_search"])
        for tool in tools
    ]  # fmt: skip


def _code_interpreter(tool: Json) -> Json:
    container = {"type": "auto", **({"memory_limit": tool["memory"]} if "memory" in tool else {})}
    return {"type": "code_interpreter", "container": container}


def _web_search(tool: Json, names: Any) -> Json:
    made: Json = {"type": "web_search"}
    filters = {names[name]: tool[name] for name in ("allowed_domains", "blocked_domains") if name in tool}
    if filters:
        made["filters"] = filters
    if "context_size" in tool:
        made["search_context_size"] = tool["context_size"]
    if "user_location" in tool:
        made["user_location"] = {"type": "approximate", **tool["user_location"]}
    return made


def most_calls(tools: Sequence[Json]) -> int | None:
    """Return how many calls the Responses API may run, None for no limit; it has one for all tools."""
    return tools[0].get("max_uses") if tools else None


def anthropic_tools(tools: Sequence[Json]) -> list[Json]:
    return [_anthropic_tool(tool) for tool in tools]


def _anthropic_tool(tool: Json) -> Json:
    kind = tool["type"]
    made: Json = {"type": f"{kind}_{tool.get('version', HOSTED[kind]['version'].default)}", "name": kind}
    for name, part in tool.items():
        if name == "user_location":
            made[name] = {"type": "approximate", **part}
        elif name not in ("type", "version"):
            made[name] = part
    return made


# ---------------------------------------------------------------- replies


def url_citations(annotations: Sequence[Fields], text: str, before: int = 0) -> Iterator[Citation]:
    """Yield the citations among the annotations of a text that has `before` code points in front of it. Both wires of OpenAI name
    the code points from `start_index` to before `end_index`; the chat one in an object of its own. Places that are not in the
    text are moved to its end."""
    for annotation in annotations:
        if annotation.text_or("type") != "url_citation":
            continue
        cited = annotation.record("url_citation") if annotation.has("url_citation") else annotation
        start = min(cited.position("start_index", 0), len(text))
        end = max(min(cited.position("end_index", len(text)), len(text)), start)
        yield Citation(cited.text("url"), cited.text_or("title") or None, before + start, before + end)


def block_citations(blocks: Sequence[Fields]) -> Iterator[Citation]:
    """Yield the citations of the text blocks of a message: each is for the whole text of its block."""
    before = 0
    for block in blocks:
        if block.text("type") != "text":
            continue
        end = before + len(block.text("text"))
        for cited in block.records_or("citations"):
            if cited.text_or("type") == "web_search_result_location":
                yield Citation(cited.text("url"), cited.text_or("title") or None, before, end)
        before = end


# The names of the tools that run code, in the blocks of Anthropic.
CODE = ("code_execution", "bash_code_execution", "text_editor_code_execution")


def calls_in_blocks(blocks: Sequence[Fields]) -> dict[str, int]:
    """Return how often a message of Anthropic shows that a hosted tool was called, by type."""
    named = [block.text_or("name") for block in blocks if block.text("type") == "server_tool_use"]
    kinds = ["code_execution" if name in CODE else name for name in named]
    return {kind: kinds.count(kind) for kind in HOSTED if kind in kinds}


def calls_in_items(items: Sequence[Fields]) -> dict[str, int]:
    """Return how often the items of a reply show that a hosted tool was called, by type. Of what a model does on the web the
    searches are billed, not the pages it opens."""
    kinds = []
    for item in items:
        kind = item.text("type")
        if kind == "code_interpreter_call":
            kinds.append("code_execution")
        elif kind == "web_search_call" and item.record_or("action").text_or("type", "search") == "search":
            kinds.append("web_search")
    return {kind: kinds.count(kind) for kind in HOSTED if kind in kinds}
