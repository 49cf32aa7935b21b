"""The modules of `std::` whose functions the host performs: files, environment, HTTP, time, logs, randomness, standard input,
commands, use, budgets and the context of a call (L-7); and digests, which need no host.

Hands on rows only, to the registry, which `modules.py` loads when a program names one of the modules. A function under
`std_effect` checks its arguments (P007, P013; P103 for a text that is too large or a value that nests too deep; where it shows a
large value, or hashes a long text, also what ends the run) and returns the payload of an effect, a request to the host, as a
tuple; a performer in `runtime/effects/` answers it with the value of the call, Err included. What is done, and whether it is
permitted, is the matter of the runtime. Its docstring is the text of the reference page, for readers of the language.
"""

from __future__ import annotations

from ..panics import Panic
from ..values import long_text
from ..values.limits import check_string_size
from ..values.metering import LARGE, spend
from ..values.objects import ModelUsage
from ..values.text import cut_to, display, quote, to_json
from .registry import binary, boolean, integer, key_text, mismatch, std, std_effect, std_prelude, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar


# ----------------------------------------------------------------
# `std::fs`: files, relative to the working directory (L-7.3). Payload: (operation, path, …).

READ = "fs:read"
WRITE = "fs:write"


@std_effect("fs", "read_file(p: String) -> Result<String, FsError>", effect="file", permission=READ, clause="L-7.3.1")
def read_file(p: Any) -> tuple[Any, ...]:
    """The text of a file in UTF-8."""
    return ("read_file", text(p))


@std_effect("fs", "write_file(p: String, s: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2")
def write_file(p: Any, s: Any) -> tuple[Any, ...]:
    """Makes the text the whole content of a file, which may be new."""
    return ("write_file", text(p), text(s))


@std_effect(
    "fs", "append_file(p: String, s: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2"
)
def append_file(p: Any, s: Any) -> tuple[Any, ...]:
    """Adds the text at the end of a file, which may be new."""
    return ("append_file", text(p), text(s))


@std_effect("fs", "remove_file(p: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2")
def remove_file(p: Any) -> tuple[Any, ...]:
    """Removes a file."""
    return ("remove_file", text(p))


@std_effect("fs", "exists(p: String) -> Bool", effect="file", permission=READ, clause="L-7.3.3")
def exists(p: Any) -> tuple[Any, ...]:
    """Whether there is a file or directory."""
    return ("exists", text(p))


@std_effect("fs", "list_dir(p: String) -> Result<Array<String>, FsError>", effect="file", permission=READ, clause="L-7.3.4")
def list_dir(p: Any) -> tuple[Any, ...]:
    """The sorted names in a directory."""
    return ("list_dir", text(p))


@std_effect("fs", "file_size(p: String) -> Result<Int, FsError>", effect="file", permission=READ, clause="L-7.3.4")
def file_size(p: Any) -> tuple[Any, ...]:
    """The size of a file in bytes."""
    return ("file_size", text(p))


@std_effect("fs", "read_bytes(p: String) -> Result<Bytes, FsError>", effect="file", permission=READ, clause="L-7.3.6")
def read_bytes(p: Any) -> tuple[Any, ...]:
    """The bytes of a file."""
    return ("read_bytes", text(p))


@std_effect("fs", "write_bytes(p: String, b: Bytes) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.6")
def write_bytes(p: Any, b: Any) -> tuple[Any, ...]:
    """Makes the bytes the whole content of a file, which may be new."""
    return ("write_bytes", text(p), binary(b))


@std_effect("fs", "make_dir(p: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.7")
def make_dir(p: Any) -> tuple[Any, ...]:
    """Makes a directory and those above it that are missing; one that is there stays as it is."""
    return ("make_dir", text(p))


@std_effect(
    "fs", "remove_dir(p: String, recursive: Bool = false) -> Result<Nil, FsError>", effect="file", permission=WRITE,
    clause="L-7.3.7",
)  # fmt: skip
def remove_dir(p: Any, recursive: Any) -> tuple[Any, ...]:
    """Removes an empty directory, or with `recursive` one with all that is in it; a link in it is removed, not followed."""
    return ("remove_dir", text(p), boolean(recursive))


