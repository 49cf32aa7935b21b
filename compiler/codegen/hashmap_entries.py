"""Code for entries of hashmaps in brackets (O-5.40): `h[k]`, `h[k] = v`, and changes of what an entry holds.

Hands on `load_entry`, `store_entry` and `EntryChange` to the other generators, LITERALS to `functions`. Reading is the hidden
method `_at`, which is `get` with the panic of a Map; writing is `set`. Between the two of a change no other task runs: the
checker lets no method into it that asks the host (E4515). In a program with a hashmap in a store (O-5.41) others may write in
the middle: there a change is made again until the entry still held what it began with (`_swap`). To generate is to write code
into `g.emitter`, to push to write code that leaves a value on the operand stack. Whether `h[k]` is an entry is said by
`generator.is_entry`; nothing is raised here, but what the code for hashmap, key and value raises (TooLong of `constants`,
RecursionError) passes through.
"""

from __future__ import annotations

from .. import symbols
from ..syntax import ast
from .emitter import Label
from .generator import Generator

# Keys that are pushed again where they are needed; any other is evaluated once, into a slot.
LITERALS = (ast.IntLiteral, ast.StringLiteral, ast.BoolLiteral)


def load_entry(g: Generator, node: ast.Index) -> None:
    """Push the value of `h[k]`."""
    g.operand(node.receiver, [node.index])
    g.value(node.index)
    g.at(node.span)
    _call(g, "_at", 1)


def store_entry(g: Generator, node: ast.Index, value: ast.Expr, wants_value: bool) -> None:
    """Generate `h[k] = value`, evaluated from left to right; `wants_value` pushes the value as well."""
    e = g.emitter
    g.operand(node.receiver, [node.index, value])
    g.bound(node.index)
    g.bound(value)
    copy = e.temp() if wants_value else None
    if copy is not None:
        e.emit("SHARE")
        e.emit("DUP")
        e.emit("STORE", copy)
    g.at(node.span)
    _call(g, "set", 2)
    e.emit("POP")
    if copy is not None:
        e.emit("LOAD", copy)
        e.release(copy)


class EntryChange:
    """A change of what an entry holds, for which hashmap and key have been evaluated: from `begin`, which puts the present value
    into a variable, to `end`, which stores what the variable holds then. Both generate code; `__init__` generates the evaluation.
    `hashmap` and `key` are the slots of these, None for one that is written again; `seen` is the slot of what the entry held at
    `begin`, None in a program without hashmaps in a store; `again` is where the change begins, at `depth` of the stack."""

    __slots__ = ("node", "hashmap", "key", "seen", "again", "depth")

    def __init__(self, g: Generator, node: ast.Index) -> None:
        self.node = node
        named = isinstance(node.receiver, ast.PathExpr) and isinstance(node.receiver.binding, symbols.HashMapSymbol)
        self.hashmap = None if named else _into_slot(g, node.receiver)
        literal = isinstance(node.index, LITERALS) and node.index.coercion is None
        self.key = None if literal else _into_slot(g, node.index)
        self.seen = g.emitter.temp() if g.module.has_stored_hashmaps else None
        self.again = Label()
        self.depth = 0

    def begin(self, g: Generator, root: symbols.Local) -> None:
        """Mark where the change begins, if it may be made again, and load the value of the entry into the variable `root`."""
        if self.seen is not None:
            self.depth = g.emitter.depth
            g.emitter.mark(self.again, self.depth)
        self._entry(g)
        g.at(self.node.span)
        _call(g, "_at", 1)
        if self.seen is not None:
            g.emitter.emit("DUP")
            g.emitter.emit("STORE", self.seen)
        g.store(root)

    def end(self, g: Generator, root: symbols.Local) -> None:
        """Store the variable `root` into the entry. In a program with a hashmap in a store, jump back to `begin` when the entry
        has changed."""
        e = g.emitter
        # What the change left on the stack would be lost by a jump back.
        results = [] if self.seen is None else [e.temp() for _ in range(e.depth - self.depth)]
        for slot in results:
            e.emit("STORE", slot)
        self._entry(g)
        if self.seen is not None:
            e.emit("LOAD", self.seen)
        g.load(root)
        g.at(self.node.span)
        if self.seen is None:
            _call(g, "set", 2)
            e.emit("POP")
        else:
            _call(g, "_swap", 3)
            e.jump("JUMP_UNLESS", self.again)
        for slot in reversed(results):
            e.emit("LOAD", slot)
        for temp in (self.hashmap, self.key, self.seen, *results):
            if temp is not None:
                e.release(temp)

    def _entry(self, g: Generator) -> None:
        for slot, expr in ((self.hashmap, self.node.receiver), (self.key, self.node.index)):
            if slot is None:
                g.value(expr)
            else:
                g.emitter.emit("LOAD", slot)


def _into_slot(g: Generator, expr: ast.Expr) -> int:
    """Evaluate an expression into a slot, which the caller releases."""
    g.value(expr)
    slot = g.emitter.temp()
    g.emitter.emit("STORE", slot)
    return slot


def _call(g: Generator, name: str, count: int) -> None:
    g.emitter.emit("CALL_METHOD", g.module.pool.method(name, count, []), count)
