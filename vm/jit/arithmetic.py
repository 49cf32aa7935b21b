"""The family of opcodes that compute, compare and test: Int with its range, Float, String, Bool (V-7.2).

What is known of the bounds of an Int (a range analysis) leaves out the overflow tests that cannot fail. Hands on `EMIT` to
`control`. Each form means, for values of the declared types, what the function of the opcode in vm/interp/ops.py means; for a
value of another kind it raises a panic or gives what the generic form gives (V-2.6).

A form, registered by `@emit(OPCODE, …)`, takes the emitter `e`, the opcode and its operand. It pops abstract values (a `Value` is
a Python expression with what is known of it) from `e.stack`, pushes those of the results, writes statements to `e.out`, and
returns nothing: it computes nothing of the program, and what fails does so when the text runs. In the text `w` is a variable for
the moment, `Q` a length that is surely not too long for a String of the run, `op_NAME` the function of an opcode, `END` an absent
payload, `NONE_VALUE` the Option None; other names are those of `emitter`, and what is called is in `library`. Kinds (what types
are reckoned with) are those of `kinds`.
"""

from __future__ import annotations

import re

from . import kinds
from .emitter import registrar
from .facts import IS_NONE, MOST_STEP, TESTED, Value, depth_around, slot_of, variables_of
from .text import keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter, Form
    from .facts import Limit
    from .kinds import Kind

EMIT: dict[int, Form] = {}
emit = registrar(EMIT)

SIGNS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
SIGNS |= {f"{name}_INT": sign for name, sign in SIGNS.items()}
OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
HALF = (1 << 30) - 1  # what CPython compares fastest
TOP, LOWEST = (1 << 63) - 1, -1 << 63


def bounds(value: Value) -> tuple[int, int]:
    """Return the least and the greatest Int that a value may be, both included: of 64 bits where nothing is known."""
    return (LOWEST if value.low is None else value.low, TOP if value.high is None else value.high)


# ---------------------------------------------------------------- Int


@emit("ADD_INT")
def add_int(e: Emitter, op: Opcode, operand: int) -> None:
    a, b = e.stack[-2:]
    (low, high), (other_low, other_high) = bounds(a), bounds(b)
    checked(e, "+", low + other_low, high + other_high)
    if 0 < other_low <= other_high <= MOST_STEP:
        e.stack[-1].increment_of = a.text


@emit("SUB_INT")
def sub_int(e: Emitter, op: Opcode, operand: int) -> None:
    a, b = e.stack[-2:]
    (low, high), (other_low, other_high) = bounds(a), bounds(b)
    least = 1 if (b.text, a.text) in e.facts.less else LOWEST * 2
    checked(e, "-", max(low - other_high, least), high - other_low)


@emit("MUL_INT")
def mul_int(e: Emitter, op: Opcode, operand: int) -> None:
    (low, high), (other_low, other_high) = map(bounds, e.stack[-2:])
    products = (low * other_low, low * other_high, high * other_low, high * other_high)
    checked(e, "*", min(products), max(products))


def checked(e: Emitter, sign: str, low: int, high: int) -> None:
    """Pop two Ints and push the operation `sign` (`+`, `-`, `*`) on them, whose exact result is between `low` and `high`: with an
    overflow test, unless it fits or the same operation stands in a variable already."""
    a, b = parts = e.pop_many(2)
    text = product(a, b) if sign == "*" else f"{a.text} {sign} {b.text}"
    key = (sign, a.name, b.name)
    if low >= LOWEST and high <= TOP:
        e.push_expression(f"({text})", parts, kinds.INT)
    elif key in e.facts.results:
        name = e.facts.results[key]
        e.read.add(name)
        e.push(Value(name, kinds.INT, uses=frozenset({name})))
    else:
        fault = f"{e.here()}overflow({sign!r})"
        if low >= LOWEST:
            test = f"(w := {text}) > {HALF} and w > {TOP}"
        elif high <= TOP:
            test = f"(w := {text}) < -{HALF} and w < {LOWEST}"
        else:
            test = f"((w := {text}) > {HALF} or w < -{HALF}) and (w > {TOP} or w < {LOWEST})"
        text = f"{fault} if {test} else w"
        e.push(Value(f"({text})", kinds.INT, pure=False, uses=variables_of(parts), depth=depth_around(parts) + 1))
        if a.name and b.name:
            keep_result(e, key, text)
    result = e.stack[-1]
    result.is_number, result.certain = True, a.certain and b.certain
    result.low = low if low > LOWEST // 2 else None  # what is near the end is only known not to overflow here
    result.high = high if high < TOP // 2 else None


