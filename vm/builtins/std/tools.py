"""What the tools of `std::tools` are made of (O-4.35). Payload: (command, time limit in milliseconds).

The resolver offers these functions to the text of the library alone: a program has the tools.
"""

from __future__ import annotations

from ...panics import Panic
from ..guards import integer, text
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect(
    "tools", "run_command(command: String, timeout_ms: Int) -> Result<String, ToolError>", effect="command", permission="run",
    clause="O-4.35",
)  # fmt: skip
def run_command(command: Any, timeout_ms: Any) -> tuple[str, int]:
    """Runs a command of words, without a shell, and gives what it wrote."""
    if integer(timeout_ms) < 1:
        raise Panic("P013", f"timeout of `exec` must be at least 1 ms, not {timeout_ms}")
    return (text(command), timeout_ms)
