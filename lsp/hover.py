"""What a hover shows: the signature or declaration of a name, the type of an expression, and their documentation.

Hands on `hover_at` and `head_of`. Must not know: how Markdown becomes a box.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..compiler import ast
from ..compiler.source import Source, Span
from ..compiler.symbols import Local, ModuleSymbol, Symbol, VariantSymbol
from ..vm.builtins import Row
from .analysis import Analysis
from .places import Found, found_at

WORDS: dict[type[ast.Node], str] = {
    ast.Struct: "struct", ast.Schema: "schema", ast.Enum: "enum", ast.Trait: "trait", ast.Const: "const",
    ast.TypeAlias: "type", ast.Mcp: "mcp", ast.Tool: "tool", ast.Pipeline: "pipeline", ast.Context: "context",
}  # fmt: skip
LONGEST = 20  # lines of a declaration


def hover_at(analysis: Analysis, offset: int) -> tuple[Span, str] | None:
    """The place and its Markdown."""
    found = found_at(analysis, offset)
    if found is None:
        return None
    head, doc = _about(found, analysis.project.sources)
    if not head:
        return None
    return found.span, f"```concerto\n{head}\n```" + (f"\n\n{doc.strip()}" if doc else "")


def _about(found: Found, sources: Mapping[str, Source]) -> tuple[str, str | None]:
    thing = found.denotes
    if isinstance(thing, Row):
        return row_head(thing), thing.doc
    if isinstance(thing, (ast.Field, ast.ToolField)):
        return _written(sources, thing.name.span.to(thing.span)), thing.doc
    if isinstance(thing, ast.Slot):
        return _written(sources, thing.span), None
    if isinstance(thing, Symbol):
        head = head_of(thing, sources)
        if head:
            return head, doc_of(thing)
    return (str(found.type) if found.type is not None else ""), None


def row_head(row: Row) -> str:
    if row.receiver_text:
        return f"{row.receiver_text}.{row.text}"
    return f"std::{row.module}::{row.text}" if row.module else f"fn {row.text}"


def head_of(symbol: Symbol, sources: Mapping[str, Source]) -> str:
    """The declaration as it is written, of functions without the body; nothing for what is not written."""
    if isinstance(symbol, Local):
        return f"{'mut ' if symbol.mutable else ''}{symbol.name}: {symbol.type}"
    if isinstance(symbol, ModuleSymbol):
        return f"mod {symbol}"
    if isinstance(symbol, VariantSymbol):
        variant = symbol.enum.declaration.variants[symbol.index]
        return f"{symbol.enum.name}::{_written(sources, variant.span)}"
    node = getattr(symbol, "declaration", None)
    if isinstance(node, ast.Function):
        end = node.body.span.start if node.body is not None else node.span.end
        word = "async fn" if node.is_async else "fn"
        return f"{word} {_written(sources, Span(node.span.file, node.name.span.start, end))}"
    name = getattr(node, "name", None)
    if not isinstance(node, ast.Node) or not isinstance(name, ast.Ident):
        return ""
    word = WORDS.get(type(node)) or str(getattr(node, "kind", ""))
    return f"{word} {_written(sources, name.span.to(node.span))}".strip()


def doc_of(symbol: Symbol) -> str | None:
    if isinstance(symbol, VariantSymbol):
        return symbol.enum.declaration.variants[symbol.index].doc
    node = getattr(symbol, "declaration", None)
    return node.doc if isinstance(node, ast.Item) else None


def _written(sources: Mapping[str, Source], span: Span) -> str:
    source = sources.get(span.file)
    if source is None:  # the library's own text
        return ""
    lines = source.text[span.start : span.end].strip().splitlines()
    return "\n".join([*lines[:LONGEST], "…"] if len(lines) > LONGEST else lines)
