"""Opcodes that compute and compare, as Python expressions: Int with its range, Float, String, tests (V-7.2).

Hands on `Arithmetic`. What is known of the bounds of an Int leaves out the tests that cannot fail. Must not know: variables,
containers.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME
from . import facts as s
from .facts import Entry, depth, joined, slot_of
from .forms import Forms
from .text import keeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import Facts, Kind, Limit


OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
HALF = (1 << 30) - 1  # what CPython compares fastest
TOP, LOWEST = (1 << 63) - 1, -1 << 63


class Arithmetic(Forms):
    facts: Facts

    # ------------------------------------------------------------ Int

    def checked(self, sign: str, low: int, high: int) -> None:
        """An operation on two Ints whose exact result is between `low` and `high`."""
        a, b = parts = self.taken(2)
        text = self.factors(a, b) if sign == "*" else f"{a.text} {sign} {b.text}"
        key = (sign, a.name, b.name)
        if low >= LOWEST and high <= TOP:
            self.give(f"({text})", parts, s.INT)
        elif key in self.facts.results:
            name = self.facts.results[key]
            self.read.add(name)
            self.push(Entry(name, s.INT, uses=frozenset({name})))
        else:
            fault = f"{self.here()}overflow({sign!r})"
            if low >= LOWEST:
                test = f"(w := {text}) > {HALF} and w > {TOP}"
            elif high <= TOP:
                test = f"(w := {text}) < -{HALF} and w < {LOWEST}"
            else:
                test = f"((w := {text}) > {HALF} or w < -{HALF}) and (w > {TOP} or w < {LOWEST})"
            text = f"{fault} if {test} else w"
            self.push(Entry(f"({text})", s.INT, pure=False, uses=joined(parts), deep=depth(parts) + 1))
            if a.name and b.name:
                self.keep_result(key, text)
        result = self.stack[-1]
        result.number, result.sure = True, a.sure and b.sure
        result.low = low if low > LOWEST // 2 else None  # what is near the end is only known not to overflow here
        result.high = high if high < TOP // 2 else None

    def factors(self, a: Entry, b: Entry) -> str:
        """The product of two values that are said to be Ints. Python would repeat a text as often as the other one says, so one
        that may be such is compared first, or marked as positive, which only numbers can be."""
        if a.numeric and b.numeric:
            return f"{a.text} * {b.text}"
        if a.numeric or b.numeric:
            return f"{a.text} * +{b.text}" if a.numeric else f"+{a.text} * {b.text}"
        if not (a.simple and b.simple):
            return f"+{a.text} * +{b.text}"
        return f"({a.text} * {b.text} if {a.text} < {b.text} else {a.text} * {b.text})"

    def keep_result(self, key: tuple[str, ...], text: str) -> None:
        """The result on top goes into a variable too, where the same operation comes again."""
        entry, name = self.stack[-1], self.temporary()
        entry.bare = (name, f"({text})")
        entry.text = f"({keeping(name)}{text})"
        entry.uses |= {name}
        self.facts.results[key] = name

    def op_ADD_INT(self, operand: int) -> None:
        a, b = self.stack[-2:]
        (low, high), (other_low, other_high) = bounds(a), bounds(b)
        self.checked("+", low + other_low, high + other_high)
        if 0 < other_low <= other_high <= s.STEP:
            self.stack[-1].counts = a.text

    def op_SUB_INT(self, operand: int) -> None:
        a, b = self.stack[-2:]
        (low, high), (other_low, other_high) = bounds(a), bounds(b)
        least = 1 if (b.text, a.text) in self.facts.less else LOWEST * 2
        self.checked("-", max(low - other_high, least), high - other_low)

    def op_MUL_INT(self, operand: int) -> None:
        (low, high), (other_low, other_high) = map(bounds, self.stack[-2:])
        products = (low * other_low, low * other_high, high * other_low, high * other_high)
        self.checked("*", min(products), max(products))

    def division(self, sign: str, slow: str) -> None:
        b, a = self.stack[-1], self.stack[-2]
        divisor = b.low if b.low is not None and b.low == b.high and b.low > 0 else None
        natural = a.low is not None and a.low >= 0
        exact = sign == "//" and bool(divisor) and a.divisor is not None and a.divisor % (divisor or 1) == 0
        if b.low is None or b.low <= 0:
            self.divided(sign, slow, natural)
        elif natural or exact:
            self.binary(sign, s.INT)
        elif divisor is None or a.simple:
            if not (a.simple and b.simple):
                self.settle()
            b, a = self.named(self.pop()), self.named(self.pop())
            self.give(f"({a.text} {sign} {b.text} if {a.text} >= 0 else {slow}({a.text}, {b.text}))", [a, b], s.INT)
        else:
            b, a = self.pop(), self.pop()
            text = f"(w {sign} {b.text} if (w := {a.text}) >= 0 else {slow}(w, {b.text}))"
            self.push(Entry(text, s.INT, pure=a.pure, uses=a.uses, deep=a.deep + 1))
        self.stack[-1].sure = a.sure and b.sure
        if divisor is not None:
            self.bounded(sign, divisor, a, natural)

    def divided(self, sign: str, slow: str, natural: bool) -> None:
        """By what may be 0 or less."""
        self.settle()
        b, a = self.named(self.pop()), self.named(self.pop())
        test = f"{b.text} > 0" if natural else f"{a.text} >= 0 and {b.text} > 0"
        text = f"({a.text} {sign} {b.text} if {test} else {self.here()}{slow}({a.text}, {b.text}))"
        self.push(Entry(text, s.INT, pure=False, uses=joined([a, b]), deep=1))

    def bounded(self, sign: str, divisor: int, a: Entry, natural: bool) -> None:
        """What is known of a quotient or rest by a constant."""
        result = self.stack[-1]
        if sign == "//":
            result.low = 0 if natural else None
            result.high = (TOP if a.high is None else a.high) // divisor if natural else None
            return
        result.low, result.high = (0 if natural else 1 - divisor), divisor - 1
        result.hope = not natural
        if not natural:
            plus = "" if a.numeric else "+"  # else `%` may be Python's formatting of a text
            result.zero = Entry(f"({plus}{a.text} % {divisor})", s.INT, pure=a.pure, uses=a.uses, deep=a.deep + 1)
        elif slot_of(a.text) >= 0:
            result.zero = Entry(result.text, s.INT, pure=result.pure, uses=result.uses, deep=result.deep)
        if result.zero is not None and slot_of(a.text) >= 0:
            result.zero.rest_of, result.zero.divisor = a.text, divisor

    def op_NEG_INT(self, operand: int) -> None:
        low, high = bounds(self.stack[-1])
        part = self.pop()
        if low > LOWEST:
            self.give(f"(-{part.text})", [part], s.INT)
        else:
            text = f"({self.here()}overflow('-') if (w := -{part.text}) > {HALF} and w > {TOP} else w)"
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

    def floating(self, sign: str, otherwise: str) -> None:
        """Of a Float and any other number there is a Float. Where neither may be one, a form that gives a Float or fails."""
        a, b = parts = self.taken(2)
        form = f"{{}} {sign} {{}}" if "float" in (a.kind[0] * a.sure, b.kind[0] * b.sure) else otherwise
        self.give(f"({form.format(a.text, b.text)})", parts, s.FLOAT)
        self.stack[-1].sure = True

    def op_ADD_FLOAT(self, operand: int) -> None:
        self.floating("+", "{} + {} + -0.0")

    def op_SUB_FLOAT(self, operand: int) -> None:
        self.floating("-", "{} - {} + -0.0")

    def op_MUL_FLOAT(self, operand: int) -> None:
        self.floating("*", "{} * 1.0 * {}")

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
        self.give(f"join(EMPTY, [{', '.join(texts)}])", parts, s.STRING, fails=True)

    def formatted(self, count: int) -> None:
        """Strings and Ints side by side as one f-string; how long it becomes is looked at before."""
        parts = self.taken(count)
        for position, part in enumerate(parts):
            if not part.simple:
                name = self.temporary()
                self.statement(f"{name} = {part.text}")
                parts[position] = Entry(name, part.kind).certain(part)
        fixed = sum(part.length or 20 for part in parts)
        lengths = [f"len({part.text})" for part in parts if part.kind[0] == "string" and part.length is None]
        text = "f'" + "".join([f"{{{part.text}}}" for part in parts]) + "'"
        tests = [f"type({part.text}) is {'str' if part.kind[0] == 'string' else 'int'}" for part in parts if not part.sure]
        tests += [f"{' + '.join(lengths)} + {fixed} <= Q"] if lengths else []
        if tests:
            texts = [part.text if part.sure and part.kind[0] == "string" else f"text_of({part.text})" for part in parts]
            text = f"({text} if {' and '.join(tests)} else {self.here()}join(EMPTY, [{', '.join(texts)}]))"
        self.push(Entry(text, s.STRING, pure=not tests, uses=joined(parts), deep=1))
        self.stack[-1].most = None if lengths or tests else fixed
        self.stack[-1].sure = True

    def ordered(self, sign: str) -> None:
        """Two Ints, and what follows for locals among them."""
        a, b = self.stack[-2:]
        rest = a.zero if sign in ("==", "!=") and b.text == "0" else None
        if rest is not None:  # for that it does not matter which sign a rest has
            self.stack[-2] = rest
        self.binary(sign, s.BOOL)
        if a.kind[0] == b.kind[0] == "int":
            self.stack[-1].if_true, self.stack[-1].if_false = follows(sign, a, b), follows(OPPOSITE[sign], a, b)
            self.stack[-1].less_true, self.stack[-1].less_false = ordering(sign, a, b), ordering(OPPOSITE[sign], a, b)
        if rest is not None and rest.rest_of:
            limit = (slot_of(rest.rest_of), None, None, None, rest.divisor)
            if sign == "==":
                self.stack[-1].if_true += (limit,)
            else:
                self.stack[-1].if_false += (limit,)

    def op_EQ_INT(self, operand: int) -> None:
        self.ordered("==")

    def op_NE_INT(self, operand: int) -> None:
        self.ordered("!=")

    def op_LT_INT(self, operand: int) -> None:
        self.ordered("<")

    def op_LE_INT(self, operand: int) -> None:
        self.ordered("<=")

    def op_GT_INT(self, operand: int) -> None:
        self.ordered(">")

    def op_GE_INT(self, operand: int) -> None:
        self.ordered(">=")

    def compared(self, name: str, sign: str) -> None:
        """Two values of one scalar kind are compared as Python compares them."""
        kinds = {entry.kind[0] for entry in self.stack[-2:]}
        if kinds in ({"int"}, {"float"}, {"string"}) or (kinds == {"bool"} and sign in ("==", "!=")):
            self.binary(sign, s.BOOL)
        elif "string" in kinds and sign in ("==", "!="):
            self.binary(sign, s.BOOL)  # only a String equals one, for Python too
        elif kinds in ({"string", ""}, {"int", ""}):
            self.settle()
            b, a = self.named(self.pop()), self.named(self.pop())
            unknown, word = (b, a.kind[0]) if a.kind[0] else (a, b.kind[0])
            quick = f"{a.text} {sign} {b.text} if type({unknown.text}) is {'str' if word == 'string' else 'int'}"
            text = f"({quick} else {self.here()}op_{name}({a.text}, {b.text}))"
            self.push(Entry(text, s.BOOL, pure=False, uses=joined([a, b]), deep=1))
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
            self.stack[-1].if_true, self.stack[-1].if_false = part.if_false, part.if_true
            self.stack[-1].less_true, self.stack[-1].less_false = part.less_false, part.less_true
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
        if self.stack[-1].raw is not None and self.stack[-1].kind[0] == "option":
            self.push(Entry(f"({self.pop().raw} is END)", s.BOOL))
            return
        part = self.pop_named()
        self.give(f"({part.text} is None or {part.text} is NONE_VALUE)", [part], s.BOOL)

    def op_IS_VARIANT(self, operand: int) -> None:
        part = self.pop_named()
        name = self.constant(BY_NAME["IS_VARIANT"], operand)
        number = self.image.constants[operand][1][1]
        if part.kind[0] == "enum" and part.kind[1] == self.image.constants[operand][1][0]:
            if slot_of(part.text) < 0:
                self.give(f"({part.text}.variant == {number})", [part], s.BOOL)
                return
            kept = self.facts.variants.get(part.text)
            if kept is None:  # the next arm asks for it again
                self.facts.variants[part.text] = kept = self.temporary()
                text = f"(({keeping(kept)}{part.text}.variant) == {number})"
            else:
                self.read.add(kept)
                text = f"({kept} == {number})"
            self.push(Entry(text, s.BOOL, pure=False, uses=frozenset({part.text, kept}), deep=2))
            self.stack[-1].if_true = ((slot_of(part.text), None, None, number, None),)
        else:
            text = f"(type({part.text}) is EnumValue and {part.text}.decl is {name}.decl and {part.text}.variant == {number})"
            self.give(text, [part], s.BOOL)


def follows(sign: str, a: Entry, b: Entry) -> tuple[Limit, ...]:
    """The bounds of locals among two Ints that compare so."""
    if sign in (">", ">="):
        return follows({">": "<", ">=": "<="}[sign], b, a)
    if sign == "!=":
        return ()
    step = 1 if sign == "<" else 0
    least = None if a.low is None else a.low + step
    most = None if b.high is None else b.high - step
    found = [(a, a.low if sign != "==" else b.low, most), (b, least, b.high if sign != "==" else a.high)]
    return tuple([(slot_of(part.text), low, high, None, None) for part, low, high in found if slot_of(part.text) >= 0])


def ordering(sign: str, a: Entry, b: Entry) -> tuple[tuple[str, str], ...]:
    """The locals of which one is less than the other where two Ints compare so."""
    if sign not in "<>" or slot_of(a.text) < 0 or slot_of(b.text) < 0:
        return ()
    return ((a.text, b.text),) if sign == "<" else ((b.text, a.text),)


def bounds(entry: Entry) -> tuple[int, int]:
    return (LOWEST if entry.low is None else entry.low, TOP if entry.high is None else entry.high)
