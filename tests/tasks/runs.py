"""A program run on a virtual clock, with a provider whose replies take the time their prompts name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.providers.base import Provider
from concerto.runtime.records import Reply
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.runtime.session.testing import VirtualLoop
from concerto.vm.interp.link import load_image


class Slow(Provider):
    """Answers the prompt `NAME MILLISECONDS` with NAME when that time has passed."""

    name = "slow"
    free_and_instant = True
    unmetered = False

    def __init__(self, sleep: Callable[[float], Any]) -> None:
        self.sleep = sleep
        self.asked: list[str] = []
        self.stopped: list[str] = []

    async def send(self, request: Any) -> Reply:
        name, milliseconds = request.messages[-1].content.split()
        self.asked.append(name)
        try:
            await self.sleep(int(milliseconds) / 1000)
        except BaseException:
            self.stopped.append(name)
            raise
        return Reply(name, model="m", tokens_in=1, tokens_out=1)


class Run:
    """`asyncio`: on asyncio's loop with the virtual clock of the suite, else on the loop of offline runs."""

    def __init__(self, source: str, *, asyncio: bool = False, **limits: Any) -> None:
        compiled = compile_source(source.encode(), "main.conc", emit=True, read=lambda name: None)
        assert compiled.image is not None, compiled.diagnostics.ordered()
        self.emits: list[tuple[str, Any]] = []
        loop: Any = VirtualLoop(0, self.tick) if asyncio else OfflineLoop()
        self.loop = loop
        self.slow = Slow(_asyncio_sleep if asyncio else loop.sleep)
        host = Host(
            emit=lambda channel, value, by_runtime: None if by_runtime else self.emits.append((channel, value)),
            print=lambda text: None, env={}, now=loop.time, sleep=self.slow.sleep, random=lambda: 0.5,
            provider=lambda name: self.slow, loop=loop, wall=loop.time,
        )  # fmt: skip
        self.session = Session(load_image(compiled.image), host)
        self.limits = limits

    def tick(self, until: int | None) -> None:
        assert until is not None, "the run waits for something that cannot come"
        self.loop.now_ms = until

    def finish(self) -> Outcome:
        try:
            return run_offline(self.session, **self.limits)
        finally:
            if isinstance(self.loop, VirtualLoop):
                self.loop.close()

    @property
    def log(self) -> list[str]:
        """The replies in the memory `log`."""
        return [m.content for m in self.session.memories["log"].messages() if m.role == "assistant"]


async def _asyncio_sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)
