"""Schema types as plain data, and their lowering to JSON Schema (O-2.30 to O-2.39).

A *schema type* is nested lists or tuples of strings, booleans and JSON values, so an image holds it as it is:

    ["string"] ["int"] ["float"] ["bool"] ["nil"] ["any"]
    ["bytes"]                     Bytes, in base64
    ["enum", [text, ...], type]   a string set (type nil) or an enum with unit variants only (type: its name)
    ["array", T]
    ["map", T]                    Map<String, T>
    ["object", name, modes, [field, ...]]   a schema or struct; modes is a list of "partial" and "coerce"
    ["sum", name, [variant, ...]]  an enum of which a variant has a payload
    ["ref", name]                 an object or sum of this tree, named again inside itself (O-2.11)

    variant = [name, form, [field, ...], description]   form: "unit", "tuple" or "struct"; parts of tuples are called by number
    field = [name, T, optional, has_default, default, description]   default in JSON form, description text or nil

Names of objects and sums are unique in a tree: a generic schema carries its arguments (`Ticket<Int>`).

Hands on `plain_form`, `strict_form` and `arguments_form` as ordered dicts, ready to send to a provider, to the compiler, which
puts them into an image, to the verifier and to the runtime; `is_strict_form` to `runtime/providers/openai.py`; questions about
schema types (`is_optional`, `is_recursive`, `enum_type`, `objects`, `definitions`), their types (`SchemaType`, `Field`, `Json`)
and `type_text` to `runtime/schema/`; the names of schemas and tools as models see them (`wire_name`, `tool_name`, `store_name`,
STORE_METHODS, INDEX_METHOD, RESPOND) to the compiler and the runtime; `bare_name` to the verifier and `runtime/records.py`;
`partial_key` to the checker and PROGRESS to the resolver, both to `runtime/schema/partial_values.py` too; and `DeclaredTypes`,
the declared types of a program as whatever builds values from text or bytes asks for them, to the linker, which makes one for
each program. A schema type is never changed here, and is taken for sound: whether an image has a sound one is asked in
`bytecode/verify_tables.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    SchemaType: TypeAlias = list[Any] | tuple[Any, ...]
    Field: TypeAlias = list[Any] | tuple[Any, ...]
    Json: TypeAlias = dict[str, Any]

PROGRESS = "std::Progress"  # the key of the enum of the fields of a Partial
SCALARS = {"string": "string", "int": "integer", "float": "number", "bool": "boolean", "nil": "null"}
TYPE_WORDS = {"string": "String", "int": "Int", "float": "Float", "bool": "Bool", "nil": "Nil", "any": "Any", "bytes": "Bytes"}

WIRE_NAME_LENGTH = 64


def wire_name(name: str) -> str:
    """Return the name of a schema as providers accept it (O-1.104): 64 characters at most, others than ASCII letters, digits, `_`
    and `-` replaced by `_`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:WIRE_NAME_LENGTH]


