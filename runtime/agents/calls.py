"""An agent in the place of a provider: its calls go the way of models (O-2.47, O-3.27, O-7.10, O-7.12).

Hands on `AgentSender` and the settings of its calls. Must not know: processes, the machine.
"""

from __future__ import annotations

from ..call_settings import CallSettings
from ..connections import ConnectionSettings
from ..providers.base import Provider
from ..records import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..records import Request
    from .messages import Answer
    from .process import Listener
    from .settings import AgentSettings

    class Exchanging(Protocol):
        """The process of an agent, or what stands in for it."""

        name: str

        async def exchange(self, prompt: str, context: Any, listener: Listener) -> Answer: ...


class AgentSender(Provider):
    """Sends the text of the last user message alone: an agent has a memory of its own."""

    unmetered = True

    def __init__(self, agent: Exchanging, context: Any, listener: Listener) -> None:
        self.agent = agent
        self.name = agent.name
        self.context = context
        self.listener = listener

    async def send(self, request: Request) -> Reply:
        answer = await self.agent.exchange(request.messages[-1].content, self.context, self.listener)
        return Reply(answer.text, model=self.name, data=answer.data)


def call_settings(agent: AgentSettings) -> CallSettings:
    """No connection, no parameters; a schema stands in the prompt."""
    return CallSettings(
        name=agent.name,
        connection=ConnectionSettings(agent.name, {"provider": "offline"}),
        model=agent.name,
        system=None,
        params={},
        tools=(),
        max_tool_rounds=0,
        policy=agent.policy,
        schema_attempts=agent.schema_attempts,
        timeout=agent.timeout,
        structured="prompt",
        log_channel=agent.log_channel,
        cache=None,
    )
