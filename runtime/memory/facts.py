"""Facts: remembered values beside the log of a key (M-10), their decaying confidence (M-10.18 to M-10.20), and observations that
rules learn from (M-10.22).

Hands on `Fact` and `Observation`, with their tiers (EPHEMERAL, SESSION, PERSISTENT), trusts (TRUST) and the functions that read
them from JSON (`fact_of`, `observation_of`), to memories and stores; TIERS to `policy.py` and `remembering.py`, MESSAGE to
`recall.py` and `remembering.py`, the topics TOOL and FIX to the latter; `Happenings` (what the runtime observes of a run) to
`turns.py`; and pure functions on them, such as `confidence`, `carried` and `touched`, to `remembering.py`, `recall.py` and the
stores; `elements_of` to `fact_index.py`. The tools of a memory (`tools/memory_tools.py`) show facts. The journal
(`journal/store_forms.py`, `journal/store_calls.py`) takes the two, their readers and `said_by`. It relies on no store and writes
nothing; `remembering.py` reads and writes facts, `fact_index.py` and `recall.py` find them.
"""

from __future__ import annotations

from collections import defaultdict

from ...vm.memory_steps import OBSERVED_TOPICS
from ...vm.values import INT_MAX, INT_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ..records import Call, Msg
    from .policy import Decay


EPHEMERAL, SESSION, PERSISTENT = TIERS = ("ephemeral", "session", "persistent")
"""Also the order in which a name is looked up (M-10.7)."""
MESSAGE = "message"
"""In place of a tier: a message of the log, which recall may look at too (M-10.40), as a Fact that is never stored."""
TRUST = ("program", "user", "model", "tool")
"""Highest first (M-10.21)."""
FIELDS = (
    "id", "tier", "name", "content", "about", "c0", "created", "accessed", "refreshed", "trust", "origin", "by", "run", "rule",
    "seqs",
)  # fmt: skip

MOST_ELEMENTS = 1 << 24  # more than a list has elements: only for their order
MOST_FACTS = 1 << 40  # more than numbers of facts get: only for their order


class Fact:
    """A remembered value. `id` is its number among the facts of its key, -1 before it has one; `content` is JSON; `about` are the
    names of its subjects; `c0` is the confidence it was remembered with, from 0 to 1; when it was `created`, last `accessed` and
    `refreshed` is in Unix ms. `tier` is one of TIERS, `trust` one of TRUST. `origin`, `by` and `run` say who wrote it, as those
    of an entry; a rule of `learn` has the origin `rule` and its name in `rule`. `seqs` are the numbers of the entries it derives
    from.

    `task`: of an ephemeral fact, the path of the task that wrote it. `vector`: the label of an embedder and its vector of
    the text, beside the JSON. `elements`: of a slot that is a list, when each element was written, last recalled and
    refreshed; `element`: of a fact that stands for one of them, its place from 0 (M-10.38).
    """

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
        """Return the JSON object of a fact, without task and vector. Its lists are those of the fact."""
        fields = {name: getattr(self, name) for name in FIELDS}
        return fields | {"elements": self.elements} if self.elements else fields

    @property
    def order(self) -> float:
        """The number by which equal hits are ordered: that of the fact. Elements of a list follow behind the number of their
        slot, messages behind all facts."""
        if self.tier == MESSAGE:  # its number is its seq: behind all facts
            return MOST_FACTS + self.id
        return self.id if self.element is None else self.id + self.element / MOST_ELEMENTS

    def changed(self, **fields: Any) -> Fact:
        """Return a copy with these fields. The vector is dropped where name, content or subjects are among them, `element`
        always."""
        # One by one: through `as_json` it would take three times as long, and each recall changes what it finds.
        copy = Fact(
            self.id, self.tier, self.name, self.content, about=self.about, c0=self.c0, created=self.created,
            accessed=self.accessed, refreshed=self.refreshed, trust=self.trust, origin=self.origin, by=self.by, run=self.run,
            rule=self.rule, seqs=self.seqs, task=self.task, elements=self.elements,
        )  # fmt: skip
        for name, value in fields.items():
            setattr(copy, name, value)
        if not {"name", "content", "about"} & fields.keys():
            copy.vector = self.vector
        return copy

    @property
    def text(self) -> str:
        """What recall compares (M-10.8): name, content and subjects, each text on a line; of a message (MESSAGE) its content."""
        if self.tier == MESSAGE:
            return str(self.content)
        return "\n".join([self.name, *_words_in(self.content), *self.about])


