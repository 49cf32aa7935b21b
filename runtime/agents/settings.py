"""What an agent is called and started with: its declaration, and what manifest and host configure (O-7.1 to O-7.8).

Hands on `AgentSettings`. Must not know: processes, the machine.
"""

from __future__ import annotations

from ..children import split_command
from ..errors import ConfigFailure
from ..field_checks import check_decorators, check_fields, duration, fields_of, listed, one_of, text, variables
from ..retry import RetryPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


DEFAULT_TIMEOUT = 120.0
DEFAULT_LOG_CHANNEL = "agent:log"
DEFAULT_SCHEMA_ATTEMPTS = 3
FORMATS = ("text", "json")

# What `[agents.X]` and the host say (O-7.4 to O-7.8).
PROCESS = {
    "transport": one_of("stdio"), "command": text, "args": listed(text), "timeout": duration, "working_dir": text,
    "env": variables, "params": lambda value: type(value) is dict,
}  # fmt: skip
FIELDS = {
    "connector": text, "input_format": one_of(*FORMATS), "output_format": one_of(*FORMATS), "timeout": duration,
    "process": fields_of(PROCESS),
}  # fmt: skip


class AgentSettings:
    """`command` is the argument list, None where nobody configured the connector."""

    def __init__(
        self, name: str, fields: Mapping[str, Any], decorators: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]
    ) -> None:
        """`given`: what the host says of the connector, over the manifest. Raises ConfigFailure."""
        check_fields(f"agent {name}", fields, FIELDS)
        check_fields(f"agent {name}", given, PROCESS)
        check_decorators(f"agent {name}", decorators)
        if fields.get("connector") is None:
            raise ConfigFailure("E4002", f"agent {name} lacks connector")
        process = {**(fields.get("process") or {}), **given}
        self.name = name
        self.connector: str = fields["connector"]
        self.json_input = fields.get("input_format") == "json"
        self.json_output = fields.get("output_format") == "json"
        limits = (decorators.get("timeout", {}).get("seconds"), fields.get("timeout"), process.get("timeout"))
        self.timeout = float(next((limit for limit in limits if limit is not None), DEFAULT_TIMEOUT))
        self.command = _argument_list(name, process)
        self.working_dir: str = process.get("working_dir") or "."
        self.env: Mapping[str, str | dict[str, str]] = process.get("env") or {}
        self.params: dict[str, Any] = process.get("params") or {}
        retry = decorators.get("retry")
        self.policy = RetryPolicy(max_attempts=1) if retry is None else RetryPolicy.from_decorator(retry)
        self.schema_attempts = int((retry or {}).get("max", DEFAULT_SCHEMA_ATTEMPTS))
        log = decorators.get("log")
        self.log_channel = None if log is None else str(log.get("channel", DEFAULT_LOG_CHANNEL))


def _argument_list(name: str, process: Mapping[str, Any]) -> list[str] | None:
    """Split by POSIX quoting when `args` is absent (O-4.38)."""
    command = process.get("command")
    if command is None:
        return None
    try:
        return split_command(command, process.get("args"))
    except ValueError as error:
        raise ConfigFailure("E4004", f"agent {name}: command {command!r}: {error}") from None
