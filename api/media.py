"""Pictures, sounds and documents in Python: `concerto.Media`, the Media of a program (O-1.205).

Hands on `Media` to users and to the conversion of values (`values.py`), and `media_in`, by which that reads other values of
Python: paths, bytes and pictures of Pillow, which is imported nowhere here. What content is allowed, and what its first bytes
say, is decided in `vm/values/media.py`; nothing is sent or fetched.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Any

from ..vm.values.media import (
    KINDS,
    MOST_BYTES,
    Content,
    Refused,
    content_of,
    kind_of_mime,
    link_to,
    media_text,
    mime_of,
)


class Media:
    """A picture, sound or document. `kind` is "image", "audio" or "document", `mime` its type, such as "image/png", empty for a
    link; `name` the name that it is sent under, None for none, of a link its address; `hash` the SHA-256 of its bytes, for a link
    of its address, in hexadecimal digits. `bytes(m)` are the bytes; it raises ValueError for a link. Two with equal kind, hash
    and name are equal.

    `Media.open(path)` reads a file, `Media(data)` takes bytes, a bytearray or a memoryview, at most 20 MiB, `Media.link(kind,
    url)` says where a provider finds it. The content decides what it is, never the name: the first bytes, or that all is text in
    UTF-8, which is a document; data of another kind than the `kind` passed is refused. All three raise ValueError for what is no
    Media, for a `name` that is no str, and for an unknown `kind`, with the reason. A Media does not change."""

    __slots__ = ("_content", "_name")
    _content: Content
    _name: str | None

    def __init__(self, data: bytes, name: str | None = None, *, kind: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"the media: its name is a str, given {type(name).__name__}")
        if not isinstance(data, bytes | bytearray | memoryview):
            opened = "; Media.open(path) reads a file" if isinstance(data, str | os.PathLike) else ""
            raise ValueError(f"{name or 'the media'}: its content is bytes, given {type(data).__name__}{opened}")
        try:
            self._content = _content(bytes(data), kind)
        except Refused as refused:
            raise ValueError(f"{name or 'the media'}: {refused.reason}") from None
        self._name = name

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, kind: str | None = None) -> Media:
        """Return the Media of a file of at most 20 MiB; the last part of its path becomes the name. Raise OSError for a file that
        cannot be read, ValueError as the class says and for what is no path."""
        try:
            path = Path(path)
        except TypeError:
            raise ValueError(f"a path is a str or a path of pathlib, given {type(path).__name__}") from None
        return cls(_read(path), path.name, kind=kind)

    @classmethod
    def link(cls, kind: str, url: str) -> Media:
        """Return a Media that a provider fetches from an absolute address of http or https, at most 2048 characters of ASCII;
        `kind` is "image", "audio" or "document". Nothing is fetched here. Raise ValueError for another kind or address."""
        if kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
        if not isinstance(url, str):
            raise ValueError(f"the address of a link is a str, given {type(url).__name__}")
        try:
            return cls.of(link_to(kind, url), url)
        except Refused as refused:
            raise ValueError(f"{url}: {refused.reason}") from None

    @classmethod
    def of(cls, content: Content, name: str | None) -> Media:
        """Return the Media of a content of the machine; a link is named by its address, whatever `name` is."""
        media = cls.__new__(cls)
        media._content, media._name = content, content.url or name
        return media

    @property
    def kind(self) -> str:
        return self._content.kind

    @property
    def mime(self) -> str:
        return self._content.mime

    @property
    def hash(self) -> str:
        return self._content.hash

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def url(self) -> str | None:
        """The address of a link, None for any other."""
        return self._content.url

    @property
    def size(self) -> int:
        """The number of bytes, 0 of a link."""
        return self._content.size

    @property
    def content(self) -> Content:
        """What the machine holds of it; for the conversion of values alone."""
        return self._content

    def __bytes__(self) -> bytes:
        if self._content.data is None:
            raise ValueError(f"a link has no bytes here: {self.url}")
        return self._content.data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and (self.kind, self.hash, self.name) == (other.kind, other.hash, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.hash, self.name))

    def __repr__(self) -> str:
        return media_text(self.kind, self.name, self.size, is_link=self.url is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Media.link, (self.kind, self.url)) if self.url is not None else (_remade, (bytes(self), self.name, self.kind))


def _remade(data: bytes, name: str | None, kind: str) -> Media:
    return Media(data, name, kind=kind)


def _content(data: bytes, kind: str | None) -> Content:
    if kind is None:
        mime = mime_of(data)
        kind = "document" if mime is None else kind_of_mime(mime)
    elif kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
    return content_of(kind, data)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)  # one more than is allowed, so that a larger file is refused


def media_in(value: Any) -> Media | None:
    """Return the Media that a value of Python stands for: a Media, a path of pathlib, bytes, a bytearray or memoryview, or a
    picture of Pillow; None for any other, a str too. Raise ValueError for content that is no Media, OSError for a file that
    cannot be read, and what Pillow raises for a picture that it cannot save."""
    if isinstance(value, Media):
        return value
    if isinstance(value, PurePath):
        return Media.open(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return Media(bytes(value))
    return _of_picture(value) if _is_picture(value) else None


def _is_picture(value: Any) -> bool:
    """Return whether a value is a picture of Pillow. The names of its classes tell, so that Pillow need not be imported."""
    classes = [f"{each.__module__}.{each.__qualname__}" for each in type(value).__mro__]
    return "PIL.Image.Image" in classes


# By the format that Pillow opened a picture in, the one that it is saved in; all others are saved as PNG.
SAVED_AS = {"JPEG": "JPEG", "GIF": "GIF", "WEBP": "WEBP"}


def _of_picture(picture: Any) -> Media:
    """Return a picture in the form that it was opened in, if models take that, else as PNG."""
    from io import BytesIO

    buffer = BytesIO()
    picture.save(buffer, format=SAVED_AS.get(getattr(picture, "format", None) or "", "PNG"))
    name = getattr(picture, "filename", "") or ""
    return Media(buffer.getvalue(), Path(name).name or None)
