"""Declared indexes from Python: in memory with the state of a session, in a file with other sessions and processes (O-1.241)."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.memory.stores import sqlite
from concerto.runtime.search.index import SearchIndex

SOURCE = """
struct Note { path: String, text: String, n: Int = 7 }
index notes: Index<Note> = Index::of("offline", key: |n| n.text, id: |n| n.path)STORE;
index words: Index<String> = Index::of();
pub fn add(path: String, text: String) -> Result<Nil, AgentError> { notes.add(Note { path: path, text: text }) }
pub fn many(n: Int) -> Result<Nil, AgentError> { notes.add_all((0..n).map(|i| Note { path: "p${i}", text: "page ${i}" })) }
pub fn find(query: String) -> Result<Array<String>, AgentError> { Ok(notes.search(query)?.map(|hit| hit.0.path)) }
pub fn get(path: String) -> Result<Option<Note>, AgentError> { notes.get(path) }
pub fn len() -> Int { notes.len() }
pub fn say(text: String) -> Result<Int, AgentError> { words.add(text)?; Ok(words.len()) }
"""


def program(store: str = "", source: str = SOURCE) -> concerto.Program:
    return concerto.compile(source.replace("STORE", store))


def test_the_state_of_a_session_carries_what_is_in_memory() -> None:
    compiled = program()
    with compiled.session(offline=True) as session:
        session.call("add", "a", "green tea")
        session.call("add", "b", "granite rock")
        session.call("say", "hello")
        state = session.dump()
        session.call("add", "c", "later")
        session.restore(state)
        assert session.call("len") == 2
    with compiled.session(offline=True) as other:
        other.restore(state)
        assert other.call("len") == 2 and other.call("find", "teas")[0] == "a" and other.call("say", "again") == 2


def test_a_secret_is_in_an_index_by_its_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G-10.3: also for the program itself, as from a memory."""
    monkeypatch.chdir(tmp_path)
    source = SOURCE + """
        pub fn secret() -> Result<Nil, Error> {
            let token = std::env::require("MY_TOKEN")?;
            notes.add(Note { path: token, text: "it is ${token}" })?;
            Ok(nil)
        }
        pub fn stored() -> Result<Int, AgentError> { Ok((notes.get("<secret MY_TOKEN>")?.unwrap()).text.len()) }
    """
    granted: dict[str, Any] = {"env": {"MY_TOKEN": "sk-very-secret-0123456789"}, "permissions": concerto.Permissions(env=True)}
    for store in ("", '.store("durable")'):
        with program(store, source).session(offline=not store, **granted) as session:
            session.call("secret")
            assert session.call("stored") == len("it is <secret MY_TOKEN>")
            assert b"sk-very-secret" not in session.dump()
    files = [path.read_bytes() for path in (tmp_path / ".concerto").iterdir()]
    assert files and not any(b"sk-very-secret" in data for data in files)


@pytest.mark.parametrize("damage", [lambda rows: rows[:-1], lambda rows: rows[:-40] + b"\0" * 40])
def test_a_damaged_state_is_refused(damage: Any) -> None:
    compiled = program()
    with compiled.session(offline=True) as session:
        session.call("add", "a", "green tea")
        state = session.dump()
        with pytest.raises(concerto.ImageError):
            session.restore(damage(state))
        assert session.call("len") == 1


def test_a_store_is_shared_and_outlives_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compiled = program('.store("durable")')
    with compiled.session() as one, compiled.session() as two:
        one.call("add", "a", "green tea")
        assert two.call("find", "tea") == ["a"]
        two.call("add", "b", "granite")
        assert one.call("len") == 2
        state = one.dump()
    with compiled.session() as later:
        later.restore(state)
        assert later.call("len") == 2  # a state holds nothing of it, and takes nothing from it
    assert [path.name for path in (tmp_path / ".concerto").iterdir() if path.suffix == ".db"] == ["memory.db"]


