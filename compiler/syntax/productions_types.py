"""Productions for types as written, and for patterns.

The rules register themselves in `FAMILY`, from which `compiler/syntax/grammar.py` makes the grammar; the text of `@rule` is the
production, the function its semantic action. `p[1]`, `p[2]` … are the values of the symbols of the production, `p.span` is what
all of them cover. In a production `{A B}` is one of these, `x?` may be missing and is None then, `x*`, `x,*` and `x,+` are lists,
the last two with commas, `x,+` not empty. An action builds a node of `ast` or a part of one, reports only what the grammar cannot
refuse (E0010, E3008), and raises nothing. What names denote and whether types fit is for the phases behind the parser.
"""

from __future__ import annotations

from . import ast
from .lexer import INT_LIMIT
from .semantic_actions import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule

FAMILY.same("type : type1", "type : utype", "type1 : type0")


# Inside a function type the result is no union: `|` would belong to the outer type.
@rule("ret : ARROW type", "rett : ARROW type1")
def result(p: Reduction) -> ast.TypeExpr:
    return p[2]  # type: ignore[no-any-return]


@rule("utype : type1 PIPE type1")
def union(p: Reduction) -> ast.UnionType:
    return ast.UnionType(span=p.span, members=[p[1], p[3]])


@rule("utype : utype PIPE type1")
def longer_union(p: Reduction) -> ast.UnionType:
    return ast.UnionType(span=p.span, members=_extended(p[1].members, p[3]))


def _extended(members: list[ast.TypeExpr], member: ast.TypeExpr) -> list[ast.TypeExpr]:
    members.append(member)
    return members


@rule("type1 : type0 QUESTION")
def nilable(p: Reduction) -> ast.NilableType:
    return ast.NilableType(p.span, p[1])


@rule("type1 : FNTYPE LPAREN type,* RPAREN rett?")
def function_type(p: Reduction) -> ast.FunctionType:
    return ast.FunctionType(span=p.span, parameters=p[3], result=p[5])


@rule("type0 : tpath")
def named_type(p: Reduction) -> ast.NamedType:
    return ast.NamedType(p.span, p[1], None)


@rule("type0 : tpath targs")
def generic_type(p: Reduction) -> ast.NamedType:
    return ast.NamedType(p.span, p[1], p[2])


@rule("type0 : STRING")
def literal_type(p: Reduction) -> ast.LiteralType:
    return ast.LiteralType(span=p.span, value=p[1])


@rule("type0 : LPAREN type,* RPAREN")
def tuple_type(p: Reduction) -> ast.TypeExpr:
    items = p[2]
    if len(items) == 1 and not items.trailing:
        return items[0]  # type: ignore[no-any-return]
    return ast.TupleType(span=p.span, items=items)


@rule("targs : TLT type,* TGT")
def type_arguments(p: Reduction) -> list[ast.TypeExpr]:
    return p[2]  # type: ignore[no-any-return]


@rule("tpath : IDENT")
def first_segment(p: Reduction) -> list[ast.Ident]:
    return [p[1]]


@rule("tpath : tpath COLONCOLON IDENT")
def next_segment(p: Reduction) -> list[ast.Ident]:
    p[1].append(p[3])
    return p[1]  # type: ignore[no-any-return]


@rule("tparams : TLT tparam,+ TGT")
def type_parameters(p: Reduction) -> list[ast.TypeParameter]:
    return p[2]  # type: ignore[no-any-return]


@rule("tparam : IDENT")
def free_type_parameter(p: Reduction) -> ast.TypeParameter:
    return ast.TypeParameter(span=p.span, name=p[1], bounds=[])


@rule("tparam : IDENT COLON bounds")
def bounded_type_parameter(p: Reduction) -> ast.TypeParameter:
    return ast.TypeParameter(span=p.span, name=p[1], bounds=p[3])


@rule("bounds : type1")
def first_bound(p: Reduction) -> list[ast.TypeExpr]:
    return [p[1]]


@rule("bounds : bounds PLUS type1")
def next_bound(p: Reduction) -> list[ast.TypeExpr]:
    p[1].append(p[3])
    return p[1]  # type: ignore[no-any-return]


# Patterns, and the well-formedness of `..` in them (L-2.6.5).

FAMILY.same("pattern : pat1", "pat1 : lit")


@rule("pattern : pattern PIPE pat1")
def alternatives(p: Reduction) -> ast.OrPattern:
    # A pattern in parentheses begins behind them, so its alternatives stay its own.
    if type(p[1]) is ast.OrPattern and p[1].span.start == p.span.start:
        first = p[1].alternatives
    else:
        first = [p[1]]
    first.append(p[3])
    return ast.OrPattern(span=p.span, alternatives=first)


@rule("lit : {INT FLOAT STRING}")
def literal(p: Reduction) -> ast.LiteralPattern:
    _refuse_int_limit(p)
    return ast.LiteralPattern(p.span, p[1])


@rule("ratom : {INT FLOAT}")
def bound(p: Reduction) -> int | float:
    _refuse_int_limit(p)
    return p[1]  # type: ignore[no-any-return]


