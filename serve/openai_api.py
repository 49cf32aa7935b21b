"""The endpoints of OpenAI, so that any client of theirs talks to a program (S-1.4).

Hands on to the application (`app.py`) `OpenAiApi`, whose routes it has, and `refusal`, the answer to what they refuse. What is
asked for as `model` is a public model (`pub model`), or a public function whose one parameter that must be given is an
Array<Message>. A result that is no text is its JSON. Settings of a model (temperature and the like) are the program's own and
left unread; what would change what an answer means, and is not done here, is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from .answers import SAFE, ident_of, json_response
from .bodies import arguments_of
from .caller import Caller
from .calls import ServedCall, Wanted
from .conversations import conversing, messages_of, text_of
from .events import Event, EventStream, data_line
from .problems import Problem

if TYPE_CHECKING:
    from .app import Application

Json = dict[str, Any]
Handler = Callable[[Request, Caller], Awaitable[Any]]
DONE = b"data: [DONE]\n\n"
# Fields that ask for what is not done here: by name, the values that ask for nothing.
REFUSED: dict[str, tuple[Any, ...]] = {
    "tools": (None, []), "functions": (None, []), "n": (None, 1), "audio": (None,), "previous_response_id": (None,),
    "conversation": (None,), "background": (None, False), "logprobs": (None, False), "prompt": (None,),
}  # fmt: skip
TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         429: "rate_limit_error"}  # fmt: skip


class OpenAiApi:
    """The endpoints of one application. Its handlers raise Problem: 404 for a `model` that is not offered, 400 for what is not
    served, as `bodies.py` for a body, and what a call ends with; the application answers it by `refusal`."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.offered = conversing(app.program, app.settings.keys, texts=False)

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return method, path and handler of each route."""
        return [
            ("GET", "/v1/models", self.models),
            ("POST", "/v1/chat/completions", self.completions),
            ("POST", "/v1/responses", self.responses),
        ]

    async def models(self, request: Request, caller: Caller) -> Response:
        """Answer with the names that may stand as `model`."""
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": self.app.program.name} for name in self.offered]
        return _response({"object": "list", "data": rows})

    async def completions(self, request: Request, caller: Caller) -> Any:
        """Answer a chat completion, whole or as chunks."""
        body = await self._body(request)
        wanted = self._wanted(request, caller, body, messages_of(body.get("messages"), "messages"))
        ident, made = f"chatcmpl-{ident_of(request)}", int(time.time())
        head: Json = {"id": ident, "created": made, "model": body["model"]}
        if body.get("stream"):
            options = body.get("stream_options")
            tells_usage = isinstance(options, dict) and bool(options.get("include_usage"))
            return await self._streamed(request, wanted, _Chunks({**head, "object": "chat.completion.chunk"}, tells_usage))
        text, call = await self._text(request, wanted)
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        usage = _usage(call, "prompt", "completion")
        return _response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    async def responses(self, request: Request, caller: Caller) -> Any:
        """Answer in the form of the Responses API, whole or as its events."""
        body = await self._body(request)
        given = body.get("input")
        messages = [{"role": "user", "content": given}] if isinstance(given, str) else messages_of(given, "input")
        if isinstance(body.get("instructions"), str):
            messages.insert(0, {"role": "system", "content": body["instructions"]})
        wanted = self._wanted(request, caller, body, messages)
        form = _ResponseEvents(ident_of(request), body["model"], body.get("instructions"))
        if body.get("stream"):
            return await self._streamed(request, wanted, form)
        text, call = await self._text(request, wanted)
        return _response(form.whole("completed", text, call))

    async def _body(self, request: Request) -> Json:
        body = await arguments_of(request, self.app.settings)
        model = body.get("model")
        if not isinstance(model, str) or model not in self.offered:
            offered = ", ".join(self.offered) or "none: declare `pub model`, or a `pub fn` of one parameter Array<Message>"
            raise Problem(404, "model_not_found", f"`model` is one of what this program offers: {offered}")
        for name, nothing in REFUSED.items():
            if name in body and body[name] not in nothing:
                raise Problem(400, "unsupported", f"`{name}` is not served: what the program does is decided by the program")
        text = body.get("text")
        form = body.get("response_format") or (text.get("format") if isinstance(text, dict) else None)
        if isinstance(form, dict) and form.get("type") not in (None, "text"):
            signature = self.app.signatures.get(model)
            if signature is None or signature.result == {"type": "string"}:
                says = f"{model} answers with text; a form is served by a function that returns a schema"
                raise Problem(400, "unsupported", says)
        return body

    def _wanted(self, request: Request, caller: Caller, body: Json, messages: list[Json]) -> Wanted:
        name = body["model"]
        request.scope["concerto"]["function"] = name
        parameter = self.offered[name].parameter
        return self.app.wanted(request, caller, name, {parameter or "messages": messages}, is_model=parameter is None)

    async def _text(self, request: Request, wanted: Wanted) -> tuple[str, ServedCall | None]:
        """Return the text of the answer, and the call. Raise Problem for a call that fails."""
        answer, call = await self.app.answered(request, wanted)
        if answer.status != 200:
            error = json.loads(answer.body)["error"]
            raise Problem(answer.status, error["code"], error["message"], headers=dict(answer.headers))
        return text_of(answer.body, wanted), call

    async def _streamed(self, request: Request, wanted: Wanted, form: _Chunks | _ResponseEvents) -> EventStream:
        call = await self.app.calls.begin(ident_of(request), wanted, streams=True)
        assert call.log is not None
        return EventStream(
            call.log, 0, lambda event: form.told(event, call), headers={**SAFE, "concerto-call": call.id},
            opened=lambda: self.app.calls.opened(call), closed=lambda: self.app.calls.closed(call), end=form.end,
        )  # fmt: skip


class _Chunks:
    """The chunks of a streamed chat completion."""

    end = DONE

    def __init__(self, head: Json, tells_usage: bool) -> None:
        self.head = head
        self.tells_usage = tells_usage
        self.began = self.told_text = False

    def told(self, event: Event, call: ServedCall) -> bytes:
        """Return the bytes for an event of the call."""
        if event.kind == "error":
            return data_line({"error": _error(json.loads(event.data)["error"], call.status)})
        if event.kind == "text":
            self.told_text = True
            return self._delta(json.loads(event.data)["text"])
        if event.kind != "result":
            return b""
        whole = b"" if self.told_text else self._delta(text_of(event.data, call.wanted))
        last = self._chunk([{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": None}])
        usage = {**self.head, "choices": [], "usage": _usage(call, "prompt", "completion")}
        return whole + last + (data_line(usage) if self.tells_usage else b"")

    def _delta(self, text: str) -> bytes:
        role = {} if self.began else {"role": "assistant"}
        self.began = True
        return self._chunk([{"index": 0, "delta": {**role, "content": text}, "finish_reason": None, "logprobs": None}])

    def _chunk(self, choices: list[Json]) -> bytes:
        return data_line({**self.head, "choices": choices, **({"usage": None} if self.tells_usage else {})})


class _ResponseEvents:
    """The object and the events of the Responses API."""

    end = b""

    def __init__(self, ident: str, model: str, instructions: Any) -> None:
        self.ident = ident
        self.model = model
        self.instructions = instructions
        self.made = int(time.time())
        self.texts: list[str] = []
        self.count = 0

    def whole(self, status: str, text: str | None, call: ServedCall | None, error: Json | None = None) -> Json:
        """Return the object of a response; `text` None: without output yet."""
        return {
            "id": f"resp_{self.ident}", "object": "response", "created_at": self.made, "status": status, "error": error,
            "incomplete_details": None, "instructions": self.instructions, "model": self.model,
            "output": [] if text is None else [self._message("completed", text)], "parallel_tool_calls": False,
            "previous_response_id": None, "store": False, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None,
            "metadata": {}, "usage": None if text is None else _response_usage(call),
        }  # fmt: skip

    def _message(self, status: str, text: str | None) -> Json:
        content = [] if text is None else [self._part(text)]
        return {"id": f"msg_{self.ident}", "type": "message", "status": status, "role": "assistant", "content": content}

    def _part(self, text: str) -> Json:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def told(self, event: Event, call: ServedCall) -> bytes:
        """Return the bytes for an event of the call."""
        if event.kind == "text":
            return self._delta(json.loads(event.data)["text"])
        if event.kind == "error":
            error = json.loads(event.data)["error"]
            failed = self.whole("failed", None, call, {"code": "server_error", "message": error["message"]})
            return self._opening() + self._event("response.failed", response=failed)
        if event.kind != "result":
            return b""
        text = text_of(event.data, call.wanted)
        pieces = b"" if self.texts else self._delta(text)
        place = {"item_id": f"msg_{self.ident}", "output_index": 0, "content_index": 0}
        return b"".join((
            pieces, self._event("response.output_text.done", **place, text=text, logprobs=[]),
            self._event("response.content_part.done", **place, part=self._part(text)),
            self._event("response.output_item.done", output_index=0, item=self._message("completed", text)),
            self._event("response.completed", response=self.whole("completed", text, call)),
        ))  # fmt: skip

    def _delta(self, text: str) -> bytes:
        opening = self._opening()
        if not self.texts:
            opening += self._event("response.output_item.added", output_index=0, item=self._message("in_progress", None))
            opening += self._event(
                "response.content_part.added", item_id=f"msg_{self.ident}", output_index=0, content_index=0, part=self._part("")
            )
        self.texts.append(text)
        return opening + self._event(
            "response.output_text.delta", item_id=f"msg_{self.ident}", output_index=0, content_index=0, delta=text, logprobs=[]
        )

    def _opening(self) -> bytes:
        if self.count:
            return b""
        begun = self.whole("in_progress", None, None)
        return self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)

    def _event(self, kind: str, **fields: Any) -> bytes:
        row = {"type": kind, "sequence_number": self.count, **fields}
        self.count += 1
        return f"event: {kind}\n".encode() + data_line(row)


def _usage(call: ServedCall | None, of_prompt: str, of_answer: str) -> Json:
    tokens_in, tokens_out = (0, 0) if call is None else call.spent[:2]
    return {f"{of_prompt}_tokens": tokens_in, f"{of_answer}_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _response_usage(call: ServedCall | None) -> Json:
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {**_usage(call, "input", "output"), **details}


def _error(error: Json, status: int) -> Json:
    return {"message": error["message"], "type": TYPES.get(status, "server_error"), "param": None, "code": error["code"]}


def refusal(problem: Problem, request: Request) -> Response:
    """Return the answer to a request that got a Problem, as OpenAI's clients read it."""
    error = _error({"message": problem.message, "code": problem.code}, problem.status)
    return _response({"error": error}, problem.status, problem.headers)


def _response(data: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return json_response(json.dumps(data, ensure_ascii=False), status, headers)
