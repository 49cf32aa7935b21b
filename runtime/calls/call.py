"""The algorithm of a model call: plain, and with a schema under the retry rule (O-2.47 to O-2.53, O-4.23).

`[system] + history` is made once a call; a retry rewrites only the last user message; a memory gets one turn after
success and nothing otherwise. Hands on `Response` and `Validated`, or raises `CallFailure`. Must not know: wires, the
machine, what a tool does; waiting, chance, time and tools are handed in.
"""

from __future__ import annotations

from ..emits import price
from ..errors import CallFailure, NotSent
from ..records import Msg, Reply, Request, call_seconds
from ..schema.strategy import Plan, why_block
from ..schema.validation import Verdict, judge, retries_exhausted, schema_failure
from ..usage import Came, Use, used_by_broken, used_by_reply
from .retry import cache_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ..memory.turns import Conversation
    from ..schema.strategy import Schema
    from ..schema.validation import Validators, Violation
    from .budgets import Purse, Reservation
    from .services import RateLimiter, Services
    from .settings import CallSettings


# ----------------------------------------------------------------
# What a call gives back, and what it cost on the way (O-1.106 to O-1.115).
#
# Hands on `Response`, `Validated` and the running `Tally`.


class Response:
    """The fields of the struct `Response`, in order, and what its methods give: the run and its messages (M-5.22)."""

    __slots__ = (
        "text",
        "tokens_in",
        "tokens_out",
        "model",
        "provider",
        "latency_ms",
        "finish",
        "cost",
        "attempts",
        "cached",
        "data",
        "tokens_cached",
        "tokens_cache_write",
        "tokens_reasoning",
        "run_id",
        "appended",
    )

    def __init__(
        self,
        *,
        text: str,
        model: str,
        provider: str,
        finish: str,
        latency_ms: int,
        tokens_in: int = 0,
        tokens_out: int = 0,
        cost: float | None = None,
        attempts: int = 0,
        cached: bool = False,
        data: dict[str, Any] | None = None,
        tokens_cached: int = 0,
        tokens_cache_write: int = 0,
        tokens_reasoning: int = 0,
        run_id: str = "",
        appended: Sequence[Msg] = (),
    ) -> None:
        self.text = text
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.model = model
        self.provider = provider
        self.latency_ms = latency_ms
        self.finish = finish
        self.cost = cost
        self.attempts = attempts
        self.cached = cached
        self.data = data
        self.tokens_cached = tokens_cached
        self.tokens_cache_write = tokens_cache_write
        self.tokens_reasoning = tokens_reasoning
        self.run_id = run_id
        self.appended = appended

    def as_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__[:-2]}, "data": self.data or {}}


class Validated:
    """The accepted value of a schema call as the tree of `schema/validation.py`, with the response it came in."""

    __slots__ = ("tree", "response", "repaired")

    def __init__(self, tree: Any, response: Response, repaired: bool) -> None:
        self.tree = tree
        self.response = response
        self.repaired = repaired


