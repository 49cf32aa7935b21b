"""Declarations before any body: structs, enums, constants and aliases (L-3.9, L-3.13.5), traits, impls and their methods
(L-3.10), and the fields of built-in records (L-6.9).

Hands on to `program` the passes that it runs in this order: `declare_types`, `declare_traits`, `declare_impls`, `check_cycles`,
`check_trait_impls`, `check_constants`, `check_defaults`; to the rules of calls `find_method` and `require_visible_method`; to
everything that has constants in its declaration `at_module_level` and `folded`; and RECORD_FIELDS, where a new built-in record
gets its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from ..source import Span
from ..symbols import (
    AliasSymbol,
    ConstSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    ModelSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
    TraitSymbol,
    TypeParameterSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    BOOL,
    ERROR,
    FLOAT,
    INT,
    MESSAGE,
    NIL,
    PROVENANCE,
    STRING,
    TOOL_CALL,
    Generic,
    Implementation,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
    array,
    map_,
    option,
)
from .constants import Fault, NotConstant, fold, size_of
from .prompts import warn_quoted_type
from .relations import ERRONEOUS, Matching, kind_head, matched, replaced
from .state import Checker, Expected, Target
from .types import alias_type, nominal_of, written_type

# Declarations that are made of others.

T = TypeVar("T")


def topological_order(declarations: Iterable[T], made_of: Callable[[T], list[T]]) -> Iterator[T]:
    """Yield all of them once, each after those it is made of; those in a circle, and those that lead into one, last, in their own
    order.

    A topological sort by a depth-first walk with a stack of its own: a chain of declarations may be longer than Python's stack.
    """
    order: list[T] = []
    circular: set[T] = set()
    done: set[T] = set()
    path: dict[T, list[T]] = {}  # those on the way, with the ones they are made of that are still to be visited
    declarations = list(declarations)
    for start in declarations:
        if start in done:
            continue
        path[start] = made_of(start)
        while path:
            declaration, left = next(reversed(path.items()))
            below = left.pop(0) if left else None
            if below is None:
                path.popitem()
                done.add(declaration)
                if declaration not in circular:
                    order.append(declaration)
                # Whatever leads into a circle cannot be ordered either.
                elif path:
                    circular.add(next(reversed(path)))
            elif below in path or below in circular:
                circular.add(declaration)
            elif below not in done:
                path[below] = made_of(below)
    yield from order
    yield from (declaration for declaration in declarations if declaration in circular)


def declare_types(c: Checker, symbols: list[Symbol]) -> None:
    """Set the types of aliases, the fields of structs and enums, and the types of constants, in this order: fields may name
    any alias."""
    for symbol in symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and symbol.type_parameters and isinstance(symbol.type, Nominal):
            # Inside its declaration a generic type has its own parameters as arguments.
            symbol.type = symbol.type.of(tuple(parameter.type for parameter in symbol.type_parameters))
    for alias in topological_order([symbol for symbol in symbols if isinstance(symbol, AliasSymbol)], _aliases_in):
        alias_type(c, alias)
    for symbol in symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Struct):
            symbol.fields = _fields(c, symbol.name, symbol.declaration.fields)
        elif isinstance(symbol, EnumSymbol):
            _declare_payloads(c, symbol)
        elif isinstance(symbol, ConstSymbol):
            symbol.type = written_type(c, symbol.declaration.type)


def _aliases_in(symbol: AliasSymbol) -> list[AliasSymbol]:
    """Return the aliases that an alias is made of."""
    aliases: list[AliasSymbol] = []
    waiting: list[ast.Node] = [symbol.declaration.target]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedType) and isinstance(node.binding, AliasSymbol):
            aliases.append(node.binding)
        waiting.extend(node.children())
    return aliases


def _declare_payloads(c: Checker, symbol: EnumSymbol) -> None:
    declared: dict[str, ast.Variant] = {}
    for node in symbol.declaration.variants:
        declared.setdefault(node.name.text, node)
    for member in symbol.members:
        node = declared[member.name]
        items = enumerate(node.items or ())
        member.fields = [(str(position), written_type(c, type_), None, False) for position, type_ in items]
        member.fields += _fields(c, f"{symbol.name}::{member.name}", node.fields or [])


Fields = list[tuple[str, Type, ast.Expr | None, bool]]


def _fields(c: Checker, owner: str, fields: list[ast.Field]) -> Fields:
    """Return of each field name, type, default and whether it may be left out without one; E2014 for a name that stands twice."""
    seen: dict[str, Span] = {}
    parts: Fields = []
    for field in fields:
        name = field.name.text
        if name in seen:
            c.report(
                "E2014", field.name.span, f"field `{name}` of `{owner}` is declared twice", first=seen[name],
                help=f"remove {c.text(field)}, or rename it",
            )
            continue
        seen[name] = field.name.span
        parts.append((name, written_type(c, field.type), field.default, False))
        warn_quoted_type(c, field)
    return parts


def check_cycles(c: Checker, symbols: list[Symbol]) -> None:
    """Report structs whose values would have to hold themselves: E2040, of a schema E4020 (L-3.1.15, O-2.11)."""
    structs = [symbol for symbol in symbols if isinstance(symbol, StructSymbol)]
    done: set[StructSymbol] = set()
    for symbol in structs:
        for circle in _circles(c, symbol, done):
            # A circle is told from the struct that stands first in the source, however the walk met it.
            first = min(circle, key=lambda s: s.declaration.span.start)
            at = circle.index(first)
            members = [s.name for s in [*circle[at:], *circle[:at], first]]
            if len(members) > CIRCLE_SHOWN:
                members[CIRCLE_SHOWN // 2 : -CIRCLE_SHOWN // 2] = ["…"]
            names = " -> ".join(members)
            code = "E4020" if isinstance(first.declaration, ast.Schema) else "E2040"
            help = "hold it in an Option or an Array"
            c.report(code, first.declaration.name.span, f"circular type `{names}`", help=help)


CIRCLE_SHOWN = 20  # structs of a circle that a message names


def _circles(c: Checker, start: StructSymbol, done: set[StructSymbol]) -> list[list[StructSymbol]]:
    """Return the circles that a depth-first walk from `start` meets, over structs that are not yet done."""
    circles: list[list[StructSymbol]] = []
    if start in done:
        return circles
    path = {start: _structs_held(c, start)}  # in the order of the walk
    while path:
        at, left = next(reversed(path.items()))
        below = left.pop() if left else None
        if below is None:
            path.popitem()
            done.add(at)
        elif below in path:
            members = list(path)
            circles.append(members[members.index(below) :])
        elif below not in done:
            path[below] = _structs_held(c, below)
    return circles


def _structs_held(c: Checker, symbol: StructSymbol) -> list[StructSymbol]:
    """Return the structs that a value of this one always holds, last field first; one in an Option or an Array need not be
    there."""
    types = [inner for _, type_, _, _ in reversed(symbol.fields) for inner in _types_held(type_)]
    return [struct for struct in map(c.declared, types) if isinstance(struct, StructSymbol)]


def _types_held(type_: Type) -> list[Type]:
    """Return the declared types of which a value of this type always holds one."""
    if isinstance(type_, Tuple):
        return [inner for item in type_.items for inner in _types_held(item)]
    return [type_] if isinstance(type_, Nominal) and not isinstance(type_, Nilable) else []


# Values in declarations.


def check_defaults(c: Checker, symbol: StructSymbol | VariantSymbol) -> None:
    """Check the defaults of the fields of a struct or variant."""
    for name, type_, default, _ in symbol.fields:
        if default is not None:
            at_module_level(c, default, Expected(type_, place=f"field `{name}`"))


def at_module_level(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Type and convert an expression outside every function, where nothing can be thrown or returned; return its type."""
    # A target of its own kind: `?`, `throw` and `return` are reported there (E3012).
    c.targets.append(Target("none", result=ERRONEOUS))
    type_ = c.value(node, expected)
    c.targets.pop()
    return type_


