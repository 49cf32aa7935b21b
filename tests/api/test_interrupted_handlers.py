"""A handler that ends in KeyboardInterrupt or SystemExit: it comes out of the call, and the session goes on (G-6.12)."""

from __future__ import annotations

import asyncio
from typing import Any

import concerto
import pytest

PROGRAM = concerto.compile("""
pub async fn asks() -> Any { await emit("ask", 1) }
pub fn emits() { emit("heard", 1); }
pub fn plain() -> Int { 7 }
""")
INTERRUPTS = [KeyboardInterrupt, SystemExit, GeneratorExit]


def interrupting(session: concerto.Session, kind: type[BaseException]) -> None:
    def raising(payload: Any) -> Any:
        raise kind

    session.on_emit("ask", raising)
    session.on("heard", raising)


@pytest.mark.parametrize("kind", INTERRUPTS)
@pytest.mark.parametrize("function", ["asks", "emits"])
def test_a_session_is_usable_afterwards(kind: type[BaseException], function: str) -> None:
    with PROGRAM.session() as session:
        interrupting(session, kind)
        for _ in range(3):
            with pytest.raises(kind):
                session.call(function)
            assert session.call("plain") == 7


@pytest.mark.parametrize("function", ["asks", "emits"])
def test_within_an_event_loop_of_the_host(function: str) -> None:
    session = PROGRAM.session()
    interrupting(session, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(session.acall(function))
    assert asyncio.run(session.acall("plain")) == 7
