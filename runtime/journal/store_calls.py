"""Stores and search indexes with a journal before them: each call of a method is noted in the operation that makes it, or
answered from the recorded one (G-13.2, G-13.5).

Hands on `JournaledStore` and `JournaledIndex`, with their base `Journaled`, to `stores.py`, which binds them, and DONE, which
stands there for the None of a method that returns nothing; what an operation is stands there too. The real store is opened by the
first call that no recording answers. A change that was on its way when the process died is looked up in the store before it is
made again: the functions of LOOKED_UP tell whether it is there.
"""

from __future__ import annotations

from ..memory.facts import Fact, said_by
from ..memory.stores.sqlite import has_died
from ..memory.stores.volatile import index_of
from .store_forms import INDEX_METHODS, METHODS, asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..memory.fact_index import FactIndex
    from ..memory.facts import Observation
    from ..memory.keys import Key
    from ..memory.stores.protocol import Batch, Write
    from ..search.index import Document, Hit
    from .stores import JournaledOperations

    Lookup = Callable[..., Any]

ALWAYS = ("head", "entries", "turns", "views", "commit", "remove", "keys", "expire")
OPTIONAL = ("facts", "seen", "keep", "swap", "touch", "candidates", "index", "acquire", "release", "holder")
CHANGING = frozenset(("commit", "keep", "swap", "touch", "remove", "expire"))
"""Methods that change what is stored. Leases are not among them: one that was lost with a process ends by itself."""
KEPT_INDEXES = 64
"""Keys whose facts are known as they were last recorded; at one more the index that was made first is dropped."""


class Journaled:
    """What is the same of stores and indexes. `place` names it in rows, `opener` opens the real one. Which optional methods that
    has is asked once (`ensure`), and kept when the operation that has asked is recorded."""

    def __init__(self, operations: JournaledOperations, place: str, opener: Callable[[], Any]) -> None:
        self._operations = operations
        self._place = place
        self._opener = opener
        self._real: Any = None
        self._optional: frozenset[str] | None = None

    def opened(self) -> Any:
        """Return the real one. Raises what opening it raises."""
        if self._real is None:
            self._real = self._opener()
        return self._real

    def ensure(self) -> frozenset[str]:
        """Open it, or have it opened in the recording; return which optional methods it has. Raises what opening it raises."""
        if self._optional is not None:
            return self._optional
        operation = self._operations.current()
        if operation is None:
            return self._found()
        noted: frozenset[str] | None = operation.state.get((self, ""))
        if noted is None:
            names = operation.call(self._place, "open", None, lambda: sorted(self._found()), METHODS["open"])
            noted = operation.state[self, ""] = frozenset(names)
        return noted

    def _found(self) -> frozenset[str]:
        real = self.opened()
        return frozenset([name for name in OPTIONAL if hasattr(real, name)])

    def recorded(self, what: str | Key, noted: Any) -> None:
        """Keep what an operation that is recorded now has noted in its `state`."""
        self._optional = noted

    def close(self) -> None:
        """Close the real one, if it was opened."""
        self._optional = None
        if self._real is not None:
            self._real.close()
            self._real = None


