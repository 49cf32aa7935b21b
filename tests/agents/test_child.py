"""Child processes: lines, floods, exits, and ends that leave nothing running (O-7.14, O-7.15, G-11.1 to G-11.3)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from typing import Any

import pytest
from concerto.runtime.agents import child
from concerto.runtime.agents import child as children
from concerto.runtime.agents.child import Child, ChildEnded, LineTooLong

from .children import ECHO, arguments, gone, run

CYCLES = int(os.environ.get("CONCERTO_CYCLES", "20"))
IGNORES_SIGTERM = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
time.sleep(600)
"""
SHOWS_ITSELF = """
import os, sys
print(sorted(map(int, os.listdir('/proc/self/fd'))), sys.argv[1:], os.getsid(0) == os.getpid(), flush=True)
"""
PARENT = """
import subprocess, sys, time
inner = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(600)'], start_new_session=%s)
print(inner.pid, flush=True)
%s
"""


async def started(source: str) -> Child:
    return await Child.start(arguments(source), {"PATH": os.environ["PATH"]}, ".")


def test_a_line_goes_in_and_one_comes_out() -> None:
    async def talk() -> Any:
        child = await started(ECHO)
        await child.write("über\n")
        line = await child.line()
        await child.stop()
        return line, child.exit_code, gone(child.pid)

    assert run(talk()) == ("got über", -15, True)


def test_stderr_is_drained_and_its_end_kept() -> None:
    source = "import sys\nsys.stderr.write('x' * 3_000_000 + 'the end')\nsys.stderr.flush()\nprint('done', flush=True)"

    async def talk() -> Any:
        child = await started(source)
        line = await child.line()
        await child.end_of_output()
        return line, child.exit_code, child.stderr

    line, code, stderr = run(talk())
    assert (line, code) == ("done", 0)
    assert stderr.endswith("xthe end") and len(stderr) == 64 * 1024


def test_a_line_cut_off_by_the_exit_is_none() -> None:
    async def talk() -> Any:
        child = await started("import os, sys\nsys.stdout.write('half')\nsys.stdout.flush()\nos._exit(3)")
        with pytest.raises(ChildEnded):
            await child.line()
        await child.end_of_output()
        return child.exit_code, gone(child.pid)

    assert run(talk()) == (3, True)


def test_a_pipe_that_is_reset_is_the_end_of_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reset(separator: bytes) -> bytes:
        raise ConnectionResetError

    async def talk() -> None:
        child = await started(ECHO)
        assert child._process.stdout is not None
        monkeypatch.setattr(child._process.stdout, "readuntil", reset)
        try:
            with pytest.raises(ChildEnded):
                await child.line()
        finally:
            await child.stop()

    run(talk())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("length, legal", [(1024 * 1024, True), (1024 * 1024 + 1, False), (9_000_000, False)])
def test_a_line_has_at_most_a_mebibyte(length: int, legal: bool, end: str) -> None:
    async def talk() -> Any:
        child = await started(f"print('x' * {length}, end={end!r}, flush=True)")
        try:
            return len(await child.line())
        except LineTooLong:
            return None
        finally:
            await child.stop()

    assert run(talk()) == (length if legal else None)


STOP_WHILE_ANOTHER_STARTS = """
import asyncio, os, sys
from concerto.runtime.agents import child

async def main():
    child.adopt_orphans()
    first = await child.Child.start([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, ".")
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec

    async def slowly(*arguments, **options):
        started = await start(*arguments, **options)
        await first.stop()
        return started

    loop.subprocess_exec = slowly
    second = await child.Child.start([sys.executable, "-c", "print(input())"], os.environ, ".")
    await second.write("alive\\n")
    print(await second.line())
    await second.stop()
    print(child._starting, child._leaders)

asyncio.run(main())
"""


