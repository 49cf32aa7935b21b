"""The call of a method whose receiver is known only at run time, and the panics of control opcodes (V-6.2).

A `Site` is the place of one call in linked code: the method's name, the number of arguments, the names of the trailing ones; the
loop is the interpreter, which runs a task for a slice, up to its next wait. `exec_call_method` goes by the receiver's class to a
method of the program or a row of the built-in registry, then to its body or to a function written in the language. A call returns
its result, `Invoke` for a function that the loop enters, or `SUSPENDED` when an effect ends the slice.

Hands on `exec_call_method`, `exec_call_inout`, `method_entry`, `changes_self`, `as_panic`, `node_before`, `missing_value` and the
panics `bad_call`, `not_fallible` and `wrong_length` to the generated loop and `template.py`; `safe_method`, `fixed_method`,
`plain_row` and a few of these to translated code (`vm/jit/`). What a built-in method does stands in `vm/builtins/`, how arguments
reach a method of a handle in `vm/builtins/binding.py`.
"""

from __future__ import annotations

from ..builtins import KIND_OF, REQUIRED, lookup
from ..builtins.binding import entry_of
from ..builtins.handles import server_use, tool_use
from ..builtins.hashmaps import is_quiet
from ..builtins.registry import HIDDEN
from ..panics import Panic
from ..values import (
    Array,
    Closure,
    EnumValue,
    ErrorValue,
    HashMapRef,
    Map,
    McpRef,
    ModelRef,
    Struct,
    ToolRef,
    check,
    get_member,
    make_error,
    matches,
    share,
    typeof,
)
from ..values.errors import ancestors
from ..values.types import plain_name
from .tasks import Invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..builtins import Row
    from .effects import MachineContext
    from .linked import Code, Site
    from .tasks import Task


