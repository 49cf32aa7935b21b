"""`run --store`, `resume` and `runs` as a user has them (O-9.23, O-9.35, O-9.36, O-9.76)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.command import Ended, concerto, environment

PROGRAM = """
channel approve: String -> Bool;
memory chat { retain: 10 }
model M { provider: openai, base: "m", memory: chat }
fn main() -> Result<Nil, Error> {
    emit("first", M.execute("one")?.text);
    let yes = approve("send it?")?;
    emit("answer", yes);
    emit("len", chat.len());
    if !yes { return Err(Error::new("refused")); }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.conc").write_text(PROGRAM)
    return tmp_path


def started(folder: Path) -> tuple[str, str, Ended]:
    """The id of a run that waits, the key of what it waits for, and what its process said."""
    done = concerto("run", "p.conc", "--offline", "--store", "s.db", cwd=folder)
    assert done.code == 75, done
    rows = json.loads(concerto("runs", "--store", "s.db", "--json", cwd=folder).out)
    return rows[0]["id"], rows[0]["waits"][0]["key"], done


def test_a_run_waits_without_a_process_and_goes_on_with_an_answer(folder: Path) -> None:
    run, key, done = started(folder)
    assert done.out == "[emit:first] offline: one\n[emit:approve] send it?\n"
    assert f"run: {run}" in done.err
    assert done.err.endswith(f"\nanswer it: concerto resume {run} --store s.db --answer '{key}=JSON'\n")
    assert "waiting" in concerto("runs", "--store", "s.db", cwd=folder).out
    assert concerto("runs", "answer", run, key, "true", "--store", "s.db", cwd=folder).code == 0
    again = concerto("resume", run[:6], "--store", "s.db", cwd=folder)
    assert again == Ended(0, "[emit:answer] true\n[emit:len] 2\n", "")
    over = concerto("resume", run, "--store", "s.db", cwd=folder)
    assert over.code == 0 and "ended well" in over.err and not over.out


def test_an_answer_of_another_type_is_refused_and_the_run_waits_on(folder: Path) -> None:
    run, key, _ = started(folder)
    wrong = concerto("resume", run, "--store", "s.db", "--answer", f'{key}="yes"', cwd=folder)
    assert wrong.code == 2 and "expected Bool, found String" in wrong.err, wrong
    assert concerto("resume", run, "--store", "s.db", "--answer", f"{key}=true", cwd=folder).code == 0


def test_an_answer_that_the_run_does_not_take_is_said(folder: Path) -> None:
    run, key, _ = started(folder)
    waits = concerto("resume", run, "--store", "s.db", "--answer", "0:9/approve.1=true", cwd=folder)
    assert waits.code == 75 and "warning: the run did not take the answer to 0:9/approve.1: " in waits.err and key in waits.err
    done = concerto("resume", run, "--store", "s.db", "--answer", f"{key}=true", cwd=folder)
    assert done.code == 0 and done.err == "", done


def test_a_run_that_ends_by_an_error_says_it_again(folder: Path) -> None:
    run, key, _ = started(folder)
    done = concerto("resume", run, "--store", "s.db", "--answer", f"{key}=false", cwd=folder)
    assert done.code == 1 and "error: refused" in done.err
    again = concerto("resume", run, "--store", "s.db", cwd=folder)
    assert again.code == 1 and again.err == "error: refused\n" and not again.out


def test_runs_are_shown_cancelled_and_removed(folder: Path) -> None:
    run, key, _ = started(folder)
    shown = concerto("runs", "show", run, "--store", "s.db", cwd=folder).out
    assert "waiting" in shown and key in shown and "send it?" in shown
    assert concerto("runs", "cancel", run, "--store", "s.db", cwd=folder).out == f"cancelled {run}\n"
    assert concerto("resume", run, "--store", "s.db", cwd=folder).code == 130
    twice = concerto("runs", "cancel", run, "--store", "s.db", cwd=folder)
    assert twice.code == 74 and "is over: cancelled" in twice.err
    assert concerto("runs", "prune", "--days", "0", "--store", "s.db", cwd=folder).out == "removed 1 runs\n"
    assert concerto("runs", "--store", "s.db", cwd=folder).out == ""


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("resume", "x"), 2, "--store names the run store"),
        (("resume", "x", "--store", "none.db"), 74, "there is no run store none.db"),
        (("resume", "zz", "--store", "s.db"), 74, "has no run zz"),
        (("resume", "RUN", "--store", "s.db", "--answer", "x"), 2, "there is no `=`"),
        (("resume", "RUN", "--store", "s.db", "--answer", "x=nope"), 2, "is no JSON"),
        (("resume", "RUN", "--store", "s.db", "--answer", "x=NaN"), 2, "is no JSON (NaN is not a JSON value)"),
        (("runs", "show", "--store", "s.db"), 2, "takes 1 words"),
        (("runs", "answer", "RUN", "0:1", "true", "--store", "s.db"), 74, "does not wait for 0:1"),
        (("runs", "answer", "RUN", "KEY", "yes", "--store", "s.db"), 2, "is no JSON"),
        (("runs", "answer", "RUN", "KEY", "[Infinity]", "--store", "s.db"), 2, "is no JSON"),
        (("runs", "--store", "p.conc"), 74, "p.conc"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, words: tuple[str, ...], code: int, part: str) -> None:
    run, key, _ = started(folder)
    given = [{"RUN": run, "KEY": key}.get(word, word) for word in words]
    done = concerto(*given, cwd=folder)
    assert done.code == code and part in done.err, done


