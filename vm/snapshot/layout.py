"""What a program declares, as snapshots name it: types and functions by number, handles by name (G-13.7).

Made once per program, when something of it is first written or read. Hands on `layout_of`. Must not know: bytes, values' kinds.
"""

from __future__ import annotations

from ..bytecode.image import log_of
from ..declared_types import DeclaredTypes
from ..values.casts import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..link import Program


class Layout:
    """`numbers`: of struct classes and enum types by their identity; `names`: of declarations by kind of handle; `identity`: the
    hash of the image once it was asked for."""

    __slots__ = ("program", "identity", "numbers", "names", "keys", "stores", "types")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.identity = ""
        self.numbers = {id(made): number for number, made in enumerate(program.classes) if made is not None}
        image = program.image
        declared: dict[str, Any] = {
            "ModelRef": image.models, "AgentRef": image.agents, "SchemaRef": image.schemas, "PipelineRef": image.pipelines,
            "ToolRef": image.tools, "McpRef": image.mcp, "HashMapRef": image.hashmaps, "LedgerRef": image.ledgers,
            "LedgerQuery": image.ledgers, "MemoryRef": image.memories, "KeyedRef": image.memories,
        }  # fmt: skip
        self.names = {kind: frozenset(entry.name for entry in entries) for kind, entries in declared.items()}
        self.keys = {ref.name: tuple(getattr(ref, "names", ())) for ref in program.memories}
        self.stores = {entry.name: _store(entry, image.memories) for entry in image.memories}
        self.types = DeclaredTypes(program.types, program.classes, program.descriptors)

    def fields(self, number: int) -> tuple[Any, Any]:
        """The class of a declared struct and the types of its fields."""
        entry = self.program.types[number]
        found = self.types.struct_class(entry[1])
        return found, found.decl.types

    def variant(self, number: int, variant: int) -> tuple[Any, Any]:
        """An enum type, and one of its variants with the types of its payload."""
        decl = self.types.enum_type(self.program.types[number][1])
        return decl, decl.variants[variant]


def _store(memory: Any, memories: Any) -> str | None:
    """The name of the store of a memory, which is that of the memory a view shows (M-2.13)."""
    name: str | None = log_of(memories, memory).steps.get("store", {}).get("name")
    return name


def layout_of(program: Program) -> Layout:
    if program.layout is None:
        program.layout = Layout(program)
    found: Layout = program.layout
    return found


def fits(value: Any, descriptor: Any) -> bool:
    """Whether a value may stand where the type is declared: what the machine, and the host behind it, rely upon."""
    wanted = descriptor[1] if descriptor[0] == "nilable" else descriptor
    return (type(value) is int and wanted[0] == "float") or matches(value, descriptor)
