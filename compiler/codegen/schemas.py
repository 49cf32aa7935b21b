"""Schemas for the image: the shape that validation reads, and the JSON Schemas ready to send (O-2.30 ff., O-10.10); and
which permissions a program wants.

Hands on `schema_number` to `calls` and `program`, `Shapes` to `program`; and what names permissions, and grants none (O-10.21):
`wanted_by` to `calls`, `wanted_command`, `wanted_url` and `reduced` to `program`. How a JSON Schema is lowered for a provider
stands in `vm/schema.py`. Whether a type has a JSON form was checked, and no reply is validated here; a type without one raises
AssertionError. A shape of a new kind is a case of `Shapes.shape`, and one of `vm/schema.py` and of the validation that reads
it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...vm import schema as lowering
from ...vm import values as vm
from ...vm.builtins import Row
from ...vm.bytecode import image as im
from .. import symbols
from .. import types as t
from ..checker.relations import replaced
from ..syntax import ast
from ..types import type_name
from .module import Module

_SCALARS = {"String": "string", "Int": "int", "Float": "float", "Bool": "bool", "Nil": "nil", "Any": "any", "Bytes": "bytes"}


def schema_number(module: Module, symbol: symbols.StructSymbol, type_: t.Type) -> int:
    """Return the number of the entry of a schema, from 0; there is one for each list of type arguments that is used (O-2.9).
    Schemas inside it that have validators get an entry as well (O-2.18)."""
    if type_ not in module.schemas:
        # The number is given before the shape is built: a schema may hold itself.
        module.schemas[type_] = len(module.schema_entries)
        shapes = Shapes(module.declared)
        module.schema_entries.append(_schema_entry(module, symbol, type_, shapes.object(symbol, type_)))
        # Values of a type argument are made though no code may name its type.
        for named in shapes.named:
            module.pool.type(t.bare(named))
        for inner, schema in shapes.objects.items():
            if module.validators.get(schema):
                schema_number(module, schema, inner)
    return module.schemas[type_]


def _schema_entry(module: Module, symbol: symbols.StructSymbol, type_: t.Type, shape: list[Any]) -> im.Schema:
    return im.Schema(
        _entry_name(module, symbol, type_),
        module.pool.type(symbol.type),
        shape,
        lowering.plain_form(shape),
        lowering.strict_form(shape),
        module.validators.get(symbol, []),
    )


def _entry_name(module: Module, symbol: symbols.StructSymbol, type_: t.Type) -> str:
    """Return the name of a schema with its type arguments, in characters that names in an image may have."""
    # A struct is named for the host by nothing but its type.
    own = module.names.get(symbol) or type_name(t.bare(type_))
    name = base = own + re.sub(r"[^\w<>,:#]", "", type_name(type_).removeprefix(type_name(t.bare(type_))))
    # Types that differ in characters left out get different names all the same.
    while name in module.schema_names:
        number = module.schema_names[base] = module.schema_names[base] + 1
        name = f"{base}#{number}"
    module.schema_names[name] = 1
    return name


class Shapes:
    """Builds the shapes of declared types, which the image holds: lists of a word and its parts, such as `["string"]`, `["array",
    shape]` or `["object", name, modes, rows]`. A type that stands inside itself becomes a reference there, `["ref", name]`
    (O-2.11)."""

    def __init__(self, declared: dict[t.Type, symbols.Symbol]) -> None:
        self.declared = declared
        self.open: list[str] = []  # names of the types that are being built, outermost first
        self.objects: dict[t.Type, symbols.StructSymbol] = {}  # of this shape, by their type
        self.named: dict[t.Type, None] = {}  # structs, schemas and enums in this shape

    def object(self, symbol: symbols.StructSymbol, type_: t.Type) -> list[Any]:
        """Return the shape of a schema or struct: name, modes and fields, or a reference."""
        name = type_name(type_)
        # The shape is being built further out, so its name is enough.
        if name in self.open:
            return ["ref", name]
        self.open.append(name)
        self.objects[type_] = symbol
        self.named[type_] = None
        declaration = symbol.declaration
        modes = [d.name.text for d in declaration.decorators if d.name.text in ("partial", "coerce")]
        nodes = {f.name.text: f for f in declaration.fields or []}
        first = next(iter(nodes.values()), None)
        # A mode written before the first field holds for the whole schema as well.
        modes += [d.name.text for d in (first.decorators if first else []) if d.name.text in ("partial", "coerce")]
        fields = [self.field(symbol, part, kind, optional, nodes[part]) for part, kind, optional in _parts(symbol, type_)]
        self.open.pop()
        return ["object", name, modes, fields]

    def sum(self, symbol: symbols.EnumSymbol, type_: t.Type) -> list[Any]:
        """Return the shape of an enum with payloads: name and variants, or a reference."""
        name = type_name(type_)
        if name in self.open:
            return ["ref", name]
        self.open.append(name)
        variants: list[list[Any]] = []
        for member, node in zip(symbol.members, symbol.declaration.variants, strict=False):
            nodes = {field.name.text: field for field in node.fields or []}
            parts = [self.part(member, part, kind, nodes.get(part)) for part, kind, _ in _parts(member, type_)]
            variants.append([member.name, member.form, parts, node.doc])
        self.open.pop()
        return ["sum", name, variants]

    def part(self, owner: symbols.VariantSymbol, name: str, type_: t.Type, node: ast.Field | None) -> list[Any]:
        """Return the row of a part of a payload, the same as of `field`."""
        optional = isinstance(type_, t.Generic) and type_.name == "Option"
        shape = self.shape(type_.arguments[0] if isinstance(type_, t.Generic) and optional else type_)
        default = as_json(owner.constants.get(name))
        return [name, shape, optional, name in owner.constants, default, node.doc if node is not None else None]

    def arguments(self, symbol: symbols.StructSymbol) -> list[Any]:
        """Return the shape of fields that are no declared type: the parameters or the result of a method, or the entry of a
        hashmap."""
        nodes = {f.name.text: f for f in symbol.declaration.fields or []}
        fields = [self.field(symbol, name, type_, optional, nodes[name]) for name, type_, _, optional in symbol.fields]
        return ["object", symbol.name, [], fields]

    def field(self, owner: symbols.StructSymbol, name: str, type_: t.Type, optional: bool, node: ast.Field) -> list[Any]:
        """Return the row of one field: name, shape, optional, has a default, the default as JSON, description."""
        if isinstance(type_, t.Generic) and type_.name == "Option":
            optional, type_ = True, type_.arguments[0]
        default = as_json(owner.constants.get(name))
        return [name, self.shape(type_), optional, name in owner.constants, default, owner.descriptions.get(name, node.doc)]

    def shape(self, type_: t.Type) -> list[Any]:
        """Return the shape of a type that has a JSON form; the checker has refused all others (E4020). AssertionError for
        these."""
        if isinstance(type_, t.Simple) and type_.name in _SCALARS:
            return [_SCALARS[type_.name]]
        if isinstance(type_, t.Union):
            return ["enum", list(type_.members), None]
        if isinstance(type_, t.Generic) and type_.name == "Array":
            return ["array", self.shape(type_.arguments[0])]
        if isinstance(type_, t.Generic) and type_.name == "Map":
            return ["map", self.shape(type_.arguments[1])]
        symbol = self.declared.get(type_.bare if isinstance(type_, t.Nominal) else type_)
        if isinstance(symbol, symbols.EnumSymbol):
            self.named[type_] = None
            plain = all(member.form == "unit" for member in symbol.members)
            return ["enum", list(symbol.variants), type_name(symbol.type)] if plain else self.sum(symbol, type_)
        if isinstance(symbol, symbols.StructSymbol):
            return self.object(symbol, type_)
        raise AssertionError(f"no JSON form for {type_}")


def _parts(symbol: symbols.StructSymbol | symbols.VariantSymbol, type_: t.Type) -> list[tuple[str, t.Type, bool]]:
    """Return name, type and optionality of the fields, or of the parts of a variant, in a value of this type."""
    arguments = type_.arguments if isinstance(type_, t.Nominal) else ()
    owner = symbol.enum if isinstance(symbol, symbols.VariantSymbol) else symbol
    pairs = zip(owner.type_parameters, arguments, strict=True)
    bindings = {parameter.type.unique_name: t_ for parameter, t_ in pairs if isinstance(parameter.type, t.Nominal)}
    return [(name, replaced(field_type, bindings), optional) for name, field_type, _, optional in symbol.fields]


def as_json(value: Any) -> Any:
    """Return the JSON form of a folded constant, as it fits the form that the model is sent: of an enum with unit variants only
    the name (O-2.7), of any other the object of O-2.62."""
    if isinstance(value, symbols.VariantSymbol):
        alone = all(member.form == "unit" for member in value.enum.members)
        return value.name if alone else {"variant": value.name}
    if isinstance(value, symbols.ConstVariant):
        return {"variant": value.variant.name, "data": _payload(value)}
    if isinstance(value, symbols.ConstStruct):
        names = [name for name, _, _, _ in value.struct.fields]
        return {name: as_json(part) for name, part in zip(names, value.values, strict=True)}
    if value is vm.NONE:
        return None
    if isinstance(value, vm.Some):
        return as_json(value.value)
    if isinstance(value, (vm.Ok, vm.Err)):
        return {"ok" if isinstance(value, vm.Ok) else "err": as_json(value.value)}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {vm.key_text(vm.unkey(key)): as_json(item) for key, item in value.items()}
    return value


def _payload(value: symbols.ConstVariant) -> Any:
    """Return the `data` of a variant: an object of named parts, the only part, or an array of several (L-5.1.9)."""
    parts = [as_json(part) for part in value.values]
    if value.variant.form == "struct":
        return {name: part for (name, *_), part in zip(value.variant.fields, parts, strict=True)}
    return parts[0] if len(parts) == 1 else parts


# What the calls of a program will ask for, by value where that is a literal.

# Parameters that name what a call touches.
SUBJECTS = ("p", "n", "name", "url")


def wanted_by(row: Row, arguments: Sequence[ast.Expr | None]) -> str:
    """Return the permission that a call wants: `fs:read=notes.txt` for a path that is a String literal, `fs:read` for an empty
    one or any other expression; "" where the built-in needs none. `arguments` has one for each parameter, None where its default
    is used."""
    for parameter, argument in zip(row.parameters, arguments, strict=True):
        if parameter.name in SUBJECTS and isinstance(argument, ast.StringLiteral):
            if row.permission == "net":
                return wanted_url(argument.value)
            return f"{row.permission}={argument.value}" if argument.value else row.permission
    return row.permission


def wanted_command(command: str, arguments: object) -> str:
    """Return the permission `run=COMMAND` for the process of an agent or server. `arguments` is its field `args`, None where it
    has none. The command is a line to split when it has no arguments beside it (O-4.38); that its quotes are closed has been
    checked."""
    if arguments is None:
        command = (shlex.split(command) or [command])[0]
    return f"run={command}"


def wanted_url(url: str) -> str:
    """Return the permission `net=HOST`, or `net=HOST:PORT` where the URL names a port; `net` for a text that is no URL."""
    host = _host(url)
    return f"net={host}" if host else "net"


def _host(url: str) -> str:
    """Return HOST or HOST:PORT, the host in lower case and the port only where one is written; "" where the text is no URL."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    host = parts.hostname or ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"


def reduced(permissions: Iterable[str]) -> list[str]:
    """Return the permissions sorted, each once; a whole capability stands for its parts."""
    distinct = set(permissions)
    return sorted(text for text in distinct if "=" not in text or text.partition("=")[0] not in distinct)
