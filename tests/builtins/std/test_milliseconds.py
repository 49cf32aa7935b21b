"""A Float where milliseconds are counted: the help says how many, since a cast would make 0 of half a second."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source


@pytest.mark.parametrize(
    ("call", "help"),
    [
        ("std::time::sleep(0.5)", "it counts milliseconds: `500`"),
        ("std::time::sleep(1.25)", "it counts milliseconds: `1250`"),
        ("let pause = 0.5; std::time::sleep(pause)", "it counts milliseconds: `(pause * 1000.0).round()`"),
        ("let a = 0.5; let b = 0.07; std::time::sleep(a + b)", "it counts milliseconds: `((a + b) * 1000.0).round()`"),
        ("std::time::sleep(0.57)", "it counts milliseconds: `570`"),
        ("std::time::sleep(0.0005)", "it counts milliseconds: `(0.0005 * 1000.0).round()`"),
        ("std::time::sleep(1e300)", "it counts milliseconds: `(1e300 * 1000.0).round()`"),
        ("let n: Int = 0.5; std::time::sleep(n)", "cast it: `as Int` drops the fraction, `.round()` rounds"),
    ],
)
def test_help(call: str, help: str) -> None:
    result = compile_source(f"fn main() {{ {call}; }}".encode(), "main.conc")
    (found,) = [d for d in result.diagnostics.ordered() if d.is_error]
    assert found.help == help
