"""Code for calls: functions, function values, built-in methods, constructors, handles."""

from __future__ import annotations

from collections.abc import Callable

from ...vm.builtins import FUNCTIONS, Row, lookup
from ...vm.builtins.std import STD_PREFIX, std_row
from ...vm.builtins.table import methods_named, takes_receiver
from .. import ast, symbols
from .. import types as t
from . import places
from .constants import emit_constant
from .emitter import Label
from .generator import Generator, effect_of, is_plain, static_type, value_of
from .interference import root_of

_CONSTRUCTORS = {"Some": "SOME", "Ok": "OK", "Err": "ERR"}


@value_of(ast.Call, ast.MethodCall)
def call(g: Generator, node: ast.Call | ast.MethodCall) -> None:
    target = node.target
    if isinstance(target, symbols.FunctionCall):
        function_call(g, node, target)
    elif isinstance(target, symbols.MethodTarget):
        declared_method(g, node, target)
    elif isinstance(target, symbols.ValueCall):
        value_call(g, node, target)
    elif isinstance(target, symbols.ConstructorCall):
        constructor_call(g, target)
    elif isinstance(target, symbols.VariantCall):
        variant_call(g, target)
    elif isinstance(target, symbols.ErrorCall):
        error_call(g, target)
    elif isinstance(target, symbols.RecordCall):
        record_call(g, target)
    elif isinstance(target, symbols.DynamicCall):
        assert isinstance(node, ast.MethodCall)
        dynamic_call(g, node, target)
    elif isinstance(target, symbols.BuiltinCall):
        builtin_call(g, node, target)
    else:
        raise AssertionError(f"call without target at {node.span}")


@effect_of(ast.Call, ast.MethodCall)
def call_effect(g: Generator, node: ast.Call | ast.MethodCall) -> None:
    target = node.target
    if isinstance(target, symbols.BuiltinCall) and not target.receiver_kind and target.name in _SPECIAL_EFFECTS:
        g.at(node.span)
        _SPECIAL_EFFECTS[target.name](g, target)
        return
    g.value(node)
    g.emitter.emit("POP")


# ---------------------------------------------------------------- functions and values


def function_call(g: Generator, node: ast.Call | ast.MethodCall, target: symbols.FunctionCall) -> None:
    _push_arguments(g, target.function, target.arguments, target.order)
    g.at(node.span)
    g.emitter.emit("CALL", g.module.functions[target.function], len(target.arguments))


Arguments = list[ast.Expr | None]


def _push_arguments(g: Generator, function: symbols.FunctionSymbol, arguments: Arguments, order: list[int]) -> None:
    if order == list(range(len(arguments))):
        for index, argument in enumerate(arguments):
            assert argument is not None
            _argument(g, function, argument, index, arguments)
        return
    slots = _into_numbered_slots(g, function, arguments, order)
    for index in range(len(arguments)):
        g.emitter.emit("LOAD", slots[index])
    for slot in slots.values():
        g.emitter.release(slot)


def _argument(
    g: Generator, function: symbols.FunctionSymbol, argument: ast.Expr, index: int, arguments: Arguments
) -> None:
    """A plain `self` is only read while the method runs, unless the method itself binds it elsewhere, and marks it shared then;
    but what closures hold, the method's own calls may write."""
    root = root_of(argument)
    if index == 0 and function.takes_self and (root is None or not root.captured):
        g.held(argument, [later for later in arguments[1:] if later is not None])
    else:
        g.bound(argument)


def _into_numbered_slots(
    g: Generator, function: symbols.FunctionSymbol, arguments: Arguments, order: list[int]
) -> dict[int, int]:
    """Given arguments in the order written, then the missing defaults left to right, which see earlier parameters (L-5.9.1)."""
    e = g.emitter
    slots = {}
    for index in order:
        argument = arguments[index]
        assert argument is not None
        g.bound(argument)
        slots[index] = e.temp()
        e.emit("STORE", slots[index])
    for index in range(len(arguments)):
        if index not in slots:
            for earlier in range(index):
                e.emit("LOAD", slots[earlier])
            e.emit("CALL", g.module.defaults[function][index], index)
            slots[index] = e.temp()
            e.emit("STORE", slots[index])
    return slots


# ---------------------------------------------------------------- methods of the program


