"""Memory of a server for named sessions that are idle: as many conversations as are asked for, of one turn each.

    python -m benches.serving.sessions [--sessions 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .streams import free_port

PROGRAM = """
memory chat { retain: 20 }
model M { provider: openai, base: "m" }
pub fn say(text: String) -> Result<Int> { M.with_memory(chat).execute(text)?; chat.len() }
"""
AT_ONCE = 20


def resident(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


async def say(port: int, session: int, length: int) -> None:
    """Say something in a session, and see how long its conversation is then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"text": "What of the lamp in the hall?"}'
    writer.write(
        b"POST /call/say HTTP/1.1\r\nhost: localhost\r\nconcerto-session: s%d\r\ncontent-type: application/json\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (session, len(body), body)
    )
    answer = await reader.read(-1)
    writer.close()
    assert answer.endswith(b"\r\n\r\n%d" % length), answer[-300:]


async def fill(port: int, pid: int, sessions: int) -> tuple[int, int]:
    """Return the memory of the server in KiB before and behind one turn in each session; a second turn in some of them shows
    that they are kept."""
    await say(port, sessions, 2)
    before = resident(pid)
    left = iter(range(sessions - 1))

    async def client() -> None:
        for number in left:
            await say(port, number, 2)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    after = resident(pid)
    for number in range(0, sessions - 1, max(1, sessions // 50)):
        await say(port, number, 4)
    return before, after


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benches.serving.sessions", description=__doc__)
    options.add_argument("--sessions", type=int, default=10_000)
    sessions = options.parse_args().sessions
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "chat.conc"
        file.write_text(PROGRAM)
        port = free_port()
        words = [sys.executable, "-m", "concerto", "serve", str(file), "--port", str(port), "--offline", "--quiet"]
        server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            assert next(line for line in server.stderr if line.startswith("serving "))
            began = time.perf_counter()
            before, after = asyncio.run(fill(port, server.pid, sessions))
            seconds = time.perf_counter() - began
        finally:
            server.terminate()
            server.wait()
    each = (after - before) / sessions
    grown = f"{before // 1024} MiB before, {after // 1024} MiB behind"
    print(f"{sessions} idle sessions: {grown}, {each:.1f} KiB a session; {seconds:.0f} s")


if __name__ == "__main__":
    main()
