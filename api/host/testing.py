"""The tests of a program, run by the host (O-8.3, O-9.6).

Hands on `TestReport` and what makes it. Must not know: how a report is shown.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ..runtime.budgets import Account
from ..runtime.errors import ConfigFailure
from ..runtime.host import Host
from ..runtime.session import Outcome, Session
from ..runtime.skipping_time import SkippingClock
from ..runtime.testing import TestOutcome, chosen, run_tests
from ..vm import link
from .conversion import to_python
from .errors import Frame, frames_of
from .options import Options, amounts, check_options, host_of, limits_of
from .results import Emit


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `failure`: what went wrong, None when it passed; `place`: file, line and column where it was raised;
    `expected_failure`: it passes by failing; `emits`: those of the program; `trace` of an error: where it was made, and what it
    passed."""

    __test__ = False  # not a test of pytest

    description: str
    passed: bool
    failure: str | None
    place: tuple[str, int, int] | None
    expected_failure: bool
    emits: list[Emit]
    trace: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class TestReport:
    """`passed` and `failed` count; `tests` are in the order of the source."""

    __test__ = False

    passed: int
    failed: int
    tests: tuple[TestResult, ...]


def tested(program: link.Program, part: str, options: Options, project: str | None) -> TestReport:
    """Each test in a session of its own, whose waits take no time unless a test asks a real provider (V-6.6)."""
    if "emit_mode" in options or "emit_timeout_ms" in options:
        raise TypeError("tests have no emit_mode and no emit_timeout_ms: nobody answers their emits")
    check_options(options)
    limits, shared, per_call = amounts(options.get("budgets"))

    def accounts() -> list[Account]:
        return [*(Account(each.tokens, each.cost, each.model_calls, "test") for each in per_call), *shared]

    def host(emit: Any) -> Host:
        made = host_of(options, emit, None, project)
        clock = SkippingClock()
        made.new_loop, made.now, made.wall = clock.new_loop, clock.now, clock.wall
        return made

    def run(session: Session, function: int) -> Outcome:
        with asyncio.Runner(loop_factory=session.host.new_loop) as runner:
            return runner.run(session.run(function=function, accounts=accounts(), **limits_of(limits)))

    try:
        results = tuple(map(_result, run_tests(program, chosen(program, part), host, run)))
    except ConfigFailure as failure:
        raise ValueError(f"{failure.code}: {failure.message}") from None
    passed = sum(result.passed for result in results)
    return TestReport(passed, len(results) - passed, results)


def _result(outcome: TestOutcome) -> TestResult:
    emits = [Emit(channel, to_python(value)) for channel, value in outcome.emits]
    told = outcome.description, outcome.passed, outcome.failure, outcome.place, outcome.expected
    return TestResult(*told, emits, frames_of(outcome.way))
