"""A child process: lines out of it, text into it, the end of its stderr, and a stop that leaves nothing running (O-7.14, O-7.15,
G-11.1 to G-11.3).

Hands on `Child` to agents, MCP servers, ShellTool (`effects/files.py`) and what journals agents (`journal/peers.py`), with the
exceptions that its methods raise (`ChildEnded`, `LineTooLong`, `LineNotText`, `OutputTooLong`) and `last_words`; and
`adopt_orphans` to `cli/run.py`. Whether a process may be started is decided in `children.py`: nothing here asks for a permission.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import sys
import time
from typing import NamedTuple

from ...vm.values.text import CUT
from ..access.roots import require_processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# Which processes belong to a child (G-11.2): those of its session, those that descend from it, and daemons, which have left both.
# When its parents have ended, a daemon becomes a child of this process, if it adopts orphans. Nobody knows then who started it:
# it may belong to each child that was there when it started, and is stopped with the last of them. On systems without /proc the
# table of processes comes from `psutil`; without that only the process group is known.

PROC = "/proc"
ZOMBIES = ("Z", "X")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux
_adopting = False  # whether this process is the parent of orphans below it
_leaders: dict[int, int] = {}  # by the id of each child that is not stopped yet, the tick at which it started
_starting: dict[object, int] = {}  # for each child that has no known id yet, a tick before which it did not start


class Row(NamedTuple):
    """What the system says of a process. `state` is the letter of `/proc/PID/stat`; of `psutil` only that of a zombie is known.
    `parent` and `session` are ids of processes. `started` is in clock ticks since the system started, from `psutil` in
    hundredths of a second since 1970: it is only compared."""

    state: str
    parent: int
    session: int
    started: int


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it; on other systems than Linux do nothing. Only for a process that starts
    nothing but children: what a host starts besides would be taken for theirs."""
    global _adopting
    if sys.platform == "linux" and not _adopting:
        import ctypes

        _adopting = ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0


