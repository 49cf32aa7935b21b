"""The host of the second evaluator: the world of one run, behind permissions (O-4.12 to O-4.21, G-8, G-10).

Hands on `Host` and `compact` to `oracle.py`. Files are a table without links, chance is seeded; HTTP and time go
through the runner. For each function that the evaluator leaves to the host (`HOSTED` in `oracle/library/table.py`)
there is one method here, `fs_exists` for `std::fs::exists`: it takes and returns plain data, and raises `Failure` for
an error of its family, `Panic` for a panic. Such a method has a docstring only where the specification does not say
all. It is written from the specification, as the evaluator is, and imports nothing of the implementation (C-12.1).
"""

from __future__ import annotations

import ipaddress
import json
import posixpath
import random
import re
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

from conformance.oracle.values import Failure, Panic, Text

Json = dict[str, Any]
Fits = Callable[[str], bool]
PORTS = {"http": 80, "https": 443}
VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
CREDENTIALS = ("authorization", "cookie")
AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^][:]+)(:[0-9]*)?")
HEADER = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+: [ -~]*")
FRAMING = re.compile(
    r"(?i)host|content-length|transfer-encoding|connection|upgrade|te|trailer|keep-alive|expect|http2-settings|proxy-.*"
)
SECRET = {"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"}


