"""Calls of tools in source that run within the slice of their caller (V-6.8): which may, and what is around them.

Hands on `direct_method` to the session, which gives it to its machine: the machine asks it once for each method that the program
calls, and the `DirectMethod` before and behind each call. It does what `Tools.use` does in `tools.py`, for the case that nothing
has to be waited for: the audit record comes out before the method runs, the state is lent to it and kept when it returns. Whoever
could see that no effect is made (a journal, which has the keys of effects and their order), or wants to do it himself (a mock, a
function of the host), has the call performed as an effect.
"""

from __future__ import annotations

from ...vm.bytecode.image import F_SUSPENDS
from ...vm.bytecode.opcodes import BY_NAME
from ...vm.interp.effects import HostFailed
from ...vm.jit.analysis import only_reads
from ...vm.panics import Panic
from ...vm.values import UNSET, Map, share
from ...vm.values.containers import PLAIN
from ..host import AUDIT, emitted
from .tools import MOCKS, Tools, no_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.interp.link import Program
    from ...vm.values.types import Descriptor
    from ..running import EffectContext
    from .states import Before, States
    from .tools import Method

CALL, CALL_VALUE, CLOSURE = (BY_NAME[name].number for name in ("CALL", "CALL_VALUE", "CLOSURE"))
CALLS = frozenset({CALL, CALL_VALUE, CLOSURE})
# Kinds of types: those with nothing inside, and those whose parts are types.
SCALARS = frozenset({"int", "float", "string", "bool", "nil"})
HOLDERS = frozenset({"array", "option", "nilable", "map", "result", "set", "queue", "stack"})


def direct_method(run: EffectContext, tool: str, name: str) -> DirectMethod | None:
    """Return the method of that tool for calls within a slice; None where each call is an effect."""
    method = Tools.of(run).methods[tool][name]
    if run.host.journal is not None or may_suspend(run, method.code.number):
        return None
    return DirectMethod(run, method)


def may_suspend(run: EffectContext, number: int) -> bool:
    """Return whether a call of a function of the program may end the slice. The verifier has seen that its instructions and those
    of the functions that it names do not, where the image says so (V120). What is left is a function value from elsewhere, which
    only an argument can bring: by its type, or because the program makes one that may suspend. (Where a foreign image lies about
    types, the machine finds that the slice has ended.)"""
    program = run.program
    functions = program.image.functions
    if functions[number].flags & F_SUSPENDS:
        return True
    if not _calls_values(program, number) or not any(_may_hold_functions(program, row[1]) for row in functions[number].params):
        return False
    return run.generation > 0 or any(functions[value].flags & F_SUSPENDS for value in _function_values(program))


def borrows(program: Program, number: int) -> bool:
    """Return whether a method, which suspends nowhere, does nothing with its `self` but read it until it returns."""
    facts = program.verified.functions[number]
    calls = any(opcode in CALLS for _, opcode, _ in facts.instructions)
    return not calls and only_reads(program.image, number, facts, 0)


def flat_state(program: Program, number: int) -> tuple[Any, tuple[tuple[int, str], ...] | None]:
    """Return the class of the state that a method takes, and which of its fields are containers, by position and attribute, if
    there is nothing in it but scalars and containers of scalars; None for them if there is."""
    index = program.image.functions[number].params[0][1]
    entry = program.image.types[index]
    if entry[0] != "struct":
        return object, None
    containers = []
    for position, (_, field, *_) in enumerate(entry[2]):
        kind, *parts = program.descriptors[field]
        if kind in ("array", "map", "set", "stack") and all(map(_is_scalar, parts)):
            containers.append((position, f"f{position}"))
        elif not _is_scalar((kind, *parts)):
            return object, None
    return program.classes[index], tuple(containers)


def _is_scalar(descriptor: Descriptor) -> bool:
    kind, *parts = descriptor
    return kind in SCALARS or (kind == "nilable" and _is_scalar(parts[0]))


def _may_hold_functions(program: Program, index: int) -> bool:
    """Return whether a value of the type at that place in the image may hold a function value."""
    known, pending = {index}, [index]
    while pending:
        kind, *parts = program.image.types[pending.pop()]
        if kind in SCALARS:
            inside = []
        elif kind in HOLDERS:
            inside = parts
        elif kind == "tuple":
            inside = parts[0]
        elif kind in ("struct", "schema"):
            inside = [field[1] for field in parts[1]]
        elif kind == "enum":
            inside = [part for variant in parts[1] for part in variant[1]]
        else:
            return True
        pending += [part for part in inside if part not in known]
        known.update(inside)
    return False


def _calls_values(program: Program, number: int) -> bool:
    """Return whether a function, or one that it names, calls a function value."""
    known, pending = {number}, [number]
    while pending:
        for _, opcode, operand in program.verified.functions[pending.pop()].instructions:
            if opcode == CALL_VALUE:
                return True
            if opcode in (CALL, CLOSURE) and operand not in known:
                known.add(operand)
                pending.append(operand)
    return False


def _function_values(program: Program) -> set[int]:
    return {operand for facts in program.verified.functions for _, opcode, operand in facts.instructions if opcode == CLOSURE}


