"""What the steps of a memory's declaration mean, as records that views and commits read (M-2.3, M-4), and the declaration
itself.

Hands on `Policy` and its groups (`RecallPolicy`, `Decay`, `SummaryPolicy`), `Declaration` and `FactAccess` (who may read and
write which facts) with `Allow` and `Secrets` to `from_image.py`, which makes them with the help of `ROWS`, and to the memories;
the rules of `learn` (`Rule`, `Group`, `Lesson`) to `remembering.py`, the first to `from_image.py` too, the last to `memory.py`;
and `advice`, `bound_of` and `prefix_share` about prompt caches to the commands `compile` and `inspect`. The fields of a policy
and their defaults are those of the rows of `vm/memory_steps.py`: a new step gets its row there and its type here. The fields of a
policy never change after it was made; it only keeps texts that it has rewritten. Nothing here reads or changes a log:
`retention.py` evicts, `views.py` and `stages.py` show, `remembering.py` recalls and learns.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.memory_steps import LOWS, SUMMARY, rows
from ...vm.panics import Panic
from .facts import TIERS
from .retention import RETAINING, Retention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, ClassVar, Protocol

    from ...vm.memory_steps import Argument
    from ..records import Msg
    from .bounds import Bounds
    from .entries import TokenCounter
    from .facts import Fact, Observation
    from .redaction import KeptTexts

    class Secrets(Protocol):
        """The secrets of the configuration. `known` is one list that grows; it is never replaced. `clean` returns a text
        without them."""

        known: list[str]

        def clean(self, text: str) -> str: ...


ROWS: dict[str, Argument] = {row.field: row for row in rows() if row.field is not None}
# Fields with their defaults: those that change what a view shows; those that act when a message is stored, but for the bound of a
# plain queue; and the names of the fields that are records of their own, None without their step.
SHOWING = {path: row.default for path, row in ROWS.items() if row.shows}
STORING = {path: row.default for path, row in ROWS.items() if row.stores and not row.fifo}
GROUPS = dict.fromkeys(path.partition(".")[0] for path in ROWS if "." in path)


def parts_of(group: str) -> dict[str, Any]:
    """Return the defaults of the rows of one group ("" for the policy itself), by their names in the group; none for a group that
    does not exist."""
    return {path.rpartition(".")[2]: row.default for path, row in ROWS.items() if path.rpartition(".")[0] == group}


class StepRecord:
    """A record of the arguments of steps; `DEFAULTS` are its fields. Raises TypeError for a field that it has not."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]]

    def __init__(self, **fields: Any) -> None:
        if not fields.keys() <= self.DEFAULTS.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(fields.keys() - self.DEFAULTS.keys())}")
        for name, value in {**self.DEFAULTS, **fields}.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in self.DEFAULTS)

    __hash__ = None  # type: ignore[assignment]


class RecallPolicy(StepRecord):
    """The step `recall` (M-10.15): at most `k` facts of a confidence of at least `min_confidence`, 0 to 1, are shown where
    `inject` says: `System`, `Prefix`, `Suffix`, `Prompt` or `Tool`. `tiers` in lower case, `messages` among them, None for all
    tiers of facts; `half_life` in milliseconds."""

    DEFAULTS = parts_of("recall")
    __slots__ = tuple(DEFAULTS)
    k: int
    tiers: Collection[str] | None
    min_confidence: float
    inject: str
    half_life: int


class Decay(StepRecord):
    """The step `decay` (M-10.18): a confidence falls by `rate` per `per` milliseconds, not below `floor`; below `archive_below` a
    fact is archived. `refresh_on`: what lets it start anew, `Access` (any access, or a `confirm`) or `Confirm` alone."""

    DEFAULTS = parts_of("decay")
    __slots__ = tuple(DEFAULTS)
    rate: float
    per: int
    floor: float
    archive_below: float
    refresh_on: str


