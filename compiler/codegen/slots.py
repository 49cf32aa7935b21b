"""Code for slots of contexts (M-10.2): `m.slot`, and writing it.

Slots are read and written by methods of a memory that no program can name; what a clause loaded is an Option in a hidden
variable, which such a method is handed in place of reading again. Hands on `load_slot`, `store_slot`, `after_write` and `call`.
Must not know: clauses, how slots are stored.
"""

from __future__ import annotations

from .. import ast, symbols
from .constants import emit_constant
from .generator import Generator


def load_slot(g: Generator, node: ast.FieldAccess) -> None:
    """Push what `m.slot` reads."""
    access = node.target
    assert isinstance(access, symbols.SlotAccess)
    g.value(node.receiver)
    g.at(node.name.span)
    emit_constant(g, access.slot.name)
    if access.held is None:
        call(g, "_slot", 1)
        return
    g.load(access.held)
    fallback = access.slot.declaration.default is not None
    call(g, "_needed" if access.needed and not fallback else "_slot", 2)


def store_slot(g: Generator, node: ast.FieldAccess) -> None:
    """Write the value on the stack; the function sees what it wrote."""
    access = node.target
    assert isinstance(access, symbols.SlotAccess)
    e = g.emitter
    value = e.temp()
    e.emit("STORE", value)
    g.value(node.receiver)
    g.at(node.name.span)
    emit_constant(g, access.slot.name)
    e.emit("LOAD", value)
    call(g, "_put", 2)
    e.release(value)
    if access.held is None:
        e.emit("POP")
    else:
        g.store(access.held)


def after_write(g: Generator, node: ast.MethodCall, name: int) -> None:
    """After `remember` and `forget` the function sees a slot of that name anew; the name stands in slot `name`."""
    for ref in node.held:
        if ref.found is None:
            continue
        g.value(node.receiver)
        emit_constant(g, ref.found.name)
        g.emitter.emit("LOAD", name)
        g.load(ref.local)
        call(g, "_after", 3)
        g.store(ref.local)


def call(g: Generator, name: str, count: int) -> None:
    g.emitter.emit("CALL_METHOD", g.module.pool.method(name, count, []), count)
