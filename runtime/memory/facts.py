"""Facts: remembered values beside the log of a key (M-10), and what a clock makes of their confidence (M-10.18 to M-10.20).

Hands on `Fact`, its JSON form, `Decay`. Must not know: stores, recall, the machine.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

EPHEMERAL, SESSION, PERSISTENT = TIERS = ("ephemeral", "session", "persistent")
"""Also the order in which a name is looked up (M-10.7)."""
MESSAGE = "message"
"""In place of a tier: a message of the log, which recall may look at too (M-10.40). No fact is of it."""
TRUST = ("program", "user", "model", "tool")
"""Highest first (M-10.21)."""
FIELDS = (
    "id", "tier", "name", "content", "about", "c0", "created", "accessed", "refreshed", "trust", "origin", "by", "run", "rule",
    "seqs",
)  # fmt: skip

MOST_ELEMENTS = 1 << 24
MOST_FACTS = 1 << 40


class Fact:
    """`content` is JSON; `c0` the confidence it was remembered with; times are Unix ms. `seqs`: the entries it derives from.
    `task`: of an ephemeral fact, the path of who wrote it. `vector`: of its text, with its embedder's label, beside the JSON.
    `elements`: of a slot that is a list, when each element was written, last recalled and refreshed; `element`: of a fact that
    stands for one of them, its place (M-10.38)."""

    __slots__ = (*FIELDS, "task", "vector", "elements", "element")

    def __init__(
        self,
        id: int,
        tier: str,
        name: str,
        content: Any,
        *,
        about: Sequence[str] = (),
        c0: float = 1.0,
        created: int = 0,
        accessed: int = 0,
        refreshed: int = 0,
        trust: str = "program",
        origin: str = "program",
        by: str | None = None,
        run: str | None = None,
        rule: str | None = None,
        seqs: Sequence[int] = (),
        task: Any = None,
        elements: Sequence[list[int]] = (),
    ) -> None:
        self.id = id
        self.tier = tier
        self.name = name
        self.content = content
        self.about = list(about)
        self.c0 = c0
        self.created = created
        self.accessed = accessed
        self.refreshed = refreshed
        self.trust = trust
        self.origin = origin
        self.by = by
        self.run = run
        self.rule = rule
        self.seqs = list(seqs)
        self.task = task
        self.vector: tuple[str, bytes] | None = None
        self.elements: Sequence[list[int]] = list(elements) if elements else ()
        self.element: int | None = None

    def as_json(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in FIELDS}
        return held | {"elements": self.elements} if self.elements else held

    @property
    def order(self) -> float:
        """Its number, behind which the elements of a list follow in their places."""
        if self.tier == MESSAGE:  # its number is its seq: behind all facts
            return MOST_FACTS + self.id
        return self.id if self.element is None else self.id + self.element / MOST_ELEMENTS

    def changed(self, **fields: Any) -> Fact:
        made = Fact(**self.as_json(), task=self.task)
        for name, value in fields.items():
            setattr(made, name, value)
        if not {"name", "content", "about"} & fields.keys():
            made.vector = self.vector
        return made

    @property
    def text(self) -> str:
        """What recall compares (M-10.8)."""
        if self.tier == MESSAGE:
            return str(self.content)
        return "\n".join([self.name, *_words_in(self.content), *self.about])


def _words_in(content: Any) -> Iterator[str]:
    """A String as it is, the fields and values of everything else, as they are and not as JSON writes them."""
    todo = [content]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            todo += [piece for name in sorted(part, reverse=True) for piece in (part[name], name)]
        elif isinstance(part, list):
            todo += reversed(part)
        else:
            yield content_text(part)


def content_text(content: Any) -> str:
    """A String as it is, everything else as JSON."""
    if isinstance(content, str):
        return content
    from json import dumps

    return dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def touched(stored: Fact | None, fact: Fact) -> Fact | None:
    """What is stored, with the times and the vector of `fact`; None where it says something else by now."""
    if stored is None or _saying(stored) != _saying(fact):
        return None
    made = stored.changed(accessed=max(stored.accessed, fact.accessed), refreshed=max(stored.refreshed, fact.refreshed))
    made.vector = fact.vector or stored.vector
    if len(fact.elements) == len(stored.elements):
        made.elements = [list(map(max, *times)) for times in zip(stored.elements, fact.elements, strict=True)]
    elif fact.elements:
        made.elements = fact.elements
    return made


def _saying(fact: Fact) -> tuple[Any, ...]:
    times = ("accessed", "refreshed", "content", "elements")
    others = {name: value for name, value in fact.as_json().items() if name not in times}
    return others, said_by(fact)


def said_by(fact: Fact | None) -> str:
    """What tells contents apart, "" where there is none: the JSON text, which keeps 1 and 1.0 and the order of entries apart."""
    from json import dumps

    return "" if fact is None else dumps(fact.content, ensure_ascii=False, separators=(",", ":"))


def fact_of(held: dict[str, Any]) -> Fact:
    """From its JSON form; ValueError, TypeError or KeyError for anything else."""
    fact = Fact(**held)
    whole = (fact.id, fact.created, fact.accessed, fact.refreshed, *fact.seqs)
    texts = (fact.name, fact.trust, fact.origin, *fact.about)
    if any(type(number) is not int for number in whole) or any(type(text) is not str for text in texts):
        raise ValueError
    if not all(map(_is_times, fact.elements)):
        raise ValueError
    if fact.tier not in TIERS or fact.trust not in TRUST or not 0 <= fact.c0 <= 1:
        raise ValueError
    return fact


def _is_times(times: Any) -> bool:
    return type(times) is list and list(map(type, times)) == [int, int, int]


def lowest(trusts: Sequence[str]) -> str:
    """The trust of what derives from all of these (M-10.21); what no source is known of counts as least."""
    return max(trusts, key=lambda trust: TRUST.index(trust) if trust in TRUST else len(TRUST) - 1)


class Decay:
    """The step `decay`: `rate` per `per` milliseconds, not below `floor`; below `archive_below` a fact is archived."""

    __slots__ = ("rate", "per", "floor", "archive_below", "refresh_on")

    def __init__(
        self, *, rate: float, per: int, floor: float = 0.0, archive_below: float = 0.0, refresh_on: str = "Access"
    ) -> None:
        self.rate = rate
        self.per = per
        self.floor = floor
        self.archive_below = archive_below
        self.refresh_on = refresh_on

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decay) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


def confidence(fact: Fact, decay: Decay | None, now: int) -> float:
    """At a time, computed when read (M-10.18)."""
    if decay is None or fact.tier != PERSISTENT:
        return fact.c0
    faded = fact.c0 - decay.rate * max(0, now - fact.refreshed) / decay.per
    return max(min(decay.floor, fact.c0), faded)


def archived(fact: Fact, decay: Decay | None, now: int) -> bool:
    return decay is not None and fact.tier == PERSISTENT and confidence(fact, decay, now) < decay.archive_below
