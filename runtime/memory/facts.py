"""Facts: remembered values beside the log of a key (M-10), and what a clock makes of their confidence (M-10.18 to M-10.20)."""

from __future__ import annotations

from collections import defaultdict

from ...vm.memory_steps import OBSERVED_TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ..records import Call, Msg
    from .policy import Decay


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


def confidence(fact: Fact, decay: Decay | None, now: int) -> float:
    """At a time, computed when read (M-10.18)."""
    if decay is None or fact.tier != PERSISTENT:
        return fact.c0
    faded = fact.c0 - decay.rate * max(0, now - fact.refreshed) / decay.per
    return max(min(decay.floor, fact.c0), faded)


def archived(fact: Fact, decay: Decay | None, now: int) -> bool:
    return decay is not None and fact.tier == PERSISTENT and confidence(fact, decay, now) < decay.archive_below


# ----------------------------------------------------------------
# What the runtime observes of a run for the rules of its memory (M-10.22, M-10.43): its turn, the tool calls of it, and
# failures
# that were put right in it.
#
# Hands on `Happenings` and the names of the topics.

if TYPE_CHECKING:
    Observed = tuple[str, dict[str, Any]]
    """Topic and data."""

TURN, TOOL, FIX = OBSERVED_TOPICS
MOST = 64
"""Observations of a topic that one turn gives, the newest."""
LONGEST = 1_000
"""Characters of a text in them; more of arguments is left out."""


class Happenings:
    """Of one run, all its attempts."""

    __slots__ = ("calls", "failed")

    def __init__(self) -> None:
        self.calls: list[tuple[Call, Msg | None]] = []
        self.failed: list[tuple[str, str, str]] = []

    def called(self, calls: Sequence[Call], results: Sequence[Msg]) -> None:
        given = {result.call_id: result for result in results}
        self.calls += [(call, given.get(call.id)) for call in calls]

    def refused(self, schema: str, reason: str, reply: str) -> None:
        """A reply that does not fit its schema (M-5.4)."""
        self.failed.append((schema, reason, reply))

    def observed(self, topics: frozenset[str], turn: Mapping[str, Any]) -> list[Observed]:
        """In the order in which rules look at them: calls, what was put right, the turn."""
        found: list[Observed] = []
        if TOOL in topics:
            found += [(TOOL, {**_told(call, result), "model": turn["model"]}) for call, result in self.calls][-MOST:]
        if FIX in topics:
            fixes = [*self._fixed_calls(), *self._fixed_replies(turn["reply"])]
            found += [(FIX, {**fix, "model": turn["model"]}) for fix in fixes[-MOST:]]
        return [*found, (TURN, dict(turn))] if TURN in topics else found

    def _fixed_calls(self) -> list[dict[str, Any]]:
        """Each failed call, with the arguments of the next call of that tool which did not fail, if there was one."""
        made = []
        for at, (call, result) in enumerate(self.calls):
            if result is not None and result.is_error:
                later = self.calls[at + 1 :]
                put_right = next((c for c, r in later if c.name == call.name and r is not None and not r.is_error), None)
                fix = None if put_right is None else _arguments(put_right)
                made.append(_fix("tool", call.name, _error(result), _arguments(call), fix, put_right is not None))
        return made

    def _fixed_replies(self, reply: str) -> list[dict[str, Any]]:
        """A run that commits ended with a reply that fits."""
        return [
            _fix("schema", schema, reason, given[:LONGEST], reply[:LONGEST], True) for schema, reason, given in self.failed
        ]


def _fix(what: str, name: str, error: str, tried: Any, fix: Any, ok: bool) -> dict[str, Any]:
    return {"what": what, "name": name, "error": error[:LONGEST], "tried": tried, "fix": fix, "ok": ok}


def _told(call: Call, result: Msg | None) -> dict[str, Any]:
    ok = result is not None and not result.is_error
    said = None if result is None else result.content[:LONGEST]
    error = "" if result is None else _error(result)[:LONGEST]
    return {
        "name": call.name, "arguments": _arguments(call), "ok": ok, "result": said if ok else None,
        "error": None if ok else error,
    }  # fmt: skip


def _error(result: Msg) -> str:
    """What a model is told of a failure, without the JSON around it (O-4.27)."""
    from json import loads

    try:
        held = loads(result.content)
    except ValueError:
        return result.content
    error = held.get("error") if isinstance(held, dict) else None
    return error if isinstance(error, str) else result.content


def _arguments(call: Call) -> Any:
    """An object, or the text of what is none; nil for more than LONGEST characters."""
    from json import dumps

    if call.arguments is None:
        return call.text[:LONGEST]
    return call.arguments if len(dumps(call.arguments, ensure_ascii=False)) <= LONGEST else None


# ----------------------------------------------------------------
# The elements of a slot that is a list, each a fact of its own for recall (M-10.38).
#
# The slot is stored as one fact; beside it stand the times of its elements, which stay with an element while the list changes
# around it.

