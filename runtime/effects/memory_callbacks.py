"""Functions of the program that a memory calls back and that may wait: handlers of `on` (M-6.37 to M-6.40), and functions that
give the messages of a view (M-4.30).

Hands on `MemoryEvents`, which collects what one call or one direct write does to memories and runs the handlers afterwards, and
`view_function_caller`, to conversations and to the performer of memories. An effect is the machine's request for which a task
waits: these functions run as children of that task. Functions that run in the middle of a commit, and may not wait, are in
`step_machine.py`.
"""

from __future__ import annotations

from ...vm.builtins.memories import message_array
from ...vm.interp.tasks import is_below
from ...vm.panics import Panic
from ...vm.values import Array, Err, ErrorValue, Media, Ok, check, display, from_json
from ...vm.values.errors import FOR_MODEL, is_family
from ..errors import CallFailure, Returned
from ..memory.failures import reading_itself, view_failed
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
    from ..running import EffectContext


# Functions of the program that are called when something happened to a memory (M-6.37 to M-6.40).


class MemoryEvents:
    """The events of memories in one call or direct write, in their order, until `deliver` runs the handlers.

    An event is only noted when it happens, since a commit must not wait; `waiting` has those that are not delivered, as (memory,
    channel, payload). The handlers run for the task that waits for `effect`, which another effect may replace (the next chunk of
    a stream)."""

    __slots__ = ("run", "effect", "waiting")

    def __init__(self, run: EffectContext, effect: Effect) -> None:
        self.run = run
        self.effect = effect
        self.waiting: list[tuple[Memory, str, dict[str, Any]]] = []

    def listening(self, memory: Any) -> Any:
        """Return a copy of a memory, or view, whose events are noted here; the memory itself when it has no handlers, or when one
        of them is running around the call."""
        if isinstance(memory, DerivedMemory):
            inner = self.listening(memory.memory)
            return memory if inner is memory.memory else DerivedMemory(memory.name, inner)
        if not isinstance(memory, Memory):
            return memory
        handlers = self.run.memories.handlers.get(memory.name)
        if not handlers or self._is_inside_handler(memory):
            return memory
        copy = memory.with_key(memory.key)
        copy.listen(self._listener(copy, handlers, memory.listener))
        return copy

    def _is_inside_handler(self, memory: Memory) -> bool:
        """Return whether the call is inside a handler of this memory: what a handler does to the memory calls no handler again
        (M-6.40)."""
        running = self.run.memories.hearing
        return any(name == memory.name and is_below(self.effect.task.path, path) for path, name in running.items())

    def _listener(self, memory: Memory, handlers: Mapping[str, Sequence[int]], listener: Listener | None) -> Listener:
        def note(channel: str, payload: dict[str, Any]) -> None:
            if channel in handlers:
                self.waiting.append((memory, channel, payload))
            if listener is not None:
                listener(channel, payload)

        return note

    async def deliver(self) -> None:
        """Run the handlers of all noted events, in their order, those noted meanwhile too. A handler that gives an Err or panics
        is logged: what happened stands (M-6.39)."""
        while self.waiting:
            memory, channel, payload = self.waiting.pop(0)
            reason = await self._handle(memory, channel, payload)
            if reason is not None:
                text = f"a function for {channel} of the memory {memory.name} failed: {reason}"
                self.run.warn(text)

    async def _handle(self, memory: Memory, channel: str, payload: dict[str, Any]) -> str | None:
        """Run the handler of one event, and return why it failed; None when it did not."""
        run, paths = self.run, []

        def note_start(path: str) -> None:
            run.memories.hearing[path] = memory.name
            paths.append(path)

        try:
            function = step_closure(run.machine, run.memories.handlers[memory.name][channel], 1)
            # `contains`: a panic of the handler comes here and does not end the run
            value = await run.call(self.effect, function, [_event(payload)], note_start, contains=True)
        except Panic as panic:
            return f"panic[{panic.code}]: {panic.message}"
        finally:
            for path in paths:
                del run.memories.hearing[path]
        return (getattr(value.value, "message", None) or display(value.value)) if type(value) is Err else None


def _event(payload: dict[str, Any]) -> Any:
    """Return the payload of an event as a Map, in which messages are values of the language's Message."""
    event = from_json({name: value for name, value in payload.items() if name != "appended"})
    if "appended" in payload:
        event.items["appended"] = message_array([_message(data) for data in payload["appended"]])
        for message, data in zip(event.items["appended"].items, payload["appended"], strict=True):
            message.f4 = Array([_described(part) for part in data.get("media", ())])
    return event


def _described(part: dict[str, Any]) -> Any:
    """Return a Media without its content: an event tells what happened, and keeps nothing."""
    return Media.of((part["kind"], part["mime"], part["bytes"], part["hash"], part.get("name")))


def _message(data: dict[str, Any]) -> Msg:
    calls = [Call(call["id"], call["name"], call["arguments"], "") for call in data.get("tool_calls", ())]
    return Msg(data["role"], data["content"], calls, data.get("tool_call_id"))


# Functions of the program that give the messages of a view (M-4.30): they may wait, ask models and use the host.

MESSAGES_TYPE = ("array", ("struct", "Message"))


def view_function_caller(run: EffectContext, effect: Effect) -> Callable[[Attached, View], Awaitable[object]]:
    """Return the function that replaces the messages of a view by those that the program's function gives (`view_with`).

    It changes the view in place, and runs for the task that waits for `effect`. It raises CallFailure when the program's function
    gives an Err or runs inside itself, MemoryFailure("InvalidUnit") for a Media without content and for messages that are no
    whole units (M-4.30), and then the view is as it was; panic P007 for what are no messages, P103 for arguments of their calls
    beyond the limits of JSON, P013 as `step_closure`. A panic of the program's function ends the run, and cancels it (M-4.31)."""

    async def ask(element: Attached, view: View) -> None:
        memory, place = element.memory, element.policy.view_with
        assert place is not None
        if run.memories.reads_around(effect.task, memory):
            raise reading_itself(memory.name)
        reading, paths = run.memories.reading, []

        def note_start(path: str) -> None:
            reading[path] = memory
            paths.append(path)

        shown = message_array([*view.before, *view.window])
        try:
            value = await run.call(effect, step_closure(run.machine, place, 1), [shown], note_start)
        finally:
            for path in paths:
                del reading[path]
        if type(value) is Err:
            raise _failure(memory.name, value.value)
        messages = check(value.value if type(value) is Ok else value, MESSAGES_TYPE)
        view.shaped([message_of(message) for message in messages.items])

    return ask


def _failure(memory: str, error: Any) -> CallFailure:
    """Return the failure of the call: an error of AgentError as it is, any other inside one that names the memory."""
    if isinstance(error, ErrorValue) and is_family(error.family, "AgentError"):
        return Returned(error, error.fields.get(FOR_MODEL))
    return view_failed(memory, getattr(error, "message", None) or display(error))
