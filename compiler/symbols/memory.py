"""Memories with their contexts, and shared stores. Must not know: models, tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import ast
from ..types import ANY, Nominal, Type
from .items import StructSymbol
from .names import FunctionScope, Local, Symbol


@dataclass(eq=False, slots=True)
class MemorySymbol(Symbol):
    """`steps`: values by the names of vm/bytecode/memory_steps.py, by written step; None before it was checked. `of`: the memory
    or view that a derived view is of."""

    declaration: ast.Store
    max_messages: int | None
    steps: dict[str, dict[str, Any]] | None = None
    of: MemorySymbol | None = None
    keys: list[str] = field(default_factory=list)  # of `per`
    value: MemoryValue | None = None  # of one that values are made from

    @property
    def computed(self) -> list[tuple[str, ast.Expr]]:
        """The bounds that a run computes, by name, in the order they are written (M-2.14, M-2.19)."""
        merged = {name: value for step in (self.steps or {}).values() for name, value in step.items()}
        found = [(name, value.value) for name, value in merged.items() if isinstance(value, ComputedBound)]
        return sorted(found, key=lambda bound: bound[1].span.start)

    @property
    def told(self) -> str:
        """What a message calls it: its name, which that of a value is none that stands in the program."""
        return f"`{self.name}`" if self.value is None else "this memory"

    @property
    def stored_as(self) -> str | None:
        """What `was` says."""
        found: str | None = (self.steps or {}).get("was", {}).get("was")
        return found

    @property
    def log(self) -> MemorySymbol:
        """The memory whose log it shows: itself, unless it is a view."""
        return self if self.of is None else self.of.log

    @property
    def image_steps(self) -> dict[str, Any]:
        """What the image carries beside `max_messages`, `of` and `context` (M-2.13)."""
        merged = {name: value for step in (self.steps or {}).values() for name, value in step.items()}
        computed = {name: value for name, value in merged.items() if isinstance(value, (ComputedBound, BoundFunction))}
        if self.value is not None:
            merged["made"] = [name for name, _ in self.computed]
        elif computed:
            merged["bounds"] = {name: True if isinstance(value, ComputedBound) else value for name, value in computed.items()}
        return {name: merged[name] for name in sorted(merged) if name not in ("retain", "context", *computed)}

    @property
    def context(self) -> ContextSymbol | None:
        """What `.context(C)` names."""
        found: ContextSymbol | None = (self.steps or {}).get("context", {}).get("context")
        return found


@dataclass(eq=False, slots=True)
class Slot:
    """One slot of a context (M-10.2). `type` is filled by the checker. `root` stands for it where code generation asks which
    variable a place begins with; anybody may write it."""

    name: str
    tier: str
    mutable: bool
    declaration: ast.Slot
    type: Type = ANY
    was: str | None = None  # its name before
    root: Local = field(default_factory=lambda: Local("", ANY, True, FunctionScope(None), captured=True))


@dataclass(eq=False, slots=True)
class ContextSymbol(Symbol):
    """`type` stands only between the brackets of `Memory<C>`."""

    declaration: ast.Context
    type: Nominal
    slots: dict[str, Slot] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class SlotAccess:
    """`m.slot` (M-10.2). `held`: the variable with what the function loaded at entry, an Option; `needed`: by `needs`."""

    slot: Slot
    held: Local | None = None
    needed: bool = False


@dataclass(eq=False, slots=True)
class StepFunction:
    """The function of a memory step as written: a closure, or a name. `place`: (memory, number) of the value that initialisation
    gives it, once the image is made."""

    value: ast.Expr
    place: list[int] | None = None


@dataclass(eq=False, slots=True)
class BoundFunction(StepFunction):
    """A bound that is a function of the key (M-2.17)."""


@dataclass(eq=False, slots=True)
class ComputedBound:
    """A bound that is no constant: computed when the program begins, of a memory value where it is made (M-2.14, M-2.19)."""

    value: ast.Expr


@dataclass(eq=False, slots=True)
class MemoryValue:
    """What a chain in the body of a function makes (M-2.18). `chain`: its links from the constructor on; `messages`: what it is
    made from."""

    chain: ast.Call
    messages: ast.Expr | None = None


@dataclass(eq=False, slots=True)
class HashMapSymbol(Symbol):
    """`path`: the file of with_persistence; `entry`: of one that offers tools, key and value as the fields of a schema."""

    declaration: ast.Store
    type: Type
    path: str | None = None
    entry: StructSymbol | None = None


@dataclass(eq=False, slots=True)
class LedgerSymbol(Symbol):
    declaration: ast.Store
