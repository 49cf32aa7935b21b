"""Answers over HTTP, before a wire reads them: no redirect is followed and no body is read without a bound (G-6.1, G-8.6).

Hands on to `sdk.py`: `watch`, which makes an HTTP client raise `Redirected` and `Refused`, and `asked_by_us`, which says for
which requests; `body_of` and `pieces_of`, the bounded body, with MOST_STREAM_BYTES; `Reason`, what a provider says of a request
that it refuses (O-1.130), and `first_named`, which finds the words; and `EventReader`, which cuts events out of a stream. Hands
on `Refused` and MOST_BODY_BYTES to `event_frames.py`, `Reason` to `bedrock.py` too. Which failure an answer becomes is decided in
`sdk.py`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from contextvars import ContextVar

from ...vm.values.text import CUT
from ..access.secrets import clean_text
from .json_fields import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
    from typing import Any


MOST_BODY_BYTES = 4 << 20  # of a reply, or of one event of a stream (G-9.9): a text of 1 MiB, escaped, and what stands around it
MOST_STREAM_BYTES = 64 << 20  # of all events of one reply
MOST_ERROR_BYTES = 64 << 10  # of the body of an error; the rest is not read

# True while a request of ours is sent: a client that a host gave may send others, which are none of our business.
asked_by_us: ContextVar[bool] = ContextVar("asked_by_us", default=False)


class Redirected(Exception):
    """An answer whose `status` is a redirect, to `place`: a URL without query, fragment and user information, or words that say
    that it is none; empty when the answer names no place."""

    def __init__(self, status: int, place: str) -> None:
        super().__init__(status, place)
        self.status = status
        self.place = place


class Refused(Exception):
    """An answer whose `status` is 400 or more, with its `headers` and as `body` the first MOST_ERROR_BYTES bytes of its body, and
    CUT behind them where a longer one is cut within a word. A reader of a stream raises it too, for an error in the stream, with
    the status that this means."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


def watch(client: Any) -> None:
    """Make an HTTP client of httpx2 pass its answers to `watch_answers` first. To call it again changes nothing."""
    hooks = client.event_hooks
    if watch_answers not in hooks["response"]:
        client.event_hooks = {**hooks, "response": [watch_answers, *hooks["response"]]}


async def watch_answers(response: Any) -> None:
    """Raise Redirected or Refused for an answer to a request of ours whose status is 300 or more."""
    if not asked_by_us.get() or response.status_code < 300:
        return
    if response.status_code < 400:
        raise Redirected(response.status_code, _place(response))
    raise Refused(response.status_code, response.headers, await _beginning(response))


async def body_of(response: Any) -> bytes:
    """Return the whole body, its compression undone. Unreadable when it is larger than MOST_BODY_BYTES; what the HTTP client
    raises passes through."""
    return b"".join([piece async for piece in pieces_of(response, MOST_BODY_BYTES)])


async def pieces_of(response: Any, most: int) -> AsyncGenerator[bytes, None]:
    """Yield the body as it comes, its compression undone. Unreadable beyond `most` bytes; what the HTTP client raises passes
    through."""
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            raise Unreadable(f"the reply is larger than {most} bytes")
        yield piece


async def _beginning(response: Any) -> bytes:
    """Return what can be read of the body of an error. A body that breaks off or cannot be decoded must not hide the status."""
    import httpx2

    body = b""
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_ERROR_BYTES:
                break
    except (httpx2.TransportError, httpx2.DecodingError):
        pass
    begun = body[:MOST_ERROR_BYTES]
    return begun if len(body) == len(begun) or begun[-1:].isspace() else begun + CUT.encode()


def _place(response: Any) -> str:
    import httpx2

    location = response.headers.get("location")
    if not location:
        return ""
    try:
        url = response.request.url.join(location)
    except (httpx2.InvalidURL, ValueError):
        return "a place that is no URL"
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))


NAMES = ("message", "Message", "msg", "detail", "error")  # keys under which bodies have a message, the likeliest first
MOST_SHOWN = 300  # code points of a body without a message, or of the title of a page
MOST_PARTS = 10_000  # of a body that are searched for a message


