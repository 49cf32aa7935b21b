"""Vectors of texts beside an embedder: those that offline runs reckon, and those of facts that were stored without one
(M-10.16).
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


# ----------------------------------------------------------------
# Facts that were stored while their embedder failed, or before there was one: their vectors, with a later commit (M-10.16).
#
# Hands on `pending`, `embed_pending`, `store_pending`.

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


# ----------------------------------------------------------------
# The embedder `offline` (M-10.16): vectors from words and their pieces alone, the same on every machine, without network.
#
# Texts that share words, or parts of words, are near each other; meaning it knows nothing of.

DIMENSIONS = 256
PIECE = 0.5
"""The weight of three characters beside that of a word."""


def offline_vectors(texts: Sequence[str]) -> list[list[float]]:
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    made = [0.0] * DIMENSIONS
    found = terms(text) or [text]
    for word in found:
        _add(made, word, 1.0)
        for at in range(len(word) - 2):
            _add(made, word[at : at + 3], PIECE)
    if not any(made):  # words that cancel each other out
        made[0] = 1.0
    return made


def _add(made: list[float], piece: str, weight: float) -> None:
    number = crc32(piece.encode("utf-8", "surrogatepass"))
    made[number % DIMENSIONS] += weight if number & 0x8000_0000 else -weight
