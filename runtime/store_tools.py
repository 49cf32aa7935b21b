"""The tools that a model gets from a hashmap or ledger as its memory (O-4.22).

Hands on `store_offers`. Must not know: files and watchers, which a write in the language has too.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.schema import arguments_form, store_name, tool_name
from ..vm.store_methods import finish_call
from ..vm.values import Array, Err, ErrorValue, HashMapRef, Map, Some, display, key_of
from .records import ToolDef
from .schema.validation import Accepted
from .tools import denial, fitting_arguments, is_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..vm.effects import Effect
    from ..vm.values import LedgerRef
    from .offers import Offer
    from .records import Call
    from .running import Running

    Perform = Callable[[Effect, list[Any]], Awaitable[Any]]

MOST_FOUND = 20
TEXT: list[Any] = ["text", ["string"], False, False, None, "what is looked for"]
LEDGER_SHAPE: list[Any] = [
    "object", "", [],
    [
        ["identifier", ["string"], False, False, None, "identifier of the entry"],
        ["keys", ["array", ["string"]], False, False, None, "words under which it is found"],
        ["value", ["string"], False, False, None, "text of the entry"],
    ],
]  # fmt: skip


def store_offers(run: Running, ref: HashMapRef | LedgerRef) -> list[Offer]:
    tools: HashMapTools | LedgerTools
    if isinstance(ref, HashMapRef):
        tools, kind = HashMapTools(run, ref), "Hashmap"
    else:
        tools, kind = LedgerTools(run, ref), "Ledger"
    one, *_ = fields = tools.shape[3]
    shapes = {"get": [one], "set": fields, "query": [TEXT]}
    offers: list[Offer] = []
    for method, text in tools.texts.items():
        shape = ["object", "", [], shapes[method]]
        owner = store_name(ref.name, ref.scope)
        definition = ToolDef(tool_name(owner, method), f"{kind} {owner}\n\n{text}", arguments_form(shape))
        offers.append(StoreOffer(run, owner, method, definition, shape, getattr(tools, method)))
    return offers


class StoreOffer:
    __slots__ = ("run", "owner", "method", "definition", "shape", "perform", "changes_state")

    def __init__(self, run: Running, owner: str, method: str, definition: ToolDef, shape: list[Any], perform: Perform) -> None:
        self.run = run
        self.owner = owner
        self.method = method
        self.definition = definition
        self.shape = shape
        self.perform = perform
        self.changes_state = False  # each method of a store is atomic (O-5.10)

    def is_enabled(self) -> bool:
        return is_enabled(self.run, self.owner, self.method, None)

    async def answer(self, effect: Effect, call: Call) -> Any:
        if not self.is_enabled():
            return denial(self.run, self.owner, self.method, None)
        accepted = fitting_arguments(self.shape, call)
        if not isinstance(accepted, Accepted):
            return failed(self.owner, self.method, "InvalidArguments", accepted)
        self.run.runtime_emit("audit:tool_call", {"tool": self.owner, "method": self.method, "args": call.arguments})
        return await self.perform(effect, [self.run.builder.value(node) for _, node in accepted.tree[2]])


def failed(owner: str, method: str, variant: str, message: str, **fields: str) -> Err:
    return Err(ErrorValue("ToolError", variant, message, {"tool": owner, "method": method, **fields}))


class HashMapTools:
    """`get`, `set` and `query` on a hashmap or a scope of one."""

    texts = {
        "get": "Give the value of a key, null if there is none",
        "set": "Write the value of a key, in place of the one it had",
        "query": f"Give the entries, at most {MOST_FOUND}, whose key or value contains a text",
    }

    def __init__(self, run: Running, ref: HashMapRef) -> None:
        self.run = run
        self.ref = ref
        self.view = run.machine.stores.view(ref)
        self.shape: list[Any] = next(h.shape for h in run.program.image.hashmaps if h.name == ref.name)

    async def get(self, effect: Effect, arguments: list[Any]) -> Any:
        found = self.view.find(arguments[0])
        return found.value if type(found) is Some else None

    async def set(self, effect: Effect, arguments: list[Any]) -> Any:
        key, value = arguments
        rest = finish_call(self.run.machine, self.ref, self.view.store, [self.view.set(key, value)])
        if rest is not None:  # a file or watchers
            await self.run.call(effect, *rest)
        return None

    async def query(self, effect: Effect, arguments: list[Any]) -> Any:
        (text,) = arguments
        found = [(key, value) for key, value in self.view.entries() if text in display(key) or text in display(value)]
        return Map({key_of(key): value for key, value in found[:MOST_FOUND]})


class LedgerTools:
    """`get`, `set` and `query` on a ledger or a scope of one."""

    texts = {
        "get": "Give the entry of an identifier, null if there is none",
        "set": "Write an entry, in place of the one of that identifier",
        "query": f"Give the entries, at most {MOST_FOUND}, whose identifier has every word of a text or that have it as a key",
    }
    shape = LEDGER_SHAPE

    def __init__(self, run: Running, ref: LedgerRef) -> None:
        self.name = store_name(ref.name, ref.scope)
        self.ledger = run.machine.stores.ledger(ref)

    async def get(self, effect: Effect, arguments: list[Any]) -> Any:
        return self.ledger.record(arguments[0]) if arguments[0] in self.ledger.entries else None

    async def set(self, effect: Effect, arguments: list[Any]) -> Any:
        identifier, keys, value = arguments
        try:
            self.ledger.put(identifier, keys.items, value)
        except Panic as panic:  # beyond a limit of O-5.22
            return failed(self.name, "set", "ExecutionFailed", panic.message)
        return None

    async def query(self, effect: Effect, arguments: list[Any]) -> Any:
        (text,) = arguments
        found = {entry.f0: entry for entry in (*self.ledger.by_identifier(text), *self.ledger.by_any_key([text]))}
        return Array([found[identifier] for identifier in self.ledger.entries if identifier in found][:MOST_FOUND])
