"""A run on memories (M-5): one snapshot, views computed once, rounds in flight, and one commit or none.

Hands on the head of every request of the run, and the turn it stores. All of it is plain: no event loop. Must not know:
providers, retries, the machine.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from ..records import Msg
from .changes import Draft
from .entries import MemoryFailure, Turn, check_units, count_text, nested, overflow, state_part, total, units
from .memory import Memory
from .stores.operations import IN_PLACE, MustWait
from .views import Recalled, request_head, tool_lead, with_lead, with_tool_lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, NoReturn, Protocol

    from ..records import Call, ProviderState
    from .entries import Unit
    from .facts import Happenings
    from .keyed_memory import DerivedMemory
    from .locks import TurnLocks
    from .memory import Learn
    from .policy import Policy
    from .stores.operations import Operations
    from .stores.protocol import Head
    from .summaries import Summarise
    from .views import View


# ----------------------------------------------------------------
# What others store while a run is on its way, for views that show it at the next step (M-5.31, M-5.32).
#
# Hands on a `Refreshing` for each log.


class Refreshing:
    """What others store while a run is on its way, as the views of one log with `refresh` show it (M-5.31). `since`: the newest
    number of the snapshot; `after`: the newest that was shown."""

    __slots__ = ("memory", "policies", "since", "after")

    def __init__(self, memory: Memory, policies: list[Policy], since: int) -> None:
        self.memory = memory
        self.policies = policies
        self.since = self.after = since

    def found(self) -> tuple[int, list[Msg]]:
        """What came since then, each unit once, and the newest number by then."""
        newest = self.memory.head().next - 1
        came = [entry for entry in self.memory.entries(min(self.after, newest)) if entry.seq <= newest]
        shown = [max((self._as(policy, unit) for policy in self.policies), key=len) for unit in units(came)]
        return newest, [_as_user(unit) for unit in shown if unit]

    def _as(self, policy: Policy, unit: Unit) -> Unit:
        """In the form of the view, and of those it is of before it."""
        from .stages import clipped, of_roles

        for each in policy.chain:
            if unit and each.roles is not None:
                unit = of_roles(each.roles, unit, each.counter)
            unit = clipped(each, unit)
        return unit


def _as_user(unit: Unit) -> Msg:
    """Between the steps of a run only the user speaks: a reply that is none of its own would be taken for one, and a system
    message would change what was sent before (O-1.86)."""
    first = unit[0].message
    if first.role == "user":
        return first
    from .stages import without_tools

    (said,) = without_tools([entry.message for entry in unit])
    return Msg("user", f"[{said.role}] {said.content}")


# ----------------------------------------------------------------

if TYPE_CHECKING:
    class Recall(Protocol):
        """The recall steps of the memories of a call (M-10.15)."""

        def find(self, element: Attached, prompt: str) -> Recalled | None: ...
        def count(self, element: Attached, recalled: Recalled, view: View) -> None: ...

INTERRUPTED = "[interrupted]"
RECORDABLE = ("provider", "timeout", "cancelled", "tool_loop")
"""Ends of a run that `Record` stores (M-5.12)."""


class Attached:
    """A memory, or a view derived from it, as an element of `with_memory`."""

    __slots__ = ("memory", "policy", "view")

    def __init__(self, memory: Memory, view: str = "") -> None:
        self.memory = memory
        self.view = view
        self.policy: Policy = memory.views[view]


class Run:
    """`head` is parts 1 to 5 of every request of the run, `lead` the text before the prompt in its message, `tool_lead`
    that before the first result of its first round. `told`: the memory whose steps these are, written or not (M-6.25)."""

    __slots__ = (
        "target", "run_id", "by", "meta", "prompt", "head", "lead", "tool_lead", "views", "snapshot", "rounds", "writes", "ended",
        "accesses", "stored", "told", "refreshing", "topics", "happenings",
    )  # fmt: skip

    def __init__(
        self,
        target: Memory | None,
        run_id: str,
        prompt: Sequence[Msg],
        head: list[Msg],
        lead: str,
        views: list[View],
        snapshot: Head | None,
        by: str | None,
        meta: Mapping[str, Any],
    ) -> None:
        self.target = target
        self.run_id = run_id
        self.by = by
        self.meta = meta
        self.prompt = prompt
        self.head = head
        self.lead = lead
        self.tool_lead = tool_lead(views) if views else ""
        self.views = views
        self.snapshot = snapshot
        self.told = target
        self.refreshing: list[Refreshing] = []
        self.rounds: list[Draft] = []
        self.writes: list[Draft] = []
        self.ended = False
        self.stored = False
        """Its turn is: what is tried again from there on is what follows it."""
        self.accesses: list[Callable[[], object]] = []
        """What the turn counts when it commits: the facts it showed (M-10.15)."""
        self.topics: frozenset[str] = frozenset()
        self.happenings: Happenings | None = None
        if target is not None and target.policy.learn:
            self.topics = frozenset(rule.topic for rule in target.policy.learn)
            from .facts import Happenings as Collected

            self.happenings = Collected()

    # ------------------------------------------------------------ in flight

    def new_attempt(self, schema: str, reason: str, reply: str) -> None:
        """A schema retry drops what the failed attempt had in flight (M-5.4), and what came meanwhile with it."""
        self.rounds.clear()
        for one in self.refreshing:
            one.after = one.since
        if self.happenings is not None:
            self.happenings.refused(schema, reason, reply)

    def arrived(self) -> list[Msg]:
        """What others have stored since the request before, for the next one (M-5.31)."""
        found = [(one, *one.found()) for one in self.refreshing]
        for one, newest, _ in found:
            one.after = newest
        return [message for _, _, messages in found for message in messages]

    def add_round(
        self, text: str, calls: Sequence[Call], results: Sequence[Msg], tokens: int | None = None,
        state: ProviderState | None = None, finish: str = "tool",
    ) -> None:  # fmt: skip
        """One reply that calls tools, with the results there are. `tokens`: the reported output tokens less reasoning;
        `finish`: why the provider ended it."""
        said = self._said(text, calls, state)
        if self.happenings is not None:
            self.happenings.called(calls, results)
        self.rounds.append(Draft(said, "model", by=self.by, tokens=tokens))
        self.rounds += [Draft(result, "tool") for result in results]
        self._tell_step([said, *results], finish)

    def _said(self, text: str, calls: Sequence[Call] = (), state: ProviderState | None = None) -> Msg:
        """A reply as it is stored: with what its provider wants back, where rounds are stored too (M-5.25)."""
        keeps = self.target is not None and self.target.policy.tools and state is not None and state_part(state) is not None
        return Msg("assistant", text, calls, state=state if keeps else None)

    def _tell_step(self, messages: Sequence[Msg], finish: str, more: int = 0) -> None:
        """Of each reply, one with calls when their results are there, the last, which is one more, when the turn is stored
        (M-6.25)."""
        if self.told is not None and self.told.listener is not None:
            appended = [_as_data(message) for message in messages]
            round = sum(draft.origin == "model" for draft in self.rounds) + more
            self.told.tell("memory:step", {"run": self.run_id, "round": round, "finish": finish, "appended": appended})

    def frame(self) -> Frame:
        return Frame(self)

    # ------------------------------------------------------------ the end

    def commit(
        self, reply: str, *, tokens_in: int = 0, tokens_out: int = 0, reasoning: int = 0, state: ProviderState | None = None,
        finish: str = "stop",
    ) -> list[Msg]:  # fmt: skip
        """Stores the turn (M-1.3, M-5.8) and gives its messages (M-5.22), stored or not."""
        self.ended = True
        answer = Msg("assistant", reply) if state is None else self._said(reply, (), state)
        if self.target is not None:
            if not self.stored:
                prompt = self._prompt()
                last = Draft(answer, "model", by=self.by, tokens=max(tokens_out - reasoning, 0) or None)
                self.target.end_ephemeral()
                stored = [*prompt, *self.rounds, last] if self.target.policy.tools else [*prompt, last]
                self._store(stored, tokens_in, tokens_out, self._lesson(reply, tokens_in, tokens_out))
                self.stored = True
                self._tell_step([answer], finish, 1)
            while self.accesses:
                with suppress(MemoryFailure):  # the turn stands
                    self.accesses[0]()
                del self.accesses[0]
        else:
            self._tell_step([answer], finish, 1)
        asked = [message for message in self.prompt if message.role != "system"]
        return [*asked, *[draft.message for draft in self.rounds], answer] if self.rounds else [*asked, answer]

    def _lesson(self, reply: str, tokens_in: int, tokens_out: int) -> Learn | None:
        """What rules learn from the turn (M-10.22)."""
        if self.happenings is None:
            return None
        from .remembering import of_turn

        prompt = "\n".join(draft.message.content for draft in self._prompt() if draft.message.role == "user")
        tools = [call.name for draft in self.rounds for call in draft.message.calls]
        told = {
            "prompt": prompt, "reply": reply, "model": self.by, "tools": tools, "tokens_in": tokens_in,
            "tokens_out": tokens_out,
        }  # fmt: skip
        return of_turn(self.happenings.observed(self.topics, told), self.run_id)

    def _prompt(self) -> list[Draft]:
        """The prompt as given; of the messages of `chat` those that are no system messages (M-5.16)."""
        return [
            Draft(message, "user" if message.role == "user" else "program", by=self.by)
            for message in self.prompt
            if message.role != "system"
        ]

    def _store(
        self, drafts: list[Draft], tokens_in: int, tokens_out: int, learn: Learn | None = None
    ) -> None:
        memory, snapshot = self.target, self.snapshot
        assert memory is not None and snapshot is not None
        turn = Turn(
            0, run=self.run_id, by=self.by, at=memory.now(), tokens_in=tokens_in, tokens_out=tokens_out, meta=dict(self.meta)
        )
        drafts = [*drafts, *self.writes]
        how = memory.policy.on_conflict
        if how == "Append":
            memory.write(drafts, turn, learn=learn)
            return
        try:
            memory.write(drafts, turn, expect=snapshot.version, learn=learn)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise
            conflict = {"expected": failure.fields.get("expected"), "actual": failure.fields.get("actual")}
            if how != "Fork":
                memory.tell("memory:conflict", {**conflict, "branch": None})
                raise
            name = f"conflict-{self.run_id}"
            self._branch(memory, snapshot, name).write(drafts, turn, learn=learn)
            memory.tell("memory:conflict", {**conflict, "branch": name})

    def _branch(self, memory: Memory, snapshot: Head, name: str) -> Memory:
        """That of this run alone: it is there when its turn had to wait for the store."""
        try:
            return memory.fork_at(snapshot, name)
        except MemoryFailure as failure:
            if failure.variant != "Exists":
                raise
            return memory.branch(name)

    def abandon(self, reason: str, text: str = "", *, cause: str = "") -> None:
        """The run failed: nothing is stored, but for `Record` after at least one reply part (M-5.11, M-5.12). `cause` is one of
        RECORDABLE or empty."""
        record = self.roll_back(reason, text, cause=cause)
        if record is not None:
            record()

    def roll_back(self, reason: str, text: str = "", *, cause: str = "") -> Callable[[], object] | None:
        """`abandon` up to what it stores, which is what this gives, if anything."""
        if self.ended:
            return None
        self.ended = True
        memory = self.target
        if memory is None:
            return None
        memory.end_ephemeral()
        memory.tell("memory:rollback", {"run": self.run_id, "reason": reason})
        if memory.policy.on_failure == "Record" and cause in RECORDABLE and (text or self.rounds):
            note = f"[interrupted: {reason}]"
            last = Draft(Msg("assistant", f"{text}\n{note}" if text else note), "host", by=self.by)
            rounds = _completed(self.rounds) if memory.policy.tools else []
            return partial(self._store, [*self._prompt(), *rounds, last], 0, 0)
        return None


class Frame:
    """What direct writes meet inside a turn on their key (M-5.20): messages are stored behind the turn's entries and vanish when
    the run fails; what changes the log otherwise is Err Nested."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run

    def append(self, role: str, content: str) -> None:
        self._run.writes.append(Draft(Msg(role, content)))

    def pin(self, role: str, content: str) -> None:
        self._run.writes.append(Draft(Msg(role, content), pinned=True))

    def append_all(self, messages: Sequence[Msg]) -> int:
        check_units(messages)
        self._run.writes += [Draft(message) for message in messages]
        assert self._run.target is not None, "only a run that writes has a frame"
        return len(self._run.target) + len(self._run.writes)

    def _refused(self, *given: object) -> NoReturn:
        raise nested()

    clear = set_pinned = rewind = load = erase = _refused


