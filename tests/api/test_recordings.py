"""Recordings and durable runs from Python (O-9.73)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.journal.run_store import RunStore

SOURCE = """
channel approve: String -> Bool;
tool T {
    description: "d"
    /// multiplies
    pub fn times(
        self,
        /// a number
        a: Int,
    ) -> Result<Int, ToolError> { Ok(a) }
}
model M { provider: openai, base: "m" }
pub fn double(n: Int) -> Result<Int, Error> { T.times(n) }
fn main() -> Result<Nil, Error> {
    emit("a", M.execute("hi")?.text);
    emit("ok", approve("go?")?);
    emit("t", T.times(4)?);
}
"""


@pytest.fixture
def program() -> concerto.Program:
    return concerto.compile(SOURCE)


def recorded(program: concerto.Program, path: Path, answer: Any = lambda payload: True) -> list[concerto.Emit]:
    with program.session(offline=True, record=path) as session:
        session.on_emit("approve", answer)
        session.register_tool("T", "times", lambda a: a * 10)
        return session.run().emits


def test_a_recording_is_given_again_without_handlers_and_tools_being_asked(program: concerto.Program, tmp_path: Path) -> None:
    emits = recorded(program, tmp_path / "x.jsonl")
    with program.session(replay=tmp_path / "x.jsonl") as session:
        session.on_emit("approve", lambda payload: 1 / 0)
        session.register_tool("T", "times", lambda a: 1 / 0)
        assert session.run().emits == emits
    assert [emit.payload for emit in emits] == ["offline: hi", "go?", True, 40]


def test_exceptions_of_the_host_come_again_with_their_text(program: concerto.Program, tmp_path: Path) -> None:
    def refuse(payload: Any) -> bool:
        raise PermissionError("not today")

    results = []
    for options in ({"offline": True, "record": tmp_path / "x.jsonl"}, {"replay": tmp_path / "x.jsonl"}):
        with program.session(**options) as session:  # type: ignore[arg-type]
            session.on_emit("approve", refuse)
            results.append(session.run())
    assert results[0].error == results[1].error
    assert "not today" in str(results[0].error)


def test_several_calls_of_a_session_are_one_recording(program: concerto.Program, tmp_path: Path) -> None:
    calls = []
    for options in ({"offline": True, "record": tmp_path / "x.jsonl"}, {"replay": tmp_path / "x.jsonl"}):
        with program.session(**options) as session:  # type: ignore[arg-type]
            session.register_tool("T", "times", lambda a: a * 3)
            calls.append([session.call("double", 2), session.call("double", 5)])
    assert calls[0] == calls[1] == [6, 15]


def test_what_a_replay_does_not_ask_for_is_said_at_its_end(program: concerto.Program, tmp_path: Path) -> None:
    with program.session(offline=True, record=tmp_path / "x.jsonl") as session:
        session.register_tool("T", "times", lambda a: a * 3)
        session.call("double", 2)
        session.call("double", 5)
    with pytest.raises(concerto.RecordingError, match="P406: effect .* is in the recording"), program.session(
        replay=tmp_path / "x.jsonl"
    ) as session:
        session.call("double", 2)


def test_a_replay_that_asks_for_something_else_is_a_panic(program: concerto.Program, tmp_path: Path) -> None:
    with program.session(offline=True, record=tmp_path / "x.jsonl") as session:
        session.register_tool("T", "times", lambda a: a * 3)
        session.call("double", 2)
    with program.session(replay=tmp_path / "x.jsonl") as session, pytest.raises(concerto.Panic) as caught:
        session.register_tool("T", "times", lambda a: a * 3)
        session.call("double", 3)
    assert caught.value.code == "P406" and "$.arguments[0]: 2 in the file, now 3" in caught.value.message


def test_a_run_of_a_store_waits_and_is_gone_on_with(program: concerto.Program, tmp_path: Path) -> None:
    first = concerto.run(program, offline=True, store=tmp_path / "s.db")
    assert (first.ok, first.exit_code, first.error) == (False, 75, None) and first.run
    (wait,) = first.waits
    assert (wait.channel, wait.payload) == ("approve", "go?")
    second = concerto.resume(first.run, store=tmp_path / "s.db", answers={wait.key: True})
    assert second.ok and [emit.payload for emit in second.emits] == [True, 4]
    with pytest.raises(concerto.RecordingError, match="is over: done"):
        concerto.resume(first.run, store=tmp_path / "s.db")


def test_options_that_are_refused_leave_the_run_to_others(program: concerto.Program, tmp_path: Path) -> None:
    first = concerto.run(program, offline=True, store=tmp_path / "s.db")
    (wait,) = first.waits
    wrong: Any
    for wrong in ({"seed": "x"}, {"connections": {"openai": {"nonsense": 1}}}, {"mcp_pins": tmp_path / "none"}):
        with pytest.raises(ValueError):
            concerto.resume(str(first.run), store=tmp_path / "s.db", **wrong)
    assert concerto.resume(str(first.run), store=tmp_path / "s.db", answers={wait.key: True}).ok


def test_a_session_that_is_refused_leaves_no_recording(program: concerto.Program, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="nonsense"):
            program.session(record=tmp_path / "x.jsonl", connections={"openai": {"nonsense": 1}})
    assert not (tmp_path / "x.jsonl").exists()
    recorded(program, tmp_path / "x.jsonl")
    with pytest.raises(ValueError, match="nonsense"):
        program.session(replay=tmp_path / "x.jsonl", connections={"openai": {"nonsense": 1}})
    assert (tmp_path / "x.jsonl").exists()


def test_options_that_do_not_fit_are_refused(program: concerto.Program, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="record and replay"):
        program.session(record=tmp_path / "a", replay=tmp_path / "b")
    with pytest.raises(ValueError, match="extend goes on"):
        program.session(extend=True)
    with pytest.raises(concerto.RecordingError, match="there is no run store"):
        concerto.resume("x", store=tmp_path / "none.db")
    (tmp_path / "bad").write_text("{}\n")
    with pytest.raises(concerto.RecordingError, match="bad:1"):
        program.session(replay=tmp_path / "bad")
    recorded(program, tmp_path / "x.jsonl")
    with pytest.raises(FileExistsError):
        program.session(record=tmp_path / "x.jsonl")
    with pytest.raises(concerto.RecordingError, match="is of main with the image"):
        concerto.compile("fn main() { }").session(replay=tmp_path / "x.jsonl")


def test_the_fixture_records_once_and_gives_again(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "test_it.py").write_text('''
import concerto, pytest

PROGRAM = concerto.compile("""
model M { provider: openai, base: "m" }
tool T {
    description: "d"
    /// asks
    pub fn ask(self) -> Int { 0 }
}
pub fn f() -> Int { T.ask() }
""")

def test_one(concerto_recording, asked=[]):
    with PROGRAM.session(offline=True, **concerto_recording) as session:
        session.register_tool("T", "ask", lambda: open("count.txt", "a").write("x") + 6)
        assert session.call("f") == 7

class TestOther:
    def test_one(self, concerto_recording):
        with PROGRAM.session(offline=True, **concerto_recording) as session:
            session.register_tool("T", "ask", lambda: 1)
            assert session.call("f") == 1
''')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    for extra, count in (([], 1), ([], 1), (["--concerto-record"], 2)):
        done = subprocess.run([*command, *extra], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "count.txt").read_text() == "x" * count
    assert (tmp_path / "recordings" / "test_it.test_one.effects.jsonl").exists()


def test_embedders_and_summarisers_of_the_host_are_asked_once(tmp_path: Path) -> None:
    (tmp_path / "Concerto.toml").write_text('[embedders.Mine]\nkind = "host"\n')
    program = concerto.compile(manifest=tmp_path / "Concerto.toml", source="""
