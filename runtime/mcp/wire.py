"""Connections to MCP servers through the official SDK, over the two permitted transports: a child process, and Streamable HTTP
to the one address that was checked (O-4.37, G-8.3).

Hands on to `servers.py`: `connected`, which returns a `Connection` over a pair of streams, with its mode `HANDSHAKE`; and the two
that make such streams, `streams_of` a child and `streams_to` an address. This is the only module that imports the SDK; its
exceptions end here, as ServerFailure. Which address or command is permitted is decided before, in `servers.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from base64 import b64decode
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    AudioContent,
    CallToolResult,
    ErrorData,
    ImageContent,
    Implementation,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    PaginatedRequestParams,
    TextContent,
    jsonrpc_message_adapter,
)

from ...vm.values.media import Refused, content_of
from ..access.http_messages import MOST_BYTES, MOST_REDIRECTS, PORTS
from ..access.secrets import clean_text
from ..agents.child import ChildEnded, LineNotText, LineTooLong
from ..schema.lenient_json import JsonRefused, parse_json
from .served import REFUSED_BODY, Answer, ServedTool, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from typing import Any, TypeVar

    from mcp import ClientSession

    from ...vm.values.media import Content
    from ..access.http_messages import Target
    from ..agents.child import Child
    from .served import McpSettings


# Streamable HTTP as the pair of streams that the SDK reads and writes, over the one address that was checked (O-4.37, G-8.3).
# The SDK follows redirects within the origin only and bounds each event of a stream; other bodies are bounded here (G-9.9).

LONGEST_SILENCE = 300.0  # seconds, of a stream that the server keeps open
EVENTS = "text/event-stream"


class Bounded(httpx2.AsyncByteStream):
    """A body of at most MOST_BYTES bytes. One that is compressed, although nobody asked for that, is refused: it could unfold
    to any size."""

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
        await self.inner.aclose()


class Pinned(httpx2.AsyncBaseTransport):
    """The transport of one server: it connects to the address that was checked, whatever the name resolves to by then, and to no
    other host."""

    def __init__(self, target: Target, address: str) -> None:
        self.target = target
        self.address = address
        self.inner = httpx2.AsyncHTTPTransport(verify=target.scheme == "https", trust_env=False)  # certificates load slowly

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target, url = self.target, request.url
        if (url.scheme, url.host, url.port or PORTS.get(url.scheme)) != (target.scheme, target.host, target.port):
            raise httpx2.ConnectError("another host than the one that is permitted", request=request)
        extensions = {**request.extensions, "sni_hostname": target.host}
        pinned_url = url.copy_with(host=self.address)
        pinned = httpx2.Request(request.method, pinned_url, headers=request.headers, stream=request.stream, extensions=extensions)
        response = await self.inner.handle_async_request(pinned)
        coding = response.headers.pop("content-encoding", "identity").strip().lower()
        compressed = "" if coding in ("", "identity") else coding
        if compressed or not response.headers.get("content-type", "").lower().startswith(EVENTS):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Bounded(response.stream, compressed)
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


@asynccontextmanager
async def streams_to(
    settings: McpSettings, target: Target, address: str, headers: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of a server over HTTP, as an asynchronous context manager; `address`, an IP address, is the checked one.
    The time limit of the settings, in seconds, is that of each step of a request but reading, for which it is LONGEST_SILENCE if
    that is more: a stream may be silent."""
    timeout = httpx2.Timeout(settings.timeout, read=max(LONGEST_SILENCE, settings.timeout))
    own = {"user-agent": "concerto", **headers, "accept-encoding": "identity"}
    carrier = Pinned(target, address)
    async with (
        httpx2.AsyncClient(
            headers=own, timeout=timeout, trust_env=False, max_redirects=MOST_REDIRECTS, transport=carrier
        ) as client,
        streamable_http_client(target.url, http_client=client) as streams,
    ):
        yield streams[0], streams[1]


# A client of the SDK must live in one task from its begin to its end, so `SdkConnection` keeps a task for it; calls come from any
# task. The client asks the server which revision of the protocol it speaks, and falls back to a handshake (O-1.250).

if TYPE_CHECKING:
    T = TypeVar("T")

