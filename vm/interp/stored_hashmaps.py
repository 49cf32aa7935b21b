"""Hashmaps whose entries are in a store (O-5.41): each entry is a fact of a memory that the compiler made for the hashmap. Its
name is the JSON text of the key, its content the value.

Hands on `kept` to `stores.py`, which puts it into the `HashStore` of such a hashmap; `table`, and `TABLE`, the name by which an
effect asks for it, to `context_slots.py`, where the host finds it to call it again when it has waited; `table` also to the tools
that models get (`runtime/tools/memory_tools.py`). A method reads the entries that it needs into a hashmap of its own, is done
there as on any other, and writes what it changed; between the two no other task of the session runs, and of another session's
writes the last one to an entry counts. A change in place (`_swap`) compares first. What the methods do is in
`builtins/hashmaps.py`, input and output in the memories of the host: nothing here opens a file or a connection.
"""

from __future__ import annotations

from ..builtins.hashmaps import BODIES, WRITES, calls_of
from ..builtins.json import Misfit, StoredBuilder
from ..bytecode.image import memory_of_hashmap
from ..panics import Panic
from ..values import Array, MemoryRef, Some, equal, from_json, key_of, share, to_json, unkey
from .effects import MemoryUse
from .tasks import SUSPENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..values import HashMapRef
    from .effects import MachineContext
    from .stores import Change, HashStore, View
    from .tasks import Task

TABLE = "_table"
# Methods whose first argument is the key of the one entry that they need; the others read all entries.
OF_ONE_KEY = ("get", "has", "require", "_at", "set", "delete", "_swap")


def kept(machine: MachineContext, task: Task, ref: HashMapRef, name: str, arguments: Sequence[Any], told: bool) -> Any:
    """Do the method `name` of a hashmap in a store and return its result: of `delete` and `_swap` whether they did something, of
    other methods that write None. Of one that writes, with `told`, return the pair (calls of watchers, result); the calls are an
    Array of what `HashStore.calls` returns. Return SUSPENDED where the store has to be waited for: the host then does the method.
    Raises P412 for a store that cannot be read or written, and for an entry in it that does not fit the declared types; with
    `told` what `calls_of` raises (P405 for watchers that call each other too deeply); else what the method raises."""
    memory = MemoryRef(memory_of_hashmap(ref.name))
    values = Array(list(arguments))
    try:
        return table(machine, task, memory, ref, name, values, told)
    except machine.memories.must_wait:
        machine.suspend(task, "memory", MemoryUse(memory, TABLE, [ref, name, values, told]))
        return SUSPENDED


def table(
    machine: MachineContext, task: Task, memory: MemoryRef, ref: HashMapRef, name: str, values: Array, told: bool
) -> Any:
    """Return what `kept` returns, done in one go; `memory` is the one that has the entries, `values` the arguments. Raises what
    `kept` raises, and the exception `machine.memories.must_wait`, having changed nothing, where the store has to be waited
    for."""
    entries = _Entries(machine, task, memory, ref)
    arguments = values.items
    if name not in WRITES:
        entries.read(arguments[0] if name in OF_ONE_KEY else None)
        return BODIES[name](entries, task, ref, *arguments)
    changes = entries.swapped(*arguments) if name == "_swap" else entries.changed(name, arguments)
    result = bool(changes) if name in ("delete", "_swap") else None
    return (Array(calls_of(machine, task, machine.stores.hashmaps[ref.name], changes)), result) if told else result


