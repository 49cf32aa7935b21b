"""What happens at a syntax error: one diagnostic, then the machine goes on at the next sensible place (L-4.1.3).

Hands on `Recovery` to `parse`. It reports with `report_syntax_error`, whose wording is here, as are some of its helps; the others
come from `compiler/hints/`. Then the stacks are cut back to the innermost list that is still open (of statements, items, fields
…), and tokens are skipped to where that list may go on; what was cut off from a list of statements or items becomes an ErrorExpr
or ErrorItem. No semantic action runs here, and nothing is raised. The helps are tried in the order of the list in `help_for`; the
lists of the grammar at which a parse can go on are the rows of `_LISTS`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from .. import operators
from ..diagnostics import Diagnostics
from ..hints import syntax
from ..hints.expressions import of_a_type, of_an_operand
from ..hints.statements import ITEMS, of_a_statement
from ..hints.syntax import BRACES, LITERAL_TYPES, of_a_declaration, of_a_loop, of_a_store, of_a_test
from ..source import INTEGER_DIVISION, Source, Span
from . import ast
from .error_place import ErrorPlace
from .lexer import CLAUSE_WORDS, DECLARING_WORDS, END, HARD_KEYWORDS, RAW_FORM, SOFT_WORDS, describe, words
from .lr_machine import Machine, Tables, entering_symbols
from .semantic_actions import CommaList

# What begins an expression, a type, a pattern; a few members tell which of them is expected.
_EXPRESSION = words(
    "INT FLOAT STRING TRUE FALSE NIL SELF IDENT ISTR_START LPAREN LBRACKET MLBRACE LBRACE IF MATCH K_LISTEN FOR "
    "WHILE LOOP LABELDEF K_PARALLEL TRY ASYNCBLK FNEXPR MINUS NOT AWAIT THROW RETURN K_SPAWN RETURN_V BREAK "
    "BREAK_V CONTINUE CPIPE CPIPE2 RANGE_TO RANGE_TOEQ RANGE_FULL"
)
_ITEM = words("CONST FN STRUCT ENUM TRAIT IMPL PUB USE MOD ASYNC AT").union(
    "K_" + word.upper() for word in DECLARING_WORDS - {"stage", "mock"}  # which stand inside of items only
)
_STATEMENT = _EXPRESSION | _ITEM | {"LET", "K_MOCK", "SEMI"}
_TYPE = frozenset(("IDENT", "STRING", "LPAREN", "FNTYPE"))
_PATTERN = words(
    "IDENT INT FLOAT STRING TRUE FALSE NIL MINUS MUT LPAREN LBRACKET RANGE_TO RANGE_TOEQ RANGE_FULL"
)
# What may follow a complete operand or type without ending what it stands in.
_CONTINUATION = words(
    "DOT LPAREN LBRACKET QUESTION AS SLBRACE COLONCOLON TLT PIPE AT RANGE RANGEEQ RANGE_FROM PIPEGT"
).union(operators.TOKENS)
_ASSIGNMENT = frozenset(operators.ASSIGNING)
_INVISIBLE = frozenset(("BLKEND", "ISTR_MID", "K_BY"))  # `by` is seldom what was meant
# Shown in this order; the rest follows alphabetically.
_ORDER = ("SEMI", "COMMA", "RPAREN", "RBRACKET", "RBRACE", "LBRACE", "EQ", "COLON")


def report_syntax_error(machine: Machine, source: Source, diagnostics: Diagnostics) -> None:
    """Report the token at which the machine stopped: E0101, E0105 for `pub`, or E3011 where a label has no loop."""
    place = ErrorPlace(machine, source)
    span = Span(source.name, *place.range())
    # `pub` is right in few places, and other languages have it in many: a message of its own.
    if "PUB" in (place.kind(), place.before(1)):
        row = place.row if place.kind() == "PUB" else place.row - 1
        span = Span(source.name, machine.tokens.starts[row], machine.tokens.ends[row])
        what = "" if row == place.row else f" before {place.described()}"
        help = "write `pub` alone: what is `pub` is seen outside of its file" if place.kind() == "LPAREN" else "remove `pub`"
        diagnostics.report("E0105", span, f"`pub` means nothing here{what}", help=help)
        return
    if place.before(1) == "COLON" and place.before(2) == "LABELDEF":
        label = machine.tokens.values[machine.row - 2]
        message = f"label `'{label}` stands before {place.described()}, which is no loop"
        label_span = Span(source.name, machine.tokens.starts[machine.row - 2], machine.tokens.ends[machine.row - 2])
        diagnostics.report("E3011", label_span, message, help="a label stands before `for`, `while` or `loop`")
        return
    expected = acceptable(machine.tables, machine.states)
    message = _unexpected(place, expected)
    if "CFGKEY" in expected and place.key_without_colon():
        span, message = place.behind_key(source.name)
    elif "K_LIMIT" in expected and place.text() == "limit":
        span, message = place.behind_key(source.name, "a number behind `limit`")
    diagnostics.report("E0101", span, message, help=help_for(place, expected))


def _unexpected(place: ErrorPlace, expected: set[str]) -> str:
    """Return the message of E0101."""
    beginning = f"unexpected {place.described().removeprefix('a ').removeprefix('the ')}"
    if place.word_before() in ITEMS and _is_module_level(place, expected):
        return f"{beginning}: there is no `{place.word_before()}`"
    if _is_statement(place, expected):
        return f"{beginning}: a statement stands in a function"
    if _is_module_level(place, expected) and place.word_before() and place.kind() == "IDENT":
        return f"{beginning}: no item begins with `{place.word_before()}`"
    forms = expected_forms(expected)
    return beginning + (f": expected {forms}" if forms else "")


def _is_module_level(place: ErrorPlace, expected: set[str]) -> bool:
    """Return whether an item may begin here. Behind `NAME` or `NAME.m` it may as well: those begin an initialisation
    statement."""
    if place.before(1) == "IDENT":
        return expected == {"DOT"} or (expected == {"LPAREN"} and place.before(2) == "DOT")
    return "STRUCT" in expected and "LET" not in expected


def _is_statement(place: ErrorPlace, expected: set[str]) -> bool:
    """Return whether a statement stands at module level."""
    if not _is_module_level(place, expected):
        return False
    if place.word_before():
        return place.kind() in _ASSIGNMENT | {"LPAREN", "LBRACKET", "DOT", "PIPEGT"}
    return place.kind() in _EXPRESSION | {"LET"}


# ---------------------------------------------------------------- expected forms


def acceptable(tables: Tables, states: list[int]) -> set[str]:
    """Return the terminals that could really be shifted in this state: LALR lookaheads alone promise too many, since a
    reduction may lead to a state that does not take them."""
    return {kind for kind in tables.actions[states[-1]] if _can_shift(tables, states, kind)}


def _can_shift(tables: Tables, states: list[int], kind: str) -> bool:
    stack = states[:]
    while True:
        action = tables.actions[stack[-1]].get(kind)
        if action is None:
            return False
        if action >= 0:
            return True
        head, count, _, _ = tables.steps[-action]
        if count:
            del stack[-count:]
        stack.append(tables.gotos[stack[-1]][head])


def expected_forms(expected: set[str]) -> str:
    """Return the words for a set of terminals: `` an expression or `)` ``, an empty text when the list would be longer than five
    or nothing is to be named."""
    forms: list[str] = []
    rest = set(expected) - _INVISIBLE
    # Where an operator could go on, the operand is complete, and all operators are one form.
    if "PLUS" in rest:
        rest -= _CONTINUATION | _ASSIGNMENT
        if not rest:
            return "an operator"
    for form, members, signs in (
        ("a statement", _STATEMENT, ("LET", "INT")),
        ("an item", _ITEM | {"IDENT"}, ("STRUCT", "FN")),
        ("an expression", _EXPRESSION, ("INT", "NOT")),
        ("a pattern", _PATTERN, ("MUT", "INT")),
        ("a type", _TYPE, ("FNTYPE",)),
    ):
        if rest.issuperset(signs):
            forms.append(form)
            rest -= members
    if forms or rest - _CONTINUATION:
        rest -= _CONTINUATION
    return _join(forms + _described(rest))


def _described(kinds: Iterable[str]) -> list[str]:
    ranked = sorted(kinds, key=lambda kind: (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), kind))
    return list(dict.fromkeys(describe(kind) for kind in ranked))


def _join(forms: list[str]) -> str:
    # A longer list tells nobody what is missing.
    if len(forms) > 5:
        return ""
    return forms[0] if len(forms) == 1 else ", ".join(forms[:-1]) + " or " + forms[-1] if forms else ""


# ---------------------------------------------------------------- help (L-2.6.8)

PATTERN_LIMIT = 20  # tokens of `{ a, b }` that are looked at
_NO_TERNARY = "there is no `?:`; write `if a { b } else { c }`"
_NO_BIT_OPERATORS = "the language has no bit operators"
_IN_MAIN = "put it in `fn main() { … }`"


def help_for(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the first help that fits the place, or None; `expected` are the terminals that could stand there. The rules are in
    the order of precedence: what is surest comes first."""
    for rule in (
        of_a_store, of_a_statement, _at_module_level, _foreign_word, _key_without_colon, of_an_operand, _doubled_operator,
        of_a_type, of_a_loop, of_a_declaration, of_a_test, _wrong_form, _foreign_form, _ternary, _missing_semicolon,
    ):  # fmt: skip
        help = rule(place, expected)
        if help is not None:
            return help
    return None


