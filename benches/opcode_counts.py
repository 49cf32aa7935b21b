#!/usr/bin/env python3
"""How often each opcode runs over benches/programs: `benches/opcode_counts.py [--pairs N] [--apart] [NAME ...]`.

`--pairs` shows the commonest neighbours; `--apart` counts a run of opcodes that one node stands for as its opcodes. Counts with a
copy of the generated loop that notes each instruction.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from concerto.vm.generated import loop  # noqa: E402
from concerto.vm.interp import machine  # noqa: E402

from benches import pairs  # noqa: E402

FETCH = "            op, arg, ins, near, far, side = ins\n"
OPCODES = {number: (name,) for name, number in loop.NUMBERS.items()} | {row[0]: run for run, row in loop.FUSED.items()}


def counting_loop(note: Callable[[list[Any]], None]) -> Any:
    """The interpreter loop that hands each node to `note` before it runs."""
    file = Path(loop.__file__)
    text = file.read_text(encoding="utf-8")
    if text.count(FETCH) != 1:
        raise SystemExit(f"{file}: the line that fetches an instruction is not found")
    namespace = {"__name__": loop.__name__, "__package__": loop.__package__}
    exec(compile(text.replace(FETCH, f"            note(ins); {FETCH.lstrip()}"), str(file), "exec"), namespace)
    namespace["note"] = note
    return namespace["run"]


@contextmanager
def watched(note: Callable[[list[Any]], None]) -> Iterator[None]:
    """While it lasts, machines run the counting loop, which hands each node to `note`."""
    usual, machine.run_loop = machine.run_loop, counting_loop(note)
    try:
        yield
    finally:
        machine.run_loop = usual


@contextmanager
def counted() -> Iterator[list[int]]:
    """While it lasts, the number of each instruction that machines run is added to the list."""
    seen: list[int] = []
    with watched(lambda node: seen.append(node[0])):
        yield seen


def trace(name: str, apart: bool = False) -> list[str]:
    """The instructions a program runs, at its test size times ten at most, in order."""
    pair = pairs.pair(name)
    program = pair.concerto(min(pair.quick, pair.test * 10))
    with counted() as seen:
        program.run()
    if apart:
        return [opcode.partition("/")[0] for number in seen for opcode in OPCODES[number]]
    return [" ".join(OPCODES[number]) for number in seen]


def frequencies(names: list[str], apart: bool = False) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Parts per thousand of each opcode and of each pair of neighbours; a long program weighs no more than a short one."""
    single: Counter[str] = Counter()
    double: Counter[tuple[str, str]] = Counter()
    for name in names:
        opcodes = trace(name, apart)
        part = 1000 / len(opcodes) / len(names)
        for opcode, count in Counter(opcodes).items():
            single[opcode] += count * part
        for neighbours, count in Counter(zip(opcodes, opcodes[1:], strict=False)).items():
            double[neighbours] += count * part
    return dict(single.most_common()), dict(double.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description="How often each opcode runs over benches/programs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; default all")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="show the N commonest pairs of neighbours too")
    parser.add_argument("--apart", action="store_true", help="count fused instructions as their opcodes")
    options = parser.parse_args()
    single, double = frequencies(options.names or pairs.names(), options.apart)
    for name, parts in single.items():
        print(f"{parts:7.1f}  {name}")
    for (first, second), parts in list(double.items())[: options.pairs]:
        print(f"{parts:7.1f}  {first} {second}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
