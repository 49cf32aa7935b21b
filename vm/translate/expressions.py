"""Opcodes that make a value from values, as Python expressions (V-2.5, V-7.2).

What has a short form stands here; everything else is a call of its function in vm/ops.py. `Expressions` hands on one method per opcode
that has a form of its own, and `generic` for the rest. Must not know: control flow, fuel.
"""

from __future__ import annotations

from ..builtins.table import row_of
from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from . import stack as s
from .intrinsics import INTRINSICS
from .stack import Entry, Writer, depth, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.opcodes import Opcode
    from .stack import Kind

HALF = (1 << 30) - 1  # what CPython compares fastest
TOP, LOWEST = (1 << 63) - 1, -1 << 63
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


class Expressions(Writer):
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
        return (self.image.types[number][0], number)

    def inner(self, kind: Kind, position: int) -> Kind:
        """The kind of what a container of a declared type holds."""
        if kind[1] < 0 or kind[0] not in ("array", "option", "nilable", "map"):
            return s.ANY
        return self.kind_of_type(self.image.types[kind[1]][position])

    def give(self, text: str, parts: list[Entry], kind: Kind = s.ANY, *, fails: bool = False, deep: int = 0) -> None:
        """Push an expression around `parts`; with `fails` it has a line of its own."""
        pure = not fails and all([part.pure for part in parts])
        if fails:
            text = f"({self.here()}{text})"
        self.push(Entry(text, kind, pure=pure, uses=joined(parts), deep=depth(parts) + deep))

    def generic(self, op: Opcode, operand: int) -> None:
        """A call of the function in vm/ops.py."""
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

    # ------------------------------------------------------------ constants

    def op_CONST(self, operand: int) -> None:
        kind, value = self.image.constants[operand]
        if kind == im.K_INT:
            text = str(value) if value >= 0 else f"({value})"
            self.push(Entry(text, s.INT, low=value, high=value))
        elif kind == im.K_STRING and len(value) < 200:
            self.push(Entry(quoted(value), s.STRING))
        else:
            kinds = {im.K_FLOAT: s.FLOAT, im.K_STRING: s.STRING}
            plain = kind == im.K_VARIANT  # without a payload there is nothing in it to share
            self.push(Entry(self.constant(BY_NAME["CONST"], operand), s.PLAIN if plain else kinds.get(kind, s.ANY)))

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

    # ------------------------------------------------------------ Int

    def checked(self, sign: str, low: int, high: int) -> None:
        """An operation on two Ints whose exact result is between `low` and `high`."""
        a, b = parts = self.taken(2)
        text = f"{a.text} {sign} {b.text}"
        if low >= LOWEST and high <= TOP:
            self.give(f"({text})", parts, s.INT)
        else:
            fault = f"{self.here()}overflow({sign!r})"
            if low >= LOWEST:
                test = f"(w := {text}) <= {HALF} or w <= {TOP}"
            elif high <= TOP:
                test = f"(w := {text}) >= -{HALF} or w >= {LOWEST}"
            else:
                test = f"-{HALF} <= (w := {text}) <= {HALF} or {LOWEST} <= w <= {TOP}"
            self.push(Entry(f"(w if {test} else {fault})", s.INT, pure=False, uses=joined(parts), deep=depth(parts) + 1))
        result = self.stack[-1]
        result.low = low if low > LOWEST else None
        result.high = high if high < TOP else None

    def op_ADD_INT(self, operand: int) -> None:
        (low, high), (other_low, other_high) = map(bounds, self.stack[-2:])
        self.checked("+", low + other_low, high + other_high)

    def op_SUB_INT(self, operand: int) -> None:
        (low, high), (other_low, other_high) = map(bounds, self.stack[-2:])
        self.checked("-", low - other_high, high - other_low)

    def op_MUL_INT(self, operand: int) -> None:
        (low, high), (other_low, other_high) = map(bounds, self.stack[-2:])
        products = (low * other_low, low * other_high, high * other_low, high * other_high)
        self.checked("*", min(products), max(products))

    def division(self, sign: str, slow: str) -> None:
        b = self.pop()
        divisor = b.low if b.low is not None and b.low == b.high and b.low > 0 else None
        a = self.pop()
        if divisor is not None and a.low is not None and a.low >= 0:
            self.give(f"({a.text} {sign} {b.text})", [a], s.INT)
        elif divisor is not None and not a.simple:
            text = f"(w {sign} {b.text} if (w := {a.text}) >= 0 else {slow}(w, {b.text}))"
            self.push(Entry(text, s.INT, pure=a.pure, uses=a.uses, deep=a.deep + 1))
        elif divisor is not None:
            self.give(f"({a.text} {sign} {b.text} if {a.text} >= 0 else {slow}({a.text}, {b.text}))", [a], s.INT)
        else:
            self.push(a)
            self.push(b)
            self.settle()
            b = self.named(self.pop())
            a = self.named(self.pop())
            quick = f"{a.text} {sign} {b.text} if {a.text} >= 0 and {b.text} > 0"
            self.push(Entry(f"({quick} else {self.here()}{slow}({a.text}, {b.text}))", s.INT, pure=False, uses=joined([a, b]), deep=1))
        if divisor is not None:
            result = self.stack[-1]
            natural = a.low is not None and a.low >= 0
            if sign == "%":
                result.low, result.high = (0 if natural else 1 - divisor), divisor - 1
            elif natural:
                result.low, result.high = 0, (TOP if a.high is None else a.high) // divisor

    def op_NEG_INT(self, operand: int) -> None:
        low, high = bounds(self.stack[-1])
        part = self.pop()
        if low > LOWEST:
            self.give(f"(-{part.text})", [part], s.INT)
        else:
            text = f"(w if (w := -{part.text}) <= {HALF} or w <= {TOP} else {self.here()}overflow('-'))"
            self.push(Entry(text, s.INT, pure=False, uses=part.uses, deep=part.deep + 1))
        self.stack[-1].low, self.stack[-1].high = (-high if high < TOP else None), (-low if low > LOWEST else None)

    def op_DIV_INT(self, operand: int) -> None:
        self.division("//", "int_div")

    def op_REM_INT(self, operand: int) -> None:
        self.division("%", "int_rem")

    # ------------------------------------------------------------ Float, String, comparison

    def binary(self, sign: str, kind: Kind) -> None:
        a, b = parts = self.taken(2)
        self.give(f"({a.text} {sign} {b.text})", parts, kind)

    def op_ADD_FLOAT(self, operand: int) -> None:
        self.binary("+", s.FLOAT)

    def op_SUB_FLOAT(self, operand: int) -> None:
        self.binary("-", s.FLOAT)

    def op_MUL_FLOAT(self, operand: int) -> None:
        self.binary("*", s.FLOAT)

    def op_INT_TO_FLOAT(self, operand: int) -> None:
        part = self.pop()
        if part.kind[0] == "int":
            self.give(f"float({part.text})", [part], s.FLOAT)
        else:
            self.push(part)
            self.generic(BY_NAME["INT_TO_FLOAT"], 0)

    def op_DIV(self, operand: int) -> None:
        a, b = self.stack[-2:]
        if a.kind[0] == b.kind[0] == "float":
            self.settle()
            b, a = self.named(self.pop()), self.named(self.pop())
            self.give(f"({a.text} / {b.text} if {b.text} else float_div({a.text}, {b.text}))", [a, b], s.FLOAT)
        else:
            self.generic(BY_NAME["DIV"], 0)

    def op_CONCAT(self, operand: int) -> None:
        parts = self.taken(2)
        self.give(f"concat({parts[0].text}, {parts[1].text})", parts, s.STRING, fails=True)

    def op_JOIN(self, operand: int) -> None:
        if operand <= 8 and all(part.kind[0] in ("string", "int") for part in self.stack[len(self.stack) - operand :]):
            self.formatted(operand)
            return
        parts = self.taken(operand)
        texts = [part.text if part.kind[0] == "string" else f"text_of({part.text})" for part in parts]
        self.give(f"join('', [{', '.join(texts)}])", parts, s.STRING, fails=True)

    def formatted(self, count: int) -> None:
        """Strings and Ints side by side as one f-string; how long it becomes is looked at before."""
        parts = self.taken(count)
        for position, part in enumerate(parts):
            if part.text[0] == '"' or part.simple:
                continue
            name = self.temporary()
            self.statement(f"{name} = {part.text}")
            parts[position] = Entry(name, part.kind)
        fixed = 20 * count
        lengths, pieces = [], []
        for part in parts:
            if part.text[0] == '"':
                fixed += len(part.text)
                pieces.append(part.text[1:-1].replace("{", "{{").replace("}", "}}"))
            else:
                pieces.append(f"{{{part.text}}}")
                if part.kind[0] == "string":
                    lengths.append(f"len({part.text})")
        text = f'f"{"".join(pieces)}"'
        if lengths:
            texts = [part.text if part.kind[0] == "string" else f"str({part.text})" for part in parts]
            room = f"({' + '.join(lengths)} + {fixed}) * 4 <= limits.string"
            text = f"({text} if {room} else {self.here()}join('', [{', '.join(texts)}]))"
        self.push(Entry(text, s.STRING, pure=not lengths, uses=joined(parts), deep=1))

    def op_EQ_INT(self, operand: int) -> None:
        self.binary("==", s.BOOL)

    def op_NE_INT(self, operand: int) -> None:
        self.binary("!=", s.BOOL)

    def op_LT_INT(self, operand: int) -> None:
        self.binary("<", s.BOOL)

    def op_LE_INT(self, operand: int) -> None:
        self.binary("<=", s.BOOL)

    def op_GT_INT(self, operand: int) -> None:
        self.binary(">", s.BOOL)

    def op_GE_INT(self, operand: int) -> None:
        self.binary(">=", s.BOOL)

    def compared(self, name: str, sign: str) -> None:
        """Two values of one scalar kind are compared as Python compares them."""
        kinds = {entry.kind[0] for entry in self.stack[-2:]}
        if kinds in ({"int"}, {"float"}, {"string"}) or (kinds == {"bool"} and sign in ("==", "!=")):
            self.binary(sign, s.BOOL)
        else:
            self.generic(BY_NAME[name], 0)

    def op_EQ(self, operand: int) -> None:
        self.compared("EQ", "==")

    def op_NE(self, operand: int) -> None:
        self.compared("NE", "!=")

    def op_LT(self, operand: int) -> None:
        self.compared("LT", "<")

    def op_LE(self, operand: int) -> None:
        self.compared("LE", "<=")

    def op_GT(self, operand: int) -> None:
        self.compared("GT", ">")

    def op_GE(self, operand: int) -> None:
        self.compared("GE", ">=")

    def op_NOT(self, operand: int) -> None:
        part = self.pop()
        if part.kind[0] == "bool":
            self.give(f"(not {part.text})", [part], s.BOOL)
        else:
            self.push(part)
            self.generic(BY_NAME["NOT"], 0)

    # ------------------------------------------------------------ tests

    def test(self, form: str) -> None:
        part = self.pop()
        self.give(f"({form.format(part.text)})", [part], s.BOOL)

    def op_IS_NIL(self, operand: int) -> None:
        self.test("{} is None")

    def op_IS_SOME(self, operand: int) -> None:
        self.test("type({}) is Some")

    def op_IS_OK(self, operand: int) -> None:
        self.test("type({}) is Ok")

    def op_IS_ERR(self, operand: int) -> None:
        self.test("type({}) is Err")

    def op_IS_ABSENT(self, operand: int) -> None:
        part = self.pop_named()
        self.give(f"({part.text} is None or {part.text} is NONE_VALUE)", [part], s.BOOL)

    def op_IS_VARIANT(self, operand: int) -> None:
        part = self.pop_named()
        name = self.constant(BY_NAME["IS_VARIANT"], operand)
        number = self.image.constants[operand][1][1]
        if part.kind[0] == "enum" and part.kind[1] == self.image.constants[operand][1][0]:
            self.give(f"({part.text}.variant == {number})", [part], s.BOOL)
        else:
            text = f"(type({part.text}) is EnumValue and {part.text}.decl is {name}.decl and {part.text}.variant == {number})"
            self.give(text, [part], s.BOOL)

    # ------------------------------------------------------------ making values

    def op_SOME(self, operand: int) -> None:
        part = self.pop()
        self.give(f"Some({part.text})", [part])
        self.stack[-1].pure = False  # a new value each time

    def op_OK(self, operand: int) -> None:
        part = self.pop()
        self.give(f"Ok({part.text})", [part])
        self.stack[-1].pure = False

    def op_ERR(self, operand: int) -> None:
        part = self.pop()
        self.give(f"Err({part.text})", [part])
        self.stack[-1].pure = False

    def op_UNWRAP(self, operand: int) -> None:
        part = self.pop_named()
        if part.kind[0] in ("some", "ok", "err"):
            self.give(f"{part.text}.value", [part])
        else:
            self.give(f"({part.text}.value if type({part.text}) in HOLDERS else {part.text})", [part], self.inner(part.kind, 1))

    def op_ARRAY(self, operand: int) -> None:
        parts = self.taken(operand)
        self.give(f"Array([{', '.join([part.text for part in parts])}])", parts, s.ARRAY)
        self.stack[-1].pure = False

    def op_TUPLE(self, operand: int) -> None:
        parts = self.taken(operand)
        plain = all([part.kind[0] in s.SCALARS for part in parts])
        self.give(f"({', '.join([part.text for part in parts])}{',' * (operand == 1)})", parts, s.PLAIN if plain else ("tuple", -1))

    def op_STRUCT(self, operand: int) -> None:
        op = BY_NAME["STRUCT"]
        parts = self.taken(counted(op, operand, self.resolved(op, operand)))
        self.give(f"{self.constant(op, operand)}({', '.join([part.text for part in parts])})", parts, self.kind_of_type(operand))
        self.stack[-1].pure = False

    def op_VARIANT(self, operand: int) -> None:
        op = BY_NAME["VARIANT"]
        parts = self.taken(counted(op, operand, self.resolved(op, operand)))
        name = self.constant(op, operand)
        payload = "".join([f"{part.text}, " for part in parts])
        text = f"EnumValue({name}.decl, {name}.variant, ({payload}))"
        self.give(text, parts, self.kind_of_type(self.image.constants[operand][1][0]))
        self.stack[-1].pure = False

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

    def op_INDEX_ARRAY(self, operand: int) -> None:
        index = self.pop()
        if not index.simple:
            self.push(index)
            self.settle()
            index = self.named(self.pop())
        array = self.pop()
        kind = self.inner(array.kind, 1)
        if array.simple:
            items = f"{array.text}.items"
            test = f"{index.text} < len({items})"
            test = test if index.low is not None and index.low >= 0 else f"0 <= {test}"
            fault = f"{self.here()}index_out_of_range({index.text}, len({items}))"
            text = f"({items}[{index.text}] if {test} else {fault})"
        else:
            test = f"{index.text} < len(x)"
            test = "(x := {}.items) is not None and " + (test if index.low is not None and index.low >= 0 else f"0 <= {test}")
            fault = f"{self.here()}index_out_of_range({index.text}, len(x))"
            text = f"(x[{index.text}] if {test.format(array.text)} else {fault})"
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


def quoted(text: str) -> str:
    """A literal in double quotes."""
    inner = repr('"' + text)[2:-1]  # with a double quote in it, repr takes single ones
    return '"' + inner.replace('"', '\\"') + '"'


def bounds(entry: Entry) -> tuple[int, int]:
    return (LOWEST if entry.low is None else entry.low, TOP if entry.high is None else entry.high)


METHODS = {op.number: getattr(Expressions, f"op_{op.name}", None) for op in OPCODES}
