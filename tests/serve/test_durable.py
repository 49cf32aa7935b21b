"""Durable calls: they go on in another process and without a client, with their questions (S-1.10)."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import concerto
import httpx2
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.applications import Starlette
from starlette.routing import Mount

from ..journal.durable_programs import ModelServer
from .served import in_loop, running, served

PROGRAM = """
connect box { provider: "custom", base_url: "http://127.0.0.1:PORT/v1" }
model Clerk { provider: box, base: "m" }
schema Order { item: String, pieces: Int = 1 }
channel approve: String -> Bool;
pub fn order(item: String) -> Result<String> {
    emit("begun", item);
    let offer = Clerk.execute("offer for ${item}")?.text;
    if !approve(offer)? { throw ToolError::new("refused"); }
    emit("approved", item);
    let sent = Clerk.execute("send ${item}")?.text;
    "${item}: ${offer}, ${sent}"
}
pub fn slow(item: String) -> Result<String> {
    let first = Clerk.execute("first ${item}")?.text;
    emit("first", first);
    std::time::sleep(3000);
    "${first}, ${Clerk.execute("second ${item}")?.text}"
}
fn wish(what: String) -> Bool { approve(what).unwrap_or(false) }
pub fn both() -> Array<Bool> { await [wish("one"), wish("two")] }
pub fn tell(order: Order) -> String { "${order.pieces} ${order.item}" }
pub fn crash(n: Int) -> Int { [1][n] }
"""
NAMES = ("order", "slow", "both", "tell", "crash")


def source(server: ModelServer) -> str:
    return PROGRAM.replace("PORT", str(server.port))


def options(folder: Path, **more: Any) -> dict[str, Any]:
    return {"offline": False, "durable": NAMES, "store": folder / "runs.db", **more}


def events_of(text: str) -> list[tuple[str, str, Any]]:
    """Id, kind and data of each event."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


async def question(client: Any) -> Any:
    """The first open question, once there is one."""
    for _ in range(400):
        found = (await client.get("/questions")).json()
        if found:
            return found[0]
        await asyncio.sleep(0.02)
    raise AssertionError("no question")


async def ended(client: Any, ident: str) -> Any:
    for _ in range(600):
        answer = await client.get(f"/calls/{ident}")
        if answer.status_code != 202:
            return answer
        await asyncio.sleep(0.02)
    raise AssertionError("it does not end")


@pytest.fixture
def models() -> Any:
    server = ModelServer()
    yield server
    server.close()


