"""Servers under load whose clients vanish, processes are killed and database is restarted: no turn that a client has an answer
for is lost, none is doubled, and the process that lived through all of it holds no more than at its beginning (S-1.7, S-1.8).

A case is a round of ROUND seconds, with one disturbance. Malformed requests are a campaign of their own here.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from ..memory.servers import PostgresServer
from ..serve.served import Server, running
from ..serve.test_hostile import attacked, memory_of
from ..serve.test_workers import MANIFEST, RoundRobin
from .campaign import Campaign, Figures

SOURCE = """
memory chat { retain: 100000, per: user, store: "shared" }
model M { provider: openai, base: "m" }
pub fn say(user: String, text: String) -> Result<String> { M.with_memory(chat.key(user: user)).execute(text)?.text }
pub fn told(user: String) -> Array<String> { chat.key(user: user).messages().map(|m| "${m.role}: ${m.content}") }
pub fn tell(count: Int) -> Int { for n in 0..count { emit("n", n); std::time::sleep(5); } count }
"""
ROUND = 10.0  # seconds
USERS, CLIENTS, SERVERS = 8, 12, 3
QUIET = 3.0  # seconds after which nothing of the clients is left in a server
MORE_FILES = 24  # descriptors that a process may have more at the end: connections that it keeps for the next turn


class Balancer(RoundRobin):
    """One that ends the connection of a client whose server is not there, or dies."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await super().__call__(reader, writer)


class World:
    """Three servers behind a balancer, of which the first is never disturbed, and what clients know of their turns."""

    def __init__(self, folder: Path, database: PostgresServer, chance: random.Random) -> None:
        self.folder = folder
        self.database = database
        self.chance = chance
        self.stacks = [ExitStack() for _ in range(SERVERS)]
        self.servers: list[Server] = []
        self.balancer = Balancer([])
        self.acknowledged: dict[str, list[str]] = {f"u{n}": [] for n in range(USERS)}
        self.sent: dict[str, set[str]] = {name: set() for name in self.acknowledged}
        self.count: Counter[str] = Counter()
        self.over = False

    def start(self, number: int) -> None:
        self.stacks[number] = ExitStack()
        served = running(self.folder, "--quiet", "--drain", "5", source=SOURCE, DESK_DATABASE=self.database.url)
        server = self.stacks[number].enter_context(served)
        self.servers[number : number + 1] = [server]
        self.balancer.ports = [one.port for one in self.servers]

    async def disturb(self) -> None:
        """Do one of the things that happen to servers."""
        what = self.chance.choice(("kill", "end", "restart", "database", "nothing"))
        self.count[what] += 1
        if what in ("kill", "end", "restart"):
            number = self.chance.randrange(1, SERVERS)
            process = self.servers[number].process
            process.kill() if what == "kill" else process.terminate()
            if what == "restart":
                await asyncio.sleep(self.chance.uniform(0, 2))
                process.kill()
            await asyncio.to_thread(self._come_again, number, process)
        elif what == "database":
            self.database.process.send_signal(2)  # fast: connections are cut
            await asyncio.to_thread(self.database.restart)

    def _come_again(self, number: int, process: subprocess.Popen[str]) -> None:
        process.wait(60)
        self.stacks[number].close()
        told = "".join(self.servers[number].written)
        assert "Traceback" not in told and '"internal"' not in told, told[-3000:]
        self.start(number)

    async def client(self, number: int, address: str, chance: random.Random) -> None:
        """Talk, listen and vanish until the load is over."""
        turn = 0
        async with httpx2.AsyncClient(base_url=address, timeout=90) as http:
            while not self.over:
                user, text = f"u{chance.randrange(USERS)}", f"{number}.{turn}"
                turn += 1
                head = {"x-user": user, "connection": "close"}
                kind = chance.random()
                with suppress(httpx2.HTTPError, OSError):
                    if kind < 0.7:
                        self.sent[user].add(text)
                        answer = await http.post("/call/say", json={"text": text}, headers=head)
                        self.count[f"status {answer.status_code}"] += 1
                        if answer.status_code == 200:
                            assert answer.json() == f"offline: {text}"
                            self.acknowledged[user].append(text)
                    elif kind < 0.85:
                        self.sent[user].add(text)
                        await self._vanishing(address, user, text, chance.uniform(0, 0.05))
                    else:
                        await self._listening(http, head, chance)
                await asyncio.sleep(chance.uniform(0, 0.05))

    async def _vanishing(self, address: str, user: str, text: str, after: float) -> None:
        """Send a turn and be gone."""
        host, _, port = address.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps({"text": text}).encode()
        head = f"POST /call/say HTTP/1.1\r\nhost: {host}\r\nx-user: {user}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        await asyncio.sleep(after)
        writer.transport.abort()

    async def _listening(self, http: httpx2.AsyncClient, head: dict[str, str], chance: random.Random) -> None:
        """Read a stream to its end, or a part of it."""
        most = chance.choice((1, 5, 1000))
        async with http.stream("POST", "/call/tell", json={"count": 20}, headers={**head, "accept": "text/event-stream"}) as told:
            async for line in told.aiter_lines():
                most -= line.startswith("event: ")
                if most <= 0:
                    return

    def check(self, user: str, told: list[str]) -> None:
        """Compare what a memory holds with what the clients know."""
        asked, answered = told[::2], told[1::2]
        assert answered == [f"assistant: offline: {text.removeprefix('user: ')}" for text in asked], f"{user}: {told}"
        held = Counter(text.removeprefix("user: ") for text in asked)
        doubled = [text for text, times in held.items() if times > 1]
        lost = [text for text in self.acknowledged[user] if text not in held]
        foreign = [text for text in held if text not in self.sent[user]]
        assert not (doubled or lost or foreign), f"{user}: doubled {doubled}, lost {lost}, of nobody {foreign}"
        self.count["turns held"] += len(held)


