"""What the tests of batches share: a program, its model server, and rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = Path(__file__).with_name("model_server.py")
PROGRAM = """
connect local {{ provider: "custom", base_url: "http://127.0.0.1:{port}/v1", api: "chat" }}
model M {{ provider: local, base: "m", max_tokens: 20 }}
pub fn ask(text: String) -> Result<String, AgentError> {{ Ok(M.execute(text)?.text) }}
"""


class Served:
    """A model server that runs: `port`, and `counts`, how often it has answered each prompt."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log

    def counts(self) -> Counter[str]:
        return Counter(map(json.loads, self.log.read_text(encoding="utf-8").splitlines()))

    def program(self, folder: Path, source: str = PROGRAM) -> Path:
        path = folder / "ask.conc"
        path.write_text(source.format(port=self.port), encoding="utf-8")
        return path


@contextmanager
def served(folder: Path, delay: float = 0.0) -> Iterator[Served]:
    log = folder / "asked.log"
    log.touch()
    process = subprocess.Popen([sys.executable, SERVER, log, str(delay)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Served(int(process.stdout.readline()), log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def write_rows(path: Path, count: int, text: str = "row {number}") -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text.format(number=number)}) + "\n" for number in range(1, count + 1))
    return path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
