"""Whether two texts are the same program: equal in everything except where it stands in the file.

Must not know: how either text was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

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


# Where a pair of values stands: what holds it, and its name in there. The words are made only for a difference.
_Place = tuple["_Place | None", str]


def first_difference(left: ast.Program, right: ast.Program) -> str | None:
    """The first place where the items of two programs differ, in words; None if they are equal."""
    pending: list[tuple[_Place, object, object]] = [((None, "items"), left.items, right.items)]
    while pending:
        place, one, other = pending.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return f"{_words(place)}: {len(one)} and {len(other)} of them"
            pairs = enumerate(zip(one, other, strict=True))
            pending.extend(((place, f"[{at}]"), *pair) for at, pair in pairs)
        elif type(one) is not type(other):
            return f"{_words(place)}: {type(one).__name__} and {type(other).__name__}"
        elif isinstance(one, ast.Node):
            names = _names(type(one))
            pending.extend(((place, f".{name}"), getattr(one, name), getattr(other, name)) for name in names)
        elif one != other:
            return f"{_words(place)}: {one!r} and {other!r}"
    return None


def _words(place: _Place | None) -> str:
    names = []
    while place is not None:
        place, name = place
        names.append(name)
    return "".join(reversed(names))


def _names(kind: type[ast.Node]) -> tuple[str, ...]:
    """The fields that say what a node is: no positions, nothing a later phase adds. `Pipe.left` stands in `applied`."""
    names = _NAMES.get(kind)
    if names is None:
        kept = (f.name for f in fields(kind) if f.name != "span" and not f.metadata.get("annotation"))
        names = _NAMES[kind] = tuple(kept)
    return names


_NAMES: dict[type[ast.Node], tuple[str, ...]] = {}
