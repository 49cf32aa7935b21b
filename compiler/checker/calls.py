"""Calls: declared functions, function values, constructors, built-in functions (L-3.8.1, L-6.1).

Hands on RULES, the rules of `Call` and `Pipe`, to `program`, and to `methods` what both kinds of calls share: `formals_of`,
`give_arguments`, `check_mutation`, `tool_call` and `value_call`; to `expressions` what names of library functions mean that are
not called (`std_function`). `call` decides by what the callee is bound to and sets `node.target` to a record of `decisions`;
which method of a trait is meant is `trait_calls.py`. A new built-in function with a rule of its own is a row of SPECIAL; others
need only their row in `vm/builtins`. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a warning),
and not raised. ERRONEOUS is the type of what was reported, which suits every place. No code is made here: `codegen` reads the
targets.
"""

from __future__ import annotations

from ...vm.builtins import ASSOCIATED, FUNCTIONS, Row
from ...vm.builtins.modules import STD_PREFIX, STD_TYPES, std_row
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
from ..hints.names import everyday_name
from ..hints.types import absent_help, condition_help
from ..resolver.names import STORES
from ..source import Span
from ..symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    McpSymbol,
    StdFunctionSymbol,
    ToolSymbol,
    TraitItemSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    FLOAT,
    INT,
    MEASURED,
    MODEL_BUILDER,
    MODEL_REF,
    NEVER,
    RESPONSE,
    STRING,
    Function,
    Nominal,
    Type,
    error,
)
from .arguments import Matched, call_row, infer_all, kind_of, match_arguments, value_of_row
from .comparisons import compare_asserted
from .context_declarations import slot_in
from .functions import race
from .impls import require_visible_method
from .json_shapes import emit, parse_as_call
from .memory import memory_value
from .operators import require_mutable
from .prompts import check_prompt, warn_unfilled_places
from .relations import (
    ERRONEOUS,
    is_entry,
    is_text,
    root_of,
)
from .schema_calls import schema_argument
from .signatures import Bindings, Formal, signature_of
from .state import FREE, Checker, Expected, ExpressionRule
from .stores import store_help
from .tests import refuse_test
from .tools import private_tool_method
from .trait_calls import Chosen, named_method
from .types import Instance, written_arguments, written_type

# Functions of the library `std::` and the collections it holds (L-7.0, L-6.7).


def std_function(c: Checker, node: ast.PathExpr, symbol: StdFunctionSymbol) -> Type:
    """Return the type of a library function that is not called (L-3.8.3); ERRONEOUS after a report (E2010) for one that can only
    be called."""
    return value_of_row(c, node, row_of(symbol))


def row_of(symbol: StdFunctionSymbol) -> Row:
    """Return the row of the table of built-ins for a library function."""
    row = std_row(symbol.module, symbol.name)
    assert row is not None  # the resolver looked it up
    return row


def std_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, expected: Expected
) -> Type:
    """Check a call of a library function by its path or an imported name; return its type, ERRONEOUS where its arguments do not
    go to its parameters. Type arguments, which no other than `parse` takes, are reported (E2028), and the call is checked all the
    same."""
    row = row_of(symbol)
    if row.kind == "special":
        return parse_as_call(c, node, callee, symbol, row, expected)
    if callee.type_arguments is not None:
        # The call is checked all the same: one report for one mistake.
        c.report("E2028", callee.span, f"`{symbol.name}` takes no type arguments", help="drop the `<…>`")
    if row.special == "numeric":
        return _numeric(c, node, callee, symbol, row)
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return type_


