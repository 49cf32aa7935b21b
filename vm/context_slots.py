"""Slots of contexts as the code of a program reads and writes them (M-10.2 to M-10.4), in the shape of the methods of handles.

No row offers these methods to a program: the compiler calls them. Values of slots are of their declared types here and JSON for
the memory that keeps them. Hands on `linked_slots` and `SLOT_METHODS`. Must not know: tiers' life times, stores.
"""

from __future__ import annotations

import json

from .builtins.std.json_types import Builder, Misfit
from .declared_types import DeclaredTypes
from .panics import Panic
from .signals import Invoke
from .values import NONE, Array, Err, Map, Ok, Some, from_json, make_error, share, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .bytecode.image import Image
    from .effects import Running
    from .linked import Site
    from .tasks import Task
    from .values import MemoryRef


class LinkedSlot:
    """`default`: the function that gives it, or None."""

    __slots__ = ("tier", "name", "descriptor", "default")

    def __init__(self, tier: str, name: str, descriptor: Any, default: Any) -> None:
        self.tier = tier
        self.name = name
        self.descriptor = descriptor
        self.default = default


def linked_slots(image: Image, descriptors: list[Any], codes: list[Any]) -> dict[str, dict[str, LinkedSlot]]:
    """Slots by the name of the memory and their own."""
    contexts = [
        {
            name: LinkedSlot(tier, name, descriptors[type_index], None if default is None else codes[default])
            for tier, name, type_index, _, default in context.slots
        }
        for context in image.contexts
    ]
    return {memory.name: contexts[memory.context] for memory in image.memories if memory.context is not None}


def _find(machine: Running, memory: MemoryRef, name: str) -> LinkedSlot:
    """What came from behind Any as a `Memory<C>` may be another memory."""
    found: LinkedSlot | None = machine.program.slots.get(memory.name, {}).get(name)
    if found is None:
        raise Panic("P014", f"the memory {memory.name} has no slot {name}")
    return found


def _load(machine: Running, task: Task, memory: MemoryRef, slots: list[LinkedSlot]) -> list[Any]:
    """An Option for each, as one snapshot."""
    contents = machine.memories.perform(memory, "slots", [[(slot.tier, slot.name) for slot in slots]], task)
    return [_decoded(machine, memory, slot, held) for slot, held in zip(slots, contents, strict=True)]


def _decoded(machine: Running, memory: MemoryRef, slot: LinkedSlot, held: list[Any]) -> Any:
    """`held`: the content, or nothing."""
    if not held:
        return NONE
    program = machine.program
    builder = Builder(DeclaredTypes(program.types, program.classes, program.descriptors), Map({}))
    try:
        return Some(builder.build(from_json(held[0]), slot.descriptor))
    except Misfit as misfit:
        reason = f"{misfit} at {builder.place()}"
        raise Panic("P452", f"the slot {slot.name} of {memory.name} does not fit its type: {reason}") from None


def _slot(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    """The value of a slot with a default, else an Option; `held` is what the function loaded before."""
    name, *held = arguments
    slot = _find(machine, memory, name)
    option = held[0] if held else _load(machine, task, memory, [slot])[0]
    if slot.default is None:
        return share(option)
    return share(option.value) if type(option) is Some else Invoke(slot.default, [], ())


def _needed(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    name, option = arguments
    if type(option) is not Some:
        raise Panic("P454", f"the slot {name} of {memory.name} was forgotten, which this function needs")
    return share(option.value)


def _enter(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    """The Options of all listed slots, or the error that names those needed without a value (M-10.3)."""
    names, needed, function = arguments
    slots = [_find(machine, memory, name) for name in names.items]
    options = _load(machine, task, memory, slots)
    absent = {slot.name for slot, option in zip(slots, options, strict=True) if type(option) is not Some}
    missing = [name for name in needed.items if name in absent]
    if not missing:
        return Ok(Array(options))
    what = f"the slot {missing[0]}" if len(missing) == 1 else f"the slots {', '.join(missing)}"
    message = f"{function} needs {what} of {memory.name}: no value"
    fields = {"message": message, "memory": memory.name, "slots": Array(list(missing)), "function": function}
    return Err(make_error("MissingContextError", None, fields))


def _put(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    """The Option of what is stored now: a redactor may have rewritten it."""
    name, value = arguments
    slot = _find(machine, memory, name)
    plain = value if slot.descriptor == ("any",) else from_json(json.loads(to_json(value)))
    stored = machine.memories.perform(memory, "put_slot", [slot.tier, name, plain], task)
    return _decoded(machine, memory, slot, [stored])


def _after(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    """What the function holds of a slot after it wrote the fact `written` by its name."""
    name, written, held = arguments
    return _load(machine, task, memory, [_find(machine, memory, name)])[0] if name == written else held


SLOT_METHODS = {"_slot": _slot, "_needed": _needed, "_enter": _enter, "_put": _put, "_after": _after}
