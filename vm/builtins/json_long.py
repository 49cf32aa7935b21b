"""Long JSON texts, read piece by piece, so that a run can look whether it is to stop between two pieces (G-6.3).

Hands on `LongText` to `json.py`, which takes it for texts of more than `SHORT` characters. Python's own decoder takes each
element within a window of the text; an element that is longer than the window is opened here and its parts are read one by one. A
position (`at`) is a 0-based offset into the text in characters; `depth` is how many arrays and objects are around an element.
Where and why a text is no JSON is not told here: `json.py` reads a refused one again.
"""

from __future__ import annotations

from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]

from ..values.limits import limits
from ..values.metering import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder
    from typing import Any


WINDOW = 1 << 16  # characters that Python's decoder gets in one call
BLANK = " \t\r\n"
CUT = 3  # characters of a number that is cut off that may not be read as a part of it: `1e+`
PACE = 256  # elements between two looks


class LongText:
    """A reader of one long text, `source`. `scan`: the decoder's function for one value that begins at an offset. `convert`
    returns the value (of a program) for plain data at a depth, `convert_all` the list of values for a list of plain data, `array`
    and `table` the value of a whole for its parts. `window` is the part
    of the text that begins at `start`; `count` is how often `element` was called. `document` raises ValueError or StopIteration
    for text that is no JSON, ValueError or what `convert` raises for too many items or levels, RecursionError for text too deep
    for the decoder, what the decoder's `parse_constant` raises, and what ends the run."""

    __slots__ = ("source", "scan", "convert", "convert_all", "array", "table", "start", "window", "count")

    def __init__(
        self, source: str, decoder: JSONDecoder, convert: Callable[[Any, int], Any],
        convert_all: Callable[[list[Any], int], list[Any]], array: Callable[[list[Any]], Any],
        table: Callable[[dict[str, Any]], Any],
    ) -> None:  # fmt: skip
        self.source = source
        self.scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]
        self.convert = convert
        self.convert_all = convert_all
        self.array = array
        self.table = table
        self.start = 0
        self.window = source[:WINDOW]
        self.count = 0

    def document(self) -> Any:
        """Return the value of the whole text."""
        value, at = self.element(self.blank(0), 0)
        if self.blank(at) != len(self.source):
            raise ValueError("text after the value")
        return value

    def blank(self, at: int) -> int:
        """Return the position behind white space that begins at `at`."""
        blanks = WHITESPACE.match(self.source, at)
        return at if blanks is None else blanks.end()

    def sign(self, at: int) -> str:
        """Return the character at a position, empty at the end."""
        return self.source[at : at + 1]

    def element(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the value that begins at a position, and the position where it ends."""
        self.count += 1
        if self.count % PACE == 0:
            look()
        offset = at - self.start
        if 0 <= offset < len(self.window):
            element_and_end = self.scanned(offset)
            if element_and_end is not None:
                return self.convert(element_and_end[0], depth), element_and_end[1] + self.start
        if offset:
            self.start, self.window = at, self.source[at : at + WINDOW]
            look()
            element_and_end = self.scanned(0)
            if element_and_end is not None:
                return self.convert(element_and_end[0], depth), element_and_end[1] + at
        if depth < limits.nesting:
            if self.sign(at) == "[":
                return self.elements(at, depth + 1)
            if self.sign(at) == "{":
                return self.entries(at, depth + 1)
        data, end = self.scan(self.source, at)
        return self.convert(data, depth), end

    def scanned(self, offset: int) -> tuple[Any, int] | None:
        """Return the plain data that begins at an offset of the window and its end; None unless the window holds it whole. A
        number that ends with the window may go on behind it, so it does not count as whole."""
        try:
            element_and_end = self.scan(self.window, offset)
        except (ValueError, StopIteration):
            return None
        last = self.start + len(self.window) >= len(self.source)
        return element_and_end if last or element_and_end[1] + CUT < len(self.window) else None

    def stretch(self, at: int) -> tuple[list[Any], int] | None:
        """Return the elements of an array up to a comma near the end of the window and where they end; None unless all are
        whole."""
        if not self.start <= at < self.start + WINDOW // 2:
            self.start, self.window = at, self.source[at : at + WINDOW]
        look()
        offset = at - self.start
        comma = self.comma_before_like(offset) if self.sign(at) in "[{" else self.window.rfind(",", offset)
        if comma < 0:
            return None
        text = f"[{self.window[offset:comma]}]"
        try:
            data, end = self.scan(text, 0)
        except (ValueError, StopIteration):
            return None
        return (data, self.start + comma) if end == len(text) and data else None

    def comma_before_like(self, offset: int) -> int:
        """Return the offset in the window of the comma before the last element that begins like the one at an offset, an array or
        object: with the same key, since elements of one array mostly have the same ones. -1 without one."""
        like = self.window[offset : self.window.find(":", offset) + 1] if self.window[offset] == "{" else "["
        before = self.window[: self.window.rfind(like, offset + 1)] if like else ""
        comma = len(before.rstrip(BLANK)) - 1
        return comma if comma > offset and before[comma] == "," else -1

    def elements(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the Array that begins at a position, and the position behind it."""
        items: list[Any] = []
        at = self.blank(at + 1)
        if self.sign(at) == "]":
            return self.array(items), at + 1
        flat = True  # until `stretch` gives nothing: then elements are read one by one
        while True:
            elements_and_end = self.stretch(at) if flat else None
            if elements_and_end is None:
                flat = False
                value, at = self.element(at, depth)
                items.append(value)
            else:
                items += self.convert_all(elements_and_end[0], depth)
                at = elements_and_end[1]
            at = self.behind(at, "]", len(items))
            if at < 0:
                return self.array(items), -at
            at = self.blank(at)

    def entries(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the Map that begins at a position, and the position behind it."""
        parts: dict[str, Any] = {}
        at = self.blank(at + 1)
        if self.sign(at) == "}":
            return self.table(parts), at + 1
        count = 0
        while True:
            if self.sign(at) != '"':
                raise ValueError("expected a key")
            key, at = scanstring(self.source, at + 1, True)
            at = self.blank(at)
            if self.sign(at) != ":":
                raise ValueError("expected a colon")
            parts[key], at = self.element(self.blank(at + 1), depth)
            count += 1
            at = self.behind(at, "}", count)
            if at < 0:
                return self.table(parts), -at
            at = self.blank(at)

    def behind(self, at: int, closing: str, count: int) -> int:
        """Return the position behind a comma; behind the closing bracket, that position negated. ValueError for anything else,
        and for a `count` of items beyond the limit."""
        at = self.blank(at)
        if count > limits.items:
            raise ValueError("too many items")
        if self.sign(at) == closing:
            return -at - 1
        if self.sign(at) != ",":
            raise ValueError("expected a comma")
        return at + 1
