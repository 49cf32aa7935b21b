"""Names inside expressions and statements: scopes of blocks, arms, loops, closures and clauses (L-5.4).

A handler that returns a child lets the walk go on there: long left-deep chains cost no recursion.
"""

from __future__ import annotations

import re

from ..hints import names
from ..source import Span
from ..symbols import BuiltinSymbol, ConstSymbol, FunctionScope, Local
from ..syntax import ast
from .items import closure, declare_items, parameters, visit_items
from .names import find, find_item
from .paths import use_local
from .patterns import WORD_OF_METHOD, bind_pattern, held_slot, held_slots, memory_value, tier_words
from .state import ErroneousSymbol, Handler, Resolver

# ----------------------------------------------------------------
# What runs in a task of its own, and async blocks: each body is a scope that captures from those around it (O-6.8, L-9.1.1).


def body(r: Resolver, kind: str, node: ast.Expr, pattern: ast.Pattern | None = None) -> ast.TaskBody:
    with r.body(r.function) as scope:
        scope.copies = kind != "async"
        if pattern is not None:
            bind_pattern(r, pattern)
        r.visit(node)
    return _task(scope, kind, pattern, node)


def _task(scope: FunctionScope, kind: str, pattern: ast.Pattern | None, node: ast.Expr) -> ast.TaskBody:
    task = ast.TaskBody(span=node.span, kind=kind, pattern=pattern, body=node)
    task.scope = scope
    return task


def await_(r: Resolver, node: ast.Await) -> ast.Node | None:
    """The elements of a tuple directly under `await` run concurrently (L-9.2.1)."""
    if not isinstance(node.operand, ast.TupleExpr) or not node.operand.items:
        return node.operand
    node.tasks = [body(r, "await", item) for item in node.operand.items]
    return None


def race(r: Resolver, node: ast.Call) -> bool:
    """Whether the call is `race(…)`, the name not shadowed; its operands are resolved then (L-9.2.2)."""
    callee = node.callee
    if not isinstance(callee, ast.PathExpr) or [segment.text for segment in callee.segments] != ["race"]:
        return False
    if not isinstance(find(r, callee.segments[0]), BuiltinSymbol):
        return False
    node.tasks = [body(r, "race", argument.value) for argument in node.arguments]
    return True


def async_block(r: Resolver, node: ast.AsyncBlock) -> None:
    node.task = body(r, "async", node.body)


def spawn(r: Resolver, node: ast.Spawn) -> None:
    if r.function is not None:
        r.function.spawns = True
    node.task = body(r, "spawn", node.operand)


def parallel_for(r: Resolver, node: ast.ParallelFor) -> None:
    r.visit(node.iterable)
    r.visit(node.limit)
    node.task = body(r, "parallel", node.body, node.pattern)


def listen(r: Resolver, node: ast.Listen) -> ast.Node | None:
    """Handlers see and change the variables around them (O-7.35)."""
    r.visit(node.operand)
    for handler in node.handlers:
        if isinstance(handler.body, ast.Closure):
            handler.task = _handler(r, handler.body)
    return None


def _handler(r: Resolver, closure: ast.Closure) -> ast.TaskBody:
    with r.body(r.function) as scope:
        parameters(r, closure.parameters)
        r.visit(closure.body)
    return _task(scope, "listen", None, closure.body)


TASK_HANDLERS: dict[type[ast.Node], Handler] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.Spawn: spawn,
    ast.ParallelFor: parallel_for,
    ast.Listen: listen,
}


# ----------------------------------------------------------------

WRITES_BY_NAME = ("remember", "forget")  # methods of a memory whose first argument may be the name of a slot


def binary(r: Resolver, node: ast.Binary) -> ast.Node:
    r.visit(node.right)
    return node.left


def call(r: Resolver, node: ast.Call) -> ast.Node | None:
    if race(r, node):
        return node.callee
    if memory_value(r, node):
        return None
    callee = node.callee
    named_with_equals(r, node.arguments, callee.segments[0].text if isinstance(callee, ast.PathExpr) else "")
    for argument in node.arguments:
        r.visit(argument.value)
    return node.callee


