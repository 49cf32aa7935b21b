"""What conditions say of variables that may be absent: behind `x != nil` an immutable `x` of type `T?` holds a T (L-3.3.18).

Hands on to the rules of branches, loops and blocks (`control`) and of `&&` and `||` (`operators`) `implied` (the variables that
hold a value where a condition is true, or false), `learn_present` and `forget`; to `control` alone `implied_behind` (those that
do behind an `if` that some branches leave) and `optional`. `c` is the state of the check: what is known at one moment of it is
`Checker.present`, of which `Checker.narrowed` makes use. A condition that says more is a case of `_told`. Nothing is reported
here, and no type is changed; variables that may be assigned again are never among what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..decisions import BuiltinCall
from ..symbols import BuiltinSymbol, Local
from ..syntax import ast
from ..types import ANY, NEVER, NIL, Nilable, Type
from .relations import generic, is_present
from .state import Checker

# Parts of one condition that are read, so that a chain of `&&` of any length takes no more than its length.
MOST_PARTS = 32


def implied(condition: ast.Expr, holds: bool) -> list[Local]:
    """Return the variables that hold a value where a condition, typed before, is true (`holds`) or false; a variable may stand
    twice. Of a longer condition the first MOST_PARTS parts that the walk meets are read."""
    names: list[Local] = []
    waiting = [(condition, holds)]
    for _ in range(MOST_PARTS):
        if not waiting:
            break
        node, is_true = waiting.pop()
        match node := ast.ungrouped(node):
            case ast.Unary(operator="!"):
                waiting.append((node.operand, not is_true))
            # Both sides of `a && b` are true where it is, both of `a || b` false where it is.
            case ast.Binary(operator="&&" | "||") if (node.operator == "&&") == is_true:
                waiting += [(node.left, is_true), (node.right, is_true)]
            case _:
                names += _told(node, is_true)
    return names


def _told(node: ast.Expr, is_true: bool) -> Iterator[Local]:
    """Yield the variable that one comparison or question says a value of."""
    match node:
        case ast.Binary(operator="==" | "!="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                # `x != nil`, or `x == v` where v is never absent.
                holds = is_true != (node.operator == "==") if _is_absence(other) else is_true == (node.operator == "==")
                if holds and (_is_absence(other) or _never_absent(other.type)) and (local := optional(one)) is not None:
                    yield local
        case ast.MethodCall(target=BuiltinCall(receiver_kind="Option", name="is_some" | "is_none" as name)):
            if is_true == (name == "is_some") and (local := optional(node.receiver)) is not None:
                yield local


def _is_absence(node: ast.Expr) -> bool:
    node = ast.ungrouped(node)
    is_none = isinstance(node, ast.PathExpr) and isinstance(node.binding, BuiltinSymbol) and node.binding.name == "None"
    return is_none or isinstance(node, ast.NilLiteral)


def _never_absent(type_: Type | None) -> bool:
    return type_ is not None and type_ not in (ANY, NIL, NEVER) and is_present(type_) and not generic(type_, "Option")


def optional(node: ast.Expr) -> Local | None:
    """Return the variable of type `T?` that an expression names; None for any other expression, and for a `mut` variable: it may
    be written again, so that what is known of it now says nothing for later."""
    node = ast.ungrouped(node)
    local = node.binding if isinstance(node, ast.PathExpr) else None
    return local if isinstance(local, Local) and not local.mutable and isinstance(local.type, Nilable) else None


def implied_behind(node: ast.If) -> list[Local]:
    """Return the variables that hold a value behind an `if`, typed before, whichever branch was taken that comes to its end."""
    passed: list[Local] = []  # what the conditions so far say where they are false
    behind: list[Local] | None = None  # what holds behind the one branch that comes to its end
    before = 0  # how much of `passed` holds there and behind every later branch
    at: ast.Expr | None = node
    while isinstance(at, ast.If):
        if at.then.type != NEVER:
            if behind is not None:
                return passed[:before]
            behind, before = [*passed, *implied(at.condition, True)], len(passed)
        passed += implied(at.condition, False)
        at = at.otherwise
    if at is not None and at.type == NEVER:
        return behind or []
    return passed if behind is None else passed[:before]


def learn_present(c: Checker, names: Iterable[Local]) -> list[Local]:
    """Note that variables hold a value from here on; return those of which that is new, for `forget`."""
    new = [local for local in dict.fromkeys(names) if local not in c.present]
    c.present.update(new)
    return new


def forget(c: Checker, names: Iterable[Local]) -> None:
    """End what `learn_present` began, at the end of the branch or block that it is known in."""
    c.present.difference_update(names)
