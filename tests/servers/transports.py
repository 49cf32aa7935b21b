"""HTTP layers for the real SDKs: one that keeps what passes to a server, one that answers from a list.

Both keep every request as `Sent`: the path, and the JSON body as it was on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import httpx2


class Sent(NamedTuple):
    path: str
    body: dict[str, Any]
    raw: bytes
    key: str | None


class Recording(httpx2.AsyncBaseTransport):
    """Passes requests on and keeps them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self.inner = inner
        self.sent: list[Sent] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        self.sent.append(Sent(request.url.path, json.loads(raw), raw, request.headers.get("authorization")))
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def to_network() -> Recording:
    return Recording(httpx2.AsyncHTTPTransport())


def answering(wire: str, texts: Iterable[str]) -> Recording:
    """Each request gets the next of `texts`; one more than there are is an error of the server."""
    left = iter(texts)

    def answer(request: httpx2.Request) -> httpx2.Response:
        text = next(left, None)
        return httpx2.Response(500) if text is None else httpx2.Response(200, json=REPLIES[wire](text))

    return Recording(httpx2.MockTransport(answer))


def _chat(text: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return {"id": "x", "object": "chat.completion", "model": "real-1", "choices": [choice], "usage": usage}


def _responses(text: str) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {"id": "x", "model": "real-1", "status": "completed", "output": [message], "usage": usage}


def _anthropic(text: str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text}]
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {"id": "x", "type": "message", "model": "real-1", "content": blocks, "stop_reason": "end_turn", "usage": usage}


REPLIES = {"chat": _chat, "responses": _responses, "anthropic": _anthropic}
