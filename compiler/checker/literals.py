"""Struct literals: of structs, schemas, struct variants, records and error families (L-3.9.1, L-3.11.13, L-6.9.6).

Must not know: other literals (`expressions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ...vm.values.errors import FAMILIES
from .. import ast
from ..resolver.scopes import ErroneousSymbol
from ..resolver.spelling import did_you_mean, listed
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ErrorFamilySymbol,
    StructSymbol,
    VariantSymbol,
)
from ..types import (
    ANY,
    STRING,
    Nominal,
    Type,
    error,
)
from .context import Checker, Expected, ExpressionRule
from .generics import Instance
from .places import require_visible
from .privacy import private_fields
from .records import RECORD_FIELDS, WRITTEN, may_be_left_out
from .relations import ERRONEOUS, is_complete
from .types import RECORDS, written_type


def struct_expr(c: Checker, node: ast.StructExpr, expected: Expected) -> Type:
    symbol = node.binding
    if isinstance(symbol, AliasSymbol):
        symbol = node.binding = c.declared(symbol.type) or symbol
    match symbol:
        case StructSymbol():
            return _struct_literal(c, node, symbol, expected)
        case ErrorFamilySymbol():
            return _error_literal(c, node, symbol)
        case VariantSymbol(form="struct"):
            return _variant_literal(c, node, symbol, expected)
        case BuiltinSymbol() if symbol.name in WRITTEN:
            types = RECORD_FIELDS[symbol.name]
            fields = Fields(types, [name for name in types if not may_be_left_out(symbol.name, name)])
            return _check_fields(c, node, RECORDS[symbol.name], fields, Instance(c, symbol.name, ()))
    for entry in node.fields:
        c.infer(entry.value)
    is_other = symbol is not None and not isinstance(symbol, ErroneousSymbol)
    if is_other and isinstance(symbol, BuiltinSymbol) and symbol.name in RECORDS:
        help = "literals make " + ", ".join(f"`{name}`" for name in WRITTEN)
        c.report("E1002", node.path[-1].span, f"`{symbol.name}` has no literal: the runtime makes it", help=help)
    elif is_other:
        c.report("E1002", node.path[-1].span, f"`{node.path[-1].text}` is not a struct", help="only structs have literals")
    return ERRONEOUS


class Fields(NamedTuple):
    """The fields that a literal may give, with their types, and those it has to, in the order of the declaration."""

    types: Mapping[str, Type]
    needed: Sequence[str]


NAMES_SHOWN = 20


def _lacking(needed: Iterable[str], given: Collection[str]) -> list[str]:
    """The first names that are not given, NAMES_SHOWN and one more: a list of all in the messages of many literals would be
    as long as the square of the program."""
    return list(islice((name for name in needed if name not in given), NAMES_SHOWN + 1))


def _shown(names: list[str], form: str) -> str:
    return ", ".join([form.format(name) for name in names[:NAMES_SHOWN]] + ["…"] * (len(names) > NAMES_SHOWN))


def _fields(c: Checker, symbol: StructSymbol | VariantSymbol) -> Fields:
    """Made once for a declaration: a literal costs by what it gives."""
    known = c.fields_of.get(symbol)
    if known is None or len(known.types) != len(symbol.fields):  # asked while fields were still being declared
        known = c.fields_of[symbol] = Fields(
            {name: type_ for name, type_, _, _ in symbol.fields},
            [name for name, _, default, optional in symbol.fields if default is None and not optional],
        )
    return known


def _struct_literal(c: Checker, node: ast.StructExpr, symbol: StructSymbol, expected: Expected) -> Type:
    fields = _fields(c, symbol)
    hidden = private_fields(c.modules, symbol, node.span)
    for entry in node.fields:
        require_visible(c, symbol, entry.name)
    if hidden and node.base is None:
        _private_literal(c, node, symbol, (name for name in fields.needed if name in hidden))
        fields = fields._replace(needed=[name for name in fields.needed if name not in hidden])
    return _check_fields(c, node, symbol.type, fields, _instance(c, node, symbol, expected))


def _instance(c: Checker, node: ast.StructExpr, symbol: StructSymbol | VariantSymbol, expected: Expected) -> Instance:
    """The type arguments of a literal: written ones, or what is expected."""
    declared = symbol.enum if isinstance(symbol, VariantSymbol) else symbol
    instance = Instance(c, declared.name, declared.type_parameters)
    if node.type_arguments is not None:
        instance.explicit(instance.names, [written_type(c, argument) for argument in node.type_arguments], node.span)
    elif instance.names:
        instance.expect(declared.type, expected)
    return instance


def _private_literal(c: Checker, node: ast.StructExpr, symbol: StructSymbol, needed: Iterable[str]) -> None:
    """A literal outside the module needs every field without default to be public (L-8.4.3)."""
    lacking = _lacking(needed, {entry.name.text for entry in node.fields})
    if lacking:
        message = f"`{symbol.name}` has private fields without default: {_shown(lacking, '`{}`')}"
        help = "supply them by `..base`, or offer a function in its module"
        c.report("E1006", node.path[-1].span, message, help=help)


def _variant_literal(c: Checker, node: ast.StructExpr, symbol: VariantSymbol, expected: Expected) -> Type:
    """`E::V { x: 1 }`; a base may be any value of the enum only at run time, so there is none."""
    if node.base is not None:
        c.infer(node.base)
        c.report("E2012", node.base.span, f"`{symbol.enum.name}::{symbol.name}` takes no `..base`", help="give every field")
    return _check_fields(c, node, symbol.enum.type, _fields(c, symbol), _instance(c, node, symbol, expected))


def _check_fields(c: Checker, node: ast.StructExpr, made: Type, fields: Fields, instance: Instance) -> Type:
    types = fields.types
    given: dict[str, ast.FieldInit] = {}
    for entry in node.fields:
        _check_entry(c, entry, made, types, given, instance)
    if instance.names:
        _convert_entries(c, given, types, instance)
        instance.require_bounds(node.path[-1].span)
        made = instance.type(made)
    if node.base is not None:
        return _base(c, node.base, made)
    missing = _lacking(fields.needed, given)
    if missing:
        help = f"add `{_shown(missing, '{}: …')}`, or supply the rest by `..base`"
        c.report("E2012", node.span, f"`{made}` lacks {_shown(missing, '`{}`')}", help=help)
    return made


def _base(c: Checker, base: ast.Expr, made: Type) -> Type:
    found = c.value(base, Expected(made, place="the base of the literal"))
    return made if is_complete(made) or not isinstance(found, Nominal) else c.infer(base)


def _check_entry(
    c: Checker, entry: ast.FieldInit, made: Type, types: Mapping[str, Type], given: dict[str, ast.FieldInit], instance: Instance
) -> None:
    name = entry.name.text
    if name not in types:
        help = did_you_mean(name, types) or listed("fields", [*types], like=name)
        c.report("E2013", entry.name.span, f"`{made}` has no field `{name}`", help=help)
        c.infer(entry.value)
        return
    if name in given:
        c.report(
            "E2013", entry.name.span, f"field `{name}` of `{made}` is given twice", first=given[name].name.span,
            help="keep one of them",
        )
    given.setdefault(name, entry)
    if not instance.names:
        c.value(entry.value, Expected(types[name], place=f"field `{name}`"))
        return
    wanted = instance.hinted(types[name])
    instance.meet_hinted(types[name], c.infer(entry.value, Expected(wanted, place=f"field `{name}`")))


def _convert_entries(
    c: Checker, given: dict[str, ast.FieldInit], types: Mapping[str, Type], instance: Instance
) -> None:
    """Conversions wait until all entries have said what they know about the type arguments."""
    instance.settle()
    for name, entry in given.items():
        wanted = instance.type(types[name])
        if is_complete(wanted):
            c.coerce(entry.value, c.infer(entry.value), Expected(wanted, place=f"field `{name}`"))


def _error_literal(c: Checker, node: ast.StructExpr, symbol: ErrorFamilySymbol) -> Type:
    """`F::V { … }`: the message and the extra fields of the family and variant (L-3.11.13)."""
    family = FAMILIES[symbol.name]
    extra = (*family.fields, *(family.variants.get(symbol.variant, ()) if symbol.variant else ()))
    parent = family.parent
    while parent is not None:
        extra = (*extra, *FAMILIES[parent].fields)
        parent = FAMILIES[parent].parent
    types: dict[str, Type] = {"message": STRING, **dict.fromkeys(extra, ANY)}
    return _check_fields(c, node, error(symbol.name), Fields(types, ()), Instance(c, symbol.name, ()))


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.StructExpr: struct_expr}