def product(a: Value, b: Value) -> str:
    """Return the expression of the product of two values that are declared to be Ints. For a forged image Python would repeat a
    text as often as the other factor says. So a factor that may be a text is compared first, or marked as positive, which only
    numbers can be."""
    if a.numeric and b.numeric:
        return f"{a.text} * {b.text}"
    if a.numeric or b.numeric:
        return f"{a.text} * +{b.text}" if a.numeric else f"+{a.text} * {b.text}"
    if not (a.is_atom and b.is_atom):
        return f"+{a.text} * +{b.text}"
    return f"({a.text} * {b.text} if {a.text} < {b.text} else {a.text} * {b.text})"


def keep_result(e: Emitter, key: tuple[str, ...], text: str) -> None:
    """Let the expression on top assign its result to a variable too, for the next time that the same operation comes (common
    subexpressions)."""
    value, name = e.stack[-1], e.temporary()
    value.binding = (name, f"({text})")
    value.text = f"({keep(name)}{text})"
    value.uses |= {name}
    e.facts.results[key] = name


@emit("DIV_INT", "REM_INT")
def divide_ints(e: Emitter, op: Opcode, operand: int) -> None:
    """Write a division or remainder. Python rounds down where Concerto rounds towards zero: only for what is not negative do both
    give the same."""
    sign, exact_form = ("//", "int_div") if op.name == "DIV_INT" else ("%", "int_rem")
    b, a = e.stack[-1], e.stack[-2]
    divisor = b.low if b.low is not None and b.low == b.high and b.low > 0 else None
    natural = a.low is not None and a.low >= 0
    exact = sign == "//" and bool(divisor) and a.divisor is not None and a.divisor % (divisor or 1) == 0
    if b.low is None or b.low <= 0:
        a, b = e.pop_two_bound()
        test = f"{b.text} > 0" if natural else f"{a.text} >= 0 and {b.text} > 0"
        text = f"({a.text} {sign} {b.text} if {test} else {e.here()}{exact_form}({a.text}, {b.text}))"
        e.push(Value(text, kinds.INT, pure=False, uses=variables_of([a, b]), depth=1))
    elif natural or exact:
        binary(e, sign, kinds.INT)
    elif divisor is None or a.is_atom:
        if not (a.is_atom and b.is_atom):
            e.spill()
        b, a = e.bind(e.pop()), e.bind(e.pop())
        e.push_expression(f"({a.text} {sign} {b.text} if {a.text} >= 0 else {exact_form}({a.text}, {b.text}))", [a, b], kinds.INT)
    else:
        b, a = e.pop(), e.pop()
        text = f"(w {sign} {b.text} if (w := {a.text}) >= 0 else {exact_form}(w, {b.text}))"
        e.push(Value(text, kinds.INT, pure=a.pure, uses=a.uses, depth=a.depth + 1))
    e.stack[-1].certain = a.certain and b.certain
    if divisor is not None and sign == "//":
        e.stack[-1].low = 0 if natural else None
        e.stack[-1].high = (TOP if a.high is None else a.high) // divisor if natural else None
    elif divisor is not None:
        bound_remainder(e.stack[-1], divisor, a, natural)