@std_effect("fs", "temp_dir() -> Result<String, FsError>", effect="file", permission=WRITE, clause="L-7.3.8")
def temp_dir() -> tuple[Any, ...]:
    """The path of a new directory that this run may read and write, and that is removed at its end."""
    return ("temp_dir", "")


# ----------------------------------------------------------------
# `std::budget` (L-7.17): what is left of the budgets of the run.


@std_effect("budget", "left() -> BudgetLeft", effect="budget", clause="L-7.17.1")
def left() -> tuple[Any, ...]:
    """What is left of each kind, nil where nothing limits it; what is reserved for requests on their way is not left."""
    return ("left",)


# ----------------------------------------------------------------
# `std::call` (L-7.18): what code that runs within a call of a model or agent may know of it.


@std_effect("call", "context() -> Any", effect="call", clause="L-7.18.1")
def context() -> tuple[Any, ...]:
    """What the innermost call around this code that has one was given by `with_context`; nil where there is none."""
    return ("context",)


# ----------------------------------------------------------------
# `std::crypto` (L-7.9.5). Identifiers and random bytes are effects: tests and replay fix them (V-6.6).


@std("crypto", "sha256(s: String) -> String", clause="L-7.9.5", linear=True)
def sha256(s: Any) -> str:
    """The SHA-256 of the text in UTF-8, in lower-case hexadecimal digits."""
    import hashlib

    return _digest(hashlib.sha256(), text(s))


@std("crypto", "md5(s: String) -> String", clause="L-7.9.5", linear=True)
def md5(s: Any) -> str:
    """The MD5 of the text in UTF-8, in lower-case hexadecimal digits; not for security."""
    import hashlib

    return _digest(hashlib.md5(usedforsecurity=False), text(s))


def _digest(hashing: Any, s: str) -> str:
    if len(s) >= LARGE:
        spend(len(s))
    for block in long_text.blocks(s):
        hashing.update(block.encode())
    return str(hashing.hexdigest())


@std_effect("crypto", "uuid() -> String", effect="random", clause="L-7.9.5")
def uuid() -> tuple[Any, ...]:
    """A new UUID of version 4."""
    return ("uuid",)


@std_effect("crypto", "random_bytes(n: Int) -> String", effect="random", clause="L-7.9.5")
def random_bytes(n: Any) -> tuple[Any, ...]:
    """n secure random bytes in hexadecimal digits; a negative n panics with P013."""
    if integer(n) < 0:
        raise Panic("P013", f"number of bytes of `random_bytes` must not be negative: {n}")
    check_string_size(2 * n)
    return ("bytes", n)


# ----------------------------------------------------------------
# `std::env`: the variables granted to the program, and its arguments (L-7.4). Payload: (operation, name) or (operation,).


@std_effect("env", "get(n: String) -> Option<String>", effect="env", permission="env", clause="L-7.4.1")
def get(n: Any) -> tuple[Any, ...]:
    """The value of a variable, None when it is not set."""
    return ("get", text(n))


@std_effect("env", "has(n: String) -> Bool", effect="env", permission="env", clause="L-7.4.1")
def has(n: Any) -> tuple[Any, ...]:
    """Whether a variable is set."""
    return ("has", text(n))


@std_effect("env", "require(n: String) -> Result<String, EnvError>", effect="env", permission="env", clause="L-7.4.2")
def require(n: Any) -> tuple[Any, ...]:
    """The value of a variable, EnvError::NotSet when it is not set."""
    return ("require", text(n))


@std_effect("env", "all() -> Map<String, String>", effect="env", permission="env", clause="L-7.4.3")
def all_variables() -> tuple[Any, ...]:
    """The variables the program may read."""
    return ("all",)


@std_effect("env", "args() -> Array<String>", effect="env", clause="L-7.4.3")
def args() -> tuple[Any, ...]:
    """The arguments of the program."""
    return ("args",)


