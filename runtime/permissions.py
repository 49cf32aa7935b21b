"""The grants of one run and what they match (O-4.12 to O-4.18), and the tools it may not use (O-4.20).

Hands on `Permissions`. Must not know: who asks, what is done with a permission.
"""

from __future__ import annotations

import os

from ..vm.builtins.capabilities import BY_KEY, BY_NAME, Malformed, split_host
from .errors import ConfigFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Scope = tuple[str, ...] | bool


class Permissions:
    """The grants of one run, a scope per capability key: True for all of it, else the texts granted, none by default. `tools`: by
    tool whether it may be used, or the methods that may; `disabled`: those taken away on top, as `T` or `T.m`."""

    __slots__ = ("scopes", "tools", "disabled")

    def __init__(self, scopes: Mapping[str, Scope] | None = None) -> None:
        """Raises Malformed for a scope that is written wrongly."""
        self.scopes: dict[str, Scope] = dict.fromkeys(BY_KEY, ())
        self.tools: dict[str, bool | tuple[str, ...]] = {}
        self.disabled: tuple[str, ...] = ()
        for key, scope in (scopes or {}).items():
            self.grant(key, scope)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Permissions:
        """From `fs:read=in`, or `net` for all of it."""
        made = cls()
        for text in texts:
            name, given, scope = text.partition("=")
            if name not in BY_NAME:
                raise Malformed(f"{name!r} is no capability; there are {', '.join(BY_NAME)}")
            made.grant(BY_NAME[name].key, (scope,) if given else True)
        return made

    def grant(self, key: str, scope: Any) -> None:
        """Adds to what is granted."""
        if scope is True:
            self.scopes[key] = True
            return
        texts = tuple(scope or ())
        for text in texts:
            BY_KEY[key].check(text)
        held = self.scopes[key]
        if not isinstance(held, bool):
            self.scopes[key] = (*held, *texts)

    def allows_tool(self, tool: str, method: str) -> bool:
        allowed = self.tools.get(tool, True)
        listed = allowed if isinstance(allowed, bool) else method in allowed
        return listed and tool not in self.disabled and f"{tool}.{method}" not in self.disabled

    def allows_some_of(self, tool: str) -> bool:
        """Whether any of its methods may be allowed."""
        return bool(self.tools.get(tool, True)) and tool not in self.disabled

    def check_tools(self, declared: Mapping[str, Iterable[str]], open_servers: Iterable[str]) -> None:
        """E4003 for what was to be disabled and is not there: nobody should believe it is. Of `open_servers` nobody knows the
        tools yet."""
        known = {name for tool, methods in declared.items() for name in (tool, *(f"{tool}.{method}" for method in methods))}
        known.update(open_servers)
        for name in self.disabled:
            if name not in known and name.partition(".")[0] not in open_servers:
                there = ", ".join(sorted(known)) or "none"
                raise ConfigFailure("E4003", f"there is no tool {name} to disable; tools and methods are: {there}")

    def allows_variable(self, name: str) -> bool:
        granted = self.scopes["env"]
        return granted if isinstance(granted, bool) else name in granted

    def allows_command(self, command: str) -> bool:
        """`command`: a bare name, or an absolute path without links, which what is granted is compared with (O-4.17)."""
        granted = self.scopes["run"]
        if isinstance(granted, bool):
            return granted
        return any(command == (os.path.realpath(scope) if "/" in scope else scope) for scope in granted)

    def allows_host(self, host: str, port: int) -> bool:
        """Whether a grant matches: the exact host, `*.domain` for what lies below it, any port where none is given."""
        granted = self.scopes["net"]
        return granted if isinstance(granted, bool) else any(_matches(scope, host, port) for scope in granted)

    def names_host(self, host: str, port: int) -> bool:
        """Whether a grant names just this host or address, which opens private addresses too (G-8.3)."""
        granted = self.scopes["net"]
        return not isinstance(granted, bool) and any(
            _matches(scope, host, port) for scope in granted if not scope.startswith("*.")
        )


def _matches(scope: str, host: str, port: int) -> bool:
    wanted, wanted_port = split_host(scope)
    if wanted_port is not None and wanted_port != port:
        return False
    host = host.lower().removesuffix(".")
    return host.endswith(wanted[1:]) and len(host) >= len(wanted) if wanted.startswith("*.") else host == wanted
