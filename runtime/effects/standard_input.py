"""Where `std::io` reads (L-7.11): a stream of the system, or a text that stands in for one.

Hands on `Scripted` and `SystemInput`, both with `take(run, whole, limit)`: the bytes of a line with its end, or of all that is
left, `TOO_LONG` for more than the limit, which is passed over. Must not know: values, errors of programs.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from ..running import Running


BLOCK = 1 << 16


class TooLong:
    """Stands for input that is longer than asked for."""


TOO_LONG: Final = TooLong()


class Buffer:
    """Lines, or all that is left, of what `read()` gives piece by piece and at the end nothing."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self.read = read
        self.block = b""
        self.at = 0  # what is before it in the block has been taken

    def put_back(self, content: bytes) -> None:
        self.block = content + self.block[self.at :]
        self.at = 0

    def take(self, whole: bool, limit: int) -> bytes | TooLong:
        pieces: list[bytes] = []
        size = 0
        while True:
            if self.at >= len(self.block):
                self.block, self.at = self.read(), 0
            end = len(self.block) if whole else self.block.find(b"\n", self.at) + 1 or len(self.block)
            piece, self.at = self.block[self.at : end], end
            size += len(piece)
            if size <= limit:
                pieces.append(piece)
            if not piece or (not whole and piece.endswith(b"\n")):
                return b"".join(pieces) if size <= limit else TOO_LONG


class Scripted:
    """A text in place of a stream: of a test, of a host."""

    def __init__(self, content: bytes = b"") -> None:
        self.begin(content)

    def begin(self, content: bytes) -> None:
        parts = [content]
        self._buffer = Buffer(lambda: parts.pop() if parts else b"")

    async def take(self, run: Running, whole: bool, limit: int) -> bytes | TooLong:
        return self._buffer.take(whole, limit)


class _Request:
    """`wanted` until who asked has gone; `found` once it was read."""

    __slots__ = ("whole", "limit", "answer", "wanted", "found")

    def __init__(self, whole: bool, limit: int, answer: Callable[[], object]) -> None:
        self.whole = whole
        self.limit = limit
        self.answer = answer
        self.wanted = True
        self.found: Any = None


class SystemInput:
    """A stream with a descriptor. A thread reads, so that the run goes on meanwhile and can be ended; it reads from the
    descriptor itself: who holds the lock of Python's stream when the process ends would stop that. What was read for somebody
    who has gone is there for the next."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._inbox: Any = None
        self._buffer = Buffer(lambda: os.read(self._stream.fileno(), BLOCK))

    async def take(self, run: Running, whole: bool, limit: int) -> bytes | TooLong:
        import sys

        sys.stdout.flush()  # a question stands before its answer
        ended = run.future()
        loop = run.work.loop
        request = _Request(whole, limit, lambda: loop.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None)))
        holds = getattr(loop, "hold_clock", lambda change: None)
        holds(1)
        try:
            self._ask(request)
            await ended
        except BaseException:
            request.wanted = False
            if type(request.found) is bytes:
                self._buffer.put_back(request.found)
            raise
        finally:
            holds(-1)
        if isinstance(request.found, OSError):
            raise request.found
        found: bytes | TooLong = request.found
        return found

    def _ask(self, request: _Request) -> None:
        if self._inbox is None:
            import threading
            from queue import SimpleQueue

            self._inbox = SimpleQueue()
            threading.Thread(target=self._serve, name="concerto-stdin", daemon=True).start()
        self._inbox.put(request)

    def _serve(self) -> None:
        while True:
            request: _Request = self._inbox.get()
            if not request.wanted:
                continue
            try:
                found: Any = self._buffer.take(request.whole, request.limit)
            except OSError as error:
                found = error
            if not request.wanted and type(found) is bytes:
                self._buffer.put_back(found)
                continue
            request.found = found
            with suppress(RuntimeError):  # the loop has ended meanwhile
                request.answer()
