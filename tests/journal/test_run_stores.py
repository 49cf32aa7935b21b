"""The laws of run stores, the same for SQLite and PostgreSQL: what is begun, claimed, committed, answered, cancelled, removed
(G-13.1, G-13.6, G-13.12)."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from concerto.runtime.journal.journal import Fenced
from concerto.runtime.journal.rows import EffectRow, JournalRefused, plain_of
from concerto.runtime.journal.run_store import LEASE, Claim, Held, RunStore, owner

from .places import IMAGE, OTHER, Clock, Place, effect, ended, every_row, header

WAIT = {"key": "0:3/approve.1", "kind": "answer", "channel": "approve", "value": "x"}


def begun(store: RunStore, run: str = "a1") -> Claim:
    return store.begin(header(run), b"image", {"seed": 1})


def kept(store: RunStore, run: str = "a1") -> list[Any]:
    return [plain_of(row) for row in store.rows(run)]


def test_a_run_is_given_back_as_it_was_written(place: Place) -> None:
    store = place.open()
    claim = begun(store)
    rows = every_row()
    claim.commit(rows[:2], 0, [])
    claim.commit(rows[2:], 2, [])
    claim.commit([], 2, [WAIT])
    other = place.open(must_exist=True)
    assert kept(other) == [plain_of(row) for row in rows]
    row = other.run("a1")
    assert (row.state, row.rows, row.emits, row.told, row.options) == ("waiting", 6, 2, 2, {"seed": 1})
    assert row.header.as_json() == header("a1").as_json() and row.waits == [WAIT] and row.outcome is None
    assert other.image(IMAGE) == b"image" and row.image == IMAGE
    claim.commit([ended()], 2, [])
    row = other.run("a1")
    assert row.state == "done" and row.outcome is not None and row.outcome.value == [1] and row.waits == []


def test_only_one_goes_on(place: Place) -> None:
    """Who claims a run fences whoever held it, whose next commit changes nothing (G-13.6)."""
    clock = Clock()
    first, second = place.open(clock, named=OTHER), place.open(clock)
    one = begun(first)
    one.commit([effect("0:1")], 0, [])
    with pytest.raises(Held, match="the run a1 is held by elsewhere:7 for another 60 s; end that process, or take the run over"):
        second.claim("a1")
    other = second.claim("a1", take_over=True)
    before = place.all()
    for use in (lambda: one.commit([effect("0:2")], 0, []), lambda: one.commit([ended()], 0, []), one.renew):
        with pytest.raises(Fenced, match="a1 was taken over, or cancelled"):
            use()
    first.release(one)
    assert place.all() == before
    other.commit([effect("0:2", "of the other")], 0, [])
    assert [row["effect"] for row in kept(second)] == ["0:1", "0:2"] and second.run("a1").epoch == 2


def test_a_lease_runs_out_and_is_renewed(place: Place) -> None:
    clock = Clock()
    first, second = place.open(clock, named=OTHER), place.open(clock)
    claim = begun(first)
    clock.now += LEASE - 5
    claim.renew()
    clock.now += LEASE - 5
    with pytest.raises(Held):
        second.claim("a1")
    clock.now += 6
    second.claim("a1")
    with pytest.raises(Fenced):
        claim.renew()


def test_a_run_whose_process_waits_for_an_answer_beside_other_work_is_held(place: Place) -> None:
    """It is suspended, and given back, only when nothing of it goes on."""
    first, second = place.open(named=OTHER), place.open()
    claim = begun(first)
    claim.commit([effect("0:1")], 0, [WAIT])
    assert second.run("a1").state == "waiting"
    with pytest.raises(Held):
        second.claim("a1")
    claim.close()
    second.claim("a1")


def test_a_dead_process_holds_nothing_and_one_of_another_machine_is_not_known_to_be_dead(place: Place) -> None:
    alive = owner()
    machine, number, _, rest = alive.partition(" ")[2].split("/")
    for name, is_held in (
        (f"h:1 {machine}/{number}/1/{rest}", False), (alive, True), (OTHER, True), ("", True), ("x", True),
        (f"h:1 other/{number}/1/{rest}", True),
    ):  # fmt: skip
        run = os.urandom(4).hex()
        begun(place.open(named=name), run)
        if is_held:
            with pytest.raises(Held):
                place.open().claim(run)
        else:
            place.open().claim(run)


def test_answers_are_given_once_and_used_once(place: Place) -> None:
    store = place.open()
    claim = begun(store)
    claim.commit([effect("0:1")], 0, [WAIT])
    with pytest.raises(JournalRefused, match="does not wait for 0:9; it waits for 0:3/approve.1"):
        store.answer("a1", "0:9", {"json": 1})
    store.answer("a1", WAIT["key"], {"json": [1, "é\0"]})
    with pytest.raises(JournalRefused, match="has its answer already"):
        store.answer("a1", WAIT["key"], {"json": 2})
    assert store.answers("a1") == {WAIT["key"]: {"json": [1, "é\0"]}}
    claim.has_answers = True
    claim.commit([effect("0:2")], 0, [WAIT])
    claim.commit([effect(WAIT["key"], status="intent")], 0, [])
    assert store.answers("a1") != {}  # the answer is used when its outcome is kept
    claim.commit([effect(WAIT["key"])], 0, [])
    assert store.answers("a1") == {}


def test_a_cancelled_run_is_over(place: Place) -> None:
    store = place.open()
    claim = begun(store)
    claim.commit([effect("0:1")], 0, [WAIT])
    store.cancel("a1")
    row = store.run("a1")
    assert row.state == "cancelled" and row.outcome is not None and row.outcome.outcome == "cancelled"
    with pytest.raises(Fenced):
        claim.commit([effect("0:2")], 0, [])
    for use in (lambda: store.claim("a1"), lambda: store.cancel("a1"), lambda: store.answer("a1", WAIT["key"], 1)):
        with pytest.raises(JournalRefused, match="the run a1 is over: cancelled"):
            use()


def test_old_runs_are_removed_with_the_images_that_nobody_has(place: Place) -> None:
    clock = Clock()
    store = place.open(clock)
    for run, image in (("a1", "1"), ("b2", "1"), ("c3", "2"), ("d4", "3")):
        claim = store.begin(header(run, image), image.encode(), {})
        claim.commit([effect("0:1"), *([] if run == "b2" else [ended()])], 0, [])
        clock.now += 10
    assert store.prune(store.run("a1").changed + 25) == 2
    assert [row.id for row in store.runs()] == ["d4", "b2"]
    assert store.image("1") == b"1" and store.image("3") == b"3"
    with pytest.raises(JournalRefused, match="has no image 2"):
        store.image("2")
    assert {row[0] for row in place.all()["rows"]} == {"b2", "d4"}


def test_a_run_is_found_by_its_beginning(place: Place) -> None:
    store = place.open()
    for run in ("ab1", "ab2", "ab", "cd"):
        begun(store, run)
    assert store.run("c").id == "cd" and store.run("ab").id == "ab" and store.claim("cd", take_over=True).run == "cd"
    with pytest.raises(JournalRefused, match="several runs begin with a: ab, ab1, ab2"):
        store.run("a")
    for unknown in ("", "x", "%", "'", "\0", "\udc80", "a" * 5_000, "ab1~", "AB"):
        with pytest.raises(JournalRefused, match="has no run"):
            store.run(unknown)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE rows SET body = ? WHERE n = 2", "row 2 that is not as it was written"),
        ("DELETE FROM rows WHERE n = 2", "lacks its row 2"),
        ("DELETE FROM rows WHERE n = 5", "lacks its row 5"),
        ("UPDATE rows SET n = 9 WHERE n = 2", "has more rows than the 6"),
        ("UPDATE rows SET seal = 'x' WHERE n = 5", "row 5 that is not as it was written"),
        ("UPDATE runs SET rows = 5", "has more rows than the 5 that it knows of"),
        ("UPDATE runs SET rows = 7", "lacks its row 6"),
        ("UPDATE runs SET options = '{}'", "row 0 that is not as it was written"),
        ("UPDATE runs SET header = '{}'", "is no header of an effect file"),
        ("UPDATE runs SET options = '[]'", "has options that are none"),
        ("UPDATE runs SET waits = '[{}]'", "waits for something that nobody can wait for"),
        ("UPDATE runs SET outcome = '{'", "has no readable outcome"),
        ("UPDATE runs SET state = 'done'", "has an outcome that is none of its state"),
        ("UPDATE runs SET state = 'lost'", "has a state that no run has"),
        ("UPDATE runs SET epoch = -1", "has a count that is none"),
        ("UPDATE runs SET lease = 1e300", "has a time that is none"),
    ],
)
def test_what_was_changed_is_named(place: Place, statement: str, said: str) -> None:
    store = place.open()
    begun(store).commit(every_row(), 2, [])
    with place.changing() as execute:
        execute(statement, ('{"deliver": "0:1"}',) if "?" in statement else ())
    with pytest.raises(JournalRefused, match="the run '?a1'? .*restore the store from a copy") as refused:
        store.claim("a1", take_over=True)
        kept(store)
    assert re.search(said, str(refused.value)) and place.name.rpartition("/")[2] in str(refused.value)


def test_a_commit_that_fails_keeps_nothing_of_itself(place: Place) -> None:
    store = place.open()
    claim = begun(store)
    claim.commit([effect("0:1")], 0, [])
    with place.changing() as execute:
        execute("INSERT INTO rows VALUES ('a1', 2, 'in its way', '')")
    before = place.all()
    with pytest.raises(JournalRefused, match="the run store .* failed: .*(UNIQUE|unique)"):
        claim.commit([effect("0:2"), effect("0:3"), effect("0:4")], 0, [])
    assert place.all() == before
    with place.changing() as execute:
        execute("DELETE FROM rows WHERE n = 2")
    claim.commit([effect("0:2")], 0, [])
    assert [row["effect"] for row in kept(store)] == ["0:1", "0:2"]


def together(count: int, work: Callable[[int], object]) -> list[BaseException | object]:
    """What `work` gives or raises in so many threads that begin at once."""
    ready, came = threading.Barrier(count), []

    def one(number: int) -> None:
        ready.wait()
        try:
            came.append(work(number))
        except BaseException as error:
            came.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return came


def test_a_store_that_several_make_at_once_is_one(place: Place) -> None:
    came = together(6, lambda number: begun(place.open(), f"a{number}").run)
    assert sorted(map(str, came)) == [f"a{number}" for number in range(6)]
    assert len(place.open(must_exist=True).runs()) == 6


def test_of_several_that_claim_at_once_one_has_the_run(place: Place) -> None:
    clock = Clock()
    begun(place.open(clock, named=OTHER))
    stores = [place.open(clock, named=f"m{number}:1 boot{number}/1/1/aa") for number in range(4)]
    clock.now += LEASE + 1
    came = together(4, lambda number: stores[number].claim("a1"))
    assert sum(isinstance(one, Claim) for one in came) == 1 and sum(isinstance(one, Held) for one in came) == 3, came


def test_an_image_that_is_removed_while_a_run_of_it_begins_is_there(place: Place) -> None:
    for turn in range(5):
        store = place.open()
        begun(store, f"a{turn}").commit([ended()], 0, [])
        stores = [place.open() for _ in range(4)]

        def work(number: int, turn: int = turn, stores: list[RunStore] = stores) -> object:
            return stores[number].prune(2e9) if number % 2 else begun(stores[number], f"b{turn}{number}").commit([ended()], 0, [])

        assert not [one for one in together(4, work) if isinstance(one, BaseException)]
        for row in store.runs():
            assert store.image(row.image) == b"image"


def test_what_is_no_run_store_is_left_alone(place: Place) -> None:
    with pytest.raises(JournalRefused, match="there is no run store"):
        place.open(must_exist=True)
    store = place.open()
    store.close()
    store.close()
    for statement, said in (
        ("DROP TABLE answers", "the table answers is gone; restore it from a copy"),
        ("UPDATE meta SET value = 'concerto-runs/9'", "has the format concerto-runs/9; this release reads concerto-runs/1"),
        ("DELETE FROM meta", "is a database of something else; name another place"),
        ("DROP TABLE meta", "is a database of something else; name another place"),
    ):
        with place.changing() as execute:
            execute(statement)
        for must_exist in (True, False):
            with pytest.raises(JournalRefused, match=said):
                place.open(must_exist=must_exist)


def test_a_settled_row_is_what_uses_an_answer() -> None:
    assert not EffectRow("k", "model", "once", "", None, "", status="intent").is_settled
