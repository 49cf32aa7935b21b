"""Who holds a lease between processes: a name that tells whether its process still lives (M-8.13).

A process that was killed gives no lease back. On Linux its name says machine, process and when that began, so that others on the
same machine need not wait for the lease to end; elsewhere nothing is known of it. Must not know: stores, memories.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

PROC = Path("/proc")
STATE, BEGUN = 0, 19
"""Places in /proc/PID/stat behind the name of the program (proc(5): fields 3 and 22)."""


def owner_name() -> str:
    """Unique, of this process."""
    number = os.getpid()
    return f"{_machine()}/{number}/{_begun(number) or ''}/{os.urandom(8).hex()}"


def has_died(owner: str) -> bool:
    """Whether its process is known to be over."""
    machine, _, rest = owner.partition("/")
    number, _, rest = rest.partition("/")
    begun = rest.partition("/")[0]
    if not begun or not number.isdecimal() or machine != _machine():
        return False
    return _begun(int(number)) != begun


@cache
def _machine() -> str:
    """This start of this machine, and where its process numbers count; "" where that cannot be told."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}-{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _begun(number: int) -> str | None:
    """When a process began, in the machine's own count; None for one that is over."""
    try:
        fields = (PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[STATE] in "ZX" else fields[BEGUN]
