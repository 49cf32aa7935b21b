"""How operators and chains of calls, accesses and pipes are written.

A chain of any length is one node of layout, so its walk is a loop: a left-nested chain may be as long as a file (G-5.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..frames import QUESTIONS_BEFORE
from .layout import LINE, SOFT, Begin
from .printer import COMMA_IF_BROKEN, Printer, prints
from .types import close_parentheses, open_parentheses, type_, type_arguments

# ---------------------------------------------------------------- operators

_LEVELS = (("+", "-"), ("*", "/", "%"), ("<", "<=", ">", ">="), ("==", "!="), ("&&",), ("||",), ("??",))
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


@prints(ast.Binary)
def binary(p: Printer, node: ast.Binary) -> int:
    if node.operator == "**":
        p.node(node.left)
        p.spaced("**")
        return p.node(node.right)
    group = p.begin()
    operands(p, node)
    p.end(group)
    return 0


def operands(p: Printer, node: ast.Binary) -> None:
    """The operands of one level of precedence; a line may end before each operator."""
    level = _LEVEL[node.operator]
    steps: list[ast.Binary] = []
    first: ast.Expr = node
    while isinstance(first, ast.Binary) and _LEVEL.get(first.operator) == level:
        steps.append(first)
        first = first.left
    p.node(first)
    p.indent()
    for step in reversed(steps):
        p.pending = LINE
        p.token(step.operator)
        p.pending = " "
        p.node(step.right)
    p.dedent()


@prints(ast.Assign)
def assign(p: Printer, node: ast.Assign) -> int:
    p.node(node.target)
    p.spaced(node.operator)
    return p.node(node.value)


@prints(ast.Unary)
def unary(p: Printer, node: ast.Unary) -> int:
    p.token(node.operator)
    if node.operator == "-" and p.next_is("-"):
        p.pending = " "  # `--` is not in the language (L-2.6.8)
    return p.node(node.operand)


@prints(ast.Cast)
def cast(p: Printer, node: ast.Cast) -> int:
    casts = [node]
    while isinstance(casts[-1].operand, ast.Cast):
        casts.append(casts[-1].operand)
    p.node(casts[-1].operand)
    for one in reversed(casts):
        p.spaced("as")
        type_(p, one.target)
    return 0


@prints(ast.RangeExpr)
def range_(p: Printer, node: ast.RangeExpr) -> int:
    if node.start is not None:
        p.node(node.start)
    p.token("..=" if node.inclusive else "..")
    if node.end is not None:
        p.node(node.end)
    return 0


@prints(ast.Spawn)
def spawn(p: Printer, node: ast.Spawn) -> int:
    p.token("spawn")
    p.pending = " "
    return p.node(node.operand)


# ---------------------------------------------------------------- calls and accesses

Link = ast.Call | ast.MethodCall | ast.FieldAccess | ast.TupleAccess | ast.Index | ast.Propagate | ast.Await


def links_of(node: ast.Expr) -> tuple[ast.Expr, list[Link]]:
    """What a chain begins with, and its links in order."""
    links: list[Link] = []
    while True:
        inner: ast.Expr
        if isinstance(node, (ast.MethodCall, ast.FieldAccess, ast.TupleAccess, ast.Index)):
            inner = node.receiver
        elif isinstance(node, ast.Call):
            inner = node.callee
        elif isinstance(node, ast.Propagate) or (isinstance(node, ast.Await) and node.postfix):
            inner = node.operand
        else:
            links.reverse()
            return node, links
        links.append(node)
        node = inner


@prints(ast.Call, ast.MethodCall, ast.FieldAccess, ast.TupleAccess, ast.Index, ast.Propagate, ast.Await)
def chain(p: Printer, node: ast.Expr, piped: ast.Expr | None = None) -> int:
    """A chain; with two or more method calls a line may end before the dot of each.

    `piped` is the argument of the last call that stands to the left of `|>`.
    """
    if isinstance(node, ast.Await) and not node.postfix:
        return prefix_await(p, node)
    first, links = links_of(node)
    group: Begin | None = None
    if sum(isinstance(link, ast.MethodCall) for link in links) > 1:
        group = p.begin()
    given = p.node(first)
    if group is not None:
        p.indent()
    for link in links:
        if isinstance(link, (ast.Call, ast.MethodCall)):
            if group is not None and isinstance(link, ast.MethodCall):
                p.pending = SOFT
            given = call(p, link, piped if link is node else None)
        else:
            access(p, link)
    if group is not None:
        p.dedent()
        p.end(group)
        group.hug = given
    return given


def prefix_await(p: Printer, node: ast.Await) -> int:
    p.token("await")
    p.pending = " "
    return p.node(node.operand)


def call(p: Printer, node: ast.Call | ast.MethodCall, piped: ast.Expr | None) -> int:
    if isinstance(node, ast.MethodCall):
        p.token(".")
        p.name(node.name)
        type_arguments(p, node.type_arguments)
    written = [argument for argument in node.arguments if argument.value is not piped]
    return arguments(p, written)


def arguments(p: Printer, nodes: Sequence[ast.Argument]) -> int:
    """The arguments of a call or decorator, on one line or with one line each.

    If only the last one ends in an open bracket, or the only one is a call, that bracket alone is broken. Gives its row.
    """
    p.token("(")
    inside = len(p.operations)
    if not nodes and not p.comment_follows():
        p.token(")")
        return 0
    group = p.begin_inside()
    given = p.listed(nodes, p.node, SOFT, LINE, COMMA_IF_BROKEN)
    sole = not given and len(nodes) == 1 and is_plain_call(nodes[0].value)
    group.hug = p.in_last_call if sole else given
    p.close(SOFT, ")", group)
    p.in_last_call = inside
    return given


def is_plain_call(node: ast.Expr) -> bool:
    """Whether a node is a call with arguments before which no line can end."""
    if not isinstance(node, (ast.Call, ast.MethodCall)) or not node.arguments:
        return False
    return sum(isinstance(link, ast.MethodCall) for link in links_of(node)[1]) < 2


@prints(ast.Argument)
def argument(p: Printer, node: ast.Argument) -> int:
    if node.name is not None:
        p.name(node.name)
        p.token(":")
        p.pending = " "
    return p.node(node.value)


def access(p: Printer, link: Link) -> None:
    if isinstance(link, ast.FieldAccess):
        p.token(".")
        p.name(link.name)
        type_arguments(p, link.type_arguments)
    elif isinstance(link, ast.TupleAccess):
        if p.types[p.row - 1] == "INT" and p.operations[-2] != ".":
            p.pending = " "  # `1.0` would be a Float, unless a dot touches the 1 (L-1.4.5)
        p.token(".")
        p.token(p.text[p.next_start() : p.ends[p.row]])
    elif isinstance(link, ast.Index):
        p.token("[")
        p.node(link.index)
        p.token("]")
    elif isinstance(link, ast.Await):
        p.token(".")
        p.token("await")
    else:
        question(p)


def question(p: Printer) -> None:
    """`?`. Behind another one it keeps a blank where `??` would be the operator (L-1.7.2)."""
    behind = p.row - 1 >= 0 and p.used == 0 and p.types[p.row - 1] == "QUESTION"
    if behind and p.types[p.row] == "QUESTION" and p.types[p.row + 1] not in QUESTIONS_BEFORE:
        p.pending = " "
    p.token("?")


# ---------------------------------------------------------------- pipes


@prints(ast.Pipe)
def pipe(p: Printer, node: ast.Pipe) -> int:
    group = p.begin()
    group.hug = given = stages(p, node)
    p.end(group)
    return given


def stages(p: Printer, node: ast.Pipe) -> int:
    """What is piped, and what it is piped to; a line may end before each `|>`."""
    pipes = [node]
    while isinstance(pipes[-1].left, ast.Pipe):
        pipes.append(pipes[-1].left)
    given = p.node(pipes[-1].left)
    p.indent()
    for one in reversed(pipes):
        p.pending = LINE
        p.token("|>")
        p.pending = " "
        given = right_side(p, one)
    p.dedent()
    return given


def right_side(p: Printer, node: ast.Pipe) -> int:
    """The call as it was before L-2.3.1 and L-2.3.2: without its piped argument, and with the parentheses that the
    rewriting has dropped."""
    peeled: list[Link] = []
    inner = node.applied
    while not receives(inner, node.left):
        assert isinstance(inner, (ast.Propagate, ast.Await))
        peeled.append(inner)
        inner = inner.operand
    parentheses = open_parentheses(p, inner)
    if isinstance(inner, ast.Call) and inner.callee.span == inner.span:
        given = p.node(inner.callee)  # `x |> f`, `x |> |v| …`
    else:
        given = chain(p, inner, piped=node.left)
    close_parentheses(p, parentheses)
    for link in reversed(peeled):
        access(p, link)
    return given


def receives(node: ast.Expr, piped: ast.Expr) -> bool:
    return isinstance(node, (ast.Call, ast.MethodCall)) and any(one.value is piped for one in node.arguments)
