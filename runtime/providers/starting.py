"""How requests get out when there are many: few at a time, and a busy event loop is no reason to give up connecting.

An SDK computes for milliseconds before a request is out. A thousand at once would all be connecting while the loop computes for
the others; one after the other, the first replies come while the last requests wait, and connections are used again.

Hands on `Gate` and `Start`. Must not know: SDKs, requests, replies.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from ..time_limits import DEFAULTS
from .patience import Countdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from .patience import Patience

CONNECT_SECONDS = DEFAULTS["connect"]  # G-15.3
AT_ONCE = 16
HELD_SECONDS = 0.1  # whoever connects for longer waits for the network, and keeps nobody else from starting
CONNECTING = {"connect_tcp", "start_tls", "setup_socks5_connection"}

_starting: ContextVar[Start | None] = ContextVar("starting", default=None)


class Gate:
    """Of one client: `AT_ONCE` of its requests start at a time, in the order in which they came."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(AT_ONCE)

    async def watch(self, request: Any) -> None:
        """The HTTP client calls this before it sends: what it does for the request is told to the Start of this call."""
        start = _starting.get()
        if start is not None:
            request.extensions["trace"] = start.happened


class Start:
    """One call of the SDK, let through the gate. It gives the place back when its request is sent, and ends `patience` when
    connecting takes too long."""

    def __init__(self, gate: Gate, patience: Patience, connect_seconds: float = CONNECT_SECONDS) -> None:
        self.unconnected = False
        self.has_left = False  # the request may have reached the provider
        self._gate = gate
        self._patience = patience
        self._connecting = Countdown(connect_seconds, self._give_up)
        self._holding = Countdown(HELD_SECONDS, self._pass_on)
        self._holds = False
        self._token: Token[Start | None] | None = None

    async def __aenter__(self) -> None:
        await self._gate.free.acquire()
        self._holds = self.has_left = True  # a client of the tests tells nothing of connecting
        self._holding.start()
        self._token = _starting.set(self)

    async def __aexit__(self, *failure: object) -> None:
        assert self._token is not None
        _starting.reset(self._token)
        self._connecting.stop()
        self._pass_on()

    async def happened(self, event: str, facts: object) -> None:
        """An event of the HTTP client: `layer.step.phase`."""
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
            self._pass_on()

    def _give_up(self) -> None:
        self.unconnected = True
        self._patience.end("connect")

    def _pass_on(self) -> None:
        self._holding.stop()
        if self._holds:
            self._holds = False
            self._gate.free.release()
