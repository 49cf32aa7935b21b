"""The channels that a program declares, `channel approve: Decision -> Bool;`, with the JSON Schemas of what they carry (O-5.36),
so that a host can make its handlers, or a form for a person, from an image.

Hands on `Channel` to users, `channels_of` to `Program`, and `schema_of` a type and `may_be_absent` to the signatures of functions
(`json_calls.py`). Nothing is checked against the schemas here: payloads and answers are converted by `values.py` and by the
runtime. The schema of a kind of type is a line of `_form`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..vm.bytecode.image import Image
from ..vm.bytecode.shape import listed_functions
from ..vm.values.types import plain_name


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel. `payload` and `answer` are JSON Schemas (draft 2020-12) of the JSON forms of O-5.31; `answer` is None for one
    that is not answered. Any, Range, Result and most records of the language have the empty schema, which takes every value."""

    name: str
    payload: dict[str, Any]
    answer: dict[str, Any] | None


def channels_of(image: Image) -> dict[str, Channel]:
    """Return the channels of a verified image by name, in the order of their declarations; no two have one name (E4036)."""
    channels = {}
    for function in listed_functions(image, "channels"):
        result = image.types[function.result]
        answer = schema_of(image, result[1]) if result[0] == "result" else None
        name = plain_name(function.name)
        channels[name] = Channel(name, schema_of(image, function.params[0][1]), answer)
    return channels


ROLES = ("system", "user", "assistant", "tool")  # of messages
_SIMPLE: dict[str, dict[str, Any]] = {
    "int": {"type": "integer"}, "float": {"type": "number"}, "string": {"type": "string"}, "bool": {"type": "boolean"},
    "nil": {"type": "null"}, "bytes": {"type": "string", "contentEncoding": "base64"},
}  # fmt: skip


def schema_of(image: Image, type_: int) -> dict[str, Any]:
    """Return the JSON Schema of the type at an index of `image.types`; declared types stand under `$defs`, so that they may hold
    themselves."""
    definitions: dict[str, Any] = {}
    schema = _form(image, type_, definitions)
    return {**schema, "$defs": definitions} if definitions else schema


def _form(image: Image, type_: int, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the type at an index of `image.types`, whose rows are a word for the kind and its parts, mostly
    further indexes. Declared types are added to `definitions` by their keys, and referred to."""
    head, *rest = image.types[type_]
    if head in _SIMPLE:
        return dict(_SIMPLE[head])
    if head in ("option", "nilable"):
        return {"anyOf": [_form(image, rest[0], definitions), {"type": "null"}]}
    if head in ("array", "set", "queue", "stack"):
        return {"type": "array", "items": _form(image, rest[0], definitions)}
    if head == "record" and rest[0] == "Message":
        texts = {"role": {"enum": list(ROLES)}, "content": {"type": "string"}}
        return {"type": "object", "properties": texts, "required": list(texts)}
    if head == "handle" and rest[0] == "Stream":
        return {"type": "string"}  # its whole text
    if head == "prompt":
        return {"type": "string"}
    if head == "map":
        keys = {"int": "^-?[0-9]+$", "bool": "^(true|false)$"}.get(image.types[rest[0]][0])
        named = {"propertyNames": {"pattern": keys}} if keys else {}
        return {"type": "object", "additionalProperties": _form(image, rest[1], definitions), **named}
    if head == "tuple":
        return _tuple([_form(image, part, definitions) for part in rest[0]])
    if head == "union":
        return {"enum": list(rest[0])}
    if head in ("struct", "schema", "enum"):
        key = rest[0]
        if key not in definitions:
            definitions[key] = {}  # for a type inside itself
            definitions[key] = _sum(image, rest[1], definitions) if head == "enum" else _object(image, rest[1], definitions)
        return {"$ref": f"#/$defs/{key}"}
    return {}  # Any; and Range, Result and records of the language, whose forms are not described here


def _tuple(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _object(image: Image, fields: list[list[Any]], definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {field[0]: _form(image, field[1], definitions) for field in fields}
    # A field with a default, or one that may be absent, may be left out of an answer.
    optional = {f[0] for f in fields if may_be_absent(image, f[1]) or any(type(part) is int for part in f[3:])}
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in optional]}


def may_be_absent(image: Image, type_: int) -> bool:
    """Return whether a value of the type at an index of `image.types` may be left out: whether it is an Option or nilable."""
    return image.types[type_][0] in ("option", "nilable")


def _sum(image: Image, variants: list[list[Any]], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the forms of L-5.1.9; a variant without payload may be its name alone (L-5.1.21)."""
    units = [name for name, parts, *_ in variants if not parts]
    forms: list[dict[str, Any]] = [{"enum": units}] if units else []
    for name, parts, *names in variants:
        items = [_form(image, part, definitions) for part in parts]
        if not items:
            data: dict[str, Any] = {"type": "null"}
        elif names:
            needed = [name for name, part in zip(names, parts, strict=True) if not may_be_absent(image, part)]
            data = {"type": "object", "properties": dict(zip(names, items, strict=True)), "required": needed}
        else:
            data = items[0] if len(items) == 1 else _tuple(items)
        may_lack = not items or (len(items) == 1 and not names and may_be_absent(image, parts[0]))
        required = ["variant"] if may_lack else ["variant", "data"]
        forms.append({"type": "object", "properties": {"variant": {"const": name}, "data": data}, "required": required})
    return {"anyOf": forms} if forms else {"not": {}}  # no value is of an enum without variants
