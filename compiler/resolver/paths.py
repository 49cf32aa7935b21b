"""Names and paths in expressions, types and literals (L-8.3).

Sets `binding` of PathExpr, NamedType and StructExpr. Must not know: types of expressions.
"""

from __future__ import annotations

from ...vm.values.errors import FAMILIES
from ..hints import names
from ..hints.names import did_you_mean, family_help, listed
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    ImplSymbol,
    Local,
    StructSymbol,
    Symbol,
    TraitItemSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..syntax import ast
from .names import LIBRARY_TYPES, TYPES, associated, find, find_item, members_through_traits, trait_item, walk
from .state import ErroneousSymbol, Handler, Resolver


def path_expr(r: Resolver, node: ast.PathExpr) -> None:
    for argument in node.type_arguments or ():
        r.visit(argument)
    segments = [*node.segments, node.member] if node.member is not None else node.segments
    node.binding = _name(r, segments[0]) if len(segments) == 1 else resolve_path(r, segments)
    if isinstance(node.binding, Local):
        use_local(r, node.binding)
        node.binding.read = True


def use_local(r: Resolver, local: Local) -> None:
    if local.scope is not r.function:
        local.captured = True


def _name(r: Resolver, name: ast.Ident) -> Symbol | None:
    if name.text == "_":
        r.report("E1001", name.span, "`_` discards its value and cannot be read", help="give the variable a name")
        return None
    symbol = find(r, name)
    if symbol is not None:
        return symbol
    if name.text in ("self", "Self"):
        r.report("E1009", name.span, f"`{name.text}` stands outside a method", help="add a `self` parameter")
    else:
        r.unknown_name(name, offered=lambda found: not is_type(found))
    return None


def resolve_path(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """`head::rest` (L-8.3): what the last segment names."""
    owner, rest, _ = walk(r, path)
    for name in rest:
        if owner is None or isinstance(owner, ErroneousSymbol):
            break
        owner = associated_item(r, owner, name)
    return owner


def associated_item(r: Resolver, owner: Symbol, name: ast.Ident) -> Symbol | None:
    """A variant, an error variant or an associated function (L-8.3.2)."""
    members = r.module.members_of(owner)
    if isinstance(owner, (TraitSymbol, TraitItemSymbol)):
        return trait_item(r, owner, name)
    if name.text in members and not (isinstance(owner, EnumSymbol) and name.text in owner.variants):
        return members[name.text][0]
    match owner:
        case EnumSymbol():
            return variant_of(r, owner, name)
        case ErrorFamilySymbol():
            return _error_member(r, owner, name)
        case BuiltinSymbol():
            return _associated(r, owner, name)
    found = trait_item(r, owner, name)
    if found is None:
        names = [*members, *members_through_traits(r, owner)]
        help = did_you_mean(name.text, names) or listed("functions", names, like=name.text) or "declare it in an `impl`"
        r.report("E1010", name.span, f"`{owner.name}` has no associated item `{name.text}`", help=help)
    return found


def variant_of(r: Resolver, owner: EnumSymbol, name: ast.Ident) -> Symbol | None:
    if name.text in owner.variants:
        return owner.members[owner.variants.index(name.text)]
    found = trait_item(r, owner, name)
    if found is None:
        known = [*owner.variants, *r.module.members_of(owner), *members_through_traits(r, owner)]
        help = did_you_mean(name.text, known) or listed("variants", known, like=name.text)
        r.report("E1010", name.span, f"enum `{owner.name}` has no variant `{name.text}`", help=help)
    return found


def _error_member(r: Resolver, owner: ErrorFamilySymbol, name: ast.Ident) -> Symbol | None:
    if name.text == "new":
        return owner
    variants = FAMILIES[owner.name].variants
    if name.text in variants:
        return ErrorFamilySymbol(owner.name, name.text)
    found = trait_item(r, owner, name)
    if found is None:
        known = (*variants, "new", *members_through_traits(r, owner))
        help = did_you_mean(name.text, known) or family_help(owner.name, name.text) or listed("variants", known, like=name.text)
        r.report("E1010", name.span, f"error family `{owner.name}` has no variant `{name.text}`", help=help)
    return found


def _associated(r: Resolver, owner: BuiltinSymbol, name: ast.Ident) -> Symbol | None:
    known = associated(owner.name)
    if name.text in known:
        return BuiltinSymbol(f"{owner.name}::{name.text}")
    found = trait_item(r, owner, name)
    if found is not None:
        return found
    help = names.ASSOCIATED.get((owner.name, name.text)) or did_you_mean(name.text, known)
    help = help or listed("functions", known, like=name.text) or f"methods stand behind a value: `x.{name.text}(…)`"
    r.report("E1010", name.span, f"`{owner.name}` has no associated item `{name.text}`", help=help)
    return None


def named_type(r: Resolver, node: ast.NamedType) -> None:
    for argument in node.arguments or ():
        r.visit(argument)
    if len(node.path) > 1:
        node.binding = _type_path(r, node.path)
        return
    name = node.path[0]
    symbol = find_item(r, name)
    if symbol is None and name.text == "Self":
        r.report("E1009", name.span, "`Self` stands outside an `impl` or `trait`", help="write the name of the type")
        return
    if symbol is None or not is_type(symbol):
        candidates = (text for text, found in r.scope.visible(r.function) if is_type(found))
        help = r.elsewhere(name.text) or _everyday_type(r, node) or did_you_mean(name.text, candidates)
        help = help or "declare it with `struct`, `enum`, `schema` or `type`"
        r.report("E1002", name.span, f"undefined type `{name.text}`", help=help)
        return
    node.binding = symbol


def _everyday_type(r: Resolver, node: ast.NamedType) -> str | None:
    return names.everyday_type(node.path[0].text, [r.text(argument) for argument in node.arguments or ()])


def _type_path(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """A type of another module, or `F::V` of an error family in a catch clause."""
    symbol = resolve_path(r, path)
    if symbol is None or is_type(symbol):
        return symbol
    r.report(
        "E1002", path[-1].span, f"`{'::'.join(segment.text for segment in path)}` is not a type",
        help="name a struct, enum, schema, trait or type alias",
    )
    return None


TYPE_SYMBOLS = (
    ErrorFamilySymbol, ErroneousSymbol, StructSymbol, EnumSymbol, AliasSymbol, TypeParameterSymbol, TraitSymbol, ImplSymbol,
    ContextSymbol,
)  # fmt: skip


def is_type(symbol: Symbol) -> bool:
    if isinstance(symbol, BuiltinSymbol):
        return symbol.name in TYPES or symbol.name in LIBRARY_TYPES
    return isinstance(symbol, TYPE_SYMBOLS)


def struct_expr(r: Resolver, node: ast.StructExpr) -> None:
    for argument in node.type_arguments or ():
        r.visit(argument)
    node.binding = literal_head(r, node.path)
    for entry in node.fields:
        r.visit(entry.value)
    r.visit(node.base)


def literal_head(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """What the path before `{ … }` or `( … )` of a literal or pattern names."""
    if len(path) > 1:
        return resolve_path(r, path)
    symbol = find_item(r, path[0])
    if symbol is None or isinstance(symbol, ConstSymbol):
        r.unknown_name(path[0], "E1002", "type")
        return None
    return symbol


HANDLERS: dict[type[ast.Node], Handler] = {
    ast.PathExpr: path_expr,
    ast.NamedType: named_type,
    ast.StructExpr: struct_expr,
}
