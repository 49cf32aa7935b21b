"""Requests as they are sent, and how much of each equals the one before it, which is what a provider's prompt cache can read
again (O-9.13).

Tools come first, then the messages, as all wires have them. Hands on `RequestPrefixes`, told of every request that is sent. Must
not know: providers, who reads the lines.
"""

from __future__ import annotations

from .schema.json_text import compact_json
from .shown_requests import shown_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Request


class RequestPrefixes:
    """`tell` gets the lines of each request, the first of them with its size and share. Compared are requests to one model of one
    connection; `clean` takes secrets out of a text."""

    __slots__ = ("tell", "clean", "_before")

    def __init__(self, tell: Callable[[str], object], clean: Callable[[str], str]) -> None:
        self.tell = tell
        self.clean = clean
        self._before: dict[tuple[str, str], tuple[Request, bytes]] = {}

    def sent(self, request: Request) -> None:
        parts = [*(tool.as_json() for tool in request.tools), *(message.as_json() for message in request.messages)]
        text = "\n".join(map(compact_json, parts)).encode("utf-8", "surrogatepass")
        to = request.connection, request.model
        before, sent = self._before.get(to, (None, b""))
        self._before[to] = request, text
        share = "the first of its model"
        if before is not None:
            share = f"{100 * common_prefix(sent, text) // len(text)} % as the one before"
        self.tell(f"request {request.id}: {request.model} on {request.connection}, {len(text)} bytes, {share}")
        for line in shown_request(request, before, self.clean):
            self.tell(line)


def common_prefix(one: bytes, other: bytes) -> int:
    """The length of what both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
