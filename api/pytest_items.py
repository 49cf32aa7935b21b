"""Tests of .conc files as items of pytest (P-2.5).

Hands on `SourceFile` to the plugin. A file is collected as by `concerto test`: its tests run in the program that holds it, which
is that of another file where it is a module of that. Each test has a session of its own; whether it passes is decided by the
runtime (`session/testing`), and a failure is made of what the Python API gives (`TestResult`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ..compiler.incremental import CheckCache
from ..compiler.manifest_file import find_manifest
from ..compiler.project import locate
from ..compiler.roots import extents_of, roots_of, sources_under
from ..vm.bytecode import image as im
from .options import Options, permitted
from .program import Program, _python_functions, compile
from .results import CompileError, TestResult, tested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Root(NamedTuple):
    """A program that holds a file: the path of its own file, the folder that the names of its files begin at, and the compiled
    program."""

    path: str
    folder: str
    program: Program


class Found(NamedTuple):
    """A test of a file: the program that it runs in, and the line in which its body begins, from 1, or 0 where that is
    unknown."""

    root: Root
    test: im.Test
    line: int


class Programs:
    """The programs of a run of pytest: each is compiled once, and each folder is looked through once. `highest` is the folder
    above which no file is looked for, that of the run."""

    def __init__(self, highest: Path) -> None:
        self._highest = os.path.realpath(highest)
        self._roots: dict[str, list[str]] = {}
        self._of_folder: dict[str, dict[str, set[str]]] = {}
        self._compiled: dict[str, Root] = {}

    def tests_of(self, path: Path) -> Iterator[Found]:
        """Yield the tests of a file in their order, those of one program after those of another. Raise CompileError for a program
        with errors, and OSError for a file that cannot be read."""
        real = os.path.realpath(path)
        for root in self._holders(real):
            for test in root.program._linked.image.tests:
                place = root.program._linked.start_of(test.function)
                file, line = (root.path, 0) if place is None else (os.path.join(root.folder, place[0]), place[1])
                if os.path.realpath(file) == real:
                    yield Found(root, test, line)

    def _holders(self, real: str) -> list[Root]:
        """Return the programs that `concerto test` would run the tests of a file in: its own, or those that it is a module of."""
        programs = self._programs_around(real)
        holders = [path for path, files in programs.items() if path == real or real in files]
        return [self._root(path) for path in holders or [real]]

    def _programs_around(self, real: str) -> dict[str, set[str]]:
        """Return the programs near a file by the paths of their own files, with the paths of their modules. They are those below
        the manifest; without one, modules lie below their program, which is so in a folder around the file."""
        folder = os.path.dirname(real)
        if folder not in self._of_folder:
            manifest = find_manifest(folder)
            if manifest is not None:
                paths = sources_under(os.path.dirname(manifest))
            else:
                paths = [path for each in _upwards(folder, self._highest) for path in _sources_in(each)]
            sources = {path: data for path in map(os.path.realpath, paths) if (data := _content(path)) is not None}
            extents = {path: extent.others for path, extent in extents_of(sources, CheckCache().parse).items()}
            self._of_folder[folder] = {path: extents[path] for path in roots_of(extents)}
        return self._of_folder[folder]

    def _root(self, path: str) -> Root:
        if path not in self._compiled:
            self._compiled[path] = Root(path, locate(path).root, compile(path=path))
        return self._compiled[path]


def _upwards(folder: str, highest: str) -> Iterator[str]:
    """Yield a folder and those around it, up to `highest`; the folder alone where it does not lie below that."""
    yield folder
    while folder != highest and folder.startswith(os.path.join(highest, "")):
        folder = os.path.dirname(folder)
        yield folder


def _sources_in(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".conc")]


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None  # no program for the others; pytest tells of it in its turn


PROGRAMS = pytest.StashKey[Programs]()


class SourceFile(pytest.File):
    """A .conc file."""

    def collect(self) -> Iterator[SourceTest]:
        """Yield the tests of the file. Raise CollectError, which pytest shows, where there is no program."""
        programs = self.config.stash.setdefault(PROGRAMS, Programs(self.config.rootpath))
        try:
            found = list(programs.tests_of(self.path))
        except CompileError as refused:
            raise self.CollectError(str(refused)) from None
        except OSError as error:
            raise self.CollectError(f"cannot read {self.path}: {error.strerror or error}") from None
        roots = {one.root.path for one in found}
        used: dict[str, int] = {}
        for one in found:
            name = " ".join(one.test.description.split())
            if len(roots) > 1:
                name += f" [in {os.path.relpath(one.root.path, self.path.parent)}]"
            used[name] = used.get(name, 0) + 1
            if used[name] > 1:
                name += f" [{used[name]}]"
            yield SourceTest.from_parent(self, name=name, found=one)


class TestFailed(Exception):
    """A test of a program failed; the argument is its TestResult."""

    __test__ = False  # not a test of pytest


class SourceTest(pytest.Item):
    """One `@test` function. Its name is the description, which `-k` chooses by; the name of the function is a keyword too."""

    def __init__(self, *, found: Found, **named: Any) -> None:
        super().__init__(**named)
        self.found = found
        label = found.root.program._linked.codes[found.test.function].label
        self.extra_keyword_matches.add(label.rpartition("::")[2])

    def runtest(self) -> None:
        """Run the test in a session of its own. Raise TestFailed with its result where it fails, and TypeError, ValueError or
        OSError as `Program.test` does."""
        program, tests = self.found.root.program, [self.found.test]
        (result,) = tested(program._linked, tests, self._options(), program._project, _python_functions).tests
        emits = "".join(f"[emit:{emit.channel}] {emit.payload!r}\n" for emit in result.emits)
        if emits:
            self.add_report_section("call", "emits", emits)
        if not result.passed:
            raise TestFailed(result)

    def _options(self) -> Options:
        """Return the options of the conftest over those of the command line, the manifest, and the pins beside it."""
        given = self.config.hook.pytest_concerto_options(path=self.path, config=self.config)
        options: Options = {"offline": not self.config.getoption("--concerto-online")}
        manifest = locate(self.found.root.path).manifest
        if manifest is not None:
            libraries = [library.name for library in self.found.root.program._linked.image.libraries]
            options["permissions"] = permitted(manifest, libraries)
        if self.found.root.program._linked.image.mcp:
            from ..runtime.mcp.pins import FILE  # a program without servers needs none

            pins = os.path.join(self.found.root.program._project or os.path.dirname(self.found.root.path), FILE)
            if os.path.exists(pins):
                options["mcp_pins"] = pins
        return {**options, **(given or {})}

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what pytest prints of a failure: its place in the .conc file, the line, and what went wrong."""
        if isinstance(excinfo.value, TestFailed):
            return Failure(excinfo.value.args[0], self.found.root.folder, self.path, self.found.line)
        if isinstance(excinfo.value, TypeError | ValueError):  # of options
            return f"{type(excinfo.value).__name__}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the test is, in lines from 0, and its name."""
        return self.path, max(self.found.line - 1, 0), self.name