def check_constants(c: Checker, symbols: list[Symbol]) -> None:
    """Check all constants and fold their values, each after those it is made of (E2032, E2033)."""
    constants = [symbol for symbol in symbols if isinstance(symbol, ConstSymbol)]
    for symbol in constants:
        at_module_level(c, symbol.declaration.value, Expected(symbol.type, place=f"`{symbol.name}`"))
    values = _Values(c)
    for symbol in topological_order(constants, _constants_in):
        with suppress(NotConstant):
            values.value(symbol, symbol.declaration.name)


def _constants_in(symbol: ConstSymbol) -> list[ConstSymbol]:
    """Return the constants that a constant is made of, also through the defaults of structs in it."""
    constants: list[ConstSymbol] = []
    waiting: list[ast.Node] = [symbol.declaration.value]
    known: set[ast.Node] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.PathExpr) and isinstance(node.binding, ConstSymbol):
            constants.append(node.binding)
        elif isinstance(node, ast.StructExpr) and isinstance(node.binding, (StructSymbol, VariantSymbol)):
            defaults = [default for _, _, default, _ in node.binding.fields if default is not None and default not in known]
            known.update(defaults)
            waiting.extend(defaults)
        waiting.extend(node.children())
    return constants


class _Values:
    """The values of constants, each folded at its first use; what `constants.fold` needs to know of the program."""

    def __init__(self, c: Checker) -> None:
        self.checker = c

    def value(self, symbol: ConstSymbol, place: ast.Node) -> object:
        """Return the value of a constant, folded once. Raise NotConstant for one that has none; one that needs itself is
        reported (E2032)."""
        c = self.checker
        state = c.constants.get(symbol)
        # `topological_order` puts circles last, so that only real circles come here.
        if state == "busy":
            c.report("E2032", place.span, f"the constant `{symbol.name}` depends on itself", help="give one of them a literal")
            raise NotConstant(place)
        if state is None:
            c.constants[symbol] = "busy"
            value = folded(c, symbol.declaration.value, "E2032")
            c.constants[symbol] = "failed" if value is FAILED else "done"
            symbol.value = None if value is FAILED else value
        if c.constants[symbol] == "failed":
            raise NotConstant(place)
        return symbol.value

    def charge(self, node: ast.Node, value: object) -> None:
        """Count a value as part of all constants of the program; raise Fault where those are too large together (G-5.10)."""
        self.spend(node, size_of(value, max(0, self.checker.constant_room)))

    def spend(self, node: ast.Node, values: int) -> None:
        """Count work that costs as much as so many values; raise Fault as `charge` does."""
        self.checker.constant_room -= values
        if self.checker.constant_room < 0:
            raise Fault(node, "P103", "the constants of the program are too large together, or one is too deep")


