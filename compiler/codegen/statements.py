"""Code for blocks, statements, branches, loops, `try`, and for leaving them.

The functions write code into `g.emitter`. They register themselves for their nodes (`value_of`, `effect_of`), mostly in pairs:
one pushes the value on the operand stack, the other runs the same code and keeps nothing (`wants_value`). Hands on to `functions`
`statement_code`, `discard`, `returned`, `mocked_name` and RAISERS, to `calls` `returned`. Patterns are bound by `patterns`. What
is wrong with a program was reported before; nothing is raised here, but TooLong of `constants`, and RecursionError of a walk that
goes too deep, pass through.
"""

from __future__ import annotations

from ...vm.builtins.records import AWAITED, FUNCTION
from ...vm.bytecode.opcodes import OPCODES
from .. import decisions, symbols
from .. import types as t
from ..syntax import ast
from .emitter import Label
from .expressions import error_leaves
from .generator import Generator, LoopContext, effect_of, is_plain, may_alias, static_type, value_of
from .module import Module
from .patterns import bind_irrefutable, test_pattern


def branch_unless(g: Generator, condition: ast.Expr, label: Label) -> None:
    """Generate a jump to `label` when the condition is false. Jumps are emitted in place of Bool values."""
    g.module.nesting.call(_condition_branch, g, condition, label, False)


def _condition_branch(g: Generator, condition: ast.Expr, label: Label, outcome: bool) -> None:
    """Go to `label` when the condition is `outcome`. In a chain of `||` (of `&&`, when false jumps) each operand may decide
    alone; in one of the other operator each but the last may decide that nothing jumps."""
    condition = _ungrouped(condition)
    if isinstance(condition, ast.Unary) and condition.operator == "!" and condition.coercion is None:
        g.module.nesting.call(_condition_branch, g, condition.operand, label, not outcome)
        return
    deciding, other = ("||", "&&") if outcome else ("&&", "||")
    if _is(condition, deciding):
        for operand in _operands(condition, deciding):
            g.module.nesting.call(_condition_branch, g, operand, label, outcome)
    elif _is(condition, other):
        past = Label()
        depth = g.emitter.depth
        # The operands before the last can only decide that nothing jumps: they go past the whole chain.
        *earlier, last = _operands(condition, other)
        for operand in earlier:
            g.module.nesting.call(_condition_branch, g, operand, past, not outcome)
        g.module.nesting.call(_condition_branch, g, last, label, outcome)
        g.emitter.mark(past, depth)
    else:
        g.value(condition)
        g.emitter.jump("JUMP_IF" if outcome else "JUMP_UNLESS", label)


def _operands(condition: ast.Expr, operator: str) -> list[ast.Expr]:
    """Return the operands of a chain, first to last. Chains are left-deep and may be long (G-5.2), so they are walked in a
    loop."""
    operands = []
    while _is(condition, operator):
        assert isinstance(condition, ast.Binary)
        operands.append(condition.right)
        condition = condition.left
    return [condition, *reversed(operands)]


def _is(expr: ast.Expr, operator: str) -> bool:
    return isinstance(expr, ast.Binary) and expr.operator == operator and expr.coercion is None


def _ungrouped(expr: ast.Expr) -> ast.Expr:
    while isinstance(expr, ast.GroupExpr) and expr.coercion is None:
        expr = expr.inner
    return expr


# Numbers of the opcodes that go to the handler in range.
RAISERS = {op.number for op in OPCODES if op.name in ("TRY", "THROW", "POP_TRY")}

# ---------------------------------------------------------------- blocks and statements


@value_of(ast.Block)
def block_value(g: Generator, node: ast.Block) -> None:
    for statement in node.statements:
        statement_code(g, statement)
    if node.result is None:
        g.emitter.emit("NIL")
    else:
        g.value(node.result)


@effect_of(ast.Block)
def block_effect(g: Generator, node: ast.Block) -> None:
    for statement in node.statements:
        statement_code(g, statement)
    if node.result is not None:
        discard(g, node.result)


def statement_code(g: Generator, node: ast.Stmt) -> None:
    """Generate a statement; nothing stays on the stack. Items have no code where they stand."""
    if isinstance(node, ast.Let):
        let(g, node)
    elif isinstance(node, ast.ExprStmt):
        discard(g, node.expr)
    elif isinstance(node, ast.Mock):
        mock(g, node)


