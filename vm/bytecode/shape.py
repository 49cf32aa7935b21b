"""The shape of each section, field by field (V008): after this, no later phase can meet a value of another Python type.

Hands on `check_sections` (decoded plain data) and `build` and `lower` (between that data and records). Must not
know: bytes; which numbers are in range (the verifier's question).
"""

from __future__ import annotations

from . import fields as f
from . import image as i
from .descriptors import check_descriptor
from .limits import Limits
from .memory_steps import steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TIERS = ("persistent", "session", "ephemeral")
CLAUSES = ("needs", "reads")
CONSTANTS: dict[int, f.Checker] = {
    i.K_INT: f.int64,
    i.K_FLOAT: f.float64,
    i.K_STRING: f.text,
    i.K_VARIANT: f.row(f.natural, f.natural),
    i.K_METHOD: f.row(f.name, f.natural, rest=f.name),
    i.K_BUILTIN: f.row(f.name, f.name),
    i.K_ERROR: f.row(f.name, f.optional(f.name), rest=f.name),
    i.K_CONFIG: f.row(f.name, f.natural, f.name),
}


def _constant(value: Any, limits: Limits) -> None:
    if type(value) is not list or len(value) != 2:
        raise f.Misshapen("a kind and a value expected")
    if type(value[0]) is not int or value[0] not in CONSTANTS:
        raise f.Misshapen(f"{value[0]!r} is no kind of constant")
    CONSTANTS[value[0]](value[1], limits)


def _prices(value: Any, limits: Limits) -> None:
    """Of a million tokens in and out, and where one is set, those cached and those written to a cache (O-1.221)."""
    (ALL_PRICES if type(value) is list and len(value) == 4 else TWO_PRICES)(value, limits)


TWO_PRICES = f.row(f.number, f.number)
ALL_PRICES = f.row(f.number, f.number, f.optional(f.number), f.optional(f.number))


# Per record, a checker for each of its fields in order.
RECORDS: dict[type[i.Record], tuple[f.Checker, ...]] = {
    i.Header: (
        f.row(f.natural, f.natural),  # format
        f.natural,  # opcodes
        f.natural,  # std
        f.name,  # compiler
        f.name,  # name
        f.optional(f.natural),  # entry
        f.listed(f.text),  # wanted
        f.mapped(f.number),  # budgets
        f.mapped(_prices),  # pricing
    ),
    i.Function: (
        f.name,
        f.listed(f.row(f.name, f.natural, f.optional(f.natural)), "parameters"),  # params
        f.natural,  # result
        f.natural,  # slots
        f.listed(f.natural),  # captures
        f.natural,  # cells
        f.natural,  # stack
        f.natural,  # flags
        f.binary,  # code
        f.listed(f.row(f.natural, f.natural, f.natural, f.natural)),  # handlers
        f.binary,  # lines
        f.digest,  # hash
    ),
    i.Schema: (f.name, f.natural, f.plain, f.plain, f.optional(f.plain), f.listed(f.natural)),
    i.Model: (
        f.name,
        f.name,  # connection
        f.mapped(f.plain),
        f.optional(f.natural),  # computed
        f.optional(f.one_or_more(f.natural)),  # memory
        f.listed(f.row(f.name, f.natural, f.listed(f.text))),  # tools
        f.listed(f.row(f.name, f.mapped(f.plain))),  # decorators
    ),
    i.Tool: (
        f.name,
        f.text,  # description
        f.natural,  # state
        f.listed(f.row(f.name, f.natural, f.text, f.text, f.plain, f.plain, f.optional(f.text), f.optional(f.text))),  # methods
    ),
    i.Mcp: (f.name, f.mapped(f.plain), f.listed(f.row(f.name, f.text, f.optional(f.text), f.plain, f.plain))),
    i.Agent: (f.name, f.mapped(f.plain), f.listed(f.row(f.name, f.mapped(f.plain)))),
    i.Connection: (f.name, f.mapped(f.plain)),
    i.HashMap: (f.name, f.natural, f.natural, f.optional(f.text), f.optional(f.plain)),
    i.Ledger: (f.name,),
    i.Memory: (f.name, f.optional(f.positive), steps, f.optional(f.natural), f.optional(f.natural)),
    i.Context: (
        f.name,
        f.listed(f.row(f.word(*TIERS), f.name, f.natural, f.boolean, f.optional(f.natural), rest=f.name)),  # slots
        f.listed(f.row(f.natural, f.word(*CLAUSES), f.name, f.listed(f.name))),  # uses
    ),
    i.Pipeline: (
        f.name,
        f.natural,  # input
        f.natural,  # output
        f.listed(f.row(f.name, f.optional(f.natural), f.natural, f.listed(f.row(f.name, f.mapped(f.plain))), f.natural)),
    ),
    i.Test: (f.text, f.natural, f.boolean, f.optional(f.text)),
    i.Exports: (f.mapped(f.natural), f.listed(f.natural)),
}


