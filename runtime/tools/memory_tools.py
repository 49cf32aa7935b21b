"""The tools that a model gets from a memory in its list of tools (M-10.17): facts it remembers, recalls and forgets.

A hashmap or ledger that is the `memory` of a model gives tools too (O-4.22), and so does an index in its list (O-1.254). Hands on
`memory_bindings`, `store_bindings` and `index_bindings` to `bindings.py`. A fact that a model remembers is stored as the model's
word (`origin="model"`). How facts are stored and recalled is `memory/remembering.py`, how they are ranked `memory/recall.py`,
what a hashmap or ledger holds `vm/interp/stores.py`. A failure of a memory or of a search, or of a limit of a ledger, becomes an
Err for the model; any other Panic, such as that of a budget or of the store of a hashmap, passes through.
"""

from __future__ import annotations

from ...vm.builtins.hashmaps import FINISH, finish_call, machinery
from ...vm.builtins.indexes import DOCUMENTS_FOR_MODELS
from ...vm.bytecode.image import memory_of_hashmap
from ...vm.interp.stored_hashmaps import table
from ...vm.memory_steps import TOOL_METHODS
from ...vm.panics import Panic
from ...vm.schema import INDEX_METHOD, arguments_form, store_name, tool_name
from ...vm.values import Array, Err, ErrorValue, HashMapRef, Map, MemoryRef, Some, display, from_json, key_of
from ..errors import CallFailure
from ..host import AUDIT, for_model
from ..memory.failures import InvalidValue, MemoryFailure
from ..records import ToolDef, error_value
from ..schema.validation import Accepted
from .tools import denial, fitting_arguments, is_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ...vm.interp.effects import Effect
    from ...vm.values import IndexRef, LedgerRef
    from ..memory.facts import Fact
    from ..memory.memory import Memory
    from ..memory.remembering import Facts
    from ..records import Call
    from ..running import EffectContext
    from .bindings import ToolBinding


if TYPE_CHECKING:
    Perform = Callable[[Effect, list[Any]], Awaitable[Any]]

MOST_ENTRIES = 20  # that one `query` gives
# A field of a schema type: name, type, whether it may be missing, whether it has a default, the default, description; an object:
# "object", name, modes, fields (vm/schema.py).
TEXT: list[Any] = ["text", ["string"], False, False, None, "what is looked for"]
LEDGER_SHAPE: list[Any] = [
    "object", "", [],
    [
        ["identifier", ["string"], False, False, None, "identifier of the entry"],
        ["keys", ["array", ["string"]], False, False, None, "words under which it is found"],
        ["value", ["string"], False, False, None, "text of the entry"],
    ],
]  # fmt: skip


def store_bindings(run: EffectContext, ref: HashMapRef | LedgerRef) -> list[ToolBinding]:
    """Return the tools `get`, `set` and `query` of a hashmap or ledger, or of a scope of one. Raises P411 for a hashmap whose
    keys or values no model can write, which the checker refuses where it knows the hashmap."""
    tools: HashMapTools | LedgerTools
    if isinstance(ref, HashMapRef):
        tools, kind = HashMapTools(run, ref), "Hashmap"
    else:
        tools, kind = LedgerTools(run, ref), "Ledger"
    if tools.shape is None:
        raise Panic("P411", f"the hashmap {ref.name} is no tool: it has keys or values that no model can write")
    one, *_ = fields = tools.shape[3]
    shapes = {"get": [one], "set": fields, "query": [TEXT]}
    bindings: list[ToolBinding] = []
    for method, text in tools.texts.items():
        shape = ["object", "", [], shapes[method]]
        owner = store_name(ref.name, ref.scope)
        definition = ToolDef(tool_name(owner, method), f"{kind} {owner}\n\n{text}", arguments_form(shape))
        bindings.append(StoreBinding(run, owner, method, definition, shape, getattr(tools, method)))
    return bindings


