"""Code for calls: functions, function values, methods of the program, built-ins, constructors, handles, and `listen`.

`call` registers itself for calls and method calls and goes by the target that the checker wrote into the node: one function here
for each kind of target (`decisions`). `call_effect` and `listen` register themselves too; nothing is handed on by name. To
generate a call is to write the code into `g.emitter` that leaves its value on the operand stack, in place of receiver and
arguments. Built-ins are called by their rows; code of their own have here those that change their receiver, methods of a handle
(`handle_call`), `len` and `sum`, what reads JSON (`parse_as`) or is asked for a schema, and instructions: `_SPECIAL_EFFECTS` has
the last, but for `ask`.

Which function a call means, and that its arguments suit, was decided by the checker. In which order arguments are evaluated is
the matter of `arguments`, how a changed receiver is stored back that of `places`; a place is a variable and the chain of fields
and indexes behind it. TooLong passes through, by which `constants` refuses too much code for constants, and RecursionError;
AssertionError is a node without target, which no checked program has.
"""

from __future__ import annotations

from collections.abc import Callable

from ...vm.builtins import Row
from ...vm.builtins.modules import built_in_row, methods_named, takes_receiver
from ...vm.bytecode import image as im
from ...vm.memory_steps import VALUE
from .. import decisions, symbols
from .. import types as t
from ..syntax import ast
from . import places
from .arguments import (
    Arguments,
    as_written,
    into_numbered_slots,
    into_slots,
    is_simple,
    load_slots,
    push_arguments,
    receive,
)
from .constants import emit_constant
from .emitter import Label
from .expressions import parse_as
from .functions import enter, finish, leave, race
from .generator import Generator, effect_of, root_of, static_type, value_of
from .module import trait_site
from .schemas import schema_number, wanted_by
from .slots import after_write
from .statements import returned

# Methods of the program, called directly, and methods found at run time (L-3.10.3, L-3.7.1, L-5.5.6).


def trait_method(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.TraitCall) -> None:
    """Generate `x.m(…)` where the run-time type of x decides: through the trait's table (L-3.10.4)."""
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
    """Generate `x.m(…)` of a method of the program: the receiver is the first argument."""
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
    """Generate `T.m(…)` of a tool: the host calls it with the state. When arguments are left out, those behind them are
    passed by name (O-4.28)."""
    e = g.emitter
    g.value(target.receiver)
    in_order = sorted(target.order)
    slots = {}
    for index in target.order:
        argument = target.arguments[index]
        assert argument is not None
        g.bound(argument)
        if target.order != in_order:
            slots[index] = e.temp()
            e.emit("STORE", slots[index])
    for index in in_order if slots else ():
        e.emit("LOAD", slots[index])
        e.release(slots[index])
    # The host matches arguments by position up to the first that is left out, by name behind it.
    names = [parameter.name.text for parameter in target.function.declaration.parameters if not parameter.is_self]
    by_name = [names[index] for position, index in enumerate(in_order) if index != position]
    g.at(node.span)
    e.emit("CALL_METHOD", g.module.pool.method(target.function.name, len(in_order), by_name), len(in_order))


def _changing_method(
    g: Generator,
    node: ast.Call | ast.MethodCall,
    target: decisions.MethodTarget | decisions.TraitCall,
    arguments: Arguments,
    order: list[int],
    call: tuple[str, int, int],
) -> None:
    """Generate a call of a method with `mut self`: it returns its result and the new receiver, which is stored back
    (L-5.5.6)."""
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
        load_slots(g, slots, place.change is not None)
    g.at(node.span)
    # On the stack lie now the receiver and the arguments; the call leaves the pair (result, new self).
    e.emit(*call)
    store_back(g, place)
    for slot in slots.values():
        e.release(slot)