def _words_in(content: Any) -> Iterator[str]:
    """Yield the texts of a content: a String as it is, fields and values of everything else, without the signs of JSON."""
    todo = [content]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            # A stack, so the order of the fields is reversed; no recursion, however deep the value.
            todo += [piece for name in sorted(part, reverse=True) for piece in (part[name], name)]
        elif isinstance(part, list):
            todo += reversed(part)
        else:
            yield content_text(part)


def content_text(content: Any) -> str:
    """Return a String as it is, everything else as JSON."""
    if isinstance(content, str):
        return content
    from json import dumps

    return dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def touched(stored: Fact | None, fact: Fact) -> Fact | None:
    """Return a copy of the stored fact with the later times of both and the vector of `fact`, or its own where that has none.
    None where nothing is stored, or where it differs in anything but times: an access must not undo what another has written."""
    if stored is None or _saying(stored) != _saying(fact):
        return None
    updated = stored.changed(accessed=max(stored.accessed, fact.accessed), refreshed=max(stored.refreshed, fact.refreshed))
    updated.vector = fact.vector or stored.vector
    # The later time of each wins: two readers may note their accesses in any order.
    if len(fact.elements) == len(stored.elements):
        updated.elements = [list(map(max, *times)) for times in zip(stored.elements, fact.elements, strict=True)]
    elif fact.elements:
        updated.elements = fact.elements
    return updated


def _saying(fact: Fact) -> tuple[Any, ...]:
    times = ("accessed", "refreshed", "content", "elements")
    others = {name: value for name, value in fact.as_json().items() if name not in times}
    return others, said_by(fact)


def said_by(fact: Fact | None) -> str:
    """Return what tells contents apart, "" for no fact: the JSON text, in which 1 and 1.0 and orders of entries differ."""
    from json import dumps

    return "" if fact is None else dumps(fact.content, ensure_ascii=False, separators=(",", ":"))


def fact_of(stored: dict[str, Any]) -> Fact:
    """Return the fact of its JSON object. Raises ValueError or TypeError for anything else; the content is not looked into."""
    fact = Fact(**stored)
    if type(stored.get("about", [])) is not list or type(fact.c0) not in (int, float):
        raise ValueError
    if any(type(text) not in (str, type(None)) for text in (fact.by, fact.run, fact.rule, fact.task)):
        raise ValueError
    whole = (fact.id, fact.created, fact.accessed, fact.refreshed, *fact.seqs)
    texts = (fact.name, fact.trust, fact.origin, *fact.about)
    if not all(map(_is_whole, whole)) or any(type(text) is not str for text in texts):
        raise ValueError
    if not all(map(_is_times, fact.elements)):
        raise ValueError
    if fact.tier not in TIERS or fact.trust not in TRUST or not 0 <= fact.c0 <= 1:
        raise ValueError
    return fact


def _is_whole(number: Any) -> bool:
    """Whether this is an Int of the language, which every store has room for."""
    return type(number) is int and INT_MIN <= number <= INT_MAX


def _is_times(times: Any) -> bool:
    return type(times) is list and len(times) == 3 and all(map(_is_whole, times))


def lowest(trusts: Sequence[str]) -> str:
    """Return the trust of what derives from all of these, at least one (M-10.21); an unknown source counts as the least
    trusted."""
    # TRUST is ordered from the highest to the lowest, so the largest index is the least trusted.
    return max(trusts, key=lambda trust: TRUST.index(trust) if trust in TRUST else len(TRUST) - 1)


def confidence(fact: Fact, decay: Decay | None, now: int) -> float:
    """Return the confidence of a fact, from 0 to 1, at the time `now` in Unix ms (M-10.18). Only persistent facts decay:
    linearly, by `rate` per `per` ms since they were refreshed, and not below `floor` unless they began below it."""
    if decay is None or fact.tier != PERSISTENT:
        return fact.c0
    faded = fact.c0 - decay.rate * max(0, now - fact.refreshed) / decay.per
    return max(min(decay.floor, fact.c0), faded)


def archived(fact: Fact, decay: Decay | None, now: int) -> bool:
    """Return whether a fact has decayed so far at the time `now`, in Unix ms, that recall leaves it out unless it is asked for
    (M-10.20)."""
    return decay is not None and fact.tier == PERSISTENT and confidence(fact, decay, now) < decay.archive_below


# What the runtime observes of a run by itself (M-10.43): its turn, its tool calls, and failures that were corrected in it.

if TYPE_CHECKING:
    Observed = tuple[str, dict[str, Any]]
    """Topic and data."""

TURN, TOOL, FIX = OBSERVED_TOPICS
MOST = 64
"""At most so many observations of a topic come from one turn: the newest."""
LONGEST = 1_000
"""Characters of a text in them, once it is redacted; more of arguments is left out."""


