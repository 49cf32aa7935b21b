"""Answers that are no result: one form for all of them, and what a failure of a call is in HTTP (S-1.1).

Hands on `Problem`, which whoever refuses a request raises, `busy` for a server that takes nothing now, CLIENT_CLOSED, and
`problem_of`, which makes one of the end of a call, to the rest of this folder; `HINTS`, what the codes mean, to the description
of the service (`openapi.py`). Of a request or program a text has only what the program itself returned as an error and, of a call
that does not fit, the signature and what of its arguments does not.
"""

from __future__ import annotations

import json
from typing import Any

from ..api.json_calls import Misfitting
from ..api.results import Panic, ProgramError, RecordingError

BUDGET_PANICS = ("P101", "P102")  # steps and seconds
CLIENT_CLOSED = 499  # what servers write in their logs for a client that has gone

HINTS = {
    400: "The request is no such call: its JSON, names or types.",
    401: "No token that is known; send `Authorization: Bearer …`.",
    403: "The program may not do that, or the caller may not.",
    404: "There is no such function, call or question.",
    409: "The same key came with another request.",
    413: "The body is larger than the server takes.",
    415: "The body is no JSON by its Content-Type.",
    422: "The function returned an error; `value` is that error.",
    429: "Too many calls, or a budget is spent.",
    500: "The program panicked; the log has the request id.",
    503: "The server is full or goes down; try again after `Retry-After` seconds.",
}


class Problem(Exception):
    """A request that gets no result. `status` is that of HTTP, `code` a word for programs, `message` a sentence for people;
    `value` is JSON text of the program's own error, None for none; `headers` go with the answer."""

    def __init__(
        self, status: int, code: str, message: str, *, value: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.value = value
        self.headers = headers or {}

    def text(self, request: str) -> str:
        """Return the JSON text of the answer to the request of that id."""
        error: dict[str, Any] = {"code": self.code, "message": self.message, "request": request}
        head = json.dumps(error, ensure_ascii=False)
        if self.value is not None:  # compact JSON already, which is not read again
            head = f'{head[:-1]}, "value": {self.value}}}'
        return f'{{"error": {head}}}'


def busy(message: str, seconds: float) -> Problem:
    """Return the answer of a server that is full or goes down: 503 with the seconds after which to come again, in whole ones."""
    return Problem(503, "busy", message, headers={"Retry-After": str(max(1, round(seconds)))})


def problem_of(failure: BaseException) -> Problem:
    """Return the answer for what a call raised. Of a defect of ours the text says nothing but that."""
    if isinstance(failure, Problem):
        return failure
    if isinstance(failure, Misfitting):
        return Problem(400, "arguments", str(failure))
    if isinstance(failure, ProgramError):
        return _of_error(failure)
    if isinstance(failure, Panic):
        if failure.code == "P407":
            return Problem(403, "denied", f"panic {failure.code}: the program may not do that")
        if failure.code in BUDGET_PANICS:
            return Problem(429, "budget", f"panic {failure.code}: a budget of the call is spent")
        return Problem(500, failure.code, f"the program panicked ({failure.code}); the log of the server has this request")
    if isinstance(failure, RecordingError):
        return Problem(503, "store", "the run store does not take the call now", headers={"Retry-After": "1"})
    return Problem(500, "internal", "the server failed; its log has this request")


def _of_error(failure: ProgramError) -> Problem:
    """Return the answer for an Err, whose value is JSON text, and for a call that was cancelled."""
    if not isinstance(failure.value, str):
        return Problem(CLIENT_CLOSED, "cancelled", "the call was cancelled")
    value = json.loads(failure.value)
    kind, variant = (value.get("kind"), value.get("variant")) if isinstance(value, dict) else (None, None)
    status, code = 422, "error"
    if kind == "BudgetError":
        status, code = 429, "budget"
    elif variant == "PermissionDenied":
        status, code = 403, "denied"
    return Problem(status, code, failure.error.message, value=failure.value)
