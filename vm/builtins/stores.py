"""Methods of hashmaps and ledgers (L-6.8.7, L-6.8.8, O-5.2 to O-5.22): what the machine does, what is written in Concerto.

`MACHINERY` is the type of no value: its two functions are the part of a write, and of the declaration of a store with a
file, that calls functions and waits for the host.
"""

from __future__ import annotations

from .registry import handle, prelude

_MAP = "HashMap<K, V>"
MACHINERY = "StoreWrites"

for _text, _clause, _doc in (
    ("set(k: K, v: V) -> Nil", "O-5.2", "Writes an entry; a replaced key keeps its place."),
    ("get(k: K) -> Option<V>", "O-5.2", "The value of a key."),
    ("has(k: K) -> Bool", "O-5.2", "Whether the key is there."),
    ("delete(k: K) -> Bool", "O-5.3", "Removes an entry; whether it was there."),
    ("keys() -> Array<K>", "O-5.4", "The keys in insertion order."),
    ("values() -> Array<V>", "O-5.4", "The values in insertion order."),
    ("len() -> Int", "O-5.4", "Number of entries."),
    ("is_empty() -> Bool", "O-5.4", "Whether there is no entry."),
    ("clear() -> Nil", "O-5.4", "Removes every entry."),
    ("set_many(entries: Map<K, V>) -> Nil", "O-5.7", "Writes all entries in one step."),
    ("get_many(keys: Array<K>) -> Map<K, Option<V>>", "O-5.7", "The values of several keys in one step."),
    ("scope(prefix: String) -> HashMap<K, V>", "O-5.8", "A view of the keys that begin with `prefix:`: both see them."),
    ("as_ref() -> HashMap<K, V>", "L-6.8.7", "The hashmap itself."),
    ("require(k: K) -> Result<V, HashMapError>", "O-5.13", "The value of a key, or KeyNotFound."),
    ("on_change(k: K, f: fn(Option<V>, Option<V>)) -> Nil", "O-5.9", "Calls f after each change of a key."),
    ("on_any_change(f: fn(K, Option<V>, Option<V>)) -> Nil", "O-5.9", "Calls f after each change."),
):
    handle(_MAP, _text, clause=_clause, doc=_doc)

prelude(
    _MAP, "query(pred: fn(K, V) -> Bool) -> Map<K, V>", clause="O-5.5", doc="The entries that satisfy the predicate.",
    source="let mut found: Map<Any, Any> = {}; for (k, v) in self { if pred(k, v) { found.set(k, v); } } found",
)  # fmt: skip
prelude(
    _MAP, "find(pred: fn(K, V) -> Bool) -> Option<(K, V)>", clause="O-5.6", doc="The first entry that satisfies the predicate.",
    source="for (k, v) in self { if pred(k, v) { return Some((k, v)); } } None",
)  # fmt: skip

for _receiver in ("Ledger", "LedgerQuery"):
    for _text, _clause, _doc in (
        ("from_identifier(text: String) -> Array<LedgerEntry>", "O-5.18", "Entries whose identifier has every word of the text."),
        ("from_key(k: String) -> Array<LedgerEntry>", "O-5.19", "Entries with that key, without regard to case."),
        ("from_any_keys(ks: Array<String>) -> Array<LedgerEntry>", "O-5.19", "Entries with at least one of the keys."),
        ("from_exact_keys(ks: Array<String>) -> Array<LedgerEntry>", "O-5.19", "Entries with all of the keys."),
    ):
        handle(_receiver, _text, clause=_clause, doc=_doc)

for _text, _clause, _doc in (
    ("insert(id: String, keys: Array<String>, value: String) -> Nil", "O-5.15", "Adds an entry or replaces the one of that id."),
    ("update(id: String, value: String) -> Bool", "O-5.16", "Replaces the value; false when there is no such entry."),
    ("update_keys(id: String, keys: Array<String>) -> Bool", "O-5.16", "Replaces the keys; false when there is no such entry."),
    ("delete(id: String) -> Bool", "O-5.17", "Removes an entry; whether it was there."),
    ("query() -> LedgerQuery", "O-5.18", "Where searches stand; they can be called on the ledger too."),
    ("entries() -> Array<LedgerEntry>", "O-5.20", "All entries in insertion order."),
    ("identifiers() -> Array<String>", "O-5.20", "The identifiers in insertion order."),
    ("len() -> Int", "O-5.20", "Number of entries."),
    ("is_empty() -> Bool", "O-5.20", "Whether there is no entry."),
    ("clear() -> Nil", "O-5.20", "Removes every entry."),
    ("partition(name: String) -> Ledger", "O-5.34", "A ledger of its own under that name: neither sees the other's entries."),
    ("scope(prefix: String) -> Ledger", "O-5.20", "`partition` by its older name. No view, as `scope` of a hashmap is."),
):
    handle("Ledger", _text, clause=_clause, doc=_doc)

prelude(
    MACHINERY, "finish(calls: Any, result: Any) -> Any", clause="O-5.11", doc="Writes the file, then tells the watchers.",
    source="""
        self.answered(self.save());
        for (every, watcher, key, old, new) in calls {
            let ignored = if every { watcher(key, old, new) } else { watcher(old, new) };
        }
        result
    """,
)
prelude(
    MACHINERY, "load() -> Nil", clause="O-5.12", doc="Fills the store from its file.",
    source="self.answered(self.read()); nil",
)  # fmt: skip
