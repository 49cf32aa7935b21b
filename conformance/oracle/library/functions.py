"""What predeclared functions, built-in methods and the library do (L-6, L-7).

An implementation takes receiver and arguments; one of a *mut* method gives its result and the new receiver. What reaches the host
is not here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any

from .. import values
from ..scopes import METHODS, Builtin, Program
from ..values import (
    MAX, MIN, NONE, Arr, Case, Err, Map, Panic, Queue, Rec, Rng, Set, Stack, Tup, arithmetic, compared, display, equal, err,
    failed, in_range, is_good, is_number, key_of, kind_of, mismatch, ok, saturated, some,
)  # fmt: skip
from .signatures import BAG, LIBRARY, NUMBER

WHITE = "".join(map(chr, [*range(9, 14), 32, 133, 160, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))


def truth(value: Any) -> bool:
    if type(value) is not bool:
        raise mismatch("Bool", value)
    return value


def number(value: Any) -> Any:
    if not is_number(value):
        raise mismatch("a number", value)
    return value


def at(items: Any, index: int) -> Case:
    return some(items[index]) if 0 <= index < len(items) else NONE


def clamped(start: int, end: int, length: int) -> slice:
    """L-5.6.2."""
    return slice(max(0, min(start, length)), max(0, min(end, length)))


def element(items: Any, index: Any, extra: int = 0) -> int:
    """An index that must exist; `extra`: 1 if the end is one too."""
    if type(index) is not int:
        raise mismatch("Int", index)
    if not 0 <= index < size(items) + extra:
        raise Panic("P004", f"index out of range: {index} of {size(items)}")
    return index


def bounds(r: Rng) -> range:
    """L-5.7.6."""
    end = MAX if r.end is None else r.end
    return range(r.start or 0, end + (r.inclusive or r.end is None))


def size(value: Any) -> int:
    """`len`; a range may be longer than Python's `len` can say."""
    if isinstance(value, Rng):
        return max(0, bounds(value).stop - bounds(value).start)
    if not isinstance(value, (str, Map, tuple)) or isinstance(value, (Rec, Case, Err)):
        raise Panic("P007", f"{kind_of(value)} has no length")
    return len(value)


def length(value: Any) -> int:
    return in_range(size(value))


def elements(value: Any) -> Any:
    """What a loop walks (L-5.7.4 to L-5.7.10)."""
    if isinstance(value, Map):
        return entries(value)
    if isinstance(value, Rng):
        return bounds(value)
    if not isinstance(value, (str, tuple)) or isinstance(value, (Rec, Case, Err)):
        raise mismatch("a value to walk", value)
    return value


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


def root(x: float) -> float:
    return math.nan if x < 0 or x != x else math.sqrt(x)


def parse_int(text: str) -> Case:
    trimmed = text.strip(WHITE)
    good = re.fullmatch(r"[+-]?[0-9]+", trimmed) and MIN <= int(trimmed) <= MAX
    return ok(int(trimmed)) if good else failed("ParseError", f"not an Int: {text}", input=text)


def parse_float(text: str) -> Case:
    trimmed = text.strip(WHITE)
    good = re.fullmatch(r"[+-]?([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|inf|nan)", trimmed)
    return ok(float(trimmed)) if good else failed("ParseError", f"not a Float: {text}", input=text)


def lines(text: str) -> Arr:
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return Arr(found[:-1] if text.endswith("\n") or not text else found)


def find_text(text: str, part: str) -> Case:
    return some(text.find(part)) if part in text else NONE


NUMBERS = {
    "abs": absolute, "sqrt": root, "pow": lambda x, e: arithmetic("**", x, e), "min": functools.partial(extreme, min),
    "max": functools.partial(extreme, max), "floor": whole(math.floor), "ceil": whole(math.ceil), "round": whole(rounded),
    "to_float": float, "to_int": saturated, "clamp": clamp,
}  # fmt: skip
STRINGS = {
    "len": len, "is_empty": lambda s: not s, "contains": lambda s, part: part in s, "starts_with": str.startswith,
    "ends_with": str.endswith, "trim": lambda s: s.strip(WHITE), "trim_start": lambda s: s.lstrip(WHITE),
    "trim_end": lambda s: s.rstrip(WHITE), "to_upper": str.upper, "to_lower": str.lower, "to_uppercase": str.upper,
    "to_lowercase": str.lower, "repeat": lambda s, n: s * n, "parse_int": parse_int, "parse_float": parse_float,
    "replace": lambda s, a, b: s.replace(a, b), "split": lambda s, sep: Arr(s.split(sep) if sep else s), "get": at,
    "index_of": find_text, "substring": lambda s, a, b: s[clamped(a, b, len(s))], "chars": Arr, "lines": lines,
    "reverse": lambda s: s[::-1], "join": lambda xs, sep: sep.join(map(display, xs)),
}  # fmt: skip

# ---------------------------------------------------------------- Array, Map, Range, collections


def remove(xs: Arr, i: int) -> Any:
    return xs[element(xs, i)], Arr(xs[:i] + xs[i + 1 :])


