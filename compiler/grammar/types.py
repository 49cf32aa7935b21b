"""Productions for types as written."""

from __future__ import annotations

from .. import ast
from .rules import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule

FAMILY.same("type : type1", "type : utype", "type1 : type0")


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
