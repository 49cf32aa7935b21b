"""The Pythons that the wheel is tried on: those on the path and of pyenv, and in a folder that another system lies in."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
FOREIGN = "CONCERTO_SID"  # a folder: debootstrap --variant=minbase --include=python3.14,python3.14-venv sid FOLDER


class Python(NamedTuple):
    """`command` starts the interpreter; what it is told of files, it finds below `root`, which is empty for this system."""

    command: tuple[str, ...]
    root: str

    def make_environment(self, folder: Path) -> Path:
        """Make a virtual environment at a folder, below `root`; return its interpreter, as `run` takes it."""
        self.run(*self.command, "-m", "venv", str(folder))
        return folder / "bin" / "python"

    def run(self, *words: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command, in the folder `cwd` of its own system, with nothing in the environment that could change it."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        command = [str(word) for word in words]
        if self.root:
            away = ["chroot", self.root]
            command = [*away, "/bin/sh", "-c", 'cd "$0" && exec "$@"', str(cwd or "/"), *command]
            cwd = None
        environment = {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
        return subprocess.run(command, cwd=cwd, env=environment, input="", capture_output=True, text=True, timeout=900)

    def outside(self, folder: Path) -> Path:
        """Return a folder of its system as one of this system."""
        return Path(f"{self.root}{folder}")


def find(version: str) -> Python | None:
    """Return a Python of this version, None where there is none."""
    named = f"python{version}"
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/{named}"))
    foreign = os.environ.get(FOREIGN, "")
    ways = [Python((path,), "") for path in [*map(str, pyenv), shutil.which(named)] if path]
    if foreign and Path(foreign, "usr/bin", named).exists():
        ways.append(Python((f"/usr/bin/{named}",), foreign))
    for python in ways:
        asked = python.run(*python.command, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])")
        if asked.stdout.strip() == version:
            return python
    return None
