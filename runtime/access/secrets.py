"""The filter with the exact values of all resolved secrets that stands before every sink (G-10.3).

Hands on: text without them, and which environment variables hold one.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Array, EnumValue, Err, ErrorValue, Map, Ok, Queue, Set, Some, Stack, Struct, elements
from ...vm.values.containers import PLAIN
from ...vm.values.metering import LARGE, look
from ...vm.values.structural import make_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Shorter stand-ins for local servers, such as `k`, are no secrets, and replacing them would garble every text.
SHORTEST_SECRET = 4


# A variable whose name has one of these words between its underscores holds a secret (G-10.5).
SECRET_WORDS = frozenset(("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"))


def is_secret_name(name: str) -> bool:
    return not SECRET_WORDS.isdisjoint(name.upper().split("_"))


class Redactor:
    """Replaces each known value by `<secret NAME>`, longest value first so that none is left in part. `known`: the values, one
    list as long as it lives."""

    __slots__ = ("_names", "known")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.known: list[str] = []

    def add(self, value: str, name: str) -> None:
        if len(value) >= SHORTEST_SECRET and value not in self._names:
            self._names[value] = name
            self.known[:] = sorted(self._names, key=len, reverse=True)

    @property
    def is_empty(self) -> bool:
        return not self.known

    def clean(self, text: str) -> str:
        for value in self.known:
            if value in text:
                text = text.replace(value, f"<secret {self._names[value]}>")
        return text

    def split(self, text: str, form: Callable[[str], str] = str) -> list[str]:
        """The text around the known values, with their names between: text, name, text, … `form`: how a value stands in it."""
        parts = [text]
        for value in self.known:
            if form(value) in text:
                parts = [piece for at, part in enumerate(parts) for piece in self._pieces(part, value, form, at % 2 == 1)]
        return parts

    def _pieces(self, part: str, value: str, form: Callable[[str], str], is_name: bool) -> list[str]:
        if is_name:
            return [part]
        found = part.split(form(value))
        return [piece for each in found for piece in (self._names[value], each)][1:]

    def value(self, name: str) -> str | None:
        """What is known by a name."""
        return next((value for value, known in self._names.items() if known == name), None)

    def __repr__(self) -> str:
        return f"Redactor({sorted(self._names.values())})"


# Cleaning of text from outside, once, where it enters (O-0.6, G-9.1).

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


# Values on their way to a sink, without the secrets in their texts (G-10.3).


def without_secrets(value: Any, redactor: Redactor) -> Any:
    try:
        return _Cleaner(redactor).cleaned(value)
    except RecursionError:
        raise Panic("P103", "value nested too deeply") from None


class _Cleaner:
    """One walk; what a value holds many times is cleaned once."""

    __slots__ = ("redactor", "known")

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.known: dict[int, Any] = {}

    def cleaned(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.redactor.clean(value)
        if kind in PLAIN:
            return value
        found = self.known.get(id(value))
        if found is None:
            if len(self.known) % LARGE == 0:
                look()
            found = self.known[id(value)] = self.whole(value, kind)
        return found

    def whole(self, value: Any, kind: Any) -> Any:
        clean = self.cleaned
        if kind is Array:
            return Array([clean(item) for item in value.items])
        if kind is tuple:
            return tuple([clean(item) for item in value])
        if kind is Map:
            return Map({clean(key): clean(item) for key, item in value.items.items()})
        if kind is Set:
            return make_set(clean(item) for item in elements(value))
        if kind is Queue or kind is Stack:
            return kind(type(value.items)(clean(item) for item in value.items))
        if isinstance(value, Struct):
            return value.of([clean(part) for part in value.values()])
        if kind in (Some, Ok, Err):
            return kind(clean(value.value))
        if kind is EnumValue and value.payload is not None:
            return EnumValue(value.decl, value.variant, clean(value.payload))
        if kind is ErrorValue:
            fields = {name: clean(part) for name, part in value.fields.items()}
            return ErrorValue(value.family, value.variant, self.redactor.clean(value.message), fields)
        return value
