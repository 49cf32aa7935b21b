"""`json::parse_as<T>`: a JSON text as a value of a type (L-7.1.2), driven by the type's descriptor.

Hands on `parse_as` and `fill`. Defaults of fields are functions of the program, which only the machine can call: a struct
that lacks such a field is built with a hole, and the holes come back beside the result, in the order in which the defaults
are evaluated. Must not know: images, frames.
"""

from __future__ import annotations

from collections import deque

from ...values.binary import from_base64
from ...values.containers import Array, Map, Queue, Stack, key_of
from ...values.descriptors import type_text
from ...values.display import brief
from ...values.enums import EnumValue
from ...values.errors import make_error
from ...values.numerals import read_int
from ...values.ranges import RangeValue
from ...values.records import RECORDS
from ...values.results import NONE, Err, Ok, Some
from ...values.structural import make_set
from ...values.typeof import typeof
from ..guards import text
from .json import json_error, read
from .json_faults import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol

    from ...values.descriptors import Descriptor
    from ...values.enums import EnumType

    class TypeTable(Protocol):
        """The declared types of a program by the keys of their descriptors."""

        def struct_class(self, key: str) -> type[Any]:
            """The class of a struct or schema; `decl.types` describes its fields."""

        def enum_type(self, key: str) -> EnumType:
            """The declaration of an enum; its variants have their `types`."""


class Misfit(Exception):
    """The text is JSON, but not of the type."""


def parse_as(s: Any, defaults: Map, descriptor: Descriptor, types: TypeTable) -> tuple[Ok | Err, Array]:
    """`Result<T, JsonError>` and the fields still to be filled; an Err has none. `defaults` holds the default of each field
    that has one, as a function, under the key of the type and the position of the field: `Point.0`."""
    data = read(text(s))
    if isinstance(data, Fault):
        return Err(json_error(s, data)), Array([])
    builder = Builder(types, defaults)
    try:
        return Ok(builder.build(data, descriptor)), Array(builder.holes)
    except Misfit as misfit:
        return Err(make_error("JsonError", None, (f"{misfit} at {builder.place()}",))), Array([])
    except RecursionError:
        return Err(make_error("JsonError", None, ("nested too deeply for its type",))), Array([])


def fill(hole: Any, value: Any) -> None:
    """Puts the default of a field in its place; a hole is the tuple (struct, position of the field, its default)."""
    struct, position, _ = hole
    setattr(struct, struct.__slots__[position], value)


def refuse(data: Any, descriptor: Descriptor) -> NoReturn:
    found = "null" if data is None else brief(data, 40) if type(data) is str else typeof(data)
    raise Misfit(f"expected {type_text(descriptor)}, found {found}")


def some_of(value: Any, wrappers: int) -> Any:
    """`value` inside as many Options as its type has around it."""
    for _ in range(wrappers):
        value = Some(value)
    return value


