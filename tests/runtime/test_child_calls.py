"""Functions of the program that performers run (`Session.call`): what comes back when such a function has no value."""

from __future__ import annotations

import asyncio
from typing import Any

import concerto
import pytest
from concerto.cli.run import run_session
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import Cancelled, OfflineLoop
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_image

SOURCE = """
fn late(all: Array<Message>) -> Array<Message> { [all[0]] }
memory log: Memory = Memory::new().view(with: late);
model M { provider: openai, base: "m", memory: log }
fn main() { M.execute("p")?; }
"""


@pytest.mark.parametrize("loop", ("offline", "asyncio"))
def test_a_panic_that_ends_the_run_gives_no_value_to_the_caller(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller went on with None in place of what the function gives, after the run had ended."""
    came: list[Any] = []
    call = Session.call

    async def listening(self: Session, *given: Any, **options: Any) -> Any:
        try:
            value = await call(self, *given, **options)
        except BaseException as failure:
            came.append(type(failure))
            raise
        came.append(value)
        return value

    monkeypatch.setattr(Session, "call", listening)
    if loop == "asyncio":

        async def run() -> Any:
            async with concerto.compile(SOURCE).session(offline=True) as session:
                return (await session.arun()).error

        panic = asyncio.run(run())
        assert came == [asyncio.CancelledError]
    else:
        compiled = compile_source(SOURCE.encode(), "late.conc")
        assert compiled.image is not None
        clock = OfflineLoop(0.0)
        host = Host(
            emit=lambda *_: None, print=print, env={}, now=clock.time, sleep=clock.sleep, random=lambda: 0.0, loop=clock,  # type: ignore[arg-type]
            offline=True,
        )  # fmt: skip
        panic = run_session(Session(load_image(compiled.image), host)).panic
        assert came == [Cancelled]
    assert panic is not None and panic.code == "P004"
