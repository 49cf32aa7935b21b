"""Calls: declared functions, function values, constructors, built-in functions (L-3.8.1, L-6.1).

Must not know: methods (`methods`), what bodies do.
"""

from __future__ import annotations

from ...vm.builtins import ASSOCIATED, FUNCTIONS
from .. import ast
from ..decisions import (
    BuiltinCall,
    ConstructorCall,
    ErrorCall,
    FunctionCall,
    MethodTarget,
    RecordCall,
    ToolTarget,
    TraitCall,
    ValueCall,
    VariantCall,
)
from ..resolver.everyday import NAMES
from ..resolver.predeclared import STORES
from ..source import Span
from ..symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    McpSymbol,
    StdFunctionSymbol,
    StructSymbol,
    ToolSymbol,
    TraitItemSymbol,
    VariantSymbol,
)
from ..types import ANY, MODEL_BUILDER, MODEL_REF, NEVER, RESPONSE, STRING, Function, Nominal, Type, error
from .arguments import Matched, infer_all, match_arguments
from .builtins import call_row, kind_of
from .comparisons import lift_asserted
from .context import FREE, Checker, Expected, ExpressionRule
from .contexts import slot_in
from .emits import emit
from .generics import Instance, written_arguments
from .impls import require_visible_method
from .json_sizes import check_size
from .lookalikes import unfilled_places
from .memory import memory_value
from .mismatch import absent_help, condition_help
from .places import require_mutable, root_of
from .prompts import check_prompt
from .relations import ERRONEOUS, is_memory, is_text
from .schemas import instance_fault
from .signatures import Formal
from .standard import collection_arguments, std_call
from .stores import store_help
from .tasks import race
from .testing import refuse_test
from .tools import private_tool_method
from .trait_calls import Chosen, named_method
from .types import written_type

CONSTRUCTORS = ("Some", "Ok", "Err")
LENGTHS = ("String", "Bytes", "Array", "Map", "Tuple", "Range")


def call(c: Checker, node: ast.Call, expected: Expected) -> Type:
    if node.memory is not None:
        return memory_value(c, node.memory)
    callee = node.callee
    while isinstance(callee, ast.GroupExpr):
        callee = callee.inner
    if isinstance(callee, ast.PathExpr):
        match callee.binding:
            case FunctionSymbol(tool=(ToolSymbol() | McpSymbol()) as tool):
                return _tool_path_call(c, node, callee, callee.binding, tool, expected)
            case FunctionSymbol():
                return _function_call(c, node, callee, callee.binding, expected)
            case TraitItemSymbol():
                return _trait_item_call(c, node, callee, callee.binding, expected)
            case BuiltinSymbol():
                return _builtin_call(c, node, callee, callee.binding.name, expected)
            case StdFunctionSymbol():
                return std_call(c, node, callee, callee.binding, expected)
            case ErrorFamilySymbol() if len(callee.segments) > 1:
                return _error_call(c, node, callee.binding)
            case VariantSymbol():
                return variant_call(c, node, callee, callee.binding, expected)
    return value_call(c, node, node.callee, c.infer(node.callee), node.arguments)


def _trait_item_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, item: TraitItemSymbol, expected: Expected
) -> Type:
    """`X::m(x, …)`, `T::m(…)`, `T::X::m(…)` (L-3.10.3)."""
    chosen = named_method(c, item, callee.member or callee.segments[-1], node.arguments)
    if chosen is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    return _function_call(c, node, callee, chosen.symbol, expected, chosen)


def _function_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: FunctionSymbol, expected: Expected, chosen: Chosen | None = None
) -> Type:
    instance = Instance(c, symbol.path, symbol.all_type_parameters)
    if chosen is not None:
        instance.bindings.update(chosen.inside)
    written_arguments(c, callee, symbol, instance)
    require_visible_method(c, symbol, callee.member or callee.segments[-1])
    refuse_test(c, symbol, callee.span)
    if symbol.changes_self and node.arguments:
        c.written(node.arguments[0].value)
    matched = match_arguments(c, symbol.path, formals_of(symbol), node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals_of(symbol), matched, symbol, instance, expected, callee.span)
    node.target = _target(matched, symbol, chosen.trait if chosen is not None else None)
    receiver = matched.values[0] if matched.values else None
    if symbol.changes_self and receiver is not None:
        check_mutation(c, node, receiver, symbol.name, callee.span)
    return instance.type(symbol.result)


