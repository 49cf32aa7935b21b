"""An open document and the program around it, as far as the compiler understands both, and what stands at a place of it.

Hands on to the other files of this folder `analyse`, which returns an `Analysis`; `path_to`, `occurrence_at`, `named` and
`definition_of`, which are about places and give an `Occurrence` or a `Field`; and `position_at`, `offset_at` and `units`, which
lead between offsets and the positions of the protocol, counted in UTF16 or what else the editor asks for. Offsets are in
characters (code points), from 0. Text that an editor holds comes before what lies on disk. What is shown of all this, and in
which form of the protocol, is for the other files. A program with errors is looked at all the same: what was typed before the
error is still known. What a name in a new kind of node is, is a case of `named`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..compiler.checker.arguments import kind_of
from ..compiler.checker.program import Examined, examine_parts, examine_project
from ..compiler.decisions import BuiltinCall, CallTarget
from ..compiler.diagnostics import Diagnostic, Diagnostics
from ..compiler.incremental import CheckCache
from ..compiler.installed import installed_library
from ..compiler.libraries import attributed, library_path
from ..compiler.project import Location, Project, Refused, load, locate
from ..compiler.source import Source, Span
from ..compiler.symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    Local,
    ModuleSymbol,
    SlotAccess,
    StdFunctionSymbol,
    StructSymbol,
    Symbol,
    VariantSymbol,
)
from ..compiler.syntax import ast
from ..compiler.types import Type
from ..vm.builtins import ASSOCIATED, FUNCTIONS, Row, lookup, std_row


@dataclass(slots=True)
class Analysis:
    """One document: its name in the program (`file`), the absolute path of the program's root, the files (`project`) and all
    `diagnostics` of the program in their order. `examined` is None where nothing can be said about names and types."""

    file: str
    root: str
    project: Project
    diagnostics: list[Diagnostic]
    examined: Examined | None

    @property
    def source(self) -> Source:
        """Return the source of the document."""
        return self.project.sources[self.file]

    @property
    def tree(self) -> ast.Program | None:
        """Return the tree of the document, None after lexical errors."""
        return self.project.trees.get(self.file)

    def path_of(self, file: str) -> str:
        """Return the path of a file of the program on disk; one of a library lies in the environment (P-3.1)."""
        library = self.project.file_libraries.get(file)
        if library is None:
            return os.path.join(self.root, *file.split("/"))
        folder = self.project.libraries[library].library.folder
        return os.path.join(folder, *file.removeprefix(library_path(library) + "/").split("/"))

    @property
    def own(self) -> list[Diagnostic]:
        """Return the diagnostics of the document itself."""
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.span.file == self.file]


def analyse(path: str, text: str, open_texts: Mapping[str, str], cache: CheckCache) -> Analysis:
    """Return the analysis of the document at `path` with this text. In a project it is looked at as a part of its program,
    if it is one. `open_texts` has the texts of other open documents by their real paths; `cache` is that of the server: only
    the document itself is sure to have the bodies of its functions in its tree."""
    location = locate(path)
    texts = {**open_texts, os.path.realpath(path): text}
    entry = _entry(location)
    # A module is checked as its program uses it, so that what it imports and what uses it are known.
    if entry is not None and entry != location.file:
        try:
            whole = _analyse(entry, location, texts, cache)
        except Refused:  # the entry cannot be read: the document stands alone
            whole = None
        if whole is not None and location.file in whole.project.sources:
            whole.file = location.file
            return whole
    return _analyse(location.file, location, texts, cache)


def _entry(location: Location) -> str | None:
    """Return the file of the manifest's entry, relative to the root; None where there is none, or it lies outside of the root, as
    it does for a document of the project that is no part of the entry's program."""
    manifest = location.manifest
    if manifest is None or manifest.entry is None:
        return None
    path = os.path.realpath(os.path.join(manifest.folder, manifest.entry))
    if not os.path.isfile(path) or os.path.commonpath([location.root, path]) != location.root:
        return None
    return os.path.relpath(path, location.root).replace(os.sep, "/")


