"""What values of a program are in Python, where Python has nothing of the kind itself (O-9.38).

Hands on `Struct`, `Enum`, `Ok`, `Err`, `ErrorValue`, `Handle`. Must not know: the machine's own classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class Struct(Mapping[str, Any]):
    """A struct, a schema value or a record: `s.name`, `s["name"]`, `dict(s)`.

    `Struct("Point", x=1, y=2)` makes one to pass to a program; `Struct("Point", {"x": 1})` does too, for field names that are
    no Python names. A field named like a method of mappings is reached by `s["items"]`.
    """

    __slots__ = ("_fields", "_type_name")
    _fields: dict[str, Any]
    _type_name: str

    def __init__(self, type_name: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_fields", {**(fields or {}), **more})

    @property
    def type_name(self) -> str:
        """The name of the type in the program."""
        return self._type_name

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"{self._type_name} has no field {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("values of a program do not change; make a new Struct")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and other._type_name == self._type_name and other._fields == self._fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self._type_name}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def __reduce__(self) -> tuple[type[Struct], tuple[str, dict[str, Any]]]:
        return Struct, (self._type_name, self._fields)


@dataclass(frozen=True, slots=True)
class Enum:
    """A value of an enum. `data`: None, the value, a tuple of two or more, or a dict of named parts."""

    type: str
    variant: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Ok:
    """`Ok(value)` of a Result."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Err:
    """`Err(value)` of a Result."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """An error of a built-in family: `kind` is the family, `fields` what it carries beside its message."""

    kind: str
    variant: str | None = None
    message: str = ""
    fields: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Handle:
    """A thing of the program by its name: `Handle("HashMap", "prices")`."""

    kind: str
    name: str
