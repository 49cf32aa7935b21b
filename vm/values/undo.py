"""What a call that may fail has changed in a value, so that the value can be had again as it was (O-4.4).

Hands on `Undo` to the states of tools (`runtime/tools/states.py`), and `own` of it to `containers.own`. What ends the run (P102,
P103, or what the host has set: `metering.py`) may come out of `Undo.own` and `divide` with LARGE items or more. A method of a
tool that changes the state gets the state itself, not a copy: its containers carry an `Undo` as their mark, and `containers.own`
asks it where another mark would make a copy. The storage of an Array, Map, Set or Stack goes on in a new container then, and from
there on each write notes what it replaces (`StoredList`, `StoredDict`); structs are copied, which costs their fields. So a call
costs what it writes, whatever the size of the state. `keep` forgets the notes; `divide` makes the old containers from them, each
with a storage of its own; which of the two is done, `runtime/tools/states.py` decides. Wrappers (Options, tuples, enum values)
and Queues are marked as shared as ever: a write copies what is in them. A key that is removed from a Map, and what else the notes
cannot tell (sorting, inserting), copies the storage once.
"""

from __future__ import annotations

from .containers import PLAIN, WRAPPERS, Array, Map, Queue, Set, Stack, own, own_struct, share, share_all
from .metering import LARGE, announce
from .objects import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Final, SupportsIndex

RUNNING: Final = "running"  # the call may still fail
KEPT: Final = "kept"  # the changes hold, and nobody has the value as it was
DIVIDED: Final = "divided"  # both values are there, and what they have in common is shared


SMALL: Final = 24  # scalars that are copied in the time in which one write is noted
NOTHING_FRESH: Final[dict[int, Any]] = {}  # nobody writes into it
ABSENT: Final = object()  # what a key had that was not there
ENTRY, SET_ENTRY = dict.get, dict.__setitem__


