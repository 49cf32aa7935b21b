"""A connection to an MCP server through the official SDK (O-1.250, O-4.36, O-4.40, O-4.43).

Hands on `connected`. A client of the SDK lives in one task from its begin to its end, which this module keeps; calls come from
any task. It asks the server which revision of the protocol it speaks, and shakes hands in the old way where that is none without
handshake. Must not know: transports, permissions, what tools are for.
"""

from __future__ import annotations

import asyncio
import json
import logging

from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    TextContent,
)

from ..outside_text import clean_text
from ..schema.json_text import JsonRefused, parse_json
from .served import REFUSED_BODY, Answer, ServedTool, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from contextlib import AbstractAsyncContextManager
    from typing import Any, TypeVar

    from mcp import ClientSession

    from .settings import McpSettings

    T = TypeVar("T")

# What the SDK logs with tracebacks, failures give as values; a host that set up logging still gets it.
logging.getLogger("mcp").addHandler(logging.NullHandler())

MOST_PAGES = 100
CLIENT = Implementation(name="concerto", version="1")
NEWEST, HANDSHAKE = "auto", "legacy"  # modes of the SDK: ask first, or shake hands in the old way without asking
logging.getLogger("mcp").addHandler(logging.NullHandler())  # what it logs is for hosts that listen, not for stderr


async def connected(
    settings: McpSettings,
    streams: AbstractAsyncContextManager[tuple[Any, Any]],
    *,
    mode: str = NEWEST,
    seconds: float | None = None,
) -> SdkConnection:
    """A connection that is ready, over streams, which end with it. Raises ServerFailure, also when that takes longer than
    `seconds`, by default the time limit of a request."""
    connection = SdkConnection(settings, streams, mode)
    try:
        await connection.begin(settings.timeout if seconds is None else seconds)
    except BaseException:
        await connection.aclose()
        raise
    return connection


class SdkConnection:
    def __init__(self, settings: McpSettings, streams: AbstractAsyncContextManager[tuple[Any, Any]], mode: str) -> None:
        self.name = settings.name
        self.timeout = settings.timeout
        self._client = Client(streams, mode=mode, client_info=CLIENT, cache=None)
        self._session: ClientSession | None = None
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._living = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        """The life of the client; what ends it before it is ready is told to who waits."""
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
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._ready)  # `aclose` asks whether it was ready
        except TimeoutError:
            raise ServerFailure(f"mcp {self.name} is not ready within {self.timeout:g} s") from None

    async def aclose(self) -> None:
        self._closing.set()
        if not self._ready.done():
            self._living.cancel()
        await asyncio.wait((self._living,))
        for ended in (self._living, self._ready):
            if ended.done() and not ended.cancelled():
                ended.exception()  # asked for, so that nobody complains that it was not

    # ------------------------------------------------------------ requests

    async def tools(self) -> list[ServedTool]:
        found: list[ServedTool] = []
        cursor = None
        for _ in range(MOST_PAGES):
            params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
            page = await self._asked(self._open.list_tools(params=params), "the list of tools")
            found += [ServedTool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ServerFailure(f"mcp {self.name} lists its tools on more than {MOST_PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        result = await self._asked(self._open.call_tool(name, arguments, allow_input_required=True), name)
        if not isinstance(result, CallToolResult):
            raise ServerFailure(f"mcp {self.name}: {name} asks for input, which a program does not give", "ExecutionFailed")
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        return Answer(self._plain(name, result.structured_content), texts, bool(result.is_error))

    @property
    def _open(self) -> ClientSession:
        if self._session is None or self._living.done():
            raise ServerFailure(f"mcp {self.name} has ended", gone=True)
        return self._session

    def _plain(self, name: str, structured: Any) -> Any:
        """Structured content under the limits of all JSON from outside."""
        try:
            return None if structured is None else parse_json(json.dumps(structured))
        except JsonRefused as refused:
            raise ServerFailure(f"the result of {name} is refused: {refused.reason}", "ExecutionFailed") from None

    async def _asked(self, request: Awaitable[T], what: str) -> T:
        """The result; errors become failures of the language, texts of the server alone go on (G-10.3)."""
        try:
            async with asyncio.timeout(self.timeout):
                return await request
        except TimeoutError:
            raise ServerFailure(f"mcp {self.name}: no answer for {what} within {self.timeout:g} s", "Timeout") from None
        except MCPError as error:
            raise self._failure(error, what) from None
        except ServerFailure:
            raise
        except Exception:  # of the SDK: a result that breaks the protocol
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
