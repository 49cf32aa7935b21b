"""Errors on their way: `?`, `throw`, `try`, and discarded Results (L-3.12).

Hands on `discarded_result`, `leave` and the rules of these forms. Must not know: how bodies begin (`functions`).
"""

from __future__ import annotations

from ...vm.values.errors import FAMILIES, is_family
from ..decisions import Coercion, ConstructorCall, ThroughFrom, ToError, ToMessage
from ..hints.types import default_of
from ..source import Span
from ..symbols import ErrorFamilySymbol, FunctionSymbol
from ..syntax import ast
from ..types import ANY, ERROR, NEVER, NIL, OPEN, Function, Generic, Nilable, Nominal, Tuple, Type, Union, array, error, result
from .json_shapes import answer_in
from .relations import (
    ERRONEOUS,
    _Mismatch,
    convert_error,
    fits,
    generic,
    implementations_of,
    implements,
    is_error,
    is_text,
    join_all,
    join_errors,
)
from .state import Checker, Expected, ExpressionRule, Raise, Target
from .types import written_type

# ----------------------------------------------------------------
# Error families that do not belong where they stand (L-3.12.12, L-3.12.13).
#
# A family in a signature accepts every other one (L-3.3.12), so that nothing refuses them; these warnings tell. Hands on
# `foreign_error`, `foreign_value` and `never_caught`.

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


# ----------------------------------------------------------------

WORDS = {"?": "E3014", "throw": "E3013", "try": "E3015", "statement": "E3015"}


# ---------------------------------------------------------------- leaving


def leave(c: Checker, raised: Raise) -> Coercion | None:
    """Sends an error to its target (L-3.12.2); the answer is what converts it there."""
    if raised.type is ERRONEOUS or raised.type == NEVER:
        return None
    target = c.target
    if target.kind == "try" or (target.result is None and target.fails_with is None):
        target.raised.append(raised)
        return None
    if target.kind == "none":
        c.report("E3012", raised.node.span, f"`{raised.by}` stands outside a function", help="move it into a function")
        return None
    target.raised.append(raised)
    if target.accepts_all:
        return None
    if target.fails_with is not None:
        return check_conversion(c, raised, target.fails_with)
    sides = generic(target.result, "Result")
    if not sides:
        cannot_leave(c, raised, target)
        return None
    return check_conversion(c, raised, sides[1])


def check_conversion(c: Checker, raised: Raise, wanted: Type) -> Coercion | None:
    """The error must suit the error side of the target (L-3.12.3)."""
    coercion = convert_error(raised.type, wanted)
    if isinstance(coercion, (_Mismatch, ToError, ToMessage)):
        through = from_function(c, raised.type, wanted)
        if through is not None:
            return ThroughFrom(through)
    if isinstance(coercion, _Mismatch):
        code = "E3015" if raised.by in ("try", "statement") else "E2042"
        by_impl = f"write `impl From<{raised.type}> for {wanted} {{ … }}`, or convert it: `.map_err(…)`"
        help = "add a `catch`" if code == "E3015" else by_impl
        c.report(code, raised.node.span, f"the error `{raised.type}` does not convert to `{wanted}`", help=help)
        return None
    c.note_message(raised.node.span, raised.type, coercion)
    foreign_error(c, raised.node.span, raised.type, wanted)
    return coercion


def from_function(c: Checker, found: Type, wanted: Type) -> FunctionSymbol | None:
    """The `from` of `impl From<found> for wanted`; one for a wider type serves too (L-3.12.3)."""
    trait = next(trait for trait in c.traits["from"] if trait.home is None)
    assert isinstance(trait.type, Nominal)
    offers = [c.implementations[made] for made, _ in implementations_of(wanted, trait.type.of((found,)))]
    if not offers:
        made = [made for made, _ in implementations_of(wanted, trait.type.of((ANY,))) if fits(found, made.arguments[0])]
        offers = [c.implementations[one] for one in made]
    return offers[0].method("from") if offers else None


def cannot_leave(c: Checker, raised: Raise, target: Target) -> None:
    """E3013, E3014, E3015: the target has no error side."""
    code = WORDS[raised.by]
    what = target.name
    gives = f"returns `{target.result}`" if target.result not in (NIL, NEVER, None) else "returns nothing"
    if code == "E3015":
        message = f"the error `{raised.type}` leaves the `try`, but {what} {gives}"
        c.report(code, raised.node.span, message, help="add a `catch`")
        return
    subject = "`?` cannot propagate" if code == "E3014" else "`throw` cannot leave"
    help = "declare `-> Result<…>`" + (", or use `match`" if code == "E3014" else "")
    c.report(code, raised.node.span, f"{subject}: {what} {gives}", help=help)


