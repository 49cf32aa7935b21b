"""Function bodies, closures, return (L-3.8, L-3.2.5).

Hands on `declare_signature`, `check_function`, `check_body` and the rules of closures and `return`. Must not know: what calls do.
"""

from __future__ import annotations

from .. import ast
from ..symbols import FunctionSymbol
from ..types import ANY, NEVER, NIL, OPEN, Function, Open, Type, result
from .context import DISCARD, FREE, Checker, Expected, ExpressionRule, Target
from .contexts import check_clauses
from .control import settle_lets
from .impls import in_impl
from .patterns import bind_irrefutable
from .propagation import cannot_leave, check_conversion
from .relations import ERRONEOUS, close, generic, is_complete, join_errors
from .types import written_type


def declare_signature(c: Checker, symbol: FunctionSymbol) -> None:
    """Types of parameters and result, before any body is checked."""
    node = symbol.declaration
    with in_impl(c, symbol):
        symbol.parameters = [
            symbol.owner.target if p.is_self and symbol.owner is not None else parameter_type(c, p) for p in node.parameters
        ]
        symbol.result = NIL if node.result is None else written_type(c, node.result)
    optional: ast.Parameter | None = None
    for parameter in node.parameters:
        if parameter.default is None and optional is not None:
            message = f"`{parameter.name.text}` has no default but follows `{optional.name.text}`, which has one"
            c.report("E2008", parameter.name.span, message, help="put required parameters first")
        optional = parameter if parameter.default is not None else optional
    if symbol.name == "main" and symbol.owner is None and node.scope is not None:
        _check_main(c, symbol)


def parameter_type(c: Checker, parameter: ast.Parameter) -> Type:
    if parameter.type is not None:
        return written_type(c, parameter.type)
    name = parameter.name.text
    return c.report("E2005", parameter.name.span, f"parameter `{name}` has no type", help=f"write `{name}: T`")


def _check_main(c: Checker, symbol: FunctionSymbol) -> None:
    sides = generic(symbol.result, "Result")
    if symbol.parameters or not (symbol.result == NIL or (sides and sides[0] in (NIL, ANY))):
        written = str(Function(tuple(symbol.parameters), symbol.result))
        c.report(
            "E1013", symbol.declaration.name.span, f"`main` has the signature `{written}`",
            help="write `fn main() { }` or `fn main() -> Result<Nil, Error> { }`"
            + ("; the arguments are `std::env::args()`" if symbol.parameters else ""),
        )  # fmt: skip


def check_function(c: Checker, symbol: FunctionSymbol) -> None:
    node = symbol.declaration
    scope = node.scope
    if scope is None or node.body is None:
        return
    accepts_all = symbol.result == NIL and (symbol is c.main or symbol.is_test)  # L-3.12.5
    asynchronous = node.is_async or symbol.tool is not None or symbol is c.main or symbol.is_test
    target = Target("function", scope, f"`{symbol.path}`", symbol.result, accepts_all, asynchronous, symbol.is_test)
    with in_impl(c, symbol):
        try:
            check_body(c, symbol, target)
        except RecursionError:  # of a walk over a type; trees are walked by levels
            c.too_large(node.name.span)


def check_body(c: Checker, symbol: FunctionSymbol, target: Target) -> None:
    """The body of a function that `return` and errors leave as `target` says."""
    node = symbol.declaration
    assert node.body is not None
    outer, c.targets, c.loops = (c.targets, c.loops), [target], []
    for parameter, type_ in zip(node.parameters, symbol.parameters, strict=True):
        if parameter.default is not None:
            c.value(parameter.default, Expected(type_, place=f"parameter `{parameter.name.text}`"))
        if parameter.binding is not None:
            parameter.binding.type = type_
    check_clauses(c, symbol)
    body(c, node.body, symbol.result, node.name)
    settle_lets(c)
    record(target)
    c.targets, c.loops = outer


def body(c: Checker, node: ast.Expr, wanted: Type, place: ast.Node) -> Type:
    """A body with a known result: its tail is the result, or is discarded where the result is Nil (L-3.8.4)."""
    if wanted == NIL:
        c.infer(node, DISCARD)
        return NIL
    if not isinstance(node, ast.Block):
        return c.value(node, Expected(wanted, "E2023"))
    found = c.infer(node, Expected(wanted, "E2023"))
    if node.result is None and found == NIL:
        return c.missing_value(place, wanted, node) if wanted is not ERRONEOUS else wanted
    return c.coerce(node, found, Expected(wanted, "E2023"))


def record(target: Target) -> None:
    """What codegen asks of a finished function."""
    scope = target.scope
    if scope is None:
        return
    scope.result = target.result
    scope.returns_option = target.fails_with is None and generic(target.result, "Option") is not None
    fallible = target.accepts_all or target.fails_with is not None or generic(target.result, "Result") is not None
    scope.propagates = fallible or scope.returns_option


