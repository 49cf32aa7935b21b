"""Runs of linked opcodes that one node stands for (speed.md, 2).

Hands on `fuse`. Must not know: what the nodes do.
"""

from __future__ import annotations

from .bytecode import operands as k
from .bytecode.opcodes import OPCODES
from .generated.loop import FUSED, node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .linked import Code

# Runs know one opcode that pushes what its linked operand is.
_CONSTANTS = ("INT", "NIL", "TRUE", "FALSE", "NONE", "MODEL", "MEMORY", "SCHEMA", "TOOL")
_NAMES = ["CONST" if op.name in _CONSTANTS else op.name for op in OPCODES]
_HAS_OPERAND = {op.name: op.kind is not k.NONE for op in OPCODES}


def _lengths() -> dict[tuple[str, ...], tuple[int, ...]]:
    """The lengths of the runs that become one node, longest first, by their first two opcodes."""
    found: dict[tuple[str, ...], set[int]] = {}
    for run in FUSED:
        found.setdefault(run[:2], set()).add(len(run))
    return {pair: tuple(sorted(lengths, reverse=True)) for pair, lengths in found.items()}


_LENGTHS = _lengths()


def fuse(code: Code, nodes: list[list[Any]], opcodes: list[int], targets: set[int]) -> None:
    """Replace runs of opcodes by one node each, so that as few nodes as possible are left. A run is entered at its first opcode
    only, so the nodes inside are never reached; they stay in place for positions."""
    names = [_NAMES[opcode] for opcode in opcodes]
    lengths = _fewest(names, targets)
    at = 0
    while at < len(nodes):
        length = lengths[at]
        if length > 1:
            number, fault = FUSED[tuple(names[at : at + length])]
            operands = tuple(nodes[i][1] for i in range(at, at + length) if _HAS_OPERAND[names[i]])
            nodes[at][:] = node(number, operands, nodes[at + length - 1][2])
            code.faults[at + length] = at + fault
        at += length


def _fewest(names: list[str], targets: set[int]) -> list[int]:
    """The length of the run that begins at each opcode, 1 for none, if there are to be the fewest from there to the end."""
    chosen = [1] * len(names)
    left = [0] * (len(names) + 1)
    for at in range(len(names) - 1, -1, -1):
        left[at] = left[at + 1] + 1
        for length in _LENGTHS.get(tuple(names[at : at + 2]), ()):
            end = at + length
            fits = end <= len(names) and tuple(names[at:end]) in FUSED and targets.isdisjoint(range(at + 1, end))
            if fits and left[end] < left[at] - 1:
                left[at], chosen[at] = left[end] + 1, length
    return chosen
