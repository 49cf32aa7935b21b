"""Items of orchestration: configured declarations, tools, pipelines, stores; `mock`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .blocks import Block, Parameter
from .declarations import Function
from .nodes import Decorator, Expr, Ident, Item, Node, Stmt, TypeExpr, annotation


@dataclass(slots=True, kw_only=True, eq=False)
class ConfigEntry(Node):
    key: Ident
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Config(Item):
    """`model NAME { … }`, `agent NAME { … }`, `connect NAME { … }`: `kind` is the word."""

    kind: str
    name: Ident
    entries: list[ConfigEntry]


@dataclass(slots=True, kw_only=True, eq=False)
class Mock(Stmt):
    name: Ident
    config: list[ConfigEntry]
    # annotation: the declared symbol it stands in for
    target: Any = annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class Mcp(Item):
    name: Ident
    entries: list[ConfigEntry]
    functions: list[Function]


@dataclass(slots=True, kw_only=True, eq=False)
class ToolField(Node):
    name: Ident
    type: TypeExpr
    default: Expr | None
    doc: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Tool(Item):
    """`entries` holds `description: …`; `fields` the state."""

    name: Ident
    trait: Ident | None
    entries: list[ConfigEntry]
    fields: list[ToolField]
    methods: list[Function]
    impl: Any = annotation()  # the Impl of the trait


@dataclass(slots=True, kw_only=True, eq=False)
class Stage(Node):
    """A stage with parameters and body, or `stage name = expr;` (`value`)."""

    name: Ident
    parameters: list[Parameter]
    result: TypeExpr | None
    body: Block | None
    value: Expr | None
    decorators: list[Decorator] = field(default_factory=list)
    doc: str | None = None
    scope: Any = annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class Pipeline(Item):
    name: Ident
    parameter: Parameter | None
    result: TypeExpr | None
    stages: list[Stage]


@dataclass(slots=True, kw_only=True, eq=False)
class Store(Item):
    """`memory NAME: type = value;`, `hashmap …`, `ledger …`: `kind` is the word."""

    kind: str
    name: Ident
    type: TypeExpr
    value: Expr
