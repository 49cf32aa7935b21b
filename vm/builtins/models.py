"""Methods of models, of agents, of builders of either, and of streams (L-6.8.1 to L-6.8.4, O-1.64, O-3.19 to O-3.24, O-7.32).

A builder is a model or agent with what one call of it is to have: a memory, tools, a context, other settings. A method of a
builder gives a new builder; what sends a prompt makes an effect, a request that the host answers with the value of the call, and
returns SUSPENDED: the task waits. The machine knows one class of builders: `AgentBuilder` is what the compiler calls a builder of
an agent. The rows register themselves by `@handle` in the table of `registry`; the docstring of a row is what editors and the
reference show of the method.

Hands on its rows, and OF_MODELS_ALONE to the checker; the keys in `Program.language_methods` of the functions by which a host
reads a stream (READ_OUT), asks a model (ASK) and looks at a memory (SHOW): the first to the session, the others, with
TEXT_CHANNEL, to the API. Nothing is sent here: `runtime/effects/models.py` and `runtime/effects/agents.py` perform the effects. A
model, an agent and a builder are never changed, and a context or `meta` that a builder keeps is marked as shared; of a stream its
state is changed here and by the host. Bodies panic with P007 for an argument of another type, P015 for names and numbers of
arguments, P411 for what is no memory, tool or agent, for a method that the receiver has not and for `shutdown` of a declared
model, P013 for a value that a field does not take and for a stream that two walk, P452 for a limit below one token, P410 for a
stream that has not ended. Which fields `with` takes stands in `declaration_fields.py`.
"""

from __future__ import annotations

from ..declaration_fields import CALL_SETTINGS, LIMITS, MODEL, NUMBER, TEXT, TEXTS, TOOLS, WHOLE, WORD, hosted_fault
from ..interp.effects import AgentCall, ModelCall, ModelLife
from ..interp.tasks import SUSPENDED
from ..panics import Panic
from ..values import (
    NONE,
    UNSET,
    AgentRef,
    Array,
    IndexRef,
    ItemStream,
    Map,
    McpRef,
    MemoryRef,
    Message,
    ModelBuilder,
    Ok,
    Prompt,
    SchemaRef,
    Some,
    ToolRef,
    share,
    typeof,
    unkey,
)
from ..values.text import brief
from .binding import arguments_of, expect
from .registry import METHODS, associated_effect, handle, hidden, prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ..interp.effects import MachineContext
    from ..interp.linked import Site
    from ..interp.tasks import Task


_new = object.__new__

MODELS, AGENTS = ("ModelRef", "ModelBuilder"), ("AgentRef", "AgentBuilder")
OFFERED = (ToolRef, McpRef, MemoryRef, IndexRef)

# Signatures that models and agents share.
EXECUTE = "execute(prompt: Prompt) -> Result<Response, AgentError>"
EXECUTE_WITH_SCHEMA = "execute_with_schema<T>(prompt: Prompt, retry_message: String? = nil) -> Result<T, AgentError>"
WITH_MEMORY = "with_memory(m: Any, auto: Bool = true, tokens: Int? = nil, meta: Map<String, Any>? = nil)"


def builder_of(receiver: Any) -> ModelBuilder:
    """Return a builder as it is, and for a model or agent a builder that changes none of its settings."""
    return receiver if type(receiver) is ModelBuilder else ModelBuilder(receiver)


def of_model(receiver: Any, name: str) -> ModelBuilder:
    """Return what `builder_of` does, for the method `name` that only models have. Raises P411 for a builder of an agent, which
    has the class of a model's builder (O-3.26)."""
    builder = builder_of(receiver)
    if type(builder.model) is AgentRef:
        not_of_agents(name)
    return builder


def not_of_agents(name: str) -> NoReturn:
    """Raise P411 for a method that a model has and an agent has not."""
    raise Panic("P411", f"an agent has no method {name}")


# ---------------------------------------------------------------- calls


