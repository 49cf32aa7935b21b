"""Where a program's files lie: the project root on disk, and reading under it only (L-8.1.1, O-9.1, G-5.3).

Hands on `Location`, which names the compiled file relative to its root and reads the others. The only place of the compiler
that touches files, with `manifest`. Must not know: what a source holds; of the manifest more than its entry.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from .loading import Refused
from .manifest import Manifest, find_manifest
from .parse import MAX_BYTES


@dataclass(slots=True)
class Location:
    """The root, an absolute path without links, the compiled file relative to it, parts joined by `/`, and the manifest if there
    is one."""

    root: str
    file: str
    manifest: Manifest | None = None

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
    found = find_manifest(own)
    manifest = None if found is None else Manifest(found)
    root = own
    if manifest is not None and manifest.entry is not None:
        folder = os.path.dirname(os.path.realpath(os.path.join(manifest.folder, manifest.entry)))
        root = folder if os.path.commonpath([folder, real]) == folder else own
    return Location(root, os.path.relpath(real, root).replace(os.sep, "/"), manifest)
