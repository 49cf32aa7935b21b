"""What the steps of a declaration say, as data (M-2.3, M-4): the record the compiler fills and views and commits read.

A policy never changes. Closures arrive as plain callables. `Policy.of` takes the `steps` of an image. Must not know: logs.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.panics import Panic
from .facts import TIERS, Decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..records import Msg
    from .bounds import Bounds
    from .entries import TokenCounter
    from .facts import Fact, Observation

    class Secrets(Protocol):
        """`known`: their values, one list as long as it lives."""

        known: list[str]

        def clean(self, text: str) -> str: ...


HALF_LIFE = 30 * 86_400_000
COMPUTED = ("shows_all", "only_window", "stores_plainly", "has_state", "shown")
SUMMARY_PROMPT = "Update the summary. Keep names, numbers, decisions and open questions. Reply with the summary only."
SUMMARY_TEXT = "[summary] {}"


class Policy:
    """Defaults are those of `Memory::new()`.

    retain, retain_low, retain_tokens: M-4.2. tools: M-4.3. redact: functions applied in order (M-4.4). roles: shown roles in
    lower case, None for all. pin_roles, pin_when: M-4.6. prune: similarity or None. clip, clip_with: M-4.8. window,
    window_low, window_turns: M-4.9 to M-4.11. tokens: M-4.12. shape: M-4.13. view_with: the place of its function (M-4.30).
    refresh: M-5.31. on_failure, on_conflict: M-4.14, M-4.15.
    ttl: milliseconds or None. summary: `SummaryPolicy` or None. weight: M-9.14. counter: a host's TokenCounter. decay: M-10.18.
    recall: `RecallPolicy` or None. learn: rules (M-10.22). pins_in_view: pin_roles and pin_when are those of a derived view,
    which pins nothing in the log (M-9.11). inner: of a view of a view, name and policy of the one it is of (M-9.15).
    only_summary: M-9.17. secrets: what the filter of G-10.3 knows, which is in no log.
    """

    __slots__ = (
        "retain", "retain_low", "retain_tokens", "tools", "redact", "roles", "pin_roles", "pin_when", "prune", "clip",
        "clip_with", "window", "window_low", "window_turns", "tokens", "shape", "on_failure", "on_conflict", "ttl", "summary",
        "weight", "counter", "decay", "recall", "learn", "pins_in_view", "inner", "only_summary", "view_with", "refresh",
        "secrets", "shows_all", "only_window", "stores_plainly", "has_state", "shown",
    )  # fmt: skip

    def __init__(
        self,
        *,
        retain: int | None = None,
        retain_low: int | None = None,
        retain_tokens: int | None = None,
        tools: bool = False,
        redact: tuple[Callable[[str], str], ...] = (),
        roles: frozenset[str] | None = None,
        pin_roles: frozenset[str] = frozenset(),
        pin_when: tuple[Callable[[Msg], bool], ...] = (),
        prune: float | None = None,
        clip: int | None = None,
        clip_with: Callable[[str], str] | None = None,
        window: int | None = None,
        window_low: int | None = None,
        window_turns: int | None = None,
        tokens: int | None = None,
        shape: Callable[[list[Msg]], list[Msg]] | None = None,
        on_failure: str = "Discard",
        on_conflict: str = "Append",
        ttl: int | None = None,
        summary: SummaryPolicy | None = None,
        weight: int = 1,
        counter: TokenCounter | None = None,
        decay: Decay | None = None,
        recall: RecallPolicy | None = None,
        learn: tuple[Rule, ...] = (),
        pins_in_view: bool = False,
        inner: tuple[str, Policy] | None = None,
        only_summary: bool = False,
        view_with: Sequence[int] | None = None,
        refresh: str | bool = False,
        secrets: Secrets | None = None,
    ) -> None:
        self.retain = retain
        self.retain_low = retain_low
        self.retain_tokens = retain_tokens
        self.tools = tools
        self.redact = redact
        self.roles = roles
        self.pin_roles = pin_roles
        self.pin_when = pin_when
        self.prune = prune
        self.clip = clip
        self.clip_with = clip_with
        self.window = window
        self.window_low = window_low
        self.window_turns = window_turns
        self.tokens = tokens
        self.shape = shape
        self.on_failure = on_failure
        self.on_conflict = on_conflict
        self.ttl = ttl
        self.summary = summary
        self.weight = weight
        self.counter = counter
        self.decay = decay
        self.recall = recall
        self.learn = learn
        self.pins_in_view = pins_in_view
        self.inner = inner
        self.only_summary = only_summary
        self.view_with = view_with
        self.refresh = bool(refresh)
        self.secrets = secrets
        shown = (roles, prune, clip, window, window_turns, tokens, shape, summary, recall, view_with)
        self.shows_all = all(step is None for step in shown) and not (only_summary or self.refresh)
        """No view step: the view is the log, in all requests of a run (M-3.3)."""
        others = (roles, prune, clip, window_turns, tokens, shape, summary, window_low, recall)
        self.only_window = all(step is None for step in others) and not (pins_in_view or only_summary)
        """At most one view step, a plain window."""
        kept = (retain_low, retain_tokens, window_low, ttl, summary, counter)
        self.stores_plainly = all(step is None for step in kept) and not (redact or pin_roles or pin_when or learn)
        """A direct append is only put at the end and cut at the front."""
        self.shown: dict[Any, Any] = {}
        """Older texts as they go to a model (`older_text`)."""
        self.has_state = any(each.window_low is not None or each.summary is not None for each in self.chain)
        """Whether what it shows depends on a stored cut or summary, its own or that of a view it is of."""

    @staticmethod
    def of(steps: Mapping[str, Any]) -> Policy:
        """From data: the names of this record; roles and pins as lists of words, `summary` as a map."""
        given = dict(steps)
        if given.get("roles") is not None:
            given["roles"] = frozenset(word.lower() for word in given["roles"])
        given["pin_roles"] = frozenset(word.lower() for word in given.get("pin_roles", ()))
        for name in ("redact", "pin_when"):
            given[name] = tuple(given.get(name, ()))
        if isinstance(given.get("summary"), dict):
            given["summary"] = SummaryPolicy(**given["summary"])
        if isinstance(given.get("recall"), dict):
            given["recall"] = RecallPolicy(**given["recall"])
        if isinstance(given.get("decay"), dict):
            given["decay"] = Decay(**given["decay"])
        return Policy(**given)

    @property
    def redactors(self) -> tuple[Callable[[str], str], ...]:
        """What rewrites each text before it is stored: functions of the declaration, and the filter once it knows a secret."""
        if self.secrets is None or not self.secrets.known:
            return self.redact
        from .redaction import SecretFilter

        return (*self.redact, SecretFilter(self.secrets.clean))

    def filtered(self, text: str) -> str:
        """The text without secrets."""
        return text if self.secrets is None else self.secrets.clean(text)

    def limits(self) -> dict[str, int | float | None]:
        """Every bound that steps set, by the names of `stats()` (M-6.15); None for one that none sets."""
        summary, recall = self.summary or SummaryPolicy(), self.recall
        return {
            "retain": self.retain, "retain_low": self.retain_low, "retain_tokens": self.retain_tokens,
            "window": self.window, "window_low": self.window_low, "window_turns": self.window_turns, "token_limit": self.tokens,
            "prune": self.prune, "clip": self.clip, "ttl": self.ttl,
            "summary_every_turns": summary.every_turns, "summary_every_ms": summary.every_ms,
            "summary_max_tokens": summary.max_tokens, "recall_k": None if recall is None else recall.k,
            "recall_min_confidence": None if recall is None else recall.min_confidence,
        }  # fmt: skip

    def __eq__(self, other: object) -> bool:
        names = [name for name in self.__slots__ if name not in ("secrets", "shown")]
        return isinstance(other, Policy) and all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    @property
    def chain(self) -> list[Policy]:
        """What acts on the log one after another: those of the views it is of, the innermost first, and itself."""
        return [self] if self.inner is None else [*self.inner[1].chain, self]

    @property
    def inner_names(self) -> list[str]:
        """Of the views it is of."""
        return [] if self.inner is None else [self.inner[0], *self.inner[1].inner_names]

    def replaced(self, **fields: Any) -> Policy:
        names = [name for name in self.__slots__ if name not in COMPUTED]
        return Policy(**{name: getattr(self, name) for name in names} | fields)


class RecallPolicy:
    """M-10.15. `tiers` in lower case, None for all; `half_life` in milliseconds."""

    __slots__ = ("k", "tiers", "min_confidence", "inject", "half_life")

    def __init__(
        self,
        *,
        k: int = 10,
        tiers: Sequence[str] | None = None,
        min_confidence: float = 0.0,
        inject: str = "Suffix",
        half_life: int = HALF_LIFE,
    ) -> None:
        self.k = k
        self.tiers = None if tiers is None else [tier.lower() for tier in tiers]
        self.min_confidence = min_confidence
        self.inject = inject
        self.half_life = half_life

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecallPolicy) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


class SummaryPolicy:
    """M-9.1. `every_turns` or `every_ms` or neither, which is `Evict`. `by` names who summarises. `text`: what is shown, with one
    `{}` (M-9.22). `whole`: it is given all that the view shows (M-9.21)."""

    __slots__ = ("every_turns", "every_ms", "inject", "role", "max_tokens", "prompt", "by", "text", "whole")

    def __init__(
        self,
        *,
        every_turns: int | None = None,
        every_ms: int | None = None,
        inject: str = "Prefix",
        role: str = "system",
        max_tokens: int | None = None,
        prompt: str = SUMMARY_PROMPT,
        by: tuple[Any, ...] = (),
        text: str = SUMMARY_TEXT,
        whole: bool = False,
    ) -> None:
        self.every_turns = every_turns
        self.every_ms = every_ms
        self.inject = inject
        self.role = role
        self.max_tokens = max_tokens
        self.prompt = prompt
        self.by = by
        self.text = text
        self.whole = whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SummaryPolicy) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def shown(self, summary: str) -> str:
        """The text with the stored summary in its place."""
        before, _, after = self.text.partition("{}")
        return f"{before}{summary}{after}"

    @property
    def on_evict(self) -> bool:
        return self.every_turns is None and self.every_ms is None


# ----------------------------------------------------------------
# What a program says of one memory (M-2).

if TYPE_CHECKING:
    Allow = tuple[frozenset[str], frozenset[str]]


class Declaration:
    """One `memory` declaration: its path in the program, its steps, its key names, its store by name (None: volatile).

    `of` names the memory whose log a derived view shows, `policy` has the views between them.
    `initial`, `facts`: what its initialisation statements give a log of version 0
    (M-2.10), of `remember` its arguments.
    `allow`: who may attach it, as (readers, writers) by name, None for everybody (M-4.16). `embed`: its embedder as the image
    says it (M-10.16). `fixed`: slots that are written once. `bounds`: what a run computes of the policy (M-2.14), of a
    declaration that memory values are made from with the names of theirs (M-2.19). `path`: what its keys are stored under
    (M-7.8); `key_defaults`: what keys that were written without an added part have there (M-7.9); `renamed`: the names of slots
    before. `on`: the places of functions that are called for its events, by channel (M-6.37). `lists`: slots that are lists.
    `access`: who may read and write which facts (M-10.35).
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
        return self.bounds is not None and self.bounds.made is not None


