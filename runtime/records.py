"""The neutral records between the call algorithm and all providers, mocks too (O-1.82, O-1.83), and their values in the machine.

Hands on `Request`, `EmbedRequest` and `SideRequest` to providers, which turn them into what their wire wants, the last to
`concerto models` and batches (`batches/provider_wires.py`) too; `Reply` with `Citation`, NO_CALLS and PAUSED to providers, which
make one, and to calls; `Msg`, `Call`, `ToolDef`, `SchemaField`, `CachePlan` with SHORT and LONG, `Strategy`, `ToolChoice` and
`ProviderState`, which they hold, and of which memories keep some, and which tools and MCP servers take or make; `added`, which
adds calls of hosted tools, to `calls/usage.py`, and `error_value` to `tools/memory_tools.py`; ROLES to the performer of models;
MEDIA_LENGTH to the call algorithm; their `as_json()`, if they have one, to traces and digests; the limits of time (`Timeout`,
`DEFAULTS`, `call_seconds`) to settings and providers. At the end stand the ways between values of the machine and plain data:
`to_plain`, `json_form`, `response_value`, `failed`, `succeeded`, `TreeBuilder`; the other parts of the runtime take them. Those
that make values of plain data (`response_value`, `error_value`, `failed`, and `TreeBuilder` for a field of the type Any) raise as
`from_json`: ValueError for a number beyond Float, P103 for too much nesting. The journal writes requests and replies down
(`journal/forms.py`). Nothing here sends a request, knows the names of a wire, or judges a reply.
"""

from __future__ import annotations

from ..vm.builtins.memories import message_array
from ..vm.declaration_fields import DEFAULT_SECONDS, KEPT_LONG, TIMEOUT
from ..vm.schema import bare_name
from ..vm.values import (
    NONE,
    Array,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    Ok,
    Response,
    Some,
    Struct,
    from_json,
    to_json,
    typeof,
    unkey,
)
from ..vm.values import Citation as CitationValue
from ..vm.values.limits import limits, nesting_too_deep
from .errors import CallFailure, Returned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    from .calls import responses
    from .calls.usage import ReplyProgress
    from .media import MediaPart


# The limits of time of one provider request (O-1.212).

if TYPE_CHECKING:
    Timeout: TypeAlias = float | Mapping[str, float]

# What `timeout` may hold, and the seconds of what it leaves out.
DEFAULTS: dict[str, float] = {name: field.default for name, field in TIMEOUT.items()}


def call_seconds(timeout: Timeout) -> float:
    """Return the seconds that a request for a whole reply may take, from the value of a field `timeout` (`TimeLimits.call`)."""
    if type(timeout) is float:
        return timeout
    return float(timeout) if isinstance(timeout, (int, float)) else TimeLimits(timeout).call


class TimeLimits:
    """The limits of one provider request in seconds, from the value of a field `timeout` (O-1.212).

    `timeout` is a number, which is `first`, `idle` and `call`, while `connect` is that of DEFAULTS and `total` the larger of
    both; or it has limits by name: one that is left out or None has its value in DEFAULTS, and `call` is `total`. `connect`
    bounds the time until there is a connection, `call` a reply that comes as a whole. Of a stream `first` bounds the wait for its
    beginning, `idle` the wait between two of its pieces, `total` all the waiting. `are_named` says whether the program set them
    by name."""

    __slots__ = ("connect", "first", "idle", "total", "call", "are_named")

    def __init__(self, timeout: Timeout) -> None:
        self.are_named = not isinstance(timeout, (int, float))
        if isinstance(timeout, (int, float)):
            self.connect = DEFAULTS["connect"]
            self.first = self.idle = self.call = float(timeout)
            self.total = max(DEFAULTS["total"], timeout)
            return
        limits = {**DEFAULTS, **{name: seconds for name, seconds in timeout.items() if seconds is not None}}
        self.connect, self.first, self.idle, self.total = (float(limits[name]) for name in DEFAULTS)
        self.call = self.total


if TYPE_CHECKING:
    Json: TypeAlias = dict[str, Any]
    Strategy: TypeAlias = Literal["native", "tool", "prompt"]
    ToolChoice: TypeAlias = str | Json  # "auto", "required" or {"name": NAME}

ROLES = ("system", "user", "assistant", "tool")


