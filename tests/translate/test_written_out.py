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
ERRORS = """
enum Missing { Key(String), Row { at: Int, of: Array<Int> }, Nothing }
struct Row { xs: Array<Int>, n: Int }
fn row(rows: Map<String, Row>, key: String) -> Result<Row, Missing> { Ok(rows.get(key).ok_or(Missing::Key(key))?) }
fn taken(rows: Map<String, Row>, key: String, more: Int) -> Result<Row, Missing> {
    let mut mine = rows;
    let found = mine.get(key).ok_or(Missing::Row { at: more, of: [more] })?;
    mine[key].xs.push(more);
    mine[key].n += more;
    Ok(Row { xs: found.xs, n: mine[key].xs.len() * 100 + mine[key].n + found.n })
}
fn late(rows: Map<String, Row>, key: String, by: Int) -> Result<Int, Missing> {
    let mut mine = rows;
    let found = mine.get(key).ok_or({ mine[key].xs.push(by); Missing::Nothing })?;
    Ok(found.xs.len() * 10 + mine[key].xs.len())
}
fn kept(rows: Map<String, Row>, key: String) -> Result<Int, Missing> {
    let found = rows.get(key).ok_or(Missing::Nothing);
    let mut mine = match found { Ok(r) => r, Err(_) => { return Err(Missing::Nothing); } };
    mine.xs.push(1);
    mine.n = 50;
    Ok(mine.xs.len() + rows[key].xs.len() * 10 + mine.n)
}
fn caught(rows: Map<String, Row>, key: String) -> Any {
    try {
        let found = rows.get(key).ok_or(Missing::Key(key))?;
        let n = rows.get("a").ok_or(ToolError::ExecutionFailed("no a"))?.n;
        [found.n, n]
    } catch e {
        match e { Missing::Key(k) => "no ${k}", Missing::Nothing => "nothing", _ => "other: ${e}" }
    }
}
fn popped(before: Array<Row>) -> Result<Int, Missing> {
    let mut rows = before;
    let mut top = rows.pop().ok_or(Missing::Row { at: rows.len(), of: [] })?;
    top.xs.push(9);
    Ok(top.xs.len() + before.len() * 10 + before[0].xs.len() * 100)
}
fn or(m: Map<String, Row>, key: String) -> Int {
    let found = m.get(key);
    let mut a = found.unwrap_or(Row { xs: [], n: -1 });
    let mut b = m.get(key) ?? Row { xs: [1, 2, 3], n: -2 };
    a.xs.push(1);
    b.n += 5;
    let first = if found.is_some() { found.unwrap().xs.len() } else { 0 };
    a.xs.len() * 100 + b.xs.len() * 10 + first + a.n + b.n
}
fn main() {
    let mut all: Array<Any> = [];
    let rows: Map<String, Row> = {"a": Row { xs: [1, 2], n: 7 }, "b": Row { xs: [], n: 1 }};
    for i in 0..40 {
        let key = ["a", "b", "c"][i % 3];
        all.push([row(rows, key), taken(rows, key, i), kept(rows, key), caught(rows, key), or(rows, key)]);
        if key != "c" { all.push(late(rows, key, i)); }
        all.push(popped([Row { xs: [i], n: i }]));
    }
    emit("all", all);
    emit("rows", rows);
    row(rows, "d")?;
}
"""
LITERALS = """
fn made(key: String, n: Int) -> Map<String, Any> {
    let inner: Map<Int, Any> = {1: n, 2: key, (n / 40 + 1): "again"};
    let all: Map<String, Any> = {"a": n, ("${key}"): [n], "b": inner, (key): key};
    all
}
fn grown(n: Int) -> Map<String, Array<Int>> {
    let mut m = {"x": [n], "y": []};
    m["z"] = [n, n];
    m["x"].push(n);
    m
}
fn cast(value: Any) -> Array<Any> { [value as String, value as Float, value as Int, value as Bool] }
fn numbers(n: Int, x: Float, text: String, yes: Bool) -> Array<Any> {
    let first: Array<Any> = [n as Float, n as Int, n as String, n as Bool, x as Int, x as String, x as Float];
    [first, text as String, text as Int, yes as Int, yes as Bool]
}
fn list(value: Any) -> Int { let xs = value as Array<Int>; let mut copy = xs; copy.push(1); copy.len() * 10 + xs.len() }
fn main() {
    let mut all: Array<Any> = [];
    for i in 0..30 {
        let even = i % 2 == 0;
        let by_number: Map<Int, Any> = {(i): i, (i + 1): 2.5, -1: nil};
        let flags = {(even): 1, (!even): 2};
        all.push([made("k", i), made("b", i), grown(i), by_number, flags]);
        all.push(numbers(i - 9007199254740993, i as Float / 4.0, "${i}", i % 2 == 0));
        all.push(list([i, i]));
        for value in [1, "12", 2.0] as Array<Any> { all.push(cast(value)); }
        all.push([(i as Float).max(7.5), i.max(7), i.min(i - 1), [i, 3].map(|v| v.max(i))]);
    }
    emit("all", all);
    for value in [3, "x"] as Array<Any> { emit("cast", cast(value)); }
}
"""
WALKS = """
struct Cache { entries: Map<String, Array<Int>>, n: Int }
impl Cache {
    fn drop_first(mut self) -> Int {
        let mut found = 0;
        for (key, list) in self.entries {
            self.entries[key].push(7);
            found = list.len() * 10 + self.entries[key].len();
            self.entries.delete(key);
            break;
        }
        found
    }
}
fn first(m: Map<String, Array<Int>>, more: Int) -> Array<Any> {
    let mut mine = m;
    for (key, list) in mine {
        mine[key].push(more);
        let mut taken = list;
        taken.push(more);
        taken.push(more);
        return [key, list, mine[key], taken, mine];
    }
    ["none"]
}
fn flag(m: Map<Bool, Array<Int>>) -> Array<Any> { for (key, list) in m { return [key, list]; } [nil] }
fn any(m: Any) -> Any { for x in m { return x; } nil }
fn firsts() -> Array<Any> {
    let mut all: Array<Any> = [];
    let mut cache = Cache { entries: {}, n: 0 };
    for i in 0..40 {
        cache.entries["k${i % 6}"] = [i];
        let kept = cache;
        if i % 2 == 0 { all.push([cache.drop_first(), kept.entries.len(), cache.entries.len()]); }
        let mut m: Map<String, Array<Int>> = {"a": [i], "b": []};
        all.push(first(m, i));
        m["a"].push(1);
        all.push([m, first({}, 1), flag({true: [i]}), any([i]), any({"a": i})]);
    }
    all
}
struct Item { name: String, tags: Array<String> }
enum Cell { Empty, Full { n: Int } }
fn main() {
    let mut items: Array<Item> = [];
    for i in 0..60 { items.push(Item { name: "n${i % 7}", tags: [] }); }
    let mut counts: Map<String, Int> = {};
    let mut kept: Array<Item> = [];
    for item in items {
        counts[item.name] = (counts.get(item.name) ?? 0) + 1;
        items[3].tags.push(item.name);
        let mut mine = item;
        mine.tags.push("mine");
        kept.push(mine);
    }
    let cells: Array<Cell> = (0..50).map(|i| if i % 3 == 0 { Cell::Empty } else { Cell::Full { n: i } });
    let mut sum = 0;
    for (at, cell) in cells.enumerate() { match cell { Cell::Full { n } => { sum += n * at; } Cell::Empty => {} } }
    for (name, n) in counts { sum += n * name.len(); }
    for (at, ch) in "some text to walk over, for long enough".chars().enumerate() { if ch == "o" { sum += at; } }
    emit("items", items);
    emit("kept", kept);
    emit("sum", sum);
    emit("firsts", firsts());
}
"""
EQUALITY = """
enum Cell { Empty, Cross, Held(Int), Pair { a: Int, b: Cell }, Deep(Array<Int>) }
enum Flat { None, One(Int), More { n: Int, rest: Flat }, Both((Int, String), Option<Flat>) }
struct Point { x: Int, y: Int }
struct Named { name: String, n: Int }
struct Loose { n: Float, ok: Bool }
fn same(a: Any, b: Any) -> Bool { a == b }
fn plain(text: String, i: Int, m: Map<String, Int>, s: Stack<String>) -> Array<Bool> {
    [
        text.get(i) == "a", text.get(i) != "b", "a" == text.get(i), m.get(text) == i, m.get(text) != m.get("a"),
        m.get("zz") == m.get("yy"), s.peek() == text, text.get(i) == None, Some(i) == m.get(text),
    ]
}
fn structs(p: Point, q: Point, n: Named, x: Loose) -> Array<Bool> {
    let ones = [p == q, p != Point { x: 0, y: 0 }, Point { x: q.x, y: 1 } == p];
    ones.concat([n == Named { name: "n", n: p.x }, x == Loose { n: 1.0, ok: true }])
}
fn cells(a: Cell, b: Any) -> Array<Bool> {
    [a == Cell::Empty, b == Cell::Empty, b != Cell::Cross, a == Cell::Held(1), same(a, b)]
}
fn deep(i: Int) -> Flat {
    if i == 0 { Flat::None } else if i % 3 == 0 { Flat::More { n: i, rest: deep(i - 1) } }
    else if i % 3 == 1 { Flat::One(i) } else { Flat::Both((i, "t"), Some(deep(i - 1))) }
}
fn main() {
    let mut all: Array<Any> = [];
    let mut stack: Stack<String> = Stack::new();
    let mut held: Array<Cell> = (0..4).map(|_| Cell::Empty);
    let mut lists = [[1], [2]];
    let mut flats: Array<Flat> = [];
    for i in 0..40 {
        let text = ["abc", "ab", "b", "é"][i % 4];
        stack.push(text);
        all.push(plain(text, i % 3, {"a": 1, "ab": i % 3}, stack));
        let loose = Loose { n: (i % 2) as Float, ok: true };
        all.push(structs(Point { x: i % 3, y: 1 }, Point { x: 0, y: i % 2 }, Named { name: "n", n: i % 2 }, loose));
        let cell = [Cell::Empty, Cell::Cross, Cell::Held(i % 2), Cell::Pair { a: i, b: Cell::Held(1) }, Cell::Deep([i])][i % 5];
        let other: Array<Any> = [Cell::Empty, Cell::Cross, nil, 1, "Empty", Some(Cell::Empty)];
        all.push(cells(cell, other[i % 6]));
        for (at, c) in held.enumerate() {
            if c == Cell::Empty { held[at] = if i % 2 == 0 { Cell::Deep(lists[0]) } else { Cell::Empty }; }
        }
        lists[0].push(i);
        flats.push(deep(i % 7));
        let copy = flats;
        for (at, f) in copy.enumerate() { if f == Flat::None { flats[at] = Flat::One(at); } }
        if i % 10 == 0 { flats = copy; }
    }
    emit("all", all);
    emit("held", held);
    emit("flats", flats);
}
"""
PARTS = """
fn sum(data: Bytes) -> Int { let mut n = 0; for i in 0..data.len() { n += data[i] * (i + 1); } n }
fn byte(data: Bytes, at: Int) -> Int { data[at] }
fn rest(rows: Array<Array<Int>>, from: Int) -> Int {
    let mut mine = rows;
    mine[from].push(0);
    let mut part = mine[from..];
    let head = mine[..2];
    mine[from].push(1);
    part[0].push(2);
    mine[from].push(3);
    mine[from].len() * 10000 + part[0].len() * 1000 + head.len() * 100 + rows[from].len() * 10 + part.len()
}
fn cut(value: Any, a: Int, b: Int) -> Any { [value[a..b], value[..b], value[a..]] }
fn main() {
    let mut all: Array<Any> = [];
    for i in 0..40 {
        all.push([sum("bytes of ${i}".to_bytes()), rest([[1], [2], [3]], i % 3), byte("ab".to_bytes(), i % 2)]);
        all.push([cut([1, 2, 3], i % 5 - 1, i % 4 - 1), cut("text", i % 3, 3), cut([[i], [2]], 0, 1)]);
        all.push(cut("é".to_bytes(), 0, i % 3));
    }
    emit("all", all);
    try { emit("cut", cut({"a": 1}, 0, 1)); } catch e { emit("no", e.message); }
    emit("byte", byte("ab".to_bytes(), 2));
}
"""
PROGRAMS = {
    "equality": EQUALITY, "parts": PARTS, "errors": ERRORS, "literals": LITERALS, "walks": WALKS,
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