class Crash(NamedTuple):
    """What the short summary of pytest, and JUnit XML, show of a failure."""

    message: str


class Failure:
    """A failed test for the terminal; `str()` is its text for other processes. `reprcrash` is read by pytest."""

    def __init__(self, result: TestResult, folder: str, path: Path, line: int) -> None:
        self.reprcrash = Crash(result.failure or "")
        named = os.path.relpath(path)
        if result.place is not None:
            named, line = os.path.relpath(os.path.join(folder, result.place[0])), result.place[1]
        self._source = [f">   {text}" for text in _line_of(named, line)]
        self._said = [f"E   {text}" for text in self.reprcrash.message.splitlines()]
        self._place = f"{named}:{line}" + (f":{result.place[2]}" if result.place is not None else "")
        self._way = [
            f"  at {frame.function} ({os.path.relpath(os.path.join(folder, frame.file))}:{frame.line}:{frame.column})"
            for frame in result.trace
        ]

    def toterminal(self, terminal: Any) -> None:
        """Write the text, with the colours of pytest, to its TerminalWriter."""
        for line in self._source:
            terminal.line(line)
        for line in self._said:
            terminal.line(line, bold=True, red=True)
        terminal.line()
        terminal.line(self._place, bold=True)
        for line in self._way:
            terminal.line(line)

    def __str__(self) -> str:
        return "\n".join([*self._source, *self._said, "", self._place, *self._way])


def _line_of(path: str, line: int) -> list[str]:
    """Return the line of a file as a list of one, an empty list where it has none such."""
    data = _content(path)
    lines = (data or b"").decode("utf-8", "replace").splitlines()
    return lines[line - 1 : line] if line > 0 else []
