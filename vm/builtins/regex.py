"""`std::regex` (L-7.10). The engine, `vm/regex/`, is loaded with the first pattern.

Hands on its rows only. Positions of a match are code points of the text, 0-based, the end not included. A pattern or replacement
that is wrong, and a pattern that takes too many steps, is an Err of RegexError, with the pattern in it; bodies panic with P007
for what is no String and with P103 for a result beyond the limits; what ends the run may come out of them. How patterns are read
and matched is not written here.
"""

from __future__ import annotations

from ..values.containers import Array
from ..values.errors import make_error
from ..values.limits import check_items, check_string_size, join, utf8_size
from ..values.metering import LARGE, STRIDE, look, paced, spend
from ..values.objects import NONE, Err, Ok, RegexMatch, Some
from .registry import std, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..regex.matcher import Regex


EVERY = 256  # matches between two looks


class _NoReplacement(Exception):
    """A replacement that names a group that the pattern does not have; its text says which and where."""


def _failed(pattern: str, message: str) -> Err:
    return Err(make_error("RegexError", None, {"message": message, "pattern": pattern}))


def _with_pattern(pattern: Any, s: Any, action: Callable[[Regex], Any]) -> Ok | Err:
    """Return the result of `action` for the pattern, as a Result."""
    text(pattern)
    if len(text(s)) >= LARGE:
        spend(len(s))
    if not _engine:
        from ..regex.matcher import BudgetSpent, compile_pattern
        from ..regex.syntax import PatternError

        _engine.extend([compile_pattern, PatternError, BudgetSpent])
    compiled, no_pattern, spent = _engine
    try:
        return Ok(action(compiled(pattern)))
    except no_pattern as error:
        return _failed(pattern, f"{error.reason} at offset {error.at} of the pattern")
    except _NoReplacement as error:
        return _failed(pattern, str(error))
    except spent:
        return _failed(pattern, "the pattern takes too many steps on this text")


_engine: list[Any] = []  # what `_with_pattern` needs of `vm/regex/`, once it is loaded


def _groups(spans: list[int], s: str) -> list[Any]:
    """Return the whole match and the groups, None for those that took no part. `spans`: start and end of the match, then of each
    group, -1 for one that took no part."""
    places = iter(spans)
    return [NONE if start < 0 or end < 0 else Some(s[start:end]) for start, end in zip(places, places, strict=True)]


def _match(spans: list[int], s: str) -> Any:
    return RegexMatch.of((s[spans[0] : spans[1]], spans[0], spans[1], Array(_groups(spans, s)[1:])))


@std("regex", "is_match(pattern: String, s: String) -> Result<Bool, RegexError>", clause="L-7.10.1", linear=True)
def is_match(pattern: Any, s: Any) -> Ok | Err:
    """Whether the pattern matches somewhere in the text."""
    return _with_pattern(pattern, s, lambda regex: regex.is_match(s))


@std("regex", "find(pattern: String, s: String) -> Result<Option<RegexMatch>, RegexError>", clause="L-7.10.2", linear=True)
def find(pattern: Any, s: Any) -> Ok | Err:
    """The first match."""

    def action(regex: Regex) -> Any:
        spans = regex.find(s)
        return NONE if spans is None else Some(_match(spans, s))

    return _with_pattern(pattern, s, action)


@std("regex", "find_all(pattern: String, s: String) -> Result<Array<RegexMatch>, RegexError>", clause="L-7.10.2", linear=True)
def find_all(pattern: Any, s: Any) -> Ok | Err:
    """All matches from left to right, not overlapping."""

    def action(regex: Regex) -> Array:
        matches = []
        for spans in paced(regex.find_all(s), EVERY):
            matches.append(_match(spans, s))
            check_items(len(matches))
        return Array(matches)

    return _with_pattern(pattern, s, action)


@std(
    "regex", "captures(pattern: String, s: String) -> Result<Option<Array<Option<String>>>, RegexError>", clause="L-7.10.3",
    linear=True,
)  # fmt: skip
def captures(pattern: Any, s: Any) -> Ok | Err:
    """The whole first match, then its groups, None for those that took no part."""

    def action(regex: Regex) -> Any:
        texts = regex.texts(s)
        return NONE if texts is None else Some(Array([NONE if part is None else Some(part) for part in texts]))

    return _with_pattern(pattern, s, action)


@std("regex", "replace(pattern: String, s: String, with: String) -> Result<String, RegexError>", clause="L-7.10.4", linear=True)
def replace(pattern: Any, s: Any, replacement: Any) -> Ok | Err:
    """All matches replaced; `$1`, `$<name>` and `$$` in the replacement are a group, a named group and a dollar sign."""
    text(replacement)
    return _with_pattern(pattern, s, lambda regex: _replaced(regex, s, _pieces(replacement, regex)))


def _replaced(regex: Regex, s: str, pieces: list[Any]) -> str:
    texts: list[str] = []  # of many parts each
    parts: list[str] = []
    copied = size = 0
    every = pieces if len(pieces) < LARGE else None
    for spans in paced(regex.find_all(s), EVERY):
        parts.append(s[copied : spans[0]])
        for piece in every or paced(pieces):
            if type(piece) is int:
                piece = s[spans[2 * piece] : spans[2 * piece + 1]] if spans[2 * piece + 1] >= 0 else ""
            parts.append(piece)
            size += utf8_size(piece)
            if every is None:
                check_string_size(size)
        check_string_size(size)
        copied = spans[1]
        if len(parts) >= LARGE:
            texts.append("".join(parts))
            parts.clear()
    return join("", [*texts, *parts, s[copied:]])


def _pieces(replacement: str, regex: Regex) -> list[Any]:
    """Return a replacement as its texts and the numbers of its groups; a `$` before anything else is itself. Raises
    _NoReplacement."""
    pieces: list[Any] = []
    longest = max(64, *map(len, regex.names), 0) + 4  # of a reference; a far `>` must not cost a look for each `$`
    at = 0
    while True:
        if len(pieces) % STRIDE == 0:
            look()
        dollar = replacement.find("$", at)
        if dollar < 0:
            return [*pieces, replacement[at:]]
        piece, length = _reference(replacement[dollar + 1 : dollar + longest], regex, dollar)
        pieces += (replacement[at:dollar], piece)
        at = dollar + 1 + length


def _reference(rest: str, regex: Regex, at: int) -> tuple[Any, int]:
    """Return what a `$` at an offset of the replacement stands for by what follows it, and how many characters belong to it.
    Raises _NoReplacement."""
    digits = len(rest) - len(rest.lstrip("0123456789"))
    if digits:
        number = int(rest[: min(digits, 9)])
        if number > regex.groups:
            reason = f"no group {rest[:digits]} for `${rest[:digits]}`: {regex.groups} groups"
            raise _NoReplacement(f"{reason} at offset {at} of the replacement")
        return number, digits
    name, closing, _ = rest[1:].partition(">")
    if rest[:1] == "<" and closing:
        if name not in regex.names:
            raise _NoReplacement(f"no group `{name}` for `$<{name}>` at offset {at} of the replacement")
        return regex.names[name], len(name) + 2
    return "$", int(rest[:1] == "$")
