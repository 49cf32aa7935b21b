"""The outcomes of tests as JUnit XML, which build servers read (O-9.53). Must not know: how tests are run."""

from __future__ import annotations

import os
import re

from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from xml.etree.ElementTree import Element

    from ..runtime.testing import TestOutcome

    Row = tuple[str, TestOutcome, float]  # the program's path, the outcome, seconds

# What XML cannot hold, not even written as a number.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: str, rows: Iterable[Row]) -> None:
    """One suite per program, in the order of their tests."""
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
                    failure.text += "\n    at {}:{}:{}".format(*outcome.place)
    _totals(root, [row for tests in suites.values() for row in tests])
    _write(path, root)


def write_refused(path: str, programs: dict[str, list[str]]) -> None:
    """Programs with errors, which no test of the run was begun for: a suite each with one case, the lines of its errors in it."""
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
