"""Granted paths as open directories, so that what they name cannot change under a run (G-8.2).

Hands on `Root` and `Roots`, which finds the root a path lies in. Must not know: what is done with a path.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..links import real_path
from ..system import flag, require_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A descriptor that only names a directory needs no right to list it.
ANCHOR = getattr(os, "O_PATH", os.O_RDONLY) | flag("O_DIRECTORY") | flag("O_CLOEXEC")


class Root:
    """One granted path. `fd` is the nearest directory above or at it that exists, `tail` what of the path lies beneath: the
    name of a file, or what is still to be made."""

    __slots__ = ("fd", "written", "base", "tail")

    def __init__(self, path: str) -> None:
        self.written = path
        base = real_path(path)
        tail: list[str] = []
        while not os.path.isdir(base):
            base, name = os.path.split(base)
            tail.insert(0, name)
        self.base = base
        self.tail = tuple(tail)
        self.fd = os.open(base, ANCHOR)

    @property
    def real(self) -> str:
        return os.path.join(self.base, *self.tail)

    def below(self, path: str) -> list[str] | None:
        """The components from `fd` to an absolute path at or below the granted one, else None."""
        for own in (self.written, self.real):
            rest = beneath(own, path)
            if rest is not None:
                return [*self.tail, *rest]
        return None

    def below_base(self, path: str) -> list[str] | None:
        """The components from `fd` to an absolute path, where a link leads."""
        return beneath(self.base, path)


def beneath(folder: str, path: str) -> list[str] | None:
    if path == folder:
        return []
    start = folder if folder.endswith("/") else folder + "/"
    return path.removeprefix(start).split("/") if path.startswith(start) else None


class Roots:
    """The roots of one capability; `folder` is the directory that relative paths start from."""

    __slots__ = ("folder", "opened")

    def __init__(self, folder: str, granted: Iterable[str]) -> None:
        """Raises Unsupported where paths cannot be kept in."""
        require_files()
        self.folder = folder
        self.opened: list[Root] = []
        for path in granted:
            with suppress(OSError):  # what cannot be opened is not reached either
                self.opened.append(Root(self.absolute(path)))

    def absolute(self, path: str) -> str:
        """`.` and `..` are taken out of the text; links are resolved later, on the way."""
        joined = os.path.normpath(os.path.join(self.folder, path))
        return "/" + joined.lstrip("/")  # POSIX keeps two leading slashes

    def find(self, path: str) -> Iterator[tuple[Root, list[str]]]:
        """The roots that a path lies in, each with the components from there: as written; of the others after its links."""
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
        """One more root, whose directory is there."""
        self.opened.append(Root(path))

    def close(self) -> None:
        for root in self.opened:
            os.close(root.fd)
        self.opened = []
