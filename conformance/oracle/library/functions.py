"""What functions and methods of the table do that are longer than a row of it (L-6, L-7)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from ..scopes import Program
from ..values import (
    MAX, MIN, NONE, Arr, Case, Err, Map, Panic, Queue, Rec, Rng, Set, Stack, Tup, compared, display, equal, err, failed,
    in_range, is_good, json_text, key_of, kind_of, number, of_kind, ok, saturated, some,
)  # fmt: skip

WHITE = "".join(map(chr, [*range(9, 14), 32, 133, 160, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))
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
    if not 0 <= of_kind(index, "Int", int) < size(items) + extra:
        raise Panic("P004", f"index out of range: {index} of {size(items)}")
    return int(index)


def bounds(r: Rng) -> range:
    """L-5.7.6."""
    end = MAX if r.end is None else r.end
    return range(r.start or 0, end + (r.inclusive or r.end is None))


def elements(value: Any) -> Any:
    """What a loop walks (L-5.7.4 to L-5.7.10)."""
    if isinstance(value, Map):
        return entries(value)
    if isinstance(value, Rng):
        return bounds(value)
    return of_kind(value, "a value to walk", str, Arr, Tup, Set, Queue, Stack)


def size(value: Any) -> int:
    """`len`; a range may be longer than Python's `len` can say."""
    if isinstance(value, Rng):
        return max(0, bounds(value).stop - bounds(value).start)
    try:
        return len(elements(value))
    except Panic:
        raise Panic("P007", f"{kind_of(value)} has no length") from None


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


def rounded(value: float) -> float:
    """Halves away from zero, exactly: the fraction of a Float is one itself."""
    fraction, whole = math.modf(value)
    return whole + (math.copysign(1, value) if abs(fraction) >= 0.5 else 0)


def whole(toward: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda x: number(x) if type(x) is int else saturated(toward(x) if math.isfinite(number(x)) else x)


def absolute(x: Any) -> Any:
    return in_range(abs(x)) if type(number(x)) is int else abs(x)


def parsed(kind: str, form: str, value: Callable[[str], Any]) -> Callable[[str], Case]:
    def parse(text: str) -> Case:
        trimmed = text.strip(WHITE)
        good = re.fullmatch("[+-]?" + form, trimmed) and (kind == "Float" or MIN <= int(trimmed) <= MAX)
        return ok(value(trimmed)) if good else failed("ParseError", f"not {kind}: {text}", input=text)

    return parse


parse_int = parsed("Int", "[0-9]+", int)
parse_float = parsed("Float", r"([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|inf|nan)", float)


def lines(text: str) -> Arr:
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return Arr(found[:-1] if text.endswith("\n") or not text else found)


# ---------------------------------------------------------------- collections: a *mut* one gives its result and the receiver


def remove(xs: Arr, i: int) -> Any:
    return xs[element(xs, i)], Arr(xs[:i] + xs[i + 1 :])


def insert(xs: Arr, i: int, x: Any) -> Any:
    return None, Arr((*xs[: element(xs, i, 1)], x, *xs[i:]))


def push(xs: Any, x: Any) -> Any:
    return None, type(xs)((*xs, x))


def pop(xs: Any) -> Any:
    return at(xs, len(xs) - 1), type(xs)(xs[:-1])


def clear(xs: Any) -> Any:
    return None, type(xs)()


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
    wanted = key_of(key)
    return wanted in m, Map((k, v) for k, v in m.items() if k != wanted)


def step_by(r: Rng, n: int) -> Arr:
    if n < 1:
        raise Panic("P013", f"step_by of {n}")
    return Arr(bounds(r)[::n])


def unique(xs: Any) -> Set:
    return Set(x for i, x in enumerate(xs) if not has(xs[:i], x))


# ---------------------------------------------------------------- Option, Result


def unwrap(value: Case, message: str = "unwrap of") -> Any:
    if not is_good(value):
        raise Panic("P006", f"{message} {display(value)}")
    return value.payload[0]


def unwrap_err(value: Case) -> Any:
    if is_good(value):
        raise Panic("P006", f"unwrap_err of {display(value)}")
    return value.payload[0]


def context(r: Case, message: str) -> Case:
    if is_good(r):
        return r
    error = r.payload[0]
    text = f"{message}: {display(error)}"
    if isinstance(error, Err):
        return err(error._replace(message=text))
    return err(text if isinstance(error, str) else Err("RuntimeError", None, text, {}))


# ---------------------------------------------------------------- the library


def from_json(text: str) -> Any:
    """The value of a JSON text; raises ValueError."""

    def constant(word: str) -> Any:
        raise ValueError(word)

    def whole_number(digits: str) -> Any:
        return int(digits) if MIN <= int(digits) <= MAX else float(digits)

    def built(value: Any) -> Any:
        return Arr(map(built, value)) if isinstance(value, list) else value

    def of_pairs(pairs: list[tuple[str, Any]]) -> Map:
        return Map({(str, k): built(v) for k, v in pairs})

    return built(json.loads(text, object_pairs_hook=of_pairs, parse_constant=constant, parse_int=whole_number))


def json_parse(text: str) -> Case:
    try:
        return ok(from_json(text))
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
    rest = list(args)
    return re.sub(r"\{\}", lambda _: display(rest.pop(0)) if rest else "{}", template)


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
    def one(found: re.Match[str]) -> str:
        return re.sub(r"\$(?:(\$)|(\d)|<(\w+)>)", lambda m: "$" if m[1] else found[int(m[2]) if m[2] else m[3]] or "", template)

    return pattern.sub(one, text)


def first(made: Callable[..., Any]) -> Callable[[re.Pattern[str], str], Case]:
    return lambda p, s: NONE if (found := p.search(s)) is None else some(made(found))


def every(pattern: re.Pattern[str], text: str) -> Arr:
    return Arr(map(record, pattern.finditer(text)))
