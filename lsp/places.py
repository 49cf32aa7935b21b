"""What stands at an offset: the nodes around it, and what the innermost name denotes.

Hands on `path_to` and `found_at`. Must not know: how it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..compiler import ast
from ..compiler.checker.builtins import kind_of
from ..compiler.decisions import BuiltinCall, CallTarget
from ..compiler.source import Span
from ..compiler.symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    Local,
    ModuleSymbol,
    SlotAccess,
    StdFunctionSymbol,
    StructSymbol,
    Symbol,
    VariantSymbol,
)
from ..compiler.types import Type
from ..vm.builtins import ASSOCIATED, FUNCTIONS, Row, lookup, std_row
from .analysis import Analysis

Field = ast.Field | ast.ToolField | ast.Slot


@dataclass(slots=True)
class Found:
    """A name or expression: where it is written, its type, and what it denotes: a symbol, a row of the built-ins, or the
    declaration of a field."""

    span: Span
    type: Type | None = None
    denotes: Symbol | Row | Field | None = None


def path_to(tree: ast.Program, offset: int) -> list[ast.Node]:
    """The nodes around an offset, outermost first. Where two meet, the one that begins there."""
    path: list[ast.Node] = [tree]
    while True:
        inside = [child for child in path[-1].children() if child.span.start <= offset <= child.span.end]
        if not inside:
            return path
        path.append(min(inside, key=lambda node: (node.span.end == offset, node.span.end - node.span.start)))


def found_at(analysis: Analysis, offset: int) -> Found | None:
    if analysis.tree is None:
        return None
    path = path_to(analysis.tree, offset)
    node = path[-1]
    if isinstance(node, ast.Ident) and len(path) > 1:
        return named(analysis, node, path[-2], path[-3] if len(path) > 2 else None)
    return Found(node.span, node.type) if isinstance(node, ast.Expr) and node.type is not None else None


def named(analysis: Analysis, name: ast.Ident, parent: ast.Node, around: ast.Node | None) -> Found | None:
    match parent:
        case ast.PathExpr() | ast.StructExpr():
            return Found(name.span, parent.type, denoted(parent.binding))
        case ast.MethodCall():
            return Found(name.span, parent.type, _method(parent.target))
        case ast.FieldAccess(target=SlotAccess() as access):
            return Found(name.span, parent.type, access.slot.declaration)
        case ast.SlotRef():
            return Found(name.span, None, parent.binding if name is parent.owner else parent.found and parent.found.declaration)
        case ast.Slot():
            return Found(name.span, None, parent)
        case ast.FieldAccess():
            return Found(name.span, parent.type, _field(analysis, parent.receiver.type, name.text))
        case ast.FieldInit():
            struct = around.binding if isinstance(around, ast.StructExpr) else None
            return Found(name.span, parent.value.type, _field_of(struct, name.text))
        case ast.FieldPattern():
            struct = around.binding if isinstance(around, ast.StructPattern) else None
            return Found(name.span, parent.pattern.type, _field_of(struct, name.text))
        case ast.BindPattern():
            return Found(name.span, parent.type, parent.constant or parent.binding)
        case ast.NamedType() | ast.PathPattern() | ast.TupleStructPattern() | ast.StructPattern():
            return Found(name.span, None, denoted(parent.binding))
        case ast.Parameter() | ast.CatchClause() | ast.RestPattern():
            return Found(name.span, getattr(parent.binding, "type", None), parent.binding)
        case ast.Field() | ast.ToolField():
            return Found(name.span, None, parent)
        case ast.Mock():
            return Found(name.span, None, parent.target)
        case ast.Item():
            return Found(name.span, None, parent.symbol)
    return None


def denoted(symbol: Symbol | None) -> Symbol | Row | None:
    """A predeclared name as its row, if it has one."""
    match symbol:
        case BuiltinSymbol():
            owner, _, member = symbol.name.rpartition("::")
            return (ASSOCIATED.get((owner, member)) if owner else FUNCTIONS.get(member)) or symbol
        case StdFunctionSymbol():
            return std_row(symbol.module, symbol.name) or symbol
    return symbol


def _method(target: CallTarget | None) -> Symbol | Row | None:
    if isinstance(target, BuiltinCall):
        return lookup(target.receiver_kind, target.name) if target.receiver_kind else FUNCTIONS.get(target.name)
    function = getattr(target, "function", None)
    return function if isinstance(function, Symbol) else None


def _field(analysis: Analysis, receiver: Type | None, name: str) -> Field | Row | None:
    if analysis.examined is None or receiver is None:
        return None
    declared = _field_of(analysis.examined.checker.declared(receiver), name)
    return declared or lookup(kind_of(receiver), name)


def _field_of(struct: object, name: str) -> Field | None:
    if not isinstance(struct, StructSymbol):
        return None
    return next((field for field in struct.declaration.fields or () if field.name.text == name), None)


def definition_of(found: Found) -> Span | None:
    """Where the name is declared, if that is in a file of the program."""
    thing = found.denotes
    if isinstance(thing, (ast.Field, ast.ToolField, ast.Slot)):
        return thing.name.span
    if thing is None or isinstance(thing, (Row, BuiltinSymbol, ErrorFamilySymbol)):
        return None
    return _declaration(thing)


def _declaration(symbol: Symbol) -> Span | None:
    match symbol:
        case ModuleSymbol():
            return Span(symbol.file, 0, 0)
        case VariantSymbol():
            return symbol.enum.declaration.variants[symbol.index].name.span
        case Local():
            place: ast.Node | None = symbol.declared_at
        case _:
            place = getattr(symbol, "declaration", None)
    name = getattr(place, "name", None)
    return name.span if isinstance(name, ast.Ident) else place.span if isinstance(place, ast.Node) else None
