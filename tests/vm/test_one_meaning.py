"""What an opcode does is written once, with the parameters of its picture: the loop and the translator take it from there
(V-2.5)."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.interp import ops
from concerto.vm.jit import library

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import gen_loop

    return gen_loop


def test_each_opcode_has_one_meaning(generator: ModuleType) -> None:
    functions, _ = generator.operations()
    for opcode in OPCODES:
        assert (opcode.name in functions) != (opcode.name in generator.CONTROL), opcode
        if opcode.name in functions:
            taken = list(inspect.signature(getattr(ops, opcode.name)).parameters)
            stack = [name.rstrip("*") for name in opcode.pops]
            assert taken[: len(stack)] == stack and set(taken[len(stack) :]) <= set(generator.CONTEXT), opcode


def test_the_loop_is_what_the_generator_makes(generator: ModuleType) -> None:
    made = generator.generate()
    assert generator.TARGET.read_text(encoding="utf-8") == made
    for opcode in OPCODES:
        assert f'"{opcode.name}": ' in made


def test_the_translator_calls_the_same_functions(generator: ModuleType) -> None:
    functions, _ = generator.operations()
    for name in functions:
        assert library.NAMES[f"op_{name}"] is getattr(ops, name)


CHANGES = [
    (lambda text: text.replace("def ADD(", "def ADDED("), "ADD has no meaning"),
    (lambda text: text.replace("def ADD(a", "def ADD(left", 1), "ADD: parameters .* do not fit the picture"),
    (lambda text: text + "\n\ndef JUMP(operand):\n    pass\n", "JUMP has two meanings"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=["none", "other parameters", "two"])
def test_a_row_without_its_meaning_is_refused(
    generator: ModuleType, change: object, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = generator.OPS.read_text(encoding="utf-8")
    changed = change(text)  # type: ignore[operator]
    assert changed != text and ast.parse(changed)
    other = tmp_path / "ops.py"
    other.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(generator, "OPS", other)
    with pytest.raises(SystemExit, match=told):
        generator.bodies()


def test_a_function_that_is_no_opcode_is_no_meaning(generator: ModuleType) -> None:
    functions, others = generator.operations()
    assert set(functions) <= {opcode.name for opcode in OPCODES} and not set(functions) & set(others)
    assert "gen_loop" in sys.modules
