"""Static checking: names, types, coercions, control flow, declarations (L-3, L-4).

`check` resolves and checks one file, fills every annotation of its tree, and hands on a `CheckedProgram`. Must not know:
bytecode.
"""

from __future__ import annotations

from ...vm.builtins import METHODS
from .. import ast
from ..checked import CheckedProgram
from ..diagnostics import Diagnostics
from ..nesting import on_fresh_stack
from ..resolver import resolve, warn_unused
from ..resolver.state import Module
from ..source import Source
from ..symbols import (
    ConnectionSymbol,
    ConstSymbol,
    EnumSymbol,
    FunctionSymbol,
    MemorySymbol,
    ModelSymbol,
    StructSymbol,
)
from . import calls, control, expressions, functions, methods, operators, places, propagation, unbuilt
from .assignment import check_assignments
from .context import Checker
from .declarations import check_constants, check_cycles, check_defaults, declare_types
from .decorators import check_decorators
from .functions import check_function, declare_signature
from .memory import check_init, check_memory
from .orchestration import check_connection, check_model
from .schemas import check_schema, declare_schema, fold_nested_defaults

RULES = {
    **expressions.RULES,
    **operators.RULES,
    **places.RULES,
    **calls.RULES,
    **methods.RULES,
    **control.RULES,
    **propagation.RULES,
    **functions.RULES,
    **unbuilt.RULES,
}


MUTATING = frozenset(row.name for row in METHODS.values() if row.mut)


def check(program: ast.Program, source: Source, diagnostics: Diagnostics) -> CheckedProgram:
    """Checks a parsed file; what it finds goes to `diagnostics`."""
    return on_fresh_stack(_check, program, source, diagnostics)


def _check(program: ast.Program, source: Source, diagnostics: Diagnostics) -> CheckedProgram:
    module = resolve(program, diagnostics)
    c = Checker(source, diagnostics, RULES, MUTATING)
    c.main = module.main if isinstance(module.main, FunctionSymbol) else None
    c.connections = module.connections
    for symbol in module.symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and c.nominals.setdefault(symbol.name, symbol) is not symbol:
            c.unbuilt(symbol.declaration.name.span, f"a second type `{symbol.name}` in another block")
    _declare(c, module)
    _check_declarations(c, module)
    for symbol in module.symbols:
        if isinstance(symbol, FunctionSymbol):
            c.deferring = False
            check_function(c, symbol)
            if c.deferring:
                check_assignments(c, symbol)
    warn_unused(module, diagnostics)
    return _checked(program, module)


def _declare(c: Checker, module: Module) -> None:
    """All types and signatures, before any body or value."""
    declare_types(c, module.symbols)
    for symbol in module.symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
            declare_schema(c, symbol, symbol.declaration)
    check_cycles(c, module.symbols)
    for symbol in module.symbols:
        if isinstance(symbol, FunctionSymbol):
            declare_signature(c, symbol)


def _check_declarations(c: Checker, module: Module) -> None:
    check_constants(c, module.symbols)
    for symbol in module.symbols:
        match symbol:
            case StructSymbol(declaration=ast.Schema() as node):
                check_schema(c, symbol, node)
            case StructSymbol():
                check_decorators(c, symbol.declaration.decorators, "struct")
                check_defaults(c, symbol)
            case EnumSymbol():
                check_decorators(c, symbol.declaration.decorators, "enum")
            case FunctionSymbol():
                check_decorators(c, symbol.declaration.decorators, "fn")
            case MemorySymbol():
                check_decorators(c, symbol.declaration.decorators, "memory")
                check_memory(c, symbol)
            case ConnectionSymbol():
                check_connection(c, symbol)
    for symbol in module.symbols:
        if isinstance(symbol, ModelSymbol):
            check_model(c, symbol)
        elif isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
            fold_nested_defaults(c, symbol)
    for statement in module.inits:
        check_init(c, statement)


def _checked(program: ast.Program, module: Module) -> CheckedProgram:
    checked = CheckedProgram(program, init=module.inits)
    for symbol in module.symbols:
        match symbol:
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
            case ConnectionSymbol():
                checked.connections.append(symbol)
            case MemorySymbol():
                checked.memories.append(symbol)
    checked.main = module.main if isinstance(module.main, FunctionSymbol) else None
    return checked
