"""Reading bodies of requests, whoever sends them (S-1.7).

Hands on `arguments_of` to the application and to the protocols beside it, `text_body` to the former, `json_body` to `a2a.py`.
Nothing is read beyond the limits, and JSON is read as all JSON from outside: bounded in depth and size, without NaN, doubled keys
and broken characters.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import ClientDisconnect, Request

from ..api.json_calls import Misfitting, read_json
from .problems import CLIENT_CLOSED, Problem
from .settings import Serving


async def text_body(request: Request, settings: Serving) -> str:
    """Return the text of a JSON body, "" for none. Raise Problem: 415 for another type, 413 for too many bytes, 408 for one that
    takes too long, 400 for bytes that are no UTF-8, CLIENT_CLOSED where the client goes before its end."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > settings.body_bytes):
        raise _too_large(settings)
    data = await _read(request, settings)
    if not data:
        return ""
    _require_json(request.headers.get("content-type", ""))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, "json", f"the body is no UTF-8 at byte {error.start}") from None


async def json_body(request: Request, settings: Serving) -> Any:
    """Return the JSON data of a body, an empty object for none. Raise Problem as `text_body`, and 400 for what is no JSON."""
    text = await text_body(request, settings)
    if not text:
        return {}
    try:
        return read_json(text, "the body")
    except Misfitting as refused:
        raise Problem(400, "json", str(refused)) from None


async def arguments_of(request: Request, settings: Serving) -> dict[str, Any]:
    """Return the arguments in a body, an object of them by name. Raise Problem as `json_body`, and 400 for another value."""
    data = await json_body(request, settings)
    if not isinstance(data, dict):
        raise Problem(400, "json", "the body is an object of the arguments by name")
    return data


async def _read(request: Request, settings: Serving) -> bytes:
    pieces, size = [], 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for piece in request.stream():
                size += len(piece)
                if size > settings.body_bytes:
                    raise _too_large(settings)
                pieces.append(piece)
    except TimeoutError:
        raise Problem(408, "slow", f"the body was not there within {settings.body_seconds:g} s") from None
    except ClientDisconnect:
        raise Problem(CLIENT_CLOSED, "gone", "the client has gone") from None
    return b"".join(pieces)


def _too_large(settings: Serving) -> Problem:
    return Problem(413, "size", f"a body has at most {settings.body_bytes} bytes")


def _require_json(content_type: str) -> None:
    """Raise Problem (415) for a type that is not JSON in UTF-8. A form of a web page can send none of these, so that a page of
    another site cannot call anything."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charset = next((one.removeprefix("charset=").strip('"') for one in parameters if one.startswith("charset=")), "")
    if not (kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))):
        raise Problem(415, "type", "the body is JSON: send `Content-Type: application/json`")
    if charset not in ("", "utf-8", "utf8"):
        raise Problem(415, "type", "the body is JSON in UTF-8")
