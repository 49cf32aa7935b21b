"""The wires of OpenAI, `chat` and `responses`, through the official SDK, for every provider that speaks them (O-1.18, O-1.20 to
O-1.22, O-1.85 to O-1.102).

Hands on `OpenAIChat`, `GoogleChat` and `OpenAIResponses`, which `pool.py` makes by the row of a connection, and their base
`OpenAIProvider`, all but `GoogleChat`, to `azure.py`, which extends them, and to batches of requests
(`batches/provider_wires.py`). In each, `lower` writes a request and `read`, with a class for streams, reads a reply: `read`
raises `Refusal` where the model refuses, both `Unreadable` for JSON that is no reply. What else a provider does is in `sdk.py`.
"""

from __future__ import annotations

from ...vm.providers import TOTAL_USES
from ...vm.schema import RESPOND, is_strict_form
from ..media import has_media
from ..records import Call, Msg, Reply
from ..schema.lenient_json import compact_json
from .base import origin_of
from .hosted_tools import calls_in_items, chat_options, most_calls, responses_tools, url_citations
from .json_fields import Fields, Unreadable, Usage, joined, merge, object_in
from .media import chat_content, responses_content, tool_media
from .sdk import BARE_CALLS, CONTINUES, Refusal, SdkProvider, not_carried, require_carried, require_countable, stream_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..records import Citation, EmbedRequest, Request, SchemaField, ToolChoice, ToolDef


LARGEST = 1e9  # number in a vector, so that no sum of squares leaves Float


class OpenAIProvider(SdkProvider):
    """What both wires share: the client of the SDK, and embeddings. `embed` returns one vector for each text, in their order, and
    raises CallFailure. `send`, `stream` and all that has to do with the network are those of `SdkProvider`, which calls what is
    here: of a wire `lower` returns the arguments of the SDK's function `create`, `read` the Reply of a reply's JSON, `counts` the
    counters of a report of usage by their names in a Reply, `growing` a new `Growing` for a stream; `says_more` is whether a
    message in the provider's own form holds more than its neutral record, and `left_out` are notes on parameters that are not
    sent; `make_client` and `create` are explained at `SdkProvider`."""

    package = "openai"

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        settings = self.settings
        client = self.open(
            sdk,
            key,
            organization=settings.organization,
            project=settings.project,
            max_retries=0,
            default_headers=headers,
            http_client=http_client,
        )
        # What the SDK took from OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS has no effect (O-1.25).
        client.organization = settings.organization
        client.project = settings.project
        client.admin_api_key = None
        client._custom_headers = headers
        return client

    def open(self, sdk: Any, key: str, **options: Any) -> Any:
        """Return a client of the SDK module at the address of the connection, made with further options."""
        return sdk.AsyncOpenAI(api_key=key, base_url=self.settings.base_url, **options)

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        arguments: dict[str, Any] = {"model": request.model, "input": request.texts, "encoding_format": "float"}
        if request.dimensions is not None:
            arguments["dimensions"] = request.dimensions
        data = await self.fetch(request, arguments, lambda client: client.embeddings.with_streaming_response.create)
        try:
            return _vectors(data, len(request.texts))
        except Unreadable as unreadable:
            raise origin_of(request).invalid_response(str(unreadable)) from None


def _vectors(data: Fields, count: int) -> list[list[float]]:
    """Return the vectors in the order of the texts, whatever the order in the reply."""
    entries = data.records("data")
    rows = {entry.position("index"): _vector(entry) for entry in entries}
    if len(entries) != count or sorted(rows) != list(range(count)):
        raise Unreadable("the reply has another number of embeddings")
    return [rows[number] for number in range(count)]


def _vector(entry: Fields) -> list[float]:
    values = entry.values("embedding")
    if not values or not all(type(value) in (int, float) and abs(value) <= LARGEST for value in values):
        raise Unreadable(f"{entry.place}.embedding is no list of numbers of at most {LARGEST:g}")
    return values


# The wire `api: "chat"`: chat.completions (O-1.85 to O-1.102, middle column).

if TYPE_CHECKING:
    Json = dict[str, Any]

