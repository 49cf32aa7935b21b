"""Names inside expressions and statements: scopes of blocks, arms, loops, closures and clauses (L-5.4).

Hands on HANDLERS, TASK_HANDLERS and BRACES_HANDLERS, tables of handlers by class of node, which `program` gives to the resolver;
a form without a handler just has its children visited. `r` is the state of the walk; a handler sets what the nodes denote,
reports to `r`, and raises nothing for a wrong program. A handler that returns a child lets the walk go on there, so that long
left-deep chains cost no recursion; None ends it. Only forms that open a scope, declare something, take words, are warned of or go
on with one child stand here: a new one is a function and a row of HANDLERS. Names and paths themselves are in `paths`, patterns
in `patterns`; what a type must decide, such as which method is meant, is for the checker.
"""

from __future__ import annotations

import re

from ..hints import names
from ..source import Span
from ..symbols import BuiltinSymbol, ConstSymbol, FunctionScope, Local
from ..syntax import ast
from .items import closure, declare_items, parameters, visit_items
from .memories import WORD_OF_METHOD, bind_slot_read, bind_slot_writes, declare_memory_value, replace_words
from .names import find, find_item, walk
from .paths import use_local
from .patterns import bind_pattern
from .state import ErroneousSymbol, Handler, Resolver

# What runs in a task of its own, and async blocks: each body is a scope that captures from those around it (O-6.8, L-9.1.1).


def task_body(r: Resolver, kind: str, node: ast.Expr, pattern: ast.Pattern | None = None) -> ast.TaskBody:
    """Resolve the body of a task and return it with its scope. `kind` is await, race, async, spawn or parallel; `pattern` binds
    the element of a parallel loop. An async block runs on the variables themselves, all others on copies (O-6.8)."""
    with r.body(r.function) as scope:
        scope.copies = kind != "async"
        if pattern is not None:
            bind_pattern(r, pattern)
        r.visit(node)
    return _with_scope(scope, kind, pattern, node)


def _with_scope(scope: FunctionScope, kind: str, pattern: ast.Pattern | None, node: ast.Expr) -> ast.TaskBody:
    task = ast.TaskBody(span=node.span, kind=kind, pattern=pattern, body=node)
    task.scope = scope
    return task


def await_(r: Resolver, node: ast.Await) -> ast.Node | None:
    """Make a task of each element of a tuple directly under `await`: they run concurrently (L-9.2.1). Any other operand, the
    empty tuple too, is where the walk goes on."""
    if not isinstance(node.operand, ast.TupleExpr) or not node.operand.items:
        return node.operand
    node.tasks = [task_body(r, "await", item) for item in node.operand.items]
    return None


def race(r: Resolver, node: ast.Call) -> bool:
    """Return whether the call is `race(…)`, the name not shadowed; its operands are then resolved, each as a task (L-9.2.2)."""
    callee = node.callee
    if not isinstance(callee, ast.PathExpr) or [segment.text for segment in callee.segments] != ["race"]:
        return False
    if not isinstance(find(r, callee.segments[0]), BuiltinSymbol):
        return False
    node.tasks = [task_body(r, "race", argument.value) for argument in node.arguments]
    return True


def async_block(r: Resolver, node: ast.AsyncBlock) -> None:
    """Resolve `async { … }` as a body of its own."""
    node.task = task_body(r, "async", node.body)


def spawn(r: Resolver, node: ast.Spawn) -> None:
    """Resolve `spawn x`; the function around ends its tasks before it ends itself (O-6.14)."""
    if r.function is not None:
        r.function.spawns = True
    node.task = task_body(r, "spawn", node.operand)


def parallel_for(r: Resolver, node: ast.ParallelFor) -> None:
    """Resolve a parallel loop: each pass is a task with its own variables of the pattern."""
    r.visit(node.iterable)
    r.visit(node.limit)
    node.task = task_body(r, "parallel", node.body, node.pattern)


