"""The hooks of a model around the calls of its tools (O-4.30, O-4.31).

Hands on `Hooks`. Must not know: tools, messages, the loop around replies.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.values import EnumValue, ErrorValue, ToolCall, from_json, typeof
from .host_failures import for_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.effects import Effect
    from ..vm.values import ModelRef
    from .call_settings import CallSettings
    from .records import Call
    from .running import Running

ALLOW = ("Allow", None)


class Hooks:
    """Those of one model, for one call of it."""

    def __init__(self, run: Running, effect: Effect, model: ModelRef) -> None:
        self.run = run
        self.effect = effect
        self.model = model
        self.on_call = run.program.methods.get((f"{model.name}.", "on_tool_call"))
        self.on_error = run.program.methods.get((f"{model.name}.", "on_tool_error"))

    async def before(self, call: Call) -> tuple[str, Any]:
        """What to do with a call: the name of the action and what it holds."""
        if self.on_call is None:
            return ALLOW
        seen = ToolCall.of((call.id, call.name, from_json(call.arguments or {})))
        return _action(await self.run.call(self.effect, self.on_call, [self.model, seen]))

    async def again(self, settings: CallSettings, call: Call, error: ErrorValue, runs: int) -> bool:
        """Whether a failed call runs once more; `runs`: how often it did so. A CallFailure where the hook ends the model call."""
        if self.on_error is None:
            return False
        name, times = _action(await self.run.call(self.effect, self.on_error, [self.model, call.name, error]))
        if name == "Fail":
            raise settings.origin().failure("AgentError", "Failed", error.message, cause=error, **for_model(error))
        return name == "Retry" and type(times) is int and runs < times


def _action(value: Any) -> tuple[str, Any]:
    if type(value) is not EnumValue:  # only the hook of a foreign image gives such a value
        raise Panic("P007", f"expected the action of a hook, found {typeof(value)}")
    return value.decl.variants[value.variant].name, value.payload[0] if value.payload else None
