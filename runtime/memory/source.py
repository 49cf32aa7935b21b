"""A log in a store as a snapshot to read from (M-8.7): entries are fetched in pieces, newest first, as far as a view asks.

Hands on sources for views. Must not know: policies, what a view shows.
"""

from __future__ import annotations

from itertools import islice

from .errors import WAY_OUT, MemoryFailure, corrupt
from .keys import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from .entries import Entry
    from .keys import Key
    from .stores.protocol import Head, Store

    class Source(Protocol):
        """A snapshot of a log."""

        length: int

        def pins(self) -> list[Entry]:
            """All pinned entries in log order."""

        def back(self) -> Iterator[Entry]:
            """Unpinned entries, newest first."""

        def newest(self, limit: int) -> list[Entry]:
            """The newest unpinned entries in log order."""


FIRST_PIECE = 64
LARGEST_PIECE = 4096


class StoredLog:
    """The entries of a key below `head.next`; an expired key is empty whatever the store still holds. Corrupt when the row of the
    log counts others than there are, or a unit is torn (G-12.10)."""

    __slots__ = ("store", "key", "head", "length", "_pins")

    def __init__(self, store: Store, key: Key, head: Head) -> None:
        self.store = store
        self.key = key
        self.head = head
        self.length = head.length
        self._pins: list[Entry] | None = None

    def pins(self) -> list[Entry]:
        if self._pins is None:
            self._pins = self.store.entries(self.key, before=self.head.next, pinned=True) if self.length else []
        return self._pins

    def back(self) -> Iterator[Entry]:
        before, size, count = self.head.next, FIRST_PIECE, 0
        oldest: Entry | None = None
        while self.length:
            piece = self.store.entries(self.key, before=before, limit=size, newest=True, pinned=False)
            self._check_units(piece if oldest is None else [*piece, oldest])
            yield from reversed(piece)
            count += len(piece)
            oldest = piece[0] if piece else oldest
            if len(piece) < size:
                if oldest is not None and oldest.message.role == "tool":
                    raise self._torn(oldest)
                return self.check(count + len(self.pins()))
            before, size = piece[0].seq, min(2 * size, LARGEST_PIECE)

    def newest(self, limit: int) -> list[Entry]:
        if not self.length or not limit:
            return []
        found = self.store.entries(self.key, before=self.head.next, limit=limit, newest=True, pinned=False)
        self._check_units(found)
        return found

    def forward(self, pinned: bool | None = None, after: int = -1) -> Iterator[Entry]:
        """Oldest first."""
        size, count, whole = FIRST_PIECE, 0, after < 0
        while self.length:
            piece = self.store.entries(self.key, after=after, before=self.head.next, limit=size, pinned=pinned)
            if whole and not count and piece and piece[0].message.role == "tool":
                raise self._torn(piece[0])
            if pinned is None or not pinned:
                self._check_units(piece)
            yield from piece
            count += len(piece)
            if len(piece) < size:
                if whole and pinned is not True:
                    self.check(count if pinned is None else count + len(self.pins()))
                return
            after, size = piece[-1].seq, min(2 * size, LARGEST_PIECE)


    def check(self, count: int) -> None:
        """Of all entries, or Corrupt."""
        if count != self.length:
            raise corrupt(f"the log {shown(self.key)} counts {self.length} entries, and {count} are there; {WAY_OUT}")

    def _check_units(self, entries: Sequence[Entry]) -> None:
        """A tool result stands behind its call, or another result of the unit; what comes before the first is not known here."""
        calls: tuple[str, ...] | None = None
        for entry in entries:
            message = entry.message
            if message.role != "tool":
                calls = tuple([call.id for call in message.calls]) if message.calls else ()
            elif calls is not None and message.call_id not in calls:
                raise self._torn(entry)

    def _torn(self, entry: Entry) -> MemoryFailure:
        return corrupt(f"in the log {shown(self.key)} entry {entry.seq} is a tool result without its call; {WAY_OUT}")


class Changed:
    """The log as it will be after a commit: `new` behind what is stored, without the entries of `gone`."""

    __slots__ = ("stored", "new", "gone", "length")

    def __init__(self, stored: StoredLog, new: Sequence[Entry], gone: Sequence[Entry]) -> None:
        self.stored = stored
        self.new = new
        self.gone = {entry.seq for entry in gone}
        self.length = stored.length + len(new) - len(gone)

    def pins(self) -> list[Entry]:
        old = [entry for entry in self.stored.pins() if entry.seq not in self.gone]
        return [*old, *(entry for entry in self.new if entry.pinned)]

    def back(self) -> Iterator[Entry]:
        yield from (entry for entry in reversed(self.new) if not entry.pinned)
        yield from (entry for entry in self.stored.back() if entry.seq not in self.gone)

    def newest(self, limit: int) -> list[Entry]:
        found = list(islice(self.back(), limit))
        found.reverse()
        return found