def listen(r: Resolver, node: ast.Listen) -> ast.Node | None:
    """Resolve `listen`; handlers see and change the variables around them (O-7.35)."""
    r.visit(node.operand)
    for handler in node.handlers:
        # The parser has reported every other form.
        if isinstance(handler.body, ast.Closure):
            handler.task = _handler(r, handler.body)
    return None


def _handler(r: Resolver, closure: ast.Closure) -> ast.TaskBody:
    with r.body(r.function) as scope:
        parameters(r, closure.parameters)
        r.visit(closure.body)
    return _with_scope(scope, "listen", None, closure.body)


TASK_HANDLERS: dict[type[ast.Node], Handler] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.Spawn: spawn,
    ast.ParallelFor: parallel_for,
    ast.Listen: listen,
}


# Operators, calls and places. One child comes last, mostly the left or first one: the walk goes on there.

WRITES_BY_NAME = ("remember", "forget")  # methods of a memory whose first argument may be the name of a slot


def binary(r: Resolver, node: ast.Binary) -> ast.Node:
    """Resolve the right operand, then go on with the left one."""
    r.visit(node.right)
    return node.left


def call(r: Resolver, node: ast.Call) -> ast.Node | None:
    """Resolve a call: the operands of `race`, the constructor of a memory value, or the arguments; then go on with the callee,
    unless a memory value is made."""
    if race(r, node):
        return node.callee
    if declare_memory_value(r, node):
        return None
    callee = node.callee
    name = callee.segments[0].text if isinstance(callee, ast.PathExpr) else ""
    named_with_equals(r, node.arguments, name, constructs=isinstance(callee, ast.PathExpr) and _names_a_type(callee))
    for argument in node.arguments:
        r.visit(argument.value)
    return node.callee


def method_call(r: Resolver, node: ast.MethodCall) -> ast.Node | None:
    """Resolve a chain that makes a memory value as a whole; of any other method call the type arguments and arguments, then go on
    with the receiver. What the method is, the checker finds."""
    if declare_memory_value(r, node):
        return None
    for type_argument in node.type_arguments or ():
        r.visit(type_argument)
    # Before the arguments are visited: an assignment would report an unknown variable.
    named_with_equals(r, node.arguments, node.name.text)
    for argument in node.arguments:
        if node.name.text in WORD_OF_METHOD:
            replace_words(r, node.name.text, argument)
        r.visit(argument.value)
    if node.name.text in WRITES_BY_NAME:
        bind_slot_writes(r, node)
    return node.receiver


def index(r: Resolver, node: ast.Index) -> ast.Node:
    """Resolve the index, then go on with the receiver."""
    r.visit(node.index)
    return node.receiver


def field_access(r: Resolver, node: ast.FieldAccess) -> ast.Node:
    """Bind a slot that a clause has loaded, then go on with the receiver."""
    bind_slot_read(r, node)
    return node.receiver


def tuple_access(r: Resolver, node: ast.TupleAccess) -> ast.Node:
    """Go on with the receiver."""
    return node.receiver


def propagate(r: Resolver, node: ast.Propagate) -> ast.Node:
    """Go on with the operand of `?`."""
    return node.operand


def cast(r: Resolver, node: ast.Cast) -> ast.Node:
    """Resolve the type, then go on with the operand."""
    r.visit(node.target)
    return node.operand


def pipe(r: Resolver, node: ast.Pipe) -> ast.Node:
    """Resolve a pipe, whose left side is an argument of the innermost call of `applied`: all the rest there, then the left
    side."""
    applied = node.applied
    while isinstance(applied, (ast.Propagate, ast.Await)):
        applied = applied.operand
    if isinstance(applied, ast.MethodCall):
        r.visit(applied.receiver)
        for type_argument in applied.type_arguments or ():
            r.visit(type_argument)
    elif isinstance(applied, ast.Call):
        r.visit(applied.callee)
    # The left side itself is where the walk goes on.
    for argument in getattr(applied, "arguments", ()):
        if argument.value is not node.left:
            r.visit(argument.value)
    return node.left


