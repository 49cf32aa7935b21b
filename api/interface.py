"""What an image does not hold of a program and Python wants to know: documentation, which functions are `async`, which types are
`pub` (P-2.1).

Hands on `Interface` to `program`, `compiled_files` and `declared_classes`, by whose `interface` also `python_modules`, `stubs`
and `pydantic_models` read it; and `interface_of`, which reads it from a checked program, to `program` and the verb `stubs`. It is
JSON data, and kept beside a compiled image. A program that is loaded as an image has `Interface()`, which knows nothing. Types
and defaults are in the image, and read from there (`annotations.py`, `defaults.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..compiler.checker.program import CheckedProgram
    from ..compiler.symbols import EnumSymbol, FunctionSymbol, StructSymbol


@dataclass(frozen=True, slots=True)
class FunctionNotes:
    """Of a public function: its documentation, and whether it is declared `async`."""

    doc: str = ""
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class TypeNotes:
    """Of a declared type: its documentation, whether it is `pub`, and the documentation of its fields, of an enum its variants,
    by name as far as they have one."""

    doc: str = ""
    public: bool = True
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Interface:
    """Notes as rows of JSON data: `functions` by the path that the image exports them under, `types` by their keys in the image.
    A row has the fields of FunctionNotes or TypeNotes in order."""

    functions: dict[str, list[Any]] = field(default_factory=dict)
    types: dict[str, list[Any]] = field(default_factory=dict)

    def function(self, path: str) -> FunctionNotes:
        """Return the notes of a function, empty ones where nothing is known."""
        return FunctionNotes(*self.functions.get(path, ()))

    def type(self, key: str) -> TypeNotes:
        """Return the notes of a type, empty ones, which say that it is `pub`, where nothing is known."""
        return TypeNotes(*self.types.get(key, ()))


def interface_of(checked: CheckedProgram) -> Interface:
    """Return the notes of a program without errors."""
    functions = {_path(f): _function(f) for f in checked.functions if f.declaration.public and f.owner is None}
    types = {_key(symbol): _struct(symbol) for symbol in (*checked.structs, *checked.schemas)}
    return Interface(functions, {**types, **{_key(symbol): _enum(symbol) for symbol in checked.enums}})


def _path(symbol: FunctionSymbol) -> str:
    return "::".join((*(symbol.home.path if symbol.home is not None else ()), symbol.name))


def _key(symbol: StructSymbol | EnumSymbol) -> str:
    type_: Any = symbol.type
    return str(type_.key or type_.name)


def _function(symbol: FunctionSymbol) -> list[Any]:
    return [symbol.declaration.doc or "", symbol.declaration.is_async]


def _struct(symbol: StructSymbol) -> list[Any]:
    node = symbol.declaration
    docs = {each.name.text: each.doc for each in node.fields or () if each.doc}
    described = {name: text for name, text in symbol.descriptions.items() if text}
    return [node.doc or "", node.public, {**docs, **described}]


def _enum(symbol: EnumSymbol) -> list[Any]:
    node = symbol.declaration
    return [node.doc or "", node.public, {each.name.text: each.doc for each in node.variants if each.doc}]
