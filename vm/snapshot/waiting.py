"""What a task waits for inside the machine, and who waits for its end, as parts of a snapshot.

Hands on `lowered_wait`, `lowered_watchers` and their inverses. Waits that were answered meanwhile are left out: the end of what
they watch tells them nothing. Must not know: frames, effects.
"""

from __future__ import annotations

from ..waits import AllEnded, Await, Each, First, HostCall, JoinAll
from .errors import misshapen
from .iterators import lowered_iterator, read_iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..tasks import Task
    from ..waits import Wait
    from .reader import Reader
    from .writer import Writer

KINDS: tuple[type[Wait], ...] = (Await, JoinAll, First, Each, AllEnded)
BY_HOST = None  # a watcher that is no wait of a task


def lowered_wait(w: Writer, wait: Any) -> list[Any] | None:
    if wait is None:
        return None
    kind = KINDS.index(type(wait))
    if type(wait) is Await:
        return [kind]
    if type(wait) is AllEnded:
        return [kind, w.put(wait.value), wait.left]
    if type(wait) is Each:
        cells = [None if cell is None else w.cell(cell) for cell in wait.captured]
        places = [[w.task(task), place] for task, place in wait.places.items()]
        results = [w.put(value) for value in wait.results]
        return [kind, w.function(wait.code), cells, lowered_iterator(w, wait.elements), wait.limit, results, places]
    operands = list(map(w.task, wait.operands))
    return [kind, operands, wait.left] if type(wait) is JoinAll else [kind, operands]


def lowered_watchers(w: Writer, task: Task) -> list[Any]:
    told = [one for one in task.watchers if type(one) is HostCall or one.task.wait is one]
    return [BY_HOST if type(one) is HostCall else w.task(one.task) for one in told]


def read_wait(r: Reader, task: Task, form: Any) -> Wait | None:
    if form is None:
        return None
    kind, *parts = r.list(form)
    cls = KINDS[r.index(kind)]
    if cls is Await:
        () = parts
        return Await(task)
    if cls is AllEnded:
        value, left = parts
        return AllEnded(task, r.value(value), r.index(left))
    if cls is Each:
        return _read_each(r, task, *parts)
    operands = list(map(r.task, parts[0]))
    if cls is First:
        (_,) = parts
        return First(task, operands)
    _, left = parts
    return JoinAll(task, operands, r.index(left))


def _read_each(r: Reader, task: Task, function: Any, cells: Any, elements: Any, limit: Any, results: Any, places: Any) -> Each:
    code = r.function(function)
    captured = [None if cell is None else r.cell(cell) for cell in r.list(cells)]
    each = Each(task, read_iterator(r, elements), r.index(limit), code, captured)
    each.results = r.values(results)
    each.places = {r.task(number): r.index(place) for number, place in places}
    if len(captured) != code.cell_count or code.argc != 1 or any(place >= len(each.results) for place in each.places.values()):
        raise misshapen("a parallel loop that the image has not")
    return each


def _check_wait(wait: Wait, watched: list[Task]) -> None:
    """It ends when those that it watches have ended, not before and not never."""
    fitting = bool(watched)
    if isinstance(wait, JoinAll | AllEnded):
        fitting = fitting and wait.left == len(watched)
    elif isinstance(wait, Each):
        fitting = fitting and len(watched) == len(wait.places) and set(watched) == set(wait.places)
    if not fitting:
        raise misshapen("a task that waits for tasks that do not run")


def read_watchers(
    r: Reader, alive: list[Task], forms: dict[Task, Any], calls: dict[str, HostCall]
) -> list[tuple[HostCall, Task]]:
    """Gives all tasks their watchers, when all are there; `calls`: those of the host, given back with their tasks."""
    called = []
    watched: dict[int, list[Task]] = {}
    for task in alive:
        for form in r.list(forms[task]):
            if form is BY_HOST:
                called.append((calls[task.path], task))
                task.watchers.append(calls[task.path])
            elif r.task(form).wait is None:
                raise misshapen("a task that waits for another's end and for nothing")
            else:
                wait = r.task(form).wait
                task.watchers.append(wait)
                watched.setdefault(id(wait), []).append(task)
    for task in alive:
        if task.wait is not None:
            _check_wait(task.wait, watched.get(id(task.wait), []))
        asked = sum(1 for child in task.children if any(type(one) is HostCall for one in child.watchers))
        if task.calls != asked or (asked and task.effect is None):
            raise misshapen("a task that the host runs for nothing")
    return called
