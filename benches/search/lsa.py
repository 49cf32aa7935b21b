"""An embedder of the bench: latent semantic analysis (Deerwester et al., 1990) of the passages, and of nothing else.

Hands on `Lsa`. Texts that have the same words, or words that stand with the same others, are near each other. Features are words
and their runs of four characters, so that forms of one word are near each other too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from concerto.runtime.memory.embedding import packed
from concerto.runtime.memory.terms import terms

RANK = 200
RUN = 4
FEWEST = 2
"""Passages that have a feature; with fewer it tells nothing of others."""


class Lsa:
    """Trained on texts; `embed` gives the vector of any text in an index's form, None for one without a known feature."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [features(text) for text in texts]
        frequencies = Counter(name for counts in counted for name in counts)
        known = sorted(name for name, count in frequencies.items() if count >= FEWEST)
        self._places = {name: place for place, name in enumerate(known)}
        self._idf = np.log(len(texts) / np.array([frequencies[name] for name in known])).astype("f4")
        rows = np.stack([self._row(counts) for counts in counted])
        values, vectors = np.linalg.eigh((rows @ rows.T).astype("f8"))  # the left singular vectors, smallest first
        kept = vectors[:, -RANK:] / np.sqrt(values[-RANK:])
        self._directions = (rows.T @ kept).astype("f4")

    def embed(self, text: str) -> bytes | None:
        vector = self._row(features(text)) @ self._directions
        return packed(vector.tolist()) if vector.any() else None

    def _row(self, counts: Counter[str]) -> Any:
        row = np.zeros(len(self._places), "f4")
        for name, count in counts.items():
            if name in self._places:
                row[self._places[name]] = 1 + np.log(count)
        row *= self._idf
        length = np.linalg.norm(row)
        return row / length if length else row


def features(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word in terms(text):
        counts[word] += 1
        edged = f"<{word}>"
        counts.update(f"={edged[at : at + RUN]}" for at in range(max(1, len(edged) - RUN + 1)))
    return counts
