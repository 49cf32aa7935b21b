"""Values rebuilt by a type: `as` (L-3.5), and JSON read as a type (L-7.1.2)."""

from __future__ import annotations

from typing import Any

from .builtins import from_json, parse_float, parse_int
from .scopes import Item
from .types import BOOL, FLOAT, INT, STRING, NotClaimed, Type, has_kind, prune, show, to_float
from .values import NONE, Arr, Case, Map, Panic, Rec, Tup, display, failed, is_good, ok, saturated, some


class Unfit(Exception): ...


def cast(value: Any, t: Type) -> Any:
    """L-3.5.1 to L-3.5.6."""
    t = prune(t)
    if t == STRING:
        return display(value)
    if t == BOOL:
        if isinstance(value, Case) and value.item.name in ("Option", "Result"):
            return is_good(value)
        return value is not None and (type(value) not in (bool, int, float, str, Arr, Map, Tup) or value != value or bool(value))
    if t in (INT, FLOAT) and type(value) is str:
        parsed = parse_int(value) if t == INT else parse_float(value)
        if is_good(parsed):
            return parsed.payload[0]
    elif t == INT and type(value) in (float, bool):
        return saturated(value)
    else:
        try:
            return deep(value, t)
        except Unfit:
            pass
    raise Panic("P008", f"cannot cast {display(value)} to {show(t)}")


def deep(value: Any, t: Type) -> Any:
    """Checked through all elements and fields, Int to Float where asked (L-3.5.6)."""
    t = prune(t)
    value = to_float(value) if t == FLOAT else value
    if not has_kind(value, t):
        raise Unfit
    if t[0] == "Nilable":
        return None if value is None else deep(value, t[1])
    if isinstance(value, Map) and t[0] == "Map":
        return Map({(k, deep(key, t[1])): deep(v, t[2]) for (k, key), v in value.items()})
    if t[0] == "Tuple":
        if len(value) != len(t) - 1:
            raise Unfit
        return Tup(map(deep, value, t[1:]))
    if t[0] in ("Array", "Set", "Queue", "Stack"):
        return type(value)([deep(v, t[1]) for v in value])
    if t[0] in ("Option", "Result"):
        return value._replace(payload=value.payload and (deep(value.payload[0], t[2 if value.variant == "Err" else 1]),))
    if isinstance(t[0], Item) and isinstance(value, Rec):
        types = t[0].fields(t)
        return Rec(value.item, {name: deep(v, types[name]) for name, v in value.fields.items()})
    return value


def parse_as(text: str, t: Type) -> Case:
    """`json::parse_as<T>`."""
    try:
        return ok(shaped(from_json(text), t))
    except (ValueError, Unfit) as error:
        return failed("JsonError", str(error), line=getattr(error, "lineno", 1), column=getattr(error, "colno", 1))


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
        return Rec(head, {name: field(value, name, type_) for name, type_ in head.fields(t).items()})
    if type(value) is Arr and head == "Array":
        return Arr(shaped(v, t[1]) for v in value)
    if isinstance(value, Map) and head == "Map" and prune(t[1]) == STRING:
        return Map({key: shaped(v, t[2]) for key, v in value.items()})
    if isinstance(value, (Map, Arr)) and head != "Any":
        raise Unfit(f"expected {show(t)}")
    return deep(value, t)


def field(found: Map, name: str, t: Type) -> Any:
    if (str, name) in found:
        return shaped(found[str, name], t)
    if prune(t)[0] in ("Option", "Nilable"):
        return NONE if prune(t)[0] == "Option" else None
    raise Unfit(f"missing field {name}")
