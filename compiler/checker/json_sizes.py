"""How much a JSON form is when it is written out: a schema that stands in two fields stands in an image, and in every request,
twice (O-2.11, G-5.13).

Hands on `check_size`. Must not know: what has a JSON form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..source import Span
from ..symbols import StructSymbol
from ..types import Generic, Nominal, Type
from .context import FORM_FIELDS, Checker
from .generics import parts_in

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 96  # levels of JSON; an image has room for 128
Size = tuple[int, int]  # fields, levels


def check_size(c: Checker, type_: Type, place: Span) -> None:
    """E0114 where the forms of the program are too large together, or this one nests too deep."""
    if c.form_room < 0:
        return  # reported
    fields, levels = _size(c, type_, set())
    c.form_room -= fields
    if levels > DEEPEST:
        c.form_room = -1  # one report is enough
        message = f"the JSON form of `{type_}` nests more than {DEEPEST} levels deep"
        c.report("E0114", place, message, help="let an inner schema be a String that holds JSON, or make it flatter")
    elif c.form_room < 0:
        message = f"with `{type_}` the schemas of the program have more than {FORM_FIELDS:,} fields, each nested one written out"
        c.report("E0114", place, message, help="name what is nested by an id, or let it be a String that holds JSON")


def _size(c: Checker, type_: Type, around: set[Type]) -> Size:
    """A type met again inside itself is a reference."""
    if isinstance(type_, Generic):
        fields, levels = _whole(_size(c, argument, around) for argument in type_.arguments)
        return fields, levels + (2 if type_.name == "Option" else 1)
    symbol = c.declared(type_) if isinstance(type_, Nominal) else None
    if not isinstance(symbol, StructSymbol) or type_ in around or len(around) > DEEPEST:
        return 1, 1
    known = c.form_sizes.get(type_)
    if known is None:
        around.add(type_)
        fields, levels = _whole(_size(c, part, around) for _, part, _, _ in parts_in(c, symbol, type_))
        around.discard(type_)
        known = c.form_sizes[type_] = min(fields + 1, 2 * FORM_FIELDS + c.form_room), levels + 3
    return known


def _whole(sizes: Iterable[Size]) -> Size:
    """Of parts side by side."""
    fields, levels = 0, 0
    for more, deep in sizes:
        fields, levels = fields + more, max(levels, deep)
    return fields, levels
