"""Code for `json::parse_as<T>(s)` and, of a value, `json::value_as<T>(v)`: the value, then the defaults of fields that are left
out (L-7.1.2, L-7.1.5).

The machine builds the value with holes; each default is a function of the program, called here in a loop over the holes.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast, decisions, symbols
from .. import types as t
from .emitter import Label
from .generator import Generator


def parse_as(g: Generator, node: ast.Expr, target: decisions.BuiltinCall) -> None:
    e = g.emitter
    (text,) = target.arguments
    (type_,) = target.type_arguments
    assert text is not None
    g.bound(text)
    if target.name == "value_as":  # what it writes is what it is built from
        e.emit("CALL_BUILTIN", g.module.pool.builtin(target.receiver_kind, "stringify"), 1)
    count = 0
    for key, function in defaults_within(g, type_):
        e.emit("CONST", g.module.pool.string(key))
        e.emit("CLOSURE", function)
        count += 2
    e.emit("MAP", count, count)
    g.at(node.span)
    e.emit("PARSE_AS", g.module.pool.type(type_))
    _fill(g)


def _fill(g: Generator) -> None:
    """Stack: result, holes. Each hole is (struct, position, default)."""
    e = g.emitter
    again, filled = Label(), Label()
    e.emit("ITERATE")
    e.mark(again, e.depth)
    e.jump("NEXT", filled)
    e.emit("DUP")
    e.emit("GET_ELEMENT", 2)
    e.emit("CALL_VALUE", 0, 0)
    e.emit("FILL")
    e.jump("JUMP", again)
    e.mark(filled, e.depth)


def defaults_within(g: Generator, type_: t.Type) -> Iterator[tuple[str, int]]:
    """The field defaults of every struct that may stand inside a value of the type: `Point.0` and the function."""
    structs = {t.bare(s.type): s for s in g.module.field_defaults if isinstance(s, symbols.StructSymbol)}
    seen: set[t.Type] = set()
    open_ = [type_]
    while open_:
        at = t.bare(open_.pop(0))
        if at in seen:
            continue
        seen.add(at)
        open_.extend(_parts(g, at))
        symbol = structs.get(at)
        if symbol is not None:
            assert isinstance(at, t.Nominal)
            for position, function in g.module.field_defaults[symbol].items():
                yield f"{at.unique_name}.{position}", function


def _parts(g: Generator, type_: t.Type) -> list[t.Type]:
    if isinstance(type_, t.Nilable):
        return [type_.inner]
    if isinstance(type_, t.Generic):
        return list(type_.arguments)
    if isinstance(type_, t.Tuple):
        return list(type_.items)
    if not isinstance(type_, t.Nominal):
        return []
    found: list[t.Type] = []
    for _, held, *_ in g.module.pool.declared.get(type_, []):
        found += held if isinstance(held, list) else [held]
    return found
