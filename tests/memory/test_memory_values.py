"""I31 values (M-12.31): a memory value is what a declared volatile memory of the same steps is, under any operations and runs,
and a list for who only appends; two values share nothing; what nothing refers to is nowhere.

Operations are done by one program to both at once, its snapshots written and read between its steps where that is drawn.
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys

import concerto
import pytest
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.states import Logs
from concerto.runtime.session.state import SnapshotLogs, Snapshots, SnapshotSecrets, resume, snapshot
from concerto.vm.bytecode.fields import Misshapen
from concerto.vm.bytecode.image import DEFAULT
from concerto.vm.bytecode.shape import steps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..snapshot.programs import Run, program_of

SOURCE = """
use std::json;
schema Kind { kind: String }
model M { provider: openai, base: "m" }
memory declared: Memory = %s;

fn n(v: Int) -> Int { v }
fn short(before: String, new: Array<Message>) -> String { "${before}${new.len()}." }
fn deed(m: Memory, kind: String, k: Int) -> Result<Nil, Error> {
    match kind {
        "append" => m.append("user", "text ${k}"),
        "pin" => m.pin("assistant", "pinned ${k}"),
        "unit" => {
            let call = ToolCall { id: "${k}", name: "find", arguments: {"k": k} };
            m.append_all([Message { role: "assistant", content: "", tool_calls: [call] }, Message::tool("${k}", "found it")])?;
        },
        "execute" => { M.with_memory(m).execute("asked ${k}")?; },
        "read only" => { M.with_memory(m, auto: false).execute("asked ${k}")?; },
        "schema" => { M.with_memory(m).execute_with_schema<Kind>("which ${k}")?; },
        "chat" => { M.with_memory(m).chat([Message::user("one ${k}"), Message::assistant("two"), Message::user("three")])?; },
        "stream" => { for _ in M.with_memory(m).stream("told ${k}")? { } },
        "clear" => m.clear(),
        "rewind" => { let _ = m.rewind(if k %% 2 == 0 { -1 } else { m.turns().len() / 2 }); },
        "erase" => { let _ = m.erase(seqs: [k]); },
        "unpin" => { m.set_pinned(k, false); },
        "load" => { m.load(m.dump())?; },
        "fork" => { match m.fork("b${k}") { Ok(b) => b.append("user", "there"), Err(_) => m.branch("b${k}")?.clear() } },
        "remember" => m.remember("f${k}", "fact ${k}"),
        _ => panic(kind),
    }
    Ok(nil)
}
fn state(m: Memory) -> String {
    let told = m.entries().map(|e| "${e.seq} ${e.turn} ${e.role} ${e.content} ${e.origin} ${e.pinned} ${e.tokens}");
    let names = m.branches().map(|b| "${b} ${m.branch(b).unwrap_or(m).len()}");
    let new = m.appended().map(|one| one.content);
    "${told} ${m.view("p")} ${m.stats()} ${new} ${m.summary()} ${names} ${json::stringify(m.to_map())} ${m.dump()}"
}
fn main() -> Result<Nil, Error> {
    let other = %s;
    let value = %s;
    other.append("user", "alone");
    for (kind, k) in %s {
        deed(declared, kind, k)?;
        deed(value, kind, k)?;
        emit("declared", state(declared));
        emit("value", state(value));
        emit("texts", json::stringify(value.messages().map(|one| one.content)));
    }
    emit("other", [other.len(), other.version()]);
    Ok(nil)
}
"""
KINDS = [
    "append", "append", "append", "pin", "unit", "execute", "execute", "read only", "schema", "chat", "stream", "clear", "rewind",
    "erase", "unpin", "load", "fork", "remember",
]  # fmt: skip
WRITES = st.lists(st.tuples(st.sampled_from(["append", "append", "clear"]), st.integers(0, 9)), min_size=1, max_size=12)
DEEDS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 6)), min_size=1, max_size=10)
OWN = re.compile(r'\\?"(?:at|run|touched)\\?":(?:null|\d+|\\?"[^"\\]*\\?")')


@st.composite
def chains(draw):
    """The steps of a chain, with `%s` around each bound."""
    found = []
    retain = draw(st.sampled_from([None, 1, 3, 6]))
    if retain is not None:
        low = draw(st.sampled_from(["", ", low: %s(2)"])) if retain > 2 else ""
        found.append(f".retain(%s({retain}){low}{draw(st.sampled_from(['', ', tokens: %s(40)']))})")
    window = draw(st.sampled_from(["", ".window(%s(1))", ".window(turns: %s(2))", ".window(%s(3), low: %s(1))"]))
    found.append(window if not (retain == 1 and "(3)" in window) else "")
    found.append(draw(st.sampled_from(["", ".tokens(%s(60))", ".clip(%s(5))"])))
    found.append(draw(st.sampled_from(["", ".tools()", ".roles([User, System])", ".pin([System])", ".prune(similar: 0.5)"])))
    found.append(draw(st.sampled_from(["", "", ".summary(short, every: 2)", ".on_failure(Record)", ".on_conflict(Serial)"])))
    return "Memory::new()" + "".join(found)


def emits(chain, deeds, between=lambda session: None, tier="interp"):
    """What the program emits, by channel."""
    computed = chain.replace("%s", "n")
    listed = "[" + ", ".join(f'("{kind}", {k})' for kind, k in deeds) + "]"
    run = Run(program_of(SOURCE % (chain.replace("%s", ""), "Memory::new(3)", computed, listed)), between, tier)
    outcome = run.outcome(steps=2_000_000)
    assert outcome.panic is None and outcome.error is None, outcome.panic or outcome.error
    found = {}
    for channel, value in told(run):
        found.setdefault(channel, []).append(value)
    return found


def told(run):
    """Channel and payload of each emit, as text."""
    return [(channel, value.removeprefix("Array(").removesuffix(")").strip("'")) for channel, value in run.emits]


def same(found):
    assert len(found.get("declared", ())) == len(found.get("texts", ()))
    for declared, value in zip(found.get("declared", ()), found.get("value", ()), strict=True):
        assert OWN.sub("", declared) == OWN.sub("", value)
    assert found["other"] == ["[1, 1]"]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(chains(), DEEDS, st.sampled_from(["interp", "both"]), st.sampled_from([0, 0, 1, 7]))
def test_a_value_is_what_a_declared_memory_is(chain, deeds, tier, every):
    def between(session):
        if every and session.steps % every == 0 and not session.is_waiting():
            resume(session, snapshot(session))

    same(emits(chain, deeds, between, tier))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([None, 1, 2, 5]), WRITES)
def test_a_value_is_a_list(bound, deeds):
    """selectools' `ConversationMemory`, as its document writes it."""
    chain = "Memory::new()" if bound is None else f"Memory::new(%s({bound}))"
    log: list[str] = []
    for (kind, k), text in zip(deeds, emits(chain, deeds).get("texts", []), strict=True):
        log = [] if kind == "clear" else [*log, f"text {k}"][-(bound or 99) :]
        assert json.loads(text) == log


