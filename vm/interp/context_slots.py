"""Slots of contexts as the code of a program reads and writes them (M-8.21, M-8.23, M-10.2 to M-10.4).

A context declares typed values, its slots, which a memory keeps beside its messages, each as one of its facts. Values of slots
have their declared types here and are JSON for the memory that stores them. No signature offers these hidden methods to a
program: the compiler calls them. Hands on `linked_slots` to the linker, and `slot_method`, `is_slot_method` and `CHANGING` to the
host, which calls a method again when it has waited (`runtime/effects/memories.py`). The method of hashmaps in a store
(`stored_hashmaps.py`) is a row of BODIES too. This module does no I/O: what is stored, `machine.memories` reads and writes.
"""

from __future__ import annotations

from ..builtins.binding import expect, in_order
from ..builtins.json import Misfit, StoredBuilder
from ..builtins.registry import HIDDEN, hidden
from ..builtins.signatures import name_in
from ..panics import Panic
from ..values import NONE, Array, Err, Ok, Some, from_json, make_error, share
from .effects import MemoryUse
from .stored_hashmaps import TABLE, table
from .tasks import SUSPENDED, Invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..bytecode.image import Image
    from ..values import MemoryRef
    from .effects import MachineContext
    from .linked import Site
    from .tasks import Task

    Body = Callable[..., Any]


WAY_OUT = (
    "give an added field a plain default or make it optional, name a renamed one by `@was`, "
    'or drop what is stored with `forget("{slot}")`'
)


class LinkedSlot:
    """A slot of a context in a linked program. `name`: as the context declares it; `tier`: how long it lives, "persistent",
    "session" or "ephemeral", the tier of the fact that it is (M-10.2); `descriptor`: its type, as a nested tuple; `default`: the
    `Code` that computes its value where none is stored, or None."""

    __slots__ = ("tier", "name", "descriptor", "default")

    def __init__(self, tier: str, name: str, descriptor: Any, default: Any) -> None:
        self.tier = tier
        self.name = name
        self.descriptor = descriptor
        self.default = default


def linked_slots(image: Image, descriptors: list[Any], codes: list[Any]) -> dict[str, dict[str, LinkedSlot]]:
    """Return the slots of a program by the name of the memory, then by their own. `descriptors` and `codes`: those of the types
    and functions of the image, by number."""
    contexts = [
        {
            name: LinkedSlot(tier, name, descriptors[type_index], None if default is None else codes[default])
            for tier, name, type_index, _, default, *_ in context.slots
        }
        for context in image.contexts
    ]
    return {memory.name: contexts[memory.context] for memory in image.memories if memory.context is not None}


def _find(machine: MachineContext, memory: MemoryRef, name: Any) -> LinkedSlot:
    """Return the slot of a memory. Raises P014 when it has none of that name: what comes from behind Any as a `Memory<C>` may
    be another memory."""
    slots: dict[str, LinkedSlot] = machine.program.slots.get(memory.name, {})
    slot = slots.get(name) if type(name) is str else None
    if slot is None:
        raise Panic("P014", f"the memory {memory.name} has no slot {name}")
    return slot


def _load_slots(machine: MachineContext, task: Task, memory: MemoryRef, slots: list[LinkedSlot]) -> list[Any]:
    """Return an Option of the value of each slot, all read at one moment. Raises as `slot_method`."""
    contents = machine.memories.at_once(memory, "slots", [[(slot.tier, slot.name) for slot in slots]], task)
    return [_decoded(machine, memory, slot, content) for slot, content in zip(slots, contents, strict=True)]


def _decoded(machine: MachineContext, memory: MemoryRef, slot: LinkedSlot, content: list[Any]) -> Any:
    """Return the Option of a slot's value; `content`: a list of its stored JSON, or []. Raises P452 when it does not fit the
    type."""
    if not content:
        return NONE
    builder = StoredBuilder(machine.program, machine.memories.computed)
    try:
        return Some(builder.stored(from_json(content[0]), slot.descriptor))
    except (Misfit, ValueError) as misfit:  # ValueError of a number beyond Float
        key = f" (key {', '.join(map(str, memory.key))})" if memory.key else ""
        what = f"the slot {slot.name} of {memory.name}{key} does not fit its type: {misfit} at {builder.place()}"
    except Panic as panic:
        what = f"a field of the slot {slot.name} of {memory.name} is absent, and its default cannot be computed here: {panic}"
    raise Panic("P452", f"{what}; {WAY_OUT.format(slot=slot.name)}") from None


def _fitting(machine: MachineContext, memory: MemoryRef, slot: LinkedSlot) -> Any:
    """Return the function from stored content to the slot's value, None where it does not fit."""

    def value(content: Any) -> Any:
        try:
            return _decoded(machine, memory, slot, [content]).value
        except Panic:
            return None

    return value


# ---------------------------------------------------------------- the methods

BODIES: dict[str, Body] = {}
# Begin and end of a change in place, before which its turn may have to be waited for.
CHANGING = ("_seen", "_swap")


# Not of a slot: a method of a hashmap in a store (O-5.41), which waits, and is called again by the host, in the same way.
BODIES[TABLE] = table


def is_slot_method(name: str) -> bool:
    """Return whether a memory's method is a row of BODIES: one of a slot, or TABLE of a hashmap in a store."""
    return name in BODIES


