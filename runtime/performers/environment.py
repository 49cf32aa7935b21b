"""`env()` and `std::env`: a table of the granted variables, and the arguments of the program (L-6.1.7, L-7.4, G-8.5).

What a variable holds that is a secret by its name is kept from every sink. Must not know: where the table comes from.
"""

from __future__ import annotations

from ...vm.values import NONE, Array, Err, ErrorValue, Map, Ok, Some
from ..guard import Access, Denied, denied_error, denied_panic, guarded, permissions_of
from ..outside_text import whole_text
from ..secrets import is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ...vm.effects import Effect
    from ..connections import ConnectionSettings
    from ..running import Running

EVERY_VARIABLE = "*"


async def perform(run: Running, effect: Effect) -> Any:
    if effect.payload[0] == "args":
        return Array([whole_text(word) for word in run.host.args])
    environment = run.state.get("env")
    if environment is None:
        environment = run.state["env"] = Environment(run)
    if effect.payload[0] == "all":
        return Map(await environment.all())
    operation, name = effect.payload
    try:
        value = await environment.get(name)
    except Denied as denied:
        if operation == "require":
            return denied_error("EnvError", denied, name=name)
        raise denied_panic(run, effect, denied) from None
    return RESULTS[operation](name, value)


def _required(name: str, value: str | None) -> Any:
    if value is None:
        return Err(ErrorValue("EnvError", "NotSet", f"environment variable {name} is not set", {"name": name}))
    return Ok(value)


RESULTS: dict[str, Any] = {
    "env": lambda name, value: value,
    "get": lambda name, value: NONE if value is None else Some(value),
    "has": lambda name, value: value is not None,
    "require": _required,
}


def key_variables(connections: Iterable[ConnectionSettings]) -> set[str]:
    """The variables that connections read their keys and headers from."""
    found = set()
    for connection in connections:
        found.add(connection.api_key_env or "")
        found.update(value["env"] for value in connection.headers.values() if not isinstance(value, str))
    return found - {""}


class Environment:
    """The granted variables of a session."""

    def __init__(self, run: Running) -> None:
        allows = permissions_of(run).allows_variable
        self.run = run
        self.values = {name: whole_text(value) for name, value in run.host.env.items() if allows(name)}
        self.keys = key_variables(run.connections.values())

    async def get(self, name: str) -> str | None:
        access = Access("env", name, "audit:env_access", {"variable": name})

        async def read() -> str | None:
            return self._known(name)

        return await guarded(self.run, access, permissions_of(self.run).allows_variable(name), read)

    async def all(self) -> dict[Any, Any]:
        access = Access("env", EVERY_VARIABLE, "audit:env_access", {"variable": EVERY_VARIABLE})

        async def read() -> dict[Any, Any]:
            return {name: self._known(name) for name in sorted(self.values)}

        return await guarded(self.run, access, True, read)

    def _known(self, name: str) -> str | None:
        """A value that is a secret is told to the filter before the program has it (G-10.3)."""
        value = self.values.get(name)
        if value and (name in self.keys or is_secret_name(name)):
            self.run.redactor.add(value, name)
        return value
