"""How items are written, of the core language and of orchestration, and what stands between items.

Functions registered with `prints` write one kind of node in the order of its tokens; they are called by the printer, and nothing
is handed on by name. They return the row (in `Printer.operations`) behind the bracket that may stay open at the end of their
node, or 0 or nothing. A function takes the printer `p` and a node; the methods of `p` write one token each, or a list, and raise
OutOfStep where another token stands in the source, and `p.pending` is what goes into the gap before the next token. No token is
added, left out or moved here but commas, and which lines fit is decided in `layout`. What a new kind of item needs is one such
function, and a line in `is_line` if it ends in `;`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..syntax import ast
from .expressions import annotation, arguments, path, result, type_, type_parameters
from .layout import HARD, LINE, Begin, Break
from .printer import APART, KEEP, Printer, prints
from .statements import body, expands

# ---------------------------------------------------------------- files and modules


@prints(ast.Program)
def program(p: Printer, node: ast.Program) -> None:
    if p.comment_follows():
        p.pending = KEEP
    for at, item in enumerate(node.items):
        if at:
            p.pending = between_items(node.items[at - 1], item)
        p.node(item)
    p.pending = KEEP
    p.gap()


def between_items(first: ast.Node, second: ast.Node) -> Break:
    """Return the gap between two items: one blank line, which may be missing between items that end in `;`."""
    # Only items of one line may stand without a blank line between them.
    return KEEP if is_line(first) and is_line(second) else APART


def is_line(node: ast.Node) -> bool:
    """Return whether an item has no body in braces, but ends in `;`."""
    if isinstance(node, (ast.Const, ast.TypeAlias, ast.Use, ast.Store, ast.Channel, ast.InitStatement)):
        return True
    if isinstance(node, ast.Module):
        return node.items is None
    if isinstance(node, ast.Schema):
        return node.fields is None
    if isinstance(node, ast.Function):
        return node.body is None
    return isinstance(node, ast.Stage) and node.value is not None


@prints(ast.Module)
def module(p: Printer, node: ast.Module) -> None:
    begin(p, node)
    keyword(p, "mod", node.name)
    if node.items is None:
        p.semicolon()
    else:
        p.pending = " "
        p.expanded(node.items, p.node, between_items)


@prints(ast.InitStatement)
def initialisation(p: Printer, node: ast.InitStatement) -> None:
    p.node(node.call)
    p.semicolon()


@prints(ast.Use)
def use(p: Printer, node: ast.Use) -> None:
    begin(p, node)
    p.token("use")
    p.pending = " "
    p.node(node.tree)
    p.semicolon()


@prints(ast.UseTree)
def use_tree(p: Printer, node: ast.UseTree) -> None:
    path(p, node.path)
    if node.alias is not None:
        p.spaced("as")
        p.name(node.alias)
    elif node.glob:
        p.token("::")
        p.token("*")
    elif node.group is not None:
        p.token("::")
        p.bracketed("{", node.group, "}", p.node)


# ---------------------------------------------------------------- what precedes an item


def begin(p: Printer, node: ast.Item) -> None:
    """Write decorators on lines of their own, and `pub`."""
    decorators(p, node.decorators)
    if node.public:
        p.token("pub")
        p.pending = " "


def decorators(p: Printer, nodes: Sequence[ast.Decorator], behind: Break | str = HARD) -> None:
    """Write decorators; `behind` is the gap behind each."""
    for node in nodes:
        p.node(node)
        p.pending = behind


@prints(ast.Decorator)
def decorator(p: Printer, node: ast.Decorator) -> None:
    p.token("@")
    p.name(node.name)
    if node.parenthesised:
        arguments(p, node.arguments)


def keyword(p: Printer, word: str, name: ast.Ident) -> None:
    """Write the word of an item and its name."""
    p.token(word)
    p.pending = " "
    p.name(name)


# ---------------------------------------------------------------- functions


@prints(ast.Function)
def function(p: Printer, node: ast.Function) -> None:
    begin(p, node)
    if node.is_async:
        p.token("async")
        p.pending = " "
    keyword(p, "fn", node.name)
    type_parameters(p, node.type_parameters)
    p.bracketed("(", node.parameters, ")", p.node)
    result(p, node.result)
    if node.body is None:
        p.end(clauses(p, node.clauses))
        if node.foreign_name is not None:
            p.spaced("=")
            p.node(node.foreign_name)
        p.semicolon()
    elif node.clauses or node.by is not None:
        # The clauses and the `{` share a group: where a clause ends its line, the brace does too.
        signature = p.begin_here()
        header_group = clauses(p, node.clauses, node.by)
        p.pending = LINE
        body(p, node.body, expands(p, node.body), header=header_group, grouped=False)
        p.end(signature)
    else:
        p.pending = " "
        p.node(node.body)


def clauses(p: Printer, nodes: Sequence[ast.Clause], by: ast.Expr | None = None) -> Begin:
    """Write `needs`, `reads` and `by`: on the line of the signature, or each on its own and the `{` too. Return their group
    for the body."""
    group = p.begin_here()
    p.indent()
    for node in nodes:
        p.pending = LINE
        p.node(node)
    if by is not None:
        p.pending = LINE
        p.token("by")
        p.pending = " "
        p.node(by)
    p.dedent()
    return group


@prints(ast.Clause)
def clause(p: Printer, node: ast.Clause) -> None:
    p.token(node.kind)
    p.pending = " "
    for at, slot in enumerate(node.slots):
        if at:
            p.comma()
            p.pending = " "
        p.name(slot.owner)
        p.token(".")
        p.name(slot.slot)


@prints(ast.Parameter)
def parameter(p: Printer, node: ast.Parameter) -> None:
    decorators(p, node.decorators, " ")
    if node.mutable:
        p.token("mut")
        p.pending = " "
    p.name(node.name)
    annotation(p, node.type)
    default(p, node.default)


def default(p: Printer, node: ast.Expr | None) -> None:
    """Write ` = value`, if there is one."""
    if node is not None:
        p.spaced("=")
        p.node(node)


# ---------------------------------------------------------------- data


@prints(ast.Struct)
def struct(p: Printer, node: ast.Struct) -> int:
    begin(p, node)
    keyword(p, "struct", node.name)
    type_parameters(p, node.type_parameters)
    p.pending = " "
    return p.braced(node.fields, p.node)


@prints(ast.Schema)
def schema(p: Printer, node: ast.Schema) -> int:
    begin(p, node)
    keyword(p, "schema", node.name)
    type_parameters(p, node.type_parameters)
    if node.fields is None:
        p.semicolon()
        return 0
    p.pending = " "
    return p.braced(node.fields, p.node)


@prints(ast.Field)
def field(p: Printer, node: ast.Field) -> None:
    decorators(p, node.decorators)
    if node.public:
        p.token("pub")
        p.pending = " "
    p.name(node.name)
    if node.optional:
        p.token("?")
    annotation(p, node.type)
    default(p, node.default)


@prints(ast.Enum)
def enum(p: Printer, node: ast.Enum) -> int:
    begin(p, node)
    keyword(p, "enum", node.name)
    type_parameters(p, node.type_parameters)
    p.pending = " "
    return p.braced(node.variants, p.node)


@prints(ast.Variant)
def variant(p: Printer, node: ast.Variant) -> None:
    p.name(node.name)
    if node.items is not None:
        p.bracketed("(", node.items, ")", lambda item: type_(p, item))
    elif node.fields is not None:
        p.pending = " "
        p.braced(node.fields, p.node)


@prints(ast.Const)
def const(p: Printer, node: ast.Const) -> None:
    begin(p, node)
    keyword(p, "const", node.name)
    annotation(p, node.type)
    default(p, node.value)
    p.semicolon()


@prints(ast.TypeAlias)
def alias(p: Printer, node: ast.TypeAlias) -> None:
    begin(p, node)
    keyword(p, "type", node.name)
    type_parameters(p, node.type_parameters)
    p.spaced("=")
    type_(p, node.target)
    p.semicolon()


# ---------------------------------------------------------------- behaviour


@prints(ast.Trait)
def trait(p: Printer, node: ast.Trait) -> None:
    begin(p, node)
    keyword(p, "trait", node.name)
    type_parameters(p, node.type_parameters)
    p.pending = " "
    p.expanded(node.methods, p.node, between_items)


@prints(ast.Impl)
def impl(p: Printer, node: ast.Impl) -> None:
    begin(p, node)
    p.token("impl")
    type_parameters(p, node.type_parameters)
    p.pending = " "
    if node.trait is not None:
        type_(p, node.trait)
        p.spaced("for")
    type_(p, node.target)
    p.pending = " "
    p.expanded(node.methods, p.node, between_items)


# Items of orchestration.

Member = ast.ConfigEntry | ast.ToolField | ast.Function


@prints(ast.Config)
def config(p: Printer, node: ast.Config) -> int:
    begin(p, node)
    keyword(p, node.kind, node.name)
    p.pending = " "
    return p.braced(node.entries, p.node)


@prints(ast.Mock)
def mock(p: Printer, node: ast.Mock) -> int:
    p.token("mock")
    p.pending = " "
    for segment in node.path:
        p.name(segment)
        p.token("::")
    p.name(node.name)
    p.pending = " "
    return p.braced(node.config if node.answer is None else [node.answer], p.node)


@prints(ast.Channel)
def channel(p: Printer, node: ast.Channel) -> None:
    begin(p, node)
    keyword(p, "channel", node.name)
    annotation(p, node.payload)
    result(p, node.answer)
    p.semicolon()


@prints(ast.Extern)
def extern(p: Printer, node: ast.Extern) -> None:
    begin(p, node)
    keyword(p, "extern", node.language)
    p.pending = " "
    p.node(node.module)
    p.pending = " "
    p.expanded(node.functions, p.node, between_items)


@prints(ast.ConfigEntry)
def config_entry(p: Printer, node: ast.ConfigEntry) -> int:
    p.name(node.key)
    p.token(":")
    p.pending = " "
    return p.node(node.value)


# ---------------------------------------------------------------- tools and MCP servers


@prints(ast.Tool)
def tool(p: Printer, node: ast.Tool) -> None:
    begin(p, node)
    keyword(p, "tool", node.name)
    if node.trait is not None:
        p.spaced("impl")
        p.name(node.trait)
    members(p, [*node.entries, *node.fields, *node.methods])


@prints(ast.Mcp)
def mcp(p: Printer, node: ast.Mcp) -> None:
    begin(p, node)
    keyword(p, "mcp", node.name)
    members(p, [*node.entries, *node.functions])


def members(p: Printer, nodes: list[Member]) -> None:
    """Write entries, state fields and functions in the order of the source."""
    p.pending = " "
    # The tree keeps them by kind; the source has them in the writer's order.
    p.expanded(sorted(nodes, key=lambda node: node.span.start), lambda node: member(p, node), between_members)


def member(p: Printer, node: Member) -> None:
    """Write a member, with a comma behind it unless it is a function."""
    p.node(node)
    if not isinstance(node, ast.Function):
        p.comma()


def between_members(first: Member, second: Member) -> Break:
    """Return the gap between two members of a tool or MCP server."""
    # Between entries a blank line is the writer's choice; before a function there is one.
    entries = isinstance(first, (ast.ConfigEntry, ast.ToolField)) and isinstance(second, (ast.ConfigEntry, ast.ToolField))
    return KEEP if entries else between_items(first, second)


@prints(ast.ToolField, ast.Slot)
def state(p: Printer, node: ast.ToolField | ast.Slot) -> None:
    if isinstance(node, ast.Slot):
        decorators(p, node.decorators, " ")
    if isinstance(node, ast.Slot) and node.mutable:
        p.token("mut")
        p.pending = " "
    p.name(node.name)
    annotation(p, node.type)
    default(p, node.default)


# ---------------------------------------------------------------- pipelines


@prints(ast.Pipeline)
def pipeline(p: Printer, node: ast.Pipeline) -> None:
    begin(p, node)
    keyword(p, "pipeline", node.name)
    if node.parameter is not None:
        # A pipeline takes one parameter only, and no comma behind it.
        p.bracketed("(", [node.parameter], ")", p.node, last="")
    result(p, node.result)
    p.pending = " "
    p.expanded(node.stages, p.node, between_items)


@prints(ast.Stage)
def stage(p: Printer, node: ast.Stage) -> int:
    decorators(p, node.decorators)
    keyword(p, "stage", node.name)
    if node.body is None:
        default(p, node.value)
        p.semicolon()
        return 0
    p.bracketed("(", node.parameters, ")", p.node)
    result(p, node.result)
    p.pending = " "
    return p.node(node.body)


# ---------------------------------------------------------------- stores and contexts


@prints(ast.Store)
def store(p: Printer, node: ast.Store) -> None:
    begin(p, node)
    keyword(p, node.kind, node.name)
    annotation(p, node.type)
    default(p, node.value)
    p.semicolon()


@prints(ast.MemoryBlock)
def memory_block(p: Printer, node: ast.MemoryBlock) -> int:
    begin(p, node)
    keyword(p, "memory", node.name)
    annotation(p, node.type)
    p.pending = " "
    return p.braced(node.entries, p.node)


@prints(ast.Context)
def context(p: Printer, node: ast.Context) -> None:
    begin(p, node)
    keyword(p, "context", node.name)
    p.pending = " "
    p.expanded(node.tiers, p.node, between_tiers)


def between_tiers(first: ast.Tier, second: ast.Tier) -> Break:
    """Return the gap between two tiers of a context: a line end, and a blank line where the writer has one."""
    return KEEP


@prints(ast.Tier)
def tier(p: Printer, node: ast.Tier) -> int:
    p.token(node.kind)
    p.pending = " "
    return p.braced(node.slots, p.node)