# ---------------------------------------------------------------- how long a value lives

MANY = """
fn one(i: Int) -> Int { let m = Memory::new(n(3)); m.append("user", "${i}"); let _b = m.fork("b"); m.len() }
fn n(v: Int) -> Int { v }
fn main() {
    let kept = Memory::from([Message::user("first")]).window(n(2));
    let mut held = [Memory::new()];
    let mut total = 0;
    for i in 0..200 { total += one(i); }
    held = [];
    emit("total", [total, kept.len(), held.len()]);
}
"""


def logs(session):
    session.memories.values.give_up()
    return [key for _, store in session.memories.volatile_stores() for key in store.logs]


def test_what_nothing_refers_to_is_nowhere():
    most = []
    run = Run(program_of(MANY), lambda session: most.append(len(logs(session))))
    assert run.outcome(steps=2_000_000).panic is None
    gc.collect()
    assert told(run) == [("total", "[200, 1, 0]")] and max(most, default=0) <= 6
    assert logs(run.session) == [] and not run.session.memories.values.lives


def test_a_snapshot_holds_only_values_that_are_held():
    source = """
    fn gone() { let m = Memory::new(); m.append("user", "of the past"); }
    fn main() { let m = Memory::new(); m.append("user", "kept here"); gone(); emit("a", 1); emit("b", [m.len()]); }
    """
    taken = []

    def between(session):
        if not session.is_waiting():
            taken.append(snapshot(session))
            resume(session, taken[-1])
            assert len(logs(session)) == len(session.memories.values.lives) <= 1

    run = Run(program_of(source), between)
    assert run.outcome().panic is None and told(run)[-1] == ("b", "[1]")
    assert b"kept here" in taken[-1] and all(b"of the past" not in data for data in taken)


