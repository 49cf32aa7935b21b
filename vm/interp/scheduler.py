"""The tree of tasks: which can run, who waits for whom, what a cancellation takes with it (V-6.4, O-6.12 to O-6.16, G-7.2).

Hands on `Scheduler`, the base class of the machine, to `machine.py`, and `HostCall` with the waits `Await`, `JoinAll`, `First`,
`Each` and `AllEnded` to `vm/snapshot/machine.py`, which writes and reads them; types need `Wait` there and `HostCall` in
`machine.py`. Ready tasks run in order of creation, but one whose last effect was not awaited goes on before all others. When
`task_limit` are at work, further ones are held back until one ends or waits for others. A slice is what a task runs in one go:
where a method returns SUSPENDED, it is over. An effect is a request to the host, the program around the machine, which alone
performs it. Nothing here runs an instruction (that is the loop, which `machine.py` calls), does input or output, or reads a
clock. Which task comes next is decided in `next_ready`, what a cancellation takes with it in `cancel`.
"""

from __future__ import annotations

from heapq import heappop, heappush

from ..panics import Panic
from ..values import Array, Cell, Err, TaskHandle, make_error, share, typeof
from ..values.limits import check_items
from .ops import iterate
from .tasks import DONE, NOTHING, READY, SUSPENDED, WAITING, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from .effects import Effect
    from .link import Program
    from .linked import Code


# What a task waits for inside the machine (O-6.2 to O-6.5, O-6.14): the ends of other tasks. A wait watches tasks; `ended` is
# called once for each of them, in the order in which they end, and answers the waiting task when nothing is missing any more.

if TYPE_CHECKING:
    class Machine(Protocol):
        """The part of the scheduler that waits use; `Scheduler` says what its methods do."""

        program: Program

        def answer(self, wait: Wait, make: Callable[[], Any]) -> None: ...
        def fail(self, wait: Wait, panic: Panic) -> None: ...
        def cancel(self, task: Task) -> bool: ...
        def call_ended(self, parent: Task) -> None: ...
        def new_task(self, parent: Task | None, code: Code, arguments: list[Any], cells: list[Any]) -> Task: ...


def outcome(machine: Machine, ended: Task) -> Any:
    """Return what an `await` of a task that has ended gives: its value; when it was cancelled, an Err if its function is
    fallible, else P413 is raised (O-6.13)."""
    if not ended.cancelled:
        return share(ended.result)
    if ended.code.home.is_fallible(ended.code):
        return Err(make_error("TaskError", "Cancelled", {"message": f"the task {ended.code.label} was cancelled"}))
    raise Panic("P413", f"the awaited task {ended.code.label} was cancelled")


class Wait:
    """Why `task` is suspended inside the machine. It stands in the `watchers` of each task whose end it waits for."""

    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task

    def ended(self, machine: Machine, ended: Task) -> None:
        """Take note that the watched task `ended` has ended, and answer the waiting one when nothing is missing any more."""
        raise NotImplementedError


class Await(Wait):
    """`.await` of one task."""

    __slots__ = ()

    def ended(self, machine: Machine, ended: Task) -> None:
        machine.answer(self, lambda: outcome(machine, ended))


class JoinAll(Wait):
    """`await (a, b)`: all values as a tuple in the order of the tasks `operands`. `pending`: how many operands have not ended."""

    __slots__ = ("operands", "pending")

    def __init__(self, task: Task, operands: list[Task], pending: int) -> None:
        super().__init__(task)
        self.operands = operands
        self.pending = pending

    def ended(self, machine: Machine, ended: Task) -> None:
        self.pending -= 1
        if self.pending == 0:
            machine.answer(self, lambda: self.values(machine))

    def values(self, machine: Machine) -> tuple[Any, ...]:
        """Return the values of the operands, which have all ended. Raises P413 as `outcome`."""
        return tuple([outcome(machine, operand) for operand in self.operands])


