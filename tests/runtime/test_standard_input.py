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
from concerto.runtime.effects.standard_input import SystemInput

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


class Run:
    """What a `take` needs of the run that it is for."""

    def __init__(self) -> None:
        self.work = self
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future


def given(body: Any) -> Any:
    """What an asynchronous test returns: `body(source, write)` has the reading and the writing end of a pipe."""
    reading, writing = os.pipe()

    async def main() -> Any:
        with os.fdopen(reading, "rb") as stream:
            source, run = SystemInput(stream), Run()

            def take(whole: bool = False, limit: int = 100) -> asyncio.Task[Any]:
                return asyncio.ensure_future(source.take(run, whole, limit))  # type: ignore[arg-type]

            try:
                return await asyncio.wait_for(body(take, lambda text: os.write(writing, text)), 20)
            finally:
                os.close(writing)
                await asyncio.sleep(0.05)  # the thread sees the end

    return asyncio.run(main())


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_what_was_read_for_a_task_that_is_cancelled_goes_to_the_next_one() -> None:
    async def body(take: Any, write: Any) -> list[Any]:
        first, second, third = take(), take(), take()
        await asyncio.sleep(0.05)
        write(b"one\n")
        time.sleep(0.2)  # the thread has read it, and the loop does not know yet
        await cancelled(first)
        write(b"two\nthree\n")
        return [await second, await third, await take()]

    assert given(body) == [b"one\n", b"two\n", b"three\n"]


def test_a_piece_of_a_line_is_not_lost_either() -> None:
    async def body(take: Any, write: Any) -> list[Any]:
        first = take()
        write(b"one, ")
        await asyncio.sleep(0.1)
        await cancelled(first)
        all_of_it = take(True)
        await asyncio.sleep(0.1)
        await cancelled(all_of_it)
        write(b"two\n")
        return [await take()]

    assert given(body) == [b"one, two\n"]


def test_a_line_that_is_too_long_is_so_for_the_next_task_too() -> None:
    async def body(take: Any, write: Any) -> list[Any]:
        first = take(limit=3)
        await asyncio.sleep(0.05)
        write(b"a long line\nok\n")
        time.sleep(0.2)
        first.cancel()
        await asyncio.sleep(0)
        begun = take(limit=3)
        outcomes = [await begun, await take(limit=3)]
        part = take(limit=3)
        write(b"another lo")
        await asyncio.sleep(0.1)
        await cancelled(part)
        write(b"ng one\nok\n")
        return [*outcomes, await take(limit=3), await take(limit=3)]

    outcomes = given(body)
    assert [one if isinstance(one, bytes) else type(one).__name__ for one in outcomes] == ["TooLong", b"ok\n", "TooLong", b"ok\n"]


def test_a_broken_output_is_no_failure_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was printed before is written out before the input is read."""

    class Output:
        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    with open(os.devnull, "rb") as stream, PROGRAM.session(stdin=stream) as session:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", Output())
            with pytest.raises(BrokenPipeError):
                session.call("line")
        assert session.call("line") is None


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