def _numeric(c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row) -> Type:
    """Check a function of numbers: Int when all arguments are Int, else Float (L-7.7.1); with Any only the run knows."""
    signature = signature_of(row)
    types = [c.infer(argument.value) for argument in node.arguments]
    number = _common_number_type(types)
    # Parameters of type Float in the table stand for numbers of any kind.
    formals = [Formal(p.name, number if p.type == FLOAT else p.type, p.required) for p in signature.parameters]
    matched = match_arguments(c, symbol.name, formals, node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return number if signature.result == FLOAT else signature.result


def _common_number_type(types: list[Type]) -> Type:
    if all(type_ in (INT, NEVER) for type_ in types):
        return INT
    sound = all(type_ in (INT, FLOAT, ANY, NEVER) for type_ in types)
    return ANY if sound and ANY in types else FLOAT


def collection_arguments(c: Checker, callee: ast.PathExpr, name: str) -> Bindings | None:
    """Return T of `Set<T>::new()` as `{"T": type}`; None where nothing is written or the type takes none, an empty dict after a
    report (E2028). `name` is that of the callee, `Set::new`."""
    owner, _, member = name.partition("::")
    written = callee.type_arguments
    if written is None or not member or owner not in STD_TYPES["collections"]:
        return None
    if len(written) != 1:
        c.report(
            "E2028", callee.span, f"`{owner}` takes 1 type argument, {len(written)} given",
            help=f"write `{owner}<T>::new()`",
        )
        return {}
    return {"T": written_type(c, written[0])}


# The rule of calls.

CONSTRUCTORS = ("Some", "Ok", "Err")
LENGTHS = ("String", "Bytes", "Array", "Map", "Tuple", "Range", "Set", "Queue", "Stack")


def call(c: Checker, node: ast.Call, expected: Expected) -> Type:
    """Return the type of a call, ERRONEOUS after a report that leaves none, and set `node.target`, by what the callee is bound
    to. `expected` is what the place asks for."""
    if node.memory is not None:
        return memory_value(c, node.memory)
    callee = ast.ungrouped(node.callee)
    if isinstance(callee, ast.PathExpr):
        match callee.binding:
            # The methods of tools come first: their symbols are function symbols too, but the host runs them.
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
            # `F` alone is the type; only `F::new` and `F::V` can be called.
            case ErrorFamilySymbol() if len(callee.segments) > 1:
                return _error_call(c, node, callee.binding)
            case VariantSymbol():
                return variant_call(c, node, callee, callee.binding, expected)
    return value_call(c, node, node.callee, c.infer(node.callee), node.arguments)


def _trait_item_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, item: TraitItemSymbol, expected: Expected
) -> Type:
    """Check `X::m(x, …)`, `T::m(…)` or `T::X::m(…)` (L-3.10.3)."""
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
    # Before the argument is typed, since `m.key` as a place that is written is typed otherwise.
    if symbol.changes_self and node.arguments:
        c.note_written_place(node.arguments[0].value)
    matched = match_arguments(c, symbol.path, formals_of(symbol), node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals_of(symbol), matched, symbol, instance, expected, callee.span)
    node.target = _call_decision(matched, symbol, chosen.trait if chosen is not None else None)
    receiver = matched.values[0] if matched.values else None
    if symbol.changes_self and receiver is not None:
        check_mutation(c, node, receiver, symbol.name, callee.span)
    return instance.type(symbol.result)


def _tool_path_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, method: FunctionSymbol, tool: ToolSymbol | McpSymbol, expected: Expected
) -> Type:
    """Check `T::m(…)` of a tool; within the tool `Self::m(…)` is an ordinary call."""
    if callee.segments[0].text == "Self":
        return _function_call(c, node, callee, method, expected)
    # A node for the tool itself, since codegen evaluates the receiver of every tool call.
    receiver = ast.PathExpr(span=callee.span, segments=callee.segments[:-1])
    receiver.binding = tool
    c.infer(receiver)
    return tool_call(c, node, method, receiver, callee.segments[-1], expected)


