"""An image as text: readable, complete, and read back by the assembler to the same bytes (V-3.6).

Hands on `disassemble`, `disassemble_function` and `as_data` (for JSON) to `concerto disasm`, the first to the driver of
conformance too, `CONSTANT_WORDS` and `flags_of` to the assembler, `type_text` to `concerto inspect`, and `printable` to the
session, `std::log` (`runtime/effects/world.py`) and all of the command line that shows texts of others. Takes any decodable
image, verified or not, and changes nothing in it: what does not fit the readable form is written as raw bytes.
"""

from __future__ import annotations

import json
from math import isfinite

from . import image as i
from . import operands as k
from .encoding import decode_lines, encode_instructions, encode_lines, scan
from .hashing import hash_functions
from .opcodes import OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ----------------------------------------------------------------
# The words that disassembler and assembler share: how sections, fields, constants and flags are written (V-3.6).
#
# Values are JSON on one line; a semicolon outside of a string begins a comment. A new kind of constant or flag needs a word here.

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
    i.F_METHOD: "method",
    i.F_INOUT: "inout",
}


def write(value: Any) -> str:
    """Return plain data as JSON on one line, with everything that is not printable escaped (G-10.4). A value that is bytes
    becomes a text of hexadecimal digits; bytes inside of a list or map raise TypeError."""
    if isinstance(value, bytes):
        return f'"{value.hex()}"'
    return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """Return a text with everything escaped that could move a cursor or hide something on a terminal; a text without such
    characters is returned as it is."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def flag_words(flags: int) -> list[Any]:
    """Return the words of known flags, and what remains, if anything, as a number."""
    words: list[Any] = [word for bit, word in FLAG_WORDS.items() if flags & bit]
    rest = flags & ~sum(FLAG_WORDS)
    return [*words, rest] if rest else words


def flags_of(words: list[Any]) -> int:
    """Return the flags that a list of words stands for, and of numbers as `flag_words` leaves them. Raises TypeError for a value
    that is no list or has a list or map in it, ValueError for any other entry that is neither a known word nor an Int."""
    if type(words) is not list:
        raise TypeError(f"a list of flags expected, not {type(words).__name__}")
    bits = {word: bit for bit, word in FLAG_WORDS.items()}
    flags = 0
    for word in words:
        if word not in bits and type(word) is not int:
            raise ValueError(f"{word!r} is no flag")
        flags |= bits.get(word, word)
    return flags


def label(offset: int) -> str:
    """Return the label of an instruction, which is its offset in bytes."""
    return f"@{offset}"


_MOST_SHOWN = 40  # characters of a text in a comment


def disassemble(image: i.Image) -> str:
    """Return the text of a whole image, section after section. `assemble` makes the same image of it (V-3.6)."""
    hashes = hash_functions(image)
    sources = Sources(image)
    lines = ["; Concerto image"]
    for (name, kind), section in zip(i.SECTIONS, image.values(), strict=True):
        lines += ["", f"[{name}]"]
        if kind is i.Function:
            for number in range(len(section)):
                lines += [*_function(image, number, hashes[number], sources), ""]
        elif kind is None:
            lines += [f"{n} {_plain_entry(name, entry)}" for n, entry in enumerate(section)]
        elif isinstance(section, list):
            for number, entry in enumerate(section):
                lines += [f"entry {number}", *_fields(entry)]
        else:
            lines += _fields(section)
    return "\n".join(lines) + "\n"


def disassemble_function(image: i.Image, number: int) -> str:
    """Return the text of the function of a 0-based number, as it stands in the whole text but without its `hash`. Raises
    IndexError when the image has fewer functions."""
    return "\n".join(_function(image, number, image.functions[number].hash, Sources(image))) + "\n"


def _fields(record: i.Record) -> list[str]:
    return [f"  {name} {write(value)}" for name, value in zip(record.__slots__, record.values(), strict=True)]


def _plain_entry(section: str, entry: Any) -> str:
    if section == "constants":
        return f"{CONSTANT_WORDS[entry[0]]} {write(entry[1])}"
    if section == "source_map":
        return f"{write(entry[0])} {write(entry[1])}"
    return write(entry)


# ---------------------------------------------------------------- functions


def _function(image: i.Image, number: int, expected_hash: bytes, sources: Sources) -> list[str]:
    """Return the lines of a function: fields first, then the code; `hash` only where the assembler would compute another one."""
    function = image.functions[number]
    listing = Listing(function)
    lines = [f"function {number} {write(function.name)}"]
    for name in ("params", "result", "slots", "captures", "cells", "stack"):
        lines.append(f"  {name} {write(getattr(function, name))}")
    lines.append(f"  flags {write(flag_words(function.flags))}")
    if function.hash != expected_hash:
        lines.append(f"  hash {write(function.hash)}")
    if not listing.readable:
        return [*lines, *(f"  raw {name} {write(getattr(function, name))}" for name in ("code", "handlers", "lines"))]
    for start, end, target, depth in function.handlers:
        lines.append(f"  handler {label(start)} {label(end)} {label(target)} {depth}")
    return [*lines, "  code", *listing.text(image, sources), "  end"]


class Sources:
    """The source texts of an image by line; where they were left out, the names of the files."""

    def __init__(self, image: i.Image) -> None:
        self.names = [write(entry[0][:_MOST_SHOWN]) for entry in image.source_map]
        self.texts = [text.split("\n") for text in image.source]

    def position(self, file: int, line: int, column: int) -> str:
        """Return a position as numbers for the assembler, then as a comment the source text there. `file` counts from 0, `line`
        and `column` from 1, columns in code points."""
        text = self.names[file] if file < len(self.names) else ""
        if file < len(self.texts) and 0 < line <= len(self.texts[file]):
            text = printable(self.texts[file][line - 1][max(0, column - 1) :][:_MOST_SHOWN].strip())
        return f"{file}:{line}:{column}" + (f"  ; {text}" if text else "")


class Listing:
    """The code of a function: `code`, its instructions as (offset, opcode number, operand) up to the first fault; `offsets`,
    index by offset, that of the end too; `jumps`, the offsets that jumps name; `labels`, those and the ones that handlers name;
    `positions`, (file, line, column) by offset. `readable`: the assembler makes the same bytes of it; where it is false, the
    other parts may be incomplete."""

    def __init__(self, function: i.Function) -> None:
        self.function = function
        self.code, fault = scan(function.code, len(function.code))
        self.offsets = {offset: index for index, (offset, _, _) in enumerate(self.code)} | {
            len(function.code): len(self.code)
        }
        self.jumps = {operand for _, number, operand in self.code if OPCODES[number].kind is k.LABEL}
        self.labels = self.jumps | {offset for handler in function.handlers for offset in handler[:3]}
        self.positions: dict[int, tuple[int, int, int]] = {}
        self.readable = not fault and self.labels <= self.offsets.keys() and self._same_lines() and self._same_code()

    def _same_lines(self) -> bool:
        try:
            runs = decode_lines(self.function.lines)
            same = encode_lines(runs) == self.function.lines
        except ValueError:
            return False
        self.positions = {offset: (file, line, column) for offset, file, line, column in runs}
        return same and self.positions.keys() <= self.offsets.keys()

    def _same_code(self) -> bool:
        guess = {index: offset for offset, index in self.offsets.items() if offset in self.labels}
        program = [
            (number, self.offsets[operand] if operand in self.jumps and OPCODES[number].kind is k.LABEL else operand)
            for _, number, operand in self.code
        ]
        return encode_instructions(program, guess)[0] == self.function.code

    def text(self, image: i.Image, sources: Sources) -> list[str]:
        """Return the lines of the code, which must be readable."""
        lines = []
        for offset, number, operand in [*self.code, (len(self.function.code), -1, 0)]:
            if offset in self.labels:
                lines.append(f"  {label(offset)}:")
            if offset in self.positions:
                lines.append(f"    at {sources.position(*self.positions[offset])}")
            if number >= 0:
                lines.append(_instruction(image, self.function, number, operand))
        return lines


def _instruction(image: i.Image, function: i.Function, number: int, operand: int) -> str:
    op = OPCODES[number]
    if op.kind is k.NONE:
        return f"    {op.name}"
    text = label(operand) if op.kind is k.LABEL else str(operand)
    meaning = operand_text(image, function, op.kind, operand)
    return f"    {op.name} {text}" + (f"  ; {meaning}" if meaning else "")


def operand_text(image: i.Image, function: i.Function, kind: k.OperandKind, operand: int) -> str:
    """Return what an operand of that kind names, for readers: a parameter, a constant, a type, the name of an entry; "" where the
    number says it all or is outside its table."""
    if kind is k.LOCAL:
        return printable(function.params[operand][0]) if operand < len(function.params) else ""
    table = getattr(image, kind.table, None) if kind.table else None
    if table is None or operand >= len(table):
        return ""
    entry = table[operand]
    if kind.table == "constants":
        value = entry[1]
        return write(value[:_MOST_SHOWN] if type(value) is str else value)
    return type_text(image, operand) if kind.table == "types" else write(entry.name)


def type_text(image: i.Image, index: int, depth: int = 3) -> str:
    """Return the type of the 0-based number `index` in a few words: its head, then its name, or the types inside it up to `depth`
    levels; "?" when there is no such type."""
    descriptor = image.types[index] if index < len(image.types) else ["?"]
    head, *rest = descriptor
    if rest and type(rest[0]) is str:
        return f"{head} {'.'.join(printable(part) for part in rest if type(part) is str)}"
    inner = [type_text(image, t, depth - 1) for t in rest if type(t) is int] if depth else ["…"] * bool(rest)
    return f"{head}<{', '.join(inner)}>" if inner else str(head)


# ---------------------------------------------------------------- the same as data


def as_data(image: i.Image) -> dict[str, Any]:
    """Return an image as data for JSON, a dict of the sections by name: records as maps, code as instructions (offset, opcode,
    and where there is one operand and what it means) with their positions, or in hexadecimal digits where it is not readable.
    Infinities and NaN are words."""
    data: dict[str, Any] = {}
    for (name, kind), section in zip(i.SECTIONS, image.values(), strict=True):
        if kind is i.Function:
            data[name] = [_function_data(image, function) for function in section]
        elif isinstance(section, i.Record):
            data[name] = _record_data(section)
        elif kind is not None:
            data[name] = [_record_data(entry) for entry in section]
        elif name == "constants":
            data[name] = [{"kind": CONSTANT_WORDS[tag], "value": value} for tag, value in section]
        elif name == "source_map":
            data[name] = [{"name": entry[0], "sha256": entry[1].hex()} for entry in section]
        else:
            data[name] = section
    return {name: _finite(section) for name, section in data.items()}


def _finite(value: Any) -> Any:
    """Return a value with a word in place of every infinity and NaN, which JSON does not have."""
    if isinstance(value, float):
        return value if isfinite(value) else repr(value)
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return {key: _finite(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _record_data(record: i.Record) -> dict[str, Any]:
    values = zip(record.__slots__, record.values(), strict=True)
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in values}


def _function_data(image: i.Image, function: i.Function) -> dict[str, Any]:
    listing = Listing(function)
    data = _record_data(function) | {"flags": flag_words(function.flags)}
    if listing.readable:
        data["code"] = [_instruction_data(image, function, *instruction) for instruction in listing.code]
        data["lines"] = [[offset, *position] for offset, position in listing.positions.items()]
    return data


def _instruction_data(image: i.Image, function: i.Function, offset: int, number: int, operand: int) -> dict[str, Any]:
    op = OPCODES[number]
    data: dict[str, Any] = {"offset": offset, "opcode": op.name}
    if op.kind is not k.NONE:
        data |= {"operand": operand, "means": operand_text(image, function, op.kind, operand)}
    return data
