"""Expressions: every node becomes a Python function of the environment, together with its static type.

`expr` gives (type, code); `site` adds the conversion to the type expected where the node stands (L-3.3). The environment of a
call is a list of cells, one per variable; a closure keeps the cells that exist when it is made, so it sees later assignments,
and a loop body makes new cells every round (L-5.9.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast
from concerto.compiler.source import Source

from .calls import Calls
from .members import elements, parse_float, parse_int, truth
from .patterns import Patterns, caught, refined
from .places import read, write
from .scopes import Constant, Frame, Function, Join, Local, Loop, Scope, Target, arithmetic_type, open_to_none, type_of
from .types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NIL,
    RANGE,
    STRING,
    NotClaimed,
    Type,
    Var,
    closed,
    convert,
    has_kind,
    inside,
    join,
    prune,
)
from .values import (
    Arr,
    Err,
    Fn,
    Mapping,
    Opt,
    Panic,
    Res,
    Rng,
    Struct,
    Tup,
    arithmetic,
    display,
    equal,
    key_of,
    kind_of,
    less,
    negative,
    saturated,
)

Code = Callable[[list[Any]], Any]
Typed = tuple[Type, Code]
DISCARD = ("Discard",)  # expected of a value nobody uses: its branches are not joined (L-3.2.7, L-3.4.1)


class Leave(Exception):
    """Control on its way to `target`: a Loop, a Target or a Frame."""

    def __init__(self, target: Any, value: Any, again: bool = False) -> None:
        self.target, self.value, self.again = target, value, again


def adapted(error: Any, type_: Type | None) -> Any:
    """L-3.3.13: a String where an error is expected is a RuntimeError."""
    is_error = type_ is not None and prune(type_)[0] == "Error"
    return Err("RuntimeError", None, error, {}) if is_error and isinstance(error, str) else error


class Evaluator(Calls):
    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.hoisted: dict[int, list[Code]] = {}

    def line(self, node: ast.Node) -> int:
        return self.source.position(node.span.start).line

    def expr(self, node: ast.Expr, scope: Scope, expected: Type | None = None) -> Typed:
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise NotClaimed(type(node).__name__)
        if id(node) in self.hoisted:
            return self._hoisted(node, method, scope, open_to_none(expected))
        made: Typed = method(node, scope, open_to_none(expected))
        return made

    def site(self, node: ast.Expr, scope: Scope, expected: Type) -> Code:
        type_, code = self.expr(node, scope, expected)
        conversion = convert(type_, expected, self.line(node))
        return code if conversion is None else lambda env: conversion(code(env))

    def collect(self, joined: Join, node: ast.Expr, scope: Scope) -> Code:
        return joined.add(*self.expr(node, scope, joined.expected), self.line(node))

    # ------------------------------------------------------------ literals

    def on_IntLiteral(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        value = node.value
        types = {int: INT, float: FLOAT, str: STRING, bool: BOOL, type(None): NIL}
        return types[type(value)], lambda env: value

    on_FloatLiteral = on_StringLiteral = on_BoolLiteral = on_IntLiteral

    def on_NilLiteral(self, node: ast.NilLiteral, scope: Scope, expected: Type | None) -> Typed:
        return NIL, lambda env: None

    def on_GroupExpr(self, node: ast.GroupExpr, scope: Scope, expected: Type | None) -> Typed:
        return self.expr(node.inner, scope, expected)

    def on_Interpolation(self, node: ast.Interpolation, scope: Scope, expected: Type | None) -> Typed:
        codes = [self.expr(part, scope)[1] for part in node.parts]
        return STRING, lambda env: "".join([display(code(env)) for code in codes])

    def on_ArrayExpr(self, node: ast.ArrayExpr, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Array")
        if wanted in (ANY, DISCARD):
            joined = Join(ANY if wanted == ANY else None)
        else:
            joined = Join(open_to_none(wanted[1]) if wanted and wanted[0] == "Array" else None)
        codes = [self.collect(joined, item, scope) for item in node.items]
        element = joined.close() if codes else joined.expected or Var()
        return ("Array", element), lambda env: Arr(tuple([code(env) for code in codes]))

    def on_TupleExpr(self, node: ast.TupleExpr, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Tuple")
        types: list[Type] = []
        codes: list[Code] = []
        for i, item in enumerate(node.items):
            joined = Join(None)
            if wanted and wanted[0] == "Tuple" and len(wanted) == len(node.items) + 1:
                joined = Join(open_to_none(wanted[1 + i]))
            elif wanted == ANY:
                joined = Join(ANY)
            codes.append(self.collect(joined, item, scope))
            types.append(joined.close())
        return ("Tuple", *types), lambda env: Tup(tuple([code(env) for code in codes]))

    def on_MapExpr(self, node: ast.MapExpr, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Map")
        known = wanted[1:] if wanted and wanted[0] == "Map" else (ANY, ANY) if wanted == ANY else (None, None)
        keys, values = (Join(open_to_none(t)) for t in known)
        rows = [(self.collect(keys, e.key, scope), self.collect(values, e.value, scope), self.line(e)) for e in node.entries]
        types = [j.close() if rows else j.expected or Var() for j in (keys, values)]

        def make(env: list[Any]) -> Mapping:
            entries: dict[tuple[str, Any], Any] = {}
            for key, value, line in rows:
                found = key_of(key(env), line)
                entries[found] = value(env)
            return Mapping(entries)

        return ("Map", *types), make

    def on_StructExpr(self, node: ast.StructExpr, scope: Scope, expected: Type | None) -> Typed:
        type_ = self.named_type(node.path, scope)
        if type_[0] == "Error":
            return self.error_literal(node, scope, type_)
        item = type_[2]
        rows = [(f.name.text, self.site(f.value, scope, item.fields[f.name.text])) for f in node.fields]
        base = None if node.base is None else self.site(node.base, scope, type_)
        given = {name for name, _ in rows}

        def make(env: list[Any]) -> Struct:
            fields = {name: code(env) for name, code in rows}
            if base is not None:
                fields = {**base(env).fields, **fields}
            else:
                fields |= {name: item.defaults[name]([]) for name in item.fields if name not in given}
            return Struct(item.name, {name: fields[name] for name in item.fields})

        return type_, make

    def on_RangeExpr(self, node: ast.RangeExpr, scope: Scope, expected: Type | None) -> Typed:
        ends = [None if e is None else self.site(e, scope, INT) for e in (node.start, node.end)]
        return RANGE, lambda env: Rng(*[e and e(env) for e in ends], node.inclusive)  # type: ignore[call-arg]

    # ------------------------------------------------------------ operators

    def on_Unary(self, node: ast.Unary, scope: Scope, expected: Type | None) -> Typed:
        type_, code = self.expr(node.operand, scope)
        line = self.line(node)
        if node.operator == "!":
            return BOOL, lambda env: not truth(code(env), line)
        if isinstance(node.operand, ast.IntLiteral):
            value = -node.operand.value
            return INT, lambda env: value
        return type_, lambda env: negative(code(env), line)

    def on_Binary(self, node: ast.Binary, scope: Scope, expected: Type | None) -> Typed:
        operator, line = node.operator, self.line(node)
        if operator == "??":
            return self._absent(node, scope, expected)
        a, left = self.expr(node.left, scope)
        b, right = self.expr(node.right, scope)
        if operator in ("&&", "||"):
            stop = operator == "||"
            return BOOL, lambda env: stop if truth(left(env), line) is stop else truth(right(env), line)
        if operator in ("==", "!="):
            return BOOL, lambda env: equal(left(env), right(env)) is (operator == "==")
        if operator in ("<", ">", "<=", ">="):
            return BOOL, lambda env: _compared(operator, left(env), right(env), line)
        return arithmetic_type(operator, a, b), lambda env: arithmetic(operator, left(env), right(env), line)

    def _absent(self, node: ast.Binary, scope: Scope, expected: Type | None) -> Typed:
        type_, left = self.expr(node.left, scope)
        type_ = prune(type_)
        if type_[0] not in ("Option", "Nilable", "Any", "Nil"):
            raise NotClaimed("left of ??")
        inner = ANY if type_ == ANY else NEVER if type_ == NIL else type_[1]
        joined = Join(None)
        held: list[Any] = [None]
        present = joined.add(inner, lambda env: held[0], self.line(node))
        known = None if isinstance(prune(inner), Var) or type_ == NIL else inner
        right = joined.add(*self.expr(node.right, scope, known), self.line(node.right))

        def run(env: list[Any]) -> Any:
            value = left(env)
            if value is None or isinstance(value, Opt) and not value.some:
                return right(env)
            held[0] = value.value if isinstance(value, Opt) else value
            return present(env)

        return joined.close(), run

    def on_Cast(self, node: ast.Cast, scope: Scope, expected: Type | None) -> Typed:
        target, line = type_of(node.target, scope), self.line(node)
        type_, code = self.expr(node.operand, scope)
        if target in (INT, FLOAT, STRING, BOOL):
            return target, lambda env: cast(code(env), target, line)
        if prune(type_) == ANY or target[0] == "Union":
            raise NotClaimed("checked cast")
        conversion = convert(type_, target, line)
        return target, code if conversion is None else lambda env: conversion(code(env))

    def on_Pipe(self, node: ast.Pipe, scope: Scope, expected: Type | None) -> Typed:
        """L-5.9.2: the left side first; what it gave is then read where it stands as an argument."""
        self.hoisted[id(node.left)] = []
        type_, code = self.expr(node.applied, scope, expected)
        slot, left = self.hoisted.pop(id(node.left))

        def run(env: list[Any]) -> Any:
            env[slot] = [left(env)]  # type: ignore[call-overload]
            return code(env)

        return type_, run

    def _hoisted(self, node: ast.Expr, method: Any, scope: Scope, expected: Type | None) -> Typed:
        type_, code = method(node, scope, expected)
        slot = scope.frame.slot()
        self.hoisted[id(node)] = [slot, code]  # type: ignore[list-item]
        return type_, lambda env: env[slot][0]

    # ------------------------------------------------------------ names, places

    def on_PathExpr(self, node: ast.PathExpr, scope: Scope, expected: Type | None) -> Typed:
        names = [s.text for s in node.segments]
        found = scope.find(names[0])
        if len(names) > 1 or node.type_arguments or node.member:
            return self.associated(names, found)
        if isinstance(found, Local):
            slot = found.slot
            return found.type, lambda env: env[slot][0]
        if isinstance(found, Constant):
            return found.type, lambda env: self.constant(found)
        if isinstance(found, Function):
            return ("Fn", tuple(found.types), found.result), lambda env: self.value_of(found)
        if found is None and names[0] == "None":
            return ("Option", Var()), lambda env: Opt(False)
        if found is None and names[0] in ("Some", "Ok", "Err"):
            return self.constructor(names[0])
        raise NotClaimed(f"name {names[0]}")

    def step(self, node: Any, receiver: Type, scope: Scope, place: bool) -> tuple[Type, str, Code, int]:
        """The last step of `node`: its type, and how it is taken."""
        t, line = prune(receiver), self.line(node)
        if isinstance(node, ast.FieldAccess):
            name = node.name.text
            return self._field_type(t, name, place), "field", lambda env: name, line
        if isinstance(node, ast.TupleAccess):
            index = node.index
            return t[1 + index] if t[0] == "Tuple" else ANY, "at", lambda env: index, line
        key_type, key = self.expr(node.index, scope)
        if t[0] == "Map":
            type_, key = t[2], self.site(node.index, scope, t[1])
        elif t[0] == "Tuple":
            literal = isinstance(node.index, ast.IntLiteral)
            type_ = t[1 + node.index.value] if literal else self.joined(t[1:])
        elif prune(key_type) == RANGE:
            type_ = t
        else:
            known = {"Array": t[1] if t[0] == "Array" else ANY, "String": STRING, "Range": INT, "Any": ANY}
            if t[0] not in known:
                raise NotClaimed("index")
            type_ = known[t[0]] if prune(key_type) == INT else ANY
        return type_, "index", key, line

    def _field_type(self, t: Type, name: str, place: bool) -> Type:
        if t[0] == "Struct" and name in t[2].fields:
            return t[2].fields[name]
        if t[0] == "Map":
            return t[2] if place or prune(t[2]) == ANY else join(t[2], NIL)
        if t[0] == "Error":
            return {"kind": STRING, "message": STRING, "variant": ("Nilable", STRING)}.get(name, ANY)
        if t != ANY:
            raise NotClaimed(f"field {name}")
        return ANY

    def joined(self, types: Any) -> Type:
        joined: Type = NEVER
        for t in types:
            joined = join(joined, t)
        return joined

    def _read(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        receiver, code = self.expr(node.receiver, scope)
        type_, how, key, line = self.step(node, receiver, scope, place=False)
        return type_, lambda env: read(code(env), (how, key(env), line))

    on_FieldAccess = on_TupleAccess = on_Index = _read

    def place(self, node: ast.Expr, scope: Scope) -> tuple[Type, Local, list[tuple[str, Code, int]]] | None:
        """The type, root and steps of a place; None for another expression."""
        if isinstance(node, ast.GroupExpr):
            return self.place(node.inner, scope)
        if isinstance(node, ast.PathExpr):
            found = scope.find(node.segments[0].text) if len(node.segments) == 1 else None
            return (found.type, found, []) if isinstance(found, Local) else None
        if not isinstance(node, (ast.FieldAccess, ast.TupleAccess, ast.Index)) or id(node) in self.hoisted:
            return None
        receiver = self.place(node.receiver, scope)
        if receiver is None:
            return None
        type_, how, key, line = self.step(node, receiver[0], scope, place=True)
        return type_, receiver[1], [*receiver[2], (how, key, line)]

    def on_Assign(self, node: ast.Assign, scope: Scope, expected: Type | None) -> Typed:
        place = self.place(node.target, scope)
        if place is None:
            raise NotClaimed("assignment target")
        type_, root, rows = place
        slot, line, operator = root.slot, self.line(node), node.operator[:-1]
        b, value = self.expr(node.value, scope, None if operator else type_)
        given = arithmetic_type(operator, type_, b) if operator else b
        conversion = convert(given, type_, line)

        def run(env: list[Any]) -> Any:
            steps = [(how, key(env), at) for how, key, at in rows]
            if operator:
                old = env[slot][0]
                for step in steps:
                    old = read(old, step)
                new = arithmetic(operator, old, value(env), line)
            else:
                new = value(env)
            new = new if conversion is None else conversion(new)
            env[slot][0] = write(env[slot][0], steps, new)
            return new

        return type_, run

    # ------------------------------------------------------------ blocks, branches

    def on_Block(self, node: ast.Block, scope: Scope, expected: Type | None) -> Typed:
        inner = Scope(scope, scope.frame)
        self.declare(inner, [s.item for s in node.statements if isinstance(s, ast.ItemStmt)])
        codes = [code for s in node.statements if (code := self.statement(s, inner)) is not None]
        diverges = node.result is None and any(map(self._diverges, node.statements))
        type_, result = (NEVER if diverges else NIL), None
        if node.result is not None:
            type_, result = self.expr(node.result, inner, expected)
            if expected == DISCARD and scope.frame.targets:  # L-3.12.9 puts discarded tails beside statements
                result = self.thrown_if_error(type_, result, scope)

        def run(env: list[Any]) -> Any:
            for code in codes:
                code(env)
            return None if result is None else result(env)

        return type_, run

    def _diverges(self, statement: ast.Stmt) -> bool:
        return isinstance(statement, ast.ExprStmt) and self.never.get(id(statement.expr), False)

    def statement(self, node: ast.Stmt, scope: Scope) -> Code | None:
        match node:
            case ast.Let():
                return self._let(node, scope)
            case ast.ExprStmt():
                return self._expression_statement(node.expr, scope)
            case ast.ItemStmt() | ast.EmptyStmt():
                return None
        raise NotClaimed(type(node).__name__)

    def _expression_statement(self, node: ast.Expr, scope: Scope) -> Code:
        """L-5.12.2: in a `try` body an Err is thrown."""
        type_, code = self.expr(node, scope, DISCARD)
        self.never[id(node)] = prune(type_) == NEVER
        return self.thrown_if_error(type_, code, scope) if scope.frame.targets else code

    def thrown_if_error(self, type_: Type, code: Code, scope: Scope) -> Code:
        target = scope.frame.targets[-1]
        type_ = prune(type_)
        if not isinstance(type_, Var) and type_[0] == "Result":
            target.raised.append(type_[2])

        def run(env: list[Any]) -> Any:
            value = code(env)
            if isinstance(value, Res) and not value.ok:
                raise Leave(target, value.value)
            return value

        return run

    def _let(self, node: ast.Let, scope: Scope) -> Code:
        line = self.line(node.pattern)
        if node.value is None:
            local = scope.declare(node.pattern.name.text, type_of(node.type, scope), True)  # type: ignore[attr-defined]
            return lambda env: env.__setitem__(local.slot, [None])
        if node.type is not None:
            type_ = type_of(node.type, scope)
            value = self.site(node.value, scope, type_)
        else:
            type_, value = self.expr(node.value, scope)
            type_ = closed(type_)
        bind = self.binder(node.pattern, type_, scope, line)
        return lambda env: bind(env, value(env))

    def binder(self, pattern: ast.Pattern, type_: Type, scope: Scope, line: int) -> Callable[[list[Any], Any], None]:
        matcher = Patterns(scope, self.constant).matcher(pattern, type_)

        def bind(env: list[Any], value: Any) -> None:
            if not matcher(env, value):
                if not isinstance(value, Arr):
                    raise NotClaimed("irrefutable pattern on another kind")
                raise Panic("P010", f"array pattern: found {len(value.items)} elements", line)

        return bind

    def on_If(self, node: ast.If, scope: Scope, expected: Type | None) -> Typed:
        condition, line = self.expr(node.condition, scope)[1], self.line(node.condition)
        joined = Join(None if expected == DISCARD else expected)
        then_type, then = self.expr(node.then, scope, expected)
        if node.otherwise is None:
            return NIL, lambda env: then(env) and None if truth(condition(env), line) else None
        else_type, otherwise = self.expr(node.otherwise, scope, expected)
        if expected == DISCARD:
            type_ = NEVER if prune(then_type) == prune(else_type) == NEVER else ANY
        else:
            then = joined.add(then_type, then, self.line(node.then))
            otherwise = joined.add(else_type, otherwise, self.line(node.otherwise))
            type_ = joined.close()
        return type_, lambda env: then(env) if truth(condition(env), line) else otherwise(env)

    def on_Match(self, node: ast.Match, scope: Scope, expected: Type | None) -> Typed:
        subject_type, subject = self.expr(node.subject, scope)
        subject_type = closed(subject_type)
        joined = Join(None if expected == DISCARD else expected)
        line, rows, types = self.line(node), [], []
        for arm in node.arms:
            inner = Scope(scope, scope.frame)
            matcher = Patterns(inner, self.constant).matcher(arm.pattern, subject_type)
            guard = None if arm.guard is None else self.expr(arm.guard, inner)[1]
            type_, body = self.expr(arm.body, inner, expected)
            types.append(type_)
            if expected != DISCARD:
                body = joined.add(type_, body, self.line(arm.body))
            rows.append((matcher, guard, body, self.line(arm)))
            subject_type = refined(subject_type, arm)

        def run(env: list[Any]) -> Any:
            value = subject(env)
            for matcher, guard, body, at in rows:
                if matcher(env, value) and (guard is None or truth(guard(env), at)):
                    return body(env)
            raise Panic("P009", f"no arm matches {display(value)}", line)

        if expected == DISCARD:
            return NEVER if all(prune(t) == NEVER for t in types) else ANY, run
        return joined.close(), run

    # ------------------------------------------------------------ loops

    def _loop(self, node: Any, scope: Scope, expected: Type | None, start: Type) -> tuple[Loop, Any]:
        """The loop's body as code; its break values join with `start`."""
        loop = Loop(node.label and node.label.text)
        plain = None if expected == DISCARD else expected
        loop.values = Join(plain)
        scope.frame.loops.append(loop)
        _, body = self.expr(node.body, scope, DISCARD)
        scope.frame.loops.pop()

        def once(env: list[Any]) -> None:
            try:
                body(env)
            except Leave as leave:
                if leave.target is not loop or not leave.again:
                    raise

        return loop, once

    def _run_loop(self, loop: Loop, rounds: Callable[[list[Any]], None]) -> Code:
        def run(env: list[Any]) -> Any:
            try:
                rounds(env)
            except Leave as leave:
                if leave.target is not loop:
                    raise
                return leave.value
            return None

        return run

    def _ended(self, loop: Loop, expected: Type | None) -> Type:
        """L-5.7.2: nil or the break value."""
        if expected is not None and expected != DISCARD:
            return loop.values.close()
        return loop.values.close(NIL)

    def on_For(self, node: ast.For, scope: Scope, expected: Type | None) -> Typed:
        type_, iterable = self.expr(node.iterable, scope)
        inner, line = Scope(scope, scope.frame), self.line(node.iterable)
        bind = self.binder(node.pattern, self.element(prune(type_)), inner, self.line(node.pattern))
        loop, once = self._loop(node, inner, expected, NIL)

        def rounds(env: list[Any]) -> None:
            for value in elements(iterable(env), line):
                bind(env, value)
                once(env)

        return self._ended(loop, expected), self._run_loop(loop, rounds)

    def element(self, t: Type) -> Type:
        if t[0] == "Map":
            return ("Tuple", t[1], t[2])
        if t[0] == "Tuple":
            return self.joined(t[1:])
        return t[1] if t[0] == "Array" else {"Range": INT, "String": STRING}.get(t[0], ANY)

    def on_While(self, node: ast.While, scope: Scope, expected: Type | None) -> Typed:
        condition, line = self.expr(node.condition, scope)[1], self.line(node.condition)
        loop, once = self._loop(node, scope, expected, NIL)

        def rounds(env: list[Any]) -> None:
            while truth(condition(env), line):
                once(env)

        return self._ended(loop, expected), self._run_loop(loop, rounds)

    def on_Loop(self, node: ast.Loop, scope: Scope, expected: Type | None) -> Typed:
        loop, once = self._loop(node, scope, expected, NEVER)

        def rounds(env: list[Any]) -> None:
            while True:
                once(env)

        breaks = loop.values.rows or loop.values.expected
        return loop.values.close() if breaks else NEVER, self._run_loop(loop, rounds)

    def _target(self, label: ast.Ident | None, scope: Scope) -> Loop:
        loops = scope.frame.loops
        return next(loop for loop in reversed(loops) if label is None or loop.label == label.text)

    def on_Break(self, node: ast.Break, scope: Scope, expected: Type | None) -> Typed:
        loop = self._target(node.label, scope)
        if node.value is None:
            value = loop.values.add(NIL, lambda env: None, self.line(node))
        else:
            value = self.collect(loop.values, node.value, scope)

        def run(env: list[Any]) -> Any:
            raise Leave(loop, value(env))

        return NEVER, run

    def on_Continue(self, node: ast.Continue, scope: Scope, expected: Type | None) -> Typed:
        loop = self._target(node.label, scope)

        def run(env: list[Any]) -> Any:
            raise Leave(loop, None, again=True)

        return NEVER, run

    # ------------------------------------------------------------ errors

    def on_Return(self, node: ast.Return, scope: Scope, expected: Type | None) -> Typed:
        frame = scope.frame
        if node.value is None:
            value = frame.returns.add(NIL, lambda env: None, self.line(node))
        else:
            value = self.collect(frame.returns, node.value, scope)

        def run(env: list[Any]) -> Any:
            raise Leave(frame, value(env))

        return NEVER, run

    def raiser(self, type_: Type, scope: Scope) -> Callable[[Any], Any]:
        """A function that sends an error to the target of L-3.12.2 that is innermost here."""
        frame = scope.frame
        if frame.targets:
            target = frame.targets[-1]
            target.raised.append(type_)

            def to_try(error: Any) -> Any:
                raise Leave(target, error)

            return to_try
        result = None if frame.result is None else prune(frame.result)
        if result is None:
            frame.returns.add(("Result", Var(), type_), lambda env: None, 0)
        elif not frame.is_main and result[0] != "Result":
            raise NotClaimed("an error with no target")
        wanted = result[2] if result is not None and result[0] == "Result" else None

        def to_function(error: Any) -> Any:
            raise Leave(frame, Res(False, adapted(error, wanted)))

        return to_function

    def on_Throw(self, node: ast.Throw, scope: Scope, expected: Type | None) -> Typed:
        type_, value = self.expr(node.value, scope)
        leave = self.raiser(type_, scope)
        return NEVER, lambda env: leave(value(env))

    def on_Propagate(self, node: ast.Propagate, scope: Scope, expected: Type | None) -> Typed:
        type_, code = self.expr(node.operand, scope)
        type_, line, frame = prune(type_), self.line(node), scope.frame
        if type_[0] not in ("Option", "Result", "Any"):
            raise NotClaimed("? on another type")
        is_option = not frame.targets and frame.result is not None and prune(frame.result)[0] == "Option"
        if type_[0] == "Option" and frame.result is None and not frame.targets:
            raise NotClaimed("? on an Option in a closure without result type")
        leave = None if is_option else self.raiser(type_[2] if type_[0] == "Result" else ("Error", "RuntimeError"), scope)

        def run(env: list[Any]) -> Any:
            value = code(env)
            if not isinstance(value, (Opt, Res)):
                raise Panic("P007", f"expected Option or Result, found {kind_of(value)}", line)
            if value[0]:
                return value.value
            if leave is None:
                raise Leave(frame, Opt(False))
            return leave(value.value if isinstance(value, Res) else Err("RuntimeError", None, "missing value", {}))

        return type_ if type_ == ANY else type_[1], run

    def on_Try(self, node: ast.Try, scope: Scope, expected: Type | None) -> Typed:
        target = Target()
        wanted = expected
        if not node.catches and expected != DISCARD:
            wanted = inside(expected, "Result")
            wanted = open_to_none(wanted[1]) if wanted and wanted[0] == "Result" else None
        joined = Join(None if wanted == DISCARD else wanted)
        scope.frame.targets.append(target)
        type_, body = self.expr(node.body, scope, wanted)
        scope.frame.targets.pop()
        if wanted != DISCARD:
            body = joined.add(type_, body, self.line(node.body))
        if not node.catches:
            return self._try_result(joined, target, body)
        rows = [self._clause(clause, scope, wanted, joined) for clause in node.catches]
        outward = None if any(test is None for test, _, _ in rows) else self.raiser(ANY, scope)

        def run(env: list[Any]) -> Any:
            try:
                return body(env)
            except Leave as leave:
                if leave.target is not target:
                    raise
                error = leave.value
            for test, slot, code in rows:
                if test is None or test(error):
                    if slot is not None:
                        env[slot] = [error]
                    return code(env)
            assert outward is not None
            return outward(error)

        return ANY if wanted == DISCARD else joined.close(), run

    def _clause(self, clause: ast.CatchClause, scope: Scope, wanted: Type | None, joined: Join) -> Any:
        inner = Scope(scope, scope.frame)
        type_ = ANY if clause.type is None else type_of(clause.type, scope)
        slot = None if clause.name is None else inner.declare(clause.name.text, type_).slot
        made, code = self.expr(clause.body, inner, wanted)
        if wanted != DISCARD:
            code = joined.add(made, code, self.line(clause.body))
        return None if type_ == ANY else caught(type_), slot, code

    def _try_result(self, joined: Join, target: Target, body: Code) -> Typed:
        raised = {INT, FLOAT} & {prune(t) for t in target.raised if not isinstance(prune(t), Var)}
        if len(raised) == 2:
            raise NotClaimed("errors of type Int and Float")
        try:
            error = self.joined(target.raised) if target.raised else Var()
        except NotClaimed:
            kinds = {prune(t)[0] for t in target.raised}
            error = ("Error", "Error") if kinds == {"Error"} else ANY

        def run(env: list[Any]) -> Any:
            try:
                return Res(True, body(env))
            except Leave as leave:
                if leave.target is not target:
                    raise
                return Res(False, leave.value)

        return ("Result", joined.close(), error), run

    # ------------------------------------------------------------ closures

    def on_Closure(self, node: ast.Closure, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Fn")
        known = wanted if wanted and wanted[0] == "Fn" and len(wanted[1]) == len(node.parameters) else None
        result = None if known is None else open_to_none(known[2])
        result = None if result == NIL else result
        if node.result is not None or node.function_form:
            result = type_of(node.result, scope)
        frame = Frame(result, scope.frame.size)
        inner, types, binders = Scope(scope, frame), [], []
        for i, p in enumerate(node.parameters):
            type_ = type_of(p.type, scope) if p.type else closed(known[1][i]) if known else ANY
            types.append(type_)
            pattern = p.pattern or ast.BindPattern(span=p.span, name=p.name, mutable=False)
            binders.append((lambda env, value: None) if _discards(p) else self.binder(pattern, type_, inner, self.line(p)))
        type_, body = self.body(node.body, inner, frame)

        def make(env: list[Any]) -> Fn:
            captured = env[:]

            def call(arguments: list[Any]) -> Any:
                own = captured + [None] * (frame.size - len(captured))
                for bind, value in zip(binders, arguments, strict=True):
                    bind(own, value)
                return body(own)

            return self.function(None, len(binders), call)

        return ("Fn", tuple(types), type_), make

    def body(self, node: ast.Expr, scope: Scope, frame: Frame) -> Typed:
        """A function's body: its tail and its returns convert to the result type, else to their join."""
        discards = frame.result == NIL
        frame.returns = Join(frame.result)
        type_, code = self.expr(node, scope, DISCARD if discards else frame.result)
        if not discards:
            code = frame.returns.add(type_, code, self.line(node))
        type_ = frame.returns.close()

        def run(env: list[Any]) -> Any:
            try:
                value = code(env)
                return None if discards else value
            except Leave as leave:
                if leave.target is not frame:
                    raise
                return leave.value

        return type_, run


def _discards(p: ast.Parameter) -> bool:
    return p.pattern is None and p.name.text == "_"


def _compared(operator: str, a: Any, b: Any, line: int) -> bool:
    before, after = less(a, b, line), less(b, a, line)
    if operator in ("<", ">"):
        return before if operator == "<" else after
    return (before if operator == "<=" else after) or equal(a, b)


def cast(value: Any, target: Type, line: int) -> Any:
    """L-3.5.1 to L-3.5.4."""
    if target == STRING:
        return display(value)
    if target == BOOL:
        empty = isinstance(value, (Arr, Tup, Mapping)) and not value[0] or isinstance(value, (Opt, Res)) and not value[0]
        return not (empty or value is None or isinstance(value, (bool, int, float, str)) and not value)
    if has_kind(value, target):
        return value
    if isinstance(value, str):
        parsed = parse_int(value) if target == INT else parse_float(value)
        if parsed.ok:
            return parsed.value
    elif target == INT and isinstance(value, (float, bool)):
        return saturated(value)
    elif target == FLOAT and type(value) is int:
        return float(value)
    raise Panic("P008", f"cannot cast {display(value)} to {target[0]}", line)
