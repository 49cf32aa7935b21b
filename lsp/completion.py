"""Completion: what may be written at an offset.

Text that is being typed rarely parses, so a copy of it gets a name at the cursor, and if need be a `;`, and is then looked at
like any other. Hands on `complete`. Must not know: how editors show offers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..compiler import ast
from ..compiler.checker import Examined
from ..compiler.diagnostics import Diagnostics
from ..compiler.lexer import lex
from ..compiler.parse import parse
from ..compiler.resolver.predeclared import outermost
from ..compiler.source import Source, Span
from ..compiler.symbols import EnumSymbol, Local, ModuleSymbol, StructSymbol, Symbol
from ..compiler.tokens import HARD_KEYWORDS
from ..vm.builtins import FUNCTIONS
from . import members
from .analysis import Analysis
from .members import Offer
from .places import path_to

PLACEHOLDER = "completion_goes_here"
ENDINGS = ("", ";", "()", "();", ");", " }", "; }")  # of a statement that is not finished, of a call and of a block
_BEFORE = re.compile(r"\w*\Z")
_AFTER = re.compile(r"\w*")
_PATH = re.compile(r"((?:\w+\s*::\s*)+)\Z")

Analyser = Callable[[str], Analysis]


def complete(text: str, offset: int, analyse: Analyser) -> list[Offer]:
    """Offers at the offset of the text; `analyse` looks at a text in place of it."""
    before, after = _BEFORE.search(text, 0, offset), _AFTER.match(text, offset)
    assert before is not None and after is not None
    start, end = before.start(), after.end()
    if text[start : start + 1].isdigit() or _in_comment_or_string(text, start):
        return []
    name = text[start:end] or PLACEHOLDER
    if name in HARD_KEYWORDS:  # the beginning of a longer name
        name += "_"
    analysis = analyse(_readable(text, start, end, name))
    if analysis.examined is None or analysis.tree is None:
        return []
    place = Span(analysis.file, start, start + len(name))
    path = path_to(analysis.tree, start)
    parent = path[-2] if len(path) > 1 else None
    if isinstance(parent, (ast.FieldAccess, ast.MethodCall)) and parent.name is path[-1]:
        return members.of_value(analysis.examined.checker, parent.receiver, place) if parent.receiver.type is not None else []
    if text[:start].rstrip().endswith("."):
        return []
    head = _PATH.search(text, 0, start)
    if head is not None:
        return _behind_path(analysis, analysis.examined, [part.strip() for part in head[1].split("::")[:-1]], place)
    return [offer for offer in _names(analysis, analysis.examined, path, place) if offer.name != PLACEHOLDER]


def _readable(text: str, start: int, end: int, name: str) -> str:
    """The text with `name` in it and the first ending that lets it parse, else without one."""
    for ending in ENDINGS:
        tried = text[:start] + name + ending + text[end:]
        found = Diagnostics()
        parse(Source("", tried), found)
        if not found.has_errors:
            return tried
    return text[:start] + name + text[end:]


def _in_comment_or_string(text: str, offset: int) -> bool:
    """Whether a token of text or a comment goes across the offset; a hole of a string does not count."""
    source = Source("", text)
    tokens = lex(source, Diagnostics())
    if any(comment.span.start < offset <= comment.span.end for comment in tokens.comments):
        return True
    return any(
        token.type in ("STRING", "ISTR_START", "ISTR_MID", "ISTR_END") and token.start < offset < token.end for token in tokens
    )


# ---------------------------------------------------------------- paths


def _behind_path(analysis: Analysis, examined: Examined, path: list[str], place: Span) -> list[Offer]:
    if path[0] == "std":
        return members.of_library(path[1:])
    here = examined.checker.modules.at(place)
    found = _walk(examined, path, here)
    if isinstance(found, ModuleSymbol):
        offers = members.of_module(found, examined.symbols, analysis.project.sources)
        public = {s.name for s in examined.symbols if s.home is found and _is_public(s)}
        return [o for o in offers if here.is_inside(found) or o.name in public]
    if isinstance(found, (StructSymbol, EnumSymbol)):
        return members.of_type(examined.checker, found)
    return members.of_builtin_type(path[-1]) if len(path) == 1 else []


def _is_public(symbol: Symbol) -> bool:
    node = getattr(symbol, "declaration", None)
    return not isinstance(node, ast.Item) or node.public


def _walk(examined: Examined, path: list[str], here: ModuleSymbol) -> Symbol | None:
    """What the names before `::` lead to."""
    at: Symbol | None = here
    for number, name in enumerate(path):
        if name == "crate" and number == 0:
            while isinstance(at, ModuleSymbol) and at.home is not None:
                at = at.home
        elif name == "super" and isinstance(at, ModuleSymbol):
            at = at.home
        elif name != "self" or number:
            at = _member(examined, at, name) or (_anywhere(examined, name) if number == 0 else None)
    return at


def _member(examined: Examined, module: Symbol | None, name: str) -> Symbol | None:
    return next((s for s in examined.symbols if s.name == name and s.home is module and _is_head(s)), None)


def _anywhere(examined: Examined, name: str) -> Symbol | None:
    """A name that a `use` brought in."""
    return next((s for s in examined.symbols if s.name == name and _is_head(s)), None)


def _is_head(symbol: Symbol) -> bool:
    return isinstance(symbol, (ModuleSymbol, StructSymbol, EnumSymbol))


# ---------------------------------------------------------------- names


def _names(analysis: Analysis, examined: Examined, path: list[ast.Node], place: Span) -> list[Offer]:
    """Names in scope, inner ones first."""
    sources = analysis.project.sources
    offers = [members.of_symbol(local.name, local, members.VARIABLE, sources) for local in _locals(path, place.start)]
    offers += members.of_module(examined.checker.modules.at(place), examined.symbols, sources)
    if analysis.tree is not None:
        offers += [Offer(name, members.VARIABLE, "use") for name in _used(analysis.tree)]
    for name in outermost().names:
        row = FUNCTIONS.get(name)
        offers.append(Offer(name, members.TYPE) if row is None else members.of_row(row, members.FUNCTION))
    return members.once(offers)


def _locals(path: list[ast.Node], offset: int) -> Iterator[Local]:
    """The locals that the forms around the offset declare before it, inner ones first."""
    for node in reversed(path):
        found = [local for child in _declaring(node, offset) for local in _bindings(child)]
        yield from reversed(found)


def _declaring(node: ast.Node, offset: int) -> Iterator[ast.Node]:
    """Patterns and parameters of a form whose names are seen inside it."""
    match node:
        case ast.Block():
            yield from (s.pattern for s in node.statements if isinstance(s, ast.Let) and s.span.end <= offset)
        case ast.Function() | ast.Closure() | ast.Stage():
            yield from node.parameters
        case ast.For() | ast.ParallelFor() | ast.MatchArm() | ast.ListenHandler():
            yield node.pattern
        case ast.CatchClause():
            yield node


def _bindings(node: ast.Node) -> Iterator[Local]:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        binding = getattr(at, "binding", None)
        if isinstance(binding, Local):
            yield binding
        waiting += [child for child in at.children() if isinstance(child, (ast.Pattern, ast.FieldPattern))]


def _used(tree: ast.Program) -> Iterator[str]:
    """The names that the imports of a file bring in."""
    waiting = [item.tree for item in tree.items if isinstance(item, ast.Use)]
    while waiting:
        at = waiting.pop()
        waiting += at.group or []
        if at.group is None and not at.glob and at.path:
            yield (at.alias or at.path[-1]).text
