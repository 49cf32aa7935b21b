"""Closures in translated code: their bodies stand where they are called when it is known which they are, and functions are
specialised for the closures they walk with; methods found at run time are found once. Nobody can tell (V-7.2, V-7.5)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from concerto.vm.jit import tier
from concerto.vm.jit.tier import Translation

from .tiers import loaded, observed

# what closures capture is read and written where the closure was made; panics and early ends leave from inside
CAPTURED = """
struct Row { n: Int, tags: Array<String> }
fn apply(f: fn(Int) -> Int, n: Int) -> Int { f(n) + f(n + 1) }
fn kept(f: fn(Row) -> Row, row: Row) -> (Row, Row) { (f(row), row) }
fn first(xs: Array<Int>, limit: Int) -> Option<Int> { xs.find(|x| x > limit) }
fn parsed(texts: Array<String>) -> Array<Int> { texts.map(|t| t.parse_int().unwrap_or(0 - t.len())) }
fn count(xs: Array<Int>) -> (Int, Array<Int>) {
    let mut seen = 0;
    let big = xs.filter(|x| { seen += 1; x % 3 == seen % 2 });
    (seen, big)
}
fn nested(n: Int) -> Array<Array<Int>> { (0..n).map(|a| (0..a).map(|b| apply(|c| a * b + c, n))) }
fn rows(n: Int) -> Array<Row> {
    let base = Row { n, tags: [] };
    (0..3).map(|i| { let mut next = base; next.n += i; next.tags.push("t${i}"); next })
}
fn chained(n: Int) -> Int? {
    let small = if n % 4 == 0 { None } else { Some(n) };
    small.map(|x| x * 2).filter(|x| x % 3 != 0).and_then(|x| if x > 9 { Some(x - 9) } else { None })
}
fn main() {
    for n in 0..12 {
        let xs = (0..n).map(|i| i * 7 % 10);
        emit("count", count(xs));
        emit("first", [first(xs, 6), first(xs, 20)]);
        emit("parsed", parsed(["${n}", "x", "-${n}"]));
        emit("nested", nested(n % 5));
        emit("rows", [rows(n), rows(n)]);
        emit("kept", kept(|r| { let mut other = r; other.tags.push("new"); other }, Row { n, tags: ["old"] }));
        emit("chained", chained(n));
        emit("reduced", xs.reduce([0], |all, x| { let mut more = all; more.push(x); more }));
    }
}
"""
PANICS = """
fn ratios(xs: Array<Int>, by: Int) -> Array<Int> {
    xs.map(|x|
        100 / (x - by))
}
fn main() {
    let mut all = 0;
    for by in [50, 60, 70, 3] { all += ratios([1, 2, 3, 4], by).sum(); emit("all", all); }
}
"""
EMITS = """
fn walked(xs: Array<Int>, loud: Bool) -> Int {
    let mut n = 0;
    xs.map(|x| { if loud && x == 3 { emit("x", [x, n]); } n += x; n }).sum()
}
fn main() { for i in 0..6 { emit("walked", walked([1, 2, 3, 4], i % 2 == 1)); } }
"""
# receivers of several classes at one place; a built-in method, one of an impl, one with `mut self`, and one that is missing
FOUND = """
trait Shape { fn area(self) -> Int; fn grown(mut self, by: Int) -> Int; fn twice(self) -> Int { self.area() * 2 } }
struct Square { side: Int }
struct Wide { side: Int, by: Int }
enum Dot { Point, Many(Int) }
impl Shape for Square {
    fn area(self) -> Int { self.side * self.side }
    fn grown(mut self, by: Int) -> Int { self.side += by; by }
}
impl Shape for Wide { fn area(self) -> Int { self.side * self.by } fn grown(mut self, by: Int) -> Int { self.by -= by; self.by } }
impl Shape for Dot {
    fn area(self) -> Int { match self { Dot::Point => 0, Dot::Many(n) => n } }
    fn grown(mut self, by: Int) -> Int { self = Dot::Many(by); 1 }
}
fn all(shapes: Array<Shape>) -> Int { let mut sum = 0; for s in shapes { sum = sum * 3 + s.area() + s.twice(); } sum }
fn grow(shape: Shape, by: Int) -> (Shape, Int) { let mut s = shape; let got = s.grown(by); (s, got + s.area()) }
fn lengths(values: Array<Any>) -> Int { let mut n = 0; for v in values { n += v.len(); } n }
fn main() {
    let shapes: Array<Shape> = [Square { side: 2 }, Wide { side: 3, by: 4 }, Dot::Many(5), Dot::Point, Square { side: 6 }];
    for i in 0..8 {
        emit("all", all(shapes));
        emit("grow", shapes.map(|s| grow(s, i)));
        emit("lengths", lengths(["ab", [1, 2, 3], { "k": i }]));
        emit("kept", shapes);
    }
    emit("none", lengths(["a", 5]));
}
"""
# an Option that was asked for and never made; the two ways of `?`; what is written later into the place it came from
OPTIONS = """
struct Person { boss: String?, marks: Array<Int> }
fn boss(people: Map<String, Person>, name: String) -> Option<Person> { let p = people.get(name)?; people.get(p.boss?) }
fn named(people: Map<String, Person>, name: String) -> Result<Int, Error> { Ok(people.get(name)?.marks.len()) }
fn marked(people: Map<String, Person>, name: String) -> (Array<Int>, Map<String, Person>) {
    let mut all = people;
    let found = all.get(name);
    let mut marks = found.map(|p| p.marks).unwrap_or([]);
    marks.push(9);
    let again = found;
    if again.is_some() { let mut q = again.unwrap(); q.marks.push(8); all[name] = q; }
    (marks, all)
}
fn ended(xs: Array<Array<Int>>) -> (Array<Int>, Array<Int>, Bool) {
    let mut all = xs;
    let last = all.pop();
    let mut one = last.unwrap_or([0]);
    one.push(1);
    let mut two = last.unwrap_or([0]);
    two.push(2);
    (one, two, last == None)
}
fn main() {
    let people: Map<String, Person> = {
        "a": Person { boss: "b", marks: [1] }, "b": Person { boss: nil, marks: [] }, "c": Person { boss: "x", marks: [2] },
    };
    for i in 0..6 {
        for name in ["a", "b", "c", "d"] {
            emit("boss", boss(people, name).map(|p| p.marks));
            emit("named", match named(people, name) { Ok(n) => "ok ${n}", Err(e) => e.message });
            emit("marked", marked(people, name));
        }
        emit("ended", [ended([]), ended([[5], [6, i]])]);
        emit("people", people);
    }
}
"""


# functions of the prelude that are too long to stand in place of their calls, with closures that capture, throw, write what they
# capture, or are too long themselves
SORTED = """
struct Row { name: String, score: Int, tags: Array<String> }
fn long(a: Row, b: Row) -> Int {
    if a.score != b.score { return a.score - b.score; }
    if a.tags.len() != b.tags.len() { return a.tags.len() - b.tags.len(); }
    if a.name == b.name { 0 } else if a.name == "" { 1 } else if b.name == "" { -1 } else if a.name < b.name { -1 }
    else if a.name.len() < b.name.len() { 2 - 1 } else { 1 }
}
fn ranked(rows: Array<Row>, k: Int) -> (Array<Row>, Int) {
    let mut all = rows;
    let mut asked = 0;
    all.sort_by(|a, b| { asked += 1; (b.score - a.score) * k });
    (all, asked)
}
fn by_parts(rows: Array<Row>) -> Array<Row> { let mut all = rows; all.sort_by(long); all }
fn through(rows: Array<Row>, f: fn(Row, Row) -> Int) -> Array<Row> { let mut all = rows; all.sort_by(f); all }
fn halves(xs: Array<Int>) -> Array<Int> { let mut all = xs; all.sort_by(|a, b| 100 / (a - 7) - 100 / (b - 7)); all }
fn main() {
    let mut rows: Array<Row> = [];
    for i in 0..12 { rows.push(Row { name: "r${i % 5}", score: i * 7 % 4, tags: if i % 3 == 0 { ["x"] } else { [] } }); }
    for k in 1..5 {
        let (first, asked) = ranked(rows, k);
        let mut second = by_parts(first);
        second[0].tags.push("mine");
        let third = through(second, |a, b| b.tags.len() - a.tags.len());
        emit("rows", (first, second, third, asked));
    }
    emit("rows", rows);
    for k in 0..3 { emit("halves", halves([9, 3, 12, 5 + k])); }
}
"""
# values of Sets that Python has as they are, and others
KEYS = """
fn walked(n: Int) -> (Int, Int, Array<(Int, Int)>) {
    let mut seen: Set<(Int, Int)> = Set::new();
    let mut open = [(0, 0)];
    let mut again = 0;
    while open.len() > 0 {
        let (x, y) = open.pop().unwrap();
        if x > n || y > n { continue; }
        if seen.contains((x, y)) || !seen.insert((x, y)) { again += 1; continue; }
        open.push((x + 1, y));
        open.push((x, y + 1));
    }
    let gone = seen.remove((0, 0));
    (seen.len() + if gone { 100 } else { 0 }, again, seen.to_array().slice(0, 4))
}
fn others(n: Int) -> Array<Bool> {
    let mut a: Set<(Int, Bool)> = Set::new();
    let mut b: Set<(Float, String)> = Set::new();
    let mut c: Set<(String, (Int, Int))> = Set::new();
    let mut d: Set<Any> = Set::new();
    let mut out: Array<Bool> = [];
    for k in 0..2 {
        out.push(a.insert((1, true)));
        out.push(a.insert((n, n > 2)));
        out.push(a.contains((1, false)));
        out.push(b.insert((0.0 / 1.0 * n as Float, "x")));
        out.push(b.remove((0.0, "x")));
        out.push(c.insert(("s", (k, n))));
        out.push(c.contains(("s", (1, n))));
        out.push(d.insert(1));
        out.push(d.insert(true));
        out.push(d.insert((1, "1")));
        out.push(d.insert((true, "1")));
        out.push(d.remove((1, "1")));
    }
    out
}
fn main() { for n in 1..5 { emit("walked", walked(n)); emit("others", others(n)); } }
"""


@pytest.fixture(params=[1, 20_000], ids=["specialised at once", "when much was walked over"])
def worthwhile(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tier, "WORTHWHILE", request.param)
    return int(request.param)


@pytest.mark.usefixtures("worthwhile")
@pytest.mark.parametrize("source", [CAPTURED, PANICS, EMITS, FOUND, OPTIONS, SORTED, KEYS])
def test_both_tiers_show_the_same(source: str) -> None:
    expected = observed(source, "interp")
    assert expected[0]
    assert observed(source, "both", counted=False)[:2] == expected[:2]
    assert observed(source, "both") == expected


def test_a_panic_names_the_closure_and_who_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier, "WORTHWHILE", 1)
    _, panic, _ = observed(PANICS, "both", counted=False)
    assert panic is not None and panic[0].startswith("panic[P003]")
    assert panic[2] == observed(PANICS, "interp")[1][2]  # type: ignore[index]


def text_of(source: str, name: str, closures: tuple[tuple[int, int], ...] = ()) -> str:
    program = loaded(source)
    number = next(code.number for code in program.codes if code.label == name)
    part = Translation(program).whole(number, False, closures)
    assert part is not None
    return part.source


def test_a_known_closure_is_not_called() -> None:
    """Nor is it made where nothing else wants it."""
    source = "fn f(o: Option<Int>, n: Int) -> Option<Int> { o.map(|x| x + n) } fn main() { f(None, 1); }"
    assert "FN1[" not in text_of("fn f(o: Option<Int>) -> Option<Int> { o.map(|x| x + 1) } fn main() { f(None); }", "f")
    assert "Closure(" not in text_of("fn f(o: Option<Int>) -> Option<Int> { o.map(|x| x + 1) } fn main() { f(None); }", "f")
    assert "FN1[" not in text_of(source, "f") and ".value" in text_of(source, "f")


def test_a_function_is_specialised_for_a_closure() -> None:
    source = "fn main() { let k = 2; emit(\"xs\", [1, 2].map(|x| x * k)); }"
    program = loaded(source)
    mapping, closure = [next(c.number for c in program.codes if c.label == label) for label in ("Array::map", "closure")]
    assert "FN1[" in text_of(source, "Array::map")
    special = text_of(source, "Array::map", ((1, closure),))
    assert f"fn{mapping}_1_{closure}" in special and "FN1[" not in special and "c0, = l1.cells" in special


def test_a_call_of_a_long_function_is_one_of_what_is_specialised_for_its_closure() -> None:
    """A closure that is too long to stand in its place is called by its name there."""
    program = loaded(SORTED)
    numbers = {code.label: code.number for code in program.codes}
    sort, long = numbers["Array::sort_by"], numbers["long"]
    assert f"fn{sort}_1_{long}(" in text_of(SORTED, "by_parts")
    special = text_of(SORTED, "Array::sort_by", ((1, long),))
    assert f"= fn{long}(" in special and "FN2[" not in special and "FN2[" in text_of(SORTED, "Array::sort_by")


def test_tuples_of_texts_and_ints_are_keys_of_sets_without_a_call() -> None:
    """Also where they go in a circle, through an Array. Tuples of others are made keys by the body of the method."""
    text = text_of(KEYS, "walked")
    assert text.count("type(l6) is int and type(") == 1 and text.count(" is tuple and len(") == 2
    assert ".setdefault(" in text and "is str" not in text
    assert text_of(KEYS, "others").count(" is tuple ") == 2


def test_what_methods_in_concerto_give_has_the_kind_of_their_elements() -> None:
    """So has a parameter that a closure captures: nothing asks what they hold."""
    head = "struct P { n: Int, t: String } fn main() { f([], 1); } fn f(ps: Array<P>, k: Int) -> Int {"
    order = "{ let c = a.n - b.n; let d = a.t.len() - b.t.len(); if c * k > d { c } else { d } }"
    work = f"let mut all = ps; all.sort_by(|a, b| {order}); let mut s = 0; for p in all {{ s += p.n; }}"
    more = "for p in ps { if p.n > k { s += ps[0].n; } } let g = || ps.len() + k;"
    text = text_of(f"{head} {work} {more} s + g() }}", "f")
    assert "MARKED" not in text and text.count(".f0") >= 3


def test_an_option_that_is_only_asked_for_is_not_made() -> None:
    text = text_of("fn f(m: Map<String, Int>, k: String) -> Int? { let o = m.get(k); if o.is_none() { return nil; } o.unwrap() }"
                   " fn main() { f({}, \"k\"); }", "f")  # fmt: skip
    assert "option_of(" not in text.replace("l2 = option_of(", "", 1)


def test_a_method_that_was_found_is_called_at_once() -> None:
    """The look-up is done once for a class: afterwards nothing of the dispatcher is called."""
    from concerto.vm.jit.tier import Tier

    calls: list[str] = []
    slow = Tier.call_method

    def counted(self: Tier, receiver: Any, site: Any, arguments: Any, room: int) -> Any:
        calls.append(type(receiver).__name__)
        return slow(self, receiver, site, arguments, room)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tier, "call_method", counted)
        observed(FOUND, "both", counted=False)
    assert 0 < calls.count("Square") <= 4  # one for each place in the source


@pytest.mark.parametrize("depth", [150, 298, 299, 300, 301, 302, 400, 901])
def test_deep_recursion_leaves_translated_code_and_comes_back(depth: int) -> None:
    source = f"""
    trait Node {{ fn depth(self, n: Int) -> Int; }}
    struct Leaf {{ k: Int }}
    impl Node for Leaf {{ fn depth(self, n: Int) -> Int {{ if n == 0 {{ self.k }} else {{ 1 + self.depth(n - 1) }} }} }}
    fn by_trait(node: Node, n: Int) -> Int {{ if n == 0 {{ 0 }} else {{ node.depth(1) + by_trait(node, n - 1) }} }}
    fn down(n: Int) -> Int {{ if n == 0 {{ 0 }} else {{ 1 + down(n - 1) }} }}
    fn by_value(f: fn(Int) -> Int, n: Int) -> Int {{ if n == 0 {{ f(0) }} else {{ f(n) + by_value(f, n - 1) }} }}
    fn main() {{
        let leaf = Leaf {{ k: 1 }};
        for i in 0..3 {{
            emit("n", [down({depth}), by_trait(leaf, {depth}), leaf.depth({depth}), by_value(|x| x % 2, {depth})]);
        }}
    }}
    """
    assert observed(source, "both", counted=False, depth=2000)[:2] == observed(source, "interp", depth=2000)[:2]


def test_random_chains_of_closures_are_the_same_in_both_tiers() -> None:
    chance = Random(20261127)
    steps = [
        ".map(|x| x * {a} + k)", ".filter(|x| x % {b} != {c})", ".map(|x| if x > k {{ x - {a} }} else {{ k - x }})",
        ".flat_map(|x| if x % {b} == 0 {{ [x, {a}] }} else {{ [x] }})", ".map(|x| {{ k2 += x; k2 % 100 }})",
        ".filter(|x| ys.any(|y| y == x % {b}))", ".map(|x| ys.reduce(x, |s, y| (s * {b} + y) % 97))",
    ]  # fmt: skip
    ends = [".sum()", ".len()", ".find(|x| x > {a}) ?? 0", ".reduce(0, |s, x| (s + x) % 1000)", ".all(|x| x < {a}0)"]
    lines = []
    for _ in range(60):
        numbers = {"a": chance.randrange(1, 9), "b": chance.randrange(2, 5), "c": chance.randrange(2)}
        chain = "".join([chance.choice(steps).format(**numbers) for _ in range(chance.randrange(1, 5))])
        lines.append(f'emit("e", xs{chain}{chance.choice(ends).format(**numbers)});')
    source = (
        "fn work(n: Int, k: Int) { let mut k2 = k; let xs = (0..n).to_array(); let ys = [1, 2, k % 4]; "
        + "\n".join(lines) + " emit(\"k2\", k2); } fn main() { for k in 1..5 { work(7 * k, k); } }"
    )
    expected = observed(source, "interp")
    for amount in (1, 30, 20_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tier, "WORTHWHILE", amount)
            assert observed(source, "both", counted=False)[:2] == expected[:2]
