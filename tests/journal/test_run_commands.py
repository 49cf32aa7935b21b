"""Commands on runs that other processes and machines hold, that are killed, or whose store is full (G-13.1, G-13.6, G-16.5), with
a file and with a database."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from concerto.runtime.journal import run_store
from concerto.runtime.journal.rows import plain_of

from ..command import concerto as command
from ..command import environment
from .places import OTHER, Place

PROGRAM = """
channel approve: String -> Bool;
model M { provider: offline }
fn main() {
    for i in 0..3 { let r = M.execute("plan ${i}")?; emit("done", r.text); }
    emit("yes", approve("x")?);
    emit("after", M.execute("secret words")?.text);
}
"""
COUNTING = """
model M { provider: offline }
fn main() { for i in 0..600 { std::time::sleep(5); emit("n", M.execute("${i}")?.text); } }
"""
KEY = "0:7/approve.1"


def waiting(place: Place, folder: Path, *flags: str) -> str:
    """The id of a run that waits."""
    (folder / "a.conc").write_text(PROGRAM)
    done = command("run", "a.conc", "--offline", "--store", place.name, *flags, cwd=folder)
    assert done.code == 75, done
    return done.err.split()[1]


def test_a_run_of_another_machine_is_held_until_it_is_taken_over(place: Place, tmp_path: Path) -> None:
    run = waiting(place, tmp_path)
    machine = place.open(time.time, named=OTHER)  # type: ignore[arg-type]
    claim = machine.claim(run)
    flags = ("--store", place.name, "--answer", f"{KEY}=true")
    held = command("resume", run, *flags, cwd=tmp_path)
    assert held.code == 1 and held.out == "" and held.err.startswith(f"the run {run} is held by elsewhere:7 for another ")
    assert held.err.endswith(" s; end that process, or take the run over\n")
    claim.renew()
    done = command("resume", run, *flags, "--take-over", cwd=tmp_path)
    assert done.code == 0 and done.out == "[emit:yes] true\n[emit:after] offline: secret words\n", done
    again = command("resume", run, *flags, cwd=tmp_path)
    assert again.code == 0 and "ended well" in again.err


def test_a_killed_process_holds_nothing(place: Place, tmp_path: Path) -> None:
    """It is known to be dead here, so nobody waits for its lease; what it had committed comes again from the store."""
    (tmp_path / "a.conc").write_text(COUNTING)
    flags = ["--store", place.name]
    with open(tmp_path / "heard", "w") as output, open(tmp_path / "said", "w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "concerto", "run", "a.conc", "--offline", *flags], cwd=tmp_path, stdout=output, stderr=errors,
            env=environment(),
        )  # fmt: skip
    while (tmp_path / "said").stat().st_size < 20:
        time.sleep(0.01)
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run = (tmp_path / "said").read_text().split()[1]
    done = command("resume", run, *flags, cwd=tmp_path)
    assert done.code == 0, done
    store = place.open(must_exist=True)
    rows = [plain_of(row) for row in store.rows(run)]
    assert [row["value"] for row in rows if "emit" in row and not row["by_runtime"]] == [f"offline: {i}" for i in range(600)]
    prompts = [row["request"]["messages"][-1]["content"] for row in rows if row.get("kind") == "model"]
    assert prompts == [str(i) for i in range(600)]


def test_what_a_run_leaves_out_of_its_rows_is_left_out_when_it_goes_on(place: Place, tmp_path: Path) -> None:
    run = waiting(place, tmp_path, "--redact", "request.messages.*.content")
    done = command("resume", run, "--store", place.name, "--answer", f"{KEY}=true", cwd=tmp_path)
    assert done.code == 0, done
    rows = json.dumps([plain_of(row) for row in place.open().rows(run) if "request" in plain_of(row)])
    assert "secret words" not in rows.replace("offline: secret words", "") and rows.count("<redacted>") == 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder of 500 KiB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_store_on_a_full_disk_is_read_and_its_run_goes_on_when_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    place = Place(small_disk, None)
    run = waiting(place, tmp_path)
    fill = os.open(small_disk / "fill", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space left"):
        while True:
            os.write(fill, b"x" * 1024)
    os.close(fill)
    listed = command("runs", "--store", place.name, cwd=tmp_path)
    assert listed.code == 0 and listed.out.startswith(f"{run}  waiting"), listed
    flags = ("--store", place.name, "--answer", f"{KEY}=true")
    refused = command("resume", run, *flags, cwd=tmp_path)
    assert refused.code in (1, 74) and refused.err.count("\n") == 1, refused
    assert refused.err.startswith(f"the run store {place.name} failed: ") and "make room on the disk" in refused.err
    (small_disk / "fill").unlink()
    assert command("resume", run, *flags, cwd=tmp_path).code == 0


def test_a_run_that_fills_the_disk_ends_with_a_message(small_disk: Path, tmp_path: Path) -> None:
    place = Place(small_disk, None)
    (tmp_path / "a.conc").write_text(COUNTING)
    ended = command("run", "a.conc", "--offline", "--store", place.name, cwd=tmp_path)
    assert ended.code == 1 and ended.err.count("\n") == 2, ended
    assert "full; make room on the disk" in ended.err.splitlines()[1]
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    run = ended.err.split()[1]
    done = command("resume", run, "--store", place.name, cwd=tmp_path)
    heard = ended.out.splitlines() + done.out.splitlines()
    assert done.code == 0 and list(dict.fromkeys(heard)) == [f"[emit:n] offline: {i}" for i in range(600)]


def test_a_store_that_cannot_be_written_says_so(small_disk: Path, tmp_path: Path) -> None:
    place = Place(small_disk, None)
    run = waiting(place, tmp_path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for words in (("resume", run), ("run", "a.conc", "--offline")):
        refused = command(*words, "--store", place.name, cwd=tmp_path)
        assert refused.code == 74 and refused.err.startswith(f"the run store {place.name} failed: "), refused
        assert "read and written" in refused.err or "allow writing" in refused.err


def test_an_outcome_that_somebody_has_changed_is_named(tmp_path: Path) -> None:
    """With a seal that fits: what it holds is no value."""
    (tmp_path / "a.conc").write_text("""
        channel approve: String -> Bool;
        fn main() { emit("there", std::fs::read_file("x").is_ok()); emit("yes", approve("x")?); }
    """)
    place = Place(tmp_path, None)
    done = command("run", "a.conc", "--allow-fs", "--store", place.name, cwd=tmp_path)
    assert done.code == 75, done
    store = place.open()
    row = store.runs()[0]
    with place.changing() as execute:
        seal = row.begins
        for n, body in execute("SELECT n, body FROM rows ORDER BY n"):
            plain = json.loads(body)
            changed = json.dumps({**plain, "result": {"rows": 1}} if plain.get("kind") == "file" else plain)
            seal = run_store._sealed(seal, changed)
            execute("UPDATE rows SET body = ?, seal = ? WHERE n = ?", (changed, seal, n))
    done = command("resume", row.id, "--store", place.name, cwd=tmp_path)
    assert done.code == 1 and done.out == "" and "(file): what came of it cannot be read; record the run anew" in done.err, done


@pytest.mark.parametrize("depth", [500, 200_000])
def test_an_answer_that_is_nested_too_deep_is_refused_and_the_run_waits_on(tmp_path: Path, depth: int) -> None:
    (tmp_path / "a.conc").write_text("channel ask: String -> Any;\nfn main() { emit(\"got\", ask(\"x\")?); }")
    done = command("run", "a.conc", "--offline", "--store", "s", cwd=tmp_path)
    assert done.code == 75, done
    run, key = done.err.split()[1], "0:1/ask.1"
    # One argument of a command has 128 KiB at most, so the deepest text is cut off: the reader sees its depth before its end.
    deep = ("[" * depth + "]" * depth)[:120_000]
    kept = command("runs", "answer", run, key, deep, "--store", "s", cwd=tmp_path)
    assert kept.code == 2 and kept.err.startswith("runs answer: ") and "Traceback" not in kept.err, kept
    gone_on = command("resume", run, "--store", "s", "--answer", f"{key}={deep}", cwd=tmp_path)
    assert gone_on.code == 2 and "Traceback" not in gone_on.err and "warning" not in gone_on.err, gone_on
    assert command("resume", run, "--store", "s", "--answer", f"{key}=[1]", cwd=tmp_path).out == "[emit:got] [1]\n"
