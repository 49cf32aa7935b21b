"""Facts of a memory with the step `embed` (M-10.16): the vectors first, then the method, when the task goes on.

Must not know: how facts are ranked, which embedder it is.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ..memory.direct_facts import drafted
from ..memory.errors import InvalidValue, MemoryFailure
from ..memory.lacking_vectors import pending, store_pending
from ..memory.remembering import Facts
from ..settled import Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect, MemoryUse
    from ..memory.memory import Memory
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    use: MemoryUse = effect.payload
    stores = use.method not in ("recall", "view")
    try:
        opened = run.memories.at(use.memory)
        memory: Memory = getattr(opened, "memory", opened)  # a derived view has the facts of its memory
        assert memory.embedding is not None, "the machine asks for memories that embed"
        await memory.embedding.fill(_texts(memory, effect.task.path, use, stores))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        raise Panic("P451", failure.message) from None

    def commit() -> Any:
        value = run.memories.perform(use.memory, use.method, use.arguments, effect.task)
        if stores:
            store_pending(memory)
        return value

    return Settled(commit)


def _texts(memory: Memory, task: Any, use: MemoryUse, stores: bool) -> list[str]:
    """The query, or what is remembered now and what was remembered while the embedder failed."""
    if not stores:
        return [use.arguments[0]]
    waiting = [fact.text for fact in pending(memory)]
    facts = Facts(memory, task)
    if use.method == "remember":
        return [drafted(facts, *use.arguments).text, *waiting]
    if use.method == "relate":
        a, relation, b = use.arguments
        said = f"{a} {relation} {b}"
        return [facts.drafted(said, said, about=[a, b]).text, *waiting]
    return waiting
