"""How blocks, statements and block-like expressions are written.

Functions registered with `prints` return the row (in `Printer.operations`) behind the bracket that may stay open at the end of
their node (`hug_row`), or 0 or nothing. A function takes the printer `p` and a node; the methods of `p` write one token each, or
a list, and raise OutOfStep where another token stands in the source, and `p.pending` is what goes into the gap before the next
token. Hands on `body` and `expands` to `declarations`. A block stays on one line only where the source had it so and it holds at
most one plain member. No token is added, left out or moved here but commas, and which lines fit is decided in `layout`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operators import BY_TEXT, POWER
from ..syntax import ast
from .expressions import annotation, operands, pattern, stages, type_
from .layout import HARD, LINE, Begin
from .printer import COMMA_IF_BROKEN, JOIN, KEEP, Printer, prints

# L-2.4.2: as the body of an arm these need no comma, and they make the body that holds them expanded.
_FORMS = (ast.If, ast.Match, ast.For, ast.While, ast.Loop, ast.Try, ast.Block, ast.ParallelFor, ast.Listen)


@prints(ast.Block)
def block(p: Printer, node: ast.Block) -> int:
    return body(p, node, expands(p, node))


def expands(p: Printer, node: ast.Block) -> bool:
    """Return whether a block has to be written on several lines."""
    members = members_of(node)
    # The writer's own line end behind `{` is respected.
    return len(members) > 1 or p.opens_line(node.span.start) or any(is_form(member) for member in members)


def members_of(node: ast.Block) -> list[ast.Node]:
    """Return the statements of a block and its final expression."""
    return [*node.statements, *([] if node.result is None else [node.result])]


def is_form(node: ast.Node) -> bool:
    """Return whether a statement or expression ends with its own brace."""
    return isinstance(node.expr if isinstance(node, ast.ExprStmt) else node, _FORMS)


def body(p: Printer, node: ast.Block, expanded: bool, *, header: Begin | None = None, grouped: bool = True) -> int:
    """Write a block, `expanded` with a line for each member, whose `{` ends the group of its header. One that is not `grouped`
    shares the group around it. Return the row behind the `{`, 0 for an empty block without a comment."""
    p.token("{")
    if header is not None:
        p.end(header)
    inside = len(p.operations)
    members = members_of(node)
    if not members and not p.comment_follows():
        p.token("}")
        return 0
    group = p.begin_inside() if grouped else None
    if group is None:
        p.indent()
    p.pending = HARD if expanded else LINE
    for at, member in enumerate(members):
        if at:
            p.pending = KEEP
        p.node(member)
    p.close(HARD if expanded else LINE, "}", group)
    return inside


def header(p: Printer, node: ast.Expr) -> Begin | None:
    """Write the expression that stands before the `{` of a body; return its group for `body`. Where an operator chain is broken,
    the brace gets a line of its own. None: there is no group, and the brace stays on the line."""
    p.pending = " "
    if isinstance(node, ast.Binary) and BY_TEXT[node.operator].level != POWER:
        group = p.begin()
        operands(p, node)
    elif isinstance(node, ast.Pipe):
        group = p.begin()
        stages(p, node)
    else:
        p.node(node)
        p.pending = " "
        return None
    p.pending = LINE
    return group


@prints(ast.ExprStmt)
def expression_statement(p: Printer, node: ast.ExprStmt) -> None:
    p.node(node.expr)
    if node.terminated:
        p.semicolon()


@prints(ast.EmptyStmt)
def empty_statement(p: Printer, node: ast.EmptyStmt) -> None:
    p.token(";")


@prints(ast.ItemStmt)
def item_statement(p: Printer, node: ast.ItemStmt) -> int:
    return p.node(node.item)


@prints(ast.Let)
def let(p: Printer, node: ast.Let) -> None:
    p.token("let")
    p.pending = " "
    pattern(p, node.pattern)
    annotation(p, node.type)
    if node.value is not None:
        p.spaced("=")
        p.node(node.value)
    p.semicolon()


@prints(ast.If)
def if_(p: Printer, node: ast.If) -> None:
    """Write all branches on one line, or none of them."""
    branches, otherwise = branches_of(node)
    blocks = [branch.then for branch in branches] + ([] if otherwise is None else [otherwise])
    # If one branch needs several lines, all get them.
    expanded = any(expands(p, one) for one in blocks)
    group = p.begin()
    for branch in branches:
        if branch is not node:
            p.pending = JOIN
            p.token("else")
            p.pending = " "
        p.token("if")
        header_group = header(p, branch.condition)
        body(p, branch.then, expanded, header=header_group, grouped=False)
    if otherwise is not None:
        p.pending = JOIN
        p.token("else")
        p.pending = " "
        body(p, otherwise, expanded, grouped=False)
    p.end(group)


def branches_of(node: ast.If) -> tuple[list[ast.If], ast.Block | None]:
    """Return the branches with a condition, and the block behind the last `else`, None without one."""
    branches = [node]
    while isinstance(branches[-1].otherwise, ast.If):
        branches.append(branches[-1].otherwise)
    last = branches[-1].otherwise
    assert last is None or isinstance(last, ast.Block)
    return branches, last


@prints(ast.Match)
def match(p: Printer, node: ast.Match) -> int:
    p.token("match")
    header_group = header(p, node.subject)
    return arms(p, node.arms, header_group, expanded=any(is_form(arm.body) for arm in node.arms))


@prints(ast.Listen)
def listen(p: Printer, node: ast.Listen) -> int:
    p.token("listen")
    header_group = header(p, node.operand)
    return arms(p, node.handlers, header_group, expanded=True)


def arms(
    p: Printer, nodes: Sequence[ast.MatchArm | ast.ListenHandler], header_group: Begin | None, *, expanded: bool
) -> int:  # fmt: skip
    """Write the arms in their braces, with a line for each where they are `expanded`, here or in the source; `header_group` is
    the group of the header. Return the row behind the `{`, 0 without arms and comments."""
    p.gap()
    expanded = expanded or p.opens_line(p.next_start())
    p.token("{")
    if header_group is not None:
        p.end(header_group)
    inside = len(p.operations)
    if not nodes and not p.comment_follows():
        p.token("}")
        return 0
    group = p.begin_inside()
    p.pending = first = HARD if expanded else LINE
    for arm in nodes:
        if arm is not nodes[0]:
            p.pending = KEEP if expanded else LINE
        p.node(arm)
        arm_end(p, arm, arm is nodes[-1])
    p.close(first, "}", group)
    return inside


def arm_end(p: Printer, node: ast.MatchArm | ast.ListenHandler, last: bool) -> None:
    """Write the comma behind an arm, which may be the `last`, unless its body ends itself and the next pattern cannot be taken
    for its continuation."""
    if is_form(node.body):
        # Behind `}` a pattern that begins with `..` would read as a range of the body.
        following = p.types[p.row + 1 if p.next_is(",") else p.row]
        p.separator(",", "," if following in ("RANGE", "RANGEEQ") else None)
    else:
        p.separator(",", COMMA_IF_BROKEN if last else ",")


@prints(ast.MatchArm, ast.ListenHandler)
def arm(p: Printer, node: ast.MatchArm | ast.ListenHandler) -> int:
    pattern(p, node.pattern)
    if node.guard is not None:
        p.spaced("if")
        p.node(node.guard)
    p.spaced("=>")
    return p.node(node.body)


def label(p: Printer, node: ast.Ident | None) -> None:
    """Write the label of a loop, if there is one."""
    if node is not None:
        p.token("'" + node.text)
        p.token(":")
        # behind a comment the lexer would look for a second `'` on the line (L-1.6.1)
        p.pending = HARD if p.comment_follows() else " "


def pattern_in(p: Printer, node: ast.For | ast.ParallelFor) -> None:
    """Write `for`, the pattern and `in`."""
    p.token("for")
    p.pending = " "
    pattern(p, node.pattern)
    p.spaced("in")


def loop_body(p: Printer, node: ast.Block, header_group: Begin | None, group: Begin) -> int:
    """Write the body of a loop. Where the header, or the `group` of the whole loop, is broken, the body is too. Return the row of
    `body`."""
    # Not a group of its own: a header on several lines makes the body expanded.
    inside = body(p, node, expands(p, node), header=header_group, grouped=False)
    p.end(group)
    return inside


@prints(ast.For)
def for_(p: Printer, node: ast.For) -> int:
    label(p, node.label)
    group = p.begin()
    pattern_in(p, node)
    header_group = header(p, node.iterable)
    return loop_body(p, node.body, header_group, group)


@prints(ast.While)
def while_(p: Printer, node: ast.While) -> int:
    label(p, node.label)
    group = p.begin()
    p.token("while")
    header_group = header(p, node.condition)
    return loop_body(p, node.body, header_group, group)


@prints(ast.Loop)
def loop(p: Printer, node: ast.Loop) -> int:
    label(p, node.label)
    p.token("loop")
    p.pending = " "
    return p.node(node.body)


@prints(ast.ParallelFor)
def parallel_for(p: Printer, node: ast.ParallelFor) -> int:
    group = p.begin()
    p.token("parallel")
    p.pending = " "
    pattern_in(p, node)
    # The group of the header is that of its last expression.
    if node.limit is None:
        header_group = header(p, node.iterable)
    else:
        p.node(node.iterable)
        p.spaced("limit")
        header_group = header(p, node.limit)
    return loop_body(p, node.body, header_group, group)


@prints(ast.Try)
def try_(p: Printer, node: ast.Try) -> int:
    expanded = any(expands(p, one) for one in (node.body, *(clause.body for clause in node.catches)))
    group = p.begin()
    p.token("try")
    p.pending = " "
    inside = body(p, node.body, expanded, grouped=False)
    for clause in node.catches:
        p.pending = JOIN
        catch(p, clause, expanded)
    p.end(group)
    return 0 if node.catches else inside


def catch(p: Printer, node: ast.CatchClause, expanded: bool) -> None:
    """Write one clause of a `try`; its body is `expanded` as all others of the `try` are."""
    p.token("catch")
    p.pending = " "
    if node.type is not None:
        type_(p, node.type)
    if node.name is not None:
        p.token("(")
        p.name(node.name)
        p.token(")")
    p.pending = " "
    body(p, node.body, expanded, grouped=False)


@prints(ast.AsyncBlock)
def async_block(p: Printer, node: ast.AsyncBlock) -> int:
    p.token("async")
    p.pending = " "
    return p.node(node.body)