def bound_remainder(result: Value, divisor: int, a: Value, natural: bool) -> None:
    """Note in `result` what is known of the remainder of `a` by the constant `divisor`; `natural`: `a` is not negative. Whether
    the remainder is 0 does not depend on the signs."""
    result.low, result.high = (0 if natural else 1 - divisor), divisor - 1
    result.keeps_sign = not natural
    if not natural:
        plus = "" if a.numeric else "+"  # else `%` may be Python's formatting of a text
        result.zero_test = Value(f"({plus}{a.text} % {divisor})", kinds.INT, pure=a.pure, uses=a.uses, depth=a.depth + 1)
    elif slot_of(a.text) >= 0:
        result.zero_test = Value(result.text, kinds.INT, pure=result.pure, uses=result.uses, depth=result.depth)
    if result.zero_test is not None and slot_of(a.text) >= 0:
        result.zero_test.remainder_of, result.zero_test.divisor = a.text, divisor


@emit("NEG_INT")
def neg_int(e: Emitter, op: Opcode, operand: int) -> None:
    low, high = bounds(e.stack[-1])
    part = e.pop()
    if low > LOWEST:
        e.push_expression(f"(-{part.text})", [part], kinds.INT)
    else:
        text = f"({e.here()}overflow('-') if (w := -{part.text}) > {HALF} and w > {TOP} else w)"
        e.push(Value(text, kinds.INT, pure=False, uses=part.uses, depth=part.depth + 1))
    e.stack[-1].low, e.stack[-1].high = (-high if high < TOP else None), (-low if low > LOWEST else None)


# ---------------------------------------------------------------- Float


def binary(e: Emitter, sign: str, kind: Kind) -> None:
    """Replace the two values on top by the result of a Python operator that neither fails nor overflows for them."""
    a, b = parts = e.pop_many(2)
    e.push_expression(f"({a.text} {sign} {b.text})", parts, kind)


# Of a Float and any other number Python makes a Float. Where neither is certainly one, these forms give a Float or fail.
FORCED_FLOAT = {
    "ADD_FLOAT": ("+", "{} + {} + -0.0"), "SUB_FLOAT": ("-", "{} - {} + -0.0"), "MUL_FLOAT": ("*", "{} * 1.0 * {}"),
}  # fmt: skip


@emit(*FORCED_FLOAT)
def compute_floats(e: Emitter, op: Opcode, operand: int) -> None:
    a, b = parts = e.pop_many(2)
    sign, forced = FORCED_FLOAT[op.name]
    form = f"{{}} {sign} {{}}" if "float" in (a.kind[0] * a.certain, b.kind[0] * b.certain) else forced
    e.push_expression(f"({form.format(a.text, b.text)})", parts, kinds.FLOAT)
    e.stack[-1].certain = True


@emit("INT_TO_FLOAT")
def int_to_float(e: Emitter, op: Opcode, operand: int) -> None:
    if e.stack[-1].kind[0] != "int":
        e.generic(op, 0)
        return
    part = e.pop()
    e.push_expression(f"float({part.text})", [part], kinds.FLOAT)


@emit("CAST")
def cast(e: Emitter, op: Opcode, operand: int) -> None:
    """Write `x as T`: between Int and Float as Python does it, apart from Floats that no Int is near; to another scalar type with
    a test first whether the value is of that already."""
    word = e.program.descriptors[operand][0]
    part = e.stack[-1]
    if word not in kinds.WORDS or word not in CLASSES:
        e.generic(op, operand)
        e.stack[-1].kind = e.kinds.of_type(operand)
        return
    if (part.kind[0], word) == ("int", "float"):
        int_to_float(e, op, operand)
    elif (part.kind[0], word) == ("float", "int"):
        part = e.pop_bound()
        other = f"{e.here()}op_CAST({part.text}, {e.constant(op, operand)})"
        text = f"(int({part.text}) if -1e18 < {part.text} < 1e18 else {other})"
        e.push(Value(text, kinds.INT, pure=False, uses=part.uses | {part.text}, depth=1))
    elif not (part.certain and part.kind[0] == word):
        e.spill()
        part = e.bind(e.pop())
        number = f"float({part.text}) if type({part.text}) is int else " * (word == "float")
        other = f"{number}{e.here()}op_CAST({part.text}, {e.constant(op, operand)})"
        text = f"({part.text} if {CLASSES[word].format(part.text)} else {other})"
        e.push(Value(text, e.kinds.of_type(operand), pure=False, uses=part.uses | {part.text}, depth=1))
    e.stack[-1].certain = True


