"""Whether the tables of an index fit together."""

from __future__ import annotations

from concerto.runtime.memory.terms import terms
from concerto.runtime.search.index import SearchIndex
from concerto.runtime.search.search_file import SearchFile


def check(index: SearchIndex) -> None:
    """Words of all documents, and of no others."""
    if isinstance(index._tables, SearchFile):
        assert index._tables.rows("PRAGMA integrity_check") == [("ok",)]
        index._tables.change("INSERT INTO {words} ({words}) VALUES ('integrity-check')")
    else:
        counted = "SELECT row, sum(count)::bigint, min(length), max(length) FROM {words} GROUP BY row ORDER BY row"
        every = [(place, len(terms(document.text))) for place, document in index.documents(limit=10**6)]
        lengths = [(place, length) for place, length in every if length]
        assert index._tables.rows(counted) == [(place, length, length, length) for place, length in lengths]
        ((total,),) = index._tables.rows("SELECT tokens FROM search_index WHERE number = ?", (index._tables.number,))
        assert total == sum(length for _, length in lengths)
