"""Which processes belong to a child: its session, and what descends from it (G-11.2).

Where the system has no /proc only the process group is known. Must not know: who started them or why.
"""

from __future__ import annotations

import os

PROC = "/proc"
ZOMBIES = ("Z", "X")


def _table() -> dict[int, tuple[str, int, int]]:
    """State, parent and session of every process, by its id."""
    found = {}
    for name in os.listdir(PROC):
        if name.isdecimal():
            try:
                with open(f"{PROC}/{name}/stat", encoding="utf-8", errors="replace") as file:
                    state, parent, _, session, *_ = file.read().rpartition(")")[2].split()
            except (OSError, ValueError):
                continue  # it ended meanwhile
            found[int(name)] = (state, int(parent), int(session))
    return found


def descendants(pid: int) -> set[int]:
    """The live processes of the session that `pid` leads, and those that descend from it and have left the session."""
    if not os.path.isdir(PROC):
        return {pid}
    table = _table()
    family = {pid} | {other for other, (_, _, session) in table.items() if session == pid}
    grown = True
    while grown:
        more = {other for other, (_, parent, _) in table.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return {other for other in family if other in table and table[other][0] not in ZOMBIES}


def alive(pid: int, family: set[int]) -> bool:
    """Whether anything of the family runs; what waits to be reaped does not."""
    if os.path.isdir(PROC):
        return bool(descendants(pid)) or any(state not in ZOMBIES for state in map(_state, family) if state)
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _state(pid: int) -> str:
    """"" for a process that is gone."""
    try:
        with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""
