"""What requests use: tokens and cost, by one rule for counters, budgets and programs (G-6.4, G-9.7, O-1.132).

Hands on `Use`, which `used_by_reply` and `used_by_broken` make of a request that was answered or broke, also to `telemetry.py`
and `effects/world.py`; `price`, `list_price`, `cost_of` and BATCH_PRICE, which say its cost, to calls and budgets;
`used_by_reply`, `list_price` and `cost_of` to the journal (`journal/border.py`) too; to the session `Metrics`, its counters (its
protocol, `running.py`, and batches take them too), and `Spending`, what each task has used, for `std::usage`; `ReplyProgress`, in
which a provider notes what has come of a reply, to requests (`records.py`) and to calls, which make one for each;
`prompt_tokens`, `most_calls`, REPLY_TOKENS and HOSTED_CALLS to budgets. `call.py` tells all of them of each request of a call,
`embedders.py` of those for vectors; `budgets.py` refuses requests. Nothing here refuses or delays one.
"""

from __future__ import annotations

from functools import cache

from ..memory.entries import count_message, count_text
from ..records import NO_CALLS, Msg, added
from ..schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ..errors import CallFailure
    from ..records import Reply, Request


REPLY_TOKENS = 4096  # what counts for a reply that has no `max_tokens` and whose length nobody knows
HOSTED_CALLS = 10  # what counts of a hosted tool without `max_uses`: after about as many Anthropic interrupts a reply


class Use:
    """What one request, or several, have used. The names are those of the language's record `ModelUsage`; `attempts` counts the
    requests.

    `tokens_cached` and `tokens_cache_write` are parts of `tokens_in`, `tokens_reasoning` is a part of `tokens_out`.
    `tokens_estimated` are those that no provider reported and we counted. `hosted` says by type how often the provider ran tools
    of its own, and `hosted_calls` is their sum. `cost` is in dollars; `unpriced` counts the requests without a price, whose cost
    is not in it."""

    __slots__ = (
        "attempts", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_write", "tokens_reasoning", "tokens_estimated",
        "hosted", "cost", "unpriced",
    )  # fmt: skip

    def __init__(
        self, attempts: int = 0, tokens_in: int = 0, tokens_out: int = 0, tokens_cached: int = 0, tokens_cache_write: int = 0,
        tokens_reasoning: int = 0, tokens_estimated: int = 0, hosted: Mapping[str, int] = NO_CALLS, cost: float = 0.0,
        unpriced: int = 0,
    ) -> None:  # fmt: skip
        self.attempts = attempts
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.tokens_cached = tokens_cached
        self.tokens_cache_write = tokens_cache_write
        self.tokens_reasoning = tokens_reasoning
        self.tokens_estimated = tokens_estimated
        self.hosted = hosted
        self.cost = cost
        self.unpriced = unpriced

    @property
    def tokens(self) -> int:
        """Return the number of all tokens: input and output."""
        return self.tokens_in + self.tokens_out

    @property
    def hosted_calls(self) -> int:
        """Return the number of all calls of hosted tools."""
        return sum(self.hosted.values()) if self.hosted else 0

    def set_price(self, cost: float | None) -> Use:
        """Set the cost of this one request, in dollars; with None, where nobody knows it, count it as unpriced. Return the Use
        itself."""
        if cost is None:
            self.unpriced = 1
        else:
            self.cost = cost
        return self

    def add(self, other: Use) -> None:
        """Add what another request has used; `other` stays as it is."""
        self.attempts += other.attempts
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        if other.tokens_cached or other.tokens_cache_write or other.tokens_reasoning or other.tokens_estimated:
            self.tokens_cached += other.tokens_cached
            self.tokens_cache_write += other.tokens_cache_write
            self.tokens_reasoning += other.tokens_reasoning
            self.tokens_estimated += other.tokens_estimated
        if other.hosted:
            self.hosted = added(self.hosted, other.hosted)
        self.cost += other.cost
        self.unpriced += other.unpriced


