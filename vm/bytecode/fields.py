"""Checkers of single fields of decoded data, and the LEB128 numbers of code and line tables (V-3.3, V-3.5).

A checker takes (value, limits) and raises `Misshapen` with what was expected; it returns nothing and changes nothing. `shape.py`
combines them to the shape of each section. The LEB128 functions (`append`, `width`, `read`, `read_all`, `write_all`, `zigzag`)
are for `encoding.py`, `LARGEST` is for the assembler too. Only the form of a value is looked at: whether a number is that of an
entry, or a name is an identifier, is the verifier's question. A new kind of field is a function here that `shape.py` names.
"""

from __future__ import annotations

from struct import pack

from .image import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# ----------------------------------------------------------------
# Unsigned LEB128 numbers and the zigzag form of signed ones, as code and line tables hold them (V-3.3).
#
# Only the shortest form of a number below 2**32 is legal (V102).

LARGEST = 0xFFFF_FFFF  # of an operand, and of a number in a line table
_WIDEST = 5  # bytes of LARGEST
_GOES_ON = bytes(byte >> 7 for byte in range(256))


def append(out: bytearray, number: int) -> None:
    """Write one number at the end of `out`. Raises ValueError for one outside 0..2**32-1."""
    if not 0 <= number <= LARGEST:
        raise ValueError(f"{number} is outside 0..{LARGEST}")
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def width(number: int) -> int:
    """Return how many bytes a number takes, which must not be negative."""
    return max(1, (number.bit_length() + 6) // 7)


def read(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at offset `at` of `data` and the offset behind it. Raises ValueError for one that is cut off, above
    LARGEST or longer than necessary."""
    number = shift = 0
    for end in range(at, at + _WIDEST):
        if end >= len(data):
            raise ValueError("a number is cut off")
        byte = data[end]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and shift:
                raise ValueError("a number is longer than it need be")
            if number > LARGEST:
                break
            return number, end + 1
        shift += 7
    raise ValueError(f"a number is above {LARGEST}")


def read_all(data: bytes) -> list[int]:
    """Return all numbers in `data`. Raises ValueError as `read` does."""
    if not data or max(data) < 0x80:
        return list(data)
    numbers: list[int] = []
    goes_on = data.translate(_GOES_ON)
    at = 0
    while (long := goes_on.find(1, at)) >= 0:
        numbers += data[at:long]
        number, at = read(data, long)
        numbers.append(number)
    numbers += data[at:]
    return numbers


def write_all(numbers: list[int]) -> bytes:
    """Return the bytes of all numbers, one after the other. Raises ValueError for one outside 0..2**32-1."""
    if not numbers or (min(numbers) >= 0 and max(numbers) <= 0x7F):
        return bytes(numbers)
    out = bytearray()
    add = out.append
    for number in numbers:
        if 0 <= number <= 0x7F:
            add(number)
        else:
            append(out, number)
    return bytes(out)


def zigzag(number: int) -> int:
    """Return a signed number as an unsigned one: 0 -1 1 -2 become 0 1 2 3."""
    return number * 2 if number >= 0 else -number * 2 - 1


if TYPE_CHECKING:
    Checker = Callable[[Any, Limits], None]

ONE_NAN = pack(">d", float("nan"))
MIN_INT, MAX_INT = -(1 << 63), (1 << 63) - 1


class Misshapen(Exception):
    """A value of another shape. The text says what was expected; whoever knows the place puts it in front with `at`."""

    def at(self, place: str) -> Misshapen:
        """Return a new exception whose text has `place` before that of this one; a place is of the form `[3]`, `['key']` or
        `.name`."""
        return Misshapen(f"{place}{'' if str(self)[0] in '[.' else ': '}{self}")


def natural(value: Any, limits: Limits) -> None:
    """Check a number that is never negative, such as an index, a count or an offset: an Int up to LARGEST."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise Misshapen(f"a number from 0 to {LARGEST} expected")


def positive(value: Any, limits: Limits) -> None:
    """Check a bound of a memory: an Int that is at least 1 (M-2.15)."""
    if type(value) is not int or not 1 <= value <= MAX_INT:
        raise Misshapen("an Int from 1 expected")


def int64(value: Any, limits: Limits) -> None:
    """Check an Int: a Python int that 64 bits hold, and no bool."""
    if type(value) is not int or not MIN_INT <= value <= MAX_INT:
        raise Misshapen("an Int of 64 bits expected")


def float64(value: Any, limits: Limits) -> None:
    """Check a Float. Of all NaNs one bit pattern is legal, so that the text of an image can stand for every Float."""
    if type(value) is not float or (value != value and pack(">d", value) != ONE_NAN):
        raise Misshapen("a Float expected")


def number(value: Any, limits: Limits) -> None:
    """Check a number: a Float as `float64` does, else an Int as `int64` does."""
    (float64 if type(value) is float else int64)(value, limits)


def boolean(value: Any, limits: Limits) -> None:
    """Check a Bool."""
    if type(value) is not bool:
        raise Misshapen("a Bool expected")


def binary(value: Any, limits: Limits) -> None:
    """Check bytes, of any number."""
    if type(value) is not bytes:
        raise Misshapen("bytes expected")


def digest(value: Any, limits: Limits) -> None:
    """Check a hash: 32 bytes."""
    if type(value) is not bytes or len(value) != 32:
        raise Misshapen("a SHA-256 of 32 bytes expected")


def _size(text: str) -> int:
    """Return how many bytes a text has in UTF-8. Raises Misshapen for one with a lone surrogate, which no bytes stand for."""
    try:
        return len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise Misshapen("valid Unicode expected") from None


def text(value: Any, limits: Limits) -> None:
    """Check a text: it has at most `limits.string` bytes in UTF-8."""
    if type(value) is not str:
        raise Misshapen("a text expected")
    if _size(value) > limits.string:
        raise Misshapen(f"the text is longer than {limits.string} bytes")


def name(value: Any, limits: Limits) -> None:
    """Check a text that names something: it has at most `limits.name` bytes in UTF-8. Whether it is an identifier is the
    verifier's question (V125)."""
    if type(value) is not str:
        raise Misshapen("a name expected")
    if _size(value) > limits.name:
        raise Misshapen(f"the name is longer than {limits.name} bytes")


def word(*words: str) -> Checker:
    """Return the checker of a text that is one of these words."""

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not str or value not in words:
            raise Misshapen(f"one of {', '.join(words)} expected")

    return check


def source_text(value: Any, limits: Limits) -> None:
    """Check the text of a source file, of any length: `limits.file` bounds it with the rest of the image."""
    if type(value) is not str:
        raise Misshapen("a text expected")
    _size(value)


def plain(value: Any, limits: Limits) -> None:
    """Check data without code: nil, Bool, Int, Float, text, lists of these and maps from names to them, at most `limits.nesting`
    deep."""
    _plain(value, limits, limits.nesting)


def _plain(value: Any, limits: Limits, depth: int) -> None:
    kind = type(value)
    if kind is str:
        text(value, limits)
    elif kind is int:
        int64(value, limits)
    elif kind is list or kind is dict:
        if depth == 0:
            raise Misshapen(f"the data nests deeper than {limits.nesting}")
        if kind is dict:
            for key in value:
                name(key, limits)
        for inner in value.values() if kind is dict else value:
            _plain(inner, limits, depth - 1)
    elif kind is float:
        float64(value, limits)
    elif value is not None and kind is not bool:
        raise Misshapen("plain data expected")


def optional(inner: Checker) -> Checker:
    """Return the checker of nil or of a value that `inner` accepts."""

    def check(value: Any, limits: Limits) -> None:
        if value is not None:
            inner(value, limits)

    return check


def one_or_more(inner: Checker) -> Checker:
    """Return the checker of one value that `inner` accepts, or of a list of two or more; `inner` must not accept lists."""

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not list:
            inner(value, limits)
        elif len(value) < 2:
            raise Misshapen("a list of several expected")
        else:
            listed(inner)(value, limits)

    return check


def listed(inner: Checker, most: str = "") -> Checker:
    """Return the checker of a list of values that `inner` accepts; `most` names the field of Limits that bounds its length, ""
    for no bound."""

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not list:
            raise Misshapen("a list expected")
        if most and len(value) > getattr(limits, most):
            raise Misshapen(f"{len(value)} entries are more than {getattr(limits, most)}")
        index = -1
        try:
            for item in value:
                index += 1
                inner(item, limits)
        except Misshapen as error:
            raise error.at(f"[{index}]") from None

    return check


def mapped(inner: Checker) -> Checker:
    """Return the checker of a map from names to values that `inner` accepts."""

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not dict:
            raise Misshapen("a map expected")
        for key, item in value.items():
            name(key, limits)
            try:
                inner(item, limits)
            except Misshapen as error:
                raise error.at(f"[{key!r}]") from None

    return check


def row(*inner: Checker, rest: Checker | None = None) -> Checker:
    """Return the checker of a list with one value per checker of `inner`, in order; `rest` checks any further ones, None for none
    allowed."""
    count = len(inner)

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not list or len(value) < len(inner) or (rest is None and len(value) > len(inner)):
            raise Misshapen(f"a list of {len(inner)} {'or more ' if rest else ''}expected")
        index = -1
        try:
            for item in value:
                index += 1
                (inner[index] if index < count else rest)(item, limits)  # type: ignore[misc]
        except Misshapen as error:
            raise error.at(f"[{index}]") from None

    return check