class Call:
    """A tool call of a reply. `arguments` is None when the model sent anything but a JSON object (O-1.84). `text` is what it
    sent, empty where that is not known."""

    __slots__ = ("id", "name", "arguments", "text")

    def __init__(self, id: str, name: str, arguments: Json | None, text: str = "") -> None:
        self.id = id
        self.name = name
        self.arguments = arguments
        self.text = text

    def as_json(self) -> Json:
        """Return the record of the call; in place of arguments that are no JSON object it has the text of them."""
        arguments = self.text if self.arguments is None else self.arguments
        return {"id": self.id, "name": self.name, "arguments": arguments}


class ProviderState:
    """An assistant message in its provider's own form, which goes back to it as it came (O-1.209): signatures, reasoning and
    whatever else is no part of the record. It is for one connection, wire (with its address) and model, and no program sees it.

    `content` has the form that `SdkProvider.raw_form` names. `more` says whether it holds anything that the record of the message
    has not; only then a memory keeps it."""

    __slots__ = ("connection", "wire", "model", "content", "more")

    def __init__(self, connection: str, wire: str, model: str, content: Any, more: bool = True) -> None:
        self.connection = connection
        self.wire = wire
        self.model = model
        self.content = content
        self.more = more

    def is_for(self, connection: str, wire: str, model: str) -> bool:
        """Return whether it may go back there: no other provider or model would understand it."""
        return (self.connection, self.wire, self.model) == (connection, wire, model)

    def behind(self, first: ProviderState | None) -> ProviderState | None:
        """Return the state of the message that this one makes with the part `first` before it, both lists of parts; None when
        that is not known in this form."""
        if first is None or not first.is_for(self.connection, self.wire, self.model):
            return None
        return ProviderState(
            self.connection, self.wire, self.model, [*first.content, *self.content], first.more or self.more
        )

    def __repr__(self) -> str:
        return f"ProviderState({self.connection!r}, {self.wire!r}, {self.model!r})"  # never what it holds


# What media adds to the `length` of a message: more code points than all texts of a request have.
MEDIA_LENGTH = 1 << 50


class Msg:
    """A message. It must not be changed, since requests and memories share it.

    `role` is one of ROLES. `call_id` names the call that a tool message answers, `is_error` is True when that call failed; both
    are None for other messages. `media` stand before the text. `state` is no part of the record. `plain` is the JSON when role
    and content are all there is, which is what most wires send; None for any other message, for one of a tool, and before
    `as_json` was called. `length` is the number of code points of the text, MEDIA_LENGTH more with media: one sum over the
    messages of a request tells how long it is and whether it has media."""

    __slots__ = ("role", "content", "calls", "call_id", "is_error", "state", "media", "length", "plain", "_json")

    def __init__(
        self,
        role: str,
        content: str,
        calls: Sequence[Call] = (),
        call_id: str | None = None,
        is_error: bool | None = None,
        state: ProviderState | None = None,
        media: Sequence[MediaPart] = (),
    ) -> None:
        self.role = role
        self.content = content
        self.calls = calls
        self.call_id = call_id
        self.is_error = is_error
        self.state = state
        self.media = media
        self.length = len(content) + MEDIA_LENGTH if media else len(content)
        self._json: Json | None = None
        self.plain: Json | None = None

    def as_json(self) -> Json:
        """Return the record of the message, which the caller must not change. It is built once: a message of a memory is sent
        many times."""
        record = self._json
        if record is None:
            record = self._json = {"role": self.role, "content": self.content}
            if self.media:
                record["media"] = [part.as_json() for part in self.media]
            if self.calls:
                record["calls"] = [call.as_json() for call in self.calls]
            if self.call_id is not None:
                record["call_id"] = self.call_id
            if self.is_error is not None:
                record["is_error"] = self.is_error
            if len(record) == 2 and self.state is None and self.role != "tool":
                self.plain = record
        return record

    def with_content(self, content: str) -> Msg:
        """Return a copy with another text, and all else the same."""
        return Msg(self.role, content, self.calls, self.call_id, self.is_error, self.state, self.media)

    def __repr__(self) -> str:
        return f"Msg({self.role!r}, {self.content!r})"


class ToolDef:
    """A tool method as the model sees it; `schema` is a JSON Schema object."""

    __slots__ = ("name", "description", "schema")

    def __init__(self, name: str, description: str, schema: Json) -> None:
        self.name = name
        self.description = description
        self.schema = schema

    def as_json(self) -> Json:
        return {"name": self.name, "description": self.description, "schema": self.schema}


