"""Methods of declared hashmaps that translated code writes out (O-5.2 to O-5.4): which, and how a store is named.

Must not know: how calls leave, what a write does (`library`).
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stack import Entry, Kind

HANDLE = f"K{BY_NAME['HASHMAP'].number}_"
# Each with the number of its arguments.
WRITTEN_OUT = {"get": 1, "has": 1, "len": 0, "is_empty": 0, "set": 2, "delete": 1}


def hashmap_of(text: str) -> int:
    """The number of the hashmap that an expression names, else -1."""
    return int(text[len(HANDLE) :]) if text.startswith(HANDLE) else -1


def class_test(part: Entry, kind: Kind) -> str | None:
    """What makes sure that a value is of the class that a store holds: "" where it is, None where other classes may be."""
    if kind[0] not in ("int", "string"):
        return None
    return "" if part.sure and part.kind[0] == kind[0] else f"type({part.text}) is {'int' if kind[0] == 'int' else 'str'}"


def store_text(name: str) -> str:
    """A session may go on with the stores of another one, so that each use looks its store up."""
    return f"MACHINE.stores.hashmaps[{name!r}]"
