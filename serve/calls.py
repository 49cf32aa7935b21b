"""The calls of a server from their admission to their end (S-1.1, S-1.2, S-1.7).

Hands on `Calls`, which begins calls and knows those that run and those that ended lately, to the application and to durable
calls, to the latter `Paused` too; `ServedCall`, and `Wanted`, what a request asks for, to the other files of `serve/`. How an end
is told is in `problems.py` and `events.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from ..api.json_calls import TEXT_CHANNEL, JsonSide
from ..api.program import Program
from ..api.results import Panic
from ..api.session import Session
from .admission import Admission
from .day_budgets import DayBudgets
from .events import EventLog
from .metrics import Counters, Spent
from .problems import CLIENT_CLOSED, Problem, problem_of
from .questions import Question, Questions
from .sessions import Sessions
from .settings import Serving

PATIENCE = 3600.0  # seconds in which a client comes again for a call that waits for its answer, or was left on purpose

log = logging.getLogger("concerto.serve")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a request asks for: the function, JSON data by parameter, who asks, and in which session (None: its own). With
    `is_model` the function is a public model, whose one argument are `messages`."""

    function: str
    arguments: Mapping[str, Any]
    caller: str
    session: str | None = None
    is_model: bool = False


@dataclass(eq=False, slots=True, weakref_slot=True)
class ServedCall:
    """A call of a server, known by the `id` of its request, of a durable one by its own. `ending` gives the JSON text of its
    result, or raises the Problem of its failure; `log` has its events, None where nobody hears them. `readers` counts those who
    read them now, `lonely` is what cancels it when nobody comes; `goes_on` says that it has PATIENCE without, since its client
    comes again for it. A call that is `durable` goes on without readers. `told_text` says that pieces of its text are among the
    events. `began` is a time of the monotonic clock; `spent`, and `status`, that of HTTP, are set at its end."""

    id: str
    wanted: Wanted
    log: EventLog | None
    began: float
    durable: bool = False
    ending: asyncio.Future[str] = field(init=False)
    task: asyncio.Task[None] | None = None
    readers: int = 0
    goes_on: bool = False
    told_text: bool = False
    spent: Spent = Spent(0, 0, 0.0)
    lonely: asyncio.TimerHandle | None = None
    status: int = 0

    def cancel(self) -> None:
        """End the call soon, if it has not ended and runs in this process."""
        if self.task is not None:  # not at once: a task that has not begun would never give back its place
            asyncio.get_running_loop().call_soon(self.task.cancel)

    @property
    def is_running(self) -> bool:
        """Whether this process runs it now."""
        return self.task is not None and not self.task.done()


class Paused(Exception):
    """A call waits for an answer, and goes on another time."""


