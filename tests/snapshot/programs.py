"""Runs that are written and read again, and the program whose runs have a part of every kind in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.vm.interp.link import Program, load_image

EVERYTHING = Path(__file__).with_name("everything.conc").read_text(encoding="utf-8")


def program_of(source: str) -> Program:
    compiled = compile_source(source.encode(), "main.conc", emit=True, read=lambda name: None)
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.ordered()]
    return load_image(compiled.image)


class Between(Session):
    """Does something between each two steps; `steps` counts them."""

    between: Callable[[Between], None] = staticmethod(lambda session: None)
    steps = 0

    def is_waiting(self) -> bool:
        """Whether anything that the host performs is awaited."""
        return any(task.effect is not None for root in self.machine.roots for task in root.subtree())

    def _step(self) -> list[Any]:
        self.steps += 1
        self.between(self)
        return super()._step()


class Run:
    """One run, offline and in no time."""

    def __init__(self, program: Program, between: Callable[[Between], None], tier: str = "interp", folder: str = ".") -> None:
        loop = OfflineLoop()
        self.emits: list[tuple[str, str]] = []
        host = Host(
            emit=lambda channel, value, by_runtime: self.emits.append((channel, repr(value))), print=lambda text: None,
            env={"MY_TOKEN": "hunter2hunter2"}, now=loop.time, sleep=loop.sleep, random=lambda: 0.5, loop=loop, wall=loop.time,
            offline=True, tier=tier, folder=folder, answer=self.answer, log=lambda level, text: None,
        )  # fmt: skip
        self.session = Between(program, host)
        self.session.between = between  # type: ignore[method-assign]
        if tier == "both":
            self.session.machine.tiers(True, at_once=True, counted=True)

    async def answer(self, channel: str, value: Any, run: Any) -> Any:
        return value

    def outcome(self, **limits: Any) -> Outcome:
        return run_offline(self.session, **{"steps": 20_000, "depth": 200, **limits})

    def shown(self, **limits: Any) -> Any:
        """All that a program can tell of its run."""
        outcome = self.outcome(**limits)
        panic = outcome.panic
        return self.emits, repr(outcome.value), panic and (panic.code, panic.message), outcome.trace, outcome.fuel
