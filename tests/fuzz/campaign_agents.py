"""Agents that hang, flood, die, fork and do not want to end, in an order of chance: no process or descriptor is left (G-2.23)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random

from concerto.runtime.agents import child as children
from concerto.runtime.errors import CallFailure

from ..agents.children import Deaf, agent, run
from ..agents.test_process import HOSTILE, running
from .campaign import Campaign, Figures


def cycles(seed: int, cases: int) -> Figures:
    chance = random.Random(seed)
    mark = f"concerto-campaign-{os.getpid()}"
    grace, children.TERMINATION_GRACE = children.TERMINATION_GRACE, 0.1
    before = len(os.listdir("/proc/self/fd"))
    ran = answered = 0

    async def every() -> None:
        nonlocal ran, answered
        for _ in range(cases):
            source = HOSTILE[chance.choice(sorted(HOSTILE))]
            patience = 0.2 if "sleep" in source or "while" in source else 5
            made = agent(f"# {mark}\n{source}".replace("MARK", mark), output_format="json", timeout=patience)
            work = asyncio.ensure_future(made.exchange("x", (), Deaf()))
            if chance.random() < 0.2:
                await asyncio.sleep(chance.uniform(0, 0.1))
                work.cancel()  # a run that is cancelled meanwhile
            with contextlib.suppress(CallFailure, asyncio.CancelledError):
                await work
                answered += 1
            ran += 1
            await made.stop()

    try:
        run(every())
    finally:
        children.TERMINATION_GRACE = grace
    assert not running(mark), f"seed {seed}: {running(mark)}"
    assert len(os.listdir("/proc/self/fd")) <= before, f"seed {seed}"
    return {"cycles": ran, "answers": answered}


CAMPAIGNS = [Campaign("hostile agents", "G-2.23", 8, 500, cycles, part=50)]
