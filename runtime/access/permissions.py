"""What a run may touch outside: its grants, what they match, and the one door through which everything goes (O-4.12 to O-4.21).

Hands on `Permissions`, which the host gives, to whoever makes one (the API, the command line, batches); `Limited`, those of code
of libraries, to `rights.py` and `files.py`, NOTHING to the latter; `guarded`, which performers (the functions that carry out the
effects of a run), agents and the other files of this folder call with an `Access`: it emits the audit record and performs, or
raises `Denied`; `permissions_of` to these, tools and MCP servers; `deny` to `network.py` and `rights.py`; Denied to all that
tells of it; and `denied_error` and `denied_panic`, which make of a Denied what the program gets. Whether an access is allowed is
decided by a method of Permissions, for files by `files.py`. Nothing of a capability is granted unless the host says so; tools may
be used unless it says otherwise. A new capability is a row in `vm/builtins/capabilities.py` and a method here that decides about
one access; its effect goes through `guarded` (the recipe is in CONTRIBUTING.md).
"""

from __future__ import annotations

from ...vm.builtins.capabilities import BY_KEY, BY_NAME, MODELS, Malformed, canonical_host, split_host
from ...vm.panics import Panic
from ...vm.values import Err, ErrorValue
from ..errors import ConfigFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any, NoReturn, TypeVar

    from ...vm.interp.effects import Effect
    from ..running import EffectContext

    Scope = tuple[str, ...] | bool


