"""Runs whose memories, contexts, hashmaps and indexes are in a durable store: recorded, given again without the store, and gone
on with after a crash at every commit (G-13.1, G-13.5, G-14.2)."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.host import Host
from concerto.runtime.journal.journal import Journal
from concerto.runtime.journal.recording import end_of, new_header
from concerto.runtime.journal.rows import EffectRow, EmitRow, plain_of, row_of
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.memory.keys import memory_key
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.stores.operations import IN_PLACE
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.interp.link import Program

from .worlds import program_of

PROGRAM = """
struct Note { path: String, text: String }
context Plan { persistent { mut steps: Int = 0, mut words: Array<String> = [] } }
memory log: Memory<Plan> = Memory::new().store("durable").context(Plan).recall(k: 2)
    .learn("asked", by: |o| o.prompt, when: |_| true, store: |g| Learned { content: g.count });
memory passing: Memory = Memory::new();
hashmap counts: HashMap<String, Int> = HashMap::new().store("durable");
index notes: Index<Note> = Index::of("offline", key: |n| n.text, id: |n| n.path).store("durable");
model M { provider: offline, base: "m", memory: log }

fn main() {
    log.remember("city", "Bonn");
    log.steps += 1;
    emit("first", M.execute("Where am I?")?.text);
    passing.append("user", "not kept");
    log.words.push("one");
    log.words.push("two");
    counts["a"] = log.steps;
    counts["a"] += 10;
    counts["b"] = 2;
    notes.add(Note { path: "p", text: "green tea" })?;
    notes.add_all([Note { path: "q", text: "granite rock" }, Note { path: "r", text: "tea pot" }])?;
    let gone = [notes.remove("q")?, notes.remove("q")?];
    emit("second", M.execute("And now?")?.text);
    log.append("user", "said directly");
    log.pin("user", "pinned");
    log.forget("city");
    counts.delete("b");
    emit("out", [log.len(), log.words, counts.entries(), log.fact("asked/And now?").is_some(), log.recall("steps").len()]);
    emit("found", [notes.search("tea")?.map(|hit| hit.0.path), notes.len(), gone]);
    log.rewind(1);
    emit("end", log.messages().map(|m| m.content));
}
"""
REPLIES = ["In Bonn.", "Still there."]
WALL = 1_700_000_000.0


class Sink:
    """Rows as they would stand in a file. Beside them, at each commit, what the store's file held before and after it, and how
    many rows there were then."""

    parks = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Any] = []
        self.moments: list[tuple[int, bytes | None]] = []

    def commit(self, rows: Sequence[Any], told: int, waits: Sequence[Any]) -> None:
        self.moments.append((len(self.rows), file_of(self.path)))
        self.rows += [json.loads(json.dumps(plain_of(row), allow_nan=False)) for row in rows]
        self.moments.append((len(self.rows), self.moments[-1][1]))

    def renew(self) -> None:
        """Nobody else has it."""

    def close(self) -> None:
        self.moments.append((len(self.rows), file_of(self.path)))


def file_of(path: Path) -> bytes | None:
    """What a process that dies now leaves in the file of the store."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as connection:
        return connection.serialize()