class SchemaField:
    """The schema that a reply has to match: `strategy` says how the model is told of it, `json` is the JSON Schema for that way
    (`schema/strategy.py`)."""

    __slots__ = ("name", "strategy", "json")

    def __init__(self, name: str, strategy: Strategy, json: Json) -> None:
        self.name = name
        self.strategy = strategy
        self.json = json

    def as_json(self) -> Json:
        return {"name": self.name, "strategy": self.strategy, "json": self.json}


class SideRequest:
    """A request to a connection for something else than a reply. `model` begins the messages of its failures. `timeout` and
    `progress` are as in `Request`, `params` is empty."""

    __slots__ = ("connection", "model", "timeout", "params", "progress")

    def __init__(self, connection: str, model: str, timeout: Timeout) -> None:
        self.connection = connection
        self.model = model
        self.timeout = timeout
        self.params: Json = {}
        self.progress: ReplyProgress | None = None

    @property
    def limits(self) -> TimeLimits:
        return TimeLimits(self.timeout)


class EmbedRequest(SideRequest):
    """A request for the vectors of texts (M-10.16), of so many `dimensions`; None for as many as the model gives."""

    __slots__ = ("texts", "dimensions")

    def __init__(self, connection: str, model: str, texts: list[str], timeout: Timeout, dimensions: int | None = None) -> None:
        super().__init__(connection, model, timeout)
        self.texts = texts
        self.dimensions = dimensions


# How long a provider keeps what it has cached.
SHORT = "5m"
LONG = KEPT_LONG


class CachePlan:
    """What one request says of the prompt cache. `marked` are messages of the request up to which the next one is likely to be
    the same; `tools` whether the tools are such a part, too. `lifetime` is SHORT or LONG; `is_asked` says that the program
    has asked for it. `name` leads requests that begin alike to one server, "" where the provider takes none."""

    __slots__ = ("marked", "tools", "lifetime", "is_asked", "name")

    def __init__(self, marked: Sequence[Msg], tools: bool, lifetime: str, is_asked: bool, name: str) -> None:
        self.marked = marked
        self.tools = tools
        self.lifetime = lifetime
        self.is_asked = is_asked
        self.name = name

    def marks(self, message: Msg) -> bool:
        """Return whether the plan marks this very message."""
        return any(message is one for one in self.marked)


class Request:
    """One provider request; a transport retry sends the same object again (M-5.3). `id` is that of the run with the number of the
    request behind it; `connection` and `model` say where it goes. `messages` begin with the system message, if there is one;
    `tools` are those of the program, `tool_choice` whether it must call one, and which; `schema` is what the reply has to match,
    None for a text; `stream` says that the reply is to come piece by piece. `params` has the parameters that are set, by the
    names of `calls/settings.py: PARAMS`, and `extra`. `hosted` are the tools that the provider runs itself, as
    `vm/declaration_fields.py: HOSTED` has them. `timeout` is what the program set, in seconds (`TimeLimits`). `cache` is what is
    said of the provider's prompt cache, None for nothing; `progress` is what is known of the reply on its way; `container` is
    where the provider has run code for this call, None for nowhere; `has_media` is False where no message has media; and
    `is_once` says that it must not take effect twice (O-9.37); these five are no part of the record that traces and digests
    have."""

    __slots__ = (
        "id",
        "connection",
        "model",
        "messages",
        "tools",
        "tool_choice",
        "params",
        "schema",
        "stream",
        "timeout",
        "progress",
        "has_media",
        "cache",
        "hosted",
        "container",
        "is_once",
    )

    def __init__(
        self,
        id: str,
        connection: str,
        model: str,
        messages: list[Msg],
        tools: Sequence[ToolDef] = (),
        tool_choice: ToolChoice = "auto",
        params: Json | None = None,
        schema: SchemaField | None = None,
        stream: bool = False,
        timeout: Timeout = DEFAULT_SECONDS,
        progress: ReplyProgress | None = None,
        has_media: bool = True,
        cache: CachePlan | None = None,
        hosted: Sequence[Json] = (),
        container: str | None = None,
        is_once: bool = False,
    ) -> None:
        self.id = id
        self.connection = connection
        self.model = model
        self.messages = messages
        self.tools = tools
        self.tool_choice = tool_choice
        self.params = params or {}
        self.schema = schema
        self.stream = stream
        self.timeout = timeout
        self.progress = progress
        self.has_media = has_media
        self.cache = cache
        self.hosted = hosted
        self.container = container
        self.is_once = is_once

    @property
    def limits(self) -> TimeLimits:
        return TimeLimits(self.timeout)

    def as_json(self) -> Json:
        """Return the record of the request that traces and digests have; what is left out is not set."""
        record: Json = {
            "id": self.id,
            "connection": self.connection,
            "model": self.model,
            "messages": [message.as_json() for message in self.messages],
        }
        if self.tools:  # O-1.81: without tools the field is omitted
            record["tools"] = [tool.as_json() for tool in self.tools]
            record["tool_choice"] = self.tool_choice
        if self.hosted:
            record["hosted"] = list(self.hosted)
        record["params"] = self.params
        if self.schema is not None:
            record["schema"] = self.schema.as_json()
        record["stream"] = self.stream
        record["timeout"] = self.timeout
        return record