class First(Wait):
    """`race (a, b)`: the value of the first of the tasks `operands` to end; the others are cancelled (O-6.12)."""

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
    """`parallel for`: a task per element, at most `limit` at a time; the values in input order. `code`: the body; `captured`: the
    cells that each task gets copies of; `elements`: those without a task yet; `results`: the values so far, None for a task that
    has not ended; `places`: the index in `results` of each task that has not."""

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
        """Start tasks for the next elements while fewer than `limit` run. Raises P103 for more elements than an Array may
        have."""
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
    """The tasks a function started, before it returns `value` (O-6.14). `pending`: how many of them have not ended."""

    __slots__ = ("value", "pending")

    def __init__(self, task: Task, value: Any, pending: int) -> None:
        super().__init__(task)
        self.value = value
        self.pending = pending

    def ended(self, machine: Machine, ended: Task) -> None:
        self.pending -= 1
        if self.pending == 0:
            machine.answer(self, lambda: self.value)


class HostCall:
    """What the host runs in a task, for an effect or as the root of a run: `on_end` is called with the task when it has ended.
    With `contains` a panic ends this task alone and is put into `panic`."""

    __slots__ = ("task", "on_end", "contains", "panic")

    def __init__(self, task: Task, on_end: Callable[[Task], None], contains: bool = False) -> None:
        self.task = task
        self.on_end = on_end
        self.contains = contains
        self.panic: Panic | None = None

    def ended(self, machine: Machine, ended: Task) -> None:
        """Put the parent at work again, if this was its last call, and call `on_end`."""
        parent = ended.parent
        if parent is not None:
            machine.call_ended(parent)
        self.on_end(ended)


