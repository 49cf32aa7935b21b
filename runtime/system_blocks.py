"""What joins the system prompt of one call: entries of a ledger that its prompt touches, and the context it was given (O-1.76 to
O-1.78).

Hands on the two blocks. Must not know: calls, models.
"""

from __future__ import annotations

from ..vm.stores import words
from ..vm.values import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.stores import Ledger

MOST_ENTRIES = 20


def knowledge_block(ledger: Ledger, prompt: str) -> str | None:
    """One line per entry of which a key or a word of the identifier is a word of the prompt, the first ones only (O-1.77)."""
    asked = words(prompt)
    lines = [
        f"- {_line(identifier)}: {_line(value)}"
        for identifier, (keys, value) in ledger.entries.items()
        if not asked.isdisjoint(key.lower() for key in keys) or not asked.isdisjoint(words(identifier))
    ]
    return "\n".join(["Knowledge:", *lines[:MOST_ENTRIES]]) if lines else None


def _line(text: str) -> str:
    """An entry is one line, whatever line ends it holds."""
    return " ".join(text.splitlines())


def context_block(value: Any) -> str:
    return f"Context:\n{to_json(value)}"
