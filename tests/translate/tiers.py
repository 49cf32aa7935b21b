"""Runs a source on one tier, with all that a host can see of the run."""

from __future__ import annotations

from typing import Any

from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.interp.link import Program, load_image
from concerto.vm.values import to_json


async def no_sleep(seconds: float) -> None:
    """Time does not pass."""


def loaded(source: str) -> Program:
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [found.message for found in compiled.diagnostics.ordered()]
    return load_image(compiled.image)


def host_of(tier: str, emits: list[Any]) -> Host:
    return Host(
        emit=lambda channel, value, by_runtime: emits.append((channel, to_json(value))), print=emits.append, env={},
        now=lambda: 0.0, sleep=no_sleep, random=lambda: 0.5, offline=True, tier=tier,
    )  # fmt: skip


def session_of(
    source: str | Program, tier: str, emits: list[Any], *, counted: bool = True, at_once: bool = True
) -> Session:
    session = Session(loaded(source) if isinstance(source, str) else source, host_of(tier, emits))
    if tier == "both" and at_once:
        session.machine.tiers(True, at_once=True, counted=counted)
    return session


def observed(source: str | Program, tier: str, *, counted: bool = True, **limits: Any) -> tuple[Any, ...]:
    """Emits, the panic with its trace, or the error with its way, and the fuel."""
    emits: list[Any] = []
    outcome = run_offline(session_of(source, tier, emits, counted=counted), **limits)
    panic = outcome.panic and (str(outcome.panic), outcome.panic.position, outcome.panic.trace, repr(outcome.panic.locals))
    error = outcome.error if outcome.error is None else (outcome.message, outcome.trace)
    return emits, panic or error, outcome.fuel
