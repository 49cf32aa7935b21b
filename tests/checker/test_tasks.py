"""Tasks: where `await` may stand, what cannot leave a task, what is copied, the types of the forms (L-9, O-6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

R = 'fn r(n: Int) -> Result<Int, Error> { if n > 0 { throw Error::new("x"); } Ok(n) } '

CASES = [
    ("", "fn f() -> Int { await 1 } fn main() { f(); }"),
    ("", "fn f() -> Int { let g = || (1, 2).await.0; g() } fn main() { f(); }"),
    ("", "async fn f() -> Int { let g = || await 1; g() } fn main() { f(); }"),
    ("", "fn f() -> Int { let g = async { await 1 }; g + race(await 1, 2) } fn main() { f(); }"),
    ("E2045", "let t = spawn «len; print(t);"),
    ("E2045", R + "fn main() { let t = spawn «r(1)?; print(t); }"),
    ("E4050", "let xs = parallel for x in [1] { «return x; }; print(xs);"),
    ("E4050", "loop { let t = race({ «break; }, 1); print(t); }"),
    ("E4050", "'a: loop { let t = await ({ «continue 'a; }, 1); print(t); }"),
    ("E3009", "let t = race({ «break; }, 1); print(t);"),
    ("E3009", "loop { let t = async { «break; }; print(t); }"),
    ("", "let xs = parallel for x in [1] { let f = |n: Int| { return n; }; while x > 5 { break; } f(x) }; print(xs);"),
    ("W0404", "let mut n = 1; let t = race({ «n += 1; n }, 2); print(t);"),
    ("W0404", "let mut n = [1]; let t = spawn async { «n.push(2); n }; print(t);"),
    ("", "let mut n = 1; let t = async { n += 1; n }; print(t, n);"),
    ("", "let t = race({ let mut n = 1; n += 1; n }, 2); print(t);"),
    ("E2021", 'let t = race(1, «"a"); print(t);'),
    ("E2006", "let t = «race(); print(t);"),
    ("E2007", "let t = race(«a: 1); print(t);"),
    ("E2009", 'let xs = parallel for x in [1] limit «"2" { x }; print(xs);'),
    ("E2001", R + "fn main() { let xs: Array<Int> = «parallel for x in [1] { r(x)? + 1 }; print(xs); }"),
    ("", R + "fn main() { let xs: Array<Result<Int, Error>> = parallel for x in [1] { r(x)? + 1 }; print(xs); }"),
    ("", R + "fn main() { let t: Task<Result<Int, Error>> = spawn r(1); let n: Bool = t.cancel() || t.done(); print(n); }"),
    ("E2001", R + "fn main() { let (a, _): (Int, Int) = «await (r(1), 2); print(a); }"),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_tasks(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)
