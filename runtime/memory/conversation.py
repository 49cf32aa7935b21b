"""The memory side of one call: the run it opens, the turn lock, the commit and the folds after it (M-5, M-9.5).

What reads and changes memories are operations on their stores: who waits for one holds nobody else up. Must not know: providers,
what a reply means.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from ..records import Msg
from .errors import MemoryFailure
from .memory import Memory
from .stores.operations import IN_PLACE, MustWait
from .turns import Attached, asked_text, open_run, opened_views
from .views import with_lead, with_tool_lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..records import Call, ProviderState
    from .forms import DerivedMemory
    from .locks import TurnLocks
    from .stores.operations import Operations
    from .summaries import Summarise
    from .turns import Recall, Run
    from .views import View

    class Heard(Protocol):
        """What functions of the program hear of the call (M-6.37); `effect`: who waits while they run."""

        effect: Any

        async def deliver(self) -> None: ...

    Ask = Callable[[Attached, View], Awaitable[object]]
    """Puts what the function of an element's view gives in its place (M-4.30)."""


def attached_as(one: Memory | DerivedMemory) -> Attached:
    """As an element of `with_memory`."""
    return Attached(one) if isinstance(one, Memory) else Attached(one.memory, one.view_name)


def _unheard(*told: object) -> None:
    """Nobody listens."""


