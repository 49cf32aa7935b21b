"""Circuit breakers of connections: a connection that fails again and again is left alone for a while (O-1.231).

Hands on `Breakers`, which a host has one of, to `host.py`, the Python API and `calls/services.py`. A call (`calls/call.py`)
asks the `Breaker` of its connection before each request and tells it how the request ended; failures of the classes in COUNTED
count, any other answer shows that the endpoint works. Hands on `Breaker`, COUNTED and OPEN to calls, and the type `State` to
the session. Threads and event loops may share both. Nothing here sends, waits or raises: a call that is not let through fails
in `calls/call.py`.
"""

from __future__ import annotations

from _thread import allocate_lock  # the module threading is more than a start should load

from ..vm.declaration_fields import BREAKER
from .errors import CONNECTION, SERVER, TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from .connections import ConnectionSettings

    State = Literal["closed", "open", "trial"]


COUNTED = (SERVER, CONNECTION, TIMEOUT)  # classes of failures after which an endpoint may be down
CLOSED: Literal["closed"] = "closed"
OPEN: Literal["open"] = "open"
TRIAL: Literal["trial"] = "trial"


class Breaker:
    """The breaker of one endpoint. It opens after `most` failures in a row; `seconds` later it lets one request through, the
    trial. The next request that is `answered` closes it. `now` is in seconds, by one clock for all calls; a `request` is any
    object, known by its identity."""

    __slots__ = ("most", "seconds", "failures", "_opened", "_trial", "_lock")

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self.failures = 0  # in a row
        self._opened: float | None = None  # when; None while it is closed
        self._trial: object = None  # the request that is tried
        self._lock = allocate_lock()

    def enter(self, request: object, now: float) -> float | None:
        """Let a request through and return None, or return the seconds until the next trial; 0.0 while one is on its way."""
        with self._lock:
            if self._opened is None:
                return None
            left = self._opened + self.seconds - now
            if left > 0:
                return left
            if self._trial is not None:
                return 0.0
            self._trial = request
            return None

    def failed(self, request: object, now: float) -> None:
        """Count a failure of the endpoint. A trial that fails opens the breaker anew; while it is open, other failures are only
        counted."""
        with self._lock:
            self.failures += 1
            if self._trial is request:
                self._trial, self._opened = None, now
            elif self._opened is None and self.failures >= self.most:
                self._opened = now

    def answered(self) -> None:
        """Note that the endpoint works: close."""
        with self._lock:
            self.failures, self._opened, self._trial = 0, None, None

    def dropped(self, request: object) -> None:
        """Note that nobody knows how a request would have ended: if it was the trial, another one may be tried."""
        with self._lock:
            if self._trial is request:
                self._trial = None

    def state(self, now: float) -> tuple[State, int, float]:
        """Return CLOSED, OPEN or TRIAL (the next request is one, or one is on its way), the failures in a row, and the seconds
        until a trial, 0.0 unless it is OPEN."""
        with self._lock:
            if self._opened is None:
                return CLOSED, self.failures, 0.0
            left = max(self._opened + self.seconds - now, 0.0)
            return OPEN if left else TRIAL, self.failures, left


class Breakers:
    """The breakers of a host's connections, each made when it is first asked for. Connections of several sessions that agree in
    name, provider, address and limits have the same one."""

    __slots__ = ("_by_identity", "_lock")

    def __init__(self) -> None:
        self._by_identity: dict[tuple[object, ...], Breaker] = {}
        self._lock = allocate_lock()

    def of(self, connection: ConnectionSettings) -> Breaker | None:
        """Return the breaker of a connection; None for one without the field `breaker`."""
        fields = connection.breaker
        if fields is None:
            return None
        most, seconds = (fields.get(name, row.default) for name, row in BREAKER.items())
        identity = connection.name, connection.provider, connection.base_url, most, seconds
        with self._lock:
            breaker = self._by_identity.get(identity)
            if breaker is None:
                breaker = self._by_identity[identity] = Breaker(most, seconds)
            return breaker

    def states(self, connections: Mapping[str, ConnectionSettings], now: float) -> dict[str, tuple[State, int, float]]:
        """Return what `Breaker.state` gives, by the names of those connections that have a breaker."""
        breakers = {name: self.of(connection) for name, connection in connections.items()}
        return {name: breaker.state(now) for name, breaker in breakers.items() if breaker is not None}
