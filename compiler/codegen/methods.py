"""Code for methods of the program, called directly, and for methods found at run time (L-3.10.3, L-3.7.1, L-5.5.6).

Hands on `declared_method`, `tool_method`, `trait_method`, `dynamic_call`. Must not know: built-in methods known when compiling
(`calls`).
"""

from __future__ import annotations

from ...vm.builtins.table import methods_named
from .. import ast, decisions
from .. import types as t
from . import places
from .arguments import Arguments, into_numbered_slots, into_slots, is_simple, load_slots, push_arguments, receive
from .emitter import Label
from .generator import Generator
from .interference import root_of
from .module import trait_site


def trait_method(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.TraitCall) -> None:
    """`x.m(…)` where the run-time type of x decides: through the trait's table (L-3.10.4)."""
    arguments: Arguments = [target.receiver, *target.arguments]
    order = [0, *(index + 1 for index in target.order)]
    method = trait_site(g.module, target.trait, target.function)
    if target.function.changes_self:
        _changing_method(g, node, target, arguments, order, ("CALL_INOUT", method, len(target.arguments)))
    else:
        push_arguments(g, target.function, arguments, order)
        g.at(node.span)
        g.emitter.emit("CALL_METHOD", method, len(target.arguments))


def declared_method(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.MethodTarget) -> None:
    """`x.m(…)`: the receiver is the first argument."""
    arguments: Arguments = [target.receiver, *target.arguments]
    order = [0, *(index + 1 for index in target.order)]
    if target.function.changes_self:
        call = ("CALL", g.module.functions[target.function], len(arguments))
        _changing_method(g, node, target, arguments, order, call)
    else:
        push_arguments(g, target.function, arguments, order)
        g.at(node.span)
        g.emitter.emit("CALL", g.module.functions[target.function], len(arguments))


def tool_method(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.ToolTarget) -> None:
    """`T.m(…)` of a tool: the host calls it with the state. Arguments left out go by name, as those after them (O-4.28)."""
    e = g.emitter
    g.value(target.receiver)
    given = sorted(target.order)
    slots = {}
    for index in target.order:
        argument = target.arguments[index]
        assert argument is not None
        g.bound(argument)
        if target.order != given:
            slots[index] = e.temp()
            e.emit("STORE", slots[index])
    for index in given if slots else ():
        e.emit("LOAD", slots[index])
        e.release(slots[index])
    names = [parameter.name.text for parameter in target.function.declaration.parameters if not parameter.is_self]
    by_name = [names[index] for position, index in enumerate(given) if index != position]
    g.at(node.span)
    e.emit("CALL_METHOD", g.module.pool.method(target.function.name, len(given), by_name), len(given))


def _changing_method(
    g: Generator,
    node: ast.Call | ast.MethodCall,
    target: decisions.MethodTarget | decisions.TraitCall,
    arguments: Arguments,
    order: list[int],
    call: tuple[str, int, int],
) -> None:
    """A method with `mut self`: it gives its result and the new receiver, which is stored back (L-5.5.6)."""
    e = g.emitter
    root = root_of(target.receiver)
    place = places.prepare(g, target.receiver) if root is not None else None
    slots: dict[int, int] = {}
    if place is None:
        push_arguments(g, target.function, arguments, order)
    elif order == list(range(len(arguments))) and all(a is not None and is_simple(a, root) for a in arguments[1:]):
        places.look(g, place)
        receive(g, place)
        push_arguments(g, target.function, arguments[1:], list(range(len(arguments) - 1)))
    else:
        slots = into_numbered_slots(g, target.function, arguments, order[1:], place)
        load_slots(g, slots)
    g.at(node.span)
    e.emit(*call)
    store_back(g, place)
    for slot in slots.values():
        e.release(slot)


def store_back(g: Generator, place: places.Place | None) -> None:
    """From the pair of a result and a new receiver on the stack to the result."""
    e = g.emitter
    if place is not None:
        pair = e.temp()
        e.emit("STORE", pair)
        e.emit("LOAD", pair)
        e.emit("GET_ELEMENT", 1)
        places.write(g, place)
        e.emit("LOAD", pair)
        e.release(pair)
        places.release(g, place)
    e.emit("GET_ELEMENT", 0)