def test_a_run_that_is_refused_leaves_no_recording_and_no_run_to_go_on_with(folder: Path) -> None:
    wrong = ("run", "p.conc", "--offline", "--allow-lib", "nope:net")
    for _ in range(2):
        refused = concerto(*wrong, "--record", "x.jsonl", cwd=folder)
        assert refused.code == 2 and "E4003: there is no library nope" in refused.err, refused
    assert not (folder / "x.jsonl").exists()
    assert concerto(*wrong, "--store", "s.db", cwd=folder).code == 2
    assert " cancelled " in concerto("runs", "--store", "s.db", cwd=folder).out


SLEEPS = """
connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
model M { provider: lab, base: "m" }
fn main() {
    emit("a", M.execute("one").is_err());
    for i in 0..200 { std::time::sleep(50); }
    emit("b", 1);
}
"""
MAIN = "import sys; from concerto.cli.main import main; sys.exit(main(sys.argv[1:]))"


def begun(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A process of the command that goes on beside this one."""
    return subprocess.Popen([sys.executable, "-c", MAIN, *words], cwd=folder, env=environment(), stderr=subprocess.PIPE)


def test_a_run_that_lives_is_held_and_can_be_taken_over(folder: Path) -> None:
    (folder / "p.conc").write_text(SLEEPS)  # with a real clock: the offline one does not wait
    process = begun(folder, "run", "p.conc", "--store", "s.db")
    try:
        run = ""
        for _ in range(200):
            time.sleep(0.05)
            listed = concerto("runs", "--store", "s.db", "--json", cwd=folder)
            rows = json.loads(listed.out or "[]")
            if rows and rows[0]["rows"] >= 3:
                run = rows[0]["id"]
                break
        assert run
        held = concerto("resume", run, "--store", "s.db", cwd=folder)
        assert held.code == 1 and f"the run {run} is held by" in held.err
        taken = begun(folder, "resume", run, "--store", "s.db", "--take-over")
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1 and b"was taken over" in errors, errors
        os.kill(taken.pid, signal.SIGKILL)
        taken.communicate()
    finally:
        process.kill()
        process.wait()


def test_flags_of_resume_go_over_the_settings_of_the_run(tmp_path: Path) -> None:
    program = 'channel go: Int -> Bool;\nfn main() { let _go = go(1); println("has", std::env::has("HOME")); }\n'
    (tmp_path / "a.conc").write_text(program)
    for flags, said in (((), "permission denied: env=HOME"), (("--allow-env=HOME",), "has true")):
        begun = concerto("run", "a.conc", "--offline", "--store", "flags.db", cwd=tmp_path)
        assert begun.code == 75, begun
        ended = concerto("resume", begun.err.split()[1], "--store", "flags.db", "--answer", "0:1/go.1=true", *flags, cwd=tmp_path)
        assert said in ended.out + ended.err, ended


def test_a_damaged_run_hides_no_other(folder: Path) -> None:
    runs = [started(folder)[0]]
    concerto("run", "p.conc", "--offline", "--store", "s.db", cwd=folder)
    with closing(sqlite3.connect(folder / "s.db", isolation_level=None)) as file:
        file.execute("UPDATE runs SET header = '{' WHERE id = ?", (runs[0],))
    listed = concerto("runs", "--store", "s.db", cwd=folder)
    refused = f"s.db: the run '{runs[0]}' has no readable header; restore the store from a copy\n"
    assert listed.code == 74 and listed.err == refused
    assert listed.out.count("waiting") == 1 and runs[0] not in listed.out
    as_json = concerto("runs", "--store", "s.db", "--json", cwd=folder)
    assert as_json.code == 74 and len(json.loads(as_json.out)) == 1
