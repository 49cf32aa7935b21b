"""Emits of the runtime that tell of a value of the program (O-4.21, O-6.24)."""

from __future__ import annotations

from typing import Any

import concerto
import pytest

SOURCE = """
pipeline Same(value: Any) -> Any { stage only(value: Any) -> Any { value } }
/// A shelf.
tool Shelf {
    /// Takes a thing.
    @param("thing", "what to take")
    pub fn take(self, thing: Any) -> Bool { true }
    /// Takes a thing, and tells of it.
    @param("thing", "what to take")
    pub fn tell(self, thing: Any) -> Bool { emit("taken", 1); true }
}
fn nested(levels: Int) -> Any {
    let mut value: Any = 1;
    for _i in 0..levels { value = [value]; }
    value
}
fn of_kind(kind: String, size: Int) -> Any { if kind == "deep" { nested(size) } else { "x".repeat(size) } }
pub fn run(kind: String, size: Int) -> Bool { Same.run(of_kind(kind, size)).is_ok() }
pub fn take(kind: String, size: Int) -> Bool { Shelf.take(of_kind(kind, size)) }
pub fn tell(kind: String, size: Int) -> Bool { Shelf.tell(of_kind(kind, size)) }
"""


@pytest.mark.parametrize("function", ["run", "take", "tell"])
@pytest.mark.parametrize(
    ("kind", "size", "told"), [("deep", 2, [[1]]), ("deep", 5_000, "<Array>"), ("long", 3, "xxx"), ("long", 2 << 20, "<String>")]
)
def test_a_value_that_no_emit_holds_is_told_by_its_type(function: str, kind: str, size: int, told: Any) -> None:
    heard: dict[str, Any] = {}
    with concerto.compile(SOURCE).session() as session:
        session.on("*", lambda emit: heard.setdefault(emit.channel, emit.payload))
        assert session.call(function, kind, size) is True
    if function == "run":
        assert heard["pipeline:start"] == {"name": "Same", "input": told}
    else:
        assert heard["audit:tool_call"] == {"tool": "Shelf", "method": function, "args": {"thing": told}}
