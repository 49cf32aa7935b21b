"""Methods of Map (L-6.5), and `std::collections`: Set, Queue, Stack (L-6.7).

Hands on its rows only. Bodies panic with P007 for a key that no Map can have or an argument of another type, and with P103 for a
result with more items than the limit, or elements of a Set that nest too deep to be compared; what works on all items charges the
run, and so may raise what ends it. What is declared `mut` changes its receiver in place; the others leave receiver and arguments
as they are, and the items that they return are shared with these (`containers.share`).
"""

from __future__ import annotations

from collections import deque

from ..values.access import map_store
from ..values.containers import Array, Map, Queue, Set, Stack, elements, key_of, share, share_all
from ..values.equality import fresh_key
from ..values.limits import check_items
from ..values.metering import LARGE, paced, spend
from ..values.objects import NONE, Some
from ..values.structural import make_set, set_key
from .registry import array, associated, method, mismatch, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ----------------------------------------------------------------
# Methods of Map (L-6.5).


def _over(m: Map) -> None:
    """Charge the run for work on all entries."""
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


# ----------------------------------------------------------------
# `std::collections`: the methods of Set, Queue and Stack and the functions that make them (L-6.7).
#
# These rows are loaded with the table and not with the first program that names the module, since the types need no path.


def _collection_over(items: Any) -> None:
    """Charge the run for work on all elements."""
    if len(items) >= LARGE:
        spend(len(items))


def _other(value: Any) -> Set:
    if type(value) is not Set:
        mismatch("Set", value)
    _collection_over(value.items)
    return value


@associated("Set", "new<T>() -> Set<T>", clause="L-6.7.1")
def set_new() -> Set:
    """A Set without elements."""
    return Set({})


@associated("Set", "from<T>(array: Array<T>) -> Set<T>", clause="L-6.7.1", linear=True)
def set_from(items: Any) -> Set:
    """The elements of an Array without repetitions, in order of first occurrence."""
    _collection_over(array(items))
    return make_set(paced(share_all(items.items)))


@associated("Queue", "new<T>() -> Queue<T>", clause="L-6.7.1")
def queue_new() -> Queue:
    """A Queue without elements."""
    return Queue(deque())


@associated("Stack", "new<T>() -> Stack<T>", clause="L-6.7.1")
def stack_new() -> Stack:
    """A Stack without elements."""
    return Stack([])


@method("Set<T>", "len() -> Int", clause="L-6.7.2")
@method("Queue<T>", "len() -> Int", clause="L-6.7.2")
@method("Stack<T>", "len() -> Int", clause="L-6.7.2")
def collection_len(c: Any) -> int:
    """Number of elements."""
    return len(c.items)


@method("Set<T>", "is_empty() -> Bool", clause="L-6.7.2")
@method("Queue<T>", "is_empty() -> Bool", clause="L-6.7.2")
@method("Stack<T>", "is_empty() -> Bool", clause="L-6.7.2")
def collection_is_empty(c: Any) -> bool:
    """Whether there is no element."""
    return not c.items


@method("Set<T>", "to_array() -> Array<T>", clause="L-6.7.2", linear=True)
@method("Queue<T>", "to_array() -> Array<T>", clause="L-6.7.2", linear=True)
@method("Stack<T>", "to_array() -> Array<T>", clause="L-6.7.2", linear=True)
def collection_to_array(c: Any) -> Array:
    """The elements in the order of iteration: as inserted, front first, bottom first."""
    _collection_over(c.items)
    return Array(share_all(elements(c)))


@method("Set<T>", "insert(v: T) -> Bool", clause="L-6.7.3", mut=True)
def set_insert(s: Set, v: Any) -> bool:
    """Adds a value and says whether it was new; an equal element keeps its place."""
    key = set_key(v)
    if key in s.items:
        return False
    check_items(len(s.items) + 1)
    s.items[key] = v
    return True


@method("Set<T>", "remove(v: T) -> Bool", clause="L-6.7.3", mut=True)
def set_remove(s: Set, v: Any) -> bool:
    """Removes the equal element and says whether there was one."""
    key = set_key(v)
    if key not in s.items:
        return False
    del s.items[key]
    return True


@method("Set<T>", "contains(v: T) -> Bool", clause="L-6.7.3")
def set_contains(s: Set, v: Any) -> bool:
    """Whether an equal element is there."""
    return set_key(v) in s.items


@method("Set<T>", "union(o: Set<T>) -> Set<T>", clause="L-6.7.4", linear=True)
def union(s: Set, o: Any) -> Set:
    """The elements of both: first those of the receiver, then the further ones of o."""
    _collection_over(s.items)
    both = {**s.items}
    for key, value in paced(_other(o).items.items()):
        both.setdefault(fresh_key(key), value)
    check_items(len(both))
    share_all(both.values())
    return Set(both)


@method("Set<T>", "intersection(o: Set<T>) -> Set<T>", clause="L-6.7.4", linear=True)
def intersection(s: Set, o: Any) -> Set:
    """The elements that o has too, in the receiver's order."""
    others = _other(o).items
    _collection_over(s.items)
    return Set({key: share(value) for key, value in paced(s.items.items()) if fresh_key(key) in others})


@method("Set<T>", "difference(o: Set<T>) -> Set<T>", clause="L-6.7.4", linear=True)
def difference(s: Set, o: Any) -> Set:
    """The elements that o lacks, in the receiver's order."""
    others = _other(o).items
    _collection_over(s.items)
    return Set({key: share(value) for key, value in paced(s.items.items()) if fresh_key(key) not in others})


@method("Queue<T>", "enqueue(v: T) -> Nil", clause="L-6.7.5", mut=True)
@method("Stack<T>", "push(v: T) -> Nil", clause="L-6.7.5", mut=True)
def add_last(c: Any, v: Any) -> None:
    """Adds a value: at the end of a Queue, on top of a Stack."""
    check_items(len(c.items) + 1)
    c.items.append(v)


@method("Queue<T>", "dequeue() -> Option<T>", clause="L-6.7.6", mut=True)
def dequeue(q: Queue) -> Any:
    """Removes the front element and gives it."""
    return Some(q.items.popleft()) if q.items else NONE


@method("Stack<T>", "pop() -> Option<T>", clause="L-6.7.6", mut=True)
def stack_pop(s: Stack) -> Any:
    """Removes the top element and gives it."""
    return Some(s.items.pop()) if s.items else NONE


@method("Queue<T>", "peek() -> Option<T>", clause="L-6.7.7")
def queue_peek(q: Queue) -> Any:
    """The front element."""
    return Some(share(q.items[0])) if q.items else NONE


@method("Stack<T>", "peek() -> Option<T>", clause="L-6.7.7")
def stack_peek(s: Stack) -> Any:
    """The top element."""
    return Some(share(s.items[-1])) if s.items else NONE


@method("Queue<T>", "rest() -> Queue<T>", clause="L-6.7.7", linear=True)
def queue_rest(q: Queue) -> Queue:
    """A copy without the front element; of an empty Queue an empty one."""
    _collection_over(q.items)
    rest = deque(share_all(q.items))
    if rest:
        rest.popleft()
    return Queue(rest)


@method("Stack<T>", "rest() -> Stack<T>", clause="L-6.7.7", linear=True)
def stack_rest(s: Stack) -> Stack:
    """A copy without the top element; of an empty Stack an empty one."""
    _collection_over(s.items)
    return Stack(share_all(s.items[:-1]))
