"""The bounds of values: of Int and Float, and the size limits of G-6.1 that values and built-ins hold to.

Hands on, to all of `vm/` that makes values and, with what follows of Int, Float and text, to the API, the runtime and `batches/`:
`limits`, one settings object whose String size the machine sets for each slice (LONGEST_STRING bytes without a budget), checks
that raise P103 (`check_string_size`, `check_items` …), `concat`, `repeat` and `join`, which make Strings under the limit,
`with_strings_of` (to `runtime/access/files.py`), `utf8_size`, the Int bounds INT_MIN and INT_MAX, the text of a Float
(`float_text`, `float_literal`), and `to_int`, the saturating conversion from Float to Int. What `metering.look` raises, which is
what ends the run (P102 for its time, P103 for its memory, or what the host has set), may come out of `concat`, `check_concat` and
`join`. Fuel, time and memory of a run are not bounded here: that is for the machine.
"""

from __future__ import annotations

from _thread import _local, allocate_lock

from ..panics import Panic
from .metering import LARGE, announce, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeVar


# ----------------------------------------------------------------
# The size limits of G-6.1 that values and built-ins hold to.
#
# The machine sets `limits.string`, the String size of its run in bytes, for each slice and puts back the one before;
# `with_strings_of` does so for work outside of a slice. A producer asks here before it allocates, so a refusal costs nothing
# (G-6.3).

if TYPE_CHECKING:
    T = TypeVar("T")

LONGEST_STRING = 16 * 1024 * 1024  # bytes


class _Thread(_local):
    """The settings of one thread: sessions of a process may run side by side."""

    string = LONGEST_STRING


class Limits:
    """The limits: `string`, the size of a String in bytes of UTF-8; `items` of one collection; `nesting`, the levels of values in
    one another.

    `string` is that of the run in this thread. `surely` is cheap to read and at most that of any thread: what is within it needs
    no look at `string`. It only ever falls, so no run has to put it back."""

    __slots__ = ("_thread", "_falling", "surely", "items", "nesting")

    def __init__(self, items: int = 1_000_000, nesting: int = 256) -> None:
        self._thread = _Thread()
        self._falling = allocate_lock()
        self.surely = LONGEST_STRING
        self.items = items
        self.nesting = nesting

    @property
    def string(self) -> int:
        return self._thread.string

    @string.setter
    def string(self, size: int) -> None:
        if size < self.surely:
            with self._falling:  # two threads may set their limits at once, and the lower one has to win
                self.surely = min(self.surely, size)
        self._thread.string = size


limits = Limits()


def with_strings_of(size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, done with `size` bytes as the limit on Strings in this thread. What it raises passes
    through."""
    before, limits.string = limits.string, size
    try:
        return work()
    finally:
        limits.string = before


def utf8_size(text: str) -> int:
    """Return how many bytes `text` has in UTF-8, three for a lone surrogate; constant time for ASCII."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def string_too_long() -> NoReturn:
    """Raise P103: the result is longer than the limit on Strings."""
    raise Panic("P103", f"string size limit exceeded: {limits.string} bytes (budget `value_bytes`)")


def collection_too_long() -> NoReturn:
    """Raise P103: the result has more items than the limit."""
    raise Panic("P103", f"collection size limit exceeded: {limits.items} items (limit `items`)")


def nesting_too_deep() -> NoReturn:
    """Raise P103: the value nests deeper than the limit."""
    raise Panic("P103", f"nesting limit exceeded: {limits.nesting} levels (limit `nesting`)")


def check_string_size(size: int) -> None:
    """Raise P103 when a String of `size` bytes in UTF-8 would be over the limit. Call it before the String is built."""
    if size > limits.string:
        string_too_long()


def check_items(count: int) -> None:
    """Raise P103 when a collection of `count` items would be over the limit. Call it before the collection is built."""
    if count > limits.items:
        collection_too_long()


def check_concat(a: str, b: str) -> None:
    """Raise P103 unless `a + b` is within the limit on Strings; look first whether the run is to stop."""
    look()
    check_string_size(utf8_size(a) + utf8_size(b))


def concat(a: str, b: str) -> str:
    """Return `a + b`. Raises P103 beyond the limit on Strings. A code point takes at most four bytes, so short results need no
    count."""
    if (len(a) + len(b)) * 4 > limits.surely:
        check_concat(a, b)
    return a + b


def repeat(text: str, times: int) -> str:
    """Return `text` written `times` times, empty when `times` is 0 or less (L-6.3.5). Raises P103 before it is made."""
    if times <= 0:
        return ""
    if len(text) * times * 4 > limits.surely:
        check_string_size(utf8_size(text) * times)
    return text * times


def join(separator: str, parts: list[str]) -> str:
    """Return `parts` with `separator` between them. Raises P103 before the text is made: its size is known."""
    if len(parts) >= LARGE:
        announce(len(parts))
    size = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    if size * 4 > limits.surely:
        check_string_size(sum(map(utf8_size, parts)) + utf8_size(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


# ----------------------------------------------------------------
# Bounds and number forms shared by everything that handles Int and Float (L-3.1.1, L-5.1.2).

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1


def positional(digits: str) -> str:
    """Return `digits`, the `repr` of a finite float, rewritten without exponent."""
    if "e" not in digits:
        return digits
    mantissa, exponent = digits.split("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent)
    all_digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{all_digits}"
    return f"{sign}{all_digits.ljust(point, '0')[:point]}.{all_digits[point:] or '0'}"


def float_text(value: float) -> str:
    """Return the shortest digits that read back equal, never with an exponent, without fraction when integral; else `NaN`, `inf`
    or `-inf` (L-5.1.2)."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return positional(repr(value)).removesuffix(".0")


def float_literal(value: float) -> str:
    """Return `float_text` with `.0` when integral, so that it reads back as a Float (L-5.1.19)."""
    text = float_text(value)
    return text + ".0" if text.lstrip("-").isdigit() else text


def to_int(value: float) -> int:
    """Return a Float truncated toward zero and saturated; NaN is 0 (L-3.5.1)."""
    if value != value:
        return 0
    if value >= 2.0**63:
        return INT_MAX
    return INT_MIN if value < -(2.0**63) else int(value)