def _at_module_level(place: ErrorPlace, expected: set[str]) -> str | None:
    if not _is_module_level(place, expected):
        return None
    if place.kind() == "LET":
        return f"{_IN_MAIN}, or write `{_as_constant(place)}`"
    return _IN_MAIN if _is_statement(place, expected) else None


def _as_constant(place: ErrorPlace) -> str:
    """Return the constant that a `let` at module level may have meant, as source writes it."""
    at = 2 if place.kind(1) == "MUT" else 1
    if place.kind(at) != "IDENT":
        return "const NAME: T = …;"
    if place.kind(at + 1) == "EQ" and place.kind(at + 2) in LITERAL_TYPES and place.kind(at + 3) == "SEMI":
        return f"const {place.text(at)}: {LITERAL_TYPES[place.kind(at + 2)]} = {place.text(at + 2)};"
    return f"const {place.text(at)}: T = …;"


def _foreign_word(place: ErrorPlace, expected: set[str]) -> str | None:
    if place.kind() == "IDENT" and place.text() in ("and", "or"):
        return syntax.WORDS[place.text()]
    return syntax.WORDS.get(place.word_before()) or syntax.BLOCKS.get(_word_of_block(place))


def _word_of_block(place: ErrorPlace) -> str:
    """Return the name that `name {` or `name (x) {` begins with, where the parser read a struct literal or a call; an empty text
    if it is no word of BLOCKS."""
    # The name, and perhaps a bracket with one word in it.
    for back in (2, 3, 4, 5):
        if place.before(back) == "IDENT" and place.text(-back) in syntax.BLOCKS:
            return place.text(-back)
    return ""


