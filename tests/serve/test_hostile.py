"""Hostile clients against a real server: clear errors, nothing lost, nothing leaked, memory flat (S-1.7)."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import concerto
import httpx2
import pytest
import uvicorn
from concerto.serve import server as served_by
from hypothesis import given, settings
from hypothesis import strategies as st

from .served import in_loop, program, running, served

REQUESTS = 10_000
METHODS = (b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"\x00", b"PO ST", b"post")
PATHS = (b"/call/hello", b"/call/echo", b"/call/../../etc/passwd", b"/call/%00", b"/calls/x/events", b"/questions/%2e%2e", b"*",
         b"/ag-ui/hello", b"/a2a", b"/.well-known/agent-card.json",
         b"http://evil/call/hello", b"/" + b"a" * 3000, b"/call/\xff", b"/metrics?x=%0d%0aSet-Cookie:%20a=b")  # fmt: skip
HEADERS = (b"content-type: application/json", b"content-length: 5", b"content-length: -1", b"content-length: 9" * 3,
           b"transfer-encoding: chunked", b"transfer-encoding: chunked, chunked", b"x: " + b"y" * 5000, b"\xff\xfe: 1",
           b"no colon",
           b"host: a\x00b", b"accept: text/event-stream", b"last-event-id: " + b"9" * 50, b"expect: 100-continue",
           b"authorization: Bearer \xff",
           b"host: 127.0.0.1", b"host: localhost", b"concerto-session: \x7f", b"upgrade: websocket\r\nconnection: upgrade",
)  # fmt: skip
BODIES = (b"", b"{", b"[" * 3000, b'{"name": NaN}', b'{"name": "\xff"}', b"\x00" * 100, b'{"name": "x"}',
          b"5\r\nhello\r\n0\r\n\r\n",
          b"zz\r\n", b'{"name": {"a": [1, {}]}}')  # fmt: skip


def malformed(chance: random.Random) -> bytes:
    lines = [b"%s %s HTTP/%s" % (chance.choice(METHODS), chance.choice(PATHS), chance.choice((b"1.1", b"1.0", b"9.9", b"")))]
    lines += chance.sample(HEADERS, chance.randrange(5))
    return b"\r\n".join([*lines, b"", chance.choice(BODIES)])


def attacked(port: int, chance: random.Random, *, waits: bool) -> bytes:
    """Send a malformed request on a connection of its own; with `waits` return the status that came for it, else b""."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(malformed(chance))
        if waits:
            connection.settimeout(0.2)
            with suppress(TimeoutError, ConnectionResetError):
                return connection.recv(12)[9:12]
    return b""