def test_values_that_ended_between_two_snapshots_do_not_come_back():
    """Nor is their number given again: snapshots before tell of what was under it."""
    program = program_of("fn main() { let m = Memory::new(); emit(\"n\", m.len()); }")
    session = Run(program, lambda session: None).session
    other = Run(program, lambda session: None).session
    snapshots, told_of, other_told = Snapshots(session), SnapshotLogs(), SnapshotLogs()
    kept, gone = (session.memories.memory_value("main#1", {}, None) for _ in range(2))
    gone.life.memory.append("user", "of the past")
    first = snapshots.write()
    del gone
    second = snapshots.write()
    for one, told_one in ((session, told_of), (other, other_told)):
        told_one.add(one, first)
        resume(one, second, told_one)
        assert [key[2] for key in logs(one)] == ([kept.key[0]] if one is session else [])
        assert one.memories.memory_value("main#1", {}, None).key[0] == 3


def test_two_values_of_one_chain_have_bounds_of_their_own():
    source = """
    fn made(k: Int) -> Memory { Memory::new(k) }
    fn main() {
        let a = made(1); let b = made(3); let c = made(3);
        for i in 0..5 { a.append("user", "${i}"); b.append("user", "${i}"); }
        emit("out", [a.len(), b.len(), a.version(), b.version(), c.len()]);
    }
    """
    run = Run(program_of(source), lambda session: None)
    assert run.outcome().panic is None and told(run) == [("out", "[1, 3, 5, 5, 0]")]


def test_what_a_value_begins_with_is_of_no_run():
    source = """
    model M { provider: openai, base: "m" }
    fn main() {
        let m = Memory::from([Message::user("a"), Message::assistant("b")]);
        let before = m.appended().len();
        let _ = M.with_memory(m).execute("c");
        emit("out", [before, m.turns().len(), m.appended().len(), m.len()]);
        emit("runs", m.turns().map(|t| t.run == nil));
    }
    """
    run = Run(program_of(source), lambda session: None)
    assert run.outcome().panic is None
    assert told(run) == [("out", "[0, 2, 2, 4]"), ("runs", "[True, False]")]


