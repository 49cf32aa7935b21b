"""What an MCP server has besides tools: resources and prompts, as values of the language (O-4.50 to O-4.53).

Hands on the forms in which a connection gives them, `Part`, `ServedResource`, `PromptPart` and `ServedPrompt`, to `wire.py`,
which also takes `decoded` and `failed`, and to what stands between it and a program (`served.py`, `servers.py`,
`journal/peers.py`); and to `servers.py` `failed` and the values made of them: `resource_value`, `prompt_value`, `messages_value`,
`resources_value` and `prompts_value`, and of what a mock gives `mocked_parts` and `mocked_messages`. What does not fit raises
ServerFailure, of a mock ValueError. Nothing here talks to a server.
"""

from __future__ import annotations

from base64 import b64decode

from ...vm.record import record
from ...vm.values import Array, Map, McpPrompt, McpResource, Media, Message, Prompt, typeof
from ...vm.values.limits import INT_MAX
from ...vm.values.media import Refused, content_of, is_text, kind_of_mime, mime_of
from ..access.secrets import clean_text
from .served import MOST_BYTES, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    from ...vm.values.media import Content

MOST_PARTS = 1_000  # contents of a resource, messages of a prompt
USER, ASSISTANT = "user", "assistant"


@record
class Part:
    """One content of a resource: its `text`, or None and its bytes as `data`."""

    text: str | None
    data: bytes = b""


@record
class ServedResource:
    """A resource as the server lists it; `mime` is its media type, `size` is in bytes; what the server does not say is None."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime: str | None = None
    size: int | None = None


@record
class ServedPrompt:
    """A prompt as the server lists it; what it does not say is None. `arguments`: of each its name, its description, and whether
    it is required."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: Sequence[tuple[str, str | None, bool]] = ()


@record
class PromptPart:
    """One message of a prompt: its role, USER or ASSISTANT, its text and its media."""

    role: str
    text: str
    media: Sequence[Content] = ()


def failed(text: str) -> NoReturn:
    """Raise ServerFailure (ExecutionFailed)."""
    raise ServerFailure(text, "ExecutionFailed")


