"""`concerto repl`: items, statements and expressions one after another, in one session (O-9.20).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. `Shell` reads entries and commands, `InteractiveSession` runs them: each entry is a program of its own; memories, stores,
states of tools and the values of variables go on into the next. How an entry becomes a program is for `compiler/repl.py`, what
the flags of runs mean for `run.py`. A new command is a row of `COMMANDS`. `hint_of` and `words_of` are imported for `main`, which
looks for them in the module of a verb. No error of an entry ends the dialogue.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ..compiler.diagnostics import render_text
from ..compiler.repl import FUNCTION, Entry, Transcript, completed, needs_more
from ..runtime.session.session import Session
from ..vm.interp.link import load_image
from ..vm.values import Err, debug, display
from . import exits
from .inputs import read
from .run import configure_run, host_of, limits_of, run_session, trace_lines
from .run import hint_of as hint_of
from .run import words_of as words_of
from .terminal import use_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from ..runtime.session.session import Outcome


class EntryOutcome(NamedTuple):
    """How an entry ended: `value_text`, the debug form of its value (None for nil), or the text of its `error` or `panic`, else
    None; `trace` belongs to the latter two: places as (function, file, line, column), and numbers for so many that are left
    out."""

    value_text: str | None = None
    error: str | None = None
    panic: str | None = None
    trace: Any = ()


class InteractiveSession:
    """The session behind the shell: the host, which `host_of` makes of the flags (Exit as it raises), the session of the last
    entry, None before the first, and by name the values of the variables of earlier entries."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.host = host_of(arguments)
        if self.host.permissions is not None:
            self.host.permissions.expected = ()  # an entry to come may use the library
        self.classes: dict[Any, Any] = {}  # of declared types, shared so that values of earlier entries fit later ones
        self.session: Session | None = None
        self.values: dict[str, Any] = {}

    def run(self, entry: Entry) -> EntryOutcome:
        """Run the function of an entry, which has compiled, and return how it ended; a wrong configuration counts as a panic. The
        variables in scope behind it are kept when it ends well. Raise KeyboardInterrupt for a run that Ctrl-C ended."""
        from ..runtime.errors import ConfigFailure

        assert entry.compilation.image is not None, "the caller has looked for errors"
        try:
            session = Session(load_image(entry.compilation.image, self.classes), self.host, earlier=self.session)
        except ConfigFailure as failure:
            return EntryOutcome(panic=f"{failure.code}: {failure.message}")
        session.is_followed = True
        function = next(code.number for code in session.program.codes if code.label == FUNCTION)
        arguments = [self.values[variable.name] for variable in entry.parameters]
        outcome = run_session(session, **limits_of(self.arguments), function=function, arguments=arguments)
        self.session = session
        return self._ended(entry, outcome, session.redactor.clean)

    def _ended(self, entry: Entry, outcome: Outcome, clean: Callable[[str], str]) -> EntryOutcome:
        if outcome.panic is not None:
            return EntryOutcome(panic=clean(str(outcome.panic)), trace=outcome.panic.trace)
        if type(outcome.value) is Err:
            return EntryOutcome(error=clean(display(outcome.error)), trace=outcome.trace)
        # An entry of statements returns Ok([value, *variables]).
        value, *rest = outcome.value.value.items
        self.values = dict(zip((v.name for v in entry.variables), rest, strict=True))
        return EntryOutcome(value_text=None if value is None else clean(debug(value)))


HELP = """\
Type items (fn, struct, model, …), statements or expressions; values are shown in debug form.
An entry goes on over several lines while something is open or missing; an empty line ends it. The last `;` may be left out.
"""
LEAVING = ("exit", "quit", "bye", "q")  # typed where other shells take them


