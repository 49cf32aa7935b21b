"""An image as bytes: magic and version, one msgpack value, SHA-256 of both (V-3.1).

`encode` gives equal bytes for equal images; `decode` refuses, in the order of G-3.1, everything that `encode` would
not have written, and allocates nothing before it knows how much. Hands on also `content_hash`. Must not know: what
code means.
"""

from __future__ import annotations

import msgpack

from . import shape
from .image import FORMAT, STD_VERSION, Image, ImageError
from .limits import DEFAULT, Limits
from .opcodes import OPCODE_SET_VERSION
from .sha256 import sha256
from .survey import survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

MAGIC = b"\x8fCONCB"  # the first byte is no text in any encoding of text
_HEAD = len(MAGIC) + len(FORMAT)
_HASH = sha256().digest_size
_FRAME_NESTING = 6  # sections, section, entry, decorators, decorator, arguments: around data whose nesting is limited


def encode(image: Image) -> bytes:
    """The bytes of an image; ImageError V008 for one that `decode` would not take back."""
    try:
        payload = _pack(shape.lower(image))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ImageError("V008", f"the image cannot be encoded: {error}") from None
    _read(payload, DEFAULT)
    body = MAGIC + bytes(FORMAT) + payload
    digest: bytes = sha256(body).digest()
    return body + digest


def decode(data: bytes, limits: Limits = DEFAULT, pinned: Collection[str] | None = None) -> Image:
    """The image in `data`, or ImageError V001 to V008. `pinned`: hashes that alone the host trusts (G-1.2)."""
    _check_frame(data, limits)
    if pinned is not None and content_hash(data) not in pinned:
        raise ImageError("V005", f"the image {content_hash(data)} is not one that the host has pinned")
    value = _read(data[_HEAD:-_HASH], limits)
    image = shape.build(value)
    _check_versions(image, data)
    return image


def content_hash(data: bytes) -> str:
    """The identity of an encoded image: its SHA-256 in hexadecimal digits."""
    return data[-_HASH:].hex()


def _check_frame(data: bytes, limits: Limits) -> None:
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


def _read(payload: bytes, limits: Limits) -> list[Any]:
    """The checked data in a payload: V006 to V008."""
    survey(payload, limits.nesting + _FRAME_NESTING)
    value = _unpack(payload)
    if _pack(value) != payload:
        raise ImageError("V007", "the image is not in canonical form")
    shape.check_sections(value, limits)
    return value  # type: ignore[no-any-return]


def _unpack(payload: bytes) -> Any:
    """Every bound is explicit (G-3.3); `survey` has set tighter ones already."""
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
    """The versions in the header: an older standard library is served, another opcode set is not (numbers follow the
    table)."""
    header = image.header
    if header.format != list(data[len(MAGIC) : _HEAD]):
        raise ImageError("V008", "header.format: it differs from the version at the head of the file")
    if header.opcodes != OPCODE_SET_VERSION:
        raise _skew("opcode set", header.opcodes, OPCODE_SET_VERSION)
    if header.std > STD_VERSION:
        raise _skew("standard library", header.std, STD_VERSION)
