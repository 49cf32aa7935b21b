"""Programs by chance that hand containers on: through calls, closures, patterns, wrappers, fields, `?`, and get and set.

Hands on `program`. Each function returns what it has made of several of its variables, so that a write which shows in another
place shows in what `main` emits.
"""

from __future__ import annotations

import random

A, N, S, M, T, OPTION, R, E = (
    "Array<Int>", "Array<Array<Int>>", "S", "Map<String, Array<Int>>", "(Array<Int>, Array<Int>)", "Option<Array<Int>>",
    "Result<Array<Int>, String>", "E",
)  # fmt: skip
TYPES = (A, A, A, A, N, S, M, T, OPTION, R, E)
HEAD = """
struct S { a: Array<Int>, n: Int, r: Array<Array<Int>>, t: (Array<Int>, Array<Int>) }
enum E { One(Array<Int>), Two(Array<Int>, Array<Int>), Nothing }
impl S {
    fn with(self, x: Int) -> S { let mut a = self.a; a.push(x); S { a, ..self } }
    fn grown(self) -> S { let mut r = self.r; r.push(self.a); S { a: self.a, n: self.n + 1, r, t: self.t } }
    fn part(self) -> Array<Int> { self.a }
    fn add(mut self, x: Int) { self.a.push(x); self.n += 1; }
    fn taken(mut self) -> Array<Int> { let a = self.a; self.a = [self.n]; a }
    fn above(self, x: Int) -> Array<Int> { [1, 2, 3].filter(|k| self.a.len() > k + x % 2) }
    fn parts(self) -> Array<Array<Int>> { [0, 1].map(|k| if k == self.n % 2 { self.a } else { self.t.1 }) }
    fn wholes(self) -> Array<S> { [0, 1].map(|k| if k == self.n % 2 { self } else { S { n: k, ..self } }) }
    fn longest(self) -> Array<Int> {
        let found = self.r.reduce(self.a, |w, k| if k.len() > w.len() && k.len() > self.n { k } else { w });
        let kept = |k: Int| add(self.a, k);
        if self.n % 3 == 0 { found } else { kept(self.n) }
    }
    fn turned(mut self) -> Array<Int> { let mut a = self.a; a.push(7); self.a = a; self.t.0 }
}
fn add(xs: Array<Int>, x: Int) -> Array<Int> { let mut out = xs; out.push(x); out }
fn same(xs: Array<Int>) -> Array<Int> { xs }
fn pair(xs: Array<Int>) -> (Array<Int>, Array<Int>) { let mut out = xs; out.push(3); (out, xs) }
fn full(xs: Array<Int>) -> Bool { xs.len() > 6 }
fn checked(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> {
    if x % 3 == 1 { throw "no ${x}"; }
    let mut out = xs; out.push(x); Ok(out)
}
fn late(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> {
    let mut out = xs; out.push(x);
    if x % 3 == 2 { throw "late ${out.len()}"; }
    Ok(out)
}
fn renamed(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> {
    let first = xs;
    let mut out = first;
    if x % 3 == 1 { throw "early"; }
    out.push(x);
    let mut more = out;
    if x % 5 == 2 { more.push(0); throw "late"; }
    more
}
fn entry(m: Map<String, Array<Int>>, o: Option<Array<Int>>) -> (Map<String, Array<Int>>, Array<Int>) {
    let mut out = o ?? [2];
    out.push(4);
    (m, out)
}
fn row(rows: Array<Array<Int>>, xs: Array<Int>) -> (Array<Array<Int>>, Array<Int>) { let mut out = xs; out.push(6); (rows, out) }
fn set(m: Map<String, Array<Int>>, k: String, xs: Array<Int>) -> Map<String, Array<Int>> { let mut out = m; out[k] = xs; out }
fn step(xs: Array<Int>, x: Int) -> Result<Array<Int>, String> { let out = checked(xs, x)?; Ok(out) }
fn opened(o: Option<Array<Int>>) -> Array<Int> { match o { Some(xs) => add(xs, 5), None => [0] } }
fn seen(s: S, xs: Array<Int>) -> Array<Int> { let mut out = xs; out.push(s.a.len() * 10 + s.n); out }
fn beside(xs: Array<Int>, ys: Array<Int>) -> Array<Int> {
    let mut out = ys;
    for x in xs { out.push(x); }
    out[0..7.min(out.len())]
}
fn applied(f: fn(Array<Int>) -> Array<Int>, xs: Array<Int>) -> Array<Int> { f(xs) }
"""


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.scopes: list[list[tuple[str, str]]] = []
        self.functions: list[tuple[str, tuple[str, ...], str]] = []
        self.mutable: set[str] = set()
        self.loops = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def visible(self, type_: str) -> list[str]:
        return [name for scope in self.scopes for name, kind in scope if kind == type_]

    def integer(self) -> str:
        arrays = self.visible(A)
        choices = ["1", "2", "3", "i", "i", "i + 1"] + [f"{name}.len()" for name in arrays[-2:]]
        return self.one(*choices)

    # ------------------------------------------------------------ expressions

    def value(self, type_: str, depth: int = 3) -> str:
        names = self.visible(type_)
        if names and (depth <= 0 or self.random.random() < 0.45):
            return self.one(*names[-5:])
        calls = [f for f in self.functions if f[2] == type_]
        if calls and depth > 0 and self.random.random() < 0.35:
            name, parameters, _ = self.random.choice(calls)
            return f"{name}({', '.join([self.value(kind, depth - 1) for kind in parameters] + ['i'])})"
        if depth > 1 and self.random.random() < 0.12:
            return f"(if {self.test()} {{ {self.value(type_, depth - 1)} }} else {{ {self.value(type_, depth - 1)} }})"
        return self.made(type_, depth)

    def test(self) -> str:
        arrays = self.visible(A)
        more = [f"full({name})" for name in arrays[-2:]] + [f"{name}.len() % 2 == 0" for name in arrays[-2:]]
        return self.one("i % 2 == 0", "i % 3 == 0", *more)

    def made(self, type_: str, depth: int) -> str:
        def of(kind: str) -> str:
            return self.value(kind, depth - 1)

        if depth <= 0:
            return {
                A: "[i]", N: "[[i], [2]]", S: "S { a: [i], n: 0, r: [], t: ([], [1]) }", M: '{ "k": [i] }', T: "([i], [2])",
                OPTION: "Some([i])", R: "Ok([i])", E: "E::One([i])",
            }[type_]  # fmt: skip
        if type_ == A:
            k = self.random.randrange(26)
            texts = [
                lambda: "[1, 2]", lambda: f"[{self.integer()}]", lambda: f"add({of(A)}, {self.integer()})",
                lambda: f"add({of(A)}, {self.integer()})", lambda: f"same({of(A)})", lambda: f"({of(T)}).{self.one('0', '1')}",
                lambda: f"({of(S)}).a", lambda: f"({of(S)}).part()", lambda: f"(({of(N)}).get(0) ?? {of(A)})",
                lambda: f'(({of(M)}).get("{self.one("k", "l")}") ?? {of(A)})', lambda: f"({of(OPTION)} ?? {of(A)})",
                lambda: f"({of(R)}.unwrap_or({of(A)}))", lambda: f"opened({of(OPTION)})",
                lambda: f"{of(A)}.concat(add({of(A)}, 4))",
                lambda: f"applied(|w: {A}| {{ let mut z = w; z.push(8); z }}, {of(A)})",
                lambda: f"[1, 2].reduce({of(A)}, |acc: {A}, x: Int| {{ let mut z = acc; z.push(x); z }})",
                lambda: f"(match ({of(R)}) {{ Ok(w) => add(w, 6), Err(_) => {of(A)} }})",
                lambda: f"(match ({of(E)}) {{ E::One(w) => w, E::Two(w, u) => add(w, u.len()), E::Nothing => [9] }})",
                lambda: f"(match ({of(T)}) {{ (w, u) => {{ let mut z = w; z.push(u.len()); z }} }})",
                lambda: f"(match ({of(S)}) {{ S {{ a, r, .. }} => {{ let mut z = a; z.push(r.len()); z }} }})",
                lambda: f"(match ({of(OPTION)}) {{ Some(w) if w.len() > 3 => add(w, 1), Some(w) => w, None => {of(A)} }})",
                lambda: f"({of(S)}).with({self.integer()}).a", lambda: f"({of(S)}).above({self.integer()})",
                lambda: f"({of(S)}).parts()[{self.one('0', '1')}]", lambda: f"({of(S)}).wholes()[{self.one('0', '1')}].a",
                lambda: f"({of(S)}).longest()",
            ]
            return texts[k]()
        if type_ == N:
            return self.one(f"[{of(A)}, {of(A)}]", f"({of(S)}).r", f"[{of(A)}, {of(A)}, {of(A)}].map(|w| add(w, 2))")
        if type_ == S:
            base = f"S {{ a: {of(A)}, ..{of(S)} }}"
            whole = f"S {{ a: {of(A)}, n: {self.integer()}, r: {of(N)}, t: {of(T)} }}"
            return self.one(whole, base, f"({of(S)}).with({self.integer()})", f"({of(S)}).grown()")
        if type_ == M:
            return f'{{ "k": {of(A)}, "l": {of(A)} }}'
        if type_ == T:
            return self.one(f"({of(A)}, {of(A)})", f"({of(S)}).t", f"pair({of(A)})")
        if type_ == OPTION:
            return self.one(f"Some({of(A)})", "None", f'({of(M)}).get("k")', f"({of(N)}).last()")
        if type_ == R:
            return self.one(*[f"{word}({of(A)}, {self.integer()})" for word in ("checked", "late", "step")], f"Ok({of(A)})")
        return self.one(f"E::One({of(A)})", f"E::Two({of(A)}, {of(A)})", "E::Nothing")

    # ------------------------------------------------------------ statements

    def declared(self, type_: str, name: str, mutable: bool) -> str:
        self.scopes[-1].append((name, type_))
        if mutable:
            self.mutable.add(name)
        return name

    def let(self) -> str:
        type_ = self.random.choice(TYPES)
        value = self.value(type_)
        name = self.name()
        mutable = self.random.random() < 0.7
        self.declared(type_, name, mutable)
        return f"let {'mut ' if mutable else ''}{name}: {type_} = {value};"

    def changed(self) -> str:
        names = [(name, kind) for scope in self.scopes for name, kind in scope if name in self.mutable]
        if not names:
            return self.let()
        name, kind = self.random.choice(names[-8:])
        n = self.integer()
        if self.random.random() < 0.4:
            return f"{name} = {self.value(kind)};"
        if kind == A:
            return self.one(
                f"{name}.push({n});", f"if {name}.len() > 0 {{ {name}[0] += {n}; }}", f"{name} = add({name}, {n});",
                f"{name} = pair({name}).0;", f"{name} = same({name});", f"try {{ {name} = step({name}, {n})?; }}",
                f"try {{ {name} = late({name}, {n})?; }}",
                f"match step({name}, {n}) {{ Ok(next) => {{ {name} = next; }} Err(_) => {{ {name}.push(0); }} }}",
                f"match late({name}, {n}) {{ Ok(next) => {{ {name} = next; }} Err(_) => {{ {name}.push(0); }} }}",
                f"match renamed({name}, {n}) {{ Ok(next) => {{ {name} = next; }} Err(_) => {{ {name}.push(0); }} }}",
                f"try {{ {name} = renamed({name}, {n})?; }} {name}.push(1);",
                f"{name} = beside({name}, if {self.test()} {{ {name} }} else {{ add({name}, {n}) }});",
                f"{name} = add({name}, if {self.test()} {{ {name}.len() }} else {{ beside({name}, {name}).len() }});",
                f"{name} = add({name}, match late({name}, {n}) {{ Ok(w) => w.len(), Err(_) => 1 }});",
                f"for w in {name} {{ {name}.push(w); }} {name} = {name}[0..4.min({name}.len())];",
                f"{name} = beside({name}, {{ {name}.push({n}); {name} }});", f"{name} = beside({name}, add({name}, {n}));",
            )  # fmt: skip
        if kind == N:
            return self.one(
                f"{name}.push({self.value(A)});", f"if {name}.len() > 0 {{ {name}[0].push({n}); }}",
                f"if {name}.len() > 0 {{ let mut row = {name}[0]; row.push({n}); {name}[0] = row; }}",
                f"if {name}.len() > 0 {{ let (z, w) = row({name}, {name}[0]); {name} = z; {name}.push(w); }}",
                f"if {name}.len() > 0 {{ {name} = row({name}, if {self.test()} {{ {name}[0] }} else {{ [i] }}).0; }}",
                f"{name} = row({name}, {name}.get(0) ?? [{n}]).0;",
                f"for w in {name} {{ let mut z = w; z.push({n}); if {name}.len() < 4 {{ {name}.push(z); }} }}",
            )  # fmt: skip
        if kind == S:
            return self.one(
                f"{name}.a.push({n});", f"{name}.add({n});", f"{name}.r = {name}.parts(); {name}.a.push({n});",
                f"let z{self.names}w = {name}.wholes(); {name}.a.push({n}); {name} = z{self.names}w[0];",
                f"if {name}.above({n}).len() > 1 {{ {name}.a = {name}.longest(); {name}.t.0.push({n}); }}",
                f"{name} = {name}.with({n});", f"{name}.a = {self.value(A)};",
                f"{name}.a = seen({name}, {name}.taken());", f"{name}.a = beside({name}.a, {name}.turned());",
                f"for w in {name}.a {{ if {name}.n < 20 {{ {name}.add(w); }} }}",
                f"{name}.t.0.push({n});", f"{name}.r.push({name}.taken());", f"{name}.a = {name}.turned();",
                f"let mut z{self.names} = {name}.a; z{self.names}.push({n}); {name}.a = z{self.names};",
                f"if {name}.r.len() > 0 {{ {name}.r[0].push({n}); }}", f"{name} = {name}.grown();",
            )  # fmt: skip
        if kind == M:
            word = self.name()
            return self.one(
                f'{name}["k"] = {self.value(A)};', f'{name}.set("l", {self.value(A)});',
                f'let mut {word} = {name}.get("k") ?? []; {word}.push({n}); {name}.set("k", {word});',
                f'let mut {word} = {name}.get("k") ?? []; {word}.push({n}); {name}["k"] = {word}; {word}.push(1);',
                f'let k{word} = "k"; let mut {word} = {name}.get(k{word}) ?? []; {word}.push({n}); {name}.set(k{word}, {word});',
                f'let ({word}, z{word}) = entry({name}, {name}.get("k")); {name} = {word}; {name}["l"] = z{word};',
                f'{name} = entry({name}, if {self.test()} {{ {name}.get("k") }} else {{ {name}.get("l") }}).0;',
                f'{name} = set({name}, "k", add({name}.get("k") ?? [], {n}));',
                f'{name} = set({name}, "l", if {self.test()} {{ {name}.get("k") ?? [] }} else {{ {name}.get("l") ?? [i] }});',
                f'if {name}.has("k") {{ let mut {word} = {name}["k"]; {word}.push({n}); {name}["k"] = {word}; }}',
                f'let mut {word} = {name}.get("k") ?? []; {word}.push({n}); if i % 2 == 0 {{ {name}.set("k", {word}); }}',
                f'let mut {word} = {name}.get("k") ?? []; {name}.set("l", {word}); {word}.push({n}); {name}.set("k", {word});',
            )  # fmt: skip
        if kind == T:
            return self.one(f"{name}.0.push({n});", f"{name}.1.push({n});", f"{name} = pair({name}.0);")
        return f"{name} = {self.value(kind)};"

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return self.let()
        if kind < 0.7 or depth <= 0:
            return self.changed()
        if kind < 0.78:
            return f"if {self.test()} {{ {self.block(depth - 1)} }} else {{ {self.block(depth - 1)} }}"
        if kind < 0.86:
            self.loops += 1
            return f"for n{self.loops} in 0..{self.one('2', '3')} {{ {self.block(depth - 1)} }}"
        first, second = self.name(), self.name()
        if kind < 0.9:
            text = f"let ({first}, {second}) = {self.value(T)};"
            self.declared(A, first, False), self.declared(A, second, False)
            return text
        if kind < 0.93:
            text = f"let S {{ a: {first}, r: {second}, .. }} = {self.value(S)};"
            self.declared(A, first, False), self.declared(N, second, False)
            return text
        if kind < 0.97:
            subject = self.value(OPTION)
            self.scopes.append([(first, A)])
            body = self.block(depth - 1)
            self.scopes.pop()
            return f"match ({subject}) {{ Some({first}) => {{ {body} }} None => {{}} }}"
        arrays = [name for name in self.visible(A) if name in self.mutable]
        if not arrays:
            return self.let()
        name = self.one(*arrays)
        called = f"let {second}: Array<Int> = {first}(i); {name} = add({second}, 2);"
        return f"let {first} = |x: Int| {{ {name}.push(x); {name} }}; {called}"

    def block(self, depth: int) -> str:
        self.scopes.append([])
        text = " ".join([self.statement(depth) for _ in range(self.random.randrange(1, 4))])
        self.scopes.pop()
        return text

    def function(self, number: int) -> str:
        result = self.random.choice(TYPES)
        parameters = tuple([self.random.choice(TYPES) for _ in range(self.random.randrange(1, 4))])
        self.scopes = [[(f"p{at}", kind) for at, kind in enumerate(parameters)]]
        statements = [self.statement(2) for _ in range(self.random.randrange(2, 7))]
        if self.random.random() < 0.2:
            statements.append(f"if i % 5 == 4 {{ return {self.value(result, 1)}; }}")
        text = "\n    ".join(statements)
        named = ", ".join([f"p{at}: {kind}" for at, kind in enumerate(parameters)] + ["i: Int"])
        whole = f"fn f{number}({named}) -> {result} {{\n    {text}\n    {self.value(result, 2)}\n}}\n"
        self.functions.append((f"f{number}", parameters, result))
        return whole

    def work(self) -> str:
        self.scopes = [[]]
        start = [self.let() for _ in range(5)]
        body = [self.changed() for _ in range(5)] + [self.statement(1) for _ in range(3)]
        kept = [name for name, _ in self.scopes[0][:5]]
        shown = ", ".join([f'"${{{name}}}"' for name in kept])
        lines = "\n    ".join(start)
        rounds = "\n        ".join(body)
        return f"""
fn work(i: Int) -> Array<String> {{
    {lines}
    let mut lines: Array<String> = [];
    for round in 0..6 {{
        {rounds}
        for line in [{shown}] {{ lines.push(if line.len() > 300 {{ line.substring(0, 300) }} else {{ line }}); }}
    }}
    lines
}}
fn main() {{ for i in 0..4 {{ for line in work(i) {{ emit("line", line); }} }} }}
"""


def program(seed: int) -> str:
    maker = Maker(seed)
    functions = [maker.function(number) for number in range(4)]
    return HEAD + "".join(functions) + maker.work()
