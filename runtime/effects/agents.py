"""Performs calls of agents: `execute`, `execute_with_schema` and `listen` (O-7.9 to O-7.37). Every fault of an agent or its
settings is an Err of the call (O-0.9); a panic of a handler or validator of the program ends the run.

Hands on `perform` to `table.py`, and `AgentCalls` to the session's state, which keeps the number of its calls. An effect is what
the machine asks the session to do for a task; here its payload is an `AgentCall`. Settings and start of an agent are
`agent_processes.py`. A call of an agent goes through the algorithm of model calls (`calls/call.py`) with `AgentSender` of
`agents/calls.py` in place of a provider.
"""

from __future__ import annotations

import os

from ...vm.values import UNSET, from_json
from ..access.rights import declaring
from ..agents.calls import AgentSender, HandlerLeft, Listening, call_settings
from ..calls.call import prepare_execute, prepare_execute_with_schema
from ..errors import CallFailure
from ..host import model_text
from ..loop import asyncio_loop, gather
from ..media import Unsent, media_parts
from ..records import failed, json_form, response_value
from ..schema.acceptance import program_validators
from .agent_processes import agent_folder, agent_settings, launch, require_acp
from .conversations import call_conversation, drop_turns, run_id
from .models import committed
from .runner import PendingCommit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.interp.effects import AgentCall, Effect
    from ..agents.messages import AgentSettings
    from ..agents.process import AgentProcess
    from ..calls.responses import Response
    from ..media import MediaPart
    from ..memory.conversation import Conversation
    from ..running import EffectContext


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Call an agent. Return the Err of the call or of a handler (O-7.35), or a PendingCommit that appends the turn and gives the
    Ok, or an Err when the memory cannot store the turn. Raises panic P414 for a mock without a reply, P411 for a reply of
    one that ends no exchange, and P103 for a context, `meta` or a handler's value that is beyond the limits on JSON. What a
    handler, a validator or a function of the memory panics with passes through, and so does what a host's own `children` raises,
    but for OSError and ValueError, which make an Err."""
    calls: AgentCalls = run.state.setdefault("agents", None) or AgentCalls(run)
    run.state["agents"] = calls
    call: AgentCall = effect.payload
    if call.handlers is None:
        return await calls.call(effect)
    return await _listen(run, calls, effect)


async def _listen(run: EffectContext, calls: AgentCalls, effect: Effect) -> Any:
    """Perform `listen`: a call with handlers, and the emits of O-7.37 around it."""
    agent = effect.payload.agent
    started = run.host.now()
    run.runtime_emit("listen:start", {"agent": agent})
    outcome = await calls.call(effect)
    if type(outcome) is PendingCommit:
        run.runtime_emit("listen:complete", {"agent": agent, "duration_ms": round((run.host.now() - started) * 1000)})
    else:
        error = outcome.value
        run.runtime_emit("listen:error", {"agent": agent, "error": model_text(error)})
    return outcome


class AgentCalls:
    """The agents of one session: settings and process of each by its name, made at the first call that needs them (a mock needs
    no process). `calls` says how many calls have begun so far. The ids of runs are made of it, so a restored session must go on
    from the number that it had."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.settings: dict[str, AgentSettings] = {}
        self.processes: dict[str, AgentProcess] = {}
        self.calls = 0

    async def call(self, effect: Effect) -> Any:
        """Perform one call: return and raise what `perform` does, without the emits of `listen`."""
        call: AgentCall = effect.payload
        self.calls += 1
        number = self.calls
        try:
            settings = self._settings(call.agent)
            media = _media(settings, call.media)
            agent = self.run.state.get("mocks", {}).get(call.agent) or self._process(settings)
            context = () if call.context is UNSET else (json_form(call.context),)
            sender = AgentSender(agent, context, Listening(self.run, effect))
            services = self.run.services.asking(sender, "agent_calls")
            conversation = await self._conversation(effect, call)
            name = run_id(self.run, call.agent, number, conversation)
            after = conversation.fold if conversation is not None and conversation.folds else None
            if call.schema is None:
                response = await prepare_execute(
                    services, call_settings(settings), call.prompt, conversation, run_id=name, media=media
                )
                return PendingCommit(lambda: committed(lambda: _value(call, response())), after)
            validated = await prepare_execute_with_schema(
                services, call_settings(settings), call.prompt, self.run.schemas[call.schema], conversation,
                run_id=name, retry_message=call.retry_message, validators=program_validators(self.run, effect, call.schema),
                media=media,
            )  # fmt: skip
            return PendingCommit(lambda: committed(lambda: self.run.builder.value(validated().tree)), after)
        except CallFailure as failure:
            drop_turns(self.run, [effect])  # it may have been refused before its conversation was opened
            return failed(failure)
        except HandlerLeft as left:
            return left.outcome

    async def _conversation(self, effect: Effect, call: AgentCall) -> Conversation | None:
        """Return what records the turn. The agent never sees it: it has a conversation of its own (O-3.27)."""
        if call.memory is None or call.memory is UNSET:
            return None
        conversation = await call_conversation(self.run, effect, call.memory, call.auto, call.agent, call.turn)
        conversation.ask = None  # nobody would see the messages that it gives (M-5.15)
        return conversation

    def _settings(self, name: str) -> AgentSettings:
        if name not in self.settings:
            self.settings[name] = agent_settings(self.run, name)
        return self.settings[name]

    def _process(self, settings: AgentSettings) -> AgentProcess:
        if settings.name not in self.processes:
            self.processes[settings.name] = _process_of(declaring(self.run, "agents", settings.name), settings)
        return self.processes[settings.name]

    async def aclose(self) -> None:
        """End the processes of all agents, at the end of the session (O-7.13). The first exception of ending one, which only a
        process of a host's own `children` raises, is raised when the others have been ended."""
        failures: list[Exception] = []

        async def end(process: AgentProcess) -> None:
            try:
                await process.stop()
            except Exception as failure:  # `gather` would leave the others running
                failures.append(failure)

        # not `run.gather`, whose loop is that of the last call
        await gather(self.run.host.loop or asyncio_loop(), [end(process) for process in self.processes.values()])
        if failures:
            raise failures[0]


def _process_of(run: EffectContext, settings: AgentSettings) -> AgentProcess:
    """Return the process of an agent, not yet started. CallFailure where the SDK of its protocol is not installed."""
    if settings.speaks_acp:
        require_acp(settings)
        from ..agents.acp import AcpProcess
        from ..agents.files import AgentFiles
        from .files import session_files

        folder = os.path.abspath(agent_folder(run, settings))
        files = AgentFiles(run, session_files)
        if run.host.around_agent_files is not None:
            files = run.host.around_agent_files(settings.name, files)
        return AcpProcess(settings, lambda: launch(run, settings), folder, files)
    from ..agents.process import AgentProcess

    return AgentProcess(settings, lambda: launch(run, settings))


def _media(settings: AgentSettings, values: Sequence[Any]) -> Sequence[MediaPart]:
    """Return the parts of a prompt. CallFailure for a Media without content, and for any but to an agent that speaks ACP."""
    if values and not settings.speaks_acp:
        raise call_settings(settings).origin().invalid_request("media: an agent is sent text alone")
    try:
        return media_parts(values)
    except Unsent as unsent:
        raise call_settings(settings).origin().invalid_request(str(unsent)) from None


def _value(call: AgentCall, response: Response) -> Any:
    """Return the Response of `execute`, or the Map of `listen` (O-7.33)."""
    if call.handlers is None:
        return response_value(response)
    return from_json({"text": response.text} if response.data is None else response.data)
