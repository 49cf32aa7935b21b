"""What functions and methods of the table do that are longer than a row of it (L-6, L-7)."""

import json
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from ..scopes import Program
from ..values import (
    MAX, MIN, NONE, Arr, Case, Err, Map, Panic, Queue, Rec, Rng, Set, Stack, Tup, compared, display, equal, err,
    in_range, is_good, json_text, key_of, kind_of, number, of_kind, ok, saturated, some, stop,
)  # fmt: skip

SPACES = [*range(9, 14), 32, 133, 160, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
WHITE = "".join(map(chr, SPACES))
RECORD = b"struct RegexMatch { pub text: String, pub start: Int, pub end: Int, pub groups: Array<Option<String>> }"
MATCH = Program({"records": RECORD}, "records").root.names["RegexMatch"]


def truth(value: Any) -> bool:
    return of_kind(value, "Bool", bool) is True


def clamped(start: int, end: int, length: int) -> slice:
    """L-5.6.2."""
    return slice(max(0, min(start, length)), max(0, min(end, length)))


def at(items: Any, index: int) -> Case:
    return some(items[index]) if 0 <= index < len(items) else NONE


def element(items: Any, index: Any, extra: int = 0) -> int:
    """An index that must exist; `extra`: 1 if the end is one too."""
    exists = 0 <= of_kind(index, "Int", int) < size(items) + extra
    return int(index) if exists else stop(Panic("P004", f"index out of range: {index} of {size(items)}"))


def bounds(r: Rng) -> range:
    """L-5.7.6."""
    end = MAX if r.end is None else r.end
    return range(r.start or 0, end + (r.inclusive or r.end is None))


def elements(value: Any, expected: str = "a value to walk") -> Any:
    """What a loop walks (L-5.7.4 to L-5.7.10), and `len` counts."""
    if isinstance(value, (Map, Rng)):
        return entries(value) if isinstance(value, Map) else bounds(value)
    return of_kind(value, expected, str, Arr, Tup, Set, Queue, Stack)


def size(value: Any) -> int:
    """`len`; a range may be longer than Python's `len` can say."""
    counted = elements(value, "a value with a length")
    return max(0, counted.stop - counted.start) if isinstance(counted, range) else len(counted)


def length(value: Any) -> int:
    return in_range(size(value))


# ---------------------------------------------------------------- numbers, String


def extreme(pick: Callable[..., Any], *given: Any) -> Any:
    if all(type(number(x)) is int for x in given):
        return pick(given)
    return math.nan if any(x != x for x in given) else pick([float(x) for x in given])


def clamp(x: Any, low: Any, high: Any) -> Any:
    if number(low) > number(high):
        raise Panic("P013", f"clamp: {display(low)} is above {display(high)}")
    return extreme(lambda given: max(given[1], min(given[0], given[2])), x, low, high)


def whole(toward: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda x: number(x) if type(x) is int else saturated(toward(x) if math.isfinite(number(x)) else x)


def nearest(x: Any) -> Any:
    return Decimal(x).to_integral_value(ROUND_HALF_UP)  # halves away from zero, exactly


def absolute(x: Any) -> Any:
    return in_range(abs(x)) if type(number(x)) is int else abs(x)


def failed(family: str, message: str, **extra: Any) -> Case:
    return err(Err(family, None, message, extra))


def parse_int(text: str, form: str = "[+-]?[0-9]+", kind: type = int) -> Case:
    trimmed = text.strip(WHITE)
    good = re.fullmatch(form, trimmed) and (kind is float or MIN <= int(trimmed) <= MAX)
    return ok(kind(trimmed)) if good else failed("ParseError", f"not a number: {text}", input=text)


def parse_float(text: str) -> Case:
    return parse_int(text, r"[+-]?([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|inf|nan)", float)


def lines(text: str) -> Arr:
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return Arr(found[:-1] if text.endswith("\n") or not text else found)


# ---------------------------------------------------------------- collections


def push(xs: Any, x: Any) -> Any:
    return None, type(xs)((*xs, x))


def pop(xs: Any) -> Any:
    return at(xs, len(xs) - 1), type(xs)(xs[:-1])


def sort(xs: Arr) -> Any:
    plain = [x for x in xs if x == x]
    for x in plain:
        compared("<", plain[0], x)
    return None, Arr((*sorted(plain), *(x for x in xs if x != x)))


def mapped(xs: Any, f: Any) -> Arr:
    return Arr(f(x) for x in elements(xs))


def kept(xs: Any, f: Any) -> Arr:
    return Arr(x for x in elements(xs) if truth(f(x)))


def flat_map(xs: Arr, f: Any) -> Arr:
    return Arr(x for part in xs for x in of_kind(f(part), "Array", Arr))


def joined(xs: Any, separator: str) -> str:
    return separator.join(map(display, xs))


def where(xs: Any, x: Any) -> Case:
    return next((some(i) for i, y in enumerate(xs) if equal(x, y)), NONE)


def has(xs: Any, x: Any) -> bool:
    return is_good(where(xs, x))


def entries(m: Map) -> Arr:
    return Arr(Tup((key, v)) for (_, key), v in m.items())


def delete(m: Map, key: Any) -> Any:
    return key_of(key) in m, Map((k, v) for k, v in m.items() if k != key_of(key))


def step_by(r: Rng, n: int) -> Arr:
    return Arr(bounds(r)[::n] if n > 0 else stop(Panic("P013", f"step_by of {n}")))


def unique(xs: Any) -> Set:
    return Set(x for i, x in enumerate(xs) if not has(xs[:i], x))


# ---------------------------------------------------------------- Option, Result


def map_good(value: Case, f: Any) -> Case:
    return value._replace(payload=(f(*value.payload),)) if is_good(value) else value


def unwrap(value: Case, message: str = "unwrap of") -> Any:
    return value.payload[0] if is_good(value) else stop(Panic("P006", f"{message} {display(value)}"))


def unwrap_err(value: Case) -> Any:
    return stop(Panic("P006", f"unwrap_err of {display(value)}")) if is_good(value) else value.payload[0]


def context(r: Case, message: str) -> Case:
    error = r.payload[0]
    text = f"{message}: {display(error)}"
    plain = text if isinstance(error, str) else Err("RuntimeError", None, text, {})
    return r if is_good(r) else err(error._replace(message=text) if isinstance(error, Err) else plain)


# ---------------------------------------------------------------- the library


def from_json(value: Any) -> Any:
    if isinstance(value, list):
        return Arr(map(from_json, value))
    return Map({(str, k): from_json(v) for k, v in value.items()}) if isinstance(value, dict) else value


def whole_number(digits: str) -> Any:
    return int(digits) if MIN <= int(digits) <= MAX else float(digits)


def json_parse(text: str) -> Case:
    try:
        return ok(from_json(json.loads(text, parse_int=whole_number, parse_constant=int)))  # `NaN` is no JSON
    except ValueError as error:
        return failed("JsonError", str(error), line=getattr(error, "lineno", 1), column=getattr(error, "colno", 1))


def pretty(value: Any, indent: int) -> str:
    """Compact JSON broken into lines: after brackets that are not empty, and commas."""
    made, level = "", 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|\[\]|\{\}|[][{},:]|[^][{},:"]+', json_text(value)):
        level += (token in ("[", "{")) - (token in ("]", "}"))
        line_end = "\n" + " " * indent * level
        after = line_end if token in ("[", "{", ",") else " " * (token == ":")
        made += line_end + token if token in ("]", "}") else token + after
    return made


def formatted(template: str, args: Arr) -> str:
    rest = iter(args)
    return re.sub(r"\{\}", lambda hole: display(next(rest, hole[0])), template)


def template(text: str, names: Map) -> str:
    def filled(found: re.Match[str]) -> str:
        return display(names.get((str, found[1] or found[2]), found[0]))

    return re.sub(r"\$\{(\w+)\}|\{\{(\w+)\}\}", filled, text)


def matching(use: Callable[..., Any]) -> Callable[..., Case]:
    """A function of a compiled pattern; a pattern that is none gives Err."""

    def run(pattern: str, *rest: Any) -> Case:
        try:
            return ok(use(re.compile(pattern), *rest))
        except re.error as error:
            return failed("RegexError", str(error), pattern=pattern)

    return run


def groups(found: re.Match[str], start: int = 0) -> Arr:
    return Arr(NONE if g is None else some(g) for g in [found[0], *found.groups()][start:])


def record(found: re.Match[str]) -> Rec:
    return Rec(MATCH, {"text": found[0], "start": found.start(), "end": found.end(), "groups": groups(found, 1)})


def expanded(pattern: re.Pattern[str], text: str, template: str) -> str:
    def one(found: re.Match[str], reference: re.Match[str]) -> str:
        dollar, place, name = reference.groups()
        return dollar or found[int(place) if place else name] or ""

    return pattern.sub(lambda found: re.sub(r"\$(?:(\$)|(\d)|<(\w+)>)", lambda m: one(found, m), template), text)


def first(made: Callable[..., Any]) -> Callable[[re.Pattern[str], str], Case]:
    return lambda p, s: NONE if (found := p.search(s)) is None else some(made(found))


def every(pattern: re.Pattern[str], text: str) -> Arr:
    return Arr(map(record, pattern.finditer(text)))
