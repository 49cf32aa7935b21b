"""Texts that may leave or enter: the redactor before every sink (G-10.3), and the cleaning of texts from outside (O-0.6, G-9.1).

A sink is what a text leaves by: stderr, log, emit, snapshot, store and their like. Hands on `Redactor`, which replaces the exact
values of all secrets that the session has met, to the host, the session, connections, the providers and the command line;
`without_secrets` for whole values to the session and the command line; `is_secret_name` to the variables and headers that may
hold one; and to all that takes texts from outside `clean_text`, `clean_json` and, where tag characters may stay, `whole_text`.
Which values are secrets is for those who add them to a Redactor, and nothing is written to a sink here. A further word by which
the name of a variable tells of a secret is one of SECRET_WORDS.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Array, EnumValue, Err, ErrorValue, Map, Ok, Queue, Set, Some, Stack, Struct, elements
from ...vm.values.containers import PLAIN
from ...vm.values.metering import LARGE, look
from ...vm.values.structural import make_set
from ...vm.values.text import CUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Shorter keys, such as `k` for a local server, are no secrets, and replacing them would garble every text.
SHORTEST_SECRET = 4  # code points


# A variable whose name has one of these words between its underscores holds a secret (G-10.5).
SECRET_WORDS = frozenset(("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"))


def is_secret_name(name: str) -> bool:
    """Return whether the value of a variable of this name is a secret (G-10.5); of a header, if its name is given with `_` in
    place of each `-`."""
    return not SECRET_WORDS.isdisjoint(name.upper().split("_"))


class Redactor:
    """Replaces each known value by `<secret NAME>`. The longest one comes first, so that of a value that contains another one no
    part is left. Where a text was cut (CUT), what is left of a value before or behind it is replaced too, if it has at least
    SHORTEST_SECRET code points.

    `known` has the values, longest first; it stays the same list, so that others may hold it."""

    __slots__ = ("_names", "known")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.known: list[str] = []

    def add(self, value: str, name: str) -> None:
        """Hide a value, under a name, in every text that is cleaned afterwards; one that is hidden already keeps its first name.
        A value of fewer than SHORTEST_SECRET code points is not hidden."""
        if len(value) >= SHORTEST_SECRET and value not in self._names:
            self._names[value] = name
            self.known[:] = sorted(self._names, key=len, reverse=True)

    @property
    def is_empty(self) -> bool:
        """Return whether no value is hidden."""
        return not self.known

    def clean(self, text: str) -> str:
        """Return a text with `<secret NAME>` in place of each known value, and of what a cut has left of one."""
        for value in self.known:
            if value in text:
                text = text.replace(value, f"<secret {self._names[value]}>")
        if CUT in text:
            for value in self.known:
                name = f"<secret {self._names[value]}>"
                text = _without_beginnings(text, value, name)
                text = _without_beginnings(text[::-1], value[::-1], name[::-1])[::-1]
        return text

    def parts_of(self, text: str, form: Callable[[str], str] = str) -> list[str]:
        """Return a text as an odd number of parts: text, name of a known value, text, name, …, text; joined with the values in
        place of their names they are the text again. `form` returns how a value is written in the text, such as with escapes."""
        parts = [text]
        for value in self.known:
            if form(value) in text:
                parts = [piece for at, part in enumerate(parts) for piece in self._pieces(part, value, form, at % 2 == 1)]
        return parts

    def _pieces(self, part: str, value: str, form: Callable[[str], str], is_name: bool) -> list[str]:
        if is_name:
            return [part]
        texts = part.split(form(value))
        return [piece for each in texts for piece in (self._names[value], each)][1:]

    def value(self, name: str) -> str | None:
        """Return the value that is hidden under a name, None if there is none; of more than one (a variable with and without the
        white space around it) the first."""
        return next((value for value, other in self._names.items() if other == name), None)

    def __repr__(self) -> str:
        return f"Redactor({sorted(self._names.values())})"


def _without_beginnings(text: str, value: str, name: str) -> str:
    """Return a text with `name` in place of each beginning of a value, of at least SHORTEST_SECRET code points, before CUT."""
    pieces: list[str] = []
    copied, at = 0, text.find(value[:SHORTEST_SECRET])
    while at >= 0:
        length = SHORTEST_SECRET
        while text[at + length : at + length + 1] == value[length : length + 1] != "":
            length += 1
        if text[at + length : at + length + 1] == CUT:
            pieces += [text[copied:at], name]
            copied = at + length
        at = text.find(value[:SHORTEST_SECRET], max(at + 1, copied))
    return "".join([*pieces, text[copied:]])


BLACK_FLAG = "\U0001f3f4"
TAG_FIRST, TAG_LAST = "\U000e0000", "\U000e007f"


def whole_text(text: str) -> str:
    """Return a text as UTF-8 can carry it: lone surrogates become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Surrogates that form a pair are one character; only the lone ones are replaced.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_text(text: str) -> str:
    """Return a text from outside as a program may have it: lone surrogates become U+FFFD, and tag characters, which are
    invisible, are removed except in an emoji flag (O-0.6, G-9.1)."""
    if text.isascii():
        return text
    text = whole_text(text)
    if any(TAG_FIRST <= c <= TAG_LAST for c in text):
        return _without_tags(text)
    return text


def clean_json(value: Any) -> Any:
    """Return a JSON value with `clean_text` done to every string, keys included; of two keys that become one the later value
    stays. The value itself is not changed. RecursionError for one that nests too deeply."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    return value


def _without_tags(text: str) -> str:
    """Return the text without tag characters, but for those that follow a black flag: they are a regional flag (Unicode TR51)."""
    characters: list[str] = []
    in_flag = False
    for c in text:
        is_tag = TAG_FIRST <= c <= TAG_LAST
        in_flag = c == BLACK_FLAG or (in_flag and is_tag)
        if in_flag or not is_tag:
            characters.append(c)
    return "".join(characters)


def without_secrets(value: Any, redactor: Redactor) -> Any:
    """Return a value of the machine without secrets in its texts, keys included (G-10.3); the value itself is not
    changed. Panic P103 when it is nested too deeply; what ends the run meanwhile (`metering.look`) passes through."""
    try:
        return _Cleaner(redactor).cleaned(value)
    except RecursionError:
        raise Panic("P103", "value nested too deeply") from None


class _Cleaner:
    """One walk through a value. A part that stands in it many times is cleaned once; `results` has them by identity."""

    __slots__ = ("redactor", "results")

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.results: dict[int, Any] = {}

    def cleaned(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.redactor.clean(value)
        if kind in PLAIN:
            return value
        result = self.results.get(id(value))
        if result is None:
            if len(self.results) % LARGE == 0:
                look()
            result = self.results[id(value)] = self.whole(value, kind)
        return result

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
