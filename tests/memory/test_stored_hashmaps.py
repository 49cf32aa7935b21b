"""Hashmaps whose entries are in a store (O-5.41): every kind of store, several sessions, failures, tools of models, states."""

from __future__ import annotations

import threading

import concerto
import pytest
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.vm.builtins.hashmaps import WRITES
from concerto.vm.interp import stored_hashmaps

PROGRAM = concerto.compile("""
struct Box { name: String, tags: Array<String> }
hashmap boxes: HashMap<String, Box> = HashMap::new().store("durable");
hashmap counts: HashMap<Int, Int> = HashMap::new().store("durable");
hashmap flags: HashMap<Bool, Any> = HashMap::new().store("durable");
pub fn fill() {
    boxes["b"] = Box { name: "b", tags: [] };
    boxes.set_many({ a: Box { name: "a", tags: ["t"] }, c: Box { name: "c", tags: [] } });
    boxes["b"].tags.push("u");
    boxes.scope("s")["x"] = boxes["a"];
    counts[2] = 1;
    counts[1] = 1;
    counts[2] += 10;
    flags[true] = { n: [1, 2.5, nil] };
    flags[false] = "no";
}
pub fn shown() -> Array<Any> { [boxes.entries(), counts.entries(), flags.entries(), boxes.scope("s").keys()] }
pub fn drop() -> Array<Any> {
    let gone = [boxes.delete("a"), boxes.delete("a"), boxes.has("a")];
    boxes.scope("s").clear();
    counts.clear();
    [gone, boxes.keys(), counts.len(), counts.is_empty()]
}
pub fn watched() -> Array<Any> {
    let mut told: Array<Any> = [];
    counts.on_any_change(|k, old, new| emit("told", [k, old, new]));
    counts[7] = 1;
    counts[7] += 1;
    counts.delete(7);
    counts.delete(7);
    [counts.get(7)]
}
pub fn add(times: Int) -> Int {
    for n in 0..times { counts[0] += 1; }
    counts[0]
}
pub async fn both(times: Int) -> Int { await (add(times), add(times), add(times)); counts[0] }
pub fn begin() { counts[0] = 0; }
pub fn walked() -> Array<Any> {
    let mut all: Array<Any> = [];
    for (k, v) in boxes { all.push([k, v.name]); }
    let kept: Any = boxes;
    for (k, v) in kept.entries() { all.push(k); }
    all
}
pub fn behind_any() { let kept: Any = boxes; for x in kept { println(x); } }
""")


def of(open_store):
    return PROGRAM.session(stores={"durable": open_store.again()})


def test_entries_outlive_the_session(open_store):
    open_store()
    with of(open_store) as session:
        assert session.call("shown") == [[], [], [], []]
        session.call("fill")
        first = session.call("shown")
    a, b = {"name": "a", "tags": ["t"]}, {"name": "b", "tags": ["u"]}
    boxes = [("b", b), ("a", a), ("c", {"name": "c", "tags": []}), ("s:x", a)]
    flags = [(True, {"n": [1, 2.5, None]}), (False, "no")]
    as_data = [[[key, plain(value)] for key, value in part] for part in first[:3]]
    assert as_data == [[[k, v] for k, v in boxes], [[2, 11], [1, 1]], [[k, v] for k, v in flags]]
    assert first[3] == ["x"]
    if open_store.kind == "volatile":
        return
    with of(open_store) as session:
        assert [[plain(value) for _, value in part] for part in session.call("shown")[:3]] == [[v for _, v in p] for p in as_data]
        assert session.call("walked") == [["b", "b"], ["a", "a"], ["c", "c"], ["s:x", "a"], "b", "a", "c", "s:x"]
        assert session.call("drop") == [[True, False, False], ["b", "c"], 0, True]


def plain(value):
    return {name: getattr(value, name) for name in ("name", "tags")} if hasattr(value, "tags") else value


def test_watchers_are_told(open_store):
    open_store()
    told = []
    with PROGRAM.session(stores={"durable": open_store.again()}) as session:
        session.on("told", told.append)
        session.call("watched")
    values = [[key, *(part if part is None else getattr(part, "value", part) for part in rest)] for key, *rest in told]
    assert values == [[7, None, 1], [7, 1, 2], [7, 2, None]]


def test_no_update_of_sessions_and_tasks_is_lost(open_store):
    open_store()
    sessions = [of(open_store) for _ in range(1 if open_store.kind == "volatile" else 2)]
    sessions[0].call("begin")
    failures = []

    def work(session):
        try:
            session.call("both", 5)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sessions[0].call("add", 0) == 15 * len(sessions)
    for session in sessions:
        session.close()


def test_the_file_beside_the_manifest(tmp_path, monkeypatch):
    """Without an option of the host the entries are where memories are; another namespace has others."""
    monkeypatch.chdir(tmp_path)
    with PROGRAM.session() as session:
        session.call("fill")
    assert (tmp_path / ".concerto" / "memory.db").exists()
    with PROGRAM.session() as session:
        assert len(session.call("shown")[0]) == 4


class Deaf(VolatileStore):
    """A store of a host that keeps no facts."""

    name = "deaf"
    facts = keep = swap = touch = index = property(lambda self: (_ for _ in ()).throw(AttributeError()))  # type: ignore[assignment]


class Broken(VolatileStore):
    name = "broken"

    def keep(self, *given, **named):
        raise OSError("no space left")

    def facts(self, key):
        raise OSError("cannot be read")

    index = swap = property(lambda self: (_ for _ in ()).throw(AttributeError()))  # type: ignore[assignment]