class World:
    """One process: its emits, and how it ended. The clock stands, so that times are equal everywhere, unless something `waits`:
    then it is virtual."""

    def __init__(
        self, program: Program, folder: Path, sink: Any, recorded: Iterator[Any] | None = None, goes_on: bool = False,
        stores: dict[str, Any] | None = None, replies: Sequence[Any] = REPLIES, env: dict[str, str] | None = None,
        waits: bool = False,
    ) -> None:  # fmt: skip
        self.emits: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        header = new_header(program, [], 7, WALL, True, lambda count: b"\1" * count)
        loop = OfflineLoop(0.0)
        time = loop.time if waits else lambda: 0.0
        rows = None if recorded is None else list(recorded)
        self.journal = Journal(
            header, sink=sink, recorded=None if rows is None else iter(rows), goes_on=goes_on, real_time=time,
            real_wall=lambda: WALL + time(), emits=(sum(type(row) is EmitRow for row in rows or ()), 0),
        )  # fmt: skip
        host = Host(
            emit=lambda channel, value, by_runtime: self.texts.append(f"{channel} {value!r}"), print=lambda text: None,
            env=env or {}, now=lambda: 0.0, sleep=loop.sleep, random=lambda: 0.5, offline=True, script=list(replies),
            project=str(folder), folder=str(folder), loop=loop, journal=self.journal, stores=stores or {},
            log=lambda level, text: self.texts.append(f"{level} {text}"), wall=lambda: WALL,
            permissions=Permissions.of_texts(["env"]),
        )  # fmt: skip
        self.session = Session(program, host)
        outcome = run_offline(self.session)
        self.unused = self.journal.unused()
        self.journal.close(end_of(outcome, self.session.redactor.clean))
        self.ended = outcome.panic or outcome.error


def content(path: Path) -> Any:
    """All that a store holds, but what counts its changes."""
    with closing(SqliteStore(str(path))) as store:
        keys = list(store.keys(()))
        logs = [
            [
                store.head(key).values(), store.entries(key), store.turns(key), store.views(key),
                [fact.as_json() for fact in store.facts(key)], store.seen(key),
            ]
            for key in keys
        ]  # fmt: skip
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'search%document'")]
        documents = [connection.execute(f"SELECT id, text, value FROM {name} ORDER BY row").fetchall() for name in tables]
    return keys, logs, documents


def put(path: Path, data: bytes | None) -> Path:
    """Put down what a process has left. Its leases are gone: who looks sees that it has died, and this process has not."""
    path.parent.mkdir(parents=True)
    if data is not None:
        path.write_bytes(data)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM lease")
    return path


class Closed:
    """A store of the host that nobody may ask for anything."""

    blocking = True
    name = "durable"

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        raise AssertionError(f"{method} of the store was asked for")


KINDS = ["in place", "in the thread"]


