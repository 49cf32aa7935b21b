"""Awaited emits: delivered like any other, then answered by the host (O-5.25, O-5.26, O-5.29, O-5.35).

Must not know: who listens.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Closure, Err, ErrorValue, Ok, check, display, share
from ..emits import NoListener
from ..host_failures import message_and_fields
from .tests import ANSWERS, EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect, EmitPayload
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    emit: EmitPayload = effect.payload
    run.emit(emit.channel, emit.value)
    run.emits.flush()
    timeout_ms = run.host.emit_timeout_ms if emit.timeout_ms is None else emit.timeout_ms
    try:
        mocked = run.state.get(ANSWERS, {})
        if emit.channel in mocked:
            answer = await _mocked(run, effect, mocked[emit.channel])
        elif run.host.answer is None:
            raise NoListener
        else:
            answer = await _answer(run, effect, timeout_ms)
        if emit.answer is None:
            return Ok(answer)
        try:
            return Ok(check(answer, emit.answer))
        except Panic as panic:  # what a host answers is no fault of the program (O-0.9)
            return _failed("WrongAnswer", f"the answer on {emit.channel}: {panic.message}", emit)
    except NoListener:
        testing = EMITS in run.state and emit.channel.isidentifier()
        hint = f"; in a test write `mock emit {{ {emit.channel}: … }}`" if testing else ""
        return _failed("NoListener", f"nobody answers emits on {emit.channel}{hint}", emit)
    except TimeoutError:
        return _failed("Timeout", f"no answer on {emit.channel} within {timeout_ms} ms", emit)
    except MockedFailure as failed:
        return _failed("HandlerFailed", f"the answer on {emit.channel}: {failed}", emit)
    except HandlerFailed as failed:
        message, fields = message_and_fields(run.redactor.clean, f"the answer on {emit.channel}", failed.error)
        return _failed("HandlerFailed", message, emit, **fields)


async def _mocked(run: Running, effect: Effect, answer: Any) -> Any:
    """A value for every emit of the channel, or a closure called with the payload (O-8.27)."""
    emit: EmitPayload = effect.payload
    value = await run.call(effect, answer, [share(emit.value)]) if type(answer) is Closure else share(answer)
    if type(value) is Err:
        raise MockedFailure(display(value.value))
    return value.value if type(value) is Ok else value


class MockedFailure(Exception):
    """What stands in for the handler gave an Err, of this text."""


class HandlerFailed(Exception):
    """The handler of the host raised `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


async def _answer(run: Running, effect: Effect, timeout_ms: int | None) -> Any:
    answering = _handled(run, effect)
    return await (answering if timeout_ms is None else run.within(timeout_ms / 1000, answering))


async def _handled(run: Running, effect: Effect) -> Any:
    emit: EmitPayload = effect.payload

    async def give(number: int, arguments: list[Any]) -> Any:
        return await run.call(effect, run.program.codes[number], arguments)

    try:
        return await run.host.answer(emit.channel, run.clean(emit.value), give)
    except NoListener:
        raise
    except Exception as error:
        raise HandlerFailed(error) from None


def _failed(variant: str, message: str, emit: EmitPayload, **fields: Any) -> Err:
    return Err(ErrorValue("EmitError", variant, message, {"channel": emit.channel, **fields}))
