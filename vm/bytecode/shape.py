"""The shape of each section, field by field (V008): after this, no later phase can meet a value of another Python type.

`check_sections` looks at decoded plain data, `build` and `lower` lead from it to records and back; encoding and assembler use
them, and `concerto inspect` uses `lower`. Hands on also what a type descriptor names (`inner_types`, `inner_functions`,
`default_functions`, `questions`) to hashing and verifier, `inner_types` and `field_rows` to the Python API too, `field_count` and
`DECLARED` to the verifier, `listed_functions` to linking, to the Python API and to `concerto inspect`, `offers` to that API,
and OUTWARD to code generation. A new field of a record needs its checker in `RECORDS`, a new kind of type a row in
`HEADS`. Whether a number is in range is not checked here but by the verifier.
"""

from __future__ import annotations

from .. import memory_steps
from ..declaration_fields import HOSTED, OTHER_PRICES
from . import fields as f
from . import image as i
from .image import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


# ----------------------------------------------------------------
# Type descriptors: the rows of the types section (O-10.6).
#
# A descriptor is a list of a head and its arguments; inner types are indexes into the same section.

# Arguments of a head: T a type index, L a list of type indexes, N a name, O a name that may be missing, W a list of
# texts, F fields [name, type, public] and, where there is one, the function of the default, then the name before, V variants
# [name, payload types, names of the parts of a struct variant…], I impls of a trait [type, [function…]],
# Q numbers of functions, D what a program offers [number, its doc comment].
HEADS: dict[str, str] = {
    "int": "", "float": "", "string": "", "bool": "", "nil": "", "any": "", "never": "", "range": "", "prompt": "", "bytes": "",
    "array": "T", "map": "TT", "option": "T", "result": "TT", "nilable": "T", "set": "T", "queue": "T",
    "stack": "T", "tuple": "L", "fn": "LT", "union": "W",
    "trait": "NI", "errors": "L", "channels": "Q", "by_model": "Q", "offers": "DD",
    "struct": "NF", "schema": "NF", "enum": "NV", "record": "N", "error": "NO", "handle": "N",
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
    "Q": f.listed(f.natural),
    "D": f.listed(f.row(f.natural, f.text)),
}


def _row(form: str) -> f.Checker:
    checkers = [_CHECKERS[letter] for letter in form if letter != "O"]
    return f.row(f.name, *checkers, rest=f.name if "O" in form else None)


_ROWS = {head: _row(form) for head, form in HEADS.items()}


def check_descriptor(value: Any, limits: Limits) -> None:
    """Check the row of one type: its head is known, and its arguments are what that head has. Raises Misshapen."""
    if type(value) is not list or not value or type(value[0]) is not str or value[0] not in HEADS:
        raise f.Misshapen("a type descriptor expected")
    if len(value) > 1 + len(HEADS[value[0]]):
        raise f.Misshapen(f"a type {value[0]} has at most {len(HEADS[value[0]])} arguments")
    _ROWS[value[0]](value, limits)
    if any([type(part) for part in row[3:]] not in ([], [int], [str], [int, str]) for row in field_rows(value)):
        raise f.Misshapen("a field has a name, a type, its visibility, at most one default and then at most one name before")


def inner_types(descriptor: list[Any]) -> Iterator[int]:
    """Yield the type indexes in a descriptor that `check_descriptor` accepts, in order. An index may be outside the section: the
    caller looks."""
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
    """Yield the numbers of the functions of a trait's impls; none for another type. `default_functions` has those of defaults."""
    if descriptor[0] == "trait":
        for _, methods in descriptor[2]:
            yield from methods


def questions(descriptor: list[Any]) -> list[int]:
    """Return the numbers of the functions that an entry lists as channels, or as by models; [] for types (V-3.10)."""
    numbers: list[int] = descriptor[1] if descriptor[0] in ("channels", "by_model") else []
    return numbers


def listed_functions(image: i.Image, kind: str) -> list[i.Function]:
    """Return the functions that a verified image lists as channels (`kind` "channels"), or as by models ("by_model"; V-3.10); []
    where it lists none."""
    return [image.functions[number] for entry in image.types if entry[0] == kind for number in questions(entry)]