# ----------------------------------------------------------------
# Which facts a model or agent may read and write: the steps `allow` with `facts` (M-10.35).
#
# What no rule covers is open to whoever attaches the memory. The program itself is bound by none.

if TYPE_CHECKING:
    Pattern = tuple[str, str]
    """A tier, or "" for every tier; a name, or with `*` at its end what names begin with."""


class FactAccess:
    """`rules` in the form of an image: patterns, readers, writers. A fact that several rules cover is open to those whom each of
    them names. `renamed`: the names of slots before, which stand for the same fact as those of now (M-8.24)."""

    __slots__ = ("rules", "_same")

    def __init__(self, rules: Sequence[Any], renamed: Mapping[tuple[str, str], str] | None = None) -> None:
        pairs = [(tier, name, before) for (tier, name), before in (renamed or {}).items()]
        self._same = {(tier, name): before for tier, name, before in pairs}
        self._same |= {(tier, before): name for tier, name, before in pairs}
        self.rules = [
            ([(tier, name) for tier, name in patterns], frozenset(readers) | frozenset(writers), frozenset(writers))
            for patterns, readers, writers in rules
        ]

    def reads(self, by: str, tier: str, name: str) -> bool:
        """Who writes a fact may read it."""
        return all(by in readers for patterns, readers, _ in self.rules if self._covers(patterns, tier, name))

    def writes(self, by: str, tier: str, name: str) -> bool:
        return all(by in writers for patterns, _, writers in self.rules if self._covers(patterns, tier, name))

    def writes_in_some_tier(self, by: str, name: str) -> bool:
        return any(self.writes(by, tier, name) for tier in TIERS)

    def _covers(self, patterns: Sequence[Pattern], tier: str, name: str) -> bool:
        names = (name, self._same.get((tier, name), name))
        return any(pattern[0] in ("", tier) and any(_is_named(pattern[1], one) for one in names) for pattern in patterns)


