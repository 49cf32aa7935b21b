"""The wire `api: "responses"`: the Responses API of the official OpenAI SDK (O-1.85 to O-1.102).

History is replayed by us and nothing is stored there. Hands on lowered requests and neutral replies. Must not know:
other wires, but for what both OpenAI APIs share.
"""

from __future__ import annotations

from ..records import Call, Reply
from .openai_chat import arguments_text, lower_schema
from .openai_client import OpenAIProvider
from .parameters import not_carried, require_carried
from .sdk import Refusal, Unreadable, count, parsed_arguments, part, reasoning_tokens, stream_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..records import Msg, Request, ToolChoice, ToolDef

    Json = dict[str, Any]

WIRE = "the Responses API"
PARAMS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens"}


class OpenAIResponses(OpenAIProvider):
    def lower(self, request: Request) -> Json:
        require_carried(request, self.settings, "stop", WIRE)
        messages = request.messages
        arguments: Json = {"model": request.model, "store": False}
        if messages and messages[0].role == "system":
            arguments["instructions"] = messages[0].content
            messages = messages[1:]
        arguments["input"] = [item for message in messages for item in lower_message(message)]
        if request.tools:
            arguments["tools"] = [lower_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                arguments["tool_choice"] = lower_choice(request.tool_choice)
        for name, wire_name in PARAMS.items():
            if name in request.params:
                arguments[wire_name] = request.params[name]
        if request.schema is not None and request.schema.strategy == "native":
            arguments["text"] = {"format": {"type": "json_schema", **lower_schema(request.schema)}}
        if request.stream:
            arguments["stream"] = True
        return arguments

    def left_out(self, request: Request) -> list[str]:
        return [not_carried("stop", WIRE)] if "stop" in request.params else []

    async def create(self, client: Any, arguments: Json) -> Any:
        return await client.responses.with_raw_response.create(**arguments)

    def piece(self, event: Json, whole: Json) -> str:
        """The last event holds the whole reply."""
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete"):
            whole.update(part(event, "response", dict))
        elif kind in ("error", "response.failed"):
            raise stream_failure(event)
        return part(event, "delta", str) if kind == "response.output_text.delta" else ""

    def read(self, data: Json) -> Reply:
        output = part(data, "output", list)
        calls = [_call(item) for item in output if _type_of(item) == "function_call"]
        usage = data.get("usage")
        return Reply(
            "".join(_texts(output)),
            calls=calls,
            finish=_finish(data, bool(calls)),
            model=data.get("model") or "",
            tokens_in=count(usage, "input_tokens"),
            tokens_out=count(usage, "output_tokens"),
            reasoning=reasoning_tokens(usage, "output_tokens_details"),
            raw=output,
        )


def lower_message(message: Msg) -> Iterator[Json]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call_id, "output": message.content}
    elif message.raw is not None:
        yield from message.raw
    elif not message.calls:
        yield message.as_json()
    else:
        if message.content:
            yield {"role": "assistant", "content": message.content}
        for call in message.calls:
            text = arguments_text(call)
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}


def lower_tool(tool: ToolDef) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def lower_choice(choice: ToolChoice) -> str | Json:
    return choice if isinstance(choice, str) else {"type": "function", "name": choice["name"]}


def _finish(data: Json, has_calls: bool) -> str:
    status = data.get("status")
    if status == "completed":
        return "tool" if has_calls else "stop"
    if status == "incomplete":
        reason = (data.get("incomplete_details") or {}).get("reason")
        if reason == "max_output_tokens":
            return "length"
        if reason == "content_filter":
            raise Refusal("stopped by the content filter")
        raise Unreadable(f"the reply is incomplete: {reason}")
    error = data.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    raise Unreadable(f"the reply has status {status}" + (f": {message}" if message else ""))


def _texts(output: list[Any]) -> Iterator[str]:
    for item in output:
        if _type_of(item) != "message":
            continue
        for piece in part(item, "content", list):
            if _type_of(piece) == "refusal":
                raise Refusal(str(piece.get("refusal") or "the model refused"))
            if _type_of(piece) == "output_text":
                yield part(piece, "text", str)


def _call(item: Json) -> Call:
    text = part(item, "arguments", str)
    return Call(part(item, "call_id", str), part(item, "name", str), parsed_arguments(text), text)


def _type_of(item: Any) -> Any:
    return item.get("type") if isinstance(item, dict) else None
