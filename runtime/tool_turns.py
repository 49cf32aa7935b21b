"""Whose turn it is: methods of a tool that change its state run one at a time, in the order they came (O-4.25).

Hands on `Turns`. Must not know: what a tool does.
"""

from __future__ import annotations

from collections import deque

from ..vm.panics import Panic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..vm.tasks import Task


class Turns:
    """The queue of one tool; `future` makes a future of the loop that runs the session."""

    __slots__ = ("name", "future", "busy", "waiting", "runs")

    def __init__(self, name: str, future: Callable[[], Any]) -> None:
        self.name = name
        self.future = future
        self.busy = False
        self.waiting: deque[Any] = deque()
        self.runs: Task | None = None  # the method that has its turn

    async def take(self, task: Task) -> None:
        """Returns when it is the turn of a call that `task` waits for."""
        if not self.busy:
            self.busy = True
            return
        self._refuse_itself(task)
        turn = self.future()
        self.waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn in self.waiting:
                self.waiting.remove(turn)
            else:  # it was given and is not taken
                self.end()
            raise

    def begin(self, task: Task) -> None:
        self.runs = task

    def end(self) -> None:
        """The next one, if any."""
        self.runs = None
        while self.waiting:
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False

    def _refuse_itself(self, task: Task) -> None:
        """A method that waits for its own end would wait for ever."""
        at: Task | None = task
        while at is not None:
            if at is self.runs:
                raise Panic("P013", f"tool {self.name}: a `mut self` method waits for itself; call it as `self.…`")
            at = at.parent
