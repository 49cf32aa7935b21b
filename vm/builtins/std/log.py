"""`std::log`: messages to the host, which holds level and sink (L-7.9.2). Payload: (level, text)."""

from __future__ import annotations

from ...values.display import display
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
