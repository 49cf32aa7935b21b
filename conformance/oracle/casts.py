"""Casts: values rebuilt by a type (L-3.5)."""

from __future__ import annotations

from typing import Any

from .library.functions import parse_float, parse_int
from .scopes import Item
from .types import BOOL, FLOAT, INT, STRING, Type, has_kind, prune, show, to_float
from .values import Arr, Case, Map, Panic, Rec, Tup, display, is_good, saturated


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
    return deep(value, t)


def deep(value: Any, t: Type) -> Any:
    """Checked through all elements and fields, Int to Float where asked (L-3.5.6)."""
    t = prune(t)
    value = to_float(value) if t == FLOAT else value
    if not has_kind(value, t) or t[0] == "Tuple" and len(value) != len(t) - 1:
        raise Panic("P008", f"cannot cast {display(value)} to {show(t)}")
    if t[0] == "Nilable":
        return None if value is None else deep(value, t[1])
    if isinstance(value, Map) and t[0] == "Map":
        return Map({(k, deep(key, t[1])): deep(v, t[2]) for (k, key), v in value.items()})
    if t[0] == "Tuple":
        return Tup(map(deep, value, t[1:]))
    if t[0] in ("Array", "Set", "Queue", "Stack"):
        return type(value)([deep(v, t[1]) for v in value])
    if t[0] in ("Option", "Result"):
        return value._replace(payload=value.payload and (deep(value.payload[0], t[2 if value.variant == "Err" else 1]),))
    if isinstance(t[0], Item) and isinstance(value, Rec):
        types = t[0].parts(t)
        return Rec(value.item, {name: deep(v, types[name]) for name, v in value.fields.items()})
    return value