def offers(image: i.Image) -> tuple[dict[int, str], dict[int, str]]:
    """Return what a verified image offers (V-3.11): by number the doc comments of its public functions that have one, and those
    of its public models, "" for one without. Both are empty where it offers nothing."""
    rows: list[Any] = next((entry for entry in image.types if entry[0] == "offers"), ["offers", [], []])
    return dict(rows[1]), dict(rows[2])


def field_rows(descriptor: list[Any]) -> list[list[Any]]:
    """Return the rows of the fields of a struct or schema (`F` of HEADS), [] for other types."""
    fields: list[list[Any]] = descriptor[2] if descriptor[0] in ("struct", "schema") else []
    return fields


def default_functions(descriptor: list[Any]) -> Iterator[int]:
    """Return an iterator over the numbers of the functions that compute the defaults of fields (L-5.10.1)."""
    return (row[3] for row in field_rows(descriptor) if len(row) > 3 and type(row[3]) is int)


def field_count(descriptor: list[Any]) -> int | None:
    """Return the number of fields of a struct or schema; None for other types."""
    return len(descriptor[2]) if descriptor[0] in ("struct", "schema") else None


def steps(value: Any, limits: Limits) -> None:
    """Check that there are only known steps of a memory (M-2.13), each with a value that its row takes, and that all of it is
    plain data. Raises Misshapen."""
    if type(value) is not dict:
        raise f.Misshapen("a map of steps expected")
    wrong = memory_steps.problem(value)
    if wrong is not None:
        message, step = wrong
        raise f.Misshapen(message).at(f".{step}") if step else f.Misshapen(message)
    f.plain(value, limits)


# Sections whose entries name something outside of the program, for which the rights of a library count (P-3.2).
OUTWARD = ("models", "agents", "mcp", "hashmaps", "connections")
TIERS = ("persistent", "session", "ephemeral")  # how long the slot of a context lives
CLAUSES = ("needs", "reads")  # how a function uses slots
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
    """Check prices: of tokens in and out, and where set, of cached ones and those written to a cache, and of hosted tools
    (O-1.221, O-1.227)."""
    (ROWS_OF_PRICES.get(len(value), TWO_PRICES) if type(value) is list else TWO_PRICES)(value, limits)


TWO_PRICES = f.row(f.number, f.number)
ROWS_OF_PRICES = {
    2 + count: f.row(f.number, f.number, *[f.optional(f.number)] * count)
    for count in (len(OTHER_PRICES) - len(HOSTED), len(OTHER_PRICES))
}  # fmt: skip


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
    i.Embedder: (f.name, f.mapped(f.plain)),
    i.Index: (f.name, f.natural, f.optional(f.mapped(f.plain)), f.optional(f.mapped(f.plain))),
    i.Library: (
        f.name,
        f.text,  # version
        f.text,  # distribution
        f.listed(f.natural),  # functions
        f.listed(f.row(f.word(*OUTWARD), f.natural)),  # entries
        f.listed(f.text),  # wanted
    ),
    i.Extern: (
        f.name,
        f.name,  # module
        f.name,  # attribute
        f.natural,  # function
        f.boolean,  # is_async
        f.boolean,  # thread
        f.optional(f.natural),  # elements
        f.listed(f.row(f.name, f.mapped(f.plain))),  # decorators
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
    """Raise ImageError V008 with section, entry and field unless decoded data has the shape of an image. Returns nothing and
    changes nothing."""
    if type(value) is not list or len(value) != len(_SECTIONS):
        raise i.ImageError("V008", f"an image has {len(_SECTIONS)} sections")
    for (name, checker), section in zip(_SECTIONS, value, strict=True):
        try:
            checker(section, limits)
        except f.Misshapen as error:
            place = name if str(error)[0] in "[." else f"{name}: "
            raise i.ImageError("V008", f"{place}{error}") from None


def build(value: list[Any]) -> i.Image:
    """Return the image of data that `check_sections` has passed; it holds the lists of the data."""
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
    """Return the data of an image, whose shape is not checked: every record is the list of its fields, every constant a list of
    kind and value, with one bit pattern for all NaNs. All other values are those of the image and no copies."""
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
    """Return the data of a constant; every NaN becomes the one that an image may hold."""
    return [tag, float("nan") if tag == i.K_FLOAT and value != value else value]