def insert(xs: Arr, i: int, x: Any) -> Any:
    return None, Arr((*xs[: element(xs, i, 1)], x, *xs[i:]))


def sort_by(xs: Any, f: Callable[[Any, Any], int]) -> Any:
    return None, Arr(sorted(xs, key=functools.cmp_to_key(f)))


def sort(xs: Arr) -> Any:
    plain = [x for x in xs if x == x]
    for x in plain:
        compared("<", plain[0], x)
    return None, Arr((*sorted(plain), *(x for x in xs if x != x)))


def flat_map(xs: Arr, f: Any) -> Arr:
    made: list[Any] = []
    for x in xs:
        part = f(x)
        if not isinstance(part, Arr):
            raise mismatch("Array", part)
        made.extend(part)
    return Arr(made)


def where(xs: Any, x: Any) -> Case:
    return next((some(i) for i, y in enumerate(xs) if equal(x, y)), NONE)


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
    return Set(x for i, x in enumerate(xs) if not any(equal(x, y) for y in xs[:i]))


def has(xs: Any, x: Any) -> bool:
    return is_good(where(xs, x))


ARRAYS = {
    "len": length, "is_empty": lambda xs: not size(xs), "get": at, "first": lambda xs: at(xs, 0),
    "last": lambda xs: at(xs, len(xs) - 1), "push": lambda xs, x: (None, Arr((*xs, x))), "insert": insert, "remove": remove,
    "pop": lambda xs: (at(xs, len(xs) - 1), Arr(xs[:-1])), "clear": lambda xs: (None, Arr()),
    "reverse": lambda xs: (None, Arr(xs[::-1])), "sort": sort, "sort_by": sort_by, "contains": has, "index_of": where,
    "map": lambda xs, f: Arr(f(x) for x in elements(xs)), "flat_map": flat_map,
    "filter": lambda xs, f: Arr(x for x in elements(xs) if truth(f(x))),
    "find": lambda xs, f: next((some(x) for x in xs if truth(f(x))), NONE), "any": lambda xs, f: any(truth(f(x)) for x in xs),
    "all": lambda xs, f: all(truth(f(x)) for x in xs), "reduce": lambda xs, init, f: functools.reduce(f, xs, init),
    "enumerate": lambda xs: Arr(map(Tup, enumerate(xs))), "zip": lambda xs, o: Arr(map(Tup, zip(xs, o, strict=False))),
    "slice": lambda xs, a, b: Arr(xs[clamped(a, b, len(xs))]), "concat": lambda xs, o: Arr((*xs, *o)),
    "join": lambda xs, sep: sep.join(map(display, xs)),
    "sum": lambda xs: functools.reduce(lambda a, x: arithmetic("+", a, number(x)), xs, 0),
}  # fmt: skip
MAPS = {
    "len": len, "is_empty": lambda m: not m, "has": lambda m, k: key_of(k) in m, "clear": lambda m: (None, Map()),
    "delete": delete, "get": lambda m, k: some(m[key_of(k)]) if key_of(k) in m else NONE,
    "entries": entries, "values": lambda m: Arr(m.values()), "set": lambda m, k, v: (None, Map({**m, key_of(k): v})),
    "keys": lambda m: Arr(k for _, k in m), "merge": lambda m, o: Map({**m, **o}),
}  # fmt: skip
RANGES = {
    **ARRAYS, "contains": lambda r, i: i in bounds(r), "to_array": lambda r: Arr(bounds(r)), "step_by": step_by,
    "rev": lambda r: Arr(reversed(bounds(r))),
}  # fmt: skip
SETS = {
    "new": Set, "from": unique, "len": len, "is_empty": lambda s: not s, "to_array": Arr, "contains": has,
    "insert": lambda s, x: (not has(s, x), s if has(s, x) else Set((*s, x))),
    "remove": lambda s, x: (has(s, x), Set(y for y in s if not equal(x, y))), "union": lambda s, o: unique((*s, *o)),
    "intersection": lambda s, o: Set(x for x in s if has(o, x)), "difference": lambda s, o: Set(x for x in s if not has(o, x)),
}  # fmt: skip
QUEUES = {
    "new": Queue, "len": len, "is_empty": lambda q: not q, "to_array": Arr, "enqueue": lambda q, x: (None, Queue((*q, x))),
    "dequeue": lambda q: (at(q, 0), Queue(q[1:])), "peek": lambda q: at(q, 0), "rest": lambda q: Queue(q[1:]),
}  # fmt: skip
STACKS = {
    "new": Stack, "len": len, "is_empty": lambda s: not s, "to_array": Arr, "push": lambda s, x: (None, Stack((*s, x))),
    "pop": lambda s: (at(s, len(s) - 1), Stack(s[:-1])), "peek": lambda s: at(s, len(s) - 1), "rest": lambda s: Stack(s[:-1]),
}  # fmt: skip

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
    if isinstance(error, Err):
        return err(error._replace(message=f"{message}: {error.message}"))
    text = f"{message}: {display(error)}"
    return err(text if isinstance(error, str) else Err("RuntimeError", None, text, {}))


