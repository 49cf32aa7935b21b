"""One declared model of a session, or what `spawn` made of it: its settings, cache, tools and the calls on their way (O-1.64,
O-1.65).

Hands on `ModelInstance`. Must not know: effects, how a call is made.
"""

from __future__ import annotations

from ..vm.values import LedgerRef, Map
from .call_settings import call_settings
from .errors import CallFailure, ConfigFailure, Origin
from .field_checks import check_model
from .jobs import ended
from .reply_cache import ReplyCache
from .translation import to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from ..vm.bytecode.image import Model
    from .call_settings import CallSettings
    from .running import Running
    from .streams import StreamedCall
    from .tools import Tools


class ModelInstance:
    """`given`: the fields that are no constants, values of the machine by name, None before the initialisation; `is_spawned`:
    the state of its tools is its own."""

    __slots__ = (
        "run", "model", "is_spawned", "own_tools", "given", "computed", "knowledge", "made", "jobs", "streams", "is_down",
    )  # fmt: skip

    def __init__(self, run: Running, model: Model, computed: Any, is_spawned: bool) -> None:
        self.run = run
        self.model = model
        self.is_spawned = is_spawned
        self.own_tools: Tools | None = None
        self.given = computed
        given: dict[Any, Any] = computed.items if type(computed) is Map else {}
        self.knowledge: Any = given.get("knowledge")
        self.computed = {name: value for name, value in given.items() if name != "knowledge"}
        self.made: CallSettings | None = None
        self.jobs: list[Any] = []
        self.streams: list[StreamedCall] = []
        self.is_down = False

    def tools(self) -> Tools:
        """Those of the session, or new ones, made by the first call that needs them."""
        from .tools import Tools

        if self.own_tools is None:
            self.own_tools = Tools(self.run) if self.is_spawned else Tools.of(self.run)
        return self.own_tools

    # ------------------------------------------------------------ settings

    def settings(self) -> CallSettings:
        """Made at the first call (O-0.3)."""
        if self.made is None:
            self.made = self._settings()
        return self.made

    def _settings(self) -> CallSettings:
        model = self.model
        fields = self._plain()
        decorators = dict(model.decorators)
        self._check(fields, decorators)
        cache = ReplyCache(decorators["cache"], self.run.host.now) if "cache" in decorators else None
        return call_settings(model.name, fields, decorators, self.run.connections[model.connection], cache=cache)

    def _plain(self) -> dict[str, Any]:
        try:
            return {**self.model.fields, **{name: to_plain(value) for name, value in self.computed.items()}}
        except TypeError as other:  # only the fields of a foreign image hold such a value
            message = f"model {self.model.name}: no field takes {other}"
            raise CallFailure("AgentError", "InvalidRequest", message, model=self.model.name) from None

    def _check(self, fields: dict[str, Any], decorators: dict[str, Any]) -> None:
        """What no compiler has seen: fields of a foreign image, and values computed when the program runs."""
        name = self.model.name
        try:
            check_model(name, fields, decorators)
            if self.model.connection not in self.run.connections:
                raise ConfigFailure("E4003", f"model {name}: unknown connection {self.model.connection}")
            if self.knowledge is not None and type(self.knowledge) is not LedgerRef:
                raise ConfigFailure("E4004", f"model {name}: knowledge is a ledger")
        except ConfigFailure as failure:
            raise CallFailure("AgentError", "InvalidRequest", failure.message, model=name) from None

    # ------------------------------------------------------------ calls on their way

    async def calling(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What the call gives; the failure of O-1.65 when the instance is shut down before it ends."""
        if self.is_down:
            work.close()
            raise self._failure("Shutdown", "the instance is shut down")
        loop = self.run.work.loop
        job = loop.create_task(work)
        self.jobs.append(job)
        try:
            await ended(loop, job)
        finally:
            self.jobs.remove(job)
            job.cancel()
            await ended(loop, job)
        if self.is_down and job.cancelled():
            raise self._failure("Cancelled", "the instance was shut down during the call")
        return job.result()

    def began(self, stream: StreamedCall) -> None:
        self.streams = [open_ for open_ in self.streams if open_.stream.response is None]
        self.streams.append(stream)

    async def shut_down(self) -> None:
        """Running calls are cancelled; once they are over nothing of them runs on (O-1.65)."""
        self.is_down = True
        for job in self.jobs:
            job.cancel()
        for stream in self.streams:
            if stream.stream.response is None:
                stream.cut(self._failure("Cancelled", "the instance was shut down during the call"))
                await self.run.release(stream.stream.effect)
        for job in list(self.jobs):
            await ended(self.run.work.loop, job)

    def _failure(self, variant: str, message: str) -> CallFailure:
        return Origin(self.model.name, self.model.connection, 0).failure("AgentError", variant, message)