memory chat: Memory = Memory::new().window(2).summary("short", every: 2).embed("Mine");
model M { provider: openai, base: "m", memory: chat }
fn main() {
    for i in 0..4 { M.execute("turn ${i}")?; }
    chat.remember("colour", "red");
    emit("found", chat.recall("which colour").len());
    emit("summary", chat.view("next")[0].content);
}
""")

    class Vectors:
        asked = 0

        def embed(self, texts: list[str]) -> list[list[float]]:
            type(self).asked += 1
            return [[1.0, 0.5] for _ in texts]

    class Short:
        asked = 0

        async def fold(self, previous: str, entries: Any) -> str:
            type(self).asked += 1
            return f"{previous}+{len(entries)}"

    emits = []
    for options in ({"offline": True, "record": tmp_path / "x.jsonl"}, {"replay": tmp_path / "x.jsonl"}):
        asked = Vectors.asked, Short.asked
        with program.session(embedders={"Mine": Vectors()}, summarizers={"short": Short()}, **options) as session:  # type: ignore[arg-type]
            emits.append(session.run().emits)
    assert emits[0] == emits[1] and len(emits[0]) == 2
    assert (Vectors.asked, Short.asked) == asked and min(asked) > 0


def test_a_session_that_records_can_be_dumped_with_an_index(tmp_path: Path) -> None:
    manifest = '[project]\nname = "x"\nversion = "1"\nentry = "main.conc"\n[stores.disk]\nkind = "sqlite"\npath = "x.db"\n'
    (tmp_path / "Concerto.toml").write_text(manifest)
    (tmp_path / "main.conc").write_text("""
