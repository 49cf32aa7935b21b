"""Items of orchestration: configured declarations, tools, pipelines, stores; `mock`."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from .blocks import Block, Parameter
from .declarations import Function
from .nodes import Decorator, Expr, Ident, Item, Node, Stmt, TypeExpr, annotation, node


@node
class ConfigEntry(Node):
    key: Ident
    value: Expr


@node
class Config(Item):
    """`model NAME { … }`, `agent NAME { … }`, `connect NAME { … }`: `kind` is the word."""

    kind: str
    name: Ident
    entries: list[ConfigEntry]

    @property
    def declares(self) -> str:
        """What it declares: an `agent` with a provider and no connector is a model (O-1.260)."""
        keys = {entry.key.text for entry in self.entries}
        return "model" if self.kind == "agent" and "provider" in keys and "connector" not in keys else self.kind


@node
class Mock(Stmt):
    name: Ident
    config: list[ConfigEntry]
    # annotation: the declared symbol it stands in for
    target: Any = annotation()


@node
class Mcp(Item):
    name: Ident
    entries: list[ConfigEntry]
    functions: list[Function]


@node
class ToolField(Node):
    name: Ident
    type: TypeExpr
    default: Expr | None
    doc: str | None = None


@node
class Tool(Item):
    """`entries` holds `description: …`; `fields` the state."""

    name: Ident
    trait: Ident | None
    entries: list[ConfigEntry]
    fields: list[ToolField]
    methods: list[Function]
    impl: Any = annotation()  # the Impl of the trait


@node
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


@node
class Pipeline(Item):
    name: Ident
    parameter: Parameter | None
    result: TypeExpr | None
    stages: list[Stage]


@node
class Store(Item):
    """`memory NAME: type = value;`, `hashmap …`, `ledger …`: `kind` is the word."""

    kind: str
    name: Ident
    type: TypeExpr
    value: Expr
