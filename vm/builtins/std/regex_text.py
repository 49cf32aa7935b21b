"""A text as matchers see it: characters by position and what assertions ask about them.

Hands on `Subject`, the symbols beyond characters and `holds`. A matcher whose pattern has a `$` for the end of the text
sees a line end in last place as a symbol of its own, so what follows a character never has to be looked up.
"""

from __future__ import annotations

from .regex_syntax import is_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Symbols that are no characters, and classes of symbols.
START, END, FINAL_LINE_END = -1, -2, -3
LINE_END, WORD, OTHER = -4, -5, -6


def class_of(symbol: Any) -> int:
    """The class of a character or of a symbol beyond them, which is its own."""
    if type(symbol) is int:
        return symbol
    if symbol == "\n":
        return LINE_END
    return WORD if is_word(symbol) else OTHER


class Subject:
    """A text; `body` is what of it is read as characters."""

    __slots__ = ("text", "body")

    def __init__(self, text: str, final: bool) -> None:
        self.text = text
        self.body = text[:-1] if final and text.endswith("\n") else text

    def symbol(self, at: int) -> Any:
        """What stands at a position, from just before the text to just behind it."""
        if 0 <= at < len(self.body):
            return self.body[at]
        if at < 0:
            return START
        return FINAL_LINE_END if at < len(self.text) else END

    def holds(self, kind: str, at: int) -> bool:
        return holds(kind, class_of(self.symbol(at - 1)), class_of(self.symbol(at)))


def holds(kind: str, left: int, right: int) -> bool:
    """Whether an assertion holds between symbols of two classes."""
    if kind == "start":
        return left == START
    if kind == "end":
        return right == END
    if kind == "final end":
        return right in (END, FINAL_LINE_END)
    if kind == "line start":
        return left in (START, LINE_END, FINAL_LINE_END)
    if kind == "line end":
        return right in (END, LINE_END, FINAL_LINE_END)
    return ((left == WORD) != (right == WORD)) == (kind == "word")