def test_a_state_of_a_session_holds_the_values_that_it_reaches():
    """M-2.23: with their bounds; what had ended is not in it, and numbers are not given again."""
    program = concerto.compile("""
    hashmap chats: HashMap<String, Memory> = HashMap::new();
    fn n(v: Int) -> Int { v }
    pub fn put(name: String) {
        let gone = Memory::new(); gone.append("user", "of the past");
        let m = Memory::new(n(2)); m.append("user", "kept here"); chats.set(name, m);
    }
    pub fn say(name: String) -> Int { match chats.get(name) { Some(m) => { m.append("user", "x"); m.len() }, None => -1 } }
    pub fn same(a: String, b: String) -> Bool { chats.get(a) == chats.get(b) }
    fn main() {}
    """)
    with program.session() as one, program.session() as other:
        one.call("put", "a")
        one.call("put", "b")
        state = one.dump()
        assert b"kept here" in state and b"of the past" not in state
        assert [one.call("say", "a") for _ in range(2)] == [2, 2]
        for session in (one, other):
            session.restore(state)
            assert session is one or session.dump() == state
            assert [session.call("say", "a"), session.call("say", "b"), session.call("same", "a", "b")] == [2, 2, False]
            session.call("put", "c")
            assert session.call("same", "a", "c") is False and session.call("say", "c") == 2


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_a_stream_of_a_value_nobody_else_holds(tier):
    source = """
    model M { provider: openai, base: "m" }
    fn main() {
        for _ in 0..20 { match M.with_memory(Memory::new()).stream("p") { Ok(s) => { for _ in s { } }, Err(_) => {} } }
        emit("done", 1);
    }
    """
    run = Run(program_of(source), lambda session: None, tier)
    assert run.outcome(steps=2_000_000).panic is None and told(run) == [("done", "1")]
    gc.collect()
    assert len(logs(run.session)) <= 1  # that of the stream which ended last


def test_values_weigh_as_long_as_they_live():
    """G-6.8: what one holds counts, what has ended does not."""
    held = """
    fn main() {
        let mut all = [Memory::new()];
        for i in 0..40 { let m = Memory::new(); m.append("user", "x".repeat(1000000)); all.push(m); }
        emit("held", all.len());
    }
    """
    weighed = """if True:
        import sys, concerto
        program = concerto.compile(sys.argv[1])
        with program.session(offline=True, budgets=concerto.Budgets(memory_bytes=20_000_000)) as session:
            error = session.run().error
        print(getattr(error, "code", None))
    """
    for source, code in ((held, "P103"), (held.replace("all.push(m);", ""), "None")):
        # a process of its own: a run is weighed where the process has grown
        done = subprocess.run([sys.executable, "-c", weighed, source], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == code


IMAGES = {
    "a bound that is none": {"bounds": {"frob": True}},
    "a bound computed by a number": {"bounds": {"window": 3}},
    "no bound": {"bounds": {}},
    "a bound written and computed": {"bounds": {"window": True}, "window": 3},
    "a low bound of no window": {"made": ["retain"], "window_low": 3},
    "a bound twice": {"made": ["window", "window"]},
    "a value with a store": {"made": [], "store": {"name": "durable", "kind": "sqlite"}},
    "a value with a key": {"made": [], "keys": ["user"]},
    "a value with bounds of the beginning": {"made": [], "bounds": {"window": True}},
}


@pytest.mark.parametrize("name", IMAGES)
def test_what_an_image_says_of_them(name):
    with pytest.raises(Misshapen):
        steps(IMAGES[name], DEFAULT)
    for good in ({"made": []}, {"made": ["window"], "window_low": 3}, {"bounds": {"window": True}}, {"bounds": {"clip": [0, 1]}}):
        steps(good, DEFAULT)


@pytest.mark.parametrize("key", [[], [0, 3], [1], [1, -1], [1, "3"], ["1", 3], [1, 3, 3]])
def test_a_state_with_a_value_that_none_is(key):
    program = program_of("""
        hashmap h: HashMap<String, Memory> = HashMap::new();
        fn n(v: Int) -> Int { v }
        fn main() { h.set("a", Memory::new(n(3))); }
    """)
    session = Run(program, lambda session: None).session
    ref = session.memories.memory_value("main#1", {"retain": 3}, None)
    assert not session.memories.differs(ref, 0, Logs().checked(session.memories, SnapshotSecrets(session), []))
    ref.key = tuple(key)
    with pytest.raises(MemoryFailure):
        session.memories.differs(ref, 0, Logs().checked(session.memories, SnapshotSecrets(session), []))
    assert session.memories.volatile(None, ("main", "main#1", *key, "")) is None
