"""Methods of tools that the program calls itself (O-4.6). Must not know: how a method is run."""

from __future__ import annotations

from ..mcp.servers import Servers
from ..tools.tools import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    return await Tools.of(run).use(effect, effect.payload)


# ----------------------------------------------------------------
# Tools of MCP servers that the program calls itself (O-4.45).


async def perform_mcp(run: Running, effect: Effect) -> Any:
    return await Servers.of(run).use(effect, effect.payload)
