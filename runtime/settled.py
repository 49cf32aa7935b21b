"""The outcome of an effect that still has to be written down.

Must not know: who made it, what writing means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Settled:
    """`commit` writes and gives the value. It is called when the task goes on, and never when the task was cancelled while the
    outcome was on its way: a race loser whose reply came leaves nothing in a memory (O-6.12)."""

    __slots__ = ("commit",)

    def __init__(self, commit: Callable[[], Any]) -> None:
        self.commit = commit
