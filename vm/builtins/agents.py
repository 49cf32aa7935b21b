"""What `listen` asks of its host: an effect with the handlers, which the host calls back (O-7.32 to O-7.36)."""

from __future__ import annotations

from .registry import declared_effect

declared_effect(
    "Agent", "listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> Any", effect="agent",
    clause="O-7.11", doc="An `execute` whose messages on the way go to handlers.",
)  # fmt: skip
