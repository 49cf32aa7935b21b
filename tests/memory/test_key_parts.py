"""A memory whose key parts are declared anew over data that has others (M-7.6), and keys that begin with another one (M-7.9)."""

from __future__ import annotations

from pathlib import Path

import concerto
import pytest
from concerto.runtime.effects.memories import _turn_key
from concerto.runtime.memory.keys import memory_key
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.vm.interp.effects import MemoryUse

BEFORE = 'memory m: Memory = Memory::new().per(tenant).store("durable");\n'
AFTER = 'memory m: Memory = Memory::new().per(tenant, user).store("durable");\n'
FEWER = 'memory m: Memory = Memory::new().store("durable");\n'


def ran(folder: Path, declared: str, body: str) -> concerto.RunResult:
    path = folder / "main.conc"
    path.write_text(f"{declared}fn main() {{ {body} }}\n", encoding="utf-8")
    with concerto.compile(path=path).session() as session:
        return session.run()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert ran(tmp_path, BEFORE, 'm.key(tenant: "t1").append("user", "hi");').ok
    return tmp_path


def test_keys_of_other_parts_are_refused_by_name(folder: Path) -> None:
    error = ran(folder, AFTER, "emit(\"keys\", m.keys());").error
    assert isinstance(error, concerto.Panic) and error.code == "P451"
    assert "memory m" in str(error) and "'t1'" in str(error) and "tenant, user" in str(error) and "erase()" in str(error)


def test_erase_by_values_is_an_err_that_changes_nothing(folder: Path) -> None:
    refused = 'Err(MemoryError::Store { store, .. }) => emit("of", store)'
    result = ran(folder, AFTER, f'match m.erase(user: "u") {{ Ok(n) => emit("erased", n), {refused}, _ => {{ }} }}')
    assert result.ok and [(one.channel, one.payload) for one in result.emits] == [("of", "m")]
    result = ran(folder, BEFORE, 'emit("kept", m.key(tenant: "t1").len());')
    assert [one.payload for one in result.emits] == [1]


@pytest.mark.parametrize("declared", [AFTER, FEWER])
def test_erase_of_all_removes_what_has_other_parts(folder: Path, declared: str) -> None:
    assert [one.payload for one in ran(folder, declared, 'emit("erased", m.erase()?);').emits] == [1]
    assert [one.payload for one in ran(folder, BEFORE, 'emit("keys", m.keys());').emits] == [[]]


ONLY = 'memory m: Memory = Memory::new().per(tenant: "t1").store("durable");\n'


def test_erase_of_a_key_with_no_parts_of_its_own_leaves_the_others(folder: Path) -> None:
    body = """
        m.key(tenant: "t1").append("user", "mine");
        m.key(tenant: "t2").append("user", "theirs");
        emit("erased", m.key(tenant: "t1").erase()?);
        emit("left", m.keys().map(|k| k["tenant"]));
    """
    assert ran(folder, ONLY, "m.erase()?;").ok
    result = ran(folder, ONLY, body)
    assert [(one.channel, one.payload) for one in result.emits] == [("erased", 1), ("left", ["t2"])]


def test_erase_and_branches_keep_to_their_key(store) -> None:
    session = VolatileStore()
    at = {values: Memory(name="m", store=store, key=memory_key("", "m", values), session=session, keyed=True) for values in [
        (), ("u",), ("u", "br"), ("u", "br", "x"), ("u", "t2"), ("v",), (7,), ("7",),
    ]}  # fmt: skip
    for memory in at.values():
        memory.append("user", "a")
    # A branch and a key of the same texts stay apart: a key ends in its branch, which of the main one is empty.
    for values in [(), ("u",), ("u", "br"), ("u", "t2")]:
        at[values].fork("br").append("user", "b")
    assert {values for values, memory in at.items() if memory.branches() == ["br"]} == {(), ("u",), ("u", "br"), ("u", "t2")}
    assert at["u",].branch("br").erase() == 2
    assert at["u",].branches() == [] and {len(memory) for memory in at.values()} == {1}
    for values, memory in at.items():
        others = [(len(other), other.branches()) for other in at.values() if other is not memory]
        assert memory.erase() == (3 if values in {(), ("u", "br"), ("u", "t2")} else 1)
        assert (len(memory), memory.branches()) == (0, [])
        assert [(len(other), other.branches()) for other in at.values() if other is not memory] == others


def test_the_lease_of_a_slot_is_that_of_no_log() -> None:
    parts = [(), ("u",), ("u", "b"), ("u", "b", "n")]
    logs = {memory_key("", "m", values, branch) for values in parts for branch in ["", "b", "n"]}
    for key in logs:
        memory = Memory(name="m", key=key)
        assert _turn_key(memory, MemoryUse(None, "_seen", ["n"])) not in logs


def test_erase_of_a_run_looks_at_no_other_key(store) -> None:
    memory, longer = (Memory(store=store, key=memory_key("", "m", values), keyed=True) for values in [("u",), ("u", "t2")])
    for each in (memory, longer):
        each.append("user", "a")
        each.fork("br")
    before = longer.dump(), longer.branch("br").dump()
    assert memory.erase([0]) == 1
    assert (len(memory.branch("br")), longer.dump(), longer.branch("br").dump()) == (0, *before)
