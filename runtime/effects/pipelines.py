"""`.run` of a pipeline: its stages one after another, with what their decorators say (O-6.18 to O-6.24).

Each attempt of a stage is a function of the program, run as a child of the task that waits, so that a cancellation or a time
limit stops it where it stands. Must not know: what stages do, how tasks are scheduled.
"""

from __future__ import annotations

from ...vm.builtins.handles import fitting
from ...vm.declaration_fields import DECORATORS
from ...vm.panics import Panic
from ...vm.values import Err, ErrorValue, Map, Ok, Struct, share, typeof
from ...vm.values.objects import EnumValue
from ...vm.values.text import display
from ..calls.retry import RetryPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import Running


DEFAULT_LOG_CHANNEL = DECORATORS["log"].arguments_at("stage")["channel"].default
ONCE = RetryPolicy(max_attempts=1)


async def perform(run: Running, effect: Effect) -> Any:
    pipeline, value = effect.payload
    began = run.host.now()
    _report(run, "pipeline:start", {"name": pipeline.name, "input": value})
    values = [value]
    for row in pipeline.stages:
        stage = Stage(run, effect, pipeline.name, row)
        outcome = await stage.run(values)
        if type(outcome) is Err:
            error = stage.named(outcome.value)
            _report(run, "pipeline:error", {"name": pipeline.name, "stage": stage.name, "error": error})
            return Err(error, outcome.way)
        values.append(outcome.value)
    output = fitting(values[-1], run.program.descriptors[pipeline.output])
    _report(run, "pipeline:complete", {"name": pipeline.name, "duration_ms": _since(run, began)})
    return Ok(output)


class Stage:
    """One stage in one run of its pipeline."""

    __slots__ = ("session", "effect", "pipeline", "name", "given", "is_open", "code", "policy", "seconds", "channel")

    def __init__(self, run: Running, effect: Effect, pipeline: str, row: list[Any]) -> None:
        name, given, gives, decorators, function = row
        descriptors = run.program.descriptors
        written = dict(decorators)
        self.session = run
        self.effect = effect
        self.pipeline = pipeline
        self.name = name
        self.given = None if given is None else descriptors[given]
        self.is_open = descriptors[gives] == ("any",)
        self.code = run.program.codes[function]
        self.policy = RetryPolicy.from_decorator(written["retry"]) if "retry" in written else ONCE
        self.seconds: float | None = written["timeout"]["seconds"] if "timeout" in written else None
        self.channel: str | None = written["log"].get("channel", DEFAULT_LOG_CHANNEL) if "log" in written else None

    async def run(self, values: list[Any]) -> Any:
        """The Result of the last attempt (O-6.21). An expression stage takes all `values`, any other the last one."""
        run = self.session
        arguments = values if self.given is None else [fitting(values[-1], self.given)]
        began = run.host.now()
        attempt = 1
        while True:
            outcome = await self._attempt(attempt, arguments)
            if type(outcome) is Ok:
                took = _since(run, began)
                _report(run, "pipeline:stage_complete", {"name": self.pipeline, "stage": self.name, "duration_ms": took})
                return outcome
            if attempt >= self.policy.max_attempts:
                return outcome
            delay = self.policy.delay_ms(attempt)
            if delay:
                await run.host.sleep(delay / 1000)
            attempt += 1

    async def _attempt(self, attempt: int, arguments: list[Any]) -> Any:
        run = self.session
        began = run.host.now()
        _report(run, "pipeline:stage_start", {"name": self.pipeline, "stage": self.name, "attempt": attempt})
        outcome = await self._called(arguments)
        if self.channel is not None:
            ok = type(outcome) is Ok
            fields = {"pipeline": self.pipeline, "stage": self.name, "attempt": attempt, "ok": ok}
            error = None if ok else outcome.value
            _report(run, self.channel, {**fields, "duration_ms": _since(run, began), "error": error})
        return outcome

    async def _called(self, arguments: list[Any]) -> Any:
        """The Result of the function. A value behind Any may be one Result more (O-6.19)."""
        calling = self.session.call(self.effect, self.code, [share(argument) for argument in arguments])
        try:
            result = await (calling if self.seconds is None else self.session.within(self.seconds, calling))
        except TimeoutError:
            return Err(self._timeout())
        if type(result) not in (Ok, Err):  # the function of a foreign image may give anything
            raise Panic("P007", f"expected Result, found {typeof(result)}")
        if self.is_open and type(result) is Ok and type(result.value) in (Ok, Err):
            return result.value
        return result

    def _timeout(self) -> ErrorValue:
        seconds = self.seconds
        assert seconds is not None
        message = f"stage {self.name} of pipeline {self.pipeline} has not ended within {seconds:g} s"
        return ErrorValue("TimeoutError", None, message, {"timeout_seconds": float(seconds)})

    def named(self, error: Any) -> Any:
        """The error of a run: where it arose is added to it. What is no error value becomes the cause of one, and one of a type
        of the program keeps its own fields (O-6.20)."""
        place = {"pipeline": self.pipeline, "stage": self.name}
        if type(error) is ErrorValue:
            return ErrorValue(error.family, error.variant, error.message, {**error.fields, **place})
        if isinstance(error, (Struct, EnumValue)) and error.decl.is_error:
            return error
        message = f"stage {self.name} of pipeline {self.pipeline} failed: {display(error)}"
        return ErrorValue("PipelineError", None, message, {"cause": error, **place})


def _since(run: Running, began: float) -> int:
    milliseconds: int = round((run.host.now() - began) * 1000)
    return milliseconds


def _report(run: Running, channel: str, fields: dict[str, Any]) -> None:
    """An emit of the runtime (O-6.24)."""
    run.emits.send(channel, run.clean(Map({name: share(value) for name, value in fields.items()})), True)
