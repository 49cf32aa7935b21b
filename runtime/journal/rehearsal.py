"""Whether a run that waits may go on under another image (G-13.10): its journal is given to the new program, which must ask for
the same operations in the same order, make the same emits, and then wait for the same answers.

Hands on `Rehearsal`, the journal of such a trial, and `move` to `resume` of the command line and of the Python API,
`require_same_run` to the former, `stays` to the latter. A rehearsal asks nobody, tells nobody and changes nothing. A run is gone
on with by giving its journal to a program that begins anew, so what has returned matters as much as what stands on the stacks,
and only the journal can tell whether a change of the program is one of the run.
"""

from __future__ import annotations

from ...vm.bytecode.encoding import encode
from ...vm.snapshot.envelope import identity_of
from .forms import brief, difference, digest_of, without_infinities
from .journal import Diverged, Fenced, Journal, Suspended
from .rows import EmitRow, JournalRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...vm.interp.link import Program
    from .rows import Row
    from .run_store import Claim, RunRow, RunStore


class Rehearsal(Journal):
    """The journal of a rehearsal of `run`, a run of `store` that waits. A call under it ends by Suspended where the run could go
    on, and by a panic, or as the program does, where it could not. `real_time` and `real_wall` as in Journal. Raises
    JournalRefused for a run that does not wait."""

    def __init__(
        self, store: RunStore, run: RunRow, real_time: Callable[[], float], real_wall: Callable[[], float]
    ) -> None:
        if not run.waits:
            raise JournalRefused(f"the run {run.id} is {run.state}; only a run that waits for an answer goes to another image")
        self._waits = {wait["key"]: wait for wait in run.waits}
        self._emits: list[EmitRow] = []  # of the recording, as far as it was read
        super().__init__(
            run.header, sink=None, recorded=self._read(store.rows(run.id)), real_time=real_time, real_wall=real_wall
        )

    def _read(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if isinstance(row, EmitRow):
                self._emits.append(row)
            yield row

    def emit(self, channel: str | None, value: Any, by_runtime: bool, tell: Callable[[], object]) -> None:
        """Compare an emit with the recorded one, and end the run by Diverged where it is another; listeners have heard the
        recorded one."""
        at, self._told = self._told, self._told + 1
        what = "the printed text" if channel is None else f"the emit on {channel}"
        if at >= len(self._emits):
            self.end_by(Diverged(f"{what} {brief(value)} is not in the recording"))
            return
        recorded = self._emits[at]
        if recorded.channel != channel or digest_of(without_infinities(recorded.value)) != digest_of(value):
            said = "printed" if recorded.channel is None else f"emitted on {recorded.channel}"
            self.end_by(Diverged(f"{what} {brief(value)} is another one than the run has {said}: {brief(recorded.value)}"))

    def _stand_still(self) -> None:
        asked = {key: waiter for key, waiter in self._waiting.items() if waiter[1] != "limit"}
        if self._next is not None or not asked:
            super()._stand_still()
            return
        unasked = sorted(self._waits.keys() - asked.keys())
        for key, (_, kind, _, request, _) in sorted(asked.items()):
            wait = self._waits.get(key)
            is_same = wait is not None and digest_of(_question(wait)) == digest_of(_question(request))
            if wait is None or kind != wait["kind"]:
                wanted = f"effect {key} ({kind}) is not what the run waits for: {brief(request)}"
            elif not is_same:
                where = difference(_question(wait), _question(request)) or "the digests differ"
                wanted = f"effect {key} ({kind}) asks something else than the run waits for: {where}"
            else:
                continue
            self.end_by(Diverged(wanted))
            return
        if unasked:
            self.end_by(Diverged(f"effect {unasked[0]}, which the run waits for, is not asked for"))
        elif self._told < len(self._emits):
            self.end_by(Diverged(f"an emit of the run is not made: {brief(self._emits[self._told].value)}"))
        else:
            self.suspended = list(self._waits.values())
            self.end_by(Suspended())


def _question(plain: dict[str, Any]) -> dict[str, Any]:
    return {"channel": plain["channel"], "value": without_infinities(plain["value"])}  # as a waiting run tells it


def require_same_run(run: RunRow, rehearse: Callable[[], Any]) -> None:
    """Raise JournalRefused unless the run can go on under the program whose `main` is called by `rehearse`, with a Rehearsal as
    its journal; `rehearse` returns the outcome of that call. Raises what `rehearse` raises, but for Suspended."""
    try:
        outcome = rehearse()
    except Suspended:
        return
    ended = f"the program ends {'well' if outcome.error is None else 'with an error'} where the run waits for an answer"
    raise stays(run, ended if outcome.panic is None else f"{outcome.panic.code}: {outcome.panic.message}")


def stays(run: RunRow, why: str) -> JournalRefused:
    """Return the failure of a run that cannot go on under another image."""
    return JournalRefused(f"the run {run.id} stays with its image, since the new one does not do what the run has done: {why}")


def move(store: RunStore, claim: Claim, run: RunRow, program: Program) -> None:
    """Let a run go on under the image of a program, of which a rehearsal has shown that it can. Raises JournalRefused where the
    run has gone on since, or another process has taken it."""
    header = run.header.under(program.image.header.name, identity_of(program), program.trust)
    try:
        store.move(claim, run, header, encode(program.image))
    except Fenced as fenced:
        raise JournalRefused(str(fenced)) from None
