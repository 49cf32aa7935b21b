"""A child process as the pair of streams that the SDK reads and writes: one message per line (O-4.37, G-11.1).

The SDK's own transport gives children more of the environment than the language allows and leaves grandchildren alive; this one
is carried by the `Child` of agents. Must not know: messages, permissions.
"""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from ..agents.child import ChildEnded, LineNotText, LineTooLong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from ..agents.child import Child


@asynccontextmanager
async def streams_of(child: Child) -> AsyncIterator[tuple[Any, Any]]:
    """The child ends with the streams."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def reading() -> None:
        async with incoming:
            try:
                while True:
                    line = await child.line()
                    if line.strip():
                        await incoming.send(_message(line))
            except (ChildEnded, LineTooLong, LineNotText, anyio.BrokenResourceError):
                return  # the session sees the end of the stream

    async def writing() -> None:
        async with outgoing:
            try:
                async for message in outgoing:
                    await child.write(message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
            except ChildEnded:
                await incoming.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reading)
        tasks.start_soon(writing)
        try:
            yield read, write
        finally:
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
