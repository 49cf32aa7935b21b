"""Errors on their way: `?`, `throw`, `try`, and discarded Results (L-3.12).

Hands on `leave` (an error goes to the function or `try` around it) to `control` and `context_declarations`; `check_discarded`
and `warn_uncaught_value` (a Result that is not used) to `control`; `check_conversion` and `report_cannot_leave` to `functions`,
`note_cast_failure` to `operators`, and to `program` the lint `warn_foreign_value` and the rules of these forms. What is wrong
with the program is reported to `c`, the state of the check, and not raised, and where an error goes at run time is made by
codegen from what is set on the tree here. An error is a `Raise` on its way to a `Target` (both in `state`), which collects what
arrives; the target of a `try` is made here, those of bodies in `functions`. How errors convert to the declared one is in
`check_conversion`, a further built-in way in `relations.convert_error`.
"""

from __future__ import annotations

from ...vm.values.errors import FAMILIES, is_family
from ..decisions import Coercion, ConstructorCall, ThroughFrom, ToError, ToMessage, ToOption
from ..source import Span
from ..symbols import FunctionSymbol
from ..syntax import ast
from ..types import (
    ANY,
    ERROR,
    NEVER,
    NIL,
    OPEN,
    Function,
    Implementation,
    Nilable,
    Nominal,
    Tuple,
    Type,
    Union,
    array,
    error,
    result,
)
from .catch_clauses import Clauses
from .json_shapes import answer_in
from .relations import (
    ERRONEOUS,
    _Mismatch,
    convert_error,
    fits,
    generic,
    implementations_of,
    is_declared_data,
    is_error,
    is_error_value,
    is_text,
    join_all,
    join_errors,
)
from .state import Checker, Expected, ExpressionRule, Raise, Target
from .types import written_type

# Error families that do not belong where they stand (L-3.12.12, L-3.12.13). A family in a signature accepts every other one
# (L-3.3.12), so that this is no error, only a warning.

OF_TEXT = "RuntimeError"  # the family of a text that is thrown (L-3.3.13)


def warn_foreign_error(c: Checker, span: Span, actual: Type, wanted: Type) -> None:
    """Warn of an error, or the error side of a Result, that goes to a family it neither belongs to nor contains (W0015)."""
    sides = generic(actual, "Result"), generic(wanted, "Result")
    if sides[0] and sides[1]:
        actual, wanted = sides[0][1], sides[1][1]
    elif not is_error(actual) and not (is_text(actual) and is_error(wanted)):
        return
    # A text that is thrown becomes a RuntimeError.
    own = OF_TEXT if is_text(actual) else _family(actual)
    if own is None or not is_error(wanted) or _related(own, wanted):
        return
    message = f"{_with_article(own)} is no `{wanted}`: `catch {wanted}` does not catch it"
    declared = generic(c.function_target.result, "Result") if c.targets else None
    declaration = f"-> Result<{declared[0]}, Error>" if declared and declared[1] == wanted else "Error"
    c.report("W0015", span, message, help=f"declare the family of both: `{declaration}`")


def warn_foreign_value(c: Checker, node: ast.Expr, actual: Type, wanted: Type) -> None:
    """Warn as `warn_foreign_error` of a value that went where an error, or a Result, is expected: a lint of `Checker.coerce`."""
    warn_foreign_error(c, node.span, actual, wanted)


def warn_never_caught(c: Checker, clause: ast.CatchClause, families: list[str | None], known: list[str | None]) -> None:
    """Warn of a clause on a family when all that the body throws is of other ones (W0015). `families` are those of what it
    throws, each once; `known` those that are built in, and None for one that is open."""
    caught = clause.caught
    if not is_error(caught) or caught == ERROR or clause.type is None or not families:
        return
    # One error of unknown family may be of any: then nothing is certain.
    if any(family is None or _related(family, caught) for family in known):
        return
    thrown = ", ".join([f"`{family}`" for family in families[:FAMILIES_SHOWN]])
    more = ", …" if len(families) > FAMILIES_SHOWN else ""
    message = f"nothing in this `try` throws {_with_article(str(caught))}: it throws {thrown}{more}"
    c.report("W0015", clause.type.span, message, help=f"catch what is thrown: `catch {families[0]}`, or all: `catch Error`")


