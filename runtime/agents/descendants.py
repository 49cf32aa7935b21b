"""Which processes belong to a child: its session, what descends from it, and what left both (G-11.2).

A daemon, whose parents have all ended, comes to this process where that has adopted orphans. Its parents are forgotten then: it
belongs to the children that were there when it started, and is left to the last of them to stop. Where the system has no /proc
`psutil` is asked; without it only the process group is known. Must not know: who started them or why.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