def test_a_stop_spares_a_child_that_is_only_just_starting() -> None:
    """In a process that adopts orphans a child without a known id looks like one."""
    command = [sys.executable, "-c", STOP_WHILE_ANOTHER_STARTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("alive\n{} {}\n", "")


def test_what_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "TERMINATION_GRACE", 0.2)

    async def talk() -> Any:
        child = await started(IGNORES_SIGTERM)
        await child.line()
        await child.stop()
        return child.exit_code, gone(child.pid)

    assert run(talk()) == (-9, True)


@pytest.mark.parametrize("listed", [True, False])
def test_grandchildren_end_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch, listed: bool) -> None:
    """With psutil also those with a session of their own; without it those of the process group."""
    monkeypatch.setattr(child, "PROC", "/no-such-folder")
    if listed:
        pytest.importorskip("psutil")
    else:
        monkeypatch.setitem(sys.modules, "psutil", None)

    async def talk() -> Any:
        child = await started(PARENT % (listed, "time.sleep(600)"))
        inner = int(await child.line())
        before = gone(inner)
        await child.stop()
        return before, gone(inner), gone(child.pid)

    assert run(talk()) == (False, True, True)


@pytest.mark.parametrize("own_session", [False, True])
@pytest.mark.parametrize("ending", ["time.sleep(600)", "time.sleep(0.05)"])
def test_grandchildren_end_too(own_session: bool, ending: str) -> None:
    if own_session and ending != "time.sleep(600)":
        pytest.skip("what has left session and parents is found by the command only: tests/runtime/test_hostile_children.py")

    async def talk() -> Any:
        child = await started(PARENT % (own_session, ending))
        inner = int(await child.line())
        before = gone(inner)
        await child.stop()
        return before, gone(inner), gone(child.pid)

    assert run(talk()) == (False, True, True)


def test_an_exit_is_noticed_while_a_grandchild_keeps_the_output_open() -> None:
    async def talk() -> Any:
        child = await started(PARENT % (False, ""))
        inner = int(await child.line())
        with pytest.raises(ChildEnded):
            await child.line()
        await child.end_of_output()
        return child.exit_code, gone(inner)

    assert run(talk()) == (0, True)


@pytest.mark.parametrize("after", [0, 0.02])
def test_who_is_cancelled_while_it_starts_leaves_no_process(after: float, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    monkeypatch.setattr(children, "begin", begun.append)

    async def talk() -> Any:
        starting = asyncio.ensure_future(started(ECHO))
        await asyncio.sleep(after)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await starting).stop()
        return [gone(pid) for pid in begun]

    assert all(run(talk()))


def test_who_is_cancelled_after_the_output_was_closed_leaves_no_process() -> None:
    async def talk() -> Any:
        child = await started("import os, time; os.close(1); time.sleep(600)")
        with pytest.raises(ChildEnded):
            await child.line()
        waiting = asyncio.ensure_future(child.end_of_output())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return gone(child.pid)

    assert run(talk())


def test_a_cancelled_stop_still_ends_the_process() -> None:
    async def talk() -> Any:
        child = await started(ECHO)
        stopping = asyncio.ensure_future(child.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        return gone(child.pid)

    assert run(talk()) is True


def test_no_descriptors_and_no_shell() -> None:
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)

    async def talk() -> Any:
        child = await Child.start(
            [*arguments(SHOWS_ITSELF), "$HOME; ls"], {"PATH": os.environ["PATH"]}, "."
        )
        try:
            return await child.line()
        finally:
            await child.stop()

    try:
        assert run(talk()) == "[0, 1, 2, 3] ['$HOME; ls'] True"  # 3 is the directory that is being listed
    finally:
        os.close(held)


def test_starting_and_stopping_leaves_nothing() -> None:
    """CONCERTO_CYCLES=500 for the long run."""

    async def cycles() -> list[int]:
        pids = []
        for _ in range(CYCLES):
            child = await started(ECHO)
            await child.write("x\n")
            await child.line()
            await child.stop()
            pids.append(child.pid)
        return pids

    before = len(os.listdir("/proc/self/fd"))
    pids = run(cycles())
    assert all(map(gone, pids)) and len(os.listdir("/proc/self/fd")) <= before
