"""A session of a program in Python: calls, listeners, answers to awaited emits, states (O-9.41, O-9.42).

Hands on `Session` to users, to `python_modules`, whose `ModuleSession` is one, and to `serve/`, whose calls speak JSON
(`start_json`); `Program.session` makes it. `arguments_of`, the arguments of a call by values of Python, to batches, which have no
session of this kind. It turns values and failures of the runtime's session into those of the API, lets one call run at a time
(`Turns`), and lets Ctrl-C end the calls that wait (`Interruptible`). How options become a host, by which the runtime reaches the
world outside, is in `options`; how values are converted, in `values`. The program itself is run by the runtime's session
(`runtime/session/session.py`), not here.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from ..runtime.calls.budgets import Account
from ..runtime.errors import ConfigFailure
from ..runtime.host import AUDIT, NoListener
from ..runtime.session import session as runtime
from ..vm import values
from ..vm.builtins.models import ASK, SHOW
from ..vm.bytecode.shape import offers
from ..vm.interp import link
from ..vm.interp.machine import Stopped
from ..vm.panics import Panic as RaisedPanic
from ..vm.values.limits import LONGEST_STRING
from .calls import EVERY_CHANNEL, Call, Running, require_callable
from .declared_classes import classes_of
from .json_calls import (
    MESSAGES,
    JsonSide,
    Misfitting,
    answer_types,
    fitting,
    fitting_argument,
    json_arguments,
    json_text,
    read_json,
)
from .options import Options, amounts, check_options, host_of, limits_of
from .recordings import ENDED, Continued, Journaling, Rehearsed, Suspended
from .results import Breaker, Emit, Frame, ImageError, Metrics, Panic, ProgramError, RecordingError, RunResult, frames_of
from .values import Enum, Err, ErrorValue, Ok, Run, from_python, read_value, to_python
from .waiting import OF_ITS_HANDLER, Interruptible, SessionLoop, Turns

if TYPE_CHECKING:
    from .python_functions import PythonFunctions
    from .stored_calls import StoredCall

WAITING = 75  # the exit code of a run that waits for an answer

Listener = Callable[[Any], object]
Handler = Callable[[Any], Any]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

log = logging.getLogger("concerto")


class Session:
    """Stores, memories and caches of one program; they live from call to call. Made by `Program.session`.

    One call runs at a time, others wait. Use it with `with` or `async with`, or call `close`. `run`, `call`, `dump`, `restore`
    and `close` are for code without an event loop: they raise RuntimeError where one runs, and KeyboardInterrupt after Ctrl-C.
    `arun`, `acall`, `adump` and `arestore` are for code in an event loop. All but `close` and `aclose` raise RuntimeError for a
    session that is closed or runs a call in another event loop, and for a call by a handler of a call of its own, in a thread of
    it too, where `close` raises so as well. `project` is the folder of the manifest, None for the current one. `resumed` is a run
    of a store that it goes on with, rehearses or makes again. Raises TypeError or ValueError for wrong options, ValueError for a
    wrong configuration, RecordingError for a recording or store that is refused, OSError for a recording that cannot be opened.
    With a journal (`record`, `replay` or `store`) calls raise RecordingError too, where a row cannot be kept or another process
    has taken the run over; one that leaves its recording panics with P406. The end of the session raises RecordingError for a
    recording that has more than was asked for."""

    def __init__(
        self, program: link.Program, options: Options, project: str | None = None,
        resumed: Continued | Rehearsed | StoredCall | None = None,
    ) -> None:  # fmt: skip
        check_options(options)
        self._program = program
        classes_of(program)  # values get the classes of their types
        self._listeners: dict[str, list[Listener]] = {}
        self._handlers: dict[str, Handler] = {}
        self._emits: list[Emit] = []
        self._limits, self._shared, self._per_call = amounts(options.get("budgets"))
        self._longest = max(LONGEST_STRING, self._limits.value_bytes or 0)  # bytes of a text that the host gives
        self._turns = Turns()
        self._thread = threading.Lock()  # one thread at a time drives the runner
        self._runner: asyncio.Runner | None = None
        self._running = Running()
        self._current: Call | None = None  # the one whose turn it is, if it has a handle
        self._calls: WeakSet[Call] = WeakSet()  # those that have not ended, and that somebody has
        try:
            host = host_of(options, self._hear, self._answer, project, self._hears)
            self._python: PythonFunctions | None = None
            host.is_audited = False
            host.python = self._python_functions
            host.asked = self._asked
            self._journaling = Journaling(program, options, host, resumed)
            try:
                self._session = runtime.Session(program, host)
            except BaseException:
                self._journaling.drop()
                raise
        except ConfigFailure as failure:
            raise ValueError(f"{failure.code}: {failure.message}") from None
        self._session.account.whose = "session"
        self._session.machine.beside.append(lambda: self._emits)

    # ------------------------------------------------------------ listening and answering

    def on(self, channel: str, fn: F | None = None) -> Any:
        """Hear the emits of a channel; `fn` gets the payload. Returns `fn`; without `fn` it is a decorator. On `"*"`, `fn` hears
        every channel and gets an `Emit`. Exceptions of a listener are logged and ignored. Raises TypeError for what is no
        function."""
        if fn is None:
            return lambda function: self.on(channel, function)
        require_callable("on", channel, fn)
        self._listeners.setdefault(channel, []).append(fn)
        self._listens()
        return fn

    def off(self, channel: str, fn: Callable[..., Any] | None = None) -> None:
        """Stop hearing and answering: remove `fn` as a listener and as the handler of the channel, or without `fn` all its
        listeners and its handler. What is not registered is ignored."""
        if fn is None:
            self._listeners.pop(channel, None)
            self._handlers.pop(channel, None)
            return
        self._listeners[channel] = [other for other in self._listeners.get(channel, []) if other != fn]
        if self._handlers.get(channel) == fn:
            del self._handlers[channel]

    def on_emit(self, channel: str, fn: F | None = None) -> Any:
        """Answer the awaited emits of a channel. What `fn` returns for the payload, or what that returns when awaited, is the
        answer; its exception is `EmitError::HandlerFailed`, of which a model learns as of a tool's. One handler per channel, the
        last counts. Returns `fn`; without `fn` it is a decorator. Raises TypeError for what is no function."""
        if fn is None:
            return lambda function: self.on_emit(channel, function)
        require_callable("on_emit", channel, fn)
        self._handlers[channel] = fn
        return fn

    def bind(self, module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Let an `extern python "MODULE"` of the program mean these functions, by their names there (P-1.8): they come before
        what Python has as that module, and need no permission. Another call adds to them. Raises ValueError for a module or a
        name that the program does not declare, TypeError for what is no function."""
        declared = {(entry.module, entry.attribute) for entry in self._program.image.externs}
        for name in functions:
            if (module, name) not in declared:
                names = ", ".join(sorted(f"{where}.{known}" for where, known in declared)) or "none"
                raise ValueError(f"the program declares no function {module}.{name} of Python; it declares {names}")
        self._python_functions().bind(module, functions)

    def _python_functions(self) -> PythonFunctions:
        """Return what calls functions of Python for this session."""
        if self._python is None:
            from .python_functions import PythonFunctions  # most programs call none

            self._python = PythonFunctions(self._longest)
        return self._python

    def register_tool(self, tool: str, method: str, fn: Callable[..., Any], *, context: bool = False) -> None:
        """Let `fn` take the place of a tool method, called with its arguments. What it returns, or what that returns when
        awaited, is the result: of a method with a Result, `Ok`, `Err`, or the value of the Ok. Its exception is
        `ToolError::ExecutionFailed` with its text for the program, panic P415 for a method without a Result; a model that called
        is told the class alone, unless it is a `concerto.ToolError`, whose text is for the model. With `context`, `fn` gets as
        `context=` who is asking: what the call got by `with_context`, None for nothing. Raises ValueError for what is no method
        of a tool of the program, TypeError for a function that does not take its arguments."""
        declared = {declared_tool.name: [row[0] for row in declared_tool.methods] for declared_tool in self._program.image.tools}
        if method not in declared.get(tool, ()):
            methods = ", ".join(f"{name}.{row}" for name, rows in declared.items() for row in rows) or "none"
            raise ValueError(f"the program has no tool method {tool}.{method}; tool methods: {methods}")
        self._require_parameters(tool, method, fn, {"context": None} if context else {})
        place = f"the result of {tool}.{method}"

        async def handle(arguments: list[Any], result: tuple[Any, ...], run: Run, around: Callable[[], Any]) -> Any:
            named = {"context": to_python(around())} if context else {}
            answer = fn(*map(to_python, arguments), **named)
            if inspect.isawaitable(answer):
                answer = await answer
            # A function of the host may return the value of the Ok itself.
            plain = result[0] == "result" and not isinstance(answer, Ok | Err)
            return await from_python(answer, self._program, run, result[1] if plain else result, place, self._longest)

        self._session.host.tools[tool, method] = handle

    def _require_parameters(self, tool: str, method: str, fn: Callable[..., Any], named: dict[str, Any]) -> None:
        """Raise TypeError for what is no function, or takes other arguments than the method."""
        if not callable(fn):
            raise TypeError(f"register_tool: {tool}.{method} is taken by a function, not by {fn!r}")
        declared_tool = next(declared_tool for declared_tool in self._program.image.tools if declared_tool.name == tool)
        count = len(next(row[5] for row in declared_tool.methods if row[0] == method).get("properties", {}))
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):  # of a function that is written in C
            return
        try:
            # A function that does not fit is refused now, and not when a model calls the tool.
            signature.bind(*[None] * count, **named)
        except TypeError as refused:
            what = "1 argument" if count == 1 else f"{count} arguments"
            raise TypeError(f"register_tool: {tool}.{method} has {what}, which fn{signature} does not take: {refused}") from None

    def _hear(self, channel: str, value: Any, by_runtime: bool) -> None:
        """Hand an emit to the listeners of the session and of the call that runs."""
        call = self._current
        if call is not None and call._json is not None and self._heard_as_json(call._json, channel, value, by_runtime):
            return
        emit = Emit(channel, to_python(value))
        # Emits of runtime channels are heard, and are no part of the result.
        if not by_runtime:
            self._emits.append(emit)
            if call is not None:
                call._arrived()
        for listeners in (self._listeners, call._listeners) if call is not None else (self._listeners,):
            # A copy, since a listener may call `off`.
            for listener in list(listeners.get(channel, ())):
                self._tell(listener, emit.payload, channel)
            for listener in list(listeners.get(EVERY_CHANNEL, ())):
                self._tell(listener, emit, channel)

    def _heard_as_json(self, side: JsonSide, channel: str, value: Any, by_runtime: bool) -> bool:
        """Hand an emit to a call that hears JSON, and return whether nobody else hears anything: then nothing of it is kept."""
        if side.hear is not None:
            try:
                side.hear(channel, values.to_json(value), by_runtime)
            except Exception:
                log.exception("a listener of channel %s failed", channel)
        return not any(self._listeners.values())

    def _hears(self) -> bool:
        """Return whether anybody listens to memories."""
        tables = [self._listeners, *(call._listeners for call in self._calls)]
        heard = (channel for table in tables for channel, listeners in table.items() if listeners)
        return any(channel == EVERY_CHANNEL or channel.startswith("memory:") for channel in heard)

    def _listens(self) -> None:
        """Make the runtime report what it builds for listeners alone: events of memories, records of direct calls of tools."""
        if self._hears():
            self._session.memories.listen()
        tables = [self._listeners, *(call._listeners for call in self._calls)]
        if any(table.get(channel) for table in tables for channel in (EVERY_CHANNEL, AUDIT)):
            self._session.host.is_audited = True

    def _tell(self, listener: Listener, what: Any, channel: str) -> None:
        try:
            listener(what)
        except Exception:
            log.exception("a listener of channel %s failed", channel)

    def _asked(self, key: str, channel: str, value: Any) -> None:
        call = self._current
        if call is not None and call._json is not None and call._json.asked is not None:
            call._json.asked(key, channel, values.to_json(value))

    async def _answer(self, channel: str, value: Any, run: Run) -> Any:
        call = self._current
        if call is not None and call._json is not None and call._json.answer is not None:
            text = await call._json.answer(channel, values.to_json(value))
            return values.from_json(read_json(text, f"the answer on {channel}"))
        handler = (call._handlers.get(channel) if call is not None else None) or self._handlers.get(channel)
        if handler is None:
            raise NoListener
        answer = handler(to_python(value))
        if inspect.isawaitable(answer):
            answer = await answer
        return await from_python(answer, self._program, run, what=f"the answer on {channel}", longest=self._longest)

    # ------------------------------------------------------------ calling

    def run(self, *args: str) -> RunResult:
        """Run `main` and return how it ended; `args` are `std::env::args()`. Failures of the program are in the result, as are
        its end by `cancel` and what a run of a store waits for. Raises ValueError for a program without main, TypeError for an
        argument that is no str, RecordingError as the class says."""
        result: RunResult = self._waiting(self.arun(*args), "write `await session.arun(…)`")
        return result

    async def arun(self, *args: str) -> RunResult:
        """Do what `run` does, within a running event loop, and return how it ended. Raises ValueError, TypeError and
        RecordingError as `run` does."""
        number = self._program.image.header.entry
        if number is None:
            raise ValueError("the program has no main; call one of its public functions")
        for arg in args:
            if not isinstance(arg, str):
                raise TypeError(f"run: the arguments of a program are str, given {type(arg).__name__}")
        async with self._turns:
            if not self._journaling.is_resumed:
                self._session.host.args = args
            self._journaling.begin(args)
            outcome = await self._outcome(number, [])
            emits, self._emits = self._emits, []
        waits = self._journaling.waits()
        if waits:
            return RunResult(False, None, None, WAITING, emits, self.metrics(), (), self._journaling.run, waits)
        error = self._error(outcome)
        value = outcome.host_value if error is None and outcome is not None else None
        exit_code = 130 if outcome is None else outcome.exit_code
        return RunResult(error is None, value, error, exit_code, emits, self.metrics(), _trace(outcome), self._journaling.run)

    def call(self, function: str, /, *args: Any, **named: Any) -> Any:
        """Call a public function with values of Python, by position or name, and return its value; that of `Ok(value)` for
        a Result.

        Raises ProgramError for an Err and after `cancel`, Panic for a panic, TypeError for arguments that do not fit, ValueError
        for a name that is no public function, RecordingError as the class says.
        """
        return self._waiting(self.acall(function, *args, **named), f"write `await session.acall({function!r}, …)`")

    async def acall(self, function: str, /, *args: Any, **named: Any) -> Any:
        """Do what `call` does, within a running event loop: return the value, that of `Ok(value)` for a Result. Raises what
        `call` raises."""
        number = self._function(function)
        return await self._called(number, self._arguments(function, number, args, named), None)

    def start(self, function: str, /, *args: Any, **named: Any) -> Call:
        """Begin a call of a public function, as `call` makes it, and return a handle of it, with listeners and answers for this
        call alone, and an end of its own. Within a running event loop it runs from now on, else once somebody waits for it, as by
        `result()`. Raises TypeError and ValueError as `call` does, at once; the handle raises the rest."""
        number = self._function(function)
        return self._started(number, self._arguments(function, number, args, named), None)

    def start_json(self, function: str, arguments: Mapping[str, Any], side: JsonSide | None = None) -> Call:
        """Begin a call as `start` does, of a function that gets JSON data by the names of its parameters, read as the language
        reads JSON (L-7.1.2). The handle gives what the function returned as compact JSON (L-5.1), of a Result the value of its
        Ok; a ProgramError has the error so, as its `value`. `side` hears and answers this call in JSON. Raise ValueError for a
        name that is no public function, and Misfitting for names of arguments that do not fit; the handle raises Misfitting for
        values that do not."""
        number = self._function(function)
        parameters = self._program.image.functions[number].params
        values_of = json_arguments(self._program, self._session.memories.computed, function, parameters, arguments)
        return self._started(number, values_of, side or JsonSide())

    def start_model(self, model: str, messages: Any, side: JsonSide | None = None) -> Call:
        """Begin a call of a public model with messages, JSON data of the type Array<Message>, as `start_json` begins one of a
        function; the handle gives the Response. Raise ValueError for a name that is no public model, and Misfitting for what
        are no messages."""
        image = self._program.image
        names = {image.models[number].name: number for number in offers(image)[1]}
        code = self._program.language_methods.get(ASK)
        if model not in names or code is None:
            raise ValueError(f"the program has no public model {model!r}; public models: {', '.join(names) or 'none'}")
        sent = fitting(self._program, self._session.memories.computed, messages, MESSAGES, "messages")
        given = [None, self._program.handle("models", names[model], []), sent]

        async def values_of(run: Run) -> list[Any]:
            return given

        return self._started(code.number, values_of, side or JsonSide())

    def start_memory(self, name: str) -> Call:
        """Begin a look at a memory, one of `Program.memories`; the handle gives its messages as compact JSON. Raise ValueError
        for another name."""
        image = self._program.image
        numbers = {one.name: number for number, one in enumerate(image.memories) if "keys" not in one.steps}
        code = self._program.language_methods.get(SHOW)
        if name not in numbers or code is None:
            raise ValueError(f"the program has no memory {name!r} without keys")
        given = [None, self._program.handle("memories", numbers[name], [])]

        async def values_of(run: Run) -> list[Any]:
            return given

        return self._started(code.number, values_of, JsonSide())

    def require_answer(self, channel: str, text: str) -> None:
        """Raise Misfitting for a JSON text that is no answer of a declared channel, one that leaves out a field
        whose default panics, too; to another channel any JSON is one."""
        place = f"the answer on {channel}"
        data = read_json(text, place)
        declared = answer_types(self._program).get(channel)
        if declared is not None:
            try:
                fitting(self._program, self._session.memories.computed, data, declared, place)
            except RaisedPanic as panic:
                # Of a default the code alone: the message may hold what the program keeps to itself (S-1.1).
                of_default = f"the default of a field that it leaves out is panic {panic.code}"
                says = panic.message if panic.code == "P103" else of_default
                raise Misfitting(f"{place}: {says}") from None

    def require_arguments(self, function: str, arguments: Mapping[str, Any]) -> None:
        """Raise what `start_json` and its handle raise for JSON data by name that does not fit the parameters of a function."""
        parameters = self._program.image.functions[self._function(function)].params
        computed = self._session.memories.computed
        json_arguments(self._program, computed, function, parameters, arguments)
        for name, kind, _ in parameters:
            if name in arguments:
                fitting_argument(self._program, computed, arguments[name], kind, f"argument {name!r} of {function}")

    def _started(self, number: int, arguments: runtime.Arguments, side: JsonSide | None) -> Call:
        async def work(call: Call) -> Any:
            try:
                return await self._called(number, arguments, call)
            except asyncio.CancelledError:
                if not call._cancelled:
                    raise
                return self._ended(None)
            finally:
                self._calls.discard(call)

        call = Call(self, work, side)
        self._calls.add(call)
        return call

    async def _called(self, number: int, arguments: runtime.Arguments, call: Call | None) -> Any:
        async with self._turns:
            # It may have been cancelled while it waited for its turn.
            if call is not None and call._cancelled:
                return self._ended(None)
            if call is not None:
                call._emits = self._emits
            self._current = call
            if call is not None and call._json is not None and call._json.hear is not None:
                self._session.host.is_audited = True
            try:
                give = self._json_value if call is not None and call._json is not None else None
                shared = [] if call is None or call._json is None else [one._account for one in call._json.budgets]
                outcome = await self._outcome(number, arguments, give, shared)
            finally:
                self._current, self._emits = None, []
        return self._ended(outcome)

    def _ended(self, outcome: runtime.Outcome | None) -> Any:
        """Return the value of a call, or raise its failure."""
        error = self._error(outcome)
        if isinstance(error, Panic):
            raise error
        if error is not None:
            value = error if outcome is None else outcome.host_value
            raise ProgramError(value, error, _trace(outcome))
        assert outcome is not None
        return outcome.host_value

    def _function(self, name: str) -> int:
        functions = self._program.image.exports.functions
        if name not in functions:
            names = ", ".join(sorted(functions)) or "none; declare one with `pub fn`"
            raise ValueError(f"the program has no public function {name!r}; public functions: {names}")
        return functions[name]

    def _arguments(self, function: str, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> runtime.Arguments:
        """Return what yields the arguments when the call runs. What does not fit is refused at once."""
        return arguments_of(self._program, function, number, args, named, self._longest)

    async def _outcome(
        self, number: int, arguments: runtime.Arguments, give: Callable[[Any], Any] | None = None,
        shared: Sequence[Account] = (),
    ) -> runtime.Outcome | None:
        """Run a function; return None when the call was stopped by `cancel`."""
        session = self._session
        code = self._program.codes[number]
        # Budgets per call begin anew: each call has its own accounts.
        own = [Account(each.tokens, each.cost, each.model_calls, "call") for each in self._per_call]
        accounts = [*own, *self._shared, *shared]
        work = session.invoke(
            code, arguments, give=give or self._python_value, reads_streams=give is not None, accounts=accounts,
            **limits_of(self._limits),
        )  # fmt: skip
        call = asyncio.ensure_future(work)
        self._running.begin(self._current, call, lambda: setattr(session.machine, "stop", None))
        try:
            outcome = self._journaling.last = await call
            return outcome
        except (Stopped, Suspended):
            return None
        except ENDED as refused:
            raise RecordingError(str(refused)) from None
        except asyncio.CancelledError:
            if not self._running.was_stopped:  # the caller itself was cancelled
                raise
            return None
        finally:
            self._running.end()

    def _error(self, outcome: runtime.Outcome | None) -> ErrorValue | Panic | None:
        if outcome is None:
            return ErrorValue("TaskError", "Cancelled", "cancelled")
        clean = self._session.redactor.clean
        if outcome.panic is not None:
            return _panic(outcome.panic, clean)
        if outcome.error is None:
            return None
        error = outcome.host_value
        if isinstance(error, ErrorValue):
            return error
        variant = error.variant if isinstance(error, Enum) else None
        return ErrorValue(values.typeof(outcome.error), variant, clean(outcome.message), {"value": error})

    def _python_value(self, value: Any) -> Any:
        """Return what a call returns as a value of Python, of `Ok(value)` and `Err(value)` the value. Raise the panic of a
        run for a value that is nested deeper than Python can follow, or would be too large there."""
        try:
            return to_python(self._session.clean(value.value if type(value) in (values.Ok, values.Err) else value))
        except RecursionError:
            raise RaisedPanic("P103", "nesting limit exceeded: the value is nested too deep to be given to Python") from None

    def _json_value(self, value: Any) -> str:
        return json_text(self._session.clean(value))

    def cancel(self) -> None:
        """Stop the call that runs, from any thread: a run ends with exit code 130, a call raises ProgramError. Does nothing when
        no call runs."""
        self._running.stop(lambda: self._session.stop("cancelled"))

    def _cancel_call(self, call: Call) -> bool:
        return self._running.stop(lambda: self._session.stop("cancelled"), call)

    def _waiting(self, work: Coroutine[Any, Any, Any], form: str) -> Any:
        """Run a coroutine to its end, in an event loop of this session's own. `form` is what to write instead where an
        event loop runs already; the RuntimeError for that tells it."""
        if _loop_is_running():
            work.close()
            raise RuntimeError(f"an event loop is running here: {form}")
        if self._turns.is_inside():  # in a thread of its handler: the call that it would wait for waits for that
            work.close()
            raise RuntimeError(OF_ITS_HANDLER)
        with self._thread, Interruptible(self.cancel):
            if self._turns.closed:
                work.close()
                raise RuntimeError("the session is closed")
            if self._runner is None:
                self._runner = asyncio.Runner(loop_factory=None if sys.platform == "win32" else SessionLoop)
            try:
                return self._runner.run(work)
            except Exception:
                raise
            except BaseException:  # of a handler: asyncio lets it out at once, and the call where it is
                self._end_call(self._runner.get_loop())
                raise

    def _end_call(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what an interrupt has left behind, so that the session can be used again. When this is interrupted too,
        the session closes."""
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        try:
            if left:
                loop.run_until_complete(asyncio.wait(left))
        except BaseException:
            self._turns.closed = True
            raise

    # ------------------------------------------------------------ state

    def dump(self) -> bytes:
        """Return the state that the session keeps between calls: hashmaps, ledgers, memories, states of tools and of
        spawned models. What has a store or a file of its own stays there. Waits for the call that runs. Raises ImageError
        for more than 64 MiB, and for a value that has no form in bytes, such as a stream that has not been read to its end."""
        state: bytes = self._waiting(self.adump(), "write `await session.adump()`")
        return state

    async def adump(self) -> bytes:
        """Do what `dump` does, within a running event loop: return the state. Raises ImageError as `dump` does."""
        from ..runtime.session.state import dumped  # loaded by who keeps states (M-14.7)

        async with self._turns:
            return _refusing(lambda: dumped(self._session))

    def restore(self, state: bytes) -> None:
        """Go on from a state that `dump` returned, of a session of the same program; all that the session kept is replaced.
        Raises ImageError, with nothing changed, for the state of another program and for bytes that are none; TypeError for
        what is not bytes."""
        self._waiting(self.arestore(state), "write `await session.arestore(state)`")

    async def arestore(self, state: bytes) -> None:
        """Do what `restore` does, within a running event loop. Raises ImageError and TypeError as `restore` does."""
        if not isinstance(state, bytes | bytearray | memoryview):
            raise TypeError(f"a state is bytes, given {type(state).__name__}")
        from ..runtime.session.state import restored

        async with self._turns:
            replace = _refusing(lambda: restored(self._session, bytes(state)))
            await replace()

    # ------------------------------------------------------------ the rest

    def metrics(self) -> Metrics:
        """Return the counters so far."""
        return Metrics(**self._session.metrics.as_json())

    def breakers(self) -> dict[str, Breaker]:
        """Return the breakers by the names of the connections that have one. Other sessions of the process share them, those of
        other programs too, but for sessions that are offline or have a journal."""
        return {name: Breaker(*state) for name, state in self._session.breakers().items()}

    def close(self) -> None:
        """Release connections and stores, and end the journal; the session runs nothing more. Does nothing for a session that is
        closed. Raises RecordingError as the class says."""
        if not self._turns.closed:
            try:
                self._waiting(self._close(), "write `await session.aclose()`, or `async with` for `with`")
            finally:
                if self._runner is not None and self._turns.closed:
                    self._runner.close()

    async def aclose(self) -> None:
        """Do what `close` does, within a running event loop. Raises RecordingError as `close` does."""
        if not self._turns.closed:
            await self._close()
            if self._runner is not None:
                await asyncio.to_thread(self._runner.close)  # no loop can be ended where another one runs

    async def _close(self) -> None:
        self._turns.closed = True
        try:
            await self._session.aclose()
        finally:
            self._journaling.end(self._session.redactor.clean)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def _refusing(work: Callable[[], T]) -> T:
    """Return what `work` returns, its refusals as the API has them."""
    from ..vm.snapshot.envelope import SnapshotError

    try:
        return work()
    except SnapshotError as error:
        raise ImageError(error.code, error.message) from None


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _panic(panic: RaisedPanic, clean: Callable[[str], str]) -> Panic:
    return Panic(panic.code, clean(panic.message), frames_of(panic.trace))


def _trace(outcome: runtime.Outcome | None) -> tuple[Frame, ...]:
    return () if outcome is None else frames_of(outcome.trace)


def arguments_of(
    program: link.Program, function: str, number: int, args: tuple[Any, ...], named: dict[str, Any], longest: int = LONGEST_STRING
) -> runtime.Arguments:
    """Return what yields the arguments of a call when it runs, since defaults are those of the program then (L-5.9.1), of the
    values of Python `args` and `named`. `function` is the name of the function, `number` its number in the image, `longest` how
    many bytes a text may have. Raise TypeError, which names the argument, for what does not fit (O-9.38), and the machine's Panic
    for what is beyond the limits of values."""
    parameters = program.image.functions[number].params
    by_name = _by_name(function, parameters, args, named)
    types = {name: program.descriptors[kind] for name, kind, _ in parameters}
    places = {name: f"argument {name!r} of {function}" for name in by_name}
    read = {name: read_value(arg, program, types[name], places[name], (), longest) for name, arg in by_name.items()}

    async def completed(run: Run) -> list[Any]:
        whole: list[Any] = []
        for name, _, default in parameters:
            if name not in read:
                # A default may use the parameters before it (L-5.9.1).
                whole.append(await run(default, list(whole)))
                continue
            value, left_out = read[name]
            if left_out:
                value = await from_python(by_name[name], program, run, types[name], places[name], longest)
            whole.append(value)
        return whole

    return completed


def _by_name(function: str, parameters: list[Any], args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by parameter. Raise TypeError for too many, unknown, doubled or missing ones."""
    names = [name for name, _, _ in parameters]
    by_name = {**dict(zip(names, args, strict=False)), **named}
    missing = [name for name, _, default in parameters if default is None and name not in by_name]
    doubled = [name for name in names[: len(args)] if name in named]
    unknown = [name for name in named if name not in names]
    if len(args) <= len(names) and not (missing or doubled or unknown):
        return by_name
    signature = ", ".join(name if default is None else f"{name}=…" for name, _, default in parameters)
    wrong = [f"{what} {', '.join(map(repr, of))}" for what, of in (("lacks", missing), ("twice", doubled), ("no", unknown)) if of]
    raise TypeError(f"{function}({signature}): {'; '.join(wrong) or f'{len(args)} arguments given'}")
