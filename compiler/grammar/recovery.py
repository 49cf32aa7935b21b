"""What happens at a syntax error: one diagnostic, then the machine goes on at the next sensible place (L-4.1.3).

The stacks are cut back to the innermost list that is still open (of statements, items, fields …), and tokens are
skipped to where that list may go on. What was cut off becomes an ErrorExpr or ErrorItem.
Must not know: actions, the wording of messages.
"""

from __future__ import annotations

from bisect import bisect_left

from .. import ast
from ..diagnostics import Diagnostics
from ..source import Source, Span
from ..tokens import END, SOFT_WORDS
from .driver import Machine
from .messages import report_syntax_error
from .rules import CommaList
from .tables import entering_symbols

MAX_ERRORS = 200  # more than is ever printed; keeps hopeless input from taking long

_OPENS = frozenset(("LPAREN", "LBRACKET", "LBRACE", "MLBRACE", "SLBRACE", "ISTR_START"))
_CLOSES = frozenset(("RPAREN", "RBRACKET", "RBRACE", "ISTR_END"))

_ITEM_WORDS = frozenset(
    ("CONST", "FN", "STRUCT", "ENUM", "TRAIT", "IMPL", "PUB", "USE", "MOD", "ASYNC", "AT")
) | {"K_" + word.upper() for word in SOFT_WORDS - {"limit", "needs", "reads", "spawn", "parallel", "listen"}}
_STATEMENT_WORDS = _ITEM_WORDS | {
    "LET", "IF", "MATCH", "FOR", "WHILE", "LOOP", "TRY", "RETURN", "RETURN_V", "THROW", "BREAK", "BREAK_V", "CONTINUE",
    "LABELDEF", "K_PARALLEL", "K_LISTEN",
}  # fmt: skip

# The lists recovery may cut back to, and the tokens that begin an element of each.
_LISTS: dict[str, frozenset[str]] = {
    "stmt_star": _STATEMENT_WORDS,
    "top_star": _ITEM_WORDS,
    "method_star": frozenset(("FN", "ASYNC", "PUB", "AT")),
    "toolm_star": frozenset(("FN", "ASYNC", "PUB", "AT", "CFGKEY")),
    "mcpm_star": frozenset(("FN", "ASYNC", "AT", "CFGKEY")),
    "stage_star": frozenset(("K_STAGE", "AT")),
    "field_star": frozenset(("PUB", "AT")),
    "slot_star": frozenset(("MUT",)),
    "tier_star": frozenset(("K_PERSISTENT", "K_SESSION", "K_EPHEMERAL")),
    "cfg_star": frozenset(("CFGKEY",)),
    "variant_star": frozenset(),
    "armlist": frozenset(),
}
_NAMED_ENTRIES = frozenset(("field_star", "slot_star", "toolm_star"))
_COMMA_LISTS = _NAMED_ENTRIES | {"cfg_star", "mcpm_star", "variant_star", "armlist"}
_GOES_ON = frozenset(
    ("BLKEND", "ELSE", "CATCH", "DOT", "QUESTION", "SEMI", "COMMA", "RPAREN", "RBRACKET", "EQ", "IN", "COLON", "FATARROW")
)


