# ruff: noqa: E501
"""Families of sources that grow: each takes a size and gives items and statements of a program; several make one program.

What they have in common is that a careless compiler needs more than linear time or memory for them. A family's size is a number of
lines, letters, arms, levels: a text of the family at 2n is about twice as long as at n. Must not know: how they are measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple


class Part(NamedTuple):
    """Module-level items, and statements of `main`."""

    items: str
    body: str = ""


Family = Callable[[int, str, random.Random], Part]
FAMILIES: dict[str, Family] = {}


def family(make: Family) -> Family:
    FAMILIES[make.__name__] = make
    return make


def lines(n: int, line: Callable[[int], str]) -> str:
    return "".join(line(i) + "\n" for i in range(n))


def program(parts: list[Part]) -> str:
    items = "".join(part.items for part in parts)
    return f"{items}fn main() {{\n{''.join(part.body for part in parts)}}}\n"


def _name(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghij") for _ in range(8))


# ---------------------------------------------------------------- patterns


@family
def diagonal_bools(n: int, p: str, rng: random.Random) -> Part:
    """A match over a tuple of Bools, each arm asking for one of them."""
    arms = "".join(f"({', '.join('true' if i == j else '_' for j in range(n))}) => {i}, " for i in range(n))
    subject = ", ".join(["true"] * n)
    return Part("", f"let {p}d = match ({subject}) {{ {arms}_ => -1 }};\nemit(\"d\", {p}d);\n")


@family
def scattered_bools(n: int, p: str, rng: random.Random) -> Part:
    """Arms that ask for three of many Bools: as hard as satisfiability."""
    def arm(i: int) -> str:
        asked = rng.sample(range(n + 3), 3)
        row = ", ".join(rng.choice(("true", "false")) if j in asked else "_" for j in range(n + 3))
        return f"({row}) => {i}, "
    arms = "".join(arm(i) for i in range(4 * n))
    return Part("", f"let {p}s = match ({', '.join(['true'] * (n + 3))}) {{ {arms}_ => -1 }};\nemit(\"s\", {p}s);\n")


@family
def diagonal_enums(n: int, p: str, rng: random.Random) -> Part:
    """The same over an enum, without a last arm."""
    enum = f"enum E{p} {{ A, B, C }}\n"
    asked = [f"E{p}::{rng.choice('AB')}" for _ in range(n)]
    arms = "".join(f"({', '.join(asked[i] if i == j else '_' for j in range(n))}) => {i}, " for i in range(n))
    return Part(enum, f"emit(\"e\", match ({', '.join([f'E{p}::C'] * n)}) {{ {arms}}});\n")


@family
def enum_arms(n: int, p: str, rng: random.Random) -> Part:
    """One arm a variant; some say the same again."""
    names = [f"V{i}" for i in range(n)]
    arms = "".join(f"W{p}::{name} => {i}, " for i, name in enumerate(names + names[: n // 10]))
    enum = f"enum W{p} {{ {', '.join(names)} }}\n"
    return Part(enum, f"let {p}w = match W{p}::V0 {{ {arms}}};\nemit(\"w\", {p}w);\n")


@family
def payload_arms(n: int, p: str, rng: random.Random) -> Part:
    names = [f"V{i}" for i in range(n)]
    arms = "".join(f"Y{p}::{name}(0, x) => x, Y{p}::{name}(y, _) => y, " for name in names)
    enum = f"enum Y{p} {{ {', '.join(f'{name}(Int, Int)' for name in names)} }}\n"
    return Part(enum, f"emit(\"y\", match Y{p}::V0(1, 2) {{ {arms}}});\n")


@family
def or_patterns(n: int, p: str, rng: random.Random) -> Part:
    """A tuple with alternatives in every place: multiplied out they are two to the n."""
    wide = ", ".join(["1 | 2"] * n)
    subject = ", ".join(["1"] * n)
    return Part("", f"emit(\"o\", match ({subject}) {{ ({wide}) => 1, ({wide}) => 3, _ => 2 }});\n")


@family
def nested_or_patterns(n: int, p: str, rng: random.Random) -> Part:
    pattern = "None"
    for _ in range(min(n, 100)):
        pattern = f"Some({pattern} | None)"
    return Part("", f"let {p}n: Any = 1;\nemit(\"n\", match {p}n {{ {pattern} => 1, {' | '.join(str(i) for i in range(n))} => 2, _ => 3 }});\n")


@family
def literal_arms(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(("string", "int", "range", "mixed", "guard", "array"))
    def arm(i: int) -> str:
        forms = {
            "string": f'"k{i}"', "int": str(i), "range": f"{3 * i}..{3 * i + 2}",
            "mixed": f"{i} | {i + 7}", "guard": f"x if x == {i}", "array": f"[{i}, {i + 1}, ..]",
        }
        return f"{forms[kind]} => {i}, "
    subject = {"string": '"k3"', "array": "[1, 2]"}.get(kind, "3")
    return Part("", f"emit(\"l\", match {subject} {{ {''.join(map(arm, range(n)))}_ => -1 }});\n")


@family
def nested_matches(n: int, p: str, rng: random.Random) -> Part:
    text = "0"
    for i in range(min(n, 80)):
        text = f"match {i} {{ {i} => {text}, _ => 1 }}"
    return Part("", lines(max(1, n // 80), lambda i: f'emit("nm{i}", {text});'))


@family
def struct_patterns(n: int, p: str, rng: random.Random) -> Part:
    fields = ", ".join(f"f{i}: Bool" for i in range(n))
    arms = "".join(f"S{p} {{ f{i}: true, .. }} => {i}, " for i in range(n))
    return Part(f"struct S{p} {{ {fields} }}\nfn of{p}(s: S{p}) -> Int {{ match s {{ {arms} _ => -1 }} }}\n")


@family
def recursive_patterns(n: int, p: str, rng: random.Random) -> Part:
    """A pattern as deep as may be over an enum that holds itself, in many arms."""
    deep = min(n, 60)
    arms, pattern = "", f"T{p}::Leaf"
    for i in range(deep):
        arms += f"{pattern} => {i}, "
        pattern = f"T{p}::Node({pattern}, _)" if rng.random() < 0.5 else f"T{p}::Node(_, {pattern})"
    enum = f"enum T{p} {{ Leaf, Node(T{p}, T{p}) }}\n"
    return Part(enum + lines(max(1, n // 60), lambda i: f"fn tr{p}{i}(t: T{p}) -> Int {{ match t {{ {arms}_ => 0 }} }}"))


# ---------------------------------------------------------------- types


@family
def doubling_aliases(n: int, p: str, rng: random.Random) -> Part:
    forms = ["({0}, {0})", "Result<{0}, {0}>", "fn({0}) -> {0}", "({0}, Option<{0}>)"]
    form = rng.choice(forms)
    items = f"type A{p}0 = Int;\n" + lines(n, lambda i: f"type A{p}{i + 1} = {form.format(f'A{p}{i}')};")
    return Part(f"{items}fn fa{p}(x: A{p}{n}) -> A{p}{n} {{ x }}\nfn fb{p}(x: A{p}{n}) {{ fa{p}(x); }}\n")


@family
def deep_aliases(n: int, p: str, rng: random.Random) -> Part:
    form = rng.choice(["Array<{0}>", "Option<{0}>", "{0}?", "({0},)", "fn() -> {0}", "Map<String, {0}>"])
    items = f"type D{p}0 = Int;\n" + lines(n, lambda i: f"type D{p}{i + 1} = {form.format(f'D{p}{i}')};")
    return Part(f"{items}fn da{p}(x: D{p}{n}) -> D{p}{n} {{ x }}\n")


@family
def generic_aliases(n: int, p: str, rng: random.Random) -> Part:
    items = f"type G{p}0<T> = (T, T);\n" + lines(n, lambda i: f"type G{p}{i + 1}<T> = G{p}{i}<(T, T)>;")
    return Part(f"{items}fn ga{p}(x: G{p}{n}<Int>) {{ }}\n")


@family
def generic_structs(n: int, p: str, rng: random.Random) -> Part:
    """Fields whose types grow by substitution."""
    items = lines(n, lambda i: f"struct P{p}{i}<T> {{ a: T, b: Option<P{p}{(i + 1) % n}<(T, T)>> }}")
    return Part(f"{items}fn pa{p}(x: P{p}0<Int>) -> Any {{ x.b?{'.b?' * n} }}\n")


@family
def doubling_values(n: int, p: str, rng: random.Random) -> Part:
    form = rng.choice(["({0}, {0})", "[{0}, {0}]", "Some(({0}, {0}))", '{{ "a": {0}, "b": ({0}, 1) }}', "|| ({0}, {0})"])
    return Part("", f"let {p}v0 = 1;\n" + lines(n, lambda i: f"let {p}v{i + 1} = {form.format(f'{p}v{i}')};") + f'emit("v", {p}v{n});\n')


@family
def generic_calls(n: int, p: str, rng: random.Random) -> Part:
    return Part(
        f"fn pair{p}<T>(x: T) -> (T, T) {{ (x, x) }}\n",
        f"let {p}c0 = 1;\n" + lines(n, lambda i: f"let {p}c{i + 1} = pair{p}({p}c{i});"),
    )


@family
def nested_generic_calls(n: int, p: str, rng: random.Random) -> Part:
    deep = min(n, 200)
    return Part(
        f"fn same{p}<T>(x: T) -> T {{ x }}\n",
        lines(max(1, n // 200), lambda i: f"let {p}g{i} = {f'same{p}(' * deep}1{')' * deep};"),
    )


@family
def nested_closures(n: int, p: str, rng: random.Random) -> Part:
    deep = min(n, 120)
    names = [f"{p}x{i}" for i in range(deep)]
    text = "".join(f"|{name}| " for name in names) + " + ".join(names)
    calls = "[1].map(|a| " * deep + "a" + ")" * deep
    return Part("", lines(max(1, n // 120), lambda i: f"let {p}k{i} = {text};\nlet {p}m{i} = {calls};"))


@family
def branching_tails(n: int, p: str, rng: random.Random) -> Part:
    """Blocks whose value comes from deep inside."""
    deep = min(n, 80)
    text = "1"
    for i in range(deep):
        text = rng.choice((f"if c {{ {text} }} else {{ {i} }}", f"match {i} {{ 0 => {i}, _ => {text} }}", f"try {{ {text} }} catch {{ {i} }}"))
    return Part(f"fn bt{p}(c: Bool) -> Float {{ {text} }}\n")


@family
def unions(n: int, p: str, rng: random.Random) -> Part:
    members = " | ".join(f'"m{i}"' for i in range(n))
    arms = "".join(f'"m{i}" => {i}, ' for i in range(n))
    return Part(f"type U{p} = {members};\nfn ua{p}(u: U{p}) -> Int {{ match u {{ {arms}}} }}\nfn ub{p}(u: U{p}) -> Int {{ ua{p}(u) + ua{p}(\"m0\") + ua{p}(u) }}\n")


@family
def unions_of_functions(n: int, p: str, rng: random.Random) -> Part:
    """Types that end together, or lists that never do: where each ends must not be looked for anew."""
    piece = rng.choice(("fn() -> Int | ", "fn() -> Array<", "fn(Int) -> fn() -> ", "fn() -> Array<Int>= | "))
    return Part(f"type F{p} = {piece * n}Int;\n")


@family
def union_users(n: int, p: str, rng: random.Random) -> Part:
    """Many lines that use a union of many members."""
    members = " | ".join(f'"m{i}"' for i in range(n))
    return Part(
        f"type Q{p} = {members};\ntype R{p} = {members} | \"more\";\nfn qa{p}(u: R{p}) -> Int {{ 1 }}\n",
        f'let {p}q: Q{p} = "m0";\n' + lines(n, lambda i: f"qa{p}({p}q);"),
    )


@family
def struct_chain(n: int, p: str, rng: random.Random) -> Part:
    back = rng.choice(("", "", f"Option<C{p}0>"))
    items = lines(n, lambda i: f"struct C{p}{i} {{ a: C{p}{i + 1}, b: C{p}{i + 1} }}")
    return Part(f"{items}struct C{p}{n} {{ z: {back or 'Int'} }}\nfn ca{p}(c: C{p}0) -> Any {{ c{'.a' * n} }}\n")


@family
def circular_structs(n: int, p: str, rng: random.Random) -> Part:
    return Part(lines(n, lambda i: f"struct O{p}{i} {{ a: O{p}{(i * 7 + 1) % n}, b: O{p}{(i + 1) % n} }}"))


@family
def schema_tree(n: int, p: str, rng: random.Random) -> Part:
    """Schemas that share their parts: written out as JSON schema they double at each level."""
    items = lines(n, lambda i: f"schema K{p}{i} {{ a: K{p}{i + 1}, b: Array<K{p}{i + 1}> }}")
    return Part(
        f"{items}schema K{p}{n} {{ z: Int }}\nmodel M{p} {{ provider: offline }}\n",
        f'let {p}s = M{p}.execute_with_schema<K{p}0>("x");\n',
    )


@family
def heavy_parameters(n: int, p: str, rng: random.Random) -> Part:
    """Many functions over one type that is nearly as heavy as may be."""
    items = f"type H{p}0 = Int;\n" + lines(9, lambda i: f"type H{p}{i + 1} = (H{p}{i}, H{p}{i});")
    return Part(items + lines(n, lambda i: f"fn ha{p}{i}(x: H{p}9) -> H{p}9 {{ let y: H{p}9 = x; y }}"))


# ---------------------------------------------------------------- constants


@family
def doubling_constants(n: int, p: str, rng: random.Random) -> Part:
    first, type_, form = rng.choice((
        ('"ab"', "String", '"${{{0}}}${{{0}}}"'), ('"ab"', "String", "{0} + {0}"), ("[1]", "Any", "[{0}, {0}]"),
        ("[1]", "Any", "({0}, {0})"), ("3", "Int", "{0} * {0}"), ("2.5", "Float", "{0} ** {0}"),
        ("[1]", "Array<Int>", "{0} + {0}"), ("true", "Any", "{{ \"a\": {0}, \"b\": {0} }}"), ("1", "Any", "Some([{0}, {0}])"),
    ))
    items = f"const B{p}0: {type_} = {first};\n"
    items += lines(n, lambda i: f"const B{p}{i + 1}: {type_} = {form.format(f'B{p}{i}')};")
    return Part(items, f'emit("b", B{p}{n});\n')


@family
def constant_chain(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"const X{p}{i}: Int = X{p}{i + 1} + 1;")
    return Part(f"{items}const X{p}{n}: Int = {rng.choice(('1', f'X{p}0'))};\n", f'emit("x", X{p}0);\n')


@family
def constant_uses(n: int, p: str, rng: random.Random) -> Part:
    """A long constant, used often: each use builds it."""
    return Part(
        f"const L{p}: Array<Int> = [{', '.join(map(str, range(n)))}];\n",
        lines(n, lambda i: f"emit(\"u\", L{p});"),
    )


@family
def constant_prefixes(n: int, p: str, rng: random.Random) -> Part:
    """Constants that each repeat the one before and add a little: their sum is quadratic."""
    return Part(f'const Z{p}0: String = "";\n' + lines(n, lambda i: f'const Z{p}{i + 1}: String = "${{Z{p}{i}}}abcdefgh";'))


@family
def huge_numbers(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(("9" * n, "0x" + "f" * n, "0b" + "1" * n, "1" * n + ".5", "1e" + "9" * n, "0." + "3" * n, "1" + "_0" * n, "-" + "7" * n))
    return Part("", f'emit("h", {kind});\n')


@family
def constant_power(n: int, p: str, rng: random.Random) -> Part:
    return Part(lines(n, lambda i: f"const W{p}{i}: Int = {i + 2} ** {i % 70};"), "")


# ---------------------------------------------------------------- names and diagnostics


@family
def misspelt_names(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f"let {p}{_name(rng)}{i} = 1;") + lines(n, lambda i: f'emit("m", {p}{_name(rng)}{i}x);'))


@family
def misspelt_members(n: int, p: str, rng: random.Random) -> Part:
    fields = ", ".join(f"{_name(rng)}{i}: Int" for i in range(n))
    return Part(f"struct F{p} {{ {fields} }}\nfn fm{p}(f: F{p}) {{\n{lines(n, lambda i: f'f.{_name(rng)};')}}}\n")


@family
def misspelt_types(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"struct N{p}{_name(rng)} {{ a: N{p}{_name(rng)} }}")
    return Part(items + lines(n, lambda i: f"fn mt{p}{i}(x: N{p}{_name(rng)}) {{ E{p}::{_name(rng)}; m{p}::{_name(rng)}(); }}"))


@family
def misspelt_variants(n: int, p: str, rng: random.Random) -> Part:
    names = ", ".join(f"{_name(rng).title()}{i}" for i in range(n))
    return Part(f"enum J{p} {{ {names} }}\n", lines(n, lambda i: f'emit("j", J{p}::{_name(rng).title()}); {_name(rng)}({_name(rng)}: 1);'))


@family
def misspelt_methods(n: int, p: str, rng: random.Random) -> Part:
    methods = lines(n, lambda i: f"fn {_name(rng)}{i}(self) -> Int {{ 1 }}")
    return Part(f"struct I{p} {{ a: Int }}\nimpl I{p} {{ {methods} }}\nfn im{p}(i: I{p}) {{\n{lines(n, lambda i: f'i.{_name(rng)}(); [1].{_name(rng)}();')}}}\n")


@family
def unused_variables(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f"let {p}u{i} = {i};"))


@family
def type_errors(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(('1 + "a";', 'let x: Int = "a";', "f(1, 2);", "emit(1);", "return 3;", "break;", "[1, true];", "x = 1;", "1();"))
    return Part("", lines(n, lambda i: kind))


@family
def wide_type_errors(n: int, p: str, rng: random.Random) -> Part:
    """Messages that name a long type, many of them."""
    wide = ", ".join("Array<Option<Int>>" for _ in range(n))
    return Part(f"fn wt{p}(x: ({wide})) {{\n{lines(n, lambda i: 'let y: Int = x;')}}}\n")


@family
def syntax_errors(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(("let = 1;", "fn (", "}", ")", "let x = ;", "@", "match {", "struct {", "a b c;", "#", '"', "if", "1 2", "${", "'x", "x ? y : z;"))
    return Part(lines(n, lambda i: kind) if rng.random() < 0.5 else "", lines(n, lambda i: kind))


@family
def duplicates(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice((f"fn dup{p}() {{ }}", f"struct D{p} {{ a: Int, a: Int }}", f"const DUP{p}: Int = 1;", f"impl Int {{ fn d{p}(self) {{ }} }}", "use std::json;", f"mod q{p} {{ }}", f"trait T{p} {{ fn a(self); }}"))
    return Part(lines(n, lambda i: kind))


@family
def constant_faults(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(("1 / 0", "f()", '"a" + 1', "9223372036854775807 + 1", "-true"))
    return Part(lines(n, lambda i: f"const Q{p}{i}: Int = {kind};"))


@family
def missing_fields(n: int, p: str, rng: random.Random) -> Part:
    fields = ", ".join(f"f{i}: Int" for i in range(n))
    return Part(f"struct Mf{p} {{ {fields} }}\n", lines(n, lambda i: f"let {p}mf{i} = Mf{p} {{ f0: 1 }};"))


@family
def useless_arms(n: int, p: str, rng: random.Random) -> Part:
    arm = rng.choice(("_ => 1, ", "Some(x) => 1, ", "None => 2, ", "Some(1) => 1, ", "Some(1 | 2) => 2, "))
    return Part(f"fn ul{p}(o: Option<Int>) -> Int {{ match o {{ Some(_) => 1, {arm * n} _ => 3 }} }}\n")


# ---------------------------------------------------------------- many of one thing


@family
def many_functions(n: int, p: str, rng: random.Random) -> Part:
    return Part(lines(n, lambda i: f"fn mf{p}{i}(a: Int) -> Int {{ mf{p}{(i + 1) % n}(a) }}"))


@family
def many_parameters(n: int, p: str, rng: random.Random) -> Part:
    names = ", ".join(f"a{i}: Int = {i}" for i in range(n))
    given = ", ".join(f"a{i}: 1" for i in reversed(range(n)))
    return Part(f"fn mp{p}({names}) {{ }}\n", f"mp{p}({given});\n")


@family
def many_fields(n: int, p: str, rng: random.Random) -> Part:
    fields = ", ".join(f"f{i}: Int = {i}" for i in range(n))
    given = ", ".join(f"f{i}: {i}" for i in range(n))
    return Part(f"struct Fi{p} {{ {fields} }}\n", f"let {p}fi = Fi{p} {{ {given} }};\n" + lines(n, lambda i: f'emit("f", {p}fi.f{i});'))


@family
def many_locals(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f"let {p}l{i} = {p}l{i - 1} + 1;" if i else f"let {p}l0 = 0;") + f'emit("l", {p}l{n - 1});\n')


@family
def many_captures(n: int, p: str, rng: random.Random) -> Part:
    body = lines(n, lambda i: f"let mut {p}y{i} = {i};") + lines(n, lambda i: f"let {p}z{i} = || {{ {p}y{i} += 1; {p}y0 }};")
    return Part("", body)


@family
def late_locals(n: int, p: str, rng: random.Random) -> Part:
    """Variables without a value at first, assigned in branches."""
    body = lines(n, lambda i: f"let {p}t{i}: Int;")
    body += lines(n, lambda i: f"if {i} > 3 {{ {p}t{i} = 1; }} else {{ {p}t{i} = 2; }}") + lines(n, lambda i: f'emit("t", {p}t{i});')
    return Part("", body)


@family
def many_loops(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f"'l{p}{i}: for x in 0..3 {{ if x > 1 {{ break 'l{p}{i}; }} loop {{ break; }} while false {{ continue; }} }}"))


@family
def shadowing(n: int, p: str, rng: random.Random) -> Part:
    return Part("", f"let {p}sh = 1;\n" + lines(n, lambda i: f"let {p}sh = {p}sh + 1;"))


@family
def many_blocks(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f"{{ let {p}b = {i}; {{ let {p}b = 2; emit(\"b\", {p}b); }} emit(\"b\", {p}b); }}"))


@family
def many_impls(n: int, p: str, rng: random.Random) -> Part:
    items = f"trait Tr{p} {{ fn go(self) -> Int; fn other(self) -> Int {{ 2 }} }}\n"
    items += lines(n, lambda i: f"struct Im{p}{i} {{ a: Int }} impl Tr{p} for Im{p}{i} {{ fn go(self) -> Int {{ {i} }} }}")
    return Part(items + f"fn use{p}(x: Tr{p}) -> Int {{ x.go() }}\n", lines(n, lambda i: f'emit("i", use{p}(Im{p}{i} {{ a: 1 }}));'))


@family
def many_traits(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"trait Tq{p}{i} {{ fn go(self) -> Int {{ {i} }} }} impl Tq{p}{i} for Int {{ }}")
    bounds = " + ".join(f"Tq{p}{i}" for i in range(n))
    return Part(items + f"fn bound{p}<T: {bounds}>(x: T) -> Int {{ 1 }}\n", lines(n, lambda i: f"emit(\"b\", Tq{p}{i}::go(3));"))


@family
def generic_impls(n: int, p: str, rng: random.Random) -> Part:
    items = f"trait Gt{p}<A> {{ fn go(self, a: A) -> Int; }}\nstruct Gs{p} {{ a: Int }}\n"
    items += lines(n, lambda i: f"struct Ga{p}{i} {{ a: Int }} impl Gt{p}<Ga{p}{i}> for Gs{p} {{ fn go(self, a: Ga{p}{i}) -> Int {{ {i} }} }}")
    return Part(items + f"fn gu{p}(s: Gs{p}) {{\n{lines(n, lambda i: f'let t{i}: Gt{p}<Ga{p}{i}> = s;')}}}\n")


@family
def impls_of_two(n: int, p: str, rng: random.Random) -> Part:
    """Many impls of a trait for one type, which differ in one of the arguments alone, and impls for many types."""
    items = f"trait Gw{p}<A, B> {{ fn go(self, a: A) -> Int; }}\nstruct Gv{p} {{ a: Int }}\n"
    order = rng.choice(("Int, {0}", "{0}, Int"))
    first, second = order.split(", ")
    items += lines(n, lambda i: f"struct Gx{p}{i} {{ a: Int }} impl Gw{p}<{order.format(f'Gx{p}{i}')}> for Gv{p} {{ fn go(self, a: {first.format(f'Gx{p}{i}')}) -> Int {{ {i} }} }}")
    items += lines(n, lambda i: f"impl Gw{p}<String, {second.format('String')}> for Gx{p}{i} {{ fn go(self, a: String) -> Int {{ {i} }} }}")
    uses = lines(n, lambda i: f"let t{i}: Gw{p}<{order.format(f'Gx{p}{i}')}> = s; let u{i}: Gw{p}<String, {second.format('String')}> = Gx{p}{i} {{ a: 1 }};")
    return Part(items + f"fn gz{p}(s: Gv{p}) {{\n{uses}}}\n")


@family
def trait_chain(n: int, p: str, rng: random.Random) -> Part:
    """impl<T: A> B for Option<T>: whether a type implements asks for its parts."""
    items = f"trait Tc{p} {{ fn go(self) -> Int; }}\nimpl Tc{p} for Int {{ fn go(self) -> Int {{ 1 }} }}\n"
    items += f"impl<A: Tc{p}, B: Tc{p}> Tc{p} for (A, B) {{ fn go(self) -> Int {{ 2 }} }}\n"
    items += f"type Td{p}0 = Int;\n" + lines(n, lambda i: f"type Td{p}{i + 1} = (Td{p}{i}, Td{p}{i});")
    return Part(items + f"fn tq{p}<T: Tc{p}>(x: T) {{ }}\nfn tr{p}(x: Td{p}{n}) {{ tq{p}(x); }}\n")


@family
def many_strings(n: int, p: str, rng: random.Random) -> Part:
    return Part("", lines(n, lambda i: f'emit("s{i}", "{"abc " * 5}{i}\\n\\u{{41}}");'))


@family
def many_comments(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(("// c", "/* c */", "/// doc", "/* /* n */ */", "//! inner"))
    return Part(lines(n, lambda i: f"{kind} {i}") + f"fn cm{p}() {{ }}\n", lines(n, lambda i: f"emit(\"c\", {i}); // after") if rng.random() < 0.5 else "")


@family
def comment_tails(n: int, p: str, rng: random.Random) -> Part:
    """Comments between the parts of one expression."""
    return Part("", f"emit(\"t\", [\n{lines(n, lambda i: f'/* a */ {i}, // b {i}')}]);\n")


@family
def decorators(n: int, p: str, rng: random.Random) -> Part:
    kind = rng.choice(('@describe("x")', "@retry(max: 2)", "@nonsense", "@test"))
    return Part(lines(n, lambda i: kind) + f"fn dc{p}() {{ }}\n" + lines(n, lambda i: f"{kind} fn dd{p}{i}() {{ }}"))


@family
def many_tools(n: int, p: str, rng: random.Random) -> Part:
    methods = lines(n, lambda i: f'@describe("d") @param("a", "x") pub fn t{i}(self, a: Int) -> Int {{ a }}')
    return Part(f'tool To{p} {{ description: "x", s: Int = 0,\n{methods} }}\nmodel Mo{p} {{ provider: offline, tools: [To{p}] }}\n')


@family
def many_models(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f'model Mm{p}{i} {{ provider: offline, system_prompt: "x {i}" }}\nmemory mm{p}{i}: Memory = Memory::new({i + 1});')
    return Part(items, lines(n, lambda i: f'Mm{p}{i}.with_memory(mm{p}{i}).execute("x");'))


@family
def memory_blocks(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"memory mb{p}{i} {{ window: {{ turns: {i + 1} }}, retain: {i + 9} }}")
    pins = lines(n, lambda i: f'pin: {{ when: |m| m.content == "{i}" }},')
    return Part(f"{items}memory mf{p} {{\n{pins}}}\n", f"mb{p}0.clear();\n")


@family
def pipeline_stages(n: int, p: str, rng: random.Random) -> Part:
    return Part(f"pipeline Pi{p}(a0: Int) -> Int {{\n{lines(n, lambda i: f'stage s{i} = s{i - 1} + 1;' if i else 'stage s0 = a0 + 1;')}}}\n", f"let {p}pi = Pi{p}.run(1);\n")


@family
def contexts(n: int, p: str, rng: random.Random) -> Part:
    slots = "".join(f"mut s{i}: Int = {i}, " for i in range(n))
    return Part(f"context Cx{p} {{ session {{ {slots} }} }}\nmemory cx{p}: Memory = Memory::new(5).context(Cx{p});\n", lines(n, lambda i: f"cx{p}.s{i} = 2;"))


# ---------------------------------------------------------------- modules


@family
def inline_modules(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"mod mi{p}{i} {{ pub fn f{i}() -> Int {{ {i} }} pub struct S{i} {{ pub a: Int }} }}\nuse mi{p}{i}::*;")
    return Part(items, lines(n, lambda i: f'emit("m", f{i}());') if rng.random() < 0.7 else "")


@family
def glob_chain(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"mod gc{p}{i} {{ pub use crate::gc{p}{i + 1}::*; }}")
    return Part(f"{items}mod gc{p}{n} {{ pub fn deep{p}() -> Int {{ 1 }} }}\nuse gc{p}0::*;\n", lines(n, lambda i: f'emit("g", deep{p}());'))


@family
def glob_web(n: int, p: str, rng: random.Random) -> Part:
    """Every module offers what two others offer: as many ways as there are paths."""
    items = lines(n, lambda i: f"mod gw{p}{i} {{ pub use crate::gw{p}{min(i + 1, n)}::*; pub use crate::gw{p}{min(i + 2, n)}::*; }}")
    return Part(f"{items}mod gw{p}{n} {{ pub fn web{p}() -> Int {{ 1 }} }}\nuse gw{p}0::*;\n", f'emit("g", web{p}()); emit("h", missing{p}());\n')


@family
def glob_circle(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"mod gr{p}{i} {{ pub use crate::gr{p}{(i + 1) % n}::*; pub use crate::gr{p}{(i + 3) % n}::*; pub fn r{i}() {{ }} }}")
    return Part(f"{items}use gr{p}0::*;\n", lines(n, lambda i: f"r{i}();"))


@family
def use_chain(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"mod uc{p}{i} {{ pub use crate::uc{p}{i + 1}::x{p}; }}")
    return Part(f"{items}mod uc{p}{n} {{ pub fn x{p}() {{ }} }}\nuse uc{p}0::x{p};\n", f"x{p}();\n")


@family
def nested_modules(n: int, p: str, rng: random.Random) -> Part:
    deep = min(n, 150)
    path = "::".join(f"nm{p}{i}" for i in range(deep))
    items = "".join(f"pub mod nm{p}{i} {{ " for i in range(deep)) + "pub fn f() { }" + " }" * deep + "\n"
    return Part(items, lines(max(1, n // 100), lambda i: f"{path}::f();"))


@family
def use_trees(n: int, p: str, rng: random.Random) -> Part:
    names = ", ".join(f"u{i} as v{p}{i}" for i in range(n))
    return Part(f"mod ut{p} {{ {lines(n, lambda i: f'pub fn u{i}() {{ }}')} }}\nuse ut{p}::{{{names}}};\n")


# ---------------------------------------------------------------- long and deep texts


@family
def operator_chain(n: int, p: str, rng: random.Random) -> Part:
    operator, item = rng.choice((("+", "1"), ("*", "1"), ("&&", "true"), ("||", "false"), ("??", "nil"), ("-", "1"), ("==", "1"), ("+", '"a"'), ("+", "[1]")))
    return Part("", f"let {p}o = {f' {operator} '.join([item] * n)};\n")


@family
def pipe_chain(n: int, p: str, rng: random.Random) -> Part:
    link = rng.choice((f"inc{p}", f"inc{p}()", "|x| x + 1"))
    return Part(f"fn inc{p}(x: Int) -> Int {{ x + 1 }}\n", f"let {p}pc = 1{f' |> {link}' * n};\n")


@family
def method_chain(n: int, p: str, rng: random.Random) -> Part:
    link = rng.choice((".trim()", ".to_upper()", ".to_string()", " as Any", "?", "[0]", ".a", ".0", "()", ".await"))
    return Part("", f'let {p}mc = "a"{link * n};\n')


@family
def cast_chain(n: int, p: str, rng: random.Random) -> Part:
    return Part("", f"let {p}cc = 1{' as Float as Int' * n};\n")


@family
def else_ifs(n: int, p: str, rng: random.Random) -> Part:
    chain = " else ".join(f"if x == {i} {{ {i} }}" for i in range(n))
    return Part(f"fn ei{p}(x: Int) -> Int {{ {chain} else {{ -1 }} }}\n", f'emit("ei", ei{p}(3));\n')


@family
def else_ifs_statements(n: int, p: str, rng: random.Random) -> Part:
    chain = " else ".join(f"if x == {i} {{ y = {i}; }}" for i in range(n))
    return Part(f"fn es{p}(x: Int) -> Int {{ let mut y = 0; let z: Int; {chain}\n y }}\n")


@family
def brackets(n: int, p: str, rng: random.Random) -> Part:
    """Deeper than any program may nest, closed or not."""
    opening, closing = rng.choice(("()", "[]", "{}", "<>", ('"${', '}"'), ("|x| ", ""), ("-", ""), ("!", ""), ("if a { ", "}"), ("Some(", ")"), ("Array<", ">"), ("/*", "*/"), ("match 1 { _ => ", "}"), ("return ", ""), ("2 ** ", ""), ("a = ", "")))
    return Part("", f"let {p}br = {opening * n}1{closing * (n if rng.random() < 0.5 else n // 2)};\n")


@family
def nested_holes(n: int, p: str, rng: random.Random) -> Part:
    deep = min(n, 100)
    text = '"' + "${\"" * deep + "x" + "\"}" * deep + '"'
    return Part("", lines(max(1, n // 100), lambda i: f"let {p}nh{i} = {text};"))


@family
def many_holes(n: int, p: str, rng: random.Random) -> Part:
    return Part("", f"let {p}h = 1;\nemit(\"h\", \"{f'a ${{{p}h}} ' * n}\");\n")


@family
def long_line(n: int, p: str, rng: random.Random) -> Part:
    values = ("1", "x", "1 +", '"é"')
    return Part("", "".join(f"let {p}ll{i} = {rng.choice(values)}; " for i in range(n)) + "\n")


@family
def long_identifier(n: int, p: str, rng: random.Random) -> Part:
    name = "a" * n
    return Part(f"fn {p}{name}() {{ }}\nstruct Li{p} {{ {name}: Int }}\n", f"{p}{name}();\n{p}{name}b();\nlet {p}li = {p}{name};\n")


@family
def long_string(n: int, p: str, rng: random.Random) -> Part:
    unit = rng.choice(("a", "\\n", "\\u{1F600}", "é", "$", "\\\"", "\\q", "{", "€ "))
    return Part("", f'emit("ls", "{unit * n}");\n')


@family
def block_string(n: int, p: str, rng: random.Random) -> Part:
    return Part("", 'emit("bs", """\n' + lines(n, lambda i: f"    line {i} ${{{i}}}") + '    """);\n')


@family
def long_array(n: int, p: str, rng: random.Random) -> Part:
    item = rng.choice(("1", "1.5", '"a"', "[1]", "(1, 2)", "nil", "1, 1.5", 'true, "x"'))
    return Part("", f"let {p}la = [{', '.join([item] * n)}];\n")


@family
def long_map(n: int, p: str, rng: random.Random) -> Part:
    same = rng.random() < 0.3
    return Part("", f"let {p}lm = {{ {', '.join(f'k{0 if same else i}: {i}' for i in range(n))} }};\n")


@family
def nested_arrays(n: int, p: str, rng: random.Random) -> Part:
    deep = min(n, 200)
    return Part("", lines(max(1, n // 200), lambda i: f"let {p}na{i} = {'[' * deep}1{']' * deep};\nlet {p}nb{i}: Any = {'(' * deep}1,{')' * deep};" if deep % 2 else f"let {p}na{i} = {'[' * deep}1{']' * deep};"))


@family
def less_than(n: int, p: str, rng: random.Random) -> Part:
    """What could open a type list and does not."""
    return Part("", f"let {p}lt = {'A < ' * n}1;\nlet {p}lu = f({', '.join(f'A < B{i}' for i in range(n))});\n")


@family
def blank(n: int, p: str, rng: random.Random) -> Part:
    return Part(rng.choice(("\n", " ", "\t", "\r\n", ";", "\r")) * n)


@family
def tuple_fields(n: int, p: str, rng: random.Random) -> Part:
    return Part("", f"let {p}tf = ({', '.join(str(i) for i in range(n))},);\n" + lines(n, lambda i: f'emit("t", {p}tf.{i});'))


@family
def destructuring(n: int, p: str, rng: random.Random) -> Part:
    names = ", ".join(f"{p}ds{i}" for i in range(n))
    kind = rng.choice((f"let ({names}) = ({', '.join(['1'] * n)});", f"let [{names}, ..] = [{', '.join(['1'] * n)}];"))
    return Part("", kind + "\n")


@family
def try_question(n: int, p: str, rng: random.Random) -> Part:
    items = f"fn tq{p}(a: Int) -> Result<Int, Error> {{ Ok(a) }}\n"
    return Part(items + f"fn tw{p}() -> Result<Int, Error> {{\n{lines(n, lambda i: f'let q{i} = tq{p}({i})?; throw_if{p}(q{i})?;')} Ok(1) }}\nfn throw_if{p}(a: Int) -> Result<Int, Error> {{ if a > 3 {{ throw ToolError::ExecutionFailed(\"x\"); }} Ok(a) }}\n")


@family
def spawns(n: int, p: str, rng: random.Random) -> Part:
    return Part(f"async fn sp{p}(a: Int) -> Int {{ a }}\n", lines(n, lambda i: f"let {p}sp{i} = spawn sp{p}({i});") + lines(n, lambda i: f"emit(\"s\", await {p}sp{i});"))


@family
def one_method_of_many_traits(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"trait Om{p}{i} {{ fn om{p}(self) -> Int; }}") + f"struct Om{p} {{ x: Int }}\n"
    items += lines(n, lambda i: f"impl Om{p}{i} for Om{p} {{ fn om{p}(self) -> Int {{ {i} }} }}")
    called = rng.choice((f"om.om{p}()", f"Om{p}0::om{p}(om)"))
    return Part(items, f"let om = Om{p} {{ x: 1 }};\n" + lines(n, lambda i: f"emit(\"om\", {called});"))


@family
def schemas_twice_in_one(n: int, p: str, rng: random.Random) -> Part:
    """Written out, each is twice the one it holds."""
    word, held = rng.choice((("schema", "{}"), ("struct", "{}"), ("schema", "Option<{}>"), ("schema", "Array<{}>")))
    items = lines(n, lambda i: f"{word} Sd{p}{i} {{ a: {held.format(f'Sd{p}{i + 1}')}, b: {held.format(f'Sd{p}{i + 1}')} }}")
    return Part(f"{items}{word} Sd{p}{n} {{ x: Int }}\nschema Sd{p} {{ s: Sd{p}0 }}\n")


# ---------------------------------------------------------------- many of one kind, each looked up


@family
def errors_caught_one_by_one(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"struct Ec{p}{i} {{ a: Int }}\nimpl Error for Ec{p}{i} {{}}\nfn ec{p}{i}() -> Result<Int, Ec{p}{i}> {{ Err(Ec{p}{i} {{ a: 1 }}) }}")
    tried = lines(n, lambda i: f"ec{p}{i}()?;")
    return Part(items, f"try {{ {tried} }}\n" + lines(n, lambda i: f"catch Ec{p}{i}(e) {{ }}") + rng.choice(("catch e { emit(\"e\", e); }\n", "")))


@family
def changes_that_call_a_chain(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"fn cc{p}{i}(x: Int) -> Int {{ cc{p}{i + 1}(x) + 1 }}") + f"fn cc{p}{n}(x: Int) -> Int {{ x }}\n"
    items += f"struct Cc{p} {{ v: Int }}\nimpl Cc{p} {{ fn bump(mut self) {{ self.v = cc{p}0(self.v); }} }}\nhashmap hc{p}: HashMap<String, Cc{p}> = HashMap::new();\n"
    return Part(items, lines(n, lambda i: f'hc{p}["a"].bump();'))


@family
def operands_that_call_a_chain(n: int, p: str, rng: random.Random) -> Part:
    """Each operand leads to the same functions, some of which attach memories."""
    attach = rng.choice((0, 3))
    items = f'model Oc{p} {{ provider: openai, base: "m" }}\n'
    items += lines(n if attach else 0, lambda i: f"memory om{p}{i}: Memory = Memory::new().on_conflict(Serial);")
    call = lambda i: f'let _ = Oc{p}.with_memory(om{p}{i}).execute("q"); ' if attach and i % attach == 0 else ""  # noqa: E731
    items += lines(n, lambda i: f"fn oc{p}{i}(x: Int) -> Int {{ {call(i)}oc{p}{i + 1}(x) + 1 }}") + f"fn oc{p}{n}(x: Int) -> Int {{ x }}\n"
    return Part(items, lines(n // 2, lambda i: f'emit("o", await (oc{p}0(1), oc{p}{i}(2)));'))


@family
def fallbacks_in_a_row(n: int, p: str, rng: random.Random) -> Part:
    last = rng.choice(("", f", fallback: [Fb{p}0]"))
    order = rng.choice((lambda rows: rows, lambda rows: rows[::-1]))
    rows = [f'model Fb{p}{i} {{ provider: openai, base: "m", fallback: [Fb{p}{i + 1}] }}' for i in range(n)]
    return Part("\n".join(order([*rows, f'model Fb{p}{n} {{ provider: openai, base: "m"{last} }}'])) + "\n")


@family
def memories_like_one_another(n: int, p: str, rng: random.Random) -> Part:
    last = rng.choice(("Memory::new().retain(20)", f"Memory::new().like(Lk{p}0)"))
    return Part(lines(n, lambda i: f"memory Lk{p}{i}: Memory = Memory::new().like(Lk{p}{i + 1});") + f"memory Lk{p}{n}: Memory = {last};\n")


@family
def unknown_methods_beside_traits(n: int, p: str, rng: random.Random) -> Part:
    return Part(lines(n, lambda i: f"trait Um{p}{i} {{ fn um{p}{i}(self); }}"), lines(n, lambda i: f"1.zz{p}{i}();"))


@family
def unknown_connections(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f'connect uc{p}{i} {{ provider: "openai" }}')
    return Part(items + lines(n, lambda i: f'model Uc{p}{i} {{ provider: zz{p}{i}, base: "m" }}'))


@family
def conversions_of_errors(n: int, p: str, rng: random.Random) -> Part:
    items = f"struct Ce{p} {{ a: Int }}\nimpl Error for Ce{p} {{}}\n"
    items += lines(n, lambda i: f"struct Cf{p}{i} {{ a: Int }}\nimpl Error for Cf{p}{i} {{}}\nimpl From<Cf{p}{i}> for Ce{p} {{ fn from(a: Cf{p}{i}) -> Self {{ Ce{p} {{ a: a.a }} }} }}\nfn cg{p}{i}() -> Result<Int, Cf{p}{i}> {{ Ok(1) }}")
    called = lines(n, lambda i: f"cg{p}{i}()?; ch{p}()?;")
    return Part(items + f"fn ch{p}() -> Result<Int, RuntimeError> {{ Ok(1) }}\nfn ci{p}() -> Result<Int, Ce{p}> {{\n{called} Ok(1) }}\n")


@family
def overloads_of_one_trait(n: int, p: str, rng: random.Random) -> Part:
    receiver, value = rng.choice(((f"Ov{p}", f"Ov{p} {{ a: 1 }}"), ("Int", "1")))
    items = f"trait Ox{p}<A> {{ fn ox{p}(self, a: A); }}\nstruct Ov{p} {{ a: Int }}\n"
    items += lines(n, lambda i: f"struct Oe{p}{i} {{ a: Int }}\nimpl Ox{p}<Oe{p}{i}> for {receiver} {{ fn ox{p}(self, a: Oe{p}{i}) {{ let _ = a; }} }}")
    return Part(items, f"let ov{p} = {value};\n" + lines(n, lambda i: f"ov{p}.ox{p}(Oe{p}{i} {{ a: 1 }});"))


@family
def fields_of_a_generic_struct(n: int, p: str, rng: random.Random) -> Part:
    items = f"struct Fg{p}<T> {{ {', '.join(f'f{i}: T' for i in range(n))} }}\n"
    return Part(items + f"fn fg{p}(s: Fg{p}<Int>) -> Int {{ let mut t = 0;\n{lines(n, lambda i: f't += s.f{i};')} t }}\n")


@family
def uses_of_a_generic_struct(n: int, p: str, rng: random.Random) -> Part:
    """Each with another type argument, and another field."""
    items = f"struct Ug{p}<T> {{ {', '.join(f'f{i}: T' for i in range(n))} }}\n" + lines(n, lambda i: f"struct Ua{p}{i} {{ x: Int }}")
    return Part(items + lines(n, lambda i: f"fn ug{p}{i}(s: Ug{p}<Ua{p}{i}>) -> Int {{ s.f{i}.x }}"))


@family
def models_that_fall_back(n: int, p: str, rng: random.Random) -> Part:
    """In a chain, each with hosted tools, and calls of the first one that set some."""
    hosted = 'hosted: [{ type: "web_search" }]'

    def model(i: int) -> str:
        behind = f", fallback: [Mf{p}{i + 1}]" if i < n - 1 else ""
        return f'connect cf{p}{i} {{ provider: "openai" }}\nmodel Mf{p}{i} {{ provider: cf{p}{i}, base: "x", {hosted}{behind} }}'

    return Part(lines(n, model) + f"fn mf{p}() {{\n{lines(n, lambda i: f'Mf{p}0.with({hosted});')} }}\n")


@family
def fields_of_a_struct(n: int, p: str, rng: random.Random) -> Part:
    items = f"struct Fi{p} {{ {', '.join(f'f{i}: Int' for i in range(n))} }}\n"
    return Part(items + f"fn fi{p}(s: Fi{p}) -> Int {{ let mut t = 0;\n{lines(n, lambda i: f't += s.f{i};')} t }}\n")


@family
def calls_of_mocked_tools(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"/// t\ntool Mk{p}{i} {{\n/// d\npub fn m(self) -> Int {{ 1 }}\n}}") + f'model Ml{p} {{ provider: openai, base: "m" }}\n'
    replies = ", ".join(f'{{ "tool_calls": [{{ "tool": "Mk{p}{i}.m" }}] }}' for i in range(n))
    return Part(items + f"@test\nfn mk{p}() {{ mock Ml{p} {{ responses: [{replies}] }} }}\n")


@family
def variants_of_an_enum(n: int, p: str, rng: random.Random) -> Part:
    used = rng.choice((0, n))
    return Part(f"enum Ev{p} {{ {', '.join(f'V{i}' for i in range(n))} }}\n", lines(used, lambda i: f'emit("v", Ev{p}::V{i});'))


@family
def traits_that_change_their_receiver(n: int, p: str, rng: random.Random) -> Part:
    return Part(lines(n, lambda i: f"trait Mu{p}{i} {{ fn mu{p}{i}(mut self); }}"))


@family
def methods_of_one_trait(n: int, p: str, rng: random.Random) -> Part:
    items = f"struct Mt{p} {{ a: Int }}\ntrait Mu{p} {{ {lines(n, lambda i: f'fn mt{p}{i}(self);')} }}\n"
    return Part(items + f"impl Mu{p} for Mt{p} {{ {lines(n, lambda i: f'fn mt{p}{i}(self) {{ }}')} }}\n")


@family
def alternatives_behind_names(n: int, p: str, rng: random.Random) -> Part:
    names = ", ".join(f"{p}ab{i}" for i in range(n))
    choices = ", ".join(["1 | 2"] * n)
    return Part("", f'let {p}ab: Any = 1;\nmatch {p}ab {{ ({names}, {choices}) => {{ emit("a", [{names}]); }}, _ => {{ }} }}\n')


@family
def alternatives_that_bind(n: int, p: str, rng: random.Random) -> Part:
    items = f"enum Ab{p} {{ {', '.join(f'V{i}(Int)' for i in range(n))} }}\n"
    arm = " | ".join(f"Ab{p}::V{i}(x)" for i in range(n))
    return Part(items, f'match Ab{p}::V0(1) {{ {arm} => {{ emit("a", x); }} }}\n')


@family
def defaults_twice_in_one(n: int, p: str, rng: random.Random) -> Part:
    """Each is made of two of the one before."""
    items = f"struct Dt{p}0 {{ a: Int = 1 }}\n"
    items += lines(n, lambda i: f"struct Dt{p}{i + 1} {{ a: Dt{p}{i} = Dt{p}{i} {{ }}, b: Dt{p}{i} = Dt{p}{i} {{ }} }}")
    return Part(items + f"const DT{p.upper()}: Dt{p}{n} = Dt{p}{n} {{ }};\n")


@family
def names_that_lead_into_a_circle(n: int, p: str, rng: random.Random) -> Part:
    items = lines(n, lambda i: f"const LC{p.upper()}{i}: Int = LC{p.upper()}{i + 1};") + f"const LC{p.upper()}{n}: Int = LC{p.upper()}{n};\n"
    return Part(items + lines(n, lambda i: f"type Lc{p}{i} = Lc{p}{i + 1};") + f"type Lc{p}{n} = Lc{p}{n};\n")