def used_by_reply(request: Request, reply: Reply) -> Use:
    """Return what an answered request has used: as its provider reports it, and what the provider does not report as we count it
    (G-9.7). The cost is not set."""
    reports_input, reports_output = reply.reports
    tokens_in = reply.tokens_in if reports_input else prompt_tokens(request)
    tokens_out = reply.tokens_out if reports_output else count_message(Msg("assistant", reply.text, reply.calls))
    estimated = (0 if reports_input else tokens_in) + (0 if reports_output else tokens_out)
    return Use(1, tokens_in, tokens_out, reply.cached, reply.cache_write, reply.reasoning, estimated, reply.hosted)


def used_by_broken(request: Request, failure: CallFailure | None) -> Use:
    """Return what a request without a whole reply has used, without its cost; `failure` is None when something else than a
    CallFailure ended it, such as a cancellation.

    A provider that answered with an error status, or that was not reached, has done no work. Otherwise its reports count, and
    where they are missing we count what has come. When nothing has come, nobody knows how long the reply became at the provider:
    it counts as the longest that the request allows, REPLY_TOKENS where that is not said. So do hosted tools (`most_calls`),
    until a last report has counted some."""
    progress = request.progress
    is_refused = failure is not None and "status" in failure.fields
    if progress is None or not progress.has_left or is_refused:
        return Use(1)
    reported_in, reported_out, cached, cache_write, reasoning = progress.reported
    hosted = progress.hosted if progress.is_final and progress.hosted else most_calls(request)
    tokens_in = prompt_tokens(request) if reported_in is None else reported_in
    estimated = tokens_in if reported_in is None else 0
    is_up_to_date = progress.is_final or (progress.texts and progress.texts_at_report == len(progress.texts))
    if reported_out is not None and is_up_to_date:
        tokens_out = reported_out
    elif progress.texts:  # the last report is older than the text
        tokens_out = max(reported_out or 0, count_message(Msg("assistant", "".join(progress.texts))))
        estimated += tokens_out
    else:
        tokens_out = request.params.get("max_tokens", REPLY_TOKENS)
        estimated += tokens_out
    return Use(1, tokens_in, tokens_out, cached, cache_write, reasoning, estimated, hosted=hosted)


def most_calls(request: Request) -> dict[str, int]:
    """Return how often, by type, a request may have its hosted tools (those that the provider runs itself) run: `max_uses` of
    each, else HOSTED_CALLS; of several of one type that of the last."""
    return {tool["type"]: tool.get("max_uses", HOSTED_CALLS) for tool in request.hosted}


def prompt_tokens(request: Request) -> int:
    """Return the tokens that a request sends, counted as a memory counts (M-11): its messages, its tools, hosted ones too, and
    its schema where that is sent as a field (by any other strategy it stands in a message or a tool)."""
    declared = [*request.hosted, *(tool.as_json() for tool in request.tools)]
    if request.schema is not None and request.schema.strategy == "native":
        declared.append(request.schema.json)
    return sum(map(count_message, request.messages)) + sum(count_text(compact_json(part)) for part in declared)


# Prices that providers publish, for models without a price in the program (O-1.136), come from the package genai-prices (the
# extra `prices`). It is loaded with the first request that asks; without it nothing has a published price.


@cache
def _price_package() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def list_price(
    address: str | None, model: str, tokens_in: int, tokens_out: int, cached: int = 0, cache_write: int = 0, *,
    is_batch: bool = False,
) -> float | None:  # fmt: skip
    """Return the published cost of a request in dollars; None where nobody publishes one, for counts that the package does not
    take, without an address, and without the package. The counts are those of `price`. With `is_batch` it is the price of a
    batch, where one is published, else BATCH_PRICE of the usual one.

    The price is looked up by the address (the base URL) of the endpoint, so that a model of the same name elsewhere gets no price
    from it."""
    prices = _price_package() if address is not None else None
    if prices is None:
        return None
    cached = min(cached, tokens_in)
    cache_write = min(cache_write, tokens_in - cached)
    usage = prices.Usage(
        input_tokens=tokens_in, cache_read_tokens=cached, cache_write_tokens=cache_write, output_tokens=tokens_out
    )

    def cost(**context: Any) -> float:
        return float(prices.calc_price(usage, model_ref=model, provider_api_url=address, **context).total_price)

    try:
        usual = cost()
        if not is_batch:
            return usual
        batch = cost(price_context={"processing": "batch"})
        return batch if batch < usual else usual * BATCH_PRICE
    except (LookupError, ValueError, ArithmeticError):  # no such provider or model, or counts that it does not take
        return None


