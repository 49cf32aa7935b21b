"""`==` and `!=`: what may be compared, what absence means there, and what the types alone decide (L-3.6.5, L-3.6.14, L-3.6.15).

Hands on `comparable` and `compare_operands` to `operators`, `compare_asserted` to `calls` for `assert_eq` and `assert_ne`, and
`words_help` to `expressions` for texts that are no word of a string union. A comparison that is always false, or always true, is
an error (E2046); a further reason for it is a case of `_compare`. `c` is the state of the check: mistakes are reported to it by a
code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported, which suits every place. Nothing is
compared here: that is for the machine.
"""

from __future__ import annotations

from typing import NamedTuple

from ..decisions import ToOption
from ..hints.names import nearest
from ..source import Span, quoted
from ..syntax import ast
from ..types import ANY, BOOL, NEVER, NIL, OPEN, STRING, Nilable, Type, Union
from .relations import ERRONEOUS, NUMBERS, fits, generic, is_present, keyed
from .state import Checker


def comparable(left: Type, right: Type) -> bool:
    """Return whether values of the types may be compared by `==` (L-3.6.5): numbers with numbers, nil and Any with everything,
    else where one type fits the other."""
    if left in NUMBERS and right in NUMBERS:
        return True
    # Whether nil can be equal is asked by `compare_operands`, which gives a better message than E2002.
    if NIL in (left, right) or ANY in (left, right) or right == NEVER:
        return True
    return fits(left, right) or fits(right, left)


class Comparison(NamedTuple):
    """Two values, typed, and what is asked of them: `equal`, else different. `span` is where a report points, `written` a format
    string: the form with `{}` for each value."""

    left: ast.Expr
    right: ast.Expr
    equal: bool
    span: Span
    written: str


def compare_asserted(c: Checker, name: str, left: ast.Expr | None, right: ast.Expr | None, span: Span) -> None:
    """Check what `assert_eq(a, b)` or `assert_ne(a, b)` compares, both typed, as `compare_operands` does, with a report (E2046)
    at `span`; `name` is that of the function. An argument that is missing (None) or was reported leaves nothing to check."""
    if left is not None and right is not None and left.type is not ERRONEOUS and right.type is not ERRONEOUS:
        _compare(c, Comparison(left, right, name == "assert_eq", span, name + "({}, {})"))


def compare_operands(c: Checker, node: ast.Binary) -> Type | None:
    """Check what `==` and `!=` compare, both sides typed; a side beside an Option is converted to one. Return Bool, ERRONEOUS
    after a report (E2046), or None if `comparable` is to decide."""
    return _compare(c, Comparison(node.left, node.right, node.operator == "==", node.span, f"{{}} {node.operator} {{}}"))


def _compare(c: Checker, node: Comparison) -> Type | None:
    """Convert the side that is no Option where the other is one, and report a comparison that is always false (`!=`: always
    true). None: the types leave it open, or do not suit at all."""
    left, right = node.left.type, node.right.type
    sides = generic(left, "Option"), generic(right, "Option")
    # Exactly one side is an Option.
    if (sides[0] is None) != (sides[1] is None):
        inside, other, operand = (sides[0], right, node.right) if sides[0] is not None else (sides[1], left, node.left)
        assert inside is not None
        return _with_option(c, node, inside[0], other, operand)
    if NIL in (left, right):
        return _with_nil(c, node, right if left == NIL else left)
    return _with_words(c, node, left, right)


def _with_option(c: Checker, node: Comparison, inside: Type, other: Type, operand: ast.Expr) -> Type | None:
    """Check an Option of type `inside` beside `operand`, a value of type `other` that is none."""
    if other in (ANY, NEVER):
        return None
    plain = other.inner if isinstance(other, Nilable) else other
    # `x == None` where x is never absent.
    if inside == OPEN and other != NIL and is_present(other):
        return _report_decided(c, node, f"a value of type `{other}` is never `None`", _constant_help(c, node))
    if other != NIL and not comparable(inside, plain):
        return None
    # A union of words inside the Option decides as one outside of it does.
    if not isinstance(other, Nilable) and (decided := _with_words(c, node, node.left.type, node.right.type)):
        return decided
    # The machine compares Options: the plain side is wrapped in Some, nil becomes None.
    operand.coercion = ToOption()
    return BOOL


def _with_nil(c: Checker, node: Comparison, other: Type) -> Type | None:
    if other in (NIL, NEVER) or not is_present(other):
        return None
    return _report_decided(c, node, f"a value of type `{other}` is never `nil`", _nil_help(c, node, other))


def _nil_help(c: Checker, node: Comparison, other: Type) -> str:
    side = ast.ungrouped(node.left if node.left.type != NIL else node.right)
    if generic(other, "Result"):
        return f"ask `{_source_text(c, side)}.{'is_err' if node.equal else 'is_ok'}()`"
    if isinstance(side, ast.Index) and keyed(side.receiver.type):
        get = f"{_source_text(c, side.receiver)}.get({_source_text(c, side.index)})"
        return f"`[…]` panics on a missing key; write `{node.written.format(get, 'nil')}`"
    if other == STRING:
        empty = node.written.format(_source_text(c, side), '""')
        return f'an empty text is `""`: write `{empty}`'
    return _constant_help(c, node)


def _with_words(c: Checker, node: Comparison, left: Type, right: Type) -> Type | None:
    """Report a comparison with a string union that none of its words can decide."""
    first, second = _union_inside(left), _union_inside(right)
    if first is not None and second is not None:
        if first.known.isdisjoint(second.known):
            return _report_decided(c, node, f"`{first}` and `{second}` have no word in common", _constant_help(c, node))
        return None
    words = first or second
    # Only a literal is known to be none of the words.
    literal = ast.ungrouped(node.left if first is None else node.right)
    if words is None or not isinstance(literal, ast.StringLiteral) or words.holds(literal.value):
        return None
    message = f"{quoted(literal.value)} is none of the words of `{words}`"
    return _report_decided(c, node, message, words_help(literal.value, words))


def words_help(written: str, words: Union) -> str:
    """Return the help for a text that is no word of a string union: the nearest word, or the first eight."""
    near = nearest(written, words.members)
    if near is not None:
        return f"did you mean `{quoted(near)}`?"
    first_words = ", ".join(f"`{quoted(word)}`" for word in words.members[:8])
    return f"the words are {first_words}" + (", …" if len(words.members) > 8 else "")


def _union_inside(type_: Type) -> Union | None:
    """Return the string union in a type, inside `T?` and Option too; None if it is none."""
    type_ = type_.inner if isinstance(type_, Nilable) else type_
    inside = generic(type_, "Option")
    type_ = inside[0] if inside else type_
    return type_ if isinstance(type_, Union) else None


def _report_decided(c: Checker, node: Comparison, why: str, help: str) -> Type:
    outcome = "false" if node.equal else "true"
    return c.report("E2046", node.span, f"this is always {outcome}: {why}", help=help)


def _constant_help(c: Checker, node: Comparison) -> str:
    if node.written.startswith("assert"):
        return "remove the assertion"
    return f"write `{'false' if node.equal else 'true'}`, or remove the comparison"


def _source_text(c: Checker, node: ast.Expr) -> str:
    return c.text(node).strip("`")
