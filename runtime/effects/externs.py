"""Performs calls of functions of Python that a program declares (P-1.3 to P-1.7): permission, repetition, what becomes of
failures.

Hands on `perform`, `perform_next` and `perform_close` to `table.py`; `unknown_extern`, `came` and `passed_functions` to the
journal, the last to `api/callbacks.py` too. What calls the function and converts values is the host's (`python_calls.py`). Mocks
of a test answer before an effect is made, in the code of the function itself.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import (
    NONE,
    Array,
    Closure,
    EnumValue,
    Err,
    ErrorValue,
    HostStream,
    Map,
    Ok,
    Queue,
    Set,
    Some,
    Stack,
    Struct,
    elements,
)
from ...vm.values.errors import FOR_MODEL
from ..access.permissions import Access, Denied, denied_error, denied_panic, guarded, permissions_of
from ..calls.retry import RetryPolicy
from ..python_calls import CallFailed
from .tests import EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Any

    from ...vm.interp.effects import Effect, ExternCall
    from ...vm.interp.linked import PythonFunction
    from ..python_calls import Elements, PythonCaller
    from ..running import EffectContext

# Keys in the state of a session.
CALLER = "python"
STREAMS = "python_streams"
REPEATED = ("Raised", "Timeout")  # failures that `@retry` tries again


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Call the function that the `ExternCall` of the effect names, and return its value. Without the permission, and for every
    failure, the result is an Err of HostError, or panic P407 or P417 where the function gives no Result that could hold one; a
    test without the permission always fails by P407 (P-1.6)."""
    use: ExternCall = effect.payload
    function = use.function
    try:
        return await _permitted(run, function, lambda caller: _repeated(run, effect, use, caller))
    except Denied as denied:
        return _denied(run, effect, function, denied, function.fallible)
    except CallFailed as failure:
        return _failed(run, effect, function, failure, function.fallible)


async def perform_next(run: EffectContext, effect: Effect) -> Any:
    """Return the next element of the `HostStream` that is the payload, as Ok of Some, Ok(None) at the end, or an Err of
    HostError, after which no element comes. The function is called when the first element is asked for. Raises panic P407 as
    `perform`."""
    stream: HostStream = effect.payload
    function = stream.function
    try:
        if stream.key in OpenStreams.of(run).elements:
            value = await _element(run, effect, stream)
        else:
            value = await _permitted(run, function, lambda caller: _first_element(run, effect, stream, caller))
    except Denied as denied:
        value = _denied(run, effect, function, denied, True)
    except CallFailed as failure:
        value = _failed(run, effect, function, failure, True)
    except BaseException:
        effect.payload.walked = False
        raise
    return came(effect.payload, value)  # after a snapshot was read it is another object than `stream`


def came(stream: HostStream, value: Any) -> Any:
    """Take note in a stream that this was given for the element that was asked for, from a recording perhaps; return it."""
    stream.walked = False
    stream.ended = type(value) is Err or value.value is NONE
    return value


async def perform_close(run: EffectContext, effect: Effect) -> None:
    """End what gives the elements of a `HostStream`, the payload, which a loop has left."""
    await OpenStreams.of(run).end(effect.payload)


class OpenStreams:
    """What gives the elements of the streams of a session that are on their way: `elements`, by the keys of the streams."""

    def __init__(self) -> None:
        self.elements: dict[str, Elements] = {}

    @classmethod
    def of(cls, run: EffectContext) -> OpenStreams:
        """Return those of a session."""
        streams: OpenStreams = run.state.setdefault(STREAMS, OpenStreams())
        return streams

    async def end(self, stream: HostStream, waits: bool = True) -> None:
        """End what gives the elements of a stream, if it has begun; with `waits` it is over when this returns."""
        begun = self.elements.pop(stream.key, None)
        if begun is not None:
            await begun.close(waits)

    async def aclose(self) -> None:
        """End all of them, with the session."""
        while self.elements:  # others may end theirs meanwhile
            _, begun = self.elements.popitem()
            await begun.close(waits=False)


async def _first_element(run: EffectContext, effect: Effect, stream: HostStream, caller: PythonCaller) -> Any:
    """Call the function of a stream, and return its first element as `_element` does. Raises CallFailed."""
    if stream.asked > 1:  # the elements before are those of a recording
        raise CallFailed("EffectUnknown", f"{stream.name} was read in another process, whose place in it nobody knows")
    OpenStreams.of(run).elements[stream.key] = caller.elements(run, stream.function, stream.arguments)
    return await _element(run, effect, stream)