def decoded(text: str, what: str) -> bytes:
    """Return the bytes of a base64 text. ServerFailure for what is none; `what` names it."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        failed(f"{what} is refused: it is no base64")


# ----------------------------------------------------------------
# Resources.


def resource_value(uri: str, parts: Sequence[Part], form: str) -> Any:
    """Return a resource as a value (O-4.50). `form` is "String", for which all contents must be texts, with a line end between
    two; "Bytes" or "Media", for which there must be one content (of a text its UTF-8); or "Any": each content as a String, a
    Media where its bytes are one, or Bytes, several as an Array. Raises ServerFailure for a content that does not fit, none, more
    than MOST_PARTS, and for more than MOST_BYTES bytes of text."""
    what = _named(uri)
    if not parts:
        failed(f"{what} has no content")
    if len(parts) > MOST_PARTS or _size([part.text for part in parts]) > MOST_BYTES:
        failed(f"{what} has more than {MOST_PARTS} contents, or {MOST_BYTES} bytes of text")
    if form == "String":
        return clean_text("\n".join([_text(uri, part) for part in parts]))
    if form != "Any" and len(parts) > 1:
        failed(f"{what} has {len(parts)} contents, no single one: take them as Any")
    values = [FORMS[form](uri, part) for part in parts]
    return values[0] if len(values) == 1 else Array(values)


def _named(uri: str) -> str:
    return f"the resource {uri}"


def _text(uri: str, part: Part) -> str:
    return part.text if part.text is not None else failed(f"{_named(uri)} is no text")


def _bytes(uri: str, part: Part) -> bytes:
    return part.data if part.text is None else clean_text(part.text).encode()


def _media(uri: str, part: Part) -> Any:
    data = _bytes(uri, part)
    content = _content(data)
    if content is None and is_text(data):
        content = content_of("document", data)
    if content is None:
        failed(f"{_named(uri)} is no Media, by its first bytes")
    return Media.holding(content, _last_name(uri))


def _any(uri: str, part: Part) -> Any:
    if part.text is not None:
        return clean_text(part.text)
    content = _content(part.data)
    return part.data if content is None else Media.holding(content, _last_name(uri))


def _content(data: bytes) -> Content | None:
    """Return the picture, sound or PDF that bytes are, None for others."""
    mime = mime_of(data)
    try:
        return None if mime is None else content_of(kind_of_mime(mime), data)
    except Refused:
        return None


def _last_name(uri: str) -> str | None:
    """Return what a URI ends with, as the name under which its content is shown and sent."""
    return clean_text(uri.rstrip("/").rpartition("/")[2]) or None


FORMS = {"Any": _any, "Bytes": _bytes, "Media": _media}


def resources_value(resources: Iterable[ServedResource]) -> Any:
    """Return the list of a server's resources as an Array of `McpResource` (O-4.51); a size that no Int is, or below 0, is nil.
    Raises ServerFailure for more than MOST_BYTES bytes of texts in it."""
    rows = [(one.uri, one.name, one.title, one.description, one.mime) for one in resources]
    _check_list("resources", [text for row in rows for text in row])
    sizes = [one.size if one.size is not None and 0 <= one.size <= INT_MAX else None for one in resources]
    return Array([McpResource.of((*map(_cleaned, row), size)) for row, size in zip(rows, sizes, strict=True)])


def _cleaned(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


def _size(texts: Iterable[str | None]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts if text is not None)


def _check_list(what: str, texts: Iterable[str | None]) -> None:
    if _size(texts) > MOST_BYTES:
        failed(f"the list of {what} is larger than {MOST_BYTES} bytes")


# ----------------------------------------------------------------
# Prompts.


def prompt_value(name: str, parts: Sequence[PromptPart]) -> Any:
    """Return the messages of a prompt as one Prompt: their texts that are not empty, with an empty line between two, and their
    media (O-4.52). Raises ServerFailure as `messages_value`, and for a message that is not of USER."""
    _check_prompt(name, parts)
    if any(part.role != USER for part in parts):
        failed(f'the prompt {name} has messages of the assistant: take `messages("{name}", …)`, for `chat`')
    text = "\n\n".join([clean_text(part.text) for part in parts if part.text])
    return Prompt.of((text, None, None, None, _media_of(*parts)))


def messages_value(name: str, parts: Sequence[PromptPart]) -> Any:
    """Return the messages of a prompt as an Array of `Message`. Raises ServerFailure where there are none, more than MOST_PARTS,
    or more than MOST_BYTES bytes of text."""
    _check_prompt(name, parts)
    return Array([Message.of((part.role, clean_text(part.text), Array([]), None, _media_of(part))) for part in parts])


def _media_of(*parts: PromptPart) -> Array:
    return Array([Media.holding(content, None) for part in parts for content in part.media])


def _check_prompt(name: str, parts: Sequence[PromptPart]) -> None:
    if not parts:
        failed(f"the prompt {name} has no messages")
    if len(parts) > MOST_PARTS or _size([part.text for part in parts]) > MOST_BYTES:
        failed(f"the prompt {name} has more than {MOST_PARTS} messages, or {MOST_BYTES} bytes of text")


def prompts_value(prompts: Iterable[ServedPrompt]) -> Any:
    """Return the list of a server's prompts as an Array of `McpPrompt` (O-4.53). Raises ServerFailure for more than MOST_BYTES
    bytes of texts in it."""
    served = list(prompts)
    texts = [text for one in served for text in (one.name, one.title, one.description)]
    _check_list("prompts", [*texts, *(text for one in served for name, about, _ in one.arguments for text in (name, about))])
    values = []
    for one in served:
        arguments = {clean_text(name): clean_text(about or "") for name, about, _ in one.arguments}
        required = Array([clean_text(name) for name, _, is_required in one.arguments if is_required])
        texts = [_cleaned(text) for text in (one.name, one.title, one.description)]
        values.append(McpPrompt.of((*texts, Map(arguments), required)))
    return Array(values)


# ----------------------------------------------------------------
# What a mock gives in their place (O-8.13).


def mocked_parts(value: Any) -> list[Part]:
    """Return the contents that a value of a mock is: a String, Bytes or a Media that holds its bytes, or an Array of them. Raises
    ValueError for any other."""
    if type(value) is Array:
        return [_mocked_part(item) for item in value.items]
    return [_mocked_part(value)]


def _mocked_part(value: Any) -> Part:
    if type(value) is str:
        return Part(value)
    if type(value) is bytes:
        return Part(None, value)
    if type(value) is Media and value.content is not None and value.content.data is not None:
        return Part(None, value.content.data)
    raise ValueError(f"expected String, Bytes or a Media with content, found {typeof(value)}")


def mocked_messages(value: Any) -> list[PromptPart]:
    """Return the messages that a value of a mock is: a String or a Prompt, of the user, a Message of USER or ASSISTANT, or an
    Array of these; Media without content, and tool calls, are left out. Raises ValueError for any other."""
    items = value.items if type(value) is Array else [value]
    return [_mocked_message(item) for item in items]


def _mocked_message(value: Any) -> PromptPart:
    if type(value) is str:
        return PromptPart(USER, value)
    if type(value) is Prompt:
        role, text, media = USER, value.f0, value.f4
    elif type(value) is Message and value.f0 in (USER, ASSISTANT):
        role, text, media = value.f0, value.f1, value.f4
    else:
        raise ValueError(f"expected String, Prompt, or a Message of {USER} or {ASSISTANT}, found {typeof(value)}")
    return PromptPart(role, text, [one.content for one in media.items if one.content is not None])
