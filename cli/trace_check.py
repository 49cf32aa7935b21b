"""`concerto trace FILE --check PROGRAM`: what a program does now, against what a recording says that it did (O-9.22).

Hands on `check` to `cli/trace.py`. The program gets every outcome from the recording, as with `run --replay`, and reaches
nothing; what is compared beyond that are its emits, what it prints, and how it ends. The program need not be the one that was
recorded: that is what the comparison is for.
"""

from __future__ import annotations

import time
from functools import partial

from . import exits
from .inputs import load_program
from .journals import refusing
from .run import host_of, limits_of, run_session, system_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..runtime.journal.journal import Journal
    from ..runtime.journal.rows import EmitRow, EndRow
    from ..runtime.session.session import Outcome, Session
    from ..vm.interp.link import Program

ENDS = ("outcome", "code", "message", "value")


def check(arguments: argparse.Namespace) -> int:
    """Print the first difference between a recording and what the program does with its outcomes, and return 1; return 0,
    printing that they are equal, where there is none. Raise `Exit`: as `run` for a program and its configuration, 66 and 74 for a
    recording that cannot be read, 1 where the library of its store is not installed."""
    program = load_program(arguments.check, quiet=arguments.quiet)
    if program.image.header.entry is None:
        raise exits.Exit(exits.COMPILE_ERRORS, f"{arguments.check}: error[E1013]: no main function to run; add `fn main() {{ }}`")
    arguments.replay, arguments.extend = arguments.recording, False
    told = _Told()
    journal = refusing(arguments.recording, lambda: _journal_of(arguments, told))
    try:
        is_same, found = refusing(arguments.recording, lambda: _compared(arguments, program, journal, told))
    finally:
        told.close()
    name = arguments.recording
    other = "" if is_same else f" ({arguments.check} is not the program that was recorded)"
    if found:
        print(f"{name}: {found}{other}")
        return exits.FAILED
    if not arguments.quiet:
        print(f"{name}: equal, {told.opened[-1].count} rows{other}")
    return exits.OK


def _journal_of(arguments: argparse.Namespace, told: _Told) -> Journal:
    """Return the journal that gives the recording to a program, and tells `told` what that emits."""
    from ..runtime.journal.journal import Journal
    from .trace_source import Recording

    class Comparing(Journal):
        def emit(self, channel: str | None, value: Any, by_runtime: bool, tell: Callable[[], object]) -> None:
            if self.failure is None:  # else it ends, since it differs, and its last emits say so
                told.compare(channel, value, by_runtime)
            super().emit(channel, value, by_runtime, tell)

    emitted, rows = (Recording(arguments.recording, arguments.store) for _ in range(2))
    told.begin(emitted)
    told.opened.append(rows)
    return Comparing(rows.header, sink=None, recorded=iter(rows), real_time=time.monotonic, real_wall=time.time)


class _Told:
    """What the recording has of emits and printed texts, against those of the run: `compare` takes each of the run, `rest` is
    called at its end. `found` is the first difference."""

    def __init__(self) -> None:
        self.found = ""
        self.count = 0
        self.opened: list[Any] = []
        self._rows: Iterator[EmitRow] = iter(())

    def begin(self, source: Any) -> None:
        """Take the recording whose emits are those to compare with."""
        from ..runtime.journal.rows import EmitRow

        self.opened.append(source)
        self._rows = (row for row in source if isinstance(row, EmitRow))

    def compare(self, channel: str | None, value: Any, by_runtime: bool) -> None:
        """Compare the next emit of the run, a printed text where `channel` is None."""
        from ..runtime.journal.forms import brief, difference

        if self.found:
            return
        self.count += 1
        row = next(self._rows, None)
        now = f"{_channel(channel)} {brief(value)}"
        if row is None:
            self.found = f"emit {self.count}: the recording has no more of them, now {now}"
        elif (row.channel, row.by_runtime) != (channel, by_runtime):
            self.found = f"emit {self.count}: {_channel(row.channel)} {brief(row.value)} in the recording, now {now}"
        elif place := difference(row.value, value):
            self.found = f"emit {self.count}, {_channel(channel)}: {place}"

    def rest(self) -> str:
        """Return the difference that the end of the run makes, "" for none."""
        from ..runtime.journal.forms import brief

        row = None if self.found else next(self._rows, None)
        if row is not None:
            return f"emit {self.count + 1}: {_channel(row.channel)} {brief(row.value)} in the recording, now nothing"
        return self.found

    def close(self) -> None:
        for one in self.opened:
            one.close()


def _channel(channel: str | None) -> str:
    return "print" if channel is None else channel


def _compared(arguments: argparse.Namespace, program: Program, journal: Journal, told: _Told) -> tuple[bool, str]:
    """Return whether the program is the recorded one, and the first difference."""
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.session import Session
    from ..vm.snapshot.envelope import identity_of

    try:
        host = host_of(arguments, arguments.check, emit=lambda channel, value, by_runtime: None, program=program)
        host.print, host.stdin, host.journal = lambda text: None, system_input, journal
        host.args, host.offline = journal.header.args, journal.header.offline
        session = Session(program, host)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None
    is_same = identity_of(program) == journal.header.image
    return is_same, _difference(session, journal, told, partial(run_session, session, **limits_of(arguments)))


def _difference(session: Session, journal: Journal, told: _Told, run: Callable[[], Outcome]) -> str:
    from ..runtime.journal.recording import end_of
    from ..runtime.journal.rows import JournalRefused

    clean = session.redactor.clean
    try:
        outcome = run()
    except JournalRefused:
        raise
    except Exception as error:  # an outcome of the recording is none that this program can take
        return told.found or f"{type(error).__name__}: {error}"
    for refusal in (one.refusal for one in told.opened if one.refusal is not None):
        raise refusal
    unused = journal.unused() if outcome.panic is None else None
    now = end_of(outcome, clean)
    journal.close(None)
    if told.found:
        return told.found
    if outcome.panic is not None and outcome.panic.code == "P406":
        return now.message
    return unused or told.rest() or _end_difference(journal.end, now)


def _end_difference(then: EndRow | None, now: EndRow) -> str:
    """Return how the end of a run differs from the recorded one; a recording without an end is equal as far as it goes."""
    from ..runtime.journal.forms import brief

    for name in ENDS if then is not None else ():
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            return f"the end: {name} {brief(before)} in the recording, now {brief(after)}"
    return ""
