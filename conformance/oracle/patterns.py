"""Patterns (L-5.8): each becomes a function that tests a value and fills the variables it binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from .scopes import Item, Local, Scope, Variant, declared, resolve
from .types import ANY, STRING, NotClaimed, Type, has_kind, known, prune
from .values import OPTION, PARENTS, RESULT, Arr, Case, Err, Rec, Tup, display, equal, is_number, kind_of

Matcher = Callable[[Any, Any], bool]


class Patterns:
    """One pattern: the variables it binds go to `scope`; alternatives share them (L-5.8.6)."""

    def __init__(self, scope: Scope, constant: Callable[[Item], Any]) -> None:
        self.scope, self.constant = scope, constant
        self.bound: dict[str, Local] = {}

    def matcher(self, node: ast.Pattern, type_: Type) -> Matcher:
        made = self.of(node, type_)
        self.scope.names.update(self.bound)
        return made

    def of(self, node: ast.Pattern, type_: Type) -> Matcher:
        type_ = known(type_) or ANY
        if type_[0] == "Nilable" and not isinstance(node, (ast.BindPattern, ast.OrPattern)):
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
                alternatives = [self.of(p, type_) for p in node.alternatives]
                return lambda env, value: any(p(env, value) for p in alternatives)
            case ast.TuplePattern():
                return self._all(Tup, node.items, type_[1:] if type_[0] == "Tuple" else [ANY] * len(node.items))
            case ast.ArrayPattern():
                return self._array(node, type_)
            case ast.PathPattern():
                return self._parts(self._target(node), {}, type_)
            case ast.TupleStructPattern():
                return self._parts(self._target(node), dict(enumerate(node.items)), type_)
            case ast.StructPattern():
                return self._parts(self._target(node), {f.name.text: f.pattern for f in node.fields}, type_)
        raise NotClaimed(f"pattern {type(node).__name__}")

    def _bind(self, node: ast.BindPattern, type_: Type) -> Matcher:
        name = node.name.text
        item = self.scope.find(name)
        if node.inner is None and not node.mutable:
            is_constant = isinstance(item, Item) and isinstance(item.node, ast.Const)
            if is_constant or isinstance(item, Variant) or name == "None" and item is None:
                return self._parts(item or name, {}, type_)
        return self._variable(name, type_, node.mutable, None if node.inner is None else self.of(node.inner, type_))

    def _variable(self, name: str, type_: Type, mutable: bool, inner: Matcher | None) -> Matcher:
        local = self.bound.setdefault(name, Local(type_, mutable))

        def bind(env: Any, value: Any) -> bool:
            env[local] = [value]
            return inner is None or inner(env, value)

        return bind

    def _all(self, kind: type, nodes: Any, types: Any) -> Matcher:
        """Every part of a sequence of that length."""
        made = [self.of(p, t) for p, t in zip(nodes, types, strict=True)]
        return lambda env, value: (
            type(value) is kind and len(value) == len(made) and all(p(env, v) for p, v in zip(made, value, strict=True))
        )

    def _array(self, node: ast.ArrayPattern, type_: Type) -> Matcher:
        element = type_[1] if type_[0] == "Array" else ANY
        rest = next((i for i, p in enumerate(node.items) if isinstance(p, ast.RestPattern)), None)
        if rest is None:
            return self._all(Arr, node.items, [element] * len(node.items))
        before = self._all(Arr, node.items[:rest], [element] * rest)
        name = node.items[rest].name  # type: ignore[attr-defined]
        middle = self._variable(name.text, ("Array", element), False, None) if name else lambda env, value: True
        last = len(node.items) - rest - 1
        after = self._all(Arr, node.items[rest + 1 :], [element] * last)

        def test(env: Any, value: Any) -> bool:
            if type(value) is not Arr or len(value) < rest + last:
                return False
            end = len(value) - last
            parts = (before, value[:rest]), (middle, value[rest:end]), (after, value[end:])
            return all(part(env, Arr(items)) for part, items in parts)

        return test

    def _target(self, node: Any) -> Any:
        path = [p.text for p in node.path]
        return resolve(self.scope, path) or path[-1]

    def _parts(self, target: Any, nodes: dict[Any, ast.Pattern], type_: Type) -> Matcher:
        """A constant, or what has fields or a payload: `nodes` by name or position."""
        if isinstance(target, Item) and isinstance(target.node, ast.Const):
            return lambda env, value: equal(value, self.constant(target))
        family = getattr(target, "item", target)
        if target in ("Some", "None", "Ok", "Err"):
            types: dict[Any, Type] = {0: type_[2 if target == "Err" else 1] if type_[0] in ("Option", "Result") else ANY}
        elif isinstance(family, str) and family in PARENTS:
            types = {name: STRING if name in (0, "kind", "message") else ANY for name in nodes}
        else:
            item = declared(family)
            types = item.parts(type_ if type_[0] is item else item.instance(lambda p: ANY), target)
        made, of_error = [(name, self.of(p, types[name])) for name, p in nodes.items()], target in PARENTS
        return lambda env, value: _denotes(target, value) and all(p(env, part(value, name, of_error)) for name, p in made)


def _denotes(target: Any, value: Any) -> bool:
    """Whether a value is of the variant, family or type."""
    if isinstance(target, Variant) and isinstance(target.item, str):
        return isinstance(value, Err) and (value.family, value.variant) == (target.item, target.name)
    if isinstance(target, Variant):
        return isinstance(value, Case) and (value.item, value.variant) == (target.item, target.name)
    if target in ("Some", "None", "Ok", "Err"):
        return isinstance(value, Case) and value.item in (OPTION, RESULT) and value.variant == target
    return has_kind(value, (declared(target),))


def part(value: Any, name: Any, of_error: bool = False) -> Any:
    """A field, or a part of a payload. Of what is read as an error: L-3.11.1, L-3.11.13, L-3.11.14."""
    if not of_error and not isinstance(value, Err):
        return value.fields.get(name) if isinstance(value, Rec) else value.payload[name]
    message = value.fields.get("message") if isinstance(value, Rec) else None
    message = message if isinstance(message, str) else display(value)
    plain = {"kind": kind_of(value), "variant": getattr(value, "variant", None), "message": message, 0: message}
    return plain[name] if name in plain else getattr(value, "extra", {}).get(name)


def _in_interval(node: ast.RangePattern, value: Any) -> bool:
    below = value == value if node.end is None else value <= node.end if node.inclusive else value < node.end
    return bool(below and (node.start is None or value >= node.start))