@emit("DIV")
def divide_floats(e: Emitter, op: Opcode, operand: int) -> None:
    a, b = e.stack[-2:]
    if a.kind[0] == b.kind[0] == "float":
        a, b = e.pop_two_bound()
        e.push_expression(f"({a.text} / {b.text} if {b.text} else float_div({a.text}, {b.text}))", [b, a], kinds.FLOAT)
    else:
        e.generic(op, 0)


# ---------------------------------------------------------------- String


@emit("CONCAT")
def concat(e: Emitter, op: Opcode, operand: int) -> None:
    parts = e.pop_many(2)
    if any(part.kind[0] != "string" for part in parts):
        e.push_expression(f"concat({parts[0].text}, {parts[1].text})", parts, kinds.STRING, fails=True)
        return
    # The text of two that are within the limit may be made before it is tested.
    text = f"(w if len(w := {parts[0].text} + {parts[1].text}) <= Q else concat(EMPTY, w))"
    e.push_expression(text, parts, kinds.STRING, fails=True)


@emit("JOIN")
def join(e: Emitter, op: Opcode, operand: int) -> None:
    if operand <= MOST_JOINED:
        format_string(e, operand)
        return
    parts = e.pop_many(operand)
    texts = [part.text if part.kind[0] == "string" else f"text_of({part.text})" for part in parts]
    e.push_expression(f"join(EMPTY, [{', '.join(texts)}])", parts, kinds.STRING, fails=True)


MOST_JOINED = 16  # parts of an f-string
SHORT = 200  # characters of parts whose length is known


def format_string(e: Emitter, count: int) -> None:
    """Replace the `count` values on top by one f-string of them, with the generic form, which raises P103, for a result that may
    be too long; 20 characters hold any Int. What is perhaps neither String nor Int is made a text before."""
    parts = e.pop_many(count)
    for position, part in enumerate(parts):
        if not part.is_atom:
            name = e.temporary()
            e.statement(f"{name} = {part.text}")
            parts[position] = part = Value(name, part.kind).with_certainty_of(part)
        if part.kind[0] not in ("string", "int"):
            name = e.temporary()
            e.statement(f"{e.here()}{name} = {part.text} if type({part.text}) is str else text_of({part.text})")
            parts[position] = Value(name, kinds.STRING)
            parts[position].certain = True
    fixed = sum(part.length or 20 for part in parts)
    lengths = [f"len({part.text})" for part in parts if part.kind[0] == "string" and part.length is None]
    text = "f'" + "".join([f"{{{part.text}}}" for part in parts]) + "'"
    tests = [f"type({part.text}) is {'str' if part.kind[0] == 'string' else 'int'}" for part in parts if not part.certain]
    # Texts of Ints and short constants alone are not tested: a limit under SHORT characters is for what a program reads.
    if lengths or fixed > SHORT:
        tests.append(f"{' + '.join([*lengths, str(fixed)])} <= Q")
    if tests:
        texts = [part.text if part.certain and part.kind[0] == "string" else f"text_of({part.text})" for part in parts]
        text = f"({text} if {' and '.join(tests)} else {e.here()}join(EMPTY, [{', '.join(texts)}]))"
    e.push(Value(text, kinds.STRING, pure=not tests, uses=variables_of(parts), depth=1))
    e.stack[-1].max_length = None if lengths or tests else fixed
    e.stack[-1].certain = True


# ---------------------------------------------------------------- comparison


@emit("EQ_INT", "NE_INT", "LT_INT", "LE_INT", "GT_INT", "GE_INT")
def compare_ints(e: Emitter, op: Opcode, operand: int) -> None:
    """Write a comparison of two Ints, and note what follows for the locals among them, on either path."""
    sign = SIGNS[op.name]
    a, b = e.stack[-2:]
    remainder = a.zero_test if sign in ("==", "!=") and b.text == "0" else None
    if remainder is not None:
        e.stack[-2] = remainder
    binary(e, sign, kinds.BOOL)
    result = e.stack[-1]
    if a.kind[0] == b.kind[0] == "int":
        result.if_true, result.if_false = implied_limits(sign, a, b), implied_limits(OPPOSITE[sign], a, b)
        result.less_true, result.less_false = implied_order(sign, a, b), implied_order(OPPOSITE[sign], a, b)
    if remainder is not None and remainder.remainder_of:
        limit = (slot_of(remainder.remainder_of), None, None, None, remainder.divisor)
        if sign == "==":
            result.if_true += (limit,)
        else:
            result.if_false += (limit,)


