"""Code at the entry of a function with `needs` and `reads` (M-10.3, M-10.4).

Must not know: how slots are stored.
"""

from __future__ import annotations

from .. import ast, symbols
from .. import types as t
from .constants import emit_constant
from .expressions import error_leaves
from .generator import Generator
from .slots import call


def enter_clauses(g: Generator, symbol: symbols.FunctionSymbol) -> None:
    """One snapshot for each memory; a slot of `needs` without a value ends the call (M-10.3)."""
    for clauses in _by_memory(symbol.declaration.clauses):
        _load_all(g, symbol, clauses)


def _by_memory(clauses: list[ast.Clause]) -> list[list[tuple[ast.Clause, ast.SlotRef]]]:
    found: dict[symbols.Symbol, list[tuple[ast.Clause, ast.SlotRef]]] = {}
    for clause in clauses:
        for ref in clause.slots:
            if ref.local is not None:
                found.setdefault(ref.binding, []).append((clause, ref))
    return list(found.values())


def _load_all(g: Generator, symbol: symbols.FunctionSymbol, refs: list[tuple[ast.Clause, ast.SlotRef]]) -> None:
    e = g.emitter
    first = refs[0][1]
    g.at(first.span)
    path = ast.PathExpr(span=first.owner.span, segments=[first.owner])
    path.binding = first.binding
    path.type = t.MEMORY
    g.value(path)
    needed = [(clause, ref) for clause, ref in refs if clause.kind == "needs" and ref.found.declaration.default is None]
    for names in ([ref.slot.text for _, ref in refs], [ref.slot.text for _, ref in needed]):
        for name in names:
            emit_constant(g, name)
        e.emit("ARRAY", len(names), len(names))
    emit_constant(g, symbol.path)
    call(g, "_enter", 3)
    error_leaves(g, needed[0][0].failure if needed else None)
    loaded = e.temp()
    e.emit("STORE", loaded)
    for number, (_, ref) in enumerate(refs):
        e.emit("LOAD", loaded)
        emit_constant(g, number)
        e.emit("INDEX_ARRAY")
        g.bind(ref.local)
    e.release(loaded)