# The parts of a message, its calls and their functions that the neutral record has too, or that no provider takes back.
OF_A_MESSAGE = frozenset(("role", "content", "tool_calls", "name", "refusal", "annotations", "audio", "function_call"))
OF_A_CALL = frozenset(("index", "id", "type", "function"))
OF_A_FUNCTION = frozenset(("name", "arguments"))
NOT_TAKEN_BACK = ("refusal", "annotations", "audio")
FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool"}
CONTENT_FILTER = "content_filter"
CHAT = "chat completions"
NO_PARAMS = ("reasoning_tokens", "extra")
THOUGHTS = ("reasoning_content", "reasoning")  # where endpoints show reasoning: DeepSeek, vLLM and others; OpenRouter, Ollama


class OpenAIChat(OpenAIProvider):
    """The wire `chat`; its methods are explained at `OpenAIProvider`. `lower` raises NotSent for media that this wire does not
    carry, and for `reasoning_tokens`, unless the connection drops such parameters."""

    wire = "chat"
    raw_form = dict
    forms = {
        "default effort": ("tools with reasoning_effort are not supported",),
        BARE_CALLS: ("reasoning_content", "thought_signature"),
    }

    def lower(self, request: Request) -> Json:
        if request.params:
            require_carried(request, self.settings, "reasoning_tokens", CHAT)
        adapted = self.taken_messages(request)
        if request.has_media and has_media(adapted):
            messages = self._with_media(request, adapted)
        else:
            messages = [m.plain or (m.state and self.returned(m, request)) or lower_message(m) for m in adapted]
        arguments: Json = {"model": request.model, "messages": messages}
        if request.tools:
            if not self.takes("default effort", request.model):
                arguments["reasoning_effort"] = "none"
            arguments["tools"] = [lower_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                arguments["tool_choice"] = lower_choice(request.tool_choice)
        if request.hosted:
            arguments["web_search_options"] = chat_options(request.hosted, self.hosted_names)
        if request.params:
            names = {"max_tokens": self.settings.row.max_tokens_name, "reasoning": "reasoning_effort"}
            arguments |= {names.get(name, name): value for name, value in request.params.items() if name not in NO_PARAMS}
        if request.schema is not None and request.schema.strategy == "native":
            arguments["response_format"] = {"type": "json_schema", "json_schema": lower_schema(request.schema)}
        if request.cache is not None:
            arguments["prompt_cache_key"] = request.cache.name
        if request.stream:
            arguments["stream"] = True
            arguments["stream_options"] = {"include_usage": True}
        return arguments

    def certain_calls(self, request: Request) -> Mapping[str, int]:
        """Return one call for each hosted tool: a search model searches with each request
        (https://developers.openai.com/api/docs/guides/tools-web-search)."""
        return {tool["type"]: 1 for tool in request.hosted}

    def left_out(self, request: Request) -> list[str]:
        return [not_carried("reasoning_tokens", CHAT)] if "reasoning_tokens" in request.params else []

    def _with_media(self, request: Request, adapted: Sequence[Msg]) -> list[Json]:
        """Return the messages as the wire has them, some of which have media; those of tool results come behind the round."""
        lowered: list[Json] = []
        results: list[Msg] = []
        for message in adapted:
            if message.role != "tool":
                lowered += tool_media(request, results)
                results = []
            else:
                results.append(message)
            if message.media and message.role != "tool":
                lowered.append({"role": message.role, "content": chat_content(request, message)})
            else:
                lowered.append((message.state and self.returned(message, request)) or lower_message(message))
        return [*lowered, *tool_media(request, results)]

    def create(self, client: Any) -> Any:
        return client.chat.completions.with_streaming_response.create

    def says_more(self, raw: Json) -> bool:
        calls = raw.get("tool_calls") or ()
        return not (
            raw.keys() <= OF_A_MESSAGE
            and all(call.keys() <= OF_A_CALL and call["function"].keys() <= OF_A_FUNCTION for call in calls)
        )

    def growing(self) -> ChatStream:
        return ChatStream()

    def read(self, data: Fields) -> Reply:
        choices = data.records("choices")
        if not choices:
            raise Unreadable("the reply has no choices")
        message = choices[0].record("message")
        finish = choices[0].text_or("finish_reason")
        refusal = message.text_or("refusal")
        if finish == CONTENT_FILTER or refusal:
            raise Refusal(refusal or "stopped by the content filter")
        if finish not in FINISH:
            raise Unreadable(f"unknown finish_reason {finish}" if finish else "the reply has no finish_reason")
        text = message.text_or("content")
        return Reply(
            text,
            calls=[_call(entry) for entry in message.records_or("tool_calls")],
            finish=FINISH[finish],
            model=data.text_or("model"),
            thoughts=next((message.data[name] for name in THOUGHTS if _is_filled(message.data.get(name))), None),
            citations=list(url_citations(message.records_or("annotations"), text)),
            raw={"role": "assistant"} | {key: value for key, value in message.data.items() if _is_replayed(key, value)},
            **self.counts(Usage(data.data.get("usage"))),
        )

    def counts(self, usage: Usage) -> Json:
        return {
            "tokens_in": usage.tokens("prompt_tokens"),
            "tokens_out": _output_tokens(usage),
            "cached": usage.tokens_of("prompt_tokens_details", "cached_tokens") or usage.tokens("prompt_cache_hit_tokens"),
            "cache_write": usage.tokens_of("prompt_tokens_details", "cache_write_tokens"),
            "reasoning": usage.tokens_of("completion_tokens_details", "reasoning_tokens"),
            "reports": usage.reports(("prompt_tokens",), ("completion_tokens",)),
            "hosted": usage.calls_of("server_tool_use", web_search="web_search_requests"),
        }


class GoogleChat(OpenAIChat):
    """The wire `chat` as Google's endpoint takes it."""

    def taken_messages(self, request: Request) -> Sequence[Msg]:
        """Return the messages; one with calls stands behind a user message or a result, else Google refuses it (O-1.139)."""
        messages = super().taken_messages(request)
        if not any(message.calls for message in messages):
            return messages
        adapted: list[Msg] = []
        for message in messages:
            if message.calls and (not adapted or adapted[-1].role not in ("user", "tool")):
                adapted.append(Msg("user", CONTINUES))
            adapted.append(message)
        return adapted


def _is_filled(value: Any) -> bool:
    return type(value) is str and value != ""


def _output_tokens(usage: Usage) -> int:
    """Return the output tokens with the reasoning tokens, which some endpoints count in the total only."""
    completion, reasoning = usage.tokens("completion_tokens"), usage.tokens_of("completion_tokens_details", "reasoning_tokens")
    counts_apart = usage.tokens("total_tokens") == usage.tokens("prompt_tokens") + completion + reasoning
    return completion + reasoning if counts_apart else completion


def _is_replayed(key: str, value: Any) -> bool:
    """Return whether a part of a message goes back. Its role does not: what goes back is the assistant's, whatever it came as
    (G-9.4)."""
    return key != "role" and value not in (None, []) and key not in NOT_TAKEN_BACK


class ChatStream:
    """Puts a streamed reply together (a `Growing` of `sdk.py`): it has the pieces of each text that have come. `is_empty` is true
    until the first event; `report` is the latest report of usage, None before one; `finished` whether the reply has said why it
    ends; `whole` returns the reply as `OpenAIChat.read` takes it. `answer` has the pieces of the arguments of the tool `respond`.
    Methods raise Unreadable for an event that does not fit, and for one that says that the rest will not come."""

    def __init__(self) -> None:
        self.is_empty = True
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_GrowingCall] = []
        self._finish = ""
        self._about: Json = {}  # model and usage
        self._unknown: Json = {}
        self._annotations: list[Json] = []
        self.answer: list[str] = []

    @property
    def report(self) -> Any:
        return self._about.get("usage")

    @property
    def finished(self) -> bool:
        return bool(self._finish)

    def take(self, event: Fields) -> str:
        """Take an event and return the text that it brings."""
        if event.has("error"):
            raise stream_failure(event)
        self.is_empty = False
        for name in ("model", "usage"):
            if event.data.get(name) not in (None, ""):  # Azure's annotations come without a model
                self._about[name] = event.data[name]
        return "".join([self._choice(choice) for choice in event.records_or("choices")])

    def _choice(self, choice: Fields) -> str:
        # an annotation of Azure's filter says nothing else
        delta = choice.record_or("delta") if choice.has("content_filter_results") else choice.record("delta")
        text = delta.text_or("content")
        self._content.append(text)
        if len(delta.data) > 1 or "content" not in delta.data:  # nearly every event has content alone
            self._refusal.append(delta.text_or("refusal"))
            self._annotations += [annotation.data for annotation in delta.records_or("annotations")]
            require_countable(self._annotations)
            merge(self._unknown, delta.data, OF_A_MESSAGE)
            for piece in delta.records_or("tool_calls"):
                self._call(piece)
        self._finish = choice.text_or("finish_reason") or self._finish
        return text

    def _call(self, piece: Fields) -> None:
        index = self._place(piece)
        if index == len(self._calls):
            self._calls.append(_GrowingCall(piece.text("id")))
            require_countable(self._calls)
        if index >= len(self._calls):
            raise Unreadable("the calls of the stream are out of order")
        call = self._calls[index]
        arguments = call.take(piece)
        if arguments and call.is_named(RESPOND):
            self.answer.append(arguments)

    def _place(self, piece: Fields) -> int:
        """Return the number of the call that a piece belongs to. Some endpoints number no call, or all of them 0: there each
        new id begins one (O-1.139)."""
        count = len(self._calls)
        at = piece.position("index", max(count - 1, 0))
        id = piece.text_or("id")
        if not id or at >= count or self._calls[at].id == id:
            return at
        return next((number for number, call in enumerate(self._calls) if call.id == id), count)

    def whole(self) -> Fields:
        message: Json = {**joined(self._unknown), "role": "assistant", "content": "".join(self._content)}
        refusal = "".join(self._refusal)
        if refusal:
            message["refusal"] = refusal
        message["tool_calls"] = [call.whole() for call in self._calls]
        message["annotations"] = self._annotations
        return Fields({**self._about, "choices": [{"message": message, "finish_reason": self._finish}]})


