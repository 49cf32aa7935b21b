"""A session: one program's memories, providers, caches and counters, and the loop that answers its machine's effects.

Hands on `Outcome`s. asyncio is imported only when something really waits. Must not know: source text, the command line.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.interp.machine import LARGEST_MEMORY, Machine, Stopped
from ...vm.interp.tasks import DONE
from ...vm.memory_steps import TOOL_METHODS
from ...vm.panics import Panic
from ...vm.schema import STORE_METHODS, store_name
from ...vm.values import Closure, EnumValue, Err, Map, Struct, display, from_json, get_error_member
from ...vm.values.limits import LONGEST_STRING
from ...vm.values.ways import frames
from ..calls.budgets import Account, Purse
from ..calls.services import ProviderPool, Services
from ..connections import check_connections, check_names, check_stages, resolve_all
from ..effects.attached import drop_turns
from ..effects.step_functions import StepFunction, computed
from ..effects.table import performer
from ..emits import EmitBus, Metrics
from ..loop import OfflineLoop, Settled, Work, asyncio_loop, gather, within
from ..memory.entries import MemoryFailure
from ..memory.from_image import declarations, namespace, open_stores
from ..memory.memories import Memories
from ..memory.stores.operations import MustWait
from ..records import TreeBuilder
from ..schema.strategy import Schema
from ..usage import Spending
from ..watchdog import Watch

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
    from ..connections import ConnectionSettings
    from ..host import Host
    from ..memory.embedding import Embedding

    # Values of the machine, or what makes them of the values that functions of the program give by their numbers.
    Arguments = Sequence[Any] | Callable[[Callable[[int, list[Any]], Awaitable[Any]]], Awaitable[list[Any]]]


class Outcome:
    """How a run ended: `value` of main, or `panic`; `error` is the error of an Err from main, `given` what the host made of the
    value. `fuel` used, None where nothing limits it and translated code did not count it (V-6.7)."""

    __slots__ = ("value", "panic", "error", "fuel", "given", "_message")

    def __init__(self, value: Any, panic: Panic | None, fuel: int | None, given: Any = None) -> None:
        self.value = value
        self.panic = panic
        self.error = value.value if type(value) is Err else None
        self.fuel = fuel
        self.given = given
        self._message: str | None = None

    @property
    def trace(self) -> tuple[Any, ...]:
        """Where the error was made and what it passed, as function, file, line and column; a number where places are left out
        (L-5.11.3). Of a panic its frames."""
        if self.panic is not None:
            return self.panic.trace
        return tuple(frames(self.value.way)) if type(self.value) is Err else ()

    @property
    def message(self) -> str:
        """What the error says; of a value that is no error, its Display text (L-3.11.14)."""
        if self._message is None:
            error = self.error
            own = isinstance(error, Struct | EnumValue) and error.decl.is_error
            self._message = str(get_error_member(error, "message")) if own else display(error)
        return self._message

    @property
    def exit_code(self) -> int:
        """L-5.14.3: 77 for a permission denial, 1 for any other failure."""
        if self.panic is not None:
            return 77 if self.panic.code == "P407" else 1
        if type(self.value) is Err:
            return 77 if getattr(self.error, "variant", None) == "PermissionDenied" else 1
        return 0


class Session:
    """One program's run. `earlier`: a session that this one goes on from, with its memories and stores, where it declares them
    too."""

    def __init__(self, program: Program, host: Host, *, earlier: Session | None = None) -> None:
        self.earlier = earlier
        self.generation: int = 0 if earlier is None else earlier.generation + 1
        self.name = ""  # told only to stores that others use too
        self.written = b""  # the hash of the snapshot that its volatile logs go on from (M-14.6)
        image = program.image
        self.program = program
        self.host = host
        self.redactor = host.redactor
        self.metrics = Metrics()
        self.emits = EmitBus(host.emit, host.emit_interval, lambda: self.work.loop)
        self.open_stores, self.operations = open_stores(image, host, lambda: self.work.loop, self._mark, self._settles)
        self.memories = Memories(
            declarations(image, self._step_function, host.token_counter, self.redactor, self._computed_bounds),
            namespace=namespace(image), clock=host.wall, stored_clock=None if host.volatile else host.stored_wall,
            listener=self._memory_event, hears=host.hears, stores=self.open_stores, embedders=self._embedding,
            operations=self.operations,
        )  # fmt: skip
        layers: list[Mapping[str, Mapping[str, Any]]] = [host.connections, {c.name: c.fields for c in image.connections}]
        check_connections(layers)
        check_names(*layers)
        check_stages(image.pipelines)
        if host.permissions is not None:
            entries: list[Any] = [*image.tools, *image.mcp]
            methods: dict[str, list[str]] = {entry.name: [method[0] for method in entry.methods] for entry in entries}
            for model in image.models:
                handles = [program.handle(*row) for row in model.tools if row[0] in ("hashmaps", "ledgers")]
                methods.update((store_name(handle.name, handle.scope), list(STORE_METHODS)) for handle in handles)
            methods.update((memory.name, list(TOOL_METHODS)) for memory in image.memories)
            host.permissions.check_tools(methods, [server.name for server in image.mcp if not server.methods])
        self.connections: Mapping[str, ConnectionSettings] = resolve_all(layers)
        self.pool = ProviderPool(
            self.connections,
            env=host.env,
            redactor=self.redactor,
            sleep=host.sleep,
            offline=host.offline,
            script=host.script,
            http_client=host.http_client,
        )
        self.schemas: Mapping[str, Schema] = {
            s.name: Schema(s.name, s.shape, s.plain, s.strict, [program.codes[number] for number in s.validators])
            for s in image.schemas
        }
        self.builder = TreeBuilder(_classes(program))
        self.machine = Machine(program, self.memories, translated_tier)
        self.memories.computed = lambda code: computed(self.machine, code)
        self.machine.tiers(host.tier == "both")
        self.machine.beside.append(lambda: self.emits.waiting)
        self.watch = Watch(self.machine)
        if host.code_cache is not None and program.kept is None:
            program.kept = host.code_cache.of(program)
        if earlier is not None:  # paths of tasks, by which memories know them, are not given twice
            self.machine.root_count = earlier.machine.root_count
            self.memories.number_after(earlier.memories)
        self.state: dict[str, Any] = {}
        self.initialised = False
        self.unread: list[HashMapRef] = []  # of a state that was restored: hashmaps whose files are to be read
        self.work: Work
        self.deadline: float | None = None
        self.services = Services(
            provider=host.provider or self.pool.__getitem__,
            sleep=host.sleep,
            random=host.random,
            clock=host.now,
            metrics=self.metrics,
            pricing={**_prices(image), **host.pricing},
            emit=self.runtime_emit,
            remaining=self.remaining,
            future=self.future,
        )
        self.account = Account()  # what its calls draw on, all together
        self.spending = self.services.spending = Spending(self._living)
        if host.requests is not None:
            from ..shown_requests import RequestPrefixes

            self.services.prefixes = RequestPrefixes(host.requests, self.redactor.clean)

    def _mark(self) -> Callable[[], object]:
        """What gives back the fuel that a try of an operation has used up by then: it is used when the operation is done."""
        machine, fuel = self.machine, self.machine.reserve
        return lambda: setattr(machine, "reserve", fuel)

    def _living(self) -> list[str]:
        return [task.path for root in self.machine.roots for task in root.subtree()]

    def _settles(self, effect: Effect) -> None:
        self.work.settles(effect)

    def _memory_event(self, channel: str, payload: dict[str, Any]) -> None:
        self.operations.home(lambda: self.runtime_emit(channel, payload))

    def _step_function(self, step: str, place: Sequence[int]) -> StepFunction:
        return StepFunction(lambda: self.machine, step, place)

    def _computed_bounds(self, memory: int) -> dict[str, Any]:
        """What initialisation gave the memory of that number; before it did, none (M-2.14)."""
        found = self.machine.configured.get(("memories", memory, "bounds"))
        return {str(name): value for name, value in found.items.items()} if isinstance(found, Map) else {}

    def _embedding(self, said: dict[str, Any]) -> Embedding:
        from ..effects.models import embedding

        return embedding(self, said)

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
        """Initialise the program and run its main, or the function of a number; the session is over then."""
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
    ) -> Outcome:
        """Run a function of the program, which is initialised before the first one, under the limits of G-6.1 and G-6.4, of which
        the program's own budgets are the defaults (O-9.7). Tokens, cost and model calls are those of the session, over all of its
        calls; `accounts` are others that this call draws on. `give` makes of the value what the host gets, under the same limits
        (G-6.10)."""
        started = self.host.now()
        machine = self.machine
        machine.panic = None  # of the call before
        given = {
            "steps": steps, "depth": depth, "seconds": seconds, "tokens": tokens, "cost": cost, "model_calls": model_calls,
        }  # fmt: skip
        chosen = {name: value for name, value in given.items() if value is not None}
        budgets = {"depth": 10_000, **self.program.image.header.budgets, **chosen}
        seconds = budgets.get("seconds")
        machine.limit(
            budgets.get("steps"), budgets["depth"], tasks, value_bytes or LONGEST_STRING, memory_bytes or LARGEST_MEMORY
        )
        self.account.limits = budgets.get("tokens"), budgets.get("cost"), budgets.get("model_calls")
        self.services.purse = Purse((self.account, *accounts), self.services.pricing, self.future)
        self.spending.clear()
        self.work = Work(self.host.loop or asyncio_loop())
        self.watch.begin(seconds, lambda: self._overdue(seconds or 0.0))
        timer = None if seconds is None else self._set_deadline(seconds)
        outcome = Outcome(None, None, None)
        try:
            if not self.initialised:
                await self._initialise()
            await self._read_files()
            passed = await arguments(self._give) if callable(arguments) else list(arguments)
            value = await self._finish(self.machine.start(code, passed))
            if give is not None:
                outcome = self.machine.under_limits(lambda: self._outcome(value, give))
            else:
                outcome = Outcome(value, None, None)
        except Panic as raised:
            if not raised.trace and give is not None:  # of what the host makes of the value
                place = None if code.hidden else self.program.start_of(code.number)
                raised.trace, raised.position = (() if place is None else ((code.label, *place),)), place
            outcome = Outcome(None, raised, None)
            self.emits.send("panic", self.redactor.clean(raised.message), True)
        finally:
            self.watch.end()
            if timer is not None:
                timer.cancel()
            self.machine.cancel_all()
            await self.work.close_all()
            drop_turns(self, list(self.memories.turns))
            await self._give_back_leases()
            self.operations.close()
            self.emits.flush()
        self.metrics.execution_time_ms += round((self.host.now() - started) * 1000)
        outcome.fuel = self.machine.used if self.machine.exact else None
        return outcome

    def _outcome(self, value: Any, give: Callable[[Any], Any]) -> Outcome:
        outcome = Outcome(value, None, None, give(value))
        if type(value) is Err:
            outcome.message  # noqa: B018 -- made while the limits hold
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
            if "tools" in self.earlier.state:
                self.earlier.state["tools"].hand_over(self)
            self.earlier = None  # what is older may go
        self.initialised = True

    async def _read_files(self) -> None:
        """As initialisation reads them (O-5.12)."""
        while self.unread:
            load = self.program.language_methods["StoreWrites", "load"]
            await self._finish(self.machine.start(load, [self.unread[0]]))
            del self.unread[0]

    async def aclose(self) -> None:
        """Give back connections, and what families of effects hold open of the system."""
        await self.pool.aclose()
        self.open_stores.close()
        if self.host.code_cache is not None:
            self.program.kept.save()
        for name, kept in list(self.state.items()):
            if hasattr(kept, "aclose"):
                await kept.aclose()
                del self.state[name]
            elif hasattr(kept, "close"):
                kept.close()
                del self.state[name]

    def _entry(self, function: int | None) -> Code:
        number = self.program.image.header.entry if function is None else function
        assert number is not None, "the caller asked for a program with main"
        return self.program.codes[number]

    def stop(self, reason: str) -> None:
        """End the run where the machine next looks; `run` raises Stopped. From any thread."""
        self.machine.stop = Stopped(reason)

    def expire(self, seconds: float) -> None:
        """The deadline has come: P102 where the machine next looks (G-6.1). From any thread."""
        self.machine.stop = Panic("P102", f"time limit exceeded: {seconds:g} s (budget `seconds`)")

    def remaining(self) -> float | None:
        """Seconds up to the deadline."""
        return None if self.deadline is None else self.deadline - self.work.loop.time()

    def _overdue(self, seconds: float) -> None:
        """The deadline by the real time, in the thread that watches: a virtual clock stands while a store is waited for."""
        self.expire(seconds)
        with suppress(RuntimeError):  # the loop is closed: the run is over
            self.work.loop.call_soon_threadsafe(self.work.stir)

    def _set_deadline(self, seconds: float) -> Any:
        """The timer of the loop, to cancel at the end: it ends what waits, by the clock of the loop, which may be virtual. A
        program that computes never comes back to the loop; it is watched at the real time (G-6.1)."""

        def expire() -> None:
            self.expire(seconds)
            self.work.stir()

        self.deadline = self.work.loop.time() + seconds
        return self.work.loop.call_later(seconds, expire)

    async def _finish(self, task: Task) -> Any:
        """Run until this task has ended, and with it all that it started."""
        root = self.machine.watched(task, lambda ended: None)
        while True:
            effects = self._step()
            if effects:
                while effects:  # what is left in the list is not known here when a task is cancelled meanwhile
                    await self._perform(effects.pop(0))
                continue
            if root.task.status == DONE:
                return root.task.result
            await self._deliver()

    def _step(self) -> list[Effect]:
        """Between two steps the machine is data (G-13.7)."""
        return self.machine.step()

    async def _give(self, number: int, arguments: list[Any]) -> Any:
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
        else:
            self.work.begin(effect, performer(effect.kind)(self, effect))

    async def _deliver(self) -> None:
        """Wait for an effect, commit its outcome, and let its task go on."""
        if not self.work:
            raise self.machine.deadlock()
        ended = await self.work.next()
        if self.machine.panic is not None:  # it has ended the run, whatever else was on its way
            raise self.machine.panic
        if ended is None:
            return
        effect, job = ended
        try:
            value = job.result()
            if type(value) is Settled:
                settled = value
                try:
                    value = self.operations.attempt(settled.commit)
                except MustWait:
                    self.work.begin(effect, self._written(effect, settled))
                    return
                except BaseException:
                    settled.over()
                    raise
                settled.over()
                if settled.after is not None:
                    self.work.begin(effect, _then(settled.after(), value))
                    return
        except Panic as panic:
            if panic.trace or panic is self.machine.panic:  # it has its place, which has no trace where all frames are hidden
                raise
            self.machine.panicked(effect.task, panic)
            return
        except MemoryFailure as failure:  # of what no method of a program asked for
            self.machine.panicked(effect.task, Panic(failure.panic_code, failure.message))
            return
        self.machine.resume(effect, value)

    async def _written(self, effect: Effect, settled: Settled) -> Settled:
        """While its store is waited for, other tasks go on."""
        try:
            return settled.written(await self.operations.use(settled.commit, effect))
        finally:
            settled.over()

    # ------------------------------------------------------------ what performers use

    async def call(
        self, effect: Effect, function: Any, arguments: Sequence[Any], started: Callable[[str], object] | None = None,
        contains: bool = False,
    ) -> Any:  # fmt: skip
        """Run a function of the program as a child of the task that waits for `effect`, and give its value; `started` gets the
        path of the child. A cancellation here cancels the child; a panic in it ends the run, or with `contains` this call alone:
        it is raised here."""
        future = self.future()

        def done(task: Task) -> None:
            if not future.done():
                future.set_result(task.result)

        code, cells = (function.function, function.cells) if type(function) is Closure else (function, ())
        child = self.machine.call(effect, code, list(arguments), cells, done, contains)
        if started is not None:
            started(child.task.path)
        self.work.stir()
        try:
            value = await future
        finally:
            if self.machine.cancel(child.task):
                self.work.stir()
        if child.panic is not None:
            raise child.panic
        return value

    def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
        """Work that outlives the answer to its effect (Work.hold)."""
        self.work.hold(effect, work)

    async def release(self, effect: Effect) -> None:
        """Ends what is held for an effect."""
        await self.work.release(effect)

    def future(self) -> Any:
        """A future of the loop that runs the session."""
        return self.work.loop.create_future()

    async def gather(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
        """Performs them side by side; the first failure stops the others."""
        return await gather(self.work.loop, list(coroutines))

    async def within(self, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """The result of the coroutine; TimeoutError when it takes longer, and then it is cancelled."""
        return await within(self.work.loop, seconds, coroutine)

    def emit(self, channel: str, value: Any) -> None:
        self.metrics.emit_count += 1
        self.emits.send(self.redactor.clean(channel), self.clean(value), False)

    def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
        self.emits.send(channel, self.clean(from_json(payload)), True)

    def tag(self, lasting: bool) -> str:
        """What tells the runs of this session from those of the ones before it, and with `lasting` from all others."""
        if not lasting:
            return f"-{self.generation}" if self.generation else ""
        if not self.name:
            self.name = self.host.secure_bytes(8).hex()
        return f"-{self.name}"

    def clean(self, value: Any) -> Any:
        """What leaves the session, without secrets (G-10.3)."""
        if self.redactor.is_empty:
            return value
        from ..access.secrets import without_secrets

        return without_secrets(value, self.redactor)


async def _then(work: Awaitable[None], value: Any) -> Any:
    await work
    return value


def run_offline(session: Session, **limits: Any) -> Outcome:
    """A run that waits for nothing outside, without asyncio."""
    host = session.host
    if host.loop is None:
        host.loop = OfflineLoop(host.now())
    outcome: Outcome = host.loop.run_until_complete(session.run(**limits))
    return outcome


def translated_tier(machine: Machine, metered: bool) -> Any:
    """What runs often is translated: the translator is loaded when there is something."""
    from ...vm.jit.tier import Tier

    return Tier(machine, metered)


def _prices(image: Image) -> dict[str, dict[str, float]]:
    """What the manifest says of prices, by model id (O-1.131)."""
    names = ("input_per_million", "output_per_million", "cached", "cache_write")
    return {
        model: {name: price for name, price in zip(names, prices, strict=False) if price is not None}
        for model, prices in image.header.pricing.items()
    }


def _classes(program: Program) -> dict[str, Any]:
    """Value classes and enum types by name."""
    image: Image = program.image
    return {entry[1]: made for entry, made in zip(image.types, program.classes, strict=True) if made is not None}