class SummaryPolicy(StepRecord):
    """The step `summary` (M-9.1). `every_turns` or `every_ms` (milliseconds) or neither, which is `Evict`. `by` names who
    summarises, as `from_image.py` says it; `prompt` is what a model is told, `max_tokens` the bound of a summary. `text`: what is
    shown, with one `{}` (M-9.22), where `inject` says, as a message of this `role`. `whole`: the summariser is given all that
    the view shows (M-9.21)."""

    DEFAULTS = {"by": (), **{row.field: row.default for row in SUMMARY.values() if row.field is not None}}
    __slots__ = tuple(DEFAULTS)
    every_turns: int | None
    every_ms: int | None
    inject: str
    role: str
    max_tokens: int | None
    prompt: str
    by: tuple[Any, ...]
    text: str
    whole: bool

    def shown(self, summary: str) -> str:
        """Return the text that is shown, with the stored summary in its place."""
        before, _, after = self.text.partition("{}")
        return f"{before}{summary}{after}"

    @property
    def on_evict(self) -> bool:
        """Whether it is made when messages leave the window or the log, and not by a count of turns or a time."""
        return self.every_turns is None and self.every_ms is None


# ----------------------------------------------------------------
# The policy of a memory or view.


class Policy(StepRecord):
    """What all steps of one memory or view say; without any it is that of `Memory::new()`.

    What is stored: `retain` and `retain_tokens` bound the log, in messages and tokens; `tools` keeps tool calls and results too;
    `redact` rewrites every text, in order; a message of `pin_roles`, or for which one of `pin_when` is true, is never left out;
    `on_failure` and `on_conflict` are the words for a turn that fails or that another came before; `ttl` is in milliseconds.

    What is shown: messages of `roles`; no turn that resembles a newer one by `prune`, 0 to 1; tool results of at most `clip`
    tokens, shortened by `clip_with`; media of the newest `media_last` turns; the newest `window` messages or `window_turns`
    turns; at most `tokens` tokens, and of a budget that several memories share a part by `weight`; with `only_summary` the
    summary alone; with `refresh` also what others store during a run; or what the function `shape`, or the one at the place
    `view_with`, makes of it. `recall`, `decay` and `summary` are the records of these steps, `learn` the rules.

    None: no such bound or step. `..._low`: what is left when the bound is exceeded. `roles` and `pin_roles` are in lower case.

    Beside the steps: `counter`, a host's TokenCounter. `pins_in_view`: `pin_roles` and `pin_when` are those of a derived view,
    which pins nothing in the log (M-9.11). `inner`: of a view of a view, name and policy of the one it is of (M-9.15). `secrets`:
    what the filter of G-10.3 knows, which is in no log.

    Computed: `shows_all`: without a view step the view is the log, in all requests of a run (M-3.3). `only_window`: it has no
    view step, or a plain window alone. `stores_plainly`: a direct append is only put at the end and cut at the front.
    `retention`: the bounds of the log. `has_state`: what it shows, or a view that it is of, depends on a stored cut or summary.
    `shown`: older texts as they go to a model, None before the first.
    """

    DEFAULTS = {**parts_of(""), **GROUPS, "counter": None, "pins_in_view": False, "inner": None, "secrets": None}
    __slots__ = (*DEFAULTS, "shows_all", "only_window", "stores_plainly", "retention", "has_state", "shown")
    retain: int | None
    retain_low: int | None
    retain_tokens: int | None
    tools: bool
    redact: tuple[Callable[[str], str], ...]
    roles: frozenset[str] | None
    pin_roles: frozenset[str]
    pin_when: tuple[Callable[[Msg], bool], ...]
    only_summary: bool
    prune: float | None
    clip: int | None
    clip_with: Callable[[str], str] | None
    media_last: int | None
    window: int | None
    window_low: int | None
    window_turns: int | None
    tokens: int | None
    on_failure: str
    on_conflict: str
    shape: Callable[[list[Msg]], list[Msg]] | None
    refresh: bool
    weight: int
    ttl: int | None
    recall: RecallPolicy | None
    decay: Decay | None
    view_with: Sequence[int] | None
    summary: SummaryPolicy | None
    learn: tuple[Rule, ...]
    counter: TokenCounter | None
    pins_in_view: bool
    inner: tuple[str, Policy] | None
    secrets: Secrets | None

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        showing = [name for name, value in fields.items() if name in SHOWING and value != SHOWING[name]]
        storing = [name for name, value in fields.items() if name in STORING and value != STORING[name]]
        self.shows_all = not showing
        self.only_window = showing in ([], ["window"]) and not self.pins_in_view
        self.stores_plainly = not storing and self.counter is None
        self.retention = Retention({name: fields.get(name) for name in RETAINING})
        # A cache: which texts were rewritten for showing depends on the redactors, which this policy holds.
        self.shown: KeptTexts | None = None
        self.has_state = any(each.window_low is not None or each.summary is not None for each in self.chain)

    @property
    def redactors(self) -> tuple[Callable[[str], str], ...]:
        """The functions that rewrite each text before it is stored: those of the declaration, and the filter of secrets
        once it knows one."""
        if self.secrets is None or not self.secrets.known:
            return self.redact
        from .redaction import SecretFilter

        return (*self.redact, SecretFilter(self.secrets.clean))

    def filtered(self, text: str) -> str:
        """Return the text without the secrets of the configuration."""
        return text if self.secrets is None else self.secrets.clean(text)

    def limits(self) -> dict[str, int | float | None]:
        """Return every bound that steps can set, by the names of `stats()` (M-6.15); None for one that this memory does
        not set."""
        paths = [*((name, row) for name, row in ROWS.items()), *((f"summary.{row.field}", row) for row in SUMMARY.values())]
        by_place = {row.stat: self._at(path) for path, row in paths if row.stat is not None}
        return {name: by_place[place, name] for place, name in sorted(by_place)}

    def _at(self, path: str) -> Any:
        """Return the value of a field, or of one of a group (`summary.max_tokens`); None where the group is absent."""
        group, _, name = path.rpartition(".")
        record = getattr(self, group) if group else self
        return None if record is None else getattr(record, name)

    @property
    def chain(self) -> list[Policy]:
        """The policies that act on the log one after another: those of the views it is of, the innermost first, then
        itself."""
        return [self] if self.inner is None else [*self.inner[1].chain, self]

    @property
    def inner_names(self) -> list[str]:
        """The names of the views it is of, the nearest first."""
        return [] if self.inner is None else [self.inner[0], *self.inner[1].inner_names]

    def replaced(self, **fields: Any) -> Policy:
        """Return a copy with these fields. Raises TypeError for a field that it has not."""
        return Policy(**{name: getattr(self, name) for name in self.DEFAULTS} | fields)


