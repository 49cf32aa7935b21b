"""A machine between two steps as bytes, and another machine from them (G-13.7, V-5.8): tasks with their frames, the heap, stores,
configured fields, budgets.

What the host performs goes on with the new machine: it keeps its records of effects and of what it runs, and their tasks are
those of the new one. Hands on `written`, `read` and `Held`. Must not know: who performs effects, where bytes are kept.
"""

from __future__ import annotations

from heapq import heapify

from ..effects import Effect
from ..panics import Panic
from ..tasks import DONE, READY, WAITING, Task
from ..waits import HostCall
from . import stores
from .envelope import unseal
from .errors import misshapen
from .frames import lowered_frames, read_frames
from .payloads import lowered_payload, read_payload, same_form
from .reader import WRONG, Reader
from .waiting import lowered_wait, lowered_watchers, read_wait, read_watchers
from .writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..link import Program
    from ..machine import Machine
    from ..values import MemoryRef, Stream
    from .protocols import Heads, Secrets

    Check = Callable[[Any, list[tuple[MemoryRef, int]]], object]

WHAT = "snapshot of a run"


class Held:
    """What the host has of a machine: effects by key, of which tasks await some, and others have replies on their way or are to
    be closed; what it runs, by the path of the task; `kept`: values that share with those of the machine. `check` gets the
    part of the host itself, and the handles of memories with their versions, before anything changes."""

    def __init__(self, machine: Machine, kept: list[Any], check: Check) -> None:
        self.kept = kept
        self.check = check
        tasks = [task for root in machine.roots for task in root.subtree()]
        awaited = [task.effect for task in tasks if task.effect is not None]
        self.awaited = {effect.key for effect in awaited}
        streamed = [effect for task in tasks for effect in task.streams]
        self.effects: dict[str, Effect] = {effect.key: effect for effect in (*awaited, *streamed, *machine.closed)}
        self.calls = {task.path: call for task in tasks for call in task.watchers if type(call) is HostCall}


# ---------------------------------------------------------------- writing


class RunWriter(Writer):
    """Writes tasks that run and replies on their way, too."""

    def stream_key(self, stream: Stream) -> str:
        key: str = stream.effect.key
        return key

    def task_row(self, task: Task) -> list[Any]:
        if task.status is DONE:
            return super().task_row(task)
        fault = None if task.fault is None else [task.fault.code, self.put(task.fault.message)]
        parent = None if task.parent is None else self.task(task.parent)
        effect = None if task.effect is None else _effect(self, task.effect)
        flags = [task.status is WAITING, task.working, task.doomed]
        numbers = [task.number, task.depth, task.counter, task.born, task.calls]
        streams = [stream.key for stream in task.streams]
        return [
            task.path, self.function(task.code), parent, flags, numbers, *lowered_frames(self, task), fault, effect,
            lowered_wait(self, task.wait), lowered_watchers(self, task), streams,
        ]  # fmt: skip


def _effect(w: Writer, effect: Effect) -> list[Any]:
    return [effect.key, effect.kind, lowered_payload(w, effect.payload)]


def written(machine: Machine, kept: list[Any], secrets: Secrets, head: Heads, own: Any) -> bytes:
    """`kept`: as `Held` has them; `own`: plain data of the host itself."""
    w = RunWriter(machine.program, secrets, head)
    for root in machine.roots:
        for task in root.subtree():
            w.task(task)
    current = None if machine.current is None else w.task(machine.current)
    numbers = [machine.used, machine.created, machine.root_count]
    closed = [effect.key for effect in machine.closed]
    state = stores.lowered(w, machine, True)
    return w.sealed(WHAT, [numbers, current, closed, state, [w.put(value) for value in kept], own])


# ---------------------------------------------------------------- reading


def own_part(program: Program, data: bytes) -> Any:
    """What the host gave for itself, of a snapshot whose run is not taken up."""
    try:
        return unseal(data, WHAT, program)[3][-1]
    except WRONG:
        raise misshapen(f"the {WHAT} is malformed") from None


