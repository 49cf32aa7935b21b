"""What stands in for an agent in a test: scripted replies or messages in place of the process (O-8.12, O-8.16).

Must not know: who mocks, processes.
"""

from __future__ import annotations

from ..errors import ConfigFailure, Origin
from ..outside_text import clean_json
from ..providers.offline import MOCK
from ..providers.scripted import comes_within, scripted_reply
from .messages import ERROR, RESULT, Answer, object_answer, read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ..providers.scripted import Script
    from .process import Listener
    from .settings import AgentSettings

    Messages = Sequence[dict[str, Any]]


class ScriptedAgent:
    """`messages` are delivered in order at every call; without them the next reply of `script` is the answer. `exhausted` makes
    what is raised when there is none."""

    name = MOCK

    def __init__(
        self,
        settings: AgentSettings,
        script: Script,
        messages: Messages | None,
        sleep: Callable[[float], Awaitable[None]],
        exhausted: Callable[[], Exception],
    ) -> None:
        self.settings = settings
        self.origin = Origin(settings.name, settings.name, settings.timeout)
        self._script = script
        self._messages = None if messages is None else checked(messages)
        self._sleep = sleep
        self._exhausted = exhausted

    async def exchange(self, prompt: str, context: Any, listener: Listener) -> Answer:
        if self._messages is not None:
            return await self._delivered(self._messages, listener)
        scripted = self._script.take()
        if scripted is None:
            raise self._exhausted()
        if not await comes_within(self.settings.timeout, scripted, self._sleep):
            raise self.origin.timed_out()
        text = scripted_reply(scripted, self.origin, model=MOCK).text
        if not self.settings.json_output:
            return Answer(text)
        return object_answer(read_object(text) or {"type": RESULT, "text": text})

    async def _delivered(self, messages: Messages, listener: Listener) -> Answer:
        for message in messages[:-1]:
            await listener.heard(message)
        last = messages[-1]
        if last["type"] == ERROR:
            raise self.origin.failure("AgentError", "Failed", str(last.get("message", "")))
        return object_answer(last)


def checked(messages: Any) -> Messages:
    """ConfigFailure unless all are Maps with a String `type`, of which the last and no other is terminal."""
    if not isinstance(messages, list) or not messages:
        raise ConfigFailure("E4004", "`messages` is an Array of at least one Map")
    for index, message in enumerate(messages):
        kind = message.get("type") if isinstance(message, dict) else None
        if not isinstance(kind, str):
            raise ConfigFailure("E4004", f"message {index}: expected a Map with a String `type`")
        if (kind in (RESULT, ERROR)) != (index == len(messages) - 1):
            raise ConfigFailure("E4004", f'message {index}: the last one, and no other, is "{RESULT}" or "{ERROR}"')
    return [clean_json(message) for message in messages]
