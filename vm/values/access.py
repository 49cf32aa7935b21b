"""Reading and writing inside values: indexes, slices, members (L-5.6, L-5.5.5, L-3.7.1, L-3.7.2).

Hands on the generic reads `index`, `get_member`, `get_error_member`, `slice_of` and `length`, the writes `store_index`,
`store_member`, `map_store` and `with_element`, `fit_length`, and the functions that raise a panic (`index_out_of_range`,
`key_not_found`), to both tiers, the interpreter and translated code, and to built-ins; `get_error_member` to the session too.
Whether a type has a member is for the checker; here it is found at run time. A write expects a container that is already owned;
`store_index` and `store_member` give back what now stands in its place (a tuple is replaced, the others change). A read of one
element gives the element itself; binding it elsewhere is where it is marked as shared. Positions count from 0: items, code
points of a String, bytes of Bytes.
"""

from __future__ import annotations

from ..panics import Panic
from .containers import Array, Map, Queue, RangeValue, Set, Stack, key_of, share_all
from .errors import ErrorValue
from .handles import HashMapRef
from .limits import INT_MAX, collection_too_long, limits
from .objects import EnumValue, Struct
from .text import brief, display
from .types import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def index_out_of_range(position: int, length: int) -> NoReturn:
    """Raise P004, for a position, from 0, outside of a value of that length."""
    raise Panic("P004", f"index out of range: index {position}, length {length}")


def key_not_found(key: Any) -> NoReturn:
    """Raise P005, for a key of the program."""
    raise Panic("P005", f"key not found: {brief(key)}")


def no_such_member(value: Any, name: str) -> NoReturn:
    """Raise P014, for a member that the value does not have."""
    raise Panic("P014", f"{typeof(value)} has no member `{name}`")


def element(items: Any, position: Any) -> Any:
    """Return `items[position]` of a list, str, tuple or bytes. Raises P004 for a position out of range, which a negative one
    always is (L-5.6.1), P007 for one that is no Int."""
    if type(position) is not int:
        raise Panic("P007", f"expected an index of type Int, found {typeof(position)}")
    if 0 <= position < len(items):
        return items[position]
    return index_out_of_range(position, len(items))


def map_at(table: Map, key: Any) -> Any:
    """Return `m[k]`. Raises P005 for a missing key (L-5.6.3), P007 for what is no key."""
    try:
        return table.items[key_of(key)]
    except KeyError:
        return key_not_found(key)


def range_at(value: RangeValue, position: Any) -> int:
    """Return `r[i]`, which is start + i (L-5.6.1); the start is 0 where it is open. Raises P004, and P007 for no Int."""
    if type(position) is not int:
        raise Panic("P007", f"expected an index of type Int, found {typeof(position)}")
    length = value.length()
    return value.span()[position] if 0 <= position < length else index_out_of_range(position, length)


def slice_of(value: Any, bounds: RangeValue) -> Any:
    """Return `xs[a..b]` or `s[a..b]`, both ends clamped (L-5.6.2): of an Array a new one, its elements marked as shared. Raises
    P007 for other kinds, for a long Array also what ends the run (P102 for its time, P103 for its memory, or what the host has
    set: `metering.py`)."""
    if type(value) is str or type(value) is bytes:
        start, end = bounds.slice_bounds(len(value))
        return value[start:end]
    if type(value) is not Array:
        raise Panic("P007", f"expected Array, String or Bytes to slice, found {typeof(value)}")
    start, end = bounds.slice_bounds(len(value.items))
    return Array(share_all(value.items[start:end]))


def index(value: Any, position: Any) -> Any:
    """Return `value[position]`, or a slice, by the kinds at run time (L-3.7.1). Raises P004, P005 and P007, and what ends the
    run, as the functions above."""
    kind = type(value)
    if (kind is str or kind is bytes or kind is tuple) and type(position) is int and 0 <= position < len(value):
        return value[position]
    if kind is Map:
        return map_at(value, position)
    if type(position) is RangeValue:
        return slice_of(value, position)
    if kind is Array:
        return element(value.items, position)
    if kind is str or kind is tuple or kind is bytes:
        return element(value, position)
    if kind is RangeValue:
        return range_at(value, position)
    raise Panic("P007", f"expected a value with an index, found {typeof(value)}{_of_entries(value)}")


