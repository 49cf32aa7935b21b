"""Tools of MCP servers that the program calls itself (O-4.45). Must not know: how a server is reached."""

from __future__ import annotations

from ..mcp.servers import Servers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    return await Servers.of(run).use(effect, effect.payload)