# What the SDK logs, with tracebacks, is in our failures already. So it shall not go to stderr; a host that listens still gets it.
logging.getLogger("mcp").addHandler(logging.NullHandler())

MOST_PAGES = 100  # of the list of tools
CLIENT = Implementation(name="concerto", version="1")
NEWEST, HANDSHAKE = "auto", "legacy"  # modes of the SDK: ask for the revision first, or begin with a handshake


async def connected(
    settings: McpSettings,
    streams: AbstractAsyncContextManager[tuple[Any, Any]],
    *,
    mode: str = NEWEST,
    seconds: float | None = None,
) -> SdkConnection:
    """Return a connection that is ready for calls, over a pair of streams, which end with it. The caller must `aclose` it.

    Raises ServerFailure when the server does not answer as one, or not within `seconds`, by default the time limit of a request;
    the streams have ended then."""
    connection = SdkConnection(settings, streams, mode)
    try:
        await connection.begin(settings.timeout if seconds is None else seconds)
    except BaseException:
        await connection.aclose()
        raise
    return connection


class SdkConnection:
    """A `Connection` (`served.py`) through a client of the SDK. Each request has the time limit of the settings."""

    def __init__(self, settings: McpSettings, streams: AbstractAsyncContextManager[tuple[Any, Any]], mode: str) -> None:
        self.name = settings.name
        self.timeout = settings.timeout
        self._client = Client(streams, mode=mode, client_info=CLIENT, cache=None)
        self._session: ClientSession | None = None
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._living = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        """Keep the client from its begin to its end. What ends it before it is ready becomes the failure that `begin` raises."""
        try:
            async with self._client as client:
                self._session = client.session
                if not self._ready.done():
                    self._ready.set_result(None)
                await self._closing.wait()
        except Exception:
            if not self._ready.done():
                self._ready.set_exception(ServerFailure(f"mcp {self.name} does not answer as an MCP server"))
        finally:
            if not self._ready.done():
                self._ready.cancel()

    async def begin(self, seconds: float) -> None:
        """Wait until the client is ready, at most so many seconds. Raises ServerFailure."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._ready)  # a timeout must not cancel it: `aclose` looks whether it was ready
        except TimeoutError:
            raise ServerFailure(f"mcp {self.name} is not ready within {round(seconds, 3):g} s") from None

    async def aclose(self) -> None:
        self._closing.set()
        if not self._ready.done():
            self._living.cancel()
        await asyncio.wait((self._living,))
        for future in (self._living, self._ready):
            if future.done() and not future.cancelled():
                future.exception()  # asyncio warns of an error that nobody has looked at

    # ------------------------------------------------------------ requests

    async def tools(self) -> list[ServedTool]:
        tools: list[ServedTool] = []
        cursor = None
        for _ in range(MOST_PAGES):
            params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
            page = await self._request(self._session_now.list_tools(params=params), "the list of tools")
            tools += [ServedTool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return tools
        raise ServerFailure(f"mcp {self.name} lists its tools on more than {MOST_PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        result = await self._request(self._session_now.call_tool(name, arguments, allow_input_required=True), name)
        if not isinstance(result, CallToolResult):
            raise ServerFailure(f"mcp {self.name}: {name} asks for input, which a program does not give", "ExecutionFailed")
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        media = [self._content(name, part) for part in result.content if isinstance(part, ImageContent | AudioContent)]
        return Answer(self._plain(name, result.structured_content), texts, bool(result.is_error), media)

    def _content(self, name: str, part: ImageContent | AudioContent) -> Content:
        """Return a picture or sound of a result. ServerFailure for what is none."""
        try:
            return content_of(part.type, b64decode(part.data, validate=True))
        except (ValueError, Refused) as error:
            reason = error.reason if isinstance(error, Refused) else "it is no base64"
            raise ServerFailure(f"the {part.type} in the result of {name} is refused: {reason}", "ExecutionFailed") from None

    @property
    def _session_now(self) -> ClientSession:
        """The session of the client. ServerFailure when it has ended."""
        if self._session is None or self._living.done():
            raise ServerFailure(f"mcp {self.name} has ended", gone=True)
        return self._session

    def _plain(self, name: str, structured: Any) -> Any:
        """Return structured content, checked against the limits of all JSON from outside."""
        try:
            return None if structured is None else parse_json(json.dumps(structured))
        except JsonRefused as refused:
            raise ServerFailure(f"the result of {name} is refused: {refused.reason}", "ExecutionFailed") from None

    async def _request(self, request: Awaitable[T], what: str) -> T:
        """Return the result of a request to the server; `what` names it in messages. Errors become failures, in which no text
        but the server's own is shown (G-10.3)."""
        try:
            async with asyncio.timeout(self.timeout):
                return await request
        except TimeoutError:
            raise ServerFailure(f"mcp {self.name}: no answer for {what} within {self.timeout:g} s", "Timeout") from None
        except MCPError as error:
            raise self._failure(error, what) from None
        except ServerFailure:
            raise
        except Exception:  # the SDK found that the result breaks the protocol
            message = f"mcp {self.name}: the answer for {what} is not what the protocol says"
            raise ServerFailure(message, "ExecutionFailed") from None

    def _failure(self, error: MCPError, what: str) -> ServerFailure:
        if error.code == CONNECTION_CLOSED:
            return ServerFailure(f"mcp {self.name} has ended before it answered {what}", gone=True)
        if error.code == REQUEST_TIMEOUT:
            return ServerFailure(f"mcp {self.name}: no answer for {what} within {self.timeout:g} s", "Timeout")
        if error.code == HEADER_MISMATCH:  # the next use lists the tools anew, and refuses one that is not what it was (G-9.6)
            return ServerFailure(f"mcp {self.name}: {what} is not what it was when it was listed", "ExecutionFailed", gone=True)
        if error.code == PARSE_ERROR:
            _, refused, reason = clean_text(error.message).partition(REFUSED_BODY)
            fault = f"{refused}{reason}" if refused else f"the answer for {what} is not what the protocol says"
            return ServerFailure(f"mcp {self.name}: {fault}", "ExecutionFailed")
        return ServerFailure(f"mcp {self.name}: {clean_text(error.message)}", "ExecutionFailed")


