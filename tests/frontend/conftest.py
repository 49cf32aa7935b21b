"""What the front-end tests share: parsing a text, and a short notation for trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from concerto.compiler.diagnostics import Diagnostic, Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse

Parse = Callable[[str], tuple[ast.Program, list[Diagnostic]]]


def run(text: str) -> tuple[ast.Program, list[Diagnostic]]:
    diagnostics = Diagnostics()
    program = parse(Source("t.conc", text), diagnostics)
    return program, diagnostics.ordered()


@pytest.fixture
def program() -> Callable[[str], ast.Program]:
    """Parses a text that has no errors."""

    def parsed(text: str) -> ast.Program:
        tree, found = run(text)
        assert found == [], [(d.code, d.message) for d in found]
        return tree

    return parsed


@pytest.fixture
def errors() -> Callable[[str], list[Diagnostic]]:
    return lambda text: run(text)[1]


@pytest.fixture
def codes() -> Callable[[str], list[str]]:
    """`CODE line:column` of every diagnostic."""

    def found(text: str) -> list[str]:
        source = Source("t.conc", text)
        places = ((d.code, source.position(d.span.start)) for d in run(text)[1])
        return [f"{code} {at.line}:{at.column}" for code, at in places]

    return found


@pytest.fixture
def block(program: Callable[[str], ast.Program]) -> Callable[[str], ast.Block]:
    """The body of a function with this text."""

    def body(text: str) -> ast.Block:
        function = program("fn f() {\n" + text + "\n}").items[0]
        assert isinstance(function, ast.Function) and function.body is not None
        return function.body

    return body


@pytest.fixture
def expr(block: Callable[[str], ast.Block]) -> Callable[[str], str]:
    """The expression of this text, in the notation of `show`."""

    def shown(text: str) -> str:
        statement = block(f"let it = {text};").statements[0]
        assert isinstance(statement, ast.Let)
        return show(statement.value)

    return shown


@pytest.fixture
def stmts(block: Callable[[str], ast.Block]) -> Callable[[str], list[str]]:
    """The statements of this text; the block's result stands last, marked with `=>`."""

    def shown(text: str) -> list[str]:
        body = block(text)
        result = [] if body.result is None else ["=> " + show(body.result)]
        return [show(s) for s in body.statements] + result

    return shown


@pytest.fixture(scope="session")
def sample() -> str:
    """A program that uses every construct."""
    return (Path(__file__).parent / "every_construct.conc").read_text(encoding="utf-8")


def many(nodes: list[ast.Node] | list[ast.Expr]) -> str:
    return " ".join(show(node) for node in nodes)


def path(segments: list[ast.Ident]) -> str:
    return "::".join(s.text for s in segments)


def show(node: object) -> str:
    """A tree as an S-expression."""
    writer = WRITERS.get(type(node))
    assert writer is not None, type(node)
    return writer(node)


def _call(n: ast.Call) -> str:
    return f"(call {show(n.callee)}{_tail(n.arguments)})"


def _method(n: ast.MethodCall) -> str:
    types = "" if n.type_arguments is None else f"<{many(n.type_arguments)}>"
    return f"(.{n.name.text}{types} {show(n.receiver)}{_tail(n.arguments)})"


def _tail(nodes: list) -> str:
    return "".join(" " + show(node) for node in nodes)


def _path_expr(n: ast.PathExpr) -> str:
    types = "" if n.type_arguments is None else f"<{many(n.type_arguments)}>"
    return path(n.segments) + types + ("" if n.member is None else "::" + n.member.text)


def _struct(n: ast.StructExpr) -> str:
    fields = "".join(f" {f.name.text}:{'' if f.shorthand else show(f.value)}" for f in n.fields)
    return f"(struct {path(n.path)}{fields}{'' if n.base is None else ' ..' + show(n.base)})"


def _optional(node: object) -> str:
    return "" if node is None else show(node)


