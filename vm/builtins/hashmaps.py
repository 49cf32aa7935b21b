"""Methods of hashmaps (L-6.8.7, O-5.2 to O-5.13).

A method that writes changes the store first. If somebody watches or the store has a file, the rest is the hidden function
`StoreWrites::finish`, written in the language, so that watchers run on the machine's own frames and the file is written by an
effect. A watched write to a hashmap whose entries are in a store (O-5.41) is all in `StoreWrites::keep`.

A handle (`ref`) names a hashmap and a scope of it, whose view shows the keys with the prefix of the scope and without that
prefix. A method of `access` "read" needs neither the host nor functions of the program where the entries are in memory, one of
"write" only where `is_quiet` says so. Bodies panic with P007 for a key that is none or an argument of another type, P005 for a
key in brackets that is not there, P415 for a key or value that is not of the declared type, P411 for a scope where keys are no
Strings, P015 for a watcher of another number of parameters, P405 for watchers that nest too deep, P407 and P412 for the file,
P412 for a store, P014 for an image without one of the functions of MACHINERY, and P103 where the JSON text of a key or of the
entries is too long. Where many entries are walked over, what ends the run may come out.

Hands on rows to the registry: the docstring of a decorated function is its text in the reference, for readers of the language.
Hands on `is_quiet` to dispatch; `finish_call`, `machinery` and `FINISH` to the tools that models get
(`runtime/tools/memory_tools.py`), `machinery` and `LOAD` to sessions; `BODIES`, `WRITES` and `calls_of` to
`interp/stored_hashmaps.py`. What a hashmap holds is `interp/stores.py`; its file is read and written by
`runtime/effects/memories.py`.
"""

from __future__ import annotations

from ..interp.effects import StoreFile
from ..interp.tasks import SUSPENDED, Invoke
from ..panics import Panic
from ..values import NONE, Array, Closure, Err, HashMapRef, Map, Ok, Some, key_of, make_error, share, to_json, typeof
from ..values.access import key_not_found
from ..values.metering import paced, works_on
from .registry import handle, hidden, prelude
from .signatures import name_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..interp.effects import MachineContext
    from ..interp.linked import Code
    from ..interp.stores import Change, HashStore
    from ..interp.tasks import Task

    Body = Callable[..., Any]


HASHMAP = "HashMap<K, V>"
# The type of no value: its functions `finish`, `keep` and `load` are the part of a write, of a write to a store, and of the
# declaration of a hashmap with a file, that calls functions and waits for the host.
MACHINERY = "StoreWrites"
FINISH = (MACHINERY, "finish")
KEEP = (MACHINERY, "keep")
LOAD = (MACHINERY, "load")
LONGEST_CHAIN = 16  # writes that watchers make one inside the other (P405)
MISSING = object()


# ---------------------------------------------------------------- entries in a store (O-5.41)

# The bodies of the methods declared below, by name: what they do on a hashmap whose entries are in the memory of the process.
# Those that only read serve one in a store, too: there `machine` has nothing but `stores`.
BODIES: dict[str, Any] = {}
# The methods that change entries. In a store `_Entries.changed` of `interp/stored_hashmaps.py` does each in place of its body.
WRITES = ("set", "delete", "clear", "set_many", "_swap")


def method(text: str, *, clause: str, access: str, declare: Any = handle) -> Callable[[Body], Body]:
    """Declare a method that reads or writes entries, and enter its body into BODIES. Where the entries of the hashmap are in a
    store, `HashStore.kept`, None for any other, does the method instead of the body, SUSPENDED where it has to wait; a method of
    WRITES on one that is watched enters the function KEEP."""
    name = name_in(text)

    def register(body: Body) -> Body:
        BODIES[name] = body

        def entry(machine: MachineContext, task: Task, ref: HashMapRef, *arguments: Any) -> Any:
            store = machine.stores.hashmaps[ref.name]
            if store.kept is None:
                return body(machine, task, ref, *arguments)
            if name in WRITES and store.watchers:
                return Invoke(machinery(machine, KEEP, store.name), [ref, name, Array(list(arguments))], ())
            return store.kept(machine, task, ref, name, arguments, False)

        entry.__wrapped__ = body  # type: ignore[attr-defined]  # for whoever asks what it takes
        declare(HASHMAP, text, clause=clause, access=access, doc=body.__doc__ or "")(entry)
        return body

    return register


