"""Every built-in of the table on large values, in a loop that only a deadline or a cancellation ends (G-2.7, G-6.1, G-6.3).

The rows come from the registry, so a new built-in is met without a word here; a type without a value below is a failure.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import concerto
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS, STD_MODULES, Row, std_module
from concerto.vm.builtins.registry import STD

from .campaign import Campaign, Figures

RETRIES = 2
RUNS = 0.15  # seconds in the loop before it is to end
LATEST = 1.0  # seconds late at most
PROMPT = 0.1  # at the 99th percentile of many cases, on a machine that has nothing else to do
MANY = 100
MEMORY = 512 << 20
Type = tuple[Any, ...]

SIZES = (1 << 20, (1 << 24) - 64)
TINY = 64
LINES = "a line\n" * (SIZES[0] // 7)
TEXTS = (
    '"ab".repeat({n} / 2)', '"a".repeat({n})', '" \\n".repeat({n} / 2)', '"é😀".repeat({n} / 6)', '"7".repeat({n})',
    '"[" + "1,".repeat({n} / 2 - 1) + "1]"', '"[" + "[],".repeat({n} / 3 - 1) + "1]"', '"word (two) ".repeat({n} / 11)',
    '"\\"" + "x\\\\n".repeat({n} / 3 - 1) + "\\""', '"a,b\\n".repeat({n} / 4)', '",".repeat({n})', '"\\"\\"".repeat({n} / 2)',
    '"\\"\\",".repeat({n} / 3)', '"a\\r".repeat({n} / 2)', '"%41".repeat({n} / 3)', '"a=b&".repeat({n} / 4)', '"&".repeat({n})',
    '"/..".repeat({n} / 3)',
)  # fmt: skip
NEEDLES = (
    '"a"', '"b"', '""', '"ba"', '"c"', '"a".repeat({n} / 4) + "b"', '" "', '","', '"$0".repeat(500000)', '"(a|b)*c"', '"a*b"',
    '"."',
)  # fmt: skip
ARRAYS = (
    "(0..{m}).to_array()", '"ab,cd".repeat({m} / 2).split(",")', "(0..{m}).map(|i| (i * 7919) % 1000003)",
    "(0..{m}).to_array().enumerate()",
    '(0..12).map(|i| "ab".repeat({n} / 32))', "(0..{m}).map(|i| i.to_float())",
)  # fmt: skip
MAPS = (
    'std::json::parse_as<Map<String, Any>>("{{" + (0..{k}).map(|i| "\\"k${{i}}\\":[${{i}}]").join(",") + "}}").unwrap()',
    '{{ "k": "ab".repeat({n} / 2) }}', '{{ "k": (0..{m}).to_array() }}',
)  # fmt: skip
TEXT_MAPS = (
    'std::json::parse_as<Map<String, String>>("{{" + (0..{k}).map(|i| "\\"k${{i}}\\":\\"v\\"").join(",") + "}}").unwrap()',
    '{{ "k": "ab".repeat({n} / 2) }}',
)  # fmt: skip
BYTES = ('"ab".repeat({n} / 2).to_bytes()', '"é".repeat({n} / 2).to_bytes()', '"a".repeat({n} / 4).to_bytes()', '"b".to_bytes()')
ANY: Type = ("any",)
VALUES: dict[Type, tuple[str, ...]] = {
    ("string",): (*TEXTS, *NEEDLES), ("int",): ("0", "1", "7", "{m}", "{n}"), ("float",): ("0.5", "2.5"), ("bool",): ("true",),
    ("bytes",): BYTES, ("nil",): ("nil",),
    ("struct", "Media"): ('std::media::link("image", "https://a.example/").unwrap()',),
    ("error", "Error"): ('ParseError {{ message: "ab".repeat({n} / 2) }}',),
    ("array", ANY): ARRAYS, ("array", ("int",)): ("(0..{m}).map(|i| i % 256)", ARRAYS[0]),
    ("array", ("string",)): (ARRAYS[1], ARRAYS[4], '["k"]'),
    ("array", ("array", ANY)): (
        "(0..{m} / 10).map(|i| [i, i])", "[(0..{m}).to_array()]", '["ab,cd".repeat({m} / 2).split(",")]',
        '[["\\"".repeat({n} / 4)]]',
    ),
    ("array", ("map", ("string",), ANY)): (
        '(0..{k}).map(|i| {{ "a": i, "b": nil }})', f"[{MAPS[0]}]",
        'std::json::parse_as<Array<Map<String, Any>>>("[" + (0..{k}).map(|i| "{{\\"k${{i}}\\":1}}").join(",") + "]").unwrap()',
    ),
    ("array", ("struct", "ToolCall")): ("[]",),
    ("array", ("struct", "Message")): ('(0..{k}).map(|i| Message::user("hello"))', '[Message::user("ab".repeat({n} / 8))]'),
    ("map", ("string",), ANY): MAPS, ("map", ("string",), ("string",)): TEXT_MAPS,
    ("set", ("var", "T")): ("Set::from((0..{k}).to_array())", "Set::from((0..{k}).to_array().enumerate())"),
    ("struct", "DateTime"): (
        "std::date::of(2030, 1, 2).unwrap()", 'std::date::parse("2024-02-29T10:00", "Europe/Berlin").unwrap()',
    ),
    ("struct", "ModelUsage"): ("std::usage::spent()",), ("prompt",): ('Prompt::new("ab".repeat({n} / 8))',),
    ANY: ("7", '"ab"', *ARRAYS[:2], *TEXTS[:2], *MAPS), ("var", ""): ("7", '"ab"'),
}  # fmt: skip
"""By type, the whole one before its first word; `T`, `U` and the rest are one."""
PATHS = (
    *(f'"${{{{env(\"FOLDER\")}}}}/{name}"' for name in ("note.txt", "folder", "new/deep")),
    '"a".repeat({n})', '"a/".repeat({n} / 2)',
)  # fmt: skip
NAMED: dict[str, tuple[str, ...]] = {
    "zone": ('"UTC"', '"Europe/Berlin"', '"+01:30"', '"a".repeat({n})'), "separator": ('","', '"\\t"'), "scheme": ('"https"',),
    "host": ('"a.example"', '"a".repeat({n})'), "port": ("nil", "80"),
    "base": ('"https://a.example/b/c"', '"a/".repeat({n} / 2)'),
    "thousands": ('""', '","'), "point": ('"."',), "decimals": ("2", "nil"), "ch": ('" "',), "role": ('"user"', '"tool"'),
    "url": ('"https://a.example/"', '"https://a.example/" + "a".repeat({n})'), "p": PATHS, "path": PATHS,
    "year": ("2030",), "month": ("2",), "day": ("3",), "hour": ("4",), "minute": ("5",), "second": ("6",), "millisecond": ("7",),
    "kind": ('"image"', '"document"'), "size": ("40", "{n} / 4"), "overlap": ("0", "20"), "by": ('"sentence"', '"markdown"'),
    "indent": ("2", "40"), "method": ('"GET"', '"PUT"'), "before": VALUES["struct", "ModelUsage"],
}  # fmt: skip
"""By the name of a parameter, where most values of its type end the loop at once."""
RECEIVERS: dict[str, tuple[str, ...]] = {
    "String": TEXTS, "Array": ARRAYS, "Map": MAPS, "Set": VALUES["set", ("var", "T")], "Int": ("7",), "Float": ("2.5",),
    "Bytes": BYTES, "Result": ("Ok(7)", "Err(7)"), "Option": ("Some(7)",), "Range": ("0..{m}", "0..9000000000000"),
    "Tuple": ("(1, 2)",),
    "Queue": ("std::json::parse_as<Queue<Int>>(std::json::stringify((0..{k}).to_array())).unwrap()",),
    "Stack": ("std::json::parse_as<Stack<Int>>(std::json::stringify((0..{k}).to_array())).unwrap()",),
    "HashMap": ("{{ for i in 0..{k} {{ held.set(i, i); }} held }}",),
    "Prompt": ('Prompt::new("ab".repeat({n} / 2))',), "Any": (*ARRAYS, *TEXTS[:2], *BYTES[:2], *MAPS),
}  # fmt: skip
DECLARED = "hashmap held: HashMap<Int, Int> = HashMap::new();\n"
CLOSURES = {"bool": "true", "array": "[x]", "option": "Some(x)", "result": "Ok(x)"}
UNDRAWN = {
    "Response": "a model makes it; its methods read a field",
    "Observed": "a rule of a memory makes it, of the few values that the rule kept",
    "Records": "the compiler alone calls it, for a literal",
    "Results": "the compiler alone calls it, where tasks are awaited together",
    "Agent": "the compiler alone calls it, for `listen`",
    "Test": "the compiler alone calls it, for `mock`",
    "Index": "its methods ask the host, and call functions of the program between: tests/search",
    "StoreWrites": "the compiler alone calls it, behind the calls of a store",
    "StreamReads": "a host calls it, for a stream that a function returned",
}
"""Receivers of which nothing is drawn, and why."""
ENDING = {
    "panic": "it ends the run",
    "std::io::script": "it is for tests alone, and so is `test_emits`",
    "test_emits": "it is for tests alone",
    "parse_schema": "it takes a schema by name; std::json::parse_as is the same work",
    "std::usage::of": "it waits for what it is given",
}
"""Functions of which nothing is drawn, and why."""
KINDS = frozenset({"python", "prelude", "effect"})
"""Those that a program calls with values. A `handle` row waits for a store or a provider, and works on what these keep: the
campaigns of stores and replies meet it. A `special` row is an instruction."""


class Case(NamedTuple):
    row: Row
    source: str
    tier: Any


def rows() -> list[Row]:
    """What is drawn from."""
    found = [row for row in every_row() if row.kind in KINDS and row.receiver not in UNDRAWN and called(row) not in ENDING]
    return sorted(found, key=repr)


def every_row() -> list[Row]:
    for module in STD_MODULES:
        std_module(module)
    return [*METHODS.values(), *ASSOCIATED.values(), *FUNCTIONS.values(), *(r for r in STD.values() if r.module in STD_MODULES)]


def called(row: Row) -> str:
    """How a program names the function; a method by the name alone."""
    if row.module:
        return f"std::{row.module}::{row.name}"
    return f"{row.receiver}::{row.name}" if ASSOCIATED.get((row.receiver, row.name)) is row else row.name


def texts_of(name: str, type_: Type) -> tuple[str, ...]:
    """Texts that are values for a parameter; KeyError for a type that has none here."""
    if name in NAMED:
        return NAMED[name]
    if type_ in VALUES:
        return VALUES[type_]
    head = type_[0]
    if head == "var":
        return VALUES["var", ""]
    if head == "nilable":
        return ("nil", *texts_of("", type_[1]))
    if head == "option":
        return ("None", *(f"Some({text})" for text in texts_of("", type_[1])))
    general = {"array": ("array", ANY), "map": ("map", ("string",), ANY), "set": ("set", ("var", "T"))}
    parts = [part for part in type_[1:] if part[0] != "var"]
    if parts or head not in general:
        raise KeyError(f"no value for the type {type_}")
    return VALUES[general[head]]


def argument(draw: random.Random, name: str, type_: Type) -> str:
    if type_[0] == "fn":
        names = ("x", "y")[: len(type_[1])]
        return f"|{', '.join(names)}| {CLOSURES.get(type_[2][0], 'x' if names else '7')}"
    return draw.choice(texts_of(name, type_))


def fitting(draw: random.Random, row: Row, size: int) -> Case:
    """A case that compiles: not every receiver has every method."""
    for _ in range(30):
        drawn = case(draw, row, size)
        try:
            concerto.compile(drawn.source)
        except concerto.CompileError as error:
            said = f"{row!r}: {error}\n{drawn.source}"
        else:
            return drawn
    raise AssertionError(said)


def case(draw: random.Random, row: Row, size: int) -> Case:
    """A program that calls the built-in on values of about `size` characters, or as many elements as there may be."""
    arguments = [argument(draw, parameter.name, parameter.type) for parameter in row.parameters]
    receiver = "0"
    name = called(row)
    if METHODS.get((row.receiver, row.name)) is row:
        receiver, name = draw.choice(RECEIVERS[row.receiver]), f"r.{row.name}"
    names = [text if text[0] == "|" else f"a{position}" for position, text in enumerate(arguments)]
    lets = "".join(f"let {name}: Any = {text}; " for name, text in zip(names, arguments, strict=True) if name != text)
    body = f"let mut r = {receiver}; {lets}emit(\"go\", 0); loop {{{{ let result: Any = {name}({', '.join(names)}); }}}}"
    source = f"{DECLARED}fn main() {{{{ {body} }}}}".format(n=size, m=min(size, 1_000_000), k=min(size, 1_000_000) // 10)
    return Case(row, source, draw.choice(("interp", "both")))


@contextmanager
def session_in(program: concerto.Program, tier: Any, budgets: concerto.Budgets) -> Iterator[concerto.Session]:
    """One that may read and write a folder, that has a text as its standard input, and whose log nobody reads."""
    with TemporaryDirectory() as folder, open(os.devnull, "w") as log, redirect_stderr(log):
        Path(folder, "folder").mkdir()
        Path(folder, "note.txt").write_text(LINES)
        granted = concerto.Permissions(fs_read=(folder,), fs_write=(folder,), env=True)
        with program.session(
            tier=tier, budgets=budgets, permissions=granted, stdin=LINES, env={"FOLDER": folder}, offline=True
        ) as session:
            yield session


class Observer:
    """A process that reads the CPU time of this one at a moment set before. A thread of this process would read it late: it waits
    for the interpreter while a piece of work holds that, which is the lateness to be found."""

    SOURCE = """
