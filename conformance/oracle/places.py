"""Reading and writing through a chain of `.name`, `.N`, `[index]` (L-5.5.1, L-5.5.5, L-5.6, L-3.7.1).

A write gives the new value of the root: nothing is changed in place. A step is how ("field", "error", "at", "index") and the key.
"""

from __future__ import annotations

from typing import Any

from .library.functions import bounds, clamped, element
from .patterns import part
from .values import Arr, Err, Map, Panic, Rec, Rng, Tup, display, key_of, kind_of


def read(value: Any, how: str, key: Any) -> Any:
    if how == "error" or how == "field" and isinstance(value, (Rec, Map, Err)):
        return value.get((str, key)) if isinstance(value, Map) else part(value, key, how == "error")
    if how == "field":
        raise Panic("P014", f"{kind_of(value)} has no member {key}")
    if type(value) is Tup or type(value) in (Arr, str) and how == "index":
        if isinstance(key, Rng) and type(value) is not Tup:
            start = key.start or 0
            return type(value)(value[clamped(start, max(start, bounds(key).stop), len(value))])
        return value[element(value, key)]
    if isinstance(value, Map) and how == "index":
        if key_of(key) not in value:
            raise Panic("P005", f"key not found: {display(key)}")
        return value[key_of(key)]
    if isinstance(value, Rng) and how == "index" and type(key) is int:
        return (value.start or 0) + element(value, key)
    raise Panic("P007", f"{kind_of(value)} cannot be indexed by {kind_of(key)}")


def write(value: Any, steps: list[Any], new: Any) -> Any:
    """`value` with `new` stored at the end of `steps`."""
    if not steps:
        return new
    (how, key), rest = steps[0], steps[1:]
    if isinstance(value, Map) and how != "at":
        found = key_of(key)
        if rest and found not in value:
            raise Panic("P005", f"key not found: {display(key)}")
        return Map({**value, found: write(value.get(found), rest, new)})
    if type(value) is Tup and how != "field" or type(value) is Arr and how == "index":
        inner = write(value[element(value, key)], rest, new)
        return type(value)((*value[:key], inner, *value[key + 1 :]))
    if how == "field" and isinstance(value, Rec) and key in value.fields:
        return value._replace(fields={**value.fields, key: write(value.fields[key], rest, new)})
    raise Panic("P014" if how == "field" else "P007", f"{kind_of(value)} has no place {key}")


def walk(value: Any, steps: Any, exists: bool = False) -> Any:
    for how, key in steps:
        value = read(value, "index" if exists and isinstance(value, Map) else how, key)
    return value
