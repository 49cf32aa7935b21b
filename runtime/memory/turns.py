"""The memory side of one call (M-5): it opens a run on a snapshot of its memories, holds what is in flight, and commits
one turn or nothing.

Hands on `Attached` (an element of `with_memory`) and `attached_as` to `conversation.py` and the performers of memories, the
former to `methods.py` and `remembering.py` too; and to `conversation.py` the run itself, which knows no event loop: `open_run`
and `opened_views` begin a `Run`, `unheard` hears nothing of it; `asked_text`, the text that facts are recalled for; and the types
`Recall`, `Ask` and `Heard`. What a call has of a run is a conversation. The views come from `views.py`, the commit is
`memory.Memory.write`, the turn lock `locks.TurnLocks`. Requests are made and sent elsewhere.

A *run* is one call from its first request to its commit; a *turn* is what it stores: the prompt and the reply. The parts of a
request have numbers (M-4.17): 1 the system message, 2 pinned messages older than the window, 3 the texts of summary and facts
placed `Prefix`, 4 the window, 5 the texts placed `Suffix`, 6 the prompt with the *lead*, the texts placed `Prompt`, before it, 7
the *rounds* so far, each a reply with tool calls and its results.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from ..records import Msg
from .changes import Draft
from .entries import Turn, check_units, count_text, state_part, total, units
from .failures import MemoryFailure, nested, overflow
from .memory import Memory
from .views import request_head, tool_lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, NoReturn, Protocol

    from ..records import Call, ProviderState
    from .entries import Unit
    from .facts import Happenings
    from .keyed_memory import DerivedMemory
    from .memory import Learn
    from .policy import Policy
    from .stores.protocol import Head
    from .views import Recalled, View


class Refreshing:
    """What others store during a run, for the views of one log, that of `memory`, with the step `refresh` (M-5.31, M-5.32).
    `policies` are those of the views; `since` is the newest entry number of the snapshot, `after` the newest that was shown."""

    __slots__ = ("memory", "policies", "since", "after")

    def __init__(self, memory: Memory, policies: list[Policy], since: int) -> None:
        self.memory = memory
        self.policies = policies
        self.since = self.after = since

    def arrivals(self) -> tuple[int, list[Msg]]:
        """Return the newest entry number now, and the units that came after `after`, each as one user message, those that no view
        shows left out. `after` stays as it is. Raises MemoryFailure when the log cannot be read, what functions of steps raise,
        and MustWait."""
        newest = self.memory.head().next - 1
        entries = [entry for entry in self.memory.entries(min(self.after, newest)) if entry.seq <= newest]
        shown = [max((self._as(policy, unit) for policy in self.policies), key=len) for unit in units(entries)]
        return newest, [_as_user(unit) for unit in shown if unit]

    def _as(self, policy: Policy, unit: Unit) -> Unit:
        """Return the unit after roles and clip of the view and of the views it is of."""
        from .stages import clipped, of_roles

        for each in policy.chain:
            if unit and each.roles is not None:
                unit = of_roles(each.roles, unit, each.counter)
            unit = clipped(each, unit)
        return unit


def _as_user(unit: Unit) -> Msg:
    """Return the unit as a user message. Between the steps of a run only the user speaks: another assistant message would
    be taken for a reply of this run, and a system message would change what was sent before (O-1.86)."""
    first = unit[0].message
    if first.role == "user":
        return first
    from .stages import without_tools

    (text,) = without_tools([entry.message for entry in unit])
    return Msg("user", f"[{text.role}] {text.content}")


if TYPE_CHECKING:
    class Recall(Protocol):
        """The recall steps of the memories of a call (M-10.15): `find` searches, `count` notes the access at the commit."""

        def find(self, element: Attached, prompt: str) -> Recalled | None: ...
        def count(self, element: Attached, recalled: Recalled, view: View) -> None: ...

INTERRUPTED = "[interrupted]"
RECORDABLE = ("provider", "timeout", "cancelled", "tool_loop")
"""Ends of a run that `Record` stores (M-5.12)."""


class Attached:
    """One element of `with_memory`: a memory and the name of the view it is attached by, "" for the memory itself. `policy` is
    that of the view. KeyError for a view that the memory has not."""

    __slots__ = ("memory", "policy", "view")

    def __init__(self, memory: Memory, view: str = "") -> None:
        self.memory = memory
        self.view = view
        self.policy: Policy = memory.views[view]


class Run:
    """One run of a call on its memories.

    `run_id` is its id, `by` the model or agent that answers, `prompt` the messages it is asked, `meta` what the turn keeps beside
    them. `head` is parts 1 to 5 of every request of the run (M-4.17), `length` the sum of `Msg.length` over it, `lead` the text
    before the prompt in its message, `tool_lead` that before the first result of its first round, `views` what they were made of,
    empty where the request has the whole log. `target` is the memory that the turn is written to, None when nothing is; `told`
    the memory whose listener hears of the steps, written or not (M-6.25). `rounds` are the replies with tool calls and their
    results so far, `writes` direct writes inside the run (M-5.20). `snapshot` is the head of the target's log when the run began;
    `ended` says that it was committed or given up. `refreshing` are the logs that are read again for each request; `happenings`
    collects what the rules of `learn` hear of, by `topics`.
    """

    __slots__ = (
        "target", "run_id", "by", "meta", "prompt", "head", "length", "lead", "tool_lead", "views", "snapshot", "rounds",
        "writes", "ended", "accesses", "stored", "told", "refreshing", "topics", "happenings",
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
        length: int | None = None,
    ) -> None:
        self.target = target
        self.run_id = run_id
        self.by = by
        self.meta = meta
        self.prompt = prompt
        self.head = head
        self.length = sum([message.length for message in head]) if length is None else length
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
        """Whether the turn is committed. A commit that is tried again then only does what follows it."""
        self.accesses: list[Callable[[], object]] = []
        """Called at the commit: each notes an access of the facts that were shown (M-10.15)."""
        self.topics: frozenset[str] = frozenset()
        self.happenings: Happenings | None = None
        if target is not None and target.policy.learn:
            self.topics = frozenset(rule.topic for rule in target.policy.learn)
            from .facts import Happenings as Collected

            self.happenings = Collected()

    def new_attempt(self, schema: str, reason: str, reply: str) -> None:
        """Begin another attempt of a schema call: drop the rounds of the failed one, and let what others have stored since the
        run began count as not shown yet (M-5.4). `reply` is the text that does not fit `schema`, a name, and `reason` says
        why."""
        self.rounds.clear()
        for one in self.refreshing:
            one.after = one.since
        if self.happenings is not None:
            self.happenings.refused(schema, reason, reply)

    def arrived(self) -> list[Msg]:
        """Return what others have stored since the request before, for the next one (M-5.31); it counts as shown then. Raises
        MemoryFailure when a log cannot be read, MustWait, and what functions of steps raise; then nothing counts as shown."""
        arrivals = [(one, *one.arrivals()) for one in self.refreshing]
        for one, newest, _ in arrivals:
            one.after = newest
        return [message for _, _, messages in arrivals for message in messages]

    def add_round(
        self, text: str, calls: Sequence[Call], results: Sequence[Msg], tokens: int | None = None,
        state: ProviderState | None = None, finish: str = "tool",
    ) -> None:  # fmt: skip
        """Add one reply that calls tools, with its results. `tokens` is the reported number of output tokens without
        reasoning, `finish` the provider's reason for ending the reply."""
        reply = self._said(text, calls, state)
        if self.happenings is not None:
            self.happenings.called(calls, results)
        self.rounds.append(Draft(reply, "model", by=self.by, tokens=tokens))
        self.rounds += [Draft(result, "tool") for result in results]
        self._tell_step([reply, *results], finish)

    def _said(self, text: str, calls: Sequence[Call] = (), state: ProviderState | None = None) -> Msg:
        """Return a reply as it is stored. The state that its provider wants back stays with it only where rounds are
        stored too (M-5.25)."""
        keeps = self.target is not None and self.target.policy.tools and state is not None and state_part(state) is not None
        return Msg("assistant", text, calls, state=state if keeps else None)

    def _tell_step(self, messages: Sequence[Msg], finish: str, more: int = 0) -> None:
        """Tell the listener of one step (M-6.25): a reply with calls when their results are there, the last reply when
        the turn is stored. `more` is 1 for the last reply, which is not among the rounds."""
        if self.told is not None and self.told.listener is not None:
            appended = [_as_data(message) for message in messages]
            round = sum(draft.origin == "model" for draft in self.rounds) + more
            self.told.tell("memory:step", {"run": self.run_id, "round": round, "finish": finish, "appended": appended})

    def frame(self) -> Frame:
        """Return what takes direct writes inside this run."""
        return Frame(self)

    def commit(
        self, reply: str, tokens_in: int = 0, tokens_out: int = 0, reasoning: int = 0, state: ProviderState | None = None,
        finish: str = "stop",
    ) -> list[Msg]:  # fmt: skip
        """Append this turn to the target memory and return the turn's messages: the prompt without its system messages, all
        rounds, stored or not, and the reply (M-1.3, M-5.8, M-5.22).

        `tokens_in` is what the provider counted for all requests of the call, `tokens_out` for the accepted reply alone; of these
        `reasoning` tokens do not count for its entry, only for the turn. Nothing is stored when the run has no target, or when
        its id is stored already (M-5.10). Raises MemoryFailure("Conflict") when another run committed first and the policy is
        Reject or Serial, "Redaction" when a redactor fails; a store that fails raises its own MemoryFailure. Raises what
        functions of steps raise, and MustWait where the store has to be waited for: then call it again, and what was done is not
        done twice.
        """
        self.ended = True
        answer = Msg("assistant", reply) if state is None else self._said(reply, (), state)
        if self.target is not None:
            if not self.stored:
                prompt = self._prompt()
                last = Draft(answer, "model", self.by, max(tokens_out - reasoning, 0) or None)
                self.target.end_ephemeral()
                stored = [*prompt, *self.rounds, last] if self.target.policy.tools else [*prompt, last]
                learn = None if self.happenings is None else self._lesson(self.happenings, reply, tokens_in, tokens_out)
                self._store(stored, tokens_in, tokens_out, learn)
                self.stored = True
                self._tell_step([answer], finish, 1)
            # One by one, so that a commit that is tried again continues where it stopped.
            while self.accesses:
                with suppress(MemoryFailure):  # the turn stands
                    self.accesses[0]()
                del self.accesses[0]
        else:
            self._tell_step([answer], finish, 1)
        question = [message for message in self.prompt if message.role != "system"]
        return [*question, *[draft.message for draft in self.rounds], answer] if self.rounds else [*question, answer]

    def _lesson(self, happenings: Happenings, reply: str, tokens_in: int, tokens_out: int) -> Learn:
        """Return what makes facts of the turn by the rules of `learn` (M-10.22)."""
        from .remembering import of_turn

        prompt = "\n".join(draft.message.content for draft in self._prompt() if draft.message.role == "user")
        tools = [call.name for draft in self.rounds for call in draft.message.calls]
        turn_data = {
            "prompt": prompt, "reply": reply, "model": self.by, "tools": tools, "tokens_in": tokens_in,
            "tokens_out": tokens_out,
        }  # fmt: skip
        return of_turn(happenings.observed(self.topics, turn_data), self.run_id)

    def _prompt(self) -> list[Draft]:
        """Return the drafts of the prompt without its system messages (M-5.16)."""
        return [
            Draft(message, "user" if message.role == "user" else "program", self.by)
            for message in self.prompt
            if message.role != "system"
        ]

    def _store(
        self, drafts: list[Draft], tokens_in: int, tokens_out: int, learn: Learn | None = None
    ) -> None:
        """Write the turn as the policy `on_conflict` says: behind whatever was committed (Append), only on the snapshot,
        or on a branch of the snapshot (Fork)."""
        memory, snapshot = self.target, self.snapshot
        assert memory is not None and snapshot is not None
        turn = Turn(0, self.run_id, self.by, memory.now(), tokens_in, tokens_out, dict(self.meta))
        drafts = [*drafts, *self.writes]
        how = memory.policy.on_conflict
        # Append puts the turn behind whatever was committed meanwhile, so it needs no snapshot.
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
        """Return the branch of this run. It exists already when the commit is tried a second time, after a wait for the
        store."""
        try:
            return memory.fork_at(snapshot, name)
        except MemoryFailure as failure:
            if failure.variant != "Exists":
                raise
            return memory.branch(name)

    def abandon(self, reason: str, text: str = "", *, cause: str = "") -> None:
        """End a run that failed. Nothing is stored, except by `Record` after at least one reply part (M-5.11, M-5.12). `text` is
        what the model has said of its last reply, `cause` one of RECORDABLE or empty. A run that has ended stays as it is. Raises
        what `commit` raises where the turn cannot be recorded, MustWait too: whoever may have to wait calls `roll_back`, and
        repeats what that returns, since the run has ended by then."""
        record = self.roll_back(reason, text, cause=cause)
        if record is not None:
            record()

    def roll_back(self, reason: str, text: str = "", *, cause: str = "") -> Callable[[], object] | None:
        """End the run as `abandon` does, but return what would store the interrupted turn, None when nothing is to be stored.
        What is returned raises as `abandon`."""
        if self.ended:
            return None
        self.ended = True
        memory = self.target
        if memory is None:
            return None
        memory.end_ephemeral()
        self.writes.clear()  # what joined the run vanishes with it (M-5.20)
        memory.tell("memory:rollback", {"run": self.run_id, "reason": reason})
        if memory.policy.on_failure == "Record" and cause in RECORDABLE and (text or self.rounds):
            note = f"[interrupted: {reason}]"
            last = Draft(Msg("assistant", f"{text}\n{note}" if text else note), "host", by=self.by)
            rounds = _completed(self.rounds) if memory.policy.tools else []
            return partial(self._store, [*self._prompt(), *rounds, last], 0, 0)
        return None