class JournaledStore(Journaled):
    """The store of a name, with the methods of `protocol.Store` and the optional ones that the real store has, AttributeError for
    any other; they raise as those of `JournaledIndex`."""

    blocking = True

    def __init__(self, operations: JournaledOperations, name: str, opener: Callable[[], Any]) -> None:
        super().__init__(operations, name, opener)
        self.name = name
        self._indexes: dict[Key, FactIndex] = {}
        self._facts: dict[Key, dict[int, Fact]] = {}  # of each index, as the newest recorded operation has left it

    def __getattr__(self, method: str) -> Any:
        if method == "died" and "holder" in self.ensure():
            return lambda owner: self._noted("died", [], lambda: has_died(owner))
        if method not in ALWAYS and (method not in OPTIONAL or method not in self.ensure()):
            raise AttributeError(method)
        return self._index if method == "index" else lambda *arguments, **named: self._done(method, arguments, named)

    def _done(self, method: str, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        self.ensure()

        def perform() -> Any:
            value = getattr(self.opened(), method)(*arguments, **named)
            return list(value) if method in ("keys", "candidates") else value

        compared: list[Any] = [*arguments, named]
        if method in ("acquire", "release"):
            del compared[1]  # the name of a process
        value = self._noted(method, compared, perform, (arguments, named))
        return iter(value) if method == "keys" else value

    def _noted(
        self, method: str, compared: list[Any], perform: Callable[[], Any], change: tuple[Any, dict[str, Any]] | None = None
    ) -> Any:
        operation = self._operations.current()
        if operation is None:
            return perform()
        look_up: Callable[[], Any] | None = None
        if change is not None and method in LOOKED_UP:
            look_up = lambda: LOOKED_UP[method](self.opened(), *change[0], **change[1])  # noqa: E731
        return operation.call(
            self._place, method, asked(compared), perform, METHODS[method], changes=method in CHANGING, look_up=look_up
        )

    def _index(self, key: Key) -> FactIndex:
        """Return an index of the facts of a key, which follows those of the store: what has changed since the last recorded
        operation is recorded, and comes again from a recording."""
        operation = self._operations.current()
        if operation is None:
            index: FactIndex = self.opened().index(key)
            return index
        before: dict[int, Fact] = operation.state.get((self, key), self._facts.get(key, {}))

        def perform() -> tuple[list[Fact], list[int]]:
            now: dict[int, Fact] = self.opened().index(key).facts
            changed = [fact for number, fact in now.items() if before.get(number) is not fact]
            return changed, [number for number in before if number not in now]

        facts, gone = operation.call(self._place, "index", asked(key), perform, METHODS["index"])
        after = {number: fact for number, fact in before.items() if number not in gone}
        after.update((fact.id, fact) for fact in facts)
        operation.state[self, key] = after
        mine = self._indexes.get(key)
        if mine is None:
            mine = self._indexes[key] = index_of()
        have = mine.facts
        mine.change(
            [fact for number, fact in after.items() if have.get(number) is not fact], [one for one in have if one not in after]
        )
        return mine

    def recorded(self, what: str | Key, noted: Any) -> None:
        if isinstance(what, str):
            return super().recorded(what, noted)
        if what not in self._facts and len(self._facts) >= KEPT_INDEXES:
            oldest = next(iter(self._facts))
            del self._facts[oldest], self._indexes[oldest]
        self._facts[what] = noted

    def close(self) -> None:
        super().close()
        self._indexes.clear()
        self._facts.clear()


class JournaledIndex(Journaled):
    """The search index of a name, with the methods of `search/index.py: SearchIndex`; they raise what those of the real index
    raise, or have raised when they were recorded, and as `Operation.call`."""

    def _noted(self, method: str, compared: Any, perform: Callable[[Any], Any], changes: bool = False) -> Any:
        self.ensure()
        operation = self._operations.current()
        if operation is None:
            return perform(self.opened())
        return operation.call(
            self._place, method, asked(compared), lambda: perform(self.opened()), INDEX_METHODS[method], changes=changes
        )

    def put(self, documents: Sequence[Document]) -> None:
        """Add documents; one with the id of an earlier one takes its place."""
        self._noted("put", documents, lambda real: real.put(documents), changes=True)

    def embed(self, documents: Sequence[tuple[int, Document]]) -> None:
        """Give documents other vectors, each with its place as `lacking` gave it."""
        self._noted("embed", documents, lambda real: real.embed(documents), changes=True)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents and return how many there were: they are counted before, so that the answer is the same where the
        change is made again."""
        count = sum(self.get(id) is not None for id in dict.fromkeys(ids))
        self._noted("remove", ids, lambda real: real.remove(ids), changes=True)
        return count

    def clear(self) -> None:
        """Remove all documents."""
        self._noted("clear", None, lambda real: real.clear(), changes=True)

    def documents(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Document]]:
        """Return documents for a state of the session, which is no outcome of the run."""
        self.ensure()
        found: list[tuple[int, Document]] = self.opened().documents(after, limit)
        return found

    def get(self, id: str) -> Document | None:
        """Return the document with this id, None for none."""
        document: Document | None = self._noted("get", id, lambda real: real.get(id))
        return document

    def __len__(self) -> int:
        return int(self._noted("len", None, len))

    def __bool__(self) -> bool:
        return True

    def search(self, text: str, limit: int, label: str = "", vector: bytes | None = None, skip: int = 0) -> list[Hit]:
        """Return the best hits, at most `limit` of them behind the first `skip`, best first; the arguments are those of
        `SearchIndex.search`."""
        hits: list[Hit] = self._noted(
            "search", [text, limit, label, vector, skip], lambda real: real.search(text, limit, label, vector, skip)
        )
        return hits

    def lacking(self, label: str, limit: int) -> list[tuple[int, Document]]:
        """Return documents without a vector of this label, at most `limit` of them, each with its place."""
        found: list[tuple[int, Document]] = self._noted("lacking", [label, limit], lambda real: real.lacking(label, limit))
        return found


# ---------------------------------------------------------------- changes whose outcome is not known

# Each returns what the method would have returned, if its change is in the store already, else None. All of them read the real
# store, and may raise what that raises.


def _committed(real: Any, writes: Sequence[Write], *, scrub: bool = False) -> bool | None:
    if not writes or not all(_has_applied(real, key, batch) for key, _, batch in writes):
        return None
    if scrub:
        real.commit([], scrub=True)  # what the process that died did not come to
    return True


def _has_applied(real: Any, key: Key, batch: Batch) -> bool:
    """Whether the store has a change: its head is that of the change, or, where others have written behind it, the turns or the
    entries are there."""
    head = real.head(key)
    if head.version <= batch.head.version:
        return bool(head == batch.head)
    runs = {turn.run for turn in batch.turns if turn.run is not None}
    if runs:
        return runs <= {turn.run for turn in real.turns(key, min(turn.turn for turn in batch.turns))}
    if not batch.entries:
        return False
    seqs = [entry.seq for entry in batch.entries]
    return bool(real.entries(key, after=seqs[0] - 1, before=seqs[-1] + 1) == list(batch.entries))


def _swapped(real: Any, key: Key, at: int, fact: Fact, said: str, gone: Sequence[int], name: str) -> bool | None:
    found = next((one for one in real.facts(key) if one.name == fact.name), None)
    return True if found is not None and _is_same(found, fact) else None


def _is_same(found: Fact, fact: Fact) -> bool:
    return found.as_json() == fact.as_json() and said_by(found) == said_by(fact)


class _Done:
    """In place of the None of a method that returns nothing."""


DONE = _Done()


def _has_kept(
    real: Any, key: Key, at: int, facts: Sequence[Fact], gone: Sequence[int], seen: Sequence[Observation] = (),
    unseen: Sequence[tuple[str, int]] = (),
) -> _Done | None:  # fmt: skip
    stored = {fact.id: fact for fact in real.facts(key)}
    if any(fact.id not in stored or not _is_same(stored[fact.id], fact) for fact in facts):
        return None
    if stored.keys() & (set(gone) - {fact.id for fact in facts}):
        return None
    observed = {one.place: one for one in real.seen(key)}
    if any(observed.get(one.place) != one for one in seen):
        return None
    return None if observed.keys() & (set(unseen) - {one.place for one in seen}) else DONE


LOOKED_UP: dict[str, Lookup] = {"commit": _committed, "swap": _swapped, "keep": _has_kept}
