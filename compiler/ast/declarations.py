"""Items of the core language."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from .blocks import Block, Parameter
from .expressions import MethodCall
from .nodes import Decorator, Expr, Ident, Item, Node, TypeExpr, annotation, node


@node
class TypeParameter(Node):
    name: Ident
    bounds: list[TypeExpr]


@node
class SlotRef(Node):
    owner: Ident
    slot: Ident
    binding: Any = annotation()  # resolver.symbols.Symbol of the memory
    local: Any = annotation()  # resolver.symbols.Local that holds what was loaded at entry
    found: Any = annotation()  # resolver.symbols.Slot
    kind: Any = annotation()  # the word of its clause


@node
class Clause(Node):
    """`needs a.b, c.d` or `reads …` (`kind` is the word)."""

    kind: str
    slots: list[SlotRef]
    failure: Any = annotation()  # checker.coercions.Coercion of the error for the function's result


@node
class Function(Item):
    """`body` is None when it ends in `;`."""

    name: Ident
    is_async: bool
    type_parameters: list[TypeParameter]
    parameters: list[Parameter]
    result: TypeExpr | None
    clauses: list[Clause]
    body: Block | None
    scope: Any = annotation()  # resolver.symbols.FunctionScope


@node
class Field(Node):
    name: Ident
    type: TypeExpr
    default: Expr | None
    optional: bool = False
    public: bool = False
    decorators: list[Decorator] = field(default_factory=list)
    doc: str | None = None


@node
class Struct(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field]


@node
class Schema(Item):
    """`fields` is None for the body-less `schema T;`."""

    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field] | None


@node
class Variant(Node):
    """Unit (`items` and `fields` None), tuple (`items`) or struct (`fields`)."""

    name: Ident
    items: list[TypeExpr] | None
    fields: list[Field] | None
    doc: str | None = None


@node
class Enum(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    variants: list[Variant]


@node
class Trait(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    methods: list[Function]


@node
class Impl(Item):
    """`impl T { … }` (`trait` None) or `impl X for T { … }`."""

    type_parameters: list[TypeParameter]
    trait: TypeExpr | None
    target: TypeExpr
    methods: list[Function]


@node
class Const(Item):
    name: Ident
    type: TypeExpr
    value: Expr


@node
class TypeAlias(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    target: TypeExpr


@node
class UseTree(Node):
    """`path`, `path as alias`, `path::*` (`glob`), `path::{…}` (`group`)."""

    path: list[Ident]
    alias: Ident | None = None
    glob: bool = False
    group: list[UseTree] | None = None


@node
class Use(Item):
    tree: UseTree


@node
class InitStatement(Node):
    """`NAME.method(…);` at module level (O-0.7)."""

    call: MethodCall


TopLevel = Item | InitStatement


@node
class Module(Item):
    """`mod a;` (`items` None) or `mod a { … }`."""

    name: Ident
    items: list[TopLevel] | None
