"""Functions of the program that give the messages of a view (M-4.30): they may wait, ask models and use the host.

Hands on `asker`, which puts what they give into views. Must not know: when a view is made, what is sent.
"""

from __future__ import annotations

from ..vm.handles import message_array
from ..vm.values import Err, ErrorValue, Ok, check, display
from ..vm.values.errors import FOR_MODEL, is_family
from .errors import CallFailure, Returned
from .memory.direct import message_of
from .memory.errors import reading_itself, view_failed
from .step_functions import configured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..vm.effects import Effect
    from .memory.turns import Attached
    from .memory.views import View
    from .running import Running

MESSAGES = ("array", ("struct", "Message"))


def asker(run: Running, effect: Effect) -> Callable[[Attached, View], Awaitable[object]]:
    """`effect`: who waits for the view; the function runs for it."""

    async def ask(element: Attached, view: View) -> None:
        memory, place = element.memory, element.policy.view_with
        assert place is not None
        if run.memories.reads_around(effect.task, memory):
            raise reading_itself(memory.name)
        reading, begun = run.memories.reading, []

        def started(path: str) -> None:
            reading[path] = memory
            begun.append(path)

        shown = message_array([*view.before, *view.window])
        try:
            value = await run.call(effect, configured(run.machine, place, 1), [shown], started)
        finally:
            for path in begun:
                del reading[path]
        if type(value) is Err:
            raise _failure(memory.name, value.value)
        given = check(value.value if type(value) is Ok else value, MESSAGES)
        view.shaped([message_of(message) for message in given.items])

    return ask


def _failure(memory: str, error: Any) -> CallFailure:
    """An error that a call can end in is that of the call; any other is said in one."""
    if isinstance(error, ErrorValue) and is_family(error.family, "AgentError"):
        return Returned(error, error.fields.get(FOR_MODEL))
    return view_failed(memory, getattr(error, "message", None) or display(error))
