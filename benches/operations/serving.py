"""V-8.8 over the wire: a thousand model calls at once through the SDK to a server on this machine that answers after 100 ms.

The server is a process of its own, and so is the run, whose computing and memory are read at its end.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

from concerto.runtime.session.session import Session

from ..execution import Concerto, Failed, require
from ..figures import Figure, Target
from ..sampling import Plan
from .waiting import CALLS, SECONDS

TARGET = Target("V-8.8", 300)
DESCRIPTORS = 4096  # a connection per call, and some more
ROOT = Path(__file__).resolve().parent.parent.parent
PROCESS = [sys.executable, "-c", "from benches.operations.serving import main; main()"]

PROGRAM = """\
connect box {{ provider: "custom", base_url: "http://127.0.0.1:{port}/v1", timeout: 60 }}
model M {{ provider: box, base: "m" }}
fn main() {{
    emit("first", M.execute("x")?.text);
    emit("warm", true);
    let texts = parallel for n in 0..{calls} {{ M.execute("${{n}}")?.text }};
    emit("answers", texts.filter(|t| t.is_ok()).len());
}}
"""
REPLY = {
    "id": "r", "object": "chat.completion", "created": 1, "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
}  # fmt: skip


def calls_over_the_wire(plan: Plan) -> list[Figure]:
    with server() as port:
        found = _child(port)
    note = f"{CALLS:,} calls of {SECONDS * 1000:.0f} ms to a server here, wall time once the SDK is loaded"
    return [
        Figure("served_calls", found["milliseconds"], "ms", TARGET, note=note),
        Figure("served_computing", found["computing"] / CALLS, "ms", note="CPU time of the process, a call"),
        Figure("served_call", found["kibibytes"] / CALLS, "KiB", note="rise of the peak memory of the process, a call"),
    ]


def _child(port: int) -> dict[str, float]:
    done = subprocess.run([*PROCESS, "run", str(port)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Failed(done.stderr[-1000:])
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def server(delay: float = SECONDS) -> Iterator[int]:
    """The port of a server that runs as a process and answers after that many seconds."""
    process = subprocess.Popen([*PROCESS, "serve", str(delay)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


# ---------------------------------------------------------------- in processes of their own


def run(port: int) -> dict[str, float]:
    """The wall time of the calls, their CPU time, and how much the peak of the memory rose with them."""
    concerto = Concerto(PROGRAM.format(port=port, calls=CALLS))
    emits: list[tuple[str, object]] = []
    marks: list[tuple[float, float, int]] = []

    def emit(channel: str, value: object, by_runtime: bool) -> None:
        marks.append((perf_counter(), process_time(), peak_memory()))
        emits.append((channel, value))

    host = concerto.api([])
    host.emit, host.provider, host.offline, host.sleep, host.now = emit, None, False, asyncio.sleep, perf_counter
    outcome = asyncio.run(Session(concerto.program, host).run())
    if outcome.exit_code:
        raise Failed(str(outcome.panic or outcome.error))
    require(emits, [("first", "yes"), ("warm", True), ("answers", CALLS)])
    wall, computing, kibibytes = (after - before for before, after in zip(marks[1], marks[2], strict=True))
    return {"milliseconds": wall * 1000, "computing": computing * 1000, "kibibytes": kibibytes}


def peak_memory() -> int:
    """KiB. On Linux `ru_maxrss` begins with that of the process this one was started from; VmHWM is its own (proc(5))."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])


async def serve(delay: float) -> None:
    body = json.dumps(REPLY).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in request.split(b"\r\n")[1:] if line)
                await reader.readexactly(int(fields[b"content-length"]))
                await asyncio.sleep(delay)
                writer.write(head + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=CALLS)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


def main() -> None:
    """One of the two processes: `serve DELAY`, or `run PORT`."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, most), most))
    if sys.argv[1] == "serve":
        asyncio.run(serve(float(sys.argv[2])))
    else:
        print(json.dumps(run(int(sys.argv[2]))))
