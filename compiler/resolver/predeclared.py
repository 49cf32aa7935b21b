"""The outermost scope: built-in functions, constructors and types (L-1.3.7).

Hands on `outermost`, the type table and what is associated with them. Must not know: what calls mean.
"""

from __future__ import annotations

from ...vm.builtins import ASSOCIATED, FUNCTIONS
from ...vm.values.errors import FAMILIES
from ..symbols import BuiltinSymbol, ErrorFamilySymbol, Symbol
from .scopes import Scope

# Type names and their numbers of type arguments (L-3.1).
TYPES: dict[str, int] = {
    **dict.fromkeys(("Int", "Float", "String", "Bool", "Nil", "Any", "Range", "Bytes"), 0),
    "Array": 1, "Map": 2, "Option": 1, "Result": 2, "Schema": 1, "Task": 1, "Set": 1, "Queue": 1, "Stack": 1,
    **dict.fromkeys(("Prompt", "Response", "Message", "ToolCall", "Emit", "Entry", "Turn", "Fact", "Provenance"), 0),
    **dict.fromkeys(("Learned", "Dominant", "Observed"), 0),
    **dict.fromkeys(("ModelRef", "ModelBuilder", "SchemaRef", "Memory", "MemoryRef", "ToolRef", "AgentRef", "Agent"), 0),
    **dict.fromkeys(("KeyedMemory", "McpRef", "Stream", "Chunk"), 0),
    **dict.fromkeys(("HashMapRef", "Ledger", "LedgerRef", "LedgerQuery", "LedgerEntry"), 0), "HashMap": 2,
    "PipelineRef": 0,
}

# Types that are reached through their module of the library only (L-7).
LIBRARY_TYPES = {"HttpResponse": 0, "RegexMatch": 0, "ModelUsage": 0, "BudgetLeft": 0, "Url": 0, "DateTime": 0}

MEMORY_CONSTRUCTORS = ("new", "from", "of")
STORES = ("HashMap", "HashMapRef", "Ledger", "LedgerRef")


def outermost() -> Scope:
    """A scope of everything predeclared."""
    scope = Scope(None)
    names: dict[str, Symbol] = {name: BuiltinSymbol(name) for name in (*TYPES, *FUNCTIONS)}
    names.update((name, ErrorFamilySymbol(name)) for name in FAMILIES)
    scope.names = names
    return scope


def associated(owner: str) -> list[str]:
    """The associated functions of a predeclared type (L-6.9)."""
    if owner in ("Memory", "MemoryRef"):
        return list(MEMORY_CONSTRUCTORS)
    if owner in STORES:
        return ["new"]
    return [name for receiver, name in ASSOCIATED if receiver == owner]
