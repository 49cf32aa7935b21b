"""Both real SDKs against an independent server, @copilotkit/aimock, over real sockets: plain and schema calls, tools,
429 and 500, through the whole call algorithm.
"""

import asyncio
import time

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.calls.call import execute, execute_with_schema
from concerto.runtime.calls.services import Services
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.calls.usage import Metrics
from concerto.runtime.connections import resolve_all
from concerto.runtime.errors import CallFailure
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.memory import Memory
from concerto.runtime.providers.pool import ProviderPool
from concerto.runtime.schema.strategy import Schema

from ..servers.aimock import free_port, needs_aimock, serving

KIND = Schema("Kind", ["object", "Kind", [], [["kind", ["enum", ["bug", "task"]], False, False, None, None]]])
SCRIPTED = [
    {"match": {"userMessage": "hello"}, "response": {"content": "good day"}},
    {"match": {"userMessage": "previous reply was not accepted"}, "response": {"content": '{"kind": "task"}'}},
    {"match": {"userMessage": "sort this"}, "response": {"content": '{"kind": "bug"}'}},
    {"match": {"userMessage": "sort badly"}, "response": {"content": "I would rather not"}},
    {"match": {"userMessage": "never sort"}, "response": {"content": "no"}},
    {
        "match": {"userMessage": "busy", "sequenceIndex": 0},
        "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 1},
    },
    {"match": {"userMessage": "busy"}, "response": {"content": "at last"}},
    {
        "match": {"userMessage": "broken"},
        "response": {"error": {"message": "it broke", "type": "server_error"}, "status": 500},
    },
    {
        "match": {"userMessage": "use a tool"},
        "response": {"toolCalls": [{"name": "Clock__now", "arguments": '{"zone": "utc"}'}]},
    },
]


pytestmark = needs_aimock
each_wire = pytest.mark.parametrize("connection", ["chat", "responses", "anthropic"])


@pytest.fixture
def server(tmp_path):
    """The address of a server of this test alone: its replies are counted per message."""
    with serving(SCRIPTED, tmp_path) as url:
        yield url


class Session:
    """Everything real but the waiting between retries."""

    def __init__(self, url, connection):
        both = {"provider": "openai", "base_url": f"{url}/v1", "default_model": "gpt-5.4-mini", "api_key": "k"}
        declared = {
            "chat": {**both, "api": "chat"},
            "responses": {**both, "api": "responses"},
            "anthropic": {"provider": "anthropic", "base_url": url, "default_model": "claude-haiku-5-5", "api_key": "k"},
        }
        self.slept = []
        self.log = Memory()
        self.metrics = Metrics()
        self.connections = resolve_all([declared])
        self.connection = connection
        self.pool = ProviderPool(self.connections, env={}, redactor=Redactor(), sleep=self.sleep)
        self.services = Services(
            provider=self.pool.__getitem__,
            sleep=self.sleep,
            random=lambda: 0.0,
            clock=time.monotonic,
            metrics=self.metrics,
        )

    async def sleep(self, seconds):
        self.slept.append(seconds)

    def run(self, prompt, schema=None, **fields):
        async def work():
            settings = call_settings("M", {"system_prompt": "S", **fields}, {}, self.connections[self.connection])
            conversation = Conversation(self.log)
            try:
                if schema is None:
                    return await execute(self.services, settings, prompt, conversation, run_id=prompt)
                return await execute_with_schema(self.services, settings, prompt, schema, conversation, run_id=prompt)
            finally:
                await self.pool.aclose()

        return asyncio.run(work())

    def failure(self, prompt, **fields):
        with pytest.raises(CallFailure) as raised:
            self.run(prompt, **fields)
        return raised.value

    def contents(self):
        return [message.content for message in self.log.messages()]


@each_wire
def test_a_conversation(server, connection):
    session = Session(server, connection)
    response = session.run("hello")
    assert (response.text, response.finish, response.attempts) == ("good day", "stop", 1)
    assert response.provider == connection and response.model
    session.run("hello again")
    assert session.contents() == ["hello", "good day", "hello again", "good day"]


@each_wire
@pytest.mark.parametrize("structured", ["native", "prompt"])
def test_a_schema_call(server, connection, structured):
    session = Session(server, connection)
    accepted = session.run("sort this", KIND, structured=structured)
    assert accepted.tree[2] == [("kind", "bug")]
    assert session.contents() == ["sort this", '{"kind": "bug"}']


@each_wire
def test_a_second_try(server, connection):
    session = Session(server, connection)
    accepted = session.run("sort badly", KIND)
    assert accepted.tree[2] == [("kind", "task")]
    assert (session.metrics.schema_retries, session.metrics.model_calls) == (1, 2)
    assert session.contents() == ["sort badly", '{"kind": "task"}']


@each_wire
def test_a_rate_limit_is_waited_for(server, connection):
    session = Session(server, connection)
    response = session.run("busy")
    assert (response.text, response.attempts) == ("at last", 2)
    assert session.slept == [1.0]


@each_wire
def test_a_broken_server(server, connection):
    session = Session(server, connection)
    failure = session.failure("broken")
    assert (failure.kind, failure.variant, failure.fields["status"]) == ("ConnectionError", "ProviderUnavailable", 500)
    assert failure.message.endswith(": it broke (3 attempts)")
    assert session.slept == [0.5, 1.0]
    assert len(session.log) == 0


@each_wire
def test_nobody_listens(connection):
    session = Session(f"http://127.0.0.1:{free_port()}", connection)
    failure = session.failure("hello")
    assert (failure.variant, session.metrics.model_calls) == ("NetworkError", 3)


@each_wire
def test_calls_of_a_tool_nobody_offered_end_at_the_limit(server, connection):
    session = Session(server, connection)
    failure = session.failure("use a tool", max_tool_rounds=1)
    assert failure.variant == "ToolLoopLimit"
    assert session.metrics.model_calls == 2
    assert len(session.log) == 0
