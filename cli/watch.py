"""`--watch`: run the command again in a process of its own whenever a source changes (O-9.54).

Hands on `add_watch` to the verbs that take the flag, and `watch` to `main`. A fresh process each time: nothing of one run is left
in the next. Files are looked at every LOOK seconds, since not every system and network folder tells of changes. Which files are
looked at is decided in `_files`: sources, images and manifests below the project, but for hidden folders and `node_modules`, the
FILEs of the command line with those of `--offline-script` and `--env-file`, and those of libraries that sources use
(`_library_folders`). No file is written here.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress

from . import exits
from .terminal import is_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    import subprocess
    from collections.abc import Iterable, Iterator
    from types import SimpleNamespace

    FileStates = dict[str, tuple[int, int]]

LOOK = 0.2  # seconds between two looks
SOURCES = (".conc", ".concb")
MANIFEST = "Concerto.toml"
PATIENCE = 5.0  # seconds that a run has to end when it is interrupted


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Describe the flag `--watch` to the parser of a verb."""
    parser.add_argument("--watch", action="store_true", help="run again whenever a source or the manifest changes, until Ctrl-C")


def watch(words: list[str], arguments: argparse.Namespace | SimpleNamespace) -> int:
    """Run the words of a command line without `--watch`, whose values are `arguments`, again after each change until somebody
    interrupts; return the exit code of that (130). Raise `Exit` for paths that cannot be watched: 2 for `-`, 66 for what does not
    exist, and where no path is given 2, 65 or 66 as `entry_file`."""
    import subprocess

    paths = getattr(arguments, "paths", None) or [getattr(arguments, "file", None) or _project()]
    if "-" in paths:
        raise exits.Exit(exits.USAGE, "--watch looks at files; - is none")
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {missing}: No such file or directory")
    beside = [path for path in (arguments.offline_script, arguments.env_file) if path]
    end = words.index("--") if "--" in words else len(words)
    # Behind `--` stand words of the program, of which `--watch` may be one.
    command = [sys.executable, "-m", "concerto", *(word for word in words[:end] if word != "--watch"), *words[end:]]
    roots = sorted({_root(path) for path in paths})
    run = None
    try:
        while True:
            watched = [*roots, *_library_folders(roots, paths)]
            states = _files(watched, [*paths, *beside])
            # The files are looked at before the start: a change during it starts the next run.
            run = subprocess.Popen(command)
            changed = _next_change(run, states, watched, [*paths, *beside])
            _end(run)
            print(f"--- {changed} has changed", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if run is not None:
            if _in_foreground():
                # Ctrl-C has interrupted the run too; a second interrupt would break off its end.
                _wait(run)
            _end(run)
        return exits.INTERRUPTED


def _project() -> str:
    from .inputs import entry_file

    return entry_file()


def _root(path: str) -> str:
    """Return the folder of the project of a file or directory; without one the directory itself, or where the file lies."""
    from ..compiler.manifest_file import find_manifest

    folder = os.path.realpath(path)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    manifest = find_manifest(folder)
    return folder if manifest is None else os.path.dirname(manifest)


def _library_folders(roots: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Return the folders of installed libraries that sources below the roots, and those of the command line, may use: a word of a
    text with `lib::` is the name of one (P-3.1). Without such a text the environment is not looked at."""
    folders: set[str] = set()
    words: set[str] = set()
    for path in {*(path for root in roots for path in _sources(root)), *paths}:
        with suppress(OSError, UnicodeError):
            if path.endswith(".conc"):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                words.update(_WORD.findall(text) if _INTO_LIBRARY.search(text) else ())
    if words:
        from ..compiler.installed import installed_library, installed_names
        from ..compiler.libraries import NoLibrary

        for name in words.intersection(installed_names()):
            with suppress(NoLibrary):  # the run itself tells
                folders.add(installed_library(name).folder)
    return folders


_WORD = re.compile(r"\w+")
_INTO_LIBRARY = re.compile(r"\blib\s*::")


def _files(roots: Iterable[str], named: Iterable[str]) -> FileStates:
    """Return when the sources below the roots, and the files that the command line names, were written, and their sizes."""
    states: FileStates = {}
    for path in (*(path for root in roots for path in _sources(root)), *map(os.path.realpath, named)):
        try:
            state = os.stat(path)
        except OSError:  # it has just gone
            continue
        if not os.path.isdir(path):
            states[path] = state.st_mtime_ns, state.st_size
    return states


def _sources(root: str) -> Iterator[str]:
    for folder, inner, files in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".") and name != "node_modules"]
        yield from (os.path.join(folder, name) for name in files if name == MANIFEST or name.endswith(SOURCES))


def _next_change(run: subprocess.Popen[bytes], before: FileStates, roots: list[str], named: list[str]) -> str:
    """Return a file that changed, the first by path, once nothing has changed for one look more: editors write in steps."""
    announced = False
    while True:
        time.sleep(LOOK)
        if run.poll() is not None and not announced:
            announced = True
            if is_terminal(sys.stderr):
                print("--- waiting for a change; Ctrl-C ends", file=sys.stderr, flush=True)
        now = _files(roots, named)
        if now == before:
            continue
        while True:
            time.sleep(LOOK)
            later = _files(roots, named)
            if later == now:
                break
            now = later
        changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        if changed:  # else it is as it was
            return os.path.relpath(changed[0])


def _in_foreground() -> bool:
    """Return whether a Ctrl-C of the terminal goes to this process, and so to what it runs too."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # it has gone
        return False
    finally:
        os.close(terminal)


def _end(run: subprocess.Popen[bytes]) -> None:
    """Interrupt a run that goes on, as by Ctrl-C; kill what has not ended after PATIENCE seconds."""
    if run.poll() is not None:
        return
    import signal

    run.send_signal(signal.SIGINT)
    if not _wait(run):
        run.kill()
        run.wait()


def _wait(run: subprocess.Popen[bytes]) -> bool:
    """Return whether a run has ended within PATIENCE seconds."""
    import subprocess

    try:
        run.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return True
