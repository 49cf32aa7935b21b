"""Functions of Python that programs call: found, called where they belong, their values converted (P-1.2 to P-1.5, P-1.8).

Hands on `PythonFunctions`, which implements `runtime/python_calls.py: PythonCaller`, to what makes sessions (those of the API,
tests, batches, verbs and drivers), and to `python_streams.py`, which calls back for generators. Coroutines run on the loop of the
session, plain functions in a thread of `worker_threads.py`. Values cross as those of the API do (`values.py`); functions of the
program become callables of `callbacks.py`. Whether a call is permitted, and what becomes of a failure, is for
`runtime/effects/externs.py`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from ..runtime.access.secrets import clean_text
from ..runtime.host import class_name, exception_text
from ..runtime.python_calls import CallFailed
from ..vm.interp.effects import Effect
from ..vm.interp.linked import PythonFunction
from ..vm.panics import Panic
from ..vm.values.limits import LONGEST_STRING
from ..vm.values.text import cut_to
from ..vm.values.types import type_text
from .callbacks import Callbacks
from .python_streams import HostElements, is_awaitable
from .tracebacks import python_part
from .values import Err, Misfit, Ok, from_python
from .worker_threads import Raised, in_thread

if TYPE_CHECKING:
    from ..runtime.running import EffectContext

LONGEST_PART = 2000  # characters of what a message says of a value


class PythonFunctions:
    """The functions of Python that one session calls. `bound` has by module and name what the host itself gave (P-1.8); `longest`
    is how many bytes a text from Python may have."""

    def __init__(self, longest: int = LONGEST_STRING) -> None:
        self.bound: dict[str, dict[str, Callable[..., Any]]] = {}
        self.longest = longest
        self._found: dict[PythonFunction, Callable[..., Any]] = {}
        self._on_loop: dict[PythonFunction, bool] = {}

    def bind(self, module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Let names of a module mean these functions, whatever a module of Python has by them. Raises TypeError for what cannot
        be called, and for names that are no str."""
        if not isinstance(module, str):
            raise TypeError(f"bind: a module is named by a str, given {type(module).__name__}")
        for name, function in functions.items():
            if not isinstance(name, str) or not callable(function):
                raise TypeError(f"bind: {module} takes functions by their names, given {function!r} for {name!r}")
        self.bound.setdefault(module, {}).update(functions)
        self._found.clear()

    def is_bound(self, function: PythonFunction) -> bool:
        """Return whether the host has bound that name of that module."""
        return function.attribute in self.bound.get(function.module, ())

    async def call(self, run: EffectContext, effect: Effect, function: PythonFunction, arguments: list[Any]) -> Any:
        """Call a function, as `PythonCaller.call` says."""
        target = await self.target(run, function)
        callbacks = Callbacks(run, effect, function.name, self.longest)
        try:
            values = [callbacks.to_python(argument) for argument in arguments]
            answer = await self.answer(run, function, target, values)
            # A function may give the value of the Ok itself.
            plain = function.fallible and not issubclass(type(answer), Ok | Err)
            return await self.read(run, effect, function, answer, function.result[1] if plain else function.result)
        finally:
            callbacks.end()

    def elements(self, run: EffectContext, function: PythonFunction, arguments: list[Any]) -> HostElements:
        """Return what gives the elements of a call, as `PythonCaller.elements` says."""
        return HostElements(self, run, function, arguments)

    # ------------------------------------------------------------ finding

    async def target(self, run: EffectContext, function: PythonFunction) -> Callable[..., Any]:
        """Return the function that a declaration means; it is looked for once. Raises CallFailed (NotFound) where Python has no
        such module or function, and (Raised) for what importing the module raises."""
        found = self._found.get(function)
        if found is None:
            found = self._found[function] = await self._find(run, function)
            self._on_loop[function] = function.is_async or not function.thread or _is_coroutine_function(found)
        return found

    async def _find(self, run: EffectContext, function: PythonFunction) -> Callable[..., Any]:
        if self.is_bound(function):
            return self.bound[function.module][function.attribute]
        try:
            if function.thread:
                module = await in_thread(run, lambda: importlib.import_module(function.module), function.name)
            else:
                module = importlib.import_module(function.module)
        except BaseException as caught:
            error = caught.error if isinstance(caught, Raised) else caught
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is not None and f"{function.module}.".startswith(f"{missing}."):
                raise _not_found(function, f"there is no module {missing}") from None
            if _ends_the_run(error):
                raise
            raise self.raised(run, function, error) from None
        target: Any = module
        for name in function.attribute.split("."):
            try:
                target = getattr(target, name)
            except AttributeError:
                raise _not_found(function, f"the module {function.module} has no {function.attribute}") from None
            except BaseException as error:
                if _ends_the_run(error):
                    raise
                raise self.raised(run, function, error) from None
        if not callable(target):
            raise _not_found(function, f"{function.module}.{function.attribute} is no function")
        return target  # type: ignore[no-any-return]

    # ------------------------------------------------------------ calling

    async def answer(self, run: EffectContext, function: PythonFunction, target: Callable[..., Any], values: list[Any]) -> Any:
        """Return what the function `target` gives for `values`, awaited if it can be. Raises CallFailed (Raised) for what it
        raises, but a Panic of the machine and what ends the run as they are."""
        try:
            if self._on_loop[function]:
                answer = target(*values)
            else:
                answer = await in_thread(run, partial(copy_context().run, target, *values), function.name)
            return await answer if is_awaitable(answer) else answer
        except BaseException as error:
            if _ends_the_run(error) or isinstance(error, CallFailed | Panic):
                raise
            raise self.raised(run, function, error) from None

    def ends_the_run(self, error: BaseException) -> bool:
        """Return whether an exception is not a function's own: Ctrl-C, or the end of the task that waits for it."""
        return _ends_the_run(error)

    def raised(self, run: EffectContext, function: PythonFunction, error: BaseException) -> CallFailed:
        """Return the failure for what a function has raised, and tell whoever listens to the runtime."""
        error = error.error if isinstance(error, Raised) else error
        text = python_part(error)
        name, message = _one_line(class_name(error)), _text_of(error)
        clean = run.redactor.clean
        told = {"function": function.name, "exception": name, "message": clean(message), "traceback": clean(text)}
        run.runtime_emit("python:raised", told)
        whole = name if message == name else f"{name}: {message}"
        return CallFailed("Raised", whole, exception=name, traceback=text)

    # ------------------------------------------------------------ reading

    async def read(
        self, run: EffectContext, effect: Effect, function: PythonFunction, answer: Any, expected: tuple[Any, ...],
        what: str | None = None,
    ) -> Any:  # fmt: skip
        """Return the value of the machine for what a function gave, of the type descriptor `expected`; `what` names it where it
        is not the result. Raises CallFailed (WrongType) for what does not fit; Panics of the conversion and of defaults pass."""
        what = f"the result of {function.name}" if what is None else what

        async def call_function(number: int, arguments: list[Any]) -> Any:
            return await run.call(effect, run.program.codes[number], arguments)

        try:
            return await from_python(answer, run.program, call_function, expected, what, self.longest)
        except TypeError as error:
            text = _one_line(_text_of(error))
            place, wanted, found = what, type_text(expected), text
            if isinstance(error, Misfit):
                place, wanted, found = error.place, error.wanted, _one_line(error.found)
        except BaseException as error:  # of a class of the host's own that raises what is no Exception
            if _ends_the_run(error) or isinstance(error, CallFailed | Panic):
                raise
            text = f"{what}: reading it raised {_one_line(class_name(error))}"
            place, wanted, found = what, type_text(expected), text
        path = _one_line(place.removeprefix(what).removeprefix(", at ")) or "result"
        raise CallFailed("WrongType", text, path=path, expected=wanted, actual=found)


def _not_found(function: PythonFunction, reason: str) -> CallFailed:
    message = f"{reason} (asked {sys.executable})"
    return CallFailed("NotFound", message, module=function.module, interpreter=sys.executable)


def _is_coroutine_function(target: Any) -> bool:
    try:
        return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)
    except Exception:  # of an object of the host whose attributes raise
        return False


def _ends_the_run(error: BaseException) -> bool:
    if isinstance(error, KeyboardInterrupt):
        return True
    task = asyncio.current_task() if isinstance(error, asyncio.CancelledError) else None
    return task is not None and task.cancelling() > 0


def _one_line(text: str) -> str:
    """Return a text of the host, which may hold anything, as a message has it."""
    return "".join(c if c.isprintable() else " " for c in cut_to(clean_text(text), LONGEST_PART))


def _text_of(error: BaseException) -> str:
    try:
        return exception_text(error)
    except BaseException:  # of a class whose texts end the process
        return class_name(error)