@hidden(HASHMAP, "written(name: Any, arguments: Any) -> Any")
def written(machine: MachineContext, task: Task, ref: HashMapRef, name: str, arguments: Array) -> Any:
    """Write entries that are in a store; return the tuple (Array of calls of watchers, result), or SUSPENDED. A call is (whether
    the watcher is of every key, watcher, key, Option of the old value, Option of the new one)."""
    return machine.stores.hashmaps[ref.name].kept(machine, task, ref, name, tuple(arguments.items), True)


# ---------------------------------------------------------------- writing


@method("set(k: K, v: V) -> Nil", clause="O-5.2", access="write")
def put(machine: MachineContext, task: Task, ref: HashMapRef, key: Any, value: Any) -> Any:
    """Writes an entry; a replaced key keeps its place."""
    store = machine.stores.hashmaps[ref.name]
    if not (store.watchers or store.path is not None or ref.scope):
        store.put(key, value)
        return None
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, store, [view.set(key, value)], None)


# ---------------------------------------------------------------- reading


@method("get(k: K) -> Option<V>", clause="O-5.2", access="read")
def get(machine: MachineContext, task: Task, ref: HashMapRef, key: Any) -> Any:
    """The value of a key."""
    if ref.scope:
        return machine.stores.view(ref).find(key)
    store = machine.stores.hashmaps[ref.name]
    value = store.items.get(key if type(key) is str else key_of(key), MISSING)
    if value is MISSING:
        return NONE
    return Some(value if store.value_class is not None else share(value))


@method("_at(k: K) -> V", clause="", access="read", declare=hidden)
def at(machine: MachineContext, task: Task, ref: HashMapRef, key: Any) -> Any:
    """`h[k]` (O-5.40). Raises P005 for a key that is not there, as a Map does."""
    view = machine.stores.view(ref)
    value = view.store.items.get(view.key(key), MISSING)
    return key_not_found(key) if value is MISSING else share(value)


@method("_swap(k: K, old: V, new: V) -> Bool", clause="", access="write", declare=hidden)
def swap(machine: MachineContext, task: Task, ref: HashMapRef, key: Any, old: Any, new: Any) -> Any:
    """End a change of an entry in place (O-5.40): write `new` if the entry still holds `old`, which `_at` gave, and return
    whether it was written. Nobody else writes to a hashmap that is not in a store meanwhile, so this body always writes."""
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, view.store, [view.set(key, new)], True)


@method("has(k: K) -> Bool", clause="O-5.2", access="read")
def has(machine: MachineContext, task: Task, ref: HashMapRef, key: Any) -> Any:
    """Whether the key is there."""
    if ref.scope:
        return machine.stores.view(ref).has(key)
    return (key if type(key) is str else key_of(key)) in machine.stores.hashmaps[ref.name].items


@method("delete(k: K) -> Bool", clause="O-5.3", access="write")
def delete(machine: MachineContext, task: Task, ref: HashMapRef, key: Any) -> Any:
    """Removes an entry; whether it was there."""
    view = machine.stores.view(ref)
    if not view.store.watchers and view.store.path is None:
        return view.store.items.pop(view.key(key), MISSING) is not MISSING
    changes = view.delete([view.key(key)])
    return _finish(machine, task, ref, view.store, changes, bool(changes))


