"""What effects ask of the host, as parts of a snapshot (G-13.7: what a task waits for).

A payload is made of values, of the records of `effects`, and of plain lists, tuples and dicts of such. Hands on
`lowered_payload`, `read_payload`, and `same_form`, by which a reader holds a payload to what the host performs. Must not know:
who performs what.
"""

from __future__ import annotations

from .. import effects
from ..bytecode.image import Pipeline
from ..values import UNSET
from .errors import misshapen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..link import Program

    class Writer(Protocol):
        program: Program

        def put(self, value: Any) -> Any: ...

    class Reader(Protocol):
        program: Program

        def value(self, form: Any) -> Any: ...
        def index(self, given: Any) -> int: ...
        def list(self, given: Any) -> list[Any]: ...


RECORDS: tuple[Any, ...] = (
    effects.EmitPayload, effects.StoreFile, effects.ModelCall, effects.ModelLife, effects.ServerUse, effects.ToolUse,
    effects.MemoryUse, effects.AgentCall,
)  # fmt: skip
VALUE, LIST, TUPLE, DICT, LEFT_OUT, PIPELINE, RECORD = range(7)


def lowered_payload(w: Writer, payload: Any) -> list[Any]:
    kind = type(payload)
    if kind is list or kind is tuple:
        return [LIST if kind is list else TUPLE, [lowered_payload(w, part) for part in payload]]
    if kind is dict:
        return [DICT, [part for key, value in payload.items() for part in (w.put(key), lowered_payload(w, value))]]
    if payload is UNSET:
        return [LEFT_OUT]
    if kind is Pipeline:
        return [PIPELINE, w.program.image.pipelines.index(payload)]
    if kind in RECORDS:
        slots = [lowered_payload(w, getattr(payload, name)) for name in kind.__slots__]
        return [RECORD, RECORDS.index(kind), slots]
    return [VALUE, w.put(payload)]


def read_payload(r: Reader, form: Any) -> Any:
    kind, *parts = r.list(form)
    if kind == LEFT_OUT and not parts:
        return UNSET
    if kind == RECORD:
        number, slots = parts
        cls = RECORDS[r.index(number)]
        made = cls.__new__(cls)
        rows = list(r.list(slots))
        if cls is effects.EmitPayload and len(rows) == 3:  # of a version whose answers had no type
            rows.append([VALUE, None])
        for name, slot in zip(cls.__slots__, rows, strict=True):
            setattr(made, name, read_payload(r, slot))
        return made
    (part,) = parts
    if kind == VALUE:
        return r.value(part)
    if kind == PIPELINE:
        return r.program.image.pipelines[r.index(part)]
    rows = r.list(part)
    if kind in (LIST, TUPLE):
        return (list if kind == LIST else tuple)(read_payload(r, row) for row in rows)
    if kind == DICT:
        return {r.value(key): read_payload(r, row) for key, row in zip(rows[::2], rows[1::2], strict=True)}
    raise misshapen("an effect that asks for nothing that is known")


def same_form(given: Any, held: Any) -> bool:
    """Whether a payload asks the same of the host as the one that it performs already, whatever values stand in it."""
    if type(given) is not type(held):
        return False
    if type(held) in RECORDS:
        return all(same_form(getattr(given, name), getattr(held, name)) for name in type(held).__slots__)
    if type(held) is list or type(held) is tuple:
        return len(given) == len(held) and all(map(same_form, given, held))
    if type(held) is dict:
        return list(given) == list(held) and all(map(same_form, given.values(), held.values()))
    return type(held) not in (str, int, bool) or given == held
