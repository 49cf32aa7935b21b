"""The symbols of a document: its items with what stands in them.

Hands on `outline`. Needs the tree only, so that it works on text with errors. Must not know: types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..compiler import ast
from ..compiler.source import Span

# What the protocol calls each sort of item.
SORTS: dict[type[ast.Node], str] = {
    ast.Function: "Function", ast.Struct: "Struct", ast.Schema: "Struct", ast.Enum: "Enum", ast.Trait: "Interface",
    ast.Const: "Constant", ast.TypeAlias: "TypeParameter", ast.Module: "Module", ast.Config: "Object", ast.Mcp: "Object",
    ast.Tool: "Class", ast.Pipeline: "Function", ast.Store: "Variable", ast.Context: "Object", ast.Field: "Field",
    ast.ToolField: "Field", ast.Variant: "EnumMember", ast.Stage: "Method", ast.Slot: "Field",
}  # fmt: skip


@dataclass(slots=True)
class Entry:
    name: str
    sort: str
    span: Span
    name_span: Span
    inside: list[Entry] = field(default_factory=list)


def outline(tree: ast.Program) -> list[Entry]:
    return list(_entries(tree.items))


def _entries(nodes: Iterable[ast.Node], inside: str = "") -> Iterator[Entry]:
    for node in nodes:
        if isinstance(node, ast.Impl):
            yield _impl(node)
            continue
        sort = SORTS.get(type(node))
        name = getattr(node, "name", None)
        if sort is not None and isinstance(name, ast.Ident):
            sort = "Method" if sort == "Function" and inside else sort
            yield Entry(name.text, sort, node.span, name.span, list(_entries(_parts(node), sort)))


def _impl(node: ast.Impl) -> Entry:
    target = node.target.path[-1].text if isinstance(node.target, ast.NamedType) else ""
    trait = f"{node.trait.path[-1].text} for " if isinstance(node.trait, ast.NamedType) else ""
    return Entry(f"impl {trait}{target}", "Class", node.span, node.target.span, list(_entries(node.methods, "Class")))


def _parts(node: ast.Node) -> list[ast.Node]:
    match node:
        case ast.Struct():
            return list(node.fields)
        case ast.Schema():
            return list(node.fields or ())
        case ast.Enum():
            return list(node.variants)
        case ast.Trait():
            return list(node.methods)
        case ast.Tool():
            return [*node.fields, *node.methods]
        case ast.Mcp():
            return list(node.functions)
        case ast.Pipeline():
            return list(node.stages)
        case ast.Context():
            return [slot for tier in node.tiers for slot in tier.slots]
        case ast.Module():
            return list(node.items or ())
    return []
