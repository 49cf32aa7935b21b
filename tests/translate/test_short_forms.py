"""What translated code writes out in place of a general operation means what that does, at the edges too (V-7.2)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from concerto.vm.jit import tier
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
# parts of enum values that patterns read: all, some, none, the same one twice, into names that are read later or never
PAYLOADS = """
enum Shape { Dot, Line(Int, Int), Box(Int, String, Float, Bool), Pair(Shape, Shape), Bag(Array<Int>, Int, Array<Int>) }
fn told(shape: Shape) -> String {
    match shape {
        Shape::Dot => "dot",
        Shape::Line(a, b) if a > b => "back ${a - b}",
        Shape::Line(_, b) => "to ${b}",
        Shape::Box(a, name, x, true) => "${name} ${a} ${x}",
        Shape::Box(a, _, _, b) => "${a} ${b}",
        Shape::Pair(Shape::Line(a, b), Shape::Line(c, d)) => "${a * b - c * d}",
        Shape::Pair(first, second) => told(second) + told(first),
        Shape::Bag(xs, n, ys) => { let mut all = xs; all.push(n); "${all.len() + ys.len()} ${xs.len()}" }
    }
}
fn turned(shape: Shape) -> Shape {
    let mut shape = shape;
    for _ in 0..3 {
        match shape {
            Shape::Line(a, b) => { shape = Shape::Line(b, a + 1); }
            Shape::Pair(a, b) => { shape = Shape::Pair(b, a); }
            Shape::Box(a, n, x, b) => { shape = Shape::Box(a + 1, n + "!", x * 2.0, !b); }
            other => { shape = other; }
        }
    }
    shape
}
fn sum(shape: Shape) -> Int {
    match shape {
        Shape::Line(a, b) => { let k = 100 / (a - b); a + k },
        Shape::Pair(a, b) => sum(a) + sum(b),
        _ => 1,
    }
}
fn main() {
    let box = Shape::Box(4, "b", 0.5, true);
    let bag = Shape::Bag([1], 2, [3, 4]);
    let shapes = [Shape::Dot, Shape::Line(3, 1), Shape::Line(1, 3), box, turned(box), Shape::Pair(box, bag), bag,
        Shape::Pair(Shape::Line(1, 2), Shape::Line(3, 4)), Shape::Pair(Shape::Pair(Shape::Dot, bag), box)];
    for shape in shapes { emit("told", [told(shape), told(turned(shape))]); }
    for n in 0..4 {
        emit("sum", sum(Shape::Pair(Shape::Line(5, n), Shape::Pair(Shape::Dot, Shape::Line(n, 2 * n - 3 + n % 2)))));
    }
    emit("shapes", shapes.map(|s| turned(s)));
    emit("sum", sum(Shape::Line(2, 2)));
}
"""
NILS = """
struct P { next: P?, n: Int }
fn asked(x: Any, y: Int?) -> Array<Bool> { [x == nil, x != nil, y == nil, y != nil, nil == x, nil != y] }
fn last(p: P) -> Int { let mut at = p; while at.next != nil { at = at.next ?? at; } at.n }
fn given(m: Map<String, Int?>, k: String) -> Int? { let v: Int? = m.get(k) ?? nil; if v != nil { return v + 1; } nil }
fn main() {
    let values: Array<Any> = [nil, 0, "", [nil], (nil, 1), false, P { next: nil, n: 1 }];
    for x in values {
        emit("asked", [asked(x, nil), asked(x, 0)]);
    }
    emit("last", last(P { next: P { next: P { next: nil, n: 3 }, n: 2 }, n: 1 }));
    let m: Map<String, Int?> = { "a": nil, "b": 0, "c": 4 };
    for k in ["a", "b", "c", "d"] { emit("given", given(m, k)); }
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
    let parts: Array<Any> = ["aéz", [[1], [2], [3]], (4, 5)];
    for part in parts {
        for n in 0..3 { if n < 2 { all.push([part[n], part]); } }
        if typeof(part) != "Tuple" { for n in 0..4 { all.push([part[n..], part[..n], part[1..n]]); } }
    }
    let mut rows: Any = parts[1];
    let mut rest: Any = rows[1..];
    rest[0] = [7, 8];
    all.push([rows, rest]);
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
# Options that are compared, asked and taken apart, also after the local they came from has another value; nil is no Some
ABSENT = """
struct Box { n: Int, parts: Array<Int> }
fn at(text: String, i: Int, other: String) -> Array<Bool> {
    let mut c = other;
    let mut found: Option<String> = c;
    c = "z";
    [text.get(i) == "a", text.get(i) != other, text.get(i) == text.get(i + 1), found == c, found == other]
}
fn spot(xs: Array<Int>, i: Int, n: Int) -> Array<Bool> {
    [xs.get(i) == n, xs.get(i) != n, xs.first() == xs.last(), xs.get(i) == None]
}
fn held(boxes: Map<String, Box>, name: String) -> Option<Box> {
    let b = boxes.get(name)?;
    boxes.get(if b.n > 1 { "b" } else { "c" })
}
fn small(n: Int) -> Option<Int> { if n > 2 { None } else { Some(n) } }
fn named(n: Int) -> Option<String> { match small(n) { Some(k) => Some("k${k}"), None => None } }
fn taken(boxes: Map<String, Box>, name: String) -> (Array<Int>, Map<String, Box>) {
    let found = held(boxes, name);
    if found.is_none() { return ([], boxes); }
    let mut box = found.unwrap();
    box.parts.push(9);
    let mut same = held(boxes, name).unwrap();
    same.n += 1;
    (box.parts, boxes)
}
fn main() {
    let boxes: Map<String, Box> = { "a": Box { n: 1, parts: [1] }, "b": Box { n: 2, parts: [2] }, "c": Box { n: 3, parts: [] } };
    for i in -1..6 {
        emit("at", [at("aab", i, "a"), at("", i, ""), at("bé", i, "é")]);
        emit("spot", [spot([1, 2, 1], i, 2), spot([], i, 0)]);
        for name in ["a", "b", "c", "d"] { emit("taken", taken(boxes, name)); }
        emit("named", [named(i), small(i).map(|n| "${n}"), small(i + 1).and_then(named)]);
        emit("other", small(i) ?? 7);
        emit("kept", boxes);
    }
    emit("none", held(boxes, "d").unwrap().n);
}
"""
CASTS = """
fn cast(f: Float, n: Int) -> Array<Any> {
    [f as Int, n as Float, (n as Float) as Int, (f as Int) as Float, n as String, f as Bool]
}
fn part(xs: Array<Int>, ys: Array<Float>) -> Array<Any> { [xs.sum() as Float, ys.sum(), xs.sum() + 1] }
fn again(text: String, n: Int) -> String { text.repeat(n) + text.repeat(n - 1) }
fn read(texts: Array<String>) -> Array<Any> { texts.map(|t| match t.parse_int() { Ok(n) => n, Err(e) => e.message }) }
fn put(rows: Array<(Int, String)>, i: Int) -> Array<(Int, String)> { let mut all = rows; all[i].0 += 1; all[i].1 = "v${i}"; all }
fn wide(row: (Int, Int, Int, Int, Array<Int>), n: Int) -> (Int, Int, Int, Int, Array<Int>) {
    let mut other = row;
    other.2 = n;
    other.4.push(n);
    other
}
fn main() {
    let large = 9223372036854775807;
    let mut row = (1, 2, 3, 4, [0]);
    for i in 0..5 {
        for f in [0.5, -1.5, 1e17, 1e18, 9.3e18, -9.3e18, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0] {
            emit("cast", cast(f, i * (large / 7)));
        }
        emit("sums", [part([], []), part([1, 2, i], [0.1, 0.2]), part([large - 9, i, 0 - i], [1.5])]);
        emit("again", [again("ab", i), again("", large), again("é", 0 - i)]);
        emit("read", read(["12", " -3 ", "+4", "-", "", "é", "a\\\\b\\"\\n",
            "999999999999999999999", "00000000000000000000007"]));
        let before = [(1, "a"), (2, "b")];
        emit("put", [put(before, i % 2), before]);
        row = wide(row, i);
        emit("wide", [wide(row, 7), row]);
    }
    emit("over", part([large, 1, 0 - 5], []));
}
"""
# what is walked over and what comes of it hold the same elements: a write to one copies
SHARED = """
struct Row { n: Int, tags: Array<String> }
fn split(rows: Array<Row>, at: Int) -> (Array<Row>, Option<Row>, Array<Array<String>>, Row) {
    let kept = rows.filter(|r| r.n < at);
    let found = rows.find(|r| r.n == at);
    let tags = rows.map(|r| r.tags);
    (kept, found, tags, rows.reduce(rows[0], |best, r| if r.n > best.n { r } else { best }))
}
fn main() {
    let mut rows: Array<Row> = [];
    for i in 0..6 { rows.push(Row { n: i * 5 % 7, tags: ["t${i}"] }); }
    for i in 0..4 {
        let (kept, found, tags, best) = split(rows, i + 2);
        let mut others = kept;
        if others.len() > 0 { others[0].n = 100; others[0].tags.push("x"); }
        let mut lists = tags;
        lists[0].push("y");
        let mut one = best;
        one.tags.push("z");
        let mut two = found ?? best;
        two.n = 50;
        let mut sorted = rows;
        sorted.sort_by(|a, b| b.n - a.n);
        sorted[0].tags.push("s");
        emit("split", [kept, others, sorted]);
        emit("rest", [tags, lists]);
        emit("rows", [rows, [one, two, best]]);
        emit("walked", (0..i).map(|k| k * i).filter(|k| k % 2 == 0));
    }
}
"""
# what is made once is nobody's to write to, whoever gets it and however often
LITERALS = """
enum Sign { Word(String), Pair(Int, Int), End }
struct Held { rows: Array<Array<Int>>, name: String }
const EDGES: Array<(Int, Array<Int>)> = [(1, [2]), (3, [])];
fn first(i: Int) -> Array<Int> { let table = [[1, 2], [3], [4, 5, 6]]; let mut row = table[i % 3]; row.push(i); row }
fn all(i: Int) -> (Array<Array<Int>>, Array<Array<Int>>) {
    let table = [[1], [2, 3]];
    let mut other = table;
    other[0].push(i);
    (table, other)
}
fn walked(i: Int) -> Array<Array<Int>> {
    let mut out: Array<Array<Int>> = [];
    for row in [[0, 1], [2], [3]] { let mut r = row; r[0] = i; out.push(r); out.push(row); }
    for (n, part) in [(1, [7]), (2, [8, 9])] { let mut p = part; p.push(n); out.push(p); out.push(part); }
    out
}
fn looked_up(key: String, i: Int) -> Array<Int> {
    let map = {"a": [1], "b": [2, 3]};
    let mut found = map.get(key) ?? [0];
    found.push(i);
    found
}
fn held(i: Int) -> Held { let rows = [[1], [2]]; let mut h = Held { rows, name: "n" }; h.rows[1].push(i); h }
fn some(i: Int) -> Option<Array<Int>> { if i % 2 == 0 { Some([1, 2]) } else { None } }
fn sign(i: Int) -> Sign { match i % 3 { 0 => Sign::Word("w"), 1 => Sign::Pair(1, 2), _ => Sign::End } }
fn good(i: Int) -> Result<(Int, Array<String>), String> { if i < 3 { Ok((1, ["x"])) } else { throw "bad" } }
fn edges(i: Int) -> Array<(Int, Array<Int>)> { let mut own = EDGES; own[1].1.push(i); own }
fn moved(xs: Array<Int>) -> Array<Int> { let mut own = xs; own.push(9); own }
fn main() {
    for i in 0..6 {
        emit("first", [first(i), first(i), first(i + 1)]);
        emit("all", [all(i), all(i)]);
        emit("walked", [walked(i), walked(i + 1)]);
        emit("map", [looked_up("a", i), looked_up("a", i), looked_up("c", i), looked_up("c", i)]);
        emit("held", [held(i), held(i)]);
        let mut one = some(i) ?? [5];
        one.push(i);
        emit("some", [one, some(i) ?? [5]]);
        emit("sign", [sign(i) == Sign::Word("w"), sign(i) == Sign::Pair(1, 2), sign(i) == sign(i + 3)]);
        emit("good", match good(i) { Ok(pair) => { let mut p = pair; p.1.push("y"); p }, Err(e) => (0, [e]) });
        emit("edges", [edges(i), edges(i), EDGES]);
        emit("moved", [moved([1, 2]), moved([1, 2]), moved(["a", "b"].map(|t| t.len()))]);
        emit("at", [[10, 20, 30][i % 3], [5, i].sum(), [1, 2, 3].len()]);
    }
    emit("out", [1, 2][5]);
}
"""
# what waits on the operand stack has the value that it was loaded with, whatever its local gets meanwhile
WAITING = """
fn kept(text: String) -> String {
    let mut out = "";
    for c in text {
        out += match c {
            "a" => "x",
            "b" => { out = out + "!"; "y" },
            "c" => { let mut k = 0; for d in 0..3 { k += d; if k > 2 { out += "_"; } } "${k}" },
            _ => c,
        };
    }
    out
}
fn sums(n: Int) -> Array<Int> {
    let mut s = 1;
    let r = s + (if n > 2 { s += 5; s } else { s * 2 }) + (match n { 0 => { s = 9; s }, k => k }) * s;
    let mut i = 0;
    while i < n { s = s + (if i % 2 == 0 { i } else { let mut j = 0; while j < i { j += 1; s += 1; } j }); i += 1; }
    [r, s]
}
fn odd(x: Int) -> Result<Int, String> { if x % 2 == 1 { Ok(x) } else { throw "even" } }
fn tried(xs: Array<Int>) -> Result<Int, String> {
    let mut t = 1;
    for x in xs {
        t = t * 10 + (if x > 5 { try { odd(x)? + t } catch e { t = 0; 7 } } else if x == 3 { odd(x + t)? } else { x });
    }
    Ok(t)
}
fn lists(n: Int) -> Array<Array<Int>> {
    let mut xs = [n];
    let both = [xs, if n > 1 { xs.push(2); xs } else { [0] }, xs];
    xs.push(3);
    let mut more = both;
    more.push(xs);
    more
}
fn loud(n: Int) -> Int { if n % 3 == 0 { emit("loud", n); } n }
fn left(n: Int) -> Int { let mut t = 100; for i in 0..n { t = t + (if i > 2 { loud(i) } else { t = t - 1; i }); } t }
fn main() {
    for i in 0..6 {
        emit("kept", [kept("abcab-${i}"), kept("")]);
        emit("sums", sums(i));
        for xs in [[1, 2], [3, i], [6, 7, i], [i, 9]] {
            emit("tried", match tried(xs) { Ok(n) => n, Err(e) => e });
        }
        emit("lists", lists(i));
        emit("left", left(i));
    }
    let large = 9223372036854775807;
    let mut n = large - 2;
    for i in 0..5 { n = n + (if i > 0 { 1 } else { 0 }); }
}
"""
# kinds that go in a circle of stores, some of them through other kinds
CIRCLES = """
struct Line { n: Int, tags: Array<String> }
fn grouped(words: Array<String>) -> Map<String, Line> {
    let mut lines: Map<String, Line> = {};
    for word in words {
        let mut line = lines.get(word) ?? Line { n: 0, tags: [] };
        let before = line;
        line.n += 1;
        line.tags.push("${before.n}");
        lines.set(word, line);
    }
    lines
}
fn mixed(n: Int) -> Map<String, Any> {
    let mut all: Map<String, Any> = {};
    for i in 0..n {
        let old = all.get("k") ?? 0;
        all.set("k", if i % 3 == 2 { "s${i}" } else { old });
        all.set("k${i % 2}", [old, all.get("k") ?? nil]);
    }
    all
}
fn swapped(n: Int) -> Array<Any> {
    let mut a: Any = 1;
    let mut b: Any = [2];
    let mut c: Any = "x";
    for i in 0..n { let t = a; a = b; b = c; c = t; }
    [a == 1, a, b, c]
}
fn counted(runs: Array<(String, Any)>) -> Array<(String, Any)> {
    let mut all = runs;
    for i in 0..all.len() { all[i].1 = if i == 1 { "one" } else { i }; all[i].0 += "!"; }
    all
}
fn least(xs: Array<Int>, first: Int) -> Int { let mut best = first; for x in xs { best = best.min(x).max(first - 9); } best }
fn main() {
    for i in 0..7 {
        let lines = grouped(["a", "b", "a", "c"].slice(0, i));
        let mut other = lines;
        if other.has("a") { other["a"].tags.push("z"); }
        emit("grouped", [lines, other]);
        emit("mixed", mixed(i));
        emit("swapped", swapped(i));
        emit("counted", counted([("a", 5), ("b", nil), ("c", [i])]));
        emit("least", [least([3, 1, 2], i), least([], i)]);
    }
}
"""
SOURCES = {
    "slices": SLICES, "numbers": NUMBERS, "tables": TABLES, "enums": ENUMS, "texts": TEXTS, "absent": ABSENT, "casts": CASTS,
    "shared": SHARED, "literals": LITERALS, "many": MANY, "waiting": WAITING, "circles": CIRCLES, "payloads": PAYLOADS,
    "nils": NILS,
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier, "WORTHWHILE", 1)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("counted", [True, False])
def test_both_tiers_give_the_same(source: str, counted: bool) -> None:
    expected = observed(source, "interp", counted=counted)
    assert observed(source, "both", counted=counted)[:2] == expected[:2]


def test_parts_of_an_enum_value_are_read_at_once() -> None:
    """Parts that nobody asks for are passed over, and the hidden local that they go through is not assigned."""
    program = loaded(PAYLOADS)
    number = next(code.number for code in program.codes if code.label == "turned")
    part = Translation(program).whole(number, False)
    assert part is not None
    counts = [line.count(",") + 1 for line in part.source.splitlines() if re.fullmatch(r" +(l\d+, )+l\d+ = l\d+\.payload", line)]
    assert sorted(counts) == [2, 2, 4]
    assert ".payload[" not in part.source


def test_a_comparison_with_nil_asks_for_the_value_alone() -> None:
    program = loaded(NILS)
    numbers = {code.label: code.number for code in program.codes}
    for name in ("asked", "given", "last"):
        part = Translation(program).whole(numbers[name], False)
        assert part is not None and " None)" in part.source
        assert name == "asked" or "op_NE" not in part.source


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
