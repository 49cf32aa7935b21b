"""From the cells of a row to the arguments of the function (S-2.1).

Hands on `Binding`, what a function takes of a row, to `batch.py` and `run.py`, and `Misfit`, for columns that cannot fit whatever
the row, to the former. Types are checked where the arguments are made, by the conversion of O-9.38; here columns find their
parameters or fields, cells that are texts (CSV) become what these say, and lists of JSON tuples where one is wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..vm.interp.link import Program
from ..vm.values.arithmetic import read_float

RECORDS = ("struct", "schema", "record", "map")
_STRING = ("string",)
TRUTHS = {"true": True, "false": False}


class Misfit(Exception):
    """The function cannot be called with such rows; the text says why, and the way out."""


class Binding:
    """What the public function `function` of a program takes of a row. A function with one parameter of a struct, schema, record
    or Map takes the row whole (`whole` is the name of that parameter, else None), any other takes columns by the names of its
    parameters. `number` is that of the function in the image, `types` the type descriptors of the parameters by name, `required`
    the names of those without a default. The columns in `left_out` are for others, such as that of the key. Raises Misfit for a
    name that is no public function."""

    def __init__(self, program: Program, function: str, left_out: Iterable[str] = ()) -> None:
        functions = program.image.exports.functions
        if function not in functions:
            names = ", ".join(sorted(functions)) or "none; declare one with `pub fn`"
            raise Misfit(f"the program has no public function {function!r}; public functions: {names}")
        self.function = function
        self.number = functions[function]
        self.types = {name: program.descriptors[kind] for name, kind, _ in program.image.functions[self.number].params}
        self.required = [name for name, _, default in program.image.functions[self.number].params if default is None]
        self._left_out = frozenset(left_out)
        only = next(iter(self.types.items())) if len(self.types) == 1 else None
        self.whole = only[0] if only is not None and only[1][0] in RECORDS else None
        self._fields: dict[str, Any] = {}
        # What a column means that has no name of its own: one of a Map.
        self._other: tuple[Any, ...] = self.types[self.whole][2] if self.whole and self.types[self.whole][0] == "map" else _STRING
        if self.whole is not None and self.types[self.whole][0] in ("struct", "schema"):
            declared = program.declared.struct_class(self.types[self.whole][1]).decl
            self._fields = dict(zip(declared.fields, declared.types, strict=True))

    def takes(self, column: str) -> bool:
        """Return whether the function takes a column of that name."""
        return column in self._fields if self._fields else self.whole is not None or column in self.types

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise Misfit for columns of a header that no row can be called with."""
        known = set(self._fields if self.whole is not None else self.types)
        if self.whole is not None and not self._fields:
            return  # a Map takes any
        unknown = [name for name in columns if name not in known and name not in self._left_out]
        lacking = [] if self.whole is not None else [name for name in self.required if name not in columns]
        if unknown:
            known_names = ", ".join(known) or "none"
            text = f"no parameter of {self.function} takes the column {unknown[0]!r} (it has: {known_names})"
            raise Misfit(f"{text}; rename it, or leave it out with --ignore {unknown[0]}")
        if lacking:
            raise Misfit(f"{self.function} needs the column {lacking[0]!r}; the columns are {', '.join(columns)}")

    def arguments(self, cells: Mapping[str, Any], texts: bool) -> dict[str, Any]:
        """Return the arguments by name, of the cells by column; `texts` says that cells are texts, to be read by the types of the
        parameters, of the fields, or of the values of a Map (CSV). Raise TypeError for a column that no parameter takes, and for
        a text that is none of the parameter's type."""
        taken = {name: cell for name, cell in cells.items() if name not in self._left_out}
        types = self._fields if self.whole is not None else self.types
        if texts:
            read = {name: _read(name, cell, types.get(name, self._other)) for name, cell in taken.items()}
            taken = {name: cell for name, cell in read.items() if cell is not _ABSENT}
        if self.whole is not None:
            return {self.whole: {name: _tuples(cell, types.get(name, self._other)) for name, cell in taken.items()}}
        unknown = [name for name in taken if name not in self.types]
        if unknown:
            raise TypeError(f"no parameter of {self.function} takes the column {unknown[0]!r}")
        return {name: _tuples(cell, self.types[name]) for name, cell in taken.items()}


_ABSENT = object()


def _read(name: str, cell: str, expected: tuple[Any, ...]) -> Any:
    """Return what the text of a cell means for a type. An empty one that is no text is left out."""
    head = expected[0]
    if head in ("string", "union", "prompt", "any"):
        return cell
    if head in ("option", "nilable"):
        return None if cell == "" else _read(name, cell, expected[1])
    if cell == "":
        return _ABSENT
    try:
        # Digits as `parse_int` and `parse_float` take them: Python's own also reads 1_000, and digits of other scripts.
        if head == "int" and _INT.fullmatch(cell):
            return int(cell)
        if head == "float" and (number := read_float(cell)) is not None:
            return number
        if head in ("int", "float"):
            raise ValueError
        if head == "bool":
            return TRUTHS[cell.lower()]
        if head == "enum" and not cell.startswith("{"):
            return cell
        return json.loads(cell)
    except (ValueError, KeyError, RecursionError):
        raise TypeError(f"the column {name!r}: {cell[:100]!r} is no {_WORDS.get(head, 'JSON')}") from None


_INT = re.compile(r"\s*[+-]?[0-9]+\s*")
_WORDS = {"int": "Int", "float": "Float", "bool": "Bool: write true or false"}


def _tuples(cell: Any, expected: tuple[Any, ...]) -> Any:
    """Return a list of JSON as the tuple that a parameter is."""
    return tuple(cell) if expected[0] == "tuple" and isinstance(cell, list) else cell
