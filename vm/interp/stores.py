"""The shared stores of a run: hashmaps and ledgers (O-5.1 to O-5.22).

`Stores` finds the store behind a handle; `View` is a hashmap or a scope of it. This is plain data: the methods of a program, with
what watchers, files and wrong arguments need, are in `vm/builtins/hashmaps.py` and `vm/builtins/ledgers.py`.

Hands on `Stores` to the machine, which has one, and with the classes of stores, HashStore as a type, to snapshots; `HashStore`
also to `builtins/hashmaps.py` and the translated tier, `Change` to the former; `View`, `HashStore` and `Change` to
`stored_hashmaps.py`; `Ledger` and `words` to `runtime/calls/settings.py`. No watcher is called and no file is read or written
here. Where many entries are walked over, the run is charged for them, and what ends it may come out: P102 for its time, P103 for
its memory, or the exception that the host has set (`values/metering.py`). A scope is the part of a store that a handle made by
`scope("a")` sees: of a hashmap the keys that begin with `a:`, which it shows without that; of a ledger a store of its own.
"""

from __future__ import annotations

from ..bytecode.image import memory_of_hashmap
from ..panics import Panic
from ..values import NONE, Array, LedgerEntry, Some, check, key_of, share, typeof, unkey
from ..values.long_text import blocks
from ..values.metering import BLOCK, FEW, paced, works_on
from ..values.types import type_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..values import HashMapRef, LedgerRef, Map
    from ..values.handles import ScopedRef

    Change = tuple[Any, Any, Any]  # key, old and new value as Options

# A value of exactly this class fits the type without a further check: the usual case is one comparison.
_CLASSES = {"int": int, "string": str, "bool": bool, "float": float}

MOST_IDENTIFIER, MOST_KEYS, MOST_KEY, MOST_VALUE = 512, 32, 128, 65_536  # of a ledger entry; lengths in code points


class HashStore:
    """One declared hashmap, by its `name`. `items`: its entries by dict key (`key_of`). `key_type`, `value_type`: descriptors;
    `path`: the file that it is written to, None without one. `watchers`: (prefix, key or None for every one, closure) in order of
    subscription. `whole`: the view of all of it. `kept` does the methods of one whose entries are in a store
    (`stored_hashmaps.py`), so that `items` has none; else None."""

    __slots__ = ("name", "key_type", "value_type", "path", "items", "watchers", "whole", "key_class", "value_class", "kept")

    def __init__(self, name: str, key_type: Any, value_type: Any, path: str | None) -> None:
        self.name = name
        self.key_type = key_type
        self.value_type = value_type
        self.path = path
        self.items: dict[Any, Any] = {}
        self.watchers: list[tuple[str, Any, Any]] = []
        self.whole = View(self, "")
        self.kept: Any = None
        # the class of all keys, of all values; None for types of which that says too little
        self.key_class = _CLASSES.get(key_type[0])
        self.value_class = _CLASSES.get(value_type[0])

    @property
    def said(self) -> tuple[Any, ...]:
        """What its declaration says of it: (key type, value type, file, what does its methods)."""
        return (self.key_type, self.value_type, self.path, self.kept)

    def empty(self) -> HashStore:
        """Return a hashmap of the same name and types that holds nothing, has no file, and that nothing follows."""
        return HashStore(self.name, self.key_type, self.value_type, None)

    def view(self, scope: Iterable[str]) -> View:
        """Return what a handle of this scope sees of it."""
        prefix = "".join(f"{name}:" for name in scope)
        return View(self, prefix) if prefix else self.whole

    def fitting(self, value: Any, descriptor: Any, what: str) -> Any:
        """Return a value as one of the type `descriptor`. Raises P415 for another, which may come from behind Any; `what` names
        the value in the message."""
        try:
            return check(value, descriptor)
        except Panic:
            raise Panic("P415", f"{what} of hashmap {self.name} is {type_text(descriptor)}, found {typeof(value)}") from None

    def put(self, key: Any, value: Any) -> None:
        """Write an entry of the whole hashmap for which no watcher has to run. Raises P415 when it does not fit, and P007 for
        a key that is none."""
        if type(key) is not self.key_class:
            key = self.fitting(key, self.key_type, "the key")
        if type(value) is not self.value_class:
            value = share(self.fitting(value, self.value_type, "the value"))
        self.items[key if type(key) is str else key_of(key)] = value

    def calls(self, changes: Iterable[Change]) -> list[Any]:
        """Return the calls of watchers for these changes, in order, as (whether it watches every key, closure, key, old value,
        new value), the values as Options; the key is one of the program, of a watched scope without its prefix (O-5.11)."""
        calls: list[Any] = []
        for key, old, new in paced(changes):
            for prefix, watched, closure in self.watchers:
                if watched is not None:
                    if watched == key:
                        calls.append((False, closure, unkey(key), old, new))
                elif not prefix:
                    calls.append((True, closure, unkey(key), old, new))
                elif type(key) is str and key.startswith(prefix):
                    calls.append((True, closure, key[len(prefix) :], old, new))
        return calls


