"""Changes in place of slots lose no update (M-8.21, M-8.22, M-12.27): between threads with handles of their own, tasks, sessions,
and against those who only read."""

from __future__ import annotations

import threading

import concerto
import pytest
from concerto.runtime.memory.facts import PERSISTENT
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.remembering import Facts

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
    from concerto.runtime.memory.stores.sqlite import SqliteStore

    class Busy(SqliteStore):
        def swap(self, *given):
            return False

    store = Busy(str(tmp_path / "m.db"), name="durable")
    session = concerto.compile(PROGRAM).session(stores={"durable": store}, budgets=concerto.Budgets(seconds=1))
    with session, pytest.raises(concerto.Panic, match="P102"):
        session.call("go", "s")
    store.close()