class Stores:
    """The store of a kind: a file, whose operations are done in place, or one of the host that has to be waited for."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.path = folder / ".concerto" / "memory.db"
        self.of_host: dict[str, Any] = {}
        if kind == "in the thread":
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.of_host = {"durable": SqliteStore(str(self.path), name="durable")}

    def close(self) -> None:
        for store in self.of_host.values():
            store.close()


def recorded(kind: str, folder: Path, source: str = PROGRAM, **more: Any) -> tuple[Program, World, Sink, Path]:
    program = program_of(source)
    with closing(Stores(kind, folder)) as stores:
        sink = Sink(stores.path)
        world = World(program, folder, sink, stores=stores.of_host, **more)
    assert world.ended is None, world.ended
    return program, world, sink, stores.path


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_is_given_again_without_the_store(kind: str, tmp_path: Path) -> None:
    program, first, sink, path = recorded(kind, tmp_path / "first")
    empty = tmp_path / "second"
    stores = {"durable": Closed()} if kind == "in the thread" else {}
    second = World(program, empty, None, iter([row_of(row) for row in sink.rows]), stores=stores, replies=[])
    assert second.ended is None and second.unused is None
    assert second.texts == first.texts and len(first.texts) == 5
    assert not empty.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_from_every_commit(kind: str, tmp_path: Path) -> None:
    """The process dies before or after each commit, with what the store held then: nothing is stored twice, nothing is lost."""
    program, first, sink, path = recorded(kind, tmp_path / "first")
    expected = content(path)
    moments = list(dict.fromkeys(sink.moments))
    assert len(moments) > 40
    for number, (count, data) in enumerate(moments):
        folder = tmp_path / f"at{number}"
        put(folder / ".concerto" / "memory.db", data)
        with closing(Stores(kind, folder)) as stores:
            rows = iter([row_of(row) for row in sink.rows[:count]])
            again = World(program, folder, Sink(stores.path), rows, goes_on=True, stores=stores.of_host)
        assert again.ended is None, (number, again.ended)
        assert again.texts == first.texts, number
        assert content(stores.path) == expected, number


def test_rows_that_were_cut_off_lose_no_change(tmp_path: Path) -> None:
    """A file may end between the rows of one commit: what comes behind them has changed nothing then."""
    program, first, sink, path = recorded("in place", tmp_path / "first")
    expected = content(path)
    counts = [count for count, _ in sink.moments]
    for count in range(0, len(sink.rows), 3):
        at = next(place for place, after in enumerate(counts) if after > count) - 1
        folder = tmp_path / f"at{count}"
        file = put(folder / ".concerto" / "memory.db", sink.moments[at][1])
        again = World(program, folder, Sink(file), iter([row_of(row) for row in sink.rows[:count]]), goes_on=True)
        assert again.ended is None and again.texts == first.texts, count
        assert content(file) == expected, count


def test_each_change_has_an_intent_before_it(tmp_path: Path) -> None:
    _, _, sink, _ = recorded("in place", tmp_path)
    rows = [row for row in map(row_of, sink.rows) if type(row) is EffectRow and row.kind == "memory"]
    intended = [(row.key, row.result["next"]) for row in rows if row.status == "intent"]
    methods = {"commit", "swap", "keep", "touch", "remove", "put", "embed"}
    changes = [
        (row.key, call[:3])
        for row in rows
        if row.is_settled
        for call in row.result.get("calls", ())
        if call[1] in methods
    ]
    assert len(changes) > 15 and {method for _, (_, method, _) in changes} == {"commit", "keep", "swap", "touch", "put", "remove"}
    assert [change for change in intended if change in changes] == changes


def test_a_run_that_goes_on_twice_is_the_same(tmp_path: Path) -> None:
    """A process that goes on dies too: the next one has the rows of both."""
    program, first, sink, path = recorded("in place", tmp_path / "first")
    expected = content(path)
    moments = list(dict.fromkeys(sink.moments))
    for number, (count, data) in enumerate(moments[3::13]):
        folder = tmp_path / f"at{number}"
        file = put(folder / ".concerto" / "memory.db", data)
        rows = sink.rows[:count]
        later = Sink(file)
        World(program, folder, later, iter([row_of(row) for row in rows]), goes_on=True)
        for place, (more, then) in enumerate(list(dict.fromkeys(later.moments))[1::9]):
            last = tmp_path / f"at{number}.{place}"
            again_file = put(last / ".concerto" / "memory.db", then)
            both = iter([row_of(row) for row in [*rows, *later.rows[:more]]])
            again = World(program, last, Sink(again_file), both, goes_on=True)
            assert again.ended is None and again.texts == first.texts, (number, place)
            assert content(again_file) == expected, (number, place)


SIDE_BY_SIDE = """
context Plan { persistent { mut steps: Int = 0 } }
memory log: Memory<Plan> = Memory::new().store("durable").context(Plan);
hashmap counts: HashMap<String, Int> = HashMap::new().store("durable");
model M { provider: offline, base: "m", memory: log }
async fn add(name: String) -> Int {
    for _ in 0..4 { counts[name] += 1; counts["all"] += 1; log.steps += 1; }
    counts[name]
}
fn main() {
    counts["a"] = 0; counts["b"] = 0; counts["all"] = 0;
    let (one, two, a, b) = await (M.execute("1"), M.execute("2"), add("a"), add("b"));
    emit("out", [one?.text, two?.text]);
    emit("counts", [a, b, counts["all"], log.steps, log.len()]);
}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_side_by_side(kind: str, tmp_path: Path) -> None:
    program, first, sink, path = recorded(kind, tmp_path / "first", SIDE_BY_SIDE)
    stores = {"durable": Closed()} if kind == "in the thread" else {}
    second = World(program, tmp_path / "second", None, iter(map(row_of, sink.rows)), stores=stores, replies=[])
    assert second.ended is None and second.unused is None and second.texts == first.texts
    assert "counts" in first.texts[1]
    for number, (count, data) in enumerate(list(dict.fromkeys(sink.moments))[::7]):
        folder = tmp_path / f"at{number}"
        put(folder / ".concerto" / "memory.db", data)
        with closing(Stores(kind, folder)) as of_kind:
            again = World(program, folder, Sink(of_kind.path), iter(map(row_of, sink.rows[:count])), True, of_kind.of_host)
        assert again.ended is None, (number, again.ended)
        assert again.texts == first.texts, number