class DirectMethod:
    """One method of a declared tool of the session, called within slices: what the machine knows as `DirectMethod`
    (`vm/interp/effects.py`), whose methods return and raise as it says: `begin` gives what the function takes, None where the
    host has to perform the call, `end` the value of the call, and `undo` leaves the state as it was. `code` is its function."""

    __slots__ = (
        "run", "tools", "tool", "name", "method", "code", "names", "permissions", "is_enabled", "begun", "takes_state",
        "changes_state", "only_reads", "kind", "containers", "lends",
    )  # fmt: skip

    def __init__(self, run: EffectContext, method: Method) -> None:
        self.run = run
        self.tools = Tools.of(run)
        self.tool = method.tool
        self.name = method.name
        self.method = method
        self.takes_state = method.takes_state
        self.changes_state = method.changes_state
        self.code = method.code
        self.names = [field[0] for field in method.shape[3]]
        self.permissions: Any = None  # those by which it was decided whether the method is enabled
        self.is_enabled = False
        # of the calls that run: the states; what one that changes a flat state found; the struct that one got which may keep it;
        # what the function got
        self.begun: list[tuple[States, Before | None, Any, list[Any]]] = []
        self.kind: Any = None
        self.containers: tuple[tuple[int, str], ...] | None = None
        if method.changes_state:
            self.kind, self.containers = flat_state(run.program, self.code.number)
        self.only_reads = method.takes_state and not method.changes_state and borrows(run.program, self.code.number)
        self.lends = self.only_reads or self.containers is not None

    def _held(self) -> States | None:
        """Return the states, that of the tool among them if the method takes it; None where the host has to perform a call."""
        run, tool = self.run, self.tool
        state, host = run.state, run.host
        tools = state["tools"]
        # the first: a state was restored
        looks = tools is not self.tools or host.permissions is not self.permissions or not self.is_enabled
        if looks and not self._looks_enabled(tools):
            return None
        turns = tools.turns.get(tool) if tools.turns else None
        if MOCKS in state or host.tools and (tool, self.name) in host.tools or turns is not None and turns.busy:
            return None
        held: States = tools.held
        if self.takes_state and tool not in held.states and not tools.is_initialised(tool):
            return None
        return held

    def begin(self, arguments: Sequence[Any]) -> list[Any] | None:
        held = self._held()
        if held is None:
            return None
        tool, tools, host = self.tool, self.tools, self.run.host
        if UNSET in arguments:
            arguments = tools.filled(self.method, arguments)
        if host.is_audited:
            self._audit(arguments)
        if not self.takes_state:
            return list(arguments)
        before = view = None
        if self.changes_state:
            if self.containers is not None:
                before = held.change_flat(tool, self.kind, self.containers)
            given = [held.change(tool) if before is None else before[0], *arguments]
        elif self.only_reads:
            given = [held.states[tool], *arguments]
        else:
            view = held.read(tool)
            given = [view, *arguments]
        self.begun.append((held, before, view, given))
        return given

    def _looks_enabled(self, tools: Tools) -> bool:
        """Look anew for the method and whether it may be called, and return that."""
        self.tools = tools
        self.method = tools.methods[self.tool][self.name]
        self.permissions = self.run.host.permissions
        self.is_enabled = tools.is_enabled(self.method)
        return self.is_enabled

    def _audit(self, arguments: Sequence[Any]) -> None:
        """Send the audit record of a call; the sink of the host is under none of the limits of the run."""
        for argument in arguments:
            if type(argument) not in PLAIN:
                share(argument)  # whoever hears the record may keep it
        told = Map({name: emitted(argument) for name, argument in zip(self.names, arguments, strict=True)})
        record = Map({"tool": self.tool, "method": self.name, "args": told})
        run = self.run
        try:
            run.machine.outside(run.emits.send, AUDIT, record if run.redactor.is_empty else run.clean(record), True)
        except Panic:
            raise
        except Exception as error:
            raise HostFailed(error) from None

    def end(self, value: Any) -> Any:
        if not self.changes_state:
            if self.takes_state:
                self._have_read()
            return value
        if type(value) is not tuple or len(value) != 2:
            self.undo()
            raise no_state(self.method)
        held, before, _, _ = self.begun.pop()
        result, state = value
        if before is None:
            held.have_changed(self.tool, state)
        elif before[3] is not None or state is not before[0]:
            held.end_flat(self.tool, before, state)
        return result

    def undo(self) -> None:
        if self.changes_state:
            held, before, _, _ = self.begun.pop()
            if before is None or self.containers is None:
                held.leave(self.tool)
            else:
                held.go_back(self.tool, before, self.containers)
        elif self.takes_state:
            self._have_read()

    def lend(self) -> Any:
        held = None if self.run.host.is_audited else self._held()
        return None if held is None else held.lend(self.tool, self.kind)

    def take_over(self, state: Any, found: dict[int, tuple[Any, Any]]) -> None:
        before = None
        if self.changes_state:
            fields = [found[position][0] if position in found else value for position, value in enumerate(state.values())]
            kept = [found[position][1] if position in found else None for position, _ in self.containers or ()]
            before = state, tuple(fields), kept, None
        self.begun.append((self.tools.held, before, None, []))

    def _have_read(self) -> None:
        held, _, view, given = self.begun.pop()
        if view is not None:
            given.clear()  # what is left of the call is no place in which somebody has kept it
            del given
            held.have_read(self.tool, view)
