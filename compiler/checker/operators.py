"""Operators, casts, `??` (L-3.5, L-3.6).

Must not know: places, calls.
"""

from __future__ import annotations

import re

from .. import ast
from ..symbols import StructSymbol
from ..types import ANY, BOOL, BYTES, FLOAT, INT, NEVER, NIL, STRING, Generic, Nilable, Simple, Tuple, Type, Union
from .comparisons import comparable, lift
from .context import FREE, Checker, Expected, ExpressionRule
from .mismatch import absent_help, condition_help, negated_help, number_help
from .propagation import cast_fails
from .relations import ERRONEOUS, MISMATCH, NUMBERS, convert, fits, generic, is_text, join, widen
from .types import written_type

ARITHMETIC = ("+", "-", "*", "/", "%", "**")
EQUALITY = ("==", "!=")
ORDER = ("<", ">", "<=", ">=")
LOGIC = ("&&", "||")


def unary(c: Checker, node: ast.Unary, expected: Expected) -> Type:
    found = c.infer(node.operand)
    legal = (*NUMBERS, ANY, NEVER) if node.operator == "-" else (BOOL, ANY, NEVER)
    if found not in legal:
        help = absent_help(found) if node.operator == "-" else negated_help(found)
        return c.report("E2002", node.span, f"`{node.operator}` cannot be applied to `{found}`", help=help)
    if found is ERRONEOUS:
        return found
    return BOOL if node.operator == "!" and found == ANY else found


def binary(c: Checker, node: ast.Binary, expected: Expected) -> Type:
    if node.operator == "??":
        return coalesce(c, node, expected)
    left, right = c.infer(node.left), c.infer(node.right)
    if left is ERRONEOUS or right is ERRONEOUS:
        return ERRONEOUS
    if node.operator in EQUALITY and (decided := lift(c, node)) is not None:
        return decided
    result = operator_type(node.operator, left, right)
    if result is None:
        return operand_error(c, node, node.operator, left, right)
    return result


# What joins collections, by operator elsewhere and type.
JOINING = {
    ("*", "Array"): "(0..n).map(|_| x)", ("+", "Array"): "xs.concat(ys)", ("-", "Array"): "xs.filter(|x| !ys.contains(x))",
    ("+", "Map"): "a.merge(b)", ("+", "Set"): "a.union(b)", ("-", "Set"): "a.difference(b)",
}  # fmt: skip


def _with_operands(c: Checker, node: ast.Expr, form: str) -> str:
    """The form with the operands in the place of its names."""
    if not isinstance(node, ast.Binary):
        return form
    named = {"xs": c.operand(node.left, "xs"), "ys": c.operand(node.right, "ys")}
    named |= {"a": c.operand(node.left, "a"), "b": c.operand(node.right, "b")}
    return re.sub(r"\b(xs|ys|a|b)\b", lambda found: named[found[0]], form)


def kind_name(type_: Type) -> str:
    return type_.name if isinstance(type_, Generic) else ""


def _chained_help(c: Checker, node: ast.Expr) -> str | None:
    """`a < b < c`."""
    if not isinstance(node, ast.Binary) or not isinstance(node.left, ast.Binary):
        return None
    first, middle, last = (c.text(part)[1:-1] for part in (node.left, node.left.right, node.right))
    return f"write `{first} && {middle} {node.operator} {last}`"


def operand_error(c: Checker, node: ast.Expr, operator: str, left: Type, right: Type) -> Type:
    help = absent_help(left) or absent_help(right)
    if help is None and operator in ("+", "%") and (is_text(left) or is_text(right)) and BYTES not in (left, right):
        help = "use `${…}` or `.to_string()`"
    elif help is None and operator == "+" and BYTES in (left, right):
        help = "bytes are added to bytes: `.to_bytes()` makes them of a text"
    elif help is None and NIL in (left, right):
        help = "a function without `-> T` returns nothing, which is `nil`"
    elif help is None and operator == "*" and is_text(left) and right == INT:
        literal = node.left.value if isinstance(node, ast.Binary) and isinstance(node.left, ast.StringLiteral) else ""
        number = number_help(literal, INT) if literal.isdecimal() else None
        help = number or f"write `{_with_operands(c, node, 'xs.repeat(ys)')}`"
    elif help is None and operator in EQUALITY and (is_text(left) or is_text(right)):
        help = "compare values of one type: `.to_string()` makes text of a value, `.parse_int()` a number of text"
    elif help is None and operator in ORDER and left == BOOL:
        help = _chained_help(c, node)
    elif help is None and (joined := JOINING.get((operator, kind_name(left)))) is not None:
        help = f"write `{_with_operands(c, node, joined)}`"
    elif help is None and operator == "||" and BOOL not in (left, right):
        help = "`||` takes Bools; for a default write `if x == \"\" { default } else { x }`, of what may be absent `x ?? default`"
    elif help is None and operator in LOGIC:
        help = condition_help(right if left == BOOL else left)
    return c.report("E2002", node.span, f"`{operator}` cannot be applied to `{left}` and `{right}`", help=help)


