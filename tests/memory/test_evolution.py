"""What one version of a program stores, another one reads (M-7.8 to M-7.10, M-8.23 to M-8.25): on every store, and by `dump` and
`load`.

Nothing is silently empty: what is not read is refused by name.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.memory.stores.volatile import VolatileStore

BEFORE = """
struct Bug { title: String, sev: Int, gone: String }
schema Note { text: String }
context C { persistent { mut faults: Array<Bug> = [], mut note: Note, once: Int, mut n: Int = 0 } }
memory old: Memory = Memory::new().store("durable").context(C).per(user);
memory plain: Memory = Memory::new().store("durable").context(C);
pub fn write() {
    let m = old.key(user: "u7");
    m.faults = [Bug { title: "a", sev: 1, gone: "g" }, Bug { title: "b", sev: 2, gone: "h" }];
    m.note = Note { text: "said" };
    m.once = 7;
    m.append("user", "hello");
    old.key(user: "u8").append("user", "other");
    plain.n = 5;
}
pub fn more() { let m = old.key(user: "u7"); m.faults.push(Bug { title: "d", sev: 4, gone: "i" }); }
pub fn look() -> Any { old.key(user: "u7").faults.len() }
"""
AFTER = """
fn base() -> Int { 40 }
struct Bug { @was("title") name: String, sev: Int, level: Int = base() + 2, by: Option<String>, tags: Array<String> = ["new"] }
schema Note { text: String, more?: Int, kind: String = "note" }
context C { persistent { @was("faults") mut bugs: Array<Bug> = [], mut note: Note, @was("once") first: Int, mut n: Int = 0 } }
memory m: Memory = Memory::new().store("durable").was("old").context(C).per(user, tenant: "t1");
memory plain: Memory = Memory::new().store("durable").context(C).per(tenant: "t1");
pub fn keys() -> Any { m.keys() }
pub fn read() -> String {
    let k = m.key(user: "u7", tenant: "t1");
    "${k.bugs} ${k.note} ${k.first} ${k.messages().len()} ${plain.key(tenant: "t1").n}"
}
pub fn change() -> String {
    let k = m.key(user: "u7", tenant: "t1");
    k.bugs[0].level += 1;
    k.bugs.push(Bug { name: "c", sev: 3, level: 42, by: Some("me") });
    plain.key(tenant: "t1").append("user", "now");
    "${k.bugs.len()} ${k.fact("faults").is_none()} ${k.fact("bugs").is_some()} ${k.bugs[0].level}"
}
pub fn names() -> Any { let k = m.key(user: "u7", tenant: "t1"); k.recall("a b c", touch: false).map(|f| f.name) }
pub fn again() -> Bool { let k = m.key(user: "u7", tenant: "t1"); k.first = 8; true }
pub fn other() -> Any { m.key(user: "u7", tenant: "t2").append("user", "x"); m.keys().len() }
pub fn erase(tenant: String) -> Int { m.erase(tenant: tenant).unwrap() }
"""
READ = (
    "[Bug {name: a, sev: 1, level: 42, by: None, tags: [new]}, Bug {name: b, sev: 2, level: 42, by: None, tags: [new]}]"
    " Some(Note {text: said, more: None, kind: note}) Some(7) 1 5"
)


class OfAHost(VolatileStore):
    """Without what is optional: no compare-and-set, no index."""

    name = "of a host"
    swap = touch = index = property(lambda self: (_ for _ in ()).throw(AttributeError()))  # type: ignore[assignment]


compiled = functools.lru_cache(maxsize=None)(concerto.compile)


@contextlib.contextmanager
def versions(kind: str, folder: Path, url: str | None = None) -> Iterator[Any]:
    """Calls functions of a program that has the store, each in a session of its own."""
    store: Any = OfAHost() if kind == "host" else None
    if kind not in ("file", "host"):
        from .conftest import Opener

        store = Opener(kind, folder, url)
        store()

    def called(text: str, *names: str, **given: Any) -> Any:
        held = store.again() if kind not in ("file", "host") else store
        with compiled(text).session(**({} if held is None else {"stores": {"durable": held}})) as session:
            return [session.call(name, *given.get("args", ())) for name in names][-1]

    with contextlib.chdir(folder):
        yield called
    if kind not in ("file", "host"):
        store.close()


@pytest.fixture(params=["file", "sqlite", "postgres", "redis", "host"])
def stored(request: Any, tmp_path: Path) -> Iterator[Any]:
    url = request.getfixturevalue(f"{request.param}_url") if request.param in ("postgres", "redis") else None
    with versions(request.param, tmp_path, url) as called:
        yield called


def test_a_later_version_reads_what_an_earlier_one_wrote(stored: Any) -> None:
    stored(BEFORE, "write")
    assert stored(AFTER, "keys") == [{"user": "u7", "tenant": "t1"}, {"user": "u8", "tenant": "t1"}]
    assert stored(AFTER, "read") == READ
    assert stored(AFTER, "read") == READ  # reading it has changed nothing
    assert stored(BEFORE, "look") == 2  # and the earlier version goes on beside it
    assert stored(AFTER, "change") == "3 true true 43"
    assert stored(AFTER, "read").startswith("[Bug {name: a, sev: 1, level: 43, ")
    assert "bugs" in stored(AFTER, "names") and "faults" not in stored(AFTER, "names")
    with pytest.raises(concerto.Panic, match="first of m is written once"):
        stored(AFTER, "again")
    assert stored(AFTER, "other") == 3
    assert stored(AFTER, "erase", args=("t1",)) == 2
    assert stored(AFTER, "keys") == [{"user": "u7", "tenant": "t2"}]


def test_what_cannot_be_read_is_refused_by_name(stored: Any) -> None:
    stored(BEFORE, "write")
    without = AFTER.replace("level: Int = base() + 2", "level: Int")
    with pytest.raises(concerto.Panic) as raised:
        stored(without, "read")
    said = str(raised.value)
    assert raised.value.code == "P452"
    named = ("bugs", "of m", "u7", "t1", "`level`", "$[0]", "default", "@was", 'forget("bugs")')
    assert [part for part in named if part not in said] == []
    other = AFTER.replace('@was("title") name: String', '@was("title") name: Int').replace('name: "c"', "name: 1")
    with pytest.raises(concerto.Panic, match=r"P452.*expected Int.*\$\[0\]\.name"):
        stored(other, "read")
    with pytest.raises(concerto.Panic, match="P451.*other|P451.*another declaration"):
        stored(AFTER.replace('.per(user, tenant: "t1")', ".per(user, tenant)"), "keys")


def test_a_slot_that_is_stored_under_both_names_is_read_under_none(stored: Any) -> None:
    stored(BEFORE, "write")
    stored(AFTER, "change")
    stored(BEFORE, "more")  # the earlier version has not ended yet
    with pytest.raises(concerto.Panic, match='P452.*slot bugs of m is stored under that name and as faults.*forget'):
        stored(AFTER, "read")
    dropped = AFTER + 'pub fn drop() -> Any { let k = m.key(user: "u7", tenant: "t1"); k.forget("bugs"); k.bugs.len() }'
    assert stored(dropped, "drop") == 0


def test_a_memory_that_is_stored_under_both_names_is_refused(stored: Any) -> None:
    early = AFTER.replace('.was("old")', "").replace("memory m", "memory m")
    stored(early, "other")  # the new name was used before it said what it was
    stored(BEFORE, "write")
    for name in ("keys", "read"):
        with pytest.raises(concerto.Panic, match="P451.*memory m has data under the name m and under the name old"):
            stored(AFTER, name)


def test_a_key_that_is_stored_with_and_without_its_part_is_refused(stored: Any) -> None:
    stored(BEFORE, "write")
    full = AFTER.replace('.per(user, tenant: "t1")', ".per(user, tenant)")
    stored(full + 'pub fn put() { m.key(user: "u7", tenant: "t1").append("user", "x"); }', "put")
    for name in ("keys", "read"):
        with pytest.raises(concerto.Panic, match="P451.*has data under the key 'u7', 't1' and under the key 'u7'"):
            stored(AFTER, name)


def test_more_parts_are_added_one_after_another(stored: Any) -> None:
    stored(BEFORE, "write")
    stored(AFTER, "other")
    parts = 'memory m: Memory = Memory::new().store("durable").was("old").per(user, tenant: "t1", region: 7);'
    third = f"{parts} pub fn keys() -> Any {{ m.keys() }}"
    assert stored(third, "keys") == [
        {"user": "u7", "tenant": "t1", "region": 7}, {"user": "u7", "tenant": "t2", "region": 7},
        {"user": "u8", "tenant": "t1", "region": 7},
    ]  # fmt: skip


def test_a_dump_of_an_earlier_version_is_loaded() -> None:
    slots = 'mut faults: Array<Bug> = []'
    one = f'struct Bug {{ title: String }} context C {{ session {{ {slots} }} }} memory m: Memory = Memory::new().context(C);'
    other = one.replace("title: String", 'title: String, sev: Int = 3').replace(slots, '@was("faults") mut bugs: Array<Bug> = []')
    with concerto.compile(one + 'pub fn f() -> String { m.faults.push(Bug { title: "t" }); m.dump() }').session() as session:
        text = session.call("f")
    reading = 'pub fn g(s: String) -> String { m.load(s).unwrap(); "${m.bugs}" }'
    with concerto.compile(other + reading).session() as session:
        assert session.call("g", text) == "[Bug {title: t, sev: 3}]"


def test_a_state_of_another_version_is_refused() -> None:
    """O-9.45: by the hashes of both programs."""
    body = 'pub fn f() { m.append("user", "x"); }'
    one, other = (concerto.compile(f"memory m: Memory = Memory::new(){step}; {body}") for step in ("", '.was("n")'))
    with one.session() as a, other.session() as b:
        a.call("f")
        with pytest.raises(concerto.ImageError):
            b.restore(a.dump())


def test_a_default_that_asks_the_host_is_refused_where_it_is_needed(stored: Any) -> None:
    stored(BEFORE, "write")
    asks = AFTER.replace("fn base() -> Int { 40 }", "fn base() -> Int { std::io::read_line(); 40 }")
    with pytest.raises(concerto.Panic, match="P452.*default cannot be computed"):
        stored(asks, "read")
