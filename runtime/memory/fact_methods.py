"""The methods of facts with values of the machine (M-10.5 to M-10.7), and the slots of a context: declared variables, of which
each is stored as a fact of its name.

Hands on `FACT_METHODS` for `methods.py`: each function takes the facts that a task sees and then the checked arguments. Also
`checked` and `initial_facts` (what a log begins with) for `memories.py`, `drafted` (the fact of a `remember`) for
`effects/memories.py`, which asks for its vector before it is stored, and `content_of` (the JSON of a value) for
`effects/step_machine.py`, where the functions of rules run. The work itself is done by `remembering.Facts`, which says what is
raised. A new method of facts gets its row in `vm/builtins/memories.py` and its function here.
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
from .facts import PERSISTENT
from .failures import WAY_OUT, InvalidValue, corrupt
from .keys import shown
from .remembering import Facts, check_fact, observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .facts import Fact
    from .memory import Memory
    from .recall import Found


def fact_value(facts: Facts, hit: Found) -> Any:
    """Return the `Fact` value of a hit. Raises MemoryFailure("Corrupt") for a content that no value has."""
    fact = hit.fact
    try:
        content = from_json(fact.content)
    except ValueError as error:  # a number beyond Float
        raise corrupt(f"{shown(facts.memory.key)}: the fact {fact.name}: {error}; forget it, or {WAY_OUT}") from None
    provenance = Provenance.of((fact.origin, fact.by, fact.run, fact.rule, Array(list(fact.seqs))))
    return FactValue.of(
        (
            fact.id, fact.name, content, fact.tier, hit.relevance, hit.recency, hit.confidence,
            hit.score, fact.created, fact.accessed, hit.archived, fact.trust, provenance,
        )
    )  # fmt: skip


def content_of(value: Any) -> Any:
    """Return the JSON form of a content, or of the data of an observation, as plain data; structs, schemas and enums are in it
    as `json::stringify` writes them (L-5.1). Raises InvalidValue (P452) for a value without one, and panic P103 for one beyond
    the limits of JSON."""
    from json import loads

    if type(value) is Array and set(map(type, value.items)) == {str} and _is_text(value.items):
        return list(value.items)
    offending = _without_form(value)
    if offending is not None:
        raise InvalidValue(f"what a memory keeps has a JSON form; this does not ({offending})")
    return loads(to_json(value))


def _is_text(strings: Sequence[str]) -> bool:
    """Whether no string holds a surrogate: JSON would make one character of two of them."""
    try:
        for one in paced(strings):
            if not one.isascii():
                one.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_form(value: Any) -> str | None:
    """Return what in the value JSON cannot hold, or only as a text; None when there is nothing."""
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
    """Return the arguments of `remember` for a log to begin with, with a copy of the content, made anew of its JSON form. Raises
    InvalidValue for a wrong confidence or tier, and as `content_of`. `memory` is the name of the memory, `keeps` says whether it
    has a store."""
    name, content, confidence, tier, about, seqs = arguments
    check_fact(confidence, None if tier is None else tier.lower(), memory, keeps)
    return [name, from_json(content_of(content)), confidence, tier, about, seqs]


def initial_facts(memory: Memory, statements: Sequence[Sequence[Any]]) -> list[Fact]:
    """Store the facts that a log begins with and that end with the session at once, and return its persistent ones, for the
    commit that begins it. All are numbered from 0. `statements` are arguments that `checked` returned; of several facts of one
    tier and name the last counts. Raises as `drafted`."""
    facts = Facts(memory)
    by_name: dict[tuple[str, str], Fact] = {}
    for arguments in statements:
        fact = drafted(facts, *arguments)
        by_name[fact.tier, fact.name] = fact
    for number, fact in enumerate(by_name.values()):
        fact.id = number
    memory.session.keep(memory.key, memory.now(), [fact for fact in by_name.values() if fact.tier != PERSISTENT], ())
    return [fact for fact in by_name.values() if fact.tier == PERSISTENT]


def _items(array: Array | None) -> list[Any]:
    return [] if array is None else list(array.items)


def drafted(
    facts: Facts, name: str, content: Any, confidence: float, tier: str | None, about: Array | None, seqs: Array | None
) -> Fact:
    """Return the fact that arguments of `remember` describe, without a number yet; nothing is stored. Raises as `content_of`
    and `Facts.drafted`."""
    word = None if tier is None else tier.lower()
    return facts.drafted(name, content_of(content), confidence, word, _items(about), _items(seqs))


def _recall(
    facts: Facts, query: str, k: int, tiers: Array | None, min_confidence: float, archived: bool, touch: bool
) -> Array:
    words = None if tiers is None else [word.lower() for word in tiers.items]
    return Array([fact_value(facts, hit) for hit in facts.recall(query, k, words, min_confidence, archived, touch)])


def _fact(facts: Facts, name: str) -> Any:
    hit = facts.fact(name)
    return NONE if hit is None else Some(fact_value(facts, hit))


def _relate(facts: Facts, a: str, relation: str, b: str) -> None:
    sentence = f"{a} {relation} {b}"
    facts.keep(facts.drafted(sentence, sentence, about=[a, b]))


def _observe(facts: Facts, topic: str, data: Any) -> None:
    observe(facts, topic, content_of(data))


def _slot_fact(facts: Facts, tier: str, name: str, content: Any) -> Fact:
    fact = facts.drafted(name, content_of(content), tier=tier, named=False)
    fact.name = name  # a redactor rewrites contents, and never the name of a slot
    return fact


def _as_now(facts: Facts, decoded: Callable[[Any], Any]) -> None:
    """Set how the stored content is read. `decoded` returns its value, None where it does not fit its type."""
    facts.as_now = lambda stored: content_of(decoded(stored))


def _put_slot(facts: Facts, tier: str, name: str, content: Any, decoded: Callable[[Any], Any]) -> Any:
    """Store a slot and return the content that is stored now."""
    _as_now(facts, decoded)
    fact = _slot_fact(facts, tier, name, content)
    facts.keep(fact)
    return fact.content


def _swap_slot(
    facts: Facts, tier: str, name: str, content: Any, said: str, decoded: Callable[[Any], Any]
) -> list[Any]:
    """Store a slot unless another has written it since it was seen; return the stored content in a list, empty when
    nothing was stored."""
    _as_now(facts, decoded)
    fact = _slot_fact(facts, tier, name, content)
    return [fact.content] if facts.swap(fact, said) else []


def _put_table(facts: Facts, put: list[tuple[str, Any]], gone: list[str]) -> None:
    """Write and remove entries of a hashmap in one transaction; names that are not there are removed already."""
    facts.keep_all([_slot_fact(facts, PERSISTENT, name, content) for name, content in put], gone)


# What they give: `recall` an Array of Fact values, best first; `fact` an Option of one; `confirm` and `forget` whether there was
# such a fact; `neighbors` an Array of (entity, number of facts); `slots` a list for each place, with the content or empty;
# `seen_slot` such a list, and the text that `swap_slot` takes as `said`; `table` (name, content) of each fact; the others what
# their functions above return, or nothing.
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
    "slots": lambda facts, places: facts.slots(places),
    "put_slot": _put_slot,
    "seen_slot": lambda facts, tier, name: facts.seen_slot(tier, name),
    "swap_slot": _swap_slot,
    # of the memory that holds the entries of a hashmap (O-5.41)
    "table": lambda facts: [(fact.name, fact.content) for fact in facts.memory.stored_facts()],
    "put_table": _put_table,
}