def test_a_call_waits_for_a_person_without_a_process(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/order", json={"item": "lamp"}, headers={"Prefer": "respond-async"})
            ident = begun.headers["concerto-call"]
            assert begun.status_code == 202 and begun.headers["location"] == f"/calls/{ident}"
            assert begun.json() == {"call": ident, "state": "running"}
            asked = await question(client)
            assert (asked["call"], asked["function"], asked["channel"]) == (ident, "order", "approve")
            assert asked["answer"] == {"type": "boolean"}
        asks = len(models.seen)
        async with served(source(models), **options(tmp_path)) as (client, _):
            assert (await client.get(f"/calls/{ident}")).json() == {"call": ident, "state": "waiting"}
            again = await question(client)
            assert again == {**asked, "since": again["since"]}
            assert (await client.post(f"/questions/{again['key']}", json=5)).status_code == 400
            assert (await client.post(f"/questions/{again['key']}", json=True)).status_code == 204
            assert (await client.post(f"/questions/{again['key']}", json=True)).status_code == 404
            answer = await ended(client, ident)
            assert answer.status_code == 200 and answer.json().startswith("lamp: ")
            assert len(models.seen) == asks + 1  # the offer was not asked for again
            assert (await client.get("/questions")).json() == []
        async with served(source(models), **options(tmp_path)) as (client, _):
            assert (await client.get(f"/calls/{ident}")).json() == answer.json()
            told = events_of((await client.get(f"/calls/{ident}/events")).text)
            assert [kind for _, kind, _ in told] == ["emit", "emit", "question", "emit", "result"]
            assert [number for number, _, _ in told] == [f"{ident}-{n}" for n in range(1, 6)]
            rest = await client.get(f"/calls/{ident}/events", headers={"Last-Event-ID": f"{ident}-3"})
            assert events_of(rest.text) == told[3:]
            assert len(models.seen) == asks + 1

    asyncio.run(test())


def test_a_client_that_waits_gets_the_answer_of_a_question(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            waiting = asyncio.create_task(client.post("/call/order", json={"item": "lamp"}))
            asked = await question(client)
            await client.post(f"/questions/{asked['key']}", json=False)
            refused = await waiting
            assert refused.status_code == 422 and refused.json()["error"]["value"]["message"] == "refused"
            assert (await client.get(f"/calls/{asked['call']}")).json() == refused.json()

    asyncio.run(test())


def test_questions_of_tasks_side_by_side_are_asked_one_by_one(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/both", json={}, headers={"Prefer": "respond-async"})
            first = await question(client)
        async with served(source(models), **options(tmp_path)) as (client, _):
            await client.post(f"/questions/{first['key']}", json=False)
            second = await question(client)
            assert {first["payload"], second["payload"]} == {"one", "two"}
            await client.post(f"/questions/{second['key']}", json=True)
            answers = dict(zip((first["payload"], second["payload"]), (False, True), strict=True))
            assert (await ended(client, begun.json()["call"])).json() == [answers["one"], answers["two"]]

    asyncio.run(test())


def test_a_stream_goes_on_behind_the_answer(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            headers = {"Accept": "text/event-stream"}
            waiting = asyncio.create_task(client.post("/call/order", json={"item": "lamp"}, headers=headers))
            asked = await question(client)
            await client.post(f"/questions/{asked['key']}", json=True)
            told = events_of((await waiting).text)
            assert [kind for _, kind, _ in told] == ["emit", "emit", "question", "emit", "result"]
            assert told[2][2]["key"] == asked["key"]

    asyncio.run(test())


def test_another_process_takes_over_what_a_killed_one_was_doing(models: ModelServer, tmp_path: Path) -> None:
    flags = ["--store", str(tmp_path / "runs.db"), "--durable", "slow"]
    text = source(models)
    with running(tmp_path, *flags, source=text, online=True) as first, httpx2.Client(timeout=30) as client:
        begun = client.post(f"{first.url}/call/slow", json={"item": "lamp"}, headers={"Prefer": "respond-async"})
        ident = begun.json()["call"]
        stream = client.stream("GET", f"{first.url}/calls/{ident}/events")
        with stream as events:
            assert next(line for line in events.iter_lines() if line.startswith("event: ")) == "event: emit"
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
    asks = list(models.seen)
    with running(tmp_path, *flags, source=text, online=True) as second, httpx2.Client(timeout=30) as client:
        rest = client.get(f"{second.url}/calls/{ident}/events", headers={"Last-Event-ID": f"{ident}-1"})
        ((number, kind, data),) = events_of(rest.text)
        assert (number, kind) == (f"{ident}-2", "result")
        assert client.get(f"{second.url}/calls/{ident}").json() == data
    assert models.seen[: len(asks)] == asks and len(models.seen) == len(asks) + 1


def test_who_waits_when_the_server_ends_gets_the_place_of_the_answer(models: ModelServer, tmp_path: Path) -> None:
    flags = ["--store", str(tmp_path / "runs.db"), "--durable", "order", "--drain", "1"]
    with running(tmp_path, *flags, source=source(models), online=True) as server, httpx2.Client(timeout=30) as client:
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(client.post, f"{server.url}/call/order", json={"item": "lamp"})
            while not httpx2.get(f"{server.url}/questions").json():
                time.sleep(0.05)
            code, told = server.end()
            answer = waiting.result()
        assert (code, answer.status_code, answer.json()["state"]) == (0, 202, "waiting"), (answer.text, told)
        assert answer.headers["location"] == f"/calls/{answer.json()['call']}" and "Exception" not in told


def test_nobody_has_to_ask_for_a_call_that_was_left(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/slow", json={"item": "lamp"}, headers={"Prefer": "respond-async"})
            ident = begun.json()["call"]
            while not models.seen:
                await asyncio.sleep(0.02)
        async with served(source(models), **options(tmp_path)) as (client, app):
            await client.get("/healthz")
            while ident not in app.calls.known:
                await asyncio.sleep(0.02)
            assert (await ended(client, ident)).status_code == 200

    asyncio.run(test())


def test_an_answer_given_to_another_process_reaches_the_client_that_waits(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            served(source(models), **options(tmp_path)) as (here, _),
            served(source(models), **options(tmp_path)) as (there, _),
        ):
            waiting = asyncio.create_task(here.post("/call/order", json={"item": "lamp"}))
            asked = await question(there)
            await there.post(f"/questions/{asked['key']}", json=True)
            answer = await waiting
            assert answer.status_code == 200
            assert (await there.get(f"/calls/{asked['call']}")).json() == answer.json()
        assert len(models.seen) == 2

    asyncio.run(test())


def test_a_key_leads_to_the_first_call_in_every_process(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        key = {"Idempotency-Key": "order-7"}
        async with served(source(models), **options(tmp_path)) as (client, _):
            first = await client.post("/call/tell", json={"order": {"item": "lamp"}}, headers=key)
            assert first.json() == "1 lamp" and "idempotent-replayed" not in first.headers
            crash = await client.post("/call/crash", json={"n": 7}, headers={"Idempotency-Key": "c"})
            assert crash.status_code == 500
        async with served(source(models), **options(tmp_path)) as (client, _):
            again = await client.post("/call/tell", json={"order": {"item": "lamp"}}, headers=key)
            assert again.json() == "1 lamp" and again.headers["idempotent-replayed"] == "true"
            assert again.headers["concerto-call"] == first.headers["concerto-call"]
            other = await client.post("/call/tell", json={"order": {"item": "bed"}}, headers=key)
            assert other.status_code == 409
            panic = await client.post("/call/crash", json={"n": 7}, headers={"Idempotency-Key": "c"})
            assert (panic.status_code, panic.json()["error"]["code"]) == (500, crash.json()["error"]["code"])

    asyncio.run(test())


def test_an_answer_that_does_not_fit_is_forgotten(models: ModelServer, tmp_path: Path) -> None:
    """Nobody looks at one that comes past the server; the question is asked again."""

    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, app):
            waiting = asyncio.create_task(client.post("/call/order", json={"item": "lamp"}))
            asked = await question(client)
            store = app.durable.store.store
            key = store.run(asked["call"]).waits[0]["key"]
            store.answer(asked["call"], key, {"json": "yes"})
            while store.answers(asked["call"]):
                await asyncio.sleep(0.02)
            assert (await question(client))["key"] == asked["key"]
            assert (await client.post(f"/questions/{asked['key']}", json=True)).status_code == 204
            assert (await waiting).status_code == 200

    asyncio.run(test())


def test_a_key_at_another_process_waits_for_the_call(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            served(source(models), **options(tmp_path)) as (here, _),
            served(source(models), **options(tmp_path)) as (there, app),
        ):
            head = {"Idempotency-Key": "k"}
            first = asyncio.create_task(here.post("/call/slow", json={"item": "a"}, headers=head))
            await asyncio.sleep(0.5)
            later = await there.post("/call/slow", json={"item": "a"}, headers={**head, "Prefer": "respond-async"})
            assert (later.status_code, later.json()["state"]) == (202, "running")
            assert later.headers["location"] == f"/calls/{later.json()['call']}"
            second = await there.post("/call/slow", json={"item": "a"}, headers=head)
            told = await there.get(f"/calls/{later.json()['call']}/events")
            assert (await first).json() == second.json() and [kind for _, kind, _ in events_of(told.text)] == ["emit", "result"]
            over = await there.post("/call/slow", json={"item": "a"}, headers={**head, "Prefer": "respond-async"})
            assert (over.status_code, over.json()) == (200, second.json())
        assert len(models.seen) == 2

    asyncio.run(test())


def test_two_requests_at_once_with_one_key_are_one_call(models: ModelServer, tmp_path: Path) -> None:
    """Both look for the key before either has stored its call: they wait for the only place."""

    async def test() -> None:
        async with served(source(models), **options(tmp_path, concurrent=1)) as (client, _):
            first = asyncio.create_task(client.post("/call/slow", json={"item": "a"}))
            await asyncio.sleep(0.2)
            both = (client.post("/call/tell", json={"order": {"item": "b"}}, headers={"Idempotency-Key": "k"}) for _ in range(2))
            answers = await asyncio.gather(*both)
            assert [answer.json() for answer in answers] == ["1 b", "1 b"]
            assert answers[0].headers["concerto-call"] == answers[1].headers["concerto-call"]
            assert [answer.headers.get("idempotent-replayed") for answer in answers].count("true") == 1
            await first

    asyncio.run(test())


def test_what_was_used_before_counts_once(models: ModelServer, tmp_path: Path) -> None:
    async def counted(client: Any) -> list[str]:
        page = (await client.get("/metrics")).text
        names = ("concerto_model_calls_total", 'concerto_tokens_total{direction="in"}')
        return [line.rpartition(" ")[2] for line in page.splitlines() if line.startswith(names)]

    async def test() -> None:
        state = tmp_path / "state.db"
        async with served(source(models), **options(tmp_path, state=state, day_tokens=10_000)) as (client, _):
            await client.post("/call/order", json={"item": "a"}, headers={"Prefer": "respond-async"})
            asked = await question(client)
            await asyncio.sleep(0.2)
            assert sorted(await counted(client)) == ["1.0", "3.0"]
        async with served(source(models), **options(tmp_path, state=state, day_tokens=10_000)) as (client, app):
            await client.post(f"/questions/{asked['key']}", json=True)
            await ended(client, asked["call"])
            assert sorted(await counted(client)) == ["1.0", "3.0"]
            today = time.strftime("%Y-%m-%d", time.gmtime())
            assert app.state.used(today, "anyone")[0] == 2 * (3 + 2)

    asyncio.run(test())


def test_who_waits_hears_that_another_process_has_cancelled(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            served(source(models), **options(tmp_path)) as (here, _),
            served(source(models), **options(tmp_path)) as (there, _),
        ):
            first = asyncio.create_task(here.post("/call/slow", json={"item": "a"}, headers={"Idempotency-Key": "k"}))
            await asyncio.sleep(0.5)
            head = {"Idempotency-Key": "k", "Prefer": "respond-async"}
            begun = await there.post("/call/slow", json={"item": "a"}, headers=head)
            assert (await there.delete(f"/calls/{begun.json()['call']}")).status_code == 204
            ended_here = await first
            assert (ended_here.status_code, ended_here.json()["error"]["code"]) == (499, "cancelled")
            for client in (here, there):
                assert (await client.get(f"/calls/{begun.json()['call']}")).status_code == 499

    asyncio.run(test())


def test_a_cancelled_call_is_over_everywhere(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            waiting = asyncio.create_task(client.post("/call/order", json={"item": "lamp"}))
            asked = await question(client)
            assert (await client.delete(f"/calls/{asked['call']}")).status_code == 204
            assert (await waiting).status_code == 499
            assert (await client.get("/questions")).json() == []
            running = (await client.post("/call/slow", json={"item": "x"}, headers={"Prefer": "respond-async"})).json()["call"]
            await asyncio.sleep(0.2)
            assert (await client.delete(f"/calls/{running}")).status_code == 204
            assert (await ended(client, running)).json()["error"]["code"] == "cancelled"
        async with served(source(models), **options(tmp_path)) as (client, app):
            assert (await client.get(f"/calls/{running}")).json()["error"]["code"] == "cancelled"
            assert app.durable.store.left() == []

    asyncio.run(test())


def test_what_does_not_fit_is_refused_and_not_stored(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        tokens = {"ann": "a" * 20, "bob": "b" * 20}
        async with served(source(models), **options(tmp_path, tokens=tokens)) as (client, app):
            ann, bob = ({"Authorization": f"Bearer {token}"} for token in tokens.values())
            for body in ({"item": 5}, {}, {"item": "a", "more": 1}):
                assert (await client.post("/call/order", json=body, headers=ann)).status_code == 400
            named = await client.post("/call/order", json={"item": "a"}, headers={**ann, "Concerto-Session": "s"})
            assert named.status_code == 400 and "session of its own" in named.json()["error"]["message"]
            assert app.durable.store.store.runs() == []
            begun = await client.post("/call/order", json={"item": "a"}, headers={**ann, "Prefer": "respond-async"})
            ident = begun.json()["call"]
            for method, path in (("GET", f"/calls/{ident}"), ("GET", f"/calls/{ident}/events"), ("DELETE", f"/calls/{ident}")):
                assert (await client.request(method, path, headers=bob)).status_code == 404
            assert (await client.get("/calls/0123456789abcdef", headers=ann)).status_code == 404
            assert (await client.get("/questions", headers=bob)).json() == []

    asyncio.run(test())


def test_a_changed_program_leaves_the_calls_of_the_old_one(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/order", json={"item": "a"}, headers={"Prefer": "respond-async"})
            await question(client)
        async with served(source(models) + "pub fn more() -> Int { 1 }", **options(tmp_path)) as (client, _):
            for path in ("", "/events"):
                refused = await client.get(f"/calls/{begun.json()['call']}{path}")
                assert refused.status_code == 409 and "another version" in refused.json()["error"]["message"]
            assert (await client.get("/questions")).json() == []

    asyncio.run(test())


def test_a_store_that_fails_is_told(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, app):
            done = await client.post("/call/tell", json={"order": {"item": "lamp"}}, headers={"Idempotency-Key": "k"})
            assert done.status_code == 200
            with sqlite3.connect(tmp_path / "runs.db") as store:
                store.execute("DROP TABLE answers")
                store.execute("DROP TABLE runs")
            ident = "0123456789abcdef"
            asked = (("GET", f"/calls/{ident}"), ("DELETE", f"/calls/{ident}"), ("GET", "/questions"), ("POST", "/call/tell"))
            for method, path in asked:
                body = {"order": {"item": "lamp"}} if method == "POST" else None
                failed = await client.request(method, path, json=body)
                assert failed.status_code == 503 and "retry-after" in failed.headers, (path, failed.text)
            assert (await client.post("/call/hello", json={})).status_code == 404

    asyncio.run(test())


def test_a_store_that_takes_nothing_any_more_is_told(models: ModelServer, tmp_path: Path) -> None:
    """It can be read, so the call and its question are there; neither is ended or answered."""

    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/order", json={"item": "lamp"}, headers={"Prefer": "respond-async"})
            ident, asked = begun.headers["concerto-call"], await question(client)
            with sqlite3.connect(tmp_path / "runs.db") as store:
                for table in ("runs", "answers"):
                    for change in ("UPDATE", "INSERT"):
                        store.execute(
                            f"CREATE TRIGGER full_{table}_{change} BEFORE {change} ON {table}"
                            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
                        )
            for method, path in (("DELETE", f"/calls/{ident}"), ("POST", f"/questions/{asked['key']}")):
                failed = await client.request(method, path, json=True if method == "POST" else None)
                assert failed.status_code == 503 and "retry-after" in failed.headers, (path, failed.text)
            with sqlite3.connect(tmp_path / "runs.db") as store:
                for table in ("runs", "answers"):
                    for change in ("UPDATE", "INSERT"):
                        store.execute(f"DROP TRIGGER full_{table}_{change}")
            assert (await client.get(f"/calls/{ident}")).json() == {"call": ident, "state": "waiting"}
            assert (await client.delete(f"/calls/{ident}")).status_code == 204

    asyncio.run(test())


def test_many_ask_for_one_call_that_is_over(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/tell", json={"order": {"item": "lamp"}})
            ident = begun.headers["concerto-call"]
        async with served(source(models), **options(tmp_path, concurrent=1)) as (client, _):
            answers = await asyncio.gather(*(client.get(f"/calls/{ident}/events") for _ in range(8)))
            assert {answer.text for answer in answers} == {answers[0].text} and len(events_of(answers[0].text)) == 1

    asyncio.run(test())


def test_resume_refuses_a_served_call(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> str:
        async with served(source(models), **options(tmp_path)) as (client, _):
            begun = await client.post("/call/order", json={"item": "a"}, headers={"Prefer": "respond-async"})
            await question(client)
            return str(begun.json()["call"])

    ident = asyncio.run(test())
    words = [sys.executable, "-m", "concerto", "resume", ident, "--store", str(tmp_path / "runs.db")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 74 and "is a call of order that a server makes" in done.stderr, done.stderr
    words = [sys.executable, "-m", "concerto", "runs", "list", "--store", str(tmp_path / "runs.db")]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert f"{ident}  waiting" in listed and "order  waits for approve" in listed
    told = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
    assert told[0]["call"] == {"function": "order", "arguments": {"item": "a"}, "caller": "anyone"}
    answer = [*words[:4], "answer", ident, told[0]["waits"][0]["key"], '"yes"', *words[5:]]
    wrong = subprocess.run(answer, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "expected Bool" in wrong.stderr, wrong.stderr
    answer[7] = "true"
    kept = subprocess.run(answer, capture_output=True, text=True, check=True).stdout
    assert kept == "kept; a server with the store goes on\n"
    with pytest.raises(concerto.RecordingError, match="a call of order"):
        concerto.resume(ident, store=tmp_path / "runs.db")


def test_the_description_tells_of_durable_calls(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(source(models), **options(tmp_path)) as (client, _):
            document = (await client.get("/openapi.json")).json()
            assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
            assert "202" in document["paths"]["/call/order"]["post"]["responses"]
            assert set(document["paths"]["/calls/{id}"]) == {"parameters", "get", "delete"}

    asyncio.run(test())


def test_the_place_of_a_mounted_call_leads_to_it(models: ModelServer, tmp_path: Path) -> None:
    async def test() -> None:
        inner = concerto.asgi(concerto.compile(source(models)), **options(tmp_path))
        outer = Starlette(routes=[Mount("/desk", inner)])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer), base_url="http://testserver") as client:
            begun = await client.post("/desk/call/order", json={"item": "a"}, headers={"Prefer": "respond-async"})
            assert (await client.get(begun.headers["location"])).status_code == 202
        await inner.aclose()

    asyncio.run(test())


@in_loop
async def test_settings_that_do_not_fit_are_refused() -> None:
    program = concerto.compile("pub fn f() -> Int { 1 }")
    for settings, word in (
        ({"durable": ("f",)}, "name the run store"), ({"store": "x.db"}, "name the functions"),
        ({"durable": ("g",), "store": "x.db"}, "no public function 'g'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            concerto.asgi(program, **settings)
    with pytest.raises(OSError, match="no-such-folder"):
        concerto.asgi(program, durable=("f",), store="/no-such-folder/x.db")
