"""The contents of Media: what they are, told by their bytes, and how they are shown (O-1.200).

Hands on `Content`, which the record `Media` and messages of the runtime hold; `content_of` and `link_to`, which make one or raise
`Refused`; `known`, which finds one, to the entries of memories; `picture_size`; `media_text`, the Display text; the kinds and
MIME types (KINDS, TEXT, PDF, `mime_of`, `kind_of_mime`, `is_text`); and the limit MOST_BYTES, in bytes, with its texts
(`size_text`, `too_large`). They go to the runtime, to `api/media.py`, to built-ins, to snapshots and to the conformance suite. A
content never changes, so it is shared and never copied. Nothing here reads a file or opens a connection; how a content goes to a
provider is for `runtime/providers/`. What is recognised is decided in `mime_of`.
"""

from __future__ import annotations

from _weakref import ref  # `weakref` is more than a start should load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


KINDS = ("image", "audio", "document")
MOST_BYTES = 20 * 1024 * 1024  # of one content
LONGEST_LINK = 2_048  # characters: no provider takes a longer one for sure
WANTED = {"image": "PNG, JPEG, GIF or WebP", "audio": "WAV or MP3", "document": "PDF or text in UTF-8"}
TEXT = "text/plain"
PDF = "application/pdf"
LOOKED_AT = 1 << 16  # segments of a JPEG that are walked for its size


class Refused(Exception):
    """Why there is no content: the `variant` of MediaError ("TooLarge", "UnknownContent", "OtherKind" or "InvalidUrl") and the
    `reason`, as its message says it."""

    def __init__(self, variant: str, reason: str) -> None:
        super().__init__(reason)
        self.variant = variant
        self.reason = reason


class Content:
    """What a Media stands for: `data`, or of a link None and the `url`, which only a provider fetches. `kind` is a word of KINDS,
    `mime` the type, empty for a link; `hash` is the SHA-256 of the bytes, or of the URL, in hexadecimal digits."""

    __slots__ = ("kind", "mime", "hash", "data", "url", "__weakref__")

    def __init__(self, kind: str, mime: str, hash: str, data: bytes | None, url: str | None = None) -> None:
        self.kind = kind
        self.mime = mime
        self.hash = hash
        self.data = data
        self.url = url

    @property
    def is_missing(self) -> bool:
        """Whether its bytes are elsewhere: nothing but a store that is being read has such a one."""
        return self.data is None and self.url is None

    @property
    def size(self) -> int:
        """The number of bytes, 0 of a link."""
        return 0 if self.data is None else len(self.data)

    def __repr__(self) -> str:
        return f"Content({self.kind!r}, {self.mime!r}, {self.size} bytes)"


def content_of(kind: str, data: bytes) -> Content:
    """Return the content of some bytes, which have to be of the kind, a word of KINDS. Equal bytes of one kind give the same
    object as long as something holds it. Raises Refused: TooLarge, UnknownContent or OtherKind."""
    if len(data) > MOST_BYTES:
        too_large(len(data))
    mime = mime_of(data)
    if mime is None and kind == "document" and is_text(data):
        mime = TEXT
    if mime is None:
        reason = f"it is no {WANTED[kind]}, which its first bytes would tell" if data else "it is empty"
        raise Refused("UnknownContent", reason)
    is_kind = kind_of_mime(mime)
    if is_kind != kind:
        raise Refused("OtherKind", f"it is {mime}, which is no {kind}: use `media::{is_kind}`")
    digest = _hash(data)
    content = known(kind, digest)
    if content is None:
        content = Content(kind, mime, digest, data)
        _KNOWN[kind, digest] = ref(content, lambda reference: _forget((kind, digest), reference))
    return content


# The contents that something in this process still holds, by kind and hash: each has its bytes in memory once.
_KNOWN: dict[tuple[str, str], ref[Content]] = {}


def known(kind: str, content_hash: str) -> Content | None:
    """Return the content of that kind and hash if something in this process holds it, else None."""
    reference = _KNOWN.get((kind, content_hash))
    return None if reference is None else reference()


def _forget(key: tuple[str, str], reference: ref[Content]) -> None:
    if _KNOWN.get(key) is reference:  # else the same content was made anew meanwhile
        del _KNOWN[key]


