"""`--watch`: again at each change of a source, until Ctrl-C (O-9.54)."""

from __future__ import annotations

import contextlib
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..command import environment


class Watching:
    """A watching command; `line` gives the next line of its output, standard error among it."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [sys.executable, "-m", "concerto", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, wanted: str) -> list[str]:
        seen = []
        while True:
            seen.append(self.lines.get(timeout=30))
            if wanted in seen[-1]:
                return seen

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[type[Watching]]:
    started: list[Watching] = []

    def start(*words: str) -> Watching:
        started.append(Watching(tmp_path, *words))
        return started[-1]

    yield start  # type: ignore[misc]
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)  # what it runs too: the group is its own
        one.process.wait()
        one.reader.join()
        assert one.process.stdout is not None
        one.process.stdout.close()


def test_a_run_follows_its_sources(watching, tmp_path):
    (tmp_path / "main.conc").write_text("use part;\nfn main() { println(part::text()); }\n")
    (tmp_path / "part.conc").write_text('pub fn text() -> String { "one" }\n')
    run = watching("run", "--watch", "--offline", "main.conc")
    assert run.until("one")[-1] == "one"
    (tmp_path / "part.conc").write_text('pub fn text() -> String { "two, " + }\n')
    assert "--- part.conc has changed" in run.until("error[")
    (tmp_path / "part.conc").write_text('pub fn text() -> String { "two, really" }\n')
    assert run.until("two, really")[-1] == "two, really"
    (tmp_path / "notes.txt").write_text("no source")
    assert run.interrupt() == 130


def test_a_run_that_goes_on_is_ended(watching, tmp_path):
    """An endless loop is interrupted, and its arguments are those of the program."""
    (tmp_path / "main.conc").write_text("fn main() { println(std::env::args()); loop { } }\n")
    run = watching("run", "--watch", "main.conc", "--", "--watch", "b")
    run.until("[--watch, b]")
    (tmp_path / "main.conc").write_text('fn main() { println("again"); }\n')
    assert run.until("again")
    assert run.interrupt() == 130


def test_tests_follow_a_folder(watching, tmp_path):
    (tmp_path / "a.conc").write_text("@test fn one() { assert(false); }\n")
    run = watching("test", "--watch", ".")
    run.until("0 passed, 1 failed")
    (tmp_path / "b.conc").write_text("@test fn two() { assert(true); }\n")
    run.until("1 passed, 1 failed")
    (tmp_path / "a.conc").unlink()
    run.until("1 passed, 0 failed")
    assert run.interrupt() == 130


PROJECT = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "src/main.conc"\n'


def test_tests_of_a_folder_follow_the_sources_and_the_manifest_of_the_project(watching, tmp_path):
    (tmp_path / "Concerto.toml").write_text(PROJECT)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.conc").write_text("fn main() { }\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.conc").write_text("@test fn one() { assert(true); }\n")
    run = watching("test", "--watch", "tests")
    run.until("1 passed, 0 failed")
    (tmp_path / "src" / "main.conc").write_text("fn main() { println(1); }\n")
    assert f"--- {Path('src/main.conc')} has changed" in run.until("1 passed, 0 failed")
    (tmp_path / "Concerto.toml").write_text(PROJECT.replace('"p"', '"other"'))
    assert "--- Concerto.toml has changed" in run.until("1 passed, 0 failed")
    assert run.interrupt() == 130


COUNTING = """#!{python}
import signal, sys, time
count = 0
def interrupt(number, frame):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupt)
print("begun", flush=True)
while not count:
    time.sleep(0.01)
time.sleep(0.5)  # its orderly end
print("interrupted", count, flush=True)
"""
WATCH = """
import sys, time
from types import SimpleNamespace
from concerto.cli import watch
end = watch._end
watch._end = lambda run: (time.sleep(0.2), end(run))  # or the system may make one signal of two
sys.executable = "./counting"
sys.exit(watch.watch(["run", "main.conc"], SimpleNamespace(file="main.conc", offline_script=None, env_file=None)))
"""


def test_ctrl_c_in_a_terminal_interrupts_the_run_once(tmp_path):
    """The terminal interrupts both; the command does not do so again, which would break off the end of the run."""
    (tmp_path / "main.conc").write_text("fn main() { }\n")
    script = tmp_path / "counting"
    script.write_text(COUNTING.format(python=sys.executable))
    script.chmod(0o755)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-c", WATCH], environment())
    output = b""
    while b"begun" not in output:
        output += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the end of a terminal
        while more := os.read(terminal, 1000):
            output += more
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert b"interrupted 1\r\n" in output


def test_what_cannot_be_watched(cli, write):
    assert cli("run", "--watch", "-").code == 2
    code, _, err = cli("test", "--watch", "nowhere.conc")
    assert (code, err) == (66, "cannot read nowhere.conc: No such file or directory\n")
