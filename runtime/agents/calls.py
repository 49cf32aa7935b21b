"""Calls of agents, which go the way of calls of models (O-2.47, O-3.27, O-7.9 to O-7.37).

Hands on to the performer of agents (`effects/agents.py`): `AgentSender`, which stands where a model's call has its provider;
`call_settings`; and `Listening`, the handlers of one call, with `HandlerLeft`. Hands on `ScriptedAgent`, the mock of an
agent, to the performer of mocks (`effects/tests.py`). The process of an agent is `process.py`; the algorithm of a call is
`calls/call.py`.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Err, Ok, from_json
from ...vm.values.errors import FOR_MODEL
from ...vm.values.text import cut_to
from ..access.secrets import clean_json
from ..calls.settings import CallSettings
from ..connections import ConnectionSettings
from ..errors import ConfigFailure, Origin
from ..host import for_model
from ..providers.base import Provider
from ..providers.offline import MOCK, comes_within, scripted_reply
from ..records import Reply, json_form
from ..schema.acceptance import accept_data, program_validators
from ..schema.lenient_json import compact_json
from ..schema.validation import Accepted
from .messages import (
    ERROR,
    RESULT,
    AgentFailed,
    Answer,
    ProtocolBroken,
    Unanswered,
    answer_of,
    failure_text,
    message_fields,
    object_answer,
    read_object,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any, Protocol

    from ...vm.interp.effects import AgentCall, Effect
    from ..media import MediaPart
    from ..providers.offline import Script
    from ..records import Request
    from ..running import EffectContext
    from .messages import AgentSettings
    from .process import Listener


if TYPE_CHECKING:
    class Exchanging(Protocol):
        """The process of an agent, or its mock."""

        name: str

        async def exchange(
            self, prompt: str, context: Any, listener: Listener, media: Sequence[MediaPart] = ()
        ) -> Answer:
            """Send one prompt and return the answer; `context` is as in `messages.prompt_lines`. Raises CallFailure, what the
            listener raises and, of a mock, a Panic."""


class AgentSender(Provider):
    """An agent as the provider of a call, with the agent's `name`. It sends only the last message, the user's: an agent has a
    memory of its own. `context` is a tuple with the plain data of the context, or an empty one. `send` raises CallFailure, what
    the listener raises (`Listening.on_message`) and, of a mock, what its `exhausted` gives and panic P411. An agent does not
    stream, embed or lower requests."""

    unmetered = True

    def __init__(self, agent: Exchanging, context: Any, listener: Listener) -> None:
        self.agent = agent
        self.name = agent.name
        self.context = context
        self.listener = listener

    async def send(self, request: Request) -> Reply:
        last = request.messages[-1]
        answer = await self.agent.exchange(last.content, self.context, self.listener, last.media)
        return Reply(answer.text, model=self.name, data=answer.data)


def call_settings(agent: AgentSettings) -> CallSettings:
    """Return the settings of an agent's call: it has no parameters and no tools, in place of a connection a stand-in of the
    provider `offline`, and a schema stands in the prompt."""
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
        cache_prompt=False,
        hosted=(),
        log_channel=agent.log_channel,
        cache=None,
        is_once=False,
        fallback=(),
        fallback_on=(),
    )


UNHANDLED = "listen:unhandled"  # the channel for messages without a handler (O-7.36)


class HandlerLeft(Exception):
    """A handler returned an Err; it is `outcome`, the result of the whole `listen` (O-7.35)."""

    def __init__(self, outcome: Err) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Listening:
    """The handlers of one call of `agent` (none for a plain `execute`), as a `Listener` of `process.py`; `listens` says whether
    the call is a `listen`. They run one after another, as children of the task that waits for `effect`, the call (O-7.33 to
    O-7.36)."""

    def __init__(self, run: EffectContext, effect: Effect) -> None:
        call: AgentCall = effect.payload
        self.run = run
        self.effect = effect
        self.agent = call.agent
        self.listens = call.handlers is not None

    def _handler(self, message_type: str) -> tuple[Any, str | None]:
        """Return the closure for messages of a type, and the name of the schema of its parameter; None for each that there is
        none of."""
        rows = {kind: (handler, schema) for kind, handler, schema in self.effect.payload.handlers or ()}
        return rows.get(message_type, (None, None))

    def handles(self, message_type: str) -> bool:
        return self._handler(message_type)[0] is not None

    async def ask(self, channel: str, payload: dict[str, Any]) -> Any:
        """Ask whoever answers awaited emits; return plain data. That nobody has answered stands in the log, and is Unanswered.
        Raises CallFailure (AgentError, Failed) where who answers fails, and panic P103 for an answer beyond the limits on
        JSON."""
        answer = await self.run.ask(self.effect, channel, payload)
        if type(answer) is not Err:
            return json_form(answer.value)
        error = answer.value
        if error.variant == "HandlerFailed":
            fault = f"the answer on {channel}: {error.message}"
            less = for_model(error)  # of what the host's own code raised, models are told less
            told = {FOR_MODEL: f"{self.agent}: the answer on {channel}: {less[FOR_MODEL]}"} if less else {}
            raise Origin(self.agent, self.agent, 0).failure("AgentError", "Failed", fault, **told)
        way = 'a handler "request_permission" of `listen` answers too'
        self.run.warn(f"agent {self.agent} asks for a permission: {error.message}; it was refused: {way}")
        raise Unanswered(error.variant == "Timeout")

    async def on_message(self, message: dict[str, Any]) -> Any:
        """Run the handler of a message; return plain data to send back, None for nothing. A message without a handler is
        emitted on UNHANDLED. Raises HandlerLeft; CallFailure (AgentError, Protocol) for a message that does not fit the schema
        of the handler; and panic P103 for a value that is beyond the limits on JSON. A panic of the handler, or of a validator,
        ends the run."""
        handler, schema = self._handler(message["type"])
        if handler is None:
            self.run.runtime_emit(UNHANDLED, message)
            return None
        value = await self.run.call(self.effect, handler, [await self._argument(message, schema)])
        if type(value) is Err:
            raise HandlerLeft(value)
        return json_form(value.value if type(value) is Ok else value)

    async def _argument(self, message: dict[str, Any], schema: str | None) -> Any:
        fields = message_fields(message)
        if schema is None:
            return from_json(fields)
        outcome = await accept_data(self.run.schemas[schema], fields, program_validators(self.run, self.effect, schema))
        if isinstance(outcome, Accepted):
            return self.run.builder.value(outcome.tree)
        text = f'a message "{message["type"]}" does not fit {schema}: ' + "; ".join(violation.text for violation in outcome)
        raise Origin(self.agent, self.agent, 0).failure("AgentError", "Protocol", text, raw_line=compact_json(message))


if TYPE_CHECKING:
    Messages = Sequence[dict[str, Any]]


class ScriptedAgent:
    """The mock of an agent (O-8.12, O-8.16). `messages` are delivered in order at every call; when they are None the next reply
    of `script` is the answer. `exhausted` returns the exception that is raised when there is none. `sleep` takes seconds.
    The constructor raises ConfigFailure as `scripted_messages`. `exchange` raises CallFailure, the exception of `exhausted`,
    panic P411 for a reply that ends no exchange, and what the listener raises."""

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
        self._messages = None if messages is None else scripted_messages(messages)
        self._sleep = sleep
        self._exhausted = exhausted

    async def exchange(self, prompt: str, context: Any, listener: Listener, media: Sequence[MediaPart] = ()) -> Answer:
        if self._messages is not None:
            return await self._deliver(self._messages, listener)
        scripted = self._script.take()
        if scripted is None:
            raise self._exhausted()
        if not await comes_within(self.settings.timeout, scripted, self._sleep):
            raise self.origin.timed_out()
        return self._answer(scripted_reply(scripted, self.origin, model=MOCK).text, listener.listens)

    def _answer(self, text: str, listens: bool) -> Answer:
        """Return the answer that a reply is. It is read as the line of a process is, but for a text that is no JSON object where
        an agent would have to write one: that is the text of its answer. Panic P411 for a message that ends no exchange."""
        as_json = self.settings.json_output
        message = read_object(text) if listens or as_json else None
        if message is None and as_json:
            return object_answer({"type": RESULT, "text": text})
        try:
            answer = answer_of(text, message, listens=listens, as_json=as_json)
        except AgentFailed as failed:
            raise self.origin.failure("AgentError", "Failed", failed.message) from None
        except ProtocolBroken as broken:
            raise self.origin.failure("AgentError", "Protocol", broken.args[0], raw_line=text) from None
        if answer is None:
            what = f"a reply ends an exchange, and this one does not: {cut_to(text, 60)}"
            raise Panic("P411", f"mock {self.settings.name}: {what}; what comes before the last is given in `messages`")
        return answer

    async def _deliver(self, messages: Messages, listener: Listener) -> Answer:
        for message in messages[:-1]:
            await listener.on_message(message)
        last = messages[-1]
        if last["type"] == ERROR:
            raise self.origin.failure("AgentError", "Failed", failure_text(last))
        return object_answer(last)


def scripted_messages(messages: Any) -> Messages:
    """Return the messages of a mock, cleaned. Raises ConfigFailure (E4004) unless they are a list of Maps with a String `type`,
    of which the last one, and no other, ends an exchange (RESULT or ERROR)."""
    if not isinstance(messages, list) or not messages:
        raise ConfigFailure("E4004", "`messages` is an Array of at least one Map")
    for index, message in enumerate(messages):
        kind = message.get("type") if isinstance(message, dict) else None
        if not isinstance(kind, str):
            raise ConfigFailure("E4004", f"message {index}: expected a Map with a String `type`")
        if (kind in (RESULT, ERROR)) != (index == len(messages) - 1):
            raise ConfigFailure("E4004", f'message {index}: the last one, and no other, is "{RESULT}" or "{ERROR}"')
    return [clean_json(message) for message in messages]
