"""Answers of HTTP that all routes share.

Hands on `json_response`, `refusal` of a request that got a Problem, `ident_of` a request, and SAFE, headers that answers have,
to the application and to the protocols beside it. What is answered is decided there.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from .problems import Problem

SAFE = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def json_response(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer of JSON text."""
    return Response(text, status, {**SAFE, **(headers or {})}, "application/json")


def ident_of(request: Request) -> str:
    """Return the id of a request, by which its call and the lines of the log are known."""
    ident: str = request.scope["concerto"]["request"]
    return ident


def refusal(request: Request, problem: Problem) -> Response:
    """Return the answer to a request that got a Problem."""
    return json_response(problem.text(ident_of(request)), problem.status, problem.headers)
