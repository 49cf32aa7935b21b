"""Messages on the way to an answer: handlers of `listen`, and what nobody handles (O-7.33 to O-7.36).

Hands on `Listening`. Must not know: processes, who sends a message.
"""

from __future__ import annotations

import json

from ...vm.values import Err, Ok, from_json
from ...vm.values.json import to_json
from ..errors import Origin
from ..schema.json_text import compact_json
from ..schema.validation import Accepted
from ..schema.verdict import admitted
from ..validators import validators
from .messages import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import AgentCall, Effect
    from ..running import Running

UNHANDLED = "listen:unhandled"


class HandlerLeft(Exception):
    """A handler gave an Err: it is the outcome of the whole `listen` (O-7.35)."""

    def __init__(self, outcome: Err) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Listening:
    """The handlers of one call; none for a plain `execute`. They run one after another, as children of the task that waits."""

    def __init__(self, run: Running, effect: Effect) -> None:
        call: AgentCall = effect.payload
        self.run = run
        self.effect = effect
        self.agent = call.agent
        self.listens = call.handlers is not None

    def _handler(self, wanted: str) -> tuple[Any, str | None]:
        """What the effect has for messages of a type: a closure, and the schema of its parameter."""
        rows = {kind: (handler, schema) for kind, handler, schema in self.effect.payload.handlers or ()}
        return rows.get(wanted, (None, None))

    async def heard(self, message: dict[str, Any]) -> Any:
        """Plain data to send back, None for nothing."""
        handler, schema = self._handler(message["type"])
        if handler is None:
            self.run.runtime_emit(UNHANDLED, message)
            return None
        value = await self.run.call(self.effect, handler, [await self._argument(message, schema)])
        if type(value) is Err:
            raise HandlerLeft(value)
        return plain(value.value if type(value) is Ok else value)

    async def _argument(self, message: dict[str, Any], schema: str | None) -> Any:
        fields = fields_of(message)
        if schema is None:
            return from_json(fields)
        outcome = await admitted(self.run.schemas[schema], fields, validators(self.run, self.effect, schema))
        if isinstance(outcome, Accepted):
            return self.run.builder.value(outcome.tree)
        text = f'a message "{message["type"]}" does not fit {schema}: ' + "; ".join(violation.text for violation in outcome)
        raise Origin(self.agent, self.agent, 0).failure("AgentError", "Protocol", text, raw_line=compact_json(message))


def plain(value: Any) -> Any:
    """A value of the machine as JSON data."""
    return json.loads(to_json(value))