def _record(kind: type[i.Record]) -> f.Checker:
    checkers = RECORDS[kind]
    assert len(checkers) == len(kind.__slots__)

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not list or len(value) != len(checkers):
            raise f.Misshapen(f"{len(checkers)} fields expected")
        index = -1
        try:
            for checker in checkers:
                index += 1
                checker(value[index], limits)
        except f.Misshapen as error:
            raise error.at(f".{kind.__slots__[index]}") from None

    return check


def _unknown(value: Any, limits: Limits) -> None:
    raise f.Misshapen("this version knows no entries of this section")


# Sections that are no list of records.
_PLAIN_SECTIONS: dict[str, f.Checker] = {
    "constants": f.listed(_constant, "constants"),
    "types": f.listed(check_descriptor),
    "source_map": f.listed(f.row(f.text, f.digest)),
    "names": f.listed(f.listed(f.row(f.name, f.natural, f.natural, f.natural)), "functions"),
    "source": f.listed(f.source_text),
}
_SINGLE = (i.Header, i.Exports)  # sections that are one record, not a list of them


def _section(name: str, kind: type[i.Record] | None) -> f.Checker:
    if kind is None:
        return _PLAIN_SECTIONS.get(name) or f.listed(_unknown)
    if kind in _SINGLE:
        return _record(kind)
    return f.listed(_record(kind), "functions" if kind is i.Function else "")


_SECTIONS = tuple((name, _section(name, kind)) for name, kind in i.SECTIONS)


def check_sections(value: Any, limits: Limits) -> None:
    """ImageError V008 with section, entry and field unless `value` has the shape of an image."""
    if type(value) is not list or len(value) != len(_SECTIONS):
        raise i.ImageError("V008", f"an image has {len(_SECTIONS)} sections")
    for (name, checker), section in zip(_SECTIONS, value, strict=True):
        try:
            checker(section, limits)
        except f.Misshapen as error:
            place = name if str(error)[0] in "[." else f"{name}: "
            raise i.ImageError("V008", f"{place}{error}") from None


def build(value: list[Any]) -> i.Image:
    """Records of checked data."""
    sections = []
    for (name, kind), section in zip(i.SECTIONS, value, strict=True):
        if name == "constants":
            section = [(tag, inner) for tag, inner in section]
        elif kind in _SINGLE:
            section = kind(*section)
        elif kind is not None:
            section = [kind(*entry) for entry in section]
        sections.append(section)
    return i.Image(*sections)


def lower(image: i.Image) -> list[Any]:
    """The data of an image: every record is the list of its fields."""
    sections = []
    for (_, kind), section in zip(i.SECTIONS, image.values(), strict=True):
        if kind in _SINGLE:
            sections.append(section.values())
        elif section is image.constants:
            sections.append([_one_nan(tag, value) for tag, value in section])
        elif kind is None:
            sections.append(section)
        else:
            sections.append([entry.values() for entry in section])
    return sections


def _one_nan(tag: int, value: Any) -> list[Any]:
    """A constant; arithmetic gives NaNs of several patterns, an image holds one."""
    return [tag, float("nan") if tag == i.K_FLOAT and value != value else value]
