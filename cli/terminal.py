"""Program output on a terminal: what would move the cursor or hide something is shown escaped (G-10.4)."""

from __future__ import annotations

from ..vm.bytecode.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

LAYOUT = "\n\t"  # what a program may do to the layout


def shown(text: str, stream: TextIO) -> str:
    """The text as it goes to a stream: unchanged to files and pipes."""
    if text.isprintable() or not stream.isatty():
        return text
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
