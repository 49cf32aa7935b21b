"""Places: chains of `.name`, `.N`, `[index]` (L-5.5.1, L-5.5.5, L-5.6, L-3.7.1), and patterns (L-5.8).

Hands on `read`, `write`, `Place` and `Patterns` to `calls` and `evaluate`. A write returns the new value of the root:
nothing is changed in place. A step is a pair of how it is taken ("field", "error", "at", "index") and the key. A
pattern becomes a function of environment and value that tests the value and fills the variables it binds; a new
pattern is a case of `Patterns.of`.
"""

from collections import namedtuple

from concerto.compiler.syntax import ast

from .scopes import Function, Item, Local, Scope, Variant, declared, resolve, texts
from .types import ANY, STRING, Type, has_kind, known, prune
from .values import (COMPARISONS, NONE, NUMERIC, OPTION, PARENTS, RESULT, Any, Arr, Err, Map, Panic, Rec, Rng, Tup,
    bounds, clamped, display, element, equal, key_of, kind_of, stop)  # fmt: skip

Code = Any  # a function of the environment


def part(value: Any, name: Any, of_error: bool = False) -> Any:
    """Return a field, or a part of a payload. Of what is read as an error, None for what it lacks (L-3.11.1,
    L-3.11.13, L-3.11.14)."""
    fields = value.fields if isinstance(value, Rec) else {}
    if not of_error and not isinstance(value, Err):
        return fields.get(name) if isinstance(value, Rec) else value.payload[name]
    message = fields["message"] if isinstance(fields.get("message"), str) else display(value)
    plain = {"kind": kind_of(value), "variant": getattr(value, "variant", None), "message": message, 0: message}
    return {**getattr(value, "extra", {}), **plain}.get(name)


def present(value: Map, key: Any) -> Any:
    """Return the key of a map as it is stored; panic P005 for a key that is not in it."""
    return key_of(key) if key_of(key) in value else stop(Panic("P005", f"key not found: {display(key)}"))


def read(value: Any, how: str, key: Any) -> Any:
    """Return what is one step inside of a value; panic for a step that the value does not have."""
    if how == "error" or how == "field" and isinstance(value, (Rec, Map, Err)):
        return value.get((str, key)) if isinstance(value, Map) else part(value, key, how == "error")
    if how == "index" and isinstance(key, Rng) and type(value) in (Arr, str, bytes):
        return type(value)(value[clamped(key.start or 0, max(key.start or 0, bounds(key).stop), len(value))])
    if how != "field" and type(value) is Tup or how == "index" and type(value) in (Arr, str, bytes):
        return value[element(value, key)]
    if how == "index" and (isinstance(value, Map) or isinstance(value, Rng) and type(key) is int):
        return value[present(value, key)] if isinstance(value, Map) else (value.start or 0) + element(value, key)
    raise Panic("P014" if how == "field" else "P007", f"{kind_of(value)} has no member {display(key)}")


def write(value: Any, steps: list[Any], new: Any) -> Any:
    """Return `value` with `new` stored at the end of `steps`; panic for a place that the value does not have."""
    if not steps:
        return new
    (how, key), *rest = steps
    if isinstance(value, Map) and how != "at":
        stored_key = present(value, key) if rest else key_of(key)
        return Map({**value, stored_key: write(value.get(stored_key), rest, new)})
    if isinstance(value, (str, Rng)) or isinstance(value, Rec) and key not in value.fields:
        raise Panic("P014" if how == "field" else "P007", f"{kind_of(value)} has no place {key}")
    inner = write(read(value, how, key), rest, new)
    if isinstance(value, Rec):
        return value._replace(fields={**value.fields, key: inner})
    return type(value)((*value[:key], inner, *value[key + 1 :]))


class Place(namedtuple("Place", "type root rows code")):
    """Where a chain begins, a variable (`root`) or another expression (`code`, with `root` None), and its steps: how,
    and the code of the key. `type` is that of the whole chain."""

    def steps(self, env: Any) -> list[tuple[str, Any]]:
        """Return the steps with the values of their keys."""
        return [(how, key(env)) for how, key in self.rows]

    def read(self, env: Any, steps: Any, exists: bool = False) -> Any:
        """Return the value of the place. `exists`: a key on the way must be there (L-5.5.5)."""
        value = self.code(env)
        for how, key in steps:
            value = read(value, "index" if exists and isinstance(value, Map) else how, key)
        return value


CASES = {name: Variant(RESULT if name in ("Ok", "Err") else OPTION, name) for name in ("Some", "None", "Ok", "Err")}