def _names_a_type(callee: ast.PathExpr) -> bool:
    return len(callee.segments) == 1 and callee.segments[0].text[:1].isupper()


def named_with_equals(r: Resolver, arguments: list[ast.Argument], callee: str, *, constructs: bool = False) -> None:
    """Report `f(x=2)`, which names a parameter in other languages and assigns a variable here (E2007, L-3.8.7). `callee` is the
    name of the method, or the first name of what is called, empty for what is no path. Of what `constructs` a value, as
    `Point(x=1)`, nothing is reported here.

    The argument becomes a named one, so that the checker reports nothing else about it. One that only another language has is
    taken out, as its message has said what to write instead.
    """
    foreign: list[ast.Argument] = []
    for argument in arguments:
        value = argument.value
        if not isinstance(value, ast.Assign) or value.operator != "=" or argument.name is not None:
            continue
        if isinstance(value.target, ast.PathExpr) and len(value.target.segments) == 1 and value.target.member is None:
            name = value.target.segments[0]
            help = names.ARGUMENTS.get((callee, name.text)) or f"write `{name.text}: {r.text(value.value)}`"
            if not constructs:  # of `Point(x=1)` it is the type that is said to be none
                r.report("E2007", value.span, f"`=` assigns: an argument is named with `{name.text}:`", help=help)
            argument.value, argument.name = value.value, name
            if (callee, name.text) in names.ARGUMENTS:
                foreign.append(argument)
    arguments[:] = [argument for argument in arguments if argument not in foreign] if foreign else arguments


def report_undeclared(r: Resolver, target: ast.PathExpr, declaration: str) -> None:
    """Report an assignment to what no `let` has declared (E1001); `declaration` is the line that would declare it, for the
    help."""
    name = target.segments[0]
    near = r.nearest_name(name.text)
    # Only without a suggestion: else the next uses are probably misspelt too.
    if near is None:
        r.scope.names[name.text] = ErroneousSymbol(name.text)  # later uses of it are not reported again
    help = near or f"declare it first: `{declaration}`"
    r.report("E1001", name.span, f"undefined name `{name.text}`", help=help)


def assign(r: Resolver, node: ast.Assign) -> ast.Node | None:
    """Resolve the target of an assignment, then go on with the value. `x += 1` reads its variable, `x = 1` does not (W0001)."""
    target = ast.ungrouped(node.target)
    if isinstance(target, ast.PathExpr) and node.operator == "=":
        _visit_assigned_name(r, target, node.value)
    elif isinstance(target, ast.PathExpr) and len(target.segments) == 1 and find(r, target.segments[0]) is None:
        report_undeclared(r, target, f"let mut {target.segments[0].text} = …;")
    else:
        r.visit(target)
    return node.value


def _visit_assigned_name(r: Resolver, target: ast.PathExpr, value: ast.Expr) -> None:
    name = target.segments[0]
    symbol = find(r, name) if len(target.segments) == 1 and target.member is None else None
    if symbol is None and len(target.segments) == 1 and target.member is None and not target.type_arguments:
        report_undeclared(r, target, f"let {name.text} = {r.text(value)};")
        return
    if isinstance(symbol, Local):
        target.binding = symbol
        use_local(r, symbol)
    else:
        r.visit(target)


def block(r: Resolver, node: ast.Block) -> None:
    """Resolve a block in a scope of its own; its items are visible in all of it, also before they stand (L-5.4.2)."""
    with r.block():
        # Items first: statements before an item may use it.
        items = [s.item for s in node.statements if isinstance(s, ast.ItemStmt)]
        declare_items(r, items)
        visit_items(r, items)
        for statement in node.statements:
            if not isinstance(statement, ast.ItemStmt):
                r.visit(statement)
        r.visit(node.result)


