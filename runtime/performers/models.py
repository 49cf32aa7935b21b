"""Model calls: the Result a call gives; every fault of provider, network or schema is an Err of it (O-0.9).

Must not know: the loop that asks, the command line.
"""

from __future__ import annotations

from functools import partial

from ...vm.bytecode.image import memories_of
from ...vm.effects import ModelLife
from ...vm.handles import message_array
from ...vm.panics import Panic
from ...vm.values import UNSET, ModelRef
from ..attached import conversation, run_id
from ..call_settings import system_text
from ..calls import answered, answered_with_schema
from ..errors import CallFailure
from ..model_instances import ModelInstance
from ..records import ROLES, Call, Msg
from ..settled import Settled
from ..system_blocks import context_block, knowledge_block
from ..translation import failed, response_value, succeeded, to_plain
from ..validators import validators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.bytecode.image import Model
    from ...vm.effects import Effect, ModelCall
    from ..call_services import Services
    from ..call_settings import CallSettings
    from ..memory.conversation import Conversation
    from ..offered import Offered
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    calls = run.state.get("models")
    if calls is None:
        calls = run.state["models"] = ModelCalls(run)
    if type(effect.payload) is ModelLife:
        return await calls.live(effect)
    return await calls.call(effect)  # what it gives is committed when the task goes on


class ModelCalls:
    """The models of one session and their instances, made when they are first used."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.models = {model.name: (number, model) for number, model in enumerate(run.program.image.models)}
        self.instances: dict[tuple[str, int], ModelInstance] = {}
        self.spawned = 0
        self.calls = 0

    # ------------------------------------------------------------ instances

    async def live(self, effect: Effect) -> Any:
        """`spawn` and `shutdown` (O-1.64, O-1.65)."""
        life: ModelLife = effect.payload
        if life.method == "shutdown":
            await self._instance(life.model, life.instance).shut_down()
            return None
        self.spawned += 1
        number = self.spawned
        model: Model = self.models[life.model][1]
        computed = None if model.computed is None else await self.run.call(effect, self.run.program.codes[model.computed], [])
        self.instances[life.model, number] = ModelInstance(self.run, model, computed, True)
        return ModelRef(life.model, number)

    def _instance(self, name: str, number: int) -> ModelInstance:
        """The declared model is made here; a number no session gave belongs to a session before this one."""
        made = self.instances.get((name, number))
        if made is None:
            index, model = self.models[name]
            computed = self.run.machine.configured.get(("models", index, "computed"))
            made = self.instances[name, number] = ModelInstance(self.run, model, computed, number != 0)
            made.is_down = number != 0
        return made

    # ------------------------------------------------------------ calls

    async def call(self, effect: Effect) -> Any:
        """An Err, or what appends the turn and gives the Ok."""
        call: ModelCall = effect.payload
        if call.method == "view":
            return await self._view(effect)
        self.calls += 1
        number = self.calls
        instance = self._instance(call.model, call.instance)
        try:
            return await instance.calling(self._call(effect, instance, number))
        except CallFailure as failure:
            return failed(failure)

    async def _call(self, effect: Effect, instance: ModelInstance, number: int) -> Any:
        call: ModelCall = effect.payload
        services = self._services(call.model).of_task(effect.task.path)
        settings = self._settings(instance, call)
        offered = await self._offered(effect, instance)
        if offered is not None:
            settings, services = settings.changed(tools=offered.definitions()), services.with_tools(offered)
        conversation = await self._conversation(effect, call)
        name = run_id(self.run, call.model, number, conversation)  # tells logs and traces which model ran
        after = conversation.fold if conversation is not None and conversation.folds else None
        if call.method == "stream":
            from ..streams import StreamedCall, begun

            streamed = StreamedCall(services, settings, call.prompt, conversation, name, "stream")
            streamed.serve = partial(_serve, self.run, offered, conversation)
            return await begun(self.run, effect, streamed, instance.began)
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
            validators=validators(self.run, effect, call.schema),
        )
        return Settled(lambda: committed(lambda: self.run.builder.value(validated().tree)), after)

    async def _view(self, effect: Effect) -> Any:
        """What the first request with this prompt would carry (M-6.12); nothing is sent, written or counted."""
        call: ModelCall = effect.payload
        instance = self._instance(call.model, call.instance)
        settings = self._settings(instance, call)
        user = Msg("user", call.prompt)
        try:
            conversation = await self._conversation(effect, call)
            if conversation is None:
                return message_array([*([] if settings.system is None else [Msg("system", settings.system)]), user])
            offered = bool(call.tools or (call.own_tools and instance.model.tools))
            head = await conversation.open(call.model, [user], system=settings.system, tools_offered=offered, by=settings.name)
            return message_array([*head, conversation.user(call.prompt)])
        except CallFailure as failure:
            raise Panic(failure.panic_code, failure.message) from None

    def _services(self, name: str) -> Services:
        """Those of the run; a mock stands in for the provider only (O-8.16)."""
        mock = self.run.state.get("mocks", {}).get(name)
        return self.run.services if mock is None else self.run.services.asking(mock)

    def _settings(self, instance: ModelInstance, call: ModelCall) -> CallSettings:
        """Those of the model, with what a Prompt replaces and what this call adds to the system message (O-1.76)."""
        settings = instance.settings().with_prompt(call.overrides)
        knowledge = instance.knowledge
        known = None if knowledge is None else knowledge_block(self.run.machine.stores.ledger(knowledge), call.prompt)
        context = None if call.context is UNSET else context_block(call.context)
        return settings.changed(system=system_text(settings.system, known, context))

    async def _offered(self, effect: Effect, instance: ModelInstance) -> Offered | None:
        """Static tools, unless excluded, then added ones (O-1.81, O-3.20, O-3.21)."""
        call: ModelCall = effect.payload
        program = self.run.program
        own = [program.handle(*row) for row in instance.model.tools] if call.own_tools else []
        handles = [*own, *call.tools]
        if not handles:
            return None
        from ..offered import Offered, offers_of

        offers = await offers_of(self.run, handles, instance.tools, call.model)
        return Offered(self.run, effect, offers, ModelRef(call.model, call.instance))

    async def _conversation(self, effect: Effect, call: ModelCall) -> Conversation | None:
        """with_memory, else the model's own memory, else none (O-3.24)."""
        attached = call.memory
        if attached is UNSET:
            model: Model = self.models[call.model][1]
            held = [self.run.program.memories[number] for number in memories_of(model)]
            attached = tuple(held) if len(held) > 1 else held[0] if held else None
        return None if attached is None else await conversation(self.run, effect, attached, call.auto, call.model, call.turn)


def _serve(run: Running, offered: Offered | None, conversation: Conversation | None, effect: Effect) -> None:
    """A stream outlives the effect that began it: tools and summarisers run for the task that waits for the next chunk."""
    if offered is not None:
        offered.serve(effect)
    if conversation is None:
        return
    if conversation.heard is not None:
        conversation.heard.effect = effect
    if conversation.summarise is not None:
        from ..summarising import summariser

        conversation.summarise = summariser(run, effect)


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