def tool_call(
    c: Checker, node: ast.Call | ast.MethodCall, method: FunctionSymbol, receiver: ast.Expr, name: ast.Ident, expected: Expected
) -> Type:
    """Check a call of a tool's method, `T.m(…)` or `T::m(…)`, which the host runs on the tool's state (O-4.6); return its type,
    ERRONEOUS for a private method, and where the arguments do not go to its parameters."""
    assert isinstance(method.tool, (ToolSymbol, McpSymbol))
    # Only public methods have arguments for models; the others are private to the tool.
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
    """Type the arguments of a declared function and convert them to the parameters (E2009). Of a generic one, also find the type
    arguments (L-3.2.6) and add them to `instance`; those that cannot be found or do not meet their bounds are reported at `span`
    (E2029, E2026). `formals` are without the receiver of a method call."""
    if instance.names:
        instance.expect(symbol.result, expected)
        instance.arguments(formals, matched)
        # The help writes the arguments where they belong: `T<…>::f` or `f<…>`.
        of_type = isinstance(symbol.owner, ImplSymbol) and symbol.owner.type_parameters
        written = f"{symbol.path.replace('::', '<…>::')}" if of_type else f"{symbol.name}<…>"
        instance.require_all(span, f"write `{written}(…)`")
        instance.require_bounds(span)
        return
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))


def formals_of(symbol: FunctionSymbol) -> list[Formal]:
    """Return the parameters of a declared function, `self` included."""
    declared = symbol.declaration.parameters
    return [Formal(p.name.text, type_, p.default is None) for p, type_ in zip(declared, symbol.parameters, strict=True)]


def _call_decision(
    matched: Matched, symbol: FunctionSymbol, trait: Nominal | None
) -> FunctionCall | MethodTarget | TraitCall:
    """Return the decision for a call by a path: `T::m(x)` of a `mut self` method changes x, as `x.m()` does."""
    receiver = matched.values[0] if matched.values else None
    if trait is not None and receiver is not None:
        return TraitCall(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver, trait)
    if not symbol.changes_self or receiver is None:
        return FunctionCall(matched.values, matched.order, symbol)
    return MethodTarget(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver)


def check_mutation(
    c: Checker, node: ast.Call | ast.MethodCall, receiver: ast.Expr, method: str, place: Span
) -> None:
    """Check the receiver of a method that changes it (L-3.13.2): a mutable place, or W0006 for a temporary value. A change of a
    slot or of an entry of a hashmap is noted in `c.stored_changes`, which is looked through when all bodies are known."""
    root = root_of(receiver)
    stored = slot_in(receiver) is not None or is_entry(root)
    if stored:
        c.stored_changes.append((node, method, is_entry(root)))
    if stored or isinstance(root, ast.PathExpr):
        require_mutable(c, receiver, method)
    else:
        c.report(
            "W0006", place, f"`{method}` changes a temporary value that is lost", help="bind it with `let mut` first"
        )


def variant_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: VariantSymbol, expected: Expected
) -> Type:
    """Return the type of `E::V(a, b)`, which takes every part by position, and set `node.target`; ERRONEOUS after a report of
    what cannot be called or matched (E2016, E2007, E2006). Parts of wrong types are reported too (E2009)."""
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
    """Check a call of a function value of this type: it takes all arguments, by position (L-3.8.1). Return the type of the call,
    Any of Any, `never` of a callee that never comes to its end, ERRONEOUS after a report (E2016, E2006, E2007). Arguments of
    wrong types are reported too (E2009)."""
    type_ = c.narrowed(callee, type_)
    if type_ not in (ANY, NEVER) and not isinstance(type_, Function):
        infer_all(c, arguments)
        return report_not_callable(c, callee, type_)
    named = next((a.name for a in arguments if a.name is not None), None)
    if named is not None and type_ is not ERRONEOUS:
        infer_all(c, arguments)
        return c.report(
            "E2007", named.span, f"a function value takes no named argument `{named.text}`", help="give it by position"
        )
    if not isinstance(type_, Function):
        infer_all(c, arguments)
        node.target = ValueCall([a.value for a in arguments], list(range(len(arguments))), callee)
        return type_
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