class _GrowingCall:
    """A tool call of which the pieces come: those of its name, with their length, and those of its arguments; `unknown` has the
    parts that the neutral record has not."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.names: list[str] = []
        self.name_length = 0
        self.arguments: list[str] = []
        self.unknown: Json = {}
        self.unknown_of_function: Json = {}

    def take(self, piece: Fields) -> str:
        """Take a piece and return what it brings of the arguments."""
        function = piece.record_or("function")
        name, arguments = function.text_or("name"), function.text_or("arguments")
        if name:
            self.names.append(name)
            self.name_length += len(name)
        self.arguments.append(arguments)
        merge(self.unknown, piece.data, OF_A_CALL)
        merge(self.unknown_of_function, function.data, OF_A_FUNCTION)
        return arguments

    def is_named(self, name: str) -> bool:
        """Return whether its name so far is this one; it costs the same however many pieces there are."""
        return self.name_length == len(name) and "".join(self.names) == name

    def whole(self) -> Json:
        names, arguments = "".join(self.names), "".join(self.arguments)
        function = {**joined(self.unknown_of_function), "name": names, "arguments": arguments}
        return {**joined(self.unknown), "id": self.id, "type": "function", "function": function}


def lower_message(message: Msg) -> Json:
    """Return a message as the wire `chat` has it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if not message.calls:
        return message.as_json()
    lowered: Json = {"role": "assistant"}
    if message.content:
        lowered["content"] = message.content
    lowered["tool_calls"] = [_lower_call(call) for call in message.calls]
    return lowered


