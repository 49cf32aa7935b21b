"""Servers of durable calls are killed at random moments while clients send, wait and answer: every call ends once with what it
would have said undisturbed, and no request to a model that was answered and kept is sent again (S-1.10, G-13.1)."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2

from ..journal.durable_programs import ModelServer
from ..serve.served import Server, running
from .campaign import Campaign, Figures
from .campaign_durable import request_prompt

PROGRAM = """
connect box { provider: "custom", base_url: "http://127.0.0.1:PORT/v1" }
model M { provider: box, base: "m" }
channel approve: String -> Bool;
pub fn plain(item: String) -> Result<String> {
    let mut said = "";
    for step in 0..4 { said = said + M.execute("${item} step ${step}")?.text; emit("step", step); }
    said
}
pub fn asked(item: String) -> Result<String> {
    let offer = M.execute("offer ${item}")?.text;
    let yes = approve(item)?;
    let sent = M.execute("send ${item}: ${yes}")?.text;
    "${offer} ${sent}"
}
pub fn beside(item: String) -> String {
    let both = await (words("left ${item}"), words("right ${item}"));
    both.0 + both.1
}
fn words(what: String) -> String { match M.execute(what) { Ok(r) => r.text, Err(e) => e.message } }
"""
LIMIT = 120.0  # seconds for everything to end after the last kill
FUNCTIONS = ("plain", "asked", "beside")


def expected(function: str, item: str) -> str:
    """What a call says that nobody disturbs."""
    if function == "plain":
        return "".join(f"[{item} step {step}]" for step in range(4))
    if function == "asked":
        return f"[offer {item}] [send {item}: true]"
    return f"[left {item}][right {item}]"


class World:
    """A folder with a store, a model that counts, and the server that lives now."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.models = ModelServer(0.01)
        self.calls: dict[str, tuple[str, str]] = {}  # by key: function and item
        self.kept: set[str] = set()  # prompts whose replies the store had when the server began
        self.seen = 0  # requests before that
        self.server: Server | None = None
        self.stack = ExitStack()

    def start(self) -> None:
        self.stack = ExitStack()
        named = [word for name in FUNCTIONS for word in ("--durable", name)]
        flags = ["--store", str(self.folder / "runs.db"), *named, "--quiet"]
        text = PROGRAM.replace("PORT", str(self.models.port))
        self.server = self.stack.enter_context(running(self.folder, *flags, source=text, online=True))

    def kill(self) -> None:
        """Kill the server; what was kept before it began must not have been asked for again."""
        assert self.server is not None
        self.server.process.kill()
        self.stack.close()
        time.sleep(0.05)  # what the model still has of the killed process is not of the next one
        again = self.kept.intersection(self.models.seen[self.seen :])
        assert not again, f"asked again though it was kept: {again}"
        self.kept, self.seen = self.committed(), len(self.models.seen)

    def committed(self) -> set[str]:
        """The prompts whose replies are in the store."""
        with closing(sqlite3.connect(self.folder / "runs.db")) as store:
            bodies = [json.loads(row[0]) for row in store.execute("SELECT body FROM rows")]
        return {request_prompt(body["request"]) for body in bodies if body.get("kind") == "model" and body["status"] == "done"}

    def client(self) -> httpx2.Client:
        assert self.server is not None
        return httpx2.Client(base_url=self.server.url, timeout=10)

    def send(self, client: httpx2.Client, number: int) -> None:
        """Send a call, or one of those before again with the same key: which one arrived nobody knows."""
        key = f"k{number}"
        function, item = self.calls.setdefault(key, (self.chance.choice(FUNCTIONS), f"i{number}"))
        headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
        answer = client.post(f"/call/{function}", json={"item": item}, headers=headers)
        assert answer.status_code in (200, 202), (key, answer.text)

    def answer_all(self, client: httpx2.Client) -> None:
        for question in client.get("/questions").json():
            answer = client.post(f"/questions/{question['key']}", json=True)
            assert answer.status_code in (204, 404, 409), answer.text


def kills(seed: int, cases: int) -> Figures:
    chance = random.Random(seed)
    count = 0
    with tempfile.TemporaryDirectory() as name:
        world = World(Path(name), chance)
        try:
            for _ in range(cases):
                world.start()
                until = time.monotonic() + chance.uniform(0.0, 1.5)
                with world.client() as client:
                    for number in [*chance.sample(range(count), min(count, 2)), count, count + 1]:
                        world.send(client, number)
                    count += 2
                    while time.monotonic() < until:
                        if chance.random() < 0.3:
                            world.answer_all(client)
                        time.sleep(chance.uniform(0, 0.1))
                world.kill()
            world.start()
            _to_the_end(world, seed)
            world.kill()
        finally:
            world.stack.close()
            world.models.close()
    asked = len(world.models.seen) - len(set(world.models.seen))
    return {"calls": count, "requests on their way at a kill, sent again": asked}


def _to_the_end(world: World, seed: int) -> None:
    end = time.monotonic() + LIMIT
    left = dict(world.calls)
    with world.client() as client:
        while left:
            assert time.monotonic() < end, f"seed {seed}: {left} do not end"
            world.answer_all(client)
            for key, (function, item) in list(left.items()):
                headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
                begun = client.post(f"/call/{function}", json={"item": item}, headers=headers)
                answer = client.get(f"/calls/{begun.headers['concerto-call']}")
                if answer.status_code == 202:
                    continue
                where = f"seed {seed}, {key}: {function}({item})"
                assert (answer.status_code, answer.json()) == (200, expected(function, item)), f"{where}: {answer.text}"
                del left[key]
            time.sleep(0.05)


CAMPAIGNS = [Campaign("kills of servers of durable calls", "S-1.10, G-13.1", 2, 200, kills, part=20)]
