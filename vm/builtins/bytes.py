"""Methods of Bytes and what makes them (L-6.10): binary data, of which every element is an Int from 0 to 255; and `std::encoding`
(L-7.14), the same digits as functions.

Hands on rows only, to the registry: the docstring of a decorated function is its text in the reference, for readers of the
language. A body raises P007 for an argument of another kind and P103 for a result beyond the limits of G-6.1. `linear` marks one
whose work grows with its input, for which it charges the run, so that what ends the run may come out of it; no method changes its
receiver. How base64 and hexadecimal digits are read and written is `values/containers.py`.
"""

from __future__ import annotations

from ..values.containers import Array, check_bytes_size, from_base64, from_base64url, from_hex, to_base64, to_base64url, to_hex
from ..values.errors import make_error
from ..values.limits import check_items
from ..values.metering import LARGE, spend
from ..values.objects import NONE, Err, Ok, Some
from .registry import array, associated, binary, integer, method, mismatch, std, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def charge(size: int) -> None:
    """Charge the run for work on `size` bytes or characters, if these are many. Raises what ends the run."""
    if size >= LARGE:
        spend(size)


def decoded(outcome: bytes | int, source: str, form: str) -> Ok | Err:
    """Return the outcome of a text reader as the Result of a program: Bytes as Ok; the position of a fault, from 0 on, as a
    ParseError whose `column` counts from 1 on."""
    if type(outcome) is not int:
        return Ok(outcome)
    at = outcome
    what = f"`{source[at]}` at character {at + 1}" if at < len(source) else f"ends too early, after character {at}"
    return Err(make_error("ParseError", None, {"message": f"not {form}: {what}", "column": at + 1}))


@associated("Bytes", "from_string(s: String) -> Bytes", clause="L-6.10.1", linear=True)
@method("String", "to_bytes() -> Bytes", clause="L-6.3.12", linear=True)
def bytes_of_string(s: Any) -> bytes:
    """The text in UTF-8."""
    charge(len(text(s)))
    data: bytes = s.encode()
    check_bytes_size(len(data))
    return data


@associated("Bytes", "from_base64(s: String) -> Result<Bytes, ParseError>", clause="L-6.10.1", linear=True)
def bytes_from_base64(s: Any) -> Ok | Err:
    """What a text in base64 stands for, padding included."""
    charge(len(text(s)))
    return decoded(from_base64(s), s, "base64")


@associated("Bytes", "from_hex(s: String) -> Result<Bytes, ParseError>", clause="L-6.10.1", linear=True)
def bytes_from_hex(s: Any) -> Ok | Err:
    """What pairs of hexadecimal digits stand for, in either letter case."""
    charge(len(text(s)))
    return decoded(from_hex(s), s, "hexadecimal digits")


@associated("Bytes", "from_array(xs: Array<Int>) -> Result<Bytes, ParseError>", clause="L-6.10.1", linear=True)
def bytes_from_array(xs: Any) -> Ok | Err:
    """Of Ints from 0 to 255."""
    items = array(xs)
    charge(len(items))
    for at, item in enumerate(items):
        if type(item) is not int:
            mismatch("Array<Int>", item)
        if not 0 <= item <= 255:
            return Err(make_error("ParseError", None, {"message": f"no byte: {item} at index {at}", "column": at + 1}))
    check_bytes_size(len(items))
    return Ok(bytes(items))


@method("Bytes", "len() -> Int", clause="L-6.10.2")
def bytes_len(b: bytes) -> int:
    """Number of bytes."""
    return len(b)


@method("Bytes", "is_empty() -> Bool", clause="L-6.10.2")
def bytes_is_empty(b: bytes) -> bool:
    """Whether the length is 0."""
    return not b


@method("Bytes", "get(i: Int) -> Option<Int>", clause="L-6.10.3")
def bytes_get(b: bytes, i: Any) -> Any:
    """The byte at a position, from 0 to 255."""
    return Some(b[i]) if 0 <= integer(i) < len(b) else NONE


