"""A task: one chain of frames with its operand stack (V-6.1).

`frames` holds the suspended callers as (next node, locals, cells, code), `state` the running frame in the same form with the top
of the stack. Must not know: effects' meaning, the host.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .linked import Code

READY, WAITING, DONE = "ready", "waiting", "done"


class Task:
    __slots__ = ("path", "stack", "frames", "state", "status", "result", "effect", "counter")

    def __init__(self, path: str, code: Code, arguments: list[Any], begin: Any, halt: Any) -> None:
        self.path = path
        self.stack: list[Any] = []
        # the bottom frame returns into a node that ends the task
        self.frames: list[Any] = [(halt, None, None, None)]
        locals_ = arguments + code.blank
        self.state: tuple[Any, ...] = (begin, locals_, [None] * code.cell_count, code, None)
        self.status = READY
        self.result: Any = None
        self.effect: Any = None
        self.counter = 0

    def next_key(self) -> str:
        self.counter += 1
        return f"{self.path}:{self.counter}"

    def finish(self, value: Any) -> None:
        self.status = DONE
        self.result = value

    def push(self, value: Any) -> None:
        """Put the result of an effect on top of the operand stack."""
        ins, locals_, cells, code, top = self.state
        self.stack.append(top)
        self.state = (ins, locals_, cells, code, value)
