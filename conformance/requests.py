"""`request n:` and `wire n:` expectations: paths into a record or into the bytes as sent, and operators (C-5.4, C-5.5).

Hands on `check` to `compare.py`. It gets one expectation and the requests of a run; nothing else of a program is known here. A
new operator is a row of `_OPERATORS`, and a word in the pattern of that name in `expectations.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .notation import compact, text_of
from .records import ExpectedRequest, Failure, Json

_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(-?\d+)\]|\[(-?\d*):(-?\d*)\]")
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r'"(?:\\.|[^"\\])*"|[^\s,\]}]+')


class Absent(Exception):
    """The path leads nowhere."""


def check(wanted: ExpectedRequest, requests: list[Json]) -> Failure | None:
    """Return the failure of one expectation, None if it is met. `requests` are the messages of a run in their order."""
    mine = [r for r in requests if _counts(wanted, r)]
    if wanted.number > len(mine):
        return Failure(wanted.at, f"a request {wanted.number}", f"{len(mine)} requests")
    try:
        node: str | None = _text(wanted, mine[wanted.number - 1])
    except Absent:
        node = None
    return _operate(wanted, node, mine)


def _counts(wanted: ExpectedRequest, request: Json) -> bool:
    """Return whether a request is one of those that the number counts: `request 2` counts those to models, `request NAME 2` those
    to one model, agent or MCP server, `request http 2` those over HTTP."""
    if wanted.model == "http":
        return request.get("kind") == "http"
    if wanted.model is None:
        return request.get("kind") == "model"
    return request.get("kind") in ("model", "agent", "mcp") and request.get("name") == wanted.model


def _operate(wanted: ExpectedRequest, node: str | None, mine: list[Json]) -> Failure | None:
    target = wanted.path or "the body"
    expected = f"{target} {wanted.operator} {wanted.operand}".rstrip()
    if wanted.operator == "absent":
        return None if node is None else Failure(wanted.at, expected, f"{target} = {node}")
    if node is None:
        return Failure(wanted.at, expected, f"{target} is absent")
    if wanted.operator == "same as":
        return _same(wanted, node, mine, expected)
    if _OPERATORS[wanted.operator](wanted, node):
        return None
    return Failure(wanted.at, expected, f"{target} = {node}")


def _same(wanted: ExpectedRequest, node: str, mine: list[Json], expected: str) -> Failure | None:
    other = int(wanted.operand)
    if not 1 <= other <= len(mine):
        return Failure(wanted.at, expected, f"{len(mine)} requests")
    try:
        text = _text(wanted, mine[other - 1])
    except Absent:
        return Failure(wanted.at, expected, f"request {other} has no {wanted.path}")
    return None if text == node else Failure(wanted.at, f"{expected}: {text}", node)


def _equal(wanted: ExpectedRequest, node: str) -> bool:
    return node == (compact(wanted.operand) if wanted.kind == "request" else wanted.operand)


def _contains(wanted: ExpectedRequest, node: str) -> bool:
    """Return whether a string holds the text, or a list an equal element; in bytes the characters may stand anywhere."""
    if wanted.kind == "wire":
        operand = wanted.operand
        return (operand[1:-1] if operand.startswith('"') else operand) in node
    value, operand = json.loads(node), json.loads(wanted.operand)
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, list) and text_of(operand) in [text_of(element) for element in value]


def _count(wanted: ExpectedRequest, node: str) -> bool:
    """Return whether a list, object or slice has so many elements; a text of the wire that is no JSON has none."""
    steps = [] if wanted.path.startswith("header ") else _steps(wanted.path)
    # The elements of a slice stand on the wire without the brackets.
    sliced = wanted.kind == "wire" and bool(steps) and isinstance(steps[-1], slice)
    try:
        value = json.loads(f"[{node}]" if sliced else node)
    except ValueError:
        return False
    return isinstance(value, list | dict) and len(value) == int(wanted.operand)


_OPERATORS = {
    "=": _equal,
    "!=": lambda wanted, node: not _equal(wanted, node),
    "contains": _contains,
    "count": _count,
}


def _text(wanted: ExpectedRequest, request: Json) -> str:
    if wanted.kind == "request":
        return text_of(_node(request.get("record"), wanted.path))
    if wanted.path.startswith("header "):
        return _header(request, wanted.path[7:])
    wire = request.get("wire")
    if not isinstance(wire, str):
        raise Absent
    return _slice(wire, wanted.path)


def _header(request: Json, name: str) -> str:
    for key, value in (request.get("headers") or {}).items():
        if key.lower() == name.lower():
            return text_of(value)
    raise Absent


def _steps(path: str) -> list[Any]:
    """Return the names, indexes and slices of a path. Raise Absent for what is no path."""
    steps: list[Any] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if not match:
            raise Absent
        name, index, start, end = match.groups()
        if name is not None:
            steps.append(name)
        elif index is not None:
            steps.append(int(index))
        else:
            steps.append(slice(int(start) if start else None, int(end) if end else None))
        at = match.end()
    return steps


def _node(value: Any, path: str) -> Any:
    for step in _steps(path):
        fits = isinstance(value, dict) if isinstance(step, str) else isinstance(value, list)
        if not fits:
            raise Absent
        try:
            value = value[step]
        except (KeyError, IndexError):
            raise Absent from None
    return value


def _slice(text: str, path: str) -> str:
    """Return the characters of the node at `path`, exactly as they stand in `text`; of a slice its elements with commas between
    them. Raise Absent if there is none."""
    start, end = _span(text, 0)
    picked: list[Span] | None = None  # the elements of a slice
    for step in _steps(path):
        children: Any = _children(text, start) if picked is None else picked
        if isinstance(step, slice):
            if picked is None and text[start] != "[":
                raise Absent
            picked = children[step]
            continue
        try:
            start, end = children[step]
        except (KeyError, IndexError, TypeError):
            raise Absent from None
        picked = None
    return text[start:end] if picked is None else ",".join(text[a:b] for a, b in picked)


Span = tuple[int, int]


def _name(text: str) -> str:
    """Return the name of a field. Raise Absent for what is none."""
    try:
        return str(json.loads(text))
    except ValueError:
        raise Absent from None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _span(text: str, at: int) -> Span:
    """Return start and end of the JSON value at or after `at`. Raise Absent if there is none."""
    at = _skip(text, at)
    if text[at : at + 1] not in ("{", "["):
        match = _SCALAR.match(text, at)
        if not match:
            raise Absent
        return at, match.end()
    children = _children(text, at)
    spans = list(children.values()) if isinstance(children, dict) else children
    end = _skip(text, spans[-1][1] if spans else at + 1)
    return at, end + 1


def _children(text: str, at: int) -> dict[str, Span] | list[Span]:
    """Return the spans of the elements of the list or object that begins at `at`, those of an object by name; empty for a
    scalar."""
    fields: dict[str, Span] = {}
    elements: list[Span] = []
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return elements
    at = _skip(text, at + 1)
    while at < len(text) and text[at] not in "]}":
        name = ""
        if opening == "{":
            start, at = _span(text, at)
            name = _name(text[start:at])
            at = _skip(text, at) + 1
        span = _span(text, at)
        fields[name] = span
        elements.append(span)
        at = _skip(text, span[1])
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
    return fields if opening == "{" else elements
