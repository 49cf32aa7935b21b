"""What both official SDKs have in common: client, timeout, size limit, and their exceptions as failures.

A subclass lowers the record, makes its client and reads the JSON of a reply. SDKs are imported with the first request
(O-1.24); they retry nothing, time nothing and take nothing from the environment (O-1.25). Must not know: retries, memories.
"""

from __future__ import annotations

import asyncio
import time

from ..connections import resolve_headers, resolve_key
from ..outside_text import clean_text
from ..schema.json_text import JsonRefused, parse_json
from .base import Provider, origin_of
from .parameters import WIRE_NAMES, without_param
from .patience import Patience
from .retry_after import retry_after_ms
from .starting import CONNECT_SECONDS, Gate, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeAlias

    from ..connections import ConnectionSettings
    from ..errors import CallFailure, Origin
    from ..records import EmbedRequest, Reply, Request
    from ..secrets import Redactor

    Sent: TypeAlias = Request | EmbedRequest
    Create: TypeAlias = Callable[[Any, dict[str, Any]], Awaitable[Any]]

MAX_REPLY_BYTES = 1 << 20  # G-6.1
IDLE_CONNECTIONS = 20  # each of them is looked at with every request and with every reply


class Unreadable(Exception):
    """A reply that is no reply; the text says what is wrong with it (O-1.105)."""


class Refusal(Exception):
    """A reply that says the model refuses (O-1.102)."""


class RefusedParameter(Exception):
    """A status 400 that names a parameter we sent; `failure` is the error it is otherwise."""

    def __init__(self, name: str, failure: CallFailure) -> None:
        super().__init__(name)
        self.name = name
        self.failure = failure


