"""Static checking: names, types, coercions, control flow, declarations (L-3, L-4).

`check_project` resolves and checks a program, fills every annotation of its trees, and hands on a `CheckedProgram`. Must not
know: bytecode.
"""

from __future__ import annotations

from typing import NamedTuple

from ...vm.builtins import METHODS
from .. import ast
from ..checked import CheckedProgram
from ..diagnostics import Diagnostics
from ..loading import Project
from ..nesting import on_fresh_stack
from ..resolver import resolve, warn_unused
from ..resolver.spelling import limited_patience
from ..resolver.state import Module
from ..source import Source, Span
from ..symbols import (
    AgentSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    FunctionSymbol,
    HashMapSymbol,
    LedgerSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    Offering,
    PipelineSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
)
from ..types import Nominal
from . import calls, control, expressions, functions, literals, methods, operators, places, propagation, recovery, tasks
from .agents import RULES as AGENT_RULES
from .agents import check_agent
from .assignment import check_assignments
from .bounds import settle_bounds
from .concurrent_memories import check_concurrent_memories
from .context import Checker
from .contexts import check_context, declare_contexts
from .declarations import check_constants, check_cycles, check_defaults, declare_types
from .decorators import check_decorators, check_parts
from .families import foreign_value
from .fixed_slots import check_fixed_slots
from .functions import check_function, declare_signature
from .impls import declare_impls
from .json_sizes import check_size
from .manifest_tables import check_tables, with_models
from .mcp import check_mcp, declare_mcp
from .memory import check_init, check_memory
from .memory_effects import check_computed_bounds, check_slot_changes, check_step_functions
from .old_names import check_old_names, check_stored_names, old_name
from .orchestration import check_connection, check_model
from .pipelines import check_pipeline, declare_pipeline
from .privacy import ModuleMap
from .prompts import text_as_prompt
from .schemas import check_schema, check_validators, declare_schema, fold_nested_defaults
from .stores import check_store, declare_hashmap
from .testing import check_test
from .tools import check_tool, check_wire_names
from .traits import check_trait_impls, declare_traits

RULES = {
    **expressions.RULES,
    **literals.RULES,
    **operators.RULES,
    **places.RULES,
    **calls.RULES,
    **methods.RULES,
    **control.RULES,
    **propagation.RULES,
    **functions.RULES,
    **tasks.RULES,
    **AGENT_RULES,
    **recovery.RULES,
}


LINTS = (foreign_value, text_as_prompt)
MUTATING = frozenset(row.name for row in METHODS.values() if row.mut)


def check(program: ast.Program, source: Source, diagnostics: Diagnostics) -> CheckedProgram:
    """Checks a program of one parsed file; what it finds goes to `diagnostics`."""
    return check_project(Project.single(program, source), diagnostics)


class Examined(NamedTuple):
    """What an editor asks of a program: it answers with what types offer, and with all that is declared."""

    checker: Checker
    symbols: list[Symbol]
    checked: CheckedProgram


def check_project(project: Project, diagnostics: Diagnostics) -> CheckedProgram:
    """Checks the parsed files of a program."""
    examined = examine_project(project, diagnostics)
    return CheckedProgram(project.trees[project.main], init=[]) if examined is None else examined.checked


def examine_project(project: Project, diagnostics: Diagnostics) -> Examined | None:
    """The same with the state of the check; None if its types nest too deeply."""
    try:
        with limited_patience():
            return on_fresh_stack(_check, project, diagnostics)
    except RecursionError:  # of a walk over a declared type; trees are walked by levels
        diagnostics.report("E0114", Span(project.main, 0, 0), "a type of the program nests too deeply", help="split the type up")
        return None


def _check(project: Project, diagnostics: Diagnostics) -> Examined:
    module = resolve(project, diagnostics)
    c = Checker(project.sources, diagnostics, RULES, MUTATING, LINTS)
    c.modules = ModuleMap(project, module.modules)
    c.connections = [symbol.name for symbol in module.symbols if isinstance(symbol, ConnectionSymbol)]
    c.mockable = [s.name for s in module.symbols if isinstance(s, (ModelSymbol, AgentSymbol, ToolSymbol))]
    c.offering = [symbol for symbol in module.symbols if isinstance(symbol, Offering)]
    c.agents = project.agents
    c.manifest = project.connections
    c.servers = project.servers
    c.memory_tables = project.memory_tables
    c.memory_defaults = with_models(project.memory_tables.defaults, module.symbols)
    c.main = module.main if isinstance(module.main, FunctionSymbol) else None
    for symbol in module.symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)):
            assert isinstance(symbol.type, Nominal)
            c.nominals[symbol.type.unique_name] = symbol
        elif isinstance(symbol, ContextSymbol):
            c.contexts[symbol.type.unique_name] = symbol
    _declare(c, module)
    _check_declarations(c, module)
    if project.manifest is not None:
        check_tables(c, project.manifest, module.symbols, project.main.rpartition("/")[2])
    for symbol in module.symbols:
        if isinstance(symbol, PipelineSymbol):
            check_pipeline(c, symbol)
        elif isinstance(symbol, FunctionSymbol):
            c.deferring = False
            check_function(c, symbol)
            check_fixed_slots(c, symbol.declaration.body)
            if c.deferring:
                check_assignments(c, symbol)
    check_step_functions(c)
    check_computed_bounds(c)
    check_slot_changes(c)
    check_stored_names(c, [symbol for symbol in module.symbols if isinstance(symbol, MemorySymbol)])
    check_concurrent_memories(c)
    warn_unused(module, diagnostics, project.sources)
    return Examined(c, [*module.symbols, *module.modules], _checked(c, project, module))


