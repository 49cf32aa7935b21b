"""What reads the replies: ours, and what others offer, each with the schema of the row; those that know none are given ours.

Hands on the value, or REFUSED. A library that is not installed has no reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from concerto.runtime.records import Reply
from concerto.runtime.schema.acceptance import Verdict, judge
from concerto.runtime.schema.validation import Accepted, validate

from .corpus import Row, schemas

REFUSED = object()
Reader = Callable[[Row], Any]


def ours(row: Row) -> Any:
    """As a call judges its reply."""
    judging = judge(schemas()[row.schema], Reply(row.reply), None)
    try:
        judging.send(None)
    except StopIteration as end:
        return plain(end.value.tree) if isinstance(end.value, Verdict) else REFUSED
    raise AssertionError("judging waits for validators only")


def json_repair() -> Reader:
    from json_repair import loads

    return lambda row: checked(row, loads(row.reply))


def jiter() -> Reader:
    from jiter import from_json

    def read(row: Row) -> Any:
        try:
            return checked(row, from_json(row.reply.encode(), partial_mode=True))
        except ValueError:
            return REFUSED

    return read


def pydantic() -> Reader:
    from pydantic import ValidationError

    def read(row: Row) -> Any:
        try:
            return model(row.schema).model_validate_json(row.reply).model_dump(mode="json")
        except ValidationError:
            return REFUSED

    return read


OTHERS: dict[str, tuple[str, Callable[[], Reader]]] = {
    "json_repair": ("json_repair", json_repair),
    "jiter, partial": ("jiter", jiter),
    "pydantic": ("pydantic", pydantic),
}


def readers() -> tuple[dict[str, Reader], list[str]]:
    """By name and version, and what is not installed."""
    found: dict[str, Reader] = {"Concerto": ours}
    missing = []
    for name, (package, reader) in OTHERS.items():
        try:
            found[f"{name} {version(package)}"] = reader()
        except (ImportError, PackageNotFoundError):
            missing.append(name)
    return found, missing


# ---------------------------------------------------------------- schemas for those that have none


def checked(row: Row, value: Any) -> Any:
    """A value as the schema takes it."""
    outcome = validate(schemas()[row.schema].shape, value)
    return plain(outcome.tree) if isinstance(outcome, Accepted) else REFUSED


def plain(tree: Any) -> Any:
    """A tree of validation.py as JSON data, absent fields as null."""
    if not isinstance(tree, tuple):
        return tree
    match tree:
        case ("object", _, fields) | ("map", fields):
            return {name: plain(node) for name, node in fields}
        case ("array", nodes):
            return [plain(node) for node in nodes]
        case ("enum", _, variant):
            return variant
        case ("some", node):
            return plain(node)
        case ("any", value):
            return value
    return None


@cache
def model(name: str) -> Any:
    """The schema as a class of pydantic."""
    from pydantic import create_model

    made: dict[str, Any] = {}

    def of(kind: Any) -> Any:
        match kind:
            case ["string"] | ["int"] | ["float"] | ["bool"]:
                return {"string": str, "int": int, "float": float, "bool": bool}[kind[0]]
            case ["array", item]:
                return list[of(item)]  # type: ignore[misc]
            case ["map", item]:
                return dict[str, of(item)]  # type: ignore[misc]
            case ["enum", members, None] | ["enum", members]:
                return Literal[tuple(members)]
            case ["enum", members, title]:
                return Enum(title, {member: member for member in members})
            case ["ref", other]:
                return other
            case ["object", title, _, fields]:
                shape = {f[0]: (of(f[1]) | None, None) if f[2] else (of(f[1]), ...) for f in fields}
                made[title] = create_model(title, **shape)
                return made[title]
        raise AssertionError(kind)

    whole = of(schemas()[name].shape)
    whole.model_rebuild(_types_namespace={**made, "list": list})
    return whole


def equal(found: Any, expected: Any) -> bool:
    """Equal as JSON, where 1 and 1.0 are the same number and true is none."""
    return json.dumps(floats(found), sort_keys=True) == json.dumps(floats(expected), sort_keys=True)


def floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [floats(item) for item in value]
    return float(value) if type(value) is int else value
