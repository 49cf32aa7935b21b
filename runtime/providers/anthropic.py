"""The wire of Anthropic, the Messages API through the official SDK (O-1.85 to O-1.103, last column).

Hands on `Anthropic`, which `pool.py` makes by the row of the provider in `vm/providers.py`, and which other platforms
(`bedrock.py`, `vertex.py`) extend, and `listing`, by which they ask for lists of models; both to batches of requests too
(`batches/provider_wires.py`). `lower` writes a request, `read` and `MessageStream` read a reply: `read` raises `Refusal` where
the model refuses, both `Unreadable` for JSON that is no reply. Nothing here sends anything; that, and what else a provider does,
is in `sdk.py`.
"""

from __future__ import annotations

from ...vm.schema import RESPOND
from ..records import PAUSED, SHORT, Call, Reply
from ..schema.lenient_json import compact_json
from .base import origin_of
from .hosted_tools import anthropic_tools, block_citations, calls_in_blocks
from .json_fields import Fields, Unreadable, Usage, object_in
from .media import anthropic_blocks
from .sdk import BARE_CALLS, CONTINUES, Refusal, SdkProvider, require_countable, stream_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..records import Msg, Request, ToolChoice, ToolDef

    Json = dict[str, Any]

DEFAULT_MAX_TOKENS = 4096
# The last API version that takes sampling parameters; the SDK has no arguments for them.
SAMPLING_VERSION = "2023-06-01"
SAMPLING = ("temperature", "top_p")
EMPTY = "(empty)"  # stands for a text that is empty, which the API refuses

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "pause_turn": PAUSED,
}
# The field that a delta adds to, by its type. Thinking and its signature go back unchanged in the tool rounds of the call.
INPUT_JSON = "partial_json"
GROWS = {"text_delta": "text", "input_json_delta": INPUT_JSON, "thinking_delta": "thinking", "signature_delta": "signature"}
# The parts of blocks that the neutral record of a message has too.
OF_A_BLOCK: dict[Any, frozenset[str]] = {
    "text": frozenset(("type", "text")),
    "tool_use": frozenset(("type", "id", "name", "input")),
}
NOTHING: frozenset[str] = frozenset()
USES = ("tool_use", "server_tool_use")
NO_HEADERS: Mapping[str, str] = {}
MARKABLE = ("text", "image", "document", "tool_use", "tool_result")
INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


# How many tokens a model gets for thinking, by its effort, where it does not choose that itself; what it writes comes on top.
BUDGETS = {"low": 2048, "medium": 8192, "high": 16384}


