"""Schema types as plain data, and their lowering to JSON Schema (O-2.30 to O-2.39).

A *schema type* is nested lists or tuples of strings, booleans and JSON values, so an image holds it as it is:

    ["string"] ["int"] ["float"] ["bool"] ["nil"] ["any"]
    ["bytes"]                     Bytes, in base64
    ["enum", [text, ...], type]   a string set (type nil) or an enum with unit variants only (type: its name)
    ["array", T]
    ["map", T]                    Map<String, T>
    ["object", name, modes, [field, ...]]   a schema or struct; modes is a list of "partial" and "coerce"
    ["ref", name]                 an object of this tree, named again inside itself (O-2.11)

    field = [name, T, optional, has_default, default, description]   default in JSON form, description text or nil

Names of objects are unique in a tree: a generic schema carries its arguments (`Ticket<Int>`).

Hands on the plain and the strict form as ordered dicts, ready to send to a provider, and `DeclaredTypes`, the declared types of a
program as the reader of JSON asks for them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    SchemaType: TypeAlias = list[Any] | tuple[Any, ...]
    Field: TypeAlias = list[Any] | tuple[Any, ...]
    Json: TypeAlias = dict[str, Any]

SCALARS = {"string": "string", "int": "integer", "float": "number", "bool": "boolean", "nil": "null"}
DISPLAY = {"string": "String", "int": "Int", "float": "Float", "bool": "Bool", "nil": "Nil", "any": "Any", "bytes": "Bytes"}

WIRE_NAME_LENGTH = 64


def wire_name(name: str) -> str:
    """Return the name of a schema as providers accept it (O-1.104)."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:WIRE_NAME_LENGTH]


def tool_name(owner: str, method: str) -> str:
    """Return the name by which a model calls a method of a tool or MCP server (O-4.8); the checker refuses one that is too
    long."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in f"{owner}__{method}")


STORE_METHODS = ("get", "set", "query")
RESPOND = "respond"  # the tool by which a model gives a value of a schema (O-2.43)


def store_name(store: str, scope: Sequence[str]) -> str:
    """Return the owner's name in the tools of a hashmap or ledger, or of a scope of one (O-4.22)."""
    return "_".join((store, *scope))


def bare_name(name: str) -> str:
    """Return the name of an object without type arguments: that of the declared type of its values (L-3.1.22)."""
    return name.partition("<")[0]


def display(kind: SchemaType) -> str:
    """Return the type as a Concerto program writes it: TYPE in the texts of violations (O-2.25)."""
    tag = kind[0]
    if tag in DISPLAY:
        return DISPLAY[tag]
    if tag == "array":
        return f"Array<{display(kind[1])}>"
    if tag == "map":
        return f"Map<String, {display(kind[1])}>"
    if tag == "enum":
        return enum_type(kind) or " | ".join(f'"{text}"' for text in kind[1])
    return str(kind[1])


def enum_type(kind: SchemaType) -> str | None:
    """Return the name of the enum type; None for a set of strings."""
    return kind[2] if len(kind) > 2 else None


def is_optional(modes: SchemaType, field: Field) -> bool:
    """Return whether an absent field is `None` (O-2.2, O-2.15), if it has no default."""
    return not field[3] and (field[2] or "partial" in modes)


def objects(kind: SchemaType) -> Iterator[SchemaType]:
    """Yield every object of the tree, outermost first."""
    tag = kind[0]
    if tag == "object":
        yield kind
        for field in kind[3]:
            yield from objects(field[1])
    elif tag in ("array", "map"):
        yield from objects(kind[1])


def definitions(kind: SchemaType) -> dict[str, SchemaType]:
    """Return the objects of a tree by name, for following `ref`."""
    by_name: dict[str, SchemaType] = {}
    for node in objects(kind):
        by_name.setdefault(node[1], node)
    return by_name


def recursive_names(kind: SchemaType) -> list[str]:
    """Return the names of the objects that some `ref` leads back to, in order of first mention."""
    names: dict[str, None] = {}
    _collect_references(kind, names)
    return list(names)


def is_recursive(kind: SchemaType) -> bool:
    return bool(recursive_names(kind))


def plain_form(kind: SchemaType) -> Json:
    """Return the JSON Schema that leaves optional fields out of `required`; every type has one."""
    return _Lowering(kind, strict=False).document()


def arguments_form(kind: SchemaType) -> Json:
    """Return the JSON Schema of the arguments of a tool method (O-4.10)."""
    return {**plain_form(kind), "additionalProperties": False}


def strict_form(kind: SchemaType) -> Json | None:
    """Return the JSON Schema with every property required and closed objects, as strict modes of providers demand; None for a
    type with a Map, Any or Bytes inside (O-2.33 f., O-2.61)."""
    return None if _has_open_part(kind) else _Lowering(kind, strict=True).document()


def is_strict_form(document: Json) -> bool:
    """Return whether a document was made by `strict_form`: only that closes its objects."""
    return document.get("additionalProperties") is False


