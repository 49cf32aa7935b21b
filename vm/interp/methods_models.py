"""Methods on handles: memories, models, agents, builders, streams and tools (V-6.2, O-3.4 to O-3.8, O-3.19 to O-3.24, O-4.6).

Each handler has the shape of a calling function of `dispatch`: (machine, task, receiver, site, arguments). Memory methods work on
the memory store the host handed in; builder methods give new builders; execute makes an effect. Must not know: providers.
"""

from __future__ import annotations

from ..builtins.registry import METHODS, prepared_by
from ..memory_steps import COMPUTED, VALUE
from ..panics import Panic
from ..values import (
    UNSET,
    AgentRef,
    Array,
    KeyedRef,
    Map,
    McpRef,
    MemoryRef,
    Message,
    ModelBuilder,
    Ok,
    Prompt,
    SchemaRef,
    ToolCall,
    ToolRef,
    check,
    from_json,
    share,
    typeof,
)
from ..values.casts import check as casts_check
from ..values.metering import FEW, look, paced, works_on
from .effects import AgentCall, MemoryUse, ModelCall, ModelLife, ServerUse, ToolUse
from .tasks import SUSPENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..values import PipelineRef
    from .effects import Running, StoredMessage
    from .linked import Site
    from .tasks import Task


ROLES = ("system", "user", "assistant")

def arguments_of(site: Site, arguments: list[Any], names: tuple[str, ...], defaults: tuple[Any, ...] = ()) -> list[Any]:
    """One value per name: positional first, then named, then `defaults`, which are those of the last names. P015 when they do
    not fit."""
    if not site.names:  # nearly every call
        missing = len(names) - len(arguments)
        if missing == 0:
            return arguments
        if 0 < missing <= len(defaults):
            return [*arguments, *defaults[-missing:]]
    return _named_arguments(site, arguments, names, defaults)


def _named_arguments(site: Site, arguments: list[Any], names: tuple[str, ...], defaults: tuple[Any, ...]) -> list[Any]:
    positional = len(arguments) - len(site.names)
    values = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    values.update(zip(names, arguments[:positional], strict=False))
    for name, value in zip(site.names, arguments[positional:], strict=True):
        if name not in names[positional:]:
            raise Panic("P015", f"{site.name} has no argument {name} here")
        values[name] = value
    if positional > len(names) or len(values) < len(names):
        raise Panic("P015", f"{site.name} expects {', '.join(names) or 'no arguments'}; given {len(arguments)}")
    return [values[name] for name in names]


