"""A session: one program's memories, providers, caches and counters, and the loop that answers its machine's effects.

Hands on `Outcome`s. asyncio is imported only when something really waits. Must not know: source text, the command line.
"""

from __future__ import annotations

from ..vm.effects import EmitPayload
from ..vm.machine import Machine
from ..vm.panics import Panic
from ..vm.values import Err, from_json
from .call_services import Services
from .connections import resolve_all
from .field_checks import check_connections
from .memory.declared import Memories
from .metrics import Metrics
from .performers import performer
from .providers.pool import ProviderPool
from .schema.strategy import Schema
from .secrets import Redactor
from .translation import TreeBuilder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ..vm.bytecode.image import Image
    from ..vm.effects import Effect
    from ..vm.link import Program
    from ..vm.linked import Code
    from ..vm.tasks import Task
    from .connections import ConnectionSettings


class Outcome:
    """How a run ended: `value` of main, or `panic`; `error` is the error of an Err from main. `fuel` used."""

    __slots__ = ("value", "panic", "error", "fuel")

    def __init__(self, value: Any, panic: Panic | None, fuel: int) -> None:
        self.value = value
        self.panic = panic
        self.error = value.value if type(value) is Err else None
        self.fuel = fuel

    @property
    def exit_code(self) -> int:
        """L-5.14.3: 77 for a permission denial, 1 for any other failure."""
        if self.panic is not None:
            return 77 if self.panic.code == "P407" else 1
        if type(self.value) is Err:
            return 77 if getattr(self.error, "variant", None) == "PermissionDenied" else 1
        return 0


class Host:
    """What a session takes from outside.

    `emit(channel, value, by_runtime)` and `print(text)` are sinks; `now` and `sleep` are the clock in seconds; `random` gives
    [0, 1); `provider`, when given, makes the provider of a connection.
    """

    def __init__(
        self,
        *,
        emit: Callable[[str, Any, bool], None],
        print: Callable[[str], object],
        env: Mapping[str, str],
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        offline: bool = False,
        script: Sequence[Any] | None = None,
        connections: Mapping[str, Mapping[str, Any]] | None = None,
        pricing: Mapping[str, Mapping[str, float]] | None = None,
        provider: Callable[[str], Any] | None = None,
        http_client: Any = None,
    ) -> None:
        self.emit = emit
        self.print = print
        self.env = env
        self.now = now
        self.sleep = sleep
        self.random = random
        self.offline = offline
        self.script = script
        self.connections = connections or {}
        self.pricing = pricing or {}
        self.provider = provider
        self.http_client = http_client


class Session:
    """One program's run. `earlier`: memories of a session that this one goes on from, where it declares them too."""

    def __init__(self, program: Program, host: Host, *, earlier: Memories | None = None) -> None:
        self.earlier = earlier or Memories()
        image = program.image
        self.program = program
        self.host = host
        self.redactor = Redactor()
        self.metrics = Metrics()
        self.memories = Memories(((m.name, m.max_messages) for m in image.memories), clock=host.now)
        layers: list[Mapping[str, Mapping[str, Any]]] = [host.connections, {c.name: c.fields for c in image.connections}]
        check_connections(layers)
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
        self.schemas: Mapping[str, Schema] = {s.name: Schema(s.name, s.shape, s.plain, s.strict) for s in image.schemas}
        self.builder = TreeBuilder(_classes(program))
        self.machine = Machine(program, self.memories)
        self.state: dict[str, Any] = {}
        self.services = Services(
            provider=host.provider or self.pool.__getitem__,
            sleep=host.sleep,
            random=host.random,
            clock=host.now,
            metrics=self.metrics,
            pricing=host.pricing,
            emit=self.runtime_emit,
        )

    # ------------------------------------------------------------ running

    async def run(
        self, *, steps: int | None = None, depth: int = 10_000, function: str | None = None, arguments: Sequence[Any] = ()
    ) -> Outcome:
        """Initialise the program and run its main, or the function named; `arguments` are values of the machine."""
        started = self.host.now()
        machine = self.machine
        machine.limit(steps, depth)
        value: Any = None
        panic = None
        try:
            for number in self.program.image.exports.init:
                await self._finish(machine, machine.start(self.program.codes[number], []))
            self.memories.take_over(self.earlier)
            value = await self._finish(machine, machine.start(self._entry(function), list(arguments)))
        except Panic as raised:
            panic = raised
            self.host.emit("panic", raised.message, True)
        finally:
            await self.pool.aclose()
        self.metrics.execution_time_ms = round((self.host.now() - started) * 1000)
        return Outcome(value, panic, machine.used)

    def _entry(self, function: str | None) -> Code:
        codes = self.program.codes
        number = self.program.image.header.entry
        if function is None:
            assert number is not None, "the caller asked for a program with main"
            return codes[number]
        return next(code for code in codes if code.label == function)

    def stop(self, reason: str) -> None:
        """End the run where the machine next looks; `run` raises Stopped."""
        self.machine.stop = reason

    async def _finish(self, machine: Machine, task: Task) -> Any:
        while True:
            effects = machine.step()
            if not effects:
                return task.result
            for effect in effects:
                await self._perform(machine, effect)

    async def _perform(self, machine: Machine, effect: Effect) -> None:
        if effect.kind == "emit":
            self._emit(effect.payload)
        elif effect.kind == "print":
            self.host.print(self.redactor.clean(effect.payload))
        else:
            machine.resume(effect, await performer(effect.kind)(self, effect))

    def _emit(self, payload: EmitPayload) -> None:
        self.metrics.emit_count += 1
        self.host.emit(payload.channel, payload.value, False)

    def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
        self.host.emit(channel, from_json(payload), True)


def _classes(program: Program) -> dict[str, Any]:
    """Value classes and enum types by name."""
    image: Image = program.image
    return {entry[1]: made for entry, made in zip(image.types, program.classes, strict=True) if made is not None}
