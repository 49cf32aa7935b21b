"""What needs the evaluator, and what its host does for it (L-7.2 to L-7.7; permissions are the host's).

These functions take the evaluator first. The host has one for each that is `hosted`, `fs_exists` for `std::fs::exists`:
it gives plain data, from which a value of the result type is built, or raises `Failure`.
"""

import time

from ..scopes import METHODS, RECORDS
from ..types import BOOL, built, cast
from ..values import Any, Arr, Case, Map, Panic, Rec, Tup, display, equal, json_text, limited, ok
from .table import Rows, from_json, map_good, template


def hosted(head: str, name: str) -> Any:
    def run(world: Any, *given: Any) -> Any:
        made, type_ = getattr(world.host, f"{head}_{name}")(*given), METHODS[head, name].signature.result
        is_result = type_[0] == "Result"
        value = built(from_json(made), type_[1] if is_result else type_, None)
        return ok(value) if is_result else value

    return run


def requested(world: Any, url: str, method: str, body: Any, headers: Any, timeout_ms: int = 0) -> Any:
    """L-7.2.1 to L-7.2.3."""
    if method.upper() not in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"):
        raise Panic("P013", f"no method of HTTP: {method}")
    given, plain = {name: value for (_, name), value in (headers or {}).items()}, body is None or isinstance(body, str)
    if not plain and "content-type" not in map(str.lower, given):
        given["content-type"] = "application/json"
    return hosted("http", "request")(world, method.upper(), url, body if plain else json_text(body), given)


def emitted(world: Any, channel: str, payload: Any) -> None:
    text = json_text(payload)
    world.host.emits.append((channel, limited(text, len(text.encode()), "emit payload", 1 << 20)))
    world.sent.append(Rec(RECORDS["Emit"], {"channel": channel, "payload": payload}))


def asserted(world: Any, holds: bool, message: str | None, form: str, *values: Any) -> None:
    """O-8.6 to O-8.10."""
    world.asserts += 1
    if not holds:
        text = "" if message and not values else form.format(*(display(v, True) for v in values))
        raise Panic("P011", ": ".join(filter(None, ["assertion failed", message, text])))


def measured(world: Any, f: Any) -> Tup:
    start = world.host.time_now_ms()
    return Tup((f(), world.host.time_now_ms() - start))


def instant(world: Any) -> str:
    now = world.host.time_now_ms()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"


def from_file(world: Any, path: str, names: Map | None) -> Case:
    return map_good(METHODS["fs", "read_file"].run(world, path), lambda text: template(text, names or Map()))


REPLY, HEADERS = "Result<HttpResponse, HttpError>", "headers: Map<String, String> = {}"
HOST: dict[str, Rows] = {
    "World": {"flush_emits()": lambda w: None, "emit<T>(channel: String, payload: T = nil)": emitted,
    "assert(c: Any, msg: String = nil)": lambda w, c, m: asserted(w, cast(c, BOOL), m, "expected true"),
    "assert_eq(a: Any, b: Any, msg: String = nil)": lambda w, a, b, m: asserted(w, equal(a, b), m, "{} != {}", a, b),
    "assert_ne(a: Any, b: Any, msg: String = nil)":
        lambda w, a, b, m: asserted(w, not equal(a, b), m, "{} == {}, expected them to differ", a, b),
    "test_emits() -> Array<Emit>": lambda w: Arr(w.sent if w.host.testing else ()),
    "env(name: String) -> String?": lambda w, name: w.host.env_get(name)},
    "http": {f"get(url: String, {HEADERS}) -> {REPLY}": lambda w, url, h: requested(w, url, "GET", None, h),
    f"delete(url: String, {HEADERS}) -> {REPLY}": lambda w, url, h: requested(w, url, "DELETE", None, h),
    f"post(url: String, body: Any = nil, {HEADERS}) -> {REPLY}": lambda w, url, b, h: requested(w, url, "POST", b, h),
    f"put(url: String, body: Any = nil, {HEADERS}) -> {REPLY}": lambda w, url, b, h: requested(w, url, "PUT", b, h),
    f"request(method: String, url: String, body: Any = nil, {HEADERS}, timeout_ms: Int = 30000) -> {REPLY}":
        lambda w, method, url, *rest: requested(w, url, method, *rest)},
    "time": {"now() -> String": instant, "measure<T>(f: fn() -> T) -> (T, Int)": measured},
    "prompt": {"from_file(path: String, vars: Map<String, Any> = {}) -> Result<String, FsError>": from_file,
    "count_tokens(text: String, model: String = \"\") -> Int": lambda w, text, model: -(-4 * len(text.split()) // 3)}}
for head, signatures in {"env": ["get(n: String) -> Option<String>", "has(n: String) -> Bool",
    "require(n: String) -> Result<String, EnvError>", "all() -> Map<String, String>", "args() -> Array<String>"],
    "fs": ["read_file(p: String) -> Result<String, FsError>", "write_file(p: String, s: String) -> Result<Nil, FsError>",
    "append_file(p: String, s: String) -> Result<Nil, FsError>", "remove_file(p: String) -> Result<Nil, FsError>",
    "list_dir(p: String) -> Result<Array<String>, FsError>", "file_size(p: String) -> Result<Int, FsError>",
    "exists(p: String) -> Bool"], "crypto": ["uuid() -> String", "random_bytes(n: Int) -> String"],
    "math": ["random() -> Float", "random_int(lo: Int, hi: Int) -> Int"],
    "time": ["now_ms() -> Int", "sleep(ms: Int)"]}.items():  # fmt: skip
    HOST.setdefault(head, {}).update((s, hosted(head, s.partition("(")[0])) for s in signatures)
