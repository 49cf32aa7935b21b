"""Runs programs through driver processes and decides their outcomes (C-9.1, C-9.2, section 7).

Hands on to `command`, `selftest` and `concerto conformance` `run_all` with its `Plan` and the `Outcome`s, which `report` and
`verdicts` read, and of which GOOD are no failures; to `command` also `two_orders`, to `selftest` ROUTED_LEVELS. One worker thread
for each driver process takes programs from a shared queue. Nothing is printed. What a driver is asked to do with a program is a
function of `_OPERATIONS`.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from .compare import compare, drift
from .images import mutate
from .program import wire_files
from .protocol import SILENCE, Driver, DriverError, Json
from .records import Failure, Observation, Program
from .world import World

ROUTED_LEVELS = (1, 2, 3, 4)
GOOD = ("pass", "expected failure", "not claimed")


@dataclass
class Outcome:
    """One program's outcome, with what was unmet on which route. `outcome` is "pass", "fail", "drift" (routes differ), "hang",
    "crash", "not claimed", "expected failure" or "unexpected pass". `seconds` is the time of the slowest route; `mutated`: the
    mutant driver has changed an answer; `observations` has one for each route."""

    program: Program
    outcome: str
    failures: list[tuple[str, Failure]] = field(default_factory=list)
    seconds: float = 0.0
    mutated: bool = False
    observations: list[Observation] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """How to run: the command of the driver, the routes asked for (all if empty), the known failures (ident to issue), and how
    many seconds a driver may be silent."""

    command: str | list[str]
    routes: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)
    silence: float = SILENCE


def observe(driver: Driver, program: Program, route: str) -> Observation:
    """Return what a driver does with one program on one route. Raise DriverError for a crash or a hang."""
    seen = Observation(route)
    start = time.perf_counter()
    _OPERATIONS[program.operation](driver, program, seen)
    seen.seconds = time.perf_counter() - start
    return seen


def _check(driver: Driver, program: Program, seen: Observation) -> None:
    seen.result = driver.run({"op": "check", **_source(program)}, _no_event(seen))


def _load(driver: Driver, program: Program, seen: Observation) -> None:
    image = program.image
    if image is None:
        compiled = driver.run({"op": "compile", **_source(program), "strip": False}, _no_event(seen))
        if not compiled.get("image"):
            seen.result = compiled
            return
        image = base64.b64decode(compiled["image"])
    try:
        image = mutate(image, program.mutate)
    except (ValueError, IndexError, KeyError) as error:
        seen.problems.append((1, "a recipe that fits the image", f"{type(error).__name__}: {error}"))
    seen.result = driver.run({"op": "load", "image": base64.b64encode(image).decode("ascii")}, _no_event(seen))


def _run(driver: Driver, program: Program, seen: Observation) -> None:
    world = World(program, seen, driver.answer)
    seen.result = driver.run(_run_message(program, seen.route), world.event)
    world.close()


def _run_message(program: Program, route: str) -> Json:
    return {
        "op": "run",
        **_source(program),
        "mode": program.operation,
        "route": route,
        "args": program.args,
        "seed": program.seed,
        "now": program.now,
        "permissions": program.permissions,
        "limits": program.limits,
        "env": program.env,
        "fs": program.fs,
        "stdin": program.stdin,
        "connections": program.connections,
        "agents": program.agents,
        "memories": program.memories,
        "listen": program.runtime_channels,
    }


def _source(program: Program) -> Json:
    libraries = {"libraries": program.libraries} if program.libraries else {}
    return {"files": wire_files(program), "main": "main.conc", **libraries}


def _no_event(seen: Observation) -> Callable[[Json], None]:
    def refuse(message: Json) -> None:
        seen.problems.append((0, "a result and no event", str(message.get("event"))))

    return refuse


_OPERATIONS = {"check": _check, "load": _load, "run": _run, "test": _run}


class _Worker:
    """One driver process at a time, started when needed and again after it broke. `complaints` say what was wrong with the ends
    of its drivers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.driver: Driver | None = None
        self.complaints: list[str] = []

    def run(self, program: Program) -> Outcome:
        """Return the outcome of a program; a crash or a hang is one."""
        try:
            if program.isolate:
                self.close()
            driver = self.driver = self.driver or Driver(self.plan.command, self.plan.silence)
            outcome = self._routes(driver, program)
        except DriverError as error:
            self.driver = None
            failure = Failure(1, "an answer", str(error))
            return Outcome(program, error.outcome, [("", failure)])
        if program.isolate:
            self.close(f"{program.ident}: ")
        return self._settle(outcome)

    def _routes(self, driver: Driver, program: Program) -> Outcome:
        routes = routes_of(program, driver.hello, self.plan.routes)
        if not claimed(program, driver.hello) or not routes:
            return Outcome(program, "not claimed")
        seen = [observe(driver, program, route) for route in routes]
        if all(one.result.get("status") == "not claimed" for one in seen):
            return Outcome(program, "not claimed", observations=seen)
        # Of a driver that checks nothing no warning is expected, and no way of an error of one that tells none.
        expected = program if driver.hello.get("diagnostics", True) else replace(program, diagnostics=[])
        if WAYS not in (driver.hello.get("features") or []):
            expected = replace(expected, way=[])
        failures = [(one.route, failure) for one in seen for failure in compare(expected, one)]
        outcome = "fail" if failures else "pass"
        for other in seen[1:]:
            for part, first, second in drift(seen[0], other):
                failures.append((other.route, Failure(1, f"{part} as on {seen[0].route}: {first}", second)))
                outcome = "fail" if outcome == "fail" else "drift"
        mutated = any(one.result.get("mutated") for one in seen)
        return Outcome(program, outcome, failures, max(one.seconds for one in seen), mutated, seen)

    def _settle(self, outcome: Outcome) -> Outcome:
        """Return the outcome, changed in place for a known failure (C-9.2); a hang or a crash is never one (C-8.8)."""
        if outcome.program.ident in self.plan.known:
            if outcome.outcome in ("fail", "drift"):
                outcome.outcome = "expected failure"
            elif outcome.outcome == "pass":
                outcome.outcome = "unexpected pass"
        return outcome

    def close(self, whose: str = "") -> None:
        """End the driver, if one runs; what was wrong with its end becomes a complaint, behind the words `whose`."""
        driver, self.driver = self.driver, None
        if driver and (reason := driver.close()):
            self.complaints.append(whose + reason)


