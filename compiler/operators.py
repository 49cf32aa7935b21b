"""THE table of binary operators (language.md 3.6, Appendix B): one row each, from the token to the opcode.

Hands on `OPERATORS`, and what is made of it: the rows by text (`BY_TEXT`) or of some levels (`of_levels`), texts of some levels
(`texts`), types of tokens (`TOKENS`, `ASSIGNING`, by text `SIGNS`); and the levels (`LEVELS`, `OR`, `AND` …), to lexer,
grammar, LR machine, productions, token filter, messages of syntax, checker, constant folding, code generator, formatter and
helps. What has another form than `x op y` between values has no row: unary operators, ranges, `as`, `|>` and plain `=`. A new
operator is a row here; if no opcode does it yet, a row and a function of the machine as well (`CONTRIBUTING.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..vm import values as vm

ABSENCE, OR, AND, EQUALITY, ORDER, SUM, PRODUCT, POWER = (
    "absence", "or", "and", "equality", "order", "sum", "product", "power",
)  # fmt: skip
LEVELS = {
    ABSENCE: "left", OR: "left", AND: "left", EQUALITY: "left", ORDER: "left", SUM: "left", PRODUCT: "left", POWER: "right",
}  # fmt: skip
"""Levels of precedence, lowest first, with the side to which operators of one level group."""
ARITHMETIC_LEVELS = (SUM, PRODUCT, POWER)


class Operator(NamedTuple):
    """A binary operator: `text` as source has it, `token` the type that the lexer gives it, `level` one of LEVELS. Opcodes and
    tokens are empty where the operator has none. "Left out" below means not evaluated: `??`, `||` and `&&` evaluate their right
    side only if the left one does not decide."""

    text: str
    token: str
    level: str
    assigning: str = ""
    """The token of `x op= y`, where the operator has that form."""
    generic: str = ""
    """The opcode for operands of any kinds; none for operators whose right side may be left out."""
    ints: str = ""
    """The opcode for two Ints; of comparisons also for two Strings, and an Int and a Float, which need no look at the kinds
    (V-2.6)."""
    floats: str = ""
    """The opcode for two Floats."""
    fold: Callable[[Any, Any], Any] | None = None
    """The result for constants; may raise Panic. None where the right side may be left out."""
    begins: bool = False
    """Whether the token can also begin an operand: then a block-like statement ends before it (L-2.4.2)."""


OPERATORS = (
    Operator("??", "QQ", ABSENCE),
    Operator("||", "OROR", OR, begins=True),
    Operator("&&", "ANDAND", AND),
    Operator("==", "EQEQ", EQUALITY, generic="EQ", ints="EQ_INT", fold=vm.equal),
    Operator("!=", "NE", EQUALITY, generic="NE", ints="NE_INT", fold=lambda a, b: not vm.equal(a, b)),
    Operator("<", "LT", ORDER, generic="LT", ints="LT_INT", fold=vm.less),
    Operator(">", "GT", ORDER, generic="GT", ints="GT_INT", fold=vm.greater),
    Operator("<=", "LE", ORDER, generic="LE", ints="LE_INT", fold=vm.less_equal),
    Operator(">=", "GE", ORDER, generic="GE", ints="GE_INT", fold=vm.greater_equal),
    Operator("+", "PLUS", SUM, "PLUSEQ", "ADD", "ADD_INT", "ADD_FLOAT", vm.add),
    Operator("-", "MINUS", SUM, "MINUSEQ", "SUB", "SUB_INT", "SUB_FLOAT", vm.sub, begins=True),
    Operator("*", "STAR", PRODUCT, "STAREQ", "MUL", "MUL_INT", "MUL_FLOAT", vm.mul),
    Operator("/", "SLASH", PRODUCT, "SLASHEQ", "DIV", "DIV_INT", fold=vm.div),
    Operator("%", "PERCENT", PRODUCT, "PERCENTEQ", "REM", "REM_INT", fold=vm.rem),
    Operator("**", "POW", POWER, generic="POW", fold=vm.power),
)
BY_TEXT = {row.text: row for row in OPERATORS}


def of_levels(*levels: str) -> tuple[Operator, ...]:
    """Return the rows of these levels of precedence, in the order of the table; an unknown level has none."""
    return tuple([row for row in OPERATORS if row.level in levels])


def texts(*levels: str) -> tuple[str, ...]:
    """Return the texts of the operators of these levels, in the order of the table."""
    return tuple([row.text for row in of_levels(*levels)])


# Types of tokens: of the operators, and of all forms of assignment, `=` first.
TOKENS = tuple([row.token for row in OPERATORS])
ASSIGNING = ("EQ", *[row.assigning for row in OPERATORS if row.assigning])
SIGNS = {row.text: row.token for row in OPERATORS} | {f"{row.text}=": row.assigning for row in OPERATORS if row.assigning}
"""Type of the token by text, those of `x op= y` too; plain `=` is not among them."""
