"""Elaboration, functions and calls: what is called, how arguments are typed (L-3.8, L-3.10, L-5.9, L-6.1).

Hands on to `evaluate` `Calls`, the base of its `Evaluator`, `Leave`, `landing` and the type Typed. Every node becomes
a Python function of the environment, with its static type: `expr` returns (type, code); `site` adds the conversion to
the type expected where the node stands (L-3.3). The environment of a call maps variables to one-element cells; a
closure keeps the cells that exist when it is made, so it sees later assignments. The meaning of a node of class X is
the method `on_X(node, scope, expected)`, which returns (type, code); `expected` is the type that the place asks for,
None for no or an open type.
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
    """Control on its way to a target with a value: its two arguments."""


def landing(code: Code, target: Any) -> Code:
    """Return code that also ends, with the value, when control comes that is on its way to `target`."""

    def run(env: Any) -> Any:
        try:
            return code(env)
        except Leave as leave:
            return leave.args[1] if leave.args[0] is target else stop(leave)

    return run


def located(code: Code, at: Any, panic_code: str | None = None) -> Code:
    """Return code that adds the place `at` to a panic that has none yet, and gives it another code if there is
    one."""

    def run(env: Any) -> Any:
        try:
            return code(env)
        except Panic as panic:
            panic.at, panic.code = panic.at or at, panic_code or panic.code
            raise

    return run


class Calls:
    """Elaborates and calls functions. `host` is the world of the run; `limit` the depth of calls; `steps`, if it is
    not None, how many calls and rounds of loops there may be. `depth` counts the calls that run, `asserts` the
    assertions made so far."""

    def __init__(self, program: Program, host: Any, limit: int, steps: int | None = None) -> None:
        self.program, self.host, self.limit, self.depth, self.asserts = program, host, limit, 0, 0
        self.steps = iter(range(2**63 if steps is None else steps))
        # what was emitted; traits that have impls; left sides of pipes, by node; functions that are used as values
        self.sent, self.traits, self.piped, self.values = [], [], {}, {}

    # ------------------------------------------------------------ elaboration

    def expr(self, node: ast.Expr, scope: Scope, expected: Type | None = None) -> Typed:
        """Return type and code of an expression; a panic of the code has the place of the node. A left side of a pipe
        is only read."""
        expected = None if expected == DISCARD and not isinstance(node, BRANCHING) else known(expected)
        type_, code = getattr(self, f"on_{type(node).__name__}")(node, scope, expected)
        if id(node) in self.piped:
            local = Local(type_, False)
            self.piped[id(node)] = (local, code)
            return type_, lambda env: env[local][0]
        return type_, code if isinstance(node, (ast.Block, ast.GroupExpr)) else located(code, self.program.at(node))

    def site(self, node: ast.Expr, scope: Scope, expected: Type) -> Code:
        """Return the code of an expression, with the conversion to the type `expected`."""
        type_, code = self.expr(node, scope, expected)
        return self.converted(code, convert(type_, expected), node)

    def converted(self, code: Code, conversion: Any, node: ast.Expr, panic_code: str | None = None) -> Code:
        """Return code with a conversion behind it, which may panic where the node stands; the code itself for no
        conversion."""
        later = conversion and located(conversion, self.program.at(node), panic_code)
        return code if later is None else lambda env: later(code(env))

    def collect(self, joined: Join, node: ast.Expr, scope: Scope) -> Code:
        """Return the code of an expression as one of the branches of a Join."""
        return joined.add(*self.expr(node, scope, joined.expected))

    def alone(self, node: ast.Expr, type_: Type, scope: Scope) -> Any:
        """Return the value of an expression that stands in no function."""
        return self.site(node, Scope(scope, Join(type_)), type_)({})

    def constant(self, item: Item) -> Any:
        """Return the value of a constant, evaluated anew."""
        return self.alone(item.node.value, type_of(item.node.type, item.scope), item.scope)

    # ------------------------------------------------------------ impls

    def register(self) -> None:
        """File the impls of the modules that have been read since the last time."""
        while self.program.impls:
            node, module = self.program.impls.pop(0)
            scope = Scope(module, barrier=True)
            heads = scope.parameters(node)
            scope.names["Self"] = target = type_of(node.target, scope)
            methods = {m.name.text: Function(m, scope, (heads, target)) for m in node.methods}
            trait, *arguments = (None,) if node.trait is None else type_of(node.trait, scope)
            if trait is None:
                target[0].methods.update(methods)
            elif trait == "Error":
                target[0].parent = "Error"
            else:  # default methods of the trait count as if they stood in the impl
                names = dict(zip((p.name for p in trait.params), arguments, strict=True))
                own = Scope(trait.scope, barrier=True, Self=target, **names)
                offered = {name: Function(m.node, own, (heads, target)) for name, m in trait.methods.items()}
                trait.impls.setdefault(target[0], []).append(offered | methods)
                self.traits.append(trait)

    def offered(self, trait: Item, head: Any, name: str) -> Any:
        """Return the method of an impl of a trait; of several impls (L-3.10.3), a generic one that chooses among
        theirs."""
        first, *others = [methods[name] for methods in trait.impls[head]]
        if not others:
            return first
        heads, target = first.owner
        own = Scope(trait.scope, barrier=True, Self=target, **{p.name: (p,) for p in trait.params})
        owner, choices = ((*heads, *trait.params), target), [first, *others]
        return Function(trait.methods[name].node, own, owner, trait=trait, choices=choices)

    def method(self, head: Any, name: str, scope: Scope) -> Any:
        """Return the method of that name for a head: an inherent or built-in one, then one of a trait (L-3.10.3),
        then one that every value has; None if there is none."""
        self.register()
        if isinstance(head, Param):
            bounds = [declared(resolve(scope, texts(b.path))) for b in head.bounds]
            return next((b.methods[name] for b in bounds if name in b.methods), METHODS.get(("Any", name)))
        target = head.methods.get(name) if isinstance(head, Item) else METHODS.get((head, name))
        for h in () if target else ancestors(head):
            traits = {t for t in self.traits if h in t.impls and name in t.methods}
            if len(traits) == 1:  # of two none is meant
                return self.offered(traits.pop(), h, name)
        return target or METHODS.get(("Any", name))

    # ------------------------------------------------------------ functions

    def body(self, node: ast.Expr, scope: Scope, rows: Any) -> tuple[Type, Any]:
        """Return the result type of a function or closure, and what runs it for an environment and arguments. `rows`
        has for each parameter what binds it, and the code of its default or None. Its tail and its returns convert to
        the result type, else to their join."""
        tail, discards = self.collect(scope.frame, node, scope), scope.frame.expected == DISCARD
        run = landing((lambda env: (tail(env), None)[1]) if discards else tail, scope.frame)
        library = scope.module.library

        def call(env: Any, arguments: list[Any]) -> Any:
            self.tick()
            self.depth += 1 if self.depth < self.limit else stop(Panic("P012", f"call depth exceeded: {self.limit}"))
            outer = self.host.library
            self.host.library = outer if library is None else library  # whose rights count (P-3.5)
            try:
                for (bind, default), value in zip(rows, arguments, strict=True):
                    bind(env, default(env) if value is Missing else value)
                return run(env)
            finally:
                self.depth -= 1
                self.host.library = outer

        return NIL if discards else scope.frame.close(), call

    def _elaborate(self, function: Function) -> Any:
        node, signature = function.node, function.signature
        scope, rows = Scope(function.scope, Join(DISCARD if signature.result == NIL else signature.result)), []
        me = [("self", signature.receiver, None)] if signature.receiver else []
        for name, type_, default in (*me, *zip(signature.names, signature.types, signature.defaults, strict=True)):
            code = None if default is None else self.site(default, scope, type_)
            rows.append((scope.declare(name, type_, name == "self" and signature.mut).bind, code))
        return self.body(node.body, scope, rows)[1]

    def enter(self, function: Function, arguments: list[Any]) -> tuple[Any, Any]:
        """Run a function; return its result and its `self` as it is then (L-5.5.6)."""
        if function.trait is not None:
            function, arguments = self._chosen(function, arguments)
        function.code = function.code or self._elaborate(function)
        return function.code(env := {}, arguments), next(iter(env.values()), [None])[0]

    def _chosen(self, asked: Function, args: list[Any]) -> tuple[Function, list[Any]]:
        """Return the function of the impl that a method of a trait means, and the arguments with the defaults of the
        trait (L-3.10.4); among impls the arguments choose (L-3.10.3)."""
        fitting = asked.choices or [methods[asked.name] for methods in asked.trait.impls[served(asked.trait, args[0])]]
        own, scope, env = args[bool(asked.signature.receiver) :], Scope(asked.scope, Join(NIL)), {}
        names = zip(asked.signature.names, asked.signature.types, asked.signature.defaults, strict=True)
        for at, (name, type_, default) in enumerate(names):  # a default may name the parameters before it
            own[at] = self.site(default, scope, type_)(env) if own[at] is Missing else own[at]
            scope.declare(name, type_).bind(env, own[at])
        for view in (lambda v: v, to_float) if len(fitting) > 1 else ():
            fitting = [f for f in fitting if all(map(has_kind, map(view, own), f.signature.types))] or fitting
        assert len(fitting) == 1, "several impls that fit"
        check = located(lambda row: checked(*row), self.program.at(fitting[0].node))
        return fitting[0], [*args[: -len(own) or None], *map(check, zip(own, fitting[0].signature.types, strict=True))]

    def perform(self, target: Any, arguments: list[Any]) -> tuple[Any, Any]:
        """Call a function or method whose arguments, receiver first, are known; return result and receiver, the
        latter None unless it is *mut*. A Failure becomes an Err if the function gives a Result."""
        if target.kind is None:
            return self.enter(target, arguments)
        signature = target.signature
        defaults = [None] * (len(arguments) - len(signature.types)) + signature.defaults
        values = [getattr(d, "value", None) if v is Missing else v for v, d in zip(arguments, defaults, strict=True)]
        try:
            outcome = target.run(self, *values) if target.kind == "World" else target.run(*values)
        except Failure as failure:
            family = signature.result[2][0] if signature.result[0] == "Result" else stop(failure)
            outcome = err(Err(family, failure.variant, failure.message, failure.fields))
        result, receiver = outcome if signature.mut else (outcome, None)
        return sized(result), sized(receiver)

    def tick(self) -> None:
        """Count one step, for each call and each round of a loop: fewer than of any fuel (C-12.3). Panic P101 at the
        limit."""
        if next(self.steps, None) is None:
            assert not self.host.emits, "where the fuel ends"
            raise Panic("P101", "step limit exceeded")

    # ------------------------------------------------------------ what a path denotes

    def target(self, node: ast.PathExpr, scope: Scope) -> Any:
        """Return what a path denotes: a variable, function, variant or constant, None for `None`."""
        self.register()
        names = texts([*node.segments, *([node.member] if node.member else [])])
        target = resolve(scope, names)
        if target is None and len(names) > 1:
            owner, trait = declared(resolve(scope, names[:-1])), None
            if owner is None and len(names) > 2:  # T::X::m
                owner, trait = declared(resolve(scope, names[:-2])), declared(resolve(scope, [names[-2]]))
            target = self.offered(trait, owner, names[-1]) if trait else self.method(owner, names[-1], scope)
        assert target is not None or names == ["None"], names
        return target

    def _instance(self, target: Any, node: Any, scope: Scope) -> dict[Any, Type]:
        """Return the types for the type parameters of what is called: the last are written (L-3.2.6), or, before
        `::`, those of its type. The others are open."""
        heads, written = target.signature.heads, [type_of(t, scope) for t in node.type_arguments or []]
        names: dict[Any, Type] = {h: ANY if target is METHODS["Core", "emit"] else Var() for h in heads}
        if getattr(node, "member", None) is None:
            return names | dict(zip(heads[len(heads) - len(written) :], written, strict=True))
        owner = declared(resolve(scope, texts(node.segments)))
        convert(substitute(target.owner[1], names), (owner, *written))
        return names

    def on_PathExpr(self, node: ast.PathExpr, scope: Scope, expected: Type | None) -> Typed:
        target = self.target(node, scope)
        if isinstance(target, Local):
            return target.type, lambda env: env[target][0]
        if isinstance(target, Item):
            return type_of(target.node.type, target.scope), lambda env: self.constant(target)
        if target is None:
            return ("Option", Var()), lambda env: NONE
        if (signature := target.signature) is not None:
            types = [*([signature.receiver] if signature.receiver else []), *signature.types]
            fn = Fn(target.name, len(types), lambda arguments: self.perform(target, arguments)[0])
            fn, names = self.values.setdefault((target.node, target.owner), fn), self._instance(target, node, scope)
            return substitute(("Function", signature.result, *types), names), lambda env: fn
        if isinstance(target.item, str):
            return (target.item,), lambda env: Err(target.item, target.name, target.name, {})
        return target.item.instance(lambda p: Var()), lambda env: Case(target.item, target.name)

    # ------------------------------------------------------------ calls

    def on_Call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        callee, rest = node.callee, node.arguments
        target = self.target(callee, scope) if isinstance(callee, ast.PathExpr) else None
        if not isinstance(target, (Function, Variant)):
            return self.call_value(*self.expr(callee, scope), rest, scope)
        if target.signature is None:
            variant, message = None if target.name == "new" else target.name, self.site(rest[0].value, scope, STRING)
            return (target.item,), lambda env: Err(target.item, variant, message(env), {})
        names = self._instance(target, callee, scope)
        if target.signature.receiver is not None:
            return self._method(target, names, self._receiver(rest[0].value, scope), rest[1:], scope, expected)
        codes, result = self.arguments(target, names, rest, scope, expected)
        if target in (METHODS["json", "parse_as"], METHODS["json", "value_as"]):
            text = str if target is METHODS["json", "parse_as"] else METHODS["json", "value_as"].run
            run = lambda s: self.parsed(text(s), result[1])  # noqa: E731
            target = Function(target.node, target.scope, target.owner, kind="json", run=run)
        return result, lambda env: self.perform(target, codes(env))[0]

    def parsed(self, text: str, type_: Type) -> Case:
        """Return the value of type `type_` that a JSON text means, as a Result (L-7.1.2). Defaults of fields are
        evaluated when all the rest fits."""
        result = json_parse(text)
        map_good(result, lambda v: built(v, type_, lambda *_: None))
        return map_good(result, lambda v: built(v, type_, lambda i, n, t: self.alone(i.defaults()[n], t, i.scope)))

    def call_value(self, type_: Type, code: Code, rest: Any, scope: Scope) -> Typed:
        """Return type and code of the call of a function value with the arguments `rest`."""
        _, result, *types = prune(type_) if prune(type_)[0] == "Function" else (ANY,) * (len(rest) + 2)
        codes = [self.site(a.value, scope, t) for a, t in zip(rest, types, strict=True)]
        called = lambda f, args: f(*args) if isinstance(f, Fn) else stop(Panic("P015", kind_of(f)))  # noqa: E731
        return result, lambda env: called(code(env), [c(env) for c in codes])

    def arguments(self, target: Any, names: dict[Any, Any], rest: Any, scope: Scope, expected: Type) -> Any:
        """Return the code that evaluates arguments as written and gives them in the order of the parameters
        (L-5.9.1), and the result type of the call."""
        signature, rows = target.signature, []
        result, is_emit = substitute(signature.result, names), target is METHODS["Core", "emit"]
        wanted = known(expected) if isinstance(prune(result), Var) else inside(expected, prune(result)[0])
        is_end = wanted and wanted[0] == "Result" and wanted is scope.frame.expected
        may_wrap = is_end and isinstance(prune(result), Var) and self._is_plain(signature, names, rest, scope)
        if wanted not in (None, ANY) and not may_wrap:
            convert(result, wanted)
        for i, argument in enumerate(rest):  # `print` takes any number
            named, last = argument.name and argument.name.text, len(signature.types) - 1
            at = signature.names.index(named) if named else min(i, last)
            wanted = substitute(signature.types[at], names)
            type_, code = self.expr(argument.value, scope, None if prune(result) == ("Number",) else known(wanted))
            panic_code = "P415" if is_emit and at else None
            rows.append((at, type_, self.converted(code, convert(type_, wanted), argument.value, panic_code)))
        if target in (METHODS["Core", "assert_eq"], METHODS["Core", "assert_ne"]):
            types = {at: type_ for at, type_, _ in rows}
            lifts = (*lifted(types[0], types[1]), None)
            rows = [(at, t, self.converted(c, lifts[at], a.value)) for (at, t, c), a in zip(rows, rest, strict=True)]
        if may_wrap:
            convert(result, wanted)
        if not rest and target is METHODS["Core", "Ok"]:
            convert(NIL, prune(result)[1])
        if prune(result) == ("Number",):
            numbers = {(target.kind,), *(prune(t) for _, t, _ in rows)}
            result = ANY if ANY in numbers else FLOAT if FLOAT in numbers else INT
        ordered = lambda by_index: [by_index.get(at, Missing) for at in range(len(signature.types))]  # noqa: E731
        return lambda env: ordered({at: code(env) for at, _, code in rows}), prune(result)

    def _is_plain(self, signature: Any, names: dict[Any, Any], rest: Any, scope: Scope) -> bool:
        """Return whether the arguments of a call whose result is a bare type parameter say that it is no Result, so
        that it is wrapped where its function ends (L-3.3.19)."""
        own = Var()
        for i, argument in enumerate(rest):
            at = signature.names.index(argument.name.text) if argument.name else min(i, len(signature.types) - 1)
            formal = substitute(signature.types[at], {**names, signature.result[0]: own})
            convert(self.expr(argument.value, scope)[0], formal)
            if not isinstance(prune(own), Var):
                break
        return not isinstance(prune(own), Var) and prune(own)[0] not in ("Result", "Never", "Any")

    # ------------------------------------------------------------ methods

    def _receiver(self, node: ast.Expr, scope: Scope) -> Place:
        place = self.place(node, scope)
        type_, code = (None, None) if place else self.expr(node, scope)
        return place or Place(prune(type_), None, [], code)

    def on_MethodCall(self, node: ast.MethodCall, scope: Scope, expected: Type | None) -> Typed:
        name, place = node.name.text, self._receiver(node.receiver, scope)
        if place.rows and ("Option", name) in METHODS and place.type[0] != "Option":  # L-6.6.9
            type_, code = self.expr(node.receiver, scope)
            place = Place(prune(type_), None, [], code)
        if place.type == ANY:
            return self._dynamic(node, place, scope)
        if place.type[0] == "Nilable" and name != "to_string":
            return self._optional(node, place, scope, expected)
        head = place.type[0]
        target = self.method(head, name, scope)
        if target is not None:
            return self._method(target, self._instance(target, node, scope), place, node.arguments, scope, expected)
        read = lambda env: place.read(env, place.steps(env)).fields[name]  # noqa: E731
        return self.call_value(head.parts(place.type)[name], read, node.arguments, scope)

    def _optional(self, node: ast.MethodCall, place: Place, scope: Scope, expected: Type | None) -> Typed:
        """Return type and code of the call of a method of Option on a `T?` (L-6.6.9), else of one of the T that is
        there (L-3.3.18)."""
        inner, name = prune(place.type[1]), node.name.text
        target = METHODS.get(("Option", name))
        if target is None:
            target, place = self.method(inner[0], name, scope), place._replace(type=inner)
            if target is None:
                read = lambda env: place.read(env, place.steps(env)).fields[name]  # noqa: E731
                return self.call_value(inner[0].parts(inner)[name], read, node.arguments, scope)
            return self._method(target, self._instance(target, node, scope), place, node.arguments, scope, expected)
        lift = lambda value: NONE if value is None else some(value)  # noqa: E731
        held = Place(("Option", inner), None, [], lambda env: lift(place.read(env, place.steps(env))))
        if name == "and_then":  # of a function that gives no Option it is `map`
            of_function = prune(self.expr(node.arguments[0].value, scope, ("Function", Var(), inner))[0])
            target = target if prune(of_function[1])[0] == "Option" else METHODS["Option", "map"]
        type_, code = self._method(target, self._instance(target, node, scope), held, node.arguments, scope, expected)
        if prune(type_)[0] != "Option":
            return type_, code
        plain = lambda option: option.payload[0] if option.payload else None  # noqa: E731
        return join(NIL, prune(type_)[1]), lambda env: plain(code(env))

    def _method(self, target: Any, names: Any, place: Place, rest: Any, scope: Scope, expected: Any) -> Typed:
        """Return type and code of the call of a known method on a place; `names` are the types of its type
        parameters."""
        signature = target.signature
        if target.trait is not None and place.type[0] is target.trait:
            names.update(zip(target.trait.params, place.type[1:], strict=True))
        convert(place.type, substitute(signature.receiver, names))
        codes, result = self.arguments(target, names, rest, scope, expected)
        result = reopened(result, lambda: ANY) if place.root is not None else result  # L-3.2.8

        def run(env: Any) -> Any:
            steps = place.steps(env)
            value = None if signature.mut and place.root else place.read(env, steps)
            outcome = self.applied(env, place, steps, target, [value, *codes(env)])
            return to_float(outcome) if result == FLOAT else outcome  # the sum of no Floats

        return result, run

    def _dynamic(self, node: ast.MethodCall, place: Place, scope: Scope) -> Typed:
        """Return type and code of a call whose method is found by the run-time type of the receiver (L-3.7.1)."""
        name = node.name.text
        rows = [(a.name and a.name.text, self.site(a.value, scope, ANY)) for a in node.arguments]

        def run(env: Any) -> Any:
            steps = place.steps(env)
            value = place.read(env, steps)
            arguments = [(label, c(env)) for label, c in rows]
            target = self.method(head_of(value), name, scope)
            if target is None and isinstance(value, Rec) and isinstance(value.fields.get(name), Fn):
                return value.fields[name](*[v for _, v in arguments])
            shape = target and target.signature
            if target is None or shape.receiver is None or shape.mut and place.root and not place.root.mutable:
                raise Panic("P014", f"{kind_of(value)} has no method {name}")
            return self.applied(env, place, steps, target, [value, *_ordered(name, shape, arguments)])

        return STRING if name == "to_string" else ANY, run

    def applied(self, env: Any, place: Place, steps: list[Any], target: Any, args: list[Any]) -> Any:
        """Call a method on a place and return the result. A *mut* method writes the changed receiver to its place
        (L-5.5.6)."""
        changes = target.signature.mut and place.root
        result, new = self.perform(target, [place.read(env, steps, exists=True), *args[1:]] if changes else args)
        if changes:
            env[place.root][0] = write(env[place.root][0], steps, new)
        return result


def _ordered(called: str, signature: Any, args: list[tuple[str | None, Any]]) -> list[Any]:
    """Return the arguments of a dynamic call in the order of the parameters, checked as far as L-3.3.3 goes. Panic
    P015 for wrong ones."""
    names, count, anything = signature.names, len(signature.names), dict.fromkeys(signature.heads, ANY)
    by_name = {label or (names[i] if i < count else ""): value for i, (label, value) in enumerate(args)}
    required = {n for n, d in zip(names, signature.defaults, strict=True) if d is None}
    if len(by_name) < len(args) or not required <= by_name.keys() <= set(names):
        raise Panic("P015", f"{called} expects {count} arguments, {len(args)} given")
    rows = [(name, substitute(t, anything)) for name, t in zip(names, signature.types, strict=True)]
    return [checked(by_name[name], t) if name in by_name else Missing for name, t in rows]
