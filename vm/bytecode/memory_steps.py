"""The steps of a memory as an image carries them (M-2.13): their names, and which values each may have.

Hands on the words of M-2.6 and the checker of the record. Must not know: what a step does, how it is written.
"""

from __future__ import annotations

from . import fields as f
from .limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Accepts = Callable[[Any], bool]

ROLES = ("User", "Assistant", "System", "Tool")
ON_FAILURE = ("Discard", "Record")
ON_CONFLICT = ("Append", "Serial", "Reject", "Fork")
REDACTORS = ("Pii",)


def is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value < 1 << 63


def is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _one_of(words: tuple[str, ...]) -> Accepts:
    return lambda value: type(value) is str and value in words


def _some_of(words: tuple[str, ...]) -> Accepts:
    return lambda value: type(value) is list and all(type(word) is str and word in words for word in value)


STEPS: dict[str, Accepts] = {
    "retain_low": is_count, "retain_tokens": is_count, "tools": lambda value: value is True,
    "redact": _some_of(REDACTORS), "roles": _some_of(ROLES), "pin_roles": _some_of(ROLES), "prune": is_share,
    "clip": is_count, "window": is_count, "window_low": is_count, "window_turns": is_count, "tokens": is_count,
    "on_failure": _one_of(ON_FAILURE), "on_conflict": _one_of(ON_CONFLICT),
}  # fmt: skip


def steps(value: Any, limits: Limits) -> None:
    """Only known steps, each with a value it may have; the low bound of a window needs its bound."""
    if type(value) is not dict:
        raise f.Misshapen("a map of steps expected")
    for name, given in value.items():
        if name not in STEPS:
            raise f.Misshapen(f"this version knows no memory step {name!r}")
        if not STEPS[name](given):
            raise f.Misshapen("no value of this step").at(f".{name}")
    if "window_low" in value and value["window_low"] >= value.get("window", 0):
        raise f.Misshapen("`window_low` is not below `window`")
