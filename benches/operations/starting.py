"""V-8.6: CPU time of a fresh process that runs an image offline up to its first typed result, and how much it imports.

The processes run in a virtual environment made for them, where the packages lie as a wheel would put them: an editable install
imports more at every start.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import venv
from pathlib import Path

import msgpack
from concerto.vm.bytecode.codec import encode

from ..execution import Failed, compiled, require
from ..figures import Figure, Target
from ..sampling import Plan

ROOT = Path(__file__).resolve().parents[2]
START = Target("V-8.6", 1.2, on_ratio=True)

PROGRAM = """\
schema Answer { text: String, score: Int }

memory chat: Memory = Memory::new();

model Judge {
    provider: openai,
    base: "gpt-5.4-mini",
}

fn main() {
    let answer = Judge.with_memory(chat).execute_with_schema<Answer>("How good is this?")?;
    emit("kind", typeof(answer));
}
"""
PEER = ["-c", "import msgpack, json, asyncio"]
_ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # no other package on its path


def cold_start(plan: Plan) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        python = _environment(Path(folder))
        image = Path(folder, "judge.concb")
        image.write_bytes(encode(compiled(PROGRAM)))
        run = ["-m", "concerto", "run", str(image), "--offline"]
        shown = subprocess.run([python, *run], capture_output=True, text=True, check=False, env=_ENVIRON)
        require(shown.stdout + shown.stderr, "[emit:kind] Answer\n")
        mine, peer, bare = _seconds(python, [run, PEER, ["-c", "pass"]], 5 if plan.quick else 21)
        modules = _modules(python, run) - _modules(python, ["-c", "pass"])
    middle = statistics.median
    spread = (max(mine) - min(mine)) / middle(mine)
    return [
        Figure(
            "start",
            middle(mine) * 1e3,
            "ms",
            START,
            ratio=middle(mine) / middle(peer),
            spread=spread,
            note=f"ratio to python {PEER[0]} '{PEER[1]}' ({middle(peer) * 1e3:.0f} ms; bare python {middle(bare) * 1e3:.0f} ms)",
        ),
        Figure("start_imports", modules, "modules", note="imported beyond those of a bare interpreter"),
    ]


def _environment(folder: Path) -> str:
    """A Python that finds the package and msgpack as if installed from wheels."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    query = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip())
    (site / "msgpack").symlink_to(Path(msgpack.__file__).parent)
    package = site / "concerto"
    package.mkdir()
    for path in [*(ROOT / "api").glob("*.py"), ROOT / "api" / "host"]:
        (package / path.name).symlink_to(path)
    for room in ("cli", "compiler", "runtime", "vm"):
        (package / room).symlink_to(ROOT / room)
    return str(python)


def _seconds(python: str, commands: list[list[str]], samples: int) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in commands]
    for command in commands:  # writes byte code, fills the file cache
        _cpu_seconds(python, command)
    for _ in range(samples):
        for command, seconds in zip(commands, found, strict=True):
            seconds.append(_cpu_seconds(python, command))
    return found


def _cpu_seconds(python: str, command: list[str]) -> float:
    """User and system time of one process."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(python, [python, *command], _ENVIRON, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise Failed(f"{' '.join(command)} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def _modules(python: str, command: list[str]) -> int:
    shown = subprocess.run([python, "-X", "importtime", *command], capture_output=True, text=True, check=True, env=_ENVIRON)
    return sum(line.startswith("import time:") for line in shown.stderr.splitlines()) - 1
