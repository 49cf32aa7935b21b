"""How models, agents, connections, tools, MCP servers, pipelines, stores, contexts and mocks are written."""

from __future__ import annotations

from .. import ast
from .declarations import begin, between_items, decorators, default, keyword
from .layout import Break
from .printer import KEEP, Printer, prints
from .types import annotation, result

Member = ast.ConfigEntry | ast.ToolField | ast.Function


@prints(ast.Config)
def config(p: Printer, node: ast.Config) -> int:
    begin(p, node)
    keyword(p, node.kind, node.name)
    p.pending = " "
    return p.braced(node.entries, p.node)


@prints(ast.Mock)
def mock(p: Printer, node: ast.Mock) -> int:
    keyword(p, "mock", node.name)
    p.pending = " "
    return p.braced(node.config, p.node)


@prints(ast.ConfigEntry)
def config_entry(p: Printer, node: ast.ConfigEntry) -> int:
    p.name(node.key)
    p.token(":")
    p.pending = " "
    return p.node(node.value)


# ---------------------------------------------------------------- tools and MCP servers


@prints(ast.Tool)
def tool(p: Printer, node: ast.Tool) -> int:
    begin(p, node)
    keyword(p, "tool", node.name)
    if node.trait is not None:
        p.spaced("impl")
        p.name(node.trait)
    members(p, [*node.entries, *node.fields, *node.methods])
    return 0


@prints(ast.Mcp)
def mcp(p: Printer, node: ast.Mcp) -> int:
    begin(p, node)
    keyword(p, "mcp", node.name)
    members(p, [*node.entries, *node.functions])
    return 0


def members(p: Printer, nodes: list[Member]) -> None:
    """Entries, state fields and functions, in the order of the source."""
    p.pending = " "
    p.expanded(sorted(nodes, key=lambda node: node.span.start), lambda node: member(p, node), between_members)


def member(p: Printer, node: Member) -> None:
    p.node(node)
    if not isinstance(node, ast.Function):
        p.comma()


def between_members(first: Member, second: Member) -> Break:
    entries = isinstance(first, (ast.ConfigEntry, ast.ToolField)) and isinstance(second, (ast.ConfigEntry, ast.ToolField))
    return KEEP if entries else between_items(first, second)


@prints(ast.ToolField, ast.Slot)
def state(p: Printer, node: ast.ToolField | ast.Slot) -> int:
    if isinstance(node, ast.Slot):
        decorators(p, node.decorators, " ")
    if isinstance(node, ast.Slot) and node.mutable:
        p.token("mut")
        p.pending = " "
    p.name(node.name)
    annotation(p, node.type)
    default(p, node.default)
    return 0


# ---------------------------------------------------------------- pipelines


@prints(ast.Pipeline)
def pipeline(p: Printer, node: ast.Pipeline) -> int:
    begin(p, node)
    keyword(p, "pipeline", node.name)
    if node.parameter is not None:
        p.bracketed("(", [node.parameter], ")", p.node, last="")
    result(p, node.result)
    p.pending = " "
    p.expanded(node.stages, p.node, between_items)
    return 0


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
def store(p: Printer, node: ast.Store) -> int:
    begin(p, node)
    keyword(p, node.kind, node.name)
    annotation(p, node.type)
    default(p, node.value)
    p.semicolon()
    return 0


@prints(ast.Context)
def context(p: Printer, node: ast.Context) -> int:
    begin(p, node)
    keyword(p, "context", node.name)
    p.pending = " "
    p.expanded(node.tiers, p.node, between_tiers)
    return 0


def between_tiers(first: ast.Tier, second: ast.Tier) -> Break:
    return KEEP


@prints(ast.Tier)
def tier(p: Printer, node: ast.Tier) -> int:
    p.token(node.kind)
    p.pending = " "
    return p.braced(node.slots, p.node)