def implied_limits(sign: str, a: Value, b: Value) -> tuple[Limit, ...]:
    """Return the bounds of the locals among two Ints for which `a sign b` holds, each as (slot, at least, at most, None, None);
    () where nothing follows."""
    if sign in (">", ">="):
        return implied_limits({">": "<", ">=": "<="}[sign], b, a)
    if sign == "!=":
        return ()
    step = 1 if sign == "<" else 0
    least = None if a.low is None else a.low + step
    most = None if b.high is None else b.high - step
    limits = [(a, a.low if sign != "==" else b.low, most), (b, least, b.high if sign != "==" else a.high)]
    return tuple([(slot_of(part.text), low, high, None, None) for part, low, high in limits if slot_of(part.text) >= 0])


def implied_order(sign: str, a: Value, b: Value) -> tuple[tuple[str, str], ...]:
    """Return a tuple of the pair of locals, the lesser one first, for two Ints for which `a sign b` holds; () if they are no
    locals or may be equal."""
    if sign not in "<>" or slot_of(a.text) < 0 or slot_of(b.text) < 0:
        return ()
    return ((a.text, b.text),) if sign == "<" else ((b.text, a.text),)


@emit("EQ", "NE", "LT", "LE", "GT", "GE")
def compare(e: Emitter, op: Opcode, operand: int) -> None:
    """Write a comparison: two values of one scalar kind are compared as Python compares them."""
    sign = SIGNS[op.name]
    words = {value.kind[0] for value in e.stack[-2:]}
    if words in ({"int"}, {"float"}, {"string"}) or (words == {"bool"} and sign in ("==", "!=")):
        binary(e, sign, kinds.BOOL)
    elif sign in ("==", "!=") and e.stack[-1].text == "None" and not e.stack[-2].numeric:
        e.pop()  # only nil equals nil
        part = e.pop()
        e.push_expression(f"({part.text} is{' not' * (sign == '!=')} None)", [part], kinds.BOOL)
    elif sign in ("==", "!=") and "NONE_VALUE" in (e.stack[-1].text, e.stack[-2].text):
        a, b = e.pop_many(2)
        part = a if b.text == "NONE_VALUE" else b
        if part.unboxed is not None and part.kind[0] == "option":
            e.push_test(part, sign == "==")
        elif part.kind == kinds.NONE or part.variant == IS_NONE:
            e.push(Value(str(sign == "=="), kinds.BOOL))
        else:
            e.push_expression(f"({part.text} is{' not' * (sign == '!=')} NONE_VALUE)", [part], kinds.BOOL)
            if part.kind[0] == "option":
                note_presence(e.stack[-1], part, sign == "==")
    elif sign in ("==", "!=") and are_unboxed_options(e.stack[-2:]):
        b, a = e.pop(), e.pop()
        uses = variables_of([a, b]) | {str(a.unboxed), str(b.unboxed)}
        e.push(Value(f"({a.unboxed} {sign} {b.unboxed})", kinds.BOOL, pure=False, uses=uses, depth=1))
    elif "string" in words and sign in ("==", "!="):
        binary(e, sign, kinds.BOOL)  # only a String equals one, for Python too
    elif words == {"enum"} and sign in ("==", "!=") and e.stack[-1].kind == e.stack[-2].kind and e.stack[-1].kind[1] >= 0:
        compare_variants(e, op, sign)
    elif e.stack[-2].kind[0] in ("enum", "") and sign in ("==", "!=") and is_variant(e.stack[-1]):
        compare_with_variant(e, sign)
    elif sign in ("==", "!=") and e.stack[-1].kind == e.stack[-2].kind and are_simple(e, e.stack[-1].kind):
        compare_fields(e, sign)
    elif words in ({"string", ""}, {"int", ""}):
        a, b = e.pop_two_bound()
        unknown, word = (b, a.kind[0]) if a.kind[0] else (a, b.kind[0])
        quick = f"{a.text} {sign} {b.text} if type({unknown.text}) is {'str' if word == 'string' else 'int'}"
        text = f"({quick} else {e.here()}op_{op.name}({a.text}, {b.text}))"
        e.push(Value(text, kinds.BOOL, pure=False, uses=variables_of([a, b]), depth=1))
    else:
        e.generic(op, 0)


