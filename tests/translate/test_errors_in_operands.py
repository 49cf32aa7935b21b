"""Errors that leave from within an expression, with values of it already on the operand stack: a handler gets the error, above
what it keeps and nothing else, in translated code too (V-7.2, L-5.8)."""

from __future__ import annotations

from random import Random

import pytest

from .tiers import observed

DECLARED = """
enum Odd { Big(Int), Small }
fn a(i: Int) -> Result<Int> { if i % 5 == 1 { throw "a ${i}"; } i }
fn b(i: Int) -> Result<Int, Odd> { if i % 7 == 2 { return Err(Odd::Big(i)); } Ok(i + 1) }
fn c(i: Int) -> Result<Int> { let mut n = 0; for k in 0..i % 4 { n += a(k + i)?; } n }
fn three(x: Int, y: Int, z: Int) -> Int { x * 100 + y * 10 + z }
fn pair(x: Int, y: Int) -> (Int, Int) { (y, x) }
fn text(x: Any) -> String { "<${x}>" }
"""


class Chance(Random):
    """Expressions of Int by chance, of which parts may fail."""

    def number(self, depth: int) -> str:
        if depth == 0:
            return self.choice(["i", "n", "2", "a(i)?", "b(n)?", "c(i)?", "a(i + n)?", "x"])
        inner = [self.number(depth - self.randrange(1, 3) if depth > 1 else 0) for _ in range(3)]
        return self.choice([
            "{0} + {1} * {2}", "({0} - {1}) % 97", "three({0}, {1}, {2})", "[{0}, {1}, {2}].sum()", "[{0}, {1}][{2} % 2]",
            "pair({0}, {1}).0 + {2}", "a({0} + {1} % 3)?", "b(a({0})? + {1})?", '"${{{0}}} ${{{1}}}".len() + {2}',
            "if {0} % 2 == 0 {{ {1} }} else {{ {2} }}", "match {0} % 3 {{ 0 => {1}, _ => {2} }}",
            '({{ "k": {0}, "l": {1} }}).len() + {2}',
            "{0} + a({1}).unwrap_or({2})", "(({0}, {1}).1 + x).max({2} % 9)", "[{0}, {1}].map(|v| v + x).len() + {2}",
        ]).format(*inner)  # fmt: skip

    def statement(self, depth: int) -> str:
        value = self.number(depth)
        kept = self.choice(["total += {};", "let y = {}; total += y;", "xs.push({});", "text(total); total = total + {} % 89;"])
        inside = kept.format(value)
        handler = self.choice(['all.push("${e}");', 'let t = "${e}"; all.push(t);', 'total += "${e}".len();'])
        form = self.choice([
            "try {{ {0} }} catch e {{ {1} }}", "try {{ let x = i; {0} }} catch e {{ {1} }}",
            "for x in 0..2 {{ try {{ {0} }} catch e {{ {1} continue; }} }}",
            "try {{ try {{ {0} }} catch Odd(w) {{ total += 1; }} }} catch e {{ {1} }}",
        ])  # fmt: skip
        return form.format(inside, handler)


@pytest.mark.parametrize("seed", range(40))
def test_handlers_get_the_error_and_nothing_else(seed: int) -> None:
    chance = Chance(20261203 + seed)
    body = "\n        ".join([chance.statement(chance.randrange(1, 4)) for _ in range(3)])
    source = DECLARED + f"""
fn work(i: Int, n: Int) -> (Int, Array<String>, Array<Int>) {{
    let mut total = 0;
    let mut all: Array<String> = [];
    let mut xs: Array<Int> = [];
    let x = 1;
    for k in 0..2 {{
        {body}
    }}
    (total, all, xs)
}}
fn main() {{ for i in 0..36 {{ emit("work", work(i, i * 3 % 11)); }} }}
"""
    expected = observed(source, "interp", counted=False)
    assert expected[0]
    assert observed(source, "both", counted=False)[:2] == expected[:2]
