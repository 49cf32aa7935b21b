"""What requests use: one rule for counters, budgets, prices and programs, whatever becomes of a request (G-6.4, G-9.7, O-1.132).

Hands on `Use`, what a request or several have used; `used_by_reply` and `used_by_broken`, the rule. Must not know: providers,
accounts, how a call is made.
"""

from __future__ import annotations

from functools import cache

from .memory.entries import count_message, count_text
from .records import Msg
from .schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .errors import CallFailure
    from .records import Reply, Request


REPLY_TOKENS = 4096  # of a reply whose length nobody bounds


class Use:
    """`estimated`: those of the tokens that no provider has told; `unpriced`: requests without a price, whose cost is not in
    `cost`. The names are those of the record `Usage` and of the metrics."""

    __slots__ = (
        "attempts", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_write", "tokens_reasoning", "tokens_estimated",
        "cost", "unpriced",
    )  # fmt: skip

    def __init__(
        self, attempts: int = 0, tokens_in: int = 0, tokens_out: int = 0, tokens_cached: int = 0, tokens_cache_write: int = 0,
        tokens_reasoning: int = 0, tokens_estimated: int = 0, cost: float = 0.0, unpriced: int = 0,
    ) -> None:  # fmt: skip
        self.attempts = attempts
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.tokens_cached = tokens_cached
        self.tokens_cache_write = tokens_cache_write
        self.tokens_reasoning = tokens_reasoning
        self.tokens_estimated = tokens_estimated
        self.cost = cost
        self.unpriced = unpriced

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def priced(self, cost: float | None) -> Use:
        """The same with its price, None where nobody knows it."""
        if cost is None:
            self.unpriced = 1
        else:
            self.cost = cost
        return self

    def add(self, other: Use) -> None:
        self.attempts += other.attempts
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        if other.tokens_cached or other.tokens_cache_write or other.tokens_reasoning or other.tokens_estimated:
            self.tokens_cached += other.tokens_cached
            self.tokens_cache_write += other.tokens_cache_write
            self.tokens_reasoning += other.tokens_reasoning
            self.tokens_estimated += other.tokens_estimated
        self.cost += other.cost
        self.unpriced += other.unpriced


def used_by_reply(request: Request, reply: Reply) -> Use:
    """As reported; what a provider does not report is counted here (G-9.7)."""
    reports_input, reports_output = reply.reports
    tokens_in = reply.tokens_in if reports_input else prompt_tokens(request)
    tokens_out = reply.tokens_out if reports_output else count_message(Msg("assistant", reply.text, reply.calls))
    estimated = (0 if reports_input else tokens_in) + (0 if reports_output else tokens_out)
    return Use(1, tokens_in, tokens_out, reply.cached, reply.cache_write, reply.reasoning, estimated)


def used_by_broken(request: Request, failure: CallFailure | None) -> Use:
    """Of a request without a whole reply: what was told, else what is counted. A provider that answered with a status has done no
    work, nor has one that was not reached. Of a reply of which nothing has come nobody knows how long it has become: it used what
    it might."""
    came = request.came
    refused = failure is not None and "status" in failure.fields
    if came is None or not came.begun or refused:
        return Use(1)
    told_in, told_out, cached, written, reasoning = came.told
    tokens_in = prompt_tokens(request) if told_in is None else told_in
    estimated = tokens_in if told_in is None else 0
    if told_out is not None and (came.whole or (came.texts and came.told_at == len(came.texts))):
        tokens_out = told_out
    elif came.texts:  # the provider's word is older than the text
        counted = count_message(Msg("assistant", "".join(came.texts)))
        tokens_out = max(told_out or 0, counted)
        estimated += tokens_out
    else:
        tokens_out = request.params.get("max_tokens", REPLY_TOKENS)
        estimated += tokens_out
    return Use(1, tokens_in, tokens_out, cached, written, reasoning, estimated)


def prompt_tokens(request: Request) -> int:
    """What a request sends, counted as a memory counts (M-11): its messages, tools and schema."""
    declared = [tool.as_json() for tool in request.tools]
    if request.schema is not None and request.schema.strategy == "native":
        declared.append(request.schema.json)
    return sum(map(count_message, request.messages)) + sum(count_text(compact_json(part)) for part in declared)


# ----------------------------------------------------------------
# Prices that providers publish, for models the program names none of (O-1.136): the package genai-prices, the extra `prices`.
#
# They are looked up by the address of the endpoint, so that a model of the same name elsewhere has no price from them. The
# package
# is loaded with the first request that asks; without it nothing has a published price.


@cache
def _package() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def list_price(
    address: str | None, model: str, tokens_in: int, tokens_out: int, cached: int = 0, cache_write: int = 0
) -> float | None:
    """The cost of a request at an endpoint; None where nobody publishes one. Counts as in `metrics.price`."""
    prices = _package() if address is not None else None
    if prices is None:
        return None
    cached = min(cached, tokens_in)
    cache_write = min(cache_write, tokens_in - cached)
    usage = prices.Usage(
        input_tokens=tokens_in, cache_read_tokens=cached, cache_write_tokens=cache_write, output_tokens=tokens_out
    )
    try:
        return float(prices.calc_price(usage, model_ref=model, provider_api_url=address).total_price)
    except (LookupError, ValueError, ArithmeticError):  # no such provider or model, or counts that it does not take
        return None


# ----------------------------------------------------------------
# What is known of the reply to a request on its way, for who has to say what the request has used (G-6.4).
#
# Hands on `Came`.


class Came:
    """What is known of the reply to a request on its way. `begun`: it may have left for the provider. `told`: what the provider
    has said of its use so far, as (in, out, cached, written to a cache, reasoning), None for what it has not said, and `told_at`
    how many texts had come with that; `whole`: it was its last word."""

    __slots__ = ("begun", "texts", "told", "told_at", "whole")

    def __init__(self) -> None:
        self.begun = False
        self.texts: list[str] = []
        self.told: tuple[int | None, int | None, int, int, int] = (None, None, 0, 0, 0)
        self.told_at = 0
        self.whole = False


# ----------------------------------------------------------------
# What tasks have used of models, for programs that ask (`std::usage`, L-7.16): the last call of each, and all below it.
#
# Hands on `Spending`.

KEPT = 1_000  # tasks that may be known before those that have ended are forgotten


class Spending:
    """By the paths of tasks; `alive` gives those of the tasks that have not ended."""

    __slots__ = ("alive", "last", "spent", "_most")

    def __init__(self, alive: Callable[[], Iterable[str]]) -> None:
        self.alive = alive
        self.last: dict[str, Use] = {}
        self.spent: dict[str, Use] = {}
        self._most = KEPT

    def clear(self) -> None:
        self.last.clear()
        self.spent.clear()

    def begins(self, task: str, use: Use) -> None:
        """A call of the task: `use` grows with its requests."""
        self.last[task] = use

    def add(self, task: str, use: Use) -> None:
        """What a request has used is that of its task and of those around it."""
        while True:
            found = self.spent.get(task)
            if found is None:
                found = self.spent[task] = Use()
            found.add(use)
            at = task.rfind(".")
            if at < 0:
                break
            task = task[:at]
        if len(self.spent) > self._most:
            self._forget()

    def _forget(self) -> None:
        alive = set(self.alive())
        for known in (self.last, self.spent):
            for task in [task for task in known if task not in alive]:
                del known[task]
        self._most = max(KEPT, 2 * len(self.spent))
