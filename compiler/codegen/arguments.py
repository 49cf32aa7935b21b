"""Code for arguments: in parameter order, whatever the order they are written in, with defaults for those left out (L-5.9.1).

Hands on `push_arguments`, `into_numbered_slots` and `load_slots` for declared functions, and `as_written`, `into_slots`,
`receive` and `is_simple`, to `calls`, with the type `Arguments`. The instruction that calls is written there; what is called
from here are defaults only. To push is to write the code into `g.emitter` that leaves a value on the operand stack when it
runs; a slot is the number of a local of the function. Whether the arguments suit was decided by the checker, and nothing is
raised here; what the generators raise, TooLong of `constants` and RecursionError, passes through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import decisions, symbols
from ..syntax import ast
from . import places
from .generator import Generator, is_plain, root_of, static_type

# By parameter, in their order: what is written for it, None where its default is used.
Arguments = list[ast.Expr | None]


def push_arguments(g: Generator, function: symbols.FunctionSymbol, arguments: Arguments, order: list[int]) -> None:
    """Push the arguments of a declared function in the order of its parameters. `arguments` has one entry for each
    parameter, None where the default is used; `order` has the 0-based positions of the written ones in the order written."""
    # The usual case: written in order, none left out, so no slots are needed.
    if order == list(range(len(arguments))):
        for index, argument in enumerate(arguments):
            assert argument is not None
            _argument(g, function, argument, index, arguments)
        return
    slots = into_numbered_slots(g, function, arguments, order)
    load_slots(g, slots)
    for slot in slots.values():
        g.emitter.release(slot)


def load_slots(g: Generator, slots: dict[int, int], again: bool = False) -> None:
    """Push the values of the parameters 0, 1, …; `slots` has the slot of each. `again`: all but the first are marked shared,
    since they may be pushed once more (`slots.SlotChange`)."""
    for index in range(len(slots)):
        g.emitter.emit("LOAD", slots[index])
        if again and index:
            g.emitter.emit("SHARE")


def _argument(
    g: Generator, function: symbols.FunctionSymbol, argument: ast.Expr, index: int, arguments: Arguments
) -> None:
    """Push one argument. A plain `self` is only read while the method runs; the method itself marks it shared if it binds
    it elsewhere. But what closures hold, the method's own calls may write."""
    root = root_of(argument)
    if index == 0 and function.takes_self and (root is None or not root.captured):
        g.operand(argument, [later for later in arguments[1:] if later is not None])
    else:
        g.bound(argument)


def into_numbered_slots(
    g: Generator,
    function: symbols.FunctionSymbol,
    arguments: Arguments,
    order: list[int],
    receiver: places.Place | None = None,
) -> dict[int, int]:
    """Evaluate the written arguments in their order, then the missing defaults left to right, which see earlier parameters
    (L-5.9.1); return the slot of each parameter by its 0-based number. The caller releases the slots. A `receiver` that the
    method changes, a place that has been prepared, is read between the two: it is the value that the arguments left behind;
    `order` is then without 0. None: there is none, or it is an argument like others."""
    e = g.emitter
    slots = {}
    for index in order:
        argument = arguments[index]
        assert argument is not None
        g.bound(argument)
        slots[index] = e.temp()
        e.emit("STORE", slots[index])
    if receiver is not None:
        if arguments[0] is not None:
            g.at(arguments[0].span)
        places.look(g, receiver)
        receive(g, receiver)
        slots[0] = e.temp()
        e.emit("STORE", slots[0])
    for index in range(len(arguments)):
        if index not in slots:
            for earlier in range(index):
                e.emit("LOAD", slots[earlier])
            # A default is a function of the parameters before it.
            e.emit("CALL", g.module.defaults[function][index], index)
            slots[index] = e.temp()
            e.emit("STORE", slots[index])
    return slots


def receive(g: Generator, place: places.Place) -> None:
    """Push the present value of a place, as the receiver of a method that may change it. What no closure holds is lent, unless it
    lies in a tuple or is found by name: the method writes into it where it stands, and nobody else sees it before the new value
    is stored back. Any other value is marked shared."""
    if place.root in g.slots and all(step.kind in ("field", "index") for step in place.steps):
        places.lend(g, place)
    else:
        places.read(g, place)
        g.emitter.emit("SHARE")


def into_slots(g: Generator, arguments: list[ast.Expr]) -> list[int]:
    """Evaluate the arguments in their order; return their slots, which the caller releases."""
    slots = []
    for argument in arguments:
        g.bound(argument)
        slots.append(g.emitter.temp())
        g.emitter.emit("STORE", slots[-1])
    return slots


@contextmanager
def as_written(g: Generator, target: decisions.CallTarget) -> Iterator[None]:
    """Let the code inside push the arguments in the order of the parameters, whatever the order they are written in (L-5.9.1):
    where that is another one, they are evaluated before it, and it pushes what came out. In order they are evaluated where it
    pushes them. To be used in `with`."""
    in_order = target.order == sorted(target.order)
    arguments = [] if in_order else [target.arguments[index] for index in target.order]
    written = [argument for argument in arguments if argument is not None]
    slots = into_slots(g, written)
    outer = g.value_slots
    g.value_slots = {**outer, **dict(zip(written, slots, strict=True))}
    yield
    g.value_slots = outer
    for slot in slots:
        g.emitter.release(slot)


def is_simple(expr: ast.Expr, root: symbols.Local | None) -> bool:
    """Return whether evaluating the expression can change nothing and call nothing, and marks nothing of `root` as shared; False
    where that is not plain from its form. `root` is the variable that a receiver stands in, None for a receiver that is no
    place."""
    if isinstance(expr, (ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral, ast.NilLiteral)):
        return True
    if isinstance(expr, ast.GroupExpr):
        return is_simple(expr.inner, root)
    if isinstance(expr, ast.Binary):
        operands = (expr.left, expr.right)
        return expr.operator in "+-*" and all(not isinstance(o, ast.Binary) and is_simple(o, root) for o in operands)
    if isinstance(expr, ast.FieldAccess):
        if isinstance(expr.target, symbols.SlotAccess):  # it is an access, and its default is computed
            return False
        return is_simple(expr.receiver, None) and _is_apart(expr, root)
    return isinstance(expr, ast.PathExpr) and _is_apart(expr, root)


def _is_apart(expr: ast.Expr, root: symbols.Local | None) -> bool:
    return root is None or is_plain(static_type(expr)) or root_of(expr) is not root
