"""Numbers, instructions, line tables: each form and its inverse (V-3.3)."""

from __future__ import annotations

import pytest
from concerto.vm.bytecode import fields
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.encoding import decode_lines, encode_instructions, encode_lines, instructions, position_at
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.opcodes import BY_NAME, FLOWS, OPCODES
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.integers(0, fields.LARGEST)


@given(st.lists(NUMBERS))
def test_numbers(numbers: list[int]) -> None:
    out = bytearray()
    for number in numbers:
        before = len(out)
        fields.append(out, number)
        assert len(out) - before == fields.width(number)
        assert fields.read(bytes(out), before) == (number, len(out))
    assert fields.read_all(bytes(out)) == numbers


@pytest.mark.parametrize("data", ["", "80", "8000", "ff00", "ffffffff7f", "8080808010", "808080808001"])
def test_malformed_numbers(data: str) -> None:
    with pytest.raises(ValueError, match="number"):
        fields.read(bytes.fromhex(data), 0)


@pytest.mark.parametrize("number", [-1, fields.LARGEST + 1])
def test_numbers_out_of_range(number: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        fields.append(bytearray(), number)


@pytest.mark.parametrize("number", [0, 1, -1, 2, -2, 1 << 28, -(1 << 28)])
def test_zigzag(number: int) -> None:
    table = encode_lines([(0, 0, 1 << 28, 1), (1, 0, (1 << 28) + number, 2)])
    assert decode_lines(table)[1] == (1, 0, (1 << 28) + number, 2)
    assert fields.zigzag(number) >= 0


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Any opcodes; label operands are indexes of instructions, the end included."""
    rows = draw(st.lists(st.sampled_from(OPCODES), max_size=60))
    padding = draw(st.sampled_from([0, 30, 60, 100, 8000]))
    rows += [BY_NAME["INT"]] * padding
    operand = {k.LABEL: st.integers(0, len(rows)), k.NONE: st.just(0)}
    small = st.integers(0, 300)
    return [(op.number, draw(operand.get(op.kind, small)) if index < 60 else 5) for index, op in enumerate(rows)]


@given(programs())
def test_instructions(program: list[tuple[int, int]]) -> None:
    code, offsets = encode_instructions(program)
    found = instructions(code)
    assert [offset for offset, *_ in found] + [len(code)] == offsets
    assert [following for *_, following in found] == offsets[1:]
    expected = [(n, offsets[operand] if OPCODES[n].kind is k.LABEL else operand) for n, operand in program]
    assert [(number, operand) for _, number, operand, _ in found] == expected


@given(programs(), st.dictionaries(st.integers(0, 60), st.integers(0, 1 << 20)))
def test_a_wrong_guess_changes_nothing_but_width(program: list[tuple[int, int]], guess: dict[int, int]) -> None:
    code, offsets = encode_instructions(program, guess)
    assert [offset for offset, *_ in instructions(code)] + [len(code)] == offsets


def test_labels_grow_with_their_distance() -> None:
    jump, nil = BY_NAME["JUMP"].number, BY_NAME["NIL"].number
    for gap, size in ((125, 2), (126, 3)):
        code, offsets = encode_instructions([(jump, gap + 1), *[(nil, 0)] * gap, (nil, 0)])
        assert offsets[1] == size and instructions(code)[0][2] == offsets[gap + 1] == gap + size


@pytest.mark.parametrize(("code", "rule"), [("ff", "V101"), ("01", "V102"), ("0180", "V102"), ("018000", "V102")])
def test_malformed_code(code: str, rule: str) -> None:
    with pytest.raises(ImageError, match=f"^{rule}: offset 0"):
        instructions(bytes.fromhex(code))


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    offsets = sorted(draw(st.sets(st.integers(0, 1000), max_size=12)))
    small = st.integers(0, 400)
    return [(offset, draw(st.integers(0, 3)), draw(small), draw(small)) for offset in offsets]


@given(runs())
def test_lines(table: list[tuple[int, int, int, int]]) -> None:
    lines = encode_lines(table)
    for offset in range(0, 1001, 7):
        before = [run for run in table if run[0] <= offset]
        assert position_at(lines, offset) == (before[-1][1:] if before else (0, 0, 0))
    assert encode_lines(decode_lines(lines)) == lines


def test_lines_leave_repetitions_out() -> None:
    assert encode_lines([(0, 0, 1, 1), (2, 0, 1, 1), (4, 0, 1, 2)]) == encode_lines([(0, 0, 1, 1), (4, 0, 1, 2)])


@pytest.mark.parametrize("table", [[(4, 0, 1, 1), (2, 0, 2, 1)], [(4, 0, 1, 1), (4, 0, 2, 1)]])
def test_lines_ascend(table: list[tuple[int, int, int, int]]) -> None:
    with pytest.raises(ValueError, match="line table"):
        encode_lines(table)


@pytest.mark.parametrize("lines", ["00", "0005", "000500", "000401", "00070001"])
def test_malformed_lines(lines: str) -> None:
    with pytest.raises(ValueError, match="line table"):
        decode_lines(bytes.fromhex(lines))


def test_the_table_is_whole() -> None:
    assert len({op.name for op in OPCODES}) == len(OPCODES) <= 256
    for op in OPCODES:
        assert op.flow in FLOWS and op.kind in k.KINDS and op.doc and not op.doc.endswith(".")
        assert sum(name.endswith("*") for name in op.pops) <= 1
        assert not any(name.endswith("*") for name in op.pushes)
        counted = (k.COUNT, k.VARIANT, k.FUNCTION, k.METHOD, k.BUILTIN, k.HOST, k.TYPE, k.ERROR, k.EXTERN)
        assert not op.starred or op.kind in counted
        assert (op.kind is k.LABEL) == (op.flow in ("jump", "branch", "iterate"))
