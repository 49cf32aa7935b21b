"""Places: assignment, compound assignment, and receivers that a method changes (L-5.5).

Assignments register themselves. Hands on to `calls` and `arguments` `is_place`, a `Place` and what can be done with it:
`prepare` it once (or make a `temporary` one), `look`, then `read`, `own`, `lend` or `write` it, then `release` it. Between
`look` and `release` the change of a slot of a memory, or of an entry of a hashmap, may run more than once (M-8.21, O-5.41).
Whether an expression may be assigned to at all is decided by the parser and the checker. All but `is_place` write code into
`g.emitter`; to push is to leave a value on the operand stack when that code runs. To own a container is to copy it first if it
is marked as shared, since another place may hold it too (V-5.7). TooLong of `emit_constant` and RecursionError of what is
evaluated pass through.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import decisions, symbols
from .. import types as t
from ..syntax import ast
from .constants import emit_constant
from .emitter import Label
from .expressions import operator_opcode
from .generator import Generator, effect_of, is_entry, root_of, static_type, value_of
from .hashmap_entries import EntryChange, store_entry
from .slots import SlotChange, store_slot


@dataclass(slots=True)
class Step:
    """One link of a place's chain. `kind` is one of:

    - `field`, a field at a known position; `member`, one that is looked up by name at run time;
    - `index`, an element of an Array or the value of a key;
    - `element`, of a tuple at a constant position; `part`, of a tuple at a computed one;
    - `dynamic`, of a value typed Any, which may be any of them.
    """

    kind: str
    operand: int  # position, or index of a constant; of an index 1 when it is an Array's by Int; of a part how many the tuple has
    index: ast.Expr | None = None  # simple: evaluated again where needed
    slot: int | None = None  # else kept here
    dynamic: bool = False  # an element of what may turn out to be no tuple


# Tuples have no storage of their own to write into: the one that holds the new element replaces the old one.
_REPLACED = ("element", "part", "dynamic")


@dataclass(slots=True)
class Place:
    """A variable and the chain of links behind it. `change` is set for a place in a slot of a memory or in an entry of a
    hashmap; `root` is then a variable that holds what slot or entry holds while the place is used."""

    root: symbols.Local
    steps: list[Step]
    change: SlotChange | EntryChange | None = None


def is_place(expr: ast.Expr) -> bool:
    """Return whether the expression is a variable, self, a slot of a memory or an entry of a hashmap, followed by any chain of
    fields, elements and indexes (L-5.5.1)."""
    return root_of(expr) is not None


def prepare(g: Generator, expr: ast.Expr) -> Place:
    """Generate the evaluation of the memory of a place in a slot, or hashmap and key of one in an entry, then of the index
    expressions left to right; return the place. The place can then be read and written without evaluating them again. The
    expression must be one by `is_place`."""
    chain: list[ast.Expr] = []
    while not isinstance(expr, ast.PathExpr):
        if isinstance(expr, ast.GroupExpr):
            expr = expr.inner
            continue
        assert isinstance(expr, (ast.FieldAccess, ast.TupleAccess, ast.Index))
        if isinstance(expr, ast.FieldAccess) and isinstance(expr.target, symbols.SlotAccess):
            change = SlotChange(g, expr)
            return Place(_unnamed(g), [_step(g, link) for link in reversed(chain)], change)
        if isinstance(expr, ast.Index) and is_entry(expr):
            entry = EntryChange(g, expr)
            return Place(_unnamed(g), [_step(g, link) for link in reversed(chain)], entry)
        chain.append(expr)
        expr = expr.receiver
    assert isinstance(expr.binding, symbols.Local)
    return Place(expr.binding, [_step(g, link) for link in reversed(chain)])


def temporary(g: Generator) -> Place:
    """Return a place without a name that takes the value on the stack; `release` gives its slot back."""
    local = _unnamed(g)
    g.store(local)
    return Place(local, [])


def _unnamed(g: Generator) -> symbols.Local:
    """Return a variable that no program can name, in a slot for a short time."""
    local = symbols.Local("", t.ANY, True, g.scope or symbols.FunctionScope(None))
    g.slots[local] = g.emitter.temp()
    return local


def _step(g: Generator, link: ast.Expr) -> Step:
    """Return the step for one link; its index is evaluated into a slot unless it is a literal."""
    if isinstance(link, ast.FieldAccess):
        if isinstance(link.target, decisions.FieldByPosition):
            return Step("field", link.target.index)
        holder = static_type(link.receiver)
        if isinstance(holder, t.Generic) and holder.name == "Map":  # the key: to read it for `op=` it must exist (L-5.4.4)
            key = ast.StringLiteral(span=link.name.span, value=link.name.text)
            key.type = t.STRING
            return Step("index", 0, index=key)
        return Step("member", g.module.pool.string(link.target.name))
    if isinstance(link, ast.TupleAccess):
        return Step("element", link.index, dynamic=not isinstance(static_type(link.receiver), t.Tuple))
    assert isinstance(link, ast.Index)
    holder = static_type(link.receiver)
    kind = "dynamic" if holder == t.ANY else "index"
    typed = int(isinstance(holder, t.Generic) and holder.name == "Array" and static_type(link.index) == t.INT)
    # A literal is pushed again wherever it is needed; any other index is evaluated once, into a slot.
    literal = isinstance(link.index, (ast.IntLiteral, ast.StringLiteral)) and link.index.coercion is None
    if isinstance(holder, t.Tuple) and isinstance(link.index, ast.IntLiteral):
        return Step("element", link.index.value)
    if literal:
        return Step(kind, typed, index=link.index)
    g.value(link.index)
    slot = g.emitter.temp()
    g.emitter.emit("STORE", slot)
    if isinstance(holder, t.Tuple):
        return Step("part", len(holder.items), slot=slot)
    return Step(kind, typed, slot=slot)


def look(g: Generator, place: Place) -> None:
    """Begin the change itself: all that it is made with has been evaluated. What follows up to `release` is done again when
    another task has written the slot or entry meanwhile (M-8.21). Of a place in neither nothing is generated."""
    if place.change is not None:
        place.change.begin(g, place.root)


def release(g: Generator, place: Place) -> None:
    """End the use of a place. A slot of a memory, or an entry of a hashmap, gets what its variable holds now."""
    if place.change is not None:
        place.change.end(g, place.root)
    for step in place.steps:
        if step.slot is not None:
            g.emitter.release(step.slot)
    if not place.root.name:
        g.emitter.release(g.slots.pop(place.root))


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
    if step.kind in ("index", "part", "dynamic"):
        _push_index(g, step)
        g.emitter.emit("INDEX_ARRAY" if step.kind == "index" and step.operand else "INDEX")
    elif step.dynamic:
        emit_constant(g, step.operand)
        g.emitter.emit("INDEX")
    else:
        g.emitter.emit({"field": "GET_FIELD", "member": "GET_MEMBER", "element": "GET_ELEMENT"}[step.kind], step.operand)


def own(g: Generator, place: Place) -> None:
    """Push the container at a place, ready to be written: what is shared is copied first."""
    at = _last_replaced(place)
    if at is not None:
        _own_through_tuple(g, place, at)
        return
    g.load_own(place.root)
    for step in place.steps:
        _own_step(g, step)


def lend(g: Generator, place: Place) -> None:
    """Push the value at a place for a method that may write into it; all steps of the place must be fields and indexes. A part of
    a variable is owned, with all that holds it; the value of the variable itself is pushed as it is, so that a method that turns
    out not to write does not copy it."""
    if place.steps:
        own(g, place)
    else:
        read(g, place)


def _own_step(g: Generator, step: Step) -> None:
    if step.kind == "index":
        _push_index(g, step)
        g.emitter.emit("INDEX_OWN")
    else:
        g.emitter.emit({"field": "FIELD_OWN", "member": "MEMBER_OWN"}[step.kind], step.operand)


def _last_replaced(place: Place) -> int | None:
    """Return the position of the last tuple element in the chain, or None."""
    return max((i for i, step in enumerate(place.steps) if step.kind in _REPLACED), default=None)


def _own_through_tuple(g: Generator, place: Place, at: int) -> None:
    """Take the element out of its tuple, own it, and put it into a new tuple, which is stored where the old one was."""
    holder = Place(place.root, place.steps[:at])
    own(g, holder)
    whole = temporary(g)
    read(g, Place(whole.root, [place.steps[at]]))
    element = temporary(g)
    own(g, Place(element.root, place.steps[at + 1 :]))
    g.load(element.root)
    g.load(whole.root)
    _replace(g, place.steps[at])
    write(g, holder)
    release(g, element)
    release(g, whole)


def write(g: Generator, place: Place) -> None:
    """Store the value on the stack into a place."""
    if not place.steps:
        g.store(place.root)
        return
    holder, last = Place(place.root, place.steps[:-1]), place.steps[-1]
    own(g, holder)
    if last.kind in _REPLACED:
        _replace(g, last)
        write(g, holder)
    elif last.kind == "index":
        _push_index(g, last)
        g.emitter.emit("SET_INDEX")
    else:
        g.emitter.emit({"field": "SET_FIELD", "member": "SET_MEMBER"}[last.kind], last.operand)


def _replace(g: Generator, step: Step) -> None:
    """Replace one element, for the new element and the tuple on the stack; the new tuple stays."""
    e = g.emitter
    if step.kind == "element":
        e.emit("SET_ELEMENT", step.operand)
        return
    if step.kind == "dynamic":
        _push_index(g, step)
        e.emit("SET_PART")
        return
    depth = e.depth
    done = Label()
    # The element's position is known only at run time, and SET_ELEMENT has it in its operand: each is tried.
    for position in range(step.operand):
        following = Label()
        _push_index(g, step)
        emit_constant(g, position)
        e.emit("EQ_INT")
        e.jump("JUMP_UNLESS", following)
        e.emit("SET_ELEMENT", position)
        e.jump("JUMP", done)
        e.mark(following, depth)
    _push_index(g, step)
    e.emit("INDEX")  # no such element: P004
    e.emit("SLIDE", 1, 1)
    e.mark(done, depth - 1)


# ---------------------------------------------------------------- assignment


@value_of(ast.Assign)
def assign_value(g: Generator, node: ast.Assign) -> None:
    assign(g, node, wants_value=True)


@effect_of(ast.Assign)
def assign_effect(g: Generator, node: ast.Assign) -> None:
    assign(g, node, wants_value=False)


def assign(g: Generator, node: ast.Assign, wants_value: bool) -> None:
    """Generate an assignment; `wants_value` pushes the assigned value as well."""
    e = g.emitter
    whole = ast.ungrouped(node.target)
    if node.operator == "=" and isinstance(whole, ast.Index) and is_entry(whole):
        store_entry(g, whole, node.value, wants_value)
        return
    slot = _whole_slot(node.target) if node.operator == "=" else None
    if slot is not None:  # nothing of what it holds is read
        g.bound(node.value)
        if wants_value:
            e.emit("DUP")
            e.emit("SHARE")
        store_slot(g, slot)
        return
    place = prepare(g, node.target)
    if place.change is not None:
        _change_stored(g, node, place, wants_value)
        return
    if node.operator == "=":
        g.bound(node.value)
    else:
        read(g, place)
        g.value(node.value)
        g.at(node.span)
        e.emit(operator_opcode(node.operator[:-1], static_type(node.target), static_type(node.value)))
    _written(g, node, place, wants_value)


def _written(g: Generator, node: ast.Assign, place: Place, wants_value: bool) -> None:
    """Store the value on the stack into its place; where the assignment is used as a value it stays on the stack too."""
    if wants_value:
        g.emitter.emit("DUP")
        g.emitter.emit("SHARE")
    g.at(node.target.span)
    write(g, place)
    release(g, place)


def _change_stored(g: Generator, node: ast.Assign, place: Place, wants_value: bool) -> None:
    """Assign into a slot of a memory, or into an entry of a hashmap. The right side is evaluated once, before the slot or entry
    is looked at: only the change itself may have to be made again, and no other task runs in its middle."""
    e = g.emitter
    value = e.temp()
    if node.operator == "=":
        g.bound(node.value)
    else:
        g.value(node.value)
    e.emit("STORE", value)
    look(g, place)
    if node.operator != "=":
        read(g, place)
    e.emit("LOAD", value)
    if node.operator == "=":
        e.emit("SHARE")
    else:
        g.at(node.span)
        e.emit(operator_opcode(node.operator[:-1], static_type(node.target), static_type(node.value)))
    _written(g, node, place, wants_value)
    e.release(value)


def _whole_slot(target: ast.Expr) -> ast.FieldAccess | None:
    target = ast.ungrouped(target)
    return target if isinstance(target, ast.FieldAccess) and isinstance(target.target, symbols.SlotAccess) else None
