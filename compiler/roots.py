"""Which of some sources are programs of their own, and which are modules of others: the tests of a file run in the program that
holds it, in each one where several do (O-9.16, P-2.5).

Hands on `sources_under`, `extents_of` and `roots_of` to the verb `test` and to the plugin of pytest. Nothing is checked here:
files are only parsed. Which files a program leads to is said by `project.py`, what is done with it is for the caller.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from .collector import gc_pause
from .diagnostics import Diagnostics
from .installed import installed_library
from .project import Location, ParsedFile, Parser, load, locate, no_files
from .syntax import ast


class Extent(NamedTuple):
    """The files of one program: the real paths of those besides its root, whose tests run with it, and whether any file has
    tests."""

    others: set[str]
    has_tests: bool


def extents_of(sources: dict[str, bytes], parse: Parser) -> dict[str, Extent]:
    """Return the extent of the program of each source, by its path as it was named; `sources` has the bytes. The path `-` is that
    of standard input, whose program is one file. Below one project root each file is read and parsed once, however many programs
    it belongs to. Nothing is checked: what is wrong with a file is for the compilation of the roots to find."""
    files: dict[tuple[str, str], ParsedFile] = {}
    contents: dict[tuple[str, str], bytes | None] = {}
    real: dict[tuple[str, str], str] = {}
    tested: dict[tuple[str, str], bool] = {}

    def extent(path: str, data: bytes) -> Extent:
        location = Location("", path) if path == "-" else locate(path)
        root = location.root

        def known(name: str) -> bytes | None:
            if (root, name) not in contents:
                contents[root, name] = location.read(name)
            return contents[root, name]

        def parsed(name: str, data: bytes, with_heads: bool) -> ParsedFile:
            key = root, name
            if key not in files:
                files[key] = parse(name, data, with_heads)
                tested[key] = _has_tests(files[key].tree)
                real[key] = os.path.realpath(os.path.join(root, *name.split("/")))
            return files[key]

        # Each program is loaded from its own root: what a name of a module means depends on where that lies.
        project = load(location.file, data, no_files if path == "-" else known, Diagnostics(), parsed, installed_library)
        # Tests in files of libraries are for their authors (P-3.1).
        names = [(root, name) for name in project.files if name not in project.file_libraries]
        return Extent({real[key] for key in names if key[1] != location.file}, any(tested[key] for key in names))

    with gc_pause():
        return {path: extent(path, data) for path, data in sources.items()}


def _has_tests(tree: ast.Program | None) -> bool:
    items = () if tree is None else ast.items_of(tree.items)
    decorated = (item for item in items if isinstance(item, ast.Function))
    return any(decorator.name.text == "test" for item in decorated for decorator in item.decorators)


def roots_of(includes: dict[str, set[str]]) -> list[str]:
    """Return the sources to take as roots, in the order given: those that no larger program among them holds already. `includes`
    has for each source, as it was named, the real paths of the other files of its program; of two names of one file the first
    counts. A module of two roots is in both programs. A circle of imports that nobody else imports has one of its files as
    root."""
    chosen: set[str] = set()
    covered: set[str] = set()
    # The program of an importer holds more files than those of what it imports.
    for path in sorted(includes, key=lambda path: -len(includes[path])):
        if os.path.realpath(path) not in covered:
            chosen.add(path)
            covered |= includes[path] | {os.path.realpath(path)}  # which may be named in another way, too
    return [path for path in includes if path in chosen]


def sources_under(path: str) -> list[str]:
    """Return the path alone, whatever it is, if it is no directory, else the paths of all sources (.conc) below it, those of a
    folder before those of its subfolders, each sorted by name; hidden directories, links to directories, and directories that
    cannot be read are left out."""
    if not os.path.isdir(path):
        return [path]
    sources = []
    for folder, inner, files in os.walk(path):
        # Assigning to the slice tells os.walk where to go on.
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        sources += [os.path.normpath(os.path.join(folder, name)) for name in sorted(files) if name.endswith(".conc")]
    return sources