def arguments_text(call: Call) -> str:
    """Return the arguments of a call as the model wrote them, so that a message stays the same in all later requests, which
    prompt caches need; those of a call that a program made are compact JSON."""
    if call.arguments is None or (call.text and object_in(call.text) == call.arguments):
        return call.text
    return compact_json(call.arguments)


def lower_tool(tool: ToolDef) -> Json:
    """Return a tool of the program as the wire `chat` has it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def lower_choice(choice: ToolChoice) -> str | Json:
    """Return a tool choice as the wire `chat` has it: the word itself, or the tool of that name."""
    return choice if isinstance(choice, str) else {"type": "function", "function": {"name": choice["name"]}}


def lower_schema(schema: SchemaField) -> Json:
    """Return a schema as both wires have it; it is strict only in the form that OpenAI's strict mode takes."""
    return {"name": schema.name, "schema": schema.json, "strict": is_strict_form(schema.json)}


def _lower_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _call(entry: Fields) -> Call:
    function = entry.record("function")
    text = function.text("arguments")
    return Call(entry.text("id"), function.text("name"), object_in(text), text)


# The wire `api: "responses"`: the Responses API (O-1.85 to O-1.102). We send the history with each request; nothing is stored
# there.

if TYPE_CHECKING:
    ResponsesJson = dict[str, Any]

