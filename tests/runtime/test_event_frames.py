"""Frames of AWS's event stream, which botocore reads too (O-1.289, G-6.1)."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from concerto.runtime.providers.event_frames import FrameReader
from concerto.runtime.providers.http_answers import MOST_BODY_BYTES, Refused
from concerto.runtime.providers.json_fields import Unreadable
from hypothesis import given
from hypothesis import strategies as st

from ..providers.cloud_mocks import chunk, exception, frame

EVENTS = [{"type": "ping"}, {"type": "message_start", "message": {"id": "ü" * 300}}, {"type": "message_stop"}]
BODY = b"".join(map(chunk, EVENTS))


def read(pieces: list[bytes]) -> list[object]:
    reader = FrameReader()
    events = [json.loads(data) for piece in pieces for data in reader.take(piece)]
    assert list(reader.end()) == []
    return events


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_wherever_the_body_is_cut(places: list[int]) -> None:
    ends = [0, *sorted(places), len(BODY)]
    assert read([BODY[a:b] for a, b in zip(ends, ends[1:], strict=False)]) == EVENTS


def test_byte_by_byte() -> None:
    assert read([BODY[at : at + 1] for at in range(len(BODY))]) == EVENTS


def test_what_is_cut_off_is_no_event() -> None:
    assert read([BODY[:-1]]) == EVENTS[:-1]


HEADERS = st.dictionaries(st.text("abc:-", min_size=1, max_size=9), st.text(max_size=20), max_size=5)


@given(HEADERS, st.binary(max_size=200))
def test_frames_of_the_tests_are_frames_of_aws(headers: dict[str, str], payload: bytes) -> None:
    texts = {name: value for name, value in headers.items() if value.isascii()}
    buffer = EventStreamBuffer()
    buffer.add_data(frame(texts, payload))
    event = next(iter(buffer))
    assert (event.headers, event.payload) == (texts, payload)
    assert read([frame(texts, payload)]) == []  # no chunk


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_no_changed_byte_is_read(at: int, change: int) -> None:
    """As botocore says of the same bytes: what it refuses is refused; what waits for more, waits."""
    damaged = BODY[:at] + bytes([BODY[at] ^ change]) + BODY[at + 1 :]
    with pytest.raises(Unreadable, match="wrong checksum"):
        read([damaged])


def test_headers_of_every_type() -> None:
    """botocore's own sizes: true, false, 1, 2, 4 and 8 bytes, bytes, text, time, UUID."""
    values = [b"\0", b"\x01", b"\x02a", b"\x03ab", b"\x04abcd", b"\x05abcdefgh", b"\x06\0\x02ab", b"\x08abcdefgh"]
    values.append(b"\x09" + b"u" * 16)
    packed = b"".join(b"\x02h" + bytes([97 + number]) + value for number, value in enumerate(values))
    packed += b"\x0b:event-type\x07\0\x05chunk"
    payload = json.dumps({"bytes": b64encode(b"{}").decode()}).encode()
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    body = prelude + struct.pack(">I", crc32(prelude)) + packed + payload
    body += struct.pack(">I", crc32(body))
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    assert next(iter(buffer)).headers[":event-type"] == "chunk"
    assert read([body]) == [{}]


def made(length: int, headers: int, rest: bytes) -> bytes:
    prelude = struct.pack(">II", length, headers)
    body = prelude + struct.pack(">I", crc32(prelude)) + rest
    return body + struct.pack(">I", crc32(body))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (made(15, 0, b""), "shorter than its headers"),
        (made(20, 9, b"aaaa"), "shorter than its headers"),
        (made(MOST_BODY_BYTES + 1, 0, b""), f"no event of the stream ends within {MOST_BODY_BYTES} bytes"),
        (made(19, 3, b"\x01a\x0c"), "unknown type"),
        (made(17, 1, b"\x05"), "unknown type"),
        (made(20, 4, b"\x01a\x05x"), "longer than the headers"),
        (made(21, 5, b"\x01a\x07\0\x09"), "longer than the headers"),
        (frame({":event-type": "chunk"}, b'{"bytes": "?"}'), "no Base64"),
        (frame({":event-type": "chunk"}, b'{"bytes": "\xc3\xbc"}'), "no Base64"),
        (frame({":event-type": "chunk"}, b'{"bytes": 1}'), "bytes"),
        (frame({":event-type": "chunk"}, b"[]"), "no JSON object|no object"),
    ],
)
def test_what_is_no_frame(body: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read([body])


def test_what_ends_a_stream() -> None:
    with pytest.raises(Refused) as refused:
        read([exception("throttlingException", "too much")])
    assert (refused.value.status, json.loads(refused.value.body)) == (429, {"message": "too much"})
    with pytest.raises(Refused) as refused:
        read([frame({":message-type": "error", ":error-code": "Broken", ":error-message": "it broke"}, b"")])
    assert (refused.value.status, json.loads(refused.value.body)) == (500, {"message": "it broke", "code": "Broken"})