def files_of(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def load(seed: int, rounds: int) -> Figures:
    """Run a load of so many rounds."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(prefix="concerto-postgres-") as data:
        folder = Path(name)
        (folder / "Concerto.toml").write_text(MANIFEST)
        database = PostgresServer(data)
        try:
            database.start()
            world = World(folder, database, chance)
            try:
                for number in range(SERVERS):
                    world.start(number)
                return asyncio.run(_loaded(world, rounds, seed))
            finally:
                for stack in world.stacks:
                    stack.close()
        finally:
            database.close()


async def _loaded(world: World, rounds: int, seed: int) -> Figures:
    listener = await asyncio.start_server(world.balancer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    clients = [
        asyncio.create_task(world.client(number, address, random.Random(f"{seed} {number}"))) for number in range(CLIENTS)
    ]
    witness = world.servers[0].process.pid
    sizes = []
    for _ in range(rounds):
        end = time.monotonic() + ROUND
        await asyncio.sleep(world.chance.uniform(0, ROUND / 2))
        await world.disturb()
        await asyncio.sleep(max(0.0, end - time.monotonic()))
        sizes.append((memory_of(witness), files_of(witness)))
    world.over = True
    await asyncio.gather(*clients)
    listener.close()
    await world.balancer.aclose()
    await asyncio.sleep(QUIET)
    async with httpx2.AsyncClient(timeout=60) as http:
        for server in world.servers:
            page = (await http.get(f"{server.url}/metrics")).text
            assert "concerto_running 0.0" in page and "concerto_queue 0.0" in page, page
        for user in world.sent:
            answer = await http.post(f"{world.servers[0].url}/call/told", json={}, headers={"x-user": user})
            world.check(user, answer.json())
    memory, files = memory_of(witness), files_of(witness)
    assert files <= sizes[0][1] + MORE_FILES, f"seed {seed}: {sizes[0][1]} descriptors, then {files}"
    wrong = {name: times for name, times in world.count.items() if name == "status 500"}
    assert not wrong, f"seed {seed}: {world.count}"
    return {
        "turns with an answer": sum(map(len, world.acknowledged.values())), "turns held": world.count["turns held"],
        "servers killed or ended": sum(world.count[name] for name in ("kill", "end", "restart")),
        "restarts of the database": world.count["database"], "MiB of the oldest process, first round": sizes[0][0] // 1024,
        "MiB, at the end": memory // 1024, "descriptors, first round": sizes[0][1], "descriptors, at the end": files,
    }  # fmt: skip


def malformed_requests(seed: int, cases: int) -> Figures:
    """Send malformed requests, each on a connection of its own, with a right call after each thousand."""
    chance = random.Random(seed)
    statuses: Counter[bytes] = Counter()
    with tempfile.TemporaryDirectory() as name, running(Path(name), "--quiet") as server:
        pid = server.process.pid
        first = 0
        with httpx2.Client(base_url=server.url, timeout=30) as client:
            for number in range(cases):
                statuses[attacked(server.port, chance, waits=number % 10 == 0)] += 1
                if number % 1000 == 999:
                    assert client.post("/call/hello", json={"name": "x"}).json() == "hello x"
                    first = first or memory_of(pid)
            assert statuses[b"500"] == 0 and (cases < 1000 or statuses[b"400"]), f"seed {seed}: {statuses}"
            last = memory_of(pid)
            assert not first or last - first < 16_000, f"seed {seed}: {first} KiB, then {last}"
        code, log = server.end()
    assert code == 0 and "Traceback" not in log and "internal" not in log, f"seed {seed}: {log[-3000:]}"
    return {"max MiB after the first thousand": first // 1024, "max MiB at the end": last // 1024}


CAMPAIGNS = [
    Campaign("servers under load", "S-1.7, S-1.8", 1, 180, load, part=180),
    Campaign("malformed requests", "S-1.7", 200, 100_000, malformed_requests, part=20_000),
]
