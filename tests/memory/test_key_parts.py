"""A memory whose key parts are declared anew over data that has others (M-7.6)."""

from __future__ import annotations

from pathlib import Path

import concerto
import pytest

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