def _is_named(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


# ----------------------------------------------------------------
# How much of a request a memory leaves equal to the request before: what its bound means for prompt caches (O-9.19).
#
# Reckoned for a conversation of equal messages, without system message and tools, which are the same anyway: a bound that moves
# its front with every turn leaves nothing.

MESSAGES_OF_A_TURN = 2
UNBOUNDED_TURNS = 50
CYCLES = 4
LARGEST = 2000


def bound_of(max_messages: int | None, steps: Mapping[str, Any]) -> tuple[int, int] | None:
    """The tightest bound in messages, and how many are left when it is exceeded; None without a bound. One by tokens moves with
    every turn too, at a number of messages that nobody knows: (0, 0); and so does what a function gives."""
    if "view_with" in steps or "tokens" in steps or "retain_tokens" in steps:
        return 0, 0
    turns = steps.get("window_turns")
    bounds = [(max_messages, steps.get("retain_low")), (steps.get("window"), steps.get("window_low"))]
    bounds.append((None if turns is None else turns * MESSAGES_OF_A_TURN, None))
    known = [(most, most if low is None else low) for most, low in bounds if most is not None]
    return min(known) if known else None


def prefix_share(bound: tuple[int, int] | None) -> int:
    """Percent, on average once the bound is reached; without one over the first fifty turns."""
    most, low = bound or (UNBOUNDED_TURNS * MESSAGES_OF_A_TURN, 0)
    scale = max(most // LARGEST, 1)  # the share hangs on how they are to each other
    most, low = most // scale, low // scale
    if most == low:
        return 0
    held, same, requests = low if bound else 0, 0.0, 0
    moved = True
    for _ in range(UNBOUNDED_TURNS if bound is None else CYCLES * (most - low + MESSAGES_OF_A_TURN)):
        same += 0.0 if moved else (held - MESSAGES_OF_A_TURN + 1) / (held + 1)
        requests += 1
        held += MESSAGES_OF_A_TURN
        moved = bound is not None and held > most
        if moved:
            held = low
    return int(100 * same / requests)


def advice(max_messages: int | None, steps: Mapping[str, Any]) -> str | None:
    """What keeps more, for a memory of which nothing is left the same."""
    bound = bound_of(max_messages, steps)
    if bound is None or prefix_share(bound) > 0 or "view_with" in steps:
        return None
    most = bound[0] or 40
    low = max(most // 2, 1)
    if most <= low:
        return None
    return f"`.window({most}, low: {low})` keeps {prefix_share((most, low))} %"


# ----------------------------------------------------------------
# Rules of `learn` (M-10.22): their functions, and which observations are of one group.
#
# Hands on `Rule`, `Group`, and the `Lesson` that an observation gives.

if TYPE_CHECKING:
    Learned = tuple[Any, float, list[str]]
    """Content, confidence, `about`."""

GROUPS_KNOWN = 4_096


class Rule:
    """One step `learn`. `by` gives the group of an observation, by its data alone, or None; `when` and `store` are given a
    group."""

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
        """`by` is a function of the data: what it gave once, it gives again."""
        text = observation.text
        if text not in self._groups:
            if len(self._groups) >= GROUPS_KNOWN:
                self._groups.clear()
            self._groups[text] = None  # what it fails for is in no group, and was reported when it was observed
            self._groups[text] = self.by(observation)
        return self._groups[text]

    def members(self, key: str, known: Sequence[Observation]) -> list[Observation]:
        found = []
        for one in known:
            if one.text not in self._groups:
                with suppress(Panic):
                    self.group(one)
            if self._groups[one.text] == key:
                found.append(one)
        return found

    def __eq__(self, other: object) -> bool:
        same = ("name", "topic", "by", "when", "store")
        return isinstance(other, Rule) and all(getattr(self, name) == getattr(other, name) for name in same)

    __hash__ = None  # type: ignore[assignment]


class Group:
    """The observations of one group, oldest first; `shown` as there."""

    __slots__ = ("key", "members", "shown")

    def __init__(self, key: str, members: list[Observation]) -> None:
        self.key = key
        self.members = members
        self.shown: Any = None


class Lesson:
    """What observations store: themselves, what leaves for them, and the facts that rules made; `told` are the events of that."""

    __slots__ = ("seen", "unseen", "facts", "told")

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.unseen: list[tuple[str, int]] = []
        self.facts: list[Fact] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