class StoreBinding:
    """A method of a store, memory or index as a model calls it: a `ToolBinding`. `owner` is its name, of a scope with those of
    the scopes (`store_name`), `shape` the schema type of its arguments. `perform` is the method of one of the classes below, or
    the `search` of an index: it takes the effect and the checked arguments, and returns the value for the model, or an Err of
    ToolError."""

    __slots__ = ("run", "owner", "method", "definition", "shape", "perform", "changes_state")

    def __init__(
        self, run: EffectContext, owner: str, method: str, definition: ToolDef, shape: list[Any], perform: Perform
    ) -> None:
        self.run = run
        self.owner = owner
        self.method = method
        self.definition = definition
        self.shape = shape
        self.perform = perform
        self.changes_state = False  # each method of a store is atomic (O-5.10)

    def is_enabled(self) -> bool:
        """Return whether the host has not disabled the method (O-4.20)."""
        return is_enabled(self.run, self.owner, self.method, None)

    async def answer(self, effect: Effect, call: Call) -> Any:
        """Return what `perform` returns for the arguments of the call; an Err of ToolError, and nothing is performed, for a
        method that is disabled (PermissionDenied) and for arguments that do not fit (InvalidArguments). Raises what `perform`
        raises."""
        if not self.is_enabled():
            return denial(self.run, self.owner, self.method, None)
        accepted = fitting_arguments(self.shape, call)
        if not isinstance(accepted, Accepted):
            return failed(self.owner, self.method, "InvalidArguments", accepted)
        self.run.runtime_emit(AUDIT, {"tool": self.owner, "method": self.method, "args": call.arguments})
        return await self.perform(effect, [self.run.builder.value(node) for _, node in accepted.tree[2]])


def failed(owner: str, method: str, variant: str, message: str, **fields: str) -> Err:
    """Return an Err of ToolError with this variant and message, which names the tool's owner and method; `fields` are further
    ones."""
    return Err(ErrorValue("ToolError", variant, message, {"tool": owner, "method": method, **fields}))


class HashMapTools:
    """`get`, `set` and `query` on a hashmap or a scope of one, as `StoreBinding` performs them. `arguments` are values of the
    program, one for each field of the method's shape, already checked; `texts` are the descriptions that a model reads, `shape`
    is an object of the key and the value."""

    texts = {
        "get": "Give the value of a key, null if there is none",
        "set": "Write the value of a key, in place of the one it had",
        "query": f"Give the entries, at most {MOST_ENTRIES}, whose key or value contains a text",
    }

    def __init__(self, run: EffectContext, ref: HashMapRef) -> None:
        self.run = run
        self.ref = ref
        self.view = run.machine.stores.view(ref)
        self.shape: list[Any] | None = next(h.shape for h in run.program.image.hashmaps if h.name == ref.name)

    async def _stored(self, effect: Effect, name: str, arguments: list[Any], told: bool = False) -> Any:
        """Do a method of a hashmap whose entries are in a store; return its result, with `told` the pair of an Array of the calls
        of watchers and the result. Waits for the store; a store that fails is a Panic P412."""
        machine: Any = self.run.machine
        memory = MemoryRef(memory_of_hashmap(self.ref.name))
        values = Array(arguments)
        return await self.run.operations.use(
            lambda: table(machine, effect.task, memory, self.ref, name, values, told), effect
        )

    async def get(self, effect: Effect, arguments: list[Any]) -> Any:
        """Return the value of the key, None if there is none."""
        is_stored = self.view.store.kept is not None
        value = await self._stored(effect, "get", arguments) if is_stored else self.view.find(arguments[0])
        return value.value if type(value) is Some else None

    async def set(self, effect: Effect, arguments: list[Any]) -> Any:
        """Write the entry, then the file of the hashmap, if it has one, and call its watchers. Return None. Panics of watchers,
        of the file and of a store pass through."""
        machine: Any = self.run.machine
        key, value = arguments
        if self.view.store.kept is not None:
            calls, _ = await self._stored(effect, "set", arguments, told=True)
            if calls.items:
                await self.run.call(effect, machinery(machine, FINISH, self.ref.name), [self.ref, calls, None])
            return None
        function = finish_call(machine, effect.task, self.ref, self.view.store, [self.view.set(key, value)])
        if function is not None:  # it writes the file of the hashmap, or calls watchers
            await self.run.call(effect, *function)
        return None

    async def query(self, effect: Effect, arguments: list[Any]) -> Any:
        """Return a Map of the first MOST_ENTRIES entries, in order, whose key or value, as displayed, contains the text. Raises
        P103 as `display`."""
        (text,) = arguments
        is_stored = self.view.store.kept is not None
        all_entries = (await self._stored(effect, "entries", [])).items if is_stored else self.view.entries()
        entries = [(key, value) for key, value in all_entries if text in display(key) or text in display(value)]
        return Map({key_of(key): value for key, value in entries[:MOST_ENTRIES]})


