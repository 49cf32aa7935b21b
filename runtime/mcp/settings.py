"""The fields of an MCP server: its declaration with the manifest, and what the host gives (O-4.36 to O-4.41).

Hands on `McpSettings`. Must not know: connections, the machine.
"""

from __future__ import annotations

from ..children import split_command
from ..errors import ConfigFailure
from ..field_checks import check_fields, duration, headers, listed, one_of, text, variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_TIMEOUT = 30.0
FIELDS = {
    "transport": one_of("stdio", "http"), "command": text, "args": listed(text), "url": text, "headers": headers,
    "timeout": duration, "env": variables,
}  # fmt: skip


class McpSettings:
    """`transport` is None where nobody configured one; `command` the argument list of "stdio"; headers and `env` hold names of
    variables, and values that are written out."""

    def __init__(self, name: str, fields: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """`given`: what the host says, over the declaration and the manifest. Raises ConfigFailure."""
        for layer in (fields, given):
            check_fields(f"mcp {name}", layer, FIELDS)
        merged = {key: value for layer in (fields, given) for key, value in layer.items() if value is not None}
        self.name = name
        self.transport: str | None = merged.get("transport")
        self.timeout = float(merged.get("timeout", DEFAULT_TIMEOUT))
        self.command: list[str] = []
        self.url: str = merged.get("url", "")
        self.headers: Mapping[str, Any] = merged.get("headers", {})
        self.env: Mapping[str, str | dict[str, str]] = merged.get("env", {})
        if self.transport == "stdio":
            self.command = _command(name, merged)
        elif self.transport == "http" and not self.url:
            raise ConfigFailure("E4002", f'mcp {name}: url is missing, which the transport "http" needs')

    @property
    def guard(self) -> str | None:
        """Key of the capability that a connection needs."""
        return {"stdio": "run", "http": "net"}.get(self.transport or "")


def _command(name: str, merged: Mapping[str, Any]) -> list[str]:
    """Split by POSIX quoting when `args` is absent (O-4.38)."""
    if "command" not in merged:
        raise ConfigFailure("E4002", f'mcp {name}: command is missing, which the transport "stdio" needs')
    try:
        return split_command(merged["command"], merged.get("args"))
    except ValueError as error:
        raise ConfigFailure("E4004", f"mcp {name}: command {merged['command']!r}: {error}") from None
