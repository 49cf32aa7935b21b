"""The small notations inside a value: payloads, scripted replies, memory lists (C-4.3, C-5.6, C-5.7).

Hands on `Malformed`, the pieces of values (`take_json`, `take_string`, `take_word`, `split_outside_strings`), `compact` and
`text_of` for payloads, `reply`, and `memory_items` with `items_of_messages`. Text becomes records, or `Malformed` is raised with
a reason; no file and no line is known here. A new form of a reply is a row of `_FORMS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .records import Reply

_DECODER = json.JSONDecoder()
_CALL = re.compile(r"([A-Za-z_]\w*)\s*")
_OPTION = re.compile(r"(?:usage=(\d+)/(\d+)|after=(\d+)(ms|s)|x(\d+)|retry-after=(\d+))$")
_PLAIN_FAULTS = ("timeout", "reset", "truncated", "garbage")
ROLES = ("system", "user", "assistant")


class Malformed(Exception):
    """A value that does not have the form its key asks for."""


def take_json(text: str) -> tuple[str, Any, str]:
    """Return the JSON value that `text` begins with: its characters as written, the value, and what follows it. Raise Malformed
    if there is none."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError as error:
        raise Malformed(f"JSON expected at {text[:40]!r}: {error}") from None
    return text[:end], value, text[end:].lstrip()


def take_string(text: str) -> tuple[str, str]:
    """Return the value of the quoted string that `text` begins with, and what follows it. Raise Malformed if there is none."""
    _, value, rest = take_json(text)
    if not isinstance(value, str):
        raise Malformed(f"string expected at {text[:40]!r}")
    return value, rest


def take_word(text: str) -> tuple[str, str]:
    """Return what stands before the first blank, and what follows."""
    word, _, rest = text.partition(" ")
    return word, rest.lstrip()


def compact(text: str) -> str:
    """Return a payload without the blanks between its tokens (C-5.7); strings and numbers stay as written. Raise Malformed for
    what is not one JSON value."""
    written, _, rest = take_json(text.strip())
    if rest:
        raise Malformed(f"text after the payload: {rest!r}")
    return re.sub(r'("(?:\\.|[^"\\])*")|\s+', lambda m: m.group(1) or "", written)


def text_of(value: Any) -> str:
    """Return the compact JSON text of a value that came from JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def split_outside_strings(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators that stand outside of quotes and brackets, without blanks around them."""
    parts, start, depth, at, quoted = [], 0, 0, 0, False
    while at < len(text):
        char = text[at]
        if quoted and char == "\\":
            at += 2
            continue
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in "[{(") - (char in "]})")
            if depth == 0 and text.startswith(separator, at):
                parts.append(text[start:at])
                at += len(separator)
                start = at
                continue
        at += 1
    parts.append(text[start:])
    return [part.strip() for part in parts]


def reply(text: str) -> list[Reply]:
    """Return the scripted reply that a text means, as often as its `xN` says. Raise Malformed for what is none."""
    head, options = _split_options(text)
    word, rest = take_word(head)
    build = _FORMS.get(word)
    if build is None:
        raise Malformed(f"a reply begins with one of {', '.join(_FORMS)}, not {word!r}")
    return _with_options(build(rest), options)


def _split_options(text: str) -> tuple[str, list[str]]:
    head, options = text.strip(), list[str]()
    while True:
        before, _, last = head.rpartition(" ")
        if not before or not _OPTION.match(last):
            return head, options
        head, options = before.rstrip(), [last, *options]


def _with_options(single: Reply, options: list[str]) -> list[Reply]:
    count = 1
    for option in options:
        match = _OPTION.match(option)
        assert match
        tokens_in, tokens_out, after, unit, times, wait = match.groups()
        if times:
            count = int(times)
        elif after:
            single = replace(single, after=int(after) * (1000 if unit == "s" else 1))
        elif wait:
            if single.fault is None:
                raise Malformed("retry-after belongs to a fault")
            single = replace(single, fault=(*single.fault, ("retry_after", int(wait))))
        else:
            single = replace(single, usage=(int(tokens_in), int(tokens_out)))
    return [single] * count


