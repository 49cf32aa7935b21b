"""The embedder `offline` (M-10.16): vectors from words and their pieces alone, the same on every machine, without network.

Texts that share words, or parts of words, are near each other; meaning it knows nothing of. Must not know: facts, stores.
"""

from __future__ import annotations

from zlib import crc32

from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
