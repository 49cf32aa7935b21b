"""The ranking of documents by the words of a query (O-1.241): BM25 of FTS5 over the tokens of M-10.8.

Hands on to `index.py` `tokens_of`, the form in which a text's words are stored, and `ranked_by_words`. A query is any of its
tokens, each quoted, so that no text is a query's syntax. A token of more than half of the documents says nothing of any of
them and costs the most; it is left out unless there are only such.
"""

from __future__ import annotations

from ..memory.terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .search_file import SearchFile

LONGEST = 200
"""Characters of a token that count."""
LOOKED_UP = 256
"""Different tokens of a query that are looked up, the first ones."""
ASKED_FOR = 64
POSTINGS = 20_000
"""From the rarest token on at most ASKED_FOR are taken, which stand in at most so many documents together; one in any case."""


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text as they are stored and asked for, in order, repeated ones too."""
    return [token[:LONGEST] for token in terms(text)]


def ranked_by_words(file: SearchFile, text: str, size: int, depth: int) -> list[int]:
    """Return the rows of the documents that have one of the words of the text that are asked for (`chosen`, of the first
    LOOKED_UP), the best `depth` of them, best first and of equals the earlier one; `size` is the number of all documents. Within
    a transaction of `file`."""
    tokens = chosen(file, list(dict.fromkeys(tokens_of(text)))[:LOOKED_UP], size)
    if not tokens:
        return []
    query = " OR ".join(f'"{token}"' for token in tokens)
    statement = "SELECT rowid FROM {words} WHERE {words} MATCH ? ORDER BY bm25({words}), rowid LIMIT ?"
    return [row for (row,) in file.rows(statement, (query, depth))]


def chosen(file: SearchFile, tokens: Sequence[str], size: int) -> list[str]:
    """Return those of different tokens that are asked for, the rarest first; none that is in no document. `size` is the number of
    all documents. Within a transaction of `file`."""
    counted = []
    for token in tokens:
        count = _documents_with(file, token, size // 2 + 1)
        if count:
            counted.append((count, token))
    telling = [(count, token) for count, token in counted if 2 * count <= size]
    taken: list[str] = []
    postings = 0
    for count, token in sorted(telling or counted, key=lambda pair: pair[0])[:ASKED_FOR]:
        postings += count
        if taken and postings > POSTINGS:
            break
        taken.append(token)
    return taken


def _documents_with(file: SearchFile, token: str, most: int) -> int:
    """Count the documents with a token, up to `most` of them. This is faster than to ask a table of fts5vocab, which also reads
    all places of the token."""
    statement = "SELECT count(*) FROM (SELECT 1 FROM {words} WHERE {words} MATCH ? LIMIT ?)"
    ((count,),) = file.rows(statement, (f'"{token}"', most))
    return int(count)
