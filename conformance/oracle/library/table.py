"""What programs find declared (L-6, L-7): each signature in the language itself, with what it does.

Importing this module files all functions in METHODS and DECLARED of `scopes`; `calls` also takes `json_parse` and
`map_good`. The parser reads the signatures, so that calls are typed like any other. An implementation takes receiver
and arguments; one of a *mut* method returns its result and the new receiver; those under "World" take the evaluator
first, which keeps emits and counts assertions. What reaches the host is only named here, in HOSTED
(`drivers/oracle_host.py`). A new function is an entry of LIBRARY, WORLD or HOSTED. A wrong argument is a Panic or a
Failure.
"""

import functools
import hashlib
import json
import math
import operator
import re
from decimal import ROUND_HALF_UP, Decimal

from ..scopes import DECLARED, METHODS, Function, Program
from ..types import BOOL, built, cast
from ..values import (MAX, MIN, NONE, WHITE, Any, Arr, Case, Err, Failure, Map, Panic, Queue, Rec, Set, Stack, Text,
    Tup, arithmetic, bounds, clamped, compared, display, element, elements, entries, equal, err, failed, has, in_range,
    is_good, json_text, key_of, kind_of, limited, number, of_kind, ok, parse_float, parse_int, saturated, size, some,
    stop, unique)  # fmt: skip

from . import media
from .texts import FMT, RECORDS, ROWS

Rows = dict[str, Any]
truth = functools.partial(of_kind, "Bool", (bool,))


def at(items: Any, index: int) -> Case:
    """Return Some of the item at an index, None outside."""
    return some(items[index]) if 0 <= index < len(items) else NONE


def length(value: Any) -> int:
    """Return the length of a value; panic P002 for a range longer than an Int."""
    return in_range(size(value))


# ---------------------------------------------------------------- numbers, String


def extreme(pick: Any, *numbers: Any) -> Any:
    """Return what `pick` chooses of numbers, which are all Floats unless all are Ints; NaN if one is NaN."""
    if all(type(number(x)) is int for x in numbers):
        return pick(numbers)
    return math.nan if any(x != x for x in numbers) else pick([float(x) for x in numbers])


def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """Return `x` between two bounds; panic P013 if they are in the wrong order."""
    return extreme(lambda xs: sorted(xs)[1], x, lo, hi) if number(lo) <= number(hi) else stop(Panic("P013", "clamp"))


def whole(toward: Any) -> Any:
    """Return what rounds a number to an Int by the function `toward`."""
    return lambda x: number(x) if type(x) is int else saturated(toward(x) if math.isfinite(number(x)) else x)


def lines(text: str) -> Arr:
    """Return the lines of a text without their ends; a last line that is empty is none."""
    *ended, last = text.split("\n")
    texts = [line.removesuffix("\r") for line in ended]
    return Arr([*texts, last] if last else texts)


# ---------------------------------------------------------------- collections


def push(xs: Any, x: Any) -> Any:
    """Return no result, and the collection with an item more."""
    return None, type(xs)((*xs, x))


def pop(xs: Any) -> Any:
    """Return the last item, and the collection without it."""
    return at(xs, len(xs) - 1), type(xs)(xs[:-1])


def sort(xs: Arr) -> Any:
    """Return no result, and the items in order, NaN last; panic P007 for items that have none."""
    for x in xs:
        compared("<", xs[0], x)
    return None, Arr(sorted(xs, key=lambda x: (x != x, x)))


def mapped(xs: Any, f: Any) -> Arr:
    """Return an Array of what a function gives for each element."""
    return Arr(f(x) for x in elements(xs))


def kept(xs: Any, f: Any) -> Arr:
    """Return an Array of the elements for which a function is true."""
    return Arr(x for x in elements(xs) if truth(f(x)))


def flat_map(xs: Arr, f: Any) -> Arr:
    """Return the Arrays that a function gives for each item, as one Array."""
    return Arr(x for part in xs for x in of_kind("Array", (Arr,), f(part)))


def joined(xs: Any, separator: str) -> str:
    """Return the Display texts with a separator between them."""
    return separator.join(map(display, xs))


# ---------------------------------------------------------------- Option, Result


def map_good(value: Case, f: Any) -> Case:
    """Return Some or Ok of what a function gives for the content; None and Err as they are."""
    return value._replace(payload=(f(*value.payload),)) if is_good(value) else value


