"""What a provider is: it takes the neutral record of a request and returns the neutral reply, or raises `CallFailure`.

Hands on `Provider`, which every provider extends, and so do what asks an agent (`agents/calls.py`) and what asks a batch
(`batches/provider_jobs.py`) in place of one; and, for the providers, `timed_out` and `origin_of`, which make its failures, the
last to `journal/border.py` too. A provider must not repeat a request that failed (calls do, by `calls/retry.py`), and stores
nothing in a memory. A new one is a file here and a row in `vm/providers.py` (CONTRIBUTING.md).
"""

from __future__ import annotations

from ..errors import Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..connections import ConnectionSettings
    from ..errors import CallFailure
    from ..records import EmbedRequest, Reply, Request, SideRequest


class Provider:
    """The provider of one connection in a session, whose `settings` it has. `send` and `stream` send what `lower` returns, where
    there is a network; of these three a subclass defines those that it can do."""

    settings: ConnectionSettings
    name: str  # what a Response calls its provider (O-1.109)
    free_and_instant = False  # price 0 and latency 0 whatever the clock says (O-1.33)
    unmetered = False  # has neither tokens nor a price: its requests alone are counted

    is_batch = False  # replies are those of a batch of the provider, which are cheaper (S-2.4)

    def lower(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the wire for a request's record (O-1.85 ff.), whether it is streamed or not. Raises NotSent
        when the wire cannot carry it."""
        raise NotImplementedError

    async def send(self, request: Request) -> Reply:
        """Send one request and return its reply, within the time limits of `request.limits`. Raises CallFailure; a mock may raise
        a Panic."""
        raise NotImplementedError

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        """Do what `send` does, and hand each piece of the text to `give` when it comes. The text of the reply is that of all
        pieces. Raises as `send`; what `give` raises passes through, and ends the stream."""
        raise NotImplementedError

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        """Return one vector for each text, in their order. Raises CallFailure, also for a provider without embeddings."""
        raise origin_of(request).failure("ConnectionError", "ProviderUnavailable", f"{self.name} has no embeddings")

    def pass_over(self, request: Request) -> None:
        """Take note of a request whose answer came from a recording: a provider that answers from a script goes on behind it."""

    async def aclose(self) -> None:
        """Close what the provider keeps open, such as connections. Sending again opens new ones."""


OVER = {
    "connect": "no connection to {place} within", "first": "the stream did not begin within",
    "idle": "nothing came of the stream for", "total": "the stream did not end within",
}  # fmt: skip


def timed_out(request: Request | SideRequest, limit: str, place: str = "") -> CallFailure:
    """Return the failure of a request whose time limit of this name ran out (connect, first, idle or total); `place` is the host
    it went to. A request that could not connect is a NetworkError (O-1.129)."""
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


def origin_of(request: Request | SideRequest) -> Origin:
    """Return the `Origin`, which makes the failures of a request."""
    return Origin(request.model, request.connection, request.limits.call)
