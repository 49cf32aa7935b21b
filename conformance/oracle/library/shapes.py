"""JSON read as a type (L-7.1.2)."""

from __future__ import annotations

from typing import Any

from ..casts import deep
from ..scopes import Item
from ..types import STRING, NotClaimed, Type, prune, show
from ..values import NONE, Arr, Case, Map, Panic, Rec, Tup, is_good, ok, some
from .functions import json_parse


def parse_as(text: str, t: Type) -> Case:
    """`json::parse_as<T>`."""
    parsed = json_parse(text)
    try:
        return ok(shaped(parsed.payload[0], t)) if is_good(parsed) else parsed
    except (ValueError, Panic) as error:
        raise NotClaimed("the text of a mismatch") from error


def shaped(value: Any, t: Type) -> Any:
    """A JSON value as a `t`; an enum in the shape of L-5.1.9."""
    t = prune(t)
    head = t[0]
    if head == "Nilable":
        return None if value is None else shaped(value, t[1])
    if head == "Option":
        return NONE if value is None else some(shaped(value, t[1]))
    if head in ("Set", "Queue", "Stack", "Result") or isinstance(head, Item) and "variants" in dir(head.node):
        raise NotClaimed(f"parse_as of {show(t)}")
    if head == "Tuple" and type(value) is Arr and len(value) == len(t) - 1:
        return Tup(map(shaped, value, t[1:]))
    if isinstance(head, Item) and isinstance(value, Map):
        if any(f.default is not None and (str, f.name.text) not in value for f in head.node.fields or []):
            raise NotClaimed("parse_as with defaults")
        return Rec(head, {name: field(value, name, type_) for name, type_ in head.parts(t).items()})
    if type(value) is Arr and head == "Array":
        return Arr(shaped(v, t[1]) for v in value)
    if isinstance(value, Map) and head == "Map" and prune(t[1]) == STRING:
        return Map({key: shaped(v, t[2]) for key, v in value.items()})
    if isinstance(value, (Map, Arr)) and head != "Any":
        raise ValueError(f"expected {show(t)}")
    return deep(value, t)


def field(found: Map, name: str, t: Type) -> Any:
    if (str, name) in found:
        return shaped(found[str, name], t)
    if prune(t)[0] in ("Option", "Nilable"):
        return NONE if prune(t)[0] == "Option" else None
    raise ValueError(f"missing field {name}")
