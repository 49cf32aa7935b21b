"""Where a program's files lie: the project root on disk, and reading under it only (L-8.1.1, O-9.1, G-5.3).

Hands on `Location`, which names the compiled file relative to its root and reads the others. The only place of the compiler
that touches files. Must not know: what a source holds; of the manifest more than `[project] entry`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from .loading import Refused
from .parse import MAX_BYTES

MANIFEST = "Concerto.toml"


@dataclass(slots=True)
class Location:
    """The root, an absolute path without links, and the compiled file relative to it, parts joined by `/`."""

    root: str
    file: str

    def read(self, name: str) -> bytes | None:
        """A file under the root; None if there is none. Links that lead out of the root are refused (G-5.3)."""
        path = os.path.join(self.root, *name.split("/"))
        real = os.path.realpath(path)
        if not os.path.isfile(real) or not _spelled_so(path):
            return None
        if os.path.commonpath([self.root, real]) != self.root:
            raise Refused("it lies outside the project root")
        try:
            with open(real, "rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise Refused(error.strerror or str(error)) from None


def _spelled_so(path: str) -> bool:
    """Whether the directory lists the file under just this name: a system that ignores case must not change a program."""
    folder, name = os.path.split(path)
    if name == "mod.conc" and not _spelled_so(folder):
        return False
    return name in os.listdir(folder)


def locate(path: str) -> Location:
    """The project of a source file: its root is the directory of the manifest's entry, else of the file itself."""
    real = os.path.realpath(path)
    own = os.path.dirname(real)
    root = _entry_folder(own)
    if root is None or os.path.commonpath([root, real]) != root:
        root = own
    return Location(root, os.path.relpath(real, root).replace(os.sep, "/"))


def _entry_folder(folder: str) -> str | None:
    """The directory of the entry file that the first manifest in `folder` or above it names."""
    while True:
        manifest = os.path.join(folder, MANIFEST)
        if os.path.isfile(manifest):
            entry = _entry(manifest)
            return None if entry is None else os.path.dirname(os.path.realpath(os.path.join(folder, entry)))
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _entry(manifest: str) -> str | None:
    """`[project] entry`; None when it is not there or the manifest cannot be read."""
    import tomllib

    try:
        with open(manifest, "rb") as file:
            project = tomllib.load(file).get("project")
    except (OSError, ValueError):
        return None
    entry = project.get("entry") if isinstance(project, dict) else None
    return entry if isinstance(entry, str) else None
