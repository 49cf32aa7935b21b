"""Carries out the steps of a Dockerfile where no Docker is: each stage in a copy of a folder that another system lies in, by
chroot.

`perform(file, context, base, folder)` gives the last stage. FROM stands for `base`, whatever image it names; FROM, WORKDIR, COPY,
RUN, ARG, ENV, USER and ENTRYPOINT are known, in the forms that our Dockerfile has, and any other step is an error.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    """A stage so far: its folder, and what later steps and the container get."""

    root: Path
    workdir: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)

    def run(self, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the stage as its user, in its folder of work."""
        kept = {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy") or name.startswith("PIP_")}
        path = "/usr/local/bin:/usr/bin:/bin"
        environment = {**kept, "PATH": path, "HOME": "/tmp", **self.arguments, **self.environment, **variables}
        inside = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', self.workdir, *words]
        command = [shutil.which("chroot") or "chroot", f"--userspec={self.user}", str(self.root), *inside]
        return subprocess.run(command, env=environment, input="", capture_output=True, text=True, timeout=900, check=False)


def steps(text: str) -> list[tuple[str, str]]:
    """Return the steps of a Dockerfile: the word, and what follows it."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in joined.splitlines() if line.strip()]


def perform(file: Path, context: Path, base: Path, folder: Path, **arguments: str) -> Stage:
    """Carry out all steps and return the last stage. Raise RuntimeError for a step that fails or is not known."""
    ignored = (context / ".dockerignore").read_text().split()
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for word, rest in steps(file.read_text(encoding="utf-8")):
        match word:
            case "FROM":
                name = rest.partition(" AS ")[2] or "last"
                stage = stages[name] = Stage(folder / name)
                subprocess.run(["cp", "-a", base, stage.root], check=True)
            case "WORKDIR":
                stage.workdir = rest
                (stage.root / rest[1:]).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(rest.split(), stage, stages, context, ignored)
            case "ARG":
                name, _, default = rest.partition("=")
                stage.arguments[name] = arguments.get(name, default)
            case "ENV":
                stage.environment |= dict(one.split("=", 1) for one in shlex.split(rest))
            case "USER":
                stage.user = rest
            case "RUN":
                done = stage.run(["/bin/sh", "-c", rest])
                if done.returncode:
                    raise RuntimeError(f"RUN {rest}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case _:
                raise RuntimeError(f"a step that is not known: {word} {rest}")
    return stage


def _copy(words: list[str], stage: Stage, stages: dict[str, Stage], context: Path, ignored: list[str]) -> None:
    source, target = words[-2:]
    place = stage.root / target[1:] if target.startswith("/") else stage.root / stage.workdir[1:] / target
    if words[0].startswith("--from="):
        subprocess.run(["cp", "-a", stages[words[0].partition("=")[2]].root / source[1:], place], check=True)
        return

    def leave_out(folder: str, names: list[str]) -> set[str]:
        inside = os.path.relpath(folder, context)
        paths = {name: os.path.normpath(os.path.join(inside, name)) for name in names}
        return {name for name, path in paths.items() if any(_ignores(pattern, path) for pattern in ignored)}

    shutil.copytree(context / source, place, symlinks=True, ignore=leave_out, dirs_exist_ok=True)


def _ignores(pattern: str, path: str) -> bool:
    """Return whether a line of `.dockerignore` leaves out a path; `**/` stands for any folders."""
    if pattern.startswith("**/"):
        return fnmatch.fnmatch(Path(path).name, pattern[3:])
    return "/" not in path and fnmatch.fnmatch(path, pattern)
