"""Where and why a text is no JSON that `std::json` reads (L-7.1.1, G-9.2).

Hands on `find_fault`. It looks at a text only after the fast reader refused it, so it builds no values and its one
concern is the position.
"""

from __future__ import annotations

from ...values.limits import limits
from ...values.metering import STRIDE, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

BLANK = " \t\r\n"
DIGITS = frozenset("0123456789")
HEX = frozenset("0123456789abcdefABCDEF")
ESCAPES = frozenset('"\\/bfnrt')
LITERALS = ("true", "false", "null")
CLOSING = {"[": "]", "{": "}"}


class Fault(Exception):
    """`at` is the offset of the character that cannot stand there."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason, at)
        self.reason = reason
        self.at = at


def find_fault(text: str) -> Fault | None:
    """The first fault of `text`, None when there is none."""
    try:
        Scanner(text).document()
    except Fault as fault:
        return fault
    return None


class Scanner:
    """One pass over a text; `open` holds the brackets that are open and `counts` the items met in each."""

    __slots__ = ("text", "at", "open", "counts", "next_look")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self.counts: list[int] = []
        self.next_look = STRIDE

    def pace(self) -> None:
        if self.at >= self.next_look:
            self.next_look = self.at + STRIDE
            look()

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise Fault(reason, self.at if at is None else at)

    def sign(self) -> str:
        """The character at the position, empty at the end."""
        return self.text[self.at : self.at + 1]

    def skip_blanks(self) -> str:
        self.pace()
        while self.sign() and self.sign() in BLANK:
            self.at += 1
            self.pace()
        return self.sign()

    def document(self) -> None:
        while True:
            self.skip_blanks()
            if self.value():
                continue
            while self.open and self.after_item():
                pass
            if not self.open:
                break
        if self.skip_blanks():
            self.fail("text after the value")

    def value(self) -> bool:
        """Reads a scalar or an opening bracket; whether another value must follow at once."""
        sign = self.sign()
        if sign in CLOSING:
            return self.opening(sign)
        if sign == '"':
            self.string()
        elif sign in DIGITS or sign == "-":
            self.number()
        else:
            self.literal()
        return False

    def opening(self, sign: str) -> bool:
        if len(self.open) >= limits.nesting:
            self.fail(f"nested deeper than {limits.nesting}")
        self.at += 1
        if self.skip_blanks() == CLOSING[sign]:
            self.at += 1
            return False
        self.open.append(sign)
        self.counts.append(1)
        if sign == "{":
            self.key()
        return True

    def after_item(self) -> bool:
        """Reads what stands behind an item: whether a bracket was closed; after a comma another value follows."""
        sign = self.skip_blanks()
        if sign == CLOSING[self.open[-1]]:
            self.at += 1
            self.open.pop()
            self.counts.pop()
            return True
        if sign != ",":
            self.fail(f"expected `,` or `{CLOSING[self.open[-1]]}`")
        self.counts[-1] += 1
        if self.counts[-1] > limits.items:
            self.fail(f"more than {limits.items} items")
        self.at += 1
        self.skip_blanks()
        if self.open[-1] == "{":
            self.key()
        return False

    def key(self) -> None:
        if self.sign() != '"':
            self.fail("expected a key in double quotes")
        self.string()
        if self.skip_blanks() != ":":
            self.fail("expected `:`")
        self.at += 1

    def string(self) -> None:
        start = self.at
        self.at += 1
        while self.sign() != '"':
            sign = self.sign()
            if not sign:
                self.fail("unterminated string", start)
            if sign < " ":
                self.fail("control character in a string")
            self.at += 1
            self.pace()
            if sign == "\\":
                self.escape()
        self.at += 1

    def escape(self) -> None:
        sign = self.sign()
        if sign == "u":
            digits = self.text[self.at + 1 : self.at + 5]
            if len(digits) < 4 or not HEX.issuperset(digits):
                self.fail("expected four hexadecimal digits after `\\u`", self.at - 1)
            self.at += 5
        elif sign in ESCAPES:
            self.at += 1
        else:
            self.fail("unknown escape", self.at - 1)

    def digits(self) -> None:
        if self.sign() not in DIGITS:
            self.fail("expected a digit")
        while self.sign() in DIGITS:
            self.at += 1

    def number(self) -> None:
        start = self.at
        if self.sign() == "-":
            self.at += 1
        if self.sign() == "0":
            self.at += 1
        else:
            self.digits()
        if self.sign() == ".":
            self.at += 1
            self.digits()
        if self.sign() in ("e", "E"):
            self.at += 1
            if self.sign() in ("+", "-"):
                self.at += 1
            self.digits()
        if float(self.text[start : self.at]) in (float("inf"), float("-inf")):
            self.fail("number beyond the range of Float", start)

    def literal(self) -> None:
        for word in LITERALS:
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return
        self.fail("expected a value" if self.sign() else "the text ends where a value is expected")