NO_CALLS: Mapping[str, int] = {}


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of calls of hosted tools, by type."""
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in {**one, **other}}


class Citation:
    """A source that a reply names (O-1.225), for the code points of its text from `start` to before `end`."""

    __slots__ = ("url", "title", "start", "end")

    def __init__(self, url: str, title: str | None, start: int, end: int) -> None:
        self.url = url
        self.title = title
        self.start = start
        self.end = end

    def moved(self, by: int) -> Citation:
        """Return the same citation in a text that has so many more code points before it."""
        return Citation(self.url, self.title, self.start + by, self.end + by)


# The `finish` of a reply that its provider has interrupted, to be asked to go on (O-1.226).
PAUSED = "pause"


class Reply:
    """What a provider answered.

    `finish` is stop, length, tool or PAUSED; `model` is what the provider calls the model, "" where it does not say. `tokens_in`
    are all input tokens; `cached` of them were read from the provider's cache and `cache_write` written to it (O-1.221).
    `tokens_out` are all output tokens; `reasoning` are those output tokens that are in no text. `reports` says whether the
    provider reported input tokens, and whether output tokens. `raw` is its own form of the assistant message, None without one,
    which goes back in `state`; `notes` name parameters that were left out (O-1.134); `data` is what an agent said beside its text
    (O-7.12); `thoughts` is what the provider shows of the model's reasoning, None where it shows nothing (O-1.210). `citations`
    are the sources that it names for its text; `hosted` says by type how often the provider ran a tool of its own, as it tells or
    as its reply shows; `container` is where it has run code, None for nowhere."""

    __slots__ = (
        "text", "calls", "finish", "model", "tokens_in", "tokens_out", "cached", "cache_write", "reasoning", "reports", "raw",
        "state", "notes", "data", "thoughts", "citations", "hosted", "container",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        calls: Sequence[Call] = (),
        finish: str = "stop",
        model: str = "",
        tokens_in: int = 0,
        tokens_out: int = 0,
        cached: int = 0,
        cache_write: int = 0,
        reasoning: int = 0,
        reports: tuple[bool, bool] = (True, True),
        raw: Any = None,
        notes: Sequence[str] = (),
        data: dict[str, Any] | None = None,
        thoughts: str | None = None,
        citations: Sequence[Citation] = (),
        hosted: Mapping[str, int] = NO_CALLS,
        container: str | None = None,
    ) -> None:
        self.text = text
        self.calls = calls
        self.finish = finish
        self.model = model
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.cached = cached
        self.cache_write = cache_write
        self.reasoning = reasoning
        self.reports = reports
        self.raw = raw
        self.state: ProviderState | None = None
        self.notes = notes
        self.data = data
        self.thoughts = thoughts
        self.citations = citations
        self.hosted = hosted
        self.container = container

    def with_text(self, text: str) -> Reply:
        """Return the same reply with another text, without calls, citations, `data` and the provider's own form: the answer stood
        in a call of `respond` (O-2.43)."""
        return Reply(
            text, finish=self.finish, model=self.model, tokens_in=self.tokens_in, tokens_out=self.tokens_out,
            cached=self.cached, cache_write=self.cache_write, reasoning=self.reasoning, reports=self.reports, notes=self.notes,
            thoughts=self.thoughts, hosted=self.hosted, container=self.container,
        )

    def behind(self, first: Reply) -> Reply:
        """Return the reply that this one makes with the part `first` before it, which its provider had interrupted: one text, the
        `state` of one message, if that can be made (`ProviderState.behind`), and the sum of what both used; without `raw` and
        `data`."""
        whole = Reply(
            first.text + self.text,
            calls=[*first.calls, *self.calls],
            finish=self.finish,
            model=self.model,
            tokens_in=first.tokens_in + self.tokens_in,
            tokens_out=first.tokens_out + self.tokens_out,
            cached=first.cached + self.cached,
            cache_write=first.cache_write + self.cache_write,
            reasoning=first.reasoning + self.reasoning,
            reports=(first.reports[0] and self.reports[0], first.reports[1] and self.reports[1]),
            notes=[*first.notes, *self.notes],
            thoughts=None if first.thoughts is self.thoughts is None else (first.thoughts or "") + (self.thoughts or ""),
            citations=[*first.citations, *(each.moved(len(first.text)) for each in self.citations)],
            hosted=added(first.hosted, self.hosted),
            container=self.container or first.container,
        )
        whole.state = None if self.state is None else self.state.behind(first.state)
        return whole

    def as_json(self) -> Json:
        """Return the part of the reply that traces have: text, calls, end, model and the two sums of tokens."""
        return {
            "text": self.text,
            "calls": [call.as_json() for call in self.calls],
            "finish": self.finish,
            "model": self.model,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return a value of the machine in a field of a model or of a mock as plain data. `depth` is how many values it stands in.
    Raises TypeError with the name of its type for one that no field takes, and panic P103 for more nesting than the limit and for
    a struct beyond the limits of JSON."""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if depth >= limits.nesting:
        nesting_too_deep()
    if isinstance(value, (Array, tuple)):
        return [to_plain(item, depth + 1) for item in (value.items if isinstance(value, Array) else value)]
    if isinstance(value, Map):
        return {unkey(key): to_plain(item, depth + 1) for key, item in value.items.items()}
    if isinstance(value, Some):
        return to_plain(value.value, depth + 1)
    if value is NONE:
        return None
    if isinstance(value, (Struct, EnumValue)):
        return json_form(value)
    raise TypeError(typeof(value))


