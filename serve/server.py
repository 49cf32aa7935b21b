"""The server: uvicorn with our limits on connections, in one process or several (S-1.1, S-1.7, S-1.8).

Hands on `listen`, `serve`, `Recipe` and `is_loopback` to the command. What a connection may hold open without sending a request
is bounded here, since no application sees such a connection; all else is decided by the application.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess

from .access_log import lines_on
from .app import Application
from .asgi import asgi

HEADER_BYTES = 32 << 10  # of a request's line and headers
HEADER_SECONDS = 10.0  # until they are there
KEEP_ALIVE = 15  # seconds that a connection may be idle
MULTIPROC = "PROMETHEUS_MULTIPROC_DIR"


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, on connections that send the head of a request within HEADER_SECONDS. It hands the
    application `abort` in the state of a request, which ends the connection at once."""

    head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "abort": self.abort}
        self._expect_head()

    def abort(self) -> None:
        """End the connection at once; what the system still holds for its reader is dropped too."""
        connection = self.transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # the client breaks the rules behind an answer, and no other one can be sent
            self.abort()
            return
        if self.cycle is None or self.cycle.response_complete:
            self._expect_head()
        elif self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        self.head_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.abort()


class UntilBroken:
    """An application whose client may break the rules of HTTP behind its request: where its answer has begun, nothing more can be
    answered, and the connection is cut, with no line in the log but that of the request."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        broken = False

        async def sent(message: Any) -> None:
            nonlocal broken
            try:
                await send(message)
            except h11.LocalProtocolError as error:
                broken = True
                raise OSError(str(error)) from None

        try:
            await self.app(scope, receive, sent)
        except Exception:
            if not broken:
                raise
        if broken:
            scope["state"]["abort"]()
            await asyncio.sleep(0)  # until the protocol knows that the connection is lost
            await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a process of the server makes its application: of the program at `path`, with these options of `asgi`; `quiet` leaves
    the lines of requests out of the log."""

    path: str
    options: dict[str, Any]
    quiet: bool = False

    def application(self) -> UntilBroken:
        """Return the application, made in a process of several. Raises as `asgi`."""
        lines_on(sys.stderr, quiet=self.quiet)
        return UntilBroken(asgi(self.path, **self.options))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raise OSError where the address cannot be had."""
    try:
        address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except UnicodeError:
        raise OSError("it is no name of a host") from None
    listener = socket.socket(address[0], address[1])
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address[4])
        listener.listen(2048)
        listener.setblocking(False)
        listener.set_inheritable(True)
    except OSError:
        listener.close()
        raise
    return listener


def serve(listener: socket.socket, application: Application | Recipe, *, workers: int, drain: float) -> None:
    """Serve until SIGTERM or SIGINT; then no connection is taken, and calls that run have `drain` seconds, in whole ones and at
    least 1, to end. With several workers `application` is the Recipe by which each makes its own."""
    config = config_of(application, workers, drain)
    if workers == 1:
        # uvicorn raises the signal again behind its own end, which was asked for and went well.
        with _ignoring_later(signal.SIGTERM, signal.SIGINT):
            uvicorn.Server(config).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory(prefix="concerto-metrics-") as folder:
        os.environ[MULTIPROC] = folder  # before the workers start: their counters lie there
        try:
            _Workers(config, [listener]).run()
        finally:
            del os.environ[MULTIPROC]


def config_of(application: Application | Recipe, workers: int, drain: float) -> uvicorn.Config:
    """Return the configuration of uvicorn, without its access log, since that is ours. It configures no logger: the errors that
    uvicorn tells go where `lines_on` sends them."""
    is_recipe = isinstance(application, Recipe)
    made: Any = functools.partial(Recipe.application, application) if is_recipe else UntilBroken(application)  # type: ignore[arg-type]
    return uvicorn.Config(
        made, factory=isinstance(application, Recipe), http=GuardedProtocol,
        ws="none", lifespan="on", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_BYTES, timeout_keep_alive=KEEP_ALIVE, workers=workers,
        timeout_graceful_shutdown=max(1, round(drain)),
    )  # fmt: skip


class _Workers(Multiprocess):
    """The processes of a server; what one that died counted last as its own is forgotten."""

    def keep_subprocess_alive(self) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            if pid is not None:
                mark_process_dead(pid)  # type: ignore[no-untyped-call]


class _ignoring_later:
    """Sets handlers that do nothing, and the ones before behind the body."""

    def __init__(self, *signals: signal.Signals) -> None:
        self.signals = signals
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        nothing: Callable[[int, Any], None] = lambda number, frame: None  # noqa: E731
        for one in self.signals:
            self.before[one] = signal.signal(one, nothing)

    def __exit__(self, *failure: object) -> None:
        for one, handler in self.before.items():
            signal.signal(one, handler)