def _text(rest: str) -> Reply:
    written, value, after = take_json(rest)
    _nothing(after)
    return Reply(text=value if isinstance(value, str) else written)


def _calls(rest: str) -> Reply:
    calls = []
    for part in split_outside_strings(rest, "&"):
        part = part.removeprefix("call ").lstrip()
        name = _CALL.match(part)
        if not name:
            raise Malformed(f"tool name expected at {part[:40]!r}")
        written, _, after = take_json(part[name.end() :])
        if after and not after.startswith("#"):
            _nothing(after)
        calls.append((name.group(1), written, after[1:] or None))
    return Reply(calls=tuple(calls))


def _stream(rest: str) -> Reply:
    chunks = []
    while rest.startswith('"'):
        chunk, rest = take_string(rest)
        chunks.append(chunk)
    ending = _fault(rest.removeprefix("fault ")).fault if rest else None
    return Reply(chunks=tuple(chunks), fault=ending)


def _fault(rest: str) -> Reply:
    if rest in _PLAIN_FAULTS:
        return Reply(fault=(("kind", rest),))
    if re.fullmatch(r"[1-5]\d\d", rest):
        return Reply(fault=(("kind", "status"), ("status", int(rest))))
    raise Malformed(f"unknown fault {rest!r}")


def _finish(finish: str, rest: str) -> Reply:
    text, after = take_string(rest)
    _nothing(after)
    return Reply(text=text, finish=finish)


def _nothing(rest: str) -> None:
    if rest:
        raise Malformed(f"unexpected {rest!r}")


_FORMS: dict[str, Callable[[str], Reply]] = {
    "text": _text,
    "call": _calls,
    "stream": _stream,
    "fault": _fault,
    "refusal": lambda rest: _finish("refusal", rest),
    "length": lambda rest: _finish("length", rest),
}


def memory_items(text: str) -> tuple[str, ...]:
    """Return the items of `[role "content", call Tool__m {…} #id, result #id "…"]` as canonical texts. Raise Malformed for
    another form."""
    if not (text.startswith("[") and text.endswith("]")):
        raise Malformed("a memory is written in brackets")
    inner = text[1:-1].strip()
    return tuple(_memory_item(part) for part in split_outside_strings(inner, ",")) if inner else ()


def _memory_item(text: str) -> str:
    word, rest = take_word(text)
    if word in ROLES:
        content, after = take_string(rest)
        _nothing(after)
        return item(word, content)
    if word == "call":
        name, rest = take_word(rest)
        _, arguments, after = take_json(rest)
        return call_item(name, arguments, after.removeprefix("#"))
    if word == "result":
        call_id, rest = take_word(rest)
        content, after = take_string(rest)
        _nothing(after)
        return f"result {call_id} {text_of(content)}"
    raise Malformed(f"a memory item begins with a role, call or result, not {word!r}")


def item(role: str, content: str) -> str:
    """Return the canonical text of a message."""
    return f"{role} {text_of(content)}"


def call_item(name: str, arguments: Any, call_id: str) -> str:
    """Return the canonical text of a call of a tool."""
    return f"call {name} {text_of(arguments)} #{call_id}"


def items_of_messages(messages: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the canonical texts of the messages that a driver reports, as `memory_items` does for an expectation."""
    items = []
    for message in messages:
        content, calls = message.get("content", ""), message.get("calls") or []
        if message.get("role") == "tool":
            items.append(f"result #{message.get('call_id')} {text_of(content)}")
            continue
        if content or not calls:
            items.append(item(str(message.get("role")), content))
        items += [call_item(call.get("name"), call.get("arguments"), str(call.get("id"))) for call in calls]
    return tuple(items)