def unwrap(value: Case, message: str = "unwrap of", good: bool = True) -> Any:
    """Return the content of Some or Ok, or without `good` of Err; panic P006 for the other."""
    return value.payload[0] if is_good(value) is good else stop(Panic("P006", f"{message} {display(value)}"))


def context(r: Case, message: str) -> Case:
    """Return a Result with `message` in front of the text of its error: an error of a family keeps its family, a
    String becomes the whole text, and anything else a RuntimeError."""
    error = r.payload[0]
    text = f"{message}: {display(error)}"
    plain = text if isinstance(error, str) else Err("RuntimeError", None, text, {})
    return r if is_good(r) else err(error._replace(message=text) if isinstance(error, Err) else plain)


# ---------------------------------------------------------------- the library


def from_json(value: Any) -> Any:
    """Return the value of a program for one of Python's `json`."""
    if isinstance(value, list):
        return Arr(map(from_json, value))
    return Map({(str, k): from_json(v) for k, v in value.items()}) if isinstance(value, dict) else value


def json_parse(text: str) -> Case:
    """Return the value of a JSON text as a Result; a number beyond Int is a Float."""
    try:
        whole_number = lambda digits: int(digits) if MIN <= int(digits) <= MAX else float(digits)  # noqa: E731
        return ok(from_json(json.loads(text, parse_int=whole_number, parse_constant=int)))  # `NaN` is no JSON
    except ValueError as error:
        return failed("JsonError", str(error), line=getattr(error, "lineno", 1), column=getattr(error, "colno", 1))


