"""The algorithm of a model call: plain, and with a schema under the retry rule (O-1.230, O-2.47 to O-2.53, O-4.23).

Three rules hold for every call. The messages that requests begin with, `[system] + history`, are made once. A retry after a reply
that does not fit rewrites only the user message of the prompt, and leaves out the tool rounds of the attempt before. A memory
gets one turn (prompt, tool rounds and reply) after success, and nothing otherwise (M-5.11), unless its policy is to record
interrupted turns (M-5.12). The commit is what stores the turn.

Hands on `prepare_execute` and `prepare_execute_with_schema` to the performers of models and agents: they do everything up to the
commit, and return the function that commits and gives the `Response` or `Validated` of `responses.py`; `execute` and
`execute_with_schema`, for tests and benchmarks, commit at once. All raise `CallFailure`, and let panics (of a step of a memory,
of a mock) and cancellations through; what commits may also let MustWait through. `calls/streams.py` overrides parts of `CallRun`,
of which `calls/typed_streams.py` takes one too. Time, chance, waiting and tools are in `Services`.
"""

from __future__ import annotations

from ...vm.providers import NAME
from ..breaker import COUNTED, OPEN
from ..errors import CONNECTION, TIMEOUT, CallFailure, NotSent
from ..media import size_of
from ..prompt_cache import CallCache, may_be_kept
from ..records import MEDIA_LENGTH, PAUSED, Msg, Reply, Request
from ..schema.acceptance import Verdict, judge
from ..schema.strategy import Plan, why_block
from ..schema.validation import retries_exhausted, schema_failure
from .reply_cache import cache_key
from .responses import Response, Validated
from .retry import retry_wait
from .usage import BATCH_PRICE, ReplyProgress, Use, cost_of, used_by_broken, used_by_reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ..breaker import Breaker
    from ..media import MediaPart
    from ..memory.conversation import Conversation
    from ..records import CachePlan, ToolDef
    from ..schema.acceptance import Validators
    from ..schema.strategy import Schema
    from ..schema.validation import Violation
    from ..telemetry import Span
    from .budgets import Purse, Reservation
    from .services import RateLimiter, Services
    from .settings import CallSettings