def length(value: Any) -> int:
    """Return `len(value)` of a String (in code points), Bytes, Array, Map, tuple, Range or collection (L-6.1.2). Raises P007
    for other kinds, P002 as `fit_length`."""
    kind = type(value)
    if kind is Array or kind is Map:
        return len(value.items)
    if kind is str or kind is tuple or kind is bytes:
        return len(value)
    if kind is RangeValue:
        return fit_length(value)
    if kind is Set or kind is Queue or kind is Stack:
        return len(value.items)
    raise Panic("P007", f"expected a value with a length, found {typeof(value)}")


def fit_length(value: RangeValue) -> int:
    """Return the length of a Range. Raises P002 for a length beyond Int, as for any other result (L-5.2.1)."""
    count = value.length()
    if count > INT_MAX:
        raise Panic("P002", "integer overflow in `len`")
    return count


def get_member(value: Any, name: str) -> Any:
    """Return `.name` on Any: a Map key, struct or error field, nil if absent. Raises P014 on other kinds."""
    if type(value) is Map:
        return value.items.get(name)
    if isinstance(value, Struct | ErrorValue):
        return value.get(name)
    return no_such_member(value, name)


def get_error_member(value: Any, name: str) -> Any:
    """Return `.name` of a value whose static type is `Error`. Of a type with `impl Error` `kind` is its name, `message` the text
    of its field of that name, else its Display text, `variant` that of an enum, and any other name a field of a struct; nil where
    there is none (L-3.11.14). Raises P014 on kinds that have no members; for a message that is shown P103 where it is too long or
    nests too deep, and what ends the run."""
    if not isinstance(value, Struct | EnumValue):
        return get_member(value, name)
    own = value.get(name) if isinstance(value, Struct) else None
    if name == "kind":
        return value.type_name
    if name == "message":
        return own if type(own) is str else display(value if own is None else own)
    if name == "variant":
        return value.decl.variants[value.variant].name if type(value) is EnumValue else None
    return own


def store_index(value: Any, position: Any, content: Any) -> Any:
    """Store `content` at `position` of an owned container and return what replaces the container in its place: a new tuple, else
    the container itself. Raises P004, P007, and P103 as `map_store`."""
    kind = type(value)
    if kind is Array:
        element(value.items, position)
        value.items[position] = content
    elif kind is Map:
        map_store(value, position, content)
    elif kind is tuple:
        return with_element(value, position, content)
    else:
        raise Panic("P007", f"expected Array, Map or Tuple to write into, found {typeof(value)}{_of_entries(value)}")
    return value


def _of_entries(value: Any) -> str:
    """Return what a panic adds for a hashmap: its entries are in no value."""
    return ", whose brackets need its type: behind Any write `get` and `set`" if type(value) is HashMapRef else ""


def with_element(value: Any, position: int, content: Any) -> Any:
    """Return a tuple like `value` with one element replaced. Raises P004, and P007 for no tuple."""
    if type(value) is not tuple:
        raise Panic("P007", f"expected Tuple, found {typeof(value)} in a place")
    element(value, position)
    return (*value[:position], content, *value[position + 1 :])


def map_store(table: Map, key: Any, content: Any) -> None:
    """Set a key of an owned Map, which may be new (L-5.5.5). Raises P103 when the Map would have too many items, P007 for what is
    no key."""
    at = key_of(key)
    items = table.items
    if at not in items and len(items) >= limits.items:
        collection_too_long()
    items[at] = content


def store_member(value: Any, name: str, content: Any) -> Any:
    """Store a field of an owned struct or a String key of an owned Map, and return the container. Raises P014 on other kinds or
    an unknown field, P103 as `map_store`."""
    if type(value) is Map:
        map_store(value, name, content)
    elif isinstance(value, Struct) and name in value.decl.index:
        setattr(value, f"f{value.decl.index[name]}", content)
    else:
        no_such_member(value, name)
    return value
