"""AG-UI: a chat in a frontend that speaks with a program by events (S-1.9).

Hands on `AgUi`, whose `run` the application has as the route `/ag-ui/NAME`. A run is a call, its events are those of the call's
log in the forms of version 1.0 of the protocol, and its thread names the session. A question ends a run as an interrupt, whose id
is that of the event; the run that resumes it goes on with the same call behind that event. What of a program may be called so is
decided in `conversations.py`, how a call runs and ends in `calls.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from ..api.json_calls import Misfitting
from .answers import SAFE, ident_of
from .bodies import arguments_of
from .caller import Caller, required_name
from .calls import ServedCall, Wanted
from .conversations import Takes, conversing, messages_of, text_of
from .events import Event, EventStream, data_line
from .problems import Problem
from .questions import Question, Questions

if TYPE_CHECKING:
    from .app import Application

Json = dict[str, Any]
VERSION = "1.0"  # of the protocol
NOTHING: tuple[Any, ...] = (None, "", [], {})  # what a field holds that says nothing
NO_TALK = ("reasoning", "activity")  # roles of messages that a frontend keeps for itself
HANDED_ON = ("state", "context", "forwardedProps")  # fields that go to a parameter of that name
STATE = "state"  # the channel whose emits are the state of the frontend


class AgUi:
    """The endpoint of one application."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.offered = conversing(app.program, app.settings.keys, texts=True)

    async def run(self, request: Request, caller: Caller) -> EventStream:
        """Begin or resume a run, and answer with its events. Raise Problem: 404 for a name that is not offered, 400 for what is
        no input of a run, 409 as `Calls.require_no_question`, and as `_resumed` and `Calls.begin`."""
        name = request.path_params["name"]
        takes = self.offered.get(name)
        if takes is None:
            offered = ", ".join(self.offered) or "none: declare `pub model`, or a `pub fn` of one Array<Message> or String"
            raise Problem(404, "function", f"an address is that of what this program offers: {offered}")
        request.scope["concerto"]["function"] = name
        body = await arguments_of(request, self.app.settings)
        thread, ident = _named(body, "threadId"), _named(body, "runId")
        if body.get("resume") not in NOTHING:
            call, number = self._resumed(request, caller, name, thread, body["resume"])
        else:
            wanted = self._wanted(request, caller, name, takes, body, thread)
            self.app.calls.require_no_question(wanted)
            call, number = await self.app.calls.begin(ident_of(request), wanted, streams=True), 0
        assert call.log is not None
        form = _Run(thread, ident, call, self.app.questions)
        return EventStream(
            call.log, number, form.told, headers={**SAFE, "concerto-call": call.id}, opened=lambda: self.app.calls.opened(call),
            closed=lambda: self.app.calls.closed(call), begin=form.begin(), over=lambda: form.is_interrupted,
        )  # fmt: skip

    def _wanted(self, request: Request, caller: Caller, name: str, takes: Takes, body: Json, thread: str) -> Wanted:
        """Return the call that a run asks for. Raise Problem (400) for what is not served."""
        if body.get("tools") not in NOTHING:
            raise Problem(400, "unsupported", "`tools` is not served: what the program does is decided by the program")
        messages = messages_of(body.get("messages"), "messages", unread=NO_TALK)
        if not messages or (takes.is_text and messages[-1]["role"] != "user"):
            raise Problem(400, "invalid", "the last of `messages` is what the user says")
        parameters = [] if takes.parameter is None else [one.name for one in self.app.signatures[name].parameters]
        given = {field: body[field] for field in HANDED_ON if body.get(field) not in NOTHING}
        for field in given:
            if field not in parameters or field == takes.parameter:
                says = f"`{field}` is given, and {name} has no parameter of that name beside its messages that takes it"
                raise Problem(400, "unsupported", says)
        arguments = {takes.parameter or "messages": takes.argument(messages), **given}
        return self.app.wanted(request, caller, name, arguments, thread, is_model=takes.parameter is None)

    def _resumed(self, request: Request, caller: Caller, name: str, thread: str, entries: Any) -> tuple[ServedCall, int]:
        """Give the answer of a resumed run to its question; return the call and the number of the question's event. Raise
        Problem: 400 for what is no such answer or does not fit, 404 for another thread's, 409 for a question with an answer, 410
        for one whose event is not kept any more."""
        entry = entries[0] if isinstance(entries, list) and len(entries) == 1 else None
        ident = entry.get("interruptId") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(ident, str) or entry.get("status") not in ("resolved", "cancelled"):
            says = "`resume` has one entry, for the interrupt of the run before: `interruptId`, `status` resolved or cancelled"
            raise Problem(400, "invalid", says)
        call, number = self.app.behind(ident, caller, "`interruptId`")
        session = self.app.gate.session_of(request) or thread
        if (call.wanted.function, call.wanted.session) != (name, session):
            raise Problem(404, "call", "this thread has no such interrupt")
        question = self._question(call, number)
        if entry["status"] == "resolved":
            self._answer(question, entry.get("payload"))
        elif question is not None:
            self.app.questions.decline(question)
        call.goes_on = False
        return call, number

    def _question(self, call: ServedCall, number: int) -> Question | None:
        """Return the question that the event of that number put, None where it is not open any more. Raise Problem: 400 for an
        event of another kind, 410 for one that is not kept any more."""
        assert call.log is not None
        event = next((one for one in call.log.kept if one.number == number), None)
        if event is None:
            raise Problem(410, "event", "the event of this interrupt is not kept any more: answer its question at /questions")
        if event.kind != "question":
            raise Problem(400, "event", "`interruptId` is the id of an interrupt")
        return self.app.questions.open.get(json.loads(event.data)["key"])

    def _answer(self, question: Question | None, payload: Any) -> None:
        if question is None:
            says = "the question has been answered by another, or its call has ended"
            raise Problem(409, "answered", f"{says}: resume it as `cancelled` to read what followed")
        try:
            self.app.questions.answer(question, json.dumps(payload))
        except Misfitting as refused:
            raise Problem(400, "answer", str(refused)) from None