class Frame:
    """The run in progress as what runs inside it sees it on its own key.

    Direct writes inside a turn go here (M-5.20): messages are stored behind the turn's entries, and lost when the run fails.
    Every other change of the log raises MemoryFailure("Nested")."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run

    def append(self, role: str, content: str) -> None:
        """Add one message to the turn. The caller has checked the role."""
        self._run.writes.append(Draft(Msg(role, content)))

    def pin(self, role: str, content: str) -> None:
        """Add one pinned message to the turn."""
        self._run.writes.append(Draft(Msg(role, content), pinned=True))

    def append_all(self, messages: Sequence[Msg]) -> int:
        """Add messages to the turn and return the number of entries of the log together with what was written so inside this run.
        Raises MemoryFailure("InvalidUnit") for an incomplete tool unit or an unknown role, and what reading the log raises,
        MustWait too."""
        check_units(messages)
        assert self._run.target is not None, "only a run that writes has a frame"
        stored = len(self._run.target)  # before anything changes: where the store has to be waited for, all of this is repeated
        self._run.writes += [Draft(message) for message in messages]
        return stored + len(self._run.writes)

    def appended(self, run: str | None = None) -> list[Msg]:
        """Return the messages of the run so far: its prompt, the rounds of its attempt whose results are there, and the direct
        writes that joined it (M-6.11). With an id return those of that run in the log, an empty list where it has none, and raise
        what reading the log raises."""
        if run is not None:
            assert self._run.target is not None, "only a run that writes has a frame"
            return self._run.target.appended(run)
        return [draft.message for draft in [*self._run._prompt(), *self._run.rounds, *self._run.writes]]

    def _refused(self, *arguments: object) -> NoReturn:
        raise nested()

    clear = set_pinned = rewind = load = erase = _refused


def _as_data(message: Msg) -> dict[str, Any]:
    """Return the JSON of a Message as programs see it (section 6), which is not that of a request."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        data["tool_calls"] = [call.as_json() for call in message.calls]
    if message.call_id is not None:
        data["tool_call_id"] = message.call_id
    if message.media:
        data["media"] = [part.as_json() for part in message.media]
    return data