class SdkProvider(Provider):
    """`http_client` replaces the SDK's own HTTP layer; tests answer requests through it."""

    package: str

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

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        raise NotImplementedError

    async def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """The SDK's raw response."""
        raise NotImplementedError

    def read(self, data: dict[str, Any]) -> Reply:
        """The neutral reply; Unreadable or Refusal when it is none."""
        raise NotImplementedError

    def piece(self, event: dict[str, Any], whole: dict[str, Any]) -> str:
        """The text an event of a stream brings. `whole` becomes, event by event, what `read` takes."""
        raise NotImplementedError

    async def send(self, request: Request) -> Reply:
        return await self._sent(request, self._exchange)

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        return await self._sent(request, lambda r, arguments: self._streamed(r, arguments, give))

    async def _sent(self, request: Request, exchange: Callable[[Request, dict[str, Any]], Awaitable[Reply]]) -> Reply:
        notes: list[str] = []
        while True:
            arguments = self.lower(request)
            try:
                reply = await exchange(request, arguments)
            except RefusedParameter as refused:
                if self.settings.unsupported != "drop":
                    raise refused.failure from None
                notes.append(f"{WIRE_NAMES[refused.name][0]} is refused by {request.model}")
                request = without_param(request, refused.name)
                continue
            except Refusal as refusal:
                raise origin_of(request).filtered(self._redactor.clean(str(refusal) or "the model refused")) from None
            except (Unreadable, JsonRefused) as unreadable:
                raise origin_of(request).invalid_response(self._redactor.clean(str(unreadable))) from None
            reply.notes = [*notes, *self.left_out(request)]
            return reply

    async def _streamed(self, request: Request, arguments: dict[str, Any], give: Callable[[str], Awaitable[None]]) -> Reply:
        """One request whose reply comes as server-sent events. The time limit counts while the provider is waited for."""
        origin = origin_of(request)
        patience = Patience(request.timeout)
        whole: dict[str, Any] = {}
        size = 0
        response = await self._answer(request, arguments, patience)
        lines = response.http_response.aiter_lines()
        try:
            while (line := await self._line(lines, patience, request, origin)) is not None:
                size += len(line)
                if size > MAX_REPLY_BYTES:
                    raise Unreadable(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
                if line.startswith("data:") and line[5:].strip() not in ("", "[DONE]"):
                    text = self.piece(_envelope(line[5:].encode()), whole)
                    if text:
                        await give(text)
            if not whole:
                raise Unreadable("the stream has no events")
            return self.read(whole)
        finally:
            await response.http_response.aclose()

    async def _line(self, lines: Any, patience: Patience, request: Request, origin: Origin) -> str | None:
        """The next line of the stream, None at its end."""
        try:
            return str(await patience.waiting(anext(lines)))
        except StopAsyncIteration:
            return None
        except Exception as error:
            raise self._failure(self._imported(origin), error, request, origin) from None

    def left_out(self, request: Request) -> list[str]:
        """Notes on parameters `lower` leaves out (O-1.134)."""
        return []

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    async def _exchange(self, request: Request, arguments: dict[str, Any]) -> Reply:
        return self.read(_envelope(await self._body(request, arguments)))

    async def asked(self, request: EmbedRequest, arguments: dict[str, Any], create: Create) -> dict[str, Any]:
        """The JSON of the answer to another request than one for a reply."""
        try:
            return _envelope(await self._body(request, arguments, create))
        except RefusedParameter as refused:
            raise refused.failure from None
        except (Unreadable, JsonRefused) as unreadable:
            raise origin_of(request).invalid_response(self._redactor.clean(str(unreadable))) from None

    async def _answer(self, request: Sent, arguments: dict[str, Any], patience: Patience, create: Create | None = None) -> Any:
        """The SDK's answer to a request. Whatever it raises is a failure of ours, never passed on."""
        origin = origin_of(request)
        client = self._opened(origin)
        start = Start(self._gate, patience)
        try:
            async with start:
                return await patience.waiting((create or self.create)(client, {**arguments, "timeout": None}))
        except Exception as error:
            if start.unconnected:
                raise self._unconnected(origin) from None
            raise self._failure(self._imported(origin), error, request, origin) from None

    async def _body(self, request: Sent, arguments: dict[str, Any], create: Create | None = None) -> bytes:
        """The bytes of a good answer."""
        patience = Patience(request.timeout)
        response = await self._answer(request, arguments, patience, create)
        try:
            content: bytes = await patience.waiting(response.http_response.aread())
            return content
        except Exception as error:
            origin = origin_of(request)
            raise self._failure(self._imported(origin), error, request, origin) from None

    def _unconnected(self, origin: Origin) -> Exception:
        return origin.network(f"no connection within {CONNECT_SECONDS:g} s")

    def _failure(self, sdk: Any, error: Exception, request: Sent, origin: Origin) -> Exception:
        """Field by field from what the exceptions document (G-10.3, O-1.123 to O-1.130)."""
        import httpx2

        clean = self._redactor.clean
        if isinstance(error, sdk.APIStatusError):
            return self._status_failure(error, request, origin)
        cause = error.__cause__ if isinstance(error, sdk.APIConnectionError) else error
        if isinstance(cause, httpx2.ConnectTimeout) and request.timeout > CONNECT_SECONDS:
            return self._unconnected(origin)
        if isinstance(error, (sdk.APITimeoutError, TimeoutError, httpx2.TimeoutException)):
            return origin.timed_out()
        if isinstance(error, (sdk.APIConnectionError, httpx2.TransportError, OSError)):
            return origin.network(clean(f"connection failed: {cause or error}"))
        if isinstance(error, httpx2.DecodingError):
            return origin.invalid_response("the body of the reply cannot be decoded")
        return origin.invalid_request(clean(f"{self.package} refuses the request: {error}"))

    def _status_failure(self, error: Any, request: Sent, origin: Origin) -> Exception:
        message = clean_text(_provider_message(error.body) or f"HTTP status {error.status_code}")
        asked = retry_after_ms(error.response.headers, time.time())
        failure = origin.of_status(error.status_code, self._redactor.clean(message), asked)
        refused = _refused_param(error.body, message, request) if error.status_code == 400 else None
        return failure if refused is None else RefusedParameter(refused, failure)

    def _imported(self, origin: Origin) -> Any:
        from importlib import import_module

        try:
            return import_module(self.package)
        except ImportError:
            message = f"the package {self.package} is not installed"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message) from None

    def _opened(self, origin: Origin) -> Any:
        """One client a connection; connections belong to the event loop they were opened in. The key comes first: whoever
        lacks it need not wait for the import."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            key = resolve_key(self.settings, self._env, self._redactor, origin)
            headers = resolve_headers(self.settings, self._env, self._redactor, origin)
            sdk = self._imported(origin)
            self._gate = Gate()
            self._client = self.make_client(sdk, key, headers, self._http_client or self._http(sdk))
            self._loop = loop
        return self._client

    def _http(self, sdk: Any) -> Any:
        """The SDK's own HTTP client (environment proxies, socket options), which tells the gate what it does. As many calls as
        the program makes are in flight: a call that waits here for a connection would use up its time."""
        import httpx2

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS)
        return sdk.DefaultAsyncHttpxClient(timeout=None, limits=limits, event_hooks={"request": [self._gate.watch]})


def stream_failure(event: dict[str, Any]) -> Unreadable:
    """An event that says that the rest will not come."""
    inner = event.get("error") or event.get("response", {}).get("error") or event
    return Unreadable(f"the stream ended in an error: {inner.get('message') if isinstance(inner, dict) else inner}")


def _envelope(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_REPLY_BYTES:
        raise Unreadable(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
    data = parse_json(body.decode("utf-8", "replace"))
    if not isinstance(data, dict):
        raise Unreadable("the reply is not a JSON object")
    return data


def _provider_message(body: Any) -> str | None:
    """The provider's own words: `error.message`, `message`, or the body when it is plain text."""
    if isinstance(body, str):
        return body.strip() or None
    if not isinstance(body, dict):
        return None
    inner = body.get("error", body)
    found = inner.get("message") if isinstance(inner, dict) else inner
    return found if isinstance(found, str) and found else None


def _refused_param(body: Any, message: str, request: Sent) -> str | None:
    """The parameter a refusal is about, by the field that names it, else by its name in the message."""
    named = body.get("param") if isinstance(body, dict) else None
    words = message.replace("`", " ").replace("'", " ").replace('"', " ").replace(":", " ").split()
    for name in request.params:
        if any(wire == named or wire in words for wire in WIRE_NAMES[name]):
            return name
    return None


def part(holder: Any, name: str, kind: type) -> Any:
    """A part a reply must have; Unreadable without it."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, kind):
        raise Unreadable(f"the reply has no {name}")
    return value


def count(usage: Any, *names: str) -> int:
    """The sum of the counters a usage report has; a missing one is 0 (O-1.105)."""
    values = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return sum(value for value in values if type(value) is int)


def reasoning_tokens(usage: Any, details: str) -> int:
    """Those of the output tokens that are in no text (M-11.1)."""
    return count(usage.get(details), "reasoning_tokens") if isinstance(usage, dict) else 0


def parsed_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call; None unless they are a JSON object (O-1.84)."""
    try:
        value = parse_json(text)
    except JsonRefused:
        return None
    return value if isinstance(value, dict) else None
