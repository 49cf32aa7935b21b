"""What every node is: a span and children; the bases of the families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, dataclass_transform

from ..source import Span

T = TypeVar("T")


def annotation(init: Literal[False] = False) -> Any:
    """A field that a later phase fills."""
    return field(default=None, init=init, metadata={"annotation": True}, repr=False)


@dataclass_transform(eq_default=False, field_specifiers=(field, annotation))
def node(cls: type[T]) -> type[T]:
    """A class of nodes. The parser does not name the fields of frequent nodes, which takes a third of the time (V-8.7)."""
    return dataclass(slots=True, eq=False)(cls)


@node
class Node:
    span: Span

    def children(self) -> Iterator[Node]:
        """Child nodes in source order of the fields."""
        for name in _places(self):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, Node):
                        yield item
                    else:
                        yield from _nodes(item)


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _nodes(item)


_WITHOUT_NODES = frozenset(("Span", "bool", "float", "int", "str", "str | None"))


_known: dict[object, list[str]] = {}


def _places(node: Node) -> list[str]:
    """The fields of its class that may hold nodes."""
    found = _known.get(type(node))
    if found is None:
        names = [f.name for f in fields(node) if not f.metadata.get("annotation") and f.type not in _WITHOUT_NODES]
        found = _known[type(node)] = names
    return found


@node
class Expr(Node):
    # annotations
    type: Any = annotation()  # checker.types.Type of the expression itself, before `coercion`
    coercion: Any = annotation()  # checker.coercions.Coercion the place it stands in asks for, or None


@node
class TypeExpr(Node):
    pass


@node
class Pattern(Node):
    # annotation: type of the value it is matched against
    type: Any = annotation()


@node
class Stmt(Node):
    pass


@node
class Item(Node):
    decorators: list[Decorator] = field(default_factory=list, kw_only=True)
    public: bool = field(default=False, kw_only=True)
    doc: str | None = field(default=None, kw_only=True)
    symbol: Any = annotation()  # resolver.symbols.Symbol it declares


@node
class Ident(Node):
    """A name where it is written: declarations, fields, labels, keys."""

    text: str


@node
class Argument(Node):
    """`value` or `name: value`."""

    name: Ident | None
    value: Expr


@node
class Decorator(Node):
    name: Ident
    arguments: list[Argument]
    parenthesised: bool