def exec_call_method(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """Run one method; the last `len(site.names)` arguments are named, those before are positional. Returns its result, `Invoke`
    or SUSPENDED. Raises Panic P014 when the receiver has no such method, P015 and P007 for arguments that it does not take, and
    what its body raises.

    The generated loop holds the text of this function: a call of Python's own costs as much as the look-up."""
    entry = site.cache.get(type(receiver)) or method_entry(machine, receiver, site)
    return entry(machine, task, receiver, site, arguments)


def method_entry(machine: MachineContext, receiver: Any, site: Site) -> Any:
    """Return the function that a site calls for receivers of this class, and keep it in the site's cache. It is called with
    (machine, task, receiver, site, arguments). Raises P014 when impls of several traits fit."""
    entry = site.cache[type(receiver)] = find_method(machine, receiver, site)
    return entry


def safe_method(machine: MachineContext, receiver: Any, site: Site) -> Any:
    """Return the function that the site would call if that neither ends the slice nor needs the task, else None. Raises
    as `method_entry`."""
    entry = site.cache.get(type(receiver)) or method_entry(machine, receiver, site)
    if entry is _varied_call:
        entry = _meaning(machine, receiver, site)
    access = "read" if type(entry) is FixedCall else ACCESS.get(entry)
    if access == "read":
        return None if type(receiver) is HashMapRef and machine.stores.hashmaps[receiver.name].kept is not None else entry
    return entry if access == "write" and is_quiet(machine, receiver) else None


def find_method(machine: MachineContext, receiver: Any, site: Site) -> Any:
    """Return the function that calls this method for receivers of this class: it depends on the class alone, so that it can be
    kept; where receivers of one class differ, that function looks again at each call. Raises as `method_entry`."""
    if site.trait:
        return fixed_call(machine, receiver, site) or _program_call
    if type(receiver) in (EnumValue, tuple, ErrorValue, ModelRef) and site.name in machine.program.implemented:
        return _varied_call  # types with impls of their own share these classes
    if type(receiver) in (ToolRef, McpRef):
        return _tool_call  # other tools are of the same class
    return _meaning(machine, receiver, site)


def _varied_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    return _meaning(machine, receiver, site)(machine, task, receiver, site, arguments)


def _meaning(machine: MachineContext, receiver: Any, site: Site) -> Any:
    """Return the function for a method of the program, else a built-in one, else a field of function type (L-3.10.3)."""
    if program_method(machine, receiver, site) is not None:
        return fixed_call(machine, receiver, site) or _program_call
    kind = kind_of(receiver)
    row = HIDDEN.get((kind, site.name)) or lookup(kind, site.name)
    if row is None:
        return _field_call
    if row.kind == "handle":
        entry = entry_of(row, -1 if site.names else site.argc)
        if row.access:
            ACCESS[entry] = row.access
        return entry
    if row.source:
        return _language_call
    return _pure_call


def program_method(machine: MachineContext, receiver: Any, site: Site, arguments: list[Any] | None = None) -> Any:
    """Return the method that an impl of the program has for this receiver, or None: its own one, then, unless its kind has a
    built-in one, that of a trait (L-3.10.3). A site with a trait means that trait's method. `arguments` are those of the call, by
    which one of several impls is chosen; None where they are not known yet. Raises P014 where of several impls none, or more than
    one, fits."""
    program, name = machine.program, site.name
    if site.trait:
        return _of_trait(machine, receiver, site, arguments)
    for kind in kinds_of(receiver):
        own = program.methods.get((kind, name))
        if own is not None:
            return own
    kind = kind_of(receiver)
    row = lookup(kind, name)
    if (row is not None and row.receiver != "Any") or (kind, name) in HIDDEN:
        return None
    return _of_trait(machine, receiver, site, arguments)


def _of_trait(machine: MachineContext, receiver: Any, site: Site, arguments: list[Any] | None) -> Any:
    for kind in kinds_of(receiver):
        offers = machine.program.trait_methods.get((site.trait, kind, site.name), ())
        if len(offers) > 1:
            return _one_of(machine, receiver, site, list(offers), arguments)
        for code in offers:
            return code
    return None


def _one_of(machine: MachineContext, receiver: Any, site: Site, offers: list[Any], arguments: list[Any] | None) -> Any:
    """Return the one of several impls of a trait that the arguments fit (L-3.10.3); without arguments, any if all are alike in
    `mut self`. P014 when none or several fit."""
    if len({code.label.rpartition("::")[0] for code in offers}) == 1 or site.trait:
        if arguments is None and len({code.inout for code in offers}) == 1:
            return offers[0]
        fitting = [code for code in offers if arguments is not None and _takes(machine, code, site, arguments)]
        if len(fitting) == 1:
            return fitting[0]
    raise Panic("P014", f"{typeof(receiver)} has several methods {site.name}, of different traits or impls")


def _takes(machine: MachineContext, code: Any, site: Site, arguments: list[Any]) -> bool:
    """Return whether the positional arguments are of the types of the parameters of `code`, without conversion."""
    params = machine.program.image.functions[code.number].params[1:]
    values = arguments[: len(arguments) - len(site.names)]
    kinds = [machine.program.descriptors[type_] for _, type_, _ in params]
    return len(values) <= len(kinds) and all(map(matches, values, kinds))


def kinds_of(value: Any) -> Iterable[str]:
    """Return the words under which the impls for a value are found, nearest first; those of an error include the parents of its
    family. `kind_of_type` in `values/types.py` writes the same words for types."""
    if isinstance(value, (Struct, EnumValue)):
        return (value.decl.key, "Error") if value.decl.is_error else (value.decl.key,)
    if type(value) is ModelRef:
        return (f"{value.name}.", "ModelRef")
    if type(value) is ToolRef:
        return (f"{value.name}@", "ToolRef")
    if type(value) is tuple:
        return (f"Tuple/{len(value)}",)
    return ancestors(value.family) if type(value) is ErrorValue else (typeof(value),)


def _tool_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    if (receiver.name, site.name) in machine.program.tool_methods:
        return tool_use(machine, task, receiver, site, arguments)
    if (receiver.name, site.name) in machine.program.server_methods:
        return server_use(machine, task, receiver, site, arguments)
    return _meaning(machine, receiver, site)(machine, task, receiver, site, arguments)


def _program_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    code = program_method(machine, receiver, site, arguments)
    if code is None:
        raise Panic("P014", f"{typeof(receiver)} does not implement {plain_name(site.trait)}")
    if code.inout:
        raise Panic("P014", f"{typeof(receiver)}.{site.name} changes its receiver, which stands in no mutable place here")
    code, placed = in_places(machine, code, site, arguments)
    return Invoke(code, [share(receiver), *placed], ())


class FixedCall:
    """The call of one method of the program, for every receiver of a class: the arguments are in the places of its parameters,
    and the compiler has checked them."""

    __slots__ = ("code",)

    def __init__(self, code: Code) -> None:
        self.code = code

    def __call__(self, machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Invoke:
        return Invoke(self.code, [share(receiver), *arguments], ())


def fixed_call(machine: MachineContext, receiver: Any, site: Site) -> FixedCall | None:
    """Return the call of the method that this site means for every receiver of this class; None where that depends on the
    receiver or on the arguments, where these are to be put in order or checked, and for a method with `mut self`."""
    code = fixed_method(machine, receiver, site)
    return None if code is None or code.inout else FixedCall(code)


def fixed_method(machine: MachineContext, receiver: Any, site: Site) -> Code | None:
    """Return the method of `fixed_call`, also one with `mut self`; None in its other cases."""
    if not isinstance(receiver, Struct) or site.names:
        return None
    kinds = kinds_of(receiver)
    if any(len(machine.program.trait_methods.get((site.trait, kind, site.name), ())) > 1 for kind in kinds):
        return None
    code: Code | None = program_method(machine, receiver, site)
    if code is None:
        return None
    params = machine.program.image.functions[code.number].params[1:]
    checked = any(machine.program.descriptors[type_] != ("any",) for _, type_, _ in params)
    return None if len(params) != site.argc or checked and not site.trait else code


def changes_self(machine: MachineContext, receiver: Any, site: Site) -> bool:
    """Return whether the method has `mut self`, so that the call must store the receiver back; False when the program has no such
    method. Raises P014 when impls of several traits fit."""
    code = program_method(machine, receiver, site)
    return code is not None and code.inout


def exec_call_inout(machine: MachineContext, receiver: Any, site: Site, arguments: list[Any]) -> Invoke:
    """Return the `Invoke` of a method with `mut self`, which returns its result and the new receiver. P014 for any other method
    and when impls of several traits fit, P015 and P007 for arguments that it does not take."""
    code = program_method(machine, receiver, site, arguments)
    if code is None or not code.inout:
        raise no_such_member(receiver, site.name)
    code, placed = in_places(machine, code, site, arguments)
    return Invoke(code, [receiver, *placed], ())


def in_places(machine: MachineContext, code: Any, site: Site, arguments: list[Any]) -> tuple[Any, list[Any]]:
    """Return the method, or its form that supplies missing defaults, and its arguments in the order of parameters; P015 when they
    do not fit. Arguments for a receiver behind `Any` are checked against the parameters' types (P007, L-3.3.3); those for a
    trait's method have been checked by the compiler."""
    names = [name for name, _, _ in machine.program.image.functions[code.number].params][1:]
    positional = len(arguments) - len(site.names)
    placed = dict(zip(names, arguments[:positional], strict=False))
    placed.update(zip(site.names, arguments[positional:], strict=True))
    if len(placed) == len(arguments) and len(placed) < len(names):
        code = machine.program.partial.get((code.label, frozenset(placed)), code)
        names = [name for name, _, _ in machine.program.image.functions[code.number].params][1:]
    if len(arguments) != len(names) or sorted(placed) != sorted(names):
        raise Panic("P015", f"{site.name} expects {len(names)} arguments, given {len(arguments)}")
    if site.trait:
        return code, [placed[name] for name in names]
    params = machine.program.image.functions[code.number].params[1:]
    return code, [check(placed[name], machine.program.descriptors[type_]) for name, type_, _ in params]


def kind_of(value: Any) -> str:
    """Return the receiver kind under which the registry has built-in methods; "Any" for a value of any other class, such as a
    struct."""
    return KIND_OF.get(type(value), "Any")


def _pure_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    row = lookup(kind_of(receiver), site.name)
    assert row is not None
    if row.mut and getattr(receiver, "shared", False):
        raise Panic("P014", f"{typeof(receiver)}.{site.name} changes its receiver, which stands in no mutable place here")
    return row.body(receiver, *fill(row, site, arguments))


def plain_row(receiver: Any, site: Site, entry: Any) -> Row | None:
    """Return the row of a built-in method whose body a site calls for every receiver of this class, with the arguments as they
    are; None for any other `entry` of the site."""
    row = lookup(kind_of(receiver), site.name) if entry is _pure_call and type(receiver) not in (EnumValue, ErrorValue) else None
    return None if row is None or row.mut or site.names or site.argc != len(row.parameters) else row


def _language_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    kind = kind_of(receiver)
    row = lookup(kind, site.name)
    code = machine.program.language_methods.get((kind, site.name))
    if code is None or row is None or row.mut:
        raise no_such_member(receiver, site.name)
    return Invoke(code, [share(receiver), *fill(row, site, arguments)], ())


def _field_call(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """Call a field or Map entry of function type (L-3.10.3)."""
    member = get_member(receiver, site.name) if isinstance(receiver, (Map, Struct)) else None
    if type(member) is not Closure:
        raise no_such_member(receiver, site.name)
    if site.names or member.function.argc != len(arguments):
        raise bad_call(member, len(arguments))
    return Invoke(member.function, arguments, member.cells)


# Calling functions that run to their end by themselves, or return the frame that goes on: "read" unless the entries of a hashmap
# are in a store, "write" on a hashmap for which `is_quiet` is true. Methods of hashmaps are added when a site first calls them.
ACCESS: dict[Any, str] = dict.fromkeys((_program_call, _language_call, _pure_call, _field_call), "read")


def fill(row: Row, site: Site, arguments: list[Any]) -> list[Any]:
    """Return the arguments for the body of `row` in the order of its parameters, with defaults supplied; for a variadic
    parameter one Array of all of them. Raises P015 when they do not fit."""
    positional = len(arguments) - len(site.names)
    if row.parameters and row.parameters[-1].variadic and not site.names:
        return [Array(arguments)]
    named = dict(zip(site.names, arguments[positional:], strict=True))
    values = arguments[:positional]
    for parameter in row.parameters[positional:]:
        if parameter.name in named:
            values.append(named.pop(parameter.name))
        elif parameter.default is not REQUIRED:
            values.append(parameter.default)
    if named or len(values) != len(row.parameters):
        raise Panic("P015", f"{site.name} expects {len(row.parameters)} arguments, given {len(arguments)}")
    return values


def no_such_member(receiver: Any, name: str) -> Panic:
    """Return the panic for a method that a value has not; the caller raises it."""
    return Panic("P014", f"{typeof(receiver)} has no method {name}")


def bad_call(callee: Any, count: int) -> Panic:
    """Return the panic for a call of `callee` with a wrong number of arguments, or of what is no function."""
    if type(callee) is not Closure:
        return Panic("P015", f"{typeof(callee)} is not a function")
    return Panic("P015", f"the function expects {callee.function.argc} arguments, given {count}")


def node_before(code: Code, following: Any, count: int) -> Any:
    """Return the node of `code` that is `count` before `following`; what is no node of it stands for its end. Where one node
    stands for a run of opcodes, this finds the node of an opcode inside."""
    at = next((i for i, node in enumerate(code.nodes) if node is following), len(code.nodes))
    return code.nodes[at - count]


def missing_value() -> Any:
    """Return the error, a value of the program, of a `?` on None."""
    return make_error("RuntimeError", None, ("missing value",))


def not_fallible(value: Any) -> Panic:
    """Return the panic for a `?` on what is neither Result nor Option."""
    return Panic("P007", f"expected Result or Option, found {typeof(value)}")


def wrong_length(expected: int, value: Any) -> Panic:
    """Return the panic for an Array that has not as many elements as its pattern."""
    return Panic("P010", f"array pattern: expected {expected} elements, found {len(value.items)}")


# RuntimeError: a container that is changed while it is walked over; NameError: a variable that a branch over a kind left out.
OF_VALUES = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RuntimeError, NameError, StopIteration)


def as_panic(error: BaseException) -> BaseException:
    """Return the exception that leaves the loop for one that was raised inside; the caller raises it. Panics and interrupts stay
    as they are; too deep recursion and lack of memory are P103; a Python error about a value of another kind, which only a typed
    opcode in a foreign image can meet, is P007 (G-4.4)."""
    if isinstance(error, RecursionError):
        return Panic("P103", "value nested too deeply")
    if isinstance(error, MemoryError):
        return Panic("P103", "out of memory")
    if isinstance(error, OF_VALUES):
        return Panic("P007", "a value of another kind than its instruction expects")
    return error
