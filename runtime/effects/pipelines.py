"""Performs `.run` of a pipeline: its stages one after another, with their decorators `@retry`, `@timeout` and `@log` (O-6.18 to
O-6.24).

Hands on `perform` to `table.py`. Each attempt of a stage is a function of the program, run as a child of the task that waits,
so that a cancellation or a time limit stops it where it is. The checks of decorators are `connections.py: check_stages`.
"""

from __future__ import annotations

from ...vm.builtins.handles import fitting
from ...vm.declaration_fields import DECORATORS
from ...vm.panics import Panic
from ...vm.values import Err, ErrorValue, Map, Ok, Struct, share, typeof
from ...vm.values.objects import EnumValue
from ...vm.values.text import display
from ..calls.retry import RetryPolicy
from ..host import emitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import EffectContext


DEFAULT_LOG_CHANNEL = DECORATORS["log"].arguments_at("stage")["channel"].default
ONCE = RetryPolicy(max_attempts=1)


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Run a pipeline and return the Ok of the last stage's value, or the Err of the stage that failed. The payload of the
    effect, which is the machine's request, is (entry of the pipeline in the image, input). Raises panic P007 where a value from
    behind Any does not fit, or a stage of a foreign image gives no Result, and P103 as `Stage.named`; a panic of a stage ends
    the run."""
    pipeline, value = effect.payload
    started = run.host.now()
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
    _report(run, "pipeline:complete", {"name": pipeline.name, "duration_ms": _since(run, started)})
    return Ok(output)


class Stage:
    """One stage in one run of its pipeline, which the effect `effect` asks for.

    `row` is that of the stage in the image, of which `name` is its name and `code` its function. `argument_type` is the
    descriptor of what it takes, None for an expression stage, which takes the input and the values of all stages before it.
    `gives_any` says that its result type is Any, `policy` how often it is tried. `seconds` is the limit of one attempt, None
    without one; `channel` is that of `@log`, None without it."""

    __slots__ = (
        "session", "effect", "pipeline", "name", "argument_type", "gives_any", "code", "policy", "seconds", "channel",
    )  # fmt: skip

    def __init__(self, run: EffectContext, effect: Effect, pipeline: str, row: list[Any]) -> None:
        name, argument_type, result_type, decorator_rows, function = row
        descriptors = run.program.descriptors
        decorators = dict(decorator_rows)
        self.session = run
        self.effect = effect
        self.pipeline = pipeline
        self.name = name
        self.argument_type = None if argument_type is None else descriptors[argument_type]
        self.gives_any = descriptors[result_type] == ("any",)
        self.code = run.program.codes[function]
        self.policy = RetryPolicy.from_decorator(decorators["retry"]) if "retry" in decorators else ONCE
        self.seconds: float | None = decorators["timeout"]["seconds"] if "timeout" in decorators else None
        log = decorators.get("log")
        self.channel: str | None = None if log is None else log.get("channel", DEFAULT_LOG_CHANNEL)

    async def run(self, values: list[Any]) -> Any:
        """Run the stage and return the Result of its last attempt (O-6.21). Any Err is tried again until the attempts of the
        policy are used up. `values` are the input of the pipeline and what the stages before this one gave. Raises panics as
        `pipelines.perform`."""
        run = self.session
        arguments = values if self.argument_type is None else [fitting(values[-1], self.argument_type)]
        started = run.host.now()
        attempt = 1
        while True:
            outcome = await self._attempt(attempt, arguments)
            if type(outcome) is Ok:
                duration = _since(run, started)
                fields = {"name": self.pipeline, "stage": self.name, "duration_ms": duration}
                _report(run, "pipeline:stage_complete", fields)
                return outcome
            if attempt >= self.policy.max_attempts:
                return outcome
            delay = self.policy.delay_ms(attempt)
            if delay:
                await run.host.sleep(delay / 1000)
            attempt += 1

    async def _attempt(self, attempt: int, arguments: list[Any]) -> Any:
        run = self.session
        started = run.host.now()
        _report(run, "pipeline:stage_start", {"name": self.pipeline, "stage": self.name, "attempt": attempt})
        outcome = await self._call(arguments)
        if self.channel is not None:
            ok = type(outcome) is Ok
            fields = {"pipeline": self.pipeline, "stage": self.name, "attempt": attempt, "ok": ok}
            error = None if ok else outcome.value
            _report(run, self.channel, {**fields, "duration_ms": _since(run, started), "error": error})
        return outcome

    async def _call(self, arguments: list[Any]) -> Any:
        """Call the function and return its Result. With the type Any its value may itself be a Result, which counts (O-6.19)."""
        calling = self.session.call(self.effect, self.code, [share(argument) for argument in arguments])
        try:
            result = await (calling if self.seconds is None else self.session.within(self.seconds, calling))
        except TimeoutError:
            return Err(self._timeout())
        if type(result) not in (Ok, Err):  # the function of a foreign image may give anything
            raise Panic("P007", f"expected Result, found {typeof(result)}")
        if self.gives_any and type(result) is Ok and type(result.value) in (Ok, Err):
            return result.value
        return result

    def _timeout(self) -> ErrorValue:
        seconds = self.seconds
        assert seconds is not None
        message = f"stage {self.name} of pipeline {self.pipeline} has not ended within {seconds:g} s"
        return ErrorValue("TimeoutError", None, message, {"timeout_seconds": float(seconds)})

    def named(self, error: Any) -> Any:
        """Return the error of the pipeline's run: `error` with the names of pipeline and stage added (O-6.20).

        A value of no error type becomes the cause of a PipelineError. An error of a type of the program stays as it is: its
        fields are declared. Raises panic P103 as `display`, of any other value."""
        place = {"pipeline": self.pipeline, "stage": self.name}
        if type(error) is ErrorValue:
            return ErrorValue(error.family, error.variant, error.message, {**error.fields, **place})
        if isinstance(error, (Struct, EnumValue)) and error.decl.is_error:
            return error
        message = f"stage {self.name} of pipeline {self.pipeline} failed: {display(error)}"
        return ErrorValue("PipelineError", None, message, {"cause": error, **place})


def _since(run: EffectContext, started: float) -> int:
    milliseconds: int = round((run.host.now() - started) * 1000)
    return milliseconds


def _report(run: EffectContext, channel: str, fields: dict[str, Any]) -> None:
    """Send an emit of the runtime about the run of a pipeline (O-6.24)."""
    run.emits.send(channel, run.clean(Map({name: share(emitted(value)) for name, value in fields.items()})), True)
