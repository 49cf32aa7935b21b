"""The state of a session as bytes: what it holds, what takes it back, what is refused (O-9.45)."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import concerto
import msgpack
import pytest
from concerto.vm import values
from concerto.vm.snapshot.envelope import MAGIC, seal
from concerto.vm.snapshot.kinds import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = Path(__file__).resolve().parent.parent / "fuzz" / "state.conc"
EVERYTHING = concerto.compile(path=SOURCE)
TEXT = """
hashmap held: HashMap<String, Any> = HashMap::new();
memory log: Memory = Memory::new();
log.append("system", "begin");
held.set("start", 1);
fn begun() -> Int { emit("begun", held.len()); 1 }
tool Probe { description: "d", n: Int = begun(), @describe("d") pub fn look(self) -> Int { self.n } }
pub fn put(key: String, value: Any) { held.set(key, value); }
pub fn get(key: String) -> Any { held.get(key) ?? nil }
pub fn say(text: String) -> Int { log.append("user", text); log.len() }
pub fn variable() -> Result<String, EnvError> { std::env::require("MY_TOKEN") }
pub fn keep() -> Result<Nil, EnvError> { held.set("token", "it is ${std::env::require("MY_TOKEN")?}"); Ok(nil) }
pub fn length() -> Int { "${held.get("token") ?? ""}".len() }
pub async fn ask() -> Result<Any, EmitError> { await emit("ask", nil) }
"""
PROGRAM = concerto.compile(TEXT)


def heard(session: concerto.Session, calls: list[str]) -> list[Any]:
    """What the program shows of its state, without what the clock says."""
    found: list[Any] = []
    session.on("*", lambda emit: found.append(repr(emit)))
    for name in calls:
        try:
            found.append(repr(session.call(name)))
        except (concerto.ProgramError, concerto.Panic) as error:
            found.append(repr(error))
    session.off("*")
    return [re.sub(r"\d{13}|(recency|score|latency_ms)=[\d.e-]+", "…", line) for line in found]


def test_a_new_session_goes_on_as_the_old_one_would() -> None:
    calls = ["touch", "logs", "act", "touch", "act", "logs"]
    with EVERYTHING.session(offline=True) as one, EVERYTHING.session(offline=True) as other:
        one.call("fill")
        state = one.dump()
        other.restore(state)
        assert other.dump() == state
        shown = heard(one, calls)
        assert heard(other, calls) == shown and len(shown) > 60


def test_a_session_that_has_gone_on_goes_back() -> None:
    with EVERYTHING.session(offline=True) as session:
        session.call("fill")
        state = session.dump()
        shown = heard(session, ["touch", "logs"])
        session.call("act")
        session.restore(state)
        assert heard(session, ["touch", "logs"]) == shown
        spoken = session.call("act")  # ids of runs are not given twice: the turns are new ones for the memory (M-5.10)
        session.restore(state)
        assert session.call("act") == spoken


def test_what_is_shared_stays_shared() -> None:
    program = concerto.compile("""
        hashmap held: HashMap<String, Any> = HashMap::new();
        pub fn make() { let mut n = 0; held.set("up", || { n += 1; n }); held.set("ten", || { n += 10; n }); }
        pub fn call(name: String) -> Any { let f: Any = held.get(name) ?? nil; f() }
    """)
    with program.session() as one, program.session() as other:
        one.call("make")
        other.restore(one.dump())
        assert [other.call("call", "up"), other.call("call", "ten"), other.call("call", "up")] == [1, 11, 12]
        assert one.call("call", "up") == 1


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=80)
KEYS = st.text(max_size=40) | st.integers(-(2**63), 2**63 - 1) | st.booleans()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=4)
)


@settings(max_examples=150)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_any_value_comes_back(held: list[Any]) -> None:
    with PROGRAM.session() as one, PROGRAM.session() as other:
        for number, value in enumerate(held):
            one.call("put", str(number), value)
        state = one.dump()
        other.restore(state)
        assert other.dump() == state
        for number in range(len(held)):
            assert repr(other.call("get", str(number))) == repr(one.call("get", str(number)))


def test_every_kind_of_value_has_a_form() -> None:
    """G-13.8: a kind without one fails here, before a program meets it."""
    classes = [made for made in vars(values).values() if isinstance(made, type) and hasattr(made, "type_name")]
    abstract = {values.Ref, values.Struct}  # a class for each declared struct, all of one kind
    known = {cls for kind in KINDS for cls in kind.classes} | {values.NoneOption}
    assert len(classes) > 40 and {cls for cls in classes if cls not in abstract} - known == set()
    assert len({kind.name for kind in KINDS}) == len(KINDS)


# ---------------------------------------------------------------- what is in a store of its own


def test_initialisation_does_not_run_again() -> None:
    emits: list[Any] = []
    with PROGRAM.session() as one, PROGRAM.session() as other:
        one.call("put", "start", 2)
        other.on("begun", emits.append)
        other.restore(one.dump())
        assert other.call("get", "start") == 2 and other.call("say", "x") == 2 and emits == []


def test_the_state_of_a_session_that_ran_nothing_is_a_beginning() -> None:
    with PROGRAM.session() as one, PROGRAM.session() as other:
        other.call("put", "start", 2)
        other.restore(one.dump())
        assert other.call("get", "start") == 1 and other.call("say", "x") == 2


def test_a_hashmap_with_a_file_goes_on_with_its_file(tmp_path: Path) -> None:
    program = concerto.compile("""
        hashmap kept: HashMap<String, Int> = HashMap::new().with_persistence("kept.json");
        pub fn put(n: Int) { kept.set("n", n); }
        pub fn get() -> Int { kept.get("n") ?? 0 }
        pub fn watch() { kept.on_change("n", |old, new| { emit("changed", new); }); }
    """, manifest=None)  # fmt: skip
    import os

    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        grants = concerto.Permissions(fs_read=("kept.json",), fs_write=("kept.json",))
        with program.session(permissions=grants) as one, program.session(permissions=grants) as other:
            one.call("put", 1)
            one.call("watch")
            state = one.dump()
            one.call("put", 2)
            emits: list[Any] = []
            other.on("changed", emits.append)
            other.restore(state)
            assert other.call("get") == 2
            other.call("put", 3)
            assert emits == [3]
        with program.session() as denied:
            denied.restore(state)
            for _ in range(2):
                with pytest.raises(concerto.Panic, match="P407"):
                    denied.call("get")
    finally:
        os.chdir(before)


def test_a_log_in_a_store_goes_on_with_its_store(tmp_path: Path) -> None:
    (tmp_path / "Concerto.toml").write_text(
        '[project]\nname = "kept"\nversion = "0.1.0"\nentry = "main.conc"\n[stores.s]\nkind = "sqlite"\npath = "kept.db"\n'
    )
    (tmp_path / "main.conc").write_text("""
        memory log: Memory = Memory::new().store("s");
        model M { provider: offline, base: "m" }
        log.append("system", "begin");
        pub fn say(text: String) -> Result<Int, AgentError> { M.with_memory(log).execute(text)?; Ok(log.len()) }
        pub fn note(text: String) { log.remember("note", text, tier: Session); }
        pub fn noted() -> Any { log.fact("note").map(|f| f.content) ?? nil }
        fn main() { }
    """)
    program = concerto.compile(path=tmp_path / "main.conc")
    with program.session(offline=True) as one:
        assert one.call("say", "a") == 3
        one.call("note", "n")
        state = one.dump()
        assert one.call("say", "b") == 5
        one.restore(state)
        assert one.call("say", "c") == 7 and one.call("noted") == "n"
    with program.session(offline=True) as other:
        other.restore(state)
        assert other.call("say", "d") == 9 and other.call("noted") == "n"


def test_a_secret_stands_in_a_state_by_its_name() -> None:
    granted: Any = {"env": {"MY_TOKEN": "hunter2hunter2"}, "permissions": concerto.Permissions(env=True)}
    with PROGRAM.session(**granted) as session, PROGRAM.session(**granted) as other:
        session.call("keep")
        state = session.dump()
        assert b"hunter2" not in state and b"MY_TOKEN" in state
        other.restore(state)
        assert other.dump() == state
        assert other.call("length") == session.call("length") == len("it is hunter2hunter2")
        assert other.call("get", "token") == "it is <secret MY_TOKEN>"
    with PROGRAM.session(env=granted["env"]) as denied:
        denied.restore(state)
        assert denied.call("length") == len("it is <secret MY_TOKEN>")


# ---------------------------------------------------------------- what is refused


def test_the_state_of_another_program_is_refused_and_both_are_named() -> None:
    with PROGRAM.session() as one, EVERYTHING.session() as other:
        one.call("put", "start", 2)
        before = other.dump()
        with pytest.raises(concerto.ImageError) as caught:
            other.restore(one.dump())
        assert caught.value.code == "V005"
        assert PROGRAM.content_hash in str(caught.value) and EVERYTHING.content_hash in str(caught.value)
        assert other.dump() == before


def test_damaged_bytes_are_refused_and_nothing_changes() -> None:
    with PROGRAM.session() as session:
        session.call("put", "start", 2)
        state = session.dump()
        cases = {
            "V001": [b"", state[:20], bytes(65 << 20)],
            "V002": [b"x" * len(state), PROGRAM.to_bytes()],
            "V003": [state[:6] + b"\x02\x00" + state[8:], state[:6] + b"\x01\x01" + state[8:]],
            "V004": [state[:-1], state[:50] + b"\x00" + state[51:], state + b"\x00"],
        }
        for code, damaged in cases.items():
            for data in damaged:
                with pytest.raises(concerto.ImageError, match=f"{code}: .*;"):
                    session.restore(data)
        with pytest.raises(TypeError, match="a state is bytes, given str"):
            session.restore("state")  # type: ignore[arg-type]
        assert session.dump() == state and session.call("get", "start") == 2


def test_a_state_that_is_too_large_is_refused() -> None:
    with PROGRAM.session() as session:
        for number in range(9):
            session.call("put", str(number), f"{number}" * (8 << 20))
        with pytest.raises(concerto.ImageError, match="V001: the session state has .*; keep less in it"):
            session.dump()


# ---------------------------------------------------------------- one at a time


def test_a_handler_cannot_dump_or_restore_its_own_session() -> None:
    failures: list[str] = []
    with PROGRAM.session() as session:
        state = session.dump()

        @session.on_emit("ask")
        async def answer(payload: Any) -> None:
            for work in (session.dump, lambda: session.restore(state)):
                with pytest.raises(RuntimeError, match="session\\.adump|session\\.arestore"):
                    work()
            for waiting in (session.adump(), session.arestore(state)):
                with pytest.raises(RuntimeError, match="own handlers") as caught:
                    await waiting
                failures.append(str(caught.value))

        session.call("ask")
        assert len(failures) == 2
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.dump()


def test_a_dump_waits_for_the_call_that_runs() -> None:
    async def beside() -> bytes:
        async with PROGRAM.session() as session:
            begun, end = asyncio.Event(), asyncio.Event()

            @session.on_emit("ask")
            async def answer(payload: Any) -> None:
                begun.set()
                await end.wait()

            call = asyncio.ensure_future(session.acall("ask"))
            await begun.wait()
            dump = asyncio.ensure_future(session.adump())
            await asyncio.sleep(0)
            assert not dump.done()
            end.set()
            await call
            state = await dump
            await session.arestore(state)
            return state

    assert asyncio.run(beside())


def test_a_dump_waits_for_the_call_of_another_thread() -> None:
    with PROGRAM.session() as session:
        begun, end = threading.Event(), threading.Event()

        @session.on_emit("ask")
        def answer(payload: Any) -> None:
            begun.set()
            end.wait()

        caller = threading.Thread(target=lambda: session.call("ask"))
        caller.start()
        begun.wait()
        found: list[bytes] = []
        dumper = threading.Thread(target=lambda: found.append(session.dump()))
        dumper.start()
        assert found == []
        end.set()
        caller.join()
        dumper.join()
        assert len(found) == 1


@pytest.mark.parametrize("lacking", [1, 2, 5])
def test_records_of_before_have_the_fields_that_came_later(lacking: int) -> None:
    """A Response of a state without `citations`, without `reasoning` or the counts of tokens, and a ModelUsage without calls of
    hosted tools."""
    program = concerto.compile("""
        model M { provider: offline, base: "m" }
        hashmap kept: HashMap<String, Response> = HashMap::new();
        hashmap used: HashMap<String, std::usage::ModelUsage> = HashMap::new();
        pub fn ask() { kept.set("a", M.execute("x").unwrap()); used.set("a", std::usage::last()); }
        pub fn told() -> (Response, std::usage::ModelUsage) { (kept.get("a").unwrap(), used.get("a").unwrap()) }
    """)
    with program.session(offline=True) as session:
        session.call("ask")
        state, told = session.dump(), session.call("told")
    what, _, identity, body = msgpack.unpackb(state[len(MAGIC) + 2 : -32], raw=False, strict_map_key=False)
    for row in body[0]:
        if row[1] == "Response":
            del row[3][-lacking:]
        elif row[1] == "ModelUsage":
            del row[3][-1]
    with program.session(offline=True) as session:
        session.restore(seal(what, identity, body))
        assert session.call("told") == told


@pytest.mark.parametrize("step", ["retain", "window"])
def test_a_memory_value_with_a_computed_low_mark_comes_back(step: str) -> None:
    program = concerto.compile(f"""
        hashmap kept: HashMap<String, Memory> = HashMap::new();
        pub fn make(n: Int) {{ let m = Memory::new().{step}(10, low: n); m.append("user", "hello"); kept.set("a", m); }}
        pub fn held() -> Int {{ kept["a"].len() }}
    """)
    with program.session() as session, program.session() as other:
        session.call("make", 5)
        other.restore(session.dump())
        assert other.call("held") == 1
