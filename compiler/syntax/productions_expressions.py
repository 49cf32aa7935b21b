"""Productions for operators, calls, literals and the places they make; the rewriting of `|>` and prefix `await`.

Hands on `check_argument_order` to `productions_items` and `copied_help` to the checker. The rules register themselves in
`FAMILY`, from which `compiler/syntax/grammar.py` makes the grammar; the text of `@rule` is the production, the function its
semantic action. `p[1]`, `p[2]` … are the values of the symbols of the production, `p.span` is what all of them cover. In a
production `{A B}` is one of these, `x?` may be missing and is None then, `x*`, `x,*` and `x,+` are lists, the last two with
commas, `x,+` not empty. An action builds a node of `ast` or a part of one, reports only what the grammar cannot refuse (E0101 for
`null`, E0104, E0108, E0114, E2016, E3008), and raises nothing. What names denote and whether types fit is for the phases behind
the parser.
"""

from __future__ import annotations

from typing import Any

from .. import operators
from ..source import Span
from . import ast
from .lexer import INT_LIMIT
from .semantic_actions import Family, Reduction


def apply_pipe(p: Reduction) -> ast.Expr:
    """Return the tree of `left |> right` with `left` put into the innermost call of `right` (L-2.3.1). Report E2016 and return an
    ErrorExpr if `right` has no call to put it into; an ErrorExpr there is not reported again."""
    left, right = p[1], p[3]
    peeled, inner = _peel(right)
    applied = _apply(left, inner)
    if applied is None:
        if not isinstance(inner, ast.ErrorExpr):
            p.context.error(
                "E2016", right.span, "the right side of `|>` is not a call, a function or a closure",
                "write `x |> f(a)`, `x |> f` or `x |> |v| …`",
            )  # fmt: skip
        return ast.ErrorExpr(span=p.span, inside=[left, right])
    return ast.Pipe(span=p.span, left=left, applied=_put_back(peeled, applied, applied.span.start))


def _peel(node: ast.Expr) -> tuple[list[ast.Expr], ast.Expr]:
    """Set trailing `?` and `.await` aside; return them, outermost first, and what they stand behind."""
    peeled: list[ast.Expr] = []
    while isinstance(node, ast.Propagate) or (isinstance(node, ast.Await) and node.postfix):
        peeled.append(node)
        node = node.operand
    return peeled, node


def _put_back(peeled: list[ast.Expr], node: ast.Expr, start: int) -> ast.Expr:
    """Return `node` with the peeled forms around it again; `start` is the character offset at which they all begin now."""
    for outer in reversed(peeled):
        span = Span(outer.span.file, start, outer.span.end)
        if isinstance(outer, ast.Await):
            node = ast.Await(span=span, operand=node, postfix=True)
        else:
            node = ast.Propagate(span=span, operand=node)
    return node


def _apply(left: ast.Expr, target: ast.Expr) -> ast.Expr | None:
    argument = ast.Argument(span=left.span, name=None, value=left)
    # `x |> (f)` means `f(x)`.
    target = ast.ungrouped(target)
    if isinstance(target, ast.Call):
        return ast.Call(span=target.span, callee=target.callee, arguments=_with(argument, target))
    if isinstance(target, ast.MethodCall):
        return ast.MethodCall(
            span=target.span, receiver=target.receiver, name=target.name, type_arguments=target.type_arguments,
            arguments=[argument, *target.arguments],
        )  # fmt: skip
    if isinstance(target, (ast.PathExpr, ast.Closure)):
        return ast.Call(span=target.span, callee=target, arguments=[argument])
    return None


def _with(argument: ast.Argument, call: ast.Call) -> list[ast.Argument]:
    """Return the arguments with the piped one: `L |> emit(c)` is `emit(c, L)`, every other call takes L first (L-2.3.2)."""
    callee = call.callee
    is_emit = isinstance(callee, ast.PathExpr) and [s.text for s in callee.segments] == ["emit"]
    if is_emit and len(call.arguments) > 0:
        return [call.arguments[0], argument, *call.arguments[1:]]
    return [argument, *call.arguments]


