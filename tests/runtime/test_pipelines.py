"""Emits about runs of pipelines, as hosts hear them (O-6.24)."""

from __future__ import annotations

from typing import Any

import concerto
import pytest

SOURCE = """
pipeline Same(value: Any) -> Any {
    stage first(value: Any) -> Any { value }
    stage last(value: Any) -> Any { value }
}
fn nested(levels: Int) -> Any {
    let mut value: Any = 1;
    for _i in 0..levels { value = [value]; }
    value
}
pub fn deep(levels: Int) -> Bool { Same.run(nested(levels)).is_ok() }
pub fn long(size: Int) -> Bool { Same.run("x".repeat(size)).is_ok() }
"""


@pytest.mark.parametrize(
    ("function", "size", "told"),
    [("deep", 2, [[1]]), ("deep", 5_000, "<Array>"), ("long", 3, "xxx"), ("long", 2 << 20, "<String>")],
)
def test_an_input_that_no_emit_holds_is_told_by_its_type(function: str, size: int, told: Any) -> None:
    heard: list[concerto.Emit] = []
    with concerto.compile(SOURCE).session() as session:
        session.on("*", heard.append)
        assert session.call(function, size) is True
    assert [one.payload for one in heard if one.channel == "pipeline:start"] == [{"name": "Same", "input": told}]
