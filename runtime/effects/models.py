"""Performs the effects of models: calls, streams, `spawn` and `shutdown`, and `parse_schema`.

Hands on the performers to `table.py`, `committed` to the performer of agents, `ModelCalls` and `ModelInstance` to the session's
state. An effect is what the machine asks the session to do for a task; its payload is here a `ModelCall`, a `ModelLife`
(`vm/interp/effects.py`), the handle of a stream or, of `parse_schema`, a tuple. Every fault of provider, network or schema is an
Err of the call (O-0.9); a panic of a function of the program, such as a validator, ends the run. The algorithm of a call is
`calls/call.py`; here stands what it is called with.
"""

from __future__ import annotations

from functools import partial

from ...vm.builtins.indexes import DOCUMENTS_FOR_MODELS
from ...vm.builtins.memories import message_array
from ...vm.bytecode.image import fallbacks_of, memories_of
from ...vm.interp.effects import ModelLife
from ...vm.panics import Panic
from ...vm.values import UNSET, IndexRef, ItemStream, LedgerRef, Map, ModelRef
from ..calls.call import prepare_execute, prepare_execute_with_schema
from ..calls.reply_cache import ReplyCache
from ..calls.settings import Substitute, call_settings, context_block, knowledge_block, passages_block, system_text
from ..calls.streams import STREAMS
from ..connections import check_model
from ..errors import CallFailure, ConfigFailure, Origin
from ..loop import wait_until_done
from ..media import Unsent, media_parts
from ..records import ROLES, Call, Msg, Reply, failed, json_form, response_value, succeeded, to_plain
from ..schema.acceptance import Verdict, judge, program_validators
from ..schema.strategy import Plan
from ..schema.validation import schema_failure
from .conversations import call_conversation, drop_turns, run_id
from .runner import PendingCommit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from ...vm.bytecode.image import Model
    from ...vm.interp.effects import Effect, ModelCall
    from ..calls.services import Sender, Services
    from ..calls.settings import CallSettings
    from ..calls.streams import StreamedCall
    from ..media import MediaPart
    from ..memory.conversation import Conversation
    from ..running import EffectContext
    from ..tools.bindings import BoundTools
    from ..tools.tools import Tools


WITH_MEDIA = ("user", "tool")  # roles of messages that may have media (O-1.201)


