"""Cleaning of text from outside, once, where it enters (O-0.6, G-9.1).

Hands on strings that encode to UTF-8 and hold no hidden tag characters. Must not know: what the text means.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLACK_FLAG = "\U0001f3f4"
TAG_FIRST, TAG_LAST = "\U000e0000", "\U000e007f"


def whole_text(text: str) -> str:
    """Lone surrogates become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Surrogates that form a pair are one character; only the lone ones are replaced.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_text(text: str) -> str:
    """Lone surrogates become U+FFFD; tag characters outside an emoji flag are removed."""
    if text.isascii():
        return text
    text = whole_text(text)
    if any(TAG_FIRST <= c <= TAG_LAST for c in text):
        return _without_tags(text)
    return text


def clean_json(value: Any) -> Any:
    """`clean_text` on every string of a JSON value, keys included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    return value


def _without_tags(text: str) -> str:
    """A tag sequence directly behind a black flag is a regional flag and stays."""
    kept: list[str] = []
    in_flag = False
    for c in text:
        is_tag = TAG_FIRST <= c <= TAG_LAST
        in_flag = c == BLACK_FLAG or (in_flag and is_tag)
        if in_flag or not is_tag:
            kept.append(c)
    return "".join(kept)