def await_innermost(p: Reduction) -> ast.Expr:
    """Return prefix `await` applied to the innermost operand: `await f()?` is `(await f())?` (L-2.3.3)."""
    peeled, inner = _peel(p[2])
    start = p.span.start
    awaited = ast.Await(span=Span(p.context.file, start, inner.span.end), operand=inner, postfix=False)
    return _put_back(peeled, awaited, start)


FAMILY = Family()
rule = FAMILY.rule

MAX_CHAIN = 256  # links of a postfix chain (L-2.6.7)

FAMILY.same("expr : postfix", "postfix : primary")

# ---------------------------------------------------------------- operators (2.2)


@rule(f"expr : expr {{{' '.join(operators.ASSIGNING)}}} expr")
def assignment(p: Reduction) -> ast.Assign:
    if not _is_place(p[1]):
        help = copied_help(p[1]) or ("write `==` to compare" if p[2] == "=" else None)
        p.context.error("E0104", p[1].span, "the left side of an assignment is not a place", help)
    return ast.Assign(p.span, p[2], p[1], p[3])


def copied_help(node: ast.Expr) -> str | None:
    """Return the help for `orders.get("a").price = 1`, where what a call returns is a copy; None for other left sides."""
    inner = node
    while isinstance(inner, (ast.GroupExpr, ast.Propagate, ast.FieldAccess, ast.TupleAccess, ast.Index)):
        if isinstance(inner, ast.GroupExpr):
            inner = inner.inner
        else:
            inner = inner.operand if isinstance(inner, ast.Propagate) else inner.receiver
    if not isinstance(inner, (ast.MethodCall, ast.Call)) or inner is node:
        return None
    if isinstance(inner, ast.MethodCall) and inner.name.text == "get":
        return "`get` gives a copy: `let mut found = ….get(…)?;`, change `found`, put it back with `….set(…, found);`"
    return "a call gives a copy: put it into a `let mut` first"


def _is_place(node: ast.Expr) -> bool:
    """Return whether an expression can be assigned to (L-5.5.1). Whether its root is mutable, whether an index reads a String,
    and whether what a call gives or a path names is a hashmap (`h.scope("a")["k"]`), is for the checker."""
    at_index = False
    while not isinstance(node, ast.PathExpr):
        if isinstance(node, ast.GroupExpr):
            node = node.inner
        elif at_index and isinstance(node, (ast.Call, ast.MethodCall)):
            return True
        elif isinstance(node, ast.Index) and isinstance(node.index, ast.RangeExpr):
            return False  # a slice
        elif isinstance(node, (ast.FieldAccess, ast.TupleAccess, ast.Index)):
            at_index = isinstance(node, ast.Index)
            node = node.receiver
        else:
            return isinstance(node, ast.ErrorExpr)
    return at_index or (len(node.segments) == 1 and node.type_arguments is None)


@rule("expr : expr PIPEGT expr")
def pipe(p: Reduction) -> ast.Expr:
    return apply_pipe(p)


@rule(f"expr : expr {{{' '.join(operators.TOKENS)}}} expr")
def binary(p: Reduction) -> ast.Binary:
    return ast.Binary(p.span, p[2], p[1], p[3])


@rule("expr : expr {RANGE RANGEEQ} expr")
def closed_range(p: Reduction) -> ast.RangeExpr:
    return ast.RangeExpr(span=p.span, start=p[1], end=p[3], inclusive=p[2] == "..=")


@rule("expr : expr RANGE_FROM")
def range_from(p: Reduction) -> ast.RangeExpr:
    return ast.RangeExpr(span=p.span, start=p[1], end=None, inclusive=False)


