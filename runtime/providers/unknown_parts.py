"""Parts of streamed messages that nothing here reads, put together so that they can go back as they came (O-1.209).

Hands on `merge` and `joined`. Must not know: wires, what any part means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Any

    Json = dict[str, Any]

# Texts of a stream grow; these are said again with every piece of one thing.
SAID_AGAIN = frozenset(("index", "id", "type", "format", "role", "name", "object"))


class GrowingText:
    """Joined once: a text of many thousand pieces would be copied with each of them."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


def merge(whole: Json, piece: Json, known: Set[str] = frozenset()) -> None:
    """Add to `whole` what a piece of a stream has under keys that are not `known`: texts grow, maps and numbered elements merge,
    of anything else the last one holds. `joined` reads it."""
    for key, value in piece.items():
        if key in known or value is None:
            continue
        before = whole.get(key)
        if type(value) is str and key not in SAID_AGAIN:
            if type(before) is GrowingText:
                before.pieces.append(value)
            else:
                whole[key] = GrowingText(value)
        elif type(value) is dict:
            if type(before) is not dict:
                before = whole[key] = {}
            merge(before, value)
        elif type(value) is list:
            if type(before) is not list:
                before = whole[key] = []
            _merge_elements(before, value)
        else:
            whole[key] = value


def _merge_elements(whole: list[Any], pieces: list[Any]) -> None:
    at = {element["index"]: element for element in whole if type(element) is dict and type(element.get("index")) is int}
    for piece in pieces:
        if type(piece) is not dict:
            whole.append(piece)
            continue
        number = piece.get("index")
        element = at.get(number) if type(number) is int else None
        if element is None:
            element = {}
            whole.append(element)
            if type(number) is int:
                at[number] = element
        merge(element, piece)


def joined(value: Any) -> Any:
    """What was merged, as JSON."""
    if type(value) is GrowingText:
        return "".join(value.pieces)
    if type(value) is dict:
        return {key: joined(part) for key, part in value.items()}
    return [joined(part) for part in value] if type(value) is list else value