def _as_data(message: Msg) -> dict[str, Any]:
    """The JSON of a Message, which is not that of a request (section 6)."""
    made: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        made["tool_calls"] = [call.as_json() for call in message.calls]
    if message.call_id is not None:
        made["tool_call_id"] = message.call_id
    return made


def _completed(rounds: list[Draft]) -> list[Draft]:
    """Calls without result get one that says so (M-5.12)."""
    made: list[Draft] = []
    waiting: dict[str, None] = {}

    def close() -> None:
        made.extend(Draft(Msg("tool", INTERRUPTED, (), call_id), "host") for call_id in waiting)
        waiting.clear()

    for draft in rounds:
        message = draft.message
        if message.role == "tool":
            waiting.pop(message.call_id or "", None)
        else:
            close()
            waiting.update(dict.fromkeys(call.id for call in message.calls))
        made.append(draft)
    close()
    return made


# ---------------------------------------------------------------- opening


def open_run(
    attached: Sequence[Attached],
    run_id: str,
    prompt: Sequence[Msg],
    *,
    system: str | None = None,
    auto: bool = True,
    tools_offered: bool = False,
    tokens: int | None = None,
    by: str | None = None,
    meta: Mapping[str, Any] | None = None,
    recall: Recall | None = None,
) -> Run:
    """The run of a call with these memories: the turn goes to the last of them, unless `auto` is false (M-9.13). `tokens` is that
    of `with_memory([…], tokens: t)`. Err Overflow when system message and pins alone exceed a budget."""
    if len(attached) == 1 and tokens is None and recall is None and not attached[0].view:
        memory = attached[0].memory
        whole = memory.whole_log(tools_offered)
        if whole is not None:  # the base form: nothing to compute
            head = [Msg("system", system), *whole] if system is not None else whole.copy()
            run = Run(memory if auto else None, run_id, prompt, head, "", [], memory.head() if auto else None, by, meta or {})
            run.told = memory
            return run
    opening = opened_views(attached, prompt, system=system, tokens=tokens, recall=recall)
    return opening.run(run_id, prompt, system=system, auto=auto, tools_offered=tools_offered, by=by, meta=meta)


