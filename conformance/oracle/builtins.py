"""Predeclared functions, built-in methods and the library (L-6, L-7): signatures in the language itself, and what they do.

An implementation takes receiver and arguments; one of a *mut* method gives its result and the new receiver. The parser reads
the signatures, so that calls of built-ins are typed like any other. What reaches the host is not here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any

from . import values
from .scopes import METHODS, Builtin, Program
from .values import (
    MAX, MIN, NONE, Arr, Case, Err, Map, Panic, Queue, Rec, Rng, Set, Stack, Tup, arithmetic, compared, display, equal, err,
    failed, in_range, is_good, is_number, key_of, kind_of, mismatch, ok, saturated, some,
)  # fmt: skip

LIBRARY = """struct RegexMatch { pub text: String, pub start: Int, pub end: Int, pub groups: Array<Option<String>> }
trait Core { fn print(x: Any); fn println(x: Any); fn len(x: Any) -> Int; fn typeof(x: Any) -> String;
    fn panic(msg: String) -> Never; fn assert(c: Any, msg: String = ""); fn assert_eq(a: Any, b: Any, msg: String = "");
    fn assert_ne(a: Any, b: Any, msg: String = ""); fn Some<T>(x: T) -> Option<T>; fn Ok<T, E>(x: T = nil) -> Result<T, E>;
    fn Err<T, E>(e: E) -> Result<T, E>; fn emit(channel: String, payload: Any = nil); }
trait Int { NUMBER } trait Float { NUMBER }
trait String {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, s: String) -> Bool; fn starts_with(self, s: String) -> Bool;
    fn ends_with(self, s: String) -> Bool; fn trim(self) -> String; fn trim_start(self) -> String; fn trim_end(self) -> String;
    fn to_upper(self) -> String; fn to_lower(self) -> String; fn to_uppercase(self) -> String; fn to_lowercase(self) -> String;
    fn repeat(self, n: Int) -> String; fn parse_int(self) -> Result<Int, ParseError>;
    fn parse_float(self) -> Result<Float, ParseError>; fn split(self, sep: String) -> Array<String>;
    fn replace(self, from: String, to: String) -> String; fn substring(self, a: Int, b: Int) -> String;
    fn get(self, i: Int) -> Option<String>; fn index_of(self, s: String) -> Option<Int>; fn chars(self) -> Array<String>;
    fn lines(self) -> Array<String>; fn reverse(self) -> String; }
trait Array<T> {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn get(self, i: Int) -> Option<T>; fn first(self) -> Option<T>;
    fn last(self) -> Option<T>; fn push(mut self, x: T); fn pop(mut self) -> Option<T>; fn insert(mut self, i: Int, x: T);
    fn remove(mut self, i: Int) -> T; fn clear(mut self); fn reverse(mut self); fn sort(mut self);
    fn sort_by(mut self, f: fn(T, T) -> Int); fn contains(self, x: T) -> Bool; fn index_of(self, x: T) -> Option<Int>;
    fn map<U>(self, f: fn(T) -> U) -> Array<U>; fn flat_map<U>(self, f: fn(T) -> Array<U>) -> Array<U>;
    fn filter(self, f: fn(T) -> Bool) -> Array<T>; fn find(self, f: fn(T) -> Bool) -> Option<T>;
    fn any(self, f: fn(T) -> Bool) -> Bool; fn all(self, f: fn(T) -> Bool) -> Bool;
    fn reduce<A>(self, init: A, f: fn(A, T) -> A) -> A; fn enumerate(self) -> Array<(Int, T)>;
    fn zip<U>(self, o: Array<U>) -> Array<(T, U)>; fn slice(self, a: Int, b: Int) -> Array<T>;
    fn concat(self, o: Array<T>) -> Array<T>; fn join(self, sep: String = "") -> String; fn sum(self) -> T; }
trait Map<K, V> {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn has(self, k: K) -> Bool; fn get(self, k: K) -> Option<V>;
    fn set(mut self, k: K, v: V); fn delete(mut self, k: K) -> Bool; fn clear(mut self); fn keys(self) -> Array<K>;
    fn values(self) -> Array<V>; fn entries(self) -> Array<(K, V)>; fn merge(self, o: Map<K, V>) -> Map<K, V>; }
