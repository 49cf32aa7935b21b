"""Type descriptors: the rows of the types section (O-10.6).

A descriptor is a list of a head and its arguments; inner types are indexes into the same section. Hands on
`check_descriptor` (shape), `inner_types`, `inner_functions` and `default_functions` (the indexes a descriptor names). Must not
know: what a type means at run time.
"""

from __future__ import annotations

from . import fields as f
from .limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Arguments of a head: T a type index, L a list of type indexes, N a name, O a name that may be missing, W a list of
# texts, F fields [name, type, public] and, where there is one, the function of the default, V variants [name, payload types,
# names of the parts of a struct variant…], I impls of a trait [type, [function…]].
HEADS: dict[str, str] = {
    "int": "", "float": "", "string": "", "bool": "", "nil": "", "any": "", "never": "", "range": "", "prompt": "", "bytes": "",
    "array": "T", "map": "TT", "option": "T", "result": "TT", "nilable": "T", "set": "T", "queue": "T",
    "stack": "T", "tuple": "L", "fn": "LT", "union": "W",
    "trait": "NI", "errors": "L", "struct": "NF", "schema": "NF", "enum": "NV", "record": "N", "error": "NO", "handle": "N",
}  # fmt: skip


def _default_or_was(value: Any, limits: Limits) -> None:
    (f.natural if type(value) is int else f.name)(value, limits)


DECLARED = ("struct", "schema", "enum", "trait")  # a cycle of types must pass through one of these

_CHECKERS: dict[str, f.Checker] = {
    "T": f.natural,
    "L": f.listed(f.natural),
    "N": f.name,
    "W": f.listed(f.text),
    "F": f.listed(f.row(f.name, f.natural, f.boolean, rest=_default_or_was)),
    "V": f.listed(f.row(f.name, f.listed(f.natural), rest=f.name)),
    "I": f.listed(f.row(f.natural, f.listed(f.natural))),
}


def _row(form: str) -> f.Checker:
    checkers = [_CHECKERS[letter] for letter in form if letter != "O"]
    return f.row(f.name, *checkers, rest=f.name if "O" in form else None)


_ROWS = {head: _row(form) for head, form in HEADS.items()}


def check_descriptor(value: Any, limits: Limits) -> None:
    if type(value) is not list or not value or type(value[0]) is not str or value[0] not in HEADS:
        raise f.Misshapen("a type descriptor expected")
    if len(value) > 1 + len(HEADS[value[0]]):
        raise f.Misshapen(f"a type {value[0]} has at most {len(HEADS[value[0]])} arguments")
    _ROWS[value[0]](value, limits)
    if any([type(part) for part in row[3:]] not in ([], [int], [str], [int, str]) for row in field_rows(value)):
        raise f.Misshapen("a field has a name, a type, its visibility, at most one default and then at most one name before")


def inner_types(descriptor: list[Any]) -> Iterator[int]:
    """The type indexes in a well-shaped descriptor."""
    for letter, argument in zip(HEADS[descriptor[0]], descriptor[1:], strict=False):
        if letter == "T":
            yield argument
        elif letter == "L":
            yield from argument
        elif letter == "F":
            yield from (entry[1] for entry in argument)
        elif letter == "V":
            for variant in argument:
                yield from variant[1]
        elif letter == "I":
            yield from (entry[0] for entry in argument)


def inner_functions(descriptor: list[Any]) -> Iterator[int]:
    """The functions a descriptor names: those of the impls of a trait."""
    if descriptor[0] == "trait":
        for _, methods in descriptor[2]:
            yield from methods


def field_rows(descriptor: list[Any]) -> list[list[Any]]:
    """The fields of a struct or schema, none for other types."""
    fields: list[list[Any]] = descriptor[2] if descriptor[0] in ("struct", "schema") else []
    return fields


def default_functions(descriptor: list[Any]) -> Iterator[int]:
    """The functions that give the defaults of fields (L-5.10.1)."""
    return (row[3] for row in field_rows(descriptor) if len(row) > 3 and type(row[3]) is int)


def field_count(descriptor: list[Any]) -> int | None:
    """Number of fields of a struct or schema; None for other types."""
    return len(descriptor[2]) if descriptor[0] in ("struct", "schema") else None
