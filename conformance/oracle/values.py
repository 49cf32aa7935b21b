"""Values and what they mean: kinds, texts, equality, order, arithmetic (L-5.1 to L-5.3).

Every value is immutable: a write builds the new containers along its path, so no two values can ever share a change.
Int, Float, String, Bool and nil are the Python values of those names.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, NamedTuple

MAX, MIN = 2**63 - 1, -(2**63)


class Panic(Exception):
    """L-5.13: ends the program."""

    def __init__(self, code: str, message: str, line: int) -> None:
        super().__init__(message)
        self.code, self.message, self.line = code, message, line


class Arr(NamedTuple):
    items: tuple[Any, ...]


class Tup(NamedTuple):
    items: tuple[Any, ...]


class Mapping(NamedTuple):
    """`entries`: (kind, key) → value, in insertion order; 1, "1" and true are different keys (L-3.1.5)."""

    entries: dict[tuple[str, Any], Any]


class Struct(NamedTuple):
    name: str
    fields: dict[str, Any]


class Unit(NamedTuple):
    """A variant without payload."""

    enum: str
    variant: str


class Opt(NamedTuple):
    some: bool
    value: Any = None


class Res(NamedTuple):
    ok: bool
    value: Any


class Rng(NamedTuple):
    start: int | None
    end: int | None
    inclusive: bool


class Err(NamedTuple):
    """A built-in error (L-3.11.1)."""

    family: str
    variant: str | None
    message: str
    extra: dict[str, Any]


class Fn:
    """A function value; `call` takes the arguments and the line of the call."""

    def __init__(self, name: str | None, arity: int, call: Any) -> None:
        self.name, self.arity, self.call = name, arity, call


FAMILIES = {
    "AgentError": "Error", "SchemaError": "AgentError", "ConnectionError": "AgentError", "TimeoutError": "AgentError",
    "ToolError": "Error", "HashMapError": "Error", "EmitError": "Error", "RuntimeError": "Error", "JsonError": "Error",
    "ParseError": "Error", "RegexError": "Error", "HttpError": "Error", "FsError": "Error", "EnvError": "Error", "Error": "",
}  # fmt: skip
KINDS = {
    int: "Int", float: "Float", str: "String", bool: "Bool", type(None): "Nil", Arr: "Array", Tup: "Tuple", Mapping: "Map",
    Opt: "Option", Res: "Result", Rng: "Range", Fn: "Function",
}  # fmt: skip


def descends(family: str, ancestor: str) -> bool:
    while family and family != ancestor:
        family = FAMILIES[family]
    return bool(family)


def kind_of(value: Any) -> str:
    """`typeof` (L-5.1)."""
    if type(value) in KINDS:
        return KINDS[type(value)]
    return str(value[0])  # the name of a struct, enum or family


def key_of(value: Any, line: int) -> tuple[str, Any]:
    if type(value) not in (str, int, bool):
        raise Panic("P007", f"expected a key, found {kind_of(value)}", line)
    return kind_of(value), value


# ---------------------------------------------------------------- texts


def float_text(value: float) -> str:
    """L-5.1.2."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = format(Decimal(repr(value)), "f")
    return text[:-2] if text.endswith(".0") else text


