"""Methods of Map (L-6.5)."""

from __future__ import annotations

from ..values.access import map_store
from ..values.containers import Array, Map, key_of
from ..values.limits import check_items
from ..values.metering import LARGE, paced, spend
from ..values.results import NONE, Some
from ..values.sharing import share, share_all
from .guards import table
from .registry import method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _over(m: Map) -> None:
    """Charges work on all entries."""
    if len(m.items) >= LARGE:
        spend(len(m.items))


@method("Map<K, V>", "len() -> Int", clause="L-6.5.1")
def map_len(m: Map) -> int:
    """Number of entries."""
    return len(m.items)


@method("Map<K, V>", "is_empty() -> Bool", clause="L-6.5.1")
def map_is_empty(m: Map) -> bool:
    """Whether there is no entry."""
    return not m.items


@method("Map<K, V>", "has(k: K) -> Bool", clause="L-6.5.1")
def has(m: Map, k: Any) -> bool:
    """Whether the key is there."""
    return key_of(k) in m.items


@method("Map<K, V>", "get(k: K) -> Option<V>", clause="L-6.5.2")
def map_get(m: Map, k: Any) -> Any:
    """The value at the key, None when it is missing."""
    key = key_of(k)
    return Some(share(m.items[key])) if key in m.items else NONE


@method("Map<K, V>", "set(k: K, v: V) -> Nil", clause="L-6.5.3", mut=True)
def map_set(m: Map, k: Any, v: Any) -> None:
    """Stores a value; an existing key keeps its position."""
    map_store(m, k, v)


@method("Map<K, V>", "delete(k: K) -> Bool", clause="L-6.5.4", mut=True)
def delete(m: Map, k: Any) -> bool:
    """Removes a key and says whether it was there."""
    key = key_of(k)
    if key not in m.items:
        return False
    del m.items[key]
    return True


@method("Map<K, V>", "clear() -> Nil", clause="L-6.5.5", mut=True)
def map_clear(m: Map) -> None:
    """Removes all entries."""
    m.items.clear()


@method("Map<K, V>", "keys() -> Array<K>", clause="L-6.5.6", linear=True)
def keys(m: Map) -> Array:
    """The keys in insertion order."""
    _over(m)
    return Array(m.key_list())


@method("Map<K, V>", "values() -> Array<V>", clause="L-6.5.6", linear=True)
def values(m: Map) -> Array:
    """The values in insertion order."""
    _over(m)
    return Array(share_all(m.items.values()))


@method("Map<K, V>", "entries() -> Array<(K, V)>", clause="L-6.5.6", linear=True)
def entries(m: Map) -> Array:
    """The entries as tuples in insertion order."""
    _over(m)
    share_all(m.items.values())
    return Array(list(paced(m.entries()) if len(m.items) >= LARGE else m.entries()))


@method("Map<K, V>", "merge(o: Map<K, V>) -> Map<K, V>", clause="L-6.5.7", linear=True)
def merge(m: Map, o: Any) -> Map:
    """A Map with the entries of both; those of o win, first positions stay."""
    others = table(o)
    _over(m)
    _over(o)
    check_items(len(m.items) + len(others.keys() - m.items.keys()))
    both = {**m.items, **others}
    share_all(both.values())
    return Map(both)
