"""Methods on hashmaps and ledgers (O-5.2 to O-5.22), in the shape of the calling functions of `dispatch`.

A hashmap method that writes changes the store first; if somebody watches or the store has a file, the rest is the hidden
function `StoreWrites::finish`, written in the language, so that watchers run on the machine's own frames and the file is
written by an effect. Must not know: files.
"""

from __future__ import annotations

from ..builtins.json import Builder, Fault, Misfit, read
from ..panics import Panic
from ..schema import DeclaredTypes
from ..values import (
    NONE,
    Array,
    Closure,
    Err,
    HashMapRef,
    LedgerQuery,
    LedgerRef,
    Map,
    Ok,
    Some,
    from_json,
    key_of,
    make_error,
    share,
    to_json,
    typeof,
)
from ..values.metering import paced, works_on
from .effects import MemoryUse, StoreFile
from .methods_models import arguments_of, expect
from .tasks import SUSPENDED, Invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..bytecode.image import Image
    from ..values import MemoryRef
    from .effects import Running
    from .linked import Site
    from .stores import Change, HashStore
    from .tasks import Task


LONGEST_CHAIN = 16
MISSING = object()
FINISH = ("StoreWrites", "finish")


# ---------------------------------------------------------------- hashmaps: reading


def _get(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (key,) = arguments if len(arguments) == 1 and not site.names else arguments_of(site, arguments, ("k",))
    if ref.scope:
        return machine.stores.view(ref).find(key)
    store = machine.stores.hashmaps[ref.name]
    found = store.items.get(key if type(key) is str else key_of(key), MISSING)
    if found is MISSING:
        return NONE
    return Some(found if store.value_class is not None else share(found))


def _has(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (key,) = arguments if len(arguments) == 1 and not site.names else arguments_of(site, arguments, ("k",))
    if ref.scope:
        return machine.stores.view(ref).has(key)
    return (key if type(key) is str else key_of(key)) in machine.stores.hashmaps[ref.name].items


def _require(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (key,) = arguments_of(site, arguments, ("k",))
    found = machine.stores.view(ref).find(key)
    if type(found) is Some:
        return Ok(found.value)
    return Err(make_error("HashMapError", "KeyNotFound", (f"key not found in hashmap {ref.name}: {to_json(key)}",)))


def _keys(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return Array([key for key, _ in machine.stores.view(ref).entries()])


def _values(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return Array([value for _, value in machine.stores.view(ref).entries()])


def _len(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return machine.stores.view(ref).size()


def _is_empty(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    return _len(machine, task, ref, site, arguments) == 0


def _get_many(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (keys,) = arguments_of(site, arguments, ("keys",))
    view = machine.stores.view(ref)
    works_on(len(expect(keys, Array, "Array").items))
    return Map({key_of(key): view.find(key) for key in paced(keys.items)})


def _scope(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (prefix,) = arguments_of(site, arguments, ("prefix",))
    store = machine.stores.view(ref).store
    if store.key_type[0] not in ("string", "any"):
        raise Panic("P411", f"hashmap {ref.name} has no scopes: its keys are no Strings")
    return HashMapRef(ref.name, (*ref.scope, expect(prefix, str, "String")))


def _as_ref(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return ref


# ---------------------------------------------------------------- hashmaps: writing


def _set(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    key, value = arguments if len(arguments) == 2 and not site.names else arguments_of(site, arguments, ("k", "v"))
    store = machine.stores.hashmaps[ref.name]
    if not (store.watchers or store.path is not None or ref.scope):
        store.put(key, value)
        return None
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, store, [view.set(key, value)], None)


def _set_many(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (entries,) = arguments_of(site, arguments, ("entries",))
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, view.store, view.set_many(expect(entries, Map, "Map")), None)


def _delete(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    (key,) = arguments_of(site, arguments, ("k",))
    view = machine.stores.view(ref)
    if not view.store.watchers and view.store.path is None:
        return view.store.items.pop(view.key(key), MISSING) is not MISSING
    changes = view.delete([view.key(key)])
    return _finish(machine, task, ref, view.store, changes, bool(changes))


def _clear(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, view.store, view.delete(view.inside()), None)


def _finish(
    machine: Running, task: Task, ref: HashMapRef, store: HashStore, changes: list[Change], result: Any
) -> Any:
    """The write is done: hand it to the file and to the watchers, if there are any."""
    rest = finish_call(machine, ref, store, changes, result)
    if rest is None:
        return result
    code, given = rest
    if given[1].items and sum(frame[3] is code for frame in task.frames) >= LONGEST_CHAIN:
        raise Panic("P405", f"watchers of hashmap {store.name} call each other more than {LONGEST_CHAIN} deep")
    return Invoke(code, given, ())


def finish_call(
    machine: Running, ref: HashMapRef, store: HashStore, changes: list[Change], result: Any = None
) -> tuple[Any, list[Any]] | None:
    """The function that tells file and watchers of changes, and its arguments; None where nobody is to be told."""
    calls = store.calls(changes)
    if not changes or not (calls or store.path):
        return None
    code = machine.program.language_methods.get(FINISH)
    if code is None:
        raise Panic("P014", f"the image lacks {'::'.join(FINISH)}, which finishes writes of hashmap {store.name}")
    return code, [ref, Array(calls), result]


def is_quiet(machine: Running, ref: HashMapRef) -> bool:
    """Whether a write is done when the store has changed: there is nobody to tell, and no file."""
    store = machine.stores.hashmaps[ref.name]
    return not store.watchers and store.path is None


def _on_change(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> None:
    key, closure = arguments_of(site, arguments, ("k", "f"))
    machine.stores.view(ref).watch((key,), _watcher(closure, 2))


def _on_any_change(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> None:
    (closure,) = arguments_of(site, arguments, ("f",))
    machine.stores.view(ref).watch(None, _watcher(closure, 3))


def _watcher(closure: Any, parameters: int) -> Any:
    if type(closure) is not Closure or closure.function.argc != parameters:
        raise Panic("P015", f"expected a function of {parameters} parameters as a watcher, found {typeof(closure)}")
    return closure


# ---------------------------------------------------------------- the file of a hashmap


def _save(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    """Asks the host to rewrite the file with what the store holds now; nothing for a store without one."""
    store = machine.stores.hashmaps[ref.name]
    if store.path is None:
        return Ok(None)
    machine.suspend(task, "store", StoreFile(store.name, store.path, to_json(Map(store.items))))
    return SUSPENDED


def _read(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> Any:
    store = machine.stores.hashmaps[ref.name]
    machine.suspend(task, "store", StoreFile(store.name, store.path or "", None))
    return SUSPENDED


def _answered(machine: Running, task: Task, ref: HashMapRef, site: Site, arguments: list[Any]) -> None:
    """Takes the host's answer: the text of the file, nil, or an FsError, which is a panic here (O-5.12)."""
    (answer,) = arguments_of(site, arguments, ("answer",))
    store = machine.stores.hashmaps[ref.name]
    if type(answer) is Err:
        denied = answer.value.variant == "PermissionDenied"
        raise Panic("P407" if denied else "P412", f"file {store.path} of hashmap {store.name}: {answer.value.message}")
    if answer.value is not None:
        _load(machine, store, answer.value)


def _load(machine: Running, store: HashStore, text: str) -> None:
    data = read(text)
    if isinstance(data, Fault):
        raise Panic("P412", f"file {store.path} of hashmap {store.name} is no JSON: {data.reason}")
    program = machine.program
    builder = Builder(DeclaredTypes(program.types, program.classes, program.descriptors), Map({}))
    try:
        store.items = builder.build(data, ("map", store.key_type, store.value_type)).items
    except Misfit as misfit:
        place = builder.place()
        raise Panic("P412", f"file {store.path} of hashmap {store.name} does not fit: {misfit} at {place}") from None


# ---------------------------------------------------------------- ledgers


def _strings(value: Any) -> list[str]:
    items: list[str] = expect(value, Array, "Array").items
    for item in items:
        expect(item, str, "String")
    return items


def _insert(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> None:
    identifier, keys, value = arguments_of(site, arguments, ("id", "keys", "value"))
    expect(value, str, "String")
    machine.stores.ledger(ref).put(expect(identifier, str, "String"), _strings(keys), value)


def _update(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    identifier, value = arguments_of(site, arguments, ("id", "value"))
    ledger = machine.stores.ledger(ref)
    if identifier not in ledger.entries:
        return False
    ledger.put(identifier, ledger.entries[identifier][0], expect(value, str, "String"))
    return True


def _update_keys(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    identifier, keys = arguments_of(site, arguments, ("id", "keys"))
    ledger = machine.stores.ledger(ref)
    if identifier not in ledger.entries:
        return False
    ledger.put(identifier, _strings(keys), ledger.entries[identifier][1])
    return True


def _remove(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (identifier,) = arguments_of(site, arguments, ("id",))
    return machine.stores.ledger(ref).entries.pop(identifier, None) is not None


def _from_identifier(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (text,) = arguments_of(site, arguments, ("text",))
    return Array(machine.stores.ledger(ref).by_identifier(expect(text, str, "String")))


def _from_key(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (key,) = arguments_of(site, arguments, ("k",))
    return Array(machine.stores.ledger(ref).by_any_key([expect(key, str, "String")]))


def _from_any_keys(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (keys,) = arguments_of(site, arguments, ("ks",))
    return Array(machine.stores.ledger(ref).by_any_key(_strings(keys)))


def _from_exact_keys(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (keys,) = arguments_of(site, arguments, ("ks",))
    return Array(machine.stores.ledger(ref).by_all_keys(_strings(keys)))


def _query(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return LedgerQuery(ref.name, ref.scope)


def _ledger_scope(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (prefix,) = arguments_of(site, arguments, ("prefix",))
    return LedgerRef(ref.name, (*ref.scope, expect(prefix, str, "String")))


def _partition(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    (name,) = arguments_of(site, arguments, ("name",))
    return LedgerRef(ref.name, (*ref.scope, expect(name, str, "String")))


def _entries(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return Array(machine.stores.ledger(ref).records())


def _identifiers(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return Array(list(machine.stores.ledger(ref).identifiers()))


def _ledger_len(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return len(machine.stores.ledger(ref).entries)


def _ledger_is_empty(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> Any:
    return _ledger_len(machine, task, ref, site, arguments) == 0


def _ledger_clear(machine: Running, task: Task, ref: LedgerRef, site: Site, arguments: list[Any]) -> None:
    arguments_of(site, arguments, ())
    machine.stores.ledger(ref).entries.clear()


_HASHMAP = {
    "get": _get, "has": _has, "require": _require, "keys": _keys, "values": _values, "len": _len, "is_empty": _is_empty,
    "get_many": _get_many, "scope": _scope, "as_ref": _as_ref, "set": _set, "set_many": _set_many, "delete": _delete,
    "clear": _clear, "on_change": _on_change, "on_any_change": _on_any_change,
    # asked by the functions of StoreWrites only: no program can name them
    "save": _save, "read": _read, "answered": _answered,
}  # fmt: skip
READS = frozenset((_get, _has, _require, _keys, _values, _len, _is_empty, _get_many, _scope, _as_ref))
WRITES = frozenset((_set, _set_many, _delete, _clear))
_SEARCHES = {
    "from_identifier": _from_identifier, "from_key": _from_key, "from_any_keys": _from_any_keys,
    "from_exact_keys": _from_exact_keys,
}  # fmt: skip
_LEDGER = {
    "insert": _insert, "update": _update, "update_keys": _update_keys, "delete": _remove, "query": _query,
    "scope": _ledger_scope, "partition": _partition, "entries": _entries, "identifiers": _identifiers, "len": _ledger_len,
    "is_empty": _ledger_is_empty, "clear": _ledger_clear, **_SEARCHES,
}  # fmt: skip

HANDLERS: dict[tuple[str, str], Any] = {
    **{("HashMap", name): handler for name, handler in _HASHMAP.items()},
    **{("Ledger", name): handler for name, handler in _LEDGER.items()},
    **{("LedgerQuery", name): handler for name, handler in _SEARCHES.items()},
}


# ----------------------------------------------------------------
# Slots of contexts as the code of a program reads and writes them (M-10.2 to M-10.4), in the shape of the methods of handles.
#
# No row offers these methods to a program: the compiler calls them. Values of slots are of their declared types here and JSON
# for
# the memory that keeps them. Hands on `linked_slots` and `HANDLERS`.

WAY_OUT = (
    "give an added field a plain default or make it optional, name a renamed one by `@was`, "
    'or drop what is stored with `forget("{slot}")`'
)


class LinkedSlot:
    """`default`: the function that gives it, or None."""

    __slots__ = ("tier", "name", "descriptor", "default")

    def __init__(self, tier: str, name: str, descriptor: Any, default: Any) -> None:
        self.tier = tier
        self.name = name
        self.descriptor = descriptor
        self.default = default


class StoredBuilder(Builder):
    """Builds a value from what an earlier declaration of its type may have written (M-8.23): fields that were added have their
    defaults, those that were renamed the value under the name before, and what is declared no more is left out."""

    __slots__ = ("computed", "declared")

    def __init__(self, program: Any, computed: Any) -> None:
        self.declared = DeclaredTypes(program.types, program.classes, program.descriptors)
        super().__init__(self.declared, Map({}))
        self.defaults = _Defaults(self.declared)  # type: ignore[assignment]
        self.computed: Callable[[int], Any] = lambda number: computed(program.codes[number])

    def stored(self, data: Any, descriptor: Any) -> Any:
        built = self.build(data, descriptor)
        for struct, position, number in self.holes:
            setattr(struct, struct.__slots__[position], self.computed(number))
        return built

    def entries_of(self, data: Any, descriptor: Any) -> dict[str, Any]:
        entries = super().entries_of(data, descriptor)
        before = self.declared.names_before(descriptor[1]) if descriptor[0] in ("struct", "schema") else {}
        return {**{new: entries[old] for new, old in before.items() if old in entries}, **entries} if before else entries


class _Defaults:
    """The functions of defaults, by type and position of the field, as a Builder asks for them."""

    __slots__ = ("types",)

    def __init__(self, types: Any) -> None:
        self.types = types

    def get(self, place: str) -> int | None:
        key, _, position = place.rpartition(".")
        if key not in self.types.numbers:
            return None
        functions: dict[str, int] = self.types.field_defaults(key)
        return functions.get(self.types.struct_class(key).decl.fields[int(position)])


def linked_slots(image: Image, descriptors: list[Any], codes: list[Any]) -> dict[str, dict[str, LinkedSlot]]:
    """Slots by the name of the memory and their own."""
    contexts = [
        {
            name: LinkedSlot(tier, name, descriptors[type_index], None if default is None else codes[default])
            for tier, name, type_index, _, default, *_ in context.slots
        }
        for context in image.contexts
    ]
    return {memory.name: contexts[memory.context] for memory in image.memories if memory.context is not None}


def _find(machine: Running, memory: MemoryRef, name: Any) -> LinkedSlot:
    """What came from behind Any as a `Memory<C>` may be another memory."""
    slots: dict[str, LinkedSlot] = machine.program.slots.get(memory.name, {})
    found = slots.get(name) if type(name) is str else None
    if found is None:
        raise Panic("P014", f"the memory {memory.name} has no slot {name}")
    return found


def _load_slot(machine: Running, task: Task, memory: MemoryRef, slots: list[LinkedSlot]) -> list[Any]:
    """An Option for each, as one snapshot."""
    contents = machine.memories.at_once(memory, "slots", [[(slot.tier, slot.name) for slot in slots]], task)
    return [_decoded(machine, memory, slot, held) for slot, held in zip(slots, contents, strict=True)]


def _decoded(machine: Running, memory: MemoryRef, slot: LinkedSlot, held: list[Any]) -> Any:
    """`held`: the content, or nothing."""
    if not held:
        return NONE
    builder = StoredBuilder(machine.program, machine.memories.computed)
    try:
        return Some(builder.stored(from_json(held[0]), slot.descriptor))
    except Misfit as misfit:
        key = f" (key {', '.join(map(str, memory.key))})" if memory.key else ""
        what = f"the slot {slot.name} of {memory.name}{key} does not fit its type: {misfit} at {builder.place()}"
    except Panic as panic:
        what = f"a field of the slot {slot.name} of {memory.name} is absent, and its default cannot be computed here: {panic}"
    raise Panic("P452", f"{what}; {WAY_OUT.format(slot=slot.name)}") from None


def _fitting(machine: Running, memory: MemoryRef, slot: LinkedSlot) -> Any:
    """What gives the value of a stored content, None where it does not fit."""

    def value(content: Any) -> Any:
        try:
            return _decoded(machine, memory, slot, [content]).value
        except Panic:
            return None

    return value


def _slot(machine: Running, task: Task, memory: MemoryRef, name: Any, option: Any) -> Any:
    """The value of a slot with a default, else an Option; `option` is what the function loaded before."""
    slot = _find(machine, memory, name)
    if option is None:
        (option,) = _load_slot(machine, task, memory, [slot])
    if slot.default is None:
        return share(option)
    return share(option.value) if type(option) is Some else Invoke(slot.default, [], ())


def _needed(machine: Running, task: Task, memory: MemoryRef, name: Any, option: Any) -> Any:
    if type(option) is not Some:
        raise Panic("P454", f"the slot {name} of {memory.name} was forgotten, which this function needs")
    return share(option.value)


def _enter(machine: Running, task: Task, memory: MemoryRef, names: Any, needed: Any, function: Any) -> Any:
    """The Options of all listed slots, or the error that names those needed without a value (M-10.3)."""
    slots = [_find(machine, memory, name) for name in expect(names, Array, "Array").items]
    options = _load_slot(machine, task, memory, slots)
    absent = [slot.name for slot, option in zip(slots, options, strict=True) if type(option) is not Some]
    missing = [name for name in expect(needed, Array, "Array").items if name in absent]
    if not missing:
        return Ok(Array(options))
    what = f"the slot {missing[0]}" if len(missing) == 1 else f"the slots {', '.join(missing)}"
    message = f"{function} needs {what} of {memory.name}: no value"
    fields = {"message": message, "memory": memory.name, "slots": Array(list(missing)), "function": function}
    return Err(make_error("MissingContextError", None, fields))


def _seen(machine: Running, task: Task, memory: MemoryRef, name: Any) -> Any:
    """What a change in place begins with (M-8.21): the Option of what is stored, whatever the function saw before, and the text
    that says what it was, "" for nothing. No access: what follows is one."""
    slot = _find(machine, memory, name)
    content, said = machine.memories.at_once(memory, "seen_slot", [slot.tier, slot.name], task)
    return (_decoded(machine, memory, slot, content), said)


def _swap(machine: Running, task: Task, memory: MemoryRef, name: Any, value: Any, said: Any, held: Any) -> Any:
    """Whether the slot held what `_seen` said until it was written, and, for a function that holds it, the Option of what is
    stored then."""
    slot = _find(machine, memory, name)
    arguments = [slot.tier, slot.name, value, expect(said, str, "String"), _fitting(machine, memory, slot)]
    stored = machine.memories.at_once(memory, "swap_slot", arguments, task)
    return (bool(stored), _decoded(machine, memory, slot, stored) if held is True else NONE)


def _put(machine: Running, task: Task, memory: MemoryRef, name: Any, value: Any) -> Any:
    """The Option of what is stored now: a redactor may have rewritten it."""
    slot = _find(machine, memory, name)
    arguments = [slot.tier, name, value, _fitting(machine, memory, slot)]
    stored = machine.memories.at_once(memory, "put_slot", arguments, task)
    return _decoded(machine, memory, slot, [stored])


def _after(machine: Running, task: Task, memory: MemoryRef, name: Any, written: Any, held: Any) -> Any:
    """What the function holds of a slot after it wrote the fact `written` by its name."""
    return _load_slot(machine, task, memory, [_find(machine, memory, name)])[0] if name == written else held


# Each with the names of its parameters and the defaults of the last of them.
_METHODS: dict[str, tuple[Any, tuple[str, ...], tuple[Any, ...]]] = {
    "_slot": (_slot, ("name", "held"), (None,)),
    "_needed": (_needed, ("name", "held"), ()),
    "_enter": (_enter, ("names", "needed", "function"), ()),
    "_seen": (_seen, ("name",), ()),
    "_swap": (_swap, ("name", "value", "said", "held"), ()),
    "_put": (_put, ("name", "value"), ()),
    "_after": (_after, ("name", "written", "held"), ()),
}


CHANGING = ("_seen", "_swap")
"""Begin and end of a change in place, before which its turn may have to be waited for."""


def is_slot_method(name: str) -> bool:
    return name in _METHODS


def slot_method(machine: Running, task: Task, memory: MemoryRef, name: str, arguments: list[Any]) -> Any:
    """What such a method gives, or what is to be called for it."""
    return _METHODS[name][0](machine, task, memory, *arguments)


def _called(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    given = arguments_of(site, arguments, *_METHODS[site.name][1:])
    if site.name in CHANGING and machine.memories.is_queued(memory, given[0]):
        machine.suspend(task, "memory", MemoryUse(memory, site.name, given))
        return SUSPENDED
    try:
        value = slot_method(machine, task, memory, site.name, given)
        came_too_late = site.name == "_swap" and not value[0] and machine.memories.is_shared(memory)
        if not came_too_late:
            return value
    except machine.memories.must_wait:
        pass
    machine.suspend(task, "memory", MemoryUse(memory, site.name, given))  # who came too late makes room for the others
    return SUSPENDED


SLOT_HANDLERS: dict[tuple[str, str], Any] = {("Memory", name): _called for name in _METHODS}
