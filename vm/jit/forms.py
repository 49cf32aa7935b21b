"""What the forms of all opcodes are made with: linked operands, kinds of types, and the call that other opcodes are.

Hands on `Forms`, and `counted`. Must not know: what single opcodes compute.
"""

from __future__ import annotations

from . import facts as s
from .facts import Entry, Writer, depth, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .facts import Kind, Kinds


# what a generic opcode gives, where it always gives the same kind
GIVES: dict[str, Kind] = {
    "JOIN": s.STRING, "EQ": s.BOOL, "NE": s.BOOL, "LT": s.BOOL, "LE": s.BOOL, "GT": s.BOOL, "GE": s.BOOL, "IS": s.BOOL,
    "IS_ERROR": s.BOOL, "NOT": s.BOOL, "LENGTH": s.INT, "NEG_INT": s.INT, "MAP": s.MAP, "RANGE": s.PLAIN, "CLOSURE": s.PLAIN,
}  # fmt: skip


def counted(op: Opcode, operand: int, resolved: Any) -> int:
    """How many values the starred name of a picture stands for."""
    if op.name == "STRUCT":
        return len(resolved.decl.fields)
    if op.name == "ERROR":
        return int(resolved.count)
    if op.name == "VARIANT":
        return int(resolved.decl.variants[resolved.variant].arity)
    if op.name == "CALL":
        return int(resolved.argc)
    return operand


class Forms(Writer):
    kinds: Kinds

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program
        self.image = program.image

    # ------------------------------------------------------------ what all of them use

    def resolved(self, op: Opcode, operand: int) -> Any:
        return self.program._resolve(op, operand)

    def constant(self, op: Opcode, operand: int) -> str:
        """The global name of a linked operand."""
        return f"K{op.number}_{operand}"

    def kind_of_type(self, number: int) -> Kind:
        return self.kinds.of_type(number)

    def inner(self, kind: Kind) -> Kind:
        """The kind of what a container holds."""
        return self.kinds.inner(kind)

    def give(self, text: str, parts: list[Entry], kind: Kind = s.ANY, *, fails: bool = False, deep: int = 0) -> None:
        """Push an expression around `parts`; with `fails` it has a line of its own."""
        pure = not fails and all(part.pure for part in parts)
        if fails:
            text = f"({self.here()}{text})"
        self.push(Entry(text, kind, pure=pure, uses=joined(parts), deep=depth(parts) + deep))

    def generic(self, op: Opcode, operand: int) -> None:
        """A call of the function in vm/interp/ops.py."""
        resolved = self.resolved(op, operand) if op.kind.name != "none" else None
        single = len(op.pops) - op.starred
        count = counted(op, operand, resolved) if op.starred else 0
        parts = self.taken(single + count)
        arguments = [part.text for part in parts]
        if op.starred:
            arguments = [f"[{', '.join(arguments[:count])}]", *arguments[count:]]
        if op.kind.name != "none" and op.name not in ("ARRAY", "JOIN", "TUPLE", "MAP"):
            arguments.append(self.constant(op, operand))
        if op.name == "ITERATE":
            arguments.append("MACHINE")
        text = f"op_{op.name}({', '.join(arguments)})"
        if len(op.pushes) == 2:
            below, top = self.temporary(), self.temporary()
            self.statement(f"{self.here()}{below}, {top} = {text}")
            self.push(Entry(below))
            self.push(Entry(top))
        elif op.pushes:
            self.give(text, parts, GIVES.get(op.name, s.ANY), fails=True)
        else:
            self.statement(f"{self.here()}{text}")
