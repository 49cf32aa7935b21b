"""Both tiers show the same: emits, panics with position and trace, fuel (V-5.9, V-6.7, V-7.3 to V-7.5)."""

from __future__ import annotations

import pytest
from concerto.vm.jit import tier as translated

from .tiers import observed

DEEP = """
fn down(n: Int) -> Int { if n == 0 { 0 } else { 1 + down(n - 1) } }
fn even(n: Int) -> Bool { if n == 0 { true } else { odd(n - 1) } }
fn odd(n: Int) -> Bool { if n == 0 { false } else { even(n - 1) } }
fn main() { emit("deep", down(2000)); emit("even", even(777)); }
"""
TOO_DEEP = 'fn down(n: Int) -> Int { 1 + down(n + 1) } fn main() { emit("deep", down(0)); }'
# a function value that emits is called from translated code two calls below main
SUSPENDS = """
fn each(n: Int, f: fn(Int) -> Int) -> Int {
    let mut sum = 0;
    for i in 0..n { sum = sum * 3 + f(i); }
    sum
}
fn around(n: Int, f: fn(Int) -> Int) -> Int { let kept = n * 7; kept + each(n, f) - kept }
fn main() {
    let mut calls = 0;
    let quiet = |x: Int| { calls += 1; x * 2 };
    let loud = |x: Int| { calls += 1; emit("at", x); x + 1 };
    emit("quiet", around(5, quiet));
    emit("loud", around(5, loud));
    emit("mapped", [1, 2, 3].map(|x| { println(x); x * 10 }));
    emit("calls", calls);
}
"""
# methods found at run time, with and without `mut self`; one of them emits
METHODS = """
trait Shape { fn area(self) -> Int; fn grow(mut self, by: Int) -> Int { by } }
struct Square { side: Int }
struct Box { w: Int, h: Int }
struct Loud { size: Int }
impl Shape for Square {
    fn area(self) -> Int { self.side * self.side }
    fn grow(mut self, by: Int) -> Int { self.side += by; self.side }
}
impl Shape for Box { fn area(self) -> Int { 6 / (self.w - self.h) } }
impl Shape for Loud { fn area(self) -> Int { emit("loud", self.size); self.size } }
fn total(shapes: Array<Shape>) -> Int {
    let mut sum = 0;
    for s in shapes { sum = sum * 2 + s.area(); }
    sum
}
fn grown(n: Int) -> Int {
    let mut some: Any = Square { side: 1 };
    let copy = some;
    let mut all = 0;
    for i in 0..n { all += some.grow(i); all += some.area() - copy.area(); }
    all
}
fn lengths(all: Array<Any>) -> Int { all.reduce(0, |sum, any| sum + any.len()) }
fn main() {
    emit("total", total([Square { side: 2 }, Loud { size: 7 }, Square { side: 3 }, Loud { size: 8 }, Box { w: 1, h: 3 }]));
    emit("grown", grown(30));
    emit("lengths", lengths(["abc", [1, 2], {"k": 1}]));
    emit("mapped", ([1, 2, 3] as Any).map(|x| { emit("x", x); x * 2 }));
    emit("fails", total([Square { side: 2 }, Box { w: 1, h: 1 }]));
}
"""
PANICS = {
    "no such method": """
fn f(a: Any) -> Any {
    a.len()
}
fn main() { emit("x", f("ab")); emit("x", f(3)); }
""",
    "in a callee": """
fn f(a: Array<Int>, i: Int) -> Int {
    a[i] + 1
}
fn g(n: Int) -> Int {
    let a = [1, 2];
    f(a, n) +
        f(a, n + 1)
}
fn main() { emit("x", g(0)); emit("x", g(1)); }
""",
    "overflow": """
fn f(n: Int) -> Int {
    let mut x = n;
    while true {
        x = x *
            3;
    }
    x
}
fn main() { emit("x", f(1)); }
""",
    "division": """
fn f(a: Int, b: Int) -> Int { (a % 7) + a /
    b }
fn main() { for i in [2, 1, 0] { emit("x", f(0 - 9, i)); } }
""",
    "unwrap": """
fn f(n: Int) -> Option<Int> { if n > 2 { None } else { Some(n) } }
fn g() -> Int {
    let mut s = 0;
    for i in 0..9 {
        s += f(i)
            .unwrap();
    }
    s
}
fn main() { emit("x", g()); }
""",
    "key": """
fn f(m: Map<String, Int>) -> Int {
    m["a"] +
        m["b"]
}
fn main() { emit("x", f({"a": 1})); }
""",
    "pattern": """
fn f(a: Array<Int>) -> Int {
    let [x, y] = a;
    x + y
}
fn main() { emit("x", f([1, 2])); emit("x", f([1])); }
""",
}
LONG = """
fn step(x: Int) -> Int { if x % 2 == 0 { x / 2 } else { x * 3 + 1 } }
fn run(n: Int) -> Int {
    let mut steps = 0;
    for i in 1..n {
        let mut x = i;
        while x != 1 { x = step(x); steps += 1; }
    }
    steps
}
fn main() { emit("first", run(60)); emit("steps", run(400)); emit("more", run(100)); }
"""


@pytest.mark.parametrize("source", [DEEP, SUSPENDS, METHODS, LONG, *PANICS.values()])
def test_both_tiers_show_the_same(source: str) -> None:
    expected = observed(source, "interp")
    assert observed(source, "both") == expected
    assert observed(source, "both", counted=False)[:2] == expected[:2]


@pytest.mark.parametrize("name", sorted(PANICS))
def test_a_panic_has_the_position_and_the_frames_of_the_program(name: str) -> None:
    _, panic, _ = observed(PANICS[name], "both")
    assert panic is not None
    assert panic[1][1] > 0 and panic[2][-1][0] == "main"
    assert len(panic[2]) == (3 if name == "in a callee" else 2)


def test_frames_of_translated_code_are_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call of a function that emits leaves translated code from two frames at once (V-7.3)."""
    rebuilt: list[int] = []
    real = translated.Tier.rebuild_frames

    def counting(self: translated.Tier, task: object, traceback: object, failed: bool = False) -> None:
        before = len(task.frames)  # type: ignore[attr-defined]
        real(self, task, traceback, failed)  # type: ignore[arg-type]
        rebuilt.append(len(task.frames) - before)  # type: ignore[attr-defined]

    monkeypatch.setattr(translated.Tier, "rebuild_frames", counting)
    observed(SUSPENDS, "both")
    assert max(rebuilt) == 1  # `around` below, `each` as the frame that runs


@pytest.mark.parametrize("depth", [50, 99, 100, 101, 160, 400])
def test_the_depth_limit_is_met_at_the_same_call(depth: int) -> None:
    assert observed(TOO_DEEP, "both", depth=depth) == observed(TOO_DEEP, "interp", depth=depth)
    assert observed(DEEP, "both", depth=depth) == observed(DEEP, "interp", depth=depth)


@pytest.mark.parametrize("steps", [1_000, 30_003, 60_007, 90_001, 140_000, 200_011, 333_333, 600_000])
def test_a_limit_of_steps_ends_both_at_the_same_instruction(steps: int) -> None:
    assert observed(LONG, "both", steps=steps) == observed(LONG, "interp", steps=steps)
