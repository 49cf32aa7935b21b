"""Names and paths in expressions, types, literals and the fields of declarations (L-8.3).

Sets `binding` of PathExpr, NamedType and StructExpr. Hands on `resolve_path` to `patterns` and `items`, `literal_head` to
`patterns`, `use_local` to `expressions`, `visit_field` to `items`, `visit_step` to that and to `memories`, and to `program` its
HANDLERS and `associated_item`, which the resolver needs for imports. `r` is the state of the resolution, to which what is wrong
is reported. A field that names declarations is a row of LISTS_OF_NAMES. What a single name or a module means is asked of
`names`; what a method call on a value means only the checker knows.
"""

from __future__ import annotations

from collections.abc import Collection

from ...vm.values.errors import FAMILIES
from ..fields import FIELD_WORDS
from ..hints import names
from ..hints.names import did_you_mean, family_help, listed
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    ImplSymbol,
    Local,
    ModelSymbol,
    StructSymbol,
    Symbol,
    TraitItemSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..syntax import ast
from .names import LIBRARY_TYPES, TYPES, associated_functions, find, find_item, members_through_traits, trait_item, walk
from .state import ErroneousSymbol, Handler, Resolver


def path_expr(r: Resolver, node: ast.PathExpr) -> None:
    """Bind a name or path that stands as a value; a local counts as read (W0001). The binding is None after a report, or an
    ErroneousSymbol where what the name stands for was reported: E1001 for an unknown name and for `_`, E1009 for `self` or `Self`
    outside of a method; of a path as `resolve_path`."""
    for argument in node.type_arguments or ():
        r.visit(argument)
    segments = [*node.segments, node.member] if node.member is not None else node.segments
    node.binding = _single_name(r, segments[0]) if len(segments) == 1 else resolve_path(r, segments)
    if isinstance(node.binding, Local):
        use_local(r, node.binding)
        node.binding.read = True


def use_local(r: Resolver, local: Local) -> None:
    """Mark a local as captured if the function being resolved is not its own: it then lives in a cell."""
    if local.scope is not r.function:
        local.captured = True


def _single_name(r: Resolver, name: ast.Ident) -> Symbol | None:
    if name.text == "_":
        r.report("E1001", name.span, "`_` discards its value and cannot be read", help="give the variable a name")
        return None
    symbol = find(r, name)
    if symbol is not None:
        return symbol
    if name.text in ("self", "Self"):
        r.report("E1009", name.span, f"`{name.text}` stands outside a method", help="add a `self` parameter")
    else:
        r.unknown_name(name, suits=lambda symbol: not is_type(symbol))
    return None


