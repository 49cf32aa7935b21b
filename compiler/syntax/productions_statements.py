"""Productions for blocks, statements and block-like expressions.

The rules register themselves in `FAMILY`, from which `compiler/syntax/grammar.py` makes the grammar; the text of `@rule` is the
production, the function its semantic action. `p[1]`, `p[2]` … are the values of the symbols of the production, `p.span` is what
all of them cover. In a production `{A B}` is one of these, `x?` may be missing and is None then, `x*`, `x,*` and `x,+` are lists,
the last two with commas, `x,+` not empty. An action builds a node of `ast` or a part of one, reports only what the grammar cannot
refuse (E0101 for `=` behind a field of a mock, E0107), and raises nothing. What names denote and whether types fit is for the
phases behind the parser.
"""

from __future__ import annotations

from ..source import Span
from . import ast
from .productions_items import decorate
from .semantic_actions import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule

FAMILY.same("primary : block", "primary : loop", "arms : armlist")

# Items that may not stand in a block (L-2.4.5), with the words that E0107 has for them. Of stores, connections and embedders,
# which may not either, the word is their `kind`.
_ITEM_NAMES = {
    ast.Trait: "trait", ast.Impl: "impl", ast.Module: "mod", ast.Mcp: "mcp", ast.Tool: "tool",
    ast.Pipeline: "pipeline", ast.Context: "context", ast.MemoryBlock: "memory", ast.Extern: "extern", ast.Channel: "channel",
}  # fmt: skip


@rule("block : LBRACE stmt* RBRACE", "block : LBRACE stmt* expr RBRACE")
def block(p: Reduction) -> ast.Block:
    return ast.Block(p.span, statements=p[2], result=p[3] if len(p) > 4 else None)


@rule("stmt : SEMI")
def empty_statement(p: Reduction) -> ast.EmptyStmt:
    return ast.EmptyStmt(span=p.span)


@rule("stmt : expr SEMI")
def expression_statement(p: Reduction) -> ast.ExprStmt:
    return ast.ExprStmt(p.span, p[1], terminated=True)


# The token filter inserts BLKEND where a block-like form ends its statement without `;` (L-2.4.2).
@rule("stmt : expr BLKEND")
def block_statement(p: Reduction) -> ast.ExprStmt:
    return ast.ExprStmt(p[1].span, p[1], terminated=False)


@rule("stmt : LET pattern SEMI")
def let_deferred(p: Reduction) -> ast.Let:
    return ast.Let(span=p.span, pattern=p[2], type=None, value=None)


@rule("stmt : LET pattern COLON type SEMI")
def let_typed(p: Reduction) -> ast.Let:
    return ast.Let(span=p.span, pattern=p[2], type=p[4], value=None)


@rule("stmt : LET pattern EQ expr SEMI")
def let_value(p: Reduction) -> ast.Let:
    return ast.Let(span=p.span, pattern=p[2], type=None, value=p[4])


@rule("stmt : LET pattern COLON type EQ expr SEMI")
def let_typed_value(p: Reduction) -> ast.Let:
    return ast.Let(span=p.span, pattern=p[2], type=p[4], value=p[6])


@rule("stmt : K_MOCK upath LBRACE cfg* RBRACE")
def mock(p: Reduction) -> ast.Mock:
    return ast.Mock(span=p.span, name=p[2][-1], config=p[4], path=p[2][:-1])


@rule("stmt : K_MOCK upath LBRACE expr COMMA? RBRACE")
def mock_by_answer(p: Reduction) -> ast.Mock:
    answer = p[4]
    if isinstance(answer, ast.Assign) and isinstance(answer.target, ast.PathExpr):
        name = answer.target.segments[-1].text
        value = f'"{answer.value.value}"' if isinstance(answer.value, ast.StringLiteral) else "…"
        between = Span(answer.span.file, answer.target.span.end, answer.value.span.start)
        help = f"a field and its value are joined by `:`: `{name}: {value}`"
        p.context.error("E0101", between, f"unexpected `=`: expected `:` behind the field name `{name}`", help)
    return ast.Mock(span=p.span, name=p[2][-1], config=[], answer=p[4], path=p[2][:-1])


