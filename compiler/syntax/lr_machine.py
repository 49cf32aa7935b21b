"""The LR machine: runs the parser tables over a token list and builds the tree.

Hands on `Machine` and `check_depth` to `parse`; and for messages and recovery `Machine`, `Tables` and `entering_symbols` to
`errors` and `error_place`. All state belongs to one call, so parses may run side by side. There is no recursion, so input of any
depth is safe. The machine stops at an error; `compiler/syntax/errors.py` cuts the stacks back, and `parse.py` runs it on. A new
kind of reduction is a branch of `Machine.run` and a word of `grammar`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ply import yacc

from ..diagnostics import Diagnostics
from ..generated import parser_tables
from ..operators import BY_TEXT, POWER
from ..source import Span
from . import ast
from .brackets import MAX_NESTING
from .grammar import APPEND, BY_NAME, CALL, FIRST, MODULE, SAME, TRAILING
from .grammar import NONE as NOTHING
from .lexer import TokenList
from .semantic_actions import Action, CommaList, Context, Reduction

# PLY gets the committed module of tables as an object and compares signatures; stale tables it builds anew in memory
# (G-5.1).

# Head symbol, number of symbols, kind of reduction (as in grammar.py), semantic action.
Step = tuple[str, int, int, Action | None]


class Tables(NamedTuple):
    """`actions[state][terminal]` is a state to shift to, minus a production to reduce by, or 0 to accept. `gotos[state][symbol]`
    is the state after a reduction. `steps` are the productions by their numbers; `defaults` has, for the states whose only action
    is one reduction, that action (minus the production)."""

    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    steps: list[Step]
    defaults: dict[int, int]


@lru_cache(maxsize=1)
def load() -> Tables:
    """Return the tables, which PLY checks against the grammar. They are read once in a process; a table made from another
    grammar is built again in memory (G-5.1), which takes seconds."""
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
    steps = [_table_step(production) for production in parser.productions]
    return Tables(actions, gotos, steps, dict(parser.defaulted_states))


def _table_step(production: Any) -> Step:
    row = BY_NAME.get(production.func)
    if row is None:  # PLY's own S' -> program
        return (production.name, production.len, 0, None)
    return (production.name, production.len, row.kind, row.action)


@lru_cache(maxsize=1)
def entering_symbols() -> dict[int, str]:
    """Return the nonterminal that leads into each state, for the states that one leads into."""
    return {state: symbol for row in load().gotos for symbol, state in row.items()}


# Their values become names with a span.
_NAMES = frozenset(("IDENT", "CFGKEY", "LABEL", "LABELDEF"))


class Machine:
    """The parser's four stacks, which are in step: `states[i]` is entered by the symbol with the value `values[i]`, which covers
    the characters `starts[i]` to `ends[i]` of the source. `tokens` are those of the token filter, `row` is the next of them; the
    stacks of offsets are those of `context`, which must be new. What a semantic action builds and reports is its own matter."""

    def __init__(self, tokens: TokenList, context: Context) -> None:
        self.tokens = tokens
        self.context = context
        self.tables = load()
        self.states = [0]
        self.values: list[Any] = [None]
        self.starts = context.starts
        self.ends = context.ends
        self.starts.append(0)
        self.ends.append(0)
        self.row = 0
        self.highest = 0  # of the stacks: no tree nests deeper than that

    def run(self) -> bool:
        """Parse on until the program is accepted (return True) or the token at `row` is an error (return False). May be
        called again after the stacks were cut back. The loop is one long function because a call per step would double the
        time of a parse."""
        actions, gotos, steps, defaults = self.tables
        states, values, starts, ends = self.states, self.values, self.starts, self.ends
        token_starts, token_ends, token_values = self.tokens.starts, self.tokens.ends, self.tokens.values
        types, file = self.tokens.types, self.context.file
        # A Span is made per node; calling its class would check arguments that are known.
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
                # Index 0 holds the value below, so that symbols are numbered from 1 as in the production.
                reduction[:] = values[-count - 1 :]
                reduction.span = new_span(Span, (file, starts[-count], ends[-1]))
                value = perform(reduction)  # type: ignore[misc]
                if count == 1:
                    values[-1] = value
                    state = states[-1] = gotos[states[-2]][head]
                    continue
                # The stack shrinks at reductions of several symbols only, so its highest point lies before one.
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
            # The first item of a list becomes the list that the next ones are appended to.
            elif step == FIRST:
                values[-1] = CommaList((values[-1],))
                state = states[-1] = gotos[states[-2]][head]
                continue
            # Whether a comma stood at the end is all that is kept of it (L-2.1.2).
            elif step == TRAILING:
                end = ends.pop()
                if values.pop() is not None:
                    values[-1].trailing = True
                del states[-2:], starts[-1]
                ends[-1] = end
            else:
                values.append(None if step == NOTHING else CommaList())
                # An empty symbol stands, with no width, before the next token.
                starts.append(token_starts[row])
                ends.append(ends[-1])
            state = gotos[states[-1]][head]
            states.append(state)
        self.row, self.highest = row, max(highest, len(states))
        return accepted


# All children of these stand one level deeper.
_NESTING = (
    ast.Block, ast.GroupExpr, ast.TupleExpr, ast.ArrayExpr, ast.MapExpr, ast.StructExpr, ast.Interpolation, ast.Unary,
    ast.Spawn, ast.Closure, ast.Return, ast.Throw, ast.Break, ast.NamedType, ast.FunctionType, ast.TupleType,
    ast.BindPattern, ast.TupleStructPattern, ast.StructPattern, ast.TuplePattern, ast.ArrayPattern, ast.UseTree,
    ast.Module, ast.Assign,
)  # fmt: skip


def check_depth(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Report one node that nests deeper than MAX_NESTING, if there is any, as E0114 (L-2.6.7): what brackets alone do not show,
    such as prefix operators, closures and types. The walk keeps its own stack, so that no depth is too much for it."""
    pending: list[tuple[ast.Node, int]] = [(program, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_NESTING:
            message = f"expressions nest deeper than {MAX_NESTING}"
            diagnostics.report("E0114", node.span, message, help="split the expression up")
            return
        pending.extend((child, depth + _step(node, child)) for child in node.children())


def _step(node: ast.Node, child: ast.Node) -> int:
    """Return how much deeper `child` stands than `node`. Operator chains to the left, pipes and `else if` do not nest
    (G-5.2)."""
    if isinstance(node, _NESTING):
        return 1
    if isinstance(node, ast.Binary):
        # `**` groups to the right, so that a chain of it is as deep as it is long.
        return int(BY_TEXT[node.operator].level == POWER and child is node.right)
    if isinstance(node, ast.Await):
        return int(not node.postfix)
    return int(isinstance(node, ast.Index) and child is node.index)
