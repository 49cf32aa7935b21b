"""The address `/mcp` of a served program: MCP over streamable HTTP (S-1.5).

Hands on `McpEndpoint` to the application. What is offered is decided in `mcp_server.py`, which the first request loads, since
the SDK takes a second to load and few servers are asked for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from .answers import refusal
from .problems import Problem

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from .app import Application


class McpEndpoint:
    """An ASGI application. Its sessions run in a task of its own from the first request on, until `aclose`."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.manager: StreamableHTTPSessionManager | None = None
        self.runner: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()
        self.over = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        known = scope["concerto"]
        known["route"] = "/mcp"
        try:
            caller = await self.app.gate.caller(request)
            known["caller"], scope["concerto_caller"] = caller.name, caller
            if self.app.admission.draining:
                raise Problem(503, "busy", "the server is going down", headers={"Retry-After": "1"})
        except Problem as problem:
            self.app.counters.refused.labels(str(problem.status)).inc()
            await refusal(request, problem)(scope, receive, send)
            return
        manager = await self._running()
        await manager.handle_request(scope, receive, send)

    async def _running(self) -> StreamableHTTPSessionManager:
        if self.manager is None or (self.runner is not None and self.runner.done()):  # the second: its event loop is over
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            from .mcp_server import server_of

            self.ready, self.over = asyncio.Event(), asyncio.Event()
            most = self.app.settings.body_bytes
            self.manager = StreamableHTTPSessionManager(server_of(self.app), max_request_body_size=most)
            self.runner = asyncio.create_task(self._run(self.manager))
        await self.ready.wait()
        return self.manager

    async def _run(self, manager: StreamableHTTPSessionManager) -> None:
        async with manager.run():
            self.ready.set()
            await self.over.wait()

    async def aclose(self) -> None:
        """End all sessions."""
        self.over.set()
        if self.runner is not None and not self.runner.done():
            await asyncio.wait({self.runner}, timeout=5)
            self.runner.cancel()
