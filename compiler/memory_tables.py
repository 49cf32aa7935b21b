"""What a manifest says of memories: stores by name, steps that declarations may leave out, the namespace of keys (M-2.12, M-7.1).

Hands on `MemoryTables`, and `milliseconds` of a duration. Must not know: the file, declarations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
DURABLE = "durable"
BUILT_IN: dict[str, dict[str, Any]] = {DURABLE: {"kind": "sqlite"}}
EMBEDDERS: dict[str, dict[str, Any]] = {"offline": {"kind": "offline"}}


@dataclass(slots=True)
class MemoryTables:
    """`stores`, `embedders`: fields by name; `defaults`: by step, what a declaration's steps hold.
    `namespace`: None: the program's name."""

    stores: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(BUILT_IN))
    defaults: dict[str, dict[str, Any]] = field(default_factory=dict)
    namespace: str | None = None
    embedders: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(EMBEDDERS))


def milliseconds(value: object) -> int | None:
    """Of a duration: a text with its unit, or seconds (M-2.7); None for anything else, and for less than a millisecond."""
    if isinstance(value, str):
        found = DURATION.fullmatch(value)
        ms = round(float(found[1]) * UNITS[found[2]]) if found else 0
    else:
        ms = round(value * 1000) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
    return ms if 0 < ms < 1 << 53 else None
