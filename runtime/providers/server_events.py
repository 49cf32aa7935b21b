"""Server-sent events out of the bytes of a body, as the HTML standard reads them, each of bounded size (G-6.1).

Hands on `EventReader`. Must not know: what an event says.
"""

from __future__ import annotations

from .http_answers import MOST_BODY_BYTES
from .json_fields import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventReader:
    """Takes the pieces of a body and gives the data of the events in them, those of several lines joined as the standard says."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of the line that has not ended yet
        self._data: list[bytes] = []  # of the event that has not ended yet
        self._size = 0  # of what came since the last event
        self._after_return = False
        self._at_start = True

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Unreadable where one event takes more than a body may have."""
        self._size += len(piece)
        if self._size > MOST_BODY_BYTES:
            raise Unreadable(f"no event of the stream ends within {MOST_BODY_BYTES} bytes")
        if self._after_return and piece:
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        if piece.endswith(b"\r"):
            self._after_return = True  # a line feed that comes next belongs to it
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines and self._parts:
            lines[0] = b"".join([*self._parts, lines[0]])
            self._parts = []
        yield from self._events(lines)
        if rest:
            self._parts.append(rest)

    def end(self) -> Iterator[bytes]:
        """The event that the end of the body ends."""
        yield from self._events([b"".join(self._parts), b""])

    def _events(self, lines: list[bytes]) -> Iterator[bytes]:
        """A hostile stream has millions of lines that say nothing: they must cost little."""
        if self._at_start and lines:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            self._at_start = False
        for line in lines:
            if line[:5] == b"data:":
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data = []
                self._size = 0