def mock(g: Generator, node: ast.Mock) -> None:
    """Generate what tells the host what stands in for the target from here on (O-8.15)."""
    target, entries = node.target, [(entry.key.text, entry.value) for entry in node.config]
    if isinstance(target, (symbols.ToolSymbol, symbols.McpSymbol)):
        g.emitter.emit(*g.module.handle_of(target))
    elif isinstance(target, symbols.FunctionSymbol):
        assert node.answer is not None
        kind, name = (AWAITED, target.name) if target.channel is not None else (FUNCTION, mocked_name(g.module, target))
        g.emitter.emit("CONST", g.module.pool.string(kind))
        entries = [(name, node.answer)]
    else:
        name = AWAITED if isinstance(target, symbols.BuiltinSymbol) else g.module.names[target]
        g.emitter.emit("CONST", g.module.pool.string(name))
    for key, value in entries:
        g.emitter.emit("CONST", g.module.pool.string(key))
        g.bound(value)
    count = 2 * len(entries)
    g.emitter.emit("MAP", count, count)
    g.at(node.span)
    g.emitter.emit("CALL_HOST", g.module.pool.builtin("Test", "mock"), 2)
    g.emitter.emit("POP")


def mocked_name(module: Module, symbol: symbols.FunctionSymbol) -> str:
    """Return the name by which a test answers in place of a function's model; no other function has it. The path and the number
    of the function, as `sort#12`."""
    return f"{symbol.path}#{module.functions[symbol]}"


def discard(g: Generator, expr: ast.Expr) -> None:
    """Generate an expression statement. In a try body an Err that it returns is thrown (L-5.12.2)."""
    while isinstance(expr, ast.GroupExpr):  # a discarded block ends in a discarded tail, also within parentheses
        expr = expr.inner
    type_ = static_type(expr)
    fallible = type_ == t.ANY or (isinstance(type_, t.Generic) and type_.name == "Result")
    if g.in_try and fallible and not isinstance(expr, ast.Assign):
        depth = g.emitter.depth
        g.value(expr)
        g.emitter.emit("POP_TRY")
        g.emitter.depth = depth
    else:
        g.effect(expr)


def let(g: Generator, node: ast.Let) -> None:
    """Generate a `let`; without a value the variable is only declared."""
    if node.value is None:
        declare_only(g, node.pattern)
        return
    g.bound(node.value)
    bind_irrefutable(g, node.pattern, static_type(node.value))


def declare_only(g: Generator, pattern: ast.Pattern) -> None:
    """Generate `let x;`: the variable exists. That it is assigned before use has been checked."""
    if isinstance(pattern, ast.BindPattern) and pattern.binding is not None:
        g.declare(pattern.binding)


# ---------------------------------------------------------------- branches


@value_of(ast.If)
def if_value(g: Generator, node: ast.If) -> None:
    _if(g, node, wants_value=True)


@effect_of(ast.If)
def if_effect(g: Generator, node: ast.If) -> None:
    _if(g, node, wants_value=False)


def _if(g: Generator, node: ast.If, wants_value: bool) -> None:
    """Generate a chain of `else if`, which is walked in a loop, so that its length needs no recursion."""
    e = g.emitter
    depth = e.depth
    after = depth + (1 if wants_value else 0)
    ends: list[Label | None] = []  # of each link, where its first branch goes on
    scopes: list[int] = []
    at = node
    while True:
        otherwise, end = Label(), Label()
        branch_unless(g, at.condition, otherwise)
        _branch(g, at.then, wants_value)
        # No jump is needed over an `else` that does not exist.
        if at.otherwise is None and not wants_value:
            e.mark(otherwise, depth)
            ends.append(None)
            break
        e.jump("JUMP", end)
        e.mark(otherwise, depth)
        ends.append(end)
        if at.otherwise is None:
            e.emit("NIL")
            break
        if not isinstance(at.otherwise, ast.If) or at.otherwise.coercion is not None:
            _branch(g, at.otherwise, wants_value)
            break
        at = at.otherwise
        # Each further `if` is a scope inside the one before; all are left together at the end of the chain.
        scopes.append(e.names.enter())
        g.at(at.span)
    while ends:
        last = ends.pop()
        if last is not None:
            e.mark(last, after)
        if scopes:
            e.depth = after
            e.names.leave(scopes.pop(), len(e.code))