# Which items may stand in a block is checked here: as grammar the error would name half the keywords.
@rule("stmt : deco* PUB? item")
def local_item(p: Reduction) -> ast.ItemStmt:
    item = decorate(p[3], p)
    word = _ITEM_NAMES.get(type(item))
    if isinstance(item, ast.Store) or (isinstance(item, ast.Config) and item.kind in ("connect", "embedder")):
        word = item.kind
    if word is not None:
        message = f"`{word}` is not legal inside a block"
        p.context.error("E0107", p.at(3), message, "move it to module level")
    return ast.ItemStmt(span=p.span, item=item)


@rule("primary : IF expr block else?", "else : ELSE IF expr block else?")
def if_(p: Reduction) -> ast.If:
    # Both productions end alike, so symbols are counted from the end.
    then = len(p) - 2
    span = p.span if then == 3 else p.over(2, len(p) - 1)
    return ast.If(span=span, condition=p[then - 1], then=p[then], otherwise=p[then + 1])


@rule("else : ELSE block")
def else_(p: Reduction) -> ast.Block:
    return p[2]  # type: ignore[no-any-return]


@rule("primary : MATCH expr LBRACE arms RBRACE")
def match(p: Reduction) -> ast.Match:
    return ast.Match(span=p.span, subject=p[2], arms=p[4])


# Only the last arm may lack its comma; an arm with a block needs none, since BLKEND ends it.
@rule("arms : arm_last?")
def few_arms(p: Reduction) -> list[ast.MatchArm]:
    return [] if p[1] is None else [p[1]]


@rule("arms : armlist arm_last")
def all_arms(p: Reduction) -> list[ast.MatchArm]:
    p[1].append(p[2])
    return p[1]  # type: ignore[no-any-return]


@rule("armlist : arm")
def first_arm(p: Reduction) -> list[ast.MatchArm]:
    return [p[1]]


@rule("armlist : armlist arm")
def next_arm(p: Reduction) -> list[ast.MatchArm]:
    p[1].append(p[2])
    return p[1]  # type: ignore[no-any-return]


@rule("arm : arm_last {COMMA BLKEND}")
def ended_arm(p: Reduction) -> ast.MatchArm:
    return p[1]  # type: ignore[no-any-return]


@rule("arm_last : pattern guard? FATARROW expr")
def arm(p: Reduction) -> ast.MatchArm:
    return ast.MatchArm(p.span, p[1], p[2], p[4])


@rule("guard : IF expr", "limit : K_LIMIT expr")
def guard_or_limit(p: Reduction) -> ast.Expr:
    return p[2]  # type: ignore[no-any-return]


@rule("loop : FOR pattern IN expr block")
def for_(p: Reduction) -> ast.For:
    return ast.For(span=p.span, label=None, pattern=p[2], iterable=p[4], body=p[5])


@rule("loop : WHILE expr block")
def while_(p: Reduction) -> ast.While:
    return ast.While(span=p.span, label=None, condition=p[2], body=p[3])


@rule("loop : LOOP block")
def loop(p: Reduction) -> ast.Loop:
    return ast.Loop(span=p.span, label=None, body=p[2])


# The loop is made before its label is known, so the node is completed here.
@rule("primary : LABELDEF COLON loop")
def labelled_loop(p: Reduction) -> ast.Expr:
    node = p[3]
    node.label, node.span = p[1], p.span
    return node  # type: ignore[no-any-return]


@rule("primary : K_PARALLEL FOR pattern IN expr limit? block")
def parallel_for(p: Reduction) -> ast.ParallelFor:
    return ast.ParallelFor(span=p.span, pattern=p[3], iterable=p[5], limit=p[6], body=p[7])


@rule("primary : TRY block catch*")
def try_(p: Reduction) -> ast.Try:
    return ast.Try(span=p.span, body=p[2], catches=p[3])


@rule("catch : CATCH block")
def catch_all(p: Reduction) -> ast.CatchClause:
    return ast.CatchClause(span=p.span, type=None, name=None, body=p[2])


@rule("catch : CATCH type1 block")
def catch_type(p: Reduction) -> ast.CatchClause:
    return ast.CatchClause(span=p.span, type=p[2], name=None, body=p[3])


@rule("catch : CATCH type1 LPAREN IDENT RPAREN block")
def catch_value(p: Reduction) -> ast.CatchClause:
    return ast.CatchClause(span=p.span, type=p[2], name=p[4], body=p[6])


@rule("primary : ASYNCBLK block")
def async_block(p: Reduction) -> ast.AsyncBlock:
    return ast.AsyncBlock(span=p.span, body=p[2])