def _analyse(main: str, location: Location, texts: Mapping[str, str], cache: CheckCache) -> Analysis:
    def read(name: str) -> bytes | None:
        open_text = texts.get(os.path.realpath(os.path.join(location.root, *name.split("/"))))
        return location.read(name) if open_text is None else open_text.encode("utf-8", "replace")

    diagnostics = Diagnostics()
    project = load(main, read(main) or b"", read, diagnostics, cache.parse, installed_library)
    if location.manifest is not None:
        project.configure(location.manifest)
    whole = (location.file,)
    examined = None
    if not project.is_readable:
        cache.give_trees(project, whole)
    elif diagnostics.leave_trees:
        examined = examine_project(project, diagnostics, cache, whole)
    else:
        examined = _examine_broken(project, cache, whole)
    if project.libraries:
        found, diagnostics = diagnostics, Diagnostics()
        for diagnostic in attributed(found.found, project.file_libraries, project.libraries):
            diagnostics.add(diagnostic)
    return Analysis(main, location.root, project, diagnostics.ordered(), examined)


def _examine_broken(project: Project, cache: CheckCache, whole: Collection[str]) -> Examined | None:
    """Return what can still be said of trees with holes, which no phase behind the parser has to accept: whatever happens
    then, the syntax errors are what the user sees."""
    try:
        return examine_parts(project, cache, whole)
    # No phase is built for trees with holes, and an editor must not lose its server to one.
    except Exception:
        return None


# What stands at an offset.

Field = ast.Field | ast.ToolField | ast.Slot


@dataclass(slots=True)
class Occurrence:
    """A name or expression at a place: where it is written, its type, and what it denotes, which is a symbol, a row of the
    built-ins, or the declaration of a field; the latter two are None where they are unknown."""

    span: Span
    type: Type | None = None
    denotes: Symbol | Row | Field | None = None


def path_to(tree: ast.Program, offset: int) -> list[ast.Node]:
    """Return the nodes around an offset, outermost first, `tree` always being the first. Of several children that cover the
    offset the shortest is taken, and one that only ends there last."""
    path: list[ast.Node] = [tree]
    while True:
        inside = [child for child in path[-1].children() if child.span.start <= offset <= child.span.end]
        if not inside:
            return path
        # The shortest of the nodes, and one that begins at the offset before one that ends there.
        path.append(min(inside, key=lambda node: (node.span.end == offset, node.span.end - node.span.start)))


def occurrence_at(analysis: Analysis, offset: int) -> Occurrence | None:
    """Return the name or expression at an offset; None where there is none, or one of which nothing is known."""
    if analysis.tree is None:
        return None
    path = path_to(analysis.tree, offset)
    node = path[-1]
    if isinstance(node, ast.Ident) and len(path) > 1:
        return named(analysis, node, path[-2], path[-3] if len(path) > 2 else None)
    return Occurrence(node.span, node.type) if isinstance(node, ast.Expr) and node.type is not None else None


def named(analysis: Analysis, name: ast.Ident, parent: ast.Node, around: ast.Node | None) -> Occurrence | None:
    """Return what a name is, by the node it stands in (`parent`) and the node around that; None where nothing is known of such a
    place."""
    match parent:
        case ast.PathExpr() | ast.StructExpr():
            return Occurrence(name.span, parent.type, denoted(parent.binding))
        case ast.MethodCall():
            return Occurrence(name.span, parent.type, _method(parent.target))
        case ast.FieldAccess(target=SlotAccess() as access):
            return Occurrence(name.span, parent.type, access.slot.declaration)
        case ast.SlotRef():
            slot = parent.found and parent.found.declaration
            return Occurrence(name.span, None, parent.binding if name is parent.owner else slot)
        case ast.Slot():
            return Occurrence(name.span, None, parent)
        case ast.FieldAccess():
            return Occurrence(name.span, parent.type, _field(analysis, parent.receiver.type, name.text))
        case ast.FieldInit():
            struct = around.binding if isinstance(around, ast.StructExpr) else None
            return Occurrence(name.span, parent.value.type, _field_of(struct, name.text))
        case ast.FieldPattern():
            struct = around.binding if isinstance(around, ast.StructPattern) else None
            return Occurrence(name.span, parent.pattern.type, _field_of(struct, name.text))
        case ast.BindPattern():
            return Occurrence(name.span, parent.type, parent.constant or parent.binding)
        case ast.NamedType() | ast.PathPattern() | ast.TupleStructPattern() | ast.StructPattern():
            return Occurrence(name.span, None, denoted(parent.binding))
        case ast.Parameter() | ast.CatchClause() | ast.RestPattern():
            return Occurrence(name.span, getattr(parent.binding, "type", None), parent.binding)
        case ast.Field() | ast.ToolField():
            return Occurrence(name.span, None, parent)
        case ast.Mock():
            return Occurrence(name.span, None, parent.target)
        case ast.Item():
            return Occurrence(name.span, None, parent.symbol)
    return None


