"""Standard input of programs: of a host, of the command line, of pipes that stay open (L-7.11)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import concerto
import pytest

PROGRAM = concerto.compile(
    """
use std::io;
pub fn line() -> Result<String?, IoError> { Ok(io::read_line()? ?? nil) }
pub fn rest() -> Result<String, IoError> { io::read_all() }
pub fn raw() -> Result<Bytes, IoError> { io::read_bytes() }
"""
)
CHAT = """
use std::io;
fn main() -> Result<Nil, Error> {
    loop {
        print("> ");
        match io::read_line()? { Some(line) => println("heard ${line}"), None => break }
    }
    Ok()
}
"""
BESIDE = """
use std::io;
use std::time;
async fn ticks() -> String { let mut n = 0; for _i in 0..5 { time::sleep(20); n += 1; } "${n} ticks" }
async fn line() -> String { match io::read_line() { Ok(Some(l)) => l, _ => "none" } }
async fn main() { println(race(line(), ticks())); }
"""


def test_of_a_host() -> None:
    with PROGRAM.session(stdin="one\r\ntwo\nthree\nfour") as session:
        assert [session.call("line"), session.call("line"), session.call("rest")] == ["one", "two", "three\nfour"]
        assert session.call("line") is None and session.call("raw") == b""
    with PROGRAM.session(stdin=b"\xff\nok") as session:
        with pytest.raises(concerto.ProgramError, match="IoError::InvalidUtf8"):
            session.call("line")
        assert session.call("line") == "ok"
    with PROGRAM.session() as session, pytest.raises(concerto.ProgramError, match="IoError::Unavailable"):
        session.call("line")
    with pytest.raises(ValueError, match="stdin is 3"):
        PROGRAM.session(stdin=3)


def test_longer_than_a_string_may_be() -> None:
    with PROGRAM.session(stdin="x" * 50 + "\nshort\n", budgets=concerto.Budgets(value_bytes=20)) as session:
        with pytest.raises(concerto.ProgramError, match="IoError::TooLong"):
            session.call("line")
        assert session.call("line") == "short"


def test_of_a_descriptor() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, PROGRAM.session(stdin=stream) as session:
        os.write(writing, b"first\nsec")
        assert session.call("line") == "first"
        os.write(writing, b"ond\n")
        os.close(writing)
        assert session.call("line") == "second" and session.call("line") is None


def test_of_a_stream_that_the_host_has_closed() -> None:
    with open(os.devnull, "rb") as stream:
        pass
    with PROGRAM.session(stdin=stream) as session:
        for _ in range(2):
            with pytest.raises(concerto.ProgramError, match="IoError::Io: standard input: the stream is closed"):
                asyncio.run(asyncio.wait_for(session.acall("line"), 10))


def test_of_a_stream_whose_descriptor_fails() -> None:
    class Stream:
        def fileno(self) -> int:
            raise RuntimeError("no descriptor today")

    with PROGRAM.session(stdin=Stream()) as session, pytest.raises(RuntimeError, match="no descriptor today"):
        asyncio.run(asyncio.wait_for(session.acall("line"), 10))


def concerto_run(tmp_path: Path, source: str, *flags: str) -> subprocess.Popen[str]:
    path = tmp_path / "main.conc"
    path.write_text(source)
    command = [sys.executable, "-m", "concerto", "run", str(path), *flags]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, cwd=tmp_path, **pipes)


@pytest.mark.parametrize("flags", [(), ("--offline",)])
def test_a_conversation_on_the_command_line(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with concerto_run(tmp_path, CHAT, *flags) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read(2) == "> "  # asked before anything was said
        process.stdin.write("hi\n")
        process.stdin.flush()
        assert process.stdout.readline() == "heard hi\n"
        process.stdin.write("you")
        process.stdin.close()
        assert process.stdout.read() == "> heard you\n> " and process.wait(timeout=20) == 0


def test_other_tasks_run_meanwhile_and_the_process_ends(tmp_path: Path) -> None:
    began = time.monotonic()
    with concerto_run(tmp_path, BESIDE) as process:
        assert process.wait(timeout=20) == 0, process.stderr and process.stderr.read()
        assert process.stdout is not None and process.stdout.read() == "5 ticks\n"
    assert time.monotonic() - began < 15