trait Tuple { fn len(self) -> Int; }
trait Range {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, i: Int) -> Bool; fn to_array(self) -> Array<Int>;
    fn rev(self) -> Array<Int>; fn step_by(self, n: Int) -> Array<Int>; fn map<U>(self, f: fn(Int) -> U) -> Array<U>;
    fn filter(self, f: fn(Int) -> Bool) -> Array<Int>; }
trait Option<T> {
    fn is_some(self) -> Bool; fn is_none(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn() -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Option<U>;
    fn and_then<U>(self, f: fn(T) -> Option<U>) -> Option<U>; fn ok_or<E>(self, e: E) -> Result<T, E>;
    fn filter(self, f: fn(T) -> Bool) -> Option<T>; fn or(self, o: Option<T>) -> Option<T>; }
trait Result<T, E> {
    fn is_ok(self) -> Bool; fn is_err(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn(E) -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Result<U, E>;
    fn and_then<U>(self, f: fn(T) -> Result<U, E>) -> Result<U, E>; fn map_err<A>(self, f: fn(E) -> A) -> Result<T, A>;
    fn ok(self) -> Option<T>; fn err(self) -> Option<E>; fn unwrap_err(self) -> E;
    fn context(self, msg: String) -> Result<T, Any>; }
trait Set<T> { fn new() -> Set<T>; fn from(xs: Array<T>) -> Set<T>; BAG fn insert(mut self, v: T) -> Bool;
    fn remove(mut self, v: T) -> Bool; fn contains(self, v: T) -> Bool; fn union(self, o: Set<T>) -> Set<T>;
    fn intersection(self, o: Set<T>) -> Set<T>; fn difference(self, o: Set<T>) -> Set<T>; }
trait Queue<T> { fn new() -> Queue<T>; BAG fn enqueue(mut self, v: T); fn dequeue(mut self) -> Option<T>;
    fn peek(self) -> Option<T>; fn rest(self) -> Queue<T>; }
trait Stack<T> { fn new() -> Stack<T>; BAG fn push(mut self, v: T); fn pop(mut self) -> Option<T>;
    fn peek(self) -> Option<T>; fn rest(self) -> Stack<T>; }
trait math { fn abs(x: Any) -> Number; fn min(a: Any, b: Any) -> Number; fn max(a: Any, b: Any) -> Number;
    fn sqrt(x: Float) -> Float; fn clamp(x: Any, lo: Any, hi: Any) -> Number; fn pow(b: Any, e: Any) -> Number; fn floor(x: Any) -> Int;
    fn ceil(x: Any) -> Int; fn round(x: Any) -> Int; }
trait string { fn len(s: String) -> Int; fn trim(s: String) -> String; fn trim_start(s: String) -> String;
    fn trim_end(s: String) -> String; fn to_upper(s: String) -> String; fn to_lower(s: String) -> String;
    fn contains(s: String, part: String) -> Bool; fn starts_with(s: String, part: String) -> Bool;
    fn ends_with(s: String, part: String) -> Bool; fn split(s: String, sep: String) -> Array<String>;
    fn replace(s: String, from: String, to: String) -> String; fn substring(s: String, a: Int, b: Int) -> String;
    fn repeat(s: String, n: Int) -> String; fn reverse(s: String) -> String; fn parse_int(s: String) -> Result<Int, ParseError>;
    fn parse_float(s: String) -> Result<Float, ParseError>; fn join(xs: Array<Any>, sep: String) -> String; }
trait fmt { fn format(t: String, args: Array<Any>) -> String; fn pad_left(s: String, width: Int, ch: String = " ") -> String;
    fn pad_right(s: String, width: Int, ch: String = " ") -> String; fn truncate(s: String, n: Int) -> String;
    fn indent(s: String, n: Int) -> String; fn debug(v: Any) -> String; }
trait json { fn parse(s: String) -> Result<Any, JsonError>; fn is_valid(s: String) -> Bool; fn stringify(v: Any) -> String;
    fn stringify_pretty(v: Any, indent: Int = 2) -> String; fn parse_as<T>(s: String) -> Result<T, JsonError>; }
trait crypto { fn sha256(s: String) -> String; fn md5(s: String) -> String; }
trait log { fn debug(v: Any); fn info(v: Any); fn warn(v: Any); fn error(v: Any); }
trait prompt { fn template(t: String, vars: Map<String, Any>) -> String; }
trait regex { fn is_match(pattern: String, s: String) -> Result<Bool, RegexError>;
    fn find(pattern: String, s: String) -> Result<Option<RegexMatch>, RegexError>;
    fn find_all(pattern: String, s: String) -> Result<Array<RegexMatch>, RegexError>;
    fn captures(pattern: String, s: String) -> Result<Option<Array<Option<String>>>, RegexError>;
    fn replace(pattern: String, s: String, with: String) -> Result<String, RegexError>; }
"""
NUMBER = """fn abs(self) -> Number; fn sqrt(self) -> Float; fn pow(self, e: Any) -> Number; fn min(self, o: Any) -> Number;
    fn max(self, o: Any) -> Number; fn floor(self) -> Int; fn ceil(self) -> Int; fn round(self) -> Int;
    fn to_float(self) -> Float; fn to_int(self) -> Int;"""
BAG = "fn len(self) -> Int; fn is_empty(self) -> Bool; fn to_array(self) -> Array<T>;"
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
    "len": size, "is_empty": lambda xs: not size(xs), "get": at, "first": lambda xs: at(xs, 0),
    "last": lambda xs: at(xs, len(xs) - 1), "push": lambda xs, x: (None, Arr((*xs, x))), "pop": lambda xs: (at(xs, len(xs) - 1), Arr(xs[:-1])), "insert": insert,
    "remove": remove, "clear": lambda xs: (None, Arr()), "reverse": lambda xs: (None, Arr(xs[::-1])), "sort": sort,
    "sort_by": sort_by, "contains": has, "index_of": where, "map": lambda xs, f: Arr(f(x) for x in elements(xs)),
    "flat_map": flat_map, "filter": lambda xs, f: Arr(x for x in elements(xs) if truth(f(x))),
    "find": lambda xs, f: next((some(x) for x in xs if truth(f(x))), NONE), "any": lambda xs, f: any(truth(f(x)) for x in xs),
    "all": lambda xs, f: all(truth(f(x)) for x in xs), "reduce": lambda xs, init, f: functools.reduce(f, xs, init),
    "enumerate": lambda xs: Arr(map(Tup, enumerate(xs))), "zip": lambda xs, o: Arr(map(Tup, zip(xs, o, strict=False))),
    "slice": lambda xs, a, b: Arr(xs[clamped(a, b, len(xs))]), "concat": lambda xs, o: Arr((*xs, *o)),
    "join": lambda xs, sep: sep.join(map(display, xs)),
    "sum": lambda xs: functools.reduce(lambda a, x: arithmetic("+", a, number(x)), xs, 0),
}  # fmt: skip
MAPS = {
    "len": len, "is_empty": lambda m: not m, "has": lambda m, k: key_of(k) in m, "clear": lambda m: (None, Map()),
    "delete": delete, "get": lambda m, k: some(m[key_of(k)]) if key_of(k) in m else NONE, "entries": entries, "values": lambda m: Arr(m.values()),
    "set": lambda m, k, v: (None, Map({**m, key_of(k): v})), "keys": lambda m: Arr(k for _, k in m),
    "merge": lambda m, o: Map({**m, **o}),
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
    "unwrap": unwrap, "expect": lambda v, message: unwrap(v, message + ":"), "unwrap_or": lambda v, other: v.payload[0] if is_good(v) else other,
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
        "len": size, "typeof": kind_of, "Some": some, "Ok": ok, "Err": err, "print": display, "println": display,
    },
    "fmt": {
        "format": formatted, "pad_left": lambda s, width, ch: (ch or " ")[0] * (width - len(s)) + s,
        "pad_right": lambda s, width, ch: s + (ch or " ")[0] * (width - len(s)), "truncate": lambda s, n: s[: max(0, n)],
        "indent": lambda s, n: re.sub(r"(?m)^(?!\Z)", " " * n, s), "debug": lambda v: display(v, True),
    },
    "json": {
        "parse": json_parse, "is_valid": lambda s: is_good(json_parse(s)), "stringify": values.json_text,
        "stringify_pretty": lambda v, indent: values.json_text(v, " " * indent),
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
