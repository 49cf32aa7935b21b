"""What an operation of a journal is known by and how its outcome is written: its key within the effect that the code runs for,
the forms of its outcome, and what is left out of its row (G-13.3, G-14.4).

Hands on `Scope`, `Within` and SCOPE, which tell for which effect code runs, `Form` with AS_IT_IS, `redacted` and
`redacted_piece` to the journal; SCOPE, `Scope` and `Form` to the border, `Scope` and `Form` to `peers.py`, `Scope` to
`stores.py`. Which operations there are is for `border.py`.
"""

from __future__ import annotations

from contextvars import ContextVar

from .forms import HIDDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .rows import EffectRow


class Scope:
    """The effect that the code runs for, by its key; `counts` numbers the operations within it by what they are about, so that
    their keys do not hang on the order in which operations side by side come to their turn (G-13.3). `retries_at_once`: the next
    wait is none, since it follows a fault that no recording has."""

    __slots__ = ("key", "counts", "retries_at_once")

    def __init__(self, key: str) -> None:
        self.key = key
        self.retries_at_once = False
        self.counts: dict[str, int] = {}

    def next_key(self, about: str) -> str:
        """Return the key of the next operation that is about a model, server, tool or the like of this name; "" for none."""
        count = self.counts[about] = self.counts.get(about, 0) + 1
        return f"{self.key}/{about}.{count}" if about else f"{self.key}/{count}"


SCOPE: ContextVar[Scope | None] = ContextVar("SCOPE", default=None)


class Within(Scope):
    """Of code that runs within an operation: what it does is a part of the operation. `emits` are those of the runtime that it
    has made, as (channel, payload)."""

    __slots__ = ("emits",)

    def __init__(self) -> None:
        super().__init__("")
        self.emits: list[tuple[str, Any]] = []


class Form:
    """How the outcome of one kind of operation is written: `lower` gives its plain form, `read` the outcome of a form. `details`
    gives fields of the row beside the result, such as `tokens`; `given` is called when the outcome is one of a recording;
    `check` raises where the form of an outcome that the host gives is none."""

    __slots__ = ("lower", "read", "details", "given", "check")

    def __init__(
        self,
        lower: Callable[[Any], Any],
        read: Callable[[Any], Any],
        details: Callable[[Any], dict[str, Any]] = lambda value: {},
        given: Callable[[], object] = lambda: None,
        check: Callable[[Any], object] = lambda form: None,
    ) -> None:
        self.lower = lower
        self.read = read
        self.details = details
        self.given = given
        self.check = check


AS_IT_IS = Form(lambda value: value, lambda form: form)
REDACTED = "<redacted>"


def redacted(row: EffectRow, path: Sequence[str]) -> None:
    """Put REDACTED in place of what stands at a path of a row: `request` or `result`, then names of fields of objects, numbers of
    items from 0, `*` for each. A path of another field, or of what is not there, changes nothing, and None stays. The digest is
    that of the request as it was sent."""
    field, *inner = path
    if field == "request":
        row.request = _without(row.request, inner)
    elif field == "result" and isinstance(row.result, dict) and HIDDEN in row.result and inner:  # it has secrets
        row.result = {HIDDEN: _without(row.result[HIDDEN], inner, has_secrets=True)}
    elif field == "result":
        row.result = _without(row.result, inner)


def redacted_piece(text: str, path: Sequence[str]) -> str:
    """Return a piece of the text of a result, REDACTED in its place where the path of a row leaves that text out."""
    field, *inner = path
    whole = {"text": text}
    return REDACTED if field == "result" and _without(whole, inner) != whole else text


def _without(plain: Any, path: Sequence[str], *, has_secrets: bool = False) -> Any:
    if not path:
        return plain if plain is None else REDACTED
    at, *inner = path
    if isinstance(plain, list):
        return [
            _without(value, inner, has_secrets=has_secrets) if at in ("*", str(number)) else value
            for number, value in enumerate(plain)
        ]
    # With secrets an object of that field alone is a text with some, which has no parts, or an object with a field of that name.
    is_wrapped = has_secrets and isinstance(plain, dict) and HIDDEN in plain
    fields = plain[HIDDEN] if is_wrapped else plain
    if not isinstance(fields, dict):
        return plain
    without = {
        name: _without(value, inner, has_secrets=has_secrets) if at in ("*", name) else value for name, value in fields.items()
    }
    return {HIDDEN: without} if is_wrapped else without
