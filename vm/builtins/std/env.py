"""`std::env`: the variables granted to the program, and its arguments (L-7.4). Payload: (operation, name)."""

from __future__ import annotations

from ..guards import text
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
