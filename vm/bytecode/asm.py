"""The assembler: the text of the disassembler, or one written by hand, to an image (V-3.6).

Hands on `assemble` and `AsmError` to tests, which write images as text, and to the route `asm` of the conformance driver; no
command uses them. A function's `hash` is computed where the text does not give it, its line table from the `at` lines; labels are
any words after `@`, and one that is a number is a first guess of its offset in bytes. A wrong image assembles too, as long as its
sections have the shape of an image: nothing here calls the verifier. Opcodes stand in `opcodes.py`, the words for kinds of
constants and flags in `disasm.py`.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from . import image as i
from . import operands as k
from .disasm import CONSTANT_WORDS, flags_of
from .encoding import encode_instructions, encode_lines
from .fields import LARGEST
from .hashing import hash_functions
from .image import DEFAULT
from .opcodes import BY_NAME
from .shape import check_sections, lower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


_CONSTANT_KINDS = {word: kind for kind, word in CONSTANT_WORDS.items()}
_NO_HASH = bytes(32)  # until all functions are known
_DECODER = json.JSONDecoder()


class AsmError(Exception):
    """A text that is no image; `line` counts from 1, and is 0 for the text as a whole; `message` says what is wrong, without the
    line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.message = message


def assemble(text: str) -> i.Image:
    """Return the image that a text describes, not verified. Raises AsmError with the line of the fault, or with line 0 where the
    text ends too early, or a section has another shape or is larger than `DEFAULT` allows."""
    reader = Reader(text)
    sections = []
    for name, kind in i.SECTIONS:
        reader.section(name)
        sections.append(_section(reader, name, kind))
    if not reader.finished():
        reader.fail("nothing follows the last section")
    image = i.Image(*sections)
    try:
        check_sections(lower(image), DEFAULT)
    except i.ImageError as error:
        raise AsmError(0, error.message) from None
    for function, computed in zip(image.functions, hash_functions(image), strict=True):
        if function.hash is _NO_HASH:
            function.hash = computed
    return image


def _section(reader: Reader, name: str, kind: type[i.Record] | None) -> Any:
    if kind is None:
        return _numbered(reader, name)
    if kind is i.Function:
        return _functions(reader)
    if kind in (i.Header, i.Exports):
        return kind(*_fields(reader, kind))
    entries: list[i.Record] = []
    while reader.more():
        reader.word("entry")
        reader.number(len(entries))
        reader.end()
        entries.append(kind(*_fields(reader, kind)))
    return entries


def _fields(reader: Reader, kind: type[i.Record]) -> list[Any]:
    """Read a record: one line per field, in the order of the record."""
    values = []
    for name in kind.__slots__:
        reader.word(name)
        values.append(reader.value())
        reader.end()
    return values


def _numbered(reader: Reader, name: str) -> list[Any]:
    entries: list[Any] = []
    while reader.more():
        reader.number(len(entries))
        if name == "constants":
            word = reader.take()
            if word not in _CONSTANT_KINDS:
                reader.fail(f"{word!r} is no kind of constant")
            entries.append((_CONSTANT_KINDS[word], reader.value()))
        elif name == "source_map":
            entries.append([reader.value(), reader.binary()])
        else:
            entries.append(reader.value())
        reader.end()
    return entries


# ---------------------------------------------------------------- functions


def _functions(reader: Reader) -> list[i.Function]:
    functions: list[i.Function] = []
    while reader.more():
        row = reader.row
        reader.word("function")
        reader.number(len(functions))
        name = reader.value()
        reader.end()
        functions.append(_function(reader, name, row))
    return functions


