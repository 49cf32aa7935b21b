"""Names: what a scope declares, the variables of a function, and types as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from .types import ANY, ARITY, INT, NIL, SIMPLE, NotClaimed, Type, Var, convert, join, prune
from .values import FAMILIES


class Local:
    """A variable: its slot in the function's environment, a list of one-element cells."""

    def __init__(self, slot: int, type_: Type, mutable: bool) -> None:
        self.slot, self.type, self.mutable = slot, type_, mutable


class Function:
    """A declared function; `code` is filled when its body has been elaborated."""

    def __init__(self, node: ast.Function, scope: Scope) -> None:
        self.node, self.scope, self.name = node, scope, node.name.text
        self.parameters = [p.name.text for p in node.parameters]
        self.types = [type_of(p.type, scope) for p in node.parameters]
        self.result = NIL if node.result is None else type_of(node.result, scope)
        self.defaults: list[Any] = []
        self.code: Any = None
        self.size = 0
        self.value: Any = None


class Constant:
    def __init__(self, node: ast.Const, scope: Scope) -> None:
        self.node, self.scope = node, scope
        self.type = type_of(node.type, scope)
        self.found: list[Any] = []


class StructItem:
    def __init__(self, node: ast.Struct | ast.Schema, scope: Scope) -> None:
        self.node, self.scope, self.name = node, scope, node.name.text
        self.fields: dict[str, Type] = {}
        self.defaults: dict[str, Any] = {}


class Loop:
    def __init__(self, label: str | None) -> None:
        self.label = label
        self.values: Any = None  # the Join of its break values


class Target:
    """A `try` body: where errors raised in it go (L-3.12.2)."""

    def __init__(self) -> None:
        self.raised: list[Type] = []


class Frame:
    """What elaboration knows of the function or closure it is in. `result` None: still to be inferred."""

    def __init__(self, result: Type | None, first_slot: int = 0, is_main: bool = False) -> None:
        self.result, self.size, self.is_main = result, first_slot, is_main
        self.returns: Any = None
        self.loops: list[Loop] = []
        self.targets: list[Target] = []

    def slot(self) -> int:
        self.size += 1
        return self.size - 1


class Scope:
    def __init__(self, parent: Scope | None, frame: Frame) -> None:
        self.parent, self.frame = parent, frame
        self.names: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def declare(self, name: str, type_: Type, mutable: bool = False) -> Local:
        self.names[name] = local = Local(self.frame.slot(), type_, mutable)
        return local

    def items_only(self) -> Scope:
        """What nested items see: no local variables (L-2.4.5)."""
        if self.parent is None:
            return self
        seen = Scope(self.parent.items_only(), self.frame)
        seen.names = {name: item for name, item in self.names.items() if not isinstance(item, Local)}
        return seen


class Join:
    """Collects the values of branches, elements, breaks or returns; they convert to the expected type, else to their join."""

    def __init__(self, expected: Type | None) -> None:
        self.expected = expected
        self.rows: list[tuple[Type, list[Any], int]] = []

    def add(self, type_: Type, code: Callable[[Any], Any], line: int) -> Callable[[Any], Any]:
        if self.expected is not None:
            conversion = convert(type_, self.expected, line)
            return code if conversion is None else lambda env: conversion(code(env))
        later: list[Any] = [None]
        self.rows.append((type_, later, line))
        return lambda env: code(env) if later[0] is None else later[0](code(env))

    def close(self, start: Type = ("Never",)) -> Type:
        if self.expected is not None:
            return self.expected
        joined = start
        for type_, _, _ in self.rows:
            joined = join(joined, type_)
        for type_, later, line in self.rows:
            later[0] = convert(type_, joined, line)
        return joined


def open_to_none(expected: Type | None) -> Type | None:
    """No expectation where the expected type is still open."""
    if expected is None:
        return None
    expected = prune(expected)
    return None if isinstance(expected, Var) else expected


def type_of(node: ast.TypeExpr | None, scope: Scope, parameters: tuple[str, ...] = ()) -> Type:
    """The type a type expression denotes; names of `parameters` give `Param`s."""
    match node:
        case None:
            return NIL
        case ast.NilableType():
            inner = type_of(node.inner, scope, parameters)
            return inner if inner == ANY or inner[0] == "Nilable" else ("Nilable", inner)
        case ast.TupleType():
            return ("Tuple", *(type_of(item, scope, parameters) for item in node.items))
        case ast.FunctionType():
            made = tuple(type_of(p, scope, parameters) for p in node.parameters)
            return ("Fn", made, type_of(node.result, scope, parameters))
        case ast.LiteralType():
            return ("Union", frozenset([node.value]))
        case ast.UnionType():
            return ("Union", frozenset(m.value for m in node.members if isinstance(m, ast.LiteralType)))
        case ast.NamedType() if len(node.path) == 1:
            return _named(node, node.path[0].text, scope, parameters)
    raise NotClaimed(f"type {type(node).__name__}")


def _named(node: ast.NamedType, name: str, scope: Scope, parameters: tuple[str, ...]) -> Type:
    item = scope.find(name)
    if name in parameters:
        return ("Param", name)
    if isinstance(item, StructItem):
        return ("Struct", name, item)
    if isinstance(item, ast.Enum):
        return ("Enum", name)
    if isinstance(item, ast.TypeAlias) and not item.type_parameters:
        return type_of(item.target, scope)
    arguments = [type_of(a, scope, parameters) for a in node.arguments or []]
    if item is None and len(arguments) == ARITY.get(name, 0):
        if name in ARITY:
            return (name, *arguments)
        if name in SIMPLE:
            return SIMPLE[name]
        if name in FAMILIES:
            return ("Error", name)
    raise NotClaimed(f"type {name}")


def arithmetic_type(operator: str, a: Type, b: Type) -> Type:
    a, b = prune(a), prune(b)
    if operator == "+" and ("String",) in (a, b):
        return ("String",)
    if ANY in (a, b):
        return ANY
    return INT if a == b == INT else ("Float",)
