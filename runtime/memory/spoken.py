"""What was said, for recall (M-10.40): the messages of a log as items beside facts, with their words ready to be looked through.

Hands on `spoken`. A log that was not changed is looked through as it was; of one that was, only what differs is read for words
again. Must not know: how items are ranked, facts.
"""

from __future__ import annotations

from .fact_index import FactIndex
from .facts import MESSAGE, Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .entries import Entry
    from .reading import MemoryReader

MOST = 10_000
"""The newest messages of a log that recall looks at."""
ROLES = ("user", "assistant", "tool")
"""A system message says what to do; it is no part of what was said."""


def spoken(memory: MemoryReader) -> FactIndex:
    """Of the newest messages of its log."""
    held = memory.session.spoken.get(memory.key)
    version = memory.version()
    if held is None or held.stamp != version:
        if held is None:
            held = memory.session.spoken[memory.key] = FactIndex()
        held.reconcile(items_of(memory.newest(MOST)), version)
    return held


def items_of(entries: Iterable[Entry]) -> list[Fact]:
    return [_item(entry) for entry in entries if entry.message.role in ROLES and entry.message.content.strip()]


def _item(entry: Entry) -> Fact:
    origin = "program" if entry.origin == "host" else entry.origin
    return Fact(
        entry.seq, MESSAGE, entry.message.role, entry.message.content, created=entry.at, accessed=entry.at, refreshed=entry.at,
        trust=origin, origin=origin, by=entry.by, run=entry.run, seqs=[entry.seq],
    )  # fmt: skip
