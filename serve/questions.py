"""Questions of calls that wait for an answer from outside: what a program asks by an awaited emit (S-1.6).

Hands on `Questions` to the application, its calls and the protocols beside it, `Question` to the calls and to these too. A
question is answered once; whether somebody may answer is asked before, by those who call `answer` (`caller.py`). An answer that
does not fit the channel is refused and the question stays. A question ends with its call, and so with the process; those of
durable calls, which do not, are in `durable_calls.py`, but for those on channels of tools.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ..api.program import Program
from .problems import Problem, busy

MOST = 10_000  # questions that are open at a time


@dataclass(eq=False, slots=True)
class Question:
    """An open question: `owner` is the caller whose call asks, `payload` JSON text, `since` in seconds since 1970; `answered`
    gets the JSON text of the answer; `require(text)` raises Misfitting for one that does not fit."""

    key: str
    call: str
    owner: str
    function: str
    channel: str
    payload: str
    since: float
    answered: asyncio.Future[str]
    require: Callable[[str], None]


class Declined(Exception):
    """A person would not answer: the emit of the program that asked fails."""


class Questions:
    """The open questions of one process, `open` by their keys, oldest first. `channels` are those that the program declares."""

    def __init__(self, program: Program) -> None:
        self.channels = program.channels
        self.open: dict[str, Question] = {}
        self._by_call: dict[str, list[Question]] = {}

    async def ask(self, call: str, owner: str, function: str, channel: str, payload: str, require: Callable[[str], None],
                  told: Callable[[Question], None]) -> str:  # fmt: skip
        """Put a question and return the JSON text of its answer; `told` is called with it first. Raise Problem (503) where MOST
        are open, Declined where a person would not answer."""
        if len(self.open) >= MOST:
            raise busy("too many questions are open", 1)
        answered = asyncio.get_running_loop().create_future()
        question = Question(uuid4().hex, call, owner, function, channel, payload, time.time(), answered, require)
        self.open[question.key] = question
        self._by_call.setdefault(call, []).append(question)
        try:
            told(question)
            return str(await answered)
        finally:
            self._forget(question)

    def schema(self, question: Question) -> dict[str, Any]:
        """Return the JSON Schema of the answer to a question; that of any JSON where its channel declares none."""
        declared = self.channels.get(question.channel)
        return {} if declared is None or declared.answer is None else declared.answer

    def message(self, question: Question) -> str:
        """Return a question as a text for people: its channel and its payload."""
        payload = json.loads(question.payload)
        return f"{question.channel}: {payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)}"

    def of_call(self, call: str) -> Question | None:
        """Return the open question that a call asked first, None for none."""
        return next(iter(self._by_call.get(call, ())), None)

    def shown(self, question: Question) -> str:
        """Return a question as JSON text, with the JSON Schema of its answer."""
        head: dict[str, Any] = {
            "key": question.key, "call": question.call, "caller": question.owner, "function": question.function,
            "channel": question.channel, "since": round(question.since, 3), "answer": self.schema(question),
        }  # fmt: skip
        return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "payload": {question.payload}}}'

    def written(self, question: Question, text: str) -> str:
        """Return the JSON text of an answer that a person wrote as a text: of a String or a union it is that text, the name of a
        variant is that of an enum, Bytes are base64 or JSON, and anything else is JSON."""
        schema = self.schema(question)
        if "contentEncoding" in schema and text.lstrip().startswith('"'):
            return text
        declared = schema.get("$defs", {}).get(schema.get("$ref", "").removeprefix("#/$defs/"), {})
        names = [name for form in declared.get("anyOf", ()) for name in form.get("enum", ())]
        return json.dumps(text) if schema.get("type") == "string" or "enum" in schema or text in names else text

    def answer(self, question: Question, text: str) -> None:
        """Answer a question with a JSON text. Raise Misfitting for one that does not fit, and Problem (409) where another answer
        was first."""
        question.require(text)
        self._close(question)
        question.answered.set_result(text)

    def decline(self, question: Question) -> None:
        """Tell a program that nobody will answer: its emit fails. Raise Problem (409) where an answer was first."""
        self._close(question)
        question.answered.set_exception(Declined("the person declined to answer"))

    def _close(self, question: Question) -> None:
        if question.answered.done() or self.open.get(question.key) is not question:
            raise Problem(409, "answered", "the question has been answered, or its call has ended")
        self._forget(question)

    def _forget(self, question: Question) -> None:
        if self.open.pop(question.key, None) is None:
            return
        self._by_call[question.call].remove(question)
        if not self._by_call[question.call]:
            del self._by_call[question.call]
