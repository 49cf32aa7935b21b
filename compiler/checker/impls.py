"""Impls: their targets, and the methods each type has (L-3.10).

Hands on `declare_impls`, `find_method`, `head_of`, `in_impl`. Must not know: calls, bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import ast
from ..symbols import FunctionSymbol, ImplSymbol, ModelSymbol, Symbol, ToolSymbol, TraitSymbol
from ..types import Generic, Nominal, Simple, Type
from .context import Checker
from .relations import ERRONEOUS
from .traits import declare_trait_impl
from .types import written_type

TARGETS = ("struct", "schema", "enum")


def declare_impls(c: Checker, impls: list[ImplSymbol]) -> None:
    """Targets and members, before signatures."""
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
            _add(c, c.methods.setdefault(head or "", {}), method, impl)
    changing = {name for known in c.methods.values() for name, method in known.items() if method.changes_self}
    c.mutating |= changing


RESERVED = (
    "execute", "execute_with_schema", "chat", "stream", "spawn", "shutdown", "with_memory", "with_tools", "without_tools",
    "with_context", "view",
)  # fmt: skip
# Names and types of their parameters, and their results.
HOOKS = {
    "on_tool_call": [("call", "ToolCall"), ("", "ToolCallAction")],
    "on_tool_error": [("tool_name", "String"), ("error", "ToolError"), ("", "ToolErrorAction")],
}


def _handle_type(c: Checker, impl: ImplSymbol) -> Type | None:
    """A model with methods of its own has a type of its own, which is a ModelRef (O-1.69); so has a tool that implements a trait
    (O-4.5). None for every other target."""
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
    """The runtime calls it, so it has the form the runtime calls (O-4.30, O-4.31)."""
    node = method.declaration
    wanted = HOOKS[method.name]
    types = [p.type for p in node.parameters if not p.is_self]
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


def _add(c: Checker, known: dict[str, FunctionSymbol], method: FunctionSymbol, impl: ImplSymbol) -> None:
    node: ast.Function = method.declaration
    first = known.setdefault(method.name, method)
    if first is not method:
        c.report(
            "E2030", node.name.span, f"`{impl.target}` has two methods `{method.name}`", help="rename one of them",
            first=first.declaration.name.span,
        )  # fmt: skip


def head_of(type_: Type) -> str | None:
    """The name under which the methods of a type are found; type arguments do not count (L-3.1.22)."""
    match type_:
        case Nominal():
            return type_.unique_name
        case Generic() | Simple():
            return type_.name
    return None


def find_method(c: Checker, type_: Type, name: str) -> FunctionSymbol | None:
    return c.methods.get(head_of(type_) or "", {}).get(name)


def methods_of(c: Checker, type_: Type) -> list[str]:
    """Names of the methods that take `self`, for suggestions."""
    return [name for name, method in c.methods.get(head_of(type_) or "", {}).items() if method.takes_self]


def require_visible_method(c: Checker, symbol: FunctionSymbol, name: ast.Ident) -> None:
    """E1006 for a method that is private where it is named (L-8.4.1)."""
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
    """What `Self` denotes while a signature or body of an impl is checked."""
    outer, c.self_type = c.self_type, None if symbol.owner is None else symbol.owner.target
    try:
        yield
    finally:
        c.self_type = outer