WAYS = "ways"  # the feature of a driver that tells the way of an error


def claimed(program: Program, hello: Json) -> bool:
    """Return whether the driver claims a program: it has its level and its features, and gives diagnostics if the program expects
    an error."""
    checked = hello.get("diagnostics", True) or not program.rejects
    return checked and program.level in hello["levels"] and set(program.features) <= set(hello.get("features") or [])


def routes_of(program: Program, hello: Json, asked: tuple[str, ...]) -> list[str]:
    """Return the routes that a program runs on: all that are offered for levels 1 to 4 (C-7.1), of which `asked` chooses if it is
    not empty; the first one for other levels, for `check` and for `load`."""
    offered = list(hello["routes"])
    if program.level not in ROUTED_LEVELS or program.operation in ("check", "load"):
        return offered[:1]
    return [route for route in offered if not asked or route in asked]


def run_all(
    programs: Iterable[Program], plan: Plan, jobs: int, done: Callable[[Outcome], None] = lambda outcome: None
) -> tuple[list[Outcome], list[str]]:
    """Return every outcome in the order of the programs, and what drivers did wrong at their end. At most `jobs` drivers run at a
    time. `done` is called with each outcome as it comes, by one thread at a time. What is raised other than DriverError passes
    through."""
    queue = list(enumerate(programs))
    total, complaints = len(queue), list[str]()
    outcomes: dict[int, Outcome] = {}
    errors: list[BaseException] = []
    queue.reverse()
    lock = threading.Lock()

    def work() -> None:
        worker = _Worker(plan)
        try:
            while not errors:
                with lock:
                    if not queue:
                        break
                    number, program = queue.pop()
                outcome = worker.run(program)
                with lock:
                    outcomes[number] = outcome
                    done(outcome)
        except BaseException as error:
            errors.append(error)
        finally:
            worker.close()
            complaints.extend(worker.complaints)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(1, min(jobs, total)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [outcomes[number] for number in sorted(outcomes)], complaints


def two_orders(programs: list[Program], plan: Plan) -> list[str]:
    """Return the idents of the programs that behave differently in two orders, each in one process (C-8.7). Of more than 100
    programs 100 are taken."""
    step = max(1, len(programs) // 100)
    chosen = programs[::step][:100]
    forward, _ = run_all(chosen, plan, 1)
    backward, _ = run_all(chosen[::-1], plan, 1)
    different = []
    for one, two in zip(forward, backward[::-1], strict=True):
        pairs = zip(one.observations, two.observations, strict=False)
        if one.outcome != two.outcome or any(drift(a, b) for a, b in pairs):
            different.append(one.program.ident)
    return different