if TYPE_CHECKING:
    Allow = tuple[frozenset[str], frozenset[str]]


class Declaration:
    """One `memory` declaration: its `name`, its steps as `policy`, the names of its key parts (`per`), its `store` by name (None:
    volatile).

    `of` names the memory whose log a derived view shows, `policy` has the views between them. `path`: the name that its
    keys are stored under (M-7.8); `key_defaults`: what keys that were written without an added part have there (M-7.9).
    `initial` and `facts`: what its initialisation statements give a log of version 0 (M-2.10), as (role, content, pinned),
    and of `remember` its arguments. `allow`: who may attach it, as (readers, writers) by name, None for everybody (M-4.16).
    `embed`: its embedder as the image says it (M-10.16). `bounds`: what a run computes of the policy (M-2.14), None for
    nothing; of a declaration that memory values are made from it has the names of theirs (M-2.19). `on`: the places of
    functions that are called for its events, by channel (M-6.37).

    `fixed`: the slots that are written once, as (tier, name); `renamed`: by (tier, name), the earlier names of slots; `lists`:
    the slots that are lists; `access`: who may read and write which facts, None without a rule.
    """

    __slots__ = (
        "name", "policy", "per", "store", "of", "initial", "facts", "allow", "embed", "fixed", "bounds", "path",
        "key_defaults", "renamed", "on", "lists", "access",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        policy: Policy | None = None,
        *,
        per: Sequence[str] = (),
        store: str | None = None,
        of: str | None = None,
        initial: Sequence[tuple[str, str, bool]] = (),
        allow: Allow | None = None,
        embed: dict[str, Any] | None = None,
        fixed: frozenset[tuple[str, str]] = frozenset(),
        bounds: Bounds | None = None,
        path: str | None = None,
        key_defaults: Mapping[str, str | int] | None = None,
        renamed: Mapping[tuple[str, str], str] | None = None,
        on: Mapping[str, Sequence[int]] | None = None,
        lists: frozenset[tuple[str, str]] = frozenset(),
        access: FactAccess | None = None,
    ) -> None:
        self.name = name
        self.policy = policy or Policy()
        self.per = tuple(per)
        self.store = store
        self.of = of
        self.initial = list(initial)
        self.facts: list[list[Any]] = []
        self.allow = allow
        self.embed = embed
        self.fixed = fixed
        self.bounds = bounds
        self.path = path or name
        self.key_defaults = dict(key_defaults or {})
        self.renamed = dict(renamed or {})
        self.on = on or {}
        self.lists = lists
        self.access = access

    @property
    def makes_values(self) -> bool:
        """Whether memory values are made from it (M-2.19), so that it has no log of its own."""
        return self.bounds is not None and self.bounds.made is not None