def begin(pid: int) -> None:
    """Note that the child with this id has started."""
    _leaders[pid] = row.started if (row := _row(str(pid))) is not None else 0


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Note that a child is about to start, as a context manager around its `begin`: the stop of another must not take it for an
    orphan."""
    token = object()
    # the clock that the system reckons a process's start by, read before it starts
    ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") if sys.platform == "linux" else 0
    _starting[token] = int(ticks)
    try:
        yield
    finally:
        del _starting[token]


def end(pid: int) -> None:
    """Note that the child with this id is stopped, and reap adopted orphans that have ended."""
    _leaders.pop(pid, None)
    if _adopting:
        table = _table()
        for other in _orphans(pid, table):
            if table[other].state in ZOMBIES:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(other, os.WNOHANG)


def _orphans(pid: int, table: Mapping[int, Row]) -> set[int]:
    """Return the children of this process, but for `pid`, that are neither running children nor may be one that is starting."""
    soonest = min(list(_starting.values()), default=math.inf)
    return {
        other
        for other, row in table.items()
        if row.parent == os.getpid() and other not in _leaders and other != pid and row.started < soonest
    }


def _adopted(pid: int, table: Mapping[int, Row]) -> set[int]:
    """Return the adopted orphans that no other running child can have started: they started before all the others."""
    if not _adopting:
        return set()
    own = _orphans(pid, table)
    others = [started for leader, started in list(_leaders.items()) if leader != pid]
    return {other for other in own if all(started > table[other].started for started in others)}


def _row(name: str) -> Row | None:
    try:
        with open(f"{PROC}/{name}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return Row(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile


def _table() -> dict[int, Row]:
    """Return every process by its id; an empty table when nobody can tell."""
    if not os.path.isdir(PROC):
        return _psutil_table()
    table = {}
    for name in os.listdir(PROC):
        if name.isdecimal():
            row = _row(name)
            if row is not None:
                table[int(name)] = row
    return table


def _psutil_table() -> dict[int, Row]:
    """Return the same on a system without /proc (macOS, BSD), from the extra `processes`."""
    try:
        import psutil
    except ImportError:
        return {}
    table = {}
    for process in psutil.process_iter(["ppid", "status", "create_time"]):
        info = process.info
        with contextlib.suppress(OSError):  # it has ended meanwhile, or belongs to another user
            state = ZOMBIES[0] if info["status"] == psutil.STATUS_ZOMBIE else ""
            table[process.pid] = Row(state, info["ppid"] or 0, os.getsid(process.pid), int((info["create_time"] or 0) * 100))
    return table


def descendants(pid: int) -> set[int]:
    """Return the ids of the live processes that belong to the child with the process id `pid`, its own included while it lives;
    its own alone when there is no table of processes."""
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
    """Return whether any process runs that belongs to the child `pid` or is one of `family`; one that only waits to be reaped
    does not run. Without a table of processes the process group alone is looked at."""
    table = _table()
    if table:
        return bool(descendants(pid)) or any(table[other].state not in ZOMBIES for other in family if other in table)
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


LONGEST_LINE = 1024 * 1024  # bytes
LAST_WORDS = 200  # characters of stderr in a message
STDERR_KEPT = 64 * 1024  # bytes, the last ones
TERMINATION_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
EXIT_GRACE = 0.5  # seconds between the end of output and the exit, and for output that still comes after the exit
POLL = 0.02  # seconds between two looks whether a family is gone


class ChildEnded(Exception):
    """The process has exited, or has closed its end of the pipe: no more line will come, or nobody reads what is written."""


class LineTooLong(Exception):
    """A line has more than LONGEST_LINE bytes."""


class LineNotText(Exception):
    """A line is no UTF-8."""


class OutputTooLong(Exception):
    """The output has more bytes than the caller takes."""


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """Sets `exited` at the exit of the process, not at the end of its streams: a grandchild may keep them open for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(LONGEST_LINE + 1, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class Child:
    """A running process, the leader of a session of its own. Whoever starts one must `stop` it. It belongs to the event loop in
    which it was started: at the end of `asyncio.run` it is stopped, and in another loop it counts as ended."""

    def __init__(self, process: asyncio.subprocess.Process, streams: _Streams) -> None:
        self._process = process
        self._streams = streams
        self._stderr = bytearray()
        self._is_cut = False  # more than that was written
        self._loop = asyncio.get_running_loop()
        self._draining = asyncio.ensure_future(self._drain())
        self._keeping = asyncio.ensure_future(self._keep())
        self._stopping: asyncio.Future[None] | None = None

    @classmethod
    async def start(
        cls, arguments: Sequence[str], env: Mapping[str, str], folder: str, executable: str | None = None
    ) -> Child:
        """Start a process in the directory `folder` and return it. `arguments` begin with the command; `env` is its whole
        environment. `executable` is the file that is executed, where that is not the one that the process is told of as its
        command.

        Raises OSError or ValueError when it cannot be started, and `roots.Unsupported` on a system where it could not be ended. A
        caller that is cancelled meanwhile leaves no process behind: it is stopped as soon as it has started."""
        require_processes("a process")
        start = asyncio.ensure_future(cls._start(arguments, env, folder, executable))
        try:
            return await asyncio.shield(start)
        except asyncio.CancelledError:
            while not start.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((start,))
            if not start.cancelled() and start.exception() is None:
                await start.result().stop()
            raise

    @classmethod
    async def _start(cls, arguments: Sequence[str], env: Mapping[str, str], folder: str, executable: str | None) -> Child:
        loop = asyncio.get_running_loop()
        pipe = asyncio.subprocess.PIPE
        with starting():
            transport, streams = await loop.subprocess_exec(
                lambda: _Streams(loop), *arguments, stdin=pipe, stdout=pipe, stderr=pipe,
                env=dict(env), cwd=folder, start_new_session=True, close_fds=True, executable=executable,
            )  # fmt: skip
            begin(transport.get_pid())
        return cls(asyncio.subprocess.Process(transport, streams, loop), streams)

    @classmethod
    async def started(cls, owner: str, arguments: Sequence[str], env: Mapping[str, str], folder: str) -> Child:
        """Do what `start` does, with the parameters of `Host.children`, the function by which a host starts processes of its own
        in place of this one. `owner`, the name of the agent or tool, is not used."""
        return await cls.start(arguments, env, folder)

    @property
    def pid(self) -> int:
        """Return the id of the process, which is that of its session and process group too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs, and the number of a signal that ended it as a negative one."""
        return self._process.returncode

    @property
    def ended(self) -> bool:
        """Return whether it has exited, or `stop` was called, or it belongs to another event loop."""
        return self._streams.exited.is_set() or self._stopping is not None or self._is_elsewhere()

    async def has_ended(self) -> bool:
        """Return `ended`; a stand-in for a child may have to ask for it."""
        return self.ended

    @property
    def stderr(self) -> str:
        """Return the end of what it has written to its standard error so far, at most STDERR_KEPT bytes; what is no UTF-8 is
        U+FFFD. CUT, an ellipsis, stands in place of the first character when there was more."""
        text = self._stderr.decode("utf-8", "replace")
        return CUT + text[1:] if self._is_cut else text

    async def write(self, text: str) -> None:
        """Write a text, as UTF-8, to its standard input; wait without a time limit while the pipe is full. Raises ChildEnded when
        nobody reads it any more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode("utf-8", "surrogatepass"))
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise ChildEnded from None

    async def line(self) -> str:
        """Wait for the next line of its standard output and return it without its line end (LF or CRLF). A line that the end of
        output cuts off does not count.

        Raises ChildEnded at the end of output, or when it has exited and nothing comes for EXIT_GRACE seconds; LineTooLong for
        more than LONGEST_LINE bytes; LineNotText for what is no UTF-8. There is no time limit."""
        reading = asyncio.ensure_future(self._read_line())
        exiting = asyncio.ensure_future(self._streams.exited.wait())
        try:
            await asyncio.wait((reading, exiting), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():  # it has exited, but what it wrote before may still be on its way
                await asyncio.wait((reading,), timeout=EXIT_GRACE)
            if not reading.done():
                raise ChildEnded
            return reading.result()
        finally:
            exiting.cancel()
            reading.cancel()

    async def output(self, most: int) -> bytes:
        """Close its standard input, wait for its exit without a time limit, and return all that it wrote to its standard output,
        at most `most` bytes. Raises OutputTooLong for more, and leaves it running then.

        What a grandchild goes on writing after the exit is waited for EXIT_GRACE seconds at most."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        content = bytearray()
        reading = asyncio.ensure_future(self._collect(content, most))
        exiting = asyncio.ensure_future(self._streams.exited.wait())
        try:
            await asyncio.wait((reading, exiting), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=EXIT_GRACE)
            if reading.done():
                reading.result()
            await exiting
            return bytes(content)
        finally:
            exiting.cancel()
            reading.cancel()

    async def _collect(self, content: bytearray, most: int) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionResetError):
            while chunk := await self._process.stdout.read(LONGEST_LINE):
                content += chunk
                if len(content) > most:
                    raise OutputTooLong

    async def _read_line(self) -> str:
        assert self._process.stdout is not None
        try:
            data = await self._process.stdout.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionResetError):
            raise ChildEnded from None
        except asyncio.LimitOverrunError:
            raise LineTooLong from None
        line = data[:-1].removesuffix(b"\r")
        if len(line) > LONGEST_LINE:
            raise LineTooLong
        try:
            return line.decode()
        except UnicodeDecodeError:
            raise LineNotText from None

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while chunk := await self._process.stderr.read(STDERR_KEPT):
                self._stderr += chunk
                self._is_cut = self._is_cut or len(self._stderr) > STDERR_KEPT
                del self._stderr[:-STDERR_KEPT]

    # ------------------------------------------------------------ the end

    async def _keep(self) -> None:
        """Stop it when the event loop ends before somebody else does: `asyncio.run` cancels what is left, and waits for that."""
        try:
            await self._streams.exited.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise

    def _is_elsewhere(self) -> bool:
        return asyncio.get_running_loop() is not self._loop

    def _leave(self) -> None:
        """End a process of another event loop, which is not waited for: that loop may be over."""
        if self._stopping is None:
            self._signal(descendants(self.pid), signal.SIGKILL)
            end(self.pid)
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._process._transport.close)  # type: ignore[attr-defined]

    async def end_of_output(self) -> None:
        """After ChildEnded, let it exit by itself within EXIT_GRACE seconds, then `stop` it, also when the caller is cancelled
        meanwhile."""
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._streams.exited.wait(), EXIT_GRACE)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End the process and all that belongs to it: SIGTERM, and SIGKILL after TERMINATION_GRACE seconds. Returns when all have
        ended, or TERMINATION_GRACE seconds after the SIGKILL at the latest, and then at most EXIT_GRACE seconds later, for the
        end of its standard error. A second call waits for the first one. In another event loop it is killed, and not waited for.

        A caller that is cancelled meanwhile waits to the end too; then it raises CancelledError."""
        if self._is_elsewhere():
            self._leave()
            return
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
        # before the signal: when parents have ended, nobody can tell any more whose children the rest are
        family = descendants(self.pid)
        self._signal(family, signal.SIGTERM)
        try:
            ended = await self._gone(family, TERMINATION_GRACE)
        except asyncio.CancelledError:  # a second interrupt of the user: there is no time left to wait
            self._signal(family | descendants(self.pid), signal.SIGKILL)
            with contextlib.suppress(TimeoutError):  # asyncio would close its pipes when the loop is gone, and complain
                await asyncio.wait_for(self._streams.exited.wait(), EXIT_GRACE)
                self._process._transport.close()  # type: ignore[attr-defined]
            raise
        if not ended:
            family |= descendants(self.pid)
            self._signal(family, signal.SIGKILL)
            await self._gone(family, TERMINATION_GRACE)
        end(self.pid)
        await asyncio.wait((self._draining,), timeout=EXIT_GRACE)
        self._draining.cancel()
        self._process._transport.close()  # type: ignore[attr-defined]

    def _signal(self, family: set[int], number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in family - {self.pid}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    async def _gone(self, family: set[int], seconds: float) -> bool:
        """Wait until the process is reaped and nothing of its family runs; False when that takes longer than `seconds`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self._streams.exited.is_set() or alive(self.pid, family):
            if loop.time() >= until:
                return False
            await asyncio.sleep(POLL)
        return True


def last_words(stderr: str) -> str:
    """Return the last line of a stderr that is not blank, of at most LAST_WORDS characters, as what goes on in a message: most
    programs say there why they end. "" where there is none."""
    last = next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")
    return f"; its stderr ends: {last if len(last) <= LAST_WORDS else last[:LAST_WORDS] + CUT}" if last else ""