def _tool_path_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, method: FunctionSymbol, tool: ToolSymbol | McpSymbol, expected: Expected
) -> Type:
    """`T::m(…)`: within the tool `Self::m(…)` is an ordinary call."""
    if callee.segments[0].text == "Self":
        return _function_call(c, node, callee, method, expected)
    receiver = ast.PathExpr(span=callee.span, segments=callee.segments[:-1])
    receiver.binding = tool
    c.infer(receiver)
    return tool_call(c, node, method, receiver, callee.segments[-1], expected)


def tool_call(
    c: Checker, node: ast.Call | ast.MethodCall, method: FunctionSymbol, receiver: ast.Expr, name: ast.Ident, expected: Expected
) -> Type:
    """`T.m(…)` or `T::m(…)` (O-4.6)."""
    assert isinstance(method.tool, (ToolSymbol, McpSymbol))
    if method not in method.tool.arguments:
        infer_all(c, node.arguments)
        return private_tool_method(c, name, method)
    formals = formals_of(method)[1:] if method.takes_self else formals_of(method)
    matched = match_arguments(c, method.path, formals, node.arguments, name.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals, matched, method, Instance(c, method.path, []), expected, name.span)
    node.target = ToolTarget(matched.values, matched.order, method, receiver)
    return method.result


def give_arguments(
    c: Checker,
    formals: list[Formal],
    matched: Matched,
    symbol: FunctionSymbol,
    instance: Instance,
    expected: Expected,
    span: Span,
) -> None:
    """Types the arguments and converts them to the parameters; finds the type arguments (L-3.2.6)."""
    if instance.names:
        instance.expect(symbol.result, expected)
        instance.arguments(formals, matched)
        of_type = isinstance(symbol.owner, ImplSymbol) and symbol.owner.type_parameters
        written = f"{symbol.path.replace('::', '<…>::')}" if of_type else f"{symbol.name}<…>"
        instance.require_all(span, f"write `{written}(…)`")
        instance.require_bounds(span)
        return
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))


def formals_of(symbol: FunctionSymbol) -> list[Formal]:
    declared = symbol.declaration.parameters
    return [Formal(p.name.text, type_, p.default is None) for p, type_ in zip(declared, symbol.parameters, strict=True)]


def _target(
    matched: Matched, symbol: FunctionSymbol, trait: Nominal | None
) -> FunctionCall | MethodTarget | TraitCall:
    """`T::m(x)` of a `mut self` method changes x, as `x.m()` does."""
    receiver = matched.values[0] if matched.values else None
    if trait is not None and receiver is not None:
        return TraitCall(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver, trait)
    if not symbol.changes_self or receiver is None:
        return FunctionCall(matched.values, matched.order, symbol)
    return MethodTarget(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver)


def check_mutation(
    c: Checker, node: ast.Call | ast.MethodCall, receiver: ast.Expr, method: str, place: Span
) -> None:
    """The receiver of a method that changes it (L-3.13.2)."""
    in_slot = slot_in(receiver) is not None
    if in_slot:
        c.slot_changes.append((node, method))
    if in_slot or isinstance(root_of(receiver), ast.PathExpr):
        require_mutable(c, receiver, method)
    else:
        c.report(
            "W0006", place, f"`{method}` changes a temporary value that is lost", help="bind it with `let mut` first"
        )


def variant_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: VariantSymbol, expected: Expected
) -> Type:
    """`E::V(a, b)`: every part by position."""
    name = f"{symbol.enum.name}::{symbol.name}"
    if symbol.form != "tuple":
        infer_all(c, node.arguments)
        help = f"write `{name} {{ … }}`" if symbol.form == "struct" else f"write `{name}`"
        return c.report("E2016", callee.span, f"the variant `{name}` cannot be called", help=help)
    named = next((a.name for a in node.arguments if a.name is not None), None)
    if named is not None:
        infer_all(c, node.arguments)
        return c.report("E2007", named.span, f"`{name}` takes no named argument `{named.text}`", help="give it by position")
    formals = [Formal(part, type_, True) for part, type_, _, _ in symbol.fields]
    matched = match_arguments(c, name, formals, node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    node.target = VariantCall(matched.values, matched.order, symbol)
    instance = Instance(c, symbol.enum.name, symbol.enum.type_parameters)
    if instance.names or callee.type_arguments is not None:
        if callee.type_arguments is not None:
            instance.explicit(instance.names, [written_type(c, argument) for argument in callee.type_arguments], callee.span)
        instance.expect(symbol.enum.type, expected)
        instance.arguments(formals, matched)
        instance.require_bounds(callee.span)
        return instance.type(symbol.enum.type)
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"part {formal.name} of `{name}`"))
    return symbol.enum.type