class Permissions:
    """The grants of one run.

    `scopes` has, by capability key, True when all of it is granted, else the granted texts. `named` has the texts alone: beside a
    True they open what it does not (G-8.9). `tools` says by tool whether it may be used, or which methods may; one that it does
    not name may be. `disabled` are those taken away on top, as `T` or `T.m`. `in_python` says that a host of Python grants:
    advice is then written in Python. `libraries` has by name what code of a library may touch of all this, nothing but models for
    one that it does not name (P-3.2); `models` says whether such code may call models, and counts there alone; `expected` are the
    libraries that the program must have, since somebody granted by hand."""

    __slots__ = ("scopes", "named", "tools", "disabled", "in_python", "libraries", "models", "expected")

    def __init__(self, scopes: Mapping[str, Scope] | None = None) -> None:
        """Grant each scope of `scopes`, by capability key, as `grant` does. Raises Malformed for one that is written wrongly."""
        self.scopes: dict[str, Scope] = dict.fromkeys(BY_KEY, ())
        self.named: dict[str, tuple[str, ...]] = dict.fromkeys(BY_KEY, ())
        self.tools: dict[str, bool | tuple[str, ...]] = {}
        self.disabled: tuple[str, ...] = ()
        self.in_python = False
        self.libraries: dict[str, Permissions] = {}
        self.models = True
        self.expected: tuple[str, ...] = ()
        for key, scope in (scopes or {}).items():
            self.grant(key, scope)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Permissions:
        """Return the permissions of texts such as `fs:read=in`, or `net` for the whole capability; `lib=NAME:TEXT` grants such a
        text to a library. Raises Malformed for a text that names no capability or has a wrong scope."""
        permissions = cls()
        for text in texts:
            name, has_scope, scope = text.partition("=")
            if name == "lib":
                permissions.grant_library(scope)
            elif name in BY_NAME:
                permissions.grant(BY_NAME[name].key, (scope,) if has_scope else True)
            else:
                raise Malformed(f"{name!r} is no capability; there are {', '.join(BY_NAME)}")
        return permissions

    def grant_library(self, text: str) -> None:
        """Grant a text `NAME:CAPABILITY` or `NAME:CAPABILITY=SCOPE` to a library, which the program must have; `NAME:no-models`
        takes the calls of models from it. Raises Malformed."""
        library, colon, granted = text.partition(":")
        if not library.isidentifier() or not colon:
            raise Malformed(f"{text!r} is no grant to a library: write NAME:CAPABILITY or NAME:CAPABILITY=SCOPE")
        name, has_scope, scope = granted.partition("=")
        self.expected = (*self.expected, library)
        own = self.libraries.setdefault(library, Permissions())
        if granted == "no-models":
            own.models = False
        elif name in BY_NAME:
            own.grant(BY_NAME[name].key, (scope,) if has_scope else True)
        else:
            raise Malformed(f"{name!r} is no capability; there are {', '.join(BY_NAME)}, and no-models")

    def check_libraries(self, names: Iterable[str]) -> None:
        """Raise ConfigFailure E4003 for a grant to a library that the program, which has those of these names, does not use."""
        known = sorted(names)
        for library in self.expected:
            if library not in known:
                there = ", ".join(known) or "none"
                raise ConfigFailure("E4003", f"there is no library {library} to grant something to; the program uses: {there}")

    def grant(self, key: str, scope: Any) -> None:
        """Add to what is granted; no grant takes anything from another (G-8.9). `key` is a key of BY_KEY. `scope` is True for
        all of it, else the texts (a tuple or list, never one text alone); nothing is granted by False, None or no texts. Raises
        Malformed for a text that is written wrongly; then nothing of `scope` is granted."""
        if scope is True:
            self.scopes[key] = True
            return
        texts = tuple(scope or ())
        for text in texts:
            BY_KEY[key].check(text)
        self.named[key] = (*self.named[key], *texts)
        if self.scopes[key] is not True:  # a grant of everything is not narrowed by a later one
            self.scopes[key] = self.named[key]

    def way(self, key: str, flag: str, scope: str) -> str:
        """Return how a missing permission is granted where the program runs: a flag, or an argument in Python (O-4.19). `key` and
        `flag` are those of the capability; `scope` is what to grant, "" for the whole capability."""
        if not self.in_python:
            return f"{flag}={scope}" if scope else flag
        return f"permissions=Permissions({key}={f'({scope!r},)' if scope else True})"

    def flag(self, flag: str, capability: str, target: str | None) -> str:
        """Return the flag that grants an access: `flag` is that of its `capability`, `target` None for the whole of it."""
        return flag if target is None else f"{flag}={target}"

    @property
    def subject(self) -> str:
        """Return the words for whose code is refused, "" for the program."""
        return ""

    def allows_tool(self, tool: str, method: str) -> bool:
        """Return whether a method of a tool may be called (O-4.20)."""
        allowed = self.tools.get(tool, True)
        listed = allowed if isinstance(allowed, bool) else method in allowed
        return listed and tool not in self.disabled and f"{tool}.{method}" not in self.disabled

    def allows_some_of(self, tool: str) -> bool:
        """Return whether a tool is not closed as a whole, by `tools` (False, or no method) or `disabled`; whether each of its
        methods is disabled by itself is not looked at."""
        return bool(self.tools.get(tool, True)) and tool not in self.disabled

    def check_tools(self, declared: Mapping[str, Iterable[str]], open_servers: Iterable[str]) -> None:
        """Raise ConfigFailure E4003 for a tool or method that is to be disabled and does not exist: a misspelt one would stay
        enabled.

        `declared` has the methods by tool. `open_servers` are MCP servers that declare no methods: what they offer is known only
        once they are connected, so any method of theirs passes; they are a container, which is looked at more than once."""
        disablable = {name for tool, methods in declared.items() for name in (tool, *(f"{tool}.{method}" for method in methods))}
        disablable.update(open_servers)
        for name in self.disabled:
            if name not in disablable and name.partition(".")[0] not in open_servers:
                names = ", ".join(sorted(disablable)) or "none"
                raise ConfigFailure("E4003", f"there is no tool {name} to disable; tools and methods are: {names}")

    def allows_variable(self, name: str) -> bool:
        """Return whether a variable of the environment may be read: a grant names it, or all of them are granted."""
        granted = self.scopes["env"]
        return granted if isinstance(granted, bool) else name in granted

    def allows_command(self, command: str) -> bool:
        """Return whether a command may be started (O-4.17). `command` is a bare name, or an absolute path whose links are
        resolved."""
        granted = self.scopes["run"]
        if isinstance(granted, bool):
            return granted
        from .roots import real_path  # a run without processes starts without it

        return any(command == (real_path(scope) if "/" in scope else scope) for scope in granted)

    def allows_module(self, module: str) -> bool:
        """Return whether functions of a module of Python may be called: a grant names it, or what it lies in (P-1.5)."""
        granted = self.scopes["python"]
        return granted if isinstance(granted, bool) else any(f"{module}.".startswith(f"{scope}.") for scope in granted)

    def allows_host(self, host: str, port: int) -> bool:
        """Return whether a host may be reached: the whole network is granted, or a grant names it, or is `*.domain` and the host
        lies below the domain. A grant without a port is for all ports."""
        granted = self.scopes["net"]
        return granted if isinstance(granted, bool) else any(_matches(scope, host, port) for scope in granted)

    def names_host(self, host: str, port: int) -> bool:
        """Return whether a grant names exactly this host or address. That opens private addresses too (G-8.3), also when the
        whole network is granted besides (G-8.9)."""
        return any(_matches(scope, host, port) for scope in self.named["net"] if not scope.startswith("*."))