def discarded_result(c: Checker, node: ast.Expr, found: Type) -> None:
    """A discarded Result is thrown inside a `try` body (L-5.12.2), elsewhere it draws W0003."""
    sides = generic(found, "Result")
    if not sides:
        if results_in(found):
            help = "write `?` behind it, which raises the first Err, `match` on the results, or write `let _ = …;`"
            c.report("W0003", node.span, f"the Results in the `{found}` are not used", help=help)
        return
    if c.in_try:
        leave(c, Raise(node, sides[1] if str(sides[1]) != "_" else ANY, "statement"))
        if not _is_constructor(node):
            message = "inside `try` this statement throws its Err; anywhere else it would be dropped"
            c.report("W0018", node.span, message, help=_with_mark(c, node))
    else:
        c.report("W0003", node.span, f"the `{found}` is not used", help="use `?`, `match`, or `let _ = …;`")


def cast_fails(c: Checker, node: ast.Cast) -> None:
    """A cast in a `try` raises its failure there, if a clause takes it (L-3.5.8)."""
    node.catchable = True
    c.target.raised.append(Raise(node, error("RuntimeError"), "as"))


def uncaught_value(c: Checker, node: ast.Let) -> None:
    """W0017: the last call of a `try` whose value a `let` keeps is that value, Err or not; its `catch` never sees it."""
    value = node.value
    while isinstance(value, ast.GroupExpr):
        value = value.inner
    if not isinstance(value, ast.Try) or not value.catches or value.body.result is None:
        return
    last = value.body.result
    if generic(last.type, "Result") and isinstance(last, CALLS) and not _is_constructor(last):
        message = "the `catch` does not see this Err: it becomes the value of the `try`"
        c.report("W0017", last.span, message, help=_with_mark(c, last))


CALLS = (ast.Call, ast.MethodCall, ast.Await, ast.Pipe)


def _with_mark(c: Checker, node: ast.Expr) -> str:
    """The expression as it is written, with `?` behind it."""
    written = c.text(node)
    return "write `?` behind it" if written.endswith("…`") else f"write `{written[1:-1]}?`"


def _is_constructor(node: ast.Expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.target, ConstructorCall)


def throw(c: Checker, node: ast.Throw, expected: Expected) -> Type:
    found = c.infer(node.value)
    coercion = leave(c, Raise(node, found, "throw"))
    if coercion is not None:
        node.value.coercion = coercion
    return NEVER


def propagate(c: Checker, node: ast.Propagate, expected: Expected) -> Type:
    found = c.infer(node.operand, answer_in(node.operand, expected))
    sides = generic(found, "Result")
    if sides:
        node.failure = leave(c, Raise(node, ANY if sides[1] == OPEN else sides[1], "?"))
        return sides[0]
    inside = generic(found, "Option")
    if inside:
        _leave_none(c, node)
        return inside[0]
    results = results_in(found)
    if results:
        node.together = True
        node.failure = leave(c, Raise(node, join_errors([ANY if error == OPEN else error for _, error in results]), "?"))
        return values_of(found)
    if found is ERRONEOUS or found == NEVER:
        return found
    if found == ANY:
        _leave_unknown(c, node)
        return ANY
    help = "drop the `?`"
    if isinstance(found, Nilable):
        help = f"write `({c.operand(node.operand, '…')} ?? {default_of(found.inner)})`, or `match` on it"
    elif found == NIL and isinstance(node.operand, ast.Call) and _is_emit(node.operand):
        help = f"for the answer of the host write `await {c.text(node.operand)[1:-1]}?`"
    return c.report("E2041", node.span, f"`?` takes a Result or an Option, found `{found}`", help=help)


def _is_emit(node: ast.Call) -> bool:
    return isinstance(node.callee, ast.PathExpr) and node.callee.segments[-1].text == "emit"


def results_in(type_: Type) -> list[tuple[Type, ...]]:
    """The sides of the Results that `?` takes apart together: of an Array of them, or a tuple that holds one and nothing of
    which only the run knows whether it is one (L-3.12.10)."""
    parts = type_.items if isinstance(type_, Tuple) else generic(type_, "Array") or ()
    if any(part == ANY or (isinstance(part, Nominal) and part.kind in ("parameter", "trait")) for part in parts):
        return []
    return [sides for part in parts if (sides := generic(part, "Result"))]


def values_of(type_: Type) -> Type:
    """What is left of such a type when all of its Results are Ok."""
    if isinstance(type_, Tuple):
        return Tuple(tuple([sides[0] if (sides := generic(part, "Result")) else part for part in type_.items]))
    return array(results_in(type_)[0][0])


def _leave_none(c: Checker, node: ast.Propagate) -> None:
    """None leaves as None from an Option, else as the error `missing value` (L-3.12.3, L-3.12.4)."""
    target = c.target
    if _none_leaves(target):
        return
    if target.kind == "closure" and target.result is None:
        target.raised.append(Raise(node, NIL, "?"))
        return
    leave(c, Raise(node, error("RuntimeError"), "?"))


