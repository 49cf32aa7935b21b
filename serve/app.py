"""The application: routes, and what each does (S-1.1 to S-1.3, S-1.6, S-1.7).

Hands on `Application`, the ASGI application, to `asgi.py`, which makes it for users, to the server (`server.py`) and to `concerto
mcp`; the protocols beside it have it as their `app`. A route is a method with a row in `Application.routes`; what it refuses is a
Problem, which is answered in one place. Protocols of others are files beside this one, with routes of their own. Who calls is
found out in `caller.py`, how calls run and end is decided in `calls.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..api.json_calls import Misfitting
from ..api.program import Program
from . import a2a, openai_api
from .access_log import AccessLog
from .admission import Admission
from .ag_ui import AgUi
from .answers import SAFE, ident_of, json_response, refusal
from .bodies import arguments_of, text_body
from .caller import Caller, Gate, required_name
from .calls import Calls, ServedCall, Wanted
from .day_budgets import DayBudgets
from .durable_calls import DurableCalls
from .events import EventStream, disconnected, sse
from .first_answers import Answer, FirstAnswers
from .mcp_endpoint import McpEndpoint
from .metrics import CONTENT_TYPE, Counters
from .openapi import description
from .problems import CLIENT_CLOSED, Problem, busy, problem_of
from .questions import Questions
from .sessions import Sessions
from .settings import Serving
from .state import State
from .tryout import page, policy

Handler = Callable[[Request, Caller], Awaitable[Any]]


class Application:
    """A program as an ASGI application. Whatever mounts it calls `aclose` at its end, or has it run its lifespan, which may be
    run again after its end. `options` are those of its sessions. The attributes are its parts, which the protocols beside it
    use: `program`, `settings`, `gate` (who calls), `calls`, `sessions`, `questions`, `admission`, `counters`, `days`, `first`
    (answers given again), and `signatures`, the public functions by name; `durable` is None without durable calls, `state`, the
    file of states, None without one. Raises ValueError and TypeError for wrong options, OSError for a file of states or a run
    store that cannot be used."""

    def __init__(self, program: Program, settings: Serving, options: dict[str, Any]) -> None:
        _require_known(program, settings)
        self.program = program
        self.signatures = program.signatures
        self.settings = settings
        self.options = options
        self.gate = Gate(settings)
        self.described = json.dumps(description(program, settings), ensure_ascii=False)
        self._open()

    def _open(self) -> None:
        """Make what serves until `aclose`. Raise OSError as `Application`."""
        program, settings, options = self.program, self.settings, self.options
        self.state = None if settings.state is None else State(settings.state)
        self.admission = Admission(settings)
        self.sessions = Sessions(program, options, settings, self.state)
        self.questions = Questions(program)
        self.counters = Counters(
            lambda: len(self.admission.waiting), lambda: self.admission.running, lambda: len(self.sessions.kept)
        )
        self.days = DayBudgets(settings, self.state)
        self.calls = Calls(program, settings, self.sessions, self.questions, self.counters, self.admission, self.days)
        self.first = FirstAnswers(self.state)
        self.durable = DurableCalls(self.calls, options, settings) if settings.durable else None
        self.mcp = McpEndpoint(self)
        self.going_on: set[asyncio.Task[Any]] = set()  # first answers whose client has gone
        self.inner = Starlette(
            routes=self.routes(), lifespan=self._lifespan, exception_handlers={HTTPException: _not_routed, Exception: _defect}
        )
        self.outer = AccessLog(self.inner)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.durable is not None:  # here, since whoever mounts an application need not run its lifespan
            self.durable.watch()
        await self.outer(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> Any:
        if self.admission.draining:  # started again after its end, as each test of a host may do
            self._open()
        yield
        await self.aclose()

    async def aclose(self) -> None:
        """End the calls that run, and close sessions and files."""
        self.admission.draining = True
        await self.mcp.aclose()
        if self.durable is not None:
            await self.durable.leave()
        await self.calls.aclose()
        if self.durable is not None:
            await self.durable.aclose()
            self.durable = None
        await self.sessions.aclose()
        if self.state is not None:
            self.state.close()
            self.state = None

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        rows: list[tuple[str, str, Handler]] = [
            ("POST", "/call/{name:path}", self.call),
            ("GET", "/calls/{ident}", self.ending),
            ("GET", "/calls/{ident}/events", self.events),
            ("DELETE", "/calls/{ident}", self.cancel),
            ("GET", "/questions", self.open_questions),
            ("POST", "/questions/{key}", self.answer),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/functions", self.functions),
            ("GET", "/metrics", self.metrics),
            ("POST", "/ag-ui/{name:path}", AgUi(self).run),
        ]
        return [
            *(Route(path, self._guarded(path, handler), methods=[method]) for method, path, handler in rows),
            *(
                Route(path, self._guarded(path, handler, openai_api.refusal), methods=[method])
                for method, path, handler in openai_api.OpenAiApi(self).routes()
            ),
            *(
                Route(path, self._guarded(path, handler, a2a.refusal), methods=[method])
                for method, path, handler in a2a.A2a(self).routes()
            ),
            Route("/mcp", self.mcp),
            Route("/", _page, methods=["GET"]),
            Route("/healthz", _healthy, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
        ]

    def _guarded(
        self, path: str, handler: Handler, told: Callable[[Problem, Request], Response] | None = None
    ) -> Callable[[Request], Awaitable[Any]]:
        """Return a route's function: it finds out who calls, and answers Problems; `told` gives the answer to one in the form of
        another protocol."""

        async def guarded(request: Request) -> Any:
            known = request.scope["concerto"]
            known["route"] = path
            try:
                caller = await self.gate.caller(request)
                known["caller"] = caller.name
                return await handler(request, caller)
            except Problem as refused:
                problem = refused
            except asyncio.CancelledError:  # the server ends, and has no more time for it
                problem = busy("the server is going down", 1)
            self.counters.refused.labels(str(problem.status)).inc()
            return refusal(request, problem) if told is None else told(problem, request)

        return guarded

    # ------------------------------------------------------------ calls

    async def call(self, request: Request, caller: Caller) -> Any:
        """Call a function: answer with its result, or with the stream of its events."""
        name = request.path_params["name"]
        streams = "text/event-stream" in request.headers.get("accept", "")
        last = request.headers.get("last-event-id")
        if streams and last is not None:
            return await self._again(last, caller)
        if name not in self.program.functions:
            raise Problem(404, "function", "the program has no such public function")
        request.scope["concerto"]["function"] = name
        wanted = await self._wanted(request, caller, name)
        if self.durable is not None and name in self.settings.durable:
            return await self._durable_call(self.durable, request, wanted, streams)
        if streams:
            return self._stream(await self.calls.begin(ident_of(request), wanted, streams=True), 0)
        answer, _ = await self.answered(request, wanted)
        headers = {**SAFE, **answer.headers, **({"idempotent-replayed": "true"} if answer.again else {})}
        return Response(answer.body, answer.status, headers, "application/json")

    async def _durable_call(self, durable: DurableCalls, request: Request, wanted: Wanted, streams: bool) -> Any:
        """Begin a durable call, or take it up by its Idempotency-Key, and answer with its events, with its end, or with the place
        where that will be: at once where the client wishes it, and when the server ends before the call."""
        key = request.headers.get("idempotency-key")
        call, is_again = await durable.begin(wanted, None if key is None else required_name(key, "Idempotency-Key"))
        request.scope["concerto"]["call"] = call.id
        headers = {"concerto-call": call.id, **({"idempotent-replayed": "true"} if is_again else {})}
        if streams:
            return self._stream(call, 0, headers)
        where = {"location": f"{request.scope.get('root_path', '')}/calls/{call.id}"}
        if "respond-async" in (word.strip().lower() for word in request.headers.get("prefer", "").split(",")):
            headers["preference-applied"] = "respond-async"
            state, _ = await durable.state(call.id, wanted.caller)
            return _on_its_way(call.id, state, {**headers, **where}) if state != "over" else _end_of(call, headers)
        gone = asyncio.ensure_future(disconnected(request.receive))
        either: set[asyncio.Future[Any]] = {call.ending, gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the server has no more time for it
            return _on_its_way(call.id, "running" if call.is_running else "waiting", {**headers, **where})
        finally:
            gone.cancel()
        if not call.ending.done():
            raise Problem(CLIENT_CLOSED, "gone", "the client has gone")
        return _end_of(call, headers)

    async def _wanted(self, request: Request, caller: Caller, name: str) -> Wanted:
        arguments = await arguments_of(request, self.settings)
        return self.wanted(request, caller, name, arguments)

    def wanted(
        self, request: Request, caller: Caller, name: str, arguments: dict[str, Any], conversation: str | None = None,
        *, is_model: bool = False,
    ) -> Wanted:  # fmt: skip
        """Return the call of a function with these arguments and those that come from the request, or of a public model with its
        messages. Its session is that of the request, else the one of a protocol's `conversation`. Raise Problem (400) where a
        bound argument is given, or the request lacks one."""
        session = self.gate.session_of(request) or conversation
        if is_model:
            return Wanted(name, arguments, caller.name, session, is_model=True)
        bound = self.gate.bound(request, caller, session) if self.settings.keys else {}
        given = [key for key in bound if key in arguments]
        if given:
            raise Problem(400, "arguments", f"`{given[0]}` comes from {self.settings.keys[given[0]]}, never from the body")
        taken = {one.name for one in self.signatures[name].parameters}
        return Wanted(name, {**arguments, **{key: value for key, value in bound.items() if key in taken}}, caller.name, session)

    async def answered(self, request: Request, wanted: Wanted) -> tuple[Answer, ServedCall | None]:
        """Return the answer of a call that is not streamed, and the call, None where it was answered before. A client that goes
        away cancels it, but with an Idempotency-Key: then it comes again for the answer."""
        key = request.headers.get("idempotency-key")
        key = None if key is None else required_name(key, "Idempotency-Key")

        begun: list[ServedCall] = []

        async def performed() -> Answer:
            call = await self.calls.begin(ident_of(request), wanted, streams=False)
            begun.append(call)
            try:
                return Answer(200, await asyncio.shield(call.ending))
            except Problem as problem:
                return Answer(problem.status, problem.text(call.id), headers=problem.headers)
            except asyncio.CancelledError:
                call.cancel()
                raise

        work = asyncio.ensure_future(self.first.answered(key, wanted, performed))
        gone = asyncio.ensure_future(disconnected(request.receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and key is not None:
                self._goes_on(work)
                raise Problem(CLIENT_CLOSED, "gone", "the client has gone")
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        except asyncio.CancelledError:
            if key is None:
                work.cancel()
            else:
                self._goes_on(work)
            raise
        finally:
            gone.cancel()
        if work.cancelled():
            raise Problem(CLIENT_CLOSED, "gone", "the client has gone")
        return work.result(), begun[0] if begun else None

    def _goes_on(self, work: asyncio.Task[Any]) -> None:
        self.going_on.add(work)
        work.add_done_callback(self.going_on.discard)
        work.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    def _stream(self, call: ServedCall, number: int, headers: dict[str, str] | None = None) -> EventStream:
        log = call.log
        assert log is not None
        return EventStream(
            log, number, lambda event: sse(call.id, event), headers={**SAFE, "concerto-call": call.id, **(headers or {})},
            opened=lambda: self.calls.opened(call), closed=lambda: self.calls.closed(call),
        )  # fmt: skip

    async def _found(self, ident: str, caller: Caller) -> ServedCall:
        """Return a call of a caller by its id. Raise Problem as `Calls.found` and `DurableCalls.found`."""
        if self.durable is None or ident in self.calls.known:
            return self.calls.found(ident, caller.name)
        return await self.durable.found(ident, caller.name)

    async def _again(self, last: str, caller: Caller) -> EventStream:
        """Return the stream of a call behind the event of that id. Raise Problem as `behind`."""
        ident, number = _event_of(last, "Last-Event-ID")
        return self._stream(_having(await self._found(ident, caller), number), number)

    def behind(self, event: str, caller: Caller, what: str) -> tuple[ServedCall, int]:
        """Return the call and the number of an event by its id, which the request has as `what`. Raise Problem: 400 for what is
        no such id, 404 for a call that is not known, 410 where events behind it are not kept any more."""
        ident, number = _event_of(event, what)
        return _having(self.calls.found(ident, caller.name), number), number

    async def events(self, request: Request, caller: Caller) -> Any:
        """Stream the events of a call from the beginning, or from behind Last-Event-ID on."""
        last = request.headers.get("last-event-id")
        return await self._again(f"{request.path_params['ident']}-0" if last is None else last, caller)

    async def ending(self, request: Request, caller: Caller) -> Response:
        """Answer with the end of a call, or that it is on its way (202)."""
        ident = request.path_params["ident"]
        call = self.calls.known.get(ident)
        if self.durable is not None and (call is None or (call.durable and not call.ending.done())):
            state, call = await self.durable.state(ident, caller.name)
        else:
            call, state = self.calls.found(ident, caller.name), "running"
        if call is None or not call.ending.done():
            return _on_its_way(ident, state, {"concerto-call": ident})
        return _end_of(call, {"concerto-call": ident})

    async def cancel(self, request: Request, caller: Caller) -> Response:
        """Cancel a call."""
        ident = request.path_params["ident"]
        known = self.calls.known.get(ident)
        if self.durable is not None and (known is None or known.durable):
            self.durable.cancel(ident, caller.name)
        else:
            self.calls.found(ident, caller.name).cancel()
        return Response(status_code=204, headers=SAFE)

    # ------------------------------------------------------------ questions

    async def open_questions(self, request: Request, caller: Caller) -> Response:
        """Answer with the open questions that the caller may see."""
        every = [*self.questions.open.values(), *([] if self.durable is None else self.durable.questions())]
        seen = [one for one in every if self.gate.may_answer(caller, one.owner)]
        return json_response(f"[{', '.join(map(self.questions.shown, seen))}]")

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer a question with the body, which is JSON."""
        key, durable = request.path_params["key"], self.durable
        question, is_durable = self.questions.open.get(key), False
        if question is None and durable is not None and "." in key:
            question, is_durable = durable.question(key), True
        if question is None or not self.gate.may_answer(caller, question.owner):
            raise Problem(404, "question", "there is no such question, or it has been answered")
        text = await text_body(request, self.settings)
        try:
            if is_durable and durable is not None:
                await durable.answer(question, text)
            else:
                self.questions.answer(question, text)
        except Misfitting as refused:
            raise Problem(400, "answer", str(refused)) from None
        return Response(status_code=204, headers=SAFE)

    # ------------------------------------------------------------ about the server

    async def openapi(self, request: Request, caller: Caller) -> Response:
        """Answer with the description in OpenAPI."""
        return json_response(self.described)

    async def functions(self, request: Request, caller: Caller) -> Response:
        """Answer with what the page shows: functions with their parameters, without those that are bound."""
        rows = [
            {
                "name": one.name, "doc": one.doc, "result": one.result,
                "parameters": [
                    {"name": p.name, "schema": p.schema, "required": p.required}
                    for p in one.parameters if p.name not in self.settings.keys
                ],
            }
            for one in self.signatures.values()
        ]  # fmt: skip
        return json_response(json.dumps({"program": self.program.name, "functions": rows}, ensure_ascii=False))

    async def metrics(self, request: Request, caller: Caller) -> Response:
        """Answer with the counters."""
        return Response(self.counters.page(), headers={**SAFE, "content-type": CONTENT_TYPE})

    async def _ready(self, request: Request) -> Response:
        full = len(self.admission.waiting) >= max(1, self.settings.queue)
        ready = not self.admission.draining and not full
        return Response("ready\n" if ready else "busy\n", 200 if ready else 503, SAFE, "text/plain")


