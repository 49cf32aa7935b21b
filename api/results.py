"""What a run gives back, and what the host API raises (O-9.39).

Hands on to users `RunResult` with its `Wait`s, `Emit`, `Metrics`, `TestReport` with `TestResult`s; `CompileError` with
`Diagnostic`s, `ImageError`, `RecordingError`, `ProgramError`, and `Panic` with `Frame`s; `ToolError`, which code of the host
raises (G-9.10); and `Breaker`, the state of a connection. `program` and `session` make most of them, and `serve/` catches some;
`frames_of` makes frames for `session`, and `tested` runs the tests of a program for `Program.test` and for pytest
(`pytest_items.py`). Values in them are those of Python (`values.py`), never those of the machine. A new counter is a field of
`Metrics` and one of the runtime's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..runtime.breaker import Breakers
from ..runtime.calls.budgets import Account
from ..runtime.errors import ConfigFailure
from ..runtime.host import Host
from ..runtime.host import ToolError as ToolError
from ..runtime.prompt_cache import PromptCaches
from ..runtime.session.session import Outcome, Session
from ..runtime.session.testing import SkippingClock, TestOutcome, run_tests
from ..vm.bytecode import image as im
from ..vm.interp import link
from .options import Options, amounts, check_options, host_of, limits_of, refuse_journal
from .values import ErrorValue, to_python

if TYPE_CHECKING:
    from ..runtime.python_calls import PythonCaller

# What the host API raises.


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning of the compiler; `code` is its identifier, such as "E0101", `severity` is "error" or "warning". Lines
    and columns count from 1, columns in code points; the end is the place behind the last character. `help` says the way out,
    None where none is known."""

    code: str
    severity: str
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    help: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack trace, or of the trace of an error; line and column count from 1, and are 0 where no place is known.
    Where places are left out its function is `… n more …` and its line 0."""

    function: str
    file: str
    line: int
    column: int


def frames_of(trace: Iterable[tuple[str, str, int, int] | int]) -> tuple[Frame, ...]:
    """Return the frames of a trace of the machine: of (function, file, line, column) in its order; a number there says how many
    places are left out."""
    return tuple(Frame(f"… {frame} more …", "", 0, 0) if isinstance(frame, int) else Frame(*frame) for frame in trace)


class CompileError(ImportError):
    """The source has errors. `diagnostics` are its errors and warnings, ordered by file and place; `text` is what the command
    prints of the errors, and str() too, without it a line for each diagnostic. Where a module was imported, `name` and `path` are
    its name and its source, else None."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], text: str = "") -> None:
        super().__init__(diagnostics, text)
        self.diagnostics = diagnostics
        self.text = text

    def __str__(self) -> str:
        return self.text or "\n".join(map(str, self.diagnostics))


class ImageError(Exception):
    """An image that is refused, or a state of a session that cannot be dumped or restored. `code` is V0xx or V1xx."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class ProgramError(Exception):
    """A function that was called returned an Err, or the call was ended by `cancel`, with `TaskError::Cancelled`. `value` is what
    is in the Err, mostly an `ErrorValue`; `error` is the same as an ErrorValue whatever it is, as in `RunResult.error`; `trace`
    is where it was made, and what it passed then, empty after `cancel`. str() is `FAMILY::VARIANT: MESSAGE`, without a variant
    `FAMILY: MESSAGE`; of any other value the message."""

    def __init__(self, value: Any, error: ErrorValue, trace: tuple[Frame, ...] = ()) -> None:
        super().__init__(value, error, trace)
        self.value = value
        self.error = error
        self.trace = trace

    def __str__(self) -> str:
        if not isinstance(self.value, ErrorValue):
            return self.error.message
        name = f"{self.error.kind}::{self.error.variant}" if self.error.variant else self.error.kind
        return f"{name}: {self.error.message}"


class Panic(Exception):
    """The program panicked: a failure that is no value of it, such as an index out of range or a limit that was reached, ended
    it. `code` says which one, such as "P101"; `message` is without it; `trace` has the innermost frame first."""

    def __init__(self, code: str, message: str, trace: tuple[Frame, ...] = ()) -> None:
        super().__init__(code, message, trace)
        self.code = code
        self.message = message
        self.trace = trace

    def __str__(self) -> str:
        lines = [f"panic[{self.code}]: {self.message}"]
        lines += [f"  at {f.function} ({f.file}:{f.line}:{f.column})" for f in self.trace]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Emit:
    """One emit: of the program, or, for a listener on `"*"`, also of the runtime. `payload` is a value of Python."""

    channel: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Metrics:
    """The counters of a session so far (O-1.132). Costs are in dollars; `execution_time_ms` is in
    milliseconds, the others count. `model_calls` are the requests to models that were sent, however they ended, `agent_calls`
    those to agents; `retries` are requests sent again after a failure of transport, `schema_retries` those after a reply that did
    not fit its schema; `cache_hits` are replies that came from a cache, `tool_calls` the calls that models asked for,
    `emit_count` the emits of the program, `errors` the calls of models and agents that failed after they had begun.
    `total_tokens` are `tokens_in` and `tokens_out`; `tokens_by_model` and `tokens_by_connection` have them by model id and by
    name of the connection. `unpriced_calls` are requests whose cost nobody knows, and is not in `estimated_cost`; `tokens_cached`
    and `tokens_cache_write` are parts of `tokens_in`, `tokens_reasoning` is one of `tokens_out`; `tokens_estimated` are those
    that no provider reported; `hosted_calls` are those of tools that providers run."""

    total_tokens: int
    tokens_by_model: dict[str, int]
    tokens_by_connection: dict[str, int]
    estimated_cost: float
    unpriced_calls: int
    execution_time_ms: int
    model_calls: int
    retries: int
    schema_retries: int
    cache_hits: int
    tool_calls: int
    agent_calls: int
    emit_count: int
    errors: int
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_cache_write: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    tokens_estimated: int = 0
    hosted_calls: int = 0


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker of a connection, which refuses requests for a while after failures in a row (O-1.236). `state` is "closed",
    "open" or "trial": the next request is one, or one is on its way. `failures` are those in a row; `seconds_left` is the time
    until a trial, 0 where none is waited for."""

    state: Literal["closed", "open", "trial"]
    failures: int
    seconds_left: float


