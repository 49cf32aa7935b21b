"""Handles: names of things the host keeps, and the immutable `ModelBuilder` (L-3.1.21, O-3.17 to O-3.23).

Hands on `ModelRef`, `AgentRef`, `MemoryRef`, `KeyedRef`, `SchemaRef`, `ToolRef`, `McpRef`, `HashMapRef`, `LedgerRef`,
`LedgerQuery`, `PipelineRef`, `EmbedderRef`, `IndexRef` and what they have in common, `Ref` and `ScopedRef`; `ModelBuilder` with
`UNSET`; `TaskHandle`; `Stream`, `TypedStream`, `ItemStream` and `HostStream`. A handle holds a declared name or a record of the
machine (a task, an effect); only `MemoryRef.life` is a live object of the host. They go to built-ins, both tiers, snapshots, the
runtime and the API, those of declarations to `bytecode/declarations.py` too. Nothing here asks or changes what a handle names:
its methods are in `builtins/`, and the host does the work. A kind of declaration that programs name as a value has a subclass of
`Ref` here, which its row of `bytecode/declarations.py` names.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final


class Unset:
    """Marks a setting of a builder that the program has not set, which is not the setting `nil`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()
KEEP: Final = object()  # an argument of `ModelBuilder.with_` that leaves the setting as it is
_new = object.__new__


class Ref:
    """A declaration by its name; two handles of one kind and name are the same handle (L-5.5.4), unless the class compares more.
    `type_name` is what `typeof` gives, `word` what stands in the Display text."""

    __slots__ = ("name",)
    type_name: ClassVar[str] = ""
    word: ClassVar[str] = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return f"<{self.word} {self.name}>"


class ModelRef(Ref):
    """A declared model, or with `instance` not 0 one that `spawn` made of it (O-1.64)."""

    __slots__ = ("instance",)
    type_name = "ModelRef"
    word = "model"

    def __init__(self, name: str, instance: int = 0) -> None:
        self.name = name
        self.instance = instance

    def __eq__(self, other: object) -> bool:
        return type(other) is ModelRef and other.name == self.name and other.instance == self.instance

    def __hash__(self) -> int:
        return hash((ModelRef, self.name, self.instance))


class AgentRef(Ref):
    """A declared agent by its name."""

    __slots__ = ()
    type_name = "AgentRef"
    word = "agent"


class MemoryRef(Ref):
    """A declared memory; with `branch` a branch of it (M-6.16), with `key` the part of it at the values of its key parts
    (M-7.3). `life`, of a memory value: the runtime's object that frees the memory when no handle refers to it any more (M-2.19);
    it does not count for equality."""

    __slots__ = ("branch", "key", "life")
    type_name = "MemoryRef"
    word = "memory"

    def __init__(self, name: str, branch: str = "", key: tuple[str | int, ...] = (), life: Any = None) -> None:
        self.name = name
        self.branch = branch
        self.key = key
        self.life = life

    def at_branch(self, branch: str) -> MemoryRef:
        """Return the handle of a branch of the same memory and key, "" for the memory itself."""
        return MemoryRef(self.name, branch, self.key, self.life)

    def __eq__(self, other: object) -> bool:
        return type(other) is MemoryRef and (other.name, other.branch, other.key) == (self.name, self.branch, self.key)

    def __hash__(self) -> int:
        return hash((MemoryRef, self.name, self.branch, self.key))


class KeyedRef(Ref):
    """A memory with `.per(…)`: `names` are its key parts (M-7.3)."""

    __slots__ = ("names",)
    type_name = "KeyedMemory"
    word = "memory"

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        self.name = name
        self.names = names


class SchemaRef(Ref):
    """A declared schema by its name."""

    __slots__ = ()
    type_name = "SchemaRef"
    word = "schema"


class PipelineRef(Ref):
    """A declared pipeline by its name."""

    __slots__ = ()
    type_name = "PipelineRef"
    word = "pipeline"


class ToolRef(Ref):
    """A declared tool by its name."""

    __slots__ = ()
    type_name = "ToolRef"
    word = "tool"


class McpRef(Ref):
    """A declared MCP server by its name."""

    __slots__ = ()
    type_name = "McpRef"
    word = "mcp"


class EmbedderRef(Ref):
    """A declared embedder by its name (O-1.240)."""

    __slots__ = ()
    type_name = "EmbedderRef"
    word = "embedder"


class IndexRef(Ref):
    """A declared index of documents by its name (O-1.241)."""

    __slots__ = ()
    type_name = "Index"
    word = "index"


class ScopedRef(Ref):
    """A store, or a scope of it: `scope` holds the names given to `scope`, outermost first (O-5.8, O-5.20)."""

    __slots__ = ("scope",)

    def __init__(self, name: str, scope: tuple[str, ...] = ()) -> None:
        self.name = name
        self.scope = scope

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name and other.scope == self.scope

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.scope))


class HashMapRef(ScopedRef):
    """A declared hashmap, or a scope of it."""

    __slots__ = ()
    type_name = "HashMap"
    word = "hashmap"


class LedgerRef(ScopedRef):
    """A declared ledger, or a scope of it."""

    __slots__ = ()
    type_name = "Ledger"
    word = "ledger"


class LedgerQuery(ScopedRef):
    """The result of `l.query()`: a ledger as the receiver of searches (O-5.18, O-5.19)."""

    __slots__ = ()
    type_name = "LedgerQuery"
    word = "ledger"