def _branch(g: Generator, expr: ast.Expr, wants_value: bool) -> None:
    if wants_value:
        g.value(expr)
    else:
        discard(g, expr)


@value_of(ast.Match)
def match_value(g: Generator, node: ast.Match) -> None:
    _match(g, node, wants_value=True)


@effect_of(ast.Match)
def match_effect(g: Generator, node: ast.Match) -> None:
    _match(g, node, wants_value=False)


def _match(g: Generator, node: ast.Match, wants_value: bool) -> None:
    e = g.emitter
    depth = e.depth
    end = Label()
    g.value(node.subject)
    subject_type = static_type(node.subject)
    if any(arm.guard is not None for arm in node.arms) and may_alias(node.subject) and not is_plain(subject_type):
        e.emit("SHARE")  # a guard may write the place the subject came from
    subject = e.temp()
    e.emit("STORE", subject)
    for arm in node.arms:
        following = Label()
        outer = e.names.enter()
        g.at(arm.span)
        test_pattern(g, arm.pattern, subject, following, subject_type)
        if arm.guard is not None:
            branch_unless(g, arm.guard, following)
        _branch(g, arm.body, wants_value)
        e.names.leave(outer, len(e.code))
        e.jump("JUMP", end)
        e.mark(following, depth)
    g.at(node.span)
    e.emit("LOAD", subject)
    # The checker has shown that some arm matches; a value typed Any may still be another.
    e.emit("FAIL_MATCH")
    e.release(subject)
    e.mark(end, depth + (1 if wants_value else 0))


# ---------------------------------------------------------------- loops


@value_of(ast.For)
def for_value(g: Generator, node: ast.For) -> None:
    _for(g, node, wants_value=True)


@effect_of(ast.For)
def for_effect(g: Generator, node: ast.For) -> None:
    _for(g, node, wants_value=False)


def _for(g: Generator, node: ast.For, wants_value: bool) -> None:
    if t.is_stream(static_type(node.iterable)):
        _for_stream(g, node, wants_value)
        return
    e = g.emitter
    depth = e.depth
    g.bound(node.iterable)
    g.at(node.iterable.span)
    _entries_first(g, node.iterable)
    e.emit("ITERATE")
    loop, exhausted = _enter(g, node.label, depth, wants_value), Label()
    e.mark(loop.again, e.depth)
    g.at(node.span)
    e.jump("NEXT", exhausted)
    element = node.pattern.type
    # The element still lives in what is iterated, so the loop variable shares it (V-5.7).
    if not is_plain(element):
        e.emit("SHARE")
    bind_irrefutable(g, node.pattern, element)
    _body(g, node.body, loop)
    e.mark(exhausted, depth)
    _leave(g, loop)


def _entries_first(g: Generator, iterable: ast.Expr) -> None:
    """Ask a hashmap for its entries before they are walked over, where a store may have to be waited for (O-5.41)."""
    type_ = static_type(iterable)
    if g.module.has_stored_hashmaps and isinstance(type_, t.Generic) and type_.name == "HashMap":
        g.emitter.emit("CALL_METHOD", g.module.pool.method("entries", 0, []), 0)


def _for_stream(g: Generator, node: ast.For, wants_value: bool) -> None:
    """Generate a loop over a Stream. Each chunk is awaited; an error leaves the loop as by `?`, which ends the stream too
    (O-1.72, O-1.73)."""
    e = g.emitter
    depth = e.depth
    g.value(node.iterable)
    stream = e.temp()
    e.emit("STORE", stream)
    loop, done = _enter(g, node.label, depth, wants_value), Label()
    loop.stream = stream
    e.mark(loop.again, depth)
    g.at(node.iterable.span)
    e.emit("LOAD", stream)
    e.emit("CALL_METHOD", g.module.pool.method("_chunk", 0, []), 0)
    error_leaves(g, node.failure)
    chunk = e.temp()
    e.emit("STORE", chunk)
    e.emit("LOAD", chunk)
    of_host = t.of_host(static_type(node.iterable))  # whose elements may be nil: they come in Some
    e.emit("IS_SOME" if of_host else "IS_NIL")
    e.jump("JUMP_UNLESS" if of_host else "JUMP_IF", done)
    e.emit("LOAD", chunk)
    if of_host:
        e.emit("UNWRAP")
    e.release(chunk)
    bind_irrefutable(g, node.pattern, node.pattern.type)
    _body(g, node.body, loop)
    e.mark(done, depth)
    _leave(g, loop)
    e.release(stream)


