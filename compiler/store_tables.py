"""`[stores.NAME]`, `[embedders.NAME]` and `[memory]` of a manifest, read and checked (M-2.12, M-8.3, M-10.16).

Hands on `read_stores`, `read_embedders` and `read_memory`. Must not know: declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..vm.bytecode.memory_steps import (
    FROM,
    HOLE,
    INJECT,
    ON_CONFLICT,
    ON_FAILURE,
    REDACTORS,
    ROLES,
    STORE_KINDS,
    SUMMARY_ROLES,
)
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


def _roles(value: object) -> Any:
    legal = isinstance(value, list) and value and all(role in ROLES for role in value)
    return value if legal else None


# Per step with a plain argument: its name in the image, what reads it, what it takes.
DEFAULTS: dict[str, tuple[str, Callable[[object], Any], str]] = {
    **{name: (name, _count, "an integer of at least 1") for name in ("retain", "window", "tokens", "clip", "weight")},
    "roles": ("roles", _roles, "an array of " + ", ".join(ROLES)),
    "prune": ("prune", _share, "a number from 0 to 1"),
    "tools": ("tools", lambda value: value if value is True else None, "true"),
    "redact": ("redact", lambda value: [value] if value in REDACTORS else None, "one of " + ", ".join(REDACTORS)),
    "on_failure": ("on_failure", _word(ON_FAILURE), "one of " + ", ".join(ON_FAILURE)),
    "on_conflict": ("on_conflict", _word(ON_CONFLICT), "one of " + ", ".join(ON_CONFLICT)),
    "store": ("store", lambda value: value if isinstance(value, str) else None, "the name of a store"),
    "embed": ("embed", lambda value: value if isinstance(value, str) else None, "the name of an embedder"),
    "ttl": ("ttl", milliseconds, "a duration"),
}


def _every(value: object) -> Any:
    """The field of the image it is, or nothing where it is the default."""
    if value == "Evict":
        return {}
    count, ms = _count(value), milliseconds(value) if isinstance(value, str) else None
    return {"every_turns": count} if count is not None else {"every_ms": ms} if ms is not None else None


def _field(name: str, read: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda value: None if (held := read(value)) is None else {name: held}


def _text(value: object) -> Any:
    return value if isinstance(value, str) and value else None


# Per key of `summary` what reads it, and what it takes.
SUMMARY: dict[str, tuple[Callable[[object], Any], str]] = {
    "by": (_field("host", _text), "the name of a summariser of the host"),
    "model": (_field("model", _text), "the name of a model of the program"),
    "every": (_every, 'a number of turns, a duration or "Evict"'),
    "from": (lambda value: {} if value == FROM[0] else _field("from", _word(FROM[1:]))(value), "one of " + ", ".join(FROM)),
    "inject": (_field("inject", _word(INJECT)), "one of " + ", ".join(INJECT)),
    "role": (_field("role", _word(SUMMARY_ROLES)), "one of " + ", ".join(SUMMARY_ROLES)),
    "max_tokens": (_field("max_tokens", _count), "an integer of at least 1"),
    "prompt": (_field("prompt", _text), "a string"),
    "text": (
        _field("text", lambda value: value if isinstance(value, str) and value.count(HOLE) == 1 else None),
        f"a string with one `{HOLE}`, where the summary stands",
    ),
}


def _read_summary(given: object, report: Report) -> dict[str, Any] | None:
    """As the image holds it, a model by its name; None after a report."""
    place = ("memory", "summary")
    if not isinstance(given, dict):
        report("E4004", place, "`summary` of [memory.defaults] is a table", None)
        return None
    held: dict[str, Any] = {}
    legal = True
    for key, value in given.items():
        read, takes = SUMMARY.get(key, (None, ""))
        if read is None:
            message = f"`summary` of [memory.defaults] has no key `{key}`"
            report("E4502", place, message, known("keys", key, [*SUMMARY]))
        elif (found := read(value)) is None:
            report("E4004", place, f"`{key}` in `summary` of [memory.defaults] is {takes}", None)
        else:
            held |= found
            continue
        legal = False
    if ("by" in given) == ("model" in given):
        message = "`summary` of [memory.defaults] names who summarises: one of `by`, of the host, and `model`, of the program"
        report("E4514", place, message, None)
        return None
    return held if legal else None


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
        if step == "summary":
            held = _read_summary(given, report)
            if held is not None:
                tables.defaults[step] = {step: held}
            continue
        if step not in DEFAULTS:
            message = f"[memory.defaults] has no step `{step}` with one plain argument"
            report("E4502", place, message, known("steps", step, [*DEFAULTS, "summary"]))
            continue
        name, read, takes = DEFAULTS[step]
        held = read(given)
        if held is None:
            report("E4004", place, f"`{step}` of [memory.defaults] is {takes}", None)
        else:
            tables.defaults[step] = {name: held}
