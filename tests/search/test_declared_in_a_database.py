"""Declared indexes in a PostgreSQL store: shared, apart, waited for, and what fails is an Err (O-1.241, O-1.252)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.memory.stores.postgres import PostgresStore
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.search.index import SearchIndex

from ..memory import servers
from .test_declared_indexes import SOURCE, WAITING, give_up_an_add

MANIFEST = """
[memory]
namespace = "NAME"

[stores.shared]
kind = "postgres"
url_env = "DOCS_URL"
"""
IN_DATABASE = SOURCE.replace("STORE", '.store("shared")') + """
    memory log: Memory = Memory::new().store("shared");
    pub fn note(text: String) -> Int { log.append("user", text); log.len() }
    pub fn reach(query: String, most: Int) -> Result<Array<String>, AgentError> {
        Ok(notes.search(query, limit: most, filter: |n| n.n == 7)?.map(|hit| hit.0.path))
    }
    model Judge { provider: offline, tools: [notes], knowledge: notes }
    pub fn judged(query: String) -> Result<Array<String>, AgentError> {
        Ok(notes.search(query, limit: 2, rerank: Judge)?.map(|hit| hit.0.path))
    }
    pub fn ask(text: String) -> Result<String, AgentError> { Ok(Judge.execute(text)?.text) }
