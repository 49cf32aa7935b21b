"""Bytes, which Python's own `bytes` are (L-3.1.23): their text forms and what makes longer ones, under the limit of Strings.

Hands on the way to and from base64, base64url and hexadecimal digits, where a fault in such a text is, and `concat_bytes`. Must
not know: display, JSON, built-ins.
"""

from __future__ import annotations

from ..panics import Panic
from .limits import check_string_size, limits
from .metering import BLOCK, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

DIGITS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
URL_DIGITS: Final = frozenset((*(DIGITS - {"+", "/"}), "-", "_"))
HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def bytes_text(value: bytes) -> str:
    """`Bytes(68656c6c6f)`: the digits of each (L-5.1.22)."""
    return f"Bytes({to_hex(value)})"


def concat_bytes(a: bytes, b: bytes) -> bytes:
    """`a + b` under the limit on the size of a String."""
    if len(a) + len(b) > limits.surely:
        look()
        check_bytes_size(len(a) + len(b))
    return a + b


def check_bytes_size(size: int) -> None:
    """Refuses Bytes of a size before they are made."""
    if size > limits.string:
        raise Panic("P103", f"Bytes size limit exceeded: {limits.string} bytes (budget `value_bytes`)")


def to_hex(value: bytes) -> str:
    check_string_size(2 * len(value))
    return value.hex()


def to_base64(value: bytes) -> str:
    """The standard alphabet, with padding (RFC 4648, section 4)."""
    check_string_size((len(value) + 2) // 3 * 4)
    return base64_of(value)


def base64_of(value: bytes) -> str:
    """The same of any size, for what is no String of a program."""
    from binascii import b2a_base64

    return b2a_base64(value, newline=False).decode("ascii")


def to_base64url(value: bytes) -> str:
    """The alphabet for URLs and file names, without padding (RFC 4648, section 5)."""
    return to_base64(value).rstrip("=").translate({ord("+"): "-", ord("/"): "_"})


def from_hex(text: str) -> bytes | int:
    """What the digits stand for, or the position of the first that is none, the end where the last is alone."""
    fault = _first_outside(text, HEX_DIGITS, len(text))
    if fault is not None:
        return fault
    return len(text) if len(text) % 2 else bytes.fromhex(text)


def from_base64(text: str) -> bytes | int:
    """What the text stands for, or the position of the first character that cannot be there. Padding is asked for, other
    characters and bits that stand for nothing are refused, so that each value has one text."""
    if len(text) % 4:
        fault = _first_outside(text, DIGITS, len(text.rstrip("=")))
        return len(text) if fault is None else fault
    return _decoded(text, DIGITS, min(2, len(text) - len(text.rstrip("="))))


def from_base64url(text: str) -> bytes | int:
    """As `from_base64`, in the other alphabet; the padding may be left out."""
    bare = text.rstrip("=") if len(text) % 4 == 0 and not text.endswith("===") else text
    fault = _first_outside(bare, URL_DIGITS, len(bare))
    if fault is not None:
        return fault
    if len(bare) % 4 == 1:
        return len(bare)
    padding = -len(bare) % 4
    return _decoded(bare.translate({ord("-"): "+", ord("_"): "/"}) + "=" * padding, DIGITS, padding)


def _decoded(text: str, digits: frozenset[str], padding: int) -> bytes | int:
    from binascii import a2b_base64

    fault = _first_outside(text, digits, len(text) - padding)
    if fault is not None:
        return fault
    found = a2b_base64(text)
    # Bits of the last digit that belong to no byte are 0 in the text of a value.
    return found if not padding or to_base64(found[-3 + padding :])[-4:] == text[-4:] else len(text) - padding - 1


def _first_outside(text: str, digits: frozenset[str], end: int) -> int | None:
    """The position of the first character before `end` that is no digit."""
    for start in range(0, end, BLOCK):
        look()
        part = text[start : min(end, start + BLOCK)]
        if not digits.issuperset(part):
            return start + next(at for at, sign in enumerate(part) if sign not in digits)
    return None
