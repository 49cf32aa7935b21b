"""Where `std::io` reads (L-7.11): a stream of the system, or a text that stands in for one.

Hands on `Scripted` and `SystemInput` to the command line and the Python API, `Scripted`, `TooLong` and `Unreadable` to
`world.py`. Both sources have `take(run, whole, limit)`: it returns the bytes of the next line with its end (the last one may have
none), or with `whole` of all that is left; empty bytes at the end of the input; `TOO_LONG` for more than `limit` bytes, the end
of the line among them, which are skipped. That of `SystemInput` raises Unreadable. Decoding is done in `world.py`.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from contextlib import suppress
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from ..running import EffectContext


BLOCK = 1 << 16  # bytes that are read at a time, at most


class Unreadable(Exception):
    """The stream of the system cannot be read, or is closed; the text says why."""


class TooLong:
    """The type of TOO_LONG: what was read is longer than the limit."""


TOO_LONG: Final = TooLong()


class Buffer:
    """Splits input, which `feed` gives piece by piece, into lines. One `take` after another: what has come for one that is not
    carried on is given back before the next."""

    __slots__ = ("_block", "_at", "_pieces", "_size", "_is_too_long", "_is_ended")

    def __init__(self) -> None:
        self._block = b""
        self._at = 0  # what stands before it in the block has been taken
        self._pieces: list[bytes] = []  # of what is being taken
        self._size = 0
        self._is_too_long = False  # what is being taken, of which nothing is kept then
        self._is_ended = False

    def feed(self, block: bytes) -> None:
        """Add input; empty bytes are its end."""
        self._block, self._at = self._block[self._at :] + block, 0
        self._is_ended = not block

    def take(self, whole: bool, limit: int) -> bytes | TooLong | None:
        """Return the next line or all that is left, as `take` does that the module's docstring describes; None when more has to
        be fed first, after which the same is to be taken."""
        end = len(self._block) if whole else self._block.find(b"\n", self._at) + 1 or len(self._block)
        piece, self._at = self._block[self._at : end], end
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > limit:
            self._is_too_long = True
        if self._is_too_long:
            self._pieces.clear()
        is_line = not whole and piece.endswith(b"\n")
        if not is_line and not self._is_ended:
            return None
        result = TOO_LONG if self._is_too_long else b"".join(self._pieces)
        self._pieces, self._size, self._is_too_long = [], 0, False
        if not is_line:
            self._is_ended = False  # a terminal may go on behind an end
        return result

    def give_up(self) -> None:
        """Give back what has come for a `take` that returned None; what was too long by then stays too long."""
        self._block, self._at = b"".join(self._pieces) + self._block[self._at :], 0
        self._pieces, self._size = [], 0

    def give_back(self, result: bytes | TooLong, whole: bool) -> None:
        """Make the next `take` begin with what the last one returned; what was too long is too long again."""
        self._is_too_long = isinstance(result, TooLong)
        content = (b"" if whole else b"\n") if isinstance(result, TooLong) else result
        self._block, self._at = content + self._block[self._at :], 0
        if whole or not content.endswith(b"\n"):
            self._is_ended = True


class Scripted:
    """A text, as bytes, that stands for the input: of a test, or of a host."""

    def __init__(self, content: bytes = b"") -> None:
        self._buffer = Buffer()
        self._buffer.feed(content)

    async def take(self, run: EffectContext, whole: bool, limit: int) -> bytes | TooLong:
        """Return the next line or all that is left, as the module's docstring says. It never waits, and raises nothing."""
        content = self._buffer.take(whole, limit)
        if content is None:
            self._buffer.feed(b"")
            content = self._buffer.take(whole, limit)
        assert content is not None
        return content


class _Request:
    """A `take` that waits. `result` is bytes, TOO_LONG or an Exception once it has come; `future` wakes the task then."""

    __slots__ = ("whole", "limit", "future", "result")

    def __init__(self, whole: bool, limit: int, future: Any) -> None:
        self.whole = whole
        self.limit = limit
        self.future = future
        self.result: Any = None


