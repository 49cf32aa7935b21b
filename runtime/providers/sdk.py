"""What the providers through the official SDKs share: client, time limits, size limits, and their exceptions as failures.

Hands on to the wires (`openai.py`, `anthropic.py`): `SdkProvider`, of which a wire is a subclass that lowers the record, makes
its client and reads the JSON of a reply; `Refusal` and `stream_failure`, in which reading may end; what checks a request or a
reply (`require_carried`, `not_carried`, `require_countable`); BARE_CALLS and CONTINUES. Hands on `SdkProvider` to `pool.py` too,
and with `shown_address` to `concerto models`; MOST_MODELS to `vertex.py`. Batches (`batches/`) call its `fetch`, `lines`, `body`
and `answered` on the providers of the wires. SDKs are imported with the first request (O-1.24). They must only carry bytes: they
retry nothing, limit no time, and take nothing from the environment but what their HTTP client reads there, such as proxies
(O-1.25). Whether a failed request is sent again is decided in `calls/call.py`.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from contextlib import contextmanager

from ...vm.providers import WRITTEN
from ..connections import resolve_headers, resolve_key
from ..errors import CallFailure, package_advice
from ..records import NO_CALLS, Msg, ProviderState, Request
from .base import Provider, origin_of, timed_out
from .gate import Gate, Start
from .http_answers import (
    MOST_STREAM_BYTES,
    EventReader,
    Reason,
    Redirected,
    Refused,
    asked_by_us,
    body_of,
    first_named,
    pieces_of,
    watch,
)
from .json_fields import Fields, Unreadable, Usage, fields_of
from .patience import Patience

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol, TypeAlias

    from ..access.secrets import Redactor
    from ..connections import ConnectionSettings
    from ..errors import Origin
    from ..records import Reply, SideRequest
    from .event_frames import FrameReader


# Parameter of the record: what the program calls it, then every name that a wire gives it.
WIRE_NAMES = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "stop": ("stop_sequences", "stop"),
    "reasoning": ("reasoning", "reasoning_effort", "reasoning.effort", "effort", "thinking"),
    "reasoning_tokens": ("reasoning_tokens", "budget_tokens"),
    "hosted": ("hosted", "web_search_options", "web_search", "code_interpreter", "code_execution"),
}


def require_carried(request: Request, settings: ConnectionSettings, name: str, wire: str) -> None:
    """Raise NotSent when the request has the parameter `name`, which the wire cannot carry, unless the connection says
    `unsupported: "drop"` (O-1.47). `wire` is what the message calls the wire."""
    if name in request.params and settings.unsupported != "drop":
        raise origin_of(request).not_sent("AgentError", "InvalidRequest", not_carried(name, wire))


def not_carried(name: str, wire: str) -> str:
    """Return the text of the error, or of the note, about a parameter of the record (`name`) that a wire cannot carry."""
    return f"{WIRE_NAMES[name][0]} is not carried by {wire}"


def without_param(request: Request, name: str) -> Request:
    """Return a copy of a request without one parameter of its record, or without its hosted tools."""
    values = {slot: getattr(request, slot) for slot in Request.__slots__}
    if name == "hosted":
        values["hosted"] = ()
    values["params"] = {key: value for key, value in request.params.items() if key != name}
    return Request(**values)


MOST_MS = 2**53  # a longer wait counts as this long: the program gets it as an Int


def retry_after_ms(headers: Mapping[str, str], now: float) -> int | None:
    """Return the milliseconds that a server asks to wait (G-15.2); None when it does not ask, or the value cannot be used.

    The header `retry-after-ms` counts first, then `retry-after` as seconds or as an HTTP date (RFC 9110, 10.2.3). `now` is the
    time in seconds since 1970, for the date."""
    wait = _whole_ms(headers.get("retry-after-ms"), 1)
    if wait is None:
        text = headers.get("retry-after")
        wait = _whole_ms(text, 1000)
        if wait is None and text is not None:
            wait = _until(text, now)
    return wait


def _whole_ms(text: str | None, factor: int) -> int | None:
    try:
        value = float(text or "") * factor
    except ValueError:
        return None
    return min(round(value), MOST_MS) if 0 <= value < float("inf") else None


def _until(date: str, now: float) -> int | None:
    from email.utils import parsedate_to_datetime

    try:
        wait = parsedate_to_datetime(date).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return round(wait * 1000) if wait >= 0 else None


if TYPE_CHECKING:
    Sent: TypeAlias = Request | SideRequest
    Create: TypeAlias = Callable[[Any], Any]

    class Growing(Protocol):
        """A reply that is put together from the events of a stream. `answer` has the pieces of the arguments of the tool respond
        that have come and that nobody has taken out yet: with it a model answers with a value (O-2.43)."""

        answer: list[str]

        @property
        def is_empty(self) -> bool:
            """Whether nothing of the reply has come yet; where the last event holds the whole reply, whether that has not."""

        @property
        def report(self) -> Any:
            """The provider's report of usage so far, None before one has come; a new object with each report."""

        @property
        def finished(self) -> bool:
            """Whether the reply has said why it ends."""

        def take(self, event: Fields) -> str:
            """Take an event and return the text that it brings. Unreadable for an event that does not fit."""

        def whole(self) -> Fields:
            """Return the reply as `SdkProvider.read` takes it."""


