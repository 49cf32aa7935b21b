"""What a provider says about a request it refuses, out of whatever body it says it in (O-1.130).

Hands on the text, and the parameter that is named. Must not know: SDKs, failures, secrets.
"""

from __future__ import annotations

import json
import re
from collections import deque

from ..outside_text import clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = ("message", "msg", "detail", "error")
MOST_SHOWN = 300
MOST_PARTS = 10_000  # of a body looked at for a message


class Reason:
    """`message` in the provider's own words, where it has any; `param` is the parameter that it names. `clean` takes secrets out,
    before anything is cut: half of one is still one."""

    def __init__(self, status: int, body: bytes, clean: Callable[[str], str]) -> None:
        text = body.decode("utf-8", "replace").strip()
        self.param: str | None = None
        message = None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if isinstance(value, dict):
            inner = value.get("error", value)
            if isinstance(inner, dict):
                self.param = inner["param"] if isinstance(inner.get("param"), str) else None
                message = inner["message"].strip() if isinstance(inner.get("message"), str) else None
        message = message or first_named(value)
        if message is None:
            said = clean(clean_text(value if isinstance(value, str) else _json(value) or text))
            self.message = _page(status, said) or _shown(said) or f"HTTP status {status}"
        else:
            said = clean(clean_text(message))
            self.message = _page(status, said) or said


def first_named(value: Any) -> str | None:
    """The first text named as a message is, what stands higher before what is nested, the names in their order."""
    level: deque[Any] = deque([value])
    for _ in range(MOST_PARTS):
        if not level:
            return None
        part = level.popleft()
        if isinstance(part, dict):
            texts: list[str] = [part[name].strip() for name in NAMES if isinstance(part.get(name), str)]
            if any(texts):
                return next(filter(None, texts))
            level.extend(part.values())
        elif isinstance(part, list):
            level.extend(part)
    return None


def _page(status: int, text: str) -> str:
    """What is said of a page of HTML: its title; nothing of any other text."""
    if not re.search(r"<(!doctype html|html|body)\b", text[:2000], re.I):
        return ""
    title = _between(text, "title") or _between(text, "h1")
    return f"HTTP status {status} with a page of HTML" + (f": {title}" if title else "")


def _json(value: Any) -> str:
    """A value as text in one form, whatever escapes it came with."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return ""


def _between(text: str, tag: str) -> str:
    """The text at the beginning of the first element of a name."""
    opening = re.search(rf"<{tag}\b", text, re.I)
    start = text.find(">", opening.end()) + 1 if opening else 0
    return _shown(text[start:].partition("<")[0]) if start else ""


def _shown(text: str) -> str:
    """The beginning, on one line."""
    return " ".join(text.split())[:MOST_SHOWN]