FAMILIES_SHOWN = 20  # that a message names


def _family(type_: Type) -> str | None:
    """Return the family of what is thrown; None where the type leaves it open. A type of the program is a family of its own."""
    if is_text(type_):
        return "String"
    if isinstance(type_, Nominal) and type_ != ERROR and type_.kind in ("error", "struct", "enum", "schema"):
        return type_.name
    return None


def _related(family: str, wanted: Type) -> bool:
    assert isinstance(wanted, Nominal)
    return family in FAMILIES and (is_family(family, wanted.name) or is_family(wanted.name, family))


def _with_article(family: str) -> str:
    return f"{'an' if family[0] in 'AEIOU' else 'a'} `{family}`"


# Errors on their way.

# The code for an error that cannot leave, by what raises it.
CODES = {"?": "E3014", "throw": "E3013", "try": "E3015", "statement": "E3015"}


def leave(c: Checker, raised: Raise) -> Coercion | None:
    """Send an error to the function or `try` around it (L-3.12.2). Return what converts it there, None for nothing; also None
    after a report (E2042, E3012 to E3015). Warn of an error that becomes its message (W0020) or that goes to a foreign family
    (W0015)."""
    if raised.type is ERRONEOUS or raised.type == NEVER:
        return None
    c.leaving.add(raised.node)
    target = c.target
    # The error side of a `try`, and of a body whose result is inferred, is made of what arrives.
    if target.kind == "try" or (target.result is None and target.fails_with is None):
        target.raised.append(raised)
        return None
    if target.leads_nowhere:
        report_outside(c, raised.node, raised.by, target)
        return None
    target.raised.append(raised)
    if target.accepts_all:
        return None
    if target.fails_with is not None:
        return check_conversion(c, raised, target.fails_with)
    sides = generic(target.result, "Result")
    if not sides:
        report_cannot_leave(c, raised, target)
        return None
    return check_conversion(c, raised, sides[1])


def report_outside(c: Checker, node: ast.Node, what: str, target: Target) -> None:
    """Report a `?`, throw or return (`what`) where it leads nowhere (E3012): the default of a parameter is computed before the
    body runs, by itself."""
    place, help = "outside a function", "move it into a function"
    if target.kind == "default":
        place, help = "in the default of a parameter", "make the parameter a `T? = nil`, and compute the default in the body"
    c.report("E3012", node.span, f"`{what}` stands {place}", help=help)


def check_conversion(c: Checker, raised: Raise, wanted: Type) -> Coercion | None:
    """Return what converts an error to the error side of its target, by L-3.3 or by an `impl From`; None where nothing has to be
    done. One that does not convert is reported (E2042, or E3015 out of a `try`, L-3.12.3), and None returned. Warn as `leave`
    does (W0015, W0020)."""
    coercion = convert_error(raised.type, wanted)
    # An `impl From` of the program comes before the built-in ways from text and to text.
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
    c.warn_of_message(raised.node.span, raised.type, coercion)
    warn_foreign_error(c, raised.node.span, raised.type, wanted)
    return coercion


def from_function(c: Checker, source: Type, target: Type) -> FunctionSymbol | None:
    """Return the `from` of `impl From<source> for target`, or of one for a wider source (L-3.12.3); None if there is none."""
    if (source, target) not in c.from_functions:
        implementation = _from_implementation(c, source, target)
        c.from_functions[source, target] = None if implementation is None else c.implementations[implementation].method("from")
    return c.from_functions[source, target]