class Undo:
    """One call, and what it has changed so far: in `storages`, which note it. `status`: RUNNING, KEPT or DIVIDED. As the mark of
    a container it is true while the container is seen through two values, as it was before the call and as the call has it."""

    __slots__ = ("status", "storages", "fresh")

    def __init__(self) -> None:
        self.status = RUNNING
        # most calls write into one container or none, so lists and dicts are made when they are needed
        self.storages: list[RestingList | RestingDict] | None = None
        self.fresh: dict[int, Any] = NOTHING_FRESH  # by their ids, the containers that this call alone sees

    def __bool__(self) -> bool:
        return self.status is not KEPT

    def lend(self, state: Any) -> Any:
        """Return a struct as the call gets it, ready for writes; what it holds is lent with it. The struct must not be shared."""
        return own_struct(state, self.mark)

    def mark(self, value: Any) -> Any:
        """Note that a part of the value is seen through both values, and return it."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in STORED or isinstance(value, Struct):
            mark = value.shared
            if mark is False or (mark is not True and mark.status is KEPT):
                if id(value) not in self.fresh:
                    value.shared = self
            elif mark is not self:
                value.shared = True
        elif kind in WRAPPERS or kind is Queue:
            share(value)
        return value

    def own(self, value: Any) -> Any:
        """Return the container that a write goes to, in place of one that carries this mark."""
        if self.status is not RUNNING:
            value.shared = self.status is not KEPT
            return own(value)
        if isinstance(value, Struct):
            copy = own_struct(value, self.mark)
        elif type(value) is Array or type(value) is Stack:
            copy = type(value)(self._storage(value, StoredList))
        else:
            copy = type(value)(self._storage(value, StoredDict))
        if self.fresh is NOTHING_FRESH:
            self.fresh = {id(copy): copy}
        else:
            self.fresh[id(copy)] = copy
        return copy

    def _storage(self, value: Any, kind: Any) -> Any:
        """Return what the new container holds: the storage of `value`, whose writes are noted from now on, or, the first time
        that a call writes into such a container, a copy that can note them."""
        items = value.items
        if type(items) in NOTING and items.undo is not None:  # another call notes for a container that has lost it
            items.divide()
            items = value.items
        if type(items) not in NOTING:
            if len(items) >= LARGE:
                announce(len(items))
            stored = kind(items)
            for part in () if stored.plain else stored.parts():
                self.mark(part)
            return stored
        items.begin(self, value)
        if self.storages is None:
            self.storages = [items]
        else:
            self.storages.append(items)
        return items

    def keep(self) -> None:
        """Forget what was noted. Nobody but the call may have the value as it was."""
        if self.status is RUNNING:
            self.status = KEPT
            if self.storages is not None:
                for storage in self.storages:
                    if storage.undo is self:
                        storage.end()
        self.storages, self.fresh = None, NOTHING_FRESH

    def divide(self) -> None:
        """Give the value as it was what the call has changed in it. Both can be used from now on, as values that share parts."""
        if self.status is RUNNING:
            self.status = DIVIDED
            for storage in self.storages or ():
                if storage.undo is self:
                    storage.divide()
        self.storages, self.fresh = None, NOTHING_FRESH


class InPlace(Undo):
    """What stands for a call that writes into containers which nobody else sees meanwhile: nothing is lent."""

    __slots__ = ()

    def mark(self, value: Any) -> Any:
        return share(value)


IN_PLACE: Final = InPlace()


def noted_in_place(container: Any) -> RestingList | RestingDict | None:
    """Let the storage of an Array, Map, Set or Stack note what is written into it from now on, and return it: until its `end`,
    `as_before` gives what the container held. None where that may be something with a mark. Of LARGE items or more, what ends the
    run may come out of it the first time."""
    items = container.items
    if type(items) not in NOTING:
        if len(items) >= LARGE:
            announce(len(items))
        items = container.items = (StoredList if isinstance(items, list) else StoredDict)(items)
    elif items.undo is not None:  # another call notes for a container that has lost it
        return None
    if not items.plain:
        return None
    items.begin(IN_PLACE, container)
    return items  # type: ignore[no-any-return]


class RestingList(list):  # type: ignore[type-arg]
    """The storage of an Array or Stack in the state of a tool: of this class while no call notes its writes, so that reads and
    writes of scalars are those of a list. `undo` is the call that notes its writes, None for none, `owner` the container that is
    to be as before, `length` the number of items before, `changed` the items that were replaced, by position, `before` all of
    them once something was done that the others cannot tell. `plain`: for certain no item is a container."""

    __slots__ = ("undo", "owner", "length", "changed", "before", "plain")
    undo: Undo | None
    owner: Any

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.plain = PLAIN.issuperset(map(type, self))
        self.undo = self.owner = None
        self.length = 0
        self.before: list[Any] | None = None
        self.changed: dict[int, Any] = {}

    def parts(self) -> Iterator[Any]:
        """Return an iterator over the items, none of which is marked by that."""
        return list.__iter__(self)

    def begin(self, undo: Undo, owner: Any) -> None:
        """Note what is written from now on."""
        self.undo = undo
        self.owner = owner
        self.length = len(self)
        self.__class__ = StoredList if self.plain else LendingList

    def end(self) -> None:
        """Note nothing any more."""
        self.undo = None
        self.owner = None
        self.length = 0
        self.before = None
        if self.changed:
            self.changed = {}
        self.__class__ = RestingList

    def divide(self) -> None:
        """Give the owner the items as they were, in a list of its own, and note nothing any more."""
        self.owner.items = share_all(self.as_before())
        self.plain = False
        self.end()

    def as_before(self) -> list[Any]:
        """Return the items as they were when it began to note."""
        if self.before is not None:
            return self.before
        items: list[Any] = list.__getitem__(self, slice(self.length))
        items += [None] * (self.length - len(items))
        for at, item in self.changed.items():
            items[at] = item
        return items


class StoredList(RestingList):
    """The storage while a call notes its writes, and that which a call has copied for its own. Its writes are those of `list`,
    and note before what they replace; what `pop` returns is marked."""

    __slots__ = ()

    def _note_all(self) -> None:
        if self.undo is not None and self.before is None:
            self.before = self.as_before()

    def _note(self, at: int) -> None:
        """Note the item at a position that is written for the first time."""
        if self.before is None and at < self.length:
            self.changed.setdefault(at, list.__getitem__(self, at))

    def _look_at(self, items: Iterable[Any]) -> None:
        self.plain = self.plain and PLAIN.issuperset(map(type, items))

    # ------------------------------------------------------------ writes

    def append(self, item: Any) -> None:
        if type(item) not in PLAIN:
            self.plain = False
        list.append(self, item)

    def extend(self, items: Iterable[Any]) -> None:
        new = list(items)
        self._look_at(new)
        list.extend(self, new)

    def __iadd__(self, items: Iterable[Any]) -> StoredList:  # type: ignore[misc]
        self.extend(items)
        return self

    def __imul__(self, count: SupportsIndex) -> StoredList:
        self._note_all()
        list.__imul__(self, count)
        return self

    def __setitem__(self, at: Any, item: Any) -> None:
        if type(at) is int and 0 <= at < len(self):
            if type(item) not in PLAIN:
                self.plain = False
            if self.undo is not None:
                self._note(at)
            list.__setitem__(self, at, item)
            return
        self._note_all()
        if type(at) is slice:
            item = list(item)
            self._look_at(item)
        else:
            self._look_at((item,))
        list.__setitem__(self, at, item)

    def __delitem__(self, at: Any) -> None:
        self._note_all()
        list.__delitem__(self, at)

    def pop(self, at: SupportsIndex = -1) -> Any:
        last = len(self) - 1
        undo = self.undo
        if undo is None:
            return list.pop(self, at)
        if last >= 0 and (at == -1 or at == last):
            self._note(last)
        else:
            self._note_all()
        return undo.mark(list.pop(self, at))

    def insert(self, at: SupportsIndex, item: Any) -> None:
        self._note_all()
        self._look_at((item,))
        list.insert(self, at, item)

    def remove(self, item: Any) -> None:
        self._note_all()
        list.remove(self, item)

    def clear(self) -> None:
        self._note_all()
        list.clear(self)

    def reverse(self) -> None:
        self._note_all()
        list.reverse(self)

    def sort(self, **order: Any) -> None:
        self._note_all()
        list.sort(self, **order)


class LendingList(StoredList):
    """The storage while a call notes its writes and items may be containers: an item that is read is lent, and all where they are
    walked over, since the owner has them too. A slice, a copy and a sum lend nothing: whoever makes one marks what it puts into
    another container (`share_all`)."""

    __slots__ = ()

    def _lend(self) -> None:
        """Lend all items. Reads need not do it any more."""
        undo = self.undo
        assert undo is not None
        for item in list.__iter__(self):
            undo.mark(item)
        self.__class__ = StoredList  # type: ignore[assignment]

    def __getitem__(self, at: Any) -> Any:
        item = list.__getitem__(self, at)
        if type(item) not in PLAIN and self.undo is not None and type(at) is int:
            self.undo.mark(item)
        return item

    def __iter__(self) -> Iterator[Any]:
        self._lend()
        return list.__iter__(self)

    def __reversed__(self) -> Iterator[Any]:
        self._lend()
        return list.__reversed__(self)


class RestingDict(dict):  # type: ignore[type-arg]
    """The storage of a Map or Set in the state of a tool, as RestingList; `undo`, `owner`, `before` and `plain` as there. `noted`
    has by key what was there before it was written, ABSENT for nothing; None while nothing is noted, or all of it in `before`."""

    __slots__ = ("undo", "owner", "noted", "before", "plain")
    undo: Undo | None
    owner: Any
    noted: dict[Any, Any] | None

    def __init__(self, items: dict[Any, Any]) -> None:
        super().__init__(items)
        self.plain = PLAIN.issuperset(map(type, self.values()))
        self.undo = self.owner = self.noted = None
        self.before: dict[Any, Any] | None = None

    def parts(self) -> Iterator[Any]:
        """Return an iterator over the values, none of which is marked by that."""
        return iter(dict.values(self))

    def begin(self, undo: Undo, owner: Any) -> None:
        """Note what is written from now on."""
        self.undo = undo
        self.owner = owner
        self.noted = {}
        self.__class__ = StoredDict if self.plain else LendingDict

    def end(self) -> None:
        """Note nothing any more."""
        self.undo = self.owner = self.noted = self.before = None
        self.__class__ = RestingDict

    def divide(self) -> None:
        """Give the owner the entries as they were, in a dict of its own, and note nothing any more."""
        before = self.as_before()
        share_all(before.values())
        self.owner.items = before
        self.plain = False
        self.end()

    def as_before(self) -> dict[Any, Any]:
        """Return the entries as they were when it began to note."""
        if self.before is not None:
            return self.before
        noted = self.noted or {}
        kept = {key: noted.get(key, value) for key, value in dict.items(self)}
        return {key: value for key, value in kept.items() if value is not ABSENT}


class StoredDict(RestingDict):
    """As StoredList, for a dict."""

    __slots__ = ()

    def _note_all(self) -> None:
        if self.noted is not None:
            self.before = self.as_before()
            self.noted = None

    # ------------------------------------------------------------ writes

    def __setitem__(self, key: Any, value: Any) -> None:
        noted = self.noted
        if noted is not None and key not in noted:
            noted[key] = ENTRY(self, key, ABSENT)
        if type(value) not in PLAIN:
            self.plain = False
        SET_ENTRY(self, key, value)

    def __delitem__(self, key: Any) -> None:
        if self.noted is not None:
            if self.noted.get(key) is ABSENT:
                del self.noted[key]
            elif key in self:
                self._note_all()
        dict.__delitem__(self, key)

    def pop(self, key: Any, *default: Any) -> Any:
        if key not in self:
            return dict.pop(self, key, *default)
        value = dict.__getitem__(self, key)
        del self[key]
        return value if self.undo is None else self.undo.mark(value)

    def popitem(self) -> tuple[Any, Any]:
        if not self:
            return dict.popitem(self)
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        self._note_all()
        dict.clear(self)

    def update(self, *entries: Any, **named: Any) -> None:
        for key, value in dict(*entries, **named).items():
            self[key] = value

    def __ior__(self, entries: Any) -> StoredDict:  # type: ignore[misc]
        self.update(entries)
        return self

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]


class LendingDict(StoredDict):
    """As LendingList, for the values of a dict."""

    __slots__ = ()

    def _lend(self) -> None:
        """Lend all values. Reads need not do it any more."""
        undo = self.undo
        assert undo is not None
        for value in dict.values(self):
            undo.mark(value)
        self.__class__ = StoredDict  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        value = dict.__getitem__(self, key)
        return value if type(value) in PLAIN or self.undo is None else self.undo.mark(value)

    def get(self, key: Any, default: Any = None) -> Any:
        value = dict.get(self, key, default)
        return value if type(value) in PLAIN or self.undo is None else self.undo.mark(value)

    def values(self) -> Any:
        self._lend()
        return dict.values(self)

    def items(self) -> Any:
        self._lend()
        return dict.items(self)


STORED = frozenset({Array, Map, Set, Stack})
NOTING = frozenset({RestingList, StoredList, LendingList, RestingDict, StoredDict, LendingDict})
