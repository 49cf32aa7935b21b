"""Small functions stand in the place of their calls in translated code, and nobody can tell (V-7.2, V-7.5)."""

from __future__ import annotations

import pytest
from concerto.vm.jit.tier import Translation

from .tiers import loaded, observed

# errors and None leave inlined functions to a handler, to `?` of the caller, or as a value
THROWN = """
fn checked(n: Int) -> Result<Int, RuntimeError> {
    if n % 3 == 0 { throw RuntimeError::new("three"); }
    if n % 5 == 0 { return Err(RuntimeError::new("five")); }
    if n % 7 == 0 { return Ok(-n); }
    Ok(n)
}
fn outer(n: Int) -> Result<Int, RuntimeError> { Ok(checked(n)? + 1000 * checked(n + 1)?) }
fn small(n: Int) -> Option<Int> { if n % 4 == 0 { None } else { Some(n) } }
fn both(n: Int) -> Option<Int> { Some(small(n)? + small(n + 1)?) }
fn mixed(n: Int) -> Result<Int, Error> { Ok(small(n)? + both(n)?) }
fn caught(n: Int) -> Int {
    try {
        let kept = [n, outer(n)?];
        kept[1] + mixed(n)?
    } catch Error(e) {
        0 - e.message.len()
    }
}
fn matched(n: Int) -> String {
    match outer(n) { Ok(v) => "ok ${v}", Err(e) => e.message }
}
fn main() {
    for n in 1..40 {
        emit("caught", [caught(n), matched(n)]);
        emit("both", both(n));
    }
}
"""
# a function value that emits is called in a function that is inlined twice over
LEAVES = """
fn apply(f: fn(Int) -> Int, n: Int) -> Int { let twice = n * 2; f(twice) - n }
fn around(f: fn(Int) -> Int, n: Int) -> Int { let more = n + 5; apply(f, more) + apply(f, n) }
fn sum(f: fn(Int) -> Int) -> Int {
    let mut all = 0;
    for i in 0..4 { all = all * 10 + around(f, i); }
    all
}
fn main() {
    emit("quiet", sum(|x| x + 1));
    emit("loud", sum(|x| { emit("x", x); x + 1 }));
}
"""
FAILS = """
struct Pair { a: Int, b: Int }
fn ratio(p: Pair) -> Int {
    let whole = p.a + 1;
    whole /
        p.b
}
fn two(p: Pair, q: Pair) -> Int {
    ratio(p) +
        ratio(q)
}
fn all(n: Int) -> Int {
    let mut sum = 0;
    for i in 0..n { sum += two(Pair { a: i, b: 1 }, Pair { a: i, b: 3 - i }); }
    sum
}
fn main() { emit("sum", all(3)); emit("sum", all(9)); }
"""
AGAIN = """
fn fib(n: Int) -> Int { if n < 2 { return n; } fib(n - 1) + fib(n - 2) }
fn even(n: Int) -> Bool { if n == 0 { true } else { odd(n - 1) } }
fn odd(n: Int) -> Bool { if n == 0 { false } else { even(n - 1) } }
fn forever(n: Int) -> Int { 1 + forever(n + 1) }
fn main() { emit("fib", fib(15)); emit("even", even(300)); emit("forever", forever(0)); }
"""
# arguments that are only read are not marked as shared; what is taken out of them is
BORROWED = """
struct Inner { list: Array<Int>, some: Option<Array<Int>> }
struct Outer { inner: Inner, rows: Array<Array<Int>>, n: Int }
fn inner(o: Outer) -> Inner { o.inner }
fn row(rows: Array<Array<Int>>, i: Int) -> Array<Int> { let found = rows[i]; found }
fn changed(rows: Array<Array<Int>>, i: Int) -> Array<Int> { let mut found = rows[i]; found.push(i); found }
fn grown(o: Outer) -> Array<Int> { match o.inner.some { Some(list) => { let mut mine = list; mine.push(9); mine } None => [] } }
fn size(o: Outer, rows: Array<Array<Int>>) -> Int { o.n + o.rows.len() + rows[0].len() * 10 + rows.len() * 100 }
fn itself(o: Outer) -> Outer { o }
fn main() {
    let mut o = Outer { inner: Inner { list: [1], some: Some([2]) }, rows: [[3], [4, 5]], n: 0 };
    for i in 0..6 {
        let kept = o;
        let taken = inner(o);
        o.inner.list.push(i);
        let first = row(o.rows, i % 2);
        let mut second = changed(o.rows, i % 2);
        o.rows[i % 2].push(i * 10);
        second.push(7);
        let more = grown(o);
        o.n += size(o, o.rows) + if i > 3 { size(kept, o.rows) } else { 1 };
        let mut same = itself(o);
        same.n = 1;
        emit("all", [o, kept, taken, first, second, more, same]);
    }
}
"""
# the value of a local that is not read again goes on without a mark
MOVED = """
struct Body { x: Int, list: Array<Int> }
fn pushed(start: Array<Body>, i: Int) -> Array<Body> {
    let mut all = start;
    all[i % all.len()].x += i;
    all[0].list.push(i);
    if i % 5 == 0 { all.push(Body { x: i, list: [] }); }
    all
}
fn maybe(i: Int) -> Option<Array<Int>> { Some([i, i + 1]) }
fn guarded(i: Int) -> Array<Int> {
    match maybe(i) {
        Some(list) if { let mut mine = list; mine.push(9); mine.len() > 5 } => [],
        Some(list) => list,
        None => [],
    }
}
fn pair(i: Int) -> (Array<Int>, Array<Int>) { ([i], [i]) }
fn kept(bodies: Array<Body>) -> (Array<Body>, Array<Body>) {
    let mut changed = bodies;
    changed[0].x = -1;
    let other = bodies;
    (changed, other)
}
fn main() {
    let mut all = [Body { x: 1, list: [] }, Body { x: 2, list: [] }];
    let first = all;
    for i in 0..12 {
        let before = all;
        all = pushed(all, i);
        let (a, b) = pair(i);
        let mut c = a;
        c.push(i);
        emit("all", [all, before, kept(all), guarded(i), a, b, c]);
    }
    emit("first", first);
}
"""