CASES = {
    "is_some": is_good, "is_ok": is_good, "is_none": lambda o: not is_good(o), "is_err": lambda r: not is_good(r),
    "unwrap": unwrap, "expect": lambda v, message: unwrap(v, message + ":"),
    "unwrap_or": lambda v, other: v.payload[0] if is_good(v) else other,
    "unwrap_or_else": lambda v, f: v.payload[0] if is_good(v) else f(*v.payload or ()),
    "map": lambda v, f: v._replace(payload=(f(*v.payload),)) if is_good(v) else v,
    "and_then": lambda v, f: f(*v.payload) if is_good(v) else v, "ok_or": lambda o, e: ok(*o.payload) if is_good(o) else err(e),
    "filter": lambda o, f: o if is_good(o) and truth(f(*o.payload)) else NONE, "or": lambda o, other: o if is_good(o) else other,
    "map_err": lambda r, f: r if is_good(r) else err(f(*r.payload)), "unwrap_err": unwrap_err, "context": context,
    "ok": lambda r: some(*r.payload) if is_good(r) else NONE, "err": lambda r: NONE if is_good(r) else some(*r.payload),
}  # fmt: skip

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
        at_line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        return failed("JsonError", str(error), line=at_line, column=column)


def pretty(value: Any, indent: int) -> str:
    """Compact JSON broken into lines: after brackets that are not empty, and commas."""
    made, level = "", 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|\[\]|\{\}|[][{},:]|[^][{},:"]+', values.json_text(value)):
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
        key = (str, found[1] or found[2])
        return display(names[key]) if key in names else found[0]

    return re.sub(r"\$\{(\w+)\}|\{\{(\w+)\}\}", filled, text)


def matching(use: Callable[..., Any]) -> Callable[..., Case]:
    """A function of a compiled pattern; a pattern that is none gives Err."""

    def run(pattern: str, *rest: Any) -> Case:
        try:
            return ok(use(re.compile(pattern), *rest))
        except re.error as error:
            return failed("RegexError", str(error), pattern=pattern)

    return run


def groups(found: re.Match[str], start: int) -> Arr:
    return Arr(NONE if g is None else some(g) for g in [found[0], *found.groups()][start:])


def match_record(found: re.Match[str]) -> Rec:
    return Rec(MATCH, {"text": found[0], "start": found.start(), "end": found.end(), "groups": groups(found, 1)})


def expanded(pattern: re.Pattern[str], text: str, template: str) -> str:
    def one(found: re.Match[str]) -> str:
        return re.sub(r"\$(?:(\$)|(\d)|<(\w+)>)", lambda m: "$" if m[1] else found[int(m[2]) if m[2] else m[3]] or "", template)

    return pattern.sub(one, text)


def first(made: Callable[..., Any]) -> Callable[[re.Pattern[str], str], Case]:
    return lambda p, s: NONE if (found := p.search(s)) is None else some(made(found))


IMPLEMENTATIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "Int": NUMBERS, "Float": NUMBERS, "String": STRINGS, "Array": ARRAYS, "Map": MAPS, "Tuple": {"len": len}, "Range": RANGES,
    "Option": CASES, "Result": CASES, "Set": SETS, "Queue": QUEUES, "Stack": STACKS, "math": NUMBERS, "string": STRINGS,
    "Core": {
        "len": length, "typeof": kind_of, "Some": some, "Ok": ok, "Err": err, "print": display, "println": display,
    },
    "fmt": {
        "format": formatted, "pad_left": lambda s, width, ch: (ch or " ")[0] * (width - len(s)) + s,
        "pad_right": lambda s, width, ch: s + (ch or " ")[0] * (width - len(s)), "truncate": lambda s, n: s[: max(0, n)],
        "indent": lambda s, n: re.sub(r"(?m)^(?!\Z)", " " * n, s), "debug": lambda v: display(v, True),
    },
    "json": {
        "parse": json_parse, "is_valid": lambda s: is_good(json_parse(s)), "stringify": values.json_text,
        "stringify_pretty": pretty,
    },
    "crypto": {
        "sha256": lambda s: hashlib.sha256(s.encode()).hexdigest(), "md5": lambda s: hashlib.md5(s.encode()).hexdigest(),
    },
    "log": dict.fromkeys(["debug", "info", "warn", "error"], lambda v: None), "prompt": {"template": template},
    "regex": {
        "is_match": matching(lambda p, s: p.search(s) is not None), "find": matching(first(match_record)),
        "find_all": matching(lambda p, s: Arr(map(match_record, p.finditer(s)))), "replace": matching(expanded),
        "captures": matching(first(lambda found: groups(found, 0))),
    },
}  # fmt: skip

_library = Program({"library": LIBRARY.replace("NUMBER", NUMBER).replace("BAG", BAG).encode()}, "library").root
_traits, MATCH = _library.names, _library.names["RegexMatch"]
_library.names = {"RegexMatch": MATCH}  # the other names are those of predeclared types
for _name, _trait in _traits.items():
    for _f in getattr(_trait.node, "methods", ()):
        METHODS[_name, _f.name.text] = Builtin(_trait, _f, IMPLEMENTATIONS[_name].get(_f.name.text, display))
