"""V-8.9: a snapshot of a run that waits at a model call, five frames deep with ten small values, written and read again; M-14.6:
one after an append to a log of many messages.
"""

from __future__ import annotations

import asyncio
from typing import Any

from concerto.runtime.providers.base import Provider
from concerto.runtime.records import Reply
from concerto.runtime.session.session import Session
from concerto.runtime.session.state import Snapshots, resume, snapshot

from ..execution import Concerto, Failed, require
from ..figures import Figure, Target
from ..sampling import Plan, Samples, interleave

TIME, SIZE = Target("V-8.9", 1), Target("V-8.9", 16)
ROUNDS = 100

PROGRAM = """\
model M { provider: openai, base: "m" }
struct Place { town: String, number: Int }
fn deeper(depth: Int, names: Array<String>, place: Place, seen: Map<String, Int>) -> Result<String, AgentError> {
    let pair = (depth, "pair");
    let half = 0.5;
    if depth > 1 { return Ok("${deeper(depth - 1, names, place, seen)?} ${pair} ${half}"); }
    Ok(M.execute("what is at ${place.town}?")?.text)
}
fn main() -> Result<Nil, AgentError> {
    let said = deeper(4, ["a", "b"], Place { town: "Bonn", number: 7 }, { "x": 1 })?;
    emit("said", said);
    Ok(nil)
}
"""


class Measuring(Provider):
    """Asked for a reply, it writes and reads the run that waits for it."""

    name = "measuring"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.session: Any = None
        self.samples: list[Samples] = []
        self.size = 0

    async def send(self, request: Any) -> Reply:
        data = snapshot(self.session)
        self.size = len(data)
        self.samples = interleave([self._write, lambda: self._read(data)], self.plan)
        return Reply("a house", model="m", tokens_in=1, tokens_out=1)

    def _write(self) -> None:
        for _ in range(ROUNDS):
            snapshot(self.session)

    def _read(self, data: bytes) -> None:
        for _ in range(ROUNDS):
            resume(self.session, data)


def snapshots(plan: Plan) -> list[Figure]:
    program = Concerto(PROGRAM)
    provider = Measuring(plan)
    program.provider = lambda name: provider
    emits: list[tuple[str, Any]] = []
    provider.session = Session(program.program, program.host(emits))
    outcome = asyncio.run(provider.session.run())
    if outcome.exit_code:
        raise Failed(str(outcome.panic or outcome.error))
    said = "a house" + "".join(f" ({depth}, pair) 0.5" for depth in (2, 3, 4))
    require(emits, [("said", said)])
    written, read = provider.samples
    note = "a run that waits at a model call, 5 frames, 10 small values"
    return [
        Figure("snapshot", written.median / ROUNDS * 1e3, "ms", TIME, spread=written.spread, note=f"written: {note}"),
        Figure("snapshot_read", read.median / ROUNDS * 1e3, "ms", spread=read.spread, note="read into a new machine"),
        Figure("snapshot_size", provider.size / 1024, "KiB", SIZE, note="of the same"),
        *_news(plan),
    ]


def _news(plan: Plan) -> list[Figure]:
    """Of a session that does nothing else."""
    program = Concerto("memory log: Memory = Memory::new();\nfn main() { }")
    session = Session(program.program, program.host([]))
    log, size = session.memories["log"], 1_000 if plan.quick else 100_000
    for number in range(size):
        log.append("user", f"message {number}")
    snapshots = Snapshots(session)
    whole = len(snapshots.write())

    def written() -> int:
        log.append("user", "one more")
        return len(snapshots.write())

    new = written()
    require(new < 1_000 < whole, True)
    (samples,) = interleave([lambda: [written() for _ in range(ROUNDS)]], plan)
    note = f"after one more message in a log of {size:,}"
    return [
        Figure("snapshot_news", samples.median / ROUNDS * 1e3, "ms", spread=samples.spread, note=f"written {note}"),
        Figure("snapshot_news_size", new / 1024, "KiB", note=f"{note}; all of it has {whole / 1024:,.0f} KiB"),
    ]
