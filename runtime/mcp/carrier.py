"""Streamable HTTP to an MCP server, as the pair of streams that the SDK reads and writes (O-4.37, G-8.3, G-9.9, G-9.11).

Hands on to `opening.py` `Carrier`, the transport of one server, which `wire.py` and `login.py` get, `streams_to`, and the types
`Reach` (what sends a request to a host and port elsewhere) and `Send` (of the address to connect to). The carrier connects to
the one address that was checked; where a login needs another host, it asks for the permission (O-4.56). The SDK follows
redirects within the origin only and bounds each event of a stream; other bodies are bounded here. What ends a request below the
protocol is kept as `failure`, since the SDK hides it. `httpx2` is the HTTP client that the SDK uses. Nothing here reads a
message of the protocol or repeats a request.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext

import httpx2
from mcp.client.streamable_http import streamable_http_client

from ..access.http_messages import MOST_BYTES, MOST_REDIRECTS, PORTS
from .served import REFUSED_BODY, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, NoReturn

    from ..access.http_messages import Target
    from .served import McpSettings

    Send = Callable[[str], Awaitable[httpx2.Response]]
    Reach = Callable[[str, int, Send], Awaitable[httpx2.Response]]

LONGEST_SILENCE = 300.0  # seconds, of a stream that the server keeps open
EVENTS = "text/event-stream"
UNAUTHORIZED = 401


class Bounded(httpx2.AsyncByteStream):
    """The body `inner`, of at most MOST_BYTES bytes. One that is compressed, although nobody asked for that, is refused: it could
    unfold to any size. `coding` names the compression, "" for none. Reading it raises `httpx2.StreamError`, whose text begins
    with REFUSED_BODY, for either."""

    def __init__(self, inner: httpx2.AsyncByteStream, coding: str) -> None:
        self.inner = inner
        self.coding = coding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.coding:
            raise httpx2.StreamError(f"{REFUSED_BODY}it is compressed ({self.coding}), which was not asked for")
        size = 0
        async for piece in self.inner:
            size += len(piece)
            if size > MOST_BYTES:
                raise httpx2.StreamError(f"{REFUSED_BODY}it is larger than {MOST_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        """Close the body `inner`."""
        await self.inner.aclose()


class Carrier(httpx2.AsyncBaseTransport):
    """The transport of the server `name` at `target`: it connects to the `address` that was checked, whatever the name resolves
    to by then. `reach` sends a request to another host, with a permission of its own, as a login may have to; None: there is no
    other host.

    `failure` is why the last request to the server ended below the protocol, or what a login on the way has failed with (`fail`);
    None if neither is so. `status` is the HTTP status of the last answer to a message, 0 before; `advice` what the message for a
    server that wants a login says then. `waiting_on_a_person` stops the time limits of requests, once a connection has set
    it."""

    def __init__(self, name: str, target: Target, address: str, advice: str = "", reach: Reach | None = None) -> None:
        self.name = name
        self.target = target
        self.path = httpx2.URL(target.url).path
        self.address = address
        self.advice = advice
        self.reach = reach
        self.failure: ServerFailure | None = None
        self.status = 0
        self.waiting_on_a_person: Callable[[], AbstractContextManager[None]] = nullcontext
        self.inner = httpx2.AsyncHTTPTransport(verify=target.scheme == "https", trust_env=False)  # certificates load slowly
        # Of other hosts each has its own: connections are told apart by the address, and those of one were checked for its name.
        self.elsewhere: dict[str, httpx2.AsyncHTTPTransport] = {}

    def fail(self, failure: ServerFailure) -> NoReturn:
        """Keep a failure, and raise `httpx2.ConnectError`, which the SDK takes for a broken connection."""
        self.failure = failure
        raise httpx2.ConnectError(failure.message)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response; the HTTP client calls this. Raises `httpx2.ConnectError` for a host that is not
        permitted or a ServerFailure of `reach`, which is kept, and what the transport below raises."""
        target, url = self.target, request.url
        if (url.scheme, url.host, url.port or PORTS.get(url.scheme)) == (target.scheme, target.host, target.port):
            is_server = url.path == self.path  # a login may have other pages there
            if is_server:
                self.failure = None
            try:
                response = await self._sent(self.inner, request, self.address)
            except httpx2.TransportError as error:
                if is_server and not isinstance(error, httpx2.TimeoutException):
                    place = f"{target.host}:{target.port}"
                    self.failure = ServerFailure(f"mcp {self.name}: connection failed to {place} ({type(error).__name__})")
                raise
            if is_server:
                wants = f"mcp {self.name}: the server wants a login (401): {self.advice}"
                self.failure = ServerFailure(wants) if response.status_code == UNAUTHORIZED else None
                if request.method == "POST":
                    self.status = response.status_code
            return response
        if self.reach is None or url.scheme not in PORTS:
            raise httpx2.ConnectError("another host than the one that is permitted", request=request)
        if url.host not in self.elsewhere:
            self.elsewhere[url.host] = httpx2.AsyncHTTPTransport(trust_env=False)
        transport = self.elsewhere[url.host]
        try:
            return await self.reach(url.host, url.port or PORTS[url.scheme], lambda at: self._sent(transport, request, at))
        except ServerFailure as failure:
            self.fail(failure)

    async def _sent(self, transport: httpx2.AsyncBaseTransport, request: httpx2.Request, address: str) -> httpx2.Response:
        extensions = {**request.extensions, "sni_hostname": request.url.host}
        url = request.url.copy_with(host=address)
        pinned = httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)
        response = await transport.handle_async_request(pinned)
        coding = response.headers.pop("content-encoding", "identity").strip().lower()
        compressed = "" if coding in ("", "identity") else coding
        if compressed or not response.headers.get("content-type", "").lower().startswith(EVENTS):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Bounded(response.stream, compressed)
        return response

    async def aclose(self) -> None:
        """Close the connections to the server and to other hosts."""
        await self.inner.aclose()
        for transport in self.elsewhere.values():
            await transport.aclose()


@asynccontextmanager
async def streams_to(
    settings: McpSettings, carrier: Carrier, headers: Mapping[str, str], login: httpx2.Auth | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of a server over HTTP, as an asynchronous context manager: the pair of what comes from the server and what
    goes to it, as messages of the SDK. `headers` go with each request, besides our own; `login` is what logs in, None for
    nothing.

    The time limit of the settings, in seconds, is that of each step of a request but reading, for which it is LONGEST_SILENCE if
    that is more: a stream may be silent. What the SDK and `httpx2` raise passes through; why a request has ended below the
    protocol is in `carrier.failure` then."""
    timeout = httpx2.Timeout(settings.timeout, read=max(LONGEST_SILENCE, settings.timeout))
    own = {"user-agent": "concerto", **headers, "accept-encoding": "identity"}
    async with (
        httpx2.AsyncClient(
            headers=own, timeout=timeout, trust_env=False, max_redirects=MOST_REDIRECTS, transport=carrier, auth=login
        ) as client,
        streamable_http_client(carrier.target.url, http_client=client) as streams,
    ):
        yield streams[0], streams[1]
