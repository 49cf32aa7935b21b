"""O-1.241: what an index finds is what brute force finds, after any changes, for each of two handles of one file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search.index import Document, SearchIndex
from hypothesis import given, settings
from hypothesis import strategies as st

from .oracle import found, unit
from .soundness import check

WORDS = ["sun", "moon", "sun_moon", "E-42", "Straße", "NEAR", "and", "日本語", "a", "x2"]
LABELS = ["one", "two"]
IDS = [f"{letter}{number}" for letter in "abcdefgh" for number in range(8)]  # for more than two blocks
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
vectors = st.tuples(*[st.integers(-3, 3)] * 3).filter(any).map(lambda numbers: unit(*numbers))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    vector = draw(st.none() | vectors)
    label = "" if vector is None else draw(st.sampled_from(LABELS))
    return Document(draw(st.sampled_from(IDS)), draw(texts), "{}", label, vector)


class Model:
    """Documents in a list, in the order in which they were last put."""

    def __init__(self) -> None:
        self.documents: list[Document] = []

    def put(self, documents: list[Document]) -> None:
        for document in documents:
            self.remove([document.id])
            self.documents.append(document)

    def remove(self, ids: list[str]) -> int:
        before = len(self.documents)
        self.documents = [document for document in self.documents if document.id not in ids]
        return before - len(self.documents)

    def clear(self) -> None:
        self.documents = []

    def embed(self, label: str, vectors: list[bytes], between: list[Document]) -> None:
        lacking = [document.id for document in self.documents if document.label != label]
        self.put(between)
        changed = {document.id for document in between}
        chosen = dict(zip(lacking, vectors, strict=False))
        self.documents = [
            replace(one, label=label, vector=chosen[one.id]) if one.id in chosen and one.id not in changed else one
            for one in self.documents
        ]


def embed(index: SearchIndex, other: SearchIndex, label: str, vectors: list[bytes], between: list[Document]) -> None:
    """Give vectors to documents that lack one of a label, while another handle puts documents."""
    lacking = index.lacking(label, len(vectors))
    other.put(between)
    index.embed(
        [
            (place, replace(document, label=label, vector=vector))
            for (place, document), vector in zip(lacking, vectors, strict=False)
        ]
    )


changes = st.one_of(
    st.tuples(st.just("put"), st.lists(documents(), min_size=1, max_size=8)),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(IDS), max_size=3)),
    st.tuples(st.just("clear")),
    st.tuples(st.just("embed"), st.sampled_from(LABELS), st.lists(vectors, max_size=6), st.lists(documents(), max_size=2)),
)
queries = st.tuples(texts, st.sampled_from(LABELS), st.none() | vectors)


def compare(index: SearchIndex, model: Model, query: tuple[str, str, bytes | None]) -> None:
    text, label, vector = query
    expected = found(model.documents, text, label, vector)
    hits = index.search(text, 64, label, vector)
    assert [hit.id for hit in hits] == [id for id, _ in expected]
    assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected])
    for skip, limit in ((1, 2), (9, 4), (0, 11), (15, 20), (21, 30)):  # pages fit together, whatever lists they need
        assert index.search(text, limit, label, vector, skip=skip) == hits[skip : skip + limit]
    assert [document for _, document in index.documents()] == model.documents
    lacking = [document for document in model.documents if document.label != label]
    assert [document for _, document in index.lacking(label, 3)] == lacking[:3]
    assert len(index) == len(model.documents)
    for document in model.documents:
        assert index.get(document.id) == document


Steps = list[tuple[tuple[object, ...], bool, tuple[str, str, bytes | None]]]
all_steps = st.lists(st.tuples(changes, st.booleans(), queries), max_size=6)


def two_handles(place: str | Database, steps: Steps) -> None:
    with ExitStack() as opened:
        first, second, other = (opened.enter_context(closing(SearchIndex(name, place))) for name in ("notes", "notes", "others"))
        other.put([Document("a", "sun moon", "1", "one", unit(1, 2))])
        model = Model()
        for (change, *arguments), by_second, query in steps:
            changed, idle = (second, first) if by_second else (first, second)
            change_of_index = partial(embed, changed, idle) if change == "embed" else getattr(changed, str(change))
            assert change_of_index(*arguments) == getattr(model, str(change))(*arguments)
            compare(first, model, query)
            compare(second, model, query)
        assert [hit.id for hit in other.search("sun", 5, "one", unit(1, 0))] == ["a"]
        check(second)


@given(all_steps)
@settings(max_examples=60)
def test_two_handles_of_a_file(steps: Steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        two_handles(str(Path(folder) / "s.db"), steps)


@given(steps=all_steps)
@settings(max_examples=20)
def test_two_handles_of_a_database(new_database: Callable[[], Database], steps: Steps) -> None:
    two_handles(new_database(), steps)


@given(st.lists(documents(), min_size=20, max_size=64), texts, vectors)
@settings(max_examples=20)
def test_a_database_finds_what_a_file_finds(
    new_database: Callable[[], Database], put: list[Document], text: str, vector: bytes
) -> None:
    """To the last bit: equals are equal in both."""
    with closing(SearchIndex("notes")) as one, closing(SearchIndex("notes", new_database())) as other:
        one.put(put)
        other.put(put)
        assert one.search(text, 64) == other.search(text, 64)
        assert one.search(text, 64, "one", vector) == other.search(text, 64, "one", vector)


@given(st.lists(documents(), max_size=64), st.lists(queries, min_size=1, max_size=4))
@settings(max_examples=150)
def test_in_memory(all_documents: list[Document], asked: list[tuple[str, str, bytes | None]]) -> None:
    index, model = SearchIndex("notes"), Model()
    index.put(all_documents)
    model.put(all_documents)
    for query in asked:
        compare(index, model, query)
    index.close()


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=8)), min_size=1, max_size=8), st.text(max_size=40))
@settings(max_examples=150)
def test_any_text(pairs: list[tuple[str, str]], query: str) -> None:
    """Of any characters, surrogates too: a query is words, and what is stored comes back as it was."""
    index = SearchIndex("notes")
    model = Model()
    put = [Document(f"{number}{id}", text, id) for number, (text, id) in enumerate(pairs)]
    index.put(put)
    model.put(put)
    compare(index, model, (query, "one", None))
    compare(index, model, (pairs[0][0], "one", None))
    index.close()
