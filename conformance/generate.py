#!/usr/bin/env python3
"""Generated programs, run by two drivers (C-12.4 to C-12.6).

`python conformance/generate.py --seed N --count K [--driver CMD] [--against CMD]`: the programs of the seeds N to N+K-1, each in
both drivers, and on every route of the first; every difference is printed with the smallest program that still shows it.
`--alone` leaves the second driver out, `--route` takes some routes: `--alone --route interp --route trans` compares the tiers.
The last line is `K programs, D differences, U not claimed, S seconds`. Exit status 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from conformance import printing
from conformance.generator.reduce import reduce
from conformance.generator.statements import generate
from conformance.generator.tree import program_text
from conformance.protocol import Driver, DriverError

DRIVERS = Path(__file__).resolve().parent / "drivers"
Seen = tuple[Any, ...]
# What the forms of the generator that reach the host find there.
WORLD: dict[str, Any] = {
    "args": ["one"], "permissions": ["fs:read", "fs:write=in", "env=A", "env=A_TOKEN", "env=UNSET", "net"],
    "env": {"A": "é", "A_TOKEN": 'tok-"1', "DENIED": "d"}, "fs": {"in/a.txt": "one\n${two}\n", "b": ""},
}  # fmt: skip
FINAL = ("rejected", "crash", "hang", "drift")  # differences whatever the other driver says


class Runner:
    """A driver process that is kept from run to run; a fresh one follows a crash or a hang. `wanted`: the routes that are
    compared, all of the driver's if it is empty."""

    def __init__(self, command: str, wanted: Sequence[str] = ()) -> None:
        self.command = command
        self.wanted = wanted
        self.driver: Driver | None = None

    def started(self) -> Driver:
        """Return the driver, started if it does not run. Raise DriverError if it does not start."""
        self.driver = self.driver or Driver(self.command)
        return self.driver

    def routes(self, source: str) -> Seen:
        """Return what the first route shows of a source; another route that shows something else makes it a drift (C-12.5). Raise
        DriverError if the driver does not start while its routes are not known."""
        first, *others = self.wanted or self.started().hello["routes"]
        seen, fuel = self.run(source, first)
        if seen[0] in ("rejected", "crash", "hang"):
            return seen
        for route in others:
            other, used = self.run(source, route)
            if other != seen or any(a != b for a, b in zip(fuel, used, strict=True) if a is not None and b is not None):
                return ("drift", route, str((seen, fuel))[:300], str((other, used))[:300])
        return seen

    def run(self, source: str, route: str = "interp") -> tuple[Seen, tuple[Any, Any]]:
        """Return what may be compared between drivers: how the run ended, then its emits. And the pair of fuel and the way of its
        error, which may be compared between routes; None for what the driver does not tell."""
        emits: list[Any] = []
        try:
            message = _message(source, route)
            result = self.started().run(message, lambda event: emits.append((event.get("channel"), event.get("json"))))
        except DriverError as error:
            self.driver = None
            return (error.outcome, str(error)[-300:]), (None, None)
        seen = _seen(result, [e for e in emits if e[0] != "panic"])
        return seen, (result.get("fuel"), (result.get("fails") or {}).get("way"))

    def close(self) -> None:
        """End the driver, if it runs."""
        if self.driver is not None:
            self.driver.close()


def _seen(result: dict[str, Any], emits: list[Any]) -> Seen:
    status = result.get("status")
    if status == "panic":
        return ("panic", result["panic"]["code"], result["panic"]["line"], emits)
    if status == "error" and not result.get("fails"):
        errors = [(d["code"], d["line"], d["message"]) for d in result["diagnostics"] if d["severity"] == "error"]
        return ("rejected", errors[0][0], errors[:3])
    fails = result.get("fails") or {}
    return (status, fails.get("kind"), fails.get("variant"), emits)


def _message(source: str, route: str) -> dict[str, Any]:
    maps: dict[str, Any] = dict.fromkeys(("limits", "connections", "memories"), {})
    files = {"files": {"main.conc": source}, "main": "main.conc"}
    return {"op": "run", **files, "mode": "run", "route": route, "seed": 0, "now": 0, **WORLD, **maps}


def kind_of(one: Seen, two: Seen) -> tuple[Any, ...] | None:
    """Return the kind of a difference between two runs, None if there is none; reduction keeps the kind."""
    if one[0] in FINAL:
        return one[:2] if one[0] in ("rejected", "drift") else one[:1]
    if two[0] == "not claimed" or one == two:
        return None
    if two[0] in ("crash", "hang"):
        return ("against", two[0])
    return ("differs", one[0], two[0], one[1:3] == two[1:3], one[1] if one[0] == "panic" else None)