def store_back(g: Generator, place: places.Place | None, stays: bool = False) -> None:
    """Replace the tuple (result, new receiver) on the stack by the result; the receiver goes to its place, which is released
    unless it `stays` in use. Without a place it is dropped."""
    e = g.emitter
    if place is not None:
        pair = e.temp()
        e.emit("STORE", pair)
        e.emit("LOAD", pair)
        e.emit("GET_ELEMENT", 1)
        places.write(g, place)
        e.emit("LOAD", pair)
        e.release(pair)
        if not stays:
            places.release(g, place)
    e.emit("GET_ELEMENT", 0)


def dynamic_call(g: Generator, node: ast.MethodCall, target: decisions.DynamicCall) -> None:
    """Generate a method call whose target is found at run time. Where it may turn out to be *mut*, a method that changes its
    receiver, the receiver is read after the arguments as in `mutating_call`: owned if it stands in a mutable place or is a
    temporary, else marked shared, so that such a method refuses (L-3.7.1)."""
    arguments = [argument for argument in target.arguments if argument is not None]
    # Whatever the receiver turns out to be, its method must be in the image.
    g.module.all_language_methods(target.name)
    g.module.all_trait_methods(target.name)
    g.module.partial_functions(target.name, len(target.arguments), target.names)
    if target.may_change:
        _perhaps_mutating(g, node, target, arguments)
        return
    g.operand(node.receiver, arguments)
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
    # The three kinds of mut methods are tried in turn: of the language, of the program, and, last, built into the machine.
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
    """Try each *mut* method written in the language: it returns the new receiver, so it is called here when the kind of the
    receiver is the right one."""
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
    """Try a method of the program with `mut self`, if the receiver turns out to have one."""
    if target.name not in g.module.changing_methods:
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
    store_back(g, place, stays=True)
    e.jump("JUMP", end)
    e.mark(other, depth)


_CONSTRUCTORS = {"Some": "SOME", "Ok": "OK", "Err": "ERR"}


@value_of(ast.Call, ast.MethodCall)
def call(g: Generator, node: ast.Call | ast.MethodCall) -> None:
    """Generate a call by the class of the target that the checker set on the node: one of `decisions`; before that a `race`,
    whose operands are tasks, and a memory that is made in an expression. AssertionError for a node without target."""
    if isinstance(node, ast.Call) and node.tasks is not None:
        race(g, node)
        return
    if node.memory is not None:
        memory_value(g, node, node.memory)
        return
    target = node.target
    if isinstance(target, decisions.FunctionCall):
        function_call(g, node, target)
    elif isinstance(target, decisions.MethodTarget):
        declared_method(g, node, target)
    elif isinstance(target, decisions.ToolTarget):
        tool_method(g, node, target)
    elif isinstance(target, decisions.TraitCall):
        trait_method(g, node, target)
    elif isinstance(target, decisions.ValueCall):
        value_call(g, node, target)
    elif isinstance(target, decisions.ConstructorCall):
        constructor_call(g, node, target)
    elif isinstance(target, decisions.VariantCall):
        variant_call(g, target)
    elif isinstance(target, decisions.ErrorCall):
        error_call(g, target)
    elif isinstance(target, decisions.RecordCall):
        record_call(g, target)
    elif isinstance(target, decisions.DynamicCall):
        assert isinstance(node, ast.MethodCall)
        dynamic_call(g, node, target)
    elif isinstance(target, decisions.BuiltinCall):
        builtin_call(g, node, target)
    else:
        raise AssertionError(f"call without target at {node.span}")


@effect_of(ast.Call, ast.MethodCall)
def call_effect(g: Generator, node: ast.Call | ast.MethodCall) -> None:
    """Generate a call whose value nobody uses; for the functions of `_SPECIAL_EFFECTS` that saves pushing a nil."""
    target = node.target
    if isinstance(target, decisions.BuiltinCall) and not target.receiver_kind and target.name in _SPECIAL_EFFECTS:
        g.at(node.span)
        _SPECIAL_EFFECTS[target.name](g, target)
        return
    g.value(node)
    g.emitter.emit("POP")