def _leave_streams(g: Generator, loops: list[LoopContext]) -> None:
    """End the streams that these loops walk: they are not read any further (O-1.74)."""
    for loop in reversed(loops):
        if loop.stream is not None:
            g.emitter.emit("LOAD", loop.stream)
            g.emitter.emit("CALL_METHOD", g.module.pool.method("_leave", 0, []), 0)
            g.emitter.emit("DROP", 1, 1)


@value_of(ast.While)
def while_value(g: Generator, node: ast.While) -> None:
    _while(g, node, wants_value=True)


@effect_of(ast.While)
def while_effect(g: Generator, node: ast.While) -> None:
    _while(g, node, wants_value=False)


def _while(g: Generator, node: ast.While, wants_value: bool) -> None:
    e = g.emitter
    loop, done = _enter(g, node.label, e.depth, wants_value), Label()
    e.mark(loop.again, e.depth)
    branch_unless(g, node.condition, done)
    _body(g, node.body, loop)
    e.mark(done, loop.depth)
    _leave(g, loop)


@value_of(ast.Loop)
def loop_value(g: Generator, node: ast.Loop) -> None:
    _loop(g, node, wants_value=True)


@effect_of(ast.Loop)
def loop_effect(g: Generator, node: ast.Loop) -> None:
    _loop(g, node, wants_value=False)


def _loop(g: Generator, node: ast.Loop, wants_value: bool) -> None:
    e = g.emitter
    loop = _enter(g, node.label, e.depth, wants_value)
    e.mark(loop.again, e.depth)
    _body(g, node.body, loop)
    e.mark(loop.exit, loop.depth + (1 if wants_value else 0))


def _enter(g: Generator, label: ast.Ident | None, depth: int, wants_value: bool) -> LoopContext:
    """Begin a loop; `depth` is that of the operand stack before it."""
    loop = LoopContext(label.text if label else None, Label(), Label(), depth, g.emitter.depth, wants_value)
    g.loops.append(loop)
    return loop


def _body(g: Generator, body: ast.Block, loop: LoopContext) -> None:
    """Generate the body of a loop and the jump back."""
    g.effect(body)
    g.at(body.span)
    g.emitter.jump("JUMP", loop.again)
    g.loops.pop()


def _leave(g: Generator, loop: LoopContext) -> None:
    """End a loop behind its last round: nil is the value where one is used (L-5.7.2)."""
    if loop.wants_value:
        g.emitter.emit("NIL")
    g.emitter.mark(loop.exit, loop.depth + (1 if loop.wants_value else 0))


# ---------------------------------------------------------------- leaving


@value_of(ast.Break)
def break_(g: Generator, node: ast.Break) -> None:
    e = g.emitter
    loop = _target(g, node.label)
    _leave_streams(g, g.loops[g.loops.index(loop) :])
    if loop.wants_value:
        if node.value is None:
            e.emit("NIL")
        else:
            g.bound(node.value)
        # Values that wait on the stack inside the loop are dropped below the result.
        _slide(g, e.depth - loop.depth - 1)
    else:
        if node.value is not None:
            g.effect(node.value)
        _drop(g, e.depth - loop.depth)
    e.jump("JUMP", loop.exit)


@value_of(ast.Continue)
def continue_(g: Generator, node: ast.Continue) -> None:
    loop = _target(g, node.label)
    _leave_streams(g, g.loops[g.loops.index(loop) + 1 :])
    _drop(g, g.emitter.depth - loop.inner)
    g.emitter.jump("JUMP", loop.again)


def _target(g: Generator, label: ast.Ident | None) -> LoopContext:
    """Return the loop that a break or continue means."""
    if label is None:
        return g.loops[-1]
    return next(loop for loop in reversed(g.loops) if loop.label == label.text)


