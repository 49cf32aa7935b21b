"""Calls: what is called, how its arguments are typed, and what happens then (L-3.8, L-3.10, L-5.9, L-6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from .places import read, walk, write
from .scopes import (
    METHODS, Frame, Function, Item, Local, Missing, Program, Scope, Variant, declared, resolve, texts, type_of,
)  # fmt: skip
from .types import (
    ANY, BOOL, FLOAT, INT, NIL, STRING, NotClaimed, Param, Type, Var, cast, checked, convert, deep, inside, known, prune, served, substitute,
    to_float,
)  # fmt: skip
from .values import NONE, PARENTS, Case, Err, Fn, Panic, Rec, display, equal, head_of, is_good, json_text, kind_of, of_kind

Code = Callable[[Any], Any]
Typed = tuple[Type, Code]
Place = tuple[Type, Local, list[tuple[str, Code]]]
Receiver = tuple[Place | None, Type, Code]


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
    expr: Callable[..., Typed]
    site: Callable[..., Code]
    converted: Callable[..., Code]
    body: Callable[..., Typed]
    place: Callable[..., Place | None]

    def __init__(self, program: Program, limit: int) -> None:
        self.program, self.limit = program, limit
        self.depth = self.asserts = 0
        self.emits: list[tuple[str, str]] = []
        self.offered: dict[tuple[Any, str], Function | None] = {}  # methods of traits, by head of the type
        self.piped: dict[int, Any] = {}  # left sides of pipes, by node
        self.conversions: dict[Any, list[Function]] = {}  # of impls of From, by what they give
        self.values: dict[Any, Fn] = {}  # of functions that are used as values

    # ------------------------------------------------------------ declarations

    def register(self) -> None:
        """Files the impls of the modules that have been read."""
        while self.program.impls:
            node, module = self.program.impls.pop(0)
            scope = Scope(module, barrier=True)
            heads = scope.parameters(node)
            scope.names["Self"] = target = type_of(node.target, scope)
            made = {m.name.text: Function(m, scope, (heads, target)) for m in node.methods}
            if node.trait is None:
                target[0].methods.update(made)
            else:
                self._implemented(type_of(node.trait, scope), heads, target, made)

    def _implemented(self, t: Type, heads: Any, target: Type, made: dict[str, Function]) -> None:
        """The trait learns of the impl; its default methods count as if they stood there."""
        trait, *arguments = t
        if trait == "Error":
            target[0].is_error = True
        elif not isinstance(trait, Item):
            self.conversions.setdefault(target[0], []).extend(made.values())
            self.offered[target[0], "from"] = made["from"]
        elif target[0] in trait.impls:
            raise NotClaimed("one trait with several arguments")
        else:
            own = Scope(trait.scope, barrier=True)
            own.names = {"Self": target, **dict(zip((p.name for p in trait.params), arguments, strict=True))}
            rest = [m for m in trait.node.methods if m.name.text not in made]
            trait.impls[target[0]] = made | {m.name.text: Function(m, own, (heads, target)) for m in rest}
            for key, function in (((target[0], name), f) for name, f in trait.impls[target[0]].items()):
                self.offered[key] = None if key in self.offered else function  # of two traits none is meant

    def method(self, head: Any, name: str, scope: Scope) -> Any:
        """An inherent or built-in method, then one of a trait (L-3.10.3)."""
        self.register()
        if isinstance(head, Param):
            bounds = [declared(resolve(scope, texts(b.path))) for b in head.bounds]
            return next((b.methods[name] for b in bounds if name in b.methods), None)
        found = head.methods.get(name) if isinstance(head, Item) else METHODS.get((head, name))
        while found is None and head:
            found, head = self.offered.get((head, name)), PARENTS.get(head)
        return found

    def alone(self, node: ast.Expr, type_: Type, scope: Scope) -> Any:
        """The value of an expression that stands in no function."""
        return self.site(node, Scope(scope, Frame(type_)), type_)({})

    def constant(self, item: Item) -> Any:
        if item.value is Missing:
            item.value = self.alone(item.node.value, type_of(item.node.type, item.scope), item.scope)
        return item.value

    # ------------------------------------------------------------ running

    def enter(self, function: Function, given: list[Any]) -> tuple[Any, Any]:
        """Runs a function; gives its result and its `self` as it is then (L-5.5.6)."""
        if function.trait is not None:
            function, given = self._chosen(function, given)
        if function.code is None:
            self._elaborate(function)
        env: dict[Local, Any] = {}

        def run(given: list[Any]) -> tuple[Any, Any]:
            for local, default, value in zip(function.locals, function.defaults, given, strict=True):
                env[local] = [default(env) if value is Missing else value]
            return function.code(env), env[function.locals[0]][0] if given else None

        return self.framed(run, given)

    def _chosen(self, asked: Function, given: list[Any]) -> tuple[Function, list[Any]]:
        """The function of the impl, the defaults of the trait (L-3.10.4)."""

        def passed(value: Any, t: Type, default: ast.Expr) -> Any:
            return self.alone(default, t, asked.scope) if value is Missing else checked(value, t)

        function, defaults = asked.trait.impls[served(asked.trait, given[0])][asked.name], asked.signature.defaults
        rest = located(lambda _: [*map(passed, given[1:], function.signature.types, defaults)], self.program.at(function.node))
        return function, [given[0], *rest({})]

    def framed(self, run: Callable[[Any], Any], given: Any) -> Any:
        if self.depth >= self.limit:
            raise Panic("P012", f"call depth exceeded: {self.limit}")
        self.depth += 1
        try:
            return run(given)
        finally:
            self.depth -= 1

    def _elaborate(self, function: Function) -> None:
        node, signature = function.node, function.signature
        if node.body is None or node.clauses:
            raise NotClaimed("function without body")
        frame = Frame(signature.result)
        scope = Scope(function.scope, frame)
        if signature.receiver is not None:
            function.locals.append(scope.declare("self", signature.receiver, signature.mut))
            function.defaults.append(None)
        for name, type_, default in zip(signature.names, signature.types, signature.defaults, strict=True):
            function.defaults.append(None if default is None else self.site(default, scope, type_))
            function.locals.append(scope.declare(name, type_))
        function.code = self.body(node.body, scope, frame)[1]

    def perform(self, target: Any, given: list[Any]) -> tuple[Any, Any]:
        """Calls a function or method whose arguments, receiver first, are known; gives result and receiver."""
        if target.kind is None:
            return self.enter(target, given)
        signature = target.signature
        if signature.receiver is not None and kind_of(given[0]) != target.kind:
            raise NotClaimed("a value of another kind behind an unchecked element")
        defaults = [None] * (len(given) - len(signature.types)) + signature.defaults
        run = target.run or getattr(self, "core_" + target.name)
        made = run(*[getattr(d, "value", None) if v is Missing else v for v, d in zip(given, defaults, strict=True)])
        return made if signature.mut else (made, None)

    # ------------------------------------------------------------ predeclared functions with effects (L-6.1)

    def core_emit(self, channel: str, payload: Any) -> None:
        self.emits.append((channel, json_text(payload)))

    def core_panic(self, message: str) -> None:
        raise Panic("P001", message)

    def core_assert(self, condition: Any, message: str | None) -> None:
        self._asserted(cast(condition, BOOL), message, condition)

    def core_assert_eq(self, a: Any, b: Any, message: str | None) -> None:
        self._asserted(equal(a, b), message, a, b)

    def core_assert_ne(self, a: Any, b: Any, message: str | None) -> None:
        self._asserted(not equal(a, b), message, a, b)

    def _asserted(self, holds: bool, message: str | None, *values: Any) -> None:
        self.asserts += 1
        if not holds:
            shown = " and ".join(display(v, True) for v in values)
            raise Panic("P011", f"assertion failed: {shown if message is None else message}")

    # ------------------------------------------------------------ what a path denotes

    def target(self, node: ast.PathExpr, scope: Scope) -> Any:
        self.register()
        names = texts(node.segments) + ([node.member.text] if node.member else [])
        found = scope.find("self") if names == ["self"] else resolve(scope, names)
        if found is None and len(names) > 1:
            owner, trait = declared(resolve(scope, names[:-1])), None
            if owner is None and len(names) > 2:  # T::X::m
                owner, trait = declared(resolve(scope, names[:-2])), declared(resolve(scope, [names[-2]]))
            found = trait.impls[owner][names[-1]] if isinstance(trait, Item) else self.method(owner, names[-1], scope)
        found = METHODS.get(("Core", names[0])) if found is None and len(names) == 1 else found
        if found is None and names != ["None"]:
            raise NotClaimed(f"name {'::'.join(names)}")
        return found

    def _instance(self, target: Any, node: Any, scope: Scope) -> dict[Any, Type]:
        """Type parameters of what is called: the last ones are written (L-3.2.6), or, before `::`, those of its type."""
        heads, given = target.signature.heads, [type_of(t, scope) for t in node.type_arguments or []]
        names: dict[Any, Type] = {h: Var() for h in heads}
        if getattr(node, "member", None) is None:
            names.update(zip(heads[len(heads) - len(given) :], given, strict=True))
        else:
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
        signature = found.signature
        if signature is not None:
            types = [*([signature.receiver] if signature.receiver else []), *signature.types]
            value = self.values.setdefault(found, Fn(found.name, len(types), lambda given: self.perform(found, given)[0]))
            return substitute(("Function", signature.result, *types), self._instance(found, node, scope)), lambda env: value
        if isinstance(found.item, str):
            return (found.item,), lambda env: Err(found.item, found.name, found.name, {})
        return found.item.instance(lambda p: Var()), lambda env: Case(found.item, found.name)

    # ------------------------------------------------------------ calls

    def on_Call(self, node: ast.Call, scope: Scope, expected: Type | None) -> Typed:
        callee, rest = node.callee, node.arguments
        found = self.target(callee, scope) if isinstance(callee, ast.PathExpr) else None
        if not isinstance(found, (Function, Variant)):
            return self.call_value(*self.expr(callee, scope), [a.value for a in rest], scope)
        if found.signature is None:
            variant, message = None if found.name == "new" else found.name, self.site(rest[0].value, scope, STRING)
            return (found.item,), lambda env: Err(found.item, variant, message(env), {})
        names = self._instance(found, callee, scope)
        if found.signature.receiver is not None:
            return self._method(found, names, self._receiver(rest[0].value, scope), rest[1:], scope, expected)
        codes, result = self.arguments(found, names, rest, scope, expected)
        if (found.kind, found.name) == ("json", "parse_as"):
            return result, lambda env: self._parsed(self.perform(found, codes(env))[0], result[1])
        return result, lambda env: self.perform(found, codes(env))[0]

    def _parsed(self, made: Case, t: Type) -> Case:
        """`json::parse_as<T>`."""
        try:
            return made._replace(payload=(deep(made.payload[0], t, json=True),)) if is_good(made) else made
        except Panic as error:
            raise NotClaimed("the text of a mismatch") from error

    def call_value(self, type_: Type, code: Code, nodes: list[ast.Expr], scope: Scope) -> Typed:
        type_ = prune(type_)
        types, result = (type_[2:], type_[1]) if type_[0] == "Function" else ([ANY] * len(nodes), ANY)
        codes = [self.site(n, scope, t) for n, t in zip(nodes, types, strict=True)]

        def run(env: Any) -> Any:
            f = code(env)
            given = [c(env) for c in codes]
            if not isinstance(f, Fn):
                raise Panic("P015", f"{kind_of(f)} is no function")
            return f(*given)

        return result, run

    def arguments(self, target: Any, names: dict[Any, Type], rest: Any, scope: Scope, expected: Any) -> tuple[Code, Type]:
        """Evaluates the arguments as written; gives them in the order of the parameters (L-5.9.1), and the result's type."""
        signature, rows, types = target.signature, [], []
        result, is_emit = substitute(signature.result, names), (target.kind, target.name) == ("Core", "emit")
        wanted = known(expected) if isinstance(prune(result), Var) else inside(expected, prune(result)[0])
        if wanted not in (None, ANY):
            convert(result, wanted)
        for i, argument in enumerate(rest):
            at = min(i, len(signature.types) - 1) if argument.name is None else signature.names.index(argument.name.text)
            type_, code = self.expr(argument.value, scope, known(substitute(signature.types[at], names)))
            types.append(type_)
            conversion = convert(type_, substitute(signature.types[at], names))
            rows.append((at, self.converted(code, conversion, argument.value, "P415" if is_emit and at == 1 else None)))
        if not rest and target.kind == "Core" and target.name == "Ok":
            convert(NIL, prune(result)[1])
        if prune(result) == ("Number",):
            numbers = {(target.kind,), *map(prune, types)}
            result = ANY if ANY in numbers else FLOAT if FLOAT in numbers else INT
        count = len(signature.types)

        def run(env: Any) -> list[Any]:
            given = [Missing] * count
            for at, code in rows:
                given[at] = code(env)
            return given

        return run, prune(result)

    # ------------------------------------------------------------ methods

    def _receiver(self, node: ast.Expr, scope: Scope) -> tuple[Place | None, Type, Code]:
        place = self.place(node, scope)
        if place is None:
            type_, code = self.expr(node, scope)
            return None, prune(type_), code
        return place, prune(place[0]), lambda env: walk(env[place[1]][0], ((how, key(env)) for how, key in place[2]))

    def on_MethodCall(self, node: ast.MethodCall, scope: Scope, expected: Type | None) -> Typed:
        name, receiver = node.name.text, self._receiver(node.receiver, scope)
        place, type_, code = receiver
        if isinstance(type_, Var):
            raise NotClaimed("method of an open type")
        if type_ == ANY:
            return self._dynamic(node, place, code, scope)
        found = self.method(type_[0], name, scope)
        if found is None and name == "to_string":
            shown = self.expr(node.receiver, scope)[1]
            return STRING, lambda env: display(shown(env))
        if found is None and isinstance(type_[0], Item):
            nodes = [a.value for a in node.arguments]
            return self.call_value(type_[0].parts(type_)[name], lambda env: code(env).fields[name], nodes, scope)
        if found is None:
            raise NotClaimed(f"method {name} of {type_[0]}")
        names = self._instance(found, node, scope)
        return self._method(found, names, receiver, node.arguments, scope, expected)

    def _method(self, found: Any, names: Any, receiver: Any, rest: Any, scope: Scope, expected: Any) -> Typed:
        signature, (place, type_, code) = found.signature, receiver
        if found.trait is not None and type_[0] is found.trait:
            names.update(zip(found.trait.params, type_[1:], strict=True))
        convert(type_, substitute(signature.receiver, names))
        codes, result = self.arguments(found, names, rest, scope, expected)

        def run(env: Any) -> Any:
            if place is not None and signature.mut:
                steps = [(how, key(env)) for how, key in place[2]]
                return self.change(env, place[1], steps, found, codes(env))
            value = code(env)
            made = self.perform(found, [value, *codes(env)])[0]
            return to_float(made) if result == FLOAT else made  # the sum of no Floats

        return result, run

    def _dynamic(self, node: ast.MethodCall, place: Place | None, code: Code, scope: Scope) -> Typed:
        """L-3.7.1: the method is found by run-time type."""
        name = node.name.text
        rows = [(a.name and a.name.text, self.site(a.value, scope, ANY)) for a in node.arguments]

        def run(env: Any) -> Any:
            steps = [] if place is None else [(how, key(env)) for how, key in place[2]]
            value = code(env) if place is None else walk(env[place[1]][0], steps)
            given = [(label, c(env)) for label, c in rows]
            found = self.method(head_of(value), name, scope)
            if found is None and isinstance(value, Rec) and isinstance(value.fields.get(name), Fn):
                return value.fields[name](*[v for _, v in given])
            if found is None and name == "to_string":
                return display(value)
            mut = found is not None and found.signature.mut
            if found is None or found.signature.receiver is None or mut and place is not None and not place[1].mutable:
                raise Panic("P014", f"{kind_of(value)} has no method {name}")
            ordered = _ordered(name, found.signature, given)
            if mut and place is not None:
                return self.change(env, place[1], steps, found, ordered)
            return self.perform(found, [value, *ordered])[0]

        return STRING if name == "to_string" else ANY, run

    def change(self, env: Any, root: Local, steps: list[Any], found: Any, given: list[Any]) -> Any:
        """A *mut* method works in place on its receiver place (L-5.5.6); a key on the way must exist (L-5.5.5)."""
        result, new = self.perform(found, [walk(env[root][0], steps, exists=True), *given])
        env[root][0] = write(env[root][0], steps, new)
        return result


def _ordered(called: str, signature: Any, given: list[tuple[str | None, Any]]) -> list[Any]:
    """Arguments of a dynamic call, checked as far as L-3.3.3 goes."""
    names, count = signature.names, len(signature.names)
    found = {label or (names[i] if i < count else ""): value for i, (label, value) in enumerate(given)}
    required = {n for n, d in zip(names, signature.defaults, strict=True) if d is None}
    if len(found) < len(given) or not required <= found.keys() <= set(names):
        raise Panic("P015", f"{called} expects {count} arguments, {len(given)} given")
    anything: dict[Any, Type] = dict.fromkeys(signature.heads, ANY)
    for name, type_ in zip(names, signature.types, strict=True):
        if name in found and (conversion := convert(ANY, substitute(type_, anything))) is not None:
            found[name] = conversion(found[name])
    return [found.get(name, Missing) for name in names]

