"""A run's journal from its beginning: the header of a new one, one that records into a file, one that gives a file again, and the
end row of an outcome (G-14.1, O-9.33).

Hands on `new_header`, `recorder`, `player`, `stored`, `require_image`, `require_run_of_main` and `end_of` to the command line and
the Python API, the first two to notebooks too, and `given_again` to the Python API (`api/stored_calls.py`). Where a run survives
its process is `run_store.py`.
"""

from __future__ import annotations

import json

from ...vm.panics import Panic
from ...vm.snapshot.envelope import identity_of
from ...vm.values import to_json
from .effect_file import EffectFileReader, EffectFileWriter
from .journal import Journal
from .rows import EmitRow, EndRow, Header, JournalRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.interp.link import Program
    from ..session.session import Outcome
    from .run_store import Claim, RunRow, RunStore


SEED_BITS = 62


def new_header(
    program: Program, args: Sequence[str], seed: int | None, wall: float, offline: bool, secure_bytes: Callable[[int], bytes]
) -> Header:
    """Return the header of a run that begins at `wall`, in seconds since 1970, with a new id, and a seed of its own where none is
    given. `secure_bytes(n)` gives n bytes that nobody can foresee."""
    if seed is None:
        seed = int.from_bytes(secure_bytes(8), "big") >> (64 - SEED_BITS)
    name, image = program.image.header.name, identity_of(program)
    return Header(
        program=name, image=image, run=run_id(secure_bytes), args=list(args), seed=seed, wall=wall, offline=offline,
        trust=program.trust,
    )  # fmt: skip


def run_id(secure_bytes: Callable[[int], bytes]) -> str:
    """Return a new id of a run: 16 hexadecimal digits."""
    return secure_bytes(8).hex()


def require_image(header: Header, program: Program, where: str) -> None:
    """Raise JournalRefused unless a recording is of the program; `where` names the recording in the message."""
    identity = identity_of(program)
    if header.image != identity:
        raise JournalRefused(
            f"{where} is of {header.program} with the image {header.image}; this is {program.image.header.name}, {identity}: "
            "run the program that was recorded, or record it anew"
        )


def require_run_of_main(run: RunRow) -> None:
    """Raise JournalRefused for a call that a server makes: who goes on with that has to know how it is told and answered."""
    if run.call is not None:
        raise JournalRefused(
            f"the run {run.id} is a call of {run.call['function']} that a server makes: `concerto serve` with its store goes on "
            "with it"
        )


def recorder(
    path: str, header: Header, real_time: Callable[[], float], real_wall: Callable[[], float], redact: Sequence[str] = ()
) -> Journal:
    """Return the journal of a new run that is recorded into a new file, without what stands at the paths of `redact`. OSError
    where it cannot be made."""
    return Journal(header, sink=EffectFileWriter(path, header), real_time=real_time, real_wall=real_wall, redact=redact)


def player(
    path: str, program: Program, extends: bool, real_time: Callable[[], float], real_wall: Callable[[], float],
    faults: Mapping[str, str] | None = None,
) -> Journal:  # fmt: skip
    """Return the journal of a run that gets the outcomes of a file, with failures before some of them (`faults`). With `extends`
    what the run asks for beyond its end is performed and appended. OSError, and JournalRefused for what is no effect file, or one
    of another program."""
    emits = _count_emits(path) if extends else 0
    reader = EffectFileReader(path)
    try:
        require_image(reader.header, program, path)
        sink = _AfterReading(path, reader)
        return Journal(
            reader.header, sink=sink if extends else None, recorded=iter(reader), goes_on=extends, real_time=real_time,
            real_wall=real_wall, emits=(emits, 0), close=reader.close, faults=faults,
        )  # fmt: skip
    except BaseException:
        reader.close()
        raise


def _count_emits(path: str) -> int:
    reader = EffectFileReader(path)
    try:
        return sum(isinstance(row, EmitRow) for row in reader)
    finally:
        reader.close()


def stored(
    store: RunStore, claim: Claim, real_time: Callable[[], float], real_wall: Callable[[], float], answers: dict[str, Any], *,
    tells_all: bool = False,
) -> Journal:  # fmt: skip
    """Return the journal with which a run of a store is gone on with, under a claim; `answers` are added to those that the store
    has for it, as plain forms by effect key. With `tells_all` listeners hear all emits again, else those that may not have been
    heard. What the run has left out of its rows (`redact`) is left out of further ones. Raises JournalRefused."""
    row = store.run(claim.run)
    known = {**store.answers(claim.run), **answers}
    claim.has_answers = bool(known)
    return Journal(
        row.header, sink=claim, recorded=store.rows(claim.run), goes_on=True, answers=known, real_time=real_time,
        real_wall=real_wall, emits=(row.emits, 0 if tells_all else row.told), redact=row.redact or (),
    )  # fmt: skip


class _AfterReading:
    """The sink of a file that is read first and then gone on with; without anything new the file stays as it is."""

    parks = False

    def __init__(self, path: str, reader: EffectFileReader) -> None:
        self.path = path
        self.reader = reader
        self.writer: EffectFileWriter | None = None

    def commit(self, rows: Sequence[Any], told: int = 0, waits: Sequence[Any] = ()) -> None:
        if self.writer is None:
            try:
                self.writer = EffectFileWriter(self.path, self.reader.header, self.reader)
            except OSError as error:
                why = error.strerror or str(error)
                raise JournalRefused(f"cannot write {self.path}: {why}; what is in it can be gone on with (--extend)") from None
        self.writer.commit(rows)

    def renew(self) -> None:
        """Do nothing: nobody else goes on with a file."""

    def forget_answer(self, key: str) -> None:
        """Do nothing: a file keeps no answers."""

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def given_again(store: RunStore, run: RunRow, real_time: Callable[[], float], real_wall: Callable[[], float]) -> Journal:
    """Return the journal by which a run of a store that is over is made again, with all emits and its end, asking nobody."""
    return Journal(run.header, sink=None, recorded=store.rows(run.id), real_time=real_time, real_wall=real_wall)


def end_of(outcome: Outcome | None, clean: Callable[[str], str]) -> EndRow:
    """Return the end row of an outcome, which is None for a run that was cancelled. `clean` takes secrets out of its texts and
    its value; one that has no JSON form is left out."""
    if outcome is None:
        return EndRow("cancelled")
    if outcome.panic is not None:
        return EndRow("panic", clean(outcome.panic.message), outcome.panic.code)
    if outcome.error is not None:
        return EndRow("error", clean(outcome.message), str(getattr(outcome.error, "variant", None) or ""))
    try:
        return EndRow("ok", value=json.loads(clean(to_json(outcome.value))))
    except (Panic, ValueError):  # a value without a JSON form
        return EndRow("ok")