"""


def url_of(database: Database) -> str:
    return f"{database.url}?options=-csearch_path%3D{database.schema}"


@pytest.fixture
def empty(database: Database) -> Database:
    """A database whose schema is there, since no manifest names one."""
    with servers.connected(database.url) as connection:
        connection.execute(f"CREATE SCHEMA {database.schema}")
    return database


def program(folder: Path, source: str = IN_DATABASE, name: str = "docs") -> concerto.Program:
    folder.mkdir(exist_ok=True)
    (folder / "Concerto.toml").write_text(MANIFEST.replace("NAME", name))
    (folder / "main.conc").write_text(source)
    return concerto.compile(path=folder / "main.conc")


@pytest.fixture
def session_on(tmp_path: Path, empty: Database) -> Callable[..., concerto.Session]:
    compiled = program(tmp_path)
    return lambda **more: compiled.session(**{"env": {"DOCS_URL": url_of(empty)}, **more})


def test_sessions_share_it_and_it_outlives_them(session_on: Callable[..., concerto.Session]) -> None:
    with session_on() as one, session_on() as two:
        one.call("add", "a", "green tea")
        assert two.call("find", "tea") == ["a"]
        two.call("many", 5)
        assert one.call("len") == 6 and one.call("note", "hello") == 1 and two.call("note", "again") == 2
        state = one.dump()
    with session_on() as later:
        later.restore(state)
        assert later.call("len") == 6 and later.call("get", "a")["text"] == "green tea" and later.call("get", "z") is None
        assert later.call("reach", "green page", 3) == ["a", "p0", "p1"]


def test_a_model_reranks_and_searches(session_on: Callable[..., concerto.Session]) -> None:
    script = [
        {"text": "2, 1"},
        {"tool_calls": [{"tool": "notes.search", "arguments": {"query": "rock"}}]},
        {"text": "It is granite."},
    ]
    with session_on(offline_script=script) as session:
        session.call("add", "a", "green tea")
        session.call("add", "b", "granite rock, no tea")
        assert session.call("judged", "tea") == ["b", "a"]
        assert session.call("ask", "what rock?") == "It is granite."


def test_namespaces_stand_side_by_side(tmp_path: Path, empty: Database) -> None:
    env = {"DOCS_URL": url_of(empty)}
    with program(tmp_path / "a", name="one").session(env=env) as one, program(tmp_path / "b", name="two").session(env=env) as two:
        one.call("add", "a", "green tea")
        two.call("add", "b", "black tea")
        assert one.call("find", "tea") == ["a"] and two.call("find", "tea") == ["b"]


def test_another_embedder_gives_documents_vectors_of_its_own(tmp_path: Path, empty: Database) -> None:
    env = {"DOCS_URL": url_of(empty)}
    with program(tmp_path, IN_DATABASE.replace('Index::of("offline", ', "Index::of(")).session(env=env) as words_only:
        words_only.call("many", 200)
    with program(tmp_path).session(env=env) as session:
        assert session.call("find", "pages") == []
        session.call("add", "a", "tea")  # and 96 of the others get vectors
        assert "p17" in session.call("find", "pagess 17")


def test_a_secret_is_in_it_by_its_name_only(tmp_path: Path, empty: Database) -> None:
    """G-10.3."""
    source = IN_DATABASE + """
        pub fn secret() -> Result<Nil, Error> {
            let token = std::env::require("MY_TOKEN")?;
            notes.add(Note { path: token, text: "it is ${token}" })?;
            Ok(nil)
        }
    """
    env = {"DOCS_URL": url_of(empty), "MY_TOKEN": "sk-very-secret-0123456789"}
    with program(tmp_path, source).session(env=env, permissions=concerto.Permissions(env=True)) as session:
        session.call("secret")
        assert session.call("get", "<secret MY_TOKEN>")["text"] == "it is <secret MY_TOKEN>"
    with closing(SearchIndex("docs/notes", empty)) as index:
        assert [document.id for _, document in index.documents()] == ["<secret MY_TOKEN>"]
        assert index._tables.rows("SELECT 1 FROM {words} WHERE position('very'::bytea IN token) > 0") == []


def test_processes_make_it_and_write_side_by_side(tmp_path: Path, empty: Database) -> None:
    compiled = program(tmp_path)
    code = (
        "import sys, concerto\n"
        "with concerto.compile(path='main.conc').session(env={'DOCS_URL': sys.argv[2]}) as s:\n"
        "    for n in range(10): s.call('add', f'{sys.argv[1]}-{n}', f'text {n}')\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, name, url_of(empty)], cwd=tmp_path) for name in "abc"]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    with compiled.session(env={"DOCS_URL": url_of(empty)}) as session:
        assert session.call("len") == 30 and len(session.call("find", "text")) == 10


def test_a_store_of_the_host(tmp_path: Path, database: Database) -> None:
    compiled = program(tmp_path)
    with closing(PostgresStore(database.url, schema=database.schema)) as store:
        for length in (1, 2):
            with compiled.session(stores={"shared": store}) as session:
                session.call("add", f"a{length}", "green tea")
                assert session.call("len") == session.call("note", "hello") == length
    none = "the host keeps no index: it is none of SQLite or PostgreSQL"
    with compiled.session(stores={"shared": VolatileStore()}) as session, pytest.raises(concerto.ProgramError, match=none):
        session.call("add", "a", "green tea")


@pytest.mark.parametrize(("env", "message"), [
    ({}, "store shared: the variable DOCS_URL is not set"),
    ({"DOCS_URL": "foo://u:hush@x"}, "store shared: the variable DOCS_URL is not of the form postgresql://"),
    ({"DOCS_URL": "postgresql://u:hush@127.0.0.1:1/d"}, "index notes: the index docs/notes in the store shared: "),
])  # fmt: skip
def test_a_server_that_is_not_there(tmp_path: Path, env: dict[str, str], message: str) -> None:
    pytest.importorskip("psycopg")
    with program(tmp_path).session(env=env) as session:
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("add", "a", "x")
        error = raised.value.error
        assert (error.kind, error.variant) == ("MemoryError", "Store")
        assert message in error.message and "hush" not in error.message
        with pytest.raises(concerto.Panic, match="P412"):
            session.call("len")


def test_damage_is_told_by_name(session_on: Callable[..., concerto.Session], empty: Database) -> None:
    with session_on() as session:
        session.call("add", "a", "green tea")
        with servers.connected(url_of(empty)) as connection:
            connection.execute("DROP TABLE search_1_words")
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("find", "tea")
        assert (raised.value.error.kind, raised.value.error.variant) == ("MemoryError", "Corrupt")
        assert "index notes: the index docs/notes in the store shared: relation" in raised.value.error.message


@contextmanager
def locked(database: Database) -> Iterator[Any]:
    """While another writer has the index."""
    with servers.connected(url_of(database)) as connection, connection.transaction(force_rollback=True):
        connection.execute("SELECT 1 FROM search_index FOR UPDATE")
        yield connection


def test_tasks_go_on_while_another_writer_has_it(tmp_path: Path, empty: Database) -> None:
    async def main() -> list[int]:
        ticks: list[int] = []
        session = program(tmp_path, WAITING.replace("STORE", '.store("shared")')).session(env={"DOCS_URL": url_of(empty)})
        session.on("tick", ticks.append)
        await session.acall("len")  # the tables are there
        with locked(empty):
            job = asyncio.create_task(session.acall("both"))
            while len(ticks) < 20:
                await asyncio.sleep(0.001)
                assert not job.done()
        assert await job == 20 and await session.acall("len") == 1
        await session.aclose()
        return ticks

    assert asyncio.run(main()) == [*range(20), 100]


def test_an_add_that_was_cancelled_writes_nothing_later(
    session_on: Callable[..., concerto.Session], empty: Database
) -> None:
    async def main() -> None:
        session = session_on()
        await session.acall("add", "first", "one")
        with locked(empty):
            job = asyncio.create_task(session.acall("add", "a", "tea"))
            await asyncio.sleep(0.05)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
        await session.acall("add", "b", "tea")  # behind what the server still does of it
        assert await session.acall("find", "tea") == ["b", "first"] and await session.acall("len") == 2
        await session.aclose()

    asyncio.run(main())
    assert not [thread for thread in threading.enumerate() if thread.name == "concerto-stores"]


def test_an_add_that_was_given_up_while_it_computes_changes_nothing(
    session_on: Callable[..., concerto.Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_an_add(session_on, monkeypatch)
    with session_on() as later:
        assert sorted(later.call("find", "one two tea")) == ["first", "next"]


def test_a_server_that_says_nothing_is_an_error(
    session_on: Callable[..., concerto.Session], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session_on() as session:
        session.call("add", "a", "green tea")
        with monkeypatch.context() as patched, servers.stopped(postgres_url):
            patched.setattr("concerto.runtime.memory.stores.thread.LONGEST_WAIT", 0.05)
            for function, given in (("find", "tea"), ("add", "b")):
                arguments = (given,) if function == "find" else (given, "black tea")
                with pytest.raises(concerto.ProgramError) as raised:
                    session.call(function, *arguments)
                assert (raised.value.error.kind, raised.value.error.variant) == ("MemoryError", "Store")
                assert "no answer within 0.05 s" in raised.value.error.message
        assert session.call("find", "tea") == ["a"] and session.call("len") == 1