def _range(n: ast.RangeExpr | ast.RangePattern) -> str:
    start, end = (str(x) if isinstance(x, (int, float)) else _optional(x) for x in (n.start, n.end))
    return f"{start}{'..=' if n.inclusive else '..'}{end}"


def _if(n: ast.If) -> str:
    return f"(if {show(n.condition)} {show(n.then)}{'' if n.otherwise is None else ' ' + show(n.otherwise)})"


def _match(n: ast.Match | ast.Listen) -> str:
    if isinstance(n, ast.Match):
        return f"(match {show(n.subject)}{_tail(n.arms)})"
    return f"(listen {show(n.operand)}{_tail(n.handlers)})"


def _arm(n: ast.MatchArm | ast.ListenHandler) -> str:
    return f"[{show(n.pattern)}{'' if n.guard is None else ' if ' + show(n.guard)} => {show(n.body)}]"


def _block(n: ast.Block) -> str:
    result = "" if n.result is None else " => " + show(n.result)
    return "{" + "; ".join(show(s) for s in n.statements) + result + "}"


def _loop(n: ast.For | ast.While | ast.Loop) -> str:
    label = "" if n.label is None else n.label.text + ":"
    if isinstance(n, ast.For):
        return f"({label}for {show(n.pattern)} {show(n.iterable)} {show(n.body)})"
    if isinstance(n, ast.While):
        return f"({label}while {show(n.condition)} {show(n.body)})"
    return f"({label}loop {show(n.body)})"


def _closure(n: ast.Closure) -> str:
    result = "" if n.result is None else " -> " + show(n.result)
    return f"(|{' '.join(show(p) for p in n.parameters)}|{result} {show(n.body)})"


def _parameter(n: ast.Parameter) -> str:
    name = n.name.text if n.pattern is None else show(n.pattern)
    return name + ("" if n.type is None else ":" + show(n.type))


def _try(n: ast.Try) -> str:
    return f"(try {show(n.body)}{_tail(n.catches)})"


def _catch(n: ast.CatchClause) -> str:
    kind = "" if n.type is None else " " + show(n.type)
    return f"(catch{kind}{'' if n.name is None else ' ' + n.name.text} {show(n.body)})"


def _parallel(n: ast.ParallelFor) -> str:
    return f"(parallel {show(n.pattern)} {show(n.iterable)} {_optional(n.limit) or '-'} {show(n.body)})"


def _named_type(n: ast.NamedType) -> str:
    return path(n.path) + ("" if n.arguments is None else f"<{many(n.arguments)}>")


def _function_type(n: ast.FunctionType) -> str:
    return f"fn({many(n.parameters)}){'' if n.result is None else ' -> ' + show(n.result)}"


def _bind(n: ast.BindPattern) -> str:
    return ("mut " if n.mutable else "") + n.name.text + ("" if n.inner is None else "@" + show(n.inner))


def _let(n: ast.Let) -> str:
    kind = "" if n.type is None else ":" + show(n.type)
    return f"(let {show(n.pattern)}{kind}{'' if n.value is None else ' ' + show(n.value)})"


def _struct_pattern(n: ast.StructPattern) -> str:
    fields = "".join(f" {f.name.text}:{show(f.pattern)}" for f in n.fields)
    return f"{path(n.path)}{{{fields.strip()}{' ..' if n.rest else ''}}}"


