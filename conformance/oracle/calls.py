"""Elaboration, functions and calls: what is called, how arguments are typed (L-3.8, L-3.10, L-5.9, L-6.1).

Every node becomes a Python function of the environment, with its static type: `expr` gives (type, code); `site` adds
the conversion to the type expected where the node stands (L-3.3). The environment of a call maps variables to
one-element cells; a closure keeps the cells that exist when it is made, so it sees later assignments.
"""


from concerto.compiler.syntax import ast

from .library.table import json_parse, map_good
from .places import Code, Place, write
from .scopes import (DISCARD, METHODS, Function, Item, Join, Local, Missing, Program, Scope, Variant, declared, resolve,
    texts, type_of)  # fmt: skip
from .types import (ANY, FLOAT, INT, NIL, STRING, Param, Type, Var, built, checked, convert, has_kind, inside, join,
    known, lifted, prune, reopened, served, substitute, to_float)  # fmt: skip
from .values import NONE, Any, Case, Err, Failure, Fn, Panic, Rec, ancestors, err, head_of, kind_of, sized, some, stop

Typed = tuple[Type, Code]
BRANCHING = (ast.Block, ast.GroupExpr, ast.If, ast.Match, ast.Try, ast.For, ast.While, ast.Loop)


class Leave(Exception):
    """Control on its way to a target with a value, its arguments."""


def landing(code: Code, target: Any) -> Code:
    """Code to whose end control comes that is on its way to `target`."""

    def run(env: Any) -> Any:
        try:
            return code(env)
        except Leave as leave:
            return leave.args[1] if leave.args[0] is target else stop(leave)

    return run


def located(code: Code, at: Any, panic_code: str | None = None) -> Code:
    """With the place of the node added to a panic that has none yet, and perhaps with another code."""

    def run(env: Any) -> Any:
        try:
            return code(env)
        except Panic as panic:
            panic.at, panic.code = panic.at or at, panic_code or panic.code
            raise

    return run


