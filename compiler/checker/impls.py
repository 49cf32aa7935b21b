"""Traits and impls: which types implement what, the methods of each type, and methods against their trait (L-3.9.3, L-3.10).

Hands on to `program` the passes `declare_traits`, `declare_impls` and `check_trait_impls`; to the rules of calls, operators and
names, and the language server, `find_method`, `methods_of` and `require_visible_method`; to `functions` `in_impl`, which says
what `Self` is. Which impl suits a type is asked of `relations`. Which types may have an impl of their own is said by TARGETS,
which may be errors by ERROR_TARGETS, and which may implement a trait by `relations.kind_head`; models have impls too. `c` is the
state of the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what
was reported, which suits every place. Bodies of methods are checked by `functions`, calls of them by `calls` and `methods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...vm.builtins import METHODS
from ..symbols import (
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    ModelSymbol,
    Symbol,
    ToolSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..syntax import ast
from ..types import (
    ERROR,
    NIL,
    Generic,
    Implementation,
    Nominal,
    Simple,
    Type,
)
from .relations import ERRONEOUS, Matching, kind_head, matched, replaced
from .state import Checker
from .types import nominal_of, written_type

# Traits and their impls as declarations: bounds, which types implement what, methods against their trait (L-3.10, L-3.9.3).

ERROR_TARGETS = ("struct", "schema", "enum")


def declare_traits(c: Checker, symbols: Iterable[Symbol], traits: Sequence[TraitSymbol], impls: Sequence[ImplSymbol]) -> None:
    """Set the types of traits and the bounds of all type parameters, before impls and signatures; report a bound that is no trait
    (E1002). Fill `c.traits` and `c.trait_symbols`, and add the names of methods that change their receiver to `c.mutating`."""
    changing: set[str] = set()
    for trait in traits:
        assert isinstance(trait.type, Nominal)
        trait.type = trait.type.of(tuple(parameter.type for parameter in trait.type_parameters))
        # Inside the trait, `Self` is any type that implements it.
        nominal_of(trait.self_parameter).facts.bounds = (trait.type,)
        for name in trait.methods:
            c.traits.setdefault(name, []).append(trait)
        changing.update([name for name, method in trait.methods.items() if method.changes_self])
        c.trait_symbols[trait.type.unique_name] = trait
    c.mutating |= changing
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
    """Make an impl of a trait, whose target is typed, known to its trait. E1002 for what is no trait, E2031 for a target that can
    have none, E2030 for one that another impl has too, as far as the run can tell; E2025 for a method in an impl of Error."""
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
    # Only impls that may suit the same values are compared: a trait may have thousands.
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
    says (E2025, L-3.10.2), and none twice (E2030)."""
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
    """Set the targets of impls and the methods of each type, before signatures; impls of traits are left to `declare_trait_impl`.
    E2031 for a target that can have no impl, E2030 for two methods of one name, E4008 for a method of a model that is reserved or
    a hook of another form. Add the names of methods that change their receiver to `c.mutating`."""
    for impl in impls:
        is_model = isinstance(impl.head, ModelSymbol)
        # The name of a model or tool is no type expression: its type is made here.
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


# Methods that every model has: an impl may not declare them, but for `with`, where the program's own comes first (O-3.30).
RESERVED = frozenset([name for receiver, name in METHODS if receiver == "ModelRef"]) - {"with"}
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
    """Return the method, or function without `self`, that an impl of the type itself declares, not one of a trait; None without
    one."""
    return c.methods.get(head_of(type_) or "", {}).get(name)


def methods_of(c: Checker, type_: Type) -> list[str]:
    """Return the names of the methods of a type that take `self`, not those of traits, for suggestions."""
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
    """Let `Self` (`c.self_type`) be the target of the method's impl, None for a function without owner, until the `with` ends."""
    outer, c.self_type = c.self_type, None if symbol.owner is None else symbol.owner.target
    try:
        yield
    finally:
        c.self_type = outer
