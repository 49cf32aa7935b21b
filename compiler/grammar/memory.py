"""Productions for memories and the other stores, and for memory contexts."""

from __future__ import annotations

from .. import ast
from .rules import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule


@rule("item : {K_HASHMAP K_LEDGER K_MEMORY} IDENT COLON type EQ expr SEMI")
def store(p: Reduction) -> ast.Store:
    return ast.Store(span=p.span, kind=p[1], name=p[2], type=p[4], value=p[6])


@rule("item : K_CONTEXT IDENT LBRACE tier* RBRACE")
def context(p: Reduction) -> ast.Context:
    return ast.Context(span=p.span, name=p[2], tiers=p[4])


@rule("tier : {K_PERSISTENT K_SESSION K_EPHEMERAL} LBRACE slot* RBRACE")
def tier(p: Reduction) -> ast.Tier:
    return ast.Tier(span=p.span, kind=p[1], slots=p[3])


@rule("slot : deco* MUT? IDENT COLON type dflt? COMMA?")
def slot(p: Reduction) -> ast.Slot:
    last = 6 if p[6] is not None else 5
    return ast.Slot(
        span=p.over(1, last), name=p[3], mutable=p[2] is not None, type=p[5], default=p[6], decorators=p[1]
    )