def method_call(r: Resolver, node: ast.MethodCall) -> ast.Node | None:
    if memory_value(r, node):
        return None
    for type_argument in node.type_arguments or ():
        r.visit(type_argument)
    named_with_equals(r, node.arguments, node.name.text)
    for argument in node.arguments:
        if node.name.text in WORD_OF_METHOD:
            tier_words(r, node.name.text, argument)
        r.visit(argument.value)
    if node.name.text in WRITES_BY_NAME:
        held_slots(r, node)
    return node.receiver


def index(r: Resolver, node: ast.Index) -> ast.Node:
    r.visit(node.index)
    return node.receiver


def field_access(r: Resolver, node: ast.FieldAccess) -> ast.Node:
    held_slot(r, node)
    return node.receiver


def tuple_access(r: Resolver, node: ast.TupleAccess) -> ast.Node:
    return node.receiver


def propagate(r: Resolver, node: ast.Propagate) -> ast.Node:
    return node.operand


def cast(r: Resolver, node: ast.Cast) -> ast.Node:
    r.visit(node.target)
    return node.operand


def pipe(r: Resolver, node: ast.Pipe) -> ast.Node:
    """The left side is an argument of the innermost call of `applied`; everything else there is visited before it."""
    applied = node.applied
    while isinstance(applied, (ast.Propagate, ast.Await)):
        applied = applied.operand
    if isinstance(applied, ast.MethodCall):
        r.visit(applied.receiver)
        for type_argument in applied.type_arguments or ():
            r.visit(type_argument)
    elif isinstance(applied, ast.Call):
        r.visit(applied.callee)
    for argument in getattr(applied, "arguments", ()):
        if argument.value is not node.left:
            r.visit(argument.value)
    return node.left


def named_with_equals(r: Resolver, arguments: list[ast.Argument], callee: str) -> None:
    """L-3.8.7: `f(x=2)` names a parameter elsewhere and would assign a variable here; what was meant is gone on with."""
    foreign: list[ast.Argument] = []
    for argument in arguments:
        value = argument.value
        if not isinstance(value, ast.Assign) or value.operator != "=" or argument.name is not None:
            continue
        if isinstance(value.target, ast.PathExpr) and len(value.target.segments) == 1 and value.target.member is None:
            name = value.target.segments[0]
            help = names.ARGUMENTS.get((callee, name.text)) or f"write `{name.text}: {r.text(value.value)}`"
            if not callee[:1].isupper():  # of `Point(x=1)` it is the type that is said to be none
                r.report("E2007", value.span, f"`=` assigns: an argument is named with `{name.text}:`", help=help)
            argument.value, argument.name = value.value, name
            if (callee, name.text) in names.ARGUMENTS:  # there is no such parameter, which was said
                foreign.append(argument)
    arguments[:] = [one for one in arguments if one not in foreign] if foreign else arguments


def undeclared(r: Resolver, target: ast.PathExpr, declaration: str) -> None:
    """An assignment to what no `let` has declared."""
    name = target.segments[0]
    near = r.nearest_name(name.text)
    if near is None:
        r.scope.names[name.text] = ErroneousSymbol(name.text)  # what follows speaks of the same variable
    help = near or f"declare it first: `{declaration}`"
    r.report("E1001", name.span, f"undefined name `{name.text}`", help=help)


def assign(r: Resolver, node: ast.Assign) -> ast.Node | None:
    target = node.target
    while isinstance(target, ast.GroupExpr):
        target = target.inner
    if isinstance(target, ast.PathExpr) and node.operator == "=":
        _assigned_name(r, target, node.value)
    elif isinstance(target, ast.PathExpr) and len(target.segments) == 1 and find(r, target.segments[0]) is None:
        undeclared(r, target, f"let mut {target.segments[0].text} = …;")
    else:
        r.visit(target)
    return node.value


def _assigned_name(r: Resolver, target: ast.PathExpr, value: ast.Expr) -> None:
    """A plain assignment is no reading of its variable (W0001)."""
    name = target.segments[0]
    symbol = find(r, name) if len(target.segments) == 1 and target.member is None else None
    if symbol is None and len(target.segments) == 1 and target.member is None and not target.type_arguments:
        undeclared(r, target, f"let {name.text} = {r.text(value)};")
        return
    if isinstance(symbol, Local):
        target.binding = symbol
        use_local(r, symbol)
    else:
        r.visit(target)


