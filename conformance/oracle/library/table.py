"""What programs find declared (L-6, L-7): each signature in the language itself, with what it does.

The parser reads the signatures, so that calls are typed like any other. An implementation takes receiver and arguments;
one of a *mut* method gives its result and the new receiver; None: `Calls.core_NAME`. What reaches the host is not here.
"""

import functools
import hashlib
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from ..scopes import METHODS, Function, Program
from ..values import (
    NONE, Arr, Map, Queue, Set, Stack, Tup, arithmetic, display, equal, err, is_good, json_text, key_of, kind_of,
    number, ok, saturated, some,
)  # fmt: skip
from . import functions as f

Rows = dict[str, Any]


def renamed(rows: Rows, *changes: str) -> Rows:
    """The same functions for another receiver, or for none."""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        rows = {signature.replace(old, new): run for signature, run in rows.items()}
    return rows


NUMBERS: Rows = {
    "abs(self) -> Number": f.absolute, "sqrt(self) -> Float": lambda x: math.sqrt(x) if number(x) >= 0 else math.nan,
    "pow(self, e: Any) -> Number": functools.partial(arithmetic, "**"), "floor(self) -> Int": f.whole(math.floor),
    "min(self, o: Any) -> Number": functools.partial(f.extreme, min), "ceil(self) -> Int": f.whole(math.ceil),
    "max(self, o: Any) -> Number": functools.partial(f.extreme, max), "round(self) -> Int": f.whole(f.nearest),
    "to_float(self) -> Float": float, "to_int(self) -> Int": saturated,
}  # fmt: skip
SIZED: Rows = {"len(self) -> Int": len, "is_empty(self) -> Bool": operator.not_}
STRINGS: Rows = {
    **SIZED, "contains(self, part: String) -> Bool": operator.contains, "to_upper(self) -> String": str.upper,
    "starts_with(self, part: String) -> Bool": str.startswith, "ends_with(self, part: String) -> Bool": str.endswith,
    "trim(self) -> String": lambda s: s.strip(f.WHITE), "trim_start(self) -> String": lambda s: s.lstrip(f.WHITE),
    "trim_end(self) -> String": lambda s: s.rstrip(f.WHITE), "to_lower(self) -> String": str.lower,
    "chars(self) -> Array<String>": Arr, "to_uppercase(self) -> String": str.upper,
    "to_lowercase(self) -> String": str.lower, "repeat(self, n: Int) -> String": operator.mul,
    "reverse(self) -> String": lambda s: s[::-1], "replace(self, from: String, to: String) -> String": str.replace,
    "split(self, sep: String) -> Array<String>": lambda s, sep: Arr(s.split(sep) if sep else s),
    "lines(self) -> Array<String>": f.lines, "get(self, i: Int) -> Option<String>": f.at,
    "substring(self, a: Int, b: Int) -> String": lambda s, a, b: s[f.clamped(a, b, len(s))],
    "parse_int(self) -> Result<Int, ParseError>": f.parse_int,
    "index_of(self, part: String) -> Option<Int>": lambda s, part: some(s.find(part)) if part in s else NONE,
    "parse_float(self) -> Result<Float, ParseError>": f.parse_float,
}  # fmt: skip
BAG: Rows = {**SIZED, "to_array(self) -> Array<T>": Arr}
CASES: Rows = {  # of Result and, with its words, of Option
    "unwrap(self) -> T": f.unwrap, "expect(self, msg: String) -> T": lambda v, message: f.unwrap(v, message + ":"),
    "unwrap_or(self, v: T) -> T": lambda v, other: v.payload[0] if is_good(v) else other,
    "unwrap_or_else(self, f: fn(E) -> T) -> T": lambda v, f: v.payload[0] if is_good(v) else f(*v.payload or ()),
    "map<U>(self, f: fn(T) -> U) -> Result<U, E>": f.map_good,
    "and_then<U>(self, f: fn(T) -> Result<U, E>) -> Result<U, E>": lambda v, f: f(*v.payload) if is_good(v) else v,
}  # fmt: skip
PATTERNS: Rows = {  # of a compiled pattern
    "is_match(pattern: String, s: String) -> Result<Bool, RegexError>": lambda p, s: bool(p.search(s)),
    "find(pattern: String, s: String) -> Result<Option<RegexMatch>, RegexError>": f.first(f.record),
    "find_all(pattern: String, s: String) -> Result<Array<RegexMatch>, RegexError>": f.every,
    "captures(pattern: String, s: String) -> Result<Option<Array<Option<String>>>, RegexError>": f.first(f.groups),
    "replace(pattern: String, s: String, with: String) -> Result<String, RegexError>": f.expanded,
}  # fmt: skip
LIBRARY: dict[str, Rows] = {
    "Core": {
        "len(x: Any) -> Int": f.length, "typeof(x: Any) -> String": kind_of, "Some<T>(x: T) -> Option<T>": some,
        "Ok<T, E>(x: T = nil) -> Result<T, E>": ok, "Err<T, E>(e: E) -> Result<T, E>": err,
        "print(x: Any = nil)": display, "println(x: Any = nil)": display, "panic(msg: String) -> Never": None,
        "assert(c: Any, msg: String = nil)": None, "assert_eq(a: Any, b: Any, msg: String = nil)": None,
        "assert_ne(a: Any, b: Any, msg: String = nil)": None, "emit<T>(channel: String, payload: T = nil)": None,
    },
    "Int": NUMBERS, "Float": NUMBERS, "String": STRINGS, "Tuple": {"len(self) -> Int": len},
    "Array<T>": {
        **SIZED, "get(self, i: Int) -> Option<T>": f.at, "first(self) -> Option<T>": lambda xs: f.at(xs, 0),
        "last(self) -> Option<T>": lambda xs: f.at(xs, len(xs) - 1), "push(mut self, x: T)": f.push,
        "pop(mut self) -> Option<T>": f.pop, "clear(mut self)": lambda xs: (None, type(xs)()), "sort(mut self)": f.sort,
        "insert(mut self, i: Int, x: T)": lambda xs, i, x: (None, Arr((*xs[: f.element(xs, i, 1)], x, *xs[i:]))),
        "remove(mut self, i: Int) -> T": lambda xs, i: (xs[f.element(xs, i)], Arr(xs[:i] + xs[i + 1 :])),
        "reverse(mut self)": lambda xs: (None, Arr(xs[::-1])), "contains(self, x: T) -> Bool": f.has,
        "index_of(self, x: T) -> Option<Int>": f.where, "map<U>(self, f: fn(T) -> U) -> Array<U>": f.mapped,
        "sort_by(mut self, f: fn(T, T) -> Int)": lambda xs, f: (None, Arr(sorted(xs, key=functools.cmp_to_key(f)))),
        "filter(self, f: fn(T) -> Bool) -> Array<T>": f.kept, "join(self, sep: String = \"\") -> String": f.joined,
        "flat_map<U>(self, f: fn(T) -> Array<U>) -> Array<U>": f.flat_map,
        "find(self, f: fn(T) -> Bool) -> Option<T>": lambda xs, p: next((some(x) for x in xs if f.truth(p(x))), NONE),
        "any(self, f: fn(T) -> Bool) -> Bool": lambda xs, p: any(f.truth(p(x)) for x in xs),
        "all(self, f: fn(T) -> Bool) -> Bool": lambda xs, p: all(f.truth(p(x)) for x in xs),
        "reduce<A>(self, init: A, f: fn(A, T) -> A) -> A": lambda xs, init, f: functools.reduce(f, xs, init),
        "enumerate(self) -> Array<(Int, T)>": lambda xs: Arr(map(Tup, enumerate(xs))),
        "zip<U>(self, o: Array<U>) -> Array<(T, U)>": lambda xs, o: Arr(map(Tup, zip(xs, o, strict=False))),
        "slice(self, a: Int, b: Int) -> Array<T>": lambda xs, a, b: Arr(xs[f.clamped(a, b, len(xs))]),
        "concat(self, o: Array<T>) -> Array<T>": lambda xs, o: Arr((*xs, *o)),
        "sum(self) -> T": lambda xs: functools.reduce(lambda a, x: arithmetic("+", a, number(x)), xs, 0),
    },
    "Map<K, V>": {
        **SIZED, "has(self, k: K) -> Bool": lambda m, k: key_of(k) in m, "entries(self) -> Array<(K, V)>": f.entries,
        "delete(mut self, k: K) -> Bool": f.delete, "clear(mut self)": lambda xs: (None, type(xs)()),
        "get(self, k: K) -> Option<V>": lambda m, k: some(m[key_of(k)]) if key_of(k) in m else NONE,
        "keys(self) -> Array<K>": lambda m: Arr(k for _, k in m), "values(self) -> Array<V>": lambda m: Arr(m.values()),
        "set(mut self, k: K, v: V)": lambda m, k, v: (None, Map({**m, key_of(k): v})),
        "merge(self, o: Map<K, V>) -> Map<K, V>": lambda m, o: Map({**m, **o}),
    },
    "Range": {
        "len(self) -> Int": f.length, "is_empty(self) -> Bool": lambda r: not f.size(r),
        "step_by(self, n: Int) -> Array<Int>": f.step_by, "to_array(self) -> Array<Int>": lambda r: Arr(f.bounds(r)),
        "contains(self, i: Int) -> Bool": lambda r, i: i in f.bounds(r),
        "rev(self) -> Array<Int>": lambda r: Arr(reversed(f.bounds(r))),
        "filter(self, f: fn(Int) -> Bool) -> Array<Int>": f.kept, "map<U>(self, f: fn(Int) -> U) -> Array<U>": f.mapped,
    },
    "Option<T>": {
        **renamed(CASES, "Result<U, E>", "Option<U>", "fn(E)", "fn()"), "is_some(self) -> Bool": is_good,
        "is_none(self) -> Bool": lambda o: not is_good(o),
        "or(self, o: Option<T>) -> Option<T>": lambda o, p: o if is_good(o) else p,
        "filter(self, f: fn(T) -> Bool) -> Option<T>": lambda o, p: o if o.payload and f.truth(p(*o.payload)) else NONE,
        "ok_or<E>(self, e: E) -> Result<T, E>": lambda o, e: ok(*o.payload) if is_good(o) else err(e),
    },
    "Result<T, E>": {
        **CASES, "is_ok(self) -> Bool": is_good, "is_err(self) -> Bool": lambda r: not is_good(r),
        "unwrap_err(self) -> E": f.unwrap_err, "context(self, msg: String) -> Result<T, Any>": f.context,
        "map_err<A>(self, f: fn(E) -> A) -> Result<T, A>": lambda r, f: r if is_good(r) else err(f(*r.payload)),
        "ok(self) -> Option<T>": lambda r: some(*r.payload) if is_good(r) else NONE,
        "err(self) -> Option<E>": lambda r: NONE if is_good(r) else some(*r.payload),
    },
    "Set<T>": {
        **BAG, "new() -> Set<T>": Set, "from(xs: Array<T>) -> Set<T>": f.unique, "contains(self, v: T) -> Bool": f.has,
        "insert(mut self, v: T) -> Bool": lambda s, x: (not f.has(s, x), f.unique((*s, x))),
        "remove(mut self, v: T) -> Bool": lambda s, x: (f.has(s, x), Set(y for y in s if not equal(x, y))),
        "union(self, o: Set<T>) -> Set<T>": lambda s, o: f.unique((*s, *o)),
        "intersection(self, o: Set<T>) -> Set<T>": lambda s, o: Set(x for x in s if f.has(o, x)),
        "difference(self, o: Set<T>) -> Set<T>": lambda s, o: Set(x for x in s if not f.has(o, x)),
    },
    "Queue<T>": {
        **BAG, "new() -> Queue<T>": Queue, "enqueue(mut self, v: T)": f.push,
        "peek(self) -> Option<T>": lambda q: f.at(q, 0), "rest(self) -> Queue<T>": lambda q: Queue(q[1:]),
        "dequeue(mut self) -> Option<T>": lambda q: (f.at(q, 0), Queue(q[1:])),
    },
    "Stack<T>": {
        **BAG, "new() -> Stack<T>": Stack, "push(mut self, v: T)": f.push, "pop(mut self) -> Option<T>": f.pop,
        "peek(self) -> Option<T>": lambda s: f.at(s, len(s) - 1), "rest(self) -> Stack<T>": lambda s: Stack(s[:-1]),
    },
    "math": {**renamed(NUMBERS, "self", "x: Any"), "clamp(x: Any, lo: Any, hi: Any) -> Number": f.clamp},
    "string": {**renamed(STRINGS, "self", "s: String"), "join(xs: Array<Any>, sep: String) -> String": f.joined},
    "fmt": {
        "format(t: String, args: Array<Any>) -> String": f.formatted,
        "debug(v: Any) -> String": lambda v: display(v, True),
        "pad_left(s: String, width: Int, ch: String = \" \") -> String": lambda s, n, ch: s.rjust(n, (ch or " ")[0]),
        "pad_right(s: String, width: Int, ch: String = \" \") -> String": lambda s, n, ch: s.ljust(n, (ch or " ")[0]),
        "truncate(s: String, n: Int) -> String": lambda s, n: s[: max(0, n)],
        "indent(s: String, n: Int) -> String": lambda s, n: re.sub(r"(?m)^(?!\Z)", " " * n, s),
    },
    "json": {
        "parse(s: String) -> Result<Any, JsonError>": f.json_parse, "stringify(v: Any) -> String": json_text,
        "is_valid(s: String) -> Bool": lambda s: is_good(f.json_parse(s)),
        "stringify_pretty(v: Any, indent: Int = 2) -> String": f.pretty,
        "parse_as<T>(s: String) -> Result<T, JsonError>": f.json_parse,
    },
    "crypto": {
        "sha256(s: String) -> String": lambda s: hashlib.sha256(s.encode()).hexdigest(),
        "md5(s: String) -> String": lambda s: hashlib.md5(s.encode()).hexdigest(),
    },
    "log": {f"{level}(v: Any)": lambda v: None for level in ("debug", "info", "warn", "error")},
    "prompt": {"template(t: String, vars: Map<String, Any>) -> String": f.template},
    "regex": {signature: f.matching(use) for signature, use in PATTERNS.items()},
}  # fmt: skip


def declare() -> None:
    """Files the table under METHODS."""
    methods = {head: " ".join(f"fn {signature};" for signature in rows) for head, rows in LIBRARY.items()}
    source = "".join(f"trait {head} {{ {text} }}" for head, text in methods.items())
    module = Program({"library": source.encode()}, "library").root
    traits, module.names = list(module.names.values()), {"RegexMatch": f.MATCH}  # the others denote what is predeclared
    for trait, rows in zip(traits, LIBRARY.values(), strict=True):
        itself = (trait.name, *((p,) for p in trait.params))
        for node, run in zip(trait.node.methods, rows.values(), strict=True):
            METHODS[trait.name, node.name.text] = method = Function(node, trait.scope, (trait.params, itself))
            method.run, method.kind = run, trait.name


declare()
