"""Contexts in the image: slots with their defaults, and the functions with clauses (O-10.15)."""

from __future__ import annotations

from typing import Any

from ...vm.bytecode import image as im
from .. import symbols
from ..checked import CheckedProgram
from .functions import finish
from .generator import Generator
from .module import Module


def declare_contexts(module: Module, contexts: list[symbols.ContextSymbol]) -> None:
    """Each default as a hidden function without parameters, as those of fields."""
    for number, context in enumerate(contexts):
        module.contexts[context] = number
        for slot in context.slots.values():
            default = slot.declaration.default
            if default is not None:
                function = module.slot_defaults[slot] = module.pool.reserve_function()
                g = Generator(module, None)
                g.at(default.span)
                g.bound(default)
                g.emitter.emit("RETURN")
                finish(g, function, f"{context.name}.{slot.name}", [], module.pool.type(slot.type), im.F_HIDDEN)


def context_entries(module: Module, checked: CheckedProgram) -> list[im.Context]:
    uses = _uses(module, checked)
    return [
        im.Context(
            module.names[context],
            [
                [
                    slot.tier, slot.name, module.pool.type(slot.type), slot.mutable, module.slot_defaults.get(slot),
                    *([] if slot.was is None else [slot.was]),
                ]
                for slot in context.slots.values()
            ],
            uses.get(context, []),
        )
        for context in checked.contexts
    ]


def _uses(module: Module, checked: CheckedProgram) -> dict[symbols.ContextSymbol, list[list[Any]]]:
    """Per context [function, word of the clause, name of the memory or parameter, slots]."""
    owners = {slot: context for context in checked.contexts for slot in context.slots.values()}
    found: dict[symbols.ContextSymbol, list[list[Any]]] = {}
    for function in checked.functions:
        rows: dict[tuple[symbols.ContextSymbol, str, str], list[str]] = {}
        for ref in (ref for clause in function.declaration.clauses for ref in clause.slots):
            rows.setdefault((owners[ref.found], ref.kind, ref.owner.text), []).append(ref.slot.text)
        for (context, word, memory), slots in rows.items():
            found.setdefault(context, []).append([module.functions[function], word, memory, slots])
    return found
