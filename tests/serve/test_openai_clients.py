"""The endpoints of OpenAI, by its own client (S-1.4)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from .served import in_loop, running, served

SOURCE = """
schema Ticket { topic: String, urgent: Bool }
/// Answers letters.
pub model Clerk { provider: openai, base: "m", system_prompt: "You are a clerk." }
model Hidden { provider: openai, base: "m" }
pub fn loud(messages: Array<Message>) -> Result<String> {
    messages.map(|m| "${m.role}: ${m.content}").join("\\n")
}
pub fn told(messages: Array<Message>) -> Result<Stream, AgentError> { Hidden.stream(messages[0].content) }
pub fn sorted(messages: Array<Message>) -> Result<Ticket> { Hidden.execute<Ticket>(messages[0].content)? }
pub fn failing(messages: Array<Message>) -> Result<String> { throw ToolError::new("out of paper"); }
pub fn other(n: Int) -> Int { n }
"""


class Ticket(BaseModel):
    topic: str
    urgent: bool


@asynccontextmanager
async def client_of(**options: Any) -> Any:
    async with served(SOURCE, **options) as (http, _):
        yield openai.AsyncOpenAI(base_url="http://testserver/v1", api_key="unused-0123456789", http_client=http, max_retries=0)


MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hello"}]}]


@in_loop
async def test_chat_completions() -> None:
    async with client_of(offline_script=[{"text": "Good day.", "tokens_in": 7, "tokens_out": 3}]) as client:
        assert [one.id async for one in client.models.list()] == ["Clerk", "failing", "loud", "sorted", "told"]
        asked = await client.chat.completions.create(model="Clerk", messages=MESSAGES)
        assert asked.choices[0].message.content == "Good day." and asked.choices[0].finish_reason == "stop"
        assert asked.usage is not None and (asked.usage.prompt_tokens, asked.usage.total_tokens) == (7, 10)
        loud = await client.chat.completions.create(model="loud", messages=MESSAGES)
        assert loud.choices[0].message.content == "system: Be brief.\nuser: Hello"


@in_loop
async def test_streams() -> None:
    async with client_of(offline_script=[{"chunks": ["Good ", "day."]}]) as client:
        stream = await client.chat.completions.create(
            model="told", messages=[{"role": "user", "content": "x"}], stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
        assert texts == ["Good ", "day."] and chunks[-1].usage is not None and chunks[-1].usage.completion_tokens > 0
        assert chunks[0].choices[0].delta.role == "assistant" and chunks[-2].choices[0].finish_reason == "stop"
        async with client.responses.stream(model="told", input="x") as events:
            kinds = [event.type async for event in events]
            final = await events.get_final_response()
        assert final.output_text == "Good day." and final.status == "completed"
        assert kinds[:4] == [
            "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
        ]  # fmt: skip
        assert kinds.count("response.output_text.delta") == 2 and kinds[-1] == "response.completed"
    async with client_of(offline_script=["One piece."]) as client:
        whole = await client.chat.completions.create(model="Clerk", messages=MESSAGES, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in whole]) == "One piece."
        raw = await client.chat.completions.with_raw_response.create(model="Clerk", messages=MESSAGES, stream=True)
        assert raw.headers["x-content-type-options"] == "nosniff"


@in_loop
async def test_typed_calls() -> None:
    """`parse` sends a schema and reads the answer by it."""
    async with client_of(offline_script=['{"topic": "billing", "urgent": true}'] * 2) as client:
        parsed = await client.chat.completions.parse(
            model="sorted", messages=[{"role": "user", "content": "x"}], response_format=Ticket
        )
        assert parsed.choices[0].message.parsed == Ticket(topic="billing", urgent=True)
        answered = await client.responses.parse(model="sorted", input="x", text_format=Ticket)
        assert answered.output_parsed == Ticket(topic="billing", urgent=True)
        with pytest.raises(openai.BadRequestError, match="answers with text"):
            await client.chat.completions.parse(model="loud", messages=MESSAGES, response_format=Ticket)


@in_loop
async def test_responses() -> None:
    async with client_of(offline_script=[{"text": "Good day.", "tokens_in": 7, "tokens_out": 3}]) as client:
        answer = await client.responses.create(model="Clerk", input="Hello", instructions="Be brief.")
        assert answer.output_text == "Good day." and answer.usage is not None and answer.usage.total_tokens == 10
        listed = await client.responses.create(model="loud", input=[{"role": "user", "content": "a"}], instructions="b")
        assert listed.output_text == "system: b\nuser: a"


@in_loop
async def test_failures_are_those_of_the_client() -> None:
    async with client_of() as client:
        with pytest.raises(openai.NotFoundError, match="Clerk, failing, loud"):
            await client.chat.completions.create(model="Hidden", messages=MESSAGES)
        with pytest.raises(openai.UnprocessableEntityError, match="out of paper"):
            await client.chat.completions.create(model="failing", messages=MESSAGES)
        for fields, says in (
            ({"n": 2}, "`n` is not served"), ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "`tools`"),
            ({"messages": []}, "an array of messages"), ({"messages": [{"role": "robot", "content": "x"}]}, "has the role"),
            ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "no text"),
        ):  # fmt: skip
            with pytest.raises(openai.BadRequestError, match=says):
                await client.chat.completions.create(**{"model": "Clerk", "messages": MESSAGES, **fields})
        with pytest.raises(openai.APIError, match="out of paper"):
            async for _ in await client.chat.completions.create(model="failing", messages=MESSAGES, stream=True):
                pass
        failed = [event async for event in await client.responses.create(model="failing", input="x", stream=True)]
        assert failed[-1].type == "response.failed" and failed[-1].response.error.message == "out of paper"
    async with client_of(tokens={"me": "x" * 16}) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()
        assert len((await client.with_options(api_key="x" * 16).models.list()).data) == 5


@in_loop
async def test_conversations_are_sessions() -> None:
    source = """
        memory chat { retain: 20 }
        model M { provider: openai, base: "m", memory: chat }
        pub fn talk(messages: Array<Message>) -> Result<Int> { M.execute(messages[0].content)?; chat.len() }
    """
    async with served(source) as (http, _):
        client = openai.AsyncOpenAI(base_url="http://testserver/v1", api_key="unused-0123456789", http_client=http)

        async def length(session: str) -> str | None:
            asked = await client.chat.completions.create(
                model="talk", messages=[{"role": "user", "content": "x"}], extra_headers={"Concerto-Session": session}
            )
            return asked.choices[0].message.content

        assert [await length(one) for one in ("a", "a", "b")] == ["2", "4", "2"]


NODE = Path(__file__).parent / "node_modules" / "openai"


@pytest.mark.skipif(shutil.which("node") is None or not NODE.exists(), reason="no node here, or no npm package openai")
def test_the_client_of_npm(tmp_path: Path) -> None:
    with running(tmp_path, source=SOURCE) as server:
        words = ["node", str(Path(__file__).parent / "openai_client.mjs"), server.url]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["system: Be brief.|user: Hello", "offline: x", "offline: y", "404"], done.stderr


def test_side_by_side_with_other_calls() -> None:
    @in_loop
    async def check() -> None:
        async with client_of() as client:
            asked = await asyncio.gather(*(
                client.chat.completions.create(model="loud", messages=[{"role": "user", "content": str(n)}]) for n in range(50)
            ))  # fmt: skip
            assert [one.choices[0].message.content for one in asked] == [f"user: {n}" for n in range(50)]

    check()