class Host:
    """The world of one run as its message `op` describes it. `ask` sends the runner a message and returns its answer.
    `files` has the content of files by path, `folders` the paths of folders, `.` among them; `emits` are channel and
    JSON text of each emit, audits included; `now` is in milliseconds since 1970; `input` is None without standard
    input."""

    def __init__(self, op: Json, ask: Callable[[Json], Json]) -> None:
        self.ask, self.testing, self.now, self.random = ask, op["mode"] == "test", op["now"], random.Random(op["seed"])
        self.grants = [grant.partition("=")[::2] for grant in op["permissions"]]
        self.args, self.files = op["args"], {path: content.encode() for path, content in op["fs"].items()}
        self.input = b"" if self.testing else None if op.get("stdin") is None else op["stdin"].encode()
        self.env = {name: value for name, value in sorted(op["env"].items()) if {"", name} & self.scopes("env")}
        self.folders = {"."}
        for path in self.files:
            while path := posixpath.dirname(path):
                self.folders.add(path)
        self.emits: list[tuple[str, str]] = []
        self.temporary, self.library = set(), ""  # the library whose code runs, "" for the program

    # ------------------------------------------------------------ secrets, permissions

    def cleaned(self, text: str, form: Callable[[str], str] = str) -> str:
        """Return a text without the values of secrets (G-10.3, G-10.5): what the program shows passes here. `form`
        turns a value into the way in which it would stand in the text."""
        for name, value in self.env.items():
            if len(value) >= 6 and SECRET & set(name.upper().split("_")):
                text = text.replace(form(value), f"<secret {name}>")
        return text

    def shown(self) -> list[tuple[str, str]]:
        """Return the emits without secrets."""
        return [(channel, self.cleaned(text, lambda secret: compact(secret)[1:-1])) for channel, text in self.emits]

    def scopes(self, kind: str, library: str = "") -> set[str]:
        """Return the scopes of the grants of one kind to a library, "" for the program; that of a bare one is an empty
        text (P-3.2)."""
        start = f"{library}:{kind}"
        own = {text[len(start) + 1 :] for grant, text in self.grants if grant == "lib" and text.startswith(start)}
        return own if library else {scope for granted, scope in self.grants if granted == kind}

    def permit(self, kind: str, scope: str, fits: Fits, channel: str, fields: Json, **access: Any) -> None:
        """Allow an access or raise Failure (O-4.19, O-4.21); either is audited. `fits` says whether the scope of a
        grant covers what is asked for; `fields` are those of the error, `access` those of the audit."""
        library = {"library": self.library} if self.library else {}
        if all(any(map(fits, self.scopes(kind, whose))) for whose in {"", self.library}):
            self.emits.append((f"audit:{channel}", compact({**access, **library})))
            return
        own = [f"--allow-lib={self.library}:{kind}={scope}"] if library else []
        flags = [f"--allow-{kind.replace(':', '-')}={scope}", *own]
        denial = {"capability": f"{kind}={scope}", "flag": flags[-1]}
        self.emits.append(("audit:denied", compact({**denial, **library})))
        of = f" for the library {self.library}" if library else ""
        message = f"permission denied: {denial['capability']}{of} (grant it with {' '.join(flags)})"
        raise Failure("PermissionDenied", message, **fields, **denial)

    # ------------------------------------------------------------ std::env, std::math, std::crypto, std::time

    def env_get(self, name: str) -> str | None:
        self.permit("env", name, lambda scope: scope in ("", name), "env_access", {"name": name}, variable=name)
        return self.env.get(name)

    def env_has(self, name: str) -> bool:
        return self.env_get(name) is not None

    def env_require(self, name: str) -> str:
        value = self.env_get(name)
        if value is None:
            raise Failure("NotSet", f"{name} is not set", name=name)
        return value

    def env_all(self) -> Json:
        library = {"library": self.library} if self.library else {}
        self.emits.append(("audit:env_access", compact({"variable": "*", **library})))
        return {name: v for name, v in self.env.items() if self.scopes("env", self.library) & {"", name}}

    def env_args(self) -> list[str]:
        return self.args

    def math_random(self) -> float:
        return self.random.random()

    def math_random_int(self, low: int, high: int) -> int:
        if low >= high:
            raise Panic("P013", f"random_int: {low} is not below {high}")
        return self.random.randrange(low, high)

    def crypto_uuid(self) -> str:
        return str(uuid.UUID(bytes=self.random.randbytes(16), version=4))

    def crypto_random_bytes(self, count: int) -> str:
        if count < 0:
            raise Panic("P013", f"random_bytes: {count}")
        return self.random.randbytes(count).hex()

    def time_now_ms(self) -> int:
        return self.now

    def time_now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.now // 1000)) + f".{self.now % 1000:03}Z"

    def time_sleep(self, milliseconds: int) -> None:
        until = self.now + milliseconds
        while self.now < until:
            self.now = self.ask({"event": "idle", "until": until})["now"]

    # ------------------------------------------------------------ std::fs

    def path(self, operation: str, path: str, kind: str = "fs:read") -> str:
        """Return a path as the tables have it. Raise Failure if it may not be used (O-4.13, O-4.14, L-7.3.5)."""
        plain = posixpath.normpath(path)
        inside = plain.split("/")[0] not in ("", "..")  # a bare grant is of the folder, and of nothing else

        def fits(scope: str) -> bool:
            return inside and (not scope or f"{plain}/".startswith(f"{posixpath.normpath(scope)}/"))

        own = any(f"{plain}/".startswith(f"{folder}/") for folder in self.temporary)
        fitting = (lambda _: True) if own else fits
        self.permit(kind, path, fitting, "file_access", {"path": path}, operation=operation, path=path)
        return plain

    def file(self, path: str, written: str) -> bytes:
        """Return the content of a path that must be a file; raise Failure for any other. `written` is the path in the
        message."""
        if path in self.folders:
            raise Failure("NotAFile", f"{written}: not a file", path=written)
        if path not in self.files:
            raise Failure("NotFound", f"{written}: no such file or directory", path=written)
        return self.files[path]

    def fs_read_bytes(self, path: str, operation: str = "read_bytes") -> bytes:
        return self.file(self.path(operation, path), path)

    def fs_read_file(self, path: str) -> str:
        try:
            return self.fs_read_bytes(path, "read_file").decode()
        except UnicodeDecodeError:
            raise Failure("InvalidUtf8", f"{path}: no UTF-8", path=path) from None

    def fs_file_size(self, path: str) -> int:
        return len(self.fs_read_bytes(path, "file_size"))

    def fs_make_dir(self, path: str) -> None:
        plain = self.path("make_dir", path, "fs:write")
        if plain in self.files:
            raise Failure("Io", f"{path}: there is a file of that name", path=path)
        while plain:
            self.folders.add(plain)
            plain = posixpath.dirname(plain)

    def fs_remove_dir(self, path: str, recursive: bool) -> None:
        plain = self.path("remove_dir", path, "fs:write")
        below = {inner for inner in {*self.files, *self.folders} if inner.startswith(f"{plain}/")}
        if plain not in self.folders or below and not recursive:
            absent = plain not in {*self.files, *self.folders}
            raise Failure("NotFound" if absent else "Io", f"{path}: no empty directory", path=path)
        self.folders -= {plain, *below}
        self.files = {inner: content for inner, content in self.files.items() if inner not in below}

    def fs_temp_dir(self) -> str:
        fields = {"path": ""}
        self.permit("fs:write", "/tmp", lambda scope: True, "file_access", fields, operation="temp_dir", path="/tmp")
        folder = f"/tmp/concerto-{len(self.temporary)}"
        self.temporary.add(folder)
        self.folders.add(folder)
        return folder

    def fs_exists(self, path: str) -> bool:
        return self.path("exists", path) in {*self.files, *self.folders}

    def fs_list_dir(self, path: str) -> list[str]:
        plain = self.path("list_dir", path)
        if plain not in self.folders:
            self.file(plain, path)
            raise Failure("Io", f"{path}: not a directory", path=path)
        every = {*self.files, *self.folders} - {"."}
        return sorted(posixpath.basename(inner) for inner in every if (posixpath.dirname(inner) or ".") == plain)

    def written(self, operation: str, path: str, content: bytes, keep: bool) -> None:
        """Write a file, after what it holds if `keep` is true. Raise Failure for a path that may not or cannot be
        written."""
        plain = self.path(operation, path, "fs:write")
        if (posixpath.dirname(plain) or ".") in self.folders and plain not in self.folders:
            self.files.setdefault(plain, b"")
        self.files[plain] = self.file(plain, path) * keep + content

    def fs_write_file(self, path: str, text: str) -> None:
        self.written("write_file", path, text.encode(), keep=False)

    def fs_write_bytes(self, path: str, content: bytes) -> None:
        self.written("write_bytes", path, content, keep=False)

    def fs_append_file(self, path: str, text: str) -> None:
        self.written("append_file", path, text.encode(), keep=True)

    def fs_remove_file(self, path: str) -> None:
        plain = self.path("remove_file", path, "fs:write")
        self.file(plain, path)
        del self.files[plain]

    # ------------------------------------------------------------ std::io

    def io_read_bytes(self) -> bytes:
        if self.input is None:
            raise Failure("Unavailable", "no standard input")
        content, self.input = self.input, b""
        return content

    def io_read_all(self) -> str:
        return self.io_read_bytes().decode()

    def io_read_line(self) -> str | None:
        line, end, self.input = self.io_read_bytes().partition(b"\n")
        return line.decode().removesuffix("\r" if end else "") if line or end else None

    def io_script(self, content: str) -> None:
        if not self.testing:
            raise Panic("P013", "io::script outside of a test")
        self.input = content.encode()

    # ------------------------------------------------------------ std::http

    def opened(self, url: str, first: str, base: str = "") -> tuple[str, tuple[str, str]]:
        """Return a URL as it is sent, and its origin: scheme, and host with port (O-4.15, G-8.3). Raise Failure for
        no URL, and for a host that may not be reached. `first` is the URL that the program asked for, `base` the one
        that `url` is relative to."""
        try:
            parts = urlsplit(url := urljoin(base, url))
            host, port = (parts.hostname or "").removesuffix("."), parts.port or PORTS[parts.scheme]
            is_name = ":" not in host and not re.fullmatch(r"(.*\.)?([0-9]+|0x[0-9a-f]*)?", host)
            # Names are not looked up: `localhost` is inside, every other has a public address.
            looked_up = "127.0.0.1" if host == "localhost" else "1.1.1.1"
            address: Any = ipaddress.ip_address(looked_up if is_name else host)
        except (KeyError, ValueError):
            port = None
        if port is None or parts.port == 0 or len(url) > 65_536 or not AUTHORITY.fullmatch(parts.netloc):
            port = None
        if port is None or re.search(r"[\0-\x20\x7f\\]", url) or "@" in parts.netloc:
            raise Failure("InvalidUrl", f"invalid URL: {url}", url=first)
        address = getattr(address, "ipv4_mapped", None) or address
        outside = address.is_global and not address.is_multicast

        def fits(scope: str) -> bool:
            granted = urlsplit(f"//{scope}")
            name = granted.hostname or ""
            name = str(ipaddress.ip_address(name)) if ":" in name else name
            named = name == host or (name.startswith("*.") and host.endswith(name[1:]))
            return named and granted.port in (None, port) if scope else outside

        written = f"[{host}]" if ":" in host else host
        self.permit("net", f"{written}:{port}", fits, "net_access", {"url": first}, host=host, port=port)
        name = written if port == PORTS[parts.scheme] else f"{written}:{port}"
        return parts._replace(netloc=name, path=parts.path or "/", fragment="").geturl(), (parts.scheme, name)

    def http_get(self, url: str, headers: Text | None, method: str = "GET") -> Json:
        return self.http_request(method, url, None, headers)

    def http_delete(self, url: str, headers: Text | None) -> Json:
        return self.http_get(url, headers, "DELETE")

    def http_post(self, url: str, body: Any, headers: Text | None, method: str = "POST") -> Json:
        return self.http_request(method, url, body, headers)

    def http_put(self, url: str, body: Any, headers: Text | None) -> Json:
        return self.http_post(url, body, headers, "PUT")

    def http_request(self, method: str, url: str, body: Any, headers: Text | None, timeout_ms: int = 0) -> Json:
        """Return the reply of a request as status, body and headers (L-7.2.2, L-7.2.3). The runner says what times
        out, so the limit `timeout_ms` is not looked at."""
        if method.upper() not in VERBS:
            raise Panic("P013", f"no method of HTTP: {method}")
        fields, plain = json.loads(headers or "{}"), type(body) is str or body is None
        if not plain and "content-type" not in map(str.lower, fields):
            fields["content-type"] = "application/json"
        for name, value in fields.items():
            if not HEADER.fullmatch(f"{name}: {value}") or FRAMING.fullmatch(name):
                raise Failure(None, f"the header {name} cannot be set", url=url)
        text = body if plain or isinstance(body, Text) else compact(body)
        return self.followed(method.upper(), url, text, fields)

    def followed(self, method: str, url: str, body: str | None, headers: Json) -> Json:
        """Return the reply behind at most five redirects, each of which is an access of its own."""
        here, onward, origin = "", url, None
        for _ in range(6):
            here, reached = self.opened(onward, url, here)
            if origin not in (None, reached):
                headers = {name: value for name, value in headers.items() if name.lower() not in CREDENTIALS}
            reply = self.exchange(method, here, body, headers, url)
            status, onward = reply["status"], reply["headers"].get("location")
            if status not in (301, 302, 303, 307, 308) or onward is None:
                return reply
            origin = reached
            if (status == 303 and method != "HEAD") or (status < 303 and method == "POST"):
                method, body = "GET", None
                headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        raise Failure("Network", f"{url}: too many redirects", url=url)

    def exchange(self, method: str, url: str, body: str | None, headers: Json, first: str) -> Json:
        """Return the reply to one request, which the runner gives. Raise Failure for a fault."""
        host = urlsplit(url).hostname
        record = {"method": method, "url": url, "headers": headers, "body": body}
        asks = {"event": "request", "kind": "http", "name": host, "attempt": 1, "record": record}
        reply = self.ask({**asks, "wire": None, "headers": {}})
        self.now = self.ask({"event": "idle", "until": None})["now"]
        if fault := reply.get("fault"):
            raise Failure("Timeout" if fault["kind"] == "timeout" else "Network", f"{host}: {fault['kind']}", url=first)
        fields = {name.lower(): value for name, value in (reply["body"].get("headers") or {}).items()}
        return {"status": reply["body"]["status"], "body": reply["body"].get("body") or "", "headers": fields}


def compact(value: Any) -> str:
    """Return a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