class Recovery:
    """The recoveries of one parse."""

    def __init__(self, machine: Machine, source: Source, diagnostics: Diagnostics, silent_from: int | None) -> None:
        self.machine = machine
        self.source = source
        self.diagnostics = diagnostics
        self.silent_from = silent_from  # behind the first unbalanced bracket errors mean nothing
        self.types = machine.tokens.types
        self.depths = _depths(self.types)
        self.error_row = -1
        self.count = 0

    def run(self) -> bool:
        """Reports the error at the machine's row and makes it ready to go on; false if it cannot."""
        machine = self.machine
        stuck = machine.row == self.error_row
        self.error_row = machine.row
        if not stuck:
            self.report()
        self.count += 1
        if self.count > MAX_ERRORS:
            return False
        if self.types[machine.row] == "PUB":
            machine.row += 1  # what follows reads as if `pub` were not there
            return True
        found = self.open_list()
        if found is None:
            return False
        place, symbol, is_new, depth = found
        start = machine.starts[place + 1] if place + 1 < len(machine.starts) else machine.tokens.starts[machine.row]
        row = self.next_row(symbol, depth, stuck)
        self.cut(place)
        if is_new:
            self.push(symbol)
        self.leave_mark(symbol, start)
        machine.row = row
        return True

    def report(self) -> None:
        offset = self.machine.tokens.starts[self.machine.row]
        if self.silent_from is None or offset < self.silent_from:
            report_syntax_error(self.machine, self.source, self.diagnostics)

    # ------------------------------------------------------------ the stacks

    def open_list(self) -> tuple[int, str, bool, int] | None:
        """The innermost list still open at the error: its place on the stack, symbol, whether it is yet to be begun,
        and the bracket depth of its elements."""
        machine, entering, gotos = self.machine, entering_symbols(), self.machine.tables.gotos
        here = self.depths[machine.row]
        for place in range(len(machine.states) - 1, -1, -1):
            state = machine.states[place]
            symbol = entering.get(state)
            is_new = symbol not in _LISTS
            if is_new:
                symbol = next((name for name in gotos[state] if name in _LISTS), None)
            if symbol is None:
                continue
            depth = self.depth_behind(place)
            if depth <= here:
                return place, symbol, is_new, depth
        return None

    def depth_behind(self, place: int) -> int:
        machine = self.machine
        if place + 1 >= len(machine.starts):
            return self.depths[machine.row]
        return self.depths[min(bisect_left(machine.tokens.starts, machine.starts[place + 1]), machine.row)]

    def cut(self, place: int) -> None:
        machine = self.machine
        for stack in (machine.states, machine.values, machine.starts, machine.ends):
            del stack[place + 1 :]

    def push(self, symbol: str) -> None:
        machine = self.machine
        machine.states.append(machine.tables.gotos[machine.states[-1]][symbol])
        machine.values.append(CommaList())
        machine.starts.append(machine.tokens.starts[machine.row])
        machine.ends.append(machine.ends[-1])

    def leave_mark(self, symbol: str, start: int) -> None:
        machine = self.machine
        end = max(start, machine.tokens.ends[machine.row])
        span = Span(self.source.name, start, end)
        machine.ends[-1] = end
        if symbol == "top_star":
            machine.values[-1].append(ast.ErrorItem(span=span))
        elif symbol == "stmt_star":
            error = ast.ErrorExpr(span=span)
            machine.values[-1].append(ast.ExprStmt(span=span, expr=error, terminated=False))

    # ------------------------------------------------------------ the tokens

    def next_row(self, symbol: str, depth: int, stuck: bool) -> int:
        """Where the list may go on: behind `;` or `}`, at its closing bracket, or at a word that begins an element."""
        row = min(self.machine.row + stuck, len(self.types) - 1)
        while self.types[row] != END:
            if self.depths[row] < depth or (self.depths[row] == depth and self.types[row] in _CLOSES):
                return row
            if self.depths[row] == depth:
                if self.ends_element(row, symbol):
                    return row + 1
                if self.begins_element(row, symbol):
                    return row
            elif self.ends_body(row, symbol, depth):
                return row + 1
            row += 1
        return row

    def ends_element(self, row: int, symbol: str) -> bool:
        kind = self.types[row]
        return kind == "SEMI" or kind == "BLKEND" or (kind == "COMMA" and symbol in _COMMA_LISTS)

    def begins_element(self, row: int, symbol: str) -> bool:
        kind, following = self.types[row], self.types[row + 1]
        if row == self.machine.row and not self.begins_line(row):
            return False
        if kind == "IDENT" and symbol in _NAMED_ENTRIES:
            return following == "COLON" or (following == "QUESTION" and self.types[row + 2] == "COLON")
        return kind in _LISTS[symbol]

    def begins_line(self, row: int) -> bool:
        """A wrong token on a new line mostly begins what comes next; on the same line it belongs to what is wrong."""
        tokens = self.machine.tokens
        return row == 0 or "\n" in self.source.text[tokens.ends[row - 1] : tokens.starts[row]]

    def ends_body(self, row: int, symbol: str, depth: int) -> bool:
        """`}` that leads back to the list, unless the same element goes on behind it."""
        if self.types[row] != "RBRACE" or self.depths[row] != depth + 1 or row == self.machine.row:
            return False
        return self.types[row + 1] not in _GOES_ON and symbol not in _COMMA_LISTS


def _depths(types: list[str]) -> list[int]:
    """How many brackets are open before each token."""
    depths, depth = [], 0
    for kind in types:
        depths.append(depth)
        if kind in _OPENS:
            depth += 1
        elif kind in _CLOSES:
            depth -= 1
    return depths