def _from_implementation(c: Checker, source: Type, target: Type) -> Implementation | None:
    # The predeclared From; a program may declare a trait with a method `from` too.
    trait = next(trait for trait in c.traits["from"] if trait.home is None).type
    assert isinstance(trait, Nominal)
    exact = next(implementations_of(target, trait.of((source,))), None)
    if exact is not None:
        return exact[0]
    if target not in c.from_impls:
        every = [implementation for implementation, _ in implementations_of(target, trait.of((ANY,)))]
        c.from_impls[target] = [one for one in every if not is_declared_data(one.arguments[0])]
    # Of a struct only another use of the same struct is wider, beside what is no struct.
    alike: list[Implementation] = []
    if isinstance(source, Nominal) and source.arguments:
        bare = source.of((ANY,) * len(source.arguments))
        alike = [implementation for implementation, _ in implementations_of(target, trait.of((bare,)))]
    wider = [one for one in (*c.from_impls[target], *alike) if fits(source, one.arguments[0])]
    return min(wider, key=trait.facts.implementations.numbers.__getitem__, default=None)


def report_cannot_leave(c: Checker, raised: Raise, target: Target) -> None:
    """Report an error whose target has no error side (E3013, E3014, E3015)."""
    code = CODES[raised.by]
    what = target.name
    gives = f"returns `{target.result}`" if target.result not in (NIL, NEVER, None) else "returns nothing"
    if code == "E3015":
        message = f"the error `{raised.type}` leaves the `try`, but {what} {gives}"
        c.report(code, raised.node.span, message, help="add a `catch`")
        return
    subject = "`?` cannot propagate" if code == "E3014" else "`throw` cannot leave"
    help = "declare `-> Result<…>`" + (", or use `match`" if code == "E3014" else "")
    c.report(code, raised.node.span, f"{subject}: {what} {gives}", help=help)


def check_discarded(c: Checker, node: ast.Expr, type_: Type) -> None:
    """Check a value that is thrown away: the error of a Result is raised inside a `try` body (L-5.12.2), which is warned of
    (W0018) unless it is an `Ok(…)` or `Err(…)` itself; elsewhere the Result is reported (W0003), as are everywhere those in an
    Array or tuple."""
    sides = generic(type_, "Result")
    if not sides:
        if results_in(type_):
            help = "write `?` behind it, which raises the first Err, `match` on the results, or write `let _ = …;`"
            c.report("W0003", node.span, f"the Results in the `{type_}` are not used", help=help)
        return
    if c.in_try:
        if sides[1] != OPEN:  # an `Ok(…)` throws nothing
            leave(c, Raise(node, sides[1], "statement"))
        if not _is_constructor(node):
            message = "inside `try` this statement throws its Err; anywhere else it would be dropped"
            c.report("W0018", node.span, message, help=_with_mark(c, node))
    else:
        c.report("W0003", node.span, f"the `{type_}` is not used", help="use `?`, `match`, or `let _ = …;`")


def note_cast_failure(c: Checker, node: ast.Cast) -> None:
    """Note that a cast in a `try` raises its failure there, if a clause catches it (L-3.5.8)."""
    node.catchable = True
    c.target.raised.append(Raise(node, error("RuntimeError"), "as"))


def warn_uncaught_value(c: Checker, node: ast.Let) -> None:
    """Warn of a Result that is the value of a `try` which a `let` keeps: its `catch` never sees the Err (W0017)."""
    value = node.value and ast.ungrouped(node.value)
    if not isinstance(value, ast.Try) or not value.catches or value.body.result is None:
        return
    last = value.body.result
    if generic(last.type, "Result") and isinstance(last, CALLS) and not _is_constructor(last):
        message = "the `catch` does not see this Err: it becomes the value of the `try`"
        c.report("W0017", last.span, message, help=_with_mark(c, last))


CALLS = (ast.Call, ast.MethodCall, ast.Await, ast.Pipe)


def _with_mark(c: Checker, node: ast.Expr) -> str:
    """Return the help: the expression as it is written, with `?` behind it."""
    written = c.text(node)
    return "write `?` behind it" if written.endswith("…`") else f"write `{written[1:-1]}?`"


def _is_constructor(node: ast.Expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.target, ConstructorCall)


def throw(c: Checker, node: ast.Throw, expected: Expected) -> Type:
    """Return `never`, since nothing comes behind it; the error leaves to the target around, converted to its error side. Report
    as `leave`."""
    type_ = c.infer(node.value)
    coercion = leave(c, Raise(node, type_, "throw"))
    if coercion is not None:
        node.value.coercion = coercion
    return NEVER


