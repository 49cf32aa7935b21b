"""The indexes of documents of a session (O-1.241 to O-1.255): their methods on values of the program.

Hands on `Indexes` to the performer of `index`, to the tool that an index is for models, to the models that have one as
`knowledge`, and to the state of a session (`session/state.py`), which takes `in_memory` too; `OpenIndex` to the performer. An
index is opened when it is first used: in the file of its store, or in the memory of the session. How documents are ranked is
`index.py`; here values of the program become its rows, and embedders are asked. A method on documents in memory is done at
once, one on a file or a database in the thread of the stores.
"""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256

from ...vm.builtins.json import Misfit, StoredBuilder
from ...vm.values import Array, Some, from_json, share, to_json
from ...vm.values.objects import NONE
from ..calls.embedders import embedding_of, vectors_of
from ..errors import CallFailure
from ..memory.failures import MemoryFailure
from ..memory.stores.opened import FILE
from .index import Document, SearchFailure, SearchIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...vm.bytecode.image import Index
    from ...vm.interp.effects import Effect
    from ..memory.embedding import Embedding
    from ..memory.stores.postgres_connection import Database
    from ..memory.stores.protocol import Store
    from ..running import EffectContext
    from .index import Hit

INDEXES = "indexes"  # in the state of a run
EMBEDDED_LATER = 96  # documents without a vector of the embedder that a change embeds beside its own