FAILED = object()  # in place of the value of a constant that was reported


def constant_value(c: Checker, node: ast.Expr) -> object:
    """Return the value of a constant expression; raise NotConstant, without a report, for one that is none; FAILED as `folded`
    does."""
    try:
        c.nesting.call(fold, node, _Values(c))
    except NotConstant:
        raise
    except (Fault, AttributeError, TypeError, ValueError):
        pass  # `folded` reports it
    return folded(c, node, "E4004")


def folded(c: Checker, node: ast.Expr, code: str) -> object:
    """Return the value of a constant expression; FAILED after a report with `code`, or E2033 for one that would panic."""
    # If folding has reported something itself, `code` would repeat it.
    before = len(c.diagnostics.found)
    values = _Values(c)
    try:
        value = c.nesting.call(fold, node, values)
        if type(value) not in (int, float, bool):
            values.charge(node, value)
        return value
    except NotConstant as part:
        if len(c.diagnostics.found) == before and not _reported(c, part.node):
            c.report(
                code, part.node.span, "this part is not constant",
                help="constants are made of literals, other constants and operators; compute the rest in a function",
            )
    except Fault as fault:
        if not _reported(c, fault.node):
            c.report("E2033", fault.node.span, f"the constant cannot be evaluated: {fault.text}", help="change the operands")
    except (AttributeError, TypeError, ValueError):
        pass  # operands of wrong types, reported when they were typed
    return FAILED


