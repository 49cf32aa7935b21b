"""The size limits of G-6.1 that values and built-ins hold to.

Hands on `limits`, one settings object; the machine writes its host's settings into it before it runs a slice.
A producer asks here before it allocates, so a refusal costs nothing (G-6.3).
"""

from __future__ import annotations

from ..panics import Panic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Limits:
    """String size in UTF-8 bytes, items of one collection, levels of nesting."""

    __slots__ = ("string", "items", "nesting")

    def __init__(self, string: int = 16 * 1024 * 1024, items: int = 1_000_000, nesting: int = 256) -> None:
        self.string = string
        self.items = items
        self.nesting = nesting


limits = Limits()


def utf8_size(text: str) -> int:
    """Bytes of `text` in UTF-8; constant time for ASCII."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def string_too_long() -> NoReturn:
    raise Panic("P103", f"string size limit exceeded: {limits.string} bytes (budget `value_bytes`)")


def collection_too_long() -> NoReturn:
    raise Panic("P103", f"collection size limit exceeded: {limits.items} items (limit `items`)")


def nesting_too_deep() -> NoReturn:
    raise Panic("P103", f"nesting limit exceeded: {limits.nesting} levels (limit `nesting`)")


def check_string_size(size: int) -> None:
    """Refuses a String of `size` bytes before it is built."""
    if size > limits.string:
        string_too_long()


def check_items(count: int) -> None:
    """Refuses a collection of `count` items before it is built."""
    if count > limits.items:
        collection_too_long()


def check_concat(a: str, b: str) -> None:
    """P103 unless `a + b` is within the String limit."""
    check_string_size(utf8_size(a) + utf8_size(b))


def concat(a: str, b: str) -> str:
    """`a + b` under the String limit; a code point takes at most four bytes, so short results need no count."""
    if (len(a) + len(b)) * 4 > limits.string:
        check_concat(a, b)
    return a + b


def repeat(text: str, times: int) -> str:
    """`text` written `times` times, empty when `times` is 0 or less (L-6.3.5)."""
    if times <= 0:
        return ""
    if len(text) * times * 4 > limits.string:
        check_string_size(utf8_size(text) * times)
    return text * times


def join(separator: str, parts: list[str]) -> str:
    """`parts` with `separator` between them; the size is known before the text is made."""
    size = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    if size * 4 > limits.string:
        check_string_size(sum(map(utf8_size, parts)) + utf8_size(separator) * max(0, len(parts) - 1))
    return separator.join(parts)
