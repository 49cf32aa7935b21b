"""A checked program: the annotated tree's declarations by kind, as the code generator takes them.

Must not know: how they were checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import ast
from .symbols import (
    AgentSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    FunctionSymbol,
    HashMapSymbol,
    ImplSymbol,
    LedgerSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    PipelineSymbol,
    StructSymbol,
    ToolSymbol,
)
from .types import Implementation, Type


@dataclass(slots=True)
class CheckedProgram:
    """The root module's file. Each list in the order of modules, then of source; nested items stand with the others. `init`: the
    initialisation statements, each with its module's rank. `promised`: methods of traits without body; `implementations`: impls
    of traits, as their traits know them."""

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
    models: list[ModelSymbol] = field(default_factory=list)
    agents: list[AgentSymbol] = field(default_factory=list)
    connections: list[ConnectionSymbol] = field(default_factory=list)
    manifest: dict[str, dict[str, object]] = field(default_factory=dict)  # connections only Concerto.toml declares
    memories: list[MemorySymbol] = field(default_factory=list)
    tools: list[ToolSymbol] = field(default_factory=list)
    servers: list[McpSymbol] = field(default_factory=list)
    contexts: list[ContextSymbol] = field(default_factory=list)
    hashmaps: list[HashMapSymbol] = field(default_factory=list)
    ledgers: list[LedgerSymbol] = field(default_factory=list)
    pipelines: list[PipelineSymbol] = field(default_factory=list)
    init: list[tuple[int, ast.InitStatement]] = field(default_factory=list)
    main: FunctionSymbol | None = None
