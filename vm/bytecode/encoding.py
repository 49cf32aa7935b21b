"""An image as bytes: magic and version, one msgpack value, SHA-256 of both (V-3.1).

`encode` returns equal bytes for equal images; `decode` refuses, in the order of G-3.1, everything that `encode` would not have
written, and allocates nothing before it knows how much. Nothing here reads or writes a file. Hands on also `content_hash`,
`sha256`, `MAGIC` (to the command line and the Python API, which know an image by it), `check_frame` (to `concerto verify`),
`precheck_msgpack` (to snapshots), instructions to and from code bytes (`scan`, `encode_instructions`, and to tests
`instructions`), and the line tables of functions (`encode_lines`, `walk_lines`, `decode_lines`, `position_at`, `positions_at`).
They go to the files beside this one, code generation, the linker and `concerto inspect`; `encode`, `decode` and the hashes also
to snapshots, the command line, the API and `runtime/`, which keep images and compare them. The shape of a section stands in
`shape.py`, its record in `image.py`.
"""

from __future__ import annotations

import sys
from itertools import accumulate

import msgpack

from . import fields, shape
from . import operands as k
from .image import DEFAULT, FORMAT, SECTIONS, SECTIONS_BEFORE, STD_VERSION, Image, ImageError, Limits
from .opcodes import OPCODE_SET_VERSION, OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any


# ----------------------------------------------------------------
# SHA-256 without OpenSSL, which hashlib sets up as a whole: that costs a start more than the hash of an image (V-8.6).

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as sha256
    else:
        from _sha256 import sha256 as sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # of another Python
    from hashlib import sha256 as sha256


# ----------------------------------------------------------------
# A walk over the headers of a msgpack value before any of it is built (G-2.5, G-3.3).
#
# A few bytes can claim gigabytes, and a byte can become a hundred; this walk refuses both, so that what msgpack then allocates
# is bounded by the file.

# What a header byte begins: fixed size, length-prefixed bytes, an array, a map, or nothing legal here.
_FIXED, _BYTES, _ARRAY, _MAP, _ILLEGAL = range(5)


def _heads() -> tuple[tuple[int, int, int] | None, ...]:
    """Return for each header byte (form, bytes of the length field, size or count if there is no such field), as the msgpack
    specification lists them; None where the byte is the whole value."""
    heads: list[tuple[int, int, int] | None] = [None] * 256
    heads[0x80:0x90] = [(_MAP, 0, n) for n in range(16)]
    heads[0x90:0xA0] = [(_ARRAY, 0, n) for n in range(16)]
    heads[0xA0:0xC0] = [(_FIXED, 0, n) for n in range(32)]
    heads[0xC1] = (_ILLEGAL, 0, 0)
    heads[0xC4:0xC7] = [(_BYTES, n, 0) for n in (1, 2, 4)]
    heads[0xC7:0xCA] = [(_ILLEGAL, 0, 0)] * 3
    heads[0xCA:0xD4] = [(_FIXED, 0, n) for n in (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)]
    heads[0xD4:0xD9] = [(_ILLEGAL, 0, 0)] * 5
    heads[0xD9:0xDC] = [(_BYTES, n, 0) for n in (1, 2, 4)]
    heads[0xDC:0xE0] = [(_ARRAY, 2, 0), (_ARRAY, 4, 0), (_MAP, 2, 0), (_MAP, 4, 0)]
    return tuple(heads)


_HEADS = _heads()

# What a value costs in memory beside its bytes, at most: an object and its place; an empty array; an entry of a map.
_VALUE, _ARRAY_COST, _MAP_COST = 64, 72, 240
FREE = 32 << 20  # bytes that any value may cost


def precheck_msgpack(data: bytes, nesting: int, free: int = FREE) -> None:
    """Raise ImageError V006 unless `data` is one whole msgpack value without extension types, whose lists and maps nest at most
    `nesting` levels, and whose decoded form is estimated at no more than twice the bytes of `data` and `free` bytes."""
    at, end, cost, most = 0, len(data), 0, free + 2 * len(data)
    open_counts: list[int] = []  # values still to come in each open array or map
    expected, heads, value_cost = 1, _HEADS, _VALUE
    while True:
        while expected == 0:
            if not open_counts:
                if at != end:
                    raise ImageError("V006", f"{end - at} bytes follow the value")
                return
            expected = open_counts.pop()
        if at >= end:
            raise ImageError("V006", "the value is cut off")
        head = heads[data[at]]
        at += 1
        expected -= 1
        cost += value_cost
        if head is not None:
            form, prefix, size = head
            if prefix:
                size = int.from_bytes(data[at : at + prefix], "big")
                at += prefix
            if form <= _BYTES:
                at += size
            elif form == _ILLEGAL:
                raise ImageError("V006", f"byte {at - 1}: a kind of value that no image holds")
            else:
                open_counts.append(expected)
                expected = size if form == _ARRAY else 2 * size
                cost += _ARRAY_COST if form == _ARRAY else _MAP_COST
                if expected > end - at:
                    raise ImageError("V006", f"byte {at}: {expected} values claimed, {end - at} bytes left")
                if len(open_counts) > nesting:
                    raise ImageError("V006", f"byte {at}: values nest deeper than {nesting}")
        if cost > most or at > end:
            raise ImageError("V006", f"byte {at}: the value is " + ("cut off" if at > end else "too costly to decode"))


