"""How types, patterns and expressions are written: literals, paths, collections, closures, jumps, operators, chains of
calls and pipes.

Functions registered with `prints` return the row (in `Printer.operations`) behind the bracket that may stay open at the end of
their node (`hug_row`), or 0 or nothing. A function takes the printer `p` and a node; the methods of `p` write one token each, or
a list, and raise OutOfStep where another token stands in the source, and `p.pending` is what goes into the gap before the next
token. Hands on `type_`, `type_parameters`, `pattern`, `annotation`, `result`, `path`, `arguments`, `operands` and `stages` to
`statements` and `declarations`. No token is added, left out or moved here but commas, and which lines fit is decided in `layout`.
A chain of any length is written in a loop, since a left-nested chain may be as long as a file (G-5.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operators import BY_TEXT, OPERATORS, POWER
from ..syntax import ast
from ..syntax.token_filter import QUESTIONS_BEFORE
from .layout import LINE, SOFT, Begin
from .printer import COMMA_IF_BROKEN, Printer, prints

# Types.


def type_(p: Printer, node: ast.TypeExpr) -> None:
    """Write a type. The tree does not keep the parentheses around it, so they are found by position."""
    parentheses = open_parentheses(p, node)
    p.node(node)
    close_parentheses(p, parentheses)


def open_parentheses(p: Printer, node: ast.Node) -> int:
    """Write the `(` that stand before a node; return their number for `close_parentheses`."""
    count = 0
    while p.next_start() < node.span.start and p.next_is("("):
        p.token("(")
        count += 1
    return count


def close_parentheses(p: Printer, count: int) -> None:
    """Write the `)` of parentheses that `open_parentheses` wrote."""
    for _ in range(count):
        p.token(")")


def types(p: Printer, opening: str, nodes: Sequence[ast.TypeExpr], closing: str, *, alone: str | None = None) -> None:
    """Write types with commas on one line, between the brackets `opening` and `closing`; `alone` is what stands behind a single
    one, None for nothing."""
    p.token(opening)
    for at, node in enumerate(nodes, 1):
        type_(p, node)
        p.separator(",", "," if at < len(nodes) else alone if len(nodes) == 1 else None)
        if at < len(nodes):
            p.pending = " "
    p.token(closing)


def path(p: Printer, segments: Sequence[ast.Ident]) -> None:
    """Write names with `::` between them."""
    for at, segment in enumerate(segments):
        if at:
            p.token("::")
        p.name(segment)


def type_arguments(p: Printer, arguments: Sequence[ast.TypeExpr] | None) -> None:
    """Write `<A, B>`, if there are type arguments."""
    if arguments is not None:
        types(p, "<", arguments, ">")


def annotation(p: Printer, node: ast.TypeExpr | None) -> None:
    """Write `: T`, if there is one."""
    if node is not None:
        p.token(":")
        p.pending = " "
        type_(p, node)


def result(p: Printer, node: ast.TypeExpr | None) -> None:
    """Write ` -> T`, if there is one."""
    if node is not None:
        p.spaced("->")
        type_(p, node)


def type_parameters(p: Printer, parameters: Sequence[ast.TypeParameter]) -> None:
    """Write `<T: Bound>`, if there are type parameters."""
    if not parameters:
        return
    p.token("<")
    for at, parameter in enumerate(parameters, 1):
        p.node(parameter)
        p.separator(",", "," if at < len(parameters) else None)
        if at < len(parameters):
            p.pending = " "
    p.token(">")


@prints(ast.TypeParameter)
def type_parameter(p: Printer, node: ast.TypeParameter) -> None:
    p.name(node.name)
    for at, bound in enumerate(node.bounds):
        if at:
            p.spaced("+")
        else:
            p.token(":")
            p.pending = " "
        type_(p, bound)


@prints(ast.NamedType)
def named(p: Printer, node: ast.NamedType) -> None:
    path(p, node.path)
    type_arguments(p, node.arguments)


@prints(ast.NilableType)
def nilable(p: Printer, node: ast.NilableType) -> None:
    type_(p, node.inner)
    p.token("?")


@prints(ast.FunctionType)
def function(p: Printer, node: ast.FunctionType) -> None:
    p.token("fn")
    types(p, "(", node.parameters, ")")
    result(p, node.result)


@prints(ast.TupleType)
def tuple_type(p: Printer, node: ast.TupleType) -> None:
    types(p, "(", node.items, ")", alone=",")


@prints(ast.LiteralType)
def literal_type(p: Printer, node: ast.LiteralType) -> None:
    p.verbatim(node)


@prints(ast.UnionType)
def union(p: Printer, node: ast.UnionType) -> None:
    group = p.begin()
    type_(p, node.members[0])
    p.indent()
    for member in node.members[1:]:
        p.pending = LINE
        p.token("|")
        p.pending = " "
        type_(p, member)
    p.dedent()
    p.end(group)


# Patterns.


def pattern(p: Printer, node: ast.Pattern) -> None:
    """Write a pattern. The tree does not keep the parentheses around it, so they are found by position."""
    parentheses = open_parentheses(p, node)
    p.node(node)
    close_parentheses(p, parentheses)


@prints(ast.WildcardPattern, ast.LiteralPattern, ast.RangePattern)
def tokens(p: Printer, node: ast.Pattern) -> None:
    """Write words, numbers, strings and ranges: their tokens without blanks between."""
    while p.next_start() < node.span.end:
        p.token(p.text[p.next_start() : p.ends[p.row]])


@prints(ast.BindPattern)
def binding(p: Printer, node: ast.BindPattern) -> None:
    if node.mutable:
        p.token("mut")
        p.pending = " "
    p.name(node.name)
    if node.inner is not None:
        p.spaced("@")
        pattern(p, node.inner)


@prints(ast.PathPattern)
def path_(p: Printer, node: ast.PathPattern) -> None:
    path(p, node.path)


@prints(ast.TupleStructPattern)
def tuple_struct(p: Printer, node: ast.TupleStructPattern) -> None:
    path(p, node.path)
    p.bracketed("(", node.items, ")", lambda item: pattern(p, item))


@prints(ast.StructPattern)
def struct_pattern(p: Printer, node: ast.StructPattern) -> None:
    path(p, node.path)
    p.pending = " "
    fields: list[ast.FieldPattern | None] = [*node.fields]
    if node.rest:
        fields.append(None)
    p.braced(fields, lambda part: field(p, part))


def field(p: Printer, node: ast.FieldPattern | None) -> None:
    """Write a field, or the `..` that stands for the other fields."""
    if node is None:
        p.token("..")
        return
    if not node.shorthand:
        p.name(node.name)
        p.token(":")
        p.pending = " "
    pattern(p, node.pattern)


@prints(ast.TuplePattern)
def tuple_pattern(p: Printer, node: ast.TuplePattern) -> None:
    last = "," if len(node.items) == 1 else COMMA_IF_BROKEN
    p.bracketed("(", node.items, ")", lambda item: pattern(p, item), last=last)


@prints(ast.ArrayPattern)
def array_pattern(p: Printer, node: ast.ArrayPattern) -> None:
    p.bracketed("[", node.items, "]", lambda item: pattern(p, item))


@prints(ast.RestPattern)
def rest(p: Printer, node: ast.RestPattern) -> None:
    p.token("..")
    if node.name is not None:
        p.name(node.name)


@prints(ast.OrPattern)
def alternatives(p: Printer, node: ast.OrPattern) -> None:
    group = p.begin()
    pattern(p, node.alternatives[0])
    for alternative in node.alternatives[1:]:
        p.pending = LINE
        p.token("|")
        p.pending = " "
        pattern(p, alternative)
    p.end(group)


# ---------------------------------------------------------------- literals and names


@prints(
    ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.Interpolation, ast.BoolLiteral, ast.NilLiteral
)  # fmt: skip
def literal(p: Printer, node: ast.Expr) -> None:
    p.verbatim(node)


@prints(ast.PathExpr)
def path_expression(p: Printer, node: ast.PathExpr) -> None:
    path(p, node.segments)
    type_arguments(p, node.type_arguments)
    if node.member is not None:
        p.token("::")
        p.name(node.member)


# ---------------------------------------------------------------- collections


@prints(ast.GroupExpr)
def group_(p: Printer, node: ast.GroupExpr) -> int:
    p.token("(")
    group = p.begin_inside()
    p.pending = SOFT
    group.hug = hug_row = p.node(node.inner)
    p.close(SOFT, ")", group)
    return hug_row


@prints(ast.TupleExpr)
def tuple_(p: Printer, node: ast.TupleExpr) -> int:
    last = "," if len(node.items) == 1 else COMMA_IF_BROKEN
    return p.bracketed("(", node.items, ")", p.node, last=last)


@prints(ast.ArrayExpr)
def array(p: Printer, node: ast.ArrayExpr) -> int:
    # One number on a line each would make long columns of data.
    if len(node.items) > 1 and all(is_number(item) for item in node.items):
        return numbers(p, node)
    return p.bracketed("[", node.items, "]", p.node)


def is_number(node: ast.Expr) -> bool:
    """Return whether an expression is a number literal, with or without a sign before it."""
    if isinstance(node, ast.Unary):
        node = node.operand
    return isinstance(node, (ast.IntLiteral, ast.FloatLiteral))


def numbers(p: Printer, node: ast.ArrayExpr) -> int:
    """Write an array of numbers: as many on a line as fit. Return the row behind the `[`."""
    p.token("[")
    inside = len(p.operations)
    group = p.begin_inside()
    p.pending = SOFT
    line = p.begin(filled=True)
    for at, item in enumerate(node.items):
        if at:
            p.next_item()
        p.node(item)
    p.end(line)
    p.separator(",", COMMA_IF_BROKEN)
    p.close(SOFT, "]", group)
    return inside


@prints(ast.MapExpr)
def map_(p: Printer, node: ast.MapExpr) -> int:
    return p.braced(node.entries, p.node)


@prints(ast.MapEntry)
def map_entry(p: Printer, node: ast.MapEntry) -> int:
    p.node(node.key)
    p.token(":")
    p.pending = " "
    return p.node(node.value)


@prints(ast.StructExpr)
def struct(p: Printer, node: ast.StructExpr) -> int:
    path(p, node.path)
    type_arguments(p, node.type_arguments)
    p.pending = " "
    parts: list[ast.FieldInit | ast.Expr] = [*node.fields]
    if node.base is not None:
        parts.append(node.base)
    return p.braced(parts, lambda part: struct_part(p, part))


def struct_part(p: Printer, part: ast.FieldInit | ast.Expr) -> int:
    """Write a field, or `..base`. Return the row that the printer of its value returns, or 0."""
    if not isinstance(part, ast.FieldInit):
        p.token("..")
        return p.node(part)
    p.name(part.name)
    if part.shorthand:
        return 0
    p.token(":")
    p.pending = " "
    return p.node(part.value)


# ---------------------------------------------------------------- closures


@prints(ast.Closure)
def closure(p: Printer, node: ast.Closure) -> int:
    if node.function_form:
        p.token("fn")
        p.bracketed("(", node.parameters, ")", p.node)
    elif p.next_is("||"):
        p.token("||")
    else:
        closure_parameters(p, node)
    result(p, node.result)
    p.pending = " "
    return p.node(node.body)


def closure_parameters(p: Printer, node: ast.Closure) -> None:
    """Write the parameters of a closure on one line."""
    p.token("|")
    count = len(node.parameters)
    for at, parameter in enumerate(node.parameters, 1):
        if parameter.pattern is not None:
            pattern(p, parameter.pattern)
        else:
            p.name(parameter.name)
        annotation(p, parameter.type)
        p.separator(",", "," if at < count else None)
        if at < count:
            p.pending = " "
    p.token("|")


# ---------------------------------------------------------------- jumps


@prints(ast.Return)
def return_(p: Printer, node: ast.Return) -> int:
    p.token("return")
    return operand(p, node.value)


@prints(ast.Throw)
def throw(p: Printer, node: ast.Throw) -> int:
    p.token("throw")
    return operand(p, node.value)


@prints(ast.Break)
def break_(p: Printer, node: ast.Break) -> int:
    p.token("break")
    target(p, node.label)
    return operand(p, node.value)


@prints(ast.Continue)
def continue_(p: Printer, node: ast.Continue) -> None:
    p.token("continue")
    target(p, node.label)


def operand(p: Printer, node: ast.Expr | None) -> int:
    """Write a blank and the operand, if there is one. Return the row that its printer returns, or 0."""
    if node is None:
        return 0
    p.pending = " "
    return p.node(node)


def target(p: Printer, label: ast.Ident | None) -> None:
    """Write the label of a jump, if there is one."""
    if label is not None:
        p.pending = " "
        p.token("'" + label.text)


# ---------------------------------------------------------------- operators

_LEVEL = {row.text: row.level for row in OPERATORS if row.level != POWER}  # which groups to the right


@prints(ast.Binary)
def binary(p: Printer, node: ast.Binary) -> int:
    # The power groups to the right, so it is no chain that could be walked in a loop.
    if BY_TEXT[node.operator].level == POWER:
        p.node(node.left)
        p.spaced(node.operator)
        return p.node(node.right)
    group = p.begin()
    operands(p, node)
    p.end(group)
    return 0


def operands(p: Printer, node: ast.Binary) -> None:
    """Write the operands of one level of precedence; a line may end before each operator."""
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
def cast(p: Printer, node: ast.Cast) -> None:
    casts = [node]
    while isinstance(casts[-1].operand, ast.Cast):
        casts.append(casts[-1].operand)
    p.node(casts[-1].operand)
    for one in reversed(casts):
        p.spaced("as")
        type_(p, one.target)


@prints(ast.RangeExpr)
def range_(p: Printer, node: ast.RangeExpr) -> None:
    if node.start is not None:
        p.node(node.start)
    p.token("..=" if node.inclusive else "..")
    if node.end is not None:
        p.node(node.end)


@prints(ast.Spawn)
def spawn(p: Printer, node: ast.Spawn) -> int:
    p.token("spawn")
    p.pending = " "
    return p.node(node.operand)


# ---------------------------------------------------------------- calls and accesses

Link = ast.Call | ast.MethodCall | ast.FieldAccess | ast.TupleAccess | ast.Index | ast.Propagate | ast.Await


def links_of(node: ast.Expr) -> tuple[ast.Expr, list[Link]]:
    """Return what a chain of calls, accesses, `?` and `.await` begins with, and its links in order, first to last."""
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
    """Write a chain; with two or more method calls a line may end before the dot of each. `piped` is the argument of the last
    call that stands to the left of `|>`. Return the row of `arguments` for the last call, or what the first part of the chain
    returned."""
    if isinstance(node, ast.Await) and not node.postfix:
        return prefix_await(p, node)
    first, links = links_of(node)
    group: Begin | None = None
    # With one method call there is nothing to line up.
    if sum(isinstance(link, ast.MethodCall) for link in links) > 1:
        group = p.begin()
    hug_row = p.node(first)
    if group is not None:
        p.indent()
    for link in links:
        if isinstance(link, (ast.Call, ast.MethodCall)):
            if group is not None and isinstance(link, ast.MethodCall):
                p.pending = SOFT
            hug_row = call(p, link, piped if link is node else None)
        else:
            access(p, link)
    if group is not None:
        p.dedent()
        p.end(group)
        group.hug = hug_row
    return hug_row


def prefix_await(p: Printer, node: ast.Await) -> int:
    """Write `await` before its operand; return the row of the operand."""
    p.token("await")
    p.pending = " "
    return p.node(node.operand)


def call(p: Printer, node: ast.Call | ast.MethodCall, piped: ast.Expr | None) -> int:
    """Write the method name and the arguments of a call; `piped` is left out of them. Return the row of `arguments`."""
    if isinstance(node, ast.MethodCall):
        p.token(".")
        p.name(node.name)
        type_arguments(p, node.type_arguments)
    remaining = [argument for argument in node.arguments if argument.value is not piped]
    return arguments(p, remaining)


def arguments(p: Printer, nodes: Sequence[ast.Argument]) -> int:
    """Write the arguments of a call or decorator, on one line or with one line each. If the last one ends in a bracket that may
    stay open, or the only one is a call, and all before that bracket fits on the line, that bracket alone is broken. Return the
    row behind the open bracket of the last one, or 0."""
    p.token("(")
    inside = len(p.operations)
    if not nodes and not p.comment_follows():
        p.token(")")
        return 0
    group = p.begin_inside()
    hug_row = p.listed(nodes, p.node, SOFT, LINE, COMMA_IF_BROKEN)
    # `f(g(a, b))` breaks the inner brackets only.
    sole = not hug_row and len(nodes) == 1 and is_plain_call(nodes[0].value)
    group.hug = p.in_last_call if sole else hug_row
    p.close(SOFT, ")", group)
    p.in_last_call = inside
    return hug_row


def is_plain_call(node: ast.Expr) -> bool:
    """Return whether a node is a call with arguments before which no line can end."""
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
    """Write a link of a chain that is no call."""
    if isinstance(link, ast.FieldAccess):
        p.token(".")
        p.name(link.name)
        type_arguments(p, link.type_arguments)
    elif isinstance(link, ast.TupleAccess):
        if p.types[p.row - 1] == "INT" and p.operations[-2] != ".":
            p.pending = " "  # `1.0` would be a Float, unless a dot touches the 1 (L-1.4.5)
        p.token(".")
        index = p.text[p.next_start() : p.ends[p.row]]
        if not index.isdigit():
            p.pending = " "  # a dot that touches it would end `0x1` or `1_0` behind its first digits (L-1.4.5)
        p.token(index)
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
    """Write `?`. Behind another one it keeps a blank where `??` would be the operator (L-1.7.2)."""
    behind = p.row - 1 >= 0 and p.used == 0 and p.types[p.row - 1] == "QUESTION"
    if behind and p.types[p.row] == "QUESTION" and p.types[p.row + 1] not in QUESTIONS_BEFORE:
        p.pending = " "
    p.token("?")


# ---------------------------------------------------------------- pipes


@prints(ast.Pipe)
def pipe(p: Printer, node: ast.Pipe) -> int:
    group = p.begin()
    group.hug = hug_row = stages(p, node)
    p.end(group)
    return hug_row


def stages(p: Printer, node: ast.Pipe) -> int:
    """Write what is piped, and what it is piped to; a line may end before each `|>`. Return the `hug_row` of the last part, or
    0."""
    pipes = [node]
    while isinstance(pipes[-1].left, ast.Pipe):
        pipes.append(pipes[-1].left)
    hug_row = p.node(pipes[-1].left)
    p.indent()
    for one in reversed(pipes):
        p.pending = LINE
        p.token("|>")
        p.pending = " "
        hug_row = right_side(p, one)
    p.dedent()
    return hug_row


def right_side(p: Printer, node: ast.Pipe) -> int:
    """Write a call as it was before L-2.3.1 and L-2.3.2: without its piped argument, and with the parentheses that the rewriting
    has dropped. Return the `hug_row` of the call, or 0."""
    peeled: list[Link] = []
    inner = node.applied
    # `?` and `.await` behind the call were put around it by the rewriting.
    while not receives(inner, node.left):
        assert isinstance(inner, (ast.Propagate, ast.Await))
        peeled.append(inner)
        inner = inner.operand
    # `x |> (f)`: the tree has lost the parentheses, the tokens have not.
    parentheses = open_parentheses(p, inner)
    # The call was made by the rewriting, so it has no brackets of its own.
    if isinstance(inner, ast.Call) and inner.callee.span == inner.span:
        hug_row = p.node(inner.callee)  # `x |> f`, `x |> |v| …`
    else:
        hug_row = chain(p, inner, piped=node.left)
    close_parentheses(p, parentheses)
    for link in reversed(peeled):
        access(p, link)
    return hug_row


def receives(node: ast.Expr, piped: ast.Expr) -> bool:
    """Return whether the piped expression is an argument of this call."""
    return isinstance(node, (ast.Call, ast.MethodCall)) and any(one.value is piped for one in node.arguments)