@method("keys() -> Array<K>", clause="O-5.4", access="read")
def keys(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """The keys in insertion order."""
    return Array([key for key, _ in machine.stores.view(ref).entries()])


@method("values() -> Array<V>", clause="O-5.4", access="read")
def values(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """The values in insertion order."""
    return Array([value for _, value in machine.stores.view(ref).entries()])


@method("entries() -> Array<(K, V)>", clause="O-5.38", access="read")
def entries(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Key and value of each entry, in insertion order."""
    return Array(list(machine.stores.view(ref).entries()))


@method("merge(o: Map<K, V>) -> Map<K, V>", clause="O-5.38", access="read")
def merge(machine: MachineContext, task: Task, ref: HashMapRef, other: Map) -> Any:
    """A Map of the entries, and of those of another Map, which win; the hashmap stays as it is."""
    if type(other) is not Map:
        raise Panic("P007", f"expected Map, found {typeof(other)}")
    merged = {key_of(key): value for key, value in machine.stores.view(ref).entries()}
    return Map({**merged, **share(other).items})


@method("len() -> Int", clause="O-5.4", access="read")
def size(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Number of entries."""
    return machine.stores.view(ref).size()


@method("is_empty() -> Bool", clause="O-5.4", access="read")
def is_empty(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Whether there is no entry."""
    return machine.stores.view(ref).size() == 0


@method("clear() -> Nil", clause="O-5.4", access="write")
def clear(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Removes every entry."""
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, view.store, view.delete(view.inside()), None)


@method("set_many(entries: Map<K, V>) -> Nil", clause="O-5.7", access="write")
def put_many(machine: MachineContext, task: Task, ref: HashMapRef, entries: Map) -> Any:
    """Writes all entries in one step."""
    view = machine.stores.view(ref)
    return _finish(machine, task, ref, view.store, view.set_many(entries), None)


@method("get_many(keys: Array<K>) -> Map<K, Option<V>>", clause="O-5.7", access="read")
def get_many(machine: MachineContext, task: Task, ref: HashMapRef, wanted: Array) -> Any:
    """The values of several keys in one step."""
    view = machine.stores.view(ref)
    works_on(len(wanted.items))
    return Map({key_of(key): view.find(key) for key in paced(wanted.items)})


@handle(HASHMAP, "scope(prefix: String) -> HashMap<K, V>", clause="O-5.8", access="read")
def scope(machine: MachineContext, task: Task, ref: HashMapRef, prefix: str) -> Any:
    """A view of the keys that begin with `prefix:`: both see them."""
    if machine.stores.view(ref).store.key_type[0] not in ("string", "any"):
        raise Panic("P411", f"hashmap {ref.name} has no scopes: its keys are no Strings")
    return HashMapRef(ref.name, (*ref.scope, prefix))


@handle(HASHMAP, "as_ref() -> HashMap<K, V>", clause="L-6.8.7", access="read")
def as_ref(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """The hashmap itself."""
    return ref


@method("require(k: K) -> Result<V, HashMapError>", clause="O-5.13", access="read")
def require(machine: MachineContext, task: Task, ref: HashMapRef, key: Any) -> Any:
    """The value of a key, or KeyNotFound."""
    value = machine.stores.view(ref).find(key)
    if type(value) is Some:
        return Ok(value.value)
    return Err(make_error("HashMapError", "KeyNotFound", (f"key not found in hashmap {ref.name}: {to_json(key)}",)))


prelude(
    HASHMAP, "query(pred: fn(K, V) -> Bool) -> Map<K, V>", clause="O-5.5", doc="The entries that satisfy the predicate.",
    source="let mut found: Map<Any, Any> = {}; for (k, v) in self.entries() { if pred(k, v) { found.set(k, v); } } found",
)  # fmt: skip
prelude(
    HASHMAP, "find(pred: fn(K, V) -> Bool) -> Option<(K, V)>", clause="O-5.6",
    doc="The first entry that satisfies the predicate.",
    source="for (k, v) in self.entries() { if pred(k, v) { return Some((k, v)); } } None",
)  # fmt: skip


# ---------------------------------------------------------------- watchers


@handle(HASHMAP, "on_change(k: K, f: fn(Option<V>, Option<V>)) -> Nil", clause="O-5.9")
def on_change(machine: MachineContext, task: Task, ref: HashMapRef, key: Any, closure: Any) -> None:
    """Calls f after each change of a key."""
    machine.stores.view(ref).watch((key,), _watcher(closure, 2))


@handle(HASHMAP, "on_any_change(f: fn(K, Option<V>, Option<V>)) -> Nil", clause="O-5.9")
def on_any_change(machine: MachineContext, task: Task, ref: HashMapRef, closure: Any) -> None:
    """Calls f after each change."""
    machine.stores.view(ref).watch(None, _watcher(closure, 3))


def _watcher(closure: Any, parameters: int) -> Any:
    if type(closure) is not Closure or closure.function.argc != parameters:
        raise Panic("P015", f"expected a function of {parameters} parameters as a watcher, found {typeof(closure)}")
    return closure


# ---------------------------------------------------------------- what follows a write


def is_quiet(machine: MachineContext, ref: HashMapRef) -> bool:
    """Return whether a write is complete when the hashmap of the process has changed: it has neither watchers nor a file, and its
    entries are not in a store."""
    store = machine.stores.hashmaps[ref.name]
    return not store.watchers and store.path is None and store.kept is None


def _finish(
    machine: MachineContext, task: Task, ref: HashMapRef, store: HashStore, changes: list[Change], result: Any
) -> Any:
    """Hand a write that is done to the file and to the watchers, if there are any. Raises as `finish_call`."""
    rest = finish_call(machine, task, ref, store, changes, result)
    return result if rest is None else Invoke(*rest, ())


def finish_call(
    machine: MachineContext, task: Task, ref: HashMapRef, store: HashStore, changes: list[Change], result: Any = None
) -> tuple[Code, list[Any]] | None:
    """Return the function that passes changes, each (dict key, Option of the old value, Option of the new one), to file and
    watchers, and its arguments; `result` is what that function gives in the end. None where nothing changed, or where there is
    neither a file nor a watcher of these changes. Raises P405 as `calls_of` does, and P014 for an image without that function."""
    calls = calls_of(machine, task, store, changes)
    if not changes or not (calls or store.path):
        return None
    return machinery(machine, FINISH, store.name), [ref, Array(calls), result]


def calls_of(machine: MachineContext, task: Task, store: HashStore, changes: list[Change]) -> list[Any]:
    """Return the calls of the watchers of changes that the task has made, as `HashStore.calls` does: (whether the watcher is of
    every key, closure, key, Option of the old value, Option of the new one). Raises P405 where the write stands inside of
    LONGEST_CHAIN others, each by a watcher of the one before (O-5.11)."""
    calls = store.calls(changes)
    if calls:
        functions = [machine.program.language_methods.get(name) for name in (FINISH, KEEP)]
        # The bottom frame has no code.
        if sum(frame[3] is not None and frame[3] in functions for frame in task.frames) >= LONGEST_CHAIN:
            raise Panic("P405", f"watchers of hashmap {store.name} call each other more than {LONGEST_CHAIN} deep")
    return calls


def machinery(machine: MachineContext, name: tuple[str, str], hashmap: str) -> Code:
    """Return the hidden function of that name, which a hashmap needs. Raises P014 for an image without it."""
    code: Code | None = machine.program.language_methods.get(name)
    if code is None:
        raise Panic("P014", f"the image lacks {'::'.join(name)}, which hashmap {hashmap} needs")
    return code


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
    MACHINERY, "keep(name: Any, arguments: Any) -> Any", clause="O-5.41", doc="Writes the store, then tells the watchers.",
    source="""
        let told = self.written(name, arguments);
        for (every, watcher, key, old, new) in told.0 {
            let ignored = if every { watcher(key, old, new) } else { watcher(old, new) };
        }
        told.1
    """,
)
prelude(
    MACHINERY, "load() -> Nil", clause="O-5.12", doc="Fills the store from its file.",
    source="self.answered(self.read()); nil",
)  # fmt: skip


# ---------------------------------------------------------------- the file of a hashmap, which `finish` and `load` ask for


@hidden(HASHMAP, "save() -> Any")
def save(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Ask the host to rewrite the file with what the store holds now; `Ok(nil)` at once for a store without one. Raises P412 for
    entries that could not be read again, such as a Float that is no number."""
    store = machine.stores.hashmaps[ref.name]
    if store.path is None:
        return Ok(None)
    content = to_json(Map(store.items))
    if "null" in content:  # what is no number has no other form
        _entries_in(machine, store, content, "would not fit")
    machine.suspend(task, "store", StoreFile(store.name, store.path, content))
    return SUSPENDED


@hidden(HASHMAP, "read() -> Any")
def read(machine: MachineContext, task: Task, ref: HashMapRef) -> Any:
    """Ask the host for the text of the file; return SUSPENDED."""
    store = machine.stores.hashmaps[ref.name]
    machine.suspend(task, "store", StoreFile(store.name, store.path or "", None))
    return SUSPENDED


@hidden(HASHMAP, "answered(answer: Any) -> Nil")
def answered(machine: MachineContext, task: Task, ref: HashMapRef, answer: Any) -> None:
    """Take the host's answer: the text of the file, nil, or an FsError, which is a panic here: P407 where the host denies the
    file, else P412, also for a text that does not fit the declared types (O-5.12)."""
    store = machine.stores.hashmaps[ref.name]
    if type(answer) is Err:
        denied = answer.value.variant == "PermissionDenied"
        raise Panic("P407" if denied else "P412", f"file {store.path} of hashmap {store.name}: {answer.value.message}")
    if answer.value is not None:
        store.items = _entries_in(machine, store, answer.value, "does not fit")


def _entries_in(machine: MachineContext, store: HashStore, content: str, unfit: str) -> dict[Any, Any]:
    """Return the entries that the text of a file has. Raises P412 for a text that is no JSON or, in the words `unfit`, of another
    type."""
    from .json import Fault, Misfit, StoredBuilder, read  # few programs keep a hashmap in a file

    data = read(content)
    if isinstance(data, Fault):
        raise Panic("P412", f"file {store.path} of hashmap {store.name} is no JSON: {data.reason}")
    builder = StoredBuilder(machine.program, machine.memories.computed)
    try:
        entries: dict[Any, Any] = builder.stored(data, ("map", store.key_type, store.value_type)).items
    except (Misfit, RecursionError) as misfit:
        place = builder.place()
        raise Panic("P412", f"file {store.path} of hashmap {store.name} {unfit}: {misfit} at {place}") from None
    return entries