# The SDK's own transport for child processes gives them more of the environment than the language allows, and leaves
# grandchildren alive. So a server over stdio is a `Child`, as agents are, with one message per line (O-4.37, G-11.1).

PROBE = "server/discover"  # the question for the revision, which an older server may leave without an answer
PROBE_SECONDS = 5.0  # after which it counts as refused


@asynccontextmanager
async def streams_of(child: Child, timeout: float, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of a child process, as an asynchronous context manager; the child is stopped with them, and `ended` is
    called when it ends before. A probe without an answer counts as refused after PROBE_SECONDS, or a third of `timeout`, in
    seconds, if that is less."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    probed: set[Any] = set()
    closing = False

    async def reading() -> None:
        async with incoming:
            try:
                while True:
                    line = await child.line()
                    if line.strip():
                        received = _message(line)
                        if isinstance(received, SessionMessage) and isinstance(received.message, JSONRPCResponse | JSONRPCError):
                            probed.discard(received.message.id)
                        await incoming.send(received)
            except (ChildEnded, anyio.ClosedResourceError):  # the second: `writing` has found that it reads nothing any more
                if not closing:
                    ended()
            except (LineTooLong, LineNotText, anyio.BrokenResourceError):
                return  # the session sees the end of the stream

    async def writing() -> None:
        async with outgoing:
            try:
                async for message in outgoing:
                    request = message.message
                    if isinstance(request, JSONRPCRequest) and request.method == PROBE:
                        probed.add(request.id)
                        tasks.start_soon(refuse_later, request.id)
                    await child.write(request.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
            except ChildEnded:
                await incoming.aclose()

    async def refuse_later(probe: Any) -> None:
        await anyio.sleep(min(PROBE_SECONDS, timeout / 3))
        if probe in probed:
            refused = ErrorData(code=METHOD_NOT_FOUND, message=PROBE)
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await incoming.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=probe, error=refused)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reading)
        tasks.start_soon(writing)
        try:
            yield read, write
        finally:
            closing = True
            with anyio.CancelScope(shield=True):
                await child.stop()
            tasks.cancel_scope.cancel()
            for stream in (read, write):
                stream.close()


def _message(line: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
