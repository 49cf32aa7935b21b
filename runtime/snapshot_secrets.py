"""Secrets in the values of a snapshot: they stand there by name, and come back to who is granted the variable (G-10.3, G-10.5).

Hands on `SnapshotSecrets`. Must not know: what the values are of.
"""

from __future__ import annotations

from .guard import permissions_of
from .outside_text import whole_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .running import Running


class SnapshotSecrets:
    """What a session knows of secrets, for who writes or reads its values."""

    def __init__(self, run: Running) -> None:
        self.run = run

    def clean(self, text: str) -> str:
        return self.run.redactor.clean(text)

    def split(self, text: str, form: Callable[[str], str] = str) -> list[str]:
        """The text without secrets and, between its parts, their names; `form`: how one stands in it."""
        return self.run.redactor.split(text, form)

    def value(self, name: str) -> str:
        """The secret of that name, if the program is granted its variable, else what a sink shows."""
        given = self.run.host.env.get(name)
        if given is None or not permissions_of(self.run).allows_variable(name):
            return f"<secret {name}>"
        value = self.run.redactor.value(name) or whole_text(given)
        self.run.redactor.add(value, name)
        return value