def _declare(c: Checker, module: Module) -> None:
    """All types and signatures, before any body or value."""
    declare_types(c, module.symbols)
    declare_contexts(c, module.symbols)
    for symbol in module.symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
            declare_schema(c, symbol, symbol.declaration)
    declare_traits(c, module.symbols, module.traits, module.impls)
    declare_impls(c, module.impls)
    settle_bounds(c)
    check_cycles(c, module.symbols)
    for symbol in module.symbols:
        if isinstance(symbol, FunctionSymbol):
            declare_signature(c, symbol)
        elif isinstance(symbol, HashMapSymbol):
            declare_hashmap(c, symbol)
        elif isinstance(symbol, PipelineSymbol):
            declare_pipeline(c, symbol)
        elif isinstance(symbol, McpSymbol):
            declare_mcp(c, symbol)
    check_trait_impls(c)


def _check_struct_fields(c: Checker, symbol: StructSymbol, fields: list[ast.Field]) -> None:
    checked = check_parts(c, fields, "struct field")
    named = [(field.name, old_name(found)) for field, found in zip(fields, checked, strict=True)]
    symbol.was.update((name.text, was) for name, was in named if was is not None)
    check_old_names(c, "field", symbol.name, named)


def _check_declarations(c: Checker, module: Module) -> None:
    check_constants(c, module.symbols)
    for decorators, place in module.decorated:
        check_decorators(c, decorators, place)
    for symbol in module.symbols:
        match symbol:
            case StructSymbol(declaration=ast.Schema() as node):
                check_schema(c, symbol, node)
                if not symbol.type_parameters:
                    check_size(c, symbol.type, node.name.span)
            case StructSymbol():
                check_decorators(c, symbol.declaration.decorators, "struct")
                _check_struct_fields(c, symbol, symbol.declaration.fields or [])
                check_defaults(c, symbol)
            case EnumSymbol():
                check_decorators(c, symbol.declaration.decorators, "enum")
                for variant in symbol.declaration.variants:
                    check_parts(c, variant.fields, "variant field")
                for member in symbol.members:
                    check_defaults(c, member)
            case FunctionSymbol() if symbol.tool is not None:
                pass  # checked with its tool
            case FunctionSymbol():
                check_parts(c, symbol.declaration.parameters, "parameter of a fn")
                check_test(c, symbol, check_decorators(c, symbol.declaration.decorators, _place(symbol)))
            case MemorySymbol(value=None):
                check_decorators(c, symbol.declaration.decorators, "memory")
                check_memory(c, symbol)
            case ContextSymbol():
                check_decorators(c, symbol.declaration.decorators, "context")
                check_context(c, symbol)
            case HashMapSymbol() | LedgerSymbol():
                check_decorators(c, symbol.declaration.decorators, symbol.declaration.kind)
                check_store(c, symbol)
            case ConnectionSymbol():
                check_connection(c, symbol)
            case AgentSymbol():
                check_agent(c, symbol)
    tools = [symbol for symbol in module.symbols if isinstance(symbol, ToolSymbol)]
    servers = [symbol for symbol in module.symbols if isinstance(symbol, McpSymbol)]
    for tool in tools:
        check_tool(c, tool)
    for server in servers:
        check_mcp(c, server)
    check_wire_names(c, [*tools, *servers])
    for symbol in module.symbols:
        if isinstance(symbol, ModelSymbol):
            check_model(c, symbol)
        elif isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
            fold_nested_defaults(c, symbol)
            check_validators(c, symbol)
    for home, statement in module.inits:
        check_init(c, statement, home)


def _place(symbol: FunctionSymbol) -> str:
    return "fn" if symbol.owner is None else "method"


def _checked(c: Checker, project: Project, module: Module) -> CheckedProgram:
    checked = CheckedProgram(project.trees[project.main], init=[(home.rank, statement) for home, statement in module.inits])
    for symbol in module.symbols:
        match symbol:
            case FunctionSymbol(declaration=ast.Function(body=None)):
                checked.promised.append(symbol)
            case FunctionSymbol():
                checked.functions.append(symbol)
            case StructSymbol(declaration=ast.Schema()):
                checked.schemas.append(symbol)
            case StructSymbol():
                checked.structs.append(symbol)
            case EnumSymbol():
                checked.enums.append(symbol)
            case ConstSymbol():
                checked.consts.append(symbol)
            case ModelSymbol():
                checked.models.append(symbol)
            case ToolSymbol():
                checked.tools.append(symbol)
            case McpSymbol():
                checked.servers.append(symbol)
            case AgentSymbol():
                checked.agents.append(symbol)
            case ConnectionSymbol():
                checked.connections.append(symbol)
            case MemorySymbol():
                checked.memories.append(symbol)
            case ContextSymbol():
                checked.contexts.append(symbol)
            case HashMapSymbol():
                checked.hashmaps.append(symbol)
            case LedgerSymbol():
                checked.ledgers.append(symbol)
            case PipelineSymbol():
                checked.pipelines.append(symbol)
                checked.functions.extend(symbol.stages)
    checked.model_types, checked.tool_types = c.models, c.tools
    checked.implementations = list(c.implementations.items())
    declared = {symbol.name for symbol in checked.connections}
    checked.manifest = {name: fields for name, fields in project.connections.items() if name not in declared}
    checked.main = module.main if isinstance(module.main, FunctionSymbol) else None
    return checked