def are_unboxed_options(parts: list[Value]) -> bool:
    """Return whether two values are Options that are not built and hold Strings, or both Ints: Python compares their payloads, of
    which an absent one equals no other, as the Options would be compared."""
    words = [part.unboxed_kind[0] if part.unboxed is not None and part.kind[0] == "option" else "" for part in parts]
    return "string" in words and "" not in words or words == ["int", "int"]


def compare_variants(e: Emitter, op: Opcode, sign: str) -> None:
    """Write the comparison of two values of one enum: only those of one variant that holds something have to be walked."""
    a, b = e.pop_two_bound()
    join, test = ("and", "is None or") if sign == "==" else ("or", "is not None and")
    walk = f"({a.text}.payload {test} {e.here()}op_{op.name}({a.text}, {b.text}))"
    text = f"({a.text}.variant {sign} {b.text}.variant {join} {walk})"
    e.push(Value(text, kinds.BOOL, pure=False, uses=variables_of([a, b]), depth=1))


VARIANT_CONSTANT = re.compile(r"K\d+_\d+").fullmatch


def is_variant(value: Value) -> bool:
    """Return whether a value is a constant: a variant that holds nothing."""
    return value.kind == kinds.PLAIN and VARIANT_CONSTANT(value.text) is not None


def compare_with_variant(e: Emitter, sign: str) -> None:
    """Write the comparison of a value of an enum with a variant that holds nothing."""
    constant, value = e.pop(), e.pop_bound()
    same = f"{value.text}.variant == {constant.text}.variant and {value.text}.decl is {constant.text}.decl"
    if not value.kind[0]:
        same = f"type({value.text}) is EnumValue and {same}"
    e.push_expression(f"({same})" if sign == "==" else f"(not ({same}))", [value], kinds.BOOL, pure=False)


MOST_COMPARED = 4  # fields of structs that are compared one by one


def are_simple(e: Emitter, kind: Kind) -> bool:
    """Return whether a kind is that of a struct with few fields, all of kinds that Python compares as the program does."""
    if kind[0] != "struct" or kind[1] < 0:
        return False
    count = len(e.kinds.descriptor(kind[1])[2])
    return 0 < count <= MOST_COMPARED and all(e.kinds.field(kind, at)[0] in ("string", "int") for at in range(count))


def compare_fields(e: Emitter, sign: str) -> None:
    """Write the comparison of two structs of one type, field by field."""
    a, b = e.pop_two_bound()
    fields = [f".f{at}" for at in range(len(e.kinds.descriptor(a.kind[1])[2]))]
    same = " and ".join([f"{a.text}{field} == {b.text}{field}" for field in fields])
    text = f"({same})" if sign == "==" else f"(not ({same}))"
    e.push(Value(text, kinds.BOOL, pure=False, uses=variables_of([a, b]), depth=1))


@emit("NOT")
def negate(e: Emitter, op: Opcode, operand: int) -> None:
    if e.stack[-1].kind[0] != "bool":
        e.generic(op, 0)
        return
    part = e.pop()
    e.push_expression(f"(not {part.text})", [part], kinds.BOOL)
    e.stack[-1].if_true, e.stack[-1].if_false = part.if_false, part.if_true
    e.stack[-1].less_true, e.stack[-1].less_false = part.less_false, part.less_true
    e.stack[-1].asks = None if part.asks is None else (part.asks[0], not part.asks[1])


# ---------------------------------------------------------------- tests

TESTS = {"IS_NIL": "{} is None", "IS_SOME": "type({}) is Some", "IS_OK": "type({}) is Ok", "IS_ERR": "type({}) is Err"}

