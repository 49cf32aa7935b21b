"""Vectors of facts that were stored without one, and the embedder `offline` (M-10.16).

Hands on `embed_pending`, which a conversation (`conversation.py`) calls after its commit; `pending` and `store_pending` to
`effects/memories.py`, which asks for the missing vectors before a direct write and stores them after it; and `offline_vectors`
to `providers/offline.py` and `calls/embedders.py`. Vectors are asked for and compared in `embedding.py`.
"""

from __future__ import annotations

from zlib import crc32

from .remembering import Facts, embedded_tier
from .stores.operations import IN_PLACE
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Fact
    from .memory import Memory
    from .stores.operations import Operations


AT_ONCE = 64
"""At most so many facts are embedded after one commit."""


def pending(memory: Memory) -> list[Fact]:
    """Return the first AT_ONCE facts that should have a vector of this embedder and have none: those stored before there was
    one, or while it failed, and last those that it was asked for in vain. An empty list for a memory without an embedder.
    Raises the MemoryFailure of the store, and MustWait."""
    embedding = memory.embedding
    if embedding is None:
        return []
    tier = embedded_tier(memory)
    facts = memory.stored_facts() if memory.keeps else memory.session_facts()
    return embedding.in_turn([fact for fact in facts if fact.tier == tier and not embedding.has_vector(fact)])[:AT_ONCE]


async def embed_pending(memory: Memory, operations: Operations = IN_PLACE, task: str | None = None) -> None:
    """Ask for the missing vectors, for which the task of that path waits, and store them. Facts may change while the embedder is
    waited for, so they are read again before that. An embedder that fails leaves them without. Raises the MemoryFailure of the
    store, and the Panic of a budget that is used up."""
    embedding = memory.embedding
    if embedding is None:
        return
    await embedding.fill([fact.text for fact in await operations.use(lambda: pending(memory))], task)
    await operations.use(lambda: store_pending(memory))


def store_pending(memory: Memory) -> None:
    """Store the vectors that are known by now, of the facts that `pending` returns. Raises the MemoryFailure of the store, and
    MustWait."""
    embedding = memory.embedding
    if embedding is not None:
        facts = [embedding.with_vector(fact, embedded_tier(memory)) for fact in pending(memory)]
        Facts(memory).put([fact for fact in facts if embedding.has_vector(fact)])


# The embedder `offline` (M-10.16) hashes words and their pieces into a vector (feature hashing), the same on every machine and
# without network. Texts that share words, or parts of words, are near each other; it knows no meanings.

DIMENSIONS = 256
PIECE = 0.5
"""The weight of three characters beside that of a word."""


def offline_vectors(texts: Sequence[str], dimensions: int | None = None) -> list[list[float]]:
    """Return a vector of `dimensions` numbers, of DIMENSIONS for None or 0, not all 0, for each text, in order; the same for the
    same text."""
    return [_vector(text, dimensions or DIMENSIONS) for text in texts]


def _vector(text: str, dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    words = terms(text) or [text]
    for word in words:
        _add(vector, word, 1.0)
        for at in range(len(word) - 2):
            _add(vector, word[at : at + 3], PIECE)
    if not any(vector):  # words that cancel each other out
        vector[0] = 1.0
    return vector


def _add(vector: list[float], piece: str, weight: float) -> None:
    number = crc32(piece.encode("utf-8", "surrogatepass"))
    vector[number % len(vector)] += weight if number & 0x8000_0000 else -weight
