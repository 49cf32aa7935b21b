"""The capabilities a program may be granted: one row each (O-4.13 to O-4.18).

Flags of the command line (`cli/run.py`), keys of the manifest (`compiler/manifest.py`), messages and settings of the host
(`runtime/access/permissions.py`, `runtime/tools/tools.py`, `api/options.py`) are read from `CAPABILITIES` (by `BY_NAME`,
`BY_KEY`, the `GROUPS` and GROUP_KEYS), and nothing else lists them: a new capability is a row there. MODELS, the right of
libraries to call models, is none of them and goes to `runtime/access/permissions.py`. Hands on, too, how a host is written:
`split_host`, `canonical_host` and `literal_address` to `runtime/access/`, and `Malformed` to whoever reads scopes. Nothing is
looked up in a network here. Whether a program has been granted a capability is decided in `runtime/access/permissions.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


MOST_DIGITS = 5  # of a port


class Malformed(ValueError):
    """A scope that can match nothing, such as a port that is no number."""


class Capability:
    """One row. `name`: as in `fs:read=PATH`; `flag` and manifest `key` grant it; `scope`: the word for what it is limited to;
    `doc`: what it allows, for the help; `check` raises Malformed for a scope that is written wrongly, and what it returns is not
    looked at."""

    __slots__ = ("name", "flag", "key", "scope", "doc", "check")

    def __init__(self, name: str, flag: str, key: str, scope: str, doc: str, check: Callable[[str], object]) -> None:
        self.name = name
        self.flag = flag
        self.key = key
        self.scope = scope
        self.doc = doc
        self.check = check


def split_host(text: str) -> tuple[str, int | None]:
    """Return host, in its canonical form, and port (1 to 65535, None without one) of `HOST` or `*.DOMAIN`, with `:PORT` or
    without, `[V6]`, `[V6]:PORT` or a bare IPv6 address. Raises Malformed for anything else."""
    if "/" in text:
        bare = text.partition("://")[2] or text
        bare = bare.partition("/")[0]
        raise Malformed(f"{text!r} is no host: a permission is for a whole host" + (f", write {bare}" if bare else ""))
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]") or ":" in host and not host.startswith("["):
        host, port = text, ""
    if colon and not port and text.endswith(":") and not host.endswith("::"):
        raise Malformed(f"{text!r} has no port behind the colon")
    below = "*." if host.startswith("*.") else ""
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    try:
        host = below + canonical_host(host.removeprefix(below))
    except Malformed as refused:
        raise Malformed(f"{text!r} is no host ({refused}): write HOST, HOST:PORT or *.DOMAIN") from None
    if below and literal_address(host.removeprefix(below)) is not None:
        raise Malformed(f"{text!r} is no host (nothing lies below an address): write HOST, HOST:PORT or *.DOMAIN")
    if port and not (port.isascii() and port.isdecimal() and len(port) <= MOST_DIGITS and 0 < int(port) < 65_536):
        raise Malformed(f"{text!r} has no port from 1 to 65535")
    return host, int(port) if port else None


def canonical_host(host: str) -> str:
    """Return a host as it is looked up and compared: an address in its shortest spelling without zone, a name in lower case,
    in ASCII and without a dot at its end. Raises Malformed, with the reason alone, for what is neither, and for numbers that
    only some resolvers read as addresses (`0x7f.1`, `2130706433`)."""
    address = literal_address(host)
    if address is not None:
        return address
    try:
        name = host.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        raise Malformed("it is no name") from None
    labels = name.split(".")
    if not name or any(not label or not all(c.isalnum() or c in "-_" for c in label) for label in labels):
        raise Malformed("it is no name")
    last = labels[-1]
    if last.isdecimal() or last.startswith("0x"):
        raise Malformed("it is no name and no address of four numbers")
    return name


def literal_address(host: str) -> str | None:
    """Return the address that a host is written as, in its shortest spelling and without zone; None for a name."""
    if ":" not in host and not host[-1:].isdecimal():  # a plain name needs no parser of addresses
        return None
    import ipaddress

    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return None


def _not_empty(text: str) -> None:
    if not text or "\0" in text:
        raise Malformed("an empty scope grants nothing")


def _module(text: str) -> None:
    if not all(part.isidentifier() for part in text.split(".")):
        raise Malformed(f"{text!r} is no module of Python: write `package` or `package.module`")


CAPABILITIES = (
    Capability("fs:read", "--allow-fs-read", "fs_read", "PATH", "read files and directories at PATH or below", _not_empty),
    Capability("fs:write", "--allow-fs-write", "fs_write", "PATH", "write and remove files at PATH or below", _not_empty),
    Capability("net", "--allow-net", "net", "HOST", "connect to HOST, HOST:PORT or *.DOMAIN", split_host),
    Capability("env", "--allow-env", "env", "NAME", "read the environment variable NAME", _not_empty),
    Capability("run", "--allow-run", "run", "COMMAND", "start COMMAND as a process", _not_empty),
    Capability("python", "--allow-python", "python", "MODULE", "import MODULE of Python, or one inside it, and call it", _module),
)  # fmt: skip
# What code of libraries needs to call models, and has unless it is taken away (P-3.2); the program itself needs it for nothing.
MODELS = Capability("models", "--allow-lib", "models", "MODEL", "call models", _not_empty)
BY_NAME = {capability.name: capability for capability in CAPABILITIES}
BY_KEY = {capability.key: capability for capability in CAPABILITIES}
# Flags and manifest keys that stand for several capabilities, with the keys of these.
GROUPS = {"--allow-fs": ("fs_read", "fs_write"), "--allow-all": tuple(BY_KEY)}
GROUP_KEYS = {"fs": ("fs_read", "fs_write")}
