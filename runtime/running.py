"""What performers of effects may use of the session that runs (V-6.3): a protocol, so that they need not know the session.

Hands on `EffectContext` to performers, to all whom they call in `access/`, `agents/`, `calls/`, `journal/`, `mcp/`, `schema/`,
`search/` and `tools/`, to `host.py` and `python_calls.py`, and to those of the Python API who call functions of the host
(`api/callbacks.py`, `api/python_functions.py`, `api/python_streams.py`, `api/worker_threads.py`); `session/session.py: Session`,
or a view of it with fewer rights (`access/rights.py`), is what they get, and says more of each method. Hands on `context_around`
to the functions of the host (`host.py`) and to the performer of `std::call` (`effects/world.py`).
"""

from __future__ import annotations

from ..vm.interp.effects import AgentCall, ModelCall
from ..vm.values import UNSET, ItemStream, Stream, share

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
    from .memory.stores.opened import OpenStores
    from .memory.stores.operations import Operations
    from .providers.pool import ProviderPool
    from .records import TreeBuilder
    from .schema.strategy import Schema
    from .session.emit_bus import EmitBus

    class EffectContext(Protocol):
        """What a session is to those who perform its *effects*, the requests of tasks of the program to the runtime: `program`,
        linked, in the `machine` that runs it; `host`, which gives clock, output and settings; what calls of models share
        (`services`), the counters that the user sees (`metrics`), the remover of secrets (`redactor`), the `memories`; settings
        of `connections` by name, and their providers (`pool`); `schemas` by name, and the `builder` of their values; where emits
        go out (`emits`); the jobs of effects (`work`); and the stores: how operations on them wait (`operations`), and which
        there are (`open_stores`). Methods raise what they say; `clean`, and so `emit`, `runtime_emit` and `ask`, also
        panic P103 for a value that is nested too deeply, `runtime_emit` and `ask` ValueError for a number beyond Float, and what
        the host's sink of emits raises passes through."""

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
        open_stores: OpenStores
        generation: int  # how many sessions came before, from which this one goes on
        is_followed: bool  # a later session is to go on from this one
        state: dict[str, Any]  # with `aclose` or `close`: called at the end of the session
        """What a family keeps for the session, under its own name."""

        def emit(self, channel: str, value: Any) -> None:
            """Send an emit of the program to the host, without secrets."""

        def tag(self, lasting: bool) -> str:
            """Return what makes ids of runs unique (M-5.10): in this session and those before it, with `lasting` among all."""

        def clean(self, value: Any) -> Any:
            """Return a value of the machine without secrets (G-10.3)."""

        def warn(self, text: str) -> None:
            """Tell the log of the host something, without secrets and whatever could disguise it."""

        def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
            """Send an emit of the runtime itself to the host, without secrets (O-5.30)."""

        async def ask(self, effect: Effect, channel: str, payload: dict[str, Any]) -> Any:
            """Send an emit of the runtime itself and return the Result of its answer, as an awaited emit gets it (O-5.25)."""

        async def call(
            self, effect: Effect, function: Any, arguments: Sequence[Any], started: Callable[[str], object] | None = None,
            contains: bool = False,
        ) -> Any:  # fmt: skip
            """Run a function of the program (its Code, or a Closure) as a child of the task that waits for `effect`, and return
            its value; `started` gets the path of that child. With `contains` its Panic is raised here, else it ends the run,
            which cancels the caller."""

        def remaining(self) -> float | None:
            """Return the seconds up to the deadline of the run, below 0 when it has passed; None without one."""

        def future(self) -> Any:
            """Return a new future of the loop that runs the session."""

        def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
            """Run work that goes on after the answer to its effect, until it is over or nobody wants the effect any more."""

        async def release(self, effect: Effect) -> None:
            """End what is held for an effect."""

        async def gather(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
            """Run coroutines side by side and return their results in order; the first failure cancels the others and is
            raised. Used in place of asyncio's, which offline runs do not have."""

        async def within(self, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
            """Return the result of a coroutine; TimeoutError when it takes longer than so many seconds."""


def context_around(effect: Effect) -> Any:
    """Return the context of the innermost call around an effect that has one, for what runs within it: tools, hooks, validators,
    functions of the host (O-3.28). The call is the effect itself, or what a task above it waits for; None without any."""
    at, task = effect, effect.task
    while True:
        payload = at.payload if at is not None else None
        if type(payload) is ItemStream:
            payload = payload.stream
        if isinstance(payload, Stream):  # a tool of a reply that is read piece by piece
            payload = payload.effect.payload
        if type(payload) in (ModelCall, AgentCall) and payload.context is not UNSET:
            return share(payload.context)
        task = task.parent
        if task is None:
            return None
        at = task.effect
