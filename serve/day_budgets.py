"""What a caller may use in a day of UTC (S-1.7).

Hands on `DayBudgets` to the application, which makes it, and to the calls. In one process the budget is exact, requests on their
way included; what other processes with the same file of states have used is seen when a call begins. The budgets of a session are
not decided here: they are among its options.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from ..api.options import SharedBudget
from .problems import Problem
from .settings import Serving
from .state import State


class DayBudgets:
    """The budgets of the day of UTC `day` by caller. `state` is the file of states, None without one; `clock` gives the seconds
    since 1970."""

    def __init__(self, settings: Serving, state: State | None, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.state = state
        self.clock = clock
        self.day = ""
        self.budgets: dict[str, SharedBudget] = {}

    def of(self, caller: str) -> list[SharedBudget]:
        """Return what the calls of a caller draw on, an empty list where no budget is set. Raise Problem: 429 where it is
        spent, 503 where the file of states cannot be read."""
        if not self._is_set:
            return []
        tokens, cost = self.settings.day_tokens, self.settings.day_cost
        today = self._today()
        if today != self.day:
            self.day, self.budgets = today, {}
        used = (0, 0.0) if self.state is None else self.state.used(today, caller)
        if caller not in self.budgets:
            left = None if tokens is None else tokens - used[0], None if cost is None else cost - used[1]
            if any(one is not None and one <= 0 for one in left):
                raise self._spent()
            self.budgets[caller] = SharedBudget(tokens=left[0], cost=left[1])
        now = self.budgets[caller].left()
        beyond = (tokens is not None and used[0] >= tokens) or (cost is not None and used[1] >= cost)
        if beyond or now.tokens == 0 or now.cost == 0:
            raise self._spent()
        return [self.budgets[caller]]

    def spent(self, caller: str, tokens: int, cost: float) -> None:
        """Keep what a call has used, its `cost` in dollars: on the day on which the last call began here, of
        one that another process began on this one. Where the file of states takes nothing, it counts in this process alone."""
        if self.state is not None and self._is_set and (tokens or cost):
            with suppress(Problem):  # the call has ended, and its result is told
                self.state.add_used(self.day or self._today(), caller, tokens, cost)

    @property
    def _is_set(self) -> bool:
        return self.settings.day_tokens is not None or self.settings.day_cost is not None

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.clock()))

    def _spent(self) -> Problem:
        midnight = 86400 - int(self.clock()) % 86400
        return Problem(429, "budget", "the budget of the day is spent", headers={"Retry-After": str(midnight)})