def display(value: Any) -> str:
    """Display text (L-5.1)."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value)
        case Arr(items):
            return "[" + ", ".join(map(display, items)) + "]"
        case Tup(items):
            return "(" + ", ".join(map(display, items)) + (",)" if len(items) == 1 else ")")
        case Mapping(entries):
            pairs = (f"{json_text(k) if kind == 'String' else display(k)}: {display(v)}" for (kind, k), v in entries.items())
            return "{" + ", ".join(pairs) + "}"
        case Struct(name, fields):
            return name + " {" + ", ".join(f"{k}: {display(v)}" for k, v in fields.items()) + "}"
        case Unit(enum, variant):
            return f"{enum}::{variant}"
        case Opt(some, inner):
            return f"Some({display(inner)})" if some else "None"
        case Res(ok, inner):
            return f"{'Ok' if ok else 'Err'}({display(inner)})"
        case Rng(start, end, inclusive):
            ends = ["" if e is None else str(e) for e in (start, end)]
            return ends[0] + ("..=" if inclusive else "..") + ends[1]
        case Err():
            return value.message
        case Fn():
            return f"<fn {value.name}>" if value.name else "<fn>"
    return str(value)


def json_text(value: Any) -> str:
    """The JSON column of L-5.1, compact."""
    match value:
        case None | bool() | int():
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            text = float_text(value)
            return "null" if not math.isfinite(value) else text if "." in text else text + ".0"
        case Arr(items) | Tup(items):
            return "[" + ",".join(map(json_text, items)) + "]"
        case Mapping(entries):
            return _object((display(key), value) for (_, key), value in entries.items())
        case Struct(_, fields):
            return _object(fields.items())
        case Unit(_, variant):
            return _object([("variant", variant), ("data", None)])
        case Opt(some, inner):
            return json_text(inner) if some else "null"
        case Res(ok, inner):
            return _object([("ok" if ok else "err", inner)])
        case Rng(start, end, inclusive):
            return _object([("start", start), ("end", end), ("inclusive", inclusive)])
        case Err(family, variant, message, extra):
            return _object([("kind", family), ("variant", variant), ("message", message), *extra.items()])
    return json.dumps(display(value), ensure_ascii=False)


def _object(pairs: Any) -> str:
    return "{" + ",".join(f"{json_text(key)}:{json_text(value)}" for key, value in pairs) + "}"


# ---------------------------------------------------------------- equality, order


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def equal(a: Any, b: Any) -> bool:
    """L-5.3.1, L-5.3.2. Python compares Int with Float by mathematical value too."""
    if is_number(a) and is_number(b):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    match a:
        case Arr(items) | Tup(items):
            return len(items) == len(b.items) and all(map(equal, items, b.items))
        case Mapping(entries):
            same = entries.keys() == b.entries.keys()
            return same and all(equal(value, b.entries[key]) for key, value in entries.items())
        case Struct(name, fields):
            return bool(name == b.name) and all(equal(value, b.fields[key]) for key, value in fields.items())
        case Opt(some, value) | Res(some, value):
            return bool(some == b[0]) and equal(value, b[1])
        case Err(family, variant, message, extra):
            return (family, variant, message) == b[:3] and equal(Struct("", extra), Struct("", b.extra))
        case Fn():
            return a is b
    return bool(a == b)


def less(a: Any, b: Any, line: int) -> bool:
    if not (is_number(a) and is_number(b)) and not (type(a) is type(b) is str):
        raise Panic("P007", f"expected two numbers or two Strings, found {kind_of(a)} and {kind_of(b)}", line)
    return bool(a < b)


# ---------------------------------------------------------------- arithmetic


def in_range(value: int, line: int) -> int:
    if not MIN <= value <= MAX:
        raise Panic("P002", "integer overflow", line)
    return value


def saturated(value: float) -> int:
    """Float to Int, truncating (L-3.5.1)."""
    if math.isnan(value):
        return 0
    return max(MIN, min(MAX, int(value))) if math.isfinite(value) else MAX if value > 0 else MIN


def negative(value: Any, line: int) -> Any:
    if not is_number(value):
        raise Panic("P007", f"expected a number, found {kind_of(value)}", line)
    return in_range(-value, line) if type(value) is int else -value


def arithmetic(op: str, a: Any, b: Any, line: int) -> Any:
    """L-5.2, L-3.6.1 to L-3.6.3."""
    if op == "+" and (type(a) is str or type(b) is str):
        return display(a) + display(b)
    if not is_number(a) or not is_number(b):
        raise Panic("P007", f"expected numbers, found {kind_of(a)} and {kind_of(b)}", line)
    if type(a) is type(b) is int:
        return _integers(op, a, b, line)
    return _floats(op, float(a), float(b))


def _integers(op: str, a: int, b: int, line: int) -> int:
    if op in "+-":
        return in_range(a + b if op == "+" else a - b, line)
    if op == "*":
        return in_range(a * b, line)
    if op == "**":
        return _power(a, b, line)
    if b == 0:
        raise Panic("P003", "division by zero", line)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    # The minimum by -1 has no quotient; its remainder is taken the same way (L-5.2.1 speaks of the division).
    return in_range(quotient, line) if op == "/" else a - quotient * b


def _power(a: int, b: int, line: int) -> int:
    if b < 0:
        raise Panic("P013", f"negative exponent {b}", line)
    if a in (0, 1, -1):
        return 1 if b == 0 or a == 1 or (a == -1 and b % 2 == 0) else a
    if b > 64:
        raise Panic("P002", "integer overflow: **", line)
    return in_range(a**b, line)


def _floats(op: str, a: float, b: float) -> float:
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op == "/":
        if b:
            return a / b
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    if op == "%":
        return math.nan if b == 0 or math.isinf(a) or math.isnan(b) else math.fmod(a, b)
    odd = b % 2 == 1 if math.isfinite(b) else False
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:  # a pole, or no real result
        return math.nan if a else math.copysign(math.inf, a) if odd else math.inf
