"""The machine: runs the tasks of one program cooperatively and hands effects to its host (V-6).

It performs no input or output itself: `step()` runs whatever can run and returns the effects it ended in; `resume(effect, value)`
continues a task. A slice is what one task runs between two waits; fuel is what a run pays, one for each instruction and, where a
built-in works on many items, one for 16 of them. `limit` sets fuel, call depth, tasks at work, bytes of Strings and bytes of all
values (G-6.1).

Hands on `Machine`, `Stopped`, `UNLIMITED` and `LARGEST_MEMORY` to the runtime, `Machine` also to snapshots, IN_A_ROW to the
translated tier, `Stopped` to the rooms that run programs: the API, batches, the notebook and `concerto run`. Another thread may
set `stop` and call `weigh_soon` while the machine runs. Which task runs next, and waiting and cancelling, stand in
`scheduler.py`; what opcodes do, in `ops.py` and `template.py`; who performs effects, in `runtime/`.
"""

from __future__ import annotations

from ..generated.loop import NUMBERS, node
from ..generated.loop import run as run_loop
from ..panics import Panic
from ..values import Err, HostStream, check, display, share, typeof
from ..values.limits import LONGEST_STRING, limits
from ..values.metering import IDLE, exchange
from ..values.text import json_fits
from ..values.ways import begun
from .effects import Effect, EmitPayload, ExternCall
from .scheduler import Scheduler
from .stores import Stores
from .tasks import SUSPENDED, Invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..values.objects import Way
    from .effects import DirectMethod, Memories
    from .link import Program
    from .linked import Code, LoopSite, PythonFunction
    from .scheduler import HostCall
    from .tasks import Task
    from .weight import MemoryGauge

    MakeTier = Callable[["Machine", bool], Any]  # for a machine, and whether fuel is counted in it

CHUNK = 2_000  # fuel handed to the loop at a time; between chunks the run looks whether it is to stop
UNLIMITED = 1 << 62  # fuel of a run without a limit: no run lives to use it up, so the loop needs no second case
CALLS, ROUNDS = 20, 40  # of a function or loop before it is translated
LARGEST_PAYLOAD = 1 << 20  # bytes of JSON
LARGEST_MEMORY = 1 << 30  # bytes
TRY, LEAVE_TOOL = NUMBERS["TRY"], NUMBERS["LEAVE_TOOL"]
IN_A_ROW = 1_000  # calls of tools within slices, before the host performs one, so that its loop gets a turn
SMALL = frozenset({int, float, bool, type(None)})  # payloads that are never too large


def checked_emit(channel: Any, payload: Any, timeout: Any, answer: Any = None) -> EmitPayload:
    """Return the payload of an emit effect. Raises Panic: P007 for a channel that is no String, P013 for a `timeout` that is no
    count of milliseconds, P103 for a payload of more than 1 MiB of JSON, or that nests too deep (G-6.1); with a large payload
    what `attend` raises."""
    if type(channel) is not str:
        raise Panic("P007", f"expected String, found {typeof(channel)} as a channel")
    if timeout is not None and (type(timeout) is not int or timeout < 0):
        raise Panic("P013", f"emit: timeout_ms is {display(timeout)}; it is an Int of at least 0")
    if type(payload) not in SMALL and not json_fits(payload, LARGEST_PAYLOAD):
        raise Panic("P103", f"emit payload size limit exceeded: {LARGEST_PAYLOAD} bytes (limit `emit payload`)")
    return EmitPayload(channel, payload, timeout, answer)


