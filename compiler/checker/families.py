"""Error families that do not belong where they stand (L-3.12.12, L-3.12.13).

A family in a signature accepts every other one (L-3.3.12), so that nothing refuses them; these warnings tell. Hands on
`foreign_error`, `foreign_value` and `never_caught`. Must not know: how errors find their targets.
"""

from __future__ import annotations

from ...vm.values.errors import FAMILIES, is_family
from .. import ast
from ..source import Span
from ..types import ERROR, Nominal, Type
from .context import Checker, Raise
from .relations import generic, is_error, is_text

OF_TEXT = "RuntimeError"  # the family of a text that is thrown (L-3.3.13)


def foreign_error(c: Checker, span: Span, found: Type, wanted: Type) -> None:
    """W0015 where an error, or the error side of a Result, goes to a family it neither belongs to nor contains."""
    sides = generic(found, "Result"), generic(wanted, "Result")
    if sides[0] and sides[1]:
        found, wanted = sides[0][1], sides[1][1]
    elif not is_error(found) and not (is_text(found) and is_error(wanted)):
        return
    own = OF_TEXT if is_text(found) else _family(found)
    if own is None or not is_error(wanted) or _related(own, wanted):
        return
    message = f"{_a(own)} is no `{wanted}`: `catch {wanted}` does not catch it"
    declared = generic(c.function_target.result, "Result") if c.targets else None
    shown = f"-> Result<{declared[0]}, Error>" if declared and declared[1] == wanted else "Error"
    c.report("W0015", span, message, help=f"declare the family of both: `{shown}`")


def foreign_value(c: Checker, node: ast.Expr, found: Type, wanted: Type) -> None:
    """The same for a value that went where an error, or a Result, is expected."""
    foreign_error(c, node.span, found, wanted)


def never_caught(c: Checker, clause: ast.CatchClause, raised: list[Raise]) -> None:
    """W0015 for a clause on a family when all that the body throws is of other ones."""
    caught = clause.caught
    if not is_error(caught) or caught == ERROR or clause.type is None or not raised:
        return
    families = [_family(each.type) for each in raised]
    if any(family is None or _related(family, caught) for family in families):
        return
    thrown = ", ".join(f"`{family}`" for family in dict.fromkeys(families))
    message = f"nothing in this `try` throws {_a(str(caught))}: it throws {thrown}"
    c.report("W0015", clause.type.span, message, help=f"catch what is thrown: `catch {families[0]}`, or all: `catch Error`")


def _family(type_: Type) -> str | None:
    """The family of what is thrown; None where the type leaves it open. A type of the program is in none but its own."""
    if is_text(type_):
        return "String"
    if isinstance(type_, Nominal) and type_ != ERROR and type_.kind in ("error", "struct", "enum", "schema"):
        return type_.name
    return None


def _related(family: str, wanted: Type) -> bool:
    assert isinstance(wanted, Nominal)
    return family in FAMILIES and (is_family(family, wanted.name) or is_family(wanted.name, family))


def _a(family: str) -> str:
    return f"{'an' if family[0] in 'AEIOU' else 'a'} `{family}`"
