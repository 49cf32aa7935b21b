"""The plain records of the suite: what a program file says, before anything runs.

Filled by `program.py`, read by `world.py` (the script) and `compare.py` (the expectations). Knows no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class SuiteError(Exception):
    """A defect of the suite itself: a program file that cannot be read, an unknown key, a missing clause."""

    def __init__(self, path: str, line: int, text: str) -> None:
        super().__init__(f"{path}:{line}: {text}")


@dataclass(frozen=True)
class Diagnostic:
    """One form of an `error:` or `warn:` expectation (C-5.1)."""

    code: str
    stage: str | None = None
    part: str | None = None


@dataclass(frozen=True)
class ExpectedDiagnostic:
    severity: str
    either: tuple[Diagnostic, ...]
    file: str
    line: int
    column: int | None
    at: int


@dataclass(frozen=True)
class ExpectedEmit:
    """One emit; `group` is None, or the number of its unordered group (`emit~`)."""

    either: tuple[tuple[str, str], ...]
    group: int | None
    at: int


@dataclass(frozen=True)
class ExpectedPanic:
    either: tuple[tuple[str, str | None], ...]
    file: str
    line: int
    at: int


@dataclass(frozen=True)
class ExpectedFail:
    """`fails: Kind::Variant "part"`: each form is (kind, variant, part)."""

    either: tuple[tuple[str, str | None, str | None], ...]
    at: int


@dataclass(frozen=True)
class ExpectedPlace:
    """`way: n function`: the n-th place of the way of the error that `main` ends in."""

    number: int
    function: str
    file: str
    line: int
    at: int


@dataclass(frozen=True)
class ExpectedMemory:
    name: str
    items: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class ExpectedRequest:
    """A `request n:` or `wire n:` line: on the n-th request (of one model), a path, an operator, an operand."""

    kind: str
    model: str | None
    number: int
    path: str
    operator: str
    operand: str
    at: int


@dataclass(frozen=True)
class Reply:
    """One scripted reply of a model (C-4.3)."""

    text: str = ""
    calls: tuple[tuple[str, str, str | None], ...] = ()
    finish: str | None = None
    chunks: tuple[str, ...] | None = None
    fault: tuple[tuple[str, Any], ...] | None = None
    usage: tuple[int, int] = (0, 0)
    after: int = 0
    at: int = 0


@dataclass(frozen=True)
class Line:
    """One line of another scripted part of the world: an agent, an MCP server, HTTP, an answer."""

    word: str
    body: Any
    at: int


def is_of_runtime(channel: str) -> bool:
    return ":" in channel or channel == "panic"


@dataclass
class Program:
    """One chunk of a program file, or one image description."""

    ident: str
    path: str
    clause: str = ""
    also: tuple[str, ...] = ()
    level: int = -1
    lines: int = 0
    files: dict[str, str] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    permissions: list[str] = field(default_factory=list)
    limits: dict[str, int | float] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    mode: str = ""
    args: list[str] = field(default_factory=list)
    seed: int = 0
    now: int = 946684800000
    isolate: bool = False
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    scripts: dict[tuple[str, str], list[Line]] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    fs: dict[str, str] = field(default_factory=dict)
    stdin: str | None = None
    connections: Json = field(default_factory=dict)
    memories: Json = field(default_factory=dict)
    image: bytes | None = None
    mutate: list[Json] = field(default_factory=list)
    emits: list[ExpectedEmit] = field(default_factory=list)
    diagnostics: list[ExpectedDiagnostic] = field(default_factory=list)
    panic: ExpectedPanic | None = None
    fails: ExpectedFail | None = None
    way: list[ExpectedPlace] = field(default_factory=list)
    memory: list[ExpectedMemory] = field(default_factory=list)
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    requests: list[ExpectedRequest] = field(default_factory=list)
    exit: tuple[tuple[int, ...], int] | None = None
    asserts: tuple[int, int] | None = None
    tests: tuple[dict[str, str], int] | None = None
    reject: tuple[str, str, int] | None = None

    @property
    def clauses(self) -> tuple[str, ...]:
        return (self.clause, *self.also)

    @property
    def expectations(self) -> int:
        """How many things it shows."""
        lists = (self.emits, self.diagnostics, self.memory, self.calls, self.requests, (self.tests or ((), 0))[0])
        single = (self.panic, self.fails, self.exit, self.asserts, self.reject)
        return sum(map(len, lists)) + sum(one is not None for one in single)

    @property
    def rejects(self) -> bool:
        """A rejecting program shows a clause that forbids something (C-10.3)."""
        return self.reject is not None or any(d.severity == "error" for d in self.diagnostics)

    @property
    def runtime_channels(self) -> list[str]:
        """Those its expectations name: emits on others do not count (C-5.2)."""
        named = {channel for emit in self.emits for channel, _ in emit.either}
        return sorted(filter(is_of_runtime, named))

    @property
    def operation(self) -> str:
        """`check`, `run`, `test` or `load`: what the driver is asked to do with it."""
        if self.reject is not None:
            return "load"
        if self.mode:
            return self.mode
        runs = self.emits or self.panic or self.fails or self.memory or self.calls or self.requests or self.asserts
        return "run" if runs or self.level != 0 else "check"


@dataclass
class Observation:
    """What a driver did with one program on one route."""

    route: str
    emits: list[tuple[str, str]] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    result: Json = field(default_factory=dict)
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Failure:
    """One unmet expectation: absolute line in the program file, what was expected, what came."""

    at: int
    expected: str
    came: str
