"""Where types are known, code finds locals, cells, functions, methods, fields and declarations by number (V-2.4)."""

from __future__ import annotations

from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.encoding import instructions
from concerto.vm.bytecode.opcodes import OPCODES

SOURCE = """
struct Point { x: Int, y: Array<Int> }
impl Point {
    fn sum(self) -> Int { self.x + self.y.len() }
    fn move_by(mut self, n: Int) { self.x += n; self.y[0] = n; self.y.push(n); }
}
enum Kind { Plain, Pair(Int) }
memory log: Memory = Memory::new();
model M { provider: offline, memory: log }
hashmap h: HashMap<String, Int> = HashMap::new();
const LIMIT: Int = 3;
fn twice(n: Int) -> Int { n * 2 }
fn main() {
    let mut p = Point { y: [1], x: 1 };
    p.x = twice(LIMIT);
    p.move_by(2);
    let mut seen = 0;
    let add = |n: Int| { seen = seen + n; p.sum() };
    let k = Kind::Pair(p.x);
    let text = match k { Kind::Plain => "plain", Kind::Pair(n) => "pair ${n}" };
    emit(text, add(4) + seen);
    let _ = M;
    let _ = log;
    let _ = h;
}
"""
# What is found by its name: members of dynamic values, and methods of receivers whose type is not known.
BY_TEXT = {k.NAME, k.METHOD}


def names_used(source: str) -> list[str]:
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    found = []
    for function in compiled.image.functions:
        if not function.flags & i.F_HIDDEN:
            found += [OPCODES[number].name for _, number, _, _ in instructions(function.code) if OPCODES[number].kind in BY_TEXT]
    return found


def test_known_things_are_addressed_by_number() -> None:
    assert names_used(SOURCE) == []


def test_unknown_types_need_names() -> None:
    """The other side: the same reads behind Any."""
    source = 'fn main() { let p: Any = { "x": 1 }; emit("x", p.x); emit("y", p.len()); }'
    assert names_used(source) == ["GET_MEMBER", "CALL_METHOD"]