class ModelInstance:
    """One declared model in a session, or one that `spawn` made of it: its settings, cache, tools and running calls (O-1.64,
    O-1.65).

    `computed_map` is the Map of those fields that are no constants, None when there are none and before the initialisation;
    `computed` has them by name, as values of the machine, without `knowledge`, which is the handle of a ledger or an index, or
    None. A spawned model (`is_spawned`) has a state of its own for each tool (`own_tools`); these, and `call_settings`, are None
    until `tools` and `settings` have made them. `jobs` are its calls on their way, `streams` its streams, perhaps with some that
    have ended; `is_down` after `shutdown`."""

    __slots__ = (
        "run", "model", "is_spawned", "own_tools", "computed_map", "computed", "knowledge", "call_settings", "jobs", "streams",
        "is_down",
    )  # fmt: skip

    def __init__(self, run: EffectContext, model: Model, computed: Any, is_spawned: bool) -> None:
        self.run = run
        self.model = model
        self.is_spawned = is_spawned
        self.own_tools: Tools | None = None
        self.computed_map = computed
        fields: dict[Any, Any] = computed.items if type(computed) is Map else {}
        self.knowledge: Any = fields.get("knowledge")
        self.computed = {name: value for name, value in fields.items() if name != "knowledge"}
        self.call_settings: CallSettings | None = None
        self.jobs: list[Any] = []
        self.streams: list[StreamedCall] = []
        self.is_down = False

    def tools(self) -> Tools:
        """Return the tools of the session, or this instance's own ones if it is spawned. The first call makes them."""
        from ..tools.tools import Tools

        if self.own_tools is None:
            self.own_tools = Tools(self.run) if self.is_spawned else Tools.of(self.run)
        return self.own_tools

    # ------------------------------------------------------------ settings

    def settings(self) -> CallSettings:
        """Return the settings of its calls, made at the first one (O-0.3). Raises CallFailure for fields that no call can use."""
        if self.call_settings is None:
            self.call_settings = self._settings()
        return self.call_settings

    def _settings(self) -> CallSettings:
        model = self.model
        fields = self._plain_fields()
        decorators = dict(model.decorators)
        self._check(fields, decorators)
        cache = ReplyCache(decorators["cache"], self.run.host.now) if "cache" in decorators else None
        return call_settings(model.name, fields, decorators, self.run.connections[model.connection], cache=cache)

    def _plain_fields(self) -> dict[str, Any]:
        try:
            return {**self.model.fields, **{name: to_plain(value) for name, value in self.computed.items()}}
        except TypeError as other:  # only the fields of a foreign image hold such a value
            message = f"model {self.model.name}: no field takes {other}"
            raise CallFailure("AgentError", "InvalidRequest", message, model=self.model.name) from None

    def _check(self, fields: dict[str, Any], decorators: dict[str, Any]) -> None:
        """Check what no compiler has seen: fields of a foreign image, and values that the program computes."""
        name = self.model.name
        try:
            check_model(name, fields, decorators)
            if self.model.connection not in self.run.connections:
                raise ConfigFailure("E4003", f"model {name}: unknown connection {self.model.connection}")
            if self.knowledge is not None and type(self.knowledge) not in (LedgerRef, IndexRef):
                raise ConfigFailure("E4004", f"model {name}: knowledge is a ledger or an index")
        except ConfigFailure as failure:
            raise CallFailure("AgentError", "InvalidRequest", failure.message, model=name) from None

    # ------------------------------------------------------------ calls on their way

    async def calling(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a call of this instance and return or raise what it gives. Raises CallFailure (O-1.65) when the instance is down
        already, or when the call was cancelled since it is shut down. When the caller is cancelled, so is the call."""
        if self.is_down:
            work.close()
            raise self._failure("Shutdown", "the instance is shut down")
        loop = self.run.work.loop
        job = loop.create_task(work)
        self.jobs.append(job)
        try:
            await wait_until_done(loop, job)
        finally:  # also when the caller is cancelled: the call must not run on without it
            self.jobs.remove(job)
            job.cancel()
            await wait_until_done(loop, job)
        if self.is_down and job.cancelled():
            raise self._failure("Cancelled", "the instance was shut down during the call")
        return job.result()

    def began(self, stream: StreamedCall) -> None:
        """Note a stream that has begun, which `shut_down` has to end."""
        self.streams = [open_ for open_ in self.streams if open_.stream.response is None]
        self.streams.append(stream)

    async def shut_down(self) -> None:
        """Cancel the running calls and streams, and return when nothing of them runs any more (O-1.65)."""
        self.is_down = True
        for job in self.jobs:
            job.cancel()
        for stream in self.streams:
            if stream.stream.response is None:
                stream.cut(self._failure("Cancelled", "the instance was shut down during the call"))
                await self.run.release(stream.stream.effect)
        for job in list(self.jobs):
            await wait_until_done(self.run.work.loop, job)

    def _failure(self, variant: str, message: str) -> CallFailure:
        return Origin(self.model.name, self.model.connection, 0).failure("AgentError", variant, message)


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Call a model, spawn or shut down an instance, and return and raise what `ModelCalls.call` or `ModelCalls.live` does."""
    calls = run.state.get("models")
    if calls is None:
        calls = run.state["models"] = ModelCalls(run)
    if type(effect.payload) is ModelLife:
        return await calls.live(effect)
    return await calls.call(effect)


class ModelCalls:
    """The models of one session, by name with their number in the image, and their instances, by name and number, which are made
    when they are spawned or first used; 0 is the number of the declared model. `calls` and `spawned` are counters: ids of runs
    and numbers of instances are made of them."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.models = {model.name: (number, model) for number, model in enumerate(run.program.image.models)}
        self.instances: dict[tuple[str, int], ModelInstance] = {}
        self.spawned = 0
        self.calls = 0

    # ------------------------------------------------------------ instances

    async def live(self, effect: Effect) -> Any:
        """Perform `spawn`, which computes the fields of a new instance and returns its handle, or `shutdown`, which returns nil
        when nothing of the instance runs any more (O-1.64, O-1.65). What the computing panics with passes through."""
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
        """Return an instance; 0 is the declared model. A number that this session has not given is that of a session before,
        whose instances are down."""
        instance = self.instances.get((name, number))
        if instance is None:
            index, model = self.models[name]
            computed = self.run.machine.configured.get(("models", index, "computed"))
            instance = self.instances[name, number] = ModelInstance(self.run, model, computed, number != 0)
            instance.is_down = number != 0
        return instance

    # ------------------------------------------------------------ calls

    async def call(self, effect: Effect) -> Any:
        """Perform one call: return an Err, or a PendingCommit that appends the turn and gives the Ok, for `stream` that of a
        Stream. `view` returns messages; it raises a panic (P451, P452) for a memory that fails, and for settings that no call can
        use. Raises panic P103 for a context, `meta` or arguments of tool calls beyond the limits on JSON, P414 for a mock
        without a reply, and that of a budget which vectors use up; what functions of the program panic with passes through."""
        call: ModelCall = effect.payload
        if call.method == "view":
            return await self._view(effect)
        self.calls += 1
        number = self.calls
        instance = self._instance(call.model, call.instance)
        try:
            return await instance.calling(self._call(effect, instance, number))
        except CallFailure as failure:
            drop_turns(self.run, [effect])  # it may have been refused before its conversation was opened
            return failed(failure)

    async def _call(self, effect: Effect, instance: ModelInstance, number: int) -> Any:
        call: ModelCall = effect.payload
        services = self._services(call.model).of_task(effect.task.path)
        settings = await self._settings(instance, call, effect)
        if instance.model.fields.get("fallback"):
            settings = settings.changed(fallback=self._substitutes(instance.model, call))
        tools = await self._tools(effect, instance)
        if tools is not None:
            settings, services = settings.changed(tools=tools.definitions()), services.with_tools(tools)
        conversation = await self._conversation(effect, call)
        media = _media_of(settings, call.media)
        name = run_id(self.run, call.model, number, conversation)  # tells logs and traces which model ran
        after = conversation.fold if conversation is not None and conversation.folds else None
        if call.method == "stream":
            from ..calls.streams import StreamedCall, begin_stream

            streamed = StreamedCall(services, settings, call.prompt, conversation, name, "stream", media=media)
            streamed.serve = partial(_serve, self.run, tools, conversation)
            return await begin_stream(self.run, effect, streamed, instance.began)
        if call.method == "stream_with_schema":
            from ..calls.streams import begin_stream
            from ..calls.typed_streams import TypedStreamedCall

            assert call.schema is not None
            schema = self.run.schemas[call.schema]
            typed = TypedStreamedCall(services, settings, call.prompt, conversation, name, "stream_with_schema", media=media)
            plan = Plan(schema, settings.structured, settings.connection)
            validators = program_validators(self.run, effect, call.schema)
            typed.expect(plan, call.retry_message, validators, self.run.builder)
            typed.serve = partial(_serve, self.run, tools, conversation)
            return await begin_stream(self.run, effect, typed, instance.began)
        if call.schema is None:
            messages = () if call.messages is None else _chat_messages(settings, call.messages)
            media = messages[-1].media if messages else media
            response = await prepare_execute(
                services, settings, call.prompt, conversation, run_id=name, messages=messages, media=media
            )
            return PendingCommit(lambda: committed(lambda: response_value(response())), after)
        validated = await prepare_execute_with_schema(
            services,
            settings,
            call.prompt,
            self.run.schemas[call.schema],
            conversation,
            run_id=name,
            retry_message=call.retry_message,
            validators=program_validators(self.run, effect, call.schema),
            media=media,
        )
        return PendingCommit(lambda: committed(lambda: self.run.builder.value(validated().tree)), after)

    async def _view(self, effect: Effect) -> Any:
        """Return the messages that the first request with this prompt would carry (M-6.12). Nothing is sent to the model, and no
        turn is stored; an embedder may be asked for vectors."""
        call: ModelCall = effect.payload
        instance = self._instance(call.model, call.instance)
        user = Msg("user", call.prompt)
        try:
            settings = await self._settings(instance, call, effect)
            conversation = await self._conversation(effect, call)
            if conversation is None:
                return message_array([*([] if settings.system is None else [Msg("system", settings.system)]), user])
            has_tools = bool(call.tools or (call.own_tools and instance.model.tools))
            head = await conversation.open(
                call.model, [user], system=settings.system, tools_offered=has_tools, by=settings.name
            )
            return message_array([*head, conversation.user(user)])
        except CallFailure as failure:
            raise Panic(failure.panic_code, failure.message) from None

    def _services(self, name: str) -> Services:
        """Return the services of the run. A mock replaces the provider only (O-8.16)."""
        mock = self.run.state.get("mocks", {}).get(name)
        return self.run.services if mock is None else self.run.services.asking(mock)

    async def _settings(self, instance: ModelInstance, call: ModelCall, effect: Effect) -> CallSettings:
        """Return the settings of the model with what a Prompt replaces and what this call adds to the system message (O-1.76)."""
        settings = instance.settings().of_call(call.overrides)
        facts = None if instance.knowledge is None else await self._facts(instance.knowledge, call.prompt, effect)
        context = None if call.context is UNSET else context_block(call.context)
        return settings.changed(system=system_text(settings.system, facts, context))

    async def _facts(self, knowledge: LedgerRef | IndexRef, prompt: str, effect: Effect) -> str | None:
        """Return the part of the system message that a ledger or an index gives for a prompt. CallFailure of an index."""
        if type(knowledge) is LedgerRef:
            return knowledge_block(self.run.machine.stores.ledger(knowledge), prompt)
        from ..search.session_indexes import Indexes

        hits = await Indexes.of(self.run).named(knowledge.name).found(effect, prompt, DOCUMENTS_FOR_MODELS)
        return passages_block([hit.text for hit in hits])

    def _substitutes(self, model: Model, call: ModelCall) -> list[Substitute]:
        """Return the models that may take over a call of `model`: those that it names, each with those that it names itself
        behind it, and each once (O-1.230)."""
        substitutes: dict[str, Substitute] = {model.name: Substitute(model.name, partial(self._take, model.name, call))}
        names = fallbacks_of(model)[::-1]
        while names:
            name = names.pop()
            if name not in substitutes:
                substitutes[name] = Substitute(name, partial(self._take, name, call))
                names += fallbacks_of(self.models[name][1])[::-1]
        return list(substitutes.values())[1:]

    def _take(self, name: str, call: ModelCall) -> tuple[CallSettings, Sender]:
        """Return the settings with which a declared model takes over a call, and what sends its requests. What the call sets
        holds for it too, except the id of a model, which is one of the other's."""
        overrides = {field: value for field, value in call.overrides.items() if field not in ("model", "base")}
        settings = self._instance(name, 0).settings().of_call(overrides)
        return settings, self._services(name).provider(settings.connection.name)

    async def _tools(self, effect: Effect, instance: ModelInstance) -> BoundTools | None:
        """Return the tools of a call: those of the model, unless excluded, then those it adds (O-1.81, O-3.20, O-3.21)."""
        call: ModelCall = effect.payload
        program = self.run.program
        own = [program.handle(*row) for row in instance.model.tools] if call.own_tools else []
        handles = [*own, *call.tools]
        if not handles:
            return None
        from ..tools.bindings import BoundTools, bind_tools

        bindings = await bind_tools(self.run, handles, instance.tools, call.model)
        return BoundTools(self.run, effect, bindings, ModelRef(call.model, call.instance))

    async def _conversation(self, effect: Effect, call: ModelCall) -> Conversation | None:
        """Return the conversation with the memories of `with_memory`, else with the model's own, else None (O-3.24)."""
        attached = call.memory
        if attached is UNSET:
            model: Model = self.models[call.model][1]
            own = [self.run.program.memories[number] for number in memories_of(model)]
            attached = tuple(own) if len(own) > 1 else own[0] if own else None
        return None if attached is None else await call_conversation(self.run, effect, attached, call.auto, call.model, call.turn)


def _serve(run: EffectContext, tools: BoundTools | None, conversation: Conversation | None, effect: Effect) -> None:
    """Make tools, callbacks and summarisers run for the task that waits for `effect`, the next chunk of a stream: it outlives the
    effect that began it."""
    if tools is not None:
        tools.serve(effect)
    if conversation is None:
        return
    conversation.task = effect.task.path
    if conversation.heard is not None:
        conversation.heard.effect = effect
    if conversation.summarise is not None:
        from .summarisers import summariser

        conversation.summarise = summariser(run, effect)


def _chat_messages(settings: CallSettings, values: list[Any]) -> list[Msg]:
    """Return the messages of `chat`. CallFailure unless the last one is the user's (O-1.71)."""
    for message in values:
        if message.f0 not in ROLES:
            raise settings.origin().invalid_request(f'unknown message role "{message.f0}": expected {", ".join(ROLES)}')
    if not values or values[-1].f0 != "user":
        raise settings.origin().invalid_request("chat takes messages of which the last one is the user's")
    for message in values:
        if message.f4.items and message.f0 not in WITH_MEDIA:
            text = f"media: only messages of the user, and results of tools, have media; this one is of role {message.f0}"
            raise settings.origin().invalid_request(text)
    return [
        Msg(m.f0, m.f1, [_call(call) for call in m.f2.items], m.f3, media=_media_of(settings, m.f4.items)) for m in values
    ]


def _media_of(settings: CallSettings, values: Sequence[Any]) -> Sequence[MediaPart]:
    """Return the parts of a message. CallFailure for a Media without content."""
    try:
        return media_parts(values, settings.connection)
    except Unsent as unsent:
        raise settings.origin().invalid_request(str(unsent)) from None


def _call(call: Any) -> Call:
    return Call(call.f0, call.f1, json_form(call.f2))


def committed(value: Callable[[], Any]) -> Any:
    """Run the commit of a call and return the Ok of its value, or the Err of a memory that could not store the turn (M-5.23).
    Lets MustWait through, for another try."""
    try:
        return succeeded(value())
    except CallFailure as failure:
        return failed(failure)


async def perform_schemas(run: EffectContext, effect: Effect) -> Any:
    """Perform `parse_schema<T>(text)`: judge a text like a reply, without a model (O-2.41). The payload is (name of the schema,
    text). Return the Ok of the value, or an Err of SchemaError. What a validator panics with passes through."""
    name, text = effect.payload
    outcome = await judge(run.schemas[name], Reply(text), program_validators(run, effect, name))
    if isinstance(outcome, Verdict):
        return succeeded(run.builder.value(outcome.tree))
    return failed(schema_failure(outcome, text))


async def perform_streams(run: EffectContext, effect: Effect) -> Any:
    """Wait for the next chunk of a stream (O-1.72 to O-1.75), and return and raise what `StreamedCall.next` does."""
    payload = effect.payload
    stream = payload.stream if type(payload) is ItemStream else payload
    call = run.state[STREAMS][stream.effect]
    try:
        return await call.next(effect)
    finally:
        call.stream.walked = False  # after a snapshot was read it is another object than `stream`