async def _element(run: EffectContext, effect: Effect, stream: HostStream) -> Any:
    """Return Ok of Some element, or Ok(None). Raises CallFailed."""
    streams = OpenStreams.of(run)
    try:
        value = await _in_time(run, stream.function, streams.elements[stream.key].next(effect))
    except BaseException:
        await streams.end(stream, waits=False)  # a thread may be at work on the element that nobody waits for any more
        raise
    if value is NONE:
        await streams.end(stream)
    return Ok(value)


async def _permitted(run: EffectContext, function: PythonFunction, work: Callable[[PythonCaller], Awaitable[Any]]) -> Any:
    """Return what `work` returns for what calls functions of Python, if this one may be called. Raises Denied, and CallFailed
    where nothing calls them."""
    caller = _caller(run)
    if caller is None:
        raise CallFailed("NotFound", "this host calls no functions of Python", module=function.module)
    if caller.is_bound(function):
        return await work(caller)
    access = Access("python", function.module, "audit:python", {"module": function.module, "function": function.name})
    return await guarded(run, access, permissions_of(run).allows_module(function.module), lambda: work(caller))


def _caller(run: EffectContext) -> PythonCaller | None:
    caller: PythonCaller | None = run.state.get(CALLER)
    if caller is None and run.host.python is not None:
        caller = run.state[CALLER] = run.host.python()
    return caller


async def _repeated(run: EffectContext, effect: Effect, use: ExternCall, caller: PythonCaller) -> Any:
    """Call the function as often as `@retry` says, until it gives a value. Raises the last CallFailed."""
    function = use.function
    attempt = 1
    while True:
        try:
            value = await _in_time(run, function, caller.call(run, effect, function, use.arguments))
            return Ok(value) if function.fallible and type(value) not in (Ok, Err) else value
        except CallFailed as failure:
            if function.retry is None or failure.variant not in REPEATED:
                raise
            policy = RetryPolicy.from_decorator(function.retry)
            if attempt >= policy.max_attempts:
                raise
        delay = policy.delay_ms(attempt)
        if delay:
            await run.host.sleep(delay / 1000)
        attempt += 1


async def _in_time(run: EffectContext, function: PythonFunction, calling: Coroutine[Any, Any, Any]) -> Any:
    if function.seconds is None:
        return await calling
    try:
        return await run.within(function.seconds, calling)
    except TimeoutError:
        message = f"{function.name} has not ended within {function.seconds:g} s"
        raise CallFailed("Timeout", message, timeout_seconds=float(function.seconds)) from None


def passed_functions(arguments: Sequence[Any]) -> list[Closure]:
    """Return the functions of the program in the arguments of a call, in order."""
    found: list[Closure] = []
    todo = list(reversed(arguments))
    while todo:
        at = todo.pop()
        if type(at) is Closure:
            found.append(at)
        elif isinstance(at, (Array, Set, Queue, Stack)):
            todo += reversed(list(elements(at)))
        elif type(at) is Map:
            todo += reversed([value for _, value in at.entries()])
        elif type(at) is tuple:
            todo += reversed(at)
        elif isinstance(at, Struct):
            todo += reversed(at.values())
        elif type(at) is EnumValue:
            todo += reversed(at.payload or ())
        elif type(at) in (Some, Ok, Err):
            todo.append(at.value)
        elif type(at) is ErrorValue:
            todo += reversed([value for name, value in at.fields.items() if name != FOR_MODEL])
    return found


def unknown_extern(run: EffectContext, effect: Effect, message: str) -> Err:
    """Return what the program gets of a call of which nobody knows whether it took effect: an Err of HostError; P417 where the
    function gives no Result for it is raised."""
    function = effect.payload.function
    is_stream = type(effect.payload) is HostStream
    return _failed(run, effect, function, CallFailed("EffectUnknown", message), is_stream or function.fallible)


def _denied(run: EffectContext, effect: Effect, function: PythonFunction, denied: Denied, fallible: bool) -> Err:
    if EMITS in run.state:
        message = f"{denied.message}, or mock it in the test: mock {function.name} {{ … }}"
        raise run.machine.placed(effect.task, Panic("P407", message)) from None
    if not fallible:
        raise denied_panic(run, effect, denied) from None
    return denied_error("HostError", denied, function=function.name)


def _failed(run: EffectContext, effect: Effect, function: PythonFunction, failure: CallFailed, fallible: bool) -> Err:
    """Return the Err of a call that failed, without secrets, or raise P417, with the same message, where the function gives no
    Result for it."""
    clean = run.redactor.clean
    message = clean(failure.message)
    fields = {name: clean(value) if type(value) is str else value for name, value in failure.fields.items()}
    if fallible:
        return Err(ErrorValue("HostError", failure.variant, message, {"function": function.name, **fields}))
    told = message if function.name in message else f"{function.name}: {message}"
    raise run.machine.placed(effect.task, Panic("P417", told))
