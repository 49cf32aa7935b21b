"""Values rebuilt by a type: casts (L-3.5), and JSON read as a type (L-7.1.2)."""

from __future__ import annotations

from typing import Any

from .library.functions import parse_float, parse_int
from .scopes import Item
from .types import BOOL, FLOAT, INT, STRING, NotClaimed, Type, has_kind, prune, show, to_float
from .values import NONE, OPTION, RESULT, Arr, Case, Map, Panic, Rec, Tup, display, is_good, saturated, some

MAYBE_FALSE = (bool, type(None), int, float, str, Arr, Map, Tup)


def cast(value: Any, t: Type) -> Any:
    """L-3.5.1 to L-3.5.6."""
    t = prune(t)
    if t == STRING:
        return display(value)
    if t == BOOL:
        is_case = isinstance(value, Case) and value.item in (OPTION, RESULT)
        return is_good(value) if is_case else type(value) not in MAYBE_FALSE or bool(value)
    if t in (INT, FLOAT) and type(value) is str:
        parsed = (parse_int if t == INT else parse_float)(value)
        value = parsed.payload[0] if is_good(parsed) else value
    elif t == INT and type(value) in (float, bool):
        value = saturated(value)
    return deep(value, t)


def deep(value: Any, t: Type, json: bool = False) -> Any:
    """Checked through all elements and fields, Int to Float where asked (L-3.5.6); `json`: of what stood in a JSON text."""
    t = prune(t)
    head, value = t[0], opened(value, t) if json else value
    value = to_float(value) if t == FLOAT else value
    if not has_kind(value, t) or head == "Tuple" and len(value) != len(t) - 1:
        raise Panic("P008", f"cannot cast {display(value)} to {show(t)}")
    if head == "Nilable":
        return None if value is None else deep(value, t[1], json)
    if head == "Map":
        return Map({(k, deep(key, t[1])): deep(v, t[2], json) for (k, key), v in value.items()})
    if head == "Tuple":
        return Tup(deep(v, part, json) for v, part in zip(value, t[1:], strict=True))
    if head in ("Array", "Set", "Queue", "Stack"):
        return type(value)(deep(v, t[1], json) for v in value)
    if head in ("Option", "Result"):
        part = t[2 if value.variant == "Err" else 1]
        return value._replace(payload=value.payload and (deep(value.payload[0], part, json),))
    if isinstance(head, Item) and isinstance(value, Rec):
        return Rec(value.item, {name: deep(value.fields[name], part, json) for name, part in head.parts(t).items()})
    return value


def opened(value: Any, t: Type) -> Any:
    """A JSON value as a `t`, its parts still JSON (L-7.1.2)."""
    head = t[0]
    if head == "Option":
        return NONE if value is None else some(value)
    if head == "Tuple" and type(value) is Arr:
        return Tup(value)
    if head in ("Set", "Queue", "Stack", "Result") or isinstance(head, Item) and hasattr(head.node, "variants"):
        raise NotClaimed(f"parse_as of {show(t)}")
    if not isinstance(head, Item) or not isinstance(value, Map):
        return value
    types = head.parts(t)
    for f in head.node.fields or []:
        optional = f.default is None and prune(types[f.name.text])[0] in ("Option", "Nilable")
        if not optional and (str, f.name.text) not in value:
            raise NotClaimed("parse_as with defaults")
    return Rec(head, {name: value.get((str, name)) for name in types})
