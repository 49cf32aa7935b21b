"""Facts that were stored while their embedder failed, or before there was one: their vectors, with a later commit (M-10.16).

Hands on `pending`, `embed_pending`, `store_pending`. Must not know: who embeds.
"""

from __future__ import annotations

from .remembering import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import Fact
    from .memory import Memory

AT_ONCE = 64
"""Facts that one commit embeds at most."""


def pending(memory: Memory) -> list[Fact]:
    """Persistent facts without a vector of this embedder, the first few."""
    embedding = memory.embedding
    if embedding is None:
        return []
    return [fact for fact in memory.stored_facts() if not embedding.has_vector(fact)][:AT_ONCE]


async def embed_pending(memory: Memory) -> None:
    """After a commit; facts may change while the embedder is waited for."""
    embedding = memory.embedding
    if embedding is None:
        return
    await embedding.fill([fact.text for fact in pending(memory)])
    store_pending(memory)


def store_pending(memory: Memory) -> None:
    embedding = memory.embedding
    if embedding is not None:
        Facts(memory).put([fact for fact in map(embedding.with_vector, pending(memory)) if embedding.has_vector(fact)])