import sys, time
for line in sys.stdin:
    clock, moment = line.split()
    time.sleep(max(float(moment) - time.monotonic(), 0))
    print(time.clock_gettime(int(clock)), time.monotonic(), flush=True)
"""

    def __init__(self) -> None:
        # Linux numbers the CPU clock of each process; elsewhere time that passes is the measure.
        self.clock = ~os.getpid() << 3 | 2 if sys.platform == "linux" else time.CLOCK_MONOTONIC
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", self.SOURCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def watch(self, moment: float) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(f"{self.clock} {moment}\n")
        stdin.flush()

    def late(self, moment: float) -> float:
        """Seconds from the moment to now that this process worked; what the observer was late itself counts as worked."""
        now, worked = time.monotonic(), time.clock_gettime(self.clock)
        stdout = self.process.stdout
        assert stdout is not None
        then, read = map(float, stdout.readline().split())
        return max(0.0, min(now - moment, worked - then + read - moment))

    def close(self) -> None:
        self.process.communicate()


@contextmanager
def observer() -> Iterator[Observer]:
    made = Observer()
    try:
        yield made
    finally:
        made.close()


class Timing:
    """When a run began its loop, and how late it ended: from the moment that was set for its end, whether or not the thread that
    tells it so came to work at that moment. What is late is what the process worked on meanwhile: other processes take their
    time too."""

    def __init__(self, observed: Observer) -> None:
        self.observed = observed
        self.began: float | None = None
        self.end: float | None = None

    def measured(self, program: concerto.Program, tier: Any, seconds: float | None) -> tuple[float, str]:
        """Seconds from the end that was set to the end of the call, and how it ended; of a run that ends before, 0."""
        budgets = concerto.Budgets(seconds=seconds or 60, memory_bytes=MEMORY)
        with session_in(program, tier, budgets) as session:
            session.on("go", lambda _: self.go(session if seconds is None else None))
            start = time.monotonic()
            self.end = None
            if seconds is not None:
                self.ends(start + seconds)
            result = session.run()
            late = 0.0 if self.end is None else self.observed.late(self.end)
        return late, result.error.code if isinstance(result.error, concerto.Panic) else "cancelled"

    def go(self, session: concerto.Session | None) -> None:
        self.began = time.monotonic()
        if session is not None:
            self.ends(self.began + RUNS)
            timer = threading.Timer(RUNS, session.cancel)
            timer.daemon = True
            timer.start()

    def ends(self, moment: float) -> None:
        self.end = moment
        self.observed.watch(moment)


def lateness(drawn: Case, observed: Observer) -> list[tuple[str, float]]:
    """Of a cancellation and of a deadline; nothing of a program that ends by itself. Raises AssertionError for one that only the
    deadline of the run ends, though it was cancelled long before."""
    program = concerto.compile(drawn.source)
    timing = Timing(observed)
    start = time.monotonic()
    late, how = timing.measured(program, drawn.tier, None)
    assert how != "P102" or timing.began is None, f"{drawn.row!r} goes on after its cancel, tier {drawn.tier}:\n{drawn.source}"
    if how != "cancelled" or timing.began is None:
        return []
    found = [("cancel", late)]
    late, how = timing.measured(program, drawn.tier, timing.began - start + RUNS)
    if how == "P102":
        found.append(("deadline", late))
    return found


def run(seed: int, count: int) -> Figures:
    idle = os.getloadavg()[0] < (os.cpu_count() or 1) / 2
    draw = random.Random(seed)
    every = rows()
    late: dict[str, list[float]] = {"cancel": [], "deadline": []}
    slow: list[tuple[float, str]] = []
    ended = 0
    with observer() as observed:
        for number in range(count):
            drawn = fitting(draw, draw.choice(every), SIZES[number % 2 if count >= MANY else 0])
            found = lateness(drawn, observed)
            for _ in range(RETRIES):
                # A fault of the product is late each time; a collection of Python's or a busy machine is not.
                if any(seconds >= LATEST for _, seconds in found):
                    again = dict(lateness(drawn, observed))
                    found = [(what, min(seconds, again.get(what, seconds))) for what, seconds in found]
            ended += not found
            for what, seconds in found:
                late[what].append(seconds)
                said = f"{drawn.row!r} was {seconds:.3f} s late after its {what}, seed {seed}, tier {drawn.tier}:\n{drawn.source}"
                slow.append((seconds, said))
                assert seconds < LATEST, said
    slow.sort(reverse=True)
    if idle and count >= MANY:
        beyond = slow[len(slow) // 100 :]
        assert not beyond or beyond[0][0] <= PROMPT, beyond[0][1]
    figures: dict[str, int | float | str] = {"ended by themselves": ended}
    for what, times in late.items():
        if times:
            ordered = sorted(times)
            figures[f"p99 ms late after {what}"] = round(1000 * ordered[-1 - len(ordered) // 100], 1)
            figures[f"max ms late after {what}"] = round(1000 * ordered[-1], 1)
    return figures


CAMPAIGNS = [Campaign("built-ins on large values", "G-2.7", 5, 1_000, run, part=200)]
