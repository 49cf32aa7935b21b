"""A log in a store as a snapshot to read from (M-8.7): entries are fetched in pieces, newest first, as far as a view asks.

Hands on sources for views. Must not know: policies, what a view shows.
"""

from __future__ import annotations

from itertools import islice

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
    """The entries of a key below `head.next`; an expired key is empty whatever the store still holds."""

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
        before, size = self.head.next, FIRST_PIECE
        while self.length:
            piece = self.store.entries(self.key, before=before, limit=size, newest=True, pinned=False)
            yield from reversed(piece)
            if len(piece) < size:
                return
            before, size = piece[0].seq, min(2 * size, LARGEST_PIECE)

    def newest(self, limit: int) -> list[Entry]:
        if not self.length or not limit:
            return []
        return self.store.entries(self.key, before=self.head.next, limit=limit, newest=True, pinned=False)

    def forward(self, pinned: bool | None = None, after: int = -1) -> Iterator[Entry]:
        """Oldest first."""
        size = FIRST_PIECE
        while self.length:
            piece = self.store.entries(self.key, after=after, before=self.head.next, limit=size, pinned=pinned)
            yield from piece
            if len(piece) < size:
                return
            after, size = piece[-1].seq, min(2 * size, LARGEST_PIECE)


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