def value_call(
    c: Checker, node: ast.Call | ast.MethodCall, callee: ast.Expr, type_: Type, arguments: list[ast.Argument]
) -> Type:
    """A call of a function value: all arguments, by position (L-3.8.1)."""
    if not isinstance(type_, Function):
        infer_all(c, arguments)
        if type_ != ANY:
            return NEVER if type_ == NEVER else not_callable(c, callee, type_)
        node.target = ValueCall([a.value for a in arguments], list(range(len(arguments))), callee)
        return type_
    named = next((a.name for a in arguments if a.name is not None), None)
    if named is not None:
        infer_all(c, arguments)
        return c.report(
            "E2007", named.span, f"a function value takes no named argument `{named.text}`", help="give it by position"
        )
    if len(arguments) != len(type_.parameters):
        infer_all(c, arguments)
        wanted = len(type_.parameters)
        plural = "" if wanted == 1 else "s"
        return c.report(
            "E2006", callee.span, f"`{type_}` takes {wanted} argument{plural}, {len(arguments)} given",
            help=f"it takes `({', '.join(map(str, type_.parameters))})`",
        )
    for number, (argument, parameter) in enumerate(zip(arguments, type_.parameters, strict=True), 1):
        c.value(argument.value, Expected(parameter, "E2009", f"argument {number}"))
    node.target = ValueCall([a.value for a in arguments], list(range(len(arguments))), callee)
    return type_.result


def not_callable(c: Checker, callee: ast.Expr, type_: Type) -> Type:
    """E2016; a model is asked by a method, a value with methods may have meant one."""
    if type_ in (MODEL_REF, MODEL_BUILDER):
        help: str | None = f"write `{c.text(callee)[1:-1]}.execute(…)`"
    else:
        help = absent_help(type_)
    return c.report("E2016", callee.span, f"`{type_}` cannot be called", help=help)


# ---------------------------------------------------------------- built-in functions and constructors


def _builtin_call(c: Checker, node: ast.Call, callee: ast.PathExpr, name: str, expected: Expected) -> Type:
    special = SPECIAL.get(name)
    if special is not None:
        return special(c, node, callee, expected)
    given = collection_arguments(c, callee, name)
    if callee.type_arguments is not None and given is None and name not in CONSTRUCTORS:
        c.report("E2028", callee.span, f"`{name}` takes no type arguments", help="drop the `<…>`")
    if name in ("Memory", "MemoryRef"):
        infer_all(c, node.arguments)
        message = "a memory begins with `Memory::new(…)`"
        return c.report("E4501", node.span, message, help="write `Memory::new()` or `Memory::new(20)`")
    if name.startswith("Memory"):
        infer_all(c, node.arguments)
        return c.report(
            "E4501", node.span, "a derived view is made by its declaration only",
            help="memory tail: Memory = Memory::of(log).window(4);",
        )
    owner, _, member = name.partition("::")
    if owner in STORES and member:
        infer_all(c, node.arguments)
        return c.report("E4004", node.span, f"`{name}` stands in a declaration only", help=store_help(owner))
    row = ASSOCIATED.get((owner, member)) if member else FUNCTIONS.get(name)
    if row is None or name == "None":
        infer_all(c, node.arguments)
        return c.report("E2016", callee.span, f"`{name}` cannot be called", help=NAMES.get(name))
    found, matched = call_row(c, row, None, node.arguments, callee.span, expected, given)
    if matched is None:
        return ERRONEOUS
    if member:
        if owner in ("Prompt", "Message"):
            for text in matched.values:
                if text is not None:
                    check_prompt(c, text)
        node.target = RecordCall(matched.values, matched.order, owner, member)
    elif name in CONSTRUCTORS:
        node.target = ConstructorCall(matched.values, matched.order, name)
    else:
        node.target = BuiltinCall(matched.values, matched.order, "", name)
        unfilled_places(c, name, node.arguments)
        if name in ("assert_eq", "assert_ne"):
            lift_asserted(c, name, matched.values[0], matched.values[1], node.span)
    return found


def _plain_row(
    c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected, types: tuple[Type, ...] = ()
) -> Type:
    name = callee.segments[0].text
    given = {"T": types[0]} if types else None
    found, matched = call_row(c, FUNCTIONS[name], None, node.arguments, callee.span, expected, given)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, "", name, type_arguments=types)
    return found


