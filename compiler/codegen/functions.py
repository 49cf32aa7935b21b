"""Code for function bodies, closures and tasks: parameters, defaults, clauses, results, flags.

Hands on to `program` `declare_function`, `function_body`, `default_functions`, `generate_requested` and `finish`; to `calls`
`enter`, `leave`, `finish` and `race`. A body is generated into an emitter of its own and waits in `Module.pending` until the
numbers of all cells are known.
"""

from __future__ import annotations

import re
from functools import cache

from ...vm.builtins import lookup
from ...vm.builtins.modules import STD_PREFIX, std_row
from ...vm.bytecode import image as im
from .. import decisions, symbols
from .. import types as t
from ..checker.program import CheckedProgram, check
from ..checker.relations import kind_head
from ..diagnostics import Diagnostics
from ..source import Source
from ..syntax import ast
from ..syntax.parse import parse
from .constants import emit_constant
from .emitter import Label
from .expressions import error_leaves
from .generator import Generator, changes_receiver, is_entry, is_plain, root_of, static_type, value_of
from .hashmap_entries import LITERALS
from .module import Module, Pending
from .patterns import bind_irrefutable
from .slots import call
from .statements import RAISERS, discard, mocked_name, returned, statement_code


def enter_clauses(g: Generator, symbol: symbols.FunctionSymbol) -> None:
    """Generate the entry of a function with `needs` and `reads`: one snapshot for each memory. A slot of `needs` without a
    value ends the call (M-10.3)."""
    for clauses in _by_memory(symbol.declaration.clauses):
        _load_all(g, symbol, clauses)


def _by_memory(clauses: list[ast.Clause]) -> list[list[tuple[ast.Clause, ast.SlotRef]]]:
    """Return the slots of the clauses, those of one memory together."""
    refs: dict[symbols.Symbol, list[tuple[ast.Clause, ast.SlotRef]]] = {}
    for clause in clauses:
        for ref in clause.slots:
            if ref.local is not None:
                refs.setdefault(ref.binding, []).append((clause, ref))
    return list(refs.values())


def _load_all(g: Generator, symbol: symbols.FunctionSymbol, refs: list[tuple[ast.Clause, ast.SlotRef]]) -> None:
    """Load the slots of one memory into hidden variables, all from the same state of the memory (M-10.4)."""
    e = g.emitter
    first = refs[0][1]
    g.at(first.span)
    # The clause names its memory without an expression; a path is made so that the generator can push it.
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
    values = e.temp()
    e.emit("STORE", values)
    for number, (_, ref) in enumerate(refs):
        e.emit("LOAD", values)
        emit_constant(g, number)
        e.emit("INDEX_ARRAY")
        g.bind(ref.local)
    e.release(values)


def declare_function(module: Module, symbol: symbols.FunctionSymbol) -> None:
    """Reserve numbers for a function and its defaults, so that bodies may call it in any order. A method that a trait only
    promises has defaults alone."""
    if symbol.declaration.body is not None:
        module.functions[symbol] = module.pool.reserve_function()
        if symbol.takes_self:
            module.methods.setdefault(symbol.name, []).append(symbol)
    module.defaults[symbol] = {
        index: module.pool.reserve_function()
        for index, parameter in enumerate(symbol.declaration.parameters)
        if parameter.default is not None
    }
    if symbol.takes_self and symbol in module.functions and module.defaults[symbol]:
        for name in ("", *(parameter.name.text for parameter in symbol.declaration.parameters[1:])):
            module.optional.setdefault((symbol.name, name), []).append(symbol)


def function_body(module: Module, symbol: symbols.FunctionSymbol) -> None:
    """Generate a function of the program and its defaults."""
    declaration = symbol.declaration
    assert declaration.body is not None
    g = Generator(module, declaration.scope)
    g.at(declaration.name.span)
    enter(g, declaration.parameters)
    g.emitter.owned = {index for index, type_ in enumerate(symbol.parameters) if not is_plain(type_)}
    if symbol.changes_self:
        g.emitter.lent = {0}
    elif symbol.takes_self:
        g.emitter.owned.discard(0)
    check_own_kind(g, symbol)
    receiver = declaration.parameters[0].binding if symbol.takes_self else None
    if symbol.changes_self:
        g.receiver = receiver
    else:
        g.caller_self = receiver
    if symbol.mocked and symbol.channel is None:
        answer_of_mock(g, symbol)
    start = len(g.emitter.code)
    # Within the range of the handler below: a slot without a value is an error of the call, too.
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


