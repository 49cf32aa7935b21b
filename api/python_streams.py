"""What functions of Python give one by one: generators, plain and asynchronous, as streams of a program (P-1.3).

Hands on `HostElements` and `is_awaitable` to `python_functions.py`. An element is asked for when the program wants it: that is
all of the back-pressure. A plain generator runs in one thread, the same for all of its elements, unless its function is one of
the loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import suppress
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from ..runtime.python_calls import CallFailed
from ..vm.interp.effects import Effect
from ..vm.interp.linked import PythonFunction
from ..vm.panics import Panic
from ..vm.values import NONE, Some
from ..vm.values.types import type_text
from .callbacks import Callbacks
from .worker_threads import Thread

if TYPE_CHECKING:
    from ..runtime.running import EffectContext
    from .python_functions import PythonFunctions

END = object()

# What a value is is asked of its class: `isinstance` asks the value itself, too, which may raise anything.


def is_awaitable(value: Any) -> bool:
    """Return whether a value can be awaited."""
    kind = type(value)
    return hasattr(kind, "__await__") or (kind is GeneratorType and inspect.isawaitable(value))


def _has(value: Any, method: str) -> bool:
    return hasattr(type(value), method)


NO_ELEMENTS = (str, bytes, bytearray, Mapping)  # what Python walks through, and nobody means so


class HostElements:
    """The elements of one call of `function` with `arguments`, values of the machine: `runtime/python_calls.py: Elements`.
    `owner` finds and calls the function, when the first element is asked for. `count` is how many have come; `thread` is the one
    in which a plain generator runs, from the first element on, None where none is needed."""

    def __init__(self, owner: PythonFunctions, run: EffectContext, function: PythonFunction, arguments: list[Any]) -> None:
        self.owner = owner
        self.run = run
        self.function = function
        self.arguments = arguments
        self.count = 0
        self.thread: Thread | None = None
        self._callbacks: Callbacks | None = None
        self._iterator: Any = None

    async def next(self, effect: Effect) -> Any:
        """Return the next element, as `Elements.next` says; an error closes nothing."""
        if self._iterator is None:
            await self._begin(effect)
        assert self._callbacks is not None
        self._callbacks.effect = effect
        try:
            element = await self._advance()
        except (CallFailed, Panic):
            raise
        except BaseException as error:
            if self.owner.ends_the_run(error):
                raise
            raise self.owner.raised(self.run, self.function, error) from None
        if element is END:
            await self.close(waits=True)
            return NONE
        what = f"element {self.count} of {self.function.name}"
        self.count += 1
        assert self.function.gives is not None
        return Some(await self.owner.read(self.run, effect, self.function, element, self.function.gives, what))

    async def close(self, waits: bool) -> None:
        """End the generator, as `Elements.close` says."""
        if self._callbacks is not None:
            self._callbacks.end()
        iterator, self._iterator = self._iterator, iter(())
        thread, self.thread = self.thread, None
        with suppress(Exception):
            if _has(iterator, "aclose"):
                await iterator.aclose()
            elif _has(iterator, "close") and thread is None:
                iterator.close()
            elif _has(iterator, "close") and waits and thread is not None:
                await thread.run(iterator.close)
            elif _has(iterator, "close") and thread is not None:
                thread.leave(iterator.close)
        if thread is not None:
            thread.release()

    async def _begin(self, effect: Effect) -> None:
        target = await self.owner.target(self.run, self.function)
        self._callbacks = Callbacks(self.run, effect, self.function.name, self.owner.longest)
        values = [self._callbacks.to_python(argument) for argument in self.arguments]
        answer = await self.owner.answer(self.run, self.function, target, values)
        wanted = f"Stream<{type_text(self.function.gives or ())}>"
        text = f"the result of {self.function.name}: expected {wanted}, got {type(answer).__name__}"
        try:
            if issubclass(type(answer), NO_ELEMENTS):
                raise TypeError
            self._iterator = answer.__aiter__() if _has(answer, "__aiter__") else iter(answer)
        except BaseException as error:
            if self.owner.ends_the_run(error):
                raise
            found = type(answer).__name__
            raise CallFailed("WrongType", text, path="result", expected=wanted, actual=found) from None
        if self.function.thread and not _has(self._iterator, "__anext__"):
            self.thread = Thread(self.run, self.function.name)

    async def _advance(self) -> Any:
        iterator = self._iterator
        if _has(iterator, "__anext__"):
            try:
                return await iterator.__anext__()
            except StopAsyncIteration:
                return END
        element = await self._run(self.thread, lambda: next(iterator, END))
        # A plain generator may give what has to be awaited.
        return await element if is_awaitable(element) else element

    async def _run(self, thread: Thread | None, work: Any) -> Any:
        return work() if thread is None else await thread.run(work)
