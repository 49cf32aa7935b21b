"""Tolerant extraction: the JSON object in a reply text (O-2.40), in time linear in the text.

Candidates in order: the whole text, each fenced code block, each outermost brace pair; then the same without commas
before `}` or `]`; last the brace pairs inside others. An inner object thus never stands in for the repaired object
around it. Hands on the parsed object. Must not know: schemas, violations, calls.

`re` is loaded with the first reply that is not plain JSON.
"""

from __future__ import annotations

from .brace_pairs import BracePairs
from .json_text import BYTE_ORDER_MARK, MAX_DEPTH, WHITE_SPACE, JsonRefused, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Pattern
    from typing import Any

SPACE = WHITE_SPACE + BYTE_ORDER_MARK

_FENCE = r"^[ \t]*(`{3,}|~{3,})[^\n]*(?:\n|\Z)"
# Everything up to a comma that has only white space before the next closing bracket, or to the end; and such a comma. Commas in
# strings mean nothing; a string without end goes to the end.
_UP_TO_TRAILING_COMMA = r'((?:[^",]++|"(?:[^"\\]++|\\.?)*+(?:"|\Z)|,(?![ \t\r\n]*+[}\]]))++),?|,'

_patterns: tuple[Pattern[str], Pattern[str]] | None = None


class Extracted:
    """`value` is the object; `repaired` whether it took more than reading the whole text."""

    __slots__ = ("value", "repaired")

    def __init__(self, value: dict[str, Any], repaired: bool) -> None:
        self.value = value
        self.repaired = repaired


def extract(text: str) -> Extracted:
    """The first candidate that parses to an object; JsonRefused with the most telling reason otherwise."""
    whole = text.strip(SPACE)
    try:
        return Extracted(_parse_object(whole), repaired=False)
    except JsonRefused as refused:
        reason = refused
    value = _search(whole)
    if value is not None:
        return Extracted(value, repaired=True)
    if not whole:
        raise JsonRefused("the text is empty")
    raise reason if whole[0] in "{[" else JsonRefused("no JSON object in the text")


def _search(whole: str) -> dict[str, Any] | None:
    pairs = BracePairs(whole)
    candidates = _objects_only([*_fenced_blocks(whole), *pairs.outermost()])
    found = _first_object(candidates)
    if found is None:
        repaired = (without_trailing_commas(text) for text in _objects_only([whole, *candidates]))
        found = _first_object(repaired)
    if found is None:
        nested = pairs.nested(MAX_DEPTH)
        found = _first_object(text for inner in nested for text in (inner, without_trailing_commas(inner)))
    return found


def _parse_object(text: str) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise JsonRefused("the value is not an object")
    return value


def _objects_only(texts: Iterable[str]) -> list[str]:
    """Trimmed, each once, without those that cannot be an object."""
    trimmed = (text.strip(SPACE) for text in texts)
    return list(dict.fromkeys(text for text in trimmed if text.startswith("{")))


def _first_object(candidates: Iterable[str]) -> dict[str, Any] | None:
    for candidate in candidates:
        try:
            return _parse_object(candidate)
        except JsonRefused:
            continue
    return None


def _fenced_blocks(text: str) -> list[str]:
    """What stands between a fence and the next line of the same fence, or the end of the text."""
    if "```" not in text and "~~~" not in text:
        return []
    blocks: list[str] = []
    opening: tuple[int, str] | None = None
    for line in _compiled()[0].finditer(text):
        if opening is None:
            opening = line.end(), line.group(1)
        elif line.group(1).startswith(opening[1]):
            blocks.append(text[opening[0] : line.start()])
            opening = None
    if opening is not None:
        blocks.append(text[opening[0] :])
    return blocks


def without_trailing_commas(text: str) -> str:
    """Step 4."""
    return "".join(_compiled()[1].findall(text))


def _compiled() -> tuple[Pattern[str], Pattern[str]]:
    global _patterns
    if _patterns is None:
        import re

        fence = re.compile(_FENCE, re.MULTILINE)
        _patterns = (fence, re.compile(_UP_TO_TRAILING_COMMA, re.DOTALL))
    return _patterns