class View:
    """The hashmap `store` as a handle sees it: all of it, with the `prefix` "", or the keys of a scope without their prefix
    (O-5.8)."""

    __slots__ = ("store", "prefix")

    def __init__(self, store: HashStore, prefix: str) -> None:
        self.store = store
        self.prefix = prefix

    def key(self, key: Any) -> Any:
        """Return the dict key for a key of the program. Raises P007 for a key of a scope that is no String, and as `key_of`. So
        do the methods below that take a key of the program."""
        if self.prefix:
            if type(key) is not str:
                raise Panic("P007", f"expected String, found {typeof(key)} as a key of a scope")
            return self.prefix + key
        return key_of(key)

    def entries(self) -> list[tuple[Any, Any]]:
        """Return the present (key, value) pairs in insertion order; values are marked as shared, since the store keeps them."""
        if not self.prefix:
            works_on(len(self.store.items))
            return [(unkey(key), share(value)) for key, value in paced(self.store.items.items())]
        return [(key[len(self.prefix) :], share(self.store.items[key])) for key in paced(self.inside())]

    def inside(self) -> list[Any]:
        """Return the dict keys that this view shows."""
        works_on(len(self.store.items))
        if not self.prefix:
            return list(self.store.items)
        return [key for key in paced(self.store.items) if type(key) is str and key.startswith(self.prefix)]

    def size(self) -> int:
        """Return how many entries this view shows."""
        return len(self.inside() if self.prefix else self.store.items)

    def find(self, key: Any) -> Any:
        """Return the value as an Option, marked as shared, since the store keeps it."""
        at = self.key(key)
        items = self.store.items
        return Some(share(items[at])) if at in items else NONE

    def has(self, key: Any) -> bool:
        """Return whether there is an entry of a key."""
        return self.key(key) in self.store.items

    def set(self, key: Any, value: Any) -> Change:
        """Write one entry and return the change. Raises P415 when key or value does not fit."""
        at = self.key(self.store.fitting(key, self.store.key_type, "the key"))
        value = self.store.fitting(value, self.store.value_type, "the value")
        old = self.find(key)
        self.store.items[at] = share(value)
        return at, old, Some(value)

    def set_many(self, entries: Map) -> list[Change]:
        """Write all entries of a Map and return the changes, in its order. Raises P415 when one does not fit; then the store is
        as it was."""
        works_on(len(entries.items))
        changes: list[Change] = []
        new: dict[Any, Any] = {}
        for key, value in paced(entries.entries(), FEW):
            at = self.key(self.store.fitting(key, self.store.key_type, "the key"))
            value = self.store.fitting(value, self.store.value_type, "the value")
            changes.append((at, Some(share(new[at])) if at in new else self.find(key), Some(value)))
            new[at] = share(value)
        self.store.items.update(new)  # only when all entries fit
        return changes

    def delete(self, keys: Iterable[Any]) -> list[Change]:
        """Remove the entries of these different dict keys and return the changes; keys without an entry change nothing. What ends
        the run comes before anything is removed."""
        items = self.store.items
        changes: list[Change] = [(key, Some(items[key]), NONE) for key in paced(keys) if key in items]
        for key, _, _ in changes:
            del items[key]
        return changes

    def watch(self, key: Any, closure: Any) -> None:
        """Subscribe a closure to the changes of a key, which comes as a tuple of one, or with None of every key of this view.
        Calls nothing now: `HashStore.calls` says later what is to be called."""
        self.store.watchers.append((self.prefix, None if key is None else self.key(key[0]), closure))