def _drop(g: Generator, count: int) -> None:
    if count:
        g.emitter.emit("DROP", count, count)


def _slide(g: Generator, count: int) -> None:
    if count:
        g.emitter.emit("SLIDE", count, count)


@value_of(ast.Return)
def return_(g: Generator, node: ast.Return) -> None:
    if node.value is None:
        g.emitter.emit("NIL")
    else:
        returned(g, node.value)
    if g.scope is not None and g.scope.wraps:
        g.emitter.emit("OK")
    _leave_streams(g, g.loops)
    g.leave()


def returned(g: Generator, expr: ast.Expr) -> None:
    """Push the result of a function. A plain local dies with its frame, so only longer places and captured variables are marked
    shared, and what the caller still has: `self`. In a method with `mut self` what stands in any place is."""
    inner = ast.ungrouped(expr)
    # With `mut self` the frame's locals are read once more, for the new self, so nothing dies early.
    dies = isinstance(inner, ast.PathExpr) and inner.binding in g.slots and inner.binding is not g.caller_self
    if dies and g.receiver is None:
        g.value(expr)
    else:
        g.bound(expr)


@value_of(ast.Throw)
def throw(g: Generator, node: ast.Throw) -> None:
    g.bound(node.value)
    g.at(node.span)
    g.emitter.emit("THROW")


# ---------------------------------------------------------------- try


@value_of(ast.Try)
def try_value(g: Generator, node: ast.Try) -> None:
    _try(g, node, wants_value=True)


@effect_of(ast.Try)
def try_effect(g: Generator, node: ast.Try) -> None:
    _try(g, node, wants_value=False)


def _try(g: Generator, node: ast.Try, wants_value: bool) -> None:
    e = g.emitter
    depth = e.depth
    handler, end = Label(), Label()
    start = len(e.code)
    # Statements inside throw the Err that they would otherwise drop.
    outer, g.in_try = g.in_try, True
    if wants_value:
        g.value(node.body)
    else:
        g.effect(node.body)
    g.in_try = outer
    if wants_value and not node.catches:
        e.emit("OK")
    e.jump("JUMP", end)
    position = len(e.handlers)
    covered = len(e.code)
    # A body in which nothing can raise gets no handler.
    if any(e.code[i][0] in RAISERS for i in range(start, covered)):
        e.mark_handler(handler, depth)
        e.handlers.insert(position, (start, covered, handler, depth))
        if node.catches:
            _catches(g, node, end, wants_value)
        elif wants_value:
            e.emit("ERR")
        else:
            e.emit("POP")
    e.mark(end, depth + (1 if wants_value else 0))


def _catches(g: Generator, node: ast.Try, end: Label, wants_value: bool) -> None:
    """Generate the clauses in order. An error that none covers goes to the next target outward (L-5.12.3)."""
    e = g.emitter
    depth = e.depth
    for clause in node.catches:
        following, outer = Label(), e.names.enter()
        g.at(clause.span)
        if clause.caught is not None and clause.caught != t.ANY:
            e.emit("DUP")
            family = getattr(clause.type, "binding", None)
            if isinstance(family, symbols.ErrorFamilySymbol) and family.variant is not None:
                e.emit("IS_ERROR", g.module.pool.error(family.name, family.variant, []))
            else:
                e.emit("IS", g.module.pool.type(clause.caught))
            e.jump("JUMP_UNLESS", following)
        if clause.lifts_text:
            is_error = Label()
            e.emit("DUP")
            e.emit("IS", g.module.pool.type(t.STRING))
            e.jump("JUMP_UNLESS", is_error)
            g.coerce(decisions.ToError())
            e.mark(is_error, depth)
        if clause.binding is not None:
            g.bind(clause.binding)
        else:
            e.emit("POP")
        _branch(g, clause.body, wants_value)
        e.names.leave(outer, len(e.code))
        e.jump("JUMP", end)
        e.mark(following, depth)
    g.at(node.span)
    for type_, coercion in node.rethrow:
        plain = Label()
        e.emit("DUP")
        e.emit("IS", g.module.pool.type(type_))
        e.jump("JUMP_UNLESS", plain)
        g.coerce(coercion)
        e.emit("THROW")
        e.mark(plain, depth)
    e.emit("THROW")