class Calls:
    """The calls of one process. `known` has by id those that run, and for a while those that ended and have events."""

    def __init__(
        self, program: Program, settings: Serving, sessions: Sessions, questions: Questions, counters: Counters,
        admission: Admission, days: DayBudgets,
    ) -> None:  # fmt: skip
        self.program = program
        self.settings = settings
        self.sessions = sessions
        self.questions = questions
        self.counters = counters
        self.admission = admission
        self.days = days
        self.known: dict[str, ServedCall] = {}

    async def begin(self, ident: str, wanted: Wanted, *, streams: bool) -> ServedCall:
        """Begin a call when there is a place for it, and return it; `ident` is the id of its request. With `streams` its events
        are kept for readers. Raise Problem: 404 for a function that is not there, 429 and 503 for a call that is not admitted."""
        if wanted.function not in (self.program.models if wanted.is_model else self.program.functions):
            raise Problem(404, "function", "the program has no such public function")
        self.admission.require_rate(wanted.caller)
        budgets = self.days.of(wanted.caller)
        await self.admission.enter()
        call = ServedCall(ident, wanted, EventLog(self.settings.buffer_bytes) if streams else None, time.monotonic())
        self.add(call)
        self.run(call, self.sessions.lent(wanted.caller, wanted.session), lambda session: self._performed(call, session, budgets))
        return call

    def add(self, call: ServedCall) -> None:
        """Know a call from now on, until some time after its end."""
        call.ending = asyncio.get_running_loop().create_future()
        call.ending.add_done_callback(_retrieved)
        self.known[call.id] = call

    def run(
        self, call: ServedCall, lent: AbstractAsyncContextManager[Session], work: Callable[[Session], Awaitable[str]]
    ) -> None:
        """Begin to do `work`, which gives the JSON text of the result, for a call that has a place, in the session that `lent`
        lends; the place is given back at the end. A call whose work raises Paused has not ended."""
        call.task = asyncio.create_task(self._to_its_end(call, lent, work))

    async def _to_its_end(
        self, call: ServedCall, lent: AbstractAsyncContextManager[Session], work: Callable[[Session], Awaitable[str]]
    ) -> None:
        wanted = call.wanted
        try:
            async with lent as session:
                try:
                    text = await work(session)
                finally:
                    call.spent = self.counters.spent(session)
                    self.days.spent(wanted.caller, call.spent.tokens_in + call.spent.tokens_out, call.spent.cost)
            self.end(call, text, None)
        except Paused:
            pass
        except asyncio.CancelledError:
            self.end(call, "", Problem(CLIENT_CLOSED, "cancelled", "the call was cancelled"))
        except Exception as failure:
            self._note(call, failure)
            self.end(call, "", problem_of(failure))
        finally:
            self.admission.leave()

    def _performed(self, call: ServedCall, session: Session, budgets: Any) -> Any:
        wanted = call.wanted

        async def ask(channel: str, payload: str) -> str:
            return await self.questions.ask(
                call.id, wanted.caller, wanted.function, channel, payload,
                lambda text: session.require_answer(channel, text), lambda question: self.tell(call, question),
            )  # fmt: skip

        side = JsonSide(None if call.log is None else lambda *emit: self.hear(call, *emit), ask, budgets)
        if wanted.is_model:
            return session.start_model(wanted.function, wanted.arguments["messages"], side)
        return session.start_json(wanted.function, wanted.arguments, side)

    def hear(self, call: ServedCall, channel: str, payload: str, by_runtime: bool) -> None:
        """Add an emit of the program, or a piece of its stream, to the events of a call."""
        if call.log is None or by_runtime:
            return
        if channel == TEXT_CHANNEL:
            call.told_text = True
            call.log.add("text", f'{{"text":{payload}}}')
        else:
            call.log.add("emit", f'{{"channel":{_quoted(channel)},"payload":{payload}}}')

    def tell(self, call: ServedCall, question: Question) -> None:
        """Add a question to the events of a call."""
        if call.log is not None:
            call.log.add("question", self.questions.shown(question))

    def end(self, call: ServedCall, text: str, problem: Problem | None) -> None:
        """End a call, once, with the JSON text of its result or with a Problem."""
        if call.ending.done():
            return
        call.status = 200 if problem is None else problem.status
        self.counters.ended(call.wanted.function, call.status, time.monotonic() - call.began)
        if call.log is not None:
            if problem is None:
                call.log.add("result", text)
            else:
                call.log.add("error", problem.text(call.id))
        if problem is None:
            call.ending.set_result(text)
        else:
            call.ending.set_exception(problem)
        if call.log is None:
            self.known.pop(call.id, None)
        else:
            asyncio.get_running_loop().call_later(self.settings.keep_seconds, self.known.pop, call.id, None)

    def _note(self, call: ServedCall, failure: Exception) -> None:
        """Tell the log of a panic or a defect: where it was, and no content."""
        fields = {"call": call.id, "function": call.wanted.function}
        if isinstance(failure, Panic):
            place = next((f"{one.file}:{one.line}" for one in failure.trace if one.line), "")
            log.error("panic", extra={"concerto": {**fields, "code": failure.code, "at": place}})
        elif problem_of(failure).code == "internal":
            log.error("internal", extra={"concerto": {**fields, "class": type(failure).__name__}}, exc_info=failure)

    def require_no_question(self, wanted: Wanted) -> None:
        """Raise Problem (409) where a call of the same session waits for an answer and nobody reads it: another waits for it."""
        for question in self.questions.open.values() if self.settings.sessions else ():
            call = self.known.get(question.call)
            if call is None or call.readers or (call.wanted.caller, call.wanted.session) != (wanted.caller, wanted.session):
                continue
            says = f"this conversation waits for an answer, which call {call.id} asked for: give it, also at"
            raise Problem(409, "interrupted", f"{says} /questions/{question.key}, or end that call by DELETE /calls/{call.id}")

    # ------------------------------------------------------------ readers of streams

    def found(self, ident: str, caller: str) -> ServedCall:
        """Return a call of a caller by its id. Raise Problem (404) for one that is not known, or of somebody else."""
        call = self.known.get(ident)
        if call is None or call.wanted.caller != caller:
            raise Problem(404, "call", "there is no such call, or it ended too long ago")
        return call

    def opened(self, call: ServedCall) -> None:
        """Note that somebody reads the events of a call."""
        call.readers += 1
        if call.lonely is not None:
            call.lonely.cancel()
            call.lonely = None

    def closed(self, call: ServedCall) -> None:
        """Note that a reader has gone: without any, a call that is not durable is cancelled after the time that it may be
        lonely."""
        call.readers -= 1
        if not call.durable and not call.readers and not call.ending.done():
            loop = asyncio.get_running_loop()
            call.lonely = loop.call_later(PATIENCE if call.goes_on else self.settings.linger_seconds, call.cancel)

    async def aclose(self) -> None:
        """Cancel the calls that run, and wait until they have ended."""
        running = [call for call in self.known.values() if call.is_running]
        for call in running:
            call.cancel()
        if running:
            await asyncio.wait([call.task for call in running if call.task is not None])


def _retrieved(ending: asyncio.Future[str]) -> None:
    """Take the failure of a call that nobody waits for: it is told by its events, or its client has gone."""
    if not ending.cancelled():
        ending.exception()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
