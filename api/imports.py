"""Finds and loads programs for `import` (P-2.1): `import desk` takes `desk.conc`, or the folder `desk` with a `mod.conc`.

Hands on `install` to `concerto.importer`, which is what users import, and the `Finder` to tests. A file of Python of the same
name wins where it stands at the same place of the path or before it, as it would among files of Python. The module is made by
`python_modules`, its program kept by `compiled_files`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .results import CompileError


class Finder:
    """A finder of `sys.meta_path`; `release` is the version of this package."""

    def __init__(self, release: str) -> None:
        self.release = release

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how the program `name` is loaded, None where there is none: `path` are the folders to look in, those of
        `sys.path` by default."""
        last = name.rpartition(".")[2]
        if not last.isascii() or not last.isidentifier():
            return None
        before: list[str] = []
        for entry in list(sys.path if path is None else path):
            if not isinstance(entry, str):
                continue
            before.append(entry)
            found = _source_in(entry, last)
            if found is None:
                continue
            python = PathFinder.find_spec(name, before)
            # A folder without __init__.py is a namespace to Python, and has no loader.
            return None if python is not None and python.loader is not None else self._spec(name, found)
        return None

    def _spec(self, name: str, source: str) -> ModuleSpec:
        is_package = os.path.basename(source) == "mod.conc"
        loader: Any = Loader(source, self.release)
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def invalidate_caches(self) -> None:
        """Do nothing: folders are looked at anew each time."""


class Loader:
    """Loads the program of one source into its module."""

    def __init__(self, source: str, release: str) -> None:
        self.source = source
        self.release = release

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None: Python makes the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module. Raise CompileError, which is an ImportError, for a source with errors, ImportError for one that cannot
        be read, and RecordingError as `python_modules.fill`."""
        from .compiled_files import program_of_file
        from .python_modules import fill

        try:
            program = program_of_file(self.source, self.release)
        except CompileError as refused:
            refused.name, refused.path = module.__name__, self.source
            raise refused from None
        except OSError as error:
            message = f"{self.source} cannot be read: {error.strerror or error}"
            raise ImportError(message, name=module.__name__, path=self.source) from None
        fill(module, program)

    def get_source(self, name: str) -> str:
        """Return the text of the source. Raise ImportError for one that cannot be read."""
        try:
            with open(self.source, encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise ImportError(f"{self.source} cannot be read: {error}", name=name, path=self.source) from None


IGNORES_CASE = sys.platform in ("win32", "cygwin", "darwin")  # the file systems that are usual there


def _source_in(entry: str, name: str) -> str | None:
    """Return the source of a program in a folder, None where it has none that is spelt just so: a file system that ignores case
    must not change what is imported."""
    for parts in ((f"{name}.conc",), (name, "mod.conc")):
        path = os.path.join(entry, *parts)
        if os.path.isfile(path) and (not IGNORES_CASE or _lists(entry or ".", parts)):
            try:
                return os.path.abspath(path)
            except OSError:  # the working directory has been removed
                return None
    return None


def _lists(folder: str, parts: Iterable[str]) -> bool:
    """Return whether folders list a path just so, part by part."""
    for part in parts:
        try:
            if part not in os.listdir(folder):
                return False
        except OSError:
            return True  # it may be entered, and not listed
        folder = os.path.join(folder, part)
    return True


def install(release: str) -> Finder:
    """Let `import` find programs from now on, and return the finder; a second call changes nothing. It stands before the finder
    of Python's own files, to which a folder with a `mod.conc` would be an empty namespace."""
    path: list[Any] = sys.meta_path
    for finder in path:
        if isinstance(finder, Finder):
            return finder
    place = path.index(PathFinder) if PathFinder in path else len(path)
    path.insert(place, Finder(release))
    made: Finder = path[place]
    return made