class RunReader(Reader):
    """`held`: what the host performs; `adopted`: its effects with the tasks and payloads that are theirs from now on."""

    holes = True  # while functions of the program give defaults to what `json::parse_as` made

    def __init__(self, program: Program, data: bytes, held: Held, secrets: Secrets) -> None:
        self.held = held
        self.adopted: list[tuple[Effect, Task, Any]] = []
        self.watchers: dict[Task, Any] = {}
        super().__init__(program, data, WHAT, secrets)

    def stream_effect(self, key: Any) -> Effect:
        return self.effect(key)

    def effect(self, key: Any) -> Effect:
        found = self.held.effects.get(self.text(key))
        if found is None:
            raise misshapen(f"an effect {key} that the host does not perform")
        return found

    def end_task(self, task: Task, *row: Any) -> None:
        if len(row) == 3:
            return super().end_task(task, *row)
        path, function, parent, flags, numbers, frames, stack, fault, effect, wait, watchers, streams = row
        waits, task.working, task.doomed = map(self.flag, flags)
        task.path = self.text(path)
        task.code = self.function(function)
        task.status = WAITING if waits else READY
        task.number, task.depth, task.counter, task.born, task.calls = map(self.index, numbers)
        if parent is not None:
            self._put_below(task, self.task(parent))
        read_frames(self, task, frames, stack)
        if fault is not None:
            code, message = fault
            task.fault = Panic(self.text(code), self.text(self.value(message)))
        if effect is not None:
            self._adopt(task, *effect)
        task.wait = read_wait(self, task, wait)
        self.watchers[task] = watchers
        task.streams = dict.fromkeys(map(self.effect, self.list(streams)))
        for stream in task.streams:
            self.adopted.append((stream, task, stream.payload))
        if waits is not ((effect is not None) ^ (wait is not None)):
            raise misshapen("a task that waits for nothing, or for two things")
        return None

    def _put_below(self, task: Task, parent: Task) -> None:
        """Rows of parents stand before those of their children, so that no task is below itself."""
        if parent.status is DONE or not task.path.startswith(f"{parent.path}.") or task.depth > len(parent.frames):
            raise misshapen("a task that its parent has not started")
        task.parent = parent
        task.base = parent.base + task.depth
        parent.children[task] = None

    def _adopt(self, task: Task, key: Any, kind: Any, payload: Any) -> None:
        effect, asked = self.effect(key), read_payload(self, payload)
        if kind != effect.kind or not key.startswith(f"{task.path}:") or not same_form(asked, effect.payload):
            raise misshapen(f"the effect {key} is another one than the host performs")
        task.effect = effect
        self.adopted.append((effect, task, asked))


def read(machine: Machine, data: bytes, held: Held, secrets: Secrets) -> tuple[list[Any], dict[str, Stream]]:
    """Puts the run into a machine in which nothing has run, whose limits stay the host's. Gives what was kept beside it, and
    streams that have not ended, by the keys of the effects that began them.

    SnapshotError, and nothing of the host has changed, unless all of it fits what the host performs."""
    r = RunReader(machine.program, data, held, secrets)
    try:
        numbers, current, closed, state, kept, own = r.roots
        used, machine.created, machine.root_count = map(r.index, numbers)
        machine.reserve = machine.steps - used
        stores.read(r, state, True).replace(machine)
        alive = _plant(r, machine, current)
        called = read_watchers(r, alive, r.watchers, held.calls)
        if len(called) != len(held.calls) or {task.effect.key for task in alive if task.effect is not None} != held.awaited:
            raise misshapen("tasks of another moment than the host's")
        machine.closed = list(map(r.effect, closed))
        values = r.values(kept)
        if list(map(type, values)) != list(map(type, held.kept)):
            raise misshapen("values that the host has not kept")
        held.check(own, r.memories)
    except WRONG:
        raise misshapen(f"the {WHAT} is malformed") from None
    for effect, task, payload in r.adopted:
        effect.task, effect.payload = task, payload
    for call, task in called:
        call.task = task
    return values, r.streams


def _plant(r: RunReader, machine: Machine, current: Any) -> list[Task]:
    """The tree of tasks, and who may run; those that have not ended."""
    alive = list(r.watchers)
    numbers, paths = {task.number for task in alive}, {task.path for task in alive}
    awaited = [task.effect for task in alive if task.effect is not None]
    if not len(numbers) == len(paths) == len(alive) or len(set(awaited)) != len(awaited):
        raise misshapen("two tasks of one name, or that wait for one effect")
    if any(number >= machine.created for number in numbers):
        raise misshapen("a task that was not created")
    ready = [task for task in alive if task.status is READY]
    machine.current = None if current is None else r.task(current)
    if machine.current is not None and (machine.current not in ready or not machine.current.working):
        raise misshapen("a task that runs and cannot")
    machine.roots = {task: None for task in sorted(alive, key=lambda task: task.number) if task.parent is None}
    machine.queue = [(task.number, task) for task in ready if task.working and task is not machine.current]
    machine.held = [(task.number, task) for task in ready if not task.working]
    heapify(machine.queue)
    heapify(machine.held)
    machine.at_work = sum(task.working for task in alive)
    if machine.held and machine.at_work < machine.task_limit:
        raise misshapen("a task that could run and may not")
    return alive