def block(r: Resolver, node: ast.Block) -> None:
    with r.block():
        items = [s.item for s in node.statements if isinstance(s, ast.ItemStmt)]
        declare_items(r, items)
        visit_items(r, items)
        for statement in node.statements:
            if not isinstance(statement, ast.ItemStmt):
                r.visit(statement)
        r.visit(node.result)


def let(r: Resolver, node: ast.Let) -> None:
    r.visit(node.type)
    r.visit(node.value)
    bind_pattern(r, node.pattern)
    if node.value is None and isinstance(node.pattern, ast.BindPattern) and node.pattern.binding is not None:
        node.pattern.binding.deferred = True


def mock(r: Resolver, node: ast.Mock) -> None:
    """The target is found by the checker's rules for mocks, which report a missing one (O-8.14)."""
    node.target = find_item(r, node.name)
    for entry in node.config:
        r.visit(entry.value)


def if_(r: Resolver, node: ast.If) -> ast.Node | None:
    r.visit(node.condition)
    r.visit(node.then)
    return node.otherwise


def match_(r: Resolver, node: ast.Match) -> None:
    r.visit(node.subject)
    for arm in node.arms:
        with r.block():
            bind_pattern(r, arm.pattern)
            r.visit(arm.guard)
            r.visit(arm.body)


def for_(r: Resolver, node: ast.For) -> None:
    r.visit(node.iterable)
    with r.block():
        bind_pattern(r, node.pattern)
        r.visit(node.body)


def _catches_a_name(r: Resolver, clause: ast.CatchClause) -> bool:
    """Whether `catch e` names the error where its type must stand; reports it."""
    written = clause.type
    if clause.name is not None or not isinstance(written, ast.NamedType) or len(written.path) != 1:
        return False
    name = written.path[0]
    if not name.text[:1].islower() or find_item(r, name) is not None:
        return False
    r.report("E1002", name.span, f"undefined type `{name.text}`", help=f"write `catch Error({name.text})`")
    return True


def try_(r: Resolver, node: ast.Try) -> None:
    r.visit(node.body)
    for clause in node.catches:
        if not _catches_a_name(r, clause):
            r.visit(clause.type)
        with r.block():
            if clause.name is not None and clause.name.text != "_":
                clause.binding = r.declare(clause.name.text, clause)
            r.visit(clause.body)


HANDLERS: dict[type[ast.Node], Handler] = {
    ast.Binary: binary,
    ast.Call: call,
    ast.MethodCall: method_call,
    ast.Index: index,
    ast.FieldAccess: field_access,
    ast.TupleAccess: tuple_access,
    ast.Propagate: propagate,
    ast.Cast: cast,
    ast.Pipe: pipe,
    ast.Assign: assign,
    ast.Block: block,
    ast.Let: let,
    ast.Mock: mock,
    ast.If: if_,
    ast.Match: match_,
    ast.For: for_,
    ast.Try: try_,
    ast.Closure: closure,
}


# ----------------------------------------------------------------
# Strings that look as if they had holes: `"Hi {name}"` where `name` is a variable (L-4.7.12, L-1.5.7).
#
# Doubled braces, which templates take, raw strings and names of nothing visible are text and stay silent.

_BRACED = re.compile(r"(?<![{$])\{([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_]+)*\}(?!\})")


def string(r: Resolver, node: ast.StringLiteral) -> None:
    source = r.project.sources.get(node.span.file)
    if "{" not in node.value or source is None:
        return
    written = source.text[node.span.start : node.span.end]
    if written.startswith("r#"):
        return
    for found in _BRACED.finditer(written):
        span = Span(node.span.file, node.span.start + found.start(), node.span.start + found.end())
        name = ast.Ident(span=span, text=found[1])
        meant = find(r, name)
        if isinstance(meant, Local):
            meant.read = True  # one warning is enough
        if isinstance(meant, (Local, ConstSymbol)):
            message = f"`{found[0]}` is text, the value of `{name.text}` is not put in"
            r.report("W0012", span, message, help=f"write `${found[0]}`")


BRACES_HANDLERS: dict[type[ast.Node], Handler] = {ast.StringLiteral: string}