def expect(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise Panic("P007", f"expected {name}, found {typeof(value)}")
    return value


# ---------------------------------------------------------------- memories


def log_of(machine: Running, memory: MemoryRef) -> Any:
    return machine.memories.at(memory) if memory.branch or memory.key else machine.memories[memory.name]


def memory_method(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    """What the memory does by the name of the method (M-6.2 to M-6.20)."""
    checked = _checked(site, arguments)
    if site.name == "pin":
        _check_role(checked[0])
    return memory_use(machine, task, memory, site.name, checked)


def memory_use(machine: Running, task: Task, memory: MemoryRef, method: str, arguments: list[Any]) -> Any:
    """At once where that can be, else an effect: the host has to wait."""
    memories = machine.memories
    look()
    try:
        return memories.at_once(memory, method, arguments, task)
    except memories.must_wait:
        machine.suspend(task, "memory", MemoryUse(memory, method, arguments))
        return SUSPENDED


def _checked(site: Site, arguments: list[Any]) -> list[Any]:
    """Every parameter of the method of a memory."""
    parameters = METHODS["Memory", site.name].parameters
    defaults = tuple([parameter.default for parameter in parameters if parameter.optional])
    values = arguments_of(site, arguments, tuple([parameter.name for parameter in parameters]), defaults)
    return [check(value, parameter.type) for value, parameter in zip(values, parameters, strict=True)]


def memory_append(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    plain = len(arguments) == 2 and not site.names
    role, content = arguments if plain else arguments_of(site, arguments, ("role", "content"))
    if type(content) is not str:
        expect(content, str, "String")
    if role not in ROLES:
        _check_role(role)
    memories = machine.memories
    if memory.name in memories.attended:
        return memory_use(machine, task, memory, "append", [role, content])
    try:
        memories.written(memory, task).append(role, content)
    except memories.failure as failure:
        raise memory_failure(failure) from None
    return None


def memory_messages(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    if memory.name in machine.memories.attended:
        return memory_use(machine, task, memory, "messages", [])
    try:
        return message_array(log_of(machine, memory).messages())
    except machine.memories.failure as failure:
        raise memory_failure(failure) from None


def memory_last(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    (count,) = arguments_of(site, arguments, ("n",))
    expect(count, int, "Int")
    if memory.name in machine.memories.attended:
        return memory_use(machine, task, memory, "last", [count])
    try:
        return message_array(log_of(machine, memory).last(count))
    except machine.memories.failure as failure:
        raise memory_failure(failure) from None


def memory_len(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    if memory.name in machine.memories.attended:
        return memory_use(machine, task, memory, "len", [])
    try:
        return len(log_of(machine, memory))
    except machine.memories.failure as failure:
        raise memory_failure(failure) from None


def memory_is_empty(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    if memory.name in machine.memories.attended:
        return memory_use(machine, task, memory, "is_empty", [])
    try:
        return len(log_of(machine, memory)) == 0
    except machine.memories.failure as failure:
        raise memory_failure(failure) from None


def memory_clear(machine: Running, task: Task, memory: MemoryRef, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return memory_use(machine, task, memory, "clear", [])


def keyed_method(machine: Running, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """`key`, `keys` and `erase` of a memory with `.per(…)`: arguments are named like its key parts (M-7.3)."""
    unknown = [name for name in site.names if name not in memory.names]
    if len(site.names) < len(arguments) or unknown:
        raise Panic("P015", f"{site.name} of {memory.name} takes {', '.join(memory.names)}, each by its name")
    values = dict(zip(site.names, arguments, strict=True))
    memories = machine.memories
    look()
    try:
        return memories.keyed_at_once(memory, site.name, values, task)
    except memories.must_wait:
        machine.suspend(task, "memory", MemoryUse(memory, site.name, [values]))
        return SUSPENDED


def _bounds_of(site: Site, arguments: list[Any]) -> dict[str, Any]:
    return dict(zip(site.names, arguments[len(arguments) - len(site.names) :], strict=True))


def computed_bounds(machine: Running, task: Task, memory: MemoryRef | KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """What the beginning of the program computes, as a map (M-2.14)."""
    given = machine.memories.bounds(memory.name, _bounds_of(site, arguments))
    return from_json(given)


def memory_value(machine: Running, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> Any:
    """A new memory (M-2.19); the argument before its bounds: the messages it begins with, or nil (M-2.20)."""
    if len(arguments) != 1 + len(site.names):
        raise Panic("P015", "a memory value is made from messages, or nil, and its bounds")
    messages = arguments[0]
    given = None if messages is None else [expect(one, Message, "Message") for one in expect(messages, Array, "Array").items]
    return machine.memories.made(memory.name, _bounds_of(site, arguments), given)


def keyed_initial(machine: Running, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> None:
    """`append` and `pin` of an initialisation statement, for every key (M-2.10)."""
    role, content = arguments_of(site, arguments, ("role", "content"))
    _check_role(role)
    machine.memories.initial(memory.name, role, expect(content, str, "String"), site.name == "pin")


def keyed_fact(machine: Running, task: Task, memory: KeyedRef, site: Site, arguments: list[Any]) -> None:
    """`remember` of an initialisation statement, for every key (M-2.10)."""
    machine.memories.initial_fact(memory.name, _checked(site, arguments))


def _check_role(role: Any) -> None:
    if expect(role, str, "String") not in ROLES:
        raise Panic("P408", f'unknown message role "{role}": expected system, user or assistant')


def memory_failure(failure: Any) -> Panic:
    """Of methods without Result (M-6.22)."""
    return Panic(failure.panic_code, str(failure))


def message_array(messages: Sequence[StoredMessage]) -> Array:
    """Copies, so that changing them changes no memory (M-6.24)."""
    works_on(len(messages))
    return Array([_message(message) for message in paced(messages, FEW)])


def _message(message: StoredMessage) -> Any:
    calls = [ToolCall(call.id, call.name, from_json(call.arguments or {})) for call in message.calls]
    return Message(message.role, message.content, Array(calls), message.call_id)


# ---------------------------------------------------------------- builders


def builder_of(receiver: Any) -> ModelBuilder:
    return receiver if type(receiver) is ModelBuilder else ModelBuilder(receiver)


def with_memory(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    if len(arguments) == 1 and type(arguments[0]) is MemoryRef and type(receiver) is not ModelBuilder and not site.names:
        return ModelBuilder(receiver, arguments[0])  # nearly every call
    memory, auto, tokens, meta = arguments_of(site, arguments, ("m", "auto", "tokens", "meta"), (True, None, None))
    if memory is not None and type(memory) is not MemoryRef:
        memory = memory_list(memory)
    if type(auto) is not bool:
        expect(auto, bool, "Bool")
    extra = None if tokens is None and meta is None else turn_settings(tokens, meta)
    if type(receiver) is ModelBuilder:
        return receiver.with_(memory, auto, turn=extra)
    return ModelBuilder(receiver, memory, auto, turn=extra)


def memory_list(given: Any) -> tuple[MemoryRef, ...]:
    """The elements of `with_memory([…])` (M-9.12)."""
    if type(given) is not Array:
        raise Panic("P411", f"with_memory expects a Memory, found {typeof(given)}")
    for item in given.items:
        if type(item) is not MemoryRef:
            raise Panic("P411", f"with_memory expects memories, found {typeof(item)}")
    if not given.items:
        raise Panic("P411", "with_memory expects at least one memory")
    return tuple(given.items)


def turn_settings(tokens: Any, meta: Any) -> tuple[int | None, Any]:
    """`tokens:` and `meta:` of with_memory (M-9.14, M-5.21)."""
    if tokens is not None and (expect(tokens, int, "Int") < 1):
        raise Panic("P452", f"with_memory: tokens is {tokens}; it is at least 1")
    return tokens, None if meta is None else share(expect(meta, Map, "Map"))


OFFERED = (ToolRef, McpRef, MemoryRef)


def with_tools(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    if len(arguments) == 1 and not site.names and type(arguments[0]) is Array:
        tools = arguments[0]  # nearly every call
    else:
        (given,) = arguments_of(site, arguments, ("ts",))
        tools = expect(given, Array, "Array")
    for tool in tools.items:
        if type(tool) not in OFFERED:
            raise Panic("P411", f"with_tools expects tools, found {typeof(tool)}")
    return (receiver if type(receiver) is ModelBuilder else ModelBuilder(receiver)).with_tools(tuple(tools.items))


def without_tools(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return builder_of(receiver).with_(without_tools=True)


def execute(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    (prompt,) = arguments_of(site, arguments, ("prompt",))
    return request(machine, task, builder_of(receiver), "execute", prompt, None, None)


def execute_with_schema(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """The compiler passes the schema handle as the first argument."""
    names = ("schema", "prompt", "retry_message")
    schema, prompt, retry_message = arguments_of(site, arguments, names, (None,))
    if retry_message is not None:
        expect(retry_message, str, "String")
    expect(schema, SchemaRef, "SchemaRef")
    return request(machine, task, builder_of(receiver), "execute_with_schema", prompt, schema.name, retry_message)


def chat(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    (messages,) = arguments_of(site, arguments, ("ms",))
    given = [expect(message, Message, "Message") for message in expect(messages, Array, "Array").items]
    last = given[-1].f1 if given else ""
    return request(machine, task, builder_of(receiver), "chat", last, None, None, given)


def stream(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    (prompt,) = arguments_of(site, arguments, ("prompt",))
    return request(machine, task, builder_of(receiver), "stream", prompt, None, None)


def view(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    """The memory is only read, as with `auto: false`."""
    (prompt,) = arguments_of(site, arguments, ("prompt",))
    return request(machine, task, builder_of(receiver).with_(auto=False), "view", expect(prompt, str, "String"), None, None)


def request(
    machine: Running,
    task: Task,
    builder: ModelBuilder,
    method: str,
    prompt: Any,
    schema: str | None,
    retry_message: str | None,
    messages: list[Any] | None = None,
) -> Any:
    text, overrides = prompt_parts(prompt)
    attached: Any = builder.memory
    if isinstance(builder.model, AgentRef):
        asked = AgentCall(
            builder.model.name, text, attached, builder.auto, builder.context, schema, retry_message, turn=builder.turn
        )
        machine.suspend(task, "agent", asked)
        return SUSPENDED
    call = ModelCall(
        builder.model.name, method, text, overrides, attached, builder.auto, builder.context, schema, retry_message,
        builder.tools, not builder.without_tools,
        messages, builder.model.instance, builder.turn,
    )  # fmt: skip
    machine.suspend(task, "model", call)
    return SUSPENDED


def with_context(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    (value,) = arguments_of(site, arguments, ("v",))
    return builder_of(receiver).with_(context=share(value))


def spawn(machine: Running, task: Task, model: Any, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    machine.suspend(task, "model", ModelLife(model.name, model.instance, "spawn"))
    return SUSPENDED


def shutdown(machine: Running, task: Task, model: Any, site: Site, arguments: list[Any]) -> Any:
    """Only of what was spawned: the declared model is everybody's (O-1.65)."""
    arguments_of(site, arguments, ())
    if not model.instance:
        raise Panic("P411", f"shutdown of the declared model {model.name}: only what `spawn` gives is shut down")
    machine.suspend(task, "model", ModelLife(model.name, model.instance, "shutdown"))
    return SUSPENDED


def refused_by_agents(machine: Running, task: Task, receiver: Any, site: Site, arguments: list[Any]) -> Any:
    raise Panic("P411", f"an agent has no method {site.name}")


def listen_call(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> AgentCall:
    """What `listen` asks of the host (O-7.32): an agent or builder of one, and the handlers as (type, closure, schema or nil)."""
    builder = builder_of(agent)
    if type(builder.model) is not AgentRef:
        raise Panic("P411", f"listen expects an agent, found {typeof(agent)}")
    text, _ = prompt_parts(prompt)
    if retry_message is not None:
        expect(retry_message, str, "String")
    given = [(kind, closure, None if shape is None else shape.name) for kind, closure, shape in handlers.items]
    name = None if schema is None else schema.name
    return AgentCall(
        builder.model.name, text, builder.memory, builder.auto, builder.context, name, retry_message, given, builder.turn
    )


prepared_by("Agent", "listen", listen_call)


def prompt_parts(prompt: Any) -> tuple[str, dict[str, Any]]:
    """The text of a String or Prompt, and the settings a Prompt replaces."""
    if type(prompt) is str:
        return prompt, {}
    if type(prompt) is not Prompt:
        raise Panic("P007", f"expected Prompt, found {typeof(prompt)}")
    text, *settings = prompt.values()
    named = zip(("model", "temperature", "max_tokens"), settings, strict=True)
    return text, {name: value for name, value in named if value is not None}


# ---------------------------------------------------------------- streams


def stream_next(machine: Running, task: Task, stream: Any, site: Site, arguments: list[Any]) -> Any:
    """What a `for` asks for: Ok of a chunk, Ok(nil) at the end, or the Err that cut the reply."""
    if stream.response is not None:
        failure, stream.failure = stream.failure, None
        return Ok(None) if failure is None else failure
    if stream.walked:
        raise Panic("P013", "a stream is walked by one loop at a time")
    stream.walked = True
    machine.suspend(task, "stream", stream)
    return SUSPENDED


def stream_leave(machine: Running, task: Task, stream: Any, site: Site, arguments: list[Any]) -> Any:
    """A loop is left early: the reply is not wanted any more (O-1.74)."""
    return None if stream.response is not None else machine.close_stream(task, stream)


def stream_response(machine: Running, task: Task, stream: Any, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    if stream.response is None:
        raise Panic("P410", "the stream has not ended: its response is there after the loop")
    return stream.response


# ---------------------------------------------------------------- tools


def tool_use(machine: Running, task: Task, tool: ToolRef, site: Site, arguments: list[Any]) -> Any:
    """The host runs it: the state of a tool is the session's (O-4.4)."""
    names = machine.program.tool_methods[tool.name, site.name]
    given = arguments_of(site, arguments, names, (UNSET,) * len(names))
    machine.suspend(task, "tool", ToolUse(tool.name, site.name, given))
    return SUSPENDED


def server_use(machine: Running, task: Task, server: McpRef, site: Site, arguments: list[Any]) -> Any:
    """A declared tool of an MCP server."""
    names = machine.program.server_methods[server.name, site.name]
    given = arguments_of(site, arguments, names, (UNSET,) * len(names))
    machine.suspend(task, "mcp", ServerUse(server.name, site.name, given))
    return SUSPENDED


def server_call(machine: Running, task: Task, server: McpRef, site: Site, arguments: list[Any]) -> Any:
    """`call`: any tool that the server offers (O-4.45)."""
    name, given = arguments_of(site, arguments, ("name", "arguments"), (Map({}),))
    machine.suspend(task, "mcp", ServerUse(server.name, expect(name, str, "String"), expect(given, Map, "Map")))
    return SUSPENDED


# ---------------------------------------------------------------- tasks


def task_cancel(machine: Running, task: Task, handle: Any, site: Site, arguments: list[Any]) -> Any:
    arguments_of(site, arguments, ())
    return machine.cancel_handle(task, handle)


def task_done(machine: Running, task: Task, handle: Any, site: Site, arguments: list[Any]) -> bool:
    arguments_of(site, arguments, ())
    return bool(handle.task.status == "done")


_TASK = {"cancel": task_cancel, "done": task_done}
_MEMORY = {
    "append": memory_append, "messages": memory_messages, "last": memory_last, "len": memory_len,
    "is_empty": memory_is_empty, "clear": memory_clear,
}  # fmt: skip
_MODEL = {
    "with_memory": with_memory, "with_tools": with_tools, "without_tools": without_tools,
    "with_context": with_context,
    "execute": execute, "execute_with_schema": execute_with_schema, "chat": chat, "stream": stream,
    "view": view,
}  # fmt: skip
_AGENT = {
    **_MODEL,
    **dict.fromkeys(("with_tools", "without_tools", "chat", "stream", "view"), refused_by_agents),
}  # fmt: skip
# `_chunk` and `_leave` are what the code of a `for` calls: no row offers them to a program.
_STREAM = {"response": stream_response, "_chunk": stream_next, "_leave": stream_leave}

HANDLERS: dict[tuple[str, str], Any] = {
    **{("Memory", name): memory_method for receiver, name in METHODS if receiver == "Memory"},
    **{("Memory", name): handler for name, handler in _MEMORY.items()},
    **{("KeyedMemory", name): keyed_method for name in ("key", "keys", "erase")},
    **{("KeyedMemory", name): keyed_initial for name in ("append", "pin")},
    ("KeyedMemory", "remember"): keyed_fact,
    ("KeyedMemory", VALUE): memory_value,
    **{(kind, COMPUTED): computed_bounds for kind in ("Memory", "KeyedMemory")},
    **{("Stream", name): handler for name, handler in _STREAM.items()},
    **{("Task", name): handler for name, handler in _TASK.items()},
    **{(kind, name): handler for kind in ("ModelRef", "ModelBuilder") for name, handler in _MODEL.items()},
    ("McpRef", "call"): server_call,
    ("ModelRef", "spawn"): spawn,
    ("ModelRef", "shutdown"): shutdown,
    **{("AgentRef", name): handler for name, handler in _AGENT.items()},
}


# ----------------------------------------------------------------
# `.run` of a pipeline, in the shape of the calling functions of `dispatch`, and what values become between stages (O-6.22).
#
# `.run` is one effect, whose performer runs the stages as functions of the program.


def _run(machine: Running, task: Task, ref: PipelineRef, site: Site, arguments: list[Any]) -> Any:
    (value,) = arguments_of(site, arguments, ("x",))
    program = machine.program
    entry = program.image.pipelines[program.pipelines.index(ref)]
    machine.suspend(task, "pipeline", (entry, share(fitting(value, program.descriptors[entry.input]))))
    return SUSPENDED


def fitting(value: Any, descriptor: Any) -> Any:
    """A value where that type is taken: what comes from behind Any is checked (P007), Ints become Floats."""
    return _widened(casts_check(value, descriptor), descriptor)


def _widened(value: Any, descriptor: Any) -> Any:
    """Ints as Floats where the type says so, in Arrays and Maps too; the same object when nothing changes."""
    if descriptor[0] == "float" and type(value) is int:
        return float(value)
    if type(value) is Array and _holds_floats(descriptor):
        items = [_widened(item, descriptor[1]) for item in value.items]
        return Array(items) if any(a is not b for a, b in zip(items, value.items, strict=True)) else value
    if type(value) is Map and _holds_floats(descriptor):
        entries = {key: _widened(item, descriptor[2]) for key, item in value.items.items()}
        return Map(entries) if any(entries[key] is not item for key, item in value.items.items()) else value
    return value


def _holds_floats(descriptor: Any) -> bool:
    while descriptor[0] in ("array", "map"):
        descriptor = descriptor[-1]
    return bool(descriptor[0] == "float")


PIPELINE_HANDLERS: dict[tuple[str, str], Any] = {("PipelineRef", "run"): _run}
