"""What programs orchestrate: connections, models, agents, tools, MCP servers, pipelines. Must not know: scopes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...vm.schema import tool_name
from .. import ast
from ..types import ANY, Type
from .items import FunctionSymbol, ImplSymbol, StructSymbol
from .memory import HashMapSymbol, LedgerSymbol, MemorySymbol
from .names import Symbol


@dataclass(eq=False, slots=True)
class ConnectionSymbol(Symbol):
    """`fields`: plain data as the image holds it (O-10.8)."""

    declaration: ast.Config
    fields: dict[str, object]


@dataclass(eq=False, slots=True)
class ModelSymbol(Symbol):
    """`connection`: the connection, or the name of a predeclared one; `fields`: config entries by key (already checked);
    `memories`: the attached ones, the turn goes to the last."""

    declaration: ast.Config
    connection: ConnectionSymbol | str
    fields: dict[str, ast.Expr]
    memories: list[MemorySymbol] = field(default_factory=list)
    tools: list[ToolSymbol | McpSymbol | MemorySymbol] = field(default_factory=list)
    store: HashMapSymbol | LedgerSymbol | None = None  # as `memory`: it offers tools (O-4.22)
    scope: list[str] = field(default_factory=list)  # the names of the scope of the store
    decorators: list[tuple[str, dict[str, object]]] = field(default_factory=list)  # name, constant arguments as written


@dataclass(eq=False, slots=True)
class AgentSymbol(Symbol):
    """`fields`: plain data as the image holds it (O-10.13)."""

    declaration: ast.Config
    fields: dict[str, object] = field(default_factory=dict)
    decorators: list[tuple[str, dict[str, object]]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class ToolSymbol(Symbol):
    """A tool: a struct `state` of its fields with an impl of its methods. `arguments`: of each tool method its parameters as the
    fields of a schema (O-4.7); `texts`: its description; `description`: that of the tool."""

    declaration: ast.Tool
    state: StructSymbol
    impl: ImplSymbol
    description: str = ""
    texts: dict[FunctionSymbol, str] = field(default_factory=dict)
    arguments: dict[FunctionSymbol, StructSymbol] = field(default_factory=dict)
    effects: dict[FunctionSymbol, str] = field(default_factory=dict)  # classes of `@effect` (O-9.37)
    guards: dict[str, str] = field(default_factory=dict)  # capabilities of the methods of library tools

    def wire_name(self, method: FunctionSymbol) -> str:
        """What a model calls it (O-4.8)."""
        return tool_name(self.name, method.name)

    @property
    def methods(self) -> list[FunctionSymbol]:
        return self.impl.methods


@dataclass(eq=False, slots=True)
class McpSymbol(Symbol):
    """An MCP server. `fields`: plain data as the image holds it (O-10.12). Of each signature in `methods`: `arguments` as those
    of a tool, `results`: what it gives as the one field of a schema, `texts`: its description if it has one."""

    declaration: ast.Mcp
    methods: list[FunctionSymbol] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)
    texts: dict[FunctionSymbol, str] = field(default_factory=dict)
    arguments: dict[FunctionSymbol, StructSymbol] = field(default_factory=dict)
    results: dict[FunctionSymbol, StructSymbol] = field(default_factory=dict)

    def wire_name(self, method: FunctionSymbol) -> str:
        return tool_name(self.name, method.name)


@dataclass(eq=False, slots=True)
class StageSymbol(FunctionSymbol):
    """A stage of a pipeline as the function it is. Its parameter, or for an expression stage (`value`) the input of the pipeline
    and what the stages before it gave; `result` is what its body gives, `effective` what goes on (O-6.19, O-6.22)."""

    pipeline: PipelineSymbol = field(kw_only=True)
    stage: ast.Stage = field(kw_only=True)
    effective: Type = field(default=ANY, kw_only=True)
    decorators: list[tuple[str, dict[str, object]]] = field(default_factory=list, kw_only=True)
    state: str = field(default="new", kw_only=True)  # busy while its body is checked, then done

    @property
    def path(self) -> str:
        return f"{self.pipeline.name}::{self.name}"


@dataclass(eq=False, slots=True)
class PipelineSymbol(Symbol):
    """`input`, `output`: those of its signature, else of its stages (O-6.23); None until somebody asks."""

    declaration: ast.Pipeline
    stages: list[StageSymbol] = field(default_factory=list)
    input: Type | None = None
    output: Type | None = None


# What gives tools to models.
Offering = ToolSymbol | McpSymbol | HashMapSymbol | LedgerSymbol | MemorySymbol
