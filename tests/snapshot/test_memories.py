"""Memories in snapshots: a handle holds store, key and version; of a volatile log a snapshot has what came since the one before,
and all of them together give the log (M-14.6, G-13.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from concerto.runtime.session.state import SnapshotLogs, Snapshots, dumped, restored, resume, snapshot
from concerto.runtime.tools.memory_tools import store_bindings
from concerto.vm.panics import Panic
from concerto.vm.snapshot import envelope
from concerto.vm.snapshot.envelope import SnapshotError
from concerto.vm.values import HashMapRef
from hypothesis import given, settings
from hypothesis import strategies as st

from .memories import DEEDS, MEMORIES, PROGRAM, idle, memory, remember, run_turn
from .programs import Between, Run, program_of

WHAT = "snapshot of a run"
ROOTS, OWN = 3, -1
def rows(data: bytes, program: Any = PROGRAM) -> list[Any]:
    found: list[Any] = envelope.unseal(data, WHAT, program)[ROOTS][OWN][-1]
    return found


# ---------------------------------------------------------------- the whole log from its news

DEED = st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(0, 5))
STEP = st.sampled_from(["snapshot", "snapshot", "resume", "go back", "begin anew"])


class Kept:
    """A run's snapshots, and who goes on from them."""

    def __init__(self) -> None:
        self.session = idle()
        self.begin()

    def begin(self) -> None:
        self.snapshots, self.told = Snapshots(self.session), SnapshotLogs()
        self.chain: list[bytes] = []

    def write(self) -> bytes:
        data = self.snapshots.write()
        if envelope.unseal(data, WHAT, PROGRAM)[ROOTS][OWN][0] == b"":
            self.chain.clear()
        self.chain.append(data)
        return data

    def step(self, kind: str) -> None:
        if kind == "begin anew":
            self.begin()
        elif kind == "go back" and self.chain:
            del self.chain[len(self.chain) // 2 + 1 :]
            self.told = read(self.session, self.chain)
        elif kind == "resume":
            resume(self.session, self.write(), self.told)
        else:
            self.told.add(self.session, self.write())


def read(session: Any, chain: list[bytes]) -> SnapshotLogs:
    told = SnapshotLogs()
    for data in chain[:-1]:
        told.add(session, data)
    resume(session, chain[-1], told)
    return told


def same(one: Any, two: Any, names: Sequence[str]) -> None:
    assert snapshot(one) == snapshot(two)
    for name in names:
        held = memory(one, name), memory(two, name)
        for each in held:
            each.clock = lambda: 1_000.0
            each.append("user", "goes on")
        first, second = held
        assert (first.dump(), first.head(), first.branches()) == (second.dump(), second.head(), second.branches())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(MEMORIES), st.lists(st.tuples(DEED, STEP | st.none()), min_size=20, max_size=60))
def test_snapshots_one_after_another_give_the_logs(name: str, deeds: list[Any]) -> None:
    """Whatever was done between them, also where the run went on from one of them."""
    kept, other = Kept(), idle()
    for number, ((kind, n), step) in enumerate(deeds):
        DEEDS[kind](memory(kept.session, name if number % 5 else "ada"), n)
        if step is not None:
            kept.step(step)
    kept.write()
    read(other, kept.chain)
    same(kept.session, other, [name, "ada"])


def test_a_snapshot_costs_what_is_new() -> None:
    """After 10 000 messages one more is written as one; an eviction adds a number."""
    session = idle()
    for name in ("plain", "bounded", "ada", "cut"):
        for number in range(10_000 if name == "plain" else 300):
            memory(session, name).append("user", f"message {number}")
    snapshots = Snapshots(session)
    whole, nothing = snapshots.write(), snapshots.write()
    assert len(whole) > 1_000_000 and len(nothing) < 300 and rows(nothing) == []
    sizes = []
    for name in MEMORIES:
        memory(session, name).append("user", "one more")
        sizes.append(len(snapshots.write()) - len(nothing))
    assert max(sizes) < 500, sizes


