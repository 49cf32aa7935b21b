"""Tables of the manifest that are whole only with what the program declares: connections and embedders (O-1.2, M-10.16).

Hands on `check_tables`, whose reports stand at lines of the manifest. Must not know: the file, how one table is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..symbols import ConnectionSymbol, MemorySymbol, Symbol
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