def _function(reader: Reader, name: Any, row: int) -> i.Function:
    """Read a function: fields by name in any order, then `code` with its lines, or `raw` bytes. `row` is the 0-based line of its
    name."""
    fields: dict[str, Any] = {"hash": _NO_HASH}
    handlers: list[tuple[Label, Label, Label, int]] = []
    while "code" not in fields or reader.next_word() == "raw":
        word = reader.take()
        if word == "code":
            reader.end()
            Body(reader, row).read(fields, handlers)
        elif word == "raw":
            part = reader.take()
            fields[part] = reader.value() if part == "handlers" else reader.binary()
            reader.end()
        elif word == "handler":
            handlers.append((_label(reader), _label(reader), _label(reader), reader.whole()))
            reader.end()
        else:
            fields[word] = _field(reader, word)
            reader.end()
    missing = [field for field in i.Function.__slots__[1:] if field not in fields]
    if missing or len(fields) > len(i.Function.__slots__) - 1:
        reader.fail(f"function {name!r}: fields are missing or unknown {missing or sorted(fields)}", row)
    return i.Function(name, *(fields[field] for field in i.Function.__slots__[1:]))


def _field(reader: Reader, word: str) -> Any:
    if word == "hash":
        return reader.binary()
    value = reader.value()
    if word != "flags":
        return value
    try:
        return flags_of(value)
    except (ValueError, TypeError) as error:
        reader.fail(str(error))


class Label(NamedTuple):
    """A label where it is used: `word` with its `@`, and the 0-based line in `row`."""

    word: str
    row: int


def _label(reader: Reader) -> Label:
    """Read a label."""
    row = reader.row
    return Label(reader.take(), row)


class Body:
    """The lines between `code` and `end`, whose words come from `reader`. `row`: the 0-based line of the function's name.
    `program`: (opcode number, operand). `labels`: the index in `program` that a label stands before. `positions`: such an index
    with file, line and column."""

    def __init__(self, reader: Reader, row: int) -> None:
        self.reader = reader
        self.row = row
        self.program: list[tuple[int, int | Label]] = []  # labels are replaced when all of them are known
        self.labels: dict[str, int] = {}
        self.positions: list[tuple[int, tuple[int, int, int]]] = []

    def read(self, fields: dict[str, Any], handlers: list[tuple[Label, Label, Label, int]]) -> None:
        """Read up to `end`, and set `code`, `handlers` and `lines` in `fields`; `handlers` holds (start, end, target, depth).
        Raises AsmError."""
        reader = self.reader
        while (word := reader.take()) != "end":
            if word.startswith("@") and word.endswith(":"):
                self._label(word[:-1])
            elif word == "at":
                self.positions.append((len(self.program), self._position()))
            elif word in BY_NAME:
                self._instruction(word)
            else:
                reader.fail(f"{word!r} is no opcode")
            reader.end()
        reader.end()
        try:
            self._finish(fields, handlers)
        except ValueError as error:  # of the line table as a whole
            reader.fail(str(error), self.row)

    def _label(self, word: str) -> None:
        if word in self.labels:
            self.reader.fail(f"{word} stands twice")
        self.labels[word] = len(self.program)

    def _position(self) -> tuple[int, int, int]:
        parts = [whole_number(part) for part in self.reader.take().split(":")]
        if len(parts) != 3 or None in parts:
            self.reader.fail("a position is file:line:column")
        return tuple(parts)  # type: ignore[return-value]

    def _instruction(self, word: str) -> None:
        op = BY_NAME[word]
        if op.kind is k.NONE:
            self.program.append((op.number, 0))
        else:
            self.program.append((op.number, _label(self.reader) if op.kind is k.LABEL else self.reader.whole()))

    def _finish(self, fields: dict[str, Any], handlers: list[tuple[Label, Label, Label, int]]) -> None:
        numbers = {index: whole_number(word[1:]) for word, index in self.labels.items()}
        guess = {index: number for index, number in numbers.items() if number is not None}
        program = [(number, self._index(word) if isinstance(word, Label) else word) for number, word in self.program]
        fields["code"], offsets = encode_instructions(program, guess)
        fields["lines"] = encode_lines((offsets[index], *position) for index, position in self.positions)
        fields["handlers"] = [
            [offsets[self._index(start)], offsets[self._index(end)], offsets[self._index(target)], depth]
            for start, end, target, depth in handlers
        ]

    def _index(self, label: Label) -> int:
        if label.word not in self.labels:
            self.reader.fail(f"there is no label {label.word}", label.row)
        return self.labels[label.word]


