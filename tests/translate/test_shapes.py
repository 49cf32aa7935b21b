"""The compiler makes no jump into a loop, so that every function has the shape of loops and branches (V-7.2).

Statements nest, `break`, `continue` and `return` leave from inside, and a handler stands behind what it guards: the
head of a loop is the only way in. A foreign image may have such a jump; it stays with the interpreter.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.interp.link import load_image
from concerto.vm.jit.flow import Flow, Unshaped
from concerto.vm.jit.inlining import Body
from concerto.vm.jit.tier import Translation

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("control", "errors", "patterns", "closures")
INTO_A_LOOP = """
fn f(n: Int) -> Int {
    let mut x = n;
    if n > 5 { x = 1; }
    while x < 100 { x = x * 2; }
    x
}
fn main() { for i in 0..50 { emit("x", f(i)); } }
"""


def sources() -> list[Path]:
    found = [*ROOT.glob("benches/programs/*.conc"), *ROOT.glob("examples/*.conc")]
    return found + [path for folder in FOLDERS for path in ROOT.glob(f"conformance/tests/{folder}/*.conc")]


def test_what_the_compiler_makes_has_a_shape() -> None:
    loops = 0
    for path in sources():
        image = compile_source(path.read_bytes(), path.name).image
        if image is None:
            continue
        translation = Translation(load_image(image))
        for number in range(len(image.functions)):
            body = Body(translation.program, translation.graph, number, True)
            loops += len(Flow(body, body.handlers).loops())
    assert loops > 100


def test_a_foreign_jump_into_a_loop_stays_with_the_interpreter() -> None:
    image = compile_source(INTO_A_LOOP.encode(), "main.conc").image
    assert image is not None
    listing = disassemble(image)
    outside, inside = "JUMP_UNLESS @15\n", "    at 0:5:25  ; x * 2; }\n    LOAD 1\n"
    assert listing.count(outside) == 1 and listing.count(inside) == 1
    forged = load_image(assemble(listing.replace(outside, "JUMP_UNLESS @24\n").replace(inside, f"  @24:\n{inside}", 1)))
    translation = Translation(forged)
    with pytest.raises(Unshaped, match="a jump into a loop"):
        Flow(Body(forged, translation.graph, 0, False), {})
    assert translation.whole(0, False) is None and translation.loops(0, False) == {}
