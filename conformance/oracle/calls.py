"""Items and calls: functions, constructors, built-in functions, methods, errors (L-3.8, L-5.9, L-6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.parse import parse
from concerto.compiler.source import Source

from .members import MEMBERS, SIGNATURES, bounds, elements, length, total
from .places import read, write
from .scopes import Constant, Frame, Function, Scope, StructItem, type_of
from .types import ANY, BOOL, FLOAT, INT, NEVER, NIL, STRING, NotClaimed, Type, Var, checked, convert, prune, substitute
from .values import FAMILIES, Arr, Err, Fn, Mapping, Opt, Panic, Res, Rng, Struct, Tup, Unit, display, equal, json_text, kind_of

Code = Callable[[list[Any]], Any]
Typed = tuple[Type, Code]
Parameters = list[tuple[str, Type, bool]]  # name, type, may be left out


class Signature:
    """A built-in method's, as SIGNATURES declares it."""

    def __init__(self, owner: ast.Trait, node: ast.Function) -> None:
        names = tuple(p.name.text for p in [*owner.type_parameters, *node.type_parameters])
        scope = Scope(None, Frame(None))
        self.owner, self.names = [p.name.text for p in owner.type_parameters], names
        self.mut = node.parameters[0].mutable
        self.parameters = [
            (p.name.text, type_of(p.type, scope, names), p.default is not None) for p in node.parameters[1:]
        ]
        self.result = type_of(node.result, scope, names)


def _signatures() -> dict[tuple[str, str], Signature]:
    found = Diagnostics()
    traits = parse(Source("signatures", SIGNATURES), found).items
    assert not found.has_errors, found.found
    return {(t.name.text, f.name.text): Signature(t, f) for t in traits if isinstance(t, ast.Trait) for f in t.methods}


METHODS = _signatures()