def answer_of_mock(g: Generator, symbol: symbols.FunctionSymbol) -> None:
    """Generate what a function by a model does first, in a program that mocks it: the answer of a mock is its result (O-8.28)."""
    e = g.emitter
    ask = Label()
    e.emit("CONST", g.module.pool.string(mocked_name(g.module, symbol)))
    count = len(symbol.declaration.parameters)
    for parameter in symbol.declaration.parameters:
        if parameter.binding is None:
            e.emit("NIL")  # `_`
        else:
            g.load(parameter.binding)
    e.emit("ARRAY", count, count)
    e.emit("CALL_HOST", g.module.pool.builtin("Test", "mocked"), 2)
    depth = e.depth
    e.emit("DUP")
    e.emit("IS_SOME")
    e.jump("JUMP_UNLESS", ask)
    e.emit("UNWRAP")
    e.emit("CHECK", g.module.pool.type(symbol.result))
    g.leave()
    e.mark(ask, depth)
    e.emit("POP")


def image_name(module: Module, symbol: symbols.FunctionSymbol) -> str:
    """Return the name of a function in the image. That of a method begins with its type, by which it is found at run time."""
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
    """Return whether a method is found through its trait's table, not by its own name."""
    owner = symbol.owner
    return isinstance(owner, symbols.TraitSymbol) or (owner is not None and owner.trait is not None)


def default_functions(module: Module, symbol: symbols.FunctionSymbol) -> None:
    """Generate the defaults of a function's parameters."""
    for index, number in module.defaults[symbol].items():
        default_function(module, symbol, index, number)


def check_own_kind(g: Generator, symbol: symbols.FunctionSymbol) -> None:
    """Generate the check of parameters for which the trait says `Self`: a method that is chosen at run time may get another
    type that implements the trait."""
    owner = symbol.owner
    if not isinstance(owner, symbols.ImplSymbol) or not isinstance(owner.trait, symbols.TraitSymbol):
        return
    # The trait's own parameters: the impl has its target where they say `Self`.
    promised = owner.trait.methods[symbol.name].parameters
    for parameter, type_ in zip(symbol.declaration.parameters, promised, strict=True):
        if type_ == owner.trait.target and not parameter.is_self and parameter.binding is not None:
            g.at(parameter.name.span)
            g.load(parameter.binding)
            g.emitter.emit("CHECK", g.module.pool.type(owner.target))
            g.store(parameter.binding)


def errors_leave(g: Generator, start: int) -> None:
    """Add a handler around the code from index `start` on, for errors that `?` or throw sends out. In a method with `mut
    self` they leave together with the new `self`; where tasks were started they cancel them."""
    e = g.emitter
    end = len(e.code)
    if any(number in RAISERS for number, _ in e.code[start:end]):
        handler = Label()
        e.mark_handler(handler, 0)
        # Last in the table: every handler inside the body comes before it.
        e.handlers.append((start, end, handler, 0))
        e.emit("ERR")
        g.leave()


def default_function(module: Module, symbol: symbols.FunctionSymbol, index: int, number: int) -> None:
    """Generate the default of parameter `index` as a hidden function of the parameters before it (L-5.9.1)."""
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
    """Generate the entry of a function. Arguments arrive in the first slots; a captured one moves to its cell, a pattern is
    taken apart."""
    e = g.emitter
    # The machine puts arguments into slots 0, 1, …, before any other slot is given out.
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
    """Generate a body, whose value is the result; a body whose result is Nil discards its tail (L-3.8.4)."""
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
    """Push the value of a block that is a whole body."""
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
    """Add the finished code to the module. `params` are rows of name, type and default for the image (`module.Params`), `result`
    is the index of the type, `flags` are `im.F_…`."""
    parent = g.parent.emitter if g.parent is not None else None
    g.module.pending.append(Pending(number, g.emitter, parent, name, params, result, flags))


@value_of(ast.Closure)
def closure(g: Generator, node: ast.Closure) -> None:
    module = g.module
    number = module.pool.reserve_function()
    inner = Generator(module, node.scope, parent=g)
    inner.at(node.span)
    enter(inner, node.parameters)
    inner.emitter.owned = {
        index for index, p in enumerate(node.parameters) if p.binding is None or not is_plain(p.binding.type)
    }
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