class Stopped(Exception):
    """The host asked the machine to stop (cancellation); `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Machine(Scheduler):
    """One run. `memories` are those of the session; `limit` sets the limits of the run before it starts; `make_tier` makes the
    translated tier, None for a run in the interpreter alone. `steps`, `value_bytes` and `memory_bytes` are limits as `limit`
    takes them, UNLIMITED steps for none. `configured` has the fields of declarations that are no constants, by (section, number
    of the entry, name); `stores` the hashmaps and ledgers; `panic` is what ended the run, None before. `stop`, an exception that
    the host sets at any time, is raised where the run next looks: at a chunk, in translated code at a loop or call, in a built-in
    every few milliseconds. `gauge` counts what the run makes (G-6.8); any thread of the host may call `weigh_soon`, and the
    values are weighed where the run next looks."""

    def __init__(self, program: Program, memories: Memories, make_tier: MakeTier | None = None) -> None:
        super().__init__(program)
        self.make_tier = make_tier  # None: nothing is translated
        self.memories = memories
        self.stores = Stores(program)
        self.fuel = 0  # fuel handed out and given back by the loop
        self.limit(None, 10_000)
        self._stop: Exception | None = None
        self.attention = False  # whether the run is to look at what follows: `stop`, and whether it weighs its values
        self._weighs = self._weighing = False
        self.gauge: MemoryGauge | None = None
        self.unwatched = False  # whether the gauge is to be told that the run computes
        self.beside: list[Callable[[], Any]] = []  # what the host keeps for the run and counts against its memory
        self.debt: list[int] = []  # fuel that built-ins have charged and the loop has not paid yet
        self.raised: BaseException | None = None  # came out of translated code whose frames are in the task now
        self.tier: Any = None
        self.tiers(True)
        self.configured: dict[tuple[str, int, str], Any] = {}
        self.panic: Panic | None = None
        # of the host: the method of a tool, by both names, if calls of it may run within a slice; and what it gave
        self.find_direct: Callable[[str, str], DirectMethod | None] = lambda tool, name: None
        self.direct: dict[tuple[str, str], DirectMethod | None] = {}
        self.in_tools: list[DirectMethod] = []  # those that run, the innermost last
        self.in_a_row = 0
        self._around: tuple[Any, int] = IDLE, LONGEST_STRING  # meter and limit on Strings outside of the slice that runs
        self.keeps_locals = False  # whether a panic takes the variables of its frames along (O-9.13)

    def limit(
        self, steps: int | None, depth: int, tasks: int = 1024, value_bytes: int = LONGEST_STRING,
        memory_bytes: int = LARGEST_MEMORY,
    ) -> None:  # fmt: skip
        """Set the limits of the run: fuel (`steps`, None for none), depth of calls, tasks at work, bytes of a String in UTF-8,
        and bytes of all values that the run can reach (G-6.1)."""
        self.steps = UNLIMITED if steps is None else steps
        self.reserve = self.steps  # fuel not handed out yet
        self.depth_limit = depth + 1  # the bottom frame of a task is not a call
        self.task_limit = tasks
        self.value_bytes = value_bytes
        self.memory_bytes = memory_bytes

    def successor(self) -> Machine:
        """Return a new machine under the same limits, for the same host, in which nothing runs and no fuel is used. The gauge, if
        there is one, belongs to it from now on; stores begin empty."""
        successor = Machine(self.program, self.memories, self.make_tier)
        copied = ("steps", "depth_limit", "task_limit", "value_bytes", "memory_bytes")
        for name in (*copied, "keeps_locals", "calls_before", "loops_before", "find_direct"):
            setattr(successor, name, getattr(self, name))
        successor.reserve = successor.steps
        successor.both, successor.counted, successor.stop, successor.beside = self.both, self.counted, self.stop, self.beside
        if self.gauge is not None:
            successor.gauge, successor.unwatched = self.gauge, self.unwatched
            self.gauge.machine = successor
        return successor

    # ------------------------------------------------------------ the two tiers: interpreter and translated code (V-7)

    def tiers(self, both: bool, *, at_once: bool = False, counted: bool = False) -> None:
        """Choose whether the translated tier is used, where there is one. `at_once`: for whatever runs, not only for what runs
        often; `counted`: count fuel in it too, which makes it slower, although there is no limit."""
        self.both = both = both and self.make_tier is not None
        self.counted = counted
        if both:
            self.program.count_again()
        self.calls_before, self.loops_before = (0, 0) if at_once or not both else (CALLS, ROUNDS)

    @property
    def stop(self) -> Exception | None:
        """The exception that ends the run where it next looks, None while it may go on. Any thread may set it."""
        return self._stop

    @stop.setter
    def stop(self, stop: Exception | None) -> None:
        self._stop = stop
        self._flag(stop is not None or self._weighs)

    def _flag(self, attention: bool) -> None:
        self.attention = attention
        if self.tier is not None:
            self.tier.flag(attention)

    def weigh_soon(self) -> None:
        """Weigh the values where the run next looks. Any thread may call this."""
        self._weighs = True
        self._flag(True)

    def attend(self) -> None:
        """Raise `stop`, or P103 where the values of the run are too heavy."""
        # The flag falls before what it stands for is read, so that what another thread sets meanwhile is not lost.
        self._flag(False)
        if self._weighs and not self._weighing:
            self._weighs = False
            if self._stop is None:
                self._weigh()
        if self._stop is not None:
            self._flag(True)
            raise self._stop

    def _weigh(self) -> None:
        from .weight import weight_of_run

        self._weighing = True
        try:
            weight = weight_of_run(self, self.memory_bytes)
        finally:
            self._weighing = False
        if weight > self.memory_bytes:
            raise Panic("P103", f"memory limit exceeded: {self.memory_bytes} bytes (budget `memory_bytes`)")
        if self.gauge is not None:
            self.gauge.weighed(weight)
        self._weighs = False  # whoever asked meanwhile has not seen the new mark

    def announce(self, items: int) -> None:
        """Tell the gauge that a built-in is about to make this many items, or to work on them; raises what `attend` raises."""
        if self.gauge is not None:
            self.gauge.count(items)
        if self.attention:
            self.attend()

    def spend(self, items: int) -> None:
        """Charge the fuel of a built-in that works on this many items, one per 16 of them (G-6.1), before its work. Raises what
        `attend` raises, and in translated code what sends the call back to the interpreter (`Tier.charge`)."""
        self.announce(items)
        cost = -(-items // 16)  # rounded up
        if self.tier is None or not self.tier.charge(cost):
            self.debt.append(cost)

    def pay_debt(self, fuel: int) -> int:
        """Return what is left of a chunk after the fuel that built-ins have charged, from the next chunk if need be; raises what
        `refill` raises."""
        fuel -= sum(self.debt)
        self.debt.clear()
        return fuel if fuel >= 0 else self.next_chunk(fuel)

    def _tier(self) -> Any:
        """Return the translated tier, which is made, and its modules loaded, when the first function or loop has run often."""
        metered = self.counted or self.steps != UNLIMITED
        if self.tier is None or self.tier.metered is not metered:
            assert self.make_tier is not None
            self.tier = self.make_tier(self, metered)
        return self.tier

    def translated_call(self, task: Task, code: Code, locs: list[Any], cells: list[Any], room: int) -> Any:
        """Run a function that has been called often in the translated tier, with `room` calls nested in it at most. False when
        the interpreter has to run it; else what the loop goes on with, as `Tier.call` returns it."""
        if self.both and code.home is self.program:
            if self.unwatched and self.gauge is not None:
                self.gauge.computing(True)
            return self._tier().call(task, code, locs, cells, room)
        code.home.leave_alone(code)
        return False

    def translated_loop(self, task: Task, site: LoopSite, locs: list[Any], cells: list[Any], stack: list[Any], room: int) -> Any:
        """As `translated_call`, for a loop that has gone round often, from its head on."""
        if self.both and site.code.home is self.program:
            if self.unwatched and self.gauge is not None:
                self.gauge.computing(True)
            return self._tier().loop(task, site, locs, cells, stack, room)
        site.code.home.leave_alone(site.code, site)
        return False

    def take_raised(self) -> BaseException:
        """Return the exception that came out of translated code, once."""
        raised, self.raised = self.raised, None
        assert raised is not None
        return raised

    def pay(self, cost: int) -> None:
        """Subtract fuel that translated code has used."""
        self.fuel -= cost
        if self.fuel < 0:
            self.reserve += self.fuel
            self.fuel = 0

    # ------------------------------------------------------------ running

    def start(self, code: Code, arguments: list[Any]) -> Task:
        """Return a new root task, which `step` will run; its outcome is `task.result` once its status is done. Nothing runs here.
        `arguments`: one value for each parameter of `code`."""
        return self.new_task(None, code, list(arguments), [None] * code.cell_count)

    def step(self) -> list[Effect]:
        """Run ready tasks, in order of creation, until one makes effects; return these effects in order, [] when nothing can run.

        A task goes on after an effect that is not awaited before any other runs (O-6.16). Effects that the host is to end come
        last, in one effect `cancel`. Raises Panic with position and trace, after every task was cancelled (O-6.15), and `stop` as
        it was set, a `Stopped` for example; `HostFailed` where code of the host failed within a slice."""
        self.effects = []
        if self.stop is not None:
            raise self._stopped(self.stop)
        while not self.effects and not self.closed:
            task = self.next_ready()
            if task is None:
                break
            self._slice(task)
        if self.closed:
            self.effects.append(Effect("", "cancel", self.closed, False, None))
            self.closed = []
        return self.effects

    def _stopped(self, stop: Exception) -> Exception:
        """Return `stop` with the place where the first task waits: between slices no task runs."""
        task = next(iter(self.roots), None)
        return self.placed(task, stop) if isinstance(stop, Panic) and task is not None else stop

    def deadlock(self) -> Exception:
        """Return the panic for a run in which nothing can run and nothing is awaited from the host: tasks that got hold of their
        own handles."""
        return self._stopped(Panic("P013", "await: the tasks wait for each other"))

    def _slice(self, task: Task) -> None:
        self.running = task
        before, limits.string = limits.string, self.value_bytes
        meter = exchange(self)
        self._around = meter, before
        try:
            if task.fault is not None:
                raise task.fault
            run_loop(self, task)  # type: ignore[no-untyped-call]  # the loop is generated
            if self.in_tools:  # only a foreign image, by types that are wrong, has such a method
                raise Panic("P007", "a method of a tool suspends where its image says that it does not")
        except Panic as panic:
            self.running = None
            self._undo_tools()
            self.panicked(task, panic)
            return
        except BaseException:  # the host goes on with the machine when it has handled that
            self.running = None
            self._undo_tools()
            raise
        finally:
            limits.string = before
            exchange(meter)
            if self.debt:  # of a built-in that ended in a panic
                self.pay(sum(self.debt))
                self.debt.clear()
        self.running = None
        self.after_slice(task)

    def under_limits(self, work: Callable[[], Any]) -> Any:
        """Return the result of `work`, which the host does for the run; it stops and is charged as a built-in is. Raises what
        `work` raises, among it `stop` and P103. The limit on Strings is not set here."""
        meter = exchange(self)
        try:
            return work()
        finally:
            exchange(meter)

    def outside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of `work`, which the host does within a slice and not for the run: it is charged nothing, and its
        limits are those around the slice. Raises what `work` raises."""
        meter, string = self._around
        if string != self.value_bytes:
            limits.string = string
        exchange(meter)
        try:
            return work(*arguments)
        finally:
            exchange(self)
            if string != self.value_bytes:
                limits.string = self.value_bytes

    def resume(self, effect: Effect, value: Any) -> None:
        """Answer an awaited effect with a value of the machine; an Err from outside begins its way at the effect (L-5.11.3).
        Raises ValueError when no task awaits it."""
        task = effect.task
        if task.effect is not effect:
            raise ValueError(f"{effect!r} is not awaited")
        task.effect = None
        task.push(self.from_outside(value, task.state[0], task.state[3], task.frames))
        self.end_calls(task)
        self.ready(task)

    def from_outside(self, value: Any, following: Any, code: Code, frames: list[Any]) -> Any:
        """Return a value as the value of a call that ends before the node `following`: an Err without a way begins one there."""
        if type(value) is not Err or value.way:
            return value
        return begun(share(value.value), self._here(following, code, frames))

    def _here(self, following: Any, code: Code, frames: list[Any]) -> Way:
        """Return the place before a node: of the innermost function that traces show; none where a `?` comes next, which sets a
        place itself."""
        if following is not None and following[0] == TRY:
            return ()
        frames = [(following, code), *((ins, code) for ins, _, _, code in reversed(frames) if code is not None)]
        at = next(((ins, code) for ins, code in frames if not code.hidden), None)
        return () if at is None else at[1].way_by(self.program.index_before(at[1], at[0]))

    def panicked(self, task: Task, panic: Panic) -> None:
        """Raise a panic of a task, or of the effect it waited for, with its place, unless a call of the host contains it."""
        self._place(task, panic)
        if not self.contained(task, panic):
            raise self._ended(panic) from None

    def placed(self, task: Task, panic: Panic) -> Panic:
        """End the run by a panic, and return it with its place (O-6.15)."""
        self._place(task, panic)
        return self._ended(panic)

    def _ended(self, panic: Panic) -> Panic:
        self.panic = panic
        self.cancel_all()
        return panic

    def _place(self, task: Task, panic: Panic) -> None:
        frames = self._frames(task)
        if panic.is_between and frames and frames[0][0] is task.state[3]:
            code, following, locs, cells = frames[0]
            frames[0] = code, code.home.behind(code, following), locs, cells
        trace, variables = panic.inside
        by_code: dict[Code, list[int]] = {}  # the frames of each function are looked up together
        for number, (code, _, _, _) in enumerate(frames):
            by_code.setdefault(code, []).append(number)
        places: dict[int, tuple[str, int, int]] = {}
        names: dict[int, dict[str, Any]] = {}
        for code, numbers in by_code.items():
            places.update(zip(numbers, code.home.positions(code, [frames[n][1] for n in numbers]), strict=True))
            if self.keeps_locals:
                names.update(zip(numbers, code.home.locals_of(code, [frames[n][1:] for n in numbers]), strict=True))
        panic.trace = (*trace, *((code.label, *places[number]) for number, (code, _, _, _) in enumerate(frames)))
        if self.keeps_locals:
            panic.locals = (*variables, *(names[number] for number in range(len(frames))))
        panic.position = panic.trace[0][1:] if panic.trace else None

    def position(self, task: Task) -> tuple[str, int, int] | None:
        """Return (file, line, column) of the instruction that a task stands at, line and column from 1, 0 where nothing is known;
        None where all of its functions are hidden."""
        frames = self._frames(task)
        if not frames:
            return None
        code, following, _, _ = frames[0]
        place: tuple[str, int, int] = code.home.positions(code, [following])[0]
        return place

    # ------------------------------------------------------------ what the loop calls

    def suspend(self, task: Task, kind: str, payload: Any) -> None:
        """Let the task wait for an effect of this kind; whoever calls this returns SUSPENDED to the loop."""
        effect = Effect(task.next_key(), kind, payload, True, task)
        self.wait_for_host(task, effect)
        self.effects.append(effect)

    def direct_method(self, tool: str, name: str) -> DirectMethod | None:
        """Return a method of a tool if calls of it may run within a slice; None if the host performs each."""
        key = (tool, name)
        if key not in self.direct:
            self.direct[key] = self.find_direct(tool, name)
        return self.direct[key]

    def enter_tool(self, task: Task, tool: str, name: str, arguments: list[Any]) -> Invoke | None:
        """Return the call of a method of a tool as one of a function, which runs within the slice of the task; None where the
        host has to perform it. Raises as `begin_tool`."""
        method = self.direct_method(tool, name)
        given = None if method is None else self.begin_tool(task, method, arguments)
        return None if method is None or given is None else Invoke(method.code, given, (), True)

    def begin_tool(self, task: Task, method: DirectMethod, arguments: Sequence[Any]) -> list[Any] | None:
        """Begin a call of a method within the slice of the task and return what its function takes; None where the host has to
        perform the call, as where another task could run meanwhile (O-6.16). Raises as `DirectMethod.begin`."""
        if self.at_work != 1 or self.held_back or task.doomed or self.in_a_row >= IN_A_ROW:
            self.in_a_row = 0
            return None
        given = method.begin(arguments)
        if given is not None:
            self.in_a_row += 1
            task.counter += 1  # the effect and the task that such a call is where the host performs it
            task.born += 1
            self.in_tools.append(method)
        return given

    def lend_tool(self, method: DirectMethod) -> Any:
        """Return the state of a tool for calls of a method within this slice of the running task that do not begin and end one by
        one; None where each has to ask."""
        task = self.running
        return None if self.at_work != 1 or self.held_back or task is None or task.doomed else method.lend()

    def calls_in_a_row(self) -> int:
        """Return how many calls within slices may be made before the host performs one."""
        return max(0, IN_A_ROW - self.in_a_row)

    def count_tools(self, count: int) -> None:
        """Count calls of methods that were made within the slice of the running task, as `begin_tool` counts one."""
        task = self.running
        assert task is not None
        self.in_a_row += count
        task.counter += count
        task.born += count

    def behind_tool(self, following: Any) -> Any:
        """Return the node at which a call of a method within the slice goes on when the method has returned: one before the node
        behind the call."""
        return node(LEAVE_TOOL, None, following)

    def left_tool(self, value: Any, following: Any, code: Code, frames: list[Any]) -> Any:
        """Return the value of a call that `begin_tool` began, for what the function has returned; the other parameters say where
        the caller goes on. Raises as `DirectMethod.end`."""
        return self.from_outside(self.in_tools.pop().end(value), following, code, frames)

    def _undo_tools(self) -> None:
        while self.in_tools:
            self.in_tools.pop().undo()

    def emit(self, task: Task, channel: Any, payload: Any) -> None:
        """Make an emit that no task waits for. Raises what `checked_emit` raises; so does `ask`."""
        self.effects.append(Effect(task.next_key(), "emit", checked_emit(channel, payload, None), False, task))

    def ask(self, task: Task, channel: Any, payload: Any, timeout: Any, answer: Any = None) -> None:
        """Make an emit whose answer the task waits for (O-5.25); `timeout` in milliseconds, None for that of the host; `answer`:
        its type (O-5.35), None for any. Raises what `checked_emit` raises."""
        self.suspend(task, "emit", checked_emit(channel, payload, timeout, answer))

    def call_extern(self, task: Task, function: PythonFunction, arguments: list[Any]) -> Any:
        """Let the task wait for a function of Python, and return SUSPENDED; return the stream of one that gives elements one by
        one, which is called when the first is asked for. Raises P007 for an argument that is not of the type of its
        parameter."""
        checked = [check(argument, type_) for argument, type_ in zip(arguments, function.types, strict=True)]
        if function.gives is not None:
            return HostStream(task.next_key(), function, [share(argument) for argument in checked])
        self.suspend(task, "extern", ExternCall(function, checked))
        return SUSPENDED

    def flush(self, task: Task) -> None:
        """Make an effect, which no task waits for, that delivers buffered emits (L-6.1.10)."""
        self.effects.append(Effect(task.next_key(), "flush", None, False, task))

    def print(self, task: Task, values: list[Any], end: str) -> None:
        """Make an effect that writes the Display texts, joined by spaces, and `end`. Raises P103 where one is too long or nests
        too deep, and with large values what `attend` raises."""
        text = " ".join(display(value) for value in values) + end
        self.effects.append(Effect(task.next_key(), "print", text, False, task))

    def configure(self, target: tuple[str, int, str], value: Any) -> None:
        """Keep the value of a field that is no constant (O-0.3). `target`: section, number of the entry and name of the field."""
        self.configured[target] = value

    def call(
        self, effect: Effect, code: Code, arguments: list[Any], captured: Any, on_end: Callable[[Task], None],
        contains: bool = False,
    ) -> HostCall:  # fmt: skip
        """Run a function, for the host, as a child of the task that waits for `effect`, and return a `HostCall`, the record of
        it; `on_end` is called with the child when it has ended, `captured` are the cells of a closure, and with `contains` a
        panic in it ends the call and not the run. Raises ValueError when no task awaits the effect. What runs for an effect is
        one call deeper than the task that waits for it: P012 beyond the limit (G-6.1)."""
        parent = effect.task
        if parent.base + len(parent.frames) >= self.depth_limit:
            raise self.too_deep()
        return super().call(effect, code, arguments, captured, on_end, contains)

    def too_deep(self) -> Panic:
        """Return the panic for a call beyond the limit on depth; the caller raises it."""
        return Panic("P012", f"call depth exceeded: limit {self.depth_limit - 1}")

    def chunk(self) -> int:
        """Return fuel for a slice of the loop: what the loop returned last time, or a new chunk. Raises as `refill`."""
        fuel, self.fuel = self.fuel, 0
        return fuel if fuel > 0 else self.refill(fuel)

    def refill(self, overdraft: int) -> int:
        """Return the next chunk of fuel; `overdraft` (zero or negative) is what the block just entered costs beyond the last one.
        Raises P101 when the limit is reached, and what `attend` raises, for the instruction that the block begins with."""
        try:
            return self.next_chunk(overdraft)
        except Panic as panic:
            panic.is_between = True
            raise

    def next_chunk(self, overdraft: int) -> int:
        """Do what `refill` does where an instruction is at work, whose place a panic then has."""
        if self.attention:
            self.attend()
        if self.unwatched and self.gauge is not None:
            self.gauge.computing(False)
        self.reserve += overdraft
        if self.reserve < 0:
            raise Panic("P101", f"step limit exceeded: {self.steps} (budget `steps`)")
        fuel = min(CHUNK, self.reserve)
        self.reserve -= fuel
        return fuel

    @property
    def exact(self) -> bool:
        """Whether `used` counts what translated code has used too."""
        return self.tier is None or bool(self.tier.metered)

    @property
    def used(self) -> int:
        """Fuel used so far; where `exact` is false, without what translated code has used."""
        return self.steps - self.reserve - self.fuel

    # ------------------------------------------------------------ stack traces

    def _frames(self, task: Task) -> list[tuple[Code, Any, list[Any], list[Any]]]:
        """Return (code, next node, locals, cells) per frame, innermost first, without hidden functions (V-7.5). A task whose
        parent waits for it continues with the frames of its parent."""
        visible: list[tuple[Code, Any, list[Any], list[Any]]] = []
        at: Task | None = task
        while at is not None:
            ins, locs, cells, code, _ = at.state
            frames = [(code, ins, locs, cells), *((c, i, ls, cs) for i, ls, cs, c in reversed(at.frames) if c is not None)]
            visible += [frame for frame in frames if not frame[0].hidden]
            parent = at.parent
            at = parent if parent is not None and (parent.wait in at.watchers or parent.calls) else None
        return visible