class LedgerTools:
    """`get`, `set` and `query` on a ledger or a scope of one, whose `name` errors have, as `StoreBinding` performs them.
    `arguments` and `texts` are as in HashMapTools."""

    texts = {
        "get": "Give the entry of an identifier, null if there is none",
        "set": "Write an entry, in place of the one of that identifier",
        "query": f"Give the entries, at most {MOST_ENTRIES}, whose identifier has every word of a text or that have it as a key",
    }
    shape = LEDGER_SHAPE

    def __init__(self, run: EffectContext, ref: LedgerRef) -> None:
        self.name = store_name(ref.name, ref.scope)
        self.ledger = run.machine.stores.ledger(ref)

    async def get(self, effect: Effect, arguments: list[Any]) -> Any:
        """Return the LedgerEntry of the identifier, None if there is none."""
        return self.ledger.record(arguments[0]) if arguments[0] in self.ledger.entries else None

    async def set(self, effect: Effect, arguments: list[Any]) -> Any:
        """Write the entry. Return None, or an Err of ToolError for one beyond a limit of ledgers."""
        identifier, keys, value = arguments
        try:
            self.ledger.put(identifier, keys.items, value)
        except Panic as panic:  # beyond a limit of O-5.22
            return failed(self.name, "set", "ExecutionFailed", panic.message)
        return None

    async def query(self, effect: Effect, arguments: list[Any]) -> Any:
        """Return an Array of the first MOST_ENTRIES entries that fit the text, in the order of the ledger."""
        (text,) = arguments
        entries = {entry.f0: entry for entry in (*self.ledger.by_identifier(text), *self.ledger.by_any_key([text]))}
        return Array([entries[identifier] for identifier in self.ledger.entries if identifier in entries][:MOST_ENTRIES])


MOST_FACTS = 10  # that one `recall` gives
READING = ("recall",)  # the methods of a memory that the model may only read


def _text(name: str, what: str) -> list[Any]:
    return [name, ["string"], False, False, None, what]


SHAPES = {
    "remember": [_text("name", "what the fact is found under; it replaces an earlier one"), _text("content", "the fact")],
    "recall": [_text("query", "what is looked for")],
    "forget": [_text("name", "name of the fact")],
}
TEXTS = {
    "remember": "Keep a fact for later conversations",
    "recall": f"Give the facts, at most {MOST_FACTS}, that fit a query best",
    "forget": "Remove a fact; true if it was there",
}


def memory_bindings(run: EffectContext, ref: MemoryRef, by: str) -> list[ToolBinding]:
    """Return the tools of a memory for the model named `by`. One that may only read it gets `recall` alone (M-4.16), and so
    does every model of a derived view. Raises CallFailure for a model that may not read it."""
    if not run.memories.allows(ref.name, by, False):
        raise CallFailure("AgentError", "InvalidRequest", f"the memory {ref.name} does not allow {by} to read it", model=by)
    writes = run.memories.allows(ref.name, by, True) and not run.memories.is_view(ref.name)
    tools = MemoryTools(run, ref, by)
    bindings: list[ToolBinding] = []
    for method in TOOL_METHODS if writes else READING:
        shape = ["object", "", [], SHAPES[method]]
        text = f"Memory {ref.name}\n\n{TEXTS[method]}"
        definition = ToolDef(tool_name(ref.name, method), text, arguments_form(shape))
        bindings.append(StoreBinding(run, ref.name, method, definition, shape, getattr(tools, method)))
    return bindings


