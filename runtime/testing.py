"""The tests of a program, each in a fresh session (O-8.3).

Hands on `TestOutcome`s. Must not know: how outcomes are shown.
"""

from __future__ import annotations

from .performers.tests import EMITS
from .session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..vm.bytecode.image import Test
    from ..vm.link import Program
    from .host import Host
    from .session import Outcome

    Place = tuple[str, int, int]


class TestOutcome:
    """`failure`: the text of what went wrong, None when the test passes; `place` the file, line and column where it
    panicked or its error was made, else where the body of the test begins; `way` of an error where that was, and what it passed
    (L-5.11.3); `emits` the program emits as (channel, value)."""

    __slots__ = ("description", "failure", "place", "expected", "emits", "way")

    def __init__(
        self, test: Test, failure: str | None, place: Place | None, emits: list[tuple[str, Any]], way: tuple[Any, ...] = ()
    ) -> None:
        self.description = test.description
        self.failure = failure
        self.place = place
        self.expected = test.expect_fail
        self.emits = emits
        self.way = way

    @property
    def passed(self) -> bool:
        return self.failure is None


def chosen(program: Program, part: str) -> Iterator[Test]:
    """The tests whose description contains the text, in source order."""
    return (test for test in program.image.tests if part in test.description)


def run_tests(
    program: Program,
    tests: Iterator[Test],
    host: Callable[[Callable[[str, Any, bool], None]], Host],
    run: Callable[[Session, int], Outcome],
) -> Iterator[TestOutcome]:
    """`host` makes the host of one session from the sink of its emits; `run` runs the function of a number in a session.

    Raises ConfigFailure for connections that cannot be used."""
    for test in tests:
        emits: list[tuple[str, Any]] = []

        def keep(channel: str, value: Any, by_runtime: bool, emits: list[tuple[str, Any]] = emits) -> None:
            if not by_runtime:
                emits.append((channel, value))

        made = host(keep)
        made.volatile = True  # every test has fresh stores (M-8.15)
        session = Session(program, made)
        session.state[EMITS] = emits
        outcome = run(session, test.function)
        yield judged(test, outcome, emits, session.redactor.clean, program.start_of(test.function))


def judged(
    test: Test, outcome: Outcome, emits: list[tuple[str, Any]], clean: Callable[[str], str], start: Place | None = None
) -> TestOutcome:
    """What the end of its session means for a test (O-8.2, O-8.5); `start` is where its body begins."""
    text, trace = _failure(outcome), outcome.trace
    place = trace[0][1:] if trace else start
    way = trace if outcome.panic is None else ()
    text = None if text is None else clean(text)
    if not test.expect_fail:
        return TestOutcome(test, text, place, emits, way)
    if text is None:
        return TestOutcome(test, "expected to fail", None, emits)
    if test.expected is not None and test.expected not in text:
        return TestOutcome(test, f"expected a failure with {test.expected!r}, found: {text}", place, emits, way)
    return TestOutcome(test, None, None, emits)


def _failure(outcome: Outcome) -> str | None:
    """Message of what ended a test, None for one that ended well."""
    if outcome.panic is not None:
        return outcome.panic.message
    return outcome.message if outcome.exit_code else None
