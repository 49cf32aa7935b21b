"""A Concerto program as benches run it: compiled, encoded and loaded once, then run in a fresh session each time.

Hands on `Concerto`. Must not know: twins, clocks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.encoding import encode
from concerto.vm.interp.link import load_bytes
from concerto.vm.values import to_json

Emits = list[tuple[str, Any]]


class Failed(Exception):
    """A bench program does not compile or does not run to its end."""


class WrongOutput(Failed):
    """The work gave something else than it should: its time means nothing."""


def require(found: object, expected: object) -> None:
    """Before any time counts: the work does what it is measured for."""
    if found != expected:
        raise WrongOutput(f"gave {found!r}, expected {expected!r}")


def compiled(source: str, file: str = "bench.conc") -> Any:
    """The image of a source; Failed shows the diagnostics of one with errors."""
    result = compile_source(source.encode(), file)
    if result.image is None:
        raise Failed("\n".join(f"{file}: {found.code} {found.message}" for found in result.diagnostics.ordered()))
    return result.image


class Concerto:
    """`provider`, when given, makes the provider of a connection; the offline one answers otherwise. `tier`: as of a session."""

    def __init__(
        self, source: str, file: str = "bench.conc", provider: Callable[[str], Any] | None = None, tier: str = "both"
    ) -> None:
        self.program = load_bytes(encode(compiled(source, file)))
        self.provider = provider
        self.tier = tier

    def run(self) -> Emits:
        """Run main; its emits as values of the machine."""
        emits: Emits = []
        session = Session(self.program, self.host(emits))
        outcome = run_offline(session)
        if outcome.exit_code:
            raise Failed(str(outcome.panic or outcome.error))
        return emits

    def output(self) -> list[str]:
        """Run main; one line of JSON an emit, as a twin's are written."""
        return [f"{channel} {json.dumps(json.loads(to_json(value)))}" for channel, value in self.run()]

    def host(self, emits: Emits) -> Host:
        def emit(channel: str, value: Any, by_runtime: bool) -> None:
            if not by_runtime:  # what a tool call tells of itself is no output of the program
                emits.append((channel, value))

        return Host(
            emit=emit,
            print=lambda text: None,
            env={},
            now=time.monotonic,
            sleep=_no_sleep,
            random=lambda: 0.0,
            offline=True,
            provider=self.provider,
            tier=self.tier,
            is_audited=False,  # as `concerto run`, which shows emits of the runtime with --verbose alone
        )


async def _no_sleep(seconds: float) -> None:
    """Benches measure work, not waiting."""


def finished(coroutine: Any) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise Failed("the run waits for the world")