class Anthropic(SdkProvider):
    """The provider of the Messages API. `send`, `stream` and all that has to do with the network are those of `SdkProvider`; here
    are the parts that it calls. `make_client` returns a client of the SDK that retries nothing and takes nothing from the
    environment, `create` the function of it that sends. `lower` returns the arguments of the SDK's `messages.create`, and raises
    NotSent for `max_tokens` that thinking alone would use up and for media that the API does not take. `read` returns the Reply
    of a message's JSON, `counts` the counters of a report of usage by their names in a Reply, `growing` a new `MessageStream`;
    `says_more` is whether blocks hold anything but text and calls, so that they have to go back as they came."""

    package = "anthropic"
    wire = "messages"
    raw_form = list
    models_at_once = 1000
    forms = {
        "adaptive": ("adaptive thinking is not supported",), "budget": ("thinking.type.enabled",),
        "disabled": ("thinking.type.disabled",), BARE_CALLS: ("expected `thinking`",),
    }

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
            "messages": lower_messages(request, self.taken_messages(request), lambda m: self.returned(m, request)),
        }
        system = [_filled(m.content) for m in request.messages if m.role == "system"]
        if system:
            text = "\n\n".join(system)
            cached = request.cache is not None and request.cache.marks(request.messages[0])
            arguments["system"] = [{"type": "text", "text": text, "cache_control": _control(request)}] if cached else text
        if request.tools or request.hosted:
            run_there = anthropic_tools(request.hosted, self.hosted_names)
            arguments["tools"] = [*run_there, *(lower_tool(tool) for tool in request.tools)]
            if request.cache is not None:
                arguments["tools"][-1]["cache_control"] = _control(request)
            if request.tool_choice != "auto" and not _thinks(request):  # the API lets no model think that has to call
                arguments["tool_choice"] = lower_choice(request.tool_choice)
        if request.container is not None:
            arguments["container"] = request.container
        if "stop" in params:
            arguments["stop_sequences"] = params["stop"]
        sampling = {name: params[name] for name in SAMPLING if name in params}
        if sampling:
            arguments |= self.sampled(sampling)
        output: Json = {}
        if request.schema is not None and request.schema.strategy == "native":
            output["format"] = {"type": "json_schema", "schema": request.schema.json}
        self._think(request, arguments, output)
        if output:
            arguments["output_config"] = output
        if request.stream:
            arguments["stream"] = True
        return arguments

    def sampled(self, sampling: Json) -> Json:
        """Return the arguments by which sampling parameters go past the SDK, and to an older version of the API."""
        return {"extra_body": sampling, "extra_headers": {"anthropic-version": SAMPLING_VERSION}}

    def _think(self, request: Request, arguments: Json, output: Json) -> None:
        """Write into `arguments` and `output` how much the model is to think (O-1.210): newer models choose the number of tokens
        by an effort, older ones get one. Without `max_tokens` there is room for both thoughts and text. Raises NotSent."""
        params = request.params
        effort, budget = params.get("reasoning"), params.get("reasoning_tokens")
        if budget is None and effort == "none":
            if self.takes("disabled", request.model):
                arguments["thinking"] = {"type": "disabled"}
            return
        if budget is None and effort is None:
            return
        room = BUDGETS[str(effort)] if budget is None else budget
        if "max_tokens" not in params:
            arguments["max_tokens"] = DEFAULT_MAX_TOKENS + room
        if self.takes("adaptive" if budget is None else "budget", request.model) is (budget is None):
            arguments["thinking"] = {"type": "adaptive", "display": "summarized"}
            if effort is not None:
                output["effort"] = effort
            return
        if arguments["max_tokens"] <= room:
            message = f"max_tokens is {arguments['max_tokens']}, and {room} tokens of it are for reasoning: set it higher"
            raise origin_of(request).not_sent("AgentError", "InvalidRequest", message)
        arguments["thinking"] = {"type": "enabled", "budget_tokens": room}

    def create(self, client: Any) -> Any:
        return client.messages.with_streaming_response.create

    def says_more(self, raw: list[Any]) -> bool:
        return not all(
            isinstance(block, dict) and _filled_parts(block) <= OF_A_BLOCK.get(_type_of(block), NOTHING) for block in raw
        )

    def growing(self) -> MessageStream:
        return MessageStream()

    def read(self, data: Fields) -> Reply:
        content = data.records("content")
        finish = data.text_or("stop_reason")
        if finish == "refusal":
            raise Refusal("the model refused")
        if finish not in FINISH:
            raise Unreadable(f"unknown stop_reason {finish}" if finish else "the reply has no stop_reason")
        counts = self.counts(Usage(data.data.get("usage")))
        counts["hosted"] = {**calls_in_blocks(content), **counts["hosted"]}
        return Reply(
            "".join([block.text("text") for block in content if block.text("type") == "text"]),
            calls=[_call(block) for block in content if block.text("type") == "tool_use"],
            finish=FINISH[finish],
            model=data.text_or("model"),
            thoughts="".join([block.text_or("thinking") for block in content if block.text("type") == "thinking"]) or None,
            raw=[_replayed(block.data) for block in content if not _is_blank(block.data)],
            citations=list(block_citations(content)),
            container=data.record_or("container").text_or("id") or None,
            **counts,
        )

    def counts(self, usage: Usage) -> Json:
        return {
            "tokens_in": usage.tokens(*INPUT_TOKENS),
            "tokens_out": usage.tokens("output_tokens"),
            "cached": usage.tokens("cache_read_input_tokens"),
            "cache_write": usage.tokens("cache_creation_input_tokens"),
            "reasoning": usage.tokens_of("output_tokens_details", "thinking_tokens"),
            "reports": usage.reports(INPUT_TOKENS, ("output_tokens",)),
            "hosted": usage.calls_of("server_tool_use", web_search="web_search_requests"),
        }


def listing(address: str, headers: Mapping[str, str] = NO_HEADERS) -> Callable[[Any], Any]:
    """Return what `SdkProvider.fetch` takes to ask for a list that the SDK has no method for, at an address of its own, with
    these headers."""

    def create(client: Any) -> Any:
        from anthropic._response import async_to_streamed_response_wrapper  # in which the SDK wraps its own methods

        async def ask(extra_headers: dict[str, str], timeout: None) -> Any:
            options = {"headers": {**headers, **extra_headers}, "timeout": timeout}
            return await client.get(address, cast_to=object, options=options)

        return async_to_streamed_response_wrapper(ask)

    return create