def memory_value(g: Generator, node: ast.Call | ast.MethodCall, memory: symbols.MemorySymbol) -> None:
    """Generate `Memory::new(…)` in an expression: what it begins with, then the bounds that are no constants (M-2.18 to
    M-2.20)."""
    e = g.emitter
    assert memory.value is not None
    e.emit("MEMORY", g.module.numbers[memory])
    if memory.value.messages is None:
        e.emit("NIL")
    else:
        g.bound(memory.value.messages)
    for _, value in memory.computed:
        g.bound(value)
    names = [name for name, _ in memory.computed]
    g.at(node.span)
    e.emit("CALL_METHOD", g.module.pool.method(VALUE, 1 + len(names), names), 1 + len(names))


# ---------------------------------------------------------------- functions and values


def function_call(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.FunctionCall) -> None:
    """Generate a call of a function of the program."""
    push_arguments(g, target.function, target.arguments, target.order)
    g.at(node.span)
    g.emitter.emit("CALL", g.module.functions[target.function], len(target.arguments))


def value_call(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.ValueCall) -> None:
    """Generate a call of a function value: closures, variants and built-ins used as values."""
    g.value(target.callee)
    for argument in target.arguments:
        assert argument is not None
        g.bound(argument)
    g.at(node.span)
    g.emitter.emit("CALL_VALUE", len(target.arguments), len(target.arguments))


def constructor_call(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.ConstructorCall) -> None:
    """Generate `Some`, `Ok` or `Err`. In a method of Result that is written in the language an `Err` keeps the trace of
    `self`."""
    argument = target.arguments[0] if target.arguments else None
    keeps_trace = target.name == "Err" and g.module.of_result
    if keeps_trace:
        g.emitter.emit("LOAD", 0)
    if argument is None:
        g.emitter.emit("NIL")
    else:
        g.bound(argument)
    if target.name == "Err":
        g.at(node.span)  # where the error was made
    g.emitter.emit("ERR_FROM" if keeps_trace else _CONSTRUCTORS[target.name])


def variant_call(g: Generator, target: decisions.VariantCall) -> None:
    """Generate a tuple variant, `E::V(…)`, from its parts."""
    for argument in target.arguments:
        assert argument is not None
        g.bound(argument)
    g.emitter.emit("VARIANT", g.module.variant(target.variant), len(target.arguments))


def error_call(g: Generator, target: decisions.ErrorCall) -> None:
    """Generate an error of a family: its message, which may be left out, then its fields."""
    # Without a message the machine writes the default one of the family.
    if not target.arguments or target.arguments[0] is None:
        g.emitter.emit("NIL")
    for argument in target.arguments:
        if argument is not None:
            g.bound(argument)
    form = g.module.pool.error(target.family, target.variant, target.fields)
    g.emitter.emit("ERROR", form, 1 + len(target.fields))


def record_call(g: Generator, target: decisions.RecordCall) -> None:
    """Generate a constructor of a built-in record, such as `Message`."""
    arguments = [argument for argument in target.arguments if argument is not None]
    with as_written(g, target):
        for argument in arguments:
            g.bound(argument)
    g.emitter.emit("CALL_BUILTIN", g.module.pool.builtin(target.record, target.constructor), len(arguments))


# ---------------------------------------------------------------- built-ins


def _row(target: decisions.BuiltinCall) -> Row:
    row = built_in_row(target.receiver_kind, target.name)
    assert row is not None, f"{target.receiver_kind}.{target.name}"
    return row


