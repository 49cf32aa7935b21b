"""`std::io` (L-7.11): what stands on standard input. Payload: (operation, text or nil).

It needs no permission: standard input is what whoever starts a program hands to it, as its arguments are, and a host that hands
it none has none to lose (L-7.11.4). Must not know: where it comes from.
"""

from __future__ import annotations

from ..guards import text
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect("io", "read_line() -> Result<Option<String>, IoError>", effect="io", clause="L-7.11.1")
def read_line() -> tuple[Any, ...]:
    """The next line of standard input without its line end, None at the end."""
    return ("read_line", None)


@std_effect("io", "read_all() -> Result<String, IoError>", effect="io", clause="L-7.11.2")
def read_all() -> tuple[Any, ...]:
    """All that is left of standard input."""
    return ("read_all", None)


@std_effect("io", "read_bytes() -> Result<Bytes, IoError>", effect="io", clause="L-7.11.2")
def read_bytes() -> tuple[Any, ...]:
    """All that is left of standard input, as bytes."""
    return ("read_bytes", None)


@std_effect("io", "script(input: String) -> Nil", effect="io", clause="L-7.11.3")
def script(input: Any) -> tuple[Any, ...]:
    """In a `@test`: what standard input holds from now on; elsewhere P013."""
    return ("script", text(input))
