"""O-1.241: the contract of an index, case by case."""

from __future__ import annotations

import random
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.memory.embedding import packed
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.postgres import PostgresStore
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.vectors import offline_vectors
from concerto.runtime.search import index as index_module
from concerto.runtime.search import vectors, words
from concerto.runtime.search.index import Document, Hit, SearchFailure, SearchIndex
from concerto.runtime.search.search_file import SearchFile

from .oracle import cosine, unit


def put_texts(index: SearchIndex, *texts: str) -> None:
    index.put([Document(str(number), text, "null") for number, text in enumerate(texts)])


def ids(hits: list[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_a_hit_has_what_was_put(index: SearchIndex) -> None:
    index.put([Document("a", "the harbour", '{"page":3}'), Document("b", "the ship", "1")])
    assert index.search("harbour", 5) == [Hit("a", '{"page":3}', "the harbour", 1.0)]


def test_first_by_words_and_by_vector_is_worth_one(index: SearchIndex) -> None:
    index.put([Document("a", "red", "1", "m", unit(1, 0)), Document("b", "blue", "1", "m", unit(0, 1))])
    first, second = index.search("red", 5, "m", unit(5, 1))
    assert (first.id, first.score, second.id) == ("a", 1.0, "b")
    assert second.score == pytest.approx(61 / 62 / 2)


def test_without_words_only_vectors_count(index: SearchIndex) -> None:
    index.put([Document("a", "red", "1", "m", unit(1, 0)), Document("b", "blue", "1", "m", unit(0, 1))])
    hits = index.search("nothing of it", 5, "m", unit(1, 5))
    assert [(hit.id, round(hit.score, 4)) for hit in hits] == [("b", 1.0), ("a", round(61 / 62, 4))]


def test_vectors_of_another_label_do_not_count(index: SearchIndex) -> None:
    index.put([Document("a", "red", "1", "old", unit(1, 0, 0)), Document("b", "blue", "1", "new", unit(0, 1))])
    assert ids(index.search("", 5, "new", unit(1, 0))) == ["b"]
    assert ids(index.search("", 5, "old", unit(1, 0, 0))) == ["a"]
    assert index.search("", 5, "unknown", unit(1, 0)) == []


def test_common_words_count_only_where_nothing_else_does(index: SearchIndex) -> None:
    put_texts(index, "the cat", "the dog", "the bird")
    assert ids(index.search("the dog", 5)) == ["1"]
    assert ids(index.search("the", 5)) == ["0", "1", "2"]
    assert index.search("", 5) == index.search("?!", 5) == index.search("fish", 5) == []


def test_limits_of_a_search(index: SearchIndex) -> None:
    put_texts(index, "sun", "sun", "rain", "snow", "ice")
    assert ids(index.search("sun", 1)) == ["0"]
    assert ids(index.search("sun", 5, skip=1)) == ["1"]
    assert index.search("sun", 0) == index.search("sun", -1) == index.search("sun", 5, skip=9) == []
    assert ids(index.search("sun", 1, skip=-3)) == ["0"]
    assert ids(index.search("sun", 10**30)) == ["0", "1"]


def test_pages_beyond_the_depth(index: SearchIndex) -> None:
    put_texts(index, *(["sun"] * 250 + ["rain"] * 251))
    assert ids(index.search("sun", 10, skip=245)) == [str(number) for number in range(245, 250)]


HOSTILE = [
    '"', "sun\" OR \"rain", "NEAR(sun rain)", "sun AND NOT rain", "sun*", "^sun", "tokens:sun", "{tokens}:sun", "-tokens:sun",
    "sun + rain", "sun\0rain", "'; DROP TABLE search_index; --", "\ud800sun", "(sun", "sun)", "\\sun", "sun\x1f\x7frain", "%sun_",
    "{0}", "{words}", "",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_words(index: SearchIndex, text: str) -> None:
    other = Document("other", "neither of them", "1")
    index.put([Document("x" + text, text, text), Document("sun", "one sun here", "1"), other, Document("more", "", "1")])
    assert ids(index.search(text, 9)).count("other") == 0
    assert ("sun" in ids(index.search(text, 9))) == ("sun" in text)
    assert index.get("x" + text) == Document("x" + text, text, text)
    assert index.remove(["x" + text]) == 1
    assert ids(index.search("sun", 9)) == ["sun"]
    assert len(index) == 3


@pytest.mark.parametrize("word", ["NEAR", "AND", "OR", "NOT", "near"])
def test_operators_are_words(index: SearchIndex, word: str) -> None:
    put_texts(index, f"a {word} b", "a b", "c", "d")
    assert ids(index.search(word, 9)) == ["0"]


def test_a_very_long_token_and_many_tokens(index: SearchIndex) -> None:
    put_texts(index, "z" * 900_000, "short", " ".join(f"w{number}" for number in range(50_000)), "other")
    assert ids(index.search("z" * 900_000, 5)) == ["0"]
    assert ids(index.search(" ".join(f"w{number}" for number in range(30_000)), 5)) == ["2"]


INVALID = [
    (Document("", "t", "1"), "the id '' has 0 characters; it must have 1 to 512"),
    (Document("x" * 513, "t", "1"), "has 513 characters"),
    (Document("a", "t" * (1 << 20) + "t", "1"), "the text of 'a' has 1,048,577 bytes; 1,048,576 is the most: cut it into chunks"),
    (Document("a", "t", "1", "m", b""), "the vector of 'a' has 0 bytes, which are no 32-bit floats"),
    (Document("a", "t", "1", "m", b"12345"), "has 5 bytes"),
    (Document("a", "t", "1", "m", b"\0" * 8), "the vector of 'a' is not of length 1"),
    (Document("a", "t", "1", "m", b"\0\0\xc0\x7f" * 2), "not of length 1"),
    (Document("a", "t", "1", "m", b"\0\0\x80\x7f" * 2), "not of length 1"),
    (Document("a", "t", "1", "", unit(1, 0)), "the vector of 'a' has no label"),
    (Document("a", "t", "1", "m", unit(1, 0, 0)), "the vector of 'a' has 3 numbers, those of m have 2"),
]


@pytest.mark.parametrize(("document", "message"), INVALID, ids=range(len(INVALID)))
def test_what_is_refused(index: SearchIndex, document: Document, message: str) -> None:
    index.put([Document("there", "x", "1", "m", unit(1, 0))])
    with pytest.raises(SearchFailure) as caught:
        index.put([Document("before", "y", "1"), document])
    assert caught.value.kind == "Invalid" and message in caught.value.message
    assert [each.id for _, each in index.documents()] == ["there"]


def test_the_largest_that_is_taken(index: SearchIndex) -> None:
    longest = "".join(map(chr, random.Random(3).choices(range(0x10000, 0x110000), k=512)))
    largest = Document(longest, "é" * (1 << 19), "1")
    index.put([largest])
    assert index.get(longest) == largest


@pytest.mark.parametrize("vector", [b"", b"123", b"\0" * 8, unit(1, 2, 3)])
def test_a_query_vector_that_does_not_fit(index: SearchIndex, vector: bytes) -> None:
    index.put([Document("there", "x", "1", "m", unit(1, 0))])
    with pytest.raises(SearchFailure, match="query") as caught:
        index.search("x", 5, "m", vector)
    assert caught.value.kind == "Invalid"


def test_a_label_may_change_its_length_when_nothing_has_it(index: SearchIndex) -> None:
    index.put([Document("a", "x", "1", "m", unit(1, 0))])
    assert ids(index.search("", 5, "m", unit(1, 0))) == ["a"]
    index.put([Document("a", "x", "1")])
    assert index.search("", 5, "m", unit(1, 0, 0)) == []
    index.put([Document("b", "x", "1", "m", unit(1, 0, 0))])
    assert ids(index.search("", 5, "m", unit(1, 0, 0))) == ["b"]


def test_put_again_takes_the_last_place(index: SearchIndex) -> None:
    index.put([Document("a", "one", "1"), Document("b", "two", "2"), Document("a", "three", "3")])
    assert [(place, each.id, each.value) for place, each in index.documents()] == [(1, "b", "2"), (2, "a", "3")]
    index.put([Document("b", "four", "4")])
    assert [(place, each.id, each.value) for place, each in index.documents()] == [(2, "a", "3"), (3, "b", "4")]
    assert index.search("two", 5) == []
    index.put([])
    assert len(index) == 2


def test_pages_of_documents(index: SearchIndex) -> None:
    put_texts(index, *"abcdefg")
    index.remove(["2"])
    pages = [index.documents(0, 3)]
    while pages[-1]:
        pages.append(index.documents(pages[-1][-1][0], 3))
    assert [[each.id for _, each in page] for page in pages] == [["0", "1", "3"], ["4", "5", "6"], []]
    assert index.documents(10**40) == index.documents(0, -1) == []
    assert len(index.documents(-5, 10**40)) == 6


def test_those_that_lack_a_vector(index: SearchIndex) -> None:
    index.put([Document("a", "1", "1", "m", unit(1)), Document("b", "2", "2"), Document("c", "3", "3", "n", unit(1))])
    index.put([Document("d", "4", "4", "m", unit(-1)), Document("e", "5", "5")])
    assert [each.id for _, each in index.lacking("m", 9)] == ["b", "c", "e"]
    assert [each.id for _, each in index.lacking("n", 2)] == ["a", "b"]
    assert [each.id for _, each in index.lacking("", 9)] == ["a", "b", "c", "d", "e"]
    assert index.lacking("m", 0) == index.lacking("m", -2) == []


def test_a_label_without_a_vector_is_none(index: SearchIndex) -> None:
    index.put([Document("a", "1", "1", "m")])
    assert index.get("a") == Document("a", "1", "1") and [each.id for _, each in index.lacking("m", 9)] == ["a"]


def test_it_may_be_called_from_several_threads(index: SearchIndex) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            index.put([Document(str(number), "sun", "1")])
            assert len(index.search("sun", 9)) == number + 1
        except BaseException as error:
            failed.append(error)

    for number in range(3):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    assert failed == []


def test_after_close(index: SearchIndex) -> None:
    index.close()
    index.close()
    uses = [
        lambda: index.put([Document("a", "b", "1")]),
        lambda: index.search("a", 1),
        lambda: len(index),
        index.clear,
        index.documents,
    ]
    for use in (*uses, lambda: index.get("a"), lambda: index.remove(["a"]), lambda: index.lacking("m", 1)):
        with pytest.raises(SearchFailure, match="the index notes .*is closed") as caught:
            use()
        assert caught.value.kind == "Store"


def test_an_interpreter_without_fts5(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without = [table.replace("USING fts5(", "USING no_such_fts5(") for table in SearchFile.WORDS]
    assert without != list(SearchFile.WORDS)
    monkeypatch.setattr(SearchFile, "WORDS", without)
    for path in (None, str(tmp_path / "s.db")):
        with pytest.raises(SearchFailure, match="has no FTS5, which search needs") as caught:
            SearchIndex("notes", path)
        assert caught.value.kind == "Store"
    monkeypatch.undo()
    SearchIndex("notes", str(tmp_path / "s.db")).close()  # nothing half-made is left


def store_in(place: str | Database) -> SqliteStore | PostgresStore:
    return SqliteStore(place) if isinstance(place, str) else PostgresStore(place.url, schema=place.schema)


@pytest.mark.parametrize("first", [True, False], ids=["store", "index"])
def test_a_place_is_shared_with_a_memory_store(place: str | Database, first: bool) -> None:
    if first:
        store_in(place).close()
    index = SearchIndex("notes", place)
    index.put([Document("a", "sun", "1")])
    store = store_in(place)
    memory = Memory(name="m", store=store)
    store.keep(memory.key, 0, [Fact(1, "persistent", "who", "the sun")], ())
    assert [fact.text for fact in Facts(memory).all()] == ["who\nthe sun"]
    store.close()
    assert ids(index.search("sun", 5)) == ["a"]
    index.close()
    again = SearchIndex("notes", place)
    assert ids(again.search("sun", 5)) == ["a"]
    again.close()


def test_names_of_any_kind(place: str | Database) -> None:
    names = ["notes", "", "No tes", "'; --", "{number}", "日本\ud800", "x" * 500]
    for name in names:
        index = SearchIndex(name, place)
        index.put([Document(name + ".", name, "1")])
        index.close()
    for name in names:
        index = SearchIndex(name, place)
        assert [each.id for _, each in index.documents()] == [name + "."]
        index.close()


SIZE = 256


def many(count: int, seed: int = 1) -> list[Document]:
    """Documents with vectors of SIZE numbers in bunches, eight of them in one on the average."""
    drawn = random.Random(seed)
    middles = [[drawn.gauss(0, 1) for _ in range(SIZE)] for _ in range(count // 8 + 1)]
    return [
        Document(
            str(number), f"word{number % 50}", "1", "m", unit(*(part + drawn.gauss(0.3, 0.5) for part in drawn.choice(middles)))
        )
        for number in range(count)
    ]


def recall(index: SearchIndex, documents: list[Document], asked: list[Document]) -> float:
    found = 0
    for question in asked:
        assert question.vector is not None
        exact = sorted(documents, key=lambda each: -cosine(question.vector or b"", each.vector or b""))[:10]
        found += len({each.id for each in exact} & set(ids(index.search("", 10, "m", question.vector))))
    return found / len(asked) / 10


def test_bits_choose_nearly_all_that_the_exact_scan_finds() -> None:
    index = SearchIndex("notes")
    documents = many(4_000)
    assert vectors.candidates(SIZE, 10) < len(documents) / 3
    index.put(documents[:-20])
    assert recall(index, documents[:-20], documents[-20:]) >= 0.95


def test_ranks_behind_the_end_of_a_block_count_nothing(index: SearchIndex) -> None:
    """By words in order, by vectors backwards: the first of one list is in the second block of the other."""
    index.put([Document(str(n), "sun", "1", "m", unit(1, n)) for n in range(15)])
    index.put([Document(f"other{n}", "", "1") for n in range(20)])
    hits = {hit.id: hit.score for hit in index.search("sun", 15, "m", unit(0, 1))}
    assert hits["0"] == hits["14"] == pytest.approx(1 / 2)
    assert hits["4"] == pytest.approx(61 / 65 / 2) and hits["5"] == pytest.approx((61 / 66 + 61 / 70) / 2)


def test_bits_of_vectors_that_are_mostly_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the embedder `offline` are."""
    index = SearchIndex("notes")
    monkeypatch.setattr(vectors, "CANDIDATES", 300)
    monkeypatch.setattr(vectors, "FLOATS", 1)
    drawn = random.Random(4)
    words = ["".join(drawn.choices("abcdefgh", k=4)) for _ in range(400)]
    texts = [" ".join(drawn.choices(words, k=5)) for _ in range(4_000)]
    documents = [
        Document(str(number), "", "1", "m", packed(vector)) for number, vector in enumerate(offline_vectors(texts))
    ]  # fmt: skip
    index.put(documents[:-20])
    assert recall(index, documents[:-20], documents[-20:]) >= 0.9


def test_equal_vectors_are_cut_by_their_order(index: SearchIndex) -> None:
    same, asked = unit(*[1.0] * SIZE), unit(*range(1, SIZE + 1))
    index.put([Document(str(number), "", "1", "m", same) for number in range(vectors.candidates(SIZE, 5) + 300)])
    assert ids(index.search("", 5, "m", asked)) == ["0", "1", "2", "3", "4"]
    index.remove(["0", "2"])
    assert ids(index.search("", 3, "m", asked)) == ["1", "3", "4"]


def test_a_handle_that_is_far_behind_reads_all_anew(place: str | Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "REMEMBERED", 5)
    first, second = SearchIndex("notes", place), SearchIndex("notes", place)
    first.put([Document(str(number), "", "1", "m", unit(1, number + 1)) for number in range(20)])
    for gone in (3, 4, 12):  # within the log, and beyond it
        assert len(second.search("", 99, "m", unit(1, 0))) == len(first)
        first.remove([each.id for _, each in first.documents(limit=gone)])
        assert ids(second.search("", 99, "m", unit(1, 0))) == [each.id for _, each in first.documents()]
    ((kept,),) = first._tables.rows("SELECT count(*) FROM {removed}")
    assert kept == 5
    first.close()
    second.close()


def test_a_search_sees_one_state(place: str | Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever another handle changes between its reads."""
    first, second = SearchIndex("notes", place), SearchIndex("notes", place)
    first.put([Document("a", "sun", "1", "m", unit(1, 0)), Document("b", "moon", "1", "m", unit(0, 1))])
    ranked = words.ranked_by_words

    def meanwhile(*asked: Any) -> list[int]:
        rows = ranked(*asked)
        second.remove(["a", "b"])
        return rows

    with monkeypatch.context() as patched:
        patched.setattr(index_module, "ranked_by_words", meanwhile)
        assert ids(first.search("sun", 5, "m", unit(1, 0))) == ["a", "b"]
    assert first.search("sun", 5, "m", unit(1, 0)) == []
    first.close()
    second.close()


def test_a_handle_follows_a_clear_and_what_comes_after(place: str | Database) -> None:
    first, second = SearchIndex("notes", place), SearchIndex("notes", place)
    first.put([Document("a", "", "1", "m", unit(1, 0)), Document("b", "", "1", "m", unit(0, 1))])
    assert ids(second.search("", 5, "m", unit(1, 0))) == ["a", "b"]
    first.clear()
    first.put([Document("c", "", "1", "m", unit(1, 1))])
    assert ids(second.search("", 5, "m", unit(1, 0))) == ["c"]
    first.close()
    second.close()


def test_what_follows_is_only_what_is_new(place: str | Database, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = SearchIndex("notes", place), SearchIndex("notes", place)
    first.put(many(100))
    second.search("", 1, "m", unit(*[1.0] * SIZE))
    taken: list[int] = []
    add = vectors.Vectors._add
    monkeypatch.setattr(vectors.Vectors, "_add", lambda self, rows: (taken.append(len(rows)), add(self, rows)))
    first.put([many(101)[-1]])
    first.remove(["3"])
    assert len(second.search("", 200, "m", unit(*[1.0] * SIZE))) == 100
    second.search("", 200, "m", unit(*[1.0] * SIZE))
    assert taken == [1]
    first.close()
    second.close()


def test_the_work_of_frequent_words_is_bounded(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rarest words are asked for first, and no more than fit; one in any case."""
    put_texts(index, *["often now"] * 6, "rare now", "rare often", *["other"] * 12)
    monkeypatch.setattr(words, "POSTINGS", 8)
    state = index._tables.state()
    assert words.chosen(index._tables, ["now", "often", "rare"], state.size) == {"rare": 2}
    monkeypatch.setattr(words, "POSTINGS", 9)
    assert list(words.chosen(index._tables, ["often", "now", "rare"], state.size).items()) == [("rare", 2), ("often", 7)]
    monkeypatch.setattr(words, "POSTINGS", 1)
    assert words.chosen(index._tables, ["often"], state.size) == {"often": 7}


def test_nothing_is_written_by_opening_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    index = SearchIndex("notes", str(path))
    index.put(many(10))
    index.close()
    before = path.read_bytes()
    with sqlite3.connect(path) as holder:  # and another one may be writing
        holder.execute("BEGIN IMMEDIATE")
        index = SearchIndex("notes", str(path))
        assert len(index.search("word1", 5, "m", many(1)[0].vector)) == 5
        index.close()
        holder.rollback()
    holder.close()
    assert path.read_bytes() == before
