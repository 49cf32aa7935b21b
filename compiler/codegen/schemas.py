"""Schemas for the image: the shape validation reads, and the JSON Schemas ready to send (O-2.30 ff., O-10.10)."""

from __future__ import annotations

from typing import Any

from ...vm import schema as lowering
from ...vm.bytecode import image as im
from .. import ast, symbols
from .. import types as t
from .constants import NotConstant, constant_of
from .module import Module

_SCALARS = {"String": "string", "Int": "int", "Float": "float", "Bool": "bool", "Nil": "nil", "Any": "any"}


def schema_entry(module: Module, symbol: symbols.StructSymbol, declared: dict[t.Type, symbols.Symbol]) -> im.Schema:
    shape = Shapes(declared).object(symbol)
    return im.Schema(
        module.names[symbol],
        module.pool.type(symbol.type),
        shape,
        lowering.plain_form(shape),
        lowering.strict_form(shape),
    )


class Shapes:
    """Builds the schema type of a declared type; a type met again inside itself is a reference (O-2.11)."""

    def __init__(self, declared: dict[t.Type, symbols.Symbol]) -> None:
        self.declared = declared
        self.open: list[symbols.StructSymbol] = []

    def object(self, symbol: symbols.StructSymbol) -> list[Any]:
        name = type_name(symbol)
        if symbol in self.open:
            return ["ref", name]
        self.open.append(symbol)
        declaration = symbol.declaration
        modes = [d.name.text for d in declaration.decorators if d.name.text in ("partial", "coerce")]
        nodes = {f.name.text: f for f in declaration.fields or []}
        first = next(iter(nodes.values()), None)
        modes += [d.name.text for d in (first.decorators if first else []) if d.name.text in ("partial", "coerce")]
        fields = [self.field(name, type_, default, optional, nodes[name]) for name, type_, default, optional in symbol.fields]
        self.open.pop()
        return ["object", name, modes, fields]

    def field(self, name: str, type_: t.Type, default: ast.Expr | None, optional: bool, node: ast.Field) -> list[Any]:
        if isinstance(type_, t.Generic) and type_.name == "Option":
            optional, type_ = True, type_.arguments[0]
        value = None
        if default is not None:
            try:
                value = as_json(constant_of(default), default)
            except NotConstant:
                raise AssertionError(f"default of {name} is not constant") from None
        return [name, self.shape(type_), optional, default is not None, value, description(node)]

    def shape(self, type_: t.Type) -> list[Any]:
        if isinstance(type_, t.Simple) and type_.name in _SCALARS:
            return [_SCALARS[type_.name]]
        if isinstance(type_, t.Union):
            return ["enum", list(type_.members), None]
        if isinstance(type_, t.Generic) and type_.name == "Array":
            return ["array", self.shape(type_.arguments[0])]
        if isinstance(type_, t.Generic) and type_.name == "Map":
            return ["map", self.shape(type_.arguments[1])]
        symbol = self.declared.get(type_)
        if isinstance(symbol, symbols.EnumSymbol):
            return ["enum", list(symbol.variants), type_name(symbol)]
        if isinstance(symbol, symbols.StructSymbol):
            return self.object(symbol)
        raise AssertionError(f"no JSON form for {type_}")


def type_name(symbol: symbols.StructSymbol | symbols.EnumSymbol) -> str:
    assert isinstance(symbol.type, t.Nominal)
    return symbol.type.unique_name


def as_json(value: Any, expr: ast.Expr) -> Any:
    """JSON form of a constant; an Int default of a Float field is a Float."""
    if isinstance(expr.coercion, symbols.ToFloat) and isinstance(value, int):
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def description(field: ast.Field) -> str | None:
    """`@describe("text")`, else the doc comment (O-2.13)."""
    for decorator in field.decorators:
        if decorator.name.text == "describe" and decorator.arguments:
            value = decorator.arguments[0].value
            if isinstance(value, ast.StringLiteral):
                return value.value
    return field.doc
