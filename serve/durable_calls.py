"""Durable calls: calls that are runs of a run store, and so go on in another process and without a client (S-1.10).

Hands on `DurableCalls` to the application. A call is known to the store by its id, with its function, arguments and caller. It
runs as any run with a journal: a process that takes it over gives it its journal again and asks nobody twice, and a call that
only waits for answers needs no process. So a call, its events, its questions and its answer can be had from every process of
the store; those of a call that is over by making it again from its journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

from ..api.json_calls import JsonSide, Misfitting, NoListener
from ..api.results import Panic, ProgramError, RecordingError
from ..api.session import Session
from ..api.stored_calls import CANCELLED, OVER, CallStore, RunRow, StoredCall
from .calls import Calls, Paused, ServedCall, Wanted
from .events import EventLog
from .problems import CLIENT_CLOSED, Problem
from .questions import Question
from .settings import Serving

LOOK = 1.0  # seconds between two looks for calls that nobody runs, and for the ends of those that others run
TRIES = 3  # how often a call that its store refuses is gone on with here
TOOLS = "tool:"  # channels of tools, whose answers count once and for the process that asked

log = logging.getLogger("concerto.serve")


class DurableCalls:
    """The durable calls that one process runs, or has clients of. `options` are those of its sessions. Raises OSError for a store
    that cannot be used, and as `Program.session` for the options."""

    def __init__(self, calls: Calls, options: Mapping[str, Any], settings: Serving) -> None:
        self.calls = calls
        self.program = calls.program
        self.options = dict(options)
        self.settings = settings
        try:
            self.store = CallStore(str(settings.store), self.program._linked, self.options)
        except RecordingError as refused:
            raise OSError(str(refused)) from None
        self.reader = self.program.session(**options)  # reads arguments and answers by the types of the program
        self.failures: Counter[str] = Counter()  # of calls by no fault of the program; one that has TRIES is for another process
        self.running: dict[str, StoredCall] = {}
        self.looking: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Go on from now on with calls that no process runs; a second time it does nothing. It needs the loop that serves."""
        if self.looking is not None:
            return
        with suppress(RecordingError):
            others = self.store.of_others()
            if others:
                text = "the store has calls of other programs or versions that are not over: %d; serve those too, or cancel them"
                log.warning(text, others)
        self.looking = asyncio.create_task(self._look())

    # ------------------------------------------------------------ calls of clients

    async def begin(self, wanted: Wanted, key: str | None) -> tuple[ServedCall, bool]:
        """Begin a call, or take up the one that the caller began with the same Idempotency-Key; return it, and whether it was
        there before. Raise Problem: 400 for arguments that do not fit and for a named session, 409 for a key of another request,
        429 and 503 for a call that is not admitted, 503 too where the store fails; for a key that has a call also as `found`."""
        if wanted.session is not None:
            raise Problem(400, "session", "a durable call has a session of its own: leave Concerto-Session out")
        ident = uuid4().hex if key is None else _named(self.program.name, wanted.caller, key)
        earlier = None if key is None else await self._earlier(ident, wanted)
        if earlier is not None:
            return earlier, True
        try:
            self.reader.require_arguments(wanted.function, wanted.arguments)
        except Misfitting as refused:
            raise Problem(400, "arguments", str(refused)) from None
        self.calls.admission.require_rate(wanted.caller)
        budgets = self.calls.days.of(wanted.caller)
        await self.calls.admission.enter()
        try:
            stored = self.store.begin(ident, wanted.function, wanted.arguments, wanted.caller)
        except RecordingError as refused:
            self.calls.admission.leave()
            earlier = None if key is None else await self._earlier(ident, wanted)
            if earlier is not None:  # a request with the same key was faster
                return earlier, True
            raise self._unusable(refused) from None
        call = self._served(stored.run)
        self._run(call, stored, budgets)
        return call, False

    async def _earlier(self, ident: str, wanted: Wanted) -> ServedCall | None:
        """Return the call that has the id already, None without one. Raise Problem (409) for that of another request."""
        row = self._find(ident)
        if row is None or row.call is None:
            return None
        if (row.call["function"], row.call["arguments"]) != (wanted.function, dict(wanted.arguments)):
            raise Problem(409, "key", "this Idempotency-Key came with another request before")
        return await self._taken_up(row)

    async def found(self, ident: str, caller: str) -> ServedCall:
        """Return a durable call by its id, with its events; those of one that another process runs come at its end. Raise
        Problem: 404 for one that is not there or of another caller, 409 for one of another version of the program, 503 without a
        place for it or where the store fails."""
        call = self.calls.known.get(ident)
        if call is not None and call.wanted.caller == caller:
            return call
        return await self._taken_up(self._own(ident, caller))

    async def state(self, ident: str, caller: str) -> tuple[str, ServedCall | None]:
        """Return how far a call is, "running" or "waiting", or "over" with the call, whose `ending` is known then. Raise Problem
        as `found`."""
        row = self._own(ident, caller)
        if row.state not in OVER:
            self._require_same(row)
            return row.state, None
        call = await self.found(ident, caller)
        await asyncio.wait({call.ending})
        return "over", call

    def cancel(self, ident: str, caller: str) -> None:
        """End a call for all processes. Raise Problem: 404 as `found`, 503 where the store fails. One that is over stays
        as it is."""
        row = self._own(ident, caller)
        try:
            if not self.store.cancel(row.id):
                return
        except RecordingError as refused:
            raise self._unusable(refused) from None
        call = self.calls.known.get(ident)
        if call is not None:
            self._end_cancelled(call)

    def _end_cancelled(self, call: ServedCall) -> None:
        self.calls.end(call, "", _cancelled())
        call.cancel()

    def _own(self, ident: str, caller: str) -> RunRow:
        row = self._find(ident)
        if row is None or row.call is None or row.call["caller"] != caller:
            raise Problem(404, "call", "there is no such call, or it ended too long ago")
        return row

    def _find(self, ident: str) -> RunRow | None:
        """Return a call of the store, None where it is not there. Raise Problem (503) where the store cannot be read."""
        try:
            return self.store.find(ident)
        except RecordingError as refused:
            raise self._unusable(refused) from None

    async def _taken_up(self, row: RunRow) -> ServedCall:
        """Return the call of a run: as it is known here, as this process goes on with it, made again from its journal, or, while
        another process runs it, one that ends with that. Raise Problem: 409 for one of another version, 503 without a place."""
        known = self.calls.known.get(row.id)
        if known is not None:
            return known
        if row.state != CANCELLED:
            self._require_same(row)
        return await self._go_on(row) or self._served(row)

    def _require_same(self, row: RunRow) -> None:
        if row.image != self.store.image:
            text = "the call is of another version of the program, which has to be served for it to go on"
            raise Problem(409, "program", text)

    # ------------------------------------------------------------ running

    def _served(self, row: RunRow) -> ServedCall:
        assert row.call is not None
        wanted = Wanted(row.call["function"], row.call["arguments"], row.call["caller"])
        call = ServedCall(row.id, wanted, EventLog(self.settings.buffer_bytes), time.monotonic(), durable=True)
        self.calls.add(call)
        return call

    async def _go_on(self, row: RunRow) -> ServedCall | None:
        """Go on with a run, or make one that is over again, for the clients that its call has here; return the call, None where
        another process has the run. Raise Problem (503) without a place for it."""
        await self.calls.admission.enter()
        call = self.calls.known.get(row.id)
        if call is not None and (call.ending.done() or call.is_running):  # somebody else was first
            self.calls.admission.leave()
            return call
        try:
            stored = self.store.go_on(row)
        except RecordingError as refused:
            self.calls.admission.leave()
            raise self._unusable(refused) from None
        if stored is None:
            self.calls.admission.leave()
            return None
        call = call or self._served(row)
        if row.state == CANCELLED:
            self.calls.admission.leave()
            self.calls.end(call, "", _cancelled())
            return call
        assert call.log is not None
        call.log.repeat()
        self._run(call, stored, [])
        return call

    def _run(self, call: ServedCall, stored: StoredCall, budgets: Any) -> None:
        async def work(session: Session) -> str:
            side = JsonSide(
                lambda *emit: self.calls.hear(call, *emit), lambda channel, payload: self._ask(call, session, channel, payload),
                budgets, lambda key, channel, payload: self._asked(call, key, channel, payload),
            )  # fmt: skip
            try:
                return str(await session.start_json(call.wanted.function, call.wanted.arguments, side))
            except ProgramError:
                if stored.waits:
                    raise Paused from None
                raise
            except RecordingError as refused:  # cancelled, taken over, an answer that does not fit, or a store that fails
                log.warning("a durable call stops: %s", refused, extra={"concerto": {"call": call.id}})
                self.failures[call.id] += 1
                if self.failures[call.id] < TRIES:
                    raise Paused from None
                raise
            except Exception as failure:
                if not isinstance(failure, Panic) or failure.code == "P406":
                    self.failures[call.id] = TRIES
                raise

        self.calls.run(call, self._session_of(stored), work)

    @asynccontextmanager
    async def _session_of(self, stored: StoredCall) -> AsyncIterator[Session]:
        self.running[stored.run.id] = stored
        try:
            async with self.program._session_of(stored, self.options) as session:  # type: ignore[arg-type]  # checked already
                if stored.run.rows:
                    self.calls.counters.known(session, *self.store.used(stored.run))
                yield session
        finally:
            del self.running[stored.run.id]

    async def _look(self) -> None:
        """Go on with the calls that nobody runs, and end those here that another process has ended."""
        while True:
            try:
                await self._look_once()
            except (RecordingError, Problem) as refused:
                log.warning("durable calls wait: %s", refused)
            await asyncio.sleep(LOOK)

    async def _look_once(self) -> None:
        for row in self.store.left():
            known = self.calls.known.get(row.id)
            if self.failures[row.id] < TRIES and (known is None or not known.is_running):
                await self._go_on(row)
        here = {call.id: call for call in self.calls.known.values() if call.durable and not call.ending.done()}
        for row in self.store.over(list(here)):
            if row.state == CANCELLED:
                self._end_cancelled(here[row.id])
            elif not here[row.id].is_running:
                await self._go_on(row)

    # ------------------------------------------------------------ questions

    async def _ask(self, call: ServedCall, session: Session, channel: str, payload: str) -> str:
        """Leave a question to the store, which has it until it is answered; that of a tool is asked here."""
        if not channel.startswith(TOOLS):
            raise NoListener
        return await self.calls.questions.ask(
            call.id, call.wanted.caller, call.wanted.function, channel, payload,
            lambda text: session.require_answer(channel, text), lambda question: self.calls.tell(call, question),
        )  # fmt: skip

    def _asked(self, call: ServedCall, key: str, channel: str, payload: str) -> None:
        if not channel.startswith(TOOLS):
            wanted = call.wanted
            self.calls.tell(call, self._question(call.id, wanted.caller, wanted.function, key, channel, payload, time.time()))

    def _question(
        self, call: str, caller: str, function: str, key: str, channel: str, payload: str, since: float
    ) -> Question:
        def require(text: str) -> None:
            self.reader.require_answer(channel, text)

        answered = asyncio.get_running_loop().create_future()
        return Question(_question_key(call, key), call, caller, function, channel, payload, since, answered, require)

    def questions(self) -> list[Question]:
        """Return the questions of all durable calls that wait, of every process. Raise Problem (503) where the store cannot be
        read."""
        try:
            waits = self.store.questions()
        except RecordingError as refused:
            raise self._unusable(refused) from None
        return [self._asks(row, wait) for row, wait in waits]

    def question(self, key: str) -> Question | None:
        """Return the open question of a durable call by its key, None where there is none. Raise Problem as `questions`."""
        row = self._find(key.partition(".")[0])
        if row is None or row.call is None or row.image != self.store.image:
            return None
        try:
            waits = self.store.unanswered(row)
        except RecordingError as refused:
            raise self._unusable(refused) from None
        return next((self._asks(row, wait) for wait in waits if _question_key(row.id, wait["key"]) == key), None)

    def _asks(self, row: RunRow, wait: Mapping[str, Any]) -> Question:
        assert row.call is not None
        payload = json.dumps(wait["value"], ensure_ascii=False, separators=(",", ":"))
        return self._question(
            row.id, row.call["caller"], row.call["function"], wait["key"], wait["channel"], payload, row.changed
        )

    async def answer(self, question: Question, text: str) -> None:
        """Keep the answer to a question, a JSON text, and go on with its call. Raise Misfitting for one that does not fit, and
        Problem: 409 where another answer was first, 503 without a place for the call or where the store fails."""
        question.require(text)
        row = self._find(question.call)
        keys = [] if row is None else [one["key"] for one in row.waits if _question_key(row.id, one["key"]) == question.key]
        try:
            is_first = row is not None and bool(keys) and self.store.answer(row, keys[0], text)
        except RecordingError as refused:
            raise self._unusable(refused) from None
        if row is None or not is_first:
            raise Problem(409, "answered", "the question has been answered, or its call has ended")
        known = self.calls.known.get(row.id)
        if known is None or not known.is_running:
            await self._go_on(row)

    def _unusable(self, refused: RecordingError) -> Problem:
        log.error("the run store does not take a call: %s", refused)
        return Problem(503, "store", "the run store does not take the call now", headers={"Retry-After": "1"})

    async def leave(self) -> None:
        """Leave the calls of this process, whose tasks are about to be cancelled, as they are in the store, for others."""
        if self.looking is not None:
            self.looking.cancel()
            await asyncio.wait({self.looking})
        for stored in self.running.values():
            stored.leave()

    async def aclose(self) -> None:
        """Close the store."""
        await self.reader.aclose()
        self.store.close()


def _cancelled() -> Problem:
    return Problem(CLIENT_CLOSED, "cancelled", "the call was cancelled")


def _named(program: str, caller: str, key: str) -> str:
    """Return the id of the call of a caller of a program with that Idempotency-Key."""
    return hashlib.sha256(f"{program}\0{caller}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _question_key(call: str, key: str) -> str:
    """Return what a client calls the question of an effect key, which has signs that paths do not carry."""
    return f"{call}.{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
