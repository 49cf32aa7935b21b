"""What translated code writes out in place of a general operation means what that does, at the edges too (V-7.2)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.jit.tier import Translation
from concerto.vm.values import RangeValue, containers

from .tiers import loaded, observed

SLICES = """
fn part(text: String, a: Int, b: Int) -> String { text[a..b] }
fn behind(text: String, a: Int) -> String { text[a..] }
fn before(text: String, b: Int) -> String { text[..b] }
fn through(text: String, a: Int, b: Int) -> String { text[a..=b] }
fn main() {
    let text = "aéz🙂q";
    let mut all: Array<String> = [];
    for a in -2..8 {
        all.push(behind(text, a) + before(text, a) + text[1..] + text[..2] + text[2..4]);
        for b in -2..8 { all.push(part(text, a, b) + "|" + through(text, a, b)); }
    }
    for a in 0..text.len() { all.push(text[a..a + 1]); }
    emit("all", all);
}
"""
MANY = """
fn mixed(a: Any, b: Any) -> Array<Any> { [a.max(b), a.min(b)] }
fn main() {
    let mut all: Array<Any> = [];
    for text in ["", "a", "🙂é"] { for n in -2..6 { all.push(text.repeat(n)); } }
    for n in [1023, 1024, 1025] { all.push("x".repeat(n).len()); }
    let values: Array<Any> = [1, 2.5, -3, 1.0, 2, 0.0 - 0.0];
    for a in values { for b in values { all.push(mixed(a, b)); } }
    all.push([3, 1, 2].reduce(0, |most, n| most.max(n)));
    emit("all", all);
    let least = -9223372036854775807 - 1;
    for n in [least, 9223372036854775807] { emit("long", "ab".repeat(n).len()); }
}
"""
NUMBERS = """
fn picked(a: Int, b: Int) -> Array<Int> { [a.max(b), a.min(b), b.max(a), (a - 1).max(b + 1), a.min(3) + b.max(7)] }
fn main() {
    let least = -9223372036854775807 - 1;
    let mut all: Array<Array<Int>> = [];
    for a in [0, 1, -1, 5, 1073741824, -1073741825, 9223372036854775806, least + 1] {
        for b in [0, 1, -1, 5, -1073741824, 9223372036854775806] { if a > -9223372036854775807 { all.push(picked(a, b)); } }
        all.push([a.abs(), a.max(a).abs()]);
    }
    emit("all", all);
    for a in [3, least] { emit("abs", a.abs()); }
}
"""
TABLES = """
fn grown(before: Array<Any>, at: Int, more: Int) -> Array<Any> {
    let mut rows = before;
    let mut row = rows[0];
    row[at] = more;
    rows.push(row);
    rows
}
fn main() {
    let mut rows: Array<Any> = [[0, 0, 0]];
    for i in 0..50 { rows = grown(rows, i % 3, i); }
    emit("rows", rows);
    let mut map: Array<Any> = [{"a": 1}];
    try { map = grown(map, 1, 2); } catch e { emit("e", e.message); }
    emit("map", map);
    grown(rows, 3, 1);
}
"""
ENUMS = """
enum Cell { Empty, Cross, Held(Int, String), Deep { inner: Cell, more: Int } }
enum Other { Empty, Cross }
fn cell(i: Int) -> Cell {
    match i % 5 {
        0 => Cell::Empty,
        1 => Cell::Cross,
        2 => Cell::Held(i % 2, "a"),
        3 => Cell::Held(i % 3, "a"),
        _ => Cell::Deep { inner: cell(i / 5), more: 1 },
    }
}
fn count(a: Cell, b: Cell) -> Int {
    let mut n = 0;
    if a == b { n += 1; }
    if a != b { n += 10; }
    if a == Cell::Empty { n += 100; }
    if b != Cell::Cross { n += 1000; }
    n
}
fn main() {
    let mut all: Array<Int> = [];
    for i in 0..40 { for k in 0..12 { all.push(count(cell(i), cell(k))); } }
    emit("all", all);
    let any: Array<Any> = [Cell::Empty, Other::Empty, 1, Cell::Held(1, "a"), "x", nil];
    for a in any { for b in any { emit("any", "${a == b} ${a != b} ${a == Other::Cross}"); } }
    for (i, part) in ["a", "b"].enumerate() { emit("part", part + "${i + 1}"); }
    for (key, value) in {"k": 1}.entries() { emit(key, value + 1); }
    for (a, b) in [1, 2].zip(["x", "y"]) { emit(b, a * 2); }
    for text in ["12", "x", "", "-3"] {
        let n = text.parse_int();
        emit("int", "${n.is_ok()} ${n.is_err()} ${text.parse_int().is_err()} ${n.unwrap_or(7)}");
    }
}
"""
TEXTS = """
fn put(a: String, b: String, c: String) -> String { let head = a + b; c + head + (b + c) + a }
fn main() { let mut s = ""; for i in 0..60 { s = put("${i}", s[0..3], "-") + s[0..40]; } emit("s", s); }
"""


@pytest.mark.parametrize(
    "source", [SLICES, NUMBERS, TABLES, ENUMS, TEXTS, MANY], ids=["slices", "numbers", "tables", "enums", "texts", "many"]
)
@pytest.mark.parametrize("counted", [True, False])
def test_both_tiers_give_the_same(source: str, counted: bool) -> None:
    expected = observed(source, "interp", counted=counted)
    assert observed(source, "both", counted=counted)[:2] == expected[:2]


def test_a_slice_of_a_text_makes_no_range(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    init = RangeValue.__init__

    def counted(self: RangeValue, *bounds: Any) -> None:
        made.append(bounds)
        init(self, *bounds)

    monkeypatch.setattr(containers.RangeValue, "__init__", counted)
    work = "for i in 0..9 { n += s[i..i + 2].len() + s[1..].len(); }"
    text = f'fn main() {{ let s = "some text"; let mut n = 0; {work} emit("n", n); }}'
    assert observed(text, "both", counted=False)[0] == [("n", "89")]
    assert len(made) <= 3  # the range of the loop, and those of a first round in the interpreter


def test_long_texts_are_mapped_by_the_built_in() -> None:
    """A call of Python's own for a text of millions of characters would hold a deadline up (G-6.3)."""
    program = loaded("fn f(s: String) -> Int { s.to_upper().len() + s.to_lowercase().len() }\nfn main() { f(\"a\"); }")
    part = Translation(program).whole(0, False)
    assert part is not None and part.source.count("< LARGE and len(w := x.") == 2
