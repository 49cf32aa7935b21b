"""Productions for models, agents, connections, embedders, schemas, tools, MCP servers, pipelines, channels, stores, contexts and
`listen`.

The rules register themselves in `FAMILY`, from which `compiler/syntax/grammar.py` makes the grammar; the text of `@rule` is the
production, the function its semantic action. `p[1]`, `p[2]` … are the values of the symbols of the production, `p.span` is what
all of them cover. In a production `{A B}` is one of these, `x?` may be missing and is None then, `x*`, `x,*` and `x,+` are lists,
the last two with commas, `x,+` not empty. An action builds a node of `ast` or a part of one, reports only what the grammar cannot
refuse (E0101 for a language other than `python`, E0105, E0106, E0109), and raises nothing. What names denote and whether types
fit is for the phases behind the parser.
"""

from __future__ import annotations

from . import ast
from .productions_items import decorate, refuse_pub
from .semantic_actions import Family, Reduction

FAMILY = Family()
rule = FAMILY.rule

FAMILY.same("mcpm : cfg", "toolm : cfg", "toolm : method")


@rule("item : {K_MODEL K_AGENT K_CONNECT K_EMBEDDER} IDENT LBRACE cfg* RBRACE")
def config(p: Reduction) -> ast.Config:
    return ast.Config(span=p.span, kind=p[1], name=p[2], entries=p[4])


@rule("cfg : CFGKEY COLON expr COMMA?")
def config_entry(p: Reduction) -> ast.ConfigEntry:
    return ast.ConfigEntry(span=p.over(1, 3), key=p[1], value=p[3])


@rule("item : K_SCHEMA IDENT tparams? LBRACE field* RBRACE")
def schema(p: Reduction) -> ast.Schema:
    for field in p[5]:
        refuse_pub(p, field, "a schema field")
    return ast.Schema(span=p.span, name=p[2], type_parameters=p[3] or [], fields=p[5])


@rule("item : K_SCHEMA IDENT SEMI")
def schema_without_fields(p: Reduction) -> ast.Schema:
    return ast.Schema(span=p.span, name=p[2], type_parameters=[], fields=None)


@rule("item : K_MCP IDENT LBRACE mcpm* RBRACE")
def mcp(p: Reduction) -> ast.Mcp:
    functions = [member for member in p[4] if isinstance(member, ast.Function)]
    for function in functions:
        # Here a function without a body is legal.
        p.context.bodyless.pop(id(function), None)
        if function.body is not None:
            message = f"function `{function.name.text}` of an mcp server has a body"
            p.context.error("E0106", function.name.span, message, "end it with `;`")
    entries = [member for member in p[4] if isinstance(member, ast.ConfigEntry)]
    return ast.Mcp(span=p.span, name=p[2], entries=entries, functions=functions)


@rule("mcpm : deco* fn")
def mcp_function(p: Reduction) -> ast.Function:
    node: ast.Function = p[2]
    node.decorators, node.span, node.doc = p[1], p.span, p.doc(1, 2)
    return node


@rule("item : K_TOOL IDENT implc? LBRACE toolm* RBRACE")
def tool(p: Reduction) -> ast.Tool:
    members = p[5]
    return ast.Tool(
        span=p.span,
        name=p[2],
        trait=p[3],
        entries=[member for member in members if isinstance(member, ast.ConfigEntry)],
        fields=[member for member in members if isinstance(member, ast.ToolField)],
        methods=[member for member in members if isinstance(member, ast.Function)],
    )


@rule("implc : IMPL IDENT")
def tool_trait(p: Reduction) -> ast.Ident:
    return p[2]  # type: ignore[no-any-return]


@rule("toolm : IDENT COLON type dflt? COMMA?")
def tool_field(p: Reduction) -> ast.ToolField:
    last = 4 if p[4] is not None else 3
    return ast.ToolField(span=p.over(1, last), name=p[1], type=p[3], default=p[4], doc=p.doc(1))


@rule("item : K_PIPELINE IDENT pipesig LBRACE stage* RBRACE")
def pipeline(p: Reduction) -> ast.Pipeline:
    parameter, result = p[3]
    return ast.Pipeline(span=p.span, name=p[2], parameter=parameter, result=result, stages=p[5])


@rule("pipesig : LPAREN param RPAREN ret?", "pipesig : ret?")
def pipeline_signature(p: Reduction) -> tuple[ast.Parameter | None, ast.TypeExpr | None]:
    return (p[2], p[4]) if len(p) > 2 else (None, p[1])


@rule("stage : deco* K_STAGE IDENT LPAREN param,* RPAREN ret? block")
def stage(p: Reduction) -> ast.Stage:
    return ast.Stage(
        span=p.span, name=p[3], parameters=p[5], result=p[7], body=p[8], value=None, decorators=p[1], doc=p.doc(1, 2)
    )


