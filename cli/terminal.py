"""Program output on a terminal: what would move the cursor or hide something is shown escaped (G-10.4)."""

from __future__ import annotations

from ..vm.bytecode.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

LAYOUT = "\n\t"  # what a program may do to the layout


def shown(text: str, stream: TextIO) -> str:
    """The text as it goes to a stream: unchanged to files and pipes."""
    if text.isprintable() or not stream.isatty():
        return text
    return "".join(c if c in LAYOUT else printable(c) for c in text)
