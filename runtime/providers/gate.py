"""How many requests of one client start at a time, and when one that starts counts as sent (G-15.3).

Hands on `Gate`, one for each client, and `Start`, one for each request, to `sdk.py`. An SDK computes for milliseconds before a
request is out: a thousand at once would all be connecting while the loop computes for the others. A few at a time, the first
replies come while the last requests wait, and connections are used again. Nothing is sent here: what a request does is told by
trace events of the HTTP client.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from ..records import DEFAULTS
from .patience import Countdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from .patience import Patience


CONNECT_SECONDS = DEFAULTS["connect"]  # G-15.3
AT_ONCE = 16  # requests of one client that start at a time
HELD_SECONDS = 0.1  # a request that connects for longer waits for the network, and lets another one start
CONNECTING = {"connect_tcp", "start_tls", "setup_socks5_connection"}

_starting: ContextVar[Start | None] = ContextVar("starting", default=None)


class Gate:
    """Lets `AT_ONCE` requests of one client start at a time, in the order in which they came; `free` counts the places that are
    left."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(AT_ONCE)

    async def watch(self, request: Any) -> None:
        """Make the HTTP client, which calls this before it sends a request, report to the `Start` of this call what it does for
        the request."""
        start = _starting.get()
        if start is not None:
            request.extensions["trace"] = start.on_event


class Start:
    """One call of the SDK on its way through the gate, as a context manager. It gives its place back when its request is sent,
    after HELD_SECONDS at the latest, and ends `patience` when connecting takes longer than `connect_seconds`. `has_left` says
    that the request may have reached the provider."""

    def __init__(self, gate: Gate, patience: Patience, connect_seconds: float = CONNECT_SECONDS) -> None:
        self.has_left = False
        self._gate = gate
        self._patience = patience
        self._connecting = Countdown(connect_seconds, self._give_up)
        self._holding = Countdown(HELD_SECONDS, self._give_place_back)
        self._holds = False
        self._token: Token[Start | None] | None = None

    async def __aenter__(self) -> None:
        await self._gate.free.acquire()
        self._holds = self.has_left = True  # a client of the tests reports nothing of connecting
        self._holding.start()
        self._token = _starting.set(self)

    async def __aexit__(self, *failure: object) -> None:
        assert self._token is not None
        _starting.reset(self._token)
        self._connecting.stop()
        self._give_place_back()

    async def on_event(self, event: str, facts: object) -> None:
        """Take a trace event of the HTTP client; `event` is `layer.step.phase`."""
        _, step, phase = event.split(".")
        if step in CONNECTING:
            if phase == "started":
                self.has_left = False
                self._connecting.start()
            else:
                self._connecting.stop()
        elif step == "send_request_headers":
            self.has_left = True
        elif step == "send_request_body" and phase != "started":
            self._give_place_back()

    def _give_up(self) -> None:
        self._patience.end("connect")

    def _give_place_back(self) -> None:
        self._holding.stop()
        if self._holds:
            self._holds = False
            self._gate.free.release()
