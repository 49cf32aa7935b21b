"""Bytes on the ways that values go: host, emits, tools, stores, snapshots, memory budgets (L-6.10.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.session import watchdog

PROGRAM = concerto.compile(
    """
use std::json;
schema Blob { data: Bytes }
tool Box {
    description: "holds"
    kept: Bytes = "".to_bytes(),
    @describe("keep") @param("data", "what")
    pub fn keep(mut self, data: Bytes) -> Bytes { self.kept = self.kept + data; self.kept }
}
pub fn same(x: Any) -> Any { x }
pub fn twice(x: Bytes) -> Bytes { x + x }
pub fn sends(x: Bytes) { emit("out", { "held": [x], "by": x }); }
pub fn keeps(x: Bytes) -> Bytes { Box.keep(x) }
pub fn heavy() -> Int {
    let mut b = "0123456789abcdef".to_bytes();
    for _i in 0..16 { b = b + b; }
    let mut all: Array<Bytes> = [];
    for i in 0..400 { all.push(b + "${i}".to_bytes()); }
    all.len()
}
pub fn large() -> Int { let mut b = "0123456789abcdef".to_bytes(); for _i in 0..18 { b = b + b; } b.len() }
"""
)


STORED = """
hashmap files: HashMap<String, Bytes> = HashMap::new().with_persistence("files.json");
pub fn stores(name: String, x: Bytes) { files.set(name, x); }
pub fn stored(name: String) -> Any { files.get(name) }
"""


def test_host_and_emits() -> None:
    heard: list[Any] = []
    with PROGRAM.session() as session:
        session.on("out", heard.append)
        for value in (b"", b"\x00\xff", bytes(range(256))):
            assert session.call("same", [value, {"k": value}]) == [value, {"k": value}]
            assert session.call("twice", value) == value + value
        session.call("sends", b"\x01")
        assert heard == [{"held": [b"\x01"], "by": b"\x01"}]
        with pytest.raises(TypeError, match="expected Bytes, got str"):
            session.call("twice", "text")
        assert session.call("same", {b"k": 1}) == {b"k": 1}


def test_state_of_tools_outlives_the_process() -> None:
    with PROGRAM.session() as session:
        assert session.call("keeps", b"ab") == b"ab"
        saved = session.dump()
        assert session.call("keeps", b"c") == b"abc"
    with PROGRAM.session() as session:
        session.restore(saved)
        assert session.call("keeps", b"d") == b"abd"


def test_a_file_of_a_hashmap_holds_base64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = concerto.compile(STORED)
    permissions = concerto.Permissions(fs_read=(".",), fs_write=(".",))
    with program.session(permissions=permissions) as session:
        session.call("stores", "a", b"\xfb\xff")
    assert (tmp_path / "files.json").read_text() == '{"a":"+/8="}'
    with program.session(permissions=permissions) as session:
        assert session.call("stored", "a") == b"\xfb\xff"


def test_its_weight_counts() -> None:
    budgets = concerto.Budgets(memory_bytes=20_000_000)
    with PROGRAM.session(budgets=budgets) as session, pytest.raises(concerto.Panic, match="P10[0-9]"):
        session.call("heavy")


def test_memory_that_the_process_had_before_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """G-6.2: what a process has freed and kept does not show in its size when it is used again."""
    monkeypatch.setattr(watchdog, "resident", lambda: 0)
    monkeypatch.setattr(watchdog, "PAUSE", 0)
    budgets = concerto.Budgets(memory_bytes=20_000_000)
    with PROGRAM.session(budgets=budgets) as session, pytest.raises(concerto.Panic, match="P10[0-9]"):
        session.call("heavy")


def test_looks_at_the_memory_keep_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """G-2.7: each look releases the interpreter for a moment, and a thread that waits to cancel the run would wait on."""
    looks = 0

    def resident() -> int:
        nonlocal looks
        looks += 1
        return 0

    monkeypatch.setattr(watchdog, "resident", resident)
    monkeypatch.setattr(watchdog, "PAUSE", 1000)
    with PROGRAM.session() as session:
        session.call("heavy")
    assert 0 < looks < 100, "400 concatenations of a mebibyte"


def test_its_size_is_that_of_a_string() -> None:
    with PROGRAM.session(budgets=concerto.Budgets(value_bytes=1000)) as session:
        with pytest.raises(concerto.Panic, match="Bytes size limit"):
            session.call("large")
        assert session.call("twice", b"x" * 400) == b"x" * 800
        with pytest.raises(TypeError, match="at most"):
            session.call("twice", b"x" * (17 << 20))


def test_secrets_in_bytes_stand_in_no_state() -> None:
    """G-10.3: as in Strings, they stand by name."""
    program = concerto.compile(
        """
tool Box { description: "holds" kept: Bytes = "".to_bytes(),
    @describe("keep") @param("text", "what") pub fn keep(mut self, text: String) { self.kept = text.to_bytes(); }
    @describe("read") pub fn read(self) -> Bytes { self.kept }
}
pub fn keeps() { Box.keep("a ${env("SHOP_KEY") ?? ""} z"); }
pub fn kept() -> Bytes { Box.read() }
"""
    )
    secret = "sk-0123456789abcdef"
    options: Any = {"env": {"SHOP_KEY": secret}, "permissions": concerto.Permissions(env=("SHOP_KEY",))}
    with program.session(**options) as session:
        session.call("keeps")
        state = session.dump()
    import base64

    assert secret.encode() not in state
    for start in range(3):  # however its bytes fall into groups of three
        assert base64.b64encode(b"." * start + secret.encode())[4 : -4] not in state
    with program.session(**options) as session:
        session.restore(state)
        assert session.call("kept") == f"a {secret} z".encode()