class Scheduler:
    """The tasks of one machine, from their start to their end. `task_limit`: how many are at work at most, where the machine sets
    no other number. `roots`: the tasks without a parent that have not ended, in order of creation. `created`, `root_count`: how
    many tasks and roots there have been. `at_work`: how many tasks count against the limit now. `running`: the task whose
    instructions run now, None between slices."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.task_limit = 1024
        self.roots: dict[Task, None] = {}
        self.created = 0
        self.root_count = 0
        self.current: Task | None = None  # goes on before all others: its last effect was not awaited
        self.queue: list[tuple[int, Task]] = []  # heap of those that can run
        self.held_back: list[tuple[int, Task]] = []  # heap of those that could run but for the limit
        self.at_work = 0
        self.running: Task | None = None
        self.effects: list[Effect] = []  # new ones, which the host has not seen yet
        self.handing: Task | None = None  # whose open streams the host reads once it has ended
        self.handed: dict[Effect, None] = {}  # they, once it has ended
        self.closed: list[Effect] = []  # effects that the host performs and no task waits for any more

    # ------------------------------------------------------------ making and running

    def new_task(self, parent: Task | None, code: Code, arguments: list[Any], cells: list[Any]) -> Task:
        """Return a new task that may run, a child of `parent` or a root. `arguments`: one for each parameter of `code`; `cells`:
        one for each cell of its frame, None where the function makes the cell itself."""
        if parent is None:
            path = str(self.root_count)
            self.root_count += 1
        else:
            path = parent.next_path()
        task = Task(self.created, path, parent, code, arguments, cells, self.program.begin(code), self.program.halt)
        self.created += 1
        (self.roots if parent is None else parent.children)[task] = None
        self.ready(task)
        return task

    def next_ready(self) -> Task | None:
        """Take from the queue and return the task to run next: the one whose last effect was not awaited, else the oldest; None
        when none can run."""
        task = self.current
        self.current = None
        if task is not None and task.status is READY:
            return task
        while self.queue:
            task = heappop(self.queue)[1]
            if task.status is READY:  # a cancelled task stays in the heap until it comes up
                return task
        return None

    def ready(self, task: Task) -> None:
        """Let a task run as soon as the limit on tasks at work allows it."""
        task.status = READY
        if task.working:
            heappush(self.queue, (task.number, task))
        elif self.at_work < self.task_limit:
            task.working = True
            self.at_work += 1
            heappush(self.queue, (task.number, task))
        else:
            heappush(self.held_back, (task.number, task))

    def _rest(self, task: Task) -> None:
        """Take a task out of those at work, so that the next one held back may run."""
        if not task.working:
            return
        task.working = False
        self.at_work -= 1
        while self.held_back and self.at_work < self.task_limit:
            other = heappop(self.held_back)[1]
            if other.status is READY:
                self.ready(other)

    def after_slice(self, task: Task) -> None:
        """Decide what happens to a task whose slice is over: it ends, goes on at once, or waits."""
        if task.status is DONE:
            self._end(task)
        elif task.answer is not NOTHING:
            task.push(task.answer)
            task.answer = NOTHING
            task.status = READY
        elif task.doomed and task.status is WAITING:
            self.cancel(task)
        if task.status is READY:
            self.current = task

    def wait_for_host(self, task: Task, effect: Effect) -> None:
        """Let a task wait for an effect, which the host answers; it still counts as at work."""
        task.status = WAITING
        task.effect = effect

    # ------------------------------------------------------------ ends

    def _end(self, task: Task) -> None:
        """End a task that has run to its end; its children that have not ended are cancelled."""
        for child in list(task.children):
            self.cancel(child)
        self._leave(task)

    def _leave(self, task: Task) -> None:
        watchers = task.watchers
        if task is self.handing:
            self.handing, self.handed = None, task.streams
        else:
            self.closed.extend(task.streams)  # replies that were not read to their end
        self.roots.pop(task, None)
        task.drop()
        self._rest(task)
        for watcher in watchers:
            watcher.ended(self, task)

    def cancel(self, task: Task) -> bool:
        """Stop a task and everything below it; their effects are closed. Return False when it had ended already (O-6.5, G-7.2). A
        task that runs now stops where it suspends next."""
        if task.status is DONE:
            return False
        ended = []
        for member in list(task.subtree()):
            if member is self.running:
                member.doomed = True  # its frames are in the hands of the loop: it stops where it suspends next
                continue
            if member.effect is not None:
                self._close(member.effect)
            member.status = DONE
            member.cancelled = True
            ended.append(member)
        # only now: a watcher of one member may look at the status of another
        for member in ended:
            self._leave(member)
        return True

    def _close(self, effect: Effect) -> None:
        if effect in self.effects:
            self.effects.remove(effect)  # the host does not know it yet
        else:
            self.closed.append(effect)

    def cancel_all(self) -> None:
        """Cancel every task that has not ended."""
        for root in list(self.roots):
            self.cancel(root)

    # ------------------------------------------------------------ waits

    def wait(self, wait: Wait, watched: list[Task]) -> Any:
        """Suspend the task of this wait until tasks in `watched` end, and return SUSPENDED; it does not count as at work
        meanwhile."""
        task = wait.task
        task.status = WAITING
        task.wait = wait
        for other in watched:
            other.watchers.append(wait)
        self._rest(task)
        return SUSPENDED

    def answer(self, wait: Wait, make: Callable[[], Any]) -> None:
        """Continue the task of this wait with the result of `make`, or with the panic that it raises. Does nothing when the task
        waits no longer."""
        task = wait.task
        if task.wait is not wait:
            return
        task.wait = None
        try:
            task.push(make())
        except Panic as panic:
            task.fault = panic
        self.ready(task)

    def fail(self, wait: Wait, panic: Panic) -> None:
        """Continue the task of this wait with a panic."""
        def fault() -> Any:
            raise panic

        self.answer(wait, fault)

    def waits_of(self, paths: list[str]) -> dict[str, tuple[list[str], bool]]:
        """Return, by path, (the paths of the tasks for whose ends a task waits, whether the end of one of them is enough). There
        is an entry for each of `paths` and for every path that stands in an entry. A task that runs, or waits for the host alone,
        waits for no end. One that has ended stands for the task above it, which has what it held."""
        living = {task.path: task for root in self.roots for task in root.subtree()}
        watched: dict[Any, list[str]] = {}
        for task in living.values():
            for watcher in task.watchers:
                call_of = task.parent if type(watcher) is HostCall else None
                watched.setdefault(watcher if call_of is None else call_of, []).append(task.path)
        waits: dict[str, tuple[list[str], bool]] = {}
        pending = list(paths)
        while pending:
            path = pending.pop()
            if path not in waits:
                waits[path] = _ends(path, living.get(path), watched)
                pending += waits[path][0]
        return waits

    # ------------------------------------------------------------ what instructions call

    def start_task(self, task: Task, code: Code, arguments: list[Any], cells: list[Any]) -> TaskHandle:
        """Start a child with copies of the variables that it captures, and return its handle (O-6.8)."""
        return self.new_task(task, code, arguments, copies(code, cells)).handle

    def join(self, task: Task, handles: list[Any]) -> Any:
        """`await (a, b)`: return the values as a tuple, or SUSPENDED until all have ended. Raises P007 for what is no Task, P413
        as `outcome`."""
        operands = tasks_of(handles)
        running = [operand for operand in operands if operand.status is not DONE]
        wait = JoinAll(task, operands, len(running))
        return self.wait(wait, running) if running else wait.values(self)

    def race(self, task: Task, handles: list[Any]) -> Any:
        """`race (a, b)`: return the value of the first operand that has ended and cancel the others, or SUSPENDED (O-6.12).
        Raises P007 for what is no Task, P013 for no operand, P413 as `outcome`."""
        operands = tasks_of(handles)
        if not operands:
            raise Panic("P013", "race: expected one operand or more")
        first = next((operand for operand in operands if operand.status is DONE), None)
        if first is None:
            return self.wait(First(task, operands), operands)
        for operand in operands:
            self.cancel(operand)
        value = outcome(self, first)
        return self.pause(task, value) if self.closed else value

    def await_value(self, task: Task, value: Any) -> Any:
        """`.await`: return the value of a task, or SUSPENDED; any other value is returned as it is (L-9.1.2).
        Raises P413 as `outcome`."""
        if type(value) is not TaskHandle:
            return value
        awaited = value.task
        if awaited.status is DONE:
            return outcome(self, awaited)
        return self.wait(Await(task), [awaited])

    def parallel(self, task: Task, code: Code, cells: list[Any], iterable: Any, limit: Any) -> Any:
        """`parallel for`: start the first tasks and return SUSPENDED, or an empty Array for no elements. `limit`: how many run at
        a time, None for as many as the run allows. Raises P007 or P013 for one that is no count, P103 as `Each.fill`, and as
        `ops.iterate` does: P007 for what no `for` walks over."""
        if limit is None:
            limit = self.task_limit
        elif type(limit) is not int:
            raise Panic("P007", f"expected Int as the limit of parallel for, found {typeof(limit)}")
        if limit < 1:
            raise Panic("P013", f"parallel for: limit {limit} is below 1")
        each = Each(task, iterate(iterable, self), min(limit, self.task_limit), code, copies(code, cells))
        each.fill(self)
        return self.wait(each, []) if each.places else Array([])

    def settle(self, task: Task, value: Any, depth: int) -> Any:
        """End the tasks that a function started, before it returns `value`: an Err cancels them, else they are waited for
        (O-6.14). `depth`: of the frame that returns. Return the value or SUSPENDED."""
        started = [child for child in task.children if child.depth == depth]
        if type(value) is Err:
            for child in started:
                self.cancel(child)
            started = []
        if started:
            return self.wait(AllEnded(task, value, len(started)), started)
        return self.pause(task, value) if self.closed else value

    def cancel_handle(self, task: Task, handle: TaskHandle) -> Any:
        """`.cancel()`: cancel the task of a handle and return whether it still ran. Return SUSPENDED where effects have to be
        closed, so that they are over when the calling task goes on (G-7.2)."""
        running = self.cancel(handle.task)
        return self.pause(task, running) if self.closed else running

    def close_stream(self, task: Task, stream: Any) -> Any:
        """Let the host end a reply that is on its way and set the stream's response, before the task goes on with nil. Return
        SUSPENDED."""
        stream.effect.task.streams.pop(stream.effect, None)
        self._close(stream.effect)
        return self.pause(task, None)

    def pause(self, task: Task, value: Any) -> Any:
        """End the slice and return SUSPENDED; the task goes on with `value` once the host has seen the effects."""
        task.status = WAITING
        task.answer = value
        return SUSPENDED

    # ------------------------------------------------------------ what the host calls

    def call(
        self, effect: Effect, code: Code, arguments: list[Any], captured: Any, on_end: Callable[[Task], None],
        contains: bool = False,
    ) -> HostCall:  # fmt: skip
        """Run a function as a child of the task that waits for `effect`; `on_end` is called with the child when it has ended.
        `captured`: the cells of a closure; `contains`: a panic ends the child alone. Return the record of the call. Raises
        ValueError when no task awaits the effect."""
        parent = effect.task
        if parent.effect is not effect:
            raise ValueError(f"{effect!r} is not awaited")
        parent.calls += 1
        self._rest(parent)  # it waits for its child; if it stayed at work, such parents could fill the limit for ever
        task = self.new_task(parent, code, arguments, [*captured, *[None] * (code.cell_count - len(captured))])
        return self.watched(task, on_end, contains)

    def watched(self, task: Task, on_end: Callable[[Task], None], contains: bool = False) -> HostCall:
        """Return the host's record of a task whose end it waits for; the parameters are those of `HostCall`."""
        call = HostCall(task, on_end, contains)
        task.watchers.append(call)
        return call

    def contained(self, task: Task, panic: Panic) -> bool:
        """Return whether the host runs the task, or one above it, in a call that contains panics. If so, end that call."""
        above: Task | None = task
        while above is not None:
            call = next((one for one in above.watchers if type(one) is HostCall and one.contains), None)
            if call is not None:
                call.panic = panic
                self.cancel(above)
                return True
            above = above.parent
        return False

    def end_calls(self, parent: Task) -> None:
        """Cancel what still runs for an effect of `parent` that has been answered."""
        for child in list(parent.children) if parent.calls else ():
            self.cancel(child)

    def call_ended(self, parent: Task) -> None:
        """Put a task at work again when the last function that ran for its effect has ended."""
        parent.calls -= 1
        if not parent.calls and not parent.working and parent.status is not DONE:
            parent.working = True  # it only waits, so it may exceed the limit for a moment
            self.at_work += 1


def _ends(path: str, task: Task | None, watched: dict[Any, list[str]]) -> tuple[list[str], bool]:
    """Return the entry of `waits_of` for a path; `task` is None when it has ended. `watched`: the paths that a wait watches and,
    under a task, those of the functions that the host runs for it."""
    if task is None:
        above = path.rpartition(".")[0]
        return [above] if above else [], False
    return watched.get(task.wait or task, []), type(task.wait) is First


def copies(code: Code, cells: list[Any]) -> list[Any]:
    """Return the cells of a new frame of `code`: the captured ones are copies with the present values of `cells`."""
    captured: list[Any] = [Cell(share(cells[i].value)) for i in code.captures]
    return captured + [None] * (code.cell_count - len(captured))


def tasks_of(handles: list[Any]) -> list[Task]:
    """Return the tasks behind handles, in order. Raises P007 for any other value."""
    for handle in handles:
        if type(handle) is not TaskHandle:
            raise Panic("P007", f"expected Task, found {typeof(handle)}")
    return [handle.task for handle in handles]
