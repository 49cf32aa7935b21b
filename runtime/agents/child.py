"""A child process with three streams: lines out of it, text into it, its stderr kept, and an end that leaves nothing running
(O-7.14, O-7.15, G-11.1 to G-11.3).

Hands on `Child` and what can happen to one as exceptions.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import NamedTuple

from ..access.roots import require_processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Which processes belong to a child: its session, what descends from it, and what left both (G-11.2). A daemon, whose parents
# have all ended, comes to this process where that has adopted orphans. Its parents are forgotten then: it belongs to the
# children that were there when it started, and is left to the last of them to stop. Where the system has no /proc `psutil` is
# asked; without it only the process group is known.

PROC = "/proc"
ZOMBIES = ("Z", "X")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux
_adopting = False
_leaders: dict[int, int] = {}  # the children that are not stopped yet, with the tick at which each started


class Row(NamedTuple):
    """What the system says of a process; `started` in ticks since it began."""

    state: str
    parent: int
    session: int
    started: int


def adopt_orphans() -> None:
    """For a process that starts no others than children: what a host starts beside them would be taken for theirs."""
    global _adopting
    if sys.platform == "linux" and not _adopting:
        import ctypes

        _adopting = ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0


def begin(pid: int) -> None:
    """A child has started."""
    _leaders[pid] = row.started if (row := _row(str(pid))) is not None else 0


def end(pid: int) -> None:
    """A child is stopped. Orphans that ended are asked for, so that they are gone."""
    _leaders.pop(pid, None)
    if _adopting:
        for other, row in _table().items():
            if row.parent == os.getpid() and row.state in ZOMBIES and other not in _leaders and other != pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(other, os.WNOHANG)


def _adopted(pid: int, table: Mapping[int, Row]) -> set[int]:
    """The orphans that no other child can have started."""
    if not _adopting:
        return set()
    others = [started for leader, started in _leaders.items() if leader != pid]
    own = {other for other, row in table.items() if row.parent == os.getpid() and other not in _leaders and other != pid}
    return {other for other in own if all(started > table[other].started for started in others)}


def _row(name: str) -> Row | None:
    try:
        with open(f"{PROC}/{name}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return Row(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile


def _table() -> dict[int, Row]:
    """Every process by its id; empty where nobody can tell."""
    if not os.path.isdir(PROC):
        return _listed()
    found = {}
    for name in os.listdir(PROC):
        if name.isdecimal():
            row = _row(name)
            if row is not None:
                found[int(name)] = row
    return found


def _listed() -> dict[int, Row]:
    """The same where the system has no /proc (macOS, BSD), from the extra `processes`."""
    try:
        import psutil
    except ImportError:
        return {}
    found = {}
    for process in psutil.process_iter(["ppid", "status", "create_time"]):
        told = process.info
        with contextlib.suppress(OSError):  # it ended meanwhile, or is nobody's business
            state = ZOMBIES[0] if told["status"] == psutil.STATUS_ZOMBIE else ""
            found[process.pid] = Row(state, told["ppid"] or 0, os.getsid(process.pid), int((told["create_time"] or 0) * 100))
    return found


def descendants(pid: int) -> set[int]:
    """The live processes of the session that `pid` leads, those that descend from it and have left the session, and orphans."""
    table = _table()
    if not table:
        return {pid}
    family = {pid} | {other for other, row in table.items() if row.session == pid} | _adopted(pid, table)
    grown = True
    while grown:
        more = {other for other, row in table.items() if row.parent in family} - family
        family |= more
        grown = bool(more)
    return {other for other in family if other in table and table[other].state not in ZOMBIES}


def alive(pid: int, family: set[int]) -> bool:
    """Whether anything of the family runs; what waits to be reaped does not."""
    table = _table()
    if table:
        return bool(descendants(pid)) or any(table[other].state not in ZOMBIES for other in family if other in table)
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


LONGEST_LINE = 1024 * 1024
STDERR_KEPT = 64 * 1024
TERMINATION_GRACE = 5.0
EXIT_GRACE = 0.5  # between the end of output and the exit, and for output that still comes after the exit
POLL = 0.02


class ChildEnded(Exception):
    """The process has exited, or closed its output: no line will come."""


class LineTooLong(Exception):
    """A line of more than LONGEST_LINE bytes."""


class LineNotText(Exception):
    """A line that is no UTF-8."""


class OutputTooLong(Exception):
    """More output than the caller takes."""


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells of the exit at once: a grandchild may keep the streams open for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(LONGEST_LINE + 1, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class Child:
    """A running process, the leader of a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process, streams: _Streams) -> None:
        self._process = process
        self._streams = streams
        self._stderr = bytearray()
        self._draining = asyncio.ensure_future(self._drain())
        self._stopping: asyncio.Future[None] | None = None

    @classmethod
    async def start(cls, arguments: Sequence[str], env: Mapping[str, str], folder: str) -> Child:
        """Raises OSError or ValueError when it cannot be started, Unsupported where it could not be ended. Who is cancelled
        meanwhile leaves no process: it is stopped as soon as it has been started."""
        require_processes("a process")
        starting = asyncio.ensure_future(cls._start(arguments, env, folder))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            while not starting.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((starting,))
            if not starting.cancelled() and starting.exception() is None:
                await starting.result().stop()
            raise

    @classmethod
    async def _start(cls, arguments: Sequence[str], env: Mapping[str, str], folder: str) -> Child:
        loop = asyncio.get_running_loop()
        pipe = asyncio.subprocess.PIPE
        transport, streams = await loop.subprocess_exec(
            lambda: _Streams(loop), *arguments, stdin=pipe, stdout=pipe, stderr=pipe,
            env=dict(env), cwd=folder, start_new_session=True, close_fds=True,
        )  # fmt: skip
        begin(transport.get_pid())
        return cls(asyncio.subprocess.Process(transport, streams, loop), streams)

    @classmethod
    async def started(cls, owner: str, arguments: Sequence[str], env: Mapping[str, str], folder: str) -> Child:
        """`start` in the form that a host may replace (`Host.children`)."""
        return await cls.start(arguments, env, folder)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative number of the signal that ended it."""
        return self._process.returncode

    @property
    def ended(self) -> bool:
        return self._streams.exited.is_set() or self._stopping is not None

    @property
    def stderr(self) -> str:
        """The last of what it wrote there."""
        return self._stderr.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        """Raises ChildEnded when nobody reads any more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode("utf-8", "surrogatepass"))
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise ChildEnded from None

    async def line(self) -> str:
        """The next line without its end. A line that is cut off by the end of output is none."""
        reading = asyncio.ensure_future(self._read_line())
        exiting = asyncio.ensure_future(self._streams.exited.wait())
        try:
            await asyncio.wait((reading, exiting), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():  # it has exited; what it wrote before is still on its way
                await asyncio.wait((reading,), timeout=EXIT_GRACE)
            if not reading.done():
                raise ChildEnded
            return reading.result()
        finally:
            exiting.cancel()
            reading.cancel()

    async def output(self, most: int) -> bytes:
        """All that it writes to the end of its life; it gets no input. Raises OutputTooLong. What a grandchild goes on writing
        after the exit is not waited for."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        kept = bytearray()
        reading = asyncio.ensure_future(self._collect(kept, most))
        exiting = asyncio.ensure_future(self._streams.exited.wait())
        try:
            await asyncio.wait((reading, exiting), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=EXIT_GRACE)
            if reading.done():
                reading.result()
            await exiting
            return bytes(kept)
        finally:
            exiting.cancel()
            reading.cancel()

    async def _collect(self, kept: bytearray, most: int) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionResetError):
            while chunk := await self._process.stdout.read(LONGEST_LINE):
                kept += chunk
                if len(kept) > most:
                    raise OutputTooLong

    async def _read_line(self) -> str:
        assert self._process.stdout is not None
        try:
            data = await self._process.stdout.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionResetError):
            raise ChildEnded from None
        except asyncio.LimitOverrunError:
            raise LineTooLong from None
        if len(data) > LONGEST_LINE + 1:
            raise LineTooLong
        try:
            return data[:-1].decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise LineNotText from None

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while chunk := await self._process.stderr.read(STDERR_KEPT):
                self._stderr += chunk
                del self._stderr[:-STDERR_KEPT]

    # ------------------------------------------------------------ the end

    async def end_of_output(self) -> None:
        """After ChildEnded: lets it exit by itself, then makes it, also for a caller that is cancelled meanwhile."""
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._streams.exited.wait(), EXIT_GRACE)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """SIGTERM to its group and whatever descends from it, SIGKILL after the grace; returns when all is over, also for a
        caller that is cancelled meanwhile."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop())
        cancelled = False
        while not self._stopping.done():
            try:
                await asyncio.shield(self._stopping)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    async def _stop(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        family = descendants(self.pid)
        self._signal(family, signal.SIGTERM)
        try:
            ended = await self._gone(family, TERMINATION_GRACE)
        except asyncio.CancelledError:  # a second interrupt: no time is left to be gentle
            self._signal(family | descendants(self.pid), signal.SIGKILL)
            with contextlib.suppress(TimeoutError):  # else asyncio closes its pipes when the loop is gone
                await asyncio.wait_for(self._streams.exited.wait(), EXIT_GRACE)
                self._process._transport.close()  # type: ignore[attr-defined]
            raise
        if not ended:
            family |= descendants(self.pid)
            self._signal(family, signal.SIGKILL)
            await self._gone(family, TERMINATION_GRACE)
        end(self.pid)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._draining, EXIT_GRACE)
        self._process._transport.close()  # type: ignore[attr-defined]

    def _signal(self, family: set[int], number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in family - {self.pid}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    async def _gone(self, family: set[int], seconds: float) -> bool:
        """Waits until the process is reaped and nothing of its family lives."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self._streams.exited.is_set() or alive(self.pid, family):
            if loop.time() >= until:
                return False
            await asyncio.sleep(POLL)
        return True
