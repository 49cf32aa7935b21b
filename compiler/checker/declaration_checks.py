"""What is checked of each kind of declaration, one row of CHECKS for each class of symbols.

Hands on `run_pass` and TooDeep to `program`. A row has a column for each pass that `program` makes over all declarations; the
order of the passes is there. Every class of symbols that a program declares needs its row. Types of fields, slots and aliases
have their passes in `declarations`, `context_declarations` and `schemas`: they look at several kinds at once. The checks
themselves stand in the files of the kinds; what they find wrong they report to `c`, the state of the check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import symbols
from ..symbols import ContextSymbol, EnumSymbol, FunctionSymbol, HashMapSymbol, LedgerSymbol, MemorySymbol, StructSymbol, Symbol
from ..syntax import ast
from .assignment import check_assignments
from .connections import check_connection
from .context_declarations import check_context, check_fixed_slots, check_old_names, old_name
from .decorators import check_decorators, check_parts
from .embedders import check_embedder
from .externs import check_extern
from .functions import check_function, check_pipeline, declare_pipeline, declare_signature
from .indexes import check_index
from .json_shapes import check_size
from .mcp import check_mcp, declare_mcp
from .memory import check_memory
from .models import check_agent, check_model
from .questions import check_channel
from .schemas import check_schema, check_validators, fold_nested_defaults
from .state import Checker
from .stores import check_store, declare_store
from .tests import check_test
from .tool_arguments import parameter_texts
from .tools import check_tool

Check = Callable[[Checker, Any], None]  # of a symbol of the row's class


@dataclass(frozen=True, slots=True)
class DeclarationChecks:
    """The checks of one kind by pass, None for a pass that has nothing to do. `signature`: the types of a use of it. `values`:
    what stands in it. `offer`: what a model that names it gets. `uses`: what it takes over from declarations of other kinds.
    `body`: its statements."""

    signature: Check | None = None
    values: Check | None = None
    offer: Check | None = None
    uses: Check | None = None
    body: Check | None = None


def run_pass(c: Checker, symbols: Sequence[Symbol], column: Callable[[DeclarationChecks], Check | None]) -> None:
    """Run one column of the table over declarations, in their order; `column` picks it from a row. Raise TooDeep for a
    declaration whose check exceeds Python's stack."""
    for symbol in symbols:
        check = column(CHECKS[type(symbol)])
        if check is not None:
            try:
                check(c, symbol)
            except RecursionError:
                raise TooDeep(symbol) from None


class TooDeep(RecursionError):
    """The check of a declaration, `symbol`, goes too deep; `program` reports it (E0114)."""

    def __init__(self, symbol: Any) -> None:
        super().__init__(symbol.name)
        self.symbol = symbol


# Structs, schemas and enums.


def _struct_values(c: Checker, symbol: StructSymbol) -> None:
    node = symbol.declaration
    if isinstance(node, ast.Schema):
        check_schema(c, symbol, node)
        if not symbol.type_parameters:
            check_size(c, symbol.type, node.name.span)
        return
    check_decorators(c, node.decorators, "struct")
    fields = node.fields or []
    decorators_of = zip(fields, check_parts(c, fields, "struct field"), strict=True)
    named = [(field.name, old_name(decorators)) for field, decorators in decorators_of]
    symbol.was.update((name.text, was) for name, was in named if was is not None)
    check_old_names(c, "field", symbol.name, named)


def _schema_uses(c: Checker, symbol: StructSymbol) -> None:
    if isinstance(symbol.declaration, ast.Schema):
        fold_nested_defaults(c, symbol)
        check_validators(c, symbol)


def _enum_values(c: Checker, symbol: EnumSymbol) -> None:
    check_decorators(c, symbol.declaration.decorators, "enum")
    for variant in symbol.declaration.variants:
        check_parts(c, variant.fields, "variant field")


# Functions.


def _function_values(c: Checker, symbol: FunctionSymbol) -> None:
    if symbol.channel is not None:
        check_channel(c, symbol, symbol.channel)
    elif symbol.extern is not None:
        check_extern(c, symbol)
    elif symbol.tool is None:  # a method of a tool is checked with it
        decorators = symbol.declaration.decorators
        # The parameters of a function by a model may be described, as it may be a tool (O-4.48).
        if symbol.by_model:
            parameter_texts(c, symbol, required=False)
            decorators = [decorator for decorator in decorators if decorator.name.text != "param"]
        else:
            check_parts(c, symbol.declaration.parameters, "parameter of a fn")
        check_test(c, symbol, check_decorators(c, decorators, "fn" if symbol.owner is None else "method"))


def _function_body(c: Checker, symbol: FunctionSymbol) -> None:
    # Set by a `let` without initialiser: only then the function needs the walk of `assignment`.
    c.deferring = False
    end = None if c.reuse is None else c.reuse.measure_body(symbol.declaration.body, c)
    check_function(c, symbol)
    check_fixed_slots(c, symbol.declaration.body)
    if c.deferring:
        check_assignments(c, symbol)
    if end is not None:
        end()


# Memories, contexts and stores.


def _memory_values(c: Checker, symbol: MemorySymbol) -> None:
    if symbol.value is None:  # one that values are made from is checked where it is made
        check_decorators(c, symbol.declaration.decorators, "memory")
        check_memory(c, symbol)


def _context_values(c: Checker, symbol: ContextSymbol) -> None:
    check_decorators(c, symbol.declaration.decorators, "context")
    check_context(c, symbol)


def _store_values(c: Checker, symbol: HashMapSymbol | LedgerSymbol) -> None:
    check_decorators(c, symbol.declaration.decorators, symbol.declaration.kind)
    check_store(c, symbol)


# Constants, aliases and traits depend on one another, so their passes order them first (`declarations`, `impls`).
CHECKS: dict[type[Symbol], DeclarationChecks] = {
    symbols.StructSymbol: DeclarationChecks(values=_struct_values, uses=_schema_uses),
    symbols.EnumSymbol: DeclarationChecks(values=_enum_values),
    symbols.ConstSymbol: DeclarationChecks(),
    symbols.AliasSymbol: DeclarationChecks(),
    symbols.TraitSymbol: DeclarationChecks(),
    symbols.FunctionSymbol: DeclarationChecks(signature=declare_signature, values=_function_values, body=_function_body),
    symbols.ModelSymbol: DeclarationChecks(uses=check_model),
    symbols.AgentSymbol: DeclarationChecks(values=check_agent),
    symbols.ToolSymbol: DeclarationChecks(offer=check_tool),
    symbols.McpSymbol: DeclarationChecks(signature=declare_mcp, offer=check_mcp),
    symbols.ConnectionSymbol: DeclarationChecks(values=check_connection),
    symbols.MemorySymbol: DeclarationChecks(values=_memory_values),
    symbols.ContextSymbol: DeclarationChecks(values=_context_values),
    symbols.HashMapSymbol: DeclarationChecks(signature=declare_store, values=_store_values),
    symbols.LedgerSymbol: DeclarationChecks(values=_store_values),
    symbols.EmbedderSymbol: DeclarationChecks(values=check_embedder),
    symbols.IndexSymbol: DeclarationChecks(signature=declare_store, values=check_index),
    symbols.PipelineSymbol: DeclarationChecks(signature=declare_pipeline, body=check_pipeline),
}