class _Entries:
    """The entries of one hashmap for the time of one method. It stands for the machine, whose `stores` it has, where a method
    only reads them."""

    __slots__ = ("machine", "task", "memory", "ref", "store", "hashmaps", "takes_any")

    def __init__(self, machine: MachineContext, task: Task, memory: MemoryRef, ref: HashMapRef) -> None:
        self.machine = machine
        self.task = task
        self.memory = memory
        self.ref = ref
        self.store: HashStore = machine.stores.hashmaps[ref.name].empty()
        self.hashmaps = {ref.name: self.store}
        self.takes_any = False  # what is stored and does not fit may be there: nobody sees it, and it is replaced or removed

    @property
    def stores(self) -> _Entries:
        return self

    def view(self, ref: HashMapRef) -> View:
        return self.store.view(ref.scope)

    def read(self, key: Any = None) -> None:
        """Read the entry of a key of the handle, or without one all of them, in the order in which they were inserted."""
        if key is None:
            for name, content in self._call("table"):
                self._hold(name, content)
            return
        at = self.view(self.ref).key(key)
        for content in self._call("seen_slot", "persistent", _name(at))[0]:
            self._hold(_name(at), content)

    def changed(self, name: str, arguments: list[Any]) -> list[Change]:
        """Do a method of WRITES, any but `_swap`, and write its changes to the store; return them. AssertionError for
        another."""
        view = self.view(self.ref)
        self.takes_any = not self.machine.stores.hashmaps[self.ref.name].watchers
        if name == "set":
            self.read(arguments[0])
            changes = [view.set(*arguments)]
        elif name == "delete":
            self.read(arguments[0])
            changes = view.delete([view.key(arguments[0])])
        elif name == "set_many":
            self.read()
            changes = view.set_many(*arguments)
        elif name == "clear":
            self.read()
            changes = view.delete(view.inside())
        else:
            raise AssertionError(f"a store does not know how {name} writes")
        puts = {_name(key): new.value for key, _, new in changes if type(new) is Some}
        deletes = [_name(key) for key, _, new in changes if type(new) is not Some]
        if puts or deletes:
            self._call("put_table", list(puts.items()), deletes)
        return changes

    def swapped(self, key: Any, old: Any, new: Any) -> list[Change]:
        """Write an entry if it holds `old`, and return the change; none where it holds something else."""
        view = self.view(self.ref)
        at = view.key(key)
        contents, fingerprint = self._call("seen_slot", "persistent", _name(at))
        for content in contents:
            self._hold(_name(at), content)
        if at not in self.store.items or not equal(self.store.items[at], old):
            return []
        change = view.set(key, new)
        return [change] if self._call("swap_slot", "persistent", _name(at), new, fingerprint, lambda stored: None) else []

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return self.machine.memories.at_once(self.memory, method, list(arguments), self.task)
        except Panic as panic:
            raise Panic("P412", f"the store of hashmap {self.ref.name}: {panic.message}") from None

    def _hold(self, name: str, content: Any) -> None:
        """Put a stored entry among those of the hashmap. Raises P412 for one that does not fit the declared types."""
        at = self._key(name)
        builder = StoredBuilder(self.machine.program, self.machine.memories.computed)
        try:
            value = builder.stored(from_json(content), self.store.value_type)
        except (Misfit, ValueError, RecursionError) as misfit:
            if self.takes_any:
                self.store.items[at] = None
                return
            what = f"the entry {name} of hashmap {self.ref.name} does not fit its type: {misfit} at {builder.place()}"
            raise Panic("P412", f"{what}; delete it, or declare the type that it has") from None
        self.store.items[at] = share(value)

    def _key(self, name: str) -> Any:
        """Return the dict key for the name of a stored entry. Raises P412 for one that is not of the declared type, unless such
        entries may be there."""
        from json import loads

        try:
            data = loads(name)
            return key_of(StoredBuilder(self.machine.program, self.machine.memories.computed).build(data, self.store.key_type))
        except (Misfit, ValueError) as misfit:
            if self.takes_any and isinstance(misfit, Misfit):
                return key_of(data)
            what = f"the key {name} of hashmap {self.ref.name} does not fit its type: {misfit}"
            raise Panic("P412", f"{what}; clear the hashmap, or declare the type that its keys have") from None


def _name(at: Any) -> str:
    """Return the name of the fact for a dict key (a key as `key_of` gives it): the JSON text of the program's key."""
    return to_json(unkey(at))
