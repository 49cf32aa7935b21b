"""What tests ask for: mocks, and the emits so far (O-8.9, O-8.11 to O-8.18).

A mock of an agent stands in for its process; a mock of a model is the provider of all its calls from now on. Must not know: the
test runner, the loop that asks.
"""

from __future__ import annotations

from ...vm.builtins.testing import AWAITED
from ...vm.panics import Panic
from ...vm.values import Array, Emit, McpRef, ToolRef, unkey
from ..errors import ConfigFailure
from ..providers.offline import ScriptedProvider
from ..providers.scripted import Script
from ..tools import MOCKS as TOOL_MOCKS
from ..translation import to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..agents.scripted import ScriptedAgent
    from ..records import Request
    from ..running import Running

ANSWERS = "emit_answers"  # what the session keeps: what answers awaited emits in the place of the host, by channel
EMITS = "test_emits"  # what the session keeps: the emits of the test that runs
MOCKS = "mocks"  # the provider that stands in, by model


async def perform(run: Running, effect: Effect) -> Any:
    if effect.kind == "test_emits":
        return Array([Emit(channel, value) for channel, value in run.state.get(EMITS, ())])
    name, config = effect.payload
    if type(name) in (ToolRef, McpRef):
        run.state.setdefault(TOOL_MOCKS, {})[name.name] = {unkey(key): value for key, value in config.items.items()}
        return None
    if name == AWAITED:
        run.state[ANSWERS] = {unkey(key): value for key, value in config.items.items()}
        return None
    run.state.setdefault(MOCKS, {})[name] = _standing_in(run, name, to_plain(config))
    return None


def _standing_in(run: Running, name: str, config: dict[str, Any]) -> ScriptedProvider | ScriptedAgent:
    model = next((model for model in run.program.image.models if model.name == name), None)
    try:
        script = _script(config)
        if model is None:
            return _agent(run, name, script, config)
    except ConfigFailure as failure:
        raise Panic("P411", f"mock {name}: {failure.message}") from None
    return ScriptedProvider(run.connections[model.connection], script, run.host.sleep, lambda request: _exhausted(name, request))


def _agent(run: Running, name: str, script: Script, config: dict[str, Any]) -> ScriptedAgent:
    from ..agents.scripted import ScriptedAgent
    from .agents import agent_settings

    return ScriptedAgent(
        agent_settings(run, name), script, config.get("messages"), run.host.sleep,
        lambda: Panic("P414", f"mock {name} has no reply left for a prompt"),
    )  # fmt: skip


def _script(config: dict[str, Any]) -> Script:
    """`tool_calls` answers the first request; then `responses` one each, or `response` or `error` every one (O-8.11)."""
    first = [{"tool_calls": config["tool_calls"]}] if "tool_calls" in config else []
    if "responses" in config:
        return Script([*first, *config["responses"]])
    return Script(first, {"error": config["error"]} if "error" in config else config.get("response"))


def _exhausted(name: str, request: Request) -> Panic:
    return Panic("P414", f"mock {name} has no reply left for request {request.id}")
