"""Productions for programs, decorators and the items of the core language."""

from __future__ import annotations

from .. import ast
from .expressions import check_argument_order
from .functions import decorate, refuse_pub
from .rules import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule

FAMILY.same("top : item_d", "item : fn")


@rule("program : top*")
def program(p: Reduction) -> list[ast.TopLevel]:
    return p[1]  # type: ignore[no-any-return]


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


# ---------------------------------------------------------------- data


@rule("item : STRUCT IDENT tparams? LBRACE field* RBRACE")
def struct(p: Reduction) -> ast.Struct:
    for field in p[5]:
        refuse_optional(p, field)
    return ast.Struct(span=p.span, name=p[2], type_parameters=p[3] or [], fields=p[5])


def refuse_optional(p: Reduction, field: ast.Field) -> None:
    """L-2.6.5: `x?: T` exists only in schemas."""
    if field.optional:
        message = f"unexpected `?`: field `{field.name.text}` is not in a schema"
        p.context.error("E0101", field.name.span, message, f"write `{field.name.text}: Option<…>`")


@rule("field : deco* PUB? IDENT QUESTION? COLON type dflt? COMMA?")
def field(p: Reduction) -> ast.Field:
    last = 7 if p[7] is not None else 6
    node = ast.Field(
        span=p.over(1, last), name=p[3], optional=p[4] is not None, type=p[6], default=p[7], public=p[2] is not None,
        decorators=p[1], doc=p.doc(1, 2, 3),
    )  # fmt: skip
    if p[2] is not None:
        p.context.pubs[id(node)] = p.at(2)
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


# ---------------------------------------------------------------- behaviour


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


# ---------------------------------------------------------------- constants, aliases, modules


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