if TYPE_CHECKING:
    Pattern = tuple[str, str]
    """A tier, or "" for every tier; a name, or with `*` at its end what names begin with."""


class FactAccess:
    """Which facts a model or agent may read and write: the steps `allow` with `facts` (M-10.35). A fact that no rule
    covers is open to whoever attaches the memory; one that several rules cover only to those whom each of them names. The
    program itself is bound by no rule.

    `rules` are given in the form of an image, patterns, readers and writers, and kept with writers among the readers. `renamed`:
    by (tier, name), the earlier names of slots, which stand for the same fact as those of now (M-8.24).
    """

    __slots__ = ("rules", "_same")

    def __init__(self, rules: Sequence[Any], renamed: Mapping[tuple[str, str], str] | None = None) -> None:
        pairs = [(tier, name, before) for (tier, name), before in (renamed or {}).items()]
        # A rule for the old name of a slot covers the new one, and the other way round.
        self._same = {(tier, name): before for tier, name, before in pairs}
        self._same |= {(tier, before): name for tier, name, before in pairs}
        self.rules = [
            ([(tier, name) for tier, name in patterns], frozenset(readers) | frozenset(writers), frozenset(writers))
            for patterns, readers, writers in rules
        ]

    def reads(self, by: str, tier: str, name: str) -> bool:
        """Return whether the model or agent `by` may read the fact. Who may write it may read it."""
        return all(by in readers for patterns, readers, _ in self.rules if self._covers(patterns, tier, name))

    def writes(self, by: str, tier: str, name: str) -> bool:
        """Return whether the model or agent `by` may write the fact."""
        return all(by in writers for patterns, _, writers in self.rules if self._covers(patterns, tier, name))

    def writes_in_some_tier(self, by: str, name: str) -> bool:
        """Return whether the model or agent `by` may write a fact of that name in any tier."""
        return any(self.writes(by, tier, name) for tier in TIERS)

    def _covers(self, patterns: Sequence[Pattern], tier: str, name: str) -> bool:
        names = (name, self._same.get((tier, name), name))
        return any(pattern[0] in ("", tier) and any(_is_named(pattern[1], one) for one in names) for pattern in patterns)


