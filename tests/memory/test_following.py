"""Facts that other handles write: what recall looks through follows their changes and reads only those (M-10.6, M-14.4)."""

from __future__ import annotations

from threading import Thread

import pytest
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.protocol import Batch, Head
from concerto.runtime.memory.stores.sql import NO_NOTE, changed_facts
from concerto.runtime.memory.stores.volatile import VolatileStore

from .conftest import KINDS

KEY = ("app", "m", "user", "")
shared = pytest.mark.parametrize("open_store", [kind for kind in KINDS if kind != "volatile"], indirect=True)


@pytest.fixture
def two(open_store):
    """Two handles of one store."""
    return open_store(), open_store.again()


def fact(number, name=None, content="tea"):
    return Fact(number, "persistent", name or f"n{number}", content)


def names(store):
    """By the index, which is that of the facts there are."""
    index = store.index(KEY)
    held = [found.as_json() for found in sorted(index.facts.values(), key=lambda found: found.id)]
    assert held == [found.as_json() for found in store.facts(KEY)]
    assert all(index.named("persistent", found["name"]).id == found["id"] for found in held)
    assert len(index) == sum(index.bands.sizes) == index.frequency("tea") == len(held)  # the first puts what waits in its place
    return [found["name"] for found in held]


def read_by(store, work):
    """Of the facts its index reads meanwhile: "all", or the numbers."""
    read, plain = [], store._indexes._read
    store._indexes._read = lambda key, numbers: read.append("all" if numbers is None else list(numbers)) or plain(key, numbers)
    try:
        work()
    finally:
        store._indexes._read = plain
    return read


@shared
def test_only_what_others_changed_is_read(two):
    here, there = two
    here.keep(KEY, 1, [fact(number) for number in range(5)], ())
    assert read_by(there, lambda: names(there)) == ["all"]
    assert read_by(there, lambda: (names(there), names(there))) == []
    here.keep(KEY, 2, [fact(7)], [1, 3])
    here.keep(KEY, 3, [fact(2, content="green tea")], ())
    assert read_by(there, lambda: names(there)) == [[1, 2, 3, 7]]
    assert names(there) == ["n0", "n2", "n4", "n7"]


@shared
def test_what_it_writes_itself_is_not_read(two):
    store, _ = two
    store.keep(KEY, 1, [fact(0)], ())
    names(store)

    def work():
        store.keep(KEY, 2, [fact(1)], ())
        store.commit([(KEY, 0, Batch(Head(1, 0, 0, 0, 0, 3), facts=[fact(2)], gone=[0]))])
        assert names(store) == ["n1", "n2"]

    assert read_by(store, work) == []


@shared
def test_changes_of_two_are_read_in_their_order(two):
    """A handle that writes behind a change it has not seen does not miss it."""
    here, there = two
    here.keep(KEY, 1, [fact(0), fact(1)], ())
    assert names(here) == names(there) == ["n0", "n1"]
    there.keep(KEY, 2, [fact(2)], [0])
    here.keep(KEY, 3, [fact(3)], ())
    assert names(here) == names(there) == ["n1", "n2", "n3"]


@shared
def test_numbers_that_swap_their_names(two):
    here, there = two
    here.keep(KEY, 1, [fact(3, "a"), fact(4, "b")], ())
    names(there)
    here.keep(KEY, 2, [], [3, 4])
    here.keep(KEY, 3, [fact(3, "b"), fact(4, "a")], ())
    assert names(there) == ["b", "a"]


@shared
def test_who_missed_too_much_reads_all(two, monkeypatch):
    for module in ("sql", "redis"):
        monkeypatch.setattr(f"concerto.runtime.memory.stores.{module}.NOTES", 5)
    here, there = two
    here.keep(KEY, 1, [fact(0)], ())
    names(there)
    for number in range(1, 5):
        here.keep(KEY, 2, [fact(number)], ())
    assert read_by(there, lambda: names(there)) == [[1, 2, 3, 4]]
    for number in range(5, 10):
        here.keep(KEY, 2, [fact(number)], ())
    assert read_by(there, lambda: names(there)) == ["all"]
    assert len(names(there)) == 10
    assert len(here._notes(KEY, 0)) == 5


