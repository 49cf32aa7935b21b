"""The bytes around a snapshot (G-13.7, G-13.9): magic and format, what it is of, SHA-256; read in the order of G-3.1.

Hands on `seal` and `unseal`: plain data to bytes and back. What is read is bounded before it is built (V-3.5), and canonical.
Must not know: what the data mean.
"""

from __future__ import annotations

import hashlib

import msgpack

from ..bytecode.codec import content_hash, encode
from ..bytecode.image import STD_VERSION, ImageError
from ..bytecode.survey import survey
from .errors import SnapshotError, misshapen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..link import Program

MAGIC = b"\x8fCONCS"  # the first byte is no text in any encoding of text
FORMAT = (1, 0)
LARGEST = 64 << 20
_HEAD = len(MAGIC) + len(FORMAT)
_HASH = hashlib.sha256().digest_size
_NESTING = 16  # rows are flat: values stand in them by number
_FREE = 512 << 20  # what rows may cost in memory: a million Ints of one byte each are a value a program may hold


def seal(what: str, identity: str, body: Any) -> bytes:
    """The bytes of a snapshot of that kind (`what`), of the image with that hash."""
    head = MAGIC + bytes(FORMAT) + _packed([what, STD_VERSION, identity, body])
    if len(head) + _HASH > LARGEST:
        size = f"{len(head) + _HASH} bytes, the limit is {LARGEST}"
        raise SnapshotError("V001", f"the {what} has {size}; keep less in it, or keep it in a store")
    return head + hashlib.sha256(head).digest()


def unseal(data: bytes, what: str, program: Program) -> Any:
    """The body of a snapshot of that kind and program; SnapshotError V001 to V007 for anything else."""
    _check_frame(data, what)
    payload = bytes(memoryview(data)[_HEAD:-_HASH])
    found = _read(payload, what)
    if type(found) is not list or len(found) != 4 or type(found[2]) is not str:
        raise misshapen(f"the {what} has no head")
    if found[0] != what:
        raise misshapen(f"these are no bytes of a {what}")
    identity = identity_of(program)
    if found[2] != identity:
        name = program.image.header.name
        reason = f"the {what} is of the program {found[2]}, this is {name}, {identity}"
        raise SnapshotError("V005", f"{reason}; load the image it was made with")
    if found[1] != STD_VERSION:  # the hash covers it too: only a forged one gets here
        raise misshapen(f"the {what} names another standard library than its image")
    return found[3]


def identity_of(program: Program) -> str:
    """The hash of its image, reckoned once."""
    from .layout import layout_of

    layout = layout_of(program)
    if not layout.identity:
        layout.identity = content_hash(encode(program.image))
    return layout.identity


def _check_frame(data: bytes, what: str) -> None:
    if len(data) > LARGEST:
        raise SnapshotError("V001", f"the {what} has {len(data)} bytes, the limit is {LARGEST}; nothing writes so much")
    if len(data) <= _HEAD + _HASH:
        raise SnapshotError("V001", f"{len(data)} bytes hold no {what}; take all that was written")
    if data[: len(MAGIC)] != MAGIC:
        raise SnapshotError("V002", f"these bytes are no {what} of Concerto; give what was written as one")
    major, minor = data[len(MAGIC) : _HEAD]
    if major != FORMAT[0] or minor > FORMAT[1]:
        needed, present = f"{major}.{minor}", f"{FORMAT[0]}.{FORMAT[1]}"
        raise SnapshotError("V003", f"the {what} needs Concerto snapshot format {needed}; this is {present}; use that release")
    if hashlib.sha256(memoryview(data)[:-_HASH]).digest() != data[-_HASH:]:
        raise SnapshotError("V004", f"the {what} is damaged: its hash does not fit its content; take another copy of it")


def _read(payload: bytes, what: str) -> Any:
    size = len(payload)
    try:
        survey(payload, _NESTING, _FREE)
        value = msgpack.unpackb(
            payload, raw=False, use_list=True, strict_map_key=True, max_str_len=size, max_bin_len=size, max_array_len=size,
            max_map_len=size, max_ext_len=0, unicode_errors="surrogatepass",
        )  # fmt: skip
    except (ImageError, ValueError, msgpack.UnpackException, RecursionError) as error:
        reason = error.message if isinstance(error, ImageError) else str(error)
        raise SnapshotError("V006", f"the {what} cannot be decoded: {reason}; take the bytes as they were written") from None
    if _packed(value) != payload:
        raise SnapshotError("V007", f"the {what} is not in canonical form; take the bytes as they were written")
    return value


def _packed(value: Any) -> bytes:
    return msgpack.packb(value, use_bin_type=True, unicode_errors="surrogatepass")  # type: ignore[no-any-return]
