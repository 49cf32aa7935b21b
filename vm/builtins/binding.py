"""How the arguments of a call reach the body of a method of a handle: checks, defaults, named arguments.

A handle is a value that stands for something outside the program's own data: a model, a memory, a task, a store. A site is the
place of one call in linked code (`Site` of `interp/linked.py`): the method's name, the number of arguments, and the names of the
trailing ones that are named. What a method does is the matter of its body.

Hands on `entry_of` to dispatch, and `in_order`, `arguments_of` and `expect` to bodies that take their call site, `in_order` and
`expect` to `interp/context_slots.py` too, `arguments_of` to `jit/tier.py`. A body is written as `body(machine, task, receiver,
*parameters)`, with its signature in the decorator `handle`. The loop calls `entry(machine, task, receiver, site, arguments)`;
which entry that is depends on the method and the number of arguments alone, so it is chosen once.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType

from ..panics import Panic
from ..values import Array, Map
from .registry import boolean, float_of, integer, mismatch, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..interp.effects import MachineContext
    from ..interp.linked import Site
    from ..interp.tasks import Task
    from ..values.types import Descriptor
    from .registry import Row

    Guard = Callable[[Any], Any]
    Guarded = tuple[int, type, Guard]
    Entry = Callable[[MachineContext, Task, Any, Site, list[Any]], Any]


@cache
def entry_of(row: Row, argc: int) -> Entry:
    """Return what a site with `argc` arguments calls for the method of this row; -1 stands for any number with names among them.

    A call of the entry raises P015 where number or names do not fit the signature, P007 where an argument is of a wrong kind, and
    what the body raises. The body of a row `by_site` is the entry itself: it checks its arguments by the functions below.
    """
    body = row.body
    if row.by_site:
        entry: Entry = body
        return entry
    parameters = row.parameters
    # the compiler passes the schema of a type argument before the arguments
    first = ("schema",) if row.special == "schema" else ()
    order = (*first, *[parameter.name for parameter in parameters])
    defaults = tuple([parameter.default for parameter in parameters if parameter.optional])
    guards = [
        (at, *class_and_guard)
        for at, parameter in enumerate(parameters, len(first))
        if (class_and_guard := guard_of(parameter.type)) is not None and (at < argc or argc < 0)
    ]
    if not 0 <= len(order) - argc <= len(defaults):

        def by_name(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
            return body(machine, task, receiver, *guarded(arguments_of(site, arguments, order, defaults), guards))

        return by_name
    # Python itself supplies arguments that are left out: this copy of the body has the signature's defaults
    body = FunctionType(body.__code__, body.__globals__, body.__name__, defaults, body.__closure__)
    if guards:
        return _checked[argc](body, guards) if len(guards) == argc < len(_checked) else _each_checked(body, guards)
    return _passed[argc](body) if argc < len(_passed) else _all_passed(body)


# One function for each usual number of arguments: to pass a list of them on costs as much as a short body.


def _none_passed(body: Any) -> Entry:
    return lambda machine, task, receiver, site, arguments: body(machine, task, receiver)


def _one_passed(body: Any) -> Entry:
    return lambda machine, task, receiver, site, arguments: body(machine, task, receiver, arguments[0])


def _two_passed(body: Any) -> Entry:
    return lambda machine, task, receiver, site, arguments: body(machine, task, receiver, arguments[0], arguments[1])


def _all_passed(body: Any) -> Entry:
    return lambda machine, task, receiver, site, arguments: body(machine, task, receiver, *arguments)


def _one_checked(body: Any, guards: list[Guarded]) -> Entry:
    ((_, usual, guard),) = guards

    def checked(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
        (value,) = arguments
        return body(machine, task, receiver, value if type(value) is usual else guard(value))

    return checked


def _two_checked(body: Any, guards: list[Guarded]) -> Entry:
    (_, usual, guard), (_, usual_second, guard_second) = guards

    def checked(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
        value, second = arguments
        if type(value) is not usual:
            value = guard(value)
        return body(machine, task, receiver, value, second if type(second) is usual_second else guard_second(second))

    return checked


def _each_checked(body: Any, guards: list[Guarded]) -> Entry:
    return lambda machine, task, receiver, site, arguments: body(machine, task, receiver, *guarded(arguments, guards))


_passed = (_none_passed, _one_passed, _two_passed)
_checked = (_each_checked, _one_checked, _two_checked)


def in_order(row: Row, site: Site, arguments: list[Any]) -> list[Any]:
    """Return one value for each parameter of the row's signature, whose parameters with defaults stand last. Raises P015 as
    `arguments_of`."""
    if not site.names and len(arguments) == len(row.parameters):
        return arguments
    defaults = tuple([parameter.default for parameter in row.parameters if parameter.optional])
    return arguments_of(site, arguments, tuple([parameter.name for parameter in row.parameters]), defaults)


def arguments_of(site: Site, arguments: list[Any], names: tuple[str, ...], defaults: tuple[Any, ...] = ()) -> list[Any]:
    """Return a new list with one value for each of `names`: positional ones first, then named ones, then `defaults`, which are
    those of the last names. Raises P015 for too many arguments, for a name that is not free, and for a parameter that gets no
    value."""
    positional = len(arguments) - len(site.names)
    values = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    values.update(zip(names, arguments[:positional], strict=False))
    for name, value in zip(site.names, arguments[positional:], strict=True):
        if name not in names[positional:]:
            raise Panic("P015", f"{site.name} has no argument {name} here")
        values[name] = value
    if positional > len(names) or len(values) < len(names):
        raise Panic("P015", f"{site.name} expects {', '.join(names) or 'no arguments'}; given {len(arguments)}")
    return [values[name] for name in names]


# ----------------------------------------------------------------
# Kinds of arguments: an argument whose static type is Any is checked here when the method is called (L-3.3.3).


def expect(value: Any, kind: type, name: str) -> Any:
    """Return the value if it is of that very class, else raise P007; `name` is the class as programs call it."""
    return value if type(value) is kind else mismatch(name, value)


def _array(value: Any) -> Any:
    return expect(value, Array, "Array")


def _map(value: Any) -> Any:
    return expect(value, Map, "Map")


GUARDS: dict[str, tuple[type, Guard]] = {
    "int": (int, integer), "float": (float, float_of), "string": (str, text), "bool": (bool, boolean), "array": (Array, _array),
    "map": (Map, _map),
}  # fmt: skip


def guard_of(kind: Descriptor) -> tuple[type, Guard] | None:
    """Return the class of which a value of this type usually is, and the check of any other value; None for types that a body
    judges itself."""
    if kind[0] != "nilable":
        return GUARDS.get(kind[0])
    inner = GUARDS.get(kind[1][0])
    if inner is None:
        return None
    usual, guard = inner
    return usual, lambda value: None if value is None else guard(value)


def guarded(arguments: list[Any], guards: list[Guarded]) -> list[Any]:
    """Check the arguments in place and return the same list. `guards`: a position, the usual class there, and the function that
    converts a value of another class or raises P007."""
    for at, usual, guard in guards:
        if type(arguments[at]) is not usual:
            arguments[at] = guard(arguments[at])
    return arguments
