"""`exec_call_method`: the one door for receiver.method(args) (V-6.2), and the panics of control opcodes.

By the receiver's class to a row of the built-in registry, then to its body, to a function written in the language, or to the
handlers of handles. Hands on results, `Invoke` for a function the loop enters, `SUSPENDED` when an effect ends the slice.
Must not know: the loop's variables, the host.
"""

from __future__ import annotations

from .builtins import KIND_OF, REQUIRED, Row, lookup
from .handles import HANDLERS, tool_use
from .panics import Panic
from .signals import SUSPENDED, Invoke
from .values import Closure, EnumValue, Map, Struct, ToolRef, debug, get_member, make_error, share, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .effects import Running
    from .linked import Site
    from .tasks import Task

__all__ = [
    "SUSPENDED", "Invoke", "as_panic", "bad_call", "changes_self", "debug", "exec_call_inout", "exec_call_method",
    "missing_value", "not_fallible", "wrong_length",
]  # fmt: skip


def exec_call_method(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """Run one method; arguments beyond `site.names` are positional. Raises Panic P014 when the receiver has no such method."""
    entry = site.cache.get(type(receiver))
    if entry is None:
        entry = site.cache[type(receiver)] = find_method(machine, receiver, site)
    return entry(machine, task, receiver, site, arguments)


def find_method(machine: Running, receiver: Any, site: Site) -> Any:
    """The calling function for this receiver class at this site."""
    if isinstance(receiver, (Struct, EnumValue)) and program_method(machine, receiver, site.name) is not None:
        return _program_call
    if type(receiver) is EnumValue:
        return _enum_call  # other enums are of the same class
    if type(receiver) is ToolRef:
        return _tool_call  # other tools too
    kind = kind_of(receiver)
    handler = HANDLERS.get((kind, site.name))
    if handler is not None:
        return handler
    return _found(lookup(kind, site.name))


def _found(row: Row | None) -> Any:
    if row is None:
        return _field_call
    if row.source:
        return _language_call
    return _pure_call


def program_method(machine: Running, receiver: Any, name: str) -> Any:
    """The method that an impl of the program gives this receiver, or None."""
    key = receiver.decl.key if isinstance(receiver, (Struct, EnumValue)) else typeof(receiver)
    return machine.program.methods.get((key, name))


def _enum_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    if program_method(machine, receiver, site.name) is not None:
        return _program_call(machine, task, receiver, site, arguments)
    return _found(lookup(kind_of(receiver), site.name))(machine, task, receiver, site, arguments)


def _tool_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    if (receiver.name, site.name) in machine.program.tool_methods:
        return tool_use(machine, task, receiver, site, arguments)
    return _found(lookup("ToolRef", site.name))(machine, task, receiver, site, arguments)


def _program_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    code = program_method(machine, receiver, site.name)
    if code is None:
        return _enum_call(machine, task, receiver, site, arguments)
    if code.inout:
        raise Panic("P014", f"{typeof(receiver)}.{site.name} changes its receiver, which stands in no mutable place here")
    return Invoke(code, [share(receiver), *in_places(machine, code, site, arguments)], ())


def changes_self(machine: Running, receiver: Any, site: Site) -> bool:
    """Whether the call must store the receiver back."""
    code = program_method(machine, receiver, site.name)
    return code is not None and code.inout


def exec_call_inout(machine: Running, receiver: Any, site: Site, arguments: list[Any]) -> Invoke:
    """Run a method with `mut self`; it gives its result and the new receiver."""
    code = program_method(machine, receiver, site.name)
    if code is None or not code.inout:
        raise no_such_member(receiver, site.name)
    return Invoke(code, [receiver, *in_places(machine, code, site, arguments)], ())


def in_places(machine: Running, code: Any, site: Site, arguments: list[Any]) -> list[Any]:
    """Arguments of a program's method in parameter order; P015 when they do not fit."""
    names = [name for name, _, _ in machine.program.image.functions[code.number].params][1:]
    positional = len(arguments) - len(site.names)
    placed = dict(zip(names, arguments[:positional], strict=False))
    placed.update(zip(site.names, arguments[positional:], strict=True))
    if len(arguments) != len(names) or sorted(placed) != sorted(names):
        raise Panic("P015", f"{site.name} expects {len(names)} arguments, given {len(arguments)}")
    return [placed[name] for name in names]


def kind_of(value: Any) -> str:
    """The receiver kind of the registry; declared types have none of their own."""
    return KIND_OF.get(type(value), "Any")


def _pure_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    row = lookup(kind_of(receiver), site.name)
    assert row is not None
    if row.mut and getattr(receiver, "shared", False):
        raise Panic("P014", f"{typeof(receiver)}.{site.name} changes its receiver, which stands in no mutable place here")
    return row.body(receiver, *fill(row, site, arguments))


def _language_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    kind = kind_of(receiver)
    row = lookup(kind, site.name)
    code = machine.program.language_methods.get((kind, site.name))
    if code is None or row is None or row.mut:
        raise no_such_member(receiver, site.name)
    return Invoke(code, [share(receiver), *fill(row, site, arguments)], ())


def _field_call(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """A field or Map entry of function type (L-3.10.3)."""
    member = get_member(receiver, site.name) if isinstance(receiver, (Map, Struct)) else None
    if type(member) is not Closure:
        raise no_such_member(receiver, site.name)
    if site.names or member.function.argc != len(arguments):
        raise bad_call(member, len(arguments))
    return Invoke(member.function, arguments, member.cells)


def fill(row: Row, site: Site, arguments: list[Any]) -> list[Any]:
    """Positional arguments for `row`: named ones put in their places, defaults supplied (P015 when they do not fit)."""
    positional = len(arguments) - len(site.names)
    given = dict(zip(site.names, arguments[positional:], strict=True))
    filled = arguments[:positional]
    for parameter in row.parameters[positional:]:
        if parameter.name in given:
            filled.append(given.pop(parameter.name))
        elif parameter.default is not REQUIRED:
            filled.append(parameter.default)
    if given or len(filled) != len(row.parameters):
        raise Panic("P015", f"{site.name} expects {len(row.parameters)} arguments, given {len(arguments)}")
    return filled


def no_such_member(receiver: Any, name: str) -> Panic:
    return Panic("P014", f"{typeof(receiver)} has no method {name}")


def bad_call(callee: Any, count: int) -> Panic:
    if type(callee) is not Closure:
        return Panic("P015", f"{typeof(callee)} is not a function")
    return Panic("P015", f"the function expects {callee.function.argc} arguments, given {count}")


def missing_value() -> Any:
    return make_error("RuntimeError", None, ("missing value",))


def not_fallible(value: Any) -> Panic:
    return Panic("P007", f"expected Result or Option, found {typeof(value)}")


def wrong_length(expected: int, value: Any) -> Panic:
    return Panic("P010", f"array pattern: expected {expected} elements, found {len(value.items)}")


def as_panic(error: BaseException) -> BaseException:
    """What leaves the loop: panics and interrupts as they are; a Python error of a value of another kind, which only a typed
    opcode in a foreign image can meet, as P007 (G-4.4)."""
    if isinstance(error, (TypeError, AttributeError, KeyError, IndexError, ValueError, OverflowError)):
        return Panic("P007", f"a value of another kind than its instruction expects ({type(error).__name__})")
    if isinstance(error, RecursionError):
        return Panic("P103", "value nested too deeply")
    if isinstance(error, MemoryError):
        return Panic("P103", "out of memory")
    return error