class MessageStream:
    """Puts a streamed reply together, block by block (a `Growing` of `sdk.py`). `is_empty` is true until the message begins;
    `report` is the report of usage so far, None before one; `finished` whether the reply has said why it ends; `whole` returns
    the message as `Anthropic.read` takes it. `answer` has the pieces of the arguments of the tool `respond`. Methods raise
    Unreadable for an event that does not fit, and for one that says that the rest will not come."""

    def __init__(self) -> None:
        self.is_empty = True
        self._message: Json = {}
        self._blocks: list[_GrowingBlock] = []
        self.answer: list[str] = []

    @property
    def report(self) -> Any:
        return self._message.get("usage")

    @property
    def finished(self) -> bool:
        return bool(self._message.get("stop_reason"))

    def take(self, event: Fields) -> str:
        """Take an event and return the text that it brings."""
        kind = event.text_or("type")
        if kind == "error":
            raise stream_failure(event)
        if kind == "message_start":
            self._message = dict(event.record("message").data)
            self._blocks = []
            self.is_empty = False
        elif kind == "content_block_start":
            self._start(event)
        elif kind == "content_block_delta":
            block, delta = self._last(event), event.record("delta")
            if block.start.get("name") == RESPOND and delta.text_or("type") == "input_json_delta":
                self.answer.append(delta.text(INPUT_JSON))
            return block.take(delta)
        elif kind == "content_block_stop":
            self._last(event)
        elif kind == "message_delta":
            self._message.update(event.record("delta").data)
            self._message["usage"] = _merged(self._message.get("usage"), event.data.get("usage"))
        return ""

    def whole(self) -> Fields:
        return Fields({**self._message, "content": [block.whole() for block in self._blocks]})

    def _start(self, event: Fields) -> None:
        if self.is_empty or event.position("index", len(self._blocks)) != len(self._blocks):
            raise Unreadable("the content blocks of the stream are out of order")
        self._blocks.append(_GrowingBlock(event.record("content_block").data))
        require_countable(self._blocks)

    def _last(self, event: Fields) -> _GrowingBlock:
        if not self._blocks or event.position("index", len(self._blocks) - 1) != len(self._blocks) - 1:
            raise Unreadable("an event of the stream is about another content block than the one before it")
        return self._blocks[-1]


class _GrowingBlock:
    """A content block, and the texts that deltas add to its fields; those of the input of a call are JSON text. `citations` are
    those that deltas add."""

    def __init__(self, start: Json) -> None:
        self.start = start
        self.parts: dict[str, list[str]] = {}
        self.citations: list[Json] = []

    def take(self, delta: Fields) -> str:
        """Take a delta and return the text that it brings."""
        kind = delta.text_or("type")
        if kind == "citations_delta":
            self.citations.append(delta.record("citation").data)
            require_countable(self.citations)
        name = GROWS.get(kind)
        if name is None:
            return ""
        part = delta.text(name)
        self.parts.setdefault(name, []).append(part)
        return part if name == "text" else ""

    def whole(self) -> Json:
        grown = {name: "".join(parts) for name, parts in self.parts.items()}
        json = grown.pop(INPUT_JSON, "")
        texts: Json = {name: Fields(self.start, "a content block").text_or(name) + text for name, text in grown.items()}
        if self.citations:
            before = Fields(self.start, "a content block").records_or("citations")
            texts["citations"] = [*(citation.data for citation in before), *self.citations]
        if not json:
            return {**self.start, **texts}
        arguments = object_in(json)
        return {**self.start, **texts, "input": json if arguments is None else arguments}  # cut off, it stays a text


def _thinks(request: Request) -> bool:
    return request.params.get("reasoning", "none") != "none" or "reasoning_tokens" in request.params


def _merged(usage: Any, more: Any) -> Any:
    """Return the report of the start with what the end adds, in which null says nothing; False, which is no report, when one of
    them is no object."""
    if more is None:
        return usage
    if usage is None:
        return more
    if type(usage) is not dict or type(more) is not dict:
        return False
    return {**usage, **{name: count for name, count in more.items() if count is not None}}


def _is_blank(block: Json) -> bool:
    """Return whether a block is text of white space alone: models write it before their calls, and the API refuses to take it
    back (O-1.139)."""
    return block["type"] == "text" and not block["text"].strip()


def _replayed(block: Json) -> Json:
    """Return a block as it goes back; an input of a call that was no object becomes an empty one, which the API requires."""
    return {**block, "input": {}} if block["type"] in USES and type(block.get("input")) is not dict else block


