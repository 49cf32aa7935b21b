"""A2A: agents of others that give tasks to a program (S-1.9).

Hands on to the application (`app.py`) `A2a`, whose routes it has, and `refusal`, the answer to what they refuse. The agent card
names what a program serves as skills; a task is a call, its id that of the call. This is the binding to JSON-RPC of version 1.0
of the protocol. What a message asks for, and how calls and their events look as tasks, is in `a2a_tasks.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from ..api.json_calls import Misfitting
from .a2a_tasks import Message, Tasks, asked_of, skills_of, state_of
from .answers import SAFE, ident_of, json_response
from .bodies import json_body
from .caller import Caller
from .calls import ServedCall
from .events import EventStream, disconnected
from .problems import CLIENT_CLOSED, Problem

if TYPE_CHECKING:
    from .app import Application

Json = dict[str, Any]
Handler = Callable[[Request, Caller], Awaitable[Any]]
Method = Callable[[Request, Caller, Json], Awaitable[Any]]
VERSION = "1.0"  # of the protocol
CARD = "/.well-known/agent-card.json"
# Errors of JSON-RPC and of the protocol, by the codes of our own; another Problem of 400 is INVALID_PARAMS.
CODES = {
    "json": (-32700, "JSON_PARSE"), "request": (-32600, "INVALID_REQUEST"), "method": (-32601, "METHOD_NOT_FOUND"),
    "call": (-32001, "TASK_NOT_FOUND"), "ended": (-32002, "TASK_NOT_CANCELABLE"),
    "push": (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"), "unsupported": (-32004, "UNSUPPORTED_OPERATION"),
    "interrupted": (-32004, "UNSUPPORTED_OPERATION"),
    "content": (-32005, "CONTENT_TYPE_NOT_SUPPORTED"), "card": (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    "version": (-32009, "VERSION_NOT_SUPPORTED"),
}  # fmt: skip
INVALID_PARAMS, INTERNAL = (-32602, "INVALID_PARAMS"), (-32603, "INTERNAL_ERROR")
MOST_LISTED = 100


class A2a:
    """The card and the endpoint of one application. Its handlers raise Problem for what is not served: 400 where nothing else is
    said, 404 for a task that is none of the caller's, 409, 429 and 503 as the calls do, and as `bodies.py` for a body; the
    application answers it by `refusal`."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.skills = skills_of(app.program, app.settings.keys)
        self.tasks = Tasks(app.questions)
        self.methods: dict[str, Method] = {
            "SendMessage": self.send, "SendStreamingMessage": self.stream, "GetTask": self.get, "ListTasks": self.list,
            "CancelTask": self.cancel, "SubscribeToTask": self.subscribe,
        }  # fmt: skip

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return method, path and handler of each route."""
        return [("GET", CARD, self.card), ("POST", "/a2a", self.rpc)]

    async def card(self, request: Request, caller: Caller) -> Response:
        """Answer with the agent card."""
        mounted = request.url.replace(path=request.scope.get("root_path", ""), query="")  # where this application is
        program, base = self.app.program, self.app.settings.url or str(mounted)
        card: Json = {
            "name": program.name, "description": f"The program {program.name}: {', '.join(self.skills)}",
            "version": program.content_hash[:12],
            "supportedInterfaces": [
                {"url": f"{base.rstrip('/')}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": VERSION},
            ],
            "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
            "defaultInputModes": ["text/plain", "application/json"], "defaultOutputModes": ["text/plain", "application/json"],
            "skills": [skill.shown() for skill in self.skills.values()],
        }  # fmt: skip
        if not self.app.settings.is_open:
            card["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
            card["securityRequirements"] = [{"schemes": {"bearer": {"list": []}}}]
        return json_response(json.dumps(card, ensure_ascii=False))

    async def rpc(self, request: Request, caller: Caller) -> Any:
        """Answer a request of JSON-RPC."""
        body = await json_body(request, self.app.settings)
        ident = body.get("id") if isinstance(body, dict) else None
        if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or type(ident) not in (str, int):
            raise Problem(400, "request", "the body is one request of JSON-RPC 2.0 with an `id`, a text or a whole number")
        request.state.rpc = ident
        version = request.headers.get("a2a-version", "")
        if version.partition(".")[0] != VERSION.partition(".")[0]:
            raise Problem(400, "version", f"this server speaks A2A {VERSION}: send the header `A2A-Version: {VERSION}`")
        name, params = body.get("method"), body.get("params", {})
        method = self.methods.get(name) if isinstance(name, str) else None
        if method is None:
            raise _no_method(name, list(self.methods))
        if not isinstance(params, dict):
            raise Problem(400, "params", "`params` is an object")
        return await method(request, caller, params)

    # ------------------------------------------------------------ methods

    async def send(self, request: Request, caller: Caller, params: Json) -> Response:
        """Give a message to a new task or to one that waits for it, and answer with the task: when it has ended or waits for an
        answer, with `returnImmediately` at once. Raise Problem (CLIENT_CLOSED) where the client has gone before."""
        call, _ = await self._taken(request, caller, params)
        self.app.calls.opened(call)
        try:
            if not (params.get("configuration") or {}).get("returnImmediately"):
                call.goes_on = False
                await self._until_settled(request, call)
            call.goes_on = True  # who has the task comes again for it
        finally:
            self.app.calls.closed(call)
        return _result(request, {"task": self.tasks.shown(call)})

    async def stream(self, request: Request, caller: Caller, params: Json) -> EventStream:
        """Give a message to a task as `send` does, and answer with its events, up to its end or to its next question."""
        call, number = await self._taken(request, caller, params)
        call.goes_on = False
        return self._events(request, call, number)

    async def get(self, request: Request, caller: Caller, params: Json) -> Response:
        """Answer with a task as it is now."""
        return _result(request, self.tasks.shown(self._found(caller, params)))

    async def list(self, request: Request, caller: Caller, params: Json) -> Response:
        """Answer with the tasks of the caller, newest first."""
        if params.get("statusTimestampAfter") is not None:
            raise Problem(400, "unsupported", "tasks are not listed by time: leave out `statusTimestampAfter`")
        size, token = params.get("pageSize") or 50, params.get("pageToken") or "0"
        if type(size) is not int or not 0 < size <= MOST_LISTED:
            raise Problem(400, "params", f"`pageSize` is a whole number from 1 to {MOST_LISTED}")
        if not isinstance(token, str) or not (token.isascii() and token.isdecimal()) or len(token) > 9:
            raise Problem(400, "params", "`pageToken` is the `nextPageToken` of the page before")
        context, state, start = params.get("contextId"), params.get("status"), int(token)
        own = [one for one in reversed(self.app.calls.known.values()) if one.wanted.caller == caller.name]
        rows = [
            call for call in own if call in self.tasks.contexts and context in (None, "", self.tasks.contexts[call])
            and (not state or state_of(call, self.app.questions) == state)
        ]  # fmt: skip
        whole = bool(params.get("includeArtifacts"))
        page = [self.tasks.shown(call, with_artifacts=whole) for call in rows[start : start + size]]
        more = str(start + size) if start + size < len(rows) else ""
        return _result(request, {"tasks": page, "nextPageToken": more, "pageSize": len(page), "totalSize": len(rows)})

    async def cancel(self, request: Request, caller: Caller, params: Json) -> Response:
        """Cancel a task and answer with it."""
        call = self._found(caller, params)
        if call.ending.done():
            raise Problem(400, "ended", "the task has ended")
        call.cancel()
        if call.task is not None:
            await asyncio.wait({call.task})
        return _result(request, self.tasks.shown(call))

    async def subscribe(self, request: Request, caller: Caller, params: Json) -> EventStream:
        """Answer with the events of a task that has not ended, from the first one on."""
        call = self._found(caller, params)
        if call.ending.done():
            raise Problem(400, "unsupported", "the task has ended: GetTask has its result")
        if call.log is None or call.log.first > 1:
            raise Problem(400, "unsupported", "the first events of the task are not kept any more: GetTask has its state")
        return self._events(request, call, 0)

    # ------------------------------------------------------------ calls

    def _found(self, caller: Caller, params: Json) -> ServedCall:
        """Return the call of a task. Raise Problem: 400 without an id, 404 for one that is none, or of somebody else."""
        ident = params.get("id")
        if not isinstance(ident, str) or not ident:
            raise Problem(400, "params", "`id` is the id of a task")
        call = self.app.calls.found(ident, caller.name)
        if call not in self.tasks.contexts:  # a call of another protocol
            raise Problem(404, "call", "there is no such task, or it ended too long ago")
        return call

    async def _taken(self, request: Request, caller: Caller, params: Json) -> tuple[ServedCall, int]:
        """Take a message: begin a call, or answer the question of one. Return it, and the number of the event that the sender
        knows. Raise Problem for what is not served, and as `Calls.begin`."""
        message = Message.of(params)
        if message.task is not None:
            return self._answered(caller, message, message.task)
        context = message.context or ident_of(request)
        skill, arguments = asked_of(self.skills, message)
        request.scope["concerto"]["function"] = skill.name
        wanted = self.app.wanted(request, caller, skill.name, arguments, context, is_model=skill.signature is None)
        self.app.calls.require_no_question(wanted)
        call = await self.app.calls.begin(ident_of(request), wanted, streams=True)
        self.tasks.contexts[call] = context
        return call, 0

    def _answered(self, caller: Caller, message: Message, task: str) -> tuple[ServedCall, int]:
        call = self._found(caller, {"id": task})
        if message.context not in (None, self.tasks.contexts[call]):
            raise Problem(400, "params", "`contextId` is another one than that of the task")
        question = self.app.questions.of_call(call.id)
        if question is None:
            raise Problem(400, "unsupported", "the task waits for no answer; a new message begins a task of its own")
        assert call.log is not None
        # Its sender has read up to the question, however much came behind it.
        asked = (one.number for one in call.log.kept if one.kind == "question" and json.loads(one.data)["key"] == question.key)
        number = next(asked, call.log.count)
        try:
            self.app.questions.answer(question, message.answer(self.app.questions, question))
        except Misfitting as refused:
            raise Problem(400, "answer", str(refused)) from None
        return call, number

    async def _until_settled(self, request: Request, call: ServedCall) -> None:
        """Return when a call has ended, or waits for an answer. Raise Problem where the client has gone before."""
        settled = asyncio.ensure_future(self._settled(call))
        gone = asyncio.ensure_future(disconnected(request.receive))
        try:
            await asyncio.wait({settled, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not settled.done():
                raise Problem(CLIENT_CLOSED, "gone", "the client has gone")
        finally:
            settled.cancel()
            gone.cancel()

    async def _settled(self, call: ServedCall) -> None:
        assert call.log is not None
        while not call.ending.done() and self.app.questions.of_call(call.id) is None:
            await call.log.arrived(call.log.count)

    def _events(self, request: Request, call: ServedCall, number: int) -> EventStream:
        assert call.log is not None
        form = self.tasks.events(call, request.state.rpc, goes_on_behind=number)
        return EventStream(
            call.log, number, form.told, headers={**SAFE, "concerto-call": call.id}, opened=lambda: self.app.calls.opened(call),
            closed=lambda: self.app.calls.closed(call), begin=form.begin(), over=lambda: form.is_interrupted,
        )  # fmt: skip


def _no_method(name: Any, known: list[str]) -> Problem:
    if isinstance(name, str) and "TaskPushNotificationConfig" in name:
        return Problem(400, "push", "the server sends no notifications: follow the task by SubscribeToTask")
    if name == "GetExtendedAgentCard":
        return Problem(400, "card", "there is one agent card, for all callers")
    return Problem(400, "method", f"`method` is one of {', '.join(known)}")


def _result(request: Request, result: Json) -> Response:
    return json_response(json.dumps({"jsonrpc": "2.0", "id": request.state.rpc, "result": result}, ensure_ascii=False))


def refusal(problem: Problem, request: Request) -> Response:
    """Return the answer to a request that got a Problem: an error of JSON-RPC, of HTTP too where it is none of the protocol."""
    of_protocol = problem.code in CODES or problem.status == 400
    code, reason = CODES.get(problem.code, INVALID_PARAMS if of_protocol else INTERNAL)
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org",
            "metadata": {"code": problem.code, "request": ident_of(request)}}  # fmt: skip
    error = {"code": code, "message": problem.message, "data": [info]}
    body = {"jsonrpc": "2.0", "id": getattr(request.state, "rpc", None), "error": error}
    return json_response(json.dumps(body, ensure_ascii=False), 200 if of_protocol else problem.status, problem.headers)
