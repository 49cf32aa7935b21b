"""The containers with value semantics: a `shared` mark and copy on write (V-5.7, L-5.5.2, L-6.7).

Hands on Array, Map, Set, Queue and Stack and the Map's key encoding (`key_of`, `unkey`, and BoolKey for the two keys that are
Bools), `share`, `share_all` and `own`, which set the mark and obey it, `own_struct`, PLAIN, WRAPPERS, CONTAINERS, `elements`,
ranges (`RangeValue`), and what is done with Bytes: their digits (base64, base64url, hexadecimal) and joining; all of it to the
files here, both tiers, built-ins and snapshots, to what in the runtime writes values out or reads them (memories, journals,
schemas, media, secrets), and, through the package `vm/values`, to the compiler and the other rooms. What ends the run (P102 for
its time, P103 for its memory, or what the host has set: `metering.py`) may come out of `Map.key_list`, `share_all` and `own` with
LARGE items or more, out of `concat_bytes` with BLOCK bytes or more, and out of `from_hex`, `from_base64` and `from_base64url`
with any text. `items` is Python's own list, dict or deque; `shared`, the mark, is False while one place alone has the container,
True when others may see it, so that a write copies it first, or an `Undo` (`undo.py`), which decides in place of `own`. The keys
of a Set are in `structural.py`, equality in `equality.py`, display in `text.py`, methods in `builtins/`.
"""

from __future__ import annotations

from collections import deque

from ..panics import Panic
from .limits import INT_MAX, check_string_size, limits
from .metering import BLOCK, LARGE, STRIDE, announce, look, paced
from .objects import Closure, EnumValue, Err, NoneOption, Ok, Response, Some, Struct
from .types import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any, Final


class Array:
    """Ordered elements (L-3.1.4)."""

    __slots__ = ("items", "shared")
    type_name = "Array"

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Array({self.items!r})"


class BoolKey:
    """Stands for a Bool key in a dict, where Python would take True for 1."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"BoolKey({self.value})"


TRUE_KEY = BoolKey(True)
FALSE_KEY = BoolKey(False)


def key_of(key: Any) -> Any:
    """Return the dict key for a Concerto key, which is a String, Int, Bool or Bytes. Raises P007 for any other (L-3.1.5)."""
    kind = type(key)
    if kind is str or kind is int or kind is bytes:
        return key
    if kind is bool:
        return TRUE_KEY if key else FALSE_KEY
    raise Panic("P007", f"expected a key of type String, Int, Bool or Bytes, found {typeof(key)}")


def unkey(key: Any) -> Any:
    """Return the Concerto key that a dict key stands for."""
    return key.value if type(key) is BoolKey else key


class Map:
    """Insertion-ordered entries; `items` is keyed by `key_of` (L-3.1.5)."""

    __slots__ = ("items", "shared")
    type_name = "Map"

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items
        self.shared = False

    @classmethod
    def of(cls, entries: list[Any]) -> Map:
        """Return a Map from alternating keys and values; a later equal key wins and keeps the first position (L-6.5.11). Raises
        P007 for what is no key."""
        items = {}
        parts = iter(entries)
        for key in parts:
            items[key if type(key) is str else key_of(key)] = next(parts)
        return cls(items)

    def key_list(self) -> list[Any]:
        """Return the Concerto keys in insertion order."""
        return [unkey(key) for key in (paced(self.items) if len(self.items) >= LARGE else self.items)]

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over `(key, value)` in insertion order, with Concerto keys."""
        if TRUE_KEY in self.items or FALSE_KEY in self.items:
            return iter([(unkey(key), value) for key, value in self.items.items()])
        return iter(self.items.items())

    def __repr__(self) -> str:
        return f"Map({self.items!r})"


class Set:
    """Distinct values in insertion order; `items` is keyed by `structural.set_key` (L-6.7.3)."""

    __slots__ = ("items", "shared")
    type_name = "Set"

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Set({list(self.items.values())!r})"


