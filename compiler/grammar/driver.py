"""The LR machine: runs the tables over a token list and builds the tree.

All state belongs to one call, so parses may run side by side. It has no recursion, so input of any depth is safe.
It stops at an error; `recovery.py` repairs the stacks and starts it again.
Must not know: productions, nodes other than names, messages.
"""

from __future__ import annotations

from typing import Any

from .. import ast
from ..source import Span
from ..tokens import TokenList
from . import tables
from .assemble import APPEND, CALL, FIRST, SAME, TRAILING
from .assemble import NONE as NOTHING
from .rules import CommaList, Context, Reduction

# Their values become names with a span.
_NAMES = frozenset(("IDENT", "CFGKEY", "LABEL", "LABELDEF"))


class Machine:
    """The four stacks are in step: `states[i]` is entered by the symbol with value `values[i]`."""

    def __init__(self, tokens: TokenList, context: Context) -> None:
        self.tokens = tokens
        self.context = context
        self.tables = tables.load()
        self.states = [0]
        self.values: list[Any] = [None]
        self.starts = context.starts
        self.ends = context.ends
        self.starts.append(0)
        self.ends.append(0)
        self.row = 0
        self.highest = 0  # of the stacks: no tree nests deeper than that

    def run(self) -> bool:
        """Runs until the program is accepted (true) or the token at `row` is an error (false).

        The loop is long because a call per step would double the time of a parse.
        """
        actions, gotos, steps, defaults = self.tables
        states, values, starts, ends = self.states, self.values, self.starts, self.ends
        token_starts, token_ends, token_values = self.tokens.starts, self.tokens.ends, self.tokens.values
        types, file = self.tokens.types, self.context.file
        new_span, highest = tuple.__new__, self.highest
        reduction = Reduction()  # one for all: no action keeps it
        reduction.context = self.context
        row, state, accepted = self.row, states[-1], False
        kind = types[row]
        while True:
            try:
                action = actions[state][kind]
            except KeyError:
                # A reduction that is the only choice is made even before a wrong token: it completes what was right.
                if state not in defaults:
                    break
                action = defaults[state]
            if action > 0:
                start, end, value = token_starts[row], token_ends[row], token_values[row]
                values.append(
                    ast.Ident(new_span(Span, (file, start, end)), value)  # type: ignore[arg-type]
                    if kind in _NAMES
                    else value
                )
                starts.append(start)
                ends.append(end)
                state = action
                states.append(state)
                row += 1
                kind = types[row]
                continue
            if action == 0:
                accepted = True
                break
            head, count, step, perform = steps[-action]
            if step == CALL:
                reduction[:] = values[-count - 1 :]
                reduction.span = new_span(Span, (file, starts[-count], ends[-1]))
                value = perform(reduction)  # type: ignore[misc]
                if count == 1:
                    values[-1] = value
                    state = states[-1] = gotos[states[-2]][head]
                    continue
                if len(states) > highest:
                    highest = len(states)
                end = ends[-1]
                del states[-count:], values[1 - count :], starts[1 - count :], ends[1 - count :]
                ends[-1] = end
                values[-1] = value
            elif step == SAME:
                state = states[-1] = gotos[states[-2]][head]
                continue
            elif step == APPEND:
                values[-count].append(values[-1])
                end = ends[-1]
                del states[-count:], values[1 - count :], starts[1 - count :], ends[1 - count :]
                ends[-1] = end
            elif step == FIRST:
                values[-1] = CommaList((values[-1],))
                state = states[-1] = gotos[states[-2]][head]
                continue
            elif step == TRAILING:
                end = ends.pop()
                if values.pop() is not None:
                    values[-1].trailing = True
                del states[-2:], starts[-1]
                ends[-1] = end
            else:
                values.append(None if step == NOTHING else CommaList())
                starts.append(token_starts[row])
                ends.append(ends[-1])
            state = gotos[states[-1]][head]
            states.append(state)
        self.row, self.highest = row, max(highest, len(states))
        return accepted
