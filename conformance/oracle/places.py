"""Reading and writing through a chain of `.name`, `.N`, `[index]` (L-5.5.1, L-5.5.5, L-5.6, L-3.7.1).

A write gives the new value of the root: nothing is changed in place.
"""

from __future__ import annotations

from typing import Any

from .members import bounds, clamped, length
from .patterns import field_of_error
from .values import Arr, Err, Mapping, Panic, Rng, Struct, Tup, key_of, kind_of

Step = tuple[str, Any, int]  # how ("field", "at" or "index"), the key, the line


def _element(items: Any, index: Any, line: int) -> Any:
    if type(index) is not int:
        raise Panic("P007", f"expected Int, found {kind_of(index)}", line)
    if not 0 <= index < len(items):
        raise Panic("P004", f"index out of range: {index} of {len(items)}", line)
    return items[index]


def read(value: Any, step: Step) -> Any:
    how, key, line = step
    if how == "field":
        return _field(value, key, line)
    if isinstance(value, (Arr, Tup, str)) and (how == "index" or isinstance(value, Tup)):
        items = value if isinstance(value, str) else value.items
        return _slice(value, key) if isinstance(key, Rng) and not isinstance(value, Tup) else _element(items, key, line)
    if isinstance(value, Mapping) and how == "index":
        if key_of(key, line) not in value.entries:
            raise Panic("P005", f"key not found: {key}", line)
        return value.entries[key_of(key, line)]
    if isinstance(value, Rng) and how == "index" and type(key) is int:
        if not 0 <= key < length(bounds(value)):
            raise Panic("P004", f"index out of range: {key} of {length(bounds(value))}", line)
        return (value.start or 0) + key
    raise Panic("P007", f"{kind_of(value)} cannot be indexed by {kind_of(key)}", line)


def _slice(value: Any, r: Rng) -> Any:
    """L-5.6.2; `bounds` of a range gives its ends exactly."""
    items = value if isinstance(value, str) else value.items
    ends = bounds(r)
    start = r.start or 0
    part = items[clamped(start, max(start, ends.stop), len(items))]
    return part if isinstance(value, str) else Arr(part)


def _field(value: Any, name: str, line: int) -> Any:
    if isinstance(value, Struct):
        return value.fields.get(name)
    if isinstance(value, Mapping):
        return value.entries.get(("String", name))
    if isinstance(value, Err):
        return field_of_error(value, name)
    raise Panic("P014", f"{kind_of(value)} has no member {name}", line)


def write(value: Any, steps: list[Step], new: Any) -> Any:
    """`value` with `new` stored at the end of `steps`."""
    if not steps:
        return new
    (how, key, line), rest = steps[0], steps[1:]
    if isinstance(value, Mapping) and how != "at":
        found = key_of(key, line)
        if rest and found not in value.entries:
            raise Panic("P005", f"key not found: {key}", line)
        return Mapping({**value.entries, found: write(value.entries.get(found), rest, new)})
    if isinstance(value, (Arr, Tup)) and (how == "index" or how == "at" and isinstance(value, Tup)):
        inner = write(_element(value.items, key, line), rest, new)
        return type(value)((*value.items[:key], inner, *value.items[key + 1 :]))
    if how == "field" and isinstance(value, Struct) and key in value.fields:
        return value._replace(fields={**value.fields, key: write(value.fields[key], rest, new)})
    code = "P014" if how == "field" else "P007"
    raise Panic(code, f"{kind_of(value)} has no place {key}", line)