def declared_method(g: Generator, node: ast.Call | ast.MethodCall, target: symbols.MethodTarget) -> None:
    """`x.m(…)`: the receiver is the first argument."""
    arguments: Arguments = [target.receiver, *target.arguments]
    order = [0, *(index + 1 for index in target.order)]
    if target.function.changes_self:
        _changing_method(g, node, target, arguments, order)
    else:
        _push_arguments(g, target.function, arguments, order)
        g.at(node.span)
        g.emitter.emit("CALL", g.module.functions[target.function], len(arguments))


def _changing_method(
    g: Generator, node: ast.Call | ast.MethodCall, target: symbols.MethodTarget, arguments: Arguments, order: list[int]
) -> None:
    """A method with `mut self`: it gives its result and the new receiver, which is stored back (L-5.5.6)."""
    e = g.emitter
    root = root_of(target.receiver)
    place = places.prepare(g, target.receiver) if root is not None else None
    if place is None or None in arguments or order != list(range(len(arguments))):
        _push_arguments(g, target.function, arguments, order)
    elif all(argument is not None and _is_simple(argument, root) for argument in arguments[1:]):
        _receive(g, place)
        _push_arguments(g, target.function, arguments[1:], list(range(len(arguments) - 1)))
    else:
        slots = _into_slots(g, [argument for argument in arguments[1:] if argument is not None])
        _receive(g, place)
        for slot in slots:
            e.emit("LOAD", slot)
            e.release(slot)
    g.at(node.span)
    e.emit("CALL", g.module.functions[target.function], len(arguments))
    store_back(g, place)


def _receive(g: Generator, place: places.Place) -> None:
    """The present value of a place. A plain local is lent: nobody else sees it before the new value is stored back."""
    places.read(g, place)
    if place.steps or place.root not in g.slots:
        g.emitter.emit("SHARE")


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


# ---------------------------------------------------------------- function values


def value_call(g: Generator, node: ast.Call | ast.MethodCall, target: symbols.ValueCall) -> None:
    g.value(target.callee)
    for argument in target.arguments:
        assert argument is not None
        g.bound(argument)
    g.at(node.span)
    g.emitter.emit("CALL_VALUE", len(target.arguments), len(target.arguments))


def constructor_call(g: Generator, target: symbols.ConstructorCall) -> None:
    argument = target.arguments[0] if target.arguments else None
    if argument is None:
        g.emitter.emit("NIL")
    else:
        g.bound(argument)
    g.emitter.emit(_CONSTRUCTORS[target.name])


def variant_call(g: Generator, target: symbols.VariantCall) -> None:
    for argument in target.arguments:
        assert argument is not None
        g.bound(argument)
    g.emitter.emit("VARIANT", g.module.variant(target.variant), len(target.arguments))


def error_call(g: Generator, target: symbols.ErrorCall) -> None:
    if not target.arguments or target.arguments[0] is None:
        g.emitter.emit("NIL")
    for argument in target.arguments:
        if argument is not None:
            g.bound(argument)
    form = g.module.pool.error(target.family, target.variant, target.fields)
    g.emitter.emit("ERROR", form, 1 + len(target.fields))


def record_call(g: Generator, target: symbols.RecordCall) -> None:
    given = [argument for argument in target.arguments if argument is not None]
    for argument in given:
        g.bound(argument)
    g.emitter.emit("CALL_BUILTIN", g.module.pool.builtin(target.record, target.constructor), len(given))


def dynamic_call(g: Generator, node: ast.MethodCall, target: symbols.DynamicCall) -> None:
    """A method found at run time. Where it may turn out to be *mut*, the receiver comes last as in `mutating_call`: owned if it
    stands in a mutable place or is a temporary, else marked shared, so that such a method refuses (L-3.7.1)."""
    arguments = [argument for argument in target.arguments if argument is not None]
    g.module.all_language_methods(target.name)
    if target.may_change:
        _perhaps_mutating(g, node, target, arguments)
        return
    g.held(node.receiver, arguments)
    for argument in arguments:
        g.bound(argument)
    _call_method(g, node, target)


def _call_method(g: Generator, node: ast.MethodCall, target: symbols.DynamicCall) -> None:
    g.at(node.name.span)
    count = len(target.arguments)
    g.emitter.emit("CALL_METHOD", g.module.pool.method(target.name, count, target.names), count)