def test_processes_write_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.conc").write_text(SOURCE.replace("STORE", '.store("durable")'))
    code = (
        "import sys, concerto\nwith concerto.compile(path='p.conc').session() as s:\n"
        "    for n in range(10): s.call('add', f'{sys.argv[1]}-{n}', f'text {n}')\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, name], cwd=tmp_path) for name in "abc"]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    with program('.store("durable")').session() as session:
        assert session.call("len") == 30


def test_a_type_that_changed_is_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with program('.store("durable")').session() as session:
        session.call("add", "a", "green tea")
    changed = SOURCE.replace("n: Int = 7", "n: String")
    changed = changed.replace("text: text }", 'text: text, n: "" }').replace('"page ${i}" }', '"page ${i}", n: "" }')
    with program('.store("durable")', changed).session() as session, pytest.raises(concerto.ProgramError) as raised:
        session.call("find", "tea")
    assert raised.value.error.variant == "Corrupt"
    assert "the document 'a' of index notes does not fit its type" in str(raised.value)


def test_a_field_that_is_added_later_has_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
        struct Doc {{ text: String{more} }}
        index docs: Index<Doc> = Index::of(key: |d| d.text, id: |d| d.text).store("durable");
        pub fn add() {{ docs.add(Doc {{ text: "green tea" }}).unwrap(); }}
        pub fn all() -> Array<Any> {{ [docs.get("green tea").unwrap() as Any, docs.search("tea").unwrap()[0].0] }}
    """
    with concerto.compile(source.format(more="")).session() as session:
        session.call("add")
    with concerto.compile(source.format(more=", n: Int = 3 + 4, by: String? = nil")).session() as session:
        assert [(doc.text, doc.n, doc.by) for doc in session.call("all")] == [("green tea", 7, None)] * 2


def test_a_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".concerto").mkdir()
    (tmp_path / ".concerto" / "memory.db").write_text("this is no database, and long enough to be told from an empty one" * 99)
    with program('.store("durable")').session() as session:
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("add", "a", "x")
        assert raised.value.error.variant in ("Corrupt", "Store")
        with pytest.raises(concerto.Panic, match="P412"):
            session.call("len")


def test_other_tasks_go_on_while_a_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def main() -> int:
        session = program('.store("durable")').session()
        turns = 0
        job = asyncio.create_task(session.acall("many", 3_000))
        while not job.done():
            await asyncio.sleep(0)
            turns += 1
        await job
        assert await session.acall("len") == 3_000
        await session.aclose()
        return turns

    assert asyncio.run(main()) > 20


def test_pages_of_a_search_that_refuses_much_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page ranks anew what comes before it, so that pages of one size would cost the square of the documents."""
    pages: list[tuple[int, int]] = []
    search = SearchIndex.search

    def noted(index: SearchIndex, text: str, limit: int, label: str = "", vector: bytes | None = None, skip: int = 0) -> Any:
        pages.append((skip, limit))
        return search(index, text, limit, label, vector, skip)

    monkeypatch.setattr(SearchIndex, "search", noted)
    source = SOURCE + """
        pub fn none() -> Result<Int, AgentError> { Ok(notes.search("page", 10, |note| note.n == 0)?.len()) }
    """
    with program(source=source).session(offline=True) as session:
        session.call("many", 1_000)
        assert session.call("none") == 0
    assert pages == [(0, 40), (40, 80), (120, 160), (280, 320), (600, 640)]


def test_a_model_is_told_no_text_of_a_failed_embedder() -> None:
    """G-9.10: which code failed, and the class of the exception."""

    class Failing:
        def embed(self, texts: list[str]) -> list[list[float]]:
            raise OSError("/home/ada/private is gone")

    source = SOURCE.replace('"offline"', "E") + """
        embedder E { provider: offline }
        memory log: Memory = Memory::new().tools();
        model M { provider: offline, tools: [notes], memory: log }
        pub fn ask() -> Result<Array<String>, AgentError> { M.execute("x")?; Ok(log.messages().map(|m| m.content)) }
    """
    script = [{"tool_calls": [{"tool": "notes.search", "arguments": {"query": "tea"}}]}, {"text": "done"}]
    with program(source=source).session(offline_script=script, embedders={"E": Failing()}) as session:
        assert session.call("ask")[2] == '{"error":"the embedder E failed (OSError)"}'
        with pytest.raises(concerto.ProgramError, match="/home/ada/private is gone"):
            session.call("add", "a", "tea")


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """A file that another writer has locked."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


WAITING = SOURCE + """
    fn tick(ticks: Array<Int>) -> Int {
        let mut all = ticks;
        for i in 0..20 { std::time::sleep(1); all.push(i); emit("tick", i); }
        all.len()
    }
    pub fn both() -> Result<Int, AgentError> {
        let ticks = spawn tick([]);
        add("a", "tea")?;
        emit("tick", 100);
        Ok(await ticks)
    }
"""


def test_tasks_go_on_while_another_process_has_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ticks of a task come while an `add` beside it waits for the lock."""
    monkeypatch.chdir(tmp_path)

    async def main() -> list[int]:
        ticks: list[int] = []
        session = program('.store("durable")', WAITING).session()
        session.on("tick", ticks.append)
        await session.acall("len")  # the file is there
        with locked(tmp_path / ".concerto" / "memory.db") as other:
            job = asyncio.create_task(session.acall("both"))
            while len(ticks) < 20:
                await asyncio.sleep(0)
                assert not job.done()
            other.execute("ROLLBACK")
            assert await job == 20 and await session.acall("len") == 1
        await session.aclose()
        return ticks

    assert asyncio.run(main()) == [*range(20), 100]


def test_an_add_that_was_cancelled_writes_nothing_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        session = program('.store("durable")').session()
        await session.acall("add", "first", "one")
        with locked(tmp_path / ".concerto" / "memory.db") as other:
            job = asyncio.create_task(session.acall("add", "a", "tea"))
            await asyncio.sleep(0.05)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            other.execute("ROLLBACK")
        await session.aclose()

    asyncio.run(main())
    with program('.store("durable")').session() as later:
        assert later.call("len") == 1


def test_a_file_that_stays_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sqlite, "LONGEST_WAIT", 0.05)
    with program('.store("durable")').session() as session:
        session.call("add", "first", "one")
        with locked(tmp_path / ".concerto" / "memory.db"), pytest.raises(concerto.ProgramError) as raised:
            session.call("add", "a", "tea")
        assert raised.value.error.kind == "MemoryError" and "locked" in raised.value.error.message
        assert session.call("find", "one") == ["first"]


