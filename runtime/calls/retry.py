"""The rule for retries of transport failures: which failure is retried, how often, and after which wait (O-1.45 to O-1.54,
G-15.1).

Hands on `RetryPolicy` to the settings of models and agents, to stages of pipelines, to functions of Python
(`effects/externs.py`) and to `embedders.py`, and `retry_wait`, which heeds the limits of the run too, to the requests of models,
agents and embedders. It only decides and counts: the callers wait and try again. It has nothing to do with the retries of replies
that do not fit a schema, which are `schema_attempts` of `settings.py`.
"""

from __future__ import annotations

from ...vm.declaration_fields import RETRY, RETRY_ARGUMENTS
from ..errors import RATE_LIMIT, SERVER, CallFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .services import Services


LONGEST_SERVER_WAIT_MS = 120_000  # a server that asks for more is not waited for (O-1.53)
JITTER = 0.25  # at most this part of a delay is left out by chance, so that clients do not come back at once (O-1.53)
ANSWERED = (RATE_LIMIT, SERVER)  # the classes of failures that the provider itself reported
# Transport retries of a session: always this many, or this part of all its requests to models if that is more (G-6.5).
RETRIES_ALWAYS_ALLOWED = 10
RETRIED_PART = 0.2


class RetryPolicy:
    """The rule of one model, agent, stage or function of Python. `max_attempts` counts the first attempt too; `backoff` is none,
    linear or exponential, from `initial_delay_ms` up to `max_delay_ms` milliseconds; `retry_on` are classes of failures
    (RETRY_CLASSES in `vm/declaration_fields.py`). A policy is never changed."""

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
        """Return the policy of the object in a field `retry` or `retry_policy`, which `runtime/connections.py` has checked."""
        return cls(**fields)

    @classmethod
    def from_decorator(cls, arguments: Mapping[str, Any]) -> RetryPolicy:
        """Return the policy of the arguments of `@retry`, which have names of their own (RETRY_ARGUMENTS) and which
        `runtime/connections.py` has checked."""
        return cls(**{RETRY_ARGUMENTS[name]: value for name, value in arguments.items()})

    def of_once(self) -> RetryPolicy:
        """Return the policy for requests that must not take effect twice (`@effect("once")`): it retries only failures that the
        provider itself reported. After a broken connection nobody knows whether the request took effect (O-9.37)."""
        retry_on = [name for name in self.retry_on if name in ANSWERED]
        return RetryPolicy(self.max_attempts, self.backoff, self.initial_delay_ms, self.max_delay_ms, retry_on)

    def delay_ms(self, retry: int) -> int:
        """Return the delay in milliseconds before retry 1, 2, …, without jitter."""
        if self.backoff == "none":
            return 0
        if self.backoff == "linear":
            return min(self.initial_delay_ms * retry, self.max_delay_ms)
        # exponential; the shift is bounded because beyond it the cap holds anyway
        return min(self.initial_delay_ms << min(retry - 1, 64), self.max_delay_ms)

    def wait_ms(self, failure: CallFailure, attempt: int, random: Callable[[], float]) -> float | None:
        """Return the milliseconds to wait after attempt 1, 2, … has failed; None when the failure is final: not of a class in
        `retry_on`, or of the last of `max_attempts`.

        A wait that the server asks for is kept exactly; one of more than LONGEST_SERVER_WAIT_MS makes the failure final. `random`
        gives a number from 0 up to 1, without 1."""
        if failure.retry_class not in self.retry_on or attempt >= self.max_attempts:
            return None
        server_wait: float | None = failure.fields.get("retry_after_ms")
        if server_wait is not None:
            return server_wait if server_wait <= LONGEST_SERVER_WAIT_MS else None
        return self.delay_ms(attempt) * (1.0 - JITTER * random())

    def last_failure(self, failure: CallFailure, attempt: int) -> CallFailure:
        """Return the failure of the last attempt as the end of all: where it was retried as often as the policy allows, a copy
        that says how many attempts there were (`CallFailure.exhausted`), else the failure itself."""
        is_exhausted = failure.retry_class in self.retry_on and 1 < self.max_attempts <= attempt
        return failure.exhausted(attempt) if is_exhausted else failure


def retry_wait(policy: RetryPolicy, failure: CallFailure, attempt: int, services: Services) -> float | None:
    """Return the seconds to wait before the attempt behind this one, and count the retry; None, without counting, when there is
    none: the policy does not retry such a failure or has no more attempts, its server asks for too long a wait, the session has
    used up its retries (G-6.5), or the wait would pass the deadline of the run. `attempt` counts from 1."""
    wait, metrics, remaining = policy.wait_ms(failure, attempt, services.random), services.metrics, services.remaining()
    if wait is None or metrics.retries >= max(RETRIES_ALWAYS_ALLOWED, RETRIED_PART * metrics.model_calls):
        return None
    if remaining is not None and wait / 1000 > remaining:
        return None
    metrics.retries += 1
    return wait / 1000
