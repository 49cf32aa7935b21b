"""Slots of contexts that outlive a session (M-10.2, M-13.37)."""

from __future__ import annotations

from pathlib import Path

import concerto
import pytest

TEXT = """
context Plan {
    persistent { goal: String, mut steps: Array<Int> = [] }
    session { mut draft: String }
    ephemeral { mut scratch: Int = 0 }
}
memory plan: Memory = Memory::new().store("durable").context(Plan);
pub fn begin(goal: String) -> Nil { plan.goal = goal; plan.draft = goal; plan.scratch = 1; }
pub fn step(n: Int) -> Array<Int> { plan.steps.push(n); plan.steps }
pub fn ready() -> Result<Any, Error> needs plan.goal { Ok([plan.goal, plan.draft.is_some(), plan.scratch]) }
fn main() { }
"""
MANIFEST = '[project]\nname = "plans"\nversion = "0.1.0"\nentry = "main.conc"\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "Concerto.toml").write_text(MANIFEST, encoding="utf-8")
    path = tmp_path / "main.conc"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_persistent_slots_outlive_a_session(source: Path) -> None:
    with concerto.compile(path=source).session() as session:
        with pytest.raises(concerto.ProgramError, match="ready needs the slot goal of plan: no value") as caught:
            session.call("ready")
        assert caught.value.value.kind == "MissingContextError"
        session.call("begin", "ship")
        assert session.call("step", 1) == [1]
        assert session.call("ready")[:2] == ["ship", True]
    with concerto.compile(path=source).session() as session:
        assert session.call("ready") == ["ship", False, 0]
        assert session.call("step", 2) == [1, 2]
        with pytest.raises(concerto.Panic, match="P453"):
            session.call("begin", "another")


def test_a_slot_of_another_type_than_stored(source: Path) -> None:
    with concerto.compile(path=source).session() as session:
        session.call("step", 1)
    source.write_text(TEXT.replace("Array<Int>", "Array<String>").replace("n: Int", "n: String"), encoding="utf-8")
    with concerto.compile(path=source).session() as session, pytest.raises(concerto.Panic, match="P452.*the slot steps of plan"):
        session.call("step", "one")