class RecordingError(Exception):
    """A recording that does not fit, is damaged or has more than the run asked for; a run store that fails; a run that another
    process holds or has taken over. The text says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run of a store waits for: the `key` of the effect, the `channel` and the `payload` of its emit as JSON data."""

    key: str
    channel: str
    payload: Any


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run of `main` ended. `value` is what it returned, of `Ok(value)` the value; None if `ok` is false. `error` is the
    error of an Err, the panic, or `TaskError::Cancelled` after `cancel`, None if `ok` is true; an Err of anything but an
    ErrorValue is one whose kind is the type of that, with it as the field `value`. `trace` is where the error was made and what
    it passed, or the frames of the panic. `exit_code` is that of `concerto run` (L-5.14.3): 0, 1 after an Err or panic, 77 after
    one that denies a permission, 130 after `cancel`, and 75 for a run of a store that waits for the answers in `waits`, with
    which `resume` goes on. `emits` are those of the program, in order. `run` is the id of a run of a store, None without one."""

    ok: bool
    value: Any
    error: ErrorValue | Panic | None
    exit_code: int
    emits: list[Emit]
    metrics: Metrics
    trace: tuple[Frame, ...] = ()
    run: str | None = None
    waits: tuple[Wait, ...] = ()


# The tests of a program, run by the host (O-8.3).


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `failure` says what went wrong, None when it passed; `place` is file, line and column where it panicked or its
    error was made, else where the body of the test begins, also of a test that passed; None where that is unknown, and for a test
    that is to fail and fails as it should, or not at all; `expected_failure`: it is to fail, and passes by that; `emits` are
    those of the program; `trace` of an error: where it was made, and what it passed, empty for a panic."""

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


def tested(
    program: link.Program, tests: Iterable[im.Test], options: Options, project: str | None, python: Callable[[], PythonCaller]
) -> TestReport:
    """Run tests of the program, each in a session of its own, whose waits take no time unless a test asks a real provider
    (V-6.6), and return the report. `project` is the folder of the manifest, None for the current one; `python` gives what calls
    functions of Python. Raise TypeError for options that tests cannot have, and what `check_options` raises; and only if a test
    is run, ValueError for a wrong configuration, OSError and ValueError as `host_of`, and RuntimeError where an event loop
    runs."""
    if "emit_mode" in options or "emit_timeout_ms" in options:
        raise TypeError("tests have no emit_mode and no emit_timeout_ms: nobody answers their emits")
    refuse_journal(options, "tests are not recorded; `session` takes it")
    check_options(options)
    # Limits per call are limits per test here.
    limits, shared, per_call = amounts(options.get("budgets"))

    def accounts() -> list[Account]:
        return [*(Account(each.tokens, each.cost, each.model_calls, "test") for each in per_call), *shared]

    def host(emit: Any) -> Host:
        test_host = host_of(options, emit, None, project)
        # Waits of tests cost no time, unless something outside is open.
        clock = SkippingClock()
        test_host.new_loop, test_host.now, test_host.wall = clock.new_loop, clock.now, clock.wall
        test_host.python = python
        test_host.breakers = Breakers()  # those of the process go by another clock
        test_host.prompt_caches = PromptCaches()  # what one test has sent is nothing to the next one
        return test_host

    def run(session: Session, function: int) -> Outcome:
        with asyncio.Runner(loop_factory=session.host.new_loop) as runner:
            return runner.run(session.run(function=function, accounts=accounts(), **limits_of(limits)))

    try:
        results = tuple(map(_result, run_tests(program, iter(tests), host, run)))
    except ConfigFailure as failure:
        raise ValueError(f"{failure.code}: {failure.message}") from None
    passed = sum(result.passed for result in results)
    return TestReport(passed, len(results) - passed, results)


def _result(outcome: TestOutcome) -> TestResult:
    emits = [Emit(channel, to_python(value)) for channel, value in outcome.emits]
    fields = outcome.description, outcome.passed, outcome.failure, outcome.place, outcome.expected
    return TestResult(*fields, emits, frames_of(outcome.way))
