"""Served programs for tests: in this process by the transport of ASGI, and as a process of their own."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import concerto
import httpx2
from concerto.serve.app import Application

PROGRAM = """
schema Ticket { topic: String, urgent: Bool = false }
model Sorter { provider: openai, base: "gpt-5.4-mini" }
memory chat { retain: 20 }
hashmap counts: HashMap<String, Int> = HashMap::new();
channel approve: String -> Bool;

/// Says hello.
/// To whoever is named.
pub fn hello(name: String, times: Int = 1) -> String { emit("said", name); "hello ${name}".repeat(times) }
pub fn sort(mail: String) -> Result<Ticket> { Sorter.execute<Ticket>(mail)? }
pub fn echo(value: Any) -> Any { value }
pub fn count(key: String) -> Int { counts[key] = (counts.get(key) ?? 0) + 1; counts[key] }
pub fn pay(sum: Int) -> Result<String> {
    if approve("pay ${sum}?")? { "paid ${sum}" } else { throw ToolError::new("refused"); }
}
pub fn wait(ms: Int) -> String { emit("begun", ms); std::time::sleep(ms); emit("over", ms); "waited" }
pub fn crash(secret: String) -> Int { let list = [secret.len()]; list[5] }
pub fn tell(count: Int) -> Int { for n in 0..count { emit("n", n); } count }
pub fn read(path: String) -> Result<String> { std::fs::read_file(path)? }
pub fn variable() -> String { std::env::get("HOME") ?? "" }
pub fn ask(question: String) -> Result<String> { Sorter.execute(question)?.text }
"""


def program(source: str = PROGRAM) -> concerto.Program:
    return concerto.compile(source)


@asynccontextmanager
async def served(source: str | concerto.Program = PROGRAM, **options: Any) -> Any:
    """Yield a client of the application of a program, and the application."""
    made = program(source) if isinstance(source, str) else source
    app: Application = concerto.asgi(made, **{"offline": True, **options})
    try:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://testserver") as client:
            yield client, app
    finally:
        await app.aclose()


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of a coroutine function without arguments."""

    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class Server:
    """A process of `concerto serve`. `url` is its address; `log` gives the lines that it wrote, once it has ended."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.written: list[str] = []
        assert process.stderr is not None
        # Read all the time: a server whose log nobody reads waits for its reader.
        self.reader = threading.Thread(target=lambda: self.written.extend(process.stderr or ()))
        self.reader.start()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def end(self) -> tuple[int, str]:
        """End the process by SIGTERM; return its exit status and what it wrote after it began to serve."""
        self.process.terminate()
        code = self.process.wait(timeout=60)
        self.reader.join()
        return code, "".join(self.written)


@contextmanager
def running(folder: Path, *flags: str, source: str = PROGRAM, online: bool = False, **environment: str) -> Iterator[Server]:
    """Run `concerto serve` of a source on a free port until the end of the body."""
    file = folder / "served.conc"
    file.write_text(source)
    words = [sys.executable, "-m", "concerto", "serve", str(file), "--port", "0", *([] if online else ["--offline"]), *flags]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stderr is not None
    lines = []
    for line in process.stderr:  # warnings may come first
        lines.append(line)
        if line.startswith("serving "):
            break
    found = re.search(r"on (http://\S+)", lines[-1] if lines else "")
    if found is None:
        process.kill()
        raise AssertionError("".join(lines) + process.communicate()[1])
    server = Server(process, found[1])
    try:
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        server.reader.join()
        process.stderr.close()


def events_of(text: str) -> list[tuple[str, str, str]]:
    """Return id, kind and data of the server-sent events in a text."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    rows = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return [(row["id"], row["event"], row["data"]) for row in rows]