def test_another_request_to_a_store_is_refused(tmp_path: Path) -> None:
    """G-14.2: what the run asks for now is compared with what it asked for then."""
    program, _, sink, _ = recorded("in place", tmp_path / "first")
    other = program_of(PROGRAM.replace('"said directly"', '"said otherwise"'))
    again = World(other, tmp_path / "second", None, iter(map(row_of, sink.rows)))
    assert again.ended is not None and again.ended.code == "P406"
    assert "the run asks for commit of durable, and the recording has it with other arguments" in again.ended.message
    assert not os.path.exists(tmp_path / "second")


NO_OUTCOMES: tuple[Any, ...] = ("x", -1, 10**400, 1.5, [[]], [5], {"a": 1}, {"entries": [5]}, [1, 2, 3, 4, 5, 6])


def test_what_no_store_gives_is_refused_with_its_place(tmp_path: Path) -> None:
    """G-2.24: of the first call of each method that stands in the recording."""
    program, _, sink, _ = recorded("in place", tmp_path / "first")
    places: dict[tuple[str, str], tuple[int, int]] = {}
    for at, row in enumerate(sink.rows):
        if row.get("kind") == "memory" and row["status"] == "done":
            for number, (place, method, *_) in enumerate(row["result"].get("calls", ())):
                places.setdefault((place, method), (at, number))
    assert {"head", "entries", "index", "open", "search", "len", "get", "swap"} <= {method for _, method in places}
    for (place, method), (at, number) in places.items():
        if method in ("put", "remove", "clear", "embed", "keep", "touch", "commit", "swap", "acquire"):
            continue  # what they give is nothing, or whether it was done
        for outcome in NO_OUTCOMES if method != "len" else ("x", -1, 10**400, [1]):
            rows = json.loads(json.dumps(sink.rows))
            rows[at]["result"]["calls"][number][3] = {"value": outcome}
            again = World(program, tmp_path / "second", None, iter(map(row_of, rows)))
            assert again.ended is not None and again.ended.code == "P406", (place, method, outcome)
            said = (f"what {method} of {place} has given cannot be read", "arguments", "recording", "asks for")
            assert any(part in again.ended.message for part in said), again.ended.message
    for result in (None, [], {}, {"calls": 5}, {"calls": [[]]}, {"calls": [["a", "b", "c", 5]]}):
        rows = json.loads(json.dumps(sink.rows))
        at, _ = places["durable", "head"]
        rows[at]["result"] = result
        again = World(program, tmp_path / "second", None, iter(map(row_of, rows)))
        assert again.ended is not None and again.ended.code == "P406" and "cannot be read" in again.ended.message, result


SAID = """
memory log: Memory = Memory::new().store("durable");
model M { provider: offline, base: "m", memory: log }
fn main() {
    emit("first", M.execute("Where am I?")?.text);
    log.append("user", "said directly");
    emit("second", M.execute("And now?")?.text);
}
"""