def _is_named(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


# What a bound means for prompt caches (O-9.19): how much of a request equals the request before. It is computed for a
# conversation of equal messages, without system message and tools, which are the same anyway. A bound that moves the front of
# the window with every turn leaves nothing.

MESSAGES_OF_A_TURN = 2
UNBOUNDED_TURNS = 50
CYCLES = 4  # times that the window is filled, for the average
LARGEST = 2000  # messages; a larger bound is scaled down, so that little is computed


def bound_of(max_messages: int | None, steps: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tightest bound in messages, and how many messages are left when it is exceeded; None without a bound.
    `max_messages` is the bound of the log, None for none, `steps` are the other steps by their names in an image. (0, 0) stands
    for a bound that moves with every turn: one in tokens, or a view by a function."""
    if "view_with" in steps or "tokens" in steps or any(name in steps for name in RETAINING if name not in LOWS):
        return 0, 0
    turns = steps.get("window_turns")
    bounds = [(max_messages, steps.get("retain_low")), (steps.get("window"), steps.get("window_low"))]
    bounds.append((None if turns is None else turns * MESSAGES_OF_A_TURN, None))
    bounded = [(most, most if low is None else low) for most, low in bounds if most is not None]
    return min(bounded) if bounded else None


def prefix_share(bound: tuple[int, int] | None) -> int:
    """Return which percentage of a request, 0 to 100, is the same as in the request before, on average once the bound, as
    `bound_of` gives it, is reached; without a bound over the first UNBOUNDED_TURNS turns."""
    most, low = bound or (UNBOUNDED_TURNS * MESSAGES_OF_A_TURN, 0)
    scale = max(most // LARGEST, 1)  # the share depends on their ratio alone
    most, low = most // scale, low // scale
    # The window moves with every turn, so the first message differs each time.
    if most == low:
        return 0
    messages, same, requests = low if bound else 0, 0.0, 0
    moved = True
    for _ in range(UNBOUNDED_TURNS if bound is None else CYCLES * (most - low + MESSAGES_OF_A_TURN)):
        same += 0.0 if moved else (messages - MESSAGES_OF_A_TURN + 1) / (messages + 1)
        requests += 1
        messages += MESSAGES_OF_A_TURN
        moved = bound is not None and messages > most
        if moved:
            messages = low
    return int(100 * same / requests)


def advice(max_messages: int | None, steps: Mapping[str, Any]) -> str | None:
    """Return the words that name a step, written as in a program, and the percentage of a request that it would keep the same
    (0 where the bound is two messages), for a memory that keeps nothing the same; None for any other, for a view by a function
    and for a bound of one message. The arguments are those of `bound_of`."""
    bound = bound_of(max_messages, steps)
    if bound is None or prefix_share(bound) > 0 or "view_with" in steps:
        return None
    most = bound[0] or 40
    low = max(most // 2, 1)
    if most <= low:
        return None
    return f"`.window({most}, low: {low})` keeps {prefix_share((most, low))} %"


if TYPE_CHECKING:
    Learned = tuple[Any, float, list[str]]
    """Content, confidence, `about`."""

# How many observations a rule remembers the group of.
GROUPS_KNOWN = 4_096


class Rule:
    """One step `learn` (M-10.22), for observations of its `topic`; `name` is its own. `by` gives the group of an observation from
    its data alone, or None for none; `when` says of a group whether something is learned, and `store` what."""

    __slots__ = ("name", "topic", "by", "when", "store", "_groups")

    def __init__(
        self,
        *,
        name: str,
        on: str,
        by: Callable[[Observation], str | None],
        when: Callable[[Group], bool],
        store: Callable[[Group], Learned],
    ) -> None:
        self.name = name
        self.topic = on
        self.by = by
        self.when = when
        self.store = store
        self._groups: dict[str, str | None] = {}

    def group(self, observation: Observation) -> str | None:
        """Return the group of an observation, None for none. The result is kept: `by` depends on the data alone. Raises
        the Panic of `by`."""
        text = observation.text
        if text not in self._groups:
            if len(self._groups) >= GROUPS_KNOWN:
                self._groups.clear()
            self._groups[text] = None  # kept if `by` panics now: such an observation is in no group, and the failure was reported
            self._groups[text] = self.by(observation)
        return self._groups[text]

    def members(self, key: str, known: Sequence[Observation]) -> list[Observation]:
        """Return those of `known` that are in the group `key`. An observation whose `by` panics is in none."""
        members = []
        for one in known:
            if one.text not in self._groups:
                with suppress(Panic):
                    self.group(one)
            if self._groups[one.text] == key:
                members.append(one)
        return members

    def __eq__(self, other: object) -> bool:
        same = ("name", "topic", "by", "when", "store")
        return isinstance(other, Rule) and all(getattr(self, name) == getattr(other, name) for name in same)

    __hash__ = None  # type: ignore[assignment]


class Group:
    """The observations of one group, `members`, oldest first; `key` is what `by` of the rule gave. `shown` is their value for
    functions of the program, made once."""

    __slots__ = ("key", "members", "shown")

    def __init__(self, key: str, members: list[Observation]) -> None:
        self.key = key
        self.members = members
        self.shown: Any = None


class Lesson:
    """What observing stores: `seen` the new observations, `unseen` the places (topic and number) of those that leave for them,
    `facts` those that rules made; `told` are the events, channel and payload, to send once all is stored."""

    __slots__ = ("seen", "unseen", "facts", "told")

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.unseen: list[tuple[str, int]] = []
        self.facts: list[Fact] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
