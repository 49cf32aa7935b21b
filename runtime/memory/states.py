"""The volatile logs of a session as parts of its state (O-9.45).

A log in a store stays there; what the session alone keeps of it, facts of the tier `session`, is in the volatile log of its
key. Hands on `lowered` and `read`, its inverse. Must not know: programs' values, bytes.
"""

from __future__ import annotations

from .dumps import Content, dumped, loaded
from .errors import InvalidValue, corrupt
from .facts import fact_of
from .keys import key_values
from .observations import observation_of
from .stores.protocol import Batch, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .declared import Memories
    from .keys import Key
    from .stores.volatile import VolatileLog, VolatileStore


def lowered(memories: Memories) -> list[Any]:
    """The logs by key."""
    return [_log(key, log) for store in memories.volatile_stores() for key, log in store.logs.items()]


def _log(key: Key, log: VolatileLog) -> list[Any]:
    """Key, version, time of the last change, dump (M-8.10); of facts the vectors, and the paths of tasks."""
    head = log.head()
    facts = [fact for _, fact in sorted(log.facts.items())]
    text = dumped(
        Content(
            head.next, head.turns, list(log.rows.values()), [state for _, state in sorted(log.states.items())],
            log.range(-1, None, None, False, None), [fact.as_json() for fact in facts],
            [one.as_json() for _, one in sorted(log.seen.items())],
        )
    )  # fmt: skip
    vectors = [[fact.id, *fact.vector] for fact in facts if fact.vector is not None]
    owned = [[fact.id, fact.task] for fact in facts if fact.task is not None]
    return [list(key), head.version, head.touched, text, vectors, owned]


def read(memories: Memories, rows: Any) -> VolatileStore:
    """MemoryFailure, or what Python says of a malformed row, unless all of it can be taken."""
    from .stores.volatile import VolatileStore

    store = VolatileStore()
    for row in rows:
        _fill(store, memories, *row)
    return store


def _fill(
    store: VolatileStore, memories: Memories, key: Any, version: Any, touched: Any, text: Any, vectors: Any, owned: Any
) -> None:
    at = _checked_key(memories, key)
    if type(version) is not int or type(touched) is not int or type(text) is not str or at in store.logs or version < 0:
        raise corrupt("a log is malformed")
    content = loaded(text)
    facts = {held["id"]: fact_of(held) for held in content.facts}
    seen = {one.place: one for one in map(observation_of, content.seen)}
    if len(facts) != len(content.facts) or len(seen) != len(content.seen):
        raise corrupt("one number stands for two facts or observations")
    for number, label, vector in vectors:
        if type(label) is not str or type(vector) is not bytes or len(vector) % 4:
            raise corrupt("a vector is malformed")
        facts[number].vector = (label, vector)
    for number, path in owned:
        if type(path) is not str:
            raise corrupt("a fact of no task")
        facts[number].task = path
    tokens = sum(entry.tokens for entry in content.entries)
    head = Head(version, content.next, content.turns, len(content.entries), tokens, touched)
    batch = Batch(head, entries=content.entries, turns=content.rows, views=content.states)
    batch.facts, batch.seen = list(facts.values()), list(seen.values())
    store.log(at).apply(batch)


def _checked_key(memories: Memories, key: Any) -> Key:
    namespace, name, *values, branch = key
    names = memories.key_names(name)
    try:
        parts = key_values(names, dict(zip(names, values, strict=True)))
    except InvalidValue as error:
        raise corrupt(str(error)) from None
    if namespace != memories.namespace or type(branch) is not str:
        raise corrupt("a log of another program")
    return (namespace, name, *parts, branch)


