"""Requests through the real SDKs over a transport of the tests' own, and replies as each wire form has them."""

import asyncio

import httpx2
import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import CallFailure
from concerto.runtime.providers.anthropic import Anthropic
from concerto.runtime.providers.openai import OpenAIChat, OpenAIResponses
from concerto.runtime.records import Msg, Request

WIRES = {
    "chat": (OpenAIChat, {"provider": "openai", "api": "chat", "api_key": "sk-secret"}),
    "responses": (OpenAIResponses, {"provider": "openai", "api_key": "sk-secret"}),
    "anthropic": (Anthropic, {"provider": "anthropic", "api_key": "sk-secret"}),
}
all_wires = pytest.mark.parametrize("wire", WIRES)


def chat(message=None, finish="stop", **parts):
    content = {"role": "assistant", "content": "hello", "refusal": None, "annotations": []}
    choice = {"index": 0, "finish_reason": finish, "message": {**content, **(message or {})}}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return {"id": "x", "object": "chat.completion", "model": "real-1", "choices": [choice], "usage": usage, **parts}


def responses(output=None, status="completed", **parts):
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {"id": "x", "model": "real-1", "status": status, "output": output or [text], "usage": usage, **parts}


def anthropic(content=None, stop_reason="end_turn", **parts):
    usage = {"input_tokens": 2, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 1, "output_tokens": 2}
    blocks = content or [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    return {
        "id": "x",
        "type": "message",
        "model": "real-1",
        "content": blocks,
        "stop_reason": stop_reason,
        "usage": usage,
        **parts,
    }


OK = {"chat": chat(), "responses": responses(), "anthropic": anthropic()}


class Wire:
    """Sends one request through an SDK whose HTTP layer is answered by `answer`."""

    def __init__(self, wire, answer, env=None, **fields):
        provider, own = WIRES[wire]
        self.seen = []
        self.redactor = Redactor()
        self.settings = resolve("lab", [{"lab": {**own, **fields}}])
        self.answer = answer
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.handle))
        self.provider = provider(self.settings, env or {}, self.redactor, client)

    async def handle(self, request):
        self.seen.append(request)
        answer = self.answer
        if callable(answer):
            answer = answer(request)
            answer = await answer if asyncio.iscoroutine(answer) else answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    def send(self, *messages, timeout=60, **parts):
        request = Request(
            id="r", connection="lab", model="m-1", messages=list(messages) or [Msg("user", "hi")], timeout=timeout, **parts
        )

        async def run():
            try:
                return await self.provider.send(request)
            finally:
                await self.provider.aclose()

        return asyncio.run(run())

    def failure(self, **options):
        with pytest.raises(CallFailure) as raised:
            self.send(**options)
        assert "sk-secret" not in raised.value.message
        assert raised.value.__context__ is None or raised.value.__suppress_context__
        return raised.value
