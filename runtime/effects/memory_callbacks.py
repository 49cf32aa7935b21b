"""Functions of the program that memories call: handlers of `on`, and those that give the messages of a view (M-4.30, M-6.37 to
M-6.40).
"""

from __future__ import annotations

from ...vm.interp.methods_models import message_array
from ...vm.interp.tasks import is_below
from ...vm.panics import Panic
from ...vm.values import Err, ErrorValue, Ok, check, display, from_json
from ...vm.values.errors import FOR_MODEL, is_family
from ..errors import CallFailure, Returned
from ..memory.entries import reading_itself, view_failed
from ..memory.keyed_memory import DerivedMemory
from ..memory.memory import Memory
from ..memory.methods import message_of
from ..records import Call, Msg
from .step_machine import step_closure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..memory.memory import Listener
    from ..memory.turns import Attached
    from ..memory.views import View
    from ..running import Running


# ----------------------------------------------------------------
# Functions of the program that are called when something happened to a memory (M-6.37 to M-6.40).
#
# Hands on `Heard`, which one call or direct write gives what it does to memories.


class MemoryEvents:
    """`effect`: who waits while the functions run, which another one may be later. What happens in an operation on a store is
    noted there, and told when it is done."""

    __slots__ = ("run", "effect", "waiting")

    def __init__(self, run: Running, effect: Effect) -> None:
        self.run = run
        self.effect = effect
        self.waiting: list[tuple[Memory, str, dict[str, Any]]] = []

    def of(self, memory: Any) -> Any:
        """The memory, or the view, as one whose events are noted here; as it is where no function hears of it."""
        if isinstance(memory, DerivedMemory):
            inner = self.of(memory.memory)
            return memory if inner is memory.memory else DerivedMemory(memory.name, inner)
        if not isinstance(memory, Memory):
            return memory
        places = self.run.memories.handlers.get(memory.name)
        if not places or self._is_within(memory):
            return memory
        mine = memory.with_key(memory.key)
        mine.listen(self._noting(mine, places, memory.listener))
        return mine

    def _is_within(self, memory: Memory) -> bool:
        """Whether it is a function for an event of this memory that does it: it does not hear of itself."""
        running = self.run.memories.hearing
        return any(name == memory.name and is_below(self.effect.task.path, path) for path, name in running.items())

    def _noting(self, memory: Memory, places: Mapping[str, Sequence[int]], others: Listener | None) -> Listener:
        def note(channel: str, payload: dict[str, Any]) -> None:
            if channel in places:
                self.waiting.append((memory, channel, payload))
            if others is not None:
                others(channel, payload)

        return note

    async def deliver(self) -> None:
        """In the order of what happened; who did it goes on afterwards."""
        while self.waiting:
            memory, channel, payload = self.waiting.pop(0)
            reason = await self._told(memory, channel, payload)
            if reason is not None:
                text = f"a function for {channel} of the memory {memory.name} failed: {reason}"
                self.run.host.log("warn", self.run.redactor.clean(text))

    async def _told(self, memory: Memory, channel: str, payload: dict[str, Any]) -> str | None:
        """Why it failed, if it did: what happened stands (M-6.39)."""
        run, begun = self.run, []

        def started(path: str) -> None:
            run.memories.hearing[path] = memory.name
            begun.append(path)

        function = step_closure(run.machine, run.memories.handlers[memory.name][channel], 1)
        try:
            value = await run.call(self.effect, function, [_event(payload)], started, contains=True)
        except Panic as panic:
            return f"panic[{panic.code}]: {panic.message}"
        finally:
            for path in begun:
                del run.memories.hearing[path]
        return (getattr(value.value, "message", None) or display(value.value)) if type(value) is Err else None


def _event(payload: dict[str, Any]) -> Any:
    """As a Map; messages are values of their type."""
    made = from_json({name: value for name, value in payload.items() if name != "appended"})
    if "appended" in payload:
        made.items["appended"] = message_array([_message(said) for said in payload["appended"]])
    return made


def _message(said: dict[str, Any]) -> Msg:
    calls = [Call(call["id"], call["name"], call["arguments"], "") for call in said.get("tool_calls", ())]
    return Msg(said["role"], said["content"], calls, said.get("tool_call_id"))


# ----------------------------------------------------------------
# Functions of the program that give the messages of a view (M-4.30): they may wait, ask models and use the host.
#
# Hands on `asker`, which puts what they give into views.

MESSAGES = ("array", ("struct", "Message"))


def view_function_caller(run: Running, effect: Effect) -> Callable[[Attached, View], Awaitable[object]]:
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
            value = await run.call(effect, step_closure(run.machine, place, 1), [shown], started)
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
