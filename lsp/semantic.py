"""Semantic tokens: the colour classes of a document, and for its names what the checker knows of them (O-9.25).

Hands on to `server` `tokens`, with the legend `TYPES` and `MODIFIERS`, whose order gives the words their numbers, and `encoded`
and `change`, which turn tokens into the numbers of the protocol. A name of which nothing is known, in broken text too, keeps what
its neighbours make of it. The classes themselves stand in `colours/classes.py`. A new kind of declaration is a row of
OF_DECLARATION.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..colours.classes import CLASSES, pieces
from ..compiler.source import Source
from ..compiler.symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    Local,
    ModuleSymbol,
    StdFunctionSymbol,
    StdModuleSymbol,
    Symbol,
    VariantSymbol,
)
from ..compiler.syntax import ast
from ..vm.builtins import Row
from .analysis import Analysis, Field, named, units

DECLARATION, READONLY, ASYNC, DOCUMENTATION, LIBRARY = STANDARD = (
    "declaration", "readonly", "async", "documentation", "defaultLibrary",
)  # fmt: skip
# Classes that share their type with another one, which an editor may colour apart, as the grammar of TextMate does.
SHADES = ("declaring", "modifier", "constant", "self", "escape", "hole")
MODIFIERS = (*STANDARD, *SHADES)
# Of what a name declares or denotes, by the node that declares it.
OF_DECLARATION: dict[type[ast.Node], str] = {
    ast.Function: "function", ast.Struct: "struct", ast.Schema: "struct", ast.Enum: "enum", ast.Variant: "enumMember",
    ast.Trait: "interface", ast.Const: "variable", ast.TypeAlias: "type", ast.TypeParameter: "typeParameter",
    ast.Module: "namespace", ast.Config: "class", ast.Mcp: "class", ast.Tool: "class", ast.Context: "class",
    ast.Pipeline: "function", ast.Store: "variable", ast.MemoryBlock: "variable", ast.Stage: "method", ast.Field: "property",
    ast.ToolField: "property", ast.Slot: "property", ast.Parameter: "parameter", ast.BindPattern: "variable",
    ast.CatchClause: "variable", ast.RestPattern: "variable",
}  # fmt: skip
# Of a name of which no symbol is known, by the node it stands in.
OF_PLACE: dict[type[ast.Node], str] = {
    ast.ConfigEntry: "property", ast.Argument: "parameter", ast.FieldInit: "property", ast.FieldPattern: "property",
    ast.FieldAccess: "property", ast.MethodCall: "method", ast.Decorator: "decorator", ast.Mock: "class",
    ast.Extern: "namespace",
}  # fmt: skip
FIXED = frozenset((ast.Const, ast.Store, ast.MemoryBlock))  # what cannot be assigned
TYPES = tuple(
    dict.fromkeys([*(row.semantic for row in CLASSES.values() if row.semantic), *OF_DECLARATION.values(), *OF_PLACE.values()])
)
About = tuple[str, tuple[str, ...]]  # type and modifiers
_NAMES = frozenset(("IDENT", "CFGKEY"))
_BEFORE_COLON = re.compile(r"[ \t?]*:")


@dataclass(frozen=True, slots=True)
class Token:
    """A coloured part of the text, by character offsets (half-open), in the answer of `tokens` within one line; `type` and
    `modifiers` are words of the legend."""

    start: int
    end: int
    type: str
    modifiers: tuple[str, ...] = ()


def tokens(analysis: Analysis) -> list[Token]:
    """Return all tokens of a document, in order. What goes over several lines has one on each that is not blank."""
    text = analysis.source.text
    names = _names_by_offset(analysis)
    return [line for token in _whole(text, names) for line in _lines(text, token)]


def _whole(text: str, names: dict[int, About]) -> Iterator[Token]:
    for piece in pieces(text):
        type_ = CLASSES[piece.class_].semantic
        if piece.kind in _NAMES:
            guessed = "property" if piece.class_ == "name" and _BEFORE_COLON.match(text, piece.end) else type_
            by_checker = names.get(piece.start) if piece.class_ != "decorator" else None
            yield Token(piece.start, piece.end, *(by_checker or (guessed, ())))
        elif piece.class_ == "documentation":
            yield Token(piece.start, piece.end, type_, (DOCUMENTATION,))
        elif type_:
            yield Token(piece.start, piece.end, type_, (piece.class_,) if piece.class_ in SHADES else ())


def _lines(text: str, token: Token) -> Iterator[Token]:
    start = token.start
    while start < token.end:
        line_end = text.find("\n", start, token.end)
        end = token.end if line_end < 0 else line_end
        if text[start:end].strip():
            yield Token(start, end - (text[end - 1] == "\r"), token.type, token.modifiers)
        start = end + 1


def _names_by_offset(analysis: Analysis) -> dict[int, About]:
    """Return type and modifiers of the names of the tree by their offsets."""
    names: dict[int, About] = {}
    items = _items_by_name(analysis)
    pending: list[tuple[ast.Node, ast.Node | None]] = [] if analysis.tree is None else [(analysis.tree, None)]
    while pending:
        node, around = pending.pop()
        for child in node.children():
            if isinstance(child, ast.Ident):
                about = _about(analysis, items, child, node, around)
                if about is not None:
                    # A name may stand in two nodes (a shorthand field); the outer one is met first.
                    names.setdefault(child.span.start, about)
            else:
                pending.append((child, node))
    return names


def _items_by_name(analysis: Analysis) -> dict[str, About]:
    """Return type and modifiers of the items by their names, wherever they are declared; of two of one name the first."""
    items: dict[str, About] = {}
    for symbol in analysis.examined.symbols if analysis.examined is not None else ():
        if symbol.name not in items and (about := of_thing(symbol)) is not None:
            items[symbol.name] = about
    return items


def _about(
    analysis: Analysis, items: Mapping[str, About], name: ast.Ident, parent: ast.Node, around: ast.Node | None
) -> About | None:
    """Return type and modifiers of a name, by the node it stands in and the node around that."""
    if isinstance(parent, ast.UseTree):
        return _imported(items, name, parent)
    if name is not _last_of(parent, name):
        return _on_the_way(items, name)
    declares = type(parent) in OF_DECLARATION and getattr(parent, "name", None) is name
    if declares:
        return _declared(parent, around)
    thing = named(analysis, name, parent, around)
    about = of_thing(thing.denotes) if thing is not None and thing.denotes is not None else None
    if about is not None:
        return about
    place = OF_PLACE.get(type(parent))
    return (place, ()) if place else None


def _last_of(parent: ast.Node, name: ast.Ident) -> ast.Ident:
    """Return the segment of a path that the path denotes."""
    path = getattr(parent, "path", None) or getattr(parent, "segments", None)
    member = getattr(parent, "member", None)
    if isinstance(member, ast.Ident):
        return member
    return path[-1] if isinstance(path, list) and any(name is segment for segment in path) else name


def _on_the_way(items: Mapping[str, About], name: ast.Ident) -> About | None:
    """Return the type of a segment that is not the last of its path."""
    if name.text == "std":
        return "namespace", (LIBRARY,)
    return items.get(name.text) or (("type", (LIBRARY,)) if name.text[:1].isupper() else ("namespace", ()))


def _imported(items: Mapping[str, About], name: ast.Ident, tree: ast.UseTree) -> About | None:
    last = tree.group is None and not tree.glob and name is tree.path[-1]
    if not last and name is not tree.alias:
        return _on_the_way(items, name)
    return items.get(tree.path[-1].text)


def _declared(node: ast.Node, around: ast.Node | None) -> About:
    type_ = OF_DECLARATION[type(node)]
    if isinstance(node, ast.Function) and not isinstance(around, (ast.Program, ast.Module, ast.Block)):
        type_ = "method"
    if isinstance(node, ast.BindPattern) and isinstance(node.binding, Local):
        return type_, (DECLARATION, *_of_local(node.binding)[1])
    return type_, (DECLARATION, *_modifiers(node))


def of_thing(thing: Symbol | Row | Field) -> About | None:
    """Return type and modifiers of what a name denotes, None where the table of declarations has nothing to say."""
    match thing:
        case Row():
            return ("method" if thing.receiver_text else "function"), (LIBRARY,)
        case Local():
            return _of_local(thing)
        case VariantSymbol():
            return "enumMember", ()
        case ModuleSymbol() | StdModuleSymbol():
            return "namespace", (LIBRARY,) if isinstance(thing, StdModuleSymbol) else ()
        case StdFunctionSymbol():
            return "function", (LIBRARY,)
        case BuiltinSymbol() | ErrorFamilySymbol():
            return ("type" if thing.name.rpartition("::")[2][:1].isupper() else "function"), (LIBRARY,)
        case FunctionSymbol():
            owned = thing.owner is not None or thing.tool is not None
            return ("method" if owned else "function"), _modifiers(thing.declaration)
    node = thing if isinstance(thing, ast.Node) else getattr(thing, "declaration", None)
    type_ = OF_DECLARATION.get(type(node)) if isinstance(node, ast.Node) else None
    return (type_, _modifiers(node)) if type_ is not None and isinstance(node, ast.Node) else None


def _of_local(local: Local) -> About:
    type_ = "parameter" if isinstance(local.declared_at, ast.Parameter) else "variable"
    return type_, () if local.mutable else (READONLY,)


def _modifiers(node: ast.Node) -> tuple[str, ...]:
    if isinstance(node, ast.Function) and node.is_async:
        return (ASYNC,)
    return (READONLY,) if type(node) in FIXED else ()


# The numbers of the protocol, and what changed between two answers.

_TYPE = {name: number for number, name in enumerate(TYPES)}
_BIT = {name: 1 << number for number, name in enumerate(MODIFIERS)}
FIVE = 5  # numbers of a token: line and character since the one before, length, type, modifiers


def encoded(tokens: Sequence[Token], source: Source, encoding: str) -> list[int]:
    """Return five numbers for each of the tokens, which stand in order: lines and characters since the token before, length,
    type, modifiers. Characters are code units of the encoding, as `units` takes it. KeyError for a word that is not of the
    legend."""
    data: list[int] = []
    line, measured = 0, 0  # the line, and the offset up to which its characters are counted
    for token in tokens:
        at_line = source.position(token.start).line - 1
        if at_line != line:
            measured = source.line_starts[at_line]
        # Counted from the token before, not from the beginning of the line, which may be long.
        characters = units(source.text[measured : token.start], encoding)
        data += [
            at_line - line, characters, units(source.text[token.start : token.end], encoding),
            _TYPE[token.type], sum(_BIT[name] for name in token.modifiers),
        ]  # fmt: skip
        line, measured = at_line, token.start
    return data


def change(before: list[int], after: list[int]) -> tuple[int, int, list[int]] | None:
    """Return at which index of `before` to delete how many numbers, and what to put there; None if nothing changed. Only whole
    tokens are changed, so that a client may count in them. Neither list is changed here."""
    if before == after:
        return None
    shorter = min(len(before), len(after)) // FIVE * FIVE
    start = 0
    while start < shorter and before[start : start + FIVE] == after[start : start + FIVE]:
        start += FIVE
    end = 0
    # The common end must not overlap the common beginning.
    while end < shorter - start and before[len(before) - end - FIVE :][:FIVE] == after[len(after) - end - FIVE :][:FIVE]:
        end += FIVE
    return start, len(before) - end - start, after[start : len(after) - end]