MAGIC = b"\x8fCONCB"  # the first byte is no text in any encoding of text
_HEAD = len(MAGIC) + len(FORMAT)
_HASH = sha256().digest_size
_FRAME_NESTING = 6  # sections, section, entry, decorators, decorator, arguments: around data whose nesting is limited


def sections_of(format: list[int]) -> int:
    """Return how many sections an image of a format, [major, minor], has."""
    major, minor = format
    return SECTIONS_BEFORE.get(minor, len(SECTIONS)) if major == FORMAT[0] else len(SECTIONS)


def encode(image: Image) -> bytes:
    """Return the bytes of an image; one that was read of an earlier format has those of then, and so its identity. Raises
    ImageError V006 to V008 for one whose content `decode` would refuse under the limits DEFAULT; the size of the file and the
    versions in the header are not checked."""
    try:
        sections = shape.lower(image)
        count = sections_of(image.header.format)
        if any(sections[count:]):
            raise ValueError("its format has not all the sections that it fills")
        payload = _pack(sections[:count])
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ImageError("V008", f"the image cannot be encoded: {error}") from None
    head = bytes(image.header.format if count < len(SECTIONS) else FORMAT)
    _read(payload, DEFAULT, head[1])  # what this process cannot read back is not written
    body = MAGIC + head + payload
    digest: bytes = sha256(body).digest()
    return body + digest


def decode(data: bytes, limits: Limits = DEFAULT, demand: Callable[[bytes], None] | None = None) -> Image:
    """Return the image in `data`, which is not verified. Raises ImageError: V001 for the size of the file, V002 for another
    beginning, V003 for another version, V004 for a wrong hash, V006 for content that cannot be decoded, V007 for content that is
    not in canonical form, V008 for a section of another shape or a header with another version than the head of the file.
    `demand` is called with `data` between V004 and V006: it raises ImageError (V005) for an image that the host does not trust,
    of which nothing is decoded (G-1.2)."""
    check_frame(data, limits)
    if demand is not None:
        demand(data)
    image = shape.build(_read(data[_HEAD:-_HASH], limits, data[_HEAD - 1]))
    _check_versions(image, data)
    return image


def content_hash(data: bytes) -> str:
    """Return the identity of an encoded image: the SHA-256 at its end in 64 hexadecimal digits. Only `decode` checks that it fits
    the content."""
    return data[-_HASH:].hex()


def check_frame(data: bytes, limits: Limits = DEFAULT) -> None:
    """Raise ImageError, V001 to V004 as `decode`, for bytes around which there is no whole image; what is inside is not read."""
    if len(data) > limits.file:
        raise ImageError("V001", f"the file has {len(data)} bytes, the limit is {limits.file}")
    if len(data) <= _HEAD + _HASH:
        raise ImageError("V001", f"a file of {len(data)} bytes holds no image")
    if data[: len(MAGIC)] != MAGIC:
        raise ImageError("V002", "the file is no Concerto image")
    major, minor = data[len(MAGIC) : _HEAD]
    if major != FORMAT[0] or minor > FORMAT[1]:
        raise _skew("image format", f"{major}.{minor}", f"{FORMAT[0]}.{FORMAT[1]}")
    if sha256(memoryview(data)[:-_HASH]).digest() != data[-_HASH:]:
        raise ImageError("V004", "the image is damaged: its hash does not fit its content")


def _skew(what: str, needed: object, present: object) -> ImageError:
    return ImageError("V003", f"image needs Concerto {what} {needed}; this is {present}")