@handle(AGENTS, EXECUTE, clause="L-6.8.1", doc="Sends the prompt to the process and gives its answer.")
@handle(MODELS, EXECUTE, clause="L-6.8.1")
def execute(machine: MachineContext, task: Task, receiver: Any, prompt: Any) -> Any:
    """Sends the prompt and gives the reply."""
    return request(machine, task, builder_of(receiver), "execute", prompt)


@handle(
    AGENTS, EXECUTE_WITH_SCHEMA, clause="L-6.8.1", special="schema",
    doc="Sends the prompt to the process and gives the answer as a value of the schema.",
)  # fmt: skip
@handle(MODELS, EXECUTE_WITH_SCHEMA, clause="L-6.8.1", special="schema")
def execute_with_schema(
    machine: MachineContext, task: Task, receiver: Any, schema: Any, prompt: Any, retry_message: str | None
) -> Any:
    """Sends the prompt and gives the reply as a value of the schema."""
    name = expect(schema, SchemaRef, "SchemaRef").name
    return request(machine, task, builder_of(receiver), "execute_with_schema", prompt, name, retry_message)


# ---------------------------------------------------------------- builders


@handle(
    AGENTS, f"{WITH_MEMORY} -> AgentBuilder", clause="L-6.8.2",
    doc="A builder that records the turn in the memory; the agent never sees it.",
)  # fmt: skip
@handle(MODELS, f"{WITH_MEMORY} -> ModelBuilder", clause="L-6.8.2")
def with_memory(
    machine: MachineContext, task: Task, receiver: Any, memory: Any, auto: bool, tokens: int | None, meta: Any
) -> Any:
    """A builder whose conversation is the memory, or a list of them; with `auto: false` the call never writes."""
    # nil: without a memory, whatever the builder had. `tokens`: how many the memory may show to this call; `meta`: what is stored
    # with the turn. Raises P411 for what is no memory, P452 for a limit below one token.
    if type(memory) is not MemoryRef and memory is not None:
        memory = memory_list(memory)
    turn = None if tokens is meta is None else turn_settings(tokens, meta)
    if type(receiver) is ModelBuilder:
        return receiver.with_(memory, auto, turn=turn)
    builder = _new(ModelBuilder)  # stores without the call `ModelBuilder(…)`: builder chains are measured (V-8.3)
    builder.model = receiver
    builder.memory = memory
    builder.auto = auto
    builder.context = UNSET
    builder.tools = ()
    builder.without_tools = False
    builder.turn = turn
    builder.settings = None
    return builder


def memory_list(memories: Any) -> tuple[MemoryRef, ...]:
    """Return the elements of `with_memory([…])` (M-9.12). Raises P411 for what is no Array, for elements that are no memories,
    and for an empty one."""
    if type(memories) is not Array:
        raise Panic("P411", f"with_memory expects a Memory, found {typeof(memories)}")
    for item in memories.items:
        if type(item) is not MemoryRef:
            raise Panic("P411", f"with_memory expects memories, found {typeof(item)}")
    if not memories.items:
        raise Panic("P411", "with_memory expects at least one memory")
    return tuple(memories.items)


def turn_settings(tokens: int | None, meta: Map | None) -> tuple[int | None, Any]:
    """Return the pair of `tokens:` and `meta:` of with_memory, None for one that is not given (M-9.14, M-5.21). Raises P452 for a
    limit below one token."""
    if tokens is not None and tokens < 1:
        raise Panic("P452", f"with_memory: tokens is {tokens}; it is at least 1")
    return tokens, None if meta is None else share(meta)


@handle(MODELS, "with_tools(ts: Array<Any>) -> ModelBuilder", clause="L-6.8.2")
def with_tools(machine: MachineContext, task: Task, receiver: Any, tools: Array) -> Any:
    """A builder with further tools."""
    # Raises P411 for what is no tool, MCP server, memory or index, and as `of_model`.
    is_usual = type(receiver) is ModelBuilder and type(receiver.model) is not AgentRef  # without two calls: see V-8.3
    builder = receiver if is_usual else of_model(receiver, "with_tools")
    for tool in tools.items:
        if type(tool) not in OFFERED:
            raise Panic("P411", f"with_tools expects tools, found {typeof(tool)}")
    return builder.with_tools(tuple(tools.items))


