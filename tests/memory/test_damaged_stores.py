"""What a store holds may be damaged, or made by somebody else (G-12.9, G-12.10): an error of the language, which names the place,
and never an empty memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess

import concerto
import pytest
from concerto.runtime.memory.changes import Draft
from concerto.runtime.memory.entries import Turn
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.keys import encode
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.records import Call, Msg

PROGRAM = concerto.compile("""
    memory log: Memory = Memory::new().store("durable");
    pub fn add(text: String) -> Int { log.append("user", text); log.len() }
    pub fn read() -> Int { log.messages().len() }
    pub fn wipe() -> Int { match log.erase() { Ok(n) => n, Err(e) => -1 } }
""")


def test_a_path_that_no_file_can_have(tmp_path):
    with pytest.raises(MemoryFailure, match="holds no nul"):
        SqliteStore(str(tmp_path / "a\0b"))


def panics(session, function, *words):
    with pytest.raises(concerto.Panic) as raised:
        session.call(function, *(["x"] if function == "add" else []))
    assert raised.value.code == "P451"
    for word in words:
        assert word in str(raised.value), str(raised.value)


def test_an_empty_file_is_a_store_that_was_lost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".concerto" / "memory.db"
    with PROGRAM.session(offline=True) as session:
        session.call("add", "x")
    path.write_bytes(b"")
    with PROGRAM.session(offline=True) as session:
        for function in ("read", "add"):
            panics(session, function, str(path), "is empty", "remove it")
        assert path.read_bytes() == b""
        path.unlink()
        assert session.call("add", "x") == 1


def test_a_table_that_is_gone_is_not_made_anew(tmp_path):
    path = str(tmp_path / "memory.db")
    store = SqliteStore(path)
    Memory(Policy(), store=store).append("user", "x")
    store.close()
    for table in ("entry", "log", "fact", "meta", "lease"):
        with sqlite3.connect(path) as other:
            other.execute(f"ALTER TABLE {table} RENAME TO away")
        other.close()
        with pytest.raises(MemoryFailure) as raised:
            SqliteStore(path)
        assert raised.value.variant == "Corrupt" and path in raised.value.message and table in raised.value.message
        with sqlite3.connect(path) as other:
            other.execute(f"ALTER TABLE away RENAME TO {table}")
        other.close()


BIG = 2**63 - 1
HUGE = "9" * 400  # a number of JSON beyond Float
SEEN_OF_HUGE = f'{{"topic":"topic","n":0,"data":{{"a":{HUGE}}},"seqs":[],"trust":"program","at":0}}'
ROWS = [
    *(("log", name, value) for name in ("version", "next", "turns", "length") for value in ("abc", -1, BIG, 1.5, b"x")),
    *(("log", name, value) for name in ("tokens", "touched") for value in ("abc", -1, BIG, 1.5, b"x")),
    ("log", "length", 0), ("log", "length", 99), ("log", "next", 0),
    *(("entry", name, value) for name in ("turn", "tokens", "at_ms") for value in ("abc", -1, BIG, 1.5)),
    *(("entry", name, value) for name in ("run", "author") for value in (b"x", )),
    *(("entry", name, value) for name in ("role", "origin") for value in ("nobody", b"user", 3)),
    *(("entry", "parts", value) for value in ("text", 7, BIG, b"", b"q[]", b'j{"a":1}', b"z" + b"\0" * 9)),
    ("entry", "parts", b'j[{"kind":"text","text":5}]'),
    ("entry", "parts", b"j" + b"[" * 100_000),
    *(("turn", name, value) for name in ("at_ms", "tokens_in", "tokens_out") for value in ("abc", -1, BIG)),
    *(("turn", "meta", value) for value in ("{", "[]", 5, b"{}", '{"k":' + HUGE + "}")),
    *(("view", name, value) for name in ("cut", "upto", "folded", "folded_at") for value in ("abc", BIG, -5)),
    ("view", "summary", "text"),
    *(("fact", "data", value) for value in ("text", b"{", b"[]", 5, b'{"id":1}')),
    *(("seen", "data", value) for value in ("text", b"{", b"[]", 5, b'{"n":1}', SEEN_OF_HUGE.encode())),
]  # fmt: skip


def filled(path):
    store = SqliteStore(str(path))
    memory = Memory(Policy(window=4, window_low=2), name="chat", store=store)
    unit = [Msg("assistant", "", [Call("c", "f", {"a": 1}, "")]), Msg("tool", "r", (), "c")]
    for number in range(4):
        drafts = [Draft(Msg("user", "q")), *map(Draft, unit), Draft(Msg("assistant", "a"))]
        memory.write(drafts, Turn(0, run=f"r{number}", by="M", at=0, tokens_in=1, tokens_out=1, meta={}))
    facts = Facts(memory)
    facts.keep(facts.drafted("name", "Ada"))
    from concerto.runtime.memory.remembering import observe

    observe(facts, "topic", {"a": 1})
    return store, memory


def everything(memory):
    memory.dump()
    memory.view()
    memory.turns()
    memory.stats()
    memory.appended()
    Facts(memory).recall("Ada", 3)


@pytest.mark.parametrize(("table", "column", "value"), ROWS)
def test_a_hostile_row_is_damage_and_named(tmp_path, table, column, value):
    store, memory = filled(tmp_path / "memory.db")
    everything(memory)
    store._connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    again = Memory(memory.policy, name="chat", store=SqliteStore(store.path))
    with pytest.raises(MemoryFailure) as raised:
        everything(again)
    assert raised.value.variant == "Corrupt"
    assert "chat" in raised.value.message
    assert again.erase() >= 0  # the way out
    assert len(again) == 0
    again.append("user", "x")
    assert len(again) == 1
    again.store.close()
    store.close()


OTHERS = [
    *(("fact", change) for change in ({"id": 7}, {"name": "other"}, {"tier": "session"})),
    *(("fact", change) for change in ({"created": -1}, {"seqs": [1 << 53]}, {"elements": [[0, 0, 1 << 63]]})),
    *(("seen", change) for change in ({"n": 1}, {"topic": "other"}, {"at": 1 << 63}, {"seqs": [-1]})),
]


@pytest.mark.parametrize(("table", "change"), OTHERS)
def test_what_stands_in_the_place_of_another_is_damage(tmp_path, table, change):
    """Whoever wrote the name, or the next observation, found the place taken for ever."""
    store, memory = filled(tmp_path / "memory.db")
    ((data,),) = store._connection.execute(f"SELECT data FROM {table}").fetchall()
    store._connection.execute(f"UPDATE {table} SET data = ?", (json.dumps(json.loads(data) | change).encode(),))
    again = Memory(memory.policy, name="chat", store=SqliteStore(store.path))
    with pytest.raises(MemoryFailure) as raised:
        everything(again)
    assert raised.value.variant == "Corrupt" and "chat" in raised.value.message
    again.store.close()
    store.close()


@pytest.mark.parametrize(("table", "change"), OTHERS)
def test_so_it_is_in_redis(redis_url, tmp_path, table, change):
    from concerto.runtime.memory.remembering import observe
    from concerto.runtime.memory.stores.redis import RedisStore

    store = RedisStore(redis_url, prefix=f"place{tmp_path.name}")
    memory = Memory(Policy(), name="chat", store=store)
    facts = Facts(memory)
    facts.keep(facts.drafted("name", "Ada"))
    observe(facts, "topic", {"a": 1})
    name = store._of(memory.key)["facts" if table == "fact" else "seen"]
    ((place, stored),) = store._server.hgetall(name).items()
    at = stored.index(b"{")
    store._server.hset(name, place, stored[:at] + json.dumps(json.loads(stored[at:]) | change).encode())
    read = RedisStore(redis_url, prefix=f"place{tmp_path.name}")
    with pytest.raises(MemoryFailure) as raised:
        read.facts(memory.key) if table == "fact" else read.seen(memory.key)
    assert raised.value.variant == "Corrupt" and "chat" in raised.value.message
    read.close()
    store.close()


SLOTS = concerto.compile("""
    context C { persistent { mut price: Float = 0.0, mut parts: Array<Int> = [] } }
    memory m: Memory = Memory::new().store("durable").context(C);
    pub fn write() { m.price = 1.5; m.parts = [7]; m.remember("age", 8, tier: Persistent); }
    pub fn use_tool() {
        let call = ToolCall { id: "c", name: "f", arguments: {"a": 1} };
        let asked = Message { role: "assistant", content: "", tool_calls: [call] };
        m.append_all([asked, Message { role: "tool", content: "r", tool_call_id: "c" }]);
    }
    pub fn messages() -> Any { m.messages() }
    pub fn price() -> Any { m.price }
    pub fn push() { m.parts.push(3); }
    pub fn fact() -> Any { m.fact("age") }
    pub fn recall() -> Any { m.recall("age", 1) }
    pub fn forget() -> Any { m.forget("price"); m.forget("parts"); m.forget("age"); [m.price, m.parts.len(), m.fact("age")] }
