"""What `listen` asks of its host: an effect with the handlers, which the host calls back (O-7.32 to O-7.36)."""

from __future__ import annotations

from .registry import associated_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..effects import AgentCall


@associated_effect(
    "Agent", "listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> Any", effect="agent",
    clause="O-7.11",
)  # fmt: skip
def listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> AgentCall:
    """An `execute` whose messages on the way go to handlers."""
    from ..handles import listen_call  # which reads the complete tables

    return listen_call(agent, schema, prompt, retry_message, handlers)