# Built-in methods that are written in the language: their source stands in the registry and is checked and generated on
# demand.
LIBRARY_FILE = "std"
RECEIVERS = {"Option": "Option<Any>", "Result": "Result<Any, Any>", "Array": "Array<Any>"}


def generate_requested(module: Module) -> None:
    """Generate every language method that was requested, and those that they request in turn."""
    count = 0
    while count < len(module.requested_methods):
        receiver, name = module.requested_methods[count]
        count += 1
        _generate(module, receiver, name)


def _generate(module: Module, receiver: str, name: str) -> None:
    checked = _checked_method(receiver, name)
    (symbol,) = checked.functions
    module.functions[symbol] = module.language_methods[receiver, name]
    module.defaults[symbol] = {}
    first = len(module.pending)
    module.of_result = receiver == "Result"
    function_body(module, symbol)
    module.of_result = False
    for pending in module.pending[first:]:
        pending.flags |= im.F_HIDDEN
    module.pending[-1].name = f"{receiver}::{name}"


@cache
def _checked_method(receiver: str, name: str) -> CheckedProgram:
    """Return a built-in method that is written in the language as a checked program. A method of K with the body B becomes
    a function of `this`, of type K where a program can name that, and its parameters, all Any; the word `self` in B stands for
    `this`."""
    library = receiver.startswith(STD_PREFIX)
    row = std_row(receiver.removeprefix(STD_PREFIX), name) if library else lookup(receiver, name)
    assert row is not None and row.source
    this = [] if library else [f"this: {RECEIVERS.get(receiver, 'Any')}"]
    parameters = ", ".join([*this, *(f"{p.name}: Any" for p in row.parameters)])
    # `self` is a keyword that a plain function cannot have.
    body = re.sub(r"\bself\b", "this", row.source)
    text = f"fn method({parameters}) -> Any {{ {body} }}"
    source = Source(LIBRARY_FILE, text)
    diagnostics = Diagnostics()
    checked = check(parse(source, diagnostics), source, diagnostics)
    if diagnostics.has_errors:
        errors = "; ".join(f"{d.code} {d.message}" for d in diagnostics.ordered())
        raise AssertionError(f"{receiver}.{name} is written wrongly: {errors}")
    return checked


# Tasks and async blocks: every body is a function, which the machine runs as a child task (O-6.2 to O-6.5).


def task_body(g: Generator, task: ast.TaskBody, name: str, arguments: list[ast.Expr] | None = None, flags: int = 0) -> int:
    """Generate the body of a task; return the number of its function. Its parameters are the element of a `parallel for`,
    or `arguments`: expressions whose values the code around has evaluated."""
    number = g.module.pool.reserve_function()
    inner = Generator(g.module, task.scope, parent=g)
    inner.at(task.span)
    params = _enter(inner, task, arguments or [])
    start = len(inner.emitter.code)
    returned(inner, task.body)
    leave(inner, task, start)
    result = static_type(task)
    finish(inner, number, name, params, g.module.pool.type(result if result is not None else t.ANY), im.F_CLOSURE | flags)
    return number


def _enter(g: Generator, task: ast.TaskBody, arguments: list[ast.Expr]) -> list[list[int | str | None]]:
    e = g.emitter
    params: list[list[int | str | None]] = []
    if task.pattern is not None:
        params.append(["element", g.module.pool.type(task.pattern.type or t.ANY), None])
        slot = e.slot()
        e.emit("LOAD", slot)
        bind_irrefutable(g, task.pattern, task.pattern.type)
    for number, expr in enumerate(arguments):
        params.append([f"value{number}", g.module.pool.type(static_type(expr) or t.ANY), None])
        # Inside the task the expression is a parameter, which the code around has evaluated.
        g.value_slots[expr] = e.slot()
    return params


def leave(g: Generator, task: ast.TaskBody, start: int) -> None:
    """Generate the end of a task's body whose code began at index `start`."""
    if task.scope.wraps:
        g.emitter.emit("OK")
    if task.coercion is not None:
        g.coerce(task.coercion)
    g.leave()
    if task.scope.spawns:
        errors_leave(g, start)


def start(g: Generator, task: ast.TaskBody) -> None:
    """Start a body that takes nothing."""
    number = task_body(g, task, task.kind)
    g.at(task.span)
    g.emitter.emit("START", number, 0)


# ---------------------------------------------------------------- forms


