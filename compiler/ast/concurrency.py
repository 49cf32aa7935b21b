"""Expressions that start or await tasks, and `listen`."""

from __future__ import annotations

from typing import Any

from .blocks import Block
from .nodes import Expr, Node, Pattern, annotation, node


@node
class Await(Expr):
    """`await operand` (`postfix` false) or `operand.await`."""

    operand: Expr
    postfix: bool
    tasks: Any = annotation()  # list[TaskBody]: of the elements of a tuple


@node
class Spawn(Expr):
    operand: Expr
    task: Any = annotation()  # TaskBody


@node
class TaskBody(Expr):
    """What runs in a task of its own, or an `async` block; made by the resolver around an expression of the tree. `kind`: await,
    race, spawn, parallel, async, listen; `pattern` takes the element of a `parallel for`."""

    kind: str
    pattern: Pattern | None
    body: Expr
    scope: Any = annotation()  # resolver.symbols.FunctionScope


@node
class AsyncBlock(Expr):
    body: Block
    task: Any = annotation()  # TaskBody


@node
class ParallelFor(Expr):
    pattern: Pattern
    iterable: Expr
    limit: Expr | None
    body: Block
    task: Any = annotation()  # TaskBody


@node
class ListenHandler(Node):
    """Written as a match arm; L-2.6.6 is checked after parsing."""

    pattern: Pattern
    guard: Expr | None
    body: Expr
    task: Any = annotation()  # TaskBody of the closure's body
    schema: Any = annotation()  # StructSymbol that its parameter is annotated with


@node
class Listen(Expr):
    operand: Expr
    handlers: list[ListenHandler]
