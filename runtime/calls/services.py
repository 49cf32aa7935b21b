"""What a call needs from its session: its provider, rate limits, clock, chance, counters, the runner of its tools.

Hands on `Services` to the algorithm in `call.py` and its retries; a session, and its protocol (`running.py`), has one, and the
performers of models and agents hand variants of it to their calls (a mock or an agent in place of the provider, the tools of one
call). Hands on `RateLimiter` to `call.py` and `streams.py` too, one for each connection with limits (O-1.16); the protocol
`Sender` to `settings.py` and the performer of models; and `failure_message` and `unknown_tool_text` to `tools/bindings.py`.
Nothing is sent or retried here: when a call asks for each of these is decided in `call.py`.
"""

from __future__ import annotations

from collections import deque

from ..breaker import Breakers
from ..loop import asyncio_loop
from ..prompt_cache import PromptCaches
from ..records import Msg
from ..schema.lenient_json import compact_json
from .budgets import Asker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..records import Call, Reply, Request
    from ..telemetry import Telemetry
    from .budgets import Purse
    from .request_log import RequestLog
    from .settings import CallSettings
    from .usage import Metrics, Spending


WINDOW_SECONDS = 60.0  # limits per minute count what falls into the last 60 s


class _Turn:
    """A place in the line. `called` is the future that it waits for while others are ahead of it, or while as many requests run
    as may; None while it waits for none."""

    __slots__ = ("called",)

    def __init__(self) -> None:
        self.called: Any = None


class RateLimiter:
    """The rate limits of one connection: a call over a limit waits, first come first served, and never fails for it (O-1.16).

    `limits` is the object of O-1.11: `requests_per_minute`, `tokens_per_minute`, `concurrent_requests`, those that are set. Every
    `enter` that returned must be followed by one `leave`. Tokens count from the end of their request, so the limit of them holds
    back those that start later. `paused` are those of running requests that may wait for somebody who waits here: each is called,
    perhaps often, when a request needs a place, and has to bring its request to an end. `clock` gives seconds; `sleep` takes
    seconds; `future` makes a future of the loop, asyncio's if it is None."""

    __slots__ = ("paused", "_limits", "_clock", "_sleep", "_started", "_reported", "_running", "_line", "_future")

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
        self._started: deque[tuple[float, int]] = deque()  # per request: when it started, and 1
        self._reported: deque[tuple[float, int]] = deque()  # per request: when it was over, and its tokens
        self._running = 0
        self._line: deque[_Turn] = deque()
        self.paused: set[Callable[[], None]] = set()

    async def enter(self) -> float:
        """Wait until a request may start, and return the seconds waited, which are no part of timeout or latency. A caller that
        is cancelled leaves the line."""
        since = self._clock()
        turn = _Turn()
        self._line.append(turn)
        try:
            while self._line[0] is not turn:  # first come, first served: nobody overtakes who waits for a limit
                await self._until_called(turn)
            await self._until_there_is_room(turn)
            self._running += 1
            self._started.append((self._clock(), 1))
        finally:  # a cancelled call leaves the line as well
            self._line.remove(turn)
            self._call_first()
        return self._clock() - since

    def leave(self, tokens: int) -> None:
        """Say that a request is over, and how many tokens it has used, 0 when nobody knows."""
        self._running -= 1
        self._reported.append((self._clock(), tokens))
        self._call_first()

    async def _until_there_is_room(self, turn: _Turn) -> None:
        while True:
            wait = self._minute_wait()
            if wait > 0:
                await self._sleep(wait)
            elif self._running >= self._limits.get("concurrent_requests", float("inf")):
                for go_on in list(self.paused):
                    go_on()
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

    def _wait(self, amounts: deque[tuple[float, int]], limit: int | None) -> float:
        """Return the seconds until the amounts in the window are fewer than `limit` together."""
        now = self._clock()
        while amounts and amounts[0][0] <= now - WINDOW_SECONDS:
            amounts.popleft()
        if limit is None:
            return 0.0
        excess = sum(amount for _, amount in amounts) - limit
        for when, amount in amounts:
            if excess < 0:
                break
            excess -= amount
            if excess < 0:
                return when + WINDOW_SECONDS - now
        return 0.0


def _asyncio_future() -> Any:
    return asyncio_loop().create_future()


