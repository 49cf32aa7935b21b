"""`concerto test`: run the tests of sources and images, each in a fresh session (O-9.16, O-8.23, O-8.24).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. `programs_of` finds the programs, `_run` runs the tests of one, `Report` prints them as lines or JSON, and `write_junit`
writes them as XML. Running a test and deciding whether it passed is for the runtime (`session/testing`). `hint_of` and `words_of`
are imported for `main`, which looks for them in the module of a verb.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time

from . import exits
from .inputs import (
    compilation,
    entry_file,
    error_lines,
    file_namer,
    is_image,
    is_refused,
    program_of,
    read,
    refuse_damaged_image,
    report,
)  # fmt: skip
from .run import configure_run, host_of, limits_of, run_session, skip_waits, trace_lines, write_out
from .run import hint_of as hint_of
from .run import words_of as words_of
from .terminal import BOLD_RED, GREEN, Progress, painted, payload_text, printable_on
from .watch import add_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any
    from xml.etree.ElementTree import Element

    from ..compiler.pipeline import Compilation
    from ..runtime.host import Host
    from ..runtime.session.session import Outcome, Session
    from ..runtime.session.testing import TestOutcome
    from ..vm.bytecode.image import Test
    from ..vm.interp.link import Program


WORDS = {True: ("PASS", GREEN), False: ("FAIL", BOLD_RED)}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="FILE|DIR", nargs="*", help="sources, images, directories; default: the project")
    parser.add_argument("--filter", default="", metavar="S", help="only tests whose description contains S")
    parser.add_argument("--debug", action="store_true", help="show the emits of each test")
    parser.add_argument("--json", action="store_true", help="print the outcomes as one JSON array on stdout")
    parser.add_argument("--junit", metavar="OUT", help="write the outcomes as JUnit XML to OUT too")
    add_watch(parser)
    configure_run(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the tests; return 0 if there were some and all passed, else 1. Raise `Exit`: 66 for a path that cannot be read, 65 for
    a source with errors, 74 for an image that is refused, 2 for a wrong configuration and wrong files of flags, 1 where the file
    of `--junit` cannot be written; without paths, in a project without sources, as `entry_file`."""
    from ..compiler.roots import sources_under
    from ..runtime.session.testing import chosen

    if not arguments.paths and not sources_under(project_folder()):
        entry_file()  # says what is wrong with the project, as `concerto run` does
    programs = dict(programs_of(arguments))
    output = Report(arguments)
    output.begin(sum(1 for program in programs.values() for _ in chosen(program, arguments.filter)))
    for path, program in programs.items():
        _run(path, program, arguments, output)
    output.progress.clear()
    if arguments.junit is not None:
        write_junit(arguments.junit, output.rows)
    return output.end()


def _run(path: str, program: Program, arguments: argparse.Namespace, output: Report) -> None:
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.testing import chosen, run_tests

    def host(emit: Callable[[str, Any, bool], None]) -> Host:
        run_host = host_of(arguments, path, emit, program)
        # Offline hosts have their virtual clock already.
        if run_host.loop is None and run_host.new_loop is None:
            skip_waits(run_host)
        # with --json stdout is for the outcomes alone
        printed = (lambda text: sys.stderr.write(printable_on(text, sys.stderr))) if arguments.json else write_out
        run_host.print = lambda text: output.write_output(printed, text)
        return run_host

    def run(session: Session, function: int) -> Outcome:
        return run_session(session, **limits_of(arguments), function=function)

    named = file_namer(path, [library.name for library in program.image.libraries])
    try:
        for outcome in run_tests(program, output.announce(chosen(program, arguments.filter)), host, run):
            if outcome.place is not None:
                outcome.place = (named(outcome.place[0]), *outcome.place[1:])
            output.test(path, outcome, named)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None


# ---------------------------------------------------------------- programs