class MemoryTools:
    """`remember`, `recall` and `forget` on a memory, for the model named `by`. Each waits for the store; `remember` and `recall`
    also for vectors, where the memory has an embedder."""

    def __init__(self, run: EffectContext, ref: MemoryRef, by: str) -> None:
        self.run = run
        self.ref = ref
        self.by = by

    def _opened(self) -> Memory:
        source = self.run.memories.at(self.ref)
        memory: Memory = getattr(source, "memory", source)  # a derived view has the facts of its memory
        return memory

    def _facts(self, memory: Memory, effect: Effect) -> Facts:
        from ..memory.remembering import Facts

        return Facts(memory, effect.task, self.by)

    async def remember(self, effect: Effect, arguments: list[Any]) -> Any:
        """Store a fact, and its vector if the memory has an embedder. Return nil, or an Err."""
        name, content = arguments

        def drafted() -> tuple[Facts, Fact | None]:
            facts = self._facts(self._opened(), effect)
            fact = facts.drafted(name, content, origin="model", by=self.by)
            return facts, fact if facts.may_write(fact.tier, fact.name) else None

        try:
            facts, permitted = await self.run.operations.use(drafted)
            if permitted is None:
                return self._refused("remember", name)
            fact = permitted
            if facts.memory.embedding is not None:
                await facts.memory.embedding.fill([fact.text], effect.task.path)
            await self.run.operations.use(lambda: facts.keep(fact))
        except (MemoryFailure, InvalidValue) as error:
            return self._failed("remember", error)
        return None

    async def recall(self, effect: Effect, arguments: list[Any]) -> Any:
        """Return the facts that fit a query best, the best first, as maps of name and content; or an Err."""
        (query,) = arguments
        try:
            memory = await self.run.operations.use(self._opened)
            if memory.embedding is not None:
                await memory.embedding.fill([query], effect.task.path)
            hits = await self.run.operations.use(lambda: self._facts(memory, effect).recall(query, MOST_FACTS))
        except MemoryFailure as error:
            return self._failed("recall", error)
        from ..memory.remembering import shown_fact

        try:
            pairs = [shown_fact(memory, hit.fact) for hit in hits]
        except MemoryFailure as error:
            return self._failed("recall", error)
        return from_json([{"name": name, "content": content} for name, content in pairs])

    async def forget(self, effect: Effect, arguments: list[Any]) -> Any:
        """Remove a fact by its name. Return whether there was one, or an Err."""
        (name,) = arguments
        try:
            removed = await self.run.operations.use(lambda: self._facts(self._opened(), effect).forget_allowed(name))
        except MemoryFailure as error:
            return self._failed("forget", error)
        return self._refused("forget", name) if removed is None else removed

    def _refused(self, method: str, name: str) -> Any:
        message = f"the memory {self.ref.name} does not allow {self.by} to write {name}"
        return failed(self.ref.name, method, "PermissionDenied", message)

    def _failed(self, method: str, error: Exception) -> Any:
        message = getattr(error, "message", str(error))
        fields = {}
        if isinstance(error, MemoryFailure):
            fields = for_model(ErrorValue(error.kind, error.variant, message, error.fields))
        return failed(self.ref.name, method, "ExecutionFailed", message, **fields)


def index_bindings(run: EffectContext, ref: IndexRef) -> list[ToolBinding]:
    """Return the tool `search` of an index, in a list (O-1.254)."""
    shape = ["object", "", [], [_text("query", "what is looked for, in words or as a question")]]
    text = f"Index {ref.name}\n\nGive the documents, at most {DOCUMENTS_FOR_MODELS}, that fit a query best, the best first"
    definition = ToolDef(tool_name(ref.name, INDEX_METHOD), text, arguments_form(shape))

    async def search(effect: Effect, arguments: list[Any]) -> Any:
        """Return an Array of documents, the best first; or an Err."""
        from ..search.session_indexes import Indexes

        index = Indexes.of(run).named(ref.name)
        try:
            hits = await index.found(effect, arguments[0], DOCUMENTS_FOR_MODELS)
            return Array([index.value(hit.id, hit.value) for hit in hits])
        except CallFailure as failure:
            return failed(ref.name, INDEX_METHOD, "ExecutionFailed", failure.message, **for_model(error_value(failure)))

    return [StoreBinding(run, ref.name, INDEX_METHOD, definition, shape, search)]
