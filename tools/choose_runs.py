#!/usr/bin/env python3
"""Writes tools/loop_runs.txt, which `gen_loop.py` reads: how often opcodes run, and which runs of opcodes are worth lines of
their own in the loop.

Four groups of programs decide: the conformance suite, `examples/`, the unseen programs of the benches, and the benches of V-8.2.
Of the first two, few of which compute anything, the code is counted as the compiler makes it: a function that several programs
have counts once, an instruction within a loop a hundred times. Programs of the other two run, each counts alike, and what they
run is counted. PARTS says how much each group counts. A run is chosen for the nodes that it saves beside those chosen before and
those of tools/loop_kept.txt, which the file holds too. `--runs N` and `--longest N` change how many are chosen and how many
opcodes one has at most; a jump behind another run may make it longer.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.interp import link
from gen_loop import RUNS, read_meanings
from loop_compose import Library, Run

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from benches import opcode_counts, pairs, unseen  # noqa: E402

KEPT = ROOT / "tools" / "loop_kept.txt"
MANY, LONGEST = 96, 6
INNER = 100  # how much more an instruction within a loop counts, where code is counted
ALONE = 1.5  # nodes that are saved, so to speak, where an opcode with a group of known size has lines of its own
WHOLE = 10**12  # what all counts add up to, about
PARTS = (0.05, 0.05, 0.45, 0.45)  # of the groups
UNIT = 10_000  # of how many parts of all nodes the weights in the file are; a weight is 1 at least

Segment = tuple[str, ...]  # instructions that are only entered at the first one
Function = tuple[tuple[int, ...], tuple[int, ...]]  # its opcodes, and those that jumps go to


def programs(folder: str) -> Iterator[bytes]:
    """Yield the sources of the programs in a folder of the repository; those of several files are left out."""
    for path in sorted((ROOT / folder).rglob("*.conc")):
        text = path.read_bytes()
        if b"//-----" not in text:  # several files
            yield from text.split(b"\n//=====\n")


class Counts:
    """What the code of programs consists of. `segments`: the weight of each; `constants`: that of the opcodes which runs call
    CONST; `functions`: those that have been counted."""

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

    def cut(self, nodes: list[list[Any]], opcodes: list[int], targets: set[int], apart: set[int]) -> None:
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
            self.note(names[at:end], opcodes[at:end], INNER if at in looped else 1)
            at = end

    def note(self, names: list[str], opcodes: list[int], weight: int) -> None:
        """Count one segment, given the names of its instructions and their numbers."""
        self.segments[tuple(names)] += weight
        for name, opcode in zip(names, opcodes, strict=True):
            self.constants[OPCODES[opcode].name] += weight * (name == "CONST")

    def scaled(self, whole: int) -> Counts:
        """Return the counts in proportion, all instructions together counting `whole`."""
        scaled = Counts()
        total = sum(weight * len(segment) for segment, weight in self.segments.items())
        scaled.segments.update({segment: weight * whole // total for segment, weight in self.segments.items()})
        scaled.constants.update({name: weight * whole // total for name, weight in self.constants.items()})
        return scaled

    def include(self, other: Counts) -> None:
        """Add other counts."""
        self.segments.update(other.segments)
        self.constants.update(other.constants)


class Watch:
    """What a program runs. `counts` has the segments that it has run; `nodes` are its instructions by identity, each with its
    name in the table of runs, its number, and the identity of the one behind it."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.nodes: dict[int, tuple[str, int, int]] = {}
        self._held: list[list[list[Any]]] = []  # so that no other node gets the identity of one
        self._names: list[str] = []  # of the segment that runs now
        self._numbers: list[int] = []
        self._expected = 0

    def enter(self, nodes: list[list[Any]], opcodes: list[int], targets: set[int], apart: set[int]) -> None:
        """Take the instructions of a function, in place of the linker's `fuse`, so that each is a node."""
        self._held.append(nodes)
        for at, name in enumerate(link.run_names(nodes, opcodes)):
            self.nodes[id(nodes[at])] = name, opcodes[at], id(nodes[at][2])

    def note(self, node: list[Any]) -> None:
        """Take the next node that runs; one of linked code only belongs to no segment."""
        row = self.nodes.get(id(node))
        if row is None:
            return
        name, number, following = row
        if id(node) != self._expected:
            self.end()
        self._names.append(name)
        self._numbers.append(number)
        self._expected = 0 if OPCODES[number].flow in ("jump", "stop") else following

    def end(self) -> None:
        """Count the segment that runs now."""
        if self._names:
            self.counts.note(self._names, self._numbers, 1)
            self._names, self._numbers = [], []


