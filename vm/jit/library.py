"""What translated code is run with: the functions that it calls by name, and a translated part as data.

Hands on to the tier `NAMES`, from which it takes the globals of translated code, `Deoptimise` and `blank`, and `Part` with its
`Site`s, which `functions` makes, the tier runs and a host may keep from one process to the next; `Site` also to the emitter,
`Inlined` to `inlining` and the tier. A name in `NAMES` stands in the texts that the emitter's families write, so it is changed
in both places. Translated code is Python text made of the instructions of a function (V-7); nothing here translates, compiles
or decides what is to be. What is marked as shared lies in two places, so that who writes copies it first (V-5.7).
"""

from __future__ import annotations

import math
from functools import partial
from itertools import islice

from ..interp import ops
from ..interp.dispatch import changes_self, missing_value, not_fallible, wrong_length
from ..interp.ops import not_bool
from ..panics import Panic
from ..values import (
    NONE,
    Array,
    Cell,
    Closure,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    Ok,
    RangeValue,
    Some,
    ToolRef,
    access,
    debug,
    display,
    index_out_of_range,
    int_div,
    int_rem,
    key_of,
    overflow,
    own,
    share,
)
from ..values.access import key_not_found, map_store, slice_of
from ..values.arithmetic import WHITE_SPACE, float_div
from ..values.containers import FALSE_KEY, PLAIN, TRUE_KEY, share_all
from ..values.limits import check_concat, collection_too_long, concat, join
from ..values.metering import LARGE
from ..values.ways import begun, handled, longer, marked, passed, thrown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    from ..interp.stores import HashStore

    Closures = tuple[tuple[int, int], ...]  # pairs of the position of a parameter and the number of a closure's function


# ---------------------------------------------------------------- functions
#
# `NAMES` has the operations of values, the functions of vm/interp/ops.py, and the forms of them below, which only translated
# code needs.


def blank(kind: type) -> Any:
    """Return a function that makes an instance of `kind` without calling its constructor, so that no slot is set; it is the
    fastest way that CPython has for such a class."""
    return partial(object.__new__, kind)


NEW_ARRAY, NEW_SOME = blank(Array), blank(Some)


class Deoptimise(BaseException):
    """Raised where translated code cannot go on: its frames become frames of the interpreter."""


class End:
    """The end of a walk, or the value of an absent entry: a sentinel that no program can have as a value. Translated code knows
    the class itself as `END` and compares with `is`; there is no instance."""


HOLDERS = frozenset({Some, Ok, Err})
WALKS = frozenset({type(iter(range(0))), type(iter([]))})  # that tell how many elements are left


def text_of(value: Any) -> str:
    """Return the Display text of a value. Raises as `display`."""
    return value if type(value) is str else display(value)


def own_plain(value: Any) -> Any:
    """Return a copy of a value that the translator takes for an Array whose elements are immutable, so that none is marked as
    shared. Any other value is copied as `own` does, which may raise what ends the run."""
    if type(value) is not Array or value.shared is not True:
        return own(value)
    copy = NEW_ARRAY()
    copy.items, copy.shared = value.items[:], False
    return copy


def is_shared(value: Any) -> bool:
    """Return whether a value has the mark of sharing; False for one that has no place for it."""
    return bool(getattr(value, "shared", False))


def first_entry(value: Any, machine: Any) -> Iterator[Any]:
    """Return an iterator over the first entry of a Map. Of any other value, and of a Map with a key that is a Bool, what ITERATE
    makes, which raises as that does."""
    if type(value) is not Map or TRUE_KEY in value.items or FALSE_KEY in value.items:
        return ops.ITERATE(value, machine)  # type: ignore[no-any-return]
    return iter([*islice(value.items.items(), 1)])


def own_cell(cell: Any) -> Any:
    """Return the value in a cell, which is first replaced by a copy if it is shared. Raises as `own`: what ends the run."""
    if getattr(cell.value, "shared", False):
        cell.value = own(cell.value)
    return cell.value


def span(start: Any, end: Any, inclusive: bool) -> Iterator[int]:
    """Return an iterator over the Ints of a range for which no value is built. Raises the panics of `start..end`: P007 for an end
    that is no Int."""
    if type(start) is int and type(end) is int:
        return iter(range(start, end + 1 if inclusive else end))
    return iter(RangeValue.checked(start, end, inclusive).span())


