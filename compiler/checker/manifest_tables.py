"""Tables of the manifest that are whole only with what the program declares: connections, embedders and default steps (O-1.2,
M-10.16, M-9.24).

Hands on `check_tables`, whose reports stand at lines of the manifest, and `with_models`. Must not know: the file, how one table
is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..resolver.spelling import did_you_mean, listed
from ..symbols import ConnectionSymbol, MemorySymbol, ModelSymbol, Symbol
from .context import Checker
from .fields import PREDECLARED, PROVIDERS, TAKERS
from .orchestration import connection_help

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..manifest import Manifest


BASE_URL = 'write `base_url = "https://api.example.com/v1"`'


def check_tables(c: Checker, manifest: Manifest, symbols: Sequence[Symbol], main: str) -> None:
    """When the memories and connections of the program are checked."""
    declared = {symbol.name: symbol.fields for symbol in symbols if isinstance(symbol, ConnectionSymbol)}
    sound = not manifest.diagnostics.has_errors  # a field with an error is not among the fields
    for name, fields in manifest.connections.items():
        _check_connection(manifest, name, fields, declared.get(name), sound)
    # Another file of the project than the entry need not hold what the entry declares, but for what it uses.
    is_entry = manifest.entry is None or manifest.entry.rpartition("/")[2] == main
    steps = [symbol.steps for symbol in symbols if isinstance(symbol, MemorySymbol) and symbol.steps]
    used = [held["embed"]["embed"].get("name") for held in steps if isinstance(held.get("embed", {}).get("embed"), dict)]
    for name, fields in manifest.memory_tables.embedders.items():
        if is_entry or name in used:
            _check_embedder(c, manifest, name, fields.get("connection"), declared)
    summarises = c.memory_defaults.get("summary", {}).get("summary", {}).get("model")
    if isinstance(summarises, str) and (is_entry or any(_model_of(held) == summarises for held in steps)):
        models = [symbol.name for symbol in symbols if isinstance(symbol, ModelSymbol)]
        help = did_you_mean(summarises, models) or listed("models", models) or f"declare `model {summarises} {{ … }}`"
        message = f"`summary` of [memory.defaults]: the program has no model `{summarises}`"
        manifest.report("E4508", ("memory", "summary"), message, help)


def _model_of(steps: Mapping[str, Mapping[str, Any]]) -> object:
    """Of a summary; a text where no model has that name."""
    held = steps.get("summary", {}).get("summary")
    return held.get("model") if isinstance(held, dict) else None


def with_models(defaults: Mapping[str, dict[str, Any]], symbols: Sequence[Symbol]) -> dict[str, dict[str, Any]]:
    """The default steps with the model that summarises, if the program has it (M-9.24)."""
    summary = defaults.get("summary", {}).get("summary", {})
    named = [symbol for symbol in symbols if isinstance(symbol, ModelSymbol) and symbol.name == summary.get("model")]
    if not named:
        return dict(defaults)
    return {**defaults, "summary": {"summary": {**summary, "model": named[0]}}}


def _check_connection(
    manifest: Manifest, name: str, fields: Mapping[str, object], declared: Mapping[str, object] | None, sound: bool
) -> None:
    """What a declaration of that name lacks is said at the declaration."""
    where, place = f"[connections.{name}]", ("connections", name)
    known = {**PREDECLARED.get(name, {}), **(declared or {}), **fields}
    provider = known.get("provider")
    judged = sound and declared is None
    if provider is None and judged:
        help = f'write `provider = "openai"`; providers are {", ".join(PROVIDERS)}'
        manifest.report("E4002", place, f"{where} lacks `provider`, and no `connect {name}` gives it", help)
    elif provider == "custom" and not known.get("base_url") and judged:
        manifest.report("E4002", place, f"{where} lacks `base_url`, which a custom provider needs", BASE_URL)
    for field in fields:
        if isinstance(provider, str) and provider not in TAKERS.get(field, (provider,)):
            message = f"`{field}` of {where} is not carried by provider `{provider}`"
            manifest.report("E4006", (*place, field), message, "remove it")


def _check_embedder(
    c: Checker, manifest: Manifest, name: str, connection: object, declared: Mapping[str, object]
) -> None:
    if isinstance(connection, str) and connection not in (*PREDECLARED, *declared, *manifest.connections):
        place = ("embedders", name, "connection")
        manifest.report("E4003", place, f"unknown connection `{connection}`", connection_help(c, connection))
