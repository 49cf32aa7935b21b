"""JSON from outside under the bounds of G-9.2, and compact JSON (O-0.5).

Depth 64, 100,000 nodes; duplicate keys, NaN, infinities, trailing text and numbers beyond Float do not parse.
Hands on plain Python data with cleaned strings. Must not know: schemas, replies.

The standard json module is loaded with the first text: a program without one must not pay for it.
"""

from __future__ import annotations

from ..outside_text import clean_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder
    from typing import Any, NoReturn

MAX_DEPTH = 64
MAX_NODES = 100_000
FLOAT_DIGITS = 309  # an integer with more digits is beyond Float
WHITE_SPACE = " \t\r\n"
BYTE_ORDER_MARK = "\ufeff"

_decoder: JSONDecoder | None = None


class JsonRefused(Exception):
    """`reason` is the REASON of O-2.23."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_json(text: str) -> Any:
    """The value of the whole text; JsonRefused otherwise."""
    from json import JSONDecodeError

    if len(text) > 2 * MAX_NODES:
        _check_marks(text)
    start = _skip_space(text, 0)
    try:
        value, end = _the_decoder().raw_decode(text, start)
    except JSONDecodeError as error:
        at = len(text) if error.msg.startswith("Unterminated string") else error.pos
        raise JsonRefused(_position_text(text, at)) from None
    except RecursionError:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH}") from None
    end = _skip_space(text, end)
    if end < len(text):
        raise JsonRefused(f"text after the value at {_line_and_column(text, end)}")
    _check_size(value)
    # Only an escape can bring in what the reader of the bytes has already cleaned away.
    return clean_json(value) if "\\u" in text or not text.isascii() else value


def compact_json(value: Any) -> str:
    """No white space, keys in order, non-ASCII as it is (O-0.5)."""
    from json import dumps

    return dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of compact JSON with sorted keys (O-0.5)."""
    from hashlib import sha256
    from json import dumps

    text = dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _the_decoder() -> JSONDecoder:
    global _decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
    return _decoder


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonRefused(f"duplicate key {compact_json(key)}")
            seen.add(key)
    return made


def _constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name} is not a JSON value")


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonRefused("a number beyond Float")
    return value


def _int(digits: str) -> int:
    if len(digits) >= FLOAT_DIGITS:
        _float(digits)
    return int(digits)


def _check_marks(text: str) -> None:
    """Refuses before it is built what has too many values: lists of nothing take twenty times the room of their text."""
    if _marks(text) > MAX_NODES:
        from re import DOTALL, sub

        # a string without end goes to the end: looking for its end from each quote in it would take quadratic time
        if _marks(sub(r'"(?:[^"\\]++|\\.?)*+"?', "", text, flags=DOTALL)) > MAX_NODES:
            raise JsonRefused(f"more than {MAX_NODES} values")


def _marks(text: str) -> int:
    """At most one more than there are values: each but the first comes after a comma, a bracket or a brace."""
    return text.count(",") + text.count("[") + text.count("{")


def _check_size(value: Any) -> None:
    """Depth and nodes, level by level: a level is the list of containers on it."""
    below: list[Any] = [value]
    nodes = 1
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in below if type(item) is dict or type(item) is list]
        if not level:
            return
        below = [inner for item in level for inner in (item.values() if type(item) is dict else item)]
        nodes += len(below)
        if nodes > MAX_NODES:
            raise JsonRefused(f"more than {MAX_NODES} values")
    raise JsonRefused(f"nested deeper than {MAX_DEPTH}")


def _skip_space(text: str, at: int) -> int:
    size = len(text)
    while at < size and text[at] in WHITE_SPACE:
        at += 1
    return at


def _position_text(text: str, at: int) -> str:
    """Our own words: those of the standard library differ between Python versions."""
    if at >= len(text.rstrip(WHITE_SPACE)):
        return "unexpected end of text"
    return f"unexpected text at {_line_and_column(text, at)}"


def _line_and_column(text: str, at: int) -> str:
    line_start = text.rfind("\n", 0, at) + 1
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - line_start + 1}"