class Ledger:
    """One ledger, or one scope of it: scopes share nothing (O-5.20). `entries` by identifier: (keys, value)."""

    __slots__ = ("name", "entries")

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[str, tuple[list[str], str]] = {}

    def put(self, identifier: str, keys: list[str], value: str) -> None:
        """Insert or replace an entry; a replaced one stays at its place (O-5.15). Raises P416 for one with a part that
        is too long, or too many keys."""
        self._limit("an identifier", len(identifier), MOST_IDENTIFIER)
        self._limit("a value", len(value), MOST_VALUE)
        self._limit("the keys of an entry", len(keys), MOST_KEYS, "keys")
        for key in keys:
            self._limit("a key", len(key), MOST_KEY)
        self.entries[identifier] = (list(keys), value)

    def _limit(self, what: str, size: int, most: int, unit: str = "code points") -> None:
        if size > most:
            raise Panic("P416", f"{what} of ledger {self.name} has {size} {unit}; the limit is {most}")

    def identifiers(self) -> Iterable[str]:
        """Return an iterator over all identifiers, and charge the run for work on all entries."""
        works_on(len(self.entries))
        return paced(self.entries, FEW)

    def records(self) -> list[Any]:
        """Return all entries as values of the program, new ones each time."""
        return [self.record(identifier) for identifier in self.identifiers()]

    def record(self, identifier: str) -> Any:
        """Return an entry as a new value of the program. Raises KeyError for an identifier that is not there."""
        keys, value = self.entries[identifier]
        return LedgerEntry(identifier, Array(list(keys)), value)

    def by_identifier(self, text: str) -> list[Any]:
        """Return the entries whose identifier holds every word of the text; none for a text without words (O-5.18, O-5.21)."""
        wanted = words(text)
        return [self.record(i) for i in self.identifiers() if wanted and wanted <= words(i)]

    def by_any_key(self, keys: Iterable[str]) -> list[Any]:
        """Return the entries that have one of the keys, in upper or lower case; none for no keys."""
        wanted = {key.lower() for key in paced(keys)}
        return [self.record(i) for i in self.identifiers() if not wanted.isdisjoint(k.lower() for k in self.entries[i][0])]

    def by_all_keys(self, keys: Iterable[str]) -> list[Any]:
        """Return the entries that have all of the keys, in upper or lower case; none for no keys."""
        wanted = {key.lower() for key in paced(keys)}
        return [self.record(i) for i in self.identifiers() if wanted and wanted <= {k.lower() for k in self.entries[i][0]}]


def words(text: str) -> set[str]:
    """Return the maximal runs of letters, digits, `_` and `-` in a text, in lower case (O-5.21). Raises what ends the run, with
    a long text."""
    if len(text) <= BLOCK:
        return {word.lower() for word in _spaced(text).split()}
    found: set[str] = set()
    rest = ""  # of a word that may go on in the next block
    for block in blocks(text):
        *whole, rest = (rest + _spaced(block)).split(" ")
        found.update([word.lower() for word in whole])
    return {*found, rest.lower()} - {""}


def _spaced(text: str) -> str:
    if text.isascii():
        return text.translate(BETWEEN_WORDS)
    return "".join([c if _is_of_word(c) else " " for c in text])


def _is_of_word(sign: str) -> bool:
    return sign in "_-" or sign.isalpha() or sign.isdecimal()


BETWEEN_WORDS = "".join([chr(code) if _is_of_word(chr(code)) else " " for code in range(128)])  # by character, ASCII alone


class Stores:
    """The stores of one session: `hashmaps` by the names of their declarations, `ledgers` by (name, scope), those that have been
    used, of the declared ones `ledger_names`. `program` is the linked one, which has the type descriptors and the image."""

    def __init__(self, program: Any) -> None:
        types = program.descriptors
        image = program.image
        self.hashmaps = {h.name: HashStore(h.name, types[h.key], types[h.value], h.path) for h in image.hashmaps}
        memories = {memory.name for memory in image.memories}
        for name, store in self.hashmaps.items():
            if memory_of_hashmap(name) in memories:
                from .stored_hashmaps import kept  # few programs have a hashmap in a store

                store.kept = kept
        self.ledger_names = {entry.name for entry in image.ledgers}
        self.ledgers: dict[tuple[str, tuple[str, ...]], Ledger] = {}

    def view(self, ref: HashMapRef) -> View:
        """Return the view of a hashmap handle. Raises KeyError for a hashmap that the program does not declare."""
        store = self.hashmaps[ref.name]
        return store.view(ref.scope) if ref.scope else store.whole

    def ledger(self, ref: LedgerRef | ScopedRef) -> Ledger:
        """Return the store of a ledger handle; it is created when it is first used."""
        at = (ref.name, ref.scope)
        if at not in self.ledgers:
            self.ledgers[at] = Ledger(ref.name)
        return self.ledgers[at]

    def take_over(self, earlier: Stores) -> None:
        """Take the stores of an earlier program of the session where both declare one of the same name, a hashmap also with the
        same `said`: they are the same objects from then on."""
        for name, store in earlier.hashmaps.items():
            own = self.hashmaps.get(name)
            if own is not None and own.said == store.said:
                self.hashmaps[name] = store
        self.ledgers.update({at: ledger for at, ledger in earlier.ledgers.items() if at[0] in self.ledger_names})
