"""A session: the machine of one program with its memories, providers and counters, and the loop that performs its effects.

Hands on `Session` and the `Outcome` of each call to the command line, the Python API, batches (`batches/calls.py`), notebooks
(`notebook/worker.py`), the runner of tests (`testing.py`) and the drivers of conformance, `Session` to `state.py` and `Outcome`
to `journal/recording.py` too; the type `Arguments` to `api/session.py`; `run_offline` to `concerto run` and notebooks; and the
session itself, as the `EffectContext` of `running.py`, to those who perform its effects. A new kind of effect is a row in
`effects/table.py`, not a case here. asyncio is imported only when something really waits (V-8.6). Its state as bytes is
`state.py`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress

from ...vm.builtins.handles import READING
from ...vm.builtins.hashmaps import LOAD, machinery
from ...vm.builtins.models import READ_OUT
from ...vm.declaration_fields import OTHER_PRICES, PRICES
from ...vm.interp.effects import HostFailed
from ...vm.interp.machine import LARGEST_MEMORY, Machine, Stopped
from ...vm.interp.tasks import DONE
from ...vm.memory_steps import TOOL_METHODS
from ...vm.panics import Panic
from ...vm.schema import STORE_METHODS, store_name
from ...vm.values import Closure, EnumValue, Err, ErrorValue, Map, Ok, Stream, Struct, display, from_json, get_error_member
from ...vm.values.limits import LONGEST_STRING
from ...vm.values.ways import frames
from ..calls.budgets import Account, Purse
from ..calls.services import Services
from ..calls.usage import Metrics, Spending
from ..connections import check_connections, check_externs, check_names, check_stages, resolve_all, stated_connections
from ..effects.conversations import drop_turns
from ..effects.runner import EffectRunner, PendingCommit
from ..effects.step_machine import StepFunction, default_value
from ..effects.table import limited, performer
from ..loop import OfflineLoop, asyncio_loop, gather, within
from ..memory.failures import MemoryFailure
from ..memory.from_image import declarations, namespace, open_stores
from ..memory.memories import Memories
from ..memory.stores.operations import IN_PLACE, MustWait
from ..providers.pool import ProviderPool
from ..records import TreeBuilder
from ..schema.strategy import Schema
from .emit_bus import EmitBus
from .watchdog import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Image
    from ...vm.interp.effects import Effect
    from ...vm.interp.link import Program
    from ...vm.interp.linked import Code
    from ...vm.interp.tasks import Task
    from ...vm.values import HashMapRef
    from ..breaker import State
    from ..connections import ConnectionSettings
    from ..host import Host
    from ..memory.embedding import Embedding
    from ..tools.direct import DirectMethod

    # Values of the machine, or what makes them of the values that functions of the program give by their numbers.
    Arguments = Sequence[Any] | Callable[[Callable[[int, list[Any]], Awaitable[Any]]], Awaitable[list[Any]]]


class Outcome:
    """How a call of a program's function ended: with its `value`, or with a `panic`; `error` is that of a value that is an Err.

    `host_value` is what the host's `give` made of the value. `fuel` is what the call has used, None where nothing limits it and
    translated code did not count it (V-6.7)."""

    __slots__ = ("value", "panic", "error", "fuel", "host_value", "_message")

    def __init__(self, value: Any, panic: Panic | None, fuel: int | None, host_value: Any = None) -> None:
        self.value = value
        self.panic = panic
        self.error = value.value if type(value) is Err else None
        self.fuel = fuel
        self.host_value = host_value
        self._message: str | None = None

    @property
    def trace(self) -> tuple[Any, ...]:
        """The frames of the panic, or the places that the error of an Err has passed, as (function, file, line, column), line
        and column from 1 on, 0 where no place is known; a number stands where so many places are left out (L-5.11.3). Empty for
        a value that is no Err."""
        if self.panic is not None:
            return self.panic.trace
        return tuple(frames(self.value.way)) if type(self.value) is Err else ()

    @property
    def message(self) -> str:
        """The message of the error of an Err; its Display text when it is of no error type (L-3.11.14). Built once. It is for an
        Err alone. Raises panic P103 as `display`."""
        if self._message is None:
            error = self.error
            own = isinstance(error, Struct | EnumValue) and error.decl.is_error
            self._message = str(get_error_member(error, "message")) if own else display(error)
        return self._message

    @property
    def failure(self) -> str:
        """The code of the panic, or the variant or else the kind of the error of an Err, "Err" for one that is no built-in error;
        "" for success."""
        if self.panic is not None:
            return self.panic.code
        if self.error is None:
            return ""
        return str(self.error.variant or self.error.family) if type(self.error) is ErrorValue else "Err"

    @property
    def exit_code(self) -> int:
        """The exit code of the process: 77 for a permission denial, 1 for any other failure, 0 for success (L-5.14.3)."""
        if self.panic is not None:
            return 77 if self.panic.code == "P407" else 1
        if type(self.value) is Err:
            return 77 if getattr(self.error, "variant", None) == "PermissionDenied" else 1
        return 0


class Session:
    """The machine of one program and all that its effects need. It is what performers know as `EffectContext`.

    `program` is the linked program, `host` gives clock, output and settings. `earlier` is a session that this one goes on from:
    when it is initialised it takes over the memories, stores, tool states and indexes in memory that its own program declares
    too; set `is_followed` of a session that another is to go on from before it is closed. Only one call may run at a time. The
    constructor raises ConfigFailure when connections, replies of theirs or of the host's script, pipelines, functions of Python
    or permissions are configured wrongly.

    Others use of it: `metrics`, the counters over all calls; `account`, what its calls have used of budgets; `machine`,
    `memories` and `state` (what families of effects keep for the session, by their names); `pool`, the providers by connection;
    `initialised`, whether the statements outside of functions have run; `deadline`, the time at which the call that runs ends, by
    the clock of its loop, None for never; `generation`, how many sessions it goes on from, one from another; `journal`, None
    without one; `name`, `written` and `unread`, which `state.py` reads and sets; and what `EffectContext` names."""

    def __init__(self, program: Program, host: Host, *, earlier: Session | None = None) -> None:
        self.earlier = earlier
        self.is_followed = False
        self.generation: int = 0 if earlier is None else earlier.generation + 1
        self.name = ""  # random; made when a store is used that other sessions use too
        self.written = b""  # the hash of the snapshot that its volatile logs go on from (M-14.6)
        image = program.image
        self.program = program
        self.host = host
        self.journal = host.journal
        if self.journal is not None:
            from ..journal.border import bind

            bind(self, host)
        self.redactor = host.redactor
        self.metrics = Metrics()
        self.emits = EmitBus(host.emit, host.emit_interval, lambda: self.work.loop)
        self.open_stores, self.operations = open_stores(image, host, lambda: self.work.loop, self._fuel_mark, self._is_committing)
        if self.journal is not None and self.operations is not IN_PLACE:
            from ..journal.stores import bind_stores

            bind_stores(self, host)
        self.memories = Memories(
            declarations(image, self._step_function, host.token_counter, self.redactor, self._computed_bounds),
            namespace=namespace(image), clock=host.wall, stored_clock=None if host.volatile else host.stored_wall,
            listener=self._memory_event, hears=host.hears, stores=self.open_stores, embedders=self._embedding,
            operations=self.operations,
        )  # fmt: skip
        of_program = {c.name: c.fields for c in image.connections}
        layers: list[Mapping[str, Mapping[str, Any]]] = [stated_connections(host.connections), of_program]
        check_connections(layers)
        check_names(*layers)
        check_stages(image.pipelines)
        check_externs(image.externs)
        if host.permissions is not None:
            host.permissions.check_libraries([library.name for library in image.libraries if library.distribution])
            entries: list[Any] = [*image.tools, *image.mcp]
            methods: dict[str, list[str]] = {entry.name: [method[0] for method in entry.methods] for entry in entries}
            for server in image.mcp:
                methods[server.name] += READING
            for model in image.models:
                handles = [program.handle(*row) for row in model.tools if row[0] in ("hashmaps", "ledgers")]
                methods.update((store_name(handle.name, handle.scope), list(STORE_METHODS)) for handle in handles)
            methods.update((memory.name, list(TOOL_METHODS)) for memory in image.memories)
            host.permissions.check_tools(methods, [server.name for server in image.mcp if not server.methods])
        self.connections: Mapping[str, ConnectionSettings] = resolve_all(layers, host.env)
        self.pool = ProviderPool(
            self.connections,
            env=host.env,
            redactor=self.redactor,
            sleep=host.sleep,
            offline=host.offline,
            script=host.script,
            http_client=host.http_client,
            around=host.around_provider,
        )
        self.schemas: Mapping[str, Schema] = {
            s.name: Schema(s.name, s.shape, s.plain, s.strict, [program.codes[number] for number in s.validators])
            for s in image.schemas
        }
        self.builder = TreeBuilder(_classes(program))
        self.machine = Machine(program, self.memories, translated_tier)
        self.memories.computed = lambda code: default_value(self.machine, code)
        self.machine.tiers(host.tier == "both")
        self.machine.find_direct = self._direct_method
        self.machine.beside.append(lambda: self.emits.waiting)  # buffered emits count against the program's memory
        self.machine.beside.append(self._states_of_tools)  # which no frame of it has between two calls
        self.watch = Watch(self.machine)
        self.kept = None if host.code_cache is None else host.code_cache.of(program)
        if self.kept is not None and program.translation is None:  # what is translated already is read from nowhere
            program.kept = self.kept
        if earlier is not None:  # paths of tasks, by which memories know them, are not given twice
            self.machine.root_count = earlier.machine.root_count
            self.memories.number_after(earlier.memories)
        self.state: dict[str, Any] = {}
        self.performer = limited if image.libraries else performer
        self.initialised = False
        self.unread: list[HashMapRef] = []  # of a state that was restored: hashmaps whose files are to be read
        self.work: EffectRunner
        self.deadline: float | None = None
        self.services = Services(
            provider=self.pool.__getitem__ if host.provider is None else around(host.provider, host.around_provider),
            sleep=host.sleep,
            random=host.random,
            clock=host.now,
            metrics=self.metrics,
            pricing={**_prices(image), **host.pricing},
            emit=self.runtime_emit,
            remaining=self.remaining,
            future=self.future,
        )
        self.services.look_at_clock = host.look_at_clock
        self.services.breakers = host.breakers
        self.services.prompt_caches = host.prompt_caches
        self.account = Account()  # what its calls draw on, all together
        self.spending = self.services.spending = Spending(self._living)
        if host.requests is not None:
            from ..calls.request_log import RequestLog

            self.services.request_log = RequestLog(host.requests, self.redactor.clean)
        if host.telemetry is not None:
            host.telemetry.clean = self.redactor.clean
            host.telemetry.is_silent = self._is_replaying
            self.services.telemetry = host.telemetry

    def _is_replaying(self) -> bool:
        return self.journal is not None and self.journal.is_replaying

    def breakers(self) -> dict[str, tuple[State, int, float]]:
        """Return the state of each circuit breaker, by the names of the connections that have one: open, closed or in trial,
        failures in a row, seconds until a trial."""
        return self.host.breakers.states(self.connections, self.host.now())

    def _fuel_mark(self) -> Callable[[], object]:
        """Return a function that gives back the fuel that is used after this call. An operation on a store that had to wait is
        tried again, and only the try that succeeds may cost fuel."""
        machine, fuel = self.machine, self.machine.reserve
        return lambda: setattr(machine, "reserve", fuel)

    def _living(self) -> list[str]:
        return [task.path for root in self.machine.roots for task in root.subtree()]

    def _is_committing(self, effect: Effect) -> None:
        self.work.is_committing(effect)

    def _direct_method(self, tool: str, name: str) -> DirectMethod | None:
        from ..tools.direct import direct_method

        return direct_method(self, tool, name)

    def _states_of_tools(self) -> list[Any]:
        return [] if "tools" not in self.state else self.state["tools"].held.values()

    def _memory_event(self, channel: str, payload: dict[str, Any]) -> None:
        self.operations.home(lambda: self.runtime_emit(channel, payload))

    def _step_function(self, step: str, place: Sequence[int]) -> StepFunction:
        return StepFunction(lambda: self.machine, step, place)

    def _computed_bounds(self, memory: int) -> dict[str, Any]:
        """Return the bounds that initialisation computed for the memory of that number; none before it did (M-2.14)."""
        bounds = self.machine.configured.get(("memories", memory, "bounds"))
        return {str(name): value for name, value in bounds.items.items()} if isinstance(bounds, Map) else {}

    def _embedding(self, step: dict[str, Any]) -> Embedding:
        from ..calls.embedders import embedding_of

        return embedding_of(self, step)

    # ------------------------------------------------------------ running

    async def run(
        self,
        *,
        steps: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        model_calls: int | None = None,
        value_bytes: int | None = None,
        memory_bytes: int | None = None,
        tasks: int = 1024,
        accounts: Sequence[Account] = (),
        function: int | None = None,
        arguments: Sequence[Any] = (),
    ) -> Outcome:
        """Initialise the program, run its main, which it then has to have, or the function of that number with these arguments,
        and close the session.

        The limits are those of `invoke`, which raises the same; what `aclose` raises passes through too."""
        try:
            return await self.invoke(
                self._entry(function), arguments, steps=steps, depth=depth, seconds=seconds, tokens=tokens, cost=cost,
                model_calls=model_calls, value_bytes=value_bytes, memory_bytes=memory_bytes, tasks=tasks, accounts=accounts,
            )  # fmt: skip
        finally:
            await self.aclose()

    async def invoke(
        self,
        code: Code,
        arguments: Arguments,
        *,
        steps: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        model_calls: int | None = None,
        value_bytes: int | None = None,
        memory_bytes: int | None = None,
        tasks: int = 1024,
        accounts: Sequence[Account] = (),
        give: Callable[[Any], Any] | None = None,
        reads_streams: bool = False,
    ) -> Outcome:
        """Run a function of the program and return how it ended. The first call initialises the program before.

        The limits are those of G-6.1 and G-6.4. `steps` are units of fuel, `seconds` time by the clock of the host, `depth` calls
        inside one another, `tasks` those that are at work at a time, `value_bytes` the bytes of one String and `memory_bytes`
        those of all values; `cost` is in dollars. `tokens`, `cost` and `model_calls` are summed over all calls of the session,
        and `accounts` are further ones that this call draws on. Where a limit is None, the program's own budget counts (O-9.7),
        and without one there is no limit; but for `depth` it is 10,000 then, and `value_bytes` and `memory_bytes`, for which a
        program has no budget, are LONGEST_STRING and LARGEST_MEMORY. `give` turns the value into what the host gets, under the
        same limits (G-6.10). With `reads_streams` a stream that the function returns is read to its end: its text goes to the
        host as emits (`vm/builtins/models.py: TEXT_CHANNEL`), and all of it is the value.

        A panic of the program is in the outcome, also one that `give` raises. Raised are `Stopped`, when the host has called
        `stop`, the cancellation of the task that awaits this, and what code of the host raises that is no panic: its sinks
        (`Host.emit`, `Host.print`), `arguments`, `give`, and what else of the host performs an effect. With a journal also what
        ends the run by it: `Suspended`, where every task waits for answers that nobody here gives, `Fenced` and JournalRefused
        (`journal/journal.py`); a run that leaves its recording ends in panic P406."""
        started = self.host.now()
        machine = self.machine
        machine.panic = None  # of the call before
        limits = {
            "steps": steps, "depth": depth, "seconds": seconds, "tokens": tokens, "cost": cost, "model_calls": model_calls,
        }  # fmt: skip
        host_limits = {name: value for name, value in limits.items() if value is not None}
        budgets = {"depth": 10_000, **self.program.image.header.budgets, **host_limits}
        seconds = budgets.get("seconds")
        machine.limit(
            budgets.get("steps"), budgets["depth"], tasks, value_bytes or LONGEST_STRING, memory_bytes or LARGEST_MEMORY
        )
        self.account.limits = budgets.get("tokens"), budgets.get("cost"), budgets.get("model_calls")
        self.services.purse = Purse(
            (self.account, *accounts), self.services.pricing, self.future, lambda tasks: self.machine.waits_of(tasks),
            lambda function: self.work.loop.call_soon_threadsafe(function),
        )  # fmt: skip
        self.spending.clear()
        self.work = EffectRunner(self.host.loop or asyncio_loop())
        if self.journal is not None:
            self.work.journal = self.journal
            self.journal.begin(self.work.loop, self.work, self._end_by, self.runtime_emit)
        self.watch.begin(seconds, lambda: self._overdue(seconds or 0.0))
        self.deadline = None  # not that of the call before
        timer = None if seconds is None else self._set_deadline(seconds)
        outcome = Outcome(None, None, None)
        is_over = False
        telemetry = self.services.telemetry
        span = None if telemetry is None else telemetry.run_begins(self.program.image.header.name)
        try:
            if not self.initialised:
                await self._initialise()
            await self._read_files()
            values = await arguments(self._call_for_host) if callable(arguments) else list(arguments)
            task = self.machine.start(code, values)
            machine.handing = task if reads_streams else None
            value = await self._finish(task)
            if reads_streams:
                value = await self._read_out(value)
            is_over = True
            if give is not None or type(value) is Err:
                outcome = self.machine.under_limits(lambda: self._outcome(value, give))
            else:
                outcome = Outcome(value, None, None)
        except Panic as raised:
            if not raised.trace and (is_over or give is not None):  # outside every frame: it is placed at the function
                place = None if code.hidden else self.program.start_of(code.number)
                raised.trace, raised.position = (() if place is None else ((code.label, *place),)), place
            outcome = Outcome(None, raised, None)
            self.emits.send("panic", self.redactor.clean(raised.message), True)
        finally:
            try:
                await self._end_call(timer)
            finally:
                machine.stop = None  # it was for this call
                if telemetry is not None and span is not None:
                    telemetry.run_ends(span, outcome.failure)
        self.metrics.execution_time_ms += round((self.host.now() - started) * 1000)
        outcome.fuel = self.machine.used if self.machine.exact else None
        return outcome

    async def _read_out(self, value: Any) -> Any:
        """Return the text of a stream that was returned, or of the stream in its Ok, as a Result; any other value as it is."""
        stream = value.value if type(value) is Ok else value
        code = self.program.language_methods.get(READ_OUT)
        if type(stream) is not Stream or code is None:
            return value
        reader = self.machine.start(code, [None, stream])
        reader.streams = self.machine.handed
        return await self._finish(reader)

    async def _end_call(self, timer: Any) -> None:
        """End all that a call has begun. Tasks end before the jobs that perform their effects, so that no result begins anything.
        Locks of turns go back after both, since a cancelled job may still hold one. Then nothing can emit any more."""
        self.watch.end()
        if timer is not None:
            timer.cancel()
        self.machine.cancel_all()
        await self.work.close_all()
        drop_turns(self, [*self.memories.turns, *self.memories.runs])
        await self._give_back_leases()
        self.operations.close()
        self.emits.flush()
        if self.journal is not None and self.journal.failure is None:
            self.journal.rest()

    def _outcome(self, value: Any, give: Callable[[Any], Any] | None) -> Outcome:
        outcome = Outcome(value, None, None, None if give is None else give(value))
        if type(value) is Err:
            outcome.message  # noqa: B018 -- the text is built now, while the limits hold
        return outcome

    async def _give_back_leases(self) -> None:
        locks = self.state.get("turn_locks")
        if locks is not None:
            await locks.returned()

    async def _initialise(self) -> None:
        with self.memories.beginning(lambda: self.machine):
            for number in self.program.image.exports.init:
                await self._finish(self.machine.start(self.program.codes[number], []))
        if self.earlier is not None:
            self.memories.take_over(self.earlier.memories)
            self.machine.stores.take_over(self.earlier.machine.stores)
            for family in ("tools", "indexes"):
                if family in self.earlier.state:
                    self.earlier.state[family].hand_over(self)
            self.earlier = None  # so that a chain of sessions does not keep all of them alive
        self.initialised = True

    async def _read_files(self) -> None:
        """Read the files of persistent hashmaps again, after a snapshot was restored (O-5.12)."""
        while self.unread:
            load = machinery(self.machine, LOAD, self.unread[0].name)
            await self._finish(self.machine.start(load, [self.unread[0]]))
            del self.unread[0]

    async def aclose(self) -> None:
        """Close connections and stores, save translated code, and close what families of effects keep open in `state`, all of
        that also where closing one of them raises, which passes through. The session is not used any more then."""
        async with AsyncExitStack() as closing:  # which begins with what was pushed last
            for name in reversed(self.state):
                closing.push_async_callback(self._close, name)
            if self.kept is not None:
                closing.callback(self.kept.save)
            closing.callback(self.open_stores.close)
            closing.push_async_callback(self.pool.aclose)

    async def _close(self, name: str) -> None:
        resource: Any = self.state.get(name)  # closing another one may have taken it away
        if hasattr(resource, "aclose"):
            await resource.aclose()
            self.state.pop(name, None)
        elif hasattr(resource, "close"):
            resource.close()
            if not self.is_followed:
                del self.state[name]

    def _entry(self, function: int | None) -> Code:
        number = self.program.image.header.entry if function is None else function
        assert number is not None, "the caller asked for a program with main"
        return self.program.codes[number]

    def stop(self, reason: str) -> None:
        """End the call that runs at the next point where the machine looks for a stop; `run` and `invoke` then raise Stopped.
        Where none runs, it ends the next one. A program that waits is at no such point before what it waits for comes: cancel the
        task that awaits the call as well. Any thread may call it."""
        self.machine.stop = Stopped(reason)
        if self.journal is not None and self.journal.sink is not None and self.journal.sink.parks:
            self.journal.abandon(self.machine.stop)

    def expire(self, seconds: float) -> None:
        """As `stop`, but the call ends with P102 (G-6.1), whose message names `seconds` as the limit. Any thread may call it."""
        self.machine.stop = Panic("P102", f"time limit exceeded: {seconds:g} s (budget `seconds`)")

    def _end_by(self, error: BaseException) -> None:
        """End the call that runs with an error of its journal."""
        self.machine.stop = error  # type: ignore[assignment]
        self.work.interrupt()

    def remaining(self) -> float | None:
        """Return the seconds up to the deadline of the run, by the clock of the loop, below 0 when it has passed; None without a
        deadline."""
        return None if self.deadline is None else self.deadline - self.work.loop.time()

    def _overdue(self, seconds: float) -> None:
        """End the run with P102. The thread that watches calls this, by the real time: a virtual clock stands still while a store
        is waited for."""
        self.expire(seconds)
        with suppress(RuntimeError):  # the loop is closed: the run is over
            self.work.loop.call_soon_threadsafe(self.work.interrupt)

    def _set_deadline(self, seconds: float) -> Any:
        """Set a timer that ends a waiting program, by the clock of the loop, which may be virtual; return it, to be cancelled.

        A program that computes never comes back to the loop: the watchdog ends it, by the real time (G-6.1)."""

        def expire() -> None:
            self.expire(seconds)
            self.work.interrupt()

        self.deadline = self.work.loop.time() + seconds
        return self.work.loop.call_later(seconds, expire)

    async def _finish(self, task: Task) -> Any:
        """Run until a task and all that it started have ended, and return its result. Raises the panic that ends it."""
        root = self.machine.watched(task, lambda ended: None)
        while True:
            try:
                effects = self._step()
            except HostFailed as failed:
                raise failed.error from None
            if effects:
                while effects:  # performing one may cancel a task, which takes its effects out of this list
                    await self._perform(effects.pop(0))
                continue
            if root.task.status == DONE:
                return root.task.result
            await self._deliver()

    def _step(self) -> list[Effect]:
        """Let the ready tasks run and return the effects they want performed. Tests replace it: between two steps the machine is
        plain data, which can be written to a snapshot (G-13.7)."""
        return self.machine.step()

    async def _call_for_host(self, number: int, arguments: list[Any]) -> Any:
        return await self._finish(self.machine.start(self.program.codes[number], list(arguments)))

    async def _perform(self, effect: Effect) -> None:
        if effect.kind == "emit" and not effect.awaited:
            try:
                self.emit(effect.payload.channel, effect.payload.value)
            except Panic as panic:  # of a payload that is too large or too deep for JSON
                self.machine.panicked(effect.task, panic)
        elif effect.kind == "flush":
            self.emits.flush()
        elif effect.kind == "print":
            self.host.print(self.redactor.clean(effect.payload))
        elif effect.kind == "cancel":
            await self.work.close(effect.payload)
            drop_turns(self, effect.payload)
        elif self.journal is None:
            self.work.begin(effect, self.performer(effect.kind)(self, effect))
        else:
            from ..journal.border import whole

            self.work.begin(effect, whole(self, self.journal, effect, self.performer(effect.kind)))

    async def _deliver(self) -> None:
        """Wait until an effect is over, commit its result, and let its task go on."""
        if not self.work:
            raise self.machine.deadlock()  # no task can run and nothing is performed: all wait for each other
        if self.services.purse is not None:
            self.services.purse.look()
        if self.journal is not None:
            self.journal.rest()
        effect_and_job = await self.work.next()
        if self.machine.panic is not None:  # it has ended the run, whatever else was on its way
            raise self.machine.panic
        if effect_and_job is None:
            return
        effect, job = effect_and_job
        try:
            value = job.result()
            if type(value) is PendingCommit:
                pending = value
                try:
                    value = self.operations.attempt(pending.commit)  # most stores answer at once: no job is needed
                except MustWait:
                    self.work.begin(effect, self._commit_later(effect, pending))
                    return
                except BaseException:
                    pending.over()
                    raise
                pending.over()
                if pending.after is not None:
                    self.work.begin(effect, _then(pending.after(), value))
                    return
        except Panic as panic:
            if panic.trace or panic is self.machine.panic:  # the second: one whose frames are all hidden has no trace
                raise
            self.machine.panicked(effect.task, panic)
            return
        except MemoryFailure as failure:  # of a commit that no method of the program asked for
            self.machine.panicked(effect.task, Panic(failure.panic_code, failure.message))
            return
        self.machine.resume(effect, value)

    async def _commit_later(self, effect: Effect, pending: PendingCommit) -> PendingCommit:
        """Commit as a job of its own, so that other tasks go on while the store is waited for."""
        try:
            return pending.committed(await self.operations.use(pending.commit, effect))
        finally:
            pending.over()

    # ------------------------------------------------------------ what performers use

    async def call(
        self, effect: Effect, function: Any, arguments: Sequence[Any], started: Callable[[str], object] | None = None,
        contains: bool = False,
    ) -> Any:  # fmt: skip
        """Run a function of the program (its Code, or a Closure) as a child of the task that waits for `effect`, and return its
        value.

        `started` is called with the path of the child. A cancellation here cancels the child. A panic of the child ends the run,
        which cancels the caller; with `contains` it is raised here instead."""
        future = self.future()

        def done(task: Task) -> None:
            if task.cancelled and child.panic is None:
                future.cancel()  # there is no value that the caller could go on with
            elif not future.done():
                future.set_result(task.result)

        code, cells = (function.function, function.cells) if type(function) is Closure else (function, ())
        child = self.machine.call(effect, code, list(arguments), cells, done, contains)
        if started is not None:
            started(child.task.path)
        self.work.interrupt()
        try:
            value = await future
        finally:
            if self.machine.cancel(child.task):
                self.work.interrupt()
        if child.panic is not None:
            raise child.panic
        return value

    def warn(self, text: str) -> None:
        """Tell the log of the host something, without secrets (G-10.3), and so that no text of others writes to a terminal or
        looks like a line of the log of its own (G-10.4)."""
        from ...vm.bytecode.disasm import printable

        first, *others = map(printable, self.redactor.clean(text).split("\n"))
        self.host.log("warn", "\n".join([first, *(f"  {line}" if line.startswith("[") else line for line in others)]))

    def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
        """Run work that goes on after the answer to its effect, until it is over or released (`EffectRunner.hold`)."""
        self.work.hold(effect, work)

    async def release(self, effect: Effect) -> None:
        """Cancel what `hold` runs for an effect, and return when it is over."""
        await self.work.release(effect)

    def future(self) -> Any:
        """Return a new future of the loop that runs the session."""
        return self.work.loop.create_future()

    async def gather(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run coroutines side by side and return their results in order; the first failure cancels the others and is raised."""
        return await gather(self.work.loop, list(coroutines))

    async def within(self, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine. When it takes longer than so many seconds, by the clock of the loop, it is cancelled
        and TimeoutError raised."""
        if self.journal is not None:
            return await self.journal.within(self.work.loop, self.host.journal_scope, seconds, coroutine)
        return await within(self.work.loop, seconds, coroutine)

    def emit(self, channel: str, value: Any) -> None:
        """Send an emit of the program to the host, without secrets (G-10.3). What the host's sink raises passes through, such as
        the Panic of a value that is too large for JSON."""
        self.metrics.emit_count += 1
        self.emits.send(self.redactor.clean(channel), self.clean(value), False)

    def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
        """Send an emit of the runtime itself to the host, without secrets; its channel is one of ours (O-5.30)."""
        if self.journal is not None:
            self.journal.noted(channel, payload)
        self.emits.send(channel, self.clean(from_json(payload)), True)

    async def ask(self, effect: Effect, channel: str, payload: dict[str, Any]) -> Any:
        """Send an emit of the runtime itself, on a channel of ours, and return the Ok of what its host, or a mock, answers, or an
        Err of EmitError. `effect` is the one for which it asks."""
        from ...vm.interp.effects import EmitPayload
        from ..effects.world import answered

        self.runtime_emit(channel, payload)
        return await answered(self, effect, EmitPayload(channel, from_json(payload)))

    def tag(self, lasting: bool) -> str:
        """Return a suffix that makes ids of runs unique: among a session and the ones before it, "" in the first of them, with
        `lasting` among all sessions that may use the same store (M-5.10)."""
        if not lasting:
            return f"-{self.generation}" if self.generation else ""
        if not self.name:
            drawn = self.host.secure_bytes(8).hex()
            self.name = drawn if self.journal is None else self.journal.header.run  # the same when the run is gone on with
        return f"-{self.name}"

    def clean(self, value: Any) -> Any:
        """Return a value of the machine with its secrets replaced, as it may leave the session (G-10.3). Raises as
        `without_secrets`."""
        if self.redactor.is_empty:
            return value
        from ..access.secrets import without_secrets

        return without_secrets(value, self.redactor)


async def _then(work: Awaitable[None], value: Any) -> Any:
    await work
    return value


def around(provider: Callable[[str], Any], wrap: Callable[[Any], Any] | None) -> Callable[[str], Any]:
    """Return the providers of a host, each within what `wrap` makes of it; as they are where that is None."""
    return provider if wrap is None else lambda name: wrap(provider(name))


def run_offline(session: Session, **limits: Any) -> Outcome:
    """Run a session's main to its end without asyncio: nothing outside the process is waited for (V-8.6). `limits` are those of
    `Session.run`, which raises the same. A host without a loop gets one."""
    host = session.host
    if host.loop is None:
        host.loop = OfflineLoop(host.now())
    outcome: Outcome = host.loop.run_until_complete(session.run(**limits))
    return outcome


def translated_tier(machine: Machine, metered: bool) -> Any:
    """Return the tier that translates what runs often; `metered`: its code counts steps. The machine asks for it when something
    is worth translating, so that a short run does not load the translator."""
    from ...vm.jit.tier import Tier

    return Tier(machine, metered)


def _prices(image: Image) -> dict[str, dict[str, float]]:
    """Return the prices of the manifest, by model id (O-1.131)."""
    return {
        model: {name: price for name, price in zip((*PRICES, *OTHER_PRICES), prices, strict=False) if price is not None}
        for model, prices in image.header.pricing.items()
    }


def _classes(program: Program) -> dict[str, Any]:
    """Return value classes and enum types by name."""
    image: Image = program.image
    return {entry[1]: cls for entry, cls in zip(image.types, program.classes, strict=True) if cls is not None}
