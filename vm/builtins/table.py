"""Built-ins as the image names them: (receiver kind, method), ("", function), (type, associated function) and
("std::module", function).

Hands on `row_of` and `ARITY`, the verifier's table of argument counts. Rows are parsed only when asked for.
"""

from __future__ import annotations

from .registry import ASSOCIATED, FUNCTIONS, METHODS, Row, lookup
from .std import STD_PREFIX, std_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def row_of(receiver: str, name: str) -> Row | None:
    """The row an image may call with CALL_BUILTIN: one with a Python body."""
    if receiver.startswith(STD_PREFIX):
        row = std_row(receiver.removeprefix(STD_PREFIX), name)
    elif receiver:
        row = lookup(receiver, name) or ASSOCIATED.get((receiver, name))
    else:
        row = FUNCTIONS.get(name)
    return row if row is not None and row.body is not None else None


def takes_receiver(receiver: str, name: str) -> bool:
    return bool(receiver) and not receiver.startswith(STD_PREFIX) and lookup(receiver, name) is not None


def methods_named(name: str) -> Iterator[tuple[str, Row]]:
    """(receiver kind, row) of every method of that name."""
    for (receiver, method), row in METHODS.items():
        if method == name:
            yield receiver, row


class Arity(dict[tuple[str, str], int]):
    """Arguments of a built-in, receiver included; an entry is made when it is first asked for."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and row_of(*key) is not None

    def __missing__(self, key: tuple[str, str]) -> int:
        row = row_of(*key)
        if row is None:
            raise KeyError(key)
        self[key] = len(row.parameters) + takes_receiver(*key)
        return self[key]

    def get(self, key: tuple[str, str], default: int = 0) -> int:  # type: ignore[override]
        return self[key] if key in self else default  # noqa: SIM401 -- `get` itself


ARITY = Arity()