class Reason:
    """What a provider says of a request that it refuses, found in whatever body it sends (O-1.130).

    `message` is in the provider's own words, if it has any, else the beginning of the body on one line, or the status; for a page
    of HTML it is the status with the title. `param` is the parameter that it names and `code` its own name of the error, None
    where it has none. `clean` takes secrets out, before anything is cut: half of a secret still is one."""

    def __init__(self, status: int, body: bytes, clean: Callable[[str], str]) -> None:
        text = body.decode("utf-8", "replace").strip()
        self.param: str | None = None
        self.code: str | None = None
        message = None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if isinstance(value, dict):
            inner = value.get("error", value)
            if isinstance(inner, dict):
                self.param, self.code = (
                    inner[name] if isinstance(inner.get(name), str) else None for name in ("param", "code")
                )
                message = inner["message"].strip() if isinstance(inner.get("message"), str) else None
        message = message or first_named(value)
        if message is None:
            content = clean(clean_text(value if isinstance(value, str) else _json(value) or text))
            self.message = _page(status, content) or _beginning_of(content) or f"HTTP status {status}"
        else:
            content = clean(clean_text(message))
            self.message = _page(status, content) or content


def first_named(value: Any) -> str | None:
    """Return the first text under one of NAMES that is not blank, without white space around it, searched level by level: one
    that is nested less deeply comes first. None when there is none among the first MOST_PARTS parts."""
    level: deque[Any] = deque([value])
    for _ in range(MOST_PARTS):
        if not level:
            return None
        part = level.popleft()
        if isinstance(part, dict):
            texts: list[str] = [part[name].strip() for name in NAMES if isinstance(part.get(name), str)]
            if any(texts):
                return next(filter(None, texts))
            level.extend(part.values())
        elif isinstance(part, list):
            level.extend(part)
    return None


def _page(status: int, text: str) -> str:
    """Return the title of a page of HTML, in a sentence; "" for any other text. Proxies answer with such pages."""
    if not re.search(r"<(!doctype html|html|body)\b", text[:2000], re.I):
        return ""
    title = _between(text, "title") or _between(text, "h1")
    return f"HTTP status {status} with a page of HTML" + (f": {title}" if title else "")


def _json(value: Any) -> str:
    """Return a value as text in one form, whatever escapes it had, so that secrets in it are found."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return ""


def _between(text: str, tag: str) -> str:
    """Return the text at the beginning of the first element with this tag."""
    opening = re.search(rf"<{tag}\b", text, re.I)
    start = text.find(">", opening.end()) + 1 if opening else 0
    return _beginning_of(text[start:].partition("<")[0]) if start else ""


def _beginning_of(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return " ".join(text.split())[:MOST_SHOWN]


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventReader:
    """Cuts server-sent events out of the pieces of a body, as the HTML standard reads them (9.2.6), each of bounded size (G-6.1).

    Only the data of events is kept; that of several lines is joined by line feeds. Other than in the standard, an event that the
    end of the body cuts off counts, too."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._data: list[bytes] = []  # the data lines of an event that has not ended yet
        self._size = 0  # bytes since the last event
        self._after_return = False
        self._at_start = True

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of the events that a piece of the body completes. Unreadable when more than MOST_BODY_BYTES bytes, this
        piece included, have come since the piece that completed an event."""
        self._size += len(piece)
        if self._size > MOST_BODY_BYTES:
            raise Unreadable(f"no event of the stream ends within {MOST_BODY_BYTES} bytes")
        if self._after_return and piece:
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        if piece.endswith(b"\r"):
            self._after_return = True  # a line feed that begins the next piece belongs to this line end
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines and self._parts:
            lines[0] = b"".join([*self._parts, lines[0]])
            self._parts = []
        yield from self._events(lines)
        if rest:
            self._parts.append(rest)

    def end(self) -> Iterator[bytes]:
        """Yield the event that the end of the body completes, if there is one."""
        yield from self._events([b"".join(self._parts), b""])

    def _events(self, lines: list[bytes]) -> Iterator[bytes]:
        """Yield the events that these lines complete. A hostile stream has millions of lines without meaning: they must cost
        little."""
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