class Opening:
    """The views of a run that is about to begin, from one snapshot of each log."""

    __slots__ = ("attached", "views", "snapshots", "accesses")

    def __init__(
        self, attached: Sequence[Attached], views: list[View], snapshots: list[Head], accesses: list[Callable[[Run], object]]
    ) -> None:
        self.attached = attached
        self.views = views
        self.snapshots = snapshots
        self.accesses = accesses

    def run(
        self,
        run_id: str,
        prompt: Sequence[Msg],
        *,
        system: str | None,
        auto: bool,
        tools_offered: bool,
        by: str | None,
        meta: Mapping[str, Any] | None,
    ) -> Run:
        attached, views = self.attached, self.views
        for view, element in zip(views, attached, strict=True):
            if view.overflows:
                element.memory.tell("memory:overflow", {"needed": view.needed, "budget": view.budget})
        head, lead = request_head(views, system, tools_offered, [element.memory for element in attached])
        target = attached[-1].memory if auto and attached else None
        snapshot = self.snapshots[-1] if target is not None else None
        run = Run(target, run_id, prompt, head, lead, views, snapshot, by, meta or {})
        run.told = attached[-1].memory if attached else None
        run.accesses = [partial(access, run) for access in self.accesses]
        run.refreshing = _refreshing(attached, self.snapshots)
        return run