def json_form(value: Any) -> Any:
    """Return the JSON form of any value of the machine as plain data (L-5.1.20). Panic P103 beyond the limits on JSON (G-6.1)."""
    import json  # few programs need it

    return json.loads(to_json(value))


def response_value(response: responses.Response) -> Any:
    """Return the response of a call as the language's record `Response` (O-1.106 ff.). Raises also what ends the run."""
    citations = Array([CitationValue.of([each.url, each.title, each.start, each.end]) for each in response.citations])
    value = Response.of([*[from_json(part) for part in response.as_json().values()], citations])
    return value.of_run((response.run_id, tuple(message_array(response.appended).items)))


def error_value(failure: CallFailure) -> ErrorValue:
    """Return the error value of a failure (O-1.117); failures in its fields become error values too."""
    if type(failure) is Returned:
        value: ErrorValue = failure.value
        return value
    fields = {
        name: error_value(part) if isinstance(part, CallFailure) else from_json(part) for name, part in failure.fields.items()
    }
    return ErrorValue(failure.kind, failure.variant, failure.message, fields)


def failed(failure: CallFailure) -> Err:
    """Return the Err of a failure."""
    return Err(error_value(failure))


def succeeded(value: Any) -> Ok:
    """Return the Ok of a value."""
    return Ok(value)


class TreeBuilder:
    """Builds values of accepted schema trees (their form is in `schema/validation.py`) with the classes of one program.
    `classes`: these by their keys."""

    def __init__(self, classes: Mapping[str, Any]) -> None:
        self.classes = classes

    def value(self, node: Any) -> Any:
        """Return the value of one node of a tree. KeyError for a type that the program does not have."""
        if not isinstance(node, tuple):
            return node
        tag = node[0]
        if tag == "object":
            struct: Struct = self.classes[bare_name(node[1])].of([self.value(part) for _, part in node[2]])
            return struct
        if tag == "array":
            return Array([self.value(part) for part in node[1]])
        if tag == "map":
            return Map({key: self.value(part) for key, part in node[1]})
        if tag == "some":
            return Some(self.value(node[1]))
        if tag == "none":
            return NONE
        if tag == "enum":
            decl = self.classes[node[1]]
            return EnumValue(decl, decl.index[node[2]])
        if tag == "variant":
            decl = self.classes[bare_name(node[1])]
            payload = tuple([self.value(part) for _, part in node[4]])
            return EnumValue(decl, decl.index[node[2]], payload or None)
        return from_json(node[1])  # any