def _reported(c: Checker, node: ast.Node) -> bool:
    """Return whether something inside this part was reported already."""
    return c.diagnostics.has_errors_in(node.span)


# Traits and their impls as declarations: bounds, which types implement what, methods against their trait (L-3.10, L-3.9.3).

ERROR_TARGETS = ("struct", "schema", "enum")


def declare_traits(c: Checker, symbols: Iterable[Symbol], traits: Sequence[TraitSymbol], impls: Sequence[ImplSymbol]) -> None:
    """Set the types of traits and the bounds of all type parameters, before impls and signatures."""
    for trait in traits:
        assert isinstance(trait.type, Nominal)
        trait.type = trait.type.of(tuple(parameter.type for parameter in trait.type_parameters))
        # Inside the trait, `Self` is any type that implements it.
        nominal_of(trait.self_parameter).facts.bounds = (trait.type,)
        for name, method in trait.methods.items():
            c.traits.setdefault(name, []).append(trait)
            c.mutating |= {name} if method.changes_self else set()
        c.trait_symbols[trait.type.unique_name] = trait
    for holder in (*symbols, *traits, *impls):
        for parameter in getattr(holder, "type_parameters", ()):
            nominal_of(parameter).facts.bounds = tuple(_bounds(c, parameter))


def _bounds(c: Checker, parameter: TypeParameterSymbol) -> Iterable[Nominal]:
    for node in parameter.declaration.bounds:
        bound = _trait_type(c, node)
        if bound is not None:
            yield bound


def _trait_type(c: Checker, node: ast.TypeExpr) -> Nominal | None:
    """Return the trait that a type expression names, or `Error`; None after a report (E1002)."""
    type_ = written_type(c, node)
    if isinstance(type_, Nominal) and (type_.kind == "trait" or type_ == ERROR):
        return type_
    if type_ is not ERRONEOUS:
        c.report("E1002", node.span, f"`{type_}` is not a trait", help="name a trait of the program, or `Error`")
    return None


# Impls of traits.


def declare_trait_impl(c: Checker, impl: ImplSymbol) -> None:
    """Make an impl, whose target is typed, known to its trait. E2031 for a target that can have none, E2030 for one that
    another impl has too, as far as the run can tell."""
    node = impl.declaration
    assert node.trait is not None
    trait = _trait_type(c, node.trait)
    if trait is None or impl.target is ERRONEOUS:
        return
    if isinstance(impl.trait, ErrorFamilySymbol):
        _declare_error(c, impl)
        return
    head = kind_head(impl.target)
    if head is None:
        help = _target_help(impl.target, trait)
        c.report("E2031", node.target.span, f"`{impl.target}` cannot have an `impl` of a trait", help=help)
        return
    implementation = Implementation(tuple(nominal_of(p) for p in impl.type_parameters), trait.arguments, impl.target)
    alike = trait.facts.implementations.offered(head, implementation.arguments, implementation.parameters)
    first = next((other for other in alike if _may_overlap(implementation, other)), None)
    if first is not None:
        what = f"`{trait}` has an `impl` for `{impl.target}` already"
        if first.target != implementation.target:
            what += ": at run time it is not told apart from `" + str(first.target) + "`"
        span = c.implementations[first].declaration.span
        c.report("E2030", node.target.span, what, help="remove one of them", first=span)
        return
    # From here on `relations.implements` finds it.
    trait.facts.implementations.add(implementation, head)
    c.implementations[implementation] = impl
    c.implementation_of[impl] = implementation


def _target_help(target: Type, trait: Nominal) -> str:
    if isinstance(target, Nominal) and target.kind == "trait":
        return f"implement `{trait.name}` for the types that implement `{target.name}`"
    return "implement it for structs, enums, schemas and built-in value types"


