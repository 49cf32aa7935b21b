"""Prints progress, failures with the command that repeats them, slow programs, the summary (C-9.3, C-13.2).

Hands on `Progress` to `command` and to `concerto conformance`, the rest to `command`. What an outcome means is decided in
`runner.py`.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TextIO

from .records import Failure
from .runner import GOOD, Outcome

SLOWEST = 10


class Progress:
    """One line that rewrites itself on a terminal; nothing elsewhere. It is called with each outcome, and `clear` is called
    before something else is printed."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total, self.stream = total, stream
        self.done = self.failed = 0
        self.shown = stream.isatty()

    def __call__(self, outcome: Outcome) -> None:
        """Count an outcome and show the line."""
        self.done += 1
        self.failed += outcome.outcome not in GOOD
        if self.shown:
            bad = f", {self.failed} failed" if self.failed else ""
            self.stream.write(f"\r\x1b[K{self.done}/{self.total}{bad}  {outcome.program.ident}"[:110])
            self.stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def print_failure(outcome: Outcome, command: str, spec: str | None = None, limit: int = 4) -> None:
    """Print a program that did not pass: file and line of at most `limit` expectations, what was expected, what came, and the
    words that run it again with the driver `command`. `spec` is the folder whose blocks were added (`--spec`)."""
    program = outcome.program
    print(f"{outcome.outcome.upper()}  {program.ident}")
    merged: dict[Failure, list[str]] = {}
    for route, failure in outcome.failures:
        merged.setdefault(failure, []).append(route)
    for failure, on in list(merged.items())[:limit]:
        print(f"  {program.path}:{failure.at or 1}  {' '.join(on)}".rstrip())
        print(f"    expected: {_indent(failure.expected)}")
        print(f"    came:     {_indent(failure.came)}")
    if len(merged) > limit:
        print(f"  and {len(merged) - limit} more")
    routes = {route for route, _ in outcome.failures if route}
    only = f" --route {routes.pop()}" if len(routes) == 1 and outcome.outcome != "drift" else ""
    added = f" --spec {shlex.quote(spec)}" if spec is not None and Path(program.path).parent == Path(spec) else ""
    print(f"  again: python conformance/run.py --driver {shlex.quote(command)}{added} {shlex.quote(program.ident)}{only}\n")


def _indent(text: str, width: int = 2000) -> str:
    cut = text if len(text) <= width else text[:width] + f" … ({len(text)} characters)"
    return cut.replace("\n", "\n              ")


def print_slowest(outcomes: list[Outcome]) -> None:
    """Print the SLOWEST programs, if there are more programs than that."""
    timed = sorted((o for o in outcomes if o.seconds), key=lambda o: -o.seconds)[:SLOWEST]
    if len(outcomes) > SLOWEST and timed:
        print(f"the {len(timed)} slowest programs:")
        for outcome in timed:
            print(f"  {outcome.seconds * 1000:7.0f} ms  {outcome.program.ident}")


def summary(outcomes: list[Outcome], seconds: float) -> str:
    """Return the line `N passed, N failed`, with the outcomes that are neither, and the time."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    failed = sum(count for name, count in counts.items() if name not in GOOD)
    kinds = [f"{counts[name]} {name}" for name in ("drift", "hang", "crash", "unexpected pass") if counts[name]]
    parts = [f"{counts['pass']} passed", f"{failed} failed" + (f" ({', '.join(kinds)})" if kinds else "")]
    if counts["expected failure"]:
        parts.append(f"{counts['expected failure']} expected failures")
    if counts["not claimed"]:
        parts.append(f"{counts['not claimed']} not claimed")
    return ", ".join(parts) + f" ({seconds:.1f} s)"


def complain(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr)
