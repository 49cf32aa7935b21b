"""The command as a process of its own, far from the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def environment(**extra: str) -> dict[str, str]:
    """No keys and nothing else that could change a run."""
    names = ("PATH", "HOME", "VIRTUAL_ENV", "PYTHONPATH", "XDG_CACHE_HOME")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, **extra}


def concerto(*words: str | Path, cwd: Path, stdin: str = "", **extra: str) -> Ended:
    command = [sys.executable, "-m", "concerto", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, input=stdin.encode(), capture_output=True, env=environment(**extra), timeout=60)
    err = done.stderr.decode()
    assert "Traceback" not in err
    return Ended(done.returncode, done.stdout.decode(), err)
