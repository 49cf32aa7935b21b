"""Contents of Media: what their bytes are taken for, the sizes that headers say, Display (O-1.200)."""

from __future__ import annotations

import struct
import zlib

import pytest
from concerto.vm.values import Media, display, share
from concerto.vm.values.containers import own
from concerto.vm.values.media import MOST_BYTES, Refused, content_of, link_to, picture_size, size_text


def png(width: int, height: int) -> bytes:
    """A whole picture of one colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + b"\0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def jpeg(width: int, height: int, before: bytes = b"\xff\xe0\x00\x04ab") -> bytes:
    return b"\xff\xd8" + before + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9


def webp(form: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + form + struct.pack("<I", len(body)) + body


GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
LOSSY = webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480))
LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14) + b"\0" * 5)
EXTENDED = webp(b"VP8X", b"\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"))


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (png(2, 3), "image/png"), (jpeg(2, 3), "image/jpeg"), (GIF, "image/gif"), (b"GIF87a", "image/gif"), (LOSSY, "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"), (b"ID3\4\0\0\0\0\0\0", "audio/mpeg"), (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"\xff\xf3\x40\xc0", "audio/mpeg"), (b"%PDF-1.4\n", "application/pdf"), ("grüße".encode(), "text/plain"),
    ],
)  # fmt: skip
def test_the_content_says_what_it_is(data: bytes, mime: str) -> None:
    kind = {"image": "image", "audio": "audio"}.get(mime.partition("/")[0], "document")
    content = content_of(kind, data)
    assert (content.kind, content.mime, content.size, content.data) == (kind, mime, len(data), data)
    for other in {"image", "audio", "document"} - {kind}:
        with pytest.raises(Refused) as refused:
            content_of(other, data)
        assert refused.value.variant == ("UnknownContent" if mime == "text/plain" else "OtherKind")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"\xff\xfb", b"\xff\xfb\x00\x00", b"\xff\xfb\xf0\x00", b"\xff\xeb\x90\x00", b"\xff\xfd\x90\x00", b"ID3",
        b"RIFF\0\0\0\0AVI ", b"\x89PNG", b"<svg/>", b"\0\0\0\x18ftypmp42",
    ],
)  # fmt: skip
def test_what_no_row_knows_is_refused(data: bytes) -> None:
    for kind in ("image", "audio"):
        with pytest.raises(Refused, match="no (PNG|WAV)|empty"):
            content_of(kind, data)


def test_text_is_a_document_in_utf_8_without_nul() -> None:
    for data in (b"\xff\xfe", b"a\0b", b"caf\xe9", b""):
        with pytest.raises(Refused):
            content_of("document", data)


def test_the_largest() -> None:
    assert content_of("document", b"a" * MOST_BYTES).size == MOST_BYTES
    with pytest.raises(Refused, match="20971521 bytes") as refused:
        content_of("document", b"a" * (MOST_BYTES + 1))
    assert refused.value.variant == "TooLarge"


FILLED = jpeg(640, 480, b"\xff\xff\xff\x01")


@pytest.mark.parametrize("data", [png(640, 480), jpeg(640, 480), FILLED, GIF, LOSSY, LOSSLESS, EXTENDED])
def test_the_size_that_a_header_says(data: bytes) -> None:
    assert picture_size(content_of("image", data)) == (640, 480)


@pytest.mark.parametrize(
    "data",
    [
        png(1, 1)[:20], b"GIF89a", jpeg(1, 1)[:10], jpeg(0, 1), jpeg(1, 1, b"\xff\xe0\x00\x01"), jpeg(1, 1, b"\xff\xe0\xff\xff"),
        jpeg(1, 1, b"\xff\xe0\x00\x03a\0\0"),
        LOSSY[:29], webp(b"VP8 ", b"\0" * 10), webp(b"VP8L", b"\0" * 10), webp(b"ALPH", b"\0" * 10),
        b"\xff\xd8" + b"\xff" * 1_000_000,
    ],
)  # fmt: skip
def test_a_damaged_header_has_no_size(data: bytes) -> None:
    assert picture_size(content_of("image", data)) is None


def test_what_is_no_picture_has_no_size() -> None:
    assert picture_size(content_of("document", b"text")) is None
    assert picture_size(link_to("image", "https://a.example/p.png")) is None


def test_sizes_as_people_read_them() -> None:
    sizes = [0, 999, 1_000, 1_499, 1_500, 999_499, 999_500, 1_249_999, 1_250_000, MOST_BYTES]
    shown = ["0 B", "999 B", "1 kB", "1 kB", "2 kB", "999 kB", "1.0 MB", "1.2 MB", "1.3 MB", "21.0 MB"]
    assert list(map(size_text, sizes)) == shown


def test_a_copy_that_is_changed_keeps_the_content() -> None:
    media = Media.holding(content_of("image", GIF), "a.gif")
    copy = own(share(media))
    copy.f4 = "b.gif"
    assert copy is not media and copy.content is media.content
    assert (display(media), display(copy)) == ("<image a.gif 10 B>", "<image b.gif 10 B>")
