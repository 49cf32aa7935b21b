"""What a task waits for inside the machine (O-6.2 to O-6.5, O-6.14): the ends of other tasks.

A wait watches tasks; `ended` is called once for each of them, in the order they end, and answers the waiting task when it has
what it needs. Must not know: instructions, effects, the host.
"""

from __future__ import annotations

from .panics import Panic
from .values import Array, Cell, Err, make_error, share
from .values.limits import check_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from .link import Program
    from .linked import Code
    from .tasks import Task

    class Machine(Protocol):
        """The part of the scheduler that waits use."""

        program: Program

        def answer(self, wait: Wait, make: Callable[[], Any]) -> None: ...
        def fail(self, wait: Wait, panic: Panic) -> None: ...
        def cancel(self, task: Task) -> bool: ...
        def call_ended(self, parent: Task) -> None: ...
        def new_task(self, parent: Task | None, code: Code, arguments: list[Any], cells: list[Any]) -> Task: ...


def outcome(machine: Machine, ended: Task) -> Any:
    """What the end of a task gives to one who awaits it: its value, or for a cancelled one an Err, else P413 (O-6.13)."""
    if not ended.cancelled:
        return share(ended.result)
    if ended.code.home.is_fallible(ended.code):
        return Err(make_error("TaskError", "Cancelled", {"message": f"the task {ended.code.label} was cancelled"}))
    raise Panic("P413", f"the awaited task {ended.code.label} was cancelled")


class Wait:
    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task

    def ended(self, machine: Machine, ended: Task) -> None:
        raise NotImplementedError


class Await(Wait):
    """`.await` of one task."""

    __slots__ = ()

    def ended(self, machine: Machine, ended: Task) -> None:
        machine.answer(self, lambda: outcome(machine, ended))


class JoinAll(Wait):
    """`await (a, b)`: all values as a tuple in operand order."""

    __slots__ = ("operands", "left")

    def __init__(self, task: Task, operands: list[Task], left: int) -> None:
        super().__init__(task)
        self.operands = operands
        self.left = left

    def ended(self, machine: Machine, ended: Task) -> None:
        self.left -= 1
        if self.left == 0:
            machine.answer(self, lambda: self.values(machine))

    def values(self, machine: Machine) -> tuple[Any, ...]:
        return tuple([outcome(machine, operand) for operand in self.operands])


class First(Wait):
    """`race (a, b)`: the value of the first to end; the others are cancelled (O-6.12)."""

    __slots__ = ("operands",)

    def __init__(self, task: Task, operands: list[Task]) -> None:
        super().__init__(task)
        self.operands = operands

    def ended(self, machine: Machine, ended: Task) -> None:
        if self.task.wait is not self:
            return  # a loser
        machine.answer(self, lambda: outcome(machine, ended))
        for operand in self.operands:
            machine.cancel(operand)


class Each(Wait):
    """`parallel for`: a task per element, at most `limit` at a time; the values in input order. `captured`: the cells that each
    task gets copies of."""

    __slots__ = ("code", "captured", "elements", "limit", "results", "places")

    def __init__(self, task: Task, elements: Iterator[Any], limit: int, code: Code, captured: list[Any]) -> None:
        super().__init__(task)
        self.code = code
        self.captured = captured
        self.elements = elements
        self.limit = limit
        self.results: list[Any] = []
        self.places: dict[Task, int] = {}  # of the running ones

    def fill(self, machine: Machine) -> None:
        """Start tasks while there is room."""
        while len(self.places) < self.limit:
            for element in self.elements:
                check_items(len(self.results) + 1)
                cells = [cell and Cell(share(cell.value)) for cell in self.captured]
                started = machine.new_task(self.task, self.code, [share(element)], cells)
                started.watchers.append(self)
                self.places[started] = len(self.results)
                self.results.append(None)
                break
            else:
                self.limit = 0

    def ended(self, machine: Machine, ended: Task) -> None:
        place = self.places.pop(ended)
        if ended.cancelled:
            machine.answer(self, lambda: outcome(machine, ended))
            return
        self.results[place] = ended.result
        try:
            self.fill(machine)
        except Panic as panic:
            machine.fail(self, panic)
        if not self.places:
            machine.answer(self, lambda: Array(self.results))


class AllEnded(Wait):
    """The tasks a function started, before it returns `value` (O-6.14)."""

    __slots__ = ("value", "left")

    def __init__(self, task: Task, value: Any, left: int) -> None:
        super().__init__(task)
        self.value = value
        self.left = left

    def ended(self, machine: Machine, ended: Task) -> None:
        self.left -= 1
        if self.left == 0:
            machine.answer(self, lambda: self.value)


class HostCall:
    """What the host runs in a task, for an effect or as the root of a run: `done` gets the task when it has ended. With
    `contains` a panic ends this task alone, and stands in `panic` then."""

    __slots__ = ("task", "done", "contains", "panic")

    def __init__(self, task: Task, done: Callable[[Task], None], contains: bool = False) -> None:
        self.task = task
        self.done = done
        self.contains = contains
        self.panic: Panic | None = None

    def ended(self, machine: Machine, ended: Task) -> None:
        parent = ended.parent
        if parent is not None:
            machine.call_ended(parent)
        self.done(ended)