ASKED = {"IS_SOME": "option", "IS_OK": "result", "IS_ERR": "result"}  # which of them are of a kind that may be not built


@emit(*TESTS)
def test_class(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop()
    if part.unboxed is not None and ASKED.get(op.name) == part.kind[0]:
        e.push_test(part, op.name == "IS_ERR")
        return
    e.push_expression(f"({TESTS[op.name].format(part.text)})", [part], kinds.BOOL)
    if op.name == "IS_SOME" and part.kind[0] == "option":
        note_presence(e.stack[-1], part, False)
    elif op.name in TESTED and slot_of(part.text) >= 0:
        e.stack[-1].if_true = ((slot_of(part.text), None, None, TESTED[op.name], None),)


def note_presence(test: Value, part: Value, absent: bool) -> None:
    """Note what a test says of an Option in a local, that is true where it is None (`absent`) or where it is Some."""
    slot = slot_of(part.text)
    if slot >= 0:
        some, none = ((slot, None, None, TESTED["IS_SOME"], None),), ((slot, None, None, IS_NONE, None),)
        test.if_true, test.if_false = (none, some) if absent else (some, none)


# By the word of a type, the test that a value is of it, where that needs no more than its class.
CLASSES = {
    "int": "type({0}) is int", "float": "type({0}) is float", "string": "type({0}) is str", "array": "type({0}) is Array",
    "map": "type({0}) is Map", "option": "type({0}) is Some or {0} is NONE_VALUE",
    "result": "type({0}) is Ok or type({0}) is Err", "bool": "type({0}) is bool",
}  # fmt: skip


@emit("CHECK")
def check_class(e: Emitter, op: Opcode, operand: int) -> None:
    """Write the check of a value from behind Any, with a test of its class first: mostly it is the one that is expected."""
    test = CLASSES.get(e.program.descriptors[operand][0])
    if test is None:
        e.generic(op, operand)
        return
    top = e.stack[-1]
    given = 0 <= slot_of(top.text) < len(e.image.functions[e.function].params)  # who calls it by a trait may give anything
    if top.kind[0] == e.program.descriptors[operand][0] and not given:
        return
    e.spill()
    part = e.bind(e.pop())
    text = f"({part.text} if {test.format(part.text)} else {e.here()}op_CHECK({part.text}, {e.constant(op, operand)}))"
    e.push(Value(text, e.kinds.of_type(operand), pure=False, uses=part.uses | {part.text}, depth=1))


@emit("IS_ABSENT")
def test_absent(e: Emitter, op: Opcode, operand: int) -> None:
    if e.stack[-1].unboxed is not None and e.stack[-1].kind[0] == "option":
        e.push_test(e.pop(), True)
        return
    part = e.pop_bound()
    nil = "" if part.kind[0] == "option" else f"{part.text} is None or "
    e.push_expression(f"({nil}{part.text} is NONE_VALUE)", [part], kinds.BOOL)
    if not nil:
        note_presence(e.stack[-1], part, True)


@emit("IS_VARIANT")
def test_variant(e: Emitter, op: Opcode, operand: int) -> None:
    part = e.pop_bound()
    name = e.constant(op, operand)
    type_number, variant = e.image.constants[operand][1][:2]
    if part.kind != ("enum", type_number):
        text = f"(type({part.text}) is EnumValue and {part.text}.decl is {name}.decl and {part.text}.variant == {variant})"
        e.push_expression(text, [part], kinds.BOOL)
        return
    slot = slot_of(part.text)
    if slot < 0:
        e.push_expression(f"({part.text}.variant == {variant})", [part], kinds.BOOL)
        return
    known = e.facts.variants.get(part.text)
    if known is None:  # the next arm of the match asks for it again
        e.facts.variants[part.text] = known = e.temporary()
        text = f"(({keep(known)}{part.text}.variant) == {variant})"
    else:
        e.read.add(known)
        text = f"({known} == {variant})"
    e.push(Value(text, kinds.BOOL, pure=False, uses=frozenset({part.text, known}), depth=2))
    e.stack[-1].if_true = ((slot, None, None, variant, None),)