MOST_REPLY_BYTES = 1 << 20  # of all texts of a reply (G-6.1)
LAST_EVENTS = ("message_stop", "response.completed", "response.incomplete")
DONE = b"[DONE]"
FILTERED = "content_filter"  # code of a request that a filter has stopped: Azure's (O-1.290)
TOO_LARGE = f"the reply is larger than {MOST_REPLY_BYTES} bytes"
MOST_BATCH_BYTES = 1 << 30  # of the answers of a batch, which are read line by line
MOST_MODELS = 10_000  # of the list of an endpoint
MOST_PARTS = 1_000  # calls or content blocks of a reply
LAST_MOMENT = 0.1  # seconds that the end of a body is waited for
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # variables that the HTTP library reads
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
IDLE_CONNECTIONS = 20  # kept open; each of them costs time with every request and every reply


BARE_CALLS = "bare calls"  # the form of a request in which calls stand without the state of a provider
CONTINUES = "(conversation continues)"  # a user message where one has to stand


class Refusal(Exception):
    """A reply in which the model refuses to answer (O-1.102); the text is its reason."""


class RefusedRequest(Exception):
    """A status 400 about what might be sent otherwise: `forms` are those of the provider that it may be about (O-1.138), whether
    the request had them or not, and `param` is the parameter of ours that it names (O-1.134). `failure` is raised where neither
    can be changed."""

    def __init__(self, failure: CallFailure, forms: list[str], param: str | None) -> None:
        super().__init__(forms, param)
        self.failure = failure
        self.forms = forms
        self.param = param