class ReplyProgress:
    """What is known of the reply to a request on its way, for the case that it breaks (G-6.4).

    `has_left`: the request may have reached the provider. `texts` are the pieces of the reply that have come. `reported` are the
    tokens that the provider has reported so far, as (input, output, read from its cache, written to it, reasoning), None for an
    input or output that it has not reported, 0 for the others, and `hosted` the calls of hosted tools by type, as far as it
    reports them; `texts_at_report` is how many texts had come by then, `is_final` that it was the last report."""

    __slots__ = ("has_left", "texts", "reported", "hosted", "texts_at_report", "is_final")

    def __init__(self) -> None:
        self.has_left = False
        self.texts: list[str] = []
        self.reported: tuple[int | None, int | None, int, int, int] = (None, None, 0, 0, 0)
        self.hosted: Mapping[str, int] = NO_CALLS
        self.texts_at_report = 0
        self.is_final = False


MOST_TASKS = 1_000  # tasks that are remembered before those that have ended are forgotten; more while many are alive


class Spending:
    """What tasks have used of models, by their paths (the parts of a path are divided by dots), for programs that ask
    (`std::usage`, L-7.16).

    `last` has what the last call of each task used, `spent` what all calls of it and of the tasks below it used; neither has a
    row for a task without calls. `alive` gives the paths of the tasks that have not ended: only those are kept for certain."""

    __slots__ = ("alive", "last", "spent", "_most")

    def __init__(self, alive: Callable[[], Iterable[str]]) -> None:
        self.alive = alive
        self.last: dict[str, Use] = {}
        self.spent: dict[str, Use] = {}
        self._most = MOST_TASKS

    def clear(self) -> None:
        """Forget all tasks, at the beginning of a run."""
        self.last.clear()
        self.spent.clear()

    def begin_call(self, task: str, use: Use) -> None:
        """Make `use` the last call of the task. It is the caller's, and grows with the requests of the call."""
        self.last[task] = use

    def add(self, task: str, use: Use) -> None:
        """Add what a request has used to its task and to all tasks around it."""
        while True:
            total = self.spent.get(task)
            if total is None:
                total = self.spent[task] = Use()
            total.add(use)
            dot = task.rfind(".")  # the path of a task begins with the path of its parent
            if dot < 0:
                break
            task = task[:dot]
        if len(self.spent) > self._most:
            self._forget()

    def _forget(self) -> None:
        alive = set(self.alive())
        for table in (self.last, self.spent):
            for task in [task for task in table if task not in alive]:
                del table[task]
        self._most = max(MOST_TASKS, 2 * len(self.spent))  # doubled, so that forgetting stays cheap on average


MILLION, THOUSAND = 1_000_000, 1_000
# What a request in a batch costs of its usual price, read on 2026-11-27: "50% cost discount vs. the synchronous APIs"
# (https://help.openai.com/en/articles/9197833-batch-api-faq) and "reducing costs by 50%"
# (https://platform.claude.com/docs/en/build-with-claude/batch-processing).
BATCH_PRICE = 0.5


