"""Values and what they mean: kinds, texts, equality, order, arithmetic (L-5.1 to L-5.3).

All files of the evaluator, and its host, take values from here. Every value is immutable: a write builds the new
containers along its path, so no two values can ever share a change. Int, Float, String, Bool and nil are the Python
values of those names; a Map's keys are pairs of type and key (L-3.1.5). A panic is raised without a place; the node
that is being evaluated adds its own. A new kind of value needs a row in KINDS, TEXTS and JSON.
"""

import base64
import functools
import json
import math
import operator
import re
from collections import namedtuple
from decimal import Decimal
from typing import Any

MAX, MIN, NUMERIC = 2**63 - 1, -(2**63), {int, float}


class Panic(Exception):
    """Ends the program (L-5.13). `at`: file and line, None until they are known."""

    def __init__(self, code: str, message: str, at: Any = None) -> None:
        self.code, self.message, self.at = code, message, at


class Failure(Panic):
    """Makes a function of the library give an Err of its family; one that gives no Result panics. `fields` are those
    of the error."""

    def __init__(self, variant: str | None, message: str, **fields: Any) -> None:
        super().__init__("P407", message)
        self.variant, self.fields = variant, fields


def stop(error: Exception) -> Any:
    """Raise an error, where only an expression can stand."""
    raise error


SEQUENCES = {name: type(name, (tuple,), {}) for name in ("Array", "Tuple", "Set", "Queue", "Stack")}
Arr, Tup, Set, Queue, Stack = SEQUENCES.values()
Map, Text = type("Map", (dict,), {}), type("Text", (str,), {})  # Text: JSON, as the host is given it
Rec = namedtuple("Rec", "item fields")  # a struct or schema value; `item` is its declaration
Case = namedtuple("Case", "item variant payload", defaults=[None])  # payload: None, a tuple, or a dict of fields
Err = namedtuple("Err", "family variant message extra")  # a built-in error (L-3.11.1)
Rng = namedtuple("Range", "start end inclusive")


class Fn(namedtuple("Fn", "name arity call")):
    """A function value; calling it makes a call of the program."""

    def __call__(self, *arguments: Any) -> Any:
        wrong = Panic("P015", f"expects {self.arity} arguments, {len(arguments)} given")
        return self.call(list(arguments)) if len(arguments) == self.arity else stop(wrong)


OPTION, RESULT = [type(name, (), {"name": name}) for name in ("Option", "Result")]  # in place of declarations
NONE = Case(OPTION, "None")
FAMILIES = ["Agent", "Tool", "HashMap", "Emit", "Runtime", "Json", "Parse", "Regex", "Http", "Fs", "Env", "Io", "Date",
    "Media"]  # fmt: skip
PARENTS = {"Error": "",
    **dict.fromkeys(["SchemaError", "ConnectionError", "TimeoutError", "BudgetError"], "AgentError")}
PARENTS |= {f"{name}Error": "Error" for name in FAMILIES}
BRACKETS = {Arr: "[]", Tup: "()", Set: ("Set {", "}"), Queue: ("Queue [", "]"), Stack: ("Stack [", "]")}
KINDS = {int: "Int", float: "Float", str: "String", bool: "Bool", type(None): "Nil", Fn: "Function", bytes: "Bytes"}


some, ok, err = [lambda value, case=case: case._replace(payload=(value,))
    for case in (Case(OPTION, "Some"), Case(RESULT, "Ok"), Case(RESULT, "Err"))]  # fmt: skip


def is_good(value: Case) -> bool:
    """Return whether a value is Some or Ok."""
    return value.variant in ("Some", "Ok")


def is_error(value: Any) -> bool:
    """Return whether a value is an Err of a Result."""
    return isinstance(value, Case) and value.item is RESULT and not is_good(value)


def kind_of(value: Any) -> str:
    """Return the kind of a value as `typeof` says it (L-5.1)."""
    named = value.item.name if isinstance(value, (Rec, Case)) else getattr(value, "family", None)
    return named or KINDS.get(type(value)) or type(value).__name__


def head_of(value: Any) -> Any:
    """Return what impls are filed under: the declaration of the value's type, or its kind."""
    return value.item if isinstance(value, (Rec, Case)) and value.item not in (OPTION, RESULT) else kind_of(value)


