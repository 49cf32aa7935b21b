"""What a run gives back (O-9.6).

Hands on `RunResult`, `Emit` and `Metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import Frame, Panic
from .values import ErrorValue


@dataclass(frozen=True, slots=True)
class Emit:
    """One emit of the program."""

    channel: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Metrics:
    """The counters of a session so far (O-1.132)."""

    total_tokens: int
    tokens_by_model: dict[str, int]
    tokens_by_connection: dict[str, int]
    estimated_cost: float
    unpriced_calls: int
    execution_time_ms: int
    model_calls: int
    retries: int
    schema_retries: int
    cache_hits: int
    tool_calls: int
    agent_calls: int
    emit_count: int
    errors: int
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_cache_write: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    tokens_estimated: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run of `main` ended. `value`: what it gave, that of `Ok(value)` too. `error`: the error of an Err, or the panic; an
    Err of anything that is no error is an ErrorValue whose kind is its type. `trace`: where the error was made and what it
    passed, or the frames of the panic. `exit_code`: as the command line has it."""

    ok: bool
    value: Any
    error: ErrorValue | Panic | None
    exit_code: int
    emits: list[Emit]
    metrics: Metrics
    trace: tuple[Frame, ...] = ()
