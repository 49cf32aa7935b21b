"""The one layer that retries transport failures (O-1.45 to O-1.54, G-15.1, G-15.2).

Hands on: a policy that tells, for a failure, how long to wait or that it stands. Must not know: providers, clocks;
waiting and chance are handed in.
"""

from __future__ import annotations

from ...vm.declaration_fields import DECORATORS, RETRY, RETRY_ARGUMENTS
from ..errors import RATE_LIMIT, SERVER, CallFailure
from ..schema.lenient_json import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..records import Reply, Request


LONGEST_SERVER_WAIT_MS = 120_000
JITTER = 0.25
ANSWERED = (RATE_LIMIT, SERVER)  # the classes of failures that the provider itself reported


class RetryPolicy:
    __slots__ = ("max_attempts", "backoff", "initial_delay_ms", "max_delay_ms", "retry_on")

    def __init__(
        self,
        max_attempts: int = RETRY["max_attempts"].default,
        backoff: str = RETRY["backoff"].default,
        initial_delay_ms: int = RETRY["initial_delay_ms"].default,
        max_delay_ms: int = RETRY["max_delay_ms"].default,
        retry_on: tuple[str, ...] | list[str] = RETRY["retry_on"].default,
    ) -> None:
        self.max_attempts = max_attempts
        self.backoff = backoff
        self.initial_delay_ms = initial_delay_ms
        self.max_delay_ms = max_delay_ms
        self.retry_on = tuple(retry_on)

    @classmethod
    def from_object(cls, fields: Mapping[str, Any]) -> RetryPolicy:
        """From `retry` or `retry_policy`."""
        return cls(**fields)

    @classmethod
    def from_decorator(cls, arguments: Mapping[str, Any]) -> RetryPolicy:
        """From the arguments of `@retry`."""
        return cls(**{RETRY_ARGUMENTS[name]: value for name, value in arguments.items()})

    def of_once(self) -> RetryPolicy:
        """The policy for requests that may not be repeated while nobody knows whether they took effect: only an answer that says
        so lets another one go out (O-9.37)."""
        known = [name for name in self.retry_on if name in ANSWERED]
        return RetryPolicy(self.max_attempts, self.backoff, self.initial_delay_ms, self.max_delay_ms, known)

    def delay_ms(self, retry: int) -> int:
        """The computed delay before retry 1, 2, … without jitter."""
        if self.backoff == "none":
            return 0
        if self.backoff == "linear":
            return min(self.initial_delay_ms * retry, self.max_delay_ms)
        # The shift is bounded: beyond it the cap holds anyway.
        return min(self.initial_delay_ms << min(retry - 1, 64), self.max_delay_ms)

    def wait_ms(self, failure: CallFailure, attempt: int, random: Callable[[], float]) -> float | None:
        """How long to wait after `attempt` (from 1) has failed; None when the failure stands."""
        if failure.retry_class not in self.retry_on or attempt >= self.max_attempts:
            return None
        asked: float | None = failure.fields.get("retry_after_ms")
        if asked is not None:
            return asked if asked <= LONGEST_SERVER_WAIT_MS else None
        return self.delay_ms(attempt) * (1.0 - JITTER * random())


# ----------------------------------------------------------------
# The answers a model's `@cache` keeps (O-1.59).
#
# Hands on the final reply of an earlier call with an equal first request.

DEFAULT_TTL_SECONDS = DECORATORS["cache"].arguments["ttl_seconds"].default


class ReplyCache:
    """One of each model instance and session (O-1.64). Time is the host's clock, in seconds."""

    __slots__ = ("_ttl", "_clock", "_kept")

    def __init__(self, arguments: Mapping[str, Any], clock: Callable[[], float]) -> None:
        self._ttl = arguments.get("ttl_seconds", DEFAULT_TTL_SECONDS)
        self._clock = clock
        self._kept: dict[str, tuple[float, Reply]] = {}

    def find(self, key: str) -> Reply | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        since, reply = kept
        if self._clock() - since > self._ttl:
            del self._kept[key]
            return None
        return reply

    def keep(self, key: str, reply: Reply) -> None:
        now = self._clock()
        # Entries stand in order of time: the expired ones are in front.
        while self._kept and now - self._kept[first := next(iter(self._kept))][0] > self._ttl:
            del self._kept[first]
        self._kept.pop(key, None)
        self._kept[key] = (now, reply)


def cache_key(request: Request) -> str:
    """The digest of a request without its id, which differs from call to call."""
    record = request.as_json()
    del record["id"]
    return digest(record)
