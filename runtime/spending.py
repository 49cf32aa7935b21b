"""What tasks have used of models, for programs that ask (`std::usage`, L-7.16): the last call of each, and all below it.

Hands on `Spending`. Must not know: budgets, how a call is made.
"""

from __future__ import annotations

from .usage import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KEPT = 1_000  # tasks that may be known before those that have ended are forgotten


class Spending:
    """By the paths of tasks; `alive` gives those of the tasks that have not ended."""

    __slots__ = ("alive", "last", "spent", "_most")

    def __init__(self, alive: Callable[[], Iterable[str]]) -> None:
        self.alive = alive
        self.last: dict[str, Use] = {}
        self.spent: dict[str, Use] = {}
        self._most = KEPT

    def clear(self) -> None:
        self.last.clear()
        self.spent.clear()

    def begins(self, task: str, use: Use) -> None:
        """A call of the task: `use` grows with its requests."""
        self.last[task] = use

    def add(self, task: str, use: Use) -> None:
        """What a request has used is that of its task and of those around it."""
        while True:
            found = self.spent.get(task)
            if found is None:
                found = self.spent[task] = Use()
            found.add(use)
            at = task.rfind(".")
            if at < 0:
                break
            task = task[:at]
        if len(self.spent) > self._most:
            self._forget()

    def _forget(self) -> None:
        alive = set(self.alive())
        for known in (self.last, self.spent):
            for task in [task for task in known if task not in alive]:
                del known[task]
        self._most = max(KEPT, 2 * len(self.spent))
