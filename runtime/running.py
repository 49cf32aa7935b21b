"""What performers of effects may use of the session that runs (V-6.3): a protocol, so that they need not know the session."""

from __future__ import annotations

from ..vm.interp.effects import AgentCall, ModelCall
from ..vm.values import UNSET, Stream, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any, Protocol

    from ..vm.interp.effects import Effect
    from ..vm.interp.link import Program
    from ..vm.interp.machine import Machine
    from .access.secrets import Redactor
    from .calls.services import Services
    from .calls.usage import Metrics
    from .connections import ConnectionSettings
    from .effects.runner import EffectRunner
    from .memory.memories import Memories
    from .memory.stores.operations import Operations
    from .providers.pool import ProviderPool
    from .records import TreeBuilder
    from .schema.strategy import Schema
    from .session.emit_bus import EmitBus

    class EffectContext(Protocol):
        program: Program
        machine: Machine
        host: Any
        services: Services
        metrics: Metrics
        redactor: Redactor
        memories: Memories
        connections: Mapping[str, ConnectionSettings]
        pool: ProviderPool
        schemas: Mapping[str, Schema]
        builder: TreeBuilder
        emits: EmitBus
        work: EffectRunner
        operations: Operations
        state: dict[str, Any]  # with `aclose` or `close`: called at the end of the session
        """What a family keeps for the session, under its own name."""

        def emit(self, channel: str, value: Any) -> None:
            """An emit of the program."""

        def tag(self, lasting: bool) -> str:
            """What makes ids of runs unique (M-5.10): in the session, with `lasting` among all sessions."""

        def clean(self, value: Any) -> Any:
            """A value of the machine without secrets (G-10.3)."""

        def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
            """An emit of the runtime itself (O-5.30)."""

        async def call(
            self, effect: Effect, function: Any, arguments: Sequence[Any], started: Callable[[str], object] | None = None,
            contains: bool = False,
        ) -> Any:  # fmt: skip
            """The value of a function of the program (its Code, or a Closure), run as a child of the task that waits for
            `effect`; `started` gets the path of that child. With `contains` its panic is raised here, else it ends the run."""

        def remaining(self) -> float | None:
            """Seconds up to the deadline of the run, None without one."""

        def future(self) -> Any:
            """A future of the loop that runs the session."""

        def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
            """Work that goes on after the answer to its effect, until it is over or nobody wants the effect any more."""

        async def release(self, effect: Effect) -> None:
            """Ends what is held for an effect."""

        async def gather(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
            """The results of coroutines that run side by side; offline runs have no asyncio."""

        async def within(self, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
            """The result of a coroutine; TimeoutError when it takes longer."""


def context_around(effect: Effect) -> Any:
    """Return the context of the innermost call around an effect that has one, for what runs within it: tools, hooks, validators,
    functions of the host (O-3.28). The call is the effect itself, or what a task above it waits for; None without any."""
    at, task = effect, effect.task
    while True:
        payload = at.payload if at is not None else None
        if type(payload) is Stream:  # a tool of a reply that is read piece by piece
            payload = payload.effect.payload
        if type(payload) in (ModelCall, AgentCall) and payload.context is not UNSET:
            return share(payload.context)
        task = task.parent
        if task is None:
            return None
        at = task.effect
