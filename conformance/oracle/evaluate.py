"""Expressions: every node becomes a Python function of the environment, together with its static type.

`expr` gives (type, code); `site` adds the conversion to the type expected where the node stands (L-3.3). The environment of a
call maps variables to one-element cells; a closure keeps the cells that exist when it is made, so it sees later assignments,
and a loop body makes new cells every round (L-5.9.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from .calls import Calls, Code, Place, Typed, located
from .library.table import elements
from .places import Patterns, read, walk, write
from .scopes import DISCARD, Exit, Frame, Item, Join, Local, Scope, Variant, declared, resolve, texts, type_of
from .types import (
    ANY, BOOL, FLOAT, INT, NEVER, NIL, RANGE, STRING, NotClaimed, Type, Var, cast, closed, convert, has_kind, inside, join, joined,
    known, prune,
)  # fmt: skip
from .values import (
    KINDS, NONE, PARENTS, RESULT, Arr, Case, Err, Fn, Map, Panic, Rec, Rng, Tup, arithmetic, compared, display, equal, err, in_range,
    is_good, key_of, kind_of, mismatch, number, ok, stop,
)  # fmt: skip

OF_ERRORS = {"kind": STRING, "message": STRING, "variant": ("Nilable", STRING)}
LITERALS: dict[Any, Any] = {ast.ArrayExpr: Arr, ast.TupleExpr: Tup, ast.MapExpr: Map}
BRANCHING = (ast.Block, ast.GroupExpr, ast.If, ast.Match, ast.Try, ast.For, ast.While, ast.Loop)


class Leave(Exception):
    """Control on its way to `target` with a value."""

    def __init__(self, target: Any, value: Any) -> None:
        self.target, self.value = target, value


def landing(code: Code, target: Any) -> Code:
    """Code to whose end control comes that is on its way to `target`."""

    def run(env: Any) -> Any:
        try:
            return code(env)
        except Leave as leave:
            if leave.target is not target:
                raise
            return leave.value

    return run


class Evaluator(Calls):
    def expr(self, node: ast.Expr, scope: Scope, expected: Type | None = None) -> Typed:
        name = type(node).__name__
        elaborate = getattr(self, "on_" + name, None) or stop(NotClaimed(name))
        expected = None if expected == DISCARD and not isinstance(node, BRANCHING) else known(expected)
        type_, code = elaborate(node, scope, expected)
        if id(node) in self.piped:
            local = Local(type_, False)
            self.piped[id(node)] = (local, code)
            return type_, lambda env: env[local][0]
        return type_, code if isinstance(node, (ast.Block, ast.GroupExpr)) else located(code, self.program.at(node))

    def site(self, node: ast.Expr, scope: Scope, expected: Type) -> Code:
        type_, code = self.expr(node, scope, expected)
        return self.converted(code, convert(type_, expected), node)

    def converted(self, code: Code, conversion: Any, node: ast.Expr, panic_code: str | None = None) -> Code:
        """With a conversion that follows, which may panic where the node stands."""
        if conversion is None:
            return code
        later = located(conversion, self.program.at(node), panic_code)
        return lambda env: later(code(env))

    def collect(self, joined: Join, node: ast.Expr, scope: Scope) -> Code:
        return joined.add(*self.expr(node, scope, joined.expected))

    # ------------------------------------------------------------ literals

    def on_IntLiteral(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        value = getattr(node, "value", None)
        return (kind_of(value),), lambda env: value

    on_FloatLiteral = on_StringLiteral = on_BoolLiteral = on_NilLiteral = on_IntLiteral

    def on_GroupExpr(self, node: ast.GroupExpr, scope: Scope, expected: Type | None) -> Typed:
        return self.expr(node.inner, scope, expected)

    def on_Interpolation(self, node: ast.Interpolation, scope: Scope, expected: Type | None) -> Typed:
        codes = [self.expr(part, scope)[1] for part in node.parts]
        return STRING, lambda env: "".join([display(code(env)) for code in codes])

    def on_ArrayExpr(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        """Array, tuple or map: one Join per type argument, with what is expected there."""
        kind, head = LITERALS[type(node)], KINDS[LITERALS[type(node)]]
        nodes = [part for e in node.entries for part in (e.key, e.value)] if kind is Map else node.items
        count, wanted = {Arr: 1, Map: 2}.get(kind, len(nodes)), inside(expected, head)
        joins = [Join(ANY if wanted == ANY else None) for _ in range(count)]
        if wanted and len(wanted) == count + 1:
            joins = [Join(t) for t in wanted[1:]]
        codes = [self.collect(joins[i % count], item, scope) for i, item in enumerate(nodes)]
        types = [j.close() if codes else j.expected or Var() for j in joins]
        if kind is not Map:
            return (head, *types), lambda env: kind([code(env) for code in codes])
        keys = [self.converted(code, key_of, item) for code, item in zip(codes[::2], nodes[::2], strict=True)]
        return (head, *types), lambda env: Map({k(env): v(env) for k, v in zip(keys, codes[1::2], strict=True)})

    on_TupleExpr = on_MapExpr = on_ArrayExpr

    def on_StructExpr(self, node: ast.StructExpr, scope: Scope, expected: Type | None) -> Typed:
        found = resolve(scope, texts(node.path))
        of = found if isinstance(found, Variant) else None
        item = of.item if of else declared(found)
        if of and isinstance(item, str):
            extra = [(f.name.text, self.expr(f.value, scope)[1]) for f in node.fields]
            made = lambda env: {"message": of.name, **{name: code(env) for name, code in extra}}  # noqa: E731
            return (item,), lambda env: Err(item, of.name, (given := made(env)).pop("message"), given)
        if not isinstance(item, Item):
            raise NotClaimed("a record of the host")
        arguments = [type_of(t, scope) for t in node.type_arguments or []]
        type_ = found if isinstance(found, tuple) else (item, *arguments) if arguments else item.instance(lambda p: Var())
        convert(type_, inside(expected, item) or ANY)
        types, defaults = item.parts(type_, of), {f.name.text: f.default for f in (of or item).node.fields or []}
        rows = [(f.name.text, self.site(f.value, scope, types[f.name.text])) for f in node.fields]
        base = None if node.base is None else self.site(node.base, scope, type_)

        def make(env: Any) -> Any:
            given = {name: code(env) for name, code in rows}
            given = {**base(env).fields, **given} if base else given
            for name, default in defaults.items():
                if name not in given:
                    given[name] = NONE if default is None else self.alone(default, types[name], item.scope)
            fields = {name: given[name] for name in defaults}
            return Case(item, of.name, fields) if of else Rec(item, fields)

        return type_, make

    def on_RangeExpr(self, node: ast.RangeExpr, scope: Scope, expected: Type | None) -> Typed:
        ends = [None if e is None else self.site(e, scope, INT) for e in (node.start, node.end)]
        return RANGE, lambda env: Rng(*[e and e(env) for e in ends], node.inclusive)  # type: ignore[call-arg]

    # ------------------------------------------------------------ operators

    def on_Unary(self, node: ast.Unary, scope: Scope, expected: Type | None) -> Typed:
        if node.operator == "!":
            condition = self.site(node.operand, scope, BOOL)
            return BOOL, lambda env: not condition(env)
        type_, code = self.expr(node.operand, scope)
        return type_, lambda env: in_range(-number(code(env)))

    def on_Binary(self, node: ast.Binary, scope: Scope, expected: Type | None) -> Typed:
        operator = node.operator
        if operator == "??":
            return self._absent(node, scope)
        if operator in ("&&", "||"):
            conditions, stop = [self.site(e, scope, BOOL) for e in (node.left, node.right)], operator == "||"
            return BOOL, lambda env: stop if conditions[0](env) is stop else conditions[1](env)
        (a, left), (b, right) = self.expr(node.left, scope), self.expr(node.right, scope)
        if operator in ("==", "!="):
            return BOOL, lambda env: equal(left(env), right(env)) is (operator == "==")
        if operator in ("<", ">", "<=", ">="):
            return BOOL, lambda env: compared(operator, left(env), right(env))
        return _arithmetic_type(operator, a, b), lambda env: arithmetic(operator, left(env), right(env))

    def _absent(self, node: ast.Binary, scope: Scope) -> Typed:
        type_, left = self.expr(node.left, scope)
        type_ = prune(type_)
        inner = NEVER if type_ == NIL else type_[1] if type_[0] in ("Option", "Nilable") else ANY
        both = Join(None)
        present = both.add(inner, lambda value: value)
        right = both.add(*self.expr(node.right, scope, None if inner == NEVER else known(inner)))

        def run(env: Any) -> Any:
            value = left(env)
            if value is None or value == NONE:
                return right(env)
            return present(value.payload[0] if isinstance(value, Case) and value.variant == "Some" else value)

        return both.close(), run

    def on_Cast(self, node: ast.Cast, scope: Scope, expected: Type | None) -> Typed:
        target = type_of(node.target, scope)
        type_, code = self.expr(node.operand, scope, target if target not in (INT, FLOAT, STRING, BOOL) else None)
        direct = prune(type_) == ANY or target in (INT, FLOAT, STRING, BOOL) or target[0] == "Union"
        conversion = None if direct else convert(type_, target)
        return target, lambda env: cast(conversion(code(env)) if conversion else code(env), target)

    def on_Pipe(self, node: ast.Pipe, scope: Scope, expected: Type | None) -> Typed:
        """L-5.9.2: the left side first; what it gave is then read where it stands as an argument."""
        self.piped[id(node.left)] = None
        type_, code = self.expr(node.applied, scope, expected)
        local, left = self.piped.pop(id(node.left))

        def run(env: Any) -> Any:
            env[local] = [left(env)]
            return code(env)

        return type_, run

    # ------------------------------------------------------------ places

    def step(self, node: Any, receiver: Type, scope: Scope, place: bool) -> tuple[Type, str, Code]:
        """The last step of `node`: its type, and how it is taken."""
        t = prune(receiver)
        head = t[0]
        if isinstance(node, ast.FieldAccess):
            name, how = node.name.text, "index" if place and head == "Map" else "error" if head in PARENTS else "field"
            if isinstance(head, Item):
                type_ = head.parts(t)[name]
            elif head == "Map":
                type_ = t[2] if place or prune(t[2]) == ANY else join(t[2], NIL)
            else:
                type_ = OF_ERRORS.get(name, ANY) if head in PARENTS else ANY
            return type_, how, lambda env: name
        if isinstance(node, ast.TupleAccess):
            return t[1 + node.index] if head == "Tuple" else ANY, "at", lambda env: node.index
        if head == "Map":
            return t[2], "index", self.site(node.index, scope, t[1])
        key_type, key = self.expr(node.index, scope)
        if head == "Tuple":
            type_ = t[1 + node.index.value] if isinstance(node.index, ast.IntLiteral) else joined(t[1:])
        else:
            type_ = t if prune(key_type) == RANGE else element_type(t) if prune(key_type) == INT else ANY
        return type_, "index", key

    def _read(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        receiver, code = self.expr(node.receiver, scope)
        type_, how, key = self.step(node, receiver, scope, place=False)
        return type_, lambda env: read(code(env), how, key(env))

    on_FieldAccess = on_TupleAccess = on_Index = _read

    def place(self, node: ast.Expr, scope: Scope) -> Place | None:
        """The type, root and steps of a place; None for another expression."""
        if isinstance(node, ast.GroupExpr):
            return self.place(node.inner, scope)
        if isinstance(node, ast.PathExpr):
            found = scope.find(node.segments[0].text) if len(node.segments) == 1 else None
            return (found.type, found, []) if isinstance(found, Local) else None
        if not isinstance(node, (ast.FieldAccess, ast.TupleAccess, ast.Index)) or id(node) in self.piped:
            return None
        receiver = self.place(node.receiver, scope)
        if receiver is None:
            return None
        type_, how, key = self.step(node, receiver[0], scope, place=True)
        return type_, receiver[1], [*receiver[2], (how, key)]

    def on_Assign(self, node: ast.Assign, scope: Scope, expected: Type | None) -> Typed:
        place = self.place(node.target, scope)
        if place is None:
            raise NotClaimed("assignment target")
        (type_, root, rows), operator = place, node.operator[:-1]
        b, value = self.expr(node.value, scope, None if operator else type_)
        conversion = convert(_arithmetic_type(operator, type_, b) if operator else b, type_)

        def run(env: Any) -> Any:
            steps = [(how, key(env)) for how, key in rows]
            if operator:
                new = arithmetic(operator, walk(env[root][0], steps), value(env))
            else:
                new = value(env)
            new = new if conversion is None else conversion(new)
            env[root][0] = write(env[root][0], steps, new)
            return new

        return type_, run

    # ------------------------------------------------------------ blocks, branches

    def on_Block(self, node: ast.Block, scope: Scope, expected: Type | None) -> Typed:
        items = Scope(scope)
        items.add([s.item for s in node.statements if isinstance(s, ast.ItemStmt)])
        inner, diverges = Scope(items), False
        codes = []
        for statement in node.statements:
            if isinstance(statement, ast.Let):
                codes.append(self._let(statement, inner))
            elif isinstance(statement, ast.ExprStmt):
                type_, code = self.expr(statement.expr, inner, DISCARD)
                diverges = diverges or prune(type_) == NEVER
                codes.append(self._thrown(type_, code, scope))
            elif not isinstance(statement, (ast.ItemStmt, ast.EmptyStmt)):
                raise NotClaimed(type(statement).__name__)
        type_, result = (NEVER if diverges else NIL), None
        if node.result is not None:
            type_, result = self.expr(node.result, inner, expected)
            if expected == DISCARD:  # L-3.12.9 puts discarded tails beside statements
                result = self._thrown(type_, result, scope)

        def run(env: Any) -> Any:
            for code in codes:
                code(env)
            return None if result is None else result(env)

        return type_, run

    def _thrown(self, type_: Type, code: Code, scope: Scope) -> Code:
        """L-5.12.2: a statement of a `try` body throws its Err."""
        if not scope.frame.targets:
            return code
        target, type_ = scope.frame.targets[-1], prune(type_)
        if not isinstance(type_, Var) and type_[0] == "Result":
            target.raised.append(type_[2])

        def run(env: Any) -> Any:
            value = code(env)
            if isinstance(value, Case) and value.item is RESULT and not is_good(value):
                raise Leave(target, value)
            return value

        return run

    def _let(self, node: ast.Let, scope: Scope) -> Code:
        type_ = None if node.type is None else type_of(node.type, scope)
        if node.value is None:
            local = scope.declare(node.pattern.name.text, type_, True)  # type: ignore[attr-defined]
            return lambda env: env.__setitem__(local, [None])
        if type_ is not None:
            value = self.site(node.value, scope, type_)
        else:
            type_, value = self.expr(node.value, scope)
            type_ = closed(type_)
        bind = self.binder(node.pattern, type_, scope)
        return lambda env: bind(env, value(env))

    def binder(self, pattern: ast.Pattern, type_: Type, scope: Scope) -> Callable[[Any, Any], None]:
        matcher, at = Patterns(scope, self.constant).matcher(pattern, type_), self.program.at(pattern)

        def bind(env: Any, value: Any) -> None:
            if not matcher(env, value):
                raise Panic("P010", f"array pattern: found {display(value)}", at)

        return bind

    def on_If(self, node: ast.If, scope: Scope, expected: Type | None) -> Typed:
        condition = self.site(node.condition, scope, BOOL)
        then_type, then = self.expr(node.then, scope, expected)
        if node.otherwise is None:
            return NIL, lambda env: then(env) and None if condition(env) else None
        both = Join(expected)
        chosen, otherwise = both.add(then_type, then), both.add(*self.expr(node.otherwise, scope, expected))
        return both.close(), lambda env: chosen(env) if condition(env) else otherwise(env)

    def on_Match(self, node: ast.Match, scope: Scope, expected: Type | None) -> Typed:
        subject_type, subject = self.expr(node.subject, scope)
        subject_type = closed(subject_type)
        both, rows = Join(expected), []
        for arm in node.arms:
            inner = Scope(scope)
            matcher = Patterns(inner, self.constant).matcher(arm.pattern, subject_type)
            guard = None if arm.guard is None else self.site(arm.guard, inner, BOOL)
            rows.append((matcher, guard, both.add(*self.expr(arm.body, inner, expected))))
            if isinstance(arm.pattern, ast.LiteralPattern) and arm.pattern.value is None and guard is None:
                subject_type = subject_type[1] if subject_type[0] == "Nilable" else subject_type  # L-3.7.3

        def run(env: Any) -> Any:
            value = subject(env)
            for matcher, guard, body in rows:
                if matcher(env, value) and (guard is None or guard(env)):
                    return body(env)
            raise Panic("P009", f"no arm matches {display(value)}")

        return both.close(), run

    # ------------------------------------------------------------ loops

    def _loop(self, node: Any, scope: Scope, expected: Type | None, rounds: Callable[[Any], Any], start: Type = NIL) -> Typed:
        """The loop that runs its body once for each of the `rounds`; break values join with `start` (L-5.7.2)."""
        loop = Exit(Join(expected), node.label and node.label.text)
        scope.frame.loops.append(loop)
        body = landing(self.expr(node.body, scope, DISCARD)[1], loop.again)
        scope.frame.loops.pop()
        type_ = loop.values.close(start) if start == NIL or loop.values.rows or loop.values.expected else NEVER

        def run(env: Any) -> None:
            for _ in rounds(env):
                body(env)

        return type_, landing(run, loop)

    def on_For(self, node: ast.For, scope: Scope, expected: Type | None) -> Typed:
        type_, iterable = self.expr(node.iterable, scope)
        inner, walked = Scope(scope), self.converted(iterable, elements, node.iterable)
        bind = self.binder(node.pattern, element_type(prune(type_)), inner)
        return self._loop(node, inner, expected, lambda env: (bind(env, value) for value in walked(env)))

    def on_While(self, node: ast.While, scope: Scope, expected: Type | None) -> Typed:
        condition = self.site(node.condition, scope, BOOL)
        return self._loop(node, scope, expected, lambda env: iter(lambda: condition(env), False))

    def on_Loop(self, node: ast.Loop, scope: Scope, expected: Type | None) -> Typed:
        return self._loop(node, scope, expected, lambda env: iter(int, 1), NEVER)

    def _leaving(self, values: Join, target: Any, value: ast.Expr | None, scope: Scope) -> Typed:
        code = values.add(NIL, lambda env: None) if value is None else self.collect(values, value, scope)

        def run(env: Any) -> Any:
            raise Leave(target, code(env))

        return NEVER, run

    def on_Break(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        loop = next(loop for loop in reversed(scope.frame.loops) if node.label is None or loop.label == node.label.text)
        if isinstance(node, ast.Continue):
            return self._leaving(Join(None), loop.again, None, scope)
        return self._leaving(loop.values, loop, node.value, scope)

    on_Continue = on_Break

    def on_Return(self, node: ast.Return, scope: Scope, expected: Type | None) -> Typed:
        return self._leaving(scope.frame.returns, scope.frame, node.value, scope)

    # ------------------------------------------------------------ errors

    def raiser(self, type_: Type, scope: Scope) -> Callable[[Any], Any]:
        """A function that sends an error to the target of L-3.12.2 that is innermost here."""
        frame = scope.frame
        inner: Any = frame.targets[-1] if frame.targets else None
        result = None if frame.result is None else prune(frame.result)
        wanted = result[2] if result is not None and result[0] == "Result" else None
        if inner is not None:
            inner.raised.append(type_)
        elif result is None:
            frame.returns.add(("Result", Var(), type_), lambda env: None)

        def leave(error: Any) -> Any:
            raise Leave(inner or frame, err(error if inner else self.adapted(error, type_, wanted)))

        return leave

    def adapted(self, error: Any, type_: Type, wanted: Type | None) -> Any:
        """On its way out of a function: L-3.12.3, L-3.3.13."""
        wanted = known(wanted)
        if wanted is None or has_kind(error, wanted):
            return error
        if wanted[0] in PARENTS and isinstance(error, str):
            return Err("RuntimeError", None, error, {})
        for f in self.conversions.get(wanted[0], ()):
            if has_kind(error, f.signature.types[0]):
                return self.enter(f, [error])[0]
        conversion = convert(type_, wanted)
        return error if conversion is None else conversion(error)

    def on_Throw(self, node: ast.Throw, scope: Scope, expected: Type | None) -> Typed:
        type_, value = self.expr(node.value, scope)
        leave = self.raiser(type_, scope)
        return NEVER, lambda env: leave(value(env))

    def on_Propagate(self, node: ast.Propagate, scope: Scope, expected: Type | None) -> Typed:
        type_, code = self.expr(node.operand, scope)
        type_, frame = prune(type_), scope.frame
        if type_[0] == "Option" and frame.result is None and not frame.targets:
            raise NotClaimed("? on an Option in a closure without result type")
        is_option = not frame.targets and frame.result is not None and prune(frame.result)[0] == "Option"
        leave = None if is_option else self.raiser(type_[2] if type_[0] == "Result" else ("RuntimeError",), scope)

        def run(env: Any) -> Any:
            value = code(env)
            if not isinstance(value, Case) or value.item.name not in ("Option", "Result"):
                raise mismatch("Option or Result", value)
            if is_good(value):
                return value.payload[0]
            if leave is None:
                raise Leave(frame, NONE)
            return leave(value.payload[0] if value.payload else Err("RuntimeError", None, "missing value", {}))

        return type_ if type_ == ANY else type_[1], run

    def on_Try(self, node: ast.Try, scope: Scope, expected: Type | None) -> Typed:
        wanted = expected
        if not node.catches and expected != DISCARD:
            wanted = inside(expected, "Result")
            wanted = None if wanted in (None, ANY) else known(wanted[1])
        both = Join(wanted)
        target = Exit(both)
        scope.frame.targets.append(target)
        typed = self.expr(node.body, scope, wanted)
        scope.frame.targets.pop()
        body = both.add(*typed)
        attempt = landing(lambda env: ok(body(env)), target)
        if not node.catches:
            return ("Result", both.close(), joined(target.raised) if target.raised else Var()), attempt
        rows = [self._clause(clause, scope, wanted, both) for clause in node.catches]
        if all(test != ANY for test, _ in rows):
            leave = self.raiser(ANY, scope)
            rows.append((ANY, lambda env, error: leave(error)))

        def run(env: Any) -> Any:
            made = attempt(env)
            (value,) = made.payload
            return value if is_good(made) else next(code for test, code in rows if has_kind(value, test))(env, value)

        return both.close(), run

    def _clause(self, clause: ast.CatchClause, scope: Scope, wanted: Type | None, both: Join) -> tuple[Type, Any]:
        inner, type_ = Scope(scope), ANY if clause.type is None else type_of(clause.type, scope)
        local = inner.declare(clause.name.text if clause.name else "_", type_)
        body = both.add(*self.expr(clause.body, inner, wanted))
        return type_, lambda env, error: body({**env, local: [error]})

    # ------------------------------------------------------------ closures

    def on_Closure(self, node: ast.Closure, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Function")
        matching = wanted if wanted and len(wanted) == len(node.parameters) + 2 else None
        result = None if matching is None or known(matching[1]) == NIL else known(matching[1])
        if node.result is not None or node.function_form:
            result = type_of(node.result, scope)
        frame, binders, types = Frame(result), [], []
        inner = Scope(scope, frame)
        for i, p in enumerate(node.parameters):
            types.append(type_of(p.type, scope) if p.type else closed(matching[2 + i]) if matching else ANY)
            pattern = p.pattern or ast.BindPattern(span=p.span, name=p.name, mutable=False)
            pattern = ast.WildcardPattern(span=p.span) if p.pattern is None and p.name.text == "_" else pattern
            binders.append(self.binder(pattern, types[-1], inner))
        type_, body = self.body(node.body, inner, frame)

        def make(env: Any) -> Fn:
            captured = dict(env)

            def call(given: list[Any]) -> Any:
                own = dict(captured)
                for bind, value in zip(binders, given, strict=True):
                    bind(own, value)
                return body(own)

            return Fn(None, len(binders), lambda given: self.framed(call, given))

        return ("Function", type_, *types), make

    def body(self, node: ast.Expr, scope: Scope, frame: Frame) -> Typed:
        """A function's body: its tail and its returns convert to the result type, else to their join."""
        discards = frame.result == NIL
        code = frame.returns.add(*self.expr(node, scope, frame.returns.expected))
        return frame.result or frame.returns.close(), landing((lambda env: code(env) and None) if discards else code, frame)


def element_type(t: Type) -> Type:
    """Of what stands at an index, and of what a loop walks."""
    if t[0] in ("Map", "Tuple"):
        return ("Tuple", *t[1:]) if t[0] == "Map" else joined(t[1:])
    return t[1] if t[0] in ("Array", "Set", "Queue", "Stack") else {"Range": INT, "String": STRING}.get(t[0], ANY)


def _arithmetic_type(operator: str, a: Type, b: Type) -> Type:
    a, b = prune(a), prune(b)
    if operator == "+" and STRING in (a, b):
        return STRING
    return ANY if ANY in (a, b) else INT if a == b == INT else FLOAT
