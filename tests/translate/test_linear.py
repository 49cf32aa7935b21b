"""A value that a program extends and hands on is not copied each time, in whatever form it goes on (V-5.10): counted."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.codegen import module
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.generated import loop
from concerto.vm.interp import ops
from concerto.vm.jit import library
from concerto.vm.values import containers

from .random_owners import program
from .tiers import loaded, observed

HEAD = """
struct State { turn: Int, log: Array<Int>, rest: (Array<Int>, Int) }
struct Held { one: Array<Int>, two: Map<String, Array<Int>> }
enum Tree { Leaf(Array<Int>), None }
impl State {
    fn add(mut self, x: Int) { self.log.push(x); }
    fn count(self) -> Int { self.log.len() + self.turn }
    fn near(self, x: Int) -> Int { [1, 2, 3].filter(|k| self.log.len() > k + x && self.turn < k).len() }
}
fn add(xs: Array<Int>, x: Int) -> Array<Int> { let mut out = xs; out.push(x); out }
fn either(xs: Array<Int>, x: Int) -> Array<Int> { if x % 3 == 0 { add(xs, x) } else { add(xs, -x) } }
fn deeper(xs: Array<Int>, x: Int) -> Array<Int> { let a = either(xs, x); let b = add(a, x); b }
fn full(xs: Array<Int>) -> Bool { for x in xs { if x > 1 { return xs.len() > 1000000; } } false }
fn checked(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> {
    if x % 50 == 49 { throw "no"; }
    let mut out = xs; out.push(x); Ok(out)
}
fn step(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> { let out = checked(xs, x)?; Ok(out) }
fn some(xs: Array<Int>, x: Int) -> Option<Array<Int>> { let mut out = xs; out.push(x); Some(out) }
fn pair(xs: Array<Int>, x: Int) -> (Int, Array<Int>) { let mut out = xs; out.push(x); (x, out) }
fn leaf(tree: Tree, x: Int) -> Tree { match tree { Tree::Leaf(xs) => Tree::Leaf(add(xs, x)), Tree::None => Tree::Leaf([x]) } }
fn counted(m: Map<Int, Int>, x: Int) -> Map<Int, Int> { let mut out = m; out[x] = (out.get(x) ?? 0) + 1; out }
fn put(m: Map<Int, Int>, k: Int, v: Int) -> Map<Int, Int> { let mut out = m; out[k] = v; out }
fn begun(state: State, x: Int) -> Result<State, String> {
    let before = state;
    let mut next = before;
    if x % 50 == 49 { throw "no"; }
    next.log.push(x);
    next
}
fn played(before: State, x: Int) -> State {
    let mut log = before.log; log.push(x); State { turn: before.turn + 1, log, rest: before.rest }
}
fn chosen(state: State) -> Int { state.turn % 7 + state.log.len() % 2 }
fn swapped(state: State, x: Int) -> State { let mut log = state.log; log.push(x); State { log, ..state } }
fn inside(h: Held, k: String, x: Int) -> Held {
    let mut out = h;
    let mut list = out.two.get(k) ?? [];
    list.push(x);
    out.two.set(k, list);
    let mut one = out.one;
    one.push(x);
    out.one = one;
    out
}
"""
FORMS = {
    "a call": "xs = add(xs, i);",
    "calls in calls": "xs = deeper(xs, i);",
    "a call that only reads": "if !full(xs) { xs.push(i); }",
    "a Result and match": "match step(xs, i) { Ok(next) => { xs = next; } Err(_) => { n += 1; } }",
    "a Result and try": "try { xs = step(xs, i)?; } catch e { n += 1; }",
    "an Option": "xs = some(xs, i) ?? [];",
    "a tuple": "let (x, next) = pair(xs, i); xs = next; n += x;",
    "an enum": "tree = leaf(tree, i);",
    "a map": "m = counted(m, i);",
    "a struct": "s = played(s, i);",
    "a struct that is read meanwhile": "s = played(s, chosen(s));",
    "a struct from another": "s = swapped(s, i);",
    "a method": "s.add(i); n += s.count();",
    "a method whose closure reads self": "s.add(i); n += s.near(i % 3);",
    "a closure": "let f = |ys: Array<Int>| { let mut zs = ys; zs.push(i); zs }; xs = f(xs);",
    "an entry": 'let k = "k${i % 2}"; let mut list = g.get(k) ?? []; list.push(i); g.set(k, list);',
    "an entry by index": 'if !g.has("k") { g["k"] = []; } let mut list = g["k"]; list.push(i); g["k"] = list;',
    "an element": "let at = i % 2; let mut row = rows[at]; row.push(i); rows[at] = row;",
    "an argument that the next one reads": "m = put(m, i % 7, (m.get(i) ?? if i % 2 == 0 { m.len() } else { 0 }) + 1); m[i] = i;",
    "a Result and a local first": "match begun(s, i) { Ok(next) => { s = next; } Err(_) => { n += s.log.len(); } }",
    "parts of a struct": 'h = inside(h, "k", i);',
}
START = """
    let mut xs: Array<Int> = [];
    let mut m: Map<Int, Int> = {};
    let mut g: Map<String, Array<Int>> = {};
    let mut rows: Array<Array<Int>> = [[], []];
    let mut s = State { turn: 0, log: [], rest: ([], 0) };
    let mut tree = Tree::None;
    let mut h = Held { one: [], two: {} };
    let mut n = 0;
"""


SHOWN = """
    n += match tree { Tree::Leaf(l) => l.len(), _ => 0 };
    n += xs.len() + m.len() + s.log.len() + h.one.len();
    n + g.values().map(|v| v.len()).sum() + rows.map(|r| r.len()).sum()
"""


def source(form: str, rounds: int) -> str:
    work = f"fn work() -> Int {{ {START} for i in 0..{rounds} {{ {FORMS[form]} }} {SHOWN} }}"
    return f'{HEAD}{work} fn main() {{ emit("n", work()); }}'


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all containers that are copied because they are shared."""
    sizes: list[int] = []

    def counting(function: Any) -> Any:
        def own(value: Any) -> Any:
            if getattr(value, "shared", False):
                sizes.append(len(value.items) if hasattr(value, "items") else len(value.values()))
            return function(value)

        return own

    own, plain = counting(containers.own), counting(library.own_plain)
    for owner in (loop, ops, library):
        monkeypatch.setattr(owner, "own", own)
    monkeypatch.setitem(library.NAMES, "own", own)
    monkeypatch.setitem(library.NAMES, "own_plain", plain)
    return sizes


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_copied_does_not_grow(form: str, tier: str, copies: list[int]) -> None:
    for rounds in (60, 120):
        copies.clear()
        emits, failure, _ = observed(source(form, rounds), tier, counted=False)
        assert failure is None and int(emits[0][1]) >= rounds
        assert sum(copies) <= 8


def test_the_copies_are_seen_here(copies: list[int]) -> None:
    kept = "let mut xs: Array<Int> = []; for i in 0..60 { let old = xs; xs.push(i + old.len()); }"
    observed(f'fn main() {{ {kept} emit("n", xs.len()); }}', "interp")
    assert sum(copies) == sum(range(60))


def test_the_listing_says_what_moves() -> None:
    opcodes = {name for number in range(20) for name in listing("parts of a struct", number)}
    assert {"MOVE", "TAKE_FIELD", "TAKE_ENTRY"} <= opcodes
    assert "TAKE_INDEX" in {name for number in range(20) for name in listing("an element", number)}


KINDS = """
enum Shape { Dot, Line(Int, Int), Named { name: String, inner: Shape?, more: (Float, Option<Other>) } }
enum Other { Back(Shape), Text(Result<Int, String>) }
enum Listed { Some(Array<Int>) }
enum Around { Of(Inside), None }
enum Inside { Of(Around), List(Listed) }
enum Boxed<T> { Of(T) }
"""


@pytest.mark.parametrize(
    ("kind", "marks"), [("Shape", 0), ("Other", 0), ("Listed", 1), ("Around", 1), ("Inside", 1), ("Boxed<Int>", 1)]
)
def test_what_holds_nothing_that_could_be_written_is_never_marked(kind: str, marks: int) -> None:
    """An enum is as free of marks as what its variants hold, also where it holds itself; type arguments say nothing."""
    text = f"{KINDS} fn twice(x: {kind}) -> ({kind}, {kind}) {{ (x, x) }} fn main() {{ }}"
    facts = loaded(text).verified.functions
    names = [OPCODES[opcode].name for function in facts for _, opcode, _ in function.instructions]
    assert names.count("SHARE") == marks


def listing(form: str, number: int) -> list[str]:
    facts = loaded(source(form, 2)).verified.functions
    return [OPCODES[opcode].name for _, opcode, _ in facts[number].instructions] if number < len(facts) else []


@pytest.mark.parametrize("seed", [*range(24), 35, 125])
def test_no_program_can_tell(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the same program with every mark in place."""
    text = program(seed)
    with monkeypatch.context() as marked:
        marked.setattr(module, "move_values", lambda functions, builtin: None)
        expected = observed(text, "interp", steps=3_000_000)[:2]
    for tier, counted in (("interp", True), ("both", True), ("both", False)):
        assert observed(text, tier, counted=counted)[:2] == expected