@pytest.mark.parametrize(("store", "said"), [(Deaf(), "keeps no facts"), (Broken(), "cannot be read")])
def test_a_store_that_cannot_be_had(store, said):
    with (
        PROGRAM.session(stores={"durable": store}) as session,
        pytest.raises(concerto.Panic, match=f"P412.*the store of hashmap counts: .*{said}"),
    ):
        session.call("begin")


def test_a_stored_entry_that_does_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = 'hashmap h: HashMap<String, TYPE> = HashMap::new().store("durable"); BODY'
    body = 'pub fn put() { h["a"] = 1; h["b"] = 2; } pub fn got() -> Int { h.len() }'
    with concerto.compile(source.replace("TYPE", "Int").replace("BODY", body)).session() as session:
        session.call("put")
    other = 'pub fn got() -> Int { h.len() } pub fn drop() -> Bool { h["a"] = "x"; h.has("a") }'
    program = concerto.compile(source.replace("TYPE", "String").replace("BODY", other))
    with program.session() as session:
        with pytest.raises(concerto.Panic, match='P412.*the entry "a" of hashmap h does not fit its type'):
            session.call("got")
        assert session.call("drop") is True
        with pytest.raises(concerto.Panic, match='P412.*the entry "b"'):
            session.call("got")


def test_a_key_of_another_type_does_not_fit_either(tmp_path, monkeypatch):
    """It came as a value of the declared type, of which the program then asked what such values have."""
    monkeypatch.chdir(tmp_path)
    source = 'hashmap h: HashMap<TYPE, Int> = HashMap::new().store("durable"); BODY'
    with concerto.compile(source.replace("TYPE", "Int").replace("BODY", "pub fn put() { h[1] = 5; }")).session() as session:
        session.call("put")
    body = 'pub fn got() -> Array<String> { h.keys() } pub fn drop() -> Int { h["1"] = 2; h.clear(); h.len() }'
    with concerto.compile(source.replace("TYPE", "String").replace("BODY", body)).session() as session:
        with pytest.raises(concerto.Panic, match="P412.*the key 1 of hashmap h does not fit.*String, found Int"):
            session.call("got")
        assert session.call("drop") == 0


def test_keys_that_are_bytes(open_store):
    open_store()
    program = concerto.compile('''
    hashmap h: HashMap<Bytes, Int> = HashMap::new().store("durable");
    pub fn fill() -> Array<Any> {
        let key = "ab".to_bytes();
        h[key] = 5;
        h[key] += 1;
        [h.has(key), h[key], h.keys(), h.delete(key), h.len()]
    }
    ''')
    with program.session(stores={"durable": open_store.again()}) as session:
        assert session.call("fill") == [True, 6, [b"ab"], True, 0]


@pytest.mark.parametrize("where", ['.with_persistence("h.json")', '.store("durable")'])
def test_a_field_that_is_added_later_has_its_default(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = f"""
        struct Vote {{{{ by: String{{more}} }}}}
        hashmap h: HashMap<String, Vote> = HashMap::new(){where};
        pub fn put() {{{{ h["a"] = Vote {{{{ by: "Ann" }}}}; }}}}
        pub fn got() -> Vote {{{{ h["a"] }}}}
        pub fn grown() -> Int {{{{ {{grown}} }}}}
    """
    rights = {"permissions": concerto.Permissions(fs_read=True, fs_write=True)}
    with concerto.compile(source.format(more="", grown="0")).session(**rights) as session:
        session.call("put")
    later = source.format(more=", n: Int = 3 + 4, on: String? = nil", grown='h["a"].n += 1; h["a"].n')
    with concerto.compile(later).session(**rights) as session:
        vote = session.call("got")
        assert (vote.by, vote.n, vote.on) == ("Ann", 7, None)
        assert session.call("grown") == 8


def test_behind_any(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with PROGRAM.session() as session, pytest.raises(concerto.Panic, match="P007.*walk over `entries"):
        session.call("behind_any")


def test_a_state_leaves_the_entries_where_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with PROGRAM.session() as session:
        session.call("begin")
        session.call("add", 3)
        state = session.dump()
        session.call("add", 1)
    with PROGRAM.session() as session:
        session.restore(state)
        assert session.call("add", 1) == 5


def test_an_entry_that_could_not_be_read_again_is_not_written_into_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = concerto.compile("""
    hashmap h: HashMap<String, Float> = HashMap::new().with_persistence("x.json");
    pub fn fill() { h["a"] = 1.5; h["b"] = 0.0 / 0.0; }
    pub fn look() -> Int { h.len() }
    """)
    files = concerto.Permissions(fs_read=("x.json",), fs_write=("x.json",))
    unfit = pytest.raises(concerto.Panic, match="P412.*would not fit: expected Float, found null")
    with program.session(permissions=files) as session, unfit:
        session.call("fill")
    with program.session(permissions=files) as session:
        assert session.call("look") == 1


def test_a_writing_method_that_a_store_does_not_know_changes_nothing(open_store, monkeypatch):
    """It cleared the hashmap."""
    open_store()
    with of(open_store) as session:
        session.call("fill")
        first = session.call("shown")
        monkeypatch.setattr(stored_hashmaps, "WRITES", (*WRITES, "keys"))
        with pytest.raises(AssertionError, match="how keys writes"):
            session.call("shown")
        monkeypatch.undo()
        assert session.call("shown") == first


def test_a_store_knows_every_writing_method():
    writes = {"set": "h[1] = 2", "delete": "h.delete(1)", "clear": "h.clear()", "set_many": "h.set_many({})"}
    writes["_swap"] = "h[1] += 1"
    assert set(writes) == set(WRITES)
    for code in writes.values():
        program = concerto.compile(f"""
        hashmap h: HashMap<Int, Int> = HashMap::new().store("durable");
        pub fn go() {{ h[1] = 1; {code}; }}
        """)
        with program.session(stores={"durable": VolatileStore()}) as session:
            session.call("go")