@rule("stage : deco* K_STAGE IDENT EQ expr SEMI")
def expression_stage(p: Reduction) -> ast.Stage:
    return ast.Stage(
        span=p.span, name=p[3], parameters=[], result=None, body=None, value=p[5], decorators=p[1], doc=p.doc(1, 2)
    )


@rule("primary : K_LISTEN expr LBRACE arms RBRACE")
def listen(p: Reduction) -> ast.Listen:
    # Handlers are written as match arms, so that they share their grammar.
    handlers = [_handler(p, arm) for arm in p[4]]
    return ast.Listen(span=p.span, operand=p[2], handlers=handlers)


def _handler(p: Reduction, arm: ast.MatchArm) -> ast.ListenHandler:
    """Return the handler that a match arm stands for; report E0109 unless it is `"type" => |m| { … }` (L-2.6.6)."""
    key = isinstance(arm.pattern, ast.LiteralPattern) and isinstance(arm.pattern.value, str)
    body = isinstance(arm.body, ast.Closure) and isinstance(arm.body.body, ast.Block)
    if not (key and body and arm.guard is None) and not isinstance(arm.body, ast.ErrorExpr):
        p.context.error("E0109", arm.span, "malformed `listen` handler", 'write `"type" => |m| { … }`')
    return ast.ListenHandler(span=arm.span, pattern=arm.pattern, guard=arm.guard, body=arm.body)


@rule("item : K_EXTERN IDENT STRING LBRACE xfn* RBRACE")
def extern(p: Reduction) -> ast.Extern:
    if p[2].text != "python":
        message = f"unexpected `{p[2].text}`: expected `python`"
        p.context.error("E0101", p.at(2), message, 'functions are of Python alone: `extern python "module" { … }`')
    for function in p[5]:
        refuse_pub(p, function, "a function of an extern block")
    return ast.Extern(span=p.span, language=p[2], module=ast.StringLiteral(p.at(3), p[3]), functions=p[5])


@rule("xfn : deco* PUB? xsignature")
def extern_function(p: Reduction) -> ast.Function:
    return decorate(p[3], p)  # type: ignore[no-any-return]


@rule("xsignature : ASYNC? FN IDENT LPAREN param,* RPAREN ret? xname? SEMI")
def extern_signature(p: Reduction) -> ast.Function:
    return ast.Function(
        span=p.span, name=p[3], is_async=p[1] is not None, type_parameters=[], parameters=p[5], result=p[7], clauses=[], by=None,
        body=None, foreign_name=p[8],
    )  # fmt: skip


@rule("xname : EQ STRING")
def extern_name(p: Reduction) -> ast.StringLiteral:
    return ast.StringLiteral(p.at(2), p[2])


@rule("item : K_CHANNEL IDENT COLON type SEMI")
def channel(p: Reduction) -> ast.Channel:
    return ast.Channel(span=p.span, name=p[2], payload=p[4], answer=None)


@rule("item : K_CHANNEL IDENT COLON type ANSWERS type SEMI")
def answered_channel(p: Reduction) -> ast.Channel:
    return ast.Channel(span=p.span, name=p[2], payload=p[4], answer=p[6])


# Memories and the other stores, and memory contexts.


@rule("item : {K_HASHMAP K_LEDGER K_MEMORY K_INDEX} IDENT COLON type EQ expr SEMI")
def store(p: Reduction) -> ast.Store:
    return ast.Store(span=p.span, kind=p[1], name=p[2], type=p[4], value=p[6])


@rule("item : K_MEMORY IDENT LBRACE cfg* RBRACE")
def memory_block(p: Reduction) -> ast.MemoryBlock:
    return ast.MemoryBlock(span=p.span, name=p[2], type=None, entries=p[4])


@rule("item : K_MEMORY IDENT COLON type LBRACE cfg* RBRACE")
def typed_memory_block(p: Reduction) -> ast.MemoryBlock:
    return ast.MemoryBlock(span=p.span, name=p[2], type=p[4], entries=p[6])


@rule("item : K_CONTEXT IDENT LBRACE tier* RBRACE")
def context(p: Reduction) -> ast.Context:
    return ast.Context(span=p.span, name=p[2], tiers=p[4])


@rule("tier : {K_PERSISTENT K_SESSION K_EPHEMERAL} LBRACE slot* RBRACE")
def tier(p: Reduction) -> ast.Tier:
    return ast.Tier(span=p.span, kind=p[1], slots=p[3])


@rule("slot : deco* MUT? IDENT COLON type dflt? COMMA?")
def slot(p: Reduction) -> ast.Slot:
    # The comma is no part of the slot.
    last = 6 if p[6] is not None else 5
    return ast.Slot(
        span=p.over(1, last), name=p[3], mutable=p[2] is not None, type=p[5], default=p[6], decorators=p[1]
    )
