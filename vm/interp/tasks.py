"""A task: one chain of frames with its operand stack, and its place in the tree of tasks (V-6.1, V-6.4).

`Task.frames` holds the suspended callers as (next node, locals, cells, code), `Task.state` the running frame in the same form
with the top of the stack. A node is a linked instruction, a cell the box of a variable that closures share. This is data: the
scheduler decides when a task runs and what ends its wait, and the loop runs its instructions. An effect is a request to the host;
a task waits for one that is awaited, and goes on after any other, such as an emit. A slice is what a task runs in one go.

Hands on `Task` and its states READY, WAITING and DONE to the machine and snapshots, `Task` and DONE to the runtime too, `Task` as
a type to built-ins; what methods and opcodes return to the loop: `Invoke` and `SUSPENDED` to the machine, built-ins and the loop,
`Invoke` also to the translated tier and `runtime/effects/memories.py`, `NOTHING` to scheduler and template alone; and `is_below`
to the runtime.
"""

from __future__ import annotations

from ..values import TaskHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..panics import Panic
    from .linked import Code


READY, WAITING, DONE = "ready", "waiting", "done"
NOTHING = object()  # no value: of `Task.answer`, and of an opcode that pushes nothing


def is_below(path: str, above: str) -> bool:
    """Return whether the task with a path is the one with the path `above`, or was started below it."""
    return path == above or path.startswith(f"{above}.")


class Task:
    """One task. `number` is the order of creation; `path` names the task whatever the order of running (V-6.5). `code`: the
    function that it began with; `stack`: its operand stack, between slices without the top; `status`: READY, WAITING or DONE. The
    constructor takes `arguments` and `cells` of that function, and the nodes `begin`, its first, and `halt`, which ends the task.

    `base` counts the frames of the tasks above it, `depth` those of its parent when it started. `working`: it counts against the
    limit of tasks at work. `wait`: the wait inside the machine that it is suspended in; `watchers`: the waits for its end.
    `effect`: the effect that it waits for, None without one. `counter` and `born`: how many effects and children it has had.
    `result` is there once the status is DONE; `cancelled`: then it is None, for the task was stopped.
    """

    __slots__ = (
        "number", "path", "parent", "base", "depth", "code", "children", "stack", "frames", "state", "status", "working",
        "cancelled", "doomed", "result", "answer", "fault", "effect", "wait", "watchers", "counter", "born", "calls", "streams",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        path: str,
        parent: Task | None,
        code: Code,
        arguments: list[Any],
        cells: list[Any],
        begin: Any,
        halt: Any,
    ) -> None:
        self.number = number
        self.path = path
        self.parent = parent
        self.depth = 0 if parent is None else len(parent.frames)
        self.base: int = 0 if parent is None else parent.base + self.depth
        self.code = code
        self.children: dict[Task, None] = {}  # those that have not ended, in order of creation
        self.stack: list[Any] = []
        # the bottom frame returns into a node that ends the task
        self.frames: list[Any] = [(halt, None, None, None)]
        self.state: tuple[Any, ...] = (begin, arguments + code.blank, cells, code, None)
        self.status = READY
        self.working = False
        self.cancelled = False
        self.doomed = False  # cancelled by itself: it stops where it suspends next (O-6.13)
        self.result: Any = None
        self.answer: Any = NOTHING  # the result of an instruction that ended its slice and waits for nothing
        self.fault: Panic | None = None  # raised when it goes on
        self.effect: Any = None
        self.wait: Any = None
        self.watchers: list[Any] = []
        self.counter = 0
        self.born = 0
        self.calls = 0  # children that run for the effect it waits for
        self.streams: dict[Any, None] = {}  # effects that began replies which are still on their way

    @property
    def handle(self) -> TaskHandle:
        """A new handle of the task, a value of the program."""
        return TaskHandle(self, self.code.label)

    def next_key(self) -> str:
        """Return the key of the next effect of this task, `PATH:NUMBER` from 1, and count it: it does not depend on the order of
        scheduling (V-6.5)."""
        self.counter += 1
        return f"{self.path}:{self.counter}"

    def next_path(self) -> str:
        """Return the path of the next child, `PATH.NUMBER` from 1, and count it."""
        self.born += 1
        return f"{self.path}.{self.born}"

    def finish(self, value: Any) -> None:
        """Note that the first function has returned `value`; the scheduler does the rest when the slice is over."""
        self.status = DONE
        self.result = value

    def push(self, value: Any) -> None:
        """Put a value, such as the result of an effect, on top of the operand stack."""
        ins, locals_, cells, code, top = self.state
        self.stack.append(top)
        self.state = (ins, locals_, cells, code, value)

    def subtree(self) -> Iterator[Task]:
        """Yield the task and all tasks below it, parents first."""
        pending = [self]
        while pending:
            task = pending.pop()
            yield task
            pending.extend(reversed(task.children))

    def drop(self) -> None:
        """Release what only a running task needs, and leave the parent's list of children. The result stays."""
        self.stack = []
        self.frames = []
        self.state = ()
        self.wait = None
        self.effect = None
        self.streams = {}
        self.watchers = []
        if self.parent is not None:
            self.parent.children.pop(self, None)


# What a method returns to the loop instead of a value: enter a function, or the slice is over.


class Invoke:
    """Enter the function `code` with these arguments and captured cells; the loop pushes what that returns. `is_tool`: it is a
    method of a tool that runs within the slice, so that `Machine.left_tool` makes the value of the call of what it returns."""

    __slots__ = ("code", "arguments", "cells", "is_tool")

    def __init__(self, code: Any, arguments: list[Any], cells: Any, is_tool: bool = False) -> None:
        self.code = code
        self.arguments = arguments
        self.cells = list(cells)
        self.is_tool = is_tool


class Suspended:
    """The slice of the task is over: an effect or a wait has to be answered first."""

    __slots__ = ()


SUSPENDED = Suspended()