class Tally:
    """Sums over the provider requests of one call. Tokens and cost are those of the requests that were answered; `cost` is in
    dollars, None once one of these had no price. Of the input tokens `cached` were read from the provider's cache and
    `cache_write` written to it; `reasoning` is a part of the output tokens. A sender that is unmetered adds to none of them.
    `attempts` counts all requests that were sent, also those that broke.

    `usage` is what the program reads through `std::usage`: requests that broke are in it too; None where no task is known or
    nobody counts. `requests` counts the ids of requests, `schema_attempt` is the number of the attempt, from 1 on for each model;
    `used_tools` says that the model has called tools."""

    __slots__ = (
        "tokens_in", "tokens_out", "cached", "cache_write", "reasoning", "cost", "attempts", "schema_attempt", "used_tools",
        "requests", "usage",
    )  # fmt: skip

    def __init__(self) -> None:
        self.usage: Use | None = None
        self.tokens_in = 0
        self.tokens_out = 0
        self.cached = 0
        self.cache_write = 0
        self.reasoning = 0
        self.cost: float | None = 0.0
        self.attempts = 0
        self.schema_attempt = 1
        self.used_tools = False
        self.requests = 0

    def add(self, reply: Reply, cost: float | None) -> None:
        """Add the tokens of a reply as its provider reports them (G-9.7), and its cost in dollars, None where nobody knows it."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.cached += reply.cached
        self.cache_write += reply.cache_write
        self.reasoning += reply.reasoning
        self.cost = None if cost is None or self.cost is None else self.cost + cost


UNKNOWN_OUTCOME = (CONNECTION, TIMEOUT)  # classes of failures after which a request may have taken effect


async def execute(
    services: Services,
    settings: CallSettings,
    prompt: str,
    conversation: Conversation | None = None,
    *,
    run_id: str,
) -> Response:
    """Call the model with a prompt, append the turn to `conversation`, None for no memory, and return the response. `run_id` must
    be unique in the session: the ids of requests and the turn carry it. Raises as `prepare_execute` and the function that it
    returns."""
    commit = await prepare_execute(services, settings, prompt, conversation, run_id=run_id)
    return commit()


async def prepare_execute(
    services: Services,
    settings: CallSettings,
    prompt: str,
    conversation: Conversation | None = None,
    *,
    run_id: str,
    messages: Sequence[Msg] = (),
    media: Sequence[MediaPart] = (),
) -> Callable[[], Response]:
    """Call the model and return the function that appends the turn and gives the response; the other arguments are those of
    `execute`. `media` stand before the prompt. With `messages`, of which the prompt is the last one, the call is `chat` (O-1.71);
    `media` are those of that message then.

    Raises CallFailure. So does the returned function when the store cannot store the turn; it lets MustWait
    (`memory/stores/operations.py`) through and may be called again then."""
    method = "chat" if messages else "execute"
    call = CallRun(services, settings, prompt, conversation, run_id, method, messages, media)
    commit: Callable[[], Response] = await call.up_to_commit(call.plain)
    return commit


async def execute_with_schema(
    services: Services,
    settings: CallSettings,
    prompt: str,
    schema: Schema,
    conversation: Conversation | None = None,
    *,
    run_id: str,
    retry_message: str | None = None,
    validators: Validators | None = None,
) -> Validated:
    """Call the model until a reply fits the schema, append the turn and return the accepted value. Raises as `execute`; the
    CallFailure is a SchemaError when no reply fits of the last model that is asked, each for at most its `schema_attempts`.

    `retry_message` stands behind the violations in the prompt of every attempt but the first (O-2.48). `validators` are the
    program's own checks of the schema, None without any."""
    commit = await prepare_execute_with_schema(
        services, settings, prompt, schema, conversation, run_id=run_id, retry_message=retry_message, validators=validators
    )
    return commit()


async def prepare_execute_with_schema(
    services: Services,
    settings: CallSettings,
    prompt: str,
    schema: Schema,
    conversation: Conversation | None = None,
    *,
    run_id: str,
    retry_message: str | None = None,
    validators: Validators | None = None,
    media: Sequence[MediaPart] = (),
) -> Callable[[], Validated]:
    """Do what `execute_with_schema` does up to the commit, and return the function that commits and gives the accepted value.
    `media` stand before the prompt. Raises CallFailure, a SchemaError when no reply fits; the returned function raises as that of
    `prepare_execute`."""
    call = CallRun(services, settings, prompt, conversation, run_id, "execute_with_schema", media=media)
    plan = Plan(schema, settings.structured, settings.connection)
    commit: Callable[[], Validated] = await call.up_to_commit(lambda: call.with_schema(plan, retry_message, validators))
    return commit


