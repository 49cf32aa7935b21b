"""What performers of effects may use of the session that runs (V-6.3): a protocol, so that they need not know the session."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any, Protocol

    from ..vm.effects import Effect
    from ..vm.link import Program
    from ..vm.machine import Machine
    from .call_services import Services
    from .connections import ConnectionSettings
    from .emits import EmitBus
    from .memory.declared import Memories
    from .memory.stores.operations import Operations
    from .metrics import Metrics
    from .providers.pool import ProviderPool
    from .schema.strategy import Schema
    from .secrets import Redactor
    from .translation import TreeBuilder
    from .work import Work

    class Running(Protocol):
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
        work: Work
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
