"""Questions of calls that wait for an answer from outside: what a program asks by an awaited emit (S-1.6).

Hands on `Questions` to the calls and the application, `Question` to the calls and to MCP (`mcp_server.py`). A question is
answered once, by who may; an answer that does not fit the channel is refused and the question stays. A question ends with its
call, and so with the process.
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
from .problems import Problem

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
    """A person would not answer."""


class Questions:
    """The open questions of one process, oldest first."""

    def __init__(self, program: Program) -> None:
        self.channels = program.channels
        self.open: dict[str, Question] = {}

    async def ask(self, call: str, owner: str, function: str, channel: str, payload: str, require: Callable[[str], None],
                  told: Callable[[Question], None]) -> str:  # fmt: skip
        """Put a question and return the JSON text of its answer; `told` is called with it first. Raise Problem (503) where MOST
        are open, Declined where a person would not answer."""
        if len(self.open) >= MOST:
            raise Problem(503, "busy", "too many questions are open")
        answered = asyncio.get_running_loop().create_future()
        question = Question(uuid4().hex, call, owner, function, channel, payload, time.time(), answered, require)
        self.open[question.key] = question
        try:
            told(question)
            return str(await answered)
        finally:
            self.open.pop(question.key, None)

    def shown(self, question: Question) -> str:
        """Return a question as JSON text, with the JSON Schema of its answer."""
        declared = self.channels.get(question.channel)
        head: dict[str, Any] = {
            "key": question.key, "call": question.call, "caller": question.owner, "function": question.function,
            "channel": question.channel, "since": round(question.since, 3),
            "answer": {} if declared is None or declared.answer is None else declared.answer,
        }  # fmt: skip
        return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "payload": {question.payload}}}'

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
        del self.open[question.key]
