"""Options that are not built, tuples that are taken apart, and built-ins that are written out mean what the bodies do (V-7.2)."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.interp.link import Program, load_image

from .tiers import loaded, observed

WRITES_BEHIND_READS = """
struct Row { xs: Array<Int>, n: Int }
fn main() {
    let mut rows: Array<Array<Int>> = [[1], [2], [3]];
    let mut map: Map<String, Array<Int>> = {"a": [1], "b": [2]};
    let mut queue: Queue<Array<Int>> = Queue::new();
    let mut held: Array<Any> = [];
    for i in 0..40 {
        rows[0].push(i);
        let got = rows.get(0);
        let first = rows.first();
        let entry = map.get("a");
        let listed = rows.enumerate();
        let zipped = rows.zip(rows);
        let both = rows.concat([[7]]);
        let values = map.values();
        let entries = map.entries();
        queue.enqueue(rows[1]);
        let peeked = queue.peek();
        rows[0].push(100);
        rows[1].push(200);
        map["a"].push(300);
        match queue.dequeue() {
            Some(front) => {
                let mut changed = front;
                changed.push(400);
                held.push(changed);
            }
            None => {}
        }
        let result = match got { Some(x) if x.len() > 1000 => 0, Some(x) => x.len(), None => -1 };
        held.push([result, listed[0].1, zipped[1].0, both[0], values[0], entries[0].1, peeked, first, entry]);
        rows[0] = [i];
        rows[1] = [2];
        map["a"] = [i];
    }
    for (i, row) in rows.enumerate() { rows[2].push(i + row.len()); }
    for (key, list) in map.entries() { map[key].push(list.len()); map["b"].push(9); }
    emit("held", held);
    emit("rows", rows);
    emit("map", map);
}
"""
KEPT = """
fn got(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2]];
    let found = rows.get(0);
    rows[0].push(i);
    match found { Some(x) => x.len() * 10 + rows[0].len(), None => 0 }
}
fn first(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2]];
    let found = rows.first();
    rows[0].push(i);
    (found ?? []).len() * 10 + rows[0].len()
}
fn entry(i: Int) -> Int {
    let mut map: Map<String, Array<Int>> = {"a": [1]};
    let found = map.get("a");
    map["a"].push(i);
    match found { None => 0, Some(x) => x.len() * 10 + map["a"].len() }
}
fn peeked(i: Int) -> Int {
    let mut queue: Queue<Array<Int>> = Queue::new();
    queue.enqueue([1]);
    let found = queue.peek();
    let mut front = queue.dequeue() ?? [];
    front.push(i);
    match found { Some(x) => x.len() * 10 + front.len(), None => 0 }
}
fn listed(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2]];
    rows[0].push(i);
    let list = rows.enumerate();
    rows[0].push(i);
    list[0].1.len() * 10 + rows[0].len()
}
fn zipped(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2]];
    rows[0].push(i);
    let list = [7, 8].zip(rows);
    rows[0].push(i);
    list[0].1.len() * 10 + rows[0].len()
}
fn joined(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2]];
    rows[0].push(i);
    let list = rows.concat([[3]]);
    rows[0].push(i);
    list[0].len() * 10 + rows[0].len()
}
fn walked(i: Int) -> Int {
    let mut rows: Array<Array<Int>> = [[1], [2], [3]];
    let mut n = 0;
    for (at, row) in rows.enumerate() { rows[2].push(i); n = n * 10 + row.len(); }
    n
}
fn entries(i: Int) -> Int {
    let mut map: Map<String, Array<Int>> = {"a": [1], "b": [2]};
    let mut n = 0;
    for (key, list) in map { map["b"].push(i); n = n * 10 + list.len(); }
    for (key, list) in map.entries() { map["b"].push(i); n = n * 10 + list.len(); }
    for list in map.values() { map["b"].push(i); n = n * 10 + list.len(); }
    n
}
fn scalars(i: Int) -> Int {
    let mut map: Map<String, Int> = {"a": 1, "b": 2};
    let mut n = 0;
    for (key, value) in map { map["b"] = i; map.delete("a"); map["c"] = 7; n = n * 10 + value; }
    n * 10 + map.len()
}
fn parts(i: Int) -> Int {
    let mut xs = [i];
    let mut pair = (xs, xs);
    xs.push(1);
    let (a, b) = pair;
    xs = [1, 2, 3];
    pair.0.push(5);
    a.len() * 1000 + b.len() * 100 + pair.0.len() * 10 + xs.len()
}
fn main() {
    let mut all: Array<Array<Int>> = [];
    for i in 0..9 {
        all.push([got(i), first(i), entry(i), peeked(i), listed(i), zipped(i), joined(i), walked(i), entries(i), scalars(i)]);
        all.push([parts(i)]);
    }
    emit("all", all);
}
"""
OPTIONS = """
struct Node { name: String, next: Option<Int> }
fn of(xs: Array<Int>, i: Int) -> Result<Int, String> { Ok(xs.get(i).ok_or("none at ${i}")? * 2) }
fn nested(xs: Array<Result<Int, String>>, i: Int) -> Result<Int, String> { xs.get(i).ok_or("outside ${i}")? }
fn popped(before: Array<Array<Int>>) -> (Array<Int>, Array<Int>, Int) {
    let mut xs = before;
    let top = xs.pop();
    let mut a = top.unwrap_or([]);
    let mut b = top.unwrap_or([]);
    a.push(1);
    b.push(2);
    (a, b, xs.len())
}
fn kind(text: String) -> String {
    match text.parse_int() { Ok(n) => "int ${n}", Err(e) => "${e.kind}: ${e.message}" }
}
fn some(m: Map<String, Array<Int>>, key: String) -> Int {
    let found = m.get(key);
    if found.is_none() { return -1; }
    match found { Some(xs) => xs.len(), None => -2 }
}
fn twice(m: Map<String, Int>, key: String) -> Int {
    let found = m.get(key);
    (match found { None => 0, Some(n) => n }) + (match found { Some(n) => n, None => 5 })
}
fn main() {
    let results: Array<Result<Int, String>> = [Ok(1), Err("two")];
    let mut all: Array<Any> = [];
    for i in -1..4 {
        all.push([of([5, 6], i), nested(results, i)]);
        all.push(popped([[0], [i]]));
        all.push(popped([]));
    }
    for text in ["1", " 12 ", "-7", "x", "", "9223372036854775808", "٣", "99999999999999999999"] { all.push(kind(text)); }
    for key in ["a", "b"] { all.push([some({"a": [1, 2]}, key), twice({"a": 4}, key)]); }
    for word in ["7", "x"] { all.push(word.parse_int().is_ok()); }
    let node = Node { name: "n", next: None };
    all.push([node.next.unwrap_or(3), Some(2).unwrap_or(3)]);
    all.push(node.next.ok_or("no next"));
    emit("all", all);
    emit("unwrap", [1].get(3).unwrap());
}
"""
COLLECTIONS = """
fn at(a: Any, b: Any) -> Any { a[b] }
fn size(a: Any) -> Int { a.len() }
fn main() {
    let mut seen: Set<Any> = Set::new();
    let mut all: Array<Any> = [];
    let values: Array<Any> = [1, 1.0, true, "1", 1, (1, 2), (1, 2), nil, 2.5, false, 0, "1"];
    let mixed: Array<Any> = [1.5, true, "a"];
    for value in values {
        all.push([seen.insert(value), seen.contains(value), seen.len()]);
    }
    let mut stack: Stack<Array<Int>> = Stack::new();
    let mut queue: Queue<Int> = Queue::new();
    for i in 0..30 {
        stack.push([i]);
        queue.enqueue(i);
        if i % 3 == 2 {
            all.push([stack.pop(), queue.dequeue(), stack.peek(), queue.peek(), stack.len(), queue.is_empty()]);
        }
    }
    let mut flags: Map<Bool, Int> = {true: 1, false: 2};
    for (flag, n) in flags { all.push([flag, n]); }
    for (flag, n) in flags.entries() { all.push([flag, n]); }
    for flag in flags.keys() { all.push(flag); }
    all.push([flags.delete(true), flags.delete(true), flags.len()]);
    all.push([["a", "b"].join("-"), [1, 2].join(", "), mixed.join("|"), mixed.contains(true), ["a"].contains("a")]);
    all.push([mixed.contains("a"), mixed.concat(values).len(), [[1]].zip(["a", "b"]), mixed.enumerate()]);
    let holders: Array<Any> = [[1, 2], "ab", {"k": 3}, (4, 5), {1: 2}];
    let places: Array<Any> = [1, 0, "k", 1];
    for holder in holders { all.push(size(holder)); }
    emit("all", all);
    for i in 0..40 { emit("at", at(holders[i % 4], places[[1, 0, 2, 1][i % 4]])); }
}
"""
TUPLES = """
struct Counter { n: Int, log: Array<Int> }
impl Counter {
    fn next(mut self, by: Int) -> Int { self.n += by; self.log.push(self.n); self.n }
    fn pair(mut self) -> (Int, Array<Int>) { self.n += 1; (self.n, self.log) }
}
fn swapped(p: (Int, Array<Int>)) -> (Array<Int>, Int) { (p.1, p.0) }
fn main() {
    let mut counter = Counter { n: 0, log: [] };
    let mut all: Array<Any> = [];
    for i in 0..30 {
        let mut x = i;
        let pair = (x, [x]);
        x += 10;
        let (list, n) = swapped(pair);
        let (a, b) = (n + counter.next(i), list);
        let mut kept = counter.pair();
        kept.1.push(-i);
        all.push([a, b, x, pair.0, kept.0, counter.next(1)]);
        if i % 7 == 0 { all.push([kept, counter.log]); }
    }
    let texts: Array<Any> = [1, 2.5, "s", nil, true, [1], (1, "a")];
    for t in texts { all.push("<${t}|${all.len()}|${t}>"); }
    let range = 2..6;
    let mut n = 0;
    for i in range { n += i; for j in range { n += j; } }
    emit("all", all);
    emit("n", n);
}
"""
TRAITS = """
trait Shape {
    fn area(self) -> Int;
    fn grown(self, by: Int) -> Self;
    fn both(self, a: Int, b: Int) -> Int { self.area() + a * b }
}
struct Square { side: Int }
struct Pile { items: Array<Int> }
impl Shape for Square {
    fn area(self) -> Int { self.side * self.side }
    fn grown(self, by: Int) -> Square { Square { side: self.side + by } }
}
impl Shape for Pile {
    fn area(self) -> Int { self.items.len() }
    fn grown(self, by: Int) -> Pile { let mut copy = self; copy.items.push(by); copy }
}
fn shape(i: Int) -> Shape { if i % 2 == 0 { Square { side: i } } else { Pile { items: [i] } } }
fn main() {
    let mut all: Array<Int> = [];
    for i in 0..60 {
        let one = shape(i);
        let more = one.grown(i);
        all.push(one.area() * 1000 + more.area() + one.both(i, 2));
    }
    emit("all", all);
}
"""
DATES = """
fn due(days: Int, zone: String) -> Result<String, DateError> {
    let start = std::date::of(2024, 1, 31, zone: zone)?;
    let day = std::date::add(start, months: days, days: days)?;
    std::date::format(std::date::in_zone(day, "UTC")?)
}
fn main() {
    for i in 0..30 {
        let zone = if i % 10 == 9 { "Europe/Berlin" } else if i % 2 == 0 { "UTC" } else { "+05:30" };
        match due(i, zone) { Ok(text) => emit("due", text), Err(e) => emit("no", e.message) }
        match std::date::parse(if i % 4 == 0 { "2024-02-30" } else { "2024-02-29T10:00:00Z" }) {
            Ok(d) => emit("day", d.day),
            Err(e) => emit("wrong", e.message),
        }
    }
}
"""
PROGRAMS = {
    "writes": WRITES_BEHIND_READS, "kept": KEPT, "options": OPTIONS, "collections": COLLECTIONS, "tuples": TUPLES,
    "traits": TRAITS, "dates": DATES,
}  # fmt: skip


def without_names(source: str) -> Program:
    """The program as `--strip` leaves it: no local has a name, so that any store may be left out."""
    image = compile_source(source.encode(), "main.conc").image
    assert image is not None
    image.names = []
    return load_image(image)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("load", [loaded, without_names])
def test_both_tiers_show_the_same(name: str, load: object) -> None:
    assert callable(load)
    program = load(PROGRAMS[name])
    expected = observed(program, "interp")
    assert expected[0], expected
    assert observed(program, "both") == expected
    assert observed(program, "both", counted=False)[:2] == expected[:2]


NO_PLACES = ["[1], 5", "[1], -1", '{"k": 1}, "q"', '[1], "0"', "3, 0", "{1: 2}, 1.5", "(1, 2), 7", "[1], true"]


@pytest.mark.parametrize("place", NO_PLACES)
def test_elements_that_are_not_there(place: str) -> None:
    source = f"fn at(a: Any, b: Any) -> Any {{ a[b] }} fn main() {{ for i in 0..5 {{ at([7], 0); }} at({place}); }}"
    program = loaded(source)
    expected = observed(program, "interp")
    assert expected[1] and observed(program, "both") == expected and observed(program, "both", counted=False)[1] == expected[1]


def test_the_limit_of_elements_holds() -> None:
    source = """
    fn main() {
        let mut queue: Queue<Int> = Queue::new();
        let mut set: Set<Int> = Set::new();
        for i in 0..2000 { queue.enqueue(i); set.insert(i); }
        emit("n", queue.len() + set.len());
        let xs = set.to_array();
        for (i, x) in xs.enumerate() { if i != x { emit("wrong", i); } }
        emit("sum", xs.zip(xs).len() + xs.concat(xs).len());
    }
    """
    program = loaded(source)
    expected = observed(program, "interp")
    assert observed(program, "both") == expected and observed(program, "both", counted=False)[:2] == expected[:2]