class Conversation:
    """What `with_memory` and the `memory:` field give a call. `attached`: one memory or view, or a list of them; the turn goes to
    the last (M-9.13); with `auto` false nothing is written (O-3.19). Used by one call at a time.

    `summarise` gives the summariser of a memory's view, `locks` are those of the session, `timeout` the seconds a run may wait
    for its lock (M-5.19), `operations` those of the session on its stores.
    """

    __slots__ = (
        "attached",
        "auto",
        "tokens",
        "meta",
        "recall",
        "summarise",
        "locks",
        "run",
        "lead",
        "tool_lead",
        "report",
        "ended",
        "operations",
        "handles",
        "ask",
        "heard",
        "is_reading",
        "_locked",
    )

    def __init__(
        self,
        attached: Memory | DerivedMemory | Sequence[Memory | DerivedMemory],
        auto: bool = True,
        *,
        tokens: int | None = None,
        meta: Mapping[str, Any] | None = None,
        recall: Recall | None = None,
        summarise: Callable[[Memory, str], Summarise] | None = None,
        locks: TurnLocks | None = None,
        operations: Operations = IN_PLACE,
    ) -> None:
        if type(attached) is Memory:
            self.attached = [Attached(attached)]
        else:
            self.attached = [attached_as(each) for each in (attached if isinstance(attached, (list, tuple)) else (attached,))]
        self.auto = auto
        self.tokens = tokens
        self.meta = meta
        self.recall = recall
        self.summarise = summarise
        self.locks = locks
        self.operations = operations
        self.ended: Callable[[], object] = _unheard
        """Told that it holds no turn any more."""
        self.report: Callable[[str], object] = _unheard
        """Told why a fold failed (M-9.6)."""
        self.handles: Sequence[Any] = ()
        """What it holds on to until it has ended: a memory value lives as long as its handles (M-2.21)."""
        self.ask: Ask | None = None
        self.heard: Heard | None = None
        self.is_reading = False
        """While functions of the program make its views: nothing writes its memory until they have."""
        self.run: Run | None = None
        self.lead = self.tool_lead = ""
        self._locked = False

    @property
    def memory(self) -> Memory:
        """The one the turn goes to."""
        return self.attached[-1].memory

    @property
    def shared(self) -> bool:
        """Whether other sessions write one of its stores."""
        return any(each.memory.shared for each in self.attached)

    @property
    def folds(self) -> bool:
        """Whether something follows its commit: a summary, vectors of facts, functions that hear of it."""
        if self.heard is not None:
            return True
        if not self.auto:
            return False
        return self.memory.embedding is not None or any(policy.summary is not None for policy in self.memory.views.values())

    async def open(
        self,
        run_id: str,
        prompt: Sequence[Msg],
        *,
        system: str | None,
        tools_offered: bool,
        by: str | None = None,
        timeout: float | None = None,
    ) -> list[Msg]:
        """Parts 1 to 5 of every request of the call."""
        if self.auto and self.locks is not None and self.memory.policy.on_conflict == "Serial":
            await self.locks.take(self.memory, timeout)
            self._locked = True

        if self.recall is not None:
            await self._embed(prompt)
        if self.ask is not None:
            self.run = await self._asked(self.ask, run_id, prompt, system, tools_offered, by)
        elif self.operations is IN_PLACE:
            self.run = self._begun(run_id, prompt, system, tools_offered, by)
        else:
            self.run = await self.operations.use(partial(self._begun, run_id, prompt, system, tools_offered, by))
        self.lead, self.tool_lead = self.run.lead, self.run.tool_lead
        return self.run.head

    def _begun(self, run_id: str, prompt: Sequence[Msg], system: str | None, tools_offered: bool, by: str | None) -> Run:
        """A turn that cannot begin ends there, and with it the ephemeral facts of its key (M-10.1)."""
        try:
            return open_run(
                self.attached, run_id, prompt, system=system, auto=self.auto, tools_offered=tools_offered, tokens=self.tokens,
                by=by, meta=self.meta, recall=self.recall,
            )  # fmt: skip
        except MemoryFailure:
            if self.auto:
                self.memory.end_ephemeral()
            raise

    async def _asked(
        self, ask: Ask, run_id: str, prompt: Sequence[Msg], system: str | None, tools_offered: bool, by: str | None
    ) -> Run:
        """Views with functions of the program are made in source order, from the snapshot of the run."""
        try:
            opening = await self.operations.use(
                partial(opened_views, self.attached, prompt, system=system, tokens=self.tokens, recall=self.recall)
            )
            self.is_reading = True
            for element, view in zip(self.attached, opening.views, strict=True):
                if element.policy.view_with is not None:
                    await ask(element, view)
        except BaseException:
            if self.auto:
                self.memory.end_ephemeral()
            raise
        finally:
            self.is_reading = False
        run: Run = opening.run(
            run_id, prompt, system=system, auto=self.auto, tools_offered=tools_offered, by=by, meta=self.meta
        )
        return run

    async def _embed(self, prompt: Sequence[Msg]) -> None:
        """The vector of what recall steps ask for (M-10.15)."""
        for element in self.attached:
            if element.memory.embedding is not None and element.policy.recall is not None:
                await element.memory.embedding.fill([asked_text(prompt)])

    def user(self, text: str) -> Msg:
        """The user message of a request (M-4.17, part 6)."""
        return Msg("user", with_lead(self.lead, text))

    def first_round(self, unit: Sequence[Msg]) -> Sequence[Msg]:
        """The first round in flight as requests of the call show it (M-9.20)."""
        return with_tool_lead(self.tool_lead, unit) if self.tool_lead else unit

    def new_attempt(self, schema: str, reason: str, reply: str) -> None:
        """After a reply that does not fit its schema."""
        if self.run is not None:
            self.run.new_attempt(schema, reason, reply)

    def add_round(
        self, text: str, calls: Sequence[Call], results: Sequence[Msg], tokens: int | None = None,
        state: ProviderState | None = None, finish: str = "tool",
    ) -> None:  # fmt: skip
        if self.run is not None:
            self.run.add_round(text, calls, results, tokens, state, finish)

    async def arrived(self) -> Sequence[Msg]:
        """What others have stored since the request before, where a view is refreshed (M-5.31)."""
        run = self.run
        if run is None or not run.refreshing:
            return ()
        found: list[Msg] = await self.operations.use(run.arrived)
        return found

    async def tell(self) -> None:
        """Functions of the program that hear of the memories hear what happened so far (M-6.37)."""
        if self.heard is not None:
            await self.heard.deliver()

    def commit(
        self, reply: str, *, tokens_in: int = 0, tokens_out: int = 0, reasoning: int = 0, state: ProviderState | None = None,
        finish: str = "stop",
    ) -> None:  # fmt: skip
        """The turn, in one transaction, when the task that called goes on; then the lock is free. `fold` comes after."""
        run = self.run
        if run is None:
            return
        try:
            run.commit(
                reply, tokens_in=tokens_in, tokens_out=tokens_out, reasoning=reasoning, state=state, finish=finish
            )
        except MustWait:  # it is called again
            raise
        except BaseException:
            self.operations.home(self.close)
            raise
        self.operations.home(self.close)

    async def fold(self) -> None:
        """The folds that are due after a commit (M-9.5), vectors of facts that have none (M-10.16), then what the program hears
        of all that."""
        if self.auto:
            await self._fold()
        await self.tell()

    async def _fold(self) -> None:
        if self.summarise is not None:
            await self._summarise(self.summarise)
        if self.memory.embedding is not None:
            from .lacking_vectors import embed_pending

            try:
                await embed_pending(self.memory, self.operations)
            except MemoryFailure as failure:  # the turn stands: they get their vectors later
                self.report(f"facts of the memory {self.memory.name} got no vectors: {failure.message}")

    async def _summarise(self, summarise: Callable[[Memory, str], Summarise]) -> None:
        from .summaries import refresh

        for view, policy in self.memory.views.items():
            if policy.summary is not None:
                reason = await refresh(self.memory, view, summarise(self.memory, view), self.operations)
                if reason is not None:
                    self.report(f"the memory {view or self.memory.name} was not summarised: {reason}")

    async def abandon(self, reason: str, text: str = "", *, cause: str = "") -> None:
        """The call failed: nothing is stored, but for `Record` (M-5.11, M-5.12)."""
        run = self.run
        try:
            if run is not None and not run.ended:
                record = run.roll_back(reason, text, cause=cause)
                if record is not None:
                    await self._record(record, at_once=cause in ("", "cancelled"))
        finally:
            self.close()

    async def _record(self, record: Callable[[], object], at_once: bool) -> None:
        """`at_once`: whoever cancels a call does not wait for its store."""
        if not at_once:
            return await self.operations.use(record)  # type: ignore[no-any-return]
        with suppress(MustWait):
            self.operations.attempt(record)

    def close(self) -> None:
        """Gives the lock back. Who drops a call between its answer and its commit has to ask for it."""
        self.run = None
        self.ended()
        if self._locked and self.locks is not None:
            self._locked = False
            self.locks.release(self.memory)