def dynamic_call(g: Generator, node: ast.MethodCall, target: decisions.DynamicCall) -> None:
    """A method found at run time. Where it may turn out to be *mut*, the receiver comes last as in `mutating_call`: owned if it
    stands in a mutable place or is a temporary, else marked shared, so that such a method refuses (L-3.7.1)."""
    arguments = [argument for argument in target.arguments if argument is not None]
    g.module.all_language_methods(target.name)
    g.module.all_trait_methods(target.name)
    g.module.partly_given(target.name, len(target.arguments), target.names)
    if target.may_change:
        _perhaps_mutating(g, node, target, arguments)
        return
    g.held(node.receiver, arguments)
    for argument in arguments:
        g.bound(argument)
    _call_method(g, node, target)


def _call_method(g: Generator, node: ast.MethodCall, target: decisions.DynamicCall) -> None:
    g.at(node.name.span)
    count = len(target.arguments)
    g.emitter.emit("CALL_METHOD", g.module.pool.method(target.name, count, target.names), count)


def _perhaps_mutating(
    g: Generator, node: ast.MethodCall, target: decisions.DynamicCall, arguments: list[ast.Expr]
) -> None:
    e = g.emitter
    root = root_of(node.receiver)
    if root is not None:
        place = places.prepare(g, node.receiver)
    else:
        g.bound(node.receiver)
        place = places.temporary(g)
    slots = into_slots(g, arguments)
    g.at(node.receiver.span)
    places.look(g, place)
    end = Label()
    depth = e.depth
    if root is None or root.mutable:
        _language_mutation_of_any(g, node, target, place, slots, end)
        _program_mutation_of_any(g, node, target, place, slots, end)
        places.own(g, place)
    else:
        places.read(g, place)
        e.emit("SHARE")
    for slot in slots:
        e.emit("LOAD", slot)
    _call_method(g, node, target)
    e.mark(end, depth + 1)
    places.release(g, place)
    for slot in slots:
        e.release(slot)


def _language_mutation_of_any(
    g: Generator, node: ast.MethodCall, target: decisions.DynamicCall, place: places.Place, slots: list[int], end: Label
) -> None:
    """A *mut* method written in the language gives the new receiver, so it is called here when the kind is the right one."""
    e = g.emitter
    for receiver, row in methods_named(target.name):
        if not row.source or not row.mut or target.names or len(slots) != len(row.parameters):
            continue
        depth = e.depth
        other = Label()
        places.read(g, place)
        e.emit("IS", g.module.pool.type(t.Generic(receiver, (t.ANY,))))
        e.jump("JUMP_UNLESS", other)
        places.read(g, place)
        e.emit("SHARE")
        for slot in slots:
            e.emit("LOAD", slot)
        g.at(node.name.span)
        e.emit("CALL", g.module.language_method(receiver, target.name), 1 + len(slots))
        places.write(g, place)
        e.emit("NIL")
        e.jump("JUMP", end)
        e.mark(other, depth)


def _program_mutation_of_any(
    g: Generator, node: ast.MethodCall, target: decisions.DynamicCall, place: places.Place, slots: list[int], end: Label
) -> None:
    """A method of the program with `mut self`, if the receiver turns out to have one."""
    if target.name not in g.module.changing:
        return
    e = g.emitter
    depth = e.depth
    other = Label()
    method = g.module.pool.method(target.name, len(slots), target.names)
    places.read(g, place)
    e.emit("CHANGES_SELF", method)
    e.jump("JUMP_UNLESS", other)
    receive(g, place)
    for slot in slots:
        e.emit("LOAD", slot)
    g.at(node.name.span)
    e.emit("CALL_INOUT", method, len(slots))
    pair = e.temp()
    e.emit("STORE", pair)
    e.emit("LOAD", pair)
    e.emit("GET_ELEMENT", 1)
    places.write(g, place)
    e.emit("LOAD", pair)
    e.release(pair)
    e.emit("GET_ELEMENT", 0)
    e.jump("JUMP", end)
    e.mark(other, depth)