@method("Bytes", "contains(part: Bytes) -> Bool", clause="L-6.10.3", linear=True)
def bytes_contains(b: bytes, part: Any) -> bool:
    """Whether the bytes occur in this order."""
    charge(len(b))
    return binary(part) in b


@method("Bytes", "starts_with(part: Bytes) -> Bool", clause="L-6.10.3")
def bytes_starts_with(b: bytes, part: Any) -> bool:
    """Whether it begins with these bytes."""
    return b.startswith(binary(part))


@method("Bytes", "ends_with(part: Bytes) -> Bool", clause="L-6.10.3")
def bytes_ends_with(b: bytes, part: Any) -> bool:
    """Whether it ends with these bytes."""
    return b.endswith(binary(part))


@method("Bytes", "to_base64() -> String", clause="L-6.10.4", linear=True)
def bytes_to_base64(b: bytes) -> str:
    """The text in base64, with padding."""
    charge(len(b))
    return to_base64(b)


@method("Bytes", "to_hex() -> String", clause="L-6.10.4", linear=True)
def bytes_to_hex(b: bytes) -> str:
    """Two lower-case hexadecimal digits for each byte."""
    charge(len(b))
    return to_hex(b)


@method("Bytes", "to_array() -> Array<Int>", clause="L-6.10.4", linear=True)
def bytes_to_array(b: bytes) -> Array:
    """Each byte, from 0 to 255."""
    charge(len(b))
    check_items(len(b))
    return Array(list(b))


@method("Bytes", "decode() -> Result<String, ParseError>", clause="L-6.10.5", linear=True)
def bytes_decode(b: bytes) -> Ok | Err:
    """The text that the bytes are in UTF-8."""
    charge(len(b))
    try:
        return Ok(b.decode())
    except UnicodeDecodeError as error:
        fields = {"message": f"not UTF-8: byte {b[error.start]:#04x} at index {error.start}", "column": error.start + 1}
        return Err(make_error("ParseError", None, fields))


# ----------------------------------------------------------------
# `std::encoding` (L-7.14): Bytes as text of few characters, and back.


@std("encoding", "to_base64(b: Bytes) -> String", clause="L-7.14.1", linear=True)
def base64_text(b: Any) -> str:
    """The text in base64, with padding."""
    charge(len(binary(b)))
    return to_base64(b)


@std("encoding", "from_base64(s: String) -> Result<Bytes, ParseError>", clause="L-7.14.1", linear=True)
def base64_bytes(s: Any) -> Ok | Err:
    """What a text in base64 stands for, padding included."""
    charge(len(text(s)))
    return decoded(from_base64(s), s, "base64")


@std("encoding", "to_base64url(b: Bytes) -> String", clause="L-7.14.2", linear=True)
def base64url_text(b: Any) -> str:
    """The text in the base64 of URLs and file names, without padding."""
    charge(len(binary(b)))
    return to_base64url(b)


@std("encoding", "from_base64url(s: String) -> Result<Bytes, ParseError>", clause="L-7.14.2", linear=True)
def base64url_bytes(s: Any) -> Ok | Err:
    """What a text in the base64 of URLs stands for, with padding or without."""
    charge(len(text(s)))
    return decoded(from_base64url(s), s, "base64url")


@std("encoding", "to_hex(b: Bytes) -> String", clause="L-7.14.3", linear=True)
def hex_text(b: Any) -> str:
    """Two lower-case hexadecimal digits for each byte."""
    charge(len(binary(b)))
    return to_hex(b)


@std("encoding", "from_hex(s: String) -> Result<Bytes, ParseError>", clause="L-7.14.3", linear=True)
def hex_bytes(s: Any) -> Ok | Err:
    """What pairs of hexadecimal digits stand for, in either letter case."""
    charge(len(text(s)))
    return decoded(from_hex(s), s, "hexadecimal digits")
