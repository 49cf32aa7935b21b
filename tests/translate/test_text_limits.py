"""The limit on the size of a String holds in translated code as in the interpreter (G-6.1), whatever a text is made of."""

from __future__ import annotations

import concerto
import pytest

SOURCE = f"""
const A: String = "{'x' * 600}";
pub fn made(of: Int) -> Int {{
    let mut n = 0;
    for i in 0..2000 {{ n += "${{i}}${{of}}".len(); }}
    for i in 0..2000 {{ n += "${{A}}${{A}}${{i}}".len(); }}
    n
}}
fn main() {{ }}
"""


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_constants_count(tier: str) -> None:
    program = concerto.compile(SOURCE)
    too_small = concerto.Budgets(value_bytes=1000)
    limited = pytest.raises(concerto.Panic, match="string size limit exceeded")
    with program.session(budgets=too_small, tier=tier) as session, limited:
        session.call("made", 1)
    with program.session(budgets=concerto.Budgets(value_bytes=2000), tier=tier) as session:
        assert session.call("made", 1) > 2_400_000