def text_slice(text: Any, start: Any, end: Any) -> Any:
    """Return `text[start..end]`, mostly of a String; None is an open bound. Raises P007 for bounds that are neither Int nor nil,
    and as `slice_of`."""
    if type(text) is str and is_natural(start) and is_natural(end):
        return text[start:end]
    return slice_of(text, RangeValue.checked(start, end, False))


def is_natural(bound: Any) -> bool:
    """Return whether Python cuts at a bound of a slice as the program does: it is an Int that is not negative, or open."""
    return bound is None or (type(bound) is int and bound >= 0)


def slice_at(value: Any, start: Any, end: Any) -> Any:
    """Return `value[start..end]`, mostly of an Array; None is an open bound. Raises as `index` of that range."""
    if type(value) is Array and is_natural(start) and is_natural(end):
        return Array(share_all(value.items[start:end]))
    return access.index(value, RangeValue.checked(start, end, False))


def option_of(value: Any) -> Any:
    """Return Some of a payload that stays in a container too, so that it is marked as shared; None for END."""
    if value is End:
        return NONE
    if type(value) not in PLAIN:
        share(value)
    return Some(value)


def option_of_container(value: Any) -> Any:
    """Return what `option_of` does, for a container or END."""
    if value is End:
        return NONE
    value.shared = True
    option = NEW_SOME()
    option.value = value
    return option


def int_of(result: Any) -> Any:
    """Return the Int in an Ok, or the Err itself: the form in which translated code keeps a Result until `result_of` builds
    it."""
    return result.value if type(result) is Ok else result


def result_of(value: Any) -> Any:
    """Return the Result that `int_of` took apart: Ok of an Int, or the Err itself."""
    return value if type(value) is Err else Ok(value)


def option_of_moved(value: Any) -> Any:
    """Return Some of a payload that is in no other place, None for END."""
    return NONE if value is End else Some(value)


def shared_payload(value: Any) -> Any:
    """Return a value that is read out of a container and stays there, marked as shared where a write could reach it."""
    if type(value) not in PLAIN:
        share(value)
    return value


def without_host(function: Any, arguments: list[Any], machine: Any) -> Any:
    """Return what a function that the host performs gives without it; it counts as an effect of the running task, whose keys
    (V-6.5) are those that recordings have. Raises Deoptimise where only the host knows, and what its check of the arguments
    raises."""
    value = function.at_once(function.prepare(*arguments))
    if value is None:
        raise Deoptimise
    machine.running.counter += 1
    return value


def put_in_store(store: HashStore, key: Any, value: Any) -> None:
    """Do `set` of a hashmap. Raises Deoptimise, before anything has happened, where someone watches the store or a file follows
    it, P415 for what does not fit, and P007 for what is no key."""
    if store.watchers or store.path is not None:
        raise Deoptimise
    store.put(key, value)


def drop_from_store(store: HashStore, key: Any) -> bool:
    """Do `delete` of a hashmap, and return whether the key was there. Raises Deoptimise as `put_in_store` does, P007 for what is
    no key."""
    if store.watchers or store.path is not None:
        raise Deoptimise
    return store.items.pop(key if type(key) is str else key_of(key), End) is not End


# The first raises, since it stands within an expression (`x is True or x is not False and not_a_bool(x)`); the panic of the
# second stands in a statement `raise`, by which the translator sees that control ends there.
def not_a_bool(value: Any) -> NoReturn:
    """Raise P007 for a condition that is no Bool."""
    raise not_bool(value)


def no_arm(value: Any) -> Panic:
    """Return P009, for the value that no arm of a `match` fits. Raises as `debug`: P103 for a value that is too large or nests
    too deep to be shown, and what ends the run."""
    return Panic("P009", f"no arm matches {debug(value)}")


def err_of(value: Any, path: Any) -> Any:
    """Return the Err by which `?` leaves a function whose result is a Result; `value` is the Err or None before the `?`, `path`
    the places in the program that the error passes. Raises P007 for any other value."""
    return passed(failure_of(value), path)


def none_or_err(value: Any, path: Any) -> Any:
    """Return what `err_of` does, for a function whose result is an Option: there None stays None. Raises as `err_of`."""
    return value if value is NONE else err_of(value, path)


