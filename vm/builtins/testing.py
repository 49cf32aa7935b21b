"""What tests ask of their host (O-8.9, O-8.14): effects, since only the host knows what it stands in for and what was emitted."""

from __future__ import annotations

from ..values.containers import Map
from ..values.handles import McpRef, ToolRef
from .guards import text
from .registry import associated_effect, effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The target of a mock of the host that answers awaited emits (O-8.27): no name of a model.
AWAITED = "await emit"


@associated_effect("Test", "mock(target: Any, config: Map<String, Any>) -> Nil", effect="mock", clause="O-8.14")
def mock(target: Any, config: Any) -> tuple[Any, Map]:
    """What the statement `mock TARGET { … }` does: from here on, the config answers for a model, tool, MCP server or host."""
    assert isinstance(config, Map)
    return target if type(target) in (ToolRef, McpRef) else text(target), config


@effect("test_emits() -> Array<Emit>", effect="test_emits", clause="L-6.1.10")
def test_emits() -> tuple[()]:
    """The emits of the running test, in order."""
    return ()