""")


def test_a_number_beyond_float_is_a_panic_that_says_the_way_out(tmp_path, monkeypatch):
    """Python reads such a number from JSON, but no value of a program has it."""
    monkeypatch.chdir(tmp_path)
    with SLOTS.session(offline=True) as session:
        session.call("write")
        session.call("use_tool")
    with contextlib.closing(sqlite3.connect(tmp_path / ".concerto" / "memory.db")) as other, other:
        for name, data in other.execute("SELECT name, data FROM fact").fetchall():
            stored = json.loads(data)
            stored["content"] = [int(HUGE)] if type(stored["content"]) is list else int(HUGE)
            other.execute("UPDATE fact SET data = ? WHERE name = ?", (json.dumps(stored).encode(), name))
        ((parts,),) = other.execute("SELECT parts FROM entry WHERE role = 'assistant'").fetchall()
        other.execute("UPDATE entry SET parts = ? WHERE role = 'assistant'", (parts.replace(b":1}", f":{HUGE}}}".encode()),))
    with SLOTS.session(offline=True) as session:
        for function, words in (
            ("price", 'P452.*the slot price of m .*number beyond the range of Float.*forget."price"'),
            ("push", 'P452.*the slot parts of m .*number beyond the range of Float.*forget."parts"'),
            ("messages", "P451.*memory.db, table entry, key main/m/: entry 0 does not decode"),
            ("fact", "P451.*main/m.*the fact age: number beyond the range of Float; forget it"),
            ("recall", "P451.*main/m.*the fact age: number beyond the range of Float; forget it"),
        ):
            with pytest.raises(concerto.Panic, match=words):
                session.call(function)
        assert session.call("forget") == [0.0, 0, None]


@pytest.mark.parametrize("note", ["9", "9:", "9:0", "x:0"])
def test_a_note_out_of_its_place_ends_no_reader(redis_url, tmp_path, note):
    """G-12.10: it was read again and again."""
    from concerto.runtime.memory.stores.redis import RedisStore

    store = RedisStore(redis_url, prefix=f"note{tmp_path.name}{len(note)}{note[0]}")
    memory = Memory(Policy(), name="chat", store=store)
    facts = Facts(memory)
    facts.keep(facts.drafted("name", "Ada"))
    store._server.zadd(store._of(memory.key)["changed"], {note: 1e300})
    with pytest.raises(MemoryFailure) as raised:
        RedisStore(redis_url, prefix=store._prefix.decode().rstrip(":")).index(memory.key)
    assert raised.value.variant == "Corrupt" and "chat" in raised.value.message
    store.close()


@pytest.mark.parametrize("seq", [1, 2, 15])
def test_a_missing_entry_is_no_shorter_memory(tmp_path, seq):
    store, memory = filled(tmp_path / "memory.db")
    store._connection.execute("DELETE FROM entry WHERE seq = ?", (seq,))
    for read in (memory.messages, memory.dump, memory.turns):
        with pytest.raises(MemoryFailure) as raised:
            read()
        assert raised.value.variant == "Corrupt"
    store.close()


def test_a_torn_unit_goes_to_no_model(tmp_path):
    store, memory = filled(tmp_path / "memory.db")
    store._connection.execute("DELETE FROM entry WHERE seq = 13")  # the call of the newest unit
    with pytest.raises(MemoryFailure) as raised:
        memory.view()
    assert raised.value.variant == "Corrupt"
    store.close()


def test_an_evicted_head_is_no_empty_memory(redis_url, tmp_path):
    from concerto.runtime.memory.stores.redis import RedisStore

    store = RedisStore(redis_url, prefix=f"evicted{tmp_path.name}")
    memory = Memory(Policy(), name="chat", store=store)
    memory.append("user", "x")
    names = store._of(memory.key)
    held = store._server.get(names["head"])
    for gone in (["head"], list(names)):
        store._server.delete(*(names[part] for part in gone))
        for use in (memory.messages, lambda: memory.append("user", "y"), lambda: len(memory)):
            with pytest.raises(MemoryFailure) as raised:
                use()
            assert raised.value.variant == "Corrupt" and "chat" in raised.value.message
    assert memory.erase() == 0
    memory.append("user", "z")
    store._server.set(names["head"], held)
    for part in ("entries", "order"):
        memory.erase()
        memory.append("user", "z")
        store._server.delete(names[part])
        with pytest.raises(MemoryFailure) as raised:
            memory.messages()
        assert raised.value.variant == "Corrupt"
    store.close()


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no disk of a given size can be mounted here")
    yield folder
    os.chdir(tmp_path)
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_can_be_read(small_disk, monkeypatch):
    monkeypatch.chdir(small_disk)
    with PROGRAM.session(offline=True) as session:
        session.call("add", "x")
    filler = os.open("filler", os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(filler, b"x" * 512)
    except OSError:
        os.close(filler)
    with PROGRAM.session(offline=True) as session:
        assert session.call("read") == 1
        panics(session, "add", "memory.db")
        assert session.call("read") == 1
    os.unlink("filler")
    with PROGRAM.session(offline=True) as session:
        assert session.call("add", "y") == 2


@pytest.mark.parametrize("part", [b"\xff", encode(("x",)).replace(b"x", b"\xff"), encode((7,)).replace(b"7", b"x")])
def test_a_damaged_key_among_the_expired_ones(tmp_path, part):
    """`expire` names the place as every reader does, and removes nothing."""
    store, memory = filled(tmp_path / "memory.db")
    damaged = encode(memory.key) + part
    store._connection.execute(
        "INSERT INTO log (key, version, next, turns, length, tokens, touched) VALUES (?, 0, 0, 0, 0, 0, 0)", (damaged,)
    )
    length = len(memory)
    with pytest.raises(MemoryFailure) as raised:
        store.expire(memory.key[:1], 2**52, 100)
    assert raised.value.variant == "Corrupt" and store.path in raised.value.message and "table log" in raised.value.message
    assert len(memory) == length
    store.close()
