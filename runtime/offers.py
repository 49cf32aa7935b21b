"""What one tool is to a model, whoever has it: a declared tool, an MCP server, a store. Must not know: any of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..vm.effects import Effect
    from .records import Call, ToolDef

    class Offer(Protocol):
        """One tool as a model sees it. `owner` names the tool, server or store it belongs to."""

        definition: ToolDef
        owner: str
        changes_state: bool

        def is_enabled(self) -> bool:
            """Whether it may be called, and so be in a request (O-4.20)."""

        async def answer(self, effect: Effect, call: Call) -> Any:
            """What the call gives; an Err of ToolError where it fails (O-4.27)."""
