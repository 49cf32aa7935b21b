"""Patterns (L-5.8): each becomes a function that tests a value and fills the variables it binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from .scopes import Constant, Local, Scope, StructItem
from .types import ANY, INT, NIL, STRING, NotClaimed, Type, has_kind, prune
from .values import FAMILIES, Arr, Err, Opt, Res, Struct, Tup, Unit, descends, equal, is_number

Matcher = Callable[[list[Any], Any], bool]


class Patterns:
    """One pattern: the variables it binds go to `scope`; alternatives share them (L-5.8.6)."""

    def __init__(self, scope: Scope, constant: Callable[[Constant], Any]) -> None:
        self.scope, self.constant = scope, constant
        self.bound: dict[str, Local] = {}

    def matcher(self, node: ast.Pattern, type_: Type) -> Matcher:
        made = self._of(node, type_)
        self.scope.names.update(self.bound)
        return made

    def _of(self, node: ast.Pattern, type_: Type) -> Matcher:
        type_ = prune(type_)
        if type_[0] == "Nilable" and not isinstance(node, (ast.BindPattern, ast.OrPattern, ast.WildcardPattern)):
            type_ = prune(type_[1])
        match node:
            case ast.WildcardPattern():
                return lambda env, value: True
            case ast.LiteralPattern():
                return lambda env, value: equal(value, node.value)
            case ast.RangePattern():
                return lambda env, value: is_number(value) and _in_interval(node, value)
            case ast.BindPattern():
                return self._bind(node, type_)
            case ast.OrPattern():
                alternatives = [self._of(p, type_) for p in node.alternatives]
                return lambda env, value: any(p(env, value) for p in alternatives)
            case ast.TuplePattern():
                return self._sequence(Tup, [(p, self._part(type_, i)) for i, p in enumerate(node.items)])
            case ast.ArrayPattern():
                return self._array(node, type_)
            case ast.PathPattern():
                return self._unit([p.text for p in node.path])
            case ast.TupleStructPattern():
                return self._variant(node, type_)
            case ast.StructPattern():
                return self._struct(node)
        raise NotClaimed(f"pattern {type(node).__name__}")

    def _part(self, type_: Type, index: int) -> Type:
        return type_[1 + index] if type_[0] == "Tuple" else ANY

    def _bind(self, node: ast.BindPattern, type_: Type) -> Matcher:
        name = node.name.text
        item = self.scope.find(name)
        if node.inner is None and not node.mutable:
            if isinstance(item, Constant):
                return lambda env, value: equal(value, self.constant(item))
            if name == "None" and item is None:
                return lambda env, value: isinstance(value, Opt) and not value.some
        inner = None if node.inner is None else self._of(node.inner, type_)
        return self._variable(name, type_, node.mutable, inner)

    def _variable(self, name: str, type_: Type, mutable: bool, inner: Matcher | None) -> Matcher:
        if name not in self.bound:
            self.bound[name] = Local(self.scope.frame.slot(), type_, mutable)
        slot = self.bound[name].slot

        def bind(env: list[Any], value: Any) -> bool:
            env[slot] = [value]
            return inner is None or inner(env, value)

        return bind

    def _sequence(self, kind: type, rows: list[tuple[ast.Pattern, Type]]) -> Matcher:
        made = [self._of(p, t) for p, t in rows]

        def test(env: list[Any], value: Any) -> bool:
            if not isinstance(value, kind) or len(value.items) != len(made):  # type: ignore[attr-defined]
                return False
            return all(p(env, v) for p, v in zip(made, value.items, strict=True))  # type: ignore[attr-defined]

        return test

    def _array(self, node: ast.ArrayPattern, type_: Type) -> Matcher:
        element = type_[1] if type_[0] == "Array" else ANY
        rest = next((i for i, p in enumerate(node.items) if isinstance(p, ast.RestPattern)), None)
        if rest is None:
            return self._sequence(Arr, [(p, element) for p in node.items])
        before = [self._of(p, element) for p in node.items[:rest]]
        name = node.items[rest].name  # type: ignore[attr-defined]
        whole = type_ if type_[0] == "Array" else ("Array", ANY)
        middle = self._variable(name.text, whole, False, None) if name else lambda env, value: True
        after = [self._of(p, element) for p in node.items[rest + 1 :]]

        def test(env: list[Any], value: Any) -> bool:
            if not isinstance(value, Arr) or len(value.items) < len(before) + len(after):
                return False
            end = len(value.items) - len(after)
            first = all(p(env, v) for p, v in zip(before, value.items, strict=False))
            middle(env, Arr(value.items[len(before) : end]))
            return first and all(p(env, v) for p, v in zip(after, value.items[end:], strict=True))

        return test

    def _unit(self, path: list[str]) -> Matcher:
        owner, variant = path if len(path) == 2 else ("", "")
        if isinstance(self.scope.find(owner), ast.Enum):
            return lambda env, value: isinstance(value, Unit) and value == (owner, variant)
        if owner in FAMILIES:
            return lambda env, value: isinstance(value, Err) and (value.family, value.variant) == (owner, variant)
        raise NotClaimed("path pattern")

    def _variant(self, node: ast.TupleStructPattern, type_: Type) -> Matcher:
        path = [p.text for p in node.path]
        if len(path) == 2:
            known, message = self._unit(path), self._of(node.items[0], STRING)
            return lambda env, value: known(env, value) and message(env, value.message)
        if self.scope.find(path[0]) is not None or path[0] not in ("Some", "Ok", "Err"):
            raise NotClaimed("variant pattern")
        kind, good = (Opt, True) if path[0] == "Some" else (Res, path[0] == "Ok")
        part = type_[1 if good else 2] if type_[0] in ("Option", "Result") else ANY
        if len(node.items) != 1:
            raise NotClaimed("payload pattern")
        inner = self._of(node.items[0], part)
        return lambda env, value: isinstance(value, kind) and value[0] is good and inner(env, value.value)

    def _struct(self, node: ast.StructPattern) -> Matcher:
        name = node.path[-1].text
        item = self.scope.find(name)
        rows = [(f.name.text, f.pattern) for f in node.fields]
        if isinstance(item, StructItem):
            made = [(f, self._of(p, item.fields[f])) for f, p in rows]
            return lambda env, value: (
                isinstance(value, Struct) and value.name == name and all(p(env, value.fields[f]) for f, p in made)
            )
        if node.path[0].text not in FAMILIES:
            raise NotClaimed("struct pattern")
        known = self._unit([p.text for p in node.path]) if len(node.path) == 2 else _of_family(name)
        tests = [(f, self._of(p, STRING if f in ("kind", "message") else ANY)) for f, p in rows]
        return lambda env, value: known(env, value) and all(p(env, field_of_error(value, f)) for f, p in tests)


def _of_family(family: str) -> Matcher:
    return lambda env, value: isinstance(value, Err) and descends(value.family, family)


def field_of_error(value: Err, name: str) -> Any:
    """L-3.11.1, L-3.11.13: an extra field that is not carried is nil."""
    plain = {"kind": value.family, "variant": value.variant, "message": value.message}
    return plain[name] if name in plain else value.extra.get(name)


def _in_interval(node: ast.RangePattern, value: Any) -> bool:
    if node.start is not None and not value >= node.start:
        return False
    if node.end is None:
        return bool(value == value)
    return bool(value <= node.end if node.inclusive else value < node.end)


def refined(type_: Type, node: ast.MatchArm) -> Type:
    """The subject's type for the arms after this one (L-3.7.3)."""
    type_ = prune(type_)
    is_nil = isinstance(node.pattern, ast.LiteralPattern) and node.pattern.value is None
    return type_[1] if is_nil and node.guard is None and type_[0] == "Nilable" else type_


def caught(type_: Type) -> Callable[[Any], bool]:
    """Whether a catch clause of this type takes an error (L-3.11.15, L-5.12.3)."""
    type_ = prune(type_)
    if type_ in (INT, STRING, NIL):
        return lambda value: has_kind(value, type_)
    return lambda value: has_kind(value, type_)
