"""Opcodes that make a value around values, as Python statements (V-7.2).

An instance is made empty and its slots are filled, which costs a third less than a call of its class. Hands on `Making`. Must
not know: variables, control flow.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME
from ..values.errors import is_family
from . import stack as s
from .arithmetic import Arithmetic
from .forms import counted
from .kinds import EMPTY, joint
from .stack import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stack import Kind

FAILURE = "failure "
MOST_FIELDS = 12  # of a struct that is made slot by slot


class Making(Arithmetic):
    """Of what is made here more is known than its type: "ok", "err", and of a built-in error the constant it is made of."""

    def made(self, name: str, slots: list[tuple[str, str]], kind: Kind) -> None:
        """A new instance of a class, by the text for each of its slots, on the stack."""
        new = self.temporary()
        self.statement(f"{new} = new{name.removeprefix('K')}()")
        self.out += [f"{new}.{slot} = {text}" for slot, text in slots]
        self.push(Entry(new, kind))

    def op_SOME(self, operand: int) -> None:
        self.made("Some", [("value", self.pop().text)], s.ANY)

    def op_OK(self, operand: int) -> None:
        self.made("Ok", [("value", self.pop().text)], ("ok", -1))

    def way_here(self) -> str:
        """The name of the way that an error goes by this instruction."""
        raise NotImplementedError

    def op_ERR(self, operand: int) -> None:
        part, here = self.pop(), self.way_here()
        if part.kind[0] in s.SCALARS:
            self.made("Err", [("value", part.text), ("way", here)], ("err", -1))
        elif self.failure(part) >= 0:
            part = self.named(part)
            self.made("Err", [("value", part.text), ("way", self.way_with(part, here))], ("err", -1))
        else:
            self.give(f"begun({part.text}, {here})", [part], ("err", -1))
            self.stack[-1].pure = False

    def op_ARRAY(self, operand: int) -> None:
        parts = self.taken(operand)
        items = ", ".join([part.text for part in parts])
        kind = self.kinds.holding("array", joint([part.kind for part in parts])) if parts else ("array", EMPTY)
        self.made("Array", [("items", f"[{items}]"), ("shared", "False")], kind)

    def op_MAP(self, operand: int) -> None:
        self.generic(BY_NAME["MAP"], operand)
        self.stack[-1].kind = ("map", EMPTY) if operand == 0 else s.MAP

    def op_TUPLE(self, operand: int) -> None:
        parts = self.taken(operand)
        kind = self.kinds.tuple([part.kind for part in parts])
        self.give(f"({', '.join([part.text for part in parts])}{',' * (operand == 1)})", parts, kind)

    def op_STRUCT(self, operand: int) -> None:
        op = BY_NAME["STRUCT"]
        made = self.resolved(op, operand)
        parts = self.taken(counted(op, operand, made))
        name = self.constant(op, operand)
        if len(parts) > MOST_FIELDS or made.__slots__ != tuple([f"f{position}" for position in range(len(parts))]):
            self.give(f"{name}({', '.join([part.text for part in parts])})", parts, self.kind_of_type(operand))
            self.stack[-1].pure = False
            return
        slots = [(f"f{position}", part.text) for position, part in enumerate(parts)]
        self.made(name, [*slots, ("shared", "False")], self.kind_of_type(operand))

    def op_VARIANT(self, operand: int) -> None:
        op = BY_NAME["VARIANT"]
        parts = self.taken(counted(op, operand, self.resolved(op, operand)))
        name = self.constant(op, operand)
        plain = all(part.kind[0] in s.SCALARS for part in parts)  # then there is nothing in it to mark
        slots = [
            ("payload", f"({''.join([f'{part.text}, ' for part in parts])})"), ("decl", f"{name}.decl"),
            ("variant", str(self.image.constants[operand][1][1])), ("shared", str(plain)),
        ]  # fmt: skip
        self.made("EnumValue", slots, self.kind_of_type(self.image.constants[operand][1][0]))

    def op_ERROR(self, operand: int) -> None:
        """An error of a family with its message and nothing else."""
        op = BY_NAME["ERROR"]
        form = self.resolved(op, operand)
        if form.count != 1 or self.stack[-1].kind[0] != "string":
            self.generic(op, operand)
            return
        name = self.constant(op, operand)
        slots = [("message", self.pop().text), ("family", f"{name}.family"), ("variant", f"{name}.variant")]
        self.made("ErrorValue", [*slots, ("fields", "{}"), ("way", "()")], (f"{FAILURE}{operand}", -1))

    def way_with(self, error: Entry, here: str) -> str:
        """The way of a built-in error that was made here, with the places that it passes now."""
        if here == "()" or self.out[-1:] == [f"{error.text}.way = ()"]:
            return here
        return f"{here} if not {error.text}.way else longer({error.text}.way, {here})"

    # ------------------------------------------------------------ errors taken apart

    def failure(self, entry: Entry) -> int:
        """The constant of a built-in error that was made here; -1 for what was not."""
        return int(entry.kind[0][len(FAILURE) :]) if entry.kind[0].startswith(FAILURE) else -1

    def op_IS(self, operand: int) -> None:
        """Most errors that are asked for are of the very family."""
        op = BY_NAME["IS"]
        descriptor = self.program.descriptors[operand]
        made = self.failure(self.stack[-1])
        if made < 0 or descriptor[0] != "error" or len(descriptor) != 2:
            self.generic(op, operand)
            return
        if is_family(self.image.constants[made][1][0], descriptor[1]):
            self.pop()
            self.push(Entry("True", s.BOOL))
            return
        self.settle()
        part = self.named(self.pop())
        name = self.constant(op, operand)
        text = f"({part.text}.family == {name}[1] or {self.here()}op_IS({part.text}, {name}))"
        self.push(Entry(text, s.BOOL, pure=False, uses=part.uses, deep=1))

    def op_GET_ERROR(self, operand: int) -> None:
        self.error_member("GET_ERROR", operand)

    def op_GET_MEMBER(self, operand: int) -> None:
        self.error_member("GET_MEMBER", operand)

    def error_member(self, op: str, operand: int) -> None:
        """A member that every built-in error has stands in a slot."""
        slot = {"message": "message", "kind": "family"}.get(self.image.constants[operand][1])
        made = self.failure(self.stack[-1])
        if slot is None or self.stack[-1].kind[0] not in ("error", "") and made < 0:
            self.generic(BY_NAME[op], operand)
            return
        if made >= 0:
            part = self.pop()
            self.give(f"{part.text}.{slot}", [part], s.STRING)
            return
        self.settle()
        part = self.named(self.pop())
        other = f"{self.here()}op_{op}({part.text}, {self.constant(BY_NAME[op], operand)})"
        text = f"({part.text}.{slot} if type({part.text}) is ErrorValue else {other})"
        self.push(Entry(text, s.ANY, pure=False, uses=part.uses, deep=1))