def builtin_call(g: Generator, node: ast.Call | ast.MethodCall, target: decisions.BuiltinCall) -> None:
    """Generate a call of a built-in by its row in the registry."""
    # `ask` waits for an answer, so it is an instruction with a value, unlike the other special functions.
    if not target.receiver_kind and target.name == "ask":
        g.at(node.span)
        _ask(g, target)
        return
    if not target.receiver_kind and target.name in _SPECIAL_EFFECTS:
        _SPECIAL_EFFECTS[target.name](g, target)
        g.emitter.emit("NIL")
        return
    row = _row(target)
    if row.kind == "special":
        parse_as(g, node, target)
    elif row.name == "len" and isinstance(node, ast.Call) and not row.module:
        _len(g, node, target)
    elif row.kind == "handle":
        assert isinstance(node, ast.MethodCall)
        handle_call(g, node, target)
    elif row.mut:
        assert isinstance(node, ast.MethodCall)
        mutating_call(g, node, target, row)
    else:
        arguments = [argument for argument in target.arguments if argument is not None]
        if isinstance(node, ast.MethodCall) and target.receiver_kind:
            _receiver(g, node.receiver, row, arguments)
        if row.takes_schema:
            assert target.schema is not None
            g.emitter.emit("SCHEMA", schema_number(g.module, target.schema, target.type_arguments[0]))
        _arguments(g, target, row)
        g.at(node.span)
        _invoke(g, target, row)
        if target.name == "sum" and node.type == t.FLOAT:
            g.emitter.emit("INT_TO_FLOAT")  # of no elements it gives the Int 0 (L-6.4.17)
        if target.unwraps:
            value_of_reply(g)
        if target.absent_as_nil:
            assert node.type is not None
            g.coerce(decisions.FromOption(node.type))


def _len(g: Generator, node: ast.Call, target: decisions.BuiltinCall) -> None:
    """Generate `len(x)`. Behind Any there may be a store."""
    (value,) = target.arguments
    assert value is not None
    g.operand(value, [])
    g.at(node.span)
    if target.receiver_kind:
        g.emitter.emit("CALL_METHOD", g.module.pool.method("len", 0, []), 0)
    elif static_type(value) == t.ANY:
        g.module.length_of_any(g.emitter)
    else:
        g.emitter.emit("CALL_BUILTIN", g.module.pool.builtin("", "len"), 1)


def _receiver(g: Generator, receiver: ast.Expr, row: Row, arguments: list[ast.Expr]) -> None:
    """Push the receiver. A method written in the language binds it to `self`; any other only reads it."""
    if row.source:
        g.bound(receiver)
    else:
        g.operand(receiver, arguments)


def _arguments(g: Generator, target: decisions.BuiltinCall, row: Row) -> None:
    """Push the arguments in parameter order. Those of built-ins are evaluated in that order too when none was named."""
    # Named arguments may come in another order than the parameters.
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
            g.operand(argument, [later for later in target.arguments[index + 1 :] if later is not None])
    if row.parameters and row.parameters[-1].variadic:  # the body takes them as one Array
        g.emitter.emit("ARRAY", len(target.arguments), len(target.arguments))


def _invoke(g: Generator, target: decisions.BuiltinCall, row: Row) -> None:
    e = g.emitter
    count = len(row.parameters) + takes_receiver(target.receiver_kind, target.name)
    if row.source:
        e.emit("CALL", g.module.language_method(target.receiver_kind, target.name), count)
    elif row.kind == "effect":
        g.module.wanted_permissions.add((wanted_by(row, target.arguments), g.file))
        e.emit("CALL_HOST", g.module.pool.builtin(target.receiver_kind, target.name), count + row.takes_schema)
    else:
        e.emit("CALL_BUILTIN", g.module.pool.builtin(target.receiver_kind, target.name), count)


def mutating_call(g: Generator, node: ast.MethodCall, target: decisions.BuiltinCall, row: Row) -> None:
    """Generate a call of a built-in *mut* method. Arguments that are not simple (`is_simple`) are evaluated before the receiver
    is owned, so that nothing that runs in between can share it again."""
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
    slots: list[int] = []
    # Between the owning of the receiver and the call nothing may run that could share it again.
    if all(argument is None or is_simple(argument, root) for argument in target.arguments):
        places.look(g, place)
        places.own(g, place)
        _arguments(g, target, row)
    # One argument is simply swapped below the receiver; more of them go through slots.
    elif len(target.arguments) == 1 and place.change is None:
        _arguments(g, target, row)
        g.at(node.receiver.span)
        places.own(g, place)
        e.emit("SWAP")
    else:
        _arguments(g, target, row)
        slots = [e.temp() for _ in target.arguments]
        for slot in reversed(slots):
            e.emit("STORE", slot)
        g.at(node.receiver.span)
        places.look(g, place)
        places.own(g, place)
        for slot in slots:
            e.emit("LOAD", slot)
    g.at(node.name.span)
    _invoke(g, target, row)
    places.release(g, place)
    for slot in slots:
        e.release(slot)