def error_for_handler(value: Any, path: Any) -> Any:
    """Return the error that a handler around a `?` gets; `value` is the Err or None before the `?`, `path` as of `err_of`. Raises
    P007 for any other value."""
    return handled(failure_of(value), path)


def failure_of(value: Any) -> Err:
    """Return the Err before a `?`; for None a new one, whose error says that a value is missing. Raises P007 for any other
    value."""
    if type(value) is Err:
        return value
    if value is NONE:
        return Err(missing_value())
    raise not_fallible(value)


def state_before(values: Mapping[str, Any]) -> dict[int, tuple[Any, Any]]:
    """Return what a method of a tool has found that did not come to its end, from its variables `values` (those of `lending`). By
    position of each field that it may have changed: the value, and what the container held that it is, None for one that was not
    written in place."""
    found: dict[int, tuple[Any, Any]] = {}
    for name, value in values.items():
        field = name[1:]
        if name[0] != "o" or not field.isdigit():
            continue
        items = values.get(f"q{field}")
        if f"y{field}" in values:
            items = list(value.items[: values[f"y{field}"]])
        elif f"z{field}" in values:
            items = dict(value.items)
            for key, entry in reversed(values[f"z{field}"]):
                if entry is End:
                    items.pop(key, None)
                else:
                    items[key] = entry
        found[int(field)] = value, items
    return found


NAMES: dict[str, Any] = {
    value.__name__: value
    for value in (
        Array, Cell, Closure, EnumValue, Err, ErrorValue, Map, Ok, RangeValue, Some, ToolRef, Deoptimise, error_for_handler,
        changes_self,
        option_of, option_of_container,
        int_of, result_of, option_of_moved, put_in_store, drop_from_store, shared_payload, key_of, key_not_found,
        map_store, check_concat, collection_too_long, concat, err_of, float_div, index_out_of_range, int_div, int_rem, join,
        no_arm, none_or_err, first_entry, not_a_bool, overflow, own, own_cell, own_plain, begun, longer, marked, thrown, share,
        is_shared, share_all, slice_at, span, text_slice, math.sqrt, text_of, without_host, wrong_length,
    )
}  # fmt: skip
NAMES.update(STRINGS=frozenset({str}), WHITE_SPACE=WHITE_SPACE, LARGE=LARGE, TRUE_KEY=TRUE_KEY, FALSE_KEY=FALSE_KEY)
# BEHIND stands for a negative index: it is behind the end of every list, so that Python's own test of the index raises.
NAMES.update(EMPTY="", NONE_VALUE=NONE, NAN=math.nan, BEHIND=1 << 62, HOLDERS=HOLDERS, PLAIN=PLAIN, END=End, WALKS=WALKS)
NAMES.update({f"new{kind.__name__}": blank(kind) for kind in (Array, EnumValue, Err, ErrorValue, Map, Ok, Some)})
NAMES.update({f"op_{name}": function for name, function in vars(ops).items() if name.isupper() and callable(function)})


# ---------------------------------------------------------------- translated parts
#
# A part, and the places in the bytecode that its lines stand for. As plain data with a code object, a host keeps it from one
# process to the next (V-7.2).


METHOD = "mt"  # how names begin of methods of tools whose state is lent