class Indexes:
    """The indexes of the session `run`. `opened` has those that were asked for by their names."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.opened: dict[str, OpenIndex] = {}

    @classmethod
    def of(cls, run: EffectContext) -> Indexes:
        """Return the indexes of a session, made when they are first asked for."""
        if INDEXES not in run.state:
            run.state[INDEXES] = cls(run)
        indexes: Indexes = run.state[INDEXES]
        return indexes

    def named(self, name: str) -> OpenIndex:
        """Return the index of a name, which the program has to declare. It is not opened here."""
        if name not in self.opened:
            declared = next(index for index in self.run.program.image.indexes if index.name == name)
            self.opened[name] = OpenIndex(self.run, declared)
        return self.opened[name]

    def volatile_rows(self) -> list[tuple[str, list[tuple[str, str, str, str, bytes | None]]]]:
        """Return name and documents of each index in memory that holds any, each as the parts of a `Document`: id, text, value,
        label, vector. Raises MemoryFailure."""
        found = []
        for name, index in self.opened.items():
            if index.is_volatile and index.search is not None:
                documents = index.all_documents()
                found.append((name, [(d.id, d.text, d.value, d.label, d.vector) for d in documents]))
        return [(name, rows) for name, rows in found if rows]

    def replace_volatile(self, filled: dict[str, SearchIndex]) -> None:
        """Put what `in_memory` made, by the names of indexes, in place of all indexes in memory."""
        for index in self.opened.values():
            if index.is_volatile:
                index.close()
        for name, search in filled.items():
            self.named(name).search = search

    def hand_over(self, later: EffectContext) -> None:
        """Give the indexes in memory to a later session whose program has indexes of the same names in memory (O-9.47)."""
        for declared in later.program.image.indexes:
            own = self.opened.get(declared.name)
            taking = Indexes.of(later).named(declared.name)
            if own is not None and own.search is not None and own.is_volatile and taking.is_volatile:
                taking.search, own.search = own.search, None

    def close(self) -> None:
        """Close what is open; a later use opens it again, and finds what is in a store. What is in memory stays where a later
        session is to take it over."""
        for index in self.opened.values():
            if not (index.is_volatile and self.run.is_followed):
                index.close()


def in_memory(name: str, rows: Sequence[Sequence[Any]]) -> SearchIndex:
    """Return a new index in memory of documents as `Indexes.volatile_rows` has them. Raises SearchFailure for what none holds."""
    search = SearchIndex(name)
    search.put([Document(*row) for row in rows])
    return search


class OpenIndex:
    """One index of a session. `declared` is its entry in the image, `search` what searches, None before the first use. `effect`:
    the request of a task that waits for the answer. The methods of the program (`put`, `hits`, `found`, `get`, `remove`, `clear`,
    `len`) raise CallFailure: an AgentError `InvalidRequest` for what the index refuses, MemoryFailure for its store and for a
    stored document that does not fit its type; where an embedder is asked also what it fails with, and the Panic of a budget.
    They panic with P103 for a document, given or stored, beyond the limits of JSON, and as the default of a field that a stored
    one lacks."""

    def __init__(self, run: EffectContext, declared: Index) -> None:
        self.run = run
        self.declared = declared
        self.search: SearchIndex | None = None

    @property
    def is_volatile(self) -> bool:
        """Whether its documents end with the session."""
        return self.declared.store is None or self.run.open_stores.volatile

    def _place(self) -> str | Database | None:
        """Return the file or the database of its store, None for memory. Raises MemoryFailure for a store of the host that has
        neither, and where the address of the database is not set."""
        store = self.declared.store
        if store is None or self.is_volatile:
            return None
        stores = self.run.open_stores
        if store["name"] in stores.of_host:
            return _place_of(store["name"], stores.of_host[store["name"]])
        if store["kind"] == "sqlite":
            return os.path.join(stores.folder, store.get("path", FILE))
        from ..memory.stores.postgres_connection import Database

        address, source = stores.address(store)
        return Database(address, store["name"], source=source)

    def index(self) -> SearchIndex:
        """Return what searches, opened at the first use. Raises SearchFailure, MemoryFailure and OSError."""
        if self.search is None:
            namespace = (self.declared.store or {}).get("namespace", "")
            name = f"{namespace}/{self.declared.name}" if namespace else self.declared.name
            stores = self.run.open_stores
            self.search = stores.around_index(name, lambda: SearchIndex(name, self._place(), stores.thread))
        return self.search

    def all_documents(self) -> list[Document]:
        """Return every document in order. Raises MemoryFailure."""
        found: list[Document] = []
        after = 0

        def page(index: SearchIndex) -> list[tuple[int, Document]]:
            return index.documents(after)

        while documents := self._guarded(page):
            found += [document for _, document in documents]
            after = documents[-1][0]
        return found

    def close(self) -> None:
        """Let go of what searches; a later use opens it anew, and documents in memory are lost."""
        if self.search is not None:
            self.search.close()
            self.search = None

    async def use(self, effect: Effect, work: Callable[[SearchIndex], Any]) -> Any:
        """Return what `work` does with the index for a task that waits for `effect`; while a file or a server is waited
        for or searched, other tasks go on. Raises CallFailure, also for what cannot be opened."""
        if self.is_volatile:
            return self._guarded(work)
        return await self.run.operations.use(lambda: self._guarded(work), effect)

    def _guarded(self, work: Callable[[SearchIndex], Any]) -> Any:
        try:
            return work(self.index())
        except SearchFailure as failure:
            if failure.kind == "Invalid":
                raise CallFailure("AgentError", "InvalidRequest", f"index {self.declared.name}: {failure}") from None
            raise MemoryFailure(failure.kind, f"index {self.declared.name}: {failure}") from None
        except OSError as error:
            raise MemoryFailure("Store", f"index {self.declared.name}: {error}") from None

    # ------------------------------------------------------------ values of the program

    def value(self, identifier: str, text: str) -> Any:
        """Return the stored document of an identifier as a value of the program, in which fields that were declared later have
        their defaults. Raises MemoryFailure for one that does not fit its type, and the Panic of a default."""
        program: Any = self.run.program
        builder = StoredBuilder(program, self.run.machine.memories.computed)
        try:
            return share(builder.stored(from_json(_plain(text)), program.descriptors[self.declared.value]))
        except (Misfit, ValueError, RecursionError) as misfit:
            where = f"the document {identifier!r} of index {self.declared.name}"
            what = f"{where} does not fit its type: {misfit} at {builder.place()}"
            way = "give a new field a default, declare the type that it has, or remove it"
            raise MemoryFailure("Corrupt", f"{what}; {way}") from None

    @property
    def embedding(self) -> Embedding | None:
        """The embedder that the program declares for the index, None without one: then only words are searched."""
        table = self.declared.embedder
        return None if table is None else embedding_of(self.run, table)

    # ------------------------------------------------------------ methods

    async def put(self, effect: Effect, documents: Array, texts: Array, ids: Array) -> None:
        """Add documents with their texts and identifiers, None for one that the text gives. Their vectors are asked for first:
        an embedder that fails leaves the index as it was. Then up to EMBEDDED_LATER other documents that lack a vector of the
        embedder get one; what fails there goes to the log."""
        if not all(type(text) is str for text in texts.items) or not all(type(name) in (str, type(None)) for name in ids.items):
            raise CallFailure("AgentError", "InvalidRequest", f"index {self.declared.name}: `key` and `id` give Strings")
        clean = self.run.redactor.clean  # an index is a sink of secrets, like a memory (G-10.3)
        words = list(map(clean, texts.items))
        names = [_identifier(text) if name is None else clean(name) for name, text in zip(ids.items, words, strict=True)]
        rows = [
            (identifier, text, to_json(self.run.clean(value)))
            for value, text, identifier in zip(documents.items, words, names, strict=True)
        ]
        embedding = self.embedding
        vectors: Sequence[bytes | None] = [None] * len(rows)
        if embedding is not None:
            vectors = await vectors_of(self.run, embedding, words, effect.task.path)
        label = "" if embedding is None else embedding.label
        made = [Document(*row, "" if vector is None else label, vector) for row, vector in zip(rows, vectors, strict=True)]
        await self.use(effect, lambda index: index.put(made))
        if embedding is not None:
            await self._embed_others(embedding, effect)

    async def _embed_others(self, embedding: Embedding, effect: Effect) -> None:
        """Give vectors to some of the documents that have none of this embedder, as after another one was declared. What fails
        here is told of in the log: a later change tries again."""
        label = embedding.label
        try:
            lacking: list[tuple[int, Document]] = await self.use(effect, lambda index: index.lacking(label, EMBEDDED_LATER))
            if lacking:
                vectors = await vectors_of(self.run, embedding, [document.text for _, document in lacking], effect.task.path)
                made = [
                    (place, replace(document, label=label, vector=vector))
                    for (place, document), vector in zip(lacking, vectors, strict=True)
                ]
                await self.use(effect, lambda index: index.embed(made))
        except CallFailure as failure:
            text = f"index {self.declared.name}: documents without a vector of {label} keep none for now: {failure.message}"
            self.run.warn(text)

    async def hits(self, effect: Effect, query: str, limit: int, skip: int) -> Array:
        """Return what `found` finds as an Array of (document, score, text)."""
        found = await self.found(effect, query, limit, skip)
        return Array([(self.value(hit.id, hit.value), hit.score, hit.text) for hit in found])

    async def found(self, effect: Effect, query: str, limit: int, skip: int = 0) -> list[Hit]:
        """Return what fits a query best behind the first `skip` hits, at most `limit`. Raises CallFailure."""
        embedding = self.embedding
        if embedding is None:
            return list(await self.use(effect, lambda index: index.search(query, limit, skip=skip)))
        (vector,) = await vectors_of(self.run, embedding, [query], effect.task.path)
        return list(await self.use(effect, lambda index: index.search(query, limit, embedding.label, vector, skip)))

    async def get(self, effect: Effect, identifier: str) -> Any:
        """Return the document of an identifier as an Option."""
        document = await self.use(effect, lambda index: index.get(identifier))
        return NONE if document is None else Some(self.value(document.id, document.value))

    async def remove(self, effect: Effect, identifier: str) -> bool:
        """Remove a document, and return whether it was there."""
        return bool(await self.use(effect, lambda index: index.remove([identifier])))

    async def clear(self, effect: Effect) -> None:
        """Remove every document."""
        await self.use(effect, lambda index: index.clear())

    async def len(self, effect: Effect) -> int:
        """Return the number of documents."""
        return int(await self.use(effect, len))


def _place_of(name: str, store: Store) -> str | Database:
    """Return the file or the database of a store of the host. Raises MemoryFailure for one that has neither."""
    from ..memory.stores.postgres_connection import Database

    for place in (getattr(store, "path", None), getattr(store, "database", None)):
        if isinstance(place, (str, Database)):
            return place
    raise MemoryFailure("Store", f"the store {name} of the host keeps no index: it is none of SQLite or PostgreSQL")


def _identifier(text: str) -> str:
    """Return the identifier of a document whose declaration gives none: 32 hexadecimal digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(text: str) -> Any:
    from json import loads

    return loads(text)