def _language_mutation(g: Generator, node: ast.MethodCall, target: decisions.BuiltinCall, row: Row) -> None:
    """Generate a *mut* method written in the language: its body returns the new receiver, which is stored back; the call
    itself has the value nil."""
    e = g.emitter
    in_place = places.is_place(node.receiver)
    place = places.prepare(g, node.receiver) if in_place else None
    if place is not None and place.change is not None:
        _language_change(g, node, target, row, place)
        return
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


def _language_change(
    g: Generator, node: ast.MethodCall, target: decisions.BuiltinCall, row: Row, place: places.Place
) -> None:
    """Generate the same for a receiver in a slot of a memory or an entry of a hashmap: the arguments are evaluated once, the
    change is made as often as it takes."""
    e = g.emitter
    before = e.depth
    _arguments(g, target, row)
    # What `_arguments` pushed, defaults included, must be there again for each attempt.
    slots = [e.temp() for _ in range(e.depth - before)]
    for slot in reversed(slots):
        e.emit("STORE", slot)
    places.look(g, place)
    places.read(g, place)
    e.emit("SHARE")
    for slot in slots:
        e.emit("LOAD", slot)
        e.emit("SHARE")  # there may be another attempt
    g.at(node.name.span)
    _invoke(g, target, row)
    places.write(g, place)
    places.release(g, place)
    for slot in slots:
        e.release(slot)
    e.emit("NIL")


def handle_call(g: Generator, node: ast.MethodCall, target: decisions.BuiltinCall) -> None:
    """Generate a method of a handle, such as a memory, a model or a builder. An argument left out makes those behind it be passed
    by name."""
    e = g.emitter
    g.value(node.receiver)
    count = 0
    names: list[str] = []
    row = _row(target)
    if target.schema is not None:
        e.emit("SCHEMA", schema_number(g.module, target.schema, target.type_arguments[0]))
        count += 1
        if target.partial is not None:  # values of it are made though no code may name its type
            g.module.pool.type(target.partial.type)
    skipped = False
    # The first argument of `remember` and `forget` is the name of the slot, which `after_write` needs once more.
    name_slot = e.temp() if node.held else None
    with as_written(g, target):
        for index, argument in enumerate(target.arguments):
            if argument is None:
                skipped = True
                continue
            g.bound(argument)
            if name_slot is not None and index == 0:
                e.emit("DUP")
                e.emit("STORE", name_slot)
            count += 1
            if skipped:
                names.append(row.parameters[index].name)
    g.at(node.name.span)
    name = target.name if target.answer is None else f"_{target.name}_{target.answer}"  # the hidden one of that type
    e.emit("CALL_METHOD", g.module.pool.method(name, count, names), count)
    if target.unwraps:
        value_of_reply(g)
    if name_slot is not None:
        after_write(g, node, name_slot)
        e.release(name_slot)


def value_of_reply(g: Generator) -> None:
    """Replace the schema value in the Result on the stack, if it holds one, by its one field (O-2.64)."""
    e = g.emitter
    depth = e.depth
    is_err = Label()
    e.emit("DUP")
    e.emit("IS_OK")
    e.jump("JUMP_UNLESS", is_err)
    e.emit("UNWRAP")
    e.emit("GET_FIELD", 0)
    e.emit("OK")
    e.mark(is_err, depth)


# ---------------------------------------------------------------- special functions


def _emit(g: Generator, target: decisions.BuiltinCall) -> None:
    with as_written(g, target):
        _channel_and_payload(g, target)
    g.emitter.emit("EMIT")


