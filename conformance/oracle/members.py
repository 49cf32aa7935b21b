"""The built-in methods (L-6.2 to L-6.6): their signatures, written in the language itself, and what they do.

An implementation takes the receiver, the arguments and the line of the call; one of a *mut* method gives its result and the new
receiver. Signatures are read by the parser, so that calls of built-in methods are typed like any other.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

from .values import (
    MAX,
    MIN,
    Arr,
    Err,
    Mapping,
    Opt,
    Panic,
    Res,
    Rng,
    Tup,
    arithmetic,
    display,
    equal,
    in_range,
    is_number,
    key_of,
    kind_of,
    less,
    saturated,
)

NUMBER = """fn abs(self) -> Any; fn sqrt(self) -> Float; fn pow(self, e: Any) -> Any; fn min(self, o: Any) -> Any;
fn max(self, o: Any) -> Any; fn floor(self) -> Int; fn ceil(self) -> Int; fn round(self) -> Int;
fn to_float(self) -> Float; fn to_int(self) -> Int;"""
SIGNATURES = f"""
trait Int {{ {NUMBER} }}
trait Float {{ {NUMBER} }}
trait String {{
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, s: String) -> Bool; fn starts_with(self,
    s: String) -> Bool;
    fn ends_with(self, s: String) -> Bool; fn trim(self) -> String; fn trim_start(self) -> String; fn trim_end(self) -> String;
    fn to_upper(self) -> String; fn to_lower(self) -> String; fn to_uppercase(self) -> String; fn to_lowercase(self) -> String;
    fn repeat(self, n: Int) -> String; fn parse_int(self) -> Result<Int, ParseError>;
    fn parse_float(self) -> Result<Float, ParseError>; fn split(self, sep: String) -> Array<String>;
    fn replace(self, from: String, to: String) -> String; fn substring(self, a: Int, b: Int) -> String;
    fn get(self, i: Int) -> Option<String>; fn index_of(self, s: String) -> Option<Int>; fn chars(self) -> Array<String>;
    fn lines(self) -> Array<String>; fn reverse(self) -> String;
}}
trait Array<T> {{
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn get(self, i: Int) -> Option<T>; fn first(self) -> Option<T>;
    fn last(self) -> Option<T>; fn push(mut self, x: T); fn pop(mut self) -> Option<T>; fn insert(mut self, i: Int, x: T);
    fn remove(mut self, i: Int) -> T; fn clear(mut self); fn reverse(mut self); fn sort(mut self);
    fn sort_by(mut self, f: fn(T, T) -> Int); fn contains(self, x: T) -> Bool; fn index_of(self, x: T) -> Option<Int>;
    fn map<U>(self, f: fn(T) -> U) -> Array<U>; fn flat_map<U>(self, f: fn(T) -> Array<U>) -> Array<U>;
    fn filter(self, f: fn(T) -> Bool) -> Array<T>; fn find(self, f: fn(T) -> Bool) -> Option<T>;
    fn any(self, f: fn(T) -> Bool) -> Bool; fn all(self, f: fn(T) -> Bool) -> Bool;
    fn reduce<A>(self, init: A, f: fn(A, T) -> A) -> A; fn enumerate(self) -> Array<(Int, T)>;
    fn zip<U>(self, o: Array<U>) -> Array<(T, U)>; fn slice(self, a: Int, b: Int) -> Array<T>;
    fn concat(self, o: Array<T>) -> Array<T>; fn join(self, sep: String = "") -> String; fn sum(self) -> T;
}}
trait Map<K, V> {{
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn has(self, k: K) -> Bool; fn get(self, k: K) -> Option<V>;
    fn set(mut self, k: K, v: V); fn delete(mut self, k: K) -> Bool; fn clear(mut self); fn keys(self) -> Array<K>;
    fn values(self) -> Array<V>; fn entries(self) -> Array<(K, V)>; fn merge(self, o: Map<K, V>) -> Map<K, V>;
}}
trait Tuple {{ fn len(self) -> Int; }}
trait Range {{
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, i: Int) -> Bool; fn to_array(self) -> Array<Int>;
    fn rev(self) -> Array<Int>; fn step_by(self, n: Int) -> Array<Int>; fn map<U>(self, f: fn(Int) -> U) -> Array<U>;
    fn filter(self, f: fn(Int) -> Bool) -> Array<Int>;
}}
trait Option<T> {{
    fn is_some(self) -> Bool; fn is_none(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn() -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Option<U>;
    fn and_then<U>(self, f: fn(T) -> Option<U>) -> Option<U>; fn ok_or<E>(self, e: E) -> Result<T, E>;
    fn filter(self, f: fn(T) -> Bool) -> Option<T>; fn or(self, o: Option<T>) -> Option<T>;
}}
trait Result<T, E> {{
    fn is_ok(self) -> Bool; fn is_err(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn(E) -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Result<U, E>;
    fn and_then<U>(self, f: fn(T) -> Result<U, E>) -> Result<U, E>; fn map_err<A>(self, f: fn(E) -> A) -> Result<T, A>;
    fn ok(self) -> Option<T>; fn err(self) -> Option<E>; fn unwrap_err(self) -> E; fn context(self,
    msg: String) -> Result<T, Any>;
}}
"""
WHITE = "".join(map(chr, [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
0x3000]))
MEMBERS: dict[str, Callable[..., Any]] = {}


def member(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Files an implementation under `Kind.name`, several words of them."""

