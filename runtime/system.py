"""What of the operating system the guarantees about files and processes rest on, and what is said where it is missing (G-8.12,
G-11.4).

Hands on `Unsupported`, `flag`, `require_files` and `require_processes`. Must not know: files, processes, values.
"""

from __future__ import annotations

import os
import signal
import sys

FILES = "O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC"
PROCESSES = "killpg setsid"
SIGNALS = "SIGTERM SIGKILL"
INSTEAD = "Linux, macOS or WSL have it"


class Unsupported(Exception):
    """This system has no way to do it safely; `message` says what is missing and what to do instead."""

    def __init__(self, what: str, missing: str, otherwise: str) -> None:
        super().__init__(what)
        self.message = f"{what} needs {missing}, which this system ({sys.platform}) does not have: {INSTEAD}; {otherwise}"


def flag(name: str) -> int:
    """A flag of `os.open`; 0 where the system has none: nothing is opened there (`require_files`)."""
    found: int = getattr(os, name, 0)
    return found


def require_files() -> None:
    """Raises Unsupported where a path cannot be walked without following links (G-8.2)."""
    missing = [name for name in FILES.split() if not hasattr(os, name)]
    if os.open not in os.supports_dir_fd:
        missing.append("paths relative to an open directory")
    if missing:
        otherwise = "or let the host give the texts to the program and take them from it, as arguments, emits or a tool"
        raise Unsupported("std::fs", ", ".join(missing), otherwise)


def require_processes(what: str) -> None:
    """Raises Unsupported where a process could not be ended with all that it starts (G-11.2)."""
    missing = [name for name in PROCESSES.split() if not hasattr(os, name)]
    missing += [name for name in SIGNALS.split() if not hasattr(signal, name)]
    if missing:
        raise Unsupported(what, ", ".join(missing), "or reach an MCP server over HTTP, an agent by a tool of the host")