def counts_of(name: str) -> Counts:
    """Run a bench in the interpreter, and return how often it ran each segment."""
    pair = pairs.pair(name)
    watch = Watch()
    fuse, link.fuse = link.fuse, watch.enter
    try:
        with opcode_counts.watched(watch.note):
            pair.concerto(min(pair.quick, pair.test * 10)).run()
    finally:
        link.fuse = fuse
    watch.end()
    return watch.counts


def samples() -> Iterator[tuple[float, Counts]]:
    """Yield what is counted, and how much it counts beside the rest: the suite, `examples/`, and each bench."""
    for folder, part in zip(("conformance/tests", "examples"), PARTS, strict=False):
        counts = Counts()
        for source in programs(folder):
            image = compile_source(source, "main.conc").image
            if image is not None:
                counts.add(link.load_image(image))
        yield part, counts
    for names, part in zip((unseen.names(), pairs.names()), PARTS[2:], strict=True):
        for name in names:
            yield part / len(names), counts_of(name)


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
    run has at most; `kept` are chosen already."""

    def __init__(self, library: Library, weights: Counter[Segment], longest: int, kept: Iterable[Segment] = ()) -> None:
        self.library = library
        self.weights = weights
        self.longest = longest
        self.runs: set[Segment] = set(kept)
        self.impossible: set[Segment] = set()
        self.gains: defaultdict[Segment, float] = defaultdict(float)
        self.within: defaultdict[Segment, dict[Segment, None]] = defaultdict(dict)
        lengths = link.lengths_of(self.runs)
        self.tiles = {segment: link.tiling(list(segment), self.runs, lengths) for segment in weights}
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
                is_jump = last == first + 1 and segment[end - 1] == "JUMP" and tiles[last] == 1
                if last > first and end - at > self.longest and not is_jump:
                    break
                run = segment[at:end]
                if (last > first or "/" in run[0]) and run not in self.runs and run not in self.impossible:
                    saved[run] = max(saved.get(run, 0), (last - first) or ALONE)
            at += tiles[first]
        for run, nodes in saved.items():
            self.gains[run] += sign * weight * nodes
            self.within[run][segment] = None

    def choose(self) -> Segment:
        """Choose the run that saves most, and return it. Raise ValueError if no run is left."""
        while not self.is_possible(run := max(self.gains, key=lambda run: (self.gains[run], run))):
            self.impossible.add(run)
            del self.gains[run]
        self.runs.add(run)
        lengths = link.lengths_of(self.runs)
        for segment in self.within[run]:
            self.count(segment, -1)
            self.tiles[segment] = link.tiling(list(segment), self.runs, lengths)
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

    def counts(self, weights: Counter[Segment]) -> Counter[Segment]:
        """Return how often each node runs, for segments with these weights."""
        node_counts: Counter[Segment] = Counter()
        lengths = link.lengths_of(self.runs)
        for segment, weight in weights.items():
            at = 0
            for length in self.tiles.get(segment) or link.tiling(list(segment), self.runs, lengths):
                run = segment[at : at + length]
                if run == link.GROWING:
                    run = ("__".join(run),)
                elif length == 1 and run not in self.runs:
                    run = (run[0].partition("/")[0],)
                node_counts[run] += weight
                at += length
        return node_counts


def main() -> int:
    """Write the file; return the exit status 0. Raise SystemExit as `read_meanings`, ValueError where no run is left to
    choose."""
    parser = argparse.ArgumentParser(description="Choose the runs of opcodes that have lines of their own in the loop.")
    parser.add_argument("--runs", type=int, default=MANY, help="how many")
    parser.add_argument("--longest", type=int, default=LONGEST, help="how many opcodes one has at most")
    options = parser.parse_args()
    parts = list(samples())
    whole = Counts()
    for part, counts in parts:
        whole.include(counts.scaled(round(WHOLE * part)))
    kept = [tuple(line.split()) for line in KEPT.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    choice = Choice(read_meanings()[0], whole.segments, options.longest, kept)
    for _ in range(options.runs):
        choice.choose()
    shares: Counter[Segment] = Counter()
    for part, counts in parts:
        nodes = choice.counts(counts.segments)
        constants, total = nodes.pop(("CONST",), 0), counts.constants.total()
        for name, count in counts.constants.items():
            nodes[name,] += round(constants * count / total) if total else 0
        for run, count in nodes.items():
            shares[run] += part * count / nodes.total()
    rows = {run: round(UNIT * shares[run]) for run in {*shares, *choice.runs}}
    lines = [f"{max(weight, 1)} {' '.join(run)}\n" for run, weight in sorted(rows.items(), key=lambda row: (-row[1], row[0]))]
    head = "# Written by `python tools/choose_runs.py`: the weights of opcodes and of runs in the search tree of the loop.\n"
    RUNS.write_text(head + "".join(lines), encoding="utf-8")
    print(f"wrote {RUNS.relative_to(ROOT)}: {len(choice.runs)} runs in {len(lines)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