@shared
def test_a_large_change_is_noted_as_one_of_all(two, monkeypatch):
    for module in ("sql", "redis"):
        monkeypatch.setattr(f"concerto.runtime.memory.stores.{module}.NAMED", 5)
    here, there = two
    here.keep(KEY, 1, [fact(0)], ())
    assert names(there) == ["n0"]
    here.keep(KEY, 2, [fact(number) for number in range(1, 6)], ())
    assert read_by(there, lambda: names(there)) == [[1, 2, 3, 4, 5]]
    here.keep(KEY, 3, [fact(number) for number in range(6, 12)], ())
    assert read_by(there, lambda: names(there)) == ["all"]
    assert len(names(there)) == 12


@shared
def test_a_key_that_was_removed_and_written_again_is_another(two):
    here, there = two
    for number in range(3):
        here.keep(KEY, 1, [fact(number)], ())
    assert names(there) == ["n0", "n1", "n2"]
    here.remove([KEY])
    assert names(there) == []
    for number in range(3):
        here.keep(KEY, 1, [fact(number, f"m{number}")], ())
    assert names(there) == ["m0", "m1", "m2"]
    here.commit([(KEY, 0, Batch(Head(1, 0, 0, 0, 0, 3), facts=[fact(9)], facts_anew=True))])
    assert names(there) == names(here) == ["n9"]
    here.expire(KEY[:1], 10, 5)
    assert names(there) == names(here) == []


@shared
def test_a_refused_change_is_none(two):
    here, there = two
    here.keep(KEY, 1, [fact(0, "a")], ())
    assert names(there) == ["a"]
    with pytest.raises(MemoryFailure):
        there.keep(KEY, 2, [fact(0, "b")], ())
    assert read_by(there, lambda: names(there)) == [] and names(there) == names(here) == ["a"]


@shared
def test_writers_at_the_same_time(open_store):
    """Each of four handles remembers and forgets; all of them know the same in the end."""
    stores = [open_store(), *(open_store.again() for _ in range(3))]
    failed = []

    def write(number, store):
        try:
            memory = Memory(store=store, session=VolatileStore(), key=KEY)
            for turn in range(12):
                held = Facts(memory)
                held.keep(held.drafted(f"{number} {turn}", "tea"))
                if turn % 3 == 2:
                    held.forget(f"{number} {turn - 1}")
                assert f"{number} {turn}" in names_of(memory)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=write, args=pair) for pair in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    expected = sorted(f"{number} {turn}" for number in range(4) for turn in range(12) if turn % 3 != 1)
    assert [sorted(names(store)) for store in stores] == [expected] * 4


def names_of(memory):
    return [hit.fact.name for hit in Facts(memory).recall("tea", 99, touch=False)]


@pytest.mark.parametrize(
    "notes, since, expected",
    [
        ([], NO_NOTE, set()),
        ([], 7, None),
        ([(7, "1")], NO_NOTE, None),
        ([(7, "1")], -1, None),
        ([(7, "1")], 7, set()),
        ([(7, "1"), (8, "2 3"), (9, "")], 7, {2, 3}),
        ([(7, None), (8, "2")], 7, {2}),
        ([(7, "1"), (8, None)], 7, None),
        ([(8, "1")], 7, None),
        ([(7, "1"), (9, "1")], 7, None),
    ],
)
def test_notes_say_what_changed_since(notes, since, expected):
    assert changed_facts(notes, since) == expected


def test_a_file_of_the_first_format_is_taken_over(tmp_path):
    """M-8.6: its facts have no notes; a program that writes none is refused from then on."""
    from concerto.runtime.memory.stores.sqlite import SqliteStore

    path = str(tmp_path / "memory.db")
    old = SqliteStore(path)
    old.keep(KEY, 1, [fact(0)], ())
    for statement in ("DROP TABLE changed", "UPDATE meta SET format = 1"):
        old._connection.execute(statement)
    old.close()
    here, there = SqliteStore(path), SqliteStore(path)
    assert here._rows("SELECT format FROM meta") == [(5,)]
    assert names(here) == names(there) == ["n0"]
    there.keep(KEY, 2, [fact(1)], ())
    assert names(here) == names(there) == ["n0", "n1"]
    here.close()
    there.close()