class Metrics:
    """The counters of a session (O-1.132), under the names that `--metrics` prints and hosts read.

    Tokens count requests however they ended, also those that failed: `total_tokens` is `tokens_in` plus `tokens_out`, of which
    `tokens_cached`, `tokens_cache_write` and `tokens_reasoning` are parts; `tokens_by_model` (by the id of the model) and
    `tokens_by_connection` divide it; `tokens_estimated` were counted here, since no provider reported them. `estimated_cost` is
    in dollars, without the requests of `unpriced_calls`, whose price nobody knows. `execution_time_ms` is the time of the runs in
    ms. `model_calls` counts the requests to models that were sent, `agent_calls` those to agents, `emit_count` emits of the
    program. `retries` counts requests that were sent again after a failure of transport, `schema_retries` those after a reply
    that did not fit its schema, `cache_hits` replies that came from a cache, `tool_calls` the calls that models asked for,
    `hosted_calls` those that providers ran themselves, and `errors` calls of models and agents that failed after they had
    begun."""

    __slots__ = (
        "total_tokens",
        "tokens_by_model",
        "tokens_by_connection",
        "estimated_cost",
        "unpriced_calls",
        "execution_time_ms",
        "model_calls",
        "retries",
        "schema_retries",
        "cache_hits",
        "tool_calls",
        "agent_calls",
        "emit_count",
        "errors",
        "tokens_in",
        "tokens_cached",
        "tokens_cache_write",
        "tokens_out",
        "tokens_reasoning",
        "tokens_estimated",
        "hosted_calls",
    )

    def __init__(self) -> None:
        self.total_tokens = 0
        self.tokens_by_model: dict[str, int] = {}
        self.tokens_by_connection: dict[str, int] = {}
        self.estimated_cost = 0.0
        self.unpriced_calls = 0
        self.execution_time_ms = 0
        self.model_calls = 0
        self.retries = 0
        self.schema_retries = 0
        self.cache_hits = 0
        self.tool_calls = 0
        self.agent_calls = 0
        self.emit_count = 0
        self.errors = 0
        self.tokens_in = 0
        self.tokens_cached = 0
        self.tokens_cache_write = 0
        self.tokens_out = 0
        self.tokens_reasoning = 0
        self.tokens_estimated = 0
        self.hosted_calls = 0

    def add(self, model: str, connection: str, use: Use) -> None:
        """Add the tokens and the cost of a request, however it ended. Requests themselves are counted by
        `services.py: Services.count_request`."""
        tokens = use.tokens_in + use.tokens_out
        if tokens:
            self.total_tokens += tokens
            self.tokens_in += use.tokens_in
            self.tokens_out += use.tokens_out
            if use.tokens_cached or use.tokens_cache_write or use.tokens_reasoning or use.tokens_estimated:
                self.tokens_cached += use.tokens_cached
                self.tokens_cache_write += use.tokens_cache_write
                self.tokens_reasoning += use.tokens_reasoning
                self.tokens_estimated += use.tokens_estimated
            self.tokens_by_model[model] = self.tokens_by_model.get(model, 0) + tokens
            self.tokens_by_connection[connection] = self.tokens_by_connection.get(connection, 0) + tokens
        if use.hosted:
            self.hosted_calls += use.hosted_calls
        self.estimated_cost += use.cost
        self.unpriced_calls += use.unpriced

    def as_json(self) -> dict[str, Any]:
        """Return all counters by name. The two Maps in them are not copied."""
        return {name: getattr(self, name) for name in self.__slots__}


def price(
    pricing: Mapping[str, Mapping[str, float]], model: str, tokens_in: int, tokens_out: int, cached: int = 0,
    cache_write: int = 0, hosted: Mapping[str, int] = NO_CALLS,
) -> float | None:  # fmt: skip
    """Return the cost of a request in dollars; None when `pricing` has no row for the model (no price is built in, O-1.131), or
    when a row has no price for a hosted tool that was called (O-1.227).

    A row has dollars per million tokens (`input_per_million` and `output_per_million` always; KeyError without), and per thousand
    calls of hosted tools, which `hosted` counts by type. `cached` and `cache_write` are parts of `tokens_in`, cut to it, with
    prices of their own where the row has them, `cached` and `cache_write` (O-1.221)."""
    row = pricing.get(model)
    if row is None or any(count and kind not in row for kind, count in hosted.items()):
        return None
    full = row["input_per_million"]
    cached = min(cached, tokens_in)
    cache_write = min(cache_write, tokens_in - cached)
    of_cache = cached * row.get("cached", full) + cache_write * row.get("cache_write", full)
    of_tokens = ((tokens_in - cached - cache_write) * full + of_cache + tokens_out * row["output_per_million"]) / MILLION
    return of_tokens + sum(count * row[kind] for kind, count in hosted.items() if count) / THOUSAND if hosted else of_tokens


def cost_of(
    pricing: Mapping[str, Mapping[str, float]], model: str, use: Use, listed: Callable[[int, int, int, int], float | None]
) -> float | None:
    """Return the cost of what a request has used in dollars, None where nobody knows it. The program's own prices come before a
    published one, which `listed` gives for tokens in, out, read from a cache and written to it: it knows no hosted tools
    (O-1.136)."""
    tokens = use.tokens_in, use.tokens_out, use.tokens_cached, use.tokens_cache_write
    if model in pricing:
        return price(pricing, model, *tokens, use.hosted)
    return None if use.hosted_calls else listed(*tokens)
