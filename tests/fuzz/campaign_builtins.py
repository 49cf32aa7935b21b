"""Every built-in of the table on large values, in a loop that only a deadline or a cancellation ends (G-2.7, G-6.1, G-6.3).

The rows come from the registry, so a new built-in is met without a word here; a type without a value below is a failure.
"""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any, NamedTuple

import concerto
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS, STD_MODULES, Row, std_module
from concerto.vm.builtins.registry import STD

from .campaign import Campaign, Figures

RUNS = 0.15  # seconds in the loop before it is to end
BUSY = 2.0  # seconds late at most, on a machine that has other things to do
PROMPT = 0.1  # at the 99th percentile of many cases, on one that has not
MANY = 100
MEMORY = 512 << 20

SIZES = (1 << 20, (1 << 24) - 64)
TEXTS = (
    '"ab".repeat({n} / 2)', '"a".repeat({n})', '" \\n".repeat({n} / 2)', '"é😀".repeat({n} / 6)', '"7".repeat({n})',
    '"[" + "1,".repeat({n} / 2 - 1) + "1]"', '"[" + "[],".repeat({n} / 3 - 1) + "1]"', '"word (two) ".repeat({n} / 11)',
    '"\\"" + "x\\\\n".repeat({n} / 3 - 1) + "\\""',
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
MAPS = ('std::json::parse_as<Map<String, Any>>("{{" + (0..{k}).map(|i| "\\"k${{i}}\\":[${{i}}]").join(",") + "}}").unwrap()',)
VALUES: dict[str, tuple[str, ...]] = {
    "string": (*TEXTS, *NEEDLES), "int": ("0", "7", "{m}", "{n}"), "float": ("2.5",), "bool": ("true",), "array": ARRAYS,
    "map": MAPS, "set": ("Set::from((0..{k}).to_array())", "Set::from((0..{k}).to_array().enumerate())"),
    "nilable": ("nil",), "option": ("Some(7)",), "any": ("7", '"ab"', *ARRAYS[:2], *TEXTS[:2]), "var": ("7", '"ab"'),
}  # fmt: skip
RECEIVERS: dict[str, tuple[str, ...]] = {
    "String": TEXTS, "Array": ARRAYS, "Map": MAPS, "Set": VALUES["set"], "Int": ("7",), "Float": ("2.5",),
    "Result": ("Ok(7)",), "Option": ("Some(7)",), "Range": ("0..{m}", "0..9000000000000"), "Tuple": ("(1, 2)",),
    "Queue": ("std::json::parse_as<Queue<Int>>(std::json::stringify((0..{k}).to_array())).unwrap()",),
    "Stack": ("std::json::parse_as<Stack<Int>>(std::json::stringify((0..{k}).to_array())).unwrap()",),
    "Prompt": ('Prompt::new("ab".repeat({n} / 2))',), "Any": (*ARRAYS, *TEXTS[:2]),
}  # fmt: skip
CLOSURES = {"bool": "true", "array": "[x]", "option": "Some(x)", "result": "Ok(x)"}
UNMADE = frozenset({"Response", "Observed", "Records"})
"""Receivers that only a model, a memory rule or the compiler makes; none of their methods works on more than a few values."""


class Case(NamedTuple):
    row: Row
    source: str
    tier: Any


def rows() -> list[Row]:
    for module in STD_MODULES:
        std_module(module)
    every = [*METHODS.values(), *ASSOCIATED.values(), *FUNCTIONS.values(), *STD.values()]
    found = [row for row in every if row.kind == "python" and row.receiver not in UNMADE]
    return [*found, *(row for row in every if row.kind == "prelude" and row.receiver in RECEIVERS)]


def argument(draw: random.Random, type_: Any) -> str:
    if type_[0] == "fn":
        names = ("x", "y")[: len(type_[1])]
        return f"|{', '.join(names)}| {CLOSURES.get(type_[2][0], 'x' if names else '7')}"
    return draw.choice(VALUES[type_[0]])


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
    arguments = [argument(draw, parameter.type) for parameter in row.parameters]
    owner = f"std::{row.module}::" if row.module else ""
    receiver = "0"
    called = f"{owner}{row.name}"
    if METHODS.get((row.receiver, row.name)) is row:
        receiver, called = draw.choice(RECEIVERS[row.receiver]), f"r.{row.name}"
    elif row.receiver:
        called = f"{row.receiver}::{row.name}"
    names = [text if text[0] == "|" else f"a{position}" for position, text in enumerate(arguments)]
    lets = "".join(f"let {name}: Any = {text}; " for name, text in zip(names, arguments, strict=True) if name != text)
    body = f"let mut r = {receiver}; {lets}emit(\"go\", 0); loop {{{{ let result: Any = {called}({', '.join(names)}); }}}}"
    source = f"fn main() {{{{ {body} }}}}".format(n=size, m=min(size, 1_000_000), k=min(size, 1_000_000) // 10)
    return Case(row, source, draw.choice(("interp", "both")))


class Timing:
    """When a run began its loop, and when it was told to end."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.told = 0.0

    def measured(self, program: concerto.Program, tier: Any, seconds: float | None) -> tuple[float, str]:
        """Seconds from the end it was told to the end of the call, and how it ended."""
        budgets = concerto.Budgets(seconds=seconds or 60, memory_bytes=MEMORY)
        with program.session(tier=tier, budgets=budgets) as session:
            session.on("go", lambda _: self.go(session if seconds is None else None))
            start = time.monotonic()
            result = session.run()
            end = time.monotonic()
        if isinstance(result.error, concerto.Panic):
            how = result.error.code
            return end - start - (seconds or 60), how
        return end - self.told, "cancelled"

    def go(self, session: concerto.Session | None) -> None:
        self.began = time.monotonic()
        if session is not None:
            timer = threading.Timer(RUNS, lambda: self.cancel(session))
            timer.daemon = True
            timer.start()

    def cancel(self, session: concerto.Session) -> None:
        self.told = time.monotonic()
        session.cancel()


def lateness(drawn: Case) -> list[tuple[str, float]]:
    """Of a cancellation and of a deadline; nothing of a program that ends by itself."""
    program = concerto.compile(drawn.source)
    timing = Timing()
    start = time.monotonic()
    late, how = timing.measured(program, drawn.tier, None)
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
    for number in range(count):
        drawn = fitting(draw, draw.choice(every), SIZES[number % 2 if count >= MANY else 0])
        found = lateness(drawn)
        ended += not found
        for what, seconds in found:
            late[what].append(seconds)
            said = f"{drawn.row!r} was {seconds:.3f} s late after its {what}, seed {seed}, tier {drawn.tier}:\n{drawn.source}"
            slow.append((seconds, said))
            assert seconds < BUSY, said
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
