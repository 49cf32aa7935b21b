"""A copy of the product's tree in which one line at a time is changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .changes import ROOT, Change

WRITES_THE_LOOP = ("vm/interp/ops.py", "vm/interp/template.py", "vm/bytecode/opcodes.py")


class Planting:
    """A copy of the tree, whose `.types` shows processes the package `concerto`."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in listed.splitlines():
            target = self.tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        for folder in ("tests/servers", "tests/colours", "tests/page", "editors/vscode"):
            modules = f"{folder}/node_modules"
            if (ROOT / modules).exists():
                (self.tree / modules).symlink_to(ROOT / modules)

    def precompile(self) -> None:
        """Writes bytecode that holds the hash of its source, so that an import compiles the changed file only."""
        rooms = [str(path) for path in sorted(self.tree.iterdir()) if path.is_dir() and path.name[0] != "."]
        own = ("-m", "compileall", "-q", "--invalidation-mode", "checked-hash")
        self.run(*own, str(self.tree / "__init__.py"), *rooms, timeout=600)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that imports `concerto` from the copy and leaves no bytecode of a changed file."""
        return {
            **os.environ, "PYTHONPATH": str(self.tree / ".types"), "XDG_CACHE_HOME": str(self.tree.parent / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def run(self, *words: str, timeout: float) -> subprocess.CompletedProcess[str]:
        """Runs Python with these arguments in the copy; `timeout` is in seconds."""
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=self.tree, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    def command(self, script: str) -> list[str]:
        """What starts a script of the copy, in the environment of the copy."""
        environment = [f"{name}={value}" for name, value in self.environment.items() if value != os.environ.get(name)]
        return ["env", *environment, sys.executable, str(self.tree / script)]

    @contextmanager
    def planted(self, change: Change) -> Iterator[str]:
        """Gives why the changed tree cannot be made, or nothing."""
        file = self.tree / change.file
        whole = file.read_bytes()
        loop = self.tree / "vm" / "generated" / "loop.py"
        generated = loop.read_bytes()
        file.write_text(change.source(), encoding="utf-8")
        try:
            why = ""
            if change.file in WRITES_THE_LOOP and self.run("tools/gen_loop.py", timeout=120).returncode:
                why = "the generator of the loop"
            yield why
        finally:
            file.write_bytes(whole)
            loop.write_bytes(generated)
