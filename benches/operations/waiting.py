"""V-8.8: a thousand model calls that wait side by side, on asyncio, for a provider that answers after 100 ms."""

from __future__ import annotations

import asyncio
import tracemalloc
from time import perf_counter
from typing import Any

from concerto.runtime.providers.base import Provider
from concerto.runtime.records import Reply
from concerto.runtime.session.session import Session

from ..execution import Concerto, Failed, require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

CALLS = 1000
SECONDS = 0.1
TARGET = Target("V-8.8", 300)

PROGRAM = f"""\
model M {{ provider: openai, base: "m" }}
fn main() {{
    let texts = parallel for n in 0..{CALLS} {{ M.execute("${{n}}")?.text }};
    emit("answers", texts.filter(|t| t.is_ok()).len());
}}
"""


class Patient(Provider):
    """Answers after `SECONDS`; notes what is allocated when the last of all calls has begun to wait."""

    name = "patient"

    def __init__(self) -> None:
        self.waiting = 0
        self.allocated = 0

    async def send(self, request: Any) -> Reply:
        self.waiting += 1
        if self.waiting == CALLS and tracemalloc.is_tracing():
            self.allocated = tracemalloc.get_traced_memory()[0]
        await asyncio.sleep(SECONDS)
        return Reply("yes", model="m", tokens_in=1, tokens_out=1)


def concurrent_calls(plan: Plan) -> list[Figure]:
    program = Concerto(PROGRAM)
    require(_run(program, Patient()), [("answers", CALLS)])
    (samples,) = interleave([lambda: _run(program, Patient())], plan, perf_counter)
    note = f"{CALLS:,} calls of {SECONDS * 1000:.0f} ms, wall time"
    return [
        Figure("waiting_calls", samples.median * 1000, "ms", TARGET, spread=samples.spread, note=note),
        Figure("waiting_call", _bytes_a_call(program) / 1024, "KiB", note="allocated per call while all of them wait"),
    ]


def _run(program: Concerto, patient: Patient) -> list[tuple[str, Any]]:
    program.provider = lambda name: patient
    emits: list[tuple[str, Any]] = []
    host = program.host(emits)
    host.sleep = asyncio.sleep
    outcome = asyncio.run(Session(program.program, host).run())
    if outcome.exit_code:
        raise Failed(str(outcome.panic or outcome.error))
    return emits


def _bytes_a_call(program: Concerto) -> float:
    patient = Patient()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        _run(program, patient)
        return (patient.allocated - before) / CALLS
    finally:
        tracemalloc.stop()