@rule("expr : {RANGE_TO RANGE_TOEQ} expr")
def range_to(p: Reduction) -> ast.RangeExpr:
    return ast.RangeExpr(span=p.span, start=None, end=p[2], inclusive=p[1] == "..=")


@rule("expr : RANGE_FULL")
def range_full(p: Reduction) -> ast.RangeExpr:
    return ast.RangeExpr(span=p.span, start=None, end=None, inclusive=False)


@rule("expr : expr AS type1")
def cast(p: Reduction) -> ast.Cast:
    return ast.Cast(span=p.span, operand=p[1], target=p[3])


@rule("expr : MINUS expr %prec UMINUS")
def negation(p: Reduction) -> ast.Unary:
    p.context.int_limits.pop(id(p[2]), None)
    # For `--`, which is reported when the whole file has been read without errors.
    p.context.minuses.append(p.span.start)
    return ast.Unary(p.span, "-", p[2])


@rule("expr : NOT expr")
def logical_not(p: Reduction) -> ast.Unary:
    return ast.Unary(p.span, "!", p[2])


@rule("expr : AWAIT expr")
def prefix_await(p: Reduction) -> ast.Expr:
    return await_innermost(p)


@rule("expr : K_SPAWN postfix")
def spawn(p: Reduction) -> ast.Spawn:
    return ast.Spawn(span=p.span, operand=p[2])


@rule("expr : THROW expr")
def throw(p: Reduction) -> ast.Throw:
    return ast.Throw(span=p.span, value=p[2])


@rule("expr : RETURN expr", "expr : RETURN_V")
def return_(p: Reduction) -> ast.Return:
    return ast.Return(span=p.span, value=p[2] if len(p) > 2 else None)


@rule("expr : BREAK LABEL? expr")
def break_with_value(p: Reduction) -> ast.Break:
    return ast.Break(span=p.span, label=p[2], value=p[3])


@rule("expr : BREAK_V LABEL?")
def break_(p: Reduction) -> ast.Break:
    return ast.Break(span=p.span, label=p[2], value=None)


@rule("expr : CONTINUE LABEL?")
def continue_(p: Reduction) -> ast.Continue:
    return ast.Continue(span=p.span, label=p[2])


# ---------------------------------------------------------------- postfix forms


def _chained(p: Reduction, node: Any, receiver: ast.Expr) -> Any:
    """Count the links of a postfix chain, which nests as deep as it is long, and report the first link too many (L-2.6.7)."""
    depths = p.context.depths
    depth = depths[id(receiver)][0] + 1 if id(receiver) in depths else 1
    depths[id(node)] = depth, node
    if depth == MAX_CHAIN + 1:
        p.context.error("E0114", p.at(len(p) - 1), f"a chain of more than {MAX_CHAIN} calls and accesses", "split it up")
    return node


@rule("postfix : postfix LPAREN arg,* RPAREN")
def call(p: Reduction) -> ast.Expr:
    callee, arguments = p[1], p[3]
    check_argument_order(p, arguments)
    # `a.b` before `(` was read as an access; with the call it becomes a method call.
    if type(callee) is not ast.FieldAccess:
        node = ast.Call(p.span, callee, arguments)
        return _chained(p, node, callee)  # type: ignore[no-any-return]
    method = ast.MethodCall(p.span, callee.receiver, callee.name, callee.type_arguments, arguments)
    p.context.depths[id(method)] = p.context.depths[id(callee)][0], method  # name and call are one link
    return method


def check_argument_order(p: Reduction, arguments: list[ast.Argument]) -> None:
    """Report each positional argument behind a named one (E0108, L-2.6.3)."""
    named = False
    for argument in arguments:
        if argument.name is not None:
            named = True
        elif named:
            p.context.error(
                "E0108", argument.span, "positional argument after a named one", "put positional arguments first"
            )


@rule("arg : expr")
def positional_argument(p: Reduction) -> ast.Argument:
    return ast.Argument(p.span, None, p[1])


