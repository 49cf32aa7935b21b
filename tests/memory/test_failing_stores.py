"""A store that fails is the language's own error under every method and every call (M-6.2, M-6.20, M-6.22, M-8.6, G-12.5): an Err
where a method gives a Result, else P451; never an exception of Python, never an empty memory.
"""

from __future__ import annotations

import os
import sqlite3

import concerto
import pytest
from concerto.runtime.memory.stores.sqlite import SqliteStore

EMPTY = '{"v":1,"next":0,"turns":0,"runs":[],"views":{},"log":[],"facts":[],"seen":[]}'.replace('"', '\\"')
RESULTS = {  # method: the variant of its Err
    "append_all": 'match m.append_all([Message::user("x")]) { Ok(n) => "ok", Err(e) => "${e}" }',
    "load": f'match m.load("{EMPTY}")'
    ' { Ok(n) => "ok", Err(e) => "${e}" }',
    "erase": 'match m.erase() { Ok(n) => "ok", Err(e) => "${e}" }',
    "erase_some": 'match m.erase([0]) { Ok(n) => "ok", Err(e) => "${e}" }',
    "rewind": 'match m.rewind(-1) { Ok(n) => "ok", Err(e) => "${e}" }',
    "fork": 'match m.fork("b") { Ok(n) => "ok", Err(e) => "${e}" }',
    "branch": 'match m.branch("b") { Ok(n) => "ok", Err(e) => "${e}" }',
    "forget": 'match m.forget("f") { Ok(n) => "ok", Err(e) => "${e}" }',
    "turn": 'match M.with_memory(m).execute("q") { Ok(n) => "ok", Err(e) => "${e}" }',
    "schema": 'match M.with_memory(m).execute_with_schema<Answer>("q") { Ok(n) => "ok", Err(e) => "${e}" }',
    "chat": 'match M.with_memory(m).chat([Message::user("q")]) { Ok(n) => "ok", Err(e) => "${e}" }',
    "stream": 'match M.with_memory(m).stream("q") { Ok(s) => "ok", Err(e) => "${e}" }',
}
PANICS = {
    "append": 'm.append("user", "x"); "ok"',
    "pin": 'm.pin("user", "x"); "ok"',
    "set_pinned": 'm.set_pinned(0, true); "ok"',
    "clear": 'm.clear(); "ok"',
    "len": 'm.len(); "ok"',
    "is_empty": 'm.is_empty(); "ok"',
    "messages": 'm.messages(); "ok"',
    "last": 'm.last(1); "ok"',
    "entries": 'm.entries(); "ok"',
    "turns": 'm.turns(); "ok"',
    "appended": 'm.appended(); "ok"',
    "view": 'm.view("q"); "ok"',
    "model_view": 'M.with_memory(m).view("q"); "ok"',
    "summary": 'm.summary(); "ok"',
    "tokens": 'm.tokens(); "ok"',
    "version": 'm.version(); "ok"',
    "stats": 'm.stats(); "ok"',
    "branches": 'm.branches(); "ok"',
    "dump": 'm.dump(); "ok"',
    "remember": 'm.remember("f", 1); "ok"',
    "recall": 'm.recall("f"); "ok"',
    "fact": 'm.fact("f"); "ok"',
    "confirm": 'm.confirm("f"); "ok"',
    "relate": 'm.relate("a", "knows", "b"); "ok"',
    "neighbors": 'm.neighbors("a"); "ok"',
    "observe": 'm.observe("t", {"a": 1}); "ok"',
    "slot": 'm.count; "ok"',
    "slot_set": 'm.count = 2; "ok"',
    "slot_add": 'm.count += 1; "ok"',
    "derived": 'tail.messages(); "ok"',
    "derived_len": 'tail.len(); "ok"',
    "keys": 'users.keys(); "ok"',
    "key_append": 'users.key(user: "u").append("user", "x"); "ok"',
}


def program(conflict):
    methods = "\n".join(f"pub fn {name}() -> String {{ {body} }}" for name, body in {**RESULTS, **PANICS}.items())
    return concerto.compile(f"""
        schema Answer {{ text: String }}
        model M {{ provider: offline }}
        context C {{ persistent {{ mut count: Int = 0 }} }}
        memory m: Memory<C> = Memory::new().store("durable").context(C).on_conflict({conflict});
        memory tail: Memory = Memory::of(m).window(2);
        memory users: Memory = Memory::new().store("durable").per(user).on_conflict({conflict});
        pub fn erase_keys() -> String {{ match users.erase(user: "u") {{ Ok(n) => "ok", Err(e) => "${{e}}" }} }}
        {methods}
    """)


PROGRAMS = {word: program(word) for word in ("Serial", "Append")}
METHODS = [*RESULTS, *PANICS, "erase_keys"]


def garbage(path):
    path.write_bytes(os.urandom(280))


def foreign(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE log (x)")
    other.close()


def newer(path):
    store = SqliteStore(str(path))
    store._connection.execute("UPDATE meta SET format = 99")
    store.close()


def directory(path):
    path.mkdir()


CAUSES = {"garbage": garbage, "foreign": foreign, "newer": newer, "directory": directory}


def failing(session, names):
    """Every one of these methods fails as the language says."""
    for name in names:
        panics = name in PANICS
        try:
            answer = session.call(name)
        except concerto.Panic as panic:
            assert panics and panic.code == "P451", (name, panic)
            assert "memory.db" in str(panic) or "format" in str(panic) or "durable" in str(panic), (name, panic)
        else:
            assert not panics and answer != "ok", (name, answer)


@pytest.mark.parametrize("conflict", PROGRAMS)
@pytest.mark.parametrize("cause", CAUSES)
def test_every_method_on_a_store_that_cannot_be_opened(tmp_path, monkeypatch, cause, conflict):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".concerto").mkdir()
    CAUSES[cause](tmp_path / ".concerto" / "memory.db")
    with PROGRAMS[conflict].session(offline=True) as session:
        failing(session, METHODS)


class Breaking(SqliteStore):
    """Fails from now on, in the middle of whatever it does."""

    broken = False

    def _live(self):
        if self.broken:
            raise sqlite3.OperationalError("disk I/O error")
        return super()._live()


@pytest.mark.parametrize("conflict", PROGRAMS)
def test_every_method_on_a_store_that_breaks(tmp_path, monkeypatch, conflict):
    monkeypatch.chdir(tmp_path)
    store = Breaking(str(tmp_path / "x.db"), name="durable")
    with PROGRAMS[conflict].session(offline=True, stores={"durable": store}) as session:
        assert session.call("turn") == "ok"
        store.broken = True
        failing(session, METHODS)
        store.broken = False
        assert session.call("turn") == "ok"
        assert session.call("append") == "ok"
    store.close()
