"""Facts of the direct API over values of the machine (M-10.5 to M-10.7).

Each function has the facts a task sees first, then the checked arguments. Must not know: the machine, how a memory is found.
"""

from __future__ import annotations

from ...vm.values import (
    NONE,
    Array,
    EnumValue,
    Err,
    Map,
    Ok,
    Provenance,
    RangeValue,
    Set,
    Some,
    Struct,
    from_json,
    to_json,
    typeof,
)
from ...vm.values import Fact as FactValue
from ...vm.values.containers import Queue, Stack
from ...vm.values.metering import paced
from .entries import InvalidValue
from .facts import PERSISTENT
from .remembering import Facts, check_fact, observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .facts import Fact
    from .memory import Memory
    from .recall import Found


def fact_value(found: Found) -> Any:
    fact = found.fact
    provenance = Provenance.of((fact.origin, fact.by, fact.run, fact.rule, Array(list(fact.seqs))))
    return FactValue.of(
        (
            fact.id, fact.name, from_json(fact.content), fact.tier, found.relevance, found.recency, found.confidence,
            found.score, fact.created, fact.accessed, found.archived, fact.trust, provenance,
        )
    )  # fmt: skip


def content_of(value: Any) -> Any:
    """The JSON form of a content or of the data of an observation (P452 without one): of structs, schemas and enums that of
    L-5.1, as `json::stringify` gives it."""
    from json import loads

    if type(value) is Array and set(map(type, value.items)) == {str} and _is_text(value.items):
        return list(value.items)
    offending = _without_form(value)
    if offending is not None:
        raise InvalidValue(f"what a memory keeps has a JSON form; this does not ({offending})")
    return loads(to_json(value))


def _is_text(strings: Sequence[str]) -> bool:
    """Whether none of them holds a surrogate, two of which JSON makes one character of."""
    try:
        for one in paced(strings):
            if not one.isascii():
                one.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_form(value: Any) -> str | None:
    """What in it JSON could only show as a text, or not at all."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, (Array, Set, Queue, Stack)):
            todo += one.items.values() if isinstance(one, Set) else one.items
        elif isinstance(one, Map):
            todo += one.items.values()
        elif isinstance(one, tuple):
            todo += one
        elif isinstance(one, Struct):
            todo += one.values()
        elif isinstance(one, EnumValue):
            todo += one.payload or ()
        elif isinstance(one, (Some, Ok, Err)):
            todo.append(one.value)
        elif isinstance(one, float) and one - one != 0:
            return "a Float that is no number"
        elif not (one is None or one is NONE or isinstance(one, (str, int, float, bytes, RangeValue))):
            return typeof(one)
    return None


def checked(arguments: Sequence[Any], memory: str, keeps: bool) -> list[Any]:
    """The arguments of `remember`, of which nothing is wrong when a log begins with them."""
    name, content, confidence, tier, about, seqs = arguments
    check_fact(confidence, None if tier is None else tier.lower(), memory, keeps)
    return [name, from_json(content_of(content)), confidence, tier, about, seqs]


def initial_facts(memory: Memory, given: Sequence[Sequence[Any]]) -> list[Fact]:
    """Those of the store, for the commit that begins a log; the others are there at once."""
    begun = Facts(memory)
    made: dict[tuple[str, str], Fact] = {}
    for arguments in given:
        fact = drafted(begun, *arguments)
        made[fact.tier, fact.name] = fact
    for number, fact in enumerate(made.values()):
        fact.id = number
    memory.session.keep(memory.key, memory.now(), [fact for fact in made.values() if fact.tier != PERSISTENT], ())
    return [fact for fact in made.values() if fact.tier == PERSISTENT]


def _items(given: Array | None) -> list[Any]:
    return [] if given is None else list(given.items)


def drafted(
    facts: Facts, name: str, content: Any, confidence: float, tier: str | None, about: Array | None, seqs: Array | None
) -> Fact:
    """The fact that `remember` says, without a number yet."""
    word = None if tier is None else tier.lower()
    return facts.drafted(name, content_of(content), confidence, word, _items(about), _items(seqs))


def _recall(
    facts: Facts, query: str, k: int, tiers: Array | None, min_confidence: float, archived: bool, touch: bool
) -> Array:
    words = None if tiers is None else [word.lower() for word in tiers.items]
    return Array([fact_value(found) for found in facts.recall(query, k, words, min_confidence, archived, touch)])


def _fact(facts: Facts, name: str) -> Any:
    found = facts.fact(name)
    return NONE if found is None else Some(fact_value(found))


def _relate(facts: Facts, a: str, relation: str, b: str) -> None:
    said = f"{a} {relation} {b}"
    facts.keep(facts.drafted(said, said, about=[a, b]))


def _observe(facts: Facts, topic: str, data: Any) -> None:
    observe(facts, topic, content_of(data))


def _slot_fact(facts: Facts, tier: str, name: str, content: Any) -> Fact:
    fact = facts.drafted(name, content_of(content), tier=tier, named=False)
    fact.name = name  # a redactor rewrites what is said, not what it is called by
    return fact


def _as_now(facts: Facts, decoded: Callable[[Any], Any]) -> None:
    """`decoded`: the value of what is stored, None where it does not fit its type."""
    facts.as_now = lambda stored: content_of(decoded(stored))


def _put_slot(facts: Facts, tier: str, name: str, content: Any, decoded: Callable[[Any], Any]) -> Any:
    """The content that is stored now."""
    _as_now(facts, decoded)
    fact = _slot_fact(facts, tier, name, content)
    facts.keep(fact)
    return fact.content


def _swap_slot(
    facts: Facts, tier: str, name: str, content: Any, said: str, decoded: Callable[[Any], Any]
) -> list[Any]:
    """The content that is stored now; empty, and nothing was stored, when another has written it since it was seen."""
    _as_now(facts, decoded)
    fact = _slot_fact(facts, tier, name, content)
    return [fact.content] if facts.swap(fact, said) else []


FACT_METHODS: dict[str, Any] = {
    "remember": lambda facts, *arguments: facts.keep(drafted(facts, *arguments)),
    "recall": _recall,
    "fact": _fact,
    "confirm": lambda facts, name: facts.confirm(name),
    "forget": lambda facts, name: facts.forget(name),
    "relate": _relate,
    "observe": _observe,
    "neighbors": lambda facts, entity, relation, direction: Array(
        facts.neighbors(entity, relation, "both" if direction is None else direction.lower())
    ),
    "slots": lambda facts, wanted: facts.slots(wanted),
    "put_slot": _put_slot,
    "seen_slot": lambda facts, tier, name: facts.seen_slot(tier, name),
    "swap_slot": _swap_slot,
}
