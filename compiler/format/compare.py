"""Whether two texts are the same program: equal in everything except where it stands in the file.

Must not know: how either text was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache

from .. import ast
from ..tokens import TokenList

# Operators that stand for two where the grammar wants two (L-1.7.2), or are written for two (`| |`).
_HALVES = {"OROR": ("PIPE", "PIPE"), "QQ": ("QUESTION", "QUESTION"), "GE": ("GT", "EQ")}


def same_tokens(left: TokenList, right: TokenList) -> bool:
    """Whether two texts have the same tokens, commas apart."""
    return list(_essential(left)) == list(_essential(right))


def _essential(tokens: TokenList) -> Iterator[tuple[str, str | int | float]]:
    for kind, value in zip(tokens.types, tokens.values, strict=True):
        if kind in _HALVES:
            yield from ((half, "") for half in _HALVES[kind])
        elif kind != "COMMA":
            yield kind, value if kind in ("IDENT", "INT", "FLOAT", "STRING", "LABEL") else ""


def first_difference(left: ast.Program, right: ast.Program) -> str | None:
    """The first place where the items of two programs differ, in words; None if they are equal."""
    pending: list[tuple[str, object, object]] = [("items", left.items, right.items)]
    while pending:
        where, one, other = pending.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return f"{where}: {len(one)} and {len(other)} of them"
            pending.extend((f"{where}[{at}]", *pair) for at, pair in enumerate(zip(one, other, strict=True)))
        elif type(one) is not type(other):
            return f"{where}: {type(one).__name__} and {type(other).__name__}"
        elif isinstance(one, ast.Node):
            pending.extend((f"{where}.{name}", getattr(one, name), getattr(other, name)) for name in _names(type(one)))
        elif one != other and not (one != one and other != other):
            return f"{where}: {one!r} and {other!r}"
    return None


@cache
def _names(kind: type[ast.Node]) -> tuple[str, ...]:
    """The fields that say what a node is: no positions, nothing a later phase adds. `Pipe.left` stands in `applied`."""
    return tuple(f.name for f in fields(kind) if f.name != "span" and not f.metadata.get("annotation"))
