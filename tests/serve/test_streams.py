"""Server-sent events: order, ids, going on after a break, clients that go and lag (S-1.2)."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path

import concerto
import httpx2
from concerto.serve.events import EventLog, Lost

from .served import PROGRAM, events_of, in_loop, running, served

EVENTS = {"accept": "text/event-stream"}
STREAMED = """
model M { provider: openai, base: "m" }
pub fn told(q: String) -> Result<Stream, AgentError> { emit("asked", q); M.stream(q) }
"""


@in_loop
async def test_emits_and_the_result_come_as_events() -> None:
    async with served() as (client, _):
        answer = await client.post("/call/tell", json={"count": 3}, headers=EVENTS)
        assert answer.headers["content-type"].startswith("text/event-stream")
        rows = events_of(answer.text)
        assert [row[1:] for row in rows] == [
            *(("emit", f'{{"channel":"n","payload":{n}}}') for n in range(3)), ("result", "3"),
        ]  # fmt: skip
        call = answer.headers["concerto-call"]
        assert [row[0] for row in rows] == [f"{call}-{n}" for n in range(1, 5)] and call == answer.headers["x-request-id"]
        failed = await client.post("/call/crash", json={"secret": "hidden"}, headers=EVENTS)
        ((_, kind, data),) = events_of(failed.text)
        assert kind == "error" and json.loads(data)["error"]["code"] == "P004" and "hidden" not in data
        refused = await client.post("/call/hello", json={"name": 1}, headers=EVENTS)
        assert json.loads(events_of(refused.text)[0][2])["error"]["code"] == "arguments"


@in_loop
async def test_the_text_of_a_stream_comes_in_chunks() -> None:
    replies = [{"chunks": ["Good ", "day"]}, {"chunks": ["Bye", "."]}, {"error": "server"}]
    async with served(STREAMED, offline_script=replies) as (client, _):
        answer = await client.post("/call/told", json={"q": "x"}, headers=EVENTS)
        assert [row[1:] for row in events_of(answer.text)] == [
            ("emit", '{"channel":"asked","payload":"x"}'), ("text", '{"text":"Good "}'), ("text", '{"text":"day"}'),
            ("result", '"Good day"'),
        ]  # fmt: skip
    # Each call has a session of its own, and so the script from its beginning.
    async with served(STREAMED, offline_script=replies[1:]) as (client, _):
        assert (await client.post("/call/told", json={"q": "x"})).json() == "Bye."


@in_loop
async def test_a_stream_goes_on_behind_the_last_event() -> None:
    async with served() as (client, _):
        first = await client.post("/call/tell", json={"count": 5}, headers=EVENTS)
        call = first.headers["concerto-call"]
        again = await client.post("/call/tell", json={}, headers={**EVENTS, "last-event-id": f"{call}-4"})
        assert events_of(again.text) == events_of(first.text)[4:]
        whole = await client.get(f"/calls/{call}/events")
        assert whole.text == first.text
        for last, status in ((f"{call}-99", 410), ("nonsense", 400), (f"{'0' * 32}-1", 404), (f"{call}-1x", 400)):
            refused = await client.post("/call/tell", json={}, headers={**EVENTS, "last-event-id": last})
            assert refused.status_code == status, (last, refused.text)


@in_loop
async def test_what_is_not_kept_is_gone_and_says_so() -> None:
    async with served(buffer_bytes=1024, tokens={"a": "a" * 16, "b": "b" * 16}) as (client, _):
        mine, others = ({"authorization": f"Bearer {letter * 16}"} for letter in "ab")
        begun = await client.post("/call/tell", json={"count": 500}, headers={**EVENTS, **mine})
        call = begun.headers["concerto-call"]
        gone = await client.get(f"/calls/{call}/events", headers={**mine, "last-event-id": f"{call}-1"})
        assert gone.status_code == 410
        kept = await client.get(f"/calls/{call}/events", headers={**mine, "last-event-id": f"{call}-500"})
        assert [row[1] for row in events_of(kept.text)] == ["result"]
        assert (await client.get(f"/calls/{call}/events", headers=others)).status_code == 404


@in_loop
async def test_a_log_keeps_the_newest() -> None:
    log = EventLog(100)
    for number in range(50):
        log.add("emit", f"{number:010}")
    assert log.first == 1  # readers have had no turn yet
    await asyncio.sleep(0)
    assert [event.number for event in log.after(40)] == list(range(41, 51)) and log.first == 41
    try:
        log.after(20)
    except Lost:
        return
    raise AssertionError("events that are not kept were given")


@in_loop
async def test_a_log_counts_bytes() -> None:
    log = EventLog(100)
    for _ in range(10):
        log.add("text", "é" * 25)
    await asyncio.sleep(0)
    assert (log.first, log.bytes) == (9, 100)


@in_loop
async def test_a_client_that_goes_cancels_its_call() -> None:
    """By the disconnection that the server tells of; with an Idempotency-Key the call goes on, and the answer is there later."""
    async with served() as (client, app):

        async def left(headers: list[tuple[bytes, bytes]]) -> None:
            sent = iter([{"type": "http.request", "body": b'{"ms": 400}', "more_body": False}])

            async def receive() -> object:
                part = next(sent, None)
                if part is None:
                    await asyncio.sleep(0.1)
                return part or {"type": "http.disconnect"}

            async def send(message: object) -> None:
                pass

            scope = {
                "type": "http", "method": "POST", "path": "/call/wait", "raw_path": b"/call/wait", "query_string": b"",
                "headers": [(b"content-type", b"application/json"), (b"host", b"testserver"), *headers], "root_path": "",
                "scheme": "http", "http_version": "1.1", "client": None, "server": None, "asgi": {"version": "3.0"},
            }  # fmt: skip
            await app(scope, receive, send)

        await left([])
        while app.admission.running:
            await asyncio.sleep(0.01)
        assert app.calls.known == {}
        assert 'status="499"' in (await client.get("/metrics")).text
        await left([(b"idempotency-key", b"one")])
        assert app.admission.running == 1
        answer = await client.post("/call/wait", json={"ms": 400}, headers={"idempotency-key": "one"})
        assert answer.json() == "waited" and answer.headers["idempotent-replayed"] == "true"


def test_streams_of_clients_that_go_away(tmp_path: Path) -> None:
    """A reader that comes again in time finds the call; without one it is cancelled."""
    with running(tmp_path, "--linger", "1") as server, httpx2.Client(base_url=server.url, timeout=30) as client:
        with client.stream("POST", "/call/wait", json={"ms": 900}, headers=EVENTS) as stream:
            call = stream.headers["concerto-call"]
            next(stream.iter_lines())
        again = client.get(f"/calls/{call}/events", headers={"last-event-id": f"{call}-1"})
        assert [row[1] for row in events_of(again.text)] == ["emit", "result"]
        with client.stream("POST", "/call/wait", json={"ms": 60_000}, headers=EVENTS) as stream:
            call = stream.headers["concerto-call"]
            next(stream.iter_lines())
        deadline = time.monotonic() + 30
        while "concerto_running 0.0" not in client.get("/metrics").text:
            assert time.monotonic() < deadline
        ended = events_of(client.get(f"/calls/{call}/events").text)
        assert json.loads(ended[-1][2])["error"]["code"] == "cancelled"
        with client.stream("POST", "/call/wait", json={"ms": 60_000}, headers=EVENTS) as stream:
            call = stream.headers["concerto-call"]
            assert client.delete(f"/calls/{call}").status_code == 204
            assert "cancelled" in "".join(stream.iter_text())


def test_a_slow_reader_is_dropped_by_size(tmp_path: Path) -> None:
    """It reads nothing: the buffer fills, and its connection is cut, however long it would have waited."""
    source = 'pub fn flood(n: Int) -> Int { for _i in 0..n { emit("x", "0123456789".repeat(200)); std::time::sleep(0); } n }'
    with running(tmp_path, source=source) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as lazy:
            lazy.settimeout(10)
            body = b'{"n": 8000}'
            lazy.sendall(
                b"POST /call/flood HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(body), body)
            )
            deadline = time.monotonic() + 60
            with httpx2.Client(base_url=server.url, timeout=30) as client:
                while 'function="flood"' not in client.get("/metrics").text:
                    assert time.monotonic() < deadline
                    time.sleep(0.2)
            got = b""
            try:
                while piece := lazy.recv(1 << 16):
                    got += piece
            except ConnectionResetError:
                pass
        assert 0 < len(got) < 8_000_000 and b"event: result" not in got
        _, log = server.end()
    assert "Traceback" not in log


def test_sessions_of_streams_run_side_by_side() -> None:
    """200 streams at once, each with its own events."""

    @in_loop
    async def check() -> None:
        async with served(PROGRAM, budgets=concerto.Budgets(seconds=60)) as (client, app):
            texts = await asyncio.gather(*(client.post("/call/tell", json={"count": n % 7}, headers=EVENTS) for n in range(200)))
            assert [len(events_of(one.text)) for one in texts] == [n % 7 + 1 for n in range(200)]
            assert app.admission.running == 0

    check()
