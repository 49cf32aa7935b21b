"""The tools that a model gets from a memory in its list of tools (M-10.17): facts it remembers, recalls and forgets.

What a model remembers has its trust. Hands on `memory_offers`. Must not know: how facts are ranked and stored.
"""

from __future__ import annotations

from ..vm.bytecode.memory_steps import TOOL_METHODS
from ..vm.schema import arguments_form, tool_name
from ..vm.values import ErrorValue, from_json
from .errors import CallFailure
from .host_failures import for_model
from .memory.errors import InvalidValue, MemoryFailure
from .records import ToolDef
from .store_tools import StoreOffer, failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.effects import Effect
    from ..vm.values import MemoryRef
    from .memory.facts import Fact
    from .memory.memory import Memory
    from .memory.remembering import Facts
    from .offers import Offer
    from .running import Running

MOST_FOUND = 10
READING = ("recall",)


def _text(name: str, what: str) -> list[Any]:
    return [name, ["string"], False, False, None, what]


SHAPES = {
    "remember": [_text("name", "what the fact is found under; it replaces an earlier one"), _text("content", "the fact")],
    "recall": [_text("query", "what is looked for")],
    "forget": [_text("name", "name of the fact")],
}
TEXTS = {
    "remember": "Keep a fact for later conversations",
    "recall": f"Give the facts, at most {MOST_FOUND}, that fit a query best",
    "forget": "Remove a fact; true if it was there",
}


def memory_offers(run: Running, ref: MemoryRef, by: str) -> list[Offer]:
    """`by`: the model. One that may only read the memory is offered `recall` (M-4.16), and so is a derived view."""
    if not run.memories.allows(ref.name, by, False):
        raise CallFailure("AgentError", "InvalidRequest", f"the memory {ref.name} does not allow {by} to be read", model=by)
    writes = run.memories.allows(ref.name, by, True) and not run.memories.is_view(ref.name)
    tools = MemoryTools(run, ref, by)
    offers: list[Offer] = []
    for method in TOOL_METHODS if writes else READING:
        shape = ["object", "", [], SHAPES[method]]
        text = f"Memory {ref.name}\n\n{TEXTS[method]}"
        definition = ToolDef(tool_name(ref.name, method), text, arguments_form(shape))
        offers.append(StoreOffer(run, ref.name, method, definition, shape, getattr(tools, method)))
    return offers


class MemoryTools:
    def __init__(self, run: Running, ref: MemoryRef, by: str) -> None:
        self.run = run
        self.ref = ref
        self.by = by

    def _opened(self) -> Memory:
        opened = self.run.memories.at(self.ref)
        memory: Memory = getattr(opened, "memory", opened)  # a derived view has the facts of its memory
        return memory

    def _facts(self, memory: Memory, effect: Effect) -> Facts:
        from .memory.remembering import Facts

        return Facts(memory, effect.task, self.by)

    async def remember(self, effect: Effect, arguments: list[Any]) -> Any:
        name, content = arguments

        def drafted() -> tuple[Facts, Fact | None]:
            facts = self._facts(self._opened(), effect)
            fact = facts.drafted(name, content, origin="model", by=self.by)
            return facts, fact if facts.may_write(fact.tier, fact.name) else None

        try:
            facts, made = await self.run.operations.use(drafted)
            if made is None:
                return self._refused("remember", name)
            fact = made
            if facts.memory.embedding is not None:
                await facts.memory.embedding.fill([fact.text])
            await self.run.operations.use(lambda: facts.keep(fact))
        except (MemoryFailure, InvalidValue) as error:
            return self._failed("remember", error)
        return None

    async def recall(self, effect: Effect, arguments: list[Any]) -> Any:
        (query,) = arguments
        try:
            memory = await self.run.operations.use(self._opened)
            if memory.embedding is not None:
                await memory.embedding.fill([query])
            found = await self.run.operations.use(lambda: self._facts(memory, effect).recall(query, MOST_FOUND))
        except MemoryFailure as error:
            return self._failed("recall", error)
        from .memory.recall_step import shown_fact

        try:
            pairs = [shown_fact(memory, hit.fact) for hit in found]
        except MemoryFailure as error:
            return self._failed("recall", error)
        return from_json([{"name": name, "content": content} for name, content in pairs])

    async def forget(self, effect: Effect, arguments: list[Any]) -> Any:
        (name,) = arguments
        try:
            found = await self.run.operations.use(lambda: self._facts(self._opened(), effect).forget_allowed(name))
        except MemoryFailure as error:
            return self._failed("forget", error)
        return self._refused("forget", name) if found is None else found

    def _refused(self, method: str, name: str) -> Any:
        message = f"the memory {self.ref.name} does not allow {self.by} to write {name}"
        return failed(self.ref.name, method, "PermissionDenied", message)

    def _failed(self, method: str, error: Exception) -> Any:
        message = getattr(error, "message", str(error))
        fields = {}
        if isinstance(error, MemoryFailure):
            fields = for_model(ErrorValue(error.kind, error.variant, message, error.fields))
        return failed(self.ref.name, method, "ExecutionFailed", message, **fields)
