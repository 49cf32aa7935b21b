"""Code for function bodies and closures: parameters, defaults, results, flags."""

from __future__ import annotations

from ...vm.bytecode import image as im
from .. import ast, symbols
from .. import types as t
from ..checker.implementing import kind_head
from .clauses import enter_clauses
from .emitter import Label
from .generator import Generator, value_of
from .module import Module, Pending
from .patterns import bind_irrefutable
from .statements import RAISERS, discard, returned, statement_code


def declare_function(module: Module, symbol: symbols.FunctionSymbol) -> None:
    """Reserve numbers for a function and its defaults, so that bodies may call it in any order. What a trait only promises has
    defaults alone."""
    if symbol.declaration.body is not None:
        module.functions[symbol] = module.pool.reserve_function()
    module.defaults[symbol] = {
        index: module.pool.reserve_function()
        for index, parameter in enumerate(symbol.declaration.parameters)
        if parameter.default is not None
    }


def function_body(module: Module, symbol: symbols.FunctionSymbol) -> None:
    declaration = symbol.declaration
    assert declaration.body is not None
    g = Generator(module, declaration.scope)
    g.at(declaration.name.span)
    enter(g, declaration.parameters)
    check_own_kind(g, symbol)
    receiver = declaration.parameters[0].binding if symbol.takes_self else None
    if symbol.changes_self:
        g.receiver = receiver
    else:
        g.lent = receiver
    start = len(g.emitter.code)
    enter_clauses(g, symbol)
    body(g, declaration.body, symbol.result, declaration.scope)
    if symbol.changes_self or declaration.scope.spawns:
        errors_leave(g, start)
    default_functions(module, symbol)
    params = [
        [p.name.text, module.pool.type(type_), module.defaults[symbol].get(i)]
        for i, (p, type_) in enumerate(zip(declaration.parameters, symbol.parameters, strict=True))
    ]
    flags = im.F_OPTION if declaration.scope.returns_option else 0
    result = t.result(symbol.result, t.ERROR) if declaration.scope.wraps else symbol.result
    if symbol.takes_self and not is_of_trait(symbol):
        flags |= im.F_METHOD
    if symbol.changes_self:
        flags |= im.F_INOUT
        result = t.Tuple((symbol.result, symbol.parameters[0]))
    finish(g, module.functions[symbol], image_name(module, symbol), params, module.pool.type(result), flags)


def image_name(module: Module, symbol: symbols.FunctionSymbol) -> str:
    """The name of a method begins with that of its type, by which it is found at run time."""
    owner = symbol.owner
    if owner is None:
        return symbol.path
    if isinstance(owner, symbols.TraitSymbol):
        return symbol.path
    if isinstance(owner.head, symbols.ModelSymbol) and owner.trait is None:
        return f"{module.names[owner.head]}.{symbol.name}"
    of_trait = f"::{owner.trait.name}" if owner.trait is not None else ""
    return f"{kind_head(owner.target)}{of_trait}::{symbol.name}"


def is_of_trait(symbol: symbols.FunctionSymbol) -> bool:
    """Whether its method is found through a trait's table, not by its own name."""
    owner = symbol.owner
    return isinstance(owner, symbols.TraitSymbol) or (owner is not None and owner.trait is not None)


def default_functions(module: Module, symbol: symbols.FunctionSymbol) -> None:
    for index, number in module.defaults[symbol].items():
        default_function(module, symbol, index, number)


def check_own_kind(g: Generator, symbol: symbols.FunctionSymbol) -> None:
    """Where its trait says `Self`, a method that is chosen at run time may be given another type that implements the trait."""
    owner = symbol.owner
    if not isinstance(owner, symbols.ImplSymbol) or not isinstance(owner.trait, symbols.TraitSymbol):
        return
    promised = owner.trait.methods[symbol.name].parameters
    for parameter, type_ in zip(symbol.declaration.parameters, promised, strict=True):
        if type_ == owner.trait.target and not parameter.is_self and parameter.binding is not None:
            g.at(parameter.name.span)
            g.load(parameter.binding)
            g.emitter.emit("CHECK", g.module.pool.type(owner.target))
            g.store(parameter.binding)


