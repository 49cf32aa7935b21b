"""What needs the evaluator, and what reaches the host, behind permissions (L-7.0.2, O-4.12 to O-4.21, G-8, G-10).

The evaluator comes first. Its `host` holds `permissions`, `env`, `args`, `testing`, the clock `now`, a generator `random`
and functions: `sleep`, `exchange` for one hop of HTTP, and those of `std::fs`. What they cannot do they raise as `Failure`.
"""

import datetime
import ipaddress
import posixpath
import re
import uuid
from urllib.parse import urljoin, urlsplit

from ..scopes import RECORDS
from ..types import BOOL, cast
from ..values import (NONE, Any, Arr, Case, Err, Map, Panic, Rec, Tup, display, equal, err, json_text, limited, ok,
    quoted, some, stop)  # fmt: skip
from .table import map_good, template

CREDENTIALS = ("authorization", "cookie", "proxy-authorization")
SECRET = {"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"}
PORTS, VERBS = {"http": 80, "https": 443}, ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
EPOCH = datetime.datetime(1970, 1, 1)


class Failure(Panic):
    """An Err of the family of the function; where it gives no Result, the panic P407."""

    def __init__(self, variant: str, message: str, **fields: Any) -> None:
        super().__init__("P407", message)
        self.variant, self.fields = variant, fields


def failing(family: str, key: str, run: Any) -> Any:
    """A function that gives a Result; its first argument is a field of the errors."""

    def call(world: Any, first: str, *rest: Any) -> Case:
        try:
            return ok(run(world, first, *rest))
        except Failure as failure:
            return err(Err(family, failure.variant, failure.message, {key: first, **failure.fields}))

    return call


def record(fields: dict[str, Any]) -> Map:
    return Map({(str, name): value for name, value in fields.items()})


def cleaned(world: Any, text: str, form: Any = str) -> str:
    """Without the values of secrets that were read (G-10.3)."""
    for value, name in world.secrets.items():
        text = text.replace(form(value), f"<secret {name}>")
    return text


def emitted(world: Any, channel: str, payload: Any) -> None:
    text = cleaned(world, json_text(payload), lambda value: quoted(value)[1:-1])
    world.emits.append((channel, limited(text, len(text.encode()), "emit payload", 1 << 20)))


def emit(world: Any, channel: str, payload: Any) -> None:
    emitted(world, channel, payload)
    world.sent.append(Rec(RECORDS["Emit"], {"channel": channel, "payload": payload}))


def asserted(world: Any, holds: bool, message: str | None, form: str, *values: Any) -> None:
    """O-8.6 to O-8.10."""
    world.asserts += 1
    if not holds:
        text = "" if message and not values else form.format(*(display(v, True) for v in values))
        raise Panic("P011", ": ".join(filter(None, ["assertion failed", message, text])))


def permitted(world: Any, capability: str, fits: Any, channel: str, **access: Any) -> None:
    """`fits`: whether the scope of a grant, empty in a bare one, holds what is asked for."""
    kind, _, scope = capability.partition("=")
    grants = [grant.partition("=") for grant in world.host.permissions]
    if not any(granted == kind and fits(held) for granted, _, held in grants):
        denial = {"capability": capability, "flag": f"--allow-{kind.replace(':', '-')}={scope}"}
        emitted(world, "audit:denied", record(denial))
        raise Failure("PermissionDenied", f"permission denied: {capability} (grant it with {denial['flag']})", **denial)
    emitted(world, f"audit:{channel}", record(access))


# ---------------------------------------------------------------- variables, files


def known(world: Any, names: Any) -> Map:
    """Those of the variables that are set; secrets among them are noted (G-10.5)."""
    found = {name: world.host.env[name] for name in names if name in world.host.env}
    secrets = [n for n, value in found.items() if len(value) >= 6 and SECRET & {*n.upper().split("_")}]
    world.secrets.update((found[name], name) for name in secrets)
    return record(found)


def variable(world: Any, name: str) -> str | None:
    permitted(world, f"env={name}", lambda scope: scope in ("", name), "env_access", variable=name)
    return known(world, [name]).get((str, name))


