"""Output on a terminal: what a program prints is escaped where it would move the cursor or hide something (G-10.4), what
the command prints has colours (O-9.50) and may have a line that tells how far it is (O-9.51).

Hands on to the verbs, `use_colour` to the notebook too: `printable_on` and `payload_text` for what a program prints and emits;
`painted` with the colours `GREEN` and `BOLD_RED`, `failure_line`, `use_colour` and `is_terminal` for what the command prints
itself; and `Progress`. To `main`: `choose_colour`, by which it sets `--color`, and `COLOURS`. Files and pipes get the text of a
program unchanged.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


LAYOUT = "\n\t"  # what a program may do to the layout


def printable_on(text: str, stream: TextIO) -> str:
    """Return the text as it goes to a stream: unchanged to files and pipes; on a terminal what is not printable is escaped,
    except newline and tab."""
    # Most texts need no escaping, and are told so in one call.
    if text.isprintable() or not stream.isatty():
        return text
    from ..vm.bytecode.disasm import printable

    return "".join(c if c in LAYOUT else printable(c) for c in text)


def payload_text(value: Any) -> str:
    """Return an emit's payload on its line (O-5.33): what has parts as JSON, so that it can be read back, anything else, also a
    Response, an error and a variant without parts, as its Display text. Raise Panic P103 for a text beyond the limits of
    G-6.1."""
    from ..vm.values import Array, EnumValue, Map, Queue, Response, Set, Stack, Struct, display, to_json

    of_parts = isinstance(value, Array | Map | Set | Queue | Stack | tuple)
    if isinstance(value, Struct):
        of_parts = not isinstance(value, Response) and not value.decl.is_error
    elif isinstance(value, EnumValue):
        of_parts = value.payload is not None and not value.decl.is_error
    return to_json(value) if of_parts else display(value)


COLOURS = ("auto", "always", "never")
GREEN, BOLD_RED = "\x1b[32m", "\x1b[1;31m"
RESET = "\x1b[0m"
_chosen = "auto"  # by the command that runs


def choose_colour(choice: str) -> None:
    """Set what `--color` says, one of COLOURS, for the whole command; nothing is checked here."""
    global _chosen
    _chosen = choice


def use_colour(stream: object) -> bool:
    """Return whether what goes to a stream is coloured: decided by `--color`, then by NO_COLOR and FORCE_COLOR where they are not
    empty, and whether it is a terminal with colours."""
    if _chosen != "auto":
        return _chosen == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: object) -> bool:
    """Return whether a stream is a terminal."""
    return bool(getattr(stream, "isatty", lambda: False)())


def painted(text: str, colour: str, stream: object) -> str:
    """Return the text in a colour, such as GREEN, if `use_colour` says so of the stream; else the text as it is."""
    return f"{colour}{text}{RESET}" if use_colour(stream) else text


def failure_line(text: str) -> str:
    """Return the text of how a run ended as it goes to stderr: what stands before its first colon, `error` or `panic[CODE]`, in
    red."""
    line = printable_on(text, sys.stderr)
    head, colon, message = line.partition(":")
    return painted(head, BOLD_RED, sys.stderr) + colon + message


class Progress:
    """One line on stderr that is written over; nothing where stderr is no terminal, TERM is `dumb`, or with `quiet`: `enabled`
    says whether it is shown at all, `visible` whether it stands there now. Whoever prints calls `clear` before."""

    __slots__ = ("enabled", "visible")

    def __init__(self, *, quiet: bool = False) -> None:
        self.enabled = not quiet and is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self.visible = False

    def show(self, text: str) -> None:
        """Write the line, cut to the width of the terminal."""
        if self.enabled:
            import shutil

            width = shutil.get_terminal_size().columns - 1
            line = printable_on(text.replace("\n", " "), sys.stderr)
            sys.stderr.write(f"\r\x1b[K{line if len(line) <= width else line[: width - 1] + '…'}")
            sys.stderr.flush()
            self.visible = True

    def line(self, text: str) -> None:
        """Show the text, or clear the line for an empty one."""
        if text:
            self.show(text)
        else:
            self.clear()

    def clear(self) -> None:
        """Remove the line."""
        if self.visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.visible = False
