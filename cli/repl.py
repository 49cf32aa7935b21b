"""`concerto repl`: items, statements and expressions one after another, in one session (O-9.20).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`, the first also to the notebook. `Shell` reads entries and commands; how entries are compiled and run is for `dialogue.py`.
A new command is a row of `COMMANDS`. `hint_of` and `words_of` are imported for `main` and the notebook, which look for them in
the module of a verb.
"""

from __future__ import annotations

import sys

from ..compiler.diagnostics import render_text
from ..compiler.repl import Entry, Transcript, needs_more
from . import exits
from .dialogue import Dialogue, InteractiveSession
from .inputs import read
from .run import configure_run
from .run import hint_of as hint_of
from .run import words_of as words_of
from .terminal import use_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


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


class Shell(Dialogue):
    """The dialogue with the user. `arguments` are the flags; making it raises `Exit` as `host_of` does, 66 or 2, for a file that
    a flag names. `interactive` says whether stdin is a terminal."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__(InteractiveSession(arguments))
        self.arguments = arguments
        self.interactive = sys.stdin is not None and sys.stdin.isatty()

    def run(self) -> int:
        """Read entries until the end of the input or `:quit`; return the exit code."""
        if hasattr(sys.stdin, "reconfigure"):  # what is no UTF-8 is an error of its entry
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        if self.interactive:
            _edit_lines()
            print("concerto repl; :help says what can be typed, :quit leaves")
        while True:
            try:
                text = self._read()
            except KeyboardInterrupt:  # forgets the line being typed
                print()
                continue
            if text is None or text.split()[:1] == [":quit"]:
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
                self.enter(text)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        sys.stdout.flush()

    def show_diagnostics(self, entry: Entry) -> None:
        visible = [d for d in entry.diagnostics if d.is_error or not self.arguments.quiet]
        if visible:
            sys.stderr.write(render_text(visible, entry.sources, colour=use_colour(sys.stderr)))

    def show_value(self, text: str) -> None:
        print(text)

    def show_failure(self, text: str, trace: list[str]) -> None:
        for line in (text, *trace):
            print(line, file=sys.stderr)

    def show_forgotten(self, name: str) -> None:
        print(f"forgotten: `{name}`, its type is declared anew", file=sys.stderr)

    def compiled(self, text: str) -> Entry:
        # Other shells leave by such words; here they are names that nothing declares.
        if text.strip().rstrip(";()") in LEAVING:
            entry = self.transcript.compile(text)
            if entry.compilation.image is None:
                print("`:quit` leaves", file=sys.stderr)
                return entry
        return super().compiled(text)

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
        entry = self.compiled(rest)
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
        self.enter(text)

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
