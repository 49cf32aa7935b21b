"""Outcomes of programs as verdicts on clauses (O-9.24).

A clause passes if every program that names it passes; one that the driver claims no program of has no verdict. Hands on
`Verdict`s in the order of clauses; prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from .records import Program
from .runner import Outcome

_NUMBER = re.compile(r"\d+")
_WIDTH = 160


@dataclass
class Verdict:
    """What became of the programs of one clause; `reason` is empty if all passed."""

    clause: str
    programs: list[str] = field(default_factory=list)
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason


def named(programs: Iterable[Program], wanted: str | None) -> list[Program]:
    """The programs that name a clause of `wanted`: its id, or the beginning of ids up to a dot or dash."""
    return [program for program in programs if any(is_under(clause, wanted) for clause in program.clauses)]


def is_under(clause: str, wanted: str | None) -> bool:
    """`O-9` holds O-9.1 and not O-90.1."""
    return wanted is None or clause == wanted or clause.startswith((f"{wanted}.", f"{wanted}-"))


def clauses_of(programs: Iterable[Program], wanted: str | None) -> dict[str, int]:
    """How many programs name each clause."""
    found: dict[str, int] = {}
    for program in programs:
        for clause in program.clauses:
            if is_under(clause, wanted):
                found[clause] = found.get(clause, 0) + 1
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def verdicts(outcomes: Iterable[Outcome], wanted: str | None) -> list[Verdict]:
    found: dict[str, Verdict] = {}
    for outcome in outcomes:
        if outcome.outcome == "not claimed":
            continue
        for clause in outcome.program.clauses:
            if is_under(clause, wanted):
                verdict = found.setdefault(clause, Verdict(clause))
                verdict.programs.append(outcome.program.ident)
                verdict.reason = verdict.reason or _reason(outcome)
    return sorted(found.values(), key=lambda verdict: _order(verdict.clause))


def _reason(outcome: Outcome) -> str:
    """One line: the program, and what was unmet first."""
    if outcome.outcome == "pass":
        return ""
    ident = outcome.program.ident
    if not outcome.failures:
        return f"{ident}: {outcome.outcome}"
    _, failure = outcome.failures[0]
    line = f"{ident}: line {failure.at or 1}: expected {failure.expected}; came {failure.came}"
    line = " ".join(line.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _order(clause: str) -> tuple[str, list[int]]:
    return clause.partition("-")[0], [int(number) for number in _NUMBER.findall(clause)]