def ancestors(head: Any) -> Any:
    """Yield a family and those above it; a declaration that implements Error, and Error; another head alone."""
    while head:
        yield head
        head = getattr(head, "parent", None) or PARENTS.get(head)


def limited(value: Any, size: int, what: str, limit: int) -> Any:
    """Return a value whose size is within a limit; panic P103 for any other."""
    return value if size <= limit else stop(Panic("P103", f"{what} limit exceeded: {limit}"))


def sized(value: Any) -> Any:
    """Return a new value; panic P103 for a String, Bytes or collection beyond the limits of G-6.1."""
    if type(value) is str:
        return limited(value, 4 * len(value) > 1 << 24 and len(value.encode()), "string size", 1 << 24)
    if type(value) is bytes:
        return limited(value, len(value), "Bytes size", 1 << 24)
    return limited(value, len(value), "collection size", 1_000_000) if isinstance(value, (tuple, dict)) else value


def nested(walk: Any) -> Any:
    """Return a function that calls itself for the parts of a value, to the depth of G-6.1; panic P103 beyond."""
    level = 0

    def run(*arguments: Any) -> Any:
        nonlocal level
        level = limited(level + 1, level, "nesting", 256)
        try:
            return walk(*arguments)
        finally:
            level -= 1

    return run


def mismatch(expected: str, value: Any) -> Panic:
    """Return the panic for a value of another kind."""
    return Panic("P007", f"expected {expected}, found {kind_of(value)}")


def of_kind(expected: str, kinds: Any, value: Any) -> Any:
    """Return a value whose Python type is one of `kinds`; panic P007 for any other."""
    return value if type(value) in kinds else stop(mismatch(expected, value))


number = functools.partial(of_kind, "a number", NUMERIC)


def key_of(value: Any) -> tuple[type, Any]:
    """Return the key of a Map for a value; panic P007 for one that cannot be a key."""
    return type(value), of_kind("a key", (str, int, bool, bytes), value)


# ---------------------------------------------------------------- positions, elements


def clamped(start: int, end: int, length: int) -> slice:
    """Return the slice from `start` to `end`, both within the length (L-5.6.2)."""
    return slice(max(0, min(start, length)), max(0, min(end, length)))


def element(items: Any, index: Any, extra: int = 0) -> int:
    """Return an index that must exist, P004 else; `extra`: 1 if the end is one too."""
    exists = 0 <= of_kind("Int", (int,), index) < size(items) + extra
    return int(index) if exists else stop(Panic("P004", f"index out of range: index {index}, length {size(items)}"))


def bounds(r: Rng) -> range:
    """Return the integers of a range (L-5.7.6)."""
    end = MAX if r.end is None else r.end
    return range(r.start or 0, end + (r.inclusive or r.end is None))


def elements(value: Any, expected: str = "a value to walk") -> Any:
    """Return what a loop walks (L-5.7.4 to L-5.7.10), and `len` counts; panic P007 for what is neither."""
    items = {Map: entries, Rng: bounds}.get(type(value))
    return items(value) if items else of_kind(expected, (str, bytes, *SEQUENCES.values()), value)


def size(value: Any) -> int:
    """Return the length of a value; a range may be longer than Python's `len` can say."""
    counted = elements(value, "a value with a length")
    return max(0, counted.stop - counted.start) if isinstance(counted, range) else len(counted)


def entries(m: Map) -> Arr:
    """Return the pairs of a Map."""
    return Arr(Tup((key, v)) for (_, key), v in m.items())


# ---------------------------------------------------------------- texts


quoted = functools.partial(json.dumps, ensure_ascii=False)


def float_text(value: float, debug: bool) -> str:
    """Return the text of a Float (L-5.1.2); the debug form of a whole one ends in `.0`."""
    plain = format(Decimal(repr(value)), "f").removesuffix(".0").replace("Infinity", "inf")
    return plain + ".0" if debug and value.is_integer() else plain


def listed(values: Any, debug: bool) -> str:
    """Return texts with commas between them."""
    return ", ".join(display(v, debug) for v in values)


def fields(pairs: Any, debug: bool) -> str:
    """Return named values in braces."""
    return "{" + ", ".join(f"{name}: {display(v, debug)}" for name, v in pairs) + "}"


