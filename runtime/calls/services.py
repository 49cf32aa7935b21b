"""What a call needs from its session: its provider, limits of rate, clock, chance, counters, tools."""

from __future__ import annotations

from collections import deque

from ..errors import ConfigFailure
from ..loop import asyncio_loop
from ..providers.offline import OfflineProvider, Script
from ..records import Msg
from ..schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..access.secrets import Redactor
    from ..connections import ConnectionSettings
    from ..emits import Metrics
    from ..providers.base import Provider
    from ..providers.sdk import SdkProvider
    from ..records import Call, Reply, Request
    from ..shown_requests import RequestPrefixes
    from ..usage import Spending
    from .budgets import Purse
    from .settings import CallSettings


# ----------------------------------------------------------------
# The rate limits of a connection (O-1.16): a call over one waits, first come first served, and never fails for it.
#
# Minute limits count started requests and reported tokens of the last 60 s. Hands on the seconds waited.

WINDOW_SECONDS = 60.0


class _Turn:
    """A place in the line; `called` is set while it sleeps until called."""

    __slots__ = ("called",)

    def __init__(self) -> None:
        self.called: Any = None


class RateLimiter:
    """`limits` is the object of O-1.11. Every `enter` that returned is followed by one `leave`."""

    __slots__ = ("_limits", "_clock", "_sleep", "_started", "_reported", "_running", "_line", "_future")

    def __init__(
        self,
        limits: Mapping[str, int],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        future: Callable[[], Any] | None = None,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._future = future or _asyncio_future
        self._started: deque[tuple[float, int]] = deque()  # (when, 1)
        self._reported: deque[tuple[float, int]] = deque()  # (when, tokens)
        self._running = 0
        self._line: deque[_Turn] = deque()

    async def enter(self) -> float:
        """Waits for room and takes it; the seconds waited, which are no part of timeout or latency."""
        since = self._clock()
        turn = _Turn()
        self._line.append(turn)
        try:
            while self._line[0] is not turn:
                await self._until_called(turn)
            await self._until_there_is_room(turn)
            self._running += 1
            self._started.append((self._clock(), 1))
        finally:  # a cancelled call leaves the line as well
            self._line.remove(turn)
            self._call_first()
        return self._clock() - since

    def leave(self, tokens: int) -> None:
        self._running -= 1
        self._reported.append((self._clock(), tokens))
        self._call_first()

    async def _until_there_is_room(self, turn: _Turn) -> None:
        while True:
            wait = self._minute_wait()
            if wait > 0:
                await self._sleep(wait)
            elif self._running >= self._limits.get("concurrent_requests", float("inf")):
                await self._until_called(turn)
            else:
                return

    async def _until_called(self, turn: _Turn) -> None:
        turn.called = self._future()
        try:
            await turn.called
        finally:
            turn.called = None

    def _call_first(self) -> None:
        called = self._line[0].called if self._line else None
        if called is not None and not called.done():
            called.set_result(None)

    def _minute_wait(self) -> float:
        requests = self._limits.get("requests_per_minute")
        tokens = self._limits.get("tokens_per_minute")
        return max(self._wait(self._started, requests), self._wait(self._reported, tokens))

    def _wait(self, counted: deque[tuple[float, int]], limit: int | None) -> float:
        """Seconds until fewer than `limit` are counted in the window."""
        now = self._clock()
        while counted and counted[0][0] <= now - WINDOW_SECONDS:
            counted.popleft()
        if limit is None:
            return 0.0
        excess = sum(amount for _, amount in counted) - limit
        for when, amount in counted:
            if excess < 0:
                break
            excess -= amount
            if excess < 0:
                return when + WINDOW_SECONDS - now
        return 0.0


def _asyncio_future() -> Any:
    return asyncio_loop().create_future()


# ----------------------------------------------------------------
# What a call needs from its session: provider, clock, chance, counters, tools.
#
# Hands on `Services`.

if TYPE_CHECKING:
    class Sender(Protocol):
        name: str
        free_and_instant: bool
        unmetered: bool

        async def send(self, request: Request) -> Reply: ...
        async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply: ...

    class ToolRunner(Protocol):
        async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
            """One tool message per call, in call order (O-4.23); a failing call is an error message."""


class NoTools:
    """Answers calls of tools that were not offered."""

    async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
        return [unknown_tool(settings, call) for call in calls]


def unknown_tool(settings: CallSettings, call: Call) -> Msg:
    return failure_message(call, unknown_tool_text(settings, call))


def unknown_tool_text(settings: CallSettings, call: Call) -> str:
    offered = ", ".join(tool.name for tool in settings.tools)
    return f"unknown tool {call.name}; " + (f"offered: {offered}" if offered else "no tools are offered")


def failure_message(call: Call, message: str) -> Msg:
    """What a model is told of a call that failed (O-4.27)."""
    return Msg("tool", compact_json({"error": message}), call_id=call.id, is_error=True)


class Services:
    """What a call needs from its session. `remaining` gives the seconds up to the deadline of the run, None without; `future`
    makes a future of the loop that runs the call; `purse` holds the accounts that the run draws on, and `task` is who
    does; `spending` is told what each request has used."""

    __slots__ = (
        "provider", "sleep", "random", "clock", "metrics", "pricing", "emit", "tools", "remaining", "limiters", "future",
        "counter", "purse", "spending", "task", "prefixes",
    )  # fmt: skip

    def __init__(
        self,
        *,
        provider: Callable[[str], Sender],
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        clock: Callable[[], float],
        metrics: Metrics,
        pricing: Mapping[str, Mapping[str, float]] | None = None,
        emit: Callable[[str, dict[str, Any]], None] = lambda channel, payload: None,
        tools: ToolRunner | None = None,
        remaining: Callable[[], float | None] = lambda: None,
        future: Callable[[], Any] | None = None,
    ) -> None:
        self.provider = provider
        self.sleep = sleep
        self.random = random
        self.clock = clock
        self.metrics = metrics
        self.pricing = pricing or {}
        self.emit = emit
        self.tools = tools or NoTools()
        self.remaining = remaining
        self.future = future
        self.limiters: dict[str, RateLimiter] = {}
        self.counter = "model_calls"
        self.purse: Purse | None = None
        self.spending: Spending | None = None
        self.task: str | None = None  # its path
        self.prefixes: RequestPrefixes | None = None  # told of every request, where somebody wants to know

    def asking(self, sender: Sender, counter: str = "model_calls") -> Services:
        """The same services, with one sender in place of every provider; `counter` of the metrics counts its requests."""
        other = self._copied()
        other.provider = lambda connection: sender
        other.counter = counter
        return other

    def of_task(self, task: str) -> Services:
        """The same services, for the calls of the task with that path."""
        other = self._copied()
        other.task = task
        return other

    def with_tools(self, tools: ToolRunner) -> Services:
        """The same services, with what runs the tools of one call."""
        other = self._copied()
        other.tools = tools
        return other

    def _copied(self) -> Services:
        """The module `copy` brings more into a start than this."""
        other = object.__new__(Services)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def count_request(self) -> None:
        setattr(self.metrics, self.counter, getattr(self.metrics, self.counter) + 1)

    def limiter(self, connection: ConnectionSettings) -> RateLimiter | None:
        """The one limiter of a connection, None without limits."""
        if connection.rate_limit is None:
            return None
        made = self.limiters.get(connection.name)
        if made is None:
            made = self.limiters[connection.name] = RateLimiter(connection.rate_limit, self.clock, self.sleep, self.future)
        return made


# ----------------------------------------------------------------
# The providers of a session, one per connection, made when first asked for (O-1.24, O-1.29).
#
# Hands on `Provider`s.


class ProviderPool:
    """`offline` routes every connection to the offline provider; `script` is the one order of replies of all of them,
    without it an offline connection takes its own `replies`. `http_client` is handed to SDK clients."""

    def __init__(
        self,
        connections: Mapping[str, ConnectionSettings],
        *,
        env: Mapping[str, str],
        redactor: Redactor,
        sleep: Callable[[float], Awaitable[None]],
        offline: bool = False,
        script: Sequence[Any] | None = None,
        http_client: Any = None,
    ) -> None:
        self._connections = connections
        self._env = env
        self._redactor = redactor
        self._sleep = sleep
        self._offline = offline
        self._script = None if script is None else Script(script)
        self._http_client = http_client
        self._made: dict[str, Provider] = {}
        for name, settings in connections.items():
            if settings.replies:
                _check_replies(name, settings.replies)

    def __getitem__(self, name: str) -> Provider:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._connections[name])
        return made

    @property
    def unscripted(self) -> int:
        """Requests that the script of the host had no reply for."""
        return 0 if self._script is None else self._script.missed

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()

    def _make(self, settings: ConnectionSettings) -> Provider:
        if self._offline or not settings.row.wires:
            script = Script(settings.replies or ()) if self._script is None else self._script
            return OfflineProvider(settings, script, self._sleep)
        return wire_class(settings)(settings, self._env, self._redactor, self._http_client)


def wire_class(settings: ConnectionSettings) -> type[SdkProvider]:
    """The class that sends the requests of a connection, imported only now (O-1.24)."""
    from importlib import import_module

    module, _, name = settings.row.wires[settings.api].rpartition(".")
    found: type[SdkProvider] = getattr(import_module(f"..providers.{module}", __package__), name)
    return found


def _check_replies(connection: str, replies: Sequence[Any]) -> None:
    """Before anything runs, whether the connection is used or not. Raises ConfigFailure."""
    try:
        Script(replies)
    except ConfigFailure as failure:
        raise ConfigFailure(failure.code, f"connection {connection}: {failure.message}") from None