def test_work_that_takes_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement is interrupted after LONGEST_WAIT seconds, and nothing was changed."""
    monkeypatch.chdir(tmp_path)
    with program('.store("durable")').session() as session:
        session.call("add", "first", "one")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        put = SearchIndex._put

        def slow(index: SearchIndex, rows: Any) -> None:
            put(index, rows)
            index._tables.rows(endless)

        with monkeypatch.context() as patched:
            patched.setattr(SearchIndex, "_put", slow)
            patched.setattr("concerto.runtime.memory.stores.thread.LONGEST_WAIT", 0.05)
            with pytest.raises(concerto.ProgramError) as raised:
                session.call("add", "a", "tea")
        assert raised.value.error.kind == "MemoryError" and "no answer within 0.05 s" in raised.value.error.message
        session.call("add", "b", "two")
        assert session.call("len") == 2


def give_up_an_add(open_session: Callable[[], concerto.Session], monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancel an add while it computes, so that its thread is lost; what follows waits until it has ended, and finds nothing of
    it. The documents `first` and `next` stay."""
    entered, go_on, put = threading.Event(), threading.Event(), SearchIndex._put

    def slow(index: SearchIndex, rows: Any) -> None:
        put(index, rows)
        if rows[0].id == b"slow":
            entered.set()
            go_on.wait(20)

    monkeypatch.setattr(SearchIndex, "_put", slow)

    async def main() -> None:
        session = open_session()
        await session.acall("add", "first", "one")
        job = asyncio.create_task(session.acall("add", "slow", "tea"))
        while not entered.is_set():
            await asyncio.sleep(0.001)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        after = asyncio.create_task(session.acall("add", "next", "two"))
        await asyncio.sleep(0.05)
        assert not after.done()
        go_on.set()
        await after
        assert await session.acall("len") == 2
        await session.aclose()

    asyncio.run(main())


def test_an_operation_that_was_given_up_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compiled = program('.store("durable")')
    give_up_an_add(compiled.session, monkeypatch)
    with compiled.session() as later:
        assert sorted(later.call("find", "one two tea")) == ["first", "next"]
