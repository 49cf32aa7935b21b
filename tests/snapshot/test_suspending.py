"""What a run stands on where it suspends: the stack as the stack map says (G-4.2), no frame of translated code (G-13.11)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.runtime.session.state import snapshot
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.generated.loop import NUMBERS
from concerto.vm.jit.tier import Tier
from concerto.vm.snapshot.kinds import is_iterator

from ..fuzz.campaign import suite_programs
from .programs import EVERYTHING, Between, Run, program_of

WALKS = """
pub fn slow(n: Int) -> Int { std::time::sleep(1); n }
fn deep(n: Int) -> Int { let mut sum = 0; for a in 0..3 { for b in [slow(a), n] { sum += 1 + (2 * (3 - slow(b))); } } sum }
fn caught(n: Int) -> Int { let mut sum = 0; for a in [1, 2] { sum += try { 4 + fails(slow(a))? } catch { slow(n) + a }; } sum }
fn fails(n: Int) -> Result<Int, String> { if n > 1 { Err("no") } else { Ok(slow(n)) } }
fn plain(n: Int) -> Int { let mut sum = 0; for i in 0..n { sum += i; } sum }
fn main() { emit("out", [deep(2) + plain(9), caught(3), [1, 2].map(|x| slow(x) + plain(x))[1]]); }
"""


def frames_of(task: Any) -> list[tuple[Any, Any]]:
    """Code and next instruction of each frame that has begun, outermost first."""
    ins, _, _, code, _ = task.state
    return [(one[3], one[0]) for one in [*task.frames[1:], (ins, None, None, code)] if one[0][0] != NUMBERS["LINK"]]


class Standing:
    """Looks at every task between two steps; `points` are the places where some frame stood."""

    def __init__(self) -> None:
        self.points: set[tuple[str, int]] = set()
        self.iterators = 0

    def __call__(self, session: Between) -> None:
        for task in [task for root in session.machine.roots for task in root.subtree()]:
            if task.state is None or not frames_of(task):
                continue
            held = [*task.stack, task.state[4]][1:]
            expected: list[bool] = []
            frames = frames_of(task)
            for number, (code, ins) in enumerate(frames):
                at = next(at for at, node in enumerate(code.nodes) if node is ins)
                facts = session.machine.program.verified.functions[code.number]
                before = OPCODES[facts.instructions[at - 1][1]]
                depth = facts.depths[at]
                missing = len(before.pushes)  # what a call or an effect gives is not there yet
                if number == len(frames) - 1:
                    missing = depth - (len(held) - len(expected))
                    assert missing in (0, len(before.pushes)), "the innermost frame awaits one value or none"
                expected += [bool(facts.iterators[at] >> position & 1) for position in range(depth - missing)]
                self.points.add((code.label, at))
            assert [is_iterator(value) for value in held] == expected, frames
            self.iterators += sum(expected)


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize("source", [EVERYTHING, WALKS], ids=["everything", "walks"])
def test_the_stack_is_what_the_stack_map_says(source: str, tier: str) -> None:
    standing = Standing()
    Run(program_of(source), standing, tier).outcome()
    assert len(standing.points) >= 8 and standing.iterators > 5


def test_the_stack_is_what_the_stack_map_says_in_the_suite() -> None:
    standing = Standing()
    for program in suite_programs():
        text = next(iter(program.files.values()), "")
        alone = program.operation == "run" and len(program.files) == 1 and not program.rejects
        if alone and program.level in (2, 3) and "sleep" in text:
            Run(program_of(text), standing).outcome()
    assert len(standing.points) > 30


def test_no_function_that_can_suspend_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each point where a run suspends, no translated code is under way, and both tiers write the same."""
    program = program_of(WALKS)
    inside = 0
    entered: set[str] = set()
    original = Tier.run

    def counted(tier: Tier, *arguments: Any) -> Any:
        nonlocal inside
        inside += 1
        try:
            return original(tier, *arguments)
        finally:
            inside -= 1

    monkeypatch.setattr(Tier, "run", counted)

    def outside(session: Between) -> None:
        assert inside == 0

    written: dict[str, list[bytes]] = {"interp": [], "both": []}
    for tier, seen in written.items():

        def looked(session: Between, seen: list[bytes] = seen) -> None:
            outside(session)
            seen.append(snapshot(session))

        run = Run(program, looked, tier)
        assert run.outcome().panic is None
        if tier == "both":
            entered = {program.codes[at].label for at, made in run.session.machine._tier().functions.items() if made is not None}
    assert written["interp"] == written["both"] and len(written["both"]) > 20
    assert "plain" in entered and not entered & {"slow", "deep", "caught", "fails", "main"}