class Tally:
    """Sums over all provider requests of a call; `cost` is None once a request had no price. `used`: with what broken ones
    used."""

    __slots__ = (
        "tokens_in", "tokens_out", "cached", "cache_write", "reasoning", "cost", "attempts", "schema_attempt", "used_tools",
        "requests", "used",
    )  # fmt: skip

    def __init__(self) -> None:
        self.used: Use | None = None  # what a program that asks is told (`std::usage`), where somebody counts it
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
        """Tokens as the provider has told them (G-9.7)."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.cached += reply.cached
        self.cache_write += reply.cache_write
        self.reasoning += reply.reasoning
        self.cost = None if cost is None or self.cost is None else self.cost + cost


# ----------------------------------------------------------------

# Transport retries of a run: this many, or this part of its requests (G-6.5).
RETRIES_ALWAYS_ALLOWED = 10
RETRIED_PART = 0.2


async def execute(
    services: Services,
    settings: CallSettings,
    prompt: str,
    conversation: Conversation | None = None,
    *,
    run_id: str,
) -> Response:
    """`execute(prompt)`: request id and turn carry `run_id`, which is unique in the session."""
    commit = await answered(services, settings, prompt, conversation, run_id=run_id)
    return commit()


async def answered(
    services: Services,
    settings: CallSettings,
    prompt: str,
    conversation: Conversation | None = None,
    *,
    run_id: str,
    messages: Sequence[Msg] = (),
) -> Callable[[], Response]:
    """`execute` up to its commit, which is what the result does: only a store that cannot store the turn fails there. With
    `messages`, of which the prompt is the last one, it is `chat` (O-1.71)."""
    call = CallRun(services, settings, prompt, conversation, run_id, "chat" if messages else "execute", messages)
    commit: Callable[[], Response] = await call.counted(call.plain)
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
    """`execute_with_schema<T>(prompt, retry_message)`."""
    commit = await answered_with_schema(
        services, settings, prompt, schema, conversation, run_id=run_id, retry_message=retry_message, validators=validators
    )
    return commit()


async def answered_with_schema(
    services: Services,
    settings: CallSettings,
    prompt: str,
    schema: Schema,
    conversation: Conversation | None = None,
    *,
    run_id: str,
    retry_message: str | None = None,
    validators: Validators | None = None,
) -> Callable[[], Validated]:
    """`execute_with_schema` up to its commit."""
    call = CallRun(services, settings, prompt, conversation, run_id, "execute_with_schema")
    plan = Plan(schema, settings.structured, settings.connection)
    commit: Callable[[], Validated] = await call.counted(lambda: call.with_schema(plan, retry_message, validators))
    return commit


class CallRun:
    """One call from its snapshot to its commit."""

    __slots__ = (
        "services",
        "settings",
        "provider",
        "prompt",
        "conversation",
        "run_id",
        "method",
        "messages",
        "asked",
        "head",
        "rounds",
        "tally",
        "started",
        "sent_at",
        "waited",
        "held",
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
    ) -> None:
        self.services = services
        self.settings = settings
        self.provider = services.provider(settings.connection.name)
        self.prompt = prompt
        self.conversation = conversation
        self.run_id = run_id
        self.method = method
        self.messages = messages
        self.asked = ([m for m in messages if m.role != "system"] if messages else []) or [Msg("user", prompt)]
        self.head: list[Msg] = []
        self.rounds: list[Msg] = []  # tool units of the attempt
        self.tally = Tally()
        self.held: Reservation | None = None  # of the request on its way
        self.started = self.sent_at = services.clock()
        self.waited = 0.0  # for rate limits

    async def _open(self) -> None:
        """[system] + history: the same messages in every request of the call (O-2.49)."""
        system = self.settings.system
        if self.conversation is None:
            self.head = [] if system is None else [Msg("system", system)]
            return
        offered = bool(self.settings.tools)
        self.head = await self.conversation.open(
            self.run_id, self.asked, system=system, tools_offered=offered, by=self.settings.name,
            timeout=call_seconds(self.settings.timeout),
        )

    def _user(self, text: str) -> Msg:
        return self.conversation.user(text) if self.conversation else Msg("user", text)

    async def counted(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The call up to its commit: whatever ends it before, memory has nothing of its turn (M-5.11)."""
        spending, task = self.services.spending, self.services.task
        if spending is not None and task is not None:
            self.tally.used = Use()
            spending.begins(task, self.tally.used)
        try:
            await self._open()
            return await work()
        except CallFailure as failure:
            self.services.metrics.errors += 1
            await self._abandon(failure.told, failure.fields.get("text", ""), failure.cause)
            if self.conversation is not None:
                await self.conversation.tell()
            raise
        except BaseException as stop:
            await self._abandon("cancelled", "", "cancelled" if type(stop).__name__ == "CancelledError" else "")
            raise

    async def _abandon(self, reason: str, text: str, cause: str) -> None:
        if self.conversation is not None:
            await self.conversation.abandon(reason, text, cause=cause)

    async def plain(self) -> Callable[[], Response]:
        messages = [*self.head, *self.messages[:-1], self._user(self.prompt)]
        key, reply = self._cached(messages, None)
        if reply is not None:
            return self._commit(reply, cached=True)
        reply = await self._turn(messages, None)
        self._keep(key, reply)
        return self._commit(reply)

    async def with_schema(self, plan: Plan, retry_message: str | None, validators: Validators | None) -> Callable[[], Validated]:
        user = self.prompt + plan.block() if plan.strategy == "prompt" else self.prompt
        key, reply = self._cached([*self.head, self._user(user)], plan)
        if reply is not None:
            outcome = await judge(plan.schema, reply, None)
            if isinstance(outcome, Verdict):
                return self._validated(outcome, self._commit(reply, cached=True))
        while True:
            reply = await self._turn([*self.head, self._user(user)], plan)
            outcome = await judge(plan.schema, reply, validators)
            if isinstance(outcome, Verdict):
                self._keep(key, reply)
                return self._validated(outcome, self._commit(reply))
            if self.tally.schema_attempt >= self.settings.schema_attempts:
                raise self._exhausted(outcome, reply)
            self.tally.schema_attempt += 1
            self.services.metrics.schema_retries += 1
            self.rounds.clear()
            if self.conversation is not None:
                reason = "; ".join(violation.text for violation in outcome)
                self.conversation.new_attempt(plan.schema.name, reason, reply.text)
            user = self.prompt + why_block(outcome, retry_message) + plan.block()

    def _validated(self, verdict: Verdict, commit: Callable[[], Response]) -> Callable[[], Validated]:
        return lambda: Validated(verdict.tree, commit(), verdict.repaired)

    def _exhausted(self, violations: list[Violation], reply: Reply) -> CallFailure:
        model, connection = self.settings.model, self.settings.connection.name
        last = schema_failure(violations, reply.text, model=model, provider=connection)
        return retries_exhausted(last, self.settings.schema_attempts, model, connection)

    async def _turn(self, messages: list[Msg], plan: Plan | None) -> Reply:
        """The tool loop (O-4.23): the reply that calls no more tools, or answers through `respond`."""
        rounds = 0
        while True:
            reply = await self._send(self._request(messages, plan))
            answer = plan.answer(reply) if plan else None
            if answer is not None:
                return reply.with_text(answer)
            if not reply.calls:
                return reply
            rounds += 1
            if rounds > self.settings.max_tool_rounds:
                raise self._loop_limit(reply.text)
            self.tally.used_tools = True
            self.services.metrics.tool_calls += len(reply.calls)
            results = await self.services.tools.run(self.settings, reply.calls)
            if self.conversation is not None:
                tokens = max(reply.tokens_out - reply.reasoning, 0) or None
                self.conversation.add_round(reply.text, reply.calls, results, tokens, reply.state, reply.finish)
                await self.conversation.tell()
            unit = [Msg("assistant", reply.text, reply.calls, state=reply.state), *results]
            self.rounds += unit
            shown = self.conversation.first_round(unit) if rounds == 1 and self.conversation is not None else unit
            arrived = () if self.conversation is None else await self.conversation.arrived()
            messages = [*messages, *shown, *arrived]

    def _loop_limit(self, text: str) -> CallFailure:
        rounds = self.settings.max_tool_rounds
        message = f"the model still calls tools after {rounds} rounds"
        return self.settings.origin().failure("AgentError", "ToolLoopLimit", message, rounds=rounds, text=text)

    def _request(self, messages: list[Msg], plan: Plan | None) -> Request:
        settings = self.settings
        self.tally.requests += 1
        return Request(
            id=f"{self.run_id}.{self.tally.requests}",
            connection=settings.connection.name,
            model=settings.model,
            messages=messages,
            tools=plan.tools(settings.tools) if plan else settings.tools,
            tool_choice=plan.choice(settings.tools) if plan else "auto",
            params=dict(settings.params),
            schema=plan.field if plan else None,
            timeout=settings.timeout,
        )

    async def _send(self, request: Request) -> Reply:
        """One request with its transport retries: the same record again, nothing else (M-5.3)."""
        attempt = 0
        while True:
            attempt += 1
            request.came = Came()
            try:
                reply = await self._exchange(request)
            except NotSent:
                self._returned()
                raise
            except BaseException as stop:  # also who cancels it: the provider has worked
                failure = stop if isinstance(stop, CallFailure) else None
                if failure is None and not request.came.begun:
                    self._returned()
                    raise
                self._broken(request, used_by_broken(request, failure))
                if failure is None:
                    raise
                self._log(attempt, failure=failure)
                await self._wait_or_raise(failure, attempt)
                continue
            self._replied(request, reply)
            self._log(attempt, reply=reply)
            return reply

    def _answer(self, request: Request) -> Awaitable[Reply]:
        return self.provider.send(request)

    def _exchange(self, request: Request) -> Awaitable[Reply]:
        """One request within the budgets of the run and the rate limits of its connection: what has neither is only sent."""
        if self.services.prefixes is not None:
            self.services.prefixes.sent(request)
        purse = self.services.purse
        if purse is None or not purse.is_limited or self.provider.unmetered:
            return self._admitted(request)
        return self._accounted(purse, request)

    async def _accounted(self, purse: Purse, request: Request) -> Reply:
        """It draws on the budgets whatever becomes of it (O-1.133)."""
        free = self.provider.free_and_instant
        self.held = await purse.reserve(
            request, free, self.services.task, lambda *tokens: self._list_price(request, *tokens)
        )
        return await self._admitted(request)

    def _admitted(self, request: Request) -> Awaitable[Reply]:
        limiter = self.services.limiter(self.settings.connection)
        if limiter is not None:
            return self._limited(limiter, request)
        return self._sent(request)

    def _sent(self, request: Request) -> Awaitable[Reply]:
        assert request.came is not None
        request.came.begun = True
        self.sent_at = self.services.clock()
        return self._answer(request)

    async def _limited(self, limiter: RateLimiter, request: Request) -> Reply:
        """Waiting for the limits counts nowhere (O-1.16)."""
        self.waited += await limiter.enter()
        tokens = 0
        try:
            reply = await self._sent(request)
            tokens = used_by_reply(request, reply).tokens
            return reply
        finally:
            limiter.leave(tokens)

    async def _wait_or_raise(self, failure: CallFailure, attempt: int) -> None:
        policy, metrics = self.settings.policy, self.services.metrics
        wait = policy.wait_ms(failure, attempt, self.services.random)
        remaining = self.services.remaining()
        if wait is None or metrics.retries >= max(RETRIES_ALWAYS_ALLOWED, RETRIED_PART * metrics.model_calls):
            exhausted = failure.retry_class in policy.retry_on and 1 < policy.max_attempts <= attempt
            raise failure.exhausted(attempt) if exhausted else failure
        if remaining is not None and wait / 1000 > remaining:
            raise failure
        metrics.retries += 1
        if wait > 0:
            await self.services.sleep(wait / 1000)

    def _replied(self, request: Request, reply: Reply) -> None:
        use = used_by_reply(request, reply)
        if not self.provider.unmetered:
            cost = self._price(request, use)
            self.tally.add(reply, cost)
            use.priced(cost)
        self._settled(request, use)

    def _broken(self, request: Request, use: Use) -> None:
        """What used nothing needs no price."""
        self._settled(request, use.priced(self._price(request, use)) if use.tokens else use)

    def _settled(self, request: Request, use: Use) -> None:
        """Counters, budgets and the program learn the same of a request that was sent (O-1.132)."""
        services, tally = self.services, self.tally
        services.count_request()
        tally.attempts += 1
        held, self.held = self.held, None
        if self.provider.unmetered:
            use = Use(1)
        else:
            services.metrics.add(request.model, request.connection, use)
            if services.purse is not None:
                services.purse.settle(use, held)
        if tally.used is not None and services.spending is not None and services.task is not None:
            tally.used.add(use)
            services.spending.add(services.task, use)

    def _returned(self) -> None:
        """Nothing was sent."""
        held, self.held = self.held, None
        if held is not None:
            held.purse.settle(None, held)

    def _price(self, request: Request, use: Use) -> float | None:
        if self.provider.free_and_instant:
            return 0.0
        tokens = use.tokens_in, use.tokens_out, use.tokens_cached, use.tokens_cache_write
        own = price(self.services.pricing, request.model, *tokens)
        return self._list_price(request, *tokens) if own is None else own

    def _list_price(self, request: Request, *tokens: int) -> float | None:
        """A mock stands for no endpoint that publishes prices."""
        connection = self.settings.connection
        if self.provider.name != connection.name:
            return None
        from ..usage import list_price

        return list_price(connection.base_url, request.model, *tokens)

    def _log(self, attempt: int, *, reply: Reply | None = None, failure: CallFailure | None = None) -> None:
        """The emit of `@log` (O-1.58)."""
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

    def _cached(self, messages: list[Msg], plan: Plan | None) -> tuple[str, Reply | None]:
        cache = self.settings.cache
        if cache is None:
            return "", None
        key = cache_key(self._request(messages, plan))
        self.tally.requests = 0  # that request was only looked up
        reply = cache.find(key)
        self.services.metrics.cache_hits += reply is not None
        return key, reply

    def _keep(self, key: str, reply: Reply) -> None:
        """Turns with tool calls are not stored (O-1.59)."""
        if self.settings.cache is not None and not self.tally.used_tools:
            self.settings.cache.keep(key, reply)

    def _commit(self, reply: Reply, *, cached: bool = False) -> Callable[[], Response]:
        """What is left to do. The turn and the Response belong together: a memory that cannot store the turn fails the call
        (M-5.23)."""
        response = self._response(reply, cached)

        def commit() -> Response:
            if self.conversation is not None:
                self.conversation.commit(
                    reply.text, tokens_in=self.tally.tokens_in, tokens_out=reply.tokens_out, reasoning=reply.reasoning,
                    state=reply.state, finish=reply.finish,
                )  # fmt: skip
            return response

        return commit

    def _response(self, reply: Reply, cached: bool) -> Response:
        tally = self.tally
        return Response(
            text=reply.text,
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            model=reply.model or self.settings.model,
            provider=self.provider.name,
            latency_ms=self._elapsed_ms(self.started + self.waited),
            finish=reply.finish,
            cost=tally.cost,
            attempts=tally.attempts,
            cached=cached,
            data=reply.data,
            tokens_cached=tally.cached,
            tokens_cache_write=tally.cache_write,
            tokens_reasoning=tally.reasoning,
            run_id=self.run_id,
            appended=[*self.asked, *self.rounds, Msg("assistant", reply.text)],
        )

    def _elapsed_ms(self, since: float) -> int:
        return 0 if self.provider.free_and_instant else round((self.services.clock() - since) * 1000)
