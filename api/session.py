"""A session of a program in Python: calls, listeners, answers to awaited emits (O-9.6, O-9.41, O-9.42).

Hands on `Session`. Must not know: how options become a host.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from ..runtime.calls.budgets import Account
from ..runtime.errors import ConfigFailure
from ..runtime.host import NoListener
from ..runtime.session import session as runtime
from ..vm import values
from ..vm.interp import link
from ..vm.interp.machine import Stopped
from ..vm.panics import Panic as RaisedPanic
from .calls import EVERY_CHANNEL, Call, Running, require_callable
from .options import Options, amounts, check_options, host_of, limits_of
from .results import Emit, Frame, ImageError, Metrics, Panic, ProgramError, RunResult, frames_of
from .values import Enum, Err, ErrorValue, Ok, Run, from_python, read_value, to_python

# ----------------------------------------------------------------
# The event loop of a session that is called without one: it takes descriptors only when something needs them (G-6.11).
#
# A program that waits for no connection, process or signal waits on a lock. Hands on `SessionLoop`.


class LateSelector(selectors.BaseSelector):
    """`opened` is called when the first descriptor is to be watched."""

    def __init__(self) -> None:
        self.real: selectors.BaseSelector | None = None
        self.opened: Callable[[], None] = lambda: None
        self._woken = threading.Semaphore(0)

    def open(self) -> selectors.BaseSelector:
        if self.real is None:
            self.real = selectors.DefaultSelector()
            self.opened()
        return self.real

    def wake(self) -> None:
        """`select` returns, from any thread."""
        self._woken.release()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.open().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.real is not None:
            return self.real.select(timeout)
        if timeout is None or timeout > 0:
            self._woken.acquire(timeout=timeout)
        while self._woken.acquire(blocking=False):
            pass
        return []

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        if self.real is None:
            raise KeyError(fileobj)
        return self.real.get_key(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {} if self.real is None else self.real.get_map()

    def close(self) -> None:
        if self.real is not None:
            self.real.close()


class SessionLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, whose pipe for waking it is made with the first descriptor that it watches."""

    def __init__(self) -> None:
        self._late = LateSelector()
        super().__init__(self._late)
        self._late.opened = super()._make_self_pipe  # type: ignore[misc]

    def __del__(self) -> None:
        with suppress(ValueError, OSError):  # of a session that nobody closed the pipe may be collected first
            super().__del__()

    def _make_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        self._late.wake()
        if self._late.real is not None and hasattr(self, "_csock"):  # another thread may ask while the pipe is being opened
            super()._write_to_self()  # type: ignore[misc]

    def _close_self_pipe(self) -> None:
        if self._late.real is not None:
            super()._close_self_pipe()  # type: ignore[misc]

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:  # type: ignore[override]
        """Signals come through the pipe."""
        self._late.open()
        super().add_signal_handler(sig, callback, *args)


# ----------------------------------------------------------------
# One call of a session at a time, and Ctrl-C in the calls that wait (O-9.41).
#
# Hands on `Turns` and `Interruptible`.

_inside: ContextVar[tuple[object, ...]] = ContextVar("concerto_sessions", default=())


class Turns:
    """`async with turns`: waits for the calls before it in the same event loop. RuntimeError where waiting could not end: in a
    handler of the call that runs, or beside a call in another event loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0  # those inside and waiting
        self.closed = False

    async def __aenter__(self) -> None:
        if self in _inside.get():
            raise RuntimeError("a session cannot be called by its own handlers")
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._count:
                raise RuntimeError("the session runs a call in another event loop")
            self._loop, self._lock = loop, asyncio.Lock()
        self._count += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self._count -= 1
            raise
        if self.closed:
            self._leave()
            raise RuntimeError("the session is closed")
        self._token = _inside.set((*_inside.get(), self))

    async def __aexit__(self, *failure: object) -> None:
        _inside.reset(self._token)
        self._leave()

    def _leave(self) -> None:
        self._count -= 1
        self._lock.release()


class Interruptible:
    """Within it, Ctrl-C calls `stop` once, and leaves as KeyboardInterrupt; a second Ctrl-C interrupts at once. A program that
    computes looks at nothing but the flag that `stop` sets, so asyncio's own handler would not end it."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.interrupted = False
        usual = threading.current_thread() is threading.main_thread()
        self.active = usual and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> Self:
        if self.active:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.interrupted = True
        self.stop()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.active:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.interrupted:
            raise KeyboardInterrupt from None