    def file(made: Callable[..., Any]) -> Callable[..., Any]:
        MEMBERS.update(dict.fromkeys(names.split(), made))
        return made

    return file


def simple(**rows: Callable[..., Any]) -> None:
    """Implementations that need no line: `Kind_name=function of receiver and arguments`."""
    for name, made in rows.items():
        kind, _, rest = name.partition("_")
        MEMBERS[f"{kind}.{rest}"] = functools.partial(_unlined, made)


def _unlined(made: Callable[..., Any], value: Any, *arguments: Any) -> Any:
    return made(value, *arguments[:-1])


def truth(value: Any, line: int) -> bool:
    if type(value) is not bool:
        raise Panic("P007", f"expected Bool, found {kind_of(value)}", line)
    return value


def some(items: Any, index: int) -> Opt:
    return Opt(True, items[index]) if 0 <= index < len(items) else Opt(False)


def clamped(start: int, end: int, length: int) -> slice:
    """L-5.6.2."""
    return slice(max(0, min(start, length)), max(0, min(end, length)))


# ---------------------------------------------------------------- numbers


@member("Int.abs Float.abs")
def absolute(value: Any, line: int) -> Any:
    return in_range(abs(value), line) if type(value) is int else abs(value)


def _extreme(pick: Any, value: Any, other: Any, line: int) -> Any:
    if not is_number(other):
        raise Panic("P007", f"expected a number, found {kind_of(other)}", line)
    return pick(value, other) if type(value) is type(other) is int else float(pick(value, other))


for _kind in ("Int", "Float"):
    MEMBERS[f"{_kind}.min"] = functools.partial(_extreme, min)
    MEMBERS[f"{_kind}.max"] = functools.partial(_extreme, max)
    MEMBERS[f"{_kind}.pow"] = lambda value, e, line: arithmetic("**", value, e, line)


def rounded(value: Any) -> int:
    """Halves away from zero, exactly: the fraction of a Float is one itself."""
    if type(value) is int or not math.isfinite(value):
        return saturated(value)
    fraction, whole = math.modf(value)
    return saturated(whole + (math.copysign(1, value) if abs(fraction) >= 0.5 else 0))


def whole(toward: Callable[[Any], int]) -> Callable[[Any], int]:
    return lambda value: saturated(toward(value) if math.isfinite(value) else value)


simple(
    Int_sqrt=math.sqrt, Int_floor=saturated, Int_ceil=saturated, Int_round=saturated, Int_to_float=float, Int_to_int=saturated,
    Float_floor=whole(math.floor), Float_ceil=whole(math.ceil),
    Float_round=rounded, Float_to_float=float, Float_to_int=saturated,
    Float_sqrt=lambda x: math.nan if x < 0 or math.isnan(x) else math.sqrt(x),
)  # fmt: skip
MEMBERS["Int.sqrt"] = lambda x, line: math.nan if x < 0 else math.sqrt(x)

# ---------------------------------------------------------------- String


def parse_error(text: str, what: str) -> Res:
    return Res(False, Err("ParseError", None, f"not {what}: {text}", {"input": text}))


def parse_int(text: str) -> Res:
    trimmed = text.strip(WHITE)
    if re.fullmatch(r"[+-]?[0-9]+", trimmed) and MIN <= int(trimmed) <= MAX:
        return Res(True, int(trimmed))
    return parse_error(text, "an Int")


def parse_float(text: str) -> Res:
    trimmed = text.strip(WHITE)
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|inf|nan)", trimmed):
        return Res(True, float(trimmed))
    return parse_error(text, "a Float")


def lines(text: str) -> Arr:
    found = [line.removesuffix("\r") for line in text.split("\n")]
    return Arr(tuple(found[:-1] if text.endswith("\n") or not text else found))


def found(text: str, part: str) -> Opt:
    at = text.find(part)
    return Opt(at >= 0, at if at >= 0 else None)


simple(
    String_len=len, String_is_empty=lambda s: not s, String_contains=lambda s, p: p in s, String_starts_with=str.startswith,
    String_ends_with=str.endswith, String_trim=lambda s: s.strip(WHITE), String_trim_start=lambda s: s.lstrip(WHITE),
    String_trim_end=lambda s: s.rstrip(WHITE), String_to_upper=str.upper, String_to_lower=str.lower,
    String_to_uppercase=str.upper, String_to_lowercase=str.lower, String_repeat=lambda s, n: s * n,
    String_parse_int=parse_int, String_parse_float=parse_float, String_replace=lambda s, a, b: s.replace(a, b),
    String_split=lambda s, sep: Arr(tuple(s.split(sep) if sep else s)), String_get=some, String_index_of=found,
    String_substring=lambda s, a, b: s[clamped(a, b, len(s))], String_chars=lambda s: Arr(tuple(s)), String_lines=lines,
    String_reverse=lambda s: s[::-1],
)  # fmt: skip

# ---------------------------------------------------------------- Array


@member("Array.insert")
def insert(xs: Arr, i: int, x: Any, line: int) -> Any:
    if not 0 <= i <= len(xs.items):
        raise Panic("P004", f"index out of range: {i} of {len(xs.items)}", line)
    return None, Arr((*xs.items[:i], x, *xs.items[i:]))


@member("Array.remove")
def remove(xs: Arr, i: int, line: int) -> Any:
    if not 0 <= i < len(xs.items):
        raise Panic("P004", f"index out of range: {i} of {len(xs.items)}", line)
    return xs.items[i], Arr(xs.items[:i] + xs.items[i + 1 :])


def ordering(compare: Callable[[Any, Any], int]) -> Callable[[tuple[Any, ...]], Arr]:
    return lambda items: Arr(tuple(sorted(items, key=functools.cmp_to_key(compare))))


@member("Array.sort")
def sort(xs: Arr, line: int) -> Any:
    nans = tuple(x for x in xs.items if x != x)
    plain = tuple(x for x in xs.items if x == x)
    for x in plain:
        less(plain[0], x, line)
    return None, Arr(ordering(lambda a, b: -1 if a < b else 1 if b < a else 0)(plain).items + nans)


@member("Array.sort_by")
def sort_by(xs: Arr, f: Any, line: int) -> Any:
    return None, ordering(lambda a, b: int(f.call([a, b], line)))(xs.items)


@member("Array.map Range.map")
def mapped(xs: Any, f: Any, line: int) -> Arr:
    return Arr(tuple(f.call([x], line) for x in elements(xs, line)))


@member("Array.flat_map")
def flat_map(xs: Arr, f: Any, line: int) -> Arr:
    made: list[Any] = []
    for x in xs.items:
        part = f.call([x], line)
        if not isinstance(part, Arr):
            raise Panic("P007", f"expected Array, found {kind_of(part)}", line)
        made.extend(part.items)
    return Arr(tuple(made))


@member("Array.filter Range.filter")
def filtered(xs: Any, f: Any, line: int) -> Arr:
    return Arr(tuple(x for x in elements(xs, line) if truth(f.call([x], line), line)))


@member("Array.find")
def find(xs: Arr, f: Any, line: int) -> Opt:
    return next((Opt(True, x) for x in xs.items if truth(f.call([x], line), line)), Opt(False))


@member("Array.reduce")
def reduce(xs: Arr, init: Any, f: Any, line: int) -> Any:
    return functools.reduce(lambda a, x: f.call([a, x], line), xs.items, init)


MEMBERS["Array.any"] = lambda xs, f, line: any(truth(f.call([x], line), line) for x in xs.items)
MEMBERS["Array.all"] = lambda xs, f, line: all(truth(f.call([x], line), line) for x in xs.items)


def index_of(xs: Arr, x: Any) -> Opt:
    return next((Opt(True, i) for i, y in enumerate(xs.items) if equal(x, y)), Opt(False))


def total(xs: Arr, zero: Any, line: int) -> Any:
    for x in xs.items:
        if not is_number(x):
            raise Panic("P007", f"expected a number, found {kind_of(x)}", line)
    return functools.reduce(lambda a, x: arithmetic("+", a, x, line), xs.items, zero)


MEMBERS["Array.sum"] = lambda xs, line: total(xs, 0, line)


simple(
    Array_len=lambda xs: len(xs.items), Array_is_empty=lambda xs: not xs.items, Array_get=lambda xs, i: some(xs.items, i),
    Array_first=lambda xs: some(xs.items, 0), Array_last=lambda xs: some(xs.items, len(xs.items) - 1),
    Array_push=lambda xs, x: (None, Arr((*xs.items, x))), Array_clear=lambda xs: (None, Arr(())),
    Array_pop=lambda xs: (some(xs.items, len(xs.items) - 1), Arr(xs.items[:-1])),
    Array_reverse=lambda xs: (None, Arr(xs.items[::-1])), Array_index_of=index_of,
    Array_contains=lambda xs, x: index_of(xs, x).some, Array_slice=lambda xs, a, b: Arr(xs.items[clamped(a, b, len(xs.items))]),
    Array_enumerate=lambda xs: Arr(tuple(Tup(pair) for pair in enumerate(xs.items))),
    Array_zip=lambda xs, o: Arr(tuple(Tup(pair) for pair in zip(xs.items, o.items, strict=False))),
    Array_concat=lambda xs, o: Arr(xs.items + o.items), Array_join=lambda xs, sep="": sep.join(map(display, xs.items)),
)  # fmt: skip

# ---------------------------------------------------------------- Map, tuple, Range


def with_entry(m: Mapping, key: Any, value: Any, line: int) -> Mapping:
    return Mapping({**m.entries, key_of(key, line): value})


@member("Map.delete")
def delete(m: Mapping, key: Any, line: int) -> Any:
    wanted = key_of(key, line)
    return wanted in m.entries, Mapping({k: v for k, v in m.entries.items() if k != wanted})


@member("Map.get")
def get(m: Mapping, key: Any, line: int) -> Opt:
    wanted = key_of(key, line)
    return Opt(True, m.entries[wanted]) if wanted in m.entries else Opt(False)


MEMBERS["Map.has"] = lambda m, key, line: key_of(key, line) in m.entries
MEMBERS["Map.set"] = lambda m, key, value, line: (None, with_entry(m, key, value, line))


def bounds(r: Rng) -> range:
    """L-5.7.6."""
    end = MAX if r.end is None else r.end
    return range(r.start or 0, end + (r.inclusive or r.end is None))


def elements(value: Any, line: int) -> Any:
    """What a loop walks (L-5.7.4 to L-5.7.10)."""
    match value:
        case Arr(items) | Tup(items):
            return items
        case Mapping(entries):
            return [Tup((key, v)) for (_, key), v in entries.items()]
        case Rng():
            return bounds(value)
        case str():
            return value
    raise Panic("P007", f"expected a value to walk, found {kind_of(value)}", line)


def length(r: range) -> int:
    return max(0, r.stop - r.start)


@member("Range.step_by")
def step_by(r: Rng, n: int, line: int) -> Arr:
    if n < 1:
        raise Panic("P013", f"step_by of {n}", line)
    return Arr(tuple(bounds(r)[::n]))


simple(
    Map_len=lambda m: len(m.entries), Map_is_empty=lambda m: not m.entries, Map_clear=lambda m: (None, Mapping({})),
    Map_keys=lambda m: Arr(tuple(key for _, key in m.entries)), Map_values=lambda m: Arr(tuple(m.entries.values())),
    Map_entries=lambda m: Arr(tuple(elements(m, 0))), Map_merge=lambda m, o: Mapping({**m.entries, **o.entries}),
    Tuple_len=lambda t: len(t.items), Range_len=lambda r: length(bounds(r)), Range_is_empty=lambda r: not length(bounds(r)),
    Range_contains=lambda r, i: i in bounds(r), Range_to_array=lambda r: Arr(tuple(bounds(r))),
    Range_rev=lambda r: Arr(tuple(reversed(bounds(r)))),
)  # fmt: skip

# ---------------------------------------------------------------- Option, Result


@member("Option.unwrap Result.unwrap")
def unwrap(value: Any, line: int) -> Any:
    if not value[0]:
        raise Panic("P006", f"unwrap of {display(value)}", line)
    return value.value


@member("Option.expect Result.expect")
def expect(value: Any, message: str, line: int) -> Any:
    if not value[0]:
        raise Panic("P006", f"{message}: {display(value)}", line)
    return value.value


@member("Result.unwrap_err")
def unwrap_err(value: Res, line: int) -> Any:
    if value.ok:
        raise Panic("P006", f"unwrap_err of {display(value)}", line)
    return value.value


def context(r: Res, message: str) -> Res:
    if r.ok:
        return r
    if isinstance(r.value, str):
        return Res(False, f"{message}: {r.value}")
    if isinstance(r.value, Err):
        return Res(False, r.value._replace(message=f"{message}: {r.value.message}"))
    return Res(False, Err("RuntimeError", None, f"{message}: {display(r.value)}", {}))


MEMBERS["Option.unwrap_or_else"] = lambda o, f, line: o.value if o.some else f.call([], line)
MEMBERS["Result.unwrap_or_else"] = lambda r, f, line: r.value if r.ok else f.call([r.value], line)
MEMBERS["Option.map"] = lambda o, f, line: Opt(True, f.call([o.value], line)) if o.some else o
MEMBERS["Result.map"] = lambda r, f, line: Res(True, f.call([r.value], line)) if r.ok else r
MEMBERS["Result.map_err"] = lambda r, f, line: r if r.ok else Res(False, f.call([r.value], line))
MEMBERS["Option.and_then"] = MEMBERS["Result.and_then"] = lambda v, f, line: f.call([v.value], line) if v[0] else v
MEMBERS["Option.filter"] = lambda o, f, line: o if o.some and truth(f.call([o.value], line), line) else Opt(False)
simple(
    Option_is_some=lambda o: o.some, Option_is_none=lambda o: not o.some, Result_is_ok=lambda r: r.ok,
    Result_is_err=lambda r: not r.ok,
    Option_unwrap_or=lambda o, v: o.value if o.some else v, Result_unwrap_or=lambda r, v: r.value if r.ok else v,
    Option_ok_or=lambda o, e: Res(True, o.value) if o.some else Res(False, e),
    Option_or=lambda o, other: o if o.some else other,
    Result_ok=lambda r: Opt(r.ok, r.value if r.ok else None), Result_err=lambda r: Opt(not r.ok, None if r.ok else r.value),
    Result_context=context,
)  # fmt: skip