def _require_known(program: Program, settings: Serving) -> None:
    """Raise ValueError for settings that name what the program does not have."""
    for name in settings.durable:
        if name not in program.functions:
            raise ValueError(f"durable: the program has no public function {name!r}")
    parameters = {one.name for signature in program.signatures.values() for one in signature.parameters}
    for name in settings.keys:
        if name not in parameters:
            raise ValueError(f"keys: no public function has a parameter {name!r}")


def _event_of(event: str, what: str) -> tuple[str, int]:
    """Return call and number of the id of an event, which the request has as `what`. Raise Problem (400) for what is none."""
    ident, _, number = event.rpartition("-")
    if not (number.isascii() and number.isdecimal()) or len(number) > 12:
        raise Problem(400, "event", f"{what} is the id of an event of this server")
    return ident, int(number)


def _having(call: ServedCall, number: int) -> ServedCall:
    """Return a call that has the events behind that number, or will have them: those of a durable call may be on their way from
    its journal. Raise Problem (410) where they are not kept any more."""
    log = call.log
    if log is None or number + 1 < log.first or (number > log.count and not call.durable):
        raise Problem(410, "event", "the events behind this one are not kept any more")
    return call


def _on_its_way(ident: str, state: str, headers: dict[str, str]) -> Response:
    return json_response(json.dumps({"call": ident, "state": state}), 202, headers)


def _end_of(call: ServedCall, headers: dict[str, str]) -> Response:
    """Return the answer of a call that has ended."""
    failure = call.ending.exception()
    if isinstance(failure, Problem):
        return json_response(failure.text(call.id), failure.status, {**failure.headers, **headers})
    return json_response(call.ending.result(), 200, headers)


async def _not_routed(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    is_method = failure.status_code == 405
    code, message = ("method", "this address has another method") if is_method else ("address", "no such address")
    return refusal(request, Problem(failure.status_code, code, message, headers=dict(failure.headers or {})))


async def _defect(request: Request, failure: Exception) -> Response:
    return refusal(request, problem_of(failure))


async def _page(request: Request) -> Response:
    return Response(page(), headers={**SAFE, "content-security-policy": policy()}, media_type="text/html")


async def _healthy(request: Request) -> Response:
    return Response("ok\n", headers=SAFE, media_type="text/plain")