@rule("arg : IDENT COLON expr")
def named_argument(p: Reduction) -> ast.Argument:
    return ast.Argument(p.span, p[1], p[3])


@rule("postfix : postfix LBRACKET expr RBRACKET")
def index(p: Reduction) -> ast.Index:
    return _chained(p, ast.Index(p.span, p[1], p[3]), p[1])  # type: ignore[no-any-return]


@rule("postfix : postfix DOT IDENT", "postfix : postfix DOT IDENT targs")
def field_access(p: Reduction) -> ast.FieldAccess:
    arguments = p[4] if len(p) > 4 else None
    node = ast.FieldAccess(p.span, p[1], p[3], arguments)
    return _chained(p, node, p[1])  # type: ignore[no-any-return]


@rule("postfix : postfix DOT TUPIDX")
def tuple_access(p: Reduction) -> ast.TupleAccess:
    return _chained(p, ast.TupleAccess(p.span, p[1], p[3]), p[1])  # type: ignore[no-any-return]


@rule("postfix : postfix DOT DOTAWAIT")
def postfix_await(p: Reduction) -> ast.Await:
    return _chained(p, ast.Await(span=p.span, operand=p[1], postfix=True), p[1])  # type: ignore[no-any-return]


@rule("postfix : postfix QUESTION")
def propagate(p: Reduction) -> ast.Propagate:
    return _chained(p, ast.Propagate(p.span, p[1]), p[1])  # type: ignore[no-any-return]


# ---------------------------------------------------------------- primaries


@rule("primary : INT")
def int_literal(p: Reduction) -> ast.IntLiteral:
    node = ast.IntLiteral(p.span, p[1])
    if p[1] == INT_LIMIT:
        p.context.int_limits[id(node)] = node  # legal only directly under unary minus
    return node


@rule("primary : FLOAT")
def float_literal(p: Reduction) -> ast.FloatLiteral:
    return ast.FloatLiteral(p.span, p[1])


@rule("primary : STRING")
def string_literal(p: Reduction) -> ast.StringLiteral:
    return ast.StringLiteral(p.span, p[1])


@rule("primary : {TRUE FALSE}")
def bool_literal(p: Reduction) -> ast.BoolLiteral:
    return ast.BoolLiteral(p.span, p[1] == "true")


@rule("primary : NIL")
def nil_literal(p: Reduction) -> ast.NilLiteral:
    return ast.NilLiteral(p.span)


@rule("primary : SELF")
def self_name(p: Reduction) -> ast.PathExpr:
    return ast.PathExpr(p.span, [ast.Ident(p.span, "self")])


@rule("primary : path")
def path_expression(p: Reduction) -> ast.Expr:
    # Every other unknown name is for the resolver, but nobody means a variable by this one.
    if len(p[1]) == 1 and p[1][0].text == "null":
        p.context.error("E0101", p.span, "unexpected name `null`: expected an expression", "write `nil`")
        return ast.ErrorExpr(span=p.span)
    return ast.PathExpr(p.span, p[1])


@rule("primary : path targs")
def generic_path(p: Reduction) -> ast.PathExpr:
    return ast.PathExpr(p.span, p[1], p[2])


@rule("primary : path targs COLONCOLON IDENT")
def associated_path(p: Reduction) -> ast.PathExpr:
    return ast.PathExpr(p.span, p[1], p[2], member=p[4])


@rule("path : IDENT")
def first_segment(p: Reduction) -> list[ast.Ident]:
    return [p[1]]


@rule("path : path COLONCOLON IDENT")
def next_segment(p: Reduction) -> list[ast.Ident]:
    p[1].append(p[3])
    return p[1]  # type: ignore[no-any-return]


@rule("primary : istr")
def interpolation(p: Reduction) -> ast.Interpolation:
    return ast.Interpolation(p.span, p[1])


