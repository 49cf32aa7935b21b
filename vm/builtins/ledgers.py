"""Methods of ledgers, and of `query()`, where searches stand (L-6.8.8, O-5.15 to O-5.22, O-5.34).

An entry is an identifier, keys and a value, all Strings. Hands on its rows only. A ledger is in memory, so nothing here does I/O
or waits. Lists come in insertion order and are new ones. Panics: P007 for an argument of another type or a key that is no String,
and from `put` P416 for an entry beyond the limits; what walks over all entries charges the run. With many entries or keys, or a
long text, what ends the run may come out. How entries are kept and searched stands in `Ledger` of `interp/stores.py`; the tools
that a ledger gives to models, in `runtime/tools/memory_tools.py`.
"""

from __future__ import annotations

from ..values import Array, LedgerQuery, LedgerRef
from ..values.metering import paced
from .registry import handle, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..interp.effects import MachineContext
    from ..interp.tasks import Task


LEDGER = "Ledger"
SEARCHED = ("Ledger", "LedgerQuery")


def _strings(values: Array) -> list[str]:
    for value in paced(values.items):
        text(value)
    return values.items


# ---------------------------------------------------------------- searching


@handle(SEARCHED, "from_identifier(text: String) -> Array<LedgerEntry>", clause="O-5.18")
def from_identifier(machine: MachineContext, task: Task, ref: LedgerRef, words: str) -> Any:
    """Entries whose identifier has every word of the text as a whole word, without regard to case; none for no words."""
    return Array(machine.stores.ledger(ref).by_identifier(words))


@handle(SEARCHED, "from_key(k: String) -> Array<LedgerEntry>", clause="O-5.19")
def from_key(machine: MachineContext, task: Task, ref: LedgerRef, key: str) -> Any:
    """Entries with that key, without regard to case."""
    return Array(machine.stores.ledger(ref).by_any_key([key]))


@handle(SEARCHED, "from_any_keys(ks: Array<String>) -> Array<LedgerEntry>", clause="O-5.19")
def from_any_keys(machine: MachineContext, task: Task, ref: LedgerRef, keys: Array) -> Any:
    """Entries with at least one of the keys, without regard to case; none for no keys."""
    return Array(machine.stores.ledger(ref).by_any_key(_strings(keys)))


@handle(SEARCHED, "from_exact_keys(ks: Array<String>) -> Array<LedgerEntry>", clause="O-5.19")
def from_exact_keys(machine: MachineContext, task: Task, ref: LedgerRef, keys: Array) -> Any:
    """Entries with all of the keys, without regard to case; none for no keys."""
    return Array(machine.stores.ledger(ref).by_all_keys(_strings(keys)))


# ---------------------------------------------------------------- entries


@handle(LEDGER, "insert(id: String, keys: Array<String>, value: String) -> Nil", clause="O-5.15")
def insert(machine: MachineContext, task: Task, ref: LedgerRef, identifier: str, keys: Array, value: str) -> None:
    """Adds an entry or replaces the one of that id."""
    machine.stores.ledger(ref).put(identifier, _strings(keys), value)


@handle(LEDGER, "update(id: String, value: String) -> Bool", clause="O-5.16")
def update(machine: MachineContext, task: Task, ref: LedgerRef, identifier: str, value: str) -> Any:
    """Replaces the value; false when there is no such entry."""
    ledger = machine.stores.ledger(ref)
    if identifier not in ledger.entries:
        return False
    ledger.put(identifier, ledger.entries[identifier][0], value)
    return True


@handle(LEDGER, "update_keys(id: String, keys: Array<String>) -> Bool", clause="O-5.16")
def update_keys(machine: MachineContext, task: Task, ref: LedgerRef, identifier: str, keys: Array) -> Any:
    """Replaces the keys; false when there is no such entry."""
    ledger = machine.stores.ledger(ref)
    if identifier not in ledger.entries:
        return False
    ledger.put(identifier, _strings(keys), ledger.entries[identifier][1])
    return True


@handle(LEDGER, "delete(id: String) -> Bool", clause="O-5.17")
def delete(machine: MachineContext, task: Task, ref: LedgerRef, identifier: str) -> Any:
    """Removes an entry; whether it was there."""
    return machine.stores.ledger(ref).entries.pop(identifier, None) is not None


@handle(LEDGER, "query() -> LedgerQuery", clause="O-5.18")
def query(machine: MachineContext, task: Task, ref: LedgerRef) -> Any:
    """Where searches stand; they can be called on the ledger too."""
    return LedgerQuery(ref.name, ref.scope)


@handle(LEDGER, "entries() -> Array<LedgerEntry>", clause="O-5.20")
def entries(machine: MachineContext, task: Task, ref: LedgerRef) -> Any:
    """All entries in insertion order."""
    return Array(machine.stores.ledger(ref).records())


@handle(LEDGER, "identifiers() -> Array<String>", clause="O-5.20")
def identifiers(machine: MachineContext, task: Task, ref: LedgerRef) -> Any:
    """The identifiers in insertion order."""
    return Array(list(machine.stores.ledger(ref).identifiers()))


@handle(LEDGER, "len() -> Int", clause="O-5.20")
def size(machine: MachineContext, task: Task, ref: LedgerRef) -> Any:
    """Number of entries."""
    return len(machine.stores.ledger(ref).entries)


@handle(LEDGER, "is_empty() -> Bool", clause="O-5.20")
def is_empty(machine: MachineContext, task: Task, ref: LedgerRef) -> Any:
    """Whether there is no entry."""
    return not machine.stores.ledger(ref).entries


@handle(LEDGER, "clear() -> Nil", clause="O-5.20")
def clear(machine: MachineContext, task: Task, ref: LedgerRef) -> None:
    """Removes every entry."""
    machine.stores.ledger(ref).entries.clear()


# ---------------------------------------------------------------- parts


@handle(LEDGER, "partition(name: String) -> Ledger", clause="O-5.34")
def partition(machine: MachineContext, task: Task, ref: LedgerRef, name: str) -> Any:
    """A ledger of its own under that name: neither sees the other's entries."""
    return LedgerRef(ref.name, (*ref.scope, name))


handle(
    LEDGER, "scope(prefix: String) -> Ledger", clause="O-5.20",
    doc="`partition` by its older name. No view, as `scope` of a hashmap is.",
)(partition)  # fmt: skip
