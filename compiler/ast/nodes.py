"""What every node is: a span and children; the bases of the families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ..source import Span


@dataclass(slots=True, kw_only=True, eq=False)
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


def annotation() -> Any:
    return field(default=None, metadata={"annotation": True}, repr=False)


@dataclass(slots=True, kw_only=True, eq=False)
class Expr(Node):
    # annotations
    type: Any = annotation()  # checker.types.Type of the expression itself, before `coercion`
    coercion: Any = annotation()  # checker.coercions.Coercion the place it stands in asks for, or None


@dataclass(slots=True, kw_only=True, eq=False)
class TypeExpr(Node):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class Pattern(Node):
    # annotation: type of the value it is matched against
    type: Any = annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class Stmt(Node):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class Item(Node):
    decorators: list[Decorator] = field(default_factory=list)
    public: bool = False
    doc: str | None = None
    symbol: Any = annotation()  # resolver.symbols.Symbol it declares


@dataclass(slots=True, kw_only=True, eq=False)
class Ident(Node):
    """A name where it is written: declarations, fields, labels, keys."""

    text: str


@dataclass(slots=True, kw_only=True, eq=False)
class Argument(Node):
    """`value` or `name: value`."""

    name: Ident | None
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Decorator(Node):
    name: Ident
    arguments: list[Argument]
    parenthesised: bool
