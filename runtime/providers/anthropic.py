"""The wire of Anthropic: messages of the official SDK (O-1.85 to O-1.103, last column).

Hands on lowered requests and neutral replies. Must not know: other wires.
"""

from __future__ import annotations

from ..records import Call, Reply
from ..schema.json_text import compact_json
from .sdk import Refusal, SdkProvider, Unreadable, count, parsed_arguments, part, stream_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..records import Msg, Request, ToolChoice, ToolDef

    Json = dict[str, Any]

DEFAULT_MAX_TOKENS = 4096
# The last API version that takes sampling parameters; the SDK has no argument for them any more.
SAMPLING_VERSION = "2023-06-01"
SAMPLING = ("temperature", "top_p")
CONTINUES = "(conversation continues)"
EMPTY = "(empty)"

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
}
INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic(SdkProvider):
    package = "anthropic"

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        client = sdk.AsyncAnthropic(
            api_key=key,
            base_url=self.settings.base_url,
            max_retries=0,
            default_headers=headers,
            open_telemetry=False,
            http_client=http_client,
        )
        # What the SDK took from ANTHROPIC_CUSTOM_HEADERS has no effect (O-1.25).
        client._custom_headers = headers
        return client

    def lower(self, request: Request) -> Json:
        params = request.params
        arguments: Json = {
            "model": request.model,
            "max_tokens": params.get("max_tokens", DEFAULT_MAX_TOKENS),
            "messages": lower_messages([m for m in request.messages if m.role != "system"]),
        }
        system = [_filled(m.content) for m in request.messages if m.role == "system"]
        if system:
            arguments["system"] = "\n\n".join(system)
        if request.tools:
            arguments["tools"] = [lower_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                arguments["tool_choice"] = lower_choice(request.tool_choice)
        if "stop" in params:
            arguments["stop_sequences"] = params["stop"]
        sampling = {name: params[name] for name in SAMPLING if name in params}
        if sampling:
            arguments["extra_body"] = sampling
            arguments["extra_headers"] = {"anthropic-version": SAMPLING_VERSION}
        if request.schema is not None and request.schema.strategy == "native":
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": request.schema.json}}
        if request.stream:
            arguments["stream"] = True
        return arguments

    async def create(self, client: Any, arguments: Json) -> Any:
        return await client.messages.with_raw_response.create(**arguments)

    def piece(self, event: Json, whole: Json) -> str:
        kind = event.get("type")
        if kind == "error":
            raise stream_failure(event)
        if kind == "message_start":
            whole.update(part(event, "message", dict))
            whole["content"] = []
        elif kind == "content_block_start":
            part(whole, "content", list).append({**part(event, "content_block", dict)})
        elif kind == "content_block_delta":
            return _grown(_last_block(whole), part(event, "delta", dict))
        elif kind == "content_block_stop":
            _closed(_last_block(whole))
        elif kind == "message_delta":
            whole.update(part(event, "delta", dict))
            whole["usage"] = {**(whole.get("usage") or {}), **(event.get("usage") or {})}
        return ""

    def read(self, data: Json) -> Reply:
        content = part(data, "content", list)
        finish = data.get("stop_reason")
        if finish == "refusal":
            raise Refusal("the model refused")
        if finish not in FINISH:
            raise Unreadable(f"unknown stop_reason {finish}")
        usage = data.get("usage")
        return Reply(
            "".join(part(block, "text", str) for block in content if _type_of(block) == "text"),
            calls=[_call(block) for block in content if _type_of(block) == "tool_use"],
            finish=FINISH[finish],
            model=data.get("model") or "",
            tokens_in=count(usage, *INPUT_TOKENS),
            tokens_out=count(usage, "output_tokens"),
            raw=content,
        )


def _last_block(whole: Json) -> Json:
    blocks: list[Json] = part(whole, "content", list)
    if not blocks:
        raise Unreadable("a delta before its content block")
    return blocks[-1]


def _grown(block: Json, delta: Json) -> str:
    """A block with what a delta adds; the text it brings."""
    kind = delta.get("type")
    if kind == "text_delta":
        text: str = part(delta, "text", str)
        block["text"] = block.get("text", "") + text
        return text
    if kind == "input_json_delta":
        block["json"] = block.get("json", "") + part(delta, "partial_json", str)
    elif kind in ("thinking_delta", "signature_delta"):  # replayed verbatim in the tool rounds of the call
        name = kind.removesuffix("_delta")
        block[name] = block.get(name, "") + part(delta, name, str)
    return ""


def _closed(block: Json) -> None:
    """The input of a tool call came as JSON text."""
    text = block.pop("json", "")
    if text:
        block["input"] = parsed_arguments(text)


def lower_messages(messages: Sequence[Msg]) -> list[Json]:
    """Results of one round stand together in one user message (O-1.88); the first message is the user's (O-1.103)."""
    lowered: list[Json] = []
    if messages and messages[0].role != "user":
        lowered.append({"role": "user", "content": CONTINUES})
    results: list[Json] | None = None
    for message in messages:
        if message.role != "tool":
            lowered.append(_lower_message(message))
            results = None
            continue
        if results is None:
            results = []
            lowered.append({"role": "user", "content": results})
        results.append(_lower_result(message))
    return lowered


def lower_tool(tool: ToolDef) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def lower_choice(choice: ToolChoice) -> Json:
    return {"type": "any"} if isinstance(choice, str) else {"type": "tool", "name": choice["name"]}


def _lower_message(message: Msg) -> Json:
    if message.raw is not None:
        return {"role": "assistant", "content": message.raw}
    if message.calls:
        text: list[Json] = [{"type": "text", "text": message.content}] if message.content.strip() else []
        return {"role": "assistant", "content": text + [_lower_call(call) for call in message.calls]}
    return message.as_json() if message.content.strip() else {"role": message.role, "content": EMPTY}


def _lower_call(call: Call) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments or {}}


def _lower_result(message: Msg) -> Json:
    made: Json = {"type": "tool_result", "tool_use_id": message.call_id, "content": _filled(message.content)}
    if message.is_error is not None:
        made["is_error"] = message.is_error
    return made


def _filled(content: str) -> str:
    return content if content.strip() else EMPTY


def _call(block: Json) -> Call:
    arguments = block.get("input")
    is_object = isinstance(arguments, dict)
    return Call(part(block, "id", str), part(block, "name", str), arguments if is_object else None, compact_json(arguments))


def _type_of(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
