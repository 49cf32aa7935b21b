"""A process that writes an index: `python writer.py NAME COUNT SIZE PATH` puts SIZE documents COUNT times and tells of each.
For a database URL SCHEMA stand in place of PATH."""

from __future__ import annotations

import sys

from concerto.runtime.memory.embedding import packed
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search.index import Document, SearchIndex


def main(place: str | Database, name: str, count: int, size: int) -> None:
    index = SearchIndex("notes", place)
    for batch in range(count):
        numbers = range(batch * size, batch * size + size)
        index.put([Document(f"{name}{n}", f"sun {name} w{n}", str(n), "m", packed([1.0, n, 2.0])) for n in numbers])
        if size == 1 and batch % 3 == 2:
            index.remove([f"{name}{batch - 1}"])
        print(batch, flush=True)
    index.close()


path, *schema = sys.argv[4:]
main(Database(path, schema=schema[0]) if schema else path, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