@pytest.mark.parametrize("source", [THROWN, LEAVES, FAILS, AGAIN, BORROWED, MOVED])
def test_both_tiers_show_the_same(source: str) -> None:
    expected = observed(source, "interp")
    assert observed(source, "both", counted=False)[:2] == expected[:2]
    assert observed(source, "both") == expected


def text_of(source: str, name: str) -> str:
    program = loaded(source)
    number = next(code.number for code in program.codes if code.label == name)
    part = Translation(program).whole(number, False)
    assert part is not None
    return part.source


def test_what_is_inlined_is_not_called() -> None:
    assert "fn0(" not in text_of(THROWN, "outer")
    assert text_of(AGAIN, "fib").count("fn0(") == 5  # its own head, and what the two inlined ones call


def test_no_result_is_made_that_is_taken_apart_behind_the_call() -> None:
    """Of the two of `outer` only the last is made: its own."""
    assert text_of(THROWN, "outer").count("newOk()") == 1


def test_an_argument_that_is_only_read_is_not_marked() -> None:
    reads = "struct P { n: Int } fn f(p: P) -> Int { p.n } fn g(p: P) -> P { p } "
    program = loaded(reads + "fn h(p: P) -> Int { f(p) + p.n } fn i(p: P) -> (P, P) { (g(p), p) } fn main() {}")
    sources = [Translation(program).whole(number, True) for number in (2, 3)]
    assert [part is not None and ".shared = True" in part.source for part in sources] == [False, True]


def test_a_value_that_goes_on_is_not_marked_unless_a_panic_shows_its_old_place() -> None:
    source = text_of(MOVED, "pushed")
    assert source.count("if KEEP:\n  l0.shared = True") == 1 and source.count("shared = True") == 1
    assert "KEEP" not in text_of(MOVED, "kept").split("l1 = ")[0]  # it is read once more


@pytest.mark.parametrize("depth", [60, 99, 100, 101, 102, 103, 150, 301])
def test_the_depth_limit_is_met_at_the_same_call(depth: int) -> None:
    assert observed(AGAIN, "both", counted=False, depth=depth)[:2] == observed(AGAIN, "interp", depth=depth)[:2]


def test_a_panic_names_the_calls_that_were_inlined() -> None:
    _, panic, _ = observed(FAILS, "both", counted=False)
    assert panic is not None and [frame[0] for frame in panic[2]] == ["ratio", "two", "all", "main"]