def _collect_references(kind: SchemaType, names: dict[str, None]) -> None:
    tag = kind[0]
    if tag == "ref":
        names.setdefault(kind[1])
    elif tag in ("array", "map"):
        _collect_references(kind[1], names)
    elif tag == "object":
        for field in kind[3]:
            _collect_references(field[1], names)


def _has_open_part(kind: SchemaType) -> bool:
    tag = kind[0]
    if tag == "object":
        return any(_has_open_part(field[1]) for field in kind[3])
    return tag in ("map", "any", "bytes") or (tag == "array" and _has_open_part(kind[1]))


class _Lowering:
    """The lowering of one document: recursive objects go to `$defs`, all others are inlined (O-2.37, O-2.38)."""

    __slots__ = ("root", "strict", "recursive")

    def __init__(self, root: SchemaType, *, strict: bool) -> None:
        self.root = root
        self.strict = strict
        self.recursive = recursive_names(root)

    def document(self) -> Json:
        """Return the whole document. The root stays an object even when it is recursive: providers refuse a `$ref` there."""
        root = self.root
        schema = self.object_form(root) if root[0] == "object" else self.form(root)
        if self.recursive:
            objects = definitions(root)
            schema["$defs"] = {wire_name(name): self.object_form(objects[name]) for name in self.recursive}
        return schema

    def form(self, kind: SchemaType) -> Json:
        tag = kind[0]
        if tag in SCALARS:
            return {"type": SCALARS[tag]}
        if tag == "enum":
            return {"type": "string", "enum": list(kind[1])}
        if tag == "array":
            return {"type": "array", "items": self.form(kind[1])}
        if tag == "map":
            return {"type": "object", "additionalProperties": self.form(kind[1])}
        if tag == "any":
            return {}
        if tag == "bytes":
            return {"type": "string", "contentEncoding": "base64"}
        if kind[1] in self.recursive:
            return {"$ref": f"#/$defs/{wire_name(kind[1])}"}
        return self.object_form(kind)

    def object_form(self, kind: SchemaType) -> Json:
        _, _, modes, fields = kind
        required = [f[0] for f in fields if self.strict or not (f[3] or is_optional(modes, f))]
        schema: Json = {
            "type": "object",
            "properties": {f[0]: self.field_form(modes, f) for f in fields},
            "required": required,
        }
        if self.strict:
            schema["additionalProperties"] = False
        return schema

    def field_form(self, modes: SchemaType, field: Field) -> Json:
        _, kind, _, has_default, default, description = field
        schema = self.form(kind)
        if self.strict and (has_default or is_optional(modes, field)):
            schema = {"anyOf": [schema, {"type": "null"}]}
        if description is not None:
            schema = _described(schema, description)
        if has_default and not self.strict:
            schema["default"] = default
        return schema


def _described(form: Json, description: str) -> Json:
    """Return a form with a description right behind `type` (O-2.39)."""
    head = {"type": form["type"]} if "type" in form else {}
    return {**head, "description": description, **{key: value for key, value in form.items() if key != "type"}}


# ----------------------------------------------------------------
# The declared types of a program with the types of their parts, for what builds values from text (L-7.1.2).
#


class DeclaredTypes:
    """Struct classes and enum types by key. The first request for one sets the descriptors of its fields or payloads in it.
    `types`: entries of the image; `classes`, `descriptors`: their value classes and descriptors from the linker."""

    __slots__ = ("types", "classes", "descriptors", "numbers")

    def __init__(self, types: Sequence[Any], classes: Sequence[Any], descriptors: Sequence[Any]) -> None:
        self.types = types
        self.classes = classes
        self.descriptors = descriptors
        self.numbers = {entry[1]: number for number, entry in enumerate(types) if classes[number] is not None}

    def struct_class(self, key: str) -> Any:
        number = self.numbers[key]
        cls = self.classes[number]
        if not cls.decl.types:
            cls.decl.types = self._descriptors(field[1] for field in self.types[number][2])
        return cls

    def field_defaults(self, key: str) -> dict[str, int]:
        """Return the numbers of the functions that compute the defaults of a struct's fields, by field."""
        return {row[0]: row[3] for row in self._rows(key) if len(row) > 3 and type(row[3]) is int}

    def names_before(self, key: str) -> dict[str, str]:
        """Return the earlier names of a struct's fields, by field (M-8.24)."""
        return {row[0]: row[-1] for row in self._rows(key) if len(row) > 3 and type(row[-1]) is str}

    def _rows(self, key: str) -> Any:
        return self.types[self.numbers[key]][2]

    def enum_type(self, key: str) -> Any:
        number = self.numbers[key]
        decl = self.classes[number]
        for variant, row in zip(decl.variants, self.types[number][2], strict=True):
            variant.types = variant.types or self._descriptors(row[1])
        return decl

    def _descriptors(self, numbers: Iterable[int]) -> tuple[Any, ...]:
        return tuple(self.descriptors[number] for number in numbers)