if TYPE_CHECKING:
    class Sender(Protocol):
        """What sends requests: a provider, an agent, or a mock of one. A sender that is `free_and_instant` costs nothing and
        has no latency; one that is `unmetered` counts its requests only, no tokens and no cost; `is_batch`: the prices are those
        of a batch."""

        name: str
        free_and_instant: bool
        unmetered: bool

        async def send(self, request: Request) -> Reply:
            """Send a request and return the whole reply. Raises CallFailure; a mock may raise a Panic."""

        async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
            """Do what `send` does, and call `give` with each piece of the text as it comes; the next piece waits until `give`
            returns. What `give` raises passes through."""

    class ToolRunner(Protocol):
        """What runs the tools of one call."""

        async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
            """Return one tool message for each call, in their order (O-4.23); a call that fails gives an error message."""


class NoTools:
    """The `ToolRunner` of a call without tools: it answers every call that the tool is unknown."""

    async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
        return [unknown_tool(settings, call) for call in calls]


def unknown_tool(settings: CallSettings, call: Call) -> Msg:
    """Return the message that answers a call of a tool that was not offered."""
    return failure_message(call, unknown_tool_text(settings, call))


def unknown_tool_text(settings: CallSettings, call: Call) -> str:
    """Return what the message of `unknown_tool` says: that there is no such tool, and which tools of the program are offered."""
    names = ", ".join(tool.name for tool in settings.tools)
    return f"unknown tool {call.name}; " + (f"offered: {names}" if names else "no tools are offered")


def failure_message(call: Call, message: str) -> Msg:
    """Return the tool message that tells a model that a call failed: an error whose text is JSON with `message` as its `error`
    (O-4.27)."""
    return Msg("tool", compact_json({"error": message}), call_id=call.id, is_error=True)


class Services:
    """What a call needs from its session.

    `provider` gives the sender of a connection by its name; `sleep` takes seconds, `clock` gives them, `random` a number from 0
    up to 1, without 1; `remaining` gives the seconds up to the deadline of the run, None without one; `future` makes a future of
    the loop (None: of asyncio's; a streamed call needs it). `pricing` has the rows of `usage.py: price` by model id; `counter` is
    the field of `metrics` that counts requests. `emit` sends an emit of the runtime (a channel and its payload, plain data) to
    the host; `tools` runs the tools of the call, None for none; `limiters` are those made so far, by connection, which all copies
    share. `purse` holds the budgets of the run, `spending` what tasks have used, `task` is the path of the task that calls and
    `asker` that task as budgets know it; they are None where nobody counts. `request_log` is told of every request, None where
    nobody wants to see them, `telemetry` of each request and tool call, None where nothing is sent. `breakers`, and
    `prompt_caches` with what requests have told providers of their caches, are new ones until the session puts those of the host
    in their place. `look_at_clock` makes `clock` give the time of now where it stands between outcomes from outside (G-13.4),
    None where it does not."""

    __slots__ = (
        "provider", "sleep", "random", "clock", "metrics", "pricing", "emit", "tools", "remaining", "limiters", "future",
        "counter", "purse", "spending", "task", "asker", "request_log", "breakers", "prompt_caches",
        "look_at_clock", "telemetry",
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
        self.task: str | None = None
        self.asker: Asker | None = None
        self.request_log: RequestLog | None = None
        self.telemetry: Telemetry | None = None
        self.look_at_clock: Callable[[], Awaitable[None]] | None = None
        self.breakers = Breakers()
        self.prompt_caches = PromptCaches()

    def asking(self, sender: Sender, counter: str = "model_calls") -> Services:
        """Return a copy with one sender in place of every provider; the field `counter` of the metrics counts its requests."""
        other = self._copied()
        other.provider = lambda connection: sender
        other.counter = counter
        return other

    def of_task(self, task: str) -> Services:
        """Return a copy for one call of the task with that path."""
        other = self._copied()
        other.task = task
        other.asker = Asker(task)
        return other

    def with_tools(self, tools: ToolRunner) -> Services:
        """Return a copy with the runner of the tools of one call."""
        other = self._copied()
        other.tools = tools
        return other

    def _copied(self) -> Services:
        # the module `copy` would make the start of a run longer
        other = object.__new__(Services)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def count_request(self) -> None:
        """Add one request to the counter of the metrics that these services count in."""
        if self.counter == "model_calls":  # nearly all
            self.metrics.model_calls += 1
        else:
            setattr(self.metrics, self.counter, getattr(self.metrics, self.counter) + 1)

    def limiter(self, connection: str, limits: Mapping[str, int]) -> RateLimiter:
        """Return the limiter of the connection with this name, the same one each time; the first one has these limits, the value
        of its field `rate_limit`."""
        limiter = self.limiters.get(connection)
        if limiter is None:
            limiter = self.limiters[connection] = RateLimiter(limits, self.clock, self.sleep, self.future)
        return limiter
