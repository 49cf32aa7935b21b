"""One value of the machine as plain data that JSON can carry, and back: what effect files and run stores hold (G-14.1).

Hands on `value_form` and `value_of` to the runtime's journal. The form is that of snapshots, rows addressed by number
(`writer.py`, `reader.py`), without their head: whoever keeps a form knows of which image it is. A scalar or short String is its
own form.
"""

from __future__ import annotations

from math import isfinite

from .envelope import misshapen
from .reader import WRONG, Reader
from .writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..interp.link import Program
    from ..values import MemoryRef
    from .envelope import Secrets


FLOAT = "$float"  # key of a number that JSON has no form for; rows hold no other objects
_WHAT = "value"


def value_form(program: Program, value: Any, secrets: Secrets) -> Any:
    """Return the form of a value, in which names stand for secrets (G-10.3). Raises SnapshotError V008 for a value that no
    snapshot can hold."""
    w = Writer(program, secrets, _unknown_head)
    form = w.put(value)
    rows, cells, tasks, root = w.body(form)
    return _to_json(root) if not rows and not cells and not tasks else {"rows": _to_json([rows, cells, tasks, root])}


def value_of(program: Program, form: Any, secrets: Secrets) -> Any:
    """Return the value of a form, of which nothing is known. Raises SnapshotError V008 where it is none."""
    body = form["rows"] if isinstance(form, dict) and form.keys() == {"rows"} else [[], [], [], form]
    try:
        return _ValueReader(program, _from_json(body), secrets).value_at_root()
    except WRONG:
        raise misshapen("a value that none is") from None


class _ValueReader(Reader):
    def __init__(self, program: Program, body: Any, secrets: Secrets) -> None:
        self.take(program, body, _WHAT, secrets)

    def value_at_root(self) -> Any:
        return self.value(self.roots)


def _unknown_head(ref: MemoryRef) -> tuple[str | None, int]:
    return None, 0


def _to_json(part: Any) -> Any:
    """Return plain data with numbers that JSON lacks as objects."""
    kind = type(part)
    if kind is list:
        return [_to_json(item) for item in part]
    return {FLOAT: repr(part)} if kind is float and not isfinite(part) else part


def _from_json(part: Any) -> Any:
    """Return what `_to_json` was given; ValueError or KeyError for what it does not make."""
    kind = type(part)
    if kind is list:
        return [_from_json(item) for item in part]
    if kind is dict:
        (text,) = part.values()
        return {FLOAT: float}[next(iter(part))](text)
    return part
