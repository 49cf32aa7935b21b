"""`.run` of a pipeline, in the shape of the calling functions of `dispatch`, and what values become between stages (O-6.22).

`.run` is one effect, whose performer runs the stages as functions of the program. Must not know: decorators, channels.
"""

from __future__ import annotations

from .handles import arguments_of
from .signals import SUSPENDED
from .values import Array, Map, share
from .values.casts import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .effects import Running
    from .linked import Site
    from .tasks import Task
    from .values import PipelineRef


def _run(machine: Running, task: Task, ref: PipelineRef, site: Site, arguments: list[Any]) -> Any:
    (value,) = arguments_of(site, arguments, ("x",))
    program = machine.program
    entry = program.image.pipelines[program.pipelines.index(ref)]
    machine.suspend(task, "pipeline", (entry, share(fitting(value, program.descriptors[entry.input]))))
    return SUSPENDED


def fitting(value: Any, descriptor: Any) -> Any:
    """A value where that type is taken: what comes from behind Any is checked (P007), Ints become Floats."""
    return _widened(check(value, descriptor), descriptor)


def _widened(value: Any, descriptor: Any) -> Any:
    """Ints as Floats where the type says so, in Arrays and Maps too; the same object when nothing changes."""
    if descriptor[0] == "float" and type(value) is int:
        return float(value)
    if type(value) is Array and _holds_floats(descriptor):
        items = [_widened(item, descriptor[1]) for item in value.items]
        return Array(items) if any(a is not b for a, b in zip(items, value.items, strict=True)) else value
    if type(value) is Map and _holds_floats(descriptor):
        entries = {key: _widened(item, descriptor[2]) for key, item in value.items.items()}
        return Map(entries) if any(entries[key] is not item for key, item in value.items.items()) else value
    return value


def _holds_floats(descriptor: Any) -> bool:
    while descriptor[0] in ("array", "map"):
        descriptor = descriptor[-1]
    return bool(descriptor[0] == "float")


HANDLERS: dict[tuple[str, str], Any] = {("PipelineRef", "run"): _run}
