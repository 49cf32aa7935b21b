"""A dialogue of entries with one session: what the REPL and the notebook have in common (O-9.20, P-2.6).

Hands on to both `Dialogue`, with the methods by which each shows what came, and `InteractiveSession`, which runs entries: each is
a program of its own; memories, stores, states of tools and the values of variables go on into the next. How an entry becomes a
program is for `compiler/repl.py`, what the flags of runs mean for `run.py`. No error of an entry ends the dialogue; what its
journal refuses does, where it has one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from ..compiler.repl import FUNCTION, Entry, Transcript, completed, parts_of
from ..runtime.session.session import Session
from ..vm.interp.link import load_image
from ..vm.panics import Panic
from ..vm.values import Err, debug, display
from .journals import close_quietly, run_with_journal
from .run import host_of, limits_of, run_session, trace_lines, write_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..runtime.host import Host
    from ..runtime.journal.journal import Journal
    from ..runtime.session.session import Outcome
    from ..vm.interp.link import Program

    Runner = Callable[..., Outcome]
    Recorder = Callable[[Program, Host], Journal | None]


class EntryOutcome(NamedTuple):
    """How an entry ended: `value_text`, the debug form of its value (None for nil), or the text of its `error` or `panic`, else
    None; `trace` belongs to the latter two: places as (function, file, line, column), and numbers for so many that are left
    out."""

    value_text: str | None = None
    error: str | None = None
    panic: str | None = None
    trace: Any = ()


class InteractiveSession:
    """The session behind a dialogue: the host, which `host_of` makes of the flags (Exit as it raises), the session of the last
    entry, None before the first, and by name the values of the variables of earlier entries. `run_session` runs a session as that
    of `cli/run.py` does; `journal_of` gives the journal of an entry's program, None for none."""

    def __init__(
        self, arguments: argparse.Namespace, run_session: Runner = run_session, journal_of: Recorder = lambda program, host: None
    ) -> None:
        self.arguments = arguments
        self.run_session = run_session
        self.journal_of = journal_of
        self.host = host_of(arguments)
        if self.host.permissions is not None:
            self.host.permissions.expected = ()  # an entry to come may use the library
        self.classes: dict[Any, Any] = {}  # of declared types, shared so that values of earlier entries fit later ones
        self.host.print = write_at_once
        self.session: Session | None = None
        self.values: dict[str, Any] = {}

    def run(self, entry: Entry) -> EntryOutcome:
        """Run the function of an entry, which has compiled, and return how it ended; a wrong configuration counts as a panic. The
        variables in scope behind it are kept when it ends well. Raise KeyboardInterrupt for a run that Ctrl-C ended; with a
        journal `Exit` as `run_with_journal`, and what `journal_of` raises."""
        from ..runtime.errors import ConfigFailure

        assert entry.compilation.image is not None, "the caller has looked for errors"
        program = load_image(entry.compilation.image, self.classes)
        host = copy(self.host)  # a journal puts itself between it and one session
        try:
            host.journal = self.journal_of(program, host)
            session = Session(program, host, earlier=self.session)
        except ConfigFailure as failure:
            if host.journal is not None:
                close_quietly(host.journal)
            return EntryOutcome(panic=f"{failure.code}: {failure.message}")
        session.is_followed = True
        function = next(code.number for code in session.program.codes if code.label == FUNCTION)
        arguments = [self.values[variable.name] for variable in entry.parameters]
        run = partial(self.run_session, session, **limits_of(self.arguments), function=function, arguments=arguments)
        outcome = run() if host.journal is None else run_with_journal(session, run)
        self.session = session
        return self._ended(entry, outcome, session.redactor.clean)

    def _ended(self, entry: Entry, outcome: Outcome, clean: Callable[[str], str]) -> EntryOutcome:
        if outcome.panic is not None:
            return EntryOutcome(panic=clean(str(outcome.panic)), trace=outcome.panic.trace)
        if type(outcome.value) is Err:
            return EntryOutcome(error=clean(_text_of(outcome.error, display)), trace=outcome.trace)
        # An entry of statements returns Ok([value, *variables]).
        value, *rest = outcome.value.value.items
        self.values = dict(zip((v.name for v in entry.variables), rest, strict=True))
        return EntryOutcome(value_text=None if value is None else clean(_text_of(value, debug)))


def _text_of(value: Any, form: Callable[[Any], str]) -> str:
    """Return the text of a value in a form; of one whose text is longer than a String may be, what is wrong with it."""
    try:
        return form(value)
    except Panic as panic:
        return f"a value that cannot be shown: {panic.message}"


def write_at_once(text: str) -> None:
    """Write text of the program to stdout, so that a line shows as it grows."""
    write_out(text)
    sys.stdout.flush()


class Dialogue:
    """Entries, one after another. `transcript` has what earlier ones declare, `session` runs them. Who talks to a user extends it
    by the methods that show something."""

    def __init__(self, session: InteractiveSession) -> None:
        self.session = session
        self.transcript = Transcript()

    def show_diagnostics(self, entry: Entry) -> None:
        """Show the errors and warnings of an entry."""
        raise NotImplementedError

    def show_value(self, text: str) -> None:
        """Show the value of an entry, in debug form."""
        raise NotImplementedError

    def show_failure(self, text: str, trace: list[str]) -> None:
        """Show how an entry failed: `text` begins with `error`, `panic[CODE]` or, for a wrong configuration, with the code of its
        diagnostic; `trace` are lines."""
        raise NotImplementedError

    def show_forgotten(self, name: str) -> None:
        """Show that a variable is forgotten, since its type is declared anew."""
        raise NotImplementedError

    def enter(self, text: str) -> bool:
        """Compile and run what was typed, items before statements; return whether it ended well. What did not compile or failed
        is no part of the program, and its lines are counted. Raise as `InteractiveSession.run`."""
        return all(self._enter(completed(part)) for part in parts_of(text))

    def _enter(self, text: str) -> bool:
        entry = self.compiled(text)
        if entry.compilation.image is None:
            self.transcript.skip(text)
            return False
        if entry.statements:
            return self._perform(text, entry)
        self._accept(text, entry)
        return True

    def compiled(self, text: str) -> Entry:
        """Return an entry as it was compiled, and show what the compiler says of it. Nothing is accepted yet."""
        entry = self.transcript.compile(text)
        self.show_diagnostics(entry)
        return entry

    def _accept(self, text: str, entry: Entry) -> None:
        for name in self.transcript.accept(text, entry):
            self.show_forgotten(name)

    def _perform(self, text: str, entry: Entry) -> bool:
        """Run statements. Their variables count only when they end well."""
        ended = self.session.run(entry)
        failure = ended.panic if ended.error is None else f"error: {ended.error}"
        if failure is not None:
            self.transcript.skip(text)
            self.show_failure(failure, self._trace(ended.trace))
            return False
        if entry.type is not None and ended.value_text is not None:
            self.show_value(ended.value_text)
        self._accept(text, entry)
        return True

    def _trace(self, trace: tuple[tuple[str, str, int, int] | int, ...]) -> list[str]:
        return trace_lines([frame if isinstance(frame, int) else self.place(frame) for frame in trace])

    def place(self, frame: tuple[str, str, int, int]) -> tuple[str, str, int, int]:
        """Return a frame (function, file, line, column) with the position that the user sees: the compiled text holds more than
        was typed."""
        return (*frame[:2], *self.transcript.position(*frame[2:]))
