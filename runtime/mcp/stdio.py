"""A child process as the pair of streams that the SDK reads and writes: one message per line (O-4.37, G-11.1).

The SDK's own transport gives children more of the environment than the language allows and leaves grandchildren alive; this one
is carried by the `Child` of agents. Must not know: messages, permissions.
"""

from __future__ import annotations

import contextlib
from contextlib import asynccontextmanager

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import METHOD_NOT_FOUND, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from ..agents.child import ChildEnded, LineNotText, LineTooLong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from ..agents.child import Child


PROBE = "server/discover"  # which a server of an older revision need not answer
PROBE_SECONDS = 5.0


@asynccontextmanager
async def streams_of(child: Child, timeout: float, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """The child ends with the streams; `ended` is called when it does before. A probe without answer counts as refused after a
    part of `timeout`."""
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
            except ChildEnded:
                if not closing:
                    ended()
            except (LineTooLong, LineNotText, anyio.BrokenResourceError):
                return  # the session sees the end of the stream

    async def writing() -> None:
        async with outgoing:
            try:
                async for message in outgoing:
                    sent = message.message
                    if isinstance(sent, JSONRPCRequest) and sent.method == PROBE:
                        probed.add(sent.id)
                        tasks.start_soon(unanswered, sent.id)
                    await child.write(sent.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
            except ChildEnded:
                await incoming.aclose()

    async def unanswered(probe: Any) -> None:
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
