"""The memories of a session by name (O-10.15, O-8.3).

Hands on `MemoryLog`s. Must not know: the image they were declared in, calls.
"""

from __future__ import annotations

from .log import MemoryLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class MemoryStore:
    """One log per declared name; logs are shared handles and live as long as the store (O-3.3)."""

    __slots__ = ("_logs",)

    def __init__(self, declared: Iterable[tuple[str, int | None]] = ()) -> None:
        self._logs = {name: MemoryLog(max_messages, name) for name, max_messages in declared}

    def __getitem__(self, name: str) -> MemoryLog:
        return self._logs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._logs)

    def __len__(self) -> int:
        return len(self._logs)

    def take_over(self, earlier: MemoryStore) -> None:
        """Go on with the logs of another store where a name is in both and as bounded there."""
        for name in earlier:
            if name in self._logs and self._logs[name].max_messages == earlier[name].max_messages:
                self._logs[name] = earlier[name]
