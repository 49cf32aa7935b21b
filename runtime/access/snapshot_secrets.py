"""Secrets in values that are written to bytes: names stand for them, and only a granted program has them back (G-10.3, G-10.5).

Hands on `SnapshotSecrets` to the states and snapshots of a session (`session/state.py`) and to the journal
(`journal/border.py`, `journal/forms.py`, `journal/stores.py`), which hand it to the writer and the reader of values
(`vm/snapshot/`).
"""

from __future__ import annotations

from .permissions import permissions_of
from .secrets import whole_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..running import EffectContext


class SnapshotSecrets:
    """The secrets of a session, for the writer and the reader of its values. A secret stands in the bytes by its name, and
    comes back only to a program that is granted the variable (G-10.3, G-10.5)."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        return self.run.redactor.clean(text)

    def parts_of(self, text: str, form: Callable[[str], str] = str) -> list[str]:
        """Return a text in parts: text, name of a secret, text, … `form` gives how a secret is written in it."""
        return self.run.redactor.parts_of(text, form)

    def value(self, name: str) -> str:
        """Return the secret of a name and add it to the redactor, if the variable of that name is set and granted to the program;
        else return `<secret NAME>`, as a log would show it."""
        variable = self.run.host.env.get(name)
        if variable is None or not permissions_of(self.run).allows_variable(name):
            return f"<secret {name}>"
        value = self.run.redactor.value(name) or whole_text(variable)
        self.run.redactor.add(value, name)
        return value
