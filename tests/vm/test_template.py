"""The loop does what the functions say that it is generated from (V-2.5): programs of the suite run on both, to the same end."""

from __future__ import annotations

import asyncio
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import Image
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.interp import link, machine, template
from concerto.vm.values import display

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = sorted((ROOT / "conformance" / "tests").rglob("*.conc"))
EVERY = 9  # of the suite's programs one is run
STEPS = (150, 4000)  # fuel of the runs: a short one ends at an instruction somewhere in the middle


class Clock:
    """Waiting moves it, and nothing else does."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def images() -> list[tuple[str, Image]]:
    found = []
    for path in PROGRAMS[::EVERY]:
        text = path.read_bytes()
        for number, chunk in enumerate([] if b"//-----" in text else text.split(b"\n//=====\n")):
            image = compile_source(chunk, "main.conc").image
            if image is not None and image.header.entry is not None:
                found.append((f"{path.name} {number}", image))
    return found


def ran(image: Image, steps: int, tier: str = "interp") -> dict[str, Any]:
    """What can be seen of a run in an empty directory."""
    seen: list[Any] = []
    clock = Clock()
    host = Host(
        emit=lambda channel, value, by_runtime: seen.append((channel, display(value))), print=seen.append, env={}, now=clock.now,
        sleep=clock.sleep, wall=clock.now, random=lambda: 0.5, offline=True, tier=tier,
    )  # fmt: skip
    session = Session(link.load_bytes(encode(image)), host)
    with TemporaryDirectory() as directory, chdir(directory):
        if image.agents:  # processes need asyncio
            outcome = asyncio.run(session.run(steps=steps, depth=50))
        else:
            outcome = run_offline(session, steps=steps, depth=50)
    panic = outcome.panic
    place = None if panic is None else (panic.code, str(panic), panic.position, panic.trace)
    return {"seen": seen, "panic": place, "error": outcome.error and display(outcome.error), "fuel": outcome.fuel}


def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on programs run call by call, without runs of opcodes."""
    monkeypatch.setattr(machine, "run_loop", template.run)
    monkeypatch.setattr(link, "fuse", lambda *_: None)


@pytest.mark.parametrize("steps", STEPS)
def test_programs_do_the_same_on_the_template(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = images()
    assert len(cases) > 100
    generated = [ran(image, steps) for _, image in cases]
    plainly(monkeypatch)
    ends = set()
    for (name, image), expected in zip(cases, generated, strict=True):
        assert ran(image, steps) == expected, name
        ends.add(expected["panic"] and expected["panic"][0])
    assert None in ends and ("P101" in ends or steps > STEPS[0])


LOOPS = """
fn double(n: Int) -> Int { let mut sum = 0; for i in 0..n { sum += i % 7; } sum }
fn main() { let mut all = 0; for i in 0..100 { all += double(i); } emit("all", all); let none: Array<Int> = []; none[all] }
"""


def test_the_template_hands_over_to_translated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """ENTER and LOOP, which a run on the interpreter alone does not need."""
    image = compile_source(LOOPS.encode(), "main.conc").image
    assert image is not None
    calls: list[str] = []
    usual = machine.Machine.translated_call

    def noted(self: machine.Machine, *rest: Any) -> Any:
        calls.append("call")
        return usual(self, *rest)

    monkeypatch.setattr(machine.Machine, "translated_call", noted)
    expected = ran(image, 1_000_000, "both")
    plainly(monkeypatch)
    calls.clear()
    assert ran(image, 1_000_000, "both") == expected
    assert calls and expected["seen"] and expected["panic"][0] == "P004"


def test_each_opcode_that_moves_has_a_function_in_the_template() -> None:
    moving = {op.name for op in OPCODES if op.flow != "next"}
    assert moving <= set(vars(template))