def link_to(kind: str, url: str) -> Content:
    """Return the content of that kind behind an address, which is not fetched here. Raises Refused (InvalidUrl) for what is no
    absolute address of http or https in ASCII, or is longer than LONGEST_LINK."""
    from urllib.parse import urlsplit

    if len(url) > LONGEST_LINK:
        raise Refused("InvalidUrl", f"a link has at most {LONGEST_LINK} characters, this one {len(url)}")
    if not url.isascii() or any(sign <= " " or sign in '\x7f\\<>"{}|^`' for sign in url):
        raise Refused("InvalidUrl", "a link holds a character that stands in no URL; encode it with `std::url`")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise Refused("InvalidUrl", "a link begins with `http://` or `https://` and names a host")
    return Content(kind, "", _hash(url.encode()), None, url)


def too_large(size: int) -> NoReturn:
    """Raise Refused (TooLarge), for a content of `size` bytes."""
    raise Refused("TooLarge", f"it has {size} bytes; a Media has at most {MOST_BYTES}")


def _hash(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def mime_of(data: bytes) -> str | None:
    """Return the MIME type that the first bytes tell, one of PNG, JPEG, GIF, WebP, WAV, PDF or MP3; None for another content, and
    for text, which has no mark of its own."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    if data.startswith(b"%PDF-"):
        return PDF
    return "audio/mpeg" if _is_mp3(data) else None


def _is_mp3(data: bytes) -> bool:
    """Return whether it begins with a tag of ID3, or with a frame of layer III whose version, bit rate and sampling rate
    exist."""
    if data.startswith(b"ID3") and len(data) >= 10:
        return True
    if len(data) < 4 or data[0] != 0xFF or data[1] & 0xE6 != 0xE2:
        return False
    return data[1] >> 3 & 3 != 1 and data[2] >> 4 not in (0, 15) and data[2] >> 2 & 3 != 3


def is_text(data: bytes) -> bool:
    """Return whether it is text in UTF-8 that is not empty and has no NUL."""
    if not data or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def kind_of_mime(mime: str) -> str:
    """Return the kind, a word of KINDS, of a MIME type that `content_of` gives; "document" for any type but images and sounds."""
    return {"image": "image", "audio": "audio"}.get(mime.partition("/")[0], "document")


# ----------------------------------------------------------------
# The size of a picture, from its header (PNG: W3C PNG 11.2.1; GIF89a: 18; JPEG: ITU T.81 B.2.2; WebP: RFC 9649 2.5 to 2.7).


def picture_size(content: Content) -> tuple[int, int] | None:
    """Return width and height in pixels as the header says them; None for no picture, a link, and a header that is damaged."""
    data = content.data or b""
    read = _SIZES.get(content.mime)
    size = None if read is None else read(data)
    return size if size is not None and min(size) > 0 else None


def _png(data: bytes) -> tuple[int, int] | None:
    if len(data) < 24 or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int] | None:
    return _little(data, 6, 2) if len(data) >= 10 else None


def _little(data: bytes, at: int, width: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + width], "little"), int.from_bytes(data[at + width : at + 2 * width], "little")


# Markers of JPEG without a segment: TEM, RST0 to RST7, SOI. Frames are SOF0 to SOF15 but for DHT, JPG and DAC.
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(LOOKED_AT):
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a filling byte
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if length < 2:
                return None
            at += 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    form, body = data[12:16], data[20:30]
    if len(body) < 10:
        return None
    if form == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = _little(body, 6, 2)
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        width, height = _little(body, 4, 3)
        return width + 1, height + 1
    return None


_SIZES: dict[str, Any] = {"image/png": _png, "image/gif": _gif, "image/jpeg": _jpeg, "image/webp": _webp}


# ----------------------------------------------------------------
# Display.


def media_text(kind: str, name: str | None, size: int, is_link: bool) -> str:
    """Return the Display text of a Media, as `<image receipt.jpg 34 kB>`, without the name if that is None. `size` is in bytes;
    of a link, whose `name` is its address, it is left out."""
    parts = [kind, *([] if name is None else [name]), *([] if is_link else [size_text(size)])]
    return f"<{' '.join(parts)}>"


def size_text(size: int) -> str:
    """Return a number of bytes as people read it: `512 B`, `34 kB`, `1.2 MB`; a kB is 1,000 bytes."""
    if size < 1000:
        return f"{size} B"
    if size < 999_500:
        return f"{(size + 500) // 1000} kB"
    tenths = (size + 50_000) // 100_000
    return f"{tenths // 10}.{tenths % 10} MB"
