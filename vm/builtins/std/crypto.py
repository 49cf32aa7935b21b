"""`std::crypto` (L-7.9.5). Identifiers and random bytes are effects: tests and replay fix them (V-6.6)."""

from __future__ import annotations

from ...panics import Panic
from ...values import long_text
from ...values.limits import check_string_size
from ...values.metering import LARGE, spend
from ..guards import integer, text
from ..registry import std, std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std("crypto", "sha256(s: String) -> String", clause="L-7.9.5", linear=True)
def sha256(s: Any) -> str:
    """The SHA-256 of the text in UTF-8, in lower-case hexadecimal digits."""
    import hashlib

    return _digest(hashlib.sha256(), text(s))


@std("crypto", "md5(s: String) -> String", clause="L-7.9.5", linear=True)
def md5(s: Any) -> str:
    """The MD5 of the text in UTF-8, in lower-case hexadecimal digits; not for security."""
    import hashlib

    return _digest(hashlib.md5(usedforsecurity=False), text(s))


def _digest(hashing: Any, s: str) -> str:
    if len(s) >= LARGE:
        spend(len(s))
    for block in long_text.blocks(s):
        hashing.update(block.encode())
    return str(hashing.hexdigest())


@std_effect("crypto", "uuid() -> String", effect="random", clause="L-7.9.5")
def uuid() -> tuple[Any, ...]:
    """A new UUID of version 4."""
    return ("uuid",)


@std_effect("crypto", "random_bytes(n: Int) -> String", effect="random", clause="L-7.9.5")
def random_bytes(n: Any) -> tuple[Any, ...]:
    """n secure random bytes in hexadecimal digits; a negative n panics with P013."""
    if integer(n) < 0:
        raise Panic("P013", f"number of bytes of `random_bytes` must not be negative: {n}")
    check_string_size(2 * n)
    return ("bytes", n)