def _none_leaves(target: Target) -> bool:
    """Whether the target gives an Option, which None leaves as it is."""
    return target.kind not in ("try", "none") and target.fails_with is None and generic(target.result, "Option") is not None


def _leave_unknown(c: Checker, node: ast.Propagate) -> None:
    if not _none_leaves(c.target):
        leave(c, Raise(node, ANY, "?"))


# ---------------------------------------------------------------- try


def try_(c: Checker, node: ast.Try, expected: Expected) -> Type:
    target = Target("try")
    c.targets.append(target)
    if node.catches:
        found = _body(c, node.body, expected)
    else:
        sides = generic(expected.type, "Result") if expected.used else None
        inner = expected.of(sides[0]) if sides else Expected(used=expected.used)
        found = _body(c, node.body, inner)
    c.targets.pop()
    if not node.catches:
        return result(found, join_errors([raised.type for raised in target.raised]))
    return _catches(c, node, target, found, expected)


def _body(c: Checker, body: ast.Block, expected: Expected) -> Type:
    return c.infer(body, expected) if not expected.used else c.tail(body, expected)


def _catches(c: Checker, node: ast.Try, target: Target, found: Type, expected: Expected) -> Type:
    branches: list[tuple[ast.Expr, Type]] = [(node.body, found)]
    earlier: list[ast.CatchClause] = []
    rethrow: list[tuple[Type, Coercion]] = []
    for clause in node.catches:
        _clause(c, clause, earlier)
        never_caught(c, clause, target.raised)
        earlier.append(clause)
        branches.append((clause.body, _body(c, clause.body, expected)))
    for raised in target.raised:
        if not any(covers(clause, raised.type) for clause in node.catches):
            if raised.by == "as" and not c.in_try:
                raised.node.catchable = False  # type: ignore[attr-defined]
                continue
            by = raised.by if raised.by == "as" else "try"
            coercion = leave(c, Raise(raised.node, raised.type, by))
            if coercion is not None and (raised.type, coercion) not in rethrow:
                rethrow.append((raised.type, coercion))
    node.rethrow = rethrow
    if not expected.used:
        return NEVER if all(t == NEVER for _, t in branches) else NIL
    if expected.concrete:
        return join_all([t for _, t in branches]) or ERRONEOUS
    return c.join_branches(branches)


def _clause(c: Checker, clause: ast.CatchClause, earlier: list[ast.CatchClause]) -> None:
    """Types a clause and its name; a clause that nothing can reach draws W0004."""
    caught = None if clause.type is None else written_type(c, clause.type)
    if isinstance(caught, (Function, Union, Nilable)) and clause.type is not None:
        c.report(
            "E3003", clause.type.span, f"`catch` cannot tell a `{caught}` apart",
            help="catch an error family, or `Error` for all",
        )
        caught = ERRONEOUS
    clause.caught = None if caught == ANY else caught
    if clause.binding is not None:
        clause.binding.type = ANY if caught is None else caught
    for other in earlier:
        if caught is not ERRONEOUS and _clause_covers(other, clause):
            c.report(
                "W0004", clause.type.span if clause.type is not None else clause.span,
                f"this clause can never match: `catch{f' {other.caught}' if other.caught else ''}` covers it",
                first=other.span, note="covered by this one", help="remove it, or move it before the other",
            )  # fmt: skip
            return


def _clause_covers(first: ast.CatchClause, second: ast.CatchClause) -> bool:
    if first.caught is None:
        return True
    if second.caught is None:
        return False
    if variant_of(first) is not None and variant_of(first) != variant_of(second):
        return False
    return _type_covers(first.caught, second.caught)


def variant_of(clause: ast.CatchClause) -> str | None:
    """The V of `catch F::V`."""
    binding = clause.type.binding if isinstance(clause.type, ast.NamedType) else None
    return binding.variant if isinstance(binding, ErrorFamilySymbol) else None


def covers(clause: ast.CatchClause, type_: Type) -> bool:
    """Whether the clause catches every error of this type (L-3.11.15)."""
    if clause.caught is None or clause.caught is ERRONEOUS:
        return True
    return variant_of(clause) is None and _type_covers(clause.caught, type_)


def _type_covers(caught: Type, type_: Type) -> bool:
    if isinstance(caught, Nominal) and (caught.kind == "trait" or caught == ERROR):
        return implements(type_, caught)
    if is_error(caught) and isinstance(caught, Nominal):
        return is_error(type_) and isinstance(type_, Nominal) and is_family(type_.name, caught.name)
    if isinstance(caught, Generic) and isinstance(type_, Generic):
        return caught.name == type_.name  # run-time tests see the bare type (L-3.1.22)
    return caught == type_ or (is_text(type_) and str(caught) == "String")


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Throw: throw,
    ast.Propagate: propagate,
    ast.Try: try_,
}
