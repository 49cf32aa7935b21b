"""Programs by chance about what translated code keeps in variables: lists of arrays, their elements, bounds of Ints.

Hands on `program`. They copy arrays and structs, write into one of the copies, index out of range and overflow now and then.
"""

from __future__ import annotations

import random

HEAD = """
struct P { x: Int, y: Int, t: String }
struct Q { p: P, list: Array<Int> }
fn changed(a: Array<Int>, i: Int) -> Array<Int> { let mut b = a; b[i] += 100; b.push(i); b }
fn moved(ps: Array<P>, i: Int) -> Array<P> { let mut q = ps; q[i].x += 1; q[i].y -= q[i].x; q }
fn total(ps: Array<P>) -> Int { let mut s = 0; for p in ps { s += p.x * 3 + p.y; } s }
"""
START = """
    let mut a: Array<Int> = [3, 1, 4, 1, 5, 9];
    let mut b = a;
    let mut c: Array<Int> = [];
    let mut ps: Array<P> = [];
    for n in 0..5 { ps.push(P { x: n, y: 2 * n, t: "t${n}" }); }
    let mut qs = ps;
    let mut rows: Array<Array<Int>> = [a, b, [7, 8, 9, 10]];
    let mut nest = [Q { p: ps[0], list: a }, Q { p: ps[1], list: b }];
    let mut m: Map<String, Int> = {};
    let mut flags: Array<Bool> = [];
    for n in 0..6 { flags.push(n % 2 == 0); }
    let words = "to be or not to be".split(" ");
    let text = "the 12 quick 345 brown foxes";
    let mut i = 0;
    let mut j = 1;
    let mut k = 2;
    let mut u = 0;
    let mut big = 4611686018427387904;
    let mut p = ps[2];
"""
END = """
    ["${a}", "${b}", "${c}", "${ps}", "${qs}", "${rows}", "${nest}", "${m}", "${flags}", "${p}", "${[i, j, k, u, big]}"]
}
fn main() { for line in work() { emit("line", line); } }
"""


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        rarely = self.random.random() < 0.01
        usual = ("i", "j", "i", "j", "k", "0", "1", "3", "n % 4", "(i + j) % 4")
        return self.one("9", "i - 3", "u") if rarely else self.one(*usual)

    def array(self) -> str:
        return self.one("a", "b", "a", "b", "rows[0]", "rows[i % 3]", "rows[n % 3]", "nest[i % 2].list")

    def people(self) -> str:
        return self.one("ps", "ps", "qs")

    def value(self, deep: int = 2) -> str:
        if deep == 0:
            return self.one("i", "j", "k", "n", "1", "7", "u", "a.len()", "c.len()")
        inner = lambda: self.value(deep - 1)  # noqa: E731
        return self.one(
            inner(), inner(),
            f"{self.array()}[{self.index()}]", f"{self.people()}[{self.index()}].{self.one('x', 'y')}", "nest[i % 2].p.x",
            f"({inner()} + {inner()})", f"({inner()} - {inner()})", f"({inner()} * {self.one('2', '3', inner())})",
            f"({inner()} % 7)", f"({inner()} / 3)", f"(m.get({self.key()}) ?? {inner()})", "p.x",
            f"({self.one('text', 'words[i % 6]')}.index_of(\"{self.one('o', 'q', 'z')}\") ?? 0)",
            f"words[{self.one('i % 6', 'j % 6')}].len()", "text.chars()[i % 9].parse_int().unwrap_or(5)",
            f"({self.array()}.get({self.index()}) ?? 4)", f"{self.array()}.first().unwrap_or(3)",
        )  # fmt: skip

    def key(self) -> str:
        return self.one('words[i % 6]', '"k${j % 3}"', 'words[n % 6].to_upper()', 'text.substring(0, j % 5)')

    def condition(self) -> str:
        inner = f"{self.value(1)} {self.one('<', '<=', '>', '>=', '==', '!=')} {self.value(1)}"
        return self.one(
            inner, inner, f"{inner} && flags[i % 6]", f"flags[n % 6] || {inner}", f"i < a.len() && a[i] > {self.value(0)}",
            f"!({inner})", f"m.has({self.key()})", "words[i % 6] == words[j % 6]", "words[i % 6] < \"o\" && j >= 0",
        )  # fmt: skip

    def statement(self, deep: int) -> list[str]:
        kind = self.random.randrange(30)
        if kind < 5:
            return [self.one(f"{self.one('i', 'j', 'k')} = (({self.value()}) % 4 + 4) % 4;", f"u = ({self.value()}) % 50;")]
        if kind < 8:
            return [self.one("i = (i + 1) % 4;", "j = (j + 1) % 4;", "if k < 3 { k += 1; } else { k = 0; }", "u += 1;")]
        if kind < 12:
            return [f"{self.array()}[{self.index()}] {self.one('=', '+=', '-=')} {self.value(1)};"]
        if kind < 17:
            return [f"{self.people()}[{self.index()}].{self.one('x', 'y')} {self.one('=', '+=')} {self.value(1)} % 1000;"]
        if kind < 20:
            return [self.one(
                "u += a[i]; a[j] = u % 30; u += a[i];", "u += b[i]; c.push(b[j]); b[j] += 1; u += b[i] % 7;",
                "qs = ps; u += ps[i].x; ps[j].x += 7; u += ps[i].x; ps[i].y = u % 9; u += ps[j].y + qs[j].x;",
                "ps[i].x += 1; let s = ps[j]; ps[i].x += 2; ps[j].y += 3; u += s.x + s.y;",
                "qs[j].x += 1; let s = qs; qs[j].x += 2; u += s[j].x; qs[i] = qs[j]; qs[j].x += 1; u += qs[i].x;",
                "u += m.get(words[i]) ?? 1; m[words[j]] = u % 8; u += m.get(words[i]) ?? 2;",
                "let r = rows[k % 3]; rows[k % 3][i] += 1; u += r[i]; rows[0][j] = u % 20; u += rows[k % 3][j];",
            )]  # fmt: skip
        if kind < 24:
            return [self.one(
                "b = a;", "a = b;", "qs = ps;", "c.push(i);", "c.push(a[i]);", "rows[i % 3] = a;", "a = rows[j % 3];",
                "p = ps[i];", "ps[j] = p;", "p.x += 1;", "a = changed(a, j);", "qs = moved(ps, i);",
                "ps = moved(ps, 1);", "u += total(ps) % 9;",
                "flags[i % 6] = j > k;", f"m[{self.key()}] = j;", f"m[{self.key()}] = (m.get({self.key()}) ?? 0) + 1;",
                f"m.set({self.key()}, u);", "if !c.is_empty() { u = c.pop().unwrap() % 40; }", "nest[0] = nest[1];",
                "nest[i % 2].p = ps[1];",
                "nest[i % 2].p.x += 5;", "nest[1].list[1] += 1;", "for x in a { u += x % 5; }", "for q in ps { u += q.x % 3; }",
                "big += k % 3;", "for x in words { u += x.len(); }",
                "let saved = ps[i]; ps[i].x = 77; u += saved.x % 10;",
                "let old = a; a[0] += 1; u += old[0] % 10;", "ps[i].t = ps[j].t + \"!\";",
            )]  # fmt: skip
        if deep == 0:
            return ["u += 1;"]
        body = self.block(deep - 1)
        if kind < 27:
            return [f"if {self.condition()} {{", *body, *(["} else {", *self.block(deep - 1)] if kind == 26 else []), "}"]
        self.loops += 1
        if kind == 27:
            return [f"for n in {self.one('0', 'i % 3', '1')}..{self.one('5', 'a.len()', 'j % 6', '4')} {{", *body, "}"]
        name = f"w{self.loops}"
        leave = [f"if {self.condition()} {{ {self.one('break', 'continue')}; }}"] if kind == 28 else []
        return [f"let mut {name} = 0;", f"while {name} < {self.one('4', '6', 'a.len()')} {{", f"{name} += 1;", *leave, *body, "}"]

    def block(self, deep: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 5)) for line in self.statement(deep)]


def program(seed: int) -> str:
    maker = Maker(seed)
    body = [line for _ in range(4) for line in maker.block(3)]
    loop = [f"for n in 0..{maker.one('3', '6')} {{", *body, "}"]
    return HEAD + "fn work() -> Array<String> {" + START + "    let n = 1;\n    " + "\n    ".join([*body, *loop]) + END
