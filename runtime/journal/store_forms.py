"""What crosses the border to a store, as plain data and back: the outcomes of its methods, and their arguments for comparing
(G-14.1).

Hands on `METHODS` and `INDEX_METHODS`, the forms of outcomes by the names of methods, and `asked`, which gives arguments a plain
form, to `store_calls.py`; and `failure_form` and `failure_of` for the FAILURES that stores raise, with the type `OfMethod`, to
`stores.py`. Entries, facts and the like have here the JSON that dumps have (`memory/entries.py`, `memory/facts.py`), with
contents of media and vectors beside it.
"""

from __future__ import annotations

from hashlib import sha256

from ...vm.values.containers import base64_of, from_base64
from ..memory.entries import Entry, Turn, ViewState, contents_of, entry_json, entry_of, filled
from ..memory.facts import Fact, Observation, fact_of, observation_of
from ..memory.failures import MemoryFailure
from ..memory.stores.protocol import Batch, Head
from ..memory.stores.rows import MOST, check_entry, check_fact, check_seen, check_turn, check_view, head_of
from ..search.index import Document, Hit
from ..search.search_tables import SearchFailure
from .forms import failure_form as of_call
from .forms import failure_of as call_failure_of
from .rows import JournalRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Json = Any
    OfMethod = tuple[Callable[[Any], Json], Callable[[Json], Any]]
    """What gives the plain form of an outcome, and what gives the outcome of that again."""


# ---------------------------------------------------------------- outcomes


def _bytes(text: Json) -> bytes:
    data = from_base64(text)
    if not isinstance(data, bytes):
        raise JournalRefused("holds bytes that are none")
    return data


def entries_form(entries: Sequence[Entry]) -> Json:
    """Return entries with the contents of their media."""
    form: dict[str, Json] = {"entries": [entry_json(entry) for entry in entries]}
    contents = contents_of(entries)
    return {**form, "media": {one: base64_of(data) for one, data in contents.items()}} if contents else form


def entries_of(form: Json) -> list[Entry]:
    """Return the entries of `entries_form`. Raises JournalRefused for contents of media that are not base64; MemoryFailure and
    others as `entry_of` for an entry that is none."""
    media = form.get("media", {})
    entries = [check_entry(entry_of(entry)) for entry in form["entries"]]
    return filled(entries, lambda hashes: {one: _bytes(media[one]) for one in hashes if one in media})


def fact_form(fact: Fact) -> Json:
    """Return a fact with its vector and its task."""
    form: dict[str, Json] = fact.as_json()
    if fact.vector is not None:
        form["vector"] = [fact.vector[0], base64_of(fact.vector[1])]
    return form if fact.task is None else {**form, "task": fact.task}


def facts_of(forms: Json) -> list[Fact]:
    """Return the facts of their forms. Raises JournalRefused for a vector that is not base64, and as `fact_of` for a fact that is
    none."""
    facts = []
    for form in forms:
        fields = dict(form)
        vector = fields.pop("vector", None)
        fact = check_fact(fact_of(fields))
        if vector is not None:
            fact.vector = vector[0], _bytes(vector[1])
        facts.append(fact)
    return facts


def _facts_form(facts: Sequence[Fact]) -> Json:
    return [fact_form(fact) for fact in facts]


def _as_json(values: Sequence[Any]) -> Json:
    return [value.as_json() for value in values]


def _as_it_is(value: Any) -> Any:
    return value


def _all_of(*kinds: type) -> Callable[[Json], Any]:
    """Return what reads a list of plain data of these types. It raises TypeError for another one."""

    def read(forms: Json) -> Any:
        if type(forms) is not list or any(type(form) not in kinds for form in forms):
            raise TypeError
        return forms

    return read


def _truth_of(form: Json) -> bool:
    if type(form) not in (bool, int, type(None)):
        raise TypeError
    return bool(form)


def _owner_of(form: Json) -> str | None:
    if type(form) not in (str, type(None)):
        raise TypeError
    owner: str | None = form
    return owner


names_of, numbers_of, parts_of = _all_of(str), _all_of(int), _all_of(str, int)
NAMES: OfMethod = (_as_it_is, names_of)
NUMBERS: OfMethod = (_as_it_is, numbers_of)
TRUTH: OfMethod = (bool, _truth_of)  # a store of the host may give another value that counts as one
NOTHING: OfMethod = (lambda value: None, lambda form: None)

