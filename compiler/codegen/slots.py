"""Code for slots of contexts (M-10.2): reading `m.slot`, writing it, and changing what it holds (M-8.21).

Hands on `load_slot` to `expressions`, `store_slot` and `SlotChange` to `places`, `after_write` to `calls` and `call` to
`functions`. A slot here is a named part of a memory; numbered locals of a function, in which values wait, are those of
`Emitter.temp`. All functions write code into `g.emitter`; TooLong of `emit_constant`, and RecursionError of what is evaluated,
pass through. Slots are read and written by methods of a memory that no program can name; what a clause loaded is an Option in a
hidden variable, which such a method gets in place of reading again. What these methods do is said in
`vm/interp/context_slots.py`. Clauses themselves are handled in `functions`; storing is for the runtime.
"""

from __future__ import annotations

from .. import symbols
from ..syntax import ast
from .constants import emit_constant
from .emitter import Label
from .generator import Generator


def load_slot(g: Generator, node: ast.FieldAccess) -> None:
    """Push the value of `m.slot`."""
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
    """Generate what pops the value on the stack and writes it into a slot. A function with a clause for the slot sees what it
    wrote."""
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


class SlotChange:
    """A change of what a slot holds, for which its memory has been evaluated: from `begin`, which puts the present value
    into a variable, to `end`, which stores what the variable holds then. When another task has written the slot in between,
    all of that is done again (optimistic concurrency). `memory` and `seen` are the numbers of the locals that hold the memory and
    what the slot held at `begin`; `again` is where the change begins, at `depth` of the operand stack."""

    __slots__ = ("node", "memory", "seen", "again", "depth")

    def __init__(self, g: Generator, node: ast.FieldAccess) -> None:
        self.node = node
        self.memory = g.emitter.temp()
        self.seen = g.emitter.temp()
        self.again = Label()
        self.depth = 0
        g.value(node.receiver)
        g.emitter.emit("STORE", self.memory)

    def begin(self, g: Generator, root: symbols.Local) -> None:
        """Mark where the change begins, and load the value of the slot into the variable `root`."""
        access, e = self.node.target, g.emitter
        assert isinstance(access, symbols.SlotAccess)
        self.depth = e.depth
        e.mark(self.again, e.depth)
        self._name(g)
        call(g, "_seen", 1)
        e.emit("STORE", self.seen)
        self._name(g)
        e.emit("LOAD", self.seen)
        e.emit("GET_ELEMENT", 0)
        fallback = access.slot.declaration.default is not None
        call(g, "_needed" if access.needed and not fallback else "_slot", 2)
        g.store(root)

    def end(self, g: Generator, root: symbols.Local) -> None:
        """Store the variable `root` into the slot, or jump back to `begin` when the slot has changed."""
        access, e = self.node.target, g.emitter
        assert isinstance(access, symbols.SlotAccess)
        # What the change left on the stack would be lost by the jump back.
        results = [e.temp() for _ in range(e.depth - self.depth)]
        for slot in results:
            e.emit("STORE", slot)
        self._name(g)
        g.load(root)
        e.emit("LOAD", self.seen)
        e.emit("GET_ELEMENT", 1)
        e.emit("TRUE" if access.held is not None else "FALSE")
        call(g, "_swap", 4)
        e.emit("STORE", self.seen)
        e.emit("LOAD", self.seen)
        e.emit("GET_ELEMENT", 0)
        # `_swap` says whether the slot still held what `_seen` saw.
        e.jump("JUMP_UNLESS", self.again)
        if access.held is not None:
            e.emit("LOAD", self.seen)
            e.emit("GET_ELEMENT", 1)
            g.store(access.held)
        for slot in reversed(results):
            e.emit("LOAD", slot)
        for slot in (self.seen, self.memory, *results):
            e.release(slot)

    def _name(self, g: Generator) -> None:
        access = self.node.target
        assert isinstance(access, symbols.SlotAccess)
        g.emitter.emit("LOAD", self.memory)
        g.at(self.node.name.span)
        emit_constant(g, access.slot.name)


def after_write(g: Generator, node: ast.MethodCall, name: int) -> None:
    """Generate what loads anew the slot that `remember` or `forget` has written, if the function has loaded it before. `name`:
    the number of the local variable of the frame that holds the written name."""
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
    """Generate the call of the hidden method `name` of a memory, which lies on the stack below its `count` arguments. Its result
    takes their place."""
    g.emitter.emit("CALL_METHOD", g.module.pool.method(name, count, []), count)