@handle(MODELS, "without_tools() -> ModelBuilder", clause="L-6.8.2")
def without_tools(machine: MachineContext, task: Task, receiver: Any) -> Any:
    """A builder without the model's static tools; added ones stay."""
    return of_model(receiver, "without_tools").with_(without_tools=True)


@handle(AGENTS, "with_context(v: Any) -> AgentBuilder", clause="L-6.8.2", doc="A builder that sends the value along.")
@handle(MODELS, "with_context(v: Any) -> ModelBuilder", clause="L-6.8.2")
def with_context(machine: MachineContext, task: Task, receiver: Any, value: Any) -> Any:
    """A builder that sends the context."""
    return builder_of(receiver).with_(context=share(value))


# The types of the settings of one call.
KINDS = {
    NUMBER: "Float?", WHOLE: "Int?", TEXT: "String?", TEXTS: "Array<String>?", WORD: "String?", LIMITS: "Float?",
    TOOLS: "Array<Any>?",
}  # fmt: skip
SETTINGS = {name: KINDS[MODEL[name].kind] for name in CALL_SETTINGS}
WITH_NAMES = (*SETTINGS, "memory", "tools")
FIELDS = ", ".join(f"{name}: {kind} = nil" for name, kind in SETTINGS.items())


@handle(MODELS, f"with({FIELDS}, memory: Any = nil, tools: Array<Any>? = nil) -> ModelBuilder", clause="O-3.30", by_site=True)
def with_settings(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """A builder with other values of the model's fields for this call: `M.with(temperature: 0.2, memory: chat)`."""
    # nil leaves a field as it is, but `memory: nil` is a call without a memory. `tools` stand in place of the model's own. Raises
    # P015 for other names or too many arguments, P013 for a value that the field does not take, P411 for no memory or tool, P007
    # for `tools` that are no Array.
    builder = of_model(receiver, "with")
    values = arguments_of(site, arguments, WITH_NAMES, (UNSET,) * len(WITH_NAMES))
    named = {name: value for name, value in zip(WITH_NAMES, values, strict=True) if value is not UNSET}
    if "memory" in named:
        builder = with_memory(machine, task, builder, named.pop("memory"), True, None, None)
    tools = named.pop("tools", None)
    if tools is not None:
        builder = with_tools(machine, task, builder.with_(without_tools=True), expect(tools, Array, "Array"))
    settings = {name: setting(name, value) for name, value in named.items() if value is not None}
    return builder.with_(settings={**(builder.settings or {}), **settings}) if settings else builder


def setting(name: str, value: Any) -> Any:
    """Return a value for the field `name` of a model as plain data, Arrays as lists and Maps as dicts. Raises P013 for one that
    the field does not take."""
    plain = _plain(value)
    row = MODEL[name]
    if not row.takes(plain):
        fault = hosted_fault(plain) if row.kind == TOOLS else None
        raise Panic("P013", f"with: {f'`{name}` is {row.says}' if fault is None else fault[2]}, found {brief(value)}")
    return plain


def _plain(value: Any) -> Any:
    """Return Arrays as lists and Maps as dicts; anything else as it is."""
    if type(value) is Array:
        return [_plain(item) for item in value.items]
    if type(value) is Map:
        return {unkey(key): _plain(part) for key, part in value.items.items()}
    return value


# ---------------------------------------------------------------- calls of models alone


@handle(MODELS, "view(prompt: String) -> Array<Message>", clause="M-6.12")
def view(machine: MachineContext, task: Task, receiver: Any, prompt: str) -> Any:
    """The messages of the first request with this prompt; nothing is sent, and the memory is only read."""
    return request(machine, task, of_model(receiver, "view").with_(auto=False), "view", prompt)


@handle(MODELS, "stream(prompt: Prompt) -> Result<Stream, AgentError>", clause="L-6.8.3")
def stream(machine: MachineContext, task: Task, receiver: Any, prompt: Any) -> Any:
    """Sends the prompt and gives the reply as it arrives."""
    return request(machine, task, of_model(receiver, "stream"), "stream", prompt)


@handle(
    MODELS, "stream_with_schema<T>(prompt: Prompt, retry_message: String? = nil) -> Result<TypedStream<T>, AgentError>",
    clause="O-2.70", special="schema",
)  # fmt: skip
def stream_with_schema(
    machine: MachineContext, task: Task, receiver: Any, schema: Any, prompt: Any, retry_message: str | None
) -> Any:
    """Sends the prompt and gives the reply as parts of a value of the schema, as it arrives."""
    name = expect(schema, SchemaRef, "SchemaRef").name
    return request(machine, task, of_model(receiver, "stream_with_schema"), "stream_with_schema", prompt, name, retry_message)


@handle(MODELS, "chat(ms: Array<Message>) -> Result<Response, AgentError>", clause="L-6.8.4")
def chat(machine: MachineContext, task: Task, receiver: Any, messages: Array) -> Any:
    """Sends the messages as they are."""
    builder = of_model(receiver, "chat")
    sent = [expect(message, Message, "Message") for message in messages.items]
    last = sent[-1].f1 if sent else ""
    return request(machine, task, builder, "chat", last, messages=sent)


def refused_by_agents(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """Raise P411: a method that a model has and an agent has not."""
    not_of_agents(site.name)


def refused_by_builders(machine: MachineContext, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """Raise P411: a method that a model has and a builder, which stands for a model too, has not (L-3.3.20)."""
    raise Panic("P411", f"{site.name} of a builder: only a model has instances")


for _name in ("spawn", "shutdown"):
    hidden("ModelBuilder", f"{_name}(values: Any...) -> never", by_site=True)(refused_by_builders)
# Methods that models have and agents have not.
OF_MODELS_ALONE = tuple([name for kind, name in METHODS if kind == "ModelBuilder" and ("AgentBuilder", name) not in METHODS])
for _name in OF_MODELS_ALONE:
    hidden("AgentRef", f"{_name}(values: Any...) -> never", by_site=True)(refused_by_agents)


def request(
    machine: MachineContext,
    task: Task,
    builder: ModelBuilder,
    method: str,
    prompt: Any,
    schema: str | None = None,
    retry_message: str | None = None,
    messages: list[Any] | None = None,
) -> Any:
    """Suspend the task until the host has called the model or agent as the builder says; return SUSPENDED.

    `method` is the method that was called, `prompt` a String or Prompt, `schema` the name of the schema of the reply,
    `retry_message` as the method takes it, `messages` the whole conversation of `chat`. Raises P007 for a prompt that is neither
    String nor Prompt."""
    text, overrides, media = prompt_parts(prompt)
    attached: Any = builder.memory
    if isinstance(builder.model, AgentRef):
        agent_call = AgentCall(
            builder.model.name, text, attached, builder.auto, builder.context, schema, retry_message, turn=builder.turn,
            media=media,
        )  # fmt: skip
        machine.suspend(task, "agent", agent_call)
        return SUSPENDED
    if builder.settings is not None:  # what a Prompt says itself counts more
        overrides = {**builder.settings, **overrides}
    call = ModelCall(
        builder.model.name, method, text, overrides, attached, builder.auto, builder.context, schema, retry_message,
        builder.tools, not builder.without_tools,
        messages, builder.model.instance, builder.turn, media,
    )  # fmt: skip
    machine.suspend(task, "model", call)
    return SUSPENDED


def prompt_parts(prompt: Any) -> tuple[str, dict[str, Any], tuple[Any, ...]]:
    """Return the text of a String or Prompt, the settings that a Prompt replaces (those of `model`, `temperature` and
    `max_tokens` that are not nil, by these names), and its media. Raises P007 for anything else."""
    if type(prompt) is str:
        return prompt, {}, ()
    if type(prompt) is not Prompt:
        raise Panic("P007", f"expected Prompt, found {typeof(prompt)}")
    text, *settings, media = prompt.values()
    named = zip(("model", "temperature", "max_tokens"), settings, strict=True)
    return text, {name: value for name, value in named if value is not None}, tuple([share(one) for one in media.items])


@associated_effect(
    "Agent", "listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> Any", effect="agent",
    clause="O-7.11",
)  # fmt: skip
def listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> AgentCall:
    """An `execute` whose messages on the way go to handlers."""
    # Returns the request for the host, whose outcome is the agent's answer, as a value of `schema` unless that is nil. The host
    # calls the handlers back, each (type of message, closure, schema or nil) (O-7.32 to O-7.36). Raises P411 for what is no
    # agent, P007 for a prompt that is neither String nor Prompt.
    builder = builder_of(agent)
    if type(builder.model) is not AgentRef:
        raise Panic("P411", f"listen expects an agent, found {typeof(agent)}")
    text, _, media = prompt_parts(prompt)
    if retry_message is not None:
        expect(retry_message, str, "String")
    called = [(kind, closure, None if shape is None else shape.name) for kind, closure, shape in handlers.items]
    name = None if schema is None else schema.name
    return AgentCall(
        builder.model.name, text, builder.memory, builder.auto, builder.context, name, retry_message, called, builder.turn,
        media,
    )  # fmt: skip


# ---------------------------------------------------------------- instances


@handle("ModelRef", "spawn() -> ModelRef", clause="L-6.8.4")
def spawn(machine: MachineContext, task: Task, model: Any) -> Any:
    """A new instance: its fields are evaluated now, and its cache and the state of its tools are its own."""
    machine.suspend(task, "model", ModelLife(model.name, model.instance, "spawn"))
    return SUSPENDED


@handle("ModelRef", "shutdown() -> Nil", clause="L-6.8.4")
def shutdown(machine: MachineContext, task: Task, model: Any) -> Any:
    """Ends a spawned instance: running calls are cancelled, later ones give `Err(AgentError::Shutdown)`."""
    if not model.instance:  # the declared model is everybody's (O-1.65)
        raise Panic("P411", f"shutdown of the declared model {model.name}: only what `spawn` gives is shut down")
    machine.suspend(task, "model", ModelLife(model.name, model.instance, "shutdown"))
    return SUSPENDED


# ---------------------------------------------------------------- streams


@handle("TypedStream<T>", "response() -> Response", clause="O-2.74")
@handle("Stream", "response() -> Response", clause="L-6.8.3")
def response(machine: MachineContext, task: Task, reply: Any) -> Any:
    """The whole reply, once it has ended (P410 before): after `break` the text so far, with `finish` "cancelled"."""
    if reply.response is None:
        raise Panic("P410", "the stream has not ended: its response is there after the loop")
    return reply.response


@handle("TypedStream<T>", "items(field: String) -> ItemStream<Any>", clause="O-2.73")
def items(machine: MachineContext, task: Task, reply: Any, field: str) -> Any:
    """The elements of a field that is an Array, each once it is whole: `for row in s.items("rows")`."""
    return ItemStream(reply, field)


@handle("TypedStream<T>", "attempt() -> Int", clause="O-2.72")
def attempt(machine: MachineContext, task: Task, reply: Any) -> Any:
    """The number of the attempt that arrives, from 1: with each one the parts begin anew."""
    return reply.attempt


@handle("TypedStream<T>", "done() -> Result<T, AgentError>", clause="O-2.74")
def done(machine: MachineContext, task: Task, reply: Any) -> Any:
    """The value of the whole reply; waits for its end."""
    # Raises P013 while a loop waits for a part of this stream.
    if reply.outcome is not None:
        return share(reply.outcome)
    return _wait(machine, task, reply, ItemStream(reply, ""))


def _wait(machine: MachineContext, task: Task, reply: Any, wanted: Any) -> Any:
    """Suspend the task until the host has given what it wants of a reply; return SUSPENDED. Raises P013 when a task waits for
    it already."""
    if reply.walked:
        raise Panic("P013", "a stream is walked by one loop at a time")
    reply.walked = True
    machine.suspend(task, "stream", wanted)
    return SUSPENDED


@hidden("ItemStream<T>", "_chunk(values: Any...) -> Any", by_site=True)
@hidden("TypedStream<T>", "_chunk(values: Any...) -> Any", by_site=True)
@hidden("Stream", "_chunk(values: Any...) -> Any", by_site=True)
def next_chunk(machine: MachineContext, task: Task, reply: Any, site: Site, arguments: list[Any]) -> Any:
    """Return what a `for` asks for: Ok of a chunk, Ok(nil) at the end, or the Err that cut the reply; SUSPENDED while the reply
    goes on, then the host gives one of these. Raises P013 when another loop waits for a chunk of this stream."""
    stream = reply.stream if type(reply) is ItemStream else reply
    if stream.response is not None:
        failure, stream.failure = stream.failure, None
        return Ok(None) if failure is None else failure
    return _wait(machine, task, stream, reply)


@hidden("ItemStream<T>", "_leave(values: Any...) -> Any", by_site=True)
@hidden("TypedStream<T>", "_leave(values: Any...) -> Any", by_site=True)
@hidden("Stream", "_leave(values: Any...) -> Any", by_site=True)
def leave(machine: MachineContext, task: Task, reply: Any, site: Site, arguments: list[Any]) -> Any:
    """End the reply, since a loop was left early and nobody wants the rest (O-1.74). Return None if it has ended already, else
    SUSPENDED until the host has closed it."""
    stream = reply.stream if type(reply) is ItemStream else reply
    return None if stream.response is not None else machine.close_stream(task, stream)


# ---------------------------------------------------------------- what functions of Python give one by one


@hidden("HostStream<T>", "_chunk(values: Any...) -> Any", by_site=True)
def next_element(machine: MachineContext, task: Task, stream: Any, site: Site, arguments: list[Any]) -> Any:
    """Return what a `for` asks for: Ok of Some element, or Ok(None) at the end; SUSPENDED while Python works on it, then the host
    gives one of these, or the Err that ended the stream. Raises P013 when another loop waits for an element."""
    if stream.walked:
        raise Panic("P013", "a stream is walked by one loop at a time")
    if stream.ended:
        return Ok(NONE)
    if stream.items is not None:
        stream.asked += 1
        stream.ended = stream.asked > len(stream.items)
        return Ok(NONE if stream.ended else Some(share(stream.items[stream.asked - 1])))
    stream.asked += 1
    stream.walked = True
    machine.suspend(task, "extern_next", stream)
    return SUSPENDED


@hidden("HostStream<T>", "_leave(values: Any...) -> Any", by_site=True)
def leave_elements(machine: MachineContext, task: Task, stream: Any, site: Site, arguments: list[Any]) -> Any:
    """End a stream that a loop leaves early: nobody wants the rest. Return None if nothing has to be closed, else SUSPENDED until
    the host has closed it."""
    if stream.ended or stream.items is not None or not stream.asked:
        stream.ended = True
        return None
    stream.ended = True
    machine.suspend(task, "extern_close", stream)
    return SUSPENDED


# What a host does beside calling public functions: it reads a stream that one returned, its text as emits on TEXT_CHANNEL, then
# all of it (S-1.2), asks a public model (S-1.4), and looks at a memory (S-1.5).
TEXT_CHANNEL = "stream:text"
READ_OUT = ("StreamReads", "send")
ASK = ("StreamReads", "ask")
prelude(
    ASK[0], "ask(model: Any, messages: Any) -> Any", clause="S-1.4", doc="Asks a public model for a host.",
    source="model.chat(messages)",
)  # fmt: skip
SHOW = ("StreamReads", "show")
prelude(
    SHOW[0], "show(memory: Any) -> Any", clause="S-1.5", doc="Shows a host what a memory holds.", source="memory.messages()",
)  # fmt: skip
prelude(
    READ_OUT[0], "send(stream: Stream) -> Result<String, AgentError>", clause="S-1.2", doc="Tells the host the text of a stream.",
    source=f"""
        loop {{
            let piece = stream._chunk();
            if piece.is_err() {{ return piece; }}
            let chunk = piece.unwrap();
            if chunk == nil {{ return Ok(stream.response().text); }}
            emit("{TEXT_CHANNEL}", chunk.text);
        }}
    """,
)  # fmt: skip
