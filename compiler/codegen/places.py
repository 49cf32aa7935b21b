"""Places: assignment, compound assignment, and receivers that a method changes (L-5.5)."""

from __future__ import annotations

from dataclasses import dataclass

from .. import ast, symbols
from .. import types as t
from .expressions import operator_opcode
from .generator import Generator, effect_of, static_type, value_of


@dataclass(slots=True)
class Step:
    """One link of a place's chain: a field position, a member name, a tuple element, or an index that `index` reloads."""

    kind: str  # "field", "member", "element", "index"
    operand: int
    index: ast.Expr | None = None  # simple: evaluated again where needed
    slot: int | None = None  # else kept here


@dataclass(slots=True)
class Place:
    root: symbols.Local
    steps: list[Step]


def is_place(expr: ast.Expr) -> bool:
    """A variable or self, followed by any chain of fields, elements and indexes (L-5.5.1)."""
    while isinstance(expr, (ast.FieldAccess, ast.TupleAccess, ast.Index, ast.GroupExpr)):
        expr = expr.inner if isinstance(expr, ast.GroupExpr) else expr.receiver
    return isinstance(expr, ast.PathExpr) and isinstance(expr.binding, symbols.Local)


def prepare(g: Generator, expr: ast.Expr) -> Place:
    """Evaluate the index expressions of a place left to right; the place can then be read and written without doing so again."""
    chain: list[ast.Expr] = []
    while not isinstance(expr, ast.PathExpr):
        if isinstance(expr, ast.GroupExpr):
            expr = expr.inner
            continue
        assert isinstance(expr, (ast.FieldAccess, ast.TupleAccess, ast.Index))
        chain.append(expr)
        expr = expr.receiver
    assert isinstance(expr.binding, symbols.Local)
    return Place(expr.binding, [_step(g, link) for link in reversed(chain)])


def _step(g: Generator, link: ast.Expr) -> Step:
    if isinstance(link, ast.FieldAccess):
        if isinstance(link.target, symbols.FieldByPosition):
            return Step("field", link.target.index)
        return Step("member", g.module.pool.string(link.target.name))
    if isinstance(link, ast.TupleAccess):
        return Step("element", link.index)
    assert isinstance(link, ast.Index)
    if isinstance(link.index, (ast.IntLiteral, ast.StringLiteral)) and link.index.coercion is None:
        return Step("index", 0, index=link.index)
    g.value(link.index)
    slot = g.emitter.temp()
    g.emitter.emit("STORE", slot)
    return Step("index", 0, slot=slot)


def release(g: Generator, place: Place) -> None:
    for step in place.steps:
        if step.slot is not None:
            g.emitter.release(step.slot)


def _push_index(g: Generator, step: Step) -> None:
    if step.index is not None:
        g.value(step.index)
    else:
        assert step.slot is not None
        g.emitter.emit("LOAD", step.slot)


def read(g: Generator, place: Place) -> None:
    """Push the present value of a place."""
    g.load(place.root)
    for step in place.steps:
        _read_step(g, step)


def _read_step(g: Generator, step: Step) -> None:
    if step.kind == "index":
        _push_index(g, step)
        g.emitter.emit("INDEX")
    else:
        g.emitter.emit({"field": "GET_FIELD", "member": "GET_MEMBER", "element": "GET_ELEMENT"}[step.kind], step.operand)


def own(g: Generator, place: Place) -> None:
    """Push the container at a place, ready to be written."""
    at = _last_element(place)
    if at is None:
        g.load_own(place.root)
        for step in place.steps:
            _own_step(g, step)
    else:
        read(g, place)


def _own_step(g: Generator, step: Step) -> None:
    if step.kind == "index":
        _push_index(g, step)
        g.emitter.emit("INDEX_OWN")
    else:
        g.emitter.emit({"field": "FIELD_OWN", "member": "MEMBER_OWN"}[step.kind], step.operand)


def write(g: Generator, place: Place) -> None:
    """Store the value on the stack into a place."""
    if not place.steps:
        g.store(place.root)
        return
    at = _last_element(place)
    if at is not None:
        _write_through_tuple(g, place, at)
        return
    g.load_own(place.root)
    for step in place.steps[:-1]:
        _own_step(g, step)
    last = place.steps[-1]
    if last.kind == "index":
        _push_index(g, last)
        g.emitter.emit("SET_INDEX")
    else:
        g.emitter.emit({"field": "SET_FIELD", "member": "SET_MEMBER"}[last.kind], last.operand)


def _last_element(place: Place) -> int | None:
    """Position of the last tuple element in the chain: tuples have no storage of their own to write into."""
    found = [i for i, step in enumerate(place.steps) if step.kind == "element"]
    return found[-1] if found else None


def _write_through_tuple(g: Generator, place: Place, at: int) -> None:
    """The element is taken out, written, put into a new tuple, and that is stored where the old one was."""
    e = g.emitter
    holder = Place(place.root, place.steps[:at])
    rest = place.steps[at + 1 :]
    if rest:
        local = symbols.Local("", t.ANY, True, g.scope or symbols.FunctionScope(None))
        g.slots[local] = e.temp()
        read(g, Place(place.root, place.steps[: at + 1]))
        e.emit("SHARE")
        g.store(local)
        write(g, Place(local, rest))
        g.load(local)
        e.release(g.slots.pop(local))
    read(g, holder)
    e.emit("SHARE")
    e.emit("SET_ELEMENT", place.steps[at].operand)
    write(g, holder)


# ---------------------------------------------------------------- assignment


@value_of(ast.Assign)
def assign_value(g: Generator, node: ast.Assign) -> None:
    assign(g, node, wanted=True)


@effect_of(ast.Assign)
def assign_effect(g: Generator, node: ast.Assign) -> None:
    assign(g, node, wanted=False)


def assign(g: Generator, node: ast.Assign, wanted: bool) -> None:
    e = g.emitter
    place = prepare(g, node.target)
    if node.operator == "=":
        g.bound(node.value)
    else:
        read(g, place)
        g.value(node.value)
        g.at(node.span)
        e.emit(operator_opcode(node.operator[:-1], static_type(node.target), static_type(node.value)))
    if wanted:
        e.emit("DUP")
        e.emit("SHARE")
    g.at(node.target.span)
    write(g, place)
    release(g, place)
