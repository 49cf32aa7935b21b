"""A process that writes an index: `python writer.py PATH NAME COUNT SIZE` puts SIZE documents COUNT times and tells of each."""

from __future__ import annotations

import sys

from concerto.runtime.memory.embedding import packed
from concerto.runtime.search.index import Document, SearchIndex


def main(path: str, name: str, count: int, size: int) -> None:
    index = SearchIndex("notes", path)
    for batch in range(count):
        numbers = range(batch * size, batch * size + size)
        index.put([Document(f"{name}{n}", f"sun {name} w{n}", str(n), "m", packed([1.0, n, 2.0])) for n in numbers])
        if size == 1 and batch % 3 == 2:
            index.remove([f"{name}{batch - 1}"])
        print(batch, flush=True)
    index.close()


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