def tool_name(owner: str, method: str) -> str:
    """Return the name by which a model calls a method of a tool, MCP server, store, memory or index (O-4.8): `owner__method`,
    others than ASCII letters, digits, `_` and `-` replaced by `_`; the checker refuses one that is too long."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in f"{owner}__{method}")


STORE_METHODS = ("get", "set", "query")  # what hashmaps and ledgers offer to models as tools
RESPOND = "respond"  # the tool by which a model gives a value of a schema (O-2.43)


INDEX_METHOD = "search"  # what an index offers to models as a tool (O-1.254)


def store_name(store: str, scope: Sequence[str]) -> str:
    """Return the `owner` for `tool_name` of a hashmap or ledger, or of a scope of one (O-4.22)."""
    return "_".join((store, *scope))


def bare_name(name: str) -> str:
    """Return the name of an object without type arguments: that of the declared type of its values (L-3.1.22)."""
    return name.partition("<")[0]


def partial_key(name: str) -> str:
    """Return the key of the type `Partial<T>` (O-2.71) for the name of T in a tree. No module of a program is called `std`."""
    return f"std::{''.join([sign if sign.isalnum() or sign in '_:' else '-' for sign in name])}::Partial"


def type_text(kind: SchemaType) -> str:
    """Return the type as a Concerto program writes it: TYPE in the texts of violations (O-2.25)."""
    tag = kind[0]
    if tag in TYPE_WORDS:
        return TYPE_WORDS[tag]
    if tag == "array":
        return f"Array<{type_text(kind[1])}>"
    if tag == "map":
        return f"Map<String, {type_text(kind[1])}>"
    if tag == "enum":
        return enum_type(kind) or " | ".join(f'"{text}"' for text in kind[1])
    return str(kind[1])


def enum_type(kind: SchemaType) -> str | None:
    """Return the name of the enum type; None for a set of strings."""
    return kind[2] if len(kind) > 2 else None


def is_optional(modes: Sequence[str], field: Field) -> bool:
    """Return whether a field may be absent and is then `None`: it is written `f?: T`, or its object is partial, and it has no
    default (O-2.2, O-2.15)."""
    return not field[3] and (field[2] or "partial" in modes)


def inner_types(kind: SchemaType) -> Iterator[SchemaType]:
    """Yield the types of the parts of a type: of an object its fields', of a sum those of all payloads, of an array or map that
    of its values; none of any other."""
    tag = kind[0]
    if tag == "object":
        yield from (field[1] for field in kind[3])
    elif tag == "sum":
        yield from (part[1] for variant in kind[2] for part in variant[2])
    elif tag in ("array", "map"):
        yield kind[1]


def declared(kind: SchemaType) -> Iterator[SchemaType]:
    """Yield every object and sum of the tree, outermost first."""
    if kind[0] in ("object", "sum"):
        yield kind
    for inner in inner_types(kind):
        yield from declared(inner)


def objects(kind: SchemaType) -> Iterator[SchemaType]:
    """Yield every object of the tree, outermost first."""
    return (node for node in declared(kind) if node[0] == "object")


def definitions(kind: SchemaType) -> dict[str, SchemaType]:
    """Return the objects and sums of a tree by name, for following a `ref`, which has the same name."""
    by_name: dict[str, SchemaType] = {}
    for node in declared(kind):
        by_name.setdefault(node[1], node)
    return by_name


def recursive_names(kind: SchemaType) -> list[str]:
    """Return the names of the objects and sums that some `ref` leads back to, in order of first mention."""
    names: dict[str, None] = {}
    _collect_references(kind, names)
    return list(names)


def is_recursive(kind: SchemaType) -> bool:
    """Return whether an object or sum of the tree holds itself."""
    return bool(recursive_names(kind))


def plain_form(kind: SchemaType) -> Json:
    """Return the JSON Schema that leaves optional fields, and those with a default, out of `required`; every type has one."""
    return _Lowering(kind, strict=False).document()


def arguments_form(kind: SchemaType) -> Json:
    """Return the JSON Schema of the arguments of a tool method (O-4.10)."""
    return {**plain_form(kind), "additionalProperties": False}


def strict_form(kind: SchemaType) -> Json | None:
    """Return the JSON Schema with every property required and closed objects, as strict modes of providers demand; None for a
    type with a Map, Any, Bytes or a tuple payload of several parts inside (O-2.33 f., O-2.61, O-2.62)."""
    return None if _has_open_part(kind) else _Lowering(kind, strict=True).document()


def is_strict_form(document: Json) -> bool:
    """Return whether the document of a schema of the program, whose root is an object, was made by `strict_form`, not by
    `plain_form`, which leaves objects open. The documents of `arguments_form` are closed too: they are not to be asked about."""
    return document.get("additionalProperties") is False


def _collect_references(kind: SchemaType, names: dict[str, None]) -> None:
    if kind[0] == "ref":
        names.setdefault(kind[1])
    for inner in inner_types(kind):
        _collect_references(inner, names)


def _has_open_part(kind: SchemaType) -> bool:
    tag = kind[0]
    if tag == "sum" and any(form == "tuple" and len(parts) > 1 for _, form, parts, _ in kind[2]):
        return True
    return tag in ("map", "any", "bytes") or any(map(_has_open_part, inner_types(kind)))


def _definition_names(names: Sequence[str]) -> dict[str, str]:
    """Return a name of its own for the definition of each type: names that providers would see as one get numbers."""
    keys: dict[str, str] = {}
    used: set[str] = set()
    numbers: dict[tuple[str, int], int] = {}  # the last one that was tried, by what stands before it and its count of digits
    for name in names:
        key = whole = wire_name(name)
        digits = 1
        while key in used:
            part = whole[: WIRE_NAME_LENGTH - 1 - digits]
            number = numbers.get((part, digits), max(1, 10 ** (digits - 1) - 1)) + 1
            if number == 10**digits:
                digits += 1
                continue
            numbers[part, digits] = number
            key = f"{part}_{number}"
        used.add(key)
        keys[name] = key
    return keys


class _Lowering:
    """The lowering of one document: recursive objects go to `$defs`, all others are inlined (O-2.37, O-2.38)."""

    __slots__ = ("root", "strict", "recursive")  # the last: by name of a recursive type, the name of its definition

    def __init__(self, root: SchemaType, *, strict: bool) -> None:
        self.root = root
        self.strict = strict
        self.recursive = _definition_names(recursive_names(root))

    def document(self) -> Json:
        """Return the whole document. The root stays an object even when it is recursive: providers refuse a `$ref` there."""
        root = self.root
        schema = self.object_form(root) if root[0] == "object" else self.form(root)
        if self.recursive:
            objects = definitions(root)
            schema["$defs"] = {key: self.declared_form(objects[name]) for name, key in self.recursive.items()}
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
            return {"$ref": f"#/$defs/{self.recursive[kind[1]]}"}
        return self.declared_form(kind)

    def declared_form(self, kind: SchemaType) -> Json:
        return {"anyOf": [self.variant_form(*variant) for variant in kind[2]]} if kind[0] == "sum" else self.object_form(kind)

    def variant_form(self, name: str, form: str, parts: Sequence[Field], description: str | None) -> Json:
        """Return the form of one variant: an object with its name, and with its payload if it has one (L-5.1.9)."""
        schema: Json = {"type": "object", "properties": {"variant": {"type": "string", "const": name}}, "required": ["variant"]}
        if description is not None:
            schema = _described(schema, description)
        if form != "unit":
            schema["properties"]["data"] = self.payload_form(form, parts)
            schema["required"].append("data")
        if self.strict:
            schema["additionalProperties"] = False
        return schema

    def payload_form(self, form: str, parts: Sequence[Field]) -> Json:
        if form == "struct":
            return self.object_form(("object", "", (), parts))
        if len(parts) == 1:
            return self.form(parts[0][1])
        count = len(parts)
        return {"type": "array", "prefixItems": [self.form(part[1]) for part in parts], "minItems": count, "maxItems": count}

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

    def field_form(self, modes: Sequence[str], field: Field) -> Json:
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


class DeclaredTypes:
    """Struct classes and enum types by key. A key is the name of a type in the image, which is unique there; all methods raise
    KeyError for one that is not declared. The first request for a type sets the descriptors of its fields or payloads in it.

    `types` are the entries of the image: [kind, name, rows]. A row of a struct is [field, index of its type, whether it is
    public, number of the function of its default, earlier name of the field], the last two only where there are such. `numbers`
    has the place there of each type that has a class, by key. `classes` and `descriptors` are what the linker has made of the
    entries: classes of values, and descriptors of types."""

    __slots__ = ("types", "classes", "descriptors", "numbers", "_enums")

    def __init__(self, types: Sequence[Any], classes: Sequence[Any], descriptors: Sequence[Any]) -> None:
        self.types = types
        self.classes = classes
        self.descriptors = descriptors
        self.numbers = {entry[1]: number for number, entry in enumerate(types) if classes[number] is not None}
        self._enums: set[str] = set()  # those whose variants have their descriptors

    def struct_class(self, key: str) -> Any:
        """Return the class of a struct's values, or a schema's, whose `decl.types` are the descriptors of the fields, in
        order."""
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
        """Return the declaration of an enum, whose variants have the descriptors of their payloads as `types`."""
        number = self.numbers[key]
        decl = self.classes[number]
        if key not in self._enums:
            for variant, row in zip(decl.variants, self.types[number][2], strict=True):
                variant.types = variant.types or self._descriptors(row[1])
            self._enums.add(key)
        return decl

    def _descriptors(self, numbers: Iterable[int]) -> tuple[Any, ...]:
        return tuple(self.descriptors[number] for number in numbers)
