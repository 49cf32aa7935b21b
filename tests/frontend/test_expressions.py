"""language.md sections 2.2, 2.3, 2.5: how expressions read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Expr = Callable[[str], str]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-x ** 2", "(- (** x 2))"),
        ("2 ** -x", "(** 2 (- x))"),
        ("a ** b ** c", "(** a (** b c))"),
        ("-x as Float", "(as (- x) Float)"),
        ("1 + f()?", "(+ 1 (? (call f)))"),
        ("a as Int as Float", "(as (as a Int) Float)"),
        ("a * b as Int", "(* a (as b Int))"),
        ("a + b * c - d", "(- (+ a (* b c)) d)"),
        ("a / b % c", "(% (/ a b) c)"),
        ("a + 1 .. b - 1", "(+ a 1)..(- b 1)"),
        ("a..b < c", "(< a..b c)"),
        ("a < b == c > d", "(== (< a b) (> c d))"),
        ("a <= b >= c", "(>= (<= a b) c)"),
        ("a == b && c != d || e", "(|| (&& (== a b) (!= c d)) e)"),
        ("a || b ?? c", "(?? (|| a b) c)"),
        ("a ?? b ?? c", "(?? (?? a b) c)"),
        ("a ?? b |> f", "(|> (call f (?? a b)))"),
        ("a = b |> f", "(= a (|> (call f b)))"),
        ("a = b = c", "(= a (= b c))"),
        ("a += b -= c", "(+= a (-= b c))"),
        ("!a && -b < c", "(&& (! a) (< (- b) c))"),
        ("!!a", "(! (! a))"),
        ("await a + b", "(+ (await a) b)"),
        ("spawn f(x).g()", "(spawn (.g (call f x)))"),
        ("return a + b", "(return (+ a b))"),
        ("throw a ?? b", "(throw (?? a b))"),
        ("a ?? return b + c", "(?? a (return (+ b c)))"),
        ("return", "(return)"),
        ("|x| x + 1 |> f", "(|x| (|> (call f (+ x 1))))"),
        ("a |> |x| x = 1", "(|> (call (|x| (= x 1)) a))"),
        ("(a + b) * c", "(* ((+ a b)) c)"),
    ],
)
def test_precedence(expr: Expr, text: str, tree: str) -> None:
    assert expr(text) == tree


@pytest.mark.parametrize("text", ["a..b..c", "a < ", "a b", "* a", "a..=", "..="])
def test_not_an_expression(codes: Callable[[str], list[str]], text: str) -> None:
    assert [c[:5] for c in codes(f"fn f() {{ let x = {text}; }}")] == ["E0101"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a.b.c", "(field (field a b) c)"),
        ("a.b(c, d: 1)", "(.b a c d:1)"),
        ("a.b<Int>(c)", "(.b<Int> a c)"),
        ("(a.b)(c)", "(call ((field a b)) c)"),
        ("a(b)(c)", "(call (call a b) c)"),
        ("a[b][c]", "(index (index a b) c)"),
        ("t.0.1", "(item (item t 0) 1)"),
        ("a.await?.b", "(field (? (.await a)) b)"),
        ("f()??", "(? (? (call f)))"),
        ("f()?? ?? g", "(?? (? (? (call f))) g)"),
        ("a??.b", "(field (? (? a)) b)"),
        ("[a??]", "[(? (? a))]"),
        ("a ?? b", "(?? a b)"),
        ("a::b::c(d)", "(call a::b::c d)"),
        ("super::a", "super::a"),
        ("self::a", "self::a"),
        ("crate::a::f()", "(call crate::a::f)"),
        ("pick<Int>(xs)", "(call pick<Int> xs)"),
        ("Set<Int>::new()", "(call Set<Int>::new)"),
        ("a::Set<Int>::new", "a::Set<Int>::new"),
        ("a.match", "(field a match)"),
        ("a.model.if", "(field (field a model) if)"),
        ("a::type", "a::type"),
        ("a.true", "(field a true)"),
        ("f(type: 1, if: 2, x)", None),
        ("f(type: 1, if: 2,)", "(call f type:1 if:2)"),
    ],
)
def test_postfix(
    expr: Expr, codes: Callable[[str], list[str]], text: str, tree: str | None
) -> None:
    if tree is None:
        assert codes(f"fn f() {{ {text}; }}") == ["E0108 1:28"]
    else:
        assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("()", "(tuple)"), ("(a)", "(a)"), ("(a,)", "(tuple a)"), ("(a, b)", "(tuple a b)"), ("(a, b,)", "(tuple a b)"),
        ("[]", "[]"), ("[a]", "[a]"), ("[a, b,]", "[a b]"), ("{}", "(map)"), ("[{}]", "[(map)]"),
        ("{ a: 1, 'b': 2, (c): 3, 4: d, true: 5, }", "(map 'a':1 'b':2 (c):3 4:d true:5)"),
        ("{ if: 1, type: 2 }", "(map 'if':1 'type':2)"), ("{ self: 1 }", "(map self:1)"),
        ('{ "a${b}": 1 }', "(map (str 'a' b):1)"), ("{ -1: a }", "(map (- 1):a)"),
        ("{ 1 }", "{ => 1}"), ("{ a; }", "{a}"), ("{ a }", "{ => a}"),
        ("P { x: 1, y, ..z }", "(struct P x:1 y: ..z)"), ("a::P {}", "(struct a::P)"), ("P<Int> { }", "(struct P)"),
        ("P { match: 1, in: 2 }", "(struct P match:1 in:2)"),
        ("nil", "nil"), ("true", "true"), ("1.5", "1.5"), ("-9223372036854775808", "(- 9223372036854775808)"),
        ('"a${b}c${d + e}"', "(str 'a' b 'c' (+ d e))"), ('"${a}"', "(str a)"), ('"${ {a: 1} }"', "(str (map 'a':1))"),
        ('"${ "x${y}" }"', "(str (str 'x' y))"), ('"${a..}"', "(str a..)"), ('"${if a { 1 } else { 2 }}"', None),
        ("model", "model"), ("parallel(a)", "(call parallel a)"), ("listen(a)", "(call listen a)"),
        ("limit + type", "(+ limit type)"),
    ],
)  # fmt: skip
def test_primaries(expr: Expr, text: str, tree: str | None) -> None:
    assert expr(text) == (tree or "(str (if a { => 1} { => 2}))")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a..b", "a..b"), ("a..=b", "a..=b"), ("xs[1..]", "(index xs 1..)"), ("xs[..2]", "(index xs ..2)"),
        ("xs[..]", "(index xs ..)"), ("xs[..=2]", "(index xs ..=2)"), ("(a.., ..b)", "(tuple a.. ..b)"),
        ("f(a.., ..)", "(call f a.. ..)"), ("{ a: 1.. }", "(map 'a':1..)"),
    ],
)  # fmt: skip
def test_ranges(expr: Expr, text: str, tree: str) -> None:
    assert expr(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("|x| x", "(|x| x)"), ("|| x", "(|| x)"), ("|| -> Int { 1 }", "(|| -> Int { => 1})"),
        ("|a, (b, _), [c], P { d, .. }| a", "(|a (b _,) [c] P{d:d ..}| a)"),
        ("|a: Int, b| -> T { a }", "(|a:Int b| -> T { => a})"),
        ("|x| { x }", "(|x| { => x})"), ("|x| { a: x }", "(|x| (map 'a':x))"), ("|x| {}", "(|x| {})"),
        ("|x| |y| x + y", "(|x| (|y| (+ x y)))"), ("f(|x| x, || y)", "(call f (|x| x) (|| y))"),
        ("a || b", "(|| a b)"), ("|x| x || y", "(|x| (|| x y))"), ("|type: T| type", "(|type:T| type)"),
        ("fn (a: Int) -> Int { a }", "(|a:Int| -> Int { => a})"), ("fn () { }", "(|| {})"),
        ("f(fn (x: Int) { x }, 1)", "(call f (|x:Int| { => x}) 1)"), ("|_| 1", "(|_| 1)"),
        ("|f: fn(Int) -> Int| f", "(|f:fn(Int) -> Int| f)"),
    ],
)  # fmt: skip
def test_closures(expr: Expr, text: str, tree: str) -> None:
    assert expr(text) == tree


# ---------------------------------------------------------------- rewriting (2.3)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x |> f(a)", "(|> (call f x a))"),
        ("x |> o.m(a)", "(|> (.m o x a))"),
        ("x |> o.m<T>(a)", "(|> (.m<T> o x a))"),
        ("x |> f", "(|> (call f x))"),
        ("x |> a::f", "(|> (call a::f x))"),
        ("x |> parse_as<T>()", "(|> (call parse_as<T> x))"),
        ("x |> |v| v", "(|> (call (|v| v) x))"),
        ("x |> (|v| v)", "(|> (call (|v| v) x))"),
        ('x |> emit("c")', "(|> (call emit 'c' x))"),
        ("x |> f()? |> g()?", "(|> (? (call g (|> (? (call f x))))))"),
        ("x |> f().await?", "(|> (? (.await (call f x))))"),
        ("await f()?", "(? (await (call f)))"),
        ("await f()??", "(? (? (await (call f))))"),
        ("await a.b().c()", "(await (.c (.b a)))"),
        ("await (a, b)", "(await (tuple a b))"),
    ],
)
def test_rewriting(expr: Expr, text: str, tree: str) -> None:
    assert expr(text) == tree


@pytest.mark.parametrize("right", ["1", "a.b", "a + b", "f[1]", "await f()", "{ a: 1 }"])
def test_bad_pipe_operand(codes: Callable[[str], list[str]], right: str) -> None:
    found = codes(f"fn f() {{ x |> {right}; }}")
    if right == "a + b":  # `+` binds tighter than `|>`
        assert found == ["E2016 1:15"]
    assert [c[:5] for c in found] == ["E2016"]


# ---------------------------------------------------------------- braces and angle brackets (2.5)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("if a { b }", "(if a { => b})"),
        ("if a == B { c }", "(if (== a B) { => c})"),
        ("if (a == B { c: 1 }) { d }", "(if ((== a (struct B c:1))) { => d})"),
        ("if f(B { c }) { d }", "(if (call f (struct B c:)) { => d})"),
        ("if a { b } else if c { d } else { e }", "(if a { => b} (if c { => d} { => e}))"),
        ("if { a } { b }", "(if { => a} { => b})"),
        ("if xs.any(|x| { x }) { b }", "(if (.any xs (|x| { => x})) { => b})"),
        ("match a { }", "(match a)"),
        ("match a { B { c } => d }", "(match a [B{c:c} => d])"),
        ("match a.b { _ => 1 }", "(match (field a b) [_ => 1])"),
        ("if match a { _ => b } { c }", "(if (match a [_ => b]) { => c})"),
        ("match a as Array<Int> { _ => 1 }", "(match (as a Array<Int>) [_ => 1])"),
        ("match a? { _ => {} }", "(match (? a) [_ => {}])"),
        ("a < b", "(< a b)"),
        ("a < B && C > d", "(&& (< a B) (> C d))"),
        ("A < B", "(< A B)"),
        ("a < b > (c)", "(> (< a b) (c))"),
        ("f(a < b, c > d)", "(call f (< a b) (> c d))"),
        ("f(a < B, C > (d))", "(call f (call a<B C> (d)))".replace(" (d)", " d")),
        ("a as Map<String, Array<Int>>", "(as a Map<String Array<Int>>)"),
        ("a as Array<Int> + b", "(+ (as a Array<Int>) b)"),
        ("a.f<Map<String, (Int, fn(A) -> B)>>()", "(.f<Map<String (Int fn(A) -> B)>> a)"),
        ("f<'a' | 'b'>(x)", "(call f<'a'|'b'> x)"),
        ("f<T?>(x)", "(call f<T?> x)"),
        ("f<a::T>(x)", "(call f<a::T> x)"),
    ],
)
def test_braces_and_angles(expr: Expr, text: str, tree: str) -> None:
    assert expr(text) == tree


def test_shift_like_closings_split(stmts: Callable[[str], list[str]]) -> None:
    assert stmts("let a: Map<String, Array<Int>>= {};") == ["(let a:Map<String Array<Int>> (map))"]
    assert stmts("let a: Array<Int>= [];") == ["(let a:Array<Int> [])"]
    assert stmts("x.y<T>= (1);") == stmts("x.y<T> = (1);")


@pytest.mark.parametrize("before", ["x =", "f(", "f(a,", "f(a:", "[", "return", "a ??", "a ==", "a !="])
def test_empty_braces_are_a_map_after(stmts: Callable[[str], list[str]], before: str) -> None:
    closing = {"(": ")", "[": "]"}.get(next((c for c in before if c in "(["), ""), "")
    assert "(map)" in stmts(f"{before} {{}}{closing};")[0]


def test_empty_braces_are_a_block_elsewhere(stmts: Callable[[str], list[str]]) -> None:
    assert stmts("{}\n{};") == ["{}!", "{}"]
    assert stmts("match a { _ => {} };") == ["(match a [_ => {}])"]