def _may_overlap(a: Implementation, b: Implementation) -> bool:
    """Return whether two impls of one head could be meant for one value: the machine sees types without type arguments
    (L-3.1.22)."""
    parameters = (*a.parameters, *b.parameters)
    pairs = list(zip(a.arguments, b.arguments, strict=False))
    return all(matched(x, y, {}, parameters) or matched(y, x, {}, parameters) for x, y in pairs)


def _declare_error(c: Checker, impl: ImplSymbol) -> None:
    """Declare `impl Error for T {}`, which has no methods (L-3.11.14)."""
    node, target = impl.declaration, impl.target
    if not isinstance(target, Nominal) or target.kind not in ERROR_TARGETS:
        c.report("E2031", node.target.span, f"`{target}` cannot be an error", help="wrap it in a struct")
    elif target.facts.is_error:
        first = next(other for other in c.error_impls if kind_head(other.target) == kind_head(target))
        message = f"`Error` has an `impl` for `{target}` already"
        c.report("E2030", node.target.span, message, help="remove one of them", first=first.declaration.span)
    else:
        target.facts.is_error = True
        c.error_impls.append(impl)
    for method in impl.methods:
        message = f"`Error` has no method `{method.name}`"
        c.report("E2025", method.declaration.name.span, message, help=f"move it to `impl {impl.name} {{ … }}`")


# Methods against their trait.


def check_trait_impls(c: Checker) -> None:
    """Check impls against their traits, after signatures: every method without default is there, no other, each as the trait
    says (E2025, L-3.10.2)."""
    for implementation, impl in c.implementations.items():
        trait = impl.trait
        if isinstance(trait, TraitSymbol):
            bindings = bindings_of(trait, implementation)
            _check_missing(c, impl, trait, bindings)
            for method in impl.methods:
                _check_method(c, impl, trait, method, bindings)


def bindings_of(trait: TraitSymbol, implementation: Implementation) -> Matching:
    """Return what the type parameters of a trait, `Self` included, are in one impl."""
    bindings: Matching = {nominal_of(trait.self_parameter).unique_name: implementation.target}
    for parameter, argument in zip(trait.type_parameters, implementation.arguments, strict=False):
        bindings[nominal_of(parameter).unique_name] = argument
    return bindings


def _check_missing(c: Checker, impl: ImplSymbol, trait: TraitSymbol, bindings: Matching) -> None:
    present = {method.name for method in impl.methods}
    missing = [m for m in trait.methods.values() if m.declaration.body is None and m.name not in present]
    if missing:
        listed = ", ".join(f"`{method.name}`" for method in missing)
        help = f"add `{signature_text(missing[0], bindings)} {{ … }}`"
        node = impl.declaration
        span = node.trait.span if node.trait is not None else node.span
        message = f"`impl {trait.name} for {impl.target}` lacks {listed}"
        first = missing[0].declaration.name.span if trait.home is not None else None
        c.report("E2025", span, message, help=help, first=first, note="declared here")


def _check_method(c: Checker, impl: ImplSymbol, trait: TraitSymbol, method: FunctionSymbol, bindings: Matching) -> None:
    name = method.declaration.name
    other = impl.method(method.name)
    if other is not None and other is not method:
        message = f"`impl {trait.name} for {impl.target}` has two methods `{method.name}`"
        c.report("E2030", name.span, message, help="rename one of them", first=other.declaration.name.span)
        return
    wanted = trait.methods.get(method.name)
    if wanted is None:
        help = f"move it to `impl {impl.name} {{ … }}`"
        c.report("E2025", name.span, f"trait `{trait.name}` has no method `{method.name}`", help=help)
        return
    # Type parameters of the two methods correspond by position, whatever they are called.
    pairs = zip(wanted.type_parameters, method.type_parameters, strict=False)
    renamed = {nominal_of(of_trait).unique_name: of_impl.type for of_trait, of_impl in pairs}
    if not _same_signature(wanted, method, {**bindings, **renamed}):
        theirs, ours = signature_text(wanted, bindings), signature_text(method, {})
        message = f"`{method.name}` of `{trait.name}` is `{theirs}`, here it is `{ours}`"
        first = wanted.declaration.name.span if trait.home is not None else None
        c.report("E2025", name.span, message, help=f"write `{theirs}`", first=first, note="declared here")


