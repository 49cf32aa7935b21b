"""The events of one call, in order and with numbers, for readers that lag, go and come again (S-1.2).

Hands on `EventLog` to the calls, `EventStream`, the answer that sends a log as server-sent events, with `sse`, `data_line`,
`Event` and `Lost` to the application and the protocols beside it, `disconnected` to the former and to `a2a.py`. Events are kept
up to an amount: of more, the oldest are dropped, and a reader that has not had those is dropped too. What events there are is for
the calls.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from ..api.waiting import Waiters

HEARTBEAT = 15.0  # seconds after which a silent stream sends a comment, by which proxies and readers know that it lives
LAST = ("result", "error")
BURST = 16  # times the bytes that are kept: what a program may tell before readers have a turn


class Event(NamedTuple):
    """One event of a call: its number, from 1, what kind it is, and its JSON text."""

    number: int
    kind: str
    data: str


class Lost(Exception):
    """Events that a reader wants are not kept any more."""


class EventLog:
    """The events of a call, `kept` up to `most` bytes of their data, of which `bytes` are kept now. `count` is how many
    there have been. It has `ended` with an event of a kind of LAST. Its methods are for one event loop."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: deque[Event] = deque()
        self.bytes = 0
        self.count = 0
        self.ended = False
        self._repeats = 0  # events that are to come a second time
        self._trims = False  # a trim is to come
        self._arrivals = Waiters()  # readers that wait for an event
        self._drops = Waiters()  # those that wait for the oldest ones to go

    def add(self, kind: str, data: str) -> None:
        """Append an event; the oldest ones go where there is no room, but not before readers had a turn: a program that tells
        much at once makes nobody slow. The newest is always kept."""
        if self._repeats:
            self._repeats -= 1
            return
        self.count += 1
        self.kept.append(Event(self.count, kind, data))
        self.bytes += _size(data)
        self.ended = self.ended or kind in LAST
        self._arrivals.wake()
        if self.bytes > BURST * self.most:
            self._trim()
        elif self.bytes > self.most and not self._trims:
            self._trims = True
            asyncio.get_running_loop().call_soon(self._trim)

    def repeat(self) -> None:
        """Expect all events so far once more, from a call that is made again: they are not added a second time."""
        self._repeats = self.count

    def _trim(self) -> None:
        self._trims = False
        while self.bytes > self.most and len(self.kept) > 1:
            self.bytes -= _size(self.kept.popleft().data)
        self._drops.wake()

    @property
    def first(self) -> int:
        """The number of the oldest event that is kept."""
        return self.count - len(self.kept) + 1

    def after(self, number: int) -> list[Event]:
        """Return the kept events behind the one of that number. Raise Lost where one of them is kept no more."""
        if number + 1 < self.first:
            raise Lost
        return [self.kept[at] for at in range(number + 1 - self.first, len(self.kept))]

    async def arrived(self, number: int) -> None:
        """Return when there is an event behind the one of that number, or the log has ended."""
        while self.count <= number and not self.ended:
            await self._arrivals.woken()

    async def overrun(self, position: Callable[[], int]) -> None:
        """Return when an event is dropped that the reader has not had, whose last one was that of number `position()`."""
        while position() + 1 >= self.first:
            await self._drops.woken()


def _size(data: str) -> int:
    """Return the bytes of a text on the wire."""
    return len(data) if data.isascii() else len(data.encode())


def sse(call: str, event: Event) -> bytes:
    """Return an event as it is sent: its id leads back to it, its data is one line, since JSON text has no line breaks."""
    return f"id: {call}-{event.number}\nevent: {event.kind}\ndata: {event.data}\n\n".encode()


def data_line(row: Any) -> bytes:
    """Return JSON data as an event that has no name and no id."""
    return f"data: {json.dumps(row, ensure_ascii=False)}\n\n".encode()


def _never() -> bool:
    return False


class EventStream:
    """The answer that streams a log from behind event `number` on. `opened` and `closed` are told when a reader begins and ends;
    `headers` go with those of every stream; `form(event)` gives the bytes of an event, b"" for one that is not sent, `begin`
    those before the first one, `end` those behind the last one; after each `heartbeat` seconds of silence a comment is sent.
    `over` tells whether the stream ends behind the event that `form` was given last; it ends with its log at the latest. A reader
    for whom events are lost is cut off, by the `abort` that `server.py` puts into the state of a request; under another server
    its stream just ends."""

    def __init__(
        self, log: EventLog, number: int, form: Callable[[Event], bytes], *, headers: dict[str, str], opened: Callable[[], None],
        closed: Callable[[], None], begin: bytes = b"", end: bytes = b"", over: Callable[[], bool] = _never,
        heartbeat: float = HEARTBEAT,
    ) -> None:  # fmt: skip
        self.log = log
        self.number = number
        self.form = form
        self.headers = headers
        self.opened = opened
        self.closed = closed
        self.begin = begin
        self.end = end
        self.over = over
        self.heartbeat = heartbeat
        self.status_code = 200

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.opened()
        try:
            await self._serve(scope, receive, send)
        finally:
            self.closed()

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Send until the log ends, the reader goes, or it has lost events, whichever is first."""
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(disconnected(receive))
        lost = asyncio.ensure_future(self.log.overrun(lambda: self.number))
        try:
            await asyncio.wait({sending, gone, lost}, return_when=asyncio.FIRST_COMPLETED)
            if lost.done() and not sending.done():
                abort = scope.get("state", {}).get("abort")
                if abort is not None:
                    abort()
        finally:
            for task in (sending, gone, lost):
                task.cancel()
            await asyncio.wait({sending, gone, lost})
        if sending.cancelled():
            return
        with suppress(OSError, Lost):  # the reader has gone, or lost its place
            sending.result()

    async def _send(self, send: Any) -> None:
        headers = {
            "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no",
            **self.headers,
        }  # fmt: skip
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        async for piece in self._pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": self.end, "more_body": False})

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield b": open\n\n" + self.begin
        while not self.over():
            events = self.log.after(self.number)
            if events:
                # Many small events are one piece, so that a reader that lags costs few calls.
                piece = b"".join(self._formed(events))
                if piece:
                    yield piece
            elif self.log.ended:
                return
            else:
                try:
                    async with asyncio.timeout(self.heartbeat):
                        await self.log.arrived(self.number)
                except TimeoutError:
                    yield b": alive\n\n"

    def _formed(self, events: list[Event]) -> Iterator[bytes]:
        """Yield the bytes of events, up to the one behind which the stream is over."""
        for event in events:
            yield self.form(event)
            self.number = event.number
            if self.over():
                return


async def disconnected(receive: Any) -> None:
    """Return when the client has gone; what it still sends is read and dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
