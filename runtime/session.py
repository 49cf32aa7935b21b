"""A session: one program's memories, providers, caches and counters, and the loop that answers its machine's effects.

Hands on `Outcome`s. asyncio is imported only when something really waits. Must not know: source text, the command line.
"""

from __future__ import annotations

from ..vm.effects import EmitPayload, ModelCall
from ..vm.machine import Machine
from ..vm.panics import Panic
from ..vm.values import UNSET, Err, from_json
from .call_services import Conversation, Services
from .call_settings import call_settings
from .calls import execute, execute_with_schema
from .connections import resolve_all
from .errors import CallFailure, ConfigFailure
from .field_checks import check_connections, check_model
from .memory.store import MemoryStore
from .metrics import Metrics
from .providers.pool import ProviderPool
from .reply_cache import ReplyCache
from .schema.strategy import Schema
from .secrets import Redactor
from .translation import TreeBuilder, failed, response_value, succeeded, to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ..vm.bytecode.image import Image, Model
    from ..vm.effects import Effect
    from ..vm.link import Program
    from ..vm.tasks import Task
    from .call_settings import CallSettings


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
    def __init__(self, program: Program, host: Host) -> None:
        image = program.image
        self.program = program
        self.host = host
        self.redactor = Redactor()
        self.metrics = Metrics()
        self.memories = MemoryStore((m.name, m.max_messages) for m in image.memories)
        layers: list[Mapping[str, Mapping[str, Any]]] = [host.connections, {c.name: c.fields for c in image.connections}]
        check_connections(layers)
        self.connections = resolve_all(layers)
        self.pool = ProviderPool(
            self.connections,
            env=host.env,
            redactor=self.redactor,
            sleep=host.sleep,
            offline=host.offline,
            script=host.script,
            http_client=host.http_client,
        )
        self.models = {model.name: (number, model) for number, model in enumerate(image.models)}
        self.schemas = {s.name: Schema(s.name, s.shape, s.plain, s.strict) for s in image.schemas}
        self.builder = TreeBuilder(_classes(program))
        self.caches: dict[str, ReplyCache] = {}
        self.settings: dict[str, CallSettings] = {}
        self.calls = 0
        self.machine: Machine | None = None
        self.services = Services(
            provider=host.provider or self.pool.__getitem__,
            sleep=host.sleep,
            random=host.random,
            clock=host.now,
            metrics=self.metrics,
            pricing=host.pricing,
            emit=self._runtime_emit,
        )

    # ------------------------------------------------------------ running

    async def run(self, *, steps: int | None = None, depth: int = 10_000) -> Outcome:
        """Initialise the program and run its main."""
        started = self.host.now()
        machine = self.machine = Machine(self.program, self.memories, steps=steps, depth=depth)
        value: Any = None
        panic = None
        try:
            entry = self.program.image.header.entry
            assert entry is not None, "the caller asked for a program with main"
            for number in [*self.program.image.exports.init, entry]:
                value = await self._finish(machine, machine.start(self.program.codes[number], []))
        except Panic as raised:
            panic = raised
            self.host.emit("panic", raised.message, True)
        finally:
            await self.pool.aclose()
        self.metrics.execution_time_ms = round((self.host.now() - started) * 1000)
        return Outcome(value, panic, machine.used)

    def stop(self, reason: str) -> None:
        """End the run where the machine next looks; `run` raises Stopped."""
        if self.machine is not None:
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
            machine.resume(effect, await self._model_call(machine, effect.payload))

    def _emit(self, payload: EmitPayload) -> None:
        self.metrics.emit_count += 1
        self.host.emit(payload.channel, payload.value, False)

    def _runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
        self.host.emit(channel, from_json(payload), True)

    # ------------------------------------------------------------ model calls

    async def _model_call(self, machine: Machine, call: ModelCall) -> Any:
        """The Result a call gives: every fault of provider, network or schema is an Err (O-0.9)."""
        self.calls += 1
        run_id = f"{call.model}-{self.calls}"  # tells logs and traces which model ran
        try:
            settings = self._settings(machine, call.model).with_prompt(call.overrides)
            conversation = self._conversation(call)
            if call.schema is None:
                response = await execute(self.services, settings, call.prompt, conversation, run_id=run_id)
                return succeeded(response_value(response))
            validated = await execute_with_schema(
                self.services,
                settings,
                call.prompt,
                self.schemas[call.schema],
                conversation,
                run_id=run_id,
                retry_message=call.retry_message,
            )
            return succeeded(self.builder.value(validated.tree))
        except CallFailure as failure:
            return failed(failure)

    def _settings(self, machine: Machine, name: str) -> CallSettings:
        """The settings of a model; its fields are evaluated once, at initialisation (O-0.3)."""
        if name not in self.settings:
            number, model = self.models[name]
            fields = {**model.fields, **self._configured(machine, number)}
            decorators = dict(model.decorators)
            self._check(model, fields, decorators)
            if "cache" in decorators:
                self.caches[name] = ReplyCache(decorators["cache"], self.host.now)
            connection = self.connections[model.connection]
            self.settings[name] = call_settings(name, fields, decorators, connection, cache=self.caches.get(name))
        return self.settings[name]

    def _check(self, model: Model, fields: Mapping[str, Any], decorators: Mapping[str, Any]) -> None:
        """What no compiler has seen: fields of a foreign image, and values computed at initialisation."""
        try:
            check_model(model.name, fields, decorators)
            if model.connection not in self.connections:
                raise ConfigFailure("E4003", f"model {model.name}: unknown connection {model.connection}")
        except ConfigFailure as failure:
            raise CallFailure("AgentError", "InvalidRequest", failure.message, model=model.name) from None

    def _configured(self, machine: Machine, number: int) -> dict[str, Any]:
        return {
            field: to_plain(value)
            for (section, entry, field), value in machine.configured.items()
            if section == "models" and entry == number
        }

    def _conversation(self, call: ModelCall) -> Conversation | None:
        """with_memory, else the model's own memory, else none (O-3.24)."""
        name = call.memory
        if name is UNSET:
            model: Model = self.models[call.model][1]
            name = None if model.memory is None else self.program.image.memories[model.memory].name
        return None if name is None else Conversation(self.memories[name], call.auto)


def _classes(program: Program) -> dict[str, Any]:
    """Value classes and enum types by name."""
    image: Image = program.image
    return {entry[1]: made for entry, made in zip(image.types, program.classes, strict=True) if made is not None}