class SystemInput:
    """A stream of the system, which a thread reads, so that other tasks go on and the run can be ended. It has a descriptor; once
    it is closed, every `take` raises Unreadable.

    The thread reads from the descriptor itself: a thread that holds the lock of Python's stream would keep the process from
    ending. It reads when it is asked, and hands over what it has read; all else is done in the thread of the session, where
    requests are answered in their order. The first one stays the first until its task has its answer: what has come for a task
    that is cancelled goes to the next one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._buffer = Buffer()
        self._requests: deque[_Request] = deque()
        self._orders: Any = None  # to the thread: each item is one block to read
        self._blocks: Any = None  # from the thread: bytes, or the Exception
        self._is_reading = False  # an order has been given whose block has not come
        self._loop: Any = None  # of the request that came last

    async def take(self, run: EffectContext, whole: bool, limit: int) -> bytes | TooLong:
        """Wait for the next line or all that is left, and return it as the module's docstring says; standard output is flushed
        before. Raises Unreadable, what the flush raises, and what the stream raises that is no OSError."""
        import sys

        sys.stdout.flush()  # a question stands before its answer
        self._loop = loop = run.work.loop
        request = _Request(whole, limit, run.future())
        hold_clock = getattr(loop, "hold_clock", lambda change: None)  # an offline loop must not jump while a person types
        hold_clock(1)
        self._requests.append(request)
        try:
            self._serve()
            await request.future
        except BaseException:
            if request is self._requests[0]:
                self._take_back(request)
            raise
        finally:
            hold_clock(-1)
            self._requests.remove(request)
            self._serve()
        if isinstance(request.result, OSError):
            raise Unreadable((request.result.strerror or "not possible").lower())
        if isinstance(request.result, Exception):
            raise request.result
        content: bytes | TooLong = request.result
        return content

    def _take_back(self, request: _Request) -> None:
        if request.result is None:
            self._buffer.give_up()
        elif not isinstance(request.result, Exception):
            self._buffer.give_back(request.result, request.whole)

    def _serve(self) -> None:
        """Answer the first request, if it can be answered, else see to it that more is read. To be called whenever a block or a
        request has come or a request has gone, in the thread of the session."""
        first = self._requests[0] if self._requests else None
        while self._blocks is not None and not self._blocks.empty():
            block = self._blocks.get()
            self._is_reading = False
            if not isinstance(block, Exception):
                self._buffer.feed(block)
            elif first is not None and first.result is None:  # an error that nobody waits for comes again when it is read again
                self._buffer.give_up()
                first.result = block
        if first is None or first.future.done():  # it is cancelled, and its task has not run since
            return
        if first.result is None:
            first.result = self._buffer.take(first.whole, first.limit)
        if first.result is not None:
            first.future.set_result(None)
        elif not self._is_reading:
            self._order()

    def _order(self) -> None:
        if self._orders is None:
            import threading
            from queue import SimpleQueue

            self._orders, self._blocks = SimpleQueue(), SimpleQueue()
            threading.Thread(target=self._read_blocks, name="concerto-stdin", daemon=True).start()
        self._is_reading = True
        self._orders.put(None)

    def _read_blocks(self) -> None:
        while True:
            self._orders.get()
            try:
                block: Any = self._read()
            except Exception as error:  # whatever it is, the task that waits gets it, and the thread goes on
                block = error
            self._blocks.put(block)
            loop = self._loop
            with suppress(RuntimeError):  # the loop has ended meanwhile; the next request finds the block
                loop.call_soon_threadsafe(partial(self._serve_in, loop))

    def _serve_in(self, loop: Any) -> None:
        if loop is self._loop:  # else the run of that loop is over
            self._serve()

    def _read(self) -> bytes:
        try:
            return os.read(self._stream.fileno(), BLOCK)
        except OSError:  # also that of a stream without a descriptor, which is a ValueError too
            raise
        except ValueError:
            raise OSError(errno.EBADF, "the stream is closed") from None
