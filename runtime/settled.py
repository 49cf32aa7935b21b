"""The outcome of an effect that still has to be written down.

Must not know: who made it, what writing means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any


class Settled:
    """`commit` writes and gives the value, as an operation on stores: what has to wait is begun anew where it may. It is called
    when the task goes on, and never when the task was cancelled while the outcome was on its way: a race loser whose reply came
    leaves nothing in a memory (O-6.12). `over` is called when the writing is done or given up. `after`: work that follows the
    writing and that the task waits for, such as the folds of a summary (M-9.5)."""

    __slots__ = ("commit", "after", "over")

    def __init__(
        self,
        commit: Callable[[], Any],
        after: Callable[[], Awaitable[None]] | None = None,
        over: Callable[[], object] = lambda: None,
    ) -> None:
        self.commit = commit
        self.after = after
        self.over = over

    def written(self, value: Any) -> Settled:
        """What is left to do when the writing gave that value."""
        return Settled(lambda: value, self.after)