def _ask(g: Generator, target: decisions.BuiltinCall) -> None:
    with as_written(g, target):
        _channel_and_payload(g, target)
        timeout = target.arguments[2]
        if timeout is None:
            g.emitter.emit("NIL")
        else:
            g.bound(timeout)
    if target.answer is not None:
        g.emitter.emit("ASK_FOR", g.module.pool.type(target.answer))
    else:
        g.emitter.emit("ASK")


def _channel_and_payload(g: Generator, target: decisions.BuiltinCall) -> None:
    channel, payload = (*target.arguments, None)[:2]
    assert channel is not None
    g.value(channel)
    if payload is None:
        g.emitter.emit("NIL")
    else:
        g.bound(payload)
        # A payload of a known type has been checked against the channel's type at compile time.
        if target.type_arguments and static_type(payload) == t.ANY:
            g.emitter.emit("CHECK_PAYLOAD", g.module.pool.type(target.type_arguments[0]))


Special = Callable[[Generator, decisions.BuiltinCall], None]


def _print(opcode: str) -> Special:
    def generate(g: Generator, target: decisions.BuiltinCall) -> None:
        arguments = [argument for argument in target.arguments if argument is not None]
        g.operands(arguments)
        g.emitter.emit(opcode, len(arguments), len(arguments))

    return generate


def _flush_emits(g: Generator, target: decisions.BuiltinCall) -> None:
    g.emitter.emit("FLUSH")


_SPECIAL_EFFECTS: dict[str, Special] = {
    "emit": _emit, "print": _print("PRINT"), "println": _print("PRINTLN"), "flush_emits": _flush_emits,
}  # fmt: skip


@value_of(ast.Listen)
def listen(g: Generator, node: ast.Listen) -> None:
    """Generate `Agent::listen(agent, schema, prompt, retry_message, handlers)` (O-7.11, O-7.35); a handler is (type,
    closure, schema or nil), and the host calls the closures."""
    e = g.emitter
    call = ast.ungrouped(node.operand)
    assert isinstance(call, ast.MethodCall) and isinstance(call.target, decisions.BuiltinCall)
    g.value(call.receiver)
    _schema(g, call.target.schema, call.target.type_arguments)
    arguments = [*call.target.arguments, None]
    with as_written(g, call.target):
        for argument in arguments[:2]:
            if argument is None:
                e.emit("NIL")
            else:
                g.bound(argument)
    # The pattern of a handler is a String literal: the parser has refused all else (E0109).
    for handler in node.handlers:
        e.emit("CONST", g.module.pool.string(str(handler.pattern.value)))  # type: ignore[attr-defined]
        e.emit("CLOSURE", _handler(g, handler))
        _schema(g, handler.schema, () if handler.schema is None else (handler.schema.type,))
        e.emit("TUPLE", 3, 3)
    e.emit("ARRAY", len(node.handlers), len(node.handlers))
    g.at(call.name.span)
    e.emit("CALL_HOST", g.module.pool.builtin("Agent", "listen"), 5)
    if call.target.unwraps:
        value_of_reply(g)


def _schema(g: Generator, schema: symbols.StructSymbol | None, arguments: tuple[t.Type, ...]) -> None:
    if schema is None:
        g.emitter.emit("NIL")
    else:
        g.emitter.emit("SCHEMA", schema_number(g.module, schema, arguments[0]))


def _handler(g: Generator, node: ast.ListenHandler) -> int:
    """Return the number of the function of a handler: a body of its own, whose errors make its value a Result."""
    closure, task = node.body, node.task
    assert isinstance(closure, ast.Closure)
    number = g.module.pool.reserve_function()
    inner = Generator(g.module, task.scope, parent=g)
    inner.at(closure.span)
    enter(inner, closure.parameters)
    start = len(inner.emitter.code)
    returned(inner, task.body)
    leave(inner, task, start)
    params: list[list[int | str | None]] = [["message", g.module.pool.type(t.ANY), None]]
    result = static_type(task)
    finish(inner, number, "handler", params, g.module.pool.type(result if result is not None else t.ANY), im.F_CLOSURE)
    return number
