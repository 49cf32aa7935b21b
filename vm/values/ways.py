"""The way of an error: where it was made, and what it passed since (L-5.11.3, V-7.5).

A way is a tuple of places `(Code, index of the instruction)`, the first where the error was made; of a long one the middle is
left out, and a number stands there. `Code` is a linked function of `interp/linked.py`, and both tiers are the interpreter and the
translated code; where errors go is decided by them, and only noted here. It is in `Err.way`, and in `ErrorValue.way` while a
handler has the error without its Err; no program sees it. Only what an error passes pays for it. `here` is in each function the
way to add, mostly of one place.

Hands on `begun`, `thrown`, `passed`, `handled` and `marked` to both tiers (`interp/template.py`, the generated loop, which has
the text of `passed` instead of a call and so needs `shortened` and `MOST`, and `jit/library.py`, which needs `longer` too),
`begun` to the machine, `frames` to the session, which shows a way, and `HALF` and `MOST` to snapshots.
"""

from __future__ import annotations

from . import Err, ErrorValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .objects import Way


HALF = 16  # places that are kept from the beginning, and from the end
MOST = 2 * HALF


def shortened(way: Way) -> Way:
    """Return a way of more than MOST items with its middle left out: a number, as item HALF, says how many places are missing
    there. The result has MOST places and that number."""
    gap = way[HALF]
    left_out, rest = (gap, way[HALF + 1 :]) if type(gap) is int else (0, way[HALF:])
    beyond = len(rest) - HALF
    return (*way[:HALF], left_out + beyond, *rest[beyond:])


def longer(way: Way, more: Way) -> Way:
    """Return the way with further places at its end, shortened if it is too long then."""
    way = way + more
    return way if len(way) <= MOST else shortened(way)


def frames(way: Way) -> Iterator[tuple[str, str, int, int] | int]:
    """Yield function, file, line and column (both from 1, 0 where nothing is known) of each place, or a number where that many
    are left out. A call and the `?` behind it are at one position: they are one place, except where a recursion passes one
    instruction again and again."""
    before: Any = None
    frame: Any = None
    for place in way:
        last, before = before, place
        if type(place) is int:
            frame = None
            yield place
            continue
        previous, frame = frame, (place[0].label, *place[0].home.place_of(*place))
        if previous != frame or last == place:
            yield frame


def begun(error: Any, here: Way) -> Err:
    """Return a new Err of `error`, any value, made at `here`; an error that a handler has taken goes on with its way."""
    return Err(error, longer(error.way, here) if type(error) is ErrorValue and error.way else here)


def thrown(error: Any, here: Way) -> Any:
    """Return the error that goes from here to a handler, without an Err. Sets the way of an error of a family."""
    if type(error) is ErrorValue:
        error.way = longer(error.way, here) if error.way else here
    return error


def passed(failed: Err, here: Way) -> Err:
    """Return a new Err of the same error, which leaves the function by `?`, with the place `here` added to its way."""
    way = failed.way + here
    return Err(failed.value, way if len(way) <= MOST else shortened(way))


def handled(failed: Err, here: Way) -> Any:
    """Return the error that goes by `?` from its Err to a handler. Sets the way of an error of a family: that of the Err with
    this place added."""
    error = failed.value
    if type(error) is ErrorValue:
        error.way = longer(failed.way, here)
    return error


def marked(failed: Err, here: Way) -> None:
    """Set the place of an Err that a function returns, if it has none: then it was made here."""
    if not failed.way:
        failed.way = here