class Queue:
    """First in, first out; the front is the first item (L-6.7.5)."""

    __slots__ = ("items", "shared")
    type_name = "Queue"

    def __init__(self, items: deque[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Queue({list(self.items)!r})"


class Stack:
    """Last in, first out; the bottom is the first item (L-6.7.5)."""

    __slots__ = ("items", "shared")
    type_name = "Stack"

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Stack({self.items!r})"


def elements(container: Any) -> Any:
    """Return what an Array, Set, Queue or Stack holds, in the order of iteration (L-5.7.4)."""
    return container.items.values() if type(container) is Set else container.items


# ----------------------------------------------------------------
# Bytes, which Python's own `bytes` are (L-3.1.23): their text forms and what makes longer ones, under the limit of Strings.

DIGITS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
URL_DIGITS: Final = frozenset((*(DIGITS - {"+", "/"}), "-", "_"))
HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def bytes_text(value: bytes) -> str:
    """Return the Display text `Bytes(68656c6c6f)`, two digits for each byte (L-5.1.22). Raises P103 as `to_hex`."""
    return f"Bytes({to_hex(value)})"


def concat_bytes(a: bytes, b: bytes) -> bytes:
    """Return `a + b`. Raises P103 beyond the limit on the size of a String."""
    size = len(a) + len(b)
    if size > limits.surely:
        check_bytes_size(size)
    if size >= BLOCK:  # a few of them reach a memory budget before a thread has looked once
        announce(size)
    return a + b


def check_bytes_size(size: int) -> None:
    """Raise P103 if Bytes of `size` bytes, which are not made yet, would be larger than a String may be."""
    if size > limits.string:
        raise Panic("P103", f"Bytes size limit exceeded: {limits.string} bytes (budget `value_bytes`)")


def to_hex(value: bytes) -> str:
    """Return two digits in lower case for each byte. Raises P103 for a text that is too long."""
    check_string_size(2 * len(value))
    return value.hex()


def to_base64(value: bytes) -> str:
    """Return the digits in the standard alphabet, with padding (RFC 4648, section 4). Raises P103 for a text that is too long."""
    check_string_size((len(value) + 2) // 3 * 4)
    return base64_of(value)


def base64_of(value: bytes) -> str:
    """Return the digits of Bytes of any size, for texts that are no Strings of a program."""
    from binascii import b2a_base64

    return b2a_base64(value, newline=False).decode("ascii")


def to_base64url(value: bytes) -> str:
    """Return the digits in the alphabet for URLs and file names, without padding (RFC 4648, section 5). Raises P103 for a text
    that is too long."""
    return to_base64(value).rstrip("=").translate({ord("+"): "-", ord("/"): "_"})


def from_hex(text: str) -> bytes | int:
    """Return the bytes of hexadecimal digits, or the position, from 0, of the first character that is none, the end where the
    last digit is alone."""
    fault = _first_outside(text, HEX_DIGITS, len(text))
    if fault is not None:
        return fault
    return len(text) if len(text) % 2 else bytes.fromhex(text)


def from_base64(text: str) -> bytes | int:
    """Return the bytes of a text, or the position, from 0, of the fault. Padding is required: where it is wrong or another
    character comes, that is where the digits end, and so is the end of a text without it. Each value has one text: the fault is
    at the last digit where bits of it that belong to no byte are not 0."""
    outside = _first_outside(text, DIGITS, len(text))
    digits = len(text) if outside is None else outside
    padding = -digits % 4
    if padding == 3 or text[digits:] != "=" * padding:
        return digits
    return _decoded(text, padding)


def from_base64url(text: str) -> bytes | int:
    """Return what `from_base64` does, for the alphabet for URLs; the padding may be left out."""
    bare = text.rstrip("=") if len(text) % 4 == 0 and not text.endswith("===") else text
    fault = _first_outside(bare, URL_DIGITS, len(bare))
    if fault is not None:
        return fault
    if len(bare) % 4 == 1:
        return len(bare)
    padding = -len(bare) % 4
    return _decoded(bare.translate({ord("-"): "+", ord("_"): "/"}) + "=" * padding, padding)


def _decoded(text: str, padding: int) -> bytes | int:
    """Return the bytes of digits of the standard alphabet and their padding, or the position of the last digit, if bits of it
    that belong to no byte are not 0."""
    from binascii import a2b_base64

    data = a2b_base64(text)
    return data if not padding or to_base64(data[-3 + padding :])[-4:] == text[-4:] else len(text) - padding - 1


def _first_outside(text: str, digits: frozenset[str], end: int) -> int | None:
    """Return the position of the first character before `end` that is no digit; None when all are."""
    for start in range(0, end, BLOCK):
        look()
        part = text[start : min(end, start + BLOCK)]
        if not digits.issuperset(part):
            return start + next(at for at, sign in enumerate(part) if sign not in digits)
    return None


# ----------------------------------------------------------------
# Ranges of Int (L-3.1.10, L-5.7.6).


class RangeValue:
    """`start..end`, or with `inclusive` `start..=end`; an absent bound is None."""

    __slots__ = ("start", "end", "inclusive")
    type_name = "Range"

    def __init__(self, start: int | None, end: int | None, inclusive: bool = False) -> None:
        self.start = start
        self.end = end
        self.inclusive = inclusive

    @classmethod
    def checked(cls, start: Any, end: Any, inclusive: bool) -> RangeValue:
        """Return a Range from bounds known at run time: each an Int, or nil where it is open. Raises P007 for other bounds."""
        for bound in (start, end):
            if type(bound) is not int and bound is not None:
                raise Panic("P007", f"expected Int as a bound of a range, found {typeof(bound)}")
        return cls(start, end, inclusive)

    def span(self) -> range:
        """Return the elements. Without a start they begin at 0; without an end they go to the largest Int, which belongs to
        the range then (L-5.7.6)."""
        start = 0 if self.start is None else self.start
        if self.end is None:
            return range(start, INT_MAX + 1)
        return range(start, self.end + 1 if self.inclusive else self.end)

    def length(self) -> int:
        """Return the number of elements; it may be more than an Int or `len` can say."""
        span = self.span()
        return max(0, span.stop - span.start)

    def contains(self, value: Any) -> bool:
        """Return whether an Int is an element; False for any other value."""
        return type(value) is int and value in self.span()

    def slice_bounds(self, length: int) -> tuple[int, int]:
        """Return both ends clamped to 0 … `length`, the first not above the second (L-5.6.2)."""
        span = self.span()
        start = min(max(span.start, 0), length)
        return start, max(start, min(max(span.stop, 0), length))

    def __repr__(self) -> str:
        return f"RangeValue({self.start}, {self.end}, {self.inclusive})"


# ----------------------------------------------------------------
# When storage is shared and what a write does about it (V-5.7, L-5.5.2, L-5.5.3).
#
# A container with its mark clear is seen through exactly one place, so a write may change it; a marked one is first replaced by
# a copy of one level whose children are marked. Marks are never cleared: a mark that is no longer needed costs one copy, never
# a wrong result. A mark is True, or the `Undo` of a call that may fail (`undo.py`), which says what stands in for the copy.

# Kinds without anything inside that a write could reach.
PLAIN = frozenset({int, float, str, bytes, bool, type(None), NoneOption, RangeValue, Closure})
# Kinds that have the mark as an attribute; struct classes do too.
CONTAINERS = frozenset({Array, Map, Set, Queue, Stack})
MARKED = (Struct, *CONTAINERS)
# Immutable wholes around values that may be containers.
WRAPPERS = frozenset({tuple, Some, Ok, Err, EnumValue})


def share(value: Any) -> Any:
    """Mark `value` as seen through more than one place and return it. Only the top container is touched; of a wrapper, the
    topmost containers that it holds.

    Handles, errors and tasks pass through: nothing inside them is a place.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in CONTAINERS or isinstance(value, Struct):
        value.shared = True
    elif kind is tuple:
        for part in value:
            inner = type(part)
            if inner in PLAIN:
                continue
            if inner in CONTAINERS or isinstance(part, Struct):
                part.shared = True
            elif inner in WRAPPERS and not getattr(part, "shared", False):
                _share_inside(value)
                break
    elif kind in WRAPPERS and not getattr(value, "shared", False):
        for part in wrapped(value):
            inner = type(part)
            if inner in WRAPPERS and not getattr(part, "shared", False):
                _share_inside(value)
                return value
            if inner in CONTAINERS or isinstance(part, Struct):
                part.shared = True
        value.shared = True
    return value


def _share_inside(value: Any) -> None:
    """Mark the containers that a wrapper holds, each wrapper once: a tuple may hold one tuple many times over."""
    visited: set[int] = set()
    pending = [value]
    while pending:
        wrapper = pending.pop()
        if id(wrapper) in visited or getattr(wrapper, "shared", False):
            continue
        visited.add(id(wrapper))
        for part in wrapped(wrapper):
            if type(part) in WRAPPERS:
                pending.append(part)
            else:
                share(part)
        if type(wrapper) is not tuple:
            wrapper.shared = True


def wrapped(wrapper: Any) -> tuple[Any, ...]:
    """Return what a tuple, Some, Ok, Err or enum value holds."""
    if type(wrapper) is tuple:
        return wrapper
    if type(wrapper) is EnumValue:
        return wrapper.payload or ()
    return (wrapper.value,)


def share_all(values: Iterable[Any]) -> list[Any]:
    """Return a new list of `values`, each marked: for built-ins that put elements of one container into another."""
    elements = list(values)
    if len(elements) < LARGE:
        _mark(elements)
    else:
        announce(len(elements))
        for at in range(0, len(elements), STRIDE):
            look()
            _mark(elements[at : at + STRIDE])
    return elements


def _mark(elements: Collection[Any]) -> None:
    kinds = {*map(type, elements)}
    if not kinds <= PLAIN:
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is EnumValue:
            for element in elements:
                if not element.shared:
                    share(element)
        elif kind is not None and issubclass(kind, MARKED):
            for element in elements:
                element.shared = True
        else:
            for element in elements:
                if type(element) not in PLAIN:
                    share(element)


def own(value: Any) -> Any:
    """Return `value` ready for a write: itself, or its unshared copy of one level when it is shared; then what both hold is
    marked. Where the mark is an `Undo`, that decides. A value that is no container comes back as it is."""
    kind = type(value)
    if kind not in CONTAINERS and not isinstance(value, Struct):
        return value
    mark = value.shared
    if not mark:
        return value
    if mark is not True:
        return mark.own(value)
    items = value.items if kind is Array or kind is Map else None
    if items is not None and len(items) < LARGE:
        _mark(items if kind is Array else items.values())  # both copies hold them from now on
        return kind(items.copy())
    if kind is Array:
        return Array(share_all(value.items))
    if kind is Map:
        share_all(value.items.values())
        return Map(value.items.copy())
    return _collection_copy(value) if kind in CONTAINERS else own_struct(value, share)


def own_struct(value: Any, mark: Callable[[Any], Any]) -> Any:
    """Return an unshared copy of a struct, in which `mark` was called with what both hold."""
    copy = value.copied(mark, PLAIN)
    return copy.of_run(value.run) if isinstance(value, Response) else copy


def _collection_copy(value: Any) -> Any:
    share_all(value.items.values() if type(value) is Set else value.items)
    return type(value)(value.items.copy())