def cut(topic: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an observation of calls or failures with at most LONGEST characters of each value that is a text; that
    of a turn as it is."""
    return data if topic == TURN else {name: part[:LONGEST] if isinstance(part, str) else part for name, part in data.items()}


class Happenings:
    """Tool calls and refused replies of one run, over all its attempts: `calls` with their results, None for an interrupted one,
    and `failed` as (schema, reason, reply)."""

    __slots__ = ("calls", "failed")

    def __init__(self) -> None:
        self.calls: list[tuple[Call, Msg | None]] = []
        self.failed: list[tuple[str, str, str]] = []

    def called(self, calls: Sequence[Call], results: Sequence[Msg]) -> None:
        """Note calls of one round with their results; a call without result was interrupted."""
        by_id = {result.call_id: result for result in results}
        self.calls += [(call, by_id.get(call.id)) for call in calls]

    def refused(self, schema: str, reason: str, reply: str) -> None:
        """Note a reply that does not fit its schema (M-5.4)."""
        self.failed.append((schema, reason, reply))

    def observed(self, topics: frozenset[str], turn: Mapping[str, Any]) -> list[Observed]:
        """Return topic and data of each observation of the run under one of `topics`, in the order in which rules look at them:
        calls, failures (the newest MOST of each), the turn. `turn` is the data of the turn, which has at least `model` and
        `reply`. Texts are whole: `cut` is for those that are redacted."""
        observations: list[Observed] = []
        if TOOL in topics:
            observations += [(TOOL, {**_call_data(call, result), "model": turn["model"]}) for call, result in self.calls][-MOST:]
        if FIX in topics:
            fixes = [*self._fixed_calls(), *self._fixed_replies(turn["reply"])]
            observations += [(FIX, {**fix, "model": turn["model"]}) for fix in fixes[-MOST:]]
        return [*observations, (TURN, dict(turn))] if TURN in topics else observations

    def _fixed_calls(self) -> list[dict[str, Any]]:
        """Return the newest MOST failed calls, each with the arguments of the next successful call of the same tool, if there was
        one."""
        fixes: list[dict[str, Any]] = []
        successful: dict[str, Call] = {}  # the next one, by tool
        for call, result in reversed(self.calls):
            if len(fixes) == MOST:
                break
            if result is not None and result.is_error:
                later = successful.get(call.name)
                fix = None if later is None else _arguments(later)
                fixes.append(_fix("tool", call.name, _error(result), _arguments(call), fix, later is not None))
            elif result is not None:
                successful[call.name] = call
        fixes.reverse()
        return fixes

    def _fixed_replies(self, reply: str) -> list[dict[str, Any]]:
        """Return each refused reply with the reply that fits: a run that commits has ended with one."""
        return [_fix("schema", schema, reason, refused, reply, True) for schema, reason, refused in self.failed]


def _fix(what: str, name: str, error: str, tried: Any, fix: Any, ok: bool) -> dict[str, Any]:
    return {"what": what, "name": name, "error": error, "tried": tried, "fix": fix, "ok": ok}


def _call_data(call: Call, result: Msg | None) -> dict[str, Any]:
    ok = result is not None and not result.is_error
    text = result.content if ok and result is not None else None
    error = None if ok else "" if result is None else _error(result)
    return {"name": call.name, "arguments": _arguments(call), "ok": ok, "result": text, "error": error}


def _error(result: Msg) -> str:
    """Return what a model is told of a failure, without the JSON around it (O-4.27)."""
    from json import loads

    try:
        data = loads(result.content)
    except (ValueError, RecursionError):
        return result.content
    error = data.get("error") if isinstance(data, dict) else None
    return error if isinstance(error, str) else result.content


def _arguments(call: Call) -> Any:
    """Return the arguments as an object, or their text where they are none; None for more than LONGEST characters of
    JSON."""
    from json import dumps

    if call.arguments is None:
        return call.text
    return call.arguments if len(dumps(call.arguments, ensure_ascii=False)) <= LONGEST else None


# The elements of a slot that is a list, each a fact of its own for recall (M-10.38). The slot is stored as one fact; beside it
# stand the times of its elements, which stay with an element while the list changes around it.

if TYPE_CHECKING:
    Times = list[int]
    """When it was written, last recalled, refreshed: Unix ms."""


def elements_of(fact: Fact) -> list[Fact]:
    """Return a fact for each element of a slot that is a list, with its own content and times; all else is that of the slot.
    For any other fact return a list of that fact alone."""
    if not isinstance(fact.content, list):
        return [fact]
    # The template has no `elements`: a copy of all times in each would grow with the square of the list.
    elements, template = [], fact.changed(content=None, elements=())
    for at, (content, (created, accessed, refreshed)) in enumerate(zip(fact.content, times_of(fact), strict=True)):
        one = template.changed(content=content, created=created, accessed=accessed, refreshed=refreshed)
        one.element, one.vector = at, fact.vector
        elements.append(one)
    return elements


def times_of(fact: Fact) -> Sequence[Times]:
    """Return the times of each element of a fact whose content is a list; those of the fact for a list that was stored
    without."""
    if len(fact.elements) == len(fact.content):
        return fact.elements
    return [[fact.created, fact.accessed, fact.refreshed] for _ in fact.content]


def carried(before: Fact | None, content: Any, now: int, as_now: Callable[[Any], Any] = lambda stored: None) -> list[Times]:
    """Return the times of the elements of the list `content`, which replaces that of the fact `before`: an element that was in it
    keeps its own, a new one has `now` (Unix ms) for all three. Return an empty list where `content` is no list. `as_now` returns
    the stored content in the form of today, by the type and the redaction of now; no list where that cannot be done."""
    if not isinstance(content, list):
        return []
    found_times: list[Times | None] = [None] * len(content)
    if before is not None and isinstance(before.content, list):
        length = len(before.content)
        if content_text(content[:length]) == content_text(before.content):  # a push: nothing to look for
            found_times[:length] = times_of(before)
        else:
            rest = _match(before.content, content, found_times, dict(enumerate(times_of(before))))
            again = as_now(before.content) if rest and None in found_times else None
            if isinstance(again, list) and len(again) == len(before.content):
                _match(again, content, found_times, rest)
    return [times or [now, now, now] for times in found_times]


def _match(
    stored: Sequence[Any], content: Sequence[Any], found_times: list[Times | None], rest: dict[int, Times]
) -> dict[int, Times]:
    """Move the times of stored elements into `found_times`, at the places of equal elements of `content`, in order.
    `rest` holds the times, by place, that no element has taken yet; it is returned."""
    known: dict[str, list[int]] = defaultdict(list)
    for place in rest:
        known[content_text([stored[place]])].append(place)
    for at, element in enumerate(content):
        places = known.get(content_text([element])) if found_times[at] is None else None
        if places:
            found_times[at] = rest.pop(places.pop(0))
    return rest


def touched_elements(fact: Fact, recalled: Sequence[Any], now: int, refreshes: bool) -> list[Times]:
    """Return the times of all elements of a slot that is a list, after those with these contents were recalled at `now` (Unix
    ms); `refreshes` says whether that refreshes them too. The fact is not changed."""
    texts = {content_text([content]) for content in recalled}
    times = []
    for element, (created, accessed, refreshed) in zip(fact.content, times_of(fact), strict=True):
        if content_text([element]) in texts:
            accessed, refreshed = now, now if refreshes else refreshed
        times.append([created, accessed, refreshed])
    return times


# Observations of a key: what the rules of `learn` look at (M-10.22), numbered per topic, the newest kept.

KEPT = 1_000
"""Observations of a topic that a key keeps (M-10.23)."""
OBSERVATION_FIELDS = ("topic", "n", "data", "seqs", "trust", "at")


class Observation:
    """What the rules of `learn` look at. `n` is its number in its topic, from 0; `data` is a JSON object; `seqs` are the entries
    of the turn that it describes, `trust` the lowest of their origins (M-10.21), `at` Unix ms. `shown`: its value for functions
    of rules, made once."""

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
        """Topic and number."""
        return self.topic, self.n

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of an observation, without `shown`."""
        return {name: getattr(self, name) for name in OBSERVATION_FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]


def observation_of(stored: dict[str, Any]) -> Observation:
    """Return the observation of its JSON object. Raises ValueError or TypeError for anything else."""
    observation = Observation(**stored)
    whole = (observation.n, observation.at, *observation.seqs)
    if not all(map(_is_whole, whole)):
        raise ValueError
    if type(observation.topic) is not str or type(observation.data) is not dict:
        raise ValueError
    if observation.trust not in TRUST or observation.n < 0:
        raise ValueError
    return observation


def of_topic(seen: Sequence[Observation], topic: str) -> list[Observation]:
    """Return the observations of a topic by their numbers."""
    return sorted((one for one in seen if one.topic == topic), key=lambda one: one.n)


def next_number(of_topic: Sequence[Observation]) -> int:
    """Return the number of the next observation. `of_topic`: all of its topic, by number."""
    return of_topic[-1].n + 1 if of_topic else 0


def surplus(of_topic: Sequence[Observation]) -> list[tuple[str, int]]:
    """Return the places of those that leave when one more comes. `of_topic`: all of its topic, by number."""
    return [one.place for one in of_topic[: max(0, len(of_topic) + 1 - KEPT)]]