def _completed(rounds: list[Draft]) -> list[Draft]:
    """Return the rounds with a result "[interrupted]" for each call that has none (M-5.12): only whole units are stored."""
    whole: list[Draft] = []
    waiting: dict[str, None] = {}

    def close() -> None:
        whole.extend(Draft(Msg("tool", INTERRUPTED, (), call_id), "host") for call_id in waiting)
        waiting.clear()

    for draft in rounds:
        message = draft.message
        if message.role == "tool":
            waiting.pop(message.call_id or "", None)
        else:
            close()
            waiting.update(dict.fromkeys(call.id for call in message.calls))
        whole.append(draft)
    close()
    return whole


def open_run(
    attached: Sequence[Attached],
    run_id: str,
    prompt: Sequence[Msg],
    system: str | None = None,
    auto: bool = True,
    tools_offered: bool = False,
    tokens: int | None = None,
    by: str | None = None,
    meta: Mapping[str, Any] | None = None,
    recall: Recall | None = None,
) -> Run:
    """Return the run of a call with these memories.

    The turn goes to the last of them, to none when `auto` is false (M-9.13). `system` is the text of the system message, None for
    none; without `tools_offered` calls and results of tools are shown as text. `recall` finds the facts that are shown, None for
    none; `by` and `meta` are those of the `Run`. `tokens` is the budget of `with_memory([…], tokens: t)`. Raises
    MemoryFailure("Overflow") when system message and pins alone exceed a budget, any other that `MemoryReader.view` raises, what
    functions of steps raise, and MustWait.
    """
    if len(attached) == 1 and tokens is None and recall is None and not attached[0].view:
        memory = attached[0].memory
        whole = memory.whole_log(tools_offered)
        if whole is not None:  # the base form: nothing to compute
            messages, length = whole
            if system is None:
                head = messages.copy()
            else:
                head = [Msg("system", system), *messages]
                length += len(system)
            snapshot = memory.head() if auto else None
            run = Run(memory if auto else None, run_id, prompt, head, "", [], snapshot, by, meta or {}, length)
            run.told = memory
            return run
    opening = opened_views(attached, prompt, system=system, tokens=tokens, recall=recall)
    return opening.run(run_id, prompt, system=system, auto=auto, tools_offered=tools_offered, by=by, meta=meta)