def _read(payload: bytes, limits: Limits, minor: int) -> list[Any]:
    """Return the checked data of a payload of a format with that minor version, with the sections of this version. Raises
    ImageError V006 to V008."""
    precheck_msgpack(payload, limits.nesting + _FRAME_NESTING)
    value = _unpack(payload)
    # equal images have equal bytes, so the bytes must be the ones that `_pack` makes
    if _pack(value) != payload:
        raise ImageError("V007", "the image is not in canonical form")
    count = sections_of([FORMAT[0], minor])
    if count < len(SECTIONS):
        if type(value) is not list or len(value) != count:
            raise ImageError("V008", f"an image of format {FORMAT[0]}.{minor} has {count} sections")
        value += [[] for _ in SECTIONS[count:]]
    shape.check_sections(value, limits)
    return value  # type: ignore[no-any-return]


def _unpack(payload: bytes) -> Any:
    """Return the plain data of a payload. msgpack gets every bound explicitly (G-3.3), though `precheck_msgpack` was stricter."""
    size = len(payload)
    try:
        return msgpack.unpackb(
            payload,
            raw=False,
            use_list=True,
            strict_map_key=True,
            max_str_len=size,
            max_bin_len=size,
            max_array_len=size,
            max_map_len=size,
            max_ext_len=0,
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise ImageError("V006", f"the image cannot be decoded: {error}") from None


def _pack(value: Any) -> bytes:
    return msgpack.packb(value, use_bin_type=True)  # type: ignore[no-any-return]


def _check_versions(image: Image, data: bytes) -> None:
    """Refuse an image of another opcode set, since its numbers follow the table, or of a newer standard library (V003); an
    older library is served."""
    header = image.header
    if header.format != list(data[len(MAGIC) : _HEAD]):
        raise ImageError("V008", "header.format: it differs from the version at the head of the file")
    if header.opcodes != OPCODE_SET_VERSION:
        raise _skew("opcode set", header.opcodes, OPCODE_SET_VERSION)
    if header.std > STD_VERSION:
        raise _skew("standard library", header.std, STD_VERSION)


# ----------------------------------------------------------------
# Code bytes to instructions and back: one byte opcode, its operand as unsigned LEB128 (V-3.3).
#
# `scan` refuses unknown opcodes (V101) and malformed operands (V102); whether an operand means anything is the verifier's
# question.

if TYPE_CHECKING:
    Instruction = tuple[int, int, int, int]  # offset, opcode number, operand (0 without one), offset of the next

HAS_OPERAND = tuple(op.kind is not k.NONE for op in OPCODES)
IS_LABEL = tuple(op.kind is k.LABEL for op in OPCODES)


def instructions(code: bytes) -> list[Instruction]:
    """Return all instructions of a function's code in order. Raises ImageError V101 or V102, whose message names the offset."""
    scanned, fault = scan(code, len(code))
    if fault is not None:
        raise fault
    ends = [offset for offset, _, _ in scanned[1:]] + [len(code)]
    return [(*instruction, end) for instruction, end in zip(scanned, ends, strict=False)]


def scan(code: bytes, most: int) -> tuple[list[tuple[int, int, int]], ImageError | None]:
    """Return the instructions up to the first fault as (offset in bytes, opcode number, operand, 0 where the opcode has none),
    and that fault or None: V101, V102, or V126 for more than `most` instructions. The fault is not raised."""
    decoded: list[tuple[int, int, int]] = []
    add = decoded.append
    at, end, opcode_count, has_operand = 0, len(code), len(OPCODES), HAS_OPERAND
    crowded = end > most  # else there cannot be too many
    while at < end:
        number = code[at]
        if number >= opcode_count:
            return decoded, ImageError("V101", f"offset {at}: no opcode has the number {number}")
        if crowded and len(decoded) >= most:
            return decoded, ImageError("V126", f"offset {at}: there are too many instructions")
        if not has_operand[number]:
            add((at, number, 0))
            at += 1
        elif at + 1 < end and code[at + 1] < 0x80:  # nearly all operands are one byte
            add((at, number, code[at + 1]))
            at += 2
        else:
            try:
                operand, following = fields.read(code, at + 1)
            except ValueError as error:
                return decoded, ImageError("V102", f"offset {at}: {OPCODES[number].name}: {error}")
            add((at, number, operand))
            at = following
    return decoded, None


def encode_instructions(
    program: Sequence[tuple[int, int]], guess: dict[int, int] | None = None
) -> tuple[bytes, list[int]]:
    """Return the code of (opcode number, operand) pairs, and the byte offset of each instruction and of the end. A label operand
    is the index of its target in `program`, or its length for the end; `guess` has byte offsets to assume first for some of those
    indexes. Raises ValueError for an operand outside 0..2**32-1, IndexError for a label behind the end."""
    offsets = _settle(program, dict(guess or ()))
    out = bytearray()
    add, has_operand, is_label = out.append, HAS_OPERAND, IS_LABEL
    for number, operand in program:
        add(number)
        if has_operand[number]:
            written = offsets[operand] if is_label[number] else operand
            if 0 <= written < 0x80:
                add(written)
            else:
                fields.append(out, written)
    return bytes(out), offsets


def _settle(program: Sequence[tuple[int, int]], guess: dict[int, int]) -> list[int]:
    """Return the offsets under which every label has the width of its target's offset. Labels begin as short as possible and grow
    until they fit; widths only grow, so this ends."""
    has_operand, is_label, width = HAS_OPERAND, IS_LABEL, fields.width
    widths = [
        1 if not has_operand[number] else 2 if operand < 0x80 else 1 + width(operand) for number, operand in program
    ]
    jumps = [(index, operand) for index, (number, operand) in enumerate(program) if is_label[number]]
    for index, target in jumps:
        widths[index] = 1 + width(guess.get(target, 0)) if guess else 2
    while True:
        offsets = [0, *accumulate(widths)]
        narrow = [
            (index, target) for index, target in jumps if offsets[target] >= 0x80 and widths[index] < 1 + width(offsets[target])
        ]
        if not narrow:
            break
        for index, target in narrow:
            widths[index] = 1 + width(offsets[target])
    if guess and any(widths[index] > 1 + width(offsets[target]) for index, target in jumps):
        return _settle(program, {})  # the guess was too long for what the program has become
    return offsets


# ----------------------------------------------------------------
# The line table of a function: from a code offset to file, line and column (V-3.3, V122).
#
# A run is `offset delta, line word, [file,] column`, each one LEB128 number; the line word is the zigzag line delta, doubled,
# and odd if a file follows, as it does in the first run and wherever the file changes. A run holds up to the next run's offset.

if TYPE_CHECKING:
    Position = tuple[int, int, int]  # number of the file from 0, line from 1, column from 1 in code points
    Run = tuple[int, int, int, int]  # offset in bytes, then as a Position


def encode_lines(runs: Iterable[Run]) -> bytes:
    """Return the line table of runs in ascending order of offset; a run that repeats its predecessor's position is left out.
    Raises ValueError for another order of those that are kept, or a number that does not fit into 32 bits."""
    numbers: list[int] = []
    at, last_file, last_line, last_column = 0, -1, 0, 0
    for offset, file, line, column in runs:
        if column == last_column and line == last_line and file == last_file:
            continue
        if offset < at or (numbers and offset == at):
            raise ValueError(f"line table: offset {offset} after {at}")
        word = fields.zigzag(line - last_line) * 2
        numbers += (offset - at, word, column) if file == last_file else (offset - at, word + 1, file, column)
        at, last_file, last_line, last_column = offset, file, line, column
    return fields.write_all(numbers)


def walk_lines(lines: bytes) -> Iterator[Run]:
    """Yield the runs one by one. Raises ValueError for a malformed table: before the first run where a number is malformed, else
    in place of the run at fault."""
    numbers = fields.read_all(lines)
    next_, end = 0, len(numbers)
    at = line = 0
    file = -1
    while next_ < end:
        at += numbers[next_]
        word = numbers[next_ + 1] if next_ + 1 < end else 0
        next_ += 2
        if word & 1:
            file = numbers[next_] if next_ < end else -1
            next_ += 1
        line += -((word >> 1) + 1) // 2 if word & 2 else word >> 2
        if file < 0 or line < 0 or next_ >= end:
            raise ValueError("line table: a run is cut off, or without file or line")
        yield at, file, line, numbers[next_]
        next_ += 1


def decode_lines(lines: bytes) -> list[Run]:
    """Return all runs. Raises ValueError for a malformed table."""
    return list(walk_lines(lines))


def position_at(lines: bytes, offset: int) -> Position:
    """Return the position of the instruction at or around a code offset in bytes; (0, 0, 0) before the first run. Raises
    ValueError for a malformed table; the runs behind the offset may not be looked at."""
    return positions_at(lines, [offset])[0]


def positions_at(lines: bytes, offsets: Iterable[int]) -> list[Position]:
    """Return what `position_at` does, for each of several offsets in any order; the table is walked over once. Raises as it
    does."""
    places: dict[int, Position] = {}
    wanted = list(offsets)
    pending = sorted(wanted, reverse=True)
    position = (0, 0, 0)
    for at, file, line, column in walk_lines(lines) if pending else ():
        while pending and at > pending[-1]:
            places[pending.pop()] = position
        if not pending:
            break
        position = (file, line, column)
    places.update(dict.fromkeys(pending, position))
    return [places[offset] for offset in wanted]