def opened_views(
    attached: Sequence[Attached],
    prompt: Sequence[Msg],
    *,
    system: str | None = None,
    tokens: int | None = None,
    recall: Recall | None = None,
) -> Opening:
    found: dict[int, Recalled] = {}

    def noted(number: int, element: Attached, asked: str) -> Recalled | None:
        recalled = recall.find(element, asked) if recall is not None else None
        if recalled is not None:
            found[number] = recalled
        return recalled

    views, snapshots = views_of(attached, prompt, system=system, tokens=tokens, recall=noted if recall is not None else None)
    accesses: list[Callable[[Run], object]] = []
    if recall is not None:
        accesses += [partial(_counted, recall, attached[number], one, views[number]) for number, one in found.items()]
    return Opening(attached, views, snapshots, accesses)


def _refreshing(attached: Sequence[Attached], snapshots: Sequence[Head]) -> list[Refreshing]:
    """One for each log, in the order of the list."""
    made: dict[Memory, Refreshing] = {}
    for element, snapshot in zip(attached, snapshots, strict=True):
        if element.policy.refresh:
            one = made.setdefault(element.memory, Refreshing(element.memory, [], snapshot.next - 1))
            one.policies.append(element.policy)
    return list(made.values())


def _counted(recall: Recall, element: Attached, recalled: Recalled, view: View, run: Run) -> None:
    """Facts before the first result of a tool are shown when a tool was called (M-9.20)."""
    if recalled.inject != "Tool" or run.rounds:
        recall.count(element, recalled, view)


