"""Productions for programs, decorators, functions, closures and the items of the core language.

Hands on `decorate` to `productions_statements` and, with `refuse_pub`, to `productions_orchestration`. The rules register
themselves in `FAMILY`, from which `compiler/syntax/grammar.py` makes the grammar; the text of `@rule` is the production, the
function its semantic action. `p[1]`, `p[2]` … are the values of the symbols of the production, `p.span` is what all of them
cover. In a production `{A B}` is one of these, `x?` may be missing and is None then, `x*`, `x,*` and `x,+` are lists, the last
two with commas, `x,+` not empty. An action builds a node of `ast` or a part of one, reports only what the grammar cannot refuse
(E0101 for `x?: T` outside of schemas, E0105; E0108 of `check_argument_order`), and raises nothing. What names denote and whether
types fit is for the phases behind the parser.
"""

from __future__ import annotations

from typing import Any

from . import ast
from .productions_expressions import check_argument_order
from .semantic_actions import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule


def decorate(node: Any, p: Reduction) -> Any:
    """Give a node made by the last symbol of `deco* PUB? node` its decorators, visibility, documentation and span, and
    return it."""
    node.decorators, node.span = p[1], p.span
    if p[2] is not None:
        node.public = True
        p.context.pubs[id(node)] = p.at(2), node
    # Documentation stands before the first token of the whole, which may be a decorator.
    node.doc = p.doc(1, 2, 3)
    return node


def refuse_pub(p: Reduction, node: Any, construct: str) -> None:
    """Report E0105 where `pub` stands on something that others cannot name; `node` is a method or field, `construct` what the
    message calls it."""
    if node.public:
        message = f"`pub` means nothing on {construct}"
        p.context.error("E0105", p.context.pubs[id(node)][0], message, "remove `pub`")


@rule("fn : ASYNC? FN IDENT tparams? LPAREN param,* RPAREN ret? clause* by? block")
def function(p: Reduction) -> ast.Function:
    return ast.Function(
        span=p.span, name=p[3], is_async=p[1] is not None, type_parameters=p[4] or [], parameters=p[6], result=p[8],
        clauses=p[9], by=p[10], body=p[11],
    )  # fmt: skip


@rule("by : K_BY expr")
def by(p: Reduction) -> ast.Expr:
    return p[2]  # type: ignore[no-any-return]


@rule("fn : ASYNC? FN IDENT tparams? LPAREN param,* RPAREN ret? clause* SEMI")
def signature(p: Reduction) -> ast.Function:
    node = ast.Function(
        span=p.span, name=p[3], is_async=p[1] is not None, type_parameters=p[4] or [], parameters=p[6], result=p[8],
        clauses=p[9], by=None, body=None,
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
    return ast.Parameter(span=p.span, name=p[2], type=None, decorators=p[1], doc=p.doc(1, 2))


@rule("param : deco* IDENT COLON type")
def typed_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[2], type=p[4], decorators=p[1], doc=p.doc(1, 2))


@rule("param : deco* IDENT COLON type EQ expr")
def default_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[2], type=p[4], default=p[6], decorators=p[1], doc=p.doc(1, 2))


@rule("cparam : IDENT", "cparam : IDENT COLON type1")
def closure_parameter(p: Reduction) -> ast.Parameter:
    return ast.Parameter(span=p.span, name=p[1], type=p[3] if len(p) > 2 else None)


@rule("cparam : dpat", "cparam : dpat COLON type1")
def destructured_parameter(p: Reduction) -> ast.Parameter:
    # A pattern has no name; `_` is one that no program can use.
    name = ast.Ident(p.at(1), "_")
    return ast.Parameter(span=p.span, name=name, type=p[3] if len(p) > 2 else None, pattern=p[1])


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


# Programs, decorators and items.

FAMILY.same("top : item_d", "item : fn")


@rule("program : top*")
def program(p: Reduction) -> list[ast.TopLevel]:
    return p[1]  # type: ignore[no-any-return]


# `NAME.method(…);`, the only statement at module level (O-0.7).
@rule("top : IDENT DOT IDENT LPAREN arg,* RPAREN SEMI")
def initialisation(p: Reduction) -> ast.InitStatement:
    check_argument_order(p, p[5])
    receiver = ast.PathExpr(span=p.at(1), segments=[p[1]])
    call = ast.MethodCall(span=p.over(1, 6), receiver=receiver, name=p[3], type_arguments=None, arguments=p[5])
    return ast.InitStatement(span=p.span, call=call)


@rule("item_d : deco* PUB? item")
def decorated_item(p: Reduction) -> ast.Item:
    return decorate(p[3], p)  # type: ignore[no-any-return]


@rule("deco : AT IDENT")
def decorator(p: Reduction) -> ast.Decorator:
    return ast.Decorator(span=p.span, name=p[2], arguments=[], parenthesised=False)


@rule("deco : AT IDENT LPAREN arg,* RPAREN")
def decorator_call(p: Reduction) -> ast.Decorator:
    check_argument_order(p, p[4])
    return ast.Decorator(span=p.span, name=p[2], arguments=p[4], parenthesised=True)


@rule("item : STRUCT IDENT tparams? LBRACE field* RBRACE")
def struct(p: Reduction) -> ast.Struct:
    for field in p[5]:
        refuse_optional(p, field)
    return ast.Struct(span=p.span, name=p[2], type_parameters=p[3] or [], fields=p[5])