# ----------------------------------------------------------------
# `std::http` (L-7.2). Payload: (method, url, body text or nil, headers as a dict, timeout in milliseconds).

if TYPE_CHECKING:
    Prepare = TypeVar("Prepare", bound=Callable[..., Any])

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
DEFAULT_TIMEOUT_MS = 30_000
RESULT = "Result<HttpResponse, HttpError>"


def _request(method: str, url: Any, body: Any, headers: Any, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> tuple[Any, ...]:
    """Return the payload of a request. Raises P007 for headers that are not of Strings and for a URL that is no String. A String
    body is sent as it is, any other than nil as JSON with its content type (L-7.2.3)."""
    sent = {key_text(name): text(value) for name, value in table(headers).items()}
    if body is not None and type(body) is not str:
        body = to_json(body)
        if not any(name.lower() == "content-type" for name in sent):
            sent["content-type"] = "application/json"
    return (method, text(url), body, sent, timeout_ms)


def _effect(signature: str, clause: str = "L-7.2.1") -> Callable[[Prepare], Prepare]:
    return std_effect("http", f"{signature} -> {RESULT}", effect="http", permission="net", clause=clause)


@_effect("get(url: String, headers: Map<String, String> = {})")
def http_get(url: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a GET request; every HTTP status is Ok."""
    return _request("GET", url, None, headers)


@_effect("delete(url: String, headers: Map<String, String> = {})")
def delete(url: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a DELETE request; every HTTP status is Ok."""
    return _request("DELETE", url, None, headers)


@_effect("post(url: String, body: Any = nil, headers: Map<String, String> = {})")
def post(url: Any, body: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a POST request; every HTTP status is Ok."""
    return _request("POST", url, body, headers)


@_effect("put(url: String, body: Any = nil, headers: Map<String, String> = {})")
def put(url: Any, body: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a PUT request; every HTTP status is Ok."""
    return _request("PUT", url, body, headers)


@_effect(
    "request(method: String, url: String, body: Any = nil, headers: Map<String, String> = {}, timeout_ms: Int = 30000)",
    "L-7.2.2",
)
def request(method: Any, url: Any, body: Any, headers: Any, timeout_ms: Any) -> tuple[Any, ...]:
    """Sends a request by any of GET, POST, PUT, DELETE, PATCH, HEAD; another method panics with P013."""
    if text(method).upper() not in METHODS:
        raise Panic("P013", f"method of `request` must be one of {', '.join(METHODS)}, not {quote(cut_to(method, 40))}")
    if integer(timeout_ms) < 1:
        raise Panic("P013", f"timeout of `request` must be at least 1 ms, not {timeout_ms}")
    return _request(method.upper(), url, body, headers, timeout_ms)


# ----------------------------------------------------------------
# `std::io` (L-7.11): what stands on standard input. Payload: (operation, text or nil).
#
# It needs no permission: standard input is handed to a program by whoever starts it, as its arguments are, and a host that
# hands it none has none to lose (L-7.11.4).


@std_effect("io", "read_line() -> Result<Option<String>, IoError>", effect="io", clause="L-7.11.1")
def read_line() -> tuple[Any, ...]:
    """The next line of standard input without its line end, None at the end."""
    return ("read_line", None)


@std_effect("io", "read_all() -> Result<String, IoError>", effect="io", clause="L-7.11.2")
def read_all() -> tuple[Any, ...]:
    """All that is left of standard input."""
    return ("read_all", None)


@std_effect("io", "read_bytes() -> Result<Bytes, IoError>", effect="io", clause="L-7.11.2")
def io_read_bytes() -> tuple[Any, ...]:
    """All that is left of standard input, as bytes."""
    return ("read_bytes", None)


@std_effect("io", "script(input: String) -> Nil", effect="io", clause="L-7.11.3")
def script(input: Any) -> tuple[Any, ...]:
    """In a `@test`: what standard input holds from now on; elsewhere P013."""
    return ("script", text(input))


# ----------------------------------------------------------------
# `std::log`: messages to the host, which holds level and sink (L-7.9.2). Payload: (level, text).


@std_effect("log", "debug(v: Any) -> Nil", effect="log", clause="L-7.9.2")
def debug(v: Any) -> tuple[Any, ...]:
    """Logs the Display text at level DEBUG."""
    return ("DEBUG", display(v))


@std_effect("log", "info(v: Any) -> Nil", effect="log", clause="L-7.9.2")
def info(v: Any) -> tuple[Any, ...]:
    """Logs the Display text at level INFO."""
    return ("INFO", display(v))


@std_effect("log", "warn(v: Any) -> Nil", effect="log", clause="L-7.9.2")
def warn(v: Any) -> tuple[Any, ...]:
    """Logs the Display text at level WARN."""
    return ("WARN", display(v))


@std_effect("log", "error(v: Any) -> Nil", effect="log", clause="L-7.9.2")
def error(v: Any) -> tuple[Any, ...]:
    """Logs the Display text at level ERROR."""
    return ("ERROR", display(v))


# ----------------------------------------------------------------
# `std::time` (L-7.6). The clock is an effect: tests and replay run on a virtual one (V-6.6).


@std_effect("time", "now() -> String", effect="clock", clause="L-7.6.1")
def now() -> tuple[Any, ...]:
    """The time as UTC text, `2030-01-02T03:04:05.678Z`."""
    return ("now",)


@std_effect("time", "now_ms() -> Int", effect="clock", clause="L-7.6.1")
def now_ms() -> tuple[Any, ...]:
    """Milliseconds since 1970."""
    return ("now_ms",)


@std_effect("time", "sleep(ms: Int) -> Nil", effect="sleep", clause="L-7.6.2")
def sleep(ms: Any) -> tuple[Any, ...]:
    """Waits while other tasks run; a negative time is 0."""
    return (max(0, integer(ms)),)


std_prelude(
    "time", "measure<T>(f: fn() -> T) -> (T, Int)", clause="L-7.6.3", doc="The result of f and the milliseconds it took.",
    source="let start = std::time::now_ms(); let result = f(); (result, std::time::now_ms() - start)",
)  # fmt: skip


# ----------------------------------------------------------------
# What the tools of `std::tools` are made of (O-4.35). Payload: (command, time limit in milliseconds).
#
# The resolver offers these functions to the text of the library alone: a program has the tools.


@std_effect(
    "tools", "run_command(command: String, timeout_ms: Int) -> Result<String, ToolError>", effect="command", permission="run",
    clause="O-4.35",
)  # fmt: skip
def run_command(command: Any, timeout_ms: Any) -> tuple[str, int]:
    """Runs a command of words, without a shell, and gives what it wrote."""
    if integer(timeout_ms) < 1:
        raise Panic("P013", f"timeout of `exec` must be at least 1 ms, not {timeout_ms}")
    return (text(command), timeout_ms)


# ----------------------------------------------------------------
# `std::usage` (L-7.16): what calls of models have used. What is counted where is the host's (O-1.132).


@std_effect("usage", "last() -> ModelUsage", effect="usage", clause="L-7.16.1")
def last() -> tuple[Any, ...]:
    """What the last call of this task used, all of its requests together; all zero before the first."""
    return ("last",)


@std_effect("usage", "spent() -> ModelUsage", effect="usage", clause="L-7.16.2")
def spent() -> tuple[Any, ...]:
    """What this task, and those that it started, have used so far."""
    return ("spent",)


@std_effect("usage", "since(before: ModelUsage) -> ModelUsage", effect="usage", clause="L-7.16.3")
def since(before: Any) -> tuple[Any, ...]:
    """What `spent()` has grown by since it was `before`."""
    return ("since", before if type(before) is ModelUsage else mismatch("ModelUsage", before))


std_prelude(
    "usage", "of<T>(f: fn() -> T) -> (T, ModelUsage)", clause="L-7.16.4", doc="The result of f and what it used.",
    source="let before = std::usage::spent(); let result = f(); (result, std::usage::since(before))",
)  # fmt: skip