if TYPE_CHECKING:
    Times = list[int]
    """When it was written, last recalled, refreshed: Unix ms."""


def elements_of(fact: Fact) -> list[Fact]:
    """A fact for each element: the text, the times are its own, all else is that of the slot. Itself, when it is no list."""
    if not isinstance(fact.content, list):
        return [fact]
    made, like = [], fact.changed(content=None, elements=())  # all times for each would be their square
    for at, (content, (created, accessed, refreshed)) in enumerate(zip(fact.content, times_of(fact), strict=True)):
        one = like.changed(content=content, created=created, accessed=accessed, refreshed=refreshed)
        one.element, one.vector = at, fact.vector
        made.append(one)
    return made


def times_of(fact: Fact) -> Sequence[Times]:
    """Of each element; those of the slot for a list that was stored without."""
    if len(fact.elements) == len(fact.content):
        return fact.elements
    return [[fact.created, fact.accessed, fact.refreshed] for _ in fact.content]


def carried(before: Fact | None, content: Any, now: int, as_now: Callable[[Any], Any] = lambda stored: None) -> list[Times]:
    """The times of the elements of a list that takes the place of another one: an element that was there keeps its own. `as_now`
    gives what is stored as it is written today, by the type and the redaction of now; no list where it cannot be."""
    if not isinstance(content, list):
        return []
    made: list[Times | None] = [None] * len(content)
    if before is not None and isinstance(before.content, list):
        kept = len(before.content)
        if content_text(content[:kept]) == content_text(before.content):  # a push: nothing to look for
            made[:kept] = times_of(before)
        else:
            left = _given(before.content, content, made, dict(enumerate(times_of(before))))
            if left and None in made and isinstance(again := as_now(before.content), list) and len(again) == len(before.content):
                _given(again, content, made, left)
    return [times or [now, now, now] for times in made]


def _given(held: Sequence[Any], content: Sequence[Any], made: list[Times | None], left: dict[int, Times]) -> dict[int, Times]:
    """Puts the times of elements that are held into `made`, in order; `left`: those of elements that nothing took yet."""
    known: dict[str, list[int]] = defaultdict(list)
    for place in left:
        known[content_text([held[place]])].append(place)
    for at, element in enumerate(content):
        places = known.get(content_text([element])) if made[at] is None else None
        if places:
            made[at] = left.pop(places.pop(0))
    return left


def touched_elements(fact: Fact, found: Sequence[Any], now: int, refreshes: bool) -> list[Times]:
    """The times of all elements when those with these contents were given to somebody."""
    wanted = {content_text([content]) for content in found}
    made = []
    for element, (created, accessed, refreshed) in zip(fact.content, times_of(fact), strict=True):
        if content_text([element]) in wanted:
            accessed, refreshed = now, now if refreshes else refreshed
        made.append([created, accessed, refreshed])
    return made


# ----------------------------------------------------------------
# Observations of a key: what the rules of `learn` look at (M-10.22), numbered per topic, newest kept.
#
# Hands on `Observation`, its JSON form, `next_number` and `surplus`.

KEPT = 1_000
"""Observations of a topic that a key keeps (M-10.23)."""
OBSERVATION_FIELDS = ("topic", "n", "data", "seqs", "trust", "at")


class Observation:
    """`data` is a JSON object; `seqs` are the entries of the turn it tells of, `trust` the lowest of their origins (M-10.21).
    `shown`: what functions of rules are given for it, made once by who gives it."""

    __slots__ = (*OBSERVATION_FIELDS, "shown", "_text")

    def __init__(
        self, topic: str, n: int, data: dict[str, Any], seqs: Sequence[int] = (), trust: str = "program", at: int = 0
    ) -> None:
        self.topic = topic
        self.n = n
        self.data = data
        self.seqs = list(seqs)
        self.trust = trust
        self.at = at
        self.shown: Any = None
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The data as text, the same for the same data."""
        if self._text is None:
            from json import dumps

            self._text = dumps(self.data, sort_keys=True)
        return self._text

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.n

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OBSERVATION_FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]


def observation_of(held: dict[str, Any]) -> Observation:
    """From its JSON form; ValueError, TypeError or KeyError for anything else."""
    made = Observation(**held)
    whole = (made.n, made.at, *made.seqs)
    if any(type(number) is not int for number in whole) or type(made.topic) is not str or type(made.data) is not dict:
        raise ValueError
    if made.trust not in TRUST or made.n < 0:
        raise ValueError
    return made


def of_topic(seen: Sequence[Observation], topic: str) -> list[Observation]:
    """By their numbers."""
    return sorted((one for one in seen if one.topic == topic), key=lambda one: one.n)


def next_number(held: Sequence[Observation]) -> int:
    """`held`: all of the topic."""
    return held[-1].n + 1 if held else 0


def surplus(held: Sequence[Observation]) -> list[tuple[str, int]]:
    """The places of those that leave when one more comes."""
    return [one.place for one in held[: max(0, len(held) + 1 - KEPT)]]
