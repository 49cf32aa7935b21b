"""The short way to run a program (O-9.6).

Hands on `run` and `arun`.
"""

from __future__ import annotations

from typing import Unpack

from ..vm.bytecode.codec import MAGIC
from .compiling import PathLike, compile, load
from .options import Options
from .programs import Program
from .results import RunResult


def run(target: Program | PathLike, **options: Unpack[Options]) -> RunResult:
    """Run `main` of a program, or of a source or image file, in a session of its own. Failures are in the result."""
    with _program(target).session(**options) as session:
        return session.run()


async def arun(target: Program | PathLike, **options: Unpack[Options]) -> RunResult:
    """As `run`, within a running event loop."""
    async with _program(target).session(**options) as session:
        return await session.arun()


def _program(target: Program | PathLike) -> Program:
    if isinstance(target, Program):
        return target
    with open(target, "rb") as file:
        is_image = file.read(len(MAGIC)) == MAGIC
    return load(target) if is_image else compile(path=target)
