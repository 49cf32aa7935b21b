"""Tests the runner itself (C-9.4): every program fails under the null driver, and every mutant that applies.

Hands on `run` to `command`. A change applies to a program when the mutant reports that it has made it, and the program or the
comparison of routes must see it. A new kind is a row of KINDS and a place in `drivers/mutant.py`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace

from .protocol import Json
from .records import Program
from .runner import ROUTED_LEVELS, Outcome, Plan, run_all
from .suite import ROOT

_BOTH = 2


def _has_emits(outcome: Outcome) -> bool:
    return any(seen.emits for seen in outcome.observations)


def _has_ordered_emits(outcome: Outcome) -> bool:
    """Return whether the program states the order of its emits, of which it has two at least: no unordered group, no
    alternatives."""
    emits = outcome.program.emits
    return len(emits) > 1 and all(emit.group is None and len(emit.either) == 1 for emit in emits)


def _has_errors(outcome: Outcome) -> bool:
    return outcome.program.rejects


def _has_replies(outcome: Outcome) -> bool:
    return any(seen.requests for seen in outcome.observations)


def _runs(outcome: Outcome) -> bool:
    return outcome.program.operation in ("run", "test")


def _on_routes(outcome: Outcome) -> bool:
    return len(outcome.observations) >= _BOTH and outcome.program.level in ROUTED_LEVELS


def _any(outcome: Outcome) -> bool:
    return True


KINDS: dict[str, tuple[bool, Callable[[Outcome], bool]]] = {
    # kind: (needs two routes, which passing programs it is tried on)
    "emit-drop": (False, _has_emits),
    "emit-add": (False, _runs),
    "emit-swap": (False, _has_ordered_emits),
    "emit-alter": (False, _has_emits),
    "diagnostic-drop": (False, _has_errors),
    "diagnostic-move": (False, _has_errors),
    "diagnostic-code": (False, _has_errors),
    "diagnostic-stage": (False, _has_errors),
    "request-drop": (False, _has_replies),
    "request-double": (False, _has_replies),
    "request-alter": (True, _has_replies),
    "memory": (True, _on_routes),
    "fuel": (True, _on_routes),
    "result": (True, _on_routes),
    "status": (False, _any),
}


def run(programs: list[Program], plan: Plan, jobs: int, hello: Json) -> bool:
    """Print one line per kind, and the programs that got past the runner; return whether there are none. `hello` is the first
    message of the driver in `plan`."""
    good = _null(programs, jobs)
    outcomes, _ = run_all(programs, plan, jobs)
    passing = [outcome for outcome in outcomes if outcome.outcome == "pass"]
    print(f"{len(passing)} of {len(programs)} programs pass and are tried under the mutants")
    for kind, (routed, applies) in KINDS.items():
        chosen = [outcome.program for outcome in passing if applies(outcome)]
        good = _mutant(kind, routed, chosen, plan, jobs, list(hello["routes"])) and good
    return good


def _null(programs: list[Program], jobs: int) -> bool:
    plan = Plan([sys.executable, str(ROOT / "drivers" / "null.py")])
    outcomes, _ = run_all([replace(program, features=[]) for program in programs], plan, jobs)
    return _show("null driver", len(outcomes), [outcome for outcome in outcomes if outcome.outcome != "fail"])


def _mutant(kind: str, routed: bool, programs: list[Program], plan: Plan, jobs: int, offered: list[str]) -> bool:
    if routed and len(offered) < _BOTH:
        print(f"{kind:18} not applicable: the driver has one route")
        return True
    routes = (offered[0], offered[-1]) if routed else (offered[0],)
    inner = shlex.split(plan.command) if isinstance(plan.command, str) else plan.command
    command = [sys.executable, str(ROOT / "drivers" / "mutant.py"), kind, offered[-1], *inner]
    outcomes, _ = run_all(programs, replace(plan, command=command, routes=routes, known={}), jobs)
    struck = [outcome for outcome in outcomes if outcome.mutated or outcome.outcome not in ("pass", "not claimed")]
    return _show(kind, len(struck), [outcome for outcome in struck if outcome.outcome not in ("fail", "drift")])


def _show(name: str, count: int, missed: list[Outcome]) -> bool:
    print(f"{name:18} {count - len(missed)} of {count} programs fail as they must")
    for outcome in missed:
        print(f"  {outcome.outcome}: {outcome.program.ident}")
        for _, failure in outcome.failures[:1]:
            print(f"    {failure.came[:300]}")
    return not missed
