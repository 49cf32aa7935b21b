"""Tools that a provider runs itself, on each wire: what a request says of them, and what a reply tells (O-1.213, O-1.225 to
O-1.229).

Hands on to the wires (`openai.py`, `anthropic.py`) the functions that write tools (`chat_options`, `responses_tools`,
`most_calls`, `anthropic_tools`), those that read citations (`url_citations`, `block_citations`), and those that count the calls
that a reply shows (`calls_in_blocks`, `calls_in_items`). A hosted tool of a request is a dict: its `type`, such as `web_search`
or `code_execution`, and the fields that the program has set. What each provider carries, and by which name, is in
`vm/providers.py`; a request has only what its connection carries (`calls/settings.py`), so nothing is refused here. Readers raise
Unreadable for a part that is missing or of another kind.
"""

from __future__ import annotations

from ...vm.declaration_fields import HOSTED
from ..records import Citation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from .json_fields import Fields

    Json = dict[str, Any]
    Names = Mapping[str, Mapping[str, str]]  # by type, the names of the fields of hosted tools on a wire


# ---------------------------------------------------------------- requests


def chat_options(tools: Sequence[Json], names: Names) -> Json:
    """Return the value of the parameter `web_search_options` for the first of the tools, which is a web search: chat completions
    have no tool for it."""

    def located(place: Json) -> Json:
        return {"type": "approximate", "approximate": place}

    return _renamed(tools[0], names["web_search"], "context_size", user_location=located)


def responses_tools(tools: Sequence[Json], names: Names) -> list[Json]:
    """Return hosted tools as the Responses API has them."""
    return [
        _code_interpreter(tool, names["code_execution"]) if tool["type"] == "code_execution"
        else _web_search(tool, names["web_search"])
        for tool in tools
    ]  # fmt: skip


def _code_interpreter(tool: Json, names: Mapping[str, str]) -> Json:
    return {"type": "code_interpreter", "container": {"type": "auto", **_renamed(tool, names, "memory")}}


def _web_search(tool: Json, names: Mapping[str, str]) -> Json:
    filters = _renamed(tool, names, "allowed_domains", "blocked_domains")
    more = _renamed(tool, names, "context_size", user_location=_approximate)
    return {"type": "web_search", **({"filters": filters} if filters else {}), **more}


def _approximate(place: Json) -> Json:
    return {"type": "approximate", **place}


def _renamed(tool: Json, names: Mapping[str, str], *plain: str, **formed: Callable[[Any], Any]) -> Json:
    """Return fields of a tool that it has by their names on the wire: `plain` ones as they are, others as the functions `formed`
    write them."""
    forms = {**dict.fromkeys(plain, lambda part: part), **formed}
    return {names[name]: form(tool[name]) for name, form in forms.items() if name in tool}


def most_calls(tools: Sequence[Json]) -> int | None:
    """Return how many calls the Responses API may run, None for no limit; it has one for all tools, so a request with several of
    them has no `max_uses`, and that of the first one counts."""
    return tools[0].get("max_uses") if tools else None


def anthropic_tools(tools: Sequence[Json], names: Names) -> list[Json]:
    """Return hosted tools as the Messages API has them, each under its versioned type."""
    return [_anthropic_tool(tool, names[tool["type"]]) for tool in tools]


def _anthropic_tool(tool: Json, names: Mapping[str, str]) -> Json:
    kind = tool["type"]
    plain = [name for name in names if name not in ("version", "user_location")]
    return {
        names["version"]: f"{kind}_{tool.get('version', HOSTED[kind]['version'].default)}", "name": kind,
        **_renamed(tool, names, *plain, user_location=_approximate),
    }  # fmt: skip


# ---------------------------------------------------------------- replies


def url_citations(annotations: Sequence[Fields], text: str, before: int = 0) -> Iterator[Citation]:
    """Yield the citations among the annotations of a text that has `before` code points in front of it. Both wires of OpenAI name
    the code points from `start_index` to before `end_index`; the chat one in an object of its own. Places behind the text are
    moved to its end, an end before its start to the start."""
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
