"""The frames and the operand stack of one task (G-13.7, G-13.9): each frame stands at a suspension point of its function, and
the stack holds what the verifier's stack map says for it.

Hands on `lowered_frames` and `read_frames`. A frame names its function by number and hash, and the instruction it goes on with by
its place. Must not know: trees of tasks, effects.
"""

from __future__ import annotations

from ..bytecode.opcodes import OPCODES
from ..generated.loop import NUMBERS
from ..tasks import WAITING
from .errors import SnapshotError, misshapen
from .iterators import is_iterator, lowered_iterator, read_iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..linked import Code
    from ..tasks import Task
    from .reader import Reader
    from .writer import Writer

CALLS = frozenset({"CALL", "CALL_VALUE", "CALL_METHOD", "CALL_INOUT"})  # what a frame waits in for another one
_BEGIN = NUMBERS["LINK"]
NOT_BEGUN = -1


def lowered_frames(w: Writer, task: Task) -> list[Any]:
    """The frames, outermost first, and what is on the operand stack."""
    ins, locs, cells, code, top = task.state
    frames = [*task.frames[1:], (ins, locs, cells, code)]
    stack = [*task.stack, top][1:]  # the first entry is no value: what the top register held when the stack was empty
    return [[_frame(w, *frame) for frame in frames], [_entry(w, value) for value in stack]]


def _entry(w: Writer, value: Any) -> Any:
    return lowered_iterator(w, value) if is_iterator(value) else w.put(value)


def _frame(w: Writer, ins: Any, locs: list[Any], cells: list[Any], code: Code) -> list[Any]:
    at = NOT_BEGUN if ins[0] == _BEGIN else _place(code, ins)
    function = w.function(code)
    own = [None if cell is None else w.cell(cell) for cell in cells]
    return [function, w.program.image.functions[function].hash, at, [w.put(value) for value in locs], own]


def _place(code: Code, ins: Any) -> int:
    for index, node in enumerate(code.nodes):
        if node is ins:
            return index
    raise SnapshotError("V008", f"a frame of {code.label} stands at no suspension point; run the machine to one first")


# ---------------------------------------------------------------- reading


def read_frames(r: Reader, task: Task, rows: Any, stack: Any) -> None:
    """Gives the task its frames and its stack."""
    program = r.program
    frames = [_read_frame(r, *row) for row in r.list(rows)]
    iterators: list[bool] = []
    for code, at, _, _ in frames[:-1]:
        iterators += _kinds(r, code, at, CALLS, True)
    code, at, locs, cells = frames[-1]
    if at == NOT_BEGUN:
        if len(frames) > 1 or task.status == WAITING:
            raise misshapen("a task that waits before it has begun")
        ins = program.begin(code)
    else:
        iterators += _kinds(r, code, at, None, task.status == WAITING)
        ins = code.nodes[at]
    if len(r.list(stack)) != len(iterators):
        raise misshapen("a stack of another depth than its frames have")
    held = [read_iterator(r, form) if walk else r.value(form) for form, walk in zip(stack, iterators, strict=True)]
    whole = [None, *held]
    task.stack, top = whole[:-1], whole[-1]
    task.frames = [(program.halt, None, None, None), *((code.nodes[at], ls, cs, code) for code, at, ls, cs in frames[:-1])]
    task.state = (ins, locs, cells, code, top)
    if code is not task.code and len(frames) == 1:
        raise misshapen("a task that runs another function than its own")


def _read_frame(r: Reader, number: Any, digest: Any, at: Any, locs: Any, cells: Any) -> tuple[Code, int, list[Any], list[Any]]:
    code = r.function(number)
    function = r.program.image.functions[code.number]
    if digest != function.hash:
        raise misshapen(f"a frame of another {code.label} than that of the image")
    if type(at) is not int or at < NOT_BEGUN or len(r.list(locs)) != function.slots or len(r.list(cells)) != code.cell_count:
        raise misshapen(f"a frame that {code.label} has not")
    if at != NOT_BEGUN:
        r.program.link(code)
    return code, at, r.values(locs), [None if cell is None else r.cell(cell) for cell in cells]


def _kinds(r: Reader, code: Code, at: int, calls: frozenset[str] | None, awaits: bool) -> list[bool]:
    """Which entries of a frame's part of the stack are iterators; `calls`: what the instruction before may be, None for any that
    suspends; `awaits`: what it gives is not there yet."""
    facts = r.program.verified.functions[code.number]
    before = OPCODES[facts.instructions[at - 1][1]] if 0 < at < len(facts.instructions) else None
    if before is None or (before.flow != "suspend" if calls is None else before.name not in calls):
        raise misshapen(f"a frame of {code.label} that stands at no suspension point")
    if awaits and len(before.pushes) != 1 or facts.depths[at] < 0:
        raise misshapen(f"a frame of {code.label} that waits where nothing is awaited")
    return [bool(facts.iterators[at] >> position & 1) for position in range(facts.depths[at] - awaits)]
