"""Where the manifest of a project is (O-9.1). It stands apart from the reader of manifests (`manifest.py`), so that who only asks
whether it is still the same loads no compiler.

Hands on `NAME` and `find_manifest` to the compiler, the API and the command line. Nothing is read here.
"""

from __future__ import annotations

import os

NAME = "Concerto.toml"


def find_manifest(folder: str) -> str | None:
    """Return the path of the first manifest in a directory, given by an absolute path, or above it (O-9.1); None without one."""
    while True:
        path = os.path.join(folder, NAME)
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
