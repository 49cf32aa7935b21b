"""The conversation of one run: the memories that a call of a model or agent has, from the first request to the commit (M-5).

Hands on `Conversation` to the performers of calls of models and agents, which make it (`effects/conversations.py`), to calls and
their streams, and to `prompt_cache.py`, which marks what a request repeats of it. It opens the memories (`turns.py: Opening`),
gives the messages that requests begin with, and at the end commits the turn (`turns.py: Run`), folds summaries, or takes note
that the turn is abandoned. What an attempt, a round and a frame are is said there; nothing here knows a store.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from ..records import Msg, call_seconds
from .failures import MemoryFailure
from .memory import Memory
from .stores.operations import IN_PLACE, MustWait
from .turns import Attached, asked_text, attached_as, open_run, opened_views, unheard
from .views import with_lead, with_tool_lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..records import Call, ProviderState, Timeout
    from .keyed_memory import DerivedMemory
    from .locks import TurnLocks
    from .stores.operations import Operations
    from .summaries import Summarise
    from .turns import Ask, Heard, Recall, Run


class Conversation:
    """What `with_memory` and the `memory:` field give a call; used by one call at a time.

    `attached`: one memory or view, or a list of them; the turn goes to the last (M-9.13); with `auto` false nothing is written
    (O-3.19). `tokens` (the budget of all views) and `meta` (what the turn keeps beside its messages) are those of `with_memory`.
    `recall` finds the facts that are shown, None for none. `run` is the run, from `open` to its end, None else; `lead` and
    `tool_lead` are its own. `summarise` gives the summariser of a memory's view, `locks` are those of the session, `operations`
    those of the session on its stores.
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
        "task",
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
        # The usual case first: one memory, no list.
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
        self.ended: Callable[[], object] = unheard
        """Called when the conversation holds no turn any more."""
        self.report: Callable[[str], object] = unheard
        """Called with the reason why a fold failed (M-9.6), or why vectors of facts could not be stored."""
        self.handles: Sequence[Any] = ()
        """Kept alive until the conversation has ended: a memory value lives as long as its handles (M-2.21)."""
        self.task: str | None = None
        """The path of the task that waits for the call, for those who ask an embedder."""
        self.ask: Ask | None = None
        """Lets functions of the program give the messages of a view (M-4.33); None where none does."""
        self.heard: Heard | None = None
        """Tells functions of the program what happens to the memories (M-6.37); None where none listens."""
        self.is_reading = False
        """True while functions of the program compute its views: nothing may write its memory until they have."""
        self.run: Run | None = None
        self.lead = self.tool_lead = ""
        self._locked = False

    @property
    def memory(self) -> Memory:
        """The memory that the turn goes to: the last one attached."""
        return self.attached[-1].memory

    @property
    def id(self) -> str | None:
        """The key of the memory that the turn goes to, as text; None for a memory that has one log for all."""
        memory = self.memory
        return "/".join(map(str, memory.key[2:-1])) if memory.keyed else None

    @property
    def shared(self) -> bool:
        """Whether other sessions may write one of its stores."""
        return any(each.memory.shared for each in self.attached)

    @property
    def folds(self) -> bool:
        """Whether something may follow the commit, so that the caller runs `fold` after it: a summary, vectors of facts,
        functions of the program that hear of it."""
        if self.heard is not None:
            return True
        if not self.auto:
            return False
        return self.memory.embedding is not None or any(policy.summary is not None for policy in self.memory.views.values())

    @property
    def head_length(self) -> int:
        """The sum of `Msg.length` over what `open` has given; 0 before it and after the end."""
        return 0 if self.run is None else self.run.length

    async def open(
        self,
        run_id: str,
        prompt: Sequence[Msg],
        system: str | None,
        tools_offered: bool,
        by: str | None = None,
        timeout: Timeout | None = None,
    ) -> list[Msg]:
        """Begin the run and return parts 1 to 5 of every request of the call (M-4.17).

        `timeout` is the limit of time of the request, of which the seconds for a whole reply (`records.py: call_seconds`) are
        those that it may wait for the turn lock (M-5.19); None waits without end. Raises MemoryFailure ("Conflict" when the lock
        does not come in time, any other as `open_run`), what functions of steps and those that give views (`ask`) raise, and the
        Panic of a budget that the embedder has used up. After a failure the caller still calls `abandon`, which gives the lock
        back.
        """
        if self.auto and self.locks is not None and self.memory.policy.on_conflict == "Serial":
            await self.locks.take(self.memory, None if timeout is None else call_seconds(timeout))
            self._locked = True

        # Vectors are asked for first: opening the run must not wait for anything but the store.
        if self.recall is not None:
            await self._embed(prompt)
        if self.ask is not None:
            self.run = await self._asked(self.ask, run_id, prompt, system, tools_offered, by)
        else:
            given = (
                self.attached, run_id, prompt, system, self.auto, tools_offered, self.tokens, by, self.meta, self.recall,
            )  # fmt: skip
            in_place = self.operations is IN_PLACE
            self.run = open_run(*given) if in_place else await self.operations.use(partial(open_run, *given))
        run = self.run
        self.lead, self.tool_lead = run.lead, run.tool_lead
        return run.head

    async def _asked(
        self, ask: Ask, run_id: str, prompt: Sequence[Msg], system: str | None, tools_offered: bool, by: str | None
    ) -> Run:
        """Open the run where functions of the program give messages of views: they are called in source order, all on the
        snapshot of the run."""
        try:
            opening = await self.operations.use(
                partial(opened_views, self.attached, prompt, system=system, tokens=self.tokens, recall=self.recall)
            )
            self.is_reading = True
            for element, view in zip(self.attached, opening.views, strict=True):
                if element.policy.view_with is not None:
                    await ask(element, view)
        finally:
            self.is_reading = False
        run: Run = opening.run(
            run_id, prompt, system=system, auto=self.auto, tools_offered=tools_offered, by=by, meta=self.meta
        )
        return run

    async def _embed(self, prompt: Sequence[Msg]) -> None:
        """Ask the embedder for the vector of what recall steps search for (M-10.15)."""
        for element in self.attached:
            if element.memory.embedding is not None and element.policy.recall is not None:
                await element.memory.embedding.fill([asked_text(prompt)], self.task)

    def user(self, message: Msg) -> Msg:
        """Return the user message of a request (M-4.17, part 6): the lead, then the text of this one."""
        return message.with_content(with_lead(self.lead, message.content))

    def first_round(self, unit: Sequence[Msg]) -> Sequence[Msg]:
        """Return the first round in flight as requests of the call show it, with the facts before its first result
        (M-9.20)."""
        return with_tool_lead(self.tool_lead, unit) if self.tool_lead else unit

    def new_attempt(self, schema: str, reason: str, reply: str) -> None:
        """Begin another attempt after a reply that does not fit its schema; arguments as `Run.new_attempt`."""
        if self.run is not None:
            self.run.new_attempt(schema, reason, reply)

    def add_round(
        self, text: str, calls: Sequence[Call], results: Sequence[Msg], tokens: int | None = None,
        state: ProviderState | None = None, finish: str = "tool",
    ) -> None:  # fmt: skip
        """Add one reply that calls tools, with its results; arguments as `Run.add_round`."""
        if self.run is not None:
            self.run.add_round(text, calls, results, tokens, state, finish)

    async def arrived(self) -> Sequence[Msg]:
        """Return what others have stored since the request before, where a view is refreshed (M-5.31), else nothing. Raises
        MemoryFailure when a log cannot be read, and what functions of steps raise."""
        run = self.run
        if run is None or not run.refreshing:
            return ()
        messages: list[Msg] = await self.operations.use(run.arrived)
        return messages

    async def tell(self) -> None:
        """Call the functions of the program that hear of the memories with what has happened so far (M-6.37). What `heard` raises
        passes through."""
        if self.heard is not None:
            await self.heard.deliver()

    def commit(
        self, reply: str, tokens_in: int = 0, tokens_out: int = 0, reasoning: int = 0, state: ProviderState | None = None,
        finish: str = "stop",
    ) -> None:  # fmt: skip
        """Commit the turn in one transaction and give the lock back, also when that fails; called when the task that made the
        call goes on. Arguments and errors as `Run.commit`: after MustWait the lock is kept, and it is called again. `fold` comes
        after. Without an open run it does nothing."""
        run = self.run
        if run is None:
            return
        try:
            run.commit(reply, tokens_in, tokens_out, reasoning, state, finish)
        except MustWait:  # nothing has changed: it is called again and needs the lock
            raise
        except BaseException:
            self.operations.home(self.close)
            raise
        self.operations.home(self.close)

    async def fold(self) -> None:
        """Fold the summaries that are due after a commit (M-9.5), embed facts that have no vector (M-10.16), then tell the
        program of all that. A summary that fails, and a store that cannot keep vectors, go to `report`; an embedder that fails
        reports that itself (`Embedding`). What is raised is the Panic of a budget that the embedder has used up, and what `tell`
        raises."""
        if self.auto:
            await self._fold()
        await self.tell()

    async def _fold(self) -> None:
        if self.summarise is not None:
            await self._summarise(self.summarise)
        if self.memory.embedding is not None:
            from .vectors import embed_pending

            try:
                await embed_pending(self.memory, self.operations, self.task)
            except MemoryFailure as failure:  # the turn is stored; the facts get their vectors after a later commit
                self.report(f"facts of the memory {self.memory.name} got no vectors: {failure.message}")

    async def _summarise(self, summarise: Callable[[Memory, str], Summarise]) -> None:
        from .summaries import refresh

        for view, policy in self.memory.views.items():
            if policy.summary is not None:
                reason = await refresh(self.memory, view, summarise(self.memory, view), self.operations)
                if reason is not None:
                    self.report(f"the memory {view or self.memory.name} was not summarised: {reason}")

    async def abandon(self, reason: str, text: str = "", *, cause: str = "") -> None:
        """End a call that failed and give the lock back: nothing is stored, except by `Record` (M-5.11, M-5.12). `text` and
        `cause` as `Run.abandon`. Raises the MemoryFailure of a store that cannot record the turn."""
        run = self.run
        try:
            if run is None and self.auto:  # the turn could not begin, and with it end the ephemeral facts of its key (M-10.1)
                self.memory.end_ephemeral()
            if run is not None and not run.ended:
                record = run.roll_back(reason, text, cause=cause)
                if record is not None:
                    await self._record(record, at_once=cause in ("", "cancelled"))
        finally:
            self.close()

    async def _record(self, record: Callable[[], object], at_once: bool) -> None:
        """Store the interrupted turn. With `at_once` it is given up where the store has to be waited for: whoever cancels
        a call does not wait."""
        if not at_once:
            return await self.operations.use(record)  # type: ignore[no-any-return]
        with suppress(MustWait):
            self.operations.attempt(record)

    def close(self) -> None:
        """Give the lock back and forget the run; nothing is stored. A caller that drops a call between its answer and its commit
        has to call this. It may be called again."""
        self.run = None
        self.ended()
        if self._locked and self.locks is not None:
            self._locked = False
            self.locks.release(self.memory)
