"""Functions of a program that are arguments of functions of Python (P-1.2).

Hands on `Callbacks` to `python_functions.py` and `python_streams.py`. Such a function is a callable of Python that enters the
session again, while the call that it was passed to goes on: in a thread it gives the value, on the session's loop an awaitable of
it. Values are converted by `values.py`, and the function of Python itself is not called here.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from ..runtime.effects.externs import passed_functions
from ..vm import values as v
from ..vm.interp.effects import Effect, ExternCall
from ..vm.panics import Panic as RaisedPanic
from .results import Panic
from .values import exported, from_python, to_python

if TYPE_CHECKING:
    from ..runtime.running import EffectContext


class Callbacks:
    """What one call of a function of Python passes on: values, and functions that may be called until the call ends. `run` is the
    session that calls, `effect` the call in it, of a stream the one that waits for an element now; `name` is that of the function
    of Python, `longest` how many bytes a text from Python may have. It is made in the session's event loop. A function that is
    called raises TypeError for arguments that do not fit, `concerto.Panic` P418 once the call has ended, and what the conversion
    (`values.py`) and `EffectContext.call` raise."""

    def __init__(self, run: EffectContext, effect: Effect, name: str, longest: int) -> None:
        self.run = run
        self.effect = effect
        self.name = name
        self.longest = longest
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        self.over = False
        self.count = 0  # of the functions so far

    def to_python(self, argument: Any) -> Any:
        """Return the value of Python for an argument. Raises the machine's Panic P103 for a value that is nested too deep, and
        those of the conversion (`values.to_python`)."""
        try:
            return exported(argument, self._callable)
        except RecursionError:
            raise RaisedPanic("P103", "nesting limit exceeded: the value is nested too deep to be given to Python") from None

    def end(self) -> None:
        """Let no function of the call be called any more."""
        self.over = True

    def _callable(self, closure: v.Closure) -> Any:
        name = closure.function.name or "fn"
        number = self.count
        self.count += 1

        def function(*arguments: Any) -> Any:
            self._refuse_late_call(name)
            if threading.get_ident() == self.thread:
                return self._enter(number, name, arguments)
            return asyncio.run_coroutine_threadsafe(self._enter(number, name, arguments), self.loop).result()

        function.__name__ = function.__qualname__ = name
        return function

    def _refuse_late_call(self, name: str) -> None:
        if self.over:
            raise Panic("P418", f"{name} was passed to {self.name}, which has ended: it may be called no more", ())

    async def _enter(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        """Call a function of the program, by its number among those of the arguments, and return its value. Raises TypeError for
        arguments that do not fit."""
        run = self.run
        # Looked up anew: a snapshot that the session goes on from has another closure, with its own variables.
        closure = passed_functions(self.effect.payload.arguments)[number]
        declared = run.program.image.functions[closure.function.number].params
        if len(arguments) != len(declared):
            raise TypeError(f"{name} takes {len(declared)} arguments, given {len(arguments)}")

        async def default(number: int, values: list[Any]) -> Any:
            return await run.call(self.effect, run.program.codes[number], values)

        read = []
        for value, (parameter, kind, _) in zip(arguments, declared, strict=True):
            place = f"argument {parameter!r} of {name}"
            read.append(await from_python(value, run.program, default, run.program.descriptors[kind], place, self.longest))
        self._refuse_late_call(name)
        if type(self.effect.payload) is ExternCall:
            # For the journal, which makes these calls again when it answers from a recording; it refuses streams with functions.
            self.effect.payload.calls.append((number, read))
        return to_python(await run.call(self.effect, closure, [v.share(value) for value in read]))