def return_(c: Checker, node: ast.Return, expected: Expected) -> Type:
    target = c.function_target
    if target.kind == "none":
        c.report("E3012", node.span, "`return` stands outside a function", help="move it into a function")
    elif target.kind == "task":
        c.report("E4050", node.span, f"`return` cannot leave {target.name}", help="its value is its last expression")
    wanted = target.result
    if wanted is None:
        found = NIL if node.value is None else c.infer(node.value)
        target.returns.append((node.value or node, found))
    elif node.value is not None:
        _return_value(c, node.value, wanted)
    elif wanted not in (NIL, ANY):
        c.missing_value(node, wanted)
    return NEVER


def _return_value(c: Checker, value: ast.Expr, wanted: Type) -> None:
    found = c.value(value, Expected(wanted, "E2023"))
    if wanted == ANY and found is ERRONEOUS:
        return


# ---------------------------------------------------------------- closures


def closure(c: Checker, node: ast.Closure, expected: Expected) -> Type:
    wanted = expected.type if isinstance(expected.type, Function) else None
    if wanted is not None and len(wanted.parameters) != len(node.parameters):
        count = len(node.parameters)
        c.report(
            expected.code if expected.code == "E4024" else "E2006", node.span,
            f"expected a function of {len(wanted.parameters)} parameter(s), the closure has {count}"
        , help=f"write `|{', '.join('abcdefgh'[:len(wanted.parameters)])}| …`; `_` stands for those not needed")
        wanted = None
        mismatched = True
    else:
        mismatched = False
    parameters = _closure_parameters(c, node, wanted)
    declared = _closure_result(c, node, wanted)
    target = Target("closure", node.scope, "the closure", declared)
    loops, c.loops = c.loops, []
    c.targets.append(target)
    made = body(c, node.body, declared, node) if declared is not None else c.infer(node.body, _hint(wanted))
    c.targets.pop()
    c.loops = loops
    if declared is None:
        target.result = _inferred_result(c, node, target, made)
    record(target)
    _mark_option(target)
    return ERRONEOUS if mismatched else Function(parameters, target.result or ANY)


def _closure_parameters(c: Checker, node: ast.Closure, wanted: Function | None) -> tuple[Type, ...]:
    types: list[Type] = []
    for position, parameter in enumerate(node.parameters):
        if parameter.type is not None:
            type_ = written_type(c, parameter.type)
        elif node.function_form:
            type_ = parameter_type(c, parameter)
        else:
            given = wanted.parameters[position] if wanted is not None else ANY
            type_ = ANY if isinstance(given, Open) else close(given)
        if parameter.binding is not None:
            parameter.binding.type = type_
        if parameter.pattern is not None:
            bind_irrefutable(c, parameter.pattern, type_)
        types.append(type_)
    return tuple(types)


def _closure_result(c: Checker, node: ast.Closure, wanted: Function | None) -> Type | None:
    """The declared result, else a complete expected one, else None: to be inferred."""
    if node.result is not None:
        return written_type(c, node.result)
    if node.function_form:
        return NIL
    if wanted is not None and is_complete(wanted.result):
        return wanted.result
    return None


def _hint(wanted: Function | None) -> Expected:
    return FREE if wanted is None or isinstance(wanted.result, Open) else Expected(wanted.result, "E2023")


def _inferred_result(c: Checker, node: ast.Closure, target: Target, made: Type) -> Type:
    """The join of tail and returns (L-3.2.5); with `?` inside it must be a Result or an Option (L-3.12.8)."""
    ends = [(node.body, made), *target.returns]
    joined = c.join_branches([(end, type_) for end, type_ in ends if isinstance(end, ast.Expr)])
    if not target.raised or joined is ERRONEOUS:
        return joined
    sides = generic(joined, "Result")
    target.result = joined
    if generic(joined, "Option") and all(raised.type == NIL for raised in target.raised):
        return joined
    if not sides:
        for raised in target.raised:
            cannot_leave(c, raised, target)
        return joined
    return errors_convert(c, target, joined)


def errors_convert(c: Checker, target: Target, joined: Type) -> Type:
    """The type of a body that gives a Result: the errors that leave it suit the error side."""
    sides = generic(joined, "Result")
    assert sides
    target.result = joined
    missing_as_error = [r.type if r.type != NIL else ANY for r in target.raised]
    if sides[1] == OPEN:
        return result(sides[0], join_errors(missing_as_error))
    for raised in target.raised:
        if raised.type != NIL:
            coercion = check_conversion(c, raised, sides[1])
            _convert_at(raised.node, coercion)
    return joined


def _convert_at(node: ast.Node, coercion: object) -> None:
    if isinstance(node, ast.Propagate):
        node.failure = coercion
    elif isinstance(node, ast.Throw) and coercion is not None:
        node.value.coercion = coercion


def _mark_option(target: Target) -> None:
    if target.scope is not None and target.raised:
        target.scope.propagates = True


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Closure: closure,
    ast.Return: return_,
}

