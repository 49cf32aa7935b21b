"""Changes in place of slots lose no update (M-8.21, M-8.22, M-12.27): between threads with handles of their own, tasks, sessions,
and against those who only read."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import concerto
import pytest
from concerto.runtime.effects import memories
from concerto.runtime.memory import fact_index, locks
from concerto.runtime.memory.facts import PERSISTENT, Fact, elements_of
from concerto.runtime.memory.locks import SlotTurns
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores import sql
from concerto.runtime.memory.stores.sqlite import SqliteStore

KEY = ("app", "m", "")


def facts_of(store, **given):
    return Facts(Memory(Policy(), name="m", store=store, key=KEY, **given))


def add(facts, name="n", by=1):
    """As the code of a program does it."""
    while True:
        held, said = facts.seen_slot(PERSISTENT, name)
        fact = facts.drafted(name, (held[0] if held else 0) + by, tier=PERSISTENT)
        if facts.swap(fact, said):
            return


def raced(stores, count):
    """Each thread adds with a store of its own, and reads now and then."""
    failures = []

    def work(store):
        try:
            facts = facts_of(store)
            for number in range(count):
                add(facts)
                if number % 3 == 0:
                    facts.slots([(PERSISTENT, "n")])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    held, _ = facts_of(stores[0]).seen_slot(PERSISTENT, "n")
    assert held == [count * len(stores)]


def test_threads_with_stores_of_their_own(open_store):
    if open_store.kind == "volatile":
        pytest.skip("it is of one session")
    open_store().keep(KEY, 1, [], ())
    raced([open_store.again() for _ in range(3)], 12)


def test_who_only_reads_writes_no_content_back(open_store):
    """What a reader holds may be old by the time its access is counted."""
    store = open_store()
    if open_store.kind == "volatile":
        pytest.skip("it is of one session")
    add(facts_of(store))
    reader, writer = facts_of(open_store.again()), facts_of(open_store.again())
    old = reader._slot(reader._indexes(), PERSISTENT, "n")
    add(writer)
    reader.put([old.changed(accessed=reader.memory.now())])
    assert facts_of(store).seen_slot(PERSISTENT, "n")[0] == [2]


PROGRAM = """
context C { persistent { mut n: Int = 0, mut list: Array<String> = [] } }
memory m: Memory = Memory::new().store("durable").context(C);
async fn work(name: String) reads m.n, m.list {
    for n in 0..5 { m.n += 1; m.list.push("${name}${n}"); std::time::sleep(1); }
}
pub async fn go(name: String) -> Int { await (work("${name}a"), work("${name}b"), work("${name}c")); m.n }
pub fn held() -> (Int, Int) { (m.n, m.list.len()) }
"""


@pytest.mark.parametrize("how", ["file", "host"])
def test_tasks_and_sessions(how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = concerto.compile(PROGRAM)
    given = {}
    if how == "host":
        from .test_evolution import OfAHost

        given = {"stores": {"durable": OfAHost()}}
    sessions = [program.session(**given) for _ in range(1 if how == "host" else 2)]
    failures = []

    def run(number, session):
        try:
            session.call("go", f"s{number}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sessions[0].call("held") == (15 * len(sessions), 15 * len(sessions))
    for session in sessions:
        session.close()


def test_a_deadline_ends_the_waiting(tmp_path, monkeypatch):
    """Somebody who writes all the time would keep it waiting for ever."""
    monkeypatch.chdir(tmp_path)

    class Busy(SqliteStore):
        def swap(self, *given):
            return False

    store = Busy(str(tmp_path / "m.db"), name="durable")
    session = concerto.compile(PROGRAM).session(stores={"durable": store}, budgets=concerto.Budgets(seconds=1))
    with session, pytest.raises(concerto.Panic, match="P102"):
        session.call("go", "s")
    store.close()


# ---------------------------------------------------------------- what a change costs


def test_elements_of_a_list_copy_no_times_of_others(monkeypatch):
    slot = Fact(1, PERSISTENT, "list", ["x"] * 500, elements=[[1, 1, 1]] * 500)
    given, make = [], Fact.__init__

    def counted(self, *values, elements=(), **named):
        given.append(len(elements))
        make(self, *values, elements=elements, **named)

    monkeypatch.setattr(Fact, "__init__", counted)
    assert len(elements_of(slot)) == 500
    assert sum(given) <= 2 * 500


def test_a_push_counts_no_words_and_reads_nothing_again(tmp_path, monkeypatch):
    """What it does with the list is the same for a long one; recall finds what was pushed."""
    counted, read = [], []
    words, decode = fact_index.words, sql.fact_of_row
    monkeypatch.setattr(fact_index, "words", lambda text: counted.append(text) or words(text))
    monkeypatch.setattr(sql, "fact_of_row", lambda *row: read.append(row) or decode(*row))
    source = """
        context C { persistent { mut list: Array<String> = [] } }
        memory m: Memory = Memory::new().store("durable").context(C);
        pub fn push() { for n in 0..20 { m.list.push("word${n}"); } }
        pub fn found() -> Int { m.recall("word7").len() }
    """
    store = SqliteStore(str(tmp_path / "m.db"), name="durable")
    with concerto.compile(source).session(stores={"durable": store}) as session:
        session.call("push")
        assert counted == [] and len(read) <= 1, "the first change was no change of what is known"
        assert session.call("found") >= 1
        assert "list\nword7" in counted
    store.close()


# ---------------------------------------------------------------- turns


class Counted(SqliteStore):
    """`lost`: changes that came too late; `asked`: what was asked of leases."""

    def __init__(self, path):
        super().__init__(path, name="durable")
        self.lost, self.asked = 0, []

    def swap(self, *given):
        stored = super().swap(*given)
        self.lost += not stored
        return stored

    def acquire(self, *given):
        self.asked.append("acquire")
        return super().acquire(*given)


ADDING = """
context C { persistent { mut n: Int = 0, mut list: Array<String> = [] } }
memory m: Memory = Memory::new().store("durable").context(C);
pub fn add(count: Int) { for _n in 0..count { m.n += 1; } }
pub fn held() -> Int { m.n }
"""


def test_one_alone_takes_no_lease(tmp_path):
    store = Counted(str(tmp_path / "m.db"))
    with concerto.compile(ADDING).session(stores={"durable": store}) as session:
        session.call("add", 100)
        assert session.call("held") == 100
    assert store.lost == 0 and store.asked == []
    store.close()


def test_who_lost_queues(tmp_path):
    """Each of four makes many changes; without turns each is lost a few times, and most belong to one of them at a time."""
    program, path = concerto.compile(ADDING), str(tmp_path / "m.db")
    stores = [Counted(path) for _ in range(4)]
    sessions = [program.session(stores={"durable": store}) for store in stores]
    threads = [threading.Thread(target=session.call, args=("add", 100)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sessions[0].call("held") == 400
    assert any("acquire" in store.asked for store in stores)
    assert sum(store.lost for store in stores) < 100
    for session, store in zip(sessions, stores, strict=True):
        session.close()
        store.close()


HOLDING = """
import sys
from concerto.runtime.memory.stores.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
assert store.acquire(("a", "m", "", "n"), "other", 0.25)
print("held", flush=True)
sys.stdin.read()
"""


async def taken(turns, slot, store, key):
    async def use(work):
        return work()

    slot.lost()
    begun = time.monotonic()
    await turns.take(slot, store, key, use, asyncio.sleep)
    return time.monotonic() - begun


def test_a_holder_that_was_killed_holds_nobody_up(tmp_path):
    """M-8.21: the lease ends by itself, and whoever waited has it."""
    path, key = str(tmp_path / "m.db"), ("a", "m", "", "n")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    store, turns = SqliteStore(path), SlotTurns("mine")
    asyncio.run(taken(turns, turns.of("n"), store, key))
    assert store.holder(key) == "mine"
    store.close()


def test_a_lease_that_does_not_end_only_orders(tmp_path, monkeypatch):
    """Who waits too long for it goes on without: what is stored is compared anyway."""
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    store, turns, key = SqliteStore(str(tmp_path / "m.db")), SlotTurns("mine"), ("a", "m", "", "n")
    assert store.acquire(key, "other", 600)
    slot = turns.of("n")
    asyncio.run(taken(turns, slot, store, key))
    assert store.holder(key) == "other" and slot.since is None
    store.close()


def test_two_who_change_a_slot_again_and_again_take_turns(tmp_path):
    """Neither keeps the other waiting until it is done."""
    store, order = SqliteStore(str(tmp_path / "m.db")), []

    async def use(work):
        return work()

    async def changes(name):
        turns = SlotTurns(name)
        slot = turns.of("n")
        for _ in range(60):
            slot.lost()
            await turns.take(slot, store, KEY, use, asyncio.sleep)
            await asyncio.sleep(0.005)
            order.append(name)
            await turns.stored(slot, store, KEY, use)

    async def main():
        await asyncio.gather(changes("a"), changes("b"))

    asyncio.run(main())
    handed_over = sum(one != other for one, other in zip(order, order[1:], strict=False))
    assert handed_over >= 3 and order.index("b") < 60 and order.index("a") < 60
    store.close()


def test_a_deadline_ends_the_waiting_for_a_turn(tmp_path):
    class Held(SqliteStore):
        def swap(self, *given):
            return False

        def acquire(self, *given):
            return False

    store = Held(str(tmp_path / "m.db"), name="durable")
    with concerto.compile(ADDING).session(stores={"durable": store}, budgets=concerto.Budgets(seconds=0.2)) as session:
        begun = time.monotonic()
        with pytest.raises(concerto.Panic, match="P102"):
            session.call("add", 1)
        assert time.monotonic() - begun < 0.2 + locks.PATIENCE / 2
    store.close()


def test_a_pause_stays_bounded_however_many_changes_were_lost(monkeypatch):
    """M-8.21: a task may lose more often than the exponent of a Float goes."""
    pauses = []

    async def rest(run, seconds):
        pauses.append(seconds)

    monkeypatch.setattr(memories, "_rest", rest)
    monkeypatch.setattr(memories, "_random", SimpleNamespace(uniform=lambda low, high: high))
    held = SimpleNamespace(slot_turn=lambda memory, name: SlotTurns("mine").of(name), lost={"1": 5_000})
    run, effect = SimpleNamespace(memories=held), SimpleNamespace(task=SimpleNamespace(path="1"))
    use = SimpleNamespace(memory=None, arguments=["n"])
    asyncio.run(memories._after_change(run, effect, use, False))
    held.lost["1"] = 0
    asyncio.run(memories._after_change(run, effect, use, False))
    assert pauses == [memories.LONGEST_PAUSE, 2 * memories.SHORTEST_PAUSE]
