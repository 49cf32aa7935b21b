"""Outcomes of programs as verdicts on clauses (O-9.24).

Hands on to `concerto conformance` `verdicts`, which returns a `Verdict` for each clause, `named` and `clauses_of`. A clause
passes if every program that names it passes; one of which the driver claims no program has no verdict. Nothing is printed or run
here.
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
    """What became of the programs of one clause, which stand in `programs` by their idents; `reason` is the first failure as one
    line, empty if all passed."""

    clause: str
    programs: list[str] = field(default_factory=list)
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether no program of the clause has failed."""
        return not self.reason


def named(programs: Iterable[Program], wanted: str | None) -> list[Program]:
    """Return the programs that name a clause of `wanted`: its id, or the beginning of ids up to a dot or dash; all for None."""
    return [program for program in programs if any(is_under(clause, wanted) for clause in program.clauses)]


def is_under(clause: str, wanted: str | None) -> bool:
    """Return whether a clause is `wanted` or below it: `O-9` holds O-9.1 and not O-90.1, None holds all."""
    return wanted is None or clause == wanted or clause.startswith((f"{wanted}.", f"{wanted}-"))


def clauses_of(programs: Iterable[Program], wanted: str | None) -> dict[str, int]:
    """Return for each clause below `wanted` how many programs name it, in the order of clauses."""
    counts: dict[str, int] = {}
    for program in programs:
        for clause in program.clauses:
            if is_under(clause, wanted):
                counts[clause] = counts.get(clause, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: _order(item[0])))


def verdicts(outcomes: Iterable[Outcome], wanted: str | None) -> list[Verdict]:
    """Return the verdicts on the clauses below `wanted`, in the order of clauses."""
    by_clause: dict[str, Verdict] = {}
    for outcome in outcomes:
        if outcome.outcome == "not claimed":
            continue
        for clause in outcome.program.clauses:
            if is_under(clause, wanted):
                verdict = by_clause.setdefault(clause, Verdict(clause))
                verdict.programs.append(outcome.program.ident)
                verdict.reason = verdict.reason or _reason(outcome)
    return sorted(by_clause.values(), key=lambda verdict: _order(verdict.clause))


def _reason(outcome: Outcome) -> str:
    """Return one line: the program, and what was unmet first; an empty text for a pass."""
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
