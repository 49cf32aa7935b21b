"""What an opcode does is written once, with the parameters of its stack effect: the loop and the translator take it from there
(V-2.5)."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.interp import ops, template
from concerto.vm.interp.link import load_image
from concerto.vm.jit import library

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import gen_loop

    return gen_loop


def test_each_opcode_has_one_meaning(generator: ModuleType) -> None:
    context = {"operand", "loop", "locals_", "cells", "machine"}
    for opcode in OPCODES:
        (function,) = [getattr(module, opcode.name) for module in (ops, template) if hasattr(module, opcode.name)]
        taken = list(inspect.signature(function).parameters)
        stack = [name.rstrip("*") for name in opcode.pops]
        assert taken[: len(stack)] == stack and set(taken[len(stack) :]) <= context, opcode


def test_the_loop_is_what_the_generator_makes(generator: ModuleType) -> None:
    made = generator.generate()
    assert generator.TARGET.read_text(encoding="utf-8") == made
    for opcode in OPCODES:
        assert f'"{opcode.name}": ' in made


def test_the_translator_calls_the_same_functions(generator: ModuleType) -> None:
    for name in {opcode.name for opcode in OPCODES} & set(vars(ops)):
        assert library.NAMES[f"op_{name}"] is getattr(ops, name)


CHANGES = [
    (lambda text: text.replace("def ADD(", "def ADDED("), "ADD has no meaning"),
    (lambda text: text.replace("def ADD(a", "def ADD(left", 1), "ADD: parameters .* do not fit the stack effect"),
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
        generator.read_meanings()


RUNS = [
    (("LOAD", "CONST", "ADD_INT", "STORE"), ["o0, o1, o3 = arg", "r = locs[o0] + o1"]),
    (("CALL_BUILTIN/1", "POP"), ["value = arg[0](tos)", "if debt:"]),
    (("LOAD", "LOAD", "LT_INT", "JUMP_UNLESS"), ["o0, o1, o3 = arg", "if not locs[o0] < locs[o1]:"]),
    (("STORE", "LOAD", "RETURN"), ["o0, o1 = arg", "locs[o0] = tos"]),
]


@pytest.mark.parametrize(("run", "first"), RUNS)
def test_a_run_is_composed_of_its_opcodes(generator: ModuleType, run: tuple[str, ...], first: list[str]) -> None:
    lines = generator.Run(generator.read_meanings()[0], run).body()
    assert [text for _, text, _ in lines][:2] == first
    assert {at for _, _, at in lines} <= {*range(len(run)), None}


def test_a_read_comes_before_the_write_behind_it(generator: ModuleType) -> None:
    """`LOAD 0, LOAD 1, STORE 0`: what is left on the stack is the old value of the local."""
    run = generator.Run(generator.read_meanings()[0], ("LOAD", "LOAD", "STORE", "LOAD"))
    _, *lines = [text for _, text, _ in run.body()]
    assert lines == [
        "value = locs[o0]", "locs[o2] = locs[o1]", "st.append(tos)", "st.append(value)", "tos = locs[o3]", "continue",
    ]  # fmt: skip


NO_RUNS = [("CALL/1", "POP"), ("CALL_METHOD/1", "POP"), ("EMIT", "LOAD"), ("TRY", "STORE"), ("LOAD", "CONCAT")]


@pytest.mark.parametrize("run", NO_RUNS)
def test_what_leaves_the_frame_or_is_looked_for_cannot_stand_anywhere(generator: ModuleType, run: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError, match="cannot stand within|is no run"):
        generator.Run(generator.read_meanings()[0], run).body()


FORMS = [
    ("    while a:\n        return NOTHING\n", "a `return` stands where"),
    ("    for each in a:\n        if each:\n            return NOTHING\n    return a\n", "a `return` stands where"),
    ("    return 1 + loop.jump(operand)\n", "a method of Loop is called within"),
    ("    if loop.jump(operand):\n        a.x = 1\n    return NOTHING\n", "a method of Loop is called within"),
]


@pytest.mark.parametrize(("body", "told"), FORMS)
def test_a_form_that_the_generator_cannot_take_is_refused(generator: ModuleType, body: str, told: str) -> None:
    library = generator.read_meanings()[0]
    (function,) = ast.parse(f"def JUMP_UNLESS(a, operand, loop):\n{body}").body
    library.meanings["JUMP_UNLESS"] = type(library.meanings["JUMP_UNLESS"])("JUMP_UNLESS", function)
    with pytest.raises(AssertionError, match=f"JUMP_UNLESS: {told}"):
        generator.Run(library, ("JUMP_UNLESS",)).body()


def test_runs_of_opcodes_that_are_no_longer_there_are_refused(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs.txt"
    runs.write_text("# weights\n5 LOAD OLD STORE\n", encoding="utf-8")
    monkeypatch.setattr(generator, "RUNS", runs)
    with pytest.raises(SystemExit, match="knows an opcode OLD: run tools/choose_runs.py"):
        generator.generate()


def test_the_counted_runs_are_few_and_short(generator: ModuleType) -> None:
    words = [line.split()[1:] for line in generator.RUNS.read_text(encoding="utf-8").splitlines()[1:]]
    runs = [run for run in words if len(run) > 1 or "/" in run[0]]
    kept = [line.split() for line in generator.RUNS.with_name("loop_kept.txt").read_text(encoding="utf-8").splitlines()]
    chosen = [run for run in runs if run not in kept]
    assert 64 <= len(chosen) <= 96 and all(run in runs for run in kept if run[0] != "#")
    assert all(len(run) <= 6 or (run[-1] == "JUMP" and run[:-1] in runs) for run in chosen)


def test_the_run_that_saves_most_nodes_is_chosen(generator: ModuleType) -> None:
    import choose_runs

    segments = Counter({("LOAD", "LOAD", "ADD_INT", "RETURN"): 10, ("LOAD", "LOAD", "EMIT"): 9, ("CALL/1", "POP", "JUMP"): 25})
    choice = choose_runs.Choice(generator.read_meanings()[0], segments, 4)
    assert [choice.choose() for _ in range(3)] == [("CALL/1",), ("LOAD", "LOAD", "ADD_INT", "RETURN"), ("POP", "JUMP")]
    counts = choice.counts(segments)
    assert counts["CALL/1",] == counts["POP", "JUMP"] == 25


def test_an_instruction_counts_more_between_a_jump_back_and_where_it_goes(generator: ModuleType) -> None:
    import choose_runs

    image = compile_source(b"fn main() { let mut n = 0; while n < 9 { n += 1; } println(n); }", "main.conc").image
    assert image is not None
    counted = choose_runs.Counts()
    counted.add(load_image(image))
    (loop,) = [segment for segment, weight in counted.segments.items() if weight == choose_runs.INNER]
    assert loop == ("LOAD", "CONST", "LT_INT", "JUMP_UNLESS", "LOAD", "CONST", "ADD_INT", "STORE", "JUMP")
