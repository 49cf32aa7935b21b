"""The classes in Python of the structs, schemas and enums that a program declares (P-2.4).

Hands on `DeclaredClasses`, the classes of one program, by `classes_of` to `program`, `session`, `python_modules` and the verb
`stubs`, and through those to `annotations`, `stubs` and `pydantic_models`; `Declared`, a namespace of them, to users as
`Program.types`. The conversion of values makes their instances (`values.py`), which finds them by the `host` of a declaration;
values are converted nowhere else. Classes are made when they are first needed: a program may declare hundreds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from threading import RLock
from typing import Any, Self
from weakref import WeakValueDictionary

from ..vm.bytecode.encoding import content_hash, encode
from ..vm.interp.link import Program
from ..vm.values.objects import EnumType, StructType
from .defaults import known_default
from .interface import Interface
from .python_names import KEPT_BY_MODULES, python_names
from .values import UNKNOWN, Enum, Struct, bare_struct

# Attributes that the classes have for themselves; a field of such a name gets an underscore behind it.
# `dict(value)` asks for `keys`; the other methods of mappings give way to fields.
KEPT_BY_STRUCTS = frozenset({"keys", "type_name", "_type_name", "_fields", "_shape"})
KEPT_BY_VARIANTS = frozenset({"type", "variant", "data", "_shape"})


@dataclass(frozen=True, slots=True, eq=False)
class StructShape:
    """What a class of a struct or schema knows: its declaration `decl`, the classes `home` that it is one of, and `names`, those
    of the fields in Python by those of the program."""

    home: DeclaredClasses
    decl: StructType
    names: dict[str, str]

    def given(self, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields by their names in the program, in the order of the declaration. Raise TypeError for one that the
        declaration lacks; `name` is that of the class."""
        given: dict[str, Any] = {}
        known = {own: own for own in self.names} | {python: own for own, python in self.names.items()}
        for spelled, value in fields.items():
            if spelled not in known:
                raise TypeError(f"{name} has no field {spelled!r}; its fields are {', '.join(self.names.values()) or 'none'}")
            given[known[spelled]] = value
        return {own: given[own] for own in self.names if own in given}

    def completed(self, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Do what `given` does, and add what is left out: None for an optional field, the default where it can be known; one that
        the program computes stays out. Raise TypeError for a field that is needed."""
        given = self.given(name, fields)
        declared = self.home.program.declared
        defaults = declared.field_defaults(self.decl.key)
        types = declared.struct_class(self.decl.key).decl.types
        whole: dict[str, Any] = {}
        for own, kind in zip(self.decl.fields, types, strict=True):
            value = UNKNOWN
            if own in given:
                value = given[own]
            elif own in defaults:
                value = known_default(self.home.program, defaults[own])
            elif kind[0] in ("option", "nilable"):
                value = None
            else:
                raise TypeError(f"{name} lacks the field {self.names[own]!r}")
            if value is not UNKNOWN:
                whole[own] = value
        return whole


class _PydanticType:
    """What Pydantic asks of a class that stands as a type in its models. It is loaded only then."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from .pydantic_models import core_schema_of

        return core_schema_of(cls, handler)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        from .pydantic_models import json_schema_of

        return json_schema_of(cls, handler)


class DeclaredStruct(_PydanticType, Struct):
    """Base of the classes of structs and schemas: `Ticket(topic="x")`, with the defaults of the program for fields that are left
    out. One that the program computes is no attribute until the value has been in the program. Raises TypeError for fields that
    are missing or that the type lacks; their values are checked where one is passed to the program."""

    __slots__ = ()
    _shape: StructShape

    def __init__(self, /, **fields: Any) -> None:
        name = type(self).__name__
        super().__init__(self._shape.decl.name, self._shape.completed(f"{name}()", fields))

    def __getattr__(self, name: str) -> Any:
        if name in self._fields:  # its name in the program, where that is another
            return self._fields[name]
        if name in self._shape.names.values():
            raise AttributeError(f"{type(self).__name__}.{name} was left out: the program computes its default")
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def __repr__(self) -> str:
        names = self._shape.names
        return f"{type(self).__qualname__}({', '.join(f'{names[own]}={value!r}' for own, value in self._fields.items())})"

    def __replace__(self, /, **changes: Any) -> Self:
        changed = self._shape.given(f"{type(self).__name__}()", changes)
        return self._of({**self._fields, **changed})

    def _of(self, fields: dict[str, Any]) -> Self:
        value: Self = bare_struct(type(self), self._type_name, {own: fields[own] for own in self._shape.names if own in fields})
        return value

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._of(deepcopy(self._fields, memo))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return restored, (*self._shape.home.origin(), self._shape.decl.key, self._type_name, self._fields)


@dataclass(frozen=True, slots=True, eq=False)
class EnumShape:
    """What a class of an enum knows: its declaration `decl`, the classes `home` that it is one of, and `variants`, their names in
    Python by those of the program; of a variant also its number, and the names of its parts, in Python by those of the
    program."""

    home: DeclaredClasses
    decl: EnumType
    variants: dict[str, str]
    number: int | None = None
    parts: dict[str, str] = field(default_factory=dict)


class DeclaredEnum(_PydanticType, Enum):
    """Base of the classes of enums, each of which has a class for each of its variants: `Shape.Circle(1.5)`, `Shape.Rect(w=1,
    h=2)`, `Shape.Empty()`. Raises TypeError for parts that the variant does not have, and for a value of the enum without a
    variant."""

    __slots__ = ()
    _shape: EnumShape

    def __init__(self, /, *parts: Any, **named: Any) -> None:
        shape = self._shape
        if shape.number is None:
            name = type(self).__qualname__
            variants = ", ".join(f"{name}.{variant}" for variant in shape.variants.values())
            raise TypeError(f"{name} has no values of its own; make one of {variants or 'its variants, of which it has none'}")
        variant = shape.decl.variants[shape.number]
        super().__init__(shape.decl.name, variant.name, self._data(variant, parts, named))

    def _data(self, variant: Any, parts: tuple[Any, ...], named: dict[str, Any]) -> Any:
        names = self._shape.parts
        name = type(self).__qualname__
        if not variant.fields:
            if named or len(parts) != variant.arity:
                raise TypeError(f"{name} takes {variant.arity} values by position, given {len(parts) + len(named)}")
            return parts if variant.arity > 1 else parts[0] if parts else None
        known = {own: own for own in names} | {python: own for own, python in names.items()}
        unknown = [each for each in named if each not in known]
        given = dict(zip(names, parts, strict=False))
        doubled = [each for each in named if known.get(each) in given]
        given |= {known[each]: value for each, value in named.items() if each in known}
        missing = [names[own] for own in names if own not in given]
        if unknown or doubled or missing or len(parts) > len(names):
            raise TypeError(f"{name} takes the values {', '.join(names.values())}, each once, given {len(parts) + len(named)}")
        return {own: given[own] for own in names}

    def __repr__(self) -> str:
        variant = self._shape.decl.variants[self._shape.number or 0]
        if variant.fields:
            shown = ", ".join(f"{python}={self.data[own]!r}" for own, python in self._shape.parts.items())
        else:
            shown = ", ".join(map(repr, self.data if variant.arity > 1 else (self.data,) if variant.arity else ()))
        return f"{type(self).__qualname__}({shown})"

    def __replace__(self, /, **changes: Any) -> Self:
        if not self._shape.parts:
            raise TypeError(f"the values of {type(self).__qualname__} have no names; make a new one")
        by_name = {python: self.data[own] for own, python in self._shape.parts.items()}
        return type(self)(**{**by_name, **changes})

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied: Self = object.__new__(type(self))
        Enum.__init__(copied, self.type, self.variant, deepcopy(self.data, memo))
        return copied

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return restored, (*self._shape.home.origin(), self._shape.decl.key, self.type, self.variant, self.data)


def restored(module: str | None, digest: str, key: str, name: str, *content: Any) -> Any:
    """Return a pickled value again: `content` are the fields of a struct, or variant and data of an enum. One of a module is of
    the class that the module has now, which is imported; one of another program of that of a program in this process with the
    same content hash, and without one a Struct or Enum. Raise ImportError for a module that is not found, AttributeError for a
    module that is no program any more and for a type that it no longer has, KeyError for a variant that its enum no longer has,
    TypeError for fields that do not fit."""
    home = _PROGRAMS.get(digest)
    if module is not None:
        imported = sys.modules.get(module) or import_module(module)
        home = classes_of(imported.__program__._linked)
        if key not in home.declarations:
            raise AttributeError(f"{module} no longer has a type {name}")
    if home is None:
        return Struct(name, content[0]) if len(content) == 1 else Enum(name, *content)
    made = home.of(home.declarations[key])
    if len(content) == 1:
        return made(**content[0])
    variant, data = content
    return home.enum_value(home.declarations[key], variant, data)


_PROGRAMS: WeakValueDictionary[str, DeclaredClasses] = WeakValueDictionary()


class DeclaredClasses:
    """The classes of one program. `declarations` has the declarations of types by key; a declaration leads back here by its
    `host`, so that values that are converted get their classes. `interface`: what the source says besides, set by `Program`.
    `module`: the name of the module in Python that the program is, None for none. `models`: what `pydantic_models` has made of
    them, None until it is asked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.interface = Interface()
        self.module: str | None = None
        self.declarations: dict[str, Any] = {}
        for made in program.classes:
            declaration = made if isinstance(made, EnumType) else getattr(made, "decl", None)
            if declaration is not None:
                declaration.host = self
                self.declarations[declaration.key] = declaration
        self.models: Any = None  # of Pydantic, once somebody asks for one
        self._names: tuple[dict[str, str], dict[str, str]] | None = None
        self._made: dict[Any, Any] = {}
        self._variants: dict[Any, list[Any]] = {}
        self._lock = RLock()  # two threads would make two classes of one type
        self._digest = ""

    @property
    def functions(self) -> dict[str, str]:
        """The names in Python of the public functions, by their paths."""
        return self._named()[0]

    @property
    def types(self) -> dict[str, str]:
        """The names in Python of the declared types, by their keys."""
        return self._named()[1]

    def _named(self) -> tuple[dict[str, str], dict[str, str]]:
        if self._names is None:
            functions = python_names(sorted(self.program.image.exports.functions), KEPT_BY_MODULES)
            # Functions and types share one space of names in Python.
            self._names = functions, python_names(self.declarations, KEPT_BY_MODULES.union(functions.values()))
        return self._names

    def origin(self) -> tuple[str | None, str]:
        """Return what a pickled value says of its program: the name of its module or None, and the content hash."""
        if not self._digest:
            self._digest = self.program.content_hash or content_hash(encode(self.program.image))
            _PROGRAMS[self._digest] = self
        return self.module, self._digest

    def of(self, declaration: Any) -> Any:
        """Return the class of a declaration of this program: below DeclaredEnum for an EnumType, else below DeclaredStruct; the
        same one each time."""
        made = self._made.get(declaration)
        if made is None:
            with self._lock:
                made = self._made.get(declaration)
                if made is None:
                    make = self._enum if isinstance(declaration, EnumType) else self._struct
                    made = self._made[declaration] = make(declaration)
        return made

    def field_names(self, declaration: StructType) -> dict[str, str]:
        """Return the names in Python of the fields of a struct or schema, by their names in the program."""
        return python_names(declaration.fields, KEPT_BY_STRUCTS)

    def variant_names(self, declaration: EnumType) -> dict[str, str]:
        """Return the names in Python of the variants of an enum, by their names in the program."""
        return python_names(declaration.index, KEPT_BY_VARIANTS)

    def part_names(self, variant: Any) -> dict[str, str]:
        """Return the names in Python of the parts of a variant, by their names in the program; none where they have no names."""
        return python_names(variant.fields, KEPT_BY_VARIANTS)

    def parameter_names(self, path: str) -> dict[str, str]:
        """Return the names in Python of the parameters of a public function, by their names in the program."""
        image = self.program.image
        return python_names(name for name, _, _ in image.functions[image.exports.functions[path]].params)

    def result_of(self, path: str) -> int:
        """Return the number of the type of what a call of a public function gives: of a Result that of its Ok."""
        image = self.program.image
        number = image.functions[image.exports.functions[path]].result
        row = image.types[number]
        return int(row[1] if row[0] == "result" else number)

    def enum_value(self, declaration: EnumType, variant: int | str, data: Any) -> Any:
        """Return the value of an enum, by the number or the name of its variant, with `data` as `Enum` has it, unchecked. Raise
        KeyError for a name that no variant has."""
        self.of(declaration)
        number = declaration.index[variant] if isinstance(variant, str) else variant
        value = object.__new__(self._variants[declaration][number])
        Enum.__init__(value, declaration.name, declaration.variants[number].name, data)
        return value

    def reachable(self, types: Iterable[int]) -> dict[str, None]:
        """Return the keys of the declared types that types of the image lead to, given by their numbers, in the order found."""
        from ..vm.bytecode.shape import inner_types

        found: dict[str, None] = {}
        seen: set[int] = set()
        waiting = list(types)[::-1]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            row = self.program.image.types[number]
            if row[0] in ("struct", "schema", "enum"):
                found[row[1]] = None
            if row[0] != "trait":
                waiting.extend(reversed(list(inner_types(row))))
        return found

    def shown(self) -> list[str]:
        """Return the keys of the types that a module shows, in the order of their declarations: those that are `pub`, those that
        its public functions take or give, and those inside of them."""
        rows = self.program.image.types
        public = [
            number
            for number, row in enumerate(rows)
            if row[0] in ("struct", "schema", "enum") and row[1] in self.interface.types and self.interface.type(row[1]).public
        ]
        used: list[int] = []
        for number in self.program.image.exports.functions.values():
            function = self.program.image.functions[number]
            used += [*(kind for _, kind, _ in function.params), function.result]
        found = self.reachable([*public, *used])
        return [key for key in self.declarations if key in found]

    def _body(self, declaration: Any, name: str, shape: Any) -> dict[str, Any]:
        notes = self.interface.type(declaration.key)
        doc = notes.doc or f"{declaration.name} of the program {self.program.image.header.name}."
        module = self.module or self.program.image.header.name
        return {"__slots__": (), "__module__": module, "__qualname__": name, "__doc__": doc, "_shape": shape}

    def _struct(self, declaration: StructType) -> type[DeclaredStruct]:
        names = self.field_names(declaration)
        name = self.types[declaration.key]
        body = self._body(declaration, name, StructShape(self, declaration, names))
        body["__match_args__"] = tuple(names.values())
        docs = self.interface.type(declaration.key).parts
        body |= {python: _field(own, python, docs.get(own)) for own, python in names.items()}
        return type(name, (DeclaredStruct,), body)

    def _enum(self, declaration: EnumType) -> type[DeclaredEnum]:
        variants = self.variant_names(declaration)
        name = self.types[declaration.key]
        base = type(name, (DeclaredEnum,), self._body(declaration, name, EnumShape(self, declaration, variants)))
        made = []
        docs = self.interface.type(declaration.key).parts
        for number, variant in enumerate(declaration.variants):
            parts = self.part_names(variant)
            shape = EnumShape(self, declaration, variants, number, parts)
            own = variants[variant.name]
            body = {**self._body(declaration, f"{name}.{own}", shape), "__doc__": docs.get(variant.name)}
            properties = _parts(variant, parts)
            body |= {"__match_args__": tuple(properties), **properties}
            made.append(type(own, (base,), body))
            setattr(base, own, made[-1])
        self._variants[declaration] = made
        return base


def classes_of(program: Program) -> DeclaredClasses:
    """Return the classes of a linked program, the same ones for each call."""
    if program.host is None:
        program.host = DeclaredClasses(program)
    classes: DeclaredClasses = program.host
    return classes


def _field(own: str, python: str, doc: str | None) -> property:
    def read(value: Any) -> Any:
        try:
            return value._fields[own]
        except KeyError:
            return value.__getattr__(python)

    return property(read, doc=doc)


def _parts(variant: Any, names: dict[str, str]) -> dict[str, property]:
    """Return the properties of a variant: by the names of its parts, or `_0`, `_1` and so on, as tuples of the language count."""
    if variant.fields:
        return {python: property(_part_of(own)) for own, python in names.items()}
    if variant.arity == 1:
        return {"_0": property(attrgetter("data"))}
    return {f"_{at}": property(_part_of(at)) for at in range(variant.arity)}


def _part_of(part: str | int) -> Callable[[Any], Any]:
    """Return what reads a part of the data of an enum's value."""
    return lambda value: value.data[part]


class Declared:
    """The classes of a program's types as attributes, by their names in Python; AttributeError for another name. Iteration gives
    the names, sorted."""

    __slots__ = ("_classes",)

    def __init__(self, classes: DeclaredClasses) -> None:
        self._classes = classes

    def __getattr__(self, name: str) -> Any:
        if name == "_classes":  # a copy that is being made has none yet
            raise AttributeError(name)
        for key, python in self._classes.types.items():
            if python == name:
                return self._classes.of(self._classes.declarations[key])
        raise AttributeError(f"the program has no type {name!r}; its types are {', '.join(self) or 'none'}")

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._classes.types.values()))

    def __dir__(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<types {', '.join(self) or 'none'}>"
