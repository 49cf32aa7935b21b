"""Built-ins as the image names them: (receiver kind, method), ("", function), (type, associated function) and
("std::module", function).

Hands on `row_of` and `performed_row`, with `ARITY` and `PERFORMED`, the verifier's tables of their argument counts. Rows are
parsed only when asked for.
"""

from __future__ import annotations

from .registry import ASSOCIATED, FUNCTIONS, METHODS, Row, lookup
from .std import STD_PREFIX, std_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def row_of(receiver: str, name: str) -> Row | None:
    """The row an image may call with CALL_BUILTIN: one with a Python body."""
    row = _row(receiver, name)
    return row if row is not None and row.body is not None else None


def performed_row(receiver: str, name: str) -> Row | None:
    """The row an image may call with CALL_HOST: one of an effect."""
    row = _row(receiver, name)
    return row if row is not None and row.kind == "effect" else None


def _row(receiver: str, name: str) -> Row | None:
    if receiver.startswith(STD_PREFIX):
        return std_row(receiver.removeprefix(STD_PREFIX), name)
    if receiver:
        return lookup(receiver, name) or ASSOCIATED.get((receiver, name))
    return FUNCTIONS.get(name)


def takes_receiver(receiver: str, name: str) -> bool:
    return bool(receiver) and not receiver.startswith(STD_PREFIX) and lookup(receiver, name) is not None


def methods_named(name: str) -> Iterator[tuple[str, Row]]:
    """(receiver kind, row) of every method of that name."""
    for (receiver, method), row in METHODS.items():
        if method == name:
            yield receiver, row


class Arity(dict[tuple[str, str], int]):
    """Arguments of a built-in that `find` knows, receiver included; an entry is made when it is first asked for."""

    def __init__(self, find: Callable[[str, str], Row | None]) -> None:
        super().__init__()
        self.find = find

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self.find(*key) is not None

    def __missing__(self, key: tuple[str, str]) -> int:
        row = self.find(*key)
        if row is None:
            raise KeyError(key)
        self[key] = len(row.parameters) + takes_receiver(*key) + row.takes_schema
        return self[key]

    def get(self, key: tuple[str, str], default: int = 0) -> int:  # type: ignore[override]
        return self[key] if key in self else default  # noqa: SIM401 -- `get` itself


ARITY = Arity(row_of)
PERFORMED = Arity(performed_row)
