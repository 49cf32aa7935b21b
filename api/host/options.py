"""The options of `run`, `arun` and `Program.session` (O-9.6).

Hands on `Options`, the types of its values, and `host_of`, which makes the runtime's host of them.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from ..runtime import permissions
from ..runtime.session import Host


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits of one call: `steps` of fuel, `seconds` of time, `tokens` and `cost` of requests to models, `depth` of calls. A
    program that reaches one ends in a panic. One that is None is that of the program's manifest (O-9.7); without it a call may be
    10,000 deep, and the others have no limit."""

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "tokens", "depth"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"budget {name} is {value!r}; it is an int of at least 1")
        for name in ("seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not (type(value) in (int, float) and value > 0):
                raise ValueError(f"budget {name} is {value!r}; it is a number above 0")


@dataclass(frozen=True, slots=True)
class Immediate:
    """Emits are delivered when they are made."""


@dataclass(frozen=True, slots=True)
class Buffered:
    """Emits are delivered after the interval, at 1000 entries, at `flush_emits()`, before an awaited emit, and at the end."""

    flush_interval_ms: int

    def __post_init__(self) -> None:
        if type(self.flush_interval_ms) is not int or self.flush_interval_ms < 0:
            raise ValueError(f"flush_interval_ms is {self.flush_interval_ms!r}; it is an int of at least 0")


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a program may touch; nothing unless it is said here. Each is a tuple of scopes, or True for all: `fs_read` and
    `fs_write` paths, `net` hosts (`HOST`, `HOST:PORT`, `*.DOMAIN`), `env` names of variables, `run` commands; `all` grants
    everything. Connections of models need none. `tools` says by tool whether it may be called, or which methods may."""

    fs_read: tuple[str, ...] | bool = ()
    fs_write: tuple[str, ...] | bool = ()
    net: tuple[str, ...] | bool = ()
    env: tuple[str, ...] | bool = ()
    run: tuple[str, ...] | bool = ()
    tools: Mapping[str, bool | Sequence[str]] = field(default_factory=dict)
    all: bool = False

    def __post_init__(self) -> None:
        for name in SCOPES:
            scope = getattr(self, name)
            if not isinstance(scope, bool) and not (isinstance(scope, tuple) and all_texts(scope)):
                raise ValueError(f"permission {name} is {scope!r}; it is a tuple of str, or a bool")
        for name, allowed in self.tools.items():
            if not isinstance(allowed, bool) and (isinstance(allowed, str) or not all_texts(tuple(allowed))):
                raise ValueError(f"permission of tool {name} is {allowed!r}; it is a bool or names of methods")
        self.granted()  # a scope that is written wrongly is a ValueError here

    def granted(self) -> permissions.Permissions:
        """The grants as the runtime holds them."""
        scopes = {name: True if self.all else getattr(self, name) for name in SCOPES}
        made = permissions.Permissions(scopes)
        made.tools = {name: allowed if isinstance(allowed, bool) else tuple(allowed) for name, allowed in self.tools.items()}
        return made


SCOPES = ("fs_read", "fs_write", "net", "env", "run")


def all_texts(values: tuple[Any, ...]) -> bool:
    return all(isinstance(value, str) for value in values)


class Options(TypedDict, total=False):
    """What a session takes from its host.

    `permissions`: what the program may touch, nothing when left out. `budgets`: limits of each call. `offline`: answer every
    model call without network or keys; `offline_script`: the replies then. `connections`: fields of connections by name, over
    those of the source; `api_key` may stand here. `agents`: fields of agents by connector, over those of the manifest; `mcp`:
    those of MCP servers by name. `pricing`: model id to `{"input_per_million", "output_per_million"}`. `env`: the
    environment, that of the process when left out. `seed` fixes random numbers and retry jitter. `emit_mode`: Immediate() or
    Buffered(…). `emit_timeout_ms`: how long an awaited emit waits by default. `stores`: stores of memories by name, over those
    of the manifest (M-8.3), `embedders` those of memories by name, likewise (M-10.16). `summarizers`: by the names that memories
    give them, each with `fold(previous, entries)`, which gives the new text or an awaitable of it (M-9.1). `token_counter`: its
    `count(entry, model)` gives the tokens of an entry (M-11.1). `tier`: "interp" for the interpreter alone, else "both" (V-7.7).
    """

    permissions: Permissions | None
    budgets: Budgets | None
    offline: bool
    offline_script: list[Any] | None
    connections: Mapping[str, Mapping[str, Any]]
    agents: Mapping[str, Mapping[str, Any]]
    mcp: Mapping[str, Mapping[str, Any]]
    pricing: Mapping[str, Mapping[str, float]]
    env: Mapping[str, str] | None
    seed: int | None
    emit_mode: Immediate | Buffered
    emit_timeout_ms: int | None
    stores: Mapping[str, Any]
    embedders: Mapping[str, Any]
    tier: Literal["interp", "both"]
    summarizers: Mapping[str, Any]
    token_counter: Any


class _Network:
    """The network of the system, loaded by the first request."""

    def __getattr__(self, name: str) -> Any:
        from ..runtime.network import SystemNetwork

        return getattr(SystemNetwork(), name)


def host_of(
    options: Options,
    emit: Callable[[str, Any, bool], None],
    answer: Callable[[str, Any, Any], Awaitable[Any]] | None,
    project: str | None,
    hears: Callable[[], bool] = lambda: False,
) -> Host:
    """Raises TypeError for an option that does not exist."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"unknown option {name!r}; options are {', '.join(Options.__annotations__)}")
    environment = options.get("env")
    mode = options.get("emit_mode", Immediate())
    script = options.get("offline_script")
    generator = random.Random(options.get("seed"))
    if script is not None and not isinstance(script, (list, tuple)):
        raise TypeError(f"offline_script is a list of replies, not {type(script).__name__}")
    offline = options.get("offline", False) or script is not None
    return Host(
        emit=emit,
        print=sys.stdout.write,
        env=dict(os.environ) if environment is None else environment,
        now=time.monotonic,
        sleep=asyncio.sleep,
        random=generator.random,
        random_bits=generator.getrandbits,
        permissions=(options.get("permissions") or Permissions()).granted(),
        folder=os.getcwd(),
        project=project,
        network=None if offline else _Network(),
        offline=offline,
        script=script,
        connections=options.get("connections", {}),
        agents=options.get("agents", {}),
        mcp=options.get("mcp", {}),
        pricing=_checked_pricing(options.get("pricing", {})),
        answer=answer,
        emit_timeout_ms=_checked_timeout(options.get("emit_timeout_ms")),
        emit_interval=mode.flush_interval_ms / 1000 if isinstance(mode, Buffered) else None,
        hears=hears,
        stores=options.get("stores", {}),
        embedders=options.get("embedders", {}),
        tier=_checked_tier(options.get("tier", "both")),
        summarizers=options.get("summarizers", {}),
        token_counter=options.get("token_counter"),
    )


PRICES: Sequence[str] = ("input_per_million", "output_per_million")


def _checked_pricing(pricing: Mapping[str, Mapping[str, float]]) -> Mapping[str, Mapping[str, float]]:
    for model, row in pricing.items():
        if set(row) != set(PRICES) or not all(type(row[name]) in (int, float) and row[name] >= 0 for name in PRICES):
            raise ValueError(f"pricing of {model}: expected the numbers {' and '.join(PRICES)}, found {dict(row)!r}")
    return pricing


def _checked_tier(tier: str) -> str:
    if tier not in ("interp", "both"):
        raise ValueError(f"tier is {tier!r}; it is 'interp' or 'both'")
    return tier


def _checked_timeout(timeout: int | None) -> int | None:
    if timeout is not None and (type(timeout) is not int or timeout < 0):
        raise ValueError(f"emit_timeout_ms is {timeout!r}; it is an int of at least 0")
    return timeout