class Comparison:
    """Compares programs in two drivers. `against` is the command of the second one, None to compare the routes of the first
    alone; `unclaimed` counts the programs of `judge` that the second did not claim, not what they are reduced to."""

    def __init__(self, driver: str, against: str | None, routes: Sequence[str] = ()) -> None:
        self.one = Runner(driver, routes)
        self.two = None if against is None else Runner(against)
        self.unclaimed = 0
        self.beside = ThreadPoolExecutor(1)

    def difference(self, source: str, wanted: tuple[Any, ...] | None = None) -> tuple[Any, ...] | None:
        """Return the kind of the difference that a source shows, None for none. With `wanted`, only what is needed to see that
        kind is run."""
        # Side by side at first; while a difference is reduced, most candidates never reach the second driver.
        running = None if wanted is not None or self.two is None else self.beside.submit(self.two.run, source)
        every = wanted is None or wanted[0] == "drift"
        first = self.one.routes(source) if every else self.one.run(source)[0]
        outcome = None if running is None else running.result()[0]
        if first[0] in FINAL:
            return kind_of(first, first)
        if self.two is None or (wanted is not None and wanted[0] in FINAL):
            return None
        second = outcome or self.two.run(source)[0]
        self.unclaimed += wanted is None and second[0] == "not claimed"
        return kind_of(first, second)

    def judge(self, seed: int, shrink: bool = True) -> str | None:
        """Return a report of the difference that the program of a seed shows, None for none. Unless `shrink` is false, the
        program is the smallest that shows it."""
        items = generate(seed)
        kind = self.difference(program_text(items))
        if kind is None:
            return None
        if shrink:
            items = reduce(items, lambda smaller: self.difference(program_text(smaller), kind) == kind)
        source = program_text(items)
        first = self.one.routes(source)
        second = first if self.two is None else self.two.run(source)[0]
        sides = f"  driver:  {_shown(first, second)}"
        sides += "" if self.two is None else f"\n  against: {_shown(second, first)}"
        return f"seed {seed}: {' '.join(map(str, kind))}\n{sides}\n{source}"

    def close(self) -> None:
        """End the drivers."""
        self.beside.shutdown()
        self.one.close()
        if self.two is not None:
            self.two.close()


def _shown(seen: Seen, other: Seen) -> str:
    """Return as text how a run ended, and its first emit that the other run does not have."""
    if not isinstance(seen[-1], list) or seen[0] == "rejected":
        return str(seen)[:600]
    emits = other[-1] if isinstance(other[-1], list) else []
    same = next((i for i, (a, b) in enumerate(zip(seen[-1], emits, strict=False)) if a != b), min(len(seen[-1]), len(emits)))
    return f"{seen[:-1]}, {same} equal emits, then {str(seen[-1][same : same + 1])[:600]}"


def main(argv: list[str]) -> int:
    """Compare the programs that the words ask for, print every difference and the last line, and return the exit status: 1 if
    there is a difference, else 0. With `--print` the programs are printed and nothing is run."""
    parser = argparse.ArgumentParser(description="run generated programs in two drivers and reduce what differs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--driver", default=f"{sys.executable} {DRIVERS / 'concerto.py'}")
    parser.add_argument("--against", default=f"{sys.executable} {DRIVERS / 'oracle.py'}")
    parser.add_argument("--alone", action="store_true", help="compare the routes of the driver with each other only")
    parser.add_argument("--route", action="append", default=[], help="only this route of the driver; may be repeated")
    parser.add_argument("--print", action="store_true", help="only print the programs")
    parser.add_argument("--no-reduce", action="store_true", help="print differences as they were generated")
    options = parser.parse_args(argv)
    seeds = range(options.seed, options.seed + options.count)
    if options.print:
        print("\n".join(program_text(generate(seed)) for seed in seeds))
        return 0
    comparison = Comparison(options.driver, None if options.alone else options.against, options.route)
    start, differences = time.perf_counter(), 0
    for seed in seeds:
        if report := comparison.judge(seed, not options.no_reduce):
            differences += 1
            print(report, flush=True)
    comparison.close()
    seconds = time.perf_counter() - start
    print(f"{options.count} programs, {differences} differences, {comparison.unclaimed} not claimed, {seconds:.0f} seconds")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(printing.run(main, sys.argv[1:]))
