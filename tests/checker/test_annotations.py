"""What the checker writes on the tree for the code generator (compiler/symbols)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler import decisions, symbols
from concerto.compiler.syntax import ast
from concerto.compiler.types import FLOAT, INT, STRING

# An expression under a `let` of the type, and the coercion its initialiser must carry.
COERCIONS = [
    ("Int", "1", None),
    ("Float", "1", decisions.ToFloat()),
    ("Float?", "1", decisions.ToFloat()),
    ("Option<Int>", "1", decisions.ToOption()),
    ("Option<Float>", "1", decisions.ToOption(decisions.ToFloat())),
    ("Option<Int>", "nil", decisions.ToOption()),
    ("Option<Int>", "None", None),
    ("Prompt", '"x"', decisions.ToPrompt()),
    ("Int", "dynamic", decisions.CheckAny(INT)),
    ("Any", "1", None),
    ("Array<Int>", "[dynamic]", None),
]


@pytest.mark.parametrize(("type_", "text", "coercion"), COERCIONS)
def test_coercions_of_initialisers(type_: str, text: str, coercion: object, snippet: Any) -> None:
    checked = snippet(f"let dynamic: Any = 1; let it: {type_} = {text}; print(dynamic, it);")
    assert not checked.diagnostics
    assert _let(checked, "it").value.coercion == coercion


def test_elements_tails_and_arguments_are_coerced(snippet: Any) -> None:
    checked = snippet(
        "fn f(x: Float) -> Float { if x > 1 { 1 } else { x } }"
        "fn main() { let a: Array<Float> = [1, 2.5]; let b = [1, 2.5]; print(a, b, f(3)); }"
    )
    arrays = checked.nodes(ast.ArrayExpr)
    assert [array.items[0].coercion for array in arrays] == [decisions.ToFloat()] * 2
    tail = next(n for n in checked.nodes(ast.If)).then.result
    assert tail.coercion == decisions.ToFloat()
    call = next(n for n in checked.nodes(ast.Call) if isinstance(n.target, decisions.FunctionCall))
    assert call.target.arguments[0].coercion == decisions.ToFloat()


def test_joined_branches_are_coerced(snippet: Any) -> None:
    checked = snippet("let x = if true { 1 } else { 2.5 }; let y = match 1 { 1 => 1, _ => 2.5 }; print(x, y);")
    (if_,) = checked.nodes(ast.If)
    (match,) = checked.nodes(ast.Match)
    assert (if_.type, if_.then.coercion, if_.otherwise.coercion) == (FLOAT, decisions.ToFloat(), None)
    assert (match.type, match.arms[0].body.coercion) == (FLOAT, decisions.ToFloat())


def test_strings_thrown_become_errors_where_the_target_wants_them(snippet: Any) -> None:
    checked = snippet(
        'fn f() -> Result<Int, Error> { throw "x"; } fn g() -> Result<Int, String> { throw "x"; }'
        'fn h(r: Result<Int, String>) -> Result<Int, Error> { Ok(r?) } fn main() { f()?; g()?; h(Ok(1))?; }'
    )
    assert [t.value.coercion for t in checked.nodes(ast.Throw)] == [decisions.ToError(), None]
    inside = [p.failure for p in checked.nodes(ast.Propagate)]
    assert inside == [decisions.ToError(), None, None, None]


def test_an_uncaught_string_is_converted_when_rethrown(snippet: Any) -> None:
    checked = snippet('fn f() -> Result<Nil, Error> { try { throw "x"; } catch Int { } Ok() } fn main() { f()?; }')
    (try_,) = checked.nodes(ast.Try)
    assert try_.rethrow == [(STRING, decisions.ToError())]
    assert checked.nodes(ast.Throw)[0].value.coercion is None


def test_call_targets(snippet: Any) -> None:
    checked = snippet(
        "struct P { f: fn(Int) -> Int } fn f(a: Int, b: Int = 2, c: Int = 3) -> Int { a + b + c }"
        'fn main() { let d: Any = 1; let g = f; f(c: 1, a: 2); g(1, 2, 3); d(1); Some(1);'
        'FsError::NotFound("x"); Prompt::new("x"); print(1);'
        'P { f: |x| x }.f(1); [1].map(|x| x); d.foo(1, k: 2); "x".repeat(2); }'
    )
    calls = {type(node.target).__name__: node.target for node in [*checked.nodes(ast.Call), *checked.nodes(ast.MethodCall)]}
    assert set(calls) == {
        "FunctionCall", "ValueCall", "ConstructorCall", "ErrorCall", "RecordCall", "BuiltinCall", "DynamicCall",
    }  # fmt: skip
    named = calls["FunctionCall"]
    assert ([a is not None for a in named.arguments], named.order) == ([True, False, True], [2, 0])
    assert (calls["DynamicCall"].name, calls["DynamicCall"].names) == ("foo", ["k"])
    assert (calls["ErrorCall"].family, calls["ErrorCall"].variant) == ("FsError", "NotFound")
    assert (calls["RecordCall"].record, calls["RecordCall"].constructor) == ("Prompt", "new")
    field_call = next(n for n in checked.nodes(ast.MethodCall) if isinstance(n.target, decisions.ValueCall))
    assert isinstance(field_call.target.callee, ast.FieldAccess)
    assert field_call.target.callee.target.index == 0


def test_built_in_targets(snippet: Any) -> None:
    checked = snippet(
        "model M { provider: offline } schema S { n: Int }"
        "fn main() { let mut xs = [1]; xs.push(2); print(xs.len(), 1.to_string());"
        'M.execute_with_schema<S>("x")?; parse_schema<S>("x")?; }'
    )
    rows = {(t.receiver_kind, t.name): t for t in _targets(checked) if isinstance(t, decisions.BuiltinCall)}
    assert set(rows) == {
        ("Array", "push"), ("Array", "len"), ("Any", "to_string"), ("", "print"),
        ("ModelRef", "execute_with_schema"), ("", "parse_schema"),
    }  # fmt: skip
    assert rows["Array", "push"].mutates and not rows["Array", "len"].mutates
    (schema,) = checked.checked.schemas
    assert rows["ModelRef", "execute_with_schema"].schema is schema
    assert rows["", "parse_schema"].type_arguments == (schema.type,)


def test_fields(snippet: Any) -> None:
    checked = snippet(
        "struct P { a: Int, b: Int } fn main() { let m = {x: 1}; let r = P { a: 1, b: 2 };"
        "print(r.b, m.x, AgentError::Failed.message); }"
    )
    targets = [node.target for node in checked.nodes(ast.FieldAccess)]
    assert [type(t).__name__ for t in targets] == ["FieldByPosition", "FieldByName", "FieldByName"]
    assert targets[0].index == 1


def test_function_scopes(snippet: Any) -> None:
    checked = snippet(
        "fn a() {} fn b() -> Result<Int, Error> { Ok(1) } fn c() -> Option<Int> { None }"
        'fn main() { a(); b()?; c(); let f = |s: String| Ok(s.parse_int()?); f("1")?; }'
    )
    scopes = {f.name: f.declaration.scope for f in checked.checked.functions}
    assert {n: (s.propagates, s.returns_option) for n, s in scopes.items()} == {
        "a": (False, False), "b": (True, False), "c": (True, True), "main": (True, False),
    }  # fmt: skip
    (closure,) = checked.nodes(ast.Closure)
    assert str(closure.scope.result) == "Result<Int, ParseError>"
    assert closure.scope.propagates
    assert closure.scope.parent is scopes["main"]


def test_patterns(snippet: Any) -> None:
    checked = snippet(
        "enum E { A } const K: Int = 1;"
        "fn main() { match Some(1) { Some(K) => 1, Some(x) => x, None => 2 }; match E::A { E::A => 1 };"
        "match [1] { [_a, ..r] => r.len(), _ => 0 }; }"
    )
    binds = checked.nodes(ast.BindPattern)
    assert isinstance(binds[0].constant, symbols.ConstSymbol)
    assert binds[1].binding.type == INT
    assert isinstance(binds[2].constant, symbols.BuiltinSymbol)
    (path,) = checked.nodes(ast.PathPattern)
    assert isinstance(path.binding, symbols.VariantSymbol)
    (rest,) = checked.nodes(ast.RestPattern)
    assert str(rest.binding.type) == "Array<Int>"


def test_catch_clauses(snippet: Any) -> None:
    checked = snippet('try { "1".parse_int()?; } catch ParseError(e) { print(e); } catch AgentError::Failed { } catch { }')
    first, second, third = checked.nodes(ast.CatchClause)
    assert str(first.caught) == "ParseError" == str(first.binding.type)
    assert second.type.binding.variant == "Failed"
    assert third.caught is None


def test_every_expression_of_a_sound_program_has_a_type(snippet: Any) -> None:
    checked = snippet(
        "fn f(x: Int, y: Int = 1 + 1) -> Int { x + y }"
        'fn main() { for (i, s) in ["a"].enumerate() { if i > 0 { break; } print(s); }'
        " let g = |a: Int| a; print(f(1), g(2), [1, 2][0..1], (1, 2).0, { 3 }, try { 1 } catch { 2 }); }"
    )
    assert not checked.diagnostics
    callees = {id(call.callee) for call in checked.nodes(ast.Call)}
    untyped = [n for n in checked.nodes(ast.Expr) if n.type is None and id(n) not in callees]
    assert untyped == []


def test_a_string_union_is_its_own_type(snippet: Any) -> None:
    checked = snippet('type K = "a" | "b"; fn main() { let k: K = "a"; let s: String = k; print(s); }')
    assert str(_let(checked, "k").pattern.binding.type) == '"a" | "b"'
    assert _let(checked, "s").pattern.binding.type == STRING
    assert _let(checked, "s").value.coercion is None


def _let(checked: Any, name: str) -> Any:
    return next(n for n in checked.nodes(ast.Let) if n.pattern.name.text == name)


def _targets(checked: Any) -> list[Any]:
    return [node.target for node in [*checked.nodes(ast.Call), *checked.nodes(ast.MethodCall)]]