def report_not_callable(c: Checker, callee: ast.Expr, type_: Type) -> Type:
    """Report a callee that is no function (E2016), with the method that a model is called by; return ERRONEOUS."""
    if type_ in (MODEL_REF, MODEL_BUILDER):
        help: str | None = f"write `{c.text(callee)[1:-1]}.execute(…)`"
    else:
        help = absent_help(type_)
    return c.report("E2016", callee.span, f"`{type_}` cannot be called", help=help)


# Built-in functions and constructors.


def _builtin_call(c: Checker, node: ast.Call, callee: ast.PathExpr, name: str, expected: Expected) -> Type:
    special = SPECIAL.get(name)
    if special is not None:
        return special(c, node, callee, expected)
    type_arguments = collection_arguments(c, callee, name)
    if callee.type_arguments is not None and type_arguments is None and name not in CONSTRUCTORS:
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
        return c.report("E2016", callee.span, f"`{name}` cannot be called", help=everyday_name(name))
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected, type_arguments)
    if matched is None:
        return ERRONEOUS
    if member:
        # What becomes a prompt is looked through for holes that may be empty (W0016).
        if owner in ("Prompt", "Message"):
            for text in matched.values:
                if text is not None:
                    check_prompt(c, text)
        node.target = RecordCall(matched.values, matched.order, owner, member)
    elif name in CONSTRUCTORS:
        node.target = ConstructorCall(matched.values, matched.order, name)
    else:
        node.target = BuiltinCall(matched.values, matched.order, "", name)
        warn_unfilled_places(c, name, node.arguments)
        if name in ("assert_eq", "assert_ne"):
            compare_asserted(c, name, matched.values[0], matched.values[1], node.span)
    return type_


def _plain_row(
    c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected, types: tuple[Type, ...] = ()
) -> Type:
    name = callee.segments[0].text
    known = {"T": types[0]} if types else None
    type_, matched = call_row(c, FUNCTIONS[name], None, node.arguments, callee.span, expected, known)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, "", name, type_arguments=types)
    return type_


def _len(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """Check `len(x)`; its row takes any value, only some kinds have a length (L-6.1.2). That of a store is the method of it."""
    result = _plain_row(c, node, callee, expected)
    if isinstance(node.target, BuiltinCall) and node.target.arguments[0] is not None:
        argument = node.target.arguments[0]
        kind = kind_of(argument.type)
        if kind in MEASURED:
            node.target = BuiltinCall(node.target.arguments, node.target.order, kind, "len")
        elif argument.type != ANY and argument.type != NEVER and kind not in LENGTHS:
            return c.report(
                "E2009", argument.span, f"`{argument.type}` has no length",
                help="strings, bytes, arrays, maps, tuples, ranges, collections and stores have one",
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
    """Check `parse_schema<T>(x)`, x a String or a Response (L-6.1.11)."""
    argument = schema_argument(c, callee.segments[0], callee.type_arguments)
    if argument is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    result = _plain_row(c, node, callee, FREE, (argument.type,))
    if not isinstance(node.target, BuiltinCall):
        return result
    # Codegen puts the schema into the image beside the call.
    node.target.schema, node.target.type_arguments, node.target.unwraps = argument.schema, (argument.asked,), argument.unwraps
    text = node.target.arguments[0]
    if text is not None and not (is_text(text.type) or text.type in (ANY, NEVER, RESPONSE)):
        return c.report(
            "E2009", text.span, f"expected `String` or `Response` for parameter `x`, found `{text.type}`",
            help="give the reply of a call, or its text",
        )
    return result


SPECIAL = {
    "len": _len,
    "assert": _assert,
    "emit": emit,
    "parse_schema": _parse_schema,
    "race": race,
}


# Error values.


def _error_call(c: Checker, node: ast.Call, symbol: ErrorFamilySymbol) -> Type:
    """Check `F::new(msg)` or `F::V(msg)` (L-3.11.13)."""
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
    """Return the type of `L |> f(a)`: that of the call which the parser made of it (L-2.3.1)."""
    if expected.used:
        return c.tail(node.applied, expected)
    return c.infer(node.applied, expected)


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.Call: call, ast.Pipe: pipe}
