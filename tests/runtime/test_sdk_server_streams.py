"""Streams of both real SDKs from an independent server, @copilotkit/aimock: its pace, its limits of time, what it breaks off
or makes malformed (G-9.8, O-1.212).
"""

import asyncio

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve_all
from concerto.runtime.errors import CallFailure
from concerto.runtime.providers.pool import ProviderPool
from concerto.runtime.records import Msg, Request

from ..servers.aimock import needs_aimock, serving

TEXT = "one two three four five six seven eight"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "input_tokens": 11, "output_tokens": 7}
SCRIPTED = [
    {"match": {"userMessage": "slowly"}, "response": {"content": TEXT, "usage": USAGE}, "latency": 60, "chunkSize": 4},
    {"match": {"userMessage": "cut"}, "response": {"content": TEXT}, "chunkSize": 4, "truncateAfterChunks": 3},
    {"match": {"userMessage": "malformed"}, "response": {"content": TEXT}, "chaos": {"malformedRate": 1.0}},
    {"match": {"userMessage": "late"}, "response": {"content": TEXT}, "streamingProfile": {"ttft": 3000}},
]

pytestmark = needs_aimock
each_wire = pytest.mark.parametrize("connection", ["chat", "responses", "anthropic"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(SCRIPTED, tmp_path_factory.mktemp("aimock")) as url:
        yield url


def streamed(url, connection, prompt, timeout=20.0, stream=True):
    """The pieces, and the reply or the failure."""
    both = {"provider": "openai", "base_url": f"{url}/v1", "api_key": "k"}
    declared = {"chat": {**both, "api": "chat"}, "responses": {**both, "api": "responses"}}
    declared["anthropic"] = {"provider": "anthropic", "base_url": url, "api_key": "k"}
    pieces = []

    async def give(text):
        pieces.append(text)

    async def run():
        pool = ProviderPool(resolve_all([declared]), env={}, redactor=Redactor(), sleep=asyncio.sleep)
        model = "claude-haiku-5-5" if connection == "anthropic" else "gpt-5.4-mini"
        request = Request(
            id="r", connection=connection, model=model, messages=[Msg("user", prompt)], timeout=timeout, stream=stream
        )
        try:
            return await (pool[connection].stream(request, give) if stream else pool[connection].send(request))
        except CallFailure as failure:
            return failure
        finally:
            await pool.aclose()

    return pieces, asyncio.run(run())


@each_wire
def test_a_pace_that_a_limit_allows(server, connection):
    """Longer in all than the limit, which counts each wait."""
    pieces, reply = streamed(server, connection, "slowly", timeout=0.5)
    assert (reply.text, reply.finish) == (TEXT, "stop")
    assert "".join(pieces) == TEXT and len(pieces) >= 8
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)


@each_wire
def test_a_stream_that_breaks_off(server, connection):
    pieces, failure = streamed(server, connection, "cut")
    assert failure.variant in ("InvalidResponse", "NetworkError")
    assert TEXT.startswith("".join(pieces))


@each_wire
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_malformed(server, connection, stream):
    pieces, failure = streamed(server, connection, "malformed", stream=stream)
    assert (pieces, failure.variant, failure.retry_class) == ([], "InvalidResponse", None)


@each_wire
def test_a_stream_that_begins_late(server, connection):
    _, failure = streamed(server, connection, "late", timeout={"first": 0.5})
    assert (failure.kind, failure.fields["limit"]) == ("TimeoutError", "first")
