"""Output on a terminal: what a program prints is escaped where it would move the cursor or hide something (G-10.4), what the
command prints has colours (O-9.50) and may have a line that tells how far it is (O-9.51).

Must not know: verbs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


LAYOUT = "\n\t"  # what a program may do to the layout


def shown(text: str, stream: TextIO) -> str:
    """The text as it goes to a stream: unchanged to files and pipes."""
    if text.isprintable() or not stream.isatty():
        return text
    from ..vm.bytecode.disasm import printable

    return "".join(c if c in LAYOUT else printable(c) for c in text)


def payload_text(value: Any) -> str:
    """An emit's payload on its line (O-5.33): what has parts as JSON, so that it can be read back, anything else as its Display
    text."""
    from ..vm.values import Array, EnumValue, Map, Queue, Response, Set, Stack, Struct, display, to_json

    of_parts = isinstance(value, Array | Map | Set | Queue | Stack | tuple)
    if isinstance(value, Struct):
        of_parts = not isinstance(value, Response) and not value.decl.is_error
    elif isinstance(value, EnumValue):
        of_parts = value.payload is not None and not value.decl.is_error
    return to_json(value) if of_parts else display(value)


# ---------------------------------------------------------------- colours

COLOURS = ("auto", "always", "never")
GREEN, BOLD_RED = "\x1b[32m", "\x1b[1;31m"
RESET = "\x1b[0m"
_chosen = "auto"  # by the command that runs


def choose_colour(choice: str) -> None:
    """What `--color` says, for the whole command."""
    global _chosen
    _chosen = choice


def use_colour(stream: object) -> bool:
    """Whether what goes to a stream is coloured: `--color`, then NO_COLOR, FORCE_COLOR, and whether it is a terminal that can."""
    if _chosen != "auto":
        return _chosen == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: object) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())


def painted(text: str, colour: str, stream: object) -> str:
    return f"{colour}{text}{RESET}" if use_colour(stream) else text


def failure_line(text: str) -> str:
    """How a run ended, for stderr: what stands before its message in red, `error:` or `panic[CODE]:`."""
    line = shown(text, sys.stderr)
    head, colon, message = line.partition(":")
    return painted(head, BOLD_RED, sys.stderr) + colon + message


# ---------------------------------------------------------------- progress


class Progress:
    """One line on stderr that is written over; nothing where that is no terminal. Whoever prints calls `clear` before."""

    __slots__ = ("wanted", "there")

    def __init__(self, *, quiet: bool = False) -> None:
        self.wanted = not quiet and is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self.there = False

    def show(self, text: str) -> None:
        if self.wanted:
            import shutil

            width = shutil.get_terminal_size().columns - 1
            line = shown(text.replace("\n", " "), sys.stderr)
            sys.stderr.write(f"\r\x1b[K{line if len(line) <= width else line[: width - 1] + '…'}")
            sys.stderr.flush()
            self.there = True

    def line(self, text: str) -> None:
        """Shown, or cleared where there is none."""
        if text:
            self.show(text)
        else:
            self.clear()

    def clear(self) -> None:
        if self.there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.there = False
