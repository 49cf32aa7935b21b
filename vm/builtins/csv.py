"""`std::csv` (L-7.12): tables as text, by RFC 4180 with any line end.

A field in quotes may hold separators, line ends and, doubled, quotes; in one without them a quote is a character as any other. A
text that is no table is an Err of ParseError, whose `line` and `column` count from 1. Python's reader in C takes what it takes
in the same way; a text that it refuses is read here once more, to say what is wrong and where.

Hands on rows only, to the registry, which `modules.py` loads when a program names the module: the docstring of a decorated
function is its text in the reference, for readers of the language. A body raises P007 for an argument of another kind, P013 for a
text that is no separator, and P103 for a result beyond the limits of G-6.1. Each charges the run for its work and looks at it
meanwhile, so that what ends the run may come out of it.
"""

from __future__ import annotations

from itertools import chain, islice

from ..panics import Panic
from ..values import long_text
from ..values.containers import Array, Map, key_of
from ..values.errors import make_error
from ..values.limits import check_items, check_string_size, join, limits
from ..values.metering import BLOCK, LARGE, STRIDE, look, paced, spend
from ..values.objects import Err, NoneOption, Ok, Some
from ..values.text import display
from .registry import array, key_text, std, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class Fault(Exception):
    """Why a text is no table (`reason`), and `at`, the position of the fault, in characters from 0 on."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


@std("csv", 'parse(s: String, separator: String = ",") -> Result<Array<Map<String, String>>, ParseError>', clause="L-7.12.1",
     linear=True)  # fmt: skip
def parse(s: Any, separator: Any) -> Ok | Err:
    """A Map for each row, its keys the fields of the first; empty lines are passed over."""
    try:
        reader = _Reader(text(s), _one(separator))
        return Ok(Array(_maps(reader.quick_rows()) or _with_header(reader.rows(), separator)))
    except Fault as fault:
        return Err(_error(s, fault))


@std("csv", 'parse_rows(s: String, separator: String = ",") -> Result<Array<Array<String>>, ParseError>', clause="L-7.12.2",
     linear=True)  # fmt: skip
def parse_rows(s: Any, separator: Any) -> Ok | Err:
    """The fields of each row, the first one included; empty lines are passed over."""
    try:
        reader = _Reader(text(s), _one(separator))
        return Ok(Array([Array(fields) for fields in paced(reader.quick_rows() or [fields for fields, _ in reader.rows()])]))
    except Fault as fault:
        return Err(_error(s, fault))


@std("csv", 'format(rows: Array<Map<String, Any>>, separator: String = ",") -> String', clause="L-7.12.3", linear=True)
def format_maps(rows: Any, separator: Any) -> str:
    """A header of all keys in the order in which they appear, then a row for each Map; what one lacks is empty."""
    mark = _one(separator)
    maps = [table(row) for row in array(rows)]
    names: dict[Any, None] = {}
    for row in maps:
        look()  # one may have a million keys
        names.update(dict.fromkeys(row))
    if not names:
        return ""
    check_string_size(len(names) * len(maps))  # the separators alone: maps of different keys make a square
    lines = ([row.get(name) for name in paced(names)] for row in maps)
    return _written(chain([[key_text(name) for name in paced(names)]], lines), mark)


@std("csv", 'format_rows(rows: Array<Array<Any>>, separator: String = ",") -> String', clause="L-7.12.4", linear=True)
def format_rows(rows: Any, separator: Any) -> str:
    """A line for each row: the Display texts of its fields, nothing for one that is absent."""
    return _written([array(row) for row in array(rows)], _one(separator))


def _one(separator: Any) -> str:
    if len(text(separator)) != 1 or separator in '"\r\n':
        raise Panic("P013", f"a separator is one character, no quote and no line end, not {separator!r}")
    return str(separator)


def _error(source: str, fault: Fault) -> Any:
    # Lines end in LF, CR LF or CR (L-7.12.5).
    before = source[: fault.at].replace("\r\n", "\n").replace("\r", "\n")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    message = f"{fault.reason} at line {line}, column {column}"
    return make_error("ParseError", None, {"message": message, "line": line, "column": column})


def _maps(rows: list[list[str]]) -> list[Map]:
    """Return a Map for each row but the first, which names its fields; none unless all rows have a field for each name."""
    names = rows[0] if rows else []
    if len({*names}) < len(names) or any(len(fields) != len(names) for fields in paced(rows)):
        return []
    return [Map(dict(zip(names, fields, strict=True))) for fields in paced(islice(rows, 1, None))]


def _with_header(rows: list[tuple[list[str], int]], separator: str) -> list[Map]:
    if not rows:
        return []
    (names, start), *others = rows
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            raise Fault(f"the header names `{name}` twice", start)
        earlier.add(name)
    maps = []
    for fields, at in others:
        look()
        if len(fields) != len(names):
            other = next((mark for mark in ";\t|," if mark != separator and mark in names[0]), None) if len(names) == 1 else None
            hint = f"; its header holds {other!r}, which `separator:` may name" if other else ""
            raise Fault(f"{len(fields)} field{'s' * (len(fields) != 1)} in a table of {len(names)}{hint}", at)
        maps.append(Map({key_of(name): field for name, field in zip(names, fields, strict=True)}))
    return maps


class _Reader:
    """One pass over a text; `at` is the offset of the next character. A method reads the part that it is named after and goes
    behind it; it raises Fault, and P103 for too many rows or fields."""

    def __init__(self, source: str, separator: str) -> None:
        self.source = source
        self.separator = separator
        self.at = 1 if source.startswith("\ufeff") else 0
        self.next = {"\n": -1, "\r": -1}  # where each stood when it was looked for last
        if len(source) >= LARGE:
            spend(len(source))

    def quick_rows(self) -> list[list[str]]:
        """Return the fields of each row that is no empty line, as Python's reader finds them; none where it refuses the text."""
        rows: list[list[str]] = []
        try:
            from _csv import Error, reader  # the module csv has no more than a few programs need
        except ImportError:  # a Python without it
            return []
        try:
            found = reader(chain.from_iterable(self.blocks()), delimiter=self.separator, strict=True)
            while some := list(islice(found, STRIDE)):
                rows += filter(None, some)
                check_items(max(len(rows), *map(len, some)))
        except (Error, ValueError, TypeError):  # it takes no fields of more than 131,072 characters, and not every separator
            return []
        return rows

    def blocks(self) -> Iterator[list[str]]:
        """Yield the lines of the text, with LF at their ends, block by block, with a look at the run before each. Raises
        ValueError for a line that is longer than a block."""
        at = self.at
        while at < len(self.source):
            look()
            end = len(self.source)
            if end - at > BLOCK:
                end = self.source.rfind("\n", at, at + BLOCK) + 1
                if end <= at:
                    raise ValueError("a long line")
            lines = self.source[at:end].split("\n")
            if not lines[-1]:
                lines.pop()
            yield [f"{line}\n" for line in lines]
            at = end

    def rows(self) -> list[tuple[list[str], int]]:
        """Return the fields of each row that is no empty line, and the position where the row begins."""
        rows: list[tuple[list[str], int]] = []
        while self.at < len(self.source):
            start = self.at
            fields = self.row()
            if fields != [""] or self.source[start] == '"':
                rows.append((fields, start))
                check_items(len(rows))
        return rows

    def row(self) -> list[str]:
        """Return the fields up to a line end, and go behind it."""
        fields: list[str] = []
        while True:
            if len(fields) % STRIDE == 0:
                look()
            fields.append(self.quoted() if self.source.startswith('"', self.at) else self.plain())
            check_items(len(fields))
            if not self.source.startswith(self.separator, self.at):
                break
            self.at += 1
        self.at += 2 if self.source.startswith("\r\n", self.at) else 1
        return fields

    def plain(self) -> str:
        start = self.at
        line = self.line_end()
        end = self.source.find(self.separator, start, line)
        self.at = line if end < 0 else end
        return self.source[start : self.at]

    def line_end(self) -> int:
        """Return the position of the next line end. Each sign is searched once up to where it stands: a line may have a
        million fields."""
        for sign, at in self.next.items():
            if at < self.at:
                position = self.source.find(sign, self.at)
                self.next[sign] = len(self.source) if position < 0 else position
        return min(self.next.values())

    def quoted(self) -> str:
        start = end = self.at
        doubled = 0
        while True:
            end = self.source.find('"', end + 1)
            if end < 0:
                raise Fault("a quote that is not closed", start)
            if not self.source.startswith('"', end + 1):
                break
            end += 1
            doubled += 1
            if doubled % STRIDE == 0:
                look()
        self.at = end + 1
        if self.at < len(self.source) and self.source[self.at] not in (self.separator, "\r", "\n"):
            raise Fault("text behind a closing quote", self.at)
        content = self.source[start + 1 : end]
        return long_text.replace(content, '""', '"') if doubled else content


def _written(rows: Iterable[list[Any]], separator: str) -> str:
    lines = []
    size = 0
    for row in rows:
        look()
        fields = []
        for value in row if len(row) < STRIDE else paced(row):
            fields.append(_field(value, separator))
            size += len(fields[-1]) + 1
            if size > limits.string:
                check_string_size(size)
        # A row of one empty field would be an empty line, which nobody reads as a row.
        lines.append('""' if fields == [""] else separator.join(fields))
    if size >= LARGE:
        spend(size)
    return join("\n", [*lines, ""]) if lines else ""


def _field(value: Any, separator: str) -> str:
    if type(value) is Some:
        value = value.value
    if value is None or type(value) is NoneOption:
        return ""
    text = display(value)
    if not text or not (separator in text or '"' in text or "\n" in text or "\r" in text or text[0] == "\ufeff"):
        return text
    return '"' + text.replace('"', '""') + '"'
