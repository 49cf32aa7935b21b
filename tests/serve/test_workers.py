"""Several processes: keyed memories in a database, any balancer, no stickiness (S-1.8)."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ..memory.servers import postgres_url
from .served import in_loop, running

SOURCE = """
memory chat { retain: 1000, per: user, store: "shared" }
model M { provider: openai, base: "m" }
pub fn say(user: String, text: String) -> Result<Int> {
    let mine = chat.key(user: user);
    M.with_memory(mine).execute(text)?;
    mine.len()
}
pub fn told(user: String) -> Array<String> { chat.key(user: user).messages().map(|m| "${m.role}: ${m.content}") }
"""
MANIFEST = """
[project]
name = "desk"
version = "1"
entry = "served.conc"
[stores.shared]
kind = "postgres"
url_env = "DESK_DATABASE"
[serve.keys]
user = "header:X-User"
"""
CLIENTS, TURNS = 20, 5


class RoundRobin:
    """A balancer that gives each connection to the next server."""

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self.count = 0
        self.active: set[asyncio.Task[None]] = set()  # connections that are open

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        task = asyncio.current_task()
        assert task is not None
        self.active.add(task)
        task.add_done_callback(self.active.discard)
        try:
            await self._carry(reader, writer)
        finally:
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.ports[self.count % len(self.ports)])

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            try:
                while piece := await source.read(1 << 16):
                    target.write(piece)
                    await target.drain()
            except OSError:
                target.transport.abort()
            target.close()

        try:
            await asyncio.gather(pump(reader, back), pump(there, writer), return_exceptions=True)
        finally:
            back.transport.abort()

    async def aclose(self) -> None:
        """Cut the connections that are still open."""
        open_now = list(self.active)
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        await asyncio.sleep(0)  # until transports have closed


def test_one_conversation_behind_a_balancer(tmp_path: Path) -> None:
    """Three servers on one PostgreSQL: of twenty clients that talk in one conversation at once, no turn is lost or doubled."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    (tmp_path / "Concerto.toml").write_text(MANIFEST)
    with postgres_url() as url, ExitStack() as servers:
        ports = [servers.enter_context(running(tmp_path, source=SOURCE, DESK_DATABASE=url)).port for _ in range(3)]

        @in_loop
        async def check() -> None:
            balancer = RoundRobin(ports)
            listener = await asyncio.start_server(balancer, "127.0.0.1", 0)
            address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            head = {"x-user": "ada", "connection": "close"}

            async def client(number: int) -> list[Any]:
                async with httpx2.AsyncClient(base_url=address, timeout=120, headers=head) as http:
                    given = []
                    for turn in range(TURNS):
                        answer = await http.post("/call/say", json={"text": f"{number}.{turn}"})
                        given.append((answer.status_code, answer.text))
                    return given

            given = await asyncio.gather(*map(client, range(CLIENTS)))
            assert {status for rows in given for status, _ in rows} == {200}, given
            async with httpx2.AsyncClient(base_url=address, headers=head) as http:
                told = (await http.post("/call/told", json={})).json()
                other = (await http.post("/call/told", json={}, headers={"x-user": "eve"})).json()
            assert balancer.count >= CLIENTS * TURNS and other == []
            wanted = {f"{number}.{turn}" for number in range(CLIENTS) for turn in range(TURNS)}
            asked, answered = told[::2], told[1::2]
            assert sorted(asked) == sorted(f"user: {text}" for text in wanted)
            # Each answer stands right behind its question, and each client's turns are in its own order.
            assert answered == [f"assistant: offline: {text.removeprefix('user: ')}" for text in asked]
            for number in range(CLIENTS):
                own = [text for text in asked if text.startswith(f"user: {number}.")]
                assert own == [f"user: {number}.{turn}" for turn in range(TURNS)]
            assert max(int(text) for rows in given for _, text in rows) == 2 * CLIENTS * TURNS
            listener.close()
            await balancer.aclose()

        check()


def test_workers_of_one_command(tmp_path: Path) -> None:
    """They share the socket, count together, and end together."""
    with running(tmp_path, "--workers", "2") as server, httpx2.Client(base_url=server.url, timeout=60) as client:
        for number in range(30):
            answer = httpx2.post(f"{server.url}/call/hello", json={"name": str(number)}, timeout=60)
            assert answer.json() == f"hello {number}"
        samples = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(client.get("/metrics").text)
            for sample in family.samples
        }
        assert samples["concerto_calls_total", ("function", "hello"), ("status", "200")] == 30
        code, log = server.end()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert code == 0 and len([line for line in lines if line.get("function") == "hello"]) == 30, log