def test_what_others_wrote_after_a_change_in_doubt(tmp_path: Path) -> None:
    """The process dies between a commit of the store and its row, and another one writes before it goes on."""
    program, first, sink, path = recorded("in place", tmp_path / "first", SAID)
    windows = [
        (before, after)
        for before, after in zip(sink.moments, sink.moments[1:], strict=False)
        if before[0] == after[0] and before[1] != after[1] and sink.rows[before[0] - 1].get("status") == "intent"
    ]
    assert len(windows) == 3
    for number, (_, (count, data)) in enumerate(windows):
        folder = tmp_path / f"at{number}"
        file = put(folder / ".concerto" / "memory.db", data)
        with closing(SqliteStore(str(file))) as store:
            (key,) = store.keys(())
            Memory(name="log", store=store, key=key, clock=lambda: WALL + 5).append("user", "of another process")
        again = World(program, folder, Sink(file), iter(map(row_of, sink.rows[:count])), goes_on=True)
        assert again.ended is None and again.texts == first.texts, (number, again.ended)
        with closing(SqliteStore(str(file))) as store:
            said = [entry.message.content for entry in store.entries(key)]
        mine = ["Where am I?", "In Bonn.", "said directly", "And now?", "Still there."]
        assert sorted(said) == sorted([*mine, "of another process"]), number
        assert [text for text in said if text != "of another process"] == mine, number


def test_a_secret_in_a_store_comes_again_and_is_in_no_row(tmp_path: Path) -> None:
    """G-10.3: an earlier process did not know it as a secret."""
    source = """
        memory log: Memory = Memory::new().store("durable");
        fn main() {
            let token = env("MY_TOKEN")?;
            let text = log.messages()[0].content;
            emit("there", [text.len(), text.contains(token), text.contains("hidden")]);
        }
    """
    folder = tmp_path / "first"
    file = put(folder / ".concerto" / "memory.db", None)
    name = program_of(source).image.header.name
    with closing(SqliteStore(str(file))) as store:
        Memory(name="log", store=store, key=memory_key(name, "log"), clock=lambda: WALL).append("user", "it is t0k4-hidden.")
    env = {"MY_TOKEN": "t0k4-hidden"}
    program, first, sink, path = recorded("in place", folder, source, env=env)
    assert "t0k4" not in json.dumps(sink.rows) and "<secret" not in json.dumps(sink.rows)
    again = World(program, tmp_path / "second", None, iter(map(row_of, sink.rows)), env=env)
    assert again.ended is None and again.texts == first.texts and "18" in first.texts[-1]


def test_a_store_that_cannot_be_opened_fails_again(tmp_path: Path) -> None:
    program = program_of("""
        memory log: Memory = Memory::new().store("durable");
        fn main() { emit("before", 1); log.append("user", "x"); }
    """)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / ".concerto").write_bytes(b"a file where a folder should be")
    sink = Sink(tmp_path / "none.db")
    first = World(program, tmp_path / "first", sink)
    again = World(program, tmp_path / "second", None, iter(map(row_of, sink.rows)))
    assert first.ended is not None and first.ended.code == "P451"
    assert (again.ended.code, again.ended.message, again.texts) == (first.ended.code, first.ended.message, first.texts)


def test_a_wait_for_a_lock_that_ends_in_vain(tmp_path: Path) -> None:
    """M-5.19: the limit runs out when it did then, and the replay takes no time for it."""
    source = """
        memory log: Memory = Memory::new().store("durable");
        model A { provider: offline, base: "m-1", memory: log }
        model B { provider: offline, base: "m-2", memory: log, timeout: 1 }
        fn main() {
            let (one, two) = await (A.execute("1"), B.execute("2"));
            let failed: Any = two.unwrap_err();
            emit("out", [one?.text, failed.variant]);
        }
    """
    replies = [{"text": "a", "delay_ms": 3000}]
    program, first, sink, path = recorded("in place", tmp_path / "first", source, replies=replies, waits=True)
    assert "Conflict" in first.texts[-1]
    again = World(program, tmp_path / "second", None, iter(map(row_of, sink.rows)), waits=True, replies=[])
    assert again.ended is None and again.texts == first.texts and again.unused is None


def test_a_session_without_durable_stores_has_no_rows_of_memories(tmp_path: Path) -> None:
    _, world, sink, _ = recorded("in place", tmp_path, SAID.replace('.store("durable")', ""))
    assert world.session.operations is IN_PLACE
    assert not [row for row in sink.rows if row.get("kind") == "memory"]