class Patterns:
    """One pattern: the variables it binds go to `scope`; alternatives share them (L-5.8.6). `constant` returns the
    value of a constant. `reads`: the names that the arm reads, None where every value must match; then `at` returns
    the place of an array pattern."""

    def __init__(self, scope: Scope, constant: Any, reads: set[str] | None = None, at: Any = None) -> None:
        self.scope, self.constant, self.bound, self.reads, self.at = scope, constant, {}, reads, at

    def bare(self, word: str, type_: Type) -> Variant | None:
        """Return the variant of the matched type that its name alone means (L-5.8.14), None if there is none."""
        head = prune(type_[1])[0] if type_[0] == "Nilable" else type_[0]
        return Variant(head, word) if isinstance(head, Item) and word in head.variants else None

    def of(self, node: Any, type_: Type) -> Any:
        """Return the test of a pattern against values of the type `type_`."""
        type_ = known(type_) or ANY
        if type_[0] == "Nilable" and prune(type_[1])[0] != "Option":
            words = getattr(node, "path", None) or [node]
            word = getattr(getattr(words[-1], "name", words[-1]), "text", "")
            if word == "Some" and isinstance(node, ast.TupleStructPattern):  # L-5.8.13
                held = self.of(node.items[0], type_[1])
                return lambda env, value: value is not None and held(env, value)
            if word == "None" and isinstance(node, ast.BindPattern):
                return lambda env, value: value is None
        if type_[0] == "Option" and isinstance(node, ast.LiteralPattern) and node.value is None:
            return lambda env, value: value == NONE
        if type_[0] == "Nilable" and not isinstance(node, (ast.BindPattern, ast.OrPattern)):
            type_ = prune(type_[1])
        match node:
            case ast.WildcardPattern() | ast.RestPattern(name=None):
                return lambda env, value: True
            case ast.LiteralPattern():
                return lambda env, value: equal(value, node.value)
            case ast.RangePattern():
                start, end, below = node.start, node.end, COMPARISONS["<=" if node.inclusive else "<"]
                within = lambda x: (start is None or x >= start) and (end is None or below(x, end))  # noqa: E731
                return lambda env, value: type(value) in NUMERIC and within(value)
            case ast.BindPattern() | ast.RestPattern():
                return self._bind(node, type_)
            case ast.OrPattern():
                at, self.at = self.at, None
                alternatives = [self.of(p, type_) for p in node.alternatives[:-1]]
                self.at = at  # of the last one a wrong length is one of the whole
                alternatives.append(self.of(node.alternatives[-1], type_))
                return lambda env, value: any(p(env, value) for p in alternatives)
            case ast.TuplePattern():
                return self._sequence(Tup, node.items, type_[1:] if type_[0] == "Tuple" else [ANY] * len(node.items))
            case ast.ArrayPattern():
                inner = type_[1] if type_[0] == "Array" else ANY
                types = [("Array", inner) if isinstance(p, ast.RestPattern) else inner for p in node.items]
                return self._sequence(Arr, node.items, types, self.at and self.at(node))
            case _:
                nodes: dict[Any, Any] = {f.name.text: f.pattern for f in getattr(node, "fields", ())}
                target = (self.bare(texts(node.path)[0], type_) if len(node.path) == 1 else None) or resolve(
                    self.scope, texts(node.path)
                )
                nodes.update(enumerate(getattr(node, "items", ())))
                return self._parts(CASES[target.name] if isinstance(target, Function) else target, nodes, type_)

    def _bind(self, node: Any, type_: Type) -> Any:
        name, inner, mutable = node.name.text, getattr(node, "inner", None), getattr(node, "mutable", False)
        item = self.scope.find(name) or CASES.get(name)
        unread = self.reads is not None and not {name} & {*self.reads, *self.bound}
        bare = self.bare(name, type_) if unread and inner is None and not mutable else None
        if bare is not None and not bare.node.items and bare.node.fields is None:
            return self._parts(bare, {}, type_)
        if (isinstance(item, Variant) or is_constant(item)) and inner is None and not mutable:
            return self._parts(item, {}, type_)
        test = self.of(inner, type_) if inner else lambda env, value: True
        self.scope.names[name] = local = self.bound.setdefault(name, Local(type_, mutable))
        return lambda env, value: local.bind(env, value) or test(env, value)

    def _sequence(self, kind: type, nodes: Any, types: Any, at: Any = None) -> Any:
        """Return the test of every part of a tuple or an array; `..` takes what the others leave. With a place `at`,
        an array of another length is P010 (L-5.8.11)."""
        tests = [self.of(p, t) for p, t in zip(nodes, types, strict=True)]
        start = next((i for i, p in enumerate(nodes) if isinstance(p, ast.RestPattern)), None)

        def test(env: Any, value: Any) -> bool:
            more = len(value) - len(tests) if type(value) is kind else -2
            if start is not None and more >= -1:
                value = (*value[:start], Arr(value[start : start + more + 1]), *value[start + more + 1 :])
            elif more:
                if at is None or type(value) is not kind:
                    return False
                needed = len(tests) - (start is not None)
                return bool(stop(Panic("P010", f"array pattern: expected {needed} elements, found {len(value)}", at)))
            return all(p(env, v) for p, v in zip(tests, value, strict=True))

        return test

    def _parts(self, target: Any, nodes: dict[Any, ast.Pattern], type_: Type) -> Any:
        """Return the test against a constant, or of what has fields or a payload: `nodes` by name or position."""
        if is_constant(target):
            return lambda env, value: equal(value, self.constant(target))
        item, name = declared(getattr(target, "item", target)), getattr(target, "name", None)
        if isinstance(item, Item):
            types = item.parts(type_ if type_[0] is item else item.instance(lambda p: ANY), name)
        elif item in PARENTS:
            types = {name: STRING if name in (0, "kind", "message") else ANY for name in nodes}
        else:
            types = {0: type_[2 if name == "Err" else 1] if type_[0] in ("Option", "Result") else ANY}
        tests, of_error = [(name, self.of(p, types[name])) for name, p in nodes.items()], target in PARENTS
        kind = (declared(target),)
        return lambda env, value: has_kind(value, kind) and all(p(env, part(value, n, of_error)) for n, p in tests)


def is_constant(item: Any) -> bool:
    """Return whether a name denotes a constant."""
    return isinstance(item, Item) and isinstance(item.node, ast.Const)