def operator_type(operator: str, left: Type, right: Type) -> Type | None:
    """The result of a binary operator, or None when the operands do not suit (L-3.6.1 to L-3.6.7)."""
    left, right = widen(left), widen(right)
    if left == NEVER:
        return NEVER
    if operator in ARITHMETIC:
        return _arithmetic(operator, left, right)
    if operator in EQUALITY:
        return BOOL if comparable(left, right) else None
    if ANY in (left, right):  # the check moves to run time (L-3.6.12)
        return BOOL
    if right == NEVER:
        legal = (*NUMBERS, STRING) if operator in ORDER else (BOOL,)
        return BOOL if left in legal else None
    if operator in ORDER:
        both_numbers = left in NUMBERS and right in NUMBERS
        return BOOL if both_numbers or left == right == STRING else None
    return BOOL if left == right == BOOL else None


def _arithmetic(operator: str, left: Type, right: Type) -> Type | None:
    if operator == "+" and STRING in (left, right):
        other = right if left == STRING else left
        return STRING if other in (STRING, ANY, NEVER) else None
    if operator == "+" and left == BYTES and right in (BYTES, NEVER):
        return BYTES
    if ANY in (left, right):
        return ANY
    if right == NEVER:
        return ANY if left in NUMBERS else None
    if left not in NUMBERS or right not in NUMBERS:
        return None
    return INT if left == right == INT else FLOAT


def coalesce(c: Checker, node: ast.Binary, expected: Expected) -> Type:
    """`a ?? b`: the join of what is inside the left side with the right one; only the right one carries a coercion."""
    left = c.infer(node.left)
    inside = _present(left)
    if inside is None:
        c.infer(node.right, expected)
        if left is ERRONEOUS:
            return ERRONEOUS
        return c.report("E2043", node.left.span, f"`{left}` is never absent", help=_never_absent_help(c, node.left, left))
    right = c.infer(node.right, Expected(inside, expected.code) if inside != ANY else expected)
    if left == ANY:
        return left
    joined = join(inside, right)
    if joined is None:
        return c.report(
            "E2021", node.right.span, f"the branches disagree: `{inside}` and `{right}`",
            help="give a default of the type before `??`",
        )
    coercion = convert(right, joined)
    node.right.coercion = None if coercion is MISMATCH else coercion
    return joined


def _never_absent_help(c: Checker, node: ast.Expr, type_: Type) -> str:
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    if generic(type_, "Result"):
        return "use `.unwrap_or(…)`"
    if isinstance(node, ast.Index) and generic(node.receiver.type, "Map"):
        return f"`[…]` panics on a missing key; write `.get({c.text(node.index)[1:-1]}) ?? …`"
    return "remove `??`"


def _present(type_: Type) -> Type | None:
    """What is there when an optional value is there."""
    if isinstance(type_, Nilable):
        return type_.inner
    if type_ is ERRONEOUS:
        return None
    if type_ in (ANY, NIL, NEVER):
        return ANY if type_ == ANY else NEVER
    inside = generic(type_, "Option")
    return inside[0] if inside else None


# ---------------------------------------------------------------- casts


def cast(c: Checker, node: ast.Cast, expected: Expected) -> Type:
    target = written_type(c, node.target)
    found = c.infer(node.operand, Expected(target) if isinstance(node.operand, _LITERALS) else FREE)
    if found is ERRONEOUS or target is ERRONEOUS:
        return target
    if not castable(c, found, target):
        structural = isinstance(c.declared(target), StructSymbol) and generic(found, "Map") is not None
        help = "use `json::value_as`, of a text `json::parse_as` or `parse_schema`" if structural else None
        return c.report("E2024", node.span, f"`{found}` cannot be cast to `{target}`", help=help)
    if c.in_try and _may_fail(found, target):
        cast_fails(c, node)
    return target


def _may_fail(found: Type, target: Type) -> bool:
    """Whether some value of the type has no cast."""
    if target in (STRING, BOOL, ANY) or found in (target, NEVER):
        return False
    if target in NUMBERS:
        return found == ANY or is_text(found)
    return not (isinstance(target, Union) and fits(found, target))


_LITERALS = (ast.ArrayExpr, ast.MapExpr, ast.TupleExpr, ast.Closure)


def castable(c: Checker, found: Type, target: Type) -> bool:
    """L-3.5."""
    if found in (ANY, NEVER) or target in (STRING, BOOL, ANY):
        return True
    if target == INT:
        return found in (INT, FLOAT, BOOL) or is_text(found)
    if target == FLOAT:
        return found in NUMBERS or is_text(found)
    if isinstance(target, Union):
        return is_text(found)
    return convert(found, target) is not MISMATCH or _unchecked_inside(c, found, target)


def _unchecked_inside(c: Checker, found: Type, target: Type) -> bool:
    """From types with Any inside, every element is checked (L-3.5.6)."""
    match found, target:
        case _, _ if ANY in (found, target) or fits(found, target):
            return True
        case Simple(name="Int"), Simple(name="Float"):
            return True
        case Generic(), Generic() if found.name == target.name:
            return all(_unchecked_inside(c, a, b) for a, b in zip(found.arguments, target.arguments, strict=True))
        case Tuple(), Tuple() if len(found.items) == len(target.items):
            return all(_unchecked_inside(c, a, b) for a, b in zip(found.items, target.items, strict=True))
        case Nilable(), Nilable():
            return _unchecked_inside(c, found.inner, target.inner)
    return False


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Unary: unary,
    ast.Binary: binary,
    ast.Cast: cast,
}
