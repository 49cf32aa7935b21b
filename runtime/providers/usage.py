"""What a reply says it has used (O-1.98, O-1.105, G-9.7).

Hands on `Usage`. Must not know: wires, budgets.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_TOKENS = 100_000_000  # of one counter; the longest context there is has ten million


class Usage:
    """A report with a counter that is no whole number of 0 to MOST_TOKENS is refused as a whole: it has no counters."""

    __slots__ = ("_report",)

    def __init__(self, report: Any) -> None:
        self._report: dict[str, Any] = report if type(report) is dict and _is_sound(report) else {}

    def tokens(self, *names: str) -> int:
        """The sum of counters; one that is missing or null is 0."""
        return sum(self._report.get(name) or 0 for name in names)

    def tokens_of(self, part: str, name: str) -> int:
        """A counter of a part of the report."""
        return (self._report.get(part) or {}).get(name) or 0

    def reports(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[bool, bool]:
        """Whether there is a counter of input, and one of output."""
        return self._has(inputs), self._has(outputs)

    def _has(self, names: Sequence[str]) -> bool:
        return any(self._report.get(name) is not None for name in names)


def _is_sound(report: dict[str, Any], depth: int = 0) -> bool:
    """Counters are the members whose names end in `tokens`."""
    for name, value in report.items():
        if value is None:
            continue
        if name.endswith("tokens"):
            if type(value) is not int or not 0 <= value <= MOST_TOKENS:
                return False
        elif name.endswith("_details") and not (depth == 0 and type(value) is dict and _is_sound(value, 1)):
            return False
    return True
