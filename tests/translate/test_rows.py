"""The table of the translator: which opcodes have a row, and that programs reach each of them (V-7.2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.image import Image
from concerto.vm.bytecode.opcodes import OPCODES, Opcode
from concerto.vm.interp import ops
from concerto.vm.interp.link import load_image
from concerto.vm.jit import arithmetic, calls, control, intrinsics, places, values
from concerto.vm.jit.analysis import INTERPRETED
from concerto.vm.jit.emitter import Emitter
from concerto.vm.jit.tier import Translation

from .tiers import observed

SUITE = Path(__file__).resolve().parent.parent.parent / "conformance" / "tests"
FAMILIES = (arithmetic, calls, intrinsics, places, values)
BLOCK_ENDS = {"jump", "branch", "iterate"}  # the flow of opcodes that only `branches` and `loops` translate
# Folders of the suite, those first that reach the most rows.
FOLDERS = (
    "results", "patterns", "impls", "hashmaps", "enums", "operators", "values", "closures", "structs", "grammar", "literals",
    "schemas", "memory", "facts",
)  # fmt: skip
STATEMENT_IN_TRY = """
fn failing(n: Int) -> Result<Int, RuntimeError> { if n > 2 { throw RuntimeError::new("more"); } Ok(n) }
fn checked(n: Int) -> Result<Int, RuntimeError> {
    let x = try { failing(n); n } catch RuntimeError { 7 };
    Ok(x)
}
fn main() { for n in 0..5 { emit("x", checked(n)); } }
"""

DATES = """
fn main() -> Result<Nil, DateError> {
    for n in 0..5 { let day = std::date::from_ms(n)?; }
    Ok(nil)
}
"""


def without_handler() -> Image:
    """The image of a program in which the end of a statement throws out of its function: no compiler makes such a one."""
    image = compile_source(STATEMENT_IN_TRY.encode(), "main.conc").image
    assert image is not None
    lines = disassemble(image).splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("  handler ")]
    assert len(kept) == len(lines) - 1
    return assemble("".join(kept))


def test_each_opcode_has_one_translation() -> None:
    rows = [number for family in FAMILIES for number in family.EMIT]
    assert len(rows) == len(set(rows)) and set(rows) == control.EMIT.keys()
    assert not INTERPRETED & control.EMIT.keys()
    for op in OPCODES:
        generic = callable(getattr(ops, op.name, None))
        assert op.number in control.EMIT or op.number in INTERPRETED or generic or op.flow in BLOCK_ENDS, op


def images() -> Iterator[Image]:
    yield without_handler()
    dates = compile_source(DATES.encode(), "main.conc").image
    assert dates is not None
    yield dates
    for folder in FOLDERS:
        for path in sorted((SUITE / folder).glob("*.conc")):
            image = compile_source(path.read_bytes(), path.name).image
            if image is not None:
                yield image


def test_programs_reach_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    unreached = {OPCODES[number].name for number in control.EMIT}

    def counting(form: Any) -> Any:
        def emit(e: Emitter, op: Opcode, operand: int) -> None:
            unreached.discard(op.name)
            form(e, op, operand)

        return emit

    monkeypatch.setattr(control, "EMIT", {number: counting(form) for number, form in control.EMIT.items()})
    for image in images():
        program = load_image(image)
        translation = Translation(program)
        for number in range(len(program.codes)):
            translation.whole(number, False)
            for head in translation.loops(number, False):
                translation.loop(number, head, False)
        if not unreached:
            return
    raise AssertionError(f"no program reaches the rows {', '.join(sorted(unreached))}")


def test_a_statement_that_throws_out_of_its_function_is_translated() -> None:
    interpreted, translated = (observed(load_image(without_handler()), tier) for tier in ("interp", "both"))
    assert interpreted == translated
    assert [value for _, value in translated[0]][2:4] == ['{"ok":2}', '{"err":{"kind":"RuntimeError","message":"more"}}']