def _refuse_int_limit(p: Reduction) -> None:
    """Report 2^63, which is legal only directly under a minus (L-1.4.1)."""
    if p[1] == INT_LIMIT and type(p[1]) is int:
        p.context.int_out_of_range(p.span, p[1])


@rule("lit : {TRUE FALSE NIL}")
def word_literal(p: Reduction) -> ast.LiteralPattern:
    return ast.LiteralPattern(p.span, {"true": True, "false": False, "nil": None}[p[1]])


@rule("pat1 : MINUS {INT FLOAT}")
def negative_literal(p: Reduction) -> ast.LiteralPattern:
    return ast.LiteralPattern(p.span, -p[2])


@rule("ratom : MINUS {INT FLOAT}")
def negative_bound(p: Reduction) -> int | float:
    return -p[2]  # type: ignore[no-any-return]


@rule("pat1 : ratom {RANGE RANGEEQ} ratom")
def closed_range(p: Reduction) -> ast.RangePattern:
    return ast.RangePattern(span=p.span, start=p[1], end=p[3], inclusive=p[2] == "..=")


@rule("pat1 : ratom RANGE_FROM")
def range_from(p: Reduction) -> ast.RangePattern:
    return ast.RangePattern(span=p.span, start=p[1], end=None, inclusive=False)


@rule("pat1 : {RANGE_TO RANGE_TOEQ} ratom")
def range_to(p: Reduction) -> ast.RangePattern:
    return ast.RangePattern(span=p.span, start=None, end=p[2], inclusive=p[1] == "..=")


@rule("pat1 : MUT IDENT")
def mutable_binding(p: Reduction) -> ast.BindPattern:
    return ast.BindPattern(p.span, p[2], True)


@rule("pat1 : path")
def name_or_path(p: Reduction) -> ast.Pattern:
    path = p[1]
    if len(path) > 1:
        return ast.PathPattern(p.span, path)
    # The lexer knows no `_` of its own: it is a name like any other.
    if path[0].text == "_":
        return ast.WildcardPattern(p.span)
    return ast.BindPattern(p.span, path[0], False)


@rule("pat1 : IDENT AT pat1")
def binding_at(p: Reduction) -> ast.BindPattern:
    return ast.BindPattern(p.span, p[1], False, p[3])


@rule("pat1 : path LPAREN pattern,* RPAREN")
def tuple_struct(p: Reduction) -> ast.TupleStructPattern:
    return ast.TupleStructPattern(p.span, p[1], p[3])


@rule("pat1 : path SLBRACE pf,* RBRACE", "dpat : path SLBRACE pf,* RBRACE")
def struct(p: Reduction) -> ast.StructPattern:
    fields, rest = [], False
    for at, entry in enumerate(p[3]):
        if isinstance(entry, ast.FieldPattern):
            fields.append(entry)
            continue
        rest = True
        if at < len(p[3]) - 1:
            p.context.error("E3008", entry.span, "`..` must be the last entry of a struct pattern", "move it to the end")
    return ast.StructPattern(span=p.span, path=p[1], fields=fields, rest=rest)


@rule("pf : IDENT")
def field_name(p: Reduction) -> ast.FieldPattern:
    binding = ast.BindPattern(p.span, p[1], False)
    return ast.FieldPattern(span=p.span, name=p[1], pattern=binding, shorthand=True)


@rule("pf : MUT IDENT")
def mutable_field_name(p: Reduction) -> ast.FieldPattern:
    binding = ast.BindPattern(p.span, p[2], True)
    return ast.FieldPattern(span=p.span, name=p[2], pattern=binding, shorthand=True)


@rule("pf : IDENT COLON pattern")
def field_pattern(p: Reduction) -> ast.FieldPattern:
    return ast.FieldPattern(span=p.span, name=p[1], pattern=p[3], shorthand=False)


@rule("pf : RANGE_FULL")
def field_rest(p: Reduction) -> ast.RestPattern:
    return ast.RestPattern(span=p.span, name=None)


@rule("pat1 : LPAREN pattern,* RPAREN", "dpat : LPAREN pattern,* RPAREN")
def tuple_pattern(p: Reduction) -> ast.Pattern:
    items = p[2]
    if len(items) == 1 and not items.trailing:
        return items[0]  # type: ignore[no-any-return]
    return ast.TuplePattern(span=p.span, items=items)


@rule("pat1 : LBRACKET pattern,* RBRACKET", "dpat : LBRACKET pattern,* RBRACKET")
def array_pattern(p: Reduction) -> ast.ArrayPattern:
    rests = [item for item in p[2] if type(item) is ast.RestPattern]
    for rest in rests:
        p.context.rests.pop(id(rest), None)
    for rest in rests[1:]:
        p.context.error("E3008", rest.span, "an array pattern has at most one `..`", "keep one of them")
    return ast.ArrayPattern(span=p.span, items=p[2])


@rule("pat1 : RANGE_FULL", "pat1 : RANGE_TO IDENT")
def rest(p: Reduction) -> ast.RestPattern:
    node = ast.RestPattern(span=p.span, name=p[2] if len(p) > 2 else None)
    p.context.rests[id(node)] = node  # legal only among the items of an array pattern
    return node
