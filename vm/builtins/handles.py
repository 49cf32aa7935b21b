"""Methods of tools, MCP servers, pipelines and tasks (L-6.8.6, O-4.6, O-4.45, O-6.5, O-6.22).

The methods of a tool, and the declared ones of a server, are those of its declaration, so dispatch calls `tool_use` and
`server_use` for them and no row stands here. A handle is a value that stands for what the program declares, or for a task that it
has started. Hands on, besides its rows, `tool_use` and `server_use`; `fitting` to the performer of pipelines
(`runtime/effects/pipelines.py`); and `READING` to sessions. The docstring of a decorated function is its text in the reference.
Nothing is performed here: a body makes an effect, a request to the host, and returns SUSPENDED, by which the task waits, and the
answer becomes the value of the call; only `done` of a task answers at once, and `cancel` where no effect has to be ended first.
"""

from __future__ import annotations

from ..interp.effects import ServerRead, ServerUse, ToolUse
from ..interp.tasks import SUSPENDED
from ..values import UNSET, Array, Map, McpRef, PipelineRef, ToolRef, check, share
from .binding import arguments_of
from .registry import handle, hidden, key_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..interp.effects import MachineContext
    from ..interp.linked import Site
    from ..interp.tasks import Task


# ---------------------------------------------------------------- tools and MCP servers


def tool_use(machine: MachineContext, task: Task, tool: ToolRef, site: Site, arguments: list[Any]) -> Any:
    """Return the Invoke of a method that runs within the slice; else suspend the task until the host has run it, since the state
    of a tool is the session's (O-4.4), and return SUSPENDED. An argument that is left out is UNSET in the effect. Raises P015 for
    arguments that the method does not have, and what the host's sink of emits raises."""
    names = machine.program.tool_methods[tool.name, site.name]
    if len(arguments) == len(names) and not site.names:
        values = arguments
    else:
        values = arguments_of(site, arguments, names, (UNSET,) * len(names))
    call = machine.enter_tool(task, tool.name, site.name, values)
    if call is not None:
        return call
    machine.suspend(task, "tool", ToolUse(tool.name, site.name, values))
    return SUSPENDED


def server_use(machine: MachineContext, task: Task, server: McpRef, site: Site, arguments: list[Any]) -> Any:
    """Suspend the task until the server has answered a call of a declared tool. Return SUSPENDED. Arguments and errors as
    `tool_use`."""
    names = machine.program.server_methods[server.name, site.name]
    values = arguments_of(site, arguments, names, (UNSET,) * len(names))
    machine.suspend(task, "mcp", ServerUse(server.name, site.name, values))
    return SUSPENDED


@handle("McpRef", "call(name: String, arguments: Map<String, Any> = {}) -> Result<Any, ToolError>", clause="O-4.45")
def call(machine: MachineContext, task: Task, server: McpRef, name: str, arguments: Map) -> Any:
    """Calls a tool that the server offers."""
    machine.suspend(task, "mcp", ServerUse(server.name, name, arguments))
    return SUSPENDED


# What a server has besides tools: the methods that read it, by the names that permissions know (O-4.50).
READING = ("resource", "resources", "prompt", "messages", "prompts")


# The type that the place of `resource` asks for is known to the compiler: it calls the hidden methods, so that another content is
# an Err.


@handle("McpRef", "resource<T>(uri: String) -> Result<T, ToolError>", clause="O-4.50")
def resource(machine: MachineContext, task: Task, server: McpRef, uri: str) -> Any:
    """Reads a resource: a String, a Media or Bytes, as its content is."""
    return _read(machine, task, ServerRead(server.name, "resource", uri))


RESOURCE_FORMS = ("String", "Bytes", "Media")


def _resource_as(form: str) -> None:
    @hidden("McpRef", f"_resource_{form}(uri: String) -> Any")
    def resource_as(machine: MachineContext, task: Task, server: McpRef, uri: str) -> Any:
        return _read(machine, task, ServerRead(server.name, "resource", uri, form=form))


for _form in RESOURCE_FORMS:
    _resource_as(_form)


@handle("McpRef", "resources() -> Result<Array<McpResource>, ToolError>", clause="O-4.51")
def resources(machine: MachineContext, task: Task, server: McpRef) -> Any:
    """Lists the resources of the server."""
    return _read(machine, task, ServerRead(server.name, "resources", None))


PROMPT = "(name: String, arguments: Map<String, String> = {})"


@handle("McpRef", f"prompt{PROMPT} -> Result<Prompt, ToolError>", clause="O-4.52")
def prompt(machine: MachineContext, task: Task, server: McpRef, name: str, arguments: Map) -> Any:
    """A prompt of the server, filled in, for `execute` and its like."""
    return _read(machine, task, ServerRead(server.name, "prompt", name, arguments))


@handle("McpRef", f"messages{PROMPT} -> Result<Array<Message>, ToolError>", clause="O-4.52")
def messages(machine: MachineContext, task: Task, server: McpRef, name: str, arguments: Map) -> Any:
    """A prompt of the server as its messages, for `chat`."""
    return _read(machine, task, ServerRead(server.name, "messages", name, arguments))


@handle("McpRef", "prompts() -> Result<Array<McpPrompt>, ToolError>", clause="O-4.53")
def prompts(machine: MachineContext, task: Task, server: McpRef) -> Any:
    """Lists the prompts of the server."""
    return _read(machine, task, ServerRead(server.name, "prompts", None))


def _read(machine: MachineContext, task: Task, use: ServerRead) -> Any:
    """Suspend the task until the server has answered; return SUSPENDED. Raises P007 for arguments of a prompt that are no
    Strings."""
    if use.arguments is not None:
        for key, value in use.arguments.items.items():
            key_text(key)
            text(value)
    machine.suspend(task, "mcp", use)
    return SUSPENDED


# ---------------------------------------------------------------- pipelines


@handle("PipelineRef<I, O>", "run(x: I) -> Result<O, Error>", clause="L-6.8.6")
def run(machine: MachineContext, task: Task, ref: PipelineRef, value: Any) -> Any:
    """Runs the stages one after another."""
    # one effect, whose performer runs the stages as functions of the program
    program = machine.program
    entry = program.image.pipelines[program.handles["pipelines"].index(ref)]
    machine.suspend(task, "pipeline", (entry, share(fitting(value, program.descriptors[entry.input]))))
    return SUSPENDED


def fitting(value: Any, descriptor: Any) -> Any:
    """Return a value as it is taken where that type is expected, between stages too. Raises P007 for a value of another type;
    an Int becomes a Float where the type is Float, or an Array or Map of Floats, also in one another, which are copied then."""
    return _widened(check(value, descriptor), descriptor)


def _widened(value: Any, descriptor: Any) -> Any:
    """Return a value with Ints as Floats where `fitting` makes them so; the same object when nothing changes."""
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


# ---------------------------------------------------------------- tasks


@handle("Task", "cancel() -> Bool", clause="O-6.5")
def cancel(machine: MachineContext, task: Task, started: Any) -> Any:
    """Stops the task; whether it was running."""
    # SUSPENDED where the host has to end effects first
    return machine.cancel_handle(task, started)


@handle("Task", "done() -> Bool", clause="O-6.5")
def done(machine: MachineContext, task: Task, started: Any) -> bool:
    """Whether the task has ended or was cancelled."""
    return bool(started.task.status == "done")
