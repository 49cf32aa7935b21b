"""The way of an error: where it was made, and what it passed since (L-5.11.12, V-7.8).

A way is a tuple of places `(Code, index of the instruction)`, the first where the error was made; of a long one the middle is left
out, and a number stands there. It lies beside an Err, and beside an error of a family while no Err is around it; nothing of the
language sees it. Only what an error passes pays for it. Must not know: tasks, texts.
"""

from __future__ import annotations

from .values import Err, ErrorValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .values.results import Way

HALF = 16  # places that are kept from the beginning, and from the end


def longer(way: Way, more: Way) -> Way:
    """A way that goes on."""
    way = way + more
    if len(way) <= 2 * HALF:
        return way
    gap = way[HALF]
    left_out, rest = (gap, way[HALF + 1 :]) if type(gap) is int else (0, way[HALF:])
    beyond = max(len(rest) - HALF, 0)
    return (*way[:HALF], left_out + beyond, *rest[beyond:])


def frames(way: Way) -> Iterator[tuple[str, str, int, int] | int]:
    """The function and position of each place, or how many are left out."""
    for place in way:
        yield place if type(place) is int else (place[0].label, *place[0].home.place_of(*place))


def marked(value: Any, here: Way) -> None:
    """What a function gives: an Err that nobody knows the place of was made here."""
    if not value.way:
        value.way = here


def begun(error: Any, here: Way) -> Err:
    """Err(error), made here; an error that a handler has taken goes on."""
    made = Err(error)
    made.way = longer(error.way, here) if type(error) is ErrorValue and error.way else here
    return made


def passed(failed: Err, here: Way) -> Err:
    """An Err that leaves by `?`."""
    made = Err(failed.value)
    made.way = longer(failed.way, here) if failed.way else here
    return made


def taken(failed: Err) -> Any:
    """The error that a handler gets."""
    error = failed.value
    if type(error) is ErrorValue:
        error.way = failed.way
    return error


def thrown(error: Any, here: Way) -> Any:
    """The same where no Err was made on the way to the handler."""
    if type(error) is ErrorValue:
        error.way = longer(error.way, here) if error.way else here
    return error
