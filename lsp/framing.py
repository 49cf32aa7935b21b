"""Where one message of an editor ends and the next begins (O-9.25, G-5.12).

`Frames` stands between standard input and the library, which waits for ever behind a header that it does not understand. Must
not know: what messages say.
"""

from __future__ import annotations

import re
from typing import BinaryIO

LONGEST = 64 << 20  # bytes of one message: a source of 8 MiB, with every character escaped
LONGEST_LINE = 8 << 10
MOST_LINES = 64
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(.*?)[ \t]*", re.IGNORECASE)


class _Broken(Exception):
    """A header that does not tell where its message ends."""


class Frames:
    """Standard input as the library reads it: one `Content-Length` line, an empty line, the body. `problem`: why reading ended
    before the input did; what follows a header that gives no length cannot be told apart from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.problem: str | None = None
        self._blank = False  # the empty line behind the header is to be read

    def readline(self) -> bytes:
        if self._blank:
            self._blank = False
            return b"\r\n"
        try:
            length = self._length()
        except _Broken as broken:
            self.problem = str(broken)
            return b""
        if length is None:
            return b""
        self._blank = True
        return b"Content-Length: %d\r\n" % length

    def read(self, length: int) -> bytes:
        body = self.stream.read(length)
        if len(body) < length:
            self.problem = f"the input ends after {len(body)} of {length} bytes of a message"
            return b""
        return body

    def _length(self) -> int | None:
        """That of the next message, None at the end or after a problem. A message without a body says nothing."""
        while True:
            length = self._header()
            if length != 0:
                return length

    def _header(self) -> int | None:
        found: int | None = None
        for number in range(MOST_LINES):
            line = self.stream.readline(LONGEST_LINE)
            if not line and number == 0:
                return None
            if not line.endswith(b"\n"):
                raise _Broken("the input ends in a header" if len(line) < LONGEST_LINE else "a header line is too long")
            line = line.rstrip(b"\r\n")
            if not line:
                if found is None:
                    raise _Broken("a header gives no `Content-Length`")
                return found
            match = _LENGTH.fullmatch(line)
            if match is None:
                continue
            if re.fullmatch(rb"[0-9]{1,18}", match[1]) is None:
                raise _Broken(f"`{_shown(line)}` is no length")
            if int(match[1]) > LONGEST:
                raise _Broken(f"`{_shown(line)}`: a message has at most {LONGEST} bytes")
            if found not in (None, int(match[1])):
                raise _Broken("a header gives two lengths")
            found = int(match[1])
        raise _Broken(f"a header has more than {MOST_LINES} lines")


def _shown(line: bytes) -> str:
    text = line[:80].decode("ascii", "replace")
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