def _key_without_colon(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for `name = value` and `name value` where a field stands, `limit: 2` behind the items of a loop."""
    if "CFGKEY" in expected and place.key_without_colon():
        value = place.rest(2 if place.kind(1) == "EQ" else 1)
        return f"a field and its value are joined by `:`: `{place.text()}: {value}`"
    if "CFGKEY" in expected and place.kind() == "IDENT" and place.kind(1) == "LPAREN":
        value = place.rest(2, "RPAREN")
        value = f"{{ {value} }}" if place.kind(3) == "COLON" else value
        return f"a field and its value are joined by `:`: `{place.text()}: {value}`"
    if "K_LIMIT" in expected and place.kind() == "IDENT" and place.text() in ("limit", "max", "workers", "concurrency"):
        return f"write `limit {place.rest(2 if place.kind(1) == 'COLON' else 1, 'LBRACE')}`"
    return None


def _doubled_operator(place: ErrorPlace, expected: set[str]) -> str | None:
    kind, before = place.kind(), place.before(1)
    if kind == "EQ" and before in ("EQEQ", "NE") and place.adjacent(-1, 0):
        return "compare with `==` or `!=`"
    if kind == "PLUS" and ((before == "PLUS" and place.adjacent(-1, 0)) or place.kind(1) == "PLUS"):
        return "there is no `++`; write `x += 1`"
    if before == "MINUS" and place.before(2) == "MINUS" and place.adjacent(-2, -1):
        return "there is no `--`; write `x -= 1`"
    if kind == before and kind in ("LT", "GT") and place.adjacent(-1, 0):
        return _NO_BIT_OPERATORS
    if kind == "PIPE" and "PLUS" in expected:
        return f"{_NO_BIT_OPERATORS}; logical or is `||`"
    return None


def _wrong_form(place: ErrorPlace, expected: set[str]) -> str | None:
    kind, before = place.kind(), place.before(1)
    if kind == "LET" and before in ("IF", "WHILE", "ANDAND"):
        return _matched(place, before == "WHILE")
    if kind in ("LBRACE", "MLBRACE", "SLBRACE") and ({"MUT", "INT"} <= expected or before in ("MUT", "CONST")):
        return _struct_pattern(place)
    if place.word_before() == "typeof":
        return f"`typeof` is a function: write `typeof({place.text()})`"
    if kind == "ELSE" and _behind_let(place):
        first = place.begin(frozenset(("SEMI", "LET", "BLKEND")))
        equals = place.end(first, frozenset(("EQ",))) + 1
        subject, pattern = place.written(equals + 1, -1), place.written(first, equals - 1)
        return f"there is no `let … else`; use `match`: `let x = match {subject} {{ {pattern} => x, _ => return … }};`"
    if kind == END:
        return None
    if "IDENT" in expected and kind in HARD_KEYWORDS.values() and len(expected) <= 3:
        return f"{place.described()} is a keyword and cannot be a name here"
    return None


def _matched(place: ErrorPlace, loops: bool) -> str:
    """Return the help for `if let P = x {` and `while let P = x {`."""
    equals = place.end(1, frozenset(("EQ",))) + 1
    pattern, subject = place.written(1, equals - 1), place.written(equals + 1, place.end(equals + 1, frozenset(BRACES)))
    if loops:
        whole = f"loop {{ match {subject} {{ {pattern} => …, _ => break }} }}"
        return f"there is no `while let`; use `loop` and `match`: `{whole}`"
    return f"there is no `if let`; use `match`: `match {subject} {{ {pattern} => …, _ => {{}} }}`"


def _struct_pattern(place: ErrorPlace) -> str:
    """Return the help for `{ a, b }` in the place of a pattern."""
    names = "a, b"
    close = next((ahead for ahead in range(1, PATTERN_LIMIT) if place.kind(ahead) in ("RBRACE", END)), 0)
    if place.kind(close) == "RBRACE" and all(place.kind(ahead) in ("IDENT", "COMMA") for ahead in range(1, close)):
        names = ", ".join(place.text(ahead) for ahead in range(1, close) if place.kind(ahead) == "IDENT")
    return f"a pattern names its struct: `T {{ {names} }}`, or `T {{ {names}, .. }}` for some of its fields"


def _behind_let(place: ErrorPlace) -> bool:
    """Return whether the statement of the error began with `let`."""
    for back in range(1, min(place.row, 40) + 1):
        kind = place.before(back)
        if kind in ("LET", "SEMI", "BLKEND"):
            return kind == "LET"
    return False


def _foreign_form(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for forms of other languages that are told by one or two tokens."""
    kind, before = place.kind(), place.before(1)
    if kind in ("STRING", "ISTR_START") and place.word_before() and place.adjacent(-1, 0):
        if place.word_before() in ("r", "R"):
            return RAW_FORM
        if place.word_before() in ("b", "B", "u", "c"):
            return f"a string has no letter before it: `{place.text() if place.kind() == 'STRING' else chr(34) + '…' + chr(34)}`"
        return "write `\"…${x}\"`; every string may hold `${ }`"
    if kind in ("ARROW", "COLON") and "FATARROW" in expected:
        return "an arm is written `pattern => value`"
    if kind in ("FN", "PUB") and before in ("COMMA", "SLBRACE", "LBRACE", "SEMI") and {"IDENT", "RBRACE", "PUB"} <= expected:
        return "methods stand in `impl T { … }`"
    if "RBRACKET" in expected and "COMMA" in expected:
        return _in_brackets(place)
    if before == "SLBRACE" and kind in LITERAL_TYPES and "RANGE_TO" in expected:
        return "write each field with its name: `P { x: 1 }`"
    if kind == "SEMI" and {"PUB", "COMMA", "RBRACE"} <= expected:
        return "fields are separated by `,`"
    if before == "CATCH" and kind == "LPAREN":
        return "write `catch Error(e) { … }`"
    if kind == "IDENT" and place.text() == "where" and "LBRACE" in expected:
        return "there is no `where`; write the bound in the brackets: `<T: Shape>`"
    if kind == "FATARROW" and before in ("RPAREN", "IDENT"):
        return "a closure is written `|a, b| …`"
    if kind == "EQ" and before == "IDENT" and {"COLON", "COMMA", "RBRACE"} <= expected:
        return "a field and its value are joined by `:`"
    if kind == "LT" and before == "IDENT" and "PLUS" not in expected and place.text(1)[:1].islower():
        return "the name of a type begins with a capital letter: `Int`, `String`, `Bool`"
    if "LBRACE" not in expected:
        return None
    if kind == "IDENT" and place.text() == "by" and place.before(1) in ("TGT", "IDENT", "RPAREN") and "K_NEEDS" in expected:
        return "name a declared model: `by Sorter`"
    if kind == "IDENT" and place.text() in ("with", "using") and "K_NEEDS" in expected:
        return "a function by a model has `by` there: `by Sorter { \"…\" }`"
    if kind == "IDENT" and place.text() in ("step", "by"):
        return "write `(a..b).step_by(n)`"
    if kind == "COLON" or (before == "RPAREN" and kind not in (END, "ARROW")):
        return f"a block stands in braces: `{{ {place.rest() + ';' if kind != 'COLON' else '…'} }}`"
    return None


def _in_brackets(place: ErrorPlace) -> str | None:
    """Return the help inside an array literal."""
    return "elements are separated by `,`" if place.kind() in (*LITERAL_TYPES, "IDENT") else None


def _ternary(place: ErrorPlace, expected: set[str]) -> str | None:
    """Return the help for `a ? b : c`: the error is at `b`, or at `:` where `? (b)` read as a call."""
    for back in range(1, min(place.row, 40) + 1):
        kind = place.before(back)
        if kind in ("SEMI", "LBRACE", "RBRACE", "BLKEND") or place.line(-back) != place.line():
            return None
        if kind == "QUESTION" and place.kind(1 - back) != "COLON" and (place.kind() == "COLON" or _colon_on_line(place)):
            return _NO_TERNARY
    return None


def _colon_on_line(place: ErrorPlace) -> bool:
    line = place.line()
    for ahead in range(40):
        if place.kind(ahead) in (END, "SEMI") or place.line(ahead) != line:
            return False
        if place.kind(ahead) == "COLON":
            return True
    return False


def _missing_semicolon(place: ErrorPlace, expected: set[str]) -> str | None:
    if "SEMI" not in expected or "LET" in expected or place.row == 0:
        return None
    if place.comment_before().endswith(";"):
        return f"`//` begins a comment, which hides the `;`; {INTEGER_DIVISION}"
    if place.line(-1) < place.line():
        return f"`;` may be missing at the end of line {place.line(-1)}"
    return None


MAX_ERRORS = 200  # more than is ever printed; keeps hopeless input from taking long

_OPENS = frozenset(("LPAREN", "LBRACKET", "LBRACE", "MLBRACE", "SLBRACE", "ISTR_START"))
_CLOSES = frozenset(("RPAREN", "RBRACKET", "RBRACE", "ISTR_END"))

_ITEM_WORDS = frozenset(
    ("CONST", "FN", "STRUCT", "ENUM", "TRAIT", "IMPL", "PUB", "USE", "MOD", "ASYNC", "AT")
) | {"K_" + word.upper() for word in SOFT_WORDS - CLAUSE_WORDS - {"limit", "spawn", "parallel", "listen"}}
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
    """The recoveries of one parse; it is made at the first error. Errors at the character offset `silent_from` or behind it are
    not reported; None means that all are. `depths` has by row how many brackets are open before the token; `error_row` is the row
    of the last error, -1 before the first, `count` how many there were."""

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
        """Report the error at the machine's row, unless the last one was at the same row or it is to be silent, and make the
        machine ready to go on. Return False if it cannot: after more than MAX_ERRORS errors, or when no list is open."""
        machine = self.machine
        # A second error at the same token would loop for ever; so the token is skipped, without a second message.
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
        list_at_error = self.open_list()
        if list_at_error is None:
            return False
        place, symbol, is_new, depth = list_at_error
        start = machine.starts[place + 1] if place + 1 < len(machine.starts) else machine.tokens.starts[machine.row]
        row = self.next_row(symbol, depth, stuck)
        self.cut(place)
        if is_new:
            self.push(symbol)
        self.leave_mark(symbol, start)
        machine.row = row
        return True

    def report(self) -> None:
        """Report the error, unless it stands behind a repaired bracket."""
        offset = self.machine.tokens.starts[self.machine.row]
        if self.silent_from is None or offset < self.silent_from:
            report_syntax_error(self.machine, self.source, self.diagnostics)

    # ------------------------------------------------------------ the stacks

    def open_list(self) -> tuple[int, str, bool, int] | None:
        """Return the innermost list still open at the error: its place on the stack, its symbol, whether it is yet to be
        begun, and the bracket depth of its elements. Return None if no list is open."""
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
            # A list that was opened inside a bracket closed meanwhile is no place to go on at.
            if depth <= here:
                return place, symbol, is_new, depth
        return None

    def depth_behind(self, place: int) -> int:
        """Return how many brackets are open behind the symbol at a place of the stack."""
        machine = self.machine
        if place + 1 >= len(machine.starts):
            return self.depths[machine.row]
        return self.depths[min(bisect_left(machine.tokens.starts, machine.starts[place + 1]), machine.row)]

    def cut(self, place: int) -> None:
        """Drop everything above a place of the stacks."""
        machine = self.machine
        for stack in (machine.states, machine.values, machine.starts, machine.ends):
            del stack[place + 1 :]

    def push(self, symbol: str) -> None:
        """Begin an empty list of this symbol."""
        machine = self.machine
        machine.states.append(machine.tables.gotos[machine.states[-1]][symbol])
        machine.values.append(CommaList())
        machine.starts.append(machine.tokens.starts[machine.row])
        machine.ends.append(machine.ends[-1])

    def leave_mark(self, symbol: str, start: int) -> None:
        """Add a node that stands for what was cut off to a list of statements or items: later phases stay silent about it. Other
        lists get none."""
        machine = self.machine
        end = max(start, machine.tokens.ends[machine.row])
        span = Span(self.source.name, start, end)
        # The span of the list covers what was skipped.
        machine.ends[-1] = end
        if symbol == "top_star":
            machine.values[-1].append(ast.ErrorItem(span=span))
        elif symbol == "stmt_star":
            error = ast.ErrorExpr(span=span)
            machine.values[-1].append(ast.ExprStmt(span=span, expr=error, terminated=False))

    # ------------------------------------------------------------ the tokens

    def next_row(self, symbol: str, depth: int, stuck: bool) -> int:
        """Return the row where the list may go on: behind what ends an element (`;`, BLKEND, `}`, in some lists `,`), at the
        closing bracket of the list, at a word that begins an element, or at the end of the file."""
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
        """Return whether the token ends an element of the list."""
        kind = self.types[row]
        return kind == "SEMI" or kind == "BLKEND" or (kind == "COMMA" and symbol in _COMMA_LISTS)

    def begins_element(self, row: int, symbol: str) -> bool:
        """Return whether the token begins the next element of the list."""
        kind, following = self.types[row], self.types[row + 1]
        if row == self.machine.row and not self.begins_line(row):
            return False
        if kind == "IDENT" and symbol in _NAMED_ENTRIES:
            return following == "COLON" or (following == "QUESTION" and self.types[row + 2] == "COLON")
        return kind in _LISTS[symbol]

    def begins_line(self, row: int) -> bool:
        """Return whether the token is the first of its line. A wrong token on a new line mostly begins what comes next; on
        the same line it belongs to what is wrong."""
        tokens = self.machine.tokens
        return row == 0 or "\n" in self.source.text[tokens.ends[row - 1] : tokens.starts[row]]

    def ends_body(self, row: int, symbol: str, depth: int) -> bool:
        """Return whether `}` leads back to the list, unless the same element goes on behind it."""
        if self.types[row] != "RBRACE" or self.depths[row] != depth + 1 or row == self.machine.row:
            return False
        return self.types[row + 1] not in _GOES_ON and symbol not in _COMMA_LISTS


def _depths(types: list[str]) -> list[int]:
    """Return for each token how many brackets are open before it."""
    depths, depth = [], 0
    for kind in types:
        # A closing bracket has the depth of its inside, as its opening one has that of its outside.
        depths.append(depth)
        if kind in _OPENS:
            depth += 1
        elif kind in _CLOSES:
            depth -= 1
    return depths
