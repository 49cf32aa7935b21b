"""V-8.6: CPU time of a fresh process that runs an image offline up to its first typed result, and how much it imports. V-7.2: the
same of one that computes, with the code that an earlier process has translated and without.

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
from concerto.vm.bytecode.encoding import encode

from .. import pairs
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


COMPUTES = "tokens"


def cold_start(plan: Plan) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        python = _environment(Path(folder))
        image = Path(folder, "judge.concb")
        image.write_bytes(encode(compiled(PROGRAM)))
        run = ["-m", "concerto", "run", str(image), "--offline"]
        require(_shown(python, run), "[emit:kind] Answer\n")
        bare = ["-c", "pass"]
        seconds = _seconds(python, [run, PEER, bare], plan)
        counts = [_modules(python, command) for command in (run, PEER, bare)]
    mine, peer, none = seconds
    what = f"python {PEER[0]} '{PEER[1]}'"
    return [
        Figure("start", _median_ms(mine), "ms", START, ratio=_ratio(mine, peer), spread=_spread(mine), note=f"ratio to {what}"),
        Figure("start_peer", _median_ms(peer), "ms", spread=_spread(peer), note=f"{what}, {counts[1] - counts[2]} modules more"),
        Figure("start_bare", _median_ms(none), "ms", spread=_spread(none), note=f"python -c pass, {counts[2]} modules"),
        Figure("start_imports", counts[0] - counts[2], "modules", note="of `start`, beyond those of a bare interpreter"),
    ]


def cold_computing(plan: Plan) -> list[Figure]:
    """A program that runs long enough to be translated, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        python = _environment(Path(folder))
        image = Path(folder, f"{COMPUTES}.concb")
        pair = pairs.pair(COMPUTES)
        image.write_bytes(encode(compiled(pair.sized(pair.quick))))
        kept = ["-m", "concerto", "run", str(image), "--offline"]
        anew = [*kept, "--no-code-cache"]
        require(_shown(python, anew), _shown(python, kept))
        with_cache, without = _seconds(python, [kept, anew], plan)
        imports = [_modules(python, command) for command in (kept, anew)]
    note = f"{COMPUTES} with its code kept by an earlier process, ratio to translating it; {imports[0]} modules, not {imports[1]}"
    ratio, spread = _ratio(with_cache, without), _spread(with_cache)
    return [Figure("start_kept_code", _median_ms(with_cache), "ms", ratio=ratio, spread=spread, note=note)]


def _median_ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1e3


def _ratio(of: list[float], to: list[float]) -> float:
    return statistics.median(of) / statistics.median(to)


def _spread(seconds: list[float]) -> float:
    return (max(seconds) - min(seconds)) / statistics.median(seconds)


def _shown(python: str, command: list[str]) -> str:
    done = subprocess.run([python, *command], capture_output=True, text=True, check=False, env=_environ(python))
    return done.stdout + done.stderr


def _environment(folder: Path) -> str:
    """A Python that finds the package and msgpack as if installed from wheels."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    query = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip())
    (site / "msgpack").symlink_to(Path(msgpack.__file__).parent)
    package = site / "concerto"
    package.mkdir()
    for path in [ROOT / "__init__.py", ROOT / "__main__.py"]:
        (package / path.name).symlink_to(path)
    for room in ("api", "cli", "compiler", "runtime", "vm"):
        (package / room).symlink_to(ROOT / room)
    return str(python)


def _environ(python: str) -> dict[str, str]:
    """No other package on its path, and a cache folder that no other run has filled."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "XDG_CACHE_HOME": str(Path(python).parent / "cache")}


def _seconds(python: str, commands: list[list[str]], plan: Plan) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in commands]
    for command in commands:  # writes byte code, fills the file cache
        _cpu_seconds(python, command)
    for _ in range(5 if plan.quick else 21):
        for command, seconds in zip(commands, found, strict=True):
            seconds.append(_cpu_seconds(python, command))
    return found


def _cpu_seconds(python: str, command: list[str]) -> float:
    """User and system time of one process."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(python, [python, *command], _environ(python), file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise Failed(f"{' '.join(command)} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def _modules(python: str, command: list[str]) -> int:
    words = [python, "-X", "importtime", *command]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, env=_environ(python))
    return sum(line.startswith("import time:") for line in shown.stderr.splitlines()) - 1
