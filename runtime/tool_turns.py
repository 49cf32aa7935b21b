"""Whose turn it is: methods of a tool that change its state run one at a time, in the order they came (O-4.25).

Hands on `Turns`. A wait that could never end, of a method for itself or of methods of several tools for each other, is refused
when it begins. Must not know: what a tool does.
"""

from __future__ import annotations

from collections import deque

from ..vm.panics import Panic
from ..vm.tasks import is_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any



class Turns:
    """The queue of one tool; `future` makes a future of the loop that runs the session, `all_of_them` holds those of
    every tool."""

    __slots__ = ("name", "future", "all_of_them", "busy", "waiting", "runs")

    def __init__(self, name: str, future: Callable[[], Any], all_of_them: list[Turns]) -> None:
        self.name = name
        self.future = future
        self.all_of_them = all_of_them
        self.busy = False
        self.waiting: deque[tuple[Any, str]] = deque()  # a future, and the path of the task that waits for it
        self.runs: str | None = None  # the path of the method that has its turn

    async def take(self, task: str) -> None:
        """Returns when it is the turn of a call that the task with that path waits for."""
        if not self.busy:
            self.busy = True
            return
        self._refuse_circle(task)
        turn = self.future()
        entry = (turn, task)
        self.waiting.append(entry)
        try:
            await turn
        except BaseException:
            if entry in self.waiting:
                self.waiting.remove(entry)
            else:  # it was given and is not taken
                self.end()
            raise

    def begin(self, task: str) -> None:
        self.runs = task

    def end(self) -> None:
        """The next one, if any."""
        self.runs = None
        while self.waiting:
            turn, _ = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False

    def _refuse_circle(self, task: str) -> None:
        """What `task` waits for must not wait for `task`: from each method that has its turn to the tools that tasks below it
        wait for."""
        reached: list[Turns] = []
        ahead = [self]
        while ahead:
            turns = ahead.pop()
            if turns.runs is None or turns in reached:
                continue
            if is_below(task, turns.runs):
                raise Panic("P013", self._circle(turns))
            reached.append(turns)
            ahead += [other for other in self.all_of_them if other._waits_below(turns.runs)]

    def _waits_below(self, running: str) -> bool:
        return any(is_below(task, running) for _, task in self.waiting)

    def _circle(self, last: Turns) -> str:
        if last is self:
            return f"tool {self.name}: a `mut self` method waits for itself; call it as `self.…`"
        return f"tools {last.name} and {self.name}: their `mut self` methods wait for each other"
