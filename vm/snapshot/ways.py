"""The way of an error in its row (L-5.11.4): nothing for none, else a list of functions by number, each with the index of its
instruction, and a number by itself where places are left out.

Hands on `lowered_way` and `read_way`. Must not know: what errors are.
"""

from __future__ import annotations

from ..ways import HALF, MOST
from .errors import misshapen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..values.results import Way
    from .protocols import Reader, Writer


def lowered_way(w: Writer, way: Way) -> list[Any]:
    """The fields of a row that the way takes. Places of an earlier program of the session are left out."""
    places: list[Any] = []
    for place in way:
        if type(place) is int:
            places.append(place)
        elif place[0].home is w.program:
            places.append([w.function(place[0]), place[1]])
    return [places] if places else []


def read_way(r: Reader, given: Any = None) -> Way:
    if given is None:
        return ()
    left_out = [at for at, place in enumerate(r.list(given)) if type(place) is int]
    whole = [HALF] if len(given) == MOST + 1 else []
    if not 0 < len(given) <= MOST + 1 or left_out != whole or whole and given[HALF] < 1:
        raise misshapen("an error with a way that none has")
    return tuple([place if type(place) is int else _place(r, place) for place in given])


def _place(r: Reader, place: Any) -> Any:
    number, index = r.list(place)
    code = r.function(number)
    if r.index(index) >= len(r.program.verified.functions[code.number].instructions) or code.hidden:
        raise misshapen(f"a place that {code.label} has not")
    return code, index
