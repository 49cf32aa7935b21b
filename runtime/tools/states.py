"""The states of the tools of one session, as their methods get them and leave them (O-4.4, O-4.25).

Hands on `States` to `tools.py`, which calls the methods and gives the states to whoever keeps them, and to `direct.py`, which
stands around the calls within a slice: here no method is called, and nobody waits. A method with `mut self` gets the state
itself, with a mark that notes what it changes (`vm/values/undo.py`), so that a call costs what it writes and not what the state
holds; what fails or is cancelled leaves the state as it was, and who looks meanwhile sees it so. A method with `self` gets a
struct of its own around the same fields.
"""

from __future__ import annotations

import sys

from ...vm.values import Struct, own, share
from ...vm.values.undo import SMALL, Undo, noted_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # A state, the values of its fields, of its containers copies of what they hold, or the storages that note what is written,
    # None for one that is copied before a write; and those storages.
    Before = tuple[Any, tuple[Any, ...], list[Any], list[Any] | None]


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _references_beside() -> int:
    """Return what `_references` gives in `have_read` for a struct that nobody has kept; how many of them the calls themselves
    count is Python's own affair."""

    def have_read(view: Any) -> int:
        return _references(view)

    view = object()
    return have_read(view)


ALONE = _references_beside()
PLAIN_STORAGE = (list, dict)


class States:
    """States by the names of their tools (`states`): Structs as a rule, but any value of the program may be one. `changing` has,
    by tool, what the method has changed that is at work on a state, `readers` how many methods read it. One method at a time may
    change a state; `tools.py` sees to that. A method that does nothing with a state but read it, while none is at work on it, may
    have the one in `states`. `read` and `change` raise KeyError for a tool that has not begun."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}
        self.changing: dict[str, Undo] = {}
        self.readers: dict[str, int] = {}

    def settled(self) -> dict[str, Any]:
        """Return the states, for whoever keeps or replaces them: what runs goes on beside them."""
        for undo in self.changing.values():
            undo.divide()
        return self.states

    def values(self) -> list[Any]:
        """Return the states to whoever weighs them; what runs goes on."""
        return list(self.states.values())

    def __contains__(self, tool: str) -> bool:
        return tool in self.states

    def begin(self, tool: str, state: Any) -> None:
        """Set the first state of a tool. It is one that others may hold."""
        self.states[tool] = share(state)

    # ------------------------------------------------------------ methods that read

    def read(self, tool: str) -> Any:
        """Return the state for a method that reads it; `have_read` takes it back."""
        if tool in self.changing:
            self.changing[tool].divide()
        state = self.states[tool]
        self.readers[tool] = self.readers.get(tool, 0) + 1
        if not isinstance(state, Struct) or state.shared:
            return share(state)
        view = state.copied(_as_it_is, frozenset())
        view.shared = True
        return view

    def have_read(self, tool: str, view: Any) -> None:
        """Note that a method is over. If anybody has kept its struct, what it holds is shared from now on."""
        self.readers[tool] -= 1
        if _references(view) > ALONE:
            share(self.states[tool])

    # ------------------------------------------------------------ methods that change

    def change(self, tool: str) -> Any:
        """Return the state for the one method that changes it; `have_changed` or `leave` ends that."""
        state = self.states[tool]
        if not isinstance(state, Struct) or state.shared or (self.readers and self.readers.get(tool)):
            return share(state)
        undo = self.changing[tool] = Undo()
        return undo.lend(state)

    def have_changed(self, tool: str, state: Any) -> None:
        """Set the new state of a tool, which its method has given."""
        if self.changing:
            undo = self.changing.pop(tool, None)
            if undo is not None:
                undo.keep()
        self.states[tool] = state

    def change_flat(self, tool: str, kind: Any, containers: tuple[tuple[int, str], ...]) -> Before | None:
        """Return the state itself for the one method that changes it while nobody looks, with what it holds now: of an unshared
        struct of the class `kind`, all of scalars but for the fields `containers` (position and attribute), which hold scalars.
        None for any other state. `end_flat` or `go_back` ends that."""
        state: Any = self.states[tool]
        if type(state) is not kind or state.shared or (self.readers and self.readers.get(tool)):
            return None
        kept: list[Any] = []
        noting = None
        for _, attribute in containers:
            container = getattr(state, attribute)
            items = container.items
            if container.shared:
                kept.append(None)  # a write copies it
            elif len(items) <= SMALL:
                if type(items) not in PLAIN_STORAGE:  # it noted writes once, which costs more
                    items = container.items = list(items) if isinstance(items, list) else dict(items)
                kept.append(items.copy())
            else:
                storage = noted_in_place(container)
                if storage is None:
                    _end_notes(noting)
                    return None
                noting = [storage] if noting is None else [*noting, storage]
                kept.append(storage)
        return state, state.values(), kept, noting

    def lend(self, tool: str, kind: Any) -> Any:
        """Return the state itself, a struct that nothing else holds, for calls that note themselves what they change; None for
        what is no struct, of the class `kind` if that is given, and while somebody reads it."""
        state = self.states[tool]
        if not isinstance(state, Struct) or (kind is not None and type(state) is not kind) or self.readers.get(tool):
            return None
        if state.shared:
            state = self.states[tool] = own(state)
        return state

    def end_flat(self, tool: str, before: Before, state: Any) -> None:
        """Set the new state of a tool, which a method has given that got it from `change_flat`."""
        if before[3] is not None:
            _end_notes(before[3])
        if state is not before[0]:
            self.states[tool] = state

    def go_back(self, tool: str, before: Before, containers: tuple[tuple[int, str], ...]) -> None:
        """Set the state that `change_flat` gave to what it was. Whoever has got hold of what has been changed keeps that."""
        state, fields, kept, noting = before
        values = list(fields)
        for (position, _), items in zip(containers, kept, strict=True):
            if items is not None:
                held = items if type(items) in PLAIN_STORAGE else items.as_before()
                values[position] = type(values[position])(held)
        _end_notes(noting)
        self.states[tool] = type(state)(*values)

    def leave(self, tool: str) -> None:
        """Leave the state as it was before the method."""
        undo = self.changing.pop(tool, None)
        if undo is not None:
            undo.divide()


def _end_notes(noting: list[Any] | None) -> None:
    for storage in noting or ():
        storage.end()


def _as_it_is(value: Any) -> Any:
    return value