# The parts of items that the neutral record of a message has too.
OF_AN_ITEM: dict[Any, frozenset[str]] = {
    "message": frozenset(("type", "id", "status", "role", "content")),
    "function_call": frozenset(("type", "id", "status", "call_id", "name", "arguments")),
}
NOTHING: frozenset[str] = frozenset()
# Since nothing is stored, reasoning goes back by its encrypted content; a model without it may refuse to be asked for it.
INCLUDED = ["reasoning.encrypted_content"]
WIRE = "the Responses API"
NOT_CARRIED = ("stop", "reasoning_tokens")
PARAMS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens"}


class OpenAIResponses(OpenAIProvider):
    """The wire `responses`; its methods are explained at `OpenAIProvider`. `lower` raises NotSent for media that this wire does
    not carry, and for the parameters in NOT_CARRIED, unless the connection drops such parameters."""

    wire = "responses"
    raw_form = list
    forms = {
        "include": ("encrypted content is not supported", "reasoning.encrypted_content", "'include'"),
        "summary": ("reasoning summaries", "reasoning.summary"),  # which an organisation has to be verified for
    }

    def lower(self, request: Request) -> ResponsesJson:
        for name in NOT_CARRIED:
            require_carried(request, self.settings, name, WIRE)
        messages = request.messages
        arguments: ResponsesJson = {"model": request.model, "store": False}
        if self.takes("include", request.model):
            arguments["include"] = INCLUDED
        if messages and messages[0].role == "system":
            arguments["instructions"] = messages[0].content
            messages = messages[1:]
        arguments["input"] = [
            item for m in messages for item in self.returned(m, request) or lower_responses_message(m, request)
        ]
        hosted = request.hosted
        if request.tools or hosted:
            run_there = responses_tools(hosted, self.hosted_names)
            arguments["tools"] = [*run_there, *(lower_responses_tool(tool) for tool in request.tools)]
            if (most := most_calls(hosted)) is not None:
                arguments[TOTAL_USES] = most
            if request.tool_choice != "auto":
                arguments["tool_choice"] = lower_responses_choice(request.tool_choice)
        for name, wire_name in PARAMS.items():
            if name in request.params:
                arguments[wire_name] = request.params[name]
        effort = request.params.get("reasoning")
        if effort is not None:
            arguments["reasoning"] = {"effort": effort}
            if effort != "none" and self.takes("summary", request.model):
                arguments["reasoning"]["summary"] = "auto"
        if request.schema is not None and request.schema.strategy == "native":
            arguments["text"] = {"format": {"type": "json_schema", **lower_schema(request.schema)}}
        if request.cache is not None:
            arguments["prompt_cache_key"] = request.cache.name
        if request.stream:
            arguments["stream"] = True
        return arguments

    def left_out(self, request: Request) -> list[str]:
        return [not_carried(name, WIRE) for name in NOT_CARRIED if name in request.params]

    def create(self, client: Any) -> Any:
        return client.responses.with_streaming_response.create

    def says_more(self, raw: list[Any]) -> bool:
        return not all(item.keys() <= OF_AN_ITEM.get(item["type"], NOTHING) for item in raw)

    def growing(self) -> ResponseStream:
        return ResponseStream()

    def read(self, data: Fields) -> Reply:
        output = data.records("output")
        calls = [_responses_call(item) for item in output if item.text("type") == "function_call"]
        counts = self.counts(Usage(data.data.get("usage")))
        counts["hosted"] = {**calls_in_items(output), **counts["hosted"]}
        parts = list(_text_parts(output))
        return Reply(
            "".join([text for text, _ in parts]),
            calls=calls,
            finish=_finish(data, bool(calls)),
            model=data.text_or("model"),
            thoughts="\n\n".join(_summaries(output)) or None,
            raw=[_replayed(item.data) for item in output] if all(map(_can_return, output)) else None,
            citations=list(_citations(parts)),
            **counts,
        )

    def counts(self, usage: Usage) -> ResponsesJson:
        return {
            "tokens_in": usage.tokens("input_tokens"),
            "tokens_out": usage.tokens("output_tokens"),
            "cached": usage.tokens_of("input_tokens_details", "cached_tokens"),
            "cache_write": usage.tokens_of("input_tokens_details", "cache_write_tokens"),
            "reasoning": usage.tokens_of("output_tokens_details", "reasoning_tokens"),
            "reports": usage.reports(("input_tokens",), ("output_tokens",)),
            "hosted": usage.calls_of("server_side_tool_usage_details", web_search="web_search_calls"),
        }


