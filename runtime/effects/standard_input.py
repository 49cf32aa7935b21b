"""Where `std::io` reads (L-7.11): a stream of the system, or a text that stands in for one.

Hands on `Scripted` and `SystemInput` to the command line and the Python API, `Scripted` and `TooLong` to `world.py`. Both have
`take(run, whole, limit)`: it returns the bytes of the next line with its end, or with `whole` of all that is left; empty bytes at
the end of the input; `TOO_LONG` for more than `limit` bytes, which are skipped. That of `SystemInput` raises OSError when the
stream cannot be read, or is closed. Decoding is done in `world.py`.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from ..running import EffectContext


BLOCK = 1 << 16  # bytes that are read at a time, at most


class TooLong:
    """The type of TOO_LONG: what was read is longer than the limit."""


TOO_LONG: Final = TooLong()


class Buffer:
    """Splits input into lines. `read()` gives it piece by piece, and empty bytes at the end; what it raises passes through
    `take`."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self.read = read
        self.block = b""
        self.at = 0  # what stands before it in the block has been taken

    def put_back(self, content: bytes) -> None:
        """Make the next `take` begin with this content."""
        self.block = content + self.block[self.at :]
        self.at = 0

    def take(self, whole: bool, limit: int) -> bytes | TooLong:
        """Return the next line or all that is left, as `take` does that the module's docstring describes."""
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
    """A text that stands for the input: of a test, or of a host."""

    def __init__(self, content: bytes = b"") -> None:
        self.begin(content)

    def begin(self, content: bytes) -> None:
        """Replace what is left of the input."""
        parts = [content]
        self._buffer = Buffer(lambda: parts.pop() if parts else b"")

    async def take(self, run: EffectContext, whole: bool, limit: int) -> bytes | TooLong:
        return self._buffer.take(whole, limit)


class _Request:
    """A `take` that the thread performs. `is_wanted` until its task is cancelled; `result` is bytes, TOO_LONG or an Exception
    once it was read. `answer` is called then."""

    __slots__ = ("whole", "limit", "answer", "is_wanted", "result")

    def __init__(self, whole: bool, limit: int, answer: Callable[[], object]) -> None:
        self.whole = whole
        self.limit = limit
        self.answer = answer
        self.is_wanted = True
        self.result: Any = None


class SystemInput:
    """A stream of the system, which a thread reads, so that other tasks go on and the run can be ended. It has a descriptor; once
    it is closed, every `take` raises OSError.

    The thread reads from the descriptor itself: a thread that holds the lock of Python's stream would keep the process from
    ending. What was read for a task that is cancelled by then is there for the next one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._inbox: Any = None
        self._buffer = Buffer(self._read)

    def _read(self) -> bytes:
        try:
            return os.read(self._stream.fileno(), BLOCK)
        except OSError:  # also that of a stream without a descriptor, which is a ValueError too
            raise
        except ValueError:
            raise OSError(errno.EBADF, "the stream is closed") from None

    async def take(self, run: EffectContext, whole: bool, limit: int) -> bytes | TooLong:
        import sys

        sys.stdout.flush()  # a question stands before its answer
        answered = run.future()
        loop = run.work.loop
        request = _Request(whole, limit, lambda: loop.call_soon_threadsafe(lambda: answered.done() or answered.set_result(None)))
        hold_clock = getattr(loop, "hold_clock", lambda change: None)  # an offline loop must not jump while a person types
        hold_clock(1)
        try:
            self._ask(request)
            await answered
        except BaseException:
            request.is_wanted = False
            if type(request.result) is bytes:
                self._buffer.put_back(request.result)
            raise
        finally:
            hold_clock(-1)
        if isinstance(request.result, Exception):
            raise request.result
        content: bytes | TooLong = request.result
        return content

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
            if not request.is_wanted:
                continue
            try:
                result: Any = self._buffer.take(request.whole, request.limit)
            except Exception as error:  # whatever it is, the task that waits gets it, and the thread goes on
                result = error
            if not request.is_wanted and type(result) is bytes:
                self._buffer.put_back(result)
                continue
            request.result = result
            with suppress(RuntimeError):  # the loop has ended meanwhile
                request.answer()
