"""What a call needs from its session: provider, clock, chance, counters, tools.

Hands on `Services`. Must not know: how a call is made, what a tool does.
"""

from __future__ import annotations

from .rate_limit import RateLimiter
from .records import Msg
from .schema.json_text import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from .budgets import Purse
    from .call_settings import CallSettings
    from .connections import ConnectionSettings
    from .metrics import Metrics
    from .records import Call, Reply, Request
    from .request_prefixes import RequestPrefixes
    from .spending import Spending

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