def _same_signature(wanted: FunctionSymbol, actual: FunctionSymbol, bindings: Matching) -> bool:
    if wanted.takes_self != actual.takes_self or wanted.changes_self != actual.changes_self:
        return False
    if len(wanted.parameters) != len(actual.parameters) or len(wanted.type_parameters) != len(actual.type_parameters):
        return False
    start = 1 if wanted.takes_self else 0
    pairs = [*zip(wanted.parameters[start:], actual.parameters[start:], strict=True), (wanted.result, actual.result)]
    return all(ERRONEOUS in (a, b) and (a is ERRONEOUS or b is ERRONEOUS) or replaced(a, bindings) == b for a, b in pairs)


def signature_text(method: FunctionSymbol, bindings: Matching) -> str:
    """Return a signature as source writes it, `fn m(self, k: Int) -> Bool`, with `bindings` put in."""
    parts = []
    for parameter, type_ in zip(method.declaration.parameters, method.parameters, strict=True):
        written = f"{parameter.name.text}: {replaced(type_, bindings)}"
        parts.append(written if not parameter.is_self else "mut self" if parameter.mutable else "self")
    generic = f"<{', '.join(p.name for p in method.type_parameters)}>" if method.type_parameters else ""
    result = replaced(method.result, bindings)
    return f"fn {method.name}{generic}({', '.join(parts)})" + ("" if result == NIL else f" -> {result}")


# Impls: their targets, and the methods each type has (L-3.10).

TARGETS = ("struct", "schema", "enum")


def declare_impls(c: Checker, impls: list[ImplSymbol]) -> None:
    """Set the targets of impls and the methods of each type, before signatures; E2031 for a target that can have no impl,
    E2030 for two methods of one name."""
    for impl in impls:
        is_model = isinstance(impl.head, ModelSymbol)
        impl.target = _handle_type(c, impl) or written_type(c, impl.declaration.target)
        if impl.declaration.trait is not None:
            declare_trait_impl(c, impl)
            continue
        if not is_model and impl.target is not ERRONEOUS and not _may_have_impl(impl.target):
            node = impl.declaration.target
            help = "wrap it in a struct, or declare a trait for it"
            c.report("E2031", node.span, f"`{impl.target}` cannot have an `impl` of its own", help=help)
            impl.target = ERRONEOUS
        head = head_of(impl.target)
        for method in impl.methods if head is not None and impl.target is not ERRONEOUS else ():
            if is_model:
                _check_model_method(c, method)
            _add_method(c, c.methods.setdefault(head or "", {}), method, impl)
    changing = {name for known in c.methods.values() for name, method in known.items() if method.changes_self}
    # The checker has to know before any body which names of methods may write their receiver.
    c.mutating |= changing


# Methods that every model has: an impl may not declare them.
RESERVED = (
    "execute", "execute_with_schema", "chat", "stream", "spawn", "shutdown", "with_memory", "with_tools", "without_tools",
    "with_context", "view",
)  # fmt: skip
# Hooks of models, which the runtime calls: names and types of their parameters, then their results under "".
HOOKS = {
    "on_tool_call": [("call", "ToolCall"), ("", "ToolCallAction")],
    "on_tool_error": [("tool_name", "String"), ("error", "ToolError"), ("", "ToolErrorAction")],
}


def _handle_type(c: Checker, impl: ImplSymbol) -> Type | None:
    """Return the type of a model with methods of its own, which is also a ModelRef (O-1.69), or of a tool that implements a
    trait (O-4.5); None for every other target."""
    head = impl.head
    path = () if head is None or head.home is None else head.home.path
    if isinstance(head, ModelSymbol):
        return c.models.setdefault(head, Nominal("model", head.name, key="::".join((*path, head.name)) + "."))
    if isinstance(head, ToolSymbol):
        return c.tools.setdefault(head, Nominal("tool", head.name, key="::".join((*path, head.name)) + "@"))
    return None


