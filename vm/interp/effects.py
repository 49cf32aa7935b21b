"""What the machine asks of its host (V-6.3): effects as data, and protocols of what the host hands in.

The machine makes an `Effect`, and a performer of the host (`runtime/effects/`) gives the answer, which `Machine.resume` takes:
the value of the call that made the effect, as its signature has it, unless a record says another thing. Nothing is performed
here. Hands on `Effect` and the records of payloads to the built-ins and the machine, which make them, to snapshots, and to the
runtime and the hosts above it, which perform, count and record them; `HostFailed` to the runtime. The payload of an effect is one
of the records below, or for the smaller kinds a text, a tuple, a value of the program, a list of effects or None, as the row in
`vm/builtins/` or the method of `machine.py` says that makes the effect. `MachineContext` is what handles' methods use of the
machine, `Memories` what the machine uses of the session's memories. A change of what an effect carries is a change of its record
here and of its performer, and of `vm/snapshot/kinds.py`, which writes the records. `runtime/effects/table.py` says which
performer a kind has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from ..values.types import Descriptor
    from .linked import Code, PythonFunction

    class StoredMessage(Protocol):
        """A message as memories hold it. `calls`: its tool calls, each with `id`, `name` and `arguments`; `call_id`: that of the
        call which a tool message answers; `media`: its parts, each with `content` and `name`."""

        role: str
        content: Any
        calls: Any
        call_id: str | None
        media: Any

    class Memory(Protocol):
        """One log in the memory of the process, so calling it is no I/O: `messages` gives its `StoredMessage`s, oldest first,
        `last` the newest `n` of them in that order, `len` their number; `append` adds one, `clear` removes all. What fails in it
        raises `Memories.failure`."""

        def append(self, role: str, content: str) -> None: ...
        def messages(self) -> list[Any]: ...
        def last(self, n: int) -> list[Any]: ...
        def __len__(self) -> int: ...
        def clear(self) -> None: ...

    class Memories(Protocol):
        """The memories of a session by name, handed to its machine. `failure`: the exception of a store that fails; `must_wait`:
        the exception, raised before anything was done, of a method that has to wait for a store, a lock, a vector or a function
        of the program; `attended`: the names of memories of which `append` and the readers of the log may have to, so that they
        are called through `at_once` too; `computed` runs a function without parameters to its end and returns its value;
        `is_shared`: whether others may write the store of a memory meanwhile; `is_queued` notes that a change in place of the
        slot named `slot` begins or ends (it is asked alike at both), and returns whether that has to wait, since sessions change
        it in turns."""

        failure: Any
        must_wait: Any
        attended: frozenset[str]
        computed: Any

        def is_shared(self, ref: Any) -> bool: ...
        def is_queued(self, ref: Any, slot: str) -> bool: ...
        def __getitem__(self, name: str) -> Memory: ...
        def at(self, ref: Any) -> Memory:
            """Return the memory of a handle, at its key and branch."""

        def keyed(self, ref: Any, method: str, values: dict[str, Any], task: Any) -> Any:
            """Return the result of `key`, `keys` or `erase` (M-7.3); `values`: key parts by name."""

        def bounds(self, name: str, computed: dict[str, Any]) -> dict[str, Any]:
            """Return the bounds that a declared memory begins with; P014 or P452 when they may not be set (M-2.14)."""

        def memory_value(self, name: str, bounds: dict[str, Any], messages: Any) -> Any:
            """Return the handle of a new memory value, which begins with `messages`, None for none (M-2.19, M-2.20). P014 or P452
            for bounds that may not be set, P452 for messages that the memory does not take."""

        def initial_fact(self, name: str, arguments: list[Any]) -> None:
            """Take `remember` of an initialisation statement (M-2.10)."""

        def initial(self, name: str, role: str, content: str, pinned: bool) -> None:
            """Take a message of an initialisation statement, with which logs of the memory begin (M-2.10)."""

        def written(self, ref: Any, task: Any) -> Memory:
            """Return what a task's direct writes go to: the memory, or the open turn that they join (M-5.20)."""

        def perform(self, ref: Any, method: str, arguments: list[Any], task: Any) -> Any:
            """Return the result of a method of the direct API, with values of the machine (M-6.2 to M-6.20). A failure is an Err
            of a method with a Result, and a panic of any other (M-6.22)."""

        def at_once(self, ref: Any, method: str, arguments: list[Any], task: Any) -> Any:
            """As `perform`; raises `must_wait`, and has done nothing, where something has to be waited for."""

        def keyed_at_once(self, ref: Any, method: str, values: dict[str, Any], task: Any) -> Any:
            """As `keyed`; raises `must_wait`, and has done nothing, where something has to be waited for."""

    class DirectMethod(Protocol):
        """A method of a tool that may run within the slice of its caller, since nothing in it can suspend. `code` is its
        function. Each `begin` that did not return None is followed by one `end` or `undo`, the last one begun first. `lends`:
        calls may do without `begin` and `end`, with the state that `lend` gives."""

        code: Code
        lends: bool

        def begin(self, arguments: Sequence[Any]) -> list[Any] | None:
            """Return what the function takes, with the state of the tool, for arguments in order, UNSET for one that is left out;
            None where the host has to perform this call, of which nothing has happened then. Raises P015 for one that has no
            default, and what the host's sink of emits raises: a Panic, or another exception in a HostFailed."""

        def end(self, value: Any) -> Any:
            """Return the value of the call for what the function has returned, and keep the state. Raises panic P007 where a
            foreign image gives no state."""

        def undo(self) -> None:
            """Leave the state as it was before the call: the function has failed."""

        def lend(self) -> Any:
            """Return the state of the tool, for all calls of this slice, which change it in place and do not begin: it is a
            struct that nothing else holds. None where each call has to begin."""

        def take_over(self, state: Any, found: dict[int, tuple[Any, Any]]) -> None:
            """Take a call for begun that has the `state` of `lend` and has not come to its end. `found`: by position of each
            field that it may have changed, the value that was there, and what this container held, None for one that was not
            written in place."""

    class MachineContext(Protocol):
        """The part of the machine that methods of handles use; a body gets it as its first argument. `stores`: the hashmaps and
        ledgers; `program`: the linked one; `configured`: fields of declarations that are no constants, by (section of the image,
        number of the entry, name)."""

        memories: Memories
        stores: Any
        program: Any
        configured: dict[tuple[str, int, str], Any]

        def suspend(self, task: Any, kind: str, payload: Any) -> None:
            """Let the task wait for an effect; the body returns SUSPENDED then."""

        def enter_tool(self, task: Any, tool: str, name: str, arguments: list[Any]) -> Any:
            """Return the Invoke of a method of a tool that runs within the slice, None where the host performs the call."""

        def cancel_handle(self, task: Any, handle: Any) -> Any:
            """Cancel the task of a handle. Return whether it still ran, or SUSPENDED where the host has to end effects first."""

        def close_stream(self, task: Any, stream: Any) -> Any:
            """End a reply that is on its way; returns SUSPENDED."""


