"""Expressions: literals, operators, places, blocks, branches, loops, errors, closures.

Hands on `Evaluator` to the driver `drivers/oracle.py`. A loop body makes new cells for its variables every round
(L-5.9.3). What elaboration means, and what an `on_X` returns, is said in `calls`. A new form of expression is a
method `on_X` here.
"""


from concerto.compiler.syntax import ast

from .calls import Calls, Leave, Typed, landing
from .places import Code, Patterns, Place, read, write
from .scopes import DISCARD, Item, Join, Local, Scope, Variant, declared, resolve, texts, type_of
from .types import (ANY, BOOL, FLOAT, INT, NEVER, NIL, RANGE, STRING, Type, Var, cast, closed, convert, covered_by,
    has_kind, inside, join, joined, joined_values, known, lifted, prune, reopened, whole)  # fmt: skip
from .values import (COMPARISONS, NONE, PARENTS, Any, Arr, Case, Err, Fn, Map, Panic, Rec, Rng, Tup, ancestors,
    arithmetic, display, elements, err, is_error, is_good, key_of, kind_of, mismatch, ok, sized, some,
    stop)  # fmt: skip

WAITING = ("Array", "Map", "Set", "Queue", "Stack", "Option")  # L-3.2.8
OF_ERRORS = {"kind": STRING, "message": STRING, "variant": ("Nilable", STRING)}
LITERALS: dict[Any, Any] = {ast.ArrayExpr: Arr, ast.TupleExpr: Tup, ast.MapExpr: Map}
LOWER = "_abcdefghijklmnopqrstuvwxyz"
CONVERTED = (INT, FLOAT, STRING, BOOL)  # what a cast makes of values of other types