class Limited(Permissions):
    """What code of `names`, libraries, may touch: what the run and each of these libraries may. Nothing is granted to it by
    itself."""

    __slots__ = ("names", "parts")

    def __init__(self, run: Permissions, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        of_libraries = [run.libraries.get(name) or NOTHING for name in names]
        self.parts: list[Permissions] = [run, *of_libraries]
        for key in BY_KEY:
            granted = [part.scopes[key] for part in self.parts]
            # Empty where one has nothing; else the first list, that of the run before those of the libraries: it says only that
            # something is granted. Each access is compared with all `parts`, by the methods below and by `files.py`.
            self.scopes[key] = () if not all(granted) else next((scope for scope in granted if scope is not True), True)
        self.models = all(part.models for part in of_libraries)
        self.tools, self.disabled, self.in_python = run.tools, run.disabled, run.in_python

    def way(self, key: str, flag: str, scope: str) -> str:
        """Return how a missing permission is granted, to the run and to the libraries."""
        run = self.parts[0]
        if key == "models":
            lacking = [name for name, part in zip(self.names, self.parts[1:], strict=True) if not part.models] or self.names
            if self.in_python:
                granted = ", ".join([f"{name!r}: Permissions(models=True)" for name in lacking])
                return f"permissions=Permissions(lib={{{granted}}})"
            return f"models = true under {' and '.join([f'[permissions.lib.{name}]' for name in lacking])}"
        if not self.in_python:
            return " ".join([run.way(key, flag, scope), *self._flags(BY_KEY[key].name, scope)])
        granted = f"{key}={f'({scope!r},)' if scope else True}"
        of_libraries = ", ".join([f"{name!r}: Permissions({granted})" for name in self.names])
        return f"permissions=Permissions({granted}, lib={{{of_libraries}}})"

    def flag(self, flag: str, capability: str, target: str | None) -> str:
        if capability == "models":
            return self.way("models", flag, target or "")
        return " ".join(self._flags(capability, target or ""))

    def _flags(self, capability: str, scope: str) -> list[str]:
        return [f"--allow-lib={name}:{capability}{f'={scope}' if scope else ''}" for name in self.names]

    @property
    def subject(self) -> str:
        """Return the words for whose code is refused, behind what it asked for."""
        return " for the " + ("library " if len(self.names) == 1 else "libraries ") + " and ".join(self.names)

    def allows_variable(self, name: str) -> bool:
        return all(part.allows_variable(name) for part in self.parts)

    def allows_command(self, command: str) -> bool:
        return all(part.allows_command(command) for part in self.parts)

    def allows_module(self, module: str) -> bool:
        return all(part.allows_module(module) for part in self.parts)

    def allows_host(self, host: str, port: int) -> bool:
        return all(part.allows_host(host, port) for part in self.parts)

    def names_host(self, host: str, port: int) -> bool:
        """Return whether the run names exactly this host, and each library does or has the whole network."""
        run, *libraries = self.parts
        return run.names_host(host, port) and all(part.scopes["net"] is True or part.names_host(host, port) for part in libraries)


def _matches(scope: str, host: str, port: int) -> bool:
    """Return whether a grant matches a host, which is a name, an address, or an address that a look-up gave."""
    granted, granted_port = split_host(scope)
    if granted_port is not None and granted_port != port:
        return False
    try:
        host = canonical_host(host)
    except Malformed:
        return False
    return host.endswith(granted[1:]) and len(host) >= len(granted) if granted.startswith("*.") else host == granted


if TYPE_CHECKING:
    T = TypeVar("T")


NOTHING = Permissions()


def permissions_of(run: EffectContext) -> Permissions:
    """Return the permissions of a run; nothing is granted unless the host says so (O-4.12)."""
    return run.host.permissions or NOTHING


class Access:
    """One operation that needs a permission: the name of its capability (`fs:read`, where the key is `fs_read`), the `target`
    that it would touch (a path, a host, a name), and the audit record, plain data, that it leaves on `channel`."""

    __slots__ = ("capability", "target", "channel", "record")

    def __init__(self, capability: str, target: str, channel: str, record: dict[str, Any]) -> None:
        self.capability = capability
        self.target = target
        self.channel = channel
        self.record = record


class Denied(Exception):
    """The permission for an access is missing. `capability` and `flag` name it and the flag that grants it, both with the target;
    of `models`, which no flag grants, `flag` is `way`. `subject` has the words for whose code is refused, "" for the program;
    `way` is how it is granted where the program runs."""

    def __init__(self, access: Access, permissions: Permissions) -> None:
        super().__init__(access.capability)
        self.capability = f"{access.capability}={access.target}"
        capability = BY_NAME.get(access.capability) or MODELS
        self.flag = permissions.flag(capability.flag, access.capability, access.target)
        self.way = permissions.way(capability.key, capability.flag, access.target)
        self.subject = permissions.subject

    @property
    def message(self) -> str:
        """Return the message of the error or panic that the program gets."""
        return f"permission denied: {self.capability}{self.subject} (grant it with {self.way})"


async def guarded(run: EffectContext, access: Access, allowed: bool, perform: Callable[[], Awaitable[T]]) -> T:
    """Emit the audit record of an access and return what `perform` returns; raise Denied, with a record of it, when it is not
    allowed (G-8.1, O-4.21). What `perform`, or the host's sink of the record, raises passes through."""
    if not allowed:
        deny(run, access)
    run.runtime_emit(access.channel, {**access.record, **_of_libraries(run)})
    return await perform()


def _of_libraries(run: EffectContext) -> dict[str, Any]:
    """Return what an audit record says beside the access: whose code it was, if it was that of libraries."""
    permissions = permissions_of(run)
    return {"library": " ".join(permissions.names)} if isinstance(permissions, Limited) else {}


def deny(run: EffectContext, access: Access) -> NoReturn:
    """Emit the audit record of a denial and raise Denied."""
    denied = Denied(access, permissions_of(run))
    run.runtime_emit("audit:denied", {"capability": denied.capability, "flag": denied.flag, **_of_libraries(run)})
    raise denied


def denied_error(family: str, denied: Denied, **fields: Any) -> Err:
    """Return the Err of a denied operation that has a Result (O-4.19); `family` is its error type, `fields` are the fields of the
    error besides `capability` and `flag`."""
    all_fields = {**fields, "capability": denied.capability, "flag": denied.flag}
    return Err(ErrorValue(family, "PermissionDenied", denied.message, all_fields))


def denied_panic(run: EffectContext, effect: Effect, denied: Denied) -> Panic:
    """Return panic P407, at the place of the call, of a denied operation without a Result (O-4.19)."""
    return run.machine.placed(effect.task, Panic("P407", denied.message))