def _perhaps_mutating(
    g: Generator, node: ast.MethodCall, target: symbols.DynamicCall, arguments: list[ast.Expr]
) -> None:
    e = g.emitter
    root = root_of(node.receiver)
    if root is not None:
        place = places.prepare(g, node.receiver)
    else:
        g.bound(node.receiver)
        place = places.temporary(g)
    slots = _into_slots(g, arguments)
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
        e.release(slot)
    _call_method(g, node, target)
    e.mark(end, depth + 1)
    places.release(g, place)


def _into_slots(g: Generator, arguments: list[ast.Expr]) -> list[int]:
    slots = []
    for argument in arguments:
        g.bound(argument)
        slots.append(g.emitter.temp())
        g.emitter.emit("STORE", slots[-1])
    return slots


def _language_mutation_of_any(
    g: Generator, node: ast.MethodCall, target: symbols.DynamicCall, place: places.Place, slots: list[int], end: Label
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
    g: Generator, node: ast.MethodCall, target: symbols.DynamicCall, place: places.Place, slots: list[int], end: Label
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
    _receive(g, place)
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


# ---------------------------------------------------------------- built-ins


def _row(target: symbols.BuiltinCall) -> Row:
    if target.receiver_kind.startswith(STD_PREFIX):
        row = std_row(target.receiver_kind.removeprefix(STD_PREFIX), target.name)
    else:
        row = lookup(target.receiver_kind, target.name) if target.receiver_kind else FUNCTIONS.get(target.name)
    assert row is not None, f"{target.receiver_kind}.{target.name}"
    return row


def builtin_call(g: Generator, node: ast.Call | ast.MethodCall, target: symbols.BuiltinCall) -> None:
    if not target.receiver_kind and target.name in _SPECIAL_EFFECTS:
        _SPECIAL_EFFECTS[target.name](g, target)
        g.emitter.emit("NIL")
        return
    row = _row(target)
    if row.kind == "handle":
        assert isinstance(node, ast.MethodCall)
        handle_call(g, node, target)
    elif row.mut:
        assert isinstance(node, ast.MethodCall)
        mutating_call(g, node, target, row)
    else:
        given = [argument for argument in target.arguments if argument is not None]
        if isinstance(node, ast.MethodCall) and target.receiver_kind:
            _receiver(g, node.receiver, row, given)
        _arguments(g, target, row)
        g.at(node.span)
        _invoke(g, target, row)
        if target.name == "sum" and node.type == t.FLOAT:
            g.emitter.emit("INT_TO_FLOAT")  # of no elements it gives the Int 0 (L-6.4.17)


def _receiver(g: Generator, receiver: ast.Expr, row: Row, arguments: list[ast.Expr]) -> None:
    """A method written in the language binds its receiver to `self`; any other only reads it."""
    if row.source:
        g.bound(receiver)
    else:
        g.held(receiver, arguments)


def _arguments(g: Generator, target: symbols.BuiltinCall, row: Row) -> None:
    """Arguments in parameter order. Those of built-ins are evaluated in that order too when nothing was named."""
    if target.order != sorted(target.order):
        slots = {}
        for index in target.order:
            argument = target.arguments[index]
            assert argument is not None
            g.bound(argument)
            slots[index] = g.emitter.temp()
            g.emitter.emit("STORE", slots[index])
        for index in range(len(target.arguments)):
            if index in slots:
                g.emitter.emit("LOAD", slots[index])
                g.emitter.release(slots[index])
            else:
                emit_constant(g, row.parameters[index].default)
        return
    for index, argument in enumerate(target.arguments):
        if argument is None:
            emit_constant(g, row.parameters[index].default)
        elif target.receiver_kind:
            g.bound(argument)
        else:  # the global functions keep nothing of what they are given
            g.held(argument, [later for later in target.arguments[index + 1 :] if later is not None])


def _invoke(g: Generator, target: symbols.BuiltinCall, row: Row) -> None:
    e = g.emitter
    count = len(row.parameters) + takes_receiver(target.receiver_kind, target.name)
    if row.source:
        e.emit("CALL", g.module.language_method(target.receiver_kind, target.name), count)
    else:
        e.emit("CALL_BUILTIN", g.module.pool.builtin(target.receiver_kind, target.name), count)


def mutating_call(g: Generator, node: ast.MethodCall, target: symbols.BuiltinCall, row: Row) -> None:
    """A *mut* method: arguments first, unless they are simple, then the owned receiver, so that nothing comes between the two."""
    e = g.emitter
    if row.source:
        _language_mutation(g, node, target, row)
        return
    root = root_of(node.receiver)
    if root is not None:
        place = places.prepare(g, node.receiver)
    else:  # the change is lost with the temporary (L-5.5.6), and nobody else sees it
        g.bound(node.receiver)
        place = places.temporary(g)
    if all(argument is None or _is_simple(argument, root) for argument in target.arguments):
        places.own(g, place)
        _arguments(g, target, row)
    elif len(target.arguments) == 1:
        _arguments(g, target, row)
        places.own(g, place)
        e.emit("SWAP")
    else:
        _arguments(g, target, row)
        slots = [e.temp() for _ in target.arguments]
        for slot in reversed(slots):
            e.emit("STORE", slot)
        places.own(g, place)
        for slot in slots:
            e.emit("LOAD", slot)
            e.release(slot)
    g.at(node.name.span)
    _invoke(g, target, row)
    places.release(g, place)


def _language_mutation(g: Generator, node: ast.MethodCall, target: symbols.BuiltinCall, row: Row) -> None:
    """The body gives the new receiver, which is stored back; the call itself gives nil."""
    e = g.emitter
    in_place = places.is_place(node.receiver)
    place = places.prepare(g, node.receiver) if in_place else None
    if place is not None:
        places.read(g, place)
        e.emit("SHARE")
    else:
        g.value(node.receiver)
    _arguments(g, target, row)
    g.at(node.name.span)
    _invoke(g, target, row)
    if place is not None:
        places.write(g, place)
        places.release(g, place)
    else:
        e.emit("POP")
    e.emit("NIL")


def _is_simple(expr: ast.Expr, root: symbols.Local | None) -> bool:
    """Evaluating it can change nothing and call nothing, and marks nothing of `root` as shared."""
    if isinstance(expr, (ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral, ast.NilLiteral)):
        return True
    if isinstance(expr, ast.GroupExpr):
        return _is_simple(expr.inner, root)
    if isinstance(expr, ast.Binary):
        operands = (expr.left, expr.right)
        return expr.operator in "+-*" and all(not isinstance(o, ast.Binary) and _is_simple(o, root) for o in operands)
    if isinstance(expr, ast.FieldAccess):
        return _is_simple(expr.receiver, None) and _is_apart(expr, root)
    return isinstance(expr, ast.PathExpr) and _is_apart(expr, root)


def _is_apart(expr: ast.Expr, root: symbols.Local | None) -> bool:
    return root is None or is_plain(static_type(expr)) or root_of(expr) is not root


def handle_call(g: Generator, node: ast.MethodCall, target: symbols.BuiltinCall) -> None:
    """A method of a memory, model or builder: through exec_call_method; a left-out argument and those after it go by name."""
    e = g.emitter
    g.value(node.receiver)
    count = 0
    names: list[str] = []
    row = _row(target)
    if target.schema is not None:
        e.emit("SCHEMA", g.module.schemas[target.schema])
        count += 1
    skipped = False
    for index, argument in enumerate(target.arguments):
        if argument is None:
            skipped = True
            continue
        g.bound(argument)
        count += 1
        if skipped:
            names.append(row.parameters[index].name)
    g.at(node.name.span)
    e.emit("CALL_METHOD", g.module.pool.method(target.name, count, names), count)


# ---------------------------------------------------------------- special functions


def _emit(g: Generator, target: symbols.BuiltinCall) -> None:
    channel, payload = (*target.arguments, None)[:2]
    assert channel is not None
    g.value(channel)
    if payload is None:
        g.emitter.emit("NIL")
    else:
        g.bound(payload)
        if target.type_arguments and static_type(payload) == t.ANY:
            g.emitter.emit("CHECK", g.module.pool.type(target.type_arguments[0]))
    g.emitter.emit("EMIT")


Special = Callable[[Generator, symbols.BuiltinCall], None]


def _print(opcode: str) -> Special:
    def generate(g: Generator, target: symbols.BuiltinCall) -> None:
        given = [argument for argument in target.arguments if argument is not None]
        g.held_all(given)
        g.emitter.emit(opcode, len(given), len(given))

    return generate


def _flush_emits(g: Generator, target: symbols.BuiltinCall) -> None:
    """Emits leave at once: there is nothing to deliver (O-5.28, O-5.32)."""


_SPECIAL_EFFECTS: dict[str, Special] = {
    "emit": _emit, "print": _print("PRINT"), "println": _print("PRINTLN"), "flush_emits": _flush_emits,
}  # fmt: skip