def slot_method(machine: MachineContext, task: Task, memory: MemoryRef, name: str, arguments: list[Any]) -> Any:
    """Return the result of such a method, or the `Invoke` that computes it, by which the loop enters a function. `name` is one
    for which `is_slot_method` is true, `arguments` all of its arguments in order. Raises `must_wait` of the memories when it has
    to wait, and then has done nothing; P007 for arguments of another kind, P014 for a slot that the memory does not have, P452
    for stored content that does not fit its type, P454 for a slot without the value that the function needs, RecursionError as
    `StoredBuilder.stored`, and what the memory's own methods panic with. TABLE raises as `stored_hashmaps.table`, P412 among
    them."""
    return BODIES[name](machine, task, memory, *arguments)


def _slot_row(text: str) -> Callable[[Body], Body]:
    """Declare a hidden method of memories with this signature; the decorated function does its work."""

    def register(body: Body) -> Body:
        BODIES[name_in(text)] = body
        hidden("Memory", text, by_site=True)(_called)
        return body

    return register


def _called(machine: MachineContext, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    values = in_order(HIDDEN["Memory", site.name], site, arguments)
    if site.name not in CHANGING or not machine.memories.is_queued(memory, values[0]):
        try:
            value = slot_method(machine, task, memory, site.name, values)
            came_too_late = site.name == "_swap" and not value[0] and machine.memories.is_shared(memory)
            if not came_too_late:
                return value
        except machine.memories.must_wait:
            pass
    # who came too late makes room for the others
    machine.suspend(task, "memory", MemoryUse(memory, site.name, values))
    return SUSPENDED


@_slot_row("_slot(name: Any, held: Any = nil) -> Any")
def _slot(machine: MachineContext, task: Task, memory: MemoryRef, name: Any, option: Any) -> Any:
    """Return the value of a slot with a default, else an Option. `option`: what the function loaded before, or nil."""
    slot = _find(machine, memory, name)
    if option is None:
        (option,) = _load_slots(machine, task, memory, [slot])
    if slot.default is None:
        return share(option)
    return share(option.value) if type(option) is Some else Invoke(slot.default, [], ())


@_slot_row("_needed(name: Any, held: Any) -> Any")
def _needed(machine: MachineContext, task: Task, memory: MemoryRef, name: Any, option: Any) -> Any:
    """Return the value of a slot that the function needs. Raises P454 when it was forgotten meanwhile."""
    if type(option) is not Some:
        raise Panic("P454", f"the slot {name} of {memory.name} was forgotten, which this function needs")
    return share(option.value)


@_slot_row("_enter(names: Array<String>, needed: Array<String>, function: Any) -> Any")
def _enter(machine: MachineContext, task: Task, memory: MemoryRef, names: Any, needed: Any, function: Any) -> Any:
    """Return the Options of all listed slots, or the error that names those of `needed` without a value (M-10.3)."""
    slots = [_find(machine, memory, name) for name in expect(names, Array, "Array").items]
    options = _load_slots(machine, task, memory, slots)
    absent = [slot.name for slot, option in zip(slots, options, strict=True) if type(option) is not Some]
    missing = [name for name in expect(needed, Array, "Array").items if name in absent]
    if not missing:
        return Ok(Array(options))
    what = f"the slot {missing[0]}" if len(missing) == 1 else f"the slots {', '.join(missing)}"
    message = f"{function} needs {what} of {memory.name}: no value"
    fields = {"message": message, "memory": memory.name, "slots": Array(list(missing)), "function": function}
    return Err(make_error("MissingContextError", None, fields))


@_slot_row("_seen(name: Any) -> Any")
def _seen(machine: MachineContext, task: Task, memory: MemoryRef, name: Any) -> Any:
    """Begin a change in place (M-8.21): return the Option of what is stored, whatever the function saw before, and a text that
    identifies that content, "" for none. This is no access; the write that follows is one."""
    slot = _find(machine, memory, name)
    content, fingerprint = machine.memories.at_once(memory, "seen_slot", [slot.tier, slot.name], task)
    return (_decoded(machine, memory, slot, content), fingerprint)


@_slot_row("_swap(name: Any, value: Any, said: String, held: Any) -> Any")
def _swap(machine: MachineContext, task: Task, memory: MemoryRef, name: Any, value: Any, fingerprint: Any, is_bound: Any) -> Any:
    """Write a slot if it still holds what `_seen` returned. Return whether it was written, and, for a function that has the
    slot bound, the Option of what is stored then."""
    slot = _find(machine, memory, name)
    arguments = [slot.tier, slot.name, value, expect(fingerprint, str, "String"), _fitting(machine, memory, slot)]
    stored = machine.memories.at_once(memory, "swap_slot", arguments, task)
    return (bool(stored), _decoded(machine, memory, slot, stored) if is_bound is True else NONE)


@_slot_row("_put(name: Any, value: Any) -> Any")
def _put(machine: MachineContext, task: Task, memory: MemoryRef, name: Any, value: Any) -> Any:
    """Write a slot, and return the Option of what is stored now: a redactor may have rewritten it."""
    slot = _find(machine, memory, name)
    arguments = [slot.tier, name, value, _fitting(machine, memory, slot)]
    stored = machine.memories.at_once(memory, "put_slot", arguments, task)
    return _decoded(machine, memory, slot, [stored])


@_slot_row("_after(name: Any, written: Any, held: Any) -> Any")
def _after(machine: MachineContext, task: Task, memory: MemoryRef, name: Any, written: Any, current: Any) -> Any:
    """Return what the function has of a slot after it wrote the fact `written` by its name."""
    return _load_slots(machine, task, memory, [_find(machine, memory, name)])[0] if name == written else current