class SdkProvider(Provider):
    """A provider through an official SDK. `env` has the variables of the run, in which keys stand, and `redactor` learns these
    and takes secrets out of messages. `http_client` replaces the SDK's own HTTP layer; tests answer requests through it.

    `send` and `stream` return the Reply of one request, its `notes` and `state` filled in, and raise CallFailure (NotSent where
    nothing was sent); what `give` raises passes through `stream`. The methods that raise NotImplementedError are those of a
    wire."""

    package: str  # of the SDK
    wire: str  # the name of the form in which messages go back to the provider (O-1.209)
    raw_form: type  # the type of a message in that form
    models_at_once: int | None = None  # ids on a page of the list of models; None where it has no pages
    forms: Mapping[str, Sequence[str]] = {}  # forms that a model may refuse, and words of such a refusal (O-1.138)
    lists_ids = True  # the list of models has the ids that requests name

    def __init__(
        self,
        settings: ConnectionSettings,
        env: Mapping[str, str],
        redactor: Redactor,
        http_client: Any = None,
    ) -> None:
        self.settings = settings
        self.name = settings.name
        self._env = env
        self._redactor = redactor
        self._http_client = http_client
        self._client: Any = None
        self._loop: Any = None
        self._gate = Gate()
        self.peer = f"{self.wire} {shown_address(settings.base_url or '')}"  # whose state goes back to it alone (O-1.209)
        self._refused: set[tuple[str, str]] = set()  # pairs of a model and a form that it refused

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        """Return a client of the SDK module `sdk` that retries nothing and takes nothing from the environment."""
        raise NotImplementedError

    async def let_in(self, client: Any, origin: Origin, patience: Patience) -> None:
        """Give the client what proves who asks, where that is no key; here do nothing. Raises CallFailure, TimeoutError when a
        limit of time runs out."""

    def events_of(self) -> EventReader | FrameReader:
        """Return a new object that cuts the body of a stream into events."""
        return EventReader()

    def meaning(self, status: int, reason: Reason) -> int:
        """Return the HTTP status that an error status of this provider means, with what the provider says."""
        return status

    def asked_as(self) -> str:
        """Return how a request proves who asks, for people: a phrase that goes on behind "asked"."""
        variable = None if self.settings.api_key else self.settings.key_variable(self._env)
        return f"without a {self.proof}" if variable is None else f"with the {self.proof} in {variable}"

    @property
    def proof(self) -> str:
        """The word for what `key_variable` names."""
        return "key"

    def create(self, client: Any) -> Any:
        """Return the function of the SDK's client that sends a request, takes the arguments that `lower` returns, and leaves the
        body of the answer unread."""
        raise NotImplementedError

    def read(self, data: Fields) -> Reply:
        """Return the neutral reply of the provider's JSON. Raises Refusal where the model refuses, Unreadable for any other JSON
        that is no reply."""
        raise NotImplementedError

    def counts(self, usage: Usage) -> dict[str, Any]:
        """Return the counters of a report, by the names that `Reply` has for them."""
        raise NotImplementedError

    def growing(self) -> Growing:
        """Return a new object that puts together the reply of one stream."""
        raise NotImplementedError

    async def send(self, request: Request) -> Reply:
        return await self._send_adapted(request, self._exchange)

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        return await self._send_adapted(request, lambda r, arguments: self._stream_reply(r, arguments, give))

    def _with_extra(self, request: Request, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with what the program adds to the body of the request. Raises NotSent for a part that Concerto
        writes itself (O-1.211)."""
        extra = request.params.get("extra")
        if not extra:
            return arguments
        written = sorted(extra.keys() & WRITTEN[self.wire])
        if written:
            message = f"extra: Concerto writes `{written[0]}` itself; use the field for it"
            raise origin_of(request).not_sent("AgentError", "InvalidRequest", message)
        return {**arguments, "extra_body": {**arguments.get("extra_body", {}), **extra}}

    async def _send_adapted(self, request: Request, exchange: Callable[[Request, dict[str, Any]], Awaitable[Reply]]) -> Reply:
        """Send a request, and again without a parameter or a form that the model refuses; `notes` of the reply name what was
        changed.

        This is no retry: each time the request is another one, and each refusal is remembered or left out at most once."""
        notes: list[str] = []
        while True:
            # of the moment in which it is lowered: others may be refused the same forms while this one is on its way
            forms = [name for name in self.forms if self.takes(name, request.model)]
            arguments = self._with_extra(request, self.lower(request))
            try:
                reply = await exchange(request, arguments)
            except RefusedRequest as refused:
                form = next((name for name in refused.forms if name in forms), None)
                if form is not None:
                    self._refused.add((request.model, form))
                    notes.append(f"{form}: refused by {request.model}, sent in another form")
                elif refused.param is not None and self.settings.unsupported == "drop":
                    notes.append(f"{WIRE_NAMES[refused.param][0]} is refused by {request.model}")
                    request = without_param(request, refused.param)
                else:
                    raise refused.failure from None
                continue
            except Refusal as refusal:
                raise origin_of(request).filtered(self._redactor.clean(str(refusal) or "the model refused")) from None
            except Unreadable as unreadable:
                raise origin_of(request).invalid_response(self._redactor.clean(str(unreadable))) from None
            reply.notes = [*notes, *self.left_out(request)]
            reply.hosted = reply.hosted or self.certain_calls(request)
            if isinstance(reply.raw, self.raw_form):
                more = self.says_more(reply.raw)
                reply.state = ProviderState(self.name, self.peer, request.model, reply.raw, more)
            return reply

    @property
    def hosted_names(self) -> Mapping[str, Mapping[str, str]]:
        """The names of the fields of hosted tools on this wire, by type."""
        return self.settings.row.hosted.get(self.wire, {})

    def takes(self, form: str, model: str) -> bool:
        """Return whether a model has not yet refused a form of the request, a key of `forms` (O-1.138)."""
        return (model, form) not in self._refused

    def taken_messages(self, request: Request) -> Sequence[Msg]:
        """Return the messages in the form that the model takes (O-1.138): where it refuses calls without the state that it gives
        with its own, other ones are texts. Behind such a text a user message ends the request, since the reply shall not go on
        with it."""
        if not self._refused or self.takes(BARE_CALLS, request.model):
            return request.messages
        from ..memory.stages import without_tools

        messages = without_tools(request.messages, lambda message: self.returned(message, request) is not None)
        is_text = messages[-1].role == "assistant" and self.returned(messages[-1], request) is None
        return [*messages, Msg("user", CONTINUES)] if is_text else messages

    def says_more(self, raw: Any) -> bool:
        """Return whether a message in the provider's own form holds more than its neutral record: only then it must go back
        so."""
        raise NotImplementedError

    def returned(self, message: Msg, request: Request) -> Any:
        """Return a message in the provider's own form; None when it has none, or came from another provider or model
        (O-1.209)."""
        state = message.state
        if state is None or not state.is_for(self.name, self.peer, request.model):
            return None
        return state.content if isinstance(state.content, self.raw_form) else None

    async def _stream_reply(self, request: Request, arguments: dict[str, Any], give: Callable[[str], Awaitable[None]]) -> Reply:
        """Send one request whose reply comes as server-sent events. The time limits count only while the provider is waited
        for."""
        limits = request.limits
        patience = Patience(limits.total)
        patience.step("first", limits.first)
        growing = self.growing()
        size, texts, report, has_events = 0, [], growing.report, False
        answers = request.schema is not None and request.schema.strategy == "tool"
        response = await self._answer(request, arguments, patience)
        pieces = pieces_of(response.http_response, MOST_STREAM_BYTES)
        events = self._events(pieces, patience, request)
        try:
            async for data in events:
                has_events = True
                event = fields_of(data)
                text = growing.take(event)
                if growing.report is not report:
                    report = growing.report
                    self._note_usage(request, report, bool(text), growing.finished)
                if text:
                    texts.append(text)
                if answers and growing.answer:
                    text += "".join(growing.answer)
                    growing.answer.clear()
                if text:
                    size += len(text.encode())
                    if size > MOST_REPLY_BYTES:
                        raise Unreadable(TOO_LARGE)
                    await give(text)
                if event.data.get("type") in LAST_EVENTS:
                    break
            if growing.is_empty:
                raise Unreadable("the stream ended before its reply" if has_events else "the stream has no events")
            if growing.finished:
                self._note_usage(request, growing.report, is_final=True)
            reply = _bounded(self.read(growing.whole()))
            # the end of a stream may hold text that no event before it brought; it must only go on from what was given
            rest = reply.text.removeprefix("".join(texts))
            if len(rest) + sum(map(len, texts)) != len(reply.text):
                raise Unreadable("the pieces of the stream are not the text of its end")
            if rest:
                await give(rest)
            await _await_end(pieces)
            return reply
        except Refused as refused:
            raise self._refused_stream(refused, request, growing.is_empty) from None
        finally:
            await events.aclose()
            await pieces.aclose()
            await response.http_response.aclose()

    async def _events(self, pieces: AsyncIterator[bytes], patience: Patience, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the data of each event, until the stream says that it is done, or ends."""
        reader = self.events_of()
        idle = request.limits.idle
        while (piece := await self._piece(pieces, patience, request)) is not None:
            patience.step("idle", idle)
            for data in reader.take(piece):
                if data.strip() == DONE:
                    return
                if data.strip():
                    yield data
        for data in reader.end():
            if data.strip() not in (b"", DONE):
                yield data

    def _refused_stream(self, refused: Refused, request: Request, at_its_beginning: bool) -> Exception:
        """Return the failure for a stream that ends in an error status. Behind its beginning the provider has done some work, so
        that the status does not stand for the request."""
        failure = self._refusal(refused, request, origin_of(request))
        if not at_its_beginning:
            failure = failure.failure if isinstance(failure, RefusedRequest) else failure
            assert isinstance(failure, CallFailure)
            failure.fields.pop("status", None)
        return failure

    async def _piece(self, pieces: AsyncIterator[bytes], patience: Patience, request: Request) -> bytes | None:
        """Return the next piece of the body, None at its end."""
        try:
            piece: bytes = await patience.waiting(anext(pieces))
            return piece
        except StopAsyncIteration:
            return None
        except Unreadable:
            raise
        except Exception as error:
            origin = origin_of(request)
            raise self._failure(self._imported(origin), error, request, patience) from None

    def certain_calls(self, request: Request) -> Mapping[str, int]:
        """Return how often, by type, the hosted tools of a request were called when its reply does not tell."""
        return NO_CALLS

    def left_out(self, request: Request) -> list[str]:
        """Return notes on the parameters of a request that `lower` leaves out (O-1.134)."""
        return []

    async def aclose(self) -> None:
        """Close the client, if it is of the loop that runs now, and forget it: a later request makes another one."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    async def _exchange(self, request: Request, arguments: dict[str, Any]) -> Reply:
        data = fields_of(await self._body(request, arguments))
        self._note_usage(request, data.data.get("usage"), is_final=True)
        return _bounded(self.read(data))

    def _note_usage(self, request: Request, report: Any, with_text: bool = False, is_final: bool = False) -> None:
        """Note in `request.progress` what the provider has reported by now; `with_text` says that the report counts one more
        piece of text, which came in the same event."""
        if report is None or request.progress is None:
            return
        counts = self.counts(Usage(report))
        reports_input, reports_output = counts["reports"]
        request.progress.reported = (
            counts["tokens_in"] if reports_input else None, counts["tokens_out"] if reports_output else None,
            counts["cached"], counts["cache_write"], counts["reasoning"],
        )  # fmt: skip
        request.progress.hosted = counts["hosted"]
        request.progress.texts_at_report = len(request.progress.texts) + with_text
        request.progress.is_final = is_final

    async def model_ids(self, request: SideRequest) -> list[str]:
        """Return the ids of the models that the endpoint offers, in its order and at most MOST_MODELS. Raises CallFailure."""
        ids: list[str] = []
        arguments: dict[str, Any] = {} if self.models_at_once is None else {"limit": self.models_at_once}
        while True:
            data = await self.fetch(request, arguments, lambda client: client.models.with_streaming_response.list)
            with self.reading(request):
                page = [self._redactor.clean(entry.text("id")) for entry in data.records("data")]
            ids += page
            has_more = self.models_at_once is not None and data.data.get("has_more") is True
            if not page or not has_more or len(ids) >= MOST_MODELS:
                return ids[:MOST_MODELS]
            arguments["after_id"] = page[-1]

    @contextmanager
    def reading(self, request: Sent) -> Iterator[None]:
        """Return a context manager that raises the CallFailure of an answer where its body raises Unreadable."""
        try:
            yield
        except Unreadable as unreadable:
            raise origin_of(request).invalid_response(self._redactor.clean(str(unreadable))) from None

    async def fetch(self, request: SideRequest, arguments: dict[str, Any], create: Create) -> Fields:
        """Send a request for something else than a reply, and return the JSON of its answer; an array is the field `data` of it.
        Raises CallFailure. `create` returns the function of the SDK's client that sends it."""
        try:
            with self.reading(request):
                body = await self._body(request, arguments, create)
                return fields_of(b'{"data":%s}' % body if body.lstrip().startswith(b"[") else body)
        except RefusedRequest as refused:
            raise refused.failure from None

    # ------------------------------------------------------------ requests that go and come in a batch

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request as it stands in a batch of the provider (S-2.4). Raises NotSent for a request that has
        headers of its own, which a batch does not carry, and as `lower`."""
        arguments = dict(self._with_extra(request, self.lower(request)))
        if arguments.pop("extra_headers", None):
            message = "the request needs headers of its own (temperature, top_p or top_k of an older API), which no batch carries"
            raise origin_of(request).not_sent("AgentError", "InvalidRequest", message)
        return {**arguments, **arguments.pop("extra_body", {})}

    async def answered(self, request: Request, body: bytes) -> Reply:
        """Return the reply of a request whose answer, the JSON `body`, has come by a batch. Raises CallFailure as `send`."""

        async def exchange(request: Request, arguments: dict[str, Any]) -> Reply:
            data = fields_of(body)
            self._note_usage(request, data.data.get("usage"), is_final=True)
            return _bounded(self.read(data))

        return await self._send_adapted(request, exchange)

    async def lines(self, request: SideRequest, arguments: dict[str, Any], create: Create) -> AsyncIterator[bytes]:
        """Yield the lines of an answer. `create` is as in `fetch`. Raises CallFailure."""
        patience = Patience(request.limits.call)
        try:
            response = await self._answer(request, arguments, patience, create)
        except RefusedRequest as refused:
            raise refused.failure from None
        rest = b""
        try:
            with self.reading(request):
                pieces = pieces_of(response.http_response, MOST_BATCH_BYTES)
                while (piece := await patience.waiting(anext(pieces, None))) is not None:
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in whole:
                        yield line
                    if len(rest) > MOST_STREAM_BYTES:
                        raise Unreadable(f"a line of the batch is larger than {MOST_STREAM_BYTES} bytes")
                if rest:
                    yield rest
        except (Unreadable, CallFailure, GeneratorExit):
            raise
        except Exception as error:
            raise self._failure(self._imported(origin_of(request)), error, request, patience) from None
        finally:
            await response.http_response.aclose()

    async def _answer(self, request: Sent, arguments: dict[str, Any], patience: Patience, create: Create | None = None) -> Any:
        """Return the SDK's answer to a request, with its body not read yet. No exception of the SDK gets out of here."""
        origin = origin_of(request)
        client = self._open_client(origin)
        start = Start(self._gate, patience, request.limits.connect)
        token = asked_by_us.set(True)
        try:
            await self.let_in(client, origin, patience)
            async with start:
                return await patience.waiting(self._open_answer((create or self.create)(client), arguments))
        except CallFailure:
            raise
        except Exception as error:
            raise self._failure(self._imported(origin), error, request, patience) from None
        finally:
            asked_by_us.reset(token)
            if request.progress is not None and not start.has_left:
                request.progress.has_left = False

    async def _open_answer(self, create: Any, arguments: dict[str, Any]) -> Any:
        """Enter the context in which an SDK hands out an unread body; whoever reads the body closes it."""
        return await create(**arguments, timeout=None).__aenter__()

    async def _body(self, request: Sent, arguments: dict[str, Any], create: Create | None = None) -> bytes:
        """Send a request and return the bytes of its answer."""
        patience = Patience(request.limits.call)
        response = await self._answer(request, arguments, patience, create)
        try:
            body: bytes = await patience.waiting(body_of(response.http_response))
            return body
        except Unreadable:
            raise
        except Exception as error:
            origin = origin_of(request)
            raise self._failure(self._imported(origin), error, request, patience) from None
        finally:
            await response.http_response.aclose()

    def _failure(self, sdk: Any, error: Exception, request: Sent, patience: Patience) -> Exception:
        """Return an exception of SDK or HTTP client as a failure (O-1.123 to O-1.130), from documented fields only: other text
        of a library might hold a secret (G-10.3)."""
        import httpx2

        origin = origin_of(request)
        clean = self._redactor.clean
        cause = error.__cause__ if isinstance(error, sdk.APIConnectionError) else error
        if isinstance(cause, Refused):
            return self._refusal(cause, request, origin)
        if isinstance(cause, Redirected):
            return origin.redirected(cause.status, clean(cause.place))
        if isinstance(cause, httpx2.ConnectTimeout):
            patience.over = "connect"
        if patience.over or isinstance(error, (sdk.APITimeoutError, TimeoutError, httpx2.TimeoutException)):
            return timed_out(request, patience.over or "total", self.settings.address)
        if isinstance(cause, httpx2.UnsupportedProtocol):
            return origin.invalid_request(clean(f"base_url of connection {origin.connection} does not begin with http:// or https://"))
        if isinstance(error, (sdk.APIConnectionError, httpx2.TransportError, OSError)):
            return origin.network(clean(f"connection failed to {self.settings.address}: {cause or error}"))
        if isinstance(error, httpx2.DecodingError):
            return origin.invalid_response("the body of the reply cannot be decoded")
        return origin.invalid_request(clean(f"{self.package} refuses the request: {error}"))

    def _refusal(self, refused: Refused, request: Sent, origin: Origin) -> Exception:
        reason = Reason(refused.status, refused.body, self._redactor.clean)
        wait_ms = retry_after_ms(refused.headers, time.time())
        if refused.status == 400 and reason.code == FILTERED:
            return origin.filtered(reason.message)
        meaning = self.meaning(refused.status, reason)
        failure = origin.of_status(refused.status, reason.message, wait_ms, meaning)
        if meaning != 400:
            return failure
        text, forms = reason.message.lower(), self.forms if isinstance(request, Request) else {}
        refused_forms = [name for name, words in forms.items() if any(word in text for word in words)]
        param = _refused_param(reason, request)
        return RefusedRequest(failure, refused_forms, param) if refused_forms or param else failure

    def _imported(self, origin: Origin) -> Any:
        from importlib import import_module

        try:
            return import_module(self.package)
        except ImportError:
            message = f"the package {self.package} is not installed: {package_advice(self.package)}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message) from None

    def _open_client(self, origin: Origin) -> Any:
        """Return the client of the connection; a new one in another event loop, since open connections belong to theirs.

        The key is looked up first: a user without one need not wait for the import of the SDK."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            key = resolve_key(self.settings, self._env, self._redactor, origin)
            headers = resolve_headers(self.settings, self._env, self._redactor, origin)
            sdk = self._imported(origin)
            self._gate = Gate()
            http_client = self._http_client or self._http(sdk, origin)
            watch(http_client)
            self._client = self._client_of(sdk, key, headers, http_client, origin)
            self._loop = loop
        return self._client

    def _client_of(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any, origin: Origin) -> Any:
        """Make the client. An address that the HTTP library cannot read is a failure of the call."""
        import httpx2

        try:
            return self.make_client(sdk, key, headers, http_client)
        except httpx2.InvalidURL as error:
            message = f"`base_url` of connection {self.settings.name} is no address: {error}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message) from None

    def _http(self, sdk: Any, origin: Origin) -> Any:
        """Return the SDK's own HTTP client (environment proxies, socket options), which reports to the gate. The number of
        connections has no limit: a call that waited here for one would use up its time. Raises NotSent for certificates and
        proxies of the environment that cannot be used."""
        import httpx2

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS)
        hooks = {"request": [self._gate.watch]}
        try:
            trusted = trusted_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        except OSError as error:
            reason = error.strerror or "they are none"
            message = f"the certificates of {_set_in_environment(CERTIFICATES)} cannot be read: {reason}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message) from None
        try:
            return sdk.DefaultAsyncHttpxClient(
                timeout=None, limits=limits, follow_redirects=False, event_hooks=hooks, verify=trusted
            )  # fmt: skip
        except ImportError:  # the library loads what speaks SOCKS only for such a proxy
            says = f"is a SOCKS proxy, which needs the package socksio: {package_advice('socksio')}"
        except (ValueError, httpx2.InvalidURL):  # its text has the URL, in which a password may be
            says = "is no address of a proxy"
        message = f"the proxy of {_set_in_environment(PROXIES)} {says}"
        raise origin.not_sent("ConnectionError", "ProviderUnavailable", message)


def _set_in_environment(names: Sequence[str]) -> str:
    """Return which of these variables, in capitals or not, the process has."""
    return ", ".join(sorted(name for name in os.environ if name.upper() in names)) or "the system"


@functools.cache
def trusted_certificates(file: str | None, folder: str | None) -> Any:
    """Return what connections trust, by the variables SSL_CERT_FILE and SSL_CERT_DIR. Reading certificates takes 15 ms, more than
    all else of a small call, and each session makes a client of its own. Raises OSError where they cannot be read."""
    import httpx2

    return httpx2.create_ssl_context()


def stream_failure(event: Fields) -> Unreadable:
    """Return the failure for an event which says that the rest of the stream will not come."""
    reason = first_named(event.data.get("error") or event.data)
    return Unreadable("the stream ended in an error" + (f": {reason}" if reason else ""))


def shown_address(url: str) -> str:
    """Return a URL without the parts that may be secret, user information and query, and without its fragment; "nowhere" for a
    text that cannot be read as a URL."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return "nowhere"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _refused_param(reason: Reason, request: Sent) -> str | None:
    """Return the parameter that a refusal is about: by the field that names it, else by a name in the message."""
    words = reason.message.replace("`", " ").replace("'", " ").replace('"', " ").replace(":", " ").split()
    hosted = ["hosted"] if isinstance(request, Request) and request.hosted else []
    for name in [*request.params, *hosted]:
        if any(wire == reason.param or wire in words for wire in WIRE_NAMES.get(name, ())):
            return name
    return None


def require_countable(parts: Sequence[Any]) -> None:
    """Raise Unreadable for a reply with more than MOST_PARTS calls, content blocks or citations."""
    if len(parts) > MOST_PARTS:
        raise Unreadable(f"the reply has more than {MOST_PARTS} parts")


def _bounded(reply: Reply) -> Reply:
    """Return a reply; Unreadable when it is larger than a program may get (G-6.1)."""
    require_countable(reply.calls)
    require_countable(reply.citations)
    texts = [reply.text, reply.model, *(part for call in reply.calls for part in (call.id, call.name, call.text))]
    texts += [part for cited in reply.citations for part in (cited.url, cited.title or "")]
    if sum(len(text.encode()) for text in texts) > MOST_REPLY_BYTES:
        raise Unreadable(TOO_LARGE)
    return reply


async def _await_end(pieces: AsyncIterator[bytes]) -> None:
    """Wait a moment for the end of a stream that is done: its connection is used again only when the body has ended."""
    try:
        async with asyncio.timeout(LAST_MOMENT):
            async for _ in pieces:
                pass
    except Exception:
        return  # the reply is complete; a fault of the connection is for the next request to find