# ----------------------------------------------------------------

Listener = Callable[[Any], object]
Handler = Callable[[Any], Any]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

log = logging.getLogger("concerto")


class Session:
    """Stores, memories and caches of one program; they live from call to call. Made by `Program.session`.

    One call runs at a time, others wait. Use it with `with` or `async with`, or call `close`.
    """

    def __init__(self, program: link.Program, options: Options, project: str | None = None) -> None:
        check_options(options)
        self._program = program
        self._listeners: dict[str, list[Listener]] = {}
        self._handlers: dict[str, Handler] = {}
        self._emits: list[Emit] = []
        self._limits, self._shared, self._per_call = amounts(options.get("budgets"))
        self._turns = Turns()
        self._thread = threading.Lock()  # one thread at a time drives the runner
        self._runner: asyncio.Runner | None = None
        self._running = Running()
        self._current: Call | None = None  # the one whose turn it is, if it has a handle
        self._calls: set[Call] = set()  # those that have not ended
        try:
            self._session = runtime.Session(program, host_of(options, self._hear, self._answer, project, self._hears))
        except ConfigFailure as failure:
            raise ValueError(f"{failure.code}: {failure.message}") from None
        self._session.account.whose = "session"
        self._session.machine.beside.append(lambda: self._emits)

    # ------------------------------------------------------------ listening and answering

    def on(self, channel: str, fn: F | None = None) -> Any:
        """Hear the emits of a channel; `fn` gets the payload. Without `fn` it is a decorator. On `"*"`, `fn` hears every channel
        and gets an `Emit`. Exceptions of a listener are logged and ignored."""
        if fn is None:
            return lambda given: self.on(channel, given)
        require_callable("on", channel, fn)
        self._listeners.setdefault(channel, []).append(fn)
        self._listens()
        return fn

    def off(self, channel: str, fn: Callable[..., Any] | None = None) -> None:
        """Stop hearing: this listener of the channel, or all of them and the handler that answers."""
        if fn is None:
            self._listeners.pop(channel, None)
            self._handlers.pop(channel, None)
            return
        self._listeners[channel] = [other for other in self._listeners.get(channel, []) if other != fn]
        if self._handlers.get(channel) == fn:
            del self._handlers[channel]

    def on_emit(self, channel: str, fn: F | None = None) -> Any:
        """Answer the awaited emits of a channel: what `fn` gives for the payload, or what it gives when awaited, is the answer;
        its exception is `EmitError::HandlerFailed`, of which a model learns as of a tool's. One handler per channel, the last
        counts. Without `fn` it is a decorator."""
        if fn is None:
            return lambda given: self.on_emit(channel, given)
        require_callable("on_emit", channel, fn)
        self._handlers[channel] = fn
        return fn

    def register_tool(self, tool: str, method: str, fn: Callable[..., Any], *, context: bool = False) -> None:
        """Let `fn` take the place of a tool method, called with its arguments; what it gives, or gives when awaited, is the
        result: of a method with a Result, `Ok`, `Err`, or the value of the Ok. Its exception is `ToolError::ExecutionFailed`
        with its text for the program; a model that called is told the class alone, unless it is a `concerto.ToolError`, whose
        text is for the model. With `context`, `fn` gets as `context=` who is asking: what the call was given by
        `with_context`, None for nothing. Raises ValueError for what is no method of a tool of the program."""
        declared = {made.name: [row[0] for row in made.methods] for made in self._program.image.tools}
        if method not in declared.get(tool, ()):
            known = ", ".join(f"{name}.{row}" for name, rows in declared.items() for row in rows) or "none"
            raise ValueError(f"the program has no tool method {tool}.{method}; tool methods: {known}")
        self._require_parameters(tool, method, fn, {"context": None} if context else {})
        place = f"the result of {tool}.{method}"

        async def handle(arguments: list[Any], result: tuple[Any, ...], run: Run, around: Callable[[], Any]) -> Any:
            named = {"context": to_python(around())} if context else {}
            answer = fn(*map(to_python, arguments), **named)
            if inspect.isawaitable(answer):
                answer = await answer
            plain = result[0] == "result" and not isinstance(answer, Ok | Err)
            return await from_python(answer, self._program, run, result[1] if plain else result, place)

        self._session.host.tools[tool, method] = handle

    def _require_parameters(self, tool: str, method: str, fn: Callable[..., Any], named: dict[str, Any]) -> None:
        """TypeError for what is no function, or takes other arguments than the method."""
        if not callable(fn):
            raise TypeError(f"register_tool: {tool}.{method} is taken by a function, not by {fn!r}")
        made = next(made for made in self._program.image.tools if made.name == tool)
        given = len(next(row[5] for row in made.methods if row[0] == method).get("properties", {}))
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):  # of a function that is written in C
            return
        try:
            signature.bind(*[None] * given, **named)
        except TypeError as refused:
            what = "1 argument" if given == 1 else f"{given} arguments"
            raise TypeError(f"register_tool: {tool}.{method} has {what}, which fn{signature} does not take: {refused}") from None

    def _hear(self, channel: str, value: Any, by_runtime: bool) -> None:
        emit, call = Emit(channel, to_python(value)), self._current
        if not by_runtime:
            self._emits.append(emit)
            if call is not None:
                call._arrived()
        for listeners in (self._listeners, call._listeners) if call is not None else (self._listeners,):
            for listener in list(listeners.get(channel, ())):
                self._tell(listener, emit.payload, channel)
            for listener in list(listeners.get(EVERY_CHANNEL, ())):
                self._tell(listener, emit, channel)

    def _hears(self) -> bool:
        """Whether anybody listens to memories."""
        tables = [self._listeners, *(call._listeners for call in self._calls)]
        heard = (channel for table in tables for channel, listeners in table.items() if listeners)
        return any(channel == EVERY_CHANNEL or channel.startswith("memory:") for channel in heard)

    def _listens(self) -> None:
        if self._hears():
            self._session.memories.listen()

    def _tell(self, listener: Listener, what: Any, channel: str) -> None:
        try:
            listener(what)
        except Exception:
            log.exception("a listener of channel %s failed", channel)

    async def _answer(self, channel: str, value: Any, run: Run) -> Any:
        call = self._current
        handler = (call._handlers.get(channel) if call is not None else None) or self._handlers.get(channel)
        if handler is None:
            raise NoListener
        answer = handler(to_python(value))
        if inspect.isawaitable(answer):
            answer = await answer
        return await from_python(answer, self._program, run, what=f"the answer on {channel}")

    # ------------------------------------------------------------ calling

    def run(self, *args: str) -> RunResult:
        """Run `main`; `args` are `std::env::args()`. Failures of the program are in the result."""
        result: RunResult = self._waiting(self.arun(*args), "write `await session.arun(…)`")
        return result

    async def arun(self, *args: str) -> RunResult:
        """As `run`, within a running event loop."""
        number = self._program.image.header.entry
        if number is None:
            raise ValueError("the program has no main; call one of its public functions")
        async with self._turns:
            self._session.host.args = args
            outcome = await self._outcome(number, [])
            emits, self._emits = self._emits, []
        error = self._error(outcome)
        value = outcome.host_value if error is None and outcome is not None else None
        exit_code = 130 if outcome is None else 1 if isinstance(error, Panic) else outcome.exit_code
        return RunResult(error is None, value, error, exit_code, emits, self.metrics(), _trace(outcome))

    def call(self, function: str, /, *args: Any, **named: Any) -> Any:
        """Call a public function with values of Python, by position or name, and give its value; that of `Ok(value)` for a
        Result.

        Raises ProgramError for an Err, Panic for a panic, TypeError for arguments that do not fit, ValueError for a name that is
        no public function."""
        return self._waiting(self.acall(function, *args, **named), f"write `await session.acall({function!r}, …)`")

    async def acall(self, function: str, /, *args: Any, **named: Any) -> Any:
        """As `call`, within a running event loop."""
        number = self._function(function)
        return await self._called(number, self._arguments(function, number, args, named), None)

    def start(self, function: str, /, *args: Any, **named: Any) -> Call:
        """Begin a call of a public function, as `call` makes it, and give a handle of it, with listeners and answers for this
        call alone, and an end of its own. Within a running event loop it runs from now on, else when `result()` asks for it."""
        number = self._function(function)
        arguments = self._arguments(function, number, args, named)

        async def work(call: Call) -> Any:
            try:
                return await self._called(number, arguments, call)
            except asyncio.CancelledError:
                if not call._cancelled:
                    raise
                return self._ended(None)
            finally:
                self._calls.discard(call)

        call = Call(self, work)
        self._calls.add(call)
        return call

    async def _called(self, number: int, arguments: runtime.Arguments, call: Call | None) -> Any:
        async with self._turns:
            if call is not None and call._cancelled:
                return self._ended(None)
            if call is not None:
                call._emits = self._emits
            self._current = call
            try:
                outcome = await self._outcome(number, arguments)
            finally:
                self._current, self._emits = None, []
        return self._ended(outcome)

    def _ended(self, outcome: runtime.Outcome | None) -> Any:
        """The value of a call, or what it raises."""
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
            known = ", ".join(sorted(functions)) or "none; declare one with `pub fn`"
            raise ValueError(f"the program has no public function {name!r}; public functions: {known}")
        return functions[name]

    def _arguments(self, function: str, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> runtime.Arguments:
        """What does not fit is refused at once; defaults are those of the program when the call runs (L-5.9.1)."""
        parameters = self._program.image.functions[number].params
        given = _by_name(function, parameters, args, named)
        types = {name: self._program.descriptors[kind] for name, kind, _ in parameters}
        places = {name: f"argument {name!r} of {function}" for name in given}
        read = {name: read_value(arg, self._program, types[name], places[name]) for name, arg in given.items()}

        async def completed(run: Run) -> list[Any]:
            whole: list[Any] = []
            for name, _, default in parameters:
                if name not in read:
                    whole.append(await run(default, list(whole)))
                    continue
                value, left_out = read[name]
                if left_out:
                    value = await from_python(given[name], self._program, run, types[name], places[name])
                whole.append(value)
            return whole

        return completed

    async def _outcome(self, number: int, arguments: runtime.Arguments) -> runtime.Outcome | None:
        """None when the call was stopped by `cancel`."""
        session = self._session
        code = self._program.codes[number]
        accounts = [*(Account(each.tokens, each.cost, each.model_calls, "call") for each in self._per_call), *self._shared]
        work = session.invoke(code, arguments, give=self._given, accounts=accounts, **limits_of(self._limits))
        call = asyncio.ensure_future(work)
        self._running.begin(self._current, call, lambda: setattr(session.machine, "stop", None))
        try:
            return await call
        except Stopped:
            return None
        except asyncio.CancelledError:
            if session.machine.stop is None:  # the caller itself was cancelled
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

    def _given(self, value: Any) -> Any:
        """What a call gives: of `Ok(value)` and `Err(value)` the value. Raises the panic of a run for one that is nested deeper
        than Python can follow, or would be too large there."""
        try:
            return to_python(self._session.clean(value.value if type(value) in (values.Ok, values.Err) else value))
        except RecursionError:
            raise RaisedPanic("P103", "nesting limit exceeded: the value is nested too deep to be given to Python") from None

    def cancel(self) -> None:
        """Stop the call that runs, from any thread: a run ends with exit code 130, a call raises ProgramError."""
        self._running.stop(lambda: self._session.stop("cancelled"))

    def _cancel_call(self, call: Call) -> bool:
        return self._running.stop(lambda: self._session.stop("cancelled"), call)

    def _waiting(self, work: Coroutine[Any, Any, Any], form: str) -> Any:
        """Run a coroutine to its end, in an event loop of this session's own; `form` is what does so in another one."""
        if _loop_is_running():
            work.close()
            raise RuntimeError(f"an event loop is running here: {form}")
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
        """Cancels what an interrupt has left behind, so that the session can be used. Interrupted too, it closes the session."""
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
        """What the session keeps between calls: hashmaps, ledgers, memories, states of tools and of spawned models. What has a
        store or a file of its own stays there. Waits for the call that runs; ImageError for more than 64 MiB."""
        state: bytes = self._waiting(self.adump(), "write `await session.adump()`")
        return state

    async def adump(self) -> bytes:
        """As `dump`, within a running event loop."""
        from ..runtime.session.state import dumped  # loaded by who keeps states (M-14.7)

        async with self._turns:
            return _refusing(lambda: dumped(self._session))

    def restore(self, state: bytes) -> None:
        """Go on from a state that `dump` gave, of a session of the same program; all that was kept is replaced. ImageError,
        and nothing has changed, for the state of another program and for bytes that are none."""
        self._waiting(self.arestore(state), "write `await session.arestore(state)`")

    async def arestore(self, state: bytes) -> None:
        """As `restore`, within a running event loop."""
        if not isinstance(state, bytes | bytearray | memoryview):
            raise TypeError(f"a state is bytes, given {type(state).__name__}")
        from ..runtime.session.state import restored

        async with self._turns:
            replace = _refusing(lambda: restored(self._session, bytes(state)))
            await replace()

    # ------------------------------------------------------------ the rest

    def metrics(self) -> Metrics:
        """The counters so far."""
        return Metrics(**self._session.metrics.as_json())

    def close(self) -> None:
        """Give back connections; the session runs nothing more."""
        if not self._turns.closed:
            self._waiting(self._close(), "write `await session.aclose()`, or `async with` for `with`")
            if self._runner is not None:
                self._runner.close()

    async def aclose(self) -> None:
        """As `close`, within a running event loop."""
        if not self._turns.closed:
            await self._close()
            if self._runner is not None:
                self._runner.close()

    async def _close(self) -> None:
        self._turns.closed = True
        await self._session.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def _refusing(work: Callable[[], T]) -> T:
    """What `work` gives, its refusals as the API has them."""
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


def _by_name(function: str, parameters: list[Any], args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by parameter. Raises TypeError for too many, unknown, doubled or missing ones."""
    names = [name for name, _, _ in parameters]
    found = {**dict(zip(names, args, strict=False)), **named}
    missing = [name for name, _, default in parameters if default is None and name not in found]
    doubled = [name for name in names[: len(args)] if name in named]
    unknown = [name for name in named if name not in names]
    if len(args) <= len(names) and not (missing or doubled or unknown):
        return found
    shown = ", ".join(name if default is None else f"{name}=…" for name, _, default in parameters)
    wrong = [f"{what} {', '.join(map(repr, of))}" for what, of in (("lacks", missing), ("twice", doubled), ("no", unknown)) if of]
    raise TypeError(f"{function}({shown}): {'; '.join(wrong) or f'{len(args)} arguments given'}")