class Inlined:
    """A function that is inlined: `function` is its number, `call` the instruction of `caller`, `slot` the number of its first
    local, `base` the depth of the operand stack beneath its own, `cells` the cells of the outermost function that it names as its
    own, `around` the functions around it and itself, outermost first. The outermost one has no caller."""

    __slots__ = ("function", "caller", "call", "slot", "base", "cells", "around")

    def __init__(
        self, function: int, caller: Inlined | None = None, call: int = 0, slot: int = 0, base: int = 0,
        cells: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.function = function
        self.caller = caller
        self.call = call
        self.slot = slot
        self.base = base
        self.cells = cells
        self.around: list[Inlined] = [self] if caller is None else [*caller.around, self]


class Site:
    """A place in the bytecode: the index of the instruction, and the atoms that the operand stack of the frame holds there,
    None where control never leaves. `element`: the variables of array and index, where an IndexError is about these. `again`:
    the operand stack for an interpreter that does the whole instruction, where it differs from `stack`, which is for one that
    goes on behind it."""

    __slots__ = ("index", "stack", "element", "again")

    def __init__(self, index: int, stack: tuple[str, ...] | None, element: tuple[str, str] | None = None) -> None:
        self.index = index
        self.stack = stack
        self.element = element
        self.again: tuple[str, ...] | None = None


def suffix(closures: Closures) -> str:
    """Return the end of the name of a function that is specialised for calls that give these closures."""
    return "".join([f"_{position}_{function}" for position, function in closures])


def named_function(name: str) -> tuple[int, Closures] | None:
    """Return the number of the function of the program that the Python function `name` is, and the closures that it is
    specialised for; None for any other name."""
    number, *rest = name[2:].split("_")
    if name[:2] != "fn" or not all(part.isdigit() for part in (number, *rest)):
        return None
    numbers = [int(part) for part in rest]
    return int(number), tuple(zip(numbers[::2], numbers[1::2], strict=True))


def is_literal(name: str) -> bool:
    """Return whether a global name is that of a literal of constants (`CN_FIRST_LAST`), which sessions do not share."""
    return name[:1] == "C" and name.count("_") == 2 and name[1:].replace("_", "").isdigit()


class Part:
    """A translated function or loop. `name`: of its Python function, which `source` defines; `source` is "" in a part that the
    host has kept. `places`: by index of an instruction, its index in its function, and which function. `sites`: by line of the
    source, from 1. `fuel`: the most that it uses without a loop. `code`: its code object, which the tier sets. Of a method of a
    tool whose state is lent, `begun` is the first line at which the call has begun; 0 of any other part."""

    __slots__ = ("name", "places", "source", "sites", "fuel", "code", "begun")

    def __init__(
        self,
        name: str,
        places: Sequence[tuple[int, Inlined]] | Mapping[int, tuple[int, Inlined]],
        source: str,
        sites: dict[int, Site],
        fuel: int,
    ) -> None:
        self.name = name
        self.places = places
        self.source = source
        self.sites = sites
        self.fuel = fuel
        self.code: Any = None
        self.begun = min(sites) if name.startswith(METHOD) else 0

    def packed(self) -> tuple[Any, ...]:
        """Return the part as a row of numbers, texts, tuples, mappings and the code object, from which `unpacked` makes it again.
        Of `places` the row has only those of the sites; an inlined function is an index of its list of functions, in which a
        caller stands before what is inlined in it."""
        places = {site.index: self.places[site.index] for site in self.sites.values()}
        numbers: dict[Inlined, int] = {}
        functions: list[tuple[Any, ...]] = []
        for inlined in (each for _, innermost in places.values() for each in innermost.around):
            if inlined not in numbers:
                numbers[inlined] = len(functions)
                caller = None if inlined.caller is None else numbers[inlined.caller]
                functions.append((inlined.function, caller, inlined.call, inlined.slot, inlined.base, inlined.cells))
        at = {index: (instruction, numbers[inlined]) for index, (instruction, inlined) in places.items()}
        sites = {line: (site.index, site.stack, site.element, site.again) for line, site in self.sites.items()}
        return self.name, functions, at, sites, self.fuel, self.code

    @staticmethod
    def unpacked(row: tuple[Any, ...]) -> Part:
        """Return the part of a row that `packed` has made; its `source` is empty."""
        name, functions, at, sites, fuel, code = row
        inlined: list[Inlined] = []
        for function, caller, call, slot, base, cells in functions:
            inlined.append(Inlined(function, None if caller is None else inlined[caller], call, slot, base, cells))
        places = {index: (instruction, inlined[number]) for index, (instruction, number) in at.items()}
        part = Part(name, places, "", _sites(sites.items()), fuel)
        part.code = code
        return part


def _sites(rows: Iterable[tuple[int, Any]]) -> dict[int, Site]:
    sites = {}
    for line, (index, stack, element, again) in rows:
        sites[line] = site = Site(index, stack, element)
        site.again = again
    return sites


def site_of(part: Part, line: int) -> Site:
    """Return the place in the bytecode of a line: of that line, or of the last one before it that has one; the first has one
    (G-3.8)."""
    while line not in part.sites:
        line -= 1
    return part.sites[line]


def within(inlined: Inlined, at: int) -> list[tuple[Inlined, int]]:
    """Return the functions around an instruction, outermost first, each with the index of what it does next."""
    inner = []
    while inlined.caller is not None:
        inner.append((inlined, at))
        inlined, at = inlined.caller, inlined.call + 1
    return [(inlined, at), *reversed(inner)]
