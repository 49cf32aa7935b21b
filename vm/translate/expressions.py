"""Opcodes that make a value from values, as Python expressions (V-2.5, V-7.2).

What has a short form stands here; everything else is a call of its function in vm/ops.py. `Expressions` hands on one method
per opcode that has a form of its own, and `generic` for the rest. Must not know: control flow, fuel.
"""

from __future__ import annotations

from ..builtins.table import row_of
from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from . import stack as s
from .intrinsics import INTRINSICS
from .making import Making
from .stack import Entry, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stack import Kind

MOVED: Kind = ("option", -2)  # of what was taken out of an Array


class Expressions(Making):
    # ------------------------------------------------------------ constants

    def op_CONST(self, operand: int) -> None:
        kind, value = self.image.constants[operand]
        if kind == im.K_INT:
            text = str(value) if value >= 0 else f"({value})"
            self.push(Entry(text, s.INT, low=value, high=value))
        else:  # never the text itself: what a program says is not text that Python runs (G-2.22)
            kinds = {im.K_FLOAT: s.FLOAT, im.K_STRING: s.STRING}
            plain = kind == im.K_VARIANT  # without a payload there is nothing in it to share
            self.push(Entry(self.constant(BY_NAME["CONST"], operand), s.PLAIN if plain else kinds.get(kind, s.ANY)))
            self.stack[-1].length = len(value) if kind == im.K_STRING else None

    def op_INT(self, operand: int) -> None:
        self.push(Entry(str(operand), s.INT, low=operand, high=operand))

    def op_NIL(self, operand: int) -> None:
        self.push(Entry("None", s.NIL))

    def op_TRUE(self, operand: int) -> None:
        self.push(Entry("True", s.BOOL))

    def op_FALSE(self, operand: int) -> None:
        self.push(Entry("False", s.BOOL))

    def op_NONE(self, operand: int) -> None:
        self.push(Entry("NONE_VALUE", s.PLAIN))

    # ------------------------------------------------------------ parts and ranges

    def op_UNWRAP(self, operand: int) -> None:
        if self.stack[-1].raw is not None:
            part = self.pop()
            self.push(Entry(str(part.raw)) if part.kind == MOVED else Entry(f"taken({part.raw})", pure=False))
            return
        part = self.pop_named()
        if part.kind[0] in ("some", "ok", "err"):
            self.give(f"{part.text}.value", [part])
        else:
            self.give(f"({part.text}.value if type({part.text}) in HOLDERS else {part.text})", [part], self.inner(part.kind, 1))

    def op_RANGE(self, operand: int) -> None:
        start, end = parts = self.taken(2)
        self.give(f"RangeValue.checked({start.text}, {end.text}, {operand == 1})", parts, s.PLAIN, fails=True)
        self.stack[-1].bounds = (start, end, operand == 1)

    # ------------------------------------------------------------ reading parts

    def op_GET_FIELD(self, operand: int) -> None:
        part = self.pop()
        kind = s.ANY
        if part.kind[0] in ("struct", "schema") and part.kind[1] >= 0:
            fields = self.image.types[part.kind[1]][2]
            kind = self.kind_of_type(fields[operand][1]) if operand < len(fields) else s.ANY
        self.give(f"{part.text}.f{operand}", [part], kind)
        self.stack[-1].pure = False  # a write may come between

    def op_GET_ELEMENT(self, operand: int) -> None:
        part = self.pop()
        kind = s.ANY
        if part.kind[0] == "tuple" and part.kind[1] >= 0:
            elements = self.image.types[part.kind[1]][1]
            kind = self.kind_of_type(elements[operand]) if operand < len(elements) else s.ANY
        self.give(f"{part.text}[{operand}]", [part], s.PLAIN if part.kind[0] == "plain" else kind)

    def op_GET_PAYLOAD(self, operand: int) -> None:
        part = self.pop()
        self.give(f"{part.text}.payload[{operand}]", [part])

    def element(self, array: Entry, index: Entry) -> str:
        """An element of an array by position, both under names, or P004."""
        place = self.at_element(array.text, index.text)
        return f"{place}{array.text}.items[{self.position(index)}]"

    def position(self, index: Entry) -> str:
        """A position as Python takes it: what is negative is behind every end."""
        natural = index.low is not None and index.low >= 0
        return index.text if natural else f"{index.text} if {index.text} >= 0 else BEHIND"

    def op_INDEX_ARRAY(self, operand: int) -> None:
        index = self.pop()
        if not index.simple:
            self.push(index)
            self.settle()
            index = self.named(self.pop())
        array = self.pop()
        kind = self.inner(array.kind, 1)
        if array.simple:
            text = f"({self.element(array, index)})"
        else:
            text = f"({self.at_element('x', index.text)}(x := {array.text}).items[{self.position(index)}])"
        self.push(Entry(text, kind, pure=False, uses=joined([array, index]), deep=array.deep + 1))

    def op_INDEX(self, operand: int) -> None:
        part, index = self.stack[-2:]
        if part.kind[0] == "array" and index.kind[0] == "int":
            self.op_INDEX_ARRAY(operand)
        elif part.kind[0] == "map" and index.kind[0] in ("string", "int"):
            self.settle()
            key, part = self.named(self.pop()), self.named(self.pop())
            text = f"(x if (x := {part.text}.items.get({key.text}, END)) is not END else {self.here()}key_not_found({key.text}))"
            self.push(Entry(text, self.inner(part.kind, 2), pure=False, uses=joined([part, key]), deep=1))
        else:
            self.generic(BY_NAME["INDEX"], operand)

    # ------------------------------------------------------------ built-ins

    def op_CALL_BUILTIN(self, operand: int) -> None:
        receiver, name = self.image.constants[operand][1]
        count = self.program.constants[operand][1]
        if (receiver, name) in (("Map", "get"), ("Array", "pop")):
            self.looked_up() if name == "get" else self.popped()
            return
        parts = self.taken(count)
        kind = self.builtin_kind(receiver, name)
        form = INTRINSICS.get((receiver, name))
        if form is not None and (form.needs is None or form.needs(parts)):
            if form.named:
                for part in reversed(parts):
                    self.push(part)
                parts = self._named_all(parts)
            text = form.text.format(*[part.text for part in parts])
            self.give(f"({text})", parts, kind, fails=form.fails)
            self.stack[-1].pure = False
            if form.low is not None:
                self.stack[-1].low, self.stack[-1].high = form.low, 1 << 40
            return
        self.give(f"B{operand}({', '.join([part.text for part in parts])})", parts, kind, fails=True)

    def looked_up(self) -> None:
        """Map.get: as long as it is only asked whether it is there, no Option is made of what was found."""
        self.settle()
        key, table = self.named(self.pop()), self.named(self.pop())
        name = self.temporary()
        found = f"{table.text}.items.get({key.text}, END)"
        if key.kind[0] not in ("string", "int"):
            found = f"{found} if type({key.text}) is str else {table.text}.items.get(key_of({key.text}), END)"
        self.statement(f"{self.here()}{name} = {found}")
        self.push(Entry(f"found({name})", pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw = name
        self.stack[-1].kind = ("option", -1)

    def popped(self) -> None:
        """Array.pop, in the same way; what was in the Array is in no other place then."""
        self.settle()
        array = self.named(self.pop())
        name = self.temporary()
        self.statement(f"{self.here()}{name} = {array.text}.items.pop() if {array.text}.items else END")
        self.push(Entry(f"popped({name})", MOVED, pure=False, uses=frozenset({name}), deep=1))
        self.stack[-1].raw = name

    def _named_all(self, parts: list[Entry]) -> list[Entry]:
        del self.stack[len(self.stack) - len(parts) :]
        for part in parts:
            self.push(part)
        self.settle()
        return [self.named(part) for part in self.taken(len(parts))]

    def builtin_kind(self, receiver: str, name: str) -> Kind:
        row = row_of(receiver, name)
        word = row.result[0] if row is not None else ""
        if word in ("int", "float", "string", "bool", "nil"):
            return s.ANY if row is not None and row.special == "numeric" else (word, -1)
        return (word, -1) if word in ("array", "map") else s.ANY


METHODS = {op.number: getattr(Expressions, f"op_{op.name}", None) for op in OPCODES}
