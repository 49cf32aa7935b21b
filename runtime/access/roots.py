"""Granted paths as open directories, so that what they name cannot change during a run (G-8.2).

Hands on `Roots`, which finds the `Root` that a path lies in, `flag` and `is_too_long` to `files.py`, which walks the path from
there; ANCHOR to that too and, with `beneath`, to the files of tests (`effects/tests.py`). What files and processes need of the
operating system is checked here too (G-8.12, G-11.4): `require_processes` goes to what starts processes, and `Unsupported`, which
is raised where something is missing, to those who tell of it. `real_path` goes to permissions and child processes
(`agents/children.py`). Which paths are granted is said by `permissions.py`, and nothing is read or written here.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


ATTEMPTS = 8  # to resolve links that somebody changes meanwhile
LONGEST = 4096  # bytes, as Linux has it; Python takes time with the square of the length to resolve one


def is_too_long(path: str) -> bool:
    """Return whether a path has more than LONGEST bytes in UTF-8, so that it is refused (L-7.3.5)."""
    return len(path) > LONGEST or len(path.encode("utf-8", "replace")) > LONGEST


def real_path(path: str) -> str:
    """Return the absolute path with its links resolved. A text that cannot be resolved, because it is no path, is too long, or
    has links that keep changing, is only made absolute. Nothing is raised, but for the OSError of a relative path whose working
    directory is gone."""
    if is_too_long(path):
        return os.path.abspath(path)
    for _ in range(ATTEMPTS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
        except ValueError:  # NUL
            break
    return os.path.abspath(path)


# What of the operating system the guarantees about files and processes rest on (G-8.12, G-11.4).

FILES = "O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC"
PROCESSES = "killpg setsid"
SIGNALS = "SIGTERM SIGKILL"
INSTEAD = "Linux, macOS or WSL have it"


class Unsupported(Exception):
    """This system has no way to do something safely. Its `message` is made of `what`, which names it, `missing`, the calls that
    the system lacks, and `otherwise`, another way."""

    def __init__(self, what: str, missing: str, otherwise: str) -> None:
        super().__init__(what)
        self.message = f"{what} needs {missing}, which this system ({sys.platform}) does not have: {INSTEAD}; {otherwise}"


def flag(name: str) -> int:
    """Return a flag of `os.open`, 0 where the system has none: there `require_files` keeps everything from being opened."""
    value: int = getattr(os, name, 0)
    return value


def require_files() -> None:
    """Raise Unsupported where a path cannot be walked without following links (G-8.2)."""
    missing = [name for name in FILES.split() if not hasattr(os, name)]
    if os.open not in os.supports_dir_fd:
        missing.append("paths relative to an open directory")
    if missing:
        otherwise = "or let the host give the texts to the program and take them from it, as arguments, emits or a tool"
        raise Unsupported("std::fs", ", ".join(missing), otherwise)


def require_processes(what: str) -> None:
    """Raise Unsupported where a process could not be ended with all that it starts (G-11.2); `what` names, for the message, what
    would start one."""
    missing = [name for name in PROCESSES.split() if not hasattr(os, name)]
    missing += [name for name in SIGNALS.split() if not hasattr(signal, name)]
    if missing:
        raise Unsupported(what, ", ".join(missing), "or reach an MCP server over HTTP, an agent by a tool of the host")


# A descriptor that only names a directory needs no right to list it.
ANCHOR = getattr(os, "O_PATH", os.O_RDONLY) | flag("O_DIRECTORY") | flag("O_CLOEXEC")


class Root:
    """One granted path. `fd` is a descriptor of the nearest directory at or above it that exists, `base` the real path of that
    directory, `tail` the components below it: the name of a file, or directories that do not exist yet. `written` is the path as
    it was given, which must be absolute and without `.` and `..`. Raises OSError when nothing can be opened."""

    __slots__ = ("fd", "written", "base", "tail")

    def __init__(self, path: str) -> None:
        self.written = path
        base = real_path(path)
        tail: list[str] = []
        while not os.path.isdir(base):  # a granted path need not exist yet: the program may be what makes it
            base, name = os.path.split(base)
            tail.insert(0, name)
        self.base = base
        self.tail = tuple(tail)
        self.fd = os.open(base, ANCHOR)

    @property
    def real(self) -> str:
        """Return the granted path with its links resolved."""
        return os.path.join(self.base, *self.tail)

    def below(self, path: str) -> list[str] | None:
        """Return the components from `fd` to an absolute path, None when it is not at or below the granted path."""
        for granted in (self.written, self.real):
            rest = beneath(granted, path)
            if rest is not None:
                return [*self.tail, *rest]
        return None

    def below_base(self, path: str) -> list[str] | None:
        """Return the components from `fd` to an absolute path that a link leads to, None when it does not lie below `base`."""
        return beneath(self.base, path)


def beneath(folder: str, path: str) -> list[str] | None:
    """Return the components of an absolute path below an absolute folder, an empty list for the folder itself; None when it lies
    elsewhere. Both are compared as texts: neither may have `.` or `..` in it."""
    if path == folder:
        return []
    start = folder if folder.endswith("/") else folder + "/"
    return path.removeprefix(start).split("/") if path.startswith(start) else None


class Roots:
    """The roots of one capability, one for each granted path that can be opened. `folder` is the directory that relative paths
    start from."""

    __slots__ = ("folder", "opened")

    def __init__(self, folder: str, granted: Iterable[str]) -> None:
        """Open the roots of the paths in `granted`. Raises Unsupported where the system cannot keep paths inside a root."""
        require_files()
        self.folder = folder
        self.opened: list[Root] = []
        for path in granted:
            with suppress(OSError):  # a path that cannot be opened cannot be reached either
                self.opened.append(Root(self.absolute(path)))

    def absolute(self, path: str) -> str:
        """Return a path as an absolute one without `.` and `..`, which are taken out of its text (L-7.3.5). Links are resolved
        later, on the way."""
        joined = os.path.normpath(os.path.join(self.folder, path))
        return "/" + joined.lstrip("/")  # POSIX keeps two leading slashes

    def find(self, path: str) -> Iterator[tuple[Root, list[str]]]:
        """Yield the roots that a path lies in, with the components from there: first by the path as it is written, then by its
        real path."""
        absolute = self.absolute(path)
        others: list[Root] = []
        for root in self.opened:
            components = root.below(absolute)
            if components is None:
                others.append(root)
            else:
                yield root, components
        real = real_path(absolute) if others else absolute
        for root in others:
            components = root.below(real)
            if components is not None:
                yield root, components

    def add(self, path: str) -> None:
        """Add a root, an absolute path of a directory that exists. OSError when it cannot be opened."""
        self.opened.append(Root(path))

    def close(self) -> None:
        """Close all descriptors."""
        for root in self.opened:
            os.close(root.fd)
        self.opened = []