def errors_leave(g: Generator, start: int) -> None:
    """In a method with `mut self` an error that `?` or throw sends out leaves together with the new `self`; where tasks were
    started it cancels them."""
    e = g.emitter
    end = len(e.code)
    if any(number in RAISERS for number, _ in e.code[start:end]):
        handler = Label()
        e.mark_handler(handler, 0)
        e.handlers.append((start, end, handler, 0))
        e.emit("ERR")
        g.leave()


def default_function(module: Module, symbol: symbols.FunctionSymbol, index: int, number: int) -> None:
    """The default of parameter `index` as a hidden function of the parameters before it (L-5.9.1)."""
    parameters = symbol.declaration.parameters
    default = parameters[index].default
    assert default is not None
    g = Generator(module, symbol.declaration.scope)
    g.at(default.span)
    enter(g, parameters[:index])
    g.bound(default)
    g.emitter.emit("RETURN")
    params: list[list[int | str | None]] = [
        [p.name.text, module.pool.type(type_), None]
        for p, type_ in zip(parameters[:index], symbol.parameters[:index], strict=True)
    ]
    result = module.pool.type(symbol.parameters[index])
    finish(g, number, f"{symbol.name}.{parameters[index].name.text}", params, result, im.F_HIDDEN)


def enter(g: Generator, parameters: list[ast.Parameter]) -> None:
    """Arguments arrive in the first slots; a captured one moves to its cell, a pattern is taken apart."""
    e = g.emitter
    slots = [e.slot() for _ in parameters]
    for slot, parameter in zip(slots, parameters, strict=True):
        local = parameter.binding
        if parameter.pattern is not None:
            e.emit("LOAD", slot)
            bind_irrefutable(g, parameter.pattern, parameter.pattern.type)
        elif local is None:
            continue
        elif local.captured:
            g.declare(local)
            e.emit("LOAD", slot)
            if parameter.is_self:
                e.emit("SHARE")
            g.store(local)
        else:
            g.slots[local] = slot
            e.names.declare(local, slot)
            e.names.assign(local, 0)


def body(g: Generator, expr: ast.Expr, result: t.Type | None, scope: symbols.FunctionScope) -> None:
    """The body's value is the result; a body whose result is Nil discards its tail (L-3.8.4)."""
    e = g.emitter
    if result == t.NIL:
        discard(g, expr)
        e.emit("NIL")
    elif isinstance(expr, ast.Block):
        from_block(g, expr)
    else:
        returned(g, expr)
    if scope.wraps:
        e.emit("OK")
    g.leave()


def from_block(g: Generator, block: ast.Block) -> None:
    for statement in block.statements:
        statement_code(g, statement)
    if block.result is None:
        g.emitter.emit("NIL")
    else:
        returned(g, block.result)
    if block.coercion is not None:
        g.coerce(block.coercion)


def finish(
    g: Generator, number: int, name: str, params: list[list[int | str | None]], result: int, flags: int
) -> None:
    parent = g.parent.emitter if g.parent is not None else None
    g.module.pending.append(Pending(number, g.emitter, parent, name, params, result, flags))


@value_of(ast.Closure)
def closure(g: Generator, node: ast.Closure) -> None:
    module = g.module
    number = module.pool.reserve_function()
    inner = Generator(module, node.scope, parent=g)
    inner.at(node.span)
    enter(inner, node.parameters)
    result = node.scope.result if node.scope.result is not None else t.ANY
    start = len(inner.emitter.code)
    body(inner, node.body, result, node.scope)
    if node.scope.spawns:
        errors_leave(inner, start)
    params: list[list[int | str | None]] = [
        [p.name.text, module.pool.type(p.binding.type if p.binding is not None else t.ANY), None] for p in node.parameters
    ]
    flags = im.F_CLOSURE | (im.F_OPTION if node.scope.returns_option else 0)
    finish(inner, number, "closure", params, module.pool.type(result), flags)
    g.emitter.emit("CLOSURE", number)