def programs_of(arguments: argparse.Namespace) -> Iterator[tuple[str, Program]]:
    """Yield the path and program of each root that has tests, and of each image, each once, in the order of the arguments; of a
    directory, its own sources before those of its subdirectories. Diagnostics of all roots go to stderr. A file that cannot be
    read, one called .concb that is no image, and errors in any source raise Exit before the first is yielded; with `--junit`
    errors are written there too, and Exit (1) comes where they cannot be. An image that is refused raises Exit (74) in its
    turn."""
    from ..compiler.incremental import CheckCache
    from ..compiler.roots import extents_of, roots_of, sources_under
    from ..vm.interp.link import load_image

    paths = [path for argument in arguments.paths or [project_folder()] for path in sources_under(argument)]
    contents = {path: read(path) for path in dict.fromkeys(paths)}  # `-` can be read only once
    sources = {path: data for path, data in contents.items() if not is_image(data)}
    for path in sources:
        refuse_damaged_image(path)
    cache = CheckCache()
    extents = extents_of(sources, cache.parse)
    roots: dict[str, Compilation] = {}
    for path in roots_of({path: extent.others for path, extent in extents.items()}):
        tested = extents[path].has_tests
        # A program without tests is checked alone: nobody runs it.
        roots[path] = compilation(path, sources[path], emit=tested, cache=None if tested else cache)
        report(path, roots[path], quiet=arguments.quiet)
    wrong = {path: result for path, result in roots.items() if is_refused(result, deny_warnings=False)}
    if wrong and arguments.junit is not None:
        write_refused(arguments.junit, {path: error_lines(path, result) for path, result in wrong.items()})
    if wrong:
        raise exits.Exit(exits.COMPILE_ERRORS)
    for path in contents:
        if path not in sources:
            yield path, program_of(path, contents[path])
        elif path in roots and (image := roots[path].image) is not None:
            yield path, load_image(image, trust="local")