def denoted(symbol: Symbol | None) -> Symbol | Row | None:
    """Return a predeclared name as its row, if it has one; other symbols, and None, as they are."""
    match symbol:
        case BuiltinSymbol():
            owner, _, member = symbol.name.rpartition("::")
            return (ASSOCIATED.get((owner, member)) if owner else FUNCTIONS.get(member)) or symbol
        case StdFunctionSymbol():
            return std_row(symbol.module, symbol.name) or symbol
    return symbol


def _method(target: CallTarget | None) -> Symbol | Row | None:
    """Return what a call calls."""
    if isinstance(target, BuiltinCall):
        return lookup(target.receiver_kind, target.name) if target.receiver_kind else FUNCTIONS.get(target.name)
    function = getattr(target, "function", None)
    return function if isinstance(function, Symbol) else None


def _field(analysis: Analysis, receiver: Type | None, name: str) -> Field | Row | None:
    """Return the declaration of a field of a value of this type, else the row of a method of this name."""
    if analysis.examined is None or receiver is None:
        return None
    declared = _field_of(analysis.examined.checker.declared(receiver), name)
    return declared or lookup(kind_of(receiver), name)


def _field_of(struct: object, name: str) -> Field | None:
    if not isinstance(struct, StructSymbol):
        return None
    return next((field for field in struct.declaration.fields or () if field.name.text == name), None)


def definition_of(occurrence: Occurrence) -> Span | None:
    """Return where the name is declared, None for what is built in or unknown. The place may be in a text of the library, which
    is no file of the program."""
    thing = occurrence.denotes
    if isinstance(thing, (ast.Field, ast.ToolField, ast.Slot)):
        return thing.name.span
    if thing is None or isinstance(thing, (Row, BuiltinSymbol, ErrorFamilySymbol)):
        return None
    return _declaration(thing)


def _declaration(symbol: Symbol) -> Span | None:
    """Return the place of a symbol's declaration."""
    match symbol:
        case ModuleSymbol():
            return Span(symbol.file, 0, 0)
        case VariantSymbol():
            return symbol.enum.declaration.variants[symbol.index].name.span
        case Local():
            place: ast.Node | None = symbol.declared_at
        case _:
            place = getattr(symbol, "declaration", None)
    name = getattr(place, "name", None)
    return name.span if isinstance(name, ast.Ident) else place.span if isinstance(place, ast.Node) else None


# Offsets in code points against lines and characters as editors count them.

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"


def units(text: str, encoding: str) -> int:
    """Return how many code units a text has in an encoding: UTF8, UTF32, or else UTF16."""
    if encoding == UTF8:
        return len(text.encode("utf-8", "replace"))
    if encoding == UTF32 or text.isascii():
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)


def position_at(source: Source, offset: int, encoding: str) -> tuple[int, int]:
    """Return the line and character of an offset, both from 0. A character is a code unit of the agreed encoding, UTF-16 unless
    client and server agreed on another. Lines end at LF, as in `Source`. An offset outside of the text counts as its beginning or
    end."""
    offset = max(0, min(offset, len(source.text)))
    line = source.position(offset).line
    start = source.line_starts[line - 1]
    return line - 1, units(source.text[start:offset], encoding)


def offset_at(source: Source, line: int, character: int, encoding: str) -> int:
    """Return the offset of a position, whose line and character count from 0 as those of `position_at`. Behind the end of a line
    or text it is that end, inside a character its beginning."""
    if line >= len(source.line_starts):
        return len(source.text)
    start = source.line_starts[line]
    text = source.line_text(line + 1)
    seen = 0
    # Code points of two units are passed as a whole.
    for at, one in enumerate(text):
        seen += units(one, encoding)
        if seen > character:
            return start + at
    return start + len(text)