def propagate(c: Checker, node: ast.Propagate, expected: Expected) -> Type:
    """Return the type of `x?`: what is inside a Result, an Option, a `T?`, or a group of Results, Any of Any; its error leaves
    (L-3.12), reported as by `leave` where it cannot. ERRONEOUS after a report (E2041) for others."""
    type_ = c.infer(node.operand, answer_in(node.operand, expected))
    sides = generic(type_, "Result")
    if sides:
        node.failure = leave(c, Raise(node, ANY if sides[1] == OPEN else sides[1], "?"))
        return sides[0]
    inside = generic(type_, "Option")
    if inside:
        _leave_none(c, node)
        return inside[0]
    # `T?` is taken apart as the Option that it converts to (L-3.12.16).
    if isinstance(type_, Nilable):
        node.operand.coercion = ToOption()
        _leave_none(c, node)
        return type_.inner
    # `?` behind a group of Results raises the first Err among them.
    results = results_in(type_)
    if results:
        node.together = True
        node.failure = leave(c, Raise(node, join_errors([ANY if error == OPEN else error for _, error in results]), "?"))
        return values_of(type_)
    if type_ is ERRONEOUS or type_ == NEVER:
        return type_
    if type_ == ANY:
        _leave_unknown(c, node)
        return ANY
    help = "drop the `?`"
    if type_ == NIL and isinstance(node.operand, ast.Call) and _is_emit(node.operand):
        help = f"for the answer of the host write `await {c.text(node.operand)[1:-1]}?`"
    return c.report("E2041", node.span, f"`?` takes a Result or an Option, found `{type_}`", help=help)


def _is_emit(node: ast.Call) -> bool:
    return isinstance(node.callee, ast.PathExpr) and node.callee.segments[-1].text == "emit"


def results_in(type_: Type) -> list[tuple[Type, ...]]:
    """Return the sides, (value, error), of each of the Results that `?` takes apart together: of an Array of them, or of a tuple
    with one or more (L-3.12.10). [] without any, and if only the run knows whether a part is a Result."""
    parts = type_.items if isinstance(type_, Tuple) else generic(type_, "Array") or ()
    if any(part == ANY or (isinstance(part, Nominal) and part.kind in ("parameter", "trait")) for part in parts):
        return []
    return [sides for part in parts if (sides := generic(part, "Result"))]


def values_of(type_: Type) -> Type:
    """Return what is left of a type with Results inside when all of them are Ok; `results_in` must have found some."""
    if isinstance(type_, Tuple):
        return Tuple(tuple([sides[0] if (sides := generic(part, "Result")) else part for part in type_.items]))
    return array(results_in(type_)[0][0])


def _leave_none(c: Checker, node: ast.Propagate) -> None:
    """Let None leave: as None from a function that returns an Option, else as the error `missing value` (L-3.12.3, L-3.12.4)."""
    target = c.target
    if _none_leaves(target):
        return
    if target.kind == "closure" and target.result is None:
        target.raised.append(Raise(node, NIL, "?"))
        return
    leave(c, Raise(node, error("RuntimeError"), "?"))


def _none_leaves(target: Target) -> bool:
    """Return whether the target gives an Option or a `T?`, so that None leaves as None or nil."""
    if target.kind == "try" or target.leads_nowhere or target.fails_with is not None:
        return False
    return generic(target.result, "Option") is not None or isinstance(target.result, Nilable)


def _leave_unknown(c: Checker, node: ast.Propagate) -> None:
    # Whether it is a Result only the run knows, and an Err does not leave as nil.
    if not _none_leaves(c.target) or isinstance(c.target.result, Nilable):
        leave(c, Raise(node, ANY, "?"))


# `try`.