def asked_text(prompt: Sequence[Msg]) -> str:
    """What recall steps look for."""
    return "\n".join(message.content for message in prompt)


def views_of(
    attached: Sequence[Attached],
    prompt: Sequence[Msg],
    *,
    system: str | None = None,
    tokens: int | None = None,
    recall: Callable[[int, Attached, str], Recalled | None] | None = None,
) -> tuple[list[View], list[Head]]:
    """One view per element, each as it would be alone (M-9.12)."""
    asked = asked_text(prompt)
    weight = total(prompt)
    shares = None if tokens is None else _shares(attached, tokens, system, weight)
    views: list[View] = []
    heads: list[Head] = []
    for number, element in enumerate(attached):
        view, head = element.memory.view(
            system=system if shares is None else None,
            prompt_tokens=weight,
            recalled=recall(number, element, asked) if recall is not None else None,
            policy=element.policy,
            name=element.view,
            budget=None if shares is None else shares[number],
        )
        views.append(view)
        heads.append(head)
    return views, heads


def _shares(attached: Sequence[Attached], tokens: int, system: str | None, prompt: int) -> list[int]:
    """M-9.14: what system message, pins and prompt leave is divided by weight; each share has the pins of its view on top."""
    pins = [element.memory.pins(element.policy, element.view) for element in attached]
    counted: dict[Memory, dict[int, int]] = {}
    for element, own in zip(attached, pins, strict=True):
        counted.setdefault(element.memory, {}).update((entry.seq, entry.tokens) for entry in own)
    needed = (0 if system is None else count_text(system)) + sum(sum(known.values()) for known in counted.values())
    if needed > tokens:
        raise overflow(needed, tokens, [seq for known in counted.values() for seq in sorted(known)])
    rest = max(tokens - needed - prompt, 0)
    weights = [element.policy.weight for element in attached]
    return [
        rest * weight // sum(weights) + sum(entry.tokens for entry in own) for weight, own in zip(weights, pins, strict=True)
    ]


# ----------------------------------------------------------------
# The memory side of one call: the run it opens, the turn lock, the commit and the folds after it (M-5, M-9.5).
#
# What reads and changes memories are operations on their stores: who waits for one holds nobody else up.

if TYPE_CHECKING:
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
            from .vectors import embed_pending

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