def _check_model_method(c: Checker, method: FunctionSymbol) -> None:
    span = method.declaration.name.span
    if method.name in RESERVED:
        message = f"`{method.name}` is a method of every model"
        c.report("E4008", span, message, help="choose another name")
    elif method.name in HOOKS:
        _check_hook(c, method)


def _check_hook(c: Checker, method: FunctionSymbol) -> None:
    """Report a hook of another form than the runtime calls (E4008, O-4.30, O-4.31)."""
    node = method.declaration
    wanted = HOOKS[method.name]
    types = [p.type for p in node.parameters if not p.is_self]
    # Compared by name, before types are known: impls are declared before signatures.
    written = [_plain_name(t) for t in [*types, node.result]]
    if written != [name for _, name in wanted] or not method.takes_self or method.changes_self or node.type_parameters:
        *parameters, (_, result) = wanted
        form = ", ".join(["self", *(f"{name}: {type_}" for name, type_ in parameters)])
        help = f"write `fn {method.name}({form}) -> {result}`"
        c.report("E4008", node.name.span, f"`{method.name}` is a hook of every model, with other parameters", help=help)


def _plain_name(node: ast.TypeExpr | None) -> str:
    return node.path[-1].text if isinstance(node, ast.NamedType) and not node.arguments else ""


def _may_have_impl(type_: Type) -> bool:
    return isinstance(type_, Nominal) and type_.kind in TARGETS


def _add_method(c: Checker, known: dict[str, FunctionSymbol], method: FunctionSymbol, impl: ImplSymbol) -> None:
    node: ast.Function = method.declaration
    first = known.setdefault(method.name, method)
    if first is not method:
        c.report(
            "E2030", node.name.span, f"`{impl.target}` has two methods `{method.name}`", help="rename one of them",
            first=first.declaration.name.span,
        )  # fmt: skip


def head_of(type_: Type) -> str | None:
    """Return the name under which the methods of a type are found; type arguments do not count (L-3.1.22). None if it can have
    none."""
    match type_:
        case Nominal():
            return type_.unique_name
        case Generic() | Simple():
            return type_.name
    return None


def find_method(c: Checker, type_: Type, name: str) -> FunctionSymbol | None:
    """Return the method that an impl of the type itself declares, not one of a trait."""
    return c.methods.get(head_of(type_) or "", {}).get(name)


def methods_of(c: Checker, type_: Type) -> list[str]:
    """Return the names of the methods of a type that take `self`, for suggestions."""
    return [name for name, method in c.methods.get(head_of(type_) or "", {}).items() if method.takes_self]


def require_visible_method(c: Checker, symbol: FunctionSymbol, name: ast.Ident) -> None:
    """Report a method that is private where it is named (E1006, L-8.4.1)."""
    owner: Symbol | None = symbol.owner
    home, public = symbol.home, symbol.declaration.public
    if isinstance(owner, ImplSymbol) and owner.trait is not None:
        owner = owner.trait  # trait methods are as visible as their trait (L-3.10.4)
    if isinstance(owner, TraitSymbol):
        home, public = owner.home, owner.declaration.public
    if owner is None or public or home is None:
        return
    if not c.modules.at(name.span).is_inside(home):
        c.report(
            "E1006", name.span, f"method `{symbol.path}` is private in module `{home}`",
            help="declare it `pub`, or offer a function there",
        )  # fmt: skip


@contextmanager
def in_impl(c: Checker, symbol: FunctionSymbol) -> Iterator[None]:
    """Let `Self` be the target of the method's impl while its signature or body is checked."""
    outer, c.self_type = c.self_type, None if symbol.owner is None else symbol.owner.target
    try:
        yield
    finally:
        c.self_type = outer


# Types of the fields of built-in records, and those a literal may make (L-6.9, O-1.106 to O-1.115, O-1.221). The order of the
# fields is the machine's; a test compares the names.