class Evaluator(Calls):
    """The meaning of every expression, in the methods `on_X` of the AST classes X."""

    # ------------------------------------------------------------ literals

    def on_IntLiteral(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        return (kind_of(value := getattr(node, "value", None)),), lambda env: value

    on_FloatLiteral = on_StringLiteral = on_BoolLiteral = on_NilLiteral = on_IntLiteral

    def on_GroupExpr(self, node: ast.GroupExpr, scope: Scope, expected: Type | None) -> Typed:
        return self.expr(node.inner, scope, expected)

    def on_Interpolation(self, node: ast.Interpolation, scope: Scope, expected: Type | None) -> Typed:
        codes = [self.expr(part, scope)[1] for part in node.parts]
        return STRING, lambda env: sized("".join([display(code(env)) for code in codes]))

    def on_ArrayExpr(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        """An array, tuple or map: one Join per type argument, with what is expected there."""
        kind, head = LITERALS[type(node)], LITERALS[type(node)].__name__
        nodes = [part for e in node.entries for part in (e.key, e.value)] if kind is Map else node.items
        count, wanted = {Arr: 1, Map: 2}.get(kind, len(nodes)), inside(expected, head)
        types = wanted[1:] if wanted and len(wanted) == count + 1 else [ANY if wanted == ANY else None] * count
        joins = [Join(t) for t in types]
        codes = [self.collect(joins[i % count], item, scope) for i, item in enumerate(nodes)]
        join = joined if kind is Map else joined_values
        types = [j.close(join=join) if codes else j.expected or Var() for j in joins]
        if kind is not Map:
            return (head, *types), lambda env: kind([code(env) for code in codes])
        keys = [self.converted(code, key_of, item) for code, item in zip(codes[::2], nodes[::2], strict=True)]
        return (head, *types), lambda env: Map({k(env): v(env) for k, v in zip(keys, codes[1::2], strict=True)})

    on_TupleExpr = on_MapExpr = on_ArrayExpr

    def on_StructExpr(self, node: ast.StructExpr, scope: Scope, expected: Type | None) -> Typed:
        target = resolve(scope, texts(node.path))
        of = target if isinstance(target, Variant) else None
        item = of.item if of else declared(target)
        if of and isinstance(item, str):
            extra = [(f.name.text, self.expr(f.value, scope)[1]) for f in node.fields]
            fields_of = lambda env: {"message": of.name, **{name: code(env) for name, code in extra}}  # noqa: E731
            return (item,), lambda env: Err(item, of.name, (extras := fields_of(env)).pop("message"), extras)
        written = (item, *[type_of(t, scope) for t in node.type_arguments or []])
        type_ = target if isinstance(target, tuple) else written if written[1:] else item.instance(lambda p: Var())
        convert(type_, inside(expected, item) or ANY)
        types, rest = item.parts(type_, of and of.name), item.defaults(of and of.name).items()
        rows = [(f.name.text, self.site(f.value, scope, types[f.name.text])) for f in node.fields]
        base = None if node.base is None else self.site(node.base, scope, type_)

        def make(env: Any) -> Any:
            own = {name: code(env) for name, code in rows}
            own = {**base(env).fields, **own} if base else own
            fields = {n: own[n] if n in own else self.alone(d, types[n], item.scope) if d else NONE for n, d in rest}
            return Case(item, of.name, fields) if of else Rec(item, fields)

        return type_, make

    def on_RangeExpr(self, node: ast.RangeExpr, scope: Scope, expected: Type | None) -> Typed:
        start, end = [(lambda env: None) if e is None else self.site(e, scope, INT) for e in (node.start, node.end)]
        return RANGE, lambda env: Rng(start(env), end(env), node.inclusive)

    # ------------------------------------------------------------ operators

    def on_Unary(self, node: ast.Unary, scope: Scope, expected: Type | None) -> Typed:
        type_, code = self.expr(node.operand, scope)
        if node.operator == "-":
            return type_, lambda env: arithmetic("*", -1, code(env))
        condition = self.converted(code, convert(type_, BOOL), node.operand)
        return BOOL, lambda env: not condition(env)

    def on_Binary(self, node: ast.Binary, scope: Scope, expected: Type | None) -> Typed:
        operator = node.operator
        if operator == "??":
            return self._absent(node, scope)
        if operator in ("&&", "||"):
            conditions, decisive = [self.site(e, scope, BOOL) for e in (node.left, node.right)], operator == "||"
            return BOOL, lambda env: decisive if conditions[0](env) is decisive else conditions[1](env)
        (a, left), (b, right) = self.expr(node.left, scope), self.expr(node.right, scope)
        if operator in ("==", "!="):
            of_a, of_b = lifted(a, b)
            left, right = self.converted(left, of_a, node.left), self.converted(right, of_b, node.right)
        if operator in COMPARISONS:
            return BOOL, lambda env: COMPARISONS[operator](left(env), right(env))
        return _arithmetic_type(operator, whole(a), whole(b)), lambda env: arithmetic(operator, left(env), right(env))

    def _absent(self, node: ast.Binary, scope: Scope) -> Typed:
        type_, left = self.expr(node.left, scope)
        type_, both = prune(type_), Join(None)
        inner = NEVER if type_ == NIL else type_[1] if type_[0] in ("Option", "Nilable") else ANY
        present = both.add(inner, lambda v: v.payload[0] if isinstance(v, Case) and v.variant == "Some" else v)
        right = both.add(*self.expr(node.right, scope, None if inner == NEVER else known(inner)))
        chosen = lambda env, value: right(env) if value is None or value == NONE else present(value)  # noqa: E731
        return both.close(), lambda env: chosen(env, left(env))

    def on_Cast(self, node: ast.Cast, scope: Scope, expected: Type | None) -> Typed:
        target = type_of(node.target, scope)
        type_, code = self.expr(node.operand, scope, None if target in CONVERTED else target)
        direct = prune(type_) == ANY or target in CONVERTED or isinstance(target[0], frozenset)
        value = self.converted(code, None if direct else convert(type_, target), node)
        outer = scope.target
        if outer is None or not outer.takes_casts or target in (STRING, BOOL, ANY) or prune(type_) == target:
            return target, lambda env: cast(value(env), target)
        outer.raised.append(("RuntimeError",))

        def run(env: Any) -> Any:  # L-3.5.8
            try:
                return cast(operand := value(env), target)
            except Panic as panic:
                assert panic.code == "P008", operand
                return stop(Leave(outer, err(Err("RuntimeError", None, panic.message, {}))))

        return target, run

    def on_Pipe(self, node: ast.Pipe, scope: Scope, expected: Type | None) -> Typed:
        """The left side comes first (L-5.9.2); what it gave is then read where it stands as an argument."""
        self.piped[id(node.left)] = None
        type_, code = self.expr(node.applied, scope, expected)
        local, left = self.piped.pop(id(node.left))
        return type_, lambda env: local.bind(env, left(env)) or code(env)

    # ------------------------------------------------------------ places

    def step(self, node: Any, receiver: Type, scope: Scope, place: bool) -> tuple[Type, str, Code]:
        """Return the last step of `node`: its type, how it is taken (as in `places`), and the code of its key.
        `place`: it is assigned to, or a method may change it."""
        head = (t := whole(receiver))[0]
        if isinstance(node, ast.FieldAccess):
            name, how = node.name.text, "index" if place and head == "Map" else "error" if head in PARENTS else "field"
            types = head.parts(t) if isinstance(head, Item) else OF_ERRORS if how == "error" else {}
            type_ = types.get(name, ANY)
            if head == "Map":
                type_ = t[2] if place or prune(t[2]) == ANY else join(t[2], NIL)
            return type_, how, lambda env: name
        if isinstance(node, ast.TupleAccess):
            return t[1 + node.index] if head == "Tuple" else ANY, "at", lambda env: node.index
        if head == "Map":
            return t[2], "index", self.site(node.index, scope, t[1])
        key_type, key = self.expr(node.index, scope)
        if head == "Tuple" and isinstance(node.index, ast.IntLiteral):
            return t[1 + node.index.value], "index", key
        type_ = t if prune(key_type) == RANGE else element_type(t) if prune(key_type) == INT or head == "Tuple" else ANY
        return type_, "index", key

    def on_FieldAccess(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        receiver, code = self.expr(node.receiver, scope)
        type_, how, key = self.step(node, receiver, scope, place=False)
        return reopened(type_, lambda: ANY), lambda env: read(code(env), how, key(env))

    on_TupleAccess = on_Index = on_FieldAccess

    def place(self, node: Any, scope: Scope) -> Place | None:
        """Return the place that an expression denotes, None for an expression that is none."""
        if isinstance(node, ast.PathExpr):
            root = scope.find(node.segments[0].text) if len(node.segments) == 1 else None
            return Place(prune(root.type), root, [], lambda env: env[root][0]) if isinstance(root, Local) else None
        if not isinstance(node, (ast.GroupExpr, ast.FieldAccess, ast.TupleAccess, ast.Index)) or id(node) in self.piped:
            return None
        inner = self.place(node.inner if isinstance(node, ast.GroupExpr) else node.receiver, scope)
        if inner is None or isinstance(node, ast.GroupExpr):
            return inner
        type_, how, key = self.step(node, inner.type, scope, place=True)
        return Place(prune(type_), inner.root, [*inner.rows, (how, key)], inner.code)

    def on_Assign(self, node: ast.Assign, scope: Scope, expected: Type | None) -> Typed:
        place, operator = self.place(node.target, scope), node.operator[:-1]
        b, value = self.expr(node.value, scope, None if operator else place.type)
        conversion = convert(_arithmetic_type(operator, place.type, b) if operator else b, place.type)

        def run(env: Any) -> Any:
            steps = place.steps(env)
            new = arithmetic(operator, place.read(env, steps), value(env)) if operator else value(env)
            new = conversion(new) if conversion else new
            env[place.root][0] = write(env[place.root][0], steps, new)
            return new

        return place.type, run

    # ------------------------------------------------------------ blocks, branches

    def on_Block(self, node: ast.Block, scope: Scope, expected: Type | None) -> Typed:
        items = Scope(scope)
        items.add([s.item for s in node.statements if isinstance(s, ast.ItemStmt)])
        inner, type_, codes = Scope(items), NIL, []
        for statement in node.statements:
            if isinstance(statement, ast.Let):
                codes.append(self._let(statement, inner))
            elif isinstance(statement, ast.ExprStmt):
                statement_type, code = self.expr(statement.expr, inner, DISCARD)
                type_ = NEVER if prune(statement_type) == NEVER else type_
                codes.append(self._thrown(statement_type, code, scope))
        codes.append(lambda env: None)
        if node.result is not None:
            type_, result = self.expr(node.result, inner, expected)  # L-3.12.9 puts discarded tails beside statements
            codes.append(self._thrown(type_, result, scope) if expected == DISCARD else result)
        return type_, lambda env: [code(env) for code in codes][-1]

    def _thrown(self, type_: Type, code: Code, scope: Scope) -> Code:
        """Return the code of a statement, which throws its Err in a `try` body (L-5.12.2)."""
        target, type_ = scope.target, known(type_)
        if target and type_ and type_[0] == "Result":
            target.raised.append(type_[2])
        thrown = lambda value: stop(Leave(target, value)) if is_error(value) else value  # noqa: E731
        return code if target is None else lambda env: thrown(code(env))

    def _let(self, node: ast.Let, scope: Scope) -> Code:
        type_ = None if node.type is None else type_of(node.type, scope)
        value_type, value = self.expr(node.value, scope, type_) if node.value else (type_, lambda env: None)
        value = self.converted(value, type_ and convert(value_type, type_), node.value)
        waits = isinstance(node.pattern, ast.BindPattern) and prune(value_type or ANY)[0] in WAITING
        bind = self.binder(node.pattern, type_ or (reopened(value_type, Var) if waits else closed(value_type)), scope)
        return lambda env: bind(env, value(env))

    def binder(self, pattern: ast.Pattern, type_: Type, scope: Scope) -> Any:
        """Return what binds the variables of a pattern to a value; it panics with P009 if the pattern does not
        fit."""
        matcher, at = Patterns(scope, self.constant, None, self.program.at).of(pattern, type_), self.program.at(pattern)
        return lambda env, value: matcher(env, value) or stop(Panic("P009", f"no arm matches {display(value)}", at))

    def on_If(self, node: ast.If, scope: Scope, expected: Type | None) -> Typed:
        condition = self.site(node.condition, scope, BOOL)
        then_type, then = self.expr(node.then, scope, expected)
        if node.otherwise is None:
            return NIL, lambda env: (then(env), None)[1] if condition(env) else None
        both = Join(expected)
        chosen, otherwise = both.add(then_type, then), self.collect(both, node.otherwise, scope)
        return both.close(), lambda env: chosen(env) if condition(env) else otherwise(env)

    def on_Match(self, node: ast.Match, scope: Scope, expected: Type | None) -> Typed:
        type_, subject = self.expr(node.subject, scope)
        type_, both, rows = reopened(type_, lambda: ANY), Join(expected), []
        bound = type_  # L-3.7.3
        for arm in node.arms:
            inner, pattern = Scope(scope), arm.pattern
            met = bound if isinstance(pattern, ast.BindPattern) else type_
            read = [part for body in (arm.guard, arm.body) if body is not None for part in ast.walk(body)]
            names = [part.segments for part in read if isinstance(part, ast.PathExpr)]
            reads = {segments[0].text for segments in names if len(segments) == 1}
            matcher = Patterns(inner, self.constant, reads).of(pattern, met)
            guard = (lambda env: True) if arm.guard is None else self.site(arm.guard, inner, BOOL)
            rows.append((matcher, guard, self.collect(both, arm.body, inner)))
            word = getattr(getattr(pattern, "name", None), "text", getattr(pattern, "value", ""))
            bound = whole(bound) if word in (None, "None") and arm.guard is None else bound

        def run(env: Any) -> Any:
            value = subject(env)
            body = next((body for matcher, guard, body in rows if matcher(env, value) and guard(env)), None)
            return body(env) if body else stop(Panic("P009", f"no arm matches {display(value)}"))

        return both.close(), run

    # ------------------------------------------------------------ loops

    def _loop(self, node: Any, scope: Scope, expected: Type | None, rounds: Code, start: Type = NIL) -> Typed:
        """Return type and code of the loop that runs its body once for each of the `rounds`; break values join with
        `start` (L-5.7.2)."""
        loop, inner = Join(expected, node.label and node.label.text), Scope(scope)
        inner.loops = (loop, *scope.loops)
        body = landing(self.expr(node.body, inner, DISCARD)[1], loop.again)
        type_ = loop.close(start) if loop.rows or start != NIL and loop.expected else start

        def run(env: Any) -> None:
            for _ in rounds(env):
                self.tick()
                body(env)

        return type_, landing(run, loop)

    def on_For(self, node: ast.For, scope: Scope, expected: Type | None) -> Typed:
        type_, iterable = self.expr(node.iterable, scope)
        inner, walked = Scope(scope), self.converted(iterable, elements, node.iterable)
        bind = self.binder(node.pattern, reopened(element_type(whole(type_)), lambda: ANY), inner)
        return self._loop(node, inner, expected, lambda env: (bind(env, value) for value in walked(env)))

    def on_While(self, node: ast.While, scope: Scope, expected: Type | None) -> Typed:
        condition = self.site(node.condition, scope, BOOL)
        return self._loop(node, scope, expected, lambda env: iter(lambda: condition(env), False))

    def on_Loop(self, node: ast.Loop, scope: Scope, expected: Type | None) -> Typed:
        return self._loop(node, scope, expected, lambda env: iter(int, 1), NEVER)

    def on_Break(self, node: Any, scope: Scope, expected: Type | None) -> Typed:
        """`break`, `continue` and `return`: control leaves to the Join of the loop or function."""
        label, value, again = getattr(node, "label", None), getattr(node, "value", None), isinstance(node, ast.Continue)
        loops = [loop for loop in scope.loops if label is None or loop.label == label.text]
        join = scope.frame if isinstance(node, ast.Return) else loops[0]
        code = self.collect(join, value, scope) if value else join.add(NEVER if again else NIL, lambda env: None)
        return NEVER, lambda env: stop(Leave(join.again if again else join, code(env)))

    on_Continue = on_Return = on_Break

    # ------------------------------------------------------------ errors

    def raiser(self, type_: Type, scope: Scope) -> Code:
        """Return a function that sends an error to the target of L-3.12.2 that is innermost here."""
        frame, target, result = scope.frame, scope.target, scope.frame.expected
        if target is not None:
            target.raised.append(type_)
            return lambda error: stop(Leave(target, err(error)))
        if result is None:
            frame.add(("Result", Var(), type_), lambda env: None)
        wanted = known(result[2]) if result and result[0] == "Result" else None
        return lambda error: stop(Leave(frame, err(self.adapted(error, type_, wanted))))

    def adapted(self, error: Any, type_: Type, wanted: Type | None) -> Any:
        """Return an error as it leaves a function whose errors are of the type `wanted` (L-3.12.3, L-3.3.13)."""
        if wanted is None or has_kind(error, wanted):
            return error
        if wanted[0] in PARENTS and isinstance(error, str):
            return Err("RuntimeError", None, error, {})
        rows = [methods["from"] for methods in self.program.prelude.names["From"].impls.get(wanted[0], ())]
        fitting = [f for f in rows if has_kind(error, f.signature.types[0])]
        conversion = None if fitting else convert(type_, wanted)
        return self.enter(fitting[0], [error])[0] if fitting else conversion(error) if conversion else error

    def on_Throw(self, node: ast.Throw, scope: Scope, expected: Type | None) -> Typed:
        type_, value = self.expr(node.value, scope)
        leave = self.raiser(type_, scope)
        return NEVER, lambda env: leave(value(env))

    def on_Propagate(self, node: ast.Propagate, scope: Scope, expected: Type | None) -> Typed:
        type_, code = self.expr(node.operand, scope)
        type_, result = prune(type_), scope.frame.expected
        if type_[0] == "Nilable":  # L-3.12.16
            type_, code = ("Option", type_[1]), self.converted(code, lambda v: NONE if v is None else some(v), node)
        assert type_[0] != "Option" or result or scope.target, "? on an Option where no result type is known"
        is_option = scope.target is None and result and result[0] in ("Option", "Nilable") and type_[0] == "Option"
        absent = NONE if result and result[0] == "Option" else None
        parts = [prune(part) for part in type_[1:]] if type_[0] in ("Array", "Tuple") else []
        errors = [part[2] for part in parts if part[0] == "Result"]
        error_type = joined(errors) if parts else type_[2] if type_[0] == "Result" else ("RuntimeError",)
        leave = (lambda error: stop(Leave(scope.frame, absent))) if is_option else self.raiser(error_type, scope)

        def run(env: Any) -> Any:
            value = code(env)
            if isinstance(value, (Arr, Tup)) and parts:
                bad = next((v for v in value if is_error(v)), None)
                of = parts if isinstance(value, Tup) else parts * len(value)
                values = (v.payload[0] if t[0] == "Result" else v for v, t in zip(value, of, strict=True))
                return type(value)(values) if bad is None else leave(*bad.payload)
            if not isinstance(value, Case) or value.item.name not in ("Option", "Result"):
                raise mismatch("Option or Result", value)
            (inner,) = value.payload or (Err("RuntimeError", None, "missing value", {}),)
            return inner if is_good(value) else leave(inner)

        values = [part[1] if part[0] == "Result" else part for part in parts]
        return (type_[0], *values) if parts else type_ if type_ == ANY else type_[1], run

    def on_Try(self, node: ast.Try, scope: Scope, expected: Type | None) -> Typed:
        result = inside(expected, "Result")
        wanted = None if result in (None, ANY) else known(result[1])
        both, inner = Join(expected if node.catches or expected == DISCARD else wanted), Scope(scope)
        inner.target = both
        is_name = lambda t: len(t.path) == 1 and t.path[0].text[0] in LOWER  # noqa: E731
        every = [c for c in node.catches if c.type is None or is_name(c.type)]
        types = [type_of(clause.type, scope) for clause in node.catches if clause not in every]
        covered = len(types) < len(node.catches) or not node.catches or {ANY, ("Error",), ("RuntimeError",)} & {*types}
        both.takes_casts = bool(covered) or getattr(scope.target, "takes_casts", False)
        body = self.collect(both, node.body, inner)
        attempt = landing(lambda env: ok(body(env)), both)
        if not node.catches:
            return ("Result", both.close(), joined(both.raised) if both.raised else Var()), attempt
        rows: list[tuple[Type, Any, Code]] = []
        for clause in node.catches:
            inner, type_ = Scope(scope), ANY if clause in every else type_of(clause.type, scope)
            seen = (type_[0].item,) if isinstance(type_[0], Variant) else type_
            name = clause.name or (clause.type.path[0] if clause in every and clause.type else None)
            local = inner.declare(name.text if name else "_", seen)
            rows.append((type_, local.bind, self.collect(both, clause.body, inner)))
        heads = [head for t in both.raised if not covered_by(types, head := prune(t)[0])]  # L-3.12.17
        lifted = bool(every and every[0].type) and all(
            h == "String" or isinstance(h, frozenset) or "Error" in ancestors(h) for h in heads)  # fmt: skip
        if heads and all(test != ANY for test, *_ in rows):
            leave = self.raiser(joined([t for t in both.raised if prune(t)[0] in heads]), scope)
            rows.append((ANY, lambda env, error: leave(error), body))

        def run(env: Any) -> Any:
            outcome = attempt(env)
            (value,) = outcome.payload
            if is_good(outcome):
                return value
            test, bind, code = next(row for row in rows if has_kind(value, row[0]))
            value = Err("RuntimeError", None, value, {}) if test == ANY and lifted and isinstance(value, str) else value
            return bind(env, value) or code(env)

        return both.close(), run

    # ------------------------------------------------------------ closures

    def on_Closure(self, node: ast.Closure, scope: Scope, expected: Type | None) -> Typed:
        wanted = inside(expected, "Function")
        count = len(node.parameters) + 2
        fit = wanted if wanted and len(wanted) == count else ("Function", None, *[ANY] * (count - 2))
        result = type_of(node.result, scope) if node.result or node.function_form else known(fit[1])
        inner, rows = Scope(scope, Join(DISCARD if result == NIL else result)), []
        types = [type_of(p.type, scope) if p.type else closed(t) for p, t in zip(node.parameters, fit[2:], strict=True)]
        for p, t in zip(node.parameters, types, strict=True):
            pattern = p.pattern or ast.BindPattern(span=p.span, name=p.name, mutable=False)
            rows.append((self.binder(pattern, t, inner), None))
        type_, call = self.body(node.body, inner, rows)
        closure = lambda own: Fn(None, len(rows), lambda arguments: call(dict(own), arguments))  # noqa: E731
        return ("Function", type_, *types), lambda env: closure(dict(env))


def element_type(t: Type) -> Type:
    """Return the type of what stands at an index of a value of type `t`, and of what a loop over it walks."""
    plain = {"Range": INT, "Bytes": INT, "String": STRING, "Map": ("Tuple", *t[1:])}.get(t[0], ANY)
    return joined(t[1:]) if t[0] == "Tuple" else t[1] if t[0] in ("Array", "Set", "Queue", "Stack") else plain


def _arithmetic_type(op: str, a: Type, b: Type) -> Type:
    both = (prune(a), prune(b))
    if both == (("Bytes",), ("Bytes",)):
        return ("Bytes",)
    return STRING if op == "+" and STRING in both else ANY if ANY in both else INT if both == (INT, INT) else FLOAT