def memory_of(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here to measure memory by")
def test_ten_thousand_malformed_requests(tmp_path: Path) -> None:
    """Each on a connection of its own, many of them left in the middle. A right call between them is answered as ever."""
    chance = random.Random(20261127)
    with running(tmp_path, "--quiet") as server:
        with httpx2.Client(base_url=server.url, timeout=30) as client:
            pid, sizes, statuses = server.process.pid, [], set()
            for number in range(REQUESTS):
                statuses.add(attacked(server.port, chance, waits=number % 10 == 0))
                if number % 1000 == 999:
                    assert client.post("/call/hello", json={"name": "x"}).json() == "hello x"
                    sizes.append(memory_of(pid))
            assert b"400" in statuses and b"500" not in statuses, statuses
            assert sizes[-1] - sizes[2] < 8_000, sizes
            page = client.get("/metrics").text
            assert 'status="500"' not in page and "concerto_running 0.0" in page
        code, log = server.end()
    assert code == 0 and "Traceback" not in log and "internal" not in log, log[-3000:]


@contextmanager
def in_thread(app: concerto.serve.app.Application) -> Iterator[int]:
    """Run a server in a thread of this process; yield its port."""
    listener = served_by.listen("127.0.0.1", 0)
    server = uvicorn.Server(served_by.config_of(app, 1, 1))
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def test_slow_heads_and_huge_ones_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty connections that send a byte now and then are gone after the time for a head, and others are served meanwhile."""
    monkeypatch.setattr(served_by, "HEADER_SECONDS", 1.0)
    with in_thread(concerto.asgi(program(), offline=True)) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(50)]
        ended, began = 0, time.monotonic()
        for connection in slow:
            connection.sendall(b"POST /call/hello HTTP/1.1\r\nhost: x\r\n")
        assert httpx2.post(f"http://127.0.0.1:{port}/call/hello", json={"name": "x"}).json() == "hello x"
        for connection in slow:
            try:
                while time.monotonic() - began < 10:
                    connection.sendall(b"x")
                    connection.settimeout(0.05)
                    with suppress(TimeoutError):
                        if connection.recv(100) == b"":
                            raise ConnectionResetError
            except OSError:
                ended += 1
            connection.close()
        assert ended == 50 and time.monotonic() - began < 10
        silent = socket.create_connection(("127.0.0.1", port), timeout=10)
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""
        silent.close()
        with socket.create_connection(("127.0.0.1", port), timeout=10) as huge:
            try:
                for number in range(2000):
                    huge.sendall(b"x-%d: %s\r\n" % (number, b"y" * 1000) if number else b"GET / HTTP/1.1\r\n")
                answer = huge.recv(100)
            except OSError:
                answer = b""
        assert not answer.startswith(b"HTTP/1.1 200")
        # A connection that is kept alive serves its next request after a pause within its time.
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/healthz").status_code == 200
            time.sleep(0.5)
            assert client.post("/call/wait", json={"ms": 1500}).json() == "waited"


def test_rules_that_are_broken_behind_an_answer_cut_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    with in_thread(concerto.asgi(program(), offline=True)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(head)
            assert connection.recv(1000).startswith(b"HTTP/1.1 404")
            connection.sendall(b"zzzz\r\nfoo\r\n")
            with suppress(ConnectionResetError):
                while connection.recv(1000):
                    pass
        assert httpx2.post(f"http://127.0.0.1:{port}/call/hello", json={"name": "x"}).json() == "hello x"
    assert "Fatal error" not in caplog.text


def test_a_slow_body_is_refused_and_frees_its_place(tmp_path: Path) -> None:
    with in_thread(concerto.asgi(program(), offline=True, body_seconds=0.5)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
            head = b"POST /call/hello HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
            slow.sendall(head + b"{")
            assert slow.recv(12).endswith(b"408")
        assert "concerto_running 0.0" in httpx2.get(f"http://127.0.0.1:{port}/metrics").text


def test_headers_cannot_be_injected_into_requests_to_providers() -> None:
    """What a request carries reaches a provider as JSON only: arguments with line breaks are no headers, and its own headers stay
    here."""
    asked: list[tuple[dict[str, str], Any]] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((dict(self.headers), json.loads(self.rfile.read(int(self.headers["content-length"])))))
            message = {"role": "assistant", "content": "yes"}
            body = json.dumps({
                "id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": None,
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: Any) -> None:
            pass

    source = """
        model M { provider: openai, base: "m" }
        pub fn ask(user: String, q: String) -> Result<String> { M.with_context({ "user": user }).execute(q)?.text }
    """
    injected = "x\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1"
    models = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=models.serve_forever, args=(0.02,), daemon=True).start()
    address = f"http://127.0.0.1:{models.server_address[1]}/v1"

    @in_loop
    async def check() -> None:
        connection = {"base_url": address, "api": "chat", "api_key": "sk-planted-0123456789"}
        async with served(source, offline=False, connections={"openai": connection}) as (client, _):
            headers = {"x-evil": "2", "authorization": "Bearer of-the-client", "concerto-session": "X-Evil: 3"}
            answer = await client.post("/call/ask", json={"user": injected, "q": injected}, headers=headers)
            assert answer.json() == "yes", answer.text

    try:
        check()
    finally:
        models.shutdown()
        models.server_close()
    ((headers, body),) = asked
    assert "x-evil" not in {name.lower() for name in headers} and "of-the-client" not in str(headers)
    assert body["messages"][-1]["content"] == injected


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=5), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=10,
), max_size=3))  # fmt: skip
def test_any_json_gets_a_clear_answer(body: dict[str, object]) -> None:
    """Whatever the object holds, each function answers with a result or a refusal of its arguments, never with a defect."""

    @in_loop
    async def check() -> None:
        async with served() as (client, _):
            for name in ("hello", "echo", "count"):
                for given_body in (body, {"name": body, "value": body, "key": "k"}):
                    answer = await client.post(f"/call/{name}", json=given_body)
                    assert answer.status_code in (200, 400), answer.text
                    answer.json()

    check()
