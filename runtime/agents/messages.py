"""Lines of the wire between Concerto and an agent (O-7.22 to O-7.31): how a prompt is written, how a line is read.

Must not know: processes, who asks.
"""

from __future__ import annotations

import json

from ..outside_text import clean_text
from ..schema.json_text import JsonRefused, compact_json, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESULT, ERROR, INIT_ACK = "result", "error", "init_ack"
ENVELOPE = ("type", "in_reply_to")


class Answer:
    """What ends an exchange: its text and, of a JSON object, the other fields; None for a plain line (O-7.12)."""

    __slots__ = ("text", "data")

    def __init__(self, text: str, data: dict[str, Any] | None = None) -> None:
        self.text = text
        self.data = data


def init_line(params: dict[str, Any]) -> str:
    return compact_json({"type": "init", "params": params}) + "\n"


def prompt_lines(prompt: str, context: Any, number: int, *, as_json: bool) -> str:
    """`context`: plain data in a tuple of one, or () when none is given."""
    if as_json:
        message = {"id": request_id(number), "prompt": prompt}
        if context:
            message["context"] = context[0]
        return compact_json(message) + "\n"
    line = json.dumps(prompt, ensure_ascii=False) if "\n" in prompt else prompt
    return f"{line}\nContext: {compact_json(context[0])}\n" if context else f"{line}\n"


def response_line(message: dict[str, Any], value: Any) -> str:
    """What a handler says to a message: named by the id of the message, else by its type (O-7.28)."""
    to = message.get("id", message["type"])
    return compact_json({"type": "response", "in_reply_to": to, "value": value}) + "\n"


def request_id(number: int) -> str:
    return f"r{number}"


def read_object(line: str) -> dict[str, Any] | None:
    """The JSON object a line holds, or None."""
    try:
        value = parse_json(line)
    except JsonRefused:
        return None
    return value if isinstance(value, dict) else None


def plain_answer(line: str) -> Answer:
    """A line of text output; a JSON string literal is decoded (O-7.31)."""
    if line.lstrip().startswith('"'):
        try:
            value = parse_json(line)
        except JsonRefused:
            value = None
        if isinstance(value, str):
            return Answer(value)
    return Answer(clean_text(line))


def object_answer(message: dict[str, Any]) -> Answer:
    text = message.get("text")
    return Answer(text if isinstance(text, str) else compact_json(message), fields_of(message))


def fields_of(message: dict[str, Any]) -> dict[str, Any]:
    """All but the envelope."""
    return {key: value for key, value in message.items() if key not in ENVELOPE}