class Opening:
    """The views of a run that is about to begin, each from one snapshot of its log: `views`, the `snapshots` (heads of the logs)
    and `attached` go together in order. `accesses` are called with the run at its commit. Functions of the program may still
    change the views before `run` is called."""

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
        """Return the run with these views; the arguments are those of `open_run`. Sends the event `memory:overflow` for a view
        that shows more than its budget."""
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
    """Return the views of a call, with the facts that `recall` finds. `tokens` is the budget for all of them. Raises as
    `open_run` does."""
    by_view: dict[int, Recalled] = {}

    def find(number: int, element: Attached, query: str) -> Recalled | None:
        recalled = recall.find(element, query) if recall is not None else None
        if recalled is not None:
            by_view[number] = recalled
        return recalled

    views, snapshots = views_of(attached, prompt, system=system, tokens=tokens, recall=find if recall is not None else None)
    accesses: list[Callable[[Run], object]] = []
    if recall is not None:
        accesses += [partial(_counted, recall, attached[number], one, views[number]) for number, one in by_view.items()]
    return Opening(attached, views, snapshots, accesses)


def _refreshing(attached: Sequence[Attached], snapshots: Sequence[Head]) -> list[Refreshing]:
    """Return one `Refreshing` for each log that has a view with `refresh`, in the order of the list."""
    by_log: dict[Memory, Refreshing] = {}
    for element, snapshot in zip(attached, snapshots, strict=True):
        if element.policy.refresh:
            one = by_log.setdefault(element.memory, Refreshing(element.memory, [], snapshot.next - 1))
            one.policies.append(element.policy)
    return list(by_log.values())