def test_the_work_of_a_snapshot_is_that_of_its_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that were written are not looked at again, however many they are."""
    from concerto.runtime.memory import entries

    session = idle()
    for number in range(2_000):
        memory(session, "plain").append("user", str(number))
    snapshots = Snapshots(session)
    snapshots.write()
    looked: list[Any] = []
    real = entries.message_parts
    monkeypatch.setattr(entries, "message_parts", lambda *given: looked.append(given) or real(*given))
    memory(session, "plain").append("user", "one more")
    snapshots.write()
    assert len(looked) == 1


def test_between_snapshots_news_are_never_larger_than_the_log() -> None:
    session = idle()
    memory(session, "bounded").append("user", "the first")
    snapshots = Snapshots(session)
    snapshots.write()
    for number in range(500):
        run_turn(memory(session, "bounded"), f"r{number}", False)
        remember(memory(session, "bounded"), f"e{number}", "ephemeral", "0")
        memory(session, "bounded").end_ephemeral()
    (log,) = session.memories.volatile_stores()[0][1].changed.values()
    assert len(log.news.turns) <= 2 and log.news.gone == {0} and log.news.facts == {}


# ---------------------------------------------------------------- handles


HANDLES = """
    memory plain: Memory = Memory::new();
    memory kept: Memory = Memory::new().per(user);
    memory stored: Memory = Memory::new().store("durable");
    memory seen: Memory = Memory::of(stored).window(1);
    fn main() {
        let handles = [plain, kept.key(user: "ada"), stored, seen];
        plain.append("user", "a"); plain.append("user", "b"); stored.append("user", "c");
        emit("between", 0);
        emit("after", handles.len());
    }"""


def handles_in(data: bytes, program: Any) -> dict[str, Any]:
    from concerto.vm.snapshot.kinds import KINDS

    number = next(kind.number for kind in KINDS if kind.name == "MemoryRef")
    found = [row[1:] for row in envelope.unseal(data, WHAT, program)[0] if row[0] == number]
    return {row[0]: row[1:] for row in found}


def test_a_handle_is_written_with_store_key_and_version(tmp_path: Any) -> None:
    program = program_of(HANDLES)
    seen: list[bytes] = []
    run = Run(program, lambda session: seen.append(snapshot(session)) if len(run.emits) == 1 else None, folder=str(tmp_path))
    assert run.shown()[0][-1] == ("after", "4")
    assert handles_in(seen[0], program) == {
        "plain": ["", [], None, 2], "kept": ["", ["ada"], None, 0],
        "stored": ["", [], "durable", 1], "seen": ["", [], "durable", 1],
    }  # fmt: skip


def forged(data: bytes, program: Any, change: Any) -> bytes:
    body = envelope.unseal(data, WHAT, program)
    change(body)
    return envelope.seal(WHAT, envelope.identity_of(program), body)


def test_a_handle_that_cannot_be_is_refused(tmp_path: Any) -> None:
    from concerto.vm.snapshot.kinds import KINDS

    program = program_of(HANDLES)
    number = next(kind.number for kind in KINDS if kind.name == "MemoryRef")
    checked = []

    def between(session: Between) -> None:
        if len(run.emits) != 1:
            return
        data = snapshot(session)
        at = {row[1]: place for place, row in enumerate(envelope.unseal(data, WHAT, program)[0]) if row[0] == number}
        for name, field, value, part in [
            ("plain", 5, 7, "another version than its log"), ("kept", 5, 1, "another version than its log"),
            ("stored", 5, -1, "no number"), ("stored", 5, "1", "no number"),
            ("stored", 4, None, "a store that the memory stored has not"),
            ("plain", 4, "durable", "a store that the memory plain has not"),
        ]:  # fmt: skip
            bad = forged(data, program, lambda body, n=name, f=field, v=value: body[0][at[n]].__setitem__(f, v))
            machine = session.machine
            with pytest.raises(SnapshotError, match=part) as caught:
                resume(session, bad)
            assert caught.value.code == "V008" and session.machine is machine and snapshot(session) == data
            checked.append(name)

    run = Run(program, between, folder=str(tmp_path))
    assert run.shown()[0][-1] == ("after", "4") and len(checked) == 6


def test_a_store_that_went_back_is_told_and_the_run_goes_on(tmp_path: Any) -> None:
    program = program_of(HANDLES.replace("handles.len()", "stored.len()"))
    warned: list[str] = []
    back: list[Any] = []

    def between(session: Between) -> None:
        if len(run.emits) != 1 or back:
            return
        data = snapshot(session)
        session.host.log = lambda level, text: warned.append(f"{level}: {text}")
        assert resume(session, data) == [] and warned == []
        session.memories["stored"].append("user", "of somebody else")
        assert resume(session, data) == [] and warned == []  # ahead: that is how it goes on
        session.open_stores("durable").remove([session.memories["stored"].key])
        back.extend(resume(session, data))

    run = Run(program, between, folder=str(tmp_path))
    assert run.shown()[0][-1] == ("after", "0")
    assert [(one.memory.name, one.store, one.expected, one.actual) for one in back] == [
        ("stored", "durable", 1, 0), ("seen", "durable", 1, 0)
    ]  # fmt: skip
    assert len(warned) == 2 and "warn: the memory stored went back" in warned[0]


def test_a_volatile_log_is_as_it_was_then_and_one_in_a_store_as_it_is_now(tmp_path: Any) -> None:
    program = program_of(HANDLES.replace("handles.len()", "[plain.len(), stored.len()]"))
    done = []

    def between(session: Between) -> None:
        if len(run.emits) == 1 and not done:
            data = snapshot(session)
            for name in ("plain", "stored"):
                session.memories[name].append("user", "of somebody else")
            resume(session, data)
            done.append(data)

    run = Run(program, between, folder=str(tmp_path))
    assert run.shown()[0][-1] == ("after", "Array([2, 2])")


# ---------------------------------------------------------------- secrets, sessions that go on


SECRET = """
    memory kept: Memory = Memory::new().per(user);
    fn main() -> Result<Nil, EnvError> {
        let secret = std::env::require("MY_TOKEN")?;
        kept.key(user: "u").append("user", "it is ${secret}");
        kept.key(user: secret).remember("name", [secret]);
        emit("between", 0);
        emit("length", kept.key(user: "u").messages()[0].content.len());
        emit("facts", kept.key(user: secret).fact("name").unwrap().content);
        Ok(nil)
    }"""


@pytest.mark.parametrize("value", ["hunter2hunter2", 'with "quotes" \\ and\nlines'])
def test_a_secret_in_a_log_stands_there_by_its_name(value: str) -> None:
    from concerto.runtime.access.permissions import Permissions

    seen: list[bytes] = []

    def between(session: Between) -> None:
        seen.append(snapshots.write())
        resume(session, seen[-1], told)

    run = Run(program_of(SECRET), between)
    run.session.host.env = {"MY_TOKEN": value}
    run.session.host.permissions = Permissions.of_texts(["env=MY_TOKEN"])
    snapshots, told = Snapshots(run.session), SnapshotLogs()
    shown = dict(run.shown()[0])
    assert shown["length"] == str(len("it is <secret MY_TOKEN>")) and shown["facts"] == "Array(['<secret MY_TOKEN>'])"
    assert any(b"MY_TOKEN" in data for data in seen)
    assert not any(part in data for data in seen for part in (b"hunter2", b"quotes", b"lines"))


def test_logs_that_were_taken_over_are_written_once() -> None:
    """A session that goes on with the logs of an earlier one, of more than one memory."""
    program = program_of("""
        memory one: Memory = Memory::new();
        memory two: Memory = Memory::new();
        fn main() { one.append("user", "a"); two.append("user", "b"); }
    """)
    first, told = Run(program, lambda session: None), SnapshotLogs()
    first.outcome()
    host = first.session.host
    later = Between(program, host, earlier=first.session)
    later.memories.take_over(first.session.memories)
    data = Snapshots(later).write()
    assert [row[1][1] for row in rows(data, program)] == [["one"], ["two"]]
    memory_one = later.memories["one"]
    memory_one.append("user", "c")
    resume(later, data, told)
    assert [message.content for message in memory_one.messages()] == ["a"]
    assert [message.content for message in later.memories["two"].messages()] == ["b"]


def test_logs_of_memories_that_the_program_has_no_more_are_not_written() -> None:
    first = Run(program_of("""
        memory one: Memory = Memory::new();
        memory two: Memory = Memory::new();
        fn main() { one.append("user", "a"); two.append("user", "b"); }
    """), lambda session: None)  # fmt: skip
    first.outcome()
    program = program_of("memory one: Memory = Memory::new(); fn main() { one.append(\"user\", \"c\"); }")
    later, told = Between(program, first.session.host, earlier=first.session), SnapshotLogs()
    later.memories.take_over(first.session.memories)
    data = Snapshots(later).write()
    assert [row[1][1] for row in rows(data, program)] == [["one"]]
    later.memories["one"].append("user", "c")
    resume(later, data, told)
    assert [message.content for message in later.memories["one"].messages()] == ["a"]


def test_what_is_read_needs_those_before_it() -> None:
    session, told = idle(), SnapshotLogs()
    memory(session, "plain").append("user", "a")
    snapshots = Snapshots(session)
    first, second, third = snapshots.write(), snapshots.write(), snapshots.write()
    for data in (second, third):
        with pytest.raises(SnapshotError, match="read those before it first"):
            told.add(session, data)
    told.add(session, first)
    with pytest.raises(SnapshotError, match="read those before it first"):
        resume(session, third, told)
    resume(session, second, told)
    resume(session, third, told)


def test_a_state_that_is_put_back_begins_anew() -> None:
    """What was written of logs that are gone tells nothing of those that came (O-9.45)."""
    from concerto.runtime.session.state import dumped, restored

    session, other = idle(), idle()
    empty = dumped(session)
    memory(session, "plain").append("user", "a")
    snapshots = Snapshots(session)
    snapshots.write()
    run_offline_of(restored(session, empty))
    read(other, [snapshots.write()])
    assert len(memory(other, "plain")) == 0 and len(memory(session, "plain")) == 0


def run_offline_of(replace: Any) -> None:
    with pytest.raises(StopIteration):
        replace().send(None)


# ---------------------------------------------------------------- a repeated commit


CALLS = """
    model M { provider: offline, base: "m" }
    memory plain: Memory = Memory::new();
    memory stored: Memory = Memory::new().store("durable");
    fn main() -> Result<Nil, AgentError> {
        emit("begun", 0);
        M.with_memory(MEMORY).execute("first")?;
        emit("between", MEMORY.len());
        M.with_memory(MEMORY).execute("second")?;
        emit("after", [MEMORY.len(), MEMORY.turns().len()]);
        Ok(nil)
    }"""


class Ended(Exception):
    """The process is gone."""


@pytest.mark.parametrize(("name", "is_ahead"), [("plain", False), ("plain", True), ("stored", True)])
def test_a_commit_repeated_after_a_crash_stores_nothing(tmp_path: Any, name: str, is_ahead: bool) -> None:
    """M-5.10: the turn was stored after the snapshot was written, and nobody heard of it. Another process goes on from the bytes;
    `is_ahead`: its log has the turn already, as a store always has."""
    program = program_of(CALLS.replace("MEMORY", name))
    chain: list[bytes] = []
    dumps: list[str] = []

    def until_stored(session: Between) -> None:
        if session.memories[name].head().turns == 2:
            dumps.append(session.memories[name].dump())
            raise Ended
        if len(run.emits) == 2 and not session.is_waiting():
            chain.append(snapshots.write())

    run = Run(program, until_stored, folder=str(tmp_path))
    snapshots = Snapshots(run.session)
    with pytest.raises(Ended):
        run.outcome()

    def from_there(session: Between) -> None:
        if session.steps == 1:
            told = SnapshotLogs()
            for data in chain[:-1]:
                told.add(session, data)
            resume(session, chain[-1], told)
            if is_ahead and name == "plain":
                session.memories[name].load(dumps[0])
        elif session.is_waiting():
            lengths.append(len(session.memories[name]))
        else:
            dumps.append(session.memories[name].dump())

    lengths: list[int] = []
    second = Run(program, from_there, folder=str(tmp_path))
    assert second.shown()[0] == [("after", "Array([4, 2])")]
    assert set(lengths) <= {4 if is_ahead else 2} and dumps[-1] == dumps[0]


@pytest.mark.parametrize("depth", [5, 60])
def test_an_error_of_an_earlier_program_is_stored_without_its_places(depth: int) -> None:
    first = Run(program_of(f"""
        hashmap H: HashMap<String, Any> = HashMap::new();
        fn f(n: Int) -> Result<Int, String> {{ if n == 0 {{ Err("no") }} else {{ let v = f(n - 1)?; Ok(v) }} }}
        fn main() {{ H.set("r", f({depth})); }}
    """), lambda session: None)
    first.outcome()
    program = program_of('hashmap H: HashMap<String, Any> = HashMap::new();\nfn main() { let x = H.get("r"); }')
    later = Between(program, first.session.host, earlier=first.session)
    later.machine.stores.take_over(first.session.machine.stores)
    restored(later, dumped(later))


def test_a_hashmap_that_no_model_can_write_is_no_tool() -> None:
    """As a builder in a state that somebody has changed may have it."""
    source = "hashmap h: HashMap<String, Array<fn() -> Int>> = HashMap::new();\nfn main() { h.len(); }"
    run = Run(program_of(source), lambda session: None)
    run.outcome()
    with pytest.raises(Panic, match="the hashmap h is no tool"):
        store_bindings(run.session, HashMapRef("h"))
