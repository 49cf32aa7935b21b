"""Model calls: the Result a call gives; every fault of provider, network or schema is an Err of it (O-0.9).

Must not know: the loop that asks, the command line.
"""

from __future__ import annotations

from ...vm.values import UNSET
from ..attached import conversation, run_id
from ..call_settings import call_settings
from ..calls import answered, answered_with_schema
from ..errors import CallFailure, ConfigFailure
from ..field_checks import check_model
from ..records import ROLES, Call, Msg
from ..reply_cache import ReplyCache
from ..settled import Settled
from ..translation import failed, response_value, succeeded, to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...vm.bytecode.image import Model
    from ...vm.effects import Effect, ModelCall
    from ..call_services import Services
    from ..call_settings import CallSettings
    from ..memory.conversation import Conversation
    from ..running import Running
    from ..tools import Offered


async def perform(run: Running, effect: Effect) -> Any:
    calls = run.state.get("models")
    if calls is None:
        calls = run.state["models"] = ModelCalls(run)
    return await calls.call(effect)  # what it gives is committed when the task goes on


class ModelCalls:
    """The model calls of one session: settings of each model, made once, and their reply caches."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.models = {model.name: (number, model) for number, model in enumerate(run.program.image.models)}
        self.caches: dict[str, ReplyCache] = {}
        self.settings: dict[str, CallSettings] = {}
        self.calls = 0

    async def call(self, effect: Effect) -> Any:
        """An Err, or what appends the turn and gives the Ok."""
        call: ModelCall = effect.payload
        self.calls += 1
        number = self.calls
        services = self._services(call.model)
        try:
            settings = self._settings(call.model).with_prompt(call.overrides)
            offered = self._offered(effect, call)
            if offered is not None:
                settings, services = settings.changed(tools=offered.definitions()), services.with_tools(offered)
            conversation = self._conversation(effect, call)
            name = run_id(self.run, call.model, number, conversation)  # tells logs and traces which model ran
            after = conversation.fold if conversation is not None and conversation.folds else None
            if call.method == "stream":
                from ..streams import StreamedCall, begun

                streamed = StreamedCall(services, settings, call.prompt, conversation, name, "stream")
                if offered is not None:
                    streamed.serve = offered.serve
                return await begun(self.run, effect, streamed)
            if call.schema is None:
                messages = () if call.messages is None else _chatted(settings, call.messages)
                response = await answered(services, settings, call.prompt, conversation, run_id=name, messages=messages)
                return Settled(lambda: committed(lambda: response_value(response())), after)
            validated = await answered_with_schema(
                services,
                settings,
                call.prompt,
                self.run.schemas[call.schema],
                conversation,
                run_id=name,
                retry_message=call.retry_message,
            )
            return Settled(lambda: committed(lambda: self.run.builder.value(validated().tree)), after)
        except CallFailure as failure:
            return failed(failure)

    def _services(self, name: str) -> Services:
        """Those of the run; a mock stands in for the provider only (O-8.16)."""
        mock = self.run.state.get("mocks", {}).get(name)
        return self.run.services if mock is None else self.run.services.asking(mock)

    def _settings(self, name: str) -> CallSettings:
        """The settings of a model; its fields are evaluated once, at initialisation (O-0.3)."""
        if name not in self.settings:
            number, model = self.models[name]
            fields = {**model.fields, **self._configured(number)}
            decorators = dict(model.decorators)
            self._check(model, fields, decorators)
            if "cache" in decorators:
                self.caches[name] = ReplyCache(decorators["cache"], self.run.host.now)
            connection = self.run.connections[model.connection]
            self.settings[name] = call_settings(name, fields, decorators, connection, cache=self.caches.get(name))
        return self.settings[name]

    def _check(self, model: Model, fields: Mapping[str, Any], decorators: Mapping[str, Any]) -> None:
        """What no compiler has seen: fields of a foreign image, and values computed at initialisation."""
        try:
            check_model(model.name, fields, decorators)
            if model.connection not in self.run.connections:
                raise ConfigFailure("E4003", f"model {model.name}: unknown connection {model.connection}")
        except ConfigFailure as failure:
            raise CallFailure("AgentError", "InvalidRequest", failure.message, model=model.name) from None

    def _configured(self, number: int) -> dict[str, Any]:
        return {
            field: to_plain(value)
            for (section, entry, field), value in self.run.machine.configured.items()
            if section == "models" and entry == number
        }

    def _offered(self, effect: Effect, call: ModelCall) -> Offered | None:
        """Static tools, unless excluded, then added ones (O-1.81, O-3.20, O-3.21)."""
        image = self.run.program.image
        own = [image.tools[number].name for number in self.models[call.model][1].tools] if call.own_tools else []
        names = [*own, *call.tools]
        if not names:
            return None
        from ..tools import Offered, Tools

        return Offered(Tools.of(self.run), effect, names, call.model)

    def _conversation(self, effect: Effect, call: ModelCall) -> Conversation | None:
        """with_memory, else the model's own memory, else none (O-3.24)."""
        attached = call.memory
        if attached is UNSET:
            model: Model = self.models[call.model][1]
            attached = None if model.memory is None else self.run.program.memories[model.memory]
        return None if attached is None else conversation(self.run, effect, attached, call.auto, call.model, call.turn)


def _chatted(settings: CallSettings, given: list[Any]) -> list[Msg]:
    """The messages of a chat; the last one is the user's (O-1.71)."""
    for message in given:
        if message.f0 not in ROLES:
            raise settings.origin().invalid_request(f'unknown message role "{message.f0}": expected {", ".join(ROLES)}')
    if not given or given[-1].f0 != "user":
        raise settings.origin().invalid_request("chat takes messages of which the last one is the user's")
    return [Msg(m.f0, m.f1, [_call(call) for call in m.f2.items], m.f3) for m in given]


def _call(call: Any) -> Call:
    return Call(call.f0, call.f1, to_plain(call.f2))


def committed(value: Callable[[], Any]) -> Any:
    """The Ok, or the Err of a memory that could not store the turn (M-5.23)."""
    try:
        return succeeded(value())
    except CallFailure as failure:
        return failed(failure)
