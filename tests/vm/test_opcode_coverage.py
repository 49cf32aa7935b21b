"""No dead rows (V-2.7): each opcode is produced by the compiler for some program of the suite and reached when that runs.

The generated loop marks each opcode's lines with a comment; a trace of the loop's lines says which ran.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.encoding import instructions
from concerto.vm.bytecode.opcodes import OPCODES
from concerto.vm.generated import loop
from concerto.vm.interp.link import Program, load_image

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = sorted((ROOT / "conformance" / "tests").rglob("*.conc"))


def chunks(path: Path) -> list[bytes]:
    text = path.read_bytes()
    return [] if b"//-----" in text else text.split(b"\n//=====\n")


def lines_of_opcodes() -> dict[int, str]:
    """Line of the loop's file: the opcode whose body it belongs to."""
    source, first = inspect.getsourcelines(loop.run)
    found, name, depth = {}, "", 0
    for number, line in enumerate(source, first):
        indent = len(line) - len(line.lstrip())
        marker = re.match(r"\s+# ([A-Z][A-Z_/0-9 ]*)$", line)
        if marker:
            name, depth = marker.group(1), indent
        elif indent < depth:  # back in the search tree
            name = ""
        found[number] = name
    return found


class Reached:
    """Collects the opcodes whose lines the loop runs; a fused node stands for each of its own."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.lines = lines_of_opcodes()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self.in_loop if frame.f_code is loop.run.__code__ else None

    def in_loop(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.names.update(re.sub(r"__|/\d", " ", self.lines[frame.f_lineno]).split())
        return self.in_loop


class Clock:
    """Waiting moves it, and nothing else does: who waits for a minute gets it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def run_program(program: Program) -> None:
    clock = Clock()
    host = Host(
        emit=lambda channel, value, by_runtime: None, print=lambda text: None, env={}, now=clock.now, sleep=clock.sleep,
        random=lambda: 0.5, offline=True,
    )  # fmt: skip
    session = Session(program, host)
    if program.image.agents:  # processes need asyncio; none is started without permission
        asyncio.run(session.run(steps=4000, depth=50))
    else:
        run_offline(session, steps=4000, depth=50)


def test_every_opcode_is_produced_and_reached() -> None:
    produced: set[str] = set()
    reached = Reached()
    wanted = {op.name for op in OPCODES}
    for path in PROGRAMS:
        for chunk in chunks(path):
            result = compile_source(chunk, "main.conc")
            if result.image is None or result.image.header.entry is None:
                continue
            names = {OPCODES[number].name for f in result.image.functions for _, number, _, _ in instructions(f.code)}
            if names <= reached.names:
                continue  # nothing new in it
            produced |= names
            program = load_image(result.image)
            sys.settrace(reached)
            try:
                run_program(program)
            finally:
                sys.settrace(None)
    assert wanted - produced == set()
    assert wanted - reached.names == set()