def _counted(recall: Recall, element: Attached, recalled: Recalled, view: View, run: Run) -> None:
    """Note the access of recalled facts. Those that stand before the first result of a tool were shown only when a tool
    was called (M-9.20)."""
    if recalled.inject != "Tool" or run.rounds:
        recall.count(element, recalled, view)


def asked_text(prompt: Sequence[Msg]) -> str:
    """Return the text that recall steps search for: the messages of the prompt, one per line."""
    return "\n".join(message.content for message in prompt)


def views_of(
    attached: Sequence[Attached],
    prompt: Sequence[Msg],
    *,
    system: str | None = None,
    tokens: int | None = None,
    recall: Callable[[int, Attached, str], Recalled | None] | None = None,
) -> tuple[list[View], list[Head]]:
    """Return one view per element, each as it would be alone (M-9.12), and the heads they were computed from. With
    `tokens` the elements share that budget (M-9.14). Raises as `open_run` does."""
    query = asked_text(prompt)
    weight = total(prompt)
    shares = None if tokens is None else _shares(attached, tokens, system, weight)
    views: list[View] = []
    heads: list[Head] = []
    for number, element in enumerate(attached):
        view, head = element.memory.view(
            system=system if shares is None else None,
            prompt_tokens=weight,
            recalled=recall(number, element, query) if recall is not None else None,
            policy=element.policy,
            name=element.view,
            budget=None if shares is None else shares[number],
        )
        views.append(view)
        heads.append(head)
    return views, heads


def _shares(attached: Sequence[Attached], tokens: int, system: str | None, prompt: int) -> list[int]:
    """Return the budget of each view in tokens (M-9.14): what system message, pins and prompt leave is divided by weight,
    and each share has the pins of its view on top. Raises MemoryFailure("Overflow")."""
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


# What a conversation is given beside its memories: functions of the program that make views, and that hear of the call.

if TYPE_CHECKING:
    class Heard(Protocol):
        """What functions of the program hear of the call (M-6.37); `effect`: who waits while they run. `deliver` calls them with
        the events so far; what they raise passes through."""

        effect: Any

        async def deliver(self) -> None: ...

    Ask = Callable[[Attached, View], Awaitable[object]]
    """Puts what the function of an element's view gives in its place (M-4.30)."""


def attached_as(one: Memory | DerivedMemory) -> Attached:
    """Return a memory or derived memory as an element of `with_memory`."""
    return Attached(one) if isinstance(one, Memory) else Attached(one.memory, one.view_name)


def unheard(*report: object) -> None:
    """Do nothing: nobody listens."""
