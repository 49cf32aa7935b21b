"""Concurrent streams of `concerto serve` and of FastAPI with the bare SDK, in front of one local model that answers after 50 ms
in ten pieces: requests a second, p50 and p99, CPU time of the server for a request.

    python -m benches.serving.streams [--clients 200] [--requests 1000] [--rounds 3]

Both servers run at the same time and are measured one after another, round by round; of each figure the best round counts,
since other work on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

LATENCY = 0.05  # seconds before the first piece
PIECES = 10
PROGRAM = """
model M { provider: openai, base: "m" }
pub fn ask(question: String) -> Result<Stream, AgentError> { M.stream(question) }
"""


async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests for chat completions on one connection, as raw bytes: the model is to cost next to nothing."""
    row = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    pieces = [{"index": 0, "delta": {"role": "assistant", "content": f"word{n} "}, "finish_reason": None} for n in range(PIECES)]
    pieces.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    body = "".join(f"data: {json.dumps({**row, 'choices': [piece]})}\n\n" for piece in pieces) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    try:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in request.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            await asyncio.sleep(LATENCY)
            writer.write((head + body).encode())
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        writer.close()


async def ask(port: int) -> None:
    """Ask once on a connection of its own, and read the stream to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"question": "How are you?"}'
    writer.write(
        b"POST /call/ask HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    )
    answer = await reader.read(-1)
    writer.close()
    assert b"event: result" in answer and answer.count(b"event: text") == PIECES, answer[-500:]


async def measured(port: int, clients: int, requests: int) -> tuple[float, float, float]:
    """Return requests a second, p50 and p99 in milliseconds."""
    times: list[float] = []
    left = requests

    async def client() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            began = time.perf_counter()
            await ask(port)
            times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    whole = time.perf_counter() - began
    times.sort()
    return len(times) / whole, times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def compare(clients: int, requests: int, rounds: int) -> None:
    """Run both servers and print the best round of each."""
    listener = await asyncio.start_server(model, "127.0.0.1", 0, backlog=2048)
    address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "bench.conc")
        source.write_text(PROGRAM)
        Path(folder, "Concerto.toml").write_text(
            '[project]\nname = "bench"\nversion = "1"\nentry = "bench.conc"\n'
            f'[connections.openai]\nprovider = "openai"\nbase_url = "{address}"\napi = "chat"\n'
        )
        ours, theirs = free_port(), free_port()
        serve = [sys.executable, "-m", "concerto", "serve", str(source), "--port", str(ours), "--quiet", "--concurrent", "2000"]
        peer = [sys.executable, str(Path(__file__).parent / "peer.py"), str(theirs), address]
        environment = {**os.environ, "OPENAI_API_KEY": "unused-0123456789"}
        servers = {"concerto serve": (ours, serve), "FastAPI and the SDK": (theirs, peer)}
        processes = {}
        for name, (port, words) in servers.items():
            processes[name] = stack.enter_context(subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL))
            stack.callback(processes[name].terminate)
            for _ in range(600):
                try:
                    await ask(port)
                    break
                except (OSError, AssertionError):
                    await asyncio.sleep(0.1)
        best: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, (port, _) in servers.items():
                before = cpu_of(processes[name].pid)
                figures = await measured(port, clients, requests)
                best[name].append((*figures, (cpu_of(processes[name].pid) - before) / requests * 1000))
    listener.close()
    print(f"{clients} streams at once, {requests} requests, best of {rounds} rounds; a model of {LATENCY * 1000:.0f} ms")
    for name, rows in best.items():
        rate, p50, p99, cpu = max(r[0] for r in rows), *(min(r[at] for r in rows) for at in (1, 2, 3))
        print(f"{name:22} {rate:7.0f} a second   p50 {p50:6.0f} ms   p99 {p99:6.0f} ms   {cpu:5.2f} ms of CPU a request")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    asyncio.run(compare(chosen.clients, chosen.requests, chosen.rounds))
