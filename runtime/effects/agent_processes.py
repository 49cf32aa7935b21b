"""What an agent is called and started with, and its start under the permissions (O-4.17, O-7.1 to O-7.8, O-7.16, O-7.38).

Hands on `agent_settings` to the performers of agents (`agents.py`) and of mocks (`tests.py`); `agent_folder`, `require_acp` and
`launch` to the former. What each setting means is `agents/messages.py: AgentSettings`; what is said to a running process is
`agents/process.py` and `agents/acp.py`, nothing here writes to one.
"""

from __future__ import annotations

import os

from ..access.permissions import Denied
from ..access.roots import Unsupported
from ..agents.children import Missing, NotStarted, environment, start_process
from ..agents.messages import AgentSettings
from ..errors import CONNECTION, CallFailure, ConfigFailure, Origin, install_advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..agents.child import Child
    from ..running import EffectContext


def agent_settings(run: EffectContext, name: str) -> AgentSettings:
    """Return the settings of the agent `name`, which the program must declare, from its declaration, the manifest and the host
    together. Raises CallFailure (AgentError, InvalidRequest) when they do not fit."""
    declared = next(agent for agent in run.program.image.agents if agent.name == name)
    connector = declared.fields.get("connector")
    configured = run.host.agents.get(connector, {}) if type(connector) is str else {}
    try:
        return AgentSettings(name, declared.fields, dict(declared.decorators), configured)
    except ConfigFailure as failure:
        raise CallFailure("AgentError", "InvalidRequest", failure.message, model=name) from None


def require_acp(settings: AgentSettings) -> None:
    """Raise CallFailure (AgentError, Unsupported) when the SDK of ACP, which comes with an extra of its own, is not installed."""
    from importlib import import_module

    try:
        import_module("acp.meta")  # a folder that is called `acp` is no SDK
    except ModuleNotFoundError:
        message = f"the protocol \"acp\" needs its SDK, which is not installed: {install_advice('acp')} (the extra `acp`)"
        raise Origin(settings.name, settings.name, settings.timeout).failure("AgentError", "Unsupported", message) from None


def agent_folder(run: EffectContext, settings: AgentSettings) -> str:
    """Return the directory in which the process of an agent runs."""
    return os.path.join(run.host.project, settings.working_dir)


async def launch(run: EffectContext, settings: AgentSettings) -> Child:
    """Do what `started` does, which raises, with the journal of the run before the process, if the run has one."""
    if run.host.around_child is None:
        return await started(run, settings)
    child: Child = await run.host.around_child(settings.name, lambda: started(run, settings))
    return child


async def started(run: EffectContext, settings: AgentSettings) -> Child:
    """Start the process of an agent, if that is permitted (O-4.17, O-7.16), and return it; the caller must `stop` it.

    Raises CallFailure of AgentError: PermissionDenied when it is not permitted; SpawnFailed when no command is configured, a
    variable that it is to see is not set, or it does not start; Unsupported on a system where it could not be ended safely. Of a
    host's own `children` exceptions other than OSError and ValueError pass through."""
    origin = Origin(settings.name, settings.name, settings.timeout)
    if settings.command is None:
        message = f"no command is configured: [agents.{settings.connector}] of Concerto.toml, or the host, names it"
        raise origin.failure("AgentError", "SpawnFailed", message)
    try:
        env = environment(run, settings.name, settings.env)
        return await start_process(run, settings.name, settings.command, env, agent_folder(run, settings))
    except Missing as missing:
        message = f"{missing.message}, which the agent sees as {missing.name}"
        raise origin.failure("AgentError", "SpawnFailed", message) from None
    except Unsupported as unsupported:
        raise origin.failure("AgentError", "Unsupported", unsupported.message) from None
    except NotStarted as failure:
        raise origin.failure("AgentError", "SpawnFailed", failure.message, CONNECTION) from None
    except Denied as denied:
        raise CallFailure(
            "AgentError", "PermissionDenied", denied.message, model=settings.name, capability=denied.capability, flag=denied.flag
        ) from None
