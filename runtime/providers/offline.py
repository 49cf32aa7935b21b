"""The offline provider: no key, no network, a pure function of record and script (O-1.29 to O-1.34).

Hands on replies. Must not know: SDKs, sockets. Nothing here waits but a scripted delay, by the sleep handed in.
"""

from __future__ import annotations

from ..records import Reply
from ..schema.json_text import compact_json
from ..schema.minimal import minimal_instance
from .base import Provider, origin_of, timed_out
from .scripted import comes_within, pieces, scripted_reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..connections import ConnectionSettings
    from ..records import EmbedRequest, Request
    from .scripted import Script

PREFIX = "offline: "
QUOTED_LENGTH = 60
CODE_POINTS_PER_TOKEN = 4
MOCK = "mock"


class WirelessProvider(Provider):
    """What both have in common: replies from a script that connections may share (then it is one order of replies for all of
    them), streamed in the pieces it says."""

    def __init__(
        self, settings: ConnectionSettings, name: str, script: Script, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self.settings = settings
        self.name = name
        self._script = script
        self._sleep = sleep

    def lower(self, request: Request) -> dict[str, Any]:
        """The record itself: there is no wire."""
        return request.as_json()

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        from ..memory.offline_vectors import offline_vectors

        return offline_vectors(request.texts)

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        scripted = self._script.next
        reply = await self.send(request)
        for piece in pieces(scripted, reply.text):
            await give(piece)
        return reply

    async def _said(self, scripted: Any, request: Request, model: str) -> Reply:
        origin = origin_of(request)
        limit, seconds = first_limit(request)
        if not await comes_within(seconds, scripted, self._sleep):
            raise timed_out(request, limit)
        return scripted_reply(scripted, origin, model=model)


def first_limit(request: Request) -> tuple[str, float]:
    """The limit that a reply meets which comes in one go, late or not: of a stream it is the wait for its beginning."""
    limits = request.limits
    if not request.stream:
        return "total", limits.call
    return ("first", limits.first) if limits.first <= limits.total else ("total", limits.total)


class OfflineProvider(WirelessProvider):
    """Where the script has no reply left, one is made up."""

    free_and_instant = True

    def __init__(self, settings: ConnectionSettings, script: Script, sleep: Callable[[float], Awaitable[None]]) -> None:
        super().__init__(settings, settings.name, script, sleep)

    async def send(self, request: Request) -> Reply:
        scripted = self._script.take()
        reply = await self._said(scripted, request, request.model) if scripted is not None else _invented(request)
        # A script that says nothing about tokens is counted like any other reply.
        if not _says_tokens(scripted, "tokens_in"):
            reply.tokens_in = sum(tokens(message.content) for message in request.messages)
        if not _says_tokens(scripted, "tokens_out"):
            reply.tokens_out = tokens(reply.text)
        return reply


class ScriptedProvider(WirelessProvider):
    """A mock's provider: scripted replies only, tokens 0 unless scripted (O-8.16 to O-8.18).

    `exhausted` is called when no reply is left and must raise; every request is kept in `requests`.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        script: Script,
        sleep: Callable[[float], Awaitable[None]],
        exhausted: Callable[[Request], Exception],
    ) -> None:
        super().__init__(settings, MOCK, script, sleep)
        self.requests: list[Request] = []
        self._exhausted = exhausted

    async def send(self, request: Request) -> Reply:
        self.requests.append(request)
        scripted = self._script.take()
        if scripted is None:
            raise self._exhausted(request)
        return await self._said(scripted, request, MOCK)


def tokens(text: str) -> int:
    """Code points divided by 4, rounded up (O-1.33)."""
    return -(-len(text) // CODE_POINTS_PER_TOKEN)


def _invented(request: Request) -> Reply:
    if request.schema is not None:
        return Reply(compact_json(minimal_instance(request.schema.json)), model=request.model)
    prompt = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
    return Reply(PREFIX + prompt[:QUOTED_LENGTH].replace("\n", " "), model=request.model)


def _says_tokens(scripted: Any, part: str) -> bool:
    return isinstance(scripted, dict) and part in scripted
