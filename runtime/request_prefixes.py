"""How much of a request equals the one before it, which is what a provider's prompt cache can read again (O-9.13).

Tools come first, then the messages, as all wires have them. Hands on `RequestPrefixes`, told of every request that is sent. Must
not know: providers, who reads the lines.
"""

from __future__ import annotations

from .schema.json_text import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Request


class RequestPrefixes:
    """`tell` gets a line per request. Compared are requests to one model of one connection."""

    __slots__ = ("tell", "_before")

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell
        self._before: dict[tuple[str, str], bytes] = {}

    def sent(self, request: Request) -> None:
        parts = [*(tool.as_json() for tool in request.tools), *(message.as_json() for message in request.messages)]
        text = "\n".join(map(compact_json, parts)).encode("utf-8", "surrogatepass")
        to = request.connection, request.model
        before = self._before.get(to)
        self._before[to] = text
        if before is None:
            share = "the first of its model"
        else:
            share = f"{100 * common_prefix(before, text) // len(text)} % as the one before"
        self.tell(f"request {request.id}: {request.model} on {request.connection}, {len(text)} bytes, {share}")


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
