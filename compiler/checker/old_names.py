"""Names that stored things had before: `@was("old")` of slots and fields, `.was("old")` of memories (M-7.8, M-8.23, M-8.24).

Hands on `old_name`, `check_old_names` and `check_stored_names`. Must not know: how what is stored is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..source import Span
from ..symbols import MemorySymbol
from .context import Checker
from .decorators import Checked


def old_name(checked: Checked) -> str | None:
    """What `@was` says among the decorators of a slot or field."""
    found = dict(checked).get("was", {}).get("name")
    return found if isinstance(found, str) else None


def check_old_names(c: Checker, what: str, owner: str, named: Sequence[tuple[ast.Ident, str | None]]) -> None:
    """E4517: the slots or fields of one owner, each with its name before."""
    present = {name.text: name.span for name, _ in named}
    claimed: dict[str, Span] = {}
    for name, was in named:
        if was is None:
            continue
        if was in present:
            message = f"`{was}` is a {what} of `{owner}`: what is stored under that name is its own"
            c.report("E4517", name.span, message, first=present[was], help=f"remove `@was` of `{name.text}`, or that {what}")
        elif was in claimed:
            message = f"two {what}s of `{owner}` claim what is stored as `{was}`"
            c.report("E4517", name.span, message, first=claimed[was], help="remove one `@was`")
        claimed.setdefault(was, name.span)


def check_stored_names(c: Checker, memories: Sequence[MemorySymbol]) -> None:
    """E4516: what is stored under one name belongs to one memory."""
    own = {symbol.name: symbol for symbol in memories if symbol.of is None and symbol.stored_as is None}
    claimed: dict[str, MemorySymbol] = {}
    for symbol in memories:
        was = symbol.stored_as
        if was is None:
            continue
        other = own.get(was) or claimed.get(was)
        at = symbol.declaration.name.span
        if was == symbol.name:
            c.report("E4516", at, f"`{was}` is the name of this memory now", help="name the one before, or drop `was`")
        elif other is not None:
            message = f"the memories `{other.name}` and `{symbol.name}` claim what is stored as `{was}`"
            c.report("E4516", at, message, first=other.declaration.name.span, help="drop one `was`, or rename the other memory")
        claimed.setdefault(was, symbol)