@value_of(ast.Await)
def await_(g: Generator, node: ast.Await) -> None:
    if node.tasks is not None:
        for task in node.tasks:
            start(g, task)
        g.at(node.span)
        g.emitter.emit("AWAIT_ALL", len(node.tasks), len(node.tasks))
        return
    g.value(node.operand)
    operand_type = static_type(node.operand)
    if operand_type == t.ANY or (isinstance(operand_type, t.Generic) and operand_type.name == "Task"):
        g.at(node.span)
        g.emitter.emit("AWAIT")


def race(g: Generator, node: ast.Call) -> None:
    """Start each operand as a task; the value is that of the first to end."""
    for task in node.tasks:
        start(g, task)
    g.at(node.span)
    g.emitter.emit("RACE", len(node.tasks), len(node.tasks))


@value_of(ast.AsyncBlock)
def async_block(g: Generator, node: ast.AsyncBlock) -> None:
    """Generate an `async` block. It runs where it stands, in a frame of its own, which `return` leaves (L-9.1.3)."""
    g.emitter.emit("CLOSURE", task_body(g, node.task, "async"))
    g.emitter.emit("CALL_VALUE", 0, 0)


@value_of(ast.ParallelFor)
def parallel_for(g: Generator, node: ast.ParallelFor) -> None:
    g.bound(node.iterable)
    if node.limit is None:
        g.emitter.emit("NIL")
    else:
        g.value(node.limit)
    number = task_body(g, node.task, "parallel")
    g.at(node.span)
    g.emitter.emit("PARALLEL", number)


@value_of(ast.Spawn)
def spawn(g: Generator, node: ast.Spawn) -> None:
    """Evaluate callee, receiver and arguments (L-9.2.4), then start the call in a task. The task is named after what it
    calls (L-5.1.18)."""
    arguments = _evaluated_before_start(node.operand) if isinstance(node.operand, (ast.Call, ast.MethodCall)) else []
    for expr in arguments:
        g.bound(expr)
    number = task_body(g, node.task, _task_name(node.operand), arguments, im.F_HIDDEN)
    g.at(node.span)
    g.emitter.emit("START", number, len(arguments))


def _evaluated_before_start(call: ast.Call | ast.MethodCall) -> list[ast.Expr]:
    """Return what is evaluated before the task starts. A place that the method changes is one of the task's copies; of it the
    indexes are evaluated before."""
    expressions = [argument.value for argument in call.arguments]
    target = call.target
    if isinstance(call, ast.MethodCall):
        if changes_receiver(call) and root_of(call.receiver) is not None:
            expressions[:0] = _evaluated_in_place(call.receiver)
        elif not _is_type(call.receiver):
            expressions.insert(0, call.receiver)
    elif isinstance(target, (decisions.MethodTarget, decisions.TraitCall)):
        # `T::m(x)` passes the receiver as an argument.
        if target.function.changes_self and root_of(target.receiver) is not None:
            at = expressions.index(target.receiver)
            expressions[at : at + 1] = _evaluated_in_place(target.receiver)
    elif isinstance(target, decisions.ValueCall):
        expressions.insert(0, target.callee)
    return expressions


def _evaluated_in_place(place: ast.Expr) -> list[ast.Expr]:
    """Return the expressions in a place, first to last, that are more than a name or a literal: its indexes, and the memory of a
    slot or the hashmap of an entry."""
    parts: list[ast.Expr] = []
    while not isinstance(place, ast.PathExpr):
        if isinstance(place, ast.GroupExpr):
            place = place.inner
            continue
        assert isinstance(place, (ast.FieldAccess, ast.TupleAccess, ast.Index))
        if isinstance(place, ast.Index):
            parts.append(place.index)
        if is_entry(place) or (isinstance(place, ast.FieldAccess) and isinstance(place.target, symbols.SlotAccess)):
            parts.append(place.receiver)
            break
        place = place.receiver
    return [part for part in reversed(parts) if not isinstance(part, (ast.PathExpr, *LITERALS))]


def _is_type(receiver: ast.Expr) -> bool:
    return receiver.type is None


def _task_name(operand: ast.Expr) -> str:
    """Return the name of what a spawned expression calls."""
    if isinstance(operand, ast.MethodCall):
        return operand.name.text
    callee = ast.ungrouped(operand.callee) if isinstance(operand, ast.Call) else None
    if isinstance(callee, ast.PathExpr):
        return callee.segments[-1].text
    return "async" if isinstance(operand, ast.AsyncBlock) else "closure"