struct Item { n: Int, text: String }
index items: Index<Item> = Index::of(key: |i| i.text, id: |i| "item ${i.n}");
memory notes: Memory = Memory::new().store("disk");
pub fn add(t: String) -> Result<Nil, AgentError> { items.add(Item { n: 1, text: t })?; Ok(nil) }
pub fn count() -> Int { items.len() }
pub fn note(t: String) { notes.append("user", t); }
""")
    program = concerto.compile(path=tmp_path / "main.conc")
    with program.session(permissions=concerto.Permissions(all=True), record=tmp_path / "r.jsonl") as session:
        session.call("add", "apple")
        dumped = session.dump()
    with program.session(permissions=concerto.Permissions(all=True)) as session:
        session.restore(dumped)
        assert session.call("count") == 1


def test_functions_of_the_host_can_read_the_key_of_their_call(program: concerto.Program, tmp_path: Path) -> None:
    """It is the same in the attempt after a crash, another one in each call, and in plain sessions there is none (G-13.3)."""
    keys: list[str | None] = []

    def answer(payload: Any) -> bool:
        keys.append(concerto.idempotency_key())
        return True

    async def times(a: int) -> int:
        keys.append(concerto.idempotency_key())
        return a * 10

    for options in ({}, {"record": tmp_path / "x.jsonl"}):
        with program.session(offline=True, **options) as session:  # type: ignore[arg-type]
            session.on_emit("approve", answer)
            session.register_tool("T", "times", times)
            assert session.run().ok
    assert keys[:2] == [None, None] and concerto.idempotency_key() is None
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert keys[2:] == [row["idem_key"] for row in rows if row.get("kind") in ("answer", "tool") and row["status"] == "done"]
    keys.clear()

    def dies(payload: Any) -> bool:
        answer(payload)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), program.session(offline=True, store=tmp_path / "r.db") as session:
        session.on_emit("approve", dies)
        session.register_tool("T", "times", times)
        session.run()
    run = RunStore(str(tmp_path / "r.db"), time.time).runs()[0].id
    with concerto.resume_session(run, store=tmp_path / "r.db") as session:
        session.on_emit("approve", answer)
        session.register_tool("T", "times", times)
        result = session.run()
    assert result.ok and [emit.payload for emit in result.emits][-1] == 40
    assert len(keys) == 3 and keys[0] == keys[1] is not None and keys[2] not in (None, keys[0])