class ModelBuilder:
    """A model or agent with settings for one call; each change returns a new builder (O-3.17). `memory` is one memory, several in
    order, None for none, or UNSET for the model's own; `auto`: whether the call writes to it (O-3.19); `context`: the value of
    `with_context`, UNSET without one. `tools`: handles of added tools; `without_tools`: the model's own are left out."""

    __slots__ = ("model", "memory", "auto", "context", "tools", "without_tools", "turn", "settings")
    type_name = "ModelBuilder"
    word = "builder"

    def __init__(
        self,
        model: ModelRef | AgentRef,
        memory: MemoryRef | tuple[MemoryRef, ...] | None | Unset = UNSET,
        auto: bool = True,
        context: Any = UNSET,
        tools: tuple[Any, ...] = (),
        without_tools: bool = False,
        turn: tuple[int | None, Any] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.memory = memory
        self.auto = auto
        self.context = context
        self.tools = tools
        self.without_tools = without_tools
        self.turn = turn  # (`tokens`, `meta`) of with_memory, None where neither was given
        self.settings = settings  # fields of the model that `with` replaces, as plain data; never changed

    def with_tools(self, tools: tuple[Any, ...]) -> ModelBuilder:
        """Return a copy with tools added to those before (O-3.20)."""
        copy = _new(ModelBuilder)  # stores without a second call: builder chains are measured (V-8.3)
        copy.model = self.model
        copy.memory = self.memory
        copy.auto = self.auto
        copy.context = self.context
        copy.tools = self.tools + tools
        copy.without_tools = self.without_tools
        copy.turn = self.turn
        copy.settings = self.settings
        return copy

    def with_(
        self,
        memory: Any = KEEP,
        auto: Any = KEEP,
        context: Any = KEEP,
        without_tools: Any = KEEP,
        turn: Any = KEEP,
        settings: Any = KEEP,
    ) -> ModelBuilder:
        """Return a copy with the given settings replaced (O-3.19 to O-3.22, O-3.30)."""
        copy = _new(ModelBuilder)
        copy.model = self.model
        copy.memory = self.memory if memory is KEEP else memory
        copy.auto = self.auto if auto is KEEP else auto
        copy.context = self.context if context is KEEP else context
        copy.tools = self.tools
        copy.without_tools = self.without_tools if without_tools is KEEP else without_tools
        copy.turn = self.turn if turn is KEEP else turn
        copy.settings = self.settings if settings is KEEP else settings
        return copy

    @property
    def name(self) -> str:
        """The name of the model or agent."""
        return self.model.name


class TaskHandle:
    """A task that was started (L-3.1.19). Two handles are equal when they are of the same task."""

    __slots__ = ("task", "name")
    type_name = "Task"
    word = "task"

    def __init__(self, task: Any, name: str) -> None:
        self.task = task  # the machine's record of it
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is TaskHandle and other.task is self.task

    def __hash__(self) -> int:
        return hash(self.task)


class Stream:
    """A reply on its way (L-3.1.19). `effect` is the one that began it: who closes that ends the reply. `response`, a Response,
    is there once it has ended, however it did (O-1.74); `walked`: somebody waits for its next chunk; `failure`: the Err that
    ended it while nobody did, for who asks next."""

    __slots__ = ("name", "effect", "response", "walked", "failure")
    type_name = "Stream"
    word = "stream"

    def __init__(self, name: str, effect: Any) -> None:
        self.name = name  # of the model
        self.effect = effect
        self.response: Any = None
        self.walked = False
        self.failure: Any = None


class TypedStream(Stream):
    """A reply on its way that is to be a value of a schema (O-2.70). `outcome` is the Result of that value, None before the end;
    `attempt` numbers the attempt that arrives, from 1."""

    __slots__ = ("outcome", "attempt")
    type_name = "TypedStream"
    word = "stream"

    def __init__(self, name: str, effect: Any) -> None:
        super().__init__(name, effect)
        self.outcome: Any = None
        self.attempt = 1


class ItemStream:
    """The elements of the field `field` of a typed stream, as they arrive (O-2.73); without a field what waits for its end."""

    __slots__ = ("stream", "field")
    type_name = "ItemStream"
    word = "stream"

    def __init__(self, stream: TypedStream, field: str) -> None:
        self.stream = stream
        self.field = field

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.stream.name

    def __eq__(self, other: object) -> bool:
        return type(other) is ItemStream and other.stream is self.stream and other.field == self.field

    def __hash__(self) -> int:
        return hash((id(self.stream), self.field))


class HostStream:
    """What a function of Python gives one by one (P-1.3). `key` tells it from all others of a run, "" for one of a mock;
    `function` is the `linked.PythonFunction`, `arguments` what it is called with when the first element is asked for. `asked`
    counts the elements that were asked for; `ended`: none comes any more; `walked`: somebody waits for one. `items` are those
    that a mock gives, None without one."""

    __slots__ = ("key", "function", "arguments", "asked", "ended", "walked", "items")
    type_name = "Stream"
    word = "stream"

    def __init__(self, key: str, function: Any, arguments: list[Any], items: list[Any] | None = None) -> None:
        self.key = key
        self.function = function
        self.arguments = arguments
        self.asked = 0
        self.ended = False
        self.walked = False
        self.items = items

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(self.function.name)