def resolve_path(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """Return what the last segment of `head::rest` names; None or an ErroneousSymbol after a report (L-8.3; of `names.walk`, or
    E1010)."""
    owner, rest, _ = walk(r, path)
    for name in rest:
        if owner is None or isinstance(owner, ErroneousSymbol):
            break
        owner = associated_item(r, owner, name)
    return owner


def associated_item(r: Resolver, owner: Symbol, name: ast.Ident) -> Symbol | None:
    """Return the variant, error variant, method or associated function `owner::name`, of an error family its own symbol for
    `new`, or what traits offer (`names.trait_item`); None or an ErroneousSymbol after a report, E1010 (L-8.3.2). A variant of an
    enum wins over an associated function of its name. An alias stands for the type behind it (L-3.1.15), but in imports, which
    are resolved before aliases are."""
    if isinstance(owner, AliasSymbol):
        owner = _behind(owner)
        if isinstance(owner, ErroneousSymbol):
            return owner
    members = r.module.members_of(owner)
    # A trait has no members of its own: its methods are found by `trait_item`.
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
    item = trait_item(r, owner, name)
    if item is None:
        names = [*members, *members_through_traits(r, owner)]
        help = did_you_mean(name.text, names) or listed("functions", names, like=name.text) or "declare it in an `impl`"
        r.report("E1010", name.span, f"`{owner.name}` has no associated item `{name.text}`", help=help)
    return item


def _behind(alias: AliasSymbol) -> Symbol:
    """Return the declaration that an alias stands for, through other aliases; the alias itself where it stands for a form of
    types, such as a tuple, or for itself."""
    passed: list[Symbol] = []
    symbol: Symbol = alias
    while isinstance(symbol, AliasSymbol) and symbol not in passed:
        passed.append(symbol)
        target = symbol.declaration.target
        symbol = target.binding if isinstance(target, ast.NamedType) and target.binding is not None else alias
    return alias if isinstance(symbol, AliasSymbol) else symbol


def variant_of(r: Resolver, owner: EnumSymbol, name: ast.Ident) -> Symbol | None:
    """Return a variant of an enum, or what its traits offer under the name, or for `parse` the `E::parse` of the library; None
    or an ErroneousSymbol after a report (E1010)."""
    if (variant := owner.member(name.text)) is not None:
        return variant
    item = trait_item(r, owner, name)
    if item is None:
        parse = r.enum_parse(r, owner)  # a help may name it, whether or not the program does
        item = parse if name.text == "parse" else None
    if item is None:
        known = [*owner.variants, *r.module.members_of(owner), *members_through_traits(r, owner)]
        help = did_you_mean(name.text, known) or listed("variants", known, like=name.text)
        r.report("E1010", name.span, f"enum `{owner.name}` has no variant `{name.text}`", help=help)
    return item


def _error_member(r: Resolver, owner: ErrorFamilySymbol, name: ast.Ident) -> Symbol | None:
    if name.text == "new":
        return owner
    variants = FAMILIES[owner.name].variants
    if name.text in variants:
        return ErrorFamilySymbol(owner.name, name.text)
    item = trait_item(r, owner, name)
    if item is None:
        known = (*variants, "new", *members_through_traits(r, owner))
        help = did_you_mean(name.text, known) or family_help(owner.name, name.text) or listed("variants", known, like=name.text)
        r.report("E1010", name.span, f"error family `{owner.name}` has no variant `{name.text}`", help=help)
    return item


def _associated(r: Resolver, owner: BuiltinSymbol, name: ast.Ident) -> Symbol | None:
    known = associated_functions(owner.name)
    if name.text in known:
        return BuiltinSymbol(f"{owner.name}::{name.text}")
    item = trait_item(r, owner, name)
    if item is not None:
        return item
    help = names.ASSOCIATED.get((owner.name, name.text)) or did_you_mean(name.text, known)
    help = help or listed("functions", known, like=name.text) or f"methods stand behind a value: `x.{name.text}(…)`"
    r.report("E1010", name.span, f"`{owner.name}` has no associated item `{name.text}`", help=help)
    return None


def named_type(r: Resolver, node: ast.NamedType) -> None:
    """Bind the name of a type and those of its type arguments; E1002 where there is no such type, E1009 for `Self` outside of an
    `impl` or `trait`; a path that names nothing is reported as by `resolve_path`. After a report `binding` is None, or an
    ErroneousSymbol where what the name stands for was reported."""
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
        candidates = (text for text, visible in r.scope.visible(r.function) if is_type(visible))
        help = r.elsewhere(name.text) or _everyday_type(r, node) or did_you_mean(name.text, candidates)
        help = help or "declare it with `struct`, `enum`, `schema` or `type`"
        r.report("E1002", name.span, f"undefined type `{name.text}`", help=help)
        return
    node.binding = symbol


def _everyday_type(r: Resolver, node: ast.NamedType) -> str | None:
    return names.everyday_type(node.path[0].text, [r.text(argument) for argument in node.arguments or ()])


def _type_path(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """Return a type of another module, or `F::V` of an error family in a catch clause."""
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
    """Return whether a symbol may stand where a type is written."""
    if isinstance(symbol, BuiltinSymbol):
        return symbol.name in TYPES or symbol.name in LIBRARY_TYPES
    return isinstance(symbol, TYPE_SYMBOLS)


def struct_expr(r: Resolver, node: ast.StructExpr) -> None:
    """Bind the head of a literal `T { … }` and resolve its values; its field names are the checker's."""
    for argument in node.type_arguments or ():
        r.visit(argument)
    node.binding = literal_head(r, node.path)
    for entry in node.fields:
        r.visit(entry.value)
    r.visit(node.base)


def literal_head(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """Return what the path before `{ … }` or `( … )` of a literal or pattern names; None or an ErroneousSymbol after a report
    (E1002 for a single name that names nothing or a constant, else as `resolve_path`)."""
    if len(path) > 1:
        return resolve_path(r, path)
    # As an item: a local of that name does not hide the type.
    symbol = find_item(r, path[0])
    if symbol is None or isinstance(symbol, ConstSymbol):
        r.unknown_name(path[0], "E1002", "type")
        return None
    return symbol


# Values of fields: names of declarations, or Strings of known words, with quotes or without (L-4.1.5, O-0.12).

LISTS_OF_NAMES = {"tools": "tool", "fallback": "model"}  # fields, and what they name


def visit_field(r: Resolver, name: str, value: ast.Expr) -> ast.Expr:
    """Resolve the value of a declaration's field; of an object, the values of its fields. Return what stands for the value: of a
    field that takes words, a bare word that nothing in scope has is its String, and one that is nearly a word is reported
    (E1001); a list stays itself, with its items replaced.

    The names in the lists `tools` and `fallback`, and in `memory` with or without a list, are those of declarations (E4003).
    """
    # An object: its keys are words, its values may be fields with words again.
    if isinstance(value, ast.MapExpr):
        for entry in value.entries:
            if isinstance(entry.key, ast.StringLiteral):
                entry.value = visit_field(r, entry.key.value, entry.value)
            else:
                r.visit(entry)
    elif name in LISTS_OF_NAMES and isinstance(value, ast.ArrayExpr):
        for item in value.items:
            _visit_named(r, item, LISTS_OF_NAMES[name])
    elif name == "memory":
        for item in value.items if isinstance(value, ast.ArrayExpr) else [value]:
            _visit_named(r, item, "memory")
    elif name in FIELD_WORDS and isinstance(value, ast.ArrayExpr):
        value.items = [_visit_word(r, name, item, FIELD_WORDS[name]) for item in value.items]
    else:
        return _visit_word(r, name, value, FIELD_WORDS.get(name, ()))
    return value


def _visit_named(r: Resolver, value: ast.Expr, what: str) -> None:
    """Resolve a value that names a declaration: E4003 where there is none (O-1.40, O-1.42, O-1.230)."""
    is_name = isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None
    if isinstance(value, ast.PathExpr) and is_name and find(r, value.segments[0]) is None:
        name = value.segments[0]
        # Bound, so that the checker does not report it too.
        value.binding = ErroneousSymbol(name.text)
        r.unknown_name(name, "E4003", what, (lambda symbol: isinstance(symbol, ModelSymbol)) if what == "model" else None)
    else:
        r.visit(value)


def visit_step(r: Resolver, step: str, value: ast.Expr) -> ast.Expr:
    """Resolve an unnamed argument of a memory step, and return what stands for it; those of `store` and `embed` take the names of
    tables of Concerto.toml, as `visit_field` takes words."""
    tables = r.project.memory_tables
    return _visit_word(r, step, value, {"store": tables.stores, "embed": tables.embedders}.get(step, ()))


def _visit_word(r: Resolver, name: str, value: ast.Expr, words: Collection[str]) -> ast.Expr:
    """Resolve a value, and return what stands for it: one of `words` is a name only if something in scope has it. In a field
    `provider` the name of a connection is no value, so that the word is meant."""
    if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
        bare = value.segments[0]
        # Something in scope of that name is meant by it, as everywhere.
        if bare.text in words:
            symbol = find(r, bare)
            if symbol is None or (name == "provider" and isinstance(symbol, ConnectionSymbol)):
                return ast.StringLiteral(span=value.span, value=bare.text, word=True)
        elif words and find(r, bare) is None and did_you_mean(bare.text, words):
            value.binding = ErroneousSymbol(bare.text)
            r.report("E1001", bare.span, f"`{name}` has no word `{bare.text}`", help=did_you_mean(bare.text, words))
            return value
    r.visit(value)
    return value


HANDLERS: dict[type[ast.Node], Handler] = {
    ast.PathExpr: path_expr,
    ast.NamedType: named_type,
    ast.StructExpr: struct_expr,
}