def _len(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """`len(x)` of what has a length (L-6.1.2)."""
    result = _plain_row(c, node, callee, expected)
    if isinstance(node.target, BuiltinCall) and node.target.arguments[0] is not None:
        argument = node.target.arguments[0]
        if argument.type != ANY and argument.type != NEVER and kind_of(argument.type) not in LENGTHS:
            asked = f"write `{c.text(argument)[1:-1]}.len()`" if is_memory(argument.type) else None
            return c.report(
                "E2009", argument.span, f"`{argument.type}` has no length",
                help=asked or "strings, arrays, maps, tuples and ranges have one",
            )
    return result


def _assert(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    result = _plain_row(c, node, callee, expected)
    if isinstance(node.target, BuiltinCall) and node.target.arguments[0] is not None:
        condition = node.target.arguments[0]
        if condition.type not in (ANY, NEVER) and str(condition.type) != "Bool":
            return c.report(
                "E2009", condition.span, f"expected `Bool` for parameter `c`, found `{condition.type}`",
                help=condition_help(condition.type),
            )
    return result


def _parse_schema(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """`parse_schema<T>(x)`, x a String or a Response (L-6.1.11)."""
    found = schema_argument(c, callee.segments[0], callee.type_arguments)
    if found is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    schema, type_ = found
    result = _plain_row(c, node, callee, FREE, (type_,))
    if not isinstance(node.target, BuiltinCall):
        return result
    node.target.schema = schema
    text = node.target.arguments[0]
    if text is not None and not (is_text(text.type) or text.type in (ANY, NEVER, RESPONSE)):
        return c.report(
            "E2009", text.span, f"expected `String` or `Response` for parameter `x`, found `{text.type}`",
            help="give the reply of a call, or its text",
        )
    return result


def schema_argument(
    c: Checker, name: ast.Ident, written: list[ast.TypeExpr] | None
) -> tuple[StructSymbol, Nominal] | None:
    """The schema T denotes in `name<T>(…)`, and T (E2029, E2028, E4022)."""
    if written is None:
        message = f"`{name.text}` needs a type argument: the schema of the answer"
        c.report("E2029", name.span, message, help=f"write `{name.text}<T>(…)` with its name for T")
        return None
    if len(written) != 1:
        c.report(
            "E2028", name.span, f"`{name.text}` takes 1 type argument, {len(written)} given",
            help=f"write `{name.text}<T>(…)`",
        )
        return None
    type_ = written_type(c, written[0])
    symbol = c.declared(type_)
    if isinstance(symbol, StructSymbol) and isinstance(type_, Nominal) and type_.kind == "schema":
        fault = instance_fault(c, type_) if type_.arguments else None
        if fault is None:
            if type_.arguments:
                check_size(c, type_, written[0].span)
            return symbol, type_
        c.report("E4022", written[0].span, fault, help="give it schemas, structs, enums or types that JSON has")
        return None
    if type_ is not ERRONEOUS:
        c.report("E4022", written[0].span, f"`{type_}` is not a schema", help=_schema_help(type_))
    return None


def _schema_help(type_: Type) -> str:
    if isinstance(type_, Nominal):
        return "declare it with `schema`"
    return f"wrap it in a schema with a field: `schema Answer {{ value: {type_} }}`"


SPECIAL = {
    "len": _len,
    "assert": _assert,
    "emit": emit,
    "parse_schema": _parse_schema,
    "race": race,
}


# ---------------------------------------------------------------- error values


def _error_call(c: Checker, node: ast.Call, symbol: ErrorFamilySymbol) -> Type:
    """`F::new(msg)`, `F::V(msg)` (L-3.11.13)."""
    name = f"{symbol.name}::{symbol.variant or 'new'}"
    matched = match_arguments(c, name, [Formal("message", STRING, True)], node.arguments, node.callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    for value in matched.values:
        if value is not None:
            c.value(value, Expected(STRING, "E2009", "parameter `message`"))
    node.target = ErrorCall(matched.values, matched.order, symbol.name, symbol.variant)
    return error(symbol.name)


def pipe(c: Checker, node: ast.Pipe, expected: Expected) -> Type:
    """`L |> f(a)` is the call it was rewritten to (L-2.3.1)."""
    if expected.used:
        return c.tail(node.applied, expected)
    return c.infer(node.applied, expected)


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.Call: call, ast.Pipe: pipe}

