"""The volatile log behind a memory of the base form (O-3.1 to O-3.14, M-5.7, M-5.10, M-14.1).

A bounded log evicts the oldest message at each append, whatever the bound costs the same. Messages are shared, never
copied: they do not change. Hands on lists of `Msg`. Must not know: calls, providers, the machine.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from ..records import Msg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class MemoryLog:
    """`max_messages` None is unbounded. A turn is the messages of one commit; a single append is a turn of its own.

    An append only notes role and content; the first reading makes the record, once a message. Positions are counted
    from the first append ever, so that turns are known without a number beside each message.
    """

    __slots__ = ("name", "max_messages", "_made", "_noted", "_appended", "_clears", "_runs", "_surplus")

    def __init__(self, max_messages: int | None = None, name: str = "") -> None:
        self.name = name
        self.max_messages = max_messages
        self._made: deque[Msg] = deque(maxlen=max_messages)
        self._noted: deque[tuple[str, str]] = deque(maxlen=max_messages)
        self._appended = 0
        self._clears = 0
        self._runs: dict[str, tuple[int, int]] = {}  # run id: position of its turn, number of its messages
        self._surplus = 0  # messages beyond the first of the turns of all runs so far

    @property
    def version(self) -> int:
        """Number of changes so far (M-6.14)."""
        return self._appended - self._surplus + self._clears

    def append(self, role: str, content: str) -> None:
        """At once, and of no turn of a run (O-3.9). The caller has checked the role."""
        self._noted.append((role, content))
        self._appended += 1

    def append_turn(self, messages: Sequence[tuple[str, str]], run_id: str) -> bool:
        """All (role, content) pairs of a run or none; a run that is already stored adds nothing (M-5.10)."""
        self._forget_evicted_runs()
        if run_id in self._runs:
            return False
        self._runs[run_id] = (self._appended, len(messages))
        self._noted.extend(messages)
        self._appended += len(messages)
        self._surplus += len(messages) - 1
        return True

    def messages(self) -> list[Msg]:
        """A snapshot, oldest first."""
        return list(self._settled())

    def last(self, n: int) -> list[Msg]:
        """The newest n, oldest first; costs what it returns (M-14.2)."""
        if n <= 0:
            return []
        newest = list(islice(reversed(self._settled()), n))
        newest.reverse()
        return newest

    def turns(self) -> list[tuple[int, str | None]]:
        """Per message its turn number and run id; None for a direct append."""
        self._forget_evicted_runs()
        found: list[tuple[int, str | None]] = []
        surplus = self._surplus - sum(count - 1 for _, count in self._runs.values())
        at = self._appended - len(self)
        for run_id, (first, count) in self._runs.items():
            found.extend((position - surplus, None) for position in range(at, first))
            found.extend((first - surplus, run_id) for _ in range(max(at, first), first + count))
            at = first + count
            surplus += count - 1
        found.extend((position - surplus, None) for position in range(at, self._appended))
        return found

    def __len__(self) -> int:
        held = len(self._made) + len(self._noted)
        return held if self.max_messages is None else min(held, self.max_messages)

    def clear(self) -> None:
        """Removes all messages; turn numbers go on."""
        self._made.clear()
        self._noted.clear()
        self._runs.clear()
        self._clears += 1

    def _settled(self) -> deque[Msg]:
        """All messages as records."""
        if self._noted:
            self._made.extend([Msg(role, content) for role, content in self._noted])
            self._noted.clear()
        return self._made

    def _forget_evicted_runs(self) -> None:
        """A run is remembered as long as a message of its turn is."""
        oldest = self._appended - len(self)
        while self._runs:
            run_id, (first, count) = next(iter(self._runs.items()))
            if first + count > oldest:
                return
            del self._runs[run_id]
