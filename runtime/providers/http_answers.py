"""What comes back over HTTP, before anybody reads it: no redirect is followed, no body is read without bound (G-6.1, G-8.6).

`watch_answers` goes into the HTTP client that an SDK sends through. Hands on bodies, and the exceptions `Redirected` and
`Refused` for the answers that are no replies. Must not know: SDKs, requests, failures.
"""

from __future__ import annotations

from contextvars import ContextVar

from .json_fields import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from typing import Any

MOST_BODY_BYTES = 4 << 20  # of a reply, or of one event of a stream (G-9.9): a text of 1 MiB, escaped, and what stands around it
MOST_STREAM_BYTES = 64 << 20
MOST_ERROR_BYTES = 64 << 10  # of what says why a request failed; the rest is not read

asked_by_us: ContextVar[bool] = ContextVar("asked_by_us", default=False)


class Redirected(Exception):
    """`place` is where the answer points to, without query and user information; empty where it points nowhere."""

    def __init__(self, status: int, place: str) -> None:
        super().__init__(status, place)
        self.status = status
        self.place = place


class Refused(Exception):
    """A status of 400 or more, with the beginning of its body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


def watch(client: Any) -> None:
    """Answers to requests of ours that come through this client are looked at first; a client may be a host's own."""
    hooks = client.event_hooks
    if watch_answers not in hooks["response"]:
        client.event_hooks = {**hooks, "response": [watch_answers, *hooks["response"]]}


async def watch_answers(response: Any) -> None:
    if not asked_by_us.get() or response.status_code < 300:
        return
    if response.status_code < 400:
        raise Redirected(response.status_code, _place(response))
    raise Refused(response.status_code, response.headers, await _beginning(response))


async def body_of(response: Any) -> bytes:
    """The whole body, decoded; Unreadable when it is too large."""
    return b"".join([piece async for piece in pieces_of(response, MOST_BODY_BYTES)])


async def pieces_of(response: Any, most: int) -> AsyncGenerator[bytes, None]:
    """The body as it comes, decoded; Unreadable beyond `most` bytes."""
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            raise Unreadable(f"the reply is larger than {most} bytes")
        yield piece


async def _beginning(response: Any) -> bytes:
    """What can be read of the body of an error; that it breaks off or cannot be decoded does not hide the status."""
    import httpx2

    body = b""
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_ERROR_BYTES:
                break
    except (httpx2.TransportError, httpx2.DecodingError):
        pass
    return body[:MOST_ERROR_BYTES]


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