def try_(c: Checker, node: ast.Try, expected: Expected) -> Type:
    """Return the type of `try`: a Result without clauses, else the join of the body and the clauses, or Nil (`never` if no
    branch ends) where the value is thrown away. What no clause catches leaves, reported as by `leave` where it cannot. E2021 for
    branches of different types; E3003 for a clause for a type that cannot be told apart at run time; W0004 for one that an
    earlier one covers, W0015 for a family that nothing throws."""
    target = Target("try")
    c.targets.append(target)
    if node.catches:
        body_type = _infer_body(c, node.body, expected)
    else:
        # Without clauses the value of `try` is a Result: its body is guided by the value side.
        sides = generic(expected.type, "Result") if expected.used else None
        inner = expected.of(sides[0]) if sides else Expected(used=expected.used)
        body_type = _infer_body(c, node.body, inner)
    c.targets.pop()
    if not node.catches:
        return result(body_type, join_errors([raised.type for raised in target.raised]))
    return _check_catches(c, node, target, body_type, expected)


def _infer_body(c: Checker, body: ast.Block, expected: Expected) -> Type:
    return c.infer(body, expected) if not expected.used else c.tail(body, expected)


def _check_catches(c: Checker, node: ast.Try, target: Target, body_type: Type, expected: Expected) -> Type:
    branches: list[tuple[ast.Expr, Type]] = [(node.body, body_type)]
    clauses = Clauses()
    families = list(dict.fromkeys([_family(each.type) for each in target.raised]))
    known = [family for family in families if family is None or family in FAMILIES]
    for clause in node.catches:
        _check_clause(c, clause, clauses, target.raised)
        warn_never_caught(c, clause, families, known)
        clauses.add(clause)
        branches.append((clause.body, _infer_body(c, clause.body, expected)))
    # Codegen writes one conversion for each type of error that leaves.
    rethrow: dict[tuple[Type, Coercion], None] = {}
    for raised in target.raised:
        if not clauses.covers(raised.type):
            # Outside of a `try` a cast that fails panics, as everywhere.
            if raised.by == "as" and not c.in_try:
                raised.node.catchable = False  # type: ignore[attr-defined]
                continue
            by = raised.by if raised.by == "as" else "try"
            coercion = leave(c, Raise(raised.node, raised.type, by))
            if coercion is not None:
                rethrow[raised.type, coercion] = None
    node.rethrow = list(rethrow)
    if not expected.used:
        return NEVER if all(t == NEVER for _, t in branches) else NIL
    if expected.concrete:
        return join_all([t for _, t in branches]) or ERRONEOUS
    return c.join_branches(branches)


def _check_clause(c: Checker, clause: ast.CatchClause, earlier: Clauses, raised: list[Raise]) -> None:
    """Set the type that a clause catches and that of its name; warn of a clause that an earlier one covers (W0004). A clause for
    every error calls it what the errors that reach it have in common."""
    caught = None if clause.type is None else written_type(c, clause.type)
    if isinstance(caught, (Function, Union, Nilable)) and clause.type is not None:
        c.report(
            "E3003", clause.type.span, f"`catch` cannot tell a `{caught}` apart",
            help="catch an error family, or `Error` for all",
        )
        caught = ERRONEOUS
    # `catch e: Any` catches everything, as a clause without type.
    clause.caught = None if caught == ANY and caught is not ERRONEOUS else caught  # the two are equal
    if clause.binding is not None:
        clause.binding.type = (_in_common(clause, earlier, raised) if clause.type is None else ANY) if caught is None else caught
    other = None if caught is ERRONEOUS else earlier.covering(clause)
    if other is not None:
        c.report(
            "W0004", clause.type.span if clause.type is not None else clause.span,
            f"this clause can never match: `catch{f' {other.caught}' if other.caught else ''}` covers it",
            first=other.span, note="covered by this one", help="remove it, or move it before the other",
        )  # fmt: skip


def _in_common(clause: ast.CatchClause, earlier: Clauses, raised: list[Raise]) -> Type:
    """Return the type of all errors that reach a clause without type."""
    nothing = earlier.everything is not None or earlier.unknown is not None
    left = [] if nothing else [one.type for one in raised if not earlier.covers(one.type)]
    # Where all that arrives are errors or texts, `e.message` is there for each.
    texts = [one for one in left if is_text(one)]
    clause.lifts_text = bool(texts) and all(is_text(one) or is_error_value(one) for one in left)
    every = ERROR if clause.lifts_text else join_errors(left)
    return ANY if every == OPEN else every


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Throw: throw,
    ast.Propagate: propagate,
    ast.Try: try_,
}
