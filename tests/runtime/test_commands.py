"""ShellTool with real commands: output, exit status, time limit, environment, what is left running (O-4.35, O-4.42, G-11.1)."""

from __future__ import annotations

import os
from pathlib import Path

from ..command import Ended, concerto


def run(folder: Path, body: str, *flags: str, **extra: str) -> Ended:
    source = f"use std::tools::ShellTool;\nfn main() -> Result<Nil, Error> {{\n{body}\nOk()\n}}\n"
    (folder / "main.conc").write_text(source)
    return concerto("run", "main.conc", "--offline", *flags, cwd=folder, **extra)


def test_output_without_a_shell(tmp_path: Path) -> None:
    body = """
    println(ShellTool.exec("printf '%s|' 'a b' $HOME *")?);
    println(ShellTool.exec("cat")? == "");
    println(ShellTool.exec("pwd")?);
    """
    done = run(tmp_path, body, "--allow-run=printf,cat,pwd")
    assert done.out == f"a b|$HOME|*|\ntrue\n{os.path.realpath(tmp_path)}\n\n"


def test_a_failing_command_tells_what_it_wrote(tmp_path: Path) -> None:
    body = """
    let e = ShellTool.exec("sh -c 'echo out; echo err >&2; exit 3'").unwrap_err();
    println(e.variant, e.message);
    println(ShellTool.exec("sh -c 'kill -9 $$'").unwrap_err().message);
    println(ShellTool.exec("no-such-command").unwrap_err().message);
    """
    done = run(tmp_path, body, "--allow-run")
    assert done.out == (
        "ExecutionFailed exit status 3: out\nerr\n\n"
        "ended by signal 9: \n"
        "the command no-such-command does not start: No such file or directory\n"
    )


def test_time_limit_ends_all_of_it(tmp_path: Path) -> None:
    """Also what the command started itself."""
    body = """
    let e = ShellTool.exec("sh -c 'sleep 60 & echo $! > pid; wait'", timeout_ms: 500).unwrap_err();
    println(e.variant, e.message);
    """
    done = run(tmp_path, body, "--allow-run=sh")
    assert done.out == "Timeout sh has not ended within 500 ms\n"
    pid = (tmp_path / "pid").read_text().strip()
    assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_environment_of_a_command(tmp_path: Path) -> None:
    done = run(tmp_path, 'println(ShellTool.exec("env")?);', "--allow-run=env", API_KEY="abcdefgh", LANG="C")
    names = {line.partition("=")[0] for line in done.out.split()}
    assert names <= {"PATH", "HOME", "LANG", "TMPDIR"}
    assert {"PATH", "LANG"} <= names


def test_too_much_output(tmp_path: Path) -> None:
    body = 'println(ShellTool.exec("head -c 2000000 /dev/zero").unwrap_err().message);'
    assert run(tmp_path, body, "--allow-run=head").out == "head wrote more than 1048576 bytes\n"
