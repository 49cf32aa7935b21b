"""What an editor asks of a place in a document: what a hover shows, completion, the outline (O-9.25).

Hands on to `server` `hover_at`; `complete` with its `Offer`s and the words for their kinds (METHOD to HANDLE); and `outline` with
its `Entry`s. Offsets are in characters, from 0; positions of the protocol are for `server`. Nothing of the program is changed.
Which names there are is not decided here: they come from the tables of built-ins, the tree, the checker, and from what is
installed. A new kind of declaration needs a row in `SORTS`, and one in `WORDS` unless its node has the word as its `kind`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..compiler.checker.arguments import kind_of
from ..compiler.checker.context_declarations import slots_of
from ..compiler.checker.impls import find_method, methods_of
from ..compiler.checker.operators import error_fields, fields_of
from ..compiler.checker.program import Examined
from ..compiler.checker.state import Checker, private_fields
from ..compiler.checker.tools import tool_of
from ..compiler.checker.trait_calls import bounded_methods, bounded_names, names_through_traits, trait_methods
from ..compiler.diagnostics import Diagnostics
from ..compiler.hints.memory_fields import as_fields
from ..compiler.installed import installed_names, module_names
from ..compiler.libraries import HEAD
from ..compiler.resolver.names import TOOL_NAMES, outermost
from ..compiler.source import Source, Span
from ..compiler.symbols import EnumSymbol, FunctionSymbol, Local, ModuleSymbol, StructSymbol, Symbol, ToolSymbol, VariantSymbol
from ..compiler.syntax import ast
from ..compiler.syntax.lexer import HARD_KEYWORDS, lex
from ..compiler.syntax.parse import parse
from ..compiler.types import Nilable, Nominal, Type
from ..vm.builtins import ASSOCIATED, FUNCTIONS, STD_MODULES, STD_TYPES, Row, lookup, method_names, std_module
from ..vm.memory_steps import BLOCK
from .analysis import Analysis, Occurrence, occurrence_at, path_to

# Hover.

WORDS: dict[type[ast.Node], str] = {
    ast.Struct: "struct", ast.Schema: "schema", ast.Enum: "enum", ast.Trait: "trait", ast.Const: "const",
    ast.TypeAlias: "type", ast.Mcp: "mcp", ast.Tool: "tool", ast.Pipeline: "pipeline", ast.Context: "context",
}  # fmt: skip
LONGEST = 20  # lines of a declaration


def hover_at(analysis: Analysis, offset: int) -> tuple[Span, str] | None:
    """Return the place that a hover is about and its Markdown, None where there is nothing to show. It shows the signature or
    declaration of a name or the type of an expression, of a field of a memory block the forms it has, with the
    documentation."""
    if analysis.tree is not None and (field := _field_of_memory(path_to(analysis.tree, offset))) is not None:
        forms = as_fields(BLOCK[field.text].example.replace("), .", ")\n."))
        return field.span, f"```concerto\n{forms}\n```\n\n{BLOCK[field.text].doc}"
    occurrence = occurrence_at(analysis, offset)
    if occurrence is None:
        return None
    head, doc = _about(occurrence, analysis.project.sources)
    if not head:
        return None
    return occurrence.span, f"```concerto\n{head}\n```" + (f"\n\n{doc.strip()}" if doc else "")


def _field_of_memory(path: list[ast.Node]) -> ast.Ident | None:
    """Return the name of a field of a memory block that `path` leads to, if there is such a field."""
    match path[-3:]:
        case [ast.MemoryBlock(), ast.ConfigEntry(), ast.Ident() as name] if name.text in BLOCK:
            return name
    return None


def _about(occurrence: Occurrence, sources: Mapping[str, Source]) -> tuple[str, str | None]:
    """Return the declaration and the documentation of an occurrence."""
    thing = occurrence.denotes
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
    return (str(occurrence.type) if occurrence.type is not None else ""), None


def row_head(row: Row) -> str:
    """Return the signature of a built-in."""
    if row.receiver_text:
        return f"{row.receiver_text}.{row.text}"
    return f"std::{row.module}::{row.text}" if row.module else f"fn {row.text}"


def head_of(symbol: Symbol, sources: Mapping[str, Source]) -> str:
    """Return the declaration of a symbol as it is written, of functions without the body, of at most LONGEST lines; of a variable
    its name and type, of a module its path; an empty text for what is not written. `sources` are the files of the program by
    name."""
    if isinstance(symbol, Local):
        return f"{'mut ' if symbol.mutable else ''}{symbol.name}: {symbol.type}"
    if isinstance(symbol, ModuleSymbol):
        return f"mod {symbol}"
    if isinstance(symbol, VariantSymbol):
        variant = symbol.enum.declaration.variants[symbol.index]
        return f"{symbol.enum.name}::{_written(sources, variant.span)}"
    node = getattr(symbol, "declaration", None)
    if isinstance(symbol, FunctionSymbol) and symbol.channel is not None:
        return _written(sources, symbol.channel.span)
    if isinstance(node, ast.Function):
        block = node.prompt or node.body
        body = node.omitted if block is None else block.span
        end = body.start if body is not None else node.span.end
        word = "async fn" if node.is_async else "fn"
        written = _written(sources, Span(node.span.file, node.name.span.start, end))
        return f"{word} {written}" if written else ""
    name = getattr(node, "name", None)
    if not isinstance(node, ast.Node) or not isinstance(name, ast.Ident):
        return ""
    word = WORDS.get(type(node)) or str(getattr(node, "kind", ""))
    written = _written(sources, name.span.to(node.span))
    return f"{word} {written}".strip() if written else ""


def doc_of(symbol: Symbol) -> str | None:
    """Return the documentation of a symbol, None for one without and for what is no item and no variant."""
    if isinstance(symbol, VariantSymbol):
        return symbol.enum.declaration.variants[symbol.index].doc
    node = getattr(symbol, "declaration", None)
    return node.doc if isinstance(node, ast.Item) else None


def _written(sources: Mapping[str, Source], span: Span) -> str:
    """Return the source of a span, at most LONGEST lines of it."""
    source = sources.get(span.file)
    if source is None:  # the library's own text
        return ""
    lines = source.text[span.start : span.end].strip().splitlines()
    return "\n".join([*lines[:LONGEST], "…"] if len(lines) > LONGEST else lines)


# What types, modules and enums offer behind `.` and `::`.

METHOD, FIELD, FUNCTION, VARIANT, MODULE, TYPE, VARIABLE, CONSTANT, HANDLE = (
    "method", "field", "function", "variant", "module", "type", "variable", "constant", "handle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Offer:
    """One name that may stand at the place; `kind` is one of the words above, `detail` what is shown beside it in one line, such
    as its signature, `doc` its documentation in Markdown; both may be empty."""

    name: str
    kind: str
    detail: str = ""
    doc: str = ""


def of_row(row: Row, kind: str) -> Offer:
    """Return the offer of a built-in; `kind` is one of the words of Offer."""
    return Offer(row.name, kind, row_head(row), row.doc)


def of_symbol(name: str, symbol: Symbol, kind: str, sources: Mapping[str, Source]) -> Offer:
    """Return the offer of a declaration under `name`; `kind` is one of the words of Offer, `sources` the files of the program."""
    return Offer(name, kind, head_of(symbol, sources).partition("\n")[0], doc_of(symbol) or "")


# ---------------------------------------------------------------- behind a dot


def of_value(c: Checker, receiver: ast.Expr, place: Span) -> list[Offer]:
    """Return what may stand behind the dot of `receiver`, whose type must be known: fields, then methods, those of the program
    before the built-in ones, as far as they are visible at `place`, each name once."""
    type_ = receiver.type
    tool = tool_of(receiver)
    offers = [*_fields(c, type_, place)]
    if tool is not None:
        offers += [of_symbol(m.name, m, METHOD, c.sources) for m in tool.methods if _callable(tool, m)]
    offers += _declared(c, type_, place)
    if not isinstance(type_, Nilable):  # of those only what every value has can be called (L-3.7)
        rows = [lookup(kind_of(type_), name) for name in method_names(kind_of(type_))]
    else:
        rows = [lookup("Any", "to_string")]
    offers += [of_row(row, METHOD) for row in rows if row is not None]
    return once(offers)


def _callable(tool: object, method: FunctionSymbol) -> bool:
    return not isinstance(tool, ToolSymbol) or method in tool.arguments


def _fields(c: Checker, type_: Type, place: Span) -> Iterator[Offer]:
    """Yield the fields of a type that are visible at `place`."""
    for name, slot in (slots_of(c, type_) or {}).items():
        yield Offer(name, FIELD, f"{slot.tier} {name}: {slot.type}")
    if not isinstance(type_, Nominal):
        return
    symbol = c.declared(type_)
    hidden = private_fields(c.modules, symbol, place) if isinstance(symbol, StructSymbol) else frozenset[str]()
    docs = {f.name.text: f.doc or "" for f in symbol.declaration.fields or ()} if isinstance(symbol, StructSymbol) else {}
    types_of_fields = error_fields(type_.name) if type_.kind == "error" else fields_of(c, type_)
    for name, type_of_field in types_of_fields.items():
        if name not in hidden:
            yield Offer(name, FIELD, f"{name}: {type_of_field}", docs.get(name, ""))


def _declared(c: Checker, type_: Type, place: Span) -> Iterator[Offer]:
    """Yield the methods of a type that are visible at `place`: its own, those of its bounds and of traits."""
    for name in methods_of(c, type_):
        method = find_method(c, type_, name)
        if method is not None and _visible(c, method, place):
            yield of_symbol(name, method, METHOD, c.sources)
    for name in dict.fromkeys([*bounded_names(c, type_), *names_through_traits(c, type_, place)]):
        for chosen in (bounded_methods(c, type_, name) or trait_methods(c, type_, name, place))[:1]:
            yield of_symbol(name, chosen.symbol, METHOD, c.sources)


def _visible(c: Checker, method: FunctionSymbol, place: Span) -> bool:
    return method.declaration.public or method.home is None or c.modules.at(place).is_inside(method.home)


# ---------------------------------------------------------------- behind a path


def of_library(path: Sequence[str]) -> list[Offer]:
    """Return what may stand behind `std::` and `std::name::`; `path` are the names behind `std`. Nothing stands behind a module
    that there is not."""
    if not path:
        return [Offer(name, MODULE, f"std::{name}") for name in (*STD_MODULES, "tools")]
    if len(path) > 1:
        return []
    if path[0] == "tools":
        return [Offer(name, HANDLE, f"tool {name}") for name in TOOL_NAMES]
    if path[0] not in STD_MODULES:
        return []
    rows = std_module(path[0])
    return [*(of_row(row, FUNCTION) for row in rows.values()), *(Offer(n, TYPE) for n in STD_TYPES.get(path[0], ()))]


def of_builtin_type(name: str) -> list[Offer]:
    """Return the associated functions of a predeclared type; an empty list for another name."""
    return [of_row(row, FUNCTION) for (owner, _), row in ASSOCIATED.items() if owner == name and owner[:1].isupper()]


def of_module(module: ModuleSymbol, symbols: Sequence[Symbol], sources: Mapping[str, Source]) -> list[Offer]:
    """Return the declarations of a module, those in its blocks too, each name once; methods are left out. `symbols` are all of
    the program."""
    own = [
        s for s in symbols
        if s.home is module and not (isinstance(s, FunctionSymbol) and s.owner is not None) and s.name.isidentifier()
    ]  # fmt: skip
    return once([of_symbol(s.name, s, kind_of_symbol(s), sources) for s in own])


def of_type(c: Checker, symbol: StructSymbol | EnumSymbol) -> list[Offer]:
    """Return the variants of a type, then its own methods and associated functions; those of traits are left out."""
    offers = []
    if isinstance(symbol, EnumSymbol):
        offers = [of_symbol(member.name, member, VARIANT, c.sources) for member in symbol.members]
    names = c.methods.get(symbol.type.unique_name, {}) if isinstance(symbol.type, Nominal) else {}
    return [*offers, *(of_symbol(name, method, FUNCTION, c.sources) for name, method in names.items())]


def kind_of_symbol(symbol: Symbol) -> str:
    """Return the kind of offer of a declaration: one of the words METHOD to HANDLE, VARIABLE for what none fits."""
    node = getattr(symbol, "declaration", None)
    match node:
        case ast.Function():
            return FUNCTION
        case ast.Const():
            return CONSTANT
        case ast.Struct() | ast.Schema() | ast.Enum() | ast.Trait() | ast.TypeAlias() | ast.TypeParameter():
            return TYPE
        case ast.Item():
            return HANDLE
    return MODULE if isinstance(symbol, ModuleSymbol) else VARIABLE


def once(offers: list[Offer]) -> list[Offer]:
    """Return the offers without those whose name an earlier one has, as the inner of two names hides the outer one."""
    first: dict[str, Offer] = {}
    for offer in offers:
        first.setdefault(offer.name, offer)
    return list(first.values())


# Completion.

PLACEHOLDER = "completion_goes_here"
# Of a statement that is not finished, of a call, of a block and of a field.
ENDINGS = ("", ";", "()", "();", ");", " }", "; }", ": nil", ": nil }")
# Both begin where a word begins: a search that began within words would take time that grows with the square of their length.
_BEFORE = re.compile(r"(?<!\w)\w*\Z")
_AFTER = re.compile(r"\w*")
_PATH = re.compile(r"(?<!\w)((?:\w+\s*::\s*)+)\Z")

Analyser = Callable[[str], Analysis]


def complete(text: str, offset: int, analyse: Analyser) -> list[Offer]:
    """Return the offers at an offset of the text, none in a number, a comment or a string, or where nothing can be said of names.
    Text that is being typed rarely parses, so a copy of it gets a name at the cursor, and if need be an ending such as `;`;
    `analyse` returns the analysis of that copy, and what it raises passes through."""
    before, after = _BEFORE.search(text, 0, offset), _AFTER.match(text, offset)
    assert before is not None and after is not None
    start, end = before.start(), after.end()
    # Behind a digit stands the rest of a number, and words complete nothing there.
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
    if (fields := _in_memory_block(path)) is not None:
        return fields
    if isinstance(parent, (ast.FieldAccess, ast.MethodCall)) and parent.name is path[-1]:
        return of_value(analysis.examined.checker, parent.receiver, place) if parent.receiver.type is not None else []
    # A dot without a receiver that could be read: names in scope would be wrong there.
    if text[:start].rstrip().endswith("."):
        return []
    head = _PATH.search(text, 0, start)
    if head is not None:
        return _behind_path(analysis, analysis.examined, [part.strip() for part in head[1].split("::")[:-1]], place)
    return [offer for offer in _names(analysis, analysis.examined, path, place) if offer.name != PLACEHOLDER]


def _in_memory_block(path: list[ast.Node]) -> list[Offer] | None:
    """Return the fields of a memory where the name of a field stands, or the arguments of a field where the name of an argument
    stands; None at any other place."""
    match path:
        case [*_, ast.MemoryBlock() as block, ast.ConfigEntry(), ast.Ident() as name]:
            present = {entry.key.text for entry in block.entries if entry.key is not name}
            open_fields = [field for field, step in BLOCK.items() if step.repeated or field not in present]
            return [Offer(field, FIELD, as_fields(BLOCK[field].example), BLOCK[field].doc) for field in open_fields]
        # The first name in braces still reads as the value of a block.
        case (
            [*_, ast.MemoryBlock(), ast.ConfigEntry() as entry, ast.MapExpr(), ast.MapEntry(), ast.StringLiteral()]
            | [*_, ast.MemoryBlock(), ast.ConfigEntry() as entry, ast.Block(), ast.PathExpr(), ast.Ident()]
        ):
            step = BLOCK.get(entry.key.text)
            return [Offer(label, FIELD, f"{entry.key.text}: {{ {label}: … }}") for label in (step.labels if step else ())]
    return None


def _readable(text: str, start: int, end: int, name: str) -> str:
    """Return the text with `name` in it and the first ending that lets it parse, else without an ending."""
    # The first that parses: the endings are in the order in which they are likely.
    for ending in ENDINGS:
        candidate = text[:start] + name + ending + text[end:]
        diagnostics = Diagnostics()
        parse(Source("", candidate), diagnostics)
        if not diagnostics.has_errors:
            return candidate
    return text[:start] + name + text[end:]


def _in_comment_or_string(text: str, offset: int) -> bool:
    """Return whether a token of text or a comment goes across the offset; a hole of a string does not count."""
    source = Source("", text)
    tokens = lex(source, Diagnostics())
    for comment in tokens.comments:  # one of a line goes on behind its last character
        end = comment.span.end - text.endswith("*/", comment.span.start + 2, comment.span.end)
        if comment.span.start < offset <= end:
            return True
    return any(
        token.type in ("STRING", "ISTR_START", "ISTR_MID", "ISTR_END") and token.start < offset < token.end for token in tokens
    )


# ---------------------------------------------------------------- paths


def _behind_path(analysis: Analysis, examined: Examined, path: list[str], place: Span) -> list[Offer]:
    if path[0] == "std":
        return of_library(path[1:])
    here = examined.checker.modules.at(place)
    if path[0] == HEAD and _walk(examined, path[:1], here) is None:
        return _behind_lib(analysis, examined, path[1:])
    owner = _walk(examined, path, here)
    if isinstance(owner, ModuleSymbol):
        offers = of_module(owner, examined.symbols, analysis.project.sources)
        # From outside a module only its public names can be reached.
        public = {s.name for s in examined.symbols if s.home is owner and _is_public(s)}
        return [o for o in offers if here.is_inside(owner) or o.name in public]
    if isinstance(owner, (StructSymbol, EnumSymbol)):
        return of_type(examined.checker, owner)
    return of_builtin_type(path[-1]) if len(path) == 1 else []


def _behind_lib(analysis: Analysis, examined: Examined, path: list[str]) -> list[Offer]:
    """Return what may stand behind `lib::` and the names of `path`: libraries, then modules and public items of one (P-3.1)."""
    if not path:
        return [Offer(name, MODULE, f"lib::{name}") for name in installed_names()]
    loaded = analysis.project.libraries.get(path[0])
    if loaded is None:
        return []
    offers = [Offer(name, MODULE) for name in module_names(loaded.library)] if len(path) == 1 else []
    for module in examined.checker.modules.files.values():
        if module.path == (HEAD, *path):
            public = {s.name for s in examined.symbols if s.home is module and _is_public(s)}
            offers += [o for o in of_module(module, examined.symbols, analysis.project.sources) if o.name in public]
    return once(offers)


def _is_public(symbol: Symbol) -> bool:
    node = getattr(symbol, "declaration", None)
    return not isinstance(node, ast.Item) or node.public


def _walk(examined: Examined, path: list[str], here: ModuleSymbol) -> Symbol | None:
    """Return what the names before `::` lead to."""
    at: Symbol | None = here
    for number, name in enumerate(path):
        if name == "crate" and number == 0:
            while isinstance(at, ModuleSymbol) and at.home is not None:
                at = at.home
        elif name == "super" and isinstance(at, ModuleSymbol):
            at = at.home
        elif at is None:
            return None  # behind a `super` of the root there is nothing
        elif name != "self" or number:
            at = _member(examined, at, name) or (_anywhere(examined, name) if number == 0 else None)
    return at


def _member(examined: Examined, module: Symbol | None, name: str) -> Symbol | None:
    return next((s for s in examined.symbols if s.name == name and s.home is module and _is_head(s)), None)


def _anywhere(examined: Examined, name: str) -> Symbol | None:
    """Return the declaration of a name that a `use` brought in."""
    return next((s for s in examined.symbols if s.name == name and _is_head(s)), None)


def _is_head(symbol: Symbol) -> bool:
    return isinstance(symbol, (ModuleSymbol, StructSymbol, EnumSymbol))


# ---------------------------------------------------------------- names


def _names(analysis: Analysis, examined: Examined, path: list[ast.Node], place: Span) -> list[Offer]:
    """Return the names in scope, inner ones first."""
    sources = analysis.project.sources
    offers = [of_symbol(local.name, local, VARIABLE, sources) for local in _locals(path, place.start)]
    offers += of_module(examined.checker.modules.at(place), examined.symbols, sources)
    if analysis.tree is not None:
        offers += [Offer(name, VARIABLE, "use") for name in _used(analysis.tree)]
    for name in outermost().names:
        row = FUNCTIONS.get(name)
        offers.append(Offer(name, TYPE) if row is None else of_row(row, FUNCTION))
    return once(offers)


def _locals(path: list[ast.Node], offset: int) -> Iterator[Local]:
    """Yield the locals that the forms around the offset declare before it, inner ones first."""
    for node in reversed(path):
        locals_of_node = [local for child in _declaring(node, offset) for local in _bindings(child)]
        yield from reversed(locals_of_node)


def _declaring(node: ast.Node, offset: int) -> Iterator[ast.Node]:
    """Yield the patterns and parameters of a form whose names are seen inside it."""
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
    pending = [node]
    while pending:
        at = pending.pop()
        binding = getattr(at, "binding", None)
        if isinstance(binding, Local):
            yield binding
        pending += [child for child in at.children() if isinstance(child, (ast.Pattern, ast.FieldPattern))]


def _used(tree: ast.Program) -> Iterator[str]:
    """Yield the names that the imports of a file bring in."""
    pending = [item.tree for item in tree.items if isinstance(item, ast.Use)]
    while pending:
        at = pending.pop()
        pending += at.group or []
        if at.group is None and not at.glob and at.path:
            yield (at.alias or at.path[-1]).text


# The outline.

# What the protocol calls each sort of item.
SORTS: dict[type[ast.Node], str] = {
    ast.Function: "Function", ast.Struct: "Struct", ast.Schema: "Struct", ast.Enum: "Enum", ast.Trait: "Interface",
    ast.Const: "Constant", ast.TypeAlias: "TypeParameter", ast.Module: "Module", ast.Config: "Object", ast.Mcp: "Object",
    ast.Tool: "Class", ast.Pipeline: "Function", ast.Store: "Variable", ast.MemoryBlock: "Variable", ast.Context: "Object",
    ast.Field: "Field", ast.ToolField: "Field", ast.Variant: "EnumMember", ast.Stage: "Method", ast.Slot: "Field",
    ast.Channel: "Function",
}  # fmt: skip


@dataclass(slots=True)
class Entry:
    """One line of the outline; `sort` is what the protocol calls it, `name_span` what an editor selects, `inside` the lines below
    it."""

    name: str
    sort: str
    span: Span
    name_span: Span
    inside: list[Entry] = field(default_factory=list)


def outline(tree: ast.Program) -> list[Entry]:
    """Return the items of a document with what stands in them. Only the tree is needed, so that it works on text with
    errors."""
    return list(_entries(tree.items))


def _entries(nodes: Iterable[ast.Node], inside: str = "") -> Iterator[Entry]:
    for node in nodes:
        if isinstance(node, ast.Impl):
            yield _impl(node)
            continue
        if isinstance(node, ast.Extern):
            yield Entry(f"extern {node.module.value}", "Module", node.span, node.module.span, list(_entries(node.functions)))
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
