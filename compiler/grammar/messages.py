"""The wording of syntax errors: `expected X, found Y` in human words, and help for what the language does not have.

Must not know: how parsing goes on after an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..characters import INTEGER_DIVISION
from ..diagnostics import Diagnostics
from ..source import Source, Span
from ..strings import RAW_FORM
from ..tokens import END, HARD_KEYWORDS, describe, words
from . import foreign_words
from .driver import Machine
from .error_place import ErrorPlace
from .foreign_forms import BRACES, LITERAL_TYPES, of_a_declaration, of_a_loop, of_a_test
from .foreign_operands import of_an_operand
from .foreign_statements import ITEMS, of_a_statement
from .foreign_types import of_a_type
from .store_help import of_a_store
from .tables import Tables

# What begins an expression, a type, a pattern; a few members tell which of them is expected.
_EXPRESSION = words(
    "INT FLOAT STRING TRUE FALSE NIL SELF IDENT ISTR_START LPAREN LBRACKET MLBRACE LBRACE IF MATCH K_LISTEN FOR "
    "WHILE LOOP LABELDEF K_PARALLEL TRY ASYNCBLK FNEXPR MINUS NOT AWAIT THROW RETURN K_SPAWN RETURN_V BREAK "
    "BREAK_V CONTINUE CPIPE CPIPE2 RANGE_TO RANGE_TOEQ RANGE_FULL"
)
_ITEM = words(
    "CONST FN STRUCT ENUM TRAIT IMPL PUB USE MOD ASYNC AT K_TYPE K_MODEL K_TOOL K_AGENT K_PIPELINE K_SCHEMA "
    "K_HASHMAP K_LEDGER K_MEMORY K_CONTEXT K_MCP K_CONNECT"
)
_STATEMENT = _EXPRESSION | _ITEM | {"LET", "K_MOCK", "SEMI"}
_TYPE = frozenset(("IDENT", "STRING", "LPAREN", "FNTYPE"))
_PATTERN = words(
    "IDENT INT FLOAT STRING TRUE FALSE NIL MINUS MUT LPAREN LBRACKET RANGE_TO RANGE_TOEQ RANGE_FULL"
)
# What may follow a complete operand or type without ending what it stands in.
_CONTINUATION = words(
    "DOT LPAREN LBRACKET QUESTION AS SLBRACE COLONCOLON TLT PIPE AT RANGE RANGEEQ RANGE_FROM POW STAR SLASH "
    "PERCENT PLUS MINUS LT GT LE GE EQEQ NE ANDAND OROR QQ PIPEGT"
)
_ASSIGNMENT = frozenset(("EQ", "PLUSEQ", "MINUSEQ", "STAREQ", "SLASHEQ", "PERCENTEQ"))
_INVISIBLE = frozenset(("BLKEND", "ISTR_MID"))
# Shown in this order; the rest follows alphabetically.
_ORDER = ("SEMI", "COMMA", "RPAREN", "RBRACKET", "RBRACE", "LBRACE", "EQ", "COLON")


def report_syntax_error(machine: Machine, source: Source, diagnostics: Diagnostics) -> None:
    """Reports the token the machine stopped at: E0101, E0105 for `pub`, or E3011 where a label has no loop."""
    place = ErrorPlace(machine, source)
    span = Span(source.name, *place.range())
    if "PUB" in (place.kind(), place.before(1)):
        row = place.row if place.kind() == "PUB" else place.row - 1
        span = Span(source.name, machine.tokens.starts[row], machine.tokens.ends[row])
        what = "" if row == place.row else f" before {place.found()}"
        help = "write `pub` alone: what is `pub` is seen outside of its file" if place.kind() == "LPAREN" else "remove `pub`"
        diagnostics.report("E0105", span, f"`pub` means nothing here{what}", help=help)
        return
    if place.before(1) == "COLON" and place.before(2) == "LABELDEF":
        label = machine.tokens.values[machine.row - 2]
        message = f"label `'{label}` stands before {place.found()}, which is no loop"
        label_span = Span(source.name, machine.tokens.starts[machine.row - 2], machine.tokens.ends[machine.row - 2])
        diagnostics.report("E3011", label_span, message, help="a label stands before `for`, `while` or `loop`")
        return
    expected = acceptable(machine.tables, machine.states)
    message = _unexpected(place, expected)
    if "CFGKEY" in expected and place.key_without_colon():
        span, message = place.beyond_a_key(source.name)
    elif "K_LIMIT" in expected and place.text() == "limit":
        span, message = place.beyond_a_key(source.name, "a number behind `limit`")
    diagnostics.report("E0101", span, message, help=help_for(place, expected))


def _unexpected(place: ErrorPlace, expected: set[str]) -> str:
    found = f"unexpected {place.found().removeprefix('a ').removeprefix('the ')}"
    if place.word_before() in ITEMS and _is_module_level(place, expected):
        return f"{found}: there is no `{place.word_before()}`"
    if _is_statement(place, expected):
        return f"{found}: a statement stands in a function"
    if _is_module_level(place, expected) and place.word_before() and place.kind() == "IDENT":
        return f"{found}: no item begins with `{place.word_before()}`"
    wanted = expected_forms(expected)
    return found + (f": expected {wanted}" if wanted else "")


def _is_module_level(place: ErrorPlace, expected: set[str]) -> bool:
    """Where an item may begin, or behind `NAME` or `NAME.m`, which begin an initialisation statement there."""
    if place.before(1) == "IDENT":
        return expected == {"DOT"} or (expected == {"LPAREN"} and place.before(2) == "DOT")
    return "STRUCT" in expected and "LET" not in expected


def _is_statement(place: ErrorPlace, expected: set[str]) -> bool:
    """Whether a statement stands at module level."""
    if not _is_module_level(place, expected):
        return False
    if place.word_before():
        return place.kind() in _ASSIGNMENT | {"LPAREN", "LBRACKET", "DOT", "PIPEGT"}
    return place.kind() in _EXPRESSION | {"LET"}


# ---------------------------------------------------------------- expected forms


def acceptable(tables: Tables, states: list[int]) -> set[str]:
    """The terminals that could really be shifted now: LALR lookaheads alone promise too many."""
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
    """`` an expression or `)` `` for a set of terminals."""
    forms: list[str] = []
    rest = set(expected) - _INVISIBLE
    if "PLUS" in rest:  # an operand is complete
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
    if len(forms) > 5:
        return ""
    return forms[0] if len(forms) == 1 else ", ".join(forms[:-1]) + " or " + forms[-1] if forms else ""


# ---------------------------------------------------------------- help (L-2.6.8)

PATTERN_LIMIT = 20  # tokens of `{ a, b }` that are looked at
_NO_TERNARY = "there is no `?:`; write `if a { b } else { c }`"
_NO_BIT_OPERATORS = "the language has no bit operators"
_IN_MAIN = "put it in `fn main() { … }`"


def help_for(place: ErrorPlace, expected: set[str]) -> str | None:
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
    """The constant a `let` at module level may have meant."""
    at = 2 if place.kind(1) == "MUT" else 1
    if place.kind(at) != "IDENT":
        return "const NAME: T = …;"
    if place.kind(at + 1) == "EQ" and place.kind(at + 2) in LITERAL_TYPES and place.kind(at + 3) == "SEMI":
        return f"const {place.text(at)}: {LITERAL_TYPES[place.kind(at + 2)]} = {place.text(at + 2)};"
    return f"const {place.text(at)}: T = …;"


def _foreign_word(place: ErrorPlace, expected: set[str]) -> str | None:
    if place.kind() == "IDENT" and place.text() in ("and", "or"):
        return foreign_words.WORDS[place.text()]
    return foreign_words.WORDS.get(place.word_before()) or foreign_words.BLOCKS.get(_word_of_block(place))


def _word_of_block(place: ErrorPlace) -> str:
    """The name that `name {` or `name (x) {` begins with, where the parser read a struct literal or a call."""
    for back in (2, 3, 4, 5):
        if place.before(back) == "IDENT" and place.text(-back) in foreign_words.BLOCKS:
            return place.text(-back)
    return ""


def _key_without_colon(place: ErrorPlace, expected: set[str]) -> str | None:
    """`name = value` and `name value` where a field stands, `limit: 2` behind the items of a loop."""
    if "CFGKEY" in expected and place.key_without_colon():
        value = place.rest(2 if place.kind(1) == "EQ" else 1)
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
        return f"{place.found()} is a keyword and cannot be a name here"
    return None


def _matched(place: ErrorPlace, loops: bool) -> str:
    """For `if let P = x {` and `while let P = x {`."""
    equals = place.end(1, frozenset(("EQ",))) + 1
    pattern, subject = place.written(1, equals - 1), place.written(equals + 1, place.end(equals + 1, frozenset(BRACES)))
    if loops:
        whole = f"loop {{ match {subject} {{ {pattern} => …, _ => break }} }}"
        return f"there is no `while let`; use `loop` and `match`: `{whole}`"
    return f"there is no `if let`; use `match`: `match {subject} {{ {pattern} => …, _ => {{}} }}`"


def _struct_pattern(place: ErrorPlace) -> str:
    """For `{ a, b }` in the place of a pattern."""
    names = "a, b"
    close = next((ahead for ahead in range(1, PATTERN_LIMIT) if place.kind(ahead) in ("RBRACE", END)), 0)
    if place.kind(close) == "RBRACE" and all(place.kind(ahead) in ("IDENT", "COMMA") for ahead in range(1, close)):
        names = ", ".join(place.text(ahead) for ahead in range(1, close) if place.kind(ahead) == "IDENT")
    return f"a pattern names its struct: `T {{ {names} }}`, or `T {{ {names}, .. }}` for some of its fields"


def _behind_let(place: ErrorPlace) -> bool:
    """Whether the statement of the error began with `let`."""
    for back in range(1, min(place.row, 40) + 1):
        kind = place.before(back)
        if kind in ("LET", "SEMI", "BLKEND"):
            return kind == "LET"
    return False


def _foreign_form(place: ErrorPlace, expected: set[str]) -> str | None:
    """Forms of other languages that are told by one or two tokens."""
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
    if kind == "IDENT" and place.text() in ("step", "by"):
        return "write `(a..b).step_by(n)`"
    if kind == "COLON" or (before == "RPAREN" and kind not in (END, "ARROW")):
        return f"a block stands in braces: `{{ {place.rest() + ';' if kind != 'COLON' else '…'} }}`"
    return None


def _in_brackets(place: ErrorPlace) -> str | None:
    """Inside an array literal."""
    return "elements are separated by `,`" if place.kind() in (*LITERAL_TYPES, "IDENT") else None


def _ternary(place: ErrorPlace, expected: set[str]) -> str | None:
    """`a ? b : c`: the error is at `b`, or at `:` where `? (b)` read as a call."""
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
