"""`std::media` (O-1.200): pictures, sounds and documents for prompts.

Hands on its rows only. `image`, `audio` and `document` are effects, requests to the host, which reads the file and answers with
the Result: their payload is the tuple of "read_media", path and kind; `bytes` and `link` need no host. What is no such content is
an Err of MediaError; another word than image, audio or document is P013, an argument of another type P007. `bytes` charges the
run for many bytes, so that what ends the run may come out of it.
"""

from __future__ import annotations

from ..panics import Panic
from ..values.errors import make_error
from ..values.media import KINDS, Refused, content_of, link_to
from ..values.metering import LARGE, spend
from ..values.objects import Err, Media, Ok
from ..values.text import brief
from .registry import binary, std, std_effect, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ = "fs:read"


@std_effect("media", "image(path: String) -> Result<Media, MediaError>", effect="file", permission=READ, clause="O-1.206")
def image(path: Any) -> tuple[Any, ...]:
    """The picture in a file: PNG, JPEG, GIF or WebP, told by its content."""
    return ("read_media", text(path), "image")


@std_effect("media", "audio(path: String) -> Result<Media, MediaError>", effect="file", permission=READ, clause="O-1.206")
def audio(path: Any) -> tuple[Any, ...]:
    """The sound in a file: WAV or MP3, told by its content."""
    return ("read_media", text(path), "audio")


@std_effect("media", "document(path: String) -> Result<Media, MediaError>", effect="file", permission=READ, clause="O-1.206")
def document(path: Any) -> tuple[Any, ...]:
    """The document in a file: PDF, or text in UTF-8."""
    return ("read_media", text(path), "document")


@std(
    "media", "bytes(kind: String, data: Bytes, name: String? = nil) -> Result<Media, MediaError>", clause="O-1.207",
    linear=True,
)  # fmt: skip
def of_bytes(kind: Any, data: Any, name: Any) -> Ok | Err:
    """The `image`, `audio` or `document` that some bytes are."""
    _check_kind(kind)
    if len(binary(data)) >= LARGE:
        spend(len(data))
    label = None if name is None else text(name)
    try:
        return Ok(Media.holding(content_of(kind, data), label))
    except Refused as refused:
        return _refused(refused, label)


@std("media", "link(kind: String, url: String) -> Result<Media, MediaError>", clause="O-1.208")
def link(kind: Any, url: Any) -> Ok | Err:
    """The `image`, `audio` or `document` at an address of http or https, which the provider fetches; nothing is fetched here."""
    _check_kind(kind)
    try:
        return Ok(Media.holding(link_to(kind, text(url)), None))
    except Refused as refused:
        return _refused(refused, None)


def _check_kind(kind: Any) -> None:
    if text(kind) not in KINDS:
        raise Panic("P013", f'kind of a Media: expected "image", "audio" or "document", found {brief(kind)}')


def _refused(refused: Refused, name: str | None) -> Err:
    place = "" if name is None else f"{name}: "
    return Err(make_error("MediaError", refused.variant, {"message": f"{place}{refused.reason}"}))
