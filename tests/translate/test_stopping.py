"""A host stops a run in translated code: at the head of a loop, and in functions that call themselves (V-6.7)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.runtime.session.session import run_offline

from .tiers import session_of

FOREVER = {
    "while": "fn f() -> Int { let mut x = 0; while true { x = mark(x); } x }",
    "while around": "fn f() -> Int { let mut x = 0; while true { while x > 0 { while x > 1 { x = 0; } } x = mark(x); } x }",
    "for": "fn f() -> Int { let mut x = 0; for i in 0..9000000000 { x = mark(x); } x }",
    "calls": "fn f() -> Int { twice(60) } fn twice(n: Int) -> Int { if n == 0 { mark(0) } else { twice(n - 1) + twice(n - 1) } }",
}
MARK = "fn mark(x: Int) -> Int { if (x, 0) == (0, x) { x } else { 0 } }"


@pytest.mark.parametrize("name", sorted(FOREVER))
@pytest.mark.parametrize("counted", [True, False])
def test_what_never_ends_is_stopped(name: str, counted: bool) -> None:
    source = f"{FOREVER[name]}\n{MARK}\nfn main() {{ emit(\"never\", f()); }}"
    session = session_of(source, "both", [], counted=counted)
    calls = 0

    def equal(a: Any, b: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 100:
            session.expire(1)
        return bool(a == b)

    session.machine._tier().globals["op_EQ"] = equal
    outcome = run_offline(session)
    assert outcome.panic is not None and outcome.panic.code == "P102"
    assert 100 <= calls < 5_000


def test_the_flag_of_a_machine_reaches_its_translated_code() -> None:
    machine = session_of("fn main() {}", "both", []).machine
    names = machine._tier().globals
    machine.stop = ValueError("stop")
    assert names["S"] is True
    machine.stop = None
    assert names["S"] is False
