"""Media in messages: what of a program's Media is sent and kept, and the tokens that it counts (O-1.200 to O-1.203).

Hands on `MediaPart`, which the messages of `records.py` hold, to memories, providers, calls, agents and the performers of both;
`media_parts` to those who make messages of values of the program; `size_of` to calls, `has_media` to `providers/openai.py`;
`WithMedia`, `media_in` and `told` to the tools that models call, the first to those of MCP servers. `Unsent` is raised for what
has no content, and caught where messages are made. What a part counts is decided by `tokens_of`. How a part is written for a
provider stands in `providers/media.py`, how a memory keeps it in `memory/entries.py`.
"""

from __future__ import annotations

from ..vm.declaration_fields import CONNECTION
from ..vm.values import Array, EnumValue, Map, Media, Ok, Queue, Set, Some, Stack, Struct, display
from ..vm.values.containers import elements
from ..vm.values.media import TEXT, media_text, picture_size
from ..vm.values.metering import FEW, paced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..vm.values.media import Content
    from .connections import ConnectionSettings

# What a content counts when there is no connection that says so.
UNKNOWN_TOKENS: int = CONNECTION["media_tokens"].default
BYTES_PER_TOKEN = 4  # of text, as a memory counts it (M-11.2)


class Unsent(Exception):
    """A Media that cannot be sent or kept, with the reason."""


class MediaPart:
    """One content of a message, the name under which it is sent, None for none, and the tokens that it counts. It never changes,
    but that a memory puts a content into a part that was stored with its hash alone (`memory/entries.py: filled`)."""

    __slots__ = ("content", "name", "tokens")

    def __init__(self, content: Content, name: str | None, tokens: int) -> None:
        self.content = content
        self.name = name
        self.tokens = tokens

    @property
    def text(self) -> str:
        """The Display of the Media that the part was made of (O-1.200)."""
        content = self.content
        return media_text(content.kind, content.url or self.name, content.size, is_link=content.data is None)

    def as_json(self) -> dict[str, Any]:
        """Return the record of the part, which has no content (O-1.82)."""
        content = self.content
        record = {"kind": content.kind, "mime": content.mime, "bytes": content.size, "hash": content.hash}
        return record if self.name is None else {**record, "name": self.name}

    def __repr__(self) -> str:
        return f"MediaPart({self.text})"


def media_parts(values: Iterable[Any], settings: ConnectionSettings | None = None) -> tuple[MediaPart, ...]:
    """Return the parts that values of the language's Media are in a message. `settings` are those of the connection that the
    message is for, by which tokens are counted (`tokens_of`). Raises Unsent for a Media without content."""
    return tuple([_part(value, settings) for value in values])


def _part(value: Any, settings: ConnectionSettings | None) -> MediaPart:
    content = value.content
    if content is None:
        raise Unsent("media: a Media that was read from JSON has no content; make it with `std::media`")
    return MediaPart(content, value.f4, tokens_of(content, settings))


def tokens_of(content: Content, settings: ConnectionSettings | None) -> int:
    """Return the tokens of a content: of a text one for each BYTES_PER_TOKEN bytes, rounded up; of a picture whose size its bytes
    tell by what its provider publishes, where it does; of anything else the connection's `media_tokens`; without a connection
    (`settings` None) all but texts count UNKNOWN_TOKENS. It is an estimate: only the provider knows."""
    if content.mime == TEXT:
        return -(-content.size // BYTES_PER_TOKEN)
    if settings is None:
        return UNKNOWN_TOKENS
    size, published = picture_size(content), settings.row.picture
    return settings.media_tokens if size is None or published is None else published.tokens(*size)


class WithMedia:
    """The result of a tool whose declared type has no place for the media that came with it, values of Media."""

    __slots__ = ("value", "media")

    def __init__(self, value: Any, media: list[Any]) -> None:
        self.value = value
        self.media = media


def media_in(value: Any) -> list[Any]:
    """Return the Media in a value, at any depth, in their order; those in keys of Maps, in an Err or in a function's variables
    are not looked for."""
    media: list[Any] = []
    pending = [value]
    while pending:
        at = pending.pop()
        kind = type(at)
        if kind is Media:
            media.append(at)
        elif kind is Map:
            pending += reversed(at.items.values())
        elif kind in (Array, Set, Queue, Stack, tuple):
            pending += reversed(list(paced(at if kind is tuple else elements(at), FEW)))
        elif kind in (Some, Ok):
            pending.append(at.value)
        elif isinstance(at, Struct):
            pending += reversed(at.values())
        elif kind is EnumValue:
            pending += reversed(at.payload or ())
    return media


def told(values: Iterable[Any]) -> str:
    """Return the Display of each Media on a line of its own."""
    return "\n".join(map(display, values))


def has_media(messages: Sequence[Any]) -> bool:
    """Return whether any of some messages has media."""
    return bool([None for message in messages if message.media])  # half the time of `any`


def size_of(messages: Sequence[Any]) -> int:
    """Return how many bytes all contents of some messages have together, the same content as often as it stands there; a link has
    none."""
    return sum(part.content.size for message in messages for part in message.media)
