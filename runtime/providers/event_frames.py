"""Streams of AWS: events in binary frames (`application/vnd.amazon.eventstream`), each with two checksums (O-1.289).

Hands on `FrameReader`, which cuts events out of a stream as `EventReader` of `http_answers.py` does, to `bedrock.py` and, as a
type, to `sdk.py`. Nothing is read from the network here, and what an event means is the matter of its reader. A frame is its
length, that of its headers and the checksum of both, the headers, the payload, and a checksum of all before it; numbers have
four bytes, the highest first (Event stream encoding, https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html).
"""

from __future__ import annotations

import json
from base64 import b64decode
from zlib import crc32

from .http_answers import MOST_BODY_BYTES, Refused
from .json_fields import Unreadable, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PRELUDE, CHECKSUM = 8, 4
LEAST = PRELUDE + 2 * CHECKSUM  # bytes of a frame that holds nothing
BYTES, TEXT = 6, 7  # types of headers whose values say how long they are
# Bytes of the values of the other types: true and false, whole numbers, a time, a UUID.
LENGTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

# What an exception in a stream means (ResponseStream,
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html); of any other, the service's fault.
STATUS = {
    "validationException": 400, "modelTimeoutException": 408, "modelStreamErrorException": 424, "throttlingException": 429,
    "internalServerException": 500, "serviceUnavailableException": 503,
}  # fmt: skip


class FrameReader:
    """Cuts events out of the pieces of a body, each of bounded size (G-6.1)."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of the events that a piece of the body completes; a frame that is no `chunk` has none. Unreadable for
        what is no frame, for an event that does not decode, and for a frame larger than MOST_BODY_BYTES; Refused, with the status
        that it means, for a frame that says that the rest will not come."""
        self._rest += piece
        start = 0
        while (length := self._length(start)) is not None and len(self._rest) - start >= length:
            frame = bytes(self._rest[start : start + length])
            start += length
            data = _event(frame)
            if data is not None:
                yield data
        del self._rest[:start]

    def end(self) -> Iterator[bytes]:
        """Yield nothing: what the end of the body cuts off is no event."""
        return iter(())

    def _length(self, start: int) -> int | None:
        """Return the length of the frame that begins there, None where its beginning has not come yet."""
        prelude = self._rest[start : start + PRELUDE]
        checksum = self._rest[start + PRELUDE : start + PRELUDE + CHECKSUM]
        if len(checksum) < CHECKSUM:
            return None
        length = int.from_bytes(prelude[:4], "big")
        if crc32(prelude) != int.from_bytes(checksum, "big"):
            raise Unreadable("the stream is damaged: a frame has a wrong checksum")
        if length > MOST_BODY_BYTES:
            raise Unreadable(f"no event of the stream ends within {MOST_BODY_BYTES} bytes")
        if length < LEAST + int.from_bytes(prelude[4:], "big"):
            raise Unreadable("the stream is damaged: a frame is shorter than its headers")
        return length


def _event(frame: bytes) -> bytes | None:
    """Return the data of the event in a whole frame, None for a frame that has none."""
    if crc32(frame[:-CHECKSUM]) != int.from_bytes(frame[-CHECKSUM:], "big"):
        raise Unreadable("the stream is damaged: a frame has a wrong checksum")
    headers_end = PRELUDE + CHECKSUM + int.from_bytes(frame[4:PRELUDE], "big")
    headers, payload = _headers(frame[PRELUDE + CHECKSUM : headers_end]), frame[headers_end:-CHECKSUM]
    kind = headers.get(":message-type")
    if kind == "error":
        reason = {"message": headers.get(":error-message", ""), "code": headers.get(":error-code", "")}
        raise Refused(500, {}, json.dumps(reason).encode())
    if kind == "exception":
        raise Refused(STATUS.get(headers.get(":exception-type", ""), 500), {}, payload)
    if headers.get(":event-type") != "chunk":
        return None
    try:
        return b64decode(fields_of(payload).text("bytes"), validate=True)
    except ValueError:
        raise Unreadable("an event of the stream is no Base64") from None


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are texts."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        kind = data[name_end] if name_end < len(data) else None
        value = name_end + 1
        if kind in (BYTES, TEXT):
            end = value + 2 + int.from_bytes(data[value : value + 2], "big")
            value += 2
        elif kind in LENGTHS:
            end = value + LENGTHS[kind]
        else:
            raise Unreadable("the stream is damaged: a frame has a header of an unknown type")
        if end > len(data):
            raise Unreadable("the stream is damaged: a header is longer than the headers")
        if kind == TEXT:
            found[data[at + 1 : name_end].decode("utf-8", "replace")] = data[value:end].decode("utf-8", "replace")
        at = end
    return found