# ---------------------------------------------------------------- lines and words


def whole_number(word: str) -> int | None:
    """Return the number that one to ten decimal digits write; None for another word. No operand has more digits."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= 10 else None


class Reader:
    """The text word by word. A method that reads raises AsmError with the line when something else stands there than it is asked
    to read. `row` is the 0-based line, `at` the 0-based offset of the next word in it, in code points."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.row = -1
        self.line = ""
        self.at = 0
        self._advance()

    def fail(self, message: str, row: int | None = None) -> NoReturn:
        """Raise AsmError with the line that is being read, or the 0-based line `row`; with line 0 behind the end of the text."""
        if row is None:
            row = self.row
        raise AsmError(row + 1 if row < len(self.lines) else 0, message)

    def _advance(self) -> None:
        """Go to the first word of the next line that holds one."""
        self.row += 1
        while self.row < len(self.lines):
            self.line, self.at = self.lines[self.row], 0
            self._skip()
            if self.at < len(self.line):
                return
            self.row += 1
        self.line, self.at = "", 0

    def _skip(self) -> None:
        while self.at < len(self.line) and self.line[self.at] in " \t\r":
            self.at += 1
        if self.at < len(self.line) and self.line[self.at] == ";":
            self.at = len(self.line)

    def next_word(self) -> str:
        """Return the word ahead without reading it; "" at the end of the line and of the text."""
        end = self.at
        while end < len(self.line) and self.line[end] not in " \t\r;":
            end += 1
        return self.line[self.at : end]

    def more(self) -> bool:
        """Return whether the section has another line."""
        return self.at < len(self.line) and self.line[self.at] != "["

    def finished(self) -> bool:
        """Return whether no line with a word is left."""
        return self.row >= len(self.lines)

    def section(self, name: str) -> None:
        """Read the line `[name]`."""
        if self.next_word() != f"[{name}]":
            self.fail(f"section [{name}] expected")
        self.at += len(name) + 2
        self.end()

    def take(self) -> str:
        """Read any word and return it."""
        word = self.next_word()
        if not word:
            self.fail("the line or the text ends too early")
        self.at += len(word)
        self._skip()
        return word

    def word(self, wanted: str) -> None:
        """Read the word `wanted`."""
        if self.next_word() != wanted:
            self.fail(f"`{wanted}` expected")
        self.take()

    def whole(self) -> int:
        """Read an operand and return it: a number from 0 to LARGEST."""
        word = self.take()
        number = whole_number(word)
        if number is None:
            self.fail(f"{word!r} is no operand")
        return number if number <= LARGEST else self.fail(f"{number} is outside 0..{LARGEST}")

    def number(self, wanted: int) -> None:
        """Read the number `wanted`: entries are numbered in order."""
        self.word(str(wanted))

    def value(self) -> Any:
        """Read a JSON value and return it as plain data."""
        try:
            value, self.at = _DECODER.raw_decode(self.line, self.at)
        except (ValueError, RecursionError) as error:
            self.fail(f"no value: {error}")
        self._skip()
        return value

    def binary(self) -> bytes:
        """Read a JSON text of hexadecimal digits and return the bytes."""
        value = self.value()
        try:
            return bytes.fromhex(value)
        except (ValueError, TypeError):
            self.fail("hexadecimal digits in quotes expected")

    def end(self) -> None:
        """Go on to the next line that holds a word. Raises AsmError when this one has a word left."""
        if self.at < len(self.line):
            self.fail(f"{self.next_word()!r} is too much")
        self._advance()