def let(r: Resolver, node: ast.Let) -> None:
    """Resolve a `let`; its value does not see its names yet. Without a value the local of a plain name is deferred (L-3.13.3)."""
    r.visit(node.type)
    r.visit(node.value)
    bind_pattern(r, node.pattern)
    # `checker/assignment.py` checks that a deferred local gets its value before it is read.
    if node.value is None and isinstance(node.pattern, ast.BindPattern) and node.pattern.binding is not None:
        node.pattern.binding.deferred = True


def mock(r: Resolver, node: ast.Mock) -> None:
    """Bind the target of a `mock`; a single name that means nothing is reported by the checker (O-8.14), a path by `walk`."""
    if node.path:
        walked = walk(r, [*node.path, node.name])
        node.target = walked.symbol if not walked.rest else None
        if walked.symbol is None:
            node.target = ErroneousSymbol(node.name.text)  # it was reported
    else:
        node.target = find_item(r, node.name)
    for entry in node.config:
        r.visit(entry.value)
    r.visit(node.answer)


def if_(r: Resolver, node: ast.If) -> ast.Node | None:
    """Resolve condition and first branch, then go on with `else`."""
    r.visit(node.condition)
    r.visit(node.then)
    return node.otherwise


def match_(r: Resolver, node: ast.Match) -> None:
    """Resolve a `match`: each arm is a scope with the names of its pattern, which its guard sees too."""
    r.visit(node.subject)
    for arm in node.arms:
        with r.block():
            bind_pattern(r, arm.pattern)
            r.visit(arm.guard)
            r.visit(arm.body)


def for_(r: Resolver, node: ast.For) -> None:
    """Resolve a loop: the iterable outside, pattern and body in a scope of their own."""
    r.visit(node.iterable)
    with r.block():
        bind_pattern(r, node.pattern)
        r.visit(node.body)


def _name_every_error(r: Resolver, clause: ast.CatchClause) -> None:
    """Make of `catch e`, where e is no type, the clause that catches every error and calls it e (L-3.12.7)."""
    written = clause.type
    if clause.name is not None or not isinstance(written, ast.NamedType) or len(written.path) != 1 or written.arguments:
        return
    name = written.path[0]
    # Types begin with a capital letter (E1014), so that no other name can be meant.
    if name.text[:1].islower() or name.text[:1] == "_":
        clause.type, clause.name = None, name


def try_(r: Resolver, node: ast.Try) -> None:
    """Resolve `try` with its catch clauses: each is a scope with the name of the error."""
    r.visit(node.body)
    for clause in node.catches:
        _name_every_error(r, clause)
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


# Strings that look as if they had holes: `"Hi {name}"` where `name` is a variable (L-4.7.12, L-1.5.7).
# Doubled braces, which templates take, raw strings and names of nothing visible are text and stay silent.

_BRACED = re.compile(r"(?<![{$])\{([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_]+)*\}(?!\})")


def string(r: Resolver, node: ast.StringLiteral) -> None:
    """Warn of `{name}` in a text where a variable or constant has that name (W0012). Raw strings are left out, and so is a `{`
    behind `{` or `$`."""
    source = r.project.sources.get(node.span.file)
    if "{" not in node.value or source is None:
        return
    written = source.text[node.span.start : node.span.end]
    # A raw string is meant as it stands.
    if written.startswith("r#"):
        return
    for hole in _BRACED.finditer(written):
        span = Span(node.span.file, node.span.start + hole.start(), node.span.start + hole.end())
        name = ast.Ident(span=span, text=hole[1])
        symbol = find(r, name)
        if isinstance(symbol, Local):
            symbol.read = True  # one warning is enough
        if isinstance(symbol, (Local, ConstSymbol)):
            message = f"`{hole[0]}` is text, the value of `{name.text}` is not put in"
            r.report("W0012", span, message, help=f"write `${hole[0]}`")


BRACES_HANDLERS: dict[type[ast.Node], Handler] = {ast.StringLiteral: string}
