"""Limits, tokens, the pages about the server (S-1.7)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from concerto.serve.admission import Admission
from concerto.serve.calls import Wanted
from concerto.serve.problems import Problem
from concerto.serve.settings import Serving
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from .served import in_loop, served

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b'{"value": NaN}', JSON, 400, "NaN"),
        (b'{"value": ' + b"[" * 5000 + b"]" * 5000 + b"}", JSON, 400, "deeper"),
        (b'{"value": 1, "value": 2}', JSON, 400, "value"),
        (b'{"value": 1e999}', JSON, 400, "no JSON"),
        (b'{"value": "\xff"}', JSON, 400, "no UTF-8 at byte 11"),
        (b'{"value": ', JSON, 400, "no JSON"),
        (b"value=1", {"content-type": "application/x-www-form-urlencoded"}, 415, "application/json"),
        (b'{"value": 1}', {"content-type": "text/plain"}, 415, "application/json"),
        (b'{"value": 1}', {"content-type": "application/json; charset=utf-16"}, 415, "UTF-8"),
        (b'{"value": 1}', {"content-type": "application/json; odata=none; charset=latin-1"}, 415, "UTF-8"),
        (b'{"value": "' + b"x" * 2000 + b'"}', JSON, 413, "at most 1000 bytes"),
        (b'{"value": 1}', {**JSON, "content-length": "99999999999999999999"}, 413, "at most"),
        (b'{"value": 1}', {**JSON, "concerto-session": ""}, 400, "1 to 200 printable"),
        (b'{"value": 1}', {**JSON, "concerto-session": "x" * 201}, 400, "1 to 200 printable"),
        (b'{"value": 1}', {**JSON, "idempotency-key": "x" * 201}, 400, "1 to 200 printable"),
        (b'{"value": 1}', {**JSON, "origin": "https://evil.example"}, 403, "other sites"),
        (b'{"value": 1}', {**JSON, "host": "evil.example"}, 403, "Host"),
    ],
)  # fmt: skip
def test_bad_requests_get_clear_errors(body: bytes, headers: dict[str, str], status: int, says: str) -> None:
    @in_loop
    async def check() -> None:
        most = 1000 if status == 413 else 1 << 20
        async with served(body_bytes=most, hosts=("testserver",)) as (client, app):
            answer = await client.post("/call/echo", content=body, headers=headers)
            assert answer.status_code == status and says in answer.json()["error"]["message"], answer.text
            assert app.admission.running == 0

    check()


@in_loop
async def test_parameters_of_the_type_of_a_body_do_no_harm() -> None:
    async with served() as (client, _):
        for kind in ('application/json; charset="UTF-8"; v=1', "application/json;odata=none", "application/problem+json ; a=b"):
            answer = await client.post("/call/echo", content=b'{"value": 1}', headers={"content-type": kind})
            assert answer.json() == 1, answer.text


@in_loop
async def test_broken_characters_become_replacements() -> None:
    """As all text from outside (O-0.6): a lone surrogate is no crash of a store, a log or an answer."""
    async with served() as (client, _):
        answer = await client.post("/call/echo", content=rb'{"value": {"\ud800": "a\udfff"}}', headers=JSON)
        assert answer.json() == {"�": "a�"}


@in_loop
async def test_a_body_without_a_length_is_bounded() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b'{"value": 1}'

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"value"'
        await asyncio.sleep(5)

    async with served(body_bytes=500, body_seconds=0.2) as (client, _):
        assert (await client.post("/call/echo", content=pieces(), headers=JSON)).status_code == 413
        assert (await client.post("/call/echo", content=slow(), headers=JSON)).status_code == 408


@in_loop
async def test_tokens_and_a_function_of_the_host() -> None:
    async def authorize(request: Any) -> Any:
        name = request.headers.get("x-name")
        return {"name": name, "tenant": "t1"} if name else None

    async with served(tokens={"me": "0123456789abcdef"}, authorize=authorize) as (client, _):
        for headers, status in (
            ({}, 401), ({"authorization": "Bearer wrong"}, 401), ({"authorization": "Basic 0123456789abcdef"}, 401),
            ({"authorization": "Bearer 0123456789abcdef"}, 200), ({"authorization": "bearer  0123456789abcdef "}, 200),
            ({"x-name": "you"}, 200),
        ):  # fmt: skip
            answer = await client.post("/call/hello", json={"name": "x"}, headers=headers)
            assert answer.status_code == status, headers
            if status == 401:
                assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in ("/metrics", "/openapi.json", "/questions", "/functions"):
            assert (await client.get(path)).status_code == 401
        for path in ("/healthz", "/readyz", "/"):
            assert (await client.get(path)).status_code == 200


@in_loop
async def test_calls_wait_for_a_place_and_not_for_ever() -> None:
    """One place, one that waits: the third is refused at once, the second when its time is over."""
    async with served(concurrent=1, queue=1, queue_seconds=0.3) as (client, app):
        first = asyncio.create_task(client.post("/call/wait", json={"ms": 1000}))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(client.post("/call/hello", json={"name": "x"}))
        await asyncio.sleep(0.05)
        third = await client.post("/call/hello", json={"name": "x"})
        assert third.status_code == 503 and int(third.headers["retry-after"]) >= 1
        assert (await client.get("/readyz")).status_code == 503
        began = time.monotonic()
        assert (await second).status_code == 503 and time.monotonic() - began < 0.9
        assert (await first).json() == "waited"
        assert (await client.post("/call/hello", json={"name": "x"})).status_code == 200
        assert app.admission.running == 0 and not app.admission.waiting


def test_places_are_given_in_order_and_never_lost() -> None:
    @in_loop
    async def check() -> None:
        admission = Admission(Serving(concurrent=2, queue=50, queue_seconds=5))
        order: list[int] = []

        async def call(number: int) -> None:
            await admission.enter()
            order.append(number)
            await asyncio.sleep(0.001)
            admission.leave()

        tasks = [asyncio.create_task(call(number)) for number in range(40)]
        await asyncio.sleep(0)
        for task in tasks[10:20]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [*range(10), *range(20, 40)] and admission.running == 0

    check()


@in_loop
async def test_a_call_that_is_cancelled_before_it_began_gives_back_its_place() -> None:
    async with served() as (_, app):
        for at_the_end in (False, True):
            call = await app.calls.begin(f"c{at_the_end}", Wanted("hello", {"name": "a"}, "anyone"), streams=False)
            call.cancel()
            if at_the_end:
                await app.calls.aclose()
            with pytest.raises(Problem, match="cancelled"):
                await asyncio.wait_for(call.ending, 5)
            assert app.admission.running == 0 and app.calls.known == {}


def test_a_rate_is_of_each_caller() -> None:
    now = 0.0
    admission = Admission(Serving(rate=2), clock=lambda: now)

    def admitted(caller: str) -> int:
        count = 0
        try:
            while count < 100:
                admission.require_rate(caller)
                count += 1
        except Problem as refused:
            assert refused.status == 429 and refused.headers["Retry-After"] == "1"
        return count

    assert (admitted("a"), admitted("a"), admitted("b")) == (4, 0, 4)
    now = 1.0
    assert admitted("a") == 2


def test_a_call_after_the_time_that_is_named_is_let_in() -> None:
    now = 0.0
    admission = Admission(Serving(rate=0.4), clock=lambda: now)
    admission.require_rate("a")
    with pytest.raises(Problem) as refused:
        admission.require_rate("a")
    now += int(refused.value.headers["Retry-After"])
    admission.require_rate("a")


@in_loop
async def test_budgets_of_the_day_outlive_the_process(tmp_path: Path | None = None) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.db"
        tight = 'model M { provider: openai, base: "m", max_tokens: 10 }\npub fn ask() -> Result<String> { M.execute("a")?.text }'
        options: dict[str, Any] = {
            "offline_script": [{"text": "yes", "tokens_in": 50, "tokens_out": 10}], "day_tokens": 150, "state": state,
            "tokens": {"a": "a" * 16, "b": "b" * 16},
        }  # fmt: skip
        mine, others = ({"authorization": f"Bearer {letter * 16}"} for letter in "ab")
        async with served(tight, **options) as (client, _):
            given = [(await client.post("/call/ask", json={}, headers=mine)).status_code for _ in range(2)]
        async with served(tight, **options) as (client, _):
            given += [(await client.post("/call/ask", json={}, headers=mine)).status_code for _ in range(3)]
            assert given == [200, 200, 200, 429, 429]
            assert (await client.post("/call/ask", json={}, headers=others)).status_code == 200
        assert state.stat().st_mode & 0o777 == 0o600


@in_loop
async def test_metrics_are_openmetrics() -> None:
    async with served(offline_script=[{"text": "hello", "tokens_in": 3, "tokens_out": 2}]) as (client, _):
        await client.post("/call/ask", json={"question": "x"})
        await client.post("/call/crash", json={"secret": "x"})
        await client.post("/call/none", json={})
        page = await client.get("/metrics")
        assert page.headers["content-type"].startswith("application/openmetrics-text")
        samples = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(page.text)
            for sample in family.samples
        }
        assert samples["concerto_calls_total", ("function", "ask"), ("status", "200")] == 1
        assert samples["concerto_calls_total", ("function", "crash"), ("status", "500")] == 1
        assert samples["concerto_tokens_total", ("direction", "in")] == 3
        assert samples["concerto_tokens_total", ("direction", "out")] == 2
        assert samples["concerto_model_calls_total",] == 1 and samples["concerto_refused_total", ("status", "404")] == 1
        assert samples["concerto_call_seconds_count", ("function", "ask")] == 1 and samples["concerto_queue",] == 0


@in_loop
async def test_the_log_has_no_contents() -> None:
    """Nothing that a client chose is in a line: paths, queries, names and values are not, functions and callers are."""
    lines: list[dict[str, Any]] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.__dict__["concerto"])

    logger, handler = logging.getLogger("concerto.access"), Kept()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        async with served(tokens={"me": "0123456789abcdef"}) as (client, _):
            mine = {"authorization": "Bearer 0123456789abcdef", "concerto-session": "hidden", "idempotency-key": "hidden"}
            await client.post("/call/hello?q=hidden", json={"name": "hidden"}, headers=mine)
            await client.post("/call/hidden", json={"name": "hidden"}, headers=mine)
            await client.get("/hidden", headers={"authorization": "Bearer hidden"})
    finally:
        logger.removeHandler(handler)
    assert "hidden" not in json.dumps(lines) and "0123456789" not in json.dumps(lines)
    assert [(line.get("caller"), line.get("function"), line["status"]) for line in lines] == [
        ("me", "hello", 200), ("me", None, 404), (None, None, 404),
    ]  # fmt: skip