class ResponseStream:
    """Puts a streamed reply together, and raises, as `ChatStream` does; the last event holds the whole reply, for
    `OpenAIResponses.read`, so that before it `is_empty` is true and `whole` must not be called."""

    def __init__(self) -> None:
        self._whole: Fields | None = None
        self._answering: int | None = None  # the number of the item that calls `respond`
        self.answer: list[str] = []

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
        """Take an event and return the text that it brings."""
        kind = event.text_or("type")
        if kind in ("response.completed", "response.incomplete"):
            self._whole = event.record("response")
        elif kind in ("error", "response.failed"):
            raise stream_failure(event)
        elif kind == "response.output_item.added" and event.record("item").text_or("name") == RESPOND:
            self._answering = event.position("output_index", 0)
        elif kind == "response.function_call_arguments.delta" and event.position("output_index", 0) == self._answering:
            self.answer.append(event.text("delta"))
        return event.text("delta") if kind == "response.output_text.delta" else ""

    def whole(self) -> Fields:
        assert self._whole is not None
        return self._whole


def lower_responses_message(message: Msg, request: Request) -> Iterator[ResponsesJson]:
    """Yield the items that a message is on the wire `responses`: there each call is an item of its own. Raises NotSent for media
    that this wire does not carry."""
    if message.role == "tool":
        output = responses_content(request, message) if message.media else message.content
        yield {"type": "function_call_output", "call_id": message.call_id, "output": output}
    elif message.media:
        yield {"role": message.role, "content": responses_content(request, message)}
    elif not message.calls:
        yield message.as_json()
    else:
        if message.content:
            yield {"role": "assistant", "content": message.content}
        for call in message.calls:
            text = arguments_text(call)
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}


def lower_responses_tool(tool: ToolDef) -> ResponsesJson:
    """Return a tool of the program as the wire `responses` has it."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def lower_responses_choice(choice: ToolChoice) -> str | ResponsesJson:
    """Return a tool choice as the wire `responses` has it: the word itself, or the tool of that name."""
    return choice if isinstance(choice, str) else {"type": "function", "name": choice["name"]}


def _can_return(item: Fields) -> bool:
    """Return whether an item can go back. A bare reference to reasoning cannot, since nothing was stored: then the message goes
    back as the neutral record has it."""
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


def _summaries(output: list[Fields]) -> Iterator[str]:
    for item in output:
        if item.text("type") == "reasoning":
            yield from [piece.text_or("text") for piece in item.records_or("summary") if piece.text_or("text")]


def _citations(parts: list[tuple[str, list[Fields]]]) -> Iterator[Citation]:
    before = 0
    for text, notes in parts:
        yield from url_citations(notes, text, before)
        before += len(text)


def _text_parts(output: list[Fields]) -> Iterator[tuple[str, list[Fields]]]:
    """Yield each text of a reply with its annotations."""
    for item in output:
        if item.text("type") != "message":
            continue
        for piece in item.records("content"):
            kind = piece.text("type")
            if kind == "refusal":
                raise Refusal(piece.text_or("refusal") or "the model refused")
            if kind == "output_text":
                yield piece.text("text"), piece.records_or("annotations")


def _replayed(item: ResponsesJson) -> ResponsesJson:
    """Return an item as it goes back: as the assistant's, whatever role it came with (G-9.4)."""
    return {**item, "role": "assistant"} if "role" in item or item["type"] == "message" else item


def _responses_call(item: Fields) -> Call:
    text = item.text("arguments")
    return Call(item.text("call_id"), item.text("name"), object_in(text), text)