WRITERS: dict[type, Callable] = {
    ast.IntLiteral: lambda n: str(n.value),
    ast.FloatLiteral: lambda n: repr(n.value),
    ast.StringLiteral: lambda n: repr(n.value),
    ast.BoolLiteral: lambda n: "true" if n.value else "false",
    ast.NilLiteral: lambda n: "nil",
    ast.Interpolation: lambda n: f"(str{_tail(n.parts)})",
    ast.PathExpr: _path_expr,
    ast.ArrayExpr: lambda n: f"[{many(n.items)}]",
    ast.MapExpr: lambda n: f"(map{_tail(n.entries)})",
    ast.MapEntry: lambda n: f"{show(n.key)}:{show(n.value)}",
    ast.TupleExpr: lambda n: f"(tuple{_tail(n.items)})",
    ast.GroupExpr: lambda n: f"({show(n.inner)})",
    ast.StructExpr: _struct,
    ast.RangeExpr: _range,
    ast.Unary: lambda n: f"({n.operator} {show(n.operand)})",
    ast.Binary: lambda n: f"({n.operator} {show(n.left)} {show(n.right)})",
    ast.Assign: lambda n: f"({n.operator} {show(n.target)} {show(n.value)})",
    ast.Pipe: lambda n: f"(|> {show(n.applied)})",
    ast.Cast: lambda n: f"(as {show(n.operand)} {show(n.target)})",
    ast.Propagate: lambda n: f"(? {show(n.operand)})",
    ast.Await: lambda n: f"({'.await' if n.postfix else 'await'} {show(n.operand)})",
    ast.Spawn: lambda n: f"(spawn {show(n.operand)})",
    ast.Call: _call,
    ast.MethodCall: _method,
    ast.FieldAccess: lambda n: f"(field {show(n.receiver)} {n.name.text})",
    ast.TupleAccess: lambda n: f"(item {show(n.receiver)} {n.index})",
    ast.Index: lambda n: f"(index {show(n.receiver)} {show(n.index)})",
    ast.Argument: lambda n: ("" if n.name is None else n.name.text + ":") + show(n.value),
    ast.Block: _block,
    ast.If: _if,
    ast.Match: _match,
    ast.Listen: _match,
    ast.MatchArm: _arm,
    ast.ListenHandler: _arm,
    ast.For: _loop,
    ast.While: _loop,
    ast.Loop: _loop,
    ast.ParallelFor: _parallel,
    ast.Closure: _closure,
    ast.Parameter: _parameter,
    ast.AsyncBlock: lambda n: f"(async {show(n.body)})",
    ast.Try: _try,
    ast.CatchClause: _catch,
    ast.Return: lambda n: f"(return {_optional(n.value)})".replace(" )", ")"),
    ast.Throw: lambda n: f"(throw {show(n.value)})",
    ast.Break: lambda n: f"(break {'' if n.label is None else n.label.text + ':'}{_optional(n.value)})".replace(" )", ")"),
    ast.Continue: lambda n: f"(continue {'' if n.label is None else n.label.text})".replace(" )", ")"),
    ast.NamedType: _named_type,
    ast.NilableType: lambda n: show(n.inner) + "?",
    ast.FunctionType: _function_type,
    ast.TupleType: lambda n: f"({many(n.items)})",
    ast.LiteralType: lambda n: repr(n.value),
    ast.UnionType: lambda n: "|".join(show(m) for m in n.members),
    ast.WildcardPattern: lambda n: "_",
    ast.LiteralPattern: lambda n: repr(n.value),
    ast.RangePattern: _range,
    ast.BindPattern: _bind,
    ast.PathPattern: lambda n: path(n.path),
    ast.TupleStructPattern: lambda n: f"{path(n.path)}({many(n.items)})",
    ast.StructPattern: _struct_pattern,
    ast.TuplePattern: lambda n: f"({many(n.items)},)",
    ast.ArrayPattern: lambda n: f"[{many(n.items)}]",
    ast.RestPattern: lambda n: ".." + ("" if n.name is None else n.name.text),
    ast.OrPattern: lambda n: "|".join(show(a) for a in n.alternatives),
    ast.ExprStmt: lambda n: show(n.expr) + ("" if n.terminated else "!"),
    ast.Let: _let,
    ast.EmptyStmt: lambda n: ";",
    ast.Mock: lambda n: f"(mock {n.name.text})",
    ast.ItemStmt: lambda n: type(n.item).__name__,
}