def lower_messages(
    request: Request, said: Sequence[Msg], returned: Callable[[Msg], Any] = lambda message: None
) -> list[Json]:
    """Return the messages of a request in Anthropic's form, without the system's. `said` are the messages as the model takes them
    (`SdkProvider.taken_messages`); `returned` gives the blocks of a message that may go back as it came, None for others. Raises
    NotSent for media that this wire does not carry.

    The results of one tool round stand together in one user message (O-1.88); the first message is the user's (O-1.103)."""
    lowered: list[Json] = []
    messages = [message for message in said if message.role != "system"]
    if messages and messages[0].role != "user":
        lowered.append({"role": "user", "content": CONTINUES})
    results: list[Json] | None = None
    for message, blocks in zip(messages, paired_blocks(messages, returned), strict=True):
        if message.role != "tool":
            lowered.append(_lower_message(message, request) if blocks is None else {"role": "assistant", "content": blocks})
            results = None
        else:
            if results is None:
                results = []
                lowered.append({"role": "user", "content": results})
            results.append(_lower_result(message, request))
        if request.cache is not None and request.cache.marks(message):
            _mark(lowered, request)
            results = None if results is None else lowered[-1]["content"]
    return lowered


def paired_blocks(messages: Sequence[Msg], returned: Callable[[Msg], Any]) -> list[list[Json] | None]:
    """Return for each message the blocks in which it goes back, None for one that goes as the record has it.

    The API refuses a call of a hosted tool without its result, and a result without its call. A result may stand in the next
    message of the assistant, where the call came together with calls of other tools; and where the other message is gone, or goes
    as the record has it, this one does so, too."""
    every = [returned(message) for message in messages]
    said = [at for at, message in enumerate(messages) if message.role == "assistant"]
    pairs = {at: _hosted_ids(every[at]) for at in said}
    if not any(uses or results for uses, results in pairs.values()):
        return every
    is_open = all(message.role == "tool" for message in messages[said[-1] + 1 :])  # the latest message may wait for results
    waiting = list(range(len(said)))
    while waiting:
        number = waiting.pop()
        uses, results = pairs[said[number]]
        before, _ = pairs[said[number - 1]] if number else (set(), set())
        _, after = pairs[said[number + 1]] if number + 1 < len(said) else (set(), uses if is_open else set())
        if results <= uses | before and uses <= results | after:
            continue
        every[said[number]], pairs[said[number]] = None, (set(), set())
        waiting += [other for other in (number - 1, number + 1) if 0 <= other < len(said)]
    return every


def _hosted_ids(blocks: list[Json] | None) -> tuple[set[str], set[str]]:
    """Return the ids of the calls of hosted tools in a message, and of the calls whose results are in it."""
    uses = {str(block.get("id")) for block in blocks or () if _type_of(block) == "server_tool_use"}
    return uses, {str(block["tool_use_id"]) for block in blocks or () if isinstance(block, dict) and "tool_use_id" in block}


def _control(request: Request) -> Json:
    assert request.cache is not None
    return {"type": "ephemeral"} if request.cache.lifetime == SHORT else {"type": "ephemeral", "ttl": request.cache.lifetime}


def _mark(lowered: list[Json], request: Request) -> None:
    """Mark the end of the last message: up to there the next request is likely to be the same. Thoughts take no mark."""
    content = lowered[-1]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if blocks and _type_of(blocks[-1]) in MARKABLE:
        lowered[-1] = {**lowered[-1], "content": [*blocks[:-1], {**blocks[-1], "cache_control": _control(request)}]}


def lower_tool(tool: ToolDef) -> Json:
    """Return a tool of the program as the API has it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def lower_choice(choice: ToolChoice) -> Json:
    """Return the tool choice "required", or the one of a tool by its name, as the API has it; "auto" is left out of requests."""
    return {"type": "any"} if isinstance(choice, str) else {"type": "tool", "name": choice["name"]}


def _lower_message(message: Msg, request: Request) -> Json:
    if message.media:
        return {"role": message.role, "content": anthropic_blocks(request, message)}
    if message.calls:
        text: list[Json] = [{"type": "text", "text": message.content}] if message.content.strip() else []
        return {"role": "assistant", "content": text + [_lower_call(call) for call in message.calls]}
    return message.as_json() if message.content.strip() else {"role": message.role, "content": EMPTY}


def _lower_call(call: Call) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments or {}}


def _lower_result(message: Msg, request: Request) -> Json:
    content = anthropic_blocks(request, message) if message.media else _filled(message.content)
    result: Json = {"type": "tool_result", "tool_use_id": message.call_id, "content": content}
    if message.is_error is not None:
        result["is_error"] = message.is_error
    return result


def _filled(content: str) -> str:
    return content if content.strip() else EMPTY


def _call(block: Fields) -> Call:
    arguments = block.data.get("input")
    text = arguments if isinstance(arguments, str) else "" if arguments is None else compact_json(arguments)
    return Call(block.text("id"), block.text("name"), arguments if isinstance(arguments, dict) else None, text)


def _filled_parts(block: Json) -> set[str]:
    """Return the names of the parts of a block that are neither null nor empty lists."""
    return {name for name, value in block.items() if value is not None and value != []}


def _type_of(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
