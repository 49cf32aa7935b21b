"""Productions for functions, methods, parameters and closures."""

from __future__ import annotations

from typing import Any

from .. import ast
from .rules import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule


def decorate(node: Any, p: Reduction) -> Any:
    """Gives a node made by the last symbol of `deco* PUB? node` its decorators, visibility, documentation and span."""
    node.decorators, node.span = p[1], p.span
    if p[2] is not None:
        node.public = True
        p.context.pubs[id(node)] = p.at(2)
    node.doc = p.doc(1, 2, 3)
    return node


def refuse_pub(p: Reduction, node: Any, construct: str) -> None:
    if node.public:
        message = f"`pub` means nothing on {construct}"
        p.context.error("E0105", p.context.pubs[id(node)], message, "remove `pub`")


@rule("fn : ASYNC? FN IDENT tparams? LPAREN param,* RPAREN ret? clause* block")
def function(p: Reduction) -> ast.Function:
    return ast.Function(
        span=p.span, name=p[3], is_async=p[1] is not None, type_parameters=p[4] or [], parameters=p[6], result=p[8],
        clauses=p[9], body=p[10],
    )  # fmt: skip


@rule("fn : ASYNC? FN IDENT tparams? LPAREN param,* RPAREN ret? clause* SEMI")
def signature(p: Reduction) -> ast.Function:
    node = ast.Function(
        span=p.span, name=p[3], is_async=p[1] is not None, type_parameters=p[4] or [], parameters=p[6], result=p[8],
        clauses=p[9], body=None,
    )  # fmt: skip
    p.context.bodyless[id(node)] = node  # legal only in a trait or an mcp server
    return node


@rule("method : deco* PUB? fn")
def method(p: Reduction) -> ast.Function:
    node: ast.Function = decorate(p[3], p)
    if node.parameters and node.parameters[0].is_self:
        p.context.selves.pop(id(node.parameters[0]), None)
    return node


@rule("clause : {K_NEEDS K_READS} slotrefs")
def clause(p: Reduction) -> ast.Clause:
    return ast.Clause(span=p.span, kind=p[1], slots=p[2])


@rule("slotrefs : slotref")
def first_slot(p: Reduction) -> list[ast.SlotRef]:
    return [p[1]]


@rule("slotrefs : slotrefs COMMA slotref")
def next_slot(p: Reduction) -> list[ast.SlotRef]:
    p[1].append(p[3])
    return p[1]  # type: ignore[no-any-return]


@rule("slotref : IDENT DOT IDENT")
def slot_reference(p: Reduction) -> ast.SlotRef:
    return ast.SlotRef(span=p.span, owner=p[1], slot=p[3])


# ---------------------------------------------------------------- parameters


@rule("param : deco* SELF", "param : deco* MUT SELF")
def self_parameter(p: Reduction) -> ast.Parameter:
    name = ast.Ident(p.at(len(p) - 1), "self")
    node = ast.Parameter(
        span=p.span, name=name, type=None, is_self=True, mutable=len(p) == 4, decorators=p[1]
    )  # fmt: skip
    p.context.selves[id(node)] = node  # legal only as the first parameter of a method
    return node


@rule("param : deco* IDENT")
def bare_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[2], type=None, decorators=p[1])


@rule("param : deco* IDENT COLON type")
def typed_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[2], type=p[4], decorators=p[1])


@rule("param : deco* IDENT COLON type EQ expr")
def default_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[2], type=p[4], default=p[6], decorators=p[1])


@rule("cparam : IDENT", "cparam : IDENT COLON type1")
def closure_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[1], type=p[3] if len(p) > 2 else None)


@rule("cparam : dpat", "cparam : dpat COLON type1")
def destructured_parameter(p: Reduction) -> ast.Parameter:
    name = ast.Ident(p.at(1), "_")
    return ast.Parameter(span=p.span, name=name, type=p[3] if len(p) > 2 else None, pattern=p[1])


# ---------------------------------------------------------------- closures


@rule("expr : CPIPE cparam,* CPIPE expr %prec CLOSURE")
def closure(p: Reduction) -> ast.Closure:
    return ast.Closure(span=p.span, parameters=p[2], result=None, body=p[4])


@rule("expr : CPIPE cparam,* CPIPE ARROW type1 block")
def typed_closure(p: Reduction) -> ast.Closure:
    return ast.Closure(span=p.span, parameters=p[2], result=p[5], body=p[6])


@rule("expr : CPIPE2 expr %prec CLOSURE")
def bare_closure(p: Reduction) -> ast.Closure:
    return ast.Closure(span=p.span, parameters=[], result=None, body=p[2])


@rule("expr : CPIPE2 ARROW type1 block")
def typed_bare_closure(p: Reduction) -> ast.Closure:
    return ast.Closure(span=p.span, parameters=[], result=p[3], body=p[4])


@rule("primary : FNEXPR LPAREN param,* RPAREN ret? block")
def function_expression(p: Reduction) -> ast.Closure:
    return ast.Closure(span=p.span, parameters=p[3], result=p[5], body=p[6], function_form=True)
