"""The filter with the exact values of all resolved secrets that stands before every sink (G-10.3).

Hands on: text without them, and which environment variables hold one. Must not know: where the values came from or where the
text goes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