class _Run:
    """The events of one run. `is_interrupted` says that it has ended with a question."""

    def __init__(self, thread: str, ident: str, call: ServedCall, questions: Questions) -> None:
        self.place = {"threadId": thread, "runId": ident}
        self.call = call
        self.questions = questions
        self.message: str | None = None  # the id of the one that is open
        self.is_interrupted = False

    def begin(self) -> bytes:
        """Return the first event."""
        return data_line({"type": "RUN_STARTED", **self.place, "protocolVersion": VERSION})

    def told(self, event: Event) -> bytes:
        """Return the bytes for an event of the call."""
        data = json.loads(event.data)
        if event.kind == "emit":
            return _emitted(data["channel"], data["payload"])
        if event.kind == "text":
            return self._text(data["text"], event)
        if event.kind == "question":
            return self._asked(data, event)
        if event.kind == "error":
            return self._closed_message() + self._failed(data["error"])
        text = text_of(event.data, self.call.wanted) if self.call.wanted.is_model or isinstance(data, str) else ""
        whole = self._text(text, event) if text and not self.call.told_text else b""
        return whole + self._closed_message() + self._finished(data)

    def _text(self, text: str, event: Event) -> bytes:
        opening = b""
        if self.message is None:
            self.message = f"{self.call.id}-{event.number}"
            opening = data_line({"type": "TEXT_MESSAGE_START", "messageId": self.message, "role": "assistant"})
        return opening + data_line({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.message, "delta": text})

    def _closed_message(self) -> bytes:
        message, self.message = self.message, None
        return b"" if message is None else data_line({"type": "TEXT_MESSAGE_END", "messageId": message})

    def _asked(self, data: Json, event: Event) -> bytes:
        question = self.questions.open.get(data["key"])
        if question is None:  # answered already
            return b""
        self.is_interrupted = self.call.goes_on = True
        interrupt = {
            "id": f"{self.call.id}-{event.number}", "reason": question.channel, "message": self.questions.message(question),
            "responseSchema": self.questions.schema(question),
            "metadata": {"question": question.key, "payload": data["payload"]},
        }  # fmt: skip
        outcome = {"type": "interrupt", "interrupts": [interrupt]}
        return self._closed_message() + data_line({"type": "RUN_FINISHED", **self.place, "outcome": outcome})

    def _finished(self, result: Any) -> bytes:
        row: Json = {"type": "RUN_FINISHED", **self.place, "outcome": {"type": "success"}}
        if result is not None:
            row["result"] = result
        return data_line({**row, **self._usage()})

    def _failed(self, error: Json) -> bytes:
        if error["code"] == "cancelled":
            return data_line({"type": "RUN_FINISHED", **self.place, "outcome": {"type": "cancelled"}, **self._usage()})
        more = {key: error[key] for key in ("request", "value") if key in error}
        row = {"type": "RUN_ERROR", "message": error["message"], "code": error["code"], "metadata": more}
        return data_line({**row, **self._usage()})

    def _usage(self) -> Json:
        tokens_in, tokens_out = self.call.spent[:2]
        if not tokens_in + tokens_out:
            return {}
        return {"usage": [{"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out}]}


def _emitted(channel: str, payload: Any) -> bytes:
    if channel == STATE:
        return data_line({"type": "STATE_SNAPSHOT", "snapshot": payload})
    return data_line({"type": "CUSTOM", "name": channel, "value": payload})


def _named(body: Json, field: str) -> str:
    """Return a name in a body. Raise Problem (400) for what is none."""
    value = body.get(field)
    if not isinstance(value, str):
        raise Problem(400, "invalid", f"`{field}` is a text")
    return required_name(value, f"`{field}`")
