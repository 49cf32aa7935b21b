"""The parser tables, checked by PLY against the grammar.

PLY gets the committed module as an object and compares signatures; when the tables are stale it builds them in memory
(G-5.1). Must not know: how the tables are run.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ply import yacc

from ..generated import parser_tables
from .assemble import BY_NAME, MODULE
from .rules import Action

# Head symbol, number of symbols, kind of reduction (assemble.py), action.
Step = tuple[str, int, int, Action | None]


class Tables(NamedTuple):
    """`actions[state][terminal]`: a state to shift to, minus a production to reduce by, or 0 to accept.

    `defaults` has the states whose only action is one reduction.
    """

    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    steps: list[Step]
    defaults: dict[int, int]


@lru_cache(maxsize=1)
def load() -> Tables:
    parser = yacc.yacc(
        module=MODULE,
        tabmodule=parser_tables,
        write_tables=False,
        debug=False,
        optimize=False,
        errorlog=yacc.NullLogger(),
    )
    states = range(len(parser.action))
    # PLY writes None where operators that do not associate would meet
    actions = [{kind: action for kind, action in parser.action[state].items() if action is not None} for state in states]
    gotos = [parser.goto.get(state, {}) for state in states]
    steps = [_step(production) for production in parser.productions]
    return Tables(actions, gotos, steps, dict(parser.defaulted_states))


def _step(production: Any) -> Step:
    written = BY_NAME.get(production.func)
    if written is None:  # PLY's own S' -> program
        return (production.name, production.len, 0, None)
    return (production.name, production.len, written.kind, written.action)


@lru_cache(maxsize=1)
def entering_symbols() -> dict[int, str]:
    """The nonterminal that leads into a state, for those states that one leads into."""
    return {state: symbol for row in load().gotos for symbol, state in row.items()}
