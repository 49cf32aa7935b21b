"""What a provider is: it takes the neutral record and gives the neutral reply, or raises `CallFailure`.

Hands on the protocol and the two questions every lowering asks.
"""

from __future__ import annotations

from ..errors import Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..connections import ConnectionSettings
    from ..errors import CallFailure
    from ..records import EmbedRequest, Reply, Request


class Provider:
    """One per connection and session. A streaming request goes through the same `lower`; its reply comes in parts."""

    settings: ConnectionSettings
    name: str  # what a Response calls its provider (O-1.109)
    free_and_instant = False  # price 0 and latency 0 whatever the clock says (O-1.33)
    unmetered = False  # has neither tokens nor a price

    def lower(self, request: Request) -> dict[str, Any]:
        """The arguments of the wire for this record (O-1.85 ff.); NotSent when the wire cannot carry it."""
        raise NotImplementedError

    async def send(self, request: Request) -> Reply:
        """One provider request within `request.limits`."""
        raise NotImplementedError

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        """The same, every piece of the text handed to `give` when it comes; the text of the Reply is that of all pieces."""
        raise NotImplementedError

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        """A vector per text."""
        raise origin_of(request).failure("ConnectionError", "ProviderUnavailable", f"{self.name} has no embeddings")

    async def aclose(self) -> None:
        """Gives back connections and processes; sending again opens them anew."""


OVER = {
    "connect": "no connection to {place} within", "first": "the stream did not begin within",
    "idle": "nothing came of the stream for", "total": "the stream did not end within",
}  # fmt: skip


def timed_out(request: Request | EmbedRequest, limit: str, place: str = "") -> CallFailure:
    """The failure of a request to `place` whose limit of this name ran out. One that could not connect is a NetworkError
    (O-1.129)."""
    limits, origin = request.limits, origin_of(request)
    streams = getattr(request, "stream", False)
    if limit == "total" and not streams:
        seconds, words = limits.call, "no reply within"
    else:
        seconds, words = getattr(limits, limit), OVER[limit].format(place=place)
    name = f" (timeout `{limit}`)" if limits.are_named or (streams and limit != "connect") else ""
    if limit == "connect":
        return origin.network(f"{words} {seconds:g} s{name}")
    return origin.timed_out(limit, seconds, f"{words} {seconds:g} s{name}")


def origin_of(request: Request | EmbedRequest) -> Origin:
    return Origin(request.model, request.connection, request.limits.call)
