"""The machine: runs tasks of one program cooperatively and hands effects to its host (V-6).

Sans-I/O: `step()` runs whatever can run and returns the effects it ended in; `resume(effect, value)` continues a task. Limits are
fuel and call depth (G-6.1). Must not know: providers, files, clocks, asyncio.
"""

from __future__ import annotations

from .effects import Effect, EmitPayload
from .generated.loop import run as run_loop
from .panics import Panic
from .tasks import DONE, READY, WAITING, Task
from .values import display, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .effects import Memories
    from .link import Program
    from .linked import Code

CHUNK = 10_000  # fuel handed to the loop at a time; between chunks deadline and cancellation are looked at
UNLIMITED = 1 << 62


class Stopped(Exception):
    """The host asked the machine to stop (deadline, cancellation); `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Machine:
    """One run. `memories` is the session's memory store; `limit` sets fuel and call depth before it starts."""

    def __init__(self, program: Program, memories: Memories) -> None:
        self.program = program
        self.memories = memories
        self.fuel = 0  # fuel handed out and given back by the loop
        self.limit(None, 10_000)
        self.stop: str | None = None
        self.configured: dict[tuple[str, int, str], Any] = {}
        self.tasks: list[Task] = []
        self.started = 0
        self.effects: list[Effect] = []
        self.panic: Panic | None = None

    def limit(self, steps: int | None, depth: int) -> None:
        """`steps` is the fuel limit or None, `depth` the call-depth limit (G-6.1)."""
        self.steps = UNLIMITED if steps is None else steps
        self.reserve = self.steps  # fuel not handed out yet
        self.depth_limit = depth + 1  # the bottom frame of a task is not a call

    # ------------------------------------------------------------ tasks

    def start(self, code: Code, arguments: list[Any]) -> Task:
        """A new root task; its outcome is `task.result` once its status is done."""
        task = Task(str(self.started), code, list(arguments), self.program.begin(code), self.program.halt)
        self.started += 1
        self.tasks.append(task)
        return task

    def step(self) -> list[Effect]:
        """Run every ready task until it waits, emits or ends; the effects it made, in order. Empty: nothing can run.

        Raises Panic with position and trace, and Stopped."""
        self.effects = []
        for task in self.tasks:
            if task.status == READY:
                self._slice(task)
                if self.effects:
                    break
        self.tasks = [task for task in self.tasks if task.status != DONE]
        return self.effects

    def _slice(self, task: Task) -> None:
        try:
            run_loop(self, task)  # type: ignore[no-untyped-call]  # the loop is generated
        except Panic as panic:
            panic.trace = tuple(self._trace(task))
            panic.position = panic.trace[0][1:] if panic.trace else None
            task.status = DONE
            self.panic = panic
            raise

    def resume(self, effect: Effect, value: Any) -> None:
        """Answer an awaited effect with a value of the machine."""
        task = effect.task
        if task.effect is not effect:
            raise ValueError(f"{effect!r} is not awaited")
        task.effect = None
        task.status = READY
        task.push(value)

    # ------------------------------------------------------------ what the loop calls

    def suspend(self, task: Task, kind: str, payload: Any) -> None:
        effect = Effect(task.next_key(), kind, payload, True, task)
        task.status = WAITING
        task.effect = effect
        self.effects.append(effect)

    def emit(self, task: Task, channel: Any, payload: Any) -> None:
        if type(channel) is not str:
            raise Panic("P007", f"expected String, found {typeof(channel)} as a channel")
        self.effects.append(Effect(task.next_key(), "emit", EmitPayload(channel, payload), False, task))

    def print(self, task: Task, values: list[Any], end: str) -> None:
        text = " ".join(display(value) for value in values) + end
        self.effects.append(Effect(task.next_key(), "print", text, False, task))

    def configure(self, target: tuple[str, int, str], value: Any) -> None:
        self.configured[target] = value

    def chunk(self) -> int:
        """Fuel for a slice of the loop: what it gave back last time, or a new chunk."""
        fuel, self.fuel = self.fuel, 0
        return fuel if fuel > 0 else self.refill(fuel)

    def refill(self, overdraft: int) -> int:
        """The next chunk; `overdraft` (zero or negative) is what the block just entered costs beyond the last one."""
        if self.stop is not None:
            raise Stopped(self.stop)
        self.reserve += overdraft
        if self.reserve < 0:
            raise Panic("P101", f"step limit exceeded: {self.steps} (budget `steps`)")
        fuel = min(CHUNK, self.reserve)
        self.reserve -= fuel
        return fuel

    @property
    def used(self) -> int:
        """Fuel used so far."""
        return self.steps - self.reserve - self.fuel

    # ------------------------------------------------------------ stack traces

    def _trace(self, task: Task) -> list[tuple[str, str, int, int]]:
        """(function, file, line, column) per frame, innermost first, hidden functions left out (V-7.5)."""
        ins, _, _, code, _ = task.state
        frames = [(code, ins), *((c, i) for i, _, _, c in reversed(task.frames) if c is not None)]
        return [(c.label, *c.home.position(c, i)) for c, i in frames if not c.hidden]