def required(world: Any, name: str) -> str:
    value = variable(world, name)
    return stop(Failure("NotSet", f"{name} is not set")) if value is None else value  # type: ignore[no-any-return]


def variables(world: Any) -> Map:
    emitted(world, "audit:env_access", record({"variable": "*"}))
    granted = {grant.removeprefix("env=") for grant in world.host.permissions}
    return known(world, sorted(world.host.env if "env" in granted else granted))


def filed(operation: str, kind: str = "read") -> Any:
    """A function of the host, on a path that is permitted (O-4.13, O-4.14, L-7.3.5); this world has no links."""

    def run(world: Any, path: str, *rest: Any) -> Any:
        plain = posixpath.normpath(path)
        below = lambda scope: not scope or f"{plain}/".startswith(f"{posixpath.normpath(scope)}/")  # noqa: E731
        permitted(world, f"fs:{kind}={path}", below, "file_access", operation=operation, path=path)
        return getattr(world.host, operation)(plain, *rest)

    return run if operation == "exists" else failing("FsError", "path", run)


# ---------------------------------------------------------------- HTTP


def target(url: str) -> tuple[Any, str, int, bool]:
    """The parts of a URL, its host and port, and whether that is inside (G-8.3); other names than `localhost` are not."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port or PORTS[parts.scheme]
        is_name = host and ":" not in host and not re.fullmatch(r"(.*\.)?([0-9]+|0x[0-9a-f]*)", host)
        address: Any = ipaddress.ip_address({"localhost": "127.0.0.1"}.get(host, "1.1.1.1" if is_name else host))
    except (KeyError, ValueError):
        host = ""
    if not host or re.search(r"[\0-\x20\x7f]", url):
        raise Failure("InvalidUrl", f"invalid URL: {url}")
    address = getattr(address, "ipv4_mapped", None) or address
    return parts, host, port, address.is_multicast or not address.is_global


def reaches(scope: str, host: str, port: int, inside: bool) -> bool:
    """O-4.15."""
    granted = urlsplit(f"//{scope}")
    name = granted.hostname or ""
    named = name == host or name.startswith("*.") and host.endswith(name[1:])
    return named and granted.port in (None, port) or not scope and not inside


def requested(world: Any, url: str, verb: str, body: Any, headers: Any, timeout_ms: int = 0) -> Rec:
    """L-7.2, G-8.3: every hop is an access of its own."""
    verb, origin, here = verb.upper() if verb.upper() in VERBS else stop(Panic("P013", verb)), None, url
    text, given = body if body is None or isinstance(body, str) else json_text(body), {n: v for (_, n), v in (headers or {}).items()}
    if text is not body and "content-type" not in map(str.lower, given):
        given["content-type"] = "application/json"
    for _ in range(6):
        parts, host, port, inside = target(here)
        name = host if port == PORTS[parts.scheme] else f"{host}:{port}"
        permitted(world, f"net={host}:{port}", lambda scope: reaches(scope, host, port, inside), "net_access", host=host, port=port)
        if origin not in (None, (parts.scheme, name)):
            given = {name: value for name, value in given.items() if name.lower() not in CREDENTIALS}
        origin, here = (parts.scheme, name), parts._replace(netloc=name, path=parts.path or "/", fragment="").geturl()
        status, found, content = world.host.exchange(verb, here, given, text)
        if status not in (301, 302, 303, 307, 308) or "location" not in found:
            return Rec(RECORDS["HttpResponse"], {"status": status, "body": content, "headers": record(found)})
        here = urljoin(here, found["location"])
        if status == 303 or status < 303 and verb == "POST":
            verb, text = "GET", None
    raise Failure("Network", f"{host}: too many redirects")


# ---------------------------------------------------------------- the clock, chance, the table


def measured(world: Any, f: Any) -> Tup:
    start = world.host.now
    return Tup((f(), world.host.now - start))


def at_least(least: int, value: int, name: str) -> int:
    return value if value >= least else stop(Panic("P013", f"{name}: {value}"))


ask = failing("HttpError", "url", requested)
lookup = failing("EnvError", "name", required)
read = filed("read_file")
REPLY, HEADERS = "Result<HttpResponse, HttpError>", "headers: Map<String, String> = {}"
HOST: dict[str, dict[str, Any]] = {
    "World": {"flush_emits()": lambda w: None, "emit<T>(channel: String, payload: T = nil)": emit,
    "assert(c: Any, msg: String = nil)": lambda w, c, m: asserted(w, cast(c, BOOL), m, "expected true"),
    "assert_eq(a: Any, b: Any, msg: String = nil)": lambda w, a, b, m: asserted(w, equal(a, b), m, "{} != {}", a, b),
    "assert_ne(a: Any, b: Any, msg: String = nil)":
        lambda w, a, b, m: asserted(w, not equal(a, b), m, "{} == {}, expected them to differ", a, b),
    "test_emits() -> Array<Emit>": lambda w: Arr(w.sent if w.host.testing else ()),
    "env(name: String) -> String?": variable},
    "env": {"get(name: String) -> Option<String>": lambda w, n: NONE if (v := variable(w, n)) is None else some(v),
    "has(name: String) -> Bool": lambda w, n: variable(w, n) is not None, "all() -> Map<String, String>": variables,
    "require(name: String) -> Result<String, EnvError>": lookup, "args() -> Array<String>": lambda w: Arr(w.host.args)},
    "fs": {"read_file(p: String) -> Result<String, FsError>": read, "exists(p: String) -> Bool": filed("exists"),
    "write_file(p: String, s: String) -> Result<Nil, FsError>": filed("write_file", "write"),
    "append_file(p: String, s: String) -> Result<Nil, FsError>": filed("append_file", "write"),
    "remove_file(p: String) -> Result<Nil, FsError>": filed("remove_file", "write"),
    "list_dir(p: String) -> Result<Array<String>, FsError>": filed("list_dir"),
    "file_size(p: String) -> Result<Int, FsError>": filed("file_size")},
    "http": {f"get(url: String, {HEADERS}) -> {REPLY}": lambda w, url, h: ask(w, url, "GET", None, h),
    f"delete(url: String, {HEADERS}) -> {REPLY}": lambda w, url, h: ask(w, url, "DELETE", None, h),
    f"post(url: String, body: Any = nil, {HEADERS}) -> {REPLY}": lambda w, url, b, h: ask(w, url, "POST", b, h),
    f"put(url: String, body: Any = nil, {HEADERS}) -> {REPLY}": lambda w, url, b, h: ask(w, url, "PUT", b, h),
    f"request(method: String, url: String, body: Any = nil, {HEADERS}, timeout_ms: Int = 30000) -> {REPLY}":
        lambda w, verb, url, *rest: ask(w, url, verb, *rest)},
    "time": {"now() -> String": lambda w: f"{(EPOCH + datetime.timedelta(milliseconds=w.host.now)).isoformat('T', 'milliseconds')}Z",
    "now_ms() -> Int": lambda w: w.host.now, "sleep(ms: Int)": lambda w, ms: w.host.sleep(max(0, ms)),
    "measure<T>(f: fn() -> T) -> (T, Int)": measured},
    "math": {"random() -> Float": lambda w: w.host.random.random(),
    "random_int(lo: Int, hi: Int) -> Int": lambda w, lo, hi: w.host.random.randrange(lo, at_least(lo + 1, hi, "random_int"))},
    "crypto": {"uuid() -> String": lambda w: str(uuid.UUID(bytes=w.host.random.randbytes(16), version=4)),
    "random_bytes(n: Int) -> String": lambda w, n: w.host.random.randbytes(at_least(0, n, "random_bytes")).hex()},
    "prompt": {"from_file(path: String, vars: Map<String, Any> = {}) -> Result<String, FsError>":
        lambda w, path, names: map_good(read(w, path), lambda text: template(text, names or Map())),
    "count_tokens(text: String, model: String = \"\") -> Int": lambda w, text, model: -(-4 * len(text.split()) // 3)},
}  # fmt: skip
