"""Facts of the direct API over values of the machine (M-10.5 to M-10.7).

Each function has the facts a task sees first, then the checked arguments. Must not know: the machine, how a memory is found.
"""

from __future__ import annotations

from ...vm.values import NONE, Array, Provenance, Some, from_json
from ...vm.values import Fact as FactValue
from ..translation import to_plain
from .errors import InvalidValue
from .facts import PERSISTENT
from .learning import observe
from .remembering import Facts, check_fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .facts import Fact
    from .memory import Memory
    from .recalling import Found


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
    """The JSON form of a content or of the data of an observation (P452 without one)."""
    from json import dumps

    try:
        held = to_plain(value)
        dumps(held, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"what a memory keeps has a JSON form; this does not ({error})") from None
    return held


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


def _put_slot(facts: Facts, tier: str, name: str, content: Any) -> Any:
    """The content that is stored now."""
    fact = facts.drafted(name, content_of(content), tier=tier, named=False)
    fact.name = name  # a redactor rewrites what is said, not what it is called by
    facts.keep(fact)
    return fact.content


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
}