def shown(value: Rec) -> list[Any]:
    """Return the fields of a record by name; those of a Message that are left out have no text (L-6.9.3)."""
    return [(name, v) for name, v in value.fields.items() if v or name not in getattr(value.item, "hidden", ())]


def record_text(value: Rec, debug: bool) -> str:
    """Return a record's name with its fields in braces, or the text that a record of the library has of its own."""
    own = getattr(value.item, "text", None)
    return own(value) if own else f"{value.item.name} {fields(shown(value), debug)}"


def case_text(value: Case, debug: bool) -> str:
    """Return a variant with what it holds, behind the name of its enum unless that is Option or Result."""
    item, variant, payload = value
    name = variant if item in (OPTION, RESULT) else f"{item.name}::{variant}"
    held = f" {fields(payload.items(), debug)}" if isinstance(payload, dict) else f"({listed(payload or (), debug)})"
    return name if payload is None else name + held


def bracketed(value: Any, debug: bool) -> str:
    """Return the parts of a collection in its brackets; a tuple of one ends in a comma."""
    start, end = BRACKETS[type(value)]
    return start + listed(value, debug) + ("," if type(value) is Tup and len(value) == 1 else "") + end


TEXTS: dict[type, Any] = {type(None): lambda v, debug: "nil", int: lambda v, debug: str(v),
    bool: lambda v, debug: str(v).lower(), float: float_text, str: lambda v, debug: quoted(v) if debug else v,
    bytes: lambda v, debug: f"Bytes({v.hex()})",
    Case: case_text, Rec: record_text,
    Rng: lambda v, debug: ("..=" if v.inclusive else "..").join("" if e is None else str(e) for e in v[:2]),
    Err: lambda v, debug: f"{v.family}::{v.variant} {fields([('message', v.message)], debug)}" if debug else v.message,
    Fn: lambda v, debug: f"<fn {v.name}>" if v.name else "<fn>", **dict.fromkeys(BRACKETS, bracketed),
    Map: lambda v, debug: fields([(display(k, t is str), x) for (t, k), x in v.items()], debug)}  # fmt: skip


@nested
def display(value: Any, debug: bool = False) -> str:
    """Return the Display text of a value (L-5.1), or the debug form (L-5.1.19)."""
    return TEXTS[type(value)](value, debug)


def base64_text(value: bytes) -> str:
    """Return bytes as base64, as JSON has them."""
    return base64.b64encode(value).decode()


def json_object(pairs: Any) -> str:
    """Return named values as a JSON object."""
    return "{" + ",".join(f"{quoted(name)}:{json_text(v)}" for name, v in pairs) + "}"


def case_json(value: Case) -> str:
    """Return an Option, Result or variant as JSON."""
    item, variant, held = value
    data = Rec(None, held) if isinstance(held, dict) else held and (held[0] if len(held) == 1 else Arr(held))
    row = [(variant.lower(), data)] if item is RESULT else [("variant", variant), ("data", data)]
    return json_text(data) if item is OPTION else json_object(row)


JSON: dict[type, Any] = {float: lambda v: display(v, True) if math.isfinite(v) else "null",
    Case: case_json, Rec: lambda v: json_object(shown(v)), Fn: lambda v: quoted(display(v)),
    Err: lambda v: json_object((name, x) for name, x in {"kind": v.family, "variant": v.variant, "message": v.message,
        **v.extra}.items() if x is not None or name != "variant"),
    Rng: lambda v: json_object(v._asdict().items()), **dict.fromkeys([type(None), bool, int, str], quoted),
    Map: lambda v: json_object((base64_text(key) if t is bytes else display(key), x) for (t, key), x in v.items()),
    bytes: lambda v: quoted(base64_text(v)),
    **dict.fromkeys(BRACKETS, lambda v: "[" + ",".join(map(json_text, v)) + "]")}  # fmt: skip


@nested
def json_text(value: Any) -> str:
    """Return a value as the JSON column of L-5.1 says, compact."""
    return JSON[type(value)](value)


# ---------------------------------------------------------------- equality, order


