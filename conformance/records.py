"""The plain records of the suite: what a program file says, before anything runs, and what comes of a run.

Hands on `Program`, with its parts, to all who read, run or judge programs: `program.py` and `images.py` fill it, `world.py` reads
the script, `compare.py` the expectations; `SuiteError` to the readers, `Observation` to what follows a run, `Failure` to what
judges and reports it. Nothing is read from files or run here. In all of them `at` is a line of the program file, from 1, which a
failure names; `file` and `line` are of the source that the driver gets; `either` are alternative forms, of which one has to fit,
and a `part` is a text that a message must hold, None for any. A new field of a program is filled by a reader of `keys.py` or
`expectations.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class SuiteError(Exception):
    """A defect of the suite itself: a program file that cannot be read, an unknown key, a missing clause. `line` counts from
    1."""

    def __init__(self, path: str, line: int, text: str) -> None:
        super().__init__(f"{path}:{line}: {text}")


@dataclass(frozen=True)
class Diagnostic:
    """One form of an `error:` or `warn:` expectation (C-5.1); without `stage` that of the code counts."""

    code: str
    stage: str | None = None
    part: str | None = None


@dataclass(frozen=True)
class ExpectedDiagnostic:
    """An `error:` or `warn:` line; `severity` is "error" or "warning", `column` None for any."""

    severity: str
    either: tuple[Diagnostic, ...]
    file: str
    line: int
    column: int | None
    at: int


@dataclass(frozen=True)
class ExpectedEmit:
    """One emit: forms of channel and payload, as compact JSON. `group` is None, or the number of its unordered group
    (`emit~`)."""

    either: tuple[tuple[str, str], ...]
    group: int | None
    at: int


@dataclass(frozen=True)
class ExpectedPanic:
    """A `panic:` line: forms of code and part."""

    either: tuple[tuple[str, str | None], ...]
    file: str
    line: int
    at: int


@dataclass(frozen=True)
class ExpectedFail:
    """A line `fails: Kind::Variant "part"`: forms of kind, variant (None for any) and part."""

    either: tuple[tuple[str, str | None, str | None], ...]
    at: int


@dataclass(frozen=True)
class ExpectedPlace:
    """A line `way: n function`: the n-th place, from 1, of the way of the error that `main` ends in."""

    number: int
    function: str
    file: str
    line: int
    at: int


@dataclass(frozen=True)
class ExpectedMemory:
    """A `memory:` line: the canonical texts of all messages of the memory `name`; `("expect",)` until they are read from
    `.expect.json`."""

    name: str
    items: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class ExpectedRequest:
    """A line `request n:` or `wire n:` (`kind`): on the n-th request, from 1, a path, an operator and an operand. `model` says
    whose requests count: None for those of all models, the name of one model or agent, or "http"."""

    kind: str
    model: str | None
    number: int
    path: str
    operator: str
    operand: str
    at: int


@dataclass(frozen=True)
class Reply:
    """One scripted reply of a model (C-4.3). `calls` are name, JSON of the arguments, and id of each call, None for the next id;
    `finish` None for what follows from the rest; `chunks` the parts of a stream, None for a whole reply; `fault` the items of its
    object, None for none; `usage` the tokens in and out; `after` the milliseconds until it comes."""

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
    """One line of another scripted part of the world: an agent, an MCP server, HTTP, an answer. `word` says what it is ("reply",
    "fault", "silence", …), `body` holds what belongs to it."""

    word: str
    body: Any
    at: int


def is_of_runtime(channel: str) -> bool:
    """Return whether the runtime emits on this channel, and no program."""
    return ":" in channel or channel == "panic"


@dataclass
class Program:
    """One chunk of a program file, or one image description.

    `ident` is its path below `tests/` or `images/`, with `#n` for the n-th chunk; `path` that of the file. `level` is -1 until it
    is read. `files` are the sources by name, `offsets` the lines of the program file before each. `now` is the clock in
    milliseconds since 1970. `replies` are those of the models by name, "" for any; `scripts` the lines of the rest of the world
    by kind and name. `agents` are the fields of agents that the host configures, by name, "" for any. `memories` are earlier
    messages by memory; `image` is None for the image of the source, which `mutate` changes step by step.

    Of the expectations, `calls` are name, number and `at`; `exit` the statuses, `asserts` the number, and `tests` the outcomes by
    name, each with `at`; `reject` is code, stage and `at`.
    """

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
    libraries: dict[str, str] = field(default_factory=dict)
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
    agents: Json = field(default_factory=dict)
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
        """The clauses that it names, its own first."""
        return (self.clause, *self.also)

    @property
    def expectations(self) -> int:
        """How many things it expects."""
        lists = (self.emits, self.diagnostics, self.memory, self.calls, self.requests, (self.tests or ((), 0))[0])
        single = (self.panic, self.fails, self.exit, self.asserts, self.reject)
        return sum(map(len, lists)) + sum(one is not None for one in single)

    @property
    def rejects(self) -> bool:
        """Whether it shows a clause that forbids something (C-10.3)."""
        return self.reject is not None or any(d.severity == "error" for d in self.diagnostics)

    @property
    def runtime_channels(self) -> list[str]:
        """The channels of the runtime that its expectations name, sorted: emits on others do not count (C-5.2)."""
        named = {channel for emit in self.emits for channel, _ in emit.either}
        return sorted(filter(is_of_runtime, named))

    @property
    def operation(self) -> str:
        """What the driver is asked to do with it: "check", "run", "test" or "load"."""
        if self.reject is not None:
            return "load"
        if self.mode:
            return self.mode
        runs = self.emits or self.panic or self.fails or self.memory or self.calls or self.requests or self.asserts
        return "run" if runs or self.level != 0 else "check"


@dataclass
class Observation:
    """What a driver did with one program on one route. `emits` are channel and JSON text, `requests` and `result` messages of the
    protocol; `problems` are what the world had to complain of, as the fields of a `Failure`; `seconds` is how long it took."""

    route: str
    emits: list[tuple[str, str]] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    result: Json = field(default_factory=dict)
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Failure:
    """One unmet expectation: the line in the program file, 0 for none, what was expected, and what came."""

    at: int
    expected: str
    came: str
