"""O-1.241: searches of a file of many documents with vectors of 384 numbers, by words, by vectors and by both.

Vectors lie in bunches around 2,000 middles, with some directions longer than others and a middle of all off zero, as those of
language models do. Words are drawn as in a language; a question has two rare words and five frequent ones. Recall is against the
exact scan of all vectors, and comes first: without it no time counts.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import tracemalloc
from array import array
from collections.abc import Callable
from operator import mul
from pathlib import Path
from time import process_time

from concerto.runtime.memory.embedding import floats_of, packed
from concerto.runtime.search.index import Document, Hit, SearchIndex

from ..execution import require
from ..figures import Figure, Target
from ..sampling import Plan

NUMBERS = 384
MIDDLES = 2_000
NOISES = 4_000
VOCABULARY = 20_000
WORDS = 60
QUESTIONS = 40
COMPARED = 15
"""Questions whose vectors are compared with all others."""
SHOWN = 10
BATCH = 500
LABEL = "bench"
TIME = Target("O-1.241", 60)
RECALL = Target("O-1.241", 0.95, least=True)


class Drawn:
    """Texts and vectors by a fixed seed."""

    def __init__(self) -> None:
        drawn = self._drawn = random.Random(241)
        self._words = ["".join(drawn.choices("abcdefghijklmnoprstuvw", k=drawn.randint(3, 9))) for _ in range(VOCABULARY)]
        scales = [(1 + place) ** -0.5 for place in range(NUMBERS)]
        length = sum(scale * scale for scale in scales) ** 0.5
        off = [drawn.gauss(0, length / NUMBERS**0.5) for _ in scales]
        self._middles = [[m + drawn.gauss(0, s) for m, s in zip(off, scales, strict=True)] for _ in range(MIDDLES)]
        self._noises = [[drawn.gauss(0, 0.7 * scale) for scale in scales] for _ in range(NOISES)]

    def word(self, least: int = 0) -> str:
        return self._words[min(least + int(self._drawn.paretovariate(1.0)), VOCABULARY) - 1]

    def document(self, number: int) -> Document:
        text = " ".join(self.word() for _ in range(WORDS))
        return Document(str(number), text, f'{{"number":{number}}}', LABEL, self.vector())

    def question(self) -> tuple[str, bytes]:
        return " ".join([self.word(500), *(self.word() for _ in range(5)), self.word(500)]), self.vector()

    def vector(self) -> bytes:
        middle, noise = self._drawn.choice(self._middles), self._drawn.choice(self._noises)
        return packed([a + b for a, b in zip(middle, noise, strict=True)])


def hybrid_search(plan: Plan) -> list[Figure]:
    """Each question once by each way, in turn; the median of them in CPU time, since a search waits for nobody."""
    size = 5_000 if plan.quick else 100_000
    drawn = Drawn()
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        path = str(Path(folder) / "search.db")
        vectors, putting = _filled(path, drawn, size)
        opening, held = _opened(path)
        index = SearchIndex("bench", path)
        asked = [drawn.question() for _ in range(QUESTIONS)]
        recalled = statistics.mean(_recall(index, vectors, vector) for _, vector in asked[:COMPARED])
        require(recalled >= RECALL.limit, True)
        ways: dict[str, Callable[[str, bytes], list[Hit]]] = {
            "search": lambda text, vector: index.search(text, SHOWN, LABEL, vector),
            "search_words": lambda text, _: index.search(text, SHOWN),
            "search_vectors": lambda _, vector: index.search("", SHOWN, LABEL, vector),
        }
        times = _timed(ways, asked)
        index.close()
        file = Path(path).stat().st_size
    note = f"the median of {QUESTIONS} questions, {size:,} documents of {NUMBERS} numbers in a file"
    figures = [
        Figure(f"{name}_{size}", statistics.median(each) * 1e3, "ms", TIME, spread=_spread(each), note=note)
        for name, each in times.items()
    ]
    return [
        *figures,
        Figure("search_recall", recalled, "", RECALL, note=f"of the exact ten nearest, {COMPARED} questions"),
        Figure("search_open", opening * 1e3, "ms", note="to open the file, and the first search by a vector"),
        Figure("search_held", held / size, "B", note="of this process a document, after a search by a vector"),
        Figure("search_file", file / size, "B", note="of the file a document"),
        Figure("search_put", putting / size * 1e6, "µs", note=f"to put one document, {BATCH} at a time"),
    ]


def _filled(path: str, drawn: Drawn, size: int) -> tuple[list[array[float]], float]:
    """Return all vectors, and the seconds in which they were put."""
    index = SearchIndex("bench", path)
    vectors, seconds = [], 0.0
    for at in range(0, size, BATCH):
        documents = [drawn.document(number) for number in range(at, at + BATCH)]
        vectors += [floats_of(document.vector or b"") for document in documents]
        begun = process_time()
        index.put(documents)
        seconds += process_time() - begun
    require(len(index), size)
    index.close()
    return vectors, seconds


def _opened(path: str) -> tuple[float, int]:
    """Return the seconds until the first search by a vector is answered, and the bytes of Python's that it leaves."""
    vector = packed([1.0] * NUMBERS)

    def first() -> SearchIndex:
        index = SearchIndex("bench", path)
        require(len(index.search("", SHOWN, LABEL, vector)), SHOWN)
        return index

    seconds = []
    for _ in range(3):
        begun = process_time()
        index = first()
        seconds.append(process_time() - begun)
        index.close()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    index = first()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    index.close()
    return statistics.median(seconds), held


def _recall(index: SearchIndex, vectors: list[array[float]], vector: bytes) -> float:
    floats = floats_of(vector)
    cosines = [sum(map(mul, floats, each)) for each in vectors]
    exact = sorted(range(len(vectors)), key=lambda place: -cosines[place])[:SHOWN]
    found = [int(hit.id) for hit in index.search("", SHOWN, LABEL, vector)]
    require(found[0], exact[0])
    return len(set(exact) & set(found)) / SHOWN


def _timed(ways: dict[str, Callable[[str, bytes], list[Hit]]], asked: list[tuple[str, bytes]]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for text, vector in asked:
        for name, way in ways.items():
            begun = process_time()
            hits = way(text, vector)
            seconds[name].append(process_time() - begun)
            require(bool(hits), True)
    return seconds


def _spread(seconds: list[float]) -> float:
    return (max(seconds) - min(seconds)) / statistics.median(seconds)
