"""The wire `api: "chat"`: chat.completions of the official OpenAI SDK (O-1.85 to O-1.102, middle column).

Hands on lowered requests and neutral replies. Must not know: other wires.
"""

from __future__ import annotations

from ...vm.schema import is_strict_form
from ..records import Call, Reply
from ..schema.json_text import compact_json
from .openai_client import OpenAIProvider
from .sdk import Refusal, Unreadable, count, parsed_arguments, part, reasoning_tokens, stream_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..records import Msg, Request, SchemaField, ToolChoice, ToolDef

    Json = dict[str, Any]

FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool"}
CONTENT_FILTER = "content_filter"


class OpenAIChat(OpenAIProvider):
    def lower(self, request: Request) -> Json:
        arguments: Json = {"model": request.model, "messages": [m.plain or lower_message(m) for m in request.messages]}
        if request.tools:
            arguments["tools"] = [lower_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                arguments["tool_choice"] = lower_choice(request.tool_choice)
        for name, value in request.params.items():
            arguments[self.settings.row.max_tokens_name if name == "max_tokens" else name] = value
        if request.schema is not None and request.schema.strategy == "native":
            arguments["response_format"] = {"type": "json_schema", "json_schema": lower_schema(request.schema)}
        if request.stream:
            arguments["stream"] = True
            arguments["stream_options"] = {"include_usage": True}
        return arguments

    async def create(self, client: Any, arguments: Json) -> Any:
        return await client.chat.completions.with_raw_response.create(**arguments)

    def piece(self, event: Json, whole: Json) -> str:
        if "error" in event:
            raise stream_failure(event)
        if not whole:
            message: Json = {"role": "assistant", "content": "", "tool_calls": []}
            whole.update(choices=[{"message": message, "finish_reason": None}])
        whole["model"] = event.get("model") or whole.get("model")
        whole["usage"] = event.get("usage") or whole.get("usage")
        choice = whole["choices"][0]
        text = ""
        for arrived in event.get("choices") or ():
            text += _grown(choice["message"], part(arrived, "delta", dict))
            choice["finish_reason"] = arrived.get("finish_reason") or choice["finish_reason"]
        return text

    def read(self, data: Json) -> Reply:
        choices = part(data, "choices", list)
        if not choices:
            raise Unreadable("the reply has no choices")
        message = part(choices[0], "message", dict)
        finish = choices[0].get("finish_reason")
        if finish == CONTENT_FILTER or message.get("refusal"):
            raise Refusal(message.get("refusal") or "stopped by the content filter")
        if finish not in FINISH:
            raise Unreadable(f"unknown finish_reason {finish}")
        usage = data.get("usage")
        return Reply(
            _text(message),
            calls=[_call(entry) for entry in message.get("tool_calls") or ()],
            finish=FINISH[finish],
            model=data.get("model") or "",
            tokens_in=count(usage, "prompt_tokens"),
            tokens_out=count(usage, "completion_tokens"),
            reasoning=reasoning_tokens(usage, "completion_tokens_details"),
            raw={key: value for key, value in message.items() if value not in (None, [])},
        )


def _grown(message: Json, delta: Json) -> str:
    """A message with what a delta adds; the text it brings."""
    text: str = delta.get("content") or ""
    message["content"] += text
    if delta.get("refusal"):
        message["refusal"] = message.get("refusal", "") + delta["refusal"]
    calls = message["tool_calls"]
    for piece in delta.get("tool_calls") or ():
        index = part(piece, "index", int)
        if index == len(calls):
            calls.append({"id": piece.get("id"), "type": "function", "function": {"name": "", "arguments": ""}})
        if index >= len(calls):
            raise Unreadable("the calls of the stream are out of order")
        for name in ("name", "arguments"):
            calls[index]["function"][name] += (piece.get("function") or {}).get(name) or ""
    return text


def lower_message(message: Msg) -> Json:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.raw is not None:
        raw: Json = message.raw
        return raw
    if not message.calls:
        return message.as_json()
    lowered: Json = {"role": "assistant"}
    if message.content:
        lowered["content"] = message.content
    lowered["tool_calls"] = [_lower_call(call) for call in message.calls]
    return lowered


def arguments_text(call: Call) -> str:
    """Arguments that were no object are sent back as they came."""
    return call.text if call.arguments is None else compact_json(call.arguments)


def lower_tool(tool: ToolDef) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def lower_choice(choice: ToolChoice) -> str | Json:
    return choice if isinstance(choice, str) else {"type": "function", "function": {"name": choice["name"]}}


def lower_schema(schema: SchemaField) -> Json:
    return {"name": schema.name, "schema": schema.json, "strict": is_strict_form(schema.json)}


def _lower_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _text(message: Json) -> str:
    content = message.get("content")
    if content is None:
        return ""
    if not isinstance(content, str):
        raise Unreadable("the content of the reply is no text")
    return content


def _call(entry: Any) -> Call:
    function = part(entry, "function", dict)
    text = part(function, "arguments", str)
    return Call(part(entry, "id", str), part(function, "name", str), parsed_arguments(text), text)