class Builder:
    """One call of `parse_as`: values of JSON kinds become values of the type. `path` leads to the part being built."""

    __slots__ = ("types", "defaults", "holes", "path")

    def __init__(self, types: TypeTable, defaults: Map) -> None:
        self.types = types
        self.defaults = defaults.items
        self.holes: list[tuple[Any, int, Any]] = []
        self.path: list[Any] = []

    def place(self) -> str:
        """The path as text: `$.items[2].name`."""
        return "$" + "".join(f"[{step}]" if type(step) is int else f".{step}" for step in self.path)

    def build(self, data: Any, descriptor: Descriptor) -> Any:
        head = descriptor[0]
        wrappers = 0
        # A loop and not a rule: each level of a deep text takes as few frames of the host as can be.
        while head in ABSENT:
            if data is None:
                return some_of(ABSENT[head], wrappers)
            wrappers += head == "option"
            descriptor = descriptor[1]
            head = descriptor[0]
        if head in SCALARS:
            return some_of(self.scalar(data, descriptor), wrappers)
        rule = RULES.get(head)
        return some_of(rule(self, data, descriptor), wrappers) if rule else refuse(data, descriptor)

    def scalar(self, data: Any, descriptor: Descriptor) -> Any:
        head = descriptor[0]
        if head == "any" or type(data) is SCALARS[head]:
            return data
        if head == "float" and type(data) is int:
            return float(data)
        if head == "bytes" and type(data) is str:
            return self.bytes_of(data)
        return refuse(data, descriptor)

    def bytes_of(self, data: str) -> bytes:
        found = from_base64(data)
        if type(found) is not bytes:
            raise Misfit(f"expected Bytes as base64, found {brief(data, 40)}")
        return found

    def within(self, step: Any, data: Any, descriptor: Descriptor) -> Any:
        """A part, reached by a name or a position."""
        self.path.append(step)
        built = self.build(data, descriptor)
        self.path.pop()
        return built

    def items(self, data: Any, descriptor: Descriptor) -> list[Any]:
        """The elements of an array of one type."""
        if type(data) is not Array:
            refuse(data, descriptor)
        if set(map(type, data.items)) == {SCALARS.get(descriptor[1][0])}:
            return list(data.items)
        items = []
        for position, item in enumerate(data.items):
            # Without a call of `within`, for the same reason as the loop of `build`.
            self.path.append(position)
            items.append(self.build(item, descriptor[1]))
            self.path.pop()
        return items

    def sequence(self, data: Any, descriptor: Descriptor) -> Any:
        return SEQUENCES[descriptor[0]](self.items(data, descriptor))

    def tuple_of(self, data: Any, descriptor: Descriptor) -> Any:
        if type(data) is not Array or len(data.items) != len(descriptor[1]):
            refuse(data, descriptor)
        return tuple(self.parts(data.items, descriptor[1]))

    def parts(self, data: list[Any], descriptors: tuple[Descriptor, ...]) -> list[Any]:
        found = []
        for position, descriptor in enumerate(descriptors):
            found.append(self.within(position, data[position], descriptor))
        return found

    def union_member(self, data: Any, descriptor: Descriptor) -> Any:
        return data if type(data) is str and data in descriptor[1] else refuse(data, descriptor)

    def map_of(self, data: Any, descriptor: Descriptor) -> Any:
        entries = {}
        for name, item in self.entries_of(data, descriptor).items():
            key = self.map_key(name, descriptor[1])
            entries[key_of(key)] = self.within(name, item, descriptor[2])
        return Map(entries)

    def entries_of(self, data: Any, descriptor: Descriptor) -> dict[str, Any]:
        return data.items if type(data) is Map else refuse(data, descriptor)

    def map_key(self, name: str, descriptor: Descriptor) -> Any:
        """A key from its text in an object (L-5.1.7)."""
        key: Any = name
        if descriptor[0] == "int":
            key = read_int(name)
        elif descriptor[0] == "bool":
            key = BOOL_KEYS.get(name)
        elif descriptor[0] == "bytes":
            key = self.bytes_of(name)
        elif descriptor[0] == "union" and name not in descriptor[1]:
            key = None
        return refuse(name, descriptor) if key is None else key

    def result_of(self, data: Any, descriptor: Descriptor) -> Any:
        entries = self.entries_of(data, descriptor)
        if entries.keys() == {"ok"}:
            return Ok(self.within("ok", entries["ok"], descriptor[1]))
        if entries.keys() == {"err"}:
            return Err(self.within("err", entries["err"], descriptor[2]))
        raise Misfit(f'expected {type_text(descriptor)} as {{"ok": …}} or {{"err": …}}')

    def range_of(self, data: Any, descriptor: Descriptor) -> Any:
        entries = self.entries_of(data, descriptor)
        start = self.within("start", entries.get("start"), ("nilable", ("int",)))
        end = self.within("end", entries.get("end"), ("nilable", ("int",)))
        return RangeValue(start, end, self.within("inclusive", entries.get("inclusive", False), ("bool",)))

    def enum_of(self, data: Any, descriptor: Descriptor) -> Any:
        """`{"variant": V, "data": d}` (L-5.1.9), or the name alone of a variant that holds nothing (L-5.1.21)."""
        decl = self.types.enum_type(descriptor[1])
        if type(data) is str:
            number = decl.index.get(data)
            if number is None or decl.variants[number].arity:
                known = ", ".join(f'"{variant.name}"' for variant in decl.variants if not variant.arity)
                raise Misfit(f"expected {type_text(descriptor)}{known and f' as one of {known}'}, found {brief(data, 40)}")
            return EnumValue(decl, number, None)
        entries = self.entries_of(data, descriptor)
        name = entries.get("variant")
        if type(name) is not str or name not in decl.index:
            known = ", ".join(f'"{variant.name}"' for variant in decl.variants)
            raise Misfit(f'expected {type_text(descriptor)} with "variant" one of {known}')
        payload = self.payload(entries.get("data"), decl.variants[decl.index[name]])
        return EnumValue(decl, decl.index[name], payload)

    def payload(self, data: Any, variant: Any) -> Any:
        if variant.fields:
            entries = self.entries_of(data, ("map", ("string",), ("any",)))
            fields = zip(variant.fields, variant.types, strict=True)
            return tuple([self.within(f"data.{name}", entries.get(name), kind) for name, kind in fields])
        if variant.arity == 0:
            return None if data is None else refuse(data, ("nil",))
        if variant.arity == 1:
            return (self.within("data", data, variant.types[0]),)
        return self.within("data", data, ("tuple", variant.types))

    def struct_of(self, data: Any, descriptor: Descriptor) -> Any:
        key = descriptor[1]
        cls = RECORDS.get(key) or self.types.struct_class(key)
        entries = self.entries_of(data, descriptor)
        decl = cls.decl
        found: list[Any] = []
        missing = []
        for position, (name, kind) in enumerate(zip(decl.fields, decl.types, strict=True)):
            default = self.defaults.get(f"{key}.{position}") if name not in entries else None
            if default is not None:
                missing.append((position, default))
                found.append(None)
            elif name not in entries and name in decl.hidden:
                found.append(HIDDEN[kind[0]]())
            elif name not in entries and kind[0] not in ABSENT:
                raise Misfit(f"missing field `{name}` of {type_text(descriptor)}")
            else:
                self.path.append(name)
                found.append(self.build(entries.get(name), kind))
                self.path.pop()
        struct = cls.of(found)
        self.holes.extend((struct, position, default) for position, default in missing)
        return struct


SCALARS: dict[str, Any] = {
    "any": object, "int": int, "float": float, "string": str, "bool": bool, "nil": type(None), "bytes": bytes,
}  # fmt: skip
ABSENT: dict[str, Any] = {"option": NONE, "nilable": None}
# What a hidden field of a record holds where a text leaves it out, as the text of such a record does (L-5.1.17).
HIDDEN: dict[str, Any] = {"int": int, "array": lambda: Array([]), "nilable": lambda: None}
BOOL_KEYS = {"true": True, "false": False}
SEQUENCES: dict[str, Any] = {
    "array": Array, "set": make_set, "queue": lambda items: Queue(deque(items)), "stack": Stack,
}  # fmt: skip
RULES: dict[str, Any] = {
    **dict.fromkeys(SEQUENCES, Builder.sequence), "tuple": Builder.tuple_of,
    "union": Builder.union_member, "map": Builder.map_of, "result": Builder.result_of,
    "range": Builder.range_of, "enum": Builder.enum_of, "struct": Builder.struct_of, "schema": Builder.struct_of,
    "record": Builder.struct_of, "prompt": lambda builder, data, _: builder.struct_of(data, ("record", "Prompt")),
}  # fmt: skip
