"""Every program emits what its twin emits; the harness refuses one that does not."""

import pytest

from benches import pairs
from benches.execution import Failed, WrongOutput, require
from benches.opcode_counts import counted, frequencies
from benches.sampling import Plan

SOURCE = """\
// sizes: full 9, quick 5, test 3
fn size() -> Int { 9 }

fn main() {
    emit("twice", size() * 2);
}
"""


def doubling(n, emit):
    emit("twice", n * 2)


@pytest.mark.parametrize("name", pairs.names())
def test_program_and_twin_agree(name):
    pair = pairs.pair(name)
    pair.check(pair.test)


@pytest.mark.parametrize("name", pairs.names())
def test_the_size_changes_the_work(name):
    pair = pairs.pair(name)
    assert pair.test < pair.quick < pair.full
    assert pair.twin_output(pair.test) != pair.twin_output(pair.test * 2)


def test_every_program_has_a_twin_and_the_other_way_round():
    assert pairs.names() == sorted(path.stem for path in (pairs.HERE / "twins").glob("*.py"))


def test_a_right_output_is_measured():
    figure = pairs.Pair(SOURCE, doubling, "x.conc").measure("x", Plan(samples=2, least=0.0001))
    assert figure.verdict in ("met", "missed")
    assert figure.ratio > 0


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        (lambda n, emit: emit("twice", n), "emitted 'twice 18', the twin 'twice 9'"),
        (lambda n, emit: emit("double", n * 2), "emitted 'twice 18', the twin 'double 18'"),
        (lambda n, emit: emit("twice", float(n * 2)), "the twin 'twice 18.0'"),
        (lambda n, emit: [emit("twice", n * 2), emit("more", 1)], "emitted 1 values, the twin 2"),
        (lambda n, emit: None, "emitted 1 values, the twin 0"),
    ],
)
def test_a_wrong_output_is_refused_before_time_counts(twin, said):
    pair = pairs.Pair(SOURCE, twin, "x.conc")
    with pytest.raises(WrongOutput) as refused:
        pair.measure("x", Plan(samples=1, least=0))
    assert said in str(refused.value)


def test_two_that_emit_nothing_do_not_agree():
    silent = SOURCE.replace('emit("twice", size() * 2);', "let _ = size();")
    with pytest.raises(WrongOutput):
        pairs.Pair(silent, lambda n, emit: None, "x.conc").check(3)


def test_a_program_that_panics_fails():
    with pytest.raises(Failed, match="P003"):
        pairs.Pair(SOURCE.replace("size() * 2", "1 / (size() - 9)"), doubling, "x.conc").check(9)


def test_a_program_that_does_not_compile_fails():
    with pytest.raises(Failed, match="E1001"):
        pairs.Pair(SOURCE.replace("size() * 2", "nothing_here"), doubling, "x.conc").check(9)


def test_a_program_without_sizes_is_refused():
    with pytest.raises(ValueError, match="sizes"):
        pairs.Pair('fn main() { emit("a", 1); }', doubling, "x.conc")


def test_require():
    require([1], [1])
    with pytest.raises(WrongOutput, match="gave 2, expected 1"):
        require(2, 1)


def test_opcodes_are_counted():
    single, double = frequencies(["fib"], apart=True)
    assert sum(single.values()) == pytest.approx(1000)
    assert single["CALL"] == pytest.approx(single["SUB_INT"], rel=0.05)
    assert double["CALL", "LOAD"] > 0
    fused, _ = frequencies(["fib"])
    assert sum(fused.values()) == pytest.approx(1000)
    program = pairs.pair("fib").concerto(2)
    with counted() as seen:
        program.run()
    noted = len(seen)
    program.run()
    assert noted > 10 and len(seen) == noted