class CallRun:
    """One call, from the snapshot of its memory to the commit; `run_id` is the id of its run, `services` are what it needs of the
    session.

    `new_messages` are those that the call adds to the conversation, `head` those before them, whose `Msg.length` are
    `head_length` together, `rounds` the tool messages of the current attempt. A request is `head`, the messages of `chat` before
    the prompt, `user` with the prompt, `tail`, which is `rounds` as requests show them and what has arrived in between, and what
    has come of a reply that is `paused`, None without one. `container` is where the provider has run code for the call, None for
    nowhere. `plan` says how a schema is sent, None without one.

    `settings` and `provider` are those with which a model is asked now, `called` the settings of the one that the program has
    called, `tried` the names of those asked so far, itself and what may take over of its `fallback` (O-1.230); `prompt_cache` is
    what is known of the provider's cache, None before a request to it. `method` is what `@log` calls the call. `round_count`
    counts tool rounds and interruptions of the attempt, `tally` what the requests used. Times are seconds of the host's clock:
    `started` is that of the call, `sent_at` that of the last request, before one that of the call; `rate_limit_wait` is the sum
    of the waits for rate limits. `span` is what telemetry has of the request on its way, None for nothing."""

    __slots__ = (
        "services",
        "settings",
        "provider",
        "prompt",
        "conversation",
        "run_id",
        "method",
        "messages",
        "media",
        "new_messages",
        "head",
        "head_length",
        "user",
        "rounds",
        "tail",
        "round_count",
        "paused",
        "container",
        "plan",
        "called",
        "tried",
        "tally",
        "started",
        "sent_at",
        "rate_limit_wait",
        "reservation",
        "prompt_cache",
        "span",
    )

    def __init__(
        self,
        services: Services,
        settings: CallSettings,
        prompt: str,
        conversation: Conversation | None,
        run_id: str,
        method: str,
        messages: Sequence[Msg] = (),
        media: Sequence[MediaPart] = (),
    ) -> None:
        self.services = services
        self.settings = settings
        self.provider = services.provider(settings.connection.name)
        self.prompt = prompt
        self.conversation = conversation
        self.run_id = run_id
        self.method = method
        self.messages = messages
        self.media = media  # of the last user message
        said = [m for m in messages if m.role != "system"] if messages else []
        self.new_messages = said or [Msg("user", prompt, media=media)]
        self.head: list[Msg] = []
        self.head_length = 0
        self.user = self.new_messages[-1]
        self.rounds: list[Msg] = []
        self.tail: list[Msg] = []
        self.round_count = 0
        self.paused: Reply | None = None
        self.container: str | None = None
        self.plan: Plan | None = None
        self.prompt_cache: CallCache | None = None
        self.called = settings
        self.tried: tuple[str, ...] = (settings.name,)
        self.tally = Tally()
        self.reservation: Reservation | None = None  # of the request on its way, in the budgets of the run
        self.started = self.sent_at = services.clock()
        self.rate_limit_wait = 0.0
        self.span: Span | None = None

    def _user(self, text: str) -> Msg:
        """Return the message of the prompt as requests show it: the one that is stored, where nothing is added to it."""
        message = self.new_messages[-1] if text == self.prompt else Msg("user", text, media=self.media)
        return self.conversation.user(message) if self.conversation and self.conversation.lead else message

    async def up_to_commit(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Open the conversation and return what `work` returns. Whatever ends the call before the commit is raised again once the
        memory is told that the turn is abandoned; it gets nothing of the turn, unless it records interrupted ones (M-5.11,
        M-5.12)."""
        spending, task = self.services.spending, self.services.task
        if spending is not None and task is not None:
            self.tally.usage = Use()
            spending.begin_call(task, self.tally.usage)
        try:
            settings, conversation = self.settings, self.conversation
            if conversation is not None:  # [system] + history, which every request of the call begins with (O-2.49)
                self.head = await conversation.open(
                    self.run_id, self.new_messages, settings.system, bool(settings.tools), settings.name, settings.timeout
                )
                self.head_length = conversation.head_length
            elif settings.system is not None:
                self.head = [Msg("system", settings.system)]
                self.head_length = len(settings.system)
            return await work()
        except CallFailure as failure:
            self.services.metrics.errors += 1
            await self._abandon(failure.model_message, failure.fields.get("text") or self._said(), failure.cause)
            if self.conversation is not None:
                await self.conversation.tell()
            raise
        except BaseException as stop:  # a cancellation is told by the name of its class: asyncio may not be imported
            await self._abandon("cancelled", self._said(), "cancelled" if type(stop).__name__ == "CancelledError" else "")
            raise

    def _said(self) -> str:
        """Return what has come of the last reply."""
        return "" if self.paused is None else self.paused.text

    async def _abandon(self, reason: str, text: str, cause: str) -> None:
        if self.conversation is not None:
            await self.conversation.abandon(reason, text, cause=cause)

    async def plain(self) -> Callable[[], Response]:
        """Ask once, tool rounds included, and return the commit (`_commit`). Raises CallFailure."""
        if self.conversation is not None and self.conversation.lead:
            self._ask("")
        if self.settings.cache is None:
            return self._commit(await self._turn())
        key, reply = self._cached()
        if reply is not None:
            return self._commit(reply, cached=True)
        reply = await self._turn()
        self._cache(key, reply)
        return self._commit(reply)

    async def with_schema(self, plan: Plan, retry_message: str | None, validators: Validators | None) -> Callable[[], Validated]:
        """Ask until a reply is accepted, each model for at most its `schema_attempts` replies, and return the function that
        commits and gives the Validated. Raises CallFailure, a SchemaError when none is accepted."""
        self.plan = plan
        self._begin("")
        key, reply = self._cached()
        if reply is not None:
            outcome = await judge(plan.schema, reply, None)  # its validators have accepted it when it was cached
            if isinstance(outcome, Verdict):
                return self._validated(outcome, self._commit(reply, cached=True))
        while True:
            reply = await self._turn()
            outcome = await judge(plan.schema, reply, validators)
            if isinstance(outcome, Verdict):
                self._cache(key, reply)
                return self._validated(outcome, self._commit(reply))
            if self.tally.schema_attempt >= self.settings.schema_attempts:
                self._fall_back(self._exhausted(outcome, reply))
                continue
            self.tally.schema_attempt += 1
            self.services.metrics.schema_retries += 1
            if self.conversation is not None:
                reason = "; ".join(violation.text for violation in outcome)
                self.conversation.new_attempt(plan.schema.name, reason, reply.text)
            self._begin(why_block(outcome, retry_message))

    def _begin(self, why: str) -> None:
        """Begin an attempt: a failed one leaves nothing, the next one begins from the same messages (O-2.49)."""
        self.rounds.clear()
        self.tail.clear()
        self.round_count = 0
        self.paused = None
        self._ask(why)

    def _ask(self, why: str) -> None:
        """Make the user message of the requests that follow; `why` is what it says of the reply before."""
        text = self.prompt + why
        if self.plan is not None and (why or self.plan.strategy == "prompt"):
            text += self.plan.block()
        self.user = self._user(text)

    @property
    def _may_switch(self) -> bool:
        """Whether nothing of the reply has been handed on."""
        return True

    def _fall_back(self, failure: CallFailure) -> None:
        """Let the next model take the call over, with the tool rounds that are done (O-1.230). Raises the failure when there is
        none, when it is not of a class after which another model is asked, when a request that must take effect once may have
        taken it, or when something of the reply has been handed on; that of a next model which no call can use."""
        before = self.settings
        reason = failure.fallback_class
        on = [*self.called.fallback_on, *(["open"] if CONNECTION in self.called.fallback_on else [])]
        unknown = before.is_once and reason in UNKNOWN_OUTCOME  # what may have taken effect is not asked for again (O-9.37)
        substitutes = self.called.fallback[len(self.tried) - 1 :]
        if not substitutes or reason not in on or unknown or not self._may_switch:
            raise failure if len(self.tried) == 1 else failure.after(self.tried)
        substitute = substitutes[0]
        came_from = self.tried[-1]
        self.tried += (substitute.name,)
        try:
            settings, self.provider = substitute.take()
        except CallFailure as unusable:
            raise unusable.after(self.tried) from None
        self.settings = settings.taken_over(self.called)
        self.paused = self.container = None  # no other model can go on with a reply that has begun
        self.prompt_cache = None
        self.tally.schema_attempt = 1
        if self.plan is not None:
            self.plan = Plan(self.plan.schema, self.settings.structured, self.settings.connection)
        self._ask("")
        self._log_fallback(came_from, substitute.name, reason)

    def _validated(self, verdict: Verdict, commit: Callable[[], Response]) -> Callable[[], Validated]:
        return lambda: Validated(verdict.tree, commit(), verdict.repaired)

    def _exhausted(self, violations: list[Violation], reply: Reply) -> CallFailure:
        model, connection = self.settings.model, self.settings.connection.name
        last = schema_failure(violations, reply.text, model=model, provider=connection)
        return retries_exhausted(last, self.settings.schema_attempts, model, connection)

    async def _turn(self) -> Reply:
        """Run the tool loop (O-4.23): return the first reply that calls no tools, or that answers through the tool `respond`. A
        request is sent again to each model that takes the call over (O-1.230), and while the provider interrupts its reply, with
        what has come of it (O-1.226)."""
        # Each request repeats all messages before it unchanged, so that a provider's prompt cache can read them again.
        while True:
            try:
                reply = await self._send(self._request())
            except CallFailure as failure:
                self._fall_back(failure)  # the next model is asked, or the failure raised
                continue
            self.container = reply.container or self.container
            first, self.paused = self.paused, None
            if first is not None:
                reply = reply.behind(first)
            if reply.finish == PAUSED:
                if reply.state is None:
                    raise self.settings.origin().invalid_response("the reply is interrupted, and there is nothing to go on with")
                self._count_round(reply.text)
                self.paused = reply
                continue
            answer = self.plan.answer(reply) if self.plan else None
            if answer is not None:
                return reply.with_text(answer)
            if not reply.calls:
                return reply
            self._count_round(reply.text)
            self.tally.used_tools = True
            self.services.metrics.tool_calls += len(reply.calls)
            results = await self.services.tools.run(self.settings, reply.calls)
            if self.conversation is not None:
                # reasoning tokens are in no text that the memory stores; 0 means that the provider reports nothing
                tokens = max(reply.tokens_out - reply.reasoning, 0) or None
                self.conversation.add_round(reply.text, reply.calls, results, tokens, reply.state, reply.finish)
                await self.conversation.tell()
            unit = [Msg("assistant", reply.text, reply.calls, state=reply.state), *results]
            is_first = not self.rounds and self.conversation is not None
            self.rounds += unit
            shown = self.conversation.first_round(unit) if is_first and self.conversation is not None else unit
            arrived = () if self.conversation is None else await self.conversation.arrived()
            self.tail += [*shown, *arrived]

    def _count_round(self, text: str) -> None:
        self.round_count += 1
        if self.round_count > self.settings.max_tool_rounds:
            raise self._loop_limit(text)

    def _loop_limit(self, text: str) -> CallFailure:
        rounds = self.settings.max_tool_rounds
        message = f"the model still calls tools after {rounds} rounds"
        return self.settings.origin().failure("AgentError", "ToolLoopLimit", message, rounds=rounds, text=text)

    def _request(self) -> Request:
        settings, plan = self.settings, self.plan
        begun = self.paused
        going_on = [] if begun is None else [Msg("assistant", begun.text, begun.calls, state=begun.state)]
        more = [*self.messages[:-1], self.user, *self.tail, *going_on]
        messages = [*self.head, *more]
        length = self.head_length + sum([message.length for message in more])  # of a list, half the time of a generator
        shows_media = length >= MEDIA_LENGTH
        if shows_media:
            self._check_media(messages)
        hosted = settings.carried_tools() if settings.hosted else ()
        self.tally.requests += 1
        tools = plan.tools(settings.tools) if plan else settings.tools
        cache = None
        if settings.cache_lifetime:
            asked = len(messages) - 1 - len(self.tail) - len(going_on)
            cache = self._cache_plan(messages, length, asked, tools)
        return Request(  # by position: so many keywords take three times as long
            f"{self.run_id}.{self.tally.requests}",
            settings.connection.name,
            settings.model,
            messages,
            tools,
            plan.choice([*settings.tools, *hosted]) if plan else "auto",
            dict(settings.params) if settings.params else None,
            plan.field if plan else None,
            False,  # is no stream
            settings.timeout,
            None,  # no progress yet
            shows_media,
            cache,
            hosted,
            self.container,
            settings.is_once,
        )

    def _check_media(self, messages: Sequence[Msg]) -> None:
        """Raise NotSent where the messages of a request have more media than its connection allows."""
        size, most = size_of(messages), self.settings.connection.media_bytes
        if size > most:
            message = f"media: this request has {size} bytes of it, `media_bytes` of the connection allows {most}"
            raise self.settings.origin().not_sent("AgentError", "InvalidRequest", message)

    def _cache_plan(self, messages: Sequence[Msg], length: int, asked: int, tools: Sequence[ToolDef]) -> CachePlan | None:
        """Return what a request with these messages, of which the prompt is the one at `asked`, says of the prompt cache of its
        provider (O-1.220). `length` is the sum of theirs."""
        is_long = may_be_kept(length, tools)
        if self.prompt_cache is None and (is_long or self.settings.connection.row.prompt_cache != NAME):
            self.prompt_cache = CallCache(self.services.prompt_caches, self.settings, self.conversation, self.head)
        if not is_long or self.prompt_cache is None:
            return None
        is_stored = self.conversation is not None and self.conversation.auto and self.user.content == self.prompt
        return self.prompt_cache.plan(self.settings, messages, asked, is_stored, tools)

    async def _send(self, request: Request) -> Reply:
        """Send one request with its transport retries, which send the same record again and nothing else (M-5.3)."""
        attempt = 0
        while True:
            attempt += 1
            request.progress = ReplyProgress()
            connection = self.settings.connection
            breaker = self.services.breakers.of(connection) if connection.breaker is not None else None
            try:
                if breaker is not None:
                    if self.services.look_at_clock is not None and breaker.state(self.services.clock())[0] == OPEN:
                        await self.services.look_at_clock()
                    self._enter(breaker, request)
                reply = await self._exchange(request)
            except NotSent as unsent:
                self._give_back_reservation()
                self._end_span(unsent)
                if breaker is not None:
                    breaker.dropped(request)
                raise
            except BaseException as stop:  # a cancellation too: the provider has worked, and what it did costs
                failure = stop if isinstance(stop, CallFailure) else None
                if breaker is not None:
                    self._tell(breaker, request, failure)
                if failure is None and not request.progress.has_left:
                    self._give_back_reservation()
                    raise
                self._account_broken(request, used_by_broken(request, failure))
                self._end_span(stop)
                if failure is None:
                    raise
                self._log(attempt, failure=failure)
                await self._wait_or_raise(failure, attempt)
                continue
            if breaker is not None:
                breaker.answered()
            if self.settings.hosted:
                reply.notes = [*reply.notes, *self.settings.dropped_tools()]
            self._account_reply(request, reply)
            if self.settings.log_channel is not None:
                self._log(attempt, reply=reply)
            return reply

    def _enter(self, breaker: Breaker, request: Request) -> None:
        """Raise NotSent while the breaker of the connection is open (O-1.231)."""
        left = breaker.enter(request, self.services.clock())
        if left is None:
            return
        connection = self.settings.connection.name
        times = "once" if breaker.failures == 1 else f"{breaker.failures} times in a row"
        again = f"it is tried again in {left:.3g} s" if left else "it is being tried again"
        raise self.settings.origin().not_sent(
            "ConnectionError", "Open", f"connection {connection} failed {times}: {again}",
            retry_after_ms=round(left * 1000),
        )  # fmt: skip

    def _tell(self, breaker: Breaker, request: Request, failure: CallFailure | None) -> None:
        """Tell the breaker how a request ended without a reply. An answer that says no comes from an endpoint that works."""
        if failure is None:
            breaker.dropped(request)
        elif failure.retry_class in COUNTED:
            breaker.failed(request, self.services.clock())
        else:
            breaker.answered()

    def _answer(self, request: Request) -> Awaitable[Reply]:
        return self.provider.send(request)

    def _exchange(self, request: Request) -> Awaitable[Reply]:
        """Send one request within the budgets of the run and the rate limits of its connection.

        Each step returns the awaitable of the next one: a request without budget and limits costs no coroutine more than its
        own, which counts with thousands of calls at a time."""
        if self.services.request_log is not None:
            self.services.request_log.log(request)
        purse = self.services.purse
        if purse is not None and purse.is_limited and not self.provider.unmetered:
            return self._within_budgets(purse, request)
        return self._within_rate_limits(request)

    async def _within_budgets(self, purse: Purse, request: Request) -> Reply:
        """Reserve what the request may use; once it is sent the budgets are charged whatever becomes of it (O-1.133)."""
        free = self.provider.free_and_instant
        self.reservation = await purse.reserve(
            request, free, self.services.asker, lambda *tokens: self._list_price(request, *tokens)
        )
        return await self._within_rate_limits(request)

    def _within_rate_limits(self, request: Request) -> Awaitable[Reply]:
        limit = self.settings.connection.rate_limit
        if limit is not None:
            return self._limited(self.services.limiter(self.settings.connection.name, limit), request)
        return self._start_sending(request)

    def _start_sending(self, request: Request) -> Awaitable[Reply]:
        assert request.progress is not None
        request.progress.has_left = True
        self.sent_at = self.services.clock()
        telemetry = self.services.telemetry
        if telemetry is not None and not self.provider.unmetered:
            conversation = None if self.conversation is None else self.conversation.id
            self.span = telemetry.request_begins(request, self.settings.connection, conversation)
        return self._answer(request)

    async def _limited(self, limiter: RateLimiter, request: Request) -> Reply:
        """Wait for the rate limits, then send. The wait is no part of timeout or latency (O-1.16)."""
        self.rate_limit_wait += await limiter.enter()
        tokens = 0
        try:
            reply = await self._start_sending(request)
            tokens = used_by_reply(request, reply).tokens
            return reply
        finally:
            limiter.leave(tokens)

    async def _wait_or_raise(self, failure: CallFailure, attempt: int) -> None:
        """Wait before the next attempt, or raise the failure: when no retry can mend it, when the policy or the run has no more
        retries (G-6.5), or when the wait would pass the deadline of the run."""
        policy, services = self.settings.policy, self.services
        breaker = services.breakers.of(self.settings.connection)
        if breaker is not None and breaker.state(services.clock())[0] == OPEN:  # no retry would be sent
            raise failure.exhausted(attempt) if attempt > 1 else failure
        wait = retry_wait(policy, failure, attempt, services)
        if wait is None:
            raise policy.last_failure(failure, attempt)
        if wait > 0:
            await services.sleep(wait)

    def _account_reply(self, request: Request, reply: Reply) -> None:
        use = used_by_reply(request, reply)
        if not self.provider.unmetered:
            cost = self._price(request, use)
            self.tally.add(reply, cost)
            if cost != 0:
                use.set_price(cost)
        self._account(request, use)
        if self.span is not None and self.services.telemetry is not None:
            span, self.span = self.span, None
            self.services.telemetry.request_answered(span, reply, use)

    def _end_span(self, failure: BaseException) -> None:
        """Tell telemetry that a request ended without a reply."""
        span, self.span = self.span, None
        if span is not None and self.services.telemetry is not None:
            self.services.telemetry.broke(span, failure)

    def _account_broken(self, request: Request, use: Use) -> None:
        # a request that used no tokens needs no price: without one it would count as unpriced
        self._account(request, use.set_price(self._price(request, use)) if use.tokens else use)

    def _account(self, request: Request, use: Use) -> None:
        """Count what a request has used: in the metrics, the budgets and `std::usage`, always the same numbers (O-1.132). Of an
        unmetered sender only the request itself counts, in no budget."""
        services, tally = self.services, self.tally
        services.count_request()
        tally.attempts += 1
        reservation, self.reservation = self.reservation, None
        if self.provider.unmetered:
            use = Use(1)
        else:
            services.metrics.add(request.model, request.connection, use)
            if services.purse is not None:
                services.purse.settle(use, reservation)
        if tally.usage is not None and services.spending is not None and services.task is not None:
            tally.usage.add(use)
            services.spending.add(services.task, use)

    def _give_back_reservation(self) -> None:
        """Nothing was sent: the budgets have their amounts back."""
        reservation, self.reservation = self.reservation, None
        if reservation is not None:
            reservation.purse.settle(None, reservation)

    def _price(self, request: Request, use: Use) -> float | None:
        if self.provider.free_and_instant:
            return 0.0
        cost = cost_of(self.services.pricing, request.model, use, lambda *tokens: self._list_price(request, *tokens))
        is_own = request.model in self.services.pricing  # prices of the program are those of single requests
        return cost * BATCH_PRICE if cost is not None and is_own and self._is_batch else cost

    @property
    def _is_batch(self) -> bool:
        return getattr(self.provider, "is_batch", False)

    def _list_price(self, request: Request, *tokens: int) -> float | None:
        """Return the published price, None without one, and for a mock: it stands for no endpoint that publishes prices."""
        connection = self.settings.connection
        if self.provider.name != connection.name:
            return None
        from .usage import list_price

        return list_price(connection.base_url, request.model, *tokens, is_batch=self._is_batch)

    def _log(self, attempt: int, *, reply: Reply | None = None, failure: CallFailure | None = None) -> None:
        """Send the emit of `@log` for one attempt (O-1.58), where the model has that decorator."""
        if self.settings.log_channel is None:
            return
        payload = {
            "model": self.settings.model,
            "connection": self.settings.connection.name,
            "method": self.method,
            "attempt": attempt,
            "schema_attempt": self.tally.schema_attempt,
            "ok": reply is not None,
            "prompt": self.prompt,
            "text": reply.text if reply else None,
            "error": failure.message if failure else None,
            "tokens_in": reply.tokens_in if reply else 0,
            "tokens_out": reply.tokens_out if reply else 0,
            "latency_ms": self._elapsed_ms(self.sent_at),
        }
        self.services.emit(self.settings.log_channel, payload)

    def _log_fallback(self, before: str, after: str, reason: str | None) -> None:
        """Send the emit of a switch to another model (O-1.230)."""
        word = CONNECTION if reason == "open" else reason
        self.services.emit("model:fallback", {"from": before, "to": after, "reason": word})

    def _cached(self) -> tuple[str, Reply | None]:
        """Return the cache key of the first request, and the reply that is cached under it, if there is one."""
        cache = self.settings.cache
        if cache is None:
            return "", None
        key = cache_key(self._request())
        self.tally.requests = 0  # that request was only made to be looked up
        reply = cache.find(key)
        self.services.metrics.cache_hits += reply is not None
        return key, reply

    def _cache(self, key: str, reply: Reply) -> None:
        """Cache a reply, unless tools were called: what they did would be missing the next time (O-1.59). Of a model that took
        the call over nothing is cached."""
        if self.settings.cache is not None and not self.tally.used_tools:
            self.settings.cache.store(key, reply)

    def _commit(self, reply: Reply, *, cached: bool = False) -> Callable[[], Response]:
        """Return the function that appends the turn and gives the response. Both belong together: a memory that cannot store the
        turn fails the call (M-5.23)."""
        response = self._response(reply, cached)

        def commit() -> Response:
            if self.conversation is not None:
                self.conversation.commit(
                    reply.text, self.tally.tokens_in, reply.tokens_out, reply.reasoning, reply.state, reply.finish
                )
            return response

        return commit

    def _response(self, reply: Reply, cached: bool) -> Response:
        tally = self.tally
        return Response(  # by position: so many keywords take three times as long
            reply.text,
            reply.model or self.settings.model,
            self.provider.name,
            reply.finish,
            self._elapsed_ms(self.started + self.rate_limit_wait),
            tally.tokens_in,
            tally.tokens_out,
            tally.cost,
            tally.attempts,
            cached,
            reply.data,
            tally.cached,
            tally.cache_write,
            tally.reasoning,
            reply.thoughts,
            reply.citations,
            self.run_id,
            [*self.new_messages, *self.rounds, Msg("assistant", reply.text)],
        )

    def _elapsed_ms(self, since: float) -> int:
        return 0 if self.provider.free_and_instant else round((self.services.clock() - since) * 1000)
