"""What work of built-ins and values costs the run that does it, and when it looks whether the run is to stop (G-6.3, G-6.6).

Hands on `look`, `spend`, `announce` and `works_on`, the loop `paced`, which has a look in it, and the sizes LARGE, FEW, STRIDE
and BLOCK, to values, built-ins, `regex/`, the stores and the weighing of `interp/`, the runtime and the API, LARGE to translated
code too. The machine, which takes IDLE too, installs itself with `exchange` as the meter of its thread, for each slice and for
what the host does under the limits of the run; where no run is the meter, nothing is counted and nothing is raised.

What ends a run is what `Machine.attend` raises: a Panic (P102 for its time, P103 for the weight of its values) or whatever the
host has set as `Machine.stop`. It comes out of every function here that looks. Here is only asked and told: fuel is counted, and
limits are kept, by the machine; what a unit of work costs in fuel is not decided here.
"""

from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Meter(Protocol):
        """A run. `attention`: it has to call `attend` soon: it may have to stop."""

        attention: bool

        def attend(self) -> None:
            """Raise what ends the run, if anything does."""

        def spend(self, items: int) -> None:
            """Charge a built-in that works on this many items."""

        def announce(self, items: int) -> None:
            """This many items are about to be made by an opcode, which charges nothing for them."""


LARGE = 1024  # items or characters; who works on fewer costs what its instruction costs (G-6.6)
FEW = 128  # items that cost several microseconds each between two looks
STRIDE = 1024  # items of Python's own pace between two looks: up to 10 ms where each is hashed or compared in Python
BLOCK = 1 << 18  # characters or items of C's pace between two looks: as long at worst


class Idle:
    """The meter of a thread in which no run works: it counts nothing."""

    attention = False

    def attend(self) -> None:
        pass

    def spend(self, items: int) -> None:
        pass

    def announce(self, items: int) -> None:
        pass


IDLE = Idle()


class _Thread(_local):
    """The meter of the run in this thread."""

    meter: Meter = IDLE


_thread = _Thread()


def exchange(meter: Meter) -> Meter:
    """Set the meter of this thread and return the one before, which the caller puts back with another call."""
    before = _thread.meter
    _thread.meter = meter
    return before


def look() -> None:
    """Raise what ends the run, if anything does. Call it every few milliseconds of work."""
    meter = _thread.meter
    if meter.attention:  # a plain attribute, so that a look costs next to nothing
        meter.attend()


def spend(items: int) -> None:
    """Charge the run for work on `items` items, `LARGE` or more, before the work; and look. Where the fuel of the run does not
    suffice, the machine raises P101 after the work. In translated code it may raise Deoptimise (`jit/`): the interpreter then
    calls the built-in once more, so a built-in changes nothing before it has spent."""
    _thread.meter.spend(items)


def works_on(items: int) -> None:
    """Look, and charge the run for work on `items` items if they are `LARGE` or more. Methods of stores call it first. Raises as
    `spend`, Deoptimise too."""
    meter = _thread.meter
    if items >= LARGE:
        meter.spend(items)
    elif meter.attention:
        meter.attend()


def announce(items: int) -> None:
    """Look before `items` items, `LARGE` or more, are made for which nothing is charged: by an opcode, or in one of several
    pieces that were charged together."""
    _thread.meter.announce(items)


def paced(values: Iterable[T], stride: int = STRIDE) -> Iterator[T]:
    """Yield the values, with a look at every `stride` of them."""
    if type(values) is list and len(values) < stride:  # no look, and no generator either
        return iter(values)
    return _paced(values, stride)


def _paced(values: Iterable[T], stride: int) -> Iterator[T]:
    until_look = stride
    for value in values:
        until_look -= 1
        if not until_look:
            look()
            until_look = stride
        yield value
