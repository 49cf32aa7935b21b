"""Rules about schemas and the arguments of tools: a shape is a schema type (vm/schema.py) and agrees with the declared types its
values are made of (V107).

Hands on `check_schemas` and `check_tools`. Must not know: validation, JSON Schema.
"""

from __future__ import annotations

from ..schema import arguments_form, bare_name, plain_form, strict_form
from .rules import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .image import Image, Schema

SCALARS = ("string", "int", "float", "bool", "nil", "any", "bytes")
MODES = ("partial", "coerce")
EFFECTS = ("pure", "idempotent", "once")  # what @effect says of a tool method (O-9.37)
DEEPEST = 64


class Breach(Exception):
    """What is wrong with a shape."""


def check_schemas(image: Image) -> None:
    """ImageError V107 naming the schema and what does not fit."""
    declared = {entry[1]: entry for entry in image.types if entry[0] in ("struct", "schema", "enum")}
    for schema in image.schemas:
        try:
            _check_schema(schema, image, declared)
        except Breach as breach:
            refuse("V107", f"schema {schema.name}", str(breach))


def _check_schema(schema: Schema, image: Image, declared: dict[str, Any]) -> None:
    if type(schema.shape) is not list or schema.shape[:1] != ["object"]:
        raise Breach("its shape is no object")
    _check(schema.shape, declared, (), 0)
    if image.types[schema.type : schema.type + 1] != [declared[bare_name(schema.shape[1])]]:
        raise Breach("its shape has the name of another type")
    if (schema.plain, schema.strict) != (plain_form(schema.shape), strict_form(schema.shape)):
        raise Breach("its JSON Schemas are not those of its shape")


def check_tools(image: Image) -> None:
    """ImageError V107 naming the tool and what does not fit; that the arguments are an object is known (tables.py)."""
    declared = {entry[1]: entry for entry in image.types if entry[0] in ("struct", "schema", "enum")}
    for tool in image.tools:
        for name, _, _, _, shape, schema, _, effect in tool.methods:
            try:
                if shape[2] != [] or any(not _is_field(field) for field in shape[3]):
                    raise Breach("a malformed parameter")
                for field in shape[3]:
                    _check(field[1], declared, (), 0)
                if schema != arguments_form(shape):
                    raise Breach("its JSON Schema is not that of its arguments")
                if effect is not None and effect not in EFFECTS:
                    raise Breach(f"there is no class of effects {effect}")
            except Breach as breach:
                refuse("V107", f"tool {tool.name}, method {name}", str(breach))
    for store in image.hashmaps:
        for field in () if store.shape is None else store.shape[3]:
            if not _is_field(field):
                refuse("V107", f"hashmap {store.name}", "a malformed field")
            try:
                _check(field[1], declared, (), 0)
            except Breach as breach:
                refuse("V107", f"hashmap {store.name}", str(breach))
    for server in image.mcp:
        for name, _, _, shape, result in server.methods:
            try:
                for field in (*shape[3], *result[3]):
                    if not _is_field(field):
                        raise Breach("a malformed parameter")
                    _check(field[1], declared, (), 0)
            except Breach as breach:
                refuse("V107", f"mcp {server.name}, method {name}", str(breach))


def _check(shape: Any, declared: dict[str, Any], around: tuple[str, ...], depth: int) -> None:
    if type(shape) is not list or not shape or type(shape[0]) is not str or depth > DEEPEST:
        raise Breach("a schema type expected")
    tag = shape[0]
    if tag in SCALARS and len(shape) == 1:
        return
    if tag in ("array", "map") and len(shape) == 2:
        _check(shape[1], declared, around, depth + 1)
    elif tag == "ref" and len(shape) == 2 and shape[1] in around:
        return
    elif tag == "enum" and len(shape) == 3:
        _check_enum(shape, declared)
    elif tag == "object" and len(shape) == 4:
        _check_object(shape, declared, around, depth)
    else:
        raise Breach(f"no schema type has the form {tag}")


def _check_enum(shape: list[Any], declared: dict[str, Any]) -> None:
    _, texts, name = shape
    if type(texts) is not list or not texts or not all(type(t) is str for t in texts):
        raise Breach("an enum without texts")
    if name is None:
        return
    entry = declared.get(name) if type(name) is str else None
    if entry is None or entry[0] != "enum" or [v[0] for v in entry[2]] != texts:
        raise Breach(f"no enum type {name} has these variants")


def _check_object(shape: list[Any], declared: dict[str, Any], around: tuple[str, ...], depth: int) -> None:
    _, name, modes, fields = shape
    entry = declared.get(bare_name(name)) if type(name) is str else None
    if entry is None or entry[0] == "enum":
        raise Breach(f"no struct or schema type is called {name}")
    if type(modes) is not list or any(mode not in MODES for mode in modes):
        raise Breach(f"{name} has an unknown mode")
    if type(fields) is not list or any(not _is_field(field) for field in fields):
        raise Breach(f"{name} has a malformed field")
    if [field[0] for field in fields] != [field[0] for field in entry[2]]:
        raise Breach(f"the fields of {name} differ from those of its type")
    for field in fields:
        _check(field[1], declared, (*around, name), depth + 1)


def _is_field(field: Any) -> bool:
    """[name, type, optional, has_default, default, description]"""
    if type(field) is not list or len(field) != 6:
        return False
    name, _, optional, has_default, _, description = field
    flags = type(optional) is bool and type(has_default) is bool
    return type(name) is str and flags and (description is None or type(description) is str)
