"""Code bytes to instructions and back: one byte opcode, its operand as unsigned LEB128 (V-3.3).

Hands on `instructions` and `encode_instructions`. Refuses unknown opcodes (V101) and malformed operands (V102);
whether an operand means anything is the verifier's question. Must not know: images, functions.
"""

from __future__ import annotations

from itertools import accumulate

from . import leb128
from . import operands as k
from .image import ImageError
from .opcodes import OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Instruction = tuple[int, int, int, int]  # offset, opcode number, operand (0 without one), offset of the next

HAS_OPERAND = tuple(op.kind is not k.NONE for op in OPCODES)
IS_LABEL = tuple(op.kind is k.LABEL for op in OPCODES)


def instructions(code: bytes) -> list[Instruction]:
    """All instructions in order; ImageError V101 or V102 with the offset."""
    found, fault = scan(code, len(code))
    if fault is not None:
        raise fault
    ends = [offset for offset, _, _ in found[1:]] + [len(code)]
    return [(*instruction, end) for instruction, end in zip(found, ends, strict=False)]


def scan(code: bytes, most: int) -> tuple[list[tuple[int, int, int]], ImageError | None]:
    """(offset, opcode number, operand) up to the first fault, and that fault: V101, V102, or V126 for more than `most`
    instructions."""
    found: list[tuple[int, int, int]] = []
    add = found.append
    at, end, known, has_operand = 0, len(code), len(OPCODES), HAS_OPERAND
    crowded = end > most  # else there cannot be too many
    while at < end:
        number = code[at]
        if number >= known:
            return found, ImageError("V101", f"offset {at}: no opcode has the number {number}")
        if crowded and len(found) >= most:
            return found, ImageError("V126", f"offset {at}: there are too many instructions")
        if not has_operand[number]:
            add((at, number, 0))
            at += 1
        elif at + 1 < end and code[at + 1] < 0x80:  # nearly all operands are one byte
            add((at, number, code[at + 1]))
            at += 2
        else:
            try:
                operand, following = leb128.read(code, at + 1)
            except ValueError as error:
                return found, ImageError("V102", f"offset {at}: {OPCODES[number].name}: {error}")
            add((at, number, operand))
            at = following
    return found, None


def encode_instructions(
    program: Sequence[tuple[int, int]], guess: dict[int, int] | None = None
) -> tuple[bytes, list[int]]:
    """(code, offset of each instruction and of the end). A label operand is the index of its target instruction;
    `guess` gives offsets to assume first for some of those indexes. Labels begin as short as possible and grow until
    they fit."""
    offsets = _settle(program, dict(guess or ()))
    out = bytearray()
    add, has_operand, is_label = out.append, HAS_OPERAND, IS_LABEL
    for number, operand in program:
        add(number)
        if has_operand[number]:
            written = offsets[operand] if is_label[number] else operand
            if 0 <= written < 0x80:
                add(written)
            else:
                leb128.append(out, written)
    return bytes(out), offsets


def _settle(program: Sequence[tuple[int, int]], guess: dict[int, int]) -> list[int]:
    """Offsets under which every label has the width of its target's offset; widths only grow, so this ends."""
    has_operand, is_label, width = HAS_OPERAND, IS_LABEL, leb128.width
    widths = [
        1 if not has_operand[number] else 2 if operand < 0x80 else 1 + width(operand) for number, operand in program
    ]
    jumps = [(index, operand) for index, (number, operand) in enumerate(program) if is_label[number]]
    for index, target in jumps:
        widths[index] = 1 + width(guess.get(target, 0)) if guess else 2
    while True:
        offsets = [0, *accumulate(widths)]
        narrow = [
            (index, target) for index, target in jumps if offsets[target] >= 0x80 and widths[index] < 1 + width(offsets[target])
        ]
        if not narrow:
            break
        for index, target in narrow:
            widths[index] = 1 + width(offsets[target])
    if guess and any(widths[index] > 1 + width(offsets[target]) for index, target in jumps):
        return _settle(program, {})  # the guess was too long for what the program has become
    return offsets
