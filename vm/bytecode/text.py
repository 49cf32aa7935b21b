"""The words that disassembler and assembler share: how sections, fields, constants and flags are written (V-3.6).

Values are JSON on one line; a semicolon outside of a string begins a comment. Hands on both directions of each form.
Must not know: instructions.
"""

from __future__ import annotations

import json

from . import image as i

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONSTANT_WORDS: dict[int, str] = {
    i.K_INT: "int",
    i.K_FLOAT: "float",
    i.K_STRING: "string",
    i.K_VARIANT: "variant",
    i.K_METHOD: "method",
    i.K_BUILTIN: "builtin",
    i.K_ERROR: "error",
    i.K_CONFIG: "config",
}
FLAG_WORDS: dict[int, str] = {
    i.F_OPTION: "option",
    i.F_HIDDEN: "hidden",
    i.F_SUSPENDS: "suspends",
    i.F_CLOSURE: "closure",
    i.F_PROPAGATES: "propagates",
    i.F_METHOD: "method",
    i.F_INOUT: "inout",
}


def write(value: Any) -> str:
    """A value on one line, with everything that is not printable escaped (G-10.4). Bytes are hexadecimal texts."""
    if isinstance(value, bytes):
        return f'"{value.hex()}"'
    return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """The text with everything escaped that could move a cursor or hide something."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def flag_words(flags: int) -> list[Any]:
    """Known flags by word; what remains, if anything, as a number."""
    words: list[Any] = [word for bit, word in FLAG_WORDS.items() if flags & bit]
    rest = flags & ~sum(FLAG_WORDS)
    return [*words, rest] if rest else words


def flags_of(words: list[Any]) -> int:
    """ValueError for an unknown word."""
    bits = {word: bit for bit, word in FLAG_WORDS.items()}
    flags = 0
    for word in words:
        if word not in bits and type(word) is not int:
            raise ValueError(f"{word!r} is no flag")
        flags |= bits.get(word, word)
    return flags


def label(offset: int) -> str:
    return f"@{offset}"