class HostFailed(BaseException):
    """An exception of the host's own code that was called within a slice. The machine lets it pass as it is: the program neither
    sees it nor takes it for a failure of its own. `error` is that exception."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Effect:
    """One request to the host. `key` is the task path and a counter of the task, independent of scheduling (V-6.5).

    `kind` chooses the performer (`runtime/effects/table.py`). `awaited`: the task continues only with `Machine.resume`. Kind
    `cancel` has a list of effects as its payload, which the host stops performing, and ends, before it runs the machine again;
    its key is empty and its `task` None.
    """

    __slots__ = ("key", "kind", "payload", "awaited", "task")

    def __init__(self, key: str, kind: str, payload: Any, awaited: bool, task: Any) -> None:
        self.key = key
        self.kind = kind
        self.payload = payload
        self.awaited = awaited
        self.task = task

    def __repr__(self) -> str:
        return f"<effect {self.key} {self.kind}>"


class EmitPayload:
    """Effect `emit`: `value`, a value of the machine, on the channel of the name `channel`. If the effect is awaited, the answer
    is a Result, and `timeout_ms` bounds the wait for it in milliseconds; None leaves that to the host (O-5.26). `answer`: the
    descriptor of the type that the answer has to be of, None for any (O-5.35)."""

    __slots__ = ("channel", "value", "timeout_ms", "answer")

    def __init__(self, channel: str, value: Any, timeout_ms: int | None = None, answer: Descriptor | None = None) -> None:
        self.channel = channel
        self.value = value
        self.timeout_ms = timeout_ms
        self.answer = answer


class StoreFile:
    """Effect `store`: the file at `path` of the hashmap `store`, to be written if `text` is not None, else to be read (O-5.12).

    The answer is Ok(text), Ok(nil) for no such file or for a write, or Err of an FsError."""

    __slots__ = ("store", "path", "text")

    def __init__(self, store: str, path: str, text: str | None) -> None:
        self.store = store
        self.path = path
        self.text = text


class ModelCall:
    """Effect `model`: execute, execute_with_schema, chat, stream or view on a model or builder.

    `method`: one of these names. `prompt`: its text, of `chat` that of the last message. `model`: the name of a declared model;
    `instance`: the number of an instance that `spawn` made of it, 0 for the model itself. `memory`: the attached memory, or a
    tuple of memories; None for none, UNSET for the model's own (O-3.24). `auto`: whether the turn is appended to it. `turn`:
    `tokens` (a count) and `meta` of with_memory, None for neither. `context`: a value or UNSET. `overrides`: what a Prompt and
    `with` replace (O-1.67, O-3.30), by the names of a model's fields (the id as `model` of a Prompt, as `base` of `with`), {} for
    nothing. `schema`: the name of a schema or None. `retry_message`: what stands behind the faults of a reply when the model is
    asked again, or None (O-2.48). `tools`: handles of added tools; `own_tools`: whether the model's static ones are offered too
    (O-3.20, O-3.21). `messages`: those of chat, as the program passed them, else None. `media`: those of a Prompt, values of
    Media.
    """

    # Snapshots have the slots by place: a new one goes to the end (`ADDED_LATER` in vm/snapshot/kinds.py).
    __slots__ = (
        "model", "method", "prompt", "overrides", "memory", "auto", "context", "schema", "retry_message", "tools", "own_tools",
        "messages", "instance", "turn", "media",
    )  # fmt: skip

    def __init__(
        self,
        model: str,
        method: str,
        prompt: str,
        overrides: dict[str, Any],
        memory: Any,
        auto: bool,
        context: Any,
        schema: str | None,
        retry_message: str | None,
        tools: tuple[Any, ...] = (),
        own_tools: bool = True,
        messages: list[Any] | None = None,
        instance: int = 0,
        turn: tuple[int | None, Any] | None = None,
        media: tuple[Any, ...] = (),
    ) -> None:
        self.model = model
        self.method = method
        self.prompt = prompt
        self.overrides = overrides
        self.memory = memory
        self.auto = auto
        self.context = context
        self.schema = schema
        self.retry_message = retry_message
        self.tools = tools
        self.own_tools = own_tools
        self.messages = messages
        self.instance = instance
        self.turn = turn
        self.media = media


class ModelLife:
    """Effect `model`: `spawn`, whose answer is the ModelRef of a new instance, or the `shutdown` of one (O-1.64, O-1.65).
    `model` and `instance` as in ModelCall; `method` is one of these two words."""

    __slots__ = ("model", "instance", "method")

    def __init__(self, model: str, instance: int, method: str) -> None:
        self.model = model
        self.instance = instance
        self.method = method


class ServerUse:
    """Effect `mcp`: the tool `method` of an MCP server, called by the program itself (O-4.45). `arguments` in the order of the
    declared parameters, UNSET for one left out; or the Map that the program passed to `call`."""

    __slots__ = ("server", "method", "arguments")

    def __init__(self, server: str, method: str, arguments: Any) -> None:
        self.server = server
        self.method = method
        self.arguments = arguments


class ServerRead:
    """Effect `mcp`: a resource or a prompt of an MCP server, or the list of those it has (O-4.50 to O-4.53). `method` is the one
    of the handle; `name` the URI of the resource or the name of the prompt, None for a list. `arguments`: the Map of a prompt's,
    None for a resource and a list. `form`: what the value of a resource has to be, "String", "Bytes" or "Media"; "Any" for
    whatever it is."""

    __slots__ = ("server", "method", "name", "arguments", "form")

    def __init__(self, server: str, method: str, name: str | None, arguments: Any = None, form: str = "Any") -> None:
        self.server = server
        self.method = method
        self.name = name
        self.arguments = arguments
        self.form = form


class ExternCall:
    """Effect `extern`: a call of a function of Python (P-1.3). `function`: the `PythonFunction` that is called; `arguments`: one
    value for each of its parameters. `calls`: the calls that Python has made so far of functions in the arguments: the number of
    the function among these, from 0, and its arguments."""

    __slots__ = ("function", "arguments", "calls")

    def __init__(self, function: PythonFunction, arguments: list[Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.calls: list[tuple[int, list[Any]]] = []


class ToolUse:
    """Effect `tool`: a method of a tool, called by the program itself (O-4.6). `arguments` in the order of the parameters, UNSET
    where the default applies."""

    __slots__ = ("tool", "method", "arguments")

    def __init__(self, tool: str, method: str, arguments: list[Any]) -> None:
        self.tool = tool
        self.method = method
        self.arguments = arguments


class MemoryUse:
    """Effect `memory`: a method of the direct API that waits: for vectors of facts (M-10.16), for the turn lock (M-5.17), for
    the store (G-12.7), for a function of the program; of a keyed memory a method whose one argument is a dict of key parts by
    name (M-7.3); or a method of slots (`context_slots.py`). `memory` is the handle, `arguments` are checked and in order."""

    __slots__ = ("memory", "method", "arguments")

    def __init__(self, memory: Any, method: str, arguments: list[Any]) -> None:
        self.memory = memory
        self.method = method
        self.arguments = arguments


class EmbedUse:
    """Effect `embed`: the vectors of texts by a declared embedder, named `embedder`; `is_one`: of one text, whose vector alone is
    the result (O-1.240)."""

    __slots__ = ("embedder", "texts", "is_one")

    def __init__(self, embedder: str, texts: list[str], is_one: bool) -> None:
        self.embedder = embedder
        self.texts = texts
        self.is_one = is_one


class IndexUse:
    """Effect `index`: a method of a declared index, named `index`, with its arguments in order (O-1.241)."""

    __slots__ = ("index", "method", "arguments")

    def __init__(self, index: str, method: str, arguments: list[Any]) -> None:
        self.index = index
        self.method = method
        self.arguments = arguments


class AgentCall:
    """Effect `agent`: execute or execute_with_schema on an agent or builder of one, and `listen` around either.

    `agent`: the name of a declared agent. `prompt`, `memory`, `auto`, `context`, `schema`, `retry_message`, `turn`, `media`: as
    in ModelCall; `handlers`: those of `listen` as (type of message, closure, name of the schema of its parameter or None), None
    for a call without.
    """

    __slots__ = ("agent", "prompt", "memory", "auto", "context", "schema", "retry_message", "handlers", "turn", "media")

    def __init__(
        self,
        agent: str,
        prompt: str,
        memory: Any,
        auto: bool,
        context: Any,
        schema: str | None,
        retry_message: str | None,
        handlers: list[tuple[str, Any, str | None]] | None = None,
        turn: tuple[int | None, Any] | None = None,
        media: tuple[Any, ...] = (),
    ) -> None:
        self.agent = agent
        self.prompt = prompt
        self.memory = memory
        self.auto = auto
        self.context = context
        self.schema = schema
        self.retry_message = retry_message
        self.handlers = handlers
        self.turn = turn
        self.media = media