def pretty(value: Any, indent: int) -> str:
    """Return a value as compact JSON broken into lines: after brackets that are not empty, and commas."""
    output, level = "", 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|\[\]|\{\}|[][{},:]|[^][{},:"]+', json_text(value)):
        level += (token in ("[", "{")) - (token in ("]", "}"))
        line_end = "\n" + " " * indent * level
        after = line_end if token in ("[", "{", ",") else " " * (token == ":")
        output += line_end + token if token in ("]", "}") else token + after
    return output


def template(text: str, names: Map) -> str:
    """Return a text with values for `${name}` and `{{name}}`; unknown names stay as they are."""
    return re.sub(r"\$\{(\w+)\}|\{\{(\w+)\}\}", lambda m: display(names.get((str, m[1] or m[2]), m[0])), text)


def compiled(pattern: str) -> Any:
    """Return a pattern of Python's `re`. Raise Failure for a wrong one."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise Failure(None, str(error), pattern=pattern) from None


def groups(match: re.Match[str], start: int = 0) -> Arr:
    """Return the groups of a match from number `start` on, the whole match as number 0."""
    return Arr(NONE if g is None else some(g) for g in [match[0], *match.groups()][start:])


def record(match: re.Match[str]) -> Rec:
    """Return a match as a RegexMatch."""
    fields = {"text": match[0], "start": match.start(), "end": match.end(), "groups": groups(match, 1)}
    return Rec(DECLARED["RegexMatch"], fields)


def expanded(pattern: str, text: str, template: str) -> Case:
    """Return the text with each match replaced by the template, in which `$1` and `$<name>` are groups and `$$` is a
    dollar sign."""
    plain = re.sub(r"\$(?:(\$)|(\d)|<(\w+)>)", lambda m: m[1] or rf"\g<{m[2] or m[3]}>", template.replace("\\", r"\\"))
    return ok(compiled(pattern).sub(plain, text))


def first(form: Any) -> Any:
    """Return a function of pattern and text that gives `form` of the first match as an Option."""
    return lambda p, s: ok(NONE if (match := compiled(p).search(s)) is None else some(form(match)))


# ---------------------------------------------------------------- with the evaluator


def hosted(head: str, name: str) -> Any:
    """Return what calls the host, which has a method `fs_exists` for `std::fs::exists`, with plain data in and
    out."""

    def run(world: Any, *arguments: Any) -> Any:
        plain = [v if v is None or isinstance(v, (str, int, bytes)) else Text(json_text(v)) for v in arguments]
        answer, type_ = getattr(world.host, f"{head}_{name}")(*plain), METHODS[head, name].signature.result
        value = built(from_json(answer), type_[1] if type_[0] == "Result" else type_, None)
        return ok(value) if type_[0] == "Result" else value

    return run


def emitted(world: Any, channel: str, payload: Any) -> None:
    """Keep an emit; panic P103 for a payload beyond 1 MiB."""
    world.host.emits.append((channel, limited(text := json_text(payload), len(text.encode()), "emit payload", 1 << 20)))
    world.sent.append(Rec(DECLARED["Emit"], {"channel": channel, "payload": payload}))


def asserted(world: Any, holds: bool, message: str | None, form: str, *values: Any) -> None:
    """Count an assertion; panic P011 if it does not hold (O-8.6 to O-8.10)."""
    world.asserts += 1
    if not holds:
        text = "" if message and not values else form.format(*(display(v, True) for v in values))
        raise Panic("P011", ": ".join(filter(None, ["assertion failed", message, text])))


def measured(world: Any, f: Any) -> Tup:
    """Return what a function gives and how many milliseconds of the run's clock it took."""
    start = world.host.time_now_ms()
    return Tup((f(), world.host.time_now_ms() - start))


def unused() -> Rec:
    """Return a ModelUsage of zeros: no call of a model is evaluated here."""
    item = DECLARED["ModelUsage"]
    return Rec(item, {name: 0.0 if name == "cost" else 0 for name in item.defaults()})


def unlimited(world: Any) -> Rec:
    """Return a BudgetLeft without limits: a program that has some is not claimed."""
    return Rec(item := DECLARED["BudgetLeft"], dict.fromkeys(item.defaults()))


def from_file(world: Any, path: str, names: Map | None) -> Case:
    """Return the text of a file with values for names, as a Result."""
    return map_good(METHODS["fs", "read_file"].run(world, path), lambda text: template(text, names or Map()))


# ---------------------------------------------------------------- the table


def renamed(rows: Rows, old: str, new: str) -> Rows:
    """Return the same functions for another receiver, or for none."""
    return {signature.replace(old, new): run for signature, run in rows.items()}


NUMBERS: Rows = {"abs(self) -> Number": lambda x: in_range(abs(number(x))), "floor(self) -> Int": whole(math.floor),
    "sqrt(self) -> Float": lambda x: math.sqrt(x) if number(x) >= 0 else math.nan, "to_float(self) -> Float": float,
    "pow(self, e: Any) -> Number": functools.partial(arithmetic, "**"), "ceil(self) -> Int": whole(math.ceil),
    "min(self, o: Any) -> Number": functools.partial(extreme, min), "to_int(self) -> Int": saturated,
    "max(self, o: Any) -> Number": functools.partial(extreme, max),
    "round(self) -> Int": whole(lambda x: Decimal(x).to_integral_value(ROUND_HALF_UP))}  # fmt: skip
SIZED: Rows = {"len(self) -> Int": len, "is_empty(self) -> Bool": operator.not_}
STRINGS: Rows = {**SIZED, "split(self, sep: String) -> Array<String>": lambda s, sep: Arr(s.split(sep) if sep else s),
    "index_of(self, part: String) -> Option<Int>": lambda s, part: some(s.find(part)) if part in s else NONE,
    "substring(self, a: Int, b: Int) -> String": lambda s, a, b: s[clamped(a, b, len(s))],
    "replace(self, from: String, to: String) -> String": str.replace, "trim(self) -> String": lambda s: s.strip(WHITE),
    "parse_float(self) -> Result<Float, ParseError>": parse_float, "repeat(self, n: Int) -> String": operator.mul,
    "contains(self, part: String) -> Bool": operator.contains, "trim_start(self) -> String": lambda s: s.lstrip(WHITE),
    "starts_with(self, part: String) -> Bool": str.startswith, "parse_int(self) -> Result<Int, ParseError>": parse_int,
    "ends_with(self, part: String) -> Bool": str.endswith, "trim_end(self) -> String": lambda s: s.rstrip(WHITE),
    "reverse(self) -> String": lambda s: s[::-1], "to_uppercase(self) -> String": str.upper,
    "to_lowercase(self) -> String": str.lower, "get(self, i: Int) -> Option<String>": at,
    "to_upper(self) -> String": str.upper, "to_lower(self) -> String": str.lower, "lines(self) -> Array<String>": lines,
    "to_bytes(self) -> Bytes": str.encode, "chars(self) -> Array<String>": Arr}  # fmt: skip
BAG: Rows = {**SIZED, "to_array(self) -> Array<T>": Arr}
# of Result and, with its words, of Option
CASES: Rows = {"unwrap(self) -> T": unwrap, "map<U>(self, f: fn(T) -> U) -> Result<U, E>": map_good,
    "unwrap_or(self, v: T) -> T": lambda v, other: v.payload[0] if is_good(v) else other,
    "unwrap_or_else(self, f: fn(E) -> T) -> T": lambda v, f: v.payload[0] if is_good(v) else f(*v.payload or ()),
    "and_then<U>(self, f: fn(T) -> Result<U, E>) -> Result<U, E>": lambda v, f: f(*v.payload) if is_good(v) else v,
    "expect(self, msg: String) -> T": lambda v, message: unwrap(v, message + ":")}  # fmt: skip
LIBRARY: dict[str, Rows] = {
    **ROWS, "media": media.MEDIA,
    "Any": {"to_string(self) -> String": display}, "Core": {"Ok<T, E>(x: T = nil) -> Result<T, E>": ok,
    "panic(msg: String) -> Never": lambda message: stop(Panic("P001", message)), "Err<T, E>(e: E) -> Result<T, E>": err,
    "typeof(x: Any) -> String": kind_of, "Some<T>(x: T) -> Option<T>": some, "println(x: Any = nil)": display,
    "print(x: Any = nil)": display, "len(x: Any) -> Int": length},
    "Int": NUMBERS, "Float": NUMBERS, "String": STRINGS, "Tuple": {"len(self) -> Int": len},
    "Array<T>": {**SIZED, "slice(self, a: Int, b: Int) -> Array<T>": lambda xs, a, b: Arr(xs[clamped(a, b, len(xs))]),
    "index_of(self, x: T) -> Option<Int>": lambda xs, x: next((some(i) for i, y in enumerate(xs) if equal(x, y)), NONE),
    "sort_by(mut self, f: fn(T, T) -> Int)": lambda xs, f: (None, Arr(sorted(xs, key=functools.cmp_to_key(f)))),
    "find(self, f: fn(T) -> Bool) -> Option<T>": lambda xs, p: next((some(x) for x in xs if truth(p(x))), NONE),
    "insert(mut self, i: Int, x: T)": lambda xs, i, x: (None, Arr((*xs[: element(xs, i, 1)], x, *xs[i:]))),
    "reduce<A>(self, init: A, f: fn(A, T) -> A) -> A": lambda xs, init, f: functools.reduce(f, xs, init),
    "zip<U>(self, o: Array<U>) -> Array<(T, U)>": lambda xs, o: Arr(map(Tup, zip(xs, o, strict=False))),
    "sum(self) -> T": lambda xs: functools.reduce(lambda a, x: arithmetic("+", a, number(x)), xs, 0),
    "remove(mut self, i: Int) -> T": lambda xs, i: (xs[element(xs, i)], Arr(xs[:i] + xs[i + 1 :])),
    "any(self, f: fn(T) -> Bool) -> Bool": lambda xs, p: any(truth(p(x)) for x in xs), "push(mut self, x: T)": push,
    "all(self, f: fn(T) -> Bool) -> Bool": lambda xs, p: all(truth(p(x)) for x in xs), "sort(mut self)": sort,
    "enumerate(self) -> Array<(Int, T)>": lambda xs: Arr(map(Tup, enumerate(xs))), "get(self, i: Int) -> Option<T>": at,
    "concat(self, o: Array<T>) -> Array<T>": lambda xs, o: Arr((*xs, *o)), "contains(self, x: T) -> Bool": has,
    "flat_map<U>(self, f: fn(T) -> Array<U>) -> Array<U>": flat_map, "filter(self, f: fn(T) -> Bool) -> Array<T>": kept,
    "last(self) -> Option<T>": lambda xs: at(xs, len(xs) - 1), "reverse(mut self)": lambda xs: (None, Arr(xs[::-1])),
    "join(self, sep: String = \"\") -> String": joined, "map<U>(self, f: fn(T) -> U) -> Array<U>": mapped,
    "first(self) -> Option<T>": lambda xs: at(xs, 0), "clear(mut self)": lambda xs: (None, type(xs)()),
    "pop(mut self) -> Option<T>": pop}, "Map<K, V>": {**SIZED, "keys(self) -> Array<K>": lambda m: Arr(k for _, k in m),
    "delete(mut self, k: K) -> Bool": lambda m, k: (key_of(k) in m, Map({i: m[i] for i in m if i != key_of(k)})),
    "get(self, k: K) -> Option<V>": lambda m, k: some(m[key_of(k)]) if key_of(k) in m else NONE,
    "set(mut self, k: K, v: V)": lambda m, k, v: (None, Map({**m, key_of(k): v})),
    "merge(self, o: Map<K, V>) -> Map<K, V>": lambda m, o: Map({**m, **o}), "entries(self) -> Array<(K, V)>": entries,
    "has(self, k: K) -> Bool": lambda m, k: key_of(k) in m, "values(self) -> Array<V>": lambda m: Arr(m.values()),
    "clear(mut self)": lambda xs: (None, type(xs)())}, "Range": {"filter(self, f: fn(Int) -> Bool) -> Array<Int>": kept,
    "step_by(self, n: Int) -> Array<Int>": lambda r, n: Arr(bounds(r)[::n] if n > 0 else stop(Panic("P013", "step"))),
    "contains(self, i: Int) -> Bool": lambda r, i: i in bounds(r), "map<U>(self, f: fn(Int) -> U) -> Array<U>": mapped,
    "rev(self) -> Array<Int>": lambda r: Arr(reversed(bounds(r))), "is_empty(self) -> Bool": lambda r: not size(r),
    "to_array(self) -> Array<Int>": lambda r: Arr(bounds(r)), "len(self) -> Int": length},
    "Option<T>": {**renamed(renamed(CASES, "Result<U, E>", "Option<U>"), "fn(E)", "fn()"),
    "filter(self, f: fn(T) -> Bool) -> Option<T>": lambda o, p: o if o.payload and truth(p(*o.payload)) else NONE,
    "ok_or<E>(self, e: E) -> Result<T, E>": lambda o, e: ok(*o.payload) if is_good(o) else err(e),
    "or(self, o: Option<T>) -> Option<T>": lambda o, p: o if is_good(o) else p, "is_some(self) -> Bool": is_good,
    "is_none(self) -> Bool": lambda o: not is_good(o)}, "Result<T, E>": {**CASES, "is_ok(self) -> Bool": is_good,
    "map_err<A>(self, f: fn(E) -> A) -> Result<T, A>": lambda r, f: r if is_good(r) else err(f(*r.payload)),
    "err(self) -> Option<E>": lambda r: NONE if is_good(r) else some(*r.payload),
    "ok(self) -> Option<T>": lambda r: some(*r.payload) if is_good(r) else NONE,
    "unwrap_err(self) -> E": lambda r: unwrap(r, "unwrap_err of", False),
    "context(self, msg: String) -> Result<T, Any>": context, "is_err(self) -> Bool": lambda r: not is_good(r)},
    "Set<T>": {**BAG, "remove(mut self, v: T) -> Bool": lambda s, x: (has(s, x), Set(y for y in s if not equal(x, y))),
    "difference(self, o: Set<T>) -> Set<T>": lambda s, o: Set(x for x in s if not has(o, x)), "new() -> Set<T>": Set,
    "intersection(self, o: Set<T>) -> Set<T>": lambda s, o: Set(x for x in s if has(o, x)),
    "insert(mut self, v: T) -> Bool": lambda s, x: (not has(s, x), unique((*s, x))),
    "union(self, o: Set<T>) -> Set<T>": lambda s, o: unique((*s, *o)), "from(xs: Array<T>) -> Set<T>": unique,
    "contains(self, v: T) -> Bool": has}, "Queue<T>": {**BAG, "rest(self) -> Queue<T>": lambda q: Queue(q[1:]),
    "dequeue(mut self) -> Option<T>": lambda q: (at(q, 0), Queue(q[1:])), "peek(self) -> Option<T>": lambda q: at(q, 0),
    "enqueue(mut self, v: T)": push, "new() -> Queue<T>": Queue}, "Stack<T>": {**BAG, "pop(mut self) -> Option<T>": pop,
    "peek(self) -> Option<T>": lambda s: at(s, len(s) - 1), "rest(self) -> Stack<T>": lambda s: Stack(s[:-1]),
    "push(mut self, v: T)": push, "new() -> Stack<T>": Stack},
    "math": {**renamed(NUMBERS, "self", "x: Any"), "clamp(x: Any, lo: Any, hi: Any) -> Number": clamp},
    "string": {**renamed(STRINGS, "self", "s: String"), "join(xs: Array<Any>, sep: String) -> String": joined},
    "fmt": {"indent(s: String, n: Int) -> String": lambda s, n: re.sub(r"(?m)^(?!\Z)", " " * n, s),
    "pad_right(s: String, width: Int, ch: String = \" \") -> String": lambda s, n, ch: s.ljust(n, (ch or " ")[0]),
    "pad_left(s: String, width: Int, ch: String = \" \") -> String": lambda s, n, ch: s.rjust(n, (ch or " ")[0]),
    "truncate(s: String, n: Int) -> String": lambda s, n: s[: max(0, n)],
    **FMT, "debug(v: Any) -> String": lambda v: display(v, True)},
    "json": {"is_valid(s: String) -> Bool": lambda s: is_good(json_parse(s)), "stringify(v: Any) -> String": json_text,
    "stringify_pretty(v: Any, indent: Int = 2) -> String": pretty,
    "parse_as<T>(s: String) -> Result<T, JsonError>": json_parse,
    "value_as<T>(v: Any) -> Result<T, JsonError>": json_text,
    "parse(s: String) -> Result<Any, JsonError>": json_parse},
    "crypto": {"sha256(s: String) -> String": lambda s: hashlib.sha256(s.encode()).hexdigest(),
    "md5(s: String) -> String": lambda s: hashlib.md5(s.encode()).hexdigest()},
    "usage": {"last() -> ModelUsage": unused, "spent() -> ModelUsage": unused,
    "since(before: ModelUsage) -> ModelUsage": lambda before: unused(), "of<T>(f: fn() -> T) -> (T, ModelUsage)":
        lambda f: Tup((f(), unused()))}, "call": {"context() -> Any": lambda: None},
    "log": {f"{level}(v: Any)": lambda v: None for level in ("debug", "info", "warn", "error")},
    "prompt": {"template(t: String, vars: Map<String, Any>) -> String": template},
    "regex": {"find(pattern: String, s: String) -> Result<Option<RegexMatch>, RegexError>": first(record),
    "captures(pattern: String, s: String) -> Result<Option<Array<Option<String>>>, RegexError>": first(groups),
    "is_match(pattern: String, s: String) -> Result<Bool, RegexError>": lambda p, s: ok(bool(compiled(p).search(s))),
    "find_all(pattern: String, s: String) -> Result<Array<RegexMatch>, RegexError>":
        lambda p, s: ok(Arr(map(record, compiled(p).finditer(s)))),
    "replace(pattern: String, s: String, with: String) -> Result<String, RegexError>": expanded}}  # fmt: skip
# of what takes the evaluator first
WORLD: dict[str, Rows] = {
    "Core": {"flush_emits()": lambda w: None, "emit<T>(channel: String, payload: T = nil)": emitted,
    "assert(c: Any, msg: String = nil)": lambda w, c, m: asserted(w, cast(c, BOOL), m, "expected true"),
    "assert_eq(a: Any, b: Any, msg: String = nil)": lambda w, a, b, m: asserted(w, equal(a, b), m, "{} != {}", a, b),
    "assert_ne(a: Any, b: Any, msg: String = nil)":
        lambda w, a, b, m: asserted(w, not equal(a, b), m, "{} == {}, expected them to differ", a, b),
    "test_emits() -> Array<Emit>": lambda w: Arr(w.sent if w.host.testing else ()),
    "env(name: String) -> String?": lambda w, name: w.host.env_get(name)},
    "prompt": {"from_file(path: String, vars: Map<String, Any> = {}) -> Result<String, FsError>": from_file,
    "count_tokens(text: String, model: String = \"\") -> Int": lambda w, text, model: -(-4 * len(text.split()) // 3)},
    "budget": {"left() -> BudgetLeft": unlimited}, "media": media.OF_FILES,
    "date": {"now(zone: String = \"UTC\") -> Result<DateTime, DateError>":
        lambda w, zone: METHODS["date", "from_ms"].run(w.host.time_now_ms(), zone)},
    "time": {"measure<T>(f: fn() -> T) -> (T, Int)": measured}}  # fmt: skip
HEADERS, REPLY = "headers: Map<String, String> = {}", "Result<HttpResponse, HttpError>"
# of what the host does
HOSTED: dict[str, Rows] = {head: dict.fromkeys(signatures) for head, signatures in {
    "env": ["get(n: String) -> Option<String>", "has(n: String) -> Bool", "all() -> Map<String, String>",
    "require(n: String) -> Result<String, EnvError>", "args() -> Array<String>"], "crypto": ["uuid() -> String",
    "random_bytes(n: Int) -> String"], "time": ["now() -> String", "now_ms() -> Int", "sleep(ms: Int)"],
    "math": ["random() -> Float", "random_int(lo: Int, hi: Int) -> Int"], "fs": ["exists(p: String) -> Bool",
    "read_file(p: String) -> Result<String, FsError>", "write_file(p: String, s: String) -> Result<Nil, FsError>",
    "append_file(p: String, s: String) -> Result<Nil, FsError>", "remove_file(p: String) -> Result<Nil, FsError>",
    "list_dir(p: String) -> Result<Array<String>, FsError>", "file_size(p: String) -> Result<Int, FsError>",
    "read_bytes(p: String) -> Result<Bytes, FsError>", "write_bytes(p: String, b: Bytes) -> Result<Nil, FsError>",
    "make_dir(p: String) -> Result<Nil, FsError>", "temp_dir() -> Result<String, FsError>",
    "remove_dir(p: String, recursive: Bool = false) -> Result<Nil, FsError>"],
    "io": ["read_line() -> Result<Option<String>, IoError>", "read_all() -> Result<String, IoError>",
    "read_bytes() -> Result<Bytes, IoError>", "script(input: String)"],
    "http": [*(f"{name}(url: String, {HEADERS}) -> {REPLY}" for name in ("get", "delete")),
    *(f"{name}(url: String, body: Any = nil, {HEADERS}) -> {REPLY}" for name in ("post", "put")),
    f"request(method: String, url: String, body: Any = nil, {HEADERS}, timeout_ms: Int = 30000) -> {REPLY}"],
    }.items()}  # fmt: skip


# ---------------------------------------------------------------- filed under METHODS

STRUCTS = """struct Emit { channel: String, payload: Any }
struct RegexMatch { text: String, start: Int, end: Int, groups: Array<Option<String>> }
struct ModelUsage { attempts: Int, tokens_in: Int, tokens_out: Int, tokens_cached: Int, tokens_cache_write: Int,
    tokens_reasoning: Int, tokens_estimated: Int, cost: Float, unpriced: Int, hosted_calls: Int }
struct BudgetLeft { tokens: Int?, cost: Float?, model_calls: Int?, steps: Int?, seconds: Float? }
struct HttpResponse { status: Int, body: String, headers: Map<String, String> }
""" + RECORDS + media.RECORD


def file(table: dict[str, Rows], kind: str | None = None) -> None:
    """File functions under METHODS, by what they belong to. `kind` says how they are called, if not by that: "World"
    with the evaluator first."""
    source = "".join(f"trait {head} {{ {' '.join(f'fn {s};' for s in rows)} }}" for head, rows in table.items())
    module = Program({"library": source.encode()}, "library").root
    traits, module.names = module.names, {}  # the names denote what is predeclared
    for trait, rows in zip(traits.values(), table.values(), strict=True):
        itself = (trait.name, *((p,) for p in trait.params))
        for f, run in zip(trait.methods.values(), rows.values(), strict=True):
            more = {"run": run or hosted(trait.name, f.name), "kind": kind or trait.name}
            METHODS[trait.name, f.name] = Function(f.node, trait.scope, (trait.params, itself), **more)
        DECLARED.update((name, METHODS["Core", name]) for name in trait.methods if trait.name == "Core")


DECLARED.update(Program({"library": STRUCTS.encode()}, "library").root.names)
DECLARED["Media"].text = media.text
file(LIBRARY)
file(WORLD, "World")
file(HOSTED, "World")
