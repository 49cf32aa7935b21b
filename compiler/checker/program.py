"""Static checking: names, types, coercions, control flow, declarations (L-3, L-4).

`check_project` resolves and checks a program, annotates its trees and returns a `CheckedProgram` to the pipeline, which gives it
to the code generator; the API reads interfaces from it. `check` does so for one file: the code generator calls it for built-in
methods that are written in the language. `examine_project` and `examine_parts` return an `Examined`, which has the state of the
check as well, for the language server. What is wrong with a program is reported to the `Diagnostics` that are given, at lines of
its manifest to those of the manifest, and not raised. `c` is the state of the check, of which each pass fills a part. No file is
read here, a `Project` comes with its trees parsed, and no code is made. The order of the passes is here: all types and
signatures, then values of declarations, then bodies, then what needs all bodies. A new kind of declaration is a row of
`declaration_kinds.py` and one of `declaration_checks.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ...vm.builtins import METHODS
from ...vm.providers import PREDECLARED, PROVIDERS, TWO_ACCOUNTS, two_accounts
from ..declaration_kinds import KINDS
from ..diagnostics import Diagnostics
from ..fields import is_carried
from ..hints.names import did_you_mean, limited_patience, listed
from ..libraries import Loaded
from ..project import Project
from ..resolver.program import resolve, unused_locals
from ..resolver.state import Module
from ..source import Source, Span
from ..symbols import (
    AgentSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    FunctionSymbol,
    ImplSymbol,
    IndexSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    Offering,
    PipelineSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
)
from ..syntax import ast
from ..syntax.ast import on_fresh_stack
from ..types import Implementation, Nominal, Type
from . import calls, control, expressions, functions, methods, operators, propagation, state
from .connections import connection_help
from .context_declarations import (
    check_stored_names,
    declare_contexts,
)
from .declaration_checks import TooDeep, run_pass
from .declarations import check_constants, check_cycles, check_defaults, declare_types
from .decorators import check_decorators
from .exhaustiveness import MOST_STEPS
from .impls import check_trait_impls, declare_impls, declare_traits
from .memory_attachments import check_concurrent_memories
from .memory_calls import check_init
from .memory_effects import check_computed_bounds, check_step_functions, check_stored_changes
from .models import RULES as AGENT_RULES
from .prompts import check_text_as_prompt
from .propagation import warn_foreign_value
from .questions import check_channel_names, is_question
from .schemas import declare_schema
from .state import Checker, ModuleMap
from .tools import check_wire_names
from .types import check_pending_bounds, fill_partials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incremental import CheckCache, Reuse
    from ..manifest import Manifest


S = TypeVar("S", bound=Symbol)


@dataclass(slots=True)
class CheckedProgram:
    """The declarations of a program by kind, as the code generator takes them. `program` is the tree of the root module's file.
    The lists of symbols are in the order of modules, then of the source; nested items stand among the others, but tools made of
    functions, and their states, come last, in `structs` followed by the types that are made of others for parts of replies
    (`Partial<T>`). `init`: the initialisation statements, each with its module's rank. `promised`: methods of traits without
    body; `implementations`: impls of traits, as their traits know them. `declarations`: by class of symbol, those of `KINDS`.
    `libraries`: those that it uses, by name; `file_libraries`: the library of each of their files."""

    program: ast.Program
    functions: list[FunctionSymbol] = field(default_factory=list)
    promised: list[FunctionSymbol] = field(default_factory=list)
    implementations: list[tuple[Implementation, ImplSymbol]] = field(default_factory=list)
    model_types: dict[ModelSymbol, Type] = field(default_factory=dict)  # of models with impls
    tool_types: dict[ToolSymbol, Type] = field(default_factory=dict)  # of tools that implement traits
    structs: list[StructSymbol] = field(default_factory=list)
    schemas: list[StructSymbol] = field(default_factory=list)
    enums: list[EnumSymbol] = field(default_factory=list)
    consts: list[ConstSymbol] = field(default_factory=list)
    declarations: dict[type[Symbol], list[Any]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    manifest: dict[str, dict[str, object]] = field(default_factory=dict)  # connections only Concerto.toml declares
    init: list[tuple[int, ast.InitStatement]] = field(default_factory=list)
    main: FunctionSymbol | None = None
    libraries: Mapping[str, Loaded] = field(default_factory=dict)
    file_libraries: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: type[S]) -> list[S]:
        """Return the declarations whose symbols are of one class of `KINDS`. KeyError for another class."""
        return self.declarations[kind]


# Tables of the manifest that are complete only with what the program declares: connections, embedders and default steps (O-1.2,
# M-10.16, M-9.24). Their diagnostics stand at lines of the manifest.

BASE_URL = 'write `base_url = "https://api.example.com/v1"`'


def check_tables(c: Checker, manifest: Manifest, symbols: Sequence[Symbol], main: str) -> None:
    """Check the tables of the manifest and report what is wrong at its lines (E4001 to E4003, E4006, E4508); the memories,
    indexes and connections of the program must have been checked. `main` is the name of the program's file without its
    folder."""
    declared = {symbol.name: symbol.fields for symbol in symbols if isinstance(symbol, ConnectionSymbol)}
    sound = not manifest.diagnostics.has_errors  # a field with an error is not among the fields
    for name, fields in manifest.connections.items():
        _check_connection(manifest, name, fields, declared.get(name), sound)
    # Another file of the project than the entry need not hold what the entry declares, but for what it uses.
    is_entry = manifest.entry is None or manifest.entry.rpartition("/")[2] == main
    steps = [symbol.steps for symbol in symbols if isinstance(symbol, MemorySymbol) and symbol.steps]
    used = [by_name["embed"]["embed"].get("name") for by_name in steps if isinstance(by_name.get("embed", {}).get("embed"), dict)]
    used += [symbol.embedder.get("name") for symbol in symbols if isinstance(symbol, IndexSymbol) and symbol.embedder]
    for name, fields in manifest.memory_tables.embedders.items():
        if is_entry or name in used:
            _check_embedder(c, manifest, name, fields.get("connection"), declared)
    summarises = c.memory_defaults.get("summary", {}).get("summary", {}).get("model")
    if isinstance(summarises, str) and (is_entry or any(_model_of(by_name) == summarises for by_name in steps)):
        models = [symbol.name for symbol in symbols if isinstance(symbol, ModelSymbol)]
        help = did_you_mean(summarises, models) or listed("models", models) or f"declare `model {summarises} {{ … }}`"
        message = f"`summary` of [memory.defaults]: the program has no model `{summarises}`"
        manifest.report("E4508", ("memory", "summary"), message, help)


def _model_of(steps: Mapping[str, Mapping[str, Any]]) -> object:
    """Return the model of the step `summary`: its symbol, or its name where the program has no such model; None without the
    step."""
    summary = steps.get("summary", {}).get("summary")
    return summary.get("model") if isinstance(summary, dict) else None


def with_models(defaults: Mapping[str, dict[str, Any]], symbols: Sequence[Symbol]) -> dict[str, dict[str, Any]]:
    """Return the default steps of memories with the symbol of the model that summarises, if the program has it (M-9.24)."""
    summary = defaults.get("summary", {}).get("summary", {})
    named = [symbol for symbol in symbols if isinstance(symbol, ModelSymbol) and symbol.name == summary.get("model")]
    if not named:
        return dict(defaults)
    return {**defaults, "summary": {"summary": {**summary, "model": named[0]}}}


def _check_connection(
    manifest: Manifest, name: str, fields: Mapping[str, object], declared: Mapping[str, object] | None, sound: bool
) -> None:
    """Check one connection of the manifest; what a declaration of that name lacks is reported at the declaration."""
    where, place = f"[connections.{name}]", ("connections", name)
    # The manifest wins over the declaration, and both over what is predeclared (O-1.2).
    known = {**PREDECLARED.get(name, {}), **(declared or {}), **fields}
    provider = known.get("provider")
    judged = sound and declared is None
    if provider is None and judged:
        help = f'write `provider = "openai"`; providers are {", ".join(PROVIDERS)}'
        manifest.report("E4002", place, f"{where} lacks `provider`, and no `connect {name}` gives it", help)
    row = PROVIDERS.get(str(provider))
    if row is not None and row.needs_base_url and not known.get("base_url") and judged:
        manifest.report("E4002", place, f"{where} lacks `base_url`, which a {provider} provider needs", BASE_URL)
    if row is not None and declared is None and two_accounts(row, known) is not None:
        manifest.report("E4001", place, f"{where} {TWO_ACCOUNTS}", "keep one of them")
    for key in fields:
        if not is_carried(key, provider):
            message = f"`{key}` of {where} is not carried by provider `{provider}`"
            manifest.report("E4006", (*place, key), message, "remove it")


def _check_embedder(
    c: Checker, manifest: Manifest, name: str, connection: object, declared: Mapping[str, object]
) -> None:
    if isinstance(connection, str) and connection not in (*PREDECLARED, *declared, *manifest.connections):
        place = ("embedders", name, "connection")
        manifest.report("E4003", place, f"unknown connection `{connection}`", connection_help(c, connection))


# The check of a program.

RULES = {
    **expressions.RULES,
    **expressions.STRUCT_RULES,
    **operators.RULES,
    **operators.PLACE_RULES,
    **calls.RULES,
    **methods.RULES,
    **control.RULES,
    **propagation.RULES,
    **functions.RULES,
    **functions.TASK_RULES,
    **AGENT_RULES,
    **state.RULES,
}


# Called by `Checker.coerce` for each value that goes where another type is expected; they only warn.
LINTS = (warn_foreign_value, check_text_as_prompt)
# Names of the built-in methods that may change their receiver.
MUTATING = frozenset(row.name for row in METHODS.values() if row.mut)


def check(program: ast.Program, source: Source, diagnostics: Diagnostics) -> CheckedProgram:
    """Check a program of one parsed file and return its declarations, as `check_project` does; what is wrong goes to
    `diagnostics`."""
    return check_project(Project.single(program, source), diagnostics)


class Examined(NamedTuple):
    """A check that a language server goes on to ask: the state, everything declared (modules last), and what the code generator
    would take."""

    checker: Checker
    symbols: list[Symbol]
    checked: CheckedProgram


def check_project(project: Project, diagnostics: Diagnostics, cache: CheckCache | None = None) -> CheckedProgram:
    """Check the parsed files of a program, annotate their trees, report what is wrong to `diagnostics`, and return the
    declarations. After an error, and with a cache, the result is incomplete and must not be compiled."""
    examined = examine_project(project, diagnostics, cache)
    return CheckedProgram(project.trees[project.main], init=[]) if examined is None else examined.checked


def examine_project(
    project: Project, diagnostics: Diagnostics, cache: CheckCache | None = None, whole: Collection[str] = ()
) -> Examined | None:
    """Check the parsed files of a program and return the state of the check too; None if a declaration or a type nests too
    deeply (E0114). With the cache that has parsed them the bodies are left out whose outcome it knows, but none of the files
    `whole`; it sets new trees in the project, without those bodies."""
    if cache is None:
        return _attempt(project, diagnostics, None)
    return cache.examine(project, diagnostics, whole, lambda reports, reuse: _attempt(project, reports, reuse))


def examine_parts(project: Project, cache: CheckCache, whole: Collection[str]) -> Examined | None:
    """Check all declarations of a program that the cache has parsed, and of its bodies those in the files `whole`, in files with
    syntax errors, and those that cannot be left out; report nothing but mistakes of the manifest, to itself. Return as
    `examine_project`. The cache sets new trees in the project for this. Trees of a text that does not parse have holes, which no
    phase has to accept: then any exception may be raised."""
    return cache.examine_only(project, whole, lambda reports, reuse: _attempt(project, reports, reuse))


def _attempt(project: Project, diagnostics: Diagnostics, reuse: Reuse | None) -> Examined | None:
    try:
        # Looking for near names costs most in programs with many mistakes: after a time the short help must do.
        with limited_patience():
            return on_fresh_stack(_check, project, diagnostics, reuse)
    except TooDeep as deep:
        node = deep.symbol.declaration
        message = f"`{deep.symbol.name}` nests too deeply, or what it is made of does"
        diagnostics.report("E0114", node.name.span, message, help="split it up")
        return None
    except RecursionError:  # of a walk over a declared type; trees are walked by levels
        diagnostics.report("E0114", Span(project.main, 0, 0), "a type of the program nests too deeply", help="split the type up")
        return None


def _check(project: Project, diagnostics: Diagnostics, reuse: Reuse | None) -> Examined:
    module = resolve(project, diagnostics, reuse)
    c = Checker(project.sources, diagnostics, RULES, MUTATING, LINTS)
    c.reuse = reuse
    c.modules = ModuleMap(project, module.modules)
    c.connections = [symbol.name for symbol in module.symbols if isinstance(symbol, ConnectionSymbol)]
    c.mockable = [s.name for s in module.symbols if isinstance(s, (ModelSymbol, AgentSymbol, ToolSymbol))]
    c.tool_sources = [symbol for symbol in module.symbols if isinstance(symbol, Offering)]
    c.questions = {symbol.name for symbol in module.symbols if is_question(symbol)}
    c.agents = project.agents
    c.manifest = project.connections
    c.servers = project.servers
    blocks = [s.declaration.span for s in module.symbols if isinstance(s, MemorySymbol) and s.declaration.block is not None]
    c.memory_blocks = sorted((span.file, span.start, span.end) for span in blocks)
    c.memory_tables = project.memory_tables
    c.memory_defaults = with_models(project.memory_tables.defaults, module.symbols)
    c.reply = module.reply
    c.progress = module.progress
    c.main = module.main if isinstance(module.main, FunctionSymbol) else None
    for symbol in module.symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)):
            assert isinstance(symbol.type, Nominal)
            c.nominals[symbol.type.unique_name] = symbol
        elif isinstance(symbol, ContextSymbol):
            c.contexts[symbol.type.unique_name] = symbol
    _declare(c, module)
    fill_partials(c)
    _check_declarations(c, module)
    if project.manifest is not None:
        check_tables(c, project.manifest, module.symbols, project.main.rpartition("/")[2])
    run_pass(c, module.symbols, lambda row: row.body)
    # What follows needs every body: which functions ask the host, and which slots they change.
    check_step_functions(c)
    check_computed_bounds(c)
    check_stored_changes(c)
    check_stored_names(c, [symbol for symbol in module.symbols if isinstance(symbol, MemorySymbol)])
    check_concurrent_memories(c)
    # Last, as the marks of reading and changing are set by all the passes before.
    unused = unused_locals(module, diagnostics.found, project.sources)
    if reuse is not None:
        reuse.note_tightness(c, MOST_STEPS)
        reuse.unused = [warning for warning in unused if warning.span.file not in reuse.records]
    elif not diagnostics.has_errors:
        for warning in unused:
            diagnostics.add(warning)
    return Examined(c, [*module.symbols, *module.modules], _checked(c, project, module))


def _declare(c: Checker, module: Module) -> None:
    """Give all types and signatures, before any body or value is checked: they may name each other in any order."""
    declare_types(c, module.symbols)
    declare_contexts(c, module.symbols)
    for symbol in module.symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
            declare_schema(c, symbol, symbol.declaration)
    declare_traits(c, module.symbols, module.traits, module.impls)
    declare_impls(c, module.impls)
    # From here on all impls are known.
    check_pending_bounds(c)
    check_cycles(c, module.symbols)
    run_pass(c, module.symbols, lambda row: row.signature)
    check_trait_impls(c)


def _check_declarations(c: Checker, module: Module) -> None:
    check_constants(c, module.symbols)
    check_defaults(c, module.symbols)
    for decorators, place in module.decorated:
        check_decorators(c, decorators, place)
    run_pass(c, module.symbols, lambda row: row.values)
    # Tools and servers before models, which name them, and together, since their names for models must differ.
    run_pass(c, module.symbols, lambda row: row.offer)
    tools = [symbol for symbol in module.symbols if isinstance(symbol, ToolSymbol)]
    servers = [symbol for symbol in module.symbols if isinstance(symbol, McpSymbol)]
    check_wire_names(c, [*tools, *servers])
    check_channel_names(c, [symbol for symbol in module.symbols if isinstance(symbol, FunctionSymbol)])
    run_pass(c, module.symbols, lambda row: row.uses)
    for home, statement in module.inits:
        check_init(c, statement, home)


def _checked(c: Checker, project: Project, module: Module) -> CheckedProgram:
    checked = CheckedProgram(project.trees[project.main], init=[(home.rank, statement) for home, statement in module.inits])
    checked.libraries, checked.file_libraries = project.libraries, project.file_libraries
    for symbol in module.symbols:
        match symbol:
            case FunctionSymbol(declaration=ast.Function(body=None)):
                checked.promised.append(symbol)
            case FunctionSymbol():
                checked.functions.append(symbol)
            case StructSymbol(declaration=ast.Schema()):
                if symbol is not c.reply or c.reply_used:
                    checked.schemas.append(symbol)
            case StructSymbol():
                checked.structs.append(symbol)
            case EnumSymbol():
                checked.enums.append(symbol)
            case ConstSymbol():
                checked.consts.append(symbol)
        if type(symbol) in KINDS:
            checked.declarations[type(symbol)].append(symbol)
        if isinstance(symbol, PipelineSymbol):
            checked.functions.extend(symbol.stages)
    checked.declarations[ToolSymbol] += c.offers
    checked.structs += [tool.state for tool in c.offers]
    checked.structs += c.partials.values()
    checked.model_types, checked.tool_types = c.models, c.tools
    checked.implementations = list(c.implementations.items())
    declared = {symbol.name for symbol in checked.of(ConnectionSymbol)}
    checked.manifest = {name: fields for name, fields in project.connections.items() if name not in declared}
    checked.main = module.main if isinstance(module.main, FunctionSymbol) else None
    return checked
