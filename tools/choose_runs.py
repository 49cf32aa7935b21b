#!/usr/bin/env python3
"""Writes tools/loop_runs.txt, which `gen_loop.py` reads: how often opcodes run, and which runs of opcodes are worth lines of
their own in the loop.

Counted is what the compiler makes of the conformance suite and of `examples/`, never of `benches/`, which measure the loop. A
function that several programs have counts once; an instruction within a loop counts a hundred times. A run is chosen for the
nodes that it saves beside those chosen before. `--runs N` and `--longest N` change how many there are and how many opcodes one
has at most.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.interp import link
from gen_loop import RUNS, read_meanings
from loop_compose import Library, Run

ROOT = Path(__file__).resolve().parent.parent
MANY, LONGEST = 64, 4
INNER = 100  # how much more an instruction within a loop counts
ALONE = 1.5  # nodes that are saved, so to speak, where an opcode with a group of known size has lines of its own
# How many parts of ten thousand come to the weight 10. Weights grow with the root, since other programs run other opcodes.
UNIT = 10_000

Segment = tuple[str, ...]  # instructions that are only entered at the first one
Function = tuple[tuple[int, ...], tuple[int, ...]]  # its opcodes, and those that jumps go to


def programs() -> Iterator[bytes]:
    """Yield the sources of the programs that are counted; those of several files are left out."""
    for path in sorted([*(ROOT / "conformance" / "tests").rglob("*.conc"), *(ROOT / "examples").rglob("*.conc")]):
        text = path.read_bytes()
        if b"//-----" not in text:  # several files
            yield from text.split(b"\n//=====\n")


class Counts:
    """What the functions of all programs consist of. `segments`: the weight of each; `constants`: that of the opcodes which runs
    call CONST; `functions`: those that have been counted."""

    def __init__(self) -> None:
        self.segments: Counter[Segment] = Counter()
        self.constants: Counter[str] = Counter()
        self.functions: set[Function] = set()

    def add(self, program: link.Program) -> None:
        """Count the functions of a program. The linker calls `cut` for each meanwhile."""
        fuse, link.fuse = link.fuse, self.cut  # which sees the nodes of each function before it is linked to an end
        try:
            for code in program.codes:
                program.link(code)
        finally:
            link.fuse = fuse

    def cut(self, nodes: list[list[Any]], opcodes: list[int], targets: set[int]) -> None:
        """Count the segments of a function, in place of the linker's `fuse`. `nodes` are its instructions, `opcodes` their
        numbers, `targets` the indexes that jumps go to."""
        function = tuple(opcodes), tuple(sorted(targets))
        if function in self.functions:
            return
        self.functions.add(function)
        names = link.run_names(nodes, opcodes)
        looped = in_loops(nodes, opcodes)
        starts = {*targets, *(at + 1 for at, opcode in enumerate(opcodes) if OPCODES[opcode].flow in ("jump", "stop"))}
        at = 0
        for end in [*sorted(starts - {0, len(names)}), len(names)]:
            weight = INNER if at in looped else 1
            self.segments[tuple(names[at:end])] += weight
            for name, opcode in zip(names[at:end], opcodes[at:end], strict=True):
                self.constants[OPCODES[opcode].name] += weight * (name == "CONST")
            at = end


def in_loops(nodes: list[list[Any]], opcodes: list[int]) -> set[int]:
    """Return the indexes of the instructions between a jump back and where it goes."""
    index_of = {id(node): index for index, node in enumerate(nodes)}
    indexes: set[int] = set()
    for index, opcode in enumerate(opcodes):
        if OPCODES[opcode].name == "JUMP":
            target = nodes[index][1][0]
            head = index_of.get(id(target))
            if head is None:  # the node that counts the rounds of a loop stands before it
                head = index_of[id(target[2])]
            indexes.update(range(head, index + 1))
    return indexes


class Choice:
    """Segments in nodes, for the runs that have been chosen so far. `gains` has how many nodes each possible run would save,
    weighted; `within` the segments that hold it; `tiles` the lengths of the nodes of a segment; `longest` is how many opcodes a
    run has at most."""

    def __init__(self, library: Library, weights: Counter[Segment], longest: int) -> None:
        self.library = library
        self.weights = weights
        self.longest = longest
        self.runs: set[Segment] = set()
        self.impossible: set[Segment] = set()
        self.gains: defaultdict[Segment, float] = defaultdict(float)
        self.within: defaultdict[Segment, set[Segment]] = defaultdict(set)
        self.tiles = {segment: link.tiling(list(segment), set(), self.runs, link.lengths_of(())) for segment in weights}
        for segment in weights:
            self.count(segment, 1)

    def count(self, segment: Segment, sign: int) -> None:
        """Add what the runs that are possible in a segment would save (`sign` 1), or take it back (-1)."""
        weight, tiles, at = self.weights[segment], self.tiles[segment], 0
        saved: dict[Segment, float] = {}  # a run that a segment repeats counts once: it says more of that program than of others
        for first in range(len(tiles)):
            end = at
            for last in range(first, len(tiles)):
                end += tiles[last]
                if end - at > self.longest:
                    break
                run = segment[at:end]
                if (last > first or "/" in run[0]) and run not in self.runs and run not in self.impossible:
                    saved[run] = max(saved.get(run, 0), (last - first) or ALONE)
            at += tiles[first]
        for run, nodes in saved.items():
            self.gains[run] += sign * weight * nodes
            self.within[run].add(segment)

    def choose(self) -> Segment:
        """Choose the run that saves most, and return it. Raise ValueError if no run is left."""
        while not self.is_possible(run := max(self.gains, key=lambda run: (self.gains[run], run))):
            self.impossible.add(run)
            del self.gains[run]
        self.runs.add(run)
        lengths = link.lengths_of(self.runs)
        for segment in self.within[run]:
            self.count(segment, -1)
            self.tiles[segment] = link.tiling(list(segment), set(), self.runs, lengths)
            self.count(segment, 1)
        del self.gains[run]
        return run

    def is_possible(self, run: Segment) -> bool:
        """Return whether the opcodes can stand behind one another in one body."""
        try:
            Run(self.library, run).body()
        except AssertionError:
            return False
        return True

    def counts(self) -> Counter[Segment]:
        """Return how often each node runs, once in a segment."""
        node_counts: Counter[Segment] = Counter()
        for segment, weight in self.weights.items():
            at = 0
            nodes = set()
            for length in self.tiles[segment]:
                run = segment[at : at + length]
                if run == link.GROWING:
                    run = ("__".join(run),)
                elif length == 1 and run not in self.runs:
                    run = (run[0].partition("/")[0],)
                nodes.add(run)
                at += length
            for run in nodes:
                node_counts[run] += weight
        return node_counts


def main() -> int:
    """Write the file; return the exit status 0. Raise SystemExit as `read_meanings`, ValueError where no run is left to
    choose."""
    parser = argparse.ArgumentParser(description="Choose the runs of opcodes that have lines of their own in the loop.")
    parser.add_argument("--runs", type=int, default=MANY, help="how many")
    parser.add_argument("--longest", type=int, default=LONGEST, help="how many opcodes one has at most")
    options = parser.parse_args()
    counted = Counts()
    for source in programs():
        image = compile_source(source, "main.conc").image
        if image is not None:
            counted.add(link.load_image(image))
    choice = Choice(read_meanings()[0], counted.segments, options.longest)
    for _ in range(options.runs):
        choice.choose()
    counts = choice.counts()
    constants, total = counts.pop(("CONST",)), sum(counts.values())
    for name, count in counted.constants.items():
        counts[(name,)] += round(constants * count / counted.constants.total())
    rows = {run: round(10 * (UNIT * counts[run] / total) ** 0.5) for run in {*counts, *choice.runs}}
    lines = [f"{max(weight, 1)} {' '.join(run)}\n" for run, weight in sorted(rows.items(), key=lambda row: (-row[1], row[0]))]
    head = "# Written by `python tools/choose_runs.py`: the weights of opcodes and of runs in the search tree of the loop.\n"
    RUNS.write_text(head + "".join(lines), encoding="utf-8")
    print(f"wrote {RUNS.relative_to(ROOT)}: {len(choice.runs)} runs in {len(lines)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
