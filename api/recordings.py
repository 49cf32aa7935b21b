"""Recordings and durable runs in Python: which journal the options of a session ask for, and how it ends (O-9.33 to O-9.36,
O-9.77).

Hands on `Journaling`, one for each session, with ENDED and `Suspended`, which end its calls, and `Continued` and `Rehearsed`, the
runs that it may get, to `session`; `resumable` and `Rehearsed` to `program`; and `idempotency_key` to whoever imports the
package. What a journal does is said in `runtime/journal/`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..runtime.breaker import Breakers
from ..runtime.host import IDEMPOTENCY_KEY, Host
from ..runtime.journal.journal import Fenced, Journal
from ..runtime.journal.journal import Suspended as Suspended
from ..runtime.journal.recording import (
    end_of,
    new_header,
    player,
    recorder,
    require_image,
    require_run_of_main,
    stored,
)
from ..runtime.journal.rows import JournalRefused
from ..runtime.prompt_cache import PromptCaches
from ..runtime.session.session import Outcome
from ..vm.bytecode import image as im
from ..vm.bytecode.encoding import encode
from ..vm.interp.link import Program, load_bytes
from .results import ImageError, RecordingError, RunResult, Wait

if TYPE_CHECKING:
    from ..runtime.journal.run_store import Claim, RunRow, RunStore  # brings SQLite, which few sessions need
    from .stored_calls import StoredCall

ENDED = (Fenced, JournalRefused)  # what ends a run whose journal can keep nothing more


class Continued:
    """A run of `store` that a session goes on with under a claim; `answers` are what the host answers in it, JSON data by effect
    key. The session closes the store."""

    def __init__(self, store: RunStore, claim: Claim, answers: Mapping[str, Any]) -> None:
        self.store = store
        self.claim = claim
        self.answers = answers

    def journal(self, real_time: Callable[[], float], real_wall: Callable[[], float]) -> Journal:
        """Return the journal of the session. Raises JournalRefused."""
        forms = {key: {"json": value} for key, value in self.answers.items()}
        return stored(self.store, self.claim, real_time, real_wall, forms)


class Rehearsed:
    """A run of a store that a session tries under another image (G-13.10); it leaves the store open."""

    store = None

    def __init__(self, of: RunStore, run: RunRow) -> None:
        self.of = of
        self.run = run

    def journal(self, real_time: Callable[[], float], real_wall: Callable[[], float]) -> Journal:
        """Return the journal of the session. Raises JournalRefused."""
        from ..runtime.journal.rehearsal import Rehearsal

        return Rehearsal(self.of, self.run, real_time, real_wall)


class Journaling:
    """The journal of a session, which `host` gets. `options` are those of the session, `resumed` a run of a store that it goes on
    with, or rehearses. `journal` is None for a session without one, and after `end`; `last` the outcome of the last call, which
    the session sets; `store` the run store, None without one. Raises ValueError for options that do not fit together,
    RecordingError for a file or store that is refused, OSError for one that cannot be opened."""

    def __init__(
        self, program: Program, options: Mapping[str, Any], host: Host,
        resumed: Continued | Rehearsed | StoredCall | None = None,
    ) -> None:  # fmt: skip
        asked = [name for name in ("record", "replay", "store") if options.get(name) is not None]
        if len(asked) > 1:
            raise ValueError(f"{' and '.join(asked)}: a session has one journal; choose one of them")
        if options.get("faults") and asked != ["replay"]:
            raise ValueError("faults come before requests of the recording that `replay` names")
        if options.get("extend") and asked != ["replay"]:
            raise ValueError("extend goes on with the recording that `replay` names")
        self.program = program
        self.host = host
        self.is_resumed = resumed is not None
        self.store: RunStore | None = None
        self.last: Outcome | None = None
        self.journal: Journal | None = None
        times = (time.monotonic, time.time)
        self.recorded: str | None = None  # the file that `record` has made
        self.redact = redact = list(options.get("redact", ()))
        try:
            if resumed is not None:
                self.store, self.journal = resumed.store, resumed.journal(*times)
                host.args = self.journal.header.args
            elif options.get("replay") is not None:
                extends, faults = bool(options.get("extend")), options.get("faults")
                self.journal = player(os.fspath(options["replay"]), program, extends, *times, faults)
            elif asked:
                header = new_header(program, [], options.get("seed"), time.time(), host.offline, os.urandom)
                if options.get("record") is not None:
                    recorded = os.fspath(options["record"])
                    self.journal = recorder(recorded, header, *times, redact)
                    self.recorded = recorded
                else:
                    from ..runtime.journal.run_store import RunStore

                    self.store = RunStore(os.fspath(options["store"]), time.time)
                    self.journal = Journal(header, sink=None, real_time=times[0], real_wall=times[1], redact=redact)
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None
        if self.journal is not None:
            host.breakers, host.prompt_caches = Breakers(), PromptCaches()  # those of the process know what no row has
            host.offline = self.journal.header.offline
        host.journal = self.journal

    def drop(self) -> None:
        """Take back what a session has begun that could not be made: close its store or recording, and remove a new one. A run
        that it was to go on with stays with who has claimed it."""
        journal, self.journal = self.journal, None
        if journal is None or self.is_resumed:
            return
        journal.close(None)
        if self.recorded is not None:
            os.unlink(self.recorded)
        if self.store is not None:
            self.store.close()

    @property
    def run(self) -> str | None:
        """The id of the run in a store, None without a store."""
        return None if self.store is None or self.journal is None else self.journal.header.run

    def begin(self, args: Sequence[str]) -> None:
        """Add the run to its store, if it has one and is new. Raises RecordingError."""
        journal = self.journal
        if self.store is None or journal is None or journal.sink is not None:
            return
        journal.header.args = list(args)
        try:
            journal.sink = self.store.begin(journal.header, encode(self.program.image), {"redact": self.redact})
        except JournalRefused as refused:
            raise RecordingError(str(refused)) from None

    def waits(self) -> tuple[Wait, ...]:
        """Return what a suspended run waits for, nothing of one that does not wait."""
        suspended = [] if self.journal is None else self.journal.suspended
        return tuple(Wait(one["key"], one["channel"], one["value"]) for one in suspended)

    def end(self, clean: Any) -> None:
        """Write the end of the session, which is that of its last call; of a run of a store that is not over, nothing. `clean`
        returns a text without secrets. Raises RecordingError for a recording that has more than was asked for, and for a store
        that fails. Called again it does nothing."""
        journal, self.journal = self.journal, None
        if journal is None:
            return
        outcome = self.last
        unused = journal.unused() if outcome is not None and outcome.panic is None else None
        try:
            journal.close(None if outcome is None else end_of(outcome, clean))
        except ENDED as refused:
            raise RecordingError(str(refused)) from None
        finally:
            if self.store is not None:
                self.store.close()
        if unused is not None:
            raise RecordingError(f"P406: {unused}")


def idempotency_key() -> str | None:
    """Return the key of the call that a tool, handler or other function of the host is made for now: 32 hexadecimal digits, the
    same for every attempt in any process, for a service that must not do the same thing twice. None elsewhere, and in a session
    without a journal (`record`, `replay` or `store`)."""
    return IDEMPOTENCY_KEY.get()


def resumable(
    run: str, path: str, take_over: bool, answers: Mapping[str, Any], other: Program | None,
    rehearse: Callable[[Rehearsed], RunResult],
) -> tuple[Continued, Program]:  # fmt: skip
    """Return a run of a store to go on with, and its program, from the image in the store; `other`, None for none, is a
    program that the run goes on under from now on, and `rehearse` runs that with the journal of the run (G-13.10). Raises
    RecordingError for a store or run that is refused, a run that is over, one that another process holds, unless `take_over`,
    and one that stays with its image; ImageError for its image."""
    from ..runtime.journal.run_store import RunStore

    store: RunStore | None = None
    try:
        store = RunStore(path, time.time, must_exist=True)
        row = store.run(run)
        require_run_of_main(row)
        if other is not None:
            return Continued(store, _moved(store, row, take_over, other, rehearse), answers), other
        program = load_bytes(store.image(row.header.image))
        require_image(row.header, program, f"{store.name}: the run {row.id}")
        return Continued(store, store.claim(row.id, take_over=take_over), answers), program
    except JournalRefused as refused:
        _close(store)
        raise RecordingError(str(refused)) from None
    except im.ImageError as refused:
        _close(store)
        raise ImageError(refused.code, refused.message) from None
    except BaseException:  # of `rehearse`
        _close(store)
        raise


def _moved(
    store: RunStore, row: RunRow, take_over: bool, other: Program, rehearse: Callable[[Rehearsed], RunResult]
) -> Claim:
    from ..runtime.journal.rehearsal import move, stays

    if row.outcome is None:
        try:
            result = rehearse(Rehearsed(store, row))
        except RecordingError as refused:
            raise stays(row, str(refused)) from None
        if not result.waits:
            why = "it ends well where the run waits for an answer" if result.error is None else result.error.message
            raise stays(row, why)
    claim = store.claim(row.id, take_over=take_over)
    try:
        move(store, claim, row, other)
    except JournalRefused:
        claim.close()
        raise
    return claim


def _close(store: RunStore | None) -> None:
    if store is not None:
        store.close()
