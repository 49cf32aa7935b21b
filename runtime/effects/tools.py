"""Performers of tool methods that the program itself calls: of declared tools (O-4.6) and of MCP servers (O-4.45); and of the
resources and prompts of these (O-4.50).

Hands on both performers to `table.py`. An effect is what the machine asks the session to do for a task, and its payload says
what. How such a method runs, and whether it is permitted, is `tools/tools.py` and `mcp/servers.py`; calls by a model go through
`tools/bindings.py` instead.
"""

from __future__ import annotations

from ...vm.interp.effects import ServerRead
from ..mcp.servers import Servers
from ..tools.tools import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import EffectContext


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Call a method of a declared tool, which the `ToolUse` of the effect names, and return what it gives. A denial is an Err, or
    panic P407 where the method has no Result. Raises as `Tools.use`."""
    return await Tools.of(run).use(effect, effect.payload)


async def perform_mcp(run: EffectContext, effect: Effect) -> Any:
    """Call a tool of an MCP server (the payload is a `ServerUse`), or read what else it has (a `ServerRead`), and return the
    Result: a denial and every failure of the server are an Err of ToolError. Raises as `Servers.use` and `Servers.read`."""
    servers = Servers.of(run)
    if type(effect.payload) is ServerRead:
        return await servers.read(effect, effect.payload)
    return await servers.use(effect, effect.payload)
