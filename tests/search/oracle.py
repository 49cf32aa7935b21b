"""What a search should find, by brute force: BM25 as the documentation of FTS5 has it, exact cosines, reciprocal ranks.

https://www.sqlite.org/fts5.html#the_bm25_function. Takes of the product only the tokens of a text (M-10.8).
"""

from __future__ import annotations

import struct
from collections import Counter
from math import log, sqrt

from concerto.runtime.memory.terms import terms
from concerto.runtime.search.index import Document

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
RANK, BLOCK = 60, 10


def unit(*numbers: float) -> bytes:
    """A vector of length 1 in that direction, as an index stores it."""
    length = sqrt(sum(number * number for number in numbers))
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(*(struct.unpack(f"<{len(v) // 4}f", v) for v in (one, other)), strict=True))


def by_words(documents: list[Document], query: str) -> list[int]:
    """Places of the documents, best first."""
    counts = [Counter(terms(document.text)) for document in documents]
    size = len(documents)
    frequencies = {token: sum(token in count for count in counts) for token in dict.fromkeys(terms(query))}
    known = [token for token, frequency in frequencies.items() if frequency]
    asked = [token for token in known if 2 * frequencies[token] <= size] or known
    asked.sort(key=lambda token: min(frequencies[token], size // 2 + 1))  # the order in which scores are added, and rounded
    average = sum(sum(count.values()) for count in counts) / size if size else 0
    scores = {}
    for place, count in enumerate(counts):
        if any(count[token] for token in asked):
            scores[place] = 0.0
            for token in asked:
                idf = log((size - frequencies[token] + 0.5) / (frequencies[token] + 0.5))
                shorter = K1 * (1 - B + B * sum(count.values()) / average)
                scores[place] += (idf if idf > 0 else LEAST_IDF) * ((count[token] * (K1 + 1)) / (count[token] + shorter))
    return sorted(scores, key=lambda place: (-scores[place], place))


def by_vectors(documents: list[Document], label: str, vector: bytes) -> list[int]:
    scores = {
        place: cosine(vector, document.vector)
        for place, document in enumerate(documents)
        if document.vector is not None and document.label == label
    }
    return sorted(scores, key=lambda place: (-scores[place], place))


def found(documents: list[Document], query: str, label: str, vector: bytes | None) -> list[tuple[str, float]]:
    """Ids and scores of all that is found, best first, of documents in their order."""
    lists = [by_words(documents, query), [] if vector is None else by_vectors(documents, label, vector)]
    lists = [places for places in lists if places]
    worth: dict[int, float] = {}
    for place in {place for places in lists for place in places}:
        ranks = [places.index(place) + 1 for places in lists if place in places]
        block = 0
        while min(ranks) > BLOCK * 2**block:
            block += 1
        counted = [(RANK + 1) / (RANK + rank) for rank in ranks if rank <= BLOCK * 2**block]
        worth[place] = sum(counted) / len(lists) / 2**block
    return [(documents[place].id, worth[place]) for place in sorted(worth, key=lambda place: (-worth[place], place))]
