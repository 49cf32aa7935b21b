"""What of a program a client converses with: public models, and functions that take messages or a text (S-1.4, S-1.9).

Hands on `conversing`, which finds them, `Takes`, how each is asked, `messages_of` and `text_of`, which turn messages of protocols
into those of programs and results into text, to the protocols of chats beside this file. Nothing is called here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..api.json_calls import Parameter
from ..api.program import Program
from .calls import Wanted
from .problems import Problem

Json = dict[str, Any]
ROLES = ("system", "developer", "user", "assistant")
TEXT_PARTS = ("text", "input_text", "output_text")


class Takes(NamedTuple):
    """How something is asked: by the `parameter` of a function, None for a public model; `is_text` says that it takes the text
    of one message, and not messages."""

    parameter: str | None
    is_text: bool = False

    def argument(self, messages: list[Json]) -> Any:
        """Return the JSON data that it is given for these messages: of a text that of the last one."""
        return messages[-1]["content"] if self.is_text else messages


def conversing(program: Program, bound: Mapping[str, str], *, texts: bool) -> dict[str, Takes]:
    """Return by name what answers messages: the public models, and the public functions whose only parameter that must be given,
    without those that are `bound` to a request, is an Array<Message>, or with `texts` a String."""
    found = {name: Takes(None) for name in program.models}
    for name, signature in program.signatures.items():
        needed = [one for one in signature.parameters if one.required and one.name not in bound]
        if len(needed) == 1 and _takes_messages(needed[0]):
            found[name] = Takes(needed[0].name)
        elif len(needed) == 1 and texts and needed[0].schema == {"type": "string"}:
            found[name] = Takes(needed[0].name, is_text=True)
    return found


def _takes_messages(parameter: Parameter) -> bool:
    schema = parameter.schema
    items = schema.get("items", {})
    return schema.get("type") == "array" and items.get("required") == ["role", "content"] and "$defs" not in schema


def messages_of(given: Any, name: str, *, unread: tuple[str, ...] = ()) -> list[Json]:
    """Return messages as a program takes them, those of the roles `unread` left out: an empty list where it has no
    others. Raise Problem (400) for what are none, an empty array too."""
    if not isinstance(given, list) or not given:
        raise Problem(400, "invalid", f"`{name}` is an array of messages")
    rows = [(one, f"{name}[{at}]") for at, one in enumerate(given)]
    return [_message(one, place) for one, place in rows if not (isinstance(one, dict) and one.get("role") in unread)]


def _message(given: Any, place: str) -> Json:
    role = given.get("role") if isinstance(given, dict) else None
    if role not in ROLES:
        raise Problem(400, "invalid", f"`{place}` has the role system, developer, user or assistant")
    content = given.get("content")
    if isinstance(content, list):
        if not all(map(_is_text, content)):
            raise Problem(400, "unsupported", f"`{place}` has parts that are no text")
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise Problem(400, "invalid", f"`{place}.content` is a text, or an array of texts")
    return {"role": "system" if role == "developer" else role, "content": content}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str)


def text_of(result: str, wanted: Wanted) -> str:
    """Return what a result is as the text of a message: a text as it is, the text of a Response, of all else its JSON."""
    value = json.loads(result)
    if wanted.is_model:
        return str(value["text"] if isinstance(value, dict) else value)
    return value if isinstance(value, str) else result
