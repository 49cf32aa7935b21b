"""How media stand in the messages of each wire (O-1.202). What a wire cannot carry is refused before it is sent: media are never
left out.

Hands on `chat_content`, `responses_content` and `anthropic_blocks`, the parts of one message, to the wires; `require_contents` to
those that take no links; and `tool_media`, the user message in which the wire `chat` gets the media of tool results. All raise
NotSent (InvalidRequest) for media that their wire does not carry.

Sources, read on 2026-11-27: chat completions take PDF alone as `file`, and none by its address; text goes as text (File inputs,
https://developers.openai.com/api/docs/guides/file-inputs). The Responses API has no audio in messages, the Messages API none at
all (the parameter types of their SDKs).
"""

from __future__ import annotations

from base64 import b64encode

from ...vm.values.media import PDF, TEXT
from .base import origin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from ..media import MediaPart
    from ..records import Msg, Request

    Json = dict[str, Any]

CHAT, RESPONSES, MESSAGES = "chat completions", "the Responses API", "the Messages API"
FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
UNNAMED = {PDF: "document.pdf", TEXT: "document.txt"}


def _refused(request: Request, what: str, wire: str) -> NoReturn:
    raise origin_of(request).not_sent("AgentError", "InvalidRequest", f"media: {what} is not carried by {wire}")


def require_contents(request: Request, wire: str) -> None:
    """Raise NotSent for media by link, which `wire`, as its message calls it, does not fetch."""
    for part in (part for message in request.messages for part in message.media if part.content.url is not None):
        _refused(request, _what(part), wire)


def _what(part: MediaPart) -> str:
    """Name a content as the message of a refusal does."""
    content = part.content
    return f"{content.kind} by link" if content.data is None else f"{content.kind} ({content.mime})"


def _base64(part: MediaPart) -> str:
    return b64encode(part.content.data or b"").decode()


def _data_url(part: MediaPart) -> str:
    return f"data:{part.content.mime};base64,{_base64(part)}"


def _address(part: MediaPart) -> str:
    return part.content.url or _data_url(part)


def _file_name(part: MediaPart) -> str:
    return part.name or UNNAMED.get(part.content.mime, "document")


def _text_of(part: MediaPart) -> str:
    return (part.content.data or b"").decode()


# ---------------------------------------------------------------- chat completions


def chat_content(request: Request, message: Msg) -> list[Json]:
    """Return the parts of a user message: media, then the text if it has one."""
    return [*_chat_parts(request, message.media), *([{"type": "text", "text": message.content}] if message.content else [])]


def _chat_parts(request: Request, media: Sequence[MediaPart]) -> list[Json]:
    return [_chat_part(request, part) for part in media]


def _chat_part(request: Request, part: MediaPart) -> Json:
    content = part.content
    if content.kind == "image":
        return {"type": "image_url", "image_url": {"url": _address(part)}}
    if content.mime in FORMATS:
        return {"type": "input_audio", "input_audio": {"data": _base64(part), "format": FORMATS[content.mime]}}
    if content.mime == PDF:
        return {"type": "file", "file": {"filename": _file_name(part), "file_data": _data_url(part)}}
    if content.mime == TEXT:
        return {"type": "text", "text": _text_of(part)}
    _refused(request, _what(part), CHAT)


RESULTS = "(media of the results above)"


def tool_media(request: Request, results: Sequence[Msg]) -> list[Json]:
    """Return a list with the user message of the media of a round's results, whose own messages take text alone; an empty one
    without media."""
    parts = [part for message in results for part in _chat_parts(request, message.media)]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": RESULTS}]}] if parts else []


# ---------------------------------------------------------------- responses


def responses_content(request: Request, message: Msg) -> list[Json]:
    """Return the parts of a user message, or of the output of a tool: media, then the text if it has one."""
    text = [{"type": "input_text", "text": message.content}] if message.content else []
    return [*[_responses_part(request, part) for part in message.media], *text]


def _responses_part(request: Request, part: MediaPart) -> Json:
    content = part.content
    if content.kind == "image":
        return {"type": "input_image", "image_url": _address(part), "detail": "auto"}
    if content.kind == "document" and content.url is not None:
        return {"type": "input_file", "file_url": content.url}
    if content.kind == "document":
        return {"type": "input_file", "filename": _file_name(part), "file_data": _data_url(part)}
    _refused(request, _what(part), RESPONSES)


# ---------------------------------------------------------------- Anthropic


def anthropic_blocks(request: Request, message: Msg) -> list[Json]:
    """Return the blocks of a user message, or of the result of a tool: media, then the text if it is not blank."""
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return [*[_anthropic_block(request, part) for part in message.media], *text]


def _anthropic_block(request: Request, part: MediaPart) -> Json:
    content = part.content
    if content.kind == "audio":
        _refused(request, _what(part), MESSAGES)
    source: Json
    if content.url is not None:
        source = {"type": "url", "url": content.url}
    elif content.mime == TEXT:
        source = {"type": "text", "media_type": TEXT, "data": _text_of(part)}
    else:
        source = {"type": "base64", "media_type": content.mime, "data": _base64(part)}
    named = {"title": part.name} if content.kind == "document" and content.url is None and part.name else {}
    return {"type": content.kind, "source": source, **named}
