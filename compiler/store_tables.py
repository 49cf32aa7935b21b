"""`[stores.NAME]`, `[embedders.NAME]` and `[memory]` of a manifest, read and checked (M-2.12, M-8.3, M-10.16).

Hands on `read_stores`, `read_embedders` and `read_memory`. Must not know: declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..vm.bytecode.memory_steps import ON_CONFLICT, ON_FAILURE, REDACTORS, STORE_KINDS
from .manifest_help import example, known
from .memory_tables import EMBEDDERS, MemoryTables, milliseconds

Report = Callable[[str, tuple[str, ...] | None, str, str | None], None]
EMBEDDER_KEYS = ("kind", "connection", "model")
STORE_KEYS = ("kind", "path", "url_env")


def read_stores(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    for name, fields in table.items():
        place = ("stores", name)
        if not isinstance(fields, dict):
            report("E4004", place, f"`{name}` is a table: write [stores.{name}]", None)
            continue
        for key, value in fields.items():
            if key not in STORE_KEYS:
                report("E4001", ("stores", name, key), f"[stores.{name}] has no key `{key}`", known("keys", key, STORE_KEYS))
            elif not isinstance(value, str):
                report("E4004", ("stores", name, key), f"`{key}` of [stores.{name}] is a string", None)
        kind = fields.get("kind")
        if kind not in STORE_KINDS:
            report("E4004", place, f"`kind` of [stores.{name}] is one of {', '.join(STORE_KINDS)}", None)
        elif kind in ("redis", "postgres") and "url_env" not in fields:
            message = f"[stores.{name}] lacks `url_env`, the variable that holds the address"
            report("E4002", place, message, example(("stores", name, "url_env")))
        else:
            tables.stores[name] = {key: fields[key] for key in STORE_KEYS if key in fields}


def read_embedders(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    """`connection` and `model`, or `kind = "host"`."""
    for name, fields in table.items():
        place, where = ("embedders", name), f"[embedders.{name}]"
        if not isinstance(fields, dict):
            report("E4004", place, f"`{name}` is a table: write {where}", None)
            continue
        unknown = [key for key in fields if key not in EMBEDDER_KEYS]
        for key in unknown:
            report("E4001", ("embedders", name, key), f"{where} has no key `{key}`", known("keys", key, EMBEDDER_KEYS))
        if unknown:
            continue
        if name in EMBEDDERS:
            report("E4004", place, f"`{name}` is built in: give yours another name", "write `[embedders.small]`")
        elif fields == {"kind": "host"}:
            tables.embedders[name] = {"kind": "host"}
        elif "kind" in fields:
            message = f'`kind` of {where} is "host" and then stands alone, or is left out'
            report("E4004", place, message, example(("embedders", name, "kind")))
        else:
            _read_embedder(tables, name, fields, report)


def _read_embedder(tables: MemoryTables, name: str, fields: Mapping[str, Any], report: Report) -> None:
    for key in ("connection", "model"):
        if key not in fields:
            report("E4002", ("embedders", name), f"[embedders.{name}] lacks `{key}`", example(("embedders", name, key)))
        elif not (isinstance(fields[key], str) and fields[key]):
            report("E4004", ("embedders", name, key), f"`{key}` of [embedders.{name}] {_no_text(fields[key])}", None)
    held = {key: fields.get(key) for key in ("connection", "model")}
    if all(isinstance(value, str) and value for value in held.values()):
        tables.embedders[name] = {"kind": "connection", **held}


def _no_text(value: object) -> str:
    """What is wrong with a value that had to be a text."""
    return "is empty" if value == "" else "is a string"


def _count(value: object) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None


def _share(value: object) -> Any:
    legal = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if legal else None  # type: ignore[arg-type]


def _word(words: tuple[str, ...]) -> Callable[[object], Any]:
    return lambda value: value if value in words else None


# Per step with a scalar argument: its name in the image, what reads it, what it takes.
DEFAULTS: dict[str, tuple[str, Callable[[object], Any], str]] = {
    **{name: (name, _count, "an integer of at least 1") for name in ("retain", "window", "tokens", "clip", "weight")},
    "prune": ("prune", _share, "a number from 0 to 1"),
    "tools": ("tools", lambda value: value if value is True else None, "true"),
    "redact": ("redact", lambda value: [value] if value in REDACTORS else None, "one of " + ", ".join(REDACTORS)),
    "on_failure": ("on_failure", _word(ON_FAILURE), "one of " + ", ".join(ON_FAILURE)),
    "on_conflict": ("on_conflict", _word(ON_CONFLICT), "one of " + ", ".join(ON_CONFLICT)),
    "store": ("store", lambda value: value if isinstance(value, str) else None, "the name of a store"),
    "embed": ("embed", lambda value: value if isinstance(value, str) else None, "the name of an embedder"),
    "ttl": ("ttl", milliseconds, "a duration"),
}


def read_memory(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    for key, value in table.items():
        if key == "namespace" and isinstance(value, str) and value:
            tables.namespace = value
        elif key == "namespace":
            report("E4004", ("memory", key), f"`namespace` of [memory] {_no_text(value)}", None)
        elif key != "defaults":
            report("E4001", ("memory", key), f"[memory] has no key `{key}`", known("keys", key, ("namespace", "defaults")))
        elif not isinstance(value, dict):
            report("E4004", ("memory", key), "`defaults` is a table: write [memory.defaults]", None)
        else:
            _read_defaults(tables, value, report)


def _read_defaults(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    for step, given in table.items():
        place = ("memory", step)
        if step not in DEFAULTS:
            message = f"[memory.defaults] has no step `{step}` with one plain argument"
            report("E4502", place, message, known("steps", step, [*DEFAULTS]))
            continue
        name, read, takes = DEFAULTS[step]
        held = read(given)
        if held is None:
            report("E4004", place, f"`{step}` of [memory.defaults] is {takes}", None)
        else:
            tables.defaults[step] = {name: held}