def refuse_optional(p: Reduction, field: ast.Field) -> None:
    """Report `x?: T` outside of schemas (E0101, L-2.6.5)."""
    if field.optional:
        message = f"unexpected `?`: field `{field.name.text}` is not in a schema"
        p.context.error("E0101", field.name.span, message, f"write `{field.name.text}: Option<…>`")


@rule("field : deco* PUB? IDENT QUESTION? COLON type dflt? COMMA?")
def field(p: Reduction) -> ast.Field:
    # The comma is no part of the field.
    last = 7 if p[7] is not None else 6
    node = ast.Field(
        span=p.over(1, last), name=p[3], optional=p[4] is not None, type=p[6], default=p[7], public=p[2] is not None,
        decorators=p[1], doc=p.doc(1, 2, 3),
    )  # fmt: skip
    if p[2] is not None:
        p.context.pubs[id(node)] = p.at(2), node
    return node


@rule("dflt : EQ expr")
def default(p: Reduction) -> ast.Expr:
    return p[2]  # type: ignore[no-any-return]


@rule("item : ENUM IDENT tparams? LBRACE variant* RBRACE")
def enum(p: Reduction) -> ast.Enum:
    for variant in p[5]:
        for field in variant.fields or []:
            refuse_pub(p, field, "a field of a variant")
            refuse_optional(p, field)
    return ast.Enum(span=p.span, name=p[2], type_parameters=p[3] or [], variants=p[5])


@rule("variant : IDENT COMMA?")
def unit_variant(p: Reduction) -> ast.Variant:
    return ast.Variant(span=p.at(1), name=p[1], items=None, fields=None, doc=p.doc(1))


@rule("variant : IDENT LPAREN type,* RPAREN COMMA?")
def tuple_variant(p: Reduction) -> ast.Variant:
    return ast.Variant(span=p.over(1, 4), name=p[1], items=p[3], fields=None, doc=p.doc(1))


@rule("variant : IDENT LBRACE field* RBRACE COMMA?")
def struct_variant(p: Reduction) -> ast.Variant:
    return ast.Variant(span=p.over(1, 4), name=p[1], items=None, fields=p[3], doc=p.doc(1))


@rule("item : TRAIT IDENT tparams? LBRACE method* RBRACE")
def trait(p: Reduction) -> ast.Trait:
    for method in p[5]:
        p.context.bodyless.pop(id(method), None)
        refuse_pub(p, method, "a method of a trait")
    return ast.Trait(span=p.span, name=p[2], type_parameters=p[3] or [], methods=p[5])


@rule("item : IMPL tparams? type LBRACE method* RBRACE")
def inherent_impl(p: Reduction) -> ast.Impl:
    return ast.Impl(span=p.span, type_parameters=p[2] or [], trait=None, target=p[3], methods=p[5])


@rule("item : IMPL tparams? type FOR type LBRACE method* RBRACE")
def trait_impl(p: Reduction) -> ast.Impl:
    for method in p[7]:
        refuse_pub(p, method, "a method of a trait impl")
    return ast.Impl(span=p.span, type_parameters=p[2] or [], trait=p[3], target=p[5], methods=p[7])


@rule("item : CONST IDENT COLON type EQ expr SEMI")
def const(p: Reduction) -> ast.Const:
    return ast.Const(span=p.span, name=p[2], type=p[4], value=p[6])


@rule("item : K_TYPE IDENT tparams? EQ type SEMI")
def alias(p: Reduction) -> ast.TypeAlias:
    return ast.TypeAlias(span=p.span, name=p[2], type_parameters=p[3] or [], target=p[5])


@rule("item : USE usetree SEMI")
def use(p: Reduction) -> ast.Use:
    return ast.Use(span=p.span, tree=p[2])


@rule("usetree : upath")
def use_path(p: Reduction) -> ast.UseTree:
    return ast.UseTree(span=p.span, path=p[1])


@rule("usetree : upath AS IDENT")
def use_alias(p: Reduction) -> ast.UseTree:
    return ast.UseTree(span=p.span, path=p[1], alias=p[3])


@rule("usetree : upath COLONCOLON STAR")
def use_glob(p: Reduction) -> ast.UseTree:
    return ast.UseTree(span=p.span, path=p[1], glob=True)


@rule("usetree : upath COLONCOLON LBRACE usetree,+ RBRACE")
def use_group(p: Reduction) -> ast.UseTree:
    return ast.UseTree(span=p.span, path=p[1], group=p[4])


@rule("upath : IDENT")
def first_segment(p: Reduction) -> list[ast.Ident]:
    return [p[1]]


@rule("upath : upath COLONCOLON IDENT")
def next_segment(p: Reduction) -> list[ast.Ident]:
    p[1].append(p[3])
    return p[1]  # type: ignore[no-any-return]


@rule("item : MOD IDENT SEMI")
def file_module(p: Reduction) -> ast.Module:
    return ast.Module(span=p.span, name=p[2], items=None)


@rule("item : MOD IDENT LBRACE top* RBRACE")
def inline_module(p: Reduction) -> ast.Module:
    return ast.Module(span=p.span, name=p[2], items=p[4])
