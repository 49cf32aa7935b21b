"""What the values weigh that a run can reach: the memory that counts against its budget (G-6.8).

Hands on `weight_of_run` to the machine, and `MemoryGauge`, the protocol by which the host says when to weigh. Each value is
weighed once, however often it is reached, by the bytes that CPython reports for it, rounded up as its allocator does. The stack
of Python is searched too, so that values in the hands of translated code and of built-ins count. Nothing here sets the budget or
ends a run that is over it: the machine compares, and raises. What counts at all is said by PROGRAM, LEAVES and `weight_of_run`.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from gc import get_referents
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType

from ..generated.loop import run
from ..values import Array, Closure, EnumType, EnumValue, Err, ErrorValue, Map, Ok, Queue, Set, Some, Stack, Struct, StructType
from ..values.metering import look
from .link import Program
from .linked import Code, LoopSite, Site
from .tasks import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import Any, Protocol

    class MemoryGauge(Protocol):
        """What the host does so that a run notices in time that its memory grows: it calls `Machine.weigh_soon`. `machine` is
        the one that it looks after; a successor of that sets itself there."""

        machine: Any

        def count(self, items: int) -> None:
            """A built-in is about to work on this many items, or to make them."""

        def computing(self, translated: bool) -> None:
            """The run has used a chunk of fuel, or enters `translated` code, and no thread watches it. It is called until the
            gauge, once it watches, sets `Machine.unwatched` to False."""

        def weighed(self, weight: int) -> None:
            """The values of the run weigh this many bytes now, within the budget: above it P103 is raised instead."""


# Classes of what values refer to but no run has made: the program, and what belongs to Python. They weigh nothing.
PROGRAM = frozenset({
    type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, type(sys._getframe()), Program, Code, LoopSite,
    Site, EnumType, StructType,
})  # fmt: skip
LEAVES = frozenset({str, int, float, bool, type(None), bytes, bytearray})
# Classes of what a variable of Python may hold that is a value of the run, or a part of one in the making.
VALUES = frozenset({
    str, bytes, list, dict, tuple, set, deque, Array, Map, Set, Queue, Stack, Some, Ok, Err, EnumValue, ErrorValue, Closure,
})  # fmt: skip
# Variables of the loop that hold no value of the run but what it runs with: the machine, nodes and their operands (`o0`, `o1` …).
OWN = frozenset({
    "machine", "task", "ins", "code", "frames", "limit", "debt", "fuel", "op", "arg", "near", "far", "side", "cost", "cost2",
    "callee", "callee2", "target", "target2", "entry", "error",
})  # fmt: skip
OPERAND = re.compile(r"o\d+").fullmatch
BATCH = 4096  # values weighed between two looks whether the run is to stop
STEP = 64  # containers whose parts are asked for in one call of `get_referents`
LONG = 1024  # bytes of a container from which its parts are walked with an iterator, not listed
ITERABLE = frozenset({list, tuple, set, deque})
APART = 16  # bytes lost to rounding where a container has its storage in a second block
REGION = 16  # bits of an address within a region, of which a byte each 16 bytes says whether a value there was seen
PLACES = (1 << REGION - 4) - 1
# References to a value that only one other value holds: that one's, the batch's, the variable's and the argument's. Such a value
# cannot be reached twice, so its address need not be remembered.
ALONE = 4


def weight_of_run(machine: Any, most: int) -> int:
    """Return the bytes of all values that a run can reach; the walk stops once they are more than `most`, and the result is then
    only above it. Raises what `look` raises when the run is to stop: P102, P103, or what the host has set."""
    roots: list[Any] = [machine.stores, machine.memories, machine.effects, machine.configured]
    roots += [parts() for parts in machine.beside]
    for task in machine.roots:
        roots += task.subtree()
    roots += on_the_stack(sys._getframe(1))
    return weight_of(roots, most, frozenset({id(machine)}))


def on_the_stack(frame: FrameType | None) -> Iterator[Any]:
    """Yield the values in the variables of Python's frames, down to the loop of the innermost machine. What lies beneath the loop
    belongs to the host."""
    while frame is not None:
        if frame.f_code is run.__code__:
            yield [value for name, value in frame.f_locals.items() if name not in OWN and not OPERAND(name)]
            return
        for value in frame.f_locals.values():
            if type(value) in VALUES or isinstance(value, Struct | GeneratorType):
                yield value
        frame = frame.f_back


class Seen(dict[int, bytearray]):
    """Addresses of values by regions of memory. To weigh what is nearly too much must not need as much again, which a set of
    numbers does; this takes a sixteenth at most."""

    def __missing__(self, region: int) -> bytearray:
        marks = self[region] = bytearray(PLACES + 1)
        return marks


def weight_of(roots: Iterable[Any], most: int, passed: frozenset[int] = frozenset()) -> int:
    """Return the bytes of the values `roots` and of all that they hold, without the objects whose `id` is in `passed`; the walk
    stops once they are more than `most`. Raises as `weight_of_run`."""
    pending: list[Any] = [list(roots)]  # lists of values that are taken off, and iterators over long wholes
    addresses = Seen()
    for at in passed:
        addresses[at >> REGION][at >> 4 & PLACES] = 1
    size, count = sys.getsizeof, sys.getrefcount
    total = 0
    while pending:
        look()
        batch = next_batch(pending)
        small: list[Any] = []
        below: list[Any] = []
        for value in batch:
            kind = type(value)
            if kind in PROGRAM or value is None:
                continue
            if count(value) > ALONE:
                at = id(value)
                region = addresses[at >> REGION]
                at = at >> 4 & PLACES
                if region[at]:
                    continue
                region[at] = 1
            if kind in LEAVES:
                total += size(value) + 15 & -16
            elif kind is Task:
                below += parts_of(value)
            elif not isinstance(value, type):
                own = size(value)
                total += (own + 15 & -16) + (APART if kind is list or kind is dict else 0)
                if kind is dict:  # `get_referents` leaves out keys of a dict whose keys are all texts
                    pending += (iter(value), iter(value.values()))
                elif own > LONG and kind in ITERABLE:
                    pending.append(iter(value))
                else:
                    small.append(value)
        if total > most:
            return total
        for at in range(0, len(small), STEP):
            below += get_referents(*small[at : at + STEP])
        if below:
            pending.append(below)
    return total


def next_batch(pending: list[Any]) -> list[Any]:
    """Take at most BATCH values off the last list or iterator of `pending`, and return them; what is used up is removed."""
    last = pending[-1]
    if type(last) is list:
        batch = last[-BATCH:]
        del last[-BATCH:]
        if not last:
            pending.pop()
        return batch
    batch = list(islice(last, BATCH))
    if not batch:
        pending.pop()
    return batch


def parts_of(task: Task) -> Iterator[Any]:
    """Yield the values that a task holds, without the nodes of its code."""
    yield from (task.stack, task.result, task.answer, task.effect, task.wait, *task.state[1:3], *task.state[4:])
    for _, locals_, cells, _ in task.frames:
        yield locals_
        yield cells