class Calls:
    expr: Callable[..., Typed]
    site: Callable[..., Code]
    place: Callable[..., Any]
    body: Callable[..., Typed]
    line: Callable[[ast.Node], int]

    def __init__(self) -> None:
        self.depth = 0
        self.limit = 10_000
        self.asserts = 0
        self.emit: Callable[[str, str], None] = lambda channel, payload: None
        self.waiting: list[Callable[[], None]] = []
        self.never: dict[int, bool] = {}

    # ------------------------------------------------------------ items

    def declare(self, scope: Scope, items: list[Any]) -> None:
        """All names of a scope first, then what stands behind them (L-5.4.2)."""
        inner = scope.items_only() if scope.parent else scope
        makers = {ast.Function: Function, ast.Const: Constant, ast.Struct: StructItem, ast.Schema: StructItem}
        for item in items:
            plain = isinstance(item, tuple(makers) + (ast.Enum, ast.TypeAlias))
            generic = getattr(item, "type_parameters", None)
            if not plain or generic or item.decorators or getattr(item, "is_async", False) or getattr(item, "clauses", None):
                raise NotClaimed(f"item {type(item).__name__}")
            if isinstance(item, ast.Enum) and any(v.items is not None or v.fields is not None for v in item.variants):
                raise NotClaimed("enum with payload")
            if isinstance(item, (ast.Enum, ast.TypeAlias)):
                scope.names[item.name.text] = inner.names[item.name.text] = item
            elif isinstance(item, (ast.Struct, ast.Schema)):
                scope.names[item.name.text] = inner.names[item.name.text] = StructItem(item, inner)
        for item in items:
            if isinstance(item, (ast.Function, ast.Const)):
                made = makers[type(item)](item, inner)
                scope.names[item.name.text] = inner.names[item.name.text] = made
        for item in items:
            self._define(inner.names[item.name.text], inner)
        while scope.parent is None and self.waiting:
            self.waiting.pop()()

    def _define(self, item: Any, scope: Scope) -> None:
        if isinstance(item, StructItem):
            for f in item.node.fields or []:
                if f.optional:
                    raise NotClaimed("optional field")
                item.fields[f.name.text] = type_of(f.type, scope)
            self.waiting.append(lambda: self._field_defaults(item, scope))
        elif isinstance(item, Function):
            self.waiting.append(lambda: self._elaborate(item))

    def _field_defaults(self, item: StructItem, scope: Scope) -> None:
        for f in item.node.fields or []:
            if f.default is not None:
                item.defaults[f.name.text] = self.alone(f.default, item.fields[f.name.text], scope)

    def alone(self, node: ast.Expr, type_: Type, scope: Scope) -> Code:
        """Code of an expression that stands in no function; it takes any environment."""
        frame = Frame(type_)
        code = self.site(node, Scope(scope, frame), type_)
        return lambda env: code([None] * frame.size)

    def constant(self, item: Constant) -> Any:
        if not item.found:
            item.found.append(self.alone(item.node.value, item.type, item.scope)([]))
        return item.found[0]

    def _elaborate(self, item: Function) -> None:
        node = item.node
        frame = Frame(item.result, is_main=item.name == "main" and node.result is None)
        inner = Scope(item.scope, frame)
        for p, type_ in zip(node.parameters, item.types, strict=True):
            item.defaults.append(None if p.default is None else self.site(p.default, inner, type_))
            inner.declare(p.name.text, type_)
        if node.body is None:
            raise NotClaimed("function without body")
        item.code = self.body(node.body, inner, frame)[1]
        item.size = -1
        item.frame = frame  # type: ignore[attr-defined]

    def value_of(self, item: Function) -> Fn:
        if item.value is None:
            item.value = self.function(item.name, len(item.types), lambda arguments: self.enter(item, [[a] for a in arguments]))
        made: Fn = item.value
        return made

    def enter(self, item: Function, cells: list[Any]) -> Any:
        """Runs a function whose arguments are in `cells`; None where a default is wanted (L-5.9.1)."""
        env = cells + [None] * (item.frame.size - len(cells))  # type: ignore[attr-defined]
        for i, default in enumerate(item.defaults):
            if env[i] is None:
                env[i] = [default(env)]
        return item.code(env)

    def function(self, name: str | None, arity: int, run: Callable[[list[Any]], Any]) -> Fn:
        def call(arguments: list[Any], line: int) -> Any:
            if len(arguments) != arity:
                raise Panic("P015", f"{arity} arguments expected, {len(arguments)} given", line)
            return self.framed(run, arguments, line)

        return Fn(name, arity, call)

    def framed(self, run: Callable[[Any], Any], argument: Any, line: int) -> Any:
        if self.depth >= self.limit:
            raise Panic("P012", f"call depth exceeded: {self.limit}", line)
        self.depth += 1
        try:
            return run(argument)
        finally:
            self.depth -= 1

    # ------------------------------------------------------------ constructors, paths

    def named_type(self, path: list[ast.Ident], scope: Scope) -> Type:
        item = scope.find(path[0].text)
        if isinstance(item, ast.TypeAlias):
            return type_of(item.target, scope)
        if isinstance(item, StructItem) and len(path) == 1:
            return ("Struct", item.name, item)
        if path[0].text in FAMILIES and item is None and len(path) == 2:
            return ("Error", path[0].text)
        raise NotClaimed("literal")

    def error_literal(self, node: ast.StructExpr, scope: Scope, type_: Type) -> Typed:
        rows = [(f.name.text, self.expr(f.value, scope)[1]) for f in node.fields]
        variant = node.path[1].text

        def make(env: list[Any]) -> Err:
            return Err(type_[1], variant, variant, {name: code(env) for name, code in rows})

        return type_, make

    def associated(self, names: list[str], found: Any) -> Typed:
        """`E::V`, `F::V`."""
        if isinstance(found, ast.Enum) and len(names) == 2:
            value = Unit(*names)
            return ("Enum", names[0]), lambda env: value
        if found is None and names[0] in FAMILIES and len(names) == 2:
            error = Err(names[0], names[1], names[1], {})
            return ("Error", names[0]), lambda env: error
        raise NotClaimed("path")

    def constructor(self, name: str) -> Typed:
        payload = Var()
        types = {"Some": ("Option", payload), "Ok": ("Result", payload, Var()), "Err": ("Result", Var(), payload)}
        make = {"Some": lambda a: Opt(True, *a), "Ok": lambda a: Res(True, *a), "Err": lambda a: Res(False, *a)}[name]
        value = self.function(name, 1, make)
        return ("Fn", (payload,), types[name]), lambda env: value

    # ------------------------------------------------------------ calls

    def on_Call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        callee, line = node.callee, self.line(node)
        if isinstance(callee, ast.PathExpr) and callee.member is None:
            names = [s.text for s in callee.segments]
            found = scope.find(names[0])
            if isinstance(found, Function) and len(names) == 1:
                return self._function_call(found, node, scope)
            if found is None and len(names) == 1 and names[0] in ("Some", "Ok", "Err"):
                return self._constructor_call(names[0], node, scope, expected)
            if found is None and len(names) == 2 and names[0] in FAMILIES:
                variant = None if names[1] == "new" else names[1]
                message = self.site(node.arguments[0].value, scope, STRING)
                return ("Error", names[0]), lambda env: Err(names[0], variant, message(env), {})
            if found is None and len(names) == 1:
                return self._builtin(names[0], node, scope)
        type_, code = self.expr(callee, scope)
        return self.call_value(type_, code, [a.value for a in node.arguments], scope, line)

    def call_value(self, type_: Type, code: Code, nodes: list[ast.Expr], scope: Scope, line: int) -> Typed:
        type_ = prune(type_)
        if type_[0] == "Fn":
            codes = [self.site(n, scope, t) for n, t in zip(nodes, type_[1], strict=True)]
            result = type_[2]
        elif type_ == ANY:
            codes, result = [self.site(n, scope, ANY) for n in nodes], ANY
        else:
            raise NotClaimed("call of another value")

        def run(env: list[Any]) -> Any:
            f = code(env)
            arguments = [c(env) for c in codes]
            if not isinstance(f, Fn):
                raise Panic("P015", f"{kind_of(f)} is no function", line)
            return f.call(arguments, line)

        return result, run

    def arguments(self, node: Any, parameters: Parameters, scope: Scope) -> list[tuple[int, Code, Type]]:
        """The arguments as written, each with the number of its parameter (L-3.8.1)."""
        names = [name for name, _, _ in parameters]
        rows = []
        for i, argument in enumerate(node.arguments):
            at = i if argument.name is None else names.index(argument.name.text)
            type_, code = self.expr(argument.value, scope, parameters[at][1])
            line = self.line(argument.value)
            rows.append((at, _converted(code, convert(type_, parameters[at][1], line)), prune(type_)))
        return rows

    def _function_call(self, item: Function, node: ast.Call, scope: Scope) -> Typed:
        line, count = self.line(node), len(item.types)
        parameters = [(name, type_, False) for name, type_ in zip(item.parameters, item.types, strict=True)]
        rows = self.arguments(node, parameters, scope)

        def run(env: list[Any]) -> Any:
            cells: list[Any] = [None] * count
            for at, code, _ in rows:
                cells[at] = [code(env)]
            return self.framed(lambda c: self.enter(item, c), cells, line)

        return item.result, run

    def _constructor_call(self, name: str, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        head, part = {"Some": ("Option", 1), "Ok": ("Result", 1), "Err": ("Result", 2)}[name]
        wanted = expected
        while wanted is not None and not isinstance(wanted, Var) and wanted[0] == "Nilable":
            wanted = prune(wanted[1])
        known = prune(wanted[part]) if isinstance(wanted, tuple) and wanted[0] == head else Var()
        known = ANY if wanted == ANY else known
        argument = node.arguments[0].value if node.arguments else None
        if argument is None:
            payload, code = NIL, lambda env: None
        elif isinstance(known, Var):
            payload, code = self.expr(argument, scope)
        else:
            payload, code = known, self.site(argument, scope, known)
        if head == "Option":
            return ("Option", payload), lambda env: Opt(True, code(env))
        types = (payload, Var()) if name == "Ok" else (Var(), payload)
        return ("Result", *types), lambda env: Res(name == "Ok", code(env))

    # ------------------------------------------------------------ built-in functions

    def _builtin(self, name: str, node: ast.Call, scope: Scope) -> Typed:
        line = self.line(node)
        made = getattr(self, "_call_" + name, None)
        if made is None:
            raise NotClaimed(f"call of {name}")
        if name == "emit":
            return self._call_emit(node, scope, line)
        shapes: dict[str, Parameters] = {
            "panic": [("msg", STRING, False)], "assert": [("c", ANY, False), ("msg", STRING, True)],
            "assert_eq": [("a", ANY, False), ("b", ANY, False), ("msg", STRING, True)],
        }  # fmt: skip
        shapes["assert_ne"] = shapes["assert_eq"]
        parameters = shapes.get(name) or [("x", ANY, False)] * len(node.arguments)
        rows = self.arguments(node, parameters, scope)
        results = {"len": INT, "typeof": STRING, "panic": NEVER}

        def run(env: list[Any]) -> Any:
            given: dict[int, Any] = {}
            for at, code, _ in rows:
                given[at] = code(env)
            return made([given.get(i, "") for i in range(len(parameters))], line)

        return results.get(name, NIL), run

    def _call_emit(self, node: ast.Call, scope: Scope, line: int) -> Typed:
        named = {a.name.text if a.name else ("channel", "payload")[i]: a.value for i, a in enumerate(node.arguments)}
        if not set(named) <= {"channel", "payload"}:
            raise NotClaimed("emit with a time limit")
        types = node.callee.type_arguments or []  # type: ignore[attr-defined]
        wanted = type_of(types[0], scope) if types else ANY
        codes = [(name, self.site(value, scope, STRING if name == "channel" else wanted)) for name, value in named.items()]

        def run(env: list[Any]) -> None:
            given: dict[str, Any] = {"payload": None}
            for name, code in codes:
                try:
                    given[name] = code(env)
                except Panic as panic:
                    if types and name == "payload" and panic.code == "P007" and panic.line == line:
                        raise Panic("P415", panic.message, line) from None
                    raise
            self.emit(given["channel"], json_text(given["payload"]))

        return NIL, run

    def _call_print(self, values: list[Any], line: int) -> None:
        for value in values:
            display(value)

    _call_println = _call_print

    def _call_len(self, values: list[Any], line: int) -> int:
        match values[0]:
            case Rng():
                return length(bounds(values[0]))
            case str() | Arr() | Tup() | Mapping():
                return len(elements(values[0], line)) if not isinstance(values[0], Mapping) else len(values[0].entries)
        raise Panic("P007", f"{kind_of(values[0])} has no length", line)

    def _call_typeof(self, values: list[Any], line: int) -> str:
        return kind_of(values[0])

    def _call_panic(self, values: list[Any], line: int) -> None:
        raise Panic("P001", values[0], line)

    def _claim(self, holds: bool, message: str, line: int) -> None:
        self.asserts += 1
        if not holds:
            raise Panic("P011", f"assertion failed: {message}", line)

    def _call_assert(self, values: list[Any], line: int) -> None:
        value = values[0]
        if type(value) is not bool:
            raise NotClaimed("assert of another kind")
        self._claim(value, values[1], line)

    def _call_assert_eq(self, values: list[Any], line: int) -> None:
        self._claim(equal(values[0], values[1]), values[2], line)

    def _call_assert_ne(self, values: list[Any], line: int) -> None:
        self._claim(not equal(values[0], values[1]), values[2], line)

    # ------------------------------------------------------------ methods

    def on_MethodCall(self, node: ast.MethodCall, scope: Scope, expected: Type | None) -> Typed:
        name, line = node.name.text, self.line(node)
        place = self.place(node.receiver, scope)
        type_, code = self.expr(node.receiver, scope) if place is None else (place[0], _reader(place))
        type_ = prune(type_)
        if isinstance(type_, Var) or node.type_arguments:
            raise NotClaimed("method of an open type")
        if name == "to_string" and not node.arguments:
            return STRING, lambda env: display(code(env))
        if type_ == ANY:
            return self._dynamic(node, place, code, scope, line)
        if type_[0] == "Struct" and name in type_[2].fields:
            nodes = [a.value for a in node.arguments]
            return self.call_value(type_[2].fields[name], lambda env: code(env).fields[name], nodes, scope, line)
        if (type_[0], name) not in METHODS:
            raise NotClaimed(f"method {name} of {type_[0]}")
        return self._method(node, type_, METHODS[type_[0], name], place, code, scope)

    def _method(self, node: Any, type_: Type, signature: Signature, place: Any, code: Code, scope: Scope) -> Typed:
        name, line, kind = node.name.text, self.line(node), type_[0]
        names: dict[str, Type] = {n: Var() for n in signature.names}
        names |= dict(zip(signature.owner, type_[1:], strict=False))
        rows = self.arguments(node, [(n, substitute(t, names), o) for n, t, o in signature.parameters], scope)
        result = substitute(signature.result, names)
        if kind in ("Int", "Float") and name in ("abs", "pow", "min", "max"):
            types = {type_, *(t for _, _, t in rows)}
            result = ANY if ANY in types else FLOAT if FLOAT in types else INT
        method = MEMBERS[f"{kind}.{name}"]
        if name == "sum":
            zero = 0.0 if prune(type_[1]) == FLOAT else 0
            method = lambda value, line: total(value, zero, line)  # noqa: E731

        def run(env: list[Any]) -> Any:
            steps = None if place is None or not signature.mut else _steps(env, place)
            value = code(env) if steps is None else None
            given = {at: c(env) for at, c, _ in rows}
            arguments = [given[at] for at in sorted(given)]
            if steps is not None:
                return _change(env, place, steps, kind, method, arguments, line)
            made = method(_of_kind(value, kind), *arguments, line)
            return made[0] if signature.mut else made

        return result, run

    def _dynamic(self, node: ast.MethodCall, place: Any, code: Code, scope: Scope, line: int) -> Typed:
        """L-3.7.1: the method is found by run-time type."""
        name = node.name.text
        rows = [(a.name and a.name.text, self.site(a.value, scope, ANY)) for a in node.arguments]

        def run(env: list[Any]) -> Any:
            steps = None if place is None else _steps(env, place)
            value = code(env) if steps is None else _walk(env, place, steps)
            given = [(label, c(env)) for label, c in rows]
            kind = kind_of(value)
            field = value.fields.get(name) if isinstance(value, Struct) else None
            signature = METHODS.get((kind, name))
            if isinstance(field, Fn):
                return field.call([v for _, v in given], line)
            if signature is None or signature.mut and place is not None and not place[1].mutable:
                raise Panic("P014", f"{kind} has no method {name}", line)
            arguments, method = _ordered(signature, given, line), MEMBERS[f"{kind}.{name}"]
            if signature.mut and steps is not None:
                return _change(env, place, steps, kind, method, arguments, line)
            made = method(value, *arguments, line)
            return made[0] if signature.mut else made

        return ANY, run


def _converted(code: Code, conversion: Any) -> Code:
    return code if conversion is None else lambda env: conversion(code(env))


def _ordered(signature: Signature, given: list[tuple[str | None, Any]], line: int) -> list[Any]:
    names = [name for name, _, _ in signature.parameters]
    found: dict[str, Any] = {}
    for i, (label, value) in enumerate(given):
        label = label or (names[i] if i < len(names) else "")
        if label not in names or label in found:
            raise Panic("P015", f"{len(names)} arguments expected, {len(given)} given", line)
        found[label] = value
    if any(name not in found and not optional for name, _, optional in signature.parameters):
        raise Panic("P015", f"{len(names)} arguments expected, {len(given)} given", line)
    for name, type_, _ in signature.parameters:
        if name in found and type_ in (INT, FLOAT, STRING, BOOL):
            found[name] = checked(found[name], type_, line)
    return [found[name] for name in names if name in found]


def _of_kind(value: Any, kind: str) -> Any:
    if kind_of(value) != kind:
        raise NotClaimed("a value of another kind behind an unchecked element")
    return value


def _steps(env: list[Any], place: Any) -> list[Any]:
    return [(how, key(env), line) for how, key, line in place[2]]


def _walk(env: list[Any], place: Any, steps: list[Any]) -> Any:
    value = env[place[1].slot][0]
    for step in steps:
        value = read(value, step)
    return value


def _reader(place: Any) -> Code:
    def run(env: list[Any]) -> Any:
        value = env[place[1].slot][0]
        for how, key, line in place[2]:
            value = read(value, (how, key(env), line))
        return value

    return run


def _change(env: list[Any], place: Any, steps: list[Any], kind: str, method: Any, arguments: list[Any], line: int) -> Any:
    """A *mut* method works in place on its receiver place (L-5.5.6); a key on the way must exist (L-5.5.5)."""
    cell = env[place[1].slot]
    value = cell[0]
    for how, key, at in steps:
        value = read(value, ("index" if isinstance(value, Mapping) else how, key, at))
    result, new = method(_of_kind(value, kind), *arguments, line)
    cell[0] = write(cell[0], steps, new)
    return result
