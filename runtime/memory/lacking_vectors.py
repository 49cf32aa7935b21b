"""Facts that were stored while their embedder failed, or before there was one: their vectors, with a later commit (M-10.16).

Hands on `pending`, `embed_pending`, `store_pending`. Must not know: who embeds.
"""

from __future__ import annotations

from .remembering import Facts, embedded_tier
from .stores.operations import IN_PLACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import Fact
    from .memory import Memory
    from .stores.operations import Operations

AT_ONCE = 64
"""Facts that one commit embeds at most."""


def pending(memory: Memory) -> list[Fact]:
    """Facts that should have a vector of this embedder and have none, the first few."""
    embedding = memory.embedding
    if embedding is None:
        return []
    tier = embedded_tier(memory)
    facts = memory.stored_facts() if memory.keeps else memory.session_facts()
    return [fact for fact in facts if fact.tier == tier and not embedding.has_vector(fact)][:AT_ONCE]


async def embed_pending(memory: Memory, operations: Operations = IN_PLACE) -> None:
    """After a commit; facts may change while the embedder is waited for."""
    embedding = memory.embedding
    if embedding is None:
        return
    await embedding.fill([fact.text for fact in await operations.use(lambda: pending(memory))])
    await operations.use(lambda: store_pending(memory))


def store_pending(memory: Memory) -> None:
    embedding = memory.embedding
    if embedding is not None:
        made = [embedding.with_vector(fact, embedded_tier(memory)) for fact in pending(memory)]
        Facts(memory).put([fact for fact in made if embedding.has_vector(fact)])
