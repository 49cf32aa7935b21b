"""`std::encoding` (L-7.14): Bytes as text of few characters, and back."""

from __future__ import annotations

from ...values.binary import from_base64, from_base64url, from_hex, to_base64, to_base64url, to_hex
from ...values.results import Err, Ok
from ..bytes import charge, decoded
from ..guards import binary, text
from ..registry import std

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