# By method of a store (`memory/stores/protocol.py`). `open` gives the names of the optional methods that a store has, `died`
# whether the holder of a lease is over, `index` what has changed in its index since the operation before that looked there. What
# is read is checked as what comes from a store, and raises as `entries_of`. Which methods there are, and which of them change a
# store, is told to the journal in `store_calls.py` (ALWAYS, OPTIONAL, CHANGING).
METHODS: dict[str, OfMethod] = {
    "open": NAMES,
    "head": (lambda head: list(head.values()), head_of),
    "entries": (entries_form, entries_of),
    "turns": (_as_json, lambda forms: [check_turn(Turn(**form)) for form in forms]),
    "views": (
        lambda states: _as_json(list(states.values())),
        lambda forms: {form["name"]: check_view(ViewState(**form)) for form in forms},
    ),
    "facts": (_facts_form, facts_of),
    "seen": (_as_json, lambda forms: [check_seen(observation_of(form)) for form in forms]),
    "keys": (lambda keys: [list(key) for key in keys], lambda forms: [tuple(parts_of(form)) for form in forms]),
    "index": (lambda change: [_facts_form(change[0]), change[1]], lambda form: (facts_of(form[0]), numbers_of(form[1]))),
    "candidates": NUMBERS,
    "holder": (_as_it_is, _owner_of),
    **dict.fromkeys(("commit", "swap", "acquire", "died"), TRUTH),
    **dict.fromkeys(("remove", "expire", "keep", "touch", "release"), NOTHING),
}


def _document_form(document: Document | None) -> Json:
    if document is None:
        return None
    vector = None if document.vector is None else base64_of(document.vector)
    return [document.id, document.text, document.value, document.label, vector]


def _document_of(form: Json) -> Document | None:
    if form is None:
        return None
    id, text, value, label, vector = form
    names_of([id, text, value, label])
    return Document(id, text, value, label, None if vector is None else _bytes(vector))


def _hit_of(form: Json) -> Hit:
    *texts, score = form
    id, value, text = names_of(texts)
    if type(score) is not float or not 0 < score <= 1:
        raise ValueError
    return Hit(id, value, text, score)


def _count_of(form: Json) -> int:
    if type(form) is not int or not 0 <= form < MOST:
        raise ValueError
    return form


_PLACED: OfMethod = (
    lambda found: [[place, _document_form(document)] for place, document in found],
    lambda forms: [(_count_of(place), _document_of(form)) for place, form in forms],
)

# By method of a search index (`search/index.py`).
INDEX_METHODS: dict[str, OfMethod] = {
    "get": (_document_form, _document_of),
    "search": (
        lambda hits: [[hit.id, hit.value, hit.text, hit.score] for hit in hits], lambda forms: [_hit_of(form) for form in forms],
    ),
    "lacking": _PLACED,
    "documents": _PLACED,
    "open": NAMES,
    **dict.fromkeys(("remove", "len"), (_as_it_is, _count_of)),
    **dict.fromkeys(("put", "embed", "clear"), NOTHING),
}  # fmt: skip


# ---------------------------------------------------------------- failures

FAILURES = (MemoryFailure, SearchFailure, OSError)
"""What methods of stores and of search indexes raise."""


def failure_form(failure: BaseException) -> Json:
    """Return one of FAILURES as plain data."""
    if isinstance(failure, MemoryFailure):
        return {"memory": of_call(failure)}
    if isinstance(failure, SearchFailure):
        return {"search": [failure.kind, failure.message]}
    return {"os": str(failure)}


def failure_of(form: Json) -> Exception:
    """Return the failure of plain data. Raises JournalRefused for that of a memory which is none, LookupError or TypeError for
    other data."""
    if "memory" in form:
        failure = call_failure_of(form["memory"])
        return MemoryFailure(str(failure.variant), failure.message, **failure.fields)
    return SearchFailure(*form["search"]) if "search" in form else OSError(form["os"])


# ---------------------------------------------------------------- arguments


def asked(value: Any) -> Json:
    """Return an argument of a method as plain data, which differs where the method is asked for something else. Contents of media
    are told apart by the hashes in their entries."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, bytes):
        return {"bytes": sha256(value).hexdigest()[:32]}
    if isinstance(value, (list, tuple)):
        return [asked(part) for part in value]
    if isinstance(value, dict):
        return {str(name): asked(part) for name, part in value.items()}
    if isinstance(value, Entry):
        return entry_json(value)
    if isinstance(value, Fact):
        return [value.as_json(), asked(value.vector)]
    if isinstance(value, (Turn, ViewState, Observation)):
        return value.as_json()
    if isinstance(value, Head):
        return list(value.values())
    if isinstance(value, Batch):
        return {name: asked(getattr(value, name)) for name in Batch.__slots__}
    assert isinstance(value, Document), "there is nothing else in the methods of a store or an index"
    return asked([value.id, value.text, value.value, value.label, value.vector])