@rule("istr : ISTR_START expr mid* ISTR_END")
def interpolation_parts(p: Reduction) -> list[ast.Expr]:
    parts: list[ast.Expr] = []
    _add_text(parts, p[1], p.at(1))
    parts.append(p[2])
    for text, span, hole in p[3]:
        _add_text(parts, text, span)
        parts.append(hole)
    _add_text(parts, p[4], p.at(4))
    return parts


def _add_text(parts: list[ast.Expr], text: str, span: Span) -> None:
    if text:
        # Empty text between two holes has no node.
        parts.append(ast.StringLiteral(span, text))


@rule("mid : ISTR_MID expr")
def interpolation_middle(p: Reduction) -> tuple[str, Span, ast.Expr]:
    return p[1], p.at(1), p[2]


@rule("primary : LPAREN RPAREN", "primary : LPAREN expr COMMA RPAREN")
def small_tuple(p: Reduction) -> ast.TupleExpr:
    return ast.TupleExpr(p.span, [p[2]] if len(p) > 3 else [])


@rule("primary : LPAREN expr COMMA expr,+ RPAREN")
def tuple_expression(p: Reduction) -> ast.TupleExpr:
    return ast.TupleExpr(p.span, [p[2], *p[4]])


@rule("primary : LPAREN expr RPAREN")
def group(p: Reduction) -> ast.GroupExpr:
    return ast.GroupExpr(p.span, p[2])


@rule("primary : LBRACKET expr,* RBRACKET")
def array(p: Reduction) -> ast.ArrayExpr:
    return ast.ArrayExpr(p.span, p[2])


@rule("primary : MLBRACE mentry,* RBRACE")
def map_(p: Reduction) -> ast.MapExpr:
    return ast.MapExpr(p.span, p[2])


@rule("mentry : expr COLON expr")
def map_entry(p: Reduction) -> ast.MapEntry:
    key = p[1]
    # L-2.6.2; `self`, like `true`, stays itself.
    if type(key) is ast.PathExpr and len(key.segments) == 1 and key.type_arguments is None:
        word = key.segments[0].text
        if word != "self":
            key = ast.StringLiteral(key.span, word)
    return ast.MapEntry(p.span, key, p[3])


@rule("primary : path SLBRACE sf,* RBRACE")
def struct_literal(p: Reduction) -> ast.StructExpr:
    fields, base = _split_base(p, p[3])
    return ast.StructExpr(span=p.span, path=p[1], type_arguments=None, fields=fields, base=base)


@rule("primary : path targs SLBRACE sf,* RBRACE")
def generic_struct_literal(p: Reduction) -> ast.StructExpr:
    fields, base = _split_base(p, p[4])
    return ast.StructExpr(span=p.span, path=p[1], type_arguments=p[2], fields=fields, base=base)


def _split_base(p: Reduction, entries: list[Any]) -> tuple[list[ast.FieldInit], ast.Expr | None]:
    """Tell the fields of a struct literal from its `..base`, which must be the last entry (L-2.6.5)."""
    fields, base = [], None
    for at, entry in enumerate(entries):
        if isinstance(entry, ast.FieldInit):
            fields.append(entry)
            continue
        base = entry
        if at < len(entries) - 1:
            p.context.error("E3008", entry.span, "`..base` must be the last entry of a struct literal", "move it to the end")
    return fields, base


@rule("sf : IDENT COLON expr")
def field_init(p: Reduction) -> ast.FieldInit:
    return ast.FieldInit(p.span, p[1], p[3])


@rule("sf : IDENT")
def field_shorthand(p: Reduction) -> ast.FieldInit:
    value = ast.PathExpr(p.span, [p[1]])
    return ast.FieldInit(p.span, p[1], value, shorthand=True)


@rule("sf : RANGE_TO expr")
def struct_base(p: Reduction) -> ast.Expr:
    return p[2]  # type: ignore[no-any-return]