RECORD_FIELDS: dict[str, dict[str, Type]] = {
    "Response": {
        "text": STRING, "tokens_in": INT, "tokens_out": INT, "model": STRING, "provider": STRING, "latency_ms": INT,
        "finish": STRING, "cost": Nilable(FLOAT), "attempts": INT, "cached": BOOL, "data": map_(STRING, ANY),
        "tokens_cached": INT, "tokens_cache_write": INT, "tokens_reasoning": INT,
    },
    "Message": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING),
    },
    "Prompt": {
        "text": STRING, "model": Nilable(STRING), "temperature": Nilable(FLOAT), "max_tokens": Nilable(INT),
    },
    "Chunk": {"text": STRING},
    "ToolCall": {"id": STRING, "name": STRING, "arguments": map_(STRING, ANY)},
    "LedgerEntry": {"identifier": STRING, "keys": array(STRING), "value": STRING},
    "Entry": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING), "seq": INT,
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "origin": STRING, "pinned": BOOL, "tokens": INT, "at": INT,
    },
    "Turn": {
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "at": INT, "tokens_in": INT, "tokens_out": INT,
        "meta": map_(STRING, ANY), "messages": array(MESSAGE),
    },
    "Fact": {
        "id": INT, "name": STRING, "content": ANY, "source": STRING, "relevance": FLOAT, "recency": FLOAT, "confidence": FLOAT,
        "score": FLOAT, "created_at": INT, "last_accessed": INT, "archived": BOOL, "trust": STRING, "provenance": PROVENANCE,
    },
    "Provenance": {
        "origin": STRING, "by": Nilable(STRING), "run": Nilable(STRING), "rule": Nilable(STRING), "seqs": array(INT),
    },
    "Learned": {"content": ANY, "confidence": FLOAT, "about": array(STRING)},
    "Dominant": {"value": ANY, "frequency": FLOAT},
    "Observed": {"key": STRING, "count": INT, "items": array(map_(STRING, ANY))},
    "Emit": {"channel": STRING, "payload": ANY},
    "ModelUsage": {
        **dict.fromkeys(
            (
                "attempts", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_write", "tokens_reasoning",
                "tokens_estimated",
            ),
            INT,
        ),  # fmt: skip
        "cost": FLOAT, "unpriced": INT,
    },
    "BudgetLeft": {
        "tokens": Nilable(INT), "cost": Nilable(FLOAT), "model_calls": Nilable(INT), "steps": Nilable(INT),
        "seconds": Nilable(FLOAT),
    },
    "HttpResponse": {"status": INT, "body": STRING, "headers": map_(STRING, STRING)},
    "Url": {
        "scheme": STRING, "user": Nilable(STRING), "host": STRING, "port": Nilable(INT), "path": STRING,
        "query": Nilable(STRING), "fragment": Nilable(STRING),
    },
    "DateTime": {
        "year": INT, "month": INT, "day": INT, "hour": INT, "minute": INT, "second": INT, "millisecond": INT,
        "offset_minutes": INT, "zone": STRING,
    },
    "RegexMatch": {"text": STRING, "start": INT, "end": INT, "groups": array(option(STRING))},
}  # fmt: skip

# Records that a literal may make; the others are made by the runtime only.
WRITTEN = ("Message", "Prompt", "ToolCall", "Learned")
# Defaults of fields of literals beside those of their types.
_DEFAULTS: dict[tuple[str, str], float] = {("Learned", "confidence"): 1.0}
_EMPTY = (("Message", "tool_calls"), ("Learned", "about"))


def may_be_left_out(record: str, field: str) -> bool:
    """Return whether a field of a literal has a default: nil, no elements, or a constant."""
    nilable = isinstance(RECORD_FIELDS[record][field], Nilable)
    return nilable or (record, field) in _EMPTY or (record, field) in _DEFAULTS


def default_of(record: str, field: str) -> float | list[object] | None:
    """Return the default of a field that may be left out."""
    if (record, field) in _EMPTY:
        return []
    return _DEFAULTS.get((record, field))