class Calls:
    def __init__(self, program: Program, host: Any, limit: int, steps: int | None = None) -> None:
        self.program, self.host, self.limit, self.depth, self.asserts = program, host, limit, 0, 0
        self.steps = iter(range(2**63 if steps is None else steps))
        # what was emitted; traits that have impls; left sides of pipes, by node; functions that are used as values
        self.sent, self.traits, self.piped, self.values = [], [], {}, {}

    # ------------------------------------------------------------ elaboration

    def expr(self, node: ast.Expr, scope: Scope, expected: Type | None = None) -> Typed:
        expected = None if expected == DISCARD and not isinstance(node, BRANCHING) else known(expected)
        type_, code = getattr(self, f"on_{type(node).__name__}")(node, scope, expected)
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
        later = conversion and located(conversion, self.program.at(node), panic_code)
        return code if later is None else lambda env: later(code(env))

    def collect(self, joined: Join, node: ast.Expr, scope: Scope) -> Code:
        return joined.add(*self.expr(node, scope, joined.expected))

    def alone(self, node: ast.Expr, type_: Type, scope: Scope) -> Any:
        """The value of an expression that stands in no function."""
        return self.site(node, Scope(scope, Join(type_)), type_)({})

    def constant(self, item: Item) -> Any:
        return self.alone(item.node.value, type_of(item.node.type, item.scope), item.scope)

    # ------------------------------------------------------------ impls

    def register(self) -> None:
        """Files the impls of the modules that have been read."""
        while self.program.impls:
            node, module = self.program.impls.pop(0)
            scope = Scope(module, barrier=True)
            heads = scope.parameters(node)
            scope.names["Self"] = target = type_of(node.target, scope)
            made = {m.name.text: Function(m, scope, (heads, target)) for m in node.methods}
            trait, *arguments = (None,) if node.trait is None else type_of(node.trait, scope)
            if trait is None:
                target[0].methods.update(made)
            elif trait == "Error":
                target[0].parent = "Error"
            else:  # default methods of the trait count as if they stood in the impl
                names = dict(zip((p.name for p in trait.params), arguments, strict=True))
                own = Scope(trait.scope, barrier=True, Self=target, **names)
                offered = {name: Function(m.node, own, (heads, target)) for name, m in trait.methods.items()}
                trait.impls.setdefault(target[0], []).append(offered | made)
                self.traits.append(trait)

    def offered(self, trait: Item, head: Any, name: str) -> Any:
        """The method of an impl; of several (L-3.10.3), a generic one that chooses among theirs."""
        first, *others = [made[name] for made in trait.impls[head]]
        if not others:
            return first
        heads, target = first.owner
        own = Scope(trait.scope, barrier=True, Self=target, **{p.name: (p,) for p in trait.params})
        owner, choices = ((*heads, *trait.params), target), [first, *others]
        return Function(trait.methods[name].node, own, owner, trait=trait, choices=choices)

    def method(self, head: Any, name: str, scope: Scope) -> Any:
        """An inherent or built-in method, then one of a trait (L-3.10.3)."""
        self.register()
        if isinstance(head, Param):
            bounds = [declared(resolve(scope, texts(b.path))) for b in head.bounds]
            return next((b.methods[name] for b in bounds if name in b.methods), METHODS.get(("Any", name)))
        found = head.methods.get(name) if isinstance(head, Item) else METHODS.get((head, name))
        for h in () if found else ancestors(head):
            traits = {t for t in self.traits if h in t.impls and name in t.methods}
            if len(traits) == 1:  # of two none is meant
                return self.offered(traits.pop(), h, name)
        return found or METHODS.get(("Any", name))

    # ------------------------------------------------------------ functions

    def body(self, node: ast.Expr, scope: Scope, rows: Any) -> tuple[Type, Any]:
        """What a function or closure gives for an environment and arguments. `rows`: what binds a parameter, default.

        Its tail and its returns convert to the result type, else to their join.
        """
        tail, discards = self.collect(scope.frame, node, scope), scope.frame.expected == DISCARD
        run = landing((lambda env: (tail(env), None)[1]) if discards else tail, scope.frame)

        def call(env: Any, given: list[Any]) -> Any:
            self.tick()
            self.depth += 1 if self.depth < self.limit else stop(Panic("P012", f"call depth exceeded: {self.limit}"))
            try:
                for (bind, default), value in zip(rows, given, strict=True):
                    bind(env, default(env) if value is Missing else value)
                return run(env)
            finally:
                self.depth -= 1

        return NIL if discards else scope.frame.close(), call

    def _elaborate(self, function: Function) -> Any:
        node, signature = function.node, function.signature
        scope, rows = Scope(function.scope, Join(DISCARD if signature.result == NIL else signature.result)), []
        me = [("self", signature.receiver, None)] if signature.receiver else []
        for name, type_, default in (*me, *zip(signature.names, signature.types, signature.defaults, strict=True)):
            code = None if default is None else self.site(default, scope, type_)
            rows.append((scope.declare(name, type_, name == "self" and signature.mut).bind, code))
        return self.body(node.body, scope, rows)[1]

    def enter(self, function: Function, given: list[Any]) -> tuple[Any, Any]:
        """Runs a function; gives its result and its `self` as it is then (L-5.5.6)."""
        if function.trait is not None:
            function, given = self._chosen(function, given)
        function.code = function.code or self._elaborate(function)
        return function.code(env := {}, given), next(iter(env.values()), [None])[0]

    def _chosen(self, asked: Function, given: list[Any]) -> tuple[Function, list[Any]]:
        """The function of the impl, the defaults of the trait (L-3.10.4); among impls arguments choose (L-3.10.3)."""
        found = asked.choices or [made[asked.name] for made in asked.trait.impls[served(asked.trait, given[0])]]
        own = given[bool(asked.signature.receiver) :]
        rows = zip(own, asked.signature.types, asked.signature.defaults, strict=True)
        own = [self.alone(d, t, asked.scope) if v is Missing else v for v, t, d in rows]
        for view in (lambda v: v, to_float) if len(found) > 1 else ():
            found = [f for f in found if all(map(has_kind, map(view, own), f.signature.types))] or found
        assert len(found) == 1, "several impls that fit"
        check = located(lambda row: checked(*row), self.program.at(found[0].node))
        return found[0], [*given[: -len(own) or None], *map(check, zip(own, found[0].signature.types, strict=True))]

    def perform(self, target: Any, given: list[Any]) -> tuple[Any, Any]:
        """Calls a function or method whose arguments, receiver first, are known; gives result and receiver."""
        if target.kind is None:
            return self.enter(target, given)
        signature = target.signature
        defaults = [None] * (len(given) - len(signature.types)) + signature.defaults
        values = [getattr(d, "value", None) if v is Missing else v for v, d in zip(given, defaults, strict=True)]
        try:
            made = target.run(self, *values) if target.kind == "World" else target.run(*values)
        except Failure as failure:
            family = signature.result[2][0] if signature.result[0] == "Result" else stop(failure)
            made = err(Err(family, failure.variant, failure.message, failure.fields))
        result, receiver = made if signature.mut else (made, None)
        return sized(result), sized(receiver)

    def tick(self) -> None:
        """One for each call and each round of a loop: there are no fewer of any fuel (C-12.3)."""
        if next(self.steps, None) is None:
            assert not self.host.emits, "where the fuel ends"
            raise Panic("P101", "step limit exceeded")

    # ------------------------------------------------------------ what a path denotes

    def target(self, node: ast.PathExpr, scope: Scope) -> Any:
        self.register()
        names = texts([*node.segments, *([node.member] if node.member else [])])
        found = resolve(scope, names)
        if found is None and len(names) > 1:
            owner, trait = declared(resolve(scope, names[:-1])), None
            if owner is None and len(names) > 2:  # T::X::m
                owner, trait = declared(resolve(scope, names[:-2])), declared(resolve(scope, [names[-2]]))
            found = self.offered(trait, owner, names[-1]) if trait else self.method(owner, names[-1], scope)
        assert found is not None or names == ["None"], names
        return found

    def _instance(self, target: Any, node: Any, scope: Scope) -> dict[Any, Type]:
        """Type parameters of what is called: the last are written (L-3.2.6), or, before `::`, those of its type."""
        heads, given = target.signature.heads, [type_of(t, scope) for t in node.type_arguments or []]
        names: dict[Any, Type] = {h: ANY if target is METHODS["Core", "emit"] else Var() for h in heads}
        if getattr(node, "member", None) is None:
            return names | dict(zip(heads[len(heads) - len(given) :], given, strict=True))
        owner = declared(resolve(scope, texts(node.segments)))
        convert(substitute(target.owner[1], names), (owner, *given))
        return names

    def on_PathExpr(self, node: ast.PathExpr, scope: Scope, expected: Type | None) -> Typed:
        found = self.target(node, scope)
        if isinstance(found, Local):
            return found.type, lambda env: env[found][0]
        if isinstance(found, Item):
            return type_of(found.node.type, found.scope), lambda env: self.constant(found)
        if found is None:
            return ("Option", Var()), lambda env: NONE
        if (signature := found.signature) is not None:
            types = [*([signature.receiver] if signature.receiver else []), *signature.types]
            made = Fn(found.name, len(types), lambda given: self.perform(found, given)[0])
            made, names = self.values.setdefault((found.node, found.owner), made), self._instance(found, node, scope)
            return substitute(("Function", signature.result, *types), names), lambda env: made
        if isinstance(found.item, str):
            return (found.item,), lambda env: Err(found.item, found.name, found.name, {})
        return found.item.instance(lambda p: Var()), lambda env: Case(found.item, found.name)

    # ------------------------------------------------------------ calls

    def on_Call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        callee, rest = node.callee, node.arguments
        found = self.target(callee, scope) if isinstance(callee, ast.PathExpr) else None
        if not isinstance(found, (Function, Variant)):
            return self.call_value(*self.expr(callee, scope), rest, scope)
        if found.signature is None:
            variant, message = None if found.name == "new" else found.name, self.site(rest[0].value, scope, STRING)
            return (found.item,), lambda env: Err(found.item, variant, message(env), {})
        names = self._instance(found, callee, scope)
        if found.signature.receiver is not None:
            return self._method(found, names, self._receiver(rest[0].value, scope), rest[1:], scope, expected)
        codes, result = self.arguments(found, names, rest, scope, expected)
        if found in (METHODS["json", "parse_as"], METHODS["json", "value_as"]):
            text = str if found is METHODS["json", "parse_as"] else METHODS["json", "value_as"].run
            run = lambda s: self.parsed(text(s), result[1])  # noqa: E731
            found = Function(found.node, found.scope, found.owner, kind="json", run=run)
        return result, lambda env: self.perform(found, codes(env))[0]

    def parsed(self, text: str, type_: Type) -> Case:
        """L-7.1.2: defaults of fields are evaluated when all the rest fits."""
        made = json_parse(text)
        map_good(made, lambda v: built(v, type_, lambda *_: None))
        return map_good(made, lambda v: built(v, type_, lambda i, n, t: self.alone(i.defaults()[n], t, i.scope)))

    def call_value(self, type_: Type, code: Code, rest: Any, scope: Scope) -> Typed:
        _, result, *types = prune(type_) if prune(type_)[0] == "Function" else (ANY,) * (len(rest) + 2)
        codes = [self.site(a.value, scope, t) for a, t in zip(rest, types, strict=True)]
        called = lambda f, given: f(*given) if isinstance(f, Fn) else stop(Panic("P015", kind_of(f)))  # noqa: E731
        return result, lambda env: called(code(env), [c(env) for c in codes])

    def arguments(self, target: Any, names: dict[Any, Any], rest: Any, scope: Scope, expected: Type) -> Any:
        """Evaluates arguments as written; gives them in the order of the parameters (L-5.9.1), and the type."""
        signature, rows = target.signature, []
        result, is_emit = substitute(signature.result, names), target is METHODS["Core", "emit"]
        wanted = known(expected) if isinstance(prune(result), Var) else inside(expected, prune(result)[0])
        if wanted not in (None, ANY):
            convert(result, wanted)
        for i, argument in enumerate(rest):  # `print` takes any number
            named, last = argument.name and argument.name.text, len(signature.types) - 1
            at = signature.names.index(named) if named else min(i, last)
            wanted = substitute(signature.types[at], names)
            type_, code = self.expr(argument.value, scope, known(wanted))
            panic_code = "P415" if is_emit and at else None
            rows.append((at, type_, self.converted(code, convert(type_, wanted), argument.value, panic_code)))
        if target in (METHODS["Core", "assert_eq"], METHODS["Core", "assert_ne"]):
            types = {at: type_ for at, type_, _ in rows}
            lifts = (*lifted(types[0], types[1]), None)
            rows = [(at, t, self.converted(c, lifts[at], a.value)) for (at, t, c), a in zip(rows, rest, strict=True)]
        if not rest and target is METHODS["Core", "Ok"]:
            convert(NIL, prune(result)[1])
        if prune(result) == ("Number",):
            numbers = {(target.kind,), *(prune(t) for _, t, _ in rows)}
            result = ANY if ANY in numbers else FLOAT if FLOAT in numbers else INT
        ordered = lambda given: [given.get(at, Missing) for at in range(len(signature.types))]  # noqa: E731
        return lambda env: ordered({at: code(env) for at, _, code in rows}), prune(result)

    # ------------------------------------------------------------ methods

    def _receiver(self, node: ast.Expr, scope: Scope) -> Place:
        found = self.place(node, scope)
        type_, code = (None, None) if found else self.expr(node, scope)
        return found or Place(prune(type_), None, [], code)

    def on_MethodCall(self, node: ast.MethodCall, scope: Scope, expected: Type | None) -> Typed:
        name, place = node.name.text, self._receiver(node.receiver, scope)
        if place.type == ANY:
            return self._dynamic(node, place, scope)
        if place.type[0] == "Nilable" and name != "to_string":
            return self._optional(node, place, scope, expected)
        head = place.type[0]
        found = self.method(head, name, scope)
        if found is not None:
            return self._method(found, self._instance(found, node, scope), place, node.arguments, scope, expected)
        read = lambda env: place.read(env, place.steps(env)).fields[name]  # noqa: E731
        return self.call_value(head.parts(place.type)[name], read, node.arguments, scope)

    def _optional(self, node: ast.MethodCall, place: Place, scope: Scope, expected: Type | None) -> Typed:
        """A method of Option on a `T?` (L-6.6.9), else one of the T that is there (L-3.3.18)."""
        inner, name = prune(place.type[1]), node.name.text
        found = METHODS.get(("Option", name))
        if found is None:
            found, place = self.method(inner[0], name, scope), place._replace(type=inner)
            if found is None:
                read = lambda env: place.read(env, place.steps(env)).fields[name]  # noqa: E731
                return self.call_value(inner[0].parts(inner)[name], read, node.arguments, scope)
            return self._method(found, self._instance(found, node, scope), place, node.arguments, scope, expected)
        lift = lambda value: NONE if value is None else some(value)  # noqa: E731
        held = Place(("Option", inner), None, [], lambda env: lift(place.read(env, place.steps(env))))
        if name == "and_then":  # of a function that gives no Option it is `map`
            of_function = prune(self.expr(node.arguments[0].value, scope, ("Function", Var(), inner))[0])
            found = found if prune(of_function[1])[0] == "Option" else METHODS["Option", "map"]
        type_, code = self._method(found, self._instance(found, node, scope), held, node.arguments, scope, expected)
        if prune(type_)[0] != "Option":
            return type_, code
        plain = lambda made: made.payload[0] if made.payload else None  # noqa: E731
        return join(NIL, prune(type_)[1]), lambda env: plain(code(env))

    def _method(self, found: Any, names: Any, place: Place, rest: Any, scope: Scope, expected: Any) -> Typed:
        signature = found.signature
        if found.trait is not None and place.type[0] is found.trait:
            names.update(zip(found.trait.params, place.type[1:], strict=True))
        convert(place.type, substitute(signature.receiver, names))
        codes, result = self.arguments(found, names, rest, scope, expected)
        result = reopened(result, lambda: ANY) if place.root is not None else result  # L-3.2.8

        def run(env: Any) -> Any:
            steps = place.steps(env)
            value = None if signature.mut and place.root else place.read(env, steps)
            made = self.applied(env, place, steps, found, [value, *codes(env)])
            return to_float(made) if result == FLOAT else made  # the sum of no Floats

        return result, run

    def _dynamic(self, node: ast.MethodCall, place: Place, scope: Scope) -> Typed:
        """L-3.7.1: the method is found by run-time type."""
        name = node.name.text
        rows = [(a.name and a.name.text, self.site(a.value, scope, ANY)) for a in node.arguments]

        def run(env: Any) -> Any:
            steps = place.steps(env)
            value = place.read(env, steps)
            given = [(label, c(env)) for label, c in rows]
            found = self.method(head_of(value), name, scope)
            if found is None and isinstance(value, Rec) and isinstance(value.fields.get(name), Fn):
                return value.fields[name](*[v for _, v in given])
            shape = found and found.signature
            if found is None or shape.receiver is None or shape.mut and place.root and not place.root.mutable:
                raise Panic("P014", f"{kind_of(value)} has no method {name}")
            return self.applied(env, place, steps, found, [value, *_ordered(name, shape, given)])

        return STRING if name == "to_string" else ANY, run

    def applied(self, env: Any, place: Place, steps: list[Any], found: Any, given: list[Any]) -> Any:
        """A *mut* method works in place on its receiver place (L-5.5.6)."""
        changes = found.signature.mut and place.root
        result, new = self.perform(found, [place.read(env, steps, exists=True), *given[1:]] if changes else given)
        if changes:
            env[place.root][0] = write(env[place.root][0], steps, new)
        return result


def _ordered(called: str, signature: Any, given: list[tuple[str | None, Any]]) -> list[Any]:
    """Arguments of a dynamic call, checked as far as L-3.3.3 goes."""
    names, count, anything = signature.names, len(signature.names), dict.fromkeys(signature.heads, ANY)
    found = {label or (names[i] if i < count else ""): value for i, (label, value) in enumerate(given)}
    required = {n for n, d in zip(names, signature.defaults, strict=True) if d is None}
    if len(found) < len(given) or not required <= found.keys() <= set(names):
        raise Panic("P015", f"{called} expects {count} arguments, {len(given)} given")
    rows = [(name, substitute(t, anything)) for name, t in zip(names, signature.types, strict=True)]
    return [checked(found[name], t) if name in found else Missing for name, t in rows]