def project_folder() -> str:
    """Return the directory of the nearest manifest, else this one (O-9.1)."""
    folder = os.getcwd()
    while not os.path.isfile(os.path.join(folder, "Concerto.toml")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return "."
        folder = parent
    return os.path.relpath(folder)


# ---------------------------------------------------------------- output


class Report:
    """The lines of O-8.23, or JSON; on a terminal also the test that runs (O-9.51). `arguments` are the flags. It is told of a
    run in this order: `begin`, then for each test what `announce` yields and `test`, and `end`. `rows` has of each test that has
    run the path of its program, the outcome, and the seconds that it took."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.rows: list[Row] = []
        self.error_traces: list[list[str]] = []  # of each test: the trace of its error
        self.silent = arguments.quiet or arguments.json
        self.progress = Progress()
        self.count = 0
        self.began = 0.0
        self.open_line = False  # whether the program that is tested left one

    @property
    def outcomes(self) -> list[TestOutcome]:
        """The outcomes of the tests so far, in the order in which they ran."""
        return [outcome for _, outcome, _ in self.rows]

    def announce(self, tests: Iterator[Test]) -> Iterator[Test]:
        """Yield the tests, each when it is its turn: its name is then shown, and its time begins."""
        for test in tests:
            self.progress.show(f"{len(self.rows) + 1}/{self.count}  {test.description}")
            self.began = time.perf_counter()
            yield test

    def write_output(self, write: Callable[[str], object], text: str) -> None:
        """Write what the program of a test prints."""
        self.progress.clear()
        write(text)
        self.open_line = not text.endswith("\n") if text else self.open_line

    def begin(self, count: int) -> None:
        """Print how many tests will run, unless with `--quiet` or `--json`."""
        self.count = count
        if not self.silent:
            print(f"running {count} test{'' if count == 1 else 's'}\n", flush=True)

    def test(self, path: str, outcome: TestOutcome, named: Callable[[str], str]) -> None:
        """Keep the outcome of a test for `end`, and print it, unless with `--quiet` or `--json`. `path` is that of the program,
        `named` returns a file as it is shown."""
        self.rows.append((path, outcome, time.perf_counter() - self.began))
        self.error_traces.append(trace_lines(outcome.way[1:], named=named))
        if self.silent:
            return
        self.progress.clear()
        self._end_line()
        if self.arguments.debug:
            self._emits(outcome)
        word, colour = WORDS[outcome.passed]
        expected = " (expected failure)" if outcome.expected else ""
        described = printable_on(f"{outcome.description}{expected}", sys.stdout)
        print(f"  {painted(word, colour, sys.stdout)}  {described}", flush=True)

    def end(self) -> int:
        """Print the summary, or with `--json` all outcomes; return 0 if there were tests and all passed, else 1."""
        failures = [(outcome, way) for outcome, way in zip(self.outcomes, self.error_traces, strict=True) if not outcome.passed]
        if self.arguments.json:
            print(json.dumps([as_json(outcome) for outcome in self.outcomes], ensure_ascii=False))
        else:
            self._summary(failures)
        return exits.OK if self.outcomes and not failures else exits.FAILED

    def _end_line(self) -> None:
        if self.open_line:
            print()
        self.open_line = False

    def _summary(self, failures: list[tuple[TestOutcome, list[str]]]) -> None:
        self._end_line()
        passed = len(self.outcomes) - len(failures)
        blank = "" if self.silent else "\n"
        word = "ok" if self.outcomes and not failures else "FAILED"
        print(f"{blank}test result: {word}. {passed} passed, {len(failures)} failed")
        if not self.outcomes:
            part = self.arguments.filter
            print(f"no description of a test contains {part!r}" if part else "no test found", file=sys.stderr)
        if failures:
            print("\nfailures:")
        for outcome, way in failures:
            self._print(f"  {outcome.description} -- {outcome.failure}")
            if outcome.place is not None:
                self._print("    at {}:{}:{}".format(*outcome.place))
            for line in way:
                self._print(f"  {line}")

    def _emits(self, outcome: TestOutcome) -> None:
        for channel, value in outcome.emits:
            self._print(f"        [emit:{channel}] {payload_text(value)}")

    def _print(self, line: str) -> None:
        """Print a line with words of the program, which are no orders to a terminal (G-10.4)."""
        print(printable_on(line, sys.stdout))


def as_json(outcome: TestOutcome) -> dict[str, Any]:
    """Return an outcome for `--json`; `failure` says what went wrong, null for a test that passed; `at` is `FILE:LINE:COL` or
    null."""
    place = None if outcome.place is None else "{}:{}:{}".format(*outcome.place)
    return {
        "description": outcome.description, "passed": outcome.passed, "expected_failure": outcome.expected,
        "failure": outcome.failure, "at": place,
    }  # fmt: skip


# JUnit XML.

if TYPE_CHECKING:
    Row = tuple[str, TestOutcome, float]  # the program's path, the outcome, seconds

# What XML cannot hold, not even written as a number.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: str, rows: Iterable[Row]) -> None:
    """Write the outcomes as JUnit XML, which build servers read (O-9.53): one suite for each program, in the order of their
    tests. Raise `Exit` (1) when the file cannot be written."""
    from xml.etree.ElementTree import Element, SubElement

    root = Element("testsuites", name="concerto")
    suites: dict[str, list[Row]] = {}
    for row in rows:
        suites.setdefault(row[0], []).append(row)
    for file, tests in suites.items():
        suite = SubElement(root, "testsuite", name=_text(file))
        _totals(suite, tests)
        for _, outcome, seconds in tests:
            case = SubElement(suite, "testcase", classname=_text(file), name=_text(outcome.description), time=f"{seconds:.3f}")
            if outcome.place is not None:
                case.set("file", _text(outcome.place[0]))
                case.set("line", str(outcome.place[1]))
            if outcome.failure is not None:
                failure = SubElement(case, "failure", message=_text(outcome.failure))
                failure.text = _text(outcome.failure)
                if outcome.place is not None:
                    failure.text += _text("\n    at {}:{}:{}".format(*outcome.place))
    _totals(root, [row for tests in suites.values() for row in tests])
    _write(path, root)


def write_refused(path: str, programs: dict[str, list[str]]) -> None:
    """Write programs with errors, for which no test was begun: a suite each with one case, which holds the lines of its
    errors; each program has at least one line. Raise `Exit` (1) when the file cannot be written."""
    from xml.etree.ElementTree import Element, SubElement

    root = Element("testsuites", name="concerto", tests=str(len(programs)), failures="0", errors=str(len(programs)), time="0.000")
    for file, lines in programs.items():
        suite = SubElement(root, "testsuite", name=_text(file), tests="1", failures="0", errors="1", time="0.000")
        case = SubElement(suite, "testcase", classname=_text(file), name="compiles", time="0.000", file=_text(file))
        SubElement(case, "error", message=_text(lines[0]), type="compile").text = _text("\n".join(lines))
    _write(path, root)


def _write(path: str, root: Element) -> None:
    from xml.etree.ElementTree import indent, tostring

    indent(root)
    try:
        with open(path, "wb") as target:
            target.write(b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="utf-8") + b"\n")
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {os.path.normpath(path)}: {error.strerror or error}") from None


def _totals(element: Element, rows: list[Row]) -> None:
    failed = sum(not outcome.passed for _, outcome, _ in rows)
    element.set("tests", str(len(rows)))
    element.set("failures", str(failed))
    element.set("errors", "0")
    element.set("time", f"{sum(seconds for _, _, seconds in rows):.3f}")


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
