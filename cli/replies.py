"""The replies of `--offline-script FILE`: a JSON array, or a program whose comments `// reply: …` say them (O-1.280).

Hands on `script`. Must not know: who consumes them.
"""

from __future__ import annotations

import re

from . import exits
from .inputs import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMMENT = re.compile(r"^\s*// reply(?: (\w+))?: (.*)$", re.MULTILINE)
_AFTER = re.compile(r"(.*\S)\s+after=(\d+)(ms|s)")
_FAULTS = {"429": "rate_limit", "401": "auth", "403": "auth", "404": "not_found", "408": "timeout"}
FORM = 'write `// reply: text "…"`, `text {…}`, `stream "…" "…"` or `fault 500`, with ` after=20ms` behind it'


def script(path: str) -> list[Any]:
    """Its replies in order; what is wrong with them ends the command."""
    text = read(path).decode("utf-8", "replace")
    from ..runtime.errors import ConfigFailure
    from ..runtime.providers.scripted import Script

    replies = of_comments(path, text) if path.endswith(".conc") else of_json(path, text)
    try:
        Script(replies)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{path}: {failure.message}") from None
    return replies


def of_json(path: str, text: str) -> list[Any]:
    from ..runtime.schema.json_text import JsonRefused, parse_json

    try:
        replies = parse_json(text)
    except JsonRefused as refused:
        raise exits.Exit(exits.USAGE, f"{path}: not a JSON array of replies: {refused}") from None
    if not isinstance(replies, list):
        raise exits.Exit(exits.USAGE, f"{path}: a script is a JSON array of replies")
    return replies


def of_comments(path: str, text: str) -> list[Any]:
    found = []
    for comment in _COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        if comment[1]:
            raise exits.Exit(exits.USAGE, f"{path}:{line}: replies of one model cannot be scripted: write `// reply: …` in order")
        try:
            found.append(_reply(comment[2].strip()))
        except ValueError:
            raise exits.Exit(exits.USAGE, f"{path}:{line}: {comment[2]!r} is no reply: {FORM}") from None
    if not found:
        raise exits.Exit(exits.USAGE, f"{path}: it has no replies: {FORM}")
    return found


def _reply(text: str) -> dict[str, Any]:
    """Raises ValueError for what is none."""
    delayed = _AFTER.fullmatch(text)
    made: dict[str, Any] = {}
    if delayed is not None:
        text, made["delay_ms"] = delayed[1], int(delayed[2]) * (1000 if delayed[3] == "s" else 1)
    word, _, rest = text.partition(" ")
    if word == "fault":
        return {**made, "error": _FAULTS.get(rest) or ("server" if rest[:1] == "5" else rest)}
    import json

    if word == "text":
        value = json.loads(rest)
        return {**made, "text": value if isinstance(value, str) else rest}
    if word != "stream":
        raise ValueError
    return {**made, "chunks": json.loads(f"[{_between(rest)}]")}


def _between(rest: str) -> str:
    """Strings with commas between them."""
    return re.sub(r'("(?:\\.|[^"\\])*")\s+(?=")', r"\1, ", rest)