@nested
def equal(a: Any, b: Any) -> bool:
    """Return whether two values are equal (L-5.3.1, L-5.3.2). Python compares Int with Float by mathematical value
    too."""
    if {type(a), type(b)} <= NUMERIC:
        return bool(a == b)
    if isinstance(a, (Rec, Case)) and type(a) is type(b) and a[:-1] == b[:-1]:
        a, b = a[-1], b[-1]
    if type(a) is not type(b) or isinstance(a, (tuple, dict)) and len(a) != len(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(v, b[key]) for key, v in a.items())
    pairs = (has(b, x) for x in a) if type(a) is Set else map(equal, a, b) if isinstance(a, tuple) else (a == b,)
    return all(pairs)


def has(xs: Any, x: Any) -> bool:
    """Return whether a collection has an element equal to `x`."""
    return any(equal(x, y) for y in xs)


def unique(xs: Any) -> Set:
    """Return a Set of the elements, of equal ones the first."""
    return Set(x for i, x in enumerate(xs) if not has(xs[:i], x))


def compared(op: str, a: Any, b: Any) -> bool:
    """Return whether two numbers or two Strings are in this order; panic P007 for other values."""
    if not ({type(a), type(b)} <= NUMERIC or type(a) is type(b) is str):
        raise Panic("P007", f"expected two numbers or two Strings, found {kind_of(a)} and {kind_of(b)}")
    return bool({"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}[op](a, b))


COMPARISONS = {op: functools.partial(compared, op) for op in ("<", ">", "<=", ">=")}
COMPARISONS.update({"==": equal, "!=": lambda a, b: not equal(a, b)})


# ---------------------------------------------------------------- arithmetic

WHITE = "".join(c for c in map(chr, range(0x3001)) if c.isspace() and not "\x1c" <= c <= "\x1f")
EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def in_range(value: Any) -> Any:
    """Return a number; panic P002 for an Int beyond 64 bits."""
    return value if type(value) is float or MIN <= value <= MAX else stop(Panic("P002", "integer overflow"))


def saturated(value: Any) -> int:
    """Return a Float as Int, truncated and within 64 bits (L-3.5.1); 0 for NaN."""
    return 0 if value != value else int(max(MIN, min(MAX, value)))


def arithmetic(op: str, a: Any, b: Any) -> Any:
    """Return the value of an operator (L-5.2, L-3.6.1 to L-3.6.3); panic for other kinds, overflow, and division of
    Ints by 0."""
    if op == "+" and str in (type(a), type(b)):
        return sized(display(a) + display(b))
    if op == "+" and type(a) is type(b) is bytes:
        return sized(a + b)
    if not {type(a), type(b)} <= NUMERIC:
        raise Panic("P007", f"expected numbers, found {kind_of(a)} and {kind_of(b)}")
    if op in EXACT:
        return in_range(EXACT[op](a, b))
    return in_range(_integers(op, a, b)) if type(a) is type(b) is int else _floats(op, float(a), float(b))


def _integers(op: str, a: int, b: int) -> int:
    if op == "**" and b >= 0:
        return int(a ** (min(b, 64) if abs(a) > 1 else b))  # the 64th power is out of range, as is every later one
    if op == "**" or b == 0:
        raise Panic("P013", f"negative exponent {b}") if b else Panic("P003", "division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return {"/": quotient, "%": a - quotient * b}[op]


def _floats(op: str, a: float, b: float) -> float:
    odd = math.isfinite(b) and b % 2 == 1
    try:
        return {"/": operator.truediv, "%": math.fmod, "**": math.pow}[op](a, b)
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:  # a pole, or no real result
        return math.nan if a or op == "%" else math.copysign(math.inf, a) if odd else math.inf


def failed(family: str, message: str, **extra: Any) -> Case:
    """Return an Err of a family without variant."""
    return err(Err(family, None, message, extra))


def parse_int(text: str, form: str = "[+-]?[0-9]+", kind: type = int) -> Case:
    """Return the number that a text is, as a Result; `form` is the pattern of the text, `kind` the type of the
    number."""
    trimmed = text.strip(WHITE)
    good = re.fullmatch(form, trimmed) and (kind is float or MIN <= int(trimmed) <= MAX)
    return ok(kind(trimmed)) if good else failed("ParseError", f"not a number: {text}", input=text)


FLOAT_FORM = r"[+-]?([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|(?i:inf|nan))"
parse_float = functools.partial(parse_int, form=FLOAT_FORM, kind=float)
