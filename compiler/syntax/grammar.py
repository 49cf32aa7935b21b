"""The whole grammar as the parser generator PLY wants it: one module object with tokens, precedence and a `p_` function per
production.

Hands on `MODULE`, from which PLY makes or checks the tables (`tools/gen_tables.py`) and `lr_machine.load` has PLY read them, and
`BY_NAME` with the kinds of reductions to the LR machine. The productions stand in the five `productions_*` modules; here the
suffixes of Appendix B (`x?`: may be missing, `x*`: any number, `x,*` and `x,+`: any number and at least one, with commas) become
shared productions. Nothing is parsed here. A change of any production makes the committed tables stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType, ModuleType

from ...vm.record import record
from ..operators import ABSENCE, AND, ASSIGNING, EQUALITY, LEVELS, OR, ORDER, POWER, PRODUCT, SUM, of_levels
from . import productions_expressions, productions_items, productions_orchestration, productions_statements, productions_types
from .lexer import TERMINALS
from .semantic_actions import Action, Family, Rule

FAMILIES: dict[str, Family] = {
    "items": productions_items.FAMILY,
    "types": productions_types.FAMILY,
    "statements": productions_statements.FAMILY,
    "expressions": productions_expressions.FAMILY,
    "orchestration": productions_orchestration.FAMILY,
}

START = "program"


def _levels(*names: str) -> list[tuple[str, ...]]:
    """Return rows of precedence for levels of binary operators."""
    return [(LEVELS[name], *[row.token for row in of_levels(name)]) for name in names]


# Lowest first (language.md 3.6). CLOSURE and UMINUS are names for `%prec` that no token has.
PRECEDENCE = (
    ("nonassoc", "CLOSURE"),
    ("right", "RETURN", "BREAK", "THROW"),
    ("right", *ASSIGNING),
    ("left", "PIPEGT"),
    *_levels(ABSENCE, OR, AND, EQUALITY, ORDER),
    ("nonassoc", "RANGE", "RANGEEQ", "RANGE_FROM", "RANGE_TO", "RANGE_TOEQ"),
    *_levels(SUM, PRODUCT),
    ("left", "AS"),
    ("right", "UMINUS", "NOT", "AWAIT"),
    *_levels(POWER),
)

# What the machine does on a reduction. CALL runs the semantic action. The others need no call: SAME hands on the only value,
# NONE stands for a symbol left out, NEW_LIST is an empty list, FIRST a list of one, APPEND adds to a list, TRAILING notes a
# comma at its end.
CALL, SAME, NONE, NEW_LIST, FIRST, APPEND, TRAILING = range(7)

_SUFFIX = re.compile(r"(\w+)(\?|,\*|,\+|\*|,)\Z")
# `x,` is the list without a trailing comma that `x,*` and `x,+` share.
_NAMES = {"?": "_opt", "*": "_star", ",*": "_list", ",+": "_list1", ",": "_items"}


@record
class Production:
    """A production without suffixes. `name` is that of its `p_` function; `kind`, CALL to TRAILING, says what the machine does on
    a reduction, `action` what CALL calls; it is None for the other kinds."""

    text: str
    kind: int
    action: Action | None
    name: str


class _Expansion:
    """Turns the rules of all families into productions; every suffix form gets its shared productions once."""

    def __init__(self) -> None:
        self.productions: list[Production] = []
        self.shared: dict[str, None] = {}

    def run(self) -> list[Production]:
        """Return all productions: those of the families in their order, then the shared ones."""
        for family_name, family in FAMILIES.items():
            for number, rule in enumerate(family.rules):
                self.add_rule(rule, f"p_{family_name}_{number:03d}")
        for symbol in self.shared:
            self.add_shared(symbol)
        return self.productions

    def add_rule(self, rule: Rule, name: str) -> None:
        """Add one rule of a family with its suffixes replaced by shared symbols."""
        head, body = rule.production.split(" : ", 1)
        text = f"{head} : {' '.join(self.symbol(word) for word in body.split())}"
        self.productions.append(Production(text, SAME if rule.action is None else CALL, rule.action, name))

    def symbol(self, word: str) -> str:
        """Return the symbol for a word of a production, and remember the shared productions that it needs."""
        suffixed = _SUFFIX.match(word)
        if suffixed is None:
            return word
        self.shared.setdefault(word)
        if suffixed[2] in (",*", ",+"):
            self.shared.setdefault(suffixed[1] + ",")
            # The comma behind the last element is an optional symbol of its own.
            self.shared.setdefault("COMMA?")
        return suffixed[1] + _NAMES[suffixed[2]]

    def add_shared(self, word: str) -> None:
        """Add the productions of one suffix form, such as `expr_list` for `expr,*`."""
        suffixed = _SUFFIX.match(word)
        assert suffixed is not None
        one, suffix = suffixed.groups()
        name = one + _NAMES[suffix]
        if suffix == "?":
            rows = [(f"{name} : {one}", SAME), (f"{name} :", NONE)]
        elif suffix == "*":
            rows = [(f"{name} :", NEW_LIST), (f"{name} : {name} {one}", APPEND)]
        elif suffix == ",":
            rows = [(f"{name} : {one}", FIRST), (f"{name} : {name} COMMA {one}", APPEND)]
        else:
            rows = [(f"{name} : {one}_items COMMA_opt", TRAILING)]
            if suffix == ",*":
                rows.append((f"{name} :", NEW_LIST))
        for number, (text, kind) in enumerate(rows):
            self.productions.append(Production(text, kind, None, f"p_shared_{name}_{number}"))


PRODUCTIONS = _Expansion().run()

# By the name PLY binds.
BY_NAME = {production.name: production for production in PRODUCTIONS}


def _p_function(production: Production, order: int) -> Callable[[object], None]:
    """Return a function that PLY reads the production from: its docstring is the production, its line number the order. It
    is never called."""

    def template(p: object) -> None:
        raise AssertionError("the parser of syntax/lr_machine.py runs actions itself")

    function = FunctionType(template.__code__, globals(), production.name)
    function.__doc__ = production.text
    # PLY takes productions in the order of their lines, by which conflicts are resolved.
    function.co_firstlineno = order  # type: ignore[attr-defined]
    return function


def _p_error(p: object) -> None:
    raise AssertionError("the parser of syntax/lr_machine.py handles errors itself")


def _module() -> ModuleType:
    """Return what PLY takes for the module of a grammar."""
    module = ModuleType("concerto_grammar")
    members = module.__dict__
    members["__file__"] = __file__
    members["tokens"] = TERMINALS
    members["precedence"] = PRECEDENCE
    members["start"] = START
    members["p_error"] = _p_error
    for order, production in enumerate(PRODUCTIONS, 1):
        members[production.name] = _p_function(production, order)
    return module


MODULE = _module()
