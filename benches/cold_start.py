"""Cold starts: from the start of a process to the first reply of a model, for the ways in which a program can be shipped.

    python benches/cold_start.py [--python PATH] [--rounds N]

The model is a server of this process on 127.0.0.1, which answers at once, so what is measured is the start. Ways are measured one
after another in each round; the smallest of all rounds counts, of CPU time and of wall time by itself. `docs/guide/deploy.md` has
the figures. PATH is the interpreter of an environment with Concerto installed as a wheel, by default this one.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

PROGRAM = """
connect here {{ provider: openai, base_url: "{address}", api: "chat" }}
model M {{ provider: here, base: "m" }}
fn main() {{ println(M.execute("hi")?.text); }}
"""
HOST = "import concerto; print(concerto.run({path!r}).exit_code)"


class Way(NamedTuple):
    """A name for the table, and the words behind the interpreter."""

    name: str
    words: tuple[str, ...]
    offline: bool = False


def ways(folder: Path) -> list[Way]:
    source, image = str(folder / "p.conc"), str(folder / "p.concb")
    run = ("-m", "concerto", "run")
    bare = ("-I", "-X", "frozen_modules=on")
    return [
        Way("source", (*run, source)),
        Way("image", (*run, image)),
        Way("image, `python -I -X frozen_modules=on`", (*bare, *run, image)),
        Way("image, `python -I -OO -X frozen_modules=on`", ("-OO", *bare, *run, image)),
        Way("image, from Python: `concerto.run(…)`", ("-c", HOST.format(path=image))),
        Way("image, without compiled bytecode", ("-X", f"pycache_prefix={folder / 'nothing'}", "-B", *run, image)),
        Way("image, `--offline`: no SDK, no connection", (*run, image, "--offline"), True),
        Way("for comparison: `python -c pass`", ("-c", "pass"), True),
        Way("for comparison: `import openai`, one request", ("-c", SDK)),
    ]


SDK = """
import os, openai
client = openai.OpenAI(base_url=os.environ["ADDRESS"], api_key="k")
print(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}]).choices[0].message.content)
"""


class Model(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same reply; `first` is when the newest one came."""

    first = 0.0

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "hello"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        type(self).first = time.perf_counter()


class Cost(NamedTuple):
    """Milliseconds: of CPU time of the whole process, and of wall time until the reply was sent."""

    cpu: float
    wall: float


def measure(python: str, way: Way, folder: Path, address: str) -> Cost:
    """Run a way once. Raise RuntimeError where it does not end well."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {**kept, "OPENAI_API_KEY": "k", "ADDRESS": address, "XDG_CACHE_HOME": str(folder / "cache")}
    Model.first = 0.0
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([python, *way.words], cwd=folder, env=environment, capture_output=True, check=False)
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or not (way.offline or Model.first):
        raise RuntimeError(f"{way.name}: {done.stderr.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu * 1000, ((Model.first or ended) - begun) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    folder = Path(tempfile.mkdtemp(prefix="concerto-cold-"))
    (folder / "p.conc").write_text(PROGRAM.format(address=address))
    compiled = [options.python, "-m", "concerto", "compile", str(folder / "p.conc")]
    subprocess.run(compiled, check=True, cwd=folder)
    least: dict[Way, Cost] = {}
    # A first round fills what is kept from one process to the next.
    for way in [way for _ in range(options.rounds + 1) for way in ways(folder)]:
        cost = measure(options.python, way, folder, address)
        best = least.get(way, cost)
        least[way] = Cost(min(best.cpu, cost.cpu), min(best.wall, cost.wall))
    print("| Way | CPU, ms | wall, ms |\n|---|---|---|")
    for way, cost in least.items():
        print(f"| {way.name} | {cost.cpu:.0f} | {cost.wall:.0f} |")
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
