"""The wire `api: "responses"`: the Responses API of the official OpenAI SDK (O-1.85 to O-1.102).

History is replayed by us and nothing is stored there. Hands on lowered requests and neutral replies. Must not know:
other wires, but for what both OpenAI APIs share.
"""

from __future__ import annotations

from ..records import Call, Reply
from .json_fields import Fields, Unreadable, object_in
from .openai_chat import arguments_text, lower_schema
from .openai_client import OpenAIProvider
from .parameters import not_carried, require_carried
from .sdk import Refusal, stream_failure
from .usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..records import Msg, Request, ToolChoice, ToolDef

    Json = dict[str, Any]

# Items and their parts that the record of a message has.
OF_AN_ITEM: dict[Any, frozenset[str]] = {
    "message": frozenset(("type", "id", "status", "role", "content")),
    "function_call": frozenset(("type", "id", "status", "call_id", "name", "arguments")),
}
NOTHING: frozenset[str] = frozenset()
# Where nothing is stored, reasoning goes back by its encrypted content; a model that has none may refuse to be asked for it.
INCLUDED = ["reasoning.encrypted_content"]
WIRE = "the Responses API"
PARAMS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens"}


class OpenAIResponses(OpenAIProvider):
    wire = "responses"
    raw_form = list
    forms = {"include": ("encrypted content is not supported", "reasoning.encrypted_content", "'include'")}

    def lower(self, request: Request) -> Json:
        require_carried(request, self.settings, "stop", WIRE)
        messages = request.messages
        arguments: Json = {"model": request.model, "store": False}
        if self.takes("include", request.model):
            arguments["include"] = INCLUDED
        if messages and messages[0].role == "system":
            arguments["instructions"] = messages[0].content
            messages = messages[1:]
        arguments["input"] = [item for m in messages for item in self.returned(m, request) or lower_message(m)]
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

    def create(self, client: Any) -> Any:
        return client.responses.with_streaming_response.create

    def says_more(self, raw: list[Any]) -> bool:
        return not all(item.keys() <= OF_AN_ITEM.get(item["type"], NOTHING) for item in raw)

    def growing(self) -> ResponseStream:
        return ResponseStream()

    def read(self, data: Fields) -> Reply:
        output = data.records("output")
        calls = [_call(item) for item in output if item.text("type") == "function_call"]
        return Reply(
            "".join(_texts(output)),
            calls=calls,
            finish=_finish(data, bool(calls)),
            model=data.text_or("model"),
            raw=[_replayed(item.data) for item in output] if all(map(_can_return, output)) else None,
            **self.counts(Usage(data.data.get("usage"))),
        )

    def counts(self, usage: Usage) -> Json:
        return {
            "tokens_in": usage.tokens("input_tokens"),
            "tokens_out": usage.tokens("output_tokens"),
            "cached": usage.tokens_of("input_tokens_details", "cached_tokens"),
            "cache_write": usage.tokens_of("input_tokens_details", "cache_write_tokens"),
            "reasoning": usage.tokens_of("output_tokens_details", "reasoning_tokens"),
            "reports": usage.reports(("input_tokens",), ("output_tokens",)),
        }


class ResponseStream:
    """The last event holds the whole reply."""

    def __init__(self) -> None:
        self._whole: Fields | None = None

    @property
    def is_empty(self) -> bool:
        return self._whole is None

    @property
    def report(self) -> Any:
        return None if self._whole is None else self._whole.data.get("usage")

    @property
    def finished(self) -> bool:
        return self._whole is not None

    def take(self, event: Fields) -> str:
        """The text that an event brings."""
        kind = event.text_or("type")
        if kind in ("response.completed", "response.incomplete"):
            self._whole = event.record("response")
        elif kind in ("error", "response.failed"):
            raise stream_failure(event)
        return event.text("delta") if kind == "response.output_text.delta" else ""

    def whole(self) -> Fields:
        assert self._whole is not None
        return self._whole


def lower_message(message: Msg) -> Iterator[Json]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call_id, "output": message.content}
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


def _can_return(item: Fields) -> bool:
    """A bare reference to reasoning leads nowhere, since nothing was stored; the message then goes back as the record has it."""
    return item.data["type"] != "reasoning" or item.has("encrypted_content") or item.has("content")


def _finish(data: Fields, has_calls: bool) -> str:
    status = data.text_or("status")
    if status == "completed":
        return "tool" if has_calls else "stop"
    if status == "incomplete":
        reason = data.record_or("incomplete_details").text_or("reason")
        if reason == "max_output_tokens":
            return "length"
        if reason == "content_filter":
            raise Refusal("stopped by the content filter")
        raise Unreadable(f"the reply is incomplete: {reason}")
    message = data.record_or("error").text_or("message")
    raise Unreadable(f"the reply has status {status or None}" + (f": {message}" if message else ""))


def _texts(output: list[Fields]) -> Iterator[str]:
    for item in output:
        if item.text("type") != "message":
            continue
        for piece in item.records("content"):
            kind = piece.text("type")
            if kind == "refusal":
                raise Refusal(piece.text_or("refusal") or "the model refused")
            if kind == "output_text":
                yield piece.text("text")


def _replayed(item: Json) -> Json:
    """A message that goes back is the assistant's, whatever role it came with (G-9.4)."""
    return {**item, "role": "assistant"} if "role" in item or item["type"] == "message" else item


def _call(item: Fields) -> Call:
    text = item.text("arguments")
    return Call(item.text("call_id"), item.text("name"), object_in(text), text)