def configure(parser: argparse.ArgumentParser) -> None:
    configure_run(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the dialogue; return 0 at its end. Raise `Exit` before it begins, 66 or 2 for a file that a flag names."""
    return Shell(arguments).run()


class Shell:
    """The dialogue with the user. `arguments` are the flags; making it raises `Exit` as `host_of` does, 66 or 2, for a file that
    a flag names. `transcript` has what earlier entries declare, `session` the InteractiveSession; `interactive` says whether
    stdin is a terminal."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.transcript = Transcript()
        self.session = InteractiveSession(arguments)
        self.interactive = sys.stdin is not None and sys.stdin.isatty()

    def run(self) -> int:
        """Read entries until the end of the input or `:quit`; return the exit code."""
        if self.interactive:
            _edit_lines()
            print("concerto repl; :help says what can be typed, :quit leaves")
        while True:
            try:
                text = self._read()
            except KeyboardInterrupt:  # forgets the line being typed
                print()
                continue
            if text is None or text.strip() == ":quit":
                return exits.OK
            self.handle(text)

    def handle(self, text: str) -> None:
        """Handle one entry or command but `:quit`, which does nothing here. Its errors and panics, and Ctrl-C in it, are told on
        stderr and do not end the session (O-9.20)."""
        word, _, rest = text.strip().partition(" ")
        try:
            if word.startswith(":"):
                self._command(word, rest.strip())
            elif text.strip():
                self._enter(text)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        sys.stdout.flush()

    def _enter(self, text: str) -> None:
        text = completed(text)
        entry = self._compiled(text)
        if entry.compilation.image is None:
            self.transcript.skip(text)
        elif entry.statements:
            self._perform(text, entry)
        else:
            self._accept(text, entry)

    def _accept(self, text: str, entry: Entry) -> None:
        for name in self.transcript.accept(text, entry):
            print(f"forgotten: `{name}`, its type is declared anew", file=sys.stderr)

    def _compiled(self, text: str) -> Entry:
        entry = self.transcript.compile(text)
        # Other shells leave by such words; here they are names that nothing declares.
        if entry.compilation.image is None and text.strip().rstrip(";()") in LEAVING:
            print("`:quit` leaves", file=sys.stderr)
            return entry
        visible = [d for d in entry.diagnostics if d.is_error or not self.arguments.quiet]
        if visible:
            sys.stderr.write(render_text(visible, entry.sources, colour=use_colour(sys.stderr)))
        return entry

    def _perform(self, text: str, entry: Entry) -> None:
        """Run statements. Their variables count only when they end well."""
        ended = self.session.run(entry)
        if ended.panic is not None:
            print(ended.panic, file=sys.stderr)
            self._trace(ended.trace)
        elif ended.error is not None:
            print(f"error: {ended.error}", file=sys.stderr)
            self._trace(ended.trace)
        else:
            if entry.type is not None and ended.value_text is not None:
                print(ended.value_text)
            self._accept(text, entry)
            return
        self.transcript.skip(text)

    def _trace(self, trace: tuple[tuple[str, str, int, int] | int, ...]) -> None:
        places = [
            # Positions are those of the compiled text, which holds more than the user wrote.
            frame if isinstance(frame, int) else (*frame[:2], *self.transcript.position(*frame[2:])) for frame in trace
        ]
        for line in trace_lines(places):
            print(line, file=sys.stderr)

    def _command(self, word: str, rest: str) -> None:
        command = COMMANDS.get(word)
        if command is None:
            print(f"no command {word}; :help lists them", file=sys.stderr)
        else:
            command[1](self, rest)

    def show_help(self, rest: str) -> None:
        """Print what can be typed, and the commands."""
        print(HELP, end="")
        for word, (meaning, _) in COMMANDS.items():
            print(f"  {word:<10} {meaning}")

    def show_type(self, rest: str) -> None:
        """Print the type of an expression, `rest`, without running it; Nil for what has no value. Errors go to stderr."""
        entry = self._compiled(rest)
        if entry.compilation.image is not None:
            print(entry.type if entry.type is not None else "Nil")
        self.transcript.skip(rest)

    def load_file(self, rest: str) -> None:
        """Take the items and statements of a file, `rest` its path, as one entry. One that cannot be read is told on stderr."""
        try:
            text = read(rest).decode("utf-8", "replace")
        except exits.Exit as failed:
            print(failed.message, file=sys.stderr)
            return
        self._enter(text)

    def reset(self, rest: str) -> None:
        """Forget all entries and values. The files of the flags are read again; if one cannot be, that is told and all stays."""
        try:
            self.session = InteractiveSession(self.arguments)
        except exits.Exit as failed:
            print(failed.message, file=sys.stderr)
            return
        self.transcript = Transcript()

    def _read(self) -> str | None:
        """Return the next entry, None at the end of the input."""
        lines: list[str] = []
        while True:
            line = self._line(len(lines))
            if line is None:
                return "\n".join(lines) if lines else None
            if lines and not line.strip():
                return "\n".join(lines)
            lines.append(line)
            text = "\n".join(lines)
            # A command is one line, whatever is open in it.
            if line.strip().startswith(":") and len(lines) == 1 or not needs_more(text):
                return text

    def _line(self, already: int) -> str | None:
        if self.interactive:
            number = self.transcript.line + already
            try:
                return input(f"{number}{'|' if already else '>'} ")
            except EOFError:
                return None
        line = sys.stdin.readline() if sys.stdin is not None else ""
        return line.rstrip("\r\n") if line else None


def _quit(shell: Shell, rest: str) -> None:
    """Do nothing: it stands in the table for `:help`, and the loop leaves before the command is looked up."""


COMMANDS: dict[str, tuple[str, Callable[[Shell, str], None]]] = {
    ":type": ("E shows the type of an expression, without running it", Shell.show_type),
    ":load": ("F takes the items and statements of a file", Shell.load_file),
    ":reset": ("forgets everything", Shell.reset),
    ":help": ("shows this", Shell.show_help),
    ":quit": ("leaves; so does the end of the input", _quit),
}


def _edit_lines() -> None:
    """Load history and editing with the arrow keys, where Python has them."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return
